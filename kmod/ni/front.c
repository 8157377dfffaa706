// SPDX-License-Identifier: GPL-2.0
/* Frontends: relaying between an application's queue pair and the backend's. */
#include "front.h"
#include "ni.h"
#include "../core/order.h"

/**
 * rmc_front_create() - allocate the rings between frontend and backend
 * @outer: application's queue pair, set up except for its front
 * @worker: frontend
 *
 * The caller adds the inner queue pair to the worker of its unit. Its memory is charged
 * to the memory cgroup of the caller.
 *
 * Return: front or NULL when out of memory. Context: may sleep.
 */
struct rmc_front *rmc_front_create(const struct rmc_qpair *outer, struct rmc_ni_worker *worker)
{
	struct rmc_front *f = rmc_os_zalloc_user(sizeof(*f));

	if (!f)
		return NULL;
	f->worker = worker;
	if (rmc_client_init(&f->inner, outer->node, outer->bufs, outer->ctx_id, outer->order)) {
		rmc_os_free(f);
		return NULL;
	}
	if (outer->group && rmc_order_init(&f->inner.qp, false)) {
		rmc_client_destroy(&f->inner);
		rmc_os_free(f);
		return NULL;
	}
	return f;
}

/**
 * rmc_front_destroy() - free the rings
 * @f: front that no worker polls
 *
 * Context: may sleep.
 */
void rmc_front_destroy(struct rmc_front *f)
{
	rmc_order_destroy(&f->inner.qp);
	rmc_client_destroy(&f->inner);
	rmc_os_free(f);
}

/* Relay the backend's completions to the application: slots are the same. */
static u32 relay_completions(struct rmc_qpair *outer)
{
	u8 status;
	u16 slot;
	u32 n;

	for (n = 0; n < RMC_BATCH && rmc_client_reap(&outer->front->inner, &slot, &status); n++)
		rmc_cq_post(outer, slot, status);
	return n;
}

/* Relay the application's entries to the backend while it has room. */
static u32 relay_entries(struct rmc_qpair *outer)
{
	struct rmc_client *inner = &outer->front->inner;
	u32 n;

	for (n = 0; n < RMC_BATCH && !rmc_client_full(inner); n++) {
		struct rmc_wq_entry *s = &outer->wq[outer->wq_head & outer->mask];
		/* pairs with the application's release of word0 */
		u64 word0 = rmc_phase_load(&s->word0);

		if (!rmc_phase_is(word0, outer->wq_head, outer->order))
			break;
		rmc_client_post(inner, word0, READ_ONCE(s->word1));
		outer->wq_head++;
	}
	if (n)
		rmc_client_submit(inner);
	return n;
}

/**
 * rmc_front_poll() - poll one application's WQ and the backend's completions
 * @outer: application's queue pair; the caller is its frontend
 *
 * Return: entries and completions relayed.
 * Context: worker, does not sleep.
 */
u32 rmc_front_poll(struct rmc_qpair *outer)
{
	u32 done = relay_completions(outer);

	return done + relay_entries(outer);
}
