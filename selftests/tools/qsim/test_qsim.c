/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Tests of tools/qsim against queueing theory. Means of simulated runs are compared by batches:
 * theory must lie within four standard errors. Seeds are fixed. Times in nanoseconds here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "load.h"
#include "zipf.h"
#include "../../tap.h"

#define N		1000000
#define BATCHES		20
#define MEAN_NS		600.0

static const struct service exponential = {
	SERVICE_exponential, 0, 600 * PS_PER_NS, GEV_SHAPE
};

/* 300 ns, and 300 ns on average, as in the thesis */
static struct service mixed(enum service_kind kind, double shape)
{
	return (struct service){ kind, 300 * PS_PER_NS, 300 * PS_PER_NS, shape };
}

static struct queueing queues(unsigned int x, unsigned int y)
{
	return (struct queueing){ .queues = x, .servers = y };
}

static struct queueing policy(enum policy p, unsigned int cores, unsigned int groups)
{
	return (struct queueing){ .host = { p, cores, groups, 1, 0, 99 } };
}

static void make(struct trace *t, const struct service *s, size_t n)
{
	if (trace_init(t, s, n, 7))
		exit(1);
}

static void run(struct trace *t, const struct queueing *x, double load)
{
	if (run_at(t, x, load))
		exit(1);
}

/* Mean of batches of waiting times, and its standard error */
static double mean_wait(const struct trace *t, double *error)
{
	size_t each = t->n / (BATCHES + 2), warm = 2 * each, i, b;
	double sum = 0, squares = 0;

	for (b = 0; b < BATCHES; b++) {
		double batch = 0;

		for (i = warm + b * each; i < warm + (b + 1) * each; i++)
			batch += (double)(t->latency[i] - t->m[i].service) / PS_PER_NS;
		batch /= (double)each;
		sum += batch;
		squares += batch * batch;
	}
	sum /= BATCHES;
	*error = sqrt((squares / BATCHES - sum * sum) / (BATCHES - 1));
	return sum;
}

static void check_wait(const struct trace *t, double theory)
{
	double error, got = mean_wait(t, &error);

	if (fabs(got - theory) > 4 * error)
		TAP_FAIL("mean wait %.2f ns +- %.2f, theory %.2f", got, error, theory);
	if (error > 0.03 * theory)
		TAP_FAIL("standard error %.2f of %.2f ns: too few messages", error, theory);
}

/* Erlang C: probability of waiting with k servers */
static double erlang_c(unsigned int k, double rho)
{
	double a = k * rho, term = 1, sum = 0;
	unsigned int i;

	for (i = 0; i < k; i++) {
		sum += term;
		term *= a / (i + 1);
	}
	return term / (1 - rho) / (sum + term / (1 - rho));
}

/* Crommelin: mean wait of M/D/k in units of the service time */
static double crommelin(unsigned int k, double rho)
{
	double wait = 0;
	unsigned int m, i;

	for (m = 1; m < 2000; m++) {
		double a = m * k * rho, term, tail = 0, head;

		/* Poisson probabilities from m * k on */
		term = exp(m * k * log(a) - a - lgamma(m * k + 1.0));
		head = term;
		for (i = m * k + 1; term > 1e-18 * head; i++) {
			term *= a / i;
			tail += term;
		}
		wait += head + tail - tail / rho;
		if (head + tail < 1e-14)
			break;
	}
	return wait;
}

static void mm1(void)
{
	struct queueing x = queues(1, 1);
	struct trace t;
	double load;

	make(&t, &exponential, N);
	for (load = 0.3; load < 0.85; load += 0.25) {
		double theory = MEAN_NS * log(100) / (1 - load), got;

		run(&t, &x, load);
		check_wait(&t, MEAN_NS * load / (1 - load));
		got = (double)tail(&t, 990) / PS_PER_NS;
		if (fabs(got / theory - 1) > 0.04)
			TAP_FAIL("p99 %.0f ns, theory %.0f, load %.2f", got, theory, load);
	}
	trace_destroy(&t);
}

static void mmk(void)
{
	static const unsigned int servers[] = { 2, 4, 16 };
	struct trace t;
	size_t i, k, over;

	make(&t, &exponential, N);
	for (k = 0; k < 3; k++) {
		struct queueing x = queues(1, servers[k]);
		double load = 0.85, c = erlang_c(servers[k], load), at, got;

		run(&t, &x, load);
		check_wait(&t, c * MEAN_NS / servers[k] / (1 - load));
		/* of all messages 1 % wait longer than this */
		at = log(c / 0.01) * MEAN_NS / servers[k] / (1 - load);
		for (i = t.n / 10, over = 0; i < t.n; i++)
			over += (double)(t.latency[i] - t.m[i].service) / PS_PER_NS > at;
		got = (double)over / (double)(t.n - t.n / 10);
		if (fabs(got - 0.01) > 0.002)
			TAP_FAIL("%.4f wait longer, not 0.01, %u servers", got, servers[k]);
	}
	trace_destroy(&t);
}

static void mg1(void)
{
	struct queueing x = queues(1, 1);
	unsigned int kind;

	for (kind = 0; kind < SERVICE_KINDS; kind++) {
		/* the shape of the thesis has no variance, so no mean wait */
		struct service s = mixed((enum service_kind)kind, 0.2);
		double mean = service_mean(&s) / PS_PER_NS, load = 0.7;
		double variance = service_variance(&s) / PS_PER_NS / PS_PER_NS;
		struct trace t;

		make(&t, &s, N);
		run(&t, &x, load);
		tap_where = service_name(s.kind);
		check_wait(&t, load / mean * (mean * mean + variance) / 2 / (1 - load));
		tap_where = NULL;
		trace_destroy(&t);
	}
}

static void mdk(void)
{
	static const unsigned int servers[] = { 1, 4, 16 };
	struct service s = mixed(SERVICE_fixed, GEV_SHAPE);
	struct trace t;
	size_t k;

	/* M/D/1 has a closed form */
	CHECK(fabs(crommelin(1, 0.5) - 0.5) < 1e-9);
	CHECK(fabs(crommelin(1, 0.8) - 2) < 1e-9);
	make(&t, &s, N);
	for (k = 0; k < 3; k++) {
		struct queueing x = queues(1, servers[k]);

		run(&t, &x, 0.9);
		check_wait(&t, crommelin(servers[k], 0.9) * MEAN_NS);
	}
	trace_destroy(&t);
}

/* Several queues are several systems of a part of the load each. */
static void several_queues(void)
{
	struct queueing x = queues(8, 2);
	struct trace t;

	make(&t, &exponential, N);
	run(&t, &x, 0.7);
	check_wait(&t, erlang_c(2, 0.7) * MEAN_NS / 2 / 0.3);
	trace_destroy(&t);
}

static void limit(void)
{
	struct queueing x = queues(1, 1);
	struct trace t;
	double load;

	make(&t, &exponential, N);
	CHECK(!highest_load(&t, &x, 990, (uint64_t)(10 * t.mean), &load));
	CHECK(fabs(load - (1 - log(100) / 10)) < 0.015);
	/* a limit that even an empty system exceeds */
	CHECK(!highest_load(&t, &x, 990, (uint64_t)t.mean, &load));
	CHECK(load == 0);
	trace_destroy(&t);
}

/* By events, with all costs zero: each message as in the exact system */
static void events_are_exact(void)
{
	const struct { struct queueing events, exact; } pair[] = {
		{ policy(POLICY_greedy, 16, 1), queues(1, 16) },
		{ policy(POLICY_groups, 16, 4), queues(4, 4) },
		{ policy(POLICY_groups, 16, 2), queues(2, 8) },
		{ policy(POLICY_static, 16, 1), queues(16, 1) },
	};
	unsigned int kind, differ;
	size_t i, p, n = 50000;
	uint64_t *first;
	struct trace t;

	first = (uint64_t *)calloc(n, sizeof(*first));
	for (kind = 0; first && kind < SERVICE_KINDS; kind++) {
		struct service s = mixed((enum service_kind)kind, GEV_SHAPE);

		make(&t, &s, n);
		for (p = 0; p < 4; p++) {
			run(&t, &pair[p].exact, 0.9);
			memcpy(first, t.latency, n * sizeof(*first));
			run(&t, &pair[p].events, 0.9);
			for (i = 0, differ = 0; i < n; i++)
				differ += first[i] != t.latency[i];
			if (differ)
				TAP_FAIL("%s, pair %zu: %u messages differ", service_name(s.kind), p,
					 differ);
		}
		trace_destroy(&t);
	}
	free(first);
}

/* All arrive at once at one core: how the loop and the depth show */
static void loop_and_depth(void)
{
	struct message m[10];
	uint64_t latency[10];
	unsigned int depth, i;

	for (i = 0; i < 10; i++)
		m[i] = (struct message){ 0, 600, 0 };
	for (depth = 1; depth <= 3; depth++) {
		struct host s = { POLICY_greedy, 1, 1, depth, 200, 1 };

		CHECK(!dispatch_run(&s, m, 10, latency));
		for (i = 0; i < 10; i++)
			CHECK_EQ(latency[i], depth == 1 ? 100 + 600 + i * 800 : 100 + 600 + i * 600);
	}
}

/* What each policy does with the same messages */
static void policies_differ(void)
{
	/* two cores, both bound to 0; the first message is long */
	struct message m[4] = { { 0, 1000, 0 }, { 10, 100, 0 }, { 20, 100, 0 }, { 30, 100, 0 } };
	static const struct { enum policy policy; uint64_t latency[4]; } want[] = {
		{ POLICY_static, { 1000, 1090, 1180, 1270 } },
		{ POLICY_rr, { 1000, 100, 1080, 180 } },
		{ POLICY_greedy, { 1000, 100, 190, 280 } },
		{ POLICY_steal, { 1000, 100, 190, 280 } },
		{ POLICY_jiq, { 1000, 100, 1080, 1170 } },
		/* the third finds one message at each core, and takes the first core */
		{ POLICY_jsq, { 1000, 100, 1080, 180 } },
	};
	uint64_t latency[4];
	size_t p, i;

	for (p = 0; p < sizeof(want) / sizeof(want[0]); p++) {
		struct host s = { want[p].policy, 2, 1, 1, 0, 1 };

		tap_where = policy_name(want[p].policy);
		CHECK(!dispatch_run(&s, m, 4, latency));
		for (i = 0; i < 4; i++)
			CHECK_EQ(latency[i], want[p].latency[i]);
		tap_where = NULL;
	}
}

/* A core that steals has its own queue first, and one with two messages is not given the next. */
static void whose_turn(void)
{
	struct message m[5] = { { 0, 1000, 0 }, { 0, 100, 1 }, { 1, 100, 0 }, { 2, 100, 0 },
				{ 3, 100, 1 } };
	struct host s = { POLICY_steal, 2, 1, 1, 0, 1 };
	static const uint64_t want[] = { 1000, 100, 299, 398, 197 };
	uint64_t latency[5];
	size_t i;

	CHECK(!dispatch_run(&s, m, 5, latency));
	for (i = 0; i < 5; i++)
		CHECK_EQ(latency[i], want[i]);
	s.policy = POLICY_greedy;
	s.depth = 2;
	m[1].service = 1000;
	CHECK(!dispatch_run(&s, m, 2, latency));
	CHECK_EQ(latency[0], 1000);
	CHECK_EQ(latency[1], 1000);
}

/* The first class first, in the order of arrival */
static void classes(void)
{
	struct message m[5] = { { 0, 1000, 2 }, { 10, 100, 2 }, { 20, 100, 1 }, { 30, 100, 0 },
				{ 40, 100, 3 } };
	static const uint64_t want[] = { 1000, 1390, 1280, 1070, 1160 };
	struct host s = { POLICY_class, 1, 3, 1, 0, 1 };
	uint64_t latency[5];
	size_t i;

	CHECK(!dispatch_run(&s, m, 5, latency));
	for (i = 0; i < 5; i++)
		CHECK_EQ(latency[i], want[i]);
}

static void warm_up(void)
{
	uint64_t latency[1000];
	struct trace t = { .n = 1000, .latency = latency };
	size_t i;

	for (i = 0; i < 1000; i++)
		latency[i] = i < 100 ? 1000000 : i;
	CHECK_EQ(tail(&t, 990), 990);
}

/* The more a policy knows of the queues, the shorter the tail. */
static void order_of_policies(void)
{
	static const enum policy of_cores[] = {
		POLICY_static, POLICY_sq2, POLICY_jsq, POLICY_greedy
	};
	static const enum policy of_groups[] = { POLICY_groups, POLICY_hier, POLICY_greedy };
	uint64_t last = UINT64_MAX, p99;
	struct queueing x;
	struct trace t;
	size_t i;

	make(&t, &exponential, 100000);
	/* a core that is drawn for a message, or when it arrives: the same */
	x = policy(POLICY_static, 16, 1);
	run(&t, &x, 0.7);
	p99 = tail(&t, 990);
	x = policy(POLICY_random, 16, 1);
	run(&t, &x, 0.7);
	CHECK(fabs((double)tail(&t, 990) / (double)p99 - 1) < 0.1);
	for (i = 0; i < 4; i++, last = p99) {
		x = policy(of_cores[i], 16, 1);
		run(&t, &x, 0.9);
		p99 = tail(&t, 990);
		CHECK(p99 < last);
	}
	for (i = 0, last = UINT64_MAX; i < 3; i++, last = p99) {
		x = policy(of_groups[i], 16, 4);
		run(&t, &x, 0.9);
		p99 = tail(&t, 990);
		/* groups, which knows nothing of them, is far behind */
		CHECK(i == 1 ? p99 < 0.7 * (double)last : p99 < last);
	}
	trace_destroy(&t);
}

/* Both draws may be the same group: a message waits although the other one is free. */
static void lighter_group(void)
{
	static const uint64_t seeds = 200;
	struct message m[3] = { { 0, 1000, 0 }, { 1, 1000, 0 }, { 2, 1000, 0 } };
	unsigned int waits = 0, wrong = 0;
	uint64_t latency[3], seed;

	/* two groups with one core each */
	for (seed = 1; seed <= seeds; seed++) {
		struct host s = { POLICY_hier, 2, 2, 1, 0, stream_seed(seed, 0) };

		CHECK(!dispatch_run(&s, m, 3, latency));
		waits += latency[1] > 1000;
		/* both are busy then, or the other one is free unless it is not drawn */
		if (latency[1] == 1000)
			wrong += latency[2] < 1998;
		else
			wrong += latency[2] != 1000 && latency[2] != 2998;
	}
	/* the second message waits only if both draws are the group of the first one: a quarter */
	CHECK(waits > seeds / 8 && waits < seeds * 3 / 8);
	CHECK(!wrong);
	/* two groups with two cores each */
	for (seed = 1, waits = 0; seed <= seeds; seed++) {
		struct host s = { POLICY_hier, 4, 2, 1, 0, stream_seed(seed, 0) };

		CHECK(!dispatch_run(&s, m, 3, latency));
		waits += latency[2] > 1000;
	}
	/* only if both draws are the full group, which has two messages: 1/4 * 1/4 */
	CHECK(waits > 0 && waits < seeds / 8);
}

/* Table 5.1, within what the assumed distributions leave open: queueing.rst */
static void table_5_1(void)
{
	static const int printed[SERVICE_KINDS][4] = {
		{ 4, 6, 16, 25 }, { 4, 6, 16, 25 }, { 4, 6, 16, 31 }, { 6, 20, 46, 73 }
	};
	double first = 0, load, lost, last, exponential_lost[5] = { 0 };
	unsigned int kind, k;
	struct trace t;

	for (kind = 0; kind < SERVICE_KINDS; kind++) {
		struct service s = mixed((enum service_kind)kind, GEV_SHAPE);

		make(&t, &s, 300000);
		for (k = 0, last = -1; k < 5; k++, last = lost) {
			struct queueing x = queues(1U << k, 16U >> k);

			CHECK(!highest_load(&t, &x, 990, (uint64_t)(10 * t.mean), &load));
			if (!k)
				first = load;
			lost = 100 * (1 - load / first);
			if (k && fabs(lost - printed[kind][k - 1]) > 8)
				TAP_FAIL("%s, %ux%u: %.1f%% less, printed %d%%", service_name(s.kind),
					 x.queues, x.servers, lost, printed[kind][k - 1]);
			/* more queues lose more, and most of all with the long tail */
			CHECK(lost > last);
			if (kind == SERVICE_exponential)
				exponential_lost[k] = lost;
			else if (k && kind == SERVICE_gev)
				CHECK(lost > 1.3 * exponential_lost[k]);
		}
		trace_destroy(&t);
	}
}

static void gev_percentiles(void)
{
	static const unsigned int p[] = { 100, 500, 900, 990, 999 };
	struct service s = mixed(SERVICE_gev, GEV_SHAPE);
	double mean = 363 + 100 * (tgamma(0.35) - 1) / 0.65;
	struct trace t;
	size_t i;

	make(&t, &s, N);
	for (i = 0; i < 5; i++) {
		double x = 363 + 100 * (pow(-log(p[i] / 1000.0), -0.65) - 1) / 0.65;
		double want = 300000 + 300000 * x / mean, got;
		size_t k;

		for (k = 0; k < t.n; k++)
			t.latency[k] = t.m[k].service;
		got = (double)percentile(t.latency, t.n, p[i]);
		/* of the last one a standard error is 2 % */
		if (fabs(got / want - 1) > (i == 4 ? 0.1 : 0.03))
			TAP_FAIL("percentile %u is %.0f ps, not %.0f", p[i], got, want);
	}
	trace_destroy(&t);
}

static void service_times(void)
{
	uint64_t least[SERVICE_KINDS] = { 600000, 300000, 300000, 300000 };
	uint64_t most[SERVICE_KINDS] = { 600000, 900000, UINT64_MAX, UINT64_MAX };
	unsigned int kind, i;

	for (kind = 0; kind < SERVICE_KINDS; kind++) {
		struct service s = mixed((enum service_kind)kind, 0.1);
		double sum = 0, squares = 0, deviation = sqrt(service_variance(&s));
		uint64_t seed = stream_seed(3, kind);

		tap_where = service_name(s.kind);
		for (i = 0; i < N; i++) {
			uint64_t x = service_draw(&s, &seed);

			CHECK(x >= least[kind] && x <= most[kind]);
			sum += (double)x;
			squares += ((double)x - service_mean(&s)) * ((double)x - service_mean(&s));
		}
		CHECK(fabs(sum / N - service_mean(&s)) <= 5 * deviation / sqrt(N) + 1);
		CHECK(fabs(sqrt(squares / N) - deviation) <= 0.02 * deviation + 1);
		tap_where = NULL;
	}
	/* percentiles of the long tail, from the inverse of its distribution */
	gev_percentiles();
	CHECK(isinf(service_variance(&(struct service){ SERVICE_gev, 0, 1, GEV_SHAPE })));
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;

	return (*x > *y) - (*x < *y);
}

static void percentiles(void)
{
	static const unsigned int p[] = { 0, 1, 500, 990, 999, 1000 };
	uint64_t value[1000], sorted[1000], seed = 5;
	size_t n, i, k;

	CHECK(!percentile(NULL, 0, 500));
	/* by hand: of 1 .. 900 the 63rd is 7 %, the 630th 70 % */
	for (k = 0; k < 900; k++)
		value[k] = 900 - k;
	CHECK_EQ(percentile(value, 900, 70), 63);
	CHECK_EQ(percentile(value, 900, 700), 630);
	CHECK_EQ(percentile(value, 900, 999), 900);
	for (n = 1; n <= 1000; n = n < 10 ? n + 1 : 3 * n) {
		for (i = 0; i < 6; i++) {
			/* many that are equal, too */
			for (k = 0; k < n; k++)
				value[k] = sorted[k] = random_next(&seed) % (i % 2 ? 7 : 1 << 20);
			qsort(sorted, n, sizeof(*sorted), compare);
			/* the first that as many are not above */
			for (k = 0; (k + 1) * 1000 < n * p[i]; k++)
				;
			CHECK_EQ(percentile(value, n, p[i]), sorted[k]);
		}
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "percentiles", percentiles },
		{ "service times have the moments of their distributions", service_times },
		{ "M/M/1: mean wait, 99th percentile", mm1 },
		{ "M/M/k: Erlang C", mmk },
		{ "M/G/1: Pollaczek-Khinchine, four distributions", mg1 },
		{ "M/D/k: Crommelin", mdk },
		{ "eight queues with two servers each", several_queues },
		{ "highest load under a limit", limit },
		{ "the dispatcher without costs equals the exact system, message by message",
		  events_are_exact },
		{ "loop between core and dispatcher, depth", loop_and_depth },
		{ "who gets the next message", policies_differ },
		{ "whose turn it is", whose_turn },
		{ "classes of messages", classes },
		{ "the first tenth does not count", warm_up },
		{ "policies that know more have shorter tails", order_of_policies },
		{ "of two random groups the one with less work", lighter_group },
		{ "table 5.1 within 8 points", table_5_1 },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
