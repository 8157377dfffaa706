// SPDX-License-Identifier: GPL-2.0
/*
 * Every operation of every size on the packet path and on the local path (core/local.h). Memory,
 * statuses, counters and tracepoints must be the same. RMC_TESTBED is ignored: both paths need
 * one unit on one worker.
 */
#include "setup.h"
#include "kmod/core/local.h"

#define RUN	64	/* entries of the queue pair; more are posted at once than a batch takes */

/* Result of one run of operations. */
struct outcome {
	u32 op, length;
	u64 offset;
	int status[RUN];
	u64 memory, counters[2][64], traces[SHIM_TRACES];
};

#define RUNS	160
static struct outcome outcome[2][RUNS];	/* packet path, local path */
static u64 skipped;			/* runs that wrote fewer requests to the ring */

static u64 hash(const void *memory, u64 sum)
{
	const u64 *word = memory;
	u32 i;

	for (i = 0; i < SEG / 8; i++)
		sum = (sum ^ word[i]) * 0x100000001b3;
	return sum;
}

/* All are posted before the first is taken. */
static void run(struct setup *s, u32 op, const u64 *off, const u32 *len, u32 n, struct outcome *o)
{
	u32 i, slot, got, polls = 0;

	memset(o, 0, sizeof(*o));
	o->op = op;
	o->length = *len;
	o->offset = *off;
	memset(shim_traces, 0, sizeof(shim_traces));
	for (i = 0; i < n; i++)
		app_post(&s->a, op, 1, off[i], lbuf + i * (SEG / RUN) + (off[i] & 15), len[i]);
	for (i = 0; i < n && polls++ < 10000;) {
		testbed_visit(&s->w);
		for (; app_poll(&s->a, &slot, &got); i++)
			o->status[slot] = got;
	}
	CHECK_EQ(i, n);
	o->memory = hash(seg, hash(lbuf, 0));
	for (i = 0; i < 2; i++) {
		u32 k = 0;
#define COUNTER(name) o->counters[i][k++] = testbed_stat(&s->w, i, name);
		RMC_STATS(COUNTER)
#undef COUNTER
	}
	memcpy(o->traces, shim_traces, sizeof(shim_traces));
}

/* Lengths: a line, a packet, a few, more than a few; offsets within a line and at the end. */
static u32 operation(const struct testbed_opts *o, u32 op, u32 sabre, u32 flags, bool local)
{
	const u32 mtu = o->mtu;
	const u32 lens[] = { 0, 1, 4, 8, 16, 63, 64, 65, mtu - 1, mtu, mtu + 1, 2 * mtu,
			     4 * mtu - 8, 4 * mtu, 4 * mtu + 64, 9 * mtu };
	const u64 offs[] = { 0, 8, 60, 4096 - 16, SEG - 64, SEG - 8, SEG, 1ULL << 39 };
	struct outcome *out = outcome[local];
	u32 i, j, n, len[RUN], requests;
	struct setup s;
	u64 off[RUN];

	setup_make(&s, o, RUN);
	fill(seg, SEG, 1);
	fill(lbuf, SEG, 2);
	/* objects without writers: even versions, no readers */
	for (i = 0; i < SEG; i += 8)
		seg[i] &= ~1;
	s.seg_mem->flags = flags;
	if (sabre)
		mem_objects(s.seg_mem, sabre, 0);
	s.w.node[0]->local = local;
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (j = 0; j < ARRAY_SIZE(offs); j++)
			/* a SABRe that fails may not send all its packets */
			if (op != RMC_OP_SABRE || sabre || lens[i] <= 2 * mtu)
				run(&s, op, &offs[j], &lens[i], 1, out++);
	/* short ones, rejected and served, of which a batch takes only some */
	for (i = 0, n = 0; n < 3 * RUN / 4; i++) {
		off[n] = offs[i % ARRAY_SIZE(offs)];
		len[n] = lens[i % 11 + i % 2];
		n += len[n] <= SEG / RUN / 2;
	}
	run(&s, op, off, len, n, out++);
	requests = s.w.node[0]->out[1] ? s.w.node[0]->out[1]->req.pos : 0;
	CHECK(setup_guards_intact());
	setup_free(&s);
	CHECK(out - outcome[local] <= RUNS);
	return requests;
}

static const char *const counter_name[] = {
#define COUNTER(name) #name,
	RMC_STATS(COUNTER)
#undef COUNTER
};

static void compare(const struct outcome *a, const struct outcome *b)
{
	u32 i, k;

	for (i = 0; i < RUN; i++)
		CHECK_EQ(a->status[i], b->status[i]);
	CHECK_EQ(a->memory, b->memory);
	for (i = 0; i < SHIM_TRACES; i++)
		CHECK_EQ(a->traces[i], b->traces[i]);
	for (i = 0; i < 2; i++)
		for (k = 0; k < ARRAY_SIZE(counter_name); k++)
			/* used by packets only: the table of announced operations, credits */
			if (strncmp(counter_name[k], "att_", 4) &&
			    strcmp(counter_name[k], "credit_stalls") &&
			    a->counters[i][k] != b->counters[i][k]) {
				printf("# node %u %s: %lu with packets, %lu without\n", i,
				       counter_name[k], a->counters[i][k], b->counters[i][k]);
				CHECK(!"counters");
			}
	if (tap_failures)
		printf("# op %u, offset %lu, length %u\n", a->op, a->offset, a->length);
}

static void both(const struct testbed_opts *o, u32 op, u32 sabre, u32 flags)
{
	u32 packets = operation(o, op, sabre, flags, false);
	u32 i;

	skipped += packets - operation(o, op, sabre, flags, true);
	for (i = 0; i < RUNS && !tap_failures; i++)
		compare(&outcome[0][i], &outcome[1][i]);
}

static void test_operations(const struct testbed_opts *o)
{
	u32 op;

	skipped = 0;
	for (op = 0; op < RMC_OP_MAX; op++) {
		both(o, op, 0, 0);
		both(o, op, 0, RMC_MEM_READONLY);
	}
	/* otherwise this compares packets with packets */
	CHECK(skipped > 100);
}

static void test_sabres(const struct testbed_opts *o)
{
	u32 mode;

	for (mode = RMC_SABRE_OVERLAPPED; mode <= RMC_SABRE_LOCKED; mode++)
		both(o, RMC_OP_SABRE, mode, 0);
}

/* Turned on and off while operations are in flight: none is lost, overtaken or executed twice. */
static void test_switch(const struct testbed_opts *o)
{
	u32 slot, status, posted = 0, done = 0, last = 0, i;
	u64 *word, sum = 0;
	struct setup s;

	setup_make(&s, o, RUN);
	memset(seg, 0, SEG);
	word = (u64 *)lbuf;
	for (i = 0; done < 2000 && i < 100000; i++) {
		s.w.node[0]->local = i / 3 % 2;
		if (posted < 2000 && posted - done < RUN / 2) {
			word[posted % RUN] = 1;
			sum++;
			app_post(&s.a, RMC_OP_FAA, 1, 0, &word[posted++ % RUN], 8);
		}
		if (i % 2)
			testbed_visit(&s.w);
		else
			app_take(&s.a);
		while (app_poll(&s.a, &slot, &status)) {
			CHECK_EQ(status, RMC_S_OK);
			/* the old value: they were executed in the order of the queue */
			CHECK_EQ(word[done % RUN], last);
			last++;
			done++;
		}
	}
	CHECK_EQ(done, 2000);
	CHECK_EQ(*(u64 *)seg, sum);
	setup_free(&s);
}

/* One read: does it need packets? */
static bool needs_packets(struct setup *s, u64 offset, u32 length)
{
	u32 before = s->w.node[0]->out[1] ? s->w.node[0]->out[1]->req.pos : 0;
	u32 slot, status, polls = 0;

	app_post(&s->a, RMC_OP_READ, 1, offset, lbuf, length);
	while (!app_poll(&s->a, &slot, &status) && polls++ < 10000)
		testbed_visit(&s->w);
	CHECK_EQ(status, RMC_S_OK);
	return s->w.node[0]->out[1]->req.pos != before;
}

/* What drivers report to applications is what the RGP does. */
static void test_reach(const struct testbed_opts *o)
{
	struct rmc_ni_worker other, *worker;
	struct setup s;
	u32 reach;

	setup_make(&s, o, RUN);
	fill(seg, SEG, 1);
	needs_packets(&s, 0, 8);	/* the first opens the channel */
	reach = rmc_local_reach(s.w.node[0], 1);
	CHECK(reach >= o->mtu && reach < SEG);
	CHECK_EQ(rmc_local_reach(s.w.node[0], 0), reach);
	CHECK(!needs_packets(&s, 0, 8));
	CHECK(!needs_packets(&s, 0, reach));
	CHECK(!needs_packets(&s, 8, reach - 8));
	CHECK(needs_packets(&s, 8, reach));
	CHECK(needs_packets(&s, 0, reach + 8));
	s.w.node[0]->local = false;
	CHECK_EQ(rmc_local_reach(s.w.node[0], 1), 0);
	CHECK(needs_packets(&s, 0, 8));
	s.w.node[0]->local = true;
	rmc_filters = 1;
	CHECK_EQ(rmc_local_reach(s.w.node[0], 1), 0);
	CHECK(needs_packets(&s, 0, 8));
	rmc_filters = 0;
	CHECK_EQ(rmc_local_reach(s.w.node[0], 1), reach);
	/* nodes of different workers; the node on itself stays as it is */
	worker = s.w.node[1]->srv_worker;
	s.w.node[1]->srv_worker = &other;
	CHECK_EQ(rmc_local_reach(s.w.node[0], 1), 0);
	CHECK_EQ(rmc_local_reach(s.w.node[0], 0), reach);
	s.w.node[1]->srv_worker = worker;
	setup_free(&s);
}

/* Several units, or workers for each end: packets. */
static void test_no_reach(const struct testbed_opts *o)
{
	struct testbed_opts of[] = { *o, *o, *o };
	struct setup s;
	u32 i;

	of[0].ni = "pair";
	of[1].ni = "edge";
	of[1].units = 2;
	of[2].kernels = true;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		setup_make(&s, &of[i], RUN);
		CHECK_EQ(rmc_local_reach(s.w.node[0], 1), 0);
		setup_free(&s);
	}
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "each operation, with packets and without", test_operations },
		{ "SABRes of each mode, with packets and without", test_sabres },
		{ "packets turned on and off meanwhile", test_switch },
		{ "the reported path is the one taken", test_reach },
		{ "no local path between workers, kernels, or with several units", test_no_reach },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "fused", .mtu = 1024 },
	};

	unsetenv("RMC_TESTBED");
	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
