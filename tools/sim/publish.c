// SPDX-License-Identifier: GPL-2.0
/*
 * When packets become visible, if stages are pipelined (costs: "pipe"). A visit does its work at
 * its beginning, and the next visit of the same worker begins before the results of the first are
 * due. So each descriptor that a visit publishes is hidden from other workers until the visit's
 * end, by the shim's release and acquire. A worker that finds one hidden is visited again then.
 */
#include "node.h"

#define SLOTS	(1U << 16)	/* by address */
#define PROBES	8		/* more have not been in use at once: results must not depend on addresses */

bool sim_publish_on;

static struct published {
	const u64 *p;
	u64 before;		/* what a reader sees until then */
	u64 visible;		/* when; of the running visit: never */
	const struct sim_worker *w;
} *table;

static struct {
	const struct sim_worker *w;
	u32 slot[1024], slots;
	u64 hidden_until;	/* the earliest; 0: nothing was hidden */
} visit;

/**
 * sim_publish_init() - begin a simulation
 *
 * Return: 0 or -ENOMEM.
 */
int sim_publish_init(void)
{
	sim_publish_on = sim.cost.pipe;
	if (sim_publish_on)
		table = calloc(SLOTS, sizeof(*table));
	return sim_publish_on && !table ? -ENOMEM : 0;
}

/**
 * sim_publish_free() - mirror of sim_publish_init()
 */
void sim_publish_free(void)
{
	free(table);
	table = NULL;
	sim_publish_on = false;
}

/* Slot of a word; if it has none, one that is free */
static u32 slot_of(const u64 *p, bool free)
{
	u32 i, at = (u32)((uintptr_t)p / sizeof(*p)) * 0x9e3779b1U >> 16, found = SLOTS;

	for (i = 0; i < PROBES; i++) {
		u32 slot = (at + i) % SLOTS;

		if (table[slot].p == p)
			return slot;
		if (found == SLOTS && table[slot].visible <= sim.now)
			found = slot;
	}
	if (free && found == SLOTS)
		abort();
	return free ? found : SLOTS;
}

/**
 * sim_publish() - a word is about to be stored
 * @p: address
 */
void sim_publish(const u64 *p)
{
	struct published *t;
	u32 slot;

	if (!visit.w || visit.slots == ARRAY_SIZE(visit.slot))
		return;
	slot = slot_of(p, true);
	t = &table[slot];
	t->p = p;
	t->before = *p;
	t->visible = U64_MAX;
	t->w = visit.w;
	visit.slot[visit.slots++] = slot;
}

/**
 * sim_publish_hides() - check whether a word is visible to the running visit
 * @p: address
 * @before: out, its value until then
 *
 * Return: true if it is not.
 */
bool sim_publish_hides(const u64 *p, u64 *before)
{
	u32 slot = slot_of(p, false);
	const struct published *t = &table[slot];

	if (slot == SLOTS || t->w == visit.w || t->visible <= sim.now)
		return false;
	*before = t->before;
	if (!visit.hidden_until || t->visible < visit.hidden_until)
		visit.hidden_until = t->visible;
	return true;
}

/**
 * sim_publish_begin() - a visit begins
 * @w: worker
 */
void sim_publish_begin(const struct sim_worker *w)
{
	visit.w = w;
	visit.slots = 0;
	visit.hidden_until = 0;
}

/**
 * sim_publish_end() - a visit ends
 * @at: when its results are visible
 */
void sim_publish_end(u64 at)
{
	u32 i;

	for (i = 0; i < visit.slots; i++)
		table[visit.slot[i]].visible = at;
	visit.slots = 0;
}

/**
 * sim_publish_hidden() - what was hidden since the visit began, or since the last call
 *
 * Return: when the first of it is visible; 0: nothing.
 */
u64 sim_publish_hidden(void)
{
	u64 at = visit.hidden_until;

	visit.hidden_until = 0;
	return at;
}
