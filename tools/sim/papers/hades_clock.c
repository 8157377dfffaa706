// SPDX-License-Identifier: GPL-2.0
/*
 * Events, cores and adapters (hades.h). A coroutine has its core until it waits; then the other
 * ones of the core that are ready run in turn. A message takes time at the port of its sender,
 * half of the round trip, and time at the port of its receiver.
 */
#include <stdio.h>
#include <stdlib.h>
#include "fiber.h"
#include "hades.h"

#define STACK		(256 * 1024)

struct hd_run hdr;

/* An event that calls a function; freed ones are used again */
struct call {
	struct sim_event event;
	void (*fn)(void *arg);
	void *arg;
	struct call *next;
};

static struct call *free_calls;

static void fire_call(struct sim_event *e)
{
	struct call *call = (struct call *)e;
	void (*fn)(void *arg) = call->fn;
	void *arg = call->arg;

	call->next = free_calls;
	free_calls = call;
	fn(arg);
}

/**
 * hd_at() - call a function at a time
 * @at: ps, not before now
 * @fn: function
 * @arg: of @fn
 */
void hd_at(uint64_t at, void (*fn)(void *arg), void *arg)
{
	struct call *call = free_calls;

	if (call)
		free_calls = call->next;
	else
		call = calloc(1, sizeof(*call));
	if (!call) {
		fputs("out of memory\n", stderr);
		exit(3);
	}
	call->event = (struct sim_event) { .fire = fire_call };
	call->fn = fn;
	call->arg = arg;
	sim_heap_set(&hdr.heap, &call->event, at < hdr.now ? hdr.now : at);
}

static void leave_core(struct hd_client *c)
{
	struct hd_core *core = c->core;
	unsigned int i;

	core->running = NULL;
	if (!core->count)
		return;
	core->running = core->ready[0];
	for (i = 1; i < core->count; i++)
		core->ready[i - 1] = core->ready[i];
	core->count--;
	sim_heap_set(&hdr.heap, &core->running->event, hdr.now + hd.yield);
}

static void resume(struct sim_event *e)
{
	struct hd_client *c = (struct hd_client *)e;

	hdr.self = c;
	fiber_resume(c->fiber);
	hdr.self = NULL;
	if (fiber_finished(c->fiber))
		leave_core(c);
}

static void take_core(struct hd_client *c)
{
	struct hd_core *core = c->core;

	if (core->running) {
		core->ready[core->count++] = c;
		return;
	}
	core->running = c;
	sim_heap_set(&hdr.heap, &c->event, hdr.now + hd.yield);
}

/**
 * hd_clock_reset() - time 0, and nothing to happen
 */
void hd_clock_reset(void)
{
	sim_heap_free(&hdr.heap);
	sim_heap_init(&hdr.heap, 0);
	hdr.now = 0;
	hdr.self = NULL;
}

/**
 * hd_start() - start a coroutine
 * @c: coroutine, with node and core
 * @fn: what it runs
 * @at: when, ps
 */
void hd_start(struct hd_client *c, void (*fn)(void *arg), uint64_t at)
{
	c->event = (struct sim_event) { .fire = resume };
	c->fiber = fiber_create(fn, c, STACK);
	if (!c->fiber) {
		fputs("out of memory\n", stderr);
		exit(3);
	}
	c->waiting = true;
	hd_at(at, (void (*)(void *))hd_wake, c);
}

/**
 * hd_go() - let everything happen
 */
void hd_go(void)
{
	struct sim_event *e;

	while (hdr.heap.count) {
		uint64_t at = hdr.heap.entry[0].at;

		e = sim_heap_take(&hdr.heap);
		hdr.now = at;
		e->fire(e);
	}
}

/**
 * hd_charge() - the running coroutine computes
 * @ps: how long
 */
void hd_charge(uint64_t ps)
{
	if (hdr.self)
		hdr.self->debt += ps;
}

/**
 * hd_time() - the running coroutine's time, ps
 */
uint64_t hd_time(void)
{
	return hdr.now + (hdr.self ? hdr.self->debt : 0);
}

/**
 * hd_sync() - what others do until the running coroutine's time happens before it goes on
 */
void hd_sync(void)
{
	struct hd_client *c = hdr.self;

	if (!c || !c->debt)
		return;
	sim_heap_set(&hdr.heap, &c->event, hdr.now + c->debt);
	c->debt = 0;
	fiber_yield();
}

/**
 * hd_wait() - the running coroutine waits for a hd_wake()
 */
void hd_wait(void)
{
	struct hd_client *c = hdr.self;

	hd_sync();
	if (c->woken) {
		c->woken = false;
		return;
	}
	c->waiting = true;
	leave_core(c);
	fiber_yield();
}

/**
 * hd_sleep() - the running coroutine waits for some time
 * @ps: how long
 */
void hd_sleep(uint64_t ps)
{
	struct hd_client *c = hdr.self;
	uint64_t until;

	hd_sync();
	until = hdr.now + ps;
	hd_at(until, (void (*)(void *))hd_wake, c);
	/* other events may wake it before */
	while (hdr.now < until)
		hd_wait();
}

/**
 * hd_wake() - what a coroutine waits for may have come
 * @c: coroutine
 */
void hd_wake(struct hd_client *c)
{
	if (!c->waiting) {
		c->woken = true;
		return;
	}
	c->waiting = false;
	take_core(c);
}

/* A message at its receiver's port */
struct arrival {
	unsigned int to;
	uint64_t time;
	void (*fn)(void *arg);
	void *arg;
};

static void receive(void *arg)
{
	struct arrival *a = arg;
	struct hd_node *n = &hdr.node[a->to];
	uint64_t at = hdr.now > n->receive_free ? hdr.now : n->receive_free;

	n->receive_free = at + a->time;
	hd_at(n->receive_free, a->fn, a->arg);
	free(a);
}

/**
 * hd_send() - a message between two nodes
 * @from: node
 * @to: another node
 * @bytes: its length
 * @fn: called when it has arrived
 * @arg: of @fn
 */
void hd_send(unsigned int from, unsigned int to, size_t bytes, void (*fn)(void *arg), void *arg)
{
	struct hd_node *n = &hdr.node[from];
	struct arrival *a = malloc(sizeof(*a));
	uint64_t at = hdr.now > n->send_free ? hdr.now : n->send_free;
	uint64_t time = hd.nic + (uint64_t)bytes * hd.byte;

	if (!a) {
		fputs("out of memory\n", stderr);
		exit(3);
	}
	*a = (struct arrival) { .to = to, .time = time, .fn = fn, .arg = arg };
	n->send_free = at + time;
	hdr.messages++;
	hdr.bytes += bytes;
	hd_at(n->send_free + hd.rtt / 2, receive, a);
}

/**
 * hd_busy() - a node's adapter takes longer for what it has just received
 * @nid: node
 * @ps: how much longer
 */
void hd_busy(unsigned int nid, uint64_t ps)
{
	struct hd_node *n = &hdr.node[nid];

	if (n->receive_free < hdr.now)
		n->receive_free = hdr.now;
	n->receive_free += ps;
}
