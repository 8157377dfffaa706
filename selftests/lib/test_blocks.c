/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Blocks by one-sided operations (lib/blocks), and structures over them: against a stand-in for the
 * RMC that executes operations within the calls, loses some, and executes lost writes late; also by
 * several clients, whose histories lib/check checks. They are fibers that a seed interleaves, or
 * threads with ThreadSanitizer. Each look at the clock takes a moment of its time, so no test
 * waits.
 */
#include <rmc/ds.h>
#include "../../lib/blocks/state.h"
#include "../../lib/check/check.h"
#include "../tap.h"
#include "../../tools/sim/fiber.h"
#include "inline_rmc.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define AT		4096		/* of the areas in their segments */
#define GRACE_US	2000
#define LOOK_NS		200		/* of the clock */

static uint64_t virtual_ns;

/* The linker calls these: -Wl,--wrap */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_sched_yield(void);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t ns = __atomic_add_fetch(&virtual_ns, LOOK_NS, __ATOMIC_RELAXED);

	(void)id;
	ts->tv_sec = (time_t)(ns / 1000000000);
	ts->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

int __wrap_sched_yield(void)
{
	return 0;
}

static const char * const schemes[] = { "farm", "crc64", "sabre" };

static struct inline_fabric fabric;
static struct rmc_blocks_options options;

/* One client */
struct client {
	struct inline_rmc rmc;
	struct rmc_blocks *blocks;
	void *memory;
};

static void areas(const char *scheme, size_t bytes, uint64_t fixed, uint64_t capacity,
		  unsigned int nodes)
{
	unsigned int i;
	size_t len;

	options = (struct rmc_blocks_options){
		.scheme = rmc_scheme_find(scheme), .offset = AT, .capacity = capacity,
		.fixed = fixed, .bytes = bytes, .nodes = nodes, .nid = 3, .grace_us = GRACE_US,
		.chunk = 4, .attempts = 200, .backoff_ns = 200, .backoff_max_ns = 20000,
	};
	len = rmc_blocks_bytes(&options);
	CHECK(len);
	inline_fabric_init(&fabric, nodes, AT + len);
	for (i = 0; i < nodes; i++) {
		memset(fabric.segment[i], 0xa5, fabric.bytes);
		CHECK_EQ(rmc_blocks_format(&options, fabric.segment[i] + AT), 0);
	}
}

static void client_open(struct client *c, unsigned int number)
{
	struct rmc_blocks_options o = options;

	inline_rmc_init(&c->rmc, &fabric, number + 1);
	c->memory = aligned_alloc(4096, (rmc_blocks_memory(&o) + 4095) & ~(size_t)4095);
	o.memory = c->memory;
	o.client = number;
	c->blocks = rmc_blocks_open(&c->rmc.qp, &o);
	if (!c->blocks) {
		printf("# %s\n", rmc_errmsg());
		exit(1);
	}
}

static void client_close(struct client *c)
{
	rmc_blocks_close(c->blocks);
	inline_rmc_free(&c->rmc);
	free(c->memory);
}

static struct rmc_blocks_stats stats_of(const struct client *c)
{
	struct rmc_blocks_stats s;

	rmc_blocks_stats(c->blocks, &s);
	return s;
}

static uint64_t operations(const struct client *c)
{
	struct rmc_blocks_stats s = stats_of(c);

	return s.reads + s.validations + s.atomics + s.writes + s.allocations;
}

static struct remote *remote(const struct client *c)
{
	return remote_of(c->blocks);
}

/* --- a block --- */

static uint64_t *word_of(const struct client *c, uint64_t at)
{
	(void)c;
	return (uint64_t *)(void *)(fabric.segment[at_nid(at)] + at_offset(at));
}

static void fill_hold(const struct client *c, struct rmc_block_hold *h, uint8_t v)
{
	uint8_t data[4096];

	memset(data, v, c->blocks->bytes);
	CHECK_EQ(rmc_block_write(c->blocks, h, 0, data, c->blocks->bytes), 0);
}

/* The byte that fills the block, or -1 */
static int filled(const struct client *c, uint64_t at)
{
	struct rmc_block_hold h = { 0 };
	size_t i;
	int v, err;

	err = c->blocks->ops->enter(c->blocks, at, RMC_BLOCK_READ, &h);
	CHECK_EQ(err, 0);
	if (err)
		return -1;
	v = h.data[0];
	for (i = 1; i < c->blocks->bytes; i++)
		v = h.data[i] == v ? v : -1;
	CHECK_EQ(c->blocks->ops->leave(c->blocks, &h), 0);
	return v;
}

static void one_block(void)
{
	const struct rmc_block_ops *ops;
	struct client a, b;
	struct rmc_block_hold h = { 0 }, g = { 0 };
	uint64_t at, word;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(schemes); i++) {
		areas(schemes[i], 1000, 2, 10, 2);
		tap_where = schemes[i];
		client_open(&a, 1);
		client_open(&b, 2);
		ops = a.blocks->ops;
		CHECK_EQ(a.blocks->fixed, 4);
		at = ops->fixed_at(a.blocks, 3);
		CHECK_EQ(at_nid(at), 1);
		CHECK_EQ(filled(&a, at), 0);
		/* written by one, read by the other */
		CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_WRITE, &h), 0);
		word = *word_of(&a, at);
		CHECK(word & 1);
		CHECK_EQ(word >> BLOCK_WORD_OWNER_SHIFT, 1 << BLOCK_OWNER_NID_BITS | 4);
		fill_hold(&a, &h, 17);
		CHECK_EQ(ops->leave(a.blocks, &h), 0);
		CHECK_EQ(*word_of(&a, at), 2);
		CHECK_EQ(filled(&b, at), 17);
		/* nothing written: another word, the same lines */
		CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), 0);
		CHECK_EQ(ops->valid(a.blocks, &h), 0);
		CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_LATCH, &g), 0);
		CHECK_EQ(ops->valid(a.blocks, &h), RMC_BLOCK_RESTART);
		CHECK_EQ(ops->valid(b.blocks, &g), 0);
		CHECK_EQ(ops->leave(b.blocks, &g), 0);
		CHECK_EQ(ops->valid(a.blocks, &h), RMC_BLOCK_RESTART);
		CHECK_EQ(ops->upgrade(a.blocks, &h), RMC_BLOCK_RESTART);
		ops->cancel(a.blocks, &h);
		CHECK_EQ(filled(&a, at), 17);
		/* cancelled */
		CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), 0);
		CHECK_EQ(ops->upgrade(a.blocks, &h), 0);
		fill_hold(&a, &h, 18);
		ops->cancel(a.blocks, &h);
		CHECK_EQ(h.at, 0);
		CHECK_EQ(filled(&b, at), 17);
		/* the tag comes to its end: the block is stored again, as it was */
		for (word = 0; word < 600; word++) {
			CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_WRITE, &h), 0);
			if (word % 2)
				fill_hold(&a, &h, 99);
			ops->cancel(a.blocks, &h);
		}
		CHECK(*word_of(&a, at) >> BLOCK_WORD_OWNER_SHIFT == 0);
		CHECK_EQ(*word_of(&a, at) & BLOCK_WORD_VERSION, 2 + 2 * 2);
		CHECK_EQ(filled(&b, at), 17);
		/* a latch that stays */
		CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_WRITE, &h), 0);
		remote(&b)->o.attempts = 3;
		CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_READ, &g), RMC_BLOCK_RESTART);
		CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_WRITE, &g), RMC_BLOCK_RESTART);
		CHECK_EQ(stats_of(&b).locked, 6);
		CHECK_EQ(g.at, 0);
		CHECK_EQ(remote(&b)->used, 0);
		ops->cancel(a.blocks, &h);
		client_close(&a);
		client_close(&b);
		inline_fabric_free(&fabric);
	}
	tap_where = NULL;
}

static void addresses(void)
{
	static const uint64_t wrong[] = {
		0, 1, AT, 1ULL << 48, 3ULL << 48 | (AT + 4096), ~0ULL, 1ULL << 63,
	};
	const struct rmc_block_ops *ops;
	struct rmc_block_hold h = { 0 };
	struct client a;
	uint64_t first, last, stride;
	size_t i;

	areas("farm", 200, 1, 10, 2);
	client_open(&a, 0);
	ops = a.blocks->ops;
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_EQ(ops->enter(a.blocks, wrong[i], RMC_BLOCK_READ, &h), -EPROTO);
	first = ops->fixed_at(a.blocks, 0);
	stride = remote(&a)->shape.stride;
	last = first + 9 * stride;
	CHECK_EQ(ops->enter(a.blocks, first - stride, RMC_BLOCK_READ, &h), -EPROTO);
	CHECK_EQ(ops->enter(a.blocks, first + 64, RMC_BLOCK_READ, &h), -EPROTO);
	CHECK_EQ(ops->enter(a.blocks, last + stride, RMC_BLOCK_READ, &h), -EPROTO);
	CHECK_EQ(ops->enter(a.blocks, last, RMC_BLOCK_READ, &h), 0);
	ops->cancel(a.blocks, &h);
	CHECK_EQ(stats_of(&a).reads, 1);
	client_close(&a);
	inline_fabric_free(&fabric);
}

/* --- lost operations --- */

/* Each operation of a write is lost, or its reply is: it is repeated, and done once. */
static void lost_operations(void)
{
	const struct rmc_block_ops *ops;
	struct rmc_block_hold h = { 0 };
	struct client a;
	unsigned int n, reply;
	uint64_t at, began;
	size_t i;
	int wrote;

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
				CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), 0);
				CHECK_EQ(ops->upgrade(a.blocks, &h), 0);
				fill_hold(&a, &h, (uint8_t)(10 * n + reply));
				CHECK_EQ(ops->leave(a.blocks, &h), 0);
				wrote = n == 3;
				CHECK_EQ(inline_now() - began >= GRACE_US * 1000, wrote);
				CHECK_EQ(a.rmc.operations, 4 + (n <= 4));
				a.rmc.lose_at = a.rmc.lose_reply = 0;
				CHECK_EQ(filled(&a, at), 10 * n + reply);
				CHECK_EQ(*word_of(&a, at), 4 * (n - 1) + 2 * reply + 2);
			}
		}
		/* nothing comes any more: the status is the result, and the block stays latched */
		a.rmc.lose = 1;
		a.rmc.only = RMC_OP_READ;
		remote(&a)->o.attempts = 3;
		if (i < 2)
			CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), RMC_S_TIMEOUT);
		a.rmc.only = RMC_OP_CAS;
		CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_WRITE, &h), RMC_S_TIMEOUT);
		CHECK_EQ(remote(&a)->used, 0);
		a.rmc.lose = 0;
		client_close(&a);
		inline_fabric_free(&fabric);
	}
	tap_where = NULL;
}

/* A lost write is stored late: not over what others have written since */
static void late_writes(void)
{
	const struct rmc_block_ops *ops;
	struct rmc_block_hold h = { 0 };
	struct client a, b;
	unsigned int n;
	uint64_t at;

	areas("farm", 300, 1, 2, 1);
	client_open(&a, 0);
	client_open(&b, 1);
	ops = a.blocks->ops;
	at = ops->fixed_at(a.blocks, 0);
	a.rmc.late_us = GRACE_US;
	a.rmc.only = RMC_OP_WRITE;
	for (n = 0; n < 20; n++) {
		a.rmc.operations = 0;
		a.rmc.lose_at = 1;
		CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_WRITE, &h), 0);
		fill_hold(&a, &h, 1);
		CHECK_EQ(ops->leave(a.blocks, &h), 0);
		a.rmc.lose_at = 0;
		CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_WRITE, &h), 0);
		fill_hold(&b, &h, 2);
		CHECK_EQ(ops->leave(b.blocks, &h), 0);
		inline_late_writes(&a.rmc, ~0ULL);
		CHECK_EQ(filled(&b, at), 2);
	}
	CHECK_EQ(a.rmc.lost, 20);
	client_close(&a);
	client_close(&b);
	inline_fabric_free(&fabric);
}

/* --- free blocks --- */

static void set_kind(const struct client *c, struct rmc_block_hold *h)
{
	static const uint16_t kind = RMC_BLOCK_TREE;

	CHECK_EQ(rmc_block_write(c->blocks, h, 0, &kind, sizeof(kind)), 0);
}

/* All blocks that there are, each once */
static unsigned int allocate_all(const struct client *c, uint64_t *at)
{
	const struct rmc_block_ops *ops = c->blocks->ops;
	struct rmc_block_hold h = { 0 };
	unsigned int n, i;
	int err;

	for (n = 0; ; n++) {
		err = ops->alloc(c->blocks, 0, &h);
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
	return err;
}

static void pool(void)
{
	const struct rmc_block_ops *ops;
	struct client a, b;
	struct rmc_block_hold h = { 0 };
	uint64_t at[64], again[64], began;
	unsigned int n, i;

	areas("farm", 100, 3, 17, 2);
	client_open(&a, 1);
	ops = a.blocks->ops;
	/* near: at the same node */
	for (i = 0; i < 2; i++) {
		CHECK_EQ(ops->alloc(a.blocks, ops->fixed_at(a.blocks, i), &h), 0);
		CHECK_EQ(at_nid(h.at), i);
		ops->cancel(a.blocks, &h);
	}
	/* cancelled: the next one */
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), 0);
	at[0] = h.at;
	ops->cancel(a.blocks, &h);
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), 0);
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
	/* again after the time of grace, not before */
	began = inline_now();
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), 0);
	CHECK(inline_now() - began >= GRACE_US * 1000 / 2);
	CHECK_EQ(h.at, at[5]);
	set_kind(&a, &h);
	CHECK_EQ(ops->leave(a.blocks, &h), 0);
	/* what one frees, the other one gets after it has closed */
	client_open(&b, 2);
	CHECK_EQ(ops->alloc(b.blocks, 0, &h), -ENOSPC);
	for (i = 0; i < n; i++)
		CHECK_EQ(retire(&a, at[i]), 0);
	client_close(&a);
	CHECK_EQ(allocate_all(&b, again), n);
	CHECK_EQ(stats_of(&b).leaked, 0);
	/* more than wait for their time of grace at once */
	client_close(&b);
	inline_fabric_free(&fabric);
	areas("farm", 100, 1, RETIRED + 60, 1);
	options.chunk = 1000;
	client_open(&a, 1);
	client_open(&b, 2);
	for (i = 0; i < RETIRED + 59; i++) {
		CHECK_EQ(ops->alloc(a.blocks, 0, &h), 0);
		set_kind(&a, &h);
		CHECK_EQ(ops->leave(a.blocks, &h), 0);
	}
	CHECK_EQ(ops->alloc(b.blocks, 0, &h), -ENOSPC);
	for (i = 1; i < RETIRED + 60; i++)
		CHECK_EQ(retire(&a, block_at(remote(&a), 0, i)), 0);
	for (i = 0; i < 59; i++) {
		CHECK_EQ(ops->alloc(b.blocks, 0, &h), 0);
		set_kind(&b, &h);
		CHECK_EQ(ops->leave(b.blocks, &h), 0);
	}
	CHECK_EQ(ops->alloc(b.blocks, 0, &h), -ENOSPC);
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
	CHECK_EQ(a.blocks->ops->alloc(a.blocks, 0, &h), 0);
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
	uint64_t *next, *bits, *word, at[40];
	unsigned int n;

	areas("farm", 100, 3, 20, 1);
	client_open(&a, 0);
	ops = a.blocks->ops;
	next = (uint64_t *)(void *)(fabric.segment[0] + AT + 64);
	bits = next + 8;
	*next = 1;		/* a fixed block */
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), -EPROTO);
	*next = ~0ULL;
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), -ENOSPC);
	*bits = 1;		/* fixed */
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), -EPROTO);
	*bits = 1ULL << 20;	/* beyond the last one */
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), -EPROTO);
	*bits = 1ULL << 19;
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), 0);
	CHECK_EQ(*bits, 0);
	set_kind(&a, &h);
	CHECK_EQ(ops->leave(a.blocks, &h), 0);
	/* one that is in use is free as well */
	*bits = 1ULL << 19;
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), -EPROTO);
	CHECK_EQ(stats_of(&a).leaked, 1);
	/* it was latched by another one, and stays so: the block is the next one again */
	*bits = 1ULL << 18;
	word = word_of(&a, block_at(remote(&a), 0, 18));
	*word |= 1;
	remote(&a)->o.attempts = 3;
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), RMC_BLOCK_RESTART);
	*word &= ~1ULL;
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), 0);
	CHECK_EQ(h.at, block_at(remote(&a), 0, 18));
	ops->cancel(a.blocks, &h);
	client_close(&a);
	CHECK_EQ(*bits, 1ULL << 18);
	inline_fabric_free(&fabric);

	/* the reply of a chunk is lost: these blocks are, too, but no block is twice in use */
	areas("farm", 100, 1, 13, 1);
	client_open(&a, 0);
	a.rmc.only = RMC_OP_FAA;
	a.rmc.operations = 0;
	a.rmc.lose_reply = 1;
	CHECK_EQ(ops->alloc(a.blocks, 0, &h), RMC_S_TIMEOUT);
	n = allocate_all(&a, at);
	CHECK_EQ(n, 8);
	CHECK_EQ(stats_of(&a).leaked, 4);
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
		rival_result = rival.blocks->ops->alloc(rival.blocks, 0, &rivals);
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
	next = (uint64_t *)(void *)(fabric.segment[0] + AT + 64);
	bits = next + 8;
	*next = 40;
	a.rmc.pause = rival_takes_it;
	a.rmc.pauses = 1;
	for (k = 1; k < 12; k++) {
		*bits = 1ULL << k;
		rival_at = k;
		rival_result = 1;
		err = a.blocks->ops->alloc(a.blocks, 0, &h);
		if (rival_at)
			break;		/* all operations of an allocation have been interrupted */
		CHECK(err == 0 || err == -ENOSPC || err == RMC_BLOCK_RESTART);
		CHECK(rival_result == 0 || rival_result == -ENOSPC ||
		      rival_result == RMC_BLOCK_RESTART);
		CHECK_EQ(!err + !rival_result, 1);
		CHECK_EQ(*bits, 0);
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

/* --- opening --- */

static void refused(void)
{
	struct rmc_blocks_options good = { .capacity = 10, .bytes = 100, .nid = 1 }, o;
	struct client a;
	uint8_t *area;

	CHECK(rmc_blocks_bytes(&good) > 0);
#define REFUSED(field, value) do {						\
	o = good;								\
	o.field = value;							\
	CHECK_EQ(rmc_blocks_bytes(&o), 0);					\
} while (0)
	REFUSED(capacity, 0);
	REFUSED(capacity, RMC_BLOCKS_MAX + 1ULL);
	REFUSED(fixed, 11);
	REFUSED(bytes, 15);
	REFUSED(bytes, 16 << 20);
	REFUSED(offset, 32);
	REFUSED(offset, RMC_OFFSET_MAX - 63);
	REFUSED(first_nid, -1);
	REFUSED(first_nid, 1024);
	REFUSED(nodes, 1025);
	REFUSED(scheme, rmc_scheme_find("lock"));
	REFUSED(scheme, rmc_scheme_find("plain"));
	REFUSED(scheme, rmc_scheme_find("rpc"));
	o = good;
	o.capacity = RMC_BLOCKS_MAX;
	o.bytes = 1 << 20;
	CHECK_EQ(rmc_blocks_bytes(&o), 0);
	CHECK_EQ(rmc_blocks_bytes_sized(&good, 4), 0);
	CHECK_EQ(rmc_blocks_fit(NULL, RMC_TREE_IMAGE), 3952);
	CHECK_EQ(rmc_blocks_fit(rmc_scheme_find("sabre"), RMC_TREE_IMAGE), 4080);
	CHECK_EQ(rmc_blocks_fit(NULL, 64), RMC_TABLE_BYTES);

	areas("farm", 100, 1, 13, 1);
	area = fabric.segment[0] + AT;
	CHECK_EQ(rmc_blocks_format(&options, area + 8), -EINVAL);
	client_open(&a, 511);
	client_close(&a);
	inline_rmc_init(&a.rmc, &fabric, 1);
	o = options;
	o.memory = a.memory = aligned_alloc(64, (rmc_blocks_memory(&o) + 63) & ~(size_t)63);
	o.memory = (uint8_t *)a.memory + 4;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EINVAL);
	o.memory = a.memory;
	o.client = 512;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EINVAL);
	o.client = 1;
	o.capacity++;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	o.capacity--;
	o.scheme = rmc_scheme_find("sabre");
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	o.scheme = NULL;
	area[0] ^= 1;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	area[0] ^= 1;
	o.nodes = 2;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	free(a.memory);
	inline_rmc_free(&a.rmc);
	inline_fabric_free(&fabric);
}

#include "blocks_histories.h"

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a block that two clients enter", one_block },
		{ "addresses that are none", addresses },
		{ "operations and replies that are lost", lost_operations },
		{ "lost writes that come late", late_writes },
		{ "free blocks", pool },
		{ "the rest of a chunk", rest_of_a_chunk },
		{ "areas that a faulty client has written", damaged_pool },
		{ "one free block for two", one_free_block },
		{ "a release whose reply was lost, and the next writer", released_and_taken },
		{ "options, areas of others", refused },
		{ "round trips of each operation", round_trips },
		{ "histories of clients are linearizable", histories },
		{ "with lost operations as well", lossy_histories },
	};

	return tap_run(tests, (int)ARRAY_SIZE(tests));
}
