/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Declarations of the files of rmc-kv. */
#ifndef RMC_TOOLS_KV_H
#define RMC_TOOLS_KV_H

#include <stdint.h>
#include <rmc/rmc.h>

struct kv_run {
	/* options */
	int ctx_id, json, quiet, clients, seconds, theta_percent, seed, fall_back;
	int attempts, backoff_ns, lease_us, skew_us, client;
	uint64_t keys, value, operations;
	const char *scheme_name, *mix, *distribution;
	/* all members */
	struct rmc_team *team;
	struct rmc_kv *kv;
	struct rmc_coll *coll;
	const struct rmc_scheme *scheme;
};

/* --- zipf.c: YCSB's generators --- */

struct zipf {
	uint64_t items;
	double theta, alpha, zetan, eta;
};

void zipf_init(struct zipf *z, uint64_t items, double theta);
uint64_t zipf_next(const struct zipf *z, uint64_t *seed);		/* 0: the most popular */
uint64_t zipf_scrambled(const struct zipf *z, uint64_t *seed);	/* popular items spread */

static inline uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static inline double random_unit(uint64_t *seed)
{
	return (double)(random_next(seed) >> 11) / (double)(1ULL << 53);
}

/* --- hist.c: latencies, 3% wide buckets that add up over members --- */

#define HIST_BITS	5
#define HIST_BUCKETS	((64 - HIST_BITS + 1) << HIST_BITS)

struct hist {
	uint64_t count[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t ns);
uint64_t hist_total(const struct hist *h);
/* Percentile p (0 .. 1), nanoseconds; 0 when empty */
uint64_t hist_percentile(const struct hist *h, double p);

/* --- workload.c --- */

/* Values with their state in every word, so that mixed ones are detected */
void value_make(void *value, size_t len, uint64_t state);
int value_torn(const void *value, size_t len);
size_t key_make(char *key, size_t size, uint64_t n);

/* Bytes of the team's segment beside the store */
size_t workload_bytes(int nodes);
int workload(struct kv_run *r);

#endif /* RMC_TOOLS_KV_H */
