// SPDX-License-Identifier: GPL-2.0
/*
 * The key-value store: members get, put and delete a few keys at once. An order must exist that
 * explains the results for each key. If a key's owner crashes, this holds until then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lin.h"
#include "runs.h"

#define KEYS	3
#define OPS	9		/* of each member: all of them may use one key */

static struct lin history[KEYS];
static int finished;

static void plan(void)
{
	int k;

	memset(history, 0, sizeof(history));
	for (k = 0; k < KEYS; k++)
		history[k].initial = LIN_ABSENT;
	finished = 0;
	if (!run_choose(3))
		run.crash_ns = 2000000 + run_choose(3000000);
}

/* Errors after which the operation may or may not have taken effect */
static bool unknown(int err)
{
	return err == RMC_S_NODE_DOWN || err == RMC_S_SABRE_LOST || err == RMC_S_TIMEOUT ||
	       err == RMC_S_BAD_CONTEXT || err == RMC_S_ABORTED || err == -ETIMEDOUT ||
	       err == -EAGAIN || err == -ECONNABORTED;
}

static void one(struct rmc_kv *kv, uint64_t number)
{
	static const enum lin_kind kinds[] = { LIN_READ, LIN_READ, LIN_WRITE, LIN_WRITE,
					       LIN_DELETE };
	enum lin_kind what = kinds[rmc_sim_random() % 5];
	int k = rmc_sim_random() % KEYS, err;
	struct lin_op *op = lin_add(&history[k], what, rmc_sim_now());
	const void *value = NULL;
	uint64_t words[8];
	size_t len = 0, i;
	char key[16];

	if (!op)
		return;
	snprintf(key, sizeof(key), "key %d", k);
	op->arg = number;
	switch (what) {
	case LIN_READ:
		err = rmc_kv_get(kv, key, strlen(key), &value, &len);
		op->got = LIN_ABSENT;
		if (!err) {
			/* a value of several lines is also from a single put */
			memcpy(words, value, len < sizeof(words) ? len : sizeof(words));
			op->got = words[0];
			for (i = 1; i < len / 8; i++)
				RUN_CHECK(words[i] == words[0], "%s is torn", key);
		}
		break;
	case LIN_WRITE:
		for (i = 0; i < 8; i++)
			words[i] = number;
		err = rmc_kv_put(kv, key, strlen(key), words, 8 * (1 + number % 8));
		break;
	default:
		err = rmc_kv_delete(kv, key, strlen(key));
		op->got = err != -ENOENT;
	}
	if (err == -ENOENT && what != LIN_WRITE)
		err = 0;
	if (!err)
		op->end = rmc_sim_now();
	RUN_CHECK(!err || unknown(err), "%s of operation %d", rmc_strerror(err), what);
	/*
	 * On links that lose no packet and keep their order, all operations succeed. On other
	 * links a SABRe's data requests may overtake its announcement, and it fails.
	 */
	RUN_CHECK(!err || run.crash_ns || run.o.loss || run.o.reorder || run.o.jitter_ns,
		  "%s of operation %d", rmc_strerror(err), what);
}

static void member(void *arg)
{
	struct rmc_kv_options o = { .objects = 64, .value_max = 64, .key_max = 16 };
	struct rmc_team_options to = {
		.ctx_id = 0, .numa_node = -1, .flags = RMC_TEAM_OBJECTS,
	};
	struct rmc_team *t = rmc_team_open_with(&to, rmc_kv_bytes(run.o.nodes, &o));
	struct rmc_kv *kv = t ? rmc_kv_open(t, &o) : NULL;
	int i, err;

	(void)arg;
	/* if a member crashes while the team opens, the others wait and then give up */
	RUN_CHECK(kv || run.crash_ns, "%s", rmc_errmsg());
	if (!kv)
		return;
	rmc_kv_set_timeout(kv, 3000);
	for (i = 0; i < OPS && !run.failed; i++) {
		one(kv, (uint64_t)(t->self + 1) * 1000 + i);
		rmc_sim_compute(rmc_sim_random() % 3000);
		err = rmc_kv_progress(kv);
		RUN_CHECK(err >= 0 || run.crash_ns, "progress: %s", rmc_strerror(err));
	}
	err = rmc_kv_barrier(kv);
	RUN_CHECK(!err || run.crash_ns, "barrier: %s", rmc_strerror(err));
	finished++;
	/* closed with the simulation: others may still read */
}

static void check(void)
{
	int k;

	RUN_CHECK(finished == (int)run.o.nodes || run.crash_ns, "%d finished", finished);
	for (k = 0; k < KEYS && !run.failed; k++) {
		bool good = lin_check(&history[k]);

		RUN_CHECK(good, "key %d has a history that no order explains:", k);
		if (!good)
			lin_print(&history[k]);
	}
}

const struct run_kind run_kv = {
	.name = "kv", .plan = plan, .member = member, .check = check,
};
