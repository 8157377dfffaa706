/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Costs of work in virtual time. The values are in costs.def, each with its origin.
 */
#ifndef RMC_SIM_COSTS_H
#define RMC_SIM_COSTS_H

#include <stdbool.h>
#include <stdint.h>

/* One constant per line: name, unit, description */
#define RMC_SIM_COSTS(X)							\
	X(post, "ns", "an application builds and publishes a WQ entry")		\
	X(poll, "ns", "an application sees a completion and takes it")		\
	X(clock, "ns", "reading the clock")					\
	X(syscall, "ns", "a system call that does not sleep")			\
	X(sleep, "ns", "a sleeping thread is woken and runs")			\
	X(handoff, "ns", "a line goes from one core to another")		\
	X(rgp, "ns", "RGP: a WQ entry becomes a request packet")		\
	X(rrpp, "ns", "RRPP: a request packet is served")			\
	X(rcp, "ns", "RCP: a reply packet completes an operation")		\
	X(byte, "ps", "a byte of payload is copied, in each stage that does")	\
	X(pipe, "ns", "a stage takes its next packet; 0: when it is done with this one") \
	X(wire, "ns", "a packet's way to the next node, where a program asks for it") \
	X(memory, "ns", "a line comes from memory to the RRPP, if memory is simulated") \
	X(cache, "ns", "the same from the last-level cache")			\
	X(line, "ps", "and the next line after it")				\
	/* of programs that charge themselves for it: papers/ */		\
	X(cold, "ps", "a thread's first access to a byte that the RMC wrote")	\
	X(use, "ps", "an application reads a byte that it has in its cache")	\
	X(strip, "ps", "versions are compared and stripped, per byte of data")	\
	X(crc, "ps", "a checksum is computed by tables, per byte")		\
	X(clmul, "ps", "the same by carry-less multiplication")			\
	X(store, "ps", "a writer stores a byte of an object")			\
	X(pack, "ps", "a byte of a message is copied into the cells of a push")	\
	X(unpack, "ps", "and out of them, by the receiver")			\
	X(lookup, "ns", "a store finds a key, and compares it")			\
	X(edge, "ps", "PageRank adds the rank of an edge's source")

enum rmc_sim_provenance {
	RMC_SIM_PUBLISHED,	/* a paper says so */
	RMC_SIM_MEASURED,	/* by a command of this tree */
	RMC_SIM_ASSUMED,	/* neither */
	RMC_SIM_FITTED,		/* to a value that a paper prints, or chosen with its figures in view:
				 * what depends on it reproduces nothing
				 */
};

struct rmc_sim_costs {
	const char *name;
#define RMC_SIM_FIELD(name, unit, what) uint32_t name;
	RMC_SIM_COSTS(RMC_SIM_FIELD)
#undef RMC_SIM_FIELD
};

struct rmc_sim_cost_row {
	const char *profile, *name, *unit, *what;
	uint32_t value;
	enum rmc_sim_provenance provenance;
	const char *source;
};

/* NULL: unknown profile */
const struct rmc_sim_costs *rmc_sim_costs_find(const char *profile);

/* Change one cost: false if there is no such */
bool rmc_sim_costs_set(struct rmc_sim_costs *costs, const char *name, uint32_t value);

/* The whole table; NULL after the last row */
const struct rmc_sim_cost_row *rmc_sim_cost_row(unsigned int i);
const char *rmc_sim_provenance_name(enum rmc_sim_provenance p);

#endif
