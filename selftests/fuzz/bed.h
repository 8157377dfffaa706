/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzz targets share: a small world of two nodes, memory whose edges
 * AddressSanitizer watches, and the input as a stream of bytes. What breaks a
 * promise traps.
 */
#ifndef FUZZ_BED_H
#define FUZZ_BED_H

#include <string.h>
#include "kmod/core/pipeline.h"
#include "selftests/host/world.h"

#define CTX	3
#define SEG	8192
#define BUF	8192
#define ENTRIES	16

#define MUST(cond) do { if (!(cond)) __builtin_trap(); } while (0)

struct input {
	const u8 *at;
	size_t left;
};

static inline u64 take(struct input *in, u32 bytes)
{
	u64 v = 0;
	u32 n = bytes < in->left ? bytes : (u32)in->left;

	memcpy(&v, in->at, n);
	in->at += n;
	in->left -= n;
	return v;
}

struct bed {
	struct world w;
	struct app a;
	struct rmc_mem *seg_mem, *buf_mem;
	u8 *seg, *buf;
};

/* The first byte of the input chooses what world it is. */
static inline void bed_init(struct bed *b, struct input *in)
{
	static const struct rmc_fault all = {
		.loss = 100000, .dup = 300000, .reorder = 300000, .shuffle = 500000,
		.jitter_ns = 500000, .gap_ns = 500000,
	};
	u32 how = take(in, 1);
	struct world_opts o = {
		.nodes = 2, .kernels = true, .itt = 8, .ring_order = 4,
		.mtu = how & 1 ? 64 : 1024, .pay_order = how & 1 ? 4 : 5,
	};
	u32 flags = how & 2 ? RMC_MEM_READONLY : 0;

	world_now_ns = 1000000000ULL;
	rmc_filters = 0;
	world_init(&b->w, &o);
	/* exactly as long as told: what is beyond belongs to nobody */
	b->seg = aligned_alloc(64, SEG);
	b->buf = aligned_alloc(64, BUF);
	memset(b->seg, 1, SEG);
	memset(b->buf, 2, BUF);
	b->seg_mem = mem_make(b->seg, SEG, how & 4 ? 63 : 12, flags);
	b->buf_mem = mem_make(b->buf, BUF, how & 4 ? 63 : 12, 0);
	app_init(&b->a, &b->w, 0, CTX, ENTRIES);
	rmc_bufs_add(&b->a.bufs, b->buf_mem);
	seg_set(&b->w, 0, CTX, b->seg_mem);
	seg_set(&b->w, 1, CTX, b->seg_mem);
	if (how & 8) {
		rmc_filters = 1;
		fault_set(&b->w, 1, 0, RMC_LANE_REQ, &all, 1);
		fault_set(&b->w, 1, 0, RMC_LANE_REP, &all, 2);
		fault_set(&b->w, 0, 1, RMC_LANE_REQ, &all, 3);
	}
	b->w.fabric[0].timeout_ms = 64;
	b->w.fabric[1].timeout_ms = 64;
	b->w.fabric[0].retries = how >> 4 & 3;
	if (how & 0x80)
		mem_objects(b->seg_mem, 1 + (how & 1) * 2, 0);
}

static inline void bed_fini(struct bed *b)
{
	app_fini(&b->a);
	world_fini(&b->w);
	mem_free(b->seg_mem);
	mem_free(b->buf_mem);
	free(b->seg);
	free(b->buf);
	rmc_filters = 0;
}

/* Let time pass until operations had their chance, and then some. */
static inline void bed_age(struct bed *b)
{
	u32 i, k;

	for (i = 0; i < 60; i++) {
		for (k = 0; k < 4; k++)
			world_visit(&b->w);
		world_tick(&b->w, 10);
	}
}

#endif
