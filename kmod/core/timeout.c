// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that end without a last reply: timed out, or aborted with a queue pair, a buffer or
 * a peer. Idempotent ones are restarted before they time out.
 */
#include "complete.h"
#include "timeout.h"

/**
 * rmc_itt_abort() - end operations that cannot or must not continue
 * @node: node; the caller is its RGP and RCP worker
 * @which: which ones, and how
 *
 * Replies that arrive later are dropped by their gen.
 *
 * Return: operations ended.
 * Context: worker, does not sleep.
 */
u32 rmc_itt_abort(struct rmc_node *node, const struct rmc_abort *which)
{
	u32 i, n = 0;

	for (i = 0; i < node->itt.size && node->itt.used; i++) {
		struct rmc_itt_entry *e = &node->itt.entry[i];

		if (!e->qp || (which->qp && e->qp != which->qp) ||
		    (which->lbuf && e->lbuf != which->lbuf) ||
		    (which->nid >= 0 && e->nid != which->nid))
			continue;
		if (which->slots && !(rmc_op_flags(e->op) & RMC_OPF_SLOT))
			continue;
		if (which->tx && !(rmc_op_flags(e->op) & RMC_OPF_TX))
			continue;
		if (which->silent) {
			rmc_op_stop(node, e);
			rmc_itt_free(&node->itt, e);
		} else {
			rmc_op_finish(node, e, which->status);
		}
		n++;
	}
	rmc_stat_add(node, aborts, n);
	return n;
}

/*
 * Back-to-0 (T18 section 3.4.1): restart an operation whose packets were lost. Only if it is
 * idempotent, and only if none of its packets can still arrive: a late write must not undo a
 * newer one. Nor must a write that another one follows be repeated, so ordered ones are not.
 */
static bool restart(struct rmc_node *node, struct rmc_itt_entry *e)
{
	u16 tid = e - node->itt.entry;
	struct rmc_track *t = &node->itt.track[tid];

	if (e->tries >= READ_ONCE(node->fabric->retries) || e->replies != e->lost || e->status ||
	    !(rmc_op_flags(e->op) & RMC_OPF_IDEMPOTENT) || e->ordered)
		return false;
	e->tries++;
	e->gen++;
	e->sent = 0;
	e->replies = 0;
	e->lost = 0;
	e->deadline = node->req_ms + READ_ONCE(node->fabric->timeout_ms);
	t->seen = 0;
	t->base = 0;
	t->validated = false;
	/* an operation that is being unrolled continues from its start */
	if (!e->restarted && e->qp->cur_tid != tid) {
		e->restarted = true;
		node->itt.restarts++;
	}
	rmc_stat_inc(node, restarts);
	return true;
}

/**
 * rmc_itt_expire() - complete operations whose replies did not arrive in time
 * @node: node; the caller is its RGP and RCP worker
 *
 * Idempotent ones are restarted first, up to rmc_fabric.retries times.
 *
 * Return: operations ended with RMC_S_TIMEOUT.
 * Context: worker, does not sleep.
 */
u32 rmc_itt_expire(struct rmc_node *node)
{
	u32 i, n = 0;

	for (i = 0; i < node->itt.size && node->itt.used; i++) {
		struct rmc_itt_entry *e = &node->itt.entry[i];

		if (e->qp && (s32)(node->req_ms - e->deadline) >= 0 && !restart(node, e)) {
			rmc_op_finish(node, e, RMC_S_TIMEOUT);
			n++;
		}
	}
	rmc_stat_add(node, timeouts, n);
	return n;
}
