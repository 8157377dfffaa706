/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frontends of the split organisation (T18 section 6.2.3): what polls the queues of
 * applications is not what unrolls and completes.
 *
 *   application's WQ --> frontend --> inner WQ --> backend (RGP)
 *   application's CQ <-- frontend <-- inner CQ <-- backend (RCP)
 *
 * The rings between them are an inner queue pair, of the same layout and size as the
 * application's, in kernel memory: the backend polls it as any other and does not
 * know. Each queue pair has its own, so one that waits for a credit holds up nobody
 * else. Positions of inner and outer queues are always the same, and so are slots
 * and phases: an entry is relayed as it is, and validated by the backend.
 */
#ifndef RMC_FRONT_H
#define RMC_FRONT_H

#include "../core/cq.h"

struct rmc_ni_worker;
struct rmc_node;

/**
 * struct rmc_front - both ends of the rings between frontend and backend
 * @inner: queue pair that the backend polls; belongs to it
 * @worker: frontend
 * @seen: completions relayed so far (frontend)
 */
struct rmc_front {
	struct rmc_qp inner;
	struct rmc_ni_worker *worker ____cacheline_aligned;
	u32 seen;
};

struct rmc_front *rmc_front_create(const struct rmc_qp *outer, struct rmc_ni_worker *worker);
void rmc_front_destroy(struct rmc_front *f);
u32 rmc_front_poll(struct rmc_qp *outer);

/* Entries relayed whose completions were not. The caller is the frontend. */
static inline u32 rmc_front_in_flight(const struct rmc_qp *outer)
{
	return outer->wq_head - outer->front->seen;
}

#endif
