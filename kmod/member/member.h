/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Membership: a node joins a fabric and leaves it (node.c), and keeps a view of its peers
 * (peer.c). The worker that runs RGP and RCP, of the head where there are several units,
 * polls the node table every tick. The data path, the state in sysfs and the events that
 * applications read (kmod/dev/watch.c) all follow from this one view, so they never
 * contradict each other.
 */
#ifndef RMC_MEMBER_H
#define RMC_MEMBER_H

#include "../core/node.h"

struct rmc_node *rmc_node_create(struct rmc_fabric *f, u32 nid, u32 itt_entries);
void rmc_node_destroy(struct rmc_node *node);
void rmc_node_join(struct rmc_node *node, u32 now_ms);
void rmc_node_fence(struct rmc_node *node);
void rmc_node_rejoin(struct rmc_node *node, u32 now_ms);
bool rmc_node_join_poll(struct rmc_node *node, u32 now_ms);
void rmc_node_leave(struct rmc_node *node);
void rmc_node_down_srv(struct rmc_node *node);
void rmc_node_down_req(struct rmc_node *node);
void rmc_node_tick_req(struct rmc_node *node, u32 now_ms);
void rmc_node_tick_srv(struct rmc_node *node, u32 now_ms);
void rmc_peers_poll(struct rmc_node *node);

/* A peer came up or went down, or this node was fenced; the kernel side reports it */
void rmc_os_node_event(struct rmc_node *node, u32 type, u32 nid, u32 epoch);

#endif
