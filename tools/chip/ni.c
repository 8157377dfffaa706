/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * RGP and RCP: at the edge for the cores of a row, or at a tile for its own. With split their
 * frontends are at the tile, and entries are packets between the two.
 */
#include <string.h>
#include "chip.h"

static void send(struct chip *c, unsigned int from, unsigned int to, enum class class,
		 enum kind kind, unsigned int flits, unsigned int delay, const struct item *i)
{
	struct packet *p = noc_send(&c->noc, from, to, class, flits, delay);

	p->kind = (uint8_t)kind;
	p->core = i->core;
	p->slot = i->slot;
	p->address = i->address;
}

void ni_init(struct chip *c)
{
	unsigned int i, per = c->config.design == DESIGN_per_tile ? 1 : ROWS;

	c->nis = CORES / per;
	for (i = 0; i < c->nis; i++) {
		c->ni[i].first = (uint8_t)(i * per);
		c->ni[i].cores = (uint8_t)per;
		c->ni[i].router = per == 1 ? c->noc.topology.core[i] : c->noc.topology.ni[i];
	}
	for (i = 0; i < CORES; i++)
		c->core[i].credits = P_load_queue;
}

/* ---- RGP ---- */

/* An edge NI looks at one WQ per cycle, in its own cache if it has the block. */
static void poll_wq(struct chip *c, struct ni *ni)
{
	unsigned int id = ni->first + ni->poll;
	struct core *core = &c->core[id];
	unsigned int line = wq_line_of(core->taken);
	struct item i = { .due = c->noc.now + P_rgp, .core = (uint8_t)id,
			  .slot = (uint8_t)(core->taken % P_wq_entries) };

	ni->poll = (uint8_t)((ni->poll + 1) % ni->cores);
	if (core->loading || ni->queue.count >= P_load_queue)
		return;
	if (core->line[line].ni == INVALID) {
		if (ni->loads < P_load_queue && line_get(c, id, line, KIND_GETRO)) {
			core->loading = 1;
			ni->loads++;
		}
	} else if (core->taken < core->seen) {
		core->taken++;
		fifo_put(&ni->queue, &i);
	}
}

/* A frontend sends its entries to the backend */
static void send_wq_entry(struct chip *c, struct ni *ni, unsigned int id)
{
	struct core *core = &c->core[id];
	const struct item *i = fifo_front(&core->done);
	unsigned int tile = c->noc.topology.core[id];

	if (!i || i->due > c->noc.now || !core->credits ||
	    !noc_room(&c->noc, tile, ni->router, CLASS_NET))
		return;
	send(c, tile, ni->router, CLASS_NET, KIND_WQ_ENTRY, P_wq_entry_flits, 0, i);
	core->credits--;
	core->taken++;
	fifo_drop(&core->done);
}

/* A block's request leaves the chip, or goes to the network's router first. 0: no room */
static int send_request(struct chip *c, struct ni *ni, const struct item *i)
{
	unsigned int net = c->noc.topology.net[lane_of_core(c->config.network, i->core)];

	if (net == ni->router) {
		rrpp_request(c, i);
		return 1;
	}
	if (!noc_room(&c->noc, ni->router, net, CLASS_NET))
		return 0;
	send(c, ni->router, net, CLASS_NET, KIND_REQUEST, P_request_flits, 0, i);
	return 1;
}

/* One block per cycle (T18 section 3.6.2) */
static void unroll(struct chip *c, struct ni *ni)
{
	struct item *i = fifo_front(&ni->queue);
	struct item block;

	if (!i || i->due > c->noc.now || ni->blocks >= c->config.in_flight)
		return;
	if (!ni->unrolling) {
		if (ni->requests == P_itt)
			return;
		ni->requests++;
		ni->unrolling = c->blocks;
		if (c->config.design == DESIGN_split)
			c->core[i->core].credits++;
	}
	block = *i;
	block.address = c->core[i->core].request[i->slot].remote + c->blocks - ni->unrolling;
	if (!send_request(c, ni, &block))
		return;
	ni->blocks++;
	if (!--ni->unrolling)
		fifo_drop(&ni->queue);
}

/* ---- RCP ---- */

/* All blocks of a request have come: a CQ entry */
static void complete(struct chip *c, struct ni *ni, const struct item *i)
{
	struct item done = *i;

	ni->requests--;
	switch (c->config.design) {
	case DESIGN_per_tile:
		core_completed(c, i->core, i->slot, P_rcp);
		break;
	case DESIGN_split:
		send(c, ni->router, c->noc.topology.core[i->core], CLASS_NET, KIND_CQ_ENTRY,
		     P_control_flits, P_rcp_back, &done);
		break;
	default:
		done.due = c->noc.now + P_rcp;
		fifo_put(&c->core[i->core].done, &done);
	}
}

/* One reply per cycle: its block goes to local memory */
static void store(struct chip *c, struct ni *ni)
{
	struct item *i = fifo_front(&ni->replies);
	struct request *r;
	struct item block;
	unsigned int home;

	if (!i || i->due > c->noc.now || ni->stores >= c->config.store_queue)
		return;
	r = &c->core[i->core].request[i->slot];
	block = *i;
	block.address = r->local + (i->address - r->remote);
	home = c->noc.topology.home[home_of(c, block.address)];
	if (!noc_room(&c->noc, ni->router, home, CLASS_REQ) ||
	    (c->config.design == DESIGN_split &&
	     !noc_room(&c->noc, ni->router, c->noc.topology.core[i->core], CLASS_NET)))
		return;
	send(c, ni->router, home, CLASS_REQ, KIND_WRITE, P_data_flits,
	     c->config.design == DESIGN_split ? P_rcp_back : P_rcp, &block);
	ni->stores++;
	ni->blocks--;
	if (!--r->left)
		complete(c, ni, i);
	fifo_drop(&ni->replies);
}

/* Writes the CQ entries of one core per cycle, as many as fit a write, once it has the block */
static void write_cq(struct chip *c, struct ni *ni)
{
	unsigned int id = ni->first + ni->complete, k;
	struct core *core = &c->core[id];
	unsigned int line = cq_line_of(core->cq_written);

	ni->complete = (uint8_t)((ni->complete + 1) % ni->cores);
	for (k = 0; k < P_cq_flush; k++) {
		const struct item *i = fifo_front(&core->done);

		if (!i || i->due > c->noc.now || core->owning)
			return;
		if (cq_line_of(core->cq_written) != line)
			return;
		if (core->line[line].ni != MODIFIED) {
			core->owning = (uint8_t)line_get(c, id, line, KIND_GETX);
			return;
		}
		core->cq[core->cq_written++ % P_wq_entries] = i->slot;
		fifo_drop(&core->done);
	}
}

void ni_step(struct chip *c, struct ni *ni)
{
	unsigned int k;

	unroll(c, ni);
	store(c, ni);
	if (c->config.design == DESIGN_edge) {
		poll_wq(c, ni);
		write_cq(c, ni);
	} else if (c->config.design == DESIGN_split) {
		for (k = 0; k < ni->cores; k++)
			send_wq_entry(c, ni, ni->first + k);
	}
}

int ni_arrives(struct chip *c, unsigned int router, const struct packet *p)
{
	struct ni *ni = ni_of(c, p->core);
	struct item i = { .due = c->noc.now, .address = p->address, .core = p->core,
			  .slot = p->slot };

	(void)router;
	switch ((enum kind)p->kind) {
	case KIND_ACK:
		ni->stores--;
		return 1;
	case KIND_WQ_ENTRY:	/* the frontend has a credit for it */
		i.due += P_rgp_back;
		fifo_put(&ni->queue, &i);
		return 1;
	case KIND_CQ_ENTRY:
		core_completed(c, p->core, p->slot, P_rcp_front);
		return 1;
	default:		/* a reply: it waits in the network while the RCP is full */
		if (ni->replies.count >= 1)
			return 0;
		fifo_put(&ni->replies, &i);
		return 1;
	}
}
