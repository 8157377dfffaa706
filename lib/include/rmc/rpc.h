/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Calls between the members of a team, over messages: every member is client and
 * server of all others, in one thread.
 *
 *	rmc_rpc_post()  --- request  --->  rmc_rpc_progress() -> handler
 *	rmc_rpc_poll()  <-- response ----
 *
 * A member that waits for a response must go on serving, or two that wait for each
 * other wait forever: rmc_rpc_poll() and rmc_rpc_call() do. At most `window' calls to
 * one peer are in progress, and the message buffers must hold as many of the largest
 * requests and responses (rmc_rpc_cells()), so that nobody waits in a send.
 */
#ifndef RMC_RPC_H
#define RMC_RPC_H

#include <rmc/abi.h>
#include <rmc/msg.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMC_RPC_HEADER		16	/* bytes in front of each request and response */

struct rmc_rpc;

/*
 * Answer a request of node nid: write at most size bytes to response and give their
 * number, or -errno, which becomes the result of the call. Must not call rmc_rpc_*().
 */
typedef int (*rmc_rpc_handler)(void *arg, int nid, const void *request, size_t len,
			       void *response, size_t size);

struct rmc_rpc_options {
	size_t max;		/* bytes of the largest request and response */
	unsigned int window;	/* calls in progress to one peer; 0: 1 */
	int nodes, first_nid;	/* of the team */
	struct rmc_qp *qp;	/* of the same context: its flags say how to wait; or NULL */
	rmc_rpc_handler handler;
	void *arg;
};

#define RMC_RPC_OPTIONS_SIZE_VER0	48
RMC_ABI_SIZE_VER0(rmc_rpc_options, arg, RMC_RPC_OPTIONS_SIZE_VER0);

/* Cells that rmc_msg_options must ask for, or 0 if there cannot be as many */
unsigned int rmc_rpc_cells(size_t max, unsigned int window);

/* The messages are this RPC's alone from now on. NULL with errno set on failure. */
struct rmc_rpc *rmc_rpc_open_sized(struct rmc_msg *m, const struct rmc_rpc_options *options,
				   size_t size);
RMC_SIZED struct rmc_rpc *rmc_rpc_open(struct rmc_msg *m, const struct rmc_rpc_options *options)
{
	return rmc_rpc_open_sized(m, options, sizeof(*options));
}

void rmc_rpc_close(struct rmc_rpc *rpc);

/*
 * Begin a call. Gives a ticket; -EAGAIN: the window to nid is full; -EMSGSIZE; or the
 * status for which nid was given up, negated as -ENODEV.
 */
int rmc_rpc_post(struct rmc_rpc *rpc, int nid, const void *request, size_t len, void *response,
		 size_t size);

/*
 * Has it ended? 1: *result is the length of the response, -errno of the handler or of
 * the call, or the positive enum rmc_status for which the peer was given up, and then
 * *failed is set. The ticket is used up. 0: not yet.
 */
int rmc_rpc_poll(struct rmc_rpc *rpc, int ticket, int *result, int *failed);

/*
 * Time limit of each call that begins from now on, in milliseconds; negative, as at
 * first: none. rmc_rpc_call() gives -ETIMEDOUT then, rmc_rpc_poll() 1 with that result.
 * The peer may have served the request, or do so yet. The call counts against the window
 * until its response has come, or the peer was given up; the response is discarded.
 */
void rmc_rpc_set_timeout(struct rmc_rpc *rpc, int timeout_ms);

/* Give a call up, at once; as above. 0 or -EINVAL. */
int rmc_rpc_cancel(struct rmc_rpc *rpc, int ticket);

/*
 * Serve what came and take responses: how many messages, or -errno. Does not wait, and
 * handles at most max messages; rmc_rpc_progress() as many as well-behaved peers can have
 * under way, so that no peer can keep the caller inside.
 */
int rmc_rpc_progress(struct rmc_rpc *rpc);
int rmc_rpc_progress_max(struct rmc_rpc *rpc, unsigned int max);

/*
 * A member that died is back, rmc_team_rejoin() has met it, and it opens its messages and
 * calls: let it in again. Calls to its former life end with RMC_S_BAD_CONTEXT. Every
 * survivor calls this. 0, -ETIMEDOUT or another -errno, see rmc_msg_rejoin().
 */
int rmc_rpc_rejoin(struct rmc_rpc *rpc, int nid, unsigned int timeout_ms);

/* 0 and *got, enum rmc_status of the peer, or -errno, the handler's too */
int rmc_rpc_call(struct rmc_rpc *rpc, int nid, const void *request, size_t len, void *response,
		 size_t size, size_t *got);

/* Status for which a peer was given up: a call to it will not end well. 0: none */
int rmc_rpc_lost(const struct rmc_rpc *rpc, int nid);

#ifdef __cplusplus
}
#endif

#endif /* RMC_RPC_H */
