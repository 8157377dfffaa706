// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions of a node (<linux/rmc_tx.h>): a range of a segment, whose owner accesses it through
 * the RMC only, and slots of queue pairs. A node has one unit.
 */
#include <string.h>
#include "driver.h"

/* An engine: operations in flight, and when it sends again what was not answered */
#define ENGINE_ORDER	7
#define ENGINE_RESEND	2U	/* node's time limit, divided by this */

/**
 * sim_file_tx_reg() - RMC_IOC_TX_REG
 * @f: file
 * @arg: argument
 *
 * Return: 0 or -errno; -EOPNOTSUPP: filters of the owner.
 */
long sim_file_tx_reg(struct sim_file *f, struct rmc_tx_reg *arg)
{
	struct rmc_tx_limits limits = {
		.start = arg->offset, .length = arg->length, .buffers = arg->buffers,
		.groups = arg->groups ?: sim.o.nodes,
	};
	struct rmc_tx_home *home;
	int err;

	if (arg->flags)
		return -EINVAL;
	if (!arg->length)
		return f->tx ? (sim_file_tx_withdraw(f), 0) : -ENOENT;
	if (!f->seg)
		return -ENOENT;
	if (f->tx)
		return -EEXIST;
	if (arg->local)
		return -EOPNOTSUPP;
	if ((arg->offset | arg->length) % RMC_LINE || limits.groups > RMC_TX_SOURCES)
		return -EINVAL;
	home = rmc_tx_home_create(f->node->rmc, f->ctx_id, f->seg, &limits, NULL, NULL);
	if (IS_ERR(home))
		return (long)home;
	err = rmc_tx_homes_add(f->node->rmc, home);
	if (err) {
		rmc_tx_home_destroy(home);
		return err;
	}
	f->tx = home;
	return 0;
}

/**
 * sim_file_tx_withdraw() - the range is gone, with its segment or before
 * @f: file
 */
void sim_file_tx_withdraw(struct sim_file *f)
{
	if (!f->tx)
		return;
	rmc_tx_homes_del(f->node->rmc, f->tx);
	rmc_tx_home_destroy(f->tx);
	f->tx = NULL;
}

/* The engine of a context, which lives as long as the kernel */
static struct rmc_tx_slots *slots_of(struct sim_file *f)
{
	const struct rmc_tx_engine_opts opts = {
		.slots = RMC_TX_MAX_SLOTS, .bytes = RMC_TX_MAX_BYTES, .order = ENGINE_ORDER,
		.resend_ms = max(1U, sim.o.timeout_ms / ENGINE_RESEND),
	};
	struct rmc_node *unit = f->node->rmc;
	struct rmc_tx_slots *s = rmc_tx_slots_find(unit, f->ctx_id);
	int err;

	if (s)
		return s;
	s = rmc_tx_slots_create(unit, f->ctx_id, &opts);
	if (IS_ERR(s))
		return s;
	err = rmc_ni_add_slots(unit->req_worker, s);
	if (!err)
		return s;
	rmc_tx_slots_destroy(s);
	return ERR_PTR(err);
}

/**
 * sim_file_tx_open() - RMC_IOC_TX_OPEN
 * @f: file
 * @arg: argument
 *
 * Return: 0 or -errno.
 */
long sim_file_tx_open(struct sim_file *f, struct rmc_tx_open *arg)
{
	struct sim_qp *q = sim_file_qp(f, arg->qp_id);
	struct rmc_tx_slots *s;
	u64 mask;
	int err;

	if (arg->flags || !arg->slots || arg->slots > RMC_TX_MAX_SLOTS ||
	    arg->bytes > RMC_TX_MAX_BYTES)
		return -EINVAL;
	if (!q)
		return -ENOENT;
	s = slots_of(f);
	if (IS_ERR(s))
		return (long)s;
	err = rmc_tx_attach(&q->qp, s, arg->slots, &mask);
	if (err)
		return err;
	arg->unit = f->node->rmc->ep;
	arg->slot_mask = mask;
	return 0;
}

/**
 * sim_tx_end() - free the engines of a kernel that ends
 * @n: node; nobody polls it any more
 */
void sim_tx_end(struct sim_node *n)
{
	while (n->rmc->txs) {
		struct rmc_tx_slots *s = n->rmc->tx[n->rmc->txs - 1];

		rmc_ni_del_slots(n->rmc->req_worker, s);
		rmc_tx_slots_destroy(s);
	}
}
