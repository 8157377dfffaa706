/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Transactions of the fake RMCs of tx_cluster.h (<linux/rmc_tx.h>), with sets of lines in the place
 * of filters: so nothing is in conflict that should not be. A commit is one step, and lines are
 * never locked: a test's hook answers RMC_S_TX_LOCKED. All homes are in one process, and one mutex
 * orders what they do, line by line.
 */
#ifndef FAKE_TX_H
#define FAKE_TX_H

#include "tx_cluster.h"

#define FAKE_TX_LINES	16384	/* that a transaction uses at most */

/* A slot of an RMC */
struct fake_tx {
	int open;
	int busy;		/* so many accesses find that it is not free yet */
	uint64_t squashed;	/* by home */
	uint32_t n;
	uint64_t *line;		/* with the home in the lowest bits */
};

int fake_tx_access(struct cluster_node *n, const struct fake_op *op);
int fake_tx_commit(struct cluster_node *n, const struct fake_op *op);
/* Also what a commit does that has no effect */
void fake_tx_abort(struct cluster_node *n, const struct fake_op *op);
void fake_tx_free(struct cluster_node *n);

#endif /* FAKE_TX_H */
