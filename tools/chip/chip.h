/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A chip whose 64 cores read remote memory (T18 chapter 6), by events at tiles and NIs over the
 * network of noc.h.
 *
 *	core.c		writes WQ entries, polls its CQ
 *	line.c		blocks of WQs and CQs that move between cores and edge NIs
 *	ni.c		RGP: unrolls; RCP: writes replies to local memory, completes
 *	rrpp.c		RRPP: serves others; the wire between chips
 *	memory.c	directory and LLC, memory
 *
 * There is one chip. The other ends are the chip itself: each of its requests comes back as one
 * that its RRPPs serve, and their reply as its own. So inbound and outbound load are equal, and the
 * remote latency is that of its own RRPPs (section 6.4).
 */
#ifndef CHIP_H
#define CHIP_H

#include "noc.h"

enum design { DESIGN_edge, DESIGN_per_tile, DESIGN_split, DESIGNS };

/* What packets are; CLASS_ and length are those of the sender */
enum kind {
	KIND_READ,		/* RRPP -> directory -> memory -> directory -> RRPP */
	KIND_MEM_READ,
	KIND_MEM_DATA,
	KIND_DATA,
	KIND_WRITE,		/* RCP -> LLC, which writes a victim to memory and acknowledges */
	KIND_WRITE_BACK,
	KIND_ACK,
	KIND_GETX,		/* lines of queues; sections 6.2.1, figure 6.2 */
	KIND_GETRO,
	KIND_INVALIDATE,
	KIND_INV_ACK,
	KIND_FORWARD,
	KIND_GRANT,
	KIND_LINE,
	KIND_UNBLOCK,
	KIND_REQUEST,		/* network packets inside the chip */
	KIND_INBOUND,
	KIND_REPLY,
	KIND_OUTBOUND,
	KIND_WQ_ENTRY,		/* frontend -> backend, and back */
	KIND_CQ_ENTRY,
};

/**
 * struct config - what is simulated
 * @bytes: of each read
 * @window: requests of a core that are not complete, at most P_wq_entries
 * @cores: that read: all, or the one of @first_core
 * @class_routing: the directory's packets go YX
 * @shared_buffers: they have no buffers of their own (which deadlocks)
 * @buffer: flits of a class at an input
 * @memory_queue, @store_queue: blocks that RRPP and RCP have under way
 * @in_flight: blocks that an RGP has asked for and its RCP has not written
 */
struct config {
	enum design design;
	enum network network;
	unsigned int bytes, window, cores, first_core;
	int class_routing, shared_buffers;
	unsigned int buffer, memory_queue, store_queue, in_flight;
	uint64_t seed;
};

/* A queue of small records; size is a power of two */
struct item {
	uint64_t due;
	uint32_t address;
	uint8_t core, slot;
};

struct fifo {
	uint32_t first, count, size;
	struct item *item;
};

/* States of a line in a cache */
enum { INVALID, SHARED, MODIFIED };

/**
 * struct line - a block of a WQ or CQ, between its core and its edge NI
 * @core, @ni: states
 * @busy: the directory waits for the end of a transaction
 * @pending: KIND_ + 1 of the other's request
 * @granted, @acks: what the requester of an exclusive copy waits for
 */
struct line {
	uint8_t core, ni, busy, pending, granted, need_ack, acked, home;
};

#define WQ_LINES	(P_wq_entries / P_wq_line)
#define CQ_LINES	(P_wq_entries / P_cq_line)
#define LINES		(WQ_LINES + CQ_LINES)

/**
 * struct request - one WQ entry
 * @begun: when the core began to write it
 * @left: blocks that have not come
 */
struct request {
	uint64_t begun;
	uint32_t remote, local, left;
	uint8_t used;
};

/**
 * struct core - application and frontend
 * @next: when it does something
 * @written: WQ entries; @stored: those that others can see
 * @consumed: CQ entries
 * @taken, @seen: WQ entries that the NI has taken, that its copy of the block has
 * @cq, @cq_written, @cq_seen: the CQ, likewise
 * @done: edge: completions that the NI has not written; split: WQ entries that the frontend has
 *	not sent
 * @unpolled: WQ entries since its last poll of the CQ
 * @storing, @polling: what it does next; @stalled: it waits for a line
 * @loading, @owning: its NI waits for a line of the WQ, of the CQ
 * @credits: WQ entries that the frontend may send to its backend
 */
struct core {
	uint64_t next;
	uint64_t written, stored, consumed, taken, seen, cq_written, cq_seen;
	unsigned int unpolled, credits;
	uint8_t storing, stalled, polling, loading, owning;
	uint64_t visible[P_wq_entries];		/* per_tile, split: when a CQ entry is */
	uint8_t cq[P_wq_entries];
	struct fifo done;
	struct request request[P_wq_entries];
	struct line line[LINES];
};

/**
 * struct ni - RGP and RCP: of a row, or of a tile
 * @queue: WQ entries; @replies: blocks that have come
 * @unrolling: of the first one, blocks that are left
 * @blocks: in flight, at most config.in_flight
 * @requests: in flight, of P_itt; @stores: of the RCP's queue
 */
struct ni {
	uint8_t router, first, cores, poll, complete;
	struct fifo queue, replies;
	unsigned int unrolling, blocks, requests, stores, loads;
};

/**
 * struct rrpp - of a row
 * @queue: requests on the wire or waiting
 * @sending: those that have come across the NOC
 * @out: blocks that have been read and not been sent
 * @wire: replies to RCPs of this row
 * @reads: in its memory queue: asked for, or not sent
 */
struct rrpp {
	struct fifo queue, sending, out, wire;
	unsigned int reads;
};

struct chip_stats {
	uint64_t bytes_in, bytes_out, requests, cycles_of_requests;
	struct noc_stats noc;
};

struct chip {
	struct config config;
	struct noc noc;
	uint64_t seed;
	unsigned int blocks, nis;
	struct core core[CORES];
	struct ni ni[CORES];
	struct rrpp rrpp[ROWS];
	uint64_t bank[CORES];		/* when it is free */
	uint32_t ready[LINES * CORES];	/* lines whose pending request can begin */
	unsigned int readies;
	struct chip_stats stats;
};

/* Returns 0 or -ENOMEM. */
int chip_init(struct chip *c, const struct config *config);
void chip_destroy(struct chip *c);

/*
 * chip_run() - until a cycle, or until as many requests are complete
 *
 * Returns 0, or -EDEADLK if nothing moved for a long time.
 */
int chip_run(struct chip *c, uint64_t until, uint64_t requests);

void config_default(struct config *config);
const char *design_name(enum design design);
const char *network_name(enum network network);

/* ---- between the files above ---- */

int fifo_init(struct fifo *f, unsigned int size);
void fifo_put(struct fifo *f, const struct item *i);
struct item *fifo_front(struct fifo *f);
void fifo_drop(struct fifo *f);

uint32_t chip_random(struct chip *c, uint32_t below);
unsigned int home_of(const struct chip *c, uint32_t block);
unsigned int mc_of(const struct chip *c, uint32_t block);
unsigned int lane_of(const struct chip *c, uint32_t block);
struct ni *ni_of(struct chip *c, unsigned int core);

void core_step(struct chip *c, unsigned int core);
void core_completed(struct chip *c, unsigned int core, unsigned int slot, unsigned int delay);

int line_get(struct chip *c, unsigned int core, unsigned int line, enum kind kind);
int line_arrives(struct chip *c, unsigned int router, const struct packet *p);
void line_step(struct chip *c);
unsigned int wq_line_of(uint64_t entry);
unsigned int cq_line_of(uint64_t entry);

void ni_init(struct chip *c);
void ni_step(struct chip *c, struct ni *ni);
int ni_arrives(struct chip *c, unsigned int router, const struct packet *p);

void rrpp_request(struct chip *c, const struct item *i);
void rrpp_step(struct chip *c, unsigned int lane);
int rrpp_arrives(struct chip *c, unsigned int router, const struct packet *p);

int memory_arrives(struct chip *c, unsigned int router, const struct packet *p);

#endif /* CHIP_H */
