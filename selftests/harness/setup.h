/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Set-up of most unit tests: an application on node 0, a segment on node 1. setup() of the
 * program changes it if needed.
 */
#ifndef SETUP_H
#define SETUP_H

#include "matrix.h"

#define CTX	3
#define SEG	(64 * 1024)
#define PAGE	4096
/* Bytes of an operation that takes packets with the MTUs of all testbeds, see local.h */
#define LONG	(20 * 1024)

struct setup {
	struct testbed w;
	struct app a;
	struct rmc_mem *seg_mem, *buf_mem;
};

/* The segment, full of SEG_FILL, and the local buffer, both with a page before and behind */
#define SEG_FILL	0xa5
#define BUF_FILL	0x5a
static u8 *seg, *lbuf;

static inline void fill(u8 *p, size_t n, u32 seed)
{
	while (n--) {
		seed = seed * 1664525 + 1013904223;
		*p++ = seed >> 24;
	}
}

static inline u8 *setup_memory(int byte)
{
	u8 *p = aligned_alloc(PAGE, SEG + 2 * PAGE);

	memset(p, byte, SEG + 2 * PAGE);
	return p + PAGE;
}

/* The pages before and behind have not changed. */
static inline bool setup_guards_intact(void)
{
	int i;

	for (i = 0; i < PAGE; i++)
		if (seg[-1 - i] != SEG_FILL || seg[SEG + i] != SEG_FILL ||
		    lbuf[-1 - i] != BUF_FILL || lbuf[SEG + i] != BUF_FILL)
			return false;
	return true;
}

/* @entries: of the queue pair */
static inline void setup_make(struct setup *s, const struct testbed_opts *o, u32 entries)
{
	seg = setup_memory(SEG_FILL);
	lbuf = setup_memory(BUF_FILL);
	testbed_init(&s->w, o);
	app_init(&s->a, &s->w, 0, CTX, entries);
	s->seg_mem = mem_make(seg, SEG, 12, 0);
	s->buf_mem = mem_make(lbuf, SEG, 12, 0);
	rmc_bufs_add(&s->a.bufs, s->buf_mem);
	if (o->nodes > 1)
		seg_set(&s->w, 1, CTX, s->seg_mem);
}

/* Each node has a kernel of its own, and channels between the first two are open. */
static inline void setup_kernels(struct setup *s, const struct testbed_opts *o, u32 entries)
{
	struct testbed_opts k = *o;

	k.kernels = true;
	setup_make(s, &k, entries);
	CHECK_EQ(app_run(&s->a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
}

static inline void setup_free(struct setup *s)
{
	app_fini(&s->a);
	testbed_fini(&s->w);
	mem_free(s->seg_mem);
	mem_free(s->buf_mem);
	free(seg - PAGE);
	free(lbuf - PAGE);
}

#endif
