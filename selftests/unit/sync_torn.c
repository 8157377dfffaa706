// SPDX-License-Identifier: GPL-2.0
/*
 * Which schemes of <rmc/sync.h> deliver mixtures of two states (R25 1, 4.2), in virtual time: one
 * node writes an object of another one and rests for a while, a third one reads it all the time.
 * The server loads the lines of a read in any order, and links have jitter, which reorders packets
 * unless the queue pair is ordered. The library is librmc as installed. Where a trial says so, the
 * object is a tuple of a switch before the server.
 *
 * Each row called broken, and each one used wrongly, has to be caught within MOST reads; the
 * others deliver no mixture in as many reads as asked for:
 *
 *	build/host/sync_torn [-s SEED] [READS [TRIAL...]]	only these of the others, by number
 */
#include <errno.h>
#include "switched.h"
#include <rmc/sync.h>

#define MOST	20000u		/* reads until a broken scheme has been caught */
#define SERVER	1
#define READER	0
#define WRITER	2
#define POOL	(SEG / 2)	/* copies of out-of-place rows */
#define ENTRIES	64
#define BUFFER	(256 * 1024)
/* operations of one side without an end: a latch that nobody releases */
#define STUCK	200000u
/* ends for each read that is accepted, at most */
#define REFUSED	200u
/* A writer reads within this time, and a reader behind a slow link does not */
#define WRITER_GRACE_US		8
#define SLOW_NS			30000
/* The writer rests for up to this long, so that reads are accepted at all */
#define REST_NS			20000u

static u32 reads = 5000;
static u32 seed;
static u64 only;		/* trials of rows that are right, by bit; 0: all */

/* The library's clock as well is that of the testbed. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	ts->tv_sec = (time_t)(testbed_now_ns / 1000000000);
	ts->tv_nsec = (long)(testbed_now_ns % 1000000000);
	return 0;
}

struct side {
	struct app a;
	struct rmc_mem *mem;
	u8 *buf;
	uint8_t slots[ENTRIES];
	struct rmc_qp qp;
	struct rmc_sync *sync;
	struct rmc_hold h;
	u64 version, rests_until;
	u32 n, ok, mixed, idle;		/* ends, accepted ones, mixtures; polls since the last end */
	bool begun, held, was_mixed, failed;
};

enum wrong {
	NOTHING,
	NO_ORDER,	/* queue pairs are said to be ordered, and are not */
	NO_GRACE,	/* the writer uses copies again at once, the reader relies on a time */
};

struct trial {
	const char *row;
	u32 flags;
	enum wrong wrong;
	bool sticks;	/* its fault is a latch that nobody releases, and no mixture */
	bool switched;	/* a switch has the tuple */
	u32 bytes;
};

static void side_init(struct side *x, struct setup *s, u32 nid, bool ordered)
{
	size_t operands = ENTRIES * sizeof(struct rmc_operands);

	memset(x, 0, sizeof(*x));
	x->buf = aligned_alloc(PAGE, BUFFER);
	memset(x->buf, 0, BUFFER);
	x->mem = mem_make(x->buf, BUFFER, 12, 0);
	(ordered ? app_init_ordered : app_init)(&x->a, &s->w, nid, CTX, ENTRIES);
	rmc_bufs_add(&x->a.bufs, x->mem);
	rmc_qp_init_raw(&x->qp, x->a.wq, x->a.cq, x->a.flags, x->slots,
			(struct rmc_operands *)(x->buf + BUFFER - operands), ENTRIES);
}

static void side_fini(struct side *x)
{
	app_fini(&x->a);
	mem_free(x->mem);
	free(x->buf);
}

static void side_open(struct side *x, const struct trial *t, u32 nid)
{
	struct rmc_sync_options o = {
		.scheme = rmc_sync_find(t->row), .max = t->bytes, .nid = (int)nid, .attempts = 1000000,
		.flags = t->flags | RMC_SYNC_TRUST_ORDER, .memory = x->buf, .buffers = 2,
		.pool = POOL, .pool_slots = 8, .pool_nid = SERVER, .grace_us = 300,
	};

	if (t->wrong == NO_GRACE) {
		o.pool_slots = 1;
		o.grace_us = nid == WRITER ? WRITER_GRACE_US : 600000000;
	}
	if (t->flags & RMC_SYNC_WRITE_UNLATCH && strcmp(o.scheme->latch, "excl"))
		o.latch = RMC_LATCH_EXCL;
	x->sync = rmc_sync_open(&x->qp, &o);
	CHECK(x->sync != NULL);
	x->h.len = t->bytes;
	if (nid == READER)
		rmc_scheme_init(rmc_sync_layout(&o), (struct rmc_object *)seg, t->bytes);
}

/* What is stored, in each word: versions differ in many bits */
static u64 value(u64 version)
{
	version *= 0x9e3779b97f4a7c15ULL;
	return version ^ version >> 29;
}

static bool is_mixed(const struct rmc_hold *h)
{
	const u64 *w = h->data;
	u32 i;

	for (i = 1; i < h->len / 8; i++)
		if (w[i] != w[0])
			return true;
	return false;
}

/* What has begun has ended: a call begins the next one. */
static void next_call(struct side *x, bool writes)
{
	enum rmc_sync_call call = writes ? RMC_SYNC_WRITE : RMC_SYNC_READ;
	u32 i;
	int err;

	if (x->held && writes) {
		x->version++;
		for (i = 0; i < x->h.len / 8; i++)
			((u64 *)x->h.data)[i] = value(x->version);
	}
	if (x->held)
		call = writes ? RMC_SYNC_COMMIT : RMC_SYNC_END;
	err = rmc_sync_start(x->sync, call, rmc_sync_addr(SERVER, 0), &x->h);
	/* no copy is old enough yet */
	if (err == -ENOSPC)
		return;
	CHECK_EQ(err, 0);
	x->failed |= err != 0;
	x->begun = true;
}

/* One visit of an application: whatever it waits for may have come. */
static void step(struct side *x, bool writes)
{
	struct rmc_hold *done;
	int err;

	if (!x->begun && testbed_now_ns >= x->rests_until)
		next_call(x, writes);
	err = rmc_sync_poll(x->sync, &done);
	CHECK(err >= 0);
	x->idle++;
	/* what nobody waits for has ended for its caller */
	if (err != 1 && !(x->begun && x->held && x->h.index < 0))
		return;
	x->begun = false;
	x->idle = 0;
	if (!x->held && !x->h.status) {
		x->held = true;
		x->was_mixed = is_mixed(&x->h);
		return;
	}
	if (x->held && !x->h.status) {
		x->ok++;
		x->mixed += x->was_mixed && !writes;
	}
	x->held = false;
	x->n++;
	if (writes)
		x->rests_until = testbed_now_ns + value(x->n) % REST_NS;
	/* readers that were never there: the count of a latch that was overwritten */
	x->failed |= x->h.status && x->h.status != RMC_SCHEME_TORN &&
		     x->h.status != RMC_SCHEME_LOCKED;
}

static void one_visit(struct setup *s)
{
	testbed_visit(&s->w);
	testbed_now_ns += 100;
}

/* An adapter that loads lines in any order; jitter of both links. A slow reader has more of it. */
static void disorder(struct setup *s, bool on, bool slow)
{
	static const struct rmc_fault jitter = { .delay_ns = 300, .jitter_ns = 900 };
	static const struct rmc_fault slow_jitter = { .delay_ns = 300, .jitter_ns = SLOW_NS };
	static const u32 from[] = { READER, WRITER };
	const struct rmc_rnic any = { .any_lines = on };
	u32 i;

	CHECK_EQ(rmc_channel_set_adapter(s->w.node[SERVER]->unit[0], &any, 16 * seed + 7), 0);
	for (i = 0; i < ARRAY_SIZE(from); i++) {
		if (on)
			fault_set(&s->w, from[i], SERVER, RMC_LANE_REQ,
				  slow && from[i] == READER ? &slow_jitter : &jitter,
				  16 * seed + 3 + i);
		else
			fault_clear(&s->w, from[i], SERVER, RMC_LANE_REQ);
	}
}

/* A switch that has the object, at the begin of the segment */
static void one_tuple(struct setup *s, const struct trial *t)
{
	const struct rmc_scheme *row = rmc_sync_find(t->row);
	struct rmc_node *node = server(s, 0);
	struct rmc_switch_range r = {
		.ctx_id = CTX, .stride = (u32)rmc_scheme_bytes(row, t->bytes),
		.bytes = (u32)row->image(t->bytes), .count = 1,
	};

	CHECK_EQ(rmc_switched_install(node, rmc_switch_create(node->fabric, node->ep, 1, 1, 0)), 0);
	CHECK_EQ(rmc_switch_check(node->fabric, &r), 0);
	r.slot = rmc_os_zalloc(sizeof(*r.slot));
	CHECK_EQ(rmc_switched_add(node, &r), 0);
	CHECK_EQ(rmc_switched_promote(node, CTX, 0, 1), 0);
}

/* All writes were those of a switch, which they unlatched. */
static void one_tuple_check(struct setup *s, const struct side *writer)
{
	const struct rmc_switch_stats *stats = &server(s, 0)->links.sw->stats;

	CHECK(stats->latches >= writer->ok && stats->unlatches + 1 >= stats->latches);
	CHECK_EQ(stats->psn_errors, 0);
}

/*
 * Reads until the first mixture, at most @most that are accepted; 0: none. Of a trial that sticks a
 * latch that is never free, or is used up, counts; of others it is a failure.
 */
static u32 race(const struct trial *t, u32 most)
{
	/* a tuple of a switch is one packet */
	u32 mtu = t->wrong == NO_ORDER ? 64 : t->switched ? 4096 : 512;
	struct testbed_opts o = { .nodes = 3, .mtu = mtu };
	static struct side x[2];
	bool stuck = false;
	struct setup s;
	u32 found = 0, i;

	setup(&s, &o);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	for (i = 0; i < 2; i++) {
		side_init(&x[i], &s, i ? WRITER : READER, t->wrong != NO_ORDER);
		side_open(&x[i], t, i ? WRITER : READER);
	}
	if (t->switched)
		one_tuple(&s, t);
	disorder(&s, true, t->wrong == NO_GRACE);
	while (x[0].ok < most && x[0].n < REFUSED * most && !found && !stuck) {
		step(&x[1], true);
		step(&x[0], false);
		one_visit(&s);
		stuck = x[0].failed || x[1].failed || x[0].idle > STUCK || x[1].idle > STUCK;
		if (x[0].mixed || (t->sticks && stuck))
			found = x[0].n + 1;
	}
	/* both sides were at it, and what was judged was accepted */
	CHECK(found || (!stuck && x[0].ok == most && x[1].ok > most / 50));
	disorder(&s, false, false);
	for (i = 0; i < 2000; i++)
		one_visit(&s);
	if (t->switched)
		one_tuple_check(&s, &x[1]);
	for (i = 0; i < 2; i++)
		side_fini(&x[i]);
	teardown(&s);
	return found;
}

static void test_broken(void)
{
	/* fast writers: the latch is held for a short time only */
	const u32 fast = RMC_SYNC_SPEC | RMC_SYNC_COMBINE;
	const struct trial broken[] = {
		{ "plain", fast }, { "unsync" }, { "naive", fast }, { "bookend", fast },
		{ "overlapped", fast }, { "mark-in-place", fast }, { "relaxed-versioning", fast },
		{ "broken-rw-write-unlatch", .sticks = true },
		{ "broken-spec", 0, NO_ORDER }, { "broken-combine", 0, NO_ORDER },
		{ "broken-write-unlatch", 0, NO_ORDER },
		{ "versioning", RMC_SYNC_SPEC | RMC_SYNC_WRITE_UNLATCH, NO_ORDER },
		{ "relaxed-out-of-place", 0, NO_GRACE },
		{ "broken-switch", .switched = true }, { "broken-switch" },
	};
	static const u32 sizes[] = { 256, 512, 2048 };
	struct trial t;
	u32 i, j, n;

	for (i = 0; i < ARRAY_SIZE(broken); i++)
		for (j = 0; j < ARRAY_SIZE(sizes); j++) {
			t = broken[i];
			t.bytes = sizes[j];
			n = race(&t, MOST);
			printf("# %-24s %4u B%s: caught in read %u\n", t.row, t.bytes,
			       t.switched ? " at a switch" : "", n);
			CHECK(n > 0);
		}
}

static void test_right(void)
{
	const u32 all = RMC_SYNC_SPEC | RMC_SYNC_COMBINE | RMC_SYNC_ASYNC;
	const u32 unlatch = RMC_SYNC_SPEC | RMC_SYNC_WRITE_UNLATCH;
	const struct trial right[] = {
		{ "rw" }, { "rw", all }, { "excl", unlatch | RMC_SYNC_ASYNC }, { "versioning" },
		{ "versioning", unlatch }, { "farm" }, { "farm", unlatch }, { "crc64" },
		{ "crc64", unlatch }, { "crc64-tables" }, { "relaxed-farm" }, { "relaxed-crc64" },
		{ "out-of-place" }, { "mark-out-of-place" }, { "relaxed-out-of-place" },
		/* at a switch, and not */
		{ "switch", .switched = true }, { "switch", RMC_SYNC_SPEC, .switched = true },
		{ "switch" }, { "switch", RMC_SYNC_SPEC | RMC_SYNC_ASYNC, .switched = true },
	};
	struct trial t;
	u32 i;

	CHECK(only < 1ULL << ARRAY_SIZE(right));
	for (i = 0; i < ARRAY_SIZE(right); i++) {
		if (only && !(only & 1ULL << i))
			continue;
		t = right[i];
		t.bytes = i % 2 ? 2048 : 512;
		tap_where = t.row;
		CHECK_EQ(race(&t, reads), 0);
		printf("# %2u %-24s %4u B%s: no mixture in %u reads\n", i, t.row, t.bytes,
		       t.switched ? " at a switch" : "", reads);
		fflush(stdout);
	}
	tap_where = NULL;
}

/* --- images that are read and checked without the library's programs --- */

#define CUT_BITS	8

/* An image of data that is @version everywhere; of crc64 its sum is behind the first words */
static void make_image(const struct rmc_scheme *row, u8 *image, u64 version, u32 bytes)
{
	static u64 data[2048 / 8];
	u32 i;

	for (i = 0; i < bytes / 8; i++)
		data[i] = value(version);
	CHECK_EQ(rmc_scheme_write(row, (struct rmc_object *)image, data, bytes, NULL), 0);
}

/* Does this check accept the image? cut: only the sum's lowest bits are compared. */
static bool accepts(const struct rmc_scheme *row, const u8 *image, u8 *clean, u32 bytes, bool cut)
{
	static u64 again[4096 / 8];
	const u8 *data = row->flags & RMC_SCHEME_CLEAN ? image + row->data_at : clean;

	if (!cut)
		return !row->check(image, clean, bytes);
	rmc_scheme_init(row, (struct rmc_object *)again, bytes);
	CHECK_EQ(rmc_scheme_write(row, (struct rmc_object *)again, data, bytes, NULL), 0);
	return !((again[2] ^ ((const u64 *)image)[2]) & ((1 << CUT_BITS) - 1));
}

/* A raw writer and reader at an offset; the number of the first read that is accepted, and mixed */
static u32 race_images(const char *name, u32 offset, u32 bytes, bool cut, u32 most)
{
	const struct rmc_scheme *row = rmc_sync_find(name);
	struct testbed_opts o = { .nodes = 3, .mtu = 512 };
	static struct side x[2];
	static u8 clean[4096];
	u32 slot, status, i, n, ok = 0, image, found = 0;
	struct rmc_hold h = { .len = bytes };
	struct setup s;

	setup(&s, &o);
	image = row->image(bytes);
	for (i = 0; i < 2; i++) {
		side_init(&x[i], &s, i ? WRITER : READER, true);
		rmc_scheme_init(row, (struct rmc_object *)x[i].buf, bytes);
	}
	disorder(&s, true, false);
	make_image(row, x[1].buf, 1, bytes);
	memcpy(seg + offset, x[1].buf, image);
	app_post(&x[1].a, RMC_OP_WRITE, SERVER, offset, x[1].buf, image);
	app_post(&x[0].a, RMC_OP_READ, SERVER, offset, x[0].buf, image);
	for (n = 0; ok < most && n < REFUSED * most && !found; ) {
		one_visit(&s);
		if (app_poll(&x[1].a, &slot, &status)) {
			make_image(row, x[1].buf, ++x[1].version + 1, bytes);
			app_post(&x[1].a, RMC_OP_WRITE, SERVER, offset, x[1].buf, image);
		}
		if (!app_poll(&x[0].a, &slot, &status))
			continue;
		n++;
		if (accepts(row, x[0].buf, clean, bytes, cut)) {
			h.data = row->flags & RMC_SCHEME_CLEAN ? x[0].buf + row->data_at : clean;
			found = is_mixed(&h) ? n : 0;
			ok++;
		}
		app_post(&x[0].a, RMC_OP_READ, SERVER, offset, x[0].buf, image);
	}
	CHECK(found || ok == most);
	disorder(&s, false, false);
	for (i = 0; i < 2000; i++)
		one_visit(&s);
	for (i = 0; i < 2; i++)
		side_fini(&x[i]);
	teardown(&s);
	return found;
}

static void test_images(void)
{
	/* of farm the last line is full: its end is in a line without a version, if misaligned */
	static const u32 sizes[] = { 48 + 4 * 62, 48 + 8 * 62, 48 + 32 * 62 };
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		n = race_images("farm", 8, sizes[i], false, MOST);
		printf("# farm, misaligned by 8   %4u B: caught in read %u\n", sizes[i], n);
		CHECK(n > 0);
		n = race_images("crc64", 0, sizes[i], true, MOST);
		printf("# crc64, %u bits of it     %4u B: caught in read %u\n", CUT_BITS, sizes[i], n);
		CHECK(n > 0);
		CHECK_EQ(race_images("farm", 0, sizes[i], false, reads), 0);
		CHECK_EQ(race_images("crc64", 0, sizes[i], false, reads), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		{ "each broken row is caught, and each one without what it needs", test_broken },
		{ "lines that are not lines, and a sum that is cut, are caught", test_images },
		{ "no other row delivers a mixture", test_right },
	};
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "-s")) {
		seed = (u32)strtoul(argv[2], NULL, 0);
		i = 3;
	}
	if (i < argc)
		reads = (u32)strtoul(argv[i++], NULL, 0);
	for (; i < argc; i++)
		only |= 1ULL << strtoul(argv[i], NULL, 0) % 64;
	/* the last test alone has trials with numbers */
	return only ? tap_run(tests + 2, 1) : tap_run(tests, ARRAY_SIZE(tests));
}
