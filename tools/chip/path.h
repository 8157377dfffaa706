/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A read of one block without load, as a list of steps: work, and messages with both their ends.
 * Their latencies are those of the topology, averaged over cores and homes (T18 tables 6.1, 6.3,
 * 6.4).
 */
#ifndef CHIP_PATH_H
#define CHIP_PATH_H

#include "noc.h"

/* The last two: with an NI cache that has no Owned state */
enum read {
	READ_edge, READ_per_tile, READ_split, READ_numa, READ_per_tile_mesi, READ_split_mesi, READS
};

/* Ends of messages; those of the other chip from RRPP on */
enum role {
	ROLE_CORE,
	ROLE_LINE,	/* home of a block of the queues */
	ROLE_NI,
	ROLE_NET,	/* the network's router */
	ROLE_FAR_NET,
	ROLE_RRPP,
	ROLE_HOME,	/* of the block that is read */
	ROLE_MC,
	ROLES
};

/**
 * struct step - of a read
 * @row: of the thesis' tables
 * @what: it is
 * @from, @to: of a message; equal for work
 * @class: of a message
 * @flits: of a message; cycles of work
 */
struct step {
	const char *row, *what;
	enum role from, to;
	enum class class;
	unsigned int flits;
};

/* Ends with a step without a row */
const struct step *path_steps(enum read read);
const char *read_name(enum read read);
const char *role_name(enum role role);
const char *class_name(enum class class);

/* Means over all places: cycles, and links of a message. A message within a router is none. */
double step_cycles(const struct topology *t, enum network network, const struct step *s);
double step_hops(const struct topology *t, enum network network, const struct step *s);

/* Cycles of a whole read over some hops between chips */
double path_cycles(const struct topology *t, enum network network, enum read read,
		   unsigned int wire_hops);

#endif /* CHIP_PATH_H */
