/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rates on a machine with other load: a round is cut into windows of a quarter millisecond, and
 * its value is the rate that a tenth of them reach, those that were not preempted.
 */
#ifndef RMC_TEST_WINDOWS_H
#define RMC_TEST_WINDOWS_H

#include <string.h>
#include "harness.h"

#define ROUNDS_MAX	25
#define ROUND_NS	20000000ULL
#define WINDOW_NS	250000ULL
#define WINDOWS_MAX	1024

/* Of rounds whose order is still needed */
static double median(const double *v, int n)
{
	double s[ROUNDS_MAX];

	memcpy(s, v, n * sizeof(*v));
	return bench_median(s, n);
}

/* Operations per ns of the windows of a round */
struct windows {
	double rate[WINDOWS_MAX];
	int n;
	u64 start, t0, ops;
};

static struct windows win;

static void win_start(void)
{
	win.n = 0;
	win.ops = 0;
	win.start = win.t0 = bench_now();
}

/* Add a window of operations that took ns. Returns whether the round is over. */
static bool win_add(u64 ops, u64 ns)
{
	if (win.n < WINDOWS_MAX)
		win.rate[win.n++] = (double)ops / (double)ns;
	return bench_now() - win.start >= ROUND_NS;
}

/* Count completed operations. Returns whether the round is over. */
static bool win_over(u64 ops)
{
	u64 t = bench_now();
	bool over;

	win.ops += ops;
	if (t - win.t0 < WINDOW_NS)
		return false;
	over = win_add(win.ops, t - win.t0);
	win.ops = 0;
	win.t0 = bench_now();
	return over;
}

static double win_rate(void)
{
	bench_median(win.rate, win.n);	/* sorts */
	return win.rate[win.n - 1 - win.n / 10];
}

static double median_ratio(const double *a, const double *b, int n)
{
	double r[ROUNDS_MAX];
	int i;

	for (i = 0; i < n; i++)
		r[i] = b[i] ? a[i] / b[i] : 0;
	return bench_median(r, n);
}

#endif
