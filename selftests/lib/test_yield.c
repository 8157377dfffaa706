/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tests lib/yield.h: when a thread on a shared CPU yields. Times in nanoseconds. */
#include "../../lib/yield.h"
#include "../tap.h"

/* the first one is due at once, also where the clock is at 0 */
static void first(void)
{
	struct rmc_yield y = { 0 };

	CHECK(rmc_yield_due(&y, 0));
	CHECK(rmc_yield_due(&y, UINT64_MAX));
}

/* nobody waited for the CPU: the next one is RMC_ALONE_NS later */
static void nobody_waits(void)
{
	struct rmc_yield y = { 0 };
	uint64_t ended = 10000 + RMC_YIELD_NS - 1;

	rmc_yielded(&y, 10000, ended);
	CHECK(!rmc_yield_due(&y, ended));
	CHECK(!rmc_yield_due(&y, ended + RMC_ALONE_NS - 1));
	CHECK(rmc_yield_due(&y, ended + RMC_ALONE_NS));
}

/* somebody ran meanwhile: it may wait again, so that no yield is left out */
static void somebody_ran(void)
{
	struct rmc_yield y = { 0 };

	rmc_yielded(&y, 10000, 10000 + RMC_YIELD_NS);
	CHECK(rmc_yield_due(&y, 10000 + RMC_YIELD_NS));
}

/* a yield that is taken ends the wait of an earlier one */
static void taken_after_alone(void)
{
	struct rmc_yield y = { 0 };

	rmc_yielded(&y, 10000, 10100);
	rmc_yielded(&y, 20000, 50000);
	CHECK(rmc_yield_due(&y, 50000));
}

/* alone on its CPU for a millisecond, polling each 100 ns: a yield each 2.1 us and no more */
static void share_of_time(void)
{
	struct rmc_yield y = { 0 };
	unsigned int yields = 0;
	uint64_t now = 5;

	while (now < 1000000) {
		if (rmc_yield_due(&y, now)) {
			yields++;
			rmc_yielded(&y, now, now + 700);
			now += 700;
		}
		now += 100;
	}
	CHECK(yields >= 1000000 / (700 + RMC_ALONE_NS + 100));
	CHECK(yields <= 1000000 / (700 + RMC_ALONE_NS) + 1);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "the first yield is due", first },
		{ "after a yield that nobody took it polls for a while", nobody_waits },
		{ "after one that was taken it yields at once", somebody_ran },
		{ "one that is taken ends an earlier wait", taken_after_alone },
		{ "a thread that is alone on its CPU yields seldom", share_of_time },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
