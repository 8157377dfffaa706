// SPDX-License-Identifier: GPL-2.0
/*
 * Applications of all nodes transfer money in transactions, by entries of their queue pairs: over
 * links that lose, double and disorder, and rings of a few packets. The sum stays.
 */
#include "tx_apps.h"

u32 rmc_no_user_memory;

#define ACCOUNTS	4	/* per node, each in a line of its own */
#define MONEY		1000

/* An application that moves money, each slot by itself */
struct mover {
	struct tx_app p;
	u32 state[2], from[2][2], to[2][2];
	u32 entry[2][2];
	u32 committed, squashed;
};

static u32 account(u32 i)
{
	return TX_START + 64 * i;
}

static void begin(struct tx_bed *b, struct mover *m, u32 i, u64 *seed)
{
	u32 slot = tx_app_slot(&m->p, i);

	m->from[i][0] = rmc_random32(seed) % b->nodes;
	m->from[i][1] = rmc_random32(seed) % ACCOUNTS;
	m->to[i][0] = rmc_random32(seed) % b->nodes;
	m->to[i][1] = (m->from[i][1] + 1) % ACCOUNTS;
	/* one's buffer has a part for each slot */
	m->entry[i][0] = tx_app_post(&m->p, RMC_OP_TX_READ, m->from[i][0], account(m->from[i][1]),
				     m->p.buf + 4096 * i, rmc_tx_length(slot, 8));
	m->entry[i][1] = tx_app_post(&m->p, RMC_OP_TX_OWN, m->to[i][0], account(m->to[i][1]),
				     m->p.buf + 4096 * i + 8, rmc_tx_length(slot, 8));
	m->state[i] = 1;
}

static void transfer(struct mover *m, u32 i)
{
	u64 from = tx_app_word(&m->p, 4096 * i) - 1, to = tx_app_word(&m->p, 4096 * i + 8) + 1;

	tx_app_begin(&m->p, 2);
	tx_app_item(&m->p, 0, m->from[i][0], account(m->from[i][1]), &from, 8);
	tx_app_item(&m->p, 1, m->to[i][0], account(m->to[i][1]), &to, 8);
	/* the other slot may make one before this one is taken */
	memcpy(m->p.buf + 8192 * (i + 1), tx_app_record(&m->p), m->p.at);
	m->entry[i][0] = tx_app_post(&m->p, RMC_OP_TX_COMMIT, tx_app_slot(&m->p, i), 0,
				     m->p.buf + 8192 * (i + 1), m->p.at);
}

/* The status of an entry that the other slot has not looked at yet is kept: none is posted there. */
static bool may_post(const struct mover *m, u32 i)
{
	u32 n, k, entry, more = m->state[i] ? 1 : 2, used[] = { 0, 2, 1, 1 };

	for (n = 0; n < more; n++) {
		entry = (m->p.a.head + n) % APP_ENTRIES;
		for (k = 0; k < used[m->state[!i]]; k++)
			if (m->entry[!i][k] == entry)
				return false;
	}
	return tx_app_may_post(&m->p, more);
}

static void move(struct tx_bed *b, struct mover *m, u32 i, u64 *seed)
{
	int *status = m->p.status;
	u32 *entry = m->entry[i];
	bool failed;

	if (m->state[i] < 2 && !may_post(m, i))
		return;
	switch (m->state[i]) {
	case 0:
		begin(b, m, i, seed);
		break;
	case 1:
		if (status[entry[0]] < 0 || status[entry[1]] < 0)
			break;
		failed = status[entry[0]] || status[entry[1]];
		if (failed)
			entry[0] = tx_app_abort_post(&m->p, tx_app_slot(&m->p, i));
		else
			transfer(m, i);
		m->state[i] = failed ? 3 : 2;
		break;
	case 2:
	case 3:
		if (status[entry[0]] < 0)
			break;
		m->committed += m->state[i] == 2 && !status[entry[0]];
		m->squashed += m->state[i] == 3 || status[entry[0]];
		m->state[i] = 0;
		break;
	}
}

/* Transfers of all nodes at once, and the sum of the money; returns how many have committed. */
static u32 transfers(struct tx_apps *t, u32 wanted, u32 *squashed)
{
	static struct mover m[TX_NODES];
	u64 seed = 4101842887655102017ULL, sum = 0;
	u32 i, j, n, total = 0, left = 1;
	struct tx_bed *b = &t->b;

	memset(m, 0, sizeof(m));
	for (i = 0; i < b->nodes; i++) {
		for (j = 0; j < ACCOUNTS; j++)
			*(u64 *)(b->n[i].seg + account(j)) = MONEY;
		tx_app_init(&m[i].p, t, i, 2);
	}
	for (n = 0; n < 400000 && (total < wanted || left); n++) {
		for (total = 0, left = 0, i = 0; i < b->nodes; i++)
			total += m[i].committed;
		for (i = 0; i < b->nodes; i++) {
			tx_app_poll(&m[i].p);
			for (j = 0; j < 2; j++) {
				if (m[i].state[j] || total < wanted)
					move(b, &m[i], j, &seed);
				left |= m[i].state[j];
			}
		}
		bed_step(b);
	}
	CHECK(!left);
	CHECK(apps_idle(t, false));
	for (i = 0; i < b->nodes; i++) {
		for (j = 0; j < ACCOUNTS; j++)
			sum += word_at(b, i, account(j));
		*squashed += m[i].squashed;
		tx_app_fini(&m[i].p);
	}
	CHECK_EQ(sum, (u64)MONEY * b->nodes * ACCOUNTS);
	return total;
}

static void faults(struct tx_bed *b, const struct rmc_fault *f)
{
	u32 i, j;

	for (i = 0; i < b->nodes; i++)
		for (j = 0; j < b->nodes; j++) {
			fault_set(&b->w, i, j, RMC_LANE_REQ, f, 7 + i * 5 + j);
			fault_set(&b->w, i, j, RMC_LANE_REP, f, 77 + i * 5 + j);
		}
}

/* Lost, doubled, in disorder, tiny rings: each transaction still ends one way at all nodes. */
static void test_transfers(const struct testbed_opts *o)
{
	static const struct rmc_fault kinds[] = {
		{ },
		{ .loss = 30000 },
		{ .dup = 200000, .gap_ns = 3000000, .shuffle = 300000, .loss = 10000 },
	};
	struct testbed_opts tiny = *o;
	struct rmc_fault none = { };
	u32 i, squashed = 0;
	struct tx_apps t;

	tiny.ring_order = 2;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		rmc_filters = i != 0;
		apps_make(&t, i & 1 ? &tiny : o, 3, false, &slots_opts);
		apps_timeouts(&t, 16, i == 2);
		if (i)
			faults(&t.b, &kinds[i]);
		CHECK(transfers(&t, i ? 60 : 200, &squashed) >= 60);
		if (i)
			faults(&t.b, &none);
		apps_free(&t);
	}
	CHECK(squashed > 0);
}

/* Milliseconds until an entry completes, without costs of software */
static u32 ms_of(struct tx_app *p, u32 entry, int status)
{
	u32 ms, i;

	for (ms = 0; ms < 1000; ms++) {
		for (i = 0; i < 64; i++)
			testbed_visit(&p->b->w);
		tx_app_poll(p);
		if (p->status[entry] >= 0)
			break;
		testbed_tick(&p->b->w, 1);
	}
	CHECK_EQ(p->status[entry], status);
	return ms;
}

/* With the link model: a commit is decided after one round trip, whatever the number of nodes. */
static void test_round_trips(const struct testbed_opts *o)
{
	struct rmc_model m = { .topology = RMC_TOPOLOGY_CROSSBAR, .hop_ns = 5000000 };
	u32 nodes, i, slot, read, commit;
	struct tx_app p;
	struct tx_apps t;

	rmc_filters = 1;
	apps_make(&t, o, TX_NODES, false, &slots_opts);
	apps_timeouts(&t, 1000, 0);
	tx_app_init(&p, &t, 0, 8);
	model_set(&t.b.w, &m);
	read = ms_of(&p, tx_app_post(&p, RMC_OP_READ, 1, TX_START, p.buf, 64), RMC_S_OK);
	CHECK(read >= 10);
	for (nodes = 1; nodes < TX_NODES; nodes++) {
		slot = tx_app_slot(&p, nodes);
		for (i = 1; i <= nodes; i++)
			CHECK_EQ(ms_of(&p, tx_app_get(&p, RMC_OP_TX_READ, slot, i, TX_START, 64), RMC_S_OK),
				 read);
		/* and one's own, which is asked first and takes no time */
		CHECK_EQ(ms_of(&p, tx_app_get(&p, RMC_OP_TX_READ, slot, 0, TX_START, 64), RMC_S_OK), 0);
		tx_app_begin(&p, nodes + 1);
		for (i = 0; i <= nodes; i++)
			tx_app_item(&p, i, i, TX_START, &(u64){ nodes }, 8);
		commit = ms_of(&p, tx_app_commit_post(&p, slot), RMC_S_OK);
		CHECK(commit >= read && commit <= read + 1);
		CHECK(apps_idle(&t, false));
		CHECK_EQ(word_at(&t.b, nodes, TX_START), nodes);
	}
	tx_app_fini(&p);
	apps_free(&t);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "transfers of all nodes, also over links that lose and double", test_transfers },
		{ "round trips of a commit", test_round_trips },
	};
	static const struct testbed_opts opts[] = {
		{ .ni = "fused", .mtu = 4096 },
		{ .ni = "pair", .mtu = 64 },
		{ .ni = "split", .mtu = 512 },
		{ .ni = "edge", .units = 2, .mtu = 512 },
		{ .ni = "per_tile", .units = 4, .mtu = 64, .interleave = 256 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
