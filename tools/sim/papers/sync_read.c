// SPDX-License-Identifier: GPL-2.0
/* R25 1 and 4 in virtual time: optimistic reads, beside latches; and its table 1, counted. */
#include <stdio.h>
#include <string.h>
#include "sync.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define TUPLES		5000000		/* of each of 4 storage nodes */

void sync_figure1b(void)
{
	static const uint32_t sizes[] = { 128, 512, 2048, 8192, 32768 };
	static const uint32_t writes[] = { 1, 4, 16, 32 };
	double unseen, seen;
	unsigned int i, k;
	char name[64];

	for (i = 0; i < COUNT(sizes); i++) {
		for (k = 0; k < COUNT(writes); k++) {
			if (eval.quick && k % 2)
				continue;
			unseen = sync_torn_percent(sizes[i], writes[k], &seen);
			snprintf(name, sizeof(name), "ends alike, %u writes in flight", writes[k]);
			eval_row("1b", sizes[i], writes[k], name, unseen, "%");
			snprintf(name, sizeof(name), "ends differ, %u writes in flight", writes[k]);
			eval_row("1b", sizes[i], writes[k], name, seen, "%");
		}
	}
}

/* ---- rows ---- */

static const struct row {
	const char *name, *scheme;
	unsigned int latch, flags;
	uint32_t pad;
} rows[] = {
	{ "unsynchronized", "unsync", 0, RMC_SYNC_ASYNC, 0 },
	{ "broken", "naive", 0, 0, 0 },
	{ "FaRM", "farm", RMC_LATCH_EXCL, SYNC_FOOTER, 0 },
	{ "CRC64 by tables", "crc64-tables", 0, SYNC_FOOTER, 0 },
	{ "CRC64", "crc64", RMC_LATCH_EXCL, SYNC_FOOTER, 0 },
	{ "versioning", "versioning", 0, SYNC_FOOTER, 0 },
	{ "pessimistic", "rw", 0, SYNC_BEST, 1 },
	{ "SABRe", "sabre", 0, 0, 0 },
};

enum { UNSYNC, BROKEN, FARM, TABLES, CLMUL, VERSIONING, PESSIMISTIC, SABRE };

/* SABRes are the chip's. */
static int is_here(const struct row *row)
{
	return strcmp(row->scheme, "sabre") || !strncmp(eval.profile, "sonuma", 6);
}

static struct sync_load load(const struct row *row, uint32_t bytes, uint32_t workers)
{
	return (struct sync_load){
		.scheme = row->scheme, .latch = row->latch, .flags = row->flags, .pad = row->pad,
		.bytes = bytes, .workers = workers, .storage = 1, .warm_ns = 20000,
		.run_ns = eval.quick ? 60000 : 200000,
	};
}

/* ---- 11: lookups in a tree ---- */

void sync_figure11(void)
{
	static const uint32_t workers[] = { 1, 4, 8, 16, 32, 64, 128 };
	static const int which[] = { UNSYNC, FARM, PESSIMISTIC };
	const char *name;
	struct sync_rate r;
	unsigned int i, k;

	for (k = 0; k < COUNT(workers); k++)
		for (i = 0; i < COUNT(which); i++) {
			struct sync_load l = load(&rows[which[i]], 4096, workers[k]);

			if (eval.quick && workers[k] != 16 && workers[k] != 64)
				continue;
			l.tree = 1;
			l.run_ns *= 2;
			r = sync_run(&l);
			name = i == 1 ? "optimistic" : rows[which[i]].name;
			eval_row("11", 4096, workers[k], name, r.mops, "M/s");
			eval_row("11-port", 4096, workers[k], name, r.gbps, "GB/s");
		}
}

/* ---- 14: one thread ---- */

void sync_figure14(void)
{
	static const uint32_t sizes[] = { 128, 256, 1024, 4096, 16384, 65536, 262144 };
	double broken = 0, here;
	unsigned int i, k;

	for (i = 0; i < COUNT(sizes); i++)
		for (k = BROKEN; k < COUNT(rows); k++) {
			struct sync_load l = load(&rows[k], sizes[i], 1);

			if (!is_here(&rows[k]))
				continue;
			if (eval.quick && sizes[i] != 256 && sizes[i] != 4096)
				continue;
			l.tuples = 1000;
			l.run_ns = 20 * (l.run_ns + 100 * sizes[i] / 1000);
			here = 1e3 * sync_run(&l).mops;
			broken = k == BROKEN ? here : broken;
			eval_row("14", sizes[i], 1, rows[k].name, here, "K/s");
			eval_row("14-slower", sizes[i], 1, rows[k].name,
				 100 * (1 - here / broken), "%");
		}
}

/* ---- 15: workers ---- */

static void scale(const char *part, uint32_t bytes, uint32_t workers, uint32_t writes, int row)
{
	struct sync_load l = load(&rows[row], bytes, workers);
	struct sync_rate r;

	l.writes = writes;
	l.tuples = 20000;
	r = sync_run(&l);
	if (bytes > 256)
		eval_row(part, bytes, workers, rows[row].name, r.gbps, "GB/s");
	else
		eval_row(part, bytes, workers, rows[row].name, r.mops, "M/s");
}

void sync_figure15(void)
{
	static const uint32_t workers[] = { 8, 16, 32, 64, 128 };
	unsigned int i, k;

	for (i = 0; i < COUNT(workers); i++) {
		if (eval.quick && workers[i] != 8 && workers[i] != 128)
			continue;
		for (k = UNSYNC; k < COUNT(rows); k++) {
			if (!is_here(&rows[k]))
				continue;
			scale("15-read", 256, workers[i], 0, (int)k);
			if (k != PESSIMISTIC && k != FARM && k != VERSIONING && k != UNSYNC)
				continue;
			scale("15-write", 256, workers[i], 100, (int)k);
			if (!eval.quick || workers[i] == 8)
				scale("15-16k", 16384, workers[i], 0, (int)k);
		}
	}
}

/* ---- 16: OPT-DB ---- */

static const struct {
	const char *name;
	uint32_t writes;
} mixes[] = { { "write-only", 100 }, { "mixed", 50 }, { "read-only", 0 } };

static void opt_db(uint32_t workers, int row, unsigned int mix, uint32_t theta)
{
	struct sync_load l = load(&rows[row], 512, workers);
	int hot = theta >= 150 && mixes[mix].writes;
	char part[32];

	if (eval.quick && (workers != 112 || mix == 1 || theta % 250))
		return;
	l.storage = 4;
	l.tuples = TUPLES;
	l.theta = theta / 100.0;
	l.writes = mixes[mix].writes;
	l.gathered = hot;
	l.warm_ns = hot ? sync_hot_ns() : 40000;
	l.run_ns = hot ? sync_hot_ns() : 100000;
	snprintf(part, sizeof(part), "16-%u-%s", workers, mixes[mix].name);
	eval_row(part, 512, theta, row == PESSIMISTIC ? "NAM-DB++" : rows[row].name,
		 sync_run(&l).mops, "M/s");
}

/* "nodes" of a row is 100 times the exponent. */
void sync_figure16(void)
{
	static const uint32_t workers[] = { 112, 224 }, thetas[] = { 0, 100, 150, 200, 250 };
	static const int which[] = { PESSIMISTIC, FARM, TABLES, VERSIONING };
	unsigned int w, m, t, i;

	for (w = 0; w < COUNT(workers); w++)
		for (m = 0; m < COUNT(mixes); m++)
			for (t = 0; t < COUNT(thetas); t++)
				for (i = 0; i < COUNT(which); i++)
					opt_db(workers[w], which[i], m, thetas[t]);
}

/* ---- table 1: what an operation that nobody is in the way of takes ---- */

void sync_table1(void)
{
	static const struct {
		const char *name, *scheme;
		unsigned int flags;
		uint32_t writes;
	} op[] = {
		{ "reader/writer: write", "rw", 0, 100 },
		{ "reader/writer: write, all optimizations", "rw", SYNC_BEST, 100 },
		{ "reader/writer: read", "rw", 0, 0 },
		{ "reader/writer: read, all optimizations", "rw", SYNC_BEST, 0 },
		{ "exclusive: write", "excl", 0, 100 },
		{ "exclusive: write unlatch", "excl", SYNC_FOOTER, 100 },
		{ "CRC: read", "crc64", 0, 0 },
		{ "versioning as published: read", "naive", 0, 0 },
		{ "versioning, fixed: read", "versioning", 0, 0 },
		{ "cache line versions: read", "farm", 0, 0 },
		{ "unsynchronized: read", "unsync", 0, 0 },
		{ "unsynchronized: write", "unsync", 0, 100 },
	};
	struct sync_rate r;
	unsigned int i;

	for (i = 0; i < COUNT(op); i++) {
		struct sync_load l = {
			.scheme = op[i].scheme, .flags = op[i].flags, .writes = op[i].writes,
			.bytes = 256, .workers = 1, .storage = 1,
			.run_ns = eval.quick ? 200000 : 4000000,
		};

		r = sync_run(&l);
		eval_row("table1-messages", 256, 1, op[i].name, r.messages, "");
		eval_row("table1-round-trips", 256, 1, op[i].name, r.round_trips, "");
		eval_row("table1-atomics", 256, 1, op[i].name, r.atomics, "");
	}
}
