/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Being told of nodes and links that go down and come up, instead of asking.
 *
 *	fd = rmc_watch_open(ctx, 0, 0);
 *	... how things are now: rmc_node_state() ...
 *	... fd is readable, to poll, epoll or io_uring:
 *	n = rmc_watch_read(fd, events, 16, 0);
 *
 * What happens between the two first lines is told twice, nothing never. A reader
 * that is too slow finds RMC_EVENT_OVERFLOW in the place of what was lost, and asks
 * again how things are.
 */
#ifndef RMC_WATCH_H
#define RMC_WATCH_H

#include <stdint.h>
#include <rmc/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A file to read events from, as the node of this context sees them. types: bit n
 * for enum rmc_event_type n, 0 for all; flags: RMC_WATCH_NONBLOCK. One per context
 * at a time (-EBUSY). The descriptor, to be closed by the caller, or -errno.
 */
int rmc_watch_open(struct rmc_ctx *ctx, uint32_t types, unsigned int flags);

/*
 * Wait for events for at most timeout_ms milliseconds, forever if that is negative,
 * and read up to n of them. How many there were, 0: time is over, or -errno.
 */
int rmc_watch_read(int fd, struct rmc_node_event *events, int n, int timeout_ms);

/* "node_up", or "unknown" */
const char *rmc_event_name(unsigned int type);

#ifdef __cplusplus
}
#endif

#endif /* RMC_WATCH_H */
