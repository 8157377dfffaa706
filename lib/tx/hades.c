/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * HADES: home nodes' RMCs know which lines a transaction has used, and the own RMC commits it
 * (<linux/rmc_tx.h>). Own records are used by loads and stores (hades_local.c), or, by the system
 * "rmc", through the RMC like all others.
 *
 *	read, put       RMC_OP_TX_READ, RMC_OP_TX_OWN  -->  its home notes the lines, returns them
 *	commit          RMC_OP_TX_COMMIT, with all that is written, in one entry of the queue pair:
 *	                no half of it takes effect, whenever this process ends
 *	end without it  RMC_OP_TX_ABORT, not waited for
 *
 * What is read: a line that another transaction commits is refused (RMC_S_TX_LOCKED), and read
 * again. If one that was read before is written by another, its home marks this transaction, and
 * refuses its next access there (RMC_S_TX_SQUASHED), and its commit. So all that it has read at one
 * home was there at the time of the last access to that home, and one record always is of one time.
 *
 * Several homes: rmc_tx_check() reads one known line at each, when all other reads have ended. Let
 * T be the time at which the first of these is sent. Each home answers after T, and has not marked
 * the transaction, so all lines of that home had not changed from their reads, which were before T,
 * until the answer, which is after T. So all were there at T. A home that answers that the line is
 * locked has not marked the transaction, either: it looks at the mark first, and who had locked
 * this line itself would have set it.
 */
#include <string.h>
#include "hades.h"

#define LOST_TRIES	3	/* of an access: each takes the RMC's time limit */

/* Before an access that was refused is tried again: doubles from the first to the second */
#define PAUSE_NS	250U
#define PAUSE_MAX_NS	32000U

/* --- operations --- */

static void issue(struct rmc_tx_db *db, int slot, enum tx_op_kind kind, struct tx_access *a)
{
	struct tx_set *s = a->set;
	const struct rmc_tx_commit *c = (const struct rmc_tx_commit *)s->more;

	switch (kind) {
	case TX_OP_READ:
		db->stats.reads++;
		s->begun = 1;
		rmc_issue(db->qp, a->own ? RMC_OP_TX_OWN : RMC_OP_TX_READ, slot, a->nid, a->offset,
			  a->image, rmc_tx_length(s->rmc_slot, HADES_DATA + a->len));
		break;
	case TX_OP_CHECK:
		db->stats.checks++;
		rmc_issue(db->qp, RMC_OP_TX_READ, slot, a->nid, a->offset, a->seen,
			  rmc_tx_length(s->rmc_slot, sizeof(*a->seen)));
		break;
	case TX_OP_FORGET:
		rmc_issue(db->qp, RMC_OP_TX_COMMIT, slot, s->rmc_slot, 0, c, sizeof(*c));
		break;
	case TX_OP_COMMIT:
		s->begun = 0;
		db->stats.writes += c->count;
		rmc_issue(db->qp, RMC_OP_TX_COMMIT, slot, s->rmc_slot, 0, c, s->control.len);
		break;
	default:
		rmc_issue(db->qp, RMC_OP_TX_ABORT, slot, s->rmc_slot, 0, NULL, 0);
	}
}

static void completed(struct rmc_tx_db *db, const struct tx_op *op, int slot)
{
	(void)db;
	(void)slot;
	if (op->kind == TX_OP_ABORT || op->kind == TX_OP_FORGET)
		op->access->set->pending--;
}

/* What ended the transaction: a squash, or a failure */
static int over(struct rmc_tx *t, int status)
{
	switch (status) {
	case RMC_S_TX_SQUASHED:
		return rmc_tx_squash(t, RMC_TX_BY_OTHER);
	case RMC_S_TX_LOCKED:
		return rmc_tx_squash(t, RMC_TX_LOCK_HELD);
	case RMC_S_TX_FULL:
		return rmc_tx_squash(t, RMC_TX_NO_ROOM);
	case RMC_S_TX_STALE:
		return rmc_tx_squash(t, RMC_TX_FORGOTTEN);
	default:
		return tx_passing(status) ? rmc_tx_squash(t, RMC_TX_LOST) : rmc_tx_fail(t, status);
	}
}

/* --- accesses --- */

static int hades_fetch(struct rmc_tx *t, struct tx_access *a)
{
	int err;

	if (a->fetching || a->read || rmc_tx_hades_by_loads(t, a))
		return 0;
	err = rmc_tx_post(t->db, TX_OP_READ, a);
	if (err)
		return rmc_tx_fail(t, err);
	a->fetching = 1;
	return 0;
}

/* One attempt: 0, enum rmc_status or -errno */
static int read_once(struct rmc_tx *t, struct tx_access *a)
{
	int err = hades_fetch(t, a);

	/* of all reads of this transaction: they have been under way as long */
	if (!err)
		err = rmc_tx_await(t->db, &t->s->awaited);
	a->fetching = 0;
	return err ? err : a->status;
}

static int read_done(struct tx_access *a)
{
	memcpy(&a->word, a->image, sizeof(a->word));
	a->incarnation = (uint32_t)a->word;
	a->read = 1;
	return 0;
}

/*
 * RMC_S_BUSY: some node has not answered yet that the last transaction of the slot is over, or a
 * line keeps changing. The own RMC answers that at once.
 */
static int hades_read(struct rmc_tx *t, struct tx_access *a)
{
	unsigned int locked = 0, lost = 0;
	uint64_t until = 0, pause = PAUSE_NS;
	int status, err;

	if (rmc_tx_hades_by_loads(t, a)) {
		err = rmc_tx_hades_load_own(t, a);
		return err ? err : read_done(a);
	}
	for (;;) {
		status = read_once(t, a);
		if (rmc_likely(!status))
			return read_done(a);
		if (t->state != TX_ACTIVE)
			return t->status;
		if (status == RMC_S_TX_LOCKED) {
			t->db->stats.locked_reads++;
			if (++locked >= t->db->o.tries)
				return rmc_tx_squash(t, RMC_TX_READ_LOCKED);
		} else if (status == RMC_S_BUSY) {
			if (!until)
				until = rmc_tx_limit(t->db);
			else if (rmc_now_ns() >= until)
				return rmc_tx_squash(t, RMC_TX_LOST);
		} else if (status != RMC_S_TIMEOUT || ++lost == LOST_TRIES) {
			return over(t, status);
		}
		err = rmc_tx_pause(t->db, pause);
		if (err)
			return rmc_tx_fail(t, err);
		pause = pause < PAUSE_MAX_NS ? 2 * pause : pause;
	}
}

/* --- what was read was there together --- */

/*
 * One record at each home: whether this one is the first of its home. If transactions of several
 * slots ask in turn, some homes are asked twice.
 */
static int is_first(struct rmc_tx *t, const struct tx_access *a, uint64_t question)
{
	struct rmc_tx_db *db = t->db;

	if (!a->read || rmc_tx_hades_by_loads(t, a) || db->asked[a->member] == question)
		return 0;
	db->asked[a->member] = question;
	return 1;
}

/* 0, or what the call returns; *lost: a question or answer was lost */
static int ask_homes(struct rmc_tx *t, int *lost)
{
	struct tx_set *s = t->s;
	uint64_t asked = 0, question = ++t->db->question;
	uint32_t i;
	int err = rmc_tx_await(t->db, &s->awaited);	/* all reads have ended */

	for (i = 0; i < s->n && !err; i++) {
		s->access[i].held = TX_NOT_HELD;
		if (!is_first(t, &s->access[i], question))
			continue;
		err = rmc_tx_post(t->db, TX_OP_CHECK, &s->access[i]);
		s->access[i].held = TX_PROBING;
		asked++;
	}
	t->db->stats.rounds += asked != 0;
	if (!err)
		err = rmc_tx_await(t->db, &s->awaited);
	if (err)
		return rmc_tx_fail(t, err);
	*lost = 0;
	for (i = 0; i < s->n; i++) {
		const struct tx_access *a = &s->access[i];

		if (a->held != TX_PROBING || !a->status || a->status == RMC_S_TX_LOCKED)
			continue;
		if (!tx_passing(a->status))
			return over(t, a->status);
		*lost = 1;
	}
	return 0;
}

static int hades_check(struct rmc_tx *t)
{
	int err = 0, lost = 1, tries;

	/* one record is of one time */
	if (t->s->n <= 1)
		return rmc_tx_hades_check_own(t);
	for (tries = 0; lost && tries < LOST_TRIES && !err; tries++)
		err = ask_homes(t, &lost);
	if (!err && lost)
		return rmc_tx_squash(t, RMC_TX_LOST);
	/* own records last: they, too, were there when the homes were asked */
	return err ? err : rmc_tx_hades_check_own(t);
}

/* --- commit --- */

/* The bytes of a record that are written, from its start on */
static void range_of(const struct tx_access *a, uint32_t *from, uint32_t *to)
{
	*from = HADES_DATA + a->from;
	*to = HADES_DATA + a->to;
	if (a->incarnation == (uint32_t)a->word)
		return;
	*from = 0;
	if (a->from == a->to)
		*to = HADES_DATA;
}

/* How many ranges of other nodes, and their bytes; -E2BIG: too many */
static int count_ranges(struct rmc_tx *t, uint32_t *count, uint32_t *bytes)
{
	struct tx_set *s = t->s;
	uint32_t i, from, to;

	for (i = 0; i < s->writes; i++) {
		if (rmc_tx_hades_by_loads(t, s->write[i]))
			continue;
		range_of(s->write[i], &from, &to);
		*count += from < to;
		*bytes += hades_padded(to - from);
		if (*count > RMC_TX_MAX_RANGES || *bytes > RMC_TX_MAX_BYTES)
			return -E2BIG;
	}
	return 0;
}

/* What the transaction writes, for the RMC, own records first: 0, or -E2BIG */
static int pack(struct rmc_tx *t)
{
	struct tx_set *s = t->s;
	struct rmc_tx_commit *c = (struct rmc_tx_commit *)s->more;
	struct rmc_tx_item *item = (struct rmc_tx_item *)(c + 1);
	uint32_t i, from, to, own, count = 0, bytes = 0;
	uint8_t *data;

	if (count_ranges(t, &count, &bytes))
		return -E2BIG;
	own = rmc_tx_hades_own_ranges(s, item, RMC_TX_MAX_RANGES - count, (uint16_t)t->db->nid,
				      &bytes);
	if (own + count > RMC_TX_MAX_RANGES || bytes > RMC_TX_MAX_BYTES)
		return -E2BIG;
	memset(c, 0, sizeof(*c));
	c->count = own + count;
	c->flags = rmc_tx_hades_has_loaded(s) ? RMC_TX_LOADED : 0;
	data = rmc_tx_hades_own_data(s, (uint8_t *)(item + c->count));
	item += own;
	for (i = 0; i < s->writes; i++) {
		struct tx_access *a = s->write[i];
		uint64_t word = a->incarnation;

		range_of(a, &from, &to);
		/* a put of nothing; or one that is in the redo buffer */
		if (from == to || rmc_tx_hades_by_loads(t, a))
			continue;
		memcpy(a->image, &word, sizeof(word));
		*item++ = (struct rmc_tx_item){
			.offset = a->offset + from, .length = to - from, .nid = (uint16_t)a->nid,
		};
		memcpy(data, a->image + from, to - from);
		data += hades_padded(to - from);
	}
	s->control.len = (uint32_t)(data - s->more);
	return 0;
}

/* Committed; but a node was lost that has not stored its part: it is no more */
static int part_lost(struct rmc_tx *t)
{
	t->db->stats.lost++;
	t->db->lost_writes++;
	return rmc_tx_doubtful(t);
}

static int ended(struct rmc_tx *t, int status)
{
	if (!status) {
		t->db->stats.read_only += !t->s->writes;
		return rmc_tx_committed(t);
	}
	if (status == RMC_S_TX_PART_LOST)
		return part_lost(t);
	over(t, status);
	return rmc_tx_end(t);
}

/* An image that the program has changed; a word that has, too */
static int hades_written(struct rmc_tx *t, struct tx_access *a, uint32_t from, uint32_t to)
{
	uint64_t word = a->incarnation;
	int err = 0;

	if (!rmc_tx_hades_by_loads(t, a))
		return 0;
	if (word != *(uint64_t *)a->image) {
		memcpy(a->image, &word, sizeof(word));
		err = rmc_tx_hades_store_own(t, a, 0, sizeof(word));
	}
	return err ? err : rmc_tx_hades_store_own(t, a, HADES_DATA + from, HADES_DATA + to);
}

/* Nothing is written, and no other home has to be asked */
static int is_only_loaded(const struct rmc_tx *t)
{
	return !t->s->writes && !t->s->begun && rmc_tx_hades_has_loaded(t->s);
}

static int hades_commit(struct rmc_tx *t)
{
	struct tx_set *s = t->s;
	int err = rmc_tx_await(t->db, &s->awaited);

	rmc_tx_set_collect(s);
	if (!err && is_only_loaded(t))
		return rmc_tx_hades_check_own(t) ? rmc_tx_end(t) : ended(t, 0);
	/* one record that was read is of one time: nothing is left to be done but to end it */
	if (!err && !s->writes && s->n <= 1)
		return ended(t, 0);
	if (!err)
		err = pack(t);
	if (!err && rmc_load_relaxed(&t->db->qp->flags->dead))
		err = -ESHUTDOWN;
	if (!err)
		err = rmc_tx_post(t->db, TX_OP_COMMIT, &s->control);
	if (err) {
		rmc_tx_fail(t, err);
		return rmc_tx_end(t);
	}
	t->db->stats.rounds++;
	err = rmc_tx_await(t->db, &s->awaited);
	if (err && s->writes)
		return rmc_tx_doubtful(t);
	/* its own RMC was asked, and has forgotten it */
	if (!err)
		rmc_tx_hades_local_end(s);
	return ended(t, err ? err : s->control.status);
}

/* The RMC forgets it. Accesses that are under way end before. */
static void hades_end(struct rmc_tx *t)
{
	struct tx_set *s = t->s;
	int marked = rmc_tx_hades_local_end(s);

	if (!s->begun && !marked)
		return;
	s->begun = 0;
	if (rmc_tx_await(t->db, &s->awaited))
		return;
	if (!marked) {
		rmc_tx_post(t->db, TX_OP_ABORT, &s->control);
		return;
	}
	memset(s->more, 0, sizeof(struct rmc_tx_commit));
	((struct rmc_tx_commit *)s->more)->flags = RMC_TX_LOADED;
	rmc_tx_post(t->db, TX_OP_FORGET, &s->control);
}

/* Nothing is linked in db->again */
static void repeat(struct rmc_tx_db *db)
{
	(void)db;
}

#define HADES_ROW							\
	.bytes = hades_bytes,						\
	.data_at = HADES_DATA,						\
	.more_bytes = rmc_tx_hades_more_bytes,				\
	.usable = rmc_tx_hades_usable,					\
	.open = rmc_tx_hades_open,					\
	.close = rmc_tx_hades_close,					\
	.fetch = hades_fetch,						\
	.read = hades_read,						\
	.check = hades_check,						\
	.commit = hades_commit,						\
	.end = hades_end,						\
	.written = hades_written,					\
	.load = rmc_tx_hades_load,					\
	.issue = issue,							\
	.completed = completed,						\
	.repeat = repeat

const struct tx_system rmc_tx_hades = {
	.name = "hades",
	.own_loads = 1,
	HADES_ROW
};

const struct tx_system rmc_tx_rmc = {
	.name = "rmc",
	HADES_ROW
};
