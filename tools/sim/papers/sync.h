/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the evaluation of R25 in virtual time have in common: workers that read and
 * write objects of storage nodes by a row of rmc/sync.h, behind the model of a network adapter.
 */
#ifndef RMC_SIM_SYNC_H
#define RMC_SIM_SYNC_H

#include <rmc/sync.h>
#include "eval.h"

#define SYNC_STORAGE	4		/* most storage nodes */
#define SYNC_LEVELS	3		/* of the tree */

/* The paper's highest level of optimizations; what an ordered queue pair is needed for */
#define SYNC_BEST	(RMC_SYNC_SPEC | RMC_SYNC_COMBINE | RMC_SYNC_ASYNC)
/* ... and with the release in the last line of the write */
#define SYNC_FOOTER	(RMC_SYNC_SPEC | RMC_SYNC_WRITE_UNLATCH | RMC_SYNC_ASYNC)

/**
 * struct sync_load - what workers do
 * @scheme: row of rmc_sync_find()
 * @latch: enum rmc_latch
 * @flags: RMC_SYNC_*
 * @bytes: of an object, with its words
 * @pad: lines between two objects
 * @workers: their number; each waits for its operation
 * @storage: storage nodes, which are drawn uniformly
 * @tuples: of each storage node, drawn by Zipf's law
 * @theta: its exponent
 * @writes: percent
 * @tree: an operation reads a node of each level of a tree, the root first
 * @switched: a switch before each storage node has the objects, which are tuples
 * @whole: each tuple has a place of its own
 * @gathered: workers begin at one object, where they would be after some time (hot writes)
 * @warm_ns: time until operations count
 * @run_ns: time in which they count
 */
struct sync_load {
	const char *scheme;
	unsigned int latch, flags;
	uint32_t bytes, pad, workers, storage;
	uint64_t tuples;
	double theta;
	uint32_t writes;
	int tree, switched, whole, gathered;
	uint64_t warm_ns, run_ns;
};

/* Per operation but for @mops and @gbps: of all workers, by the clock */
struct sync_rate {
	double mops, gbps;
	double messages, round_trips, atomics, failed;
};

enum sync_raw_kind { SYNC_CAS, SYNC_READ };

/**
 * struct sync_raw - operations of single words
 * @kind: which
 * @stride: bytes between the words of two workers; 0: all use one
 * @workers: their number
 * @clients: nodes that they are on
 * @switched: a switch has the words
 * @newer: clients have the adapters of R25 5.4, of which no limit of queue pairs is known, but the
 *	time that one takes for a request (profile tofino)
 */
struct sync_raw {
	enum sync_raw_kind kind;
	uint32_t stride, workers, clients;
	int switched, newer;
};

/**
 * struct sync_calls - calls to the cores of an adapter, which latch words
 * @contended: all use one word
 * @workers: their number
 */
struct sync_calls {
	int contended;
	uint32_t workers;
};

/* sync_run.c */
struct rmc_sim_options sync_options(uint32_t nodes, uint32_t bytes);
struct sync_rate sync_run(const struct sync_load *load);
uint64_t sync_hot_ns(void);
double sync_raw_mops(const struct sync_raw *raw);
double sync_torn_percent(uint32_t bytes, uint32_t writes_in_flight, double *seen);
void sync_profile(const char *profile);
bool sync_set(const char *name, uint32_t value);	/* a constant of the adapter */
int sync_main(int argc, char **argv, const struct eval_part *parts);

/* sync_latch.c */
void sync_figure4(void);
void sync_figure5(void);
void sync_figure8(void);
void sync_figure9(void);
void sync_figure10(void);
void sync_figure17(void);

/* sync_calls.c */
struct sync_rate sync_calls_run(const struct sync_calls *load);
void sync_figure18(void);

/* sync_switch.c */
void sync_figure20(void);
void sync_figure22(void);
void sync_figure25(void);
void sync_figure26(void);

/* sync_read.c */
void sync_figure1b(void);
void sync_figure11(void);
void sync_figure14(void);
void sync_figure15(void);
void sync_figure16(void);
void sync_table1(void);

#endif
