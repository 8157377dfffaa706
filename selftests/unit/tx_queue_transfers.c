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

static void move(struct tx_bed *b, struct mover *m, u32 i, u64 *seed)
{
	int *status = m->p.status;
	u32 *entry = m->entry[i];
	bool failed;

	if (!tx_app_may_post(&m->p, 2))
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

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "transfers of all nodes, also over links that lose and double", test_transfers },
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
