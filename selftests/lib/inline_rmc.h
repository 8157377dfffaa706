/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A stand-in for the RMC that executes each operation within the call that issues it, in the thread
 * of the caller: rmc_issue() finds need_wakeup set, and "wakes" it. All queue pairs share memory,
 * which they access a line at a time, as RMCs do. It loses operations and replies, or lines of
 * a write, executes lost operations later, and ends operations with any status.
 */
#ifndef INLINE_RMC_H
#define INLINE_RMC_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/rmc.h>

#define INLINE_ENTRIES	RMC_BLOCKS_ENTRIES
#define INLINE_LOCKS	64
#define INLINE_LATE	8	/* operations that are still on their way */

/* Segments of a few nodes */
struct inline_fabric {
	uint8_t *segment[3];
	size_t bytes;
	unsigned int nodes;
	int status[3];			/* not 0: of all operations on this node */
	pthread_mutex_t lock[INLINE_LOCKS];	/* of lines */
};

struct inline_late {
	uint64_t due;			/* ns */
	unsigned int op, nid;
	uint64_t offset;
	uint32_t length;
	uint8_t *data;
};

/* The last operation of a client that dies: not executed, executed, in part, within late_us */
enum inline_end { INLINE_NOT, INLINE_DONE, INLINE_PART, INLINE_LATER, INLINE_ENDS };

struct inline_rmc {
	struct rmc_qp qp;
	struct inline_fabric *fabric;
	struct rmc_wq_entry *wq;
	struct rmc_cq_entry *cq;
	struct rmc_qp_flags *flags;
	uint8_t slot[INLINE_ENTRIES];
	struct rmc_operands *operands;
	uint64_t seed;
	void (*pause)(void);		/* others run: while it waits, and */
	unsigned int pauses;		/* before a line, one time in so many; 0: never */
	unsigned int lose;		/* an operation or its reply, one in so many; 0: none */
	unsigned int lose_at;		/* the operation of this number, */
	unsigned int lose_reply;	/* or only its reply */
	unsigned int late_us;		/* a lost write or atomic is executed within this time */
	int partial;			/* lines of a lost write are stored, or are not */
	uint64_t *clock, timeout_ns;	/* what is lost takes so long */
	unsigned int fail_at, fails;	/* so many operations from this one on end with */
	int fail_status, fail_done;	/* this status; and have been executed */
	int only;			/* these are about this opcode; -1: any */
	unsigned int dies_at;		/* the client ends in this operation, and does nothing more */
	int dies_how;			/* enum inline_end */
	unsigned int operations, lost;
	uint32_t done;			/* entries executed */
	unsigned int ops[16];		/* by opcode */
	struct inline_late late[INLINE_LATE];
};

static inline unsigned int inline_random(struct inline_rmc *r, unsigned int n)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return (unsigned int)(r->seed >> 33) % n;
}

static inline uint64_t inline_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline void inline_fabric_init(struct inline_fabric *f, unsigned int nodes, size_t bytes)
{
	unsigned int i;

	f->nodes = nodes;
	f->bytes = (bytes + 4095) & ~(size_t)4095;
	for (i = 0; i < nodes; i++) {
		f->segment[i] = (uint8_t *)aligned_alloc(4096, f->bytes);
		memset(f->segment[i], 0, f->bytes);
	}
	for (i = 0; i < INLINE_LOCKS; i++)
		pthread_mutex_init(&f->lock[i], NULL);
}

static inline void inline_fabric_free(struct inline_fabric *f)
{
	unsigned int i;

	for (i = 0; i < f->nodes; i++)
		free(f->segment[i]);
	for (i = 0; i < INLINE_LOCKS; i++)
		pthread_mutex_destroy(&f->lock[i]);
}

static inline pthread_mutex_t *inline_lock(struct inline_fabric *f, uint64_t offset)
{
	return &f->lock[offset / 64 % INLINE_LOCKS];
}

/* Between segment and buffer, line by line */
static inline void inline_copy(struct inline_rmc *r, unsigned int nid, uint64_t at, uint8_t *buf,
			       size_t len, int write)
{
	uint8_t *segment = r->fabric->segment[nid];
	size_t n;

	for (; len; len -= n, at += n, buf += n) {
		n = 64 - at % 64 < len ? 64 - at % 64 : len;
		if (r->pauses && !inline_random(r, r->pauses))
			r->pause();
		pthread_mutex_lock(inline_lock(r->fabric, at));
		if (write)
			memcpy(segment + at, buf, n);
		else
			memcpy(buf, segment + at, n);
		pthread_mutex_unlock(inline_lock(r->fabric, at));
	}
}

static inline void inline_atomic(struct inline_rmc *r, unsigned int op, unsigned int nid,
				 uint64_t offset, uint64_t *operand)
{
	uint64_t *word = (uint64_t *)(void *)(r->fabric->segment[nid] + offset), was;

	if (r->pauses && !inline_random(r, r->pauses))
		r->pause();
	pthread_mutex_lock(inline_lock(r->fabric, offset));
	was = *word;
	if (op == RMC_OP_FAA)
		*word += operand[0];
	else if (was == operand[0])
		*word = operand[1];
	pthread_mutex_unlock(inline_lock(r->fabric, offset));
	operand[0] = was;
}

static inline void inline_late_operations(struct inline_rmc *r, uint64_t now)
{
	int i;

	for (i = 0; i < INLINE_LATE; i++) {
		struct inline_late l = r->late[i];

		if (!l.data || l.due > now)
			continue;
		/* it may pause */
		r->late[i].data = NULL;
		if (l.op == RMC_OP_WRITE)
			inline_copy(r, l.nid, l.offset, l.data, l.length, 1);
		else
			inline_atomic(r, l.op, l.nid, l.offset, (uint64_t *)(void *)l.data);
		free(l.data);
	}
}

static inline void inline_keep(struct inline_rmc *r, unsigned int op, unsigned int nid,
			       uint64_t offset, const void *data, uint32_t length)
{
	int i;

	for (i = 0; i < INLINE_LATE; i++) {
		struct inline_late *l = &r->late[i];

		if (l->data)
			continue;
		l->due = inline_now() + inline_random(r, r->late_us) * 1000ULL;
		l->op = op;
		l->nid = nid;
		l->offset = offset;
		l->length = length;
		l->data = (uint8_t *)malloc(length);
		memcpy(l->data, data, length);
		return;
	}
}

static inline int inline_sabre(struct inline_rmc *r, unsigned int nid, uint64_t offset,
			       uint8_t *buf, size_t len)
{
	uint64_t before, after;

	inline_copy(r, nid, offset, (uint8_t *)&before, sizeof(before), 0);
	if (before & 1)
		return RMC_S_SABRE_LOCKED;
	inline_copy(r, nid, offset, buf, len, 0);
	inline_copy(r, nid, offset, (uint8_t *)&after, sizeof(after), 0);
	return before == after ? RMC_S_OK : RMC_S_SABRE_ABORTED;
}

/* The operation arrives; what it returns is the reply's business */
static inline int inline_serve(struct inline_rmc *r, unsigned int op, unsigned int nid,
			       uint64_t offset, uint8_t *buf, uint32_t length, int reply)
{
	uint64_t operand[2];

	switch (op) {
	case RMC_OP_READ:
		inline_copy(r, nid, offset, buf, length, 0);
		return RMC_S_OK;
	case RMC_OP_WRITE:
	case RMC_OP_WRITE_ONCE:
		inline_copy(r, nid, offset, buf, length, 1);
		return RMC_S_OK;
	case RMC_OP_CAS:
	case RMC_OP_FAA:
		/* of a lost reply the buffer does not change */
		memcpy(operand, buf, op == RMC_OP_CAS ? 16 : 8);
		inline_atomic(r, op, nid, offset, operand);
		if (reply)
			memcpy(buf, operand, 8);
		return RMC_S_OK;
	case RMC_OP_SABRE:
		return reply ? inline_sabre(r, nid, offset, buf, length) : RMC_S_OK;
	default:
		return RMC_S_BAD_OP;
	}
}

static inline void inline_part(struct inline_rmc *r, unsigned int nid, uint64_t offset,
			       uint8_t *buf, uint32_t length)
{
	uint32_t i;

	for (i = 0; i < length; i += 64)
		if (inline_random(r, 2))
			inline_copy(r, nid, offset + i, buf + i, length - i < 64 ? length - i : 64,
				    1);
}

/* It is lost: it may have been executed, or in part, or will be */
static inline int inline_lose(struct inline_rmc *r, unsigned int op, unsigned int nid,
			      uint64_t offset, uint8_t *buf, uint32_t length)
{
	int executed = r->operations == r->lose_reply ||
		       (r->operations != r->lose_at && inline_random(r, 2));

	r->lost++;
	if (r->clock)
		__atomic_add_fetch(r->clock, r->timeout_ns, __ATOMIC_RELAXED);
	if (executed) {
		inline_serve(r, op, nid, offset, buf, length, 0);
		return RMC_S_TIMEOUT;
	}
	if (r->late_us && (op == RMC_OP_WRITE || op == RMC_OP_CAS || op == RMC_OP_FAA))
		inline_keep(r, op, nid, offset, buf, op == RMC_OP_CAS ? 16 : length);
	if (r->partial && op == RMC_OP_WRITE)
		inline_part(r, nid, offset, buf, length);
	return RMC_S_TIMEOUT;
}

static inline void inline_die(struct inline_rmc *r, unsigned int op, unsigned int nid,
			      uint64_t offset, uint8_t *buf, uint32_t length)
{
	if (r->dies_how == INLINE_DONE)
		inline_serve(r, op, nid, offset, buf, length, 0);
	else if (r->dies_how == INLINE_PART && op == RMC_OP_WRITE)
		inline_part(r, nid, offset, buf, length);
	else if (r->dies_how == INLINE_LATER && (op == RMC_OP_WRITE || op == RMC_OP_CAS))
		inline_keep(r, op, nid, offset, buf, op == RMC_OP_CAS ? 16 : length);
}

static inline int inline_execute(struct inline_rmc *r, unsigned int op, unsigned int nid,
				 uint64_t offset, uint8_t *buf, uint32_t length)
{
	int about = r->only < 0 || (unsigned int)r->only == op;

	r->operations += about;
	r->ops[op & 15]++;
	if (nid >= r->fabric->nodes)
		return RMC_S_BAD_NODE;
	if (r->fabric->status[nid])
		return r->fabric->status[nid];
	if (offset > r->fabric->bytes || length > r->fabric->bytes - offset)
		return RMC_S_OUT_OF_RANGE;
	if (r->dies_at && r->operations >= r->dies_at) {
		if (r->operations == r->dies_at)
			inline_die(r, op, nid, offset, buf, length);
		return RMC_S_NODE_DOWN;
	}
	if (about && r->fail_at && r->operations >= r->fail_at &&
	    r->operations - r->fail_at < r->fails) {
		if (r->fail_done)
			inline_serve(r, op, nid, offset, buf, length, 0);
		return r->fail_status;
	}
	if (about && ((r->lose && !inline_random(r, r->lose)) || r->operations == r->lose_at ||
		      r->operations == r->lose_reply))
		return inline_lose(r, op, nid, offset, buf, length);
	return inline_serve(r, op, nid, offset, buf, length, 1);
}

static inline void inline_wake(struct rmc_qp *qp)
{
	struct inline_rmc *r = (struct inline_rmc *)qp->arg;
	uint32_t n = r->done;
	const struct rmc_wq_entry *e = &qp->wq[n & qp->mask];
	unsigned int phase = !(n & qp->entries);
	uint64_t word0 = e->word0, word1 = e->word1;
	int status;

	/* a step of waiting wakes, too */
	if (n == qp->head) {
		if (r->pause)
			r->pause();
		return;
	}
	r->done++;
	inline_late_operations(r, inline_now());
	status = inline_execute(r, (unsigned int)(word0 >> RMC_WQE_OP_SHIFT) & RMC_WQE_OP_MASK,
				(unsigned int)(word0 >> RMC_WQE_NID_SHIFT) & RMC_WQE_NID_MASK,
				word1 & RMC_WQE_OFFSET_MASK,
				(uint8_t *)(uintptr_t)(word0 >> RMC_WQE_LBUF_SHIFT),
				(uint32_t)(word1 >> RMC_WQE_LEN_SHIFT));
	__atomic_store_n(&r->cq[n & qp->mask].word,
			 rmc_cqe_word(n & qp->mask, (unsigned int)status, phase), __ATOMIC_RELEASE);
}

static inline void inline_rmc_init(struct inline_rmc *r, struct inline_fabric *f, uint64_t seed)
{
	memset(r, 0, sizeof(*r));
	r->fabric = f;
	r->seed = seed * 0x9e3779b97f4a7c15ULL + 1;
	r->only = -1;
	r->wq = (struct rmc_wq_entry *)aligned_alloc(64, INLINE_ENTRIES * sizeof(*r->wq));
	r->cq = (struct rmc_cq_entry *)aligned_alloc(64, INLINE_ENTRIES * sizeof(*r->cq));
	r->flags = (struct rmc_qp_flags *)calloc(1, sizeof(*r->flags));
	r->operands = (struct rmc_operands *)calloc(INLINE_ENTRIES, sizeof(*r->operands));
	memset(r->wq, 0, INLINE_ENTRIES * sizeof(*r->wq));
	memset(r->cq, 0, INLINE_ENTRIES * sizeof(*r->cq));
	r->flags->need_wakeup = 1;
	rmc_qp_init_raw(&r->qp, r->wq, r->cq, r->flags, r->slot, r->operands, INLINE_ENTRIES);
	r->qp.wake = inline_wake;
	rmc_qp_set_arg(&r->qp, r);
}

static inline void inline_rmc_free(struct inline_rmc *r)
{
	inline_late_operations(r, ~0ULL);
	free(r->wq);
	free(r->cq);
	free(r->flags);
	free(r->operands);
}

#endif /* INLINE_RMC_H */
