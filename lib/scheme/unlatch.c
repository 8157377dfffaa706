/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Readers: the release of latches. The caller does not wait for it: when the data has
 * arrived, its read has ended. The slot stores what is being released, so that a release
 * whose packets were lost can be repeated.
 */
#include "reader.h"

#define UNLATCH_TRIES	8

void rmc_reader_unlatch(struct rmc_reader *r, struct entry *e)
{
	struct unlatch *u = &r->unlatch[r->unlatches++];

	u->nid = e->read->nid;
	u->offset = e->read->offset + r->latch_at;
	u->word = e->word;
	u->tries = 0;
	e->latched = 0;
}

void rmc_reader_issue_unlatches(struct rmc_reader *r)
{
	struct unlatch *u;
	struct slot *s;
	int slot;

	while (r->unlatches && (slot = rmc_reader_free_slot(r)) >= 0) {
		u = &r->unlatch[--r->unlatches];
		s = &r->slot[slot];
		s->use = USE_UNLATCH;
		s->unlatch.nid = u->nid;
		s->unlatch.offset = u->offset;
		s->unlatch.word = u->word;
		s->unlatch.tries = u->tries;
		rmc_cas_async(r->qp, slot, u->nid, u->offset, u->word, 0);
	}
}

void rmc_reader_unlatched(struct rmc_reader *r, const struct unlatch *u, int status)
{
	if (!status)
		return;
	if (status == RMC_S_TIMEOUT && u->tries < UNLATCH_TRIES) {
		r->unlatch[r->unlatches] = *u;
		r->unlatch[r->unlatches++].tries++;
	} else {
		r->stats.unlocks_lost++;	/* its owner breaks the lock */
	}
}
