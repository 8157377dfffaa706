// SPDX-License-Identifier: GPL-2.0
/*
 * Does the link model hold what it promises? Blocking 64 B reads at native speed:
 * the emulator's own floor, then round trips of 1 to 16 us, of which what posting
 * and completing takes here is subtracted. Exit status 1: off by more than 5%.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include "tap.h"
#include "world.h"

#define READS	20000
#define LONG	20000

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Median, ns; whoever else uses these CPUs only spoils single reads. */
static double latency(struct app *a, u8 *lbuf)
{
	static double took[READS];
	u32 slot, status;
	int i;

	for (i = 0; i < READS; i++) {
		u64 t0 = now();

		app_post(a, RMC_OP_READ, 1, i % 64 * 64, lbuf, 64);
		while (!app_poll(a, &slot, &status))
			;
		took[i] = now() - t0;
		CHECK_EQ(status, RMC_S_OK);
	}
	qsort(took, READS, sizeof(*took), cmp);
	return took[READS / 2];
}

int main(void)
{
	static const u32 rtt[] = { 1000, 2000, 4000, 8000, 16000 };
	struct world_opts o = { .nodes = 2, .ni = "fused" };
	u8 *seg = aligned_alloc(4096, 4096), *lbuf = aligned_alloc(4096, 4096);
	struct rmc_mem *seg_mem, *buf_mem;
	double floor, got;
	const int cpus[] = { 1 };
	struct world w;
	struct app a;
	cpu_set_t set;
	u32 i, local;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	memset(seg, 1, 4096);
	memset(lbuf, 1, 4096);
	world_init(&w, &o);
	app_init(&a, &w, 0, 0, 16);
	seg_mem = mem_make(seg, 4096, 12, 0);
	buf_mem = mem_make(lbuf, 4096, 12, 0);
	rmc_bufs_add(&a.bufs, buf_mem);
	seg_set(&w, 1, 0, seg_mem);
	world_start(&w, cpus, false);
	floor = latency(&a, lbuf);
	world_stop(&w);
	printf("# floor, no model: %.0f ns\n", floor);

	/* what posting and completing take: all that a long round trip has too much */
	rmc_filters = 1;
	w.fabric[0].model = (struct rmc_model){ .topology = RMC_TOPOLOGY_CROSSBAR,
						.base_ns = LONG };
	rmc_filter_refresh(w.node[0], RMC_LANE_REP);
	world_start(&w, cpus, false);
	got = latency(&a, lbuf);
	world_stop(&w);
	local = got > LONG ? got - LONG : 0;
	printf("# posting and completing: %u ns, to be given as local_ns\n", local);
	for (i = 0; i < ARRAY_SIZE(rtt); i++) {
		w.fabric[0].model.base_ns = 0;
		w.fabric[0].model.hop_ns = rtt[i] / 2;
		w.fabric[0].model.local_ns = local;
		rmc_filter_refresh(w.node[0], RMC_LANE_REP);
		world_start(&w, cpus, false);
		got = latency(&a, lbuf);
		world_stop(&w);
		printf("# model %5u ns: measured %7.0f ns, %+.1f %%\n", rtt[i], got,
		       (got - rtt[i]) * 100 / rtt[i]);
		CHECK(got > rtt[i] * 0.95 && (got < rtt[i] * 1.05 || rtt[i] < floor));
	}
	tap_result("link model within 5%");
	rmc_filters = 0;
	app_fini(&a);
	world_fini(&w);
	mem_free(seg_mem);
	mem_free(buf_mem);
	free(seg);
	free(lbuf);
	return tap_done();
}
