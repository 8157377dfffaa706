/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two nodes in virtual time, with a CPU for each worker and each application (T18 section 6.5). The
 * core's code runs visit by visit on one CPU or two; a clock of its own says when each begins:
 *
 *	application		node 0			node 1			time
 *	posts ------------> [frontend ->] RGP				visit of the application
 *			hand-off	  unrolls -------> RRPP		visit of node 0's worker
 *					     hand-off	   serves	visit of node 1's worker
 *			    [frontend <-] RCP <------------		...
 *	polls <------------
 *
 * The actor whose clock is lowest is next. What a visit takes is measured, or comes from a table
 * (struct ni_time.visit). Its stores are seen by whoever runs next, although it has not ended. So one
 * that is idle begins its next visit a hand-off after the end of the visit that may have published
 * something for it. One that is busy has work anyway: it finds some of it too early, by a visit and
 * a hand-off at most, which does not change how much it does. Where blocking operations of both nodes
 * are alone and meet at a worker, it may shorten one of them by as much.
 */
#ifndef NI_TIME_H
#define NI_TIME_H

#include "testbed.h"

#define NI_TIME_ACTORS	64
#define NI_TIME_NODES	2

/**
 * struct ni_actor - what has a CPU
 * @step: a visit. Returns how much it did; 0: it was idle
 * @of: its argument
 * @stages: enum rmc_stage of a worker, 0: applications
 * @nodes: bit per node that it belongs to
 * @feeders: bit per actor that may publish what it polls
 * @at: when its next visit begins
 * @last: when its last one began
 * @idle: that one did nothing, and nothing was published for it since
 * @began: its last visit that did something,
 * @ended: and the end of it
 * @busy: time of all of these
 * @visits: their number
 */
struct ni_actor {
	u32 (*step)(void *of);
	void *of;
	u32 stages, nodes;
	u64 feeders;
	u64 at, last;
	bool idle;
	u64 began, ended;
	u64 busy, visits;
};

/**
 * struct ni_time - the clock of all actors
 * @actor: those that there are
 * @actors: their number
 * @handoff: what is published takes so long to be seen
 * @visit: runs a step, and returns what it takes, at least 1
 * @arg: for @visit
 * @now: when the last visit began
 */
struct ni_time {
	struct ni_actor actor[NI_TIME_ACTORS];
	u32 actors;
	u64 handoff;
	u64 (*visit)(struct ni_time *t, struct ni_actor *a, u32 *done);
	void *arg;
	u64 now;
};

static inline u32 ni_time_visit_worker(void *of)
{
	struct testbed_worker *w = of;

	return rmc_ni_visit(&w->ni);
}

static inline struct ni_actor *ni_time_add(struct ni_time *t, u32 (*step)(void *of), void *of,
					   u32 stages, u32 nodes)
{
	struct ni_actor *a = &t->actor[t->actors];

	if (t->actors++ == NI_TIME_ACTORS)
		abort();
	*a = (struct ni_actor){ .step = step, .of = of, .stages = stages, .nodes = nodes,
				.idle = true };
	return a;
}

/* All workers of a testbed */
static inline void ni_time_add_workers(struct ni_time *t, struct testbed *w)
{
	u32 sets = w->opts.kernels ? w->opts.nodes : 1, i;

	for (i = 0; i < w->workers; i++)
		ni_time_add(t, ni_time_visit_worker, &w->worker[i], w->worker[i].ni.stages,
			    sets == 1 ? (1U << w->opts.nodes) - 1 : 1U << i / (w->workers / sets));
}

/* Some actor polls queue pairs in place of the RGPs */
static inline bool ni_time_fronts(const struct ni_time *t)
{
	u32 i;

	for (i = 0; i < t->actors; i++)
		if (t->actor[i].stages & RMC_STAGE_FRONT)
			return true;
	return false;
}

/* True if @c polls what @p publishes: queues are of one node, channels are between nodes. */
static inline bool ni_time_feeds(const struct ni_actor *p, const struct ni_actor *c, bool fronts)
{
	u32 polls_qp = fronts ? RMC_STAGE_FRONT : RMC_STAGE_REQ;
	bool own = p->nodes & c->nodes, channel = p->nodes != c->nodes || p->nodes & (p->nodes - 1);

	if (!p->stages)
		return own && c->stages & polls_qp;
	if (!c->stages)
		return own && p->stages & polls_qp;
	if ((p->stages | c->stages) & RMC_STAGE_FRONT)
		return own && (p->stages | c->stages) & RMC_STAGE_REQ;
	return channel && ((p->stages & RMC_STAGE_REQ && c->stages & RMC_STAGE_SRV) ||
			   (p->stages & RMC_STAGE_SRV && c->stages & RMC_STAGE_REQ));
}

/* After the last ni_time_add() */
static inline void ni_time_begin(struct ni_time *t)
{
	bool fronts = ni_time_fronts(t);
	u32 p, c;

	for (c = 0; c < t->actors; c++)
		for (p = 0; p < t->actors; p++)
			if (p != c && ni_time_feeds(&t->actor[p], &t->actor[c], fronts))
				t->actor[c].feeders |= 1ULL << p;
}

/* When an idle actor sees what feeds it, if something does; else 0 */
static inline u64 ni_time_fed(const struct ni_time *t, const struct ni_actor *a)
{
	u64 fed = 0, left, at;

	for (left = a->feeders; left; left &= left - 1) {
		const struct ni_actor *p = &t->actor[__builtin_ctzll(left)];

		/* what is older was there at the last visit, which did not find it */
		if (!p->visits || p->began < a->last)
			continue;
		at = p->ended + t->handoff;
		if (!fed || at < fed)
			fed = at;
	}
	return fed;
}

/* The actor whose visit is next. One that would see too early what feeds it is idle until then. */
static inline struct ni_actor *ni_time_next(struct ni_time *t)
{
	struct ni_actor *a;
	u64 fed;
	u32 i;

	for (;;) {
		a = t->actor;
		for (i = 1; i < t->actors; i++)
			if (t->actor[i].at < a->at)
				a = &t->actor[i];
		fed = a->idle ? ni_time_fed(t, a) : 0;
		if (fed <= a->at)
			return a;
		a->at = fed;
		/* others may feed it meanwhile, which does not delay it further */
		a->idle = false;
	}
}

/* The next visit. Returns its actor. */
static inline struct ni_actor *ni_time_step(struct ni_time *t)
{
	struct ni_actor *a = ni_time_next(t);
	u32 done = 0;
	u64 cost;

	t->now = a->at;
	cost = t->visit(t, a, &done);
	if (done) {
		a->began = a->at;
		a->ended = a->at + cost;
		a->busy += cost;
		a->visits++;
	}
	a->idle = !done;
	a->last = a->at;
	a->at += cost;
	return a;
}

/* Times of visits count from now on */
static inline void ni_time_reset(struct ni_time *t)
{
	u32 i;

	for (i = 0; i < t->actors; i++)
		t->actor[i].busy = 0;
}

/* The actor that was busy for longest */
static inline const struct ni_actor *ni_time_busiest(const struct ni_time *t)
{
	const struct ni_actor *a = t->actor;
	u32 i;

	for (i = 1; i < t->actors; i++)
		if (t->actor[i].busy > a->busy)
			a = &t->actor[i];
	return a;
}

#endif
