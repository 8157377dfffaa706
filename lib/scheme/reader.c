/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Readers: the calls of programs. */
#include "reader.h"

#define POLLS_PER_SERVE		16	/* polling all peers' messages has a cost */

int rmc_reader_start(struct rmc_reader *r, struct rmc_object_read *rd)
{
	struct rmc_sync *s = &r->s;
	struct entry *e;

	if (rmc_unlikely(!s->frees))
		return -EAGAIN;
	if (rmc_unlikely(rd->len > s->o.max))
		return -EMSGSIZE;
	e = sync_entry(s, rd->nid, rd->offset, rd->len, rd);
	rd->index = (int)e->index;
	rd->status = 0;
	rd->data = NULL;
	e->at = s->plan.read;
	if (rmc_unlikely(!(e->at->flags & STEP_FETCHES) || !rmc_sync_fetch(s, e)))
		rmc_sync_begin(s, e, s->plan.read);
	return 0;
}

int rmc_reader_poll(struct rmc_reader *r, struct rmc_object_read **done)
{
	struct rmc_sync *s = &r->s;
	struct rmc_object_read *rd;
	struct entry *e;
	int err;

	err = sync_progress(s);
	if (err)
		return err;
	if (s->o.rpc && s->done_head == s->done_tail && !(++s->polls % POLLS_PER_SERVE)) {
		err = rmc_rpc_progress(s->o.rpc);
		if (err < 0)
			return err;
	}
	while ((e = sync_done(s))) {
		if (rmc_unlikely(e->abandoned)) {
			e->abandoned = 0;
			s->abandoned--;
			sync_free(s, e);
			continue;
		}
		rd = (struct rmc_object_read *)e->caller;
		rd->status = e->status;
		rd->tries = e->failures + 1;
		if (!e->status)
			rd->data = e->data;
		*done = rd;
		return 1;
	}
	if (rmc_unlikely(rmc_load_relaxed(&s->qp->flags->dead)))
		return -ESHUTDOWN;
	return 0;
}

void rmc_reader_release(struct rmc_reader *r, struct rmc_object_read *rd)
{
	sync_free(&r->s, &r->s.entry[rd->index]);
}

/*
 * The caller returns before its read has ended: operations in flight may still use the
 * landing buffer, but not the caller's memory.
 */
static void abandon(struct rmc_reader *r, struct rmc_object_read *rd)
{
	r->s.entry[rd->index].abandoned = 1;
	r->s.abandoned++;
}

int rmc_reader_read(struct rmc_reader *r, struct rmc_object_read *rd)
{
	unsigned int spins = 0;
	struct rmc_object_read *done;
	int err;

	/* abandoned reads end first */
	while (r->s.abandoned) {
		err = rmc_reader_poll(r, &done);
		if (!err)
			err = rmc_relax(r->s.qp, &spins);
		if (err)
			return err < 0 ? err : -EBUSY;
	}
	if (r->s.frees != sync_buffers(&r->s.o))
		return -EBUSY;
	err = rmc_reader_start(r, rd);
	if (err)
		return err;
	while (!(err = rmc_reader_poll(r, &done))) {
		err = rmc_relax(r->s.qp, &spins);
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
	return &r->s.stats;
}
