/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Blocks that a faulty client has stored: part of test_structures.c, which has begin() and end().
 */
#ifndef STRUCTURE_BAD_H
#define STRUCTURE_BAD_H

struct bad {
	const char *what;
	size_t offset, bytes;	/* in the block */
	uint64_t value;
	int status;		/* of an operation that comes there; 0: of none */
};

#define SELF	0x5e1f		/* the block's own address */
#define FOREIGN	((uint64_t)LOCAL_AT)	/* address of the first fixed block */

/* Each in turn; it is as before afterwards */
static void try_bad(const struct bad *b, uint64_t at, uint64_t key)
{
	uint8_t *to = local_data(&memory, at) + b->offset, was[8], others[8];
	uint64_t value = b->value == SELF ? at : b->value, v;
	struct action a = { .key = key, .value = 5 };
	unsigned int what;
	int err;

	memcpy(was, to, b->bytes);
	memcpy(to, &value, b->bytes);
	for (what = GET; what <= DELETE; what++) {
		a.what = (enum what)what;
		err = st->act(first, &a, &v);
		if (err != b->status)
			printf("# %s\n", b->what);
		CHECK_EQ(err, b->status);
		/* nothing was written there */
		memcpy(others, to, b->bytes);
		CHECK(!memcmp(others, &value, b->bytes));
	}
	memcpy(to, was, b->bytes);
}

static void bad_buckets(void)
{
	static const struct structure table = {
		.name = "table", .bytes = RMC_TABLE_BYTES, .fixed = 4, .argument = RMC_TABLE_DIRECT,
		.areas = RMC_BLOCKS_TABLE_DIRECT,
		.open = table_open, .close = table_close, .act = table_act,
	};
	/* struct bucket: kind, used, home, next */
	static const struct bad home[] = {
		{ "kind", 0, 2, RMC_BLOCK_TREE, -EPROTO },
		{ "kind of a free block", 0, 2, RMC_BLOCK_FREE, -EPROTO },
		{ "home", 4, 4, 2, -EPROTO },
		{ "home, upper bits", 3, 1, 1, -EPROTO },
		{ "used", 2, 1, 4, -EPROTO },
		{ "next, beyond", 8, 8, LOCAL_AT + 1000 * RMC_TABLE_BYTES, -EPROTO },
		{ "next, not a block", 8, 8, LOCAL_AT + 1, -EPROTO },
		{ "next, itself", 8, 8, SELF, -ELOOP },
		{ "next, a free block", 8, 8, LOCAL_AT + 20 * RMC_TABLE_BYTES, -EAGAIN },
	}, further[] = {
		{ "kind", 0, 2, RMC_BLOCK_MAP, -EPROTO },
		{ "never written", 0, 2, 0, -EPROTO },
		{ "freed", 0, 2, RMC_BLOCK_FREE, -EAGAIN },
		{ "another chain's", 4, 4, 2, -EAGAIN },
		{ "another chain's, upper bits", 3, 1, 1, -EAGAIN },
		{ "next, the home bucket", 8, 8, LOCAL_AT + RMC_TABLE_BYTES, -ELOOP },
		{ "used", 2, 1, 0x80, -EPROTO },
		{ "next, itself", 8, 8, SELF, -ELOOP },
	};
	static const uint16_t kind = RMC_BLOCK_FREE;
	struct action a = { .what = PUT };
	uint64_t v;
	size_t i;

	begin(&table, 30);
	one.attempts = 4;
	for (i = 0; i < 30 - 4; i++)
		memcpy(local_data(&memory, local_at(&memory, 4 + i)), &kind, sizeof(kind));
	/* three buckets: keys of residue 1 */
	for (a.key = 1; a.key < 21; a.key += 4)
		CHECK_EQ(st->act(first, &a, &v), 0);
	for (i = 0; i < ARRAY_SIZE(home); i++)
		try_bad(&home[i], local_at(&memory, 1), 41);
	for (i = 0; i < ARRAY_SIZE(further); i++)
		try_bad(&further[i], local_at(&memory, 4), 41);
	end();
}

static void fill_tree(unsigned int keys)
{
	struct action a = { .what = PUT, .value = 9 };
	uint64_t v;

	for (a.key = 0; a.key < keys; a.key++)
		CHECK_EQ(st->act(first, &a, &v), 0);
}

/* Below the root: the leaf of a key */
static uint64_t leaf_of(uint64_t key)
{
	uint64_t at = LOCAL_AT, e[2];
	uint32_t count, i;
	uint8_t *d;

	for (;;) {
		d = local_data(&memory, at);
		if (!d[2])
			return at;
		memcpy(&count, d + 4, 4);
		for (i = 0; i < count; i++) {
			memcpy(e, d + 32 + 16 * i, 16);
			if (e[0] <= key)
				at = e[1];
		}
	}
}

/* struct tree_head: kind, level, zero, count, low, high, right; entries from 32 on */
static const struct bad bad_roots[] = {
	{ "kind", 0, 2, RMC_BLOCK_BUCKET, -EPROTO },
	{ "level", 2, 1, 12, -EPROTO },
	{ "level above that of the child", 2, 1, 9, -EPROTO },
	{ "count", 4, 4, 6, -EPROTO },
	{ "count, large", 4, 4, 0xffffffff, -EPROTO },
	{ "no children", 4, 4, 0, -EPROTO },
	{ "range", 8, 8, RMC_TREE_KEY_NONE, -EPROTO },
	{ "a neighbour, but no end", 24, 8, FOREIGN, -EPROTO },
	{ "child above the key", 32, 8, 50, -EPROTO },
	{ "child, none", 40, 8, 0, -EPROTO },
	{ "child, itself", 40, 8, SELF, -EPROTO },
	{ "child, beyond", 40, 8, ~0ULL, -EPROTO },
}, bad_leaves[] = {
	{ "kind", 0, 2, RMC_BLOCK_FREE, -EPROTO },
	{ "level", 2, 1, 1, -EPROTO },
	{ "count", 4, 4, 7, -EPROTO },
	{ "low", 8, 8, 1, -EPROTO },
	{ "low above high", 8, 8, 1000, -EPROTO },
	{ "no neighbour, but an end", 24, 8, 0, -EPROTO },
}, bad_links[] = {
	/* the key is behind the link, as if its leaf had been split */
	{ "neighbour, itself", 24, 8, SELF, -EPROTO },
	{ "neighbour, the root", 24, 8, FOREIGN, -EPROTO },
	{ "neighbour, beyond", 24, 8, ~0ULL - 7, -EPROTO },
};

/* Keys of a leaf that do not rise, or are outside its range: a scan does not return them */
static void bad_leaf_keys(uint64_t at)
{
	static const uint64_t keys[][2] = {
		/* entry, its key */
		{ 1, 0 }, { 0, 1 }, { 1, 1000 }, { 0, 5 }, { 1, RMC_TREE_KEY_NONE },
	};
	struct rmc_pair pairs[64];
	uint64_t was, next;
	size_t found, i;
	unsigned int calls;
	uint8_t *to;
	int err;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		to = local_data(&memory, at) + 32 + 16 * keys[i][0];
		memcpy(&was, to, 8);
		memcpy(to, &keys[i][1], 8);
		/* continued until it ends, which it does */
		for (calls = 0, err = 0, next = 0; !err && next != RMC_TREE_KEY_NONE &&
		     calls < 100; calls++) {
			uint64_t from = next;

			err = rmc_tree_scan((struct rmc_tree *)first, from, 59, pairs, 1, &found,
					    &next);
			CHECK(err || (found <= 1 && next > from));
			CHECK(err || !found || (pairs[0].key >= from && pairs[0].key <= 59));
		}
		CHECK_EQ(err, -EPROTO);
		memcpy(to, &was, 8);
	}
	/* a neighbour that is not the next one */
	to = local_data(&memory, at) + 24;
	memcpy(&was, to, 8);
	next = leaf_of(20);
	memcpy(to, &next, 8);
	CHECK_EQ(rmc_tree_scan((struct rmc_tree *)first, 0, 59, pairs, 64, &found, &next), -EPROTO);
	memcpy(to, &was, 8);
	/* a leaf that ends before it begins: the scan does not go back */
	for (i = 0; i < 59; i++) {
		to = local_data(&memory, leaf_of(i)) + 16;
		memcpy(&was, to, 8);
		memset(to, 0, 8);
		for (calls = 0, err = 0, next = 0; !err && next != RMC_TREE_KEY_NONE &&
		     calls < 100; calls++)
			err = rmc_tree_scan((struct rmc_tree *)first, next, 59, pairs, 64, &found,
					    &next);
		CHECK(calls < 100);
		memcpy(to, &was, 8);
	}
}

static void bad_tree_blocks(void)
{
	struct structure tree = {
		.name = "tree", .bytes = RMC_TREE_BYTES_MIN, .fixed = 1, .ordered = true,
		.areas = RMC_BLOCKS_TREE,
		.open = tree_open, .close = tree_close, .act = tree_act,
	};
	struct action a = { .what = GET };
	uint64_t at, v, was;
	uint32_t count;
	int coupling;
	size_t i;

	for (coupling = RMC_TREE_LINK; coupling <= RMC_TREE_LATCH; coupling++) {
		tree.argument = coupling;
		begin(&tree, BLOCKS);
		one.attempts = 4;
		fill_tree(60);
		for (i = 0; i < ARRAY_SIZE(bad_roots); i++)
			try_bad(&bad_roots[i], LOCAL_AT, 0);
		at = leaf_of(0);
		for (i = 0; i < ARRAY_SIZE(bad_leaves); i++)
			try_bad(&bad_leaves[i], at, 0);
		/* its range ends too early: behind the link, if links count */
		memcpy(&was, local_data(&memory, at) + 16, 8);
		v = 1;
		memcpy(local_data(&memory, at) + 16, &v, 8);
		a.key = 1;
		CHECK_EQ(st->act(first, &a, &v), -EPROTO);
		for (i = 0; i < ARRAY_SIZE(bad_links); i++)
			try_bad(&bad_links[i], at, 1);
		a = (struct action){ .what = SCAN, .key = 0, .value = 5 };
		CHECK_EQ(st->act(first, &a, &v), -EPROTO);
		memcpy(local_data(&memory, at) + 16, &was, 8);
		CHECK_EQ(st->act(first, &a, &v), 0);
		bad_leaf_keys(at);
		/* a block whose keys are not of its range is not split */
		at = leaf_of(59);
		memcpy(&count, local_data(&memory, at) + 4, 4);
		a = (struct action){ .what = PUT, .value = 9 };
		for (a.key = 60; count < 5; a.key++, count++)
			CHECK_EQ(st->act(first, &a, &v), 0);
		v = 3;
		memcpy(local_data(&memory, at) + 32 + 2 * 16, &v, 8);
		CHECK_EQ(st->act(first, &a, &v), -EPROTO);
		end();
	}
	/* a root that has lost its children but one: too many links to the right, then none */
	tree.argument = RMC_TREE_LINK;
	begin(&tree, 2 * KEYS);
	one.attempts = 4;
	fill_tree(KEYS);
	at = leaf_of(0);
	local_data(&memory, LOCAL_AT)[2] = 1;		/* over leaves */
	count = 1;
	memcpy(local_data(&memory, LOCAL_AT) + 4, &count, 4);
	memcpy(local_data(&memory, LOCAL_AT) + 40, &at, 8);
	a = (struct action){ .what = GET, .key = 100 };
	CHECK_EQ(st->act(first, &a, &v), 0);
	a.key = KEYS - 1;
	CHECK_EQ(st->act(first, &a, &v), -EAGAIN);
	end();
}

static void bad_map_blocks(void)
{
	static const struct structure map = {
		.name = "map", .bytes = RMC_MAP_BYTES, .fixed = 1, .areas = RMC_BLOCKS_MAP,
		.open = map_open, .close = map_close, .act = map_act,
	};
	/* struct entry: kind, red, absent, key, value, left, right */
	static const struct bad head[] = {
		{ "kind", 0, 2, RMC_BLOCK_MAP, -EPROTO },
		{ "root, itself", 24, 8, SELF, -EPROTO },
		{ "root, beyond", 24, 8, ~0ULL, -EPROTO },
		{ "red", 2, 1, 4, -EPROTO },
		{ "a red child, but none", 2, 1, 2, -EPROTO },
	}, root[] = {
		{ "kind", 0, 2, RMC_BLOCK_FREE, -EPROTO },
		{ "red", 2, 1, 0x10, -EPROTO },
		{ "absent", 3, 1, 2, -EPROTO },
		{ "left, itself", 24, 8, SELF, -ELOOP },
		{ "left, the head", 24, 8, FOREIGN, -EPROTO },
		{ "left, not a block", 24, 8, LOCAL_AT + 3, -EPROTO },
	}, childless[] = {
		{ "a red child, but none, left", 2, 1, 1, -EPROTO },
		{ "a red child, but none, right", 2, 1, 2, -EPROTO },
	};
	uint64_t at, next;
	size_t i;

	begin(&map, BLOCKS);
	one.attempts = 4;
	fill_tree(60);
	memcpy(&at, local_data(&memory, LOCAL_AT) + 24, 8);
	for (i = 0; i < ARRAY_SIZE(head); i++)
		try_bad(&head[i], LOCAL_AT, 0);
	for (i = 0; i < ARRAY_SIZE(root); i++)
		try_bad(&root[i], at, 0);
	/* the first entry has no children */
	for (next = at; next; memcpy(&next, local_data(&memory, at) + 24, 8))
		at = next;
	for (i = 0; i < ARRAY_SIZE(childless); i++)
		try_bad(&childless[i], at, 0);
	end();
}

/* Anything at all: operations end, and read and write what is theirs */
static void any_damage(void)
{
	unsigned int round, n;
	struct action a;
	uint64_t v, at;
	size_t s;

	for (s = 0; s < ARRAY_SIZE(structures); s++) {
		begin(&structures[s], 60);
		one.attempts = 3;
		fill(40, 60);
		for (round = 0; round < 300; round++) {
			local_copy_memory(&memory, &kept);
			for (n = 1 + rnd(4); n; n--) {
				uint8_t *to = memory.data + rnd(40) * memory.bytes +
					      8 * rnd((unsigned int)memory.bytes / 8);

				at = local_at(&memory, rnd(60));
				if (rnd(2))
					memcpy(to, &at, 8);
				else
					to[rnd(8)] = (uint8_t)rnd(rnd(2) ? 256 : 8);
			}
			for (n = 0; n < 6; n++) {
				a = random_action(40, 1);
				st->act(first, &a, &v);
				CHECK_EQ(one.used, 0);
			}
		}
		/* what was left over in latches is none */
		for (n = 0; n < memory.blocks; n++)
			CHECK(!memory.state[n].latched);
		local_memory_free(&kept);
		end();
	}
}

/* --- the shape of a map --- */

/* The black height below a child; -1: two red ones in a row, or heights differ */
static int black_height(uint64_t at, bool red, unsigned int depth, uint64_t low, uint64_t high)
{
	uint64_t word[5];
	int left, right;
	uint8_t *d;

	if (!at)
		return 1;
	d = local_data(&memory, at);
	memcpy(word, d, sizeof(word));
	if (depth > 40 || word[1] < low || word[1] > high || (red && d[2]))
		return -1;
	left = black_height(word[3], d[2] & 1, depth + 1, low, word[1] - 1);
	right = black_height(word[4], d[2] & 2, depth + 1, word[1] + 1, high);
	return left < 0 || left != right ? -1 : left + !red;
}

static void red_and_black(void)
{
	static const struct structure map = {
		.name = "map", .bytes = RMC_MAP_BYTES, .fixed = 1, .areas = RMC_BLOCKS_MAP,
		.open = map_open, .close = map_close, .act = map_act, .takes = 3,
	};
	struct action a = { .what = INSERT, .value = 1 };
	unsigned int order, i;
	uint64_t v, root;

	for (order = 0; order < 4; order++) {
		begin(&map, KEYS + 1 + map.takes);
		for (i = 0; i < KEYS; i++) {
			/* rising, falling, from both ends, shuffled */
			a.key = order == 0 ? i : order == 1 ? KEYS - 1 - i :
				order == 2 ? (i % 2 ? KEYS - 1 - i / 2 : i / 2) : i * 77 % KEYS;
			CHECK_EQ(st->act(first, &a, &v), 0);
			memcpy(&root, local_data(&memory, LOCAL_AT) + 24, 8);
			CHECK(!local_data(&memory, LOCAL_AT)[2]);
			CHECK(black_height(root, false, 0, 0, KEYS) > 0);
		}
		CHECK(one.most_held <= 8);
		/* a key has one block, also after it has risen */
		CHECK_EQ(memory.frees, map.takes);
		end();
	}
}

#endif /* STRUCTURE_BAD_H */
