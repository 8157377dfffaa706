// SPDX-License-Identifier: GPL-2.0
/*
 * The modelled network adapter, in virtual time: lines of a read in any order while another node
 * writes (R25 4.2, figure 1b), what its parts take, and its buffer of atomics.
 */
#include "filtered.h"
#include "kmod/core/adapter.h"
#include "kmod/core/pipeline.h"
#include "kmod/fabric/stages.h"

#define READS	500
#define SERVER	1
#define WRITER	2
#define MOST	4096

/* What a fabric did to reads of an object whose writer stores its version into each line */
struct torn {
	u32 reads;
	u32 mixed;		/* lines of several versions, found by comparing the ends */
	u32 hidden;		/* ... and the ends are equal */
};

static bool all_zero(const u8 *p, u32 len)
{
	while (len && !*p) {
		p++;
		len--;
	}
	return !len;
}

static struct rmc_rnic any_lines = { .any_lines = 1 };

static void rnic_set(struct testbed *w, u32 nid, const struct rmc_rnic *r)
{
	u32 i;

	for (i = 0; i < w->opts.units; i++) {
		struct rmc_links *l = &w->node[nid]->unit[i]->links;

		CHECK_EQ(rmc_rnic_check(r, w->opts.mtu), 0);
		CHECK_EQ(rmc_channel_set_adapter(w->node[nid]->unit[i], r, 7 + i), 0);
		CHECK_EQ(rmc_rnic_set_client(l, r, 7 + i), 0);
	}
}

/* An application on a further node, with a buffer of its own */
struct writer {
	struct app a;
	struct rmc_mem *mem;
	u8 *buf;
	u64 version;
};

static void writer_init(struct writer *wr, struct setup *s, u32 nid)
{
	wr->buf = aligned_alloc(PAGE, SEG);
	memset(wr->buf, 0, SEG);
	wr->mem = mem_make(wr->buf, SEG, 12, 0);
	app_init(&wr->a, &s->w, nid, CTX, 16);
	rmc_bufs_add(&wr->a.bufs, wr->mem);
	wr->version = 0;
}

static void writer_fini(struct writer *wr)
{
	app_fini(&wr->a);
	mem_free(wr->mem);
	free(wr->buf);
}

/* The next version, in each word, when the last one is written */
static void writer_step(struct writer *wr, u32 offset, u32 bytes)
{
	u32 slot, status, i;

	if (wr->version && !app_poll(&wr->a, &slot, &status))
		return;
	wr->version++;
	for (i = 0; i < bytes / 8; i++)
		((u64 *)wr->buf)[i] = wr->version;
	app_post(&wr->a, RMC_OP_WRITE, SERVER, offset, wr->buf, bytes);
}

static void judge(struct torn *t, u32 offset, u32 bytes)
{
	const u64 *word = (const u64 *)lbuf, *end = word + bytes / 8;
	/* words of the first line that are before the object */
	u32 skip = offset % 64 / 8;
	const u64 *w;

	t->reads++;
	for (w = word; w < end; w++) {
		/* a line is never torn */
		CHECK_EQ(*w, word[max((int)((w - word + skip) / 8 * 8 - skip), 0)]);
		if (*w != word[0])
			break;
	}
	if (w == end)
		return;
	if (word[0] == end[-1])
		t->hidden++;
	else
		t->mixed++;
}

/* Node 0 reads what node 2 writes, both without a pause. */
static struct torn race(struct setup *s, u32 offset, u32 bytes)
{
	struct torn t = { };
	struct writer wr;
	u32 slot, status, n;

	writer_init(&wr, s, WRITER);
	memset(seg, 0, offset + bytes);
	app_post(&s->a, RMC_OP_READ, SERVER, offset, lbuf, bytes);
	for (n = 0; t.reads < READS && n < 1000 * READS; n++) {
		writer_step(&wr, offset, bytes);
		testbed_visit(&s->w);
		testbed_now_ns += 100;
		if (!app_poll(&s->a, &slot, &status))
			continue;
		CHECK_EQ(status, RMC_S_OK);
		judge(&t, offset, bytes);
		app_post(&s->a, RMC_OP_READ, SERVER, offset, lbuf, bytes);
	}
	CHECK_EQ(t.reads, READS);
	CHECK(wr.version > READS / 10);
	for (n = 0; n < 1000; n++) {
		testbed_settle(&s->w);
		testbed_now_ns += 1000;
	}
	writer_fini(&wr);
	while (app_poll(&s->a, &slot, &status))
		;
	check_quiet(s);
	return t;
}

/* What the reader's link does */
enum fabric { PLAIN, SHUFFLE, JITTER, ANY_LINES, ANY_LINES_GAP };

static const char *const fabric_name[] = {
	"no filter", "shuffle", "jitter 500 ns", "lines=any", "lines=any gap=250",
};

static struct torn race_on(const struct testbed_opts *o, u32 mtu, enum fabric which, u32 offset,
			   u32 bytes)
{
	struct rmc_fault fault = { .shuffle = RMC_ALWAYS };
	struct testbed_opts three = *o;
	struct rmc_rnic r = any_lines;
	struct setup s;
	struct torn t;

	three.nodes = 3;
	three.mtu = mtu;
	setup(&s, &three);
	/* the local path would move the whole object at once, as filters would not */
	if (which == JITTER)
		fault = (struct rmc_fault){ .delay_ns = 500, .jitter_ns = 500 };
	if (which == SHUFFLE || which == JITTER)
		fault_set(&s.w, 0, SERVER, RMC_LANE_REQ, &fault, 3);
	r.gap_ns = which == ANY_LINES_GAP ? 250 : 0;
	if (which >= ANY_LINES)
		rnic_set(&s.w, SERVER, &r);
	t = race(&s, offset, bytes);
	fault_clear(&s.w, 0, SERVER, RMC_LANE_REQ);
	teardown(&s);
	return t;
}

/*
 * The table: which fabric tears which objects. Ends that differ tell a reader of two lines, and
 * nobody else.
 */
static void test_torn_table(const struct testbed_opts *o)
{
	static const u32 sizes[] = { 128, 256, 512, 2048, MOST };
	static const u32 mtus[] = { 64, 512, 4096 };
	bool all = !strcmp(o->ni, "fused");
	enum fabric which;
	u32 i, j;

	/* the other organisations: the adapter alone */
	for (which = all ? PLAIN : ANY_LINES; which <= ANY_LINES_GAP; which++)
		for (i = all ? 0 : 1; i < (all ? ARRAY_SIZE(mtus) : 2); i++)
			for (j = 0; j < ARRAY_SIZE(sizes); j++) {
				struct torn t = race_on(o, mtus[i], which, 0, sizes[j]);

				printf("# %-18s MTU %4u %5u B: %4u of %u torn, ends equal in %u\n",
				       fabric_name[which], mtus[i], sizes[j], t.mixed + t.hidden,
				       t.reads, t.hidden);
				if (which < JITTER) {
					/* a visit takes so many packets of a source */
					if (which == PLAIN || sizes[j] / mtus[i] <= RMC_BATCH)
						CHECK_EQ(t.mixed, 0);
					CHECK_EQ(t.hidden, 0);
				} else if (which == JITTER) {
					if (mtus[i] >= sizes[j])
						CHECK_EQ(t.mixed + t.hidden, 0);
				} else {
					CHECK(t.mixed > 0);
					if (sizes[j] >= 256)
						CHECK(t.hidden > READS / 100);
				}
				if (sizes[j] == 128)
					CHECK_EQ(t.hidden, 0);
			}
}

/* An object of the longest packet that does not begin on a line: a packet, and a line behind it */
static void test_torn_unaligned(const struct testbed_opts *o)
{
	static const u32 offsets[] = { 8, 56 };
	enum fabric which;
	u32 i;

	for (which = PLAIN; which <= ANY_LINES_GAP; which++) {
		if (which > PLAIN && which < ANY_LINES)
			continue;
		for (i = 0; i < ARRAY_SIZE(offsets); i++) {
			struct torn t = race_on(o, MOST, which, offsets[i], MOST);

			if (which == PLAIN)
				CHECK_EQ(t.mixed + t.hidden, 0);
			else
				CHECK(t.mixed > 0 && t.hidden > READS / 100);
		}
	}
}

/* Any length at any offset: the data, and nothing else, also where payload wraps */
static void test_steps_data(const struct testbed_opts *o)
{
	u64 rng = 5;
	struct setup s;
	u32 i;

	setup(&s, o);
	rnic_set(&s.w, SERVER, &any_lines);
	fill(seg, SEG, 1);
	for (i = 0; i < 300; i++) {
		u32 len = 1 + rmc_random_below(&rng, i % 3 ? 300 : 9000);
		u32 off = rmc_random_below(&rng, SEG - len);

		memset(lbuf, 0x11, len + 1);
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, SERVER, off, lbuf, len), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + off, len) && lbuf[len] == 0x11);
		fill(lbuf, len, i);
		memset(seg + off + len, 0x22, off + len < SEG);
		memset(seg + off - 1, 0x33, off > 0);
		CHECK_EQ(app_run(&s.a, RMC_OP_WRITE, SERVER, off, lbuf, len), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + off, len));
		CHECK(off + len == SEG || seg[off + len] == 0x22);
		CHECK(!off || seg[off - 1] == 0x33);
	}
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, SERVER, SEG - 64, lbuf, 65), RMC_S_OUT_OF_RANGE);
	check_quiet(&s);
	CHECK(setup_guards_intact());
	teardown(&s);
}

/* Lines are stored in order, steps apart; nothing is forgotten while the clock stands. */
static void test_steps_of_a_write(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .any_lines = 1, .gap_ns = 1000 };
	u32 bytes = 2048, lines, i, steps = 0, was = 0, slot, status;
	struct setup s;

	setup(&s, o);
	rnic_set(&s.w, SERVER, &r);
	memset(seg, 0, bytes);
	memset(lbuf, 1, bytes);
	app_post(&s.a, RMC_OP_WRITE, SERVER, 0, lbuf, bytes);
	for (i = 0; i < 100; i++) {
		testbed_settle(&s.w);
		for (lines = 0; lines < bytes / 64 && seg[lines * 64]; lines++)
			;
		CHECK(all_zero(seg + lines * 64, bytes - lines * 64));
		/* with an MTU of a line or so each packet is a request, unless they are a run */
		steps += lines != was;
		was = lines;
		if (app_poll(&s.a, &slot, &status))
			break;
		testbed_now_ns += 999;
		testbed_settle(&s.w);
		CHECK(lines == bytes / 64 || !seg[lines * 64]);
		testbed_now_ns++;
	}
	CHECK_EQ(status, RMC_S_OK);
	CHECK_EQ(was, bytes / 64);
	CHECK(steps >= bytes / 64 / RMC_STEP_LINES);
	check_quiet(&s);
	teardown(&s);
}

/* Nothing is left of a request that ends in another way: its memory is gone, or the model is off. */
static void test_steps_that_end(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .any_lines = 1, .gap_ns = 1000 };
	struct rmc_in *in;
	struct setup s;
	u32 i, k;

	setup(&s, o);
	rnic_set(&s.w, SERVER, &r);
	memset(lbuf, 1, 1024);
	for (i = 0; i < 3; i++) {
		fill(seg, SEG, i);
		app_post(&s.a, RMC_OP_READ, SERVER, 64, lbuf, 1024);
		for (k = 0; k < 30; k++)
			testbed_visit(&s.w);
		in = s.w.node[SERVER]->in[s.a.qp.node->ep];
		CHECK(in && rmc_adapter_due(in) > testbed_now_ns);
		CHECK(!rmc_adapter_moved(in));
		if (!i) {
			seg_set(&s.w, SERVER, CTX, NULL);
			CHECK_EQ(rmc_adapter_due(in), 0);
			CHECK_EQ(app_wait(&s.a), RMC_S_BAD_CONTEXT);
			seg_set(&s.w, SERVER, CTX, s.seg_mem);
		} else {
			rnic_set(&s.w, SERVER, i == 1 ? &(struct rmc_rnic){ } : &any_lines);
			if (i == 1)
				CHECK_EQ(app_wait(&s.a), RMC_S_OK);
			else
				CHECK_EQ(wait_ms(&s, 5), RMC_S_OK);
			CHECK(!memcmp(lbuf, seg + 64, 1024));
			rnic_set(&s.w, SERVER, &r);
		}
		CHECK_EQ(rmc_adapter_due(in), 0);
	}
	/* another segment, before its owner answers: no line of that one */
	app_post(&s.a, RMC_OP_READ, SERVER, 64, lbuf, 1024);
	for (k = 0; k < 30; k++)
		testbed_visit(&s.w);
	/* a step is work */
	testbed_now_ns += 1000;
	CHECK(rmc_rrpp_poll(s.w.node[SERVER]) > 0);
	seg_set(&s.w, SERVER, CTX, NULL);
	fill(seg, SEG, 99);
	seg_set(&s.w, SERVER, CTX, s.seg_mem);
	CHECK_EQ(wait_ms(&s, 5), RMC_S_BAD_CONTEXT);
	CHECK_EQ(app_run(&s.a, RMC_OP_NOTIFY, SERVER, 0, NULL, 0), RMC_S_OK);
	check_quiet(&s);
	teardown(&s);
}

/* What happens between two steps of a WRITE */
enum event {
	OTHER_WITHDRAWN,	/* ... before each visit */
	SAME_WITHDRAWN,
	ADAPTER_OFF,
	ADAPTER_CHANGED,
	FILTER,
	RUN_GROWS,
	EVENTS,
};

static void withdraw(struct setup *s, const struct rmc_mem *mem)
{
	u32 i;

	for (i = 0; i < s->w.opts.units; i++)
		rmc_state_withdraw(s->w.node[SERVER]->unit[i], mem);
}

static void happen(struct setup *s, enum event what)
{
	struct rmc_fault jitter = { .delay_ns = 300, .jitter_ns = 300 };
	struct rmc_rnic r = { .any_lines = 1, .gap_ns = 500 };

	switch (what) {
	case SAME_WITHDRAWN:
		seg_set(&s->w, SERVER, CTX, NULL);
		seg_set(&s->w, SERVER, CTX, s->seg_mem);
		break;
	case ADAPTER_OFF:
		rnic_set(&s->w, SERVER, &(struct rmc_rnic){ });
		break;
	case ADAPTER_CHANGED:
		rnic_set(&s->w, SERVER, &r);
		break;
	case FILTER:
		fault_set(&s->w, 0, SERVER, RMC_LANE_REQ, &jitter, 5);
		break;
	default:
		break;
	}
}

/* An atomic acts on a line that was stored. Nothing that happens then stores this line again. */
static void write_once(const struct testbed_opts *o, enum event what)
{
	struct rmc_rnic r = { .any_lines = 1, .gap_ns = 1000 };
	struct testbed_opts three = *o;
	u32 bytes = MOST, i, slot, status = ~0U, credits;
	struct rmc_mem other = { };
	struct rmc_out *out;
	struct writer wr;
	struct setup s;

	three.nodes = 3;
	if (what == RUN_GROWS)
		three.mtu = MOST;
	setup(&s, &three);
	rnic_set(&s.w, SERVER, &r);
	writer_init(&wr, &s, WRITER);
	CHECK_EQ(app_run(&s.a, RMC_OP_NOTIFY, SERVER, 0, NULL, 0), RMC_S_OK);
	memset(seg, 0, SEG);
	memset(lbuf, 1, bytes);
	out = s.a.qp.node->out[s.w.node[SERVER]->ep];
	credits = out->credits;
	if (what == RUN_GROWS)
		out->credits = 1;
	app_post(&s.a, RMC_OP_WRITE, SERVER, 8, lbuf, bytes);
	for (i = 0; i < 30; i++)
		testbed_visit(&s.w);
	CHECK_EQ(((u64 *)seg)[1], 0x0101010101010101);
	CHECK_EQ(seg[8 + bytes - 1], 0);
	*(u64 *)wr.buf = 1;
	CHECK_EQ(app_run(&wr.a, RMC_OP_FAA, SERVER, 8, wr.buf, 8), RMC_S_OK);
	CHECK_EQ(*(u64 *)wr.buf, 0x0101010101010101);
	happen(&s, what);
	out->credits += credits - 1;
	if (what != RUN_GROWS)
		out->credits -= credits - 1;
	for (i = 0; i < 3000 && !app_poll(&s.a, &slot, &status); i++) {
		if (what == OTHER_WITHDRAWN)
			withdraw(&s, &other);
		testbed_visit(&s.w);
		testbed_now_ns += 100;
	}
	CHECK_EQ(status, what == SAME_WITHDRAWN ? RMC_S_BAD_CONTEXT : RMC_S_OK);
	CHECK_EQ(((u64 *)seg)[1], 0x0101010101010102);
	for (i = 8; what != SAME_WITHDRAWN && i < bytes; i++)
		CHECK_EQ(seg[8 + i], 1);
	fault_clear(&s.w, 0, SERVER, RMC_LANE_REQ);
	check_quiet(&s);
	writer_fini(&wr);
	teardown(&s);
}

static void test_write_once(const struct testbed_opts *o)
{
	enum event what;

	for (what = 0; what < EVENTS; what++)
		write_once(o, what);
}

/* ---- times ---- */

/* Visits until @ns after @from; then @served requests were served, and not one nanosecond before */
static void check_served(struct setup *s, u64 from, u64 ns, u32 served)
{
	testbed_now_ns = from + ns - 1;
	testbed_settle(&s->w);
	CHECK_EQ(testbed_stat(&s->w, 1, served), served - 1);
	testbed_now_ns++;
	testbed_settle(&s->w);
	CHECK_EQ(testbed_stat(&s->w, 1, served), served);
}

static u64 times_setup(struct setup *s, const struct testbed_opts *o, const struct rmc_rnic *r)
{
	setup(s, o);
	CHECK_EQ(app_run(&s->a, RMC_OP_NOTIFY, 1, 0, NULL, 0), RMC_S_OK);
	rnic_set(&s->w, 1, r);
	return testbed_now_ns;
}

static void times_teardown(struct setup *s)
{
	testbed_now_ns += 10000000;
	testbed_settle(&s->w);
	while (app_wait(&s->a) >= 0)
		;
	check_quiet(s);
	teardown(s);
}

static void test_messages(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .msg_ps = 19500 };
	struct setup s;
	u64 t0;
	u32 i;

	if (o->rrpps > 1)
		return;
	t0 = times_setup(&s, o, &r);
	for (i = 0; i < 4; i++)
		app_post(&s.a, RMC_OP_READ, 1, i * 64, lbuf, 64);
	for (i = 0; i < 20; i++)
		testbed_visit(&s.w);
	/* half nanoseconds add up */
	check_served(&s, t0, 19, 2);
	check_served(&s, t0, 39, 3);
	check_served(&s, t0, 58, 4);
	check_served(&s, t0, 78, 5);
	/* a pause is no credit */
	t0 = testbed_now_ns += 1000;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	for (i = 0; i < 20; i++)
		testbed_visit(&s.w);
	check_served(&s, t0, 19, 6);
	times_teardown(&s);

	/* 1 Mb/s: a header takes 128 us, a line 512. The last bit of the first one has come in. */
	r = (struct rmc_rnic){ .mbps = 1 };
	t0 = times_setup(&s, o, &r);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_WRITE, 1, 0, lbuf, 64);
	for (i = 0; i < 20; i++)
		testbed_visit(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 1, served), 2);
	/* replies of 640 us leave one after the other; the write's lines come in meanwhile */
	check_served(&s, t0, 640000, 3);
	check_served(&s, t0, 2 * 640000, 4);
	times_teardown(&s);
}

/* The reply to an announcement has no lines. */
static void test_announced(const struct testbed_opts *o)
{
	struct rmc_packet p = { .word0 = rmc_req_word0(RMC_OP_SABRE, 0, 0, 0) };
	struct rmc_rnic r = { .mbps = 1000 };
	struct rmc_fabric f = { };
	struct rmc_links l = { .fabric = &f };
	struct rmc_filter flt = { .lane = RMC_LANE_REQ };

	CHECK_EQ(rmc_rnic_set_server(&l, &r, 1), 0);
	p.word1 = rmc_announce_word1(0, 64 * 64);
	rmc_arrival_rnic(&l, &flt, &p);
	CHECK_EQ(l.rnic_server->out_ns, 2 * 8 * RMC_PACKET_HEADER);
	p.word1 = rmc_req_word1(0, 64, true);
	rmc_arrival_rnic(&l, &flt, &p);
	CHECK_EQ(l.rnic_server->out_ns, 8 * (3 * RMC_PACKET_HEADER + RMC_LINE));
	CHECK_EQ(rmc_rnic_set_server(&l, &(struct rmc_rnic){ }, 1), 0);
}

static void test_locks(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .cas_ns = 400, .faa_ns = 700 };
	struct setup s;
	u64 t0;
	u32 i;

	if (o->rrpps > 1)
		return;
	t0 = times_setup(&s, o, &r);
	app_post(&s.a, RMC_OP_CAS, 1, 0, lbuf, 8);
	app_post(&s.a, RMC_OP_CAS, 1, 4096, lbuf, 8);		/* the same slot */
	app_post(&s.a, RMC_OP_FAA, 1, 4096 + 8, lbuf, 8);
	app_post(&s.a, RMC_OP_FAA, 1, 8192, lbuf, 8);		/* the first one's */
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 8);		/* no atomic */
	for (i = 0; i < 20; i++)
		testbed_visit(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 1, served), 2);
	check_served(&s, t0, 400, 3);
	check_served(&s, t0, 700, 4);
	check_served(&s, t0, 800, 5);
	check_served(&s, t0, 1500, 6);
	times_teardown(&s);
}

/* An ordered queue pair's read waits for the atomic that waits for its lock. */
static void test_locks_in_order(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .cas_ns = 400, .faa_ns = 400 };
	struct setup s;
	struct app a;
	u64 t0;
	u32 i;

	if (o->rrpps > 1)
		return;
	t0 = times_setup(&s, o, &r);
	app_init_ordered(&a, &s.w, 0, CTX, 16);
	rmc_bufs_add(&a.bufs, s.buf_mem);
	app_post(&a, RMC_OP_FAA, 1, 0, lbuf, 8);
	app_post(&a, RMC_OP_READ, 1, 64, lbuf + 64, 64);
	for (i = 0; i < 300; i++)
		testbed_visit(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 1, served), 1);
	testbed_now_ns = t0 + 399;
	testbed_settle(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 1, served), 1);
	testbed_now_ns++;
	testbed_settle(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 1, served), 3);
	app_fini(&a);
	times_teardown(&s);
}

/*
 * An adapter that is changed lets go what it holds, in order: an atomic that waits for its lock, and
 * the read behind it that has not arrived.
 */
static void test_locks_flushed(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .cas_ns = 100000, .faa_ns = 100000 };
	struct rmc_fault way = { .delay_ns = 500 };
	struct setup s;
	struct app a;
	u32 i, how;

	for (how = 0; how < 2; how++) {
		times_setup(&s, o, &r);
		fault_set(&s.w, 0, 1, RMC_LANE_REQ, &way, 1);
		app_init_ordered(&a, &s.w, 0, CTX, 16);
		rmc_bufs_add(&a.bufs, s.buf_mem);
		*(u64 *)lbuf = 1;
		app_post(&a, RMC_OP_FAA, 1, 0, lbuf, 8);
		for (i = 0; i < 10; i++) {
			testbed_visit(&s.w);
			testbed_now_ns += 100;
		}
		app_post(&a, RMC_OP_READ, 1, 0, lbuf + 64, 8);
		for (i = 0; i < 6; i++)
			testbed_visit(&s.w);
		CHECK_EQ(*(u64 *)seg, 0);
		if (how) {
			/* they stay with a filter, which has nothing more to do */
			rnic_set(&s.w, 1, &(struct rmc_rnic){ .cas_ns = 1 });
		} else {
			rnic_set(&s.w, 1, &(struct rmc_rnic){ });
			CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
		}
		CHECK_EQ(app_wait(&a), RMC_S_OK);
		CHECK_EQ(app_wait(&a), RMC_S_OK);
		CHECK_EQ(*(u64 *)(lbuf + 64), 1);
		app_fini(&a);
		times_teardown(&s);
	}
}

/* ---- the buffer of atomics ---- */

static u64 faa(struct setup *s, u64 add)
{
	*(u64 *)lbuf = add;
	CHECK_EQ(app_run(&s->a, RMC_OP_FAA, 1, 64, lbuf, 8), RMC_S_OK);
	return *(u64 *)lbuf;
}

static u64 cas(struct setup *s, u64 expected, u64 desired)
{
	((u64 *)lbuf)[0] = expected;
	((u64 *)lbuf)[1] = desired;
	CHECK_EQ(app_run(&s->a, RMC_OP_CAS, 1, 64, lbuf, 8), RMC_S_OK);
	return *(u64 *)lbuf;
}

static u64 rmw(struct setup *s, u32 kind, u64 value, u32 offset, u32 len)
{
	struct rmc_rmw *r = (struct rmc_rmw *)lbuf;

	*r = (struct rmc_rmw){ .kind = kind, .value = value };
	CHECK_EQ(app_run(&s->a, RMC_OP_RMW, 1, offset, r, len), RMC_S_OK);
	return r->old;
}

static void test_buffer(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .buffer_ns = 1000 };
	struct setup s;
	u64 *word;

	setup(&s, o);
	rnic_set(&s.w, 1, &r);
	word = (u64 *)(seg + 64);
	*word = 0;
	CHECK_EQ(cas(&s, 0, 7), 0);
	CHECK_EQ(*word, 7);
	/* a plain write: atomics do not see it, and a compare-and-swap that fails stores nothing */
	*word = 0;
	CHECK_EQ(cas(&s, 0, 9), 7);
	CHECK_EQ(*word, 0);
	testbed_now_ns += 999;
	CHECK_EQ(cas(&s, 0, 9), 7);
	testbed_now_ns++;
	CHECK_EQ(cas(&s, 0, 9), 0);
	CHECK_EQ(*word, 9);
	/* a fetch-and-add stores what it saw, over the write */
	*word = 0;
	CHECK_EQ(faa(&s, 1), 9);
	CHECK_EQ(*word, 10);
	/* another word in its place, and back: it has left the buffer */
	*word = 3;
	*(u64 *)lbuf = 1;
	CHECK_EQ(app_run(&s.a, RMC_OP_FAA, 1, 64 + 8 * RMC_RNIC_WORDS, lbuf, 8), RMC_S_OK);
	CHECK_EQ(faa(&s, 1), 3);
	/* read-modify-writes act on it, too, and on half of it */
	*word = 77;
	CHECK_EQ(rmw(&s, RMC_RMW_ADD, 1, 64, 8), 4);
	CHECK_EQ(*word, 5);
	*word = 77;
	CHECK_EQ(rmw(&s, RMC_RMW_MAX, 3, 64, 8), 5);
	CHECK_EQ(*word, 77);
	CHECK_EQ(rmw(&s, RMC_RMW_OR, 0x10, 64, 4), 5);
	CHECK_EQ(rmw(&s, RMC_RMW_SWAP, 2, 68, 4), 0);
	CHECK_EQ(*word, 2ULL << 32 | 0x15);
	CHECK_EQ(faa(&s, 1), 2ULL << 32 | 0x15);
	/* half of a word that is not there, at the end of the segment */
	CHECK_EQ(rmw(&s, RMC_RMW_SWAP, 9, SEG - 4, 4), 0);
	CHECK_EQ(*(u32 *)(seg + SEG - 4), 9);
	/* a segment of somebody else: they stay */
	*word = 77;
	withdraw(&s, &(struct rmc_mem){ });
	CHECK_EQ(faa(&s, 1), (2ULL << 32 | 0x15) + 1);
	/* another segment: nothing of the old one's words is left */
	seg_set(&s.w, 1, CTX, NULL);
	seg_set(&s.w, 1, CTX, s.seg_mem);
	*word = 4;
	CHECK_EQ(faa(&s, 1), 4);
	/* off: at once */
	rnic_set(&s.w, 1, &(struct rmc_rnic){ });
	*word = 5;
	CHECK_EQ(faa(&s, 1), 5);
	check_quiet(&s);
	teardown(&s);
}

/* ---- queue pairs of the requester ---- */

static void test_qp_cache(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .qp_cache = 2, .qp_miss_ns = 100 };
	struct rmc_links l = { };
	struct rmc_rnic_client *c;
	u32 i, j, n;

	CHECK_EQ(rmc_rnic_set_client(&l, &r, 3), 0);
	c = l.rnic_client;
	CHECK_EQ(rmc_rnic_send(c, 5, 1000), 1100);
	CHECK_EQ(rmc_rnic_send(c, 5, 1000), 1100);
	CHECK_EQ(rmc_rnic_send(c, 5, 2000), 2000);
	/* one after the other */
	CHECK_EQ(rmc_rnic_send(c, 6, 2000), 2100);
	CHECK_EQ(rmc_rnic_send(c, 7 + RMC_MAX_QPS, 2000), 2200);
	CHECK_EQ(c->misses, 3);
	/* two of three fit: about a third misses, and never more are in it than fit */
	for (i = 0, n = c->misses; i < 3000; i++) {
		u32 in = 0;

		rmc_rnic_send(c, 5 + rmc_random_below(&c->rng, 3), 3000 + i * 1000);
		for (j = 0; j < RMC_MAX_QPS; j++)
			in += !!c->place[j];
		CHECK(in <= 2);
	}
	n = c->misses - n;
	CHECK(n > 800 && n < 1200);
	r.qp_cache = 0;
	CHECK_EQ(rmc_rnic_set_client(&l, &r, 3), 0);
	CHECK(!l.rnic_client);
}

static void test_limits(const struct testbed_opts *o)
{
	struct rmc_rnic most = {
		.any_lines = 1, .gap_ns = RMC_RNIC_NS_MAX, .msg_ps = RMC_RNIC_NS_MAX, .mbps = ~0U,
		.cas_ns = RMC_RNIC_NS_MAX, .faa_ns = RMC_RNIC_NS_MAX, .buffer_ns = RMC_RNIC_NS_MAX,
		.qp_cache = RMC_MAX_QPS, .qp_miss_ns = RMC_RNIC_NS_MAX,
	}, r;

	CHECK_EQ(rmc_rnic_check(&most, RMC_RNIC_MTU_MAX), 0);
	CHECK_EQ(rmc_rnic_check(&most, RMC_RNIC_MTU_MAX + 64), -EMSGSIZE);
	r = most;
	r.any_lines = 0;
	CHECK_EQ(rmc_rnic_check(&r, RMC_MTU_MAX), 0);
#define OVER(name) r = most; r.name++; CHECK_EQ(rmc_rnic_check(&r, 64), -ERANGE)
	OVER(any_lines);
	OVER(gap_ns);
	OVER(msg_ps);
	OVER(cas_ns);
	OVER(faa_ns);
	OVER(buffer_ns);
	OVER(qp_cache);
	OVER(qp_miss_ns);
#undef OVER
}

static const struct testbed_opts opts[] = {
	{ .nodes = 2, .ni = "fused", .mtu = 64 },
	{ .nodes = 2, .ni = "pair", .mtu = 512 },
	{ .nodes = 2, .ni = "split", .units = 2, .rrpps = 1, .mtu = 64 },
};

static const struct matrix_test tests[] = {
	{ "a reader beside a writer: which fabric tears what", test_torn_table },
	{ "a reader beside a writer: objects between lines", test_torn_unaligned },
	{ "lines in any order: all of them", test_steps_data },
	{ "lines in any order: the steps of a write", test_steps_of_a_write },
	{ "lines in any order: steps that do not end", test_steps_that_end },
	{ "lines in any order: a line is stored once", test_write_once },
	{ "adapter: messages and the port take time", test_messages },
	{ "adapter: the port and announcements", test_announced },
	{ "adapter: the lock table", test_locks },
	{ "adapter: the lock table and ordered queue pairs", test_locks_in_order },
	{ "adapter: what it holds when it is changed", test_locks_flushed },
	{ "adapter: atomics that do not see writes", test_buffer },
	{ "adapter: queue pairs that fit it", test_qp_cache },
	{ "adapter: numbers that are refused", test_limits },
};

int main(void)
{
	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
