/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Service times: see service.h */
#include <math.h>
#include <string.h>
#include "zipf.h"
#include "service.h"

#define GEV_LOCATION	363.0
#define GEV_SCALE	100.0

static const struct {
	const char *name, *text;
} kinds[] = {
#define X(name, text)	{ #name, text },
	SERVICES(X)
#undef X
};

const char *service_name(enum service_kind kind)
{
	return kinds[kind].name;
}

const char *service_text(enum service_kind kind)
{
	return kinds[kind].text;
}

int service_find(const char *name)
{
	int i;

	for (i = 0; i < SERVICE_KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return i;
	return -1;
}

/* splitmix64 */
uint64_t stream_seed(uint64_t seed, uint64_t stream)
{
	uint64_t z = seed + (stream + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return z ? z : 1;
}

double draw_exponential(uint64_t *seed)
{
	return -log1p(-random_unit(seed));
}

static double gev_mean(double shape)
{
	return GEV_LOCATION + GEV_SCALE * (tgamma(1 - shape) - 1) / shape;
}

static double draw_gev(double shape, uint64_t *seed)
{
	double e = draw_exponential(seed);

	/* 0 has no such power */
	if (e <= 0)
		e = 0x1p-53;
	return GEV_LOCATION + GEV_SCALE * (pow(e, -shape) - 1) / shape;
}

uint64_t service_draw(const struct service *s, uint64_t *seed)
{
	double x;

	switch (s->kind) {
	case SERVICE_uniform:
		x = 2 * random_unit(seed);
		break;
	case SERVICE_exponential:
		x = draw_exponential(seed);
		break;
	case SERVICE_gev:
		x = draw_gev(s->gev_shape, seed) / gev_mean(s->gev_shape);
		break;
	default:
		x = 1;
	}
	return s->base + (uint64_t)llround(x * (double)s->mean);
}

double service_mean(const struct service *s)
{
	return (double)s->base + (double)s->mean;
}

double service_variance(const struct service *s)
{
	double mean = (double)s->mean, g1, g2, k = s->gev_shape;

	switch (s->kind) {
	case SERVICE_uniform:
		return mean * mean / 3;
	case SERVICE_exponential:
		return mean * mean;
	case SERVICE_gev:
		if (k >= 0.5)
			return INFINITY;
		g1 = tgamma(1 - k);
		g2 = tgamma(1 - 2 * k);
		return (g2 - g1 * g1) * GEV_SCALE * GEV_SCALE / (k * k) *
		       (mean / gev_mean(k)) * (mean / gev_mean(k));
	default:
		return 0;
	}
}
