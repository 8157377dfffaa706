/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues that are published by phase: the WQ, the CQ, and the rings of a client inside the
 * kernel. One side produces, the other one consumes. Neither writes what the other one writes,
 * and entries are not reset:
 *
 *   producer   the entry's other words, then one word with the phase in bit 0: release
 *   consumer   that word: acquire; the phase says whether it is this lap's
 *
 * The phase is 1 on the first lap, 0 on the second, and so on; memory starts as zeros.
 */
#ifndef RMC_PHASE_H
#define RMC_PHASE_H

#include "os.h"

#define RMC_PHASE	1U

/* Phase of a free-running position in a queue of 1 << @order entries. */
static inline u32 rmc_phase(u32 pos, u32 order)
{
	return ~(pos >> order) & RMC_PHASE;
}

/* Is @word, loaded from the entry of @pos, of this lap? */
static inline bool rmc_phase_is(u32 word, u32 pos, u32 order)
{
	return (word & RMC_PHASE) == rmc_phase(pos, order);
}

/*
 * The word with the phase. What the producer wrote before rmc_phase_publish() is visible
 * after it, if rmc_phase_is() agrees. A process may write the word at any time: use the
 * value, never the word again.
 */
#define rmc_phase_load(word)		smp_load_acquire(word)	/* pairs with the publishing */

/* Publish an entry: @value has the phase of its position. */
#define rmc_phase_publish(word, value)	smp_store_release(word, value)	/* pairs with the load */

#endif
