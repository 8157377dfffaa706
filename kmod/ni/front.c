// SPDX-License-Identifier: GPL-2.0
/* Frontends: relaying between an application's queue pair and the backend's. */
#include "front.h"
#include "ni.h"

/**
 * rmc_front_create() - make the rings between frontend and backend
 * @outer: application's queue pair, set up but for its front
 * @worker: frontend
 *
 * The inner queue pair is to be given to the worker of its unit. Its memory is charged
 * to the memory cgroup of the caller.
 *
 * Return: front or NULL when out of memory. Context: may sleep.
 */
struct rmc_front *rmc_front_create(const struct rmc_qp *outer, struct rmc_ni_worker *worker)
{
	u32 entries = outer->mask + 1;
	struct rmc_front *f = rmc_os_zalloc_user(sizeof(*f));

	if (!f)
		return NULL;
	f->worker = worker;
	f->inner.wq = rmc_os_zalloc_user(entries * sizeof(*f->inner.wq));
	f->inner.cq = rmc_os_zalloc_user(entries * sizeof(*f->inner.cq));
	f->inner.flags = rmc_os_zalloc_user(sizeof(*f->inner.flags));
	if (!f->inner.wq || !f->inner.cq || !f->inner.flags) {
		rmc_front_destroy(f);
		return NULL;
	}
	f->inner.bufs = outer->bufs;
	f->inner.node = outer->node;
	f->inner.mask = outer->mask;
	f->inner.order = outer->order;
	f->inner.ctx_id = outer->ctx_id;
	return f;
}

/**
 * rmc_front_destroy() - free the rings
 * @f: front that no worker knows
 *
 * Context: may sleep.
 */
void rmc_front_destroy(struct rmc_front *f)
{
	rmc_os_free(f->inner.flags);
	rmc_os_free(f->inner.cq);
	rmc_os_free(f->inner.wq);
	rmc_os_free(f);
}

/* What the backend completed goes to the application. */
static u32 relay_completions(struct rmc_qp *outer)
{
	struct rmc_front *f = outer->front;
	u32 n;

	for (n = 0; n < RMC_BATCH && rmc_front_in_flight(outer); n++) {
		/* pairs with the release in rmc_cq_post() */
		u32 word = smp_load_acquire(&f->inner.cq[f->seen & outer->mask].word);

		if ((word & RMC_CQE_PHASE) != rmc_qp_phase(outer, f->seen))
			break;
		f->seen++;
		rmc_cq_post(outer, rmc_cqe_slot(word), rmc_cqe_status(word));
	}
	return n;
}

/* What the application posted goes to the backend, no more than it has room for. */
static u32 relay_entries(struct rmc_qp *outer)
{
	struct rmc_qp *inner = &outer->front->inner;
	u32 n;

	for (n = 0; n < RMC_BATCH && rmc_front_in_flight(outer) <= outer->mask; n++) {
		struct rmc_wq_entry *s = &outer->wq[outer->wq_head & outer->mask];
		struct rmc_wq_entry *d = &inner->wq[outer->wq_head & outer->mask];
		/* pairs with the application's release of word0 */
		u64 word0 = smp_load_acquire(&s->word0);

		if ((word0 & RMC_WQE_PHASE) != rmc_qp_phase(outer, outer->wq_head))
			break;
		WRITE_ONCE(d->word1, READ_ONCE(s->word1));
		/* pairs with the acquire in rmc_rgp_poll() */
		smp_store_release(&d->word0, word0);
		outer->wq_head++;
	}
	if (!n)
		return 0;
	/* publish, then look at the flag; pairs with the barrier in rmc_ni_park() */
	smp_mb();
	if (unlikely(READ_ONCE(inner->flags->need_wakeup)))
		rmc_os_wake(inner->node->req_worker);
	return n;
}

/**
 * rmc_front_poll() - look at one application's WQ and at the backend's answers
 * @outer: application's queue pair; the caller is its frontend
 *
 * Return: entries and completions relayed.
 * Context: worker, does not sleep.
 */
u32 rmc_front_poll(struct rmc_qp *outer)
{
	u32 done = relay_completions(outer);

	return done + relay_entries(outer);
}
