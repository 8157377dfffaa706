/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of ordered queue pairs post and check; node 1 has the segment. */
#ifndef ORDERED_H
#define ORDERED_H

#include "filtered.h"

#define LATCH	0u		/* a word */
#define STAMP	(4096u + 256)	/* the number of the visit, written by the owner */
#define DATA	(8192u + 256)	/* with several RRPPs it begins at another one than LATCH */
#define FLAG	128u

static u32 visits __attribute__((unused)), version;

static inline u64 *word_at(u32 offset)
{
	return (u64 *)(seg + offset);
}

static inline u8 *data_at(u32 offset)
{
	return lbuf + offset;
}

static inline void post_faa(struct app *a)
{
	*(u64 *)data_at(LATCH) = 1;
	app_post(a, RMC_OP_FAA, 1, LATCH, data_at(LATCH), 8);
}

static inline void post_write(struct app *a, u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes / 8; i++)
		((u64 *)data_at(DATA))[i] = version;
	app_post(a, RMC_OP_WRITE, 1, DATA, data_at(DATA), bytes);
}

static inline void post_stamp(struct app *a)
{
	app_post(a, RMC_OP_READ, 1, STAMP, data_at(STAMP), 8);
}

static inline void one_visit(struct setup *s)
{
	*word_at(STAMP) = ++visits;
	testbed_visit(&s->w);
	testbed_now_ns += 100;
}

/* Nothing of an ordered queue pair is in flight, as the unit counts. */
static inline void check_no_order(struct setup *s)
{
	u32 i, j, g;

	for (i = 0; i < s->w.opts.units; i++)
		for (j = 0; j < s->w.fabric->endpoints; j++) {
			const struct rmc_out *out = s->w.node[0]->unit[i]->out[j];

			for (g = 0; out && g < RMC_REQ_GROUPS; g++)
				CHECK_EQ(out->ordered[g], 0);
		}
}

static inline void check_all_answered(const struct app *a)
{
	const struct rmc_qpair *qp = app_unit_qp(a);
	u32 i;

	for (i = 0; qp->to && i < qp->node->fabric->nodes; i++) {
		CHECK_EQ(qp->to[i].writes, 0);
		CHECK_EQ(qp->to[i].atomics, 0);
	}
}

static inline void ordered_init(struct app *a, struct setup *s)
{
	app_init_ordered(a, &s->w, 0, CTX, 64);
	rmc_bufs_add(&a->bufs, s->buf_mem);
}

static inline void post_resume(struct app *a)
{
	app_post(a, RMC_OP_RESUME, 0, 0, NULL, 0);
}

static const struct testbed_opts ordered_opts[] = {
	{ .nodes = 2, .ni = "fused", .units = 1, .mtu = 64 },
	{ .nodes = 2, .ni = "fused", .units = 1, .mtu = 4096 },
	{ .nodes = 2, .ni = "pair", .units = 1, .mtu = 512 },
	{ .nodes = 2, .ni = "edge", .units = 2, .interleave = 256, .mtu = 512 },
	{ .nodes = 2, .ni = "split", .units = 2, .mtu = 64 },
	{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256, .mtu = 64 },
};

#endif
