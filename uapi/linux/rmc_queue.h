/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR LGPL-2.1 OR MIT */
/*
 * Work and completion queues shared between an application and the RMC.
 *
 * Writers:
 *   WQ entry  - the application; the RMC only reads (and snapshots) it
 *   CQ entry  - the RMC; the application's mapping is read-only
 *   QP flags  - the RMC; the application's mapping is read-only
 *
 * WQ entry, 16 bytes, four per cache line (T18 section 3.6):
 *
 *   word0  63            16 15         6 5      1  0
 *         +----------------+------------+--------+---+
 *         |  lbuf (48 b)   | nid (10 b) | op(5b) | P |
 *         +----------------+------------+--------+---+
 *   word1  63            40 39                      0
 *         +----------------+------------------------+
 *         | length (24 b)  |     offset (40 b)      |
 *         +----------------+------------------------+
 *
 * P is the phase: 1 on the first lap over the ring, 0 on the second and so on,
 * so entries need no reset. Publish word1 first, then word0 with release semantics;
 * the RMC loads word0 with acquire semantics.
 *
 * CQ entry, 4 bytes, sixteen per cache line: slot, status and phase in one
 * 32-bit word, stored with release and loaded with acquire semantics. (The
 * paper's one-byte entry has no room for a status or a phase.)
 */
#ifndef _UAPI_LINUX_RMC_QUEUE_H
#define _UAPI_LINUX_RMC_QUEUE_H

#include <linux/types.h>

/* Operations. Operands of atomics live in the local buffer, see below. */
enum rmc_opcode {
	RMC_OP_NOP	= 0,	/* invalid in a WQ entry */
	RMC_OP_READ	= 1,	/* remote segment -> local buffer */
	RMC_OP_WRITE	= 2,	/* local buffer -> remote segment */
	RMC_OP_CAS	= 3,	/* lbuf: {u64 expected, u64 desired}; old value -> lbuf[0] */
	RMC_OP_FAA	= 4,	/* lbuf: {u64 addend};               old value -> lbuf[0] */
	RMC_OP_NOTIFY	= 5,	/* length 0: wake the process that armed the remote segment */
	RMC_OP_WRITE_NOTIFY = 6, /* write, then notify once all of it is stored */
	RMC_OP_SABRE	= 7,	/* remote object -> local buffer, atomically */
	RMC_OP_RMW	= 8,	/* length 4 or 8; lbuf: struct rmc_rmw; any other atomic */
	/* 9 .. 14: <linux/rmc_domain.h> */
	RMC_OP_RESUME	= 15,	/* length 0: an ordered queue pair that has stopped goes on */
	RMC_OP_WRITE_ONCE = 16,	/* a write that is never repeated when packets are lost */
	RMC_OP_MAX	= 32,	/* the field has five bits */
};

/* Kinds of RMC_OP_RMW; unsigned unless marked */
enum rmc_rmw_kind {
	RMC_RMW_SWAP	= 0,	/* value */
	RMC_RMW_ADD	= 1,	/* old + value */
	RMC_RMW_AND	= 2,
	RMC_RMW_OR	= 3,
	RMC_RMW_XOR	= 4,
	RMC_RMW_MIN	= 5,
	RMC_RMW_MAX	= 6,
	RMC_RMW_SMIN	= 7,	/* signed */
	RMC_RMW_SMAX	= 8,	/* signed */
	RMC_RMW_CAS	= 9,	/* if old and expected agree in the bits of compare_mask:
				 * the bits of swap_mask become those of value
				 */
	RMC_RMW_KINDS	= 10,
};

/**
 * struct rmc_rmw - operands of RMC_OP_RMW, in the local buffer
 * @old: out: the previous value; zero-extended for a 4-byte word
 * @kind: enum rmc_rmw_kind
 * @reserved: must be 0
 * @value: operand
 * @expected: RMC_RMW_CAS
 * @compare_mask: RMC_RMW_CAS; all ones compares all
 * @swap_mask: RMC_RMW_CAS; all ones replaces all
 *
 * The length of the WQ entry, 4 or 8, is the length and the alignment of the word. For a
 * 4-byte word only the lower halves of the operands are used. Another kind, or @reserved
 * not 0: RMC_S_BAD_OP. Only @old is written, so the other fields can be reused.
 */
struct rmc_rmw {
	__u64 old;
	__u32 kind;
	__u32 reserved;
	__u64 value;
	__u64 expected;
	__u64 compare_mask;
	__u64 swap_mask;
};

/* Status of a completion. rmc_strerror() has one line of help for each. */
enum rmc_status {
	RMC_S_OK		= 0,
	RMC_S_BAD_OP		= 1,	/* unknown operation */
	RMC_S_BAD_LENGTH	= 2,	/* zero (not zero for a notify), or not an atomic's */
	RMC_S_BAD_ALIGN		= 3,	/* atomic or object not on an 8-byte boundary */
	RMC_S_BAD_LBUF		= 4,	/* local buffer not (wholly) registered */
	RMC_S_BAD_NODE		= 5,	/* no such node in this fabric */
	RMC_S_BAD_CONTEXT	= 6,	/* destination has no segment under this context */
	RMC_S_OUT_OF_RANGE	= 7,	/* offset + length beyond the segment */
	RMC_S_READ_ONLY		= 8,	/* segment refuses remote writes and atomics */
	RMC_S_NODE_DOWN		= 9,	/* destination is not up, or died meanwhile */
	RMC_S_TIMEOUT		= 10,	/* no reply in time: request or reply was lost */
	RMC_S_ABORTED		= 11,	/* the QP or the operation was torn down, or it stopped */
	RMC_S_PROTOCOL		= 12,	/* peer broke the protocol */
	RMC_S_SABRE_ABORTED	= 13,	/* object changed while it was read */
	RMC_S_SABRE_LOCKED	= 14,	/* a writer holds the object: its version is odd */
	RMC_S_SABRE_LOST	= 15,	/* destination gave up waiting for request packets */
	RMC_S_NO_VERSION	= 16,	/* segment holds no objects, or version not in range */
	RMC_S_BUSY		= 17,	/* a line kept changing, or no memory: try again */
	RMC_S_MAX		= 18,
};

#define RMC_CACHE_LINE		64	/* unit of atomicity, bytes */
#define RMC_WQE_SIZE		16
#define RMC_CQE_SIZE		4

struct rmc_wq_entry {
	__u64 word0;
	__u64 word1;
};

struct rmc_cq_entry {
	__u32 word;
};

/* WQ entry fields */
#define RMC_WQE_PHASE		1ULL
#define RMC_WQE_OP_SHIFT	1
#define RMC_WQE_OP_MASK		0x1fULL
#define RMC_WQE_NID_SHIFT	6
#define RMC_WQE_NID_MASK	0x3ffULL
#define RMC_WQE_LBUF_SHIFT	16
#define RMC_WQE_LBUF_MASK	0xffffffffffffULL
#define RMC_WQE_OFFSET_MASK	0xffffffffffULL
#define RMC_WQE_LEN_SHIFT	40
#define RMC_WQE_LEN_MASK	0xffffffULL

/* CQ entry fields: phase bit 0, status bits 8..15, slot bits 16..31 */
#define RMC_CQE_PHASE		1U
#define RMC_CQE_STATUS_SHIFT	8
#define RMC_CQE_STATUS_MASK	0xffU
#define RMC_CQE_SLOT_SHIFT	16

#define RMC_NID_MAX		1023		/* largest node id the format carries */
#define RMC_LENGTH_MAX		0xffffffU	/* bytes in one operation */
#define RMC_SABRE_MAX		0x3fff80U	/* bytes in one SABRe: 65534 lines */
#define RMC_OFFSET_MAX		0xffffffffffULL	/* bytes into a segment */

static inline __u64 rmc_wqe_word0(unsigned int op, unsigned int nid,
				  __u64 lbuf, unsigned int phase)
{
	return ((lbuf & RMC_WQE_LBUF_MASK) << RMC_WQE_LBUF_SHIFT) |
	       (((__u64)nid & RMC_WQE_NID_MASK) << RMC_WQE_NID_SHIFT) |
	       (((__u64)op & RMC_WQE_OP_MASK) << RMC_WQE_OP_SHIFT) |
	       (phase & RMC_WQE_PHASE);
}

static inline __u64 rmc_wqe_word1(__u64 offset, __u32 length)
{
	return (((__u64)length & RMC_WQE_LEN_MASK) << RMC_WQE_LEN_SHIFT) |
	       (offset & RMC_WQE_OFFSET_MASK);
}

static inline __u32 rmc_cqe_word(unsigned int slot, unsigned int status,
				 unsigned int phase)
{
	return ((__u32)slot << RMC_CQE_SLOT_SHIFT) |
	       ((__u32)(status & RMC_CQE_STATUS_MASK) << RMC_CQE_STATUS_SHIFT) |
	       (phase & RMC_CQE_PHASE);
}

static inline unsigned int rmc_cqe_slot(__u32 word)
{
	return word >> RMC_CQE_SLOT_SHIFT;
}

static inline unsigned int rmc_cqe_status(__u32 word)
{
	return (word >> RMC_CQE_STATUS_SHIFT) & RMC_CQE_STATUS_MASK;
}

/*
 * QP flags page. A worker sets need_wakeup before it parks; a producer that sees it
 * non-zero after publishing calls RMC_IOC_WAKE. No fence is needed between publishing
 * and this check: before its last poll of the queues, the parking worker interrupts the
 * CPUs that run a process with the WQ mapped (Documentation/memory-ordering.rst).
 * shared_cpu and worker_cpu change when the worker moves, because its CPU went offline
 * or came back.
 */
struct rmc_qp_flags {
	__u32 need_wakeup;	/* non-zero: worker is parked, or about to */
	__u32 shared_cpu;	/* non-zero: worker shares CPUs, yield when waiting */
	__u32 worker_cpu;	/* CPU of the RGP worker, ~0 when it has none */
	__u32 dead;		/* non-zero: QP was torn down, nothing will complete */
	__u64 reserved[6];
};

#endif /* _UAPI_LINUX_RMC_QUEUE_H */
