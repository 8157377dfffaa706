/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Both ends of a channel, see fabric.h: it carries requests of one unit to another, and their
 * replies.
 */
#ifndef RMC_CHANNEL_H
#define RMC_CHANNEL_H

#include "../fabric/filter.h"

struct rmc_node;
struct rmc_steps;
struct rmc_xfers;

/**
 * struct rmc_out - requester's end of a channel; belongs to RGP and RCP
 * @req: request ring, producing
 * @rep: reply ring, consuming
 * @filter: of replies; NULL: none
 * @credits: requests that may still be injected
 * @req_lines: free payload lines of the request ring
 * @rep_lines: free payload lines of the reply ring; reads reserve them
 * @nid: the peer
 * @epoch: of the peer this end was opened for
 * @idle: consecutive empty polls
 * @held: requests of announced operations without reply
 * @held_lines: reply lines reserved for them
 * @xfers: announced operations whose announcement has no reply
 * @announcing: announced operation that is being unrolled, or RMC_TID_NONE
 * @down: peer is silent; nothing is injected
 * @self: the peer's RRPP runs on the same worker
 * @ordered: by group of ordered queue pairs, operations in flight to the peer. This and @broken:
 *	of the first end of a peer, for all of them; see order.c
 * @broken: bit per group: none begins until all have ended
 * @late: by group that is broken, ITT entries in quarantine because of its writes and atomics
 * @unknown: bit per group: one of these was used for another peer before its packets had come
 * @broken_ms: by group, when it broke last
 * @patient: bit per group that is broken: the packet that said that it is renewed was lost. It is
 *	renewed once more after a time-out, or with an operation
 * @renewed: bit per group: RMC_REQ_RENEWED of its packets on this channel
 * @used: bit per group: packets with that value were sent
 * @untold: bit per group: none with that value, but with the one before
 */
struct rmc_out {
	struct rmc_ring req;
	struct rmc_ring rep;
	struct rmc_filter *filter;
	u32 credits;
	u32 req_lines;
	u32 rep_lines;
	u32 nid;
	u32 epoch;
	u32 idle;
	u32 held;
	u32 held_lines;
	u32 xfers;
	u16 announcing;
	bool down;
	bool self;
	u32 ordered[RMC_REQ_GROUPS];
	u32 broken;
	u32 late[RMC_REQ_GROUPS];
	u32 unknown;
	u32 broken_ms[RMC_REQ_GROUPS];
	u32 patient;
	u32 renewed;
	u32 used;
	u32 untold;
};

/**
 * struct rmc_in - server's end of a channel; belongs to the RRPP
 * @req: request ring, consuming
 * @rep: reply ring, producing
 * @filter: of requests; NULL: none
 * @steps: request of which some lines were moved, adapter.h; NULL until there was one
 * @att: announced operations of the peer; NULL until it announced one
 * @ep: endpoint of the peer
 * @epoch: of the peer this end was opened for
 * @idle: consecutive empty polls
 * @again_pos: position in @req of the last request whose serve() returned RMC_AGAIN
 * @tries: number of its tries
 * @busy_ms: when a request last failed with RMC_S_BUSY; for RMC_AGAIN_MS others have one try
 * @self: the peer's RCP runs on the same worker
 */
struct rmc_in {
	struct rmc_ring req;
	struct rmc_ring rep;
	struct rmc_filter *filter;
	struct rmc_steps *steps;
	struct rmc_xfers *att;
	u32 ep;
	u32 epoch;
	u32 idle;
	u32 again_pos;
	u32 tries;
	u32 busy_ms;
	bool self;
};

struct rmc_out *rmc_out_open(struct rmc_node *node, u32 nid, u8 *status);
void rmc_out_close(struct rmc_node *node, u32 nid);
bool rmc_out_retire(struct rmc_node *node, u32 nid);
struct rmc_in *rmc_in_open(struct rmc_node *node, u32 ep);
void rmc_in_close(struct rmc_node *node, u32 ep);
void rmc_in_retire(struct rmc_node *node, u32 ep);
bool rmc_node_linked(struct rmc_node *node, u32 ep, u32 *epoch);
int rmc_channel_add_filter(struct rmc_node *node, u32 peer, struct rmc_filter *flt);
int rmc_channel_del_filter(struct rmc_node *node, u32 peer, enum rmc_lane lane);
int rmc_channel_refresh(struct rmc_node *node, enum rmc_lane lane);
int rmc_channel_set_adapter(struct rmc_node *node, const struct rmc_rnic *r, u64 seed);

#endif
