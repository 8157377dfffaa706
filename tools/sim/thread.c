// SPDX-License-Identifier: GPL-2.0
/*
 * Threads of applications. Code of a thread takes no virtual time: the thread is charged
 * for it, and runs ahead of the clock by that time until it waits, or for SIM_QUANTUM_NS. A
 * core runs its threads one after another; a thread that waits lets the next one run.
 */
#include <errno.h>
#include <stdlib.h>
#include "sim.h"

/**
 * sim_local_now() - clock of the running thread
 *
 * Return: nanoseconds; outside of all threads, the simulation's clock.
 */
uint64_t sim_local_now(void)
{
	return sim.now + (sim.self ? sim.self->debt : 0);
}

static void pass_turn(void)
{
	struct sim_thread *t = sim.self;

	fiber_yield();
	sim.self = t;
}

/* The core is busy until the thread's local time. */
static void settle_debt(struct sim_thread *t)
{
	uint64_t *busy = sim_node_core(t->node, t->core);

	t->not_before = sim.now + t->debt;
	t->debt = 0;
	if (busy && *busy < t->not_before)
		*busy = t->not_before;
}

/**
 * sim_sleep_until() - resume at a given time, ignoring events
 * @at: when
 */
void sim_sleep_until(uint64_t at)
{
	struct sim_thread *t = sim.self;

	settle_debt(t);
	t->state = SIM_READY;
	sim_heap_set(&sim.heap, &t->event, at > t->not_before ? at : t->not_before);
	pass_turn();
}

/**
 * sim_charge() - charge the running thread for its work
 * @ns: how long
 */
void sim_charge(uint64_t ns)
{
	struct sim_thread *t = sim.self;

	if (!t)
		return;
	t->debt += ns;
	if (t->debt > SIM_QUANTUM_NS)
		sim_sleep_until(sim.now + t->debt);
}

/**
 * sim_wait_until() - resume at a given time, or at an earlier event
 * @at: when
 *
 * Return: true if an event came.
 */
bool sim_wait_until(uint64_t at)
{
	struct sim_thread *t = sim.self;

	if (t->pending) {
		t->pending = false;
		if (t->done_at > sim_local_now())
			sim_charge(t->done_at - sim_local_now());
		t->done_at = 0;
		sim_charge(sim.cost.poll);
		return true;
	}
	settle_debt(t);
	t->state = SIM_WAITING;
	t->woken = false;
	sim_heap_set(&sim.heap, &t->event, at > t->not_before ? at : t->not_before);
	pass_turn();
	return t->woken;
}

/**
 * sim_relax() - one step of polling memory
 *
 * Loops of the library take what has come, relax, and only then look whether they are done. So
 * the first step after an event costs nothing.
 */
void sim_relax(void)
{
	struct sim_thread *t = sim.self;

	if (t->woken_up) {
		t->woken_up = false;
		return;
	}
	t->woken_up = sim_wait_until(sim_local_now() + t->relax_ns);
	if (t->woken_up)
		t->relax_ns = SIM_RELAX_NS;
	else if (t->relax_ns < SIM_RELAX_MAX_NS)
		t->relax_ns *= 2;
}

/**
 * sim_wake() - report an event that a thread may wait for
 * @t: thread
 * @at: when it can see it
 */
void sim_wake(struct sim_thread *t, uint64_t at)
{
	if (t->state != SIM_WAITING) {
		t->pending = true;
		return;
	}
	t->woken = true;
	at += sim.cost.poll;
	if (at < t->not_before)
		at = t->not_before;
	if (!sim_event_is_set(&t->event) || at < t->event.at)
		sim_heap_set(&sim.heap, &t->event, at);
}

/**
 * sim_thread_run_at() - resume a thread of a node that was paused
 * @t: thread
 * @at: when
 */
void sim_thread_run_at(struct sim_thread *t, uint64_t at)
{
	if (t->state != SIM_DONE && !sim_event_is_set(&t->event))
		sim_heap_set(&sim.heap, &t->event, at);
}

static void run(struct sim_event *e)
{
	struct sim_thread *t = (struct sim_thread *)e;
	uint64_t *busy;

	/* the thread resumes with the node */
	if (sim_node_stopped(t->node))
		return;
	busy = sim_node_core(t->node, t->core);
	if (busy && *busy > sim.now) {
		sim_heap_set(&sim.heap, &t->event, *busy);
		return;
	}
	/* not before the completion that is on its way, whoever else woke it */
	if (t->state == SIM_WAITING && t->done_at) {
		if (t->done_at + sim.cost.poll > sim.now) {
			sim_heap_set(&sim.heap, &t->event, t->done_at + sim.cost.poll);
			return;
		}
		t->done_at = 0;
	}
	t->state = SIM_READY;
	sim.self = t;
	sim.stats.switches++;
	sim_note("run", sim_node_nid(t->node), t->number, 0);
	fiber_resume(t->fiber);
	sim.self = NULL;
	if (fiber_finished(t->fiber)) {
		t->state = SIM_DONE;
		sim.threads--;
	}
	if (t->state == SIM_DONE) {
		fiber_destroy(t->fiber);
		t->fiber = NULL;
	}
}

static void run_soon(struct sim_event *e, enum sim_soon soon)
{
	fiber_prefetch(((struct sim_thread *)e)->fiber, soon == SIM_SOON_NEXT);
}

static void begin(void *arg)
{
	struct sim_thread *t = arg;

	t->fn(t->arg);
	settle_debt(t);
}

/**
 * rmc_sim_spawn() - start a thread
 * @nid: node
 * @fn: what it runs
 * @arg: of @fn
 *
 * Return: its number; -EINVAL no such node, or it is down; -ENOMEM.
 */
int rmc_sim_spawn(uint32_t nid, void (*fn)(void *arg), void *arg)
{
	struct sim_thread *t, **list;
	uint32_t n = 0;

	if (nid >= sim.o.nodes || sim_node_is_down(nid))
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->fiber = fiber_create(begin, t, SIM_STACK_BYTES);
	if (!t->fiber) {
		free(t);
		return -ENOMEM;
	}
	t->event.fire = run;
	t->event.soon = run_soon;
	t->node = sim.node[nid];
	t->number = sim.spawned++;
	t->relax_ns = SIM_RELAX_NS;
	t->fn = fn;
	t->arg = arg;
	for (list = sim_node_threads(t->node); *list; list = &(*list)->next)
		n++;
	t->core = sim.o.cores ? n % sim.o.cores : n;
	*list = t;
	sim.threads++;
	sim_heap_set(&sim.heap, &t->event, sim_local_now());
	return t->number;
}

/**
 * sim_thread_destroy() - free a thread, whether it has returned or not
 * @t: thread, which does not run now
 */
void sim_thread_destroy(struct sim_thread *t)
{
	sim_heap_cancel(&sim.heap, &t->event);
	if (t->state != SIM_DONE)
		sim.threads--;
	fiber_destroy(t->fiber);
	free(t);
}

/**
 * sim_exit() - end the calling thread
 */
void sim_exit(void)
{
	struct sim_thread *t = sim.self;

	settle_debt(t);
	t->state = SIM_DONE;
	sim.threads--;
	fiber_yield();
	abort();
}

/**
 * rmc_sim_now() - clock of the calling thread
 *
 * Return: nanoseconds since the start.
 */
uint64_t rmc_sim_now(void)
{
	return sim_local_now() - sim.o.start_ns;
}

/**
 * rmc_sim_nid() - node of the calling thread
 *
 * Return: node id.
 */
uint32_t rmc_sim_nid(void)
{
	return sim_node_nid(sim.self->node);
}

/**
 * rmc_sim_compute() - keep the core busy
 * @ns: how long
 */
void rmc_sim_compute(uint64_t ns)
{
	sim.self->debt += ns;
	sim_sleep_until(sim_local_now());
}

/**
 * rmc_sim_sleep_until() - resume at a given time
 * @ns: since the start
 */
void rmc_sim_sleep_until(uint64_t ns)
{
	sim_sleep_until(sim.o.start_ns + ns);
}

/**
 * rmc_sim_wait_until() - resume at a given time, or at an earlier event
 * @ns: since the start
 *
 * Return: 1 when a completion, or a request for the node, came before; else 0.
 */
int rmc_sim_wait_until(uint64_t ns)
{
	return sim_wait_until(sim.o.start_ns + ns);
}
