/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc_valet: a server with several threads, and clients that send at a given rate (T18 section 8.2.1).
 *
 *	client, node 1..               server, node 0
 *	----------------               --------------
 *	Poisson: due, service ------>  a core, by the policy of the server's domain: works for as long
 *	reply: due, one core   <-----  as the request says, sends the reply, receives the request
 *
 * A client does not wait for replies. A request that finds no slot is late, and its latency begins
 * when it was due.
 */
#ifndef VALET_H
#define VALET_H

#include <rmc/coll.h>
#include <rmc/domain.h>
#include <rmc/rmc.h>
#include <time.h>
#include "hist.h"
#include "../qsim/service.h"

#define VALET_THREADS_MAX	64

/* What a request says; the rest of it is zeros. A reply has the same beginning. */
struct valet_request {
	uint64_t due_ns;		/* the client's clock */
	uint64_t service_ns;
	uint32_t counts;		/* not part of the warm-up */
	uint32_t reserved;
};

enum valet_count { SENT, REPLIES, LATE, SERVED, AGAIN, COUNTS };

/* Added up over all members, word by word */
struct valet_sums {
	struct hist server;		/* complete in its slot -> received, of the server's threads */
	struct hist client;		/* due -> reply */
	uint64_t count[COUNTS];
};

/* Rate at which a member did something, added up */
enum valet_rate { RATE_SENT, RATE_SERVED, RATES };

struct valet {
	/* the command line */
	int threads, rate, seconds, depth, slots, groups, spin_us, wake_us, ctx_id, json, seed;
	int base_ns, mean_ns;
	uint64_t request, reply;
	const char *policy_arg, *service_arg;

	/* the run */
	int policy;
	struct service service;
	struct rmc_team *team;
	struct rmc_coll *coll;
	struct rmc_domain *domain;
	struct valet_sums sums;
	double rates[RATES];
};

static inline uint64_t valet_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void valet_check(const char *what, int err);

/* Threads of the server; the caller meets the clients between the two. */
void valet_server_start(struct valet *v);
void valet_server_end(struct valet *v);

/* Sends for v->seconds, and takes the replies; on one core of its node */
void valet_client(struct valet *v);

void valet_report(const struct valet *v);

#endif /* VALET_H */
