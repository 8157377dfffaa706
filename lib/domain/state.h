/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Private state of domains and cores.
 *
 * A send slot belongs to nobody, or to the core that claimed it (slot.busy), from the claim until
 * the last operation on it has completed. Its core alone writes the other fields of struct slot.
 *
 *	             claim            SEND completed
 *	  free ---------------> busy ----------------> in use (valid) ---> free, by the RMC
 *	                         | timeout, ...                       \--> asked, if for long
 *	                         v
 *	                       doubt --- JOIN of the slot: it is there, or send it again
 *	                         | the peer is given up
 *	                         v
 *	                       parked, until rmc_core_join()
 *
 * A message that is parked keeps its slot and its data: packets of it may lie at the peer, and no
 * other message may follow them under its turn.
 */
#ifndef RMC_LIB_DOMAIN_STATE_H
#define RMC_LIB_DOMAIN_STATE_H

#include <pthread.h>
#include "../internal.h"
#include <rmc/domain.h>

#define LINE		64
#define CLOSE_MS	1000		/* in which rmc_core_close() completes what it has sent */
#define ASK_MS		100		/* without room, until slots are asked for; and again */
#define ASK_SLOTS	16		/* at a time */
#define SPIN_NS		50000		/* rmc_send() without room, before it sleeps */
#define NO_SLOT		(~0U)

/**
 * struct slot - what the library has of a send slot
 * @busy: claimed
 * @turn: its last message
 * @gen: life of the peer in which @turn counts, see peer.gen
 * @by: of a call: the core that has it; NULL: no call
 * @caller: turn of the call that has it
 * @m: of a call, the message that has not completed yet
 * @since: of a call: when it was asked about last; ms
 * @processed: of a call: when a JOIN said that there is no more to come; ms, 0: it did not
 */
struct slot {
	uint8_t busy;
	uint32_t turn;
	uint32_t gen;
	uint32_t caller;
	const struct rmc_core *by;
	struct message *m;
	uint64_t since, processed;
};

/**
 * struct peer - a node, as all cores of this one see it
 * @asked: slot that is asked next, without room
 * @gen: counts its lives; 0: no core has joined it yet. Written with the domain's lock
 * @life: of its domain, as of @gen
 */
struct peer {
	_Alignas(LINE) uint32_t asked;
	uint32_t gen;
	uint32_t life;
};

struct rmc_domain {
	struct rmc_ctx *ctx;
	uint32_t opened;		/* cores, so far; written with the lock */
	struct rmc_domain_options o;
	uint32_t member;		/* which; 0: this process has opened it */
	uint32_t earlier;		/* processes that were this member before */
	uint32_t first_slot, own_slots;	/* of each pair: this process sends by them */
	uint32_t homes;			/* of slots at a node: each is joined */
	uint32_t stride;
	const uint8_t *recv;
	const uint8_t *answers;
	uint32_t answer_stride;
	struct rmc_send_slot *send;
	size_t recv_len, send_len, answers_len;
	struct peer *peer;
	struct slot *slot;		/* as in the send slots: by node and number */
	uint32_t room_waits;		/* cores that may sleep for room; relaxed */
	void *pullers;			/* RMC_DOM_SHARED: end of the MCS lock's queue, pull.c */
	_Alignas(LINE) uint32_t pulled;	/* arrivals taken, with that lock */
	_Alignas(LINE)
	pthread_mutex_t lock;		/* guards core and lives of peers; calls of the driver */
	struct core *core;
};

/* A message between rmc_send() and its completion */
struct message {
	struct message *next;
	uint8_t *data;
	uint32_t len;
	uint32_t peer, slot;
	uint32_t gen;			/* of the peer when it was claimed */
	uint8_t op;
	uint8_t resend;			/* it is not there; else ask */
	uint8_t call;			/* its slot is kept until rmc_call_end() */
	uint64_t since;			/* ms: in doubt; 0: it is not */
};

enum kind { OP_NONE, OP_SEND, OP_RECEIVE, OP_ASK, OP_JOIN, OP_REPLY, OP_PROBE, OP_FETCH };

/**
 * struct op - an operation in flight, by WQ slot
 * @kind: what it is
 * @peer: its node
 * @slot: of OP_ASK and OP_PROBE
 * @m: the message, or answer; of OP_ASK: NULL: of a message whose SEND has completed
 */
struct op {
	enum kind kind;
	uint32_t peer, slot;
	struct message *m;
};

/**
 * struct link - a peer, as a core sees it
 * @status: why it is given up; 0: it is not
 * @gen: life of the peer that this core has joined; 0: none
 * @head: where the search for a free slot begins: cores begin apart
 * @silent_ms: since when it has not answered whether it lives; 0: it has
 * @full_ms: since when there has been no room, or when slots were asked for; 0: there is
 */
struct link {
	int status;
	uint32_t gen;
	uint32_t head;
	uint64_t silent_ms;
	uint64_t full_ms;
};

/* A list of messages, the oldest first */
struct list {
	struct message *first, **last;
};

struct core {
	struct rmc_core c;		/* first */
	struct core *next;
	struct link *link;
	struct op *op;
	struct message *message;	/* all of them */
	struct message *free;
	struct list doubt, parked;
	uint32_t messages;
	int buf_id;
	void *buf;
	size_t aq_len;
	const struct rmc_aq_entry *all;	/* RMC_DOM_SHARED: the queue of all cores */
	uint32_t all_entries;
	int failure;			/* first one since the last flush */
	int joined;			/* status of the last OP_JOIN; -1: not yet */
	uint64_t join_state;		/* and what it said */
	unsigned int polls;
	int no_room_arm;		/* this RMC does not report free slots */
	int probing;			/* an OP_PROBE is in flight, */
	uint32_t probe;			/* at this WQ entry */
	int armed;			/* by the application, see rmc_core_waited() */
	int room_armed;			/* who frees a slot wakes it; relaxed */
	uint32_t fetching;		/* OP_FETCHes in flight */
	int fetched;			/* the first failure of one */
	uint32_t probed;		/* peers of this lap of rmc_core_probe() */
	uint64_t probed_ms;		/* when it began */
};

static inline struct core *to_core(struct rmc_core *c)
{
	return (struct core *)(void *)c;
}

static inline void list_init(struct list *l)
{
	l->first = NULL;
	l->last = &l->first;
}

static inline void list_add(struct list *l, struct message *m)
{
	m->next = NULL;
	*l->last = m;
	l->last = &m->next;
}

static inline struct message *list_pop(struct list *l)
{
	struct message *m = l->first;

	if (m) {
		l->first = m->next;
		if (!l->first)
			l->last = &l->first;
	}
	return m;
}

static inline struct slot *slot_of(const struct rmc_domain *d, uint32_t peer, uint32_t slot)
{
	return &d->slot[(size_t)peer * d->o.slots + slot];
}

static inline struct rmc_send_slot *send_slot(const struct rmc_domain *d, uint32_t peer,
					      uint32_t slot)
{
	return &d->send[(size_t)peer * d->o.slots + slot];
}

static inline int nid_of(const struct rmc_domain *d, uint32_t peer)
{
	return (int)(d->o.first_nid + peer);
}

static inline int has_peer(const struct rmc_domain *d, int nid)
{
	return nid >= 0 && (uint32_t)nid - d->o.first_nid < d->o.nodes;
}

/* A WQ entry is free. */
static inline int has_entry(const struct core *c)
{
	return c->c.qp->slot[c->c.qp->head & c->c.qp->mask] != RMC_SLOT_BUSY;
}

/*
 * What was posted just now has hardly completed, and a look costs the transfer of a line that the RMC
 * is about to write: few operations may wait for the next look. Not where they are a large part of
 * the slots, which other cores may wait for.
 */
#define FEW_IN_FLIGHT	2

static inline int may_skip_poll(const struct core *c)
{
	const struct rmc_domain *d = c->c.domain;

	return rmc_qp_in_flight(c->c.qp) <= FEW_IN_FLIGHT && !c->doubt.first && has_entry(c) &&
	       d->own_slots >= 4 * FEW_IN_FLIGHT * rmc_load_relaxed(&d->opened);
}

/* claim.c: send slots */

/* The number of a free slot, now the caller's, with its next turn; -1: there is none */
int rmc_slot_claim(struct rmc_domain *d, uint32_t peer, struct link *l, uint32_t len,
		   uint16_t owner);

/* A slot that nobody has claimed becomes the caller's: 0, or -1 */
int rmc_slot_take(struct slot *s);

/* Its message is done with, or the peer's affair: others may have it. */
void rmc_slot_release(struct rmc_domain *d, struct slot *s);

/* call.c: the caller's call ends; its slot is released, now or when its SEND has completed. */
void rmc_slot_end_call(struct core *c, struct slot *s);

/*
 * What a JOIN said of a slot of the caller's, in life gen of the peer: 1: it is known now; 0: its
 * last message is not there; -1: neither that nor another one
 */
int rmc_slot_learn(struct rmc_domain *d, uint32_t peer, uint32_t slot, uint32_t gen,
		   uint64_t state);

/* True if a JOIN may help a slot that nobody has claimed */
int rmc_slot_unknown(struct rmc_domain *d, uint32_t peer, uint32_t slot);

/* message.c: operations, completions, and what is in doubt */

/* Both need a free WQ entry. m: NULL: of a slot that the caller has taken */
void rmc_message_send(struct core *c, struct message *m);
void rmc_message_ask(struct core *c, uint32_t peer, uint32_t slot, struct message *m);

/* The same for a call whose SEND has completed, and which goes on; or NO_SLOT: only for the peer */
void rmc_message_probe(struct core *c, uint32_t peer, uint32_t slot);

/* Its slot may have anything at the peer. */
void rmc_message_abandon(struct core *c, struct message *m);
void rmc_core_complete(struct core *c, uint32_t entry, int status);
void rmc_core_advance(struct core *c);
void rmc_core_give_up(struct core *c, uint32_t peer, int status);

/* Wait for a free WQ entry: 0 or -ESHUTDOWN */
int rmc_core_entry(struct core *c);

/* Until all has completed; deadline: of rmc_now_ms(), 0: none. 0, -ETIMEDOUT or -ESHUTDOWN */
int rmc_core_settle(struct core *c, uint64_t deadline);

/*
 * wait.c: a step of waiting for room. The caller has *w zeroed at first, and looks for room after
 * each step. 0 or -errno
 */
struct wait {
	uint64_t deadline;		/* of rmc_deadline(); 0: none */
	uint64_t since;			/* ns; 0: the first step */
	unsigned int spins;
	int armed;
	int drained;			/* what the eventfd had said is lost */
};
int rmc_core_wait_room(struct core *c, struct wait *w);

/* Afterwards: the application's event loop looks once more if it has armed. */
void rmc_core_waited(struct core *c, const struct wait *w);

/* A slot is free that the RMC reports no more: cores that wait for room look for it. */
void rmc_room_notify(struct rmc_domain *d);
void rmc_room_unwait(struct core *c);

/* 1 if the process that has opened the domain has closed it, or is gone */
int rmc_domain_ended(struct rmc_domain *d);

/* join.c: 0, a status or -errno */
int rmc_core_join_by(struct core *c, uint32_t peer, uint64_t deadline);

#endif /* RMC_LIB_DOMAIN_STATE_H */
