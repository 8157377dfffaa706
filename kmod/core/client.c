// SPDX-License-Identifier: GPL-2.0
/* Clients of the RMC inside the kernel: set-up, and waking the worker. */
#include "client.h"
#include "node.h"

/**
 * rmc_client_init() - allocate a client's queues
 * @c: client, zeroed
 * @unit: unit whose RGP is to poll them
 * @bufs: local buffers that entries may name
 * @ctx_id: context of its operations
 * @order: log2 of the entries
 *
 * Its entries name the opcodes of applications, until rmc_client_wire_only(). The memory
 * is charged to the memory cgroup of the caller.
 *
 * Return: 0; -ENOMEM, with nothing left to destroy. Context: may sleep.
 */
int rmc_client_init(struct rmc_client *c, struct rmc_node *unit, struct rmc_bufs *bufs,
		    u16 ctx_id, u32 order)
{
	struct rmc_qpair *qp = &c->qp;

	qp->wq = rmc_os_zalloc_user(sizeof(*qp->wq) << order);
	qp->cq = rmc_os_zalloc_user(sizeof(*qp->cq) << order);
	qp->flags = rmc_os_zalloc_user(sizeof(*qp->flags));
	if (!qp->wq || !qp->cq || !qp->flags) {
		rmc_client_destroy(c);
		return -ENOMEM;
	}
	qp->bufs = bufs;
	qp->node = unit;
	qp->mask = (1U << order) - 1;
	qp->order = order;
	qp->ctx_id = ctx_id;
	return 0;
}

/**
 * rmc_client_destroy() - free the queues
 * @c: client whose queue pair no worker polls
 *
 * Context: may sleep.
 */
void rmc_client_destroy(struct rmc_client *c)
{
	rmc_os_free(c->qp.flags);
	rmc_os_free(c->qp.cq);
	rmc_os_free(c->qp.wq);
	c->qp.flags = NULL;
	c->qp.cq = NULL;
	c->qp.wq = NULL;
}

/**
 * rmc_client_submit() - wake the worker for posted entries, if it sleeps
 * @c: client
 *
 * Context: the client; does not sleep.
 */
void rmc_client_submit(struct rmc_client *c)
{
	/* publish, then read the flag; pairs with the barrier in rmc_ni_park() */
	smp_mb();
	if (unlikely(READ_ONCE(c->qp.flags->need_wakeup)))
		rmc_os_wake(c->qp.node->req_worker);
}
