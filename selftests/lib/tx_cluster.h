/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Nodes of one process, with an RMC each (fake_rmc.h), for tests of transactions. Node n is member
 * n of a team that never meets; its client is a thread of the test, and its RMC another one. An RMC
 * moves lines one by one, in an order that the test chooses, and stores the first word of each
 * line last, as the module does. A line is atomic between remote operations. They have transactions
 * as well (fake_tx.h).
 *
 * The environment variable RMC_TEST_SYSTEM names the system of transactions of all databases.
 */
#ifndef TX_CLUSTER_H
#define TX_CLUSTER_H

#include "fake_rmc.h"
#include "../../lib/tx/state.h"

#define CLUSTER_NODES	4
#define CLUSTER_ENTRIES	64		/* of each queue pair, unless the cluster has .entries */
#define CLUSTER_LOG	4096

struct cluster;
struct fake_tx;

struct cluster_node {
	struct cluster *cluster;
	struct rmc_team team;
	struct rmc_qp qp;
	struct fake_rmc rmc;
	struct rmc_tx_db *db;
	uint8_t *segment;
	void *memory;
	struct fake_tx *tx;		/* RMC_TX_MAX_SLOTS: transactions that its RMC commits */
	pthread_mutex_t line;		/* a line of this segment is being moved */
	int nid;
};

/* Hooks are called by an RMC, with the node that it belongs to. */
struct cluster {
	struct cluster_node node[CLUSTER_NODES];
	int nodes, backwards, yields;	/* order of lines; sched_yield() after each */
	unsigned int entries;
	int reorder;			/* completions of a batch, in reverse */
	int busy;			/* accesses that find a slot of transactions not free yet */
	void *arg;
	/* RMC_S_OK: execute it; FAKE_HOLD: complete it later, unexecuted; else it is its status */
	int (*before)(struct cluster_node *n, const struct fake_op *op);
	/* The status of an operation that was executed */
	int (*after)(struct cluster_node *n, const struct fake_op *op);
	/* Before each line of a write: RMC_S_OK; else this and further ones do not come */
	int (*line)(struct cluster_node *n, const struct fake_op *op);
};

/*
 * Databases of the same options, except those of all clients: .wait. The cluster is zero, but for
 * .entries and .reorder, which may be set before.
 */
void cluster_open(struct cluster *c, int nodes, const struct rmc_tx_options *options);
void cluster_close(struct cluster *c);

/* RMC_TEST_SYSTEM; without it: otherwise */
const char *cluster_system(const char *otherwise);
/* Of SW-Impl, not one whose RMC commits */
int cluster_is_sw(void);
/* As it is in memory, outside of transactions */
int cluster_present(const struct cluster *c, struct rmc_tx_addr record);

#endif /* TX_CLUSTER_H */
