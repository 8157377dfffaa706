/* SPDX-License-Identifier: GPL-2.0 */
/* The operations RMC_OP_PROBE, RMC_OP_PROBE_HOME and the state "tally" of the RRPP, see probe.c. */
#ifndef PROBE_H
#define PROBE_H

#include "kmod/base/wire.h"

struct rmc_serve;

extern u32 probes_served, homes_served;
/* what the next ones do, and their status */
extern u8 (*at_probe)(struct rmc_serve *s);
extern u32 probe_from;		/* endpoint that the last one came from */

/* So long that it does not slow down the RRPP's clock */
#define TALLY_STALL_MS	(~0U)

extern u32 tallies;		/* units that have one */
extern bool tally_no_memory;	/* init() fails */

#endif
