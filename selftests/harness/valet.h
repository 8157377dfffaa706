/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A server of messages in virtual time (T18 section 8.2): one real node, whose RMC gives messages to
 * 16 modelled cores; many peers whose packets are made up here. The core's code is the module's, and
 * runs at the times that the events have; what it costs comes from a table.
 *
 *	trace              peer             worker of the node (real code)          core (modelled)
 *	-----              ----             ------------------------------          ---------------
 *	arrives ---------> SEND ----------> RRPP, domain, dispatcher, AQ ---------> reads the entry
 *	        serve               packet                                give     core + service
 *	latency <------------------------------------------------------------------ ends: posts
 *	                   reply,  <------- RGP: SEND and RECEIVE <---------------- WQ entries
 *	                   RECEIVE ------->     take, then rest            known
 *
 * All times are picoseconds. With all costs zero each message takes as long as in tools/qsim.
 *
 * Real time that the node's code takes can be measured meanwhile (struct valet.samples): that of one
 * CPU with all lines in its cache.
 *
 * Software instead of the dispatcher (T18 section 5.5): the arrivals are one queue, from which the
 * threads take in order, each under a lock that they get in order (MCS).
 */
#ifndef VALET_H
#define VALET_H

#include <time.h>
#include "client.h"
#include "tools/common/zipf.h"
#include "tools/qsim/load.h"

#define VALET_CTX	5
#define VALET_CORES	16
#define VALET_SLOTS	64
#define VALET_REQUEST	64	/* bytes */
#define VALET_REPLY	512
#define VALET_AQ	16
#define VALET_WQ	256
#define VALET_LIFE	7	/* of all peers */
#define VALET_BACKLOG	600	/* items of the worker: more than any latency that is of interest */

/**
 * struct valet_costs - what takes how long, picoseconds
 * @serve: from the arrival of a message's packet until the dispatcher has it, besides @packet
 * @give: from there until a core sees its arrival
 * @known: from a core's WQ entry until the RGP sees it
 * @core: a core's own work for a message, besides its service
 * @packet: the worker's for a message: RRPP and dispatcher
 * @take: for the WQ entries of a core that ended one
 * @rest: for the replies to these, and the RECEIVE of the peer
 */
struct valet_costs {
	u64 serve, give, known, core, packet, take, rest;
};

/**
 * struct valet_system - who gives messages to cores
 * @name: as X x Y of the thesis
 * @policy: enum rmc_dispatch_policy
 * @groups: of cores
 * @depth: messages that a core may have
 * @software: threads take from one queue under a lock instead
 * @lock: then: the serial part, picoseconds
 */
struct valet_system {
	const char *name;
	u32 policy, groups, depth;
	bool software;
	u64 lock;
};

struct valet_peer {
	struct client c;
	struct rmc_ring req, rep;	/* of the node's requests to it */
	u32 sent, got;
	u32 turn[VALET_SLOTS], msg[VALET_SLOTS];
	u8 open[VALET_SLOTS];		/* slots that are free */
	u32 opens;
};

/* An arrival that a core, or the queue of all, has */
struct valet_entry {
	u32 m, qp, nid, slot, turn;
	u64 at;
};

struct valet_core {
	struct app a;
	struct rmc_mem *mem;
	u8 *buf;
	struct rmc_aq_entry *aq;
	u32 seen, posted, done;
	int core;
};

/* A thread, which is the core of the same number unless @software */
struct valet_thread {
	struct valet_entry has[VALET_AQ];	/* 0: what it works on */
	u32 n;
	u64 ends, order;		/* of equal ends, the one that began first is first */
	u64 idle;			/* since when */
};

enum { VALET_PACKET, VALET_TAKE, VALET_REST };

struct valet_item {
	u64 at;
	u32 kind, m;
	struct valet_entry e;
};

struct valet {
	struct testbed w;
	struct rmc_domain d;
	struct rmc_domain_params p;
	struct valet_system s;
	struct valet_costs cost;
	u32 nodes, lives, qps;
	u8 *recv;
	struct rmc_send_slot *send;
	struct valet_peer *peer;
	u32 *bound[VALET_CORES], bounds[VALET_CORES];	/* peers of a core, if it is static */
	struct valet_core core[VALET_CORES];
	/* of a run */
	const struct message *m;
	u64 *latency, seed, order, busy;
	struct valet_thread thread[VALET_CORES];
	struct valet_item *item;	/* the worker's, in order */
	size_t items, head, tail;
	struct valet_entry *ended;	/* their WQ entries are not seen yet */
	size_t ended_head, ended_tail;
	struct valet_entry *queue;	/* software */
	size_t queue_head, queue_tail;
	u32 line[VALET_CORES];		/* threads that wait for the lock, in order */
	u32 lines;
	u64 lock_free;
	u32 *sample[3];			/* ns that items took, if not NULL */
	size_t samples[3], room;
	u64 spent, began, now;		/* ns */
	bool overrun;			/* no slot was free, or the worker has too much to do */
	const char *wrong;
};

/* Each run begins after the one before it. */
static inline void valet_now(struct valet *v, u64 ps)
{
	v->now = v->began + ps / 1000;
	testbed_now_ns = v->now;
}

static inline u64 valet_clock(const struct valet *v)
{
	struct timespec t;

	if (!v->room)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* ---- set-up ---- */

/* @nodes: the server and its peers; each core is bound to some of them, if there are enough */
static inline void valet_init(struct valet *v, u32 nodes)
{
	struct testbed_opts o = { .nodes = nodes, .itt = VALET_CORES * VALET_WQ, .kernels = true };
	struct rmc_fabric *f;
	u32 i, core;

	memset(v, 0, sizeof(*v));
	v->nodes = nodes;
	testbed_init(&v->w, &o);
	f = testbed_fabric(&v->w, 0);
	v->peer = calloc(nodes, sizeof(*v->peer));
	for (i = 0; i < VALET_CORES; i++)
		v->bound[i] = calloc(nodes, sizeof(u32));
	for (i = 1; i < nodes; i++) {
		struct valet_peer *p = &v->peer[i];

		client_init(&p->c, &v->w, i, rmc_endpoint(f, 0));
		testbed_rings(&v->w, f, rmc_endpoint(f, 0), rmc_endpoint(f, i), &p->req, &p->rep);
		core = rmc_dispatch_hash(i) % VALET_CORES;
		v->bound[core][v->bounds[core]++] = i;
	}
	for (i = 0; i < VALET_CORES; i++) {
		struct valet_core *c = &v->core[i];

		app_init(&c->a, &v->w, 0, VALET_CTX, VALET_WQ);
		c->buf = aligned_alloc(4096, 4096);
		memset(c->buf, 0x11, 4096);
		c->mem = mem_make(c->buf, 4096, 12, 0);
		rmc_bufs_add(&c->a.bufs, c->mem);
		c->aq = calloc(VALET_AQ, sizeof(*c->aq));
	}
}

static inline void valet_fini(struct valet *v)
{
	u32 i;

	for (i = 0; i < VALET_CORES; i++) {
		app_fini(&v->core[i].a);
		mem_free(v->core[i].mem);
		free(v->core[i].buf);
		free(v->core[i].aq);
		free(v->bound[i]);
	}
	free(v->peer);
	testbed_fini(&v->w);
}

/* Visit the node until the peer has its replies, and a core its completions. */
static inline void valet_visit(struct valet *v, struct valet_peer *p, struct valet_core *c)
{
	struct rmc_rep r;
	u32 i, slot, status;
	u64 began;

	for (i = 0; i < 1000; i++) {
		began = valet_clock(v);
		rmc_ni_visit(&v->w.worker[0].ni);
		v->spent += valet_clock(v) - began;
		while (client_reply(&p->c, &r)) {
			p->got++;
			if (r.status != RMC_S_OK)
				v->wrong = "a peer's packet is refused";
		}
		while (c && app_poll(&c->a, &slot, &status)) {
			c->done++;
			if (status != RMC_S_OK)
				v->wrong = "an operation of a core fails";
		}
		if (p->got == p->sent && (!c || c->done == c->posted))
			return;
	}
	v->wrong = "a reply does not come";
}

static inline void valet_send(struct valet *v, u32 nid, u64 word0, u64 word1)
{
	struct valet_peer *p = &v->peer[nid];

	p->c.req.pay_pos += rmc_packet_lines(RMC_LANE_REQ, word0, word1);
	client_send(&p->c, word0, word1);
	p->sent++;
}

static inline void valet_join(struct valet *v, u32 nid)
{
	struct rmc_join j = { .p = v->p, .life = VALET_LIFE + v->lives };
	struct valet_peer *p = &v->peer[nid];
	u32 i;

	memcpy(rmc_ring_line(&p->c.req, p->c.req.pay_pos), &j, sizeof(j));
	valet_send(v, nid, rmc_req_word0(RMC_OP_JOIN, VALET_CTX, 1, 1), rmc_req_word1(0, 8, true));
	valet_visit(v, p, NULL);
	for (i = 0; i < VALET_SLOTS; i++) {
		p->turn[i] = 0;
		p->open[i] = i;
	}
	p->opens = VALET_SLOTS;
}

/* A domain with this dispatcher; valet_close() ends it. */
static inline bool valet_open(struct valet *v, const struct valet_system *s)
{
	struct rmc_dispatch_params dp = {
		.policy = s->policy, .depth = s->software ? VALET_AQ : s->depth,
		.cores = VALET_CORES, .groups = s->groups, .classes = 1, .seed = stream_seed(1, 100)
	};
	size_t slots = (size_t)v->nodes * VALET_SLOTS, bytes;
	u32 i;

	v->s = *s;
	v->wrong = NULL;
	v->p = (struct rmc_domain_params){ 0, v->nodes, VALET_SLOTS, VALET_REPLY };
	memset(&v->d, 0, sizeof(v->d));
	v->began = (v->now ?: testbed_now_ns) + 1000000;
	valet_now(v, 0);
	if (rmc_domain_init(&v->d, v->w.node[0], VALET_CTX, 1 + v->lives++, &v->p, &dp))
		return false;
	bytes = ALIGN(slots * v->d.stride, 4096);
	v->recv = aligned_alloc(4096, bytes);
	v->send = calloc(slots, sizeof(*v->send));
	v->d.recv = mem_make(v->recv, bytes, 63, 0);
	v->d.send = mem_make(v->send, slots * sizeof(*v->send), 63, 0);
	rmc_domain_add(v->w.node[0], &v->d);
	rmc_expose(&v->d.exposure);
	/* enough of them for all that threads work on, and more that waits */
	v->qps = s->software ? 4 : VALET_CORES;
	for (i = 0; i < v->qps; i++) {
		struct valet_core *c = &v->core[i];

		memset(c->aq, 0, VALET_AQ * sizeof(*c->aq));
		c->seen = 0;
		c->core = rmc_core_add(&v->d, c->aq, __builtin_ctz(VALET_AQ),
				       i * s->groups / VALET_CORES, 1, &c->a.qp.core);
		c->a.qp.domain = &v->d;
	}
	for (i = 1; i < v->nodes; i++)
		valet_join(v, i);
	return !v->wrong;
}

static inline void valet_close(struct valet *v)
{
	u32 i;

	for (i = 0; i < v->qps; i++) {
		rmc_domain_leave(&v->core[i].a.qp);
		rmc_core_del(&v->d, v->core[i].core, false);
	}
	rmc_hide(&v->d.exposure);
	rmc_domain_del(v->w.node[0], &v->d);
	mem_free(v->d.recv);
	mem_free(v->d.send);
	free(v->recv);
	free(v->send);
	rmc_domain_destroy(&v->d);
}

/* ---- peers ---- */

/* The packet of a message, from a peer that its core is bound to. False: all their slots are full. */
static inline bool valet_packet(struct valet *v, u32 m)
{
	u32 core = v->m[m].key % VALET_CORES, tries, nid, slot;
	struct valet_peer *p = NULL;

	for (tries = 0; tries < 64; tries++) {
		nid = random_next(&v->seed) >> 32;
		nid = v->bounds[core] ? v->bound[core][nid % v->bounds[core]] :
			1 + nid % (v->nodes - 1);
		p = &v->peer[nid];
		if (p->opens)
			break;
	}
	if (!p->opens)
		return false;
	slot = p->open[--p->opens];
	p->turn[slot]++;
	p->msg[slot] = m;
	valet_send(v, nid, rmc_req_word0(RMC_OP_SEND, VALET_CTX, 1, slot) | rmc_packets_word0(1),
		   rmc_req_word1(rmc_slot_offset(slot, p->turn[slot]), VALET_REQUEST, true) |
		   rmc_packets_word1(1));
	valet_visit(v, p, NULL);
	return true;
}

/* A peer answers what the node has sent: its reply is received, its own slot is free. */
static inline void valet_answer(struct valet *v, u32 nid)
{
	struct valet_peer *p = &v->peer[nid];
	struct rmc_desc desc;
	struct rmc_req q;
	u32 slot, turn;

	while (rmc_ring_peek(&p->req, 0, &desc)) {
		p->req.pos++;
		rmc_req_parse(&q, &desc);
		slot = rmc_slot_number(q.offset);
		rmc_ring_put(&p->rep, rmc_rep_word0(&q, RMC_S_OK), desc.word1);
		if (q.op == RMC_OP_RECEIVE) {
			p->open[p->opens++] = slot;
			continue;
		}
		turn = v->send[nid * VALET_SLOTS + slot].turn;
		valet_send(v, nid, rmc_req_word0(RMC_OP_RECEIVE, VALET_CTX, 1, 1) |
			   rmc_packets_word0(rmc_turn_high(turn)),
			   rmc_req_word1(rmc_slot_offset(slot, turn) |
					 rmc_slot_lives(v->d.life, VALET_LIFE + v->lives),
					 0, true) | rmc_packets_word1(rmc_turn_high(turn)));
	}
	rmc_doorbell_ring(testbed_fabric(&v->w, 0), p->c.to, RMC_LANE_REP, p->c.ep, false);
}

/* ---- cores ---- */

static inline void valet_begin(struct valet *v, struct valet_thread *t, u64 at)
{
	t->ends = at + v->cost.core + v->m[t->has[0].m].service;
	t->order = v->order++;
}

/* Threads that wait take what there is, in order. */
static inline void valet_take(struct valet *v)
{
	while (v->lines && v->queue_head != v->queue_tail) {
		const struct valet_entry *e = &v->queue[v->queue_head++];
		struct valet_thread *t = &v->thread[v->line[0]];
		u64 at = max(max(e->at, v->lock_free), t->idle);

		memmove(v->line, v->line + 1, --v->lines * sizeof(v->line[0]));
		v->lock_free = at + v->s.lock;
		t->has[0] = *e;
		t->n = 1;
		valet_begin(v, t, v->lock_free);
	}
}

/* What the dispatcher has given, which the cores see at this time */
static inline void valet_arrivals(struct valet *v, u64 at)
{
	struct valet_entry e;
	struct valet_thread *t;
	u32 i;

	for (i = 0; i < v->qps; i++) {
		struct valet_core *c = &v->core[i];

		for (;;) {
			u64 word = rmc_phase_load(&c->aq[c->seen % VALET_AQ].word0);

			if (!rmc_phase_is(word, c->seen, __builtin_ctz(VALET_AQ)))
				break;
			c->seen++;
			e.qp = i;
			e.nid = word >> RMC_AQ_NID_SHIFT & 0x3ff;
			e.slot = word >> RMC_AQ_SLOT_SHIFT & 0xfff;
			e.turn = word >> RMC_AQ_TURN_SHIFT & 0xff;
			e.m = v->peer[e.nid].msg[e.slot];
			e.at = at;
			if (v->s.software) {
				v->queue[v->queue_tail++] = e;
				continue;
			}
			t = &v->thread[i];
			t->has[t->n++] = e;
			if (t->n == 1)
				valet_begin(v, t, at);
		}
	}
	if (v->s.software)
		valet_take(v);
}

static inline struct valet_thread *valet_first(struct valet *v)
{
	struct valet_thread *best = NULL, *t;

	for (t = v->thread; t < v->thread + VALET_CORES; t++)
		if (t->n && (!best || t->ends < best->ends ||
			     (t->ends == best->ends && t->order < best->order)))
			best = t;
	return best;
}

static inline void valet_end(struct valet *v, struct valet_thread *t)
{
	struct valet_entry e = t->has[0];

	v->latency[e.m] = t->ends - v->m[e.m].arrives;
	e.at = t->ends + v->cost.known;
	v->ended[v->ended_tail++] = e;
	t->idle = t->ends;
	memmove(t->has, t->has + 1, --t->n * sizeof(t->has[0]));
	if (t->n)
		valet_begin(v, t, max(t->has[0].at, t->idle));
	if (v->s.software) {
		v->line[v->lines++] = t - v->thread;
		valet_take(v);
	}
}

/* Reply and RECEIVE. The reply has the request's slot, which is free: its last RECEIVE has come. */
static inline void valet_post(struct valet *v, const struct valet_entry *e)
{
	struct rmc_send_slot *s = &v->send[e->nid * VALET_SLOTS + e->slot];
	struct valet_core *c = &v->core[e->qp];

	if (s->valid)
		v->wrong = "the slot of a reply is in use";
	s->turn++;
	s->valid = 1;
	app_post(&c->a, RMC_OP_SEND, e->nid, rmc_slot_offset(e->slot, s->turn), c->buf, VALET_REPLY);
	app_post(&c->a, RMC_OP_RECEIVE, e->nid, rmc_slot_offset(e->slot, e->turn), NULL, 0);
	c->posted += 2;
}

/* ---- the worker ---- */

static inline struct valet_item *valet_push(struct valet *v, u32 kind, u64 at)
{
	struct valet_item *i = &v->item[v->tail++];

	i->kind = kind;
	i->at = at;
	return i;
}

static inline void valet_work(struct valet *v, u64 now)
{
	struct valet_item i = v->item[v->head++];
	u64 began;

	valet_now(v, now);
	v->spent = 0;
	switch (i.kind) {
	case VALET_PACKET:
		if (!valet_packet(v, i.m)) {
			v->overrun = true;
			return;
		}
		v->busy = now + v->cost.packet;
		break;
	case VALET_TAKE:
		/* not before: each visit would take it */
		valet_post(v, &i.e);
		began = valet_clock(v);
		app_take(&v->core[i.e.qp].a);
		v->spent += valet_clock(v) - began;
		v->busy = now + v->cost.take;
		valet_answer(v, i.e.nid);
		valet_push(v, VALET_REST, v->busy)->e = i.e;
		break;
	case VALET_REST:
		valet_visit(v, &v->peer[i.e.nid], &v->core[i.e.qp]);
		v->busy = now + v->cost.rest;
		break;
	}
	if (v->samples[i.kind] < v->room)
		v->sample[i.kind][v->samples[i.kind]++] = v->spent;
	valet_arrivals(v, v->busy + v->cost.give);
}

/**
 * valet_run() - run messages through the server
 * @v: server, with a domain
 * @cost: what takes how long
 * @m: messages
 * @n: number of them
 * @latency: of each message, from its arrival to the end of its service
 *
 * Return: true; false if not all were served: too many waited (@v->overrun), or @v->wrong says what
 * was wrong.
 */
static inline bool valet_run(struct valet *v, const struct valet_costs *cost,
			     const struct message *m, size_t n, u64 *latency)
{
	struct valet_thread *t;
	size_t arrived = 0;
	u32 i;

	v->cost = *cost;
	v->m = m;
	v->latency = latency;
	v->seed = 1;
	v->order = 0;
	v->busy = 0;
	v->overrun = false;
	v->item = malloc((3 * n + 1) * sizeof(*v->item));
	v->ended = malloc((n + 1) * sizeof(*v->ended));
	v->queue = malloc((n + 1) * sizeof(*v->queue));
	v->head = 0;
	v->tail = 0;
	v->ended_head = 0;
	v->ended_tail = 0;
	v->queue_head = 0;
	v->queue_tail = 0;
	v->lock_free = 0;
	v->lines = 0;
	memset(v->thread, 0, sizeof(v->thread));
	for (i = 0; i < VALET_CORES && v->s.software; i++)
		v->line[v->lines++] = i;
	while (!v->wrong) {
		/* first all that end, then what the worker sees of it, then what arrives */
		u64 at = U64_MAX, end, seen, work, arrives;

		t = valet_first(v);
		end = t ? t->ends : U64_MAX;
		seen = v->ended_head < v->ended_tail ? v->ended[v->ended_head].at : U64_MAX;
		work = v->head < v->tail ? max(v->busy, v->item[v->head].at) : U64_MAX;
		v->overrun |= v->tail - v->head > VALET_BACKLOG;
		/* then what is here is still served, and the next run finds nothing of it */
		arrives = arrived < n && !v->overrun ? m[arrived].arrives + cost->serve : U64_MAX;
		at = min(min(end, seen), min(work, arrives));
		if (at == U64_MAX)
			break;
		if (at == end) {
			valet_end(v, t);
		} else if (at == seen) {
			valet_push(v, VALET_TAKE, at)->e = v->ended[v->ended_head++];
		} else if (at == work) {
			valet_work(v, at);
		} else {
			valet_push(v, VALET_PACKET, at)->m = arrived++;
		}
	}
	free(v->item);
	free(v->ended);
	free(v->queue);
	return !v->wrong && !v->overrun;
}

#endif
