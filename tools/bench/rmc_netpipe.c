/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Send and receive as in A14 figure 8: ping-pong, of which one way is half, and
 * streaming in one direction, over message sizes. Node 0 measures with its peer; the
 * other nodes sleep in the last barrier.
 */
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "netpipe.h"
#include "opt.h"
#include "path.h"
#include "progress.h"

#define MIN_ALL_SIZE		1
#define MAX_ALL_SIZE		(128U << 10)
#define MAX_SIZE		(64U << 20)
#define STREAM_BYTES_MAX	(256ULL << 20)	/* per size, and at least */
#define ITERATIONS_MIN		10		/* iterations */
#define RESULTS_MAX		64

struct result {
	uint64_t size, n;
	int pull;
	const char *path;		/* path.h; that of the data */
	struct latency_stats lat;	/* one way */
	double bytes_per_sec;
};

struct netpipe {
	struct netpipe_options o;
	const struct netpipe_engine *engine;
	int all_sizes, iterations, json, native, tcp, best;
	const char *engine_arg, *threshold_arg;

	double cycles_per_us;
	struct result result[RESULTS_MAX];
	int results;
};

/* The first is the usual one. */
static const struct netpipe_engine * const engines[] = {
	&netpipe_msg, &netpipe_native, &netpipe_tcp,
};

/* --- measurements; each half is followed by its counterpart --- */

static void ping_pong(struct netpipe_end *end, uint64_t size, uint64_t n, uint64_t *sample)
{
	uint64_t last = bench_cycles(), now, i;

	for (i = 0; i < n; i++) {
		end->engine->send(end, size);
		end->engine->recv(end, size);
		now = bench_cycles();
		sample[i] = now - last;
		last = now;
	}
	end->engine->flush(end);
}

void netpipe_echo(struct netpipe_end *end, uint64_t size, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		end->engine->recv(end, size);
		end->engine->send(end, size);
	}
	end->engine->flush(end);
}

/* Cycles until the last byte has arrived and is acknowledged */
static uint64_t stream(struct netpipe_end *end, uint64_t size, uint64_t n)
{
	uint64_t start = bench_cycles(), i;

	for (i = 0; i < n; i++)
		end->engine->send(end, size);
	end->engine->flush(end);
	end->engine->recv(end, 1);
	return bench_cycles() - start;
}

void netpipe_sink(struct netpipe_end *end, uint64_t size, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		end->engine->recv(end, size);
	end->engine->send(end, 1);
	end->engine->flush(end);
}

int netpipe_peer(const struct rmc_team *team, int peer)
{
	int first = rmc_team_nid(team, 0);

	if (team->nodes < 2)
		die(EXIT_USAGE, "two nodes are needed: rmc-run -n 2 rmc_netpipe; or --tcp");
	if (peer < 0)
		peer = rmc_team_nid(team, 1);
	if (peer <= first || peer >= first + team->nodes)
		die(EXIT_USAGE, "--peer %d: one of the other nodes, %d .. %d", peer, first + 1,
		    first + team->nodes - 1);
	return peer;
}

/* --- runs --- */

static uint64_t iterations(const struct netpipe *b, uint64_t size)
{
	uint64_t n = (uint64_t)b->iterations;

	if (n * size > STREAM_BYTES_MAX)
		n = STREAM_BYTES_MAX / size;
	return n < ITERATIONS_MIN ? ITERATIONS_MIN : n;
}

static void measure(struct netpipe *b, struct netpipe_end *end, uint64_t size, int pull)
{
	struct result *r = &b->result[b->results++];
	uint64_t n = iterations(b, size), warm = n / 10 + 1;
	uint64_t *sample = (uint64_t *)calloc(n, sizeof(*sample));

	if (!sample)
		die(EXIT_FAILED, "out of memory");
	r->size = size;
	r->n = n;
	r->pull = pull;
	r->path = end->engine->path(end, size, pull);
	ping_pong(end, size, warm, sample);
	ping_pong(end, size, n, sample);
	latency_stats(&r->lat, sample, n, 2 * b->cycles_per_us);	/* half a round trip */
	stream(end, size, warm);
	r->bytes_per_sec = (double)n * (double)size * b->cycles_per_us * 1e6 /
			   (double)stream(end, size, n);
	/* a filter or the switch of the local path may have changed meanwhile */
	r->path = path_join(r->path, end->engine->path(end, size, pull));
	free(sample);
}

static void counterpart(struct netpipe *b, struct netpipe_end *end, uint64_t size)
{
	uint64_t n = iterations(b, size), warm = n / 10 + 1;

	netpipe_echo(end, size, warm);
	netpipe_echo(end, size, n);
	netpipe_sink(end, size, warm);
	netpipe_sink(end, size, n);
}

/* Both sides run the same sizes and thresholds in the same order. */
static void all_sizes(struct netpipe *b, struct netpipe_end *end, int first)
{
	uint64_t size = b->all_sizes ? MIN_ALL_SIZE : b->o.size;
	int pull;

	for (; size <= b->o.size; size *= 2) {
		for (pull = 0; pull < (b->best ? 2 : 1); pull++) {
			if (b->best)
				b->engine->set_pull(end, pull);
			if (first && progress_due(0))
				fprintf(stderr, "%s%llu bytes%s", progress_begin(),
					(unsigned long long)size, progress_end());
			if (first)
				measure(b, end, size, b->best ? pull : size >= b->o.threshold);
			else
				counterpart(b, end, size);
		}
	}
}

/* --- figures --- */

/*
 * The threshold with the smallest loss against the faster of both for each size, by typical
 * time; results are pairs: pushed, pulled.
 */
static size_t best_threshold(const struct netpipe *b)
{
	size_t best = SIZE_MAX;
	double loss, least = 0;
	int i, first;

	for (first = b->results; first >= 0; first -= 2) {	/* pulled from this pair on */
		loss = 0;
		for (i = 0; i < b->results; i += 2) {
			double push = b->result[i].lat.typical;
			double pull = b->result[i + 1].lat.typical;

			loss += (i < first ? push : pull) / (push < pull ? push : pull);
		}
		if (first < b->results && loss >= least)
			continue;
		least = loss;
		best = first < b->results ? b->result[first].size : SIZE_MAX;
	}
	return best;
}

static void name_threshold(char *s, size_t len, size_t threshold)
{
	if (threshold == SIZE_MAX)
		snprintf(s, len, "inf");
	else
		snprintf(s, len, "%zu", threshold);
}

/* With --best, leave out what the best threshold does not choose */
static int left_out(const struct netpipe *b, const struct result *r)
{
	return b->best && r->pull != (r->size >= b->o.threshold);
}

static const char *way(const struct netpipe *b, const struct result *r)
{
	return b->engine->way ? b->engine->way : r->pull ? "pull" : "push";
}

static void print_json(struct netpipe *b, const struct netpipe_end *end, const char *threshold)
{
	struct json j;
	int i;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "test", "rmc_netpipe");
	json_string(&j, "transport", b->engine->transport);
	if (b->engine->json)
		b->engine->json(end, &j);
	if (b->engine->set_pull)
		json_string(&j, b->best ? "best_threshold" : "threshold", threshold);
	json_string(&j, "latency", "one way, half a round trip");
	json_array(&j, "results");
	for (i = 0; i < b->results; i++) {
		const struct result *r = &b->result[i];

		json_object(&j, NULL);
		json_uint(&j, "bytes", r->size);
		json_uint(&j, "iterations", r->n);
		json_string(&j, "way", way(b, r));
		json_string(&j, "path", r->path);
		if (b->best)
			json_bool(&j, "best", !left_out(b, r));
		json_double(&j, "t_min_usec", r->lat.min);
		json_double(&j, "t_typical_usec", r->lat.typical);
		json_double(&j, "t_avg_usec", r->lat.avg);
		json_double(&j, "p99_usec", r->lat.p99);
		json_double(&j, "bw_average_bytes_per_sec", r->bytes_per_sec);
		json_double(&j, "msg_rate_per_sec", r->bytes_per_sec / (double)r->size);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
}

static void print_table(struct netpipe *b, const struct netpipe_end *end, const char *threshold)
{
	static const char rule[] =
		"---------------------------------------------------------------------------------------";
	int i;

	printf("%s\n                    %s\n", rule, b->engine->title);
	if (b->engine->print)
		b->engine->print(end);
	if (b->engine->set_pull)
		printf(" Threshold       : %s%s\n", threshold,
		       b->best ? " (best of push and pull by typical time)" : "");
	printf(" Times           : one way, half a ping-pong round trip\n");
	printf(" Bandwidth       : streaming, until the receiver has said that it has all\n%s\n",
	       rule);
	printf(" #bytes     #iterations  t_min[usec]  t_typical[usec]  t_avg[usec]  99%%[usec]   BW average[MB/sec]   MsgRate[Mpps]  way  path\n");
	for (i = 0; i < b->results; i++) {
		const struct result *r = &b->result[i];

		if (left_out(b, r))
			continue;
		printf(" %-10" PRIu64 " %-12" PRIu64 " %-12.2f %-16.2f %-12.2f %-12.2f %-20.2f %-14.6f %-4s %s\n",
		       r->size, r->n, r->lat.min, r->lat.typical, r->lat.avg, r->lat.p99,
		       r->bytes_per_sec / 1048576.0,
		       r->bytes_per_sec / (double)r->size / 1e6, way(b, r), r->path);
	}
	printf("%s\n", rule);
}

static void print(struct netpipe *b, const struct netpipe_end *end)
{
	char threshold[32];

	if (b->best)
		b->o.threshold = best_threshold(b);
	name_threshold(threshold, sizeof(threshold), b->o.threshold);
	if (b->json)
		print_json(b, end, threshold);
	else
		print_table(b, end, threshold);
	fflush(stdout);
}

/* --- run --- */

static void *answer(void *arg)
{
	void **args = (void **)arg;

	all_sizes((struct netpipe *)args[0], (struct netpipe_end *)args[1], 0);
	return NULL;
}

static void run(struct netpipe *b)
{
	struct netpipe_ends ends = { 0 };
	struct netpipe_end *first = &ends.end[0], *second = &ends.end[1];
	void *args[2] = { b, second };
	pthread_t thread;

	b->engine->open(&ends, &b->o);
	if (first->engine && second->engine &&
	    pthread_create(&thread, NULL, answer, args))
		die(EXIT_FAILED, "cannot start a thread");
	if (first->engine)
		all_sizes(b, first, 1);
	else if (second->engine)
		all_sizes(b, second, 0);
	if (first->engine && second->engine)
		pthread_join(thread, NULL);
	if (first->engine)
		print(b, first);
	b->engine->close(&ends);
}

static void find_engine(struct netpipe *b)
{
	const char *name = b->engine_arg ? b->engine_arg : b->tcp ? "tcp" :
			   b->native ? "native" : engines[0]->name;
	size_t i;

	for (i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (!strcmp(engines[i]->name, name))
			b->engine = engines[i];
	if (!b->engine)
		die(EXIT_USAGE, "--engine: msg, native or tcp, not '%s'", name);
	if (b->tcp && b->engine != &netpipe_tcp)
		die(EXIT_USAGE, "--tcp is --engine tcp");
	if (b->native && b->engine != &netpipe_native)
		die(EXIT_USAGE, "--native is --engine native");
}

static void parse_threshold(struct netpipe *b)
{
	uint64_t n;

	b->o.threshold = RMC_MSG_THRESHOLD;
	if (!b->threshold_arg)
		return;
	if (!strcmp(b->threshold_arg, "inf"))
		b->o.threshold = SIZE_MAX;
	else if (!strcmp(b->threshold_arg, "0"))
		b->o.threshold = 0;
	else if (!opt_size(b->threshold_arg, &n))
		b->o.threshold = n;
	else
		die(EXIT_USAGE, "--threshold: 0, inf or a size, not '%s'", b->threshold_arg);
}

int main(int argc, char **argv)
{
	struct netpipe b = {
		.iterations = 1000,
		.o = { .peer = -1, .cells = RMC_MSG_CELLS, .ctx_id = opt_default_context() },
	};
	const struct opt opts[] = {
		{ 's', "size", OPT_SIZE, &b.o.size, 1, MAX_SIZE, "SIZE",
			"bytes per message (default: 1 B .. 128 KiB, powers of two)" },
		{ 'a', "all", OPT_FLAG, &b.all_sizes, 0, 0, NULL,
			"sizes 1 B .. SIZE, powers of two" },
		{ 'n', "iters", OPT_INT, &b.iterations, 1, INT_MAX, "N",
			"messages per size (default 1000; fewer of large ones)" },
		{ 'T', "threshold", OPT_STRING, &b.threshold_arg, 0, 0, "SIZE",
			"pull from this size on: 0, inf (push all), default 1K" },
		{ 'B', "best", OPT_FLAG, &b.best, 0, 0, NULL,
			"try push and pull for each size, print the best threshold" },
		{ 'e', "engine", OPT_STRING, &b.engine_arg, 0, 0, "NAME",
			"how messages move: msg (default), native, tcp" },
		{ 0, "native", OPT_FLAG, &b.native, 0, 0, NULL,
			"--engine native: the RMC chooses the receiving core (rmc_domain_open(3))" },
		{ 0, "tcp", OPT_FLAG, &b.tcp, 0, 0, NULL,
			"--engine tcp: the kernel's TCP over loopback, for comparison" },
		{ 0, "cells", OPT_INT, &b.o.cells, RMC_MSG_CELLS_MIN, RMC_MSG_CELLS_MAX, "N",
			"of the buffer per direction, a power of two (default 256)" },
		{ 'd', "peer", OPT_INT, &b.o.peer, 0, RMC_NID_MAX, "NID",
			"node to measure with (default: the next)" },
		{ 'c', "ctx", OPT_INT, &b.o.ctx_id, 0, INT_MAX, "ID",
			"context (default $RMC_CTX, then 0)" },
		{ 0, "json", OPT_FLAG, &b.json, 0, 0, NULL, "machine-readable results" },
		{ 0 },
	};

	if (opt_parse(argc, argv, opts, "rmc-run -n 2 rmc_netpipe [options]") != argc)
		die(EXIT_USAGE, "unexpected argument '%s'; see --help", argv[argc - 1]);
	find_engine(&b);
	if (b.best && (!b.engine->set_pull || b.threshold_arg))
		die(EXIT_USAGE, "--best goes with none of --native, --tcp and --threshold");
	parse_threshold(&b);
	if (!b.o.size) {
		b.o.size = MAX_ALL_SIZE;
		b.all_sizes = 1;
	}
	b.cycles_per_us = bench_calibrate();
	run(&b);
	return EXIT_OK;
}
