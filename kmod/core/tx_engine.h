/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Engine of transactions: the coordinator's side in the RMC (HADES section IV-C, module 4b). It
 * keeps node list and write list in kernel memory, sends what tx/coord.h asks for, and repeats it
 * until it is answered. So a process that dies after the decision leaves no half of a transaction.
 *
 *   begin --> access, write ... --> commit --> ended
 *                                   INTEND, then DATA and CLOSE: sent by poll()
 *
 * It is a client of the RMC (client.h): one thread at a time uses it, and it belongs to a unit and
 * a context. There must be one per unit and context, since packets name its endpoint and slot.
 *
 * Each entry of its queue has a buffer for one message, and entries are used again in order. One
 * whose operation takes long is passed over: an entry that the RGP refuses at once takes its place.
 * So others wait only while as many operations are in flight as there are entries.
 */
#ifndef RMC_TX_ENGINE_H
#define RMC_TX_ENGINE_H

#include "client.h"
#include "../base/tx_wire.h"
#include "../tx/coord.h"
#include "../tx/part.h"

/* Most bytes of an access, and of all writes of a transaction */
#define RMC_TX_ACCESS_MAX	RMC_TX_BODY_MAX
#define RMC_TX_WRITE_MAX	RMC_TX_MAX_BYTES

/* rmc_tx_engine_opts.hold_ms, if it is 0 */
#define RMC_TX_HOLD_MS		100

/* Most entries of an engine's queue */
#define RMC_TX_ENTRIES		256

/* Times that an access or INTEND is repeated that was lost, or found its lines locked */
#define RMC_TX_TRIES		8

/**
 * struct rmc_tx_engine_opts - what an engine is created for
 * @slots: transactions at a time, up to RMC_TX_SLOTS
 * @bytes: writes of each of them, up to RMC_TX_WRITE_MAX
 * @order: log2 of the operations in flight
 * @gen: of no transaction of an engine before at this unit and context in this epoch is one newer
 * @resend_ms: what was not answered is sent again after this
 * @hold_ms: time for which a transaction holds its locks while its application decides; 0:
 *	RMC_TX_HOLD_MS
 */
struct rmc_tx_engine_opts {
	u32 slots;
	u32 bytes;
	u32 order;
	u32 gen;
	u32 resend_ms;
	u32 hold_ms;
};

/**
 * struct rmc_tx_write - a range that a transaction writes; those of one node are disjoint
 * @offset: in the segment, bytes
 * @length: bytes
 * @at: their place in rmc_tx_txn.data
 * @nid: node
 */
struct rmc_tx_write {
	u64 offset;
	u32 length;
	u32 at;
	u32 nid;
};

enum rmc_tx_access_state {
	RMC_TX_ACCESS_NONE,
	RMC_TX_ACCESS_DUE,	/* to be sent */
	RMC_TX_ACCESS_SENT,
	RMC_TX_ACCESS_DONE,	/* the caller has not asked yet */
};

/**
 * struct rmc_tx_txn - a transaction of an engine
 * @gen: use of its slot
 * @writes: entries of @write
 * @used: bytes of @data
 * @tries: repetitions of INTEND
 * @held_ms: since when it holds locks, if its bit of rmc_tx_engine.held is set; while it waits for
 *	locks, when LOCK was last sent again
 * @ready: bit per entry of the node list: a part of the commit is to be sent there next
 * @next: by entry of the node list, which part: a write, and how much of it was sent
 * @write: write list, by node and offset; before, what it locks in advance: @at is 1 if that is
 *	only read
 * @data: what is written
 * @access: its access, one at a time
 */
struct rmc_tx_txn {
	u32 gen;
	u32 writes;
	u32 used;
	u32 tries;
	u32 held_ms;
	u64 ready;
	struct {
		u32 write;
		u32 sent;
	} next[RMC_TX_NODES];
	struct rmc_tx_write write[RMC_TX_RANGES];
	u8 *data;
	struct {
		u64 offset;
		u8 *to;
		u32 length;
		u32 nid;
		u32 due_ms;
		u8 state;
		u8 kind;
		u8 status;
		u8 tries;
	} access;
};

enum rmc_tx_op_what {
	RMC_TX_OP_FREE,
	RMC_TX_OP_ACCESS,
	RMC_TX_OP_MESSAGE,	/* INTEND, or CLOSE */
	RMC_TX_OP_DATA,
};

/**
 * struct rmc_tx_op - an entry of the queue in use
 * @msg: message; of an access: its slot, gen and node
 * @what: enum rmc_tx_op_what
 * @skips: times that the entry was passed over, and the RGP has not refused it yet
 */
struct rmc_tx_op {
	struct rmc_tx_msg msg;
	u32 what;
	u32 skips;
};

/**
 * struct rmc_tx_engine - an engine
 * @client: queues; give its queue pair to rmc_ni_add_qp()
 * @unit: unit
 * @opts: as given
 * @entries: of the queue
 * @coord: phases of the transactions; nodes have their ids there
 * @txn: by slot
 * @op: by entry of the queue
 * @memory: by entry, a buffer of RMC_TX_MESSAGE_MAX bytes
 * @data: of @txn
 * @chunk: of @mem
 * @mem: @memory, as the pipelines have it
 * @bufs: @mem
 * @epoch: by node, the one that its transactions are of; 0: it is not up
 * @self_epoch: own one
 * @now_ms: at the last poll
 * @resent_ms: when messages were last sent again
 * @held: slots that hold locks while their application decides
 * @posted: entries since the last rmc_client_submit()
 * @accesses: slots whose access may be due
 * @parts: slots that may have rmc_tx_txn.ready
 * @used: bit per entry of the queue in use
 * @awake: the engine's thread is the worker of its queue pair, which nobody has to wake
 */
struct rmc_tx_engine {
	struct rmc_client client;
	struct rmc_node *unit;
	struct rmc_tx_engine_opts opts;
	u32 entries;
	struct rmc_tx_coord *coord;
	struct rmc_tx_txn *txn;
	struct rmc_tx_op *op;
	u8 *memory;
	u8 *data;
	void *chunk;
	struct rmc_mem mem;
	struct rmc_bufs bufs;
	u32 *epoch;
	u32 self_epoch;
	u32 now_ms;
	u32 resent_ms;
	u64 held;
	u32 posted;
	u64 accesses;
	u64 parts;
	u64 used[RMC_TX_ENTRIES / 64];
	bool awake;
};

struct rmc_tx_engine *rmc_tx_engine_create(struct rmc_node *unit, u16 ctx_id,
					   const struct rmc_tx_engine_opts *opts);
void rmc_tx_engine_destroy(struct rmc_tx_engine *e);
int rmc_tx_engine_begin(struct rmc_tx_engine *e, u32 *slot);
int rmc_tx_engine_begin_at(struct rmc_tx_engine *e, u32 slot);
bool rmc_tx_engine_is_down(const struct rmc_tx_engine *e, u32 nid);
int rmc_tx_engine_access(struct rmc_tx_engine *e, u32 slot, enum rmc_tx_access kind, u32 nid,
			 u64 offset, u32 length, void *to);
bool rmc_tx_engine_accessed(struct rmc_tx_engine *e, u32 slot, u8 *status);
int rmc_tx_engine_write(struct rmc_tx_engine *e, u32 slot, u32 nid, u64 offset, const void *data,
			u32 length);
int rmc_tx_engine_local(struct rmc_tx_engine *e, u32 slot);
int rmc_tx_engine_commit(struct rmc_tx_engine *e, u32 slot);
void rmc_tx_engine_abort(struct rmc_tx_engine *e, u32 slot);
void rmc_tx_engine_time(struct rmc_tx_engine *e, u32 now_ms);
u32 rmc_tx_engine_take(struct rmc_tx_engine *e);
void rmc_tx_engine_send(struct rmc_tx_engine *e);
/* tx_hold.c */
int rmc_tx_engine_prepare(struct rmc_tx_engine *e, u32 slot);
bool rmc_tx_engine_prepared(struct rmc_tx_engine *e, u32 *slot);
int rmc_tx_engine_lock(struct rmc_tx_engine *e, u32 slot, const struct rmc_tx_item *item,
		       u32 count);
bool rmc_tx_engine_locked(struct rmc_tx_engine *e, u32 *slot);
u32 rmc_tx_hold_ranges(const struct rmc_tx_txn *t, u32 nid, struct rmc_tx_range *range,
		       u32 *writes);
void rmc_tx_engine_expire(struct rmc_tx_engine *e);
u32 rmc_tx_engine_poll(struct rmc_tx_engine *e, u32 now_ms);
bool rmc_tx_engine_ended(struct rmc_tx_engine *e, u32 *slot, u8 *status);
bool rmc_tx_engine_idle(const struct rmc_tx_engine *e);

#endif
