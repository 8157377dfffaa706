/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The systems that R25 compares (figures 10 and 16): a row of the table, a latch, options and
 * padding. OPT-DB has the last level of R25's figure 8, which contains those before it.
 */
#include "state.h"

#define BEST_RW		(RMC_SYNC_SPEC | RMC_SYNC_COMBINE | RMC_SYNC_ASYNC)
#define BEST_EXCL	(RMC_SYNC_SPEC | RMC_SYNC_WRITE_UNLATCH | RMC_SYNC_ASYNC)

static const struct rmc_sync_system systems[] = {
	{
		.name = "nam-db", .title = "a latch of readers and writers, one step after another",
		.papers = "R25 3.5", .scheme = "rw", .latch = RMC_LATCH_RW,
	}, {
		.name = "nam-db++", .title = "nam-db with all its optimizations, padded",
		.papers = "R25 3.5", .scheme = "rw", .latch = RMC_LATCH_RW, .flags = BEST_RW,
		.pad = 1,
	}, {
		.name = "opt-db-farm", .title = "optimistic reads, a version in each line",
		.papers = "R25 4.6", .scheme = "farm", .latch = RMC_LATCH_EXCL, .flags = BEST_EXCL,
	}, {
		.name = "opt-db-crc64", .title = "optimistic reads, a checksum",
		.papers = "R25 4.6", .scheme = "crc64", .latch = RMC_LATCH_EXCL, .flags = BEST_EXCL,
	}, {
		.name = "opt-db-versioning", .title = "optimistic reads, the version before the data",
		.papers = "R25 4.6", .scheme = "versioning", .latch = RMC_LATCH_EXCL,
		.flags = BEST_EXCL,
	},
};

#define SYSTEMS		(sizeof(systems) / sizeof(systems[0]))

const struct rmc_sync_system *rmc_sync_system_number(unsigned int i)
{
	return i < SYSTEMS ? &systems[i] : NULL;
}

const struct rmc_sync_system *rmc_sync_system_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < SYSTEMS; i++)
		if (!strcmp(systems[i].name, name))
			return &systems[i];
	return NULL;
}

int rmc_sync_system_use(const struct rmc_sync_system *system, struct rmc_sync_options *options)
{
	struct rmc_sync_options o = { .max = options->max, .latch = system->latch };
	struct plan plan;
	int err;

	if (!o.max || o.max > RMC_LENGTH_MAX)
		return rmc_fail(EINVAL, "sync: %s with objects of %zu bytes", system->name, o.max);
	o.scheme = rmc_sync_find(system->scheme);
	o.flags = system->flags | (options->flags & RMC_SYNC_TRUST_ORDER);
	err = rmc_sync_compile(&plan, &o, NULL);
	if (err)
		return err;
	options->scheme = o.scheme;
	options->latch = o.latch;
	options->flags = o.flags;
	options->stride = rmc_scheme_bytes(&plan.scheme->pub, o.max) +
			  (uint64_t)system->pad * RMC_CACHE_LINE;
	return 0;
}
