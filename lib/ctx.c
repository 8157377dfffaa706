/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Opens contexts, and turns failures into advice. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

size_t rmc_page_round(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (len + page - 1) & ~(page - 1);
}

void *rmc_map(struct rmc_ctx *ctx, size_t len, int prot, uint64_t offset)
{
	void *p = ctx->driver->map(ctx, len, prot, offset);

	/* A child shares neither the QP's private state nor the pinning. */
	if (p != MAP_FAILED)
		madvise(p, len, MADV_DONTFORK);
	return p;
}

int rmc_ctx_inherited(const struct rmc_ctx *ctx)
{
	return ctx->pid != (int)getpid();
}

int rmc_qp_inherited(const struct rmc_qp *qp)
{
	return qp->ctx && rmc_ctx_inherited(qp->ctx);
}

int rmc_ctx_usable(const struct rmc_ctx *ctx)
{
	if (!rmc_ctx_inherited(ctx))
		return 0;
	return rmc_fail(EPERM, "context %u was opened by process %d: a child opens its own",
			ctx->id, ctx->pid);
}

void rmc_unmap(const struct rmc_ctx *ctx, void *addr, size_t len)
{
	if (!rmc_ctx_inherited(ctx))
		munmap(addr, len);
}

/* RMC_NODE: -1 when unset, -EINVAL when it is not a number */
static int node_from_environment(void)
{
	const char *s = getenv("RMC_NODE");
	char *end;
	long n;

	if (!s || !*s)
		return -1;
	n = strtol(s, &end, 10);
	if (*end || n < 0 || n > RMC_NID_MAX)
		return rmc_fail(EINVAL, "RMC_NODE is '%s', not a node id", s);
	return (int)n;
}

static int attach(struct rmc_ctx *ctx, int nid)
{
	struct rmc_query *q = &ctx->query;
	struct rmc_attach arg = { .size = sizeof(arg) };

	if (!q->local_nodes)
		return rmc_fail(ENXIO, "this kernel has no node in the fabric yet: see rmcctl doctor");
	arg.nid = nid >= 0 ? (unsigned int)nid : q->first_local;
	if (rmc_call(ctx, RMC_IOC_ATTACH, &arg)) {
		if (errno != ENXIO)
			return rmc_fail(errno, "cannot act for node %u: %s", arg.nid,
					strerror(errno));
		return rmc_fail(ENXIO, "node %u is not on this machine, which has %u .. %u of %u nodes",
				arg.nid, q->first_local, q->first_local + q->local_nodes - 1,
				q->nodes);
	}
	q->nid = (int)arg.nid;
	rmc_log(INFO, "%s: acts for node %u of %u (%s), fabric %s, NI %s", ctx->path, arg.nid,
		q->nodes, nid >= 0 ? "as asked for" : "the lowest local one",
		rmc_fabric_name(q->fabric), rmc_ni_name(q->ni));
	return 0;
}

struct rmc_ctx *rmc_open(unsigned int ctx_id, int nid)
{
	struct rmc_ctx *ctx;
	int err;

	if (nid < 0)
		nid = node_from_environment();
	if (nid < -1)
		return NULL;

	ctx = (struct rmc_ctx *)calloc(1, sizeof(*ctx));
	if (!ctx) {
		rmc_set_errmsg("out of memory");
		return NULL;
	}
	ctx->id = ctx_id;
	ctx->pid = (int)getpid();
	rmc_sleepers_init(&ctx->seg_sleepers);
	err = rmc_driver_open(ctx);
	if (err)
		goto err_free;

	ctx->query.size = sizeof(ctx->query);
	if (rmc_call(ctx, RMC_IOC_QUERY, &ctx->query)) {
		err = rmc_fail(errno, "%s does not answer queries (%s): is it an RMC device?",
			       ctx->path, strerror(errno));
		goto err_close;
	}
	rmc_log(DEBUG, "%s: open as file %d, ABI %u, nodes %u .. %u of %u are local, features %#x",
		ctx->path, ctx->fd, ctx->query.abi, ctx->query.first_local,
		ctx->query.first_local + ctx->query.local_nodes - 1, ctx->query.nodes,
		ctx->query.features);
	if (ctx->query.abi != RMC_ABI_VERSION) {
		err = rmc_fail(EPROTO, "the rmc module speaks ABI %u, this library %u: update the older one",
			       ctx->query.abi, RMC_ABI_VERSION);
		goto err_close;
	}
	err = attach(ctx, nid);
	if (err)
		goto err_close;
	return ctx;

err_close:
	ctx->driver->close(ctx);
err_free:
	free(ctx);
	errno = -err;
	return NULL;
}

void rmc_close(struct rmc_ctx *ctx)
{
	struct rmc_mapping *m;

	if (!ctx)
		return;
	while (ctx->qps)
		rmc_qp_destroy(ctx->qps);
	rmc_seg_unregister(ctx);
	if (!rmc_ctx_inherited(ctx)) {
		rmc_sleepers_end(&ctx->seg_sleepers);
		rmc_sleepers_wait(&ctx->seg_sleepers);
	}
	if (ctx->seg_sleepers.eventfd >= 0)
		close(ctx->seg_sleepers.eventfd);
	while ((m = ctx->mappings)) {
		ctx->mappings = m->next;
		rmc_unmap(ctx, m->addr, m->len);
		free(m);
	}
	rmc_log(DEBUG, "%s: file %d closed", ctx->path, ctx->fd);
	ctx->driver->close(ctx);
	free(ctx);
}

const struct rmc_query *rmc_query(const struct rmc_ctx *ctx)
{
	return &ctx->query;
}

int rmc_nid(const struct rmc_ctx *ctx)
{
	return ctx->query.nid;
}

int rmc_nodes(const struct rmc_ctx *ctx)
{
	return (int)ctx->query.nodes;
}

int rmc_fd(const struct rmc_ctx *ctx)
{
	return ctx->fd;
}

int rmc_node_info(struct rmc_ctx *ctx, struct rmc_node_info *info)
{
	return rmc_call(ctx, RMC_IOC_NODE_INFO, info) ? -errno : 0;
}

int rmc_node_state(struct rmc_ctx *ctx, int nid)
{
	struct rmc_node_info info = { .size = sizeof(info), .nid = (unsigned int)nid };
	int err = rmc_node_info(ctx, &info);

	return err ? err : (int)info.state;
}

const char *rmc_node_state_name(int state)
{
	static const char * const names[] = {
		[RMC_NODE_FREE]		= "free",
		[RMC_NODE_JOINING]	= "joining",
		[RMC_NODE_UP]		= "up",
		[RMC_NODE_DOWN]		= "down",
	};

	if (state < 0 || state > RMC_NODE_DOWN)
		return "unknown";
	return names[state];
}

const char *rmc_fabric_name(unsigned int kind)
{
	static const char * const names[] = {
		[RMC_FABRIC_LOOPBACK]	= "loopback",
		[RMC_FABRIC_IVSHMEM]	= "ivshmem",
		[RMC_FABRIC_UML]	= "uml",
	};

	return kind >= RMC_FABRIC_LOOPBACK && kind <= RMC_FABRIC_UML ? names[kind] : "unknown";
}

const char *rmc_ni_name(unsigned int kind)
{
	static const char * const names[] = {
		[RMC_NI_FUSED]		= "fused",
		[RMC_NI_PAIR]		= "pair",
		[RMC_NI_EDGE]		= "edge",
		[RMC_NI_PER_TILE]	= "per_tile",
		[RMC_NI_SPLIT]		= "split",
	};

	return kind >= RMC_NI_FUSED && kind <= RMC_NI_SPLIT ? names[kind] : "unknown";
}
