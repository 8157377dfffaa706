/* SPDX-License-Identifier: GPL-2.0 */
/* What is done to the packets of one lane of a link: see fault.c and Documentation/faults.rst. */
#ifndef RMC_FAULT_H
#define RMC_FAULT_H

#include "../base/os.h"

/* Probabilities count in millionths */
#define RMC_ALWAYS		1000000
/* Longest delay, jitter and gap, nanoseconds */
#define RMC_HOLD_NS_MAX		10000000000ULL

/**
 * struct rmc_fault - what happens to the packets of one lane of a link
 * @loss: how many are lost, millionths
 * @dup: how many replies come twice, millionths
 * @reorder: how many are held for @gap_ns, so that others overtake them
 * @shuffle: how many runs of packets of one operation come in another order
 * @down: all are lost
 * @delay_ns: all come later by this
 * @jitter_ns: and by up to this, evenly; they may overtake each other
 * @gap_ns: see @reorder; a doubled reply's copy comes later by this
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

/* Does it do nothing? */
static inline bool rmc_fault_none(const struct rmc_fault *f)
{
	return !f->loss && !f->dup && !f->reorder && !f->shuffle && !f->down && !f->delay_ns &&
	       !f->jitter_ns;
}

#endif
