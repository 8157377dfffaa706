/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Common parts of the tests of <rmc/sync.h>. */
#ifndef SYNC_TEST_H
#define SYNC_TEST_H

#include "fake_memory.h"

#define LEN	256
#define POOL	(SEGMENT / 2)	/* copies of out-of-place rows: the second half */
#define SLOTS	12

#define ALL	(RMC_SYNC_SPEC | RMC_SYNC_COMBINE | RMC_SYNC_ASYNC)
#define UNLATCH	(RMC_SYNC_SPEC | RMC_SYNC_WRITE_UNLATCH)

static inline struct rmc_sync_options options_of(struct fixture *w, const char *row,
						 unsigned int flags)
{
	struct rmc_sync_options o = {
		.scheme = rmc_sync_find(row), .max = MAX, .buffers = 4, .attempts = 3, .nid = 5,
		.flags = flags | RMC_SYNC_TRUST_ORDER, .memory = w->memory,
		.params = { .lease_us = 1000000 }, .pool = POOL, .pool_slots = SLOTS,
	};

	if (!o.scheme)
		abort();
	if (flags & RMC_SYNC_WRITE_UNLATCH && o.scheme->needs == 0 && o.scheme->latch &&
	    strcmp(o.scheme->latch, "excl"))
		o.latch = RMC_LATCH_EXCL;
	return o;
}

static inline struct rmc_sync *sync_of(struct fixture *w, const char *row, unsigned int flags)
{
	struct rmc_sync_options o = options_of(w, row, flags);

	return rmc_sync_open(&w->qp, &o);
}

static inline uint64_t word_at(const struct fixture *w, uint64_t offset)
{
	return __atomic_load_n((const uint64_t *)(const void *)(w->segment + offset),
			       __ATOMIC_ACQUIRE);
}

static inline void set_word(struct fixture *w, uint64_t offset, uint64_t value)
{
	__atomic_store_n((uint64_t *)(void *)(w->segment + offset), value, __ATOMIC_RELEASE);
}

/* Rows that need no RPC */
static inline const struct rmc_scheme *one_sided_row(unsigned int i)
{
	const struct rmc_scheme *s;
	unsigned int n;

	for (n = 0; (s = rmc_sync_number(n)); n++)
		if (!(s->needs & RMC_NEEDS_RPC) && !i--)
			break;
	return s;
}

/* A writer's word of rw: node and client of a name */
#define RW(NID, CLIENT)	((uint64_t)((NID) + 1) << 20 | (uint64_t)(CLIENT) << 31)
#define RW_NAME		(((1ULL << 19) - 1) << 20)

static const unsigned int flag_sets[] = {
	0, RMC_SYNC_SPEC, RMC_SYNC_COMBINE, ALL, UNLATCH, UNLATCH | RMC_SYNC_ASYNC, RMC_SYNC_ASYNC,
};
#define FLAG_SETS	(sizeof(flag_sets) / sizeof(flag_sets[0]))

static inline int is_whole(const struct rmc_hold *h, uint8_t state)
{
	const uint8_t *data = (const uint8_t *)h->data;

	return data && data[0] == state && whole(data, h->len);
}

#endif /* SYNC_TEST_H */
