/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Participant: the home node's side of transactions (HADES table II, "commit at y"), for one range
 * of one segment. One's own node is a participant like any other.
 *
 * A participant belongs to one RRPP's worker: no locks, each call is atomic with regard to the
 * others. All but rmc_tx_part_bytes(), _new(), _init() and _free() are called there and do not
 * sleep.
 *
 * A record is what a participant knows of a source's slot:
 *
 *	NONE ---access, INTEND---> OPEN ---INTEND---> PREPARED ---CLOSE---> CLOSED
 *	                            |                                         |
 *	                            +---------------CLOSE(abort)--------------+--- newer gen: OPEN
 *
 * - OPEN: filters have the lines that it has accessed. It may be marked as squashed, by the INTEND
 *   of another or because an own one was refused: then each further INTEND is refused.
 * - PREPARED: it holds locks on its lines, and nobody may squash it.
 * - LOCKED: it holds locks of lines that it will read and write, before it does (reserve.c): LOCK,
 *   until it is not in anybody's way, comes before INTEND then. It may access other lines, too.
 *   Nobody may squash it, but it has promised nothing.
 * - CLOSED: remembered, so that what was sent twice is answered alike, and late packets of that gen
 *   or older ones create nothing.
 *
 * Memory: the block of rmc_tx_part_bytes() bytes has the whole state. A copy with memcpy() is a
 * participant in that state; it has the pointers @mem, @local and @shared in common with the
 * original, which another segment needs set anew. Parts that are unused are zero, so that equal
 * states have equal bytes.
 */
#ifndef RMC_TX_PART_H
#define RMC_TX_PART_H

#include "filter.h"

enum rmc_tx_record_state {
	RMC_TX_NONE	= 0,
	RMC_TX_OPEN	= 1,
	RMC_TX_PREPARED	= 2,
	RMC_TX_COMMITTED = 3,	/* closed */
	RMC_TX_ABORTED	= 4,	/* closed */
	RMC_TX_LOCKED	= 5,
};

enum rmc_tx_access {
	RMC_TX_READ,		/* the lines are read */
	RMC_TX_OWN,		/* they are read, too, but to write parts of them */
};

/**
 * struct rmc_tx_line - a line of an INTEND, and its new content
 * @line: its number in the segment
 * @want: bytes that are written, bit i: byte i
 * @have: those of them that have arrived
 * @next: 1 + index of the record's next line, which has a larger number; 0: none
 * @pad: 0
 * @data: bytes of @have
 */
struct rmc_tx_line {
	u64 line;
	u64 want;
	u64 have;
	u32 next;
	u32 pad;
	u8 data[RMC_LINE];
};

/**
 * struct rmc_tx_record - a slot of a source
 * @gen: newest gen
 * @state: enum rmc_tx_record_state
 * @refused: status that an INTEND was refused with; RMC_S_OK: none was
 * @buffer: 1 + number of its Locking Buffer; 0: it has none
 * @pad: 0
 * @first: 1 + index of the first line of its INTEND; 0: none
 * @last: 1 + index of the last one
 * @cursor: 1 + index of the line that DATA has reached
 * @missing: lines of which bytes are missing
 * @rd: read filter
 * @wr: write filter
 */
struct rmc_tx_record {
	u32 gen;
	u8 state;
	u8 refused;
	u8 buffer;
	u8 pad;
	u32 first;
	u32 last;
	u32 cursor;
	u32 missing;
	struct rmc_tx_row rd;
	struct rmc_tx_row wr;
};

/**
 * struct rmc_tx_group - transactions of a source
 * @source: 1 + endpoint; 0: the group is free
 * @lines: lines in use
 * @open: slots that are OPEN or PREPARED
 * @locked: slots that are PREPARED or LOCKED: the lock mask
 * @reserved: slots that are OPEN and wait for locks in advance
 * @squashed: slots that are OPEN and marked as squashed
 * @hints: those of them that rmc_tx_part_hint() has not named
 * @rd: read filters
 * @wr: write filters
 * @record: by slot
 * @used: which of @line are in use
 * @line: lines of INTENDs
 */
struct rmc_tx_group {
	u32 source;
	u32 lines;
	u64 open;
	u64 locked;
	u64 reserved;
	u64 squashed;
	u64 hints;
	struct rmc_tx_filter rd;
	struct rmc_tx_filter wr;
	struct rmc_tx_record record[RMC_TX_SLOTS];
	u64 used[RMC_TX_LINES / 64];
	struct rmc_tx_line line[RMC_TX_LINES];
};

/**
 * struct rmc_tx_limits - what a participant is created for
 * @start: first byte of its range, from the beginning of the segment; a multiple of 64
 * @length: bytes of the range; a multiple of 64
 * @self: endpoint of the node itself: its slots are those of struct rmc_tx_local
 * @groups: sources that may have transactions here, RMC_TX_SOURCES at most
 * @buffers: transactions that may hold locks at a time, 64 at most; 0: RMC_TX_BUFFERS. Those of a
 *	source may be as many as are free then, or one
 */
struct rmc_tx_limits {
	u64 start;
	u64 length;
	u32 self;
	u32 groups;
	u32 buffers;
};

/**
 * struct rmc_tx_reader - an atomic read of lines, which belongs to no transaction
 * @first: number of the first line
 * @end: after the last one; 0: there is none
 */
struct rmc_tx_reader {
	u64 first;
	u64 end;
};

/**
 * struct rmc_tx_part - a participant; see the top of this file
 * @mem: the segment
 * @local: filters of the owner's loads and stores; NULL: it has no such transactions
 * @shared: Locking Buffers that the owner sees; NULL: it has no such transactions
 * @limits: as given
 * @groups: 1 + index of the last group in use
 * @locks: Locking Buffers in use
 * @buffers: which of them
 * @waiters: transactions that wait for locks in advance
 * @waiter: names of them, who has waited for longest first
 * @local_squashed: slots of @local that were squashed: not a hint, unlike the word there. A
 *	slot's mark is cleared by a CLOSE with RMC_TX_LOCAL, the first of its gen. So a transaction
 *	that has used lines by loads and stores has ended only when its own node has answered CLOSE
 * @readers: 1 + index of the last reader
 * @reader: atomic reads that have begun
 * @group_of: by source: 1 + index of its group; 0: it has none
 * @group: groups
 */
struct rmc_tx_part {
	const struct rmc_mem *mem;
	struct rmc_tx_local *local;
	struct rmc_tx_locks *shared;
	struct rmc_tx_limits limits;
	u32 groups;
	u32 locks;
	u64 buffers;
	u32 waiters;
	struct {
		u16 source;
		u16 slot;
	} waiter[RMC_TX_WAITERS];
	u64 local_squashed;
	u32 readers;
	struct rmc_tx_reader reader[RMC_TX_READERS];
	u16 group_of[RMC_TX_SOURCES];
	struct rmc_tx_group group[];
};

size_t rmc_tx_part_bytes(const struct rmc_tx_limits *limits);
int rmc_tx_part_init(struct rmc_tx_part *p, const struct rmc_tx_limits *limits,
		     const struct rmc_mem *mem, struct rmc_tx_local *local,
		     struct rmc_tx_locks *shared);
struct rmc_tx_part *rmc_tx_part_new(const struct rmc_tx_limits *limits, const struct rmc_mem *mem,
				    struct rmc_tx_local *local, struct rmc_tx_locks *shared);
void rmc_tx_part_free(struct rmc_tx_part *p);

u8 rmc_tx_part_access(struct rmc_tx_part *p, const struct rmc_txid *id, enum rmc_tx_access kind,
		      u64 offset, u64 length);
u8 rmc_tx_part_intend(struct rmc_tx_part *p, const struct rmc_txid *id, u32 flags,
		      const struct rmc_tx_range *range, u32 count);
u8 rmc_tx_part_lock(struct rmc_tx_part *p, const struct rmc_txid *id,
		    const struct rmc_tx_range *range, u32 writes, u32 reads);
u8 rmc_tx_part_data(struct rmc_tx_part *p, const struct rmc_txid *id, u64 offset,
		    const u8 *data, u32 length);
u8 rmc_tx_part_close(struct rmc_tx_part *p, const struct rmc_txid *id, u32 flags,
		     bool commit);
u8 rmc_tx_part_read(struct rmc_tx_part *p, u64 offset, u32 length);
u8 rmc_tx_part_read_begin(struct rmc_tx_part *p, u64 offset, u32 length, u32 *reader);
void rmc_tx_part_read_end(struct rmc_tx_part *p, u32 reader);
bool rmc_tx_part_hint(struct rmc_tx_part *p, struct rmc_txid *id);
void rmc_tx_part_silent(struct rmc_tx_part *p, u32 source);
void rmc_tx_part_epoch(struct rmc_tx_part *p, u32 source);

/* The record of a source's slot; NULL: there is none. For tests and for showing it. */
static inline const struct rmc_tx_record *rmc_tx_part_record(const struct rmc_tx_part *p,
							     u32 source, u32 slot)
{
	if (source >= RMC_TX_SOURCES || slot >= RMC_TX_SLOTS || !p->group_of[source])
		return NULL;
	return &p->group[p->group_of[source] - 1].record[slot];
}

#endif
