/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CQ compaction (T18 3.6.3), for compaction.c alone: the core is built with this header in front, so
 * its rmc_cq_post() may keep completions and write several at once.
 */
#ifndef BENCH_COMPACT_H
#define BENCH_COMPACT_H

#define rmc_cq_post	rmc_cq_post_now
#include "kmod/core/cq.h"
#undef rmc_cq_post

/* As many as the papers' buffer has, and as a line of the CQ */
#define COMPACT_MOST	16

enum compact_mode {
	COMPACT_NEVER,		/* each completion by itself, as kmod/core/cq.h */
	COMPACT_VISIT,		/* at 16, and at the end of the worker's visit */
	COMPACT_FULL,		/* at 16, and when the worker has nothing else to do */
	COMPACT_MODES
};

extern enum compact_mode compact_mode;

void compact_keep(struct rmc_qpair *qp, u16 slot, u8 status);

static inline void rmc_cq_post(struct rmc_qpair *qp, u16 slot, u8 status)
{
	if (compact_mode == COMPACT_NEVER)
		rmc_cq_post_now(qp, slot, status);
	else
		compact_keep(qp, slot, status);
}

#endif
