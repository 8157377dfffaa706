/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Operations on blocks that are lost, late or refused. Part of test_blocks.c */
#ifndef BLOCKS_LOST_H
#define BLOCKS_LOST_H

/* An operation of a structure: this byte into all of a block; the first status */
static int write_block(const struct client *c, uint64_t at, uint8_t v)
{
	const struct rmc_block_ops *ops = c->blocks->ops;
	struct rmc_block_hold h = { 0 };
	unsigned int restarts = 0;
	int err;

	do {
		err = ops->begin(c->blocks, restarts++);
		if (err)
			break;
		err = ops->enter(c->blocks, at, RMC_BLOCK_READ, &h);
		if (!err)
			err = ops->upgrade(c->blocks, &h);
		if (!err) {
			fill_hold(c, &h, v);
			err = ops->leave(c->blocks, &h);
		}
		ops->cancel(c->blocks, &h);
	} while (err == RMC_BLOCK_RESTART);
	return ops->end(c->blocks, err);
}

/* Each operation of a write is lost, or its reply is: it is repeated, and done once. */
static void lost_operations(void)
{
	const struct rmc_block_ops *ops;
	struct rmc_block_hold h = { 0 };
	struct client a;
	unsigned int n, reply;
	uint64_t at, began, left;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(schemes); i++) {
		areas(schemes[i], 300, 1, 2, 1);
		tap_where = schemes[i];
		client_open(&a, 0);
		ops = a.blocks->ops;
		at = ops->fixed_at(a.blocks, 0);
		for (n = 1; n <= 5; n++) {
			for (reply = 0; reply < 2; reply++) {
				a.rmc.operations = 0;
				a.rmc.lose_at = reply ? 0 : n;
				a.rmc.lose_reply = reply ? n : 0;
				began = inline_now();
				CHECK_EQ(ops->begin(a.blocks, 0), 0);
				CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), 0);
				CHECK_EQ(ops->upgrade(a.blocks, &h), 0);
				fill_hold(&a, &h, (uint8_t)(10 * n + reply));
				CHECK_EQ(ops->leave(a.blocks, &h), 0);
				/* no wait while others may be held, but afterwards */
				left = inline_now() - began;
				CHECK(left < GRACE_US * 1000 / 4);
				CHECK_EQ(stats_of(&a).stuck, n == 3);
				CHECK_EQ(ops->end(a.blocks, 0), 0);
				CHECK_EQ(inline_now() - began >= GRACE_US * 1000, n == 3);
				CHECK_EQ(stats_of(&a).stuck, 0);
				CHECK_EQ(a.rmc.operations, 4 + (n <= 4));
				a.rmc.lose_at = a.rmc.lose_reply = 0;
				CHECK_EQ(filled(&a, at), 10 * n + reply);
				CHECK_EQ(*word_of(&a, at), 4 * (n - 1) + 2 * reply + 2);
			}
		}
		client_close(&a);
		inline_fabric_free(&fabric);
	}
	tap_where = NULL;
}

struct refusal {
	int status;
	unsigned int fails;		/* operations with this status */
	bool ends;			/* the operation of the structure with it */
};

/*
 * Each operation of a write, one after another, ends with a status, for a while, executed or not.
 * Afterwards no latch is left, and the next client gets in.
 */
static void refuse(const struct refusal *f, unsigned int n, int done)
{
	struct client a, b;
	uint64_t at;
	int err, v;

	areas("farm", 300, 1, 2, 1);
	client_open(&a, 0);
	client_open(&b, 1);
	at = a.blocks->ops->fixed_at(a.blocks, 0);
	CHECK_EQ(write_block(&b, at, 1), 0);
	a.rmc.operations = 0;
	a.rmc.fail_at = n;
	a.rmc.fails = f->fails;
	a.rmc.fail_status = f->status;
	a.rmc.fail_done = done;
	err = write_block(&a, at, 2);
	/* its data is stored, or its result is a status */
	if (err == -EAGAIN && f->status == RMC_S_BUSY && n == 1)
		err = RMC_S_BUSY;
	CHECK(err == 0 || err == f->status);
	/* a few that are lost, or not executed, are repeated */
	CHECK(err == 0 || f->fails == ~0U || f->fails < 2 || f->fails >= BLOCK_TRIES);
	/* stored means stored, though the word may still be latched */
	CHECK(!f->ends || n == 4 || err == f->status);
	CHECK(!f->ends || n != 4 || err == 0);
	CHECK_EQ(a.blocks->ops->begin(a.blocks, 0), 0);
	CHECK_EQ(stats_of(&a).stuck, f->ends && f->fails == ~0U && n > 1);
	a.rmc.fails = 0;
	CHECK_EQ(rmc_blocks_settle(a.blocks), 0);
	CHECK_EQ(stats_of(&a).stuck, 0);
	CHECK_EQ(remote(&a)->used, 0);
	v = filled(&b, at);
	CHECK(v == 2 || (v == 1 && err));
	CHECK_EQ(write_block(&b, at, 3), 0);
	CHECK_EQ(stats_of(&b).locked, 0);
	CHECK_EQ(filled(&a, at), 3);
	client_close(&a);
	client_close(&b);
	inline_fabric_free(&fabric);
}

static void refused_operations(void)
{
	static const struct refusal refusals[] = {
		{ RMC_S_TIMEOUT, 2, false }, { RMC_S_TIMEOUT, BLOCK_TRIES, false },
		{ RMC_S_TIMEOUT, ~0U, true }, { RMC_S_BUSY, 3, false }, { RMC_S_BUSY, ~0U, true },
		{ RMC_S_NODE_DOWN, 1, false }, { RMC_S_NODE_DOWN, ~0U, true },
		{ RMC_S_ABORTED, 1, false }, { RMC_S_ABORTED, ~0U, true },
		{ RMC_S_BAD_CONTEXT, ~0U, true },
	};
	unsigned int n;
	size_t i;
	int done;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		tap_where = rmc_strerror(refusals[i].status);
		for (n = 1; n <= 4; n++)
			for (done = 0; done < 2; done++)
				refuse(&refusals[i], n, done);
	}
	tap_where = NULL;
}

/* A client meets a latch of its own, which it could not release: it does so, and goes on. */
static void own_latch(void)
{
	const struct rmc_block_ops *ops;
	struct rmc_block_hold h = { 0 };
	struct client a;
	uint64_t at[2], reads;
	unsigned int n;

	areas("farm", 300, 2, 4, 1);
	client_open(&a, 0);
	ops = a.blocks->ops;
	at[0] = ops->fixed_at(a.blocks, 0);
	at[1] = ops->fixed_at(a.blocks, 1);
	for (n = 0; n < 2; n++) {
		CHECK_EQ(ops->begin(a.blocks, 0), 0);
		CHECK_EQ(ops->enter(a.blocks, at[0], RMC_BLOCK_WRITE, &h), 0);
		if (n)
			fill_hold(&a, &h, 7);
		fabric.status[0] = RMC_S_NODE_DOWN;
		if (n)
			CHECK_EQ(ops->leave(a.blocks, &h), RMC_S_NODE_DOWN);
		else
			ops->cancel(a.blocks, &h);
		CHECK_EQ(h.at, 0);
		CHECK_EQ(stats_of(&a).stuck, 1);
		fabric.status[0] = 0;
		reads = stats_of(&a).reads;
		/* the write may still come: for the time of grace it waits like others */
		if (n) {
			CHECK_EQ(ops->enter(a.blocks, at[0], RMC_BLOCK_READ, &h),
				 RMC_BLOCK_RESTART);
			CHECK_EQ(ops->begin(a.blocks, 1), 0);
			reads = stats_of(&a).reads - 1;
		}
		CHECK_EQ(ops->enter(a.blocks, at[0], RMC_BLOCK_READ, &h), 0);
		CHECK_EQ(stats_of(&a).reads - reads, 2);
		CHECK(h.data && h.data[0] == (n ? 7 : 0));
		/* twice is refused, whatever the mode */
		CHECK_EQ(ops->enter(a.blocks, at[0], RMC_BLOCK_WRITE,
				    &(struct rmc_block_hold){ 0 }), -EPROTO);
		ops->cancel(a.blocks, &h);
		CHECK_EQ(ops->end(a.blocks, 0), 0);
		CHECK_EQ(stats_of(&a).stuck, 0);
	}
	client_close(&a);
	inline_fabric_free(&fabric);
}

/* Somebody else has released the latch: that is no success */
static void stolen_latch(void)
{
	const struct rmc_block_ops *ops;
	struct rmc_block_hold h = { 0 };
	struct client a;
	uint64_t at;

	areas("farm", 300, 1, 2, 1);
	client_open(&a, 0);
	ops = a.blocks->ops;
	at = ops->fixed_at(a.blocks, 0);
	CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_WRITE, &h), 0);
	*word_of(&a, at) = 4;
	CHECK_EQ(ops->leave(a.blocks, &h), -EPROTO);
	CHECK_EQ(h.at, 0);
	CHECK_EQ(remote(&a)->used, 0);
	CHECK_EQ(stats_of(&a).stuck, 0);
	client_close(&a);
	inline_fabric_free(&fabric);
}

/* More latches in doubt than a client remembers at once: it does not begin another operation */
static void many_doubts(void)
{
	const struct rmc_block_ops *ops;
	struct rmc_block_hold h[RMC_BLOCK_HOLDS] = { { 0 } };
	unsigned int i, n;
	struct client a;

	areas("farm", 40, BLOCK_DOUBTS, 40, 1);
	client_open(&a, 0);
	ops = a.blocks->ops;
	CHECK_EQ(ops->begin(a.blocks, 0), 0);
	for (i = 0; i < RMC_BLOCK_HOLDS; i++)
		CHECK_EQ(ops->enter(a.blocks, ops->fixed_at(a.blocks, i), RMC_BLOCK_WRITE, &h[i]),
			 0);
	fabric.status[0] = RMC_S_NODE_DOWN;
	for (i = 0; i < RMC_BLOCK_HOLDS; i++)
		ops->cancel(a.blocks, &h[i]);
	CHECK_EQ(ops->end(a.blocks, 0), 0);
	CHECK_EQ(stats_of(&a).stuck, RMC_BLOCK_HOLDS);
	n = a.rmc.operations;
	CHECK_EQ(ops->begin(a.blocks, 0), RMC_S_NODE_DOWN);
	CHECK(a.rmc.operations - n <= 2 * RMC_BLOCK_HOLDS);
	fabric.status[0] = 0;
	CHECK_EQ(ops->begin(a.blocks, 0), 0);
	CHECK_EQ(stats_of(&a).stuck, 0);
	for (i = 0; i < RMC_BLOCK_HOLDS; i++)
		CHECK_EQ(filled(&a, ops->fixed_at(a.blocks, i)), 0);
	client_close(&a);
	inline_fabric_free(&fabric);
}

/*
 * An owner restarts: what was in doubt is of another time, and is not stored over what is there
 * now; clients are told.
 */
static void formatted_again(void)
{
	const struct rmc_block_ops *ops;
	struct rmc_block_hold h = { 0 };
	struct client a, b;
	uint64_t at;

	areas("farm", 300, 1, 20, 2);
	client_open(&a, 0);
	ops = a.blocks->ops;
	at = ops->fixed_at(a.blocks, 0);
	CHECK_EQ(ops->begin(a.blocks, 0), 0);
	CHECK_EQ(ops->alloc(a.blocks, at, &h), RMC_BLOCK_RESTART);
	CHECK_EQ(ops->begin(a.blocks, 1), 0);
	CHECK_EQ(ops->alloc(a.blocks, at, &h), 0);
	ops->cancel(a.blocks, &h);
	CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_WRITE, &h), 0);
	fill_hold(&a, &h, 9);
	fabric.status[0] = RMC_S_NODE_DOWN;
	CHECK_EQ(ops->leave(a.blocks, &h), RMC_S_NODE_DOWN);
	CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), RMC_S_NODE_DOWN);
	CHECK_EQ(rmc_blocks_format(&options, fabric.segment[0] + AT), 0);
	fabric.status[0] = 0;
	client_open(&b, 1);
	CHECK_EQ(rmc_blocks_settle(a.blocks), 0);
	CHECK_EQ(stats_of(&a).stuck, 0);
	CHECK_EQ(filled(&b, at), 0);
	CHECK_EQ(*word_of(&b, at), 0);
	CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), -ESTALE);
	CHECK_EQ(write_block(&a, at, 3), -ESTALE);
	/* the other owner's are as before */
	CHECK_EQ(write_block(&a, ops->fixed_at(a.blocks, 1), 3), 0);
	client_close(&a);
	/* nothing of it was given back to the new area */
	CHECK_EQ(*(uint64_t *)(void *)(fabric.segment[0] + AT + remote(&b)->shape.free_at), 0);
	client_close(&b);
	inline_fabric_free(&fabric);
}

/* Lost operations arrive late: not over what others have written since, nor as a latch of nobody */
static void late_operations(void)
{
	static const int only[] = { RMC_OP_WRITE, RMC_OP_CAS };
	struct client a, b;
	unsigned int n, fails, i;
	uint64_t at;

	for (i = 0; i < ARRAY_SIZE(only); i++) {
		areas("farm", 300, 1, 2, 1);
		client_open(&a, 0);
		client_open(&b, 1);
		at = a.blocks->ops->fixed_at(a.blocks, 0);
		a.rmc.late_us = GRACE_US;
		a.rmc.only = only[i];
		for (n = 0; n < 40; n++) {
			/* the first one, or the release of a latch */
			fails = only[i] == RMC_OP_CAS ? 1 + n % 2 : 1;
			a.rmc.operations = 0;
			a.rmc.lose_at = fails;
			CHECK_EQ(write_block(&a, at, 1), 0);
			a.rmc.lose_at = 0;
			CHECK_EQ(write_block(&b, at, 2), 0);
			inline_late_operations(&a.rmc, ~0ULL);
			CHECK_EQ(filled(&b, at), 2);
		}
		CHECK_EQ(a.rmc.lost, 40);
		/* all attempts to latch it are lost, and arrive when the client has given up */
		a.rmc.only = RMC_OP_CAS;
		a.rmc.lose = 1;
		CHECK_EQ(write_block(&a, at, 3), RMC_S_TIMEOUT);
		CHECK_EQ(stats_of(&a).stuck, 1);
		a.rmc.lose = 0;
		CHECK_EQ(rmc_blocks_settle(a.blocks), 0);
		inline_late_operations(&a.rmc, ~0ULL);
		CHECK_EQ(*word_of(&a, at) & BLOCK_WORD_LATCHED, 0);
		CHECK_EQ(filled(&b, at), 2);
		client_close(&a);
		client_close(&b);
		inline_fabric_free(&fabric);
	}
}

static struct fiber *pair[2];
static struct client *of_pair[2];
static uint64_t pair_at;
static int pair_result[2];

static void pair_yields(void)
{
	if (fiber_self())
		fiber_yield();
}

static void pair_writes(void *arg)
{
	unsigned int i = (unsigned int)(uintptr_t)arg;

	pair_result[i] = write_block(of_pair[i], pair_at, (uint8_t)(10 + i));
}

/* With the default options: a write is lost, and others only wait. */
static void patience(void)
{
	struct client a, b;
	unsigned int i, left = 2;

	areas("farm", 300, 1, 2, 1);
	options.wait_us = options.grace_us = options.backoff_ns = options.backoff_max_ns = 0;
	client_open(&a, 0);
	client_open(&b, 1);
	of_pair[0] = &a;
	of_pair[1] = &b;
	pair_at = a.blocks->ops->fixed_at(a.blocks, 0);
	a.rmc.only = RMC_OP_WRITE;
	a.rmc.operations = 0;
	a.rmc.lose_at = 1;
	a.rmc.late_us = 1000;
	clock_step_ns = 20000;
	for (i = 0; i < 2; i++) {
		of_pair[i]->rmc.pause = pair_yields;
		of_pair[i]->rmc.pauses = 1;
		of_pair[i]->rmc.flags->shared_cpu = 1;
		of_pair[i]->rmc.qp.shared = 1;
		pair_result[i] = 1;
		pair[i] = fiber_create(pair_writes, (void *)(uintptr_t)i, 256 << 10);
	}
	for (i = 0; left; i = !i) {
		if (!pair[i])
			continue;
		fiber_resume(pair[i]);
		if (!fiber_finished(pair[i]))
			continue;
		fiber_destroy(pair[i]);
		pair[i] = NULL;
		left--;
	}
	clock_step_ns = CLOCK_STEP_NS;
	CHECK_EQ(pair_result[0], 0);
	CHECK_EQ(pair_result[1], 0);
	CHECK_EQ(a.rmc.lost, 1);
	CHECK(stats_of(&b).locked);
	client_close(&a);
	client_close(&b);
	inline_fabric_free(&fabric);
}

/* Each lost operation takes as long as the RMC's limit: all end when the operation is to end. */
static void time_limits(void)
{
	struct rmc_block_hold h = { 0 };
	struct rmc_map *m;
	struct client a;
	uint64_t began, ns, v;
	unsigned int n;

	areas_of(RMC_BLOCKS_MAP, "farm", RMC_MAP_BYTES, 1, 30, 2);
	client_open(&a, 0);
	a.rmc.clock = &virtual_ns;
	a.rmc.timeout_ns = WAIT_US * 1000 / 2;
	m = rmc_map_open(a.blocks);
	CHECK_EQ(rmc_map_put(m, 1, 1), 0);
	for (n = 0; n < 4; n++) {
		/* from the n-th operation on */
		a.rmc.operations = 0;
		a.rmc.fail_at = 0;
		began = inline_now();
		a.rmc.lose = n ? 0 : 1;
		a.rmc.lose_at = n;
		if (n == 1)
			a.rmc.lose = 1;
		v = 0;
		rmc_map_get(m, 1, &v);
		rmc_map_put(m, n + 2, 5);
		ns = inline_now() - began;
		/* two operations, with the three blocks that one of them may hold */
		CHECK(ns <= 2 * (WAIT_US * 1000ULL + 4 * a.rmc.timeout_ns));
		a.rmc.lose = a.rmc.lose_at = 0;
		rmc_blocks_settle(a.blocks);
		a.rmc.lose = 0;
	}
	/* closing, when nothing arrives: the first failure of an area is the last one */
	CHECK_EQ(allocate(&a, 0, &h), 0);
	a.blocks->ops->cancel(a.blocks, &h);
	rmc_map_close(m);
	a.rmc.lose = 1;
	began = inline_now();
	rmc_blocks_close(a.blocks);
	CHECK(inline_now() - began <= 4 * a.rmc.timeout_ns);
	inline_rmc_free(&a.rmc);
	free(a.memory);
	inline_fabric_free(&fabric);
}

static void rival_writes(void)
{
	uint64_t at = rival.blocks->ops->fixed_at(rival.blocks, 0);

	if (!rival_at || --rival_at)
		return;
	rival_result = rival.blocks->ops->enter(rival.blocks, at, RMC_BLOCK_WRITE, &rivals);
	if (rival_result)
		return;
	fill_hold(&rival, &rivals, 2);
	rival_result = rival.blocks->ops->leave(rival.blocks, &rivals);
}

/* The reply of a release is lost, and another client has written before it is repeated. */
static void released_and_taken(void)
{
	struct rmc_block_hold h = { 0 };
	struct client a;
	uint64_t at;

	areas("farm", 40, 1, 2, 1);
	client_open(&a, 0);
	client_open(&rival, 1);
	at = a.blocks->ops->fixed_at(a.blocks, 0);
	CHECK_EQ(a.blocks->ops->enter(a.blocks, at, RMC_BLOCK_WRITE, &h), 0);
	fill_hold(&a, &h, 1);
	/* write, release, the release again */
	a.rmc.operations = 0;
	a.rmc.lose_reply = 2;
	a.rmc.pause = rival_writes;
	a.rmc.pauses = 1;
	rival_at = 3;
	rival_result = 1;
	CHECK_EQ(a.blocks->ops->leave(a.blocks, &h), 0);
	CHECK_EQ(rival_result, 0);
	CHECK_EQ(filled(&a, at), 2);
	client_close(&a);
	client_close(&rival);
	inline_fabric_free(&fabric);
}

#endif /* BLOCKS_LOST_H */
