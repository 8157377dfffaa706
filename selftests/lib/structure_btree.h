/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The B-tree's shape, its scans, and blocks that a faulty client has stored. Part of
 * test_structures.c
 */
#ifndef STRUCTURE_BTREE_H
#define STRUCTURE_BTREE_H

static const struct structure btrees[] = {
	BTREE("B-tree", RMC_BTREE_BYTES_MIN),
	BTREE("B-tree, an even number of entries", 16 + 24 * 4),
	BTREE("B-tree, more", 16 + 24 * 7),
};

/* struct btree_head: kind, level, zero, count; entries from 8 on, then children */
#define BTREE_LEVEL	2
#define BTREE_COUNT	4

static uint32_t btree_inner(void)
{
	return (uint32_t)(memory.bytes - 16) / 24;
}

static uint32_t btree_most(const uint8_t *d)
{
	return d[BTREE_LEVEL] ? btree_inner() : (uint32_t)(memory.bytes - 8) / 16;
}

static uint64_t btree_child(const uint8_t *d, uint32_t i)
{
	uint64_t at;

	memcpy(&at, d + 8 + 16 * btree_inner() + 8 * i, 8);
	return at;
}

/* Blocks below and with this one, whose keys are low .. high - 1; 0: not as it has to be */
static uint64_t btree_blocks(uint64_t at, int level, uint64_t low, uint64_t high, uint64_t *keys)
{
	const uint8_t *d = local_data(&memory, at);
	uint64_t key, n = 1, below;
	uint32_t count, i;

	memcpy(&count, d + BTREE_COUNT, 4);
	if ((level >= 0 && (d[BTREE_LEVEL] != level || count < (btree_most(d) - 1) / 2)) ||
	    count > btree_most(d))
		return 0;
	*keys += count;
	for (i = 0; i <= count; i++) {
		key = high;
		if (i < count)
			memcpy(&key, d + 8 + 16 * i, 8);
		if (key < low || key > high || (i < count && key == high))
			return 0;
		if (d[BTREE_LEVEL]) {
			below = btree_blocks(btree_child(d, i), d[BTREE_LEVEL] - 1, low, key, keys);
			if (!below)
				return 0;
			n += below;
		}
		low = key + 1;
	}
	return n;
}

/* Nothing has to be split for this key */
static bool leaf_has_room(uint64_t key)
{
	const uint8_t *d = local_data(&memory, LOCAL_AT);
	uint64_t at = LOCAL_AT, e;
	uint32_t count, i;

	for (;; at = btree_child(d, i), d = local_data(&memory, at)) {
		memcpy(&count, d + BTREE_COUNT, 4);
		for (i = 0; i < count; i++) {
			memcpy(&e, d + 8 + 16 * i, 8);
			if (e > key)
				break;
		}
		if (!d[BTREE_LEVEL])
			return count < btree_most(d);
	}
}

static void check_shape(uint64_t there)
{
	uint64_t keys = 0;

	CHECK_EQ(btree_blocks(LOCAL_AT, -1, 0, ~0ULL, &keys), memory.blocks - memory.frees);
	CHECK_EQ(keys, there);
	CHECK(one.most_held <= 8);
}

/* After each insertion and deletion, in several orders; no block is lost */
static void balanced(void)
{
	struct action a = { .value = 1 };
	unsigned int order, i, n = 120;
	uint64_t v, frees;
	bool room;
	size_t s;

	for (s = 0; s < ARRAY_SIZE(btrees); s++) {
		for (order = 0; order < 16; order++) {
			begin(&btrees[s], BLOCKS);
			for (i = 0; i < 2 * n; i++) {
				unsigned int k = i % n, how = i < n ? order % 4 : order / 4;

				/* rising, falling, from both ends, shuffled */
				a.key = how == 0 ? k : how == 1 ? n - 1 - k :
					how == 2 ? (k % 2 ? n - 1 - k / 2 : k / 2) : k * 77 % n;
				a.what = i < n ? INSERT : DELETE;
				room = leaf_has_room(a.key);
				frees = memory.frees;
				CHECK_EQ(st->act(first, &a, &v), 0);
				CHECK(i >= n || !room || memory.frees == frees);
				check_shape(i < n ? i + 1 : 2 * n - 1 - i);
			}
			CHECK_EQ(memory.frees, BLOCKS - 1);
			end();
		}
	}
}

static void continued_btree_scans(void)
{
	static const size_t pieces[] = { 1, 2, 7, 16, 64 };
	struct action a = { .what = PUT };
	struct rmc_pair pairs[65];
	struct rmc_btree *t;
	uint64_t next, from, v;
	unsigned int calls;
	size_t found, i, n, k;

	begin(&btrees[0], BLOCKS);
	t = (struct rmc_btree *)first;
	for (a.key = 0; a.key < 180; a.key += 3) {
		a.value = a.key + 5;
		CHECK_EQ(st->act(first, &a, &v), 0);
	}
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		for (next = n = calls = 0; next != RMC_TREE_KEY_NONE && calls < 100; calls++) {
			memset(pairs, 0xff, sizeof(pairs));
			CHECK_EQ(rmc_btree_scan(t, next, 1000, pairs, pieces[i], &found, &next),
				 0);
			CHECK(found <= pieces[i]);
			CHECK_EQ(pairs[pieces[i]].key, ~0ULL);
			for (k = 0; k < found; k++, n++) {
				CHECK_EQ(pairs[k].key, 3 * n);
				CHECK_EQ(pairs[k].value, 3 * n + 5);
			}
		}
		CHECK_EQ(n, 60);
		/* each call has leaves of one to five keys, and those between them */
		CHECK(calls <= 60 / pieces[i] + 8);
	}
	for (from = 0; from < 180; from++) {
		CHECK_EQ(rmc_btree_scan(t, from, from + 4, pairs, 64, &found, &next), 0);
		v = from + 4 < 179 ? from + 4 : 179;
		CHECK_EQ(found, v / 3 + 1 - (from + 2) / 3);
		CHECK_EQ(next, RMC_TREE_KEY_NONE);
		CHECK(!found || pairs[0].key == (from + 2) / 3 * 3);
	}
	CHECK_EQ(rmc_btree_scan(t, 0, 179, pairs, 64, &found, &next), 0);
	CHECK(found < 60 && next != RMC_TREE_KEY_NONE);	/* so many leaves, not all */
	CHECK_EQ(rmc_btree_scan(t, 5, 4, pairs, 1, &found, &next), -EINVAL);
	CHECK_EQ(rmc_btree_scan(t, 5, 6, pairs, 0, &found, &next), -EINVAL);
	CHECK_EQ(rmc_btree_scan(t, 5, RMC_TREE_KEY_NONE, pairs, 1, &found, &next), -EINVAL);
	CHECK_EQ(rmc_btree_get(t, RMC_TREE_KEY_NONE, &v), -EINVAL);
	CHECK_EQ(rmc_btree_put(t, RMC_TREE_KEY_NONE, 1), -EINVAL);
	CHECK_EQ(rmc_btree_delete(t, RMC_TREE_KEY_NONE), -EINVAL);
	end();
}

static void bad_btree_blocks(void)
{
	const size_t child = 8 + 16 * 3;
	const struct bad root[] = {
		{ "kind", 0, 2, RMC_BLOCK_TREE, -EPROTO },
		{ "level", 2, 1, 20, -EPROTO },
		{ "level above that of the child", 2, 1, 9, -EPROTO },
		{ "count", 4, 4, 4, -EPROTO },
		{ "count, large", 4, 4, 0xffffffff, -EPROTO },
		{ "no entries", 4, 4, 0, -EPROTO },
		{ "child, none", child, 8, 0, -EPROTO },
		{ "child, itself", child, 8, SELF, -EPROTO },
		{ "child, beyond", child, 8, ~0ULL, -EPROTO },
		{ "child, not a block", child, 8, LOCAL_AT + 3, -EPROTO },
	}, leaf[] = {
		{ "kind", 0, 2, RMC_BLOCK_FREE, -EPROTO },
		{ "never written", 0, 2, 0, -EPROTO },
		{ "level", 2, 1, 1, -EPROTO },
		{ "count", 4, 4, 6, -EPROTO },
	};
	uint8_t *d;
	uint64_t at, keys = 0, v, next;
	struct rmc_pair pairs[64];
	size_t i, found;

	begin(&btrees[0], BLOCKS);
	one.attempts = 4;
	fill_tree(60);
	for (i = 0; i < ARRAY_SIZE(root); i++)
		try_bad(&root[i], LOCAL_AT, 0);
	for (at = LOCAL_AT, d = local_data(&memory, at); d[BTREE_LEVEL];
	     at = btree_child(d, 0), d = local_data(&memory, at))
		;
	for (i = 0; i < ARRAY_SIZE(leaf); i++)
		try_bad(&leaf[i], at, 0);
	/* keys that do not rise: a scan does not return them twice */
	memcpy(&v, d + 8 + 16, 8);
	memset(d + 8 + 16, 0, 8);
	CHECK_EQ(rmc_btree_scan((struct rmc_btree *)first, 0, 59, pairs, 64, &found, &next),
		 -EPROTO);
	memcpy(d + 8 + 16, &v, 8);
	CHECK(btree_blocks(LOCAL_AT, -1, 0, ~0ULL, &keys));
	end();
}

#endif /* STRUCTURE_BTREE_H */
