/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tests the generator of Zipf's law and the histogram of tools/common. */
#include <math.h>
#include <string.h>
#include "hist.h"
#include "zipf.h"
#include "../tap.h"

#define ITEMS	1000
#define DRAWS	400000

static void draw(unsigned int *n, int items, double theta)
{
	uint64_t seed = 12345, v;
	struct zipf z;
	int i;

	zipf_init(&z, (uint64_t)items, theta);
	for (i = 0; i < DRAWS; i++) {
		v = zipf_next(&z, &seed);
		CHECK(v < (uint64_t)items);
		n[v < (uint64_t)items ? v : 0]++;
	}
}

/*
 * Pearson's test against the probabilities of all ranks. The sum of squares has a mean of one for
 * each free rank, and a variance of two: six deviations either way. Ranks that are expected fewer
 * than 10 times count together with the next ones.
 */
static void compare(const unsigned int *n, int items, double theta)
{
	double sum = 0, squares = 0, want = 0, got = 0;
	int i, ranks = 0;

	for (i = 1; i <= items; i++)
		sum += pow(i, -theta);
	for (i = 0; i < items; i++) {
		want += DRAWS * pow(i + 1, -theta) / sum;
		got += n[i];
		if (want < 10 && i < items - 1)
			continue;
		squares += want > 0 ? (got - want) * (got - want) / fmax(want, 1) : 0;
		ranks++;
		want = got = 0;
	}
	CHECK(ranks < 2 || fabs(squares - (ranks - 1)) < 6 * sqrt(2 * (ranks - 1)) + 6);
	if (tap_failures)
		printf("# theta %g, %d items: %g for %d ranks\n", theta, items, squares, ranks);
}

static void zipf_law(void)
{
	static const double theta[] = { 0, 1e-9, 0.5, 0.99, 1 - 1e-12, 1, 1 + 1e-9, 1.2, 2.5, 20 };
	static const int items[] = { ITEMS, 1, 2, 3, 10 };
	static unsigned int n[ITEMS];
	unsigned int i, k;

	for (i = 0; i < sizeof(theta) / sizeof(theta[0]); i++)
		for (k = 0; k < sizeof(items) / sizeof(items[0]); k++) {
			memset(n, 0, sizeof(n));
			draw(n, items[k], theta[i]);
			compare(n, items[k], theta[i]);
		}
}

/* More items than can be counted: the first one's share by zeta(theta), the last ones in use */
static void many_items(void)
{
	static const struct { double theta, first; } known[] = {
		/* log(1e12) + Euler's constant; zeta(2); zeta(1.5), of which the rest is 2e-6 */
		{ 1, 1 / 28.208236779430646 }, { 2, 1 / 1.6449340668482264 },
		{ 1.5, 1 / (2.612375348685488 - 2e-6) },
	};
	const uint64_t items = 1000000000000ULL;
	uint64_t seed = 7, v, most = 0;
	struct zipf z;
	unsigned int i;
	double n;
	int k;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		zipf_init(&z, items, known[i].theta);
		for (n = 0, k = 0; k < DRAWS; k++)
			n += !zipf_next(&z, &seed);
		CHECK(fabs(n - DRAWS * known[i].first) < 5 * sqrt(DRAWS * known[i].first));
	}
	zipf_init(&z, items, 0);
	for (n = 0, k = 0; k < DRAWS; k++) {
		v = zipf_next(&z, &seed);
		CHECK(v < items);
		most = v > most ? v : most;
		n += v < items / 4;
	}
	CHECK(most > items - items / 1000);
	CHECK(fabs(n - DRAWS / 4) < 5 * sqrt(DRAWS / 4));
}

static void scrambled(void)
{
	static unsigned int n[ITEMS];
	unsigned int most = 0, low = 0, i;
	uint64_t seed = 99;
	struct zipf z;

	zipf_init(&z, ITEMS, 0.99);
	for (i = 0; i < DRAWS; i++)
		n[zipf_scrambled(&z, &seed)]++;
	for (i = 0; i < ITEMS; i++) {
		most = n[i] > n[most] ? i : most;
		low += i < ITEMS / 2 ? n[i] : 0;
	}
	CHECK(n[most] > DRAWS / 10);		/* the top item keeps its share */
	CHECK(most != 0);			/* but is another one */
	CHECK(low > DRAWS / 4 && low < 3 * (DRAWS / 4));
	zipf_init(&z, 1, 0.99);
	CHECK(zipf_scrambled(&z, &seed) == 0);
}

static void histogram(void)
{
	static struct hist h;
	uint64_t v;
	int i;

	CHECK(hist_percentile(&h, 0.5) == 0);
	for (i = 1; i <= 1000; i++)
		hist_add(&h, (uint64_t)i * 1000);
	CHECK(hist_total(&h) == 1000);
	for (i = 1; i < 10; i++) {
		v = hist_percentile(&h, i / 10.0);
		CHECK(v >= (uint64_t)i * 100000 && v < (uint64_t)i * 100000 * 107 / 100);
	}
	CHECK(hist_percentile(&h, 1.0) >= 1000000);
	memset(&h, 0, sizeof(h));
	/* buckets end at most 1/32 above their values */
	for (v = 1; v < 1ULL << 62; v += v / 4 + 1) {
		hist_add(&h, v);
		CHECK(hist_percentile(&h, 1.0) >= v);
		CHECK(hist_percentile(&h, 1.0) <= v + v / 32 + 1);
	}
	hist_add(&h, ~0ULL);
	CHECK(hist_total(&h) > 100);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "numbers follow Zipf's law", zipf_law },
		{ "also of very many items", many_items },
		{ "popular ones are spread", scrambled },
		{ "percentiles", histogram },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
