/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HADES' evaluation in virtual time: a model of the three systems on the same constants.
 *
 *	workloads of tools/tx, unchanged		smallbank.c tatp.c tpcc*.c ycsb.c
 *	  |  calls of <rmc/tx.h>, by other names: hades_names.h
 *	  v
 *	hades_api.c	rmc_tx_run() and so on, for the system of the run; the index of keys
 *	  |				  |
 *	hades_sw.c			hades_tx.c, hades_commit.c, hades_locks.c
 *	  lib/tx: SW-Impl, real		  HADES, HADES-H: accesses; phases of the commit; locks
 *	  operations as messages		  |
 *	  |				hades_home.c
 *	  |				  kmod/tx: participant, coordinator, filters, real
 *	  v				  v
 *	hades_clock.c	events, cores with their coroutines, messages between adapters
 *	hades_cache.c	what a core or an adapter waits for memory
 *
 * Everything runs on one thread. A coroutine is a fiber; its computation is charged to its core,
 * and it lets the other one run while it waits for messages. Time is in picoseconds.
 *
 * Not modelled: packets (a message is whole), the order of lines in one operation, losses, the
 * cores' overlap of computation with memory beyond the lines of one record.
 */
#ifndef HADES_H
#define HADES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap.h"

#define HD_LINE		64
#define HD_NODES	16
#define HD_COROUTINES	64		/* of a node */
#define HD_PER_CORE	4
#define HD_RANGES	256		/* that a transaction writes at a node */
#define HD_SQUASHES	16		/* of a transaction: counted up to this */

enum hd_system { HD_SW, HD_HADES, HD_HADES_H, HD_SYSTEMS };

/* Constants of hades.def */
struct hd_constants {
#define HD_FIELD(name, value, unit, source) uint32_t name;
#define PUBLISHED	HD_FIELD
#define MEASURED	HD_FIELD
#define ASSUMED		HD_FIELD
#include "hades.def"
#undef HD_FIELD
#undef PUBLISHED
#undef MEASURED
#undef ASSUMED
};

extern struct hd_constants hd;

static inline uint64_t hd_cycles(uint32_t n)
{
	return (uint64_t)n * hd.cycle;
}

/* A set-associative cache, of tags only */
struct hd_cache {
	uint32_t sets, ways;
	uint64_t *tag;		/* 1 + line; 0: empty */
	uint32_t *used;		/* when, for the oldest one */
	uint8_t *writer;	/* 1 + slot of the transaction that has written it; 0: none */
	uint32_t clock;
};

struct fiber;
struct hd_home;
struct hd_client;

struct hd_core {
	struct hd_client *running;
	struct hd_client *ready[HD_PER_CORE];
	unsigned int count;
	struct hd_cache l1, l2;
};

struct hd_node {
	unsigned int nid;
	uint8_t *memory;
	size_t bytes;
	uint64_t send_free, receive_free;	/* of its adapter */
	struct hd_cache llc;
	struct hd_core *core;
	struct hd_home *home;
	struct hd_client *slot[HD_COROUTINES];	/* whose transaction it is */
	struct hd_client *waiting[HD_COROUTINES];	/* for a slot */
	unsigned int waiters;
};

enum hd_phase { HD_EXECUTION, HD_VALIDATION, HD_COMMIT, HD_PHASES };

/* Of the transactions that ended in the time that counts */
struct hd_stats {
	uint64_t committed, ended, squashed, evicted, eager, locked, full, fallback;
	uint64_t phase[HD_PHASES], latencies, room, requests;
	uint64_t by_squashes[HD_SQUASHES + 1];	/* transactions by their squashes */
	uint64_t most_read, most_written;	/* lines */
	uint32_t *latency;			/* ns */
};

struct hd_access;
struct hd_need;
struct tx_client;

/* A coroutine */
struct hd_client {
	struct sim_event event;
	struct fiber *fiber;
	struct hd_node *node;
	struct hd_core *core;
	unsigned int number;
	uint32_t table;			/* HADES: the first one of its program */
	uint64_t at;			/* SW-Impl: its program's part of a node's memory */
	bool waiting, woken;
	uint64_t debt;			/* charged, and not slept yet */
	struct tx_client *tc;
	uint64_t random;
	struct hd_stats *stats;
	/* the transaction */
	int (*fn)(void *t, void *arg);
	void *arg, *sw, *db;		/* of lib/tx */
	uint64_t begun, tried, validating, committing;
	unsigned int squashes;
	bool squashed, over;
	bool evicted;			/* its last attempt was, so this one has no tags */
	bool in_advance, has_locks;	/* it locks before it begins; it has done so */
	struct hd_need *need;		/* what it locks: lines of its attempts, ascending */
	unsigned int needs;
	int status;
	uint32_t slot, gen;
	unsigned int outstanding;
	struct hd_access *access;
	unsigned int accesses;
	uint16_t *index;
	uint8_t *data;
	size_t used;
};

/* The run */
struct hd_run {
	enum hd_system system;
	unsigned int nodes, cores, coroutines;
	bool as_printed;		/* each transaction sends Intend-to-commit */
	unsigned int patience;		/* squashes, after which one locks what it needs (section VI) */
	struct hd_node node[HD_NODES];
	struct sim_heap heap;
	uint64_t now;
	uint64_t from, until;		/* what counts ends between these */
	struct hd_client *self;		/* that runs; NULL: none, and time stands still */
	/* of adapters */
	uint64_t messages, bytes;
	/* of filters */
	uint64_t tests, positives, false_positives;
	uint64_t victims, false_victims;	/* of INTENDs; hit by no line that they use */
	uint64_t pairs_sum, pairs_samples, pairs_most;
	uint64_t tag_sum, tag_samples;
};

extern struct hd_run hdr;

/* ---- hades_clock.c ---- */

void hd_clock_reset(void);
/* Call fn at a time, outside of all coroutines */
void hd_at(uint64_t at, void (*fn)(void *arg), void *arg);
void hd_start(struct hd_client *c, void (*fn)(void *arg), uint64_t at);
void hd_go(void);			/* until nothing is left to happen */
/* of the running coroutine */
void hd_charge(uint64_t ps);
uint64_t hd_time(void);
void hd_sync(void);			/* what was charged is over */
void hd_wait(void);			/* until hd_wake(), which may be one that came before */
void hd_sleep(uint64_t ps);		/* the core is free meanwhile */
void hd_wake(struct hd_client *c);
/*
 * A message: fn(arg) when it is in the other node's adapter. Messages of two nodes stay in order.
 * Its receiver's adapter may be busy for longer: hd_busy().
 */
void hd_send(unsigned int from, unsigned int to, size_t bytes, void (*fn)(void *arg), void *arg);
void hd_busy(unsigned int nid, uint64_t ps);

/* ---- hades_cache.c ---- */

enum hd_space { HD_SEGMENT, HD_LANDING, HD_INDEX };

int hd_cache_init(struct hd_cache *c, uint64_t kib, uint32_t ways, bool writers);
void hd_cache_free(struct hd_cache *c);
/* A core's access to lines: ps. first: at least the time of the LLC, as the directory is asked */
uint64_t hd_touch(struct hd_client *c, enum hd_space space, uint64_t line, unsigned int lines,
		  bool directory);
/* An adapter's access to lines of its node's memory */
uint64_t hd_dma(struct hd_node *n, uint64_t line, unsigned int lines);
/* A transaction writes the line, which stays in the LLC; 0, or 1 + slot that it drove out */
unsigned int hd_speculative(struct hd_node *n, uint64_t line, uint32_t slot);
void hd_settled(struct hd_node *n, uint64_t line, uint32_t slot);

/* ---- hades_sw.c: SW-Impl of lib/tx ---- */

struct rmc_tx_table;

size_t hd_sw_bytes(unsigned int nodes, const struct rmc_tx_table *t, unsigned int tables);
int hd_sw_open(struct hd_client *c, const struct rmc_tx_table *t, unsigned int tables,
	       uint32_t records);
void hd_sw_close(struct hd_client *c);
int hd_sw_run(struct hd_client *c, int (*fn)(void *t, void *arg), void *arg);
int hd_sw_get(struct hd_client *c, uint32_t table, uint64_t rid, uint32_t field, size_t len,
	      const void **data);
int hd_sw_put(struct hd_client *c, uint32_t table, uint64_t rid, uint32_t field, const void *data,
	      size_t len);
int hd_sw_insert(struct hd_client *c, uint32_t table, uint64_t rid, const void *data, size_t len);
int hd_sw_delete(struct hd_client *c, uint32_t table, uint64_t rid);
int hd_sw_load(struct hd_client *c, uint32_t table, uint64_t rid, const void *data, size_t len);
int hd_sw_peek(struct hd_client *c, uint32_t table, uint64_t rid, void *data);

/* ---- hades_tx.c, hades_commit.c: HADES and HADES-H ---- */

#define HD_HEAD		16		/* bytes before a record's data: version, incarnation */
#define HD_RECORD_LINES	65

/* A record that the transaction has accessed */
struct hd_access {
	uint64_t rid, offset, version;
	uint32_t table, len, lines;
	unsigned int nid;
	bool local, copied;		/* copied: HADES-H has read it by software */
	uint8_t *data;			/* with the head */
	uint64_t valid[2], owned[2], asked[2];	/* lines */
	uint64_t wanted[2];			/* also those that it did not get */
	uint64_t written[HD_RECORD_LINES];	/* bytes */
};

size_t hd_tx_bytes(unsigned int nodes, const struct rmc_tx_table *t, unsigned int tables);
int hd_tx_open(struct hd_client *c, uint32_t records);
void hd_tx_close(struct hd_client *c);
int hd_tx_run(struct hd_client *c, int (*fn)(void *t, void *arg), void *arg);
int hd_tx_get(struct hd_client *c, uint32_t table, uint64_t rid, uint32_t field, size_t len,
	      const void **data);
int hd_tx_put(struct hd_client *c, uint32_t table, uint64_t rid, uint32_t field, const void *data,
	      size_t len);
int hd_tx_insert(struct hd_client *c, uint32_t table, uint64_t rid, const void *data, size_t len);
int hd_tx_delete(struct hd_client *c, uint32_t table, uint64_t rid);
int hd_tx_load(uint32_t table, uint64_t rid, const void *data, size_t len);
int hd_tx_peek(uint32_t table, uint64_t rid, void *data);
int hd_tx_squash(struct hd_client *c);
/* The transaction commits: 0, or RMC_TX_SQUASHED */
int hd_tx_commit(struct hd_client *c);
void hd_tx_abort(struct hd_client *c);
/* Wait for a slot of the node, and begin */
void hd_tx_begin(struct hd_client *c);
/* hades_locks.c: lines of the attempt that has failed are among those that the next one locks */
void hd_locks_add(struct hd_client *c);
void hd_locks_forget(struct hd_client *c);
/* Lock them: 0, or RMC_TX_SQUASHED */
int hd_locks_take(struct hd_client *c);
struct hd_message;
void hd_locks_fill(const struct hd_client *c, struct hd_message *m);
/* Send what the node's coordinator asks for, and look whose transactions have ended */
void hd_pump(struct hd_node *x);
/* Bits a record's lines: bytes of a line that are written as runs */
bool hd_is_set(const uint64_t *bits, unsigned int i);

/* ---- hades_home.c: participants and coordinators ---- */

enum hd_answer { HD_OK, HD_SQUASHED, HD_LOCKED, HD_FULL };
enum hd_kind { HD_INTEND, HD_CLOSE, HD_ABORT, HD_LOCK };

struct hd_range {
	uint64_t offset, length;
};

/* INTEND, or DATA and CLOSE, on their way */
struct hd_message {
	uint32_t from, to, slot, gen, flags;
	uint16_t kind, real;		/* enum hd_kind; of the coordinator */
	uint8_t status;
	uint32_t ranges, writes, bases, lines, base_room, bytes;	/* writes: of a LOCK */
	struct hd_range *range;
	uint64_t *base;			/* HADES-H: records whose version is one higher */
	uint8_t *data;
};

int hd_home_init(struct hd_node *n, unsigned int nodes, unsigned int self, bool local);
void hd_home_free(struct hd_node *n);
enum hd_answer hd_home_access(struct hd_node *y, uint32_t source, uint32_t slot, uint32_t gen,
			      bool own, uint64_t offset, uint64_t length);
enum hd_answer hd_home_local(struct hd_node *x, uint32_t slot, uint64_t line, bool write);
bool hd_home_locked(struct hd_node *x, uint64_t line, uint32_t slot, bool has_locks);
bool hd_home_squashed(struct hd_node *x, uint32_t slot);
void hd_home_squash(struct hd_node *x, uint32_t slot);		/* evicted */
/* What a message does at its destination; its status is the answer's */
void hd_home_serve(struct hd_node *y, struct hd_message *m);
/* A transaction that the participant has squashed and nobody has heard of */
bool hd_home_hint(struct hd_node *y, uint32_t *source, uint32_t *slot, uint32_t *gen);
/* coordinator of a node */
bool hd_coord_begin(struct hd_node *x, uint32_t slot, uint32_t *gen);
void hd_coord_touch(struct hd_node *x, uint32_t slot, unsigned int nid, bool access);
void hd_coord_commit(struct hd_node *x, uint32_t slot);
void hd_coord_abort(struct hd_node *x, uint32_t slot);
void hd_coord_hint(struct hd_node *x, uint32_t slot, uint32_t gen, unsigned int nid);
bool hd_coord_next(struct hd_node *x, struct hd_message *m);
bool hd_coord_is_last(struct hd_node *x, const struct hd_message *m);
void hd_coord_answer(struct hd_node *x, const struct hd_message *m);
bool hd_coord_ended(struct hd_node *x, uint32_t *slot, bool *committed);
void hd_coord_lock(struct hd_node *x, uint32_t slot, const bool nodes[HD_NODES]);
bool hd_coord_locked(struct hd_node *x, uint32_t *slot);
void hd_coord_again(struct hd_node *x, uint32_t slot, uint32_t gen);
bool hd_coord_free(struct hd_node *x, uint32_t slot);

#endif
