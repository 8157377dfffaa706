// SPDX-License-Identifier: GPL-2.0
/* The heap of events. */
#include <stdlib.h>
#include <string.h>
#include "heap.h"

/* Children of an entry */
#define WAYS	4

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
	free(h->entry);
	memset(h, 0, sizeof(*h));
}

static bool before(const struct sim_entry *a, const struct sim_entry *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	return a->tie != b->tie ? a->tie < b->tie : a->seq < b->seq;
}

static void put(struct sim_heap *h, uint32_t i, const struct sim_entry *e)
{
	h->entry[i] = *e;
	e->event->place = i + 1;
}

static void sift_up(struct sim_heap *h, uint32_t i, const struct sim_entry *e)
{
	uint32_t up;

	for (; i; i = up) {
		up = (i - 1) / WAYS;
		if (!before(e, &h->entry[up]))
			break;
		put(h, i, &h->entry[up]);
	}
	put(h, i, e);
}

static void sift_down(struct sim_heap *h, uint32_t i, const struct sim_entry *e)
{
	uint32_t first, down, j;

	for (;; i = down) {
		first = WAYS * i + 1;
		if (first >= h->count)
			break;
		down = first;
		for (j = first + 1; j < first + WAYS && j < h->count; j++)
			if (before(&h->entry[j], &h->entry[down]))
				down = j;
		if (!before(&h->entry[down], e))
			break;
		put(h, i, &h->entry[down]);
	}
	put(h, i, e);
}

/* Remove an entry; its event need not be in a cache, and is only written. */
static void drop(struct sim_heap *h, uint32_t i)
{
	struct sim_entry last = h->entry[--h->count];

	h->entry[i].event->place = 0;
	if (i == h->count)
		return;
	/* the last event may belong above or below the hole */
	if (i && before(&last, &h->entry[(i - 1) / WAYS]))
		sift_up(h, i, &last);
	else
		sift_down(h, i, &last);
}

/**
 * sim_heap_set() - schedule an event
 * @h: heap
 * @e: event; if it is set already, it moves
 * @at: when
 */
void sim_heap_set(struct sim_heap *h, struct sim_event *e, uint64_t at)
{
	struct sim_entry entry = { .at = at, .seq = h->seq++, .event = e };

	sim_heap_cancel(h, e);
	if (h->count == h->room) {
		h->room = h->room ? 2 * h->room : 64;
		h->entry = realloc(h->entry, h->room * sizeof(*h->entry));
		if (!h->entry)
			abort();
	}
	if (h->tie_state)
		entry.tie = sim_random(&h->tie_state) >> 32;
	e->at = at;
	sift_up(h, h->count++, &entry);
}

/**
 * sim_heap_cancel() - cancel an event
 * @h: heap
 * @e: event, set or not
 */
void sim_heap_cancel(struct sim_heap *h, struct sim_event *e)
{
	if (e->place)
		drop(h, e->place - 1);
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
	e = h->entry[0].event;
	drop(h, 0);
	return e;
}

/**
 * sim_heap_prefetch() - let the next events prefetch what they will use
 * @h: heap
 *
 * With many nodes nearly all accesses miss the caches, so the misses of an event should overlap
 * with the work of the events before it.
 */
void sim_heap_prefetch(const struct sim_heap *h)
{
	const struct sim_entry *e = h->entry;
	uint32_t i, second = 1;

	if (h->count <= WAYS)
		return;
	for (i = 1; i <= WAYS; i++) {
		__builtin_prefetch(e[i].event);
		if (before(&e[i], &e[second]))
			second = i;
	}
	if (e[second].event->soon)
		e[second].event->soon(e[second].event, SIM_SOON_SECOND);
	if (e[0].event->soon)
		e[0].event->soon(e[0].event, SIM_SOON_NEXT);
}
