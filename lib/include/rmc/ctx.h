/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Contexts: one open /dev/rmc_contexts/<ctx_id>, attached to one local node.
 *
 * A context and its resources belong to the process that opened it. A child of fork()
 * does not inherit queue pairs; it opens the context anew. In the child, close and destroy
 * functions release the child's copies only, calls that create resources of the parent's
 * context fail with EPERM, and no other call is allowed. Distinct contexts and distinct
 * queue pairs may be used from distinct threads without locks; calls on one context need
 * the caller's lock.
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
 * Open context ctx_id and attach to local node nid. With nid -1 the node comes
 * from the environment variable RMC_NODE; without it, the lowest local node is
 * used. NULL with errno set on failure; rmc_errmsg() says what to do.
 */
struct rmc_ctx *rmc_open(unsigned int ctx_id, int nid);

/* Also destroys the queue pairs and withdraws the segment and buffers. */
void rmc_close(struct rmc_ctx *ctx);

/* Result of RMC_IOC_QUERY when the context was opened. */
const struct rmc_query *rmc_query(const struct rmc_ctx *ctx);

/* Attached node; number of nodes in the fabric; file descriptor. */
int rmc_nid(const struct rmc_ctx *ctx);
int rmc_nodes(const struct rmc_ctx *ctx);
int rmc_fd(const struct rmc_ctx *ctx);

/*
 * State, epoch and path of the node info->nid. The caller sets info->size and info->nid, and all
 * else to 0. 0, or -errno.
 */
int rmc_node_info(struct rmc_ctx *ctx, struct rmc_node_info *info);

/* enum rmc_node_state of a node, or -errno */
int rmc_node_state(struct rmc_ctx *ctx, int nid);
const char *rmc_node_state_name(int state);
/* Name of a value of rmc_query.fabric. */
const char *rmc_fabric_name(unsigned int kind);
/* Name of a value of rmc_query.ni. */
const char *rmc_ni_name(unsigned int kind);

#ifdef __cplusplus
}
#endif

#endif /* RMC_CTX_H */
