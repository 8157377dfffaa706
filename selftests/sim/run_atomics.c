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
#include "runs.h"

#define WORDS	2
#define OPS	6		/* of each life of a node */
#define OPEN_TRIES	1000

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
	check_initial(&run_history, check_key_of(&run_history, "word0"), 0);
	check_initial(&run_history, check_key_of(&run_history, "word1"), 0);
	memset(home, 0, sizeof(home));
}

static void one(struct rmc_qp *qp, char *lbuf)
{
	static const enum check_kind kinds[] = { CHECK_ADD, CHECK_ADD, CHECK_CAS, CHECK_READ,
						 CHECK_WRITE };
	enum check_kind k = kinds[rmc_sim_random() % (writes ? 5 : 4)];
	int w = rmc_sim_random() % WORDS, err;
	uint64_t *value = (uint64_t *)lbuf, got = 0, arg, expected;
	int64_t op = run_begin(k, w);

	arg = k == CHECK_ADD ? 1 : rmc_sim_random();
	/* the latest value, which is mostly still current */
	expected = __atomic_load_n(&home[w], __ATOMIC_RELAXED);
	/* others may move the entries while this one waits */
	run_history.op[op].arg = arg;
	run_history.op[op].expected = expected;
	switch (k) {
	case CHECK_ADD:
		err = rmc_faa(qp, 0, w * 8, arg, &got);
		break;
	case CHECK_CAS:
		err = rmc_cas(qp, 0, w * 8, expected, arg, &got);
		break;
	case CHECK_READ:
		err = rmc_read(qp, 0, w * 8, lbuf, 8);
		got = *value;
		break;
	default:
		*value = arg;
		err = rmc_write(qp, 0, w * 8, lbuf, 8);
	}
	if (k != CHECK_WRITE) {
		run_history.op[op].known = CHECK_VALUE;
		run_history.op[op].got = got;
	}
	if (!err)
		run_end(op);
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
	int64_t op;
	int w;

	/* what the words are in the end is a last read */
	for (w = 0; w < WORDS; w++) {
		op = check_begin(&run_history, 0, CHECK_READ, w, 1ULL << 62);
		RUN_CHECK(op >= 0, "out of memory");
		if (op < 0)
			return;
		run_history.op[op].complete = 1ULL << 62;
		run_history.op[op].known = CHECK_VALUE;
		run_history.op[op].got = home[w];
	}
	run_check_history();
}

const struct run_kind run_atomics = {
	.name = "atomics", .plan = plan, .member = member, .again = member, .check = check,
};
