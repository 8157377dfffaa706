// SPDX-License-Identifier: GPL-2.0
/*
 * Fetch-and-add, compare-and-swap, reads and writes of two words on node 0, by all nodes at
 * once, while packets are lost and duplicated, and nodes pause, crash and restart. Clients
 * crash, and so does node 0, whose words are in memory that survives.
 *
 * An order must exist that explains the result and the time of each operation. An operation
 * that ended without a result, or never ended, may or may not have taken effect.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lin.h"
#include "runs.h"

#define WORDS	2
#define OPS	(LIN_MAX / 2 / RUN_NODES)	/* of each life of a node */
#define OPEN_TRIES	1000

static struct lin word[WORDS];
static bool writes;		/* plain writes as well */
static _Alignas(64) uint64_t home[512];

static void plan(void)
{
	if (run_choose(2)) {
		run.crash_ns = 100000 + run_choose(3000000);
		if (!run.victim || run_choose(2))
			run.restart_ns = run.crash_ns + 1000000 + run_choose(200) * 1000000;
	}
	/* also with time-outs shorter than the operations take */
	if (run_choose(2))
		run.o.timeout_ms = 2;
	/*
	 * A write that is retransmitted because its reply was lost stores a second time, over
	 * later writes of others: with several writers of a word no order explains that.
	 * Atomics are never retransmitted.
	 */
	writes = run_choose(2);
	if (writes)
		run.o.retries = 0;
	memset(word, 0, sizeof(word));
	memset(home, 0, sizeof(home));
}

static void one(struct rmc_qp *qp, char *lbuf)
{
	static const enum lin_kind kinds[] = { LIN_ADD, LIN_ADD, LIN_CAS, LIN_READ, LIN_WRITE };
	enum lin_kind k = kinds[rmc_sim_random() % (writes ? 5 : 4)];
	int w = rmc_sim_random() % WORDS, err;
	uint64_t *value = (uint64_t *)lbuf, got = 0;
	struct lin_op *op = lin_add(&word[w], k, rmc_sim_now());

	if (!op)
		return;
	op->arg = k == LIN_ADD ? 1 : rmc_sim_random();
	switch (k) {
	case LIN_ADD:
		err = rmc_faa(qp, 0, w * 8, op->arg, &got);
		break;
	case LIN_CAS:
		/* the latest value, which is mostly still current */
		op->expected = __atomic_load_n(&home[w], __ATOMIC_RELAXED);
		err = rmc_cas(qp, 0, w * 8, op->expected, op->arg, &got);
		break;
	case LIN_READ:
		err = rmc_read(qp, 0, w * 8, lbuf, 8);
		got = *value;
		break;
	default:
		*value = op->arg;
		err = rmc_write(qp, 0, w * 8, lbuf, 8);
	}
	op->got = got;
	if (!err)
		op->end = rmc_sim_now();
	/* BAD_CONTEXT: the node has booted, and not registered its segment yet */
	RUN_CHECK(!err || err == RMC_S_TIMEOUT || err == RMC_S_NODE_DOWN ||
		  (err == RMC_S_BAD_CONTEXT && !run.victim && run.crash_ns),
		  "%s of operation %d", rmc_strerror(err), k);
	/* the node may come back */
	if (err)
		rmc_sim_sleep_until(rmc_sim_now() + 20000000);
}

static void client(void)
{
	struct rmc_ctx *c = rmc_open(0, -1);
	struct rmc_qp *qp = c ? rmc_qp_create(c, 8) : NULL;
	char *lbuf = aligned_alloc(64, 64);
	int i, err = RMC_S_NODE_DOWN;

	RUN_CHECK(qp && lbuf && rmc_buf_register(c, lbuf, 64) >= 0, "%s", rmc_errmsg());
	if (run.failed)
		return;
	/* until the node has joined and its peer has registered the segment */
	for (i = 0; err && i < OPEN_TRIES; i++) {
		err = rmc_read(qp, 0, 64, lbuf, 8);
		if (err)
			rmc_sim_sleep_until(rmc_sim_now() + 1000000);
	}
	RUN_CHECK(!err, "the node never gets through: %s", rmc_strerror(err));
	for (i = 0; i < OPS && !run.failed; i++) {
		one(qp, lbuf);
		rmc_sim_compute(rmc_sim_random() % 3000);
	}
	rmc_close(c);
	free(lbuf);
}

static void serve(void)
{
	struct rmc_ctx *c = rmc_open(0, -1);

	RUN_CHECK(c && !rmc_seg_register(c, home, sizeof(home), 0), "%s", rmc_errmsg());
	/* in a real program the queue pair ends with the thread; here with the simulation */
}

static void member(void *arg)
{
	(void)arg;
	if (rmc_sim_nid())
		client();
	else
		serve();
}

static void check(void)
{
	int w;

	for (w = 0; w < WORDS; w++) {
		bool good;
		struct lin_op *op = lin_add(&word[w], LIN_READ, 1ULL << 62);

		if (op) {
			op->got = home[w];
			op->end = (1ULL << 62) + 1;
		}
		good = lin_check(&word[w]);
		RUN_CHECK(good, "word %d has a history that no order explains:", w);
		if (!good)
			lin_print(&word[w]);
	}
}

const struct run_kind run_atomics = {
	.name = "atomics", .plan = plan, .member = member, .again = member, .check = check,
};
