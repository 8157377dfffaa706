/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Directory and LLC bank of a tile, and memory. All blocks that are read miss, and all that are
 * written push out a dirty one: the buffers exceed the LLC (T18 section 6.4).
 */
#include "chip.h"

/* Cycles that a bank is busy with a block, by flits */
#define BLOCK_CYCLES	(P_block / P_link)

static struct packet *send(struct chip *c, unsigned int from, unsigned int to, enum class class,
			   enum kind kind, unsigned int flits, unsigned int delay,
			   const struct packet *because)
{
	struct packet *p = noc_send(&c->noc, from, to, class, flits, delay);

	p->kind = (uint8_t)kind;
	p->core = because->core;
	p->slot = because->slot;
	p->address = because->address;
	return p;
}

static int bank_is_free(struct chip *c, uint32_t block, unsigned int cycles)
{
	uint64_t *bank = &c->bank[home_of(c, block)];

	if (*bank > c->noc.now)
		return 0;
	*bank = c->noc.now + cycles;
	return 1;
}

static int read_arrives(struct chip *c, unsigned int router, const struct packet *p)
{
	unsigned int mc = c->noc.topology.mc[mc_of(c, p->address)];

	if (!noc_room(&c->noc, router, mc, CLASS_DIR) || !bank_is_free(c, p->address, 1))
		return 0;
	send(c, router, mc, CLASS_DIR, KIND_MEM_READ, P_control_flits, P_llc, p);
	return 1;
}

static int data_arrives(struct chip *c, unsigned int router, const struct packet *p)
{
	unsigned int ni = c->noc.topology.ni[lane_of(c, p->address)];

	if (!noc_room(&c->noc, router, ni, CLASS_DRS) || !bank_is_free(c, p->address, BLOCK_CYCLES))
		return 0;
	send(c, router, ni, CLASS_DRS, KIND_DATA, P_data_flits, 0, p);
	return 1;
}

/* A victim is another block of this bank, so it goes to any memory */
static int write_arrives(struct chip *c, unsigned int router, const struct packet *p)
{
	unsigned int mc = c->noc.topology.mc[c->config.network == NETWORK_mesh ?
					     chip_random(c, ROWS) : mc_of(c, p->address)];

	if (!noc_room(&c->noc, router, mc, CLASS_DIR) ||
	    !noc_room(&c->noc, router, p->from, CLASS_DRS) ||
	    !bank_is_free(c, p->address, 2 * BLOCK_CYCLES))
		return 0;
	send(c, router, mc, CLASS_DIR, KIND_WRITE_BACK, P_data_flits, P_llc, p);
	send(c, router, p->from, CLASS_DRS, KIND_ACK, P_control_flits, P_llc, p);
	c->stats.bytes_in += P_block;
	return 1;
}

static int memory_read_arrives(struct chip *c, unsigned int router, const struct packet *p)
{
	unsigned int home = c->noc.topology.home[home_of(c, p->address)];

	if (!noc_room(&c->noc, router, home, CLASS_RSP))
		return 0;
	send(c, router, home, CLASS_RSP, KIND_MEM_DATA, P_data_flits, P_memory, p);
	return 1;
}

int memory_arrives(struct chip *c, unsigned int router, const struct packet *p)
{
	switch ((enum kind)p->kind) {
	case KIND_READ:
		return read_arrives(c, router, p);
	case KIND_MEM_READ:
		return memory_read_arrives(c, router, p);
	case KIND_MEM_DATA:
		return data_arrives(c, router, p);
	case KIND_WRITE:
		return write_arrives(c, router, p);
	default:
		return 1;		/* a victim is written */
	}
}
