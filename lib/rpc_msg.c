/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Calls over the messages of <rmc/msg.h>: the link, and what opens calls over it. */
#include "internal.h"
#include "rpc_link.h"

static int send(void *to, int nid, const void *buf, size_t len)
{
	return rmc_msg_send((struct rmc_msg *)to, nid, buf, len, 0);
}

static int recv(void *to, void *buf, size_t size, size_t *len, int *from)
{
	return rmc_msg_recv((struct rmc_msg *)to, RMC_MSG_ANY, buf, size, len, from,
			    RMC_MSG_DONTWAIT);
}

static int rejoin(void *to, int nid, unsigned int timeout_ms)
{
	return rmc_msg_rejoin((struct rmc_msg *)to, nid, timeout_ms);
}

static int flush(void *to, int nid)
{
	return rmc_msg_flush((struct rmc_msg *)to, nid);
}

/* The caller of rmc_rpc_open() closes its messages. */
const struct rmc_rpc_link rmc_rpc_link_msg = {
	.request = send,
	.respond = send,
	.recv = recv,
	.rejoin = rejoin,
	.flush = flush,
};

unsigned int rmc_rpc_cells(size_t max, unsigned int window)
{
	/* our requests, and our responses to the peer's requests, share a ring */
	uint64_t want = 2 * (uint64_t)(window ? window : 1) *
			((max + RMC_RPC_HEADER + RMC_MSG_PAYLOAD - 1) / RMC_MSG_PAYLOAD);
	unsigned int cells = RMC_MSG_CELLS_MIN;

	/* the receiver may owe credits for up to a quarter of the ring */
	want += want / 3 + 4;
	while (cells < want && cells < RMC_MSG_CELLS_MAX)
		cells *= 2;
	return cells < want ? 0 : cells;
}

struct rmc_rpc *rmc_rpc_open_sized(struct rmc_msg *m, const struct rmc_rpc_options *options,
				   size_t size)
{
	struct rmc_rpc_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_RPC_OPTIONS_SIZE_VER0,
			     "RPC options") ? NULL : rmc_rpc_open_over(&rmc_rpc_link_msg, m, &o);
}

struct rmc_rpc *rpc_open_ver0(struct rmc_msg *m, const struct rmc_rpc_options *options)
	RMC_VER0(rmc_rpc_open);
struct rmc_rpc *rpc_open_ver0(struct rmc_msg *m, const struct rmc_rpc_options *options)
{
	return rmc_rpc_open_sized(m, options, RMC_RPC_OPTIONS_SIZE_VER0);
}
