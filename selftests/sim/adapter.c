// SPDX-License-Identifier: GPL-2.0
/*
 * The model of a network adapter in virtual time, with the profile of R25's ConnectX-5: the
 * throughput of atomics by workers and stride (figures 4 and 5), and latches that its buffer of
 * atomics breaks (R25 3.3). What a profile was fitted to is no prediction; the prints say which is.
 */
#include <stdlib.h>
#include <string.h>
#include <rmc/rmc.h>
#include "../tap.h"
#include "adapter.h"
#include "rmc_sim.h"

#define SERVER		0
#define CLIENTS		4
#define SEG		(4 << 20)
#define ONE_WAY_NS	1000

static char *seg, *lbuf;

static void serve(void *arg)
{
	struct rmc_ctx *c = rmc_open(0, -1);

	(void)arg;
	CHECK(c && !rmc_seg_register(c, seg, SEG, 0));
}

static struct rmc_qp *begin(void)
{
	struct rmc_ctx *c = rmc_open(0, -1);
	struct rmc_qp *qp = c ? rmc_qp_create(c, 8) : NULL;

	CHECK(qp && rmc_buf_register(c, lbuf, SEG) >= 0);
	/* the first operation opens the channel */
	rmc_sim_sleep_until(10000);
	CHECK_EQ(rmc_read(qp, SERVER, 0, lbuf, 8), 0);
	return qp;
}

static struct rmc_sim_options options(const char *profile)
{
	const struct rmc_adapter *a = rmc_adapter_find(profile);
	struct rmc_sim_options o = {
		.nodes = 1 + CLIENTS, .topology = 1, .hop_ns = ONE_WAY_NS, .one_way = 1, .seed = 9,
	};

	CHECK(a);
	o.adapter = (struct rmc_sim_adapter){
		.msg_ps = a->msg_ps, .mbps = a->mbps, .cas_ns = a->cas_ns, .faa_ns = a->faa_ns,
		.buffer_ns = a->buffer_ns, .qp_cache = a->qp_cache, .qp_miss_ns = a->qp_miss_ns,
	};
	return o;
}

static void simulate(const struct rmc_sim_options *o, void (*fn)(void *), void *arg, int workers)
{
	int i;

	memset(seg, 0, SEG);
	CHECK_EQ(rmc_sim_init(o), 0);
	rmc_sim_spawn(SERVER, serve, NULL);
	for (i = 0; i < workers; i++)
		rmc_sim_spawn(1 + (uint32_t)i % CLIENTS, fn, arg);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_fini();
}

/* ---- throughput ---- */

enum kind { CAS, FAA, READ };

struct load {
	enum kind kind;
	int stride;		/* between the words of two workers; 0: all use one */
	int ops;		/* of each worker */
	/* out */
	int workers;
	uint64_t first, last;
};

static void work(void *arg)
{
	struct load *l = arg;
	uint64_t at = (uint64_t)(l->workers++ * l->stride), old = 1;
	struct rmc_qp *qp = begin();
	int i;

	rmc_sim_sleep_until(100000);
	l->first = rmc_sim_now();
	for (i = 0; i < l->ops; i++) {
		if (l->kind == CAS)
			CHECK_EQ(rmc_cas(qp, SERVER, at, 1, 1, &old), 0);
		else if (l->kind == FAA)
			CHECK_EQ(rmc_faa(qp, SERVER, at, 1, &old), 0);
		else
			CHECK_EQ(rmc_read(qp, SERVER, at, lbuf, 8), 0);
	}
	if (rmc_sim_now() > l->last)
		l->last = rmc_sim_now();
}

/* Million operations per second */
static double rate(const struct rmc_sim_options *o, struct load l, int workers)
{
	simulate(o, work, &l, workers);
	return 1e3 * workers * l.ops / (double)(l.last - l.first);
}

static void show(const char *what, int workers, double got, const char *published)
{
	printf("# cx5: %-22s %4d workers: %6.2f M/s; R25: %s\n", what, workers, got, published);
}

static int near(double got, double want, double part)
{
	return got > want * (1 - part) && got < want * (1 + part);
}

static void test_contended(void)
{
	static const int workers[] = { 1, 8, 32, 128 };
	struct rmc_sim_options o = options("cx5");
	unsigned int i;
	double got;

	for (i = 0; i < sizeof(workers) / sizeof(*workers); i++) {
		got = rate(&o, (struct load){ .kind = CAS, .ops = 4000 / workers[i] + 20 },
			   workers[i]);
		show("one word (fitted)", workers[i], got, "2.32 M/s from 8 workers on");
		/* one at a time: the way there and back, the adapter, the lock */
		CHECK(near(got, i ? 2.32 : 1e3 / (2 * ONE_WAY_NS + 431 + 19.5), 0.02));
	}
	tap_result("atomics of one word: the lock table's rate, whatever the workers from 8 on");
}

static void test_strides(void)
{
	static const struct {
		int stride, workers;
		double most, part;
		const char *published;
	} rows[] = {
		{ 64, 128, 51.2, 0.03, "50 M/s" },
		{ 256, 128, 40, 0.15, "40 M/s" },
		{ 512, 64, 20, 0.15, "20 M/s" },
		{ 4096, 128, 2.32, 0.02, "as one word" },
		{ 4096 + 64, 128, 51.2, 0.03, "as a stride of 64 B" },
	};
	struct rmc_sim_options o = options("cx5");
	unsigned int i;
	char what[32];
	double got;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		got = rate(&o, (struct load){ .kind = CAS, .stride = rows[i].stride, .ops = 80 },
			   rows[i].workers);
		snprintf(what, sizeof(what), "stride %d B", rows[i].stride);
		show(what, rows[i].workers, got, rows[i].published);
		CHECK(near(got, rows[i].most, rows[i].part));
	}
	got = rate(&o, (struct load){ .kind = READ, .stride = 64, .ops = 80 }, 128);
	show("reads (fitted)", 128, got, "51.2 M/s");
	CHECK(near(got, 51.2, 0.03));
	tap_result("words of their own: by stride, and padded");
}

/* Queue pairs that do not fit the requesters' adapters */
static void test_qp_cache(void)
{
	struct rmc_sim_options o = options("cx5");
	double few, many;

	few = rate(&o, (struct load){ .kind = CAS, .stride = 4096 + 64, .ops = 40 }, 256);
	many = rate(&o, (struct load){ .kind = CAS, .stride = 4096 + 64, .ops = 40 }, 512);
	show("padded", 256, few, "about 51 M/s");
	show("padded (assumed)", 512, many, "a drop");
	CHECK(near(few, 51.2, 0.03));
	CHECK(many < 0.9 * few);
	o.adapter.qp_cache = 0;
	many = rate(&o, (struct load){ .kind = CAS, .stride = 4096 + 64, .ops = 40 }, 512);
	CHECK(near(many, few, 0.03));
	tap_result("more queue pairs than a requester's adapter holds: less");
}

/* ---- latches ---- */

#define LATCHED		(1ULL << 60)
#define STUCK		3000	/* attempts in which nobody has the latch */

enum latch {
	EXCLUSIVE,		/* CAS to latch, a write to unlatch */
	OBSERVED,		/* the same, and others look by fetch-and-add of 0 */
	READERS,		/* the same, and readers count by fetch-and-add */
};

static struct {
	enum latch kind;
	int ops;		/* of each worker */
	int workers;
	int holder;		/* 0: none */
	int idle;		/* failed attempts since somebody had it */
	int stuck;
	long done;
} latch;

static void write_latched(struct rmc_qp *qp, int me)
{
	uint64_t old = 1;

	CHECK_EQ(rmc_cas(qp, SERVER, 0, 0, LATCHED + (uint64_t)me, &old), 0);
	if (old) {
		latch.idle++;
		latch.stuck |= !latch.holder && latch.idle > STUCK;
		return;
	}
	CHECK_EQ(latch.holder, 0);
	latch.holder = me;
	latch.idle = 0;
	CHECK_EQ(rmc_read(qp, SERVER, 64, lbuf, 64), 0);
	CHECK_EQ(latch.holder, me);
	/* the server has it before the writer knows */
	latch.holder = 0;
	memset(lbuf + 64 * me, 0, 8);
	CHECK_EQ(rmc_write(qp, SERVER, 0, lbuf + 64 * me, 8), 0);
	latch.done++;
}

static void latches(void *arg)
{
	int me = ++latch.workers, i;
	struct rmc_qp *qp = begin();
	int writes = latch.kind == EXCLUSIVE || me % 2;
	uint64_t old = 1;

	(void)arg;
	for (i = 0; i < latch.ops && !latch.stuck; i++) {
		if (writes) {
			write_latched(qp, me);
		} else if (latch.kind == OBSERVED) {
			CHECK_EQ(rmc_faa(qp, SERVER, 0, 0, &old), 0);
		} else {
			CHECK_EQ(rmc_faa(qp, SERVER, 0, 1, &old), 0);
			CHECK_EQ(rmc_faa(qp, SERVER, 0, (uint64_t)-1, &old), 0);
		}
	}
}

/* True if it was stuck in the end */
static int run_latch(enum latch kind, uint32_t buffer_ns, int ops)
{
	struct rmc_sim_options o = options("cx5");

	o.adapter.buffer_ns = buffer_ns;
	o.jitter_ns = 300;
	memset(&latch, 0, sizeof(latch));
	latch.kind = kind;
	latch.ops = ops;
	simulate(&o, latches, NULL, 8);
	printf("# %s, buffer %u ns: %ld times latched%s\n", kind == EXCLUSIVE ? "exclusive" :
	       kind == OBSERVED ? "observed by fetch-and-add" : "readers and writers", buffer_ns,
	       latch.done, latch.stuck ? ", then it stays latched" : "");
	CHECK(latch.done > 0);
	return latch.stuck;
}

static void test_latches(void)
{
	CHECK(!run_latch(EXCLUSIVE, 0, 2000));
	CHECK(!run_latch(EXCLUSIVE, 5000, 12000));
	tap_result("latch by CAS, unlatch by a write: works, also with a buffer of atomics");
	CHECK(!run_latch(OBSERVED, 0, 4000));
	CHECK(run_latch(OBSERVED, 5000, 100000));
	tap_result("fetch-and-add beside it: only with a buffer the unlatch is lost");
	CHECK(run_latch(READERS, 5000, 100000));
	tap_result("so a latch of readers and writers must not be unlatched by a write");
}

/* ---- lines in any order ---- */

static struct {
	int ops, writers, readers_left;
	int torn;
} race;

static void read_or_write(void *arg)
{
	struct rmc_qp *qp = begin();
	uint64_t *own = (uint64_t *)(void *)(lbuf + 65536 * rmc_sim_nid());
	int i, k;

	(void)arg;
	if (race.writers++) {
		for (i = 0; i < race.ops; i++) {
			CHECK_EQ(rmc_read(qp, SERVER, 4096, own, 512), 0);
			for (k = 0; k < 64 && own[k] == own[0]; k++)
				;
			race.torn += k < 64;
		}
		race.readers_left = 0;
		return;
	}
	for (i = 1; race.readers_left; i++) {
		for (k = 0; k < 64; k++)
			own[k] = (uint64_t)i;
		CHECK_EQ(rmc_write(qp, SERVER, 4096, own, 512), 0);
	}
}

static void test_lines(void)
{
	struct rmc_sim_options o = options("sonuma");
	int any, torn[2];

	for (any = 0; any < 2; any++) {
		memset(&race, 0, sizeof(race));
		race.ops = 500;
		race.readers_left = 1;
		o.adapter.any_lines = (uint32_t)any;
		o.adapter.gap_ns = 150;
		simulate(&o, read_or_write, NULL, 2);
		torn[any] = race.torn;
	}
	printf("# 512 B: %d of %d reads torn; lines in any order: %d\n", torn[0], race.ops, torn[1]);
	CHECK_EQ(torn[0], 0);
	CHECK(torn[1] > 10);
	tap_result("lines in any order: only then reads are torn");
}

/* The segment goes, and comes back, while lines of it are read. */
static void withdraw(void *arg)
{
	struct rmc_ctx *c = rmc_open(0, -1);
	int i;

	(void)arg;
	CHECK(c);
	for (i = 1; i <= 40; i++) {
		CHECK_EQ(rmc_seg_register(c, seg, SEG, 0), 0);
		rmc_sim_sleep_until((uint64_t)i * 100000 + 3137);
		CHECK_EQ(rmc_seg_unregister(c), 0);
		rmc_sim_sleep_until((uint64_t)i * 100000 + 53000);
	}
	race.readers_left = 0;
}

static void read_on(void *arg)
{
	struct rmc_ctx *c = rmc_open(0, -1);
	struct rmc_qp *qp = c ? rmc_qp_create(c, 8) : NULL;
	int status;

	(void)arg;
	CHECK(qp && rmc_buf_register(c, lbuf, SEG) >= 0);
	rmc_sim_sleep_until(10000);
	while (race.readers_left) {
		status = rmc_read(qp, SERVER, 0, lbuf, 4096);
		CHECK(!status || status == RMC_S_BAD_CONTEXT);
		race.ops += !status;
		race.torn += !!status;
		if (status)
			rmc_sim_compute(10000);
	}
}

static void test_withdrawn(void)
{
	struct rmc_sim_options o = options("sonuma");

	memset(&race, 0, sizeof(race));
	race.readers_left = 1;
	o.adapter.any_lines = 1;
	o.adapter.gap_ns = 500;
	o.limit_ns = 100000000;
	CHECK_EQ(rmc_sim_init(&o), 0);
	rmc_sim_spawn(SERVER, withdraw, NULL);
	rmc_sim_spawn(1, read_on, NULL);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_fini();
	printf("# segments withdrawn beside reads: %d ended, %d refused\n", race.ops, race.torn);
	CHECK(race.ops > 50 && race.torn > 40);
	tap_result("lines in any order: a segment that is withdrawn meanwhile");
}

/* ---- ordered queue pairs ---- */

static void cut(void *arg)
{
	rmc_sim_cut(SERVER, 1, !!arg);
}

static void stop_and_resume(void *arg)
{
	struct rmc_ctx *c = rmc_open(0, -1);
	struct rmc_qp *qp = c ? rmc_qp_create_with(c, 8, RMC_QP_ORDERED) : NULL;
	uint64_t old = 9;

	(void)arg;
	CHECK(qp && rmc_buf_register(c, lbuf, SEG) >= 0);
	rmc_sim_sleep_until(10000);
	CHECK_EQ(rmc_faa(qp, SERVER, 0, 1, &old), 0);
	rmc_sim_sleep_until(2000000);
	CHECK_EQ(rmc_write(qp, SERVER, 64, lbuf, 64), RMC_S_TIMEOUT);
	rmc_sim_sleep_until(60000000);
	CHECK_EQ(rmc_faa(qp, SERVER, 0, 1, &old), RMC_S_ABORTED);
	rmc_faa_async(qp, rmc_wait_for_slot(qp, NULL), SERVER, 0, 1);
	CHECK_EQ(rmc_qp_resume(qp), -EBUSY);
	rmc_drain_cq(qp, NULL);
	CHECK_EQ(rmc_qp_resume(qp), 0);
	CHECK_EQ(rmc_faa(qp, SERVER, 0, 1, &old), 0);
	CHECK_EQ(old, 1);
}

static void test_resume(void)
{
	struct rmc_sim_options o = options("cx5");

	o.timeout_ms = 20;
	o.dead_ms = 1000;
	memset(seg, 0, SEG);
	CHECK_EQ(rmc_sim_init(&o), 0);
	rmc_sim_spawn(SERVER, serve, NULL);
	rmc_sim_spawn(1, stop_and_resume, NULL);
	rmc_sim_at(1000000, cut, seg);
	rmc_sim_at(50000000, cut, NULL);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_fini();
	tap_result("ordered queue pairs: a lost operation stops one, until it is resumed");
}

int main(void)
{
	seg = aligned_alloc(4096, SEG);
	lbuf = aligned_alloc(4096, SEG);
	if (!seg || !lbuf)
		return 2;
	memset(lbuf, 0, SEG);
	test_contended();
	test_strides();
	test_qp_cache();
	test_latches();
	test_lines();
	test_withdrawn();
	test_resume();
	return tap_done();
}
