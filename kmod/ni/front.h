/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frontends of the split organisation (T18 section 6.2.3): a frontend polls the queues of
 * applications, a backend unrolls and completes.
 *
 *   application's WQ --> frontend --> inner WQ --> backend (RGP)
 *   application's CQ <-- frontend <-- inner CQ <-- backend (RCP)
 *
 * The frontend is a client of the RMC inside the kernel (core/client.h), with queues of
 * the size of the application's. The backend polls them like any others. Each queue pair
 * has its own inner one, so one that waits for a credit does not delay others. Positions
 * of inner and outer queues are always the same, and so are slots: an entry is relayed
 * unchanged, and the backend validates it.
 */
#ifndef RMC_FRONT_H
#define RMC_FRONT_H

#include "../core/client.h"

/**
 * struct rmc_front - both ends of the rings between frontend and backend
 * @inner: the frontend as a client of the backend
 * @worker: frontend
 */
struct rmc_front {
	struct rmc_client inner;
	struct rmc_ni_worker *worker;
};

struct rmc_front *rmc_front_create(const struct rmc_qpair *outer, struct rmc_ni_worker *worker);
void rmc_front_destroy(struct rmc_front *f);
u32 rmc_front_poll(struct rmc_qpair *outer);

/* Number of relayed entries without relayed completions. The caller is the frontend. */
static inline u32 rmc_front_in_flight(const struct rmc_qpair *outer)
{
	return rmc_client_in_flight(&outer->front->inner);
}

#endif
