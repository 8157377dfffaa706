/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Blocks with the latches and schemes of <rmc/sync.h>. Part of test_blocks.c */
#ifndef BLOCKS_SYNC_H
#define BLOCKS_SYNC_H

/* What is executed within the call that issues it is in order, while nothing is lost */
#define ORDER		RMC_SYNC_TRUST_ORDER
#define BEST_RW		(ORDER | RMC_SYNC_SPEC | RMC_SYNC_COMBINE | RMC_SYNC_ASYNC)
#define BEST_EXCL	(ORDER | RMC_SYNC_SPEC | RMC_SYNC_WRITE_UNLATCH | RMC_SYNC_ASYNC)

static const struct setting sync_settings[] = {
	/* NAM-DB, NAM-DB++; detached, exclusive */
	{ "rw", RMC_TREE_LATCH, 60, NULL, 0, 0 }, { "rw", TABLE, 60, NULL, 0, 0 },
	{ "rw", MAP, 60, NULL, 0, 0 },
	{ "rw", RMC_TREE_LATCH, 60, NULL, BEST_RW, 1 }, { "rw", TABLE, 60, NULL, BEST_RW, 1 },
	{ "rw", RMC_TREE_LATCH, 60, "detached", 0, 0 }, { "rw", TABLE, 4, "detached", 0, 0 },
	{ "excl", RMC_TREE_LATCH, 60, NULL, 0, 0 },
	{ "rw", RMC_TREE_VERSION, 60, NULL, RMC_SYNC_ASYNC, 0 },
	/* OPT-DB */
	{ "farm", RMC_TREE_VERSION, 60, "excl", BEST_EXCL, 0 },
	{ "farm", TABLE, 60, "excl", BEST_EXCL, 0 },
	{ "crc64", RMC_TREE_VERSION, 60, "excl", BEST_EXCL, 0 },
	{ "versioning", RMC_TREE_VERSION, 60, NULL, BEST_EXCL, 0 },
	{ "versioning", TABLE, 60, NULL, BEST_EXCL, 0 },
	/* one step after another */
	{ "farm", RMC_TREE_VERSION, 60, "excl", 0, 0 },
	{ "crc64", RMC_TREE_LATCH, 60, "excl", 0, 0 },
	{ "crc64-tables", RMC_TREE_LINK, 60, "excl", 0, 0 },
	{ "versioning", RMC_TREE_VERSION, 60, NULL, 0, 0 },
	{ "versioning", MAP, 60, NULL, 0, 0 }, { "farm", MAP, 60, "excl", RMC_SYNC_ASYNC, 0 },
};

/* Does a reader leave a count that nobody can take away after a lost reply? */
static bool has_counts(const struct setting *s)
{
	return !strcmp(s->scheme, "rw");
}

static bool reads_latched(const struct setting *s)
{
	return has_counts(s) || !strcmp(s->scheme, "excl");
}

static void sync_areas(const struct setting *s, size_t bytes, uint64_t fixed, uint64_t capacity)
{
	area_latch = s->latch;
	area_sync = s->sync;
	area_pad = s->pad;
	areas(s->scheme, bytes, fixed, capacity, 2);
	area_latch = NULL;
	area_sync = area_pad = 0;
	tap_where = s->scheme;
}

/* What block.h says of an accessor, of two clients */
static void sync_one_block(const struct setting *s)
{
	struct rmc_block_hold h = { 0 }, g = { 0 };
	const struct rmc_block_ops *ops;
	bool latched = reads_latched(s);
	struct client a, b;
	uint64_t at;

	sync_areas(s, 1000, 2, 10);
	client_open(&a, 1);
	client_open(&b, 2);
	ops = a.blocks->ops;
	at = ops->fixed_at(a.blocks, 3);
	CHECK_EQ(at_nid(at), 1);
	CHECK_EQ(filled(&a, at), 0);
	CHECK_EQ(ops->begin(a.blocks, 0), 0);
	CHECK_EQ(ops->begin(b.blocks, 0), 0);
	CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_WRITE, &h), 0);
	CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &g), -EPROTO);
	fill_hold(&a, &h, 17);
	CHECK_EQ(ops->leave(a.blocks, &h), 0);
	CHECK_EQ(ops->end(a.blocks, 0), 0);
	CHECK_EQ(filled(&b, at), 17);
	/* two readers; beside them nobody writes, or they learn of it */
	CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), 0);
	CHECK_EQ(ops->valid(a.blocks, &h), 0);
	CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_READ, &g), strcmp(s->scheme, "excl") ? 0 :
		 RMC_BLOCK_RESTART);
	ops->cancel(b.blocks, &g);
	CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_WRITE, &g), latched ? RMC_BLOCK_RESTART : 0);
	CHECK_EQ(ops->valid(a.blocks, &h), latched ? 0 : RMC_BLOCK_RESTART);
	ops->cancel(a.blocks, &h);
	ops->cancel(b.blocks, &g);
	CHECK_EQ(ops->begin(b.blocks, 0), 0);
	if (!latched) {
		CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), 0);
		CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_WRITE, &g), 0);
		fill_hold(&b, &g, 17);
		CHECK_EQ(ops->leave(b.blocks, &g), 0);
		CHECK_EQ(rmc_remote_sync_known(remote(&b)), 0);
		CHECK_EQ(ops->upgrade(a.blocks, &h), RMC_BLOCK_RESTART);
		ops->cancel(a.blocks, &h);
	}
	/* LATCH keeps writers out */
	CHECK_EQ(ops->begin(a.blocks, 0), 0);
	CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_LATCH, &h), 0);
	CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_WRITE, &g), RMC_BLOCK_RESTART);
	CHECK_EQ(ops->valid(a.blocks, &h), 0);
	CHECK_EQ(ops->leave(a.blocks, &h), 0);
	/* an upgrade is a writer */
	CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), 0);
	CHECK_EQ(ops->upgrade(a.blocks, &h), 0);
	fill_hold(&a, &h, 18);
	CHECK_EQ(ops->begin(b.blocks, 0), 0);
	CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_READ, &g), RMC_BLOCK_RESTART);
	/* cancelled */
	ops->cancel(a.blocks, &h);
	CHECK_EQ(h.at, 0);
	CHECK_EQ(filled(&b, at), 17);
	CHECK_EQ(remote(&a)->used | remote(&b)->used, 0);
	client_close(&a);
	client_close(&b);
	inline_fabric_free(&fabric);
	tap_where = NULL;
}

static void sync_block(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sync_settings); i++)
		sync_one_block(&sync_settings[i]);
}

static void sync_refused(void)
{
	static const struct setting wrong[] = {
		{ "lock", 0, 0, NULL, 0, 0 }, { "unsync", 0, 0, NULL, 0, 0 },
		{ "naive", 0, 0, NULL, 0, 0 }, { "bookend", 0, 0, NULL, 0, 0 },
		{ "out-of-place", 0, 0, NULL, 0, 0 }, { "switch", 0, 0, NULL, 0, 0 },
		{ "relaxed-farm", 0, 0, NULL, 0, 0 },
		{ "relaxed-crc64", 0, 0, "excl", 0, 0 }, { "sabre", 0, 0, "excl", 0, 0 },
		{ "rw", 0, 0, "other", 0, 0 },
		{ "rw", 0, 0, "nic-rpc", 0, 0 },
		{ "rw", 0, 0, "rw", ORDER | RMC_SYNC_WRITE_UNLATCH, 0 },
		{ "farm", 0, 0, NULL, RMC_SYNC_ASYNC, 0 }, { "farm", 0, 0, "detached", 0, 0 },
		{ "rw", 0, 0, NULL, 1U << 20, 0 }, { "rw", 0, 0, NULL, 0, ~0U },
	};
	struct rmc_blocks_options o;
	struct client a;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		tap_where = wrong[i].scheme;
		o = (struct rmc_blocks_options){ .capacity = 10, .bytes = 100, .nid = 1,
			.scheme = rmc_sync_find(wrong[i].scheme), .latch = wrong[i].latch,
			.sync = wrong[i].sync, .pad = wrong[i].pad };
		CHECK(o.scheme);
		CHECK_EQ(rmc_blocks_bytes(&o), 0);
	}
	o.scheme = rmc_sync_find("rw");
	o.pad = 0;
	CHECK(rmc_blocks_bytes(&o));
	o.flags = RMC_BLOCKS_REDO;
	CHECK_EQ(rmc_blocks_bytes(&o), 0);
	CHECK_EQ(rmc_blocks_fit(rmc_sync_find("rw"), RMC_TREE_IMAGE), 4096 - 16 - 8);
	CHECK_EQ(rmc_blocks_fit(rmc_sync_find("versioning"), 128), 128 - 16 - 8);
	/* who opens it otherwise; without order; with a number that latches have no room for */
	sync_areas(&sync_settings[0], 100, 1, 13);
	client_open(&a, 1);
	client_close(&a);
	inline_rmc_init(&a.rmc, &fabric, 1);
	a.memory = aligned_alloc(64, 1 << 20);
	options.memory = a.memory;
	options.client = 1;
	o = options;
	o.latch = "excl";
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	o = options;
	o.latch = "detached";
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	o = options;
	o.pad = 1;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	o = options;
	o.sync = RMC_SYNC_SPEC;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EOPNOTSUPP);
	o = options;
	o.latch = "excl";
	CHECK_EQ(rmc_blocks_format(&o, fabric.segment[0] + AT), 0);
	CHECK_EQ(rmc_blocks_format(&o, fabric.segment[1] + AT), 0);
	o.sync = BEST_EXCL;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	o = options;
	o.client = 300;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EINVAL);
	free(a.memory);
	inline_rmc_free(&a.rmc);
	inline_fabric_free(&fabric);
	tap_where = NULL;
}

/* Each of R25's systems suits blocks, as it is */
static void sync_systems(void)
{
	const struct rmc_sync_system *s;
	struct rmc_blocks_options o;
	unsigned int i;

	for (i = 0; (s = rmc_sync_system_number(i)); i++) {
		o = (struct rmc_blocks_options){ .capacity = 10, .bytes = 1000, .sync = ORDER };
		rmc_blocks_use(&o, s);
		tap_where = s->name;
		CHECK(o.scheme == rmc_sync_find(s->scheme));
		CHECK(!strcmp(o.latch, rmc_sync_latch_name(s->latch)));
		CHECK_EQ(o.sync, s->flags | ORDER);
		CHECK_EQ(o.pad, s->pad);
		CHECK(rmc_blocks_bytes(&o));
	}
	CHECK(i >= 5);
	tap_where = NULL;
}

/* --- round trips --- */

/* Operations on blocks of a lookup, an update and a split, by opcode */
static void sync_tree_trips(const struct setting *s, unsigned int get, unsigned int get_atomics,
			    unsigned int update, unsigned int update_atomics)
{
	struct inline_rmc *rmc;
	struct rmc_tree *t;
	struct client c;
	uint64_t v, k;

	area_latch = s->latch;
	area_sync = s->sync;
	areas_of(RMC_BLOCKS_TREE, s->scheme, 400, 1, 200, 1);
	area_latch = NULL;
	area_sync = 0;
	tap_where = s->scheme;
	client_open(&c, 1);
	rmc = &c.rmc;
	t = rmc_tree_open(c.blocks, (enum rmc_tree_coupling)s->coupling);
	for (k = 0; k < 500; k++)
		CHECK_EQ(rmc_tree_put(t, k * 10, k + 1), 0);
	for (k = 0; k < 500; k += 31) {
		rmc->operations = 0;
		memset(rmc->ops, 0, sizeof(rmc->ops));
		CHECK_EQ(rmc_tree_get(t, k * 10, &v), 0);
		rmc_remote_quiet(remote(&c));
		CHECK_EQ(rmc->operations, get);
		CHECK_EQ(rmc->ops[RMC_OP_CAS] + rmc->ops[RMC_OP_FAA], get_atomics);
		rmc->operations = 0;
		memset(rmc->ops, 0, sizeof(rmc->ops));
		CHECK_EQ(rmc_tree_update(t, k * 10, k + 1), 0);
		rmc_remote_quiet(remote(&c));
		CHECK_EQ(rmc->operations, update);
		CHECK_EQ(rmc->ops[RMC_OP_CAS] + rmc->ops[RMC_OP_FAA], update_atomics);
		CHECK_EQ(rmc->ops[RMC_OP_WRITE], 1);
	}
	rmc_tree_close(t);
	client_close(&c);
	inline_fabric_free(&fabric);
	tap_where = NULL;
}

/* Three levels */
static void sync_trips(void)
{
	static const struct setting rows[] = {
		{ "rw", RMC_TREE_LATCH, 0, NULL, 0, 0 },
		{ "rw", RMC_TREE_LATCH, 0, NULL, BEST_RW, 0 },
		{ "excl", RMC_TREE_LATCH, 0, NULL, 0, 0 },
		{ "farm", RMC_TREE_VERSION, 0, "excl", BEST_EXCL, 0 },
		{ "versioning", RMC_TREE_VERSION, 0, NULL, 0, 0 },
		{ "farm", RMC_TREE_LINK, 0, "excl", 0, 0 },
	};

	/* each block: latch, read, release; the leaf is written as well, and latched once */
	sync_tree_trips(&rows[0], 9, 6, 10, 6);
	sync_tree_trips(&rows[1], 9, 6, 10, 6);
	sync_tree_trips(&rows[2], 9, 6, 10, 6);
	/* three reads, and two of the parents' words; an upgrade: latch, word; write */
	sync_tree_trips(&rows[3], 5, 0, 8, 1);
	/* the word before and after each read as well */
	sync_tree_trips(&rows[4], 11, 0, 15, 2);
	sync_tree_trips(&rows[5], 3, 0, 7, 2);
}

/* --- histories --- */

static void run_settings(unsigned int rounds, unsigned int lose, bool counts)
{
	unsigned int round;
	size_t i;

	for (round = 0; round < (REAL_THREADS ? 1 : rounds); round++)
		for (i = 0; i < ARRAY_SIZE(sync_settings); i++)
			if (counts || (!has_counts(&sync_settings[i]) &&
				       !(sync_settings[i].sync & ORDER)))
				run_clients(&sync_settings[i], lose, round);
}

static void sync_histories(void)
{
	undecided = 0;
	run_settings(3, 0, true);
	CHECK_EQ(undecided, 0);
	print_met();
}

/* Not of rw, whose readers leave counts without a name; nor of queue pairs that are in no order */
static void sync_lossy_histories(void)
{
	met_full = met_spares = 1;
	undecided = 0;
	run_settings(3, 60, false);
	CHECK(undecided <= 1);
	CHECK(met.lost);
	print_met();
}

static void sync_flaky_histories(void)
{
	if (REAL_THREADS)
		return;
	met_full = met_spares = 1;
	flaky = 30;
	undecided = 0;
	run_settings(2, 0, false);
	flaky = 0;
	CHECK(undecided <= 2);
	CHECK(met_statuses);
	print_met();
}

/* A write, and a release, that are lost each time: the client takes back what stays latched */
static void sync_lost_latch(const struct setting *s)
{
	struct rmc_block_hold x = { 0 }, y = { 0 }, g = { 0 };
	const struct rmc_block_ops *ops;
	struct client a, b;
	uint64_t at[2], began;
	int err;

	sync_areas(s, 1000, 2, 10);
	client_open(&a, 1);
	client_open(&b, 2);
	ops = a.blocks->ops;
	at[0] = ops->fixed_at(a.blocks, 0);
	at[1] = ops->fixed_at(a.blocks, 2);
	CHECK(!at_nid(at[0]) && !at_nid(at[1]));
	CHECK_EQ(write_block(&a, at[0], 1), 0);
	CHECK_EQ(write_block(&a, at[1], 2), 0);
	rmc_remote_quiet(remote(&a));
	CHECK_EQ(ops->begin(a.blocks, 0), 0);
	CHECK_EQ(ops->enter(a.blocks, at[0], RMC_BLOCK_WRITE, &x), 0);
	CHECK_EQ(ops->enter(a.blocks, at[1], RMC_BLOCK_WRITE, &y), 0);
	fill_hold(&a, &x, 9);
	a.rmc.only = RMC_OP_WRITE;
	a.rmc.lose = 1;
	a.rmc.partial = 1;
	err = ops->leave(a.blocks, &x);
	CHECK_EQ(err ? err : rmc_remote_sync_known(remote(&a)), RMC_S_TIMEOUT);
	a.rmc.lose = 0;
	a.rmc.only = -1;
	a.rmc.operations = 0;
	a.rmc.fail_at = 1;
	a.rmc.fails = ~0U;
	a.rmc.fail_status = RMC_S_TIMEOUT;
	ops->cancel(a.blocks, &y);
	rmc_remote_quiet(remote(&a));
	a.rmc.fails = 0;
	CHECK_EQ(stats_of(&a).stuck, 1);
	CHECK_EQ(ops->begin(b.blocks, 0), 0);
	CHECK_EQ(ops->enter(b.blocks, at[0], RMC_BLOCK_READ, &g), RMC_BLOCK_RESTART);
	CHECK_EQ(ops->begin(b.blocks, 0), 0);
	CHECK_EQ(ops->enter(b.blocks, at[1], RMC_BLOCK_WRITE, &g), RMC_BLOCK_RESTART);
	/* not while the node is away */
	fabric.status[0] = RMC_S_NODE_DOWN;
	CHECK_EQ(ops->begin(a.blocks, 0), 0);
	CHECK_EQ(stats_of(&a).stuck, 2);
	began = virtual_ns;
	CHECK_EQ(ops->end(a.blocks, 0), 0);
	CHECK(virtual_ns - began < WAIT_US * 1000ULL / 4);
	fabric.status[0] = 0;
	CHECK_EQ(ops->end(a.blocks, 0), 0);
	CHECK_EQ(stats_of(&a).stuck, 0);
	CHECK_EQ(filled(&b, at[0]), 9);
	CHECK_EQ(filled(&b, at[1]), 2);
	client_close(&a);
	client_close(&b);
	inline_fabric_free(&fabric);
	tap_where = NULL;
}

static void sync_lost_latches(void)
{
	static const struct setting rows[] = {
		{ "excl", 0, 0, NULL, 0, 0 }, { "rw", 0, 0, NULL, 0, 0 },
		{ "rw", 0, 0, "detached", RMC_SYNC_ASYNC, 0 }, { "farm", 0, 0, "excl", 0, 0 },
		{ "crc64", 0, 0, "excl", RMC_SYNC_ASYNC, 0 },
		{ "versioning", 0, 0, NULL, RMC_SYNC_ASYNC, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		sync_lost_latch(&rows[i]);
}

/* --- a client dies --- */

static int sync_recover(struct client *c, int nid)
{
	int err = rmc_blocks_recover(c->blocks, nid, 0);

	return err ? err : rmc_blocks_recover(c->blocks, -1, 0);
}

/* As dead_operation(): of node 3; node 4 goes on. What may be half written stays latched. */
static bool sync_dead_operation(const struct setting *s, uint64_t keys, enum check_kind kind,
				unsigned int n, int how, unsigned int *torn)
{
	struct worker *a = &workers[0], *b = &workers[1];
	struct done d = { .kind = CHECK_WRITE };
	uint64_t k, v, was;
	bool more;
	int err;

	areas_for(s);
	worker_open(a, s, 0);
	options.nid = 4;
	worker_open(b, s, 1);
	for (d.key = 0; d.key < keys; d.key++) {
		d.value = d.key + 1;
		CHECK_EQ(work_one(a, &d), 0);
	}
	d = (struct done){ .kind = kind, .key = kind == CHECK_INSERT ? keys : keys - 1,
			   .value = 99 };
	rmc_remote_quiet(remote(&a->c));
	die_at(&a->c, n, how);
	work_one(a, &d);
	more = a->c.rmc.operations >= n;
	err = sync_recover(&b->c, 3);
	CHECK(err == 0 || (err == -EUCLEAN && how == INLINE_PART));
	*torn += err == -EUCLEAN;
	for (k = 0; k < DEAD_KEYS; k++) {
		struct done get = { .kind = CHECK_READ, .key = k };

		err = work_one(b, &get);
		if (err == -EAGAIN && remote(&b->c)->stats.damaged)
			continue;
		CHECK(err == 0 || err == -ENOENT);
		v = err ? 0 : get.got;
		was = k < keys ? k + 1 : 0;
		if (k != d.key)
			CHECK_EQ(v, was);
		else
			CHECK(v == was || v == (kind == CHECK_DELETE ? 0 : 99));
	}
	for (k = 0; k < DEAD_KEYS && !remote(&b->c)->stats.damaged; k++) {
		d = (struct done){ .kind = CHECK_WRITE, .key = k, .value = k + 7 };
		CHECK_EQ(work_one(b, &d), 0);
		CHECK_EQ(dead_value(b, k), k + 7);
	}
	worker_close(a);
	worker_close(b);
	inline_fabric_free(&fabric);
	return more;
}

static void sync_dead_operations(void)
{
	static const struct setting rows[] = {
		{ "rw", RMC_TREE_LATCH, 40, NULL, 0, 0 }, { "excl", TABLE, 40, NULL, 0, 0 },
		{ "farm", RMC_TREE_VERSION, 40, "excl", 0, 0 },
		{ "crc64", TABLE, 40, "excl", 0, 0 },
		{ "versioning", RMC_TREE_VERSION, 40, NULL, 0, 0 },
		{ "rw", TABLE, 40, "detached", 0, 0 },
	};
	static const struct {
		uint64_t keys;
		enum check_kind kind;
	} acts[] = {
		{ 0, CHECK_INSERT }, { 1, CHECK_INSERT }, { 4, CHECK_DELETE },
		{ 5, CHECK_INSERT }, { 9, CHECK_INSERT }, { 14, CHECK_DELETE },
	};
	unsigned int torn = 0, steps = 0, n;
	bool more;
	size_t i, k;
	int how;

	if (REAL_THREADS)
		return;
	/* what waits in vain waits for a number of readings of the clock */
	clock_step_ns = 20 * CLOCK_STEP_NS;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		tap_where = rows[i].scheme;
		for (k = 0; k < ARRAY_SIZE(acts); k++)
			for (n = 1, more = true; more; n++)
				for (how = INLINE_NOT; how < INLINE_LATER; how++, steps++)
					more = sync_dead_operation(&rows[i], acts[k].keys,
								   acts[k].kind, n, how,
								   &torn);
	}
	printf("# %u deaths, %u blocks half written\n", steps, torn);
	CHECK(torn && torn < steps / 10);
	clock_step_ns = CLOCK_STEP_NS;
	tap_where = NULL;
}

/* Who meets a dead holder's latch ends in time; a holder that is not dead learns what was done */
static void sync_dead_holder(void)
{
	struct rmc_block_hold h = { 0 };
	const struct rmc_block_ops *ops;
	struct client c[2];
	uint64_t at, began;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(sync_settings); i++) {
		sync_areas(&sync_settings[i], 1000, 2, 10);
		client_open(&c[0], 1);
		options.nid = 4;
		client_open(&c[1], 2);
		ops = c[0].blocks->ops;
		at = ops->fixed_at(c[0].blocks, 1);
		CHECK_EQ(write_block(&c[0], at, 5), 0);
		CHECK_EQ(ops->begin(c[0].blocks, 0), 0);
		CHECK_EQ(ops->enter(c[0].blocks, at, RMC_BLOCK_WRITE, &h), 0);
		fill_hold(&c[0], &h, 6);
		began = virtual_ns;
		CHECK_EQ(write_block(&c[1], at, 7), -EAGAIN);
		CHECK(virtual_ns - began < 4 * WAIT_US * 1000ULL);
		/* only all of a node's clients, and no others */
		CHECK_EQ(rmc_blocks_recover(c[1].blocks, 3, 2), -EOPNOTSUPP);
		CHECK_EQ(rmc_blocks_recover(c[1].blocks, 5, 0), 0);
		CHECK_EQ(write_block(&c[1], at, 7), -EAGAIN);
		CHECK_EQ(rmc_blocks_recover(c[1].blocks, 3, 0), 0);
		CHECK_EQ(stats_of(&c[1]).recovered, 1);
		CHECK_EQ(filled(&c[1], at), 5);
		CHECK_EQ(write_block(&c[1], at, 8), 0);
		err = ops->leave(c[0].blocks, &h);
		err = ops->end(c[0].blocks, err);
		/* a write that releases shows nothing to its holder: sync.rst, Limits */
		if (!(sync_settings[i].sync & RMC_SYNC_WRITE_UNLATCH))
			CHECK_EQ(err, -EPROTO);
		client_close(&c[0]);
		client_close(&c[1]);
		inline_fabric_free(&fabric);
	}
	tap_where = NULL;
}

#endif /* BLOCKS_SYNC_H */
