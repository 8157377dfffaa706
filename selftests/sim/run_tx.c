// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions: members append numbers to lists and read them. The history is strictly
 * serializable, with each of the systems. In half of the runs packets are often lost and time
 * limits are short, so that several writes are in doubt at once; a member may run a second
 * transaction where the first one waits. No node crashes: selftests/lib/test_tx_faults.c has that,
 * step by step.
 */
#include <stdio.h>
#include <stdlib.h>
#include "runs.h"

#define LISTS	6
#define ROOM	30		/* elements: 248 bytes, five lines */
#define OPS	25		/* of each member */
#define PARTS	3
#define SLOTS	2

struct list {
	uint64_t n, element[ROOM];
};

struct part {
	int list, append, known;
	uint64_t value;
	struct list seen;
};

struct transaction {
	struct part part[PARTS];
	int parts;
};

struct member {
	struct rmc_tx_db *db;
	uint64_t number;
	uint32_t nid;
	int depth;	/* transactions, one inside the other */
};

static const char *const systems[] = { "sw", "sw", "hades", "rmc" };
static const char *name;	/* of the system, of all members */
static int finished, slots;

static void plan(void)
{
	char key[16];
	int k;

	for (k = 0; k < LISTS; k++) {
		snprintf(key, sizeof(key), "l%d", k);
		check_key_of(&run_history, key);
	}
	finished = 0;
	slots = 1 + run_choose(SLOTS);
	name = systems[run_choose(4)];
	if (run_choose(2))
		return;
	run.o.loss = 20000 + run_choose(80000);
	run.o.timeout_ms = 3;
}

static int body(struct rmc_tx *t, void *arg)
{
	struct transaction *m = arg;
	const struct list *list;
	struct part *p;
	int err;

	for (p = m->part; p < m->part + m->parts; p++)
		p->known = 0;
	for (p = m->part; p < m->part + m->parts; p++) {
		err = rmc_tx_get(t, rmc_tx_record(0, p->list), sizeof(*list), (const void **)&list);
		if (err)
			return err;
		p->seen = *list;
		p->known = 1;
		if (!p->append)
			continue;
		if (p->seen.n >= ROOM)
			return RMC_TX_ABORT;
		p->seen.element[p->seen.n++] = p->value;
		err = rmc_tx_put(t, rmc_tx_record(0, p->list), &p->seen, sizeof(p->seen));
		if (err)
			return err;
	}
	return 0;
}

static void record(const struct transaction *m, uint32_t client, uint64_t invoke, int err)
{
	const struct part *p;

	if (check_txn(&run_history, client, invoke, rmc_sim_now(),
		      err ? CHECK_ABORTED : CHECK_COMMITTED) < 0)
		abort();
	for (p = m->part; p < m->part + m->parts; p++)
		if (p->append)
			check_append(&run_history, p->list, p->value);
		else
			check_list(&run_history, p->list, p->seen.element,
				   err || !p->known ? CHECK_NONE : p->seen.n);
}

static void one(struct member *in)
{
	uint32_t client = in->nid * SLOTS + in->depth;
	struct transaction m = { .parts = 1 + rmc_sim_random() % PARTS };
	int reads = !(rmc_sim_random() % 4), i, err;
	uint64_t invoke = rmc_sim_now();

	in->depth++;
	for (i = 0; i < m.parts; i++) {
		m.part[i].list = rmc_sim_random() % LISTS;
		m.part[i].append = !reads && rmc_sim_random() % 2;
		m.part[i].value = ++in->number * RUN_NODES + in->nid;
	}
	err = rmc_tx_run(in->db, body, &m);
	/* it may be in conflict with the one that it runs inside of */
	RUN_CHECK(!err || err == RMC_TX_ABORT || (slots > 1 && err == RMC_TX_SQUASHED), "%s",
		  rmc_strerror(err));
	record(&m, client, invoke, err);
	in->depth--;
}

static void run_inside(void *arg)
{
	struct member *m = arg;

	if (m->depth == 1 && !(rmc_sim_random() % 16))
		one(m);
}

static void member(void *arg)
{
	const struct rmc_tx_table table = { .records = LISTS, .bytes = sizeof(struct list) };
	struct member m = { .nid = rmc_sim_nid() };
	struct rmc_tx_options o = {
		.system = name, .table = &table, .tables = 1, .slots = slots,
		.attempts = slots > 1 ? 30 : 0,
		.wait = slots > 1 ? run_inside : NULL, .wait_arg = &m,
		.flags = rmc_sim_random() % 2 ? RMC_TX_ALL_REMOTE : 0,
	};
	struct rmc_team *t = rmc_team_open(0, rmc_tx_bytes(run.o.nodes, &o));
	struct rmc_tx_db *db = t ? rmc_tx_open(t, &o) : NULL;
	struct list empty = { 0 };
	int i, err;

	(void)arg;
	RUN_CHECK(db, "%s", rmc_errmsg());
	if (!db)
		return;
	m.db = db;
	for (i = 0; i < LISTS; i++)
		if (rmc_tx_home(db, rmc_tx_record(0, i)) == t->self) {
			err = rmc_tx_load(db, rmc_tx_record(0, i), &empty, sizeof(empty));
			RUN_CHECK(!err, "%s", rmc_strerror(err));
		}
	err = rmc_team_barrier(t);
	RUN_CHECK(!err, "%s", rmc_strerror(err));
	for (i = 0; i < OPS && !run.failed; i++) {
		one(&m);
		rmc_sim_compute(rmc_sim_random() % 3000);
	}
	err = rmc_tx_quiet(db);
	RUN_CHECK(!err, "%s", rmc_strerror(err));
	finished++;
	/* closed with the simulation: others may still read */
}

static void check(void)
{
	struct check_options o = { .strict = true };
	struct check_result r;
	int err;

	RUN_CHECK(finished == (int)run.o.nodes, "%d finished", finished);
	err = check_serial(&run_history, &o, &r);
	RUN_CHECK(!err, "transactions that cannot be, or of one client at once: %d", err);
	RUN_CHECK(err || r.verdict == CHECK_OK, "no order explains the history");
}

const struct run_kind run_tx = {
	.name = "tx", .plan = plan, .member = member, .check = check,
};
