/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model of a programmable switch in front of a storage node (R25 section 5): all requests to one
 * RRPP, and its replies, pass it. Off by default; it acts only while filters exist (filter.h).
 * Documentation/switch.rst has the protocol, uapi/linux/rmc_switch.h the word of a tuple.
 *
 *   packet --> parser, -> 0 last -> 1 client -> 2 tuple to -> 3 client to -> 4 PSN -> 5 fields,
 *              tables       PSN     to tuple    version       version        offset   route
 *
 * Each stage has an array of registers of a type of its own. Its function gets one register of
 * this type, or none, and the packet: so a packet touches each array once, in this order.
 *
 * The data plane (switch.c) and the control plane (switch_control.c) run on the RRPP's worker, one
 * packet at a time, as a pipeline has one packet in each stage.
 */
#ifndef RMC_SWITCH_H
#define RMC_SWITCH_H

#include <linux/rmc_switch.h>
#include "fabric.h"

/* Ranges of tuples or words that a switch serves: rows that each packet is compared with */
#define RMC_SWITCH_RANGES	16
/* Tuples of a range; those that have no register are cold */
#define RMC_SWITCH_TUPLES	(1U << 20)
/* Registers of stage 2: R25 figure 26 has 140,000 tuples; 32 bytes each */
#define RMC_SWITCH_REGISTERS	(1U << 18)
/* Clients, each with one tuple operation at a time; R25 figure 22 has 2048. A power of two */
#define RMC_SWITCH_CLIENTS	4096
/* Tuples that one call of the control plane moves, which the worker waits for */
#define RMC_SWITCH_BATCH	1024

/* Registers, by stage */
struct rmc_switch_last {	/* 0, by source: PSN of the last packet */
	u32 psn;
};

struct rmc_switch_use {		/* 1, by client: register of its tuple + 1, and its request */
	u32 tuple;
	u32 type;
};

struct rmc_switch_tuple {	/* 2, by tuple: its word, and who has latched it */
	u64 word;
	u64 written;		/* word of the last write that was acknowledged */
	u32 holder;
	u32 era;		/* of the holder's connection */
	u32 writer;		/* whose that write was */
	u32 writer_era;
};

struct rmc_switch_seen {	/* 3, by client: word of its tuple when it was asked for */
	u64 word;
};

struct rmc_switch_offset {	/* 4, by source: packets that were not passed on */
	u32 psn;
};

/* Types of packets: those of R25 table 2; then words, and what the switch does not serve */
enum rmc_switch_type {
	RMC_SWITCH_OTHER,	/* passed on as it is */
	RMC_SWITCH_READ_REQ,
	RMC_SWITCH_READ_REP,
	RMC_SWITCH_READ_VERSION,
	RMC_SWITCH_LATCH,
	RMC_SWITCH_WRITE_REQ,
	RMC_SWITCH_WRITE_REP,
	RMC_SWITCH_WORD_READ,	/* atomics on words that are in the switch */
	RMC_SWITCH_WORD_CAS,
	RMC_SWITCH_WORD_FAA,
	RMC_SWITCH_REFUSED,	/* it would bypass the protocol */
	RMC_SWITCH_RELEASE,	/* a refused request, which passes once more: its client is free */
};

enum rmc_switch_verdict {
	RMC_SWITCH_FORWARD,
	RMC_SWITCH_ANSWER,	/* with @status and, if it is RMC_S_OK, @word */
	RMC_SWITCH_DROP,
};

/**
 * struct rmc_switch_packet - a packet in the pipeline
 * @source: endpoint of the requester
 * @psn: number of a request at its sender; out, at its receiver
 * @ctx_id: context
 * @group: of ordered queue pairs, 0: none (order.h)
 * @op: opcode
 * @status: of a reply; out, of an answer
 * @offset: in the segment
 * @length: bytes
 * @operand: of an atomic; of a write, the first 8 bytes
 * @word: out: answer, or the first 8 bytes of a forwarded write or read reply, if @changed
 * @changed: out: @word replaces the first 8 bytes
 * @type: from the tables, as all below
 * @verdict: out
 * @client: index, valid if @type has one
 * @tuple: register of stage 2
 * @holder: what stage 2 calls the client ...
 * @era: ... and its connection: who comes later has none of its latches
 * @known: of a reply: its request is the one that stage 1 has of the client
 * @took: of a latch, or the reply to a write: it has latched or unlatched the tuple
 * @stale: of a write: not passed on, after stage 1 has stored its tuple
 * @version: word of the tuple, from stage 2 to stage 3
 */
struct rmc_switch_packet {
	u32 source;
	u32 psn;
	u16 ctx_id;
	u8 group;
	u8 op;
	u8 status;
	bool changed;
	u64 offset;
	u32 length;
	u64 operand[2];
	u64 word;
	enum rmc_switch_type type;
	enum rmc_switch_verdict verdict;
	u32 client;
	u32 tuple;
	u32 holder;
	u32 era;
	bool known;
	bool took;
	bool stale;
	u64 version;
};

/**
 * struct rmc_switch_range - tuples, or words, at equal distances
 * @ctx_id: context of their segment
 * @mem: memory that all of them lie in; the switch only compares it
 * @words: 8-byte words in the switch; else tuples
 * @begin: offset of the first in the segment
 * @stride: distance, bytes
 * @bytes: length of each, with its word
 * @count: how many; 0: no range
 * @hot: how many have a register
 * @slot: by tuple, its register + 1; 0: it is cold
 */
struct rmc_switch_range {
	u16 ctx_id;
	bool words;
	const void *mem;
	u64 begin;
	u32 stride;
	u32 bytes;
	u32 count;
	u32 hot;
	u32 *slot;
};

/* Counters; the RRPP's worker writes them, any thread may read them. */
#define RMC_SWITCH_STATS(X)	\
	X(forwarded)		\
	X(answered)		\
	X(refused)		\
	X(duplicates)		\
	X(latches)		\
	X(unlatches)		\
	X(failed_reads)		\
	X(stale_writes)		\
	X(psn_errors)

struct rmc_switch_stats {
#define RMC_SWITCH_FIELD(name) u64 name;
	RMC_SWITCH_STATS(RMC_SWITCH_FIELD)
#undef RMC_SWITCH_FIELD
};

#define rmc_switch_count(sw, name)	\
	WRITE_ONCE((sw)->stats.name, (sw)->stats.name + 1)

/**
 * struct rmc_switch_client - entry of the table of clients
 * @key: source, group and context; 0: nobody has this id
 * @next: id of the next one with the same hash + 1
 * @write: the storage node owes it an answer to a write, else to a read ...
 * @owed: ... of the tuple of this register + 1; 0: to nothing
 */
struct rmc_switch_client {
	u64 key;
	u16 next;
	bool write;
	u32 owed;
};

/**
 * struct rmc_switch_users - operations on a tuple that the storage node has not answered yet
 * @reads: of clients
 * @writes: ...
 */
struct rmc_switch_users {
	u16 reads;
	u16 writes;
};

/**
 * struct rmc_switch_port - what the two ends of a connection count, to check stage 4
 * @sent: PSN of the first packet
 * @passed: packets that the receiver was passed
 */
struct rmc_switch_port {
	u32 sent;
	u32 passed;
};

/**
 * struct rmc_switch - a switch in front of one unit
 * @fabric: fabric
 * @ep: the unit's endpoint: the switch owns what this unit is the home of
 * @admit: status with which the unit would refuse a packet now, or RMC_S_OK; NULL: it refuses none
 * @arg: of @admit
 * @epoch: of the switch; another one after each crash
 * @epochs: how many switches of this unit have had, RMC_SWITCH_EPOCHS at most: no word comes again
 * @crashed: its registers are lost, so it refuses what they are needed for
 * @registers: number of @tuple
 * @recovered: of these, how many rmc_switch_recover() has read
 * @range: ranges that it serves
 * @owner: by register, its range + 1 and the tuple in it; 0: it is free
 * @free: stack of free registers
 * @frees: its height
 * @client: table of stage 0, by id
 * @bucket: of that table, by hash: id of the first one + 1
 * @free_client: stack of client ids that nobody has
 * @free_clients: its height
 * @last: registers of stage 0
 * @use: registers of stage 1
 * @tuple: registers of stage 2
 * @users: by register, counted by the control plane
 * @waits: sum of these
 * @latched: tuples that are latched
 * @closing: register + 1 of a tuple that is being demoted: nobody may begin to use it; 0: none
 * @seen: registers of stage 3
 * @offset: registers of stage 4
 * @port: by source
 * @era: by source, connections that have ended
 * @stats: counters
 */
struct rmc_switch {
	const struct rmc_fabric *fabric;
	u32 ep;
	u8 (*admit)(void *arg, const struct rmc_switch_packet *p);
	void *arg;
	u32 epoch;
	u32 epochs;
	bool crashed;
	u32 registers;
	u32 recovered;
	struct rmc_switch_range range[RMC_SWITCH_RANGES];
	u64 *owner;
	u32 *free;
	u32 frees;
	struct rmc_switch_client *client;
	u16 *bucket;
	u16 *free_client;
	u32 free_clients;
	struct rmc_switch_last *last;
	struct rmc_switch_use *use;
	struct rmc_switch_tuple *tuple;
	struct rmc_switch_users *users;
	u32 waits;
	u32 latched;
	u32 closing;
	struct rmc_switch_seen *seen;
	struct rmc_switch_offset *offset;
	struct rmc_switch_port *port;
	u32 *era;
	struct rmc_switch_stats stats;
};

/*
 * The storage node's memory, for the control plane: address of an aligned word that may be
 * written, or NULL.
 */
struct rmc_switch_memory {
	u64 *(*word)(void *arg, u16 ctx_id, u64 offset);
	void *arg;
};

/**
 * struct rmc_switch_unlatch - what rmc_switch_unlatch() is to do, and what it did
 * @nid: node
 * @connected: what belongs to a connection of now as well; else only what is left of earlier ones
 * @freed: tuples that were unlatched so far
 * @kept: those that were not, as their holder is connected
 */
struct rmc_switch_unlatch {
	u32 nid;
	bool connected;
	u32 freed;
	u32 kept;
};

/* ---- data plane ---- */

void rmc_switch_request(struct rmc_switch *sw, struct rmc_switch_packet *p);
void rmc_switch_reply(struct rmc_switch *sw, struct rmc_switch_packet *p);
void rmc_switch_replies(struct rmc_switch *sw, u32 source, u64 word0, u64 word1, u8 status,
			const struct rmc_ring *tx);
void rmc_switch_lost(struct rmc_switch *sw, u32 source);
void rmc_switch_join(struct rmc_switch *sw, u32 source, u32 psn);
void rmc_switch_leave(struct rmc_switch *sw, u32 source);

/* ---- control plane ---- */

struct rmc_switch *rmc_switch_create(const struct rmc_fabric *f, u32 ep, u32 registers, u32 epoch,
				     u32 epochs);
void rmc_switch_destroy(struct rmc_switch *sw);
int rmc_switch_check(const struct rmc_fabric *f, const struct rmc_switch_range *r);
int rmc_switch_add(struct rmc_switch *sw, struct rmc_switch_range *r);
int rmc_switch_remove(struct rmc_switch *sw, u16 ctx_id, u64 begin);
int rmc_switch_promote(struct rmc_switch *sw, u16 ctx_id, u64 offset, u32 count,
		       const struct rmc_switch_memory *m);
int rmc_switch_demote(struct rmc_switch *sw, u16 ctx_id, u64 offset, u32 count,
		      u32 *done, const struct rmc_switch_memory *m);
void rmc_switch_keep(struct rmc_switch *sw);
void rmc_switch_crash(struct rmc_switch *sw);
int rmc_switch_recover(struct rmc_switch *sw, const struct rmc_switch_memory *m);
int rmc_switch_unlatch(struct rmc_switch *sw, struct rmc_switch_unlatch *u, u32 first,
		       const struct rmc_switch_memory *m);
void rmc_switch_withdraw(struct rmc_switch *sw, const void *mem);
void rmc_switch_answered(struct rmc_switch *sw, u32 client);

#endif
