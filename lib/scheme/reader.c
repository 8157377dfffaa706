/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Readers: the calls of programs. */
#include "reader.h"

#define POLLS_PER_SERVE		16	/* polling all peers' messages has a cost */

int rmc_reader_start(struct rmc_reader *r, struct rmc_object_read *rd)
{
	struct entry *e;
	unsigned int i;

	if (rmc_unlikely(!r->frees))
		return -EAGAIN;
	if (rmc_unlikely(rd->len > r->o.max))
		return -EMSGSIZE;
	i = r->free[--r->frees];
	e = &r->entry[i];
	e->read = rd;
	e->at = r->scheme->read;
	e->expected = 0;
	e->latched = 0;
	e->failures = 0;
	e->backoff = r->o.backoff_ns;
	rd->index = (int)i;
	rd->status = 0;
	rd->data = NULL;
	r->active++;
	rmc_reader_ready(r, e);
	return 0;
}

int rmc_reader_poll(struct rmc_reader *r, struct rmc_object_read **done)
{
	struct rmc_completion c;
	int err;

	while (rmc_qp_in_flight(r->qp) && rmc_cq_next(r->qp, &c))
		rmc_reader_completed(r, c.slot, c.status);
	if (r->unlatches)
		rmc_reader_issue_unlatches(r);
	if (r->ready) {
		err = rmc_reader_poll_ready(r);
		if (err)
			return err;
	}
	if (r->o.rpc && r->done_head == r->done_tail && !(++r->polls % POLLS_PER_SERVE)) {
		err = rmc_rpc_progress(r->o.rpc);
		if (err < 0)
			return err;
	}
	while (r->done_head != r->done_tail) {
		struct entry *e = r->done[r->done_tail++ & r->done_mask];

		if (rmc_likely(!e->abandoned)) {
			*done = e->read;
			return 1;
		}
		e->abandoned = 0;
		r->abandoned--;
		rmc_reader_release(r, e->read);
	}
	if (rmc_unlikely(rmc_load_relaxed(&r->qp->flags->dead)))
		return -ESHUTDOWN;
	return 0;
}

void rmc_reader_release(struct rmc_reader *r, struct rmc_object_read *rd)
{
	r->entry[rd->index].state = FREE;
	r->free[r->frees++] = (unsigned int)rd->index;
}

/*
 * The caller returns before its read has ended: operations in flight may still use the
 * landing buffer, but not the caller's memory.
 */
static void abandon(struct rmc_reader *r, struct rmc_object_read *rd)
{
	struct entry *e = &r->entry[rd->index];

	e->own = *rd;
	e->read = &e->own;
	e->abandoned = 1;
	r->abandoned++;
}

int rmc_reader_read(struct rmc_reader *r, struct rmc_object_read *rd)
{
	unsigned int spins = 0;
	struct rmc_object_read *done;
	int err;

	/* abandoned reads end first */
	while (r->abandoned) {
		err = rmc_reader_poll(r, &done);
		if (!err)
			err = rmc_relax(r->qp, &spins);
		if (err)
			return err < 0 ? err : -EBUSY;
	}
	if (r->frees != rmc_reader_window(&r->o))
		return -EBUSY;
	err = rmc_reader_start(r, rd);
	if (err)
		return err;
	while (!(err = rmc_reader_poll(r, &done))) {
		err = rmc_relax(r->qp, &spins);
		if (err)
			break;
	}
	if (err < 0) {
		abandon(r, rd);
		return err;
	}
	/* the data stays valid until the next read starts */
	rmc_reader_release(r, done);
	return rd->status;
}

const struct rmc_reader_stats *rmc_reader_stats(const struct rmc_reader *r)
{
	return &r->stats;
}
