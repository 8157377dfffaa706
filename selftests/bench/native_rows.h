/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What native_bench prints: samples, and rows of their medians, as a table or as JSON. A row may
 * have a value that is asked for.
 */
#ifndef BENCH_NATIVE_ROWS_H
#define BENCH_NATIVE_ROWS_H

#include <math.h>
#include <stdio.h>
#include "harness.h"
#include "tools/common/json.h"

#define SAMPLES_STEP	4096

struct samples {
	double *v;
	size_t n;
};

static struct {
	bool json;
	struct json out;
	struct samples limits;		/* the ping-pong, each time */
	int missed;
} rows;

static void rows_sample(struct samples *s, double v)
{
	if (!(s->n % SAMPLES_STEP))
		s->v = realloc(s->v, (s->n + SAMPLES_STEP) * sizeof(*s->v));
	if (!s->v) {
		fprintf(stderr, "native_bench: out of memory\n");
		exit(1);
	}
	s->v[s->n++] = v;
}

static double rows_limit(double v)
{
	rows_sample(&rows.limits, v);
	return v;
}

/* Median of the last @n samples, whose order is lost */
static double rows_last_median(const struct samples *s, int n)
{
	return bench_median(s->v + s->n - n, n);
}

/* Of sorted samples */
static double rows_share(const struct samples *s, double share)
{
	return s->v[(size_t)(share * (s->n - 1))];
}

static void rows_begin(bool json, const char *path)
{
	struct json *j = &rows.out;
	double pp = bench_median(rows.limits.v, rows.limits.n);

	rows.json = json;
	if (!json) {
		printf("%-58s %9.2f ns\n", "raw line ping-pong, round trip", pp);
		return;
	}
	json_init(j, stdout);
	json_object(j, NULL);
	json_string(j, "test", "host_native");
	json_string(j, "latency", "one way, one thread at both ends");
	json_string(j, "path", path);
	json_object(j, "limits");
	json_double(j, "line_ping_pong_usec", pp / 1e3);
	json_end_object(j);
	json_array(j, "results");
}

/* One way: in the array "results" */
static void rows_latency(u32 size, const char *way, const char *path, struct samples *s)
{
	double typical = bench_median(s->v, s->n);	/* sorts */
	struct json *j = &rows.out;
	char name[64];

	if (!rows.json) {
		snprintf(name, sizeof(name), "one way, %u B, %s", size, way);
		printf("%-58s %9.2f ns    %-8s p99 %.0f\n", name, typical, path, rows_share(s, 0.99));
		return;
	}
	json_object(j, NULL);
	json_uint(j, "bytes", size);
	json_string(j, "way", way);
	json_string(j, "path", path);
	json_uint(j, "samples", s->n);
	json_double(j, "t_min_usec", rows_share(s, 0) / 1e3);
	json_double(j, "t_typical_usec", typical / 1e3);
	json_double(j, "p99_usec", rows_share(s, 0.99) / 1e3);
	json_double(j, "p99_9_usec", rows_share(s, 0.999) / 1e3);
	json_end_object(j);
}

/* Behind the latencies: the array "rows" */
static void rows_next(void)
{
	if (!rows.json)
		return;
	json_end_array(&rows.out);
	json_array(&rows.out, "rows");
}

static void rows_row(const char *name, const char *unit, const char *path, const char *per,
		     struct samples *s, double asked, bool at_most)
{
	double v = bench_median(s->v, s->n);		/* sorts */
	bool ok = !asked || (at_most ? v <= asked : v >= asked);
	struct json *j = &rows.out;

	rows.missed += !ok;
	if (!rows.json) {
		printf("%-58s %9.2f %-5s %-8s", name, v, unit, path ? path : "");
		printf(per ? " per %-20s" : " %-24s", per ? per : "");
		printf(" %.2f to %.2f", rows_share(s, 0), rows_share(s, 1));
		if (asked)
			printf("  asked %s %.2f%s", at_most ? "<=" : ">=", asked, ok ? "" : "  MISSED");
		printf("\n");
		return;
	}
	json_object(j, NULL);
	json_string(j, "name", name);
	json_string(j, "unit", unit);
	json_double(j, "value", v);
	json_double(j, "low", rows_share(s, 0));
	json_double(j, "high", rows_share(s, 1));
	if (path)
		json_string(j, "path", path);
	if (per)
		json_string(j, "per", per);
	if (asked) {
		json_double(j, "asked", asked);
		json_string(j, "asked_is", at_most ? "most" : "least");
		json_bool(j, "ok", ok);
	}
	json_end_object(j);
}

static void rows_value(const char *name, const char *unit, const char *path, struct samples *s,
		       double asked, bool at_most)
{
	rows_row(name, unit, path, NULL, s, asked, at_most);
}

/* A ratio to what @per names, of each round */
static void rows_ratio(const char *name, const char *per, struct samples *s, double asked,
		       bool at_most)
{
	rows_row(name, "x", NULL, per, s, asked, at_most);
}

/* Returns how many rows missed what is asked. */
static int rows_end(void)
{
	if (rows.json) {
		json_end_array(&rows.out);
		json_end_object(&rows.out);
	}
	return rows.missed;
}

#endif
