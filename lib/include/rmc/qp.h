/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Queue pairs and the inline fast path (T18 section 3.5.2).
 *
 *	while (work) {
 *		int slot = rmc_wait_for_slot(qp, callback);
 *		... record the purpose of this slot's completion ...
 *		rmc_read_async(qp, slot, nid, offset, lbuf[slot], len);
 *	}
 *	err = rmc_drain_cq(qp, callback);
 *
 * The application owns the WQ head (next entry to fill) and the CQ tail (next
 * entry to consume); the RMC owns their counterparts. A slot is the index of a
 * WQ entry. It is busy from publication until its completion is consumed, so
 * at most `entries` operations are in flight and the CQ, which is as long as the
 * WQ, cannot overflow. Completions come in any order.
 *
 * Callbacks run in the caller's thread, once per completion, also of failed operations:
 * see rmc_slot_status(). A function whose body the compiler sees is inlined. A callback may
 * issue on the same QP: it calls rmc_wait_for_slot() with itself as the callback. The depth
 * of nesting is at most the number of entries, since each level has consumed a completion
 * and not issued yet. A callback must not wait in any other way.
 *
 * One thread at a time per QP. Layout and barriers: <linux/rmc_queue.h>. Operations are
 * ordered only by waiting for completions, see rmc_quiet_node(), or in part by RMC_QP_ORDERED.
 */
#ifndef RMC_QP_H
#define RMC_QP_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/rmc_queue.h>
#include <rmc/abi.h>
#include <rmc/barrier.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Entries in the papers' bandwidth runs; the default, for the size of per-slot arrays. */
#define RMC_QP_ENTRIES_DEFAULT	128
#define MAX_WQ_SIZE		RMC_QP_ENTRIES_DEFAULT	/* the papers' name */

#define RMC_SLOT_BUSY		0xff	/* in rmc_qp.slot; smaller: last status */
#define RMC_SPINS_PER_CHECK	256	/* polls between checks of the QP flags */
#define RMC_ALL_NODES		(-1)	/* nid of rmc_quiet_node() and rmc_fence() */

struct rmc_ctx;

/* 16 bytes of operands per slot: {expected, desired} or {addend}; out: old value */
struct rmc_operands {
	uint64_t word[2];
};

RMC_ABI_SIZE(rmc_operands, 16);

/*
 * Private to the process; only wq, cq and flags point to memory shared with the
 * RMC. Fields are for the inlines below, not for applications. New fields are added at the
 * end, and the library accesses them only in queue pairs that it created: the size of
 * one from rmc_qp_init_raw() is that of the program's headers.
 */
struct rmc_qp {
	struct rmc_wq_entry *wq;
	const struct rmc_cq_entry *cq;
	const struct rmc_qp_flags *flags;
	uint8_t *slot;			/* per slot: RMC_SLOT_BUSY or last status */
	uint32_t entries;		/* power of two */
	uint32_t mask;			/* entries - 1 */
	uint32_t head;			/* entries published, free running */
	uint32_t tail;			/* completions consumed, free running */
	uint32_t error;			/* first failure since the last drain */
	uint32_t id;
	void *arg;			/* for callbacks */
	struct rmc_operands *operands;	/* registered, one per slot */
	void (*wake)(struct rmc_qp *qp);
	struct rmc_ctx *ctx;
	void *priv;
	int eventfd;			/* see rmc_cq_eventfd(); -1: none yet */
	int yields;			/* the kernel has RMC_WAKE_YIELD */
	int shared;			/* the worker shares its CPU with applications */
	int apart;			/* RMC_IOC_WAKE returned: worker is on another CPU */
	uint64_t *cookie;		/* one per slot; NULL: none was set yet */
};

RMC_ABI_OFFSET(rmc_qp, wq, 0);
RMC_ABI_OFFSET(rmc_qp, cq, 8);
RMC_ABI_OFFSET(rmc_qp, flags, 16);
RMC_ABI_OFFSET(rmc_qp, slot, 24);
RMC_ABI_OFFSET(rmc_qp, entries, 32);
RMC_ABI_OFFSET(rmc_qp, mask, 36);
RMC_ABI_OFFSET(rmc_qp, head, 40);
RMC_ABI_OFFSET(rmc_qp, tail, 44);
RMC_ABI_OFFSET(rmc_qp, error, 48);
RMC_ABI_OFFSET(rmc_qp, id, 52);
RMC_ABI_OFFSET(rmc_qp, arg, 56);
RMC_ABI_OFFSET(rmc_qp, operands, 64);
RMC_ABI_OFFSET(rmc_qp, wake, 72);
RMC_ABI_OFFSET(rmc_qp, ctx, 80);
RMC_ABI_OFFSET(rmc_qp, priv, 88);
RMC_ABI_OFFSET(rmc_qp, eventfd, 96);
RMC_ABI_OFFSET(rmc_qp, yields, 100);
RMC_ABI_OFFSET(rmc_qp, shared, 104);
RMC_ABI_OFFSET(rmc_qp, apart, 108);
RMC_ABI_OFFSET(rmc_qp, cookie, 112);

typedef void (*rmc_callback)(int slot, void *arg);

struct rmc_completion {
	int slot;
	int status;			/* enum rmc_status */
};

RMC_ABI_SIZE(rmc_completion, 8);

#define RMC_QP_STATS_STATUSES	32	/* more than enum rmc_status has */

/* Counts since the creation of the queue pair; completed: consumed completions. */
struct rmc_qp_stats {
	uint64_t issued, completed;
	uint64_t failed;	/* of the completed: a status other than RMC_S_OK */
	uint64_t status[RMC_QP_STATS_STATUSES];	/* failures by enum rmc_status */
	uint64_t waits;		/* steps of waiting that checked the QP's flags */
	uint64_t wakes;		/* system calls to wake a parked worker */
	uint64_t yields;	/* system calls to yield the CPU */
	uint64_t sleeps;	/* in rmc_cq_sleep() */
};

#define RMC_QP_STATS_SIZE_VER1	312
RMC_ABI_SIZE_VER0(rmc_qp_stats, sleeps, RMC_QP_STATS_SIZE_VER1);

/*
 * entries: a power of two, 2 .. max_entries of rmc_query(); 0: RMC_QP_ENTRIES_DEFAULT.
 * NULL with errno set on failure, see rmc_errmsg().
 */
struct rmc_qp *rmc_qp_create(struct rmc_ctx *ctx, unsigned int entries);

/*
 * The same. flags: RMC_QP_ORDERED of <linux/rmc.h>: on each node, an atomic takes effect before
 * operations behind it, a write before writes and atomics behind it, and a write line by line in the
 * order of addresses. EOPNOTSUPP: the RMC does not know a flag. After a failed operation it stops, see
 * rmc_qp_resume().
 */
struct rmc_qp *rmc_qp_create_with(struct rmc_ctx *ctx, unsigned int entries, unsigned int flags);

/* 1: it was created with RMC_QP_ORDERED */
int rmc_qp_is_ordered(struct rmc_qp *qp);

/*
 * An ordered queue pair of which an operation has failed ends the following ones with RMC_S_ABORTED,
 * so that nothing takes effect that was issued before the program knew. Call this when nothing is in
 * flight; then rmc_quiet() and rmc_fence() forget the failure. 0, -EBUSY: something is, RMC_S_BAD_OP: it is not ordered.
 */
int rmc_qp_resume(struct rmc_qp *qp);

/* Operations in flight will not complete; on return their buffers may be reused. */
void rmc_qp_destroy(struct rmc_qp *qp);

/* Slow path of rmc_relax(): 0, or -ESHUTDOWN when the QP is dead. */
int rmc_relax_slow(struct rmc_qp *qp, unsigned int spins);

/* Slow path of rmc_cq_next(): stores the first failure, counts and logs each. */
void rmc_cq_failed(struct rmc_qp *qp, int slot, int status);

/* Slow path of rmc_qp_set_cookie(): allocates the cookies. 0 or -errno */
int rmc_qp_make_cookies(struct rmc_qp *qp);

/*
 * The path of an operation has no counters. issued and completed are the 32-bit queue
 * indexes, extended at each wait and at each call of this function, so they are correct if
 * one of these happens at least once in 2^32 operations. To be called by the queue pair's
 * thread. 0, or -EOPNOTSUPP for one of rmc_qp_init_raw().
 */
int rmc_qp_stats_sized(struct rmc_qp *qp, struct rmc_qp_stats *stats, size_t size);
RMC_SIZED int rmc_qp_stats(struct rmc_qp *qp, struct rmc_qp_stats *stats)
{
	return rmc_qp_stats_sized(qp, stats, sizeof(*stats));
}

/*
 * A QP in memory of the caller, for an RMC other than the driver's, such as a test's.
 * slot: entries bytes; operands: registered memory, or NULL when atomics are not used.
 */
RMC_INLINE void rmc_qp_init_raw(struct rmc_qp *qp, struct rmc_wq_entry *wq,
				const struct rmc_cq_entry *cq,
				const struct rmc_qp_flags *flags, uint8_t *slot,
				struct rmc_operands *operands, unsigned int entries)
{
	unsigned int i;

	qp->wq = wq;
	qp->cq = cq;
	qp->flags = flags;
	qp->slot = slot;
	qp->entries = entries;
	qp->mask = entries - 1;
	qp->head = 0;
	qp->tail = 0;
	qp->error = 0;
	qp->id = 0;
	qp->arg = NULL;
	qp->operands = operands;
	qp->wake = NULL;
	qp->ctx = NULL;
	qp->priv = NULL;
	qp->eventfd = -1;
	qp->yields = 0;
	qp->shared = (int)flags->shared_cpu;
	qp->apart = 0;
	qp->cookie = NULL;
	for (i = 0; i < entries; i++)
		slot[i] = RMC_S_OK;
}

/* The second argument of this QP's callbacks */
RMC_INLINE void rmc_qp_set_arg(struct rmc_qp *qp, void *arg)
{
	qp->arg = arg;
}

/*
 * 64 bits of user data for the operation in slot: set before it is issued, read when it has
 * completed, in the callback for example. The value stays until it is set again. 0, or
 * -errno, on the first call only. Without calls of this function cookies cost nothing.
 */
RMC_INLINE int rmc_qp_set_cookie(struct rmc_qp *qp, int slot, uint64_t cookie)
{
	int err;

	if (rmc_unlikely(!qp->cookie)) {
		err = rmc_qp_make_cookies(qp);
		if (err)
			return err;
	}
	qp->cookie[(uint32_t)slot & qp->mask] = cookie;
	return 0;
}

RMC_INLINE uint64_t rmc_qp_cookie(const struct rmc_qp *qp, int slot)
{
	return qp->cookie ? qp->cookie[(uint32_t)slot & qp->mask] : 0;
}

RMC_INLINE unsigned int rmc_qp_entries(const struct rmc_qp *qp)
{
	return qp->entries;
}

RMC_INLINE unsigned int rmc_qp_in_flight(const struct rmc_qp *qp)
{
	return qp->head - qp->tail;
}

/* enum rmc_status of the slot's last completed operation */
RMC_INLINE int rmc_slot_status(const struct rmc_qp *qp, int slot)
{
	return qp->slot[(uint32_t)slot & qp->mask];
}

/* First failure since the last drain, without waiting; 0 when there was none */
RMC_INLINE int rmc_qp_error(const struct rmc_qp *qp)
{
	return (int)qp->error;
}

/* After an atomic: the previous value of the remote word */
RMC_INLINE uint64_t rmc_slot_value(const struct rmc_qp *qp, int slot)
{
	return qp->operands[(uint32_t)slot & qp->mask].word[0];
}

/*
 * One step of waiting for a completion of this QP, or for a word of local memory
 * that a remote operation will change. spins: a counter of the caller, from 0.
 * Where the RMC shares CPUs with applications this yields, because the worker
 * may be waiting for this CPU.
 */
RMC_INLINE int rmc_relax(struct rmc_qp *qp, unsigned int *spins)
{
	unsigned int n = ++*spins;

	if (rmc_likely(n % RMC_SPINS_PER_CHECK) &&
	    rmc_likely(!qp->shared)) {
		rmc_pause();
		return 0;
	}
	return rmc_relax_slow(qp, n);
}

/*
 * Fill and publish the WQ entry of slot, which must be the one that the last
 * rmc_wait_for_slot() returned. Values that the entry's fields cannot hold are
 * saturated to values that the RMC refuses with the right status, instead of
 * being truncated to valid ones.
 *
 * Pairs with the acquire load of word0 in the RGP. No barrier orders the store to
 * word0 before the load of need_wakeup: a worker that parks interrupts the CPUs
 * that run this process between setting the flag and its last poll of the queue.
 */
RMC_INLINE void rmc_issue(struct rmc_qp *qp, unsigned int op, int slot, int nid,
			  uint64_t offset, const void *lbuf, size_t len)
{
	struct rmc_wq_entry *e = &qp->wq[(uint32_t)slot & qp->mask];
	unsigned int phase = !(qp->head & qp->entries);
	uint64_t buf = (uintptr_t)lbuf;
	uint32_t length = (uint32_t)len;

	if (rmc_unlikely((unsigned int)nid > RMC_NID_MAX))
		nid = RMC_NID_MAX;
	if (rmc_unlikely(offset > RMC_OFFSET_MAX))
		offset = RMC_OFFSET_MAX;
	if (rmc_unlikely(len > RMC_LENGTH_MAX))
		length = 0;
	if (rmc_unlikely(buf > RMC_WQE_LBUF_MASK))
		buf = RMC_WQE_LBUF_MASK;

	qp->slot[(uint32_t)slot & qp->mask] = RMC_SLOT_BUSY;
	qp->head++;
	rmc_store_relaxed(&e->word1, rmc_wqe_word1(offset, length));
	rmc_store_release(&e->word0, rmc_wqe_word0(op, (unsigned int)nid, buf, phase));
	rmc_compiler_barrier();
	if (rmc_unlikely(rmc_load_relaxed(&qp->flags->need_wakeup)) && qp->wake)
		qp->wake(qp);
}

/* Remote segment -> local buffer */
RMC_INLINE void rmc_read_async(struct rmc_qp *qp, int slot, int nid, uint64_t offset,
			       void *lbuf, size_t len)
{
	rmc_issue(qp, RMC_OP_READ, slot, nid, offset, lbuf, len);
}

/* Local buffer -> remote segment; lbuf must not change until completion */
RMC_INLINE void rmc_write_async(struct rmc_qp *qp, int slot, int nid, uint64_t offset,
				const void *lbuf, size_t len)
{
	rmc_issue(qp, RMC_OP_WRITE, slot, nid, offset, lbuf, len);
}

/* Wake the process that sleeps in rmc_seg_wait() on the remote segment */
RMC_INLINE void rmc_notify_async(struct rmc_qp *qp, int slot, int nid)
{
	rmc_issue(qp, RMC_OP_NOTIFY, slot, nid, 0, NULL, 0);
}

/* Write, then notify once all of the data is in the remote segment */
RMC_INLINE void rmc_write_notify_async(struct rmc_qp *qp, int slot, int nid, uint64_t offset,
				       const void *lbuf, size_t len)
{
	rmc_issue(qp, RMC_OP_WRITE_NOTIFY, slot, nid, offset, lbuf, len);
}

/* Eight bytes at an offset divisible by eight; old value: rmc_slot_value() */
RMC_INLINE void rmc_cas_async(struct rmc_qp *qp, int slot, int nid, uint64_t offset,
			      uint64_t expected, uint64_t desired)
{
	struct rmc_operands *o = &qp->operands[(uint32_t)slot & qp->mask];

	o->word[0] = expected;
	o->word[1] = desired;
	rmc_issue(qp, RMC_OP_CAS, slot, nid, offset, o, sizeof(o->word[0]));
}

RMC_INLINE void rmc_faa_async(struct rmc_qp *qp, int slot, int nid, uint64_t offset,
			      uint64_t addend)
{
	struct rmc_operands *o = &qp->operands[(uint32_t)slot & qp->mask];

	o->word[0] = addend;
	rmc_issue(qp, RMC_OP_FAA, slot, nid, offset, o, sizeof(o->word[0]));
}

/*
 * Consume one completion if there is one: 1, else 0. The acquire pairs with the
 * release store in the RCP, so the data of the operation is visible after it.
 */
RMC_INLINE int rmc_cq_next(struct rmc_qp *qp, struct rmc_completion *c)
{
	uint32_t word = rmc_load_acquire(&qp->cq[qp->tail & qp->mask].word);
	unsigned int phase = !(qp->tail & qp->entries);

	if ((word & RMC_CQE_PHASE) != phase)
		return 0;
	qp->tail++;
	c->slot = (int)(rmc_cqe_slot(word) & qp->mask);
	c->status = (int)rmc_cqe_status(word);
	qp->slot[c->slot] = (uint8_t)c->status;
	if (rmc_unlikely(c->status != RMC_S_OK))
		rmc_cq_failed(qp, c->slot, c->status);
	return 1;
}

/* Wait for one completion: 0, or -errno; -ENOENT when nothing is in flight. */
RMC_INLINE int rmc_cq_wait(struct rmc_qp *qp, struct rmc_completion *c)
{
	unsigned int spins = 0;
	int err;

	if (!rmc_qp_in_flight(qp))
		return -ENOENT;
	while (!rmc_cq_next(qp, c)) {
		err = rmc_relax(qp, &spins);
		if (rmc_unlikely(err))
			return rmc_cq_next(qp, c) ? 0 : err;	/* completed before the end */
	}
	return 0;
}

/* Handle all available completions; their number, or -errno. cb may be NULL. */
RMC_INLINE int rmc_poll_cq(struct rmc_qp *qp, rmc_callback cb)
{
	int n = 0, most = (int)rmc_qp_in_flight(qp);
	struct rmc_completion c;

	/* bounded: skip completions of operations that callbacks issue meanwhile */
	while (n < most && rmc_qp_in_flight(qp) && rmc_cq_next(qp, &c)) {
		if (cb)
			cb(c.slot, qp->arg);
		n++;
	}
	if (rmc_unlikely(!n) && rmc_unlikely(rmc_load_relaxed(&qp->flags->dead)))
		return -ESHUTDOWN;
	return n;
}

/* Handle completions until the slot at the head of the WQ is free: the slot, or -errno. */
RMC_INLINE int rmc_wait_for_slot(struct rmc_qp *qp, rmc_callback cb)
{
	struct rmc_completion c;
	int slot, err;

	for (;;) {
		/* reload: the callback may have issued */
		slot = (int)(qp->head & qp->mask);
		if (rmc_likely(qp->slot[slot] != RMC_SLOT_BUSY))
			return slot;
		err = rmc_cq_wait(qp, &c);
		if (rmc_unlikely(err))
			return err;
		if (cb)
			cb(c.slot, qp->arg);
	}
}

/*
 * Wait for all operations in flight. Returns and clears the status of the first operation
 * that failed since the last drain; 0 when all succeeded; or -errno.
 */
RMC_INLINE int rmc_drain_cq(struct rmc_qp *qp, rmc_callback cb)
{
	struct rmc_completion c;
	int err;

	while (rmc_qp_in_flight(qp)) {
		err = rmc_cq_wait(qp, &c);
		if (rmc_unlikely(err))
			return err;
		if (cb)
			cb(c.slot, qp->arg);
	}
	err = (int)qp->error;
	qp->error = 0;
	return err;
}

/*
 * Wait until every operation issued to nid before this call has completed, and so has
 * taken effect there, but not for those that callbacks issue meanwhile. 0; the status of
 * the queue pair's first failure since the last drain, to any node, which only
 * rmc_drain_cq() clears; or -errno. A caller that orders operations by this must continue
 * only if it is 0: a failed operation may have stored nothing, or only a part.
 *
 * The WQ entry of a busy slot names its node, and only this thread writes it.
 */
RMC_INLINE int rmc_quiet_node(struct rmc_qp *qp, int nid, rmc_callback cb)
{
	uint64_t node = (unsigned int)nid > RMC_NID_MAX ? RMC_NID_MAX : (unsigned int)nid;
	uint32_t end = qp->head, seq, slot;
	struct rmc_completion c;
	int err;

	for (seq = end - qp->entries; seq != end && rmc_qp_in_flight(qp); seq++) {
		slot = seq & qp->mask;
		if (nid != RMC_ALL_NODES &&
		    (qp->wq[slot].word0 >> RMC_WQE_NID_SHIFT & RMC_WQE_NID_MASK) != node)
			continue;
		/* done when the slot is free, or is used by a later operation */
		while (qp->slot[slot] == RMC_SLOT_BUSY && qp->head - seq <= qp->entries) {
			err = rmc_cq_wait(qp, &c);
			if (rmc_unlikely(err))
				return err;
			if (cb)
				cb(c.slot, qp->arg);
		}
	}
	return (int)qp->error;
}

/* The same for all nodes */
RMC_INLINE int rmc_quiet(struct rmc_qp *qp, rmc_callback cb)
{
	return rmc_quiet_node(qp, RMC_ALL_NODES, cb);
}

/*
 * Order: operations that this queue pair issues to nid after this call take effect there
 * after those issued to nid before it. Implemented by rmc_quiet_node() today, but weaker:
 * callers that need completion must call that. The same results.
 */
RMC_INLINE int rmc_fence(struct rmc_qp *qp, int nid, rmc_callback cb)
{
	return rmc_quiet_node(qp, nid, cb);
}

/*
 * Blocking operations: 0, an enum rmc_status, or -errno. They would consume completions of
 * asynchronous operations, so none may be in flight: -EBUSY. Their names are those of the
 * asynchronous ones without "_async".
 */
RMC_INLINE int rmc_execute(struct rmc_qp *qp, unsigned int op, int nid, uint64_t offset,
			   const void *lbuf, size_t len)
{
	struct rmc_completion c;
	uint32_t error = qp->error;
	int err;

	if (rmc_unlikely(rmc_qp_in_flight(qp)))
		return -EBUSY;
	rmc_issue(qp, op, (int)(qp->head & qp->mask), nid, offset, lbuf, len);
	err = rmc_cq_wait(qp, &c);
	if (rmc_unlikely(err))
		return err;
	qp->error = error;
	return c.status;
}

RMC_INLINE int rmc_read(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf, size_t len)
{
	return rmc_execute(qp, RMC_OP_READ, nid, offset, lbuf, len);
}

RMC_INLINE int rmc_write(struct rmc_qp *qp, int nid, uint64_t offset, const void *lbuf,
			 size_t len)
{
	return rmc_execute(qp, RMC_OP_WRITE, nid, offset, lbuf, len);
}

RMC_INLINE int rmc_notify(struct rmc_qp *qp, int nid)
{
	return rmc_execute(qp, RMC_OP_NOTIFY, nid, 0, NULL, 0);
}

RMC_INLINE int rmc_write_notify(struct rmc_qp *qp, int nid, uint64_t offset, const void *lbuf,
				size_t len)
{
	return rmc_execute(qp, RMC_OP_WRITE_NOTIFY, nid, offset, lbuf, len);
}

/* *old (may be NULL): previous value; the swap took place if it equals expected */
RMC_INLINE int rmc_cas(struct rmc_qp *qp, int nid, uint64_t offset,
		       uint64_t expected, uint64_t desired, uint64_t *old)
{
	struct rmc_operands *o = &qp->operands[qp->head & qp->mask];
	int err;

	if (rmc_unlikely(rmc_qp_in_flight(qp)))
		return -EBUSY;
	o->word[0] = expected;
	o->word[1] = desired;
	err = rmc_execute(qp, RMC_OP_CAS, nid, offset, o, sizeof(o->word[0]));
	if (!err && old)
		*old = o->word[0];
	return err;
}

RMC_INLINE int rmc_faa(struct rmc_qp *qp, int nid, uint64_t offset,
		       uint64_t addend, uint64_t *old)
{
	struct rmc_operands *o = &qp->operands[qp->head & qp->mask];
	int err;

	if (rmc_unlikely(rmc_qp_in_flight(qp)))
		return -EBUSY;
	o->word[0] = addend;
	err = rmc_execute(qp, RMC_OP_FAA, nid, offset, o, sizeof(o->word[0]));
	if (!err && old)
		*old = o->word[0];
	return err;
}

/* Their names of version 1.0 */
RMC_INLINE int rmc_compare_and_swap(struct rmc_qp *qp, int nid, uint64_t offset,
				    uint64_t expected, uint64_t desired, uint64_t *old)
{
	return rmc_cas(qp, nid, offset, expected, desired, old);
}

RMC_INLINE int rmc_fetch_and_add(struct rmc_qp *qp, int nid, uint64_t offset,
				 uint64_t addend, uint64_t *old)
{
	return rmc_faa(qp, nid, offset, addend, old);
}

#ifdef __cplusplus
}
#endif

#endif /* RMC_QP_H */
