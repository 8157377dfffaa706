// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of tests alone, whose opcodes only packets have: the table of such operations is
 * empty otherwise, and could not be tested. They count how often they are served. The same for
 * state of the RRPP.
 */
#include "kmod/core/node.h"
#include "probe.h"

u32 probes_served, probe_from;
u8 (*at_probe)(struct rmc_serve *s);

#ifdef RMC_TEST_HOOKS
void rmc_probe_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
}

u8 rmc_probe_serve(struct rmc_serve *s)
{
	probes_served++;
	probe_from = s->from;
	return at_probe ? at_probe(s) : RMC_S_OK;
}

void rmc_probe_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}

/* An operation of one home that is not announced; its payload is ignored */
u32 homes_served;

void rmc_probe_home_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	rmc_write_load(e, tx, offset, length);
}

u8 rmc_probe_home_serve(struct rmc_serve *s)
{
	homes_served++;
	return RMC_S_OK;
}

void rmc_probe_home_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}

/* State of tests alone: it counts the calls of its functions. */
u32 tallies;
bool tally_no_memory;

int rmc_tally_init(struct rmc_node *node)
{
	if (tally_no_memory)
		return -ENOMEM;
	node->tally.stall_ms = TALLY_STALL_MS;
	tallies++;
	return 0;
}

void rmc_tally_destroy(struct rmc_node *node)
{
	/* also without an init() */
	tallies -= !!node->tally.stall_ms;
}

u32 rmc_tally_poll(struct rmc_node *node)
{
	node->tally.polls++;
	return 0;
}

void rmc_tally_tick(struct rmc_node *node)
{
	node->tally.ticks++;
}

void rmc_tally_withdraw(struct rmc_node *node, const struct rmc_mem *seg)
{
	node->tally.withdrawn = seg;
}

void rmc_tally_close(struct rmc_node *node, struct rmc_in *in)
{
	node->tally.closed = in;
}
#endif
