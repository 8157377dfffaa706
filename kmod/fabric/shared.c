// SPDX-License-Identifier: GPL-2.0
/* Code common to transports whose kernels map one region. */
#include "shared.h"

/**
 * rmc_shared_channel() - memory of a channel
 * @f: fabric of a shared port
 * @requester: endpoint
 * @server: endpoint
 *
 * Return: memory. Context: any.
 */
void *rmc_shared_channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	return rmc_region_channel(&rmc_shared_of(f)->region, f, requester, server);
}

/**
 * rmc_shared_reset() - zero all channels from and to a node; none is in use
 * @f: fabric of a shared port
 * @nid: node
 * @epoch: of its claim
 *
 * Context: does not sleep.
 */
void rmc_shared_reset(struct rmc_fabric *f, u32 nid, u32 epoch)
{
	rmc_region_reset(&rmc_shared_of(f)->region, f, nid, epoch);
}

/**
 * rmc_shared_init() - begin to open a port
 * @s: zeroed
 * @transport: transport of the port
 * @ops: its operations
 * @cfg: configuration
 */
void rmc_shared_init(struct rmc_shared *s, const struct rmc_transport *transport,
		     const struct rmc_fabric_ops *ops, const struct rmc_fabric_config *cfg)
{
	s->port.fabric.ops = ops;
	s->port.fabric.timeout_ms = cfg->timeout_ms;
	s->port.fabric.dead_ms = cfg->dead_ms;
	s->port.transport = transport;
	s->port.locals = 1;
	s->port.poll_us_max = cfg->poll_us_max;
}

/**
 * rmc_shared_claim() - claim the id of this kernel's node
 * @s: port; the region is attached
 * @nid: wanted node id, or negative: any
 *
 * Return: 0, or a negative errno after logging the reason; the port is then unchanged.
 * Context: may sleep.
 */
int rmc_shared_claim(struct rmc_shared *s, s32 nid)
{
	struct rmc_fabric *f = &s->port.fabric;
	u32 claimed;
	int err;

	err = rmc_region_claim(f, nid, &claimed, &s->port.epoch);
	if (err)
		return err;
	s->port.first = claimed;
	WRITE_ONCE(f->node[claimed].doorbell, s->doorbell);
	return 0;
}

/**
 * rmc_shared_has_doorbell() - publish our doorbell: peers can interrupt us
 * @s: port; its node's id is claimed, @s->irq is set
 * @doorbell: address for struct rmc_region_node, not 0
 */
void rmc_shared_has_doorbell(struct rmc_shared *s, u32 doorbell)
{
	s->doorbell = doorbell;
	rmc_port_has_doorbell(&s->port);
	WRITE_ONCE(s->port.fabric.node[s->port.first].doorbell, doorbell);
}

/**
 * rmc_shared_rung() - handle the interrupt of our doorbell
 * @s: port
 *
 * Context: interrupt.
 */
void rmc_shared_rung(struct rmc_shared *s)
{
	/* pairs with the release in rmc_shared_start() */
	void (*kick)(void *data) = smp_load_acquire(&s->kick);

	if (kick)
		kick(s->kick_data);
}

/**
 * rmc_shared_start() - see struct rmc_transport
 * @port: port
 * @kick: to call when a peer rings our doorbell
 * @data: for @kick
 */
void rmc_shared_start(struct rmc_port *port, void (*kick)(void *data), void *data)
{
	struct rmc_shared *s = container_of(port, struct rmc_shared, port);

	s->kick_data = data;
	/* pairs with the acquire in rmc_shared_rung() */
	smp_store_release(&s->kick, kick);
}

/**
 * rmc_shared_stop() - mirror of rmc_shared_start()
 * @port: port
 *
 * Context: may sleep.
 */
void rmc_shared_stop(struct rmc_port *port)
{
	struct rmc_shared *s = container_of(port, struct rmc_shared, port);

	WRITE_ONCE(s->kick, NULL);
	if (s->irq)
		synchronize_irq(s->irq);
}

/**
 * rmc_shared_reclaim() - see struct rmc_transport
 * @port: port
 *
 * Return: 0, or a negative errno after logging the reason. Context: may sleep.
 */
int rmc_shared_reclaim(struct rmc_port *port)
{
	return rmc_shared_claim(container_of(port, struct rmc_shared, port), port->first);
}
