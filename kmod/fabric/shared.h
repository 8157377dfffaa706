/* SPDX-License-Identifier: GPL-2.0 */
/* A port whose fabric is a region that several kernels map, each with one node. */
#ifndef RMC_SHARED_H
#define RMC_SHARED_H

#include <linux/interrupt.h>
#include "region.h"
#include "transport.h"

/**
 * struct rmc_shared - the part of such a port that all transports share
 * @port: port
 * @region: memory that the transport mapped
 * @doorbell: address of our doorbell (struct rmc_region_node); 0: none
 * @irq: interrupt of the doorbell; 0: none
 * @kick: wakes the workers; NULL while there are none
 * @kick_data: for @kick
 */
struct rmc_shared {
	struct rmc_port port;
	struct rmc_region region;
	u32 doorbell;
	int irq;
	void (*kick)(void *data);
	void *kick_data;
};

static inline struct rmc_shared *rmc_shared_of(struct rmc_fabric *f)
{
	return container_of(f, struct rmc_shared, port.fabric);
}

void *rmc_shared_channel(struct rmc_fabric *f, u32 requester, u32 server);
void rmc_shared_reset(struct rmc_fabric *f, u32 nid, u32 epoch);

void rmc_shared_init(struct rmc_shared *s, const struct rmc_transport *transport,
		     const struct rmc_fabric_ops *ops, const struct rmc_fabric_config *cfg);
int rmc_shared_claim(struct rmc_shared *s, s32 nid);
void rmc_shared_has_doorbell(struct rmc_shared *s, u32 doorbell);
void rmc_shared_rung(struct rmc_shared *s);

void rmc_shared_start(struct rmc_port *port, void (*kick)(void *data), void *data);
void rmc_shared_stop(struct rmc_port *port);
int rmc_shared_reclaim(struct rmc_port *port);

#endif
