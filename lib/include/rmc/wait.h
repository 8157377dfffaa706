/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Waiting without spinning: for completions of a QP, and for notifications
 * that peers send to this process's segment (RMC_OP_NOTIFY and
 * RMC_OP_WRITE_NOTIFY).
 *
 * Both are armed, report once, and must be armed again. Arming reports earlier
 * occurrences at once, so none is missed between the last check and sleeping. A process
 * is woken no more often than it arms. For event loops:
 *
 *	fd = rmc_cq_eventfd(qp);		for poll, epoll or io_uring
 *	rmc_cq_arm(qp);
 *	... fd is readable:
 *	rmc_cq_disarm(qp);			reads the eventfd
 *	rmc_poll_cq(qp, callback);
 *	rmc_cq_arm(qp);
 */
#ifndef RMC_WAIT_H
#define RMC_WAIT_H

#include <stdint.h>
#include <rmc/ctx.h>
#include <rmc/qp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The QP's eventfd, created by the first call and closed with the QP; or -errno. */
int rmc_cq_eventfd(struct rmc_qp *qp);

/* Make the eventfd readable once there is an unconsumed completion. 0 or -errno. */
int rmc_cq_arm(struct rmc_qp *qp);

/* Make the eventfd unreadable again. */
void rmc_cq_disarm(struct rmc_qp *qp);

/*
 * Wait for a completion: spin for spin_us microseconds, then sleep for at most
 * timeout_ms milliseconds, forever if that is negative. 1: there is one (consume
 * it with rmc_poll_cq() or rmc_cq_next()), 0: timeout, or -errno:
 * -ESHUTDOWN when the QP is dead, -EINTR on a signal.
 *
 * Another thread may destroy the QP or close its context meanwhile: rmc_qp_destroy()
 * wakes the sleeper and returns after it has left. This holds only for this function and
 * rmc_seg_wait(): threads in other calls, or that poll the eventfd themselves, must stop
 * before the QP is destroyed.
 */
int rmc_cq_sleep(struct rmc_qp *qp, unsigned int spin_us, int timeout_ms);

/*
 * At the next notification of this context's segment, make eventfd readable (unless it
 * is -1) and rmc_fd() report POLLPRI; at once if there were more than *seen notifications.
 * *seen becomes their number, modulo 2^32. 0 or -errno.
 */
int rmc_seg_arm(struct rmc_ctx *ctx, uint32_t *seen, int eventfd);

/*
 * Sleep until there were more than *seen notifications (from 0), for at most
 * timeout_ms milliseconds. 1: there were, and *seen is their number; 0: timeout; or
 * -errno: -ESHUTDOWN when the segment was withdrawn. One thread at a time.
 */
int rmc_seg_wait(struct rmc_ctx *ctx, uint32_t *seen, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* RMC_WAIT_H */
