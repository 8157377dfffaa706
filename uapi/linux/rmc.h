/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR LGPL-2.1 OR MIT */
/*
 * ioctl interface of the Remote Memory Controller.
 *
 *   /dev/rmc                     administrator: create and remove contexts
 *   /dev/rmc_contexts/<ctx_id>   applications; file mode is the access control
 *
 * Every argument struct starts with its own size. The kernel accepts a smaller
 * struct (missing fields are zero) and a larger one whose extra bytes are zero;
 * otherwise E2BIG. Errors that mean the same for every call:
 *
 *   EINVAL	struct shorter than its first version, or a field out of range
 *   EOPNOTSUPP	a flag or reserved field this kernel does not know; SEG_REG, BUF_REG:
 *		also a shared mapping of a file that is written back
 *   E2BIG	non-zero bytes beyond the struct this kernel knows
 *   EFAULT	argument or buffer address not accessible
 *   EBADF	the file is open for reading only, which suffices for QUERY, NODE_INFO
 *		and WATCH; CQ_ARM, SEG_ARM: not an eventfd
 *   ENOTTY	unknown ioctl on this device
 *   ENOMEM	out of memory, or RLIMIT_MEMLOCK would be exceeded
 *   ENOSPC	a limit that RMC_IOC_QUERY tells was reached
 *   EDQUOT	a quota that RMC_IOC_QUERY tells was reached: of the user who opened the
 *		file, or of all who use the context; also of open(). Whoever has
 *		CAP_SYS_RESOURCE exceeds them.
 *   ENXIO	the fabric has no such local node
 */
#ifndef _UAPI_LINUX_RMC_H
#define _UAPI_LINUX_RMC_H

#include <linux/types.h>
#include <linux/ioctl.h>
#include <linux/rmc_queue.h>

#define RMC_ABI_VERSION		1
#define RMC_IOC_TYPE		0xb7

/* Fabric kinds, as told by rmc_query.fabric */
enum rmc_fabric_kind {
	RMC_FABRIC_LOOPBACK	= 1,
	RMC_FABRIC_IVSHMEM	= 2,	/* one node per virtual machine */
	RMC_FABRIC_UML		= 3,	/* one node per User-Mode-Linux kernel */
};

/* How a SABRe makes sure of its snapshot, Documentation/sabre.rst */
enum rmc_sabre_mode {
	RMC_SABRE_DEFAULT	= 0,	/* what the kernel was told, rmc_query.sabre_mode */
	RMC_SABRE_OVERLAPPED	= 1,	/* version before and after, data fetched meanwhile */
	RMC_SABRE_SERIALIZED	= 2,	/* version, then data, then version */
	RMC_SABRE_LOCKED	= 3,	/* shared reader lock; writers must honour it */
};

/* NI organisations, as told by rmc_query.ni */
enum rmc_ni_kind {
	RMC_NI_FUSED		= 1,	/* one thread: RGP, RRPP and RCP */
	RMC_NI_PAIR		= 2,	/* RGP and RCP | RRPP */
	RMC_NI_EDGE		= 3,	/* one thread per unit: RGP, RRPP and RCP */
	RMC_NI_PER_TILE		= 4,	/* per unit: RGP and RCP | per RRPP */
	RMC_NI_SPLIT		= 5,	/* edge, and threads between it and queue pairs */
};

/* What this kernel can do besides, as told by rmc_query.features */
#define RMC_FEATURE_WATCH	(1U << 0)	/* RMC_IOC_WATCH */
#define RMC_FEATURE_URING_WAIT	(1U << 1)	/* RMC_URING_WAIT */
#define RMC_FEATURE_YIELD	(1U << 2)	/* RMC_WAKE_YIELD */
#define RMC_FEATURE_RANGES	(1U << 3)	/* RMC_IOC_SEG_ADD, RMC_IOC_SEG_DEL */

/**
 * struct rmc_query - ioctl(RMC_IOC_QUERY), on either device
 * @size: sizeof(struct rmc_query)
 * @flags: must be 0
 * @abi: RMC_ABI_VERSION of the kernel
 * @fabric: enum rmc_fabric_kind
 * @ni: enum rmc_ni_kind
 * @nodes: nodes in the fabric; node ids are 0 .. nodes - 1
 * @local_nodes: nodes hosted by this kernel
 * @first_local: lowest local node id
 * @nid: node this file is attached to, or -1
 * @ctx_id: context of this file, or -1 on the control device
 * @mtu: largest payload of one packet, bytes
 * @max_length: largest length of one operation, bytes
 * @max_segment: largest segment, bytes
 * @max_contexts: contexts in this kernel
 * @max_qps: queue pairs per node
 * @max_buffers: local buffers per file
 * @max_entries: entries in one WQ
 * @itt_entries: operations in flight per unit of a node
 * @op_mask: bit n set: opcode n works
 * @timeout_ms: a request without reply completes with RMC_S_TIMEOUT after this
 * @shared_cpu: workers share CPUs with applications
 * @features: RMC_FEATURE_*
 * @att_entries: SABRes that a node serves at once
 * @att_depth: lines of one SABRe fetched before its version is known
 * @att_stall_ms: a SABRe whose requests stay away for so long is ended
 * @sabre_mode: enum rmc_sabre_mode of segments that leave it open
 * @max_sabre: largest length of one SABRe, bytes
 * @max_waits: io_uring commands of one open context that wait at once
 * @units: units per node
 * @rrpps: of these serve requests
 * @interleave: consecutive bytes of a segment that one of these serves
 * @max_watches: event files in this kernel
 * @max_ranges: of a segment beside its first one; 0: RMC_IOC_SEG_ADD is not known
 * @local_path: non-zero: what a worker has both ends of may go without packets, such as what
 *	the node asks of itself; 0: everything goes in packets
 * @max_qps_user: queue pairs of one node that a user may have
 * @max_qps_context: that all users of a context may have
 * @max_files_user: contexts, of any id, that a user may have open
 * @max_files_context: how often a context may be open
 * @max_buffers_user: local buffers that a user may have
 * @max_buffers_context: that all users of a context may have
 * @queue_mib_user: MiB of kernel memory that a user's queue pairs may take
 * @queue_mib_context: that those of a context may take
 * @max_waits_user: io_uring commands of a user that may wait
 * @max_waits_context: io_uring commands that all users of a context may have waiting
 *
 * Quotas, from @max_qps_user on, are 0 where the kernel has none, and may change at
 * any time: Documentation/tenancy.rst.
 */
struct rmc_query {
	__u32 size;
	__u32 flags;
	__u32 abi;
	__u32 fabric;
	__u32 ni;
	__u32 nodes;
	__u32 local_nodes;
	__u32 first_local;
	__s32 nid;
	__s32 ctx_id;
	__u32 mtu;
	__u32 max_length;
	__u64 max_segment;
	__u32 max_contexts;
	__u32 max_qps;
	__u32 max_buffers;
	__u32 max_entries;
	__u32 itt_entries;
	__u32 timeout_ms;
	__u64 op_mask;
	__u32 shared_cpu;
	__u32 features;
	__u32 att_entries;
	__u32 att_depth;
	__u32 att_stall_ms;
	__u32 sabre_mode;
	__u32 max_sabre;
	__u32 max_waits;
	__u32 units;
	__u32 rrpps;
	__u32 interleave;
	__u32 max_watches;
	__u32 max_ranges;
	__u32 local_path;
	__u32 max_qps_user;
	__u32 max_qps_context;
	__u32 max_files_user;
	__u32 max_files_context;
	__u32 max_buffers_user;
	__u32 max_buffers_context;
	__u32 queue_mib_user;
	__u32 queue_mib_context;
	__u32 max_waits_user;
	__u32 max_waits_context;
};

/**
 * struct rmc_attach - ioctl(RMC_IOC_ATTACH): choose the node this file acts for
 * @size: sizeof(struct rmc_attach)
 * @flags: must be 0
 * @nid: local node id
 * @reserved: must be 0
 *
 * Without this call the first other call attaches to the lowest local node.
 * EBUSY: already attached to another node. ENXIO: @nid is not local.
 */
struct rmc_attach {
	__u32 size;
	__u32 flags;
	__u32 nid;
	__u32 reserved;
};

/* Memory flags of segments and local buffers */
#define RMC_MEM_READONLY	(1U << 0) /* segment: refuse remote writes and atomics */
#define RMC_MEM_ALLOC		(1U << 1) /* driver allocates; mmap it at mmap_offset */
#define RMC_MEM_NUMA		(1U << 2) /* with ALLOC: on numa_node */
#define RMC_MEM_OBJECTS		(1U << 3) /* segment: holds objects for SABRes */

/**
 * struct rmc_seg_reg - ioctl(RMC_IOC_SEG_REG): expose memory under this context
 * @size: sizeof(struct rmc_seg_reg)
 * @flags: RMC_MEM_*
 * @addr: start of the memory, on a cache line; must be 0 with RMC_MEM_ALLOC
 * @length: bytes, 1 .. max_segment
 * @numa_node: with RMC_MEM_NUMA
 * @reserved: must be 0
 * @mmap_offset: out, with RMC_MEM_ALLOC
 * @version_offset: with RMC_MEM_OBJECTS: where in an object its 8-byte version
 *	is, bytes from its start, a multiple of 8
 * @readers_offset: with RMC_MEM_OBJECTS: the same for the 4-byte count of
 *	readers, a multiple of 4; used by RMC_SABRE_LOCKED only
 * @sabre_mode: with RMC_MEM_OBJECTS: enum rmc_sabre_mode
 * @reserved2: must be 0
 *
 * One segment per context and node: EEXIST for the second. EADDRINUSE: some of the memory
 * is in another segment, which another worker serves: a line has one RRPP. It belongs to the
 * file and goes with it. Application memory is pinned, counts against
 * RLIMIT_MEMLOCK, and must be writable private or shared memory. Objects start
 * on 8-byte boundaries; their writers keep to <rmc/object.h>.
 */
struct rmc_seg_reg {
	__u32 size;
	__u32 flags;
	__u64 addr;
	__u64 length;
	__s32 numa_node;
	__u32 reserved;
	__u64 mmap_offset;
	__u32 version_offset;
	__u32 readers_offset;
	__u32 sabre_mode;
	__u32 reserved2;
};

/**
 * struct rmc_seg_unreg - ioctl(RMC_IOC_SEG_UNREG): withdraw this file's segment
 * @size: sizeof(struct rmc_seg_unreg)
 * @flags: must be 0
 *
 * On return no remote operation touches the memory any more. ENOENT: none.
 */
struct rmc_seg_unreg {
	__u32 size;
	__u32 flags;
};

/**
 * struct rmc_seg_add - ioctl(RMC_IOC_SEG_ADD): expose more memory in this file's segment
 * @size: sizeof(struct rmc_seg_add)
 * @flags: RMC_MEM_READONLY
 * @addr: start of the memory, on a cache line
 * @length: bytes, at least 1
 * @offset: where it begins in the segment, on a cache line; with @length at most
 *	max_segment
 *
 * Application memory, pinned as that of RMC_IOC_SEG_REG, whose mode and layout of objects
 * hold here as well. Notifications are the segment's. An operation lies in one range:
 * what crosses from one to another, or is in none, ends with RMC_S_OUT_OF_RANGE.
 *
 * ENOENT: no segment. EEXIST: overlaps the segment's first bytes or another range.
 * ENOSPC: there are max_ranges already. EADDRINUSE: as of RMC_IOC_SEG_REG.
 */
struct rmc_seg_add {
	__u32 size;
	__u32 flags;
	__u64 addr;
	__u64 length;
	__u64 offset;
};

/**
 * struct rmc_seg_del - ioctl(RMC_IOC_SEG_DEL): withdraw a range
 * @size: sizeof(struct rmc_seg_del)
 * @flags: must be 0
 * @offset: where it begins in the segment
 *
 * On return no remote operation touches the memory any more. RMC_IOC_SEG_UNREG withdraws
 * all of them. ENOENT: no range begins there.
 */
struct rmc_seg_del {
	__u32 size;
	__u32 flags;
	__u64 offset;
};

/**
 * struct rmc_buf_reg - ioctl(RMC_IOC_BUF_REG): memory local operands may live in
 * @size: sizeof(struct rmc_buf_reg)
 * @flags: RMC_MEM_ALLOC, RMC_MEM_NUMA
 * @addr: start, any alignment; must be 0 with RMC_MEM_ALLOC
 * @length: bytes, 1 .. max_segment
 * @numa_node: with RMC_MEM_NUMA
 * @buf_id: out
 * @mmap_offset: out, with RMC_MEM_ALLOC; usable as lbuf once it is mapped
 *
 * EEXIST: overlaps another buffer of this file. EDQUOT: the user or the context has as
 * many buffers as they may.
 */
struct rmc_buf_reg {
	__u32 size;
	__u32 flags;
	__u64 addr;
	__u64 length;
	__s32 numa_node;
	__u32 buf_id;
	__u64 mmap_offset;
};

/**
 * struct rmc_buf_unreg - ioctl(RMC_IOC_BUF_UNREG)
 * @size: sizeof(struct rmc_buf_unreg)
 * @flags: must be 0
 * @buf_id: as returned by RMC_IOC_BUF_REG
 * @reserved: must be 0
 *
 * Operations in flight that use the buffer complete with RMC_S_ABORTED.
 * ENOENT: no such buffer.
 */
struct rmc_buf_unreg {
	__u32 size;
	__u32 flags;
	__u32 buf_id;
	__u32 reserved;
};

/**
 * struct rmc_qp_create - ioctl(RMC_IOC_QP_CREATE)
 * @size: sizeof(struct rmc_qp_create)
 * @flags: must be 0
 * @entries: of the WQ and of the CQ; a power of two, 2 .. max_entries
 * @qp_id: out
 * @wq_offset: out, mmap of entries * RMC_WQE_SIZE bytes (page-rounded), read-write
 * @cq_offset: out, mmap of entries * RMC_CQE_SIZE bytes (page-rounded), read-only
 * @flags_offset: out, mmap of one page holding struct rmc_qp_flags, read-only
 *
 * ENOSPC: the node has max_qps already. EDQUOT: the user or the context has as many on
 * this node as they may, or their queues take as much memory. ENOMEM: also, the
 * memory cgroup of the caller, which pays for the queues, has no more.
 */
struct rmc_qp_create {
	__u32 size;
	__u32 flags;
	__u32 entries;
	__u32 qp_id;
	__u64 wq_offset;
	__u64 cq_offset;
	__u64 flags_offset;
};

/* Flags of RMC_IOC_WAKE */
#define RMC_WAKE_YIELD	(1U << 0)	/* nothing to do: let others on this CPU */

/**
 * struct rmc_qp_id - ioctl(RMC_IOC_QP_DESTROY), ioctl(RMC_IOC_WAKE)
 * @size: sizeof(struct rmc_qp_id)
 * @flags: RMC_IOC_QP_DESTROY: must be 0; RMC_IOC_WAKE: RMC_WAKE_* if
 *	RMC_FEATURE_YIELD is there
 * @qp_id: as returned by RMC_IOC_QP_CREATE
 * @reserved: must be 0
 *
 * ENOENT: this file has no such QP. After RMC_IOC_QP_DESTROY nothing of the
 * QP is touched any more; what was in flight will not complete.
 *
 * After RMC_IOC_WAKE what was posted before is being taken, or has been: a
 * worker's work is done by the caller where its thread sleeps, or waits for the
 * caller's CPU. With RMC_WAKE_YIELD it is sched_yield(2) for who waits for
 * completions: if there was no such work, others get the CPU. Then it returns 1
 * where the worker is at work on another CPU, so that to look is quicker than to
 * call again.
 */
struct rmc_qp_id {
	__u32 size;
	__u32 flags;
	__u32 qp_id;
	__u32 reserved;
};

/**
 * struct rmc_cq_arm - ioctl(RMC_IOC_CQ_ARM): tell once when a completion comes
 * @size: sizeof(struct rmc_cq_arm)
 * @flags: must be 0
 * @qp_id: as returned by RMC_IOC_QP_CREATE
 * @seen: completions the application consumed so far, modulo 2^32
 * @eventfd: written to as well when it comes, or -1
 * @reserved: must be 0
 *
 * When more than @seen completions have been posted already, it is told at
 * once. Told means: poll() on this file reports POLLIN until the QP is armed
 * again, and the eventfd is signalled once. No wake-up is lost between the
 * last look at the CQ and this call. ENOENT: no such QP. EBADF, EINVAL: not an
 * eventfd.
 *
 * When the QP is destroyed, an armed eventfd is signalled, and poll() reports POLLHUP if
 * the QP was armed or told, until this file is armed again, for whatever QP or segment
 * and even if that fails with ENOENT. By then the QP's flags page says that it is dead.
 * What poll() reports is the file's, so threads that sleep for different QPs of one file
 * use an eventfd for each.
 */
struct rmc_cq_arm {
	__u32 size;
	__u32 flags;
	__u32 qp_id;
	__u32 seen;
	__s32 eventfd;
	__u32 reserved;
};

/**
 * struct rmc_seg_arm - ioctl(RMC_IOC_SEG_ARM): tell once when a peer notifies
 * @size: sizeof(struct rmc_seg_arm)
 * @flags: must be 0
 * @seen: in: notifications the application knows of, modulo 2^32;
 *	out: how many there were when this was armed
 * @eventfd: written to as well when one comes, or -1
 *
 * For the segment of this file. Told means: poll() reports POLLPRI until the
 * segment is armed again, and the eventfd is signalled once; so peers cannot
 * wake a process more often than it asks to be. ENOENT: no segment. When the segment is
 * withdrawn, an armed eventfd is signalled and poll() reports POLLHUP, as with
 * RMC_IOC_CQ_ARM.
 */
struct rmc_seg_arm {
	__u32 size;
	__u32 flags;
	__u32 seen;
	__s32 eventfd;
};

/* Node states */
enum rmc_node_state {
	RMC_NODE_FREE	= 0,	/* nobody has claimed this id yet */
	RMC_NODE_JOINING = 1,
	RMC_NODE_UP	= 2,
	RMC_NODE_DOWN	= 3,	/* was up; left, or its heartbeat stopped */
};

/**
 * struct rmc_node_info - ioctl(RMC_IOC_NODE_INFO), on either device
 * @size: sizeof(struct rmc_node_info)
 * @flags: must be 0
 * @nid: node asked about; EINVAL when the fabric has no such id
 * @state: out, enum rmc_node_state as seen from the attached node
 * @epoch: out, how many times this id was claimed
 * @local: out, non-zero when hosted by this kernel
 */
struct rmc_node_info {
	__u32 size;
	__u32 flags;
	__u32 nid;
	__u32 state;
	__u32 epoch;
	__u32 local;
};

/* What may happen to nodes, as seen from the node that is asked */
enum rmc_event_type {
	RMC_EVENT_OVERFLOW	= 0,	/* the reader was too slow: lost records */
	RMC_EVENT_NODE_UP	= 1,	/* node nid is up under this epoch */
	RMC_EVENT_NODE_DOWN	= 2,	/* its life of this epoch has ended, or is silent */
	RMC_EVENT_LINK_UP	= 3,	/* operations to nid get through */
	RMC_EVENT_LINK_DOWN	= 4,	/* they complete with RMC_S_NODE_DOWN */
	RMC_EVENT_FENCED	= 5,	/* another kernel took our own node id over */
	RMC_EVENT_TYPES		= 6,
};

/**
 * struct rmc_node_event - what read() of an event file gives, one or more of them
 * @type: enum rmc_event_type
 * @nid: node it is about
 * @epoch: of its life that it is about
 * @lost: RMC_EVENT_OVERFLOW: how many events were not recorded; else 0
 * @time_ns: when it was noticed, CLOCK_MONOTONIC
 * @reserved: 0
 *
 * After an overflow ask with RMC_IOC_NODE_INFO how things are now: the events
 * behind it are later than what was lost.
 */
struct rmc_node_event {
	__u32 type;
	__u32 nid;
	__u32 epoch;
	__u32 lost;
	__u64 time_ns;
	__u64 reserved;
};

/* Flags of RMC_IOC_WATCH */
#define RMC_WATCH_NONBLOCK	(1U << 0)	/* read() gives EAGAIN rather than wait */

/**
 * struct rmc_watch - ioctl(RMC_IOC_WATCH), on either device: a file to read events from
 * @size: sizeof(struct rmc_watch)
 * @flags: RMC_WATCH_*
 * @types: bit n set: events of type n; 0: all. Overflows are always told.
 * @nid: on the control device, the local node that is asked, or -1 for the
 *	lowest; on a context, the attached node or -1. ENXIO otherwise.
 * @fd: out, closed on exec; poll() tells POLLIN when there is something to read
 * @reserved: must be 0
 *
 * The file tells what happens from now on; ask RMC_IOC_NODE_INFO afterwards and
 * nothing is missed. EBUSY: this open context has such a file already. ENOSPC: there are
 * rmc_query.max_watches, or the user has a quarter of them and is no administrator.
 */
struct rmc_watch {
	__u32 size;
	__u32 flags;
	__u32 types;
	__s32 nid;
	__s32 fd;
	__u32 reserved;
};

/**
 * struct rmc_ctx_create - ioctl(RMC_IOC_CTX_CREATE), control device only
 * @size: sizeof(struct rmc_ctx_create)
 * @flags: must be 0
 * @ctx_id: 0 .. max_contexts - 1
 * @mode: permission bits of /dev/rmc_contexts/<ctx_id>, at most 0777; devtmpfs
 *	makes 0600 of 0
 * @uid: owner
 * @gid: group
 *
 * EEXIST: the context exists.
 */
struct rmc_ctx_create {
	__u32 size;
	__u32 flags;
	__u32 ctx_id;
	__u32 mode;
	__u32 uid;
	__u32 gid;
};

/**
 * struct rmc_ctx_remove - ioctl(RMC_IOC_CTX_REMOVE), control device only
 * @size: sizeof(struct rmc_ctx_remove)
 * @flags: must be 0
 * @ctx_id: context to remove
 * @reserved: must be 0
 *
 * ENOENT: no such context. EBUSY: some process has it open.
 */
struct rmc_ctx_remove {
	__u32 size;
	__u32 flags;
	__u32 ctx_id;
	__u32 reserved;
};

/* What an io_uring command waits for: whatever comes first */
#define RMC_URING_CQ		(1U << 0)	/* a completion beyond cq_seen */
#define RMC_URING_SEG		(1U << 1)	/* a notification beyond seg_seen */
#define RMC_URING_EVENT		(1U << 2)	/* something to read in the event file */

/* The command's result: the source, and how often it happened, modulo 2^27 */
#define RMC_URING_SOURCES	0x7U
#define RMC_URING_COUNT_SHIFT	4
#define RMC_URING_COUNT_MASK	0x7ffffffU

/**
 * struct rmc_uring_wait - IORING_OP_URING_CMD on a context, cmd_op RMC_URING_WAIT
 * @sources: RMC_URING_*, one or more
 * @qp_id: RMC_URING_CQ: as returned by RMC_IOC_QP_CREATE
 * @cq_seen: completions the application consumed so far, modulo 2^32
 * @seg_seen: notifications of this file's segment it knows of, modulo 2^32
 *
 * In sqe->cmd; no SQE128 is needed. Completes once, with the source that was
 * first and its count (0 for an event file); look at all of them then. No
 * wake-up is lost between the last look and the submission, and arming for
 * poll() and eventfds is neither disturbed nor needed. Besides the errors above:
 *
 *   ENOENT	no such QP, segment or event file
 *   ENOSPC	rmc_query.max_waits of this open context wait already
 *   ESHUTDOWN	the QP, segment or event file went while the command waited
 *   ECANCELED	the ring is closed, or, since Linux 6.7, io_uring cancelled it
 */
struct rmc_uring_wait {
	__u32 sources;
	__u32 qp_id;
	__u32 cq_seen;
	__u32 seg_seen;
};

#define RMC_URING_WAIT		_IO(RMC_IOC_TYPE, 0x40)

#define RMC_IOC_QUERY		_IO(RMC_IOC_TYPE, 0x00)
#define RMC_IOC_NODE_INFO	_IO(RMC_IOC_TYPE, 0x01)
#define RMC_IOC_WATCH		_IO(RMC_IOC_TYPE, 0x02)
#define RMC_IOC_ATTACH		_IO(RMC_IOC_TYPE, 0x10)
#define RMC_IOC_SEG_REG		_IO(RMC_IOC_TYPE, 0x11)
#define RMC_IOC_SEG_UNREG	_IO(RMC_IOC_TYPE, 0x12)
#define RMC_IOC_BUF_REG		_IO(RMC_IOC_TYPE, 0x13)
#define RMC_IOC_BUF_UNREG	_IO(RMC_IOC_TYPE, 0x14)
#define RMC_IOC_QP_CREATE	_IO(RMC_IOC_TYPE, 0x15)
#define RMC_IOC_QP_DESTROY	_IO(RMC_IOC_TYPE, 0x16)
#define RMC_IOC_WAKE		_IO(RMC_IOC_TYPE, 0x17)
#define RMC_IOC_CQ_ARM		_IO(RMC_IOC_TYPE, 0x18)
#define RMC_IOC_SEG_ARM		_IO(RMC_IOC_TYPE, 0x19)
#define RMC_IOC_SEG_ADD		_IO(RMC_IOC_TYPE, 0x1a)
#define RMC_IOC_SEG_DEL		_IO(RMC_IOC_TYPE, 0x1b)
#define RMC_IOC_CTX_CREATE	_IO(RMC_IOC_TYPE, 0x20)
#define RMC_IOC_CTX_REMOVE	_IO(RMC_IOC_TYPE, 0x21)

#endif /* _UAPI_LINUX_RMC_H */
