// SPDX-License-Identifier: GPL-2.0
/* Parts of the simulator in isolation: the heap, fibers, threads, the cost table. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../tap.h"
#include "costs.h"
#include "fiber.h"
#include "heap.h"
#include "rmc_sim.h"

#define EVENTS	1000

/* ---- heap ---- */

static void test_heap(void)
{
	static struct sim_event e[EVENTS];
	uint64_t random = 1, last = 0;
	struct sim_event *next;
	struct sim_heap h;
	int i, n = 0;

	sim_heap_init(&h, 0);
	for (i = 0; i < EVENTS; i++)
		sim_heap_set(&h, &e[i], sim_random(&random) % 500);
	/* move some events, cancel others */
	for (i = 0; i < EVENTS; i += 3)
		sim_heap_set(&h, &e[i], sim_random(&random) % 500);
	for (i = 0; i < EVENTS; i += 5)
		sim_heap_cancel(&h, &e[i]);
	while ((next = sim_heap_take(&h))) {
		CHECK(next->at >= last);
		CHECK((next - e) % 5);
		CHECK(!sim_event_is_set(next));
		last = next->at;
		n++;
	}
	CHECK_EQ(n, EVENTS - EVENTS / 5);
	sim_heap_free(&h);
	tap_result("events come by time, also those that moved, and none that was cancelled");
}

/* Of ten events with the same time: how many run in the order in which they were set */
static int in_order(uint64_t tie_seed, uint64_t *order)
{
	struct sim_event e[10];
	struct sim_heap h;
	int i, n = 0;

	memset(e, 0, sizeof(e));
	sim_heap_init(&h, tie_seed);
	for (i = 0; i < 10; i++)
		sim_heap_set(&h, &e[i], 7);
	*order = 0;
	for (i = 0; i < 10; i++) {
		int which = sim_heap_take(&h) - e;

		n += which == i;
		*order = *order * 10 + which;
	}
	sim_heap_free(&h);
	return n;
}

static void test_ties(void)
{
	uint64_t a, b, c;

	CHECK_EQ(in_order(0, &a), 10);
	CHECK(in_order(1, &a) < 10);
	in_order(1, &b);
	in_order(2, &c);
	CHECK(a == b);
	CHECK(a != c);
	tap_result("events of one time keep their order, or come as the seed says");
}

/* ---- fibers ---- */

static int steps[3];

static void step(void *arg)
{
	int *n = arg, i;

	for (i = 0; i < 100; i++) {
		/* each fiber has its own errno */
		errno = n - steps + 10;
		++*n;
		fiber_yield();
		CHECK_EQ(errno, n - steps + 10);
	}
}

static void test_fibers(void)
{
	struct fiber *f[3];
	int i, round;

	errno = 0;
	for (i = 0; i < 3; i++)
		f[i] = fiber_create(step, &steps[i], 65536);
	for (round = 1; round <= 101; round++)
		for (i = 0; i < 3; i++) {
			CHECK(!fiber_finished(f[i]));
			fiber_resume(f[i]);
			CHECK_EQ(steps[i], round > 100 ? 100 : round);
			CHECK(!fiber_self());
		}
	CHECK_EQ(errno, 0);
	for (i = 0; i < 3; i++) {
		CHECK(fiber_finished(f[i]));
		fiber_destroy(f[i]);
	}
	tap_result("fibers run by turns, each with its errno, and finish");
}

/* ---- threads ---- */

static uint64_t ended[8];

static void compute(void *arg)
{
	rmc_sim_compute(1000);
	ended[(uintptr_t)arg] = rmc_sim_now();
}

static void computing(int cores, int threads)
{
	struct rmc_sim_options o = { .cores = cores };
	int i;

	CHECK_EQ(rmc_sim_init(&o), 0);
	for (i = 0; i < threads; i++)
		rmc_sim_spawn(0, compute, (void *)(uintptr_t)i);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_fini();
}

static void test_cores(void)
{
	int i;

	computing(2, 4);
	for (i = 0; i < 4; i++)
		CHECK_EQ(ended[i], i < 2 ? 1000 : 2000);
	computing(0, 4);
	for (i = 0; i < 4; i++)
		CHECK_EQ(ended[i], 1000);
	tap_result("a core runs its threads one after another; without a number each has one");
}

static void clocks(void *arg)
{
	struct timespec a, b;
	int i;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &a);
	usleep(1000);
	clock_gettime(CLOCK_MONOTONIC, &b);
	CHECK_EQ((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec, 1000000);
	rmc_sim_sleep_until(5000000);
	CHECK_EQ(rmc_sim_now(), 5000000);
	/* no event wakes this thread */
	CHECK_EQ(rmc_sim_wait_until(6000000), 0);
	CHECK_EQ(rmc_sim_now(), 6000000);
	for (i = 0; i < 100; i++)
		rmc_sim_compute(7);
	CHECK_EQ(rmc_sim_now(), 6000700);
}

static void forever(void *arg)
{
	(void)arg;
	for (;;)
		usleep(1000);
}

static void test_clock(void)
{
	struct rmc_sim_options o = { .limit_ns = 20000000 };

	CHECK_EQ(rmc_sim_init(&o), 0);
	rmc_sim_spawn(1, clocks, NULL);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_spawn(0, forever, NULL);
	CHECK_EQ(rmc_sim_run(), 1);
	CHECK_EQ(rmc_sim_init(&o), -EBUSY);
	rmc_sim_fini();
	tap_result("sleeping, waiting and computing take their time; who never ends is reported");
}

static void test_down(void)
{
	struct rmc_sim_options o = { 0 };

	CHECK_EQ(rmc_sim_init(&o), 0);
	CHECK_EQ(rmc_sim_spawn(999, forever, NULL), -EINVAL);
	rmc_sim_crash(1);
	CHECK_EQ(rmc_sim_spawn(1, forever, NULL), -EINVAL);
	CHECK_EQ(rmc_sim_restart(999), -EINVAL);
	rmc_sim_crash(999);
	rmc_sim_pause(999, 1);
	CHECK_EQ(rmc_sim_restart(1), 0);
	CHECK(rmc_sim_spawn(1, clocks, NULL) >= 0);
	rmc_sim_fini();
	tap_result("no thread is made on a node that is down, or that there is not");
}

static int bad_options(struct rmc_sim_options o)
{
	int err = rmc_sim_init(&o);

	if (!err)
		rmc_sim_fini();
	return err;
}

static void test_options(void)
{
	CHECK_EQ(bad_options((struct rmc_sim_options){ .ni = "none" }), -EINVAL);
	CHECK_EQ(bad_options((struct rmc_sim_options){ .ni = "edge" }), -EINVAL);
	CHECK_EQ(bad_options((struct rmc_sim_options){ .mtu = 65 }), -EINVAL);
	CHECK_EQ(bad_options((struct rmc_sim_options){ .topology = 9 }), -EINVAL);
	CHECK_EQ(bad_options((struct rmc_sim_options){ .nodes = 4000 }), -EINVAL);
	CHECK_EQ(bad_options((struct rmc_sim_options){ .trace = "/nowhere/at/all" }), -ENOENT);
	CHECK_EQ(bad_options((struct rmc_sim_options){ .ni = "pair" }), 0);
	tap_result("what cannot be simulated is refused");
}

/* ---- costs ---- */

static void test_costs(void)
{
	const struct rmc_sim_cost_row *row;
	struct rmc_sim_costs costs;
	unsigned int i, published = 0;

	for (i = 0; (row = rmc_sim_cost_row(i)); i++) {
		CHECK(row->unit && row->what);
		CHECK(row->source && strlen(row->source) > 3);
		/* the source: short name of a paper's data sheet, or command of a measurement */
		if (row->provenance == RMC_SIM_PUBLISHED)
			CHECK(strstr(row->source, "table") || strstr(row->source, "section"));
		if (row->provenance == RMC_SIM_MEASURED)
			CHECK(!strncmp(row->source, "build/", 6));
		/* which results reproduce nothing */
		if (row->provenance == RMC_SIM_FITTED)
			CHECK(!!strstr(row->source, "figure"));
		published += row->provenance == RMC_SIM_PUBLISHED;
		CHECK(!!rmc_sim_costs_find(row->profile));
	}
	CHECK(published > 0);
	CHECK(rmc_sim_costs_find("rmc")->handoff > 0);
	CHECK(!rmc_sim_costs_find("nobody"));
	costs = *rmc_sim_costs_find("rmc");
	CHECK(rmc_sim_costs_set(&costs, "rcp", 7) && costs.rcp == 7);
	CHECK(!rmc_sim_costs_set(&costs, "rcq", 7));
	tap_result("each cost has a unit, a meaning and a source");
}

int main(void)
{
	test_heap();
	test_ties();
	test_fibers();
	test_cores();
	test_clock();
	test_down();
	test_options();
	test_costs();
	return tap_done();
}
