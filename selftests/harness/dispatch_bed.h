/* SPDX-License-Identifier: GPL-2.0 */
/* A dispatcher and messages, for tests that call it step by step */
#ifndef DISPATCH_BED_H
#define DISPATCH_BED_H

#include <stdio.h>
#include "../tap.h"
#include "kmod/core/dispatch.h"

#define MESSAGES	512
#define US		1000ULL

struct bed {
	struct rmc_dispatch_params p;
	struct rmc_dispatch *d;
	void *mem;
	u64 now;
	struct rmc_dispatch_msg m[MESSAGES];
};

static struct bed b;

static inline void attach_all(void)
{
	u32 groups = b.p.groups, i;

	for (i = 0; i < b.p.cores; i++)
		CHECK_EQ(rmc_dispatch_attach(b.d, i * groups / b.p.cores, (1U << groups) - 1), i);
}

/* A dispatcher with all cores attached; groups get as many cores each, in order. */
static inline void begin(u32 policy, u32 cores, u32 depth, u32 groups)
{
	free(b.mem);
	memset(&b, 0, sizeof(b));
	b.p = (struct rmc_dispatch_params){ .policy = policy, .cores = cores, .depth = depth,
		.groups = groups, .classes = groups, .seed = 7 };
	CHECK_EQ(rmc_dispatch_check(&b.p), 0);
	b.mem = malloc(rmc_dispatch_bytes(&b.p));
	/* what was in the memory does not matter */
	memset(b.mem, 0xa5, rmc_dispatch_bytes(&b.p));
	b.d = rmc_dispatch_init(b.mem, &b.p);
	attach_all();
}

/* The same with other times */
static inline void begin_with(u32 policy, u32 cores, u32 depth, u32 groups, u64 wake_ns, u64 age_ns)
{
	begin(policy, cores, depth, groups);
	b.p.wake_ns = wake_ns;
	b.p.age_ns = age_ns;
	CHECK_EQ(rmc_dispatch_check(&b.p), 0);
	b.d = rmc_dispatch_init(b.mem, &b.p);
	attach_all();
}

static inline void arrive(u32 i, u32 key)
{
	b.m[i].key = key;
	CHECK(rmc_dispatch_arrive(b.d, &b.m[i], b.now));
}

/* The next message and its core; -1: none */
static inline int give(u32 *i)
{
	struct rmc_dispatch_msg *m = NULL;
	int core = rmc_dispatch_next(b.d, b.now, &m);

	if (core == -EAGAIN)
		return -1;
	CHECK(core >= 0 && m);
	*i = m - b.m;
	return core;
}

#define GIVES(want_core, want_i)	do {					\
	u32 given_ = MESSAGES;							\
										\
	CHECK_EQ(give(&given_), want_core);					\
	CHECK_EQ(given_, want_i);						\
} while (0)

#define NOTHING()		GIVES(-1, MESSAGES)

static inline bool done(u32 core, u32 i)
{
	return rmc_dispatch_done(b.d, core, &b.m[i]);
}

#endif
