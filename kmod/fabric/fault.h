/* SPDX-License-Identifier: GPL-2.0 */
/* Faults of one lane of a link: see fault.c and Documentation/faults.rst. */
#ifndef RMC_FAULT_H
#define RMC_FAULT_H

#include "../base/os.h"

/* Probabilities count in millionths */
#define RMC_ALWAYS		1000000
/* Longest delay, jitter and gap, nanoseconds */
#define RMC_HOLD_NS_MAX		10000000000ULL

/**
 * struct rmc_fault - faults to inject into one lane of a link; probabilities in millionths
 * @loss: probability that a packet is lost
 * @dup: probability that a reply is duplicated
 * @reorder: probability that a packet is held for @gap_ns, so that others overtake it
 * @shuffle: probability that consecutive packets of one operation change their order
 * @down: all packets are lost
 * @delay_ns: delay of all packets
 * @jitter_ns: additional random delay, uniform from 0; packets may overtake each other
 * @gap_ns: see @reorder; also the delay of a duplicated reply's copy
 */
struct rmc_fault {
	u32 loss;
	u32 dup;
	u32 reorder;
	u32 shuffle;
	bool down;
	u64 delay_ns;
	u64 jitter_ns;
	u64 gap_ns;
};

/* Random numbers of a state that is not 0; multiplied so that all bits are random. */
static inline u32 rmc_random32(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (*state * 0x2545f4914f6cdd1dULL) >> 32;
}

/* Less than @n, which is 2^34 at most; 0 if @n is 0. */
static inline u64 rmc_random_below(u64 *state, u64 n)
{
	if (n >> 32)
		/* a little coarser, no overflow */
		return (n >> 10) * rmc_random32(state) >> 22;
	return n ? n * rmc_random32(state) >> 32 : 0;
}

/* True if there is no fault to inject. */
static inline bool rmc_fault_none(const struct rmc_fault *f)
{
	return !f->loss && !f->dup && !f->reorder && !f->shuffle && !f->down && !f->delay_ns &&
	       !f->jitter_ns;
}

#endif
