// SPDX-License-Identifier: GPL-2.0
/*
 * R25 in virtual time, tools/sim/papers/sync_*.c: orders of curves, and values that no constant was
 * fitted to, within the limits that are asked for. Short runs: their last digits move.
 */
#include <string.h>
#include "../tap.h"
#include "tools/sim/papers/sync.h"

static int near(double got, double want, double part)
{
	return got > want * (1 - part) && got < want * (1 + part);
}

static double mops(struct sync_load l)
{
	if (!l.storage)
		l.storage = 1;
	if (!l.warm_ns)
		l.warm_ns = 20000;
	if (!l.run_ns)
		l.run_ns = 60000;
	return sync_run(&l).mops;
}

/* A row's read is an operation, and nothing else: two ways, adapter and port, post and poll */
static void test_one(void)
{
	double ns = 1e3 / mops((struct sync_load){
		.scheme = "unsync", .bytes = 256, .workers = 1, .run_ns = 2000000 });

	printf("# one read of 256 B: %.0f ns\n", ns);
	CHECK(near(ns, 2 * 900 + 19.5 + 22 + 100 + 50, 0.02));
	/* and a long one its bytes at 100 Gb/s */
	ns = 1e3 / mops((struct sync_load){
		.scheme = "unsync", .bytes = 16384, .workers = 1, .run_ns = 2000000 });
	CHECK(near(ns, 2 * 900 + 100 + 50 + 16384 * 0.08, 0.06));
	tap_result("one read: two ways, adapter, port, post and poll, and nothing else");
}

static double word(uint32_t stride, uint32_t workers)
{
	return sync_raw_mops(&(struct sync_raw){ SYNC_CAS, stride, workers, 4, 0, 0 });
}

static void test_strides(void)
{
	double contended = word(0, 128), best = word(64, 128);

	CHECK(near(contended, 2.32, 0.02));
	CHECK(near(best, 51.2, 0.03));
	/* held out */
	CHECK(near(word(256, 128), 40, 0.15));
	CHECK(near(word(512, 64), 20, 0.15));
	CHECK(near(word(4096, 128), contended, 0.05));
	CHECK(near(word(256 + 8, 128), best, 0.03));
	CHECK(near(word(512 + 8, 128), best, 0.03));
	CHECK(near(word(4096 + 8, 128), best, 0.03));
	tap_result("figure 5: strides as printed, and padding");
}

/* A switch answers in half of a round trip, and has no slots: contended or not is the same. */
static void test_switch(void)
{
	struct sync_raw one = { SYNC_CAS, 64, 1, 4, 1, 0 }, hot = { SYNC_CAS, 0, 32, 4, 1, 0 };
	struct sync_raw apart = { SYNC_CAS, 64, 32, 4, 1, 0 };
	double many = sync_raw_mops(&hot);

	CHECK(sync_raw_mops(&one) > 2 * word(64, 1));
	CHECK(near(many, sync_raw_mops(&apart), 0.01));
	CHECK(many > 10 * word(0, 32));
	/* 512 would make 500 M/s: what their 4 adapters send, which was fitted */
	hot.newer = 1;
	hot.workers = 512;
	CHECK(near(sync_raw_mops(&hot), 110, 0.02));
	tap_result("figures 20 and 22: a switch answers in half of a round trip, contended or not");
}

static double tuples(const char *scheme, uint32_t bytes, uint32_t workers, uint32_t writes)
{
	int switched = !strcmp(scheme, "switch");

	return mops((struct sync_load){
		.scheme = scheme, .flags = switched ? RMC_SYNC_SPEC : 0, .switched = switched,
		.bytes = bytes, .workers = workers, .writes = writes, .tuples = 5000, .whole = 1,
		.run_ns = workers == 1 ? 600000 : 0,
	});
}

/* A read that is judged on its way, and validated from half of it; a latch from half of it */
static void test_tuples(void)
{
	static const uint32_t writes[] = { 0, 50, 100 };
	unsigned int i;

	CHECK(near(tuples("switch", 1024, 1, 0), 2 * tuples("versioning", 1024, 1, 0), 0.1));
	CHECK(near(tuples("switch", 1024, 1, 0), 4.0 / 3 * tuples("farm", 1024, 1, 0), 0.1));
	CHECK(tuples("switch", 1024, 1, 100) > 1.5 * tuples("versioning", 1024, 1, 100));
	for (i = 0; i < 3; i++)
		CHECK(tuples("switch", 256, 64, writes[i]) >
		      1.3 * tuples("versioning", 256, 64, writes[i]));
	/* many reads of 1 KiB: the storage node's port is the limit of both */
	CHECK(near(tuples("switch", 1024, 64, 0) * 1024 * 8e-3, 100, 0.1));
	tap_result("figures 25 and 26: a switch's tuples before those without, up to the port");
}

/* Figures 8 and 9: each optimization is faster than those before */
static void test_latches(void)
{
	static const unsigned int flags[] = {
		0, RMC_SYNC_SPEC, RMC_SYNC_SPEC | RMC_SYNC_COMBINE, SYNC_BEST,
	};
	static const uint32_t workers[] = { 1, 8, 32 };
	unsigned int i, k;

	for (k = 0; k < 3; k++) {
		double last = 0, now = 0;
		struct sync_load l = {
			.bytes = 256, .workers = workers[k], .tuples = 20000, .writes = 100,
			.run_ns = workers[k] == 1 ? 1000000 : 100000,
		};

		l.scheme = "rw";
		for (i = 0; i < 4; i++, last = now) {
			l.flags = flags[i];
			now = mops(l);
			CHECK(now > 1.05 * last);
		}
		l.scheme = "unsync";
		l.flags = RMC_SYNC_ASYNC;
		CHECK(mops(l) > last);
		CHECK(mops(l) < 2 * last);
	}
	tap_result("figures 8 and 9: each optimization is faster, up to the unsynchronized bound");
}

static double nam(int best, double theta, uint32_t writes)
{
	int hot = writes && theta > 1;

	return mops((struct sync_load){
		.scheme = "rw", .flags = best ? SYNC_BEST : 0, .bytes = 256, .workers = 112,
		.storage = 4, .tuples = 5000000, .theta = theta, .writes = writes, .gathered = hot,
		.warm_ns = hot ? sync_hot_ns() : 0, .run_ns = hot ? sync_hot_ns() : 0,
	});
}

static void test_nam(void)
{
	double factor = nam(1, 0, 0) / nam(0, 0, 0), writes = nam(1, 2, 100);

	printf("# NAM-DB++ / NAM-DB: %.2f; writes at Zipf 2: %.3f M/s\n", factor, writes);
	CHECK(near(factor, 2, 0.3));
	CHECK(writes > 0.17 / 1.5);
	CHECK(writes < 0.17 * 1.5);
	tap_result("figure 10: a factor of 2, and 170 K/s, which no constant was fitted to");
}

/* Figures 11, 14, 15: where latches win, and where they lose */
static void test_reads(void)
{
	struct sync_load farm = {
		.scheme = "farm", .latch = RMC_LATCH_EXCL, .flags = SYNC_FOOTER, .bytes = 256,
	};
	struct sync_load rw = { .scheme = "rw", .flags = SYNC_BEST, .pad = 1, .bytes = 256 };
	struct sync_load naive = { .scheme = "naive", .bytes = 256 };
	struct sync_load versions = { .scheme = "versioning", .bytes = 256 };

	farm.workers = rw.workers = naive.workers = versions.workers = 1;
	farm.run_ns = rw.run_ns = naive.run_ns = versions.run_ns = 1000000;
	CHECK(mops(rw) > 1.1 * mops(naive));
	CHECK(mops(naive) > mops(farm));
	CHECK(mops(farm) > 1.2 * mops(versions));
	tap_result("figure 14: one thread: latched, broken, FaRM, versioning");
	farm.run_ns = rw.run_ns = 0;
	farm.workers = rw.workers = 8;
	CHECK(mops(rw) > 1.1 * mops(farm));
	farm.workers = rw.workers = 128;
	CHECK(mops(farm) > 1.3 * mops(rw));
	tap_result("figure 15: latches win with 8 workers, and lose with 128");
	farm.bytes = rw.bytes = 4096;
	farm.workers = rw.workers = 32;
	farm.tree = rw.tree = 1;
	farm.run_ns = rw.run_ns = 200000;
	/* two fetch-and-adds of each lookup on the root, no more */
	CHECK(near(mops(rw), 1e3 / (2 * 731), 0.1));
	CHECK(mops(rw) < 0.8 * mops(farm));
	tap_result("figure 11: the root's latch limits a tree");
}

/* Figure 16: a buffer of atomics hides a release by a write, as long as a word is in it */
static void test_buffer(void)
{
	struct sync_load l = {
		.scheme = "farm", .latch = RMC_LATCH_EXCL, .flags = SYNC_FOOTER, .bytes = 512,
		.workers = 112, .storage = 4, .tuples = 5000000, .theta = 2.5, .writes = 100,
		.gathered = 1, .warm_ns = sync_hot_ns(), .run_ns = sync_hot_ns(),
	};
	double without = mops(l), with;

	sync_set("buffer_ns", 50000);
	with = mops(l);
	sync_profile("cx5");
	printf("# contended writes: %.3f M/s, with a buffer of 50 us %.3f M/s\n", without, with);
	CHECK(with < without / 10);
	tap_result("figure 16: a buffer of atomics hides a release by a write");
}

static void test_newer(void)
{
	struct sync_raw raw = { .kind = SYNC_CAS, .workers = 64, .clients = 2, .stride = 64 };
	double best;

	sync_profile("cx7");
	best = sync_raw_mops(&raw);
	raw.stride = 4096;
	CHECK(near(sync_raw_mops(&raw), 2.5, 0.02));
	raw.stride = 4096 + 8;
	CHECK(near(sync_raw_mops(&raw), best, 0.03));
	CHECK(best > 4 * 2.5);
	sync_profile("cx5");
	tap_result("figure 17: a newer adapter: strides and padding as before");
}

/* Figure 18: words that share a slot of the lock table do not, at the cores of an adapter */
static void test_calls(void)
{
	struct sync_calls own = { .workers = 64 }, one = { .workers = 64, .contended = 1 };
	struct sync_rate words, shared;

	sync_profile("bf2");
	shared = sync_calls_run(&one);
	words = sync_calls_run(&own);
	CHECK(near(shared.mops, 20, 0.05));
	CHECK(near(words.mops, shared.mops, 0.02));
	CHECK(shared.failed > 0.5);
	CHECK_EQ(words.failed * 1000, 0);
	CHECK(near(word(4096, 64), 2.51, 0.02));
	sync_profile("cx5");
	tap_result("figure 18: calls to an adapter's cores do not care which words they are for");
}

/* Two lines are never torn unnoticed, more are */
static void test_torn(void)
{
	double seen;

	CHECK_EQ(sync_torn_percent(128, 16, &seen) * 1000, 0);
	CHECK(seen > 0.5);
	CHECK(sync_torn_percent(512, 16, &seen) > 0.5);
	tap_result("figure 1b: reads of more than two lines are torn unnoticed");
}

/* On a chip of soNUMA: no lock table, so neither strides nor a tree's root matter */
static void test_chip(void)
{
	sync_profile("sonuma-r2p2");
	CHECK(near(word(4096, 64), word(64, 64), 0.1));
	sync_profile("cx5");
	tap_result("sonuma: strides do not matter");
}

int main(void)
{
	sync_profile("cx5");
	eval.quick = 1;
	test_one();
	test_strides();
	test_latches();
	test_nam();
	test_reads();
	test_buffer();
	test_torn();
	test_newer();
	test_calls();
	test_switch();
	test_tuples();
	test_chip();
	return tap_done();
}
