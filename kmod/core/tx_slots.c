// SPDX-License-Identifier: GPL-2.0
/*
 * Slots for transactions of queue pairs, see tx_slots.h: their life, and the end of transactions.
 * tx_record.c has what applications commit.
 */
#include "cq.h"
#include "node.h"
#include "timeout.h"
#include "tx_slots.h"

static u64 bit_of(u32 slot)
{
	return 1ULL << slot;
}

/* ---- set-up ---- */

/**
 * rmc_tx_slots_create() - allocate the slots of a unit and a context, all of them in the pool
 * @unit: unit
 * @ctx_id: context
 * @opts: of the engine; @gen is ignored: gens continue those of the unit's engines before
 *
 * The memory is charged to the memory cgroup of the caller.
 *
 * Return: slots; ERR_PTR(-EINVAL, -ENOMEM). Context: may sleep.
 */
struct rmc_tx_slots *rmc_tx_slots_create(struct rmc_node *unit, u16 ctx_id,
					 const struct rmc_tx_engine_opts *opts)
{
	struct rmc_tx_slots *s = rmc_os_zalloc_user(sizeof(*s));
	void *engine;

	if (!s)
		return ERR_PTR(-ENOMEM);
	s->unit = unit;
	s->ctx_id = ctx_id;
	s->copy = rmc_os_zalloc_user(RMC_TX_RECORD_MAX);
	engine = s->copy ? rmc_tx_engine_create(unit, ctx_id, opts) : ERR_PTR(-ENOMEM);
	if (IS_ERR(engine)) {
		rmc_os_free(s->copy);
		rmc_os_free(s);
		return engine;
	}
	s->engine = engine;
	s->engine->awake = true;
	s->free = U64_MAX >> (64 - opts->slots);
	return s;
}

/**
 * rmc_tx_slots_destroy() - free the slots
 * @s: slots that no worker has, and no queue pair
 *
 * Context: may sleep.
 */
void rmc_tx_slots_destroy(struct rmc_tx_slots *s)
{
	rmc_tx_engine_destroy(s->engine);
	rmc_os_free(s->copy);
	rmc_os_free(s);
}

/**
 * rmc_tx_slots_add() - make slots known to their unit
 * @s: slots whose engine's queue pair is polled
 *
 * Return: 0; -EEXIST: the context has slots there; -ENOSPC: RMC_TX_ENGINES contexts have.
 * Context: the unit's RGP worker; does not sleep.
 */
int rmc_tx_slots_add(struct rmc_tx_slots *s)
{
	struct rmc_node *unit = s->unit;

	if (rmc_tx_slots_find(unit, s->ctx_id))
		return -EEXIST;
	if (unit->txs == RMC_TX_ENGINES)
		return -ENOSPC;
	rmc_tx_coord_init(s->engine->coord, unit->nid, unit->tx_gen);
	unit->tx[unit->txs++] = s;
	return 0;
}

/**
 * rmc_tx_slots_del() - remove slots from their unit
 * @s: slots that were added, and that no queue pair has
 *
 * Context: the unit's RGP worker; does not sleep.
 */
void rmc_tx_slots_del(struct rmc_tx_slots *s)
{
	struct rmc_node *unit = s->unit;
	u32 i;

	for (i = 0; i < s->engine->opts.slots; i++)
		if (rmc_tx_newer(s->engine->coord->slot[i].gen, unit->tx_gen))
			unit->tx_gen = s->engine->coord->slot[i].gen;
	for (i = 0; i < unit->txs; i++)
		if (unit->tx[i] == s)
			unit->tx[i] = unit->tx[--unit->txs];
}

/**
 * rmc_tx_slots_find() - the slots of a context
 * @unit: unit
 * @ctx_id: context
 *
 * Return: slots, or NULL. Context: the unit's RGP worker; does not sleep.
 */
struct rmc_tx_slots *rmc_tx_slots_find(const struct rmc_node *unit, u16 ctx_id)
{
	u32 i;

	for (i = 0; i < unit->txs; i++)
		if (unit->tx[i]->ctx_id == ctx_id)
			return unit->tx[i];
	return NULL;
}

/**
 * rmc_tx_slots_idle() - check whether slots can be freed
 * @s: slots
 *
 * Return: true if no queue pair has any, and nothing decided is left to be sent.
 * Context: the unit's RGP worker; does not sleep.
 */
bool rmc_tx_slots_idle(const struct rmc_tx_slots *s)
{
	return s->free == U64_MAX >> (64 - s->engine->opts.slots) && !rmc_tx_slots_busy(s);
}

/**
 * rmc_tx_attach() - give slots to a queue pair
 * @qp: queue pair that the unit's worker polls, see rmc_qp_inner()
 * @s: slots of its unit and context
 * @slots: how many, 1 or more
 * @mask: out, bit per slot that it has now
 *
 * Return: 0; -EINVAL: none, or of another unit or context; -EEXIST: it has slots; -ENOSPC: fewer
 * are in the pool; -EOPNOTSUPP: it is ordered. Context: the unit's RGP worker; does not sleep.
 */
int rmc_tx_attach(struct rmc_qpair *qp, struct rmc_tx_slots *s, u32 slots, u64 *mask)
{
	u64 mine = 0;
	u32 slot;

	if (!slots || qp->node != s->unit || qp->ctx_id != s->ctx_id)
		return -EINVAL;
	if (qp->tx)
		return -EEXIST;
	/* what is committed passes what it has sent, and a failure stops no transaction */
	if (qp->group)
		return -EOPNOTSUPP;
	if (slots > hweight64(s->free))
		return -ENOSPC;
	while (slots--) {
		slot = __ffs64(s->free);
		s->free &= s->free - 1;
		mine |= bit_of(slot);
		s->user[slot] = (struct rmc_tx_user){ .qp = qp };
	}
	qp->tx = s;
	qp->tx_mask = mine;
	*mask = mine;
	return 0;
}

/* The slot is free, or will be once its transaction is over. */
static void leave(struct rmc_tx_slots *s, u32 slot)
{
	s->user[slot] = (struct rmc_tx_user){ .qp = NULL };
	if (rmc_tx_coord_is_free(s->engine->coord, slot)) {
		s->free |= bit_of(slot);
		return;
	}
	rmc_tx_engine_abort(s->engine, slot);
	s->leaving |= bit_of(slot);
	s->busy |= bit_of(slot);
}

/**
 * rmc_tx_detach() - a queue pair that has slots is deleted, or gives them back
 * @qp: queue pair
 *
 * What is not decided is aborted. What is decided is finished by the engine, and completes nowhere.
 * Accesses that are under way end with RMC_S_ABORTED: the rest of their packets would have no gen.
 * Context: the unit's RGP worker; does not sleep.
 */
void rmc_tx_detach(struct rmc_qpair *qp)
{
	struct rmc_abort accesses = { .qp = qp, .nid = -1, .status = RMC_S_ABORTED, .tx = true };
	u64 bits;

	rmc_itt_abort(qp->node, &accesses);
	for (bits = qp->tx_mask; bits; bits &= bits - 1)
		leave(qp->tx, __ffs64(bits));
	qp->tx = NULL;
	qp->tx_mask = 0;
}

/* ---- the end of transactions ---- */

static void count(struct rmc_node *unit, u8 status)
{
	switch (status) {
	case RMC_S_OK:
		rmc_stat_inc(unit, tx_commits);
		break;
	case RMC_S_TX_PART_LOST:
		rmc_stat_inc(unit, tx_commits);
		rmc_stat_inc(unit, tx_lost);
		break;
	case RMC_S_TX_SQUASHED:
		rmc_stat_inc(unit, tx_squashed);
		break;
	case RMC_S_TX_LOCKED:
		rmc_stat_inc(unit, tx_locked);
		break;
	case RMC_S_TX_FULL:
		rmc_stat_inc(unit, tx_full);
		break;
	case RMC_S_TX_STALE:
		rmc_stat_inc(unit, tx_stale);
		break;
	default:
		rmc_stat_inc(unit, tx_aborts);
	}
}

/* The coordinator has reported the end of a transaction: once for each that has begun */
static void ended(struct rmc_tx_slots *s, u32 slot, u8 status)
{
	struct rmc_tx_user *u = &s->user[slot];

	count(s->unit, status);
	if (!u->qp)
		return;
	if (!u->waits) {
		/* by itself: RMC_S_OK is none of these */
		u->status = status;
		return;
	}
	u->waits = false;
	u->open = false;
	if (u->aborts && status != RMC_S_OK && status != RMC_S_TX_PART_LOST)
		status = RMC_S_OK;
	if (unlikely(status))
		rmc_stat_inc(s->unit, errors);
	rmc_stat_inc(s->unit, completions);
	rmc_cq_post(u->qp, u->entry, status);
}

/* What is over needs no more polls; slots without a queue pair go back to the pool. */
static void settle(struct rmc_tx_slots *s)
{
	const struct rmc_tx_coord *c = s->engine->coord;
	u64 bits;
	u32 slot;

	for (bits = s->busy & ~c->due; bits; bits &= bits - 1) {
		slot = __ffs64(bits);
		if (c->slot[slot].phase > RMC_TX_EXECUTING)
			continue;
		s->busy &= ~bit_of(slot);
		if (!(s->leaving & bit_of(slot)))
			continue;
		s->leaving &= ~bit_of(slot);
		s->free |= bit_of(slot);
	}
}

/**
 * rmc_tx_slots_poll() - poll an engine: take answers, tell applications, send what is due
 * @s: slots
 * @tick: time has passed
 *
 * Return: answers, ends and messages. Context: the unit's RGP worker; does not sleep.
 */
u32 rmc_tx_slots_poll(struct rmc_tx_slots *s, bool tick)
{
	struct rmc_tx_engine *e = s->engine;
	u32 head = e->client.head, done, slot;
	u8 status;

	if (likely(!tick && !rmc_tx_slots_busy(s)))
		return 0;
	done = rmc_tx_engine_take(e);
	if (unlikely(tick)) {
		rmc_tx_engine_time(e, s->unit->req_ms);
		s->busy |= e->coord->ends | e->coord->due;
	}
	/* before anything is sent: an application waits for it */
	for (; rmc_tx_engine_ended(e, &slot, &status); done++)
		ended(s, slot, status);
	rmc_tx_engine_send(e);
	settle(s);
	return done + (e->client.head - head);
}
