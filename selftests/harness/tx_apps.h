/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Applications that have slots for transactions, beside the homes of tx_nodes.h. What they post is
 * what a process could post.
 */
#ifndef TX_APPS_H
#define TX_APPS_H

#include "tx_nodes.h"
#include "kmod/core/tx_slots.h"

#define APP_ENTRIES	16
#define APP_BUF		(256 * 1024)
#define APP_RECORD	(128 * 1024)	/* in the buffer, where records are made */
#define APP_UNITS	4

struct tx_app {
	struct app a;
	struct tx_bed *b;
	u32 nid;
	u8 *buf;
	struct rmc_mem *mem;
	struct rmc_tx_slots *s;
	u64 mask;
	u32 at;			/* end of the record's data */
	u32 posted;		/* entries without completion */
	bool flies[APP_ENTRIES];
	int status[APP_ENTRIES];
};

struct tx_apps {
	struct tx_bed b;
	struct rmc_tx_slots *s[TX_NODES][APP_UNITS];
};

static const struct rmc_tx_engine_opts slots_opts = {
	.slots = 8, .bytes = RMC_TX_MAX_BYTES, .order = 5, .resend_ms = 5,
};

static inline struct rmc_tx_slots *slots_make(struct rmc_node *unit,
					      const struct rmc_tx_engine_opts *opts)
{
	struct rmc_tx_slots *s = rmc_tx_slots_create(unit, CTX, opts);

	CHECK(!IS_ERR(s));
	CHECK_EQ(rmc_ni_add_slots(unit->req_worker, s), 0);
	return s;
}

static inline void slots_free(struct rmc_tx_slots *s)
{
	rmc_ni_del_slots(s->unit->req_worker, s);
	rmc_tx_slots_destroy(s);
}

static inline void apps_make(struct tx_apps *t, const struct testbed_opts *o, u32 nodes,
			     bool kernels, const struct rmc_tx_engine_opts *opts)
{
	u32 i, u;

	memset(t, 0, sizeof(*t));
	bed_make_of(&t->b, o, nodes, kernels, NULL);
	for (i = 0; i < nodes; i++)
		for (u = 0; u < t->b.w.opts.units; u++) {
			/* gens wrap */
			t->b.w.node[i]->unit[u]->tx_gen = -3U;
			t->s[i][u] = slots_make(t->b.w.node[i]->unit[u], opts);
		}
}

/* Until no engine has anything left; no queue pair has slots any more, if @gone. */
static inline bool apps_idle(struct tx_apps *t, bool gone)
{
	u32 n, i, u;
	bool idle;

	for (n = 0; n < 400000; n++) {
		for (idle = true, i = 0; i < t->b.nodes; i++)
			for (u = 0; u < t->b.w.opts.units; u++)
				idle &= !t->s[i][u] || t->b.w.frozen[i] ||
					(gone ? rmc_tx_slots_idle(t->s[i][u]) :
						!rmc_tx_slots_busy(t->s[i][u]));
		if (idle)
			return true;
		bed_step(&t->b);
	}
	return false;
}

static inline void apps_free(struct tx_apps *t)
{
	u32 i, u;

	CHECK(apps_idle(t, true));
	CHECK(bed_clean(&t->b));
	for (i = 0; i < t->b.nodes; i++)
		for (u = 0; u < t->b.w.opts.units; u++)
			slots_free(t->s[i][u]);
	bed_free(&t->b);
}

static inline void tx_app_init(struct tx_app *p, struct tx_apps *t, u32 nid, u32 slots)
{
	struct rmc_node *unit;
	u32 i;

	memset(p, 0, sizeof(*p));
	p->b = &t->b;
	p->nid = nid;
	p->buf = aligned_alloc(4096, APP_BUF);
	memset(p->buf, 0, APP_BUF);
	p->mem = mem_make(p->buf, APP_BUF, 12, 0);
	app_init(&p->a, &t->b.w, nid, CTX, APP_ENTRIES);
	rmc_bufs_add(&p->a.bufs, p->mem);
	unit = p->a.qp.node;
	p->s = t->s[nid][unit->ep - unit->head->ep];
	if (slots)
		CHECK_EQ(rmc_tx_attach(rmc_qp_inner(&p->a.qp), p->s, slots, &p->mask), 0);
	for (i = 0; i < APP_ENTRIES; i++)
		p->status[i] = -1;
}

static inline void tx_app_fini(struct tx_app *p)
{
	app_fini(&p->a);
	mem_free(p->mem);
	free(p->buf);
	memset(p, 0, sizeof(*p));
}

/* The @i-th slot that it has */
static inline u32 tx_app_slot(const struct tx_app *p, u32 i)
{
	u64 mask = p->mask;

	while (i--)
		mask &= mask - 1;
	return __builtin_ctzll(mask);
}

/* What has completed; each entry once */
static inline void tx_app_poll(struct tx_app *p)
{
	u32 entry, status;

	while (app_poll(&p->a, &entry, &status)) {
		CHECK(entry < APP_ENTRIES && p->posted);
		CHECK(p->flies[entry]);
		p->flies[entry] = false;
		p->status[entry] = status;
		p->posted--;
	}
}

/* An entry is used again only when it has completed. */
static inline bool tx_app_may_post(const struct tx_app *p, u32 n)
{
	while (n--)
		if (p->flies[(p->a.head + n) % APP_ENTRIES])
			return false;
	return true;
}

static inline u32 tx_app_post(struct tx_app *p, u32 op, u32 nid, u64 offset, const void *lbuf,
			      u32 length)
{
	u32 entry = p->a.head % APP_ENTRIES;

	CHECK(!p->flies[entry]);
	p->flies[entry] = true;
	p->status[entry] = -1;
	p->posted++;
	return app_post(&p->a, op, nid, offset, lbuf, length);
}

/* Status of an entry; -1: it does not complete */
static inline int tx_app_wait(struct tx_app *p, u32 entry)
{
	u32 n;

	for (n = 0; n < 200000; n++) {
		tx_app_poll(p);
		if (p->status[entry] >= 0)
			return p->status[entry];
		bed_step(p->b);
	}
	return -1;
}

/* Bytes of a node's range to the same place of the buffer */
static inline u32 tx_app_get(struct tx_app *p, u32 op, u32 slot, u32 nid, u32 offset, u32 length)
{
	return tx_app_post(p, op, nid, offset, p->buf + offset, rmc_tx_length(slot, length));
}

/* ... and the status, once nodes of the transaction before have answered */
static inline int tx_app_read(struct tx_app *p, u32 slot, u32 nid, u32 offset, u32 length)
{
	int status = RMC_S_BUSY;
	u32 n;

	for (n = 0; n < 1000 && status == RMC_S_BUSY; n++)
		status = tx_app_wait(p, tx_app_get(p, RMC_OP_TX_READ, slot, nid, offset, length));
	return status;
}

static inline struct rmc_tx_commit *tx_app_record(struct tx_app *p)
{
	return (struct rmc_tx_commit *)(p->buf + APP_RECORD);
}

/* A record that will have @count ranges */
static inline void tx_app_begin(struct tx_app *p, u32 count)
{
	struct rmc_tx_commit *c = tx_app_record(p);

	memset(c, 0, sizeof(*c));
	c->count = count;
	p->at = sizeof(*c) + count * sizeof(struct rmc_tx_item);
}

static inline void tx_app_item(struct tx_app *p, u32 i, u32 nid, u64 offset, const void *data,
			       u32 length)
{
	struct rmc_tx_commit *c = tx_app_record(p);

	((struct rmc_tx_item *)(c + 1))[i] = (struct rmc_tx_item){
		.offset = offset, .length = length, .nid = nid,
	};
	memcpy((u8 *)c + p->at, data, length);
	p->at += ALIGN(length, 8);
}

static inline u32 tx_app_commit_post(struct tx_app *p, u32 slot)
{
	return tx_app_post(p, RMC_OP_TX_COMMIT, slot, 0, tx_app_record(p), p->at);
}

static inline int tx_app_commit(struct tx_app *p, u32 slot)
{
	int status = RMC_S_BUSY;
	u32 n;

	for (n = 0; n < 1000 && status == RMC_S_BUSY; n++)
		status = tx_app_wait(p, tx_app_commit_post(p, slot));
	return status;
}

static inline u32 tx_app_abort_post(struct tx_app *p, u32 slot)
{
	return tx_app_post(p, RMC_OP_TX_ABORT, slot, 0, NULL, 0);
}

static inline int tx_app_abort(struct tx_app *p, u32 slot)
{
	return tx_app_wait(p, tx_app_abort_post(p, slot));
}

/* A word of a node, as the only thing that a transaction writes */
static inline int tx_app_put(struct tx_app *p, u32 slot, u32 nid, u32 offset, u64 word)
{
	tx_app_begin(p, 1);
	tx_app_item(p, 0, nid, offset, &word, 8);
	return tx_app_commit(p, slot);
}

static inline u64 tx_app_word(const struct tx_app *p, u32 offset)
{
	u64 v;

	memcpy(&v, p->buf + offset, sizeof(v));
	return v;
}

/* Time-outs of operations, and how often they are repeated before */
static inline void apps_timeouts(struct tx_apps *t, u32 ms, u32 retries)
{
	u32 k;

	for (k = 0; k < (t->b.w.opts.kernels ? t->b.nodes : 1); k++) {
		t->b.w.fabric[k].timeout_ms = ms;
		t->b.w.fabric[k].retries = retries;
	}
}

#endif
