/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * RRPPs, and the wire. A request that leaves the chip comes back as another chip's, at the RRPP of
 * its block's home (T18 section 6.3.2); what that sends is the reply to the request.
 *
 *	mesh	wire -> RRPP -> directory ... -> RRPP -> wire -> RCP
 *	NOC-Out	the network's router is a lane beside the column: -> packets to the RRPP, and back
 */
#include "chip.h"

static struct packet *send(struct chip *c, unsigned int from, unsigned int to, enum class class,
			   enum kind kind, unsigned int flits, unsigned int delay,
			   const struct item *i)
{
	struct packet *p = noc_send(&c->noc, from, to, class, flits, delay);

	p->kind = (uint8_t)kind;
	p->core = i->core;
	p->slot = i->slot;
	p->address = i->address;
	return p;
}

/* The wire has room: RGPs bound what they have in flight */
void rrpp_request(struct chip *c, const struct item *i)
{
	struct item arrives = *i;

	arrives.due = c->noc.now + P_wire;
	fifo_put(&c->rrpp[lane_of(c, i->address)].queue, &arrives);
}

/* The RRPP at this lane asks the directory; 0: no room */
static int ask(struct chip *c, unsigned int lane, const struct item *i)
{
	unsigned int ni = c->noc.topology.ni[lane];
	unsigned int home = c->noc.topology.home[home_of(c, i->address)];

	if (!noc_room(&c->noc, ni, home, CLASS_REQ))
		return 0;
	send(c, ni, home, CLASS_REQ, KIND_READ, P_control_flits, P_rrpp, i);
	return 1;
}

/* One request per cycle: to the RRPP, which is here or across the NOC */
static void serve(struct chip *c, unsigned int lane)
{
	struct rrpp *r = &c->rrpp[lane];
	unsigned int net = c->noc.topology.net[lane], ni = c->noc.topology.ni[lane];
	struct item *i = fifo_front(&r->queue);

	if (!i || i->due > c->noc.now || r->reads >= c->config.memory_queue)
		return;
	if (net == ni) {
		if (!ask(c, lane, i))
			return;
	} else {
		if (!noc_room(&c->noc, net, ni, CLASS_NET))
			return;
		send(c, net, ni, CLASS_NET, KIND_INBOUND, P_request_flits, 0, i);
	}
	r->reads++;
	fifo_drop(&r->queue);
}

/* One reply per cycle comes from the wire to the RCP, which is here or across the NOC */
static void deliver(struct chip *c, unsigned int lane)
{
	struct fifo *f = &c->rrpp[lane].wire;
	struct item *i = fifo_front(f);
	unsigned int net = c->noc.topology.net[lane];
	struct ni *ni;

	if (!i || i->due > c->noc.now)
		return;
	ni = ni_of(c, i->core);
	if (ni->router == net) {
		fifo_put(&ni->replies, i);
	} else {
		if (!noc_room(&c->noc, net, ni->router, CLASS_NET))
			return;
		send(c, net, ni->router, CLASS_NET, KIND_REPLY, P_reply_flits, 0, i);
	}
	fifo_drop(f);
}

/* Requests that have crossed the NOC and that the directory had no room for */
static void ask_again(struct chip *c, unsigned int lane)
{
	struct fifo *f = &c->rrpp[lane].sending;
	struct item *i = fifo_front(f);

	if (i && ask(c, lane, i))
		fifo_drop(f);
}

/* A block goes out: at the other end its RCP is in the lane of the core that asked for it */
static void goes_out(struct chip *c, const struct item *i)
{
	struct fifo *wire = &c->rrpp[lane_of_core(c->config.network, i->core)].wire;
	struct item reply = *i;

	reply.due = c->noc.now + P_wire;
	fifo_put(wire, &reply);
	c->stats.bytes_out += P_block;
}

/* One block per cycle. Its entry of the memory queue is free once it is on its way. */
static void reply(struct chip *c, unsigned int lane)
{
	struct rrpp *r = &c->rrpp[lane];
	unsigned int net = c->noc.topology.net[lane], ni = c->noc.topology.ni[lane];
	const struct item *i = fifo_front(&r->out);

	if (!i)
		return;
	if (ni == net) {
		goes_out(c, i);
	} else {
		if (!noc_room(&c->noc, ni, net, CLASS_RSP))
			return;
		send(c, ni, net, CLASS_RSP, KIND_OUTBOUND, P_reply_flits, 0, i);
	}
	r->reads--;
	fifo_drop(&r->out);
}

void rrpp_step(struct chip *c, unsigned int lane)
{
	reply(c, lane);
	ask_again(c, lane);
	serve(c, lane);
	deliver(c, lane);
}

int rrpp_arrives(struct chip *c, unsigned int router, const struct packet *p)
{
	struct item i = { .due = c->noc.now, .address = p->address, .core = p->core,
			  .slot = p->slot };
	unsigned int lane = lane_of(c, p->address);

	(void)router;
	switch ((enum kind)p->kind) {
	case KIND_REQUEST:
		rrpp_request(c, &i);
		return 1;
	case KIND_INBOUND:	/* there is an entry of the memory queue for it */
		fifo_put(&c->rrpp[lane].sending, &i);
		return 1;
	case KIND_DATA:		/* its entry of the memory queue keeps the block */
		fifo_put(&c->rrpp[lane].out, &i);
		return 1;
	default:
		goes_out(c, &i);
		return 1;
	}
}
