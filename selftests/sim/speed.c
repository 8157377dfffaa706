// SPDX-License-Identifier: GPL-2.0
/*
 * Speed of the simulator: 128 threads, each on a node of its own, read from random other nodes.
 * 100,000 operations per second are asked for. Less than half of that per second of CPU time is
 * a failure. CPU time, because the simulator is one thread: elapsed time says how much of a CPU
 * other work left to it. Half, because CPU time doubles where other work shares the core and
 * its caches. build/selftests/sim/speed prints the numbers of a machine.
 */
#include <stdlib.h>
#include <time.h>
#include <rmc/rmc.h>
#include "../tap.h"
#include "costs.h"
#include "rmc_sim.h"

#define NODES	128
#define OPS	2000
#define ASKED	100000
#define LEAST	(ASKED / 2)

static struct timespec begun, cpu_begun;
static int ready;

static void member(void *arg)
{
	struct rmc_ctx *c = rmc_open(0, -1);
	struct rmc_qp *qp = c ? rmc_qp_create(c, 16) : NULL;
	char *mem = aligned_alloc(4096, 8192);
	int i, peer;

	(void)arg;
	if (!qp || !mem || rmc_seg_register(c, mem, 4096, 0) ||
	    rmc_buf_register(c, mem + 4096, 4096) < 0) {
		CHECK(!"set-up");
		return;
	}
	rmc_sim_sleep_until(100000);
	ready++;
	for (i = 0; i < OPS; i++) {
		peer = (rmc_nid(c) + 1 + rmc_sim_random() % (NODES - 1)) % NODES;
		CHECK_EQ(rmc_read(qp, peer, 0, mem + 4096, 64), 0);
	}
	/* the segment stays until all are done */
}

static double seconds(clockid_t clock, const struct timespec *since)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec - since->tv_sec + (now.tv_nsec - since->tv_nsec) * 1e-9;
}

int main(void)
{
	struct rmc_sim_options o = {
		.nodes = NODES, .seed = 1, .one_way_ns = 500, .jitter_ns = 50,
		.costs = rmc_sim_costs_find("rmc"), .ring_order = 4, .pay_order = 4, .mtu = 1024,
	};
	struct rmc_sim_stats s;
	double wall, cpu;
	int i;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu_begun);
	CHECK_EQ(rmc_sim_init(&o), 0);
	for (i = 0; i < NODES; i++)
		rmc_sim_spawn(i, member, NULL);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_stats(&s);
	rmc_sim_fini();
	wall = seconds(CLOCK_MONOTONIC, &begun);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID, &cpu_begun);
	CHECK_EQ(ready, NODES);
	CHECK_EQ(s.completions, (uint64_t)NODES * OPS);
	printf("# %d threads: %.0f operations per second, %.0f of CPU time (asked for: %d)\n",
	       NODES, s.completions / wall, s.completions / cpu, ASKED);
	CHECK(s.completions / cpu > LEAST);
	tap_result("operations per second at 128 threads");
	return tap_done();
}
