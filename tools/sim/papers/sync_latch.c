// SPDX-License-Identifier: GPL-2.0
/* R25 3 and 5.1 in virtual time: atomics, and latches with their optimizations. */
#include <stdio.h>
#include "sync.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define CLIENTS		4		/* compute nodes of the paper */
#define CLIENTS_400G	2		/* of its testbed with two hosts */
#define TUPLES		5000000		/* of each of 4 storage nodes */

static const uint32_t workers[] = { 1, 8, 16, 32, 64, 128, 256, 512 };

/* ---- 4, 5, 17: words ---- */

static double words(enum sync_raw_kind kind, uint32_t stride, uint32_t n, uint32_t clients)
{
	return sync_raw_mops(&(struct sync_raw){ kind, stride, n, clients, 0, 0 });
}

void sync_figure4(void)
{
	unsigned int i;

	for (i = 0; i < COUNT(workers); i++) {
		if (eval.quick && workers[i] != 1 && workers[i] != 8 && workers[i] != 128)
			continue;
		eval_row("4", 0, workers[i], "contended compare-and-swap",
			 words(SYNC_CAS, 0, workers[i], CLIENTS), "M/s");
		eval_row("4", 64, workers[i], "uncontended compare-and-swap",
			 words(SYNC_CAS, 64, workers[i], CLIENTS), "M/s");
		eval_row("4", 64, workers[i], "read",
			 words(SYNC_READ, 64, workers[i], CLIENTS), "M/s");
	}
}

/* Each worker has a word; padded: by as many bytes as R25 does */
static void strides(const char *part, uint32_t clients)
{
	static const uint32_t stride[] = { 64, 256, 512, 1024, 4096 };
	char name[64];
	unsigned int i, k;

	for (i = 0; i < COUNT(stride); i++) {
		for (k = 0; workers[k] <= 128; k++) {
			if (eval.quick && workers[k] != 64 && workers[k] != 128)
				continue;
			snprintf(name, sizeof(name), "stride %u B", stride[i]);
			eval_row(part, stride[i], workers[k], name,
				 words(SYNC_CAS, stride[i], workers[k], clients), "M/s");
			snprintf(name, sizeof(name), "stride %u B, padded", stride[i]);
			eval_row(part, stride[i], workers[k], name,
				 words(SYNC_CAS, stride[i] + 8, workers[k], clients), "M/s");
		}
	}
}

void sync_figure5(void)
{
	strides("5", CLIENTS);
}

void sync_figure17(void)
{
	strides("17", CLIENTS_400G);
}

/* ---- 8, 9: one optimization after another ---- */

static const struct {
	const char *name, *scheme;
	unsigned int flags;
	uint32_t pad;
} levels[] = {
	{ "basic", "rw", 0, 0 },
	{ "speculative read", "rw", RMC_SYNC_SPEC, 0 },
	{ "write combining", "rw", RMC_SYNC_SPEC | RMC_SYNC_COMBINE, 0 },
	{ "asynchronous unlatch", "rw", SYNC_BEST, 0 },
	{ "asynchronous unlatch, padded", "rw", SYNC_BEST, 1 },
	{ "write unlatch", "excl", SYNC_FOOTER, 0 },
	{ "unsynchronized", "unsync", RMC_SYNC_ASYNC, 0 },
};

static struct sync_load latched(unsigned int level, uint32_t n, uint32_t writes)
{
	return (struct sync_load){
		.scheme = levels[level].scheme, .flags = levels[level].flags, .bytes = 256,
		.pad = levels[level].pad, .workers = n, .storage = 1, .tuples = 20000,
		.writes = writes, .warm_ns = 20000,
		.run_ns = (eval.quick ? 100000 : 400000) * (n == 1 ? 10 : 1),
	};
}

void sync_figure8(void)
{
	static const char * const sort[] = { "shared", "exclusive" };
	unsigned int i, x;
	char name[64];

	for (x = 0; x < 2; x++) {
		for (i = 0; i < COUNT(levels); i++) {
			struct sync_load l = latched(i, 1, 100 * x);

			/* one worker has no use for it */
			if (l.pad)
				continue;
			/* of writes only; readers of excl exclude each other */
			if (!x && (l.flags == (RMC_SYNC_SPEC | RMC_SYNC_COMBINE) ||
				   l.flags == SYNC_FOOTER))
				continue;
			snprintf(name, sizeof(name), "%s: %s", sort[x], levels[i].name);
			eval_row("8", 256, 1, name, 1e3 * sync_run(&l).mops, "K/s");
		}
	}
}

void sync_figure9(void)
{
	static const uint32_t many[] = { 8, 32, 128 };
	unsigned int i, k;

	for (k = 0; k < COUNT(many); k++)
		for (i = 0; i < COUNT(levels); i++) {
			struct sync_load l = latched(i, many[k], 100);

			eval_row("9", 256, many[k], levels[i].name, sync_run(&l).mops, "M/s");
		}
}

/* ---- 10: NAM-DB ---- */

static const struct {
	const char *name;
	unsigned int flags;
	uint32_t pad;
} systems[] = {
	{ "NAM-DB", 0, 0 },
	{ "NAM-DB++", SYNC_BEST, 0 },
	{ "NAM-DB++, padded", SYNC_BEST, 1 },
};

static const struct {
	const char *name;
	uint32_t writes;
} mixes[] = { { "write-only", 100 }, { "mixed", 50 }, { "read-only", 0 } };

static void nam_db(uint32_t bytes, unsigned int system, unsigned int mix, uint32_t theta)
{
	int hot = theta >= 150 && mixes[mix].writes;
	struct sync_load l = {
		.scheme = "rw", .flags = systems[system].flags, .pad = systems[system].pad,
		.bytes = bytes, .workers = 112, .storage = 4, .tuples = TUPLES,
		.theta = theta / 100.0, .writes = mixes[mix].writes, .gathered = hot,
		.warm_ns = hot ? sync_hot_ns() : 40000,
		.run_ns = hot ? sync_hot_ns() : 160000,
	};
	char part[32];

	/* what the paper prints values of */
	if (eval.quick && (bytes != 256 || mix == 1 || system == 2 ||
			   (theta % 200 && (theta != 100 || mix != 2))))
		return;
	snprintf(part, sizeof(part), "10-%u-%s", bytes, mixes[mix].name);
	eval_row(part, bytes, theta, systems[system].name, sync_run(&l).mops, "M/s");
}

/* "nodes" of a row is 100 times the exponent. */
void sync_figure10(void)
{
	static const uint32_t sizes[] = { 256, 512 }, thetas[] = { 0, 100, 150, 200, 250 };
	unsigned int i, k, m, t;

	for (i = 0; i < COUNT(sizes); i++)
		for (m = 0; m < COUNT(mixes); m++)
			for (t = 0; t < COUNT(thetas); t++)
				for (k = 0; k < COUNT(systems); k++)
					nam_db(sizes[i], k, m, thetas[t]);
}
