/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR LGPL-2.1 OR MIT */
/*
 * ioctl interface of the Remote Memory Controller.
 *
 *   /dev/rmc                     administrator: create and remove contexts
 *   /dev/rmc_contexts/<ctx_id>   applications; file mode is the access control
 *
 * Every argument struct starts with its own size. The kernel accepts a smaller
 * struct (missing fields are zero) and a larger one whose extra bytes are zero;
 * otherwise E2BIG. Errors with the same meaning for every call:
 *
 *   EINVAL	struct shorter than its first version, or a field out of range
 *   EOPNOTSUPP	a flag or reserved field this kernel does not know; SEG_REG, BUF_REG:
 *		also a shared mapping of a file with writeback
 *   E2BIG	non-zero bytes beyond the struct this kernel knows
 *   EFAULT	argument or buffer address not accessible
 *   EBADF	the file is open for reading only, which suffices for QUERY, NODE_INFO
 *		and WATCH; CQ_ARM, SEG_ARM: not an eventfd
 *   ENOTTY	unknown ioctl on this device
 *   ENOMEM	out of memory, or RLIMIT_MEMLOCK would be exceeded
 *   ENOSPC	a limit that RMC_IOC_QUERY returns was reached
 *   EDQUOT	a quota that RMC_IOC_QUERY returns was reached: of the user who opened the
 *		file, or of the context; also returned by open(). CAP_SYS_RESOURCE
 *		overrides quotas.
 *   ENXIO	the fabric has no such local node
 */
#ifndef _UAPI_LINUX_RMC_H
#define _UAPI_LINUX_RMC_H

#include <linux/types.h>
#include <linux/ioctl.h>
#include <linux/rmc_queue.h>

#define RMC_ABI_VERSION		1
#define RMC_IOC_TYPE		0xb7

/* Fabric kinds: values of rmc_query.fabric */
enum rmc_fabric_kind {
	RMC_FABRIC_LOOPBACK	= 1,
	RMC_FABRIC_IVSHMEM	= 2,	/* one node per virtual machine */
	RMC_FABRIC_UML		= 3,	/* one node per User-Mode-Linux kernel */
};

/* How the destination validates the snapshot of a SABRe, Documentation/sabre.rst */
enum rmc_sabre_mode {
	RMC_SABRE_DEFAULT	= 0,	/* the kernel's default, rmc_query.sabre_mode */
	RMC_SABRE_OVERLAPPED	= 1,	/* version before and after, data fetched meanwhile */
	RMC_SABRE_SERIALIZED	= 2,	/* version, then data, then version */
	RMC_SABRE_LOCKED	= 3,	/* shared reader lock; writers must honour it */
	RMC_SABRE_TX		= 4,	/* objects are in the range of RMC_IOC_TX_REG, have no
					 * version, and are written by transactions only. Only with
					 * one unit per node: -EOPNOTSUPP otherwise
					 */
};

/* NI organisations: values of rmc_query.ni */
enum rmc_ni_kind {
	RMC_NI_FUSED		= 1,	/* one thread: RGP, RRPP and RCP */
	RMC_NI_PAIR		= 2,	/* RGP and RCP | RRPP */
	RMC_NI_EDGE		= 3,	/* one thread per unit: RGP, RRPP and RCP */
	RMC_NI_PER_TILE		= 4,	/* per unit: RGP and RCP | per RRPP */
	RMC_NI_SPLIT		= 5,	/* edge, and frontend threads that poll queue pairs */
};

/* Optional features: bits of rmc_query.features */
#define RMC_FEATURE_WATCH	(1U << 0)	/* RMC_IOC_WATCH */
#define RMC_FEATURE_URING_WAIT	(1U << 1)	/* RMC_URING_WAIT */
#define RMC_FEATURE_YIELD	(1U << 2)	/* RMC_WAKE_YIELD */
#define RMC_FEATURE_RANGES	(1U << 3)	/* RMC_IOC_SEG_ADD, RMC_IOC_SEG_DEL */
#define RMC_FEATURE_LOCAL_BYTES	(1U << 4)	/* rmc_node_info.local_bytes */
#define RMC_FEATURE_URING_MSG	(1U << 5)	/* RMC_URING_WAIT_MSG, <linux/rmc_domain.h> */
#define RMC_FEATURE_ORDERED	(1U << 6)	/* RMC_QP_ORDERED, RMC_OP_RESUME */
#define RMC_FEATURE_TX		(1U << 7)	/* <linux/rmc_tx.h> */

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
 * @op_mask: bit n set: opcode n is supported
 * @timeout_ms: a request without reply completes with RMC_S_TIMEOUT after this
 * @shared_cpu: workers share CPUs with applications
 * @features: RMC_FEATURE_*
 * @att_entries: SABRes that a node serves at the same time
 * @att_depth: lines of one SABRe fetched before its version is known
 * @att_stall_ms: a SABRe without further requests is ended after this
 * @sabre_mode: enum rmc_sabre_mode of segments registered with RMC_SABRE_DEFAULT
 * @max_sabre: largest length of one SABRe, bytes
 * @max_waits: io_uring commands of one open context that may wait
 * @units: units per node
 * @rrpps: units per node that have an RRPP
 * @interleave: consecutive bytes of a segment that one RRPP serves
 * @max_watches: event files in this kernel
 * @max_ranges: further ranges of a segment; 0: no RMC_IOC_SEG_ADD
 * @local_path: non-zero: operations of this node on its own segments, if not too long, take the
 *	local path, without packets; 0: all of them take the packet path. Of operations on other
 *	nodes, and of their lengths, see rmc_node_info.local_bytes
 * @max_qps_user: queue pairs of one node that a user may have
 * @max_qps_context: queue pairs of one node that all users of a context may have
 * @max_files_user: contexts, of any id, that a user may have open
 * @max_files_context: number of times that a context may be open
 * @max_buffers_user: local buffers that a user may have
 * @max_buffers_context: local buffers that all users of a context may have
 * @queue_mib_user: MiB of kernel memory that a user's queue pairs may take
 * @queue_mib_context: MiB of kernel memory that a context's queue pairs may take
 * @max_waits_user: io_uring commands of a user that may wait
 * @max_waits_context: io_uring commands of all users of a context that may wait
 * @max_tx_slots_user: slots for transactions of one node that a user may have
 * @max_tx_slots_context: slots for transactions of one node that all users of a context may have
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
	__u32 max_tx_slots_user;
	__u32 max_tx_slots_context;
};

/**
 * struct rmc_attach - ioctl(RMC_IOC_ATTACH): choose the node of this file
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
 * @version_offset: with RMC_MEM_OBJECTS: offset of the 8-byte version in an object,
 *	bytes, a multiple of 8
 * @readers_offset: with RMC_MEM_OBJECTS: offset of the 4-byte reader count in an object,
 *	bytes, a multiple of 4; used by RMC_SABRE_LOCKED only
 * @sabre_mode: with RMC_MEM_OBJECTS: enum rmc_sabre_mode
 * @reserved2: must be 0
 *
 * One segment per context and node: EEXIST for the second. EADDRINUSE: some of the memory is
 * exposed already, and a different worker would serve it here; one worker serves a line.
 * The segment belongs to the file; the last close removes it. Application memory is pinned,
 * counts against RLIMIT_MEMLOCK, and must be writable private or shared memory. Objects
 * start on 8-byte boundaries; their writers follow <rmc/object.h>.
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
 * On return no remote operation touches the memory any more. ENOENT: no segment.
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
 * @offset: start in the segment, on a cache line; @offset + @length is at most max_segment
 *
 * Application memory, pinned like that of RMC_IOC_SEG_REG, with the same SABRe mode and
 * object layout. Notifications belong to the segment. An operation must lie in one range:
 * one that crosses a boundary, or is in no range, completes with RMC_S_OUT_OF_RANGE.
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
 * @offset: start of the range in the segment
 *
 * On return no remote operation touches the memory any more. RMC_IOC_SEG_UNREG withdraws
 * all ranges. ENOENT: no range starts there.
 */
struct rmc_seg_del {
	__u32 size;
	__u32 flags;
	__u64 offset;
};

/**
 * struct rmc_buf_reg - ioctl(RMC_IOC_BUF_REG): register memory for local operands
 * @size: sizeof(struct rmc_buf_reg)
 * @flags: RMC_MEM_ALLOC, RMC_MEM_NUMA
 * @addr: start, any alignment; must be 0 with RMC_MEM_ALLOC
 * @length: bytes, 1 .. max_segment
 * @numa_node: with RMC_MEM_NUMA
 * @buf_id: out
 * @mmap_offset: out, with RMC_MEM_ALLOC; usable as lbuf once it is mapped
 *
 * EEXIST: overlaps another buffer of this file. EDQUOT: a quota of the user or the context
 * is reached.
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

/*
 * Flags of a queue pair. RMC_QP_ORDERED: for each destination node, in the order of the WQ, also if
 * the fabric disorders packets and nodes have several RRPPs:
 *
 *   - an atomic takes effect before the operations behind it,
 *   - a write or notification before the writes, notifications and atomics behind it,
 *   - a write line by line, in rising order of addresses, for other operations. The first word that
 *     is written of a line is stored last in it: a CPU of the owner that reads its new value, by a
 *     load that acquires, sees that line and those before it.
 *
 * A read is not ordered with what is behind it, SABRes and messages with nothing. Completions come
 * in any order. Such operations are never retried (module parameter retries).
 *
 * When a read, write, notification or atomic ends with another status than RMC_S_OK, the queue pair
 * stops: those behind it that have not begun end with RMC_S_ABORTED, until an entry with
 * RMC_OP_RESUME. A read with RMC_S_BUSY does not stop it. What has begun behind a write,
 * notification or atomic that the server refused may take effect; if the status came from the RMC
 * of this node (TIMEOUT, NODE_DOWN, ABORTED), only if the failed one has or will. A failed read
 * says nothing of what is behind it.
 *
 * What a switch answers (<linux/rmc_switch.h>, a model) has no order with what the node behind it
 * does.
 *
 * What ended with TIMEOUT, NODE_DOWN or ABORTED may still take effect, before the writes and
 * atomics behind RMC_OP_RESUME. Where nodes have several RRPPs, those wait for it, but no longer
 * than timeout_ms: what is later than that may take effect behind them.
 */
#define RMC_QP_ORDERED	(1U << 0)

/**
 * struct rmc_qp_create - ioctl(RMC_IOC_QP_CREATE)
 * @size: sizeof(struct rmc_qp_create)
 * @flags: RMC_QP_*, with RMC_FEATURE_ORDERED; else must be 0
 * @entries: size of the WQ and of the CQ; a power of two, 2 .. max_entries
 * @qp_id: out
 * @wq_offset: out, mmap of entries * RMC_WQE_SIZE bytes (page-rounded), read-write
 * @cq_offset: out, mmap of entries * RMC_CQE_SIZE bytes (page-rounded), read-only
 * @flags_offset: out, mmap of one page holding struct rmc_qp_flags, read-only
 *
 * ENOSPC: the node has max_qps already. EDQUOT: a quota of the user or the context is
 * reached, of queue pairs on this node or of their memory. ENOMEM: also, the limit of the
 * caller's memory cgroup, which is charged for the queues, is reached.
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
#define RMC_WAKE_YIELD	(1U << 0)	/* yield the CPU if there is no work */

/**
 * struct rmc_qp_id - ioctl(RMC_IOC_QP_DESTROY), ioctl(RMC_IOC_WAKE)
 * @size: sizeof(struct rmc_qp_id)
 * @flags: RMC_IOC_QP_DESTROY: must be 0; RMC_IOC_WAKE: RMC_WAKE_*, with
 *	RMC_FEATURE_YIELD
 * @qp_id: as returned by RMC_IOC_QP_CREATE
 * @reserved: must be 0
 *
 * ENOENT: this file has no such QP. After RMC_IOC_QP_DESTROY the RMC touches nothing
 * of the QP any more; operations in flight will not complete.
 *
 * RMC_IOC_WAKE makes the RMC take the operations posted before. If the worker's thread
 * sleeps, or waits for the caller's CPU, the caller polls in its place. With RMC_WAKE_YIELD
 * it replaces sched_yield(2) for a process that waits for completions: without work it
 * yields the CPU. It then returns 1 if the worker runs on another CPU: polling the CQ is
 * faster than another call.
 */
struct rmc_qp_id {
	__u32 size;
	__u32 flags;
	__u32 qp_id;
	__u32 reserved;
};

/**
 * struct rmc_cq_arm - ioctl(RMC_IOC_CQ_ARM): report the next completion once
 * @size: sizeof(struct rmc_cq_arm)
 * @flags: must be 0
 * @qp_id: as returned by RMC_IOC_QP_CREATE
 * @seen: completions the application consumed so far, modulo 2^32
 * @eventfd: eventfd to signal as well, or -1
 * @reserved: must be 0
 *
 * If more than @seen completions have been posted already, the report comes at once. The
 * report: poll() on this file returns POLLIN until the QP is armed again, and the eventfd
 * is signalled once. No wake-up is lost between the last check of the CQ and this call.
 * ENOENT: no such QP. EBADF, EINVAL: not an eventfd.
 *
 * When the QP is destroyed, an armed eventfd is signalled, and poll() returns POLLHUP if
 * the QP was armed or reported. POLLHUP stays until the next arming of any QP or segment of
 * this file, even one that fails with ENOENT. By then the QP's flags page marks it as dead.
 * poll() reports for the whole file, so threads that sleep for different QPs of one file
 * use one eventfd each.
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
 * struct rmc_seg_arm - ioctl(RMC_IOC_SEG_ARM): report the next notification once
 * @size: sizeof(struct rmc_seg_arm)
 * @flags: must be 0
 * @seen: in: notifications that the application has seen, modulo 2^32;
 *	out: their number when this was armed
 * @eventfd: eventfd to signal as well, or -1
 *
 * For the segment of this file. The report: poll() returns POLLPRI until the segment is
 * armed again, and the eventfd is signalled once. So peers cannot wake a process more often
 * than it arms. ENOENT: no segment. When the segment is withdrawn, an armed eventfd is
 * signalled and poll() returns POLLHUP, as with RMC_IOC_CQ_ARM.
 */
struct rmc_seg_arm {
	__u32 size;
	__u32 flags;
	__u32 seen;
	__s32 eventfd;
};

/* Node states */
enum rmc_node_state {
	RMC_NODE_FREE	= 0,	/* never claimed */
	RMC_NODE_JOINING = 1,
	RMC_NODE_UP	= 2,
	RMC_NODE_DOWN	= 3,	/* was up; left, or its heartbeat stopped */
};

/**
 * struct rmc_node_info - ioctl(RMC_IOC_NODE_INFO), on either device
 * @size: sizeof(struct rmc_node_info)
 * @flags: must be 0
 * @nid: node id; EINVAL when the fabric has no such id
 * @state: out, enum rmc_node_state as seen from the attached node
 * @epoch: out, number of times this id was claimed
 * @local: out, non-zero when hosted by this kernel
 * @local_bytes: out, operations of the attached node on this one take the local path, without
 *	packets, if they end at most so many bytes after the start of their first 64-byte line:
 *	reads, writes and SABRes. All others do up to rmc_query.mtu, and so do these where
 *	tenants share the worker. 0: all operations need packets. It changes with the node's
 *	local_path and with filters. An operation behind packets to the same node needs
 *	packets, too. On the control device: of the lowest local node. Without
 *	RMC_FEATURE_LOCAL_BYTES the kernel leaves it as it is
 */
struct rmc_node_info {
	__u32 size;
	__u32 flags;
	__u32 nid;
	__u32 state;
	__u32 epoch;
	__u32 local;
	__u32 local_bytes;
};

/* Events of nodes and links, as seen from the watching node */
enum rmc_event_type {
	RMC_EVENT_OVERFLOW	= 0,	/* the reader was too slow: lost records */
	RMC_EVENT_NODE_UP	= 1,	/* node nid is up under this epoch */
	RMC_EVENT_NODE_DOWN	= 2,	/* the node of this epoch has left, or is silent */
	RMC_EVENT_LINK_UP	= 3,	/* operations to nid get through */
	RMC_EVENT_LINK_DOWN	= 4,	/* operations to nid complete with RMC_S_NODE_DOWN */
	RMC_EVENT_FENCED	= 5,	/* another kernel has claimed our own node id */
	RMC_EVENT_TYPES		= 6,
};

/**
 * struct rmc_node_event - record of an event file; read() returns one or more
 * @type: enum rmc_event_type
 * @nid: node of the event
 * @epoch: epoch of @nid
 * @lost: RMC_EVENT_OVERFLOW: number of events that were not recorded; else 0
 * @time_ns: time of the record, CLOCK_MONOTONIC
 * @reserved: 0
 *
 * After an overflow query the current states with RMC_IOC_NODE_INFO: the records that
 * follow are later than the lost ones.
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
#define RMC_WATCH_NONBLOCK	(1U << 0)	/* read() fails with EAGAIN instead of waiting */

/**
 * struct rmc_watch - ioctl(RMC_IOC_WATCH), on either device: create an event file
 * @size: sizeof(struct rmc_watch)
 * @flags: RMC_WATCH_*
 * @types: bit n set: events of type n; 0: all. Overflows are always recorded.
 * @nid: on the control device, the local node that watches, or -1 for the
 *	lowest; on a context, the attached node or -1. ENXIO otherwise.
 * @fd: out, closed on exec; poll() returns POLLIN when there is a record
 * @reserved: must be 0
 *
 * The file records events from now on; call RMC_IOC_NODE_INFO afterwards, and no change is
 * missed. EBUSY: this open context has an event file already. ENOSPC: the kernel has
 * rmc_query.max_watches, or a user without CAP_SYS_ADMIN has a quarter of them.
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
 * ENOENT: no such context. EBUSY: the context is open.
 */
struct rmc_ctx_remove {
	__u32 size;
	__u32 flags;
	__u32 ctx_id;
	__u32 reserved;
};

/* Sources that an io_uring command waits for; the first one completes it */
#define RMC_URING_CQ		(1U << 0)	/* a completion beyond cq_seen */
#define RMC_URING_SEG		(1U << 1)	/* a notification beyond seg_seen */
#define RMC_URING_EVENT		(1U << 2)	/* a record in the event file */

#define RMC_URING_SOURCES	0x7U

/*
 * The command's result: the source, and its count, modulo 2^27. The source has four bits; those
 * that may come have other values than these three, of one bit or several.
 */
#define RMC_URING_SOURCE_MASK	0xfU
#define RMC_URING_COUNT_SHIFT	4
#define RMC_URING_COUNT_MASK	0x7ffffffU

/**
 * struct rmc_uring_wait - IORING_OP_URING_CMD on a context, cmd_op RMC_URING_WAIT
 * @sources: RMC_URING_*, one or more
 * @qp_id: RMC_URING_CQ: as returned by RMC_IOC_QP_CREATE
 * @cq_seen: completions the application consumed so far, modulo 2^32
 * @seg_seen: notifications of this file's segment seen so far, modulo 2^32
 *
 * In sqe->cmd; no SQE128 is needed. Completes once, with the first source and its
 * count (0 for an event file); the application then checks all sources. No wake-up is
 * lost between the last check and the submission. Arming for poll() and eventfds is
 * independent of it. Besides the errors above:
 *
 *   ENOENT	no such QP, segment or event file
 *   ENOSPC	rmc_query.max_waits of this open context wait already
 *   ESHUTDOWN	the QP, segment or event file was destroyed meanwhile
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
