/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arrival queues. The dispatcher tells a core which receive slot has a message for it:
 *
 *   producer   dispatcher (RRPP worker)   words 1 .. 7, then word 0 with the phase: release
 *   consumer   the application            word 0: acquire; copies what it needs
 *
 * There is no index that the consumer writes. The dispatcher gives a core a message only while
 * it holds less than the domain's depth, and the queue has as many entries. So an entry is reused
 * after it was read, since a core finishes no message before it has read its entry, and reads them
 * in order; but perhaps while its message is still held: what is needed of it is copied.
 *
 * With RMC_DOM_SHARED there is one queue for all cores, with an entry for each slot: each message
 * is posted when it is complete, and threads take entries under a lock of theirs.
 * uapi/linux/rmc_domain.h has its format.
 */
#ifndef RMC_AQ_H
#define RMC_AQ_H

#include "../base/event.h"
#include "../base/mem.h"
#include "../base/phase.h"
#include "../base/slot.h"

static_assert(sizeof(struct rmc_aq_entry) == RMC_LINE, "an arrival is one line");

/**
 * struct rmc_aq - an arrival queue as the dispatcher sees it
 * @entry: shared, read-only for the application
 * @mem: in place of @entry: memory in chunks, of a queue of all cores; or NULL
 * @order: log2 of the entries
 * @given: arrivals posted so far; an application may wait for them
 */
struct rmc_aq {
	struct rmc_aq_entry *entry;
	const struct rmc_mem *mem;
	u8 order;
	struct rmc_event given;
};

/* Entry of the next arrival, which is free */
static inline struct rmc_aq_entry *rmc_aq_next(const struct rmc_aq *aq)
{
	u32 index = aq->given.count & ((1U << aq->order) - 1);

	if (unlikely(aq->mem))
		return rmc_mem_ptr(aq->mem, (u64)index * sizeof(struct rmc_aq_entry));
	return &aq->entry[index];
}

/**
 * rmc_aq_post() - post an arrival
 * @aq: queue with a free entry
 * @word: word 0, without the phase
 * @stamp: when the message was complete
 * @msg: memory of the message
 * @off: offset of the message in @msg, bytes
 * @len: bytes of the message
 *
 * Context: the dispatcher's worker, does not sleep.
 */
static inline void rmc_aq_post(struct rmc_aq *aq, u64 word, u64 stamp, const struct rmc_mem *msg,
			       u64 off, u32 len)
{
	u32 pos = aq->given.count;
	struct rmc_aq_entry *e = rmc_aq_next(aq);

	WRITE_ONCE(e->stamp, stamp);
	rmc_mem_get(msg, off, e->head, min_t(u32, len, RMC_AQ_HEAD));
	/* pairs with the acquire of the consumer: the message, and the rest of the entry */
	rmc_phase_publish(&e->word0, word | rmc_phase(pos, aq->order));
	rmc_event_happened(&aq->given);
}

#endif
