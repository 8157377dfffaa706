// SPDX-License-Identifier: GPL-2.0
/*
 * Engine of transactions: what is sent, and what comes back; see tx_engine.h. tx_writes.c has the
 * write list.
 */
#include "node.h"
#include "tx_engine.h"
#include "tx_writes.h"

static u64 bit_of(u32 i)
{
	return 1ULL << i;
}

static u8 *buffer_of(const struct rmc_tx_engine *e, u32 entry)
{
	return e->memory + (size_t)entry * RMC_TX_MESSAGE_MAX;
}

static struct rmc_tx_head *head_of(const struct rmc_tx_engine *e, u32 entry)
{
	return (struct rmc_tx_head *)buffer_of(e, entry);
}

static struct rmc_tx_txn *txn_of(const struct rmc_tx_engine *e, u32 slot)
{
	return slot < e->opts.slots ? &e->txn[array_index_nospec(slot, e->opts.slots)] : NULL;
}

/* Index of a node in a transaction's node list; RMC_TX_NODES: it is not there any more */
static u32 peer_of(const struct rmc_tx_engine *e, const struct rmc_tx_msg *msg)
{
	const struct rmc_tx_slot *s = &e->coord->slot[msg->slot];
	u32 i;

	if (s->gen != msg->gen)
		return RMC_TX_NODES;
	for (i = 0; i < s->peers; i++)
		if (s->peer[i].nid == msg->nid)
			return i;
	return RMC_TX_NODES;
}

/* ---- set-up ---- */

static int allocate(struct rmc_tx_engine *e)
{
	u32 i;

	e->coord = rmc_os_zalloc_user(sizeof(*e->coord));
	e->txn = rmc_os_zalloc_user(e->opts.slots * sizeof(*e->txn));
	e->data = rmc_os_zalloc_user((size_t)e->opts.slots * e->opts.bytes);
	e->op = rmc_os_zalloc_user(e->entries * sizeof(*e->op));
	e->memory = rmc_os_zalloc_user((size_t)e->entries * RMC_TX_MESSAGE_MAX);
	e->epoch = rmc_os_zalloc_user(e->unit->fabric->nodes * sizeof(*e->epoch));
	if (!e->coord || !e->txn || !e->data || !e->op || !e->memory || !e->epoch)
		return -ENOMEM;
	for (i = 0; i < e->opts.slots; i++)
		e->txn[i].data = e->data + (size_t)i * e->opts.bytes;
	return 0;
}

/**
 * rmc_tx_engine_create() - allocate an engine
 * @unit: unit whose RGP sends its packets
 * @ctx_id: context
 * @opts: see there; @order: 1 to 8
 *
 * The memory is charged to the memory cgroup of the caller. The caller gives @client.qp to the
 * worker of the unit's RGP.
 *
 * Return: engine; ERR_PTR(-EINVAL, -ENOMEM). Context: may sleep.
 */
struct rmc_tx_engine *rmc_tx_engine_create(struct rmc_node *unit, u16 ctx_id,
					   const struct rmc_tx_engine_opts *opts)
{
	struct rmc_tx_engine *e;

	if (!opts->slots || opts->slots > RMC_TX_SLOTS || !opts->bytes ||
	    opts->bytes > RMC_TX_WRITE_MAX || !opts->order || opts->order > 8)
		return ERR_PTR(-EINVAL);
	e = rmc_os_zalloc_user(sizeof(*e));
	if (!e)
		return ERR_PTR(-ENOMEM);
	e->unit = unit;
	e->opts = *opts;
	e->entries = 1U << opts->order;
	if (allocate(e) || rmc_client_init(&e->client, unit, &e->bufs, ctx_id, opts->order)) {
		rmc_tx_engine_destroy(e);
		return ERR_PTR(-ENOMEM);
	}
	rmc_client_wire_only(&e->client);
	rmc_tx_coord_init(e->coord, unit->nid, opts->gen);
	e->chunk = e->memory;
	e->mem.chunk = &e->chunk;
	e->mem.length = (u64)e->entries * RMC_TX_MESSAGE_MAX;
	rmc_mem_chunks(&e->mem, 63);
	e->bufs.mem[0] = &e->mem;
	e->bufs.count = 1;
	return e;
}

/**
 * rmc_tx_engine_destroy() - free an engine
 * @e: engine whose queue pair no worker polls
 *
 * What was decided and not answered is never sent again: see rmc_tx_engine_idle().
 * Context: may sleep.
 */
void rmc_tx_engine_destroy(struct rmc_tx_engine *e)
{
	rmc_client_destroy(&e->client);
	rmc_os_free(e->epoch);
	rmc_os_free(e->memory);
	rmc_os_free(e->op);
	rmc_os_free(e->data);
	rmc_os_free(e->txn);
	rmc_os_free(e->coord);
	rmc_os_free(e);
}

/**
 * rmc_tx_engine_idle() - check whether an engine has nothing to do
 * @e: engine
 *
 * Return: true if no transaction is open, and no message under way. Context: the engine's thread.
 */
bool rmc_tx_engine_idle(const struct rmc_tx_engine *e)
{
	u32 i;

	for (i = 0; i < e->opts.slots; i++)
		if (!rmc_tx_coord_is_free(e->coord, i))
			return false;
	return !rmc_client_in_flight(&e->client);
}

/* ---- packets ---- */

/*
 * True if there is a place: the next entry, and its buffer. An entry that is in use is passed over
 * with one whose buffer is none of this engine's: RMC_S_BAD_LBUF. If a peer answers with that, too,
 * one of both completions counts as the answer, and it does not matter which.
 */
static bool may_post(struct rmc_tx_engine *e)
{
	while (!rmc_client_full(&e->client)) {
		struct rmc_tx_op *op = &e->op[e->client.head & e->client.qp.mask];

		if (!op->what && !op->skips)
			return true;
		op->skips++;
		rmc_client_post(&e->client,
				rmc_wqe_word0(RMC_OP_TX_CLOSE - RMC_OP_WIRE, e->unit->nid,
					      RMC_WQE_LBUF_MASK - RMC_LINE, 0),
				rmc_wqe_word1(0, RMC_LINE));
		e->posted++;
	}
	return false;
}

/* Begin the message of the next entry. */
static struct rmc_tx_head *begin(struct rmc_tx_engine *e, const struct rmc_tx_msg *msg, u8 kind)
{
	struct rmc_tx_head *h = head_of(e, e->client.head & e->client.qp.mask);

	memset(h, 0, sizeof(*h));
	h->gen = msg->gen;
	h->slot = msg->slot;
	h->kind = kind;
	return h;
}

static void post(struct rmc_tx_engine *e, const struct rmc_tx_msg *msg, u32 what, u32 op,
		 u64 offset, u32 length)
{
	u32 entry = e->client.head & e->client.qp.mask;

	e->op[entry].msg = *msg;
	e->op[entry].what = what;
	e->used[entry / 64] |= bit_of(entry % 64);
	rmc_client_post(&e->client, rmc_wqe_word0(op - RMC_OP_WIRE, msg->nid,
						  (u64)entry * RMC_TX_MESSAGE_MAX, 0),
			rmc_wqe_word1(offset, length));
	e->posted++;
}

static void post_access(struct rmc_tx_engine *e, u32 slot, struct rmc_tx_txn *t)
{
	struct rmc_tx_msg msg = { .nid = t->access.nid, .slot = slot, .gen = t->gen };

	begin(e, &msg, t->access.kind == RMC_TX_READ ? RMC_TX_KIND_READ : RMC_TX_KIND_OWN);
	t->access.state = RMC_TX_ACCESS_SENT;
	post(e, &msg, RMC_TX_OP_ACCESS, RMC_OP_TX_ACCESS, t->access.offset, t->access.length);
}

static void post_intend(struct rmc_tx_engine *e, const struct rmc_tx_msg *msg)
{
	bool lock = msg->kind == RMC_TX_LOCK;
	struct rmc_tx_head *h = begin(e, msg, lock ? RMC_TX_KIND_LOCK : RMC_TX_KIND_INTEND);
	struct rmc_tx_range *range = (struct rmc_tx_range *)(h + 1);
	const struct rmc_tx_txn *t = &e->txn[msg->slot];
	u32 bytes;

	h->flags = msg->flags;
	if (lock)
		h->count = rmc_tx_hold_ranges(t, msg->nid, range, &h->writes);
	else
		h->count = rmc_tx_writes_ranges(t, msg->nid, range);
	bytes = h->count * sizeof(struct rmc_tx_range);
	post(e, msg, RMC_TX_OP_MESSAGE, RMC_OP_TX_INTEND, rmc_tx_offset(msg->slot, msg->gen),
	     sizeof(*h) + bytes);
}

static void post_close(struct rmc_tx_engine *e, const struct rmc_tx_msg *msg)
{
	struct rmc_tx_head *h = begin(e, msg, msg->kind == RMC_TX_COMMIT ? RMC_TX_KIND_COMMIT :
				      RMC_TX_KIND_ABORT);

	h->flags = msg->flags;
	post(e, msg, RMC_TX_OP_MESSAGE, RMC_OP_TX_CLOSE, rmc_tx_offset(msg->slot, msg->gen),
	     sizeof(*h));
}

/* The next part of a commit at a node: some DATA, or CLOSE behind all of it */
static void post_part(struct rmc_tx_engine *e, u32 slot, u32 peer)
{
	const struct rmc_tx_slot *s = &e->coord->slot[slot];
	struct rmc_tx_msg msg = { .kind = RMC_TX_COMMIT, .nid = s->peer[peer].nid, .slot = slot,
				  .gen = s->gen };
	struct rmc_tx_txn *t = &e->txn[slot];
	struct rmc_tx_head *h = begin(e, &msg, RMC_TX_KIND_DATA);
	u32 bytes;

	if (s->peer[peer].flags & RMC_TX_P_LOCAL)
		msg.flags = RMC_TX_LOCAL;
	bytes = rmc_tx_writes_pieces(t, msg.nid, &t->next[peer].write, &t->next[peer].sent,
				     (u8 *)(h + 1), &h->count);
	if (bytes)
		post(e, &msg, RMC_TX_OP_DATA, RMC_OP_TX_DATA, rmc_tx_offset(slot, msg.gen),
		     sizeof(*h) + bytes);
	else
		post_close(e, &msg);
}

/* True if such a message is under way: to be sent again is to be sent once */
static bool in_flight(const struct rmc_tx_engine *e, const struct rmc_tx_msg *msg)
{
	u64 bits;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(e->used); i++)
		for (bits = e->used[i]; bits; bits &= bits - 1) {
			const struct rmc_tx_op *op = &e->op[i * 64 + __ffs64(bits)];

			if (op->what > RMC_TX_OP_ACCESS && op->msg.kind == msg->kind &&
			    op->msg.nid == msg->nid && op->msg.slot == msg->slot &&
			    op->msg.gen == msg->gen)
				return true;
		}
	return false;
}

static void send(struct rmc_tx_engine *e, const struct rmc_tx_msg *msg)
{
	struct rmc_tx_txn *t = &e->txn[msg->slot];
	u32 peer = peer_of(e, msg);

	if (in_flight(e, msg) || peer == RMC_TX_NODES)
		return;
	switch (msg->kind) {
	case RMC_TX_INTEND:
	case RMC_TX_LOCK:
		post_intend(e, msg);
		break;
	case RMC_TX_COMMIT:
		if (t->ready & bit_of(peer))
			return;
		/* from its beginning */
		t->next[peer].write = 0;
		t->next[peer].sent = 0;
		post_part(e, msg->slot, peer);
		break;
	case RMC_TX_ABORT:
		post_close(e, msg);
		break;
	}
}

static void send_accesses(struct rmc_tx_engine *e)
{
	struct rmc_tx_txn *t;
	u64 bits;
	u32 i;

	for (bits = e->accesses; bits; bits &= bits - 1) {
		i = __ffs64(bits);
		t = &e->txn[i];
		if (t->access.state == RMC_TX_ACCESS_DUE &&
		    (!t->access.tries || (s32)(e->now_ms - t->access.due_ms) >= 0) && may_post(e))
			post_access(e, i, t);
		if (t->access.state != RMC_TX_ACCESS_DUE)
			e->accesses &= ~bit_of(i);
	}
}

static void send_parts(struct rmc_tx_engine *e)
{
	struct rmc_tx_txn *t;
	u32 i, peer;
	u64 bits;

	for (bits = e->parts; bits; bits &= bits - 1) {
		i = __ffs64(bits);
		t = &e->txn[i];
		while (t->ready && may_post(e)) {
			peer = __ffs64(t->ready);
			t->ready &= t->ready - 1;
			post_part(e, i, peer);
		}
		if (!t->ready)
			e->parts &= ~bit_of(i);
	}
}

/**
 * rmc_tx_engine_send() - send what is due
 * @e: engine; the caller's thread is its client
 *
 * Context: the engine's thread; does not sleep.
 */
void rmc_tx_engine_send(struct rmc_tx_engine *e)
{
	struct rmc_tx_msg msg;

	send_accesses(e);
	send_parts(e);
	while (e->coord->due && may_post(e) && rmc_tx_coord_next(e->coord, &msg))
		send(e, &msg);
	if (e->posted && !e->awake)
		rmc_client_submit(&e->client);
	e->posted = 0;
}

/* ---- answers ---- */

/* Lost, or not for now: it is worth trying again. */
static bool is_passing(u8 status)
{
	return status == RMC_S_TIMEOUT || status == RMC_S_BUSY || status == RMC_S_TX_LOCKED;
}

static void access_done(struct rmc_tx_engine *e, const struct rmc_tx_op *op, u32 entry, u8 status)
{
	struct rmc_tx_txn *t = &e->txn[op->msg.slot];

	/* of a transaction that is over, or that does not wait for it any more */
	if (t->gen != op->msg.gen || t->access.state != RMC_TX_ACCESS_SENT)
		return;
	if (is_passing(status) && ++t->access.tries < RMC_TX_TRIES) {
		t->access.state = RMC_TX_ACCESS_DUE;
		t->access.due_ms = e->now_ms + 1;
		e->accesses |= bit_of(op->msg.slot);
		return;
	}
	if (!status) {
		memcpy(t->access.to, buffer_of(e, entry) + RMC_LINE, t->access.length);
		rmc_tx_writes_overlay(t, t->access.nid, t->access.offset, t->access.to,
				      t->access.length);
	} else {
		rmc_tx_coord_abort(e->coord, op->msg.slot, status);
	}
	t->access.status = status;
	t->access.state = RMC_TX_ACCESS_DONE;
}

static void message_done(struct rmc_tx_engine *e, const struct rmc_tx_op *op, u32 entry, u8 status)
{
	struct rmc_tx_txn *t = &e->txn[op->msg.slot];
	u32 peer = peer_of(e, &op->msg);

	if (peer == RMC_TX_NODES)
		return;
	/* packets came, but not all into the same message */
	if (!status && !head_of(e, entry)->acted)
		status = RMC_S_TIMEOUT;
	if (!status && op->what == RMC_TX_OP_DATA) {
		if (!rmc_tx_coord_is_free(e->coord, op->msg.slot)) {
			t->ready |= bit_of(peer);
			e->parts |= bit_of(op->msg.slot);
		}
		return;
	}
	/* due again with the next resend */
	if ((op->msg.kind == RMC_TX_INTEND || op->msg.kind == RMC_TX_LOCK) &&
	    (status == RMC_S_TIMEOUT || status == RMC_S_BUSY) && ++t->tries < RMC_TX_TRIES)
		return;
	rmc_tx_coord_answer(e->coord, &op->msg, status);
	if (op->msg.kind == RMC_TX_LOCK && e->coord->slot[op->msg.slot].locks)
		t->writes = 0;
}

/**
 * rmc_tx_engine_take() - take answers
 * @e: engine; the caller's thread is its client
 *
 * Return: how many. Context: the engine's thread; does not sleep.
 */
u32 rmc_tx_engine_take(struct rmc_tx_engine *e)
{
	struct rmc_tx_op op;
	u32 done = 0;
	u8 status;
	u16 entry;

	while (rmc_client_reap(&e->client, &entry, &status)) {
		entry &= e->client.qp.mask;
		done++;
		if (unlikely(status == RMC_S_BAD_LBUF && e->op[entry].skips)) {
			e->op[entry].skips--;
			continue;
		}
		op = e->op[entry];
		e->op[entry].what = RMC_TX_OP_FREE;
		e->used[entry / 64] &= ~bit_of(entry % 64);
		if (op.what == RMC_TX_OP_ACCESS)
			access_done(e, &op, entry, status);
		else if (op.what)
			message_done(e, &op, entry, status);
	}
	return done;
}

/*
 * A node that is down, or up in a new epoch, has forgotten all. So have all others, if this one is
 * in a new epoch.
 */
static void check_epochs(struct rmc_tx_engine *e)
{
	const struct rmc_fabric *f = e->unit->fabric;
	u32 self = READ_ONCE(e->unit->head->epoch), i, epoch;
	bool anew = e->self_epoch && self != e->self_epoch;

	e->self_epoch = self;
	for (i = 0; i < f->nodes; i++) {
		if (!rmc_peer_up(f, i, &epoch))
			epoch = 0;
		if (!anew && epoch && epoch == e->epoch[i])
			continue;
		if (anew || e->epoch[i] || !epoch)
			rmc_tx_coord_epoch(e->coord, i);
		e->epoch[i] = epoch;
	}
}

/**
 * rmc_tx_engine_time() - what depends on time: epochs, messages that are due again, locks held
 * @e: engine; the caller's thread is its client
 * @now_ms: milliseconds
 *
 * Nothing is sent. Context: the engine's thread; does not sleep.
 */
void rmc_tx_engine_time(struct rmc_tx_engine *e, u32 now_ms)
{
	u32 i;

	if (now_ms != e->now_ms || !e->self_epoch) {
		e->now_ms = now_ms;
		check_epochs(e);
		rmc_tx_engine_expire(e);
	}
	if (now_ms - e->resent_ms >= e->opts.resend_ms) {
		e->resent_ms = now_ms;
		for (i = 0; i < e->opts.slots; i++)
			rmc_tx_coord_resend(e->coord, i);
	}
}

/**
 * rmc_tx_engine_poll() - take answers, and send what is due
 * @e: engine; the caller's thread is its client
 * @now_ms: milliseconds, for what is sent again
 *
 * Return: answers taken. Context: the engine's thread; does not sleep.
 */
u32 rmc_tx_engine_poll(struct rmc_tx_engine *e, u32 now_ms)
{
	u32 done = rmc_tx_engine_take(e);

	rmc_tx_engine_time(e, now_ms);
	rmc_tx_engine_send(e);
	return done;
}

/* ---- transactions ---- */

/**
 * rmc_tx_engine_begin() - begin a transaction
 * @e: engine
 * @slot: out, its slot
 *
 * Return: 0; -EBUSY: all slots are in use. Context: the engine's thread; does not sleep.
 */
int rmc_tx_engine_begin(struct rmc_tx_engine *e, u32 *slot)
{
	u32 i;

	for (i = 0; i < e->opts.slots; i++)
		if (rmc_tx_coord_is_free(e->coord, i))
			break;
	if (i == e->opts.slots)
		return -EBUSY;
	*slot = i;
	return rmc_tx_engine_begin_at(e, i);
}

/**
 * rmc_tx_engine_begin_at() - begin a transaction in a slot that the caller names
 * @e: engine
 * @slot: slot
 *
 * Return: 0; -EINVAL; -EBUSY: its last transaction is not over. Context: the engine's thread; does
 * not sleep.
 */
int rmc_tx_engine_begin_at(struct rmc_tx_engine *e, u32 slot)
{
	struct rmc_tx_txn *t = txn_of(e, slot);

	if (!t)
		return -EINVAL;
	if (!rmc_tx_coord_is_free(e->coord, slot))
		return -EBUSY;
	t->writes = 0;
	t->used = 0;
	t->tries = 0;
	t->ready = 0;
	t->access.state = RMC_TX_ACCESS_NONE;
	return rmc_tx_coord_begin(e->coord, slot, &t->gen);
}

/**
 * rmc_tx_engine_is_down() - check whether a node answers nothing: a slot would wait for long
 * @e: engine
 * @nid: node
 *
 * Return: true if it is down, or silent. Context: any.
 */
bool rmc_tx_engine_is_down(const struct rmc_tx_engine *e, u32 nid)
{
	u32 epoch;

	return !rmc_peer_up(e->unit->fabric, nid, &epoch) ||
	       READ_ONCE(e->unit->head->peer[nid].silent);
}

/**
 * rmc_tx_engine_access() - begin to access lines of a node
 * @e: engine
 * @slot: transaction, which has no other access under way
 * @kind: RMC_TX_READ; RMC_TX_OWN: they will be written, in part
 * @nid: node, one's own too
 * @offset: in the segment, bytes
 * @length: bytes, RMC_TX_ACCESS_MAX at most
 * @to: where they go, with what the transaction has written itself; until it is over, or
 *	rmc_tx_engine_accessed()
 *
 * Return: 0; -EINVAL; -EBUSY: it has one; -ECANCELED: it does not execute any more; -ENOSPC: it
 * uses RMC_TX_NODES others; -EHOSTDOWN. Context: the engine's thread; does not sleep.
 */
int rmc_tx_engine_access(struct rmc_tx_engine *e, u32 slot, enum rmc_tx_access kind, u32 nid,
			 u64 offset, u32 length, void *to)
{
	struct rmc_tx_txn *t = txn_of(e, slot);
	int err;

	if (!t || nid >= e->unit->fabric->nodes || !length || length > RMC_TX_ACCESS_MAX ||
	    offset > RMC_OFFSET_MAX - length)
		return -EINVAL;
	if (t->access.state == RMC_TX_ACCESS_DUE || t->access.state == RMC_TX_ACCESS_SENT)
		return -EBUSY;
	if (rmc_tx_engine_is_down(e, nid))
		return -EHOSTDOWN;
	err = rmc_tx_coord_touch(e->coord, slot, nid, true);
	if (err)
		return err;
	t->access.kind = kind;
	t->access.nid = nid;
	t->access.offset = offset;
	t->access.length = length;
	t->access.to = to;
	t->access.tries = 0;
	t->access.state = RMC_TX_ACCESS_DUE;
	e->accesses |= bit_of(slot);
	return 0;
}

/**
 * rmc_tx_engine_accessed() - the end of an access
 * @e: engine
 * @slot: transaction
 * @status: out, enum rmc_status; not RMC_S_OK: the transaction is squashed
 *
 * Return: false: it is under way, or there was none. Context: the engine's thread; does not sleep.
 */
bool rmc_tx_engine_accessed(struct rmc_tx_engine *e, u32 slot, u8 *status)
{
	struct rmc_tx_txn *t = txn_of(e, slot);

	if (!t || t->access.state != RMC_TX_ACCESS_DONE)
		return false;
	t->access.state = RMC_TX_ACCESS_NONE;
	*status = t->access.status;
	return true;
}

/**
 * rmc_tx_engine_write() - what a transaction writes
 * @e: engine
 * @slot: transaction
 * @nid: node, one's own too
 * @offset: in the segment, bytes
 * @data: new content; a copy is made
 * @length: bytes
 *
 * Nothing is sent: the node learns of it with INTEND.
 *
 * Return: 0; -EINVAL; -ECANCELED: it does not execute any more; -ENOSPC: nodes, ranges or bytes of
 * a transaction are used up, some of it may be in the list; -EHOSTDOWN. Context: the engine's
 * thread; does not sleep.
 */
int rmc_tx_engine_write(struct rmc_tx_engine *e, u32 slot, u32 nid, u64 offset, const void *data,
			u32 length)
{
	struct rmc_tx_txn *t = txn_of(e, slot);
	int err;

	if (!t || nid >= e->unit->fabric->nodes || !length || length > e->opts.bytes ||
	    offset > RMC_OFFSET_MAX - length)
		return -EINVAL;
	if (rmc_tx_engine_is_down(e, nid))
		return -EHOSTDOWN;
	err = rmc_tx_coord_touch(e->coord, slot, nid, false);
	if (err)
		return err;
	return rmc_tx_writes_add(t, e->opts.bytes, nid, offset, data, length);
}

/**
 * rmc_tx_engine_commit() - commit a transaction
 * @e: engine
 * @slot: transaction without an access under way
 *
 * Return: 0; -EINVAL; -EBUSY; -ECANCELED. Context: the engine's thread; does not sleep.
 */
int rmc_tx_engine_commit(struct rmc_tx_engine *e, u32 slot)
{
	struct rmc_tx_txn *t = txn_of(e, slot);

	if (!t)
		return -EINVAL;
	if (t->access.state == RMC_TX_ACCESS_DUE || t->access.state == RMC_TX_ACCESS_SENT)
		return -EBUSY;
	return rmc_tx_coord_commit(e->coord, slot);
}

/**
 * rmc_tx_engine_abort() - drop a transaction
 * @e: engine
 * @slot: transaction; no effect on one that is decided, or is over
 *
 * Context: the engine's thread; does not sleep.
 */
void rmc_tx_engine_abort(struct rmc_tx_engine *e, u32 slot)
{
	struct rmc_tx_txn *t = txn_of(e, slot);

	if (!t || rmc_tx_coord_is_decided(e->coord, slot) || rmc_tx_coord_is_free(e->coord, slot))
		return;
	t->access.state = RMC_TX_ACCESS_NONE;
	rmc_tx_coord_abort(e->coord, slot, RMC_S_ABORTED);
}

/**
 * rmc_tx_engine_ended() - a transaction that has ended
 * @e: engine
 * @slot: out, its slot
 * @status: out: RMC_S_OK, RMC_S_TX_PART_LOST: it has committed; else why not
 *
 * Return: false: there is none. Context: the engine's thread; does not sleep.
 */
bool rmc_tx_engine_ended(struct rmc_tx_engine *e, u32 *slot, u8 *status)
{
	if (!rmc_tx_coord_ended(e->coord, slot, status))
		return false;
	/* an access that is under way has nowhere to go */
	if (e->txn[*slot].access.state != RMC_TX_ACCESS_DONE)
		e->txn[*slot].access.state = RMC_TX_ACCESS_NONE;
	return true;
}
