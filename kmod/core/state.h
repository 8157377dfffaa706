/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State that an RRPP keeps of its peers' operations beyond one packet. To add such a state: a
 * row, and its three functions. Their callers need no change.
 *
 *   tick()      time has passed: end what takes too long
 *   withdraw()  a segment is withdrawn: drop all pointers to it
 *   close()     the channel from a peer closes: drop all state of that peer
 *
 * All are called on the RRPP's worker, and do not sleep.
 */
#ifndef RMC_STATE_H
#define RMC_STATE_H

#include "att.h"

/*	prefix of the functions */
#define RMC_STATES(X)	\
	X(att)			/* announced operations, att.h */

static inline void rmc_state_tick(struct rmc_node *node, u32 now_ms)
{
#define RMC_STATE_ROW(name) rmc_##name##_tick(node, now_ms);
	RMC_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
}

static inline void rmc_state_withdraw(struct rmc_node *node, const struct rmc_mem *seg)
{
#define RMC_STATE_ROW(name) rmc_##name##_withdraw(node, seg);
	RMC_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
}

static inline void rmc_state_close(struct rmc_node *node, struct rmc_in *in)
{
#define RMC_STATE_ROW(name) rmc_##name##_close(node, in);
	RMC_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
}

#endif
