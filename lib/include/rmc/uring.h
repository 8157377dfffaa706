/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Waiting with io_uring: one SQE for completions of a queue pair, notifications of
 * the segment and events of nodes, beside the other requests of a ring. With liburing
 * or without:
 *
 *	sqe = io_uring_get_sqe(&ring);
 *	rmc_uring_prep_wait(sqe, ctx, RMC_URING_CQ | RMC_URING_SEG, qp, seen);
 *	io_uring_sqe_set_data64(sqe, MINE);
 *	... a CQE with MINE:
 *	rmc_uring_seen(cqe->res, &seen);
 *	rmc_poll_cq(qp, callback);
 *	... and again
 *
 * Neither arming nor an eventfd is needed, and no wake-up is lost in between. <rmc/rmc.h>
 * does not include this header; include it after <liburing.h>.
 */
#ifndef RMC_URING_H
#define RMC_URING_H

#include <linux/io_uring.h>
#include <rmc/ctx.h>
#include <rmc/domain.h>
#include <rmc/qp.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Offset of the command's 16 bytes in an SQE of 64 */
#define RMC_URING_SQE_CMD	48

/* True if the kernel module supports it; otherwise use rmc_cq_eventfd(). */
RMC_INLINE int rmc_uring_works(const struct rmc_ctx *ctx)
{
	return !!(rmc_query(ctx)->features & RMC_FEATURE_URING_WAIT);
}

/*
 * Wait for the first of sources: RMC_URING_CQ: a completion of qp that was not
 * consumed; RMC_URING_SEG: more than seg_seen notifications of the context's segment;
 * RMC_URING_EVENT: a record in the event file of rmc_watch_open(). Sets the whole SQE; set
 * user data and flags afterwards.
 *
 * The CQE's result is negative (-ECANCELED; -ESHUTDOWN: the QP, segment or event file was
 * destroyed; -ENOENT: there was none), or has the source's bit set.
 */
RMC_INLINE void rmc_uring_prep_wait(struct io_uring_sqe *sqe, const struct rmc_ctx *ctx,
				    unsigned int sources, const struct rmc_qp *qp,
				    uint32_t seg_seen)
{
	struct rmc_uring_wait wait;

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = rmc_fd(ctx);
	sqe->cmd_op = RMC_URING_WAIT;
	wait.sources = sources;
	wait.qp_id = qp ? qp->id : 0;
	wait.cq_seen = qp ? qp->tail : 0;
	wait.seg_seen = seg_seen;
	memcpy((unsigned char *)sqe + RMC_URING_SQE_CMD, &wait, sizeof(wait));
}

/* True if the kernel module supports rmc_uring_prep_wait_core(); otherwise rmc_core_eventfd(). */
RMC_INLINE int rmc_uring_works_for_cores(const struct rmc_ctx *ctx)
{
	return !!(rmc_query(ctx)->features & RMC_FEATURE_URING_MSG);
}

/*
 * Wait for the first of sources: RMC_URING_MSG_AQ: an arrival that was not taken; RMC_URING_MSG_CQ: a
 * completion that was not handled, as while messages are under way; RMC_URING_MSG_ROOM: a send slot
 * that has become free, or was answered, since this core was told last. The CQE's result is as above;
 * then make the core's calls again. From the core's thread.
 */
RMC_INLINE void rmc_uring_prep_wait_core(struct io_uring_sqe *sqe, const struct rmc_core *core,
					 unsigned int sources)
{
	struct rmc_uring_wait_msg wait;

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = rmc_fd(core->qp->ctx);
	sqe->cmd_op = RMC_URING_WAIT_MSG;
	wait.sources = sources;
	wait.qp_id = core->qp->id;
	wait.cq_seen = core->qp->tail;
	wait.aq_seen = core->taken;
	memcpy((unsigned char *)sqe + RMC_URING_SQE_CMD, &wait, sizeof(wait));
}

/* If RMC_URING_SEG was the source, advances *seen to the current number of notifications. */
RMC_INLINE void rmc_uring_seen(int32_t res, uint32_t *seen)
{
	uint32_t count = (uint32_t)res >> RMC_URING_COUNT_SHIFT;

	if (res > 0 && (res & (int32_t)RMC_URING_SOURCE_MASK) == RMC_URING_SEG)
		*seen += (count - *seen) & RMC_URING_COUNT_MASK;
}

#ifdef __cplusplus
}
#endif

#endif /* RMC_URING_H */
