/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Calls between the members of a team, over the messages of <rmc/msg.h> or native ones: every member
 * is client and server of all others, in one thread.
 *
 *	rmc_rpc_post()  --- request  --->  rmc_rpc_progress() -> handler
 *	rmc_rpc_poll()  <-- response ----
 *
 * A member that waits for a response must continue to serve, or two members that wait for
 * each other deadlock: rmc_rpc_poll() and rmc_rpc_call() serve. At most `window' calls to
 * one peer are in progress, and the message buffers must hold as many of the largest
 * requests and responses (rmc_rpc_cells()), so that no send has to wait.
 */
#ifndef RMC_RPC_H
#define RMC_RPC_H

#include <rmc/abi.h>
#include <rmc/msg.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMC_RPC_HEADER		16	/* bytes before each request and response */

struct rmc_rpc;

/*
 * Answers a request of node nid: writes at most size bytes to response and returns their
 * number, or -errno, which becomes the result of the call. Must not call rmc_rpc_*().
 */
typedef int (*rmc_rpc_handler)(void *arg, int nid, const void *request, size_t len,
			       void *response, size_t size);

struct rmc_rpc_options {
	size_t max;		/* bytes of the largest request and response */
	unsigned int window;	/* calls in progress to one peer; 0: 1 */
	int nodes, first_nid;	/* of the team */
	struct rmc_qp *qp;	/* of the same context, for its flags when waiting; or NULL */
	rmc_rpc_handler handler;
	void *arg;
};

#define RMC_RPC_OPTIONS_SIZE_VER0	48
RMC_ABI_SIZE_VER0(rmc_rpc_options, arg, RMC_RPC_OPTIONS_SIZE_VER0);

/* Value for rmc_msg_options.cells, or 0 if it exceeds RMC_MSG_CELLS_MAX */
unsigned int rmc_rpc_cells(size_t max, unsigned int window);

/* The RPC uses m exclusively from now on. NULL with errno set on failure. */
struct rmc_rpc *rmc_rpc_open_sized(struct rmc_msg *m, const struct rmc_rpc_options *options,
				   size_t size);
RMC_SIZED struct rmc_rpc *rmc_rpc_open(struct rmc_msg *m, const struct rmc_rpc_options *options)
{
	return rmc_rpc_open_sized(m, options, sizeof(*options));
}

/*
 * The same over native messages (<rmc/domain.h>), for all members alike: it opens the context's
 * domain, so the application has none. The members that options names are joined, which waits for
 * them. max is at most 64 KiB less RMC_RPC_HEADER. A response that the RMC gave up, after its
 * retries, is not repeated: the peer is given up then, with RMC_S_TIMEOUT.
 */
struct rmc_rpc *rmc_rpc_open_domain_sized(struct rmc_ctx *ctx,
					  const struct rmc_rpc_options *options, size_t size);
RMC_SIZED struct rmc_rpc *rmc_rpc_open_domain(struct rmc_ctx *ctx,
					      const struct rmc_rpc_options *options)
{
	return rmc_rpc_open_domain_sized(ctx, options, sizeof(*options));
}

void rmc_rpc_close(struct rmc_rpc *rpc);

/*
 * Begin a call. Returns a ticket; -EAGAIN: the window to nid is full; -EMSGSIZE; -ENODEV:
 * nid was given up, see rmc_rpc_lost().
 */
int rmc_rpc_post(struct rmc_rpc *rpc, int nid, const void *request, size_t len, void *response,
		 size_t size);

/*
 * Poll a call. 1: it has ended, and the ticket is used up. *result is the length of the
 * response, or -errno of the handler or of the call; or, with *failed set, the positive
 * enum rmc_status for which the peer was given up. 0: not yet.
 */
int rmc_rpc_poll(struct rmc_rpc *rpc, int ticket, int *result, int *failed);

/*
 * Time limit of each call that begins from now on, in milliseconds; negative, the default:
 * none. rmc_rpc_call() then returns -ETIMEDOUT, and rmc_rpc_poll() returns 1 with that
 * result. The peer may have served the request, or may serve it later. The call counts
 * against the window until its response arrives, which is discarded, or the peer is given
 * up.
 */
void rmc_rpc_set_timeout(struct rmc_rpc *rpc, int timeout_ms);

/* Give a call up at once, with the same effects. 0 or -EINVAL. */
int rmc_rpc_cancel(struct rmc_rpc *rpc, int ticket);

/*
 * Serve requests and take responses: the number of messages, or -errno. Does not wait, and
 * handles at most max messages; for rmc_rpc_progress(), as many as correct peers can have
 * in flight, so that no peer can keep the caller inside.
 */
int rmc_rpc_progress(struct rmc_rpc *rpc);
int rmc_rpc_progress_max(struct rmc_rpc *rpc, unsigned int max);

/*
 * Wait until nothing that was sent to a member may have to be repeated: for a caller that makes no
 * calls for a while. 0, -errno or the status of the member
 */
int rmc_rpc_flush(struct rmc_rpc *rpc, int nid);

/*
 * Readmit a member that died and was restarted: rmc_team_rejoin() has met it, and it opens
 * its messages and RPC. Calls to its earlier incarnation end with RMC_S_BAD_CONTEXT. Every
 * survivor calls this. 0, -ETIMEDOUT or another -errno, see rmc_msg_rejoin().
 */
int rmc_rpc_rejoin(struct rmc_rpc *rpc, int nid, unsigned int timeout_ms);

/* 0 and *got; enum rmc_status of the peer; or -errno of the handler or of the call */
int rmc_rpc_call(struct rmc_rpc *rpc, int nid, const void *request, size_t len, void *response,
		 size_t size, size_t *got);

/* Status for which a peer was given up: calls to it fail. 0: none */
int rmc_rpc_lost(const struct rmc_rpc *rpc, int nid);

#ifdef __cplusplus
}
#endif

#endif /* RMC_RPC_H */
