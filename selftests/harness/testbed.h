/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A testbed: nodes and their fabric inside one process. The core's files are driven step by
 * step with a virtual clock (unit tests) or by one pthread per worker (stress, benchmarks).
 *
 * One kernel hosts all nodes (loopback), or each node has a kernel of its own, so that nodes can
 * join, die and join again. These share the region (as ivshmem does), or have links (packets.h).
 */
#ifndef TESTBED_H
#define TESTBED_H

#include <pthread.h>
#include "kmod/core/order.h"
#include "kmod/core/timeout.h"
#include "kmod/core/state.h"
#include "kmod/member/member.h"
#include "kmod/ni/ni.h"

struct testbed_opts {
	u32 nodes;
	const char *ni;		/* default "fused" */
	u32 units;		/* per node, a power of two; default 1 */
	u32 rrpps;		/* of these serve requests; default all */
	u32 interleave;		/* default RMC_INTERLEAVE */
	u32 frontends;		/* per unit, of split; default 1 */
	u32 mtu;		/* default 4096 */
	u32 ring_order;		/* default RMC_RING_ORDER */
	u32 pay_order;		/* default RMC_PAY_ORDER */
	u32 itt;		/* default 64 */
	u32 max_entries;
	bool kernels;		/* one kernel per node */
	bool links;		/* and they share no memory, see packets.h */
	u32 att_entries;	/* default RMC_ATT_ENTRIES */
	bool packets;		/* all operations need them: no local path */
};

struct testbed_worker {
	struct rmc_ni_worker ni;	/* first: rmc_os_wake() casts */
	pthread_t thread;
	struct testbed *testbed;
	int cpu;
	u32 kick;
	bool park;
	void (*call)(void *arg);	/* asked for by testbed_call() */
	void *arg;
};

struct testbed {
	struct testbed_opts opts;
	struct rmc_fabric *fabric;	/* one, or one per node */
	struct rmc_node **node;
	struct testbed_worker *worker;
	u32 workers;
	/* shared; NULL over links, where each kernel has its own: see struct rmc_fabric */
	struct rmc_region_node *table;
	struct rmc_doorbell *doorbell;
	u32 *sync;
	void **channel;
	bool *frozen;			/* by node: its kernel does not run */
	struct packets *packets;	/* of opts.links */
	u32 stop;
	u32 apps;			/* made so far */
	u32 *pong;			/* worker 0 plays ping-pong instead, see bench.c */
};

/* An application: a QP with its queues, buffers and flags, in plain memory. */
struct app {
	struct rmc_qpair qp;
	struct rmc_bufs bufs;		/* of the one unit it uses */
	struct rmc_qp_flags *flags;
	struct rmc_wq_entry *wq;
	struct rmc_cq_entry *cq;
	u32 entries;
	u32 head;
	u32 cq_head;
	struct testbed *w;
};

/* Events of nodes since testbed_node_event_count was 0 */
#define TESTBED_NODE_EVENTS	64

struct testbed_node_event {
	u32 by, type, nid, epoch;
};

extern struct testbed_node_event testbed_node_events[TESTBED_NODE_EVENTS];
extern u32 testbed_node_event_count;
extern u32 testbed_events;	/* of waiters, so far */
extern void (*testbed_at_event)(void);	/* called for each of them */
extern u64 testbed_now_ns;	/* virtual clock; 0: the real one */
/* RMC_TESTBED asks for links; testbeds made without them since, see matrix.h */
extern bool testbed_links_asked;
extern u32 testbeds_without_links;

/*
 * Milliseconds have 32 bits, and wrap after 49.7 days. In each test they wrap just after
 * its beginning, both those of the clock and those that each node counts itself.
 */
#define TESTBED_START_MS	(-8U)
#define TESTBED_START_NS	(TESTBED_START_MS * 1000000ULL)

void testbed_init(struct testbed *w, const struct testbed_opts *o);
void testbed_fini(struct testbed *w);
u32 testbed_visit(struct testbed *w);		/* one visit of each worker */
void testbed_receive(struct testbed *w, u32 nid);	/* over links: what has arrived, frozen or not */
void testbed_settle(struct testbed *w);		/* until no work is left */
void testbed_tick(struct testbed *w, u64 ms);	/* advance the virtual clock */
void testbed_pass(struct testbed *w, u64 ms);	/* the same in steps too small for a pause */
void testbed_restart(struct testbed *w, u32 nid);	/* a kernel dies and boots again */
void testbed_start(struct testbed *w, const int *cpus, bool park);
void testbed_stop(struct testbed *w);
/* run a function on a worker, between two visits, while its thread runs; waits until it is done */
void testbed_call(struct rmc_ni_worker *ni, void (*fn)(void *arg), void *arg);
/* an inline poll of a parked worker; it is woken as well after a recent one, see @often_ns */
void testbed_poll_inline(struct rmc_ni_worker *ni, u64 often_ns);

/* Memory as the core sees it. chunk_shift splits it, 63 does not. */
struct rmc_mem *mem_make(void *base, u64 length, u32 chunk_shift, u32 flags);
void mem_free(struct rmc_mem *m);
void mem_objects(struct rmc_mem *m, u32 mode, u32 header);
void seg_set(struct testbed *w, u32 nid, u32 ctx_id, struct rmc_mem *m);

/* Faults of a lane from one node to another; single-threaded only */
void fault_set(struct testbed *w, u32 from, u32 to, enum rmc_lane lane,
	       const struct rmc_fault *fault, u64 seed);
/* The link model of all nodes, from now on */
void model_set(struct testbed *w, const struct rmc_model *m);
/* false: a filter is needed, see rmc_filter_drain(); it stays, without faults */
bool fault_clear(struct testbed *w, u32 from, u32 to, enum rmc_lane lane);

/* Unit of any node */
static inline struct rmc_node *testbed_unit(struct testbed *w, u32 ep)
{
	return w->node[ep / w->opts.units]->unit[ep % w->opts.units];
}

u32 testbed_in_flight(struct testbed *w, u32 nid);	/* operations */
u32 testbed_transfers(struct testbed *w, u32 nid);	/* transfers that it serves */
/* true if all credits of a pair's channels are back */
bool testbed_credits_home(struct testbed *w, u32 from, u32 to);

/*
 * Fabric as the kernel of node @nid sees it: with its own tables over links. A store into them is
 * what this kernel has heard of a peer.
 */
static inline struct rmc_fabric *testbed_fabric(struct testbed *w, u32 nid)
{
	return w->node[nid]->fabric;
}

/*
 * The rings of the channel from one endpoint to another, at their beginning, as the kernel of @f
 * maps them: for a test that takes the place of one of them.
 */
static inline void testbed_rings(struct testbed *w, struct rmc_fabric *f, u32 from, u32 to,
				 struct rmc_ring *req, struct rmc_ring *rep)
{
	u32 requester = w->node[rmc_endpoint_nid(f, from)]->epoch;
	u32 server = w->node[rmc_endpoint_nid(f, to)]->epoch;
	u8 *mem = f->ops->channel(f, from, to);

	rmc_ring_init(req, mem, f->ring_order, f->pay_order);
	rmc_ring_init(rep, mem + rmc_ring_bytes(f->ring_order, f->pay_order), f->ring_order,
		      f->pay_order);
	rmc_ring_begin(req, requester, server);
	rmc_ring_begin(rep, requester, server);
}

/* The entry of a node says so, in every kernel's tables. */
static inline void testbed_claim(struct testbed *w, u32 nid, u32 state, u32 epoch)
{
	u32 i;

	for (i = 0; i < w->opts.nodes; i++)
		testbed_fabric(w, i)->node[nid].claim = rmc_claim(state, epoch);
}

/* Counter of a node: of all its units */
#define testbed_stat(w, nid, name) ({						\
	u64 sum_ = 0;								\
	u32 unit_;								\
										\
	for (unit_ = 0; unit_ < (w)->opts.units; unit_++)			\
		sum_ += (w)->node[nid]->unit[unit_]->stats.name;		\
	sum_;									\
})
/* The queue pair that a unit polls: behind a frontend, or that of the application */
static inline const struct rmc_qpair *app_unit_qp(const struct app *a)
{
	return a->qp.front ? &a->qp.front->inner.qp : &a->qp;
}

/* Applications of a node are distributed over its units */
void app_init(struct app *a, struct testbed *w, u32 nid, u32 ctx_id, u32 entries);
void app_init_ordered(struct app *a, struct testbed *w, u32 nid, u32 ctx_id, u32 entries);
/* the same, of a tenant of its backend's worker */
void app_init_of(struct app *a, struct testbed *w, u32 nid, u32 ctx_id, u32 entries,
		 struct rmc_tenant *tenant);
void app_fini(struct app *a);
void app_lost(struct app *a);	/* instead, when its kernel died */
void app_post_raw(struct app *a, u64 word0, u64 word1);
u32 app_post(struct app *a, u32 op, u32 nid, u64 offset, const void *lbuf, u32 len);
bool app_poll(struct app *a, u32 *slot, u32 *status);
void app_take(struct app *a);	/* its RGP polls once, no other stage runs */
int app_run(struct app *a, u32 op, u32 nid, u64 offset, const void *lbuf, u32 len);
int app_wait(struct app *a);

#endif
