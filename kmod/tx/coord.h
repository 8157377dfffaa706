/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Coordinator: phases of the transactions of one endpoint (HADES table II, "commit at x").
 *
 *	FREE --begin--> OPEN --commit--> SELF --ack--> OTHERS --all acks--> COMMITTING --> FREE
 *	                 |                 |             |                  all have answered
 *	                 +-----------------+-------------+--> ABORTING ---------------> FREE
 *	                  squash, time-out, refusal, abort
 *
 * It knows which nodes a transaction uses and what each has answered; what is written, and how a
 * message travels, its caller knows:
 *
 *	begin() ... touch() before the first message to a node ... commit()
 *	while (next(&msg)) send msg;	INTEND: with the ranges written at msg.nid
 *					COMMIT: DATA of these, then CLOSE(commit)
 *					ABORT: CLOSE(abort)
 *	answer(&msg, status)		when it is answered, or the RMC gave it up
 *	ended(&slot, &status)		tell the application
 *	resend(slot)			now and then: messages not answered become due again
 *
 * A message that was lost, and a COMMIT that was answered with RMC_S_BUSY, are due again with the
 * next resend(); but an INTEND that was lost ends the transaction, as a refusal does.
 *
 * Before it calls commit(), the caller has the answers to all accesses, RMC_S_OK each.
 *
 * Memory: struct rmc_tx_coord is the whole state and has no pointers. It belongs to one thread.
 */
#ifndef RMC_TX_COORD_H
#define RMC_TX_COORD_H

#include "tx.h"

enum rmc_tx_phase {
	RMC_TX_FREE,
	RMC_TX_LOCKING,		/* LOCK to a node, one after the other */
	RMC_TX_EXECUTING,
	RMC_TX_SELF,		/* INTEND to the own node */
	RMC_TX_OTHERS,		/* INTEND to the others */
	RMC_TX_HELD,		/* all have acked: the application decides */
	RMC_TX_COMMITTING,	/* decided */
	RMC_TX_ABORTING,
};

enum rmc_tx_kind {
	RMC_TX_INTEND,
	RMC_TX_COMMIT,
	RMC_TX_ABORT,
	RMC_TX_LOCK,
};

/* Of a node of a transaction */
enum {
	RMC_TX_P_HERE	= 1,	/* it was accessed there: the node has a record */
	RMC_TX_P_SENT	= 2,	/* messages of this transaction were sent there */
	RMC_TX_P_DUE	= 4,	/* a message of this phase is to be sent */
	RMC_TX_P_WAIT	= 8,	/* ... or answered */
	RMC_TX_P_LOST	= 16,	/* decided, but its part was not applied, as far as known */
	RMC_TX_P_LOCK	= 64,	/* lines there are to be locked in advance */
	RMC_TX_P_LOCAL	= 32,	/* the own node: it is used by loads and stores */
};

/**
 * struct rmc_tx_peer - a node of a transaction
 * @nid: endpoint of the participant
 * @flags: RMC_TX_P_*
 */
struct rmc_tx_peer {
	u16 nid;
	u16 flags;
};

/**
 * struct rmc_tx_slot - a transaction
 * @gen: use of this slot
 * @phase: enum rmc_tx_phase
 * @status: how it ended: RMC_S_OK, or why it was squashed
 * @hold: RMC_TX_HELD comes before the decision
 * @locks: it has locked in advance all that it was to lock
 * @peers: entries of @peer
 * @waits: those of them with RMC_TX_P_WAIT
 * @peer: node list (module 4b)
 */
struct rmc_tx_slot {
	u32 gen;
	u8 phase;
	u8 status;
	u8 hold;
	u8 locks;
	u16 peers;
	u16 waits;
	struct rmc_tx_peer peer[RMC_TX_NODES];
};

/**
 * struct rmc_tx_coord - transactions of an endpoint
 * @self: this endpoint
 * @pad: 0
 * @due: slots with a message to be sent
 * @ends: slots whose end is to be reported
 * @prepared: slots in RMC_TX_HELD of which that is to be reported
 * @locked: slots that have locked in advance, of which that is to be reported
 * @slot: by number
 */
struct rmc_tx_coord {
	u32 self;
	u32 pad;
	u64 due;
	u64 ends;
	u64 prepared;
	u64 locked;
	struct rmc_tx_slot slot[RMC_TX_SLOTS];
};

/**
 * struct rmc_tx_msg - a message to a participant
 * @kind: enum rmc_tx_kind
 * @nid: endpoint of the participant
 * @slot: slot
 * @gen: use of the slot
 * @flags: of an INTEND: RMC_TX_HERE, or 0; of the others: RMC_TX_LOCAL, or 0
 */
struct rmc_tx_msg {
	u16 kind;
	u16 nid;
	u32 slot;
	u32 gen;
	u32 flags;
};

void rmc_tx_coord_init(struct rmc_tx_coord *c, u32 self, u32 gen);
int rmc_tx_coord_begin(struct rmc_tx_coord *c, u32 slot, u32 *gen);
int rmc_tx_coord_touch(struct rmc_tx_coord *c, u32 slot, u32 nid, bool access);
int rmc_tx_coord_local(struct rmc_tx_coord *c, u32 slot);
int rmc_tx_coord_lock_at(struct rmc_tx_coord *c, u32 slot, u32 nid);
int rmc_tx_coord_lock(struct rmc_tx_coord *c, u32 slot);
bool rmc_tx_coord_locked(struct rmc_tx_coord *c, u32 *slot);
int rmc_tx_coord_commit(struct rmc_tx_coord *c, u32 slot);
int rmc_tx_coord_prepare(struct rmc_tx_coord *c, u32 slot);
bool rmc_tx_coord_prepared(struct rmc_tx_coord *c, u32 *slot);
void rmc_tx_coord_abort(struct rmc_tx_coord *c, u32 slot, u8 status);
void rmc_tx_coord_squash(struct rmc_tx_coord *c, u32 slot, u32 gen, u32 nid);
bool rmc_tx_coord_next(struct rmc_tx_coord *c, struct rmc_tx_msg *msg);
void rmc_tx_coord_answer(struct rmc_tx_coord *c, const struct rmc_tx_msg *msg, u8 status);
void rmc_tx_coord_resend(struct rmc_tx_coord *c, u32 slot);
void rmc_tx_coord_expire(struct rmc_tx_coord *c, u32 slot);
void rmc_tx_coord_epoch(struct rmc_tx_coord *c, u32 nid);
bool rmc_tx_coord_ended(struct rmc_tx_coord *c, u32 *slot, u8 *status);

/* Whether a transaction can begin in the slot: all nodes of the last one have answered. */
static inline bool rmc_tx_coord_is_free(const struct rmc_tx_coord *c, u32 slot)
{
	return c->slot[slot].phase == RMC_TX_FREE;
}

/* Whether its outcome is decided, either way, so that nothing may squash it any more. */
static inline bool rmc_tx_coord_is_decided(const struct rmc_tx_coord *c, u32 slot)
{
	return c->slot[slot].phase >= RMC_TX_COMMITTING;
}

#endif
