// SPDX-License-Identifier: GPL-2.0
/*
 * The core under real threads: line atomicity and its limits, atomics concurrent with the
 * owner's CPU, many nodes and QPs at once, parking without lost wake-ups. Run under
 * ThreadSanitizer and AddressSanitizer.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include "matrix.h"

/* An organisation with as many units as it needs; its own MTU if it has one */
#define ORG(org, own)	.ni = (org)->ni, .units = (org)->units, .rrpps = (org)->rrpps, \
			.interleave = (org)->interleave, .frontends = (org)->frontends, \
			.mtu = (org)->mtu ?: (own), .links = (org)->links

#define INLINE_OFTEN_NS	1000000

static u32 stop_owner;
static int seconds = 1;

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* Nine in ten wakers poll inline, and also wake the thread if they did so shortly before. */
static void wake(struct app *a)
{
	if (a->head % 10)
		testbed_poll_inline(rmc_qp_worker(&a->qp), INLINE_OFTEN_NS);
	else
		rmc_os_wake(rmc_qp_worker(&a->qp));
}

/* Post and wait, as an application thread does while workers run. */
static int run(struct app *a, u32 op, u32 nid, u64 off, const void *lbuf, u32 len)
{
	u32 slot, status, spins = 0;
	u64 t0 = now_ms();

	app_post(a, op, nid, off, lbuf, len);
	if (READ_ONCE(a->flags->need_wakeup))
		wake(a);
	while (!app_poll(a, &slot, &status)) {
		if (!(++spins & 63))
			sched_yield();
		if (!(spins & 0xfffff) && now_ms() - t0 > 20000)
			return -1;
	}
	return status;
}

/* ---- line atomicity, I-2 ---- */

/* short transfers are copied line by line, long ones in bulk */
#define FEW	4
#define LINES	32

static u64 shared[LINES * 8] __attribute__((aligned(4096)));

/* The owner counts up, one line after the other, every word of a line. */
static void *owner(void *arg)
{
	u64 v = 0;
	int l, w;

	(void)arg;
	while (!__atomic_load_n(&stop_owner, __ATOMIC_RELAXED)) {
		v++;
		for (l = 0; l < LINES; l++)
			for (w = 0; w < 8; w++)
				WRITE_ONCE(shared[l * 8 + w], v);
		if (!(v & 255))
			sched_yield();
	}
	return NULL;
}

/*
 * A reader may see a line between two states of the *owner* (its eight stores
 * are not atomic); what it must never see is a mix that never was in memory:
 * the words of a line read never increase from left to right, as the owner
 * stores them left to right, and differ by at most one.
 */
static void test_line_atomicity(const struct testbed_opts *ni)
{
	struct testbed_opts o = { ORG(ni, 4096), .nodes = 2 };
	u64 *lbuf = aligned_alloc(4096, 4096);
	u64 reads = 0, spread = 0, t0;
	struct rmc_mem *seg, *buf;
	struct testbed w;
	struct app a;
	pthread_t t;
	int lines, l, i;

	testbed_init(&w, &o);
	app_init(&a, &w, 0, 0, 16);
	seg = mem_make(shared, sizeof(shared), 12, 0);
	buf = mem_make(lbuf, 4096, 12, 0);
	rmc_bufs_add(&a.bufs, buf);
	seg_set(&w, 1, 0, seg);
	stop_owner = 0;
	pthread_create(&t, NULL, owner, NULL);
	testbed_start(&w, NULL, false);
	for (t0 = now_ms(); now_ms() - t0 < seconds * 1000ULL && !tap_failures; reads++) {
		lines = reads & 1 ? FEW : LINES;
		CHECK_EQ(run(&a, RMC_OP_READ, 1, 0, lbuf, lines * 64), RMC_S_OK);
		for (l = 0; l < lines; l++)
			for (i = 1; i < 8; i++) {
				CHECK(lbuf[l * 8 + i] <= lbuf[l * 8 + i - 1]);
				CHECK(lbuf[l * 8] - lbuf[l * 8 + i] <= 1);
			}
		for (l = 1; l < lines; l++)
			spread += lbuf[l * 8] != lbuf[0];
	}
	testbed_stop(&w);
	__atomic_store_n(&stop_owner, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	/* nothing larger than a line is atomic: mixes are possible, and only reported */
	printf("# %s: %llu reads of %d or %d lines, lines of different age seen %llu times\n", ni->ni,
	       (unsigned long long)reads, FEW, LINES, (unsigned long long)spread);
	CHECK(reads > 0);
	app_fini(&a);
	testbed_fini(&w);
	mem_free(seg);
	mem_free(buf);
	free(lbuf);
}

/* The first word of a remote write becomes visible last. */
static void test_first_word_last(const struct testbed_opts *ni)
{
	struct testbed_opts o = { ORG(ni, 4096), .nodes = 2 };
	u64 *lbuf = aligned_alloc(4096, 4096), v = 0, seen = 0, t0, w0;
	struct rmc_mem *seg, *buf;
	u32 slot, status, posted = 0, done = 0;
	struct testbed w;
	struct app a;
	int l, i;

	memset(shared, 0, sizeof(shared));
	testbed_init(&w, &o);
	app_init(&a, &w, 0, 0, 16);
	seg = mem_make(shared, sizeof(shared), 12, 0);
	buf = mem_make(lbuf, 4096, 12, 0);
	rmc_bufs_add(&a.bufs, buf);
	seg_set(&w, 1, 0, seg);
	testbed_start(&w, NULL, false);
	for (t0 = now_ms(); now_ms() - t0 < seconds * 1000ULL && !tap_failures;) {
		if (posted == done) {
			v++;
			for (i = 0; i < LINES * 8; i++)
				lbuf[i] = v;
			app_post(&a, RMC_OP_WRITE, 1, 0, lbuf, v & 1 ? FEW * 64 : LINES * 64);
			posted++;
		}
		/* the receiver polls the first word of a line, then reads the rest */
		for (l = 0; l < LINES; l++) {
			w0 = smp_load_acquire(&shared[l * 8]);
			for (i = 1; i < 8; i++)
				CHECK(READ_ONCE(shared[l * 8 + i]) >= w0);
			seen += w0 == v;
		}
		if (app_poll(&a, &slot, &status)) {
			CHECK_EQ(status, RMC_S_OK);
			CHECK_EQ(READ_ONCE(shared[0]), v);
			done++;
		} else {
			sched_yield();
		}
	}
	testbed_stop(&w);
	CHECK(seen > 0);
	app_fini(&a);
	testbed_fini(&w);
	mem_free(seg);
	mem_free(buf);
	free(lbuf);
}

/* ---- atomics concurrent with the owner's CPU, I-3 ---- */

static u64 counter __attribute__((aligned(64)));

static void *adder(void *arg)
{
	u64 *n = arg;

	while (!__atomic_load_n(&stop_owner, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
		++*n;
		if (!(*n & 63))
			sched_yield();
	}
	return NULL;
}

static void test_local_and_remote_atomics(const struct testbed_opts *ni)
{
	struct testbed_opts o = { ORG(ni, 64), .nodes = 2 };
	u64 *lbuf = aligned_alloc(4096, 4096), local = 0, remote = 0, t0;
	struct rmc_mem *seg, *buf;
	struct testbed w;
	struct app a;
	pthread_t t;

	counter = 0;
	testbed_init(&w, &o);
	app_init(&a, &w, 0, 0, 16);
	seg = mem_make(&counter, 8, 63, 0);
	buf = mem_make(lbuf, 4096, 12, 0);
	rmc_bufs_add(&a.bufs, buf);
	seg_set(&w, 1, 0, seg);
	stop_owner = 0;
	pthread_create(&t, NULL, adder, &local);
	testbed_start(&w, NULL, false);
	for (t0 = now_ms(); now_ms() - t0 < seconds * 1000ULL && !tap_failures;) {
		lbuf[0] = 1;
		CHECK_EQ(run(&a, RMC_OP_FAA, 1, 0, lbuf, 8), RMC_S_OK);
		remote++;
		lbuf[0] = READ_ONCE(counter);
		lbuf[1] = lbuf[0] + 1;
		u64 expected = lbuf[0];

		CHECK_EQ(run(&a, RMC_OP_CAS, 1, 0, lbuf, 8), RMC_S_OK);
		remote += lbuf[0] == expected;
	}
	testbed_stop(&w);
	__atomic_store_n(&stop_owner, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	CHECK_EQ(counter, local + remote);
	app_fini(&a);
	testbed_fini(&w);
	mem_free(seg);
	mem_free(buf);
	free(lbuf);
}

/* ---- all to all ---- */

#define NODES	4
#define APPS	8

static u8 *segs[NODES];

static void *talker(void *arg)
{
	struct app *a = arg;
	u64 t0 = now_ms();
	u32 nid = a->qp.node->nid, seed = nid + 1 + (uintptr_t)a % 1000, i, slot, status;
	u8 *lbuf = (u8 *)a->bufs.mem[0]->base;
	bool busy[16] = { false };	/* completions come in any order */
	u32 in_flight = 0;

	while (now_ms() - t0 < seconds * 1000ULL || in_flight) {
		/* segments are constant: byte i of node n is n + i * 7 */
		while (!busy[a->head & (a->entries - 1)] && now_ms() - t0 < seconds * 1000ULL) {
			u32 s = a->head & (a->entries - 1), off, len;

			seed = seed * 1664525 + 1013904223;
			off = s * 512 + (seed >> 8) % 256;
			len = 1 + (seed >> 16) % 256;
			memset(lbuf + s * 1024, 0, 512);
			*(u32 *)(lbuf + s * 1024 + 512) = off;
			*(u32 *)(lbuf + s * 1024 + 516) = len;
			*(u32 *)(lbuf + s * 1024 + 520) = seed >> 4 & (NODES - 1);
			app_post(a, RMC_OP_READ, seed >> 4 & (NODES - 1), off, lbuf + s * 1024, len);
			busy[s] = true;
			in_flight++;
		}
		if (READ_ONCE(a->flags->need_wakeup))
			wake(a);
		while (app_poll(a, &slot, &status)) {
			u8 *d = lbuf + slot * 1024;
			u32 off = *(u32 *)(d + 512), len = *(u32 *)(d + 516), n = *(u32 *)(d + 520);

			in_flight--;
			busy[slot] = false;
			if (status != RMC_S_OK)
				return (void *)1;
			for (i = 0; i < len; i++)
				if (d[i] != (u8)(n + (off + i) * 7))
					return (void *)2;
			if (d[len])
				return (void *)3;
		}
		sched_yield();
	}
	return NULL;
}

static void test_all_to_all(const struct testbed_opts *ni, u32 mtu)
{
	struct testbed_opts o = { ORG(ni, mtu), .nodes = NODES, .itt = 32,
				.ring_order = 4, .pay_order = 6 };
	struct rmc_mem *seg[NODES], *buf[APPS];
	struct testbed w;
	struct app a[APPS];
	pthread_t t[APPS];
	void *bad;
	u32 i, j;

	testbed_init(&w, &o);
	for (i = 0; i < NODES; i++) {
		segs[i] = aligned_alloc(4096, 16384);
		for (j = 0; j < 16384; j++)
			segs[i][j] = i + j * 7;
		seg[i] = mem_make(segs[i], 16384, 12, 0);
		seg_set(&w, i, 0, seg[i]);
	}
	for (i = 0; i < APPS; i++) {
		app_init(&a[i], &w, i % NODES, 0, 16);
		buf[i] = mem_make(aligned_alloc(4096, 16384), 16384, 12, 0);
		rmc_bufs_add(&a[i].bufs, buf[i]);
	}
	testbed_start(&w, NULL, false);
	for (i = 0; i < APPS; i++)
		pthread_create(&t[i], NULL, talker, &a[i]);
	for (i = 0; i < APPS; i++) {
		pthread_join(t[i], &bad);
		CHECK_EQ((uintptr_t)bad, 0);
	}
	testbed_stop(&w);
	for (i = 0; i < NODES; i++)
		CHECK_EQ(testbed_in_flight(&w, i), 0);
	for (i = 0; i < APPS; i++) {
		app_fini(&a[i]);
		free((void *)buf[i]->base);
		mem_free(buf[i]);
	}
	testbed_fini(&w);
	for (i = 0; i < NODES; i++) {
		mem_free(seg[i]);
		free(segs[i]);
	}
}

/* ---- parking ---- */

#define ATTEMPTS	16
#define SLEEPERS	3

struct sleepy {
	struct app a;
	pthread_t thread;
	u8 *lbuf;
	u32 pace, longest, bad;
	u64 rounds;
};

/* Sleep just long enough that the worker parks, then post: no wake-up may be lost. */
static void *sleepy(void *arg)
{
	struct sleepy *s = arg;
	u64 t0 = now_ms();

	for (; now_ms() - t0 < 2 * seconds * 1000ULL && !s->bad; s->rounds++) {
		s->bad = run(&s->a, RMC_OP_READ, 1, 0, s->lbuf, 64) != RMC_S_OK;
		usleep(s->rounds * s->pace % s->longest);
	}
	return NULL;
}

static void wakeups(const struct testbed_opts *ni, u32 sleepers, u32 longest, u64 *all_parks,
		    u64 *all_inline_polls)
{
	struct testbed_opts o = { ORG(ni, 4096), .nodes = 2 };
	u8 *lbuf = aligned_alloc(4096, 4096), *s = aligned_alloc(4096, 4096);
	struct sleepy who[SLEEPERS] = { 0 };
	u64 rounds = 0, parks = 0, inline_polls = 0;
	struct rmc_mem *seg, *buf;
	struct testbed w;
	u32 i;

	testbed_init(&w, &o);
	memset(s, 1, 4096);
	seg = mem_make(s, 4096, 12, 0);
	buf = mem_make(lbuf, 4096, 12, 0);
	seg_set(&w, 1, 0, seg);
	for (i = 0; i < sleepers; i++) {
		app_init(&who[i].a, &w, 0, 0, 16);
		rmc_bufs_add(&who[i].a.bufs, buf);
		who[i].lbuf = lbuf + i * 64;
		who[i].pace = 37 + 16 * i;
		who[i].longest = longest;
	}
	testbed_start(&w, NULL, true);
	for (i = 0; i < sleepers; i++)
		if (pthread_create(&who[i].thread, NULL, sleepy, &who[i]))
			abort();
	for (i = 0; i < sleepers; i++) {
		pthread_join(who[i].thread, NULL);
		rounds += who[i].rounds;
		CHECK(!who[i].bad);
	}
	testbed_stop(&w);
	for (i = 0; i < w.workers; i++) {
		parks += w.worker[i].ni.parks;
		inline_polls += w.worker[i].ni.inline_polls;
	}
	printf("# %s: %llu reads, %llu parks, %llu inline_polls\n", ni->ni, (unsigned long long)rounds,
	       (unsigned long long)parks, (unsigned long long)inline_polls);
	*all_parks += parks;
	*all_inline_polls += inline_polls;
	for (i = 0; i < sleepers; i++)
		app_fini(&who[i].a);
	testbed_fini(&w);
	mem_free(seg);
	mem_free(buf);
	free(lbuf);
	free(s);
}

/*
 * With several sleepers one may poll inline while another wakes the thread, or tries to poll
 * too. The scheduler decides whether any polls inline, so there are up to ATTEMPTS attempts, each
 * with longer pauses: where a visit takes long, a worker parks late.
 */
static void test_wakeups(const struct testbed_opts *ni, u32 sleepers)
{
	u64 parks = 0, inline_polls = 0;
	int i;

	for (i = 0; i < ATTEMPTS && (!parks || !inline_polls); i++)
		wakeups(ni, sleepers, 4000 * (i + 1), &parks, &inline_polls);
	CHECK(parks > 0);
	CHECK(inline_polls > 0);
}

int main(int argc, char **argv)
{
	static const struct testbed_opts orgs[] = {
		{ .ni = "fused" },
		{ .ni = "pair" },
		/* lines next to each other are different units' */
		{ .ni = "edge", .units = 2, .interleave = 64 },
		{ .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256 },
		{ .ni = "split", .units = 2 },
	};
	struct testbed_opts one = { 0 };
	bool asked = matrix_asked(&one);
	char name[96];
	int i;

	if (argc > 1)
		seconds = atoi(argv[1]);
	for (i = 0; i < (asked ? 1 : (int)ARRAY_SIZE(orgs)); i++) {
		const struct testbed_opts *ni = asked ? &one : &orgs[i];

#define RUN(what, call) do {							\
		tap_where = ni->ni;						\
		call;								\
		snprintf(name, sizeof(name), what " (%s)", ni->ni);		\
		tap_result(name);						\
	} while (0)
		RUN("a line read is never a mix", test_line_atomicity(ni));
		RUN("first word of a written line is visible last", test_first_word_last(ni));
		RUN("remote and local atomics add up", test_local_and_remote_atomics(ni));
		RUN("all to all, tiny rings, least MTU", test_all_to_all(ni, 64));
		if (!asked)
			RUN("all to all, tiny rings, MTU 4096", test_all_to_all(ni, 4096));
		RUN("no wake-up is lost", test_wakeups(ni, 1));
		RUN("nor is one between several", test_wakeups(ni, SLEEPERS));
	}
	return matrix_done();
}
