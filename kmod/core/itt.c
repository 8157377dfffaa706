// SPDX-License-Identifier: GPL-2.0
/* In-flight Transaction Table: set-up, take-down, and quarantined entries. */
#include "itt.h"
#include "order.h"

/**
 * rmc_itt_init() - allocate a table
 * @itt: table
 * @size: operations in flight, 1 .. RMC_TID_NONE
 *
 * Return: 0, -EINVAL, -ENOMEM.
 * Context: may sleep.
 */
int rmc_itt_init(struct rmc_itt *itt, u32 size)
{
	u32 i;

	if (!size || size > RMC_TID_NONE)
		return -EINVAL;
	itt->entry = rmc_os_zalloc(size * sizeof(*itt->entry));
	itt->track = rmc_os_zalloc(size * sizeof(*itt->track));
	if (!itt->entry || !itt->track) {
		rmc_itt_destroy(itt);
		return -ENOMEM;
	}
	for (i = 0; i < size; i++)
		itt->entry[i].next = i + 1 < size ? i + 1 : RMC_TID_NONE;
	itt->free = 0;
	itt->quarantined = RMC_TID_NONE;
	itt->quarantined_last = RMC_TID_NONE;
	itt->size = size;
	itt->used = 0;
	itt->restarts = 0;
	itt->announced = 0;
	itt->lone = size - size / RMC_TID_RESERVE;
	itt->tenants = 0;
	itt->users = 0;
	return 0;
}

/**
 * rmc_itt_destroy() - free a table; the pipelines no longer run
 * @itt: table
 *
 * Context: may sleep.
 */
void rmc_itt_destroy(struct rmc_itt *itt)
{
	rmc_os_free(itt->track);
	rmc_os_free(itt->entry);
	itt->track = NULL;
	itt->entry = NULL;
}

static void append(struct rmc_itt *itt, u16 tid)
{
	itt->entry[tid].next = RMC_TID_NONE;
	itt->track[tid].prev = itt->quarantined_last;
	if (itt->quarantined_last == RMC_TID_NONE)
		itt->quarantined = tid;
	else
		itt->entry[itt->quarantined_last].next = tid;
	itt->quarantined_last = tid;
}

static void unlink(struct rmc_itt *itt, u16 tid)
{
	u16 next = itt->entry[tid].next, prev = itt->track[tid].prev;

	if (prev == RMC_TID_NONE)
		itt->quarantined = next;
	else
		itt->entry[prev].next = next;
	if (next == RMC_TID_NONE)
		itt->quarantined_last = prev;
	else
		itt->track[next].prev = prev;
}

/* All packets of earlier uses have arrived: end the quarantine. */
static void settle(struct rmc_itt *itt, u16 tid)
{
	struct rmc_itt_entry *e = &itt->entry[tid];

	e->quarantined = false;
	if (unlikely(itt->track[tid].groups))
		rmc_order_came(container_of(itt, struct rmc_node, itt), &itt->track[tid], true);
	if (e->qp)
		return;		/* it was recalled, see rmc_itt_recall() */
	unlink(itt, tid);
	e->next = itt->free;
	itt->free = tid;
}

/**
 * rmc_itt_recall() - reuse a quarantined tid when none is free
 * @itt: table
 *
 * A peer that never answers must not keep entries from other peers. So the entry
 * with the longest quarantine is reused, and goes to the end of the queue after that use.
 * Until then only gen distinguishes its packets; it wraps after 65536 rounds of the queue.
 *
 * Return: tid, or RMC_TID_NONE when all are in flight.
 * Context: worker, does not sleep.
 */
u16 rmc_itt_recall(struct rmc_itt *itt)
{
	u16 tid = itt->quarantined;

	if (tid == RMC_TID_NONE)
		return tid;
	unlink(itt, tid);
	itt->used++;
	return tid;
}

/**
 * rmc_itt_retire() - free an entry whose packets may be outstanding, or of an ordered queue pair
 * @itt: table
 * @e: entry, no longer in use
 * @qp: queue pair that used it
 *
 * Context: worker, does not sleep.
 */
void rmc_itt_retire(struct rmc_itt *itt, struct rmc_itt_entry *e, struct rmc_qpair *qp)
{
	u16 tid = e - itt->entry;
	struct rmc_track *t = &itt->track[tid];
	struct rmc_outstanding outstanding = t->outstanding;
	bool ordered = e->ordered;

	if (ordered)
		rmc_order_end(qp, e);
	e->ordered = false;
	if (e->restarted)
		itt->restarts--;
	e->restarted = false;
	e->copied = false;
	memset(&t->outstanding, 0, sizeof(t->outstanding));
	if (!e->tracked)
		outstanding.replies = e->replies - e->lost;
	if (outstanding.replies || outstanding.copies) {
		/* of two recalled uses for different peers, only the later one is counted */
		if (!e->quarantined || t->earlier_nid != e->nid) {
			if (unlikely(t->groups))
				rmc_order_came(qp->node, t, false);
			memset(&t->earlier, 0, sizeof(t->earlier));
		}
		t->earlier.replies += outstanding.replies;
		t->earlier.copies += outstanding.copies;
		t->earlier_nid = e->nid;
		e->quarantined = true;
		if (ordered && outstanding.replies > 0)
			rmc_order_late(qp, e, t);
	}
	if (e->quarantined) {
		append(itt, tid);
		return;
	}
	e->next = itt->free;
	itt->free = tid;
}

/**
 * rmc_itt_late() - handle a reply that matches no operation in flight
 * @itt: table
 * @from: node that it comes from
 * @p: reply, with any values
 *
 * Context: worker, does not sleep.
 */
void rmc_itt_late(struct rmc_itt *itt, u32 from, const struct rmc_rep *p)
{
	struct rmc_itt_entry *e;
	struct rmc_track *t;
	u32 tid = p->tid;

	if (tid >= itt->size)
		return;
	tid = array_index_nospec(tid, itt->size);
	e = &itt->entry[tid];
	t = &itt->track[tid];
	/* of the operation itself: from before a restart, or a duplicate */
	if (e->qp && e->nid == from && (u16)(e->gen - p->gen) <= e->tries) {
		rmc_outstanding_came(&t->outstanding, p->marks);
		e->copied = true;
		return;
	}
	if (!e->quarantined || t->earlier_nid != from)
		return;
	rmc_outstanding_came(&t->earlier, p->marks);
	if (!t->earlier.replies && !t->earlier.copies)
		settle(itt, tid);
}

/**
 * rmc_itt_release_peer() - end the quarantine of entries for a peer whose channels close
 * @itt: table
 * @nid: peer; no operation to it is in flight
 *
 * Context: worker, does not sleep.
 */
void rmc_itt_release_peer(struct rmc_itt *itt, u32 nid)
{
	u32 i;

	for (i = 0; i < itt->size; i++)
		if (itt->entry[i].quarantined && itt->track[i].earlier_nid == nid)
			settle(itt, i);
}
