/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model of a network adapter, which differs from an RMC: Documentation/adapter.rst. Off by default;
 * it acts only while filters exist (filter.h).
 *
 *   requester   QP cache: a request of a queue pair that is not in it leaves later
 *   server      port --> messages, one after the other --> lock table --> RRPP: lines in any
 *               order; atomics act on a buffer of words (core/adapter.c)
 *
 * A number that is 0 turns its part off.
 */
#ifndef RMC_RNIC_H
#define RMC_RNIC_H

#include "../base/param.h"

/* Longest time of any step of the model, nanoseconds */
#define RMC_RNIC_NS_MAX		1000000000
/* Longest packet whose lines can be moved in steps, bytes: a bit for each line */
#define RMC_RNIC_MTU_MAX	4096
/* The lock table: slots by the lowest 12 bits of a word's address (R25 3.2) */
#define RMC_RNIC_LOCK_BYTES	4096
#define RMC_RNIC_LOCKS		(RMC_RNIC_LOCK_BYTES / 8)
/* Words that the buffer of atomics holds; each may be in one place only */
#define RMC_RNIC_WORDS		64

/**
 * struct rmc_rnic - the adapter of one node; all zero: none is modelled
 * @any_lines: lines of a READ are loaded in any order, few at a time; those of a WRITE are
 *	stored in order, few at a time; see core/adapter.c
 * @gap_ns: least time between two of these steps
 * @msg_ps: time that a request takes in the server's adapter, picoseconds
 * @mbps: bandwidth of the server's port in each direction, megabits per second
 * @cas_ns: time that a compare-and-swap holds its slot of the lock table; other atomics than
 *	fetch-and-add, too
 * @faa_ns: the same of a fetch-and-add
 * @buffer_ns: time for which atomics see a word as an atomic has left it, whatever is written
 * @qp_cache: queue pairs whose state fits the requester's adapter
 * @qp_miss_ns: time that the requester's adapter takes to load the state of another one
 */
struct rmc_rnic {
	u32 any_lines;
	u32 gap_ns;
	u32 msg_ps;
	u32 mbps;
	u32 cas_ns;
	u32 faa_ns;
	u32 buffer_ns;
	u32 qp_cache;
	u32 qp_miss_ns;
};

struct rmc_mem;

/* A word in the buffer of atomics */
struct rmc_rnic_word {
	const struct rmc_mem *seg;
	u64 offset;
	u64 value;
	u64 end_ns;		/* it is not there any more; 0: nor ever was */
};

/**
 * struct rmc_rnic_server - a server's adapter; belongs to the RRPP
 * @busy_ns: it is free for the next message
 * @busy_ps: ... and by so many picoseconds more
 * @in_ns: its port is free for the next request
 * @out_ns: ... for the next reply
 * @lock_ns: by slot, when it is free
 * @word: words in the buffer, by their address
 */
struct rmc_rnic_server {
	u64 busy_ns;
	u32 busy_ps;
	u64 in_ns;
	u64 out_ns;
	u64 lock_ns[RMC_RNIC_LOCKS];
	struct rmc_rnic_word word[RMC_RNIC_WORDS];
};

/**
 * struct rmc_rnic_client - a requester's adapter; belongs to the RGP
 * @rng: state of random numbers, never 0
 * @busy_ns: it has loaded the state of the last queue pair
 * @miss_ns: time to load one
 * @most: capacity, at least 1
 * @used: places in use
 * @number: by place, which queue pair
 * @place: by queue pair, its place + 1; 0: it is not there
 * @misses: so far
 */
struct rmc_rnic_client {
	u64 rng;
	u64 busy_ns;
	u32 miss_ns;
	u32 most;
	u32 used;
	u16 number[RMC_MAX_QPS];
	u16 place[RMC_MAX_QPS];
	u64 misses;
};

/* True if anything is modelled. */
static inline bool rmc_rnic_on(const struct rmc_rnic *r)
{
	return r->any_lines | r->msg_ps | r->mbps | r->cas_ns | r->faa_ns | r->buffer_ns |
	       (r->qp_cache && r->qp_miss_ns);
}

/* True if requests take time in the server's adapter, so each channel needs a filter. */
static inline bool rmc_rnic_delays(const struct rmc_rnic *r)
{
	return r->msg_ps | r->mbps | r->cas_ns | r->faa_ns;
}

/* True if it moves lines, or acts on words, in another way than an RRPP. */
static inline bool rmc_rnic_serves(const struct rmc_rnic *r)
{
	return r->any_lines | r->buffer_ns;
}

/* Place of a word in the buffer */
static inline u32 rmc_rnic_place(u64 offset)
{
	return offset / 8 % RMC_RNIC_WORDS;
}

/* Numbers of struct rmc_rnic that are configured by name */
#define RMC_RNIC_NUMBERS(X)	\
	X(gap_ns)		\
	X(msg_ps)		\
	X(mbps)			\
	X(cas_ns)		\
	X(faa_ns)		\
	X(buffer_ns)		\
	X(qp_cache)		\
	X(qp_miss_ns)

struct rmc_links;

/* A packet that belongs to no queue pair, for rmc_rnic_send() */
#define RMC_RNIC_NO_QP		(~0U)

int rmc_rnic_check(const struct rmc_rnic *r, u32 mtu);
int rmc_rnic_set_server(struct rmc_links *l, const struct rmc_rnic *r, u64 seed);
int rmc_rnic_set_client(struct rmc_links *l, const struct rmc_rnic *r, u64 seed);
u64 rmc_rnic_send(struct rmc_rnic_client *c, u32 qp, u64 now);

#endif
