// SPDX-License-Identifier: GPL-2.0
/*
 * The modelled network adapter, in virtual time: lines of a read in any order while another node
 * writes (R25 4.2, figure 1b).
 */
#include "adapted.h"

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
		if (off + len < SEG)
			seg[off + len] = 0x22;
		if (off)
			seg[off - 1] = 0x33;
		CHECK_EQ(app_run(&s.a, i & 1 ? RMC_OP_WRITE_ONCE : RMC_OP_WRITE, SERVER, off, lbuf,
				 len), RMC_S_OK);
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
static void steps_of_a_write(const struct testbed_opts *o, u32 op)
{
	struct rmc_rnic r = { .any_lines = 1, .gap_ns = 1000 };
	u32 bytes = 2048, lines, i, steps = 0, was = 0, slot, status;
	struct setup s;

	setup(&s, o);
	rnic_set(&s.w, SERVER, &r);
	memset(seg, 0, bytes);
	memset(lbuf, 1, bytes);
	app_post(&s.a, op, SERVER, 0, lbuf, bytes);
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

static void test_steps_of_a_write(const struct testbed_opts *o)
{
	steps_of_a_write(o, RMC_OP_WRITE);
	steps_of_a_write(o, RMC_OP_WRITE_ONCE);
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

/*
 * The adapter of a stopped node is changed: the write that has begun is finished, and answered, but not
 * what is behind it.
 */
static void test_finish_stopped(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .any_lines = 1, .gap_ns = 1000 };
	struct rmc_fault none = { };
	u32 bytes = 512, i, how;
	struct setup s;

	setup(&s, o);
	for (how = 0; how < 2; how++) {
		rnic_set(&s.w, SERVER, &r);
		memset(seg, 0, SEG);
		memset(lbuf, 1, bytes);
		*(u64 *)(lbuf + 8192) = 1;
		app_post(&s.a, RMC_OP_WRITE, SERVER, 0, lbuf, bytes);
		app_post(&s.a, RMC_OP_FAA, SERVER, 16384, lbuf + 8192, 8);
		for (i = 0; i < 30; i++)
			testbed_visit(&s.w);
		CHECK_EQ(seg[0], 1);
		CHECK_EQ(seg[bytes - 1], 0);
		stop_node(&s, SERVER, true);
		if (how)
			fault_set(&s.w, 0, SERVER, RMC_LANE_REQ, &none, 1);
		else
			rnic_set(&s.w, SERVER, &(struct rmc_rnic){ });
		CHECK_EQ(seg[bytes - 1], 1);
		testbed_settle(&s.w);
		CHECK_EQ(*(u64 *)(seg + 16384), 0);
		stop_node(&s, SERVER, false);
		CHECK_EQ(wait_ms(&s, 40), RMC_S_OK);
		CHECK_EQ(wait_ms(&s, 40), RMC_S_OK);
		CHECK_EQ(*(u64 *)(seg + 16384), 1);
	}
	fault_clear(&s.w, 0, SERVER, RMC_LANE_REQ);
	check_quiet(&s);
	teardown(&s);
}

/* ---- times ---- */

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
	{ "lines in any order: a stopped node", test_finish_stopped },
};

int main(void)
{
	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
