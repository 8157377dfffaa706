/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NI organisation: which worker polls which stage of which unit. No stage depends
 * on it. To add an organisation: a row in org.c. Documentation/ni.rst compares them.
 *
 *   fused      one worker for all units: RGP, RRPP, RCP
 *   pair       two: RGP and RCP | RRPP (the papers' emulator, A14 7.1)
 *   edge       one per unit: RGP, RRPP, RCP (T18 6.2.1)
 *   per_tile   one per unit: RGP and RCP; one per RRPP (T18 6.2.2)
 *   split      as edge, and frontends between it and queue pairs (T18 6.2.3)
 *
 * If hot QPs belong to several tenants (core/tenant.h), each tenant has a quantum per visit,
 * however many QPs it has. A tenant waits at most for one quantum of each other tenant, and
 * about as long again for their packets at this worker's RRPP and RCP.
 *
 * The cost of a visit does not grow with idle QPs and units:
 *
 *   hot QPs      polled at each visit; a QP leaves the list after RMC_IDLE_POLLS empty polls
 *   all QPs      one of them is checked per visit
 *   pend         units of this worker with a doorbell bit set, per lane; only these are polled
 *
 * Parking. A worker with nothing to do sets need_wakeup in its QPs and parked
 * in its nodes, interrupts the CPUs that run owners of its QPs (rmc_os_membarrier()),
 * checks for work once more and sleeps. The interrupt replaces a fence that applications
 * would have to execute; all other producers execute one.
 *
 * Poll ownership. Only the owner of a worker visits. The worker's thread owns it except while
 * sleeping or yielding. Meanwhile an application that would wait for the thread may poll
 * inline (rmc_ni_poll_inline()).
 */
#ifndef RMC_NI_H
#define RMC_NI_H

#include "../core/pipeline.h"
#include "../core/tx_slots.h"
#include "front.h"

enum rmc_stage {
	RMC_STAGE_REQ	= 1 << 0,	/* RGP and RCP: QPs, ITT, replies */
	RMC_STAGE_SRV	= 1 << 1,	/* RRPP: segments, requests */
	RMC_STAGE_FRONT	= 1 << 2,	/* frontend: QPs, relayed to REQ of another */
};

/* QPs one worker can hold; its lists are arrays */
#define RMC_WORKER_QPS	4096
/*
 * Limits of an inline poll, which is not preempted: queue pairs that it checks, queue pairs
 * that it serves, visits. Beyond them the thread is woken.
 */
#define RMC_INLINE_POLLS	256
#define RMC_INLINE_QPS	16
#define RMC_INLINE_VISITS	64

/**
 * struct rmc_ni_worker - what one thread polls
 * @stages: enum rmc_stage
 * @node: by lane, units whose stages that read the lane it runs; node->index is the
 *	position
 * @nodes: by lane, number of these units
 * @remote: peers in other kernels: check all doorbells at each visit
 * @hot: QPs polled at each visit
 * @hots: number of hot QPs
 * @all: all QPs
 * @alls: number of QPs
 * @cursor: index in @all of the next QP to check
 * @own: tenant of queue pairs without one
 * @tenant: tenants with hot queue pairs
 * @tenants: number of @tenant
 * @first: which of them is polled first: one that could not make progress at the last visit
 * @uncharged: entries handled for the only tenant in the list, not charged yet
 * @pend: per lane, bit per unit of this worker
 * @parked: sleeps or is about to; producers wake it
 * @visits: visits so far
 * @worked: visits that found work
 * @idle: consecutive visits that found none
 * @tick_ns: when the last tick ran
 * @tick_visits: @visits then
 * @tick_worked: @worked then
 * @served: work units of requests that came from other kernels
 * @parks: times it went to sleep
 * @wakeups: times it woke up
 * @inline_polls: inline polls while it was parked
 * @inline_ns: time of the last one
 * @inline_by: thread that polls inline now, as of rmc_os_self(); NULL: none
 * @owned: poll ownership, 1: owned; 0: free
 * @tx: slots for transactions of its units, by rmc_tx_slots.next
 */
struct rmc_ni_worker {
	u32 stages;
	struct rmc_node **node[RMC_LANES];
	u32 nodes[RMC_LANES];
	bool remote;
	struct rmc_qpair **hot;
	u32 hots;
	struct rmc_qpair **all;
	u32 alls;
	u32 cursor;
	struct rmc_tx_slots *tx;
	struct rmc_tenant *own;
	struct rmc_tenant **tenant;
	u32 tenants;
	u32 first;
	u32 uncharged;
	u64 visits;
	u64 worked;
	u64 idle;
	u64 tick_ns;
	u64 tick_visits;
	u64 tick_worked;
	u64 served;
	u64 parks;
	u64 wakeups;
	u64 inline_polls;
	u64 inline_ns;
	const void *inline_by;
	u64 owned;
	u64 pend[RMC_LANES][RMC_MAX_NODES / 64] ____cacheline_aligned;
	u32 parked;
};

/**
 * struct rmc_ni_org - an organisation
 * @name: as the ni= parameter spells it
 * @id: enum rmc_ni_kind of the uapi
 * @per_unit: a worker for each unit, not one for all of them
 * @separate_rrpp: other workers run the RRPPs
 * @frontends: further workers poll the queue pairs
 */
struct rmc_ni_org {
	const char *name;
	u32 id;
	bool per_unit;
	bool separate_rrpp;
	bool frontends;
};

/* A barrier on the CPUs that run owners of a worker's QPs; see run/worker.c */
void rmc_os_membarrier(struct rmc_ni_worker *w);

const struct rmc_ni_org *rmc_ni_find(const char *name);
u32 rmc_ni_workers(const struct rmc_ni_org *org, const struct rmc_fabric *f, u32 frontends);
u32 rmc_ni_place(const struct rmc_ni_org *org, const struct rmc_fabric *f, u32 unit,
		 enum rmc_lane lane);

int rmc_ni_worker_init(struct rmc_ni_worker *w, u32 max_units);
void rmc_ni_worker_destroy(struct rmc_ni_worker *w);
u32 rmc_ni_place_front(const struct rmc_fabric *f, u32 frontends, u32 unit, u32 number);
void rmc_ni_add_front(struct rmc_ni_worker *w, struct rmc_node *node);
void rmc_ni_add_unit(struct rmc_ni_worker *w, struct rmc_node *node, enum rmc_lane lane);

int rmc_ni_add_qp(struct rmc_ni_worker *w, struct rmc_qpair *qp);
void rmc_ni_del_qp(struct rmc_ni_worker *w, struct rmc_qpair *qp);
int rmc_ni_add_slots(struct rmc_ni_worker *w, struct rmc_tx_slots *s);
void rmc_ni_del_slots(struct rmc_ni_worker *w, struct rmc_tx_slots *s);

void rmc_ni_notify(struct rmc_node *node, enum rmc_lane lane);
bool rmc_doorbells_quiet(struct rmc_node *node, enum rmc_lane lane);
void rmc_ni_clear_pend(struct rmc_ni_worker *w, enum rmc_lane lane);
u32 rmc_ni_visit(struct rmc_ni_worker *w);
void rmc_ni_tick(struct rmc_ni_worker *w, u64 now_ns);
bool rmc_ni_may_park(struct rmc_ni_worker *w);
bool rmc_ni_park(struct rmc_ni_worker *w);
void rmc_ni_unpark(struct rmc_ni_worker *w);
bool rmc_ni_poll_inline(struct rmc_ni_worker *w, u64 now_ns, u64 often_ns);

static inline bool rmc_ni_try_own(struct rmc_ni_worker *w)
{
	/* a full barrier; pairs with the release in rmc_ni_disown() */
	return !READ_ONCE(w->owned) && !rmc_os_cas64(&w->owned, 0, 1);
}

static inline void rmc_ni_disown(struct rmc_ni_worker *w)
{
	/* pairs with rmc_ni_try_own(): the next owner sees all our stores */
	smp_store_release(&w->owned, 0);
}

/* True if units of this worker may wait for replies of other kernels. The caller owns it. */
static inline bool rmc_ni_awaits(const struct rmc_ni_worker *w)
{
	u32 i;

	for (i = 0; w->remote && i < w->nodes[RMC_LANE_REP]; i++)
		if (w->node[RMC_LANE_REP][i]->itt.used)
			return true;
	return false;
}

/*
 * Queue pair of an application as the worker of its unit has it: the one that gets slots for
 * transactions, on rmc_qpair.node->req_worker.
 */
static inline struct rmc_qpair *rmc_qp_inner(struct rmc_qpair *qp)
{
	return qp->front ? &qp->front->inner.qp : qp;
}

/* Worker that polls an application's queue pair and posts its completions. */
static inline struct rmc_ni_worker *rmc_qp_worker(const struct rmc_qpair *qp)
{
	return qp->front ? qp->front->worker : qp->node->req_worker;
}

#endif
