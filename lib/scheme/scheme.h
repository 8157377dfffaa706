/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Private declarations of this directory. */
#ifndef RMC_LIB_SCHEME_H
#define RMC_LIB_SCHEME_H

#include <time.h>
#include <rmc/scheme.h>
#include <rmc/barrier.h>
#include "copy.h"

/* --- lock and lease words --- */

/*
 * lock:	63            16 15        0
 *		+---------------+-----------+
 *		| token         | nid + 1   |	0: free; ~0: a writer of the owner
 *		+---------------+-----------+
 * lease:	end of the readers' lease, nanoseconds of CLOCK_REALTIME; bit 63: a writer
 *		of the owner holds it
 */
#define LOCK_NID_BITS	16
#define LOCK_NID_MASK	0xffffULL
#define LOCK_OWNER	(~0ULL)
#define LEASE_OWNER	(1ULL << 63)

#define DEFAULT_LEASE_US	1000
#define DEFAULT_SKEW_US		100
#define DEFAULT_WAIT_US		10000

/* Header of all layouts but farm's. sum: CRC64, lock or lease */
struct object_word {
	struct rmc_object object;
	uint64_t word;
	uint64_t pad;
};

_Static_assert(sizeof(struct rmc_object) == 16, "header of clean layouts");
_Static_assert(offsetof(struct object_word, word) == 16, "atomics reach it there");
_Static_assert(sizeof(struct object_word) == 32, "data stays aligned");

#define WORD_AT		offsetof(struct object_word, word)

static inline uint64_t lock_word(int nid, uint64_t token)
{
	return token << LOCK_NID_BITS | ((uint64_t)(nid + 1) & LOCK_NID_MASK);
}

static inline uint64_t realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline struct rmc_scheme_params scheme_params(const struct rmc_scheme_params *p)
{
	struct rmc_scheme_params d = { DEFAULT_LEASE_US, DEFAULT_SKEW_US, DEFAULT_WAIT_US };

	if (p && p->lease_us)
		d.lease_us = p->lease_us;
	if (p && p->skew_us)
		d.skew_us = p->skew_us;
	if (p && p->wait_us)
		d.wait_us = p->wait_us;
	return d;
}

/* farm.c */
size_t rmc_farm_image(size_t len);
void rmc_farm_store(struct rmc_object *o, const void *data, size_t len);
int rmc_farm_check(const void *image, void *clean, size_t len);
int rmc_farm_copy(const struct rmc_object *o, void *data, size_t len);

/* crc64.c */
size_t rmc_word_image(size_t len);
void rmc_crc_store(struct rmc_object *o, const void *data, size_t len);
uint64_t rmc_crc_sum(const void *data, size_t len);
uint64_t rmc_crc_sum_by_tables(const void *data, size_t len);
int rmc_crc_check(const void *image, void *clean, size_t len);

/* lock.c */
void rmc_word_store(struct rmc_object *o, const void *data, size_t len);
int rmc_lock_acquire(struct rmc_object *o, const struct rmc_scheme_params *p);
int rmc_lease_acquire(struct rmc_object *o, const struct rmc_scheme_params *p);
void rmc_word_release(struct rmc_object *o);

#endif /* RMC_LIB_SCHEME_H */
