/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Relays: numbers from one worker to another, in private memory: peers cannot forge them.
 *
 * One worker puts, one takes. The user guarantees that no more than the relay's size are in it,
 * so putting does not fail.
 */
#ifndef RMC_RELAY_H
#define RMC_RELAY_H

#include "../base/os.h"

/**
 * struct rmc_relay - a relay
 * @item: numbers
 * @mask: size - 1
 * @head: numbers put so far (producer)
 * @tail: numbers taken so far (consumer)
 */
struct rmc_relay {
	u32 *item;
	u32 mask;
	u32 head ____cacheline_aligned;
	u32 tail ____cacheline_aligned;
};

/* @most: numbers that may be in it. 0 or -ENOMEM; charged to the caller's memory cgroup */
static inline int rmc_relay_init(struct rmc_relay *r, u32 most)
{
	u32 size = 1;

	while (size < most)
		size *= 2;
	r->item = rmc_os_zalloc_user(size * sizeof(*r->item));
	r->mask = size - 1;
	r->head = 0;
	r->tail = 0;
	return r->item ? 0 : -ENOMEM;
}

static inline void rmc_relay_destroy(struct rmc_relay *r)
{
	rmc_os_free(r->item);
	r->item = NULL;
}

/* Called by the producer */
static inline void rmc_relay_put(struct rmc_relay *r, u32 number)
{
	r->item[r->head & r->mask] = number;
	/* pairs with the acquire in rmc_relay_head(): the number, and what was written before */
	smp_store_release(&r->head, r->head + 1);
}

/* Called by the consumer: all that was put so far */
static inline u32 rmc_relay_head(const struct rmc_relay *r)
{
	/* pairs with the release in rmc_relay_put() */
	return smp_load_acquire(&r->head);
}

/* Called by the consumer, up to what rmc_relay_head() said. Returns false at the end. */
static inline bool rmc_relay_take(struct rmc_relay *r, u32 head, u32 *number)
{
	if (head == r->tail)
		return false;
	*number = r->item[r->tail & r->mask];
	r->tail++;
	return true;
}

/* Called by the consumer */
static inline bool rmc_relay_empty(const struct rmc_relay *r)
{
	return READ_ONCE(r->head) == r->tail;
}

#endif
