// SPDX-License-Identifier: GPL-2.0
/*
 * The key-value store: members get, put and delete a few keys at once. An order must exist that
 * explains the results for each key. If a key's owner crashes, this holds until then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runs.h"

#define KEYS	3
#define OPS	9		/* of each member */

static int finished;

static void plan(void)
{
	char key[16];
	int k;

	for (k = 0; k < KEYS; k++) {
		snprintf(key, sizeof(key), "key%d", k);
		check_key_of(&run_history, key);
	}
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
	static const enum check_kind kinds[] = { CHECK_READ, CHECK_READ, CHECK_WRITE, CHECK_WRITE,
						 CHECK_DELETE };
	enum check_kind what = kinds[rmc_sim_random() % 5];
	int k = rmc_sim_random() % KEYS, err;
	const char *key = check_name(&run_history, k);
	int64_t op = run_begin(what, k);
	uint64_t words[8] = { 0 };
	const void *value = NULL;
	size_t len = 0, i;

	switch (what) {
	case CHECK_READ:
		err = rmc_kv_get(kv, key, strlen(key), &value, &len);
		if (!err) {
			/* a value of several lines is also from a single put */
			memcpy(words, value, len < sizeof(words) ? len : sizeof(words));
			for (i = 1; i < len / 8; i++)
				RUN_CHECK(words[i] == words[0], "%s is torn", key);
		}
		break;
	case CHECK_WRITE:
		run_history.op[op].arg = number;
		for (i = 0; i < 8; i++)
			words[i] = number;
		err = rmc_kv_put(kv, key, strlen(key), words, 8 * (1 + number % 8));
		break;
	default:
		err = rmc_kv_delete(kv, key, strlen(key));
	}
	if (what == CHECK_READ) {
		run_history.op[op].known = err ? CHECK_ABSENT : CHECK_VALUE;
		run_history.op[op].got = words[0];
	} else if (what == CHECK_DELETE) {
		run_history.op[op].known = err ? CHECK_REFUSED : CHECK_DONE;
	}
	if (err == -ENOENT && what != CHECK_WRITE)
		err = 0;
	if (!err)
		run_end(op);
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
	RUN_CHECK(finished == (int)run.o.nodes || run.crash_ns, "%d finished", finished);
	run_check_history();
}

const struct run_kind run_kv = {
	.name = "kv", .plan = plan, .member = member, .check = check,
};
