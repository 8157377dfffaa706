/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tests of test_domain.c: a peer closes its domain and opens another one. */
#ifndef DOMAIN_LIVES_H
#define DOMAIN_LIVES_H

static void begin_anew(int nid, const struct rmc_domain_options *o)
{
	rmc_core_close(core[nid]);
	rmc_domain_close(domain[nid]);
	domain[nid] = rmc_domain_open_with(fake_ctx(nid), o);
	CHECK(domain[nid]);
	core[nid] = rmc_core_open(domain[nid], 0, 0);
	CHECK(core[nid]);
}

/* A peer's next life knows nothing of the messages of this one. */
static void new_life(void)
{
	struct rmc_domain_options o = options(4, 4);
	struct rmc_core *other;
	uint32_t i;

	open_nodes(&o);
	other = rmc_core_open(domain[0], 0, RMC_CORE_SEND_ONLY);
	CHECK(other);
	for (i = 0; i < 7; i++)
		transfer(0, 1, 20, i);
	/* two that it has not received */
	for (i = 0; i < 2; i++)
		CHECK_EQ(send_value(core[0], 1, 20, i, 0), 0);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	begin_anew(1, &o);
	CHECK_EQ(send_value(core[0], 1, 20, 7, 0), 0);
	CHECK_EQ(rmc_core_flush(core[0]), RMC_S_DOMAIN_MISMATCH);
	CHECK_EQ(send_value(core[0], 1, 20, 8, 0), RMC_S_DOMAIN_MISMATCH);
	CHECK_EQ(rmc_core_join(core[0], 1), 0);
	CHECK_EQ(rmc_core_flush(core[0]), RMC_S_DOMAIN_MISMATCH);	/* 7 is dropped */
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	CHECK_EQ(rmc_domain_room(domain[0], 1), 4);
	for (i = 0; i < 9; i++)
		transfer(0, 1, 20, 100 + i);
	/* another core has a ring of its own */
	CHECK_EQ(send_value(other, 1, 20, 8, 0), RMC_S_DOMAIN_MISMATCH);
	CHECK_EQ(rmc_core_join(other, 1), 0);
	CHECK_EQ(send_value(other, 1, 20, 9, 0), 0);
	CHECK(has(core[1], &(struct rmc_arrival) { 0 }, 20, 9));
	CHECK(quiet(1));
	rmc_core_close(other);
	close_nodes();
}

/* In doubt while the peer began anew: it may have come there as the first message of its slot. */
static void doubt_over_lives(void)
{
	struct rmc_domain_options o = options(1, 4);
	struct rmc_arrival m;

	open_nodes(&o);
	next(RMC_OP_SEND, RMC_S_NODE_DOWN, 1);
	CHECK_EQ(send_value(core[0], 1, 20, 1, 0), 0);		/* turn 1 */
	CHECK_EQ(rmc_core_flush(core[0]), RMC_S_NODE_DOWN);
	begin_anew(1, &o);
	CHECK_EQ(rmc_core_join(core[0], 1), 0);
	CHECK_EQ(rmc_core_flush(core[0]), RMC_S_DOMAIN_MISMATCH);
	CHECK_EQ(fake_turn(1, 0, 0), 0);
	transfer(0, 1, 20, 2);
	CHECK_EQ(fake_turn(1, 0, 0), 1);
	/* sent, and the peer has it, when it begins anew */
	CHECK_EQ(send_value(core[0], 1, 20, 3, 0), 0);
	CHECK(has(core[1], &m, 20, 3));
	begin_anew(1, &o);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	CHECK_EQ(rmc_core_join(core[0], 1), 0);
	transfer(0, 1, 20, 4);
	close_nodes();
}

static int joins;

/* The first JOINs are those of the RRPPs; those of slots time out. */
static int asks_lost(int from, const struct fake_op *op)
{
	if (from || op->op != RMC_OP_JOIN)
		return FAKE_GO;
	return ++joins > FAKE_RRPPS && joins <= FAKE_RRPPS + 4 ? RMC_S_TIMEOUT : FAKE_GO;
}

/* A packet of the last life comes when the ring has joined this one. */
static int comes_late(int from, const struct fake_op *op)
{
	uint8_t data[20];

	if (!from && op->op == RMC_OP_JOIN && ++joins == FAKE_RRPPS) {
		fill(data, sizeof(data), 1);
		fake_late(1, 0, 0, data, sizeof(data));
	}
	return FAKE_GO;
}

static void set_fate(int (*fn)(int from, const struct fake_op *op))
{
	fake_lock();
	joins = 0;
	fake_fate = fn;
	fake_unlock();
}

static void late_packets(void)
{
	struct rmc_domain_options o = options(4, 4);
	struct rmc_arrival m;
	uint32_t i;

	open_nodes(&o);
	for (i = 0; i < 9; i++)
		transfer(0, 1, 20, i);
	begin_anew(1, &o);
	set_fate(asks_lost);
	CHECK_EQ(rmc_core_join(core[0], 1), 0);
	CHECK_EQ(joins, FAKE_RRPPS + 4);
	/* slots of the last life are of no use before they are known */
	CHECK_EQ(rmc_domain_room(domain[0], 1), 0);
	for (i = 0; i < 9; i++)
		transfer(0, 1, 20, i);
	close_nodes();

	o = options(2, 4);
	open_nodes(&o);
	next(RMC_OP_SEND, RMC_S_NODE_DOWN, 1);
	CHECK_EQ(send_value(core[0], 1, 20, 1, 0), 0);
	CHECK_EQ(rmc_core_flush(core[0]), RMC_S_NODE_DOWN);
	begin_anew(1, &o);
	set_fate(comes_late);
	CHECK_EQ(rmc_core_join(core[0], 1), 0);
	set_fate(NULL);
	CHECK(has(core[1], &m, 20, 1));
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	rmc_core_flush(core[1]);
	rmc_core_flush(core[0]);
	transfer(0, 1, 20, 2);
	transfer(0, 1, 20, 3);
	CHECK(quiet(1));
	close_nodes();
}

#endif
