// SPDX-License-Identifier: GPL-2.0
/*
 * An operation of tests alone, whose opcode only packets have: the table of such operations is
 * empty otherwise, and could not be tested. It counts how often it is served.
 */
#include "kmod/core/op.h"
#include "probe.h"

u32 probes_served;

#ifdef RMC_TEST_HOOKS
void rmc_probe_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
}

u8 rmc_probe_serve(struct rmc_serve *s)
{
	probes_served++;
	return RMC_S_OK;
}

void rmc_probe_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}
#endif
