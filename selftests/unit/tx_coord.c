// SPDX-License-Identifier: GPL-2.0
/*
 * The coordinator of transactions: phases, who is asked what and when, refusals, hints, losses,
 * epochs. Answers come from the test.
 */
#include <string.h>
#include "../tap.h"
#include "kmod/tx/coord.h"
#include "hooks.h"

#define SELF	2
#define SLOT	5

static struct rmc_tx_coord c;
static struct rmc_tx_msg msg[16];
static u32 messages, gen;

/* All messages that are due */
static u32 take(void)
{
	for (messages = 0; messages < ARRAY_SIZE(msg) && rmc_tx_coord_next(&c, &msg[messages]);)
		messages++;
	return messages;
}

/* The message to a node among those of the last take() */
static struct rmc_tx_msg *to(u32 nid)
{
	static struct rmc_tx_msg none = { .slot = ~0U };
	u32 i;

	for (i = 0; i < messages; i++)
		if (msg[i].nid == nid)
			return &msg[i];
	return &none;
}

static void answer(u32 nid, u8 status)
{
	rmc_tx_coord_answer(&c, to(nid), status);
}

static u8 phase(void)
{
	return c.slot[SLOT].phase;
}

/* No end that is not reported, or its status */
static int ended(void)
{
	u32 slot = ~0U;
	u8 status;

	if (!rmc_tx_coord_ended(&c, &slot, &status))
		return -1;
	CHECK_EQ(slot, SLOT);
	return status;
}

/* A free slot has nothing of the last transaction but its gen */
static void check_free(void)
{
	static const struct rmc_tx_slot none;
	struct rmc_tx_slot slot = c.slot[SLOT];

	CHECK(rmc_tx_coord_is_free(&c, SLOT));
	slot.gen = 0;
	CHECK(!memcmp(&slot, &none, sizeof(slot)));
	CHECK_EQ(c.due, 0);
	CHECK_EQ(c.ends, 0);
}

/* A transaction that has accessed the nodes of one mask, and only writes at those of another */
static void begin(u32 accessed, u32 written)
{
	u32 nid;

	CHECK_EQ(rmc_tx_coord_begin(&c, SLOT, &gen), 0);
	for (nid = 0; nid < 8; nid++) {
		if (written & 1U << nid)
			CHECK_EQ(rmc_tx_coord_touch(&c, SLOT, nid, false), 0);
		if (accessed & 1U << nid)
			CHECK_EQ(rmc_tx_coord_touch(&c, SLOT, nid, true), 0);
	}
}

#define ONE	(1U << 1)
#define OWN	(1U << SELF)
#define THREE	(1U << 3)

/* ... and is in a phase before the decision: its INTENDs are taken */
static void begin_in(u8 wanted)
{
	begin(ONE | OWN, THREE);
	if (wanted == RMC_TX_EXECUTING)
		return;
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), 0);
	take();
	if (wanted == RMC_TX_SELF)
		return;
	answer(SELF, RMC_S_OK);
	take();
}

/* All that are asked to abort do so */
static void finish_abort(int status, u32 asked)
{
	u32 nid;

	CHECK_EQ(phase(), RMC_TX_ABORTING);
	CHECK(rmc_tx_coord_is_decided(&c, SLOT));
	CHECK_EQ(ended(), status);
	CHECK_EQ(ended(), -1);
	CHECK_EQ(take(), hweight64(asked));
	for (nid = 0; nid < 8; nid++) {
		if (!(asked & 1U << nid))
			continue;
		CHECK_EQ(to(nid)->kind, RMC_TX_ABORT);
		CHECK_EQ(to(nid)->gen, gen);
		CHECK(!rmc_tx_coord_is_free(&c, SLOT));
		answer(nid, RMC_S_OK);
	}
	check_free();
}

/* One that uses its own node by loads and stores ends when that knows */
static void test_local(void)
{
	rmc_tx_coord_init(&c, SELF, 0);
	begin(ONE, 0);
	CHECK_EQ(rmc_tx_coord_local(&c, SLOT), 0);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), 0);
	/* no access was sent there, and nothing is written */
	CHECK_EQ(take(), 1);
	CHECK_EQ(to(SELF)->kind, RMC_TX_INTEND);
	CHECK_EQ(to(SELF)->flags, 0);
	answer(SELF, RMC_S_OK);
	take();
	answer(1, RMC_S_OK);
	CHECK_EQ(take(), 2);
	CHECK_EQ(to(SELF)->flags, RMC_TX_LOCAL);
	CHECK_EQ(to(1)->flags, 0);
	answer(1, RMC_S_OK);
	CHECK_EQ(ended(), -1);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(ended(), RMC_S_OK);
	check_free();

	/* an abort, at once */
	begin(ONE, 0);
	CHECK_EQ(rmc_tx_coord_local(&c, SLOT), 0);
	rmc_tx_coord_abort(&c, SLOT, RMC_S_ABORTED);
	CHECK_EQ(rmc_tx_coord_local(&c, SLOT), -ECANCELED);
	CHECK_EQ(take(), 2);
	CHECK_EQ(to(SELF)->kind, RMC_TX_ABORT);
	CHECK_EQ(to(SELF)->flags, RMC_TX_LOCAL);
	answer(1, RMC_S_OK);
	CHECK_EQ(ended(), -1);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(ended(), RMC_S_ABORTED);
	check_free();

	/* its own node begins anew */
	begin(ONE, 0);
	CHECK_EQ(rmc_tx_coord_local(&c, SLOT), 0);
	rmc_tx_coord_abort(&c, SLOT, RMC_S_ABORTED);
	take();
	rmc_tx_coord_epoch(&c, SELF);
	CHECK_EQ(ended(), RMC_S_ABORTED);
	answer(1, RMC_S_OK);
	check_free();
	begin(0, 0);
	CHECK_EQ(rmc_tx_coord_local(&c, SLOT), 0);
	rmc_tx_coord_epoch(&c, SELF);
	CHECK_EQ(ended(), RMC_S_NODE_DOWN);
	check_free();
	CHECK_EQ(rmc_tx_coord_local(&c, RMC_TX_SLOTS), -EINVAL);
}

/* Locks in advance: nodes in the order of their numbers, one at a time */
static void test_lock(void)
{
	static const u32 order[] = { 2, 3, 1 };
	u32 nid, slot;

	rmc_tx_coord_init(&c, SELF, 0);
	CHECK_EQ(rmc_tx_coord_lock(&c, RMC_TX_SLOTS), -EINVAL);
	CHECK_EQ(rmc_tx_coord_lock(&c, SLOT), -ECANCELED);
	begin(0, 0);
	for (nid = 0; nid < ARRAY_SIZE(order); nid++)
		CHECK_EQ(rmc_tx_coord_lock_at(&c, SLOT, order[nid]), 0);
	CHECK_EQ(rmc_tx_coord_lock(&c, SLOT), 0);
	for (nid = 1; nid < 4; nid++) {
		CHECK_EQ(phase(), RMC_TX_LOCKING);
		CHECK(!rmc_tx_coord_locked(&c, &slot));
		CHECK_EQ(rmc_tx_coord_touch(&c, SLOT, nid, true), -ECANCELED);
		CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), -ECANCELED);
		CHECK_EQ(take(), 1);
		CHECK_EQ(to(nid)->kind, RMC_TX_LOCK);
		/* it waits there, and is sent again */
		answer(nid, RMC_S_TX_LOCKED);
		CHECK_EQ(take(), 0);
		rmc_tx_coord_resend(&c, SLOT);
		CHECK_EQ(take(), 1);
		answer(nid, RMC_S_OK);
	}
	CHECK_EQ(phase(), RMC_TX_EXECUTING);
	CHECK(rmc_tx_coord_locked(&c, &slot) && slot == SLOT);
	CHECK(!rmc_tx_coord_locked(&c, &slot));
	CHECK_EQ(rmc_tx_coord_lock_at(&c, SLOT, 1), -EBUSY);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), 0);
	CHECK_EQ(take(), 1);
	CHECK_EQ(to(SELF)->kind, RMC_TX_INTEND);
	CHECK_EQ(to(SELF)->flags, RMC_TX_HERE);
	rmc_tx_coord_abort(&c, SLOT, RMC_S_ABORTED);
	finish_abort(RMC_S_ABORTED, ONE | OWN | THREE);
	/* refused: only those that were asked are told */
	begin(0, 0);
	CHECK_EQ(rmc_tx_coord_lock_at(&c, SLOT, 3), 0);
	CHECK_EQ(rmc_tx_coord_lock_at(&c, SLOT, 1), 0);
	CHECK_EQ(rmc_tx_coord_lock(&c, SLOT), 0);
	take();
	answer(1, RMC_S_TX_FULL);
	finish_abort(RMC_S_TX_FULL, ONE);
	/* aborted when it has locked, and nobody knows */
	begin(0, 0);
	CHECK_EQ(rmc_tx_coord_lock_at(&c, SLOT, 1), 0);
	CHECK_EQ(rmc_tx_coord_lock(&c, SLOT), 0);
	take();
	answer(1, RMC_S_OK);
	rmc_tx_coord_abort(&c, SLOT, RMC_S_ABORTED);
	CHECK(!rmc_tx_coord_locked(&c, &slot));
	finish_abort(RMC_S_ABORTED, ONE);
}

static int held(void)
{
	u32 slot;

	if (!rmc_tx_coord_prepared(&c, &slot))
		return -1;
	return slot;
}

/* All acks, then the application decides; meanwhile nothing is sent */
static void prepare(void)
{
	begin(ONE | OWN, 0);
	CHECK_EQ(rmc_tx_coord_prepare(&c, SLOT), 0);
	CHECK_EQ(take(), 1);
	CHECK_EQ(to(SELF)->kind, RMC_TX_INTEND);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(take(), 1);
	CHECK_EQ(held(), -1);
	answer(1, RMC_S_OK);
	CHECK_EQ(phase(), RMC_TX_HELD);
	CHECK(!rmc_tx_coord_is_decided(&c, SLOT));
	CHECK_EQ(rmc_tx_coord_prepare(&c, SLOT), -ECANCELED);
	rmc_tx_coord_resend(&c, SLOT);
	CHECK_EQ(take(), 0);
	CHECK_EQ(ended(), -1);
}

static void test_prepare(void)
{
	u32 i;

	rmc_tx_coord_init(&c, SELF, 0);
	CHECK_EQ(rmc_tx_coord_prepare(&c, RMC_TX_SLOTS), -EINVAL);
	CHECK_EQ(rmc_tx_coord_prepare(&c, SLOT), -ECANCELED);
	prepare();
	CHECK_EQ(held(), SLOT);
	CHECK_EQ(held(), -1);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), 0);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), -ECANCELED);
	CHECK_EQ(take(), 2);
	CHECK_EQ(to(1)->kind, RMC_TX_COMMIT);
	answer(1, RMC_S_OK);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(ended(), RMC_S_OK);
	check_free();
	/* not told before it is aborted, given up, or a node of it is lost */
	for (i = 0; i < 3; i++) {
		prepare();
		if (i)
			CHECK_EQ(held(), SLOT);
		if (i < 2)
			rmc_tx_coord_abort(&c, SLOT, RMC_S_ABORTED);
		else
			rmc_tx_coord_epoch(&c, 1);
		CHECK_EQ(held(), -1);
		finish_abort(i < 2 ? RMC_S_ABORTED : RMC_S_NODE_DOWN, i < 2 ? ONE | OWN : OWN);
	}
	/* committed before it was told */
	prepare();
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), 0);
	CHECK_EQ(held(), -1);
	take();
	answer(1, RMC_S_OK);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(ended(), RMC_S_OK);
	/* the slot's next one is not held */
	begin(ONE, 0);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), 0);
	take();
	answer(1, RMC_S_OK);
	CHECK_EQ(phase(), RMC_TX_COMMITTING);
	CHECK_EQ(ended(), RMC_S_OK);
}

static void test_calls(void)
{
	u32 i, other;
	u8 status;

	rmc_tx_coord_init(&c, SELF, 40);
	CHECK_EQ(rmc_tx_coord_begin(&c, RMC_TX_SLOTS, &gen), -EINVAL);
	CHECK_EQ(rmc_tx_coord_touch(&c, RMC_TX_SLOTS, 1, true), -EINVAL);
	CHECK_EQ(rmc_tx_coord_touch(&c, SLOT, 1, true), -ECANCELED);
	CHECK_EQ(rmc_tx_coord_commit(&c, RMC_TX_SLOTS), -EINVAL);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), -ECANCELED);
	rmc_tx_coord_abort(&c, SLOT, RMC_S_ABORTED);
	rmc_tx_coord_abort(&c, ~0U, RMC_S_ABORTED);
	rmc_tx_coord_expire(&c, ~0U);
	rmc_tx_coord_resend(&c, ~0U);
	rmc_tx_coord_resend(&c, SLOT);
	rmc_tx_coord_squash(&c, ~0U, 40, 1);
	rmc_tx_coord_epoch(&c, 1);
	rmc_tx_coord_epoch(&c, ~0U);
	rmc_tx_coord_answer(&c, to(1), RMC_S_OK);
	check_free();
	CHECK_EQ(take(), 0);

	CHECK_EQ(rmc_tx_coord_begin(&c, SLOT, &gen), 0);
	CHECK_EQ(gen, 41);
	CHECK_EQ(rmc_tx_coord_begin(&c, SLOT, &other), -EBUSY);
	CHECK_EQ(rmc_tx_coord_begin(&c, 63, &other), 0);
	CHECK_EQ(other, 41);
	CHECK_EQ(rmc_tx_coord_touch(&c, SLOT, RMC_TX_SOURCES, true), -EINVAL);
	for (i = 0; i < RMC_TX_NODES; i++)
		CHECK_EQ(rmc_tx_coord_touch(&c, SLOT, i, true), 0);
	CHECK_EQ(rmc_tx_coord_touch(&c, SLOT, 9, true), 0);
	CHECK_EQ(rmc_tx_coord_touch(&c, SLOT, RMC_TX_NODES, true), -ENOSPC);
	/* one that used no node ends at once */
	CHECK_EQ(rmc_tx_coord_commit(&c, 63), 0);
	CHECK(rmc_tx_coord_ended(&c, &i, &status));
	CHECK_EQ(i, 63);
	CHECK(rmc_tx_coord_is_free(&c, 63));
	rmc_tx_coord_abort(&c, SLOT, RMC_S_ABORTED);
	CHECK_EQ(rmc_tx_coord_touch(&c, SLOT, 1, true), -ECANCELED);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), -ECANCELED);
	CHECK_EQ(rmc_tx_coord_begin(&c, SLOT, &other), -EBUSY);
	/* gens go on, and wrap */
	rmc_tx_coord_init(&c, SELF, ~0U - 1);
	begin(0, 0);
	CHECK_EQ(gen, ~0U);
	rmc_tx_coord_abort(&c, SLOT, RMC_S_ABORTED);
	CHECK_EQ(rmc_tx_coord_begin(&c, SLOT, &other), -EBUSY);
	finish_abort(RMC_S_ABORTED, 0);
	begin(0, 0);
	CHECK_EQ(gen, 0);
}

/* First the own node, then all others, then the decision; its end once the own node has stored */
static void test_commit(void)
{
	rmc_tx_coord_init(&c, SELF, 0);
	begin(ONE | OWN, THREE);
	CHECK_EQ(take(), 0);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), 0);
	CHECK_EQ(rmc_tx_coord_touch(&c, SLOT, 4, true), -ECANCELED);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), -ECANCELED);
	CHECK_EQ(take(), 1);
	CHECK_EQ(to(SELF)->kind, RMC_TX_INTEND);
	CHECK_EQ(to(SELF)->slot, SLOT);
	CHECK_EQ(to(SELF)->gen, 1);
	CHECK_EQ(to(SELF)->flags, RMC_TX_HERE);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(phase(), RMC_TX_OTHERS);
	/* once more: it does not stand for another one's */
	answer(SELF, RMC_S_OK);
	CHECK_EQ(take(), 2);
	CHECK_EQ(to(1)->kind, RMC_TX_INTEND);
	CHECK_EQ(to(1)->flags, RMC_TX_HERE);
	CHECK_EQ(to(3)->kind, RMC_TX_INTEND);
	CHECK_EQ(to(3)->flags, 0);
	answer(3, RMC_S_OK);
	answer(3, RMC_S_OK);
	CHECK_EQ(take(), 0);
	CHECK(!rmc_tx_coord_is_decided(&c, SLOT));
	rmc_tx_coord_resend(&c, SLOT);
	CHECK_EQ(take(), 1);
	answer(1, RMC_S_OK);
	CHECK(rmc_tx_coord_is_decided(&c, SLOT));
	answer(1, RMC_S_TX_SQUASHED);
	CHECK_EQ(ended(), -1);
	CHECK_EQ(take(), 3);
	CHECK_EQ(to(1)->kind, RMC_TX_COMMIT);
	CHECK_EQ(to(1)->flags, 0);
	CHECK_EQ(to(SELF)->kind, RMC_TX_COMMIT);
	CHECK_EQ(to(3)->kind, RMC_TX_COMMIT);
	answer(1, RMC_S_OK);
	CHECK_EQ(ended(), -1);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(ended(), RMC_S_OK);
	CHECK_EQ(ended(), -1);
	CHECK(!rmc_tx_coord_is_free(&c, SLOT));
	answer(3, RMC_S_OK);
	check_free();

	/* not at the own node: its end is the decision */
	begin(ONE, 0);
	CHECK_EQ(gen, 2);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), 0);
	CHECK_EQ(phase(), RMC_TX_OTHERS);
	CHECK_EQ(take(), 1);
	answer(1, RMC_S_OK);
	CHECK_EQ(ended(), RMC_S_OK);
	CHECK_EQ(take(), 1);
	answer(1, RMC_S_OK);
	check_free();

	/* at the own node alone; nobody asks for its end until all is over */
	begin(0, OWN);
	CHECK_EQ(rmc_tx_coord_commit(&c, SLOT), 0);
	CHECK_EQ(take(), 1);
	CHECK_EQ(to(SELF)->flags, 0);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(take(), 1);
	CHECK_EQ(to(SELF)->kind, RMC_TX_COMMIT);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(rmc_tx_coord_begin(&c, SLOT, &gen), -EBUSY);
	CHECK_EQ(ended(), RMC_S_OK);
	check_free();
}

/* A refusal by each node; those that were asked nothing are told nothing. */
static void test_refused(void)
{
	static const u8 status[] = {
		RMC_S_TX_SQUASHED, RMC_S_TX_LOCKED, RMC_S_TX_FULL, RMC_S_TX_STALE, RMC_S_TIMEOUT,
		RMC_S_NODE_DOWN, RMC_S_BUSY, RMC_S_PROTOCOL,
	};
	u32 i;

	rmc_tx_coord_init(&c, SELF, 0);
	for (i = 0; i < ARRAY_SIZE(status); i++) {
		begin_in(RMC_TX_SELF);
		answer(SELF, status[i]);
		finish_abort(status[i], ONE | OWN);
		begin_in(RMC_TX_OTHERS);
		answer(1, RMC_S_OK);
		answer(3, status[i]);
		finish_abort(status[i], ONE | OWN | THREE);
		begin_in(RMC_TX_OTHERS);
		answer(1, status[i]);
		/* the first one is the cause */
		answer(3, RMC_S_BAD_NODE);
		finish_abort(status[i], ONE | OWN | THREE);
	}
	/* messages that were due are not sent any more */
	begin_in(RMC_TX_SELF);
	answer(SELF, RMC_S_OK);
	rmc_tx_coord_squash(&c, SLOT, gen, 1);
	finish_abort(RMC_S_TX_SQUASHED, ONE | OWN);
}

/* Hints count from nodes of the transaction, for this use of the slot, before the decision. */
static void test_squash(void)
{
	u8 in;

	rmc_tx_coord_init(&c, SELF, 0);
	for (in = RMC_TX_EXECUTING; in <= RMC_TX_OTHERS; in++) {
		begin_in(in);
		rmc_tx_coord_squash(&c, SLOT, gen - 1, 1);
		rmc_tx_coord_squash(&c, SLOT, gen + 1, 1);
		rmc_tx_coord_squash(&c, SLOT, gen, 4);
		rmc_tx_coord_squash(&c, SLOT + 1, gen, 1);
		if (in != RMC_TX_OTHERS)
			rmc_tx_coord_squash(&c, SLOT, gen, 3);
		CHECK_EQ(phase(), in);
		rmc_tx_coord_squash(&c, SLOT, gen, 1);
		rmc_tx_coord_squash(&c, SLOT, gen, 1);
		finish_abort(RMC_S_TX_SQUASHED, in == RMC_TX_OTHERS ? ONE | OWN | THREE : ONE | OWN);
		rmc_tx_coord_squash(&c, SLOT, gen, 1);
		check_free();

		begin_in(in);
		rmc_tx_coord_expire(&c, SLOT);
		finish_abort(RMC_S_TIMEOUT, in == RMC_TX_OTHERS ? ONE | OWN | THREE : ONE | OWN);
	}
	begin_in(RMC_TX_OTHERS);
	answer(1, RMC_S_OK);
	answer(3, RMC_S_OK);
	rmc_tx_coord_squash(&c, SLOT, gen, 1);
	rmc_tx_coord_expire(&c, SLOT);
	rmc_tx_coord_abort(&c, SLOT, RMC_S_ABORTED);
	CHECK_EQ(phase(), RMC_TX_COMMITTING);
	take();
	answer(1, RMC_S_OK);
	answer(3, RMC_S_OK);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(ended(), RMC_S_OK);
	check_free();
}

/* What is lost is repeated until it is answered; what comes late, or twice, counts once. */
static void test_lost(void)
{
	static const u8 again[] = { RMC_S_TIMEOUT, RMC_S_NODE_DOWN, RMC_S_BUSY, RMC_S_ABORTED };
	struct rmc_tx_msg old;
	u32 i;

	rmc_tx_coord_init(&c, SELF, 0);
	begin_in(RMC_TX_OTHERS);
	old = *to(1);
	rmc_tx_coord_resend(&c, SLOT);
	CHECK_EQ(take(), 2);
	rmc_tx_coord_resend(&c, SLOT);
	/* it was answered after all */
	answer(1, RMC_S_OK);
	CHECK_EQ(take(), 1);
	CHECK_EQ(msg[0].nid, 3);
	answer(3, RMC_S_OK);
	CHECK_EQ(take(), 3);
	for (i = 0; i < ARRAY_SIZE(again); i++) {
		answer(1, again[i]);
		CHECK_EQ(rmc_tx_coord_next(&c, &msg[8]), false);
		rmc_tx_coord_resend(&c, SLOT);
		CHECK_EQ(take(), 3);
		CHECK_EQ(to(1)->kind, RMC_TX_COMMIT);
	}
	answer(1, RMC_S_OK);
	answer(1, RMC_S_OK);
	rmc_tx_coord_answer(&c, &old, RMC_S_OK);
	CHECK_EQ(c.slot[SLOT].waits, 2);
	answer(SELF, RMC_S_OK);
	rmc_tx_coord_resend(&c, SLOT);
	CHECK_EQ(take(), 1);
	answer(3, RMC_S_OK);
	CHECK_EQ(ended(), RMC_S_OK);
	check_free();
	answer(3, RMC_S_OK);
	check_free();

	/* answers to the last use of the slot */
	begin_in(RMC_TX_OTHERS);
	CHECK(gen != old.gen);
	rmc_tx_coord_answer(&c, &old, RMC_S_TX_SQUASHED);
	CHECK_EQ(phase(), RMC_TX_OTHERS);
	answer(1, RMC_S_TX_SQUASHED);
	CHECK_EQ(take(), 3);
	for (i = 0; i < ARRAY_SIZE(again); i++) {
		answer(1, again[i]);
		rmc_tx_coord_resend(&c, SLOT);
		CHECK_EQ(take(), 3);
	}
	/* a late ack of INTEND is no answer to ABORT */
	old = *to(3);
	old.kind = RMC_TX_INTEND;
	rmc_tx_coord_answer(&c, &old, RMC_S_OK);
	CHECK_EQ(c.slot[SLOT].waits, 3);
	answer(1, RMC_S_TX_STALE);
	answer(3, RMC_S_OK);
	answer(SELF, RMC_S_OK);
	CHECK(!rmc_tx_coord_is_free(&c, SLOT));
	CHECK_EQ(ended(), RMC_S_TX_SQUASHED);
	check_free();
}

/* A node that begins anew, in each phase */
static void test_epoch(void)
{
	u8 in;

	rmc_tx_coord_init(&c, SELF, 0);
	for (in = RMC_TX_EXECUTING; in <= RMC_TX_OTHERS; in++) {
		begin_in(in);
		rmc_tx_coord_epoch(&c, 4);
		CHECK_EQ(phase(), in);
		rmc_tx_coord_epoch(&c, 1);
		finish_abort(RMC_S_NODE_DOWN, in == RMC_TX_OTHERS ? OWN | THREE : OWN);
		/* one that was told nothing yet has forgotten nothing */
		begin_in(in);
		rmc_tx_coord_epoch(&c, 3);
		CHECK_EQ(phase(), in == RMC_TX_OTHERS ? RMC_TX_ABORTING : in);
		rmc_tx_coord_abort(&c, SLOT, RMC_S_NODE_DOWN);
		finish_abort(RMC_S_NODE_DOWN, ONE | OWN);
	}
	/* while it aborts: there is nothing left to do there */
	begin_in(RMC_TX_OTHERS);
	rmc_tx_coord_expire(&c, SLOT);
	rmc_tx_coord_epoch(&c, 3);
	finish_abort(RMC_S_TIMEOUT, ONE | OWN);

	/* decided: what it had not stored is lost */
	begin_in(RMC_TX_OTHERS);
	answer(1, RMC_S_OK);
	answer(3, RMC_S_OK);
	take();
	answer(1, RMC_S_OK);
	rmc_tx_coord_epoch(&c, 1);
	CHECK_EQ(c.slot[SLOT].status, RMC_S_OK);
	rmc_tx_coord_epoch(&c, 3);
	rmc_tx_coord_resend(&c, SLOT);
	CHECK_EQ(take(), 1);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(ended(), RMC_S_TX_PART_LOST);
	check_free();
	/* it says so itself */
	begin_in(RMC_TX_OTHERS);
	answer(1, RMC_S_OK);
	answer(3, RMC_S_OK);
	take();
	answer(1, RMC_S_TX_STALE);
	answer(3, RMC_S_OK);
	answer(SELF, RMC_S_OK);
	CHECK_EQ(ended(), RMC_S_TX_PART_LOST);
	check_free();
	/* the own one */
	begin_in(RMC_TX_OTHERS);
	answer(1, RMC_S_OK);
	answer(3, RMC_S_OK);
	take();
	rmc_tx_coord_epoch(&c, SELF);
	CHECK_EQ(ended(), RMC_S_TX_PART_LOST);
	answer(1, RMC_S_OK);
	answer(3, RMC_S_OK);
	check_free();
}

/* Slots do not disturb each other. */
static void test_slots(void)
{
	u32 slot, n, ends[2] = { 0 };
	u8 status;

	rmc_tx_coord_init(&c, SELF, 0);
	for (slot = 0; slot < RMC_TX_SLOTS; slot++) {
		CHECK_EQ(rmc_tx_coord_begin(&c, slot, &gen), 0);
		CHECK_EQ(rmc_tx_coord_touch(&c, slot, slot % 8, true), 0);
		CHECK_EQ(rmc_tx_coord_commit(&c, slot), 0);
	}
	for (n = 0; rmc_tx_coord_next(&c, &msg[0]); n++) {
		CHECK_EQ(msg[0].nid, msg[0].slot % 8);
		rmc_tx_coord_answer(&c, &msg[0], msg[0].kind == RMC_TX_INTEND && msg[0].slot % 2 ?
				    RMC_S_TX_LOCKED : RMC_S_OK);
	}
	CHECK_EQ(n, 2 * RMC_TX_SLOTS);
	while (rmc_tx_coord_ended(&c, &slot, &status)) {
		CHECK_EQ(status, slot % 2 ? RMC_S_TX_LOCKED : RMC_S_OK);
		CHECK(rmc_tx_coord_is_free(&c, slot));
		ends[slot % 2]++;
	}
	CHECK_EQ(ends[0], RMC_TX_SLOTS / 2);
	CHECK_EQ(ends[1], RMC_TX_SLOTS / 2);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "tx coord: calls that come at a wrong time", test_calls },
		{ "tx coord: commits", test_commit },
		{ "tx coord: loads and stores at the own node", test_local },
		{ "tx coord: locks in advance", test_lock },
		{ "tx coord: prepared, then decided", test_prepare },
		{ "tx coord: refusals", test_refused },
		{ "tx coord: hints and time-outs", test_squash },
		{ "tx coord: messages that are lost, late or doubled", test_lost },
		{ "tx coord: nodes that begin anew", test_epoch },
		{ "tx coord: many at a time", test_slots },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
