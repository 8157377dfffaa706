/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Atomics beyond compare-and-swap and fetch-and-add: swap, and, or, xor, minimum, maximum,
 * masked compare-and-swap, on words of 4 or 8 bytes, aligned to their length.
 *
 *	struct rmc_rmw *r = ...;			in a registered buffer
 *	*r = (struct rmc_rmw){ .kind = RMC_RMW_OR, .value = 1 };
 *	slot = rmc_wait_for_slot(qp, callback);
 *	rmc_rmw_async(qp, slot, nid, offset, r, 8);
 *	... completed: r->old is the previous value
 *
 * Blocking calls need no registered buffer. The kinds and their operands are in
 * <linux/rmc_queue.h>. A kernel that supports them sets bit RMC_OP_RMW of
 * rmc_query()->op_mask; others return RMC_S_BAD_OP.
 */
#ifndef RMC_ATOMIC_H
#define RMC_ATOMIC_H

#include <rmc/qp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* len: 4 or 8. operands: in a registered buffer, unchanged until completion. */
RMC_INLINE void rmc_rmw_async(struct rmc_qp *qp, int slot, int nid, uint64_t offset,
			      struct rmc_rmw *operands, size_t len)
{
	rmc_issue(qp, RMC_OP_RMW, slot, nid, offset, operands, len);
}

/*
 * The same, blocking, with operands anywhere in memory: 0, an enum rmc_status, or -errno.
 * -EBUSY: operations in flight; -EINVAL: the queue pair has less than 4 entries, too few for
 * the operands. *old (may be NULL): the previous value.
 */
RMC_INLINE int rmc_rmw(struct rmc_qp *qp, int nid, uint64_t offset,
		       const struct rmc_rmw *operands, size_t len, uint64_t *old)
{
	/* nothing is in flight, so the operands of all slots are free */
	struct rmc_rmw *r = (struct rmc_rmw *)qp->operands;
	int err;

	if (rmc_unlikely(rmc_qp_in_flight(qp)))
		return -EBUSY;
	if (rmc_unlikely(qp->entries < 4))
		return -EINVAL;
	*r = *operands;
	err = rmc_execute(qp, RMC_OP_RMW, nid, offset, r, len);
	if (!err && old)
		*old = r->old;
	return err;
}

/* One operand. kind: any enum rmc_rmw_kind except RMC_RMW_CAS */
RMC_INLINE int rmc_rmw_value(struct rmc_qp *qp, unsigned int kind, int nid, uint64_t offset,
			     uint64_t value, size_t len, uint64_t *old)
{
	struct rmc_rmw r = { 0, 0, 0, 0, 0, 0, 0 };

	r.kind = kind;
	r.value = value;
	return rmc_rmw(qp, nid, offset, &r, len, old);
}

RMC_INLINE int rmc_swap(struct rmc_qp *qp, int nid, uint64_t offset, uint64_t value,
			size_t len, uint64_t *old)
{
	return rmc_rmw_value(qp, RMC_RMW_SWAP, nid, offset, value, len, old);
}

/* An atomic store */
RMC_INLINE int rmc_atomic_set(struct rmc_qp *qp, int nid, uint64_t offset, uint64_t value,
			      size_t len)
{
	return rmc_rmw_value(qp, RMC_RMW_SWAP, nid, offset, value, len, NULL);
}

RMC_INLINE int rmc_fetch_and_and(struct rmc_qp *qp, int nid, uint64_t offset, uint64_t value,
				 size_t len, uint64_t *old)
{
	return rmc_rmw_value(qp, RMC_RMW_AND, nid, offset, value, len, old);
}

RMC_INLINE int rmc_fetch_and_or(struct rmc_qp *qp, int nid, uint64_t offset, uint64_t value,
				size_t len, uint64_t *old)
{
	return rmc_rmw_value(qp, RMC_RMW_OR, nid, offset, value, len, old);
}

RMC_INLINE int rmc_fetch_and_xor(struct rmc_qp *qp, int nid, uint64_t offset, uint64_t value,
				 size_t len, uint64_t *old)
{
	return rmc_rmw_value(qp, RMC_RMW_XOR, nid, offset, value, len, old);
}

RMC_INLINE int rmc_fetch_and_min(struct rmc_qp *qp, int nid, uint64_t offset, uint64_t value,
				 size_t len, uint64_t *old)
{
	return rmc_rmw_value(qp, RMC_RMW_MIN, nid, offset, value, len, old);
}

RMC_INLINE int rmc_fetch_and_max(struct rmc_qp *qp, int nid, uint64_t offset, uint64_t value,
				 size_t len, uint64_t *old)
{
	return rmc_rmw_value(qp, RMC_RMW_MAX, nid, offset, value, len, old);
}

/*
 * If the word and expected agree in the bits of compare_mask, the bits of swap_mask become
 * those of desired. *old shows whether they agreed.
 */
RMC_INLINE int rmc_masked_cas(struct rmc_qp *qp, int nid, uint64_t offset,
			      uint64_t expected, uint64_t compare_mask,
			      uint64_t desired, uint64_t swap_mask, size_t len,
			      uint64_t *old)
{
	struct rmc_rmw r = { 0, RMC_RMW_CAS, 0, 0, 0, 0, 0 };

	r.value = desired;
	r.expected = expected;
	r.compare_mask = compare_mask;
	r.swap_mask = swap_mask;
	return rmc_rmw(qp, nid, offset, &r, len, old);
}

/* Its earlier name */
RMC_INLINE int rmc_masked_compare_and_swap(struct rmc_qp *qp, int nid, uint64_t offset,
					   uint64_t expected, uint64_t compare_mask,
					   uint64_t desired, uint64_t swap_mask, size_t len,
					   uint64_t *old)
{
	return rmc_masked_cas(qp, nid, offset, expected, compare_mask, desired, swap_mask, len,
			      old);
}

#ifdef __cplusplus
}
#endif

#endif /* RMC_ATOMIC_H */
