// SPDX-License-Identifier: GPL-2.0
/*
 * The row "switch" of <rmc/sync.h>, and detached latches of rw, over the model of a switch: what
 * operations cost, tuples that move to the switch and back, holders that die, a switch that crashes,
 * requests and replies that are lost. The library is librmc as installed; its calls that wait move
 * the testbed.
 */
#include <errno.h>
#include "switched.h"
#include <rmc/error.h>
#include <rmc/sync.h>

#define SERVER	1
#define LEN	(BYTES - 8)	/* of the data of a tuple */
#define ENTRIES	64
#define BUFFER	(64 * 1024)
/* Where objects of rw are whose latches are the switch's words, and their distance */
#define OBJECTS	8192
#define STRIDE	128

struct side {
	struct rmc_qp qp;		/* first: wake() */
	struct app a;
	struct rmc_mem *mem;
	u8 *buf;
	uint8_t slots[ENTRIES];
	struct setup *s;
	struct rmc_sync *sync;
	struct rmc_sync_options o;
	struct rmc_hold h;
};

/* The library's clock as well is that of the testbed. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	ts->tv_sec = (time_t)(testbed_now_ns / 1000000000);
	ts->tv_nsec = (long)(testbed_now_ns % 1000000000);
	return 0;
}

/* Somebody waits: all units are visited, and in the end time goes on. */
static void wake(struct rmc_qp *qp)
{
	struct side *x = (struct side *)qp;
	u32 i;

	for (i = 0; i < 20; i++)
		testbed_visit(&x->s->w);
	testbed_tick(&x->s->w, 1);
	x->a.flags->need_wakeup = 1;
}

static void side_init(struct side *x, struct setup *s, u32 nid, const char *row, bool ordered)
{
	size_t operands = ENTRIES * sizeof(struct rmc_operands);

	memset(x, 0, sizeof(*x));
	x->s = s;
	x->buf = aligned_alloc(PAGE, BUFFER);
	memset(x->buf, 0, BUFFER);
	x->mem = mem_make(x->buf, BUFFER, 12, 0);
	(ordered ? app_init_ordered : app_init)(&x->a, &s->w, nid, CTX, ENTRIES);
	rmc_bufs_add(&x->a.bufs, x->mem);
	rmc_qp_init_raw(&x->qp, x->a.wq, x->a.cq, x->a.flags, x->slots,
			(struct rmc_operands *)(x->buf + BUFFER - operands), ENTRIES);
	x->qp.wake = wake;
	x->a.flags->need_wakeup = 1;
	x->o = (struct rmc_sync_options){
		.scheme = rmc_sync_find(row), .max = LEN, .nid = (int)nid, .attempts = 16,
		.flags = ordered ? RMC_SYNC_TRUST_ORDER : 0, .memory = x->buf, .buffers = 4,
	};
	x->h.len = LEN;
}

static void side_open(struct side *x)
{
	x->sync = rmc_sync_open(&x->qp, &x->o);
	CHECK(x->sync != NULL);
}

static void side_fini(struct side *x)
{
	rmc_sync_close(x->sync);
	app_fini(&x->a);
	mem_free(x->mem);
	free(x->buf);
}

/* Two users of different nodes, and a switch before the server */
static void pair(struct setup *s, struct side *x, const struct testbed_opts *o, const char *row)
{
	struct testbed_opts three = *o;

	three.nodes = 3;
	begin(s, &three);
	set_timeout(s, 20, 0);
	switch_on(s);
	side_init(&x[0], s, 0, row, true);
	side_init(&x[1], s, 2, row, true);
	side_open(&x[0]);
	side_open(&x[1]);
}

static void pair_fini(struct setup *s, struct side *x, bool off)
{
	side_fini(&x[0]);
	side_fini(&x[1]);
	check_quiet(s);
	CHECK_EQ(switch_stat(s, psn_errors), 0);
	if (off)
		switch_off(s);
	teardown(s);
}

static uint64_t tuple(u32 i)
{
	return rmc_sync_addr(SERVER, i * BYTES);
}

static int read_one(struct side *x, u64 addr)
{
	int err = rmc_sync_read(x->sync, addr, &x->h);

	return err ? err : rmc_sync_end(x->sync, &x->h);
}

static int write_one(struct side *x, u64 addr, int byte)
{
	int err = rmc_sync_write(x->sync, addr, &x->h);

	if (err)
		return err;
	memset(x->h.data, byte, LEN);
	err = rmc_sync_commit(x->sync, &x->h);
	return err ? err : rmc_sync_drain(x->sync);
}

static bool has(const void *data, int byte)
{
	const u8 *p = data;
	u32 i;

	for (i = 0; i < LEN; i++)
		if (p[i] != byte)
			return false;
	return true;
}

/* Messages, round trips and atomics since *from, which becomes now */
static bool cost(struct side *x, struct rmc_sync_stats *from, u32 messages, u32 trips, u32 atomics)
{
	struct rmc_sync_stats now;
	bool right;

	rmc_sync_stats(x->sync, &now);
	right = now.messages - from->messages == messages && now.atomics - from->atomics == atomics &&
		now.round_trips - from->round_trips == trips;
	if (!right)
		printf("# %llu messages, %llu round trips, %llu atomics\n",
		       (unsigned long long)(now.messages - from->messages),
		       (unsigned long long)(now.round_trips - from->round_trips),
		       (unsigned long long)(now.atomics - from->atomics));
	*from = now;
	return right;
}

static int demote(struct setup *s, u32 first, u32 count)
{
	struct rmc_node *node = server(s, 0);
	struct rmc_switch_memory m = rmc_switched_memory(node);

	return rmc_switch_demote(node->links.sw, CTX, first * BYTES, count, &done, &m);
}

/* What each operation costs with a switch is what rmc_sync_cost() says; without, what a cold one does. */
static void test_costs(const struct testbed_opts *o)
{
	struct rmc_sync_stats from = { };
	struct rmc_sync_cost c;
	static struct side x[2];
	struct setup s;
	u64 *word;

	pair(&s, x, o, "switch");
	word = word_of(3);
	CHECK_EQ(write_one(&x[0], tuple(3), 1), 0);
	rmc_sync_stats(x[0].sync, &from);
	CHECK_EQ(rmc_sync_cost(&x[0].o, 0, &c), 0);
	CHECK(c.messages == 2 && c.round_trips == 2 && !c.atomics);
	CHECK_EQ(read_one(&x[0], tuple(3)), 0);
	CHECK(cost(&x[0], &from, 2, 2, 0));
	CHECK_EQ(rmc_sync_cost(&x[0].o, 1, &c), 0);
	CHECK(c.messages == 3 && c.round_trips == 3 && c.atomics == 1);
	CHECK_EQ(write_one(&x[0], tuple(3), 2), 0);
	CHECK(cost(&x[0], &from, 3, 3, 1));
	CHECK(has(word + 1, 2) && (*word & RMC_SWITCH_SWITCHED) && !(*word & 1));
	/* a read that becomes a write: the latch validates it */
	CHECK_EQ(rmc_sync_read(x[0].sync, tuple(3), &x[0].h), 0);
	CHECK(has(x[0].h.data, 2));
	CHECK_EQ(rmc_sync_upgrade(x[0].sync, &x[0].h), 0);
	CHECK_EQ(rmc_sync_commit(x[0].sync, &x[0].h), 0);
	CHECK(cost(&x[0], &from, 3, 3, 1));
	/* a latch without a write is given free */
	CHECK_EQ(rmc_sync_write(x[0].sync, tuple(3), &x[0].h), 0);
	CHECK_EQ(rmc_sync_cancel(x[0].sync, &x[0].h), 0);
	CHECK(cost(&x[0], &from, 3, 3, 2));
	CHECK_EQ(switch_stat(&s, latches), 4);
	CHECK_EQ(switch_stat(&s, unlatches), 4);
	CHECK_EQ(switch_stat(&s, failed_reads), 3);
	/* cold: read twice; the write's release is an atomic of its own */
	CHECK_EQ(demote(&s, 3, 1), 0);
	CHECK(!(*word & RMC_SWITCH_SWITCHED));
	CHECK_EQ(read_one(&x[0], tuple(3)), 0);
	CHECK(cost(&x[0], &from, 3, 3, 0));
	CHECK_EQ(write_one(&x[0], tuple(3), 3), 0);
	CHECK(cost(&x[0], &from, 4, 4, 2));
	CHECK(has(word + 1, 3) && !(*word & RMC_SWITCH_SWITCHED) && !(*word & 1));
	CHECK_EQ(switch_stat(&s, latches), 4);
	CHECK_EQ(rmc_switched_promote(server(&s, 0), CTX, 3 * BYTES, 1), 0);
	pair_fini(&s, x, true);
}

#define LAST_VERSION	((1ULL << 43) - 4)	/* names need the bits above */

/* No version is left for a name: reads go on, writes are refused. */
static void test_limit(struct setup *s, struct side *x)
{
	CHECK_EQ(demote(s, 1, 1), 0);
	*word_of(1) = LAST_VERSION - 2;
	CHECK_EQ(write_one(x, tuple(1), 1), 0);
	CHECK_EQ(*word_of(1), LAST_VERSION);
	CHECK_EQ(rmc_sync_write(x->sync, tuple(1), &x->h), -EOVERFLOW);
	x->h.hint = LAST_VERSION - 4;
	CHECK_EQ(rmc_sync_write(x->sync, tuple(1), &x->h), -EOVERFLOW);
	CHECK_EQ(rmc_sync_read(x->sync, tuple(1), &x->h), 0);
	CHECK_EQ(rmc_sync_upgrade(x->sync, &x->h), -EOVERFLOW);
	CHECK_EQ(rmc_sync_end(x->sync, &x->h), 0);
	CHECK_EQ(rmc_switched_promote(server(s, 0), CTX, BYTES, 1), 0);
	CHECK_EQ(rmc_sync_write(x->sync, tuple(1), &x->h), -EOVERFLOW);
	CHECK_EQ(read_one(x, tuple(1)), 0);
}

/* Tuples move to the switch and back beside holds. */
static void test_moves(const struct testbed_opts *o)
{
	static struct side x[2];
	struct rmc_hold mine;
	struct setup s;

	pair(&s, x, o, "switch");
	CHECK_EQ(rmc_sync_read(x[0].sync, tuple(0), &x[0].h), 0);
	CHECK_EQ(demote(&s, 0, 1), 0);
	CHECK_EQ(rmc_sync_end(x[0].sync, &x[0].h), RMC_SCHEME_TORN);
	CHECK_EQ(read_one(&x[0], tuple(0)), 0);
	CHECK_EQ(rmc_sync_read(x[0].sync, tuple(0), &x[0].h), 0);
	CHECK_EQ(rmc_switched_promote(server(&s, 0), CTX, 0, 1), 0);
	CHECK_EQ(rmc_sync_upgrade(x[0].sync, &x[0].h), RMC_SCHEME_TORN);
	/* a hint of the other kind */
	CHECK_EQ(demote(&s, 0, 1), 0);
	CHECK_EQ(read_one(&x[0], tuple(0)), 0);
	CHECK_EQ(rmc_switched_promote(server(&s, 0), CTX, 0, 1), 0);
	CHECK_EQ(write_one(&x[0], tuple(0), 5), 0);
	CHECK_EQ(demote(&s, 0, 1), 0);
	CHECK_EQ(write_one(&x[0], tuple(0), 6), 0);
	/* what is latched moves nowhere, on either side */
	mine = (struct rmc_hold){ .len = LEN };
	CHECK_EQ(rmc_sync_write(x[0].sync, tuple(0), &mine), 0);
	CHECK_EQ(rmc_sync_holder(x[0].o.scheme, (struct rmc_object *)seg, LEN), 0);
	CHECK_EQ(rmc_switched_promote(server(&s, 0), CTX, 0, 1), -EBUSY);
	CHECK_EQ(rmc_sync_commit(x[0].sync, &mine), 0);
	CHECK_EQ(rmc_switched_promote(server(&s, 0), CTX, 0, 1), 0);
	CHECK_EQ(rmc_sync_write(x[0].sync, tuple(0), &mine), 0);
	CHECK_EQ(demote(&s, 0, 1), -EBUSY);
	/* others do not get it, nor what is written */
	CHECK_EQ(rmc_sync_write(x[1].sync, tuple(0), &x[1].h), RMC_SCHEME_LOCKED);
	CHECK_EQ(x[1].h.tries, 16);
	CHECK_EQ(rmc_sync_read(x[1].sync, tuple(0), &x[1].h), RMC_SCHEME_TORN);
	CHECK_EQ(x[1].h.tries, 16);
	CHECK_EQ(rmc_sync_commit(x[0].sync, &mine), 0);
	CHECK_EQ(write_one(&x[1], tuple(0), 7), 0);
	CHECK_EQ(read_one(&x[0], tuple(0)), 0);
	CHECK(has(word_of(0) + 1, 7));
	test_limit(&s, &x[0]);
	/* the owner's CPU knows no versions */
	CHECK_EQ(rmc_scheme_write(x[0].o.scheme, (struct rmc_object *)seg, lbuf, LEN, NULL),
		 -EOPNOTSUPP);
	CHECK_EQ(rmc_scheme_read(x[0].o.scheme, (struct rmc_object *)seg, lbuf, LEN), -EOPNOTSUPP);
	pair_fini(&s, x, true);
}

static void all_end(struct side *x, const struct rmc_hold *h, u32 n)
{
	struct rmc_hold *end;
	u32 i;

	for (i = 0; i < n; i += rmc_sync_poll(x->sync, &end))
		wake(&x->qp);
	for (i = 0; i < n; i++)
		CHECK_EQ(h[i].status, 0);
}

/*
 * Several holds, of an owner that takes its time for each line: a switch lets a client use one tuple
 * at a time, so nothing of that is refused.
 */
static void test_several(const struct testbed_opts *o)
{
	static const struct rmc_rnic steps = { .any_lines = 1, .gap_ns = 100 }, none = { };
	const u32 bytes = o->mtu < 256 ? BYTES : 256, at = o->mtu < 256 ? 0 : 4 * PAGE;
	static struct side x[2];
	struct rmc_hold h[4];
	struct setup s;
	u32 i, round;

	pair(&s, x, o, "switch");
	rmc_sync_close(x[0].sync);
	x[0].o.max = bytes - 8;
	x[0].o.flags |= o->mtu < 256 ? RMC_SYNC_SPEC : 0;
	side_open(&x[0]);
	if (at)
		add_range(server(&s, 0), at, bytes, 4, false);
	CHECK_EQ(rmc_channel_set_adapter(server(&s, 0), &steps, 7), 0);
	for (round = 0; round < 6; round++) {
		bool writes = round % 3 == 1;

		for (i = 0; i < 4; i++) {
			h[i] = (struct rmc_hold){ .len = bytes - 8 };
			CHECK_EQ(rmc_sync_start(x[0].sync, writes ? RMC_SYNC_WRITE : RMC_SYNC_READ,
						rmc_sync_addr(SERVER, at + i * bytes), &h[i]), 0);
		}
		all_end(&x[0], h, 4);
		for (i = 0; i < 4; i++)
			CHECK_EQ(rmc_sync_start(x[0].sync, writes ? RMC_SYNC_COMMIT : RMC_SYNC_END, 0,
						&h[i]), 0);
		all_end(&x[0], h, 4);
	}
	CHECK_EQ(switch_stat(&s, refused), 0);
	CHECK_EQ(rmc_channel_set_adapter(server(&s, 0), &none, 7), 0);
	pair_fini(&s, x, !at);
}

static void crash(struct setup *s)
{
	u32 i;

	for (i = 0; i < s->w.opts.rrpps; i++)
		rmc_switch_crash(server(s, i)->links.sw);
}

static void recover(struct setup *s)
{
	u32 i;

	for (i = 0; i < s->w.opts.rrpps; i++) {
		struct rmc_switch_memory m = rmc_switched_memory(server(s, i));

		CHECK_EQ(rmc_switch_recover(server(s, i)->links.sw, &m), 0);
	}
}

/* A crash: latches are forgotten, which their holders are told, and nothing is half written. */
static void test_crash(const struct testbed_opts *o)
{
	struct rmc_sync_stats stats;
	struct rmc_hold reads = { .len = LEN }, given = { .len = LEN };
	static struct side x[2];
	struct setup s;

	pair(&s, x, o, "switch");
	CHECK_EQ(write_one(&x[0], tuple(1), 1), 0);
	CHECK_EQ(rmc_sync_write(x[0].sync, tuple(1), &x[0].h), 0);
	CHECK_EQ(rmc_sync_write(x[0].sync, tuple(2), &given), 0);
	CHECK_EQ(rmc_sync_read(x[0].sync, tuple(3), &reads), 0);
	crash(&s);
	/* until it has recovered, a bounded number of attempts */
	CHECK_EQ(rmc_sync_read(x[1].sync, tuple(1), &x[1].h), RMC_S_BUSY);
	CHECK_EQ(x[1].h.tries, 16);
	CHECK_EQ(rmc_sync_write(x[1].sync, tuple(1), &x[1].h), RMC_S_BUSY);
	recover(&s);
	CHECK_EQ(write_one(&x[1], tuple(1), 2), 0);
	memset(x[0].h.data, 3, LEN);
	CHECK_EQ(rmc_sync_commit(x[0].sync, &x[0].h), RMC_SCHEME_TORN);
	CHECK_EQ(rmc_sync_cancel(x[0].sync, &given), RMC_SCHEME_TORN);
	CHECK_EQ(rmc_sync_end(x[0].sync, &reads), RMC_SCHEME_TORN);
	CHECK(has(word_of(1) + 1, 2));
	rmc_sync_stats(x[0].sync, &stats);
	CHECK(!stats.damaged && !stats.quarantined && !stats.unlocks_lost);
	CHECK_EQ(write_one(&x[0], tuple(1), 4), 0);
	CHECK_EQ(read_one(&x[1], tuple(1)), 0);
	pair_fini(&s, x, true);
}

static u32 unlatch(struct setup *s, u32 nid)
{
	struct rmc_switch_unlatch u = { .nid = nid, .connected = true };
	u32 i;

	for (i = 0; i < s->w.opts.rrpps; i++)
		CHECK_EQ(rmc_switched_unlatch(server(s, i), &u, 0), 0);
	return u.freed;
}

/* A holder dies: what its switch has is whole, and what it has not is taken over by its name. */
static void test_death(const struct testbed_opts *o)
{
	struct rmc_hold dead = { .len = LEN }, cold = { .len = LEN };
	static struct side x[2];
	struct setup s;

	pair(&s, x, o, "switch");
	CHECK_EQ(demote(&s, 5, 1), 0);
	CHECK_EQ(write_one(&x[1], tuple(4), 1), 0);
	CHECK_EQ(write_one(&x[1], tuple(5), 1), 0);
	CHECK_EQ(rmc_sync_take_over(x[0].sync, tuple(4), 2, &x[0].h), -ENOENT);
	CHECK_EQ(rmc_sync_write(x[1].sync, tuple(4), &dead), 0);
	CHECK_EQ(rmc_sync_write(x[1].sync, tuple(5), &cold), 0);
	/* node 2 is dead, or taken for it */
	CHECK_EQ(rmc_sync_take_over(x[0].sync, tuple(4), 2, &x[0].h), -EOPNOTSUPP);
	CHECK(strstr(rmc_errmsg(), "rmcctl switch unlatch"));
	CHECK_EQ(unlatch(&s, 2), 1);
	CHECK_EQ(rmc_sync_take_over(x[0].sync, tuple(4), 2, &x[0].h), -ENOENT);
	CHECK_EQ(read_one(&x[0], tuple(4)), 0);
	CHECK(has(word_of(4) + 1, 1));
	CHECK_EQ(write_one(&x[0], tuple(4), 2), 0);
	CHECK_EQ(rmc_sync_holder(x[0].o.scheme, (struct rmc_object *)word_of(5), LEN), 2);
	CHECK_EQ(rmc_sync_take_over(x[0].sync, tuple(5), 0, &x[0].h), -ENOENT);
	CHECK_EQ(rmc_sync_take_over(x[0].sync, tuple(5), 2, &x[0].h), 0);
	CHECK(x[0].h.torn);
	memset(x[0].h.data, 3, LEN);
	CHECK_EQ(rmc_sync_commit(x[0].sync, &x[0].h), 0);
	CHECK_EQ(read_one(&x[0], tuple(5)), 0);
	CHECK(has(word_of(5) + 1, 3));
	/* it lives, and is told; at the switch it has stored nothing */
	memset(dead.data, 9, LEN);
	CHECK_EQ(rmc_sync_commit(x[1].sync, &dead), RMC_SCHEME_TORN);
	CHECK_EQ(rmc_sync_cancel(x[1].sync, &cold), RMC_SCHEME_TORN);
	CHECK(has(word_of(4) + 1, 2));
	CHECK_EQ(rmc_switched_promote(server(&s, 0), CTX, 5 * BYTES, 1), 0);
	CHECK_EQ(read_one(&x[1], tuple(5)), 0);
	pair_fini(&s, x, true);
}

/* One more in the data, as often as it succeeds; "lost": outcomes that nobody knows */
static void count_up(struct side *x, u64 addr, u32 *ok, u32 *lost)
{
	int err = rmc_sync_write(x->sync, addr, &x->h);

	if (err) {
		CHECK(err == RMC_S_TIMEOUT || err == RMC_SCHEME_LOCKED || err == RMC_S_BUSY);
		return;
	}
	++*(u64 *)x->h.data;
	err = rmc_sync_commit(x->sync, &x->h);
	*ok += !err;
	*lost += err == RMC_S_TIMEOUT;
	CHECK(!err || err == RMC_S_TIMEOUT);
}

/* Requests and replies are lost: no update is, and no latch stays. */
static void test_lost(const struct testbed_opts *o)
{
	struct rmc_fault fault = { .loss = 150000 };
	u32 ok = 0, lost = 0, i, lane;
	struct rmc_sync_stats stats;
	static struct side x[2];
	struct setup s;
	u64 unknown = 0;

	pair(&s, x, o, "switch");
	for (i = 0; i < 2; i++) {
		rmc_sync_close(x[i].sync);
		app_fini(&x[i].a);
		mem_free(x[i].mem);
		free(x[i].buf);
		/* without order: a client without a group */
		side_init(&x[i], &s, 2 * i, "switch", o->mtu % 512);
		side_open(&x[i]);
		for (lane = 0; lane < 2; lane++)
			fault_set(&s.w, lane ? SERVER : 2 * i, lane ? 2 * i : SERVER,
				  lane ? RMC_LANE_REP : RMC_LANE_REQ, &fault, 7 + 2 * i + lane);
	}
	CHECK_EQ(demote(&s, 6, 1), 0);
	for (i = 0; i < 300; i++)
		count_up(&x[i % 2], tuple(6 + i % 3 % 2), &ok, &lost);
	for (i = 0; i < 2; i++)
		for (lane = 0; lane < 2; lane++)
			fault_clear(&s.w, lane ? SERVER : 2 * i, lane ? 2 * i : SERVER,
				    lane ? RMC_LANE_REP : RMC_LANE_REQ);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(rmc_sync_drain(x[i].sync), 0);
		rmc_sync_stats(x[i].sync, &stats);
		unknown += stats.unknown;
		CHECK(!stats.damaged && !stats.quarantined && !stats.unlocks_lost);
		count_up(&x[i], tuple(6), &ok, &lost);
		count_up(&x[i], tuple(7), &ok, &lost);
	}
	CHECK(ok > 250 && unknown > 50);
	CHECK(word_of(6)[1] + word_of(7)[1] >= ok && word_of(6)[1] + word_of(7)[1] <= ok + lost);
	CHECK_EQ(rmc_switched_promote(server(&s, 0), CTX, 6 * BYTES, 1), 0);
	pair_fini(&s, x, true);
}

static int wait_for(struct side *x)
{
	struct rmc_hold *end;
	u32 i;

	for (i = 0; i < 200; i++) {
		if (rmc_sync_poll(x->sync, &end))
			return end->status;
		wake(&x->qp);
	}
	return -ETIMEDOUT;
}

/* A commit of @byte whose reply is lost, which is not known yet */
static void commit_unheard(struct side *x, int byte)
{
	static const struct rmc_fault all = { .loss = RMC_ALWAYS };
	u32 i;

	CHECK_EQ(rmc_sync_write(x->sync, tuple(0), &x->h), 0);
	memset(x->h.data, byte, LEN);
	fault_set(&x->s->w, SERVER, 0, RMC_LANE_REP, &all, 9);
	CHECK_EQ(rmc_sync_start(x->sync, RMC_SYNC_COMMIT, 0, &x->h), 0);
	for (i = 0; i < 4; i++)
		wake(&x->qp);
	CHECK(has(word_of(0) + 1, byte));
	fault_clear(&x->s->w, SERVER, 0, RMC_LANE_REP);
}

/* The latch of a tuple becomes another client's. */
static void give_away(struct setup *s, u32 tuple)
{
	struct rmc_switch *sw = server(s, 0)->links.sw;
	u32 i;

	for (i = 0; i < sw->registers; i++)
		if (sw->owner[i] >> 32 == 1 && (u32)sw->owner[i] == tuple && sw->tuple[i].holder)
			sw->tuple[i].holder++;
}

/*
 * If somebody has written before a lost reply is known, nobody knows whether the first write was done.
 * What the refusal of another operation aborts is not refused itself.
 */
static void test_refused(const struct testbed_opts *o)
{
	struct rmc_hold cancelled = { .len = LEN }, *end;
	struct rmc_sync_stats stats;
	static struct side x[2];
	struct setup s;
	u64 latches;

	pair(&s, x, o, "switch");
	commit_unheard(&x[0], 1);
	CHECK_EQ(write_one(&x[1], tuple(0), 2), 0);
	CHECK_EQ(wait_for(&x[0]), RMC_S_TIMEOUT);
	rmc_sync_stats(x[0].sync, &stats);
	CHECK(stats.damaged == 1 && !stats.quarantined);
	CHECK(has(word_of(0) + 1, 2));
	/* nobody has: it is answered again */
	commit_unheard(&x[0], 3);
	CHECK_EQ(wait_for(&x[0]), 0);
	CHECK_EQ(read_one(&x[1], tuple(0)), 0);
	/* a latch is given free before its tuple is read under it: the program begins again */
	latches = switch_stat(&s, latches);
	CHECK_EQ(rmc_sync_start(x[0].sync, RMC_SYNC_WRITE, tuple(0), &x[0].h), 0);
	while (switch_stat(&s, latches) == latches) {
		CHECK_EQ(rmc_sync_poll(x[0].sync, &end), 0);
		testbed_visit(&s.w);
	}
	CHECK_EQ(unlatch(&s, 0), 1);
	CHECK_EQ(wait_for(&x[0]), 0);
	CHECK_EQ(x[0].h.tries, 2);
	CHECK_EQ(rmc_sync_commit(x[0].sync, &x[0].h), 0);
	/* a release that is refused, in front of a write */
	CHECK_EQ(rmc_sync_write(x[0].sync, tuple(1), &cancelled), 0);
	CHECK_EQ(rmc_sync_write(x[0].sync, tuple(2), &x[0].h), 0);
	memset(x[0].h.data, 4, LEN);
	give_away(&s, 1);
	CHECK_EQ(rmc_sync_start(x[0].sync, RMC_SYNC_CANCEL, 0, &cancelled), 0);
	CHECK_EQ(rmc_sync_start(x[0].sync, RMC_SYNC_COMMIT, 0, &x[0].h), 0);
	wait_for(&x[0]);
	wait_for(&x[0]);
	CHECK_EQ(x[0].h.status, 0);
	CHECK(has(word_of(2) + 1, 4));
	rmc_sync_stats(x[0].sync, &stats);
	CHECK_EQ(stats.unlocks_lost, 1);
	CHECK_EQ(unlatch(&s, 0), 1);
	CHECK_EQ(write_one(&x[1], tuple(1), 5), 0);
	/* it was done, and the tuple has been demoted and written since: memory must not get it again */
	commit_unheard(&x[0], 6);
	CHECK_EQ(demote(&s, 0, 1), 0);
	CHECK_EQ(write_one(&x[1], tuple(0), 7), 0);
	CHECK_EQ(wait_for(&x[0]), RMC_S_TIMEOUT);
	CHECK(has(word_of(0) + 1, 7) && !(*word_of(0) & RMC_SWITCH_LATCHED));
	rmc_sync_stats(x[0].sync, &stats);
	CHECK(stats.damaged == 2 && !stats.quarantined);
	pair_fini(&s, x, true);
}

/* The same where the RMC itself repeats what has no reply: not a write that unlatches. */
static void test_repeated(const struct testbed_opts *o)
{
	struct rmc_sync_stats stats;
	static struct side x[2];
	struct setup s;

	pair(&s, x, o, "switch");
	side_fini(&x[0]);
	side_init(&x[0], &s, 0, "switch", false);
	side_open(&x[0]);
	set_timeout(&s, 20, 20);
	commit_unheard(&x[0], 6);
	CHECK_EQ(demote(&s, 0, 1), 0);
	CHECK_EQ(write_one(&x[1], tuple(0), 7), 0);
	CHECK_EQ(wait_for(&x[0]), RMC_S_TIMEOUT);
	CHECK(has(word_of(0) + 1, 7) && !(*word_of(0) & RMC_SWITCH_LATCHED));
	rmc_sync_stats(x[0].sync, &stats);
	CHECK(stats.damaged == 1 && !stats.quarantined);
	pair_fini(&s, x, true);
}

/* R25 5.4: latches of rw are words of the switch, and memory never sees them. */
static void test_words(const struct testbed_opts *o)
{
	struct rmc_hold held = { .len = LEN };
	u64 a = rmc_sync_addr(SERVER, OBJECTS), b = a + STRIDE, word;
	static struct side x[2];
	u32 i, ok = 0, lost = 0;
	struct setup s;

	pair(&s, x, o, "rw");
	for (i = 0; i < 2; i++) {
		rmc_sync_close(x[i].sync);
		x[i].o.latch = RMC_LATCH_DETACHED;
		x[i].o.latches = WORDS;
		x[i].o.base = OBJECTS;
		x[i].o.stride = STRIDE;
		x[i].o.objects = WORD_COUNT;
		side_open(&x[i]);
	}
	for (i = 0; i < 20; i++)
		count_up(&x[i % 2], i % 3 ? a : b, &ok, &lost);
	CHECK_EQ(ok, 20);
	CHECK_EQ(read_one(&x[0], a), 0);
	/* readers share, writers exclude */
	CHECK_EQ(rmc_sync_read(x[0].sync, a, &held), 0);
	CHECK_EQ(read_one(&x[1], a), 0);
	CHECK_EQ(rmc_sync_write(x[1].sync, a, &x[1].h), RMC_SCHEME_LOCKED);
	CHECK_EQ(rmc_sync_upgrade(x[0].sync, &held), 0);
	CHECK_EQ(rmc_sync_read(x[1].sync, a, &x[1].h), RMC_SCHEME_LOCKED);
	CHECK_EQ(read_word(&s, WORDS, &word), RMC_S_OK);
	CHECK((word >> 20 & 0x7ff) == 1 && !*(u64 *)(seg + WORDS));
	/* its holder is taken for dead */
	CHECK_EQ(rmc_sync_take_over(x[1].sync, a, 0, &x[1].h), 0);
	CHECK_EQ(rmc_sync_commit(x[1].sync, &x[1].h), 0);
	CHECK_EQ(rmc_sync_cancel(x[0].sync, &held), RMC_SCHEME_TORN);
	/* a crash forgets them: whoever had one is told when it releases it */
	CHECK_EQ(rmc_sync_write(x[0].sync, b, &held), 0);
	crash(&s);
	CHECK_EQ(rmc_sync_read(x[1].sync, a, &x[1].h), RMC_S_BUSY);
	recover(&s);
	CHECK_EQ(rmc_sync_cancel(x[0].sync, &held), RMC_SCHEME_TORN);
	CHECK_EQ(read_word(&s, WORDS + 8, &word), RMC_S_OK);
	CHECK_EQ(word, 0);
	count_up(&x[1], b, &ok, &lost);
	CHECK_EQ(ok, 21);
	CHECK_EQ(*(u64 *)(seg + OBJECTS + 16) + *(u64 *)(seg + OBJECTS + STRIDE + 16), 21);
	pair_fini(&s, x, true);
}

static const struct testbed_opts opts[] = {
	{ .nodes = 3, .ni = "fused", .units = 1, .mtu = 64 },
	{ .nodes = 3, .ni = "pair", .units = 1, .mtu = 512 },
};

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "rows over a switch: messages, round trips and atomics", test_costs },
		{ "rows over a switch: tuples move to it and back", test_moves },
		{ "rows over a switch: several holds", test_several },
		{ "rows over a switch: it crashes", test_crash },
		{ "rows over a switch: a holder dies", test_death },
		{ "rows over a switch: no update is lost", test_lost },
		{ "rows over a switch: refusals, and what they abort", test_refused },
		{ "rows over a switch: what the RMC repeats", test_repeated },
		{ "rows over a switch: latches are its words", test_words },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
