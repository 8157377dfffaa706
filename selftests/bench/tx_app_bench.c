// SPDX-License-Identifier: GPL-2.0
/*
 * What the RMC's transactions cost an application, beside reads (Documentation/tx.rst): TX_READ
 * beside READ, and a commit until it is decided beside a blocking read and an operation on one's
 * own node. All of them are packets, but for that operation. Each ratio is a median over pairs of
 * samples that follow each other, because this machine may be a VM whose CPUs move.
 *
 *	build/host/tx_app_bench [--quick] [--check]
 *
 * --check: exit status 1 when a ratio is more than it may be.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include "harness.h"
#include "kmod/core/tx_homes.h"
#include "kmod/core/tx_slots.h"

#define SEGMENT		(1UL << 20)
#define CACHED		(16UL << 10)
#define LINES		(CACHED / 64)
/* Many short samples: the median ignores those that were preempted. */
#define SAMPLES		401
#define OPERATIONS	40
#define SLOTS		8
#define RECORD		(16UL << 10)	/* in the local buffer */

enum what { READ, TX_READ, LOCAL, COMMIT, VALIDATE, ROUND, WHATS };

static bool check, missed;
static struct rmc_tx_slots *slots;
static struct rmc_tx_home *home;
static struct rmc_mem *own;

static int cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, int n)
{
	qsort(v, n, sizeof(*v), cmp);
	return v[n / 2];
}

/* The worker may change it at any time; all is over when both say so. */
static void wait_until_over(void)
{
	const struct rmc_client *c = &slots->engine->client;

	while (READ_ONCE(slots->busy) || READ_ONCE(c->head) != READ_ONCE(c->tail))
		;
}

static void execute(struct bench *b, u32 op, u32 nid, u64 offset, const void *lbuf, u32 length)
{
	int status;

	/* others have not unlocked the line, or left the slot: commits one after another */
	do
		status = rmc_execute(&b->app.qp, op, nid, offset, lbuf, length);
	while (status == RMC_S_TX_LOCKED || status == RMC_S_BUSY);
	if (status) {
		printf("operation %u ended with status %d\n", op, status);
		exit(1);
	}
}

static void make_record(struct bench *b, u32 ranges)
{
	struct rmc_tx_commit *c = (struct rmc_tx_commit *)(b->app.lbuf + RECORD);
	struct rmc_tx_item *item = (struct rmc_tx_item *)(c + 1);

	memset(c, 0, sizeof(*c));
	c->count = ranges;
	if (ranges)
		*item = (struct rmc_tx_item){ .nid = b->app.target, .length = 8 };
}

static void commit(struct bench *b, u32 slot, u32 ranges)
{
	struct rmc_tx_commit *c = (struct rmc_tx_commit *)(b->app.lbuf + RECORD);
	struct rmc_tx_item *item = (struct rmc_tx_item *)(c + 1);

	if (ranges)
		item->offset = bench_random() % LINES * 64;
	execute(b, RMC_OP_TX_COMMIT, slot, 0, c, sizeof(*c) + ranges * (sizeof(*item) + 8));
}

/* One of them; returns its nanoseconds */
static u64 one(struct bench *b, enum what what)
{
	u64 offset = bench_random() % LINES * 64, t0 = bench_now();

	switch (what) {
	case READ:
		execute(b, RMC_OP_READ, b->app.target, offset, b->app.lbuf, 64);
		break;
	case TX_READ:
		execute(b, RMC_OP_TX_READ, b->app.target, offset, b->app.lbuf,
			rmc_tx_length(0, 64));
		break;
	case LOCAL:
		execute(b, RMC_OP_READ, 0, offset, b->app.lbuf, 64);
		break;
	case COMMIT:
		commit(b, 0, 1);
		break;
	default:
		commit(b, 0, 0);
		break;
	}
	*(volatile u64 *)b->app.lbuf;
	return bench_now() - t0;
}

/* Mean of a sample. Of a commit nothing is left at other nodes when the next one begins. */
static double sample(struct bench *b, enum what what)
{
	u64 sum = 0, t;
	int i;

	bench_packets(&b->w, what != LOCAL);
	make_record(b, what == COMMIT || what == ROUND);
	for (i = -2; i < OPERATIONS; i++) {
		if (what == VALIDATE)
			one(b, TX_READ);
		t = what == ROUND ? 0 : one(b, what);
		if (what == COMMIT || what == VALIDATE)
			wait_until_over();
		if (i >= 0)
			sum += t;
	}
	if (what == TX_READ) {
		execute(b, RMC_OP_TX_ABORT, 0, 0, NULL, 0);
		wait_until_over();
	}
	if (what == ROUND) {
		/* one after another, in the slots in turn: what is left overlaps */
		t = bench_now();
		for (i = 0; i < OPERATIONS; i++)
			commit(b, i % SLOTS, 1);
		sum = bench_now() - t;
		wait_until_over();
	}
	return (double)sum / OPERATIONS;
}

static void report(const char *name, double ns, double is, const char *of, double most)
{
	bool more = most && is > most;

	printf("%-34s %8.0f ns %6.2f x %-32s", name, ns, is, of);
	if (most)
		printf(" at most %.2f%s", most, more ? " MISSED" : "");
	printf("\n");
	missed |= more;
}

static void attach(struct bench *b)
{
	const struct rmc_tx_engine_opts opts = {
		.slots = SLOTS, .bytes = 4096, .order = 5, .resend_ms = 100,
	};
	struct rmc_tx_limits limits = { .length = CACHED, .groups = 2 };
	struct rmc_qpair *qp = &b->app.a.qp;
	u64 mask;

	home = rmc_tx_home_create(b->w.node[1], 0, b->seg, &limits, NULL);
	bench_check(IS_ERR(home));
	bench_check(rmc_tx_homes_add(b->w.node[1], home));
	slots = rmc_tx_slots_create(qp->node, 0, &opts);
	bench_check(IS_ERR(slots));
	bench_check(rmc_ni_add_slots(qp->node->req_worker, slots));
	bench_check(rmc_tx_attach(qp, slots, SLOTS, &mask));
	own = mem_make(bench_segment + SEGMENT / 2, SEGMENT / 2, 12, 0);
	seg_set(&b->w, 0, 0, own);
}

static void measure(struct bench *b)
{
	static double ns[WHATS][SAMPLES], ratio[WHATS][SAMPLES];
	int n = bench_quick ? SAMPLES / 4 : SAMPLES, k;
	enum what what;

	for (k = 0; k < n; k++) {
		for (what = 0; what < WHATS; what++)
			ns[what][k] = sample(b, what);
		ratio[TX_READ][k] = ns[TX_READ][k] / ns[READ][k];
		ratio[COMMIT][k] = ns[COMMIT][k] / (ns[READ][k] + ns[LOCAL][k]);
		ratio[VALIDATE][k] = ns[VALIDATE][k] / (ns[READ][k] + ns[LOCAL][k]);
		ratio[ROUND][k] = ns[ROUND][k] / ns[READ][k];
	}
	report("read, 64 B", median(ns[READ], n), 1, "itself", 0);
	report("read of the own node, 64 B", median(ns[LOCAL], n),
	       median(ns[LOCAL], n) / median(ns[READ], n), "read", 0);
	report("TX_READ, 64 B", median(ns[TX_READ], n), median(ratio[TX_READ], n), "read", 1.15);
	report("commit of 8 B, until decided", median(ns[COMMIT], n), median(ratio[COMMIT], n),
	       "read and one of the own node", 1.1);
	report("commit of nothing, a line was read", median(ns[VALIDATE], n),
	       median(ratio[VALIDATE], n), "read and one of the own node", 1.1);
	report("commits of 8 B, one after another", median(ns[ROUND], n), median(ratio[ROUND], n),
	       "read", 0);
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "check", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct bench b;
	int c;

	while ((c = getopt_long(argc, argv, "qch", longopts, NULL)) != -1) {
		if (c == 'q') {
			bench_quick = true;
		} else if (c == 'c') {
			check = true;
		} else {
			printf("usage: tx_app_bench [--quick] [--check]\n");
			return c == 'h' ? 0 : 2;
		}
	}
	if (bench_setup(SEGMENT) < 2)
		return 4;
	memset(bench_segment, 0, SEGMENT);
	bench_init(&b, 2, "fused", 4096);
	attach(&b);
	bench_start(&b, false);
	measure(&b);
	testbed_stop(&b.w);
	rmc_ni_del_qp(rmc_qp_worker(&b.app.a.qp), &b.app.a.qp);
	rmc_ni_del_slots(slots->unit->req_worker, slots);
	rmc_tx_slots_destroy(slots);
	return check && missed;
}
