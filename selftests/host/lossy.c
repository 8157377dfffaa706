// SPDX-License-Identifier: GPL-2.0
/*
 * Completions under loss, reorder, delay and doubled replies, with real threads:
 * each operation completes once, none is missing, and data is right.
 *
 *	lossy [operations]		default 10,000,000
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include "tap.h"
#include "world.h"

#define APPS	8
#define ENTRIES	RMC_MAX_ENTRIES
#define SEG	65536
#define COUNTER	32768

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

/* One application with all its slots; bits of what a slot does */
struct load {
	struct app a;
	u8 *lbuf;
	struct rmc_mem *mem;
	u8 kind[ENTRIES];	/* 0: free, 1: read, 2: fetch-and-add */
	u64 posted, done, lost, atomics, atomics_ok;
};

static void post(struct load *l, u8 *seg)
{
	u32 slot = l->a.head & (ENTRIES - 1);
	u64 *at = (u64 *)(l->lbuf + slot * 64);
	u32 len = slot % 64 + 1;

	(void)seg;
	if (l->posted % 8) {
		l->kind[slot] = 1;
		memset(at, 0xee, 64);
		app_post(&l->a, RMC_OP_READ, 1, slot * 7 % (COUNTER - 64), at, len);
	} else {
		l->kind[slot] = 2;
		l->atomics++;
		*at = 1;
		app_post(&l->a, RMC_OP_FAA, 1, COUNTER, at, 8);
	}
	l->posted++;
}

static void reap(struct load *l, const u8 *seg)
{
	u32 slot, status;

	while (app_poll(&l->a, &slot, &status)) {
		u8 *at = l->lbuf + slot * 64;
		u32 len = slot % 64 + 1;

		CHECK(slot < ENTRIES && l->kind[slot]);
		CHECK(status == RMC_S_OK || status == RMC_S_TIMEOUT);
		if (!status && l->kind[slot] == 1)
			CHECK(!memcmp(at, seg + slot * 7 % (COUNTER - 64), len) &&
			      (len == 64 || at[len] == 0xee));
		l->atomics_ok += !status && l->kind[slot] == 2;
		l->lost += status == RMC_S_TIMEOUT;
		l->kind[slot] = 0;
		l->done++;
	}
}

static void test(u64 operations, const char *ni, u32 retries)
{
	struct world_opts o = { .nodes = 2, .ni = ni, .mtu = 64, .itt = 16384,
				.ring_order = 10, .pay_order = 10 };
	static struct load load[APPS];
	u8 *seg = aligned_alloc(4096, SEG);
	u64 posted = 0, done = 0, lost = 0, atomics = 0, ok = 0, t0, last;
	struct rmc_filter_stats *req, *rep;
	struct rmc_mem *mem;
	struct world w;
	u32 i;

	for (i = 0; i < SEG; i++)
		seg[i] = i * 13 + (i >> 8);
	*(u64 *)(seg + COUNTER) = 0;
	memset(load, 0, sizeof(load));
	world_now_ns = 0;
	world_init(&w, &o);
	w.fabric[0].timeout_ms = 16;
	w.fabric[0].retries = retries;
	mem = mem_make(seg, SEG, 12, 0);
	seg_set(&w, 1, 0, mem);
	for (i = 0; i < APPS; i++) {
		app_init(&load[i].a, &w, 0, 0, ENTRIES);
		load[i].lbuf = aligned_alloc(4096, ENTRIES * 64);
		load[i].mem = mem_make(load[i].lbuf, ENTRIES * 64, 63, 0);
		rmc_bufs_add(&load[i].a.bufs, load[i].mem);
	}
	rmc_filters = 1;
	fault_set(&w, 0, 1, RMC_LANE_REQ, &fault, 11);
	fault_set(&w, 1, 0, RMC_LANE_REP, &fault, 12);
	world_start(&w, NULL, false);
	for (t0 = last = now_ms(); done < operations && now_ms() - last < 20000;) {
		u64 before = done;

		done = 0;
		for (i = 0; i < APPS; i++) {
			while (posted < operations && !load[i].kind[load[i].a.head & (ENTRIES - 1)]) {
				post(&load[i], seg);
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
	/* nothing more may come */
	for (last = now_ms(); now_ms() - last < 100; sched_yield())
		for (i = 0; i < APPS; i++)
			reap(&load[i], seg);
	world_stop(&w);
	for (done = 0, i = 0; i < APPS; i++) {
		done += load[i].done;
		lost += load[i].lost;
		atomics += load[i].atomics;
		ok += load[i].atomics_ok;
	}
	req = &w.node[1]->filter[RMC_LANE_REQ][0]->stats;
	rep = &w.node[0]->filter[RMC_LANE_REP][1]->stats;
	CHECK_EQ(done, operations);
	CHECK_EQ(w.node[0]->itt.used, 0);
	CHECK_EQ(w.node[0]->out[1]->credits, 1024);
	CHECK(*(u64 *)(seg + COUNTER) >= ok && *(u64 *)(seg + COUNTER) <= atomics);
	CHECK(operations < 100000 || (lost && req->lost && rep->lost && rep->doubled));
	printf("# %s: %llu operations in %.1f s, %llu of them timed out, %llu began again; packets lost %llu + %llu, reordered %llu + %llu, doubled %llu\n",
	       ni, (unsigned long long)done, t0 / 1e3, (unsigned long long)lost,
	       (unsigned long long)w.node[0]->stats.restarts, (unsigned long long)req->lost,
	       (unsigned long long)rep->lost, (unsigned long long)req->reordered,
	       (unsigned long long)rep->reordered, (unsigned long long)rep->doubled);
	rmc_filters = 0;
	for (i = 0; i < APPS; i++) {
		app_fini(&load[i].a);
		mem_free(load[i].mem);
		free(load[i].lbuf);
	}
	world_fini(&w);
	mem_free(mem);
	free(seg);
}

int main(int argc, char **argv)
{
	u64 operations = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000000;

	test(operations, "fused", 0);
	tap_result("1% loss, reorder, delay, doubled: every operation completes once (fused)");
	test(operations / 4, "pair", 3);
	tap_result("the same with retransmission (pair)");
	return tap_done();
}
