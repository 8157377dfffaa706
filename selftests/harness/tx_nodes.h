/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Nodes with a range of transactions each, and an engine each. Stepped: a visit of each worker, a
 * poll of each engine, now and then a millisecond.
 */
#ifndef TX_NODES_H
#define TX_NODES_H

#include "matrix.h"
#include "kmod/core/tx_engine.h"
#include "kmod/core/tx_homes.h"

#define CTX		3
#define TX_SEG		(128 * 1024)
#define TX_START	8192
#define TX_BYTES	(96 * 1024)
#define TX_NODES	4

struct tx_node {
	u8 *seg;
	struct rmc_mem *mem;
	struct rmc_tx_home *home;
	struct rmc_tx_engine *e;
	int ended[RMC_TX_SLOTS];	/* status; -1: not yet */
};

struct tx_bed {
	struct testbed w;
	u32 nodes;
	u32 gen;
	struct tx_node n[TX_NODES];
	u32 steps;
};

static const struct rmc_tx_engine_opts tx_opts = {
	.slots = 8, .bytes = 65536, .order = 5, .resend_ms = 20,
};

static inline u32 bed_ms(void)
{
	return rmc_os_ns_to_ms(rmc_os_now_ns());
}

static inline void bed_engine(struct tx_bed *b, u32 i, const struct rmc_tx_engine_opts *opts)
{
	struct rmc_node *node = b->w.node[i], *unit = node->unit[i % b->w.opts.units];
	struct rmc_tx_engine_opts o = *opts;
	u32 s;

	o.gen = b->gen;
	b->n[i].e = rmc_tx_engine_create(unit, CTX, &o);
	CHECK(!IS_ERR(b->n[i].e));
	CHECK_EQ(rmc_ni_add_qp(unit->req_worker, &b->n[i].e->client.qp), 0);
	for (s = 0; s < RMC_TX_SLOTS; s++)
		b->n[i].ended[s] = -1;
}

static inline void bed_home(struct tx_bed *b, u32 i)
{
	struct rmc_tx_limits limits = {
		.start = TX_START, .length = TX_BYTES, .groups = b->nodes * b->w.opts.units,
	};
	struct rmc_node *node = b->w.node[i];
	u32 u;

	b->n[i].home = rmc_tx_home_create(node, CTX, b->n[i].mem, &limits, NULL);
	CHECK(!IS_ERR(b->n[i].home));
	for (u = 0; u < b->w.opts.units; u++)
		CHECK_EQ(rmc_tx_homes_add(node->unit[u], b->n[i].home), 0);
}

/* @opts: NULL: without engines */
static inline void bed_make_of(struct tx_bed *b, const struct testbed_opts *o, u32 nodes,
			       bool kernels, const struct rmc_tx_engine_opts *opts)
{
	struct testbed_opts k = *o;
	u32 i;

	memset(b, 0, sizeof(*b));
	k.nodes = nodes;
	k.kernels |= kernels;
	b->nodes = nodes;
	b->gen = -3U;		/* it wraps */
	testbed_init(&b->w, &k);
	for (i = 0; i < nodes; i++) {
		b->n[i].seg = aligned_alloc(4096, TX_SEG);
		memset(b->n[i].seg, 0, TX_SEG);
		b->n[i].mem = mem_make(b->n[i].seg, TX_SEG, 12, 0);
		seg_set(&b->w, i, CTX, b->n[i].mem);
		bed_home(b, i);
		if (opts)
			bed_engine(b, i, opts);
	}
}

static inline void bed_make(struct tx_bed *b, const struct testbed_opts *o, u32 nodes)
{
	bed_make_of(b, o, nodes, false, &tx_opts);
}

static inline void bed_unhome(struct tx_bed *b, u32 i)
{
	u32 u;

	for (u = 0; u < b->w.opts.units; u++)
		rmc_tx_homes_del(b->w.node[i]->unit[u], b->n[i].home);
	rmc_tx_home_destroy(b->n[i].home);
	b->n[i].home = NULL;
}

static inline void bed_free(struct tx_bed *b)
{
	u32 i;

	for (i = 0; i < b->nodes; i++) {
		if (b->n[i].e) {
			rmc_ni_del_qp(b->n[i].e->unit->req_worker, &b->n[i].e->client.qp);
			rmc_tx_engine_destroy(b->n[i].e);
		}
		if (b->n[i].home)
			bed_unhome(b, i);
		CHECK_EQ(b->n[i].mem->flags, 0);
	}
	testbed_fini(&b->w);
	rmc_filters = 0;	/* of faults, if there were any */
	for (i = 0; i < b->nodes; i++) {
		mem_free(b->n[i].mem);
		free(b->n[i].seg);
	}
}

/* What ends is noted. */
static inline void bed_poll(struct tx_bed *b, u32 i)
{
	struct tx_node *n = &b->n[i];
	u32 slot;
	u8 status;

	if (!n->e || b->w.frozen[i])
		return;
	rmc_tx_engine_poll(n->e, bed_ms());
	while (rmc_tx_engine_ended(n->e, &slot, &status)) {
		CHECK_EQ(n->ended[slot], -1);
		n->ended[slot] = status;
	}
}

static inline void bed_step(struct tx_bed *b)
{
	u32 i;

	testbed_visit(&b->w);
	for (i = 0; i < b->nodes; i++)
		bed_poll(b, i);
	if (!(++b->steps & 31))
		testbed_tick(&b->w, 1);
}

static inline u32 bed_begin(struct tx_bed *b, u32 i)
{
	u32 slot = 0, n;
	int err = -EBUSY;

	/* others are ending */
	for (n = 0; n < 100000 && err == -EBUSY; n++) {
		err = rmc_tx_engine_begin(b->n[i].e, &slot);
		if (err == -EBUSY)
			bed_step(b);
	}
	CHECK_EQ(err, 0);
	b->n[i].ended[slot] = -1;
	return slot;
}

static inline void bed_settle(struct tx_bed *b, u32 steps)
{
	while (steps--)
		bed_step(b);
}

/* A node does nothing for longer than others wait. */
static inline void bed_pause(struct tx_bed *b, u32 who)
{
	u32 i;

	b->w.frozen[who] = true;
	for (i = 0; i < b->nodes; i++)
		b->w.fabric[i].dead_ms = 100;
	for (i = 0; i < 400; i++) {
		testbed_tick(&b->w, 1);
		bed_step(b);
	}
	b->w.frozen[who] = false;
}

/* Status of an access that has begun; -1: it does not end */
static inline int bed_wait(struct tx_bed *b, u32 i, u32 slot)
{
	u8 status;
	u32 n;

	for (n = 0; n < 200000; n++) {
		if (rmc_tx_engine_accessed(b->n[i].e, slot, &status))
			return status;
		bed_step(b);
	}
	return -1;
}

/* Status of the access; -1: none; its errno */
static inline int bed_access(struct tx_bed *b, u32 i, u32 slot, enum rmc_tx_access kind, u32 nid,
			     u64 offset, u32 length, void *to)
{
	int err = rmc_tx_engine_access(b->n[i].e, slot, kind, nid, offset, length, to);

	return err ?: bed_wait(b, i, slot);
}

static inline int bed_read(struct tx_bed *b, u32 i, u32 slot, u32 nid, u64 offset, u32 length,
			   void *to)
{
	return bed_access(b, i, slot, RMC_TX_READ, nid, offset, length, to);
}

static inline int bed_write(struct tx_bed *b, u32 i, u32 slot, u32 nid, u64 offset,
			    const void *data, u32 length)
{
	return rmc_tx_engine_write(b->n[i].e, slot, nid, offset, data, length);
}

/* How a transaction ends; -1: it does not */
static inline int bed_end(struct tx_bed *b, u32 i, u32 slot)
{
	u32 n;

	for (n = 0; n < 400000 && b->n[i].ended[slot] < 0; n++)
		bed_step(b);
	return b->n[i].ended[slot];
}

static inline int bed_commit(struct tx_bed *b, u32 i, u32 slot)
{
	int err = rmc_tx_engine_commit(b->n[i].e, slot);

	return err ?: bed_end(b, i, slot);
}

/* Until no engine has anything left */
static inline bool bed_idle(struct tx_bed *b)
{
	u32 n, i;
	bool idle;

	for (n = 0; n < 400000; n++) {
		for (idle = true, i = 0; i < b->nodes; i++)
			idle &= !b->n[i].e || b->w.frozen[i] || rmc_tx_engine_idle(b->n[i].e);
		if (idle)
			return true;
		bed_step(b);
	}
	return false;
}

/* Nothing is locked, and no transaction is known. */
static inline bool bed_clean(struct tx_bed *b)
{
	u32 i, j;

	for (i = 0; i < b->nodes; i++) {
		const struct rmc_tx_part *p = b->n[i].home ? b->n[i].home->part : NULL;

		if (p && p->locks)
			return false;
		for (j = 0; p && j < p->groups; j++)
			if (p->group[j].open || p->group[j].lines)
				return false;
	}
	return true;
}

static inline u64 word_at(const struct tx_bed *b, u32 nid, u64 offset)
{
	u64 v;

	memcpy(&v, b->n[nid].seg + offset, sizeof(v));
	return v;
}

#endif
