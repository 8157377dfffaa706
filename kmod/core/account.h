/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters and tracepoints of requests, RRPP results, replies and completions. The packet path
 * and the local path call the same functions, so both count alike (selftests/unit/both_paths.c).
 */
#ifndef RMC_ACCOUNT_H
#define RMC_ACCOUNT_H

#include "node.h"

/* RGP: @packets of an operation, with @bytes of it, were sent to @nid. */
static __always_inline void rmc_account_requests(struct rmc_node *node, u32 nid, u16 tid,
						 u32 packets, u32 bytes)
{
	rmc_stat_add(node, requests, packets);
	rmc_stat_add(node, request_bytes, bytes);
	trace_rmc_rgp_inject(node->nid, nid, tid, packets);
}

/* RRPP: @packets, a run or a whole operation, were executed or rejected. */
static __always_inline void rmc_account_result(struct rmc_node *node, u32 packets, u32 bytes,
					       u8 status)
{
	if (likely(!status))
		rmc_stat_add(node, served_bytes, bytes);
	else
		rmc_stat_add(node, serve_errors, packets);
}

/* RRPP: @packets from @nid were consumed. */
static __always_inline void rmc_account_served(struct rmc_node *node, u32 nid, u32 packets)
{
	rmc_stat_add(node, served, packets);
	trace_rmc_rrpp_serve(node->nid, nid, packets);
}

/* RCP: a reply, or a run of them, to requests for @bytes of the destination's memory. */
static __always_inline void rmc_account_reply_bytes(struct rmc_node *node, u32 bytes)
{
	rmc_stat_add(node, reply_bytes, bytes);
}

/* RCP: @packets were consumed. */
static __always_inline void rmc_account_replies(struct rmc_node *node, u32 packets)
{
	rmc_stat_add(node, replies, packets);
}

/* RCP: an operation to @nid has ended. */
static __always_inline void rmc_account_completion(struct rmc_node *node, u32 nid, u16 tid,
						   u16 slot, u8 status)
{
	trace_rmc_rcp_complete(node->nid, nid, tid, slot, status);
	rmc_stat_inc(node, completions);
	if (unlikely(status))
		rmc_stat_inc(node, errors);
}

#endif
