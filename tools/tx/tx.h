/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Declarations of the files of rmc-tx. */
#ifndef RMC_TOOLS_TX_H
#define RMC_TOOLS_TX_H

#include "workload.h"

#define CHUNK	4096	/* of collectives */

struct tx_run {
	/* options */
	int ctx_id, json, quiet, clients, seconds, seed, all_remote, by_warehouse;
	int attempts, backoff_ns, lists, elements;
	uint64_t operations;
	const char *system, *workload_name, *history;
	struct tx_scale scale;
	/* all members */
	struct rmc_team *team;
	struct rmc_coll *coll;
	struct rmc_tx_db *db;
};

uint64_t now_ns(void);
/* End the program if a call failed. */
void check(const char *what, int err);
/* Team, collectives and database; word: 64 bytes of each member's segment, behind the database */
void open_all(struct tx_run *r, struct rmc_tx_options *o, uint64_t *word);
void close_all(struct tx_run *r);

/* bench.c, history.c: the exit status */
int bench(struct tx_run *r);
int history(struct tx_run *r);

#endif /* RMC_TOOLS_TX_H */
