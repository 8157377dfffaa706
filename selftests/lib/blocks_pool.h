/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Blocks that are not in use. Part of test_blocks.c */
#ifndef BLOCKS_POOL_H
#define BLOCKS_POOL_H

/* --- free blocks --- */

#define SEARCH_AGAIN_NS	20000000	/* a client that found nothing searches again then */

/* All blocks that there are, each once */
static unsigned int allocate_all(const struct client *c, uint64_t *at)
{
	const struct rmc_block_ops *ops = c->blocks->ops;
	struct rmc_block_hold h = { 0 };
	unsigned int n, i;
	int err;

	for (n = 0; ; n++) {
		err = allocate(c, 0, &h);
		if (err)
			break;
		for (i = 0; i < c->blocks->bytes; i++)
			CHECK_EQ(h.data[i], 0);
		for (i = 0; i < n; i++)
			CHECK(at[i] != h.at);
		at[n] = h.at;
		set_kind(c, &h);
		CHECK_EQ(ops->leave(c->blocks, &h), 0);
	}
	CHECK_EQ(err, -ENOSPC);
	return n;
}

static int retire(const struct client *c, uint64_t at)
{
	struct rmc_block_hold h = { 0 };
	int err = c->blocks->ops->enter(c->blocks, at, RMC_BLOCK_WRITE, &h);

	if (err)
		return err;
	err = c->blocks->ops->retire(c->blocks, &h);
	c->blocks->ops->cancel(c->blocks, &h);
	return c->blocks->ops->end(c->blocks, err);
}

static void pool(void)
{
	const struct rmc_block_ops *ops;
	struct client a, b;
	struct rmc_block_hold h = { 0 };
	uint64_t at[64], again[64];
	unsigned int n, i;

	areas("farm", 100, 3, 17, 2);
	client_open(&a, 1);
	ops = a.blocks->ops;
	/* beside another one: at the same node */
	for (i = 0; i < 2; i++) {
		CHECK_EQ(allocate(&a, ops->fixed_at(a.blocks, i), &h), 0);
		CHECK_EQ(at_nid(h.at), i);
		ops->cancel(a.blocks, &h);
	}
	/* cancelled: the next one at its node */
	CHECK_EQ(allocate(&a, 0, &h), 0);
	at[0] = h.at;
	ops->cancel(a.blocks, &h);
	CHECK_EQ(allocate(&a, at[0], &h), 0);
	CHECK_EQ(h.at, at[0]);
	ops->cancel(a.blocks, &h);
	n = allocate_all(&a, at);
	CHECK_EQ(n, 2 * (17 - 3));
	/* not twice; nor what is fixed, or was never in use */
	CHECK_EQ(retire(&a, at[5]), 0);
	CHECK_EQ(retire(&a, at[5]), -EINVAL);
	CHECK_EQ(retire(&a, ops->fixed_at(a.blocks, 0)), -EINVAL);
	CHECK_EQ(ops->enter(a.blocks, ops->fixed_at(a.blocks, 0), RMC_BLOCK_WRITE, &h), 0);
	set_kind(&a, &h);
	CHECK_EQ(ops->leave(a.blocks, &h), 0);
	CHECK_EQ(retire(&a, ops->fixed_at(a.blocks, 0)), -EINVAL);
	/* again */
	CHECK_EQ(allocate(&a, 0, &h), 0);
	CHECK_EQ(h.at, at[5]);
	set_kind(&a, &h);
	CHECK_EQ(ops->leave(a.blocks, &h), 0);
	/* what one frees, the other one gets after it has closed */
	client_open(&b, 2);
	CHECK_EQ(allocate(&b, 0, &h), -ENOSPC);
	for (i = 0; i < n; i++)
		CHECK_EQ(retire(&a, at[i]), 0);
	client_close(&a);
	virtual_ns += SEARCH_AGAIN_NS;
	CHECK_EQ(allocate_all(&b, again), n);
	CHECK_EQ(stats_of(&b).leaked, 0);
	client_close(&b);
	inline_fabric_free(&fabric);
}

/* Who frees many keeps some: the others get the rest at once */
static void many_freed(void)
{
	struct rmc_block_hold h = { 0 };
	unsigned int i, n;
	struct client a, b;

	areas("farm", 100, 1, BLOCK_SPARES + 60, 1);
	options.chunk = 1000;
	client_open(&a, 1);
	client_open(&b, 2);
	for (i = 0; i < BLOCK_SPARES + 59; i++) {
		CHECK_EQ(allocate(&a, 0, &h), 0);
		set_kind(&a, &h);
		CHECK_EQ(a.blocks->ops->leave(a.blocks, &h), 0);
	}
	CHECK_EQ(allocate(&b, 0, &h), -ENOSPC);
	for (i = 1; i < BLOCK_SPARES + 60; i++)
		CHECK_EQ(retire(&a, block_at(remote(&a), 0, i)), 0);
	CHECK_EQ(remote(&a)->spare_count, BLOCK_SPARES / 2);
	CHECK_EQ(stats_of(&a).leaked, 0);
	virtual_ns += SEARCH_AGAIN_NS;
	for (n = 0; !allocate(&b, 0, &h); n++) {
		set_kind(&b, &h);
		CHECK_EQ(b.blocks->ops->leave(b.blocks, &h), 0);
	}
	CHECK_EQ(n, BLOCK_SPARES / 2 + 59);
	client_close(&a);
	client_close(&b);
	inline_fabric_free(&fabric);
}

/* A chunk of which little was used */
static void rest_of_a_chunk(void)
{
	struct rmc_block_hold h = { 0 };
	struct client a, b;
	uint64_t at[16];

	areas("farm", 100, 1, 9, 1);
	client_open(&a, 1);
	client_open(&b, 2);
	CHECK_EQ(allocate(&a, 0, &h), 0);
	a.blocks->ops->cancel(a.blocks, &h);
	client_close(&a);
	CHECK_EQ(allocate_all(&b, at), 8);
	client_close(&b);
	inline_fabric_free(&fabric);
}

/* Words of an area that a faulty client has stored, and replies that are lost */
static void damaged_pool(void)
{
	const struct rmc_block_ops *ops;
	struct rmc_block_hold h = { 0 };
	struct client a;
	uint64_t *next, *bits, at[40];
	unsigned int n;

	areas("farm", 100, 3, 20, 1);
	client_open(&a, 0);
	ops = a.blocks->ops;
	next = (uint64_t *)(void *)(fabric.segment[0] + AT + remote(&a)->shape.next_at);
	bits = next + 8;
	*next = 1;		/* a fixed block */
	CHECK_EQ(allocate(&a, 0, &h), -EPROTO);
	*next = ~0ULL;
	CHECK_EQ(allocate(&a, 0, &h), -ENOSPC);
	virtual_ns += SEARCH_AGAIN_NS;
	*bits = 1;		/* fixed */
	CHECK_EQ(allocate(&a, 0, &h), -EPROTO);
	*bits = 1ULL << 20;	/* beyond the last one */
	CHECK_EQ(allocate(&a, 0, &h), -EPROTO);
	*bits = 1ULL << 19;
	CHECK_EQ(allocate(&a, 0, &h), 0);
	CHECK_EQ(*bits, 0);
	set_kind(&a, &h);
	CHECK_EQ(ops->leave(a.blocks, &h), 0);
	/* one that is in use is free as well: it is left as it is, and there is no other */
	*bits = 1ULL << 19;
	CHECK_EQ(allocate(&a, 0, &h), -ENOSPC);
	CHECK_EQ(stats_of(&a).leaked, 1);
	virtual_ns += SEARCH_AGAIN_NS;
	*bits = 1ULL << 19 | 1ULL << 15;
	CHECK_EQ(allocate(&a, 0, &h), 0);
	CHECK_EQ(h.at, block_at(remote(&a), 0, 15));
	ops->cancel(a.blocks, &h);
	client_close(&a);
	CHECK_EQ(*bits, 1ULL << 19 | 1ULL << 15);
	inline_fabric_free(&fabric);

	/* the reply of a chunk is lost: these blocks are, too, but no block is twice in use */
	areas("farm", 100, 1, 13, 1);
	client_open(&a, 0);
	a.rmc.only = RMC_OP_FAA;
	a.rmc.operations = 0;
	a.rmc.lose_reply = 1;
	CHECK_EQ(allocate(&a, 0, &h), RMC_S_TIMEOUT);
	a.rmc.lose_reply = 0;
	n = allocate_all(&a, at);
	CHECK_EQ(n, 8);
	CHECK_EQ(stats_of(&a).leaked, 4);
	client_close(&a);
	inline_fabric_free(&fabric);
}

/*
 * A block that nobody uses is latched, by a client that is dead: others get the next one, it is
 * given up after a few attempts, and not given back.
 */
static void allocate_past_latched(unsigned int times)
{
	struct rmc_block_hold h = { 0 };
	uint64_t *bits, *word, bad, began;
	struct client a;
	unsigned int n;

	areas("farm", 100, 1, 20, 1);
	client_open(&a, 0);
	bad = block_at(remote(&a), 0, 1);
	word = word_of(&a, bad);
	*word |= BLOCK_WORD_LATCHED;
	for (n = 0; n < times; n++) {
		began = inline_now();
		CHECK_EQ(allocate(&a, 0, &h), 0);
		CHECK(inline_now() - began < 100000);
		CHECK(h.at != bad);
		a.blocks->ops->cancel(a.blocks, &h);
	}
	CHECK_EQ(stats_of(&a).leaked, times > 1);
	bits = (uint64_t *)(void *)(fabric.segment[0] + AT + remote(&a)->shape.free_at);
	client_close(&a);
	CHECK_EQ(*bits & 2, 0);
	inline_fabric_free(&fabric);
}

static void latched_free_block(void)
{
	allocate_past_latched(1);
	allocate_past_latched(12);
}

/* While a block is held, allocation reads and latches a block, and does nothing else. */
static void no_search_with_holds(void)
{
	const struct rmc_block_ops *ops;
	struct rmc_block_hold h = { 0 };
	struct client a;
	uint64_t others;

	areas("farm", 100, 1, 5000, 1);
	client_open(&a, 0);
	ops = a.blocks->ops;
	CHECK_EQ(ops->begin(a.blocks, 0), 0);
	others = operations(&a);
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), RMC_BLOCK_RESTART);
	CHECK_EQ(operations(&a), others);
	CHECK_EQ(ops->begin(a.blocks, 1), 0);
	others = operations(&a);
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), 0);
	CHECK_EQ(operations(&a), others + 2);
	ops->cancel(a.blocks, &h);
	/* nothing is free: all words are read once, and not again for a while */
	while (!allocate(&a, 0, &h)) {
		set_kind(&a, &h);
		CHECK_EQ(ops->leave(a.blocks, &h), 0);
	}
	others = operations(&a);
	CHECK_EQ(allocate(&a, 0, &h), -ENOSPC);
	CHECK_EQ(operations(&a), others);
	virtual_ns += SEARCH_AGAIN_NS;
	CHECK_EQ(allocate(&a, 0, &h), -ENOSPC);
	CHECK_EQ(operations(&a), others + (5000 + 511) / 512);
	client_close(&a);
	inline_fabric_free(&fabric);
}

/* Whether its latch was taken is not known: when it is, the block is this client's again. */
static void free_block_in_doubt(void)
{
	struct rmc_block_hold h = { 0 };
	unsigned int spares;
	struct client a;
	int i;

	areas("farm", 100, 1, 3, 1);
	client_open(&a, 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(allocate(&a, 0, &h), 0);
		a.blocks->ops->cancel(a.blocks, &h);
		spares = remote(&a)->spare_count;
		CHECK(spares);
		a.rmc.only = RMC_OP_CAS;
		a.rmc.lose = 1;
		CHECK_EQ(allocate(&a, 0, &h), RMC_S_TIMEOUT);
		a.rmc.lose = 0;
		CHECK_EQ(rmc_blocks_settle(a.blocks), 0);
		CHECK_EQ(stats_of(&a).leaked, 0);
		CHECK_EQ(remote(&a)->spare_count, spares);
	}
	client_close(&a);
	inline_fabric_free(&fabric);
}

static struct client rival;
static struct rmc_block_hold rivals;
static unsigned int rival_at;
static int rival_result;

static void rival_takes_it(void)
{
	if (rival_at && !--rival_at)
		rival_result = allocate(&rival, 0, &rivals);
}

/* Two look for a free block, of which there is one: one of them gets it, whoever is in between. */
static void one_free_block(void)
{
	struct rmc_block_hold h = { 0 };
	uint64_t *next, *bits;
	struct client a;
	unsigned int k;
	int err;

	areas("farm", 40, 1, 40, 1);
	client_open(&a, 0);
	client_open(&rival, 1);
	next = (uint64_t *)(void *)(fabric.segment[0] + AT + remote(&a)->shape.next_at);
	bits = next + 8;
	*next = 40;
	a.rmc.pause = rival_takes_it;
	a.rmc.pauses = 1;
	for (k = 1; k < 12; k++) {
		*bits = 1ULL << k;
		rival_at = k;
		virtual_ns += SEARCH_AGAIN_NS;
		rival_result = 1;
		err = allocate(&a, 0, &h);
		if (rival_at)
			break;		/* all operations of an allocation have been interrupted */
		CHECK(err == 0 || err == -ENOSPC || err == RMC_BLOCK_RESTART);
		CHECK(rival_result == 0 || rival_result == -ENOSPC ||
		      rival_result == RMC_BLOCK_RESTART);
		CHECK_EQ(!err + !rival_result, 1);
		CHECK_EQ(*bits, 0);
		/* and the other one does not believe that it has one */
		CHECK_EQ(remote(&a)->spare_count + remote(&rival)->spare_count, 0);
		CHECK_EQ(stats_of(&a).leaked + stats_of(&rival).leaked, 0);
		if (!err) {
			set_kind(&a, &h);
			CHECK_EQ(a.blocks->ops->leave(a.blocks, &h), 0);
		} else {
			set_kind(&rival, &rivals);
			CHECK_EQ(rival.blocks->ops->leave(rival.blocks, &rivals), 0);
		}
	}
	CHECK(k >= 6 && k < 12);
	a.blocks->ops->cancel(a.blocks, &h);
	client_close(&a);
	client_close(&rival);
	inline_fabric_free(&fabric);
}

#endif /* BLOCKS_POOL_H */
