/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messaging domains (T18 chapter 5; Documentation/messaging.rst).
 *
 * A domain connects @nodes nodes, each with each, by @slots slots a pair. A node has at most one
 * per context. It has a receive slot for each slot of each other node:
 *
 *                 first packet          last packet
 *        FREE ------------------> FILLING ------> READY     RRPP of the slot
 *          ^                                        |
 *          |                                        | dispatcher: an arrival queue has it
 *          |           RECEIVE is taken             v
 *          +-------------------------------------- HELD
 *            RGP of the queue pair that holds it
 *
 * A slot that is READY or HELD refuses packets, so a receiver reads the message in place. The
 * source's send slot stays in use until the RECEIVE arrives there, so a slot is never written
 * before it is free, if the source keeps the rules; if it does not, it spoils its own messages.
 *
 * Which of the messages that are READY goes to which core is the dispatcher's decision, see
 * dispatch.h. A core is a queue pair with an arrival queue, aq.h.
 *
 *   RRPP worker of the slot    it up to READY; lives of the sources
 *   RRPP worker of the head    dispatcher: messages that are READY or HELD, cores
 *   RGP worker                 which queue pairs belong to the domain (rmc_qpair.domain, .core);
 *                              a slot from HELD to FREE
 *
 * All memory is allocated by the creator, and freed after the last unit has removed the domain.
 */
#ifndef RMC_DOMAIN_H
#define RMC_DOMAIN_H

#include "aq.h"
#include "dispatch.h"
#include "relay.h"
#include "times.h"
#include "../base/slot.h"

struct rmc_fabric;
struct rmc_in;
struct rmc_node;
struct rmc_qpair;
struct rmc_serve;
struct rmc_wqe;

/* A core as a slot and a queue pair name it: another value each time that a core is added */
#define RMC_CORE_NONE	(~0U)
/* Holder of a message that any core may end, with RMC_DOM_SHARED */
#define RMC_CORE_ANY	(~0U - 1)

#define RMC_CORE_GENERATIONS	((1U << 24) - 2)

static inline u32 rmc_core_tag(u32 core, u32 generation)
{
	return generation << 8 | core;
}

static inline u32 rmc_core_index(u32 tag)
{
	return tag & 0xff;
}

static_assert(RMC_DISPATCH_CORES <= 256, "a core's index has 8 bits");
static_assert(sizeof(struct rmc_send_slot) == 32 && offsetof(struct rmc_send_slot, turn) == 4,
	      "send slots as applications have them");
#define X(NAME, ...)								\
	static_assert((int)RMC_DISPATCH_##NAME == (int)RMC_DOM_##NAME, "a policy's number");
RMC_DISPATCH_POLICIES(X)
#undef X
static_assert((int)RMC_DISPATCH_COUNT == (int)RMC_DOM_POLICIES, "all of them");

/* Those that a domain can have */
#define RMC_DOMAIN_POLICIES	((1ULL << RMC_DOM_POLICIES) - 1)

/* While a message waits for a core that polls, the dispatcher's worker does not sleep. */
#define RMC_DOMAIN_WAKE_US_MAX	1000

/* Of one domain; quotas are usually lower */
#define RMC_DOMAIN_BYTES_MAX	(1U << 30)

enum rmc_slot_state {
	RMC_SLOT_FREE		= 0,
	RMC_SLOT_FILLING	= 1,
	RMC_SLOT_READY		= 2,
	RMC_SLOT_HELD		= 3,
};

/**
 * struct rmc_slot - a receive slot; private, a line
 * @state: enum rmc_slot_state
 * @holder: the core that holds it, as of rmc_core_tag()
 * @length: of the message, bytes; known when its last packet has arrived
 * @total: packets of the message
 * @got: packets that have arrived
 * @turn: number of messages delivered in this life of the source
 * @op: RMC_OP_SEND or RMC_OP_OFFER
 * @ready: the holder has room again, and keeps the message
 * @given: when the holder got it, nanoseconds; the dispatcher's
 * @msg: the message, for the dispatcher
 *
 * @state, @turn and @holder are read by the RGP of the holder, which writes FREE, and @ready.
 */
struct rmc_slot {
	u32 state;
	u32 holder;
	u32 length;
	u32 turn;
	u16 total;
	u16 got;
	u8 op;
	u8 ready;
	u64 given;
	struct rmc_dispatch_msg msg;
} ____cacheline_aligned;

static_assert(sizeof(struct rmc_slot) == RMC_LINE, "a slot is one line");

/**
 * struct rmc_core - a queue pair that receives messages; the dispatcher's
 * @aq: its arrival queue
 * @generation: times that the core was added
 * @used: with RMC_DOM_SHARED: it is attached
 * @kept: messages that it has said READY for and is not done with
 * @sleeps: rmc_core_sleeps() was called since it was given a message
 */
struct rmc_core {
	struct rmc_aq aq;
	u32 generation;
	u32 kept;
	bool sleeps;
	bool used;
};

/**
 * struct rmc_room - a queue pair whose thread waits for a free send slot; the dispatcher's
 * @event: a slot has become free
 * @next: in rmc_domain.room, or .reporting
 * @seen: slots that had become free when its thread was told last, or the queue pair was attached
 * @reported: slots that had become free at the last event, of which nobody need have been told
 * @listed: it is in one of these
 */
struct rmc_room {
	struct rmc_event event;
	struct rmc_room *next;
	u64 seen;
	u64 reported;
	bool listed;
};

/**
 * struct rmc_answer_slot - an answer that arrives in packets (RRPP worker of the slot)
 * @turn: of the message that it answers
 * @life: of the peer that sends it
 * @total: packets; 0: the last one has not arrived
 * @got: packets that have arrived
 * @length: bytes, once the last packet has arrived
 */
struct rmc_answer_slot {
	u32 turn;
	u32 life;
	u32 length;
	u16 total;
	u16 got;
};

/* Counters; written by the RRPP worker of the unit */
#define RMC_DOMAIN_STATS(X)	\
	X(packets)	/* stored */					\
	X(messages)	/* complete */					\
	X(repeated)	/* packets that had no effect */		\
	X(refused)	/* packets that broke the rules */		\
	X(freed)	/* send slots: free, or answered */

struct rmc_domain_stats {
#define RMC_STAT_FIELD(name, ...) u64 name;
	RMC_DOMAIN_STATS(RMC_STAT_FIELD)
#undef RMC_STAT_FIELD
};

/* In rmc_domain_unit.finished, beside a slot's index */
#define RMC_RELAY_READY	(1U << 31)

/* Other threads read them */
#define rmc_domain_count(part, name)	\
	WRITE_ONCE((part)->stats.name, (part)->stats.name + 1)

/**
 * struct rmc_domain_unit - a domain's part that belongs to one unit
 * @finished: slots whose message was processed, or with RMC_RELAY_READY whose core has room again
 *	(from its RGP worker to the dispatcher)
 * @complete: slots that became READY (from its RRPP worker to the dispatcher)
 * @stats: counters (RRPP)
 */
struct rmc_domain_unit {
	struct rmc_relay finished;
	struct rmc_relay complete;
	struct rmc_domain_stats stats;
};

/* Of so many messages the dispatcher measures how long the core had one, if it has no time yet */
#define RMC_TIMES_SAMPLE	16

/**
 * struct rmc_domain_times - how long messages took; written by the dispatcher
 * @waited: from being complete until a core had it, also again
 * @served: from then until the core had processed it; of some only, see RMC_TIMES_SAMPLE
 */
struct rmc_domain_times {
	struct rmc_times waited;
	struct rmc_times served;
};

/**
 * struct rmc_domain_params - what both ends of a pair must have in common
 * @first_nid: first node of the domain
 * @nodes: number of nodes
 * @slots: slots of each pair, 1 .. RMC_MAX_SLOTS
 * @max_message: bytes, 1 .. RMC_MAX_MESSAGE
 * @max_answer: bytes, 0 .. RMC_MAX_ANSWER; 0: messages are not answered
 */
struct rmc_domain_params {
	u32 first_nid;
	u32 nodes;
	u32 slots;
	u32 max_message;
	u32 max_answer;
};

/**
 * struct rmc_domain - a domain on one node
 * @head: first unit of the node, whose RRPP worker is the dispatcher's
 * @p: parameters
 * @ctx_id: context
 * @exposure: to peers
 * @life: differs from that of every earlier domain of this context and node; not 0
 * @packets_max: packets of a message of p.max_message bytes
 * @words: 64-bit words per slot in @seen
 * @stride: bytes of a receive slot: a line, then the message
 * @rrpp_order: of the fabric
 * @slot: receive slots, p.slots for each node
 * @seen: by slot, which packets have arrived
 * @peer_life: by node and RRPP, life of the peer's domain as of its last JOIN; 0: none
 * @ring_life: by endpoint and RRPP, the same of the last JOIN that came in this ring
 * @walked_ms: by node and RRPP, when its slots were last walked
 * @touched: by node and RRPP, slots may not be as they are after a JOIN
 * @answer_words: 64-bit words per slot in @answer_seen
 * @answer_stride: bytes of an answer slot; 0: there are none
 * @answer: answers that arrive, by send slot
 * @answer_seen: by send slot, which packets have arrived
 * @answers: answer slots' memory, by send slot; the application reads it
 * @recv: receive slots' memory; the application reads it
 * @send: send slots' words, the application's; struct rmc_send_slot
 * @members: files that share it, if @part is set, see part.h
 * @keep: most messages of rmc_core.kept, so that members leave room for each other
 * @part: by member, @send of its own slots, or NULL: it is gone. NULL: one file has all of them
 * @unit: by unit
 * @units: number of @unit
 * @remote: several workers take part, so relays are used
 * @shared: RMC_DOM_SHARED: @all has the arrivals of all cores
 * @all: its memory is set before the first unit has the domain; see rmc_domain_queue_order()
 * @cores_max: cores that there may be
 * @keyed: messages have a key, see struct rmc_dom_create; set before the first unit has it
 * @classes: the key is a class
 * @key_offset: bytes from a message's begin to its key
 * @dispatch: who gets which message (dispatcher)
 * @core: cores (dispatcher)
 * @wake_ns: see struct rmc_dispatch_params
 * @due: when a message that waits for a core that polls is given to another one; U64_MAX: none
 *	does (dispatcher)
 * @waiting: messages that no core holds (dispatcher)
 * @dispatched: messages given to cores, again as well (dispatcher)
 * @times: how long messages took (dispatcher)
 * @finished: messages that cores on the dispatcher's worker have processed (dispatcher)
 * @room: who waits for a free send slot (dispatcher)
 * @reporting: those of them for whom one has become free (dispatcher)
 * @freed: slots that had become free when the first of them came (dispatcher)
 */
struct rmc_domain {
	struct rmc_node *head;
	struct rmc_domain_params p;
	u16 ctx_id;
	struct rmc_exposure exposure;
	u32 life;
	u32 packets_max;
	u32 words;
	u32 stride;
	u32 rrpp_order;
	struct rmc_slot *slot;
	u64 *seen;
	u32 *peer_life;
	u32 *ring_life;
	u32 *walked_ms;
	u8 *touched;
	u32 answer_words;
	u32 answer_stride;
	struct rmc_answer_slot *answer;
	u64 *answer_seen;
	struct rmc_mem *answers;
	struct rmc_mem *recv;
	struct rmc_mem *send;
	u32 members;
	u32 keep;
	struct rmc_mem **part;
	struct rmc_domain_unit *unit;
	u32 units;
	bool remote;
	bool shared;
	struct rmc_aq all;
	u32 cores_max;
	bool keyed;
	bool classes;
	u32 key_offset;
	struct rmc_dispatch *dispatch;
	struct rmc_core *core;
	u64 wake_ns;
	u64 due;
	u32 waiting;
	u64 dispatched;
	struct rmc_domain_times *times;
	u32 finished;
	struct rmc_room *room;
	struct rmc_room *reporting;
	u64 freed;
};

/**
 * union rmc_send_word - first word of struct rmc_send_slot, which the RMC changes as a whole
 * @valid: see there
 * @reserved: see there
 * @owner: see there
 * @turn: see there
 * @word: all of them
 *
 * An application that takes a slot writes @owner and @turn first, then @valid with release. Until
 * the slot is free again it changes none of these, but for @valid if a JOIN says that the message
 * was processed.
 */
union rmc_send_word {
	struct {
		u8 valid;
		u8 reserved;
		u16 owner;
		u32 turn;
	};
	u64 word;
};

static_assert(offsetof(struct rmc_send_slot, size) == sizeof(union rmc_send_word), "as there");
static_assert(offsetof(struct rmc_send_slot, turn) == 4, "as there");

/**
 * struct rmc_join - operands of RMC_OP_JOIN, in the local buffer
 * @state: out, the peer's: RMC_JOIN_LIFE, RMC_JOIN_TURN, RMC_JOIN_FREE
 * @p: parameters of the sender's domain
 * @life: life of the sender's domain, not 0
 */
struct rmc_join {
	u64 state;
	struct rmc_domain_params p;
	u32 life;
};

/**
 * struct rmc_domains - domains of a unit, a state of its RRPP (state.h)
 * @used: domains whose relays this unit empties
 * @live: unused: who puts into a relay wakes the worker
 * @stall_ms: unused
 * @remote: of the head, bit per ctx_id: domains whose relays it empties, or where something is due
 * @dom: by ctx_id, RMC_MAX_CONTEXTS; an entry is NULL: none
 */
struct rmc_domains {
	u32 used;
	u32 live;
	u32 stall_ms;
	u64 remote[RMC_MAX_CONTEXTS / 64];
	struct rmc_domain **dom;
};

int rmc_domain_args(const struct rmc_dom_create *c, struct rmc_domain_params *p,
		    struct rmc_dispatch_params *dp);
u32 rmc_domain_queue_order(const struct rmc_domain_params *p);
u64 rmc_domain_bytes(const struct rmc_domain_params *p, const struct rmc_fabric *f);
int rmc_domain_init(struct rmc_domain *d, struct rmc_node *head, u16 ctx_id, u32 life,
		    const struct rmc_domain_params *p, const struct rmc_dispatch_params *dispatch);
void rmc_domain_destroy(struct rmc_domain *d);
void rmc_domain_add(struct rmc_node *unit, struct rmc_domain *d);
void rmc_domain_del(struct rmc_node *unit, struct rmc_domain *d);

void rmc_domain_report(const struct rmc_domain *d, struct rmc_dom_stats *s);

u8 rmc_domain_store(struct rmc_serve *s, struct rmc_domain *d, u32 set);
u32 rmc_domain_put(struct rmc_node *unit, struct rmc_domain *d, u32 set, const struct rmc_wqe *w,
		   const struct rmc_mem *from, u64 *now);
u8 rmc_domain_free(struct rmc_serve *s, struct rmc_domain *d, u32 set);
u8 rmc_domain_join(struct rmc_serve *s, struct rmc_domain *d, u32 set);

/* answer.c */
u64 rmc_answer_bytes(const struct rmc_domain_params *p, const struct rmc_fabric *f);
bool rmc_answers_init(struct rmc_domain *d);
void rmc_answers_destroy(struct rmc_domain *d);
u8 rmc_domain_answer(struct rmc_serve *s, struct rmc_domain *d, u32 set);

/* deliver.c */
void rmc_domain_arrived(struct rmc_node *unit, struct rmc_domain *d, u32 index, u64 *now);
void rmc_domain_take(struct rmc_qpair *qp, const struct rmc_wqe *w, u64 *now);
void rmc_domain_ready(struct rmc_qpair *qp, const struct rmc_wqe *w);
void rmc_domain_leave(struct rmc_qpair *qp);
int rmc_core_add(struct rmc_domain *d, struct rmc_aq_entry *entry, u8 order, u32 group,
		 u32 classes, u32 *tag);
bool rmc_domains_pending(const struct rmc_node *unit);
void rmc_core_thread(struct rmc_domain *d, u32 core, const void *thread);
void rmc_core_sleeps(struct rmc_domain *d, u32 core);
void rmc_core_del(struct rmc_domain *d, u32 core, bool requeue);
void rmc_domain_freed(struct rmc_node *unit, struct rmc_domain *d);
void rmc_room_init(const struct rmc_domain *d, struct rmc_room *r);
u32 rmc_room_add(struct rmc_domain *d, struct rmc_room *r);
bool rmc_room_missed(const struct rmc_domain *d, struct rmc_room *r);
void rmc_room_told(struct rmc_room *r);
void rmc_room_del(struct rmc_domain *d, struct rmc_room *r);

/* Index in rmc_domain.peer_life and .touched */
static inline u32 rmc_life_index(const struct rmc_domain *d, u32 set, u64 offset)
{
	return set << d->rrpp_order | rmc_slot_home(offset, d->rrpp_order);
}

/* Number of a node among those of the domain; @d->p.nodes or more: it is none of them. */
static inline u32 rmc_domain_set(const struct rmc_domain *d, u32 nid)
{
	return nid - d->p.first_nid;
}

/* Domain of a context from the wire; NULL when there is none. */
static inline struct rmc_domain *rmc_domain_find(const struct rmc_domains *domains, u16 ctx_id)
{
	struct rmc_domain *d;

	if (unlikely(ctx_id >= RMC_MAX_CONTEXTS))
		return NULL;
	d = domains->dom[array_index_nospec(ctx_id, RMC_MAX_CONTEXTS)];
	return likely(d && rmc_is_exposed(&d->exposure)) ? d : NULL;
}

static inline struct rmc_slot *rmc_domain_slot(const struct rmc_domain *d, u32 set, u32 slot)
{
	return &d->slot[set * d->p.slots + slot];
}

/* Index of a slot that exists; the number comes from a peer. */
static inline u32 rmc_slot_index(const struct rmc_domain *d, u32 set, u64 offset)
{
	return set * d->p.slots + array_index_nospec(rmc_slot_number(offset), d->p.slots);
}

/* First word of a send slot, which the application may write at any time; it is in one page. */
static inline u64 *rmc_send_slot_word(const struct rmc_domain *d, u32 index)
{
	return rmc_mem_ptr(d->send, (u64)index * sizeof(struct rmc_send_slot));
}

/* Offset of a receive slot's message in @d->recv, bytes */
static inline u64 rmc_slot_data(const struct rmc_domain *d, u32 index)
{
	return (u64)index * d->stride + RMC_LINE;
}

/* Offset of an answer slot's answer in @d->answers, bytes */
static inline u64 rmc_answer_data(const struct rmc_domain *d, u32 index)
{
	return (u64)index * d->answer_stride + sizeof(struct rmc_answer);
}

#endif
