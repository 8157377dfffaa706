/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Histories of clients that append numbers to lists, and read whole lists, in transactions: what
 * their tests share.
 */
#ifndef TX_LISTS_H
#define TX_LISTS_H

#include <stdlib.h>
#include "check.h"
#include "../tap.h"

static uint64_t clock_now;

/* One clock for all */
static inline uint64_t tick(void)
{
	return __atomic_add_fetch(&clock_now, 1, __ATOMIC_SEQ_CST);
}

static inline uint64_t seed_of_client(uint64_t seed)
{
	return seed * 0x9e3779b97f4a7c15ULL;
}

static inline unsigned int choose(uint64_t *seed, unsigned int n)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (unsigned int)(*seed >> 33) % n;
}

/* A history without transactions, whose keys are the numbers of the lists */
static inline void init_lists(struct check_history *h, int lists)
{
	char name[16];
	int i;

	check_init(h);
	for (i = 0; i < lists; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		check_key_of(h, name);
	}
}

/* A transaction that begins a history's next entry; its parts follow */
static inline void record_transaction(struct check_history *h, int client, uint64_t invoke, int err)
{
	if (check_txn(h, (uint32_t)client, invoke, tick(),
		      err ? CHECK_ABORTED : CHECK_COMMITTED) < 0)
		abort();
}

static inline void record_append(struct check_history *h, int list, uint64_t value)
{
	if (check_append(h, (uint32_t)list, value))
		abort();
}

/* known: what was read counts; otherwise only that it was read */
static inline void record_read(struct check_history *h, int list, const uint64_t *seen, uint64_t n,
			       bool known)
{
	if (check_list(h, (uint32_t)list, seen, known ? (uint32_t)n : CHECK_NONE))
		abort();
}

/* All transactions of a client */
static inline void add_history(struct check_history *all, const struct check_history *h)
{
	size_t i, k;

	for (i = 0; i < h->txns; i++) {
		const struct check_txn *t = &h->txn[i];

		check_txn(all, t->client, t->invoke, t->complete, (enum check_outcome)t->outcome);
		for (k = t->first; k < t->first + t->parts; k++) {
			const struct check_part *p = &h->part[k];

			if (p->append)
				check_append(all, p->key, p->value);
			else
				check_list(all, p->key, h->element + p->first, p->length);
		}
	}
}

static inline void print_finding(void *arg, const struct check_finding *f)
{
	check_print((const struct check_history *)arg, f, "# ", stdout);
}

/* Is the history strictly serializable? */
static inline void check_lists(struct check_history *all)
{
	struct check_options co = { .strict = true, .found = print_finding, .arg = all };
	struct check_result result;

	CHECK_EQ(check_serial(all, &co, &result), 0);
	CHECK_EQ(result.verdict, CHECK_OK);
}

#endif /* TX_LISTS_H */
