/* SPDX-License-Identifier: GPL-2.0 */
/* Nodes with a switch before the RRPPs of node 1, for tests. */
#ifndef SWITCHED_TESTS_H
#define SWITCHED_TESTS_H

#include "filtered.h"
#include "kmod/core/switched.h"

#define BYTES	64
#define TUPLES	32
#define WORDS	4096	/* offset of the words, WORD_COUNT of them */
#define WORD_COUNT 64

static u32 done __attribute__((unused));	/* of the last demotion */

static inline struct rmc_node *server(struct setup *s, u32 unit)
{
	return s->w.node[1]->unit[unit];
}

static inline int try_range(struct rmc_node *node, u64 begin, u32 bytes, u32 count, bool words)
{
	struct rmc_switch_range r = {
		.ctx_id = CTX, .begin = begin, .stride = bytes, .bytes = bytes, .count = count,
		.words = words,
	};
	int err;

	CHECK_EQ(rmc_switch_check(node->fabric, &r), 0);
	r.slot = rmc_os_zalloc(count * sizeof(*r.slot));
	err = rmc_switched_add(node, &r);
	if (err)
		rmc_os_free(r.slot);
	return err;
}

static inline void add_range(struct rmc_node *node, u64 begin, u32 bytes, u32 count, bool words)
{
	CHECK_EQ(try_range(node, begin, bytes, count, words), 0);
	CHECK_EQ(rmc_switched_promote(node, CTX, begin, count), 0);
}

/* A switch before each RRPP of node 1 */
static inline void switch_on(struct setup *s)
{
	struct rmc_switch *sw;
	u32 i;

	for (i = 0; i < s->w.opts.rrpps; i++) {
		struct rmc_node *node = server(s, i);

		sw = rmc_switch_create(node->fabric, node->ep, 128, node->links.switch_epoch + 1,
				       node->links.switch_epochs);
		CHECK_EQ(rmc_switched_install(node, sw), 0);
		add_range(node, 0, BYTES, TUPLES, false);
		add_range(node, WORDS, 8, WORD_COUNT, true);
	}
}

static inline void switch_off(struct setup *s)
{
	struct rmc_switch *sw;
	u32 i;

	for (i = 0; i < s->w.opts.rrpps; i++) {
		struct rmc_node *node = server(s, i);
		struct rmc_switch_memory m = rmc_switched_memory(node);

		CHECK_EQ(rmc_switched_take_away(node, &sw), -EBUSY);
		CHECK_EQ(rmc_switch_demote(node->links.sw, CTX, 0, TUPLES, &done, &m), 0);
		CHECK_EQ(rmc_switch_demote(node->links.sw, CTX, WORDS, WORD_COUNT, &done, &m), 0);
		CHECK_EQ(rmc_switched_take_away(node, &sw), 0);
		CHECK_EQ(sw->stats.psn_errors, 0);
		rmc_switch_destroy(sw);
	}
}

#define switch_stat(s, name) ({						\
	u64 sum_ = 0;							\
	u32 unit_;							\
									\
	for (unit_ = 0; unit_ < (s)->w.opts.rrpps; unit_++)		\
		sum_ += server(s, unit_)->links.sw->stats.name;		\
	sum_;								\
})

static inline void begin(struct setup *s, const struct testbed_opts *o)
{
	setup(s, o);
	/* channels are open before the switch comes */
	CHECK_EQ(run_ms(s, RMC_OP_READ, 0, lbuf, 4096, 20), RMC_S_OK);
}

static inline u64 *word_of(u32 tuple)
{
	return (u64 *)(seg + tuple * BYTES);
}

static inline int cas(struct setup *s, u64 off, u64 expected, u64 desired, u64 *old)
{
	int status;

	((u64 *)lbuf)[0] = expected;
	((u64 *)lbuf)[1] = desired;
	status = run_ms(s, RMC_OP_CAS, off, lbuf, 8, 20);
	*old = *(u64 *)lbuf;
	return status;
}

static inline int read_word(struct setup *s, u64 off, u64 *word)
{
	int status = run_ms(s, RMC_OP_READ, off, lbuf + 128, 8, 20);

	*word = *(u64 *)(lbuf + 128);
	return status;
}

#endif
