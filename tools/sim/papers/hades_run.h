/* SPDX-License-Identifier: GPL-2.0 */
/* A run of HADES' evaluation: workloads on cores of nodes, one system; and what came out. */
#ifndef HADES_RUN_H
#define HADES_RUN_H

#include "hades.h"

#define HD_PROGRAMS	4		/* workloads at a time */
/* Not printed. With 8 all transactions on hot lines end up with locks: "patience" of sim-hades */
#define HD_PATIENCE	64
#define HD_NEVER	UINT32_MAX	/* .. no locks in advance */

/* What is run */
struct hd_setup {
	enum hd_system system;
	unsigned int nodes, cores, coroutines;
	unsigned int programs;
	const char *program[HD_PROGRAMS];	/* each on as many cores of a node */
	bool as_printed;		/* HADES: each transaction sends Intend-to-commit */
	unsigned int patience;		/* squashes, then locks in advance; 0: HD_PATIENCE */
	unsigned int local;		/* 1 + percent of the keys at the own node; 0: any */
	bool large;			/* data of the full figures */
	bool sums;			/* the workload's data are checked at the end */
	bool reads;			/* updates read their record first: needed for sums */
	uint64_t us;			/* that count */
	uint64_t seed;
};

struct hd_result {
	uint64_t committed, ended, squashed, evicted, eager, locked, full, fallback;
	uint64_t by_squashes[HD_SQUASHES + 1];
	uint64_t most_read, most_written;
	double per_second, mean_ns, p95_ns, phase_ns[HD_PHASES];
	double requests;		/* calls of a transaction */
	double program[HD_PROGRAMS];	/* committed per second of each */
	double messages;		/* of a committed transaction */
	double false_positives;		/* of the tests of a line against a transaction's filters */
	double pairs;			/* of remote filters that a node has in use */
	uint64_t pairs_most, tests;
	double tags;			/* lines that a commit finds by its tag */
	double local;			/* of accesses to new records */
	double false_squashes;		/* of those that an INTEND has squashed */
	const char *wrong;		/* what the sums say; NULL: nothing */
};

extern const char *const hd_system_name[HD_SYSTEMS];
extern const char *const hd_all_programs[];		/* NULL at the end */

void hd_measure(const struct hd_setup *s, struct hd_result *r);

#endif
