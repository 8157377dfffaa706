/* SPDX-License-Identifier: GPL-2.0 */
/* Many short runs of the whole stack, each from a seed: what runs.c and the kinds share. */
#ifndef SIM_RUNS_H
#define SIM_RUNS_H

#include <rmc/rmc.h>
#include "check.h"
#include "rmc_sim.h"

#define RUN_NODES	5	/* at most */

/**
 * struct run - one run
 * @o: options of the simulation
 * @choice: state of the random numbers that choose it; threads use rmc_sim_random()
 * @victim: node that may pause or crash
 * @crash_ns: time of the crash; 0: none
 * @restart_ns: time when it boots again
 * @failed: number of failed checks
 */
struct run {
	struct rmc_sim_options o;
	uint64_t choice;
	int victim;
	uint64_t crash_ns;
	uint64_t restart_ns;
	int failed;
};

/* Checks of the current run */
extern struct run run;

#define RUN_CHECK(cond, ...) do {						\
	if (!(cond) && !run.failed++)						\
		run_failed(__FILE__, __LINE__, #cond, __VA_ARGS__);		\
} while (0)

void run_failed(const char *file, int line, const char *cond, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
uint64_t run_choose(uint64_t below);

/* Operations of all nodes. An order has to exist that explains their results and times. */
extern struct check_history run_history;

/* A new operation of this thread, at this time; its index */
int64_t run_begin(enum check_kind kind, uint32_t key);
/* It has ended, with the result that is in its entry */
void run_end(int64_t op);
/* Fails the run if its history is not linearizable, or has no verdict */
void run_check_history(void);
void run_crash(uint64_t crash_ns, uint64_t restart_ns);	/* the victim; restart_ns 0: never */

/**
 * struct run_kind - a kind of run
 * @name: its name
 * @plan: chooses what this kind needs; may be NULL
 * @member: thread of each node
 * @again: thread of a node that booted again; NULL: none
 * @check: called after all threads have ended
 */
struct run_kind {
	const char *name;
	void (*plan)(void);
	void (*member)(void *arg);
	void (*again)(void *arg);
	void (*check)(void);
};

extern const struct run_kind run_atomics, run_messages, run_collectives, run_rejoin, run_kv, run_tx;

#endif
