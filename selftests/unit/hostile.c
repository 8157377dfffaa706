// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile party writes structured and unstructured noise into the memory that kernels share,
 * while they run. Between two nodes: the others are not affected. Everywhere: memory that is
 * not registered is not accessed, every operation still gets one completion, and nodes that
 * join again work normally.
 */
#include "matrix.h"
#include "scribble.h"

#define NODES	4
#define GUARD	4096
#define CANARY	0x77
#define CLEAN	0		/* context for which no requests are made up */
#define ROUGH	1
#define ROW	8192		/* of a clean segment, per writer */
#define SEG	(NODES * ROW + 100)
#define SLOTS	16
#define SLOT	8192		/* of a local buffer, per entry of the WQ */
#define BUF	(SLOTS * SLOT + 33)

/* Memory with canaries around it */
struct guarded {
	u8 *all;
	u8 *at;
	size_t length;
	struct rmc_mem *mem;
};

/* An application on one node that accesses another */
struct user {
	struct app a;
	struct guarded buf;
	u32 nid, peer;
	u64 added;
	u32 posted, done, ok;
	u16 skip[SLOTS], len[SLOTS];	/* by slot, where the reply may write */
};

struct cluster {
	struct testbed w;
	struct scribble s;
	struct guarded seg[NODES][2];	/* by context */
	struct user user[NODES][NODES];
};

static struct cluster *cluster;
static u32 rng;

static u32 below(u32 n)
{
	rng = rng * 1664525 + 1013904223;
	return (rng >> 8) % n;
}

static void guard(struct guarded *g, size_t length, u32 skew)
{
	g->all = aligned_alloc(4096, (2 * GUARD + length + 4095) & ~4095UL);
	memset(g->all, CANARY, 2 * GUARD + length);
	g->at = g->all + GUARD - skew;
	g->length = length;
	g->mem = mem_make(g->at, length, 12, 0);
}

static void unguard(struct guarded *g)
{
	mem_free(g->mem);
	free(g->all);
}

static void check_canary(const u8 *p, size_t n)
{
	size_t i;

	for (i = 0; i < n && p[i] == CANARY; i++)
		;
	CHECK_EQ(i, n);
}

static void check_guards(const struct guarded *g)
{
	check_canary(g->all, g->at - g->all);
	check_canary(g->at + g->length, g->all + 2 * GUARD + g->length - g->at - g->length);
}

static bool rough(u32 a, u32 b)
{
	return a < 2 && b < 2;
}

static void users_init(struct cluster *c, bool all_rough)
{
	u32 a, b;

	for (a = 0; a < NODES; a++)
		for (b = 0; b < NODES; b++) {
			struct user *u = &c->user[a][b];

			u->nid = a;
			u->peer = b;
			app_init(&u->a, &c->w, a, all_rough || rough(a, b) ? ROUGH : CLEAN, SLOTS);
			rmc_bufs_add(&u->a.bufs, u->buf.mem);
		}
}

static void segs_set(struct cluster *c)
{
	u32 n;

	for (n = 0; n < NODES; n++) {
		seg_set(&c->w, n, CLEAN, c->seg[n][CLEAN].mem);
		seg_set(&c->w, n, ROUGH, c->seg[n][ROUGH].mem);
	}
}

static void setup(struct cluster *c, const struct testbed_opts *o, bool all_rough)
{
	struct testbed_opts k = *o;
	u32 a, b;

	memset(c, 0, sizeof(*c));
	cluster = c;
	rng = 1;
	k.nodes = NODES;
	k.kernels = true;
	testbed_init(&c->w, &k);
	for (a = 0; a < NODES; a++) {
		c->w.fabric[a].timeout_ms = 64;
		guard(&c->seg[a][CLEAN], SEG, 64);
		guard(&c->seg[a][ROUGH], SEG, 0);
		memset(c->seg[a][CLEAN].at, 0, SEG);
		for (b = 0; b < NODES; b++)
			guard(&c->user[a][b].buf, BUF, 7);
	}
	segs_set(c);
	users_init(c, all_rough);
	c->s = (struct scribble){ .f = &c->w.fabric[0], .rng = 88172645463325252ULL,
				  .spare_ctx = all_rough ? -1 : CLEAN };
}

static void users_fini(struct cluster *c)
{
	u32 a, b;

	for (a = 0; a < NODES; a++)
		for (b = 0; b < NODES; b++)
			app_fini(&c->user[a][b].a);
}

/* Replies that matched an operation in flight and were not valid for it */
static u64 live;

static void count_live(const struct cluster *c)
{
	u32 n, i;

	for (n = 0; n < NODES; n++)
		for (i = 0; i < c->w.opts.units; i++)
			live += c->w.node[n]->unit[i]->stats.bad_replies;
}

static void teardown(struct cluster *c)
{
	u32 a, b;

	count_live(c);
	for (a = 0; a < NODES; a++) {
		check_guards(&c->seg[a][CLEAN]);
		check_guards(&c->seg[a][ROUGH]);
		for (b = 0; b < NODES; b++)
			check_guards(&c->user[a][b].buf);
	}
	users_fini(c);
	testbed_fini(&c->w);
	for (a = 0; a < NODES; a++) {
		unguard(&c->seg[a][CLEAN]);
		unguard(&c->seg[a][ROUGH]);
		for (b = 0; b < NODES; b++)
			unguard(&c->user[a][b].buf);
	}
}

/* One that must work: written, read back and counted */
static void clean_op(struct user *u)
{
	u64 at = u->nid * ROW + 8 + below(64), *word = (u64 *)(u->buf.at + 7);
	u32 len = 1 + below(ROW - 200), i, salt = below(256);
	u8 *out = u->buf.at + SLOT, *in = u->buf.at + 3 * SLOT;

	for (i = 0; i < len; i++)
		out[i] = i * 7 + salt;
	memset(in, 0, len);
	CHECK_EQ(app_run(&u->a, RMC_OP_WRITE, u->peer, at, out, len), RMC_S_OK);
	CHECK_EQ(app_run(&u->a, RMC_OP_READ, u->peer, at, in, len), RMC_S_OK);
	CHECK(!memcmp(in, out, len));
	*word = 1;
	CHECK_EQ(app_run(&u->a, RMC_OP_FAA, u->peer, u->nid * ROW, word, 8), RMC_S_OK);
	CHECK_EQ(*word, u->added);
	u->added++;
}

/* Only the requested bytes of the local buffer may change. */
static void rough_reap(struct user *u)
{
	u32 slot, status;

	while (app_poll(&u->a, &slot, &status)) {
		u8 *p = u->buf.at + slot * SLOT;

		CHECK(status < RMC_S_DOMAIN_MAX);
		u->done++;
		u->ok += status == RMC_S_OK;
		check_canary(p, u->skip[slot]);
		check_canary(p + u->skip[slot] + u->len[slot],
			     SLOT - u->skip[slot] - u->len[slot]);
		memset(p, CANARY, SLOT);
		u->len[slot] = 0;
	}
}

/* One that may end with any status, but must end */
static void rough_op(struct user *u)
{
	u32 slot = u->a.head % SLOTS, op = 1 + below(7), len;
	bool atomic = op == RMC_OP_CAS || op == RMC_OP_FAA;

	rough_reap(u);
	if (u->len[slot])
		return;
	len = atomic ? 8 : 1 + below(SLOT / 2);
	u->skip[slot] = below(SLOT / 4);
	/* operands of a CAS are two words */
	u->len[slot] = atomic ? 16 : len;
	u->posted++;
	app_post(&u->a, op, u->peer, below(SEG) & (atomic ? ~7U : ~0U),
		 u->buf.at + slot * SLOT + u->skip[slot], op == RMC_OP_NOTIFY ? 0 : len);
}

static void rough_end(struct cluster *c, u32 a, u32 b)
{
	struct user *u = &c->user[a][b];
	u32 i;

	for (i = 0; i < 400 && u->done != u->posted; i++) {
		testbed_tick(&c->w, 10);
		testbed_settle(&c->w);
		rough_reap(u);
	}
	CHECK_EQ(u->done, u->posted);
	CHECK_EQ(u->a.head - u->a.cq_head, 0);
}

static void ticks(struct cluster *c, u32 n, u64 ms)
{
	while (n--) {
		testbed_tick(&c->w, ms);
		testbed_settle(&c->w);
	}
}

/* As the administrator of that kernel: rmcctl node down and up */
static void rejoin(struct cluster *c, u32 nid)
{
	struct rmc_node *node = c->w.node[nid];
	u32 now_ms = rmc_os_ns_to_ms(testbed_now_ns), i;

	if (node->fenced) {
		/* as the transport does if no kernel hosts the node */
		node->claimed = c->w.table[nid].epoch + 1;
		c->w.table[nid].claim = rmc_claim(RMC_NODE_JOINING, node->claimed);
		for (i = 0; i < c->w.opts.units; i++)
			rmc_node_rejoin(node->unit[i], now_ms);
		return;
	}
	for (i = 0; i < c->w.opts.units; i++)
		rmc_node_down_srv(node->unit[i]);
	for (i = 0; i < c->w.opts.units; i++)
		rmc_node_down_req(node->unit[i]);
	ticks(c, 2, 2);
	rmc_node_join(node, now_ms);
}

static void all_well(struct cluster *c)
{
	u32 a, b, i;

	for (i = 0; i < 5; i++)
		for (a = 0; a < NODES; a++)
			for (b = 0; b < NODES; b++)
				clean_op(&c->user[a][b]);
}

/*
 * Over a link: the kernel of node @a scribbles into its own memory, and sends the result to @b. A
 * link does not set doorbells of units that are not here.
 */
static void scribble_link(struct cluster *c, u32 a, u32 b)
{
	u32 units = c->w.opts.units, i;
	struct rmc_fabric *f = testbed_fabric(&c->w, a);

	c->s.f = f;
	scribble_pair(&c->s, a, b);
	for (i = 0; i < units * units; i++) {
		u32 from = rmc_endpoint(f, a) + i / units, to = rmc_endpoint(f, b) + i % units;

		*rmc_doorbell_word(f, to, RMC_LANE_REQ, from) = 0;
		*rmc_doorbell_word(f, to, RMC_LANE_REP, from) = 0;
		f->ops->put(f, from, to, RMC_LANE_REQ);
		f->ops->put(f, from, to, RMC_LANE_REP);
	}
}

/* Between two nodes: the others are not affected, and these recover when one joins again. */
static void test_pair(const struct testbed_opts *o)
{
	static struct cluster c;
	u32 round, a, b, i;

	setup(&c, o, false);
	for (round = 0; round < 6000; round++) {
		for (i = 0; i < 4; i++)
			if (c.w.packets)
				scribble_link(&c, i & 1, !(i & 1));
			else
				scribble_pair(&c.s, 0, 1);
		rough_op(&c.user[0][1]);
		rough_op(&c.user[1][0]);
		testbed_visit(&c.w);
		if (!(round % 8))
			testbed_tick(&c.w, 1);
		a = below(NODES);
		b = below(NODES);
		if (!rough(a, b) && !(round % 4))
			clean_op(&c.user[a][b]);
	}
	rough_end(&c, 0, 1);
	rough_end(&c, 1, 0);
	CHECK(testbed_stat(&c.w, 0, stale_replies) + testbed_stat(&c.w, 1, stale_replies) > 50);
	CHECK(testbed_stat(&c.w, 0, serve_errors) + testbed_stat(&c.w, 1, serve_errors) > 50);
	CHECK(!c.w.node[0]->fenced && !c.w.node[1]->fenced);

	rejoin(&c, 1);
	ticks(&c, 6, 2);
	for (i = 0; i < 200; i++) {
		for (a = 0; a < 2; a++)
			CHECK_EQ(app_run(&c.user[a][!a].a, RMC_OP_READ, !a, 64 * i,
					 c.user[a][!a].buf.at, 64), RMC_S_OK);
		clean_op(&c.user[i & 1][2 + (i >> 1 & 1)]);
		clean_op(&c.user[2 + (i >> 1 & 1)][i & 1]);
	}
	memset(c.user[0][1].buf.at, CANARY, BUF);
	teardown(&c);
}

/* Everywhere, including the tables. */
static void scribble_all(struct cluster *c)
{
	u32 round, a, b, i;

	for (round = 0; round < 5000; round++) {
		for (i = 0; i < 4; i++)
			scribble_pair(&c->s, below(NODES), below(NODES));
		/* at first the tables are valid: many requests are still served */
		if (round > 1000 && !(round % 16))
			scribble_tables(&c->s);
		a = below(NODES);
		b = below(NODES);
		rough_op(&c->user[a][b]);
		testbed_visit(&c->w);
		if (!(round % 8))
			testbed_tick(&c->w, 1);
	}
	for (a = 0; a < NODES; a++)
		for (b = 0; b < NODES; b++)
			rough_end(c, a, b);
}

/* Replaces the contents of the clean segments; the clean context is free. */
static void clean_start(struct cluster *c)
{
	u32 a, b;

	users_fini(c);
	users_init(c, false);
	for (a = 0; a < NODES; a++) {
		memset(c->seg[a][CLEAN].at, 0, SEG);
		for (b = 0; b < NODES; b++) {
			app_fini(&c->user[a][b].a);
			app_init(&c->user[a][b].a, &c->w, a, CLEAN, SLOTS);
			rmc_bufs_add(&c->user[a][b].a.bufs, c->user[a][b].buf.mem);
		}
	}
}

/* Everywhere; then every node joins again. */
static void test_all(const struct testbed_opts *o)
{
	static struct cluster c;
	u32 n, fenced = 0;

	setup(&c, o, true);
	scribble_all(&c);
	for (n = 0; n < NODES; n++)
		fenced += c.w.node[n]->fenced;
	CHECK(fenced > 0);
	for (n = 0; n < NODES; n++)
		rejoin(&c, n);
	/* the tables may be wrong about live nodes for some time */
	ticks(&c, 40, 500);
	for (n = 0; n < NODES; n++)
		CHECK(c.w.node[n]->up && !c.w.node[n]->fenced);
	clean_start(&c);
	all_well(&c);
	teardown(&c);
}

/* Everywhere; then all kernels boot again, on zeroed memory. */
static void test_all_restart(const struct testbed_opts *o)
{
	static struct cluster c;
	u32 n;

	setup(&c, o, true);
	scribble_all(&c);
	count_live(&c);
	users_fini(&c);
	memset(c.w.table, 0, NODES * sizeof(*c.w.table));
	memset(c.w.doorbell, 0, c.s.f->endpoints * RMC_LANES * sizeof(*c.w.doorbell));
	memset(c.w.sync, 0, c.s.f->endpoints * NODES * sizeof(u32));
	for (n = 0; n < NODES; n++)
		testbed_restart(&c.w, n);
	segs_set(&c);
	users_init(&c, false);
	ticks(&c, 6, 2);
	clean_start(&c);
	all_well(&c);
	teardown(&c);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "scribbles between two nodes", test_pair },
		{ "scribbles everywhere, then nodes join again", test_all, .shared = true },
		{ "scribbles everywhere, then kernels boot again", test_all_restart, .shared = true },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = NODES, .ni = "fused", .mtu = 4096 },
		{ .nodes = NODES, .ni = "pair", .mtu = 64 },
		{ .nodes = NODES, .ni = "fused", .mtu = 256, .ring_order = 3, .pay_order = 3 },
		{ .nodes = NODES, .ni = "edge", .units = 2, .interleave = 256, .mtu = 1024 },
		{ .nodes = NODES, .ni = "split", .units = 2, .mtu = 4096 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	printf("# %llu forged replies met an operation in flight\n", (unsigned long long)live);
	CHECK(live > 0);
	tap_result("forged replies meet operations in flight");
	return matrix_done();
}
