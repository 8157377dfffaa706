// SPDX-License-Identifier: GPL-2.0
/*
 * Workers of the NI. They do not poll: a worker is visited when an application has posted,
 * when a peer rings a doorbell, when a packet that a filter holds is due, and each tick.
 *
 * A visit does its work at its beginning, and takes the time of its costs; its
 * notifications are delivered at its end. Doorbells are cleared after each visit, so the
 * next packet of any source rings again. So a visit polls only sources with packets.
 */
#include "node.h"

/* A worker with work that it cannot continue retries after this time. */
#define RETRY_NS	1000

/* Notifications of the current visit */
static struct {
	bool on;
	struct sim_worker *worker[RMC_MAX_NODES];
	u32 workers;
	struct sim_thread **thread;
	u32 threads, room;
	int eventfd[64];
	u32 eventfds;
} notices;

/**
 * sim_worker_kick() - schedule a visit
 * @w: worker
 * @at: when it can see it
 */
void sim_worker_kick(struct sim_worker *w, u64 at)
{
	if (at < w->free_at)
		at = w->free_at;
	if (!sim_event_is_set(&w->visit) || at < w->visit.at)
		sim_heap_set(&sim.heap, &w->visit, at);
}

/**
 * sim_notify_worker() - notify a worker at the end of the visit
 * @w: worker
 */
void sim_notify_worker(struct sim_worker *w)
{
	if (notices.on && notices.workers < ARRAY_SIZE(notices.worker))
		notices.worker[notices.workers++] = w;
	else
		sim_worker_kick(w, sim_local_now() + sim.cost.handoff);
}

/**
 * sim_notify_thread() - notify a thread at the end of the visit
 * @t: thread
 */
void sim_notify_thread(struct sim_thread *t)
{
	if (!notices.on) {
		sim_wake(t, sim_local_now() + sim.cost.handoff);
		return;
	}
	if (notices.threads == notices.room) {
		notices.room = notices.room ? 2 * notices.room : 64;
		notices.thread = realloc(notices.thread,
					 notices.room * sizeof(struct sim_thread *));
		if (!notices.thread)
			abort();
	}
	notices.thread[notices.threads++] = t;
}

/**
 * sim_notify_done() - notify a thread of a completion at the end of the visit
 * @t: thread
 *
 * The CQ has it already, so the thread must not look before: for example because its node has
 * served a request meanwhile.
 */
void sim_notify_done(struct sim_thread *t)
{
	if (notices.on && !t->done_at)
		t->done_at = U64_MAX;
	sim_notify_thread(t);
}

/**
 * sim_notify_eventfd() - signal an armed eventfd at the end of the visit
 * @fd: descriptor
 */
void sim_notify_eventfd(int fd)
{
	if (notices.on && notices.eventfds < ARRAY_SIZE(notices.eventfd))
		notices.eventfd[notices.eventfds++] = fd;
	else
		sim_eventfd_signal(fd, sim_local_now());
}

/* The end of a visit: deliver the notifications. */
static void deliver(u64 at)
{
	u32 i;

	notices.on = false;
	for (i = 0; i < notices.workers; i++)
		sim_worker_kick(notices.worker[i], at + sim.cost.handoff);
	for (i = 0; i < notices.threads; i++) {
		struct sim_thread *t = notices.thread[i];

		if (t->done_at == U64_MAX)
			t->done_at = at + sim.cost.handoff;
		sim_wake(t, at + sim.cost.handoff);
	}
	for (i = 0; i < notices.eventfds; i++)
		sim_eventfd_signal(notices.eventfd[i], at);
	notices.workers = 0;
	notices.threads = 0;
	notices.eventfds = 0;
}

/* What each stage has done since the visit began */
struct work {
	u64 requests, served, replies, bytes, lines;
};

static struct work work_of(const struct sim_worker *w)
{
	const struct rmc_stats *is = &w->node->rmc->stats, *was = &w->was;

	return (struct work){
		.requests = is->requests - was->requests,
		.served = is->served - was->served,
		.replies = is->replies - was->replies,
		.lines = (is->served_bytes - was->served_bytes + RMC_LINE - 1) / RMC_LINE,
		.bytes = is->request_bytes - was->request_bytes + is->served_bytes -
			 was->served_bytes + is->reply_bytes - was->reply_bytes,
	};
}

/**
 * sim_visit_work() - work of a visit so far
 * @w: worker that is visited
 *
 * Return: ns, if it does one thing after another.
 */
u64 sim_visit_work(const struct sim_worker *w)
{
	struct work k = work_of(w);

	return k.requests * sim.cost.rgp + k.served * sim.cost.rrpp + k.replies * sim.cost.rcp +
	       k.bytes * sim.cost.byte / 1000;
}

/* Start counting the work of a visit or tick ... */
static void count_begin(struct sim_worker *w)
{
	notices.on = true;
	w->was = w->node->rmc->stats;
	sim_publish_begin(w);
	if (sim_lines_on && sim_lines_begin(w))
		abort();
}

/*
 * ... and end it: when its results are there, and when the worker takes its next packet. A worker
 * that is a CPU does one thing after another. In pipelines all stages work at once, and the next
 * one begins with the first packet while others follow.
 */
static u64 count_end(struct sim_worker *w)
{
	struct work k = work_of(w);
	u64 most = max(max(k.requests, k.served), k.replies), took = sim_visit_work(w);
	u64 taken = 0, memory = sim_lines_on ? sim_lines_end(k.lines, &taken) : 0;
	struct sim_thread *t;

	sim.stats.requests += k.served;
	/* they may poll the written memory */
	for (t = k.served ? w->node->threads : NULL; t; t = t->next)
		if (t->state == SIM_WAITING)
			sim_notify_thread(t);
	if (sim.cost.pipe && most) {
		took = max(max(k.requests ? sim.cost.rgp : 0, k.served ? sim.cost.rrpp : 0),
			   k.replies ? sim.cost.rcp : 0);
		w->free_at = max(sim.now + most * sim.cost.pipe, taken);
	} else {
		w->free_at = sim.now + took + memory;
	}
	sim_publish_end(sim.now + took + memory);
	return sim.now + took + memory;
}

/* A packet is there, and visible. */
static bool has_packet(const struct rmc_ring *r)
{
	u64 before;

	return rmc_ring_ready(r) &&
	       !(sim_publish_on && sim_publish_hides(&r->desc[r->pos & r->mask].word0, &before));
}

enum ready {
	NOTHING,	/* to be done before another event */
	BLOCKED,	/* work that the visit could not do */
	MORE,		/* packets that one visit of a filter is too short for */
};

/*
 * After a visit: clears the bits of silent sources; sources whose packets are not due yet
 * get their bit back at the due time.
 */
static enum ready settle_lane(struct sim_worker *w, enum rmc_lane lane)
{
	struct sim_node *n = w->node;
	struct rmc_node *node = n->rmc;
	enum ready ready = NOTHING;
	u64 hidden;
	u32 i;

	sim_publish_hidden();
	for (i = 0; i < (n->fabric.endpoints + 63) / 64; i++) {
		u64 *word = rmc_doorbell_word(&n->fabric, node->ep, lane, i * 64), bits = *word;

		for (; bits; bits &= bits - 1) {
			u32 from = i * 64 + __ffs64(bits);
			const struct rmc_filter *flt = NULL;
			const struct rmc_ring *rx = NULL;
			u64 later = 0;

			if (lane == RMC_LANE_REQ && node->in[from]) {
				rx = &node->in[from]->req;
				flt = node->in[from]->filter;
				later = rmc_adapter_due(node->in[from]);
			} else if (lane == RMC_LANE_REP && node->out[from]) {
				rx = &node->out[from]->rep;
				flt = node->out[from]->filter;
			} else if (lane == RMC_LANE_REQ) {
				/* its channel is not open: see tick() */
				continue;
			}
			if ((flt && has_packet(&flt->wire)) ||
			    (rx && has_packet(rx) && later <= sim.now)) {
				struct sim_due *d = &n->due[lane][from];

				ready = max(ready, flt && flt->wire.pos != d->taken ? MORE : BLOCKED);
				d->taken = flt ? flt->wire.pos : 0;
				continue;
			}
			hidden = sim_publish_hidden();
			if (hidden) {
				/* its doorbell was early */
				w->hidden_until = min(w->hidden_until, hidden);
			} else {
				*word &= ~(1ULL << from % 64);
			}
			if (flt && flt->held && (!later || flt->heap[0].due_ns < later))
				later = max(flt->heap[0].due_ns, sim.now);
			if (later)
				sim_heap_set(&sim.heap, &n->due[lane][from].event, later);
		}
	}
	return ready;
}

/* The same for all nodes and lanes of a worker. */
static enum ready settle(struct sim_worker *w)
{
	struct rmc_node *node = w->node->rmc;
	enum ready ready = NOTHING, lane;
	const struct rmc_tx_slots *tx;

	w->hidden_until = U64_MAX;
	u32 i;

	if (w->ni.stages & RMC_STAGE_REQ) {
		for (i = w->ni.hots; i-- > 0;) {
			if (rmc_qp_quiet(w->ni.hot[i]))
				rmc_ni_cool(&w->ni, w->ni.hot[i]);
			else
				ready = BLOCKED;
		}
		/* what a tick has made engines post */
		for (tx = w->ni.tx; tx; tx = tx->next)
			if (rmc_qp_pending(&tx->engine->client.qp))
				ready = BLOCKED;
		lane = settle_lane(w, RMC_LANE_REP);
		ready = max(ready, max(lane, node->itt.restarts ? BLOCKED : NOTHING));
	}
	if (w->ni.stages & RMC_STAGE_SRV) {
		lane = settle_lane(w, RMC_LANE_REQ);
		ready = max(ready, max(lane, rmc_state_due(node) ? BLOCKED : NOTHING));
	}
	return ready;
}

static void visit_soon(struct sim_event *e, enum sim_soon soon)
{
	if (soon == SIM_SOON_NEXT)
		sim_prefetch_visit((void *)((char *)e - offsetof(struct sim_worker, visit)));
}

static void visit(struct sim_event *e)
{
	struct sim_worker *w = (void *)((char *)e - offsetof(struct sim_worker, visit));
	enum ready ready;
	u64 ends;
	u32 done;

	if (sim_node_stopped(w->node))
		return;
	count_begin(w);
	done = rmc_ni_visit(&w->ni);
	ends = count_end(w);
	sim.stats.visits++;
	sim_note("visit", w->node->nid, w - w->node->worker, done);
	deliver(ends);
	ready = settle(w);
	if (ready)
		sim_worker_kick(w, done || ready == MORE ? w->free_at : sim.now + RETRY_NS);
	if (w->hidden_until != U64_MAX)
		sim_worker_kick(w, w->hidden_until);
}

/* No source has its bit set. */
static bool quiet(struct sim_worker *w)
{
	struct sim_node *n = w->node;
	enum rmc_lane lane;
	u32 i;

	for (lane = 0; lane < RMC_LANES; lane++)
		for (i = 0; w->ni.nodes[lane] && i < (n->fabric.endpoints + 63) / 64; i++)
			if (*rmc_doorbell_word(&n->fabric, n->rmc->ep, lane, i * 64))
				return false;
	return true;
}

static void tick(struct sim_event *e)
{
	struct sim_node *n = (struct sim_node *)((char *)e - offsetof(struct sim_node, tick));
	u32 i;

	if (sim_node_stopped(n))
		return;
	for (i = 0; i < n->workers; i++) {
		struct sim_worker *w = &n->worker[i];
		u64 busy = w->free_at;

		count_begin(w);
		rmc_ni_tick(&w->ni, sim.now);
		deliver(count_end(w));
		/* a tick takes no time from visits */
		w->free_at = busy;
		/* a channel that could not be opened before may open now */
		if (settle(w) || !quiet(w))
			sim_worker_kick(w, sim.now);
	}
	sim_heap_set(&sim.heap, &n->tick, sim.now + (u64)sim.o.tick_us * 1000);
}

static void due_soon(struct sim_event *e, enum sim_soon soon)
{
	struct sim_due *d = (struct sim_due *)e;

	if (soon == SIM_SOON_SECOND)
		sim_prefetch_channel(d->node->rmc, d->lane, d->from);
	else
		sim_prefetch_packets(d->node->rmc, d->lane, d->from);
}

static void due(struct sim_event *e)
{
	struct sim_due *d = (struct sim_due *)e;
	struct rmc_node *node = d->node->rmc;

	/* a paused node finds it when it resumes */
	*rmc_doorbell_word(&d->node->fabric, node->ep, d->lane, d->from) |= 1ULL << d->from % 64;
	sim_worker_kick((struct sim_worker *)(d->lane == RMC_LANE_REQ ? node->srv_worker :
								       node->req_worker), sim.now);
}

/**
 * sim_node_init_events() - start the events of a booted node
 * @n: node
 */
void sim_node_init_events(struct sim_node *n)
{
	enum rmc_lane lane;
	u32 i;

	for (i = 0; i < n->workers; i++) {
		n->worker[i].visit.fire = visit;
		n->worker[i].visit.soon = visit_soon;
		n->worker[i].node = n;
		n->worker[i].free_at = 0;
		/* as if it always slept: each producer notifies it */
		n->worker[i].ni.parked = 1;
	}
	for (lane = 0; lane < RMC_LANES; lane++)
		for (i = 0; i < sim.o.nodes; i++) {
			n->due[lane][i].event.fire = due;
			n->due[lane][i].event.soon = due_soon;
			n->due[lane][i].node = n;
			n->due[lane][i].lane = lane;
			n->due[lane][i].from = i;
		}
	n->tick.fire = tick;
	sim_heap_set(&sim.heap, &n->tick,
		     sim.now + (u64)sim.o.tick_us * 1000 * (n->nid + 1) / sim.o.nodes);
}

/**
 * sim_node_stop() - cancel all events of a node
 * @n: node
 */
void sim_node_stop(struct sim_node *n)
{
	enum rmc_lane lane;
	u32 i;

	sim_heap_cancel(&sim.heap, &n->tick);
	for (i = 0; i < n->workers; i++)
		sim_heap_cancel(&sim.heap, &n->worker[i].visit);
	for (lane = 0; lane < RMC_LANES; lane++)
		for (i = 0; i < sim.o.nodes; i++)
			sim_heap_cancel(&sim.heap, &n->due[lane][i].event);
}

/**
 * sim_node_go_on() - mirror of sim_node_stop() for a paused kernel
 * @n: node
 */
void sim_node_go_on(struct sim_node *n)
{
	struct sim_thread *t;
	u32 i;

	sim_heap_set(&sim.heap, &n->tick, sim.now);
	for (i = 0; i < n->workers; i++)
		sim_worker_kick(&n->worker[i], sim.now);
	for (t = n->threads; t; t = t->next)
		sim_thread_run_at(t, sim.now);
}

/* ---- operating system functions for the core ---- */

u64 rmc_os_now_ns(void)
{
	return sim.now;
}

void rmc_os_wake(struct rmc_ni_worker *ni)
{
	sim_notify_worker((struct sim_worker *)ni);
}

void rmc_os_membarrier(struct rmc_ni_worker *ni)
{
	(void)ni;
}

void rmc_os_event(struct rmc_event *e)
{
	sim_event_happened(e);
}

void rmc_os_node_event(struct rmc_node *node, u32 type, u32 nid, u32 epoch)
{
	sim_note("event", node->nid, type, (u64)nid << 32 | epoch);
}
