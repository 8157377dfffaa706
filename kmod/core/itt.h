/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In-flight Transaction Table (A14 section 4.2, T18 section 3.6).
 *
 * One per unit of a node, private to the worker that runs RGP and RCP. An operation's
 * index is its tid. An entry is freed when its completion is posted, even if
 * replies are still missing (time-out, dead peer, buffer withdrawn). The RCP then
 * drops late replies by their gen, so none is written to freed memory.
 *
 * gen wraps after 65536 reuses, a few milliseconds with a LIFO free list; a packet may be
 * late by seconds, or by as long as its node was paused. So an entry with outstanding
 * packets is quarantined until the last of them arrives or their channel closes. Before
 * that it is reused only when no other entry is free, the oldest first:
 *
 *   free (LIFO) --> in flight --> free            all packets are back: nearly always
 *                       |  ^
 *                       v  |  nothing else is free
 *               quarantined (FIFO) --> free       the last one is back
 */
#ifndef RMC_ITT_H
#define RMC_ITT_H

#include "../base/os.h"
#include "cq.h"
#include "../base/mem.h"
#include "../base/wire.h"

struct rmc_node;
struct rmc_qpair;

#define RMC_TID_NONE	0xffff

/*
 * rmc_itt_entry.lbuf_off of an operation with RMC_OPF_ENDS, or of an application's transaction:
 * above it is rmc_wqe.tag
 */
#define RMC_TAG_SHIFT	48

/**
 * struct rmc_itt_entry - one operation in flight
 * @qp: queue pair it came from; NULL: entry is free
 * @lbuf: local buffer
 * @lbuf_off: offset of the operand in @lbuf, bytes; see RMC_TAG_SHIFT, rmc_itt_lbuf_off()
 * @offset: offset in the destination's segment, bytes
 * @length: bytes
 * @sent: bytes whose requests were injected
 * @replies: replies still expected for them
 * @deadline: time-out, in node milliseconds
 * @lost: of @replies, those known to be lost
 * @slot: WQ index
 * @gen: changes with every use of the entry
 * @nid: destination
 * @next: next free or quarantined entry
 * @op: opcode
 * @status: first error seen
 * @tries: times it was restarted
 * @restarted: it was restarted and is not all sent
 * @tracked: only each packet's first reply counts, see struct rmc_track
 * @announced: it is counted in rmc_itt.announced
 * @copied: rmc_track.outstanding has counted replies of it
 * @quarantined: packets of earlier uses are outstanding, see rmc_track.earlier
 * @notify: it becomes a notification when all its packets are answered
 * @ordered: its queue pair is
 */
struct rmc_itt_entry {
	struct rmc_qpair *qp;
	struct rmc_mem *lbuf;
	u64 lbuf_off;
	u64 offset;
	u32 length;
	u32 sent;
	u32 replies;
	u32 deadline;
	u32 lost;
	u16 slot;
	u16 gen;
	u16 nid;
	u16 next;
	u8 op;
	u8 status;
	u8 tries;
	bool restarted : 1;
	bool tracked : 1;
	bool announced : 1;
	bool copied : 1;
	bool quarantined : 1;
	bool notify : 1;
	bool ordered : 1;
} ____cacheline_aligned;

static inline u64 rmc_itt_lbuf_off(const struct rmc_itt_entry *e)
{
	return e->lbuf_off & ((1ULL << RMC_TAG_SHIFT) - 1);
}

/* Window of a tracked operation: the most packets in flight */
#define RMC_TRACK	64

/**
 * struct rmc_outstanding - packets that are still to arrive
 * @replies: requests without reply
 * @copies: duplicated replies without their copy; negative: the copy arrived first
 */
struct rmc_outstanding {
	s32 replies;
	s32 copies;
};

/**
 * struct rmc_track - which packets of an operation have been answered
 * @base: all packets before this one are answered
 * @seen: bit i: packet @base + i is answered
 * @outstanding: of the operation in flight; only the copies if it is not tracked. Zero while
 *	the entry is not in use
 * @earlier: of earlier uses of the entry, while it is quarantined
 * @earlier_nid: node that they come from
 * @groups: bit per group of ordered queue pairs: some of them are writes or atomics of it
 * @prev: previous quarantined entry
 * @validated: the announcement is answered
 *
 * Counting replies is enough while each arrives once. If a filter duplicates replies, a copy
 * must not count as a reply that is missing.
 */
struct rmc_track {
	u64 seen;
	struct rmc_outstanding outstanding;
	struct rmc_outstanding earlier;
	u32 base;
	u32 groups;
	u16 earlier_nid;
	u16 prev;
	bool validated;
};

/**
 * struct rmc_itt - table of a unit
 * @entry: entries
 * @size: number of entries
 * @used: entries in use
 * @announced: announced operations among them; these may wait long for others
 * @lone: entries that a tenant may use while it is alone
 * @tenants: tenants with queue pairs on this unit
 * @free: first free entry or RMC_TID_NONE
 * @quarantined: first of the quarantined entries that are not in use, or RMC_TID_NONE
 * @quarantined_last: last of them
 * @restarts: entries with @restarted set
 * @users: as @tenants, with each group counted once
 * @track: by tid
 */
struct rmc_itt {
	struct rmc_itt_entry *entry;
	u32 size;
	u32 used;
	u32 announced;
	u32 lone;
	u32 tenants;
	u16 free;
	u16 quarantined;
	u16 quarantined_last;
	u32 restarts;
	u32 users;
	struct rmc_track *track;
};

int rmc_itt_init(struct rmc_itt *itt, u32 size);
void rmc_itt_destroy(struct rmc_itt *itt);
u16 rmc_itt_recall(struct rmc_itt *itt);
bool rmc_itt_grant(const struct rmc_itt *itt, struct rmc_account *a);
void rmc_itt_retire(struct rmc_itt *itt, struct rmc_itt_entry *e, struct rmc_qpair *qp);
void rmc_itt_late(struct rmc_itt *itt, u32 from, const struct rmc_rep *p);
void rmc_itt_release_peer(struct rmc_itt *itt, u32 nid);

/* Count a packet that arrived. */
static inline void rmc_outstanding_came(struct rmc_outstanding *a, u8 marks)
{
	if (marks & RMC_MARK_COPY) {
		a->copies--;
		return;
	}
	a->replies--;
	a->copies += !!(marks & RMC_MARK_DUPLICATED);
}

/**
 * rmc_itt_alloc() - allocate a tid
 * @itt: table
 * @a: account to charge
 *
 * Return: tid, or RMC_TID_NONE: all are in flight, or @a has reached its limit.
 */
static inline u16 rmc_itt_alloc(struct rmc_itt *itt, struct rmc_account *a)
{
	u16 tid = itt->free;

	if (likely(itt->tenants <= 1)) {
		/* the tenant is alone: all used entries are its own */
		if (unlikely(itt->used >= itt->lone))
			return RMC_TID_NONE;
	} else if (!rmc_itt_grant(itt, a)) {
		return RMC_TID_NONE;
	}
	if (unlikely(tid == RMC_TID_NONE)) {
		tid = rmc_itt_recall(itt);
		if (tid == RMC_TID_NONE && itt->tenants > 1)
			rmc_account_tid_free(a);
		return tid;
	}
	itt->free = itt->entry[tid].next;
	itt->used++;
	return tid;
}

/**
 * rmc_itt_free() - free the entry of an operation
 * @itt: table
 * @e: entry
 */
static inline void rmc_itt_free(struct rmc_itt *itt, struct rmc_itt_entry *e)
{
	struct rmc_qpair *qp = e->qp;

	if (unlikely(itt->tenants > 1))
		rmc_account_tid_free(qp->account);
	e->qp = NULL;
	e->gen++;
	itt->used--;
	if (unlikely(e->announced)) {
		itt->announced--;
		e->announced = false;
	}
	/* some of its packets may be outstanding, or it is counted */
	if (unlikely(e->replies != e->lost || e->restarted || e->tracked || e->copied ||
		     e->quarantined || e->ordered)) {
		rmc_itt_retire(itt, e, qp);
		return;
	}
	e->next = itt->free;
	itt->free = e - itt->entry;
}

#endif
