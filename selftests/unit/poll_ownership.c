// SPDX-License-Identifier: GPL-2.0
/*
 * Which thread does a worker's work: the local path, parking, and inline polls meanwhile.
 * Stepped one visit at a time with a virtual clock.
 */
#include <sched.h>
#include "setup.h"
#include "kmod/core/pipeline.h"

void (*rmc_between_passes)(void);
u32 rmc_no_memory;

static void setup(struct setup *s, const struct testbed_opts *o)
{
	setup_make(s, o, 16);
}

/* The path of the application to node 1, after a first read. Returns true for the local path. */
static bool way(struct setup *s, struct rmc_node **server, struct rmc_out **out)
{
	*server = testbed_unit(&s->w, rmc_home(s->w.fabric, 1, 0));
	CHECK_EQ(app_run(&s->a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	*out = s->a.qp.node->out[(*server)->ep];
	return (*out)->self && !rmc_fabric_multi_unit(s->w.fabric);
}

/* The local path is taken where possible, delays no other operation, and is counted. */
static void test_direct(const struct testbed_opts *o)
{
	struct rmc_stats *a, *b, before;
	u32 pos, slot, status, i;
	struct rmc_node *server;
	struct rmc_out *out;
	struct setup s;
	u8 was[64];
	bool direct;

	setup(&s, o);
	direct = way(&s, &server, &out);
	a = &s.a.qp.node->stats;
	b = &server->stats;

	pos = out->req.pos;
	before = *a;
	before.served = b->served;
	before.served_bytes = b->served_bytes;
	for (i = 0; i < 5; i++)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	CHECK_EQ(out->req.pos - pos, direct ? 0 : 5);
	CHECK_EQ(a->wq_entries - before.wq_entries, 5);
	CHECK_EQ(a->requests - before.requests, 5);
	CHECK_EQ(a->replies - before.replies, 5);
	CHECK_EQ(a->request_bytes - before.request_bytes, 320);
	CHECK_EQ(a->reply_bytes - before.reply_bytes, 320);
	CHECK_EQ(a->completions - before.completions, 5);
	CHECK_EQ(b->served - before.served, 5);
	CHECK_EQ(b->served_bytes - before.served_bytes, 320);

	/* local operations do not overtake packets, and are not overtaken by them */
	for (i = 0; i < 3; i++) {
		u32 line = i ? 64 : 0;

		fill(lbuf, LONG, 7 + i);
		memset(lbuf + 32768, 0, 192);
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf + 32768, line ?: 1);
		app_post(&s.a, RMC_OP_WRITE, 1, 0, lbuf, i == 2 ? 60 : LONG);
		app_post(&s.a, RMC_OP_READ, 1, 64, lbuf + 32768 + 64, 64);
		app_post(&s.a, RMC_OP_NOTIFY, 1, 0, NULL, 1);		/* refused */
		app_post(&s.a, RMC_OP_READ, 1, LONG - 64, lbuf + 32768 + 128, 64);
		memcpy(was, seg, sizeof(was));
		testbed_settle(&s.w);
		for (pos = 0; app_poll(&s.a, &slot, &status); pos++)
			CHECK_EQ(status, slot == (s.a.head - 2) % s.a.entries ? RMC_S_BAD_LENGTH :
				 RMC_S_OK);
		CHECK_EQ(pos, 5);
		if (!o->units || o->units == 1)
			CHECK(!memcmp(lbuf + 32768, was, line ?: 1));
		if (i < 2 && (!o->units || o->units == 1)) {
			CHECK(!memcmp(lbuf + 32768 + 64, lbuf + 64, 64));
			CHECK(!memcmp(lbuf + 32768 + 128, lbuf + LONG - 64, 64));
		}
	}
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	CHECK_EQ(out->credits, out->req.mask + 1);
	setup_free(&s);
}

/* Reads, writes and SABRes of a few packets take the local path. */
static void test_few(const struct testbed_opts *o)
{
	static const u32 skips[] = { 0, 1, 64, 100 };
	u32 most = RMC_LOCAL_PACKETS * o->mtu, pos, len, i;
	u8 *want = malloc(SEG);
	struct rmc_stats before;
	struct rmc_node *server;
	struct rmc_out *out;
	struct setup s;
	bool direct;

	setup(&s, o);
	direct = way(&s, &server, &out);
	for (i = 0; i < 4 * ARRAY_SIZE(skips); i++) {
		u32 skip = skips[i / 4], room = most - skip % 64;
		const u32 lens[] = { o->mtu + 1, room - 64, room, room + 1 };
		u32 packets = rmc_packets(o->mtu, skip, lens[i % 4]);

		len = lens[i % 4];
		fill(seg, SEG, i);
		memset(lbuf, 0x11, SEG);
		memset(want, 0x11, SEG);
		memcpy(want + 3, seg + skip, len);
		pos = out->req.pos;
		before = s.a.qp.node->stats;
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, skip, lbuf + 3, len), RMC_S_OK);
		CHECK(!memcmp(lbuf, want, SEG));
		if (!rmc_fabric_multi_unit(s.w.fabric)) {
			CHECK_EQ(out->req.pos - pos, direct && len <= room ? 0 : packets);
			CHECK_EQ(s.a.qp.node->stats.requests - before.requests, packets);
			CHECK_EQ(s.a.qp.node->stats.replies - before.replies, packets);
			CHECK_EQ(s.a.qp.node->stats.reply_bytes - before.reply_bytes, len);
			CHECK_EQ(s.a.qp.node->stats.completions - before.completions, 1);
		}

		fill(lbuf, SEG, 77 + i);
		memcpy(want, seg, SEG);
		memcpy(want + skip, lbuf + 5, len);
		pos = out->req.pos;
		CHECK_EQ(app_run(&s.a, RMC_OP_WRITE, 1, skip, lbuf + 5, len), RMC_S_OK);
		CHECK(!memcmp(seg, want, SEG));
		if (direct)
			CHECK_EQ(out->req.pos - pos, len <= room ? 0 : packets);
	}
	/* the notification follows all of the write, and an object is a snapshot */
	pos = out->req.pos;
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE_NOTIFY, 1, 0, lbuf, 2 * o->mtu), RMC_S_OK);
	CHECK_EQ(s.seg_mem->notified.count, 1);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	*(u64 *)seg = 2;
	CHECK_EQ(app_run(&s.a, RMC_OP_SABRE, 1, 0, lbuf, 2 * o->mtu), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, 2 * o->mtu));
	/* the write took packets, the object did not; nor does it with an odd version */
	if (direct)
		CHECK_EQ(out->req.pos - pos, 2);
	*(u64 *)seg = 3;
	before = s.a.qp.node->stats;
	before.serve_errors = server->stats.serve_errors;
	memset(lbuf, 0x11, 2 * o->mtu);
	CHECK_EQ(app_run(&s.a, RMC_OP_SABRE, 1, 0, lbuf, 2 * o->mtu), RMC_S_SABRE_LOCKED);
	/* it is counted, and does not change the buffer */
	CHECK_EQ(s.a.qp.node->stats.errors - before.errors, 1);
	if (direct)
		CHECK(server->stats.serve_errors > before.serve_errors);
	for (i = 0; i < 2 * o->mtu; i++)
		CHECK_EQ(lbuf[i], 0x11);
	CHECK_EQ(s.seg_mem->notified.count, 1);

	/* one poll of a WQ is bounded, for the sake of other queue pairs */
	for (i = 0; i < 16; i++)
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, min(most, 16384U));
	app_take(&s.a);
	if (direct)
		CHECK_EQ(s.a.qp.wq_head - (s.a.head - 16), min(16U, RMC_LOCAL_BUDGET / most));
	for (i = 0; i < 16; i++)
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	CHECK(setup_guards_intact());
	setup_free(&s);
	free(want);
}

static u8 *restless;

static void store_word(void)
{
	/* always another value, also with several workers' threads at once */
	__atomic_add_fetch((u64 *)restless, 1, __ATOMIC_RELAXED);
}

/* A line that cannot be read now takes packets: some tries, and other reads complete. */
static void test_restless(const struct testbed_opts *o)
{
	struct rmc_node *server;
	u32 slot, status, n, i;
	struct rmc_out *out;
	struct setup s;
	bool direct;
	u64 work;

	setup(&s, o);
	direct = way(&s, &server, &out);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 64, lbuf, 64), RMC_S_OK);
	/* channels are open: only the line is in the way */
	restless = seg;
	rmc_between_passes = store_word;
	app_post(&s.a, RMC_OP_READ, 1, 64, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf + 64, 64);
	app_post(&s.a, RMC_OP_READ, 1, 64, lbuf + 128, 64);
	for (i = 0, n = 0; i < 4 * RMC_AGAIN_TRIES; i++) {
		testbed_visit(&s.w);
		while (app_poll(&s.a, &slot, &status)) {
			CHECK_EQ(status, slot == (s.a.head - 2) % 16 ? RMC_S_BUSY : RMC_S_OK);
			n++;
		}
	}
	CHECK_EQ(n, 3);
	rmc_between_passes = NULL;
	CHECK(!memcmp(lbuf, seg + 64, 64) && !memcmp(lbuf + 128, seg + 64, 64));

	/* an operation behind it that needs packets does not overtake it */
	testbed_pass(&s.w, RMC_AGAIN_MS + 1);
	rmc_between_passes = store_word;
	memset(lbuf, 0x77, LONG);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf + LONG, 64);
	app_post(&s.a, RMC_OP_WRITE, 1, 4096, lbuf, LONG);
	for (i = 0, n = 0; i < 4 * RMC_AGAIN_TRIES; i++) {
		testbed_visit(&s.w);
		while (app_poll(&s.a, &slot, &status)) {
			CHECK_EQ(status, slot == (s.a.head - 2) % 16 ? RMC_S_BUSY : RMC_S_OK);
			n |= 1 << (s.a.head - slot) % 16;
		}
	}
	CHECK_EQ(n, 1 << 1 | 1 << 2);
	CHECK(!memcmp(lbuf, seg + 4096, LONG));
	rmc_between_passes = NULL;

	/* a line in its second packet; the first one is read again */
	fill(seg, SEG, 3);
	restless = seg + o->mtu;
	for (i = 0; i < 2; i++) {
		testbed_pass(&s.w, RMC_AGAIN_MS + 1);
		rmc_between_passes = store_word;
		work = s.a.qp.tenant->work;
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 2 * o->mtu);
		for (n = 0; n < RMC_AGAIN_TRIES / 2; n++)
			testbed_visit(&s.w);
		CHECK(!app_poll(&s.a, &slot, &status));
		if (i)
			rmc_between_passes = NULL;
		CHECK_EQ(app_wait(&s.a), i ? RMC_S_OK : RMC_S_BUSY);
		/* repeated polls are charged, even if packets follow */
		if (direct)
			CHECK(s.a.qp.tenant->work - work >= (2ULL - i) * RMC_TENANT_BUSY);
	}
	CHECK(!memcmp(lbuf, seg, 2 * o->mtu));
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	setup_free(&s);
}

/* Threads: reads of one context, behind another's queue full of reads of a changing line */
#define CROWD_READS	100
#define CROWD_SECONDS	2

static void test_restless_crowd(const struct testbed_opts *o)
{
	u32 slot, status, busy = 0, done = 0;
	struct setup s;
	u64 since;
	struct app b;

	setup(&s, o);
	seg_set(&s.w, 1, CTX + 1, s.seg_mem);
	s.w.apps = 0;
	app_init(&b, &s.w, 0, CTX + 1, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	restless = seg;
	rmc_between_passes = store_word;
	testbed_start(&s.w, NULL, false);
	/* until one of the others has ended, too; on a busy machine that may take more reads */
	while (done < CROWD_READS || (!busy && done < 1000 * CROWD_READS)) {
		app_post(&b, RMC_OP_READ, 1, 4096, lbuf + 4096, 64);
		since = rmc_os_now_ns();
		do {
			while (app_poll(&s.a, &slot, &status)) {
				CHECK_EQ(status, RMC_S_BUSY);
				busy++;
			}
			while (s.a.head - s.a.cq_head < 16)
				app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
			sched_yield();
		} while (!app_poll(&b, &slot, &status) &&
			 rmc_os_now_ns() - since < CROWD_SECONDS * 1000000000ULL);
		if (rmc_os_now_ns() - since >= CROWD_SECONDS * 1000000000ULL)
			break;
		CHECK_EQ(status, RMC_S_OK);
		done++;
	}
	CHECK(done >= CROWD_READS);
	CHECK(busy);
	testbed_stop(&s.w);
	rmc_between_passes = NULL;
	app_fini(&b);
	setup_free(&s);
}

static void test_parking(const struct testbed_opts *o)
{
	struct rmc_ni_worker *req, *next;
	struct setup s;
	u32 i, k;

	setup(&s, o);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	for (k = 0; k < s.w.workers; k++)
		CHECK(!rmc_ni_may_park(&s.w.worker[k].ni) || s.w.workers > 1);
	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&s.w);
	for (k = 0; k < s.w.workers; k++) {
		CHECK(rmc_ni_may_park(&s.w.worker[k].ni));
		CHECK(rmc_ni_park(&s.w.worker[k].ni));
	}
	CHECK_EQ(s.a.flags->need_wakeup, 1);
	CHECK_EQ(testbed_fabric(&s.w, 0)->node[0].parked[RMC_LANE_REQ][0], 1);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	req = rmc_qp_worker(&s.a.qp);
	rmc_ni_unpark(req);
	CHECK_EQ(s.a.flags->need_wakeup, 0);
	/* an entry that was posted before the last poll prevents parking */
	CHECK(!rmc_ni_park(req));
	CHECK_EQ(s.a.flags->need_wakeup, 0);
	/* each wakes the next: frontend, RGP, RRPP */
	for (k = 0; k < 2; k++) {
		next = k ? s.w.node[1]->srv_worker : s.a.qp.node->req_worker;
		if (next == req)
			continue;
		rmc_ni_visit(req);
		CHECK_EQ(((struct testbed_worker *)next)->kick, 1);
		rmc_ni_unpark(next);
		req = next;
	}
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	setup_free(&s);
}

/* Park all workers and disown them, as their threads do */
static void put_to_sleep(struct setup *s)
{
	u32 i, k;

	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&s->w);
	for (k = 0; k < s->w.workers; k++) {
		CHECK(rmc_ni_may_park(&s->w.worker[k].ni));
		CHECK(rmc_ni_park(&s->w.worker[k].ni));
		s->w.worker[k].kick = 0;
		rmc_ni_disown(&s->w.worker[k].ni);
	}
}

static void test_inline(const struct testbed_opts *o)
{
	struct testbed_worker *ww;
	struct rmc_ni_worker *w;
	struct rmc_node *home;
	u32 slot, status, k;
	struct setup s;
	bool alone;

	setup(&s, o);
	home = testbed_unit(&s.w, rmc_home(s.w.fabric, 1, 0));
	w = rmc_qp_worker(&s.a.qp);
	alone = w == home->srv_worker && w == s.a.qp.node->req_worker;
	ww = (struct testbed_worker *)w;
	testbed_now_ns = TESTBED_START_NS;
	put_to_sleep(&s);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	/* one owner at a time */
	CHECK(rmc_ni_try_own(w));
	CHECK(!rmc_ni_try_own(w));
	CHECK_EQ(rmc_ni_poll_inline(w, testbed_now_ns, 1000), alone);
	CHECK(READ_ONCE(w->parked));
	CHECK_EQ(s.a.flags->need_wakeup, 1);
	CHECK_EQ(w->inline_polls, 1);
	/* what the inline poll publishes wakes only other workers */
	CHECK_EQ(ww->kick, 0);
	if (alone) {
		CHECK(app_poll(&s.a, &slot, &status));
		CHECK_EQ(status, RMC_S_OK);
		/* the worker is parked as before: a new doorbell wakes it */
		CHECK(rmc_ni_may_park(w));
		rmc_ni_disown(w);
		rmc_doorbell_ring(home->fabric, home->ep, RMC_LANE_REQ, s.a.qp.node->ep, false);
		CHECK_EQ(ww->kick, 1);
		CHECK(rmc_ni_try_own(w));
		/* a doorbell without a request is cleared; inline polls are too frequent */
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
		CHECK(!rmc_ni_poll_inline(w, testbed_now_ns + 999, 1000));
		CHECK(app_poll(&s.a, &slot, &status));
		CHECK(rmc_ni_may_park(w));
		CHECK(rmc_ni_poll_inline(w, testbed_now_ns + 1999, 1000));
	}
	rmc_ni_disown(w);
	for (k = 0; k < s.w.workers; k++) {
		CHECK(rmc_ni_try_own(&s.w.worker[k].ni));
		rmc_ni_unpark(&s.w.worker[k].ni);
	}
	if (!alone)
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	testbed_now_ns = 0;
	setup_free(&s);
}

/* An inline poll is not preempted: with many queue pairs the thread must wake. */
static void test_too_much_inline(const struct testbed_opts *o)
{
	struct app more[RMC_INLINE_QPS];
	struct rmc_ni_worker *w;
	struct setup s;
	u32 i, mine = 1;

	setup(&s, o);
	w = rmc_qp_worker(&s.a.qp);
	for (i = 0; i < RMC_INLINE_QPS; i++) {
		app_init(&more[i], &s.w, 0, 3, 16);
		rmc_bufs_add(&more[i].bufs, s.buf_mem);
		mine += rmc_qp_worker(&more[i].qp) == w;
	}
	testbed_now_ns = TESTBED_START_NS;
	put_to_sleep(&s);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	for (i = 0; i < RMC_INLINE_QPS; i++)
		app_post(&more[i], RMC_OP_READ, 1, 0, lbuf, 64);
	CHECK(rmc_ni_try_own(w));
	if (mine > RMC_INLINE_QPS) {
		u64 visits = w->visits;

		CHECK(!rmc_ni_poll_inline(w, testbed_now_ns, 1000));
		CHECK_EQ(w->visits, visits);
		CHECK_EQ(w->inline_polls, 0);
	}
	rmc_ni_disown(w);
	for (i = 0; i < s.w.workers; i++) {
		CHECK(rmc_ni_try_own(&s.w.worker[i].ni));
		rmc_ni_unpark(&s.w.worker[i].ni);
	}
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	for (i = 0; i < RMC_INLINE_QPS; i++) {
		CHECK_EQ(app_wait(&more[i]), RMC_S_OK);
		app_fini(&more[i]);
	}
	testbed_now_ns = 0;
	setup_free(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "one worker at both ends: without packets", test_direct },
		{ "one worker at both ends: few packets, or none", test_few },
		{ "one worker at both ends: a restless line", test_restless },
		{ "a restless line does not stop other contexts: threads", test_restless_crowd, .one_kernel = true },
		{ "parking: announce, poll again, wake", test_parking, .one_kernel = true },
		{ "an inline poll for a parked worker", test_inline },
		{ "no inline poll where there is much to do", test_too_much_inline },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 4096 },
		{ .nodes = 2, .ni = "split", .units = 2, .frontends = 2, .mtu = 512 },
		{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256, .mtu = 64 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
