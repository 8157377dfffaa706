// SPDX-License-Identifier: GPL-2.0
/* Unit tests of the core, stepped one visit at a time with a virtual clock. */
#include "setup.h"
#include "kmod/core/pipeline.h"

void (*rmc_between_passes)(void);
u32 rmc_no_memory;

static void setup(struct setup *s, const struct testbed_opts *o)
{
	setup_make(s, o, 16);
}

/* I-4: any length, any alignment on both sides, and no byte more. */
static void test_read_write(const struct testbed_opts *o)
{
	static const u32 lens[] = { 1, 5, 7, 8, 9, 63, 64, 65, 127, 128, 200, 4095, 4096, 8192, 20000 };
	static const u32 offs[] = { 0, 1, 8, 60, 63, 64, 4090, 4096, 5000 };
	static const u32 loffs[] = { 0, 3, 64, 4093 };
	u8 *want = malloc(SEG), *back = malloc(SEG);
	struct setup s;
	u32 i, j, k;

	setup(&s, o);
	for (i = 0; i < sizeof(lens) / 4; i++)
		for (j = 0; j < sizeof(offs) / 4; j++)
			for (k = 0; k < sizeof(loffs) / 4; k++) {
				u32 n = lens[i], off = offs[j], lo = loffs[k];

				fill(seg, SEG, n + off);
				memset(lbuf, 0x11, SEG);
				memset(want, 0x11, SEG);
				memcpy(want + lo, seg + off, n);
				CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, off, lbuf + lo, n), RMC_S_OK);
				CHECK(!memcmp(lbuf, want, SEG));

				fill(lbuf, SEG, n * off + lo);
				memcpy(back, seg, SEG);
				memcpy(back + off, lbuf + lo, n);
				CHECK_EQ(app_run(&s.a, RMC_OP_WRITE, 1, off, lbuf + lo, n), RMC_S_OK);
				CHECK(!memcmp(seg, back, SEG));
			}
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, SEG - 5, lbuf + SEG - 5, 5), RMC_S_OK);
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE, 1, SEG - 5, lbuf + SEG - 5, 5), RMC_S_OK);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, SEG));
	CHECK(setup_guards_intact());
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	setup_free(&s);
	free(want);
	free(back);
}

static void test_atomics(const struct testbed_opts *o)
{
	struct setup s;
	u64 *l, *t;

	setup(&s, o);
	l = (u64 *)lbuf;
	t = (u64 *)(seg + 4096);
	*t = 40;
	l[0] = 2;
	CHECK_EQ(app_run(&s.a, RMC_OP_FAA, 1, 4096, l, 8), RMC_S_OK);
	CHECK_EQ(l[0], 40);
	CHECK_EQ(*t, 42);
	l[0] = 42;
	l[1] = 7;
	CHECK_EQ(app_run(&s.a, RMC_OP_CAS, 1, 4096, l, 8), RMC_S_OK);
	CHECK_EQ(l[0], 42);
	CHECK_EQ(*t, 7);
	l[0] = 42;
	l[1] = 9;
	CHECK_EQ(app_run(&s.a, RMC_OP_CAS, 1, 4096, l, 8), RMC_S_OK);
	CHECK_EQ(l[0], 7);
	CHECK_EQ(*t, 7);
	/* the old value -1 is not taken for an error */
	*t = ~0ULL;
	l[0] = 1;
	CHECK_EQ(app_run(&s.a, RMC_OP_FAA, 1, 4096, l, 8), RMC_S_OK);
	CHECK_EQ(l[0], ~0ULL);
	CHECK_EQ(*t, 0);
	setup_free(&s);
}

static void test_statuses(const struct testbed_opts *o)
{
	struct setup s;
	u32 op, i;

	setup(&s, o);
	s.seg_mem->length = 1000;
	for (op = 0; op < RMC_OP_MAX; op++)
		if (!((rmc_op_mask() >> op) & 1)) {
			CHECK_EQ(app_run(&s.a, op, 1, 0, lbuf, 8), RMC_S_BAD_OP);
			/* an unknown opcode: its length is not checked */
			CHECK_EQ(app_run(&s.a, op, 1, 0, lbuf, 0), RMC_S_BAD_OP);
		}
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 0), RMC_S_BAD_LENGTH);
	CHECK_EQ(app_run(&s.a, RMC_OP_FAA, 1, 0, lbuf, 4), RMC_S_BAD_LENGTH);
	CHECK_EQ(app_run(&s.a, RMC_OP_CAS, 1, 4, lbuf, 8), RMC_S_BAD_ALIGN);
	CHECK_EQ(app_run(&s.a, RMC_OP_FAA, 1, 4, lbuf, 8), RMC_S_BAD_ALIGN);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, o->nodes, 0, lbuf, 8), RMC_S_BAD_NODE);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1023, 0, lbuf, 8), RMC_S_BAD_NODE);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, (void *)8, 8), RMC_S_BAD_LBUF);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf - 1, 8), RMC_S_BAD_LBUF);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf + SEG - 7, 8), RMC_S_BAD_LBUF);
	CHECK_EQ(app_run(&s.a, RMC_OP_CAS, 1, 0, lbuf + SEG - 8, 8), RMC_S_BAD_LBUF);
	/* all of these were rejected by the RGP */
	CHECK_EQ(testbed_stat(&s.w, 0, requests), 0);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 1000, lbuf, 1), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 999, lbuf, 2), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, RMC_OFFSET_MAX, lbuf, 64), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE, 1, 990, lbuf, 64), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE_ONCE, 1, 990, lbuf, 64), RMC_S_OUT_OF_RANGE);
	/* no packet of it wraps to offset 0 */
	memset(lbuf, 0x5b, 9000);
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE, 1, RMC_OFFSET_MAX - 99, lbuf, 9000), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(seg[0], 0xa5);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 1001), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 999, lbuf, 1), RMC_S_OK);
	s.seg_mem->flags = RMC_MEM_READONLY;
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE, 1, 0, lbuf, 64), RMC_S_READ_ONLY);
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE_ONCE, 1, 0, lbuf, 64), RMC_S_READ_ONLY);
	CHECK_EQ(app_run(&s.a, RMC_OP_FAA, 1, 0, lbuf, 8), RMC_S_READ_ONLY);
	CHECK_EQ(app_run(&s.a, RMC_OP_CAS, 1, 0, lbuf, 8), RMC_S_READ_ONLY);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	/* a segment that not all units have (yet, or any more) does not exist for requesters */
	rmc_hide(&s.seg_mem->exposure);
	for (i = 0; i < 960; i += 64)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, i, lbuf, 64), RMC_S_BAD_CONTEXT);
	rmc_expose(&s.seg_mem->exposure);
	for (i = 0; i < 960; i += 64)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, i, lbuf, 64), RMC_S_OK);
	seg_set(&s.w, 1, 3, NULL);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_BAD_CONTEXT);
	/* own node: an ordinary destination */
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 0, 0, lbuf, 64), RMC_S_BAD_CONTEXT);
	seg_set(&s.w, 0, 3, s.seg_mem);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 0, 0, lbuf, 64), RMC_S_OK);
	CHECK(setup_guards_intact());
	setup_free(&s);
}

/* Every WQ entry gets exactly one CQ entry, with tiny queues. */
static void test_scarcity(const struct testbed_opts *o)
{
	struct testbed_opts small = *o;
	struct setup s;
	u32 i, n, slot, status, seen[16] = { 0 };

	small.itt = 3;
	small.ring_order = RMC_RING_ORDER_MIN;
	small.pay_order = small.mtu > 64 ? 6 : 2;
	setup(&s, &small);
	fill(seg, SEG, 1);
	for (i = 0; i < 16; i++)
		app_post(&s.a, i & 1 ? RMC_OP_WRITE : RMC_OP_READ, 1, i * 2048 + i, lbuf + i * 2048, 1500);
	for (n = 0, i = 0; n < 16 && i < 100000; i++) {
		testbed_visit(&s.w);
		while (app_poll(&s.a, &slot, &status)) {
			CHECK_EQ(status, RMC_S_OK);
			CHECK_EQ(seen[slot]++, 0);
			n++;
		}
	}
	CHECK_EQ(n, 16);
	testbed_settle(&s.w);
	CHECK(!app_poll(&s.a, &slot, &status));
	for (i = 0; i < 16; i += 2)
		CHECK(!memcmp(lbuf + i * 2048, seg + i * 2048 + i, 1500));
	CHECK(testbed_credits_home(&s.w, 0, 1));
	setup_free(&s);
}

/* A QP that waits for credits does not delay another. */
static void test_two_qps(const struct testbed_opts *o)
{
	struct testbed_opts three = *o;
	struct setup s;
	struct app b;
	int i;

	three.nodes = 3;
	three.kernels = true;
	setup(&s, &three);
	seg_set(&s.w, 2, 3, s.seg_mem);
	testbed_tick(&s.w, 2);
	app_init(&b, &s.w, 0, 3, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	s.w.frozen[1] = true;
	for (i = 0; i < 16; i++)
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG);
	for (i = 0; i < 100; i++)
		testbed_visit(&s.w);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 2, 0, lbuf, 64), RMC_S_OK);
	s.w.frozen[1] = false;
	for (i = 0; i < 16; i++)
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	app_fini(&b);
	setup_free(&s);
}

static u64 stored;

static void store_word(void)
{
	WRITE_ONCE(*(u64 *)seg, ++stored);
}

/* Visits that a read needs at most, behind a queue of reads of a line that keeps changing */
#define RESTLESS_VISITS	64

/* Keep a queue full of reads of the first line. Returns how many ended, all of them busy. */
static u32 read_restless(struct app *a)
{
	static const struct { u32 offset, len; } reads[] = { { 0, 64 }, { 4, 12 }, { 0, 4096 } };
	u32 slot, status, n = 0, i;

	while (app_poll(a, &slot, &status)) {
		CHECK_EQ(status, RMC_S_BUSY);
		n++;
	}
	while (a->head - a->cq_head < a->entries) {
		i = a->head % ARRAY_SIZE(reads);
		app_post(a, RMC_OP_READ, 1, reads[i].offset, lbuf, reads[i].len);
	}
	return n;
}

/*
 * An owner stores faster than the RRPP can read a line twice, as on a sibling hyperthread. A
 * reader of that line gets a status, never a torn line. Other contexts of the same node wait
 * only for some tries.
 */
static void test_restless_line(const struct testbed_opts *o)
{
	struct rmc_mem *other;
	u32 visits = RESTLESS_VISITS + RMC_AGAIN_TRIES, slow = 0;
	u32 slot, status, busy = 0, i, k;
	struct setup s;
	struct app b;
	u64 before;
	u8 *mine;

	setup(&s, o);
	mine = aligned_alloc(PAGE, PAGE);
	fill(mine, PAGE, 4);
	other = mem_make(mine, PAGE, 12, 0);
	seg_set(&s.w, 1, CTX + 1, other);
	/* on the same unit as the first: they share ITT and rings */
	s.w.apps = 0;
	app_init(&b, &s.w, 0, CTX + 1, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	CHECK_EQ(b.qp.node->ep, s.a.qp.node->ep);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 1, 0, lbuf + 8192, 64), RMC_S_OK);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);

	rmc_between_passes = store_word;
	for (k = 0; k < 40; k++) {
		busy += read_restless(&s.a);
		for (i = 0; i < k % 4; i++)
			testbed_visit(&s.w);
		memset(lbuf + 8192, 0, 64);
		app_post(&b, RMC_OP_READ, 1, 64 * (k % 8), lbuf + 8192, 64);
		for (i = 0; i < visits && !app_poll(&b, &slot, &status); i++)
			testbed_visit(&s.w);
		slow += i >= RESTLESS_VISITS;
		CHECK(i < visits);
		if (i == visits)
			break;
		CHECK_EQ(status, RMC_S_OK);
		CHECK(!memcmp(lbuf + 8192, mine + 64 * (k % 8), 64));
		if (k % 20 == 19)
			testbed_pass(&s.w, RMC_AGAIN_MS + 1);
	}
	CHECK(busy > 40);
	/* at each RRPP the first one gets all its tries, those behind it one each */
	CHECK(slow <= 2 * max(o->rrpps, 1U));
	/* an aligned word is never torn */
	before = stored;
	if (k == 40)
		CHECK_EQ(app_run(&b, RMC_OP_READ, 1, 0, lbuf + 8192, 64), RMC_S_OK);
	rmc_between_passes = NULL;
	testbed_settle(&s.w);
	while (app_poll(&s.a, &slot, &status))
		CHECK(status == RMC_S_BUSY || status == RMC_S_OK);
	CHECK_EQ(s.a.head, s.a.cq_head);
	rmc_between_passes = store_word;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 8), RMC_S_OK);
	CHECK(*(u64 *)lbuf - before <= stored - before);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_BUSY);
	rmc_between_passes = NULL;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 4096), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, 4096));
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	CHECK(testbed_credits_home(&s.w, 0, 1));
	app_fini(&b);
	mem_free(other);
	setup_free(&s);
	free(mine);
}

/* A line that is stable after some tries is read, and the request does not fail. */
static void test_patience(const struct testbed_opts *o)
{
	u32 slot, status, tries;
	struct setup s;

	setup(&s, o);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	for (tries = 1; tries <= RMC_AGAIN_TRIES; tries *= 2) {
		testbed_pass(&s.w, RMC_AGAIN_MS + 1);
		rmc_between_passes = store_word;
		stored = 0;
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 128);
		/* on the local path the worker tries once more, before it sends packets */
		while (stored < tries * RMC_LINE_PASSES) {
			testbed_visit(&s.w);
			CHECK(!app_poll(&s.a, &slot, &status) || tries == RMC_AGAIN_TRIES);
		}
		rmc_between_passes = NULL;
		if (tries < RMC_AGAIN_TRIES) {
			CHECK_EQ(app_wait(&s.a), RMC_S_OK);
			CHECK(!memcmp(lbuf, seg, 128));
		}
		testbed_settle(&s.w);
		while (app_poll(&s.a, &slot, &status))
			;
	}
	setup_free(&s);
}

/* A transfer ends even without memory for its record, and requests behind it do not wait. */
static void test_no_memory(const struct testbed_opts *o)
{
	struct setup s;
	struct app b;

	setup(&s, o);
	s.w.apps = 0;
	app_init(&b, &s.w, 0, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	*(u64 *)seg = 2;
	CHECK_EQ(app_run(&b, RMC_OP_READ, 1, 0, lbuf + 2 * LONG, SEG / 4), RMC_S_OK);
	rmc_no_memory = 1000000;
	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, LONG);
	testbed_visit(&s.w);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 1, 0, lbuf + 2 * LONG, 64), RMC_S_OK);
	CHECK_EQ(app_wait(&s.a), RMC_S_BUSY);
	/* fewer failures than tries */
	testbed_pass(&s.w, RMC_AGAIN_MS + 1);
	rmc_no_memory = RMC_AGAIN_TRIES - 1;
	CHECK_EQ(app_run(&s.a, RMC_OP_SABRE, 1, 0, lbuf, LONG), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, LONG));
	CHECK_EQ(rmc_no_memory, 0);
	testbed_settle(&s.w);
	CHECK(testbed_credits_home(&s.w, 0, 1));
	app_fini(&b);
	setup_free(&s);
}

/* A lost reply: time-out, and the late reply changes nothing. */
static void test_timeout(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct setup s;
	int i;

	k.kernels = true;
	setup(&s, &k);
	s.w.fabric[0].dead_ms = 1000000;
	memset(lbuf, 0x77, 64);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf + 64, 64), RMC_S_OK);
	s.w.frozen[1] = true;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	testbed_settle(&s.w);
	for (i = 0; i < 20; i++)
		testbed_tick(&s.w, RMC_TIMEOUT_MS / 16 + 1);
	CHECK_EQ(app_wait(&s.a), RMC_S_TIMEOUT);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	/* we are paused for an hour: operations in flight do not time out because of it */
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf + 64, 64);
	testbed_visit(&s.w);
	testbed_tick(&s.w, 3600 * 1000);
	testbed_visit(&s.w);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 1);
	s.w.frozen[1] = false;
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	testbed_settle(&s.w);
	CHECK_EQ(lbuf[0], 0x77);
	CHECK_EQ(testbed_stat(&s.w, 0, stale_replies), 1);
	CHECK(testbed_credits_home(&s.w, 0, 1));
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	setup_free(&s);
}

/* Withdrawing a buffer or a QP with operations in flight. */
static void test_teardown(const struct testbed_opts *o)
{
	struct rmc_abort gone = { .nid = -1, .status = RMC_S_ABORTED };
	struct testbed_opts k = *o;
	struct setup s;
	struct app b;
	int i;

	k.kernels = true;
	setup(&s, &k);
	app_init(&b, &s.w, 0, 3, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	s.w.frozen[1] = true;
	memset(lbuf, 0x33, SEG);
	/* more than the channel holds, so that one is being unrolled */
	for (i = 0; i < 4; i++) {
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG);
		app_post(&b, RMC_OP_READ, 1, 0, lbuf, SEG);
	}
	for (i = 0; i < 300; i++)
		testbed_visit(&s.w);
	CHECK(testbed_in_flight(&s.w, 0) > 0);
	/* as when a process dies: QP first, then its buffers */
	app_fini(&b);
	gone.lbuf = s.buf_mem;
	CHECK_EQ(rmc_bufs_del(&s.a.bufs, s.buf_mem), 0);
	CHECK_EQ(rmc_bufs_del(&s.a.bufs, s.buf_mem), -ENOENT);
	rmc_itt_abort(s.a.qp.node, &gone);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	CHECK_EQ(app_wait(&s.a), RMC_S_ABORTED);
	s.w.frozen[1] = false;
	testbed_settle(&s.w);
	for (i = 0; i < SEG; i++)
		if (lbuf[i] != 0x33)
			break;
	CHECK_EQ(i, SEG);
	/* the rest of the WQ finds no buffer */
	for (i = 0; i < 3; i++)
		CHECK_EQ(app_wait(&s.a), RMC_S_BAD_LBUF);
	rmc_bufs_add(&s.a.bufs, s.buf_mem);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG), RMC_S_OK);
	setup_free(&s);
}

/* I-5: whatever a peer writes into the rings, doorbells and tables. */
static void test_hostile_peer(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct setup s;
	struct app b;
	u32 round, i, ep, seed = 1;
	size_t bytes;
	u8 *ch[2];

	k.nodes = 3;
	k.kernels = true;
	setup(&s, &k);
	seg_set(&s.w, 2, 3, s.seg_mem);
	app_init(&b, &s.w, 0, 3, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	s.w.frozen[1] = true;
	bytes = rmc_channel_bytes(&s.w.fabric[0]);
	CHECK_EQ(app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), 0);
	/* its first RRPP and RCP, and ours */
	ep = rmc_endpoint(&s.w.fabric[0], 1);
	ch[0] = s.w.fabric[0].ops->channel(&s.w.fabric[0], 0, ep);
	ch[1] = s.w.fabric[0].ops->channel(&s.w.fabric[0], ep, 0);
	for (round = 0; round < 3000; round++) {
		u32 ring = (1U << s.w.fabric[0].ring_order) * 16;

		for (i = 0; i < 40; i++) {
			u32 at;
			u64 word;

			seed = seed * 1664525 + 1013904223;
			at = (seed >> 8) % ring & ~15U;
			/* half structured: right lap, plausible op and tid */
			fill((u8 *)&word, 8, seed);
			if (seed & 0x100)
				word = (word & 0x00f8ffff0000000fULL) | (1ULL << 56) |
				       ((u64)((seed >> 12) % 5) << 48);
			memcpy(ch[0] + rmc_ring_bytes(s.w.fabric[0].ring_order,
						      s.w.fabric[0].pay_order) + at, &word, 8);
			memcpy(ch[1] + at, &word, 8);
			fill(ch[1] + at + 8, 8, seed + 1);
			fill(ch[0] + bytes / 2 + at + 8, 8, seed + 2);
			*rmc_doorbell_word(&s.w.fabric[0], 0, i & 1, 0) |= 1ULL << (seed >> 16 & 63);
		}
		if (!(round % 16))
			app_post(&s.a, 1 + seed % 4, 1, seed % SEG, lbuf + seed % 1024, 1 + seed % 9000);
		testbed_visit(&s.w);
		if (!(round % 10))
			CHECK_EQ(app_run(&b, RMC_OP_READ, 2, 64 * (round % 64), lbuf + 16384, 64), RMC_S_OK);
	}
	CHECK(setup_guards_intact());
	app_fini(&b);
	setup_free(&s);
}

/* I-5: whatever an application writes into its WQ. */
static void test_hostile_app(const struct testbed_opts *o)
{
	struct setup s;
	u32 i, seed = 7;

	setup(&s, o);
	for (i = 0; i < 200000; i++) {
		u64 w0, w1;

		seed = seed * 1664525 + 1013904223;
		fill((u8 *)&w0, 8, seed);
		fill((u8 *)&w1, 8, seed ^ 0x1234567);
		if (seed & 0x10000)
			w0 = rmc_wqe_word0((seed >> 20) % 6, (seed >> 18) % 3,
					   (uintptr_t)lbuf + (w1 >> 20) % SEG, 0);
		if (seed & 0x20000)
			w1 = rmc_wqe_word1(w1 % SEG, (seed >> 9) % 5000);
		s.a.wq[seed >> 8 & 15].word0 = w0 ^ (seed & 1);
		s.a.wq[seed >> 8 & 15].word1 = w1;
		if (!(i % 3))
			testbed_visit(&s.w);
	}
	CHECK(setup_guards_intact());
	setup_free(&s);
}

/* Units with a doorbell bit set. */
static u32 pending(const struct rmc_ni_worker *w, enum rmc_lane lane)
{
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(w->pend[lane]); i++)
		n += __builtin_popcountll(w->pend[lane][i]);
	return n;
}

/* I-10: the cost of a visit does not grow with idle nodes and QPs. */
static void test_idle_costs_nothing(const struct testbed_opts *o)
{
	struct testbed_opts many = *o;
	struct rmc_ni_worker *req;
	struct app idle[127];
	struct setup s;
	u32 i, len;

	many.nodes = 128;
	setup(&s, &many);
	/* through one ring: a line if there are several units */
	len = rmc_fabric_multi_unit(s.w.fabric) ? 64 : LONG;
	for (i = 0; i < 127; i++)
		app_init(&idle[i], &s.w, i + 1, 3, 16);
	/* each node sends once, then falls silent */
	for (i = 0; i < 127; i++) {
		rmc_bufs_add(&idle[i].bufs, s.buf_mem);
		CHECK_EQ(app_run(&idle[i], RMC_OP_READ, 1, 0, lbuf, len), RMC_S_OK);
	}
	for (i = 0; i < 3 * RMC_IDLE_POLLS + 3000; i++)
		app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, len);
	req = rmc_qp_worker(&s.a.qp);
	CHECK_EQ(req->hots, 1);
	CHECK_EQ(req->hot[0] == &s.a.qp, 1);
	CHECK_EQ(pending(s.a.qp.node->req_worker, RMC_LANE_REP), 1);
	CHECK_EQ(pending(s.w.node[1]->srv_worker, RMC_LANE_REQ), 1);
	/* a silent QP that posts again is polled within a round */
	CHECK_EQ(app_run(&idle[126], RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	for (i = 0; i < 127; i++)
		app_fini(&idle[i]);
	setup_free(&s);
}

/* Nothing larger than a line is atomic, and no order is kept: both can be observed. */
static void test_no_more_is_promised(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	u32 slot, status, i, mixed = 0;
	struct setup s;

	k.mtu = 64;
	k.ring_order = 2;
	k.pay_order = 2;
	setup(&s, &k);
	memset(seg, 1, 4096);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 4096);
	testbed_visit(&s.w);
	testbed_visit(&s.w);
	memset(seg, 2, 4096);
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	for (i = 64; i < 4096; i++) {
		mixed += lbuf[i] != lbuf[i - 1];
		CHECK(lbuf[i] == lbuf[i - 1] || i % 64 == 0);
	}
	CHECK_EQ(mixed, 1);
	setup_free(&s);

	k = *o;
	k.nodes = 3;
	k.kernels = true;
	setup(&s, &k);
	seg_set(&s.w, 2, 3, s.seg_mem);
	s.w.frozen[1] = true;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 2, 0, lbuf + 64, 64);
	testbed_settle(&s.w);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(slot, 1);
	s.w.frozen[1] = false;
	testbed_settle(&s.w);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(slot, 0);
	setup_free(&s);
}

static u32 early;

/* After the event of a write with a notification the data is there. */
static void check_data_at_event(void)
{
	early += !!memcmp(seg + 100, lbuf, 9000);
}

/* Arming: one event, at once if late; notifications follow the data. */
static void test_events(const struct testbed_opts *o)
{
	u32 before = testbed_events;
	struct setup s;

	setup(&s, o);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	CHECK_EQ(testbed_events, before);
	CHECK(rmc_event_arm(&s.a.qp.done, 1));
	CHECK_EQ(testbed_events, before);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	CHECK_EQ(testbed_events, before + 1);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	CHECK_EQ(testbed_events, before + 1);
	CHECK(!rmc_event_arm(&s.a.qp.done, 2));
	CHECK(rmc_event_arm(&s.a.qp.done, 3));
	CHECK_EQ(testbed_events, before + 1);

	CHECK_EQ(app_run(&s.a, RMC_OP_NOTIFY, 1, 0, NULL, 0), RMC_S_OK);
	CHECK_EQ(s.seg_mem->notified.count, 1);
	CHECK(rmc_event_arm(&s.seg_mem->notified, 1));
	CHECK_EQ(testbed_events, before + 2);
	fill(lbuf, SEG, 9);
	early = 0;
	testbed_at_event = check_data_at_event;
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE_NOTIFY, 1, 100, lbuf, 9000), RMC_S_OK);
	testbed_at_event = NULL;
	CHECK_EQ(early, 0);
	CHECK(!memcmp(seg + 100, lbuf, 9000));
	CHECK_EQ(s.seg_mem->notified.count, 2);
	CHECK_EQ(testbed_events, before + 3);
	CHECK_EQ(app_run(&s.a, RMC_OP_NOTIFY, 1, 0, lbuf, 8), RMC_S_BAD_LENGTH);
	CHECK_EQ(app_run(&s.a, RMC_OP_NOTIFY, 1, SEG + 1, NULL, 0), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE_NOTIFY, 1, SEG, lbuf, 8), RMC_S_OUT_OF_RANGE);
	s.seg_mem->flags = RMC_MEM_READONLY;
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE_NOTIFY, 1, 0, lbuf, 8), RMC_S_READ_ONLY);
	CHECK_EQ(s.seg_mem->notified.count, 2);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	setup_free(&s);
}

static void test_bufs(void)
{
	static struct rmc_bufs b;
	struct rmc_mem m[RMC_MAX_BUFFERS + 1] = { 0 };
	u32 i;

	memset(&b, 0, sizeof(b));
	for (i = 0; i <= RMC_MAX_BUFFERS; i++) {
		m[i].base = 0x1000 + ((i * 7) % (RMC_MAX_BUFFERS + 1)) * 0x100;
		m[i].length = 0x80;
	}
	for (i = 0; i < RMC_MAX_BUFFERS; i++)
		CHECK_EQ(rmc_bufs_add(&b, &m[i]), 0);
	CHECK_EQ(rmc_bufs_add(&b, &m[RMC_MAX_BUFFERS]), -ENOSPC);
	for (i = 0; i < RMC_MAX_BUFFERS; i++) {
		CHECK(rmc_bufs_find(&b, m[i].base, 0x80) == &m[i]);
		CHECK(rmc_bufs_find(&b, m[i].base + 0x7f, 1) == &m[i]);
		CHECK(!rmc_bufs_find(&b, m[i].base + 0x7f, 2));
		CHECK(!rmc_bufs_find(&b, m[i].base + 0x80, 1));
		CHECK(!rmc_bufs_find(&b, m[i].base - 1, 1));
	}
	CHECK(!rmc_bufs_find(&b, ~0ULL, ~0U));
	CHECK(!rmc_bufs_find(&b, 0, 1));
	CHECK_EQ(rmc_bufs_del(&b, &m[5]), 0);
	CHECK(!rmc_bufs_find(&b, m[5].base, 1));
	m[RMC_MAX_BUFFERS].base = m[6].base + 0x7f;
	CHECK_EQ(rmc_bufs_add(&b, &m[RMC_MAX_BUFFERS]), -EEXIST);
	/* unmapped, and another one is mapped there before it is uninstalled */
	m[6].length = 0;
	CHECK(!rmc_bufs_find(&b, m[6].base, 1));
	m[5].base = m[6].base;
	CHECK_EQ(rmc_bufs_add(&b, &m[5]), 0);
	for (i = 0; i < RMC_MAX_BUFFERS; i++)
		CHECK(rmc_bufs_find(&b, m[i].base, 1) == (i == 6 ? &m[5] : &m[i]));
	CHECK_EQ(rmc_bufs_del(&b, &m[6]), 0);
	CHECK(rmc_bufs_find(&b, m[5].base, 0x80) == &m[5]);
	tap_result("local buffer table: find, overlap, limits");
}

static void test_line_stores(void)
{
	u8 line[64 * 3] __attribute__((aligned(64))), src[64], want[64 * 3];
	u32 off, len;

	fill(src, 64, 3);
	for (off = 64; off < 128; off++)
		for (len = 1; off + len <= 128; len++) {
			memset(line, 0xee, sizeof(line));
			memcpy(want, line, sizeof(line));
			memcpy(want + off, src, len);
			rmc_line_store_part(line + off, src, len);
			CHECK(!memcmp(line, want, sizeof(line)));
			memset(want, 0, 64);
			rmc_line_load_part(want, line + off, len);
			CHECK(!memcmp(want, src, len));
			CHECK_EQ(want[len > 63 ? 63 : len], len > 63 ? src[63] : 0);
		}
	tap_result("partial lines: every offset and length, not a byte more");
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "read and write: every length and alignment", test_read_write },
		{ "compare-and-swap, fetch-and-add", test_atomics },
		{ "every bad input has its own status", test_statuses },
		{ "tiny rings and ITT: one completion per entry", test_scarcity },
		{ "a blocked QP does not block another", test_two_qps },
		{ "a line that never stands still: its readers end, others go on", test_restless_line },
		{ "a line that stands still in the end is read", test_patience },
		{ "a destination without memory is busy", test_no_memory },
		{ "lost reply: time-out, late reply dropped", test_timeout },
		{ "QP and buffer withdrawn in flight", test_teardown },
		{ "hostile peer scribbles rings and doorbells", test_hostile_peer },
		{ "hostile application scribbles its WQ", test_hostile_app },
		{ "no atomicity beyond a line, no order", test_no_more_is_promised },
		{ "idle nodes and QPs are not polled", test_idle_costs_nothing, .one_kernel = true },
		{ "events and notifications", test_events },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 4096 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 4096 },
		{ .nodes = 2, .ni = "split", .units = 2, .frontends = 2, .mtu = 512 },
		{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256, .mtu = 64 },
	};

	test_bufs();
	test_line_stores();
	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
