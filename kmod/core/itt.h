/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In-flight Transaction Table (A14 section 4.2, T18 section 3.6).
 *
 * One per node, private to the worker that runs RGP and RCP. An operation's
 * index is its tid. An entry is freed when its completion is posted, also when
 * replies are still missing (time-out, dead peer, buffer withdrawn): gen then
 * makes the RCP drop what comes late, so nothing lands in freed memory.
 */
#ifndef RMC_ITT_H
#define RMC_ITT_H

#include "rmc_os.h"
#include "mem.h"

struct rmc_node;
struct rmc_qp;

#define RMC_TID_NONE	0xffff

/**
 * struct rmc_itt_entry - one operation in flight
 * @qp: queue pair it came from; NULL: entry is free
 * @lbuf: local buffer
 * @lbuf_off: offset of the operand in @lbuf, bytes
 * @offset: offset in the destination's segment, bytes
 * @length: bytes
 * @sent: bytes whose requests were injected
 * @replies: replies still expected for them
 * @deadline: time-out, in node milliseconds
 * @slot: WQ index
 * @gen: changes with every use of the entry
 * @nid: destination
 * @next: next free entry
 * @op: opcode
 * @status: first error seen
 * @lost: of @replies, those known to be lost
 * @tries: times it began again
 * @restarted: it began again and is not all sent
 * @tracked: each packet's first reply counts, see struct rmc_track
 * @announced: counts in rmc_itt.announced
 */
struct rmc_itt_entry {
	struct rmc_qp *qp;
	struct rmc_mem *lbuf;
	u64 lbuf_off;
	u64 offset;
	u32 length;
	u32 sent;
	u32 replies;
	u32 deadline;
	u16 slot;
	u16 gen;
	u16 nid;
	u16 next;
	u8 op;
	u8 status;
	u16 lost;
	u8 tries;
	bool restarted : 1;
	bool tracked : 1;
	bool announced : 1;
} ____cacheline_aligned;

/* Packets of a tracked operation that may be on their way, as a window */
#define RMC_TRACK	64

/**
 * struct rmc_track - which packets of an operation have been answered
 * @base: all before this one
 * @seen: bit i: @base + i
 * @validated: so has the announcement
 *
 * Counting replies is enough while each comes once. Where a filter doubles some,
 * the copy of one must not stand for another one that is missing.
 */
struct rmc_track {
	u64 seen;
	u32 base;
	bool validated;
};

/**
 * struct rmc_itt - table of a node
 * @entry: entries
 * @track: by tid
 * @restarts: entries with @restarted set
 * @size: number of entries
 * @used: entries in use
 * @announced: of them, announced operations, which may wait long for others
 * @free: first free entry or RMC_TID_NONE
 */
struct rmc_itt {
	struct rmc_itt_entry *entry;
	struct rmc_track *track;
	u32 restarts;
	u32 size;
	u32 used;
	u32 announced;
	u16 free;
};

int rmc_itt_init(struct rmc_itt *itt, u32 size);
void rmc_itt_destroy(struct rmc_itt *itt);

/**
 * rmc_itt_alloc() - take a tid
 * @itt: table
 *
 * Return: tid, or RMC_TID_NONE when all are in flight.
 */
static inline u16 rmc_itt_alloc(struct rmc_itt *itt)
{
	u16 tid = itt->free;

	if (likely(tid != RMC_TID_NONE)) {
		itt->free = itt->entry[tid].next;
		itt->used++;
	}
	return tid;
}

static inline void rmc_itt_free(struct rmc_itt *itt, struct rmc_itt_entry *e)
{
	if (unlikely(e->restarted))
		itt->restarts--;
	e->restarted = false;
	e->qp = NULL;
	e->gen++;
	e->next = itt->free;
	itt->free = e - itt->entry;
	itt->used--;
	itt->announced -= e->announced;
}

#endif
