/* SPDX-License-Identifier: GPL-2.0 */
/* Set-up of tests with filters; the virtual clock makes operations time out. */
#ifndef FILTERED_H
#define FILTERED_H

#include "setup.h"

/* All nodes but the first have the segment; filters are active. */
static inline void setup(struct setup *s, const struct testbed_opts *o)
{
	u32 i;

	setup_make(s, o, 64);
	memset(seg, 0, SEG);
	memset(lbuf, 0, SEG);
	for (i = 2; i < o->nodes; i++)
		seg_set(&s->w, i, CTX, s->seg_mem);
	rmc_filters = 1;
}

static inline void teardown(struct setup *s)
{
	rmc_filters = 0;
	setup_free(s);
}

/* Wait for a CQ entry, for up to @ms milliseconds of the virtual clock */
static inline int wait_ms(struct setup *s, u32 ms)
{
	u32 slot, status, i, k;

	for (i = 0; i <= ms; i++) {
		for (k = 0; k < 50; k++) {
			if (app_poll(&s->a, &slot, &status))
				return status;
			testbed_visit(&s->w);
		}
		testbed_tick(&s->w, 1);
	}
	return -1;
}

static inline int run_ms(struct setup *s, u32 op, u64 off, const void *p, u32 len, u32 ms)
{
	app_post(&s->a, op, 1, off, p, len);
	return wait_ms(s, ms);
}

/* All credits are back, and nothing more is in the CQ. */
static inline void check_quiet(struct setup *s)
{
	u32 slot, status, i;

	testbed_settle(&s->w);
	testbed_tick(&s->w, 50);
	testbed_settle(&s->w);
	CHECK(!app_poll(&s->a, &slot, &status));
	CHECK_EQ(testbed_in_flight(&s->w, 0), 0);
	CHECK(testbed_credits_home(&s->w, 0, 1));
	/* otherwise each tick searches the ITT for restarted operations */
	for (i = 0; i < s->w.opts.units; i++)
		CHECK_EQ(s->w.node[0]->unit[i]->itt.restarts, 0);
}

static inline void set_timeout(struct setup *s, u32 ms, u32 retries)
{
	u32 i, sets = s->w.opts.kernels ? s->w.opts.nodes : 1;

	for (i = 0; i < sets; i++) {
		s->w.fabric[i].timeout_ms = ms;
		s->w.fabric[i].retries = retries;
	}
}

static inline void stop_node(struct setup *s, u32 nid, bool stop)
{
	u32 i;

	for (i = 0; i < s->w.opts.units; i++) {
		s->w.node[nid]->unit[i]->req_stopped = stop;
		s->w.node[nid]->unit[i]->srv_stopped = stop;
	}
}

/* Number of free ITT entries, and of those in the quarantine queue. */
static inline u32 itt_free(struct setup *s, u32 *quarantined)
{
	struct rmc_itt *itt = &s->w.node[0]->itt;
	u32 n = 0;
	u16 tid;

	for (*quarantined = 0, tid = itt->quarantined; tid != RMC_TID_NONE; tid = itt->entry[tid].next)
		++*quarantined;
	for (tid = itt->free; tid != RMC_TID_NONE; tid = itt->entry[tid].next)
		n++;
	return n;
}

/* Each organisation, with packets of one line or several */
static const struct testbed_opts filtered_opts[] __attribute__((unused)) = {
	{ .nodes = 2, .ni = "fused", .mtu = 64 },
	{ .nodes = 2, .ni = "pair", .mtu = 512 },
	{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 512 },
	{ .nodes = 2, .ni = "split", .units = 2, .mtu = 64 },
	{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256, .mtu = 64 },
};

#endif
