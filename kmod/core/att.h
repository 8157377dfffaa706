/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Active Transfers Table (M16 sections 4.2, 5.1): announced operations whose
 * packets belong together, at the destination. One table per unit, private to
 * the worker that runs the RRPP.
 *
 *   announcement --> rmc_att_register()    a record of the source's channel;
 *                                          an entry of the table when there is one
 *   data request --> rmc_att_count_requests()        request counter + 1
 *                    rmc_att_poll()        select a transfer, unroll it
 *
 * The operation accesses memory (op.h); the table decides when to reply.
 */
#ifndef RMC_ATT_H
#define RMC_ATT_H

#include "../base/mem.h"

struct rmc_in;
struct rmc_node;
struct rmc_serve;
struct rmc_tx_part;

enum rmc_xfer_state {
	RMC_XFER_FREE		= 0,
	RMC_XFER_WAITING	= 1,	/* for an entry of the table */
	RMC_XFER_ACTIVE		= 2,
};

/**
 * struct rmc_xfer - a transfer; its id is {channel, tid, gen}
 * @seg: segment
 * @word1: second word of its announcement
 * @at: address of its version (operation's)
 * @part: participant that has its lines, or NULL, in place of a version (operation's)
 * @offset: base in the segment, bytes
 * @version: first one read (operation's)
 * @reader: its number at @part (operation's)
 * @length: bytes
 * @packets: number of its data requests
 * @received: data requests received (request counter)
 * @issued: data requests answered (issue count)
 * @sent: bytes of their replies
 * @seen_ms: when it last received a request or became active
 * @gen: echoed
 * @tid: echoed
 * @op: opcode
 * @state: enum rmc_xfer_state
 * @speculative: version not read yet (operation's)
 * @held: object is locked (operation's)
 */
struct rmc_xfer {
	struct rmc_mem *seg;
	u64 word1;
	union {
		const u64 *at;
		struct rmc_tx_part *part;
	};
	u64 offset;
	union {
		u64 version;
		u32 reader;
	};
	u32 length;
	u32 packets;
	u32 received;
	u32 issued;
	u32 sent;
	u32 seen_ms;
	u16 gen;
	u16 tid;
	u8 op;
	u8 state;
	bool speculative;
	bool held;
};

/**
 * struct rmc_xfers - transfers of one channel
 * @x: records
 * @used: bit per record in use
 * @wait: ring of the waiting ones, in the order of announcement
 * @head: of @wait, free running
 * @tail: of @wait, free running
 * @last: record that the last search found
 * @next: next source that has waiting transfers
 */
struct rmc_xfers {
	struct rmc_xfer x[RMC_XFERS];
	u64 used;
	u8 wait[RMC_XFERS];
	u32 head;
	u32 tail;
	u32 last;
	struct rmc_in *next;
};

struct rmc_att_entry {
	struct rmc_in *in;
	struct rmc_xfer *x;
};

/**
 * struct rmc_att - table of a unit
 * @entries: transfers active at once, up to RMC_ATT_ENTRIES_MAX
 * @depth: lines of one transfer fetched ahead (depth of its stream buffer)
 * @stall_ms: see RMC_ATT_STALL_MS
 * @used: active transfers, @entry[0 .. @used - 1]
 * @cursor: index in @entry of the next transfer to serve
 * @live: transfers in all channels
 * @first: first of the sources that have waiting transfers
 * @last_in: last one
 * @entry: active transfers
 */
struct rmc_att {
	u32 entries;
	u32 depth;
	u32 stall_ms;
	u32 used;
	u32 cursor;
	u32 live;
	struct rmc_in *first;
	struct rmc_in *last_in;
	struct rmc_att_entry entry[RMC_ATT_ENTRIES_MAX];
};

bool rmc_att_all_arrived(const struct rmc_serve *s);
u8 rmc_att_register(struct rmc_serve *s);
u8 rmc_att_count_requests(struct rmc_serve *s);
/* and the functions of its row in state.h */

#endif
