/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * An ordinary program for rmc-run, independent of the simulator: each node reads from
 * its right neighbour, with 1, 2, 4 ... 64 operations in flight, and prints rate and
 * latency. Linked with rmcsim.args it runs in virtual time:
 *
 *	RMC_SIM_NODES=8 RMC_SIM_DELAY=500 RMC_SIM_STATS=1 build/sim-example
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <rmc/rmc.h>

#define READS	2000
#define BYTES	64

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* READS reads with a window of reads in flight: microseconds, or less than 0 */
static double read_all(struct rmc_team *t, char *lbuf, int window)
{
	int right = rmc_team_nid(t, (t->self + 1) % t->nodes), i, slot;
	struct rmc_completion c;
	double start = now_us();

	for (i = 0; i < READS; i++) {
		if (rmc_qp_in_flight(t->qp) == (unsigned int)window && rmc_cq_wait(t->qp, &c))
			return -1;
		slot = rmc_wait_for_slot(t->qp, NULL);
		if (slot < 0)
			return -1;
		rmc_read_async(t->qp, slot, right, t->offset + (size_t)(i % 64) * BYTES,
			       lbuf + slot * BYTES, BYTES);
	}
	if (rmc_drain_cq(t->qp, NULL))
		return -1;
	return now_us() - start;
}

int main(void)
{
	struct rmc_team *t = rmc_team_open(0, 4096);
	char *lbuf = aligned_alloc(4096, RMC_QP_ENTRIES_DEFAULT * BYTES);
	int window, err;
	double us;

	if (!t || !lbuf || rmc_buf_register(t->ctx, lbuf, RMC_QP_ENTRIES_DEFAULT * BYTES) < 0)
		return fprintf(stderr, "%s\n", rmc_errmsg()), 1;
	for (window = 1; window <= 64; window *= 2) {
		err = rmc_team_barrier(t);
		us = err ? -1 : read_all(t, lbuf, window);
		if (us < 0)
			return fprintf(stderr, "node %d: a read failed\n", t->self), 1;
		if (!t->self)
			printf("%2d in flight: %7.3f per us, %.3f us each\n", window, READS / us,
			       us * window / READS);
	}
	err = rmc_team_barrier(t);
	rmc_team_close(t);
	free(lbuf);
	return !!err;
}
