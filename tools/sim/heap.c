// SPDX-License-Identifier: GPL-2.0
/* The heap of events. */
#include <stdlib.h>
#include <string.h>
#include "heap.h"

/**
 * sim_heap_init() - initialize an empty heap
 * @h: heap
 * @tie_seed: seed of the order of simultaneous events; 0: in the order of setting
 */
void sim_heap_init(struct sim_heap *h, uint64_t tie_seed)
{
	memset(h, 0, sizeof(*h));
	h->tie_state = tie_seed;
}

/**
 * sim_heap_free() - drop all events
 * @h: heap
 */
void sim_heap_free(struct sim_heap *h)
{
	free(h->event);
	memset(h, 0, sizeof(*h));
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	return a->tie != b->tie ? a->tie < b->tie : a->seq < b->seq;
}

static void put(struct sim_heap *h, uint32_t i, struct sim_event *e)
{
	h->event[i] = e;
	e->place = i + 1;
}

static void sift_up(struct sim_heap *h, uint32_t i, struct sim_event *e)
{
	uint32_t up;

	for (; i; i = up) {
		up = (i - 1) / 2;
		if (!before(e, h->event[up]))
			break;
		put(h, i, h->event[up]);
	}
	put(h, i, e);
}

static void sift_down(struct sim_heap *h, uint32_t i, struct sim_event *e)
{
	uint32_t down;

	for (;; i = down) {
		down = 2 * i + 1;
		if (down >= h->count)
			break;
		if (down + 1 < h->count && before(h->event[down + 1], h->event[down]))
			down++;
		if (!before(h->event[down], e))
			break;
		put(h, i, h->event[down]);
	}
	put(h, i, e);
}

/**
 * sim_heap_set() - schedule an event
 * @h: heap
 * @e: event; if it is set already, it moves
 * @at: when
 */
void sim_heap_set(struct sim_heap *h, struct sim_event *e, uint64_t at)
{
	sim_heap_cancel(h, e);
	if (h->count == h->room) {
		h->room = h->room ? 2 * h->room : 64;
		h->event = realloc(h->event, h->room * sizeof(*h->event));
		if (!h->event)
			abort();
	}
	e->at = at;
	e->seq = h->seq++;
	e->tie = h->tie_state ? sim_random(&h->tie_state) >> 32 : 0;
	sift_up(h, h->count++, e);
}

/**
 * sim_heap_cancel() - cancel an event
 * @h: heap
 * @e: event, set or not
 */
void sim_heap_cancel(struct sim_heap *h, struct sim_event *e)
{
	struct sim_event *last;
	uint32_t i;

	if (!e->place)
		return;
	i = e->place - 1;
	e->place = 0;
	last = h->event[--h->count];
	if (last == e)
		return;
	/* the last event may belong above or below the hole */
	if (i && before(last, h->event[(i - 1) / 2]))
		sift_up(h, i, last);
	else
		sift_down(h, i, last);
}

/**
 * sim_heap_take() - remove the next event
 * @h: heap
 *
 * Return: event, or NULL when none is set.
 */
struct sim_event *sim_heap_take(struct sim_heap *h)
{
	struct sim_event *e;

	if (!h->count)
		return NULL;
	e = h->event[0];
	sim_heap_cancel(h, e);
	return e;
}
