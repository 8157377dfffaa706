/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Tables: which member has a record, and where. A member's memory:
 *
 *	| store | table 0: record, record, .. | table 1 | ..		each record in whole lines
 */
#include "state.h"
#include "store.h"

static int wrong_table(unsigned int i, const char *why)
{
	return rmc_fail(EINVAL, "table %u: %s", i, why);
}

int rmc_tx_shape(struct tx_shape *s, const struct tx_system *system, int nodes,
		 const struct rmc_tx_options *o)
{
	uint64_t at = sizeof(struct tx_store), groups;
	unsigned int i;

	if (nodes < 1 || !o->tables || o->tables > RMC_TX_TABLES_MAX || !o->table)
		return rmc_fail(EINVAL, "1 to %d tables", RMC_TX_TABLES_MAX);
	if (o->at % RMC_CACHE_LINE)
		return rmc_fail(EINVAL, "the offset of a database is divisible by %d",
				RMC_CACHE_LINE);
	s->tables = o->tables;
	s->largest = 0;
	for (i = 0; i < o->tables; i++) {
		const struct rmc_tx_table *from = &o->table[i];
		struct tx_table *t = &s->table[i];

		if (from->reserved || !from->bytes || from->bytes > RMC_TX_RECORD_MAX)
			return wrong_table(i, "records have 1 to 4096 bytes; reserved is 0");
		if (!from->records || from->records > RMC_OFFSET_MAX || from->group > from->records)
			return wrong_table(i, "no records, too many, or a group of more");
		t->records = from->records;
		t->group = from->group ? from->group : 1;
		t->bytes = from->bytes;
		t->stride = (uint32_t)system->bytes(from->bytes);
		groups = (t->records + t->group - 1) / t->group;
		t->per_node = (groups + (uint64_t)nodes - 1) / (uint64_t)nodes * t->group;
		if (t->per_node > (RMC_OFFSET_MAX - at) / t->stride)
			return wrong_table(i, "larger than a segment");
		t->at = at;
		at += t->per_node * t->stride;
		if (t->stride > s->largest)
			s->largest = t->stride;
	}
	s->bytes = at;
	return 0;
}

int rmc_tx_locate(const struct rmc_tx_db *db, struct rmc_tx_addr a, int *member, uint64_t *at)
{
	uint64_t nodes = (uint64_t)db->team->nodes, group, n;
	const struct tx_table *t;

	if (a.table >= db->shape.tables)
		return -EINVAL;
	t = &db->shape.table[a.table];
	if (a.rid >= t->records)
		return -EINVAL;
	group = a.rid / t->group;
	n = group / nodes * t->group + a.rid % t->group;
	*member = (int)(group % nodes);
	*at = t->at + n * t->stride;
	return 0;
}

int rmc_tx_home(const struct rmc_tx_db *db, struct rmc_tx_addr record)
{
	uint64_t at;
	int member;

	return rmc_tx_locate(db, record, &member, &at) ? -EINVAL : member;
}
