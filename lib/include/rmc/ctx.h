/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Contexts: one open /dev/rmc_contexts/<ctx_id>, acting for one local node.
 *
 * A context and what hangs on it belongs to the process that opened it. Queue
 * pairs are not inherited over fork(); a child opens the context anew. Closing and
 * destroying in the child release the child's copies alone, making something from
 * the parent's context fails with EPERM, and no other call is allowed. Distinct
 * contexts and distinct queue pairs may be used from distinct threads without
 * locks; calls on one context need the caller's lock.
 */
#ifndef RMC_CTX_H
#define RMC_CTX_H

#include <linux/rmc.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMC_CTX_DIR	"/dev/rmc_contexts"

struct rmc_ctx;

/*
 * Open context ctx_id and act for local node nid. With nid -1 the node comes
 * from the environment variable RMC_NODE, and without that it is the lowest
 * local one. NULL with errno set on failure; rmc_errmsg() says what to do.
 */
struct rmc_ctx *rmc_open(unsigned int ctx_id, int nid);

/* Destroys the queue pairs and withdraws the segment and buffers as well. */
void rmc_close(struct rmc_ctx *ctx);

/* What RMC_IOC_QUERY told when the context was opened. */
const struct rmc_query *rmc_query(const struct rmc_ctx *ctx);

/* Node this context acts for; nodes in the fabric; the file descriptor. */
int rmc_nid(const struct rmc_ctx *ctx);
int rmc_nodes(const struct rmc_ctx *ctx);
int rmc_fd(const struct rmc_ctx *ctx);

/* enum rmc_node_state of a node, or -errno */
int rmc_node_state(struct rmc_ctx *ctx, int nid);
const char *rmc_node_state_name(int state);
/* Of rmc_query.fabric. */
const char *rmc_fabric_name(unsigned int kind);
/* Of rmc_query.ni. */
const char *rmc_ni_name(unsigned int kind);

#ifdef __cplusplus
}
#endif

#endif /* RMC_CTX_H */
