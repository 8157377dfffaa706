/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Events of nodes and links: see <rmc/watch.h>. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "internal.h"
#include <rmc/watch.h>

int rmc_watch_open(struct rmc_ctx *ctx, uint32_t types, unsigned int flags)
{
	struct rmc_watch arg = { .size = sizeof(arg), .flags = flags, .types = types, .nid = -1 };
	int err = rmc_ctx_usable(ctx);

	if (err)
		return err;
	if (!rmc_call(ctx, RMC_IOC_WATCH, &arg))
		return arg.fd;
	if (rmc_why(ctx))
		return rmc_fail(errno, "%s", rmc_why(ctx));
	switch (errno) {
	case ENOTTY:
		return rmc_fail(ENOTTY, "the module does not report events: load a newer one");
	case EBUSY:
		return rmc_fail(EBUSY, "this context has an event file already");
	default:
		return rmc_fail(errno, "cannot watch nodes: %s", strerror(errno));
	}
}

int rmc_watch_read(int fd, struct rmc_node_event *events, int n, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t got;
	int err;

	if (n < 1)
		return -EINVAL;
	err = poll(&p, 1, timeout_ms);
	if (err < 1)
		return err ? -errno : 0;
	got = read(fd, events, (size_t)n * sizeof(*events));
	if (got < 0)
		return errno == EAGAIN ? 0 : -errno;
	/* the end of its stream: rmcd is gone */
	if (!got)
		return -ESHUTDOWN;
	return (int)((size_t)got / sizeof(*events));
}

const char *rmc_event_name(unsigned int type)
{
	static const char * const names[RMC_EVENT_TYPES] = {
		[RMC_EVENT_OVERFLOW]	= "overflow",
		[RMC_EVENT_NODE_UP]	= "node_up",
		[RMC_EVENT_NODE_DOWN]	= "node_down",
		[RMC_EVENT_LINK_UP]	= "link_up",
		[RMC_EVENT_LINK_DOWN]	= "link_down",
		[RMC_EVENT_FENCED]	= "fenced",
	};

	return type < RMC_EVENT_TYPES ? names[type] : "unknown";
}
