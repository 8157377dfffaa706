/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A part of native_bench.c, which includes it. The dispatcher alone: relay in, arrival queue out
 * (T18 section 8.1.2: a message each 31 ns keeps 16 cores of 500 ns busy). Its worker has a CPU.
 * The application's thread plays the others: an RRPP of another unit, which makes messages
 * complete; the cores; and their RGP, which says what is done. Or one thread plays all, so that
 * each line is in its cache: what remains is computing.
 *
 *	other CPU					dispatcher
 *	slot's record and line, READY --- relay --->	arrive(), next(), HELD
 *	core: the entry, the message  <-- queue ----
 *	FREE --------------------------- relay --->	done()
 */
#ifndef BENCH_NATIVE_DISPATCH_H
#define BENCH_NATIVE_DISPATCH_H

#include <pthread.h>
#include <sched.h>
#include "native_rows.h"

#define ALONE_CORES	16
#define ALONE_SLOTS	64
#define ALONE_CTX	7
#define ALONE_AQ	2		/* log2 of a queue's entries */
#define ALONE_ROUNDS	2000		/* of a batch, in a round of the benchmark */

static const u32 alone_at_once[] = { 1, ALONE_CORES };

static struct relayed {
	struct testbed w;
	struct rmc_domain d;
	u8 *recv;
	struct rmc_aq_entry *aq;
	u32 taken[ALONE_CORES];
	struct samples ns[ARRAY_SIZE(alone_at_once)], cached[ARRAY_SIZE(alone_at_once)];
	u64 busy;			/* the dispatcher's, of the last batch */
	u32 want __attribute__((aligned(64)));	/* messages of the batch; 0: none. U32_MAX: end */
} relayed;

static void alone_poll(u32 want)
{
	u64 t0 = bench_ticks();
	u32 given;

	for (given = 0; given < want;)
		given += rmc_domains_poll(relayed.d.head);
	relayed.busy = bench_ticks() - t0;
}

static void *alone_dispatch(void *arg)
{
	cpu_set_t set;
	u32 want;

	CPU_ZERO(&set);
	CPU_SET(1, &set);		/* as bench_start() */
	sched_setaffinity(0, sizeof(set), &set);
	for (;;) {
		want = __atomic_load_n(&relayed.want, __ATOMIC_ACQUIRE);
		if (want == U32_MAX)
			return NULL;
		if (!want)
			continue;
		alone_poll(want);
		__atomic_store_n(&relayed.want, 0, __ATOMIC_RELEASE);
	}
}

static void alone_open(void)
{
	struct testbed_opts o = { .nodes = 2, .ni = "edge", .units = 2, .mtu = 4096, .itt = 64 };
	const struct rmc_domain_params p = { .nodes = 2, .slots = ALONE_SLOTS, .max_message = 64 };
	const struct rmc_dispatch_params dp = {
		.policy = RMC_DISPATCH_GREEDY, .depth = 1, .cores = ALONE_CORES, .groups = 1,
		.classes = 1, .seed = 1,
	};
	size_t bytes = 2 * ALONE_SLOTS * 2 * RMC_LINE;
	struct rmc_node *node;
	u32 i, tag;

	testbed_init(&relayed.w, &o);
	node = relayed.w.node[0];
	bench_check(rmc_domain_init(&relayed.d, node, ALONE_CTX, 1, &p, &dp));
	relayed.recv = aligned_alloc(4096, bytes);
	relayed.aq = aligned_alloc(4096, (ALONE_CORES << ALONE_AQ) * RMC_LINE);
	memset(relayed.recv, 0, bytes);
	memset(relayed.aq, 0, (ALONE_CORES << ALONE_AQ) * RMC_LINE);
	relayed.d.recv = mem_make(relayed.recv, bytes, 12, 0);
	for (i = 0; i < o.units; i++)
		rmc_domain_add(node->unit[i], &relayed.d);
	for (i = 0; i < ALONE_CORES; i++)
		bench_check(rmc_core_add(&relayed.d, relayed.aq + (i << ALONE_AQ), ALONE_AQ, 0, 1,
					 &tag) != (int)i);
}

/* What other CPUs do for a batch of @n: complete messages, and those of the last batch done */
static void alone_batch(u32 n, bool here)
{
	struct rmc_node *unit = relayed.w.node[0]->unit[1];
	struct rmc_domain_unit *of = rmc_domain_unit(&relayed.d, unit);
	static u32 next;
	u32 i, core, first = next;
	u64 word;

	for (i = 0; i < n; i++, next++) {
		u32 index = next % ALONE_SLOTS;
		struct rmc_slot *slot = &relayed.d.slot[index];

		*(u64 *)(relayed.recv + rmc_slot_data(&relayed.d, index)) = next;
		slot->length = 64;
		slot->turn++;
		slot->state = RMC_SLOT_READY;
		rmc_relay_put(&of->complete, index);
	}
	if (here)
		alone_poll(n);
	else
		__atomic_store_n(&relayed.want, n, __ATOMIC_RELEASE);
	while (__atomic_load_n(&relayed.want, __ATOMIC_ACQUIRE))
		;
	for (core = 0; core < ALONE_CORES; core++) {
		u32 at = relayed.taken[core] & ((1U << ALONE_AQ) - 1);

		word = __atomic_load_n(&relayed.aq[(core << ALONE_AQ) + at].word0, __ATOMIC_ACQUIRE);
		if ((word & 1) == !(relayed.taken[core] >> ALONE_AQ & 1))
			relayed.taken[core]++;
	}
	for (i = 0; i < n; i++) {
		u32 index = (first + i) % ALONE_SLOTS;

		bench_check(relayed.d.slot[index].state != RMC_SLOT_HELD);
		rmc_relay_put(&of->finished, index);
		relayed.d.slot[index].state = RMC_SLOT_FREE;
	}
}

static void alone_batches(struct samples *s, u32 n, bool here)
{
	int batches = bench_quick ? ALONE_ROUNDS / 4 : ALONE_ROUNDS, i;
	static double v[ALONE_ROUNDS];

	for (i = -100; i < batches; i++) {
		alone_batch(n, here);
		if (i >= 0)
			v[i] = relayed.busy * bench_ns_per_tick() / n;
	}
	rows_sample(s, bench_median(v, batches));
}

static void alone_round(void)
{
	pthread_t dispatcher;
	u32 k;

	pingpong();
	testbed_stop(&bench.w);
	bench_check(pthread_create(&dispatcher, NULL, alone_dispatch, NULL));
	for (k = 0; k < ARRAY_SIZE(alone_at_once); k++)
		alone_batches(&relayed.ns[k], alone_at_once[k], false);
	__atomic_store_n(&relayed.want, U32_MAX, __ATOMIC_RELEASE);
	pthread_join(dispatcher, NULL);
	relayed.want = 0;
	for (k = 0; k < ARRAY_SIZE(alone_at_once); k++)
		alone_batches(&relayed.cached[k], alone_at_once[k], true);
	bench_start(&bench, false);
}

static void alone_rows(void)
{
	char name[96];
	u32 k;

	for (k = 0; k < ARRAY_SIZE(alone_at_once); k++) {
		snprintf(name, sizeof(name), "dispatcher alone, 16 cores, %u at once", alone_at_once[k]);
		rows_value(name, "ns", NULL, &relayed.ns[k], k ? 31 : 0, true);
		snprintf(name, sizeof(name), "dispatcher alone, 16 cores, %u at once, all cached",
			 alone_at_once[k]);
		rows_value(name, "ns", NULL, &relayed.cached[k], 0, true);
	}
}

#endif
