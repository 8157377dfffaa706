/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR LGPL-2.1 OR MIT */
/*
 * Native messaging: domains, send slots and arrival queues (Documentation/messaging.rst).
 *
 *   sender                                             receiver
 *     takes a send slot: valid = 1, turn + 1
 *     RMC_OP_SEND, a WQ entry ---------------------->    receive slot, at the same number
 *     CQ entry: the message lies there                   the RMC chooses a core:
 *                                                        arrival queue entry
 *                                                        ... reads the message in place ...
 *     valid = 0: the slot is free <------------------    RMC_OP_RECEIVE, a WQ entry
 *
 * The structs of the calls follow the rules of <linux/rmc.h>, with its errors. Without messages an
 * RMC answers all of these calls with ENOTTY.
 */
#ifndef _UAPI_LINUX_RMC_DOMAIN_H
#define _UAPI_LINUX_RMC_DOMAIN_H

#include <linux/rmc.h>

/*
 * Operations, of a queue pair that is attached to a domain. Their offset in the WQ entry is
 * rmc_slot_offset() of the slot and the turn of its message.
 */
enum rmc_domain_opcode {
	RMC_OP_SEND	= 9,	/* local buffer -> receive slot of the node */
	RMC_OP_OFFER	= 10,	/* the same; the message describes data that the receiver reads */
	RMC_OP_RECEIVE	= 11,	/* length 0: the message was processed, its slot is free */
	RMC_OP_JOIN	= 12,	/* length 8: compare parameters, exchange lives; lbuf: RMC_JOIN_* */
	RMC_OP_REPLY	= 13,	/* as RECEIVE, and local buffer -> answer slot of the sender */
	RMC_OP_READY	= 14,	/* length 0: the core takes one more message beside this one */
};

/* More of enum rmc_status */
enum rmc_domain_status {
	RMC_S_NO_DOMAIN		= 18,	/* no domain: at the destination, or of the queue pair */
	RMC_S_DOMAIN_MISMATCH	= 19,	/* other parameters, or no JOIN in this life of both */
	RMC_S_BAD_SLOT		= 20,	/* no such slot, not its next message, or not held */
	RMC_S_SLOT_BUSY		= 21,	/* the message before is still in the slot */
	RMC_S_DOMAIN_MAX	= 22,
};

#define RMC_MAX_SLOTS		4096		/* of a pair of nodes */
#define RMC_MAX_MESSAGE		1048512		/* bytes: 1 MiB less a line */
#define RMC_MAX_ANSWER		65536		/* bytes */
#define RMC_MAX_MEMBERS		64		/* files that share a domain */

#define RMC_SLOT_SHIFT		28
#define RMC_TURN_SHIFT		20

/* Offset in the WQ entry: a slot, and the lowest 8 bits of the turn */
static inline __u64 rmc_slot_offset(__u32 slot, __u8 turn)
{
	return (__u64)slot << RMC_SLOT_SHIFT | (__u64)turn << RMC_TURN_SHIFT;
}

/*
 * What a JOIN returns: the life of the peer's domain; of the slot that it named, the lowest bits
 * of the turn that was delivered last, and whether that message was processed. A sender whose SEND
 * ended without an answer asks by it.
 */
#define RMC_JOIN_LIFE(state)	((__u32)(state))
#define RMC_JOIN_TURN(state)	((__u8)((state) >> 32))
#define RMC_JOIN_FREE		(1ULL << 40)
#define RMC_JOIN_HIGH(state)	((__u32)((state) >> 41) & 0x3ffff)	/* 18 bits above those */

/*
 * A JOIN of this offset gives a message up, at the peer as well: the one of that turn, if it is the
 * slot's next and not complete. What comes of it later has no effect, and the state that the JOIN
 * returns has that turn, and RMC_JOIN_FREE. So a process goes on with slots of one that has died.
 * A message that is complete, or of another turn, is not changed.
 */
#define RMC_JOIN_SKIP		64U

static inline __u64 rmc_skip_offset(__u32 slot, __u8 turn)
{
	return rmc_slot_offset(slot, turn) | RMC_JOIN_SKIP;
}

/*
 * A domain that @members files share: file @member, from 0 on, has slots rmc_member_first(slots,
 * members, member) .. rmc_member_first(slots, members, member + 1) - 1 of each pair, and as large
 * a part of the cores. Other slots it has no right to send by, nor sees changes of their words.
 */
static inline __u32 rmc_member_first(__u32 n, __u32 members, __u32 member)
{
	return n * member / members;
}

/**
 * struct rmc_send_slot - a send slot; the node's N * S slots are an array, by node and number
 * @valid: 1: in use; the RMC stores 0, with release, when the RECEIVE has arrived, or 2 when the
 *	whole REPLY has: then the answer is in the answer slot until the application stores 0
 * @reserved: 0
 * @owner: the application's
 * @turn: number of the message in it, from 1 on in each life of the domain
 * @size: the application's
 * @pad: 0
 * @ptr: the application's
 * @cookie: the application's
 *
 * The application takes a slot that is not valid, and whose last SEND has completed: it writes
 * @owner and @turn first, then @valid with release. Until the slot is free again it changes none
 * of these, but for @valid if a JOIN says that the message was processed: the RMC compares and
 * swaps them at once.
 */
struct rmc_send_slot {
	__u8 valid;
	__u8 reserved;
	__u16 owner;
	__u32 turn;
	__u32 size;
	__u32 pad;
	__u64 ptr;
	__u64 cookie;
};

#define RMC_SEND_FREE		0
#define RMC_SEND_USED		1
#define RMC_SEND_ANSWERED	2

/*
 * Begin of an answer slot, one line; the answer follows. The RMC writes both before it stores
 * RMC_SEND_ANSWERED in the send slot, and changes neither before the slot's next message.
 */
struct rmc_answer {
	__u32 length;			/* bytes */
	__u32 turn;			/* of the message that it answers */
	__u8 pad[56];
};

#define RMC_AQ_HEAD		48	/* first bytes of the message that an entry has */

/*
 * Arrival queue entry, one line. The RMC stores word 0 last, with release; the application loads
 * it with acquire, and copies what it needs: the entry may be overwritten while the message is
 * still held. P is the phase, as in the CQ.
 *
 *   word 0   63  62    42 41     34 33      22 21     12 11    4   3     2  1     0
 *           | 0 | len(21) | turn(8) | slot(12) | nid(10) | 0 (8) | again | kind(2) | P |
 */
struct rmc_aq_entry {
	__u64 word0;
	__u64 stamp;			/* complete, or its batch began: CLOCK_MONOTONIC, ns */
	__u8 head[RMC_AQ_HEAD];
};

enum rmc_aq_kind {
	RMC_AQ_MESSAGE	= 0,
	RMC_AQ_OFFER	= 1,	/* of RMC_OP_OFFER */
};

#define RMC_AQ_KIND_SHIFT	1
#define RMC_AQ_KIND_MASK	3U
#define RMC_AQ_AGAIN		(1ULL << 3)	/* a core that had the message is gone */
#define RMC_AQ_NID_SHIFT	12
#define RMC_AQ_SLOT_SHIFT	22
#define RMC_AQ_TURN_SHIFT	34
#define RMC_AQ_LEN_SHIFT	42

/* Who gets the next message: Documentation/messaging.rst */
enum rmc_dom_policy {
	RMC_DOM_RR	= 0,	/* round robin */
	RMC_DOM_STATIC	= 1,	/* the core that its source is bound to (16x1) */
	RMC_DOM_RANDOM	= 2,	/* a random core */
	RMC_DOM_GREEDY	= 3,	/* one queue, any core that has room (1xN) */
	RMC_DOM_GROUPS	= 4,	/* one queue for each group of cores (4x4) */
	RMC_DOM_JSQ	= 5,	/* the core with the least work */
	RMC_DOM_SQ2	= 6,	/* the one with less work of two random cores */
	RMC_DOM_JIQ	= 7,	/* a core without work, else the one of its source */
	RMC_DOM_STEAL	= 8,	/* static; a core without messages takes those of others */
	RMC_DOM_KEYED	= 9,	/* static; the others keep theirs when a core comes or goes */
	RMC_DOM_CLASS	= 10,	/* classes of urgency, 0 first; with RMC_DOM_KEY */
	RMC_DOM_HIER	= 11,	/* the group with less work of two random ones */
	RMC_DOM_SHARED	= 12,	/* one arrival queue, from which threads take under a lock */
	RMC_DOM_POLICIES = 13,
};

/**
 * struct rmc_dom_query - ioctl(RMC_IOC_DOM_QUERY)
 * @size: sizeof(struct rmc_dom_query)
 * @flags: must be 0
 * @policies: out, bit n set: RMC_IOC_DOM_CREATE takes policy n
 * @max_slots: out, slots of a pair of nodes
 * @max_message: out, bytes of a message
 * @max_cores: out, cores of a domain on one node
 * @max_depth: out, messages that a core may have
 * @max_answer: out, bytes of an answer
 * @max_members: out, files that share a domain; 0: no other file can open one
 * @max_wake_us: out, longest @wake_us of RMC_IOC_DOM_CREATE
 * @reserved: out, 0
 */
struct rmc_dom_query {
	__u32 size;
	__u32 flags;
	__u64 policies;
	__u32 max_slots;
	__u32 max_message;
	__u32 max_cores;
	__u32 max_depth;
	__u32 max_answer;
	__u32 max_members;
	__u32 max_wake_us;
	__u32 reserved;
};

/* Flags of RMC_IOC_DOM_CREATE */
#define RMC_DOM_REQUEUE	(1U << 0)	/* what a core has that goes is given to others */
#define RMC_DOM_KEY	(1U << 1)	/* messages have a key: 64 bits at @key_offset, as stored */

/**
 * struct rmc_dom_create - ioctl(RMC_IOC_DOM_CREATE): the domain of this context on this node
 * @size: sizeof(struct rmc_dom_create)
 * @flags: RMC_DOM_*
 * @first_nid: first node of the domain
 * @nodes: number of nodes, N; @first_nid + @nodes is at most rmc_query.nodes
 * @slots: slots of each pair of nodes, S, 1 .. max_slots
 * @max_message: bytes of a message, 1 .. max_message
 * @policy: enum rmc_dom_policy
 * @depth: messages that a core may have, 1 .. max_depth. 1: the next one when the one before
 *	was processed
 * @cores: most cores, 1 .. max_cores
 * @groups: RMC_DOM_GROUPS, RMC_DOM_HIER: groups of cores, 1 .. @cores; else 1
 * @stride: out, bytes from a receive slot to the next; the message begins after 64 of them
 * @life: out, differs from that of every earlier domain of this context and node
 * @recv_offset: out, mmap of N * S * @stride bytes (page-rounded), read-only
 * @send_offset: out, mmap of N * S struct rmc_send_slot (page-rounded), read-write
 * @max_answer: bytes of an answer, 0 .. max_answer; 0: RMC_OP_REPLY is refused
 * @answer_stride: out, bytes from an answer slot to the next; struct rmc_answer, then the answer
 * @answer_offset: out, with @max_answer: mmap of N * S * @answer_stride bytes (page-rounded),
 *	read-only
 * @key_offset: RMC_DOM_KEY: bytes from the begin of a message to its key; else 0. With
 *	RMC_DOM_CLASS the key is the class, of which all beyond the last one are the last one. Other
 *	policies choose by it in place of the source. A message that is too short has that of its
 *	source, or the last class
 * @classes: RMC_DOM_CLASS: number of classes, 1 .. 16; else 0
 * @age_us: RMC_DOM_CLASS, RMC_DOM_STEAL: a message that has waited for so many microseconds, at
 *	most a second, comes before more urgent ones, or those of the core itself; 0: it does not
 * @members: files that share the domain, up to max_members, at most @slots and @cores; this one is
 *	member 0, and RMC_IOC_DOM_OPEN makes the others. 0 and 1: it is this file's alone. Not with
 *	RMC_DOM_SHARED
 * @wake_us: RMC_DOM_GREEDY, RMC_DOM_GROUPS, RMC_DOM_HIER: so many microseconds, 0 .. max_wake_us, a
 *	message waits for a core that polls before it is given to one that sleeps, or whose thread
 *	is not on a CPU
 * @reserved: must be 0
 *
 * Nodes with the same @first_nid, @nodes, @slots, @max_message and @max_answer understand each
 * other. The domain belongs to the file, and ends with it, for all members. EEXIST: the context has
 * one on this node, or this file has opened one. EDQUOT: a quota of the user or the context is
 * reached, which count its memory as queues.
 */
struct rmc_dom_create {
	__u32 size;
	__u32 flags;
	__u32 first_nid;
	__u32 nodes;
	__u32 slots;
	__u32 max_message;
	__u32 policy;
	__u32 depth;
	__u32 cores;
	__u32 groups;
	__u32 stride;
	__u32 life;
	__u64 recv_offset;
	__u64 send_offset;
	__u32 max_answer;
	__u32 answer_stride;
	__u64 answer_offset;
	__u32 key_offset;
	__u32 classes;
	__u32 age_us;
	__u32 members;
	__u32 wake_us;
	__u32 reserved;
};

#define RMC_DOM_ANY_MEMBER	(~0U)

/**
 * struct rmc_dom_open - ioctl(RMC_IOC_DOM_OPEN): share the domain that another file has created
 * @size: sizeof(struct rmc_dom_open)
 * @flags: must be 0
 * @member: 1 .. @members - 1, or RMC_DOM_ANY_MEMBER: one that no file is; out: which
 * @members: out, files that share the domain; for the other fields see struct rmc_dom_create
 * @first_nid: out
 * @nodes: out
 * @slots: out
 * @max_message: out
 * @policy: out
 * @depth: out
 * @cores: out, of the domain
 * @groups: out
 * @stride: out
 * @life: out
 * @recv_offset: out
 * @send_offset: out; the slots have zeros, and the RMC changes those of this member only
 * @max_answer: out
 * @answer_stride: out
 * @answer_offset: out
 * @key_offset: out
 * @classes: out
 * @age_us: out
 * @dom_flags: out, RMC_DOM_*
 * @earlier: out, number of files that were this member before. If it is not 0, messages of theirs
 *	may be under way, and lie at the peers. So before the first message in a slot, JOIN asks for
 *	its turn, and RMC_JOIN_SKIP gives up the next one
 * @wake_us: out
 *
 * The domain of the same context and node. This file then has a domain: it attaches queue pairs as
 * the one that created it, up to its part of the cores, and sends by its part of the slots. Its
 * send slots and arrival queues count for its own quotas. RMC_IOC_DOM_DESTROY, and the end of the
 * file, end that, and no more.
 *
 * With the domain, or the file that created it, this ends as well: operations of its queue pairs
 * end with RMC_S_ABORTED or RMC_S_NO_DOMAIN, who sleeps is woken as by RMC_IOC_DOM_DETACH, and
 * calls for the domain return ESHUTDOWN, until the file opens or creates another one. Mappings
 * stay until they are unmapped.
 *
 * ENOENT: there is none. EEXIST: this file has one. EBUSY: a file is this member. ENOSPC: all
 * members are there, or the domain is the creator's alone. EINVAL: no such member. EDQUOT.
 */
struct rmc_dom_open {
	__u32 size;
	__u32 flags;
	__u32 member;
	__u32 members;
	__u32 first_nid;
	__u32 nodes;
	__u32 slots;
	__u32 max_message;
	__u32 policy;
	__u32 depth;
	__u32 cores;
	__u32 groups;
	__u32 stride;
	__u32 life;
	__u64 recv_offset;
	__u64 send_offset;
	__u32 max_answer;
	__u32 answer_stride;
	__u64 answer_offset;
	__u32 key_offset;
	__u32 classes;
	__u32 age_us;
	__u32 dom_flags;
	__u32 earlier;
	__u32 wake_us;
};

/**
 * struct rmc_dom_destroy - ioctl(RMC_IOC_DOM_DESTROY)
 * @size: sizeof(struct rmc_dom_destroy)
 * @flags: must be 0
 *
 * Detaches all queue pairs of the file. If it has created the domain, this ends: packets of peers
 * then end with RMC_S_NO_DOMAIN. Mappings stay until they are unmapped. ENOENT: this file has no
 * domain.
 */
struct rmc_dom_destroy {
	__u32 size;
	__u32 flags;
};

/* Flags of RMC_IOC_DOM_ATTACH */
#define RMC_DOM_SEND_ONLY	(1U << 0)	/* it gets no messages, and has no arrival queue */

/**
 * struct rmc_dom_attach - ioctl(RMC_IOC_DOM_ATTACH): a queue pair sends and receives messages
 * @size: sizeof(struct rmc_dom_attach)
 * @flags: RMC_DOM_*
 * @qp_id: as returned by RMC_IOC_QP_CREATE
 * @group: RMC_DOM_GROUPS, RMC_DOM_HIER: its group, less than groups; else 0
 * @core: out, number of the core; ~0 with RMC_DOM_SEND_ONLY
 * @aq_entries: out, entries of its arrival queue, a power of two; 0 with RMC_DOM_SEND_ONLY
 * @aq_offset: out, mmap of @aq_entries * sizeof(struct rmc_aq_entry) (page-rounded), read-only.
 *	With RMC_DOM_SHARED it is that of all cores: an entry has its place until its message is
 *	received, each of them may receive each message, and RMC_IOC_AQ_ARM returns EOPNOTSUPP
 * @classes: RMC_DOM_CLASS: mask of the classes that it takes, 0: all; else 0
 * @reserved: must be 0
 *
 * ENOENT: this file has no such QP, or no domain. EBUSY: the QP is attached. ENOSPC: the domain
 * has as many cores as it was created for, or this member has its part of them.
 */
struct rmc_dom_attach {
	__u32 size;
	__u32 flags;
	__u32 qp_id;
	__u32 group;
	__u32 core;
	__u32 aq_entries;
	__u64 aq_offset;
	__u32 classes;
	__u32 reserved;
};

/**
 * struct rmc_dom_detach - ioctl(RMC_IOC_DOM_DETACH); RMC_IOC_QP_DESTROY does it, too
 * @size: sizeof(struct rmc_dom_detach)
 * @flags: must be 0
 * @qp_id: as returned by RMC_IOC_QP_CREATE
 * @reserved: must be 0
 *
 * Its operations on slots end with RMC_S_ABORTED. Messages that it has are given to other cores, or
 * dropped, as the domain was created. ENOENT: no such QP, or it is not attached.
 */
struct rmc_dom_detach {
	__u32 size;
	__u32 flags;
	__u32 qp_id;
	__u32 reserved;
};

/**
 * struct rmc_aq_arm - ioctl(RMC_IOC_AQ_ARM): report the next arrival once
 * @size: sizeof(struct rmc_aq_arm)
 * @flags: must be 0
 * @qp_id: a core
 * @seen: arrivals the application has taken so far, modulo 2^32
 * @eventfd: eventfd to signal as well, or -1
 * @reserved: must be 0
 *
 * As RMC_IOC_CQ_ARM. ENOENT: no such QP, or it is no core.
 */
struct rmc_aq_arm {
	__u32 size;
	__u32 flags;
	__u32 qp_id;
	__u32 seen;
	__s32 eventfd;
	__u32 reserved;
};

/**
 * struct rmc_room_arm - ioctl(RMC_IOC_ROOM_ARM): report once that a send slot has become free, or
 *	was answered
 * @size: sizeof(struct rmc_room_arm)
 * @flags: must be 0
 * @qp_id: a queue pair that is attached
 * @eventfd: eventfd to signal as well, or -1
 *
 * Any slot of the domain on this node with which that happens after the call: look for a free one,
 * or for the answer, after it, and sleep if there is none. The report: poll() returns POLLOUT until
 * it is armed again, and the eventfd is signalled once. At the end of the attachment as
 * RMC_IOC_CQ_ARM. ENOENT: no such QP, or it is not attached.
 */
struct rmc_room_arm {
	__u32 size;
	__u32 flags;
	__u32 qp_id;
	__s32 eventfd;
};

/**
 * struct rmc_dom_stats - ioctl(RMC_IOC_DOM_STATS): counters since the domain was created
 * @size: sizeof(struct rmc_dom_stats)
 * @flags: must be 0
 * @packets: out, packets of messages that were stored
 * @messages: out, messages that are complete
 * @repeated: out, packets without effect, since they were there already
 * @refused: out, packets that break the rules
 * @freed: out, send slots that became free, or were answered
 * @dispatched: out, messages given to cores, again as well
 * @waiting: out, messages that no core has yet
 * @cores: out, cores attached
 * @waited_ns: out, how long messages waited for a core: the time that 50, 99 and 99.9 % of them did
 *	not exceed, to a fifth; 0: none was given
 * @served_ns: out, likewise how long cores had them until they were processed, of a part of them
 *
 * ENOENT: this file has no domain.
 */
struct rmc_dom_stats {
	__u32 size;
	__u32 flags;
	__u64 packets;
	__u64 messages;
	__u64 repeated;
	__u64 refused;
	__u64 freed;
	__u64 dispatched;
	__u32 waiting;
	__u32 cores;
	__u64 waited_ns[3];
	__u64 served_ns[3];
};

/* Sources of RMC_URING_WAIT_MSG; the first one completes it */
#define RMC_URING_MSG_CQ	(1U << 0)	/* a completion beyond cq_seen */
#define RMC_URING_MSG_AQ	(1U << 1)	/* an arrival beyond aq_seen */
#define RMC_URING_MSG_ROOM	(1U << 2)	/* a send slot is free, or answered */

#define RMC_URING_MSG_SOURCES	0x7U

/**
 * struct rmc_uring_wait_msg - IORING_OP_URING_CMD on a context, cmd_op RMC_URING_WAIT_MSG
 * @sources: RMC_URING_MSG_*, one or more
 * @qp_id: a queue pair that is attached to the domain; RMC_URING_MSG_AQ: a core
 * @cq_seen: completions the application consumed so far, modulo 2^32
 * @aq_seen: arrivals the application has taken so far, modulo 2^32
 *
 * As struct rmc_uring_wait of <linux/rmc.h>, and its result likewise, but for the count of
 * RMC_URING_MSG_ROOM, which has no meaning. This source also reports a slot that has become free,
 * or was answered, since the last report to this queue pair, once: the application looks for a free
 * slot, or for its answer, when the command has completed. ENOENT: no such QP, or it is not
 * attached, or no core, or RMC_URING_MSG_AQ with RMC_DOM_SHARED.
 * ESHUTDOWN: it was detached meanwhile.
 */
struct rmc_uring_wait_msg {
	__u32 sources;
	__u32 qp_id;
	__u32 cq_seen;
	__u32 aq_seen;
};

#define RMC_URING_WAIT_MSG	_IO(RMC_IOC_TYPE, 0x41)

#define RMC_IOC_DOM_QUERY	_IO(RMC_IOC_TYPE, 0x30)
#define RMC_IOC_DOM_CREATE	_IO(RMC_IOC_TYPE, 0x31)
#define RMC_IOC_DOM_DESTROY	_IO(RMC_IOC_TYPE, 0x32)
#define RMC_IOC_DOM_ATTACH	_IO(RMC_IOC_TYPE, 0x33)
#define RMC_IOC_DOM_DETACH	_IO(RMC_IOC_TYPE, 0x34)
#define RMC_IOC_AQ_ARM		_IO(RMC_IOC_TYPE, 0x35)
#define RMC_IOC_DOM_STATS	_IO(RMC_IOC_TYPE, 0x36)
#define RMC_IOC_ROOM_ARM	_IO(RMC_IOC_TYPE, 0x37)
#define RMC_IOC_DOM_OPEN	_IO(RMC_IOC_TYPE, 0x38)

#endif /* _UAPI_LINUX_RMC_DOMAIN_H */
