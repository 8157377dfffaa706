/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an RRPP keeps of its peers' operations beyond one packet. To add such a state: a row,
 * and its three functions. Who closes channels, withdraws segments and counts the time does
 * not learn its name.
 *
 *   tick()      milliseconds passed: end what takes too long
 *   withdraw()  a segment goes away: no state of it points there any more
 *   close()     the channel from a peer goes away: nothing of that peer is left
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
