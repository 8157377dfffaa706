// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions from engines over packets: what they read and write, on one's own node and on
 * others; conflicts, losses, quotas, and nodes that die in each phase.
 */
#include "tx_nodes.h"

u32 rmc_no_user_memory;

static void fill(u8 *p, size_t n, u32 seed)
{
	while (n--) {
		seed = seed * 1664525 + 1013904223;
		*p++ = seed >> 24;
	}
}

/* Each node writes to each, in the same transaction, and reads what it has written. */
static void test_simple(const struct testbed_opts *o)
{
	struct tx_bed b;
	u64 value, got;
	u32 i, j, slot;

	bed_make(&b, o, 3);
	for (i = 0; i < 3; i++) {
		slot = bed_begin(&b, i);
		for (j = 0; j < 3; j++) {
			u64 at = TX_START + 64 * i + 8;

			value = 100 * i + j + 1;
			CHECK_EQ(bed_read(&b, i, slot, j, at, 8, &got), RMC_S_OK);
			CHECK_EQ(got, 0);
			CHECK_EQ(bed_write(&b, i, slot, j, at, &value, 8), 0);
			CHECK_EQ(bed_read(&b, i, slot, j, at, 8, &got), RMC_S_OK);
			CHECK_EQ(got, value);
			CHECK_EQ(word_at(&b, j, at), 0);
		}
		CHECK_EQ(bed_commit(&b, i, slot), RMC_S_OK);
	}
	CHECK(bed_idle(&b));
	CHECK(bed_clean(&b));
	for (i = 0; i < 3; i++)
		for (j = 0; j < 3; j++) {
			CHECK_EQ(word_at(&b, j, TX_START + 64 * i + 8), 100 * i + j + 1);
			CHECK_EQ(word_at(&b, j, TX_START + 64 * i), 0);
			CHECK_EQ(word_at(&b, j, TX_START + 64 * i + 16), 0);
		}
	bed_free(&b);
}

/* Beside a model of the segment: bytes that no transaction has written stay. */
static void test_lengths(const struct testbed_opts *o)
{
	static const u32 lens[] = { 1, 63, 64, 65, 200, 4080, 4081, 4096, 9000, 40000 };
	static u8 model[TX_SEG], data[TX_SEG];
	struct tx_bed b;
	u32 i, slot, n;

	bed_make(&b, o, 2);
	memset(model, 0, sizeof(model));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		u32 len = lens[i], at = TX_START + 37 * i;

		fill(data, len, i);
		slot = bed_begin(&b, 0);
		CHECK_EQ(bed_write(&b, 0, slot, 1, at, data, len), 0);
		memcpy(model + at, data, len);
		CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_OK);
		CHECK(bed_idle(&b));
		CHECK(!memcmp(model, b.n[1].seg, TX_SEG));
		slot = bed_begin(&b, 0);
		n = min_t(u32, len, RMC_TX_ACCESS_MAX);
		CHECK_EQ(bed_read(&b, 0, slot, 1, at, n, data), RMC_S_OK);
		CHECK(!memcmp(model + at, data, n));
		CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_OK);
	}
	/* as many ranges as there can be, each line with two of them, in any order */
	slot = bed_begin(&b, 0);
	for (i = 0; i < RMC_TX_RANGES; i++) {
		u32 k = i * 37 % RMC_TX_RANGES, at = TX_START + 32 * k + 5;

		fill(data, 7, k);
		CHECK_EQ(bed_write(&b, 0, slot, 1, at, data, 7), 0);
		memcpy(model + at, data, 7);
	}
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START + 3, data, 1), -ENOSPC);
	/* again, over the boundaries of those before */
	fill(data, 7 + 5, 99);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START + 5, data, 7), 0);
	memcpy(model + TX_START + 5, data, 7);
	CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_OK);
	CHECK(bed_idle(&b));
	CHECK(!memcmp(model, b.n[1].seg, TX_SEG));
	CHECK(bed_clean(&b));
	bed_free(&b);
}

/* Random writes over each other, and what is read of them before and after */
static void test_overlay(const struct testbed_opts *o)
{
	static u8 model[4096], data[4096];
	u64 seed = 88172645463325252ULL;
	struct tx_bed b;
	u32 i, round, slot;

	bed_make(&b, o, 2);
	memset(model, 0, sizeof(model));
	for (round = 0; round < 6; round++) {
		slot = bed_begin(&b, 0);
		for (i = 0; i < 40; i++) {
			u32 at = rmc_random32(&seed) % 600, len = 1 + rmc_random32(&seed) % 100;

			fill(data, len, i + round);
			memcpy(model + at, data, len);
			CHECK_EQ(bed_write(&b, 0, slot, i % 5 ? 1 : 0, TX_START + at, data, len), 0);
			if (!(i % 5))
				CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START + at, data, len), 0);
		}
		CHECK_EQ(bed_read(&b, 0, slot, 1, TX_START, 700, data), RMC_S_OK);
		CHECK(!memcmp(model, data, 700));
		CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_OK);
		CHECK(bed_idle(&b));
		CHECK(!memcmp(model, b.n[1].seg + TX_START, sizeof(model)));
	}
	/* the offset where the range of another node ends */
	slot = bed_begin(&b, 0);
	CHECK_EQ(bed_write(&b, 0, slot, 0, TX_START + 8192, "at node 0", 8), 0);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START + 8200, "at node 1", 8), 0);
	CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_OK);
	CHECK(bed_idle(&b));
	CHECK(word_at(&b, 1, TX_START + 8200) && !word_at(&b, 0, TX_START + 8200));
	bed_free(&b);
}

/* Who commits first squashes who has read or written the same line. */
static void test_conflicts(const struct testbed_opts *o)
{
	u64 one = 1, two = 2, got;
	struct tx_bed b;
	u32 s0, s1, how;

	bed_make(&b, o, 3);
	for (how = 0; how < 3; how++) {
		u64 at = TX_START + 4096 * how;

		s0 = bed_begin(&b, 0);
		s1 = bed_begin(&b, 1);
		if (how != 2)
			CHECK_EQ(bed_read(&b, 0, s0, 2, at, 8, &got), RMC_S_OK);
		else
			CHECK_EQ(bed_access(&b, 0, s0, RMC_TX_OWN, 2, at, 8, &got), RMC_S_OK);
		CHECK_EQ(bed_write(&b, 0, s0, 0, at, &one, 8), 0);
		if (how)
			CHECK_EQ(bed_write(&b, 0, s0, 2, at, &one, 8), 0);
		CHECK_EQ(bed_write(&b, 1, s1, 2, at + 8, &two, 8), 0);
		CHECK_EQ(bed_commit(&b, 1, s1), RMC_S_OK);
		CHECK_EQ(bed_commit(&b, 0, s0), RMC_S_TX_SQUASHED);
		CHECK(bed_idle(&b));
		CHECK_EQ(word_at(&b, 2, at), 0);
		CHECK_EQ(word_at(&b, 0, at), 0);
		CHECK_EQ(word_at(&b, 2, at + 8), 2);
	}
	/* both read, none writes: both commit */
	s0 = bed_begin(&b, 0);
	s1 = bed_begin(&b, 1);
	CHECK_EQ(bed_read(&b, 0, s0, 2, TX_START, 64, (u8[64]){}), RMC_S_OK);
	CHECK_EQ(bed_read(&b, 1, s1, 2, TX_START, 64, (u8[64]){}), RMC_S_OK);
	CHECK_EQ(bed_commit(&b, 1, s1), RMC_S_OK);
	CHECK_EQ(bed_commit(&b, 0, s0), RMC_S_OK);
	/* aborted: nothing is left of it */
	s0 = bed_begin(&b, 0);
	CHECK_EQ(bed_read(&b, 0, s0, 2, TX_START, 8, &got), RMC_S_OK);
	CHECK_EQ(bed_write(&b, 0, s0, 2, TX_START, &two, 8), 0);
	rmc_tx_engine_abort(b.n[0].e, s0);
	CHECK_EQ(bed_end(&b, 0, s0), RMC_S_ABORTED);
	CHECK_EQ(rmc_tx_engine_commit(b.n[0].e, s0), -ECANCELED);
	CHECK(bed_idle(&b));
	CHECK_EQ(word_at(&b, 2, TX_START), 0);
	CHECK(bed_clean(&b));
	bed_free(&b);
}

/* A line that another one is committing: tried again, and refused in the end. */
static void test_locked(const struct testbed_opts *o)
{
	const struct rmc_tx_range range = { .offset = TX_START, .length = 64 };
	struct rmc_txid id = { .slot = 7, .gen = 1 };
	struct tx_bed b;
	u64 got = 5, one = 1;
	u32 slot;
	u8 status;

	bed_make(&b, o, 2);
	id.source = rmc_endpoint(b.w.fabric, 1);
	slot = bed_begin(&b, 0);
	CHECK_EQ(rmc_tx_part_intend(b.n[1].home->part, &id, 0, &range, 1), RMC_S_OK);
	CHECK_EQ(rmc_tx_engine_access(b.n[0].e, slot, RMC_TX_READ, 1, TX_START, 8, &got), 0);
	CHECK_EQ(rmc_tx_engine_access(b.n[0].e, slot, RMC_TX_READ, 1, TX_START, 8, &got), -EBUSY);
	CHECK_EQ(rmc_tx_engine_commit(b.n[0].e, slot), -EBUSY);
	bed_settle(&b, 60);
	CHECK(!rmc_tx_engine_accessed(b.n[0].e, slot, &status));
	CHECK_EQ(rmc_tx_part_close(b.n[1].home->part, &id, false), RMC_S_OK);
	CHECK_EQ(bed_wait(&b, 0, slot), RMC_S_OK);
	CHECK_EQ(got, 0);
	CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_OK);
	CHECK(bed_idle(&b));
	id.gen++;
	CHECK_EQ(rmc_tx_part_intend(b.n[1].home->part, &id, 0, &range, 1), RMC_S_OK);
	slot = bed_begin(&b, 0);
	CHECK_EQ(bed_read(&b, 0, slot, 1, TX_START, 8, &got), RMC_S_TX_LOCKED);
	CHECK_EQ(bed_end(&b, 0, slot), RMC_S_TX_LOCKED);
	slot = bed_begin(&b, 0);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START + 60, &one, 8), 0);
	CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_TX_LOCKED);
	CHECK_EQ(rmc_tx_part_close(b.n[1].home->part, &id, false), RMC_S_OK);
	CHECK(bed_idle(&b));
	CHECK(bed_clean(&b));
	bed_free(&b);
}

#define ACCOUNTS	4	/* per node, each in a line of its own */
#define MONEY		1000

struct mover {
	u32 slot, at, state, from[2], to[2];
	u64 have[2];
	u32 committed, squashed;
};

/* A step of a transfer: it is run again with other accounts if it was squashed. */
static void move(struct tx_bed *b, u32 i, struct mover *m, u64 *seed)
{
	struct rmc_tx_engine *e = b->n[i].e;
	u64 sum;
	u8 status;

	switch (m->state) {
	case 0:
		if (rmc_tx_engine_begin(e, &m->slot))
			return;
		b->n[i].ended[m->slot] = -1;
		m->from[0] = rmc_random32(seed) % b->nodes;
		m->from[1] = rmc_random32(seed) % ACCOUNTS;
		m->to[0] = rmc_random32(seed) % b->nodes;
		m->to[1] = (m->from[1] + 1) % ACCOUNTS;
		m->state = 1;
		break;
	case 1:
	case 3:
		if (rmc_tx_engine_access(e, m->slot, m->state == 1 ? RMC_TX_READ : RMC_TX_OWN,
					 m->state == 1 ? m->from[0] : m->to[0],
					 TX_START + 64 * (m->state == 1 ? m->from[1] : m->to[1]), 8,
					 &m->have[m->state == 3]))
			m->state = 5;
		else
			m->state++;
		break;
	case 2:
	case 4:
		if (b->n[i].ended[m->slot] >= 0)
			m->state = 5;
		else if (rmc_tx_engine_accessed(e, m->slot, &status) && !status)
			m->state++;
		if (m->state != 5 || b->n[i].ended[m->slot] >= 0)
			break;
		sum = m->have[0] - 1;
		CHECK_EQ(bed_write(b, i, m->slot, m->from[0], TX_START + 64 * m->from[1], &sum, 8), 0);
		sum = m->have[1] + 1;
		CHECK_EQ(bed_write(b, i, m->slot, m->to[0], TX_START + 64 * m->to[1], &sum, 8), 0);
		CHECK_EQ(rmc_tx_engine_commit(e, m->slot), 0);
		break;
	case 5:
		if (b->n[i].ended[m->slot] < 0)
			break;
		m->committed += !b->n[i].ended[m->slot];
		m->squashed += !!b->n[i].ended[m->slot];
		m->state = 0;
		break;
	}
}

/* Transfers of all nodes at once; returns how many have committed. */
static u32 transfers(struct tx_bed *b, u32 wanted)
{
	struct mover m[TX_NODES][3] = { };
	u32 i, j, n, total = 0, squashed = 0;
	u64 seed = 4101842887655102017ULL, sum = 0;

	for (i = 0; i < b->nodes; i++)
		for (j = 0; j < ACCOUNTS; j++)
			*(u64 *)(b->n[i].seg + TX_START + 64 * j) = MONEY;
	for (n = 0; n < 300000 && total < wanted; n++) {
		for (total = 0, i = 0; i < b->nodes; i++)
			for (j = 0; j < 3; j++) {
				move(b, i, &m[i][j], &seed);
				total += m[i][j].committed;
			}
		bed_step(b);
	}
	for (n = 0; n < 300000; n++) {
		bool left = false;

		for (i = 0; i < b->nodes; i++)
			for (j = 0; j < 3; j++) {
				if (m[i][j].state)
					move(b, i, &m[i][j], &seed);
				left |= m[i][j].state;
			}
		if (!left)
			break;
		bed_step(b);
	}
	CHECK(bed_idle(b));
	for (i = 0; i < b->nodes; i++)
		for (j = 0; j < ACCOUNTS; j++)
			sum += word_at(b, i, TX_START + 64 * j);
	CHECK_EQ(sum, (u64)MONEY * b->nodes * ACCOUNTS);
	for (total = 0, i = 0; i < b->nodes; i++)
		for (j = 0; j < 3; j++) {
			total += m[i][j].committed;
			squashed += m[i][j].squashed;
		}
	CHECK(squashed > 0);
	CHECK(bed_clean(b));
	return total;
}

static void test_transfers(const struct testbed_opts *o)
{
	struct tx_bed b;

	bed_make(&b, o, 3);
	CHECK(transfers(&b, 200) >= 200);
	bed_free(&b);
}

static void faults(struct tx_bed *b, const struct rmc_fault *f)
{
	u32 i, j;

	rmc_filters = 1;
	for (i = 0; i < b->nodes; i++)
		for (j = 0; j < b->nodes; j++) {
			fault_set(&b->w, i, j, RMC_LANE_REQ, f, 7 + i * 5 + j);
			fault_set(&b->w, i, j, RMC_LANE_REP, f, 77 + i * 5 + j);
		}
}

/* Lost, doubled, in disorder: each transaction still ends one way at all nodes. */
static void test_faults(const struct testbed_opts *o)
{
	static const struct rmc_fault kinds[] = {
		{ .loss = 50000 },
		{ .dup = 200000, .gap_ns = 3000000 },
		{ .shuffle = 500000, .reorder = 200000, .gap_ns = 2000000 },
		{ .loss = 20000, .dup = 50000, .shuffle = 200000, .reorder = 100000,
		  .gap_ns = 2000000, .jitter_ns = 1000000 },
	};
	struct rmc_fault none = { };
	struct tx_bed b;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		bed_make(&b, o, 3);
		for (k = 0; k < (b.w.opts.kernels ? b.nodes : 1); k++)
			b.w.fabric[k].timeout_ms = 16;
		faults(&b, &kinds[i]);
		CHECK(transfers(&b, 60) >= 60);
		faults(&b, &none);
		bed_free(&b);
	}
}

/* Long messages over such links, and rings of a few packets */
static void test_long_faults(const struct testbed_opts *o)
{
	struct rmc_fault f = { .shuffle = 500000, .reorder = 100000, .gap_ns = 2000000,
			       .loss = o->mtu < 512 ? 1000 : 20000 };
	static u8 data[20000];
	struct rmc_fault none = { };
	struct testbed_opts k = *o;
	struct tx_bed b;
	u32 i, n, slot, done = 0;

	k.ring_order = 4;
	bed_make(&b, &k, 2);
	for (n = 0; n < (b.w.opts.kernels ? b.nodes : 1); n++)
		b.w.fabric[n].timeout_ms = 16;
	faults(&b, &f);
	for (i = 0; i < 30 && done < 5; i++) {
		fill(data, sizeof(data), i);
		slot = bed_begin(&b, 0);
		for (n = 0; n < 100; n++)
			CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START + 300 * n, data + 200 * n, 200),
				 0);
		if (bed_commit(&b, 0, slot))
			continue;
		done++;
		CHECK(bed_idle(&b));
		for (n = 0; n < 100; n++)
			CHECK(!memcmp(b.n[1].seg + TX_START + 300 * n, data + 200 * n, 200));
	}
	CHECK_EQ(done, 5);
	CHECK(bed_idle(&b));
	faults(&b, &none);
	bed_free(&b);
}

/* The home loses the parts of a message that have come: it is sent again. */
static void test_parts_lost(const struct testbed_opts *o)
{
	static u8 data[200 * 8];
	u32 step, i, slot, ep;
	struct tx_bed b;

	for (step = 0; step < 12; step++) {
		bed_make(&b, o, 2);
		fill(data, sizeof(data), step);
		slot = bed_begin(&b, 0);
		for (i = 0; i < 200; i++)
			CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START + 64 * i, data + 8 * i, 8), 0);
		CHECK_EQ(rmc_tx_engine_commit(b.n[0].e, slot), 0);
		bed_settle(&b, step);
		for (ep = 0; ep < b.n[1].home->sources; ep++)
			rmc_tx_assemblies_drop(&b.n[1].home->from[ep].parts);
		CHECK_EQ(bed_end(&b, 0, slot), RMC_S_OK);
		CHECK(bed_idle(&b));
		for (i = 0; i < 200; i++)
			CHECK(!memcmp(b.n[1].seg + TX_START + 64 * i, data + 8 * i, 8));
		bed_free(&b);
	}
}

/* An access is dropped: its reply goes nowhere. */
static void test_dropped(const struct testbed_opts *o)
{
	u64 word = 1, got = 5;
	struct tx_bed b;
	u32 slot;
	u8 status;

	bed_make(&b, o, 2);
	memcpy(b.n[1].seg + TX_START, &word, 8);
	slot = bed_begin(&b, 0);
	CHECK_EQ(rmc_tx_engine_access(b.n[0].e, slot, RMC_TX_READ, 1, TX_START, 8, &got), 0);
	bed_poll(&b, 0);
	CHECK_EQ(b.n[0].e->txn[slot].access.state, RMC_TX_ACCESS_SENT);
	rmc_tx_engine_abort(b.n[0].e, slot);
	CHECK_EQ(bed_end(&b, 0, slot), RMC_S_ABORTED);
	CHECK(bed_idle(&b));
	CHECK_EQ(got, 5);
	CHECK(!rmc_tx_engine_accessed(b.n[0].e, slot, &status));
	CHECK(bed_clean(&b));
	bed_free(&b);
}

/* An entry whose operation takes long is passed over: others go on. */
static void test_slow_entry(const struct testbed_opts *o)
{
	struct rmc_tx_engine_opts opts = tx_opts;
	u32 slow, fast, last, i;
	u64 word = 1, got[3] = { };
	struct tx_bed b;
	u8 status;

	opts.order = 1;
	bed_make_of(&b, o, 3, true, &opts);
	for (i = 1; i < 3; i++)
		memcpy(b.n[i].seg + TX_START, &word, 8);
	slow = bed_begin(&b, 0);
	fast = bed_begin(&b, 0);
	last = bed_begin(&b, 0);
	b.w.frozen[1] = true;
	CHECK_EQ(rmc_tx_engine_access(b.n[0].e, slow, RMC_TX_READ, 1, TX_START, 8, &got[0]), 0);
	bed_poll(&b, 0);
	CHECK_EQ(bed_read(&b, 0, fast, 2, TX_START, 8, &got[1]), RMC_S_OK);
	CHECK_EQ(rmc_tx_engine_access(b.n[0].e, last, RMC_TX_READ, 2, TX_START, 8, &got[2]), 0);
	CHECK_EQ(bed_wait(&b, 0, last), RMC_S_OK);
	for (i = 0; i < 5; i++)
		CHECK_EQ(bed_read(&b, 0, last, 2, TX_START + 64 * i, 8, &word), RMC_S_OK);
	CHECK(!rmc_tx_engine_accessed(b.n[0].e, slow, &status));
	CHECK_EQ(bed_commit(&b, 0, last), RMC_S_OK);
	b.w.frozen[1] = false;
	CHECK_EQ(bed_wait(&b, 0, slow), RMC_S_OK);
	CHECK_EQ(bed_commit(&b, 0, slow), RMC_S_OK);
	for (i = 0; i < 2; i++)
		CHECK_EQ(b.n[0].e->op[i].skips, 0);
	CHECK(got[0] == 1 && got[1] == 1 && got[2] == 1);
	CHECK_EQ(bed_commit(&b, 0, fast), RMC_S_OK);
	CHECK(bed_idle(&b));
	bed_free(&b);
}

/* The worker of the engine's queue is woken if it sleeps, and if there is something for it. */
static void test_woken(const struct testbed_opts *o)
{
	struct testbed_worker *worker;
	struct rmc_tx_engine *e;
	struct tx_bed b;
	u64 got;
	u32 slot;

	bed_make(&b, o, 2);
	e = b.n[0].e;
	worker = (struct testbed_worker *)e->unit->req_worker;
	slot = bed_begin(&b, 0);
	e->client.qp.flags->need_wakeup = 1;
	worker->kick = 0;
	bed_poll(&b, 0);
	CHECK_EQ(worker->kick, 0);
	CHECK_EQ(rmc_tx_engine_access(e, slot, RMC_TX_READ, 1, TX_START, 8, &got), 0);
	bed_poll(&b, 0);
	CHECK_EQ(worker->kick, 1);
	e->client.qp.flags->need_wakeup = 0;
	CHECK_EQ(bed_wait(&b, 0, slot), RMC_S_OK);
	CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_OK);
	CHECK(bed_idle(&b));
	bed_free(&b);
}

/* What an engine refuses */
static void test_limits(const struct testbed_opts *o)
{
	struct rmc_tx_engine_opts opts = { .slots = 2, .bytes = 100, .order = 1, .resend_ms = 20 };
	struct rmc_tx_engine_opts bad = opts;
	struct tx_bed b;
	u8 buf[200] = { };
	u32 slot, other, third, i;

	bed_make_of(&b, o, 2, false, &opts);
	bad.slots = 65;
	CHECK(IS_ERR(rmc_tx_engine_create(b.n[0].e->unit, CTX, &bad)));
	bad.slots = 0;
	CHECK(IS_ERR(rmc_tx_engine_create(b.n[0].e->unit, CTX, &bad)));
	for (i = 1; i <= 9; i++) {
		rmc_no_user_memory = i + 1;
		CHECK(IS_ERR(rmc_tx_engine_create(b.n[0].e->unit, CTX, &opts)));
		CHECK_EQ(rmc_no_user_memory, 0);
	}
	slot = bed_begin(&b, 0);
	other = bed_begin(&b, 0);
	CHECK(slot != other);
	CHECK_EQ(rmc_tx_engine_begin(b.n[0].e, &third), -EBUSY);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START, buf, 101), -EINVAL);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START, buf, 0), -EINVAL);
	CHECK_EQ(bed_write(&b, 0, slot, 2, TX_START, buf, 8), -EINVAL);
	CHECK_EQ(bed_write(&b, 0, 2, 1, TX_START, buf, 8), -EINVAL);
	CHECK_EQ(bed_write(&b, 0, slot, 1, RMC_OFFSET_MAX, buf, 8), -EINVAL);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START, buf, 60), 0);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START + 10, buf, 60), 0);
	CHECK_EQ(bed_write(&b, 0, slot, 0, TX_START, buf, 40), -ENOSPC);
	CHECK_EQ(bed_read(&b, 0, slot, 2, TX_START, 8, buf), -EINVAL);
	CHECK_EQ(bed_read(&b, 0, slot, 1, TX_START, 0, buf), -EINVAL);
	CHECK_EQ(bed_read(&b, 0, slot, 1, TX_START, RMC_TX_ACCESS_MAX + 1, buf), -EINVAL);
	/* beside the range, and beyond the segment */
	CHECK_EQ(bed_read(&b, 0, slot, 1, TX_START - 1, 8, buf), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(bed_end(&b, 0, slot), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START, buf, 8), -ECANCELED);
	CHECK_EQ(bed_write(&b, 0, other, 1, TX_START + TX_BYTES - 4, buf, 8), 0);
	CHECK_EQ(bed_commit(&b, 0, other), RMC_S_OUT_OF_RANGE);
	CHECK(bed_idle(&b));
	/* one that has done nothing */
	slot = bed_begin(&b, 0);
	CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_OK);
	/* the range goes */
	slot = bed_begin(&b, 0);
	CHECK_EQ(bed_read(&b, 0, slot, 1, TX_START, 8, buf), RMC_S_OK);
	bed_unhome(&b, 1);
	CHECK_EQ(bed_write(&b, 0, slot, 0, TX_START, "lost", 4), 0);
	CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_BAD_CONTEXT);
	CHECK(bed_idle(&b));
	CHECK_EQ(word_at(&b, 0, TX_START), 0);
	bed_free(&b);
}

/* A kernel dies, and boots again. Its engine and ranges are gone. */
static void reboot(struct tx_bed *b, u32 i)
{
	rmc_tx_engine_destroy(b->n[i].e);
	bed_unhome(b, i);
	testbed_restart(&b->w, i);
	seg_set(&b->w, i, CTX, b->n[i].mem);
	bed_home(b, i);
	bed_engine(b, i, &tx_opts);
}

/* Begin to write a word at each node */
static u32 start(struct tx_bed *b, u32 i, u64 value)
{
	u32 slot = bed_begin(b, i), j;
	u64 got;

	for (j = 0; j < b->nodes; j++) {
		int status = bed_read(b, i, slot, j, TX_START, 8, &got);

		CHECK_EQ(status, RMC_S_OK);
		CHECK_EQ(bed_write(b, i, slot, j, TX_START, &value, 8), 0);
	}
	CHECK_EQ(rmc_tx_engine_commit(b->n[i].e, slot), 0);
	return slot;
}

/* Afterwards a transaction of this node commits everywhere. */
static void works(struct tx_bed *b, u32 i)
{
	u32 slot, j, tries;
	u64 value = 77;
	int status = -1;

	for (tries = 0; tries < 50 && status; tries++) {
		slot = bed_begin(b, i);
		for (j = 0; j < b->nodes; j++)
			if (bed_write(b, i, slot, j, TX_START, &value, 8))
				break;
		if (j < b->nodes) {
			rmc_tx_engine_abort(b->n[i].e, slot);
			bed_end(b, i, slot);
			bed_settle(b, 2000);
			continue;
		}
		status = bed_commit(b, i, slot);
	}
	CHECK_EQ(status, RMC_S_OK);
	CHECK(bed_idle(b));
	for (j = 0; j < b->nodes; j++)
		CHECK_EQ(word_at(b, j, TX_START), 77);
	CHECK(bed_clean(b));
}

/* The coordinator's kernel dies after so many steps of its commit: nobody stays locked. */
static void test_coordinator_dies(const struct testbed_opts *o)
{
	u32 step, changed, j;
	struct tx_bed b;

	for (step = 0; step < 40; step++) {
		bed_make_of(&b, o, 3, true, &tx_opts);
		start(&b, 0, 5);
		bed_settle(&b, step);
		for (changed = 0, j = 1; j < 3; j++)
			changed += word_at(&b, j, TX_START) == 5;
		reboot(&b, 0);
		bed_settle(&b, 3000);
		/* what was stored stays; what was prepared is dropped: no line is half written */
		for (j = 1; j < 3; j++) {
			CHECK(word_at(&b, j, TX_START) == 5 || !word_at(&b, j, TX_START));
			changed -= changed && word_at(&b, j, TX_START) == 5;
		}
		CHECK_EQ(changed, 0);
		works(&b, 1);
		works(&b, 0);
		bed_free(&b);
	}
}

/* The kernel of a participant dies: before the decision it is aborted, later it is told. */
static void test_participant_dies(const struct testbed_opts *o)
{
	u32 step, slot, committed = 0, aborted = 0;
	struct tx_bed b;
	int status;

	for (step = 0; step < 40; step++) {
		bed_make_of(&b, o, 3, true, &tx_opts);
		slot = start(&b, 0, 5);
		bed_settle(&b, step);
		reboot(&b, 1);
		status = bed_end(&b, 0, slot);
		CHECK(status >= 0);
		CHECK(bed_idle(&b));
		if (!status || status == RMC_S_TX_PART_LOST) {
			committed++;
			CHECK_EQ(word_at(&b, 0, TX_START), 5);
			CHECK_EQ(word_at(&b, 2, TX_START), 5);
		} else {
			aborted++;
			CHECK_EQ(word_at(&b, 0, TX_START), 0);
			CHECK_EQ(word_at(&b, 2, TX_START), 0);
		}
		works(&b, 0);
		bed_free(&b);
	}
	CHECK(committed && aborted);
}

/* It is paused for longer than others wait, and goes on: what is decided is done. */
static void test_paused(const struct testbed_opts *o)
{
	u32 step, who, slot, j, n = 0;
	struct tx_bed b;
	int status;

	for (who = 0; who < 2; who++)
		for (step = 0; step < 24; step += 2) {
			bed_make_of(&b, o, 3, true, &tx_opts);
			slot = start(&b, 0, 5);
			bed_settle(&b, step);
			bed_pause(&b, who);
			status = bed_end(&b, 0, slot);
			CHECK(status >= 0);
			CHECK(bed_idle(&b));
			for (j = 0; j < 3; j++)
				CHECK_EQ(word_at(&b, j, TX_START), status ? 0 : 5);
			n += !status;
			works(&b, 0);
			works(&b, 1);
			bed_free(&b);
		}
	CHECK(n > 0);
}

/* What a silent node has read is not protected any more, and its commit is refused. */
static void test_silent_reader(const struct testbed_opts *o)
{
	struct tx_bed b;
	u64 got;
	u32 slot;

	bed_make_of(&b, o, 3, true, &tx_opts);
	slot = bed_begin(&b, 0);
	CHECK_EQ(bed_read(&b, 0, slot, 1, TX_START, 8, &got), RMC_S_OK);
	bed_pause(&b, 0);
	CHECK(b.w.node[1]->peer[0].silent);
	bed_settle(&b, 500);
	CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_TX_SQUASHED);
	works(&b, 0);
	bed_free(&b);
}

/* A node leaves, and comes back with what was prepared there: the others have taken it for lost. */
static void test_leaves(const struct testbed_opts *o)
{
	const struct rmc_tx_range range = { .offset = TX_START, .length = 64 };
	struct rmc_txid id = { .slot = 7, .gen = 1 };
	struct tx_bed b;
	u32 u, i, slot;
	u64 got;

	bed_make_of(&b, o, 3, true, &tx_opts);
	/* the epoch of the node is known to its participant */
	bed_settle(&b, 200);
	id.source = rmc_endpoint(b.w.fabric, 2);
	CHECK_EQ(rmc_tx_part_intend(b.n[1].home->part, &id, 0, &range, 1), RMC_S_OK);
	bed_settle(&b, 200);
	CHECK_EQ(b.n[1].home->part->locks, 1);
	slot = bed_begin(&b, 0);
	CHECK_EQ(bed_read(&b, 0, slot, 1, TX_START + 4096, 8, &got), RMC_S_OK);
	for (u = 0; u < b.w.opts.units; u++)
		rmc_node_down_srv(b.w.node[1]->unit[u]);
	for (u = 0; u < b.w.opts.units; u++)
		rmc_node_down_req(b.w.node[1]->unit[u]);
	/* what it had read there is gone, and nobody waits for it */
	CHECK_EQ(bed_end(&b, 0, slot), RMC_S_NODE_DOWN);
	CHECK(bed_idle(&b));
	bed_settle(&b, 500);
	rmc_node_join(b.w.node[1], bed_ms());
	for (i = 0; i < 20000 && !b.w.node[1]->up; i++)
		bed_step(&b);
	CHECK(b.w.node[1]->up);
	bed_settle(&b, 500);
	CHECK_EQ(b.n[1].home->part->locks, 0);
	works(&b, 0);
	bed_free(&b);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "reads and writes at all nodes, one's own too", test_simple },
		{ "every length, and as many ranges as there can be", test_lengths },
		{ "writes over each other, and reads of them", test_overlay },
		{ "conflicts: who commits first", test_conflicts },
		{ "lines that are locked", test_locked },
		{ "transfers of all nodes at once", test_transfers },
		{ "the same over links that lose, double and disorder", test_faults },
		{ "long messages over such links, tiny rings", test_long_faults },
		{ "a home that loses parts of messages", test_parts_lost },
		{ "an access that is dropped", test_dropped },
		{ "an operation that takes long", test_slow_entry },
		{ "a worker that sleeps", test_woken },
		{ "limits, no memory, ranges that go", test_limits },
		{ "the coordinator dies in each phase", test_coordinator_dies },
		{ "a participant dies in each phase", test_participant_dies },
		{ "coordinator or participant is paused", test_paused },
		{ "a node that has read falls silent", test_silent_reader },
		{ "a node leaves and comes back", test_leaves },
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
