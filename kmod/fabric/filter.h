/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filters inject loss, delay, duplication and reordering, over any transport.
 *
 *   transport's ring --> rmc_filter_pump() --> private ring --> RRPP or RCP
 *     (shared)             delay, drop,          (of double size)
 *                          duplicate, reorder
 *
 * A filter belongs to one channel and lane, and runs where packets arrive: for requests
 * in the RRPP's worker, for replies in the RCP's. It replaces the ring that the pipeline
 * consumes. The pipeline polls the private ring and sees no difference.
 *
 * Credits. Slots of the shared rings are reused by counting (ring.h). So the pump takes
 * packets off them in order and at once, with their payload, and applies faults to the
 * copies. Each packet must still return its credit. A lost packet is passed on with a
 * mark: the RRPP answers with a marked reply, and the RCP takes the credit from that and
 * ignores the rest. The copy of a duplicated reply has a mark that says: no credit.
 *
 * The stages decide what happens to a packet and when it is due (stages.h).
 *
 * A switch before a storage node (switch.h) sees requests that are due, before the stages of the
 * arrival. It passes them on, or answers them: then the private ring has a marked request, whose
 * payload is the answer (struct rmc_switch_answer).
 *
 * Without filters the cost is a branch on one read-mostly word.
 */
#ifndef RMC_FILTER_H
#define RMC_FILTER_H

#include "../base/opcode.h"
#include "fabric.h"
#include "fault.h"
#include "model.h"
#include "order.h"
#include "rnic.h"
#include "switch.h"

/*
 * Not 0 while any filter, slow node or stopped node exists. Read-mostly, hence a predicted
 * branch on a cached word. Not a static key: QEMU's TCG may execute the int3 of a text poke
 * after another CPU has finished the poke, and the worker then never returns.
 */
extern u32 rmc_filters;
#define rmc_os_filters()	unlikely(READ_ONCE(rmc_filters))

/* Longest time between two visits of an idle worker to a filter, nanoseconds */
#define RMC_VISIT_NS		100

/* Counters; one worker writes each; any thread may read it. */
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

#define rmc_filter_count(flt, name, n)	\
	WRITE_ONCE((flt)->stats.name, (flt)->stats.name + (n))

/* A packet that was taken off the wire. */
struct rmc_packet {
	u64 due_ns;
	u64 word0;
	u64 word1;
	u32 seq;		/* order of packets that are due at the same time */
	u16 line;		/* first of its payload lines, or RMC_NO_LINE */
	u16 lines;
	u32 psn;		/* its place on the wire, of requests */
	bool arrived;		/* it has passed the stages of the arrival */
	bool switched;		/* ... and before these the switch */
	bool copy;		/* of a request: a duplicate, which a switch drops */
};

#define RMC_NO_LINE		0xffff

/* Payload of a request that a switch has answered, see RMC_REQ_ANSWERED */
struct rmc_switch_answer {
	u64 word;
	u64 status;
};

/**
 * struct rmc_filter - one lane of one link, at the receiving end
 * @lane: requests or replies
 * @fault: faults to inject
 * @path: delay of the link model; of requests only if it is @one_way
 * @rtt_ns: of @path, for who shows it at any time
 * @wire: the transport's ring, consuming
 * @tx: the private ring, producing
 * @rx: the private ring, as the pipeline consumes it; NULL: no channel is open
 * @heap: packets by due time
 * @held: number of packets in @heap
 * @copies: how many of these are copies of duplicated replies; at most as many as the shared
 *	ring holds, so that there is always room for the packets of that ring
 * @copy_lines: payload lines of these copies
 * @room: capacity of @heap
 * @pool: payload lines of the packets in @heap
 * @next: by line, the next line of the same packet or of the free list
 * @free: first free line
 * @frees: number of free lines
 * @seq: packets taken so far
 * @rng: state of the stages' random numbers, never 0
 * @peer: endpoint at the other end
 * @peer_nid: its node
 * @order: of ordered queue pairs; of requests only
 * @one_way: the link model treats each way separately
 * @last_due_ns: of the requests that it let through
 * @sent: by slot of the request ring, when the last bit of the request left; NULL: unknown
 * @own_sent: the same, of a requester whose clock the server does not share
 * @stats: counters
 */
struct rmc_filter {
	enum rmc_lane lane;
	struct rmc_fault fault;
	struct rmc_path path;
	u64 rtt_ns;
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
	u32 peer;
	u32 peer_nid;
	struct rmc_order order;
	bool one_way;
	u64 last_due_ns;
	u64 *sent;
	u64 *own_sent;
	struct rmc_filter_stats stats;
};

/**
 * struct rmc_links - the receiving ends of all links of one unit
 * @fabric: fabric
 * @nid: node id of the unit
 * @ep: its endpoint
 * @filter: per lane by peer's endpoint, filters of incoming packets; NULL: none. The RCP's
 *	worker owns those of replies, the RRPP's those of requests
 * @model: by lane, the link model as its worker uses it
 * @port: ports of the link model (RGP, RCP)
 * @slow_ns: service time of each request, one after the other (RRPP)
 * @slow_until: end of the last request's service time
 * @rnic: model of its adapter (RRPP)
 * @rnic_server: server's half of it; NULL: none (RRPP)
 * @rnic_client: requester's half of it; NULL: none (RGP)
 * @rnic_rng: state of the model's random numbers, never 0
 * @sw: switch before the unit (RRPP); NULL: none
 * @switch_epoch: the last one that a switch before it had
 * @switch_epochs: how many these had
 */
struct rmc_links {
	struct rmc_fabric *fabric;
	u32 nid;
	u32 ep;
	struct rmc_filter **filter[RMC_LANES];
	struct rmc_model model[RMC_LANES];
	struct rmc_port_time port[RMC_PORTS];
	u32 slow_ns;
	u64 slow_until;
	struct rmc_rnic rnic;
	struct rmc_rnic_server *rnic_server;
	struct rmc_rnic_client *rnic_client;
	u64 rnic_rng;
	struct rmc_switch *sw;
	u32 switch_epoch;
	u32 switch_epochs;
};

int rmc_links_init(struct rmc_links *l, struct rmc_fabric *f, u32 ep);
void rmc_links_destroy(struct rmc_links *l);

struct rmc_filter *rmc_filter_create(const struct rmc_fabric *f, enum rmc_lane lane,
				     bool may_sleep);
void rmc_filter_destroy(struct rmc_filter *flt);

void rmc_filter_set(struct rmc_filter *flt, const struct rmc_fault *fault, u64 seed);
bool rmc_filter_route(struct rmc_links *l, u32 peer, struct rmc_filter *flt);
bool rmc_filter_open(struct rmc_links *l, u32 peer, enum rmc_lane lane, struct rmc_ring *rx);
void rmc_filter_flush(struct rmc_links *l, struct rmc_filter *flt);
int rmc_filter_drain(struct rmc_links *l, struct rmc_filter *flt);
void rmc_filter_close(struct rmc_filter *flt);
void rmc_filter_set_switch(struct rmc_links *l, struct rmc_switch *sw);
bool rmc_filter_wanted(const struct rmc_links *l, enum rmc_lane lane);
bool rmc_filter_idle(const struct rmc_links *l, const struct rmc_filter *flt);

void rmc_filter_pump(struct rmc_links *l, struct rmc_filter *flt);

/* A request is sent: see model.c */
void rmc_model_send(struct rmc_links *l, struct rmc_filter *flt, const struct rmc_ring *req,
		    u32 lines, u32 qp);

/* Payload lines of a packet; one that claims more than there can be has none. */
static inline u32 rmc_packet_payload(const struct rmc_filter *flt, const struct rmc_packet *p)
{
	return p->lines <= flt->wire.pay_mask + 1 ? p->lines : 0;
}

/*
 * Bytes of a packet on its way. A peer's that claims more lines than the MTU is refused where it
 * arrives, and must not occupy meanwhile what others share.
 */
static inline u32 rmc_packet_bytes(const struct rmc_links *l, const struct rmc_filter *flt,
				   const struct rmc_packet *p)
{
	return RMC_PACKET_HEADER +
	       min(rmc_packet_payload(flt, p), l->fabric->mtu / RMC_LINE) * RMC_LINE;
}

/*
 * True if the filter holds packets, or the pipeline has not consumed all that it passed on: the
 * lane is not quiet then, although nothing is on the wire.
 */
static inline bool rmc_filter_holds(const struct rmc_filter *flt)
{
	return flt && (flt->held || (flt->rx && flt->tx.pos != flt->rx->pos));
}

/* The ring that the transport fills. */
static inline const struct rmc_ring *rmc_filter_wire(const struct rmc_filter *flt,
						     const struct rmc_ring *rx)
{
	return flt ? &flt->wire : rx;
}

#endif
