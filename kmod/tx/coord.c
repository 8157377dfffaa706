// SPDX-License-Identifier: GPL-2.0
/* Coordinator: phases of transactions (HADES table II, "commit at x"). */
#include "coord.h"

static u64 bit_of(u32 slot)
{
	return 1ULL << slot;
}

static struct rmc_tx_slot *slot_of(struct rmc_tx_coord *c, u32 slot)
{
	return &c->slot[array_index_nospec(slot, RMC_TX_SLOTS)];
}

static bool is_undecided(const struct rmc_tx_slot *s)
{
	return s->phase != RMC_TX_FREE && s->phase < RMC_TX_COMMITTING;
}

static struct rmc_tx_peer *peer_of(struct rmc_tx_slot *s, u32 nid)
{
	u32 i;

	for (i = 0; i < s->peers; i++)
		if (s->peer[i].nid == nid)
			return &s->peer[i];
	return NULL;
}

/* A message of the slot's phase to a node */
static void ask(struct rmc_tx_coord *c, u32 slot, struct rmc_tx_peer *p)
{
	p->flags |= RMC_TX_P_DUE | RMC_TX_P_WAIT;
	c->slot[slot].waits++;
	c->due |= bit_of(slot);
}

/* Nothing more is expected from a node in this phase */
static void has_answered(struct rmc_tx_slot *s, struct rmc_tx_peer *p)
{
	p->flags &= ~(RMC_TX_P_DUE | RMC_TX_P_WAIT);
	s->waits--;
}

static void end(struct rmc_tx_coord *c, u32 slot)
{
	c->ends |= bit_of(slot);
}

/* All have answered, and the application is told: the slot is free */
static void settle(struct rmc_tx_coord *c, u32 slot)
{
	struct rmc_tx_slot *s = &c->slot[slot];
	u32 i, gen = s->gen;

	if (s->waits || is_undecided(s) || c->ends & bit_of(slot))
		return;
	for (i = 0; i < s->peers; i++)
		s->peer[i] = (struct rmc_tx_peer) { 0 };
	*s = (struct rmc_tx_slot) { .gen = gen, .phase = RMC_TX_FREE };
	c->due &= ~bit_of(slot);
}

/* Is it told of an abort only when its own node knows? */
static bool waits_for_self(struct rmc_tx_coord *c, struct rmc_tx_slot *s)
{
	struct rmc_tx_peer *self = peer_of(s, c->self);

	return self && self->flags & RMC_TX_P_LOCAL && self->flags & RMC_TX_P_WAIT;
}

/* Has the application waited for this answer? */
static bool is_awaited(const struct rmc_tx_coord *c, const struct rmc_tx_slot *s,
		       const struct rmc_tx_peer *p)
{
	return p->nid == c->self &&
	       (s->phase == RMC_TX_COMMITTING || p->flags & RMC_TX_P_LOCAL);
}

static void give_up(struct rmc_tx_coord *c, u32 slot, u8 status)
{
	struct rmc_tx_slot *s = &c->slot[slot];
	u32 i;

	if (!is_undecided(s))
		return;
	s->phase = RMC_TX_ABORTING;
	s->status = status;
	c->prepared &= ~bit_of(slot);
	c->locked &= ~bit_of(slot);
	s->waits = 0;
	c->due &= ~bit_of(slot);
	for (i = 0; i < s->peers; i++) {
		s->peer[i].flags &= ~(RMC_TX_P_DUE | RMC_TX_P_WAIT);
		if (s->peer[i].flags & RMC_TX_P_SENT)
			ask(c, slot, &s->peer[i]);
	}
	if (!waits_for_self(c, s))
		end(c, slot);
}

/*
 * Nobody can squash it any more, unless the application still decides. It is told once its own
 * node has stored.
 */
static void decide(struct rmc_tx_coord *c, u32 slot)
{
	struct rmc_tx_slot *s = &c->slot[slot];
	u32 i;

	if (s->hold) {
		s->phase = RMC_TX_HELD;
		c->prepared |= bit_of(slot);
		return;
	}
	s->phase = RMC_TX_COMMITTING;
	for (i = 0; i < s->peers; i++)
		ask(c, slot, &s->peer[i]);
	if (!peer_of(s, c->self))
		end(c, slot);
	settle(c, slot);
}

static void intend_to_others(struct rmc_tx_coord *c, u32 slot)
{
	struct rmc_tx_slot *s = &c->slot[slot];
	u32 i;

	s->phase = RMC_TX_OTHERS;
	for (i = 0; i < s->peers; i++)
		if (s->peer[i].nid != c->self)
			ask(c, slot, &s->peer[i]);
	if (!s->waits)
		decide(c, slot);
}

/*
 * The next node whose lines are to be locked in advance. All coordinators lock in the order of
 * nodes' numbers, so that no two wait for each other.
 */
static void lock_next(struct rmc_tx_coord *c, u32 slot)
{
	struct rmc_tx_slot *s = &c->slot[slot];
	struct rmc_tx_peer *p, *next = NULL;
	u32 i;

	for (i = 0; i < s->peers; i++) {
		p = &s->peer[i];
		if (p->flags & RMC_TX_P_LOCK && (!next || p->nid < next->nid))
			next = p;
	}
	if (next) {
		s->phase = RMC_TX_LOCKING;
		ask(c, slot, next);
		return;
	}
	s->phase = RMC_TX_EXECUTING;
	s->locks = 1;
	c->locked |= bit_of(slot);
}

/**
 * rmc_tx_coord_init() - a coordinator without transactions
 * @c: coordinator
 * @self: its endpoint
 * @gen: gens begin after this one; any number: participants forget gens when the epoch changes
 */
void rmc_tx_coord_init(struct rmc_tx_coord *c, u32 self, u32 gen)
{
	u32 i;

	memset(c, 0, sizeof(*c));
	c->self = self;
	for (i = 0; i < RMC_TX_SLOTS; i++)
		c->slot[i].gen = gen;
}

/**
 * rmc_tx_coord_begin() - a transaction begins
 * @c: coordinator
 * @slot: its slot
 * @gen: out, use of the slot
 *
 * Return: 0, -EINVAL (no such slot), -EBUSY (the last one is not over).
 */
int rmc_tx_coord_begin(struct rmc_tx_coord *c, u32 slot, u32 *gen)
{
	struct rmc_tx_slot *s;

	if (slot >= RMC_TX_SLOTS)
		return -EINVAL;
	s = slot_of(c, slot);
	if (s->phase != RMC_TX_FREE)
		return -EBUSY;
	s->phase = RMC_TX_EXECUTING;
	*gen = ++s->gen;
	return 0;
}

/**
 * rmc_tx_coord_touch() - a transaction uses a node: its node list (HADES section IV-C, module 4b)
 * @c: coordinator
 * @slot: its slot
 * @nid: endpoint of the participant
 * @access: an access is going to be sent there; otherwise it only writes whole lines there
 *
 * Return: 0, -EINVAL (no such slot or node), -ECANCELED (it does not execute any more),
 * -ENOSPC (RMC_TX_NODES nodes already).
 */
int rmc_tx_coord_touch(struct rmc_tx_coord *c, u32 slot, u32 nid, bool access)
{
	struct rmc_tx_slot *s;
	struct rmc_tx_peer *p;

	if (slot >= RMC_TX_SLOTS || nid >= RMC_TX_SOURCES)
		return -EINVAL;
	s = slot_of(c, slot);
	if (s->phase != RMC_TX_EXECUTING)
		return -ECANCELED;
	p = peer_of(s, nid);
	if (!p) {
		if (s->peers == RMC_TX_NODES)
			return -ENOSPC;
		p = &s->peer[s->peers++];
		p->nid = nid;
	}
	if (access)
		p->flags |= RMC_TX_P_HERE | RMC_TX_P_SENT;
	return 0;
}

/**
 * rmc_tx_coord_local() - a transaction uses lines of its own node by loads and stores
 * @c: coordinator
 * @slot: its slot
 *
 * Its node may have squashed it, so it is asked, and told of the end, also if nothing is written
 * there, and no access was sent.
 *
 * Return: as rmc_tx_coord_touch().
 */
int rmc_tx_coord_local(struct rmc_tx_coord *c, u32 slot)
{
	int err = rmc_tx_coord_touch(c, slot, c->self, false);

	if (!err)
		peer_of(slot_of(c, slot), c->self)->flags |= RMC_TX_P_LOCAL | RMC_TX_P_SENT;
	return err;
}

/**
 * rmc_tx_coord_lock_at() - a transaction is to lock lines of a node in advance
 * @c: coordinator
 * @slot: its slot
 * @nid: endpoint of the participant
 *
 * Return: as rmc_tx_coord_touch(); -EBUSY: something was sent there.
 */
int rmc_tx_coord_lock_at(struct rmc_tx_coord *c, u32 slot, u32 nid)
{
	struct rmc_tx_peer *p;
	int err = rmc_tx_coord_touch(c, slot, nid, false);

	if (err)
		return err;
	p = peer_of(slot_of(c, slot), nid);
	if (p->flags & RMC_TX_P_HERE)
		return -EBUSY;
	p->flags |= RMC_TX_P_LOCK;
	return 0;
}

/**
 * rmc_tx_coord_lock() - a transaction locks in advance what rmc_tx_coord_lock_at() was called for
 * @c: coordinator
 * @slot: its slot
 *
 * Return: 0, -EINVAL (no such slot), -ECANCELED (it does not execute any more).
 */
int rmc_tx_coord_lock(struct rmc_tx_coord *c, u32 slot)
{
	if (slot >= RMC_TX_SLOTS)
		return -EINVAL;
	slot = array_index_nospec(slot, RMC_TX_SLOTS);
	if (c->slot[slot].phase != RMC_TX_EXECUTING)
		return -ECANCELED;
	lock_next(c, slot);
	return 0;
}

/**
 * rmc_tx_coord_locked() - a transaction that has locked in advance, and executes again
 * @c: coordinator
 * @slot: out, its slot
 *
 * Return: false if there is none.
 */
bool rmc_tx_coord_locked(struct rmc_tx_coord *c, u32 *slot)
{
	if (!c->locked)
		return false;
	*slot = __ffs64(c->locked);
	c->locked &= c->locked - 1;
	return true;
}

/**
 * rmc_tx_coord_commit() - a transaction is to commit
 * @c: coordinator
 * @slot: its slot
 *
 * The own node is asked first, then all others at once (HADES table II, steps 1 to 3). One that
 * has used no node ends at once. One that is held is decided.
 *
 * Return: 0, -EINVAL (no such slot), -ECANCELED (it does not execute any more).
 */
int rmc_tx_coord_commit(struct rmc_tx_coord *c, u32 slot)
{
	struct rmc_tx_peer *self;
	struct rmc_tx_slot *s;

	if (slot >= RMC_TX_SLOTS)
		return -EINVAL;
	slot = array_index_nospec(slot, RMC_TX_SLOTS);
	s = slot_of(c, slot);
	if (s->phase == RMC_TX_HELD) {
		s->hold = 0;
		c->prepared &= ~bit_of(slot);
		decide(c, slot);
		return 0;
	}
	if (s->phase != RMC_TX_EXECUTING)
		return -ECANCELED;
	self = peer_of(s, c->self);
	if (!self) {
		intend_to_others(c, slot);
		return 0;
	}
	s->phase = RMC_TX_SELF;
	ask(c, slot, self);
	return 0;
}

/**
 * rmc_tx_coord_prepare() - a transaction is to be decided by its application (HADES-H)
 * @c: coordinator
 * @slot: its slot
 *
 * As rmc_tx_coord_commit(), but with the acks of all nodes it is held. Its locks stay until
 * rmc_tx_coord_commit() or rmc_tx_coord_abort(); the caller bounds the time.
 *
 * Return: 0, -EINVAL (no such slot), -ECANCELED (it does not execute any more).
 */
int rmc_tx_coord_prepare(struct rmc_tx_coord *c, u32 slot)
{
	struct rmc_tx_slot *s;

	if (slot >= RMC_TX_SLOTS)
		return -EINVAL;
	s = slot_of(c, slot);
	if (s->phase != RMC_TX_EXECUTING)
		return -ECANCELED;
	s->hold = 1;
	return rmc_tx_coord_commit(c, slot);
}

/**
 * rmc_tx_coord_prepared() - a transaction whose application is to decide now
 * @c: coordinator
 * @slot: out, its slot
 *
 * Return: false if there is none.
 */
bool rmc_tx_coord_prepared(struct rmc_tx_coord *c, u32 *slot)
{
	if (!c->prepared)
		return false;
	*slot = __ffs64(c->prepared);
	c->prepared &= c->prepared - 1;
	return true;
}

/**
 * rmc_tx_coord_abort() - a transaction is not to commit
 * @c: coordinator
 * @slot: its slot
 * @status: how it ends, not RMC_S_OK
 *
 * Without effect on one that is decided, or is over.
 */
void rmc_tx_coord_abort(struct rmc_tx_coord *c, u32 slot, u8 status)
{
	if (slot < RMC_TX_SLOTS)
		give_up(c, array_index_nospec(slot, RMC_TX_SLOTS), status);
}

/**
 * rmc_tx_coord_squash() - a participant says that it has squashed a transaction
 * @c: coordinator
 * @slot: its slot, from the wire
 * @gen: use of the slot, from the wire
 * @nid: endpoint of the participant
 *
 * Only for a transaction that is not decided, from a node that it uses.
 */
void rmc_tx_coord_squash(struct rmc_tx_coord *c, u32 slot, u32 gen, u32 nid)
{
	struct rmc_tx_slot *s;
	struct rmc_tx_peer *p;

	if (slot >= RMC_TX_SLOTS)
		return;
	slot = array_index_nospec(slot, RMC_TX_SLOTS);
	s = slot_of(c, slot);
	p = peer_of(s, nid);
	if (s->gen == gen && p && p->flags & RMC_TX_P_SENT)
		give_up(c, slot, RMC_S_TX_SQUASHED);
}

static u16 kind_of(const struct rmc_tx_slot *s)
{
	switch (s->phase) {
	case RMC_TX_COMMITTING:
		return RMC_TX_COMMIT;
	case RMC_TX_ABORTING:
		return RMC_TX_ABORT;
	case RMC_TX_LOCKING:
		return RMC_TX_LOCK;
	default:
		return RMC_TX_INTEND;
	}
}

/**
 * rmc_tx_coord_next() - a message to be sent
 * @c: coordinator
 * @msg: out
 *
 * Messages may be sent in any order and all at once.
 *
 * Return: false if there is none.
 */
bool rmc_tx_coord_next(struct rmc_tx_coord *c, struct rmc_tx_msg *msg)
{
	struct rmc_tx_slot *s;
	struct rmc_tx_peer *p;
	u32 slot, i;

	while (c->due) {
		slot = __ffs64(c->due);
		s = &c->slot[slot];
		for (i = 0; i < s->peers; i++) {
			p = &s->peer[i];
			if (!(p->flags & RMC_TX_P_DUE))
				continue;
			*msg = (struct rmc_tx_msg) {
				.kind = kind_of(s), .nid = p->nid, .slot = slot, .gen = s->gen,
			};
			if (msg->kind == RMC_TX_INTEND && p->flags & RMC_TX_P_HERE)
				msg->flags = RMC_TX_HERE;
			if (s->phase >= RMC_TX_COMMITTING && p->flags & RMC_TX_P_LOCAL)
				msg->flags = RMC_TX_LOCAL;
			p->flags &= ~RMC_TX_P_DUE;
			p->flags |= RMC_TX_P_SENT;
			return true;
		}
		c->due &= ~bit_of(slot);
	}
	return false;
}

/* Has the participant not got the message, or not been able to act on it yet? */
static bool may_repeat(u8 status)
{
	return status == RMC_S_TIMEOUT || status == RMC_S_NODE_DOWN || status == RMC_S_BUSY ||
	       status == RMC_S_ABORTED;
}

/* An own INTEND was answered */
static void intend_answered(struct rmc_tx_coord *c, u32 slot, struct rmc_tx_peer *p, u8 status)
{
	struct rmc_tx_slot *s = &c->slot[slot];

	if (status) {
		give_up(c, slot, status);
		return;
	}
	has_answered(s, p);
	if (s->waits)
		return;
	if (s->phase == RMC_TX_SELF)
		intend_to_others(c, slot);
	else
		decide(c, slot);
}

/* A LOCK was answered; one that waits is sent again with the others */
static void lock_answered(struct rmc_tx_coord *c, u32 slot, struct rmc_tx_peer *p, u8 status)
{
	if (status == RMC_S_TX_LOCKED || status == RMC_S_BUSY)
		return;
	if (status) {
		give_up(c, slot, status);
		return;
	}
	has_answered(&c->slot[slot], p);
	p->flags &= ~RMC_TX_P_LOCK;
	p->flags |= RMC_TX_P_HERE;
	lock_next(c, slot);
}

/**
 * rmc_tx_coord_answer() - a message was answered, or the RMC gave it up
 * @c: coordinator
 * @msg: the message
 * @status: of the answer. Of a COMMIT: that of DATA, if it is not RMC_S_OK
 *
 * An answer that is not expected any more has no effect.
 */
void rmc_tx_coord_answer(struct rmc_tx_coord *c, const struct rmc_tx_msg *msg, u8 status)
{
	struct rmc_tx_slot *s;
	struct rmc_tx_peer *p;
	u32 slot;

	if (msg->slot >= RMC_TX_SLOTS)
		return;
	slot = array_index_nospec(msg->slot, RMC_TX_SLOTS);
	s = slot_of(c, slot);
	p = peer_of(s, msg->nid);
	if (s->gen != msg->gen || kind_of(s) != msg->kind || !p || !(p->flags & RMC_TX_P_WAIT))
		return;
	if (msg->kind == RMC_TX_INTEND) {
		intend_answered(c, slot, p, status);
		return;
	}
	if (msg->kind == RMC_TX_LOCK) {
		lock_answered(c, slot, p, status);
		return;
	}
	if (may_repeat(status))
		return;
	has_answered(s, p);
	if (msg->kind == RMC_TX_COMMIT && status) {
		p->flags |= RMC_TX_P_LOST;
		s->status = RMC_S_TX_PART_LOST;
	}
	if (is_awaited(c, s, p))
		end(c, slot);
	settle(c, slot);
}

/**
 * rmc_tx_coord_resend() - messages of a transaction that were not answered are due again
 * @c: coordinator
 * @slot: its slot
 */
void rmc_tx_coord_resend(struct rmc_tx_coord *c, u32 slot)
{
	struct rmc_tx_slot *s;
	u32 i;

	if (slot >= RMC_TX_SLOTS)
		return;
	slot = array_index_nospec(slot, RMC_TX_SLOTS);
	s = slot_of(c, slot);
	for (i = 0; i < s->peers; i++) {
		if (!(s->peer[i].flags & RMC_TX_P_WAIT))
			continue;
		s->peer[i].flags |= RMC_TX_P_DUE;
		c->due |= bit_of(slot);
	}
}

/**
 * rmc_tx_coord_expire() - a transaction takes too long
 * @c: coordinator
 * @slot: its slot
 *
 * One that is decided goes on: its messages are repeated until they are answered.
 */
void rmc_tx_coord_expire(struct rmc_tx_coord *c, u32 slot)
{
	rmc_tx_coord_abort(c, slot, RMC_S_TIMEOUT);
}

/* A node of a transaction forgot all of it */
static void forgotten_by(struct rmc_tx_coord *c, u32 slot, struct rmc_tx_peer *p)
{
	struct rmc_tx_slot *s = &c->slot[slot];

	if (is_undecided(s)) {
		/* a write that it was not told of needs nothing of what it forgot */
		if (!(p->flags & RMC_TX_P_SENT))
			return;
		p->flags &= ~RMC_TX_P_SENT;
		give_up(c, slot, RMC_S_NODE_DOWN);
	} else if (p->flags & RMC_TX_P_WAIT) {
		has_answered(s, p);
		if (s->phase == RMC_TX_COMMITTING) {
			p->flags |= RMC_TX_P_LOST;
			s->status = RMC_S_TX_PART_LOST;
		}
		if (is_awaited(c, s, p))
			end(c, slot);
	}
	settle(c, slot);
}

/**
 * rmc_tx_coord_epoch() - a node began anew, or was fenced: nothing of what it knew is left
 * @c: coordinator
 * @nid: its endpoint
 *
 * What was not decided is squashed. A part that was decided and not stored is lost, and its
 * transaction ends with RMC_S_TX_PART_LOST, unless its application was told before.
 */
void rmc_tx_coord_epoch(struct rmc_tx_coord *c, u32 nid)
{
	struct rmc_tx_peer *p;
	u32 slot;

	for (slot = 0; slot < RMC_TX_SLOTS; slot++) {
		p = peer_of(&c->slot[slot], nid);
		if (p)
			forgotten_by(c, slot, p);
	}
}

/**
 * rmc_tx_coord_ended() - a transaction whose application is to be told that it has ended
 * @c: coordinator
 * @slot: out, its slot, which may be in use still: rmc_tx_coord_is_free()
 * @status: out: RMC_S_OK, it has committed; RMC_S_TX_PART_LOST, that too, see
 *	rmc_tx_coord_epoch(); otherwise it was squashed: why
 *
 * Return: false if there is none.
 */
bool rmc_tx_coord_ended(struct rmc_tx_coord *c, u32 *slot, u8 *status)
{
	if (!c->ends)
		return false;
	*slot = __ffs64(c->ends);
	*status = c->slot[*slot].status;
	c->ends &= c->ends - 1;
	settle(c, *slot);
	return true;
}
