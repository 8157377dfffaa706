/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs that evaluate the papers in virtual time have in common: command line,
 * results as a table or as JSON with all constants that went into them, and the end on errors.
 */
#ifndef RMC_SIM_EVAL_H
#define RMC_SIM_EVAL_H

#include <stdbool.h>
#include <stdint.h>
#include "costs.h"
#include "rmc_sim.h"

#define EVAL_SIZES	8
#define EVAL_NODES	32	/* most of a simulation */

/* 64 B to 8 KiB, as in the papers' figures */
extern const uint32_t eval_sizes[EVAL_SIZES];

struct eval_part {
	const char *name;
	void (*run)(void);
};

struct json;

/*
 * Constants beside the costs, for programs that have some: choose() finds those of the profile, and
 * sets eval.mtu if that is 0; set() is false if there is no such constant; print() adds rows.
 */
struct eval_constants {
	void (*choose)(const char *profile);
	bool (*set)(const char *name, uint32_t value);
	void (*print)(struct json *out);
};

struct eval {
	const struct eval_constants *more;	/* or NULL */
	const char *profile;		/* --costs */
	struct rmc_sim_costs costs;
	uint32_t mtu;			/* --mtu */
	bool quick;			/* --quick */
	bool json;			/* --json */
	uint64_t served[EVAL_NODES];	/* requests that each node has served in the last run */
};

extern struct eval eval;

/* Parse the command line, and run the parts that it names, or all. The table ends without a name. */
int eval_main(int argc, char **argv, const char *profile, uint32_t mtu,
	      const struct eval_part *parts);

/* One value. nodes: nodes, threads or writers, as the part says */
void eval_row(const char *part, uint32_t bytes, uint32_t nodes, const char *series, double value,
	      const char *unit);

/* Ends the program if err is not 0 */
void eval_check(int err, const char *what);

/* Options of a simulation with the costs of the command line */
struct rmc_sim_options eval_options(uint32_t nodes);

/* Run all threads to their end */
void eval_run(void);

#endif
