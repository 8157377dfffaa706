/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slots of transactions that queue pairs of applications have (<linux/rmc_tx.h>). A unit has one
 * struct rmc_tx_slots per context that has any, with an engine (tx_engine.h), which the worker of
 * the unit's RGP polls beside the queue pairs:
 *
 *   WQ: TX_READ, TX_OWN    prepare(): the transaction begins, the node is in its list
 *                          packets of the queue pair itself, like a read: ops/tx_app.c
 *   WQ: TX_COMMIT          copy of the record --> write list of the engine, commit
 *       TX_ABORT           abort
 *                             visit: rmc_tx_slots_poll() --> INTEND ... by the engine's queue
 *   CQ  <-------------------  it has ended
 *
 * A slot:
 *
 *   pool --attach--> idle --first operation--> open --commit, abort--> waits --ended--> idle
 *    ^                 |                         |                       |
 *    +-----------------+-----detach--------------+--> its transaction ends without the queue pair
 *
 * A transaction that ended by itself (a node is lost) stays open, as failed, until the application
 * commits or aborts it: no later access is of another transaction.
 *
 * The worker of the unit's RGP owns all of it. Its life:
 *
 *   rmc_tx_slots_create()		any thread; the tenant of engine->client.qp
 *   rmc_ni_add_slots()			worker; -ENOSPC
 *   rmc_tx_attach() ...		worker; rmc_ni_del_qp() detaches
 *   rmc_tx_slots_idle()		worker: nobody has slots, nothing is left to be sent
 *   rmc_ni_del_slots()			worker; not idle: what is decided is sent no more
 *   rmc_tx_slots_destroy()		any thread
 */
#ifndef RMC_TX_SLOTS_H
#define RMC_TX_SLOTS_H

#include "tx_engine.h"

/* Longest record of a TX_COMMIT, bytes: a line, ranges, and what they write, each padded */
#define RMC_TX_RECORD_MAX							\
	(RMC_LINE + RMC_TX_MAX_RANGES * (sizeof(struct rmc_tx_item) + 8) + RMC_TX_MAX_BYTES)

/*
 * rmc_wqe.tag of an access: its slot, and as much of its gen as fits. What is sent again is of the
 * transaction that it was of.
 */
#define RMC_TX_TAG_GEN_BITS	10
#define RMC_TX_TAG_GEN_MASK	((1U << RMC_TX_TAG_GEN_BITS) - 1)

static inline u32 rmc_tx_tag(u32 slot, u32 gen)
{
	return slot << RMC_TX_TAG_GEN_BITS | (gen & RMC_TX_TAG_GEN_MASK);
}

static_assert(RMC_TX_MAX_SLOTS << RMC_TX_TAG_GEN_BITS <= 1 << (64 - RMC_TAG_SHIFT), "it fits");
static_assert(RMC_TX_MAX_ACCESS < 1 << RMC_TX_LENGTH_SHIFT, "lengths have their field");
static_assert(RMC_TX_MAX_SLOTS << RMC_TX_LENGTH_SHIFT == 1 << 24, "and slots the rest of it");

struct rmc_qpair;
struct rmc_wqe;

/**
 * struct rmc_tx_user - a slot's use by a queue pair
 * @qp: queue pair that has the slot, the one that the unit's worker polls; NULL: none
 * @entry: WQ index of the TX_COMMIT or TX_ABORT that waits for the end
 * @open: a transaction has begun, and the application was not told of its end
 * @waits: @entry waits
 * @aborts: it is a TX_ABORT
 * @status: of an open one that has ended by itself: why; RMC_S_OK: it has not
 */
struct rmc_tx_user {
	struct rmc_qpair *qp;
	u16 entry;
	bool open;
	bool waits;
	bool aborts;
	u8 status;
};

/**
 * struct rmc_tx_slots - slots of a unit and a context
 * @engine: engine; set engine->client.qp.tenant before rmc_ni_add_slots()
 * @next: next one of the worker (ni.h)
 * @unit: unit
 * @ctx_id: context
 * @free: slots in the pool
 * @leaving: slots whose queue pair is gone, and whose transaction is not over
 * @busy: slots with something left for the engine: it has to be polled, the worker stays awake
 * @user: by slot
 * @copy: private copy of a struct rmc_tx_commit with all of it
 */
struct rmc_tx_slots {
	struct rmc_tx_engine *engine;
	struct rmc_tx_slots *next;
	struct rmc_node *unit;
	u16 ctx_id;
	u64 free;
	u64 leaving;
	u64 busy;
	struct rmc_tx_user user[RMC_TX_SLOTS];
	u8 *copy;
};

struct rmc_tx_slots *rmc_tx_slots_create(struct rmc_node *unit, u16 ctx_id,
					 const struct rmc_tx_engine_opts *opts);
void rmc_tx_slots_destroy(struct rmc_tx_slots *s);

/* of rmc_ni_add_slots() and rmc_ni_del_slots() */
int rmc_tx_slots_add(struct rmc_tx_slots *s);
void rmc_tx_slots_del(struct rmc_tx_slots *s);

/* calls of the unit's worker; @qp: see rmc_qp_inner() */
bool rmc_tx_slots_idle(const struct rmc_tx_slots *s);
struct rmc_tx_slots *rmc_tx_slots_find(const struct rmc_node *unit, u16 ctx_id);

int rmc_tx_attach(struct rmc_qpair *qp, struct rmc_tx_slots *s, u32 slots, u64 *mask);
void rmc_tx_detach(struct rmc_qpair *qp);

/* the operations, ops/tx_app.c */

u8 rmc_tx_slots_access(const struct rmc_qpair *qp, struct rmc_wqe *w);
u8 rmc_tx_slots_control(const struct rmc_qpair *qp, const struct rmc_wqe *w);
u32 rmc_tx_slots_gen(const struct rmc_qpair *qp, u32 tag);
u32 rmc_tx_slots_take(struct rmc_qpair *qp, const struct rmc_wqe *w, u16 entry);
u32 rmc_tx_slots_poll(struct rmc_tx_slots *s, bool tick);

/* True if the engine has something to do or waits for an answer: its worker has to stay awake. */
static inline bool rmc_tx_slots_busy(const struct rmc_tx_slots *s)
{
	return s->busy || rmc_client_in_flight(&s->engine->client);
}

#endif
