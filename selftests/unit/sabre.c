// SPDX-License-Identifier: GPL-2.0
/*
 * SABRes, stepped with a virtual clock: every length, every status, conflicts, a full table,
 * peers that die, are slow or forge requests. In all cases each request has one reply, and all
 * credits and entries return.
 */
#include "client.h"
#include "setup.h"

static const char * const mode_names[] = { "", "overlapped", "serialized", "locked" };

static bool shuffled;		/* packets of an operation arrive in any order */

static const struct rmc_fault shuffle = { .shuffle = RMC_ALWAYS };

static void setup(struct setup *s, const struct testbed_opts *o, u32 mode)
{
	rmc_filters = shuffled;
	setup_make(s, o, 128);
	memset(seg, 0, SEG);
	mem_objects(s->seg_mem, mode, 0);
	if (shuffled) {
		fault_set(&s->w, 0, 1, RMC_LANE_REQ, &shuffle, 7);
		fault_set(&s->w, 1, 0, RMC_LANE_REP, &shuffle, 8);
	}
}

static void teardown(struct setup *s)
{
	CHECK_EQ(testbed_transfers(&s->w, 1), 0);
	CHECK_EQ(s->w.node[1]->att.used, 0);
	setup_free(s);
}

/* All credits, lines and holds of the channel 0 -> 1 are back. */
static void check_settled(struct setup *s)
{
	CHECK_EQ(testbed_in_flight(&s->w, 0), 0);
	CHECK_EQ(testbed_transfers(&s->w, 1), 0);
	CHECK(testbed_credits_home(&s->w, 0, 1));
}

static u64 *version(u32 off)
{
	return (u64 *)(seg + off);
}

static u32 *readers(u32 off)
{
	return (u32 *)(seg + off + 8);
}

static int sabre(struct setup *s, u64 off, u32 len)
{
	return app_run(&s->a, RMC_OP_SABRE, 1, off, lbuf, len);
}

static void test_lengths(const struct testbed_opts *o, u32 mode)
{
	static const u32 lens[] = { 16, 17, 63, 64, 65, 100, 128, 1000, 4095, 4096, 4097, 8192, 20000 };
	static const u32 offs[] = { 0, 8, 56, 64, 4088, 4096, 5000 };
	u8 *want = malloc(SEG);
	struct setup s;
	u32 i, j;

	setup(&s, o, mode);
	for (i = 0; i < sizeof(lens) / 4; i++)
		for (j = 0; j < sizeof(offs) / 4; j++) {
			fill(seg, SEG, lens[i] + offs[j]);
			*version(offs[j]) &= ~1ULL;
			*readers(offs[j]) = 0;
			memset(lbuf, 0x11, SEG);
			memset(want, 0x11, SEG);
			memcpy(want, seg + offs[j], lens[i]);
			CHECK_EQ(sabre(&s, offs[j], lens[i]), RMC_S_OK);
			if (mode == RMC_SABRE_LOCKED) {
				/* the reader's own count may be in the copy */
				CHECK_EQ(*readers(offs[j]), 0);
				memset(lbuf + 8, 0, 4);
				memset(want + 8, 0, 4);
			}
			CHECK(!memcmp(lbuf, want, SEG));
		}
	check_settled(&s);
	teardown(&s);
	free(want);
}

static void test_statuses(const struct testbed_opts *o, u32 mode)
{
	struct setup s;

	setup(&s, o, mode);
	CHECK_EQ(sabre(&s, 0, 0), RMC_S_BAD_LENGTH);
	CHECK_EQ(sabre(&s, 0, RMC_SABRE_MAX + 1), RMC_S_BAD_LENGTH);
	CHECK_EQ(sabre(&s, 4, 128), RMC_S_BAD_ALIGN);
	CHECK_EQ(sabre(&s, 0, 7), RMC_S_NO_VERSION);
	/* crosses the end: with the first line, with any, by a byte, by much */
	CHECK_EQ(sabre(&s, SEG - 64, 128), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(sabre(&s, SEG - 4096, 4097), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(sabre(&s, SEG - 8192, 8200), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(sabre(&s, SEG, 64), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(sabre(&s, RMC_OFFSET_MAX - 7, 64), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(sabre(&s, SEG - 8192, 8192), RMC_S_OK);
	s.seg_mem->length = SEG - 1;
	CHECK_EQ(sabre(&s, SEG - 8192, 8192), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(sabre(&s, SEG - 8192, 8191), RMC_S_OK);
	s.seg_mem->length = SEG;
	/* a version, but outside of the range that is read */
	mem_objects(s.seg_mem, mode, 4096);
	CHECK_EQ(sabre(&s, 0, 4096), RMC_S_NO_VERSION);
	CHECK_EQ(sabre(&s, 0, 4103), RMC_S_NO_VERSION);
	CHECK_EQ(sabre(&s, 0, 4112), RMC_S_OK);
	mem_objects(s.seg_mem, mode, ~0U & ~7U);
	CHECK_EQ(sabre(&s, 0, 4096), RMC_S_NO_VERSION);
	mem_objects(s.seg_mem, mode, 0);
	if (mode == RMC_SABRE_LOCKED)
		CHECK_EQ(sabre(&s, 0, 11), RMC_S_NO_VERSION);
	/* odd, for any number of attempts */
	*version(0) = 7;
	CHECK_EQ(sabre(&s, 0, 64), RMC_S_SABRE_LOCKED);
	CHECK_EQ(sabre(&s, 0, 8192), RMC_S_SABRE_LOCKED);
	CHECK_EQ(sabre(&s, 0, 8192), RMC_S_SABRE_LOCKED);
	CHECK_EQ(*readers(0), 0);
	*version(0) = 8;
	CHECK_EQ(sabre(&s, 0, 8192), RMC_S_OK);
	s.seg_mem->flags = RMC_MEM_READONLY;
	CHECK_EQ(sabre(&s, 0, 8192), RMC_S_OK);
	mem_objects(s.seg_mem, RMC_SABRE_DEFAULT, 0);
	CHECK_EQ(sabre(&s, 0, 64), RMC_S_NO_VERSION);
	CHECK_EQ(sabre(&s, 0, 8192), RMC_S_NO_VERSION);
	seg_set(&s.w, 1, 3, NULL);
	CHECK_EQ(sabre(&s, 0, 8192), RMC_S_BAD_CONTEXT);
	CHECK_EQ(*readers(0), 0);
	testbed_settle(&s.w);
	check_settled(&s);
	teardown(&s);
}

/* Tiny rings, more lines than fit, and a full table. */
static struct testbed_opts slow(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;

	k.ring_order = 3;
	k.pay_order = k.mtu > 64 ? 6 : 3;
	k.kernels = true;
	return k;
}

/* Visit until the destination is in the middle of the object. */
static void step_into(struct setup *s)
{
	u32 i;

	for (i = 0; i < 1000; i++) {
		struct rmc_att *att = &s->w.node[1]->att;

		testbed_visit(&s->w);
		if (att->used && att->entry[0].x->issued > 0)
			return;
	}
	CHECK(!"reached the middle");
}

static void test_conflict(const struct testbed_opts *o, u32 mode)
{
	struct testbed_opts k = slow(o);
	u64 served;
	struct setup s;

	setup(&s, &k, mode);
	*version(0) = 2;
	CHECK_EQ(sabre(&s, 0, SEG), RMC_S_OK);
	served = testbed_stat(&s.w, 1, served_bytes);
	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, SEG);
	step_into(&s);
	CHECK_EQ(*readers(0), mode == RMC_SABRE_LOCKED);
	/* a writer that ignores readers' locks */
	*version(0) = 4;
	CHECK_EQ(app_wait(&s.a), RMC_S_SABRE_ABORTED);
	/* early: the rest of the data was neither read nor sent */
	CHECK(testbed_stat(&s.w, 1, served_bytes) - served < SEG);
	CHECK_EQ(*readers(0), 0);
	testbed_settle(&s.w);
	check_settled(&s);
	CHECK_EQ(sabre(&s, 0, SEG), RMC_S_OK);
	/* changed after the last line was read: the final check detects it */
	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, SEG);
	step_into(&s);
	*version(0) = 5;
	/* unless the writer waits for this reader */
	CHECK_EQ(app_wait(&s.a), mode == RMC_SABRE_LOCKED ? RMC_S_OK : RMC_S_SABRE_ABORTED);
	CHECK_EQ(*readers(0), 0);
	*version(0) = 6;
	testbed_settle(&s.w);
	check_settled(&s);
	teardown(&s);
}

/* The segment, the buffer or the queue is withdrawn in the middle. */
static void test_withdrawal(const struct testbed_opts *o, u32 mode)
{
	struct rmc_abort gone = { .nid = -1, .status = RMC_S_ABORTED };
	struct testbed_opts k = slow(o);
	struct setup s;
	struct app b;
	int i;

	setup(&s, &k, mode);
	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, SEG);
	step_into(&s);
	seg_set(&s.w, 1, 3, NULL);
	CHECK_EQ(*readers(0), 0);
	CHECK_EQ(app_wait(&s.a), RMC_S_BAD_CONTEXT);
	seg_set(&s.w, 1, 3, s.seg_mem);
	testbed_settle(&s.w);
	check_settled(&s);

	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, SEG);
	step_into(&s);
	gone.lbuf = s.buf_mem;
	rmc_bufs_del(&s.a.bufs, s.buf_mem);
	rmc_itt_abort(s.a.qp.node, &gone);
	CHECK_EQ(app_wait(&s.a), RMC_S_ABORTED);
	rmc_bufs_add(&s.a.bufs, s.buf_mem);
	/* the next one does not wait for the remains of this one */
	CHECK_EQ(sabre(&s, 0, SEG), RMC_S_OK);
	CHECK_EQ(*readers(0), mode == RMC_SABRE_LOCKED);

	app_init(&b, &s.w, 0, 3, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	app_post(&b, RMC_OP_SABRE, 1, 0, lbuf, SEG);
	testbed_visit(&s.w);
	app_fini(&b);
	CHECK_EQ(sabre(&s, 0, SEG), RMC_S_OK);
	/* orphans end when no requests arrived for long enough */
	for (i = 0; i < 2 * RMC_ATT_STALL_MS; i++)
		testbed_tick(&s.w, 1);
	CHECK_EQ(*readers(0), 0);
	CHECK(testbed_stat(&s.w, 1, att_reclaims) >= 1);
	testbed_settle(&s.w);
	check_settled(&s);
	teardown(&s);
}

/* The source's kernel dies in the middle and boots under another epoch. */
static void test_source_killed(const struct testbed_opts *o, u32 mode)
{
	struct testbed_opts k = slow(o);
	struct setup s;
	int i;

	setup(&s, &k, mode);
	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, SEG);
	step_into(&s);
	CHECK_EQ(testbed_transfers(&s.w, 1), 1);
	s.w.frozen[0] = true;
	testbed_restart(&s.w, 0);
	s.w.frozen[0] = false;
	for (i = 0; i < 6; i++)
		testbed_tick(&s.w, 2);
	CHECK(s.w.node[0]->up);
	CHECK_EQ(testbed_transfers(&s.w, 1), 0);
	CHECK_EQ(*readers(0), 0);
	app_lost(&s.a);
	app_init(&s.a, &s.w, 0, 3, 128);
	rmc_bufs_add(&s.a.bufs, s.buf_mem);
	CHECK_EQ(sabre(&s, 0, SEG), RMC_S_OK);
	check_settled(&s);
	teardown(&s);
}

/* ---- a stub peer ---- */

static void peer_init(struct client *p, struct testbed *w, u32 nid)
{
	client_init(p, w, nid, rmc_endpoint(&w->fabric[nid], 1));
}

static void peer_send(struct client *p, u16 tid, u64 word1)
{
	client_send(p, rmc_req_word0(RMC_OP_SABRE, 3, 9, tid), word1);
}

/* The next reply's status; -1: there is none. */
static int peer_reply(struct client *p, u16 tid, bool announcement)
{
	struct rmc_rep r;

	if (!client_reply(p, &r))
		return -1;
	CHECK_EQ(r.tid, tid);
	CHECK_EQ(r.gen, 9);
	CHECK_EQ(rmc_word1_announces(r.word1), announcement);
	return r.status;
}

static void test_strays(const struct testbed_opts *o, u32 mode)
{
	struct testbed_opts k = *o;
	u32 mtu = k.mtu, later, i;
	struct client p;
	struct setup s;

	k.nodes = 3;
	k.kernels = true;
	setup(&s, &k, mode);
	peer_init(&p, &s.w, 2);

	/* belongs to no transfer */
	peer_send(&p, 1, rmc_req_word1(0, 64, false));
	testbed_settle(&s.w);
	CHECK_EQ(peer_reply(&p, 1, false), RMC_S_SABRE_LOST);
	CHECK_EQ(peer_reply(&p, 1, false), -1);

	/* three packets, one requested twice: three data replies, each line once */
	peer_send(&p, 2, rmc_announce_word1(0, 3 * mtu));
	peer_send(&p, 2, rmc_req_word1(mtu, mtu, false));
	peer_send(&p, 2, rmc_req_word1(mtu, mtu, false));
	testbed_settle(&s.w);
	CHECK_EQ(*readers(0), mode == RMC_SABRE_LOCKED);
	for (i = 0; i < 2; i++)
		CHECK_EQ(peer_reply(&p, 2, false), RMC_S_OK);
	CHECK_EQ(peer_reply(&p, 2, false), -1);
	/* five requests, three were announced: two too many */
	for (i = 0; i < 3; i++)
		peer_send(&p, 2, rmc_req_word1(2 * mtu, mtu, true));
	testbed_settle(&s.w);
	/* the two extra ones are answered at once, the others when the object is read */
	CHECK_EQ(peer_reply(&p, 2, false), RMC_S_SABRE_LOST);
	CHECK_EQ(peer_reply(&p, 2, false), RMC_S_SABRE_LOST);
	CHECK_EQ(peer_reply(&p, 2, false), RMC_S_OK);
	CHECK_EQ(peer_reply(&p, 2, true), RMC_S_OK);
	CHECK_EQ(peer_reply(&p, 2, false), -1);

	/* the same as a run: behind the announcement, then separately */
	for (later = 0; later < 2; later++) {
		peer_send(&p, 2, rmc_announce_word1(0, 3 * mtu));
		if (later)
			testbed_settle(&s.w);
		for (i = 0; i < 5; i++)
			peer_send(&p, 2, rmc_req_word1(i * mtu, mtu, i == 2));
		testbed_settle(&s.w);
		for (i = 0; i < 6; i++)
			CHECK_EQ(peer_reply(&p, 2, i == 5), i < 2 ? RMC_S_SABRE_LOST : RMC_S_OK);
		CHECK_EQ(peer_reply(&p, 2, false), -1);
		CHECK_EQ(s.w.node[1]->att.live, 0);
		CHECK_EQ(*readers(0), 0);
	}

	/* announced twice; announced with an invalid length; beyond the segment's end */
	peer_send(&p, 3, rmc_announce_word1(0, 2 * mtu));
	peer_send(&p, 3, rmc_announce_word1(0, 2 * mtu));
	peer_send(&p, 4, RMC_REQ_FIRST | 64);
	peer_send(&p, 5, rmc_announce_word1(SEG - mtu, 2 * mtu));
	testbed_settle(&s.w);
	CHECK_EQ(peer_reply(&p, 3, true), RMC_S_PROTOCOL);
	CHECK_EQ(peer_reply(&p, 4, true), RMC_S_PROTOCOL);
	/* the last block may be another RRPP's */
	CHECK_EQ(peer_reply(&p, 5, true), rmc_home(&s.w.fabric[1], 1, SEG - mtu) == s.w.node[1]->ep ?
					  RMC_S_OUT_OF_RANGE : RMC_S_PROTOCOL);
	CHECK_EQ(peer_reply(&p, 5, true), -1);
	CHECK_EQ(testbed_transfers(&s.w, 1), 1);

	/* more transfers than a channel may have */
	for (i = 0; i < RMC_XFERS; i++)
		peer_send(&p, 100 + i, rmc_announce_word1(0, 2 * mtu));
	testbed_settle(&s.w);
	CHECK_EQ(peer_reply(&p, 100 + RMC_XFERS - 1, true), RMC_S_PROTOCOL);
	CHECK_EQ(peer_reply(&p, 0, true), -1);
	CHECK_EQ(testbed_transfers(&s.w, 1), RMC_XFERS);
	CHECK_EQ(s.w.node[1]->att.used, RMC_ATT_ENTRIES);
	/* all of them stall: reclaimed, batch by batch */
	for (i = 0; i < 6 * RMC_ATT_STALL_MS; i++) {
		testbed_tick(&s.w, 1);
		testbed_settle(&s.w);
	}
	CHECK_EQ(peer_reply(&p, 3, true), RMC_S_SABRE_LOST);
	CHECK_EQ(testbed_transfers(&s.w, 1), 0);
	CHECK_EQ(*readers(0), 0);
	teardown(&s);
}

/* The table is full of transfers whose source never sends the rest. */
static void test_exhaustion(const struct testbed_opts *o, u32 mode)
{
	struct testbed_opts k = *o;
	u32 i, slot, status, n = 0;
	struct setup s;
	struct client p;
	struct app b;

	k.nodes = 3;
	k.kernels = true;
	k.att_entries = 4;
	setup(&s, &k, mode);
	app_init(&b, &s.w, 0, 3, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	peer_init(&p, &s.w, 2);
	for (i = 0; i < 8; i++)
		peer_send(&p, i, rmc_announce_word1(0, 2 * k.mtu));
	testbed_settle(&s.w);
	CHECK_EQ(s.w.node[1]->att.used, 4);
	CHECK_EQ(testbed_transfers(&s.w, 1), 8);

	/* ours wait, as many as a channel allows; the last ones are not even sent */
	for (i = 0; i < 100; i++)
		app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, 2 * k.mtu);
	testbed_settle(&s.w);
	CHECK(!app_poll(&s.a, &slot, &status));
	CHECK(testbed_stat(&s.w, 1, att_stalls) > 4);
	/* plain operations do not wait: other queue, same channel */
	for (i = 0; i < 1000 && !tap_failures; i++)
		CHECK_EQ(app_run(&b, i & 1 ? RMC_OP_READ : RMC_OP_WRITE, 1, 8192, lbuf + 8192, 4096),
			 RMC_S_OK);
	CHECK(!app_poll(&s.a, &slot, &status));
	/* nor does the worker park */
	for (i = 0; i < s.w.workers; i++)
		if (&s.w.worker[i].ni == s.w.node[1]->srv_worker)
			CHECK(!rmc_ni_may_park(&s.w.worker[i].ni));

	/* after att_stall_ms the entries go to the next source */
	for (i = 0; i < RMC_ATT_STALL_MS + 4; i++)
		testbed_tick(&s.w, 1);
	for (i = 0; i < 100000 && n < 100; i++) {
		testbed_visit(&s.w);
		if (!(i % 100))
			testbed_tick(&s.w, 1);
		while (app_poll(&s.a, &slot, &status)) {
			CHECK_EQ(status, RMC_S_OK);
			n++;
		}
	}
	CHECK_EQ(n, 100);
	for (i = 0; i < 3 * RMC_ATT_STALL_MS; i++)
		testbed_tick(&s.w, 1);
	CHECK_EQ(testbed_stat(&s.w, 1, att_reclaims), 8);
	CHECK_EQ(*readers(0), 0);
	testbed_settle(&s.w);
	check_settled(&s);
	app_fini(&b);
	teardown(&s);
}

/* Rings and tables of the smallest size, many queues: none waits forever. */
static void test_scarcity(const struct testbed_opts *o, u32 mode)
{
	struct testbed_opts k = *o;
	u32 i, q, slot, status, n = 0;
	struct app b[6];
	struct setup s;

	k.nodes = 3;
	k.ring_order = RMC_RING_ORDER_MIN;
	k.pay_order = k.mtu > 64 ? 6 : 2;
	k.att_entries = 1;
	setup(&s, &k, mode);
	fill(seg + 16, SEG - 16, 5);
	for (q = 0; q < 6; q++) {
		app_init(&b[q], &s.w, q % 3, 3, 16);
		rmc_bufs_add(&b[q].bufs, s.buf_mem);
		for (i = 0; i < 16; i++)
			app_post(&b[q], i % 4 == 3 ? RMC_OP_READ : RMC_OP_SABRE, 1, 0,
				 lbuf + q * 8192, 1000 + i * 200);
	}
	for (i = 0; i < 200000 && n < 96; i++) {
		testbed_visit(&s.w);
		for (q = 0; q < 6; q++)
			while (app_poll(&b[q], &slot, &status)) {
				CHECK_EQ(status, RMC_S_OK);
				n++;
			}
	}
	CHECK_EQ(n, 96);
	for (q = 0; q < 6; q++) {
		CHECK(!memcmp(lbuf + q * 8192 + 16, seg + 16, 4000 - 16));
		app_fini(&b[q]);
	}
	CHECK_EQ(*readers(0), 0);
	teardown(&s);
}

/*
 * A transfer whose requests arrive together is served at once, without the table; a channel has
 * room for one of two. No transfer waits forever for that.
 */
static void test_short(const struct testbed_opts *o, u32 mode)
{
	u32 len = o->mtu > 64 ? 2 * o->mtu + 16 : 24 * o->mtu;
	bool fused = !strcmp(o->ni, "fused");
	struct rmc_out *out = NULL;
	struct testbed_opts k = *o;
	struct setup s;
	u64 before;

	k.pay_order = k.mtu > 64 ? 0 : 5;
	k.ring_order = k.mtu > 64 ? 0 : 6;
	/* within one worker longer runs move */
	setup(&s, &k, mode);
	fill(seg + 16, SEG - 16, 6);
	if (fused) {
		/* a packet seems to be in flight: all operations take packets, see local.h */
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
		out = s.w.node[0]->out[1];
		out->credits--;
	}
	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, len);
	app_post(&s.a, RMC_OP_SABRE, 1, 64, lbuf + 32768, len);
	*version(64) = 0;
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	CHECK(!memcmp(lbuf + 16, seg + 16, len - 16));
	CHECK(!memcmp(lbuf + 32768 + 16, seg + 64 + 16, len - 16));
	testbed_settle(&s.w);
	if (!fused)
		check_settled(&s);
	if (fused && !shuffled) {
		CHECK_EQ(s.w.node[1]->stats.att_registered, 0);
		/* others, which never end, leave room for one packet at a time */
		before = out->held_lines = (1U << s.w.fabric[0].pay_order) * 3 / 4 - k.mtu / 64;
		out->held = 1;
		CHECK_EQ(sabre(&s, 0, len), RMC_S_OK);
		CHECK_EQ(s.w.node[1]->stats.att_registered, 1);
		CHECK_EQ(out->held_lines, before);
		CHECK_EQ(out->held, 1);
		CHECK(!memcmp(lbuf + 16, seg + 16, len - 16));
		out->held = out->held_lines = 0;
	}
	if (fused) {
		out->credits++;
		check_settled(&s);
	}
	CHECK_EQ(*readers(0), 0);
	teardown(&s);
}

static u32 fetched, version_off;

/* A line of the object */
static void count_fetched(const void *p)
{
	u64 at = (const u8 *)p - seg;

	if (at < 512)
		fetched |= 1U << at / 64;
}

/*
 * Only with RMC_SABRE_OVERLAPPED lines are fetched before the version was read: its own, and as
 * many as the stream buffer has (att_depth).
 */
static void test_ahead(const struct testbed_opts *o, u32 mode)
{
	static const u32 offs[] = { 0, 56, 64, 200, 448, 496, 512, 4096, SEG, ~0U & ~7U };
	static const u32 depths[] = { 1, 3, 8, RMC_ATT_DEPTH };
	struct setup s;
	u32 i, j, want;

	setup(&s, o, mode);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	for (i = 0; i < ARRAY_SIZE(offs) * ARRAY_SIZE(depths); i++) {
		version_off = offs[i / ARRAY_SIZE(depths)];
		for (j = 0; j < s.w.opts.units; j++)
			s.w.node[1]->unit[j]->att.depth = depths[i % ARRAY_SIZE(depths)];
		mem_objects(s.seg_mem, mode, version_off);
		fetched = 0;
		rmc_at_prefetch = count_fetched;
		CHECK_EQ(sabre(&s, 0, 512), version_off < 512 ? RMC_S_OK : RMC_S_NO_VERSION);
		rmc_at_prefetch = NULL;
		if (version_off >= 512)
			continue;
		want = mode == RMC_SABRE_OVERLAPPED ? (1ULL << depths[i % ARRAY_SIZE(depths)]) - 1 : 0;
		CHECK_EQ(fetched, (want & 255) | 1U << version_off / 64);
	}
	teardown(&s);
}

/* A SABRe is served by one RRPP, that of its first line; a read by those of all its lines. */
static void test_rows(const struct testbed_opts *o, u32 mode)
{
	u32 op, line, u, rows, home, lines = 2 * RMC_INTERLEAVE / 64 + 2;
	struct setup s;
	u64 was[8];

	setup(&s, o, mode);
	for (op = 0; op < 2; op++)
		for (line = 0; line < 2 * RMC_INTERLEAVE / 64 * s.w.opts.units; line += 7) {
			for (u = 0; u < s.w.opts.units; u++)
				was[u] = s.w.node[1]->unit[u]->stats.served;
			CHECK_EQ(op ? sabre(&s, line * 64, lines * 64) :
				 app_run(&s.a, RMC_OP_READ, 1, line * 64, lbuf, lines * 64), RMC_S_OK);
			for (u = rows = 0; u < s.w.opts.units; u++)
				rows += s.w.node[1]->unit[u]->stats.served != was[u];
			home = rmc_home(testbed_fabric(&s.w, 1), 1, line * 64) % s.w.opts.units;
			CHECK(s.w.node[1]->unit[home]->stats.served != was[home]);
			CHECK_EQ(rows, op ? 1 : rmc_fabric_rrpps(testbed_fabric(&s.w, 1)));
		}
	teardown(&s);
}

/* One source's many SABRes do not delay another source's single one. */
static void test_fairness(const struct testbed_opts *o, u32 mode)
{
	struct testbed_opts k = *o;
	u32 i, n = 0, slot, status;
	struct setup s;
	struct app b;

	k.nodes = 3;
	k.att_entries = 1;
	setup(&s, &k, mode);
	app_init(&b, &s.w, 2, 3, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	for (i = 0; i < 100; i++)
		app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, 3 * k.mtu);
	testbed_visit(&s.w);
	CHECK_EQ(app_run(&b, RMC_OP_SABRE, 1, 0, lbuf + 32768, 3 * k.mtu), RMC_S_OK);
	while (app_poll(&s.a, &slot, &status))
		n++;
	CHECK(n < 50);
	for (; n < 100; n++)
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	testbed_settle(&s.w);
	check_settled(&s);
	app_fini(&b);
	teardown(&s);
}

/* I-5: random announcements, data requests and replies. */
static void test_hostile(const struct testbed_opts *o, u32 mode)
{
	struct testbed_opts k = *o;
	u32 i, seed = 3;
	struct setup s;
	struct client p;

	k.nodes = 3;
	k.kernels = true;
	k.att_entries = 3;
	setup(&s, &k, mode);
	peer_init(&p, &s.w, 2);
	for (i = 0; i < 100000; i++) {
		u64 w1;

		seed = seed * 1664525 + 1013904223;
		w1 = ((u64)seed << 32) ^ (u64)seed * 2654435761u;
		if (seed & 0x100)
			w1 = rmc_announce_word1((seed >> 9) % SEG & ~7U, 1 + (seed >> 12) % SEG);
		else if (seed & 0x200)
			w1 = rmc_req_word1((seed >> 9) % SEG, 1 + (seed >> 13) % k.mtu, seed & 0x400);
		peer_send(&p, (seed >> 20) % 80, w1);
		if (!(seed & 0x7000)) {
			testbed_visit(&s.w);
			/* versions change, segments appear and disappear */
			*version((seed >> 15) % 1000 * 8) = seed >> 28;
		}
		if (!(i % 5000)) {
			*version(0) = 0;
			*readers(0) = 0;
			testbed_tick(&s.w, 3);
			i % 10000 ? seg_set(&s.w, 1, 3, NULL) : seg_set(&s.w, 1, 3, s.seg_mem);
		}
	}
	seg_set(&s.w, 1, 3, s.seg_mem);
	for (i = 0; i < 60 * RMC_ATT_STALL_MS && testbed_transfers(&s.w, 1); i++) {
		testbed_tick(&s.w, 1);
		testbed_visit(&s.w);
	}
	CHECK_EQ(testbed_transfers(&s.w, 1), 0);
	*version(0) = 2;
	CHECK_EQ(sabre(&s, 0, 8192), RMC_S_OK);
	teardown(&s);
}

/*
 * Packets are lost, duplicated, late and reordered, announcements too. Some SABRes fail then;
 * data that arrives is right, and all credits return.
 */
static void test_lossy_fabric(const struct testbed_opts *o, u32 mode)
{
	struct rmc_fault unkind = { .loss = 10000, .reorder = 50000, .gap_ns = 2000000,
				    .jitter_ns = 50000 };
	u32 i, k, slot, status = 0, len, ok = 0, lost = 0;
	struct setup s;

	setup(&s, o, mode);
	rmc_filters = 1;
	s.w.fabric[0].timeout_ms = 3 * RMC_ATT_STALL_MS;
	fill(seg + 16, SEG - 16, 11);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &unkind, 21);
	unkind.dup = 50000;
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &unkind, 22);
	for (i = 0; i < 60; i++) {
		len = 100 + i * 60;
		memset(lbuf, 0, len);
		app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, len);
		for (k = 0; k < 400000 && !app_poll(&s.a, &slot, &status); k++) {
			testbed_visit(&s.w);
			testbed_now_ns += 1000;
			if (!(k % 20))
				testbed_tick(&s.w, 1);
		}
		CHECK(k < 400000);
		ok += status == RMC_S_OK;
		lost += status != RMC_S_OK;
		CHECK(status == RMC_S_OK || status == RMC_S_SABRE_LOST || status == RMC_S_TIMEOUT);
		if (status == RMC_S_OK)
			CHECK(!memcmp(lbuf + 16, seg + 16, len - 16));
	}
	CHECK(ok > 0);
	CHECK(lost > 0 || o->mtu > 64);
	for (i = 0; i < 4 * RMC_ATT_STALL_MS; i++) {
		testbed_tick(&s.w, 1);
		testbed_visit(&s.w);
	}
	testbed_settle(&s.w);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	CHECK(testbed_credits_home(&s.w, 0, 1));
	CHECK_EQ(*readers(0), 0);
	rmc_filters = shuffled;
	teardown(&s);
}

static void test_words(void)
{
	u32 off, len;

	for (off = 0; off < 200; off += 3)
		for (len = 1; len < 3000; len++) {
			u64 w = rmc_announce_word1(off, len);

			CHECK_EQ(rmc_announce_length(w), len);
			CHECK_EQ(rmc_word1_offset(w), off);
			CHECK(rmc_word1_announces(w));
		}
	CHECK_EQ(rmc_announce_length(rmc_announce_word1(63, RMC_SABRE_MAX)), RMC_SABRE_MAX);
	CHECK_EQ(rmc_announce_length(rmc_announce_word1(RMC_OFFSET_MAX, RMC_SABRE_MAX)),
		 RMC_SABRE_MAX);
	tap_result("announcements: length and offset survive");
}

int main(void)
{
	static const struct {
		const char *name;
		void (*fn)(const struct testbed_opts *o, u32 mode);
		bool one_kernel;
	} tests[] = {
		{ "every length and alignment", test_lengths },
		{ "every bad input has its own status", test_statuses },
		{ "a write in the middle aborts it, early", test_conflict },
		{ "segment, buffer, queue withdrawn in the middle", test_withdrawal },
		{ "source dies in the middle and rejoins", test_source_killed },
		{ "strays, duplicates, too many: one reply each", test_strays },
		{ "table full of silent transfers", test_exhaustion },
		{ "tiny rings, one entry, six queues", test_scarcity },
		{ "short ones, all at once", test_short, true },
		{ "what is fetched ahead: nothing, or as much as is asked for", test_ahead },
		{ "one RRPP serves it, that of its first line", test_rows },
		{ "sources take turns", test_fairness },
		{ "hostile peer makes up packets", test_hostile },
		{ "lost, duplicated, late, reordered packets", test_lossy_fabric },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "pair", .mtu = 64 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 512 },
		{ .nodes = 2, .ni = "per_tile", .units = 2, .rrpps = 1, .mtu = 4096 },
	};
	struct testbed_opts one = opts[0];
	bool asked = matrix_asked(&one);
	char name[160], where[64];
	const char *reason;
	u32 i, j, mode;

	test_words();
	for (j = 0; j < (asked ? 1 : ARRAY_SIZE(opts)); j++) {
		const struct testbed_opts *o = asked ? &one : &opts[j];

		shuffled = j == 3;
		for (mode = RMC_SABRE_OVERLAPPED; mode <= RMC_SABRE_LOCKED; mode++)
			for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
				snprintf(where, sizeof(where), "%s, MTU %u, %s%s", o->ni, o->mtu,
					 mode_names[mode], shuffled ? ", shuffled" : "");
				snprintf(name, sizeof(name), "SABRe: %s (%s)", tests[i].name, where);
				reason = matrix_skips(o, false, tests[i].one_kernel);
				if (reason) {
					tap_skip(name, reason);
					continue;
				}
				tap_where = where;
				tests[i].fn(o, mode);
				tap_result(name);
			}
	}
	return matrix_done();
}
