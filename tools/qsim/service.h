/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Service times of the thesis' load balancing study (T18 section 8.2.1): a fixed part, as HERD's
 * look-up, and a part that is drawn from one of four distributions. Times are picoseconds.
 */
#ifndef QSIM_SERVICE_H
#define QSIM_SERVICE_H

#include <stdint.h>

#define PS_PER_NS	1000ULL

/*
 * Name, what it is. The generalized extreme value distribution has location 363, scale 100 and
 * shape 0.65, stretched to the mean that is asked for; its variance is infinite. The thesis prints
 * no parameters: these are from memory of the RPCValet paper.
 */
#define SERVICES(X)						\
	X(fixed, "always the mean")				\
	X(uniform, "from 0 to twice the mean")			\
	X(exponential, "exponential")				\
	X(gev, "generalized extreme value: long tail, as of web searches")

enum service_kind {
#define X(name, text)	SERVICE_##name,
	SERVICES(X)
#undef X
	SERVICE_KINDS
};

/**
 * struct service - a distribution of service times
 * @kind: of the part that is drawn
 * @base: fixed part
 * @mean: mean of the part that is drawn
 * @gev_shape: of SERVICE_gev, 0.1 .. 0.9; below 0.5 there is a variance
 */
struct service {
	enum service_kind kind;
	uint64_t base, mean;
	double gev_shape;
};

#define GEV_SHAPE	0.65

const char *service_name(enum service_kind kind);
const char *service_text(enum service_kind kind);
/* The kind of that name, or -1 */
int service_find(const char *name);

/* A service time; *@seed is not 0. */
uint64_t service_draw(const struct service *s, uint64_t *seed);

/* Mean and variance; the variance of a long tail is INFINITY. */
double service_mean(const struct service *s);
double service_variance(const struct service *s);

/* Exponential with mean 1 */
double draw_exponential(uint64_t *seed);

/* A seed of its own for each of several streams of random numbers */
uint64_t stream_seed(uint64_t seed, uint64_t stream);

#endif /* QSIM_SERVICE_H */
