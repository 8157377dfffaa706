// SPDX-License-Identifier: GPL-2.0
/* State that an RRPP keeps of its peers' operations: calls the functions of each row. */
#include "adapter.h"
#include "node.h"

/**
 * rmc_state_init() - set up all state of a unit
 * @node: unit, zeroed except for its place in the fabric
 *
 * Return: 0 or a negative errno; rmc_state_destroy() cleans up in both cases.
 * Context: may sleep.
 */
int rmc_state_init(struct rmc_node *node)
{
	int err = 0;

	/* not 0: just before the clock wraps, the first tick would be a step back from it */
	node->srv_last_ms = rmc_os_ns_to_ms(rmc_os_now_ns());
#define RMC_STATE_ROW(name) err = err ?: rmc_##name##_init(node);
	RMC_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
	return err;
}

/**
 * rmc_state_destroy() - free all state of a unit
 * @node: unit whose workers do not run
 *
 * Context: may sleep.
 */
void rmc_state_destroy(struct rmc_node *node)
{
#define RMC_STATE_ROW(name) rmc_##name##_destroy(node);
	RMC_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
}

/**
 * rmc_state_poll() - continue what is in use
 * @node: unit, rmc_state_due(); the caller is its RRPP worker
 *
 * Return: replies sent. Context: worker, does not sleep.
 */
u32 rmc_state_poll(struct rmc_node *node)
{
	u32 done = 0;

#define RMC_STATE_ROW(name) if (node->name.used) done += rmc_##name##_poll(node);
	RMC_POLLED_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
	return done;
}

/**
 * rmc_state_tick() - advance the RRPP's clock, and end what takes too long
 * @node: unit; the caller is its RRPP worker
 * @now_ms: node milliseconds
 *
 * Context: worker, does not sleep.
 */
void rmc_state_tick(struct rmc_node *node, u32 now_ms)
{
	u32 passed = rmc_ms_passed(&node->srv_last_ms, now_ms);
	u32 stall_ms = U32_MAX;

#define RMC_STATE_ROW(name) stall_ms = min(stall_ms, node->name.stall_ms);
	RMC_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
	/* a pause counts little: requests may have arrived meanwhile */
	node->srv_ms += min(passed, stall_ms / 8 + 1);
#define RMC_STATE_ROW(name) rmc_##name##_tick(node);
	RMC_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
}

/**
 * rmc_state_withdraw() - drop all pointers to a segment that is withdrawn
 * @node: unit; the caller is its RRPP worker
 * @seg: segment; not accessed after the call
 *
 * Context: worker, does not sleep.
 */
void rmc_state_withdraw(struct rmc_node *node, const struct rmc_mem *seg)
{
#define RMC_STATE_ROW(name) rmc_##name##_withdraw(node, seg);
	RMC_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
	/* no rows: they are nothing to poll, which would cost a load per visit */
	rmc_adapter_withdraw(node, seg);
	if (node->links.sw)
		rmc_switch_withdraw(node->links.sw, seg);
}

/**
 * rmc_state_close() - drop all state of a peer whose channel closes
 * @node: unit; the caller is its RRPP worker
 * @in: channel
 *
 * Context: worker, does not sleep.
 */
void rmc_state_close(struct rmc_node *node, struct rmc_in *in)
{
#define RMC_STATE_ROW(name) rmc_##name##_close(node, in);
	RMC_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
}

/**
 * rmc_state_busy() - check whether any state needs ticks
 * @node: unit; the caller is its RRPP worker
 *
 * Return: true: the worker must not park. Context: worker, does not sleep.
 */
bool rmc_state_busy(const struct rmc_node *node)
{
	bool busy = false;

#define RMC_STATE_ROW(name) busy |= !!node->name.live;
	RMC_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
	return busy;
}
