/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Common part of the programs that measure other systems. */
#include <sched.h>
#include <stdlib.h>
#include "bench.h"
#include "opt.h"
#include "peer.h"

void peer_init(struct peer *p, uint64_t n)
{
	p->n = n;
	p->sample = (uint64_t *)calloc(n, sizeof(*p->sample));
	if (!p->sample)
		die(EXIT_FAILED, "out of memory");
}

void peer_pin(int nth)
{
	cpu_set_t here, one;
	int cpu;

	if (sched_getaffinity(0, sizeof(here), &here) || CPU_COUNT(&here) < 2)
		die(EXIT_FAILED, "two processes that spin need two CPUs");
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &here) && !nth--)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die(EXIT_FAILED, "CPU %d cannot be had", cpu);
}

void peer_begin(struct peer *p, const char *test, const char *transport)
{
	p->cycles_per_us = bench_calibrate();
	json_init(&p->j, stdout);
	json_object(&p->j, NULL);
	json_string(&p->j, "test", test);
	json_string(&p->j, "transport", transport);
	json_array(&p->j, "results");
}

static void begin_row(struct peer *p, const char *test, const char *way, uint64_t bytes)
{
	json_object(&p->j, NULL);
	json_string(&p->j, "test", test);
	json_string(&p->j, "way", way);
	json_uint(&p->j, "bytes", bytes);
	json_uint(&p->j, "iterations", p->n);
}

void peer_latency(struct peer *p, const char *test, const char *way, uint64_t bytes, int parts)
{
	struct latency_stats s;

	latency_stats(&s, p->sample, p->n, parts * p->cycles_per_us);
	begin_row(p, test, way, bytes);
	json_double(&p->j, "t_min_usec", s.min);
	json_double(&p->j, "t_typical_usec", s.typical);
	json_double(&p->j, "t_avg_usec", s.avg);
	json_double(&p->j, "p99_usec", s.p99);
	json_double(&p->j, "p99_9_usec", s.p999);
	json_end_object(&p->j);
}

void peer_stream(struct peer *p, const char *test, const char *way, uint64_t bytes,
		 uint64_t cycles)
{
	double seconds = (double)cycles / p->cycles_per_us / 1e6;

	begin_row(p, test, way, bytes);
	json_double(&p->j, "bw_average_bytes_per_sec", (double)p->n * (double)bytes / seconds);
	json_end_object(&p->j);
}

void peer_end(struct peer *p)
{
	json_end_array(&p->j);
	json_end_object(&p->j);
	fflush(stdout);
	free(p->sample);
}
