/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client of the RMC inside the kernel. It uses a queue pair like an application, without a
 * process. The queues are kernel memory of the same layout, and the unit's RGP polls them like
 * any other.
 *
 *   rmc_client_post()   --> WQ --> RGP
 *   rmc_client_reap()   <-- CQ <-- RCP
 *
 * One thread at a time is the client, on any worker or none; only it posts and reaps. The
 * queue pair belongs to the unit's worker. Users: the frontends (ni/front.c).
 *
 * A client is also the mailbox from an RRPP to the RGP of any worker of this kernel, that of
 * another unit too. serve() posts an entry; an operation that only RMCs send, such as a reply
 * to one that was held, goes out from there:
 *
 * - it has as many places as entries: while it is full, post nothing, and answer RMC_AGAIN or a
 *   status, or keep what is to be sent;
 * - the entry is published by phase; rmc_client_submit() wakes a parked RGP;
 * - a place is free again after its completion was reaped, so reap before posting;
 * - what is refused or cannot be delivered is completed with a status, as for an application.
 */
#ifndef RMC_CLIENT_H
#define RMC_CLIENT_H

#include "cq.h"
#include "../base/opcode.h"

struct rmc_ni_worker;

/**
 * struct rmc_client - both ends of a queue pair in kernel memory
 * @qp: queue pair (the unit's worker); give it to rmc_ni_add_qp()
 * @head: entries posted (client)
 * @tail: completions reaped (client)
 */
struct rmc_client {
	struct rmc_qpair qp;
	u32 head ____cacheline_aligned;
	u32 tail;
};

int rmc_client_init(struct rmc_client *c, struct rmc_node *unit, struct rmc_bufs *bufs,
		    u16 ctx_id, u32 order);
void rmc_client_destroy(struct rmc_client *c);
void rmc_client_submit(struct rmc_client *c);

/*
 * From now on entries name wire-only operations: opcode RMC_OP_WIRE + n as n. Only here a queue
 * pair is set up like this, so no application can send such an operation: its WQ entries, also
 * those that a frontend relays, have five bits for the opcode. Call it before the first entry.
 */
static inline void rmc_client_wire_only(struct rmc_client *c)
{
	c->qp.op_base = RMC_OP_WIRE;
}

/* Make a worker poll; the threads are in run/worker.c */
void rmc_os_wake(struct rmc_ni_worker *w);

/* Number of posted entries whose completions were not reaped. */
static inline u32 rmc_client_in_flight(const struct rmc_client *c)
{
	return c->head - c->tail;
}

/* True if no entry can be posted. A slot is reused after its completion was reaped. */
static inline bool rmc_client_full(const struct rmc_client *c)
{
	return rmc_client_in_flight(c) > c->qp.mask;
}

/**
 * rmc_client_post() - publish a WQ entry
 * @c: client that is not full
 * @word0: first word of the entry; the phase in it is replaced
 * @word1: second word
 *
 * The RGP validates it like an application's. Call rmc_client_submit() after the last one.
 *
 * Return: slot, as in the entry's completion.
 * Context: the client; does not sleep.
 */
static inline u16 rmc_client_post(struct rmc_client *c, u64 word0, u64 word1)
{
	u16 slot = c->head & c->qp.mask;

	WRITE_ONCE(c->qp.wq[slot].word1, word1);
	/* pairs with the acquire in take_entry() */
	rmc_phase_publish(&c->qp.wq[slot].word0,
			  (word0 & ~(u64)RMC_PHASE) | rmc_phase(c->head, c->qp.order));
	c->head++;
	return slot;
}

/**
 * rmc_client_reap() - take the next completion
 * @c: client
 * @slot: out, slot of the completed entry
 * @status: out, enum rmc_status
 *
 * Return: false when there is none.
 * Context: the client; does not sleep.
 */
static inline bool rmc_client_reap(struct rmc_client *c, u16 *slot, u8 *status)
{
	u32 word;

	/* avoids a load of a line that the RCP writes */
	if (!rmc_client_in_flight(c))
		return false;
	/* pairs with the release in rmc_cq_post() */
	word = rmc_phase_load(&c->qp.cq[c->tail & c->qp.mask].word);
	if (!rmc_phase_is(word, c->tail, c->qp.order))
		return false;
	c->tail++;
	*slot = rmc_cqe_slot(word);
	*status = rmc_cqe_status(word);
	return true;
}

#endif
