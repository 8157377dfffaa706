/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR LGPL-2.1 OR MIT */
/*
 * Transactions that the RMC commits (HADES; Documentation/tx.rst).
 *
 *   application                             RMC                          home nodes
 *     RMC_OP_TX_READ, TX_OWN  ------------------------------------->  note the lines
 *     lines in its buffer     <-------------------------------------  and return them
 *     RMC_OP_TX_COMMIT  --------------->  copies all that is written
 *                                         INTEND  ------------------>  lock, or refuse
 *                                         all acks: decided
 *     CQ entry  <-----------------------  DATA, CLOSE  ------------->  store, unlock
 *
 * A home node registers a range of its segment (RMC_IOC_TX_REG). A client takes slots for a queue
 * pair (RMC_IOC_TX_OPEN); each of them has one transaction at a time. It begins with the first
 * operation that names the slot, and is over when RMC_OP_TX_COMMIT or RMC_OP_TX_ABORT has
 * completed, in any way.
 *
 * The structs of the calls follow the rules of <linux/rmc.h>, with its errors. Without transactions
 * an RMC answers all of these calls with ENOTTY.
 */
#ifndef _UAPI_LINUX_RMC_TX_H
#define _UAPI_LINUX_RMC_TX_H

#include <linux/rmc.h>

/*
 * Operations, of a queue pair with slots. TX_READ and TX_OWN have the slot in the upper bits of the
 * length (rmc_tx_length()), the others in the place of the node.
 */
enum rmc_tx_opcode {
	RMC_OP_TX_READ	= 17,	/* remote lines -> local buffer; the transaction reads them */
	RMC_OP_TX_OWN	= 18,	/* the same; it will write parts of them */
	RMC_OP_TX_COMMIT = 19,	/* lbuf: struct rmc_tx_commit */
	RMC_OP_TX_ABORT	= 20,	/* length 0 */
	RMC_OP_TX_LOCK	= 21,	/* lbuf: struct rmc_tx_commit: lock its lines in advance */
};

/* More of enum rmc_status */
enum rmc_tx_status {
	RMC_S_TX_SQUASHED	= 22,	/* conflicts with another transaction: run it again */
	RMC_S_TX_LOCKED		= 23,	/* another one commits on these lines: try again */
	RMC_S_TX_FULL		= 24,	/* no room for it at the destination: try again later */
	RMC_S_TX_STALE		= 25,	/* the destination knows nothing of it, or no longer */
	RMC_S_TX_PART_LOST	= 26,	/* committed, but a node was lost with its part of it */
	RMC_S_TX_MAX		= 27,
};

#define RMC_TX_MAX_SLOTS	64	/* of a unit and a context */
#define RMC_TX_MAX_RANGES	256	/* of a transaction */
#define RMC_TX_MAX_BYTES	65536	/* that a transaction writes */
#define RMC_TX_MAX_ACCESS	65536	/* bytes of a TX_READ or TX_OWN */

#define RMC_TX_LENGTH_SHIFT	18

/* Length in the WQ entry of a TX_READ or TX_OWN */
static inline __u32 rmc_tx_length(__u32 slot, __u32 length)
{
	return slot << RMC_TX_LENGTH_SHIFT | length;
}

/* Flags of struct rmc_tx_commit */
#define RMC_TX_PREPARE		(1U << 0)	/* complete when all nodes have acked; then a
						 * TX_COMMIT with count 0 and without this flag, or
						 * a TX_ABORT, decides
						 */
#define RMC_TX_LOADED		(1U << 1)	/* it has used lines by struct rmc_tx_local: its
						 * own node is asked, also if nothing is written.
						 * RMC_S_BAD_SLOT: the slot is of another unit than
						 * the one that serves the context's transactions
						 */

/**
 * struct rmc_tx_commit - local buffer of an RMC_OP_TX_COMMIT or RMC_OP_TX_LOCK
 * @count: ranges, RMC_TX_MAX_RANGES at most; 0: nothing is written
 * @flags: RMC_TX_PREPARE, RMC_TX_LOADED; 0 for a TX_LOCK
 * @reserved: 0
 *
 * The length of the WQ entry is that of all of it: this line, @count times struct rmc_tx_range, and
 * for a TX_COMMIT the new content of each range in turn, each up to a multiple of 8 bytes. Ranges
 * of a node do not overlap. The RMC copies all of it before it sends anything, and looks at
 * nothing of it again.
 *
 * A TX_COMMIT completes with RMC_S_OK when the transaction is decided and its own node has stored
 * its part: other transactions see all of it or nothing. RMC_S_TX_PART_LOST is a commit, too. With
 * any other status it had no effect. Accesses of the slot that are under way are the
 * application's fault: what they return is worth nothing.
 */
struct rmc_tx_commit {
	__u32 count;
	__u32 flags;
	__u64 reserved[7];
};

/* Flags of struct rmc_tx_item */
#define RMC_TX_ITEM_READ	(1U << 0)	/* TX_LOCK: the lines are only read */

/**
 * struct rmc_tx_item - a range of a struct rmc_tx_commit
 * @offset: in the node's segment, bytes
 * @length: bytes, at least 1
 * @nid: node, one's own too
 * @flags: RMC_TX_ITEM_*
 */
struct rmc_tx_item {
	__u64 offset;
	__u32 length;
	__u16 nid;
	__u16 flags;
};

#define RMC_TX_FILTER_BITS	1024	/* of a read filter, or a remote write filter */
#define RMC_TX_WR1_BITS		512	/* of a local write filter, by hash */
#define RMC_TX_WR2_BITS		4096	/* of a local write filter, by set of a cache */

/**
 * struct rmc_tx_local - filters of the transactions that use the range with loads and stores
 * @rd: read filters, by bit: bit s of word b is bit b of the filter of slot s
 * @wr1: first section of the write filters
 * @wr2: second section of the write filters
 * @squashed: slots that the RMC has squashed: a hint for their owner. The RMC sets a bit before it
 *	stores anything that the transaction must not see
 * @reserved: 0
 *
 * In memory of the process that owns the segment, which writes it. What it says concerns the
 * isolation of that memory only. A line is its number in the segment; rd has both halves of
 * CRC32C(line), 8 bytes, modulo RMC_TX_FILTER_BITS; wr1 CRC32C(line) modulo RMC_TX_WR1_BITS; wr2
 * line modulo RMC_TX_WR2_BITS.
 *
 * A transaction sets its bit, then, after a full barrier, looks at struct rmc_tx_locks. The RMC
 * sets a lock there, then, after a full barrier, looks for bits here. So one sees the other.
 */
struct rmc_tx_local {
	__u64 rd[RMC_TX_FILTER_BITS];
	__u64 wr1[RMC_TX_WR1_BITS];
	__u64 wr2[RMC_TX_WR2_BITS];
	__u64 squashed;
	__u64 reserved[7];
};

/**
 * struct rmc_tx_locks - Locking Buffers: filters of the transactions that are committing
 * @mask: buffers in use
 * @own: those of them whose transaction is the owner's own: of a slot of its own unit
 * @rd: read filters, by bit: bit i of word b is bit b of the filter in buffer i
 * @wr: write filters
 * @reserved: 0
 *
 * The RMC writes it; the owner's mapping is read-only. A buffer's bits are there before its bit of
 * @mask is set, and until after it is cleared. Bits of lines as in rmc_tx_local.rd.
 */
struct rmc_tx_locks {
	__u64 mask;
	__u64 own;
	__u64 reserved[6];
	__u64 rd[RMC_TX_FILTER_BITS];
	__u64 wr[RMC_TX_FILTER_BITS];
};

/**
 * struct rmc_tx_reg - ioctl(RMC_IOC_TX_REG): a range of this file's segment has transactions
 * @size: sizeof(struct rmc_tx_reg)
 * @flags: must be 0
 * @offset: first byte in the segment, a multiple of 64
 * @length: bytes, a multiple of 64; 0: withdraw the range
 * @local: address of a struct rmc_tx_local that is zero, on a cache line; pinned like a local
 *	buffer. 0: the owner, too, accesses the range through the RMC only
 * @buffers: transactions that may commit at a time, 1 .. 64; 0: the kernel's default
 * @groups: endpoints that may have transactions here; 0: all of the fabric
 * @locks_offset: out: mmap() sizeof(struct rmc_tx_locks) there, read-only
 *
 * Plain remote writes and atomics in the range end with RMC_S_READ_ONLY from now on; plain reads do
 * not exclude anything. The range is withdrawn with the segment.
 *
 * The range is in the segment, or in one range that RMC_IOC_SEG_ADD has added to it. Over rmcd
 * @local has to be shared memory, or private memory of whole pages.
 *
 * ENOENT: no segment, or no range to withdraw. EEXIST: the context has a range on this node. EROFS:
 * the segment is read-only. ENOSPC: the node has as many ranges as it can have. EDQUOT: of kernel
 * memory, which it takes for each of @groups.
 */
struct rmc_tx_reg {
	__u32 size;
	__u32 flags;
	__u64 offset;
	__u64 length;
	__u64 local;
	__u32 buffers;
	__u32 groups;
	__u64 locks_offset;
};

/**
 * struct rmc_tx_open - ioctl(RMC_IOC_TX_OPEN): slots for transactions of a queue pair
 * @size: sizeof(struct rmc_tx_open)
 * @flags: must be 0
 * @qp_id: as returned by RMC_IOC_QP_CREATE
 * @slots: how many, 1 .. RMC_TX_MAX_SLOTS
 * @bytes: that one of them writes at most, 1 .. RMC_TX_MAX_BYTES; 0: that
 * @unit: out, endpoint whose slots they are: which unit of the node has the queue pair
 * @slot_mask: out, bit s set: the queue pair may use slot s
 *
 * They are the queue pair's until it is destroyed. What is decided then is finished by the RMC;
 * anything else is aborted.
 *
 * ENOENT: this file has no such queue pair. EEXIST: it has slots. EOPNOTSUPP: it is ordered.
 * ENOSPC: fewer slots of its unit and context are free, or as many contexts as possible have slots
 * of its unit. EDQUOT: of slots of the node, or of kernel memory.
 */
struct rmc_tx_open {
	__u32 size;
	__u32 flags;
	__u32 qp_id;
	__u32 slots;
	__u32 bytes;
	__u32 unit;
	__u64 slot_mask;
};

#define RMC_IOC_TX_REG		_IO(RMC_IOC_TYPE, 0x50)
#define RMC_IOC_TX_OPEN		_IO(RMC_IOC_TYPE, 0x51)

#endif /* _UAPI_LINUX_RMC_TX_H */
