// SPDX-License-Identifier: GPL-2.0
/*
 * Every operation of every size on the packet path and on the local path (core/local.h). Memory,
 * statuses, counters and tracepoints must be the same. RMC_TESTBED is ignored: both paths need
 * one unit on one worker.
 */
#include "setup.h"
#include "kmod/core/local.h"

#define RUN	64	/* entries of the queue pair; more are posted at once than a batch takes */
#define NODES	2

/* Operations that are posted at once */
struct batch {
	u32 op, n, header;	/* header: of a SABRe's objects */
	u32 nid[RUN], len[RUN];
	u64 off[RUN];
};

/*
 * Result of one run of operations. Traces: each event of SHIM_REFUSE, and each of SHIM_COMPLETE by
 * peer, in its order, but SABRes by slot: one with packets may wait for its announcement while
 * later ones end. Of the others the sums, as the packet path reports runs of packets.
 */
struct outcome {
	struct batch b;
	int status[RUN];
	u64 memory, counters[NODES][64];
	u32 packets[SHIM_TRACES][NODES][NODES];
	struct shim_event refused[RUN], completed[NODES][RUN];
};

#define RUNS	320
static struct outcome outcome[2][RUNS];	/* packet path, local path */
static u32 runs[2];
static struct shim_log log;
static u64 skipped;			/* runs that wrote fewer requests to the ring */

static u64 hash(const void *memory, u64 sum)
{
	const u64 *word = memory;
	u32 i;

	for (i = 0; i < SEG / 8; i++)
		sum = (sum ^ word[i]) * 0x100000001b3;
	return sum;
}

static void keep_traces(struct outcome *o)
{
	u32 n[NODES] = { 0 }, i, t;

	for (t = 0; t < SHIM_TRACES; t++) {
		CHECK(log.events[t] <= SHIM_EVENTS);
		for (i = 0; i < log.events[t] && i < SHIM_EVENTS; i++) {
			const struct shim_event *e = &log.event[t][i];
			u32 node = e->node % NODES, peer = e->peer % NODES, at;

			CHECK(e->node == node && e->peer == peer && e->slot < RUN);
			o->packets[t][node][peer] += e->packets;
			if (t == SHIM_REFUSE)
				o->refused[i % RUN] = *e;
			if (t != SHIM_COMPLETE)
				continue;
			at = o->b.op == RMC_OP_SABRE ? e->slot : n[peer]++;
			o->completed[peer][at % RUN] = *e;
		}
	}
}

/* All are posted before the first is taken. */
static void run(struct setup *s, const struct batch *b, bool local)
{
	struct outcome *o = &outcome[local][runs[local]++ % RUNS];
	u32 i, slot, got, polls = 0;

	memset(o, 0, sizeof(*o));
	o->b = *b;
	memset(&log, 0, sizeof(log));
	shim_log = &log;
	for (i = 0; i < b->n; i++)
		app_post(&s->a, b->op, b->nid[i], b->off[i],
			 lbuf + i * (SEG / RUN) + (b->off[i] & 15), b->len[i]);
	for (i = 0; i < b->n && polls++ < 10000;) {
		testbed_visit(&s->w);
		for (; app_poll(&s->a, &slot, &got); i++)
			o->status[slot] = got;
	}
	shim_log = NULL;
	CHECK_EQ(i, b->n);
	CHECK_EQ(log.events[SHIM_REFUSE] + log.events[SHIM_COMPLETE], b->n);
	o->memory = hash(seg, hash(lbuf, 0));
	for (i = 0; i < NODES; i++) {
		u32 k = 0;
#define COUNTER(name) o->counters[i][k++] = testbed_stat(&s->w, i, name);
		RMC_STATS(COUNTER)
#undef COUNTER
	}
	keep_traces(o);
}

static void run_one(struct setup *s, u32 op, u64 off, u32 len, u32 header, bool local)
{
	const struct batch b = {
		.op = op, .n = 1, .header = header, .nid = { 1 }, .off = { off }, .len = { len },
	};

	run(s, &b, local);
}

/* The same memory for both paths */
static void begin(struct setup *s, const struct testbed_opts *o, bool local)
{
	u32 i;

	setup_make(s, o, RUN);
	fill(seg, SEG, 1);
	fill(lbuf, SEG, 2);
	/* objects without writers: even versions, no readers */
	for (i = 0; i < SEG; i += 8)
		seg[i] &= ~1;
	s->w.node[0]->local = local;
	runs[local] = 0;
}

/* Return: requests in the ring */
static u32 end(struct setup *s, bool local)
{
	u32 requests = s->w.node[0]->out[1] ? s->w.node[0]->out[1]->req.pos : 0;

	CHECK(setup_guards_intact());
	setup_free(s);
	CHECK(runs[local] <= RUNS);
	return requests;
}

/* Lengths: a line, a packet, a few, more than a few; offsets within a line and at the end. */
#define LENGTHS(mtu)	{ 0, 1, 4, 8, 16, 63, 64, 65, (mtu) - 1, mtu, (mtu) + 1, 2 * (mtu),	\
			  4 * (mtu) - 8, 4 * (mtu), 4 * (mtu) + 64, 9 * (mtu) }
static const u64 offsets[] = { 0, 8, 60, 4096 - 16, SEG - 64, SEG - 8, SEG, 1ULL << 39 };

/*
 * Short operations, rejected and served, of which a batch takes only some; also on the node itself,
 * which has no segment, and on one that does not exist.
 */
static void run_many(struct setup *s, u32 op, u32 header, bool local)
{
	const u32 lens[] = LENGTHS(s->w.opts.mtu);
	struct batch b = { .op = op, .header = header };
	u32 i;

	for (i = 0; b.n < 3 * RUN / 4; i++) {
		b.off[b.n] = offsets[i % ARRAY_SIZE(offsets)];
		b.len[b.n] = lens[i % 11 + i % 2];
		b.nid[b.n] = i % 7 < 5 ? 1 : i % 7 == 5 ? 0 : 2;
		b.n += b.len[b.n] <= SEG / RUN / 2;
	}
	run(s, &b, local);
}

static u32 operation(const struct testbed_opts *o, u32 op, u32 flags, bool local)
{
	const u32 lens[] = LENGTHS(o->mtu);
	struct setup s;
	u32 i, j;

	begin(&s, o, local);
	s.seg_mem->flags = flags;
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (j = 0; j < ARRAY_SIZE(offsets); j++)
			/* a SABRe that fails may not send all its packets */
			if (op != RMC_OP_SABRE || lens[i] <= 2 * o->mtu)
				run_one(&s, op, offsets[j], lens[i], 0, local);
	run_many(&s, op, 0, local);
	return end(&s, local);
}

/* Operands that are valid, and for a CAS now equal to the word, now not, in the compared half. */
static void rmw_operands(struct batch *b, u32 kind, u32 k, u32 i)
{
	u8 *operands = lbuf + k * (SEG / RUN) + (b->off[k] & 15);
	struct rmc_rmw r = { .kind = kind };

	fill((u8 *)&r.old, sizeof(r.old), 11 * i);
	fill((u8 *)&r.value, sizeof(r.value), 13 * i + 1);
	memcpy(&r.expected, seg + b->off[k], b->len[k]);
	r.compare_mask = i % 4 < 2 ? U64_MAX : 0xffffULL << 8;
	r.swap_mask = i % 3 ? U64_MAX : 0x00ffff0000ffff00;
	if (i % 2)
		r.expected ^= 1 << 9;
	memcpy(operands, &r, sizeof(r));
}

/* Each kind on words of both widths, one by one and many at once; all succeed. */
static u32 rmw(const struct testbed_opts *o, bool local)
{
	struct setup s;
	u32 kind, i, k;

	begin(&s, o, local);
	for (kind = 0; kind < RMC_RMW_KINDS; kind++) {
		for (i = 0; i < 6; i++) {
			struct batch b = { .op = RMC_OP_RMW, .n = i < 4 ? 1 : RUN / 2 };

			for (k = 0; k < b.n; k++) {
				b.nid[k] = 1;
				b.len[k] = i % 2 ? 4 : 8;
				/* no word twice: what is expected is there still */
				b.off[k] = 4096 - 64 + kind * 8 + i * 1024 + k * 64 + i % 2 * 4;
				rmw_operands(&b, kind, k, k + i / 2);
			}
			run(&s, &b, local);
			for (k = 0; k < b.n; k++)
				CHECK_EQ(outcome[local][runs[local] - 1].status[k], RMC_S_OK);
		}
	}
	return end(&s, local);
}

static bool inside(u64 off, u32 header)
{
	return off < SEG && off + header < SEG - 8;
}

/*
 * Objects whose version is @header bytes behind their beginning, also in other lines. Those at
 * every other offset are being written: only their own versions are odd.
 */
static u32 sabres(const struct testbed_opts *o, u32 mode, u32 header, bool writers, bool local)
{
	const u32 lens[] = LENGTHS(o->mtu);
	struct setup s;
	u32 i, j;

	begin(&s, o, local);
	mem_objects(s.seg_mem, mode, header);
	for (j = 0; writers && j < ARRAY_SIZE(offsets); j += 2)
		if (inside(offsets[j], header))
			seg[offsets[j] + header] |= 1;
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (j = 0; j < ARRAY_SIZE(offsets); j++)
			if (!writers || lens[i] <= 2 * o->mtu)
				run_one(&s, RMC_OP_SABRE, offsets[j], lens[i], header, local);
	run_many(&s, RMC_OP_SABRE, header, local);
	return end(&s, local);
}

static const char *const counter_name[] = {
#define COUNTER(name) #name,
	RMC_STATS(COUNTER)
#undef COUNTER
};

static void compare_traces(const struct outcome *a, const struct outcome *b)
{
	CHECK(!memcmp(a->packets[SHIM_INJECT], b->packets[SHIM_INJECT], sizeof(a->packets[0])));
	CHECK(!memcmp(a->packets[SHIM_SERVE], b->packets[SHIM_SERVE], sizeof(a->packets[0])));
	CHECK(!memcmp(a->refused, b->refused, sizeof(a->refused)));
	CHECK(!memcmp(a->completed, b->completed, sizeof(a->completed)));
}

static void compare(const struct outcome *a, const struct outcome *b)
{
	u32 i, k;

	for (i = 0; i < RUN; i++)
		CHECK_EQ(a->status[i], b->status[i]);
	CHECK_EQ(a->memory, b->memory);
	compare_traces(a, b);
	for (i = 0; i < NODES; i++)
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
		printf("# op %u, header %u, %u at once, offset %lu, length %u\n", a->b.op,
		       a->b.header, a->b.n, a->b.off[0], a->b.len[0]);
}

/* After one run of each path, which wrote so many requests to its ring */
static void compare_all(u32 with, u32 without)
{
	u32 i;

	skipped += with - without;
	CHECK_EQ(runs[0], runs[1]);
	for (i = 0; i < runs[0] && !tap_failures; i++)
		compare(&outcome[0][i], &outcome[1][i]);
}

static void test_operations(const struct testbed_opts *o)
{
	static const u32 flags[] = { 0, RMC_MEM_READONLY };
	u32 op, i, packets;

	skipped = 0;
	for (op = 0; op < RMC_OP_MAX; op++)
		for (i = 0; i < ARRAY_SIZE(flags); i++) {
			packets = operation(o, op, flags[i], false);
			compare_all(packets, operation(o, op, flags[i], true));
		}
	/* otherwise this compares packets with packets */
	CHECK(skipped > 100);
}

static void test_rmw(const struct testbed_opts *o)
{
	u32 packets = rmw(o, false);

	skipped = 0;
	compare_all(packets, rmw(o, true));
	CHECK(skipped > 100);
}

static void test_sabres(const struct testbed_opts *o)
{
	static const u32 headers[] = { 0, 8, 56, 64, 200, 1024 };
	u32 mode, i, writers, packets;

	for (mode = RMC_SABRE_OVERLAPPED; mode <= RMC_SABRE_LOCKED; mode++)
		for (i = 0; i < ARRAY_SIZE(headers); i++)
			for (writers = 0; writers < 2; writers++) {
				skipped = 0;
				packets = sabres(o, mode, headers[i], writers, false);
				compare_all(packets, sabres(o, mode, headers[i], writers, true));
				CHECK(skipped > 50);
			}
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
		{ "each kind of RMW, with packets and without", test_rmw },
		{ "SABRes of each mode and header, with packets and without", test_sabres },
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
