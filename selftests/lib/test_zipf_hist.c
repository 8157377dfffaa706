/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tests the generator of Zipf's law and the histogram of tools/common. */
#include <math.h>
#include <string.h>
#include "hist.h"
#include "zipf.h"
#include "../tap.h"

#define ITEMS	1000
#define DRAWS	400000

/* Compare frequencies with Zipf's law: the method is exact for the first two ranks. */
static void zipf_law(void)
{
	static unsigned int n[ITEMS];
	uint64_t seed = 12345, v;
	double sum = 0, want;
	struct zipf z;
	int i, k;

	zipf_init(&z, ITEMS, 0.99);
	for (i = 1; i <= ITEMS; i++)
		sum += 1 / pow(i, 0.99);
	CHECK(fabs(z.zetan - sum) < 1e-9);
	for (i = 0; i < DRAWS; i++) {
		v = zipf_next(&z, &seed);
		CHECK(v < ITEMS);
		n[v < ITEMS ? v : 0]++;
	}
	for (i = 0; i < 2; i++) {
		want = DRAWS / pow(i + 1, 0.99) / sum;
		CHECK(fabs(n[i] - want) < 6 * sqrt(want));
	}
	/* further ranks in sums: each rank is off by a few percent */
	for (k = 10; k < ITEMS; k *= 10) {
		double got = 0;

		for (want = 0, i = k / 2; i < k; i++) {
			want += DRAWS / pow(i + 1, 0.99) / sum;
			got += n[i];
		}
		CHECK(got > 0.85 * want && got < 1.15 * want);
	}
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
		{ "popular ones are spread", scrambled },
		{ "percentiles", histogram },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
