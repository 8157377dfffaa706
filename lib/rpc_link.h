/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What calls (rpc.c) need of the messages below them, and nothing else:
 *
 *	rpc.c  calls, windows, tickets, handlers
 *	  |
 *	struct rmc_rpc_link
 *	  |---------------------------------------.
 *	rpc_msg.c  messages of <rmc/msg.h>	rpc_domain.c  those of <rmc/domain.h>
 *
 * Another kind of message is a file beside rpc_msg.c with a struct of these functions, a row
 * under "Links" below, and a function that opens calls over it.
 */
#ifndef RMC_RPC_LINK_H
#define RMC_RPC_LINK_H

#include <rmc/rpc.h>

/*
 * Messages that arrive whole and once, in any order. All functions return 0, or -errno; request,
 * respond and recv also the positive enum rmc_status of a peer that is gone.
 * to: what rmc_rpc_open_over() was given.
 */
struct rmc_rpc_link {
	/*
	 * Copies buf; does not wait if the link has room for each peer's window of calls.
	 * -EAGAIN: no room.
	 */
	int (*request)(void *to, int nid, const void *buf, size_t len);
	/* The same, for the request that recv took last */
	int (*respond)(void *to, int nid, const void *buf, size_t len);
	/*
	 * Takes the next message from anyone; never waits: -EAGAIN. A peer's end comes once, with
	 * *from set; over rpc_msg.c always, when no other peer is left.
	 */
	int (*recv)(void *to, void *buf, size_t size, size_t *len, int *from);
	/*
	 * Readmits a member that was restarted. -EAGAIN: to be called again, after recv: it waits
	 * until requests of the earlier incarnation were taken.
	 */
	int (*rejoin)(void *to, int nid, unsigned int timeout_ms);
	/* Waits until nothing that was sent to the member may have to be repeated. */
	int (*flush)(void *to, int nid);
	/* Called by rmc_rpc_close(); NULL: the caller of rmc_rpc_open_over() closes it. */
	void (*close)(void *to);
};

/* Links */
extern const struct rmc_rpc_link rmc_rpc_link_msg;	/* to: struct rmc_msg */
extern const struct rmc_rpc_link rmc_rpc_link_domain;	/* to: rpc_domain.c has it */

/* Time limit of a call that begins now, ms; negative: none */
int rmc_rpc_timeout(const struct rmc_rpc *r);

/* NULL with errno set on failure; the link is not closed then. */
struct rmc_rpc *rmc_rpc_open_over(const struct rmc_rpc_link *link, void *to,
				  const struct rmc_rpc_options *options);

#endif /* RMC_RPC_LINK_H */
