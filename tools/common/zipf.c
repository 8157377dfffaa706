/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Item numbers by Zipf's law: rank k of n is drawn with a probability proportional to k^-theta, for
 * any theta >= 0; and scrambled as YCSB does, so that popular items are spread over the key space
 * and so over owners.
 *
 * The method is rejection-inversion (Hoermann and Derflinger, "Rejection-inversion to generate
 * variates from monotone discrete distributions", ACM TOMACS 6(3), 1996). It is exact, needs no
 * sum over all items, and a draw takes about the same time for any number of them:
 *
 *	h(x) = x^-theta			H(x): its integral from 1 to x
 *
 * u is uniform between H(1.5) - h(1) and H(n + 0.5), and k is the integer nearest to the x with
 * H(x) = u. As h is convex, the u that lead to k make up an interval of at least h(k), of which
 * the uppermost h(k) are accepted. From k = 2 on, their x reach the farther below k the larger it
 * is.
 */
#include <math.h>
#include "zipf.h"

static double h(double theta, double x)
{
	return exp(-theta * log(x));
}

/* (x^(1 - theta) - 1) / (1 - theta), in a form that is exact near theta = 1, where it is log(x) */
static double integral(double theta, double x)
{
	double t = (1 - theta) * log(x);

	return t == 0 ? log(x) : expm1(t) / t * log(x);
}

/* x of an integral; infinite if rounding has made that one too large for any x */
static double inverse(double theta, double u)
{
	double t = (1 - theta) * u;

	if (t == 0)
		return exp(u);
	return t > -1 ? exp(log1p(t) / t * u) : INFINITY;
}

void zipf_init(struct zipf *z, uint64_t items, double theta)
{
	z->items = items;
	z->theta = theta;
	z->low = integral(theta, 1.5) - h(theta, 1);
	z->high = integral(theta, (double)items + 0.5);
	z->near = 2 - inverse(theta, integral(theta, 2.5) - h(theta, 2));
}

uint64_t zipf_next(const struct zipf *z, uint64_t *seed)
{
	double u, x, k;

	do {
		u = z->low + random_unit(seed) * (z->high - z->low);
		x = inverse(z->theta, u);
		k = fmax(1, fmin(floor(x + 0.5), (double)z->items));
		/* most x are so near that they are accepted for any k */
	} while (k - x > z->near && u < integral(z->theta, k + 0.5) - h(z->theta, k));
	return (uint64_t)k - 1;
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
