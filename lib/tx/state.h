/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Transactions (see <rmc/tx.h>): private declarations of this directory.
 *
 *	tx.c	the calls of programs		    retry.c	rmc_tx_run()
 *	  |
 *	  v  struct tx_system: a row per system
 *	sw.c	SW-Impl: reads			    sw_commit.c	its commit
 *	hades.c	HADES: the RMC commits		    hades_open.c	ranges and slots of the RMC
 *	  |
 *	  v
 *	set.c	what a transaction has accessed	    table.c	(table, rid) -> node, offset
 *	queue.c	the queue pair, and waiting	    post.c	SW-Impl's operations on it
 *	repair.c	records without a transaction: first contents, locks of the dead
 *	blocks.c	blocks of structures (<rmc/ds.h>) in records: ../ds/block.h over tx.c's calls
 */
#ifndef RMC_LIB_TX_STATE_H
#define RMC_LIB_TX_STATE_H

#include "../internal.h"
#include "record.h"
#include "rmc/tx.h"

struct tx_set;
struct tx_system;
struct tx_local;
struct tx_own;

/* A record that a transaction has accessed */
struct tx_access {
	uint64_t rid;
	uint64_t offset;	/* of the record in its node's segment */
	uint64_t word;		/* that it was read with: its version, unlocked */
	uint64_t lock;		/* that its commit swaps in */
	uint64_t due;		/* rmc_now_ns(): not repeated before */
	struct record *local;	/* in this process; NULL: remote */
	uint8_t *image;		/* registered: what was read, and what will be written */
	uint8_t *data;		/* clean, with the transaction's own changes */
	uint64_t *seen;		/* registered: its word at commit */
	uint32_t table, len;
	uint32_t incarnation;
	uint32_t from, to;	/* bytes of data that were changed: [from, to) */
	uint32_t delay_ns;	/* before it is repeated; doubles */
	int nid, member;
	uint8_t fetching;	/* the read is in progress, or has ended unseen */
	uint8_t read;		/* data and word are valid */
	uint8_t written;
	uint8_t own;		/* it is read to be written */
	uint8_t held;		/* enum tx_held */
	int status;		/* of its last operation */
	struct tx_set *set;
	struct tx_access *next;	/* of db->again */
};

/* The lock of a record */
enum tx_held {
	TX_NOT_HELD,
	TX_LOCKING,		/* the compare-and-swap is in flight: it may be held */
	TX_HELD,
	TX_MAYBE_HELD,		/* the reply to its compare-and-swap was lost */
	TX_UNLOCKING,
	TX_WRITING,		/* a write that unlocks it is on its way */
	/* a write in doubt, again: see post.c */
	TX_PROBING,
	TX_RELOCKING,
	TX_REWRITING,
	TX_FINISHING,
	TX_OVERRULED,		/* only returned: others have broken the lock */
};

/*
 * What a transaction has accessed, and the memory of that. Writes are not waited for, so a slot
 * has two, and the next transaction uses the other one.
 */
struct tx_set {
	struct tx_access *access, **write;
	uint32_t n, writes, max;
	uint32_t *index, mask;	/* access + 1 by hash of table and rid */
	uint8_t *image, *data;	/* parallel; image is registered */
	uint64_t *seen;		/* registered */
	size_t used, size;
	uint8_t *more;		/* registered: as many bytes as system->more_bytes() */
	struct tx_access control;	/* of operations on the transaction as a whole */
	uint8_t rmc_slot;	/* of a system whose RMC has transactions */
	uint8_t begun;		/* the RMC may have one in that slot, which is not over */
	uint8_t own_by;		/* how it uses own records; see hades_local.c */
	struct tx_local *local;	/* own records by loads and stores; NULL: never */
	uint32_t awaited;	/* operations that a transaction waits for */
	uint32_t pending;	/* writes and unlocks of one that has ended */
};

enum tx_state { TX_FREE, TX_ACTIVE, TX_OVER };

struct rmc_tx {
	struct rmc_tx_db *db;
	struct tx_set set[2], *s;
	enum tx_state state;
	int status;		/* TX_OVER: what its calls return */
	enum rmc_tx_cause cause;	/* of the last squash */
	uint64_t number;	/* no other transaction of the database has it */
	uint64_t committed;	/* number of the last one of this slot that has */
	unsigned int current;
	uint8_t evicted;	/* the next one uses own records by the RMC; see hades_local.c */
};

enum tx_op_kind { TX_OP_NONE, TX_OP_READ, TX_OP_LOCK, TX_OP_CHECK, TX_OP_CLEAR, TX_OP_WRITE,
		  TX_OP_UNLOCK, TX_OP_PROBE, TX_OP_RELOCK, TX_OP_FINISH,
		  TX_OP_COMMIT, TX_OP_ABORT, TX_OP_FORGET };

/* The transaction waits for these; the others are for sets of transactions that have ended */
static inline int tx_awaited(enum tx_op_kind kind)
{
	return kind == TX_OP_READ || kind == TX_OP_LOCK || kind == TX_OP_CHECK ||
	       kind == TX_OP_CLEAR || kind == TX_OP_COMMIT;
}

/* Purpose of an entry of the queue pair */
struct tx_op {
	enum tx_op_kind kind;
	struct tx_access *access;
};

/* Of a table; at: from the database's memory on */
struct tx_table {
	uint64_t records, group, at, per_node;
	uint32_t bytes, stride;
};

struct tx_shape {
	struct tx_table table[RMC_TX_TABLES_MAX];
	uint32_t tables, largest;	/* bytes of the longest record as the system stores it */
	size_t bytes;
};

struct rmc_tx_db {
	const struct tx_system *system;
	struct rmc_team *team;
	struct rmc_tx_options o;
	struct tx_shape shape;
	struct rmc_qp *qp;
	struct tx_op *op;	/* of each entry */
	struct rmc_tx *slot;
	uint8_t *base;		/* the database's memory of this member */
	int nid;
	void *memory;		/* of all slots; registered */
	int buf_id, own_qp, claimed;
	unsigned int sets;	/* of each slot, that are used in turn: 2, or 1 */
	int registered;		/* the RMC has transactions in this member's memory */
	uint64_t *asked;	/* by member: number of its last question; see hades.c */
	uint64_t question;
	struct tx_own *own;	/* own records by loads and stores; NULL: through the RMC */
	/* writes and unlocks to repeat: the first, and where the next one is linked */
	struct tx_access *again, **again_end;
	uint32_t attempt;	/* of the last commit with locks */
	uint32_t *epoch;	/* of each member when the database was opened */
	/* state and epoch of a node: 0 or -errno */
	int (*node_info)(const struct rmc_tx_db *db, struct rmc_node_info *info);
	uint64_t lost_writes;	/* of committed transactions, since it was opened */
	uint64_t lost_reported;	/* of these, by rmc_tx_quiet() */
	uint64_t seed;
	struct rmc_tx_stats stats;
};

/*
 * A system. The functions on transactions return 0, or what the call of the program returns;
 * tx_squash() and tx_fail() end the transaction.
 */
struct tx_system {
	const char *name;
	/* Bytes that a record of len bytes takes in a segment: whole lines */
	size_t (*bytes)(size_t len);
	/* Data are in the image, this far from its start; 0: they are a copy */
	size_t data_at;
	/* Registered memory of a set besides; NULL: none */
	size_t (*more_bytes)(const struct rmc_tx_db *db);
	/* This member's memory, and its queue pair: 0 or -errno with rmc_errmsg(). NULL: nothing */
	int (*open)(struct rmc_tx_db *db);
	void (*close)(struct rmc_tx_db *db);
	/* Start to read; make the data valid */
	int (*fetch)(struct rmc_tx *t, struct tx_access *a);
	int (*read)(struct rmc_tx *t, struct tx_access *a);
	/* Was all that was read there together? */
	int (*check)(struct rmc_tx *t);
	/* The transaction is active; afterwards it has ended */
	int (*commit)(struct rmc_tx *t);
	/* Bytes of a record's image will be written: 0, or it has ended. NULL: nothing */
	int (*written)(struct rmc_tx *t, struct tx_access *a, uint32_t from, uint32_t to);
	int own_loads;	/* own records by loads and stores */
	/* Its slot will be free, whether it was committed or not; NULL: nothing */
	void (*end)(struct rmc_tx *t);
	int (*load)(struct rmc_tx_db *db, void *record, const void *data, size_t len);
	/*
	 * NULL: locks are the RMC's. Break the lock of nid (-1: of nobody) on a record of this
	 * member, and, if nobody writes,
	 * mark a torn one: 1: it had one, else 0
	 */
	int (*unlock_dead)(struct rmc_tx_db *db, void *record, size_t len, int nid, int quiet);
	/* Does the RMC have what the system needs? 0, or -EOPNOTSUPP with rmc_errmsg() */
	int (*usable)(const struct rmc_query *q);
	/* Fill an entry of the queue pair; its operation has ended, with op->access->status */
	void (*issue)(struct rmc_tx_db *db, int slot, enum tx_op_kind kind, struct tx_access *a);
	void (*completed)(struct rmc_tx_db *db, const struct tx_op *op, int slot);
	/* What is linked in db->again, if it is due */
	void (*repeat)(struct rmc_tx_db *db);
};

extern const struct tx_system rmc_tx_sw, rmc_tx_hades, rmc_tx_rmc;

/* The destination has refused the operation: it has had no effect, nor will one like it. */
static inline int tx_refused(int status)
{
	return (status >= RMC_S_BAD_OP && status <= RMC_S_READ_ONLY) || status > RMC_S_BUSY;
}

/* The operation may have taken effect, or may later. A node that is down may only be paused. */
static inline int tx_in_doubt(int status)
{
	return status && !tx_refused(status);
}

/* Packets were lost: the transaction may run again */
static inline int tx_passing(int status)
{
	return status == RMC_S_TIMEOUT || status == RMC_S_BUSY;
}

/* table.c */
int rmc_tx_shape(struct tx_shape *s, const struct tx_system *system, int nodes,
		 const struct rmc_tx_options *o);
/* nid and offset of a record, its member if it is not NULL; -EINVAL */
int rmc_tx_locate(const struct rmc_tx_db *db, struct rmc_tx_addr a, int *member, uint64_t *at);

/* set.c */
size_t rmc_tx_set_bytes(const struct rmc_tx_db *db);
int rmc_tx_set_init(struct tx_set *s, const struct rmc_tx_db *db, uint8_t *memory);
void rmc_tx_set_free(struct tx_set *s);
void rmc_tx_set_clear(struct tx_set *s);
/* s->write: accesses that are written, by node, then by address */
void rmc_tx_set_collect(struct tx_set *s);
/* The access of a record, new or known: -EINVAL, -ENOSPC */
int rmc_tx_set_find(struct rmc_tx *t, struct rmc_tx_addr at, struct tx_access **a);

/* queue.c */
int rmc_tx_post(struct rmc_tx_db *db, enum tx_op_kind kind, struct tx_access *a);
/* Handle completions, without waiting: 0 or -errno */
int rmc_tx_poll(struct rmc_tx_db *db);
/* A step of waiting: 0 or -errno */
int rmc_tx_relax(struct rmc_tx_db *db, unsigned int *spins);
/* Wait for a time: 0 or -errno */
int rmc_tx_pause(struct rmc_tx_db *db, uint64_t ns);
/* Wait until a counter of a set is 0: 0 or -errno */
int rmc_tx_await(struct rmc_tx_db *db, const uint32_t *counter);
/* The same until a time of rmc_now_ns(): -ETIMEDOUT */
int rmc_tx_await_until(struct rmc_tx_db *db, const uint32_t *counter, uint64_t until);

/* tx.c */
struct rmc_tx_db *rmc_tx_open_on(struct rmc_team *team, const struct rmc_tx_options *options,
				 struct rmc_qp *qp, void *memory);
size_t rmc_tx_memory(const struct rmc_tx_db *db);
int rmc_tx_squash(struct rmc_tx *t, enum rmc_tx_cause cause);
int rmc_tx_fail(struct rmc_tx *t, int status);
int rmc_tx_end(struct rmc_tx *t);
int rmc_tx_committed(struct rmc_tx *t);
/* Some of its writes are on their way, and the queue pair is dead */
int rmc_tx_doubtful(struct rmc_tx *t);

uint64_t rmc_tx_limit(const struct rmc_tx_db *db);	/* options.limit_ms from now on */

/* repair.c: has no transaction of this database the lock of a record that this node has? */
int rmc_tx_stale(const struct rmc_tx_db *db, int nid, uint64_t offset, uint64_t word);
/* Is the member's memory of another epoch than when the database was opened? */
int rmc_tx_other_epoch(const struct rmc_tx_db *db, int member);
uint32_t rmc_tx_next_attempt(struct rmc_tx_db *db);

#endif /* RMC_LIB_TX_STATE_H */
