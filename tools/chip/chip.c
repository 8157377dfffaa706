/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A chip: its parts, and their turns: see chip.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "zipf.h"
#include "chip.h"

/* Longer than any wait of a packet that ends: all blocks of a wire, one after the other */
#define STUCK		50000

/* Entries of a queue that grows */
#define QUEUE		1024

static const char *const designs[] = { "edge", "per-tile", "split" };
static const char *const networks[] = { "mesh", "noc-out" };

const char *design_name(enum design design)
{
	return designs[design];
}

const char *network_name(enum network network)
{
	return networks[network];
}

void config_default(struct config *config)
{
	*config = (struct config){
		.bytes = P_block, .window = P_wq_entries, .cores = CORES, .class_routing = 1,
		.buffer = P_buffer, .memory_queue = P_memory_queue,
		.store_queue = P_store_queue, .in_flight = P_in_flight, .seed = 1,
	};
}

/* ---- queues ---- */

int fifo_init(struct fifo *f, unsigned int size)
{
	f->first = f->count = 0;
	f->size = size;
	f->item = (struct item *)calloc(size, sizeof(*f->item));
	return f->item ? 0 : -ENOMEM;
}

/* Twice as many: what is in flight is bounded by the cores' WQs */
static void grow(struct fifo *f)
{
	struct item *item = (struct item *)calloc(2 * f->size, sizeof(*item));
	uint32_t i;

	if (!item)
		abort();
	for (i = 0; i < f->count; i++)
		item[i] = f->item[(f->first + i) & (f->size - 1)];
	free(f->item);
	f->item = item;
	f->first = 0;
	f->size *= 2;
}

void fifo_put(struct fifo *f, const struct item *i)
{
	if (f->count == f->size)
		grow(f);
	f->item[(f->first + f->count++) & (f->size - 1)] = *i;
}

struct item *fifo_front(struct fifo *f)
{
	return f->count ? &f->item[f->first] : NULL;
}

void fifo_drop(struct fifo *f)
{
	f->first = (f->first + 1) & (f->size - 1);
	f->count--;
}

/* ---- addresses, in blocks ---- */

uint32_t chip_random(struct chip *c, uint32_t below)
{
	return (uint32_t)(random_next(&c->seed) >> 32) % below;
}

unsigned int home_of(const struct chip *c, uint32_t block)
{
	return block % c->noc.topology.homes;
}

/* Blocks are spread over memories, whatever their home. In NOC-Out: the lane of their column. */
unsigned int mc_of(const struct chip *c, uint32_t block)
{
	return c->config.network == NETWORK_mesh ? block * 0x9e3779b1U >> 29 : home_of(c, block);
}

unsigned int lane_of(const struct chip *c, uint32_t block)
{
	return lane_of_home(c->config.network, home_of(c, block));
}

struct ni *ni_of(struct chip *c, unsigned int core)
{
	return &c->ni[c->config.design == DESIGN_per_tile ? core :
		      lane_of_core(c->config.network, core)];
}

/* ---- set-up ---- */

static int queues_init(struct chip *c)
{
	int err = 0;
	unsigned int i;

	for (i = 0; i < CORES; i++) {
		err |= fifo_init(&c->core[i].done, P_wq_entries);
		err |= fifo_init(&c->ni[i].queue, CORES / ROWS * P_wq_entries);
		err |= fifo_init(&c->ni[i].replies, QUEUE);
	}
	for (i = 0; i < ROWS; i++) {
		err |= fifo_init(&c->rrpp[i].queue, QUEUE);
		err |= fifo_init(&c->rrpp[i].sending, QUEUE);
		err |= fifo_init(&c->rrpp[i].out, QUEUE);
		err |= fifo_init(&c->rrpp[i].wire, QUEUE);
	}
	return err ? -ENOMEM : 0;
}

int chip_init(struct chip *c, const struct config *config)
{
	unsigned int i, k;
	int err;

	memset(c, 0, sizeof(*c));
	c->config = *config;
	c->seed = config->seed * 0x9e3779b97f4a7c15ULL + 1;
	for (i = 0; i < 8; i++)
		random_next(&c->seed);
	c->blocks = config->bytes / P_block;
	err = noc_init(&c->noc, config->network, config->buffer);
	if (!err)
		err = queues_init(c);
	if (err) {
		chip_destroy(c);
		return err;
	}
	if (config->class_routing)
		c->noc.order[CLASS_DIR] = c->noc.order[CLASS_DRS] = ORDER_YX;
	if (config->shared_buffers) {
		c->noc.share[CLASS_DIR] = CLASS_REQ;
		c->noc.share[CLASS_DRS] = CLASS_RSP;
	}
	for (i = 0; i < ROWS; i++)	/* memory is no bottleneck */
		noc_limit(&c->noc, c->noc.topology.mc[i], CLASS_RSP, QUEUE_MAX / 2);
	/* both have a copy, as after a lap of the queue */
	for (i = 0; i < CORES; i++)
		for (k = 0; k < LINES; k++)
			c->core[i].line[k] = (struct line){
				.home = c->noc.topology.home[chip_random(c, c->noc.topology.homes)],
				.core = SHARED, .ni = SHARED,
			};
	ni_init(c);
	return 0;
}

void chip_destroy(struct chip *c)
{
	unsigned int i;

	noc_destroy(&c->noc);
	for (i = 0; i < CORES; i++) {
		free(c->core[i].done.item);
		free(c->ni[i].queue.item);
		free(c->ni[i].replies.item);
	}
	for (i = 0; i < ROWS; i++) {
		free(c->rrpp[i].queue.item);
		free(c->rrpp[i].sending.item);
		free(c->rrpp[i].out.item);
		free(c->rrpp[i].wire.item);
	}
}

/* ---- turns ---- */

/* Whose it is; 0: it stays, since something that it needs has no room */
static int arrives(struct chip *c, unsigned int router, const struct packet *p)
{
	switch ((enum kind)p->kind) {
	case KIND_READ:
	case KIND_MEM_READ:
	case KIND_MEM_DATA:
	case KIND_WRITE:
	case KIND_WRITE_BACK:
		return memory_arrives(c, router, p);
	case KIND_DATA:
	case KIND_REQUEST:
	case KIND_INBOUND:
	case KIND_OUTBOUND:
		return rrpp_arrives(c, router, p);
	case KIND_ACK:
	case KIND_REPLY:
	case KIND_WQ_ENTRY:
	case KIND_CQ_ENTRY:
		return ni_arrives(c, router, p);
	default:
		return line_arrives(c, router, p);
	}
}

static void take_arrived(struct chip *c)
{
	struct noc *n = &c->noc;
	unsigned int r, k;

	for (r = 0; n->held && r < n->topology.routers; r++) {
		if (!n->router[r].here)
			continue;
		for (k = 0; k < CLASSES; k++) {
			struct packet *p = noc_arrived(n, r, (enum class)k), copy;

			if (!p)
				continue;
			copy = *p;	/* packets move when there are more */
			if (arrives(c, r, &copy))
				noc_take(n, r, (enum class)k);
		}
	}
}

static void step(struct chip *c)
{
	unsigned int i, first = c->config.first_core;

	noc_step(&c->noc);
	take_arrived(c);
	line_step(c);
	/* an RRPP and an RCP share a port: in turns */
	for (i = 0; i < ROWS; i++)
		if (c->noc.now & 1)
			rrpp_step(c, i);
	for (i = 0; i < c->nis; i++)
		ni_step(c, &c->ni[i]);
	for (i = 0; i < ROWS; i++)
		if (!(c->noc.now & 1))
			rrpp_step(c, i);
	for (i = 0; i < c->config.cores; i++)
		core_step(c, first + i);
}

static void sooner(uint64_t *next, const struct fifo *f)
{
	if (f->count && f->item[f->first].due < *next)
		*next = f->item[f->first].due;
}

/* Nothing happens before this cycle */
static uint64_t next_cycle(const struct chip *c)
{
	uint64_t next = noc_next(&c->noc);
	unsigned int i;

	if (next == c->noc.now + 1 || c->readies || c->config.cores > 1)
		return c->noc.now + 1;
	for (i = 0; i < c->nis; i++) {
		if (c->ni[i].loads || c->ni[i].unrolling)
			return c->noc.now + 1;
		sooner(&next, &c->ni[i].queue);
		sooner(&next, &c->ni[i].replies);
	}
	for (i = 0; i < ROWS; i++) {
		sooner(&next, &c->rrpp[i].queue);
		sooner(&next, &c->rrpp[i].sending);
		sooner(&next, &c->rrpp[i].out);
		sooner(&next, &c->rrpp[i].wire);
	}
	for (i = 0; i < c->config.cores; i++) {
		const struct core *core = &c->core[c->config.first_core + i];

		if (core->stored != core->taken || core->done.count)
			return c->noc.now + 1;
		if (!core->stalled && core->next < next)
			next = core->next;
	}
	return next <= c->noc.now ? c->noc.now + 1 : next;
}

int chip_run(struct chip *c, uint64_t until, uint64_t requests)
{
	while (c->noc.now < until && c->stats.requests < requests) {
		uint64_t next = next_cycle(c);

		if (next > until)
			next = until;
		if (next == UINT64_MAX)
			return -EDEADLK;
		c->noc.now = next - 1;		/* the step makes it next */
		step(c);
		if ((c->noc.inside || c->noc.held) && c->noc.now - c->noc.moved > STUCK)
			return -EDEADLK;
	}
	c->stats.noc = c->noc.stats;
	return 0;
}
