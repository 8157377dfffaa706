/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Blocks by one-sided operations (lib/blocks), and structures over them: against a stand-in for the
 * RMC that executes operations within the calls, loses some, and executes lost ones late; also by
 * several clients, whose histories lib/check checks. They are fibers that a seed interleaves, or
 * threads with ThreadSanitizer. Each reading of the clock takes a moment of its time, so no test
 * waits.
 */
#include <rmc/ds.h>
#include "../../lib/blocks/state.h"
#include "../../lib/ds/tree.h"
#include "../../lib/check/check.h"
#include "../tap.h"
#include "../../tools/sim/fiber.h"
#include "inline_rmc.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define AT		4096		/* of the areas in their segments */
#define GRACE_US	2000
#define WAIT_US		20000
#define CLOCK_STEP_NS	200		/* between two readings of the clock */

static uint64_t virtual_ns, clock_step_ns = CLOCK_STEP_NS;

/* The linker calls these: -Wl,--wrap */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_sched_yield(void);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t ns = __atomic_add_fetch(&virtual_ns, clock_step_ns, __ATOMIC_RELAXED);

	(void)id;
	ts->tv_sec = (time_t)(ns / 1000000000);
	ts->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

int __wrap_sched_yield(void)
{
	return 0;
}

/* In the place of the C library's: each run is the same */
ssize_t getrandom(void *to, size_t len, unsigned int flags)
{
	static uint64_t n;
	uint64_t v = __atomic_add_fetch(&n, 0x9e3779b97f4a7c15ULL, __ATOMIC_RELAXED);

	(void)flags;
	memset(to, 0, len);
	memcpy(to, &v, len < sizeof(v) ? len : sizeof(v));
	return (ssize_t)len;
}

static const char * const schemes[] = { "farm", "crc64", "sabre" };

static struct inline_fabric fabric;
static struct rmc_blocks_options options;
static uint32_t area_flags;	/* of areas to come, as the following */
static const char *area_latch;
static uint32_t area_sync, area_pad;

/* One client */
struct client {
	struct inline_rmc rmc;
	struct rmc_blocks *blocks;
	void *memory;
};

static void areas_of(uint32_t structure, const char *scheme, size_t bytes, uint64_t fixed,
		     uint64_t capacity, unsigned int nodes)
{
	unsigned int i;
	size_t len;

	options = (struct rmc_blocks_options){
		.scheme = rmc_sync_find(scheme), .offset = AT, .capacity = capacity,
		.fixed = fixed, .bytes = bytes, .structure = structure, .flags = area_flags, .nodes = nodes, .nid = 3,
		.latch = area_latch, .sync = area_sync, .pad = area_pad,
		.grace_us = GRACE_US,
		.chunk = 4, .wait_us = WAIT_US, .backoff_ns = 200, .backoff_max_ns = 20000,
	};
	len = rmc_blocks_bytes(&options);
	CHECK(len);
	inline_fabric_init(&fabric, nodes, AT + len);
	for (i = 0; i < nodes; i++) {
		memset(fabric.segment[i], 0xa5, fabric.bytes);
		CHECK_EQ(rmc_blocks_format(&options, fabric.segment[i] + AT), 0);
	}
}

static void areas(const char *scheme, size_t bytes, uint64_t fixed, uint64_t capacity,
		  unsigned int nodes)
{
	areas_of(RMC_BLOCKS_NONE, scheme, bytes, fixed, capacity, nodes);
}

static void client_open(struct client *c, unsigned int number)
{
	struct rmc_blocks_options o = options;

	inline_rmc_init(&c->rmc, &fabric, number + 1);
	c->memory = aligned_alloc(4096, (rmc_blocks_memory(&o) + 4095) & ~(size_t)4095);
	o.memory = c->memory;
	o.client = number + 1;
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
		CHECK_EQ(word >> BLOCK_WORD_OWNER_SHIFT, 2 << BLOCK_OWNER_NID_BITS | 4);
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
		CHECK_EQ(ops->begin(b.blocks, 0), 0);
		CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_READ, &g), RMC_BLOCK_RESTART);
		CHECK_EQ(ops->enter(b.blocks, at, RMC_BLOCK_WRITE, &g), RMC_BLOCK_RESTART);
		CHECK_EQ(stats_of(&b).locked, 2 * BLOCK_ENTERS);
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
	/* a block's place, in a node behind the last one */
	CHECK_EQ(ops->enter(a.blocks, first + (2ULL << RMC_BLOCK_NID_SHIFT), RMC_BLOCK_READ, &h),
		 -EPROTO);
	CHECK_EQ(ops->enter(a.blocks, first + 64, RMC_BLOCK_READ, &h), -EPROTO);
	CHECK_EQ(ops->enter(a.blocks, last + stride, RMC_BLOCK_READ, &h), -EPROTO);
	CHECK_EQ(ops->enter(a.blocks, last, RMC_BLOCK_READ, &h), 0);
	ops->cancel(a.blocks, &h);
	CHECK_EQ(stats_of(&a).reads, 1);
	client_close(&a);
	inline_fabric_free(&fabric);
}

static void set_kind(const struct client *c, struct rmc_block_hold *h)
{
	static const uint16_t kind = RMC_BLOCK_TREE;

	CHECK_EQ(rmc_block_write(c->blocks, h, 0, &kind, sizeof(kind)), 0);
}

/* An operation that does nothing but allocate */
static int allocate(const struct client *c, uint64_t beside, struct rmc_block_hold *h)
{
	const struct rmc_block_ops *ops = c->blocks->ops;
	unsigned int restarts = 0;
	int err;

	do {
		err = ops->begin(c->blocks, restarts++);
		if (!err)
			err = ops->alloc(c->blocks, beside, h);
	} while (err == RMC_BLOCK_RESTART);
	return err;
}

#include "blocks_pool.h"
#include "blocks_lost.h"

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
	REFUSED(structure, RMC_BLOCKS_BTREE + 1);
	REFUSED(structure, RMC_BLOCKS_BTREE);	/* of transactions */
	REFUSED(structure, RMC_BLOCKS_TABLE);	/* of how many buckets? */
	REFUSED(flags, RMC_BLOCKS_REDO << 1);
	REFUSED(latch, "another");
	REFUSED(wait_us, RMC_BLOCKS_GRACE_US - 1);
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
	client_open(&a, 510);
	client_close(&a);
	inline_rmc_init(&a.rmc, &fabric, 1);
	o = options;
	o.memory = a.memory = aligned_alloc(64, (rmc_blocks_memory(&o) + 63) & ~(size_t)63);
	o.memory = (uint8_t *)a.memory + 4;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EINVAL);
	o.memory = a.memory;
	o.client = 512;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EINVAL);
	o.client = 0;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EINVAL);
	o.client = 1;
	o.capacity++;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	o.capacity--;
	o.scheme = rmc_scheme_find("sabre");
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	o.scheme = NULL;
	/* areas of the right options, but blocks that cannot be read */
	a.rmc.operations = 0;
	a.rmc.fail_at = 2;
	a.rmc.fails = 1;
	a.rmc.fail_status = RMC_S_NO_VERSION;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EIO);
	a.rmc.fails = 0;
	area[0] ^= 1;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	area[0] ^= 1;
	o.structure = RMC_BLOCKS_TREE;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	o.structure = RMC_BLOCKS_NONE;
	o.nodes = 2;
	CHECK(!rmc_blocks_open(&a.rmc.qp, &o) && errno == EPROTO);
	free(a.memory);
	inline_rmc_free(&a.rmc);
	inline_fabric_free(&fabric);
}

#include "blocks_histories.h"
#include "blocks_dead.h"
#include "blocks_sync.h"
#include "blocks_sync_lost.h"

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a block that two clients enter", one_block },
		{ "addresses that are none", addresses },
		{ "operations and replies that are lost", lost_operations },
		{ "operations that end with a status: no latch is left", refused_operations },
		{ "a latch that this client could not release", own_latch },
		{ "a latch that somebody else has released", stolen_latch },
		{ "more latches in doubt than are remembered", many_doubts },
		{ "an area that was formatted again", formatted_again },
		{ "lost operations that come late", late_operations },
		{ "others wait for the end of a lost write", patience },
		{ "time limits, when everything is lost", time_limits },
		{ "free blocks", pool },
		{ "many freed blocks", many_freed },
		{ "a free block that is latched", latched_free_block },
		{ "no search for free blocks while one is held", no_search_with_holds },
		{ "the rest of a chunk", rest_of_a_chunk },
		{ "areas that a faulty client has written", damaged_pool },
		{ "one free block for two", one_free_block },
		{ "a free block whose latch is in doubt", free_block_in_doubt },
		{ "a release whose reply was lost, and the next writer", released_and_taken },
		{ "options, areas of others", refused },
		{ "a client dies at each step of a write", dead_writers },
		{ "a client dies at each step of a recovery", dead_recoverers },
		{ "a client dies at each step of an operation", dead_operations },
		{ "whose latches are recovered", recovered_latches },
		{ "round trips of each operation", round_trips },
		{ "histories of clients are linearizable", histories },
		{ "with lost operations as well", lossy_histories },
		{ "with a node that is down now and then", flaky_histories },
		{ "a block with each latch and scheme", sync_block },
		{ "systems, by name", sync_systems },
		{ "rows, latches and options that do not suit blocks", sync_refused },
		{ "round trips with latches that are shared, and without", sync_trips },
		{ "latches whose release is lost each time", sync_lost_latches },
		{ "a link that is lost, and who has read what leads to it", sync_lost_links },
		{ "recoveries that end with a status", sync_failed_recoveries },
		{ "what an earlier life has left half written", sync_earlier_life },
		{ "an image that is older than what is stored", sync_old_image },
		{ "calls with a dead queue pair", sync_dead_queue_pair },
		{ "a version at its limit", sync_last_version },
		{ "histories with each latch and scheme are linearizable", sync_histories },
		{ "the same, with lost operations", sync_lossy_histories },
		{ "the same, with a node that is down now and then", sync_flaky_histories },
		{ "a client dies at each step, with each latch", sync_dead_operations },
		{ "a client that is dead, or is believed to be", sync_dead_holder },
	};

	return tap_run(tests, (int)ARRAY_SIZE(tests));
}
