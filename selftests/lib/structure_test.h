/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Structures over memory of the test: what the tests know of each, a sequential model of it, and
 * results as one number.
 */
#ifndef STRUCTURE_TEST_H
#define STRUCTURE_TEST_H

#include <rmc/ds.h>
#include "local_blocks.h"

#define KEYS		300
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ABSENT		0		/* no value of a test */

enum what { GET, PUT, INSERT, UPDATE, DELETE, SCAN, WHATS };

struct action {
	enum what what;
	uint64_t key, value;		/* SCAN: as many keys from the key on */
};

struct structure {
	const char *name;
	size_t bytes;
	uint64_t fixed;
	int argument;			/* flags, coupling */
	uint32_t areas;			/* enum rmc_blocks_structure */
	bool ordered;			/* it has scans */
	bool atomic;			/* it needs operations that are: rmc_block_ops */
	bool shrinks;			/* without keys it has its fixed blocks only */
	uint64_t takes;			/* blocks that an operation allocates, at most */
	void *(*open)(struct rmc_blocks *blocks, int argument);
	void (*close)(void *s);
	/* of a scan: a sum of what it found */
	int (*act)(void *s, const struct action *a, uint64_t *value);
};

/* As the structure ought to be */
struct model {
	uint64_t value[KEYS];
};

static uint64_t test_seed = 88172645463325252ULL;

static inline unsigned int rnd(unsigned int n)
{
	test_seed ^= test_seed << 13;
	test_seed ^= test_seed >> 7;
	test_seed ^= test_seed << 17;
	return (unsigned int)(test_seed >> 33) % n;
}

/* Depends on order and number of the pairs */
static inline uint64_t add_pair(uint64_t sum, uint64_t key, uint64_t value)
{
	return (sum ^ (key * 31 + value)) * 0x100000001b3ULL;
}

static inline int model_act(struct model *m, const struct action *a, uint64_t *value)
{
	uint64_t *v = &m->value[a->key], i;

	*value = 0;
	switch (a->what) {
	case GET:
		*value = *v;
		return *v ? 0 : -ENOENT;
	case INSERT:
		if (*v)
			return -EEXIST;
		*v = a->value;
		return 0;
	case UPDATE:
		if (!*v)
			return -ENOENT;
		/* fall through */
	case PUT:
		*v = a->value;
		return 0;
	case DELETE:
		if (!*v)
			return -ENOENT;
		*v = ABSENT;
		return 0;
	default:
		for (i = a->key; i < a->key + a->value && i < KEYS; i++)
			if (m->value[i])
				*value = add_pair(*value, i, m->value[i]);
		return 0;
	}
}

#define POINT_ACTS(NAME)								\
static int NAME##_act(void *s, const struct action *a, uint64_t *value)		\
{											\
	struct rmc_##NAME *t = (struct rmc_##NAME *)s;					\
											\
	*value = 0;									\
	switch (a->what) {								\
	case GET:									\
		return rmc_##NAME##_get(t, a->key, value);				\
	case PUT:									\
		return rmc_##NAME##_put(t, a->key, a->value);				\
	case INSERT:									\
		return rmc_##NAME##_insert(t, a->key, a->value);			\
	case UPDATE:									\
		return rmc_##NAME##_update(t, a->key, a->value);			\
	case DELETE:									\
		return rmc_##NAME##_delete(t, a->key);					\
	default:									\
		return NAME##_scan(t, a, value);					\
	}										\
}											\
static void NAME##_close(void *s)							\
{											\
	rmc_##NAME##_close((struct rmc_##NAME *)s);					\
}

static void *table_open(struct rmc_blocks *blocks, int argument)
{
	return rmc_table_open(blocks, (unsigned int)argument);
}

static int table_scan(struct rmc_table *t, const struct action *a, uint64_t *value)
{
	(void)t;
	(void)a;
	(void)value;
	return -ENOSYS;
}

POINT_ACTS(table)

static void *map_open(struct rmc_blocks *blocks, int argument)
{
	(void)argument;
	return rmc_map_open(blocks);
}

static int map_scan(struct rmc_map *m, const struct action *a, uint64_t *value)
{
	(void)m;
	(void)a;
	(void)value;
	return -ENOSYS;
}

POINT_ACTS(map)

static void *tree_open(struct rmc_blocks *blocks, int argument)
{
	return rmc_tree_open(blocks, (enum rmc_tree_coupling)argument);
}

/* All at one instant, or -EXDEV */
static int tree_scan(struct rmc_tree *t, const struct action *a, uint64_t *value)
{
	struct rmc_pair pairs[KEYS];
	uint64_t next;
	size_t found, i;
	int err = rmc_tree_scan(t, a->key, a->key + a->value - 1, pairs, KEYS, &found, &next);

	for (i = 0; !err && i < found; i++)
		*value = add_pair(*value, pairs[i].key, pairs[i].value);
	return err ? err : next == RMC_TREE_KEY_NONE ? 0 : -EXDEV;
}

POINT_ACTS(tree)

static void *btree_open(struct rmc_blocks *blocks, int argument)
{
	(void)argument;
	return rmc_btree_open(blocks);
}

static int btree_scan(struct rmc_btree *t, const struct action *a, uint64_t *value)
{
	struct rmc_pair pairs[KEYS];
	uint64_t next;
	size_t found, i;
	int err = rmc_btree_scan(t, a->key, a->key + a->value - 1, pairs, KEYS, &found, &next);

	for (i = 0; !err && i < found; i++)
		*value = add_pair(*value, pairs[i].key, pairs[i].value);
	return err ? err : next == RMC_TREE_KEY_NONE ? 0 : -EXDEV;
}

POINT_ACTS(btree)

#endif /* STRUCTURE_TEST_H */
