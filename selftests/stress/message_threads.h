/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that send and receive messages: each is a core of its node, and records what became of
 * every message. See message_stress.c.
 */
#ifndef MESSAGE_THREADS_H
#define MESSAGE_THREADS_H

#include <sched.h>
#include <time.h>
#include <unistd.h>
#include "domains.h"

#define ENTRIES		64		/* of a queue pair, as dom_apps() makes them */
#define MOST		6000		/* bytes of a message */
#define JOBS		8		/* SENDs of a thread that are in flight */
#define JOB_BYTES	8192
#define PROBE_AT	(88 * 1024)	/* in the local buffer: what a JOIN returns */
#define SEQS		(1U << 18)	/* messages that a thread may send */
#define DOUBT_MS	200		/* a send slot that is in use for so long is asked for */
#define INLINE_OFTEN_NS	1000000

/* What a WQ entry is: a SEND of a job, a RECEIVE of a message that is held, or a JOIN */
enum { SEND = 0, RECEIVE = 32, PROBE = 64 };

/* A message begins with this. */
struct head {
	u32 id;			/* node 4, thread 4, number 24 */
	u32 len;		/* of all of it */
	u64 sum;		/* of what follows */
};

/* A send slot, beside the words that the RMC knows; threads of a node share it */
enum place_state { UNUSED, CLAIMED, SENT, ASKING };

struct place {
	u32 state;		/* enum place_state */
	u32 since;		/* it is SENT, milliseconds */
};

struct job {
	enum { NONE, POSTED, AGAIN } state;
	u32 to, slot, len;
};

struct held {
	enum { NOTHING, HELD, ENDING } state;
	struct arrival m;
	u32 id;
};

struct run;

struct member {
	struct run *r;
	pthread_t thread;
	struct dom_app *app;
	u32 nid, i, seed, seqs, in_wq;
	struct job job[JOBS];
	struct held held[DOM_AQ];
	bool busy[ENTRIES], leaving;
	u8 what[ENTRIES];
	struct place *asked;	/* by a JOIN in flight */
	struct rmc_send_slot *asked_slot;
	u32 tag;		/* of the core, from the dispatcher's worker */
	/* how often: no slot was free; a message came again; a slot was asked for; it came and went */
	u64 full, again, asks, moves, bad;
};

/* What a run is to be */
struct kind {
	struct testbed_opts o;
	u32 policy, depth, nodes, cores, slots;
	u32 pause_us;		/* threads sleep for up to this */
	bool park;
	bool churn;		/* cores come and go */
	bool hostile;		/* the last node's application keeps no rule */
};

struct run {
	struct doms t;
	const struct kind *k;
	struct member m[DOM_NODES][DOM_CORES];
	struct place *place[DOM_NODES];
	u8 *ledger;		/* by sender and number: enum below */
	u32 sending, stop, honest, begin;
	u64 sent, processed, dropped, parks;
	u64 rate;		/* messages in 1000 seconds, until sending ends */
};

enum { PROCESSED = 1, DROPPED = 2 };

static u32 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static u32 random_of(struct member *m, u32 n)
{
	m->seed = m->seed * 1664525 + 1013904223;
	return (m->seed >> 8) % n;
}

#define ADD(counter, n)	__atomic_fetch_add(&(counter), (n), __ATOMIC_RELAXED)

/* A thread found a fault; it goes on. */
#define MUST(m, cond) do {							\
	if (!(cond) && !(m)->bad++)						\
		printf("# %s:%d: not true: %s\n", __FILE__, __LINE__, #cond);	\
} while (0)

/* ---- contents ---- */

static u64 sum_of(const u8 *p, u32 len)
{
	u64 sum = len, w;
	u32 i;

	for (i = 0; i + 8 <= len; i += 8) {
		memcpy(&w, p + i, 8);
		sum = (sum ^ w) * 0x9e3779b97f4a7c15ULL;
	}
	for (; i < len; i++)
		sum = (sum ^ p[i]) * 0x9e3779b97f4a7c15ULL;
	return sum;
}

static void compose(struct member *m, u8 *at, u32 id, u32 len)
{
	struct head h = { .id = id, .len = len };
	u64 w = id * 0x2545f4914f6cdd1dULL;
	u32 i;

	for (i = sizeof(h); i < len; i++) {
		if (!(i & 7))
			w = w * 6364136223846793005ULL + m->seed;
		at[i] = w >> 8 * (i & 7);
	}
	h.sum = sum_of(at + sizeof(h), len - sizeof(h));
	memcpy(at, &h, sizeof(h));
}

/* The message of an arrival is whole, in its slot and in the queue. */
static void check_whole(struct member *m, const struct arrival *a)
{
	const u8 *data = dom_data(&m->r->t, m->nid, a);
	struct head h;

	memcpy(&h, data, sizeof(h));
	MUST(m, a->len == h.len && h.id >> 28 == a->nid);
	MUST(m, h.len <= MOST && h.sum == sum_of(data + sizeof(h), h.len - sizeof(h)));
	MUST(m, !memcmp(a->head, data, min(a->len, (u32)RMC_AQ_HEAD)));
}

/* The fate of a message: once, and no other one. */
static void settle(struct member *m, u32 id, u32 fate)
{
	u32 sender = (id >> 28) * DOM_CORES + (id >> 24 & 15);

	if ((id >> 28) >= m->r->honest)
		return;
	MUST(m, !__atomic_fetch_or(&m->r->ledger[sender * SEQS + (id & 0xffffff)], fate,
				   __ATOMIC_RELAXED));
	ADD(*(fate == PROCESSED ? &m->r->processed : &m->r->dropped), 1);
}

/* ---- posting and completing ---- */

/* False: the application has not read the completion of the WQ slot's last entry. */
static bool post(struct member *m, u32 what, u32 op, u32 to, u64 offset, const void *lbuf, u32 len)
{
	struct app *a = &m->app->a;
	u32 slot = a->head & (ENTRIES - 1);

	if (m->busy[slot])
		return false;
	m->busy[slot] = true;
	m->what[slot] = what;
	m->in_wq++;
	app_post(a, op, to, offset, lbuf, len);
	return true;
}

/* Some wakers poll inline, and also wake the thread if they did so shortly before. */
static void wake(struct member *m)
{
	struct app *a = &m->app->a;

	if (!READ_ONCE(a->flags->need_wakeup))
		return;
	if (a->head % 10)
		testbed_poll_inline(rmc_qp_worker(&a->qp), INLINE_OFTEN_NS);
	else
		rmc_os_wake(rmc_qp_worker(&a->qp));
}

static struct place *place_of(struct member *m, u32 to, u32 slot)
{
	return &m->r->place[m->nid][to * m->r->k->slots + slot];
}

static void place_set(struct place *p, u32 state)
{
	WRITE_ONCE(p->since, now_ms());
	smp_store_release(&p->state, state);
}

static void sent(struct member *m, struct job *j, u32 status)
{
	/* the core left the domain meanwhile: the same message again */
	if (status == RMC_S_ABORTED || status == RMC_S_NO_DOMAIN) {
		MUST(m, m->r->k->churn);
		j->state = AGAIN;
		return;
	}
	MUST(m, status == RMC_S_OK);
	place_set(place_of(m, j->to, j->slot), SENT);
	j->state = NONE;
}

static void ended(struct member *m, struct held *h, u32 status)
{
	if (status == RMC_S_NO_DOMAIN || status == RMC_S_BAD_SLOT) {
		MUST(m, m->leaving);
		h->state = HELD;
		return;
	}
	MUST(m, status == RMC_S_OK || (m->leaving && status == RMC_S_ABORTED));
	if (h->id != ~0U)
		settle(m, h->id, PROCESSED);
	h->state = NOTHING;
}

/* A JOIN says whether the message of a slot was processed, or dropped. */
static void answered(struct member *m, u32 status)
{
	u64 state;

	memcpy(&state, m->app->buf + PROBE_AT, 8);
	if (status == RMC_S_OK && state & RMC_JOIN_FREE &&
	    RMC_JOIN_TURN(state) == (u8)READ_ONCE(m->asked_slot->turn))
		smp_store_release(&m->asked_slot->valid, 0);
	MUST(m, status == RMC_S_OK || (m->r->k->churn && (status == RMC_S_ABORTED ||
							  status == RMC_S_NO_DOMAIN)));
	place_set(m->asked, SENT);
	m->asked = NULL;
}

static void reap(struct member *m)
{
	u32 slot, status;

	while (app_poll(&m->app->a, &slot, &status)) {
		MUST(m, m->busy[slot]);
		m->busy[slot] = false;
		m->in_wq--;
		if (m->what[slot] < RECEIVE)
			sent(m, &m->job[m->what[slot] - SEND], status);
		else if (m->what[slot] < PROBE)
			ended(m, &m->held[m->what[slot] - RECEIVE], status);
		else
			answered(m, status);
	}
}

/* ---- sending ---- */

static void send_job(struct member *m, u32 i)
{
	struct job *j = &m->job[i];
	struct rmc_send_slot *s = dom_send_slot(&m->r->t, m->nid, j->to, j->slot);

	if (post(m, SEND + i, RMC_OP_SEND, j->to, rmc_slot_offset(j->slot, READ_ONCE(s->turn)),
		 m->app->buf + i * JOB_BYTES, j->len))
		j->state = POSTED;
}

/* Claim a send slot for the next message. */
static bool claim(struct member *m, u32 to, u32 slot)
{
	struct rmc_send_slot *s = dom_send_slot(&m->r->t, m->nid, to, slot);
	struct place *p = place_of(m, to, slot);
	u32 old = READ_ONCE(p->state);

	/* pairs with the release in rmc_domain_free() */
	if ((old != UNUSED && old != SENT) || smp_load_acquire(&s->valid) ||
	    rmc_os_cas32(&p->state, old, CLAIMED) != old)
		return false;
	/* somebody has sent a message meanwhile */
	if (smp_load_acquire(&s->valid)) {
		smp_store_release(&p->state, SENT);
		return false;
	}
	WRITE_ONCE(s->turn, READ_ONCE(s->turn) + 1);
	WRITE_ONCE(s->valid, 1);
	return true;
}

static void try_send(struct member *m)
{
	struct run *r = m->r;
	u32 to = random_of(m, r->k->nodes), first = random_of(m, r->k->slots), i, k, id;
	struct job *j;

	for (i = 0; i < JOBS && m->job[i].state != NONE; i++)
		;
	if (i == JOBS || m->seqs == SEQS || m->busy[m->app->a.head & (ENTRIES - 1)])
		return;
	/* few go to those that never answer: they fill up */
	if (to >= r->honest && random_of(m, 8))
		to = random_of(m, r->honest);
	j = &m->job[i];
	for (k = 0; k < r->k->slots; k++) {
		j->slot = (first + k) % r->k->slots;
		if (claim(m, to, j->slot))
			break;
	}
	if (k == r->k->slots) {
		ADD(m->full, 1);
		return;
	}
	id = m->nid << 28 | m->i << 24 | m->seqs;
	j->to = to;
	j->len = sizeof(struct head) + random_of(m, random_of(m, 4) ? 100 : MOST - sizeof(struct head));
	compose(m, m->app->buf + i * JOB_BYTES, id, j->len);
	if (to < r->honest) {
		m->seqs++;
		ADD(r->sent, 1);
	}
	send_job(m, i);
}

/* Ask about a slot that is in use for long. */
static void try_ask(struct member *m)
{
	u32 to = random_of(m, m->r->honest), slot = random_of(m, m->r->k->slots);
	struct place *p = place_of(m, to, slot);

	if (m->asked || m->busy[m->app->a.head & (ENTRIES - 1)] || READ_ONCE(p->state) != SENT ||
	    now_ms() - READ_ONCE(p->since) < DOUBT_MS ||
	    !READ_ONCE(dom_send_slot(&m->r->t, m->nid, to, slot)->valid) ||
	    rmc_os_cas32(&p->state, SENT, ASKING) != SENT)
		return;
	m->asked = p;
	m->asked_slot = dom_send_slot(&m->r->t, m->nid, to, slot);
	ADD(m->asks, 1);
	post(m, PROBE, RMC_OP_JOIN, to, rmc_slot_offset(slot, 0), m->app->buf + PROBE_AT, 8);
}

/* ---- receiving ---- */

static void take(struct member *m)
{
	struct head head;
	struct arrival a;
	u32 i;

	for (i = 0; i < DOM_AQ; i++) {
		struct held *h = &m->held[i];

		if (h->state != NOTHING)
			continue;
		if (!dom_arrival(&m->r->t, m->nid, m->i, &a))
			return;
		h->state = HELD;
		h->m = a;
		h->id = ~0U;
		ADD(m->again, a.again);
		MUST(m, a.len && a.len <= MOST);
		if (a.nid >= m->r->honest)
			continue;
		check_whole(m, &a);
		memcpy(&head, a.head, sizeof(head));
		h->id = head.id;
	}
}

static void try_end(struct member *m)
{
	struct held *h = &m->held[random_of(m, DOM_AQ)];

	if (h->state != HELD || m->busy[m->app->a.head & (ENTRIES - 1)])
		return;
	/* nobody has changed it meanwhile */
	if (h->id != ~0U)
		check_whole(m, &h->m);
	h->state = ENDING;
	post(m, RECEIVE + (h - m->held), RMC_OP_RECEIVE, h->m.nid,
	     rmc_slot_offset(h->m.slot, h->m.turn), NULL, 0);
}

/* ---- cores that come and go ---- */

static void call_leave(void *arg)
{
	struct member *m = arg;

	rmc_domain_leave(dom_qp(m->app));
}

static void call_requeue(void *arg)
{
	struct member *m = arg;

	rmc_core_del(&m->r->t.node[m->nid].d, m->app->core, true);
}

static void call_drop(void *arg)
{
	struct member *m = arg;

	rmc_core_del(&m->r->t.node[m->nid].d, m->app->core, false);
}

static void call_add(void *arg)
{
	struct member *m = arg;

	m->app->core = rmc_core_add(&m->r->t.node[m->nid].d, m->app->aq, __builtin_ctz(DOM_AQ), 0,
				    1, &m->tag);
}

static void call_enter(void *arg)
{
	struct member *m = arg;

	dom_qp(m->app)->core = m->tag;
	dom_qp(m->app)->domain = &m->r->t.node[m->nid].d;
}

static bool ends_one(const struct member *m)
{
	u32 i;

	for (i = 0; i < DOM_AQ; i++)
		if (m->held[i].state == ENDING)
			return true;
	return false;
}

/* As the calls of an application do, between the visits of the workers. */
static void come_and_go(struct member *m)
{
	struct rmc_ni_worker *rgp = dom_qp(m->app)->node->req_worker;
	struct rmc_ni_worker *dispatcher = m->r->t.node[m->nid].d.head->srv_worker;
	bool drop = random_of(m, 2);
	struct arrival a;
	struct head head;
	u32 i;

	m->leaving = true;
	ADD(m->moves, 1);
	testbed_call(rgp, call_leave, m);
	testbed_call(dispatcher, drop ? call_drop : call_requeue, m);
	while (ends_one(m)) {
		wake(m);
		sched_yield();
		reap(m);
	}
	for (i = 0; i < DOM_AQ; i++) {
		/* what it did not finish; the slots may have other messages now */
		if (m->held[i].state == HELD && drop && m->held[i].id != ~0U)
			settle(m, m->held[i].id, DROPPED);
		m->held[i].state = NOTHING;
	}
	while (dom_arrival(&m->r->t, m->nid, m->i, &a)) {
		memcpy(&head, a.head, sizeof(head));
		if (drop && a.nid < m->r->honest)
			settle(m, head.id, DROPPED);
	}
	if (m->r->k->pause_us)
		usleep(random_of(m, m->r->k->pause_us));
	memset(m->app->aq, 0, DOM_AQ * sizeof(*m->app->aq));
	m->app->seen = 0;
	testbed_call(dispatcher, call_add, m);
	MUST(m, m->app->core >= 0);
	testbed_call(rgp, call_enter, m);
	m->leaving = false;
}

/* ---- threads ---- */

static void *honest(void *arg)
{
	struct member *m = arg;
	const struct kind *k = m->r->k;
	u32 i;

	while (!__atomic_load_n(&m->r->stop, __ATOMIC_ACQUIRE) || m->in_wq) {
		reap(m);
		take(m);
		for (i = 0; i < 4; i++)
			try_end(m);
		for (i = 0; i < JOBS; i++)
			if (m->job[i].state == AGAIN)
				send_job(m, i);
		if (READ_ONCE(m->r->sending))
			try_send(m);
		try_ask(m);
		wake(m);
		if (k->churn && !random_of(m, 400) && READ_ONCE(m->r->sending))
			come_and_go(m);
		if (k->pause_us && !random_of(m, 8))
			usleep(random_of(m, k->pause_us));
		else if (!random_of(m, 4))
			sched_yield();
	}
	return NULL;
}

/*
 * It writes into its node's send slots, and into its arrival queue, which the module maps
 * read-only; posts any operation on any slot, often without waiting for completions; and never
 * ends a message.
 */
static void *hostile(void *arg)
{
	static const u8 ops[] = { RMC_OP_SEND, RMC_OP_OFFER, RMC_OP_RECEIVE, RMC_OP_JOIN, RMC_OP_READY };
	struct member *m = arg;
	const struct run *r = m->r;
	u64 *send = (u64 *)r->t.node[m->nid].send;
	u32 words = r->k->nodes * r->k->slots * sizeof(struct rmc_send_slot) / 8;
	u32 guess[DOM_NODES][64] = { 0 }, to, slot, turn, op, len, what, status;
	u16 target[ENTRIES] = { 0 };

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		WRITE_ONCE(send[random_of(m, words)], (u64)m->seed << 32 | random_of(m, 1 << 20));
		/* the rest of an entry is no atomic access of the RMC */
		WRITE_ONCE(m->app->aq[random_of(m, DOM_AQ)].word0, m->seed);
		WRITE_ONCE(m->app->aq[random_of(m, DOM_AQ)].stamp, m->seed);
		while (app_poll(&m->app->a, &what, &status)) {
			m->busy[what] = false;
			if (status == RMC_S_OK && target[what])
				guess[target[what] >> 8][target[what] & 63]++;
			target[what] = 0;
		}
		what = m->app->a.head & (ENTRIES - 1);
		if (m->busy[what] && random_of(m, 512)) {
			wake(m);
			sched_yield();
			continue;
		}
		to = random_of(m, 16) ? random_of(m, r->honest) : random_of(m, 8);
		slot = random_of(m, 16) ? random_of(m, r->k->slots) : random_of(m, 4096);
		op = ops[random_of(m, 8) ? 0 : random_of(m, ARRAY_SIZE(ops))];
		turn = random_of(m, 256);
		if (random_of(m, 8) && to < r->honest && slot < r->k->slots) {
			turn = guess[to][slot] + 1;
			target[what] = op == RMC_OP_SEND ? 0x80 | to << 8 | slot : 0;
		}
		len = random_of(m, 4) ? 8 * (1 + random_of(m, 16)) : random_of(m, MOST + 100);
		m->busy[what] = true;
		app_post(&m->app->a, op, to, rmc_slot_offset(slot, turn), m->app->buf,
			 op == RMC_OP_RECEIVE || op == RMC_OP_READY ? 0 : op == RMC_OP_JOIN ? 8 : len);
	}
	return NULL;
}

#endif
