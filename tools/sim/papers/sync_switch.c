// SPDX-License-Identifier: GPL-2.0
/*
 * R25 5.4 and 5.5 in virtual time: a switch before each storage node, which answers atomics on words,
 * or has versions and latches of tuples (Documentation/switch.rst). What it answers takes half of a
 * round trip, and nothing else. What limits figure 22 are the clients' adapters, by a fitted time.
 */
#include <stdio.h>
#include "sync.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define CLIENTS		4		/* compute nodes of the paper */
#define TUPLES		140000		/* of the paper's storage node */

static double words(uint32_t stride, uint32_t workers, int switched, int newer)
{
	return sync_raw_mops(&(struct sync_raw){
		SYNC_CAS, stride, workers, CLIENTS, switched, newer });
}

/* ---- 20: one latch ---- */

void sync_figure20(void)
{
	eval_row("20", 8, 1, "adapter", 1e3 / words(64, 1, 0, 0), "ns");
	eval_row("20", 8, 1, "switch", 1e3 / words(64, 1, 1, 0), "ns");
}

/* ---- 22: many ---- */

static void row22(const char *name, uint32_t stride, uint32_t workers, int switched)
{
	eval_row("22", 8, workers, name, words(stride, workers, switched, switched), "M/s");
}

void sync_figure22(void)
{
	static const uint32_t workers[] = { 8, 32, 128, 512, 2048 };
	unsigned int i;

	for (i = 0; i < COUNT(workers); i++) {
		if (eval.quick && workers[i] != 32 && workers[i] != 128)
			continue;
		/* the adapter is that of figure 4 */
		if (workers[i] <= 512) {
			row22("adapter, contended", 0, workers[i], 0);
			row22("adapter", 64, workers[i], 0);
		}
		row22("switch, contended", 0, workers[i], 1);
		row22("switch", 64, workers[i], 1);
	}
}

/* ---- 25, 26: tuples ---- */

static const struct {
	const char *name, *scheme;
	unsigned int latch, flags;
	int switched;
} rows[] = {
	{ "switch", "switch", 0, RMC_SYNC_SPEC, 1 },
	/* three round trips, against one and a half */
	{ "versioning", "versioning", 0, 0, 0 },
	{ "FaRM", "farm", RMC_LATCH_EXCL, RMC_SYNC_SPEC | RMC_SYNC_WRITE_UNLATCH, 0 },
	{ "latches", "rw", 0, RMC_SYNC_SPEC | RMC_SYNC_COMBINE, 0 },
};

static struct sync_load tuples(unsigned int row, uint32_t bytes, uint32_t workers, uint32_t writes)
{
	return (struct sync_load){
		.scheme = rows[row].scheme, .latch = rows[row].latch, .flags = rows[row].flags,
		.switched = rows[row].switched, .bytes = bytes, .workers = workers, .storage = 1,
		.tuples = TUPLES, .whole = 1, .writes = writes, .warm_ns = 20000,
		.run_ns = (eval.quick ? 60000 : 200000) * (workers == 1 ? 10 : 1),
	};
}

void sync_figure25(void)
{
	char name[64];
	unsigned int i, writes;

	for (writes = 0; writes <= 100; writes += 100)
		for (i = 0; i < COUNT(rows); i++) {
			struct sync_load l = tuples(i, 1024, 1, writes);

			snprintf(name, sizeof(name), "%s: %s", writes ? "write" : "read", rows[i].name);
			eval_row("25", 1024, 1, name, 1e3 / sync_run(&l).mops, "ns");
		}
}

/* "nodes" of a row is the percentage of writes. */
void sync_figure26(void)
{
	static const uint32_t sizes[] = { 64, 256, 1024 }, writes[] = { 0, 5, 50, 100 };
	char part[16];
	unsigned int i, k, w;

	for (k = 0; k < COUNT(sizes); k++)
		for (w = 0; w < COUNT(writes); w++)
			for (i = 0; i < COUNT(rows); i++) {
				struct sync_load l = tuples(i, sizes[k], 512, writes[w]);

				if (eval.quick && (sizes[k] != 256 || writes[w] % 50))
					continue;
				snprintf(part, sizeof(part), "26-%u", sizes[k]);
				eval_row(part, sizes[k], writes[w], rows[i].name, sync_run(&l).mops,
					 "M/s");
			}
}
