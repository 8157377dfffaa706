// SPDX-License-Identifier: GPL-2.0
/*
 * Completions under loss, reordering, delay and duplication, with real threads. Each operation
 * completes once, none is missing, data is right, and no atomic is applied twice, even where
 * operations are retransmitted.
 *
 *	lossy [operations]		default 10,000,000; make lossy
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include "../tap.h"
#include "testbed.h"

#define APPS	8
#define ENTRIES	RMC_MAX_ENTRIES
/* read-only; followed by a place for each slot's writes, then the counters */
#define READS	32768
#define WRITES	(APPS * ENTRIES * 64UL)

static struct rmc_fault fault = {
	.loss = 10000, .reorder = 10000, .dup = 10000, .shuffle = 10000,
	.delay_ns = 2000, .jitter_ns = 5000, .gap_ns = 50000,
};

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

enum kind { FREE, READ, WRITE, ATOMIC };

/* One application with all its slots */
struct load {
	struct app a;
	u8 *lbuf;
	struct rmc_mem *mem;
	u64 writes;		/* where those of its slots are */
	enum kind kind[ENTRIES];
	u64 serial[ENTRIES];	/* of a write; of an atomic its counter */
	u64 posted, done, doubled, timeouts;
};

/* Atomics: each has its own counter, and its outcome is recorded */
static u64 *counter;
static u8 *ok;
static u64 atomics;

static void post(struct load *l)
{
	u32 slot = l->a.head & (ENTRIES - 1), len = slot % 64 + 1;
	u64 *at = (u64 *)(l->lbuf + slot * 64);

	switch (l->posted % 8) {
	case 0:
		l->kind[slot] = ATOMIC;
		l->serial[slot] = atomics++;
		*at = 1;
		app_post(&l->a, RMC_OP_FAA, 1, READS + WRITES + l->serial[slot] * 8, at, 8);
		break;
	case 1:
		l->kind[slot] = WRITE;
		*at = ++l->serial[slot] << 16 | slot;
		app_post(&l->a, RMC_OP_WRITE, 1, l->writes + slot * 64, at, 64);
		break;
	default:
		l->kind[slot] = READ;
		memset(at, 0xee, 64);
		app_post(&l->a, RMC_OP_READ, 1, slot * 7 % (READS - 64), at, len);
	}
	l->posted++;
}

/* An operation succeeded: check its effect. */
static void check_done(struct load *l, u32 slot, const u8 *seg)
{
	u8 *at = l->lbuf + slot * 64;
	u32 len = slot % 64 + 1;
	u64 now;

	switch (l->kind[slot]) {
	case READ:
		CHECK(!memcmp(at, seg + slot * 7 % (READS - 64), len) &&
		      (len == 64 || at[len] == 0xee));
		break;
	case WRITE:
		/* a late write of an operation that timed out may have overwritten it */
		now = READ_ONCE(*(u64 *)(seg + l->writes + slot * 64));
		CHECK((now & 0xffff) == slot && now <= (l->serial[slot] << 16 | slot));
		break;
	case ATOMIC:
		CHECK_EQ(*(u64 *)at, 0);
		ok[l->serial[slot]] = 1;
		break;
	default:
		break;
	}
}

static void reap(struct load *l, const u8 *seg)
{
	u32 slot, status;

	while (app_poll(&l->a, &slot, &status)) {
		CHECK(slot < ENTRIES);
		CHECK(status == RMC_S_OK || status == RMC_S_TIMEOUT);
		if (l->kind[slot] == FREE) {
			l->doubled++;
			continue;
		}
		if (!status)
			check_done(l, slot, seg);
		l->timeouts += status == RMC_S_TIMEOUT;
		l->kind[slot] = FREE;
		l->done++;
	}
}

/* Check all atomics: those that succeeded were applied once, the others at most once. */
static void check_atomics(void)
{
	u64 once = 0, late = 0, never = 0, wrong = 0, i;

	for (i = 0; i < atomics; i++) {
		if (counter[i] > 1 || counter[i] < ok[i])
			wrong++;
		else if (ok[i])
			once++;
		else if (counter[i])
			late++;
		else
			never++;
	}
	printf("#   atomics      %10llu: %llu succeeded, applied once each; of those that timed out %llu applied once, %llu not; wrong %llu\n",
	       (unsigned long long)atomics, (unsigned long long)once, (unsigned long long)late,
	       (unsigned long long)never, (unsigned long long)wrong);
	CHECK_EQ(wrong, 0);
}

static void print_lane(const char *name, const struct rmc_filter_stats *s)
{
	printf("#   %-12s %10llu: lost %llu, held back so that others overtake %llu, shuffled %llu, duplicated %llu\n",
	       name, (unsigned long long)s->packets, (unsigned long long)s->lost,
	       (unsigned long long)s->reordered, (unsigned long long)s->shuffled,
	       (unsigned long long)s->doubled);
}

static void test(u64 operations, const char *ni, u32 retries)
{
	struct testbed_opts o = { .nodes = 2, .ni = ni, .mtu = 64, .itt = 16384,
				.ring_order = 10, .pay_order = 10 };
	u64 size = READS + WRITES + (operations / 8 + APPS) * 8;
	u64 posted = 0, done = 0, timeouts = 0, doubled = 0, t0, last;
	static struct load load[APPS];
	struct rmc_filter_stats *req, *rep;
	u8 *seg = aligned_alloc(4096, PAGE_ALIGN(size));
	struct rmc_mem *mem;
	struct testbed w;
	u32 i;

	memset(seg, 0, size);
	for (i = 0; i < READS; i++)
		seg[i] = i * 13 + (i >> 8);
	counter = (u64 *)(seg + READS + WRITES);
	ok = calloc(operations / 8 + APPS, 1);
	atomics = 0;
	memset(load, 0, sizeof(load));
	testbed_now_ns = 0;
	testbed_init(&w, &o);
	w.fabric[0].timeout_ms = 16;
	w.fabric[0].retries = retries;
	mem = mem_make(seg, size, 12, 0);
	seg_set(&w, 1, 0, mem);
	for (i = 0; i < APPS; i++) {
		u32 slot;

		app_init(&load[i].a, &w, 0, 0, ENTRIES);
		load[i].lbuf = aligned_alloc(4096, ENTRIES * 64);
		memset(load[i].lbuf, 0, ENTRIES * 64);
		load[i].mem = mem_make(load[i].lbuf, ENTRIES * 64, 63, 0);
		load[i].writes = READS + i * ENTRIES * 64UL;
		for (slot = 0; slot < ENTRIES; slot++)
			*(u64 *)(seg + load[i].writes + slot * 64) = slot;
		rmc_bufs_add(&load[i].a.bufs, load[i].mem);
	}
	rmc_filters = 1;
	fault_set(&w, 0, 1, RMC_LANE_REQ, &fault, 11);
	fault_set(&w, 1, 0, RMC_LANE_REP, &fault, 12);
	testbed_start(&w, NULL, false);
	for (t0 = last = now_ms(); done < operations && now_ms() - last < 20000;) {
		u64 before = done;

		done = 0;
		for (i = 0; i < APPS; i++) {
			while (posted < operations && !load[i].kind[load[i].a.head & (ENTRIES - 1)]) {
				post(&load[i]);
				posted++;
			}
			reap(&load[i], seg);
			done += load[i].done;
		}
		if (done != before)
			last = now_ms();
		sched_yield();
	}
	t0 = now_ms() - t0;
	/* nothing more may arrive */
	for (last = now_ms(); now_ms() - last < 100; sched_yield())
		for (i = 0; i < APPS; i++)
			reap(&load[i], seg);
	testbed_stop(&w);
	for (done = 0, i = 0; i < APPS; i++) {
		done += load[i].done;
		doubled += load[i].doubled;
		timeouts += load[i].timeouts;
	}
	req = &w.node[1]->links.filter[RMC_LANE_REQ][0]->stats;
	rep = &w.node[0]->links.filter[RMC_LANE_REP][1]->stats;
	printf("# %s, up to %u retries, %.1f s\n", ni, retries, t0 / 1e3);
	printf("#   operations   %10llu: completions %llu, lost %llu, duplicates %llu; timed out %llu, retransmitted %llu\n",
	       (unsigned long long)posted, (unsigned long long)done,
	       (unsigned long long)(posted - done), (unsigned long long)doubled,
	       (unsigned long long)timeouts, (unsigned long long)w.node[0]->stats.restarts);
	print_lane("requests", req);
	print_lane("replies", rep);
	check_atomics();
	CHECK_EQ(posted, operations);
	CHECK_EQ(done, posted);
	CHECK_EQ(doubled, 0);
	CHECK_EQ(w.node[0]->itt.used, 0);
	CHECK_EQ(w.node[0]->out[1]->credits, 1024);
	CHECK(operations < 50000 || (req->lost > operations / 200 && rep->lost > operations / 200 &&
				     rep->doubled && req->reordered && rep->reordered));
	CHECK(!retries == !w.node[0]->stats.restarts);
	rmc_filters = 0;
	for (i = 0; i < APPS; i++) {
		app_fini(&load[i].a);
		mem_free(load[i].mem);
		free(load[i].lbuf);
	}
	testbed_fini(&w);
	mem_free(mem);
	free(ok);
	free(seg);
}

int main(int argc, char **argv)
{
	u64 operations = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000000;

	test(operations, "fused", 0);
	tap_result("1% loss, reorder, delay, duplication: every operation completes once, no atomic twice (fused)");
	test(operations, "pair", 3);
	tap_result("the same with retransmission, back to 0 (pair)");
	return tap_done();
}
