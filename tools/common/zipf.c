/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Item numbers as YCSB draws them: Zipf's law by the method of Gray et al. (SIGMOD 1994,
 * "Quickly generating billion-record synthetic databases"), and scrambled, so that
 * popular items are spread over the key space and so over owners.
 */
#include <math.h>
#include "zipf.h"

static double zeta(uint64_t n, double theta)
{
	double sum = 0;
	uint64_t i;

	for (i = 1; i <= n; i++)
		sum += 1 / pow((double)i, theta);
	return sum;
}

void zipf_init(struct zipf *z, uint64_t items, double theta)
{
	z->items = items;
	z->theta = theta;
	z->alpha = 1 / (1 - theta);
	z->zetan = zeta(items, theta);
	z->eta = (1 - pow(2.0 / (double)items, 1 - theta)) / (1 - zeta(2, theta) / z->zetan);
}

uint64_t zipf_next(const struct zipf *z, uint64_t *seed)
{
	double u = random_unit(seed), uz = u * z->zetan;
	uint64_t n;

	if (uz < 1 || z->items < 2)
		return 0;
	if (uz < 1 + pow(0.5, z->theta))
		return 1;
	n = (uint64_t)((double)z->items * pow(z->eta * u - z->eta + 1, z->alpha));
	return n < z->items ? n : z->items - 1;
}

/* FNV-1a over the number's bytes, as YCSB's */
uint64_t zipf_scrambled(const struct zipf *z, uint64_t *seed)
{
	uint64_t n = zipf_next(z, seed), h = 0xcbf29ce484222325ULL;
	int i;

	for (i = 0; i < 8; i++, n >>= 8)
		h = (h ^ (n & 0xff)) * 0x100000001b3ULL;
	return h % z->items;
}
