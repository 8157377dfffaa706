/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Are the transactions of a finished run strictly serializable? Each write has a value of its own,
 * so each read names the write that it saw, and memory has shown the order of the writes to each
 * item. The dependencies are therefore exact: between writes, from write to read, from a read to
 * the write after the one that it saw, and from what completed to what began later. An order
 * exists if these edges have no cycle.
 */
#ifndef TX_ORACLE_H
#define TX_ORACLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ORACLE_TX	4
#define ORACLE_ITEMS	24	/* what is read and written by itself */
#define ORACLE_WRITES	8	/* to an item */
#define ORACLE_ATTEMPTS	4
#define ORACLE_UNREAD	0xff

/* Values: 0 is what memory has at first */
#define ORACLE_VALUE(tx, attempt)	(1 + (tx) * ORACLE_ATTEMPTS + (attempt))
#define ORACLE_WRITER(value)		(((uint32_t)(value) - 1) / ORACLE_ATTEMPTS)
#define ORACLE_ATTEMPT(value)		(((uint32_t)(value) - 1) % ORACLE_ATTEMPTS)

struct oracle_tx {
	bool committed;
	bool in_doubt;		/* its coordinator died: what it wrote may be there in part */
	uint8_t attempt;	/* that has committed */
	uint8_t before;		/* bit t: transaction t was complete before this one began */
	uint8_t saw[ORACLE_ITEMS];	/* ORACLE_UNREAD or the value */
	uint32_t writes;	/* bit of each item */
};

struct oracle {
	struct oracle_tx tx[ORACLE_TX];
	uint32_t count;
	struct oracle_item {
		uint8_t n;
		uint8_t value[ORACLE_WRITES];	/* in the order in which memory had them */
	} item[ORACLE_ITEMS];
	const char *why;	/* the first rule that does not hold */
	uint8_t edge[ORACLE_TX];	/* bit u: must come before transaction u */
};

static inline bool oracle_wrong(struct oracle *o, const char *why)
{
	if (!o->why)
		o->why = why;
	return false;
}

static inline int oracle_place(const struct oracle_item *it, uint8_t value)
{
	int k;

	for (k = 0; k < it->n; k++)
		if (it->value[k] == value)
			return k;
	return -1;
}

/* Writes of an item: each by a transaction that committed, each once */
static inline bool oracle_writes(struct oracle *o, uint32_t i)
{
	struct oracle_item *it = &o->item[i];
	uint32_t t, k, w;

	for (k = 0; k < it->n; k++) {
		w = ORACLE_WRITER(it->value[k]);
		if (!it->value[k] || w >= o->count || !(o->tx[w].writes >> i & 1))
			return oracle_wrong(o, "a value that nobody wrote there");
		if (o->tx[w].in_doubt)
			continue;
		if (!o->tx[w].committed || o->tx[w].attempt != ORACLE_ATTEMPT(it->value[k]))
			return oracle_wrong(o, "a squashed transaction has changed memory");
		if (oracle_place(it, it->value[k]) != (int)k)
			return oracle_wrong(o, "a write took effect twice");
	}
	for (t = 0; t < o->count; t++)
		if (o->tx[t].committed && o->tx[t].writes >> i & 1 &&
		    oracle_place(it, (uint8_t)ORACLE_VALUE(t, o->tx[t].attempt)) < 0)
			return oracle_wrong(o, "a write of a committed transaction is missing");
	return true;
}

static inline void oracle_edge(struct oracle *o, uint32_t from, uint32_t to)
{
	if (from != to)
		o->edge[from] |= (uint8_t)(1 << to);
}

/* The first write of an item from place k on that is not part of a transaction in doubt */
static inline uint32_t oracle_next(const struct oracle *o, const struct oracle_item *it, uint32_t k)
{
	while (k < it->n && o->tx[ORACLE_WRITER(it->value[k])].in_doubt)
		k++;
	return k;
}

static inline bool oracle_reads(struct oracle *o, uint32_t t)
{
	uint32_t i, saw, k;
	int place;

	for (i = 0; i < ORACLE_ITEMS; i++) {
		struct oracle_item *it = &o->item[i];

		saw = o->tx[t].saw[i];
		if (saw == ORACLE_UNREAD)
			continue;
		place = saw ? oracle_place(it, (uint8_t)saw) : -1;
		if (saw && place < 0)
			return oracle_wrong(o, "a committed transaction read what was not written");
		if (saw && !o->tx[ORACLE_WRITER(saw)].in_doubt)
			oracle_edge(o, ORACLE_WRITER(saw), t);
		k = oracle_next(o, it, (uint32_t)(place + 1));
		/* not its own write, if that is the next */
		if (k < it->n && ORACLE_WRITER(it->value[k]) == t)
			k = oracle_next(o, it, k + 1);
		if (k < it->n)
			oracle_edge(o, t, ORACLE_WRITER(it->value[k]));
	}
	return true;
}

/* Whether all that committed is strictly serializable and all else left nothing */
static inline bool oracle_check(struct oracle *o)
{
	struct oracle_item *it;
	uint32_t i, k, t, u;

	o->why = NULL;
	memset(o->edge, 0, sizeof(o->edge));
	for (i = 0; i < ORACLE_ITEMS; i++) {
		if (!oracle_writes(o, i))
			return false;
		it = &o->item[i];
		for (k = oracle_next(o, it, 0); k < it->n; k = u) {
			u = oracle_next(o, it, k + 1);
			if (u < it->n)
				oracle_edge(o, ORACLE_WRITER(it->value[k]),
					    ORACLE_WRITER(it->value[u]));
		}
	}
	for (t = 0; t < o->count; t++) {
		if (!o->tx[t].committed)
			continue;
		if (!oracle_reads(o, t))
			return false;
		for (u = 0; u < o->count; u++)
			if (o->tx[t].before >> u & 1 && o->tx[u].committed)
				oracle_edge(o, u, t);
	}
	for (k = 0; k < o->count; k++)
		for (t = 0; t < o->count; t++)
			if (o->edge[t] >> k & 1)
				o->edge[t] |= o->edge[k];
	for (t = 0; t < o->count; t++)
		if (o->edge[t] >> t & 1)
			return oracle_wrong(o, "no order explains what they read");
	return true;
}

#endif
