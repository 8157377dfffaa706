/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a node knows of its peers. The worker that runs RGP and RCP (of the head,
 * where there are several units) looks at the node table every tick; the data path,
 * the state in sysfs and the events that applications read (kmod/watch.c) all follow
 * from this one view, so they never contradict each other.
 */
#ifndef RMC_PEER_H
#define RMC_PEER_H

#include "rmc_os.h"

struct rmc_node;

/**
 * struct rmc_peer - a peer as one node sees it; belongs to RGP and RCP, anybody may read
 * @state: enum rmc_node_state; a heartbeat that stands still makes UP DOWN
 * @epoch: the peer's
 * @heartbeat: last value seen
 * @beat_ms: when it last changed, or the peer came up
 * @silent: it has not changed for dead_ms
 * @linked: channels between us and the peer may be used
 */
struct rmc_peer {
	u32 state;
	u32 epoch;
	u32 heartbeat;
	u32 beat_ms;
	bool silent;
	bool linked;
};

void rmc_peers_look(struct rmc_node *node);

#endif
