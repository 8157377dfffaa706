/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Read set and write set of a transaction: one table of the records that it has accessed. */
#include <stdlib.h>
#include <string.h>
#include "state.h"

static size_t image_bytes(const struct rmc_tx_db *db)
{
	return (size_t)db->o.records * db->shape.largest;
}

static size_t whole_lines(size_t bytes)
{
	return (bytes + RMC_CACHE_LINE - 1) & ~(size_t)(RMC_CACHE_LINE - 1);
}

/* Registered memory of a set: images, the words that commits read again, what the system needs */
size_t rmc_tx_set_bytes(const struct rmc_tx_db *db)
{
	size_t seen = (size_t)db->o.records * sizeof(uint64_t);

	size_t more = db->system->more_bytes ? db->system->more_bytes(db) : 0;

	return image_bytes(db) + whole_lines(seen) + whole_lines(more);
}

int rmc_tx_set_init(struct tx_set *s, const struct rmc_tx_db *db, uint8_t *memory)
{
	uint32_t n = 4;

	while (n < 2 * db->o.records)
		n *= 2;
	s->max = db->o.records;
	s->mask = n - 1;
	s->size = image_bytes(db);
	s->image = memory;
	s->seen = (uint64_t *)(memory + s->size);
	s->more = memory + s->size + whole_lines(s->max * sizeof(*s->seen));
	s->control.set = s;
	s->access = (struct tx_access *)calloc(s->max, sizeof(*s->access));
	s->write = (struct tx_access **)calloc(s->max, sizeof(*s->write));
	s->index = (uint32_t *)calloc(n, sizeof(*s->index));
	if (!db->system->data_at)
		s->data = (uint8_t *)aligned_alloc(RMC_CACHE_LINE, s->size);
	return s->access && s->write && s->index && (s->data || db->system->data_at) ? 0 :
	       rmc_fail(ENOMEM, "out of memory");
}

void rmc_tx_set_free(struct tx_set *s)
{
	free(s->access);
	free(s->write);
	free(s->index);
	free(s->data);
}

static uint32_t home(const struct tx_set *s, struct rmc_tx_addr at)
{
	return (uint32_t)((at.rid * RMC_TX_TABLES_MAX + at.table) * 0x9e3779b97f4a7c15ULL >> 32) &
	       s->mask;
}

/* The entry of a record, or the free one where it would be: less than half are used */
static uint32_t *entry_of(const struct tx_set *s, struct rmc_tx_addr at)
{
	uint32_t i;

	for (i = home(s, at); s->index[i]; i = (i + 1) & s->mask) {
		const struct tx_access *a = &s->access[s->index[i] - 1];

		if (a->rid == at.rid && a->table == at.table)
			break;
	}
	return &s->index[i];
}

void rmc_tx_set_clear(struct tx_set *s)
{
	/* short transactions do not pay for the length of the index */
	if (s->n < s->mask / 16)
		while (s->n--)
			*entry_of(s, rmc_tx_record(s->access[s->n].table, s->access[s->n].rid)) = 0;
	else
		memset(s->index, 0, ((size_t)s->mask + 1) * sizeof(*s->index));
	s->n = 0;
	s->writes = 0;
	s->used = 0;
}

int rmc_tx_set_find(struct rmc_tx *t, struct rmc_tx_addr at, struct tx_access **found)
{
	struct rmc_tx_db *db = t->db;
	struct tx_set *s = t->s;
	struct tx_access *a;
	uint32_t *entry;
	uint64_t offset;
	int member;

	if (rmc_tx_locate(db, at, &member, &offset))
		return -EINVAL;
	entry = entry_of(s, at);
	if (*entry) {
		*found = &s->access[*entry - 1];
		return 0;
	}
	if (s->n == s->max)
		return -ENOSPC;
	a = &s->access[s->n];
	memset(a, 0, sizeof(*a));
	a->rid = at.rid;
	a->table = at.table;
	a->len = db->shape.table[at.table].bytes;
	a->offset = db->team->offset + db->o.at + offset;
	a->member = member;
	a->nid = rmc_team_nid(db->team, member);
	if (member == db->team->self && !db->system->data_at &&
	    !(db->o.flags & RMC_TX_ALL_REMOTE))
		a->local = (struct record *)(db->base + offset);
	a->image = s->image + s->used;
	a->data = db->system->data_at ? a->image + db->system->data_at : s->data + s->used;
	a->seen = &s->seen[s->n];
	a->set = s;
	s->used += db->shape.table[at.table].stride;
	*entry = ++s->n;
	db->stats.accesses++;
	db->stats.local += a->local != NULL;
	*found = a;
	return 0;
}

/* By node, so that each has its locks in one batch; then by address */
static int by_node(const void *p, const void *q)
{
	const struct tx_access *a = *(struct tx_access *const *)p;
	const struct tx_access *b = *(struct tx_access *const *)q;

	if (a->nid != b->nid)
		return a->nid < b->nid ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

void rmc_tx_set_collect(struct tx_set *s)
{
	uint32_t i;

	s->writes = 0;
	for (i = 0; i < s->n; i++)
		if (s->access[i].written)
			s->write[s->writes++] = &s->access[i];
	qsort(s->write, s->writes, sizeof(*s->write), by_node);
}
