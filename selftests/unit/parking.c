// SPDX-License-Identifier: GPL-2.0
/*
 * How often a worker parks, and how often that interrupts other CPUs (kmod/ni/park.h): the
 * worker's thread, woken by others at chosen times, over simulated time.
 */
#include "../tap.h"
#include "kmod/ni/park.h"

#define US		1000ULL
#define MS		(1000 * US)
#define SECOND		(1000 * MS)

/* The documented limits, see rmc_park_limit */
#define BURST		16
#define PER_SECOND	250

/**
 * struct sim - a worker's thread without work
 * @park: policy under test
 * @now: simulated time, ns
 * @busy: when it last had work, or checked
 * @park_ns: as configured
 * @poll_ns: time between two checks of whether it may park
 * @others: CPUs that a park interrupts
 * @asked: times that their number was read
 * @parks: parks
 * @interrupts: of these, those that interrupted other CPUs
 * @refused: parks that were refused
 * @delay: longest time without work until it parked
 */
struct sim {
	struct rmc_park park;
	u64 now, busy, park_ns, poll_ns;
	unsigned int others, asked;
	u64 parks, interrupts, refused, delay;
};

static unsigned int sim_others(void *arg)
{
	struct sim *s = arg;

	s->asked++;
	return s->others;
}

static void sim_start(struct sim *s, u64 park_ns, unsigned int others)
{
	*s = (struct sim){ .now = 5 * SECOND, .park_ns = park_ns, .others = others };
	rmc_park_init(&s->park);
	s->poll_ns = 2 * US;
	s->busy = s->now;
}

/* Idle until it parks or @end is reached, as in worker_main(). Returns whether it parked. */
static bool sim_park(struct sim *s, u64 end)
{
	u64 start = s->now;

	for (; s->now < end; s->now += s->poll_ns) {
		if (!rmc_park_is_due(&s->park, s->now - s->busy, s->park_ns))
			continue;
		s->busy = s->now;
		if (!rmc_park_may(&s->park, s->now, sim_others, s)) {
			s->refused++;
			continue;
		}
		s->parks++;
		s->interrupts += !!s->others;
		rmc_park_interrupts(&s->park, s->others);
		s->delay = max(s->delay, s->now - start);
		return true;
	}
	return false;
}

/* It sleeps for @ns, and is woken with work. */
static void sim_sleep(struct sim *s, u64 ns)
{
	s->now += ns;
	s->busy = s->now;
	rmc_park_slept(&s->park, ns, s->park_ns);
}

static const u64 park_times[] = { 0, US, 20 * US, 50 * US, MS };

/*
 * Time of the wake-up after each park: at once, or as soon as a sleep is long enough to cost
 * no patience, which gives a hostile process the most interrupts.
 */
static u64 wake_after(u64 park_ns, int kind)
{
	return kind ? 4 * max(park_ns, 20 * US) : US;
}

static void test_hostile_waker(void)
{
	unsigned int i;
	struct sim s;
	int kind;

	for (i = 0; i < ARRAY_SIZE(park_times); i++) {
		for (kind = 0; kind < 2; kind++) {
			u64 start, end, least = 10 * PER_SECOND / 2;

			sim_start(&s, park_times[i], 3);
			start = s.now;
			for (end = start + 10 * SECOND; sim_park(&s, end);) {
				if (s.interrupts > BURST + PER_SECOND * (s.now - start) / SECOND)
					break;
				sim_sleep(&s, wake_after(s.park_ns, kind));
			}
			/* never more than that */
			CHECK(s.now >= end);
			/* it does park: a hostile waker cannot keep the CPU busy */
			if (park_times[i] == MS)
				least = 5 * SECOND / ((kind ? 5 : 64) * MS);
			CHECK(s.interrupts >= least);
			if (park_times[i] < MS)
				CHECK(s.refused > 0);
		}
	}
	tap_result("who wakes a worker as often as possible interrupts others 250 times a second");
}

/* A burst of wake-ups after a quiet time: 16 parks, and no more within the next 4 ms. */
static void test_burst(void)
{
	struct sim s;
	u64 end;
	int i;

	sim_start(&s, 20 * US, 1);
	for (i = 0; i < 3; i++) {
		u64 before = s.interrupts;

		/* a minute of rest gives no more than a burst */
		s.now += 60 * SECOND;
		s.busy = s.now;
		for (end = s.now + 3 * MS; sim_park(&s, end);)
			sim_sleep(&s, 80 * US);
		CHECK_EQ(s.interrupts - before, BURST);
		/* then one per 4 ms */
		for (end = s.now + 40 * MS; sim_park(&s, end);)
			sim_sleep(&s, 80 * US);
		CHECK(s.interrupts - before >= BURST + 9);
		CHECK(s.interrupts - before <= BURST + 11);
	}
	tap_result("16 parks in a row, then one each 4 ms, however long it rested before");
}

static void test_quiet(void)
{
	unsigned int i;
	struct sim s;
	u64 n;

	for (i = 0; i < ARRAY_SIZE(park_times); i++) {
		sim_start(&s, park_times[i], 3);
		for (n = 0; n < 1000; n++) {
			if (!sim_park(&s, s.now + SECOND))
				break;
			sim_sleep(&s, 10 * MS);
		}
		CHECK_EQ(s.parks, 1000);
		CHECK_EQ(s.refused, 0);
		CHECK_EQ(s.asked, 0);
		CHECK(s.delay <= park_times[i] + s.poll_ns);
	}
	tap_result("a worker that is woken now and then parks each time, without delay");
}

/* Parks that interrupt no CPU are not limited. */
static void test_alone(void)
{
	struct sim s;
	u64 end, most;

	sim_start(&s, 20 * US, 0);
	for (end = s.now + SECOND; sim_park(&s, end);)
		sim_sleep(&s, 80 * US);
	/* park time, sleep, and at most one more poll */
	most = SECOND / (20 * US + 80 * US);
	CHECK(s.parks <= most);
	CHECK(s.parks >= SECOND / (100 * US + s.poll_ns) - 1);
	CHECK_EQ(s.interrupts, 0);
	CHECK_EQ(s.refused, 0);
	CHECK_EQ(s.park.credit, BURST);
	tap_result("parks that interrupt nobody are not limited");
}

/* CPUs that appear after the check cannot take credit below zero. */
static void test_late_owner(void)
{
	struct sim s;
	int i;

	sim_start(&s, 20 * US, 0);
	rmc_park_may(&s.park, s.now, sim_others, &s);
	for (i = 0; i < BURST; i++)
		rmc_park_interrupts(&s.park, 2);
	CHECK_EQ(s.park.credit, 0);
	CHECK(rmc_park_may(&s.park, s.now, sim_others, &s));
	rmc_park_interrupts(&s.park, 1);
	CHECK_EQ(s.park.credit, 0);
	s.others = 1;
	CHECK(!rmc_park_may(&s.park, s.now, sim_others, &s));
	tap_result("an owner that comes when a park was granted: no credit below zero");
}

/* A refused worker waits for twice the park time before it asks again. */
static void test_refused(void)
{
	struct sim s;
	u64 end;

	sim_start(&s, 20 * US, 1);
	rmc_park_may(&s.park, s.now, sim_others, &s);
	s.park.credit = 0;
	end = s.now + 4 * MS - s.poll_ns;
	CHECK(!sim_park(&s, end));
	CHECK(s.refused <= 4 * MS / (2 * 20 * US));
	CHECK(s.refused >= 4 * MS / (2 * 20 * US + s.poll_ns) - 2);
	CHECK_EQ(s.asked, s.refused);
	/* patience that it already has is kept */
	s.park.patience = 32;
	CHECK(!rmc_park_may(&s.park, s.now, sim_others, &s));
	CHECK_EQ(s.park.patience, 32);
	tap_result("a worker that may not park asks again after two park times");
}

static void test_patience(void)
{
	unsigned int i;
	struct sim s;
	u64 unit, n;

	for (i = 0; i < ARRAY_SIZE(park_times); i++) {
		sim_start(&s, park_times[i], 0);
		unit = max(park_times[i], 20 * US);
		CHECK(rmc_park_is_due(&s.park, (s64)park_times[i], park_times[i]));
		CHECK(!rmc_park_is_due(&s.park, (s64)park_times[i] - 1, park_times[i]));
		/* each short sleep doubles the wait */
		for (n = 2; n <= 64; n *= 2) {
			rmc_park_slept(&s.park, 4 * unit - 1, park_times[i]);
			CHECK(rmc_park_is_due(&s.park, (s64)(n * unit), park_times[i]));
			CHECK(!rmc_park_is_due(&s.park, (s64)(n * unit) - 1, park_times[i]));
		}
		/* up to a limit */
		rmc_park_slept(&s.park, 0, park_times[i]);
		CHECK(rmc_park_is_due(&s.park, (s64)(64 * unit), park_times[i]));
		/* a long one ends that */
		rmc_park_slept(&s.park, 4 * unit, park_times[i]);
		CHECK(rmc_park_is_due(&s.park, (s64)park_times[i], park_times[i]));
	}
	tap_result("sleeps that are cut short double the time until the next one");
}

/* Immediate wake-ups cost 64 park times each, even if no CPU is interrupted. */
static void test_short_sleeps(void)
{
	struct sim s;
	u64 end;

	sim_start(&s, 50 * US, 0);
	for (end = s.now + SECOND; sim_park(&s, end);)
		sim_sleep(&s, US);
	CHECK(s.parks <= SECOND / (64 * 50 * US) + 7);
	CHECK(s.parks >= SECOND / (64 * 50 * US) - 7);
	tap_result("a worker that is always woken at once parks every 64 park times");
}

static void test_clock(void)
{
	u64 end, back, n;
	struct sim s;

	/* back: no park and no credit until the old time is reached again, and no error */
	sim_start(&s, 20 * US, 1);
	for (n = 0; n < BURST; n++) {
		CHECK(sim_park(&s, s.now + MS));
		sim_sleep(&s, 80 * US);
	}
	back = s.now;
	s.now -= 3 * SECOND;
	CHECK(!rmc_park_is_due(&s.park, s.now - s.busy, s.park_ns));
	s.busy = s.now;
	CHECK(!sim_park(&s, back));
	CHECK_EQ(s.park.credit, 0);
	CHECK(sim_park(&s, back + 5 * MS));
	/* far ahead: a burst, as after a rest */
	for (n = 1; n; n <<= 9) {
		sim_start(&s, 20 * US, 1);
		s.now += n;
		s.busy = s.now;
		for (end = s.now + 3 * MS; sim_park(&s, end);)
			sim_sleep(&s, 80 * US);
		CHECK_EQ(s.interrupts, BURST);
	}
	tap_result("a clock that jumps gives no credit, and takes none");
}

int main(void)
{
	test_hostile_waker();
	test_burst();
	test_quiet();
	test_alone();
	test_late_owner();
	test_refused();
	test_patience();
	test_short_sleeps();
	test_clock();
	return tap_done();
}
