/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by ni.c, park.c and tenants.c: which queue pairs a visit polls, and for how long. */
#ifndef RMC_TENANTS_H
#define RMC_TENANTS_H

#include "ni.h"

void rmc_tenant_join(struct rmc_ni_worker *w, struct rmc_qpair *qp);
void rmc_tenant_leave(struct rmc_qpair *qp);
void rmc_ni_heat(struct rmc_ni_worker *w, struct rmc_qpair *qp);
void rmc_ni_cool(struct rmc_ni_worker *w, struct rmc_qpair *qp);
u32 rmc_tenants_visit(struct rmc_ni_worker *w);
u32 rmc_tenants_visit_front(struct rmc_ni_worker *w);
void rmc_tenants_tick(struct rmc_ni_worker *w, u64 now_ns);

/* True if it has no work, and nothing in flight that the worker must poll for. */
static inline bool rmc_qp_quiet(const struct rmc_qpair *qp)
{
	return qp->cur_tid == RMC_TID_NONE && !rmc_qp_pending(qp) &&
	       !(qp->front && rmc_front_in_flight(qp));
}

/* Usually there is nothing, which is seen without a call. */
static __always_inline u32 rmc_wq_poll(struct rmc_qpair *qp)
{
	return qp->cur_tid == RMC_TID_NONE && !rmc_qp_pending(qp) ? 0 : rmc_rgp_poll(qp);
}

#endif
