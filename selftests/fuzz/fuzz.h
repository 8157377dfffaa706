/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzz targets share: a small testbed of three nodes with one or two units each,
 * memory whose edges AddressSanitizer checks, the input as a stream of bytes, and events
 * besides packets (chaos.c). A broken invariant traps.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <string.h>
#include "input.h"
#include "kmod/core/pipeline.h"
#include "selftests/harness/testbed.h"

#define NODES	3
#define UNITS	2	/* at most */
#define CTX	3
#define SEG	8192
#define BUF	8192
#define ENTRIES	16

struct fuzz {
	struct testbed w;
	struct app a;
	struct rmc_mem *seg_mem, *buf_mem;
	u8 *seg, *buf;
	bool hostile;		/* nodes 1 and 2 are frozen; the input acts for them */
	bool withdrawn;		/* node 0 has no segment */
	bool replies_optional;	/* peers may have gone */
	bool switched;		/* events may put a switch before node 0 */
};

void fuzz_init(struct fuzz *b, struct input *in, bool hostile);
void fuzz_fini(struct fuzz *b);

/* Another event: time passes, memory changes, faults begin and end. */
void fuzz_chaos(struct fuzz *b, struct input *in);
/*
 * A command for the switch before node 0: it is put there with tuples, serves more or less of them,
 * crashes, recovers, or is taken away.
 */
void fuzz_switch(struct fuzz *b, u32 how);
/* End all of that, and let enough time pass for what is in flight. */
void fuzz_calm(struct fuzz *b);

/* Endpoint of a node's unit, modulo the number of units. */
static inline u32 fuzz_endpoint(struct fuzz *b, u32 nid, u32 unit)
{
	return rmc_endpoint(&b->w.fabric[0], nid) + unit % b->w.opts.units;
}

#endif
