/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Declarations of the files of rmc-kv. */
#ifndef RMC_TOOLS_KV_H
#define RMC_TOOLS_KV_H

#include <stdint.h>
#include <rmc/rmc.h>

struct kv_run {
	/* options */
	int ctx_id, json, quiet, clients, seconds, theta_percent, seed, fall_back, native;
	int attempts, backoff_ns, lease_us, skew_us, client;
	uint64_t keys, value, operations;
	const char *scheme_name, *mix, *distribution;
	/* all members */
	struct rmc_team *team;
	struct rmc_kv *kv;
	struct rmc_coll *coll;
	const struct rmc_scheme *scheme;
};

/* --- workload.c --- */

/* Values with their state in every word, so that mixed ones are detected */
void value_make(void *value, size_t len, uint64_t state);
int value_torn(const void *value, size_t len);
size_t key_make(char *key, size_t size, uint64_t n);

/* Bytes of the team's segment beside the store */
size_t workload_bytes(int nodes);
int workload(struct kv_run *r);

#endif /* RMC_TOOLS_KV_H */
