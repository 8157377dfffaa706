/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What calls (rpc.c) need of the messages below them, and nothing else:
 *
 *	rpc.c  calls, windows, tickets, handlers
 *	  |
 *	struct rmc_rpc_link
 *	  |
 *	rpc_msg.c  messages of <rmc/msg.h>
 *
 * Another kind of message is a file beside rpc_msg.c with a struct of these functions, a row
 * under "Links" below, and a function that opens calls over it.
 */
#ifndef RMC_RPC_LINK_H
#define RMC_RPC_LINK_H

#include <rmc/rpc.h>

/*
 * Messages that arrive whole, once, and in the order of their sender. All functions return 0,
 * or -errno; send and recv also the positive enum rmc_status of a peer that is gone.
 * to: what rmc_rpc_open_over() was given.
 */
struct rmc_rpc_link {
	/* Copies buf; does not wait if the link has room for each peer's window of calls. */
	int (*send)(void *to, int nid, const void *buf, size_t len);
	/*
	 * Takes the next message from anyone; never waits: -EAGAIN. A peer's end comes once, with
	 * *from set; always, when no other peer is left.
	 */
	int (*recv)(void *to, void *buf, size_t size, size_t *len, int *from);
	/* Readmits a member that was restarted. */
	int (*rejoin)(void *to, int nid, unsigned int timeout_ms);
	/* Called by rmc_rpc_close(); NULL: the caller of rmc_rpc_open_over() closes it. */
	void (*close)(void *to);
};

/* Links */
extern const struct rmc_rpc_link rmc_rpc_link_msg;	/* to: struct rmc_msg */

/* NULL with errno set on failure; the link is not closed then. */
struct rmc_rpc *rmc_rpc_open_over(const struct rmc_rpc_link *link, void *to,
				  const struct rmc_rpc_options *options);

#endif /* RMC_RPC_LINK_H */
