/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events by time: a heap of events inside other structures. Each event stores its place, so
 * moving or removing one needs no search. The heap has copies of what orders events: comparing
 * them does not read the structures, which are in as many cache lines as there are events.
 */
#ifndef RMC_SIM_HEAP_H
#define RMC_SIM_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* How near an event is that will fire soon. */
enum sim_soon {
	SIM_SOON_NEXT,		/* the next one, as far as is known */
	SIM_SOON_SECOND,	/* the one after it */
};

/**
 * struct sim_event - an event at a given time
 * @at: when, nanoseconds
 * @place: index in the heap plus 1; 0: not set
 * @fire: function to call
 * @soon: prefetches what @fire will use, and changes nothing; NULL: nothing
 */
struct sim_event {
	uint64_t at;
	uint32_t place;
	void (*fire)(struct sim_event *e);
	void (*soon)(struct sim_event *e, enum sim_soon soon);
};

/**
 * struct sim_entry - an event in the heap
 * @at: as in the event
 * @seq: order of setting, for equal ties
 * @tie: order of simultaneous events: random if the order is shuffled, else 0
 * @event: event
 */
struct sim_entry {
	uint64_t at;
	uint64_t seq;
	uint32_t tie;
	struct sim_event *event;
};

/**
 * struct sim_heap - events by time
 * @entry: the heap
 * @count: number of events
 * @room: capacity
 * @seq: events set so far
 * @tie_state: of the random ties; 0: ties keep their order
 */
struct sim_heap {
	struct sim_entry *entry;
	uint32_t count;
	uint32_t room;
	uint64_t seq;
	uint64_t tie_state;
};

void sim_heap_init(struct sim_heap *h, uint64_t tie_seed);
void sim_heap_free(struct sim_heap *h);
void sim_heap_set(struct sim_heap *h, struct sim_event *e, uint64_t at);
void sim_heap_cancel(struct sim_heap *h, struct sim_event *e);
struct sim_event *sim_heap_take(struct sim_heap *h);
void sim_heap_prefetch(const struct sim_heap *h);

static inline bool sim_event_is_set(const struct sim_event *e)
{
	return e->place;
}

/* xorshift64*: never 0 from a state that is not 0 */
static inline uint64_t sim_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* A good state out of any seed, and another one for each @stream */
static inline uint64_t sim_random_seed(uint64_t seed, uint64_t stream)
{
	uint64_t z = seed + (stream + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return z ? z : 1;
}

#endif
