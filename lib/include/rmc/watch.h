/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Events of nodes and links that go down and come up, instead of polling their state.
 *
 *	fd = rmc_watch_open(ctx, 0, 0);
 *	... current states: rmc_node_state() ...
 *	... fd is readable, by poll, epoll or io_uring:
 *	n = rmc_watch_read(fd, events, 16, 0);
 *
 * A change between the first two lines is reported in both ways; none is missed. A reader
 * that is too slow gets RMC_EVENT_OVERFLOW in place of the lost events, and queries the
 * states again.
 */
#ifndef RMC_WATCH_H
#define RMC_WATCH_H

#include <stdint.h>
#include <rmc/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Open an event file, from the view of this context's node. types: bit n for enum
 * rmc_event_type n, 0 for all; flags: RMC_WATCH_NONBLOCK. One per context at a time
 * (-EBUSY). Returns a descriptor, which the caller closes, or -errno.
 */
int rmc_watch_open(struct rmc_ctx *ctx, uint32_t types, unsigned int flags);

/*
 * Wait for events for at most timeout_ms milliseconds, forever if that is negative,
 * and read up to n of them. Returns their number, 0: timeout, or -errno.
 */
int rmc_watch_read(int fd, struct rmc_node_event *events, int n, int timeout_ms);

/* "node_up", or "unknown" */
const char *rmc_event_name(unsigned int type);

#ifdef __cplusplus
}
#endif

#endif /* RMC_WATCH_H */
