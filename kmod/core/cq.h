/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs and completions. A QP belongs to the worker that runs its node's RGP and RCP. The
 * CQ is separate from the RCP: the RGP, the local path and frontends also post completions.
 */
#ifndef RMC_CQ_H
#define RMC_CQ_H

#include "../base/event.h"
#include "../base/mem.h"
#include "../base/phase.h"
#include "tenant.h"

struct rmc_domain;
struct rmc_front;
struct rmc_order_to;
struct rmc_tx_slots;

/* Budget on a worker that tenants do not share: only RMC_BATCH and RMC_LOCAL_BUDGET apply. */
#define RMC_POLL_ALL	(~0U)

/**
 * struct rmc_qpair - a queue pair as the pipelines see it
 * @wq: shared with the application, which may write any value at any time
 * @cq: shared, read-only for the application
 * @flags: shared, read-only for the application
 * @bufs: local buffers of the owning file
 * @node: node it belongs to
 * @mask: entries - 1
 * @order: log2 of entries
 * @op_base: added to the opcodes of its entries: 0, or RMC_OP_WIRE for a client inside the
 *	kernel that sends wire-only operations, see client.h
 * @group: if it is ordered, its group, see order.c; else 0
 * @stopped: of an ordered one: an operation has failed, see order.c (RGP, RCP)
 * @force_ring: the next entry needs packets, see local.h
 * @ctx_id: context, from the QP and never from a WQ entry
 * @cur_tid: operation being unrolled, or RMC_TID_NONE
 * @waited: polls since part of a transfer could have been sent
 * @wq_head: entries taken from the WQ so far
 * @done: completions posted so far
 * @number: less than RMC_MAX_QPS, of its unit alone
 * @budget: work units that one poll of the WQ may do, or RMC_POLL_ALL
 * @idle: consecutive empty polls
 * @hot: position in the worker's hot list, or -1
 * @cold: position in the worker's list of all QPs
 * @front: rings to its backend if a frontend polls it (ni/front.h); else NULL
 * @tenant: its tenant on the worker that polls it; NULL: rmc_ni_add_qp() takes the
 *	worker's own
 * @account: of @tenant for @node
 * @next: next hot queue pair of @tenant, a ring
 * @prev: previous one
 * @to: of an ordered one, by node: what is in flight; NULL where nodes have one RRPP (RGP, RCP)
 * @domain: domain of its messages; NULL: none (RGP)
 * @core: of @domain, its name as a core, or RMC_CORE_NONE (RGP)
 * @member: of @domain, which of the files that share it (RGP)
 * @tx: it has slots of these for transactions; NULL: none (RGP)
 * @tx_mask: bit per slot (RGP)
 */
struct rmc_qpair {
	struct rmc_wq_entry *wq;
	struct rmc_cq_entry *cq;
	struct rmc_qp_flags *flags;
	struct rmc_bufs *bufs;
	struct rmc_node *node;
	u32 mask;
	u8 order;
	u8 op_base;
	bool force_ring;
	u8 group;
	bool stopped;
	u16 ctx_id;
	u16 cur_tid;
	u16 waited;
	u32 wq_head;
	struct rmc_event done;
	u32 number;
	u32 budget;
	u32 idle;
	s32 hot;
	u32 cold;
	struct rmc_front *front;
	struct rmc_tenant *tenant;
	struct rmc_account *account;
	struct rmc_qpair *next;
	struct rmc_qpair *prev;
	struct rmc_order_to *to;
	struct rmc_domain *domain;
	u32 core;
	u32 member;
	struct rmc_tx_slots *tx;
	u64 tx_mask;
};

static_assert(RMC_WQE_PHASE == RMC_PHASE && RMC_CQE_PHASE == RMC_PHASE, "bit 0 of both");

/* True if the application has published an entry that the RGP has not taken. */
static inline bool rmc_qp_pending(const struct rmc_qpair *qp)
{
	/* pairs with the application's release of word0 */
	return rmc_phase_is(rmc_phase_load(&qp->wq[qp->wq_head & qp->mask].word0),
			    qp->wq_head, qp->order);
}

/**
 * rmc_cq_post() - post the completion of a WQ entry
 * @qp: queue pair
 * @slot: WQ index
 * @status: enum rmc_status
 *
 * The CQ has as many entries as the WQ, and an application reuses a WQ entry only after it has
 * read the completion, so the CQ cannot overflow. An application that breaks this rule
 * overwrites its own completions.
 */
static inline void rmc_cq_post(struct rmc_qpair *qp, u16 slot, u8 status)
{
	u32 tail = qp->done.count;
	u32 word = rmc_cqe_word(slot, status, rmc_phase(tail, qp->order));

	/* pairs with the acquire in the library's rmc_poll_cq(): the data in
	 * the local buffer is visible before the completion
	 */
	rmc_phase_publish(&qp->cq[tail & qp->mask].word, word);
	rmc_event_happened(&qp->done);
}

#endif
