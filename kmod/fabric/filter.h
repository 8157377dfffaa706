/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filters inject loss, delay, duplication and reordering, over any transport.
 *
 *   transport's ring --> rmc_filter_pump() --> private ring --> RRPP or RCP
 *     (shared)             hold, drop,           (as large twice)
 *                          double, swap
 *
 * A filter belongs to one channel and lane, and works where packets arrive: for
 * requests from a peer in the RRPP's worker, for replies from it in the RCP's. It
 * takes the place of the ring that the pipeline consumes; the pipeline polls the
 * private one and does not know.
 *
 * Credits. Slots of the shared rings are reused by counting (ring.h), so the
 * pump takes packets off them in order and at once, with their payload; what it
 * does to the copy afterwards is nobody else's concern. And each packet still has
 * to return its credit: one that is lost goes on as a packet with a mark, which
 * the RRPP answers with a marked reply and the RCP takes for a credit and nothing
 * else. The copy of a doubled reply has a mark that says: no credit.
 *
 * What happens to a packet, and when it is due, is decided by the stages (stage.h).
 *
 * Without filters all of this is a branch on one read-mostly word.
 */
#ifndef RMC_FILTER_H
#define RMC_FILTER_H

#include "../base/opcode.h"
#include "fabric.h"
#include "fault.h"
#include "model.h"

/*
 * Is there any filter, slow node or stopped one? Read-mostly, hence a predicted branch on a
 * cached word. Not a static key: QEMU's TCG may go on with the int3 of a text poke
 * that another CPU has finished, and a worker at such a place then never returns.
 */
extern u32 rmc_filters;
#define rmc_os_filters()	unlikely(READ_ONCE(rmc_filters))

/* A worker with little to do is at a filter again after at most so many nanoseconds */
#define RMC_VISIT_NS		100

/* Counters; each is written by one worker and read by anybody. */
#define RMC_FILTER_STATS(X)	\
	X(packets)		\
	X(lost)			\
	X(doubled)		\
	X(reordered)		\
	X(shuffled)		\
	X(held)			\
	X(flight_ns)

struct rmc_filter_stats {
#define RMC_FILTER_FIELD(name) u64 name;
	RMC_FILTER_STATS(RMC_FILTER_FIELD)
#undef RMC_FILTER_FIELD
};

/* A packet that was taken off the wire. */
struct rmc_packet {
	u64 due_ns;
	u64 word0;
	u64 word1;
	u32 seq;		/* of those that are due together the older first */
	u16 line;		/* first of its payload lines, or RMC_NO_LINE */
	u16 lines;
};

#define RMC_NO_LINE		0xffff

/**
 * struct rmc_filter - one lane of one link, at the receiving end
 * @lane: requests or replies
 * @fault: what it does
 * @path: the link model's share; replies only
 * @wire: the transport's ring, consuming
 * @tx: the private ring, producing
 * @rx: the private ring, as the pipeline consumes it; NULL: no channel is open
 * @heap: packets by due time
 * @held: how many
 * @copies: of these, copies of doubled replies; as many as fit the ring at most,
 *	so that there is always room for those that the wire may bring
 * @copy_lines: their payload lines
 * @room: how many fit
 * @pool: their payload lines
 * @next: by line, the next of the same packet or of the free ones
 * @free: first free line
 * @frees: number of free lines
 * @seq: packets taken so far
 * @rng: state of the stages' random numbers, never 0
 * @peer_nid: other end
 * @one_way: the link model has each way for itself
 * @sent: by slot of the request ring, when the last bit of it left; NULL: nobody says
 * @own_sent: that of replies, where ends have clocks of their own
 * @stats: counters
 */
struct rmc_filter {
	enum rmc_lane lane;
	struct rmc_fault fault;
	struct rmc_path path;
	struct rmc_ring wire;
	struct rmc_ring tx;
	struct rmc_ring *rx;
	struct rmc_packet *heap;
	u32 held;
	u32 copies;
	u32 copy_lines;
	u32 room;
	u8 *pool;
	u16 *next;
	u16 free;
	u32 frees;
	u32 seq;
	u64 rng;
	u32 peer_nid;
	bool one_way;
	u64 *sent;
	u64 *own_sent;
	struct rmc_filter_stats stats;
};

/**
 * struct rmc_links - the receiving ends of all links of one unit
 * @fabric: fabric
 * @nid: node id of the unit
 * @ep: its endpoint
 * @filter: per lane by peer's endpoint, filters of what comes in; NULL: none. Replies' are
 *	the RCP's, requests' the RRPP's
 * @port: of the link model (RGP, RCP)
 * @slow_ns: each request takes this long, one after the other (RRPP)
 * @slow_until: the last one does until then
 */
struct rmc_links {
	struct rmc_fabric *fabric;
	u32 nid;
	u32 ep;
	struct rmc_filter **filter[RMC_LANES];
	struct rmc_port_time port[RMC_PORTS];
	u32 slow_ns;
	u64 slow_until;
};

int rmc_links_init(struct rmc_links *l, struct rmc_fabric *f, u32 ep);
void rmc_links_destroy(struct rmc_links *l);

struct rmc_filter *rmc_filter_create(const struct rmc_fabric *f, enum rmc_lane lane,
				     bool may_sleep);
void rmc_filter_destroy(struct rmc_filter *flt);

void rmc_filter_set(struct rmc_filter *flt, const struct rmc_fault *fault, u64 seed);
bool rmc_filter_route(struct rmc_links *l, u32 peer, struct rmc_filter *flt);
bool rmc_filter_open(struct rmc_links *l, u32 peer, enum rmc_lane lane, struct rmc_ring *rx);
bool rmc_filter_drain(struct rmc_filter *flt);
void rmc_filter_close(struct rmc_filter *flt);
bool rmc_filter_wanted(const struct rmc_links *l, enum rmc_lane lane);
bool rmc_filter_idle(const struct rmc_links *l, const struct rmc_filter *flt);

void rmc_filter_pump(struct rmc_links *l, struct rmc_filter *flt);

/* A request is sent: see model.c */
void rmc_model_send(struct rmc_links *l, struct rmc_filter *flt, const struct rmc_ring *req,
		    u32 lines);

/* Payload lines of a packet; one that claims more than there can be has none. */
static inline u32 rmc_packet_payload(const struct rmc_filter *flt, const struct rmc_packet *p)
{
	return p->lines <= flt->wire.pay_mask + 1 ? p->lines : 0;
}

/* Is there anything that was not handed on yet? Such a ring is not quiet. */
static inline bool rmc_filter_holds(const struct rmc_filter *flt)
{
	return flt && flt->held;
}

/* The ring that the transport fills. */
static inline const struct rmc_ring *rmc_filter_wire(const struct rmc_filter *flt,
						     const struct rmc_ring *rx)
{
	return flt ? &flt->wire : rx;
}

#endif
