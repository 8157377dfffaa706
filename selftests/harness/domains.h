/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messaging domains of a testbed: what the driver and the library do for an application, in plain
 * memory. Node n has applications a[n], each a core of the node's domain.
 */
#ifndef DOMAINS_H
#define DOMAINS_H

#include "matrix.h"

#define DOM_CTX		3
#define DOM_LIFE	0x12345000u	/* plus the node, and 100 for each life */
#define DOM_NODES	4
#define DOM_CORES	4		/* of a node */
#define DOM_BUF		(96 * 1024)
#define DOM_AQ		16		/* entries of an arrival queue */

static u32 random_state = 1;

static inline u32 random_below(u32 n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

/* Byte @i of a message that this value names */
static inline u8 byte_of(u32 value, u32 i)
{
	return value * 31 + i * 7 + (i >> 8);
}

static inline void write_message(u8 *p, u32 value, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = byte_of(value, i);
}

static inline bool is_message(const u8 *p, u32 value, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (p[i] != byte_of(value, i))
			return false;
	return true;
}

/* An application that is a core */
struct dom_app {
	struct app a;
	struct rmc_mem *mem;
	u8 *buf;		/* its local buffer, DOM_BUF bytes */
	struct rmc_aq_entry *aq;
	u32 seen;		/* arrivals taken from it */
	int core;
};

struct dom_node {
	struct rmc_domain d;
	u8 *recv;
	u8 *answers;
	struct rmc_send_slot *send;
	struct rmc_aq_entry *all;	/* RMC_DISPATCH_SHARED: the queue of all cores */
	u32 pulled;			/* taken from it */
	u32 lives;
	struct dom_app app[DOM_CORES];
};

struct doms {
	struct testbed w;
	struct rmc_domain_params p;
	struct rmc_dispatch_params dp;
	u32 nodes, cores;
	bool keyed;
	u32 key_offset;
	u32 takes[DOM_CORES];	/* classes of each core; 0: all */
	struct dom_node node[DOM_NODES];
};

/* An arrival, copied from its queue */
struct arrival {
	u32 nid, slot, turn, len, kind;
	bool again;
	u64 stamp;
	u8 head[RMC_AQ_HEAD];
};

/* The queue pair that the unit's RGP polls */
static inline struct rmc_qpair *dom_qp(struct dom_app *app)
{
	return app->a.qp.front ? &app->a.qp.front->inner.qp : &app->a.qp;
}

static inline void dom_attach(struct doms *t, u32 nid, u32 i)
{
	struct dom_node *n = &t->node[nid];
	struct dom_app *app = &n->app[i];

	app->aq = rmc_os_zalloc(DOM_AQ * sizeof(*app->aq));
	app->seen = 0;
	app->core = rmc_core_add(&n->d, app->aq, __builtin_ctz(DOM_AQ), 0,
				 t->takes[i] ?: (1U << t->dp.classes) - 1, &dom_qp(app)->core);
	CHECK(app->core >= 0);
	dom_qp(app)->domain = &n->d;
}

static inline void dom_detach(struct doms *t, u32 nid, u32 i, bool requeue)
{
	struct dom_node *n = &t->node[nid];
	struct dom_app *app = &n->app[i];

	rmc_domain_leave(dom_qp(app));
	rmc_core_del(&n->d, app->core, requeue);
	free(app->aq);
	app->aq = NULL;
	app->core = -1;
}

static inline int dom_create(struct doms *t, u32 nid)
{
	struct dom_node *n = &t->node[nid];
	size_t slots = (size_t)t->p.nodes * t->p.slots;
	u32 u;
	int err;

	memset(&n->d, 0, sizeof(n->d));
	err = rmc_domain_init(&n->d, t->w.node[nid], DOM_CTX, DOM_LIFE + nid + 100 * n->lives++,
			      &t->p, &t->dp);
	if (err)
		return err;
	n->d.keyed = t->keyed;
	n->d.key_offset = t->key_offset;
	n->recv = aligned_alloc(4096, ALIGN(slots * n->d.stride, 4096));
	memset(n->recv, 0x5a, ALIGN(slots * n->d.stride, 4096));
	n->send = aligned_alloc(4096, ALIGN(slots * sizeof(*n->send), 4096));
	memset(n->send, 0, ALIGN(slots * sizeof(*n->send), 4096));
	if (t->p.max_answer) {
		size_t len = ALIGN(slots * n->d.answer_stride, 4096);

		n->answers = aligned_alloc(4096, len);
		memset(n->answers, 0x5a, len);
		n->d.answers = mem_make(n->answers, slots * n->d.answer_stride, 12, 0);
	}
	if (n->d.shared) {
		size_t len = sizeof(*n->all) << n->d.all.order;

		n->all = aligned_alloc(4096, ALIGN(len, 4096));
		memset(n->all, 0, len);
		n->pulled = 0;
		n->d.all.mem = mem_make(n->all, len, 12, 0);
	}
	n->d.recv = mem_make(n->recv, slots * n->d.stride, 12, 0);
	n->d.send = mem_make(n->send, slots * sizeof(*n->send), 12, 0);
	for (u = 0; u < t->w.opts.units; u++)
		rmc_domain_add(t->w.node[nid]->unit[u], &n->d);
	rmc_expose(&n->d.exposure);
	return 0;
}

/* All cores are gone. */
static inline void dom_remove(struct doms *t, u32 nid)
{
	struct dom_node *n = &t->node[nid];
	u32 u;

	rmc_hide(&n->d.exposure);
	for (u = 0; u < t->w.opts.units; u++)
		rmc_domain_del(t->w.node[nid]->unit[u], &n->d);
	if (n->d.shared)
		mem_free((struct rmc_mem *)n->d.all.mem);
	free(n->all);
	n->all = NULL;
	if (n->d.answers)
		mem_free(n->d.answers);
	free(n->answers);
	n->answers = NULL;
	mem_free(n->d.send);
	mem_free(n->d.recv);
	free(n->send);
	free(n->recv);
	rmc_domain_destroy(&n->d);
}

static inline void dom_apps(struct doms *t, u32 nid)
{
	u32 i;

	for (i = 0; i < t->cores; i++) {
		struct dom_app *app = &t->node[nid].app[i];

		app_init(&app->a, &t->w, nid, DOM_CTX, 64);
		app->buf = aligned_alloc(4096, DOM_BUF);
		memset(app->buf, 0, DOM_BUF);
		app->mem = mem_make(app->buf, DOM_BUF, 12, 0);
		rmc_bufs_add(&app->a.bufs, app->mem);
		dom_attach(t, nid, i);
	}
}

/* What app_fini() or app_lost() leaves */
static inline void dom_app_free(struct dom_app *app)
{
	free(app->aq);
	free(app->buf);
	mem_free(app->mem);
}

/* Nodes, domains and cores as @t says; nothing has joined yet. */
static inline void doms_init(struct doms *t, const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	u32 i;

	k.nodes = t->nodes;
	testbed_init(&t->w, &k);
	t->p.nodes = t->p.nodes ?: t->nodes;
	t->p.slots = t->p.slots ?: 8;
	t->p.max_message = t->p.max_message ?: 8192;
	t->dp.cores = t->dp.cores ?: DOM_CORES;
	t->dp.depth = t->dp.depth ?: 1;
	t->dp.groups = t->dp.groups ?: 1;
	t->dp.classes = t->dp.classes ?: 1;
	t->dp.seed = t->dp.seed ?: 1;
	for (i = 0; i < t->nodes; i++) {
		CHECK_EQ(dom_create(t, i), 0);
		dom_apps(t, i);
	}
}

static inline void doms_fini(struct doms *t)
{
	u32 i, nid;

	for (nid = 0; nid < t->nodes; nid++) {
		for (i = 0; i < t->cores; i++) {
			if (t->node[nid].app[i].core >= 0)
				dom_detach(t, nid, i, false);
			app_fini(&t->node[nid].app[i].a);
			dom_app_free(&t->node[nid].app[i]);
		}
		dom_remove(t, nid);
	}
	testbed_fini(&t->w);
}

/* One JOIN, which names a slot; *@state: what it says of it */
static inline int dom_join_slot(struct doms *t, u32 nid, u32 i, u32 to, u32 slot, u64 *state)
{
	struct dom_app *app = &t->node[nid].app[i];
	int status;

	*(u64 *)app->buf = 0;
	status = app_run(&app->a, RMC_OP_JOIN, to, rmc_slot_offset(slot, 0), app->buf, 8);
	*state = *(u64 *)app->buf;
	return status;
}

/* Join a peer's RRPPs from all units that have a core. Returns the first status that is not OK. */
static inline int dom_join(struct doms *t, u32 nid, u32 to)
{
	u32 rrpps = rmc_fabric_rrpps(testbed_fabric(&t->w, nid)), i, home;
	int status = 0;
	u64 state;

	for (i = 0; i < t->cores; i++) {
		/* those that have left the domain cannot */
		if (!dom_qp(&t->node[nid].app[i])->domain)
			continue;
		for (home = 0; home < rrpps && !status; home++) {
			status = dom_join_slot(t, nid, i, to, home, &state);
			if (!status)
				CHECK_EQ(RMC_JOIN_LIFE(state), t->node[to].d.life);
		}
	}
	return status;
}

static inline void doms_join(struct doms *t)
{
	u32 i, j;

	for (i = 0; i < t->nodes; i++)
		for (j = 0; j < t->nodes; j++)
			CHECK_EQ(dom_join(t, i, j), RMC_S_OK);
}

static inline struct rmc_send_slot *dom_send_slot(struct doms *t, u32 nid, u32 to, u32 slot)
{
	return &t->node[nid].send[to * t->p.slots + slot];
}

/* Claim a send slot for its next message. False: it is in use. */
static inline bool dom_claim(struct doms *t, u32 nid, u32 to, u32 slot)
{
	struct rmc_send_slot *s = dom_send_slot(t, nid, to, slot);

	if (READ_ONCE(s->valid))
		return false;
	s->turn++;
	WRITE_ONCE(s->valid, 1);
	return true;
}

/* Post the message in a slot that was claimed; the data is at @buf of the application. */
static inline u32 dom_post(struct doms *t, u32 nid, u32 i, u32 op, u32 to, u32 slot,
			   const void *buf, u32 len)
{
	return app_post(&t->node[nid].app[i].a, op, to,
			rmc_slot_offset(slot, dom_send_slot(t, nid, to, slot)->turn), buf, len);
}

/* Claim, post and wait for the completion. */
static inline int dom_send(struct doms *t, u32 nid, u32 i, u32 to, u32 slot, const void *buf,
			   u32 len)
{
	if (!dom_claim(t, nid, to, slot))
		return -1;
	dom_post(t, nid, i, RMC_OP_SEND, to, slot, buf, len);
	return app_wait(&t->node[nid].app[i].a);
}

/* The next arrival in a queue of so many entries, if there is one */
static inline bool dom_take(const struct rmc_aq_entry *aq, u32 order, u32 *seen, struct arrival *m)
{
	const struct rmc_aq_entry *e = &aq[*seen & ((1U << order) - 1)];
	u64 word = rmc_phase_load(&e->word0);

	if (!rmc_phase_is(word, *seen, order))
		return false;
	++*seen;
	m->kind = word >> RMC_AQ_KIND_SHIFT & 3;
	m->again = word & RMC_AQ_AGAIN;
	m->nid = word >> RMC_AQ_NID_SHIFT & 0x3ff;
	m->slot = word >> RMC_AQ_SLOT_SHIFT & 0xfff;
	m->turn = word >> RMC_AQ_TURN_SHIFT & 0xff;
	m->len = word >> RMC_AQ_LEN_SHIFT & 0x1fffff;
	m->stamp = e->stamp;
	memcpy(m->head, e->head, sizeof(m->head));
	return true;
}

/* The next arrival of a core, if there is one */
static inline bool dom_arrival(struct doms *t, u32 nid, u32 i, struct arrival *m)
{
	struct dom_app *app = &t->node[nid].app[i];

	return dom_take(app->aq, __builtin_ctz(DOM_AQ), &app->seen, m);
}

/* Of the queue of all cores */
static inline bool dom_pull(struct doms *t, u32 nid, struct arrival *m)
{
	struct dom_node *n = &t->node[nid];

	return dom_take(n->all, n->d.all.order, &n->pulled, m);
}

/* The message of an arrival, in place */
static inline u8 *dom_data(struct doms *t, u32 nid, const struct arrival *m)
{
	struct rmc_domain *d = &t->node[nid].d;

	return t->node[nid].recv + rmc_slot_data(d, m->nid * t->p.slots + m->slot);
}

/* Post a RECEIVE for it. */
static inline void dom_post_receive(struct doms *t, u32 nid, u32 i, const struct arrival *m)
{
	app_post(&t->node[nid].app[i].a, RMC_OP_RECEIVE, m->nid, rmc_slot_offset(m->slot, m->turn),
		 NULL, 0);
}

static inline int dom_receive(struct doms *t, u32 nid, u32 i, const struct arrival *m)
{
	dom_post_receive(t, nid, i, m);
	return app_wait(&t->node[nid].app[i].a);
}

/* A core takes one more message, and keeps this one. */
static inline int dom_ready(struct doms *t, u32 nid, u32 i, const struct arrival *m)
{
	return app_run(&t->node[nid].app[i].a, RMC_OP_READY, m->nid, rmc_slot_offset(m->slot, m->turn),
		       NULL, 0);
}

/* Post the answer to a message, from @buf of the application. Returns its WQ slot. */
static inline u32 dom_post_reply(struct doms *t, u32 nid, u32 i, const struct arrival *m,
				 const void *buf, u32 len)
{
	return app_post(&t->node[nid].app[i].a, RMC_OP_REPLY, m->nid, rmc_slot_offset(m->slot, m->turn),
		 buf, len);
}

static inline int dom_reply(struct doms *t, u32 nid, u32 i, const struct arrival *m,
			    const void *buf, u32 len)
{
	dom_post_reply(t, nid, i, m, buf, len);
	return app_wait(&t->node[nid].app[i].a);
}

static inline struct rmc_answer *dom_answer_slot(struct doms *t, u32 nid, u32 to, u32 slot)
{
	return (struct rmc_answer *)(t->node[nid].answers +
				     (to * t->p.slots + slot) * t->node[nid].d.answer_stride);
}

/* The answer in a send slot's answer slot; NULL: there is none. */
static inline const u8 *dom_answer(struct doms *t, u32 nid, u32 to, u32 slot, u32 *len)
{
	const struct rmc_answer *a = dom_answer_slot(t, nid, to, slot);
	const struct rmc_send_slot *s = dom_send_slot(t, nid, to, slot);

	if (__atomic_load_n(&s->valid, __ATOMIC_ACQUIRE) != RMC_SEND_ANSWERED)
		return NULL;
	CHECK_EQ(a->turn, s->turn);
	*len = a->length;
	return (const u8 *)(a + 1);
}

/* Sum of a counter over the units of a node's domain */
#define dom_stat(t, nid, name) ({						\
	u64 sum_ = 0;								\
	u32 unit_;								\
										\
	for (unit_ = 0; unit_ < (t)->node[nid].d.units; unit_++)		\
		sum_ += (t)->node[nid].d.unit[unit_].stats.name;		\
	sum_;									\
})

static inline u8 *buf(struct doms *t, u32 nid, u32 i)
{
	return t->node[nid].app[i].buf;
}

/* Two nodes with a core each, joined */
static inline void two(struct doms *t, const struct testbed_opts *o)
{
	memset(t, 0, sizeof(*t));
	t->nodes = 2;
	t->cores = 1;
	doms_init(t, o);
	doms_join(t);
}

/* The arrival of a message from node 0 at a core of node 1; it is whole. */
static inline void check_arrival(struct doms *t, u32 core, u32 slot, u32 value, u32 len,
				 struct arrival *m)
{
	memset(m, 0, sizeof(*m));
	CHECK(dom_arrival(t, 1, core, m));
	CHECK_EQ(m->nid, 0);
	CHECK_EQ(m->slot, slot);
	CHECK_EQ(m->len, len);
	CHECK_EQ(m->kind, RMC_AQ_MESSAGE);
	CHECK(is_message(m->head, value, min(len, (u32)RMC_AQ_HEAD)));
	CHECK(is_message(dom_data(t, 1, m), value, len));
}

/* Messages 0, 1, ... of 60 bytes from node 0 to node 1, each in the slot of its number */
static inline void send_some(struct doms *t, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		write_message(buf(t, 0, 0), i, 60);
		CHECK_EQ(dom_send(t, 0, 0, 1, i, buf(t, 0, 0), 60), RMC_S_OK);
		testbed_settle(&t->w);
	}
}

/* Organisations and MTUs for tests of messages */
static const struct testbed_opts dom_opts[] = {
	{ .nodes = 2, .ni = "fused", .mtu = 4096 },
	{ .nodes = 2, .ni = "fused", .mtu = 4096, .packets = true },
	{ .nodes = 2, .ni = "fused", .mtu = 64 },
	{ .nodes = 2, .ni = "fused", .mtu = 64, .packets = true },
	{ .nodes = 2, .ni = "pair", .mtu = 512 },
	{ .nodes = 2, .ni = "fused", .units = 2, .rrpps = 2, .interleave = 256, .mtu = 1024 },
	{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 4096 },
	{ .nodes = 2, .ni = "split", .units = 2, .frontends = 2, .mtu = 512 },
	{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256, .mtu = 64 },
	{ .nodes = 2, .ni = "fused", .units = 4, .mtu = 128, .kernels = true },
};

#endif
