// SPDX-License-Identifier: GPL-2.0
/* Engines of transactions and who uses them: kmod/dev/engine.c for a process. */
#include <errno.h>
#include "kmod/core/node.h"
#include "kmod/core/tx_slots.h"
#include "tx.h"

/* As kmod/dev/engine.c has them */
#define ENGINE_ORDER		7
#define ENGINE_RESEND_MS	20
#define ENGINE_POLL_MS		100

/**
 * struct rmcd_engine - an engine
 * @next: in rmcd.engines
 * @slots: the part that the unit's worker uses
 * @ctx: context, referenced
 * @user: user of the file that it was created for, referenced
 * @share: tenant of its queue pair
 * @users: queue pairs that have slots
 */
struct rmcd_engine {
	struct rmcd_engine *next;
	struct rmc_tx_slots *slots;
	struct rmcd_context *ctx;
	struct rmcd_user *user;
	struct rmcd_share *share;
	u32 users;
};

/* Argument of the calls on workers */
struct change {
	struct rmc_ni_worker *worker;
	struct rmc_tx_slots *slots;
	struct rmc_qpair *qp;
	u32 count;
	u64 mask;
	bool force;
};

static int add_slots(void *arg)
{
	struct change *c = arg;

	return rmc_ni_add_slots(c->worker, c->slots);
}

static int del_slots(void *arg)
{
	struct change *c = arg;

	if (!c->force && !rmc_tx_slots_idle(c->slots))
		return -EBUSY;
	rmc_ni_del_slots(c->worker, c->slots);
	return 0;
}

static int attach(void *arg)
{
	struct change *c = arg;

	return rmc_tx_attach(c->qp, c->slots, c->count, &c->mask);
}

static void engine_free(struct rmcd *d, struct rmcd_engine *e)
{
	if (e->slots)
		rmc_tx_slots_destroy(e->slots);
	if (e->user) {
		rmcd_user_share_put(e->user, e->share);
		rmcd_user_put(d, e->user);
	}
	rmcd_context_put(e->ctx);
	free(e);
}

static struct rmcd_engine *engine_alloc(struct rmcd_file *f, struct rmc_node *unit)
{
	struct rmc_tx_engine_opts opts = {
		.slots = RMC_TX_SLOTS,
		.bytes = RMC_TX_WRITE_MAX,
		.order = ENGINE_ORDER,
		.resend_ms = ENGINE_RESEND_MS,
	};
	struct rmcd_engine *e = calloc(1, sizeof(*e));
	struct rmc_tx_slots *slots;

	if (!e)
		return NULL;
	e->ctx = f->ctx;
	e->ctx->refs++;
	e->user = rmcd_user_get(f->d, f->user->uid);
	if (e->user)
		e->share = rmcd_share_get(f, unit->req_worker);
	slots = e->share ? rmc_tx_slots_create(unit, f->ctx->id, &opts) : ERR_PTR(-ENOMEM);
	if (IS_ERR(slots)) {
		engine_free(f->d, e);
		return NULL;
	}
	e->slots = slots;
	slots->engine->client.qp.tenant = e->share->tenant;
	return e;
}

/* Remove engines that nobody uses; @force: also those with something left to be sent */
static void reap(struct rmcd *d, bool force)
{
	struct rmcd_engine **link = &d->engines, *e;

	while ((e = *link)) {
		struct change c = { .slots = e->slots, .force = force };

		c.worker = e->slots->unit->req_worker;
		if (e->users || rmcd_call(c.worker, del_slots, &c)) {
			link = &e->next;
			continue;
		}
		*link = e->next;
		engine_free(d, e);
	}
}

/**
 * rmcd_engines_poll() - remove engines that nobody uses
 * @d: daemon
 *
 * Return: milliseconds after which to call it again, or -1: all are in use.
 */
int rmcd_engines_poll(struct rmcd *d)
{
	const struct rmcd_engine *e;

	for (e = d->engines; e && e->users; e = e->next)
		;
	if (!e)
		return -1;
	reap(d, false);
	for (e = d->engines; e && e->users; e = e->next)
		;
	return e ? ENGINE_POLL_MS : -1;
}

/**
 * rmcd_engines_exit() - remove all engines
 * @d: daemon whose workers run; no context is open
 */
void rmcd_engines_exit(struct rmcd *d)
{
	reap(d, true);
}

/* The engine of a unit and the file's context, with one more user */
static int get(struct rmcd_file *f, struct rmc_node *unit, struct rmcd_engine **engine)
{
	struct change c = { .worker = unit->req_worker };
	struct rmcd_engine *e;
	int err;

	for (e = f->d->engines; e; e = e->next)
		if (e->slots->unit == unit && e->slots->ctx_id == f->ctx->id)
			break;
	if (!e) {
		reap(f->d, false);
		e = engine_alloc(f, unit);
		if (!e)
			return -ENOMEM;
		c.slots = e->slots;
		err = rmcd_call(c.worker, add_slots, &c);
		if (err) {
			engine_free(f->d, e);
			return err;
		}
		e->next = f->d->engines;
		f->d->engines = e;
	}
	e->users++;
	*engine = e;
	return 0;
}

static u32 slots_kib(u32 slots)
{
	return (slots * (sizeof(struct rmc_tx_txn) + RMC_TX_WRITE_MAX) + 1023) / 1024;
}

static int charge(struct rmcd_file *f, u32 slots)
{
	int err = rmcd_charge(f, RMCD_RES_tx_slots, slots);

	if (err)
		return err;
	err = rmcd_charge(f, RMCD_RES_queue_mib, slots_kib(slots));
	if (err)
		rmcd_uncharge(f, RMCD_RES_tx_slots, slots);
	return err;
}

static void uncharge(struct rmcd_file *f, u32 slots)
{
	rmcd_uncharge(f, RMCD_RES_queue_mib, slots_kib(slots));
	rmcd_uncharge(f, RMCD_RES_tx_slots, slots);
}

/**
 * rmcd_engine_open() - RMC_IOC_TX_OPEN: slots for transactions of a queue pair
 * @f: file
 * @o: arguments, any values; out: the rest
 *
 * Return: 0, -EINVAL, -ENOENT no such queue pair, -EEXIST it has slots, -EOPNOTSUPP it is ordered,
 * -ENOSPC too few are free, or the unit has engines of too many contexts, -EDQUOT exceeds a quota,
 * -ENOMEM.
 */
int rmcd_engine_open(struct rmcd_file *f, struct rmc_tx_open *o)
{
	struct rmcd_qp *q = rmcd_file_qp(f, o->qp_id);
	struct change c = { .count = o->slots };
	struct rmcd_engine *e;
	int err;

	if (!o->slots || o->slots > RMC_TX_SLOTS || o->bytes > RMC_TX_WRITE_MAX)
		return -EINVAL;
	if (!q)
		return -ENOENT;
	if (q->engine)
		return -EEXIST;
	err = charge(f, o->slots);
	if (err)
		return err;
	err = get(f, q->qp.node, &e);
	if (!err) {
		c.qp = rmc_qp_inner(&q->qp);
		c.slots = e->slots;
		err = rmcd_call(q->qp.node->req_worker, attach, &c);
		e->users -= !!err;
	}
	if (err) {
		uncharge(f, o->slots);
		return err;
	}
	q->engine = e;
	q->tx_slots = o->slots;
	o->unit = q->qp.node->ep;
	o->slot_mask = c.mask;
	return 0;
}

/**
 * rmcd_engine_close() - a queue pair that may have slots is gone
 * @f: file
 * @q: queue pair that no worker polls
 *
 * Its worker has given the slots back.
 */
void rmcd_engine_close(struct rmcd_file *f, struct rmcd_qp *q)
{
	if (!q->engine)
		return;
	q->engine->users--;
	q->engine = NULL;
	uncharge(f, q->tx_slots);
}
