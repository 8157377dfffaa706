/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A core's application: writes WQ entries while there is room, polls the CQ now and then, and spins
 * on it when there is none (T18 section 6.4). In order: a store that misses stalls it.
 */
#include <string.h>
#include "chip.h"

static int edge(const struct chip *c)
{
	return c->config.design == DESIGN_edge;
}

/* Remote and local blocks of a read: anywhere, aligned to its size */
static void begin(struct chip *c, struct core *core)
{
	struct request *r = &core->request[core->written % P_wq_entries];

	r->begun = c->noc.now;
	r->remote = chip_random(c, 1 << 20) * c->blocks;
	r->local = chip_random(c, 1 << 20) * c->blocks;
	r->left = c->blocks;
	r->used = 1;
	core->written++;
	core->storing = 1;
	core->next = c->noc.now + P_wq_write;
}

/* The last store of a WQ entry: 0 if it waits */
static int store(struct chip *c, unsigned int id)
{
	struct core *core = &c->core[id];
	unsigned int line = wq_line_of(core->stored);
	struct item i = { .due = c->noc.now + P_transfer, .core = (uint8_t)id,
			  .slot = (uint8_t)(core->stored % P_wq_entries) };

	if (edge(c) && core->line[line].core != MODIFIED) {
		core->stalled = (uint8_t)line_get(c, id, line, KIND_GETX);
		return 0;
	}
	core->stored++;
	core->storing = 0;
	if (edge(c))
		return 1;
	i.due += c->config.design == DESIGN_split ? P_rgp_front : P_rgp;
	fifo_put(c->config.design == DESIGN_split ? &core->done : &ni_of(c, id)->queue, &i);
	return 1;
}

static int has_completion(const struct chip *c, const struct core *core)
{
	if (core->consumed == core->cq_written)
		return 0;
	if (edge(c))
		return core->consumed < core->cq_seen;
	return core->visible[core->consumed % P_wq_entries] <= c->noc.now;
}

/* One look at the CQ */
static void poll(struct chip *c, unsigned int id)
{
	struct core *core = &c->core[id];
	unsigned int line = cq_line_of(core->consumed);
	struct request *r;

	if (edge(c) && core->line[line].core == INVALID) {
		core->stalled = (uint8_t)line_get(c, id, line, KIND_GETRO);
		return;
	}
	if (!has_completion(c, core)) {
		core->polling = 0;
		core->next = c->noc.now + P_l1;
		return;
	}
	r = &core->request[core->cq[core->consumed % P_wq_entries]];
	core->consumed++;
	core->next = c->noc.now + P_cq_read;
	r->used = 0;
	c->stats.requests++;
	c->stats.cycles_of_requests += core->next - r->begun;
}

void core_step(struct chip *c, unsigned int id)
{
	struct core *core = &c->core[id];

	if (core->stalled || core->next > c->noc.now)
		return;
	if (core->storing) {
		if (store(c, id) && ++core->unpolled == P_poll_every) {
			core->unpolled = 0;
			core->polling = 1;
		}
		return;
	}
	if (core->polling || core->written - core->consumed >= c->config.window ||
	    core->request[core->written % P_wq_entries].used)
		poll(c, id);
	else
		begin(c, core);
}

/* A CQ entry beside the core (per_tile, split) */
void core_completed(struct chip *c, unsigned int id, unsigned int slot, unsigned int delay)
{
	struct core *core = &c->core[id];
	unsigned int at = (unsigned int)(core->cq_written++ % P_wq_entries);

	core->cq[at] = (uint8_t)slot;
	core->visible[at] = c->noc.now + delay + P_transfer;
}
