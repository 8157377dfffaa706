/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Structures over one-sided operations: round trips, and histories of clients. Part of
 * test_blocks.c
 */
#ifndef BLOCKS_HISTORIES_H
#define BLOCKS_HISTORIES_H

/* --- round trips --- */

/* Remote operations that the next operation waits for, by kind */
static struct rmc_blocks_stats base;

static void count(const struct client *c)
{
	base = stats_of(c);
}

/* One time in 256 the end of a latch under which nothing was written is a write */
#define SELDOM	(~0ULL)

#define TRIPS(c, reads_, validations_, atomics_, writes_) do {			\
	struct rmc_blocks_stats s = stats_of(c);				\
										\
	CHECK_EQ(s.reads - base.reads, reads_);					\
	CHECK_EQ(s.validations - base.validations, validations_);		\
	CHECK_EQ(s.atomics - base.atomics, atomics_);				\
	if ((writes_) != SELDOM)						\
		CHECK_EQ(s.writes - base.writes, writes_);			\
	base = s;								\
} while (0)

static void table_trips(void)
{
	struct rmc_table *t;
	struct client c;
	uint64_t v, k;

	areas_of(RMC_BLOCKS_TABLE_DIRECT, "farm", RMC_TABLE_BYTES, 64, 128, 2);
	client_open(&c, 1);
	t = rmc_table_open(c.blocks, RMC_TABLE_DIRECT);
	/* perfectly sized: a bucket holds two keys */
	for (k = 0; k < 256; k++) {
		count(&c);
		CHECK_EQ(rmc_table_insert(t, k, k + 1), 0);
		TRIPS(&c, 1, 0, 2, 1);
	}
	for (k = 0; k < 256; k++) {
		CHECK_EQ(rmc_table_get(t, k, &v), 0);
		CHECK_EQ(v, k + 1);
		TRIPS(&c, 1, 0, 0, 0);
		CHECK_EQ(rmc_table_update(t, k, k), 0);
		TRIPS(&c, 1, 0, 2, 1);
	}
	CHECK_EQ(rmc_table_get(t, 1000, &v), -ENOENT);
	TRIPS(&c, 1, 0, 0, 0);
	CHECK_EQ(rmc_table_insert(t, 5, 1), -EEXIST);
	TRIPS(&c, 1, 0, 0, 0);
	CHECK_EQ(rmc_table_delete(t, 5), 0);
	TRIPS(&c, 1, 0, 2, 1);
	CHECK_EQ(operations(&c), c.rmc.operations - 4);	/* of which four opened it */
	rmc_table_close(t);
	client_close(&c);
	inline_fabric_free(&fabric);
}

static void tree_trips(enum rmc_tree_coupling coupling)
{
	bool version = coupling == RMC_TREE_VERSION, latch = coupling == RMC_TREE_LATCH;
	unsigned int levels = 3, leaves;
	struct rmc_pair pairs[100];
	struct rmc_tree *t;
	uint64_t v, k, next;
	struct client c;
	size_t found;

	areas_of(RMC_BLOCKS_TREE, "farm", rmc_blocks_fit(NULL, 448), 1, 200, 1);
	client_open(&c, 1);
	t = rmc_tree_open(c.blocks, coupling);
	for (k = 0; k < 500; k++)
		CHECK_EQ(rmc_tree_put(t, k * 10, k + 1), 0);
	for (k = 0; k < 500; k += 7) {
		count(&c);
		CHECK_EQ(rmc_tree_get(t, k * 10, &v), 0);
		CHECK_EQ(v, k + 1);
		TRIPS(&c, levels, version ? levels - 1 : 0, latch ? 2 * levels : 0,
		      latch ? SELDOM : 0);
		CHECK_EQ(rmc_tree_get(t, k * 10 + 1, &v), -ENOENT);
		TRIPS(&c, levels, version ? levels - 1 : 0, latch ? 2 * levels : 0,
		      latch ? SELDOM : 0);
		CHECK_EQ(rmc_tree_update(t, k * 10, k + 1), 0);
		TRIPS(&c, levels, version ? levels - 1 : 0, latch ? 2 * levels : 2,
		      latch ? SELDOM : 1);
	}
	/* each leaf is half full, or fuller: all but the last are read again */
	CHECK_EQ(rmc_tree_scan(t, 1000, 1400, pairs, 100, &found, &next), 0);
	CHECK_EQ(found, 41);
	leaves = (unsigned int)(stats_of(&c).reads - base.reads) - levels + 1;
	CHECK(leaves >= 2 && leaves <= 5);
	TRIPS(&c, levels + leaves - 1, (version ? levels - 1 : 0) + (latch ? 0 : leaves - 1),
	      latch ? 2 * (levels + leaves - 1) : 0, latch ? SELDOM : 0);
	rmc_tree_close(t);
	client_close(&c);
	inline_fabric_free(&fabric);
}

static void map_trips(void)
{
	unsigned int depth, most = 0;
	struct rmc_map *m;
	struct client c;
	uint64_t v, k;

	areas_of(RMC_BLOCKS_MAP, "farm", RMC_MAP_BYTES, 1, 128, 1);
	client_open(&c, 1);
	m = rmc_map_open(c.blocks);
	for (k = 0; k < 100; k++)
		CHECK_EQ(rmc_map_insert(m, 2 * k, k + 1), 0);
	for (k = 0; k < 100; k++) {
		count(&c);
		CHECK_EQ(rmc_map_get(m, 2 * k, &v), 0);
		depth = (unsigned int)(stats_of(&c).reads - base.reads);
		most = depth > most ? depth : most;
		TRIPS(&c, depth, 0, 0, 0);
		CHECK_EQ(rmc_map_update(m, 2 * k, k), 0);
		TRIPS(&c, depth, 1, 2, 1);
		CHECK_EQ(rmc_map_get(m, 2 * k + 1, &v), -ENOENT);
		base.reads = stats_of(&c).reads;
		TRIPS(&c, 0, 1, 0, 0);
	}
	/* with the head: twice the logarithm at most */
	CHECK(most >= 7 && most <= 15);
	rmc_map_close(m);
	client_close(&c);
	inline_fabric_free(&fabric);
}

static void round_trips(void)
{
	table_trips();
	map_trips();
	tree_trips(RMC_TREE_LINK);
	tree_trips(RMC_TREE_VERSION);
	tree_trips(RMC_TREE_LATCH);
}

/* --- histories --- */

#if defined(__SANITIZE_THREAD__)
#define REAL_THREADS	1
#else
#define REAL_THREADS	0
#endif

#define CLIENTS		4
#define H_KEYS		24
#define H_OPS		150
#define H_PAIRS		H_KEYS

struct done {
	uint64_t invoke, complete;
	enum check_kind kind;
	uint64_t key, value, got, to;
	int err;
	size_t found;
	struct rmc_pair pairs[H_PAIRS];
};

struct worker {
	struct client c;
	unsigned int number;
	struct rmc_table *table;
	struct rmc_tree *tree;
	struct rmc_map *map;
	struct done done[H_OPS];
	unsigned int ops, full, dropped;	/* -ENOSPC; other operations that did nothing */
	pthread_t thread;
	struct fiber *fiber;
};

static struct worker workers[CLIENTS];
static uint64_t now;
static pthread_barrier_t start;

static uint64_t tick(void)
{
	return __atomic_fetch_add(&now, 1, __ATOMIC_SEQ_CST);
}

#define EITHER(w, f, ...) ((w)->table ? rmc_table_##f((w)->table, __VA_ARGS__) :	\
			  (w)->tree ? rmc_tree_##f((w)->tree, __VA_ARGS__) :		\
			  rmc_map_##f((w)->map, __VA_ARGS__))

static int work_scan(struct worker *w, struct done *d)
{
	uint64_t next;
	int err;

	d->to = d->key + 1 + inline_random(&w->c.rmc, 8);
	if (d->to >= H_KEYS)
		d->to = H_KEYS - 1;
	err = rmc_tree_scan(w->tree, d->key, d->to, d->pairs, H_PAIRS, &d->found, &next);
	return err ? err : next == RMC_TREE_KEY_NONE ? 0 : -EXDEV;
}

static int work_one(struct worker *w, struct done *d)
{
	switch (d->kind) {
	case CHECK_WRITE:
		return EITHER(w, put, d->key, d->value);
	case CHECK_INSERT:
		return EITHER(w, insert, d->key, d->value);
	case CHECK_UPDATE:
		return EITHER(w, update, d->key, d->value);
	case CHECK_DELETE:
		return EITHER(w, delete, d->key);
	case CHECK_SCAN:
		return work_scan(w, d);
	default:
		return EITHER(w, get, d->key, &d->got);
	}
}

static void work(void *arg)
{
	static const enum check_kind kinds[] = {
		CHECK_READ, CHECK_READ, CHECK_WRITE, CHECK_INSERT, CHECK_INSERT, CHECK_UPDATE,
		CHECK_DELETE, CHECK_DELETE, CHECK_SCAN,
	};
	struct worker *w = (struct worker *)arg;
	/* what was lost may have taken effect at any later time: threads overlap more than fibers */
	unsigned int ops = REAL_THREADS && w->c.rmc.lose ? H_OPS / 2 : H_OPS, i;

	for (i = 0; i < ops; i++) {
		struct done *d = &w->done[w->ops];

		memset(d, 0, sizeof(*d));
		d->kind = kinds[inline_random(&w->c.rmc, w->tree ? 9 : 8)];
		d->key = inline_random(&w->c.rmc, H_KEYS);
		d->value = w->number * 1000000 + i + 1;
		d->invoke = tick();
		d->err = work_one(w, d);
		d->complete = tick();
		/* it has changed nothing, or found out nothing */
		w->full += d->err == -ENOSPC;
		w->dropped += d->err == -EAGAIN || d->err == -EXDEV;
		if (d->err != -EAGAIN && d->err != -ENOSPC && d->err != -EXDEV)
			w->ops++;
	}
}

static void *work_in_thread(void *arg)
{
	pthread_barrier_wait(&start);
	work(arg);
	return NULL;
}

int __real_sched_yield(void);

/* Node 1 is down now and then, if this is not 0: so many steps, one time in so many */
static unsigned int flaky, undecided;

static void come_and_go(void)
{
	static struct inline_rmc choose = { .seed = 4711 };
	static unsigned int left;

	if (!left)
		left = inline_random(&choose, 200 * flaky) ? 0 : 1 + inline_random(&choose, flaky);
	else
		left--;
	fabric.status[1] = left ? RMC_S_NODE_DOWN : 0;
}

static void let_others_run(void)
{
	if (flaky && fiber_self())
		come_and_go();
	if (REAL_THREADS)
		__real_sched_yield();
	else if (fiber_self())
		fiber_yield();
}

static void run_all(uint64_t seed)
{
	struct inline_rmc choose = { .seed = seed * 2654435761U + 1 };
	unsigned int i, left = CLIENTS;

	pthread_barrier_init(&start, NULL, CLIENTS);
	for (i = 0; i < CLIENTS && REAL_THREADS; i++)
		pthread_create(&workers[i].thread, NULL, work_in_thread, &workers[i]);
	for (i = 0; i < CLIENTS && REAL_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&start);
	if (REAL_THREADS)
		return;
	for (i = 0; i < CLIENTS; i++)
		workers[i].fiber = fiber_create(work, &workers[i], 256 << 10);
	while (left) {
		i = inline_random(&choose, CLIENTS);
		if (!workers[i].fiber)
			continue;
		fiber_resume(workers[i].fiber);
		if (!fiber_finished(workers[i].fiber))
			continue;
		fiber_destroy(workers[i].fiber);
		workers[i].fiber = NULL;
		left--;
	}
}

static const enum check_known results[][3] = {
	/* 0, -ENOENT, -EEXIST */
	[CHECK_READ]	= { CHECK_VALUE, CHECK_ABSENT, CHECK_ANY },
	[CHECK_WRITE]	= { CHECK_DONE, CHECK_ANY, CHECK_ANY },
	[CHECK_INSERT]	= { CHECK_DONE, CHECK_ANY, CHECK_REFUSED },
	[CHECK_UPDATE]	= { CHECK_DONE, CHECK_REFUSED, CHECK_ANY },
	[CHECK_DELETE]	= { CHECK_DONE, CHECK_REFUSED, CHECK_ANY },
};

static void record(struct check_history *h, const struct worker *w, const struct done *d)
{
	uint32_t key[H_KEYS];
	char name[8];
	int64_t n;
	size_t i;

	for (i = 0; i < H_KEYS; i++) {
		snprintf(name, sizeof(name), "%02zu", i);
		key[i] = (uint32_t)check_key_of(h, name);
	}
	if (d->kind == CHECK_SCAN) {
		if (d->err > 0)
			return;
		CHECK_EQ(d->err, 0);
		n = check_begin_scan(h, w->number, key[d->key], key[d->to], H_PAIRS, d->invoke);
		h->op[n].complete = d->complete;
		h->op[n].known = CHECK_VALUE;
		for (i = 0; i < d->found; i++)
			CHECK_EQ(check_scan_found(h, n, key[d->pairs[i].key],
						  d->pairs[i].value), 0);
		return;
	}
	n = check_begin(h, w->number, d->kind, key[d->key], d->invoke);
	h->op[n].arg = d->value;
	if (d->err > 0)
		return;		/* pending: it may have taken effect */
	CHECK(d->err == 0 || d->err == -ENOENT || d->err == -EEXIST);
	h->op[n].complete = d->complete;
	h->op[n].got = d->got;
	h->op[n].known = results[d->kind][d->err == 0 ? 0 : d->err == -ENOENT ? 1 : 2];
	CHECK(h->op[n].known != CHECK_ANY);
}

static void found(void *arg, const struct check_finding *f)
{
	check_print((const struct check_history *)arg, f, "# ", stdout);
}

/* All that the threads did, and what is there afterwards */
static void check_history_of_workers(void)
{
	struct check_options o = { .found = found };
	struct check_result r;
	struct check_history h;
	unsigned int i, k;

	check_init(&h);
	o.arg = &h;
	for (i = 0; i < CLIENTS; i++)
		for (k = 0; k < workers[i].ops; k++)
			record(&h, &workers[i], &workers[i].done[k]);
	for (k = 0; k < H_KEYS; k++) {
		struct done d = { .kind = CHECK_READ, .key = k, .invoke = tick() };

		d.err = work_one(&workers[0], &d);
		d.complete = tick();
		record(&h, &workers[0], &d);
	}
	CHECK_EQ(check_linear(&h, &o, &r), 0);
	/*
	 * Many operations with a status: each may have taken effect at any time, or never. The
	 * order of fibers is the same each time, that of threads is not.
	 */
	if ((flaky || REAL_THREADS) && r.verdict == CHECK_UNDECIDED)
		undecided++;
	else
		CHECK_EQ(r.verdict, CHECK_OK);
	if (r.verdict != CHECK_OK && getenv("HISTORY")) {
		FILE *f = fopen(getenv("HISTORY"), "w");

		check_write(&h, f);
		fclose(f);
	}
	check_free(&h);
}

struct setting {
	const char *scheme;
	int coupling;			/* of a tree, or: */
	unsigned int capacity;		/* of an area */
	/* of <rmc/sync.h> */
	const char *latch;
	uint32_t sync, pad;
};

enum { TABLE = -1, MAP = -2 };

/* What all runs of a test have met */
static struct rmc_blocks_stats met;
static unsigned int met_ops, met_dropped, met_full, met_overlaps, met_statuses, met_spares;

static void print_met(void)
{
	printf("# %llu restarts, %llu torn, %llu locked, %llu lost; of %u operations %u overlap, "
	       "%u without room, %u dropped, %u with a status; %u blocks used again\n",
	       (unsigned long long)met.restarts, (unsigned long long)met.torn,
	       (unsigned long long)met.locked, (unsigned long long)met.lost, met_ops, met_overlaps,
	       met_full, met_dropped, met_statuses, met_spares);
	/* threads may happen to meet nothing, but they run at once */
	CHECK(REAL_THREADS || (met.restarts && met.torn && met.locked));
	CHECK(met_overlaps > met_ops / 20);
	CHECK(met_dropped < met_ops / 20);
	CHECK(met_full && met_full < met_ops / 20);
	CHECK(met_spares);
	memset(&met, 0, sizeof(met));
	met_ops = met_dropped = met_full = met_overlaps = met_statuses = met_spares = 0;
}

static void count_met(const struct worker *w)
{
	struct rmc_blocks_stats st = stats_of(&w->c);
	unsigned int k;

	met.restarts += st.restarts;
	met.torn += st.torn;
	met.locked += st.locked;
	met.lost += st.lost;
	CHECK_EQ(st.stuck, 0);
	met_ops += w->ops + w->full + w->dropped;
	met_full += w->full;
	met_dropped += w->dropped;
	met_spares += remote(&w->c)->spare_head;
	for (k = 0; k < w->ops; k++) {
		met_overlaps += w->done[k].complete > w->done[k].invoke + 1;
		met_statuses += w->done[k].err > 0;
	}
}

/* few blocks, of little room: chains grow, blocks split */
static void areas_for(const struct setting *s)
{
	bool table = s->coupling == TABLE, map = s->coupling == MAP;

	area_latch = s->latch;
	area_sync = s->sync;
	area_pad = s->pad;
	areas_of(table ? RMC_BLOCKS_TABLE : map ? RMC_BLOCKS_MAP : RMC_BLOCKS_TREE, s->scheme,
		 table ? RMC_TABLE_BYTES : map ? RMC_MAP_BYTES : RMC_TREE_BYTES_MIN,
		 table ? 2 : 1, s->capacity, 2);
	area_latch = NULL;
	area_sync = area_pad = 0;
}

static void worker_open(struct worker *w, const struct setting *s, unsigned int number)
{
	w->number = number;
	w->ops = w->full = w->dropped = 0;
	client_open(&w->c, number);
	w->table = s->coupling == TABLE ? rmc_table_open(w->c.blocks, 0) : NULL;
	w->map = s->coupling == MAP ? rmc_map_open(w->c.blocks) : NULL;
	w->tree = s->coupling < 0 ? NULL :
		  rmc_tree_open(w->c.blocks, (enum rmc_tree_coupling)s->coupling);
}

static void worker_close(struct worker *w)
{
	rmc_table_close(w->table);
	rmc_tree_close(w->tree);
	rmc_map_close(w->map);
	client_close(&w->c);
}

static void run_clients(const struct setting *s, unsigned int lose, uint64_t seed)
{
	unsigned int i;

	tap_where = s->scheme;
	areas_for(s);
	now = 0;
	for (i = 0; i < CLIENTS; i++) {
		struct worker *w = &workers[i];

		worker_open(w, s, i);
		w->c.rmc.seed += seed * 0x123456789ULL;
		w->c.rmc.pause = let_others_run;
		w->c.rmc.pauses = REAL_THREADS ? 64 : 3;
		w->c.rmc.flags->shared_cpu = !REAL_THREADS;
		w->c.rmc.qp.shared = !REAL_THREADS;
		w->c.rmc.lose = lose;
		/* nothing waits for what is late with the latches of <rmc/sync.h> */
		w->c.rmc.late_us = lose && !remote(&w->c)->sync ? GRACE_US / 2 : 0;
		w->c.rmc.partial = !!lose;
	}
	run_all(seed);
	fabric.status[1] = 0;
	for (i = 0; i < CLIENTS; i++) {
		workers[i].c.rmc.lose = 0;
		CHECK_EQ(rmc_blocks_settle(workers[i].c.blocks), 0);
		count_met(&workers[i]);
		/* coupling sees no split, and none is left half done */
		if (workers[i].tree && s->coupling != RMC_TREE_LINK && !lose && !flaky)
			CHECK_EQ(workers[i].tree->moves, 0);
	}
	check_history_of_workers();
	for (i = 0; i < CLIENTS; i++)
		worker_close(&workers[i]);
	inline_fabric_free(&fabric);
	tap_where = NULL;
}

static const struct setting settings[] = {
	{ "farm", TABLE, 60, NULL, 0, 0 }, { "farm", RMC_TREE_LINK, 60, NULL, 0, 0 },
	{ "farm", RMC_TREE_VERSION, 60, NULL, 0, 0 },
	{ "farm", RMC_TREE_LATCH, 60, NULL, 0, 0 }, { "sabre", TABLE, 60, NULL, 0, 0 },
	{ "sabre", RMC_TREE_LINK, 60, NULL, 0, 0 },
	{ "crc64", RMC_TREE_LINK, 60, NULL, 0, 0 }, { "crc64", RMC_TREE_VERSION, 60, NULL, 0, 0 },
	{ "crc64", TABLE, 4, NULL, 0, 0 },	/* not enough */
	{ "farm", MAP, 60, NULL, 0, 0 }, { "sabre", MAP, 60, NULL, 0, 0 },
};

static void histories(void)
{
	unsigned int round;
	size_t i;

	for (round = 0; round < (REAL_THREADS ? 1 : 6); round++)
		for (i = 0; i < ARRAY_SIZE(settings); i++)
			run_clients(&settings[i], 0, round);
	CHECK_EQ(undecided, 0);
	print_met();
}

static void lossy_histories(void)
{
	unsigned int round;
	size_t i;

	undecided = 0;
	for (round = 0; round < (REAL_THREADS ? 1 : 6); round++)
		for (i = 0; i < ARRAY_SIZE(settings); i++)
			run_clients(&settings[i], 50, round);
	CHECK(undecided <= 1);
	CHECK(met.lost);
	print_met();
}

/* A node is down for moments, and is the same afterwards: no latch stays. */
static void flaky_histories(void)
{
	unsigned int round;
	size_t i;

	if (REAL_THREADS)
		return;
	flaky = 30;
	undecided = 0;
	for (round = 0; round < 2; round++)
		for (i = 0; i < ARRAY_SIZE(settings); i++)
			run_clients(&settings[i], 0, round);
	flaky = 0;
	CHECK(undecided <= 2);
	CHECK(met_statuses);
	print_met();
}

#endif /* BLOCKS_HISTORIES_H */
