// SPDX-License-Identifier: GPL-2.0
/* The end of an operation outside of the RCP's fast path, see complete.h. */
#include "complete.h"

/**
 * rmc_op_finish() - complete an operation and free its ITT entry
 * @node: node; the caller is its RCP worker
 * @e: operation
 * @status: enum rmc_status
 *
 * Context: worker, does not sleep.
 */
void rmc_op_finish(struct rmc_node *node, struct rmc_itt_entry *e, u8 status)
{
	/* see rmc_order_end() */
	e->status = status;
	rmc_op_end(node, e, status);
}
