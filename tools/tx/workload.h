/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Workloads of transactions, the same for all systems: they use <rmc/tx.h> and nothing of an RMC.
 *
 *	tables()	which tables, by the scale
 *	load()		each member stores the records that are its own
 *	one()		one transaction, drawn by the workload's mix
 *	condition()	a consistency condition during the run, by a transaction that only reads
 *	sum(), judge()	when nothing runs: each member's part of some numbers, and whether their
 *			sums over all members are as they have to be
 */
#ifndef RMC_TOOLS_TX_WORKLOAD_H
#define RMC_TOOLS_TX_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <rmc/rmc.h>
#include "zipf.h"

#define TX_KINDS	8	/* of transactions in a workload */
#define TX_LEDGER	4
#define TX_SUMS		16

/* Sizes, from the command line; each workload uses some */
struct tx_scale {
	uint64_t accounts;		/* smallbank */
	uint64_t subscribers;		/* tatp */
	uint64_t warehouses, items, customers, orders, room;	/* tpcc */
	bool by_warehouse;
	bool frequent;			/* tpcc: New-Order and Payment only */
	uint64_t keys, requests, record_bytes;			/* ycsb */
	const char *structure;
	bool blind;			/* ycsb: a field is changed without reading its record */
	unsigned int local;		/* 1 + percent of the keys that are at the own node; 0: any */
};

#define YCSB_REQUESTS_MAX	32	/* of a transaction */
#define YCSB_TREE_BYTES		3952	/* of a block: 245 entries, in 4 KiB of memory */

struct workload;

struct tx_client {
	const struct workload *workload;
	struct rmc_tx_db *db;
	struct tx_scale scale;
	int self, nodes;
	uint64_t seed;			/* not 0 */
	uint64_t load_seed;		/* the same for all members */
	uint64_t done[TX_KINDS];	/* committed */
	uint64_t ended[TX_KINDS];	/* without effect, as the workload's rules say */
	int64_t ledger[TX_LEDGER];	/* of the committed */
	bool full;			/* a table has no more room: the run is over */
	void *priv;			/* of the workload, from load() to close() */
};

struct workload {
	const char *name;
	const char *kind[TX_KINDS];
	uint32_t records;		/* that a transaction accesses at most */
	bool indexed;			/* it has a structure, whose name is in the scale */
	unsigned int (*tables)(const struct tx_scale *s, struct rmc_tx_table *t);
	/* The same by the scale, instead of records; may be NULL */
	uint32_t (*accesses)(const struct tx_scale *s);
	/* 0 or -errno */
	int (*load)(struct tx_client *c);
	/* Instead of load(): another client of the member, whose client has loaded; may be NULL */
	int (*join)(struct tx_client *c, const struct tx_client *loaded);
	/* After load() or join(), also if that failed; may be NULL */
	void (*close)(struct tx_client *c);
	/* 0, or what rmc_tx_run() returned; *kind is which one it was */
	int (*one)(struct tx_client *c, unsigned int *kind);
	/* 0, or as above; *holds: the condition did */
	int (*condition)(struct tx_client *c, bool *holds);
	int (*sum)(struct tx_client *c, int64_t *sums);
	/* NULL: all is well; else what is wrong, with two numbers */
	const char *(*judge)(const struct tx_scale *s, const int64_t *sums, int64_t *is,
			     int64_t *expected);
};

extern const struct workload smallbank, tatp, tpcc, ycsb_a, ycsb_b;

const struct workload *workload_find(const char *name);

/* Is there a structure of this name for workloads that are indexed? */
bool ycsb_has_structure(const char *name);

static inline uint32_t workload_records(const struct workload *w, const struct tx_scale *s)
{
	return w->accesses ? w->accesses(s) : w->records;
}

/* As judge(), for a run in which so many conditions were violated */
const char *workload_judge(const struct workload *w, const struct tx_scale *s, const int64_t *sums,
			   uint64_t violated, int64_t *is, int64_t *expected);

/* Run fn as a transaction of a kind: 0, or what rmc_tx_run() returned */
int tx_execute(struct tx_client *c, unsigned int kind, int (*fn)(struct rmc_tx *t, void *arg),
	       void *arg);

/* Is the record this member's? */
static inline bool tx_mine(const struct tx_client *c, uint32_t table, uint64_t rid)
{
	return rmc_tx_home(c->db, rmc_tx_record(table, rid)) == c->self;
}

/* Read a whole record in a transaction of its own: 0, -ENOENT, .. */
int tx_peek(struct tx_client *c, uint32_t table, uint64_t rid, void *data, size_t len);

/* from .. to, both included */
static inline uint64_t tx_random(struct tx_client *c, uint64_t from, uint64_t to)
{
	return from + (random_next(&c->seed) >> 16) % (to - from + 1);
}

/*
 * A key near the one drawn, of keys 0 .. n - 1 that are spread over all members in turn: at the own
 * node as often as the scale says
 */
static inline uint64_t tx_place(struct tx_client *c, uint64_t key, uint64_t n)
{
	uint64_t nodes = (uint64_t)c->nodes, at = (uint64_t)c->self;

	if (!c->scale.local || nodes < 2)
		return key;
	if (tx_random(c, 0, 99) >= c->scale.local - 1)
		at = (at + tx_random(c, 1, nodes - 1)) % nodes;
	key = key - key % nodes + at;
	return key < n ? key : key - nodes;
}

#endif /* RMC_TOOLS_TX_WORKLOAD_H */
