/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State that an RRPP keeps of its peers' operations beyond one packet. To add such a state: a
 * row, and its functions. Their callers need no change.
 *
 *   init()      the unit is created: 0 or a negative errno
 *   destroy()   the unit is freed, its workers no longer run; also without or after a failed init()
 *   poll()      @used is not 0 after a visit of the RRPP: continue; returns replies sent
 *   tick()      time has passed: end what takes too long, by node->srv_ms
 *   withdraw()  a segment is withdrawn: drop all pointers to it
 *   close()     the channel from a peer closes: drop all state of that peer
 *
 * All but init() and destroy() are called on the RRPP's worker, and do not sleep.
 *
 * A state NAME is a struct rmc_NAME, the member NAME of struct rmc_node, with these members:
 *
 *   @used       not 0: poll() may have work
 *   @live       not 0: the worker does not park, because it has to tick
 *   @stall_ms   tick() ends nothing earlier than after this; the node's clock is cautious
 *               enough for it, see rmc_state_tick()
 *
 * One that is never to be polled, and costs no load per visit, is a row of RMC_STATES alone, and
 * has neither poll() nor @used.
 *
 * What it keeps per source is the member NAME of struct rmc_in, or arrays of its own by endpoint.
 */
#ifndef RMC_STATE_H
#define RMC_STATE_H

#include "att.h"
#include "domain.h"
#include "tx_homes.h"

#ifdef RMC_TEST_HOOKS
/* State of tests alone, selftests/harness/probe.c: it counts the calls of each function. */
struct rmc_tally {
	u32 used;
	u32 live;
	u32 stall_ms;
	u32 polls;
	u32 ticks;
	const struct rmc_mem *withdrawn;
	const struct rmc_in *closed;
};

#define RMC_TEST_STATES(X)	\
	X(tally)
#else
#define RMC_TEST_STATES(X)
#endif

/*	name of the state */
#define RMC_POLLED_STATES(X)	\
	X(att)			/* announced operations, att.h */	\
	X(domains)		/* slots of messages, domain.h */	\
	RMC_TEST_STATES(X)

#define RMC_STATES(X)	\
	RMC_POLLED_STATES(X)	\
	X(tx_homes)		/* transactions, tx_homes.h */

#define RMC_STATE_DECLARE(name)							\
	int rmc_##name##_init(struct rmc_node *node);				\
	void rmc_##name##_destroy(struct rmc_node *node);			\
	void rmc_##name##_tick(struct rmc_node *node);				\
	void rmc_##name##_withdraw(struct rmc_node *node, const struct rmc_mem *seg); \
	void rmc_##name##_close(struct rmc_node *node, struct rmc_in *in);
RMC_STATES(RMC_STATE_DECLARE)
#undef RMC_STATE_DECLARE
#define RMC_STATE_DECLARE(name)							\
	u32 rmc_##name##_poll(struct rmc_node *node);
RMC_POLLED_STATES(RMC_STATE_DECLARE)
#undef RMC_STATE_DECLARE

int rmc_state_init(struct rmc_node *node);
void rmc_state_destroy(struct rmc_node *node);
u32 rmc_state_poll(struct rmc_node *node);
void rmc_state_tick(struct rmc_node *node, u32 now_ms);
void rmc_state_withdraw(struct rmc_node *node, const struct rmc_mem *seg);
void rmc_state_close(struct rmc_node *node, struct rmc_in *in);
bool rmc_state_busy(const struct rmc_node *node);

#endif
