/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Common parts of the tests of single transactions: tables, and what they do with records. */
#ifndef TX_TEST_H
#define TX_TEST_H

#include <string.h>
#include "../tap.h"
#include "tx_cluster.h"

#define RECORDS		32
#define LONG		200		/* bytes of a record of table 1: four lines */
#define FEW		8		/* records that a transaction accesses at most */

static const struct rmc_tx_table tables[] = {
	{ .records = RECORDS, .bytes = sizeof(uint64_t) },
	{ .records = RECORDS, .bytes = LONG },
	{ .records = RECORDS, .bytes = 48, .group = 4 },
};

static const struct rmc_tx_options options = {
	.system = "sw", .table = tables, .tables = 3, .records = FEW, .slots = 2, .tries = 3,
	.attempts = 5,
};

static struct cluster c;

static inline struct rmc_tx_db *db(int node)
{
	return c.node[node].db;
}

static inline void open_all(const struct rmc_tx_options *o)
{
	memset(&c, 0, sizeof(c));
	cluster_open(&c, CLUSTER_NODES, o);
}

/* A long record holds a number in all of its words */
static inline void load(uint32_t table, uint64_t rid, uint64_t value)
{
	uint64_t word[LONG / sizeof(uint64_t)];
	size_t i, n = tables[table].bytes / sizeof(*word);

	for (i = 0; i < n; i++)
		word[i] = value;
	CHECK_EQ(rmc_tx_load(db((int)rmc_tx_home(db(0), rmc_tx_record(table, rid))),
			     rmc_tx_record(table, rid), word, tables[table].bytes), 0);
}

static inline int get(struct rmc_tx *t, uint32_t table, uint64_t rid, uint64_t *value)
{
	size_t n = tables[table].bytes, i;
	const uint64_t *p;
	int err = rmc_tx_get(t, rmc_tx_record(table, rid), n, (const void **)&p);

	if (err)
		return err;
	for (i = 1; i < n / sizeof(*p); i++)
		CHECK_EQ(p[i], p[0]);
	*value = p[0];
	return 0;
}

static inline int put(struct rmc_tx *t, uint32_t table, uint64_t rid, uint64_t value)
{
	uint64_t word[LONG / sizeof(uint64_t)];
	size_t n = tables[table].bytes, i;

	for (i = 0; i < n / sizeof(*word); i++)
		word[i] = value;
	return rmc_tx_put(t, rmc_tx_record(table, rid), word, n);
}

/* The value of a record, read by a transaction of its own; or its error, negated */
static inline int64_t value_of(int node, uint32_t table, uint64_t rid)
{
	uint64_t value = 0;
	struct rmc_tx *t;
	int err;

	CHECK_EQ(rmc_tx_begin(db(node), &t), 0);
	err = get(t, table, rid, &value);
	if (err) {
		rmc_tx_abort(t);
		return err < 0 ? err : -err;
	}
	CHECK_EQ(rmc_tx_commit(t), 0);
	return (int64_t)value;
}

static inline struct rmc_tx_stats stats(int node)
{
	struct rmc_tx_stats s;

	rmc_tx_stats(db(node), &s);
	return s;
}

static inline void change(int node, uint32_t table, uint64_t rid, uint64_t value)
{
	struct rmc_tx *t;

	CHECK_EQ(rmc_tx_begin(db(node), &t), 0);
	CHECK_EQ(put(t, table, rid, value), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK_EQ(rmc_tx_quiet(db(node)), 0);
}

static inline struct record *record_at(uint32_t table, uint64_t rid)
{
	uint64_t at;
	int member;

	rmc_tx_locate(db(0), rmc_tx_record(table, rid), &member, &at);
	return (struct record *)(c.node[member].segment + at);
}

#endif /* TX_TEST_H */
