/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Send and receive as in A14 figure 8: ping-pong, of which one way is half, and
 * streaming in one direction, over message sizes. Node 0 measures with its peer; the
 * other nodes sleep in the last barrier.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "bench.h"
#include "memlock.h"
#include "netpipe.h"
#include "opt.h"
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
	struct latency_stats lat;	/* one way */
	double bytes_per_sec;
};

struct netpipe {
	uint64_t size;			/* the largest of all_sizes */
	int all_sizes, iterations, peer, ctx_id, cells, json, tcp, best;
	const char *threshold_arg;
	size_t threshold;

	struct rmc_team *team;
	struct rmc_msg *msg;
	double cycles_per_us;
	struct result result[RESULTS_MAX];
	int results;
};

static void check(const char *what, int err)
{
	if (rmc_unlikely(err))
		die(EXIT_FAILED, "%s: %s", what, rmc_strerror(err));
}

/* --- over RMC messages --- */

static void msg_send(struct netpipe_end *end, size_t len)
{
	check("send", rmc_msg_send(end->msg, end->nid, end->out, len, RMC_MSG_ASYNC));
}

static void msg_recv(struct netpipe_end *end, size_t len)
{
	size_t got;

	check("receive", rmc_msg_recv(end->msg, end->nid, end->in, len, &got, NULL,
				      RMC_MSG_REGISTERED));
	if (rmc_unlikely(got != len))
		die(EXIT_FAILED, "%zu bytes came, not %zu: same options everywhere?", got, len);
}

static void msg_flush(struct netpipe_end *end)
{
	check("flush", rmc_msg_flush(end->msg, end->nid));
}

/* --- measurements; each half is followed by its counterpart --- */

static void ping_pong(struct netpipe_end *end, uint64_t size, uint64_t n, uint64_t *sample)
{
	uint64_t last = bench_cycles(), now, i;

	for (i = 0; i < n; i++) {
		end->send(end, size);
		end->recv(end, size);
		now = bench_cycles();
		sample[i] = now - last;
		last = now;
	}
	end->flush(end);
}

void netpipe_echo(struct netpipe_end *end, uint64_t size, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		end->recv(end, size);
		end->send(end, size);
	}
	end->flush(end);
}

/* Cycles until the last byte has arrived and is acknowledged */
static uint64_t stream(struct netpipe_end *end, uint64_t size, uint64_t n)
{
	uint64_t start = bench_cycles(), i;

	for (i = 0; i < n; i++)
		end->send(end, size);
	end->flush(end);
	end->recv(end, 1);
	return bench_cycles() - start;
}

void netpipe_sink(struct netpipe_end *end, uint64_t size, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		end->recv(end, size);
	end->send(end, 1);
	end->flush(end);
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
	ping_pong(end, size, warm, sample);
	ping_pong(end, size, n, sample);
	latency_stats(&r->lat, sample, n, 2 * b->cycles_per_us);	/* half a round trip */
	stream(end, size, warm);
	r->bytes_per_sec = (double)n * (double)size * b->cycles_per_us * 1e6 /
			   (double)stream(end, size, n);
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
	uint64_t size = b->all_sizes ? MIN_ALL_SIZE : b->size;
	int pull;

	for (; size <= b->size; size *= 2) {
		for (pull = 0; pull < (b->best ? 2 : 1); pull++) {
			if (b->best)
				rmc_msg_set_threshold(b->msg, pull ? 0 : SIZE_MAX);
			if (first && progress_due(0))
				fprintf(stderr, "%s%llu bytes%s", progress_begin(),
					(unsigned long long)size, progress_end());
			if (first)
				measure(b, end, size, b->best ? pull : size >= b->threshold);
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
	return b->best && r->pull != (r->size >= b->threshold);
}

static const char *way(const struct netpipe *b, const struct result *r)
{
	return b->tcp ? "tcp" : r->pull ? "pull" : "push";
}

static void print_json(struct netpipe *b, const char *threshold)
{
	struct json j;
	int i;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "test", "rmc_netpipe");
	json_string(&j, "transport", b->tcp ? "tcp-loopback" : "rmc");
	if (!b->tcp) {
		const struct rmc_query *q = rmc_query(b->team->ctx);

		json_string(&j, "fabric", rmc_fabric_name(q->fabric));
		json_string(&j, "ni", rmc_ni_name(q->ni));
		json_bool(&j, "shared_cpu", q->shared_cpu != 0);
		json_string(&j, b->best ? "best_threshold" : "threshold", threshold);
		json_int(&j, "cells", b->cells);
	}
	json_string(&j, "latency", "one way, half a round trip");
	json_array(&j, "results");
	for (i = 0; i < b->results; i++) {
		const struct result *r = &b->result[i];

		json_object(&j, NULL);
		json_uint(&j, "bytes", r->size);
		json_uint(&j, "iterations", r->n);
		json_string(&j, "way", way(b, r));
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

static void print_table(struct netpipe *b, const char *threshold)
{
	static const char rule[] =
		"---------------------------------------------------------------------------------------";
	int i;

	printf("%s\n                    %s\n", rule,
	       b->tcp ? "TCP send/receive over loopback" : "RMC send/receive");
	if (!b->tcp) {
		const struct rmc_query *q = rmc_query(b->team->ctx);

		printf(" Fabric          : %s, %u nodes, ni %s%s\n",
		       rmc_fabric_name(q->fabric), q->nodes,
		       rmc_ni_name(q->ni),
		       q->shared_cpu ? ", CPUs shared with workers" : "");
		printf(" Threshold       : %s%s, %d cells of 64 B per direction\n", threshold,
		       b->best ? " (best of push and pull by typical time)" : "", b->cells);
	}
	printf(" Times           : one way, half a ping-pong round trip\n");
	printf(" Bandwidth       : streaming, until the receiver has said that it has all\n%s\n",
	       rule);
	printf(" #bytes     #iterations  t_min[usec]  t_typical[usec]  t_avg[usec]  99%%[usec]   BW average[MB/sec]   MsgRate[Mpps]  way\n");
	for (i = 0; i < b->results; i++) {
		const struct result *r = &b->result[i];

		if (left_out(b, r))
			continue;
		printf(" %-10" PRIu64 " %-12" PRIu64 " %-12.2f %-16.2f %-12.2f %-12.2f %-20.2f %-14.6f %s\n",
		       r->size, r->n, r->lat.min, r->lat.typical, r->lat.avg, r->lat.p99,
		       r->bytes_per_sec / 1048576.0,
		       r->bytes_per_sec / (double)r->size / 1e6, way(b, r));
	}
	printf("%s\n", rule);
}

static void print(struct netpipe *b)
{
	char threshold[32];

	if (b->best)
		b->threshold = best_threshold(b);
	name_threshold(threshold, sizeof(threshold), b->threshold);
	if (b->json)
		print_json(b, threshold);
	else
		print_table(b, threshold);
	fflush(stdout);
}

/* --- transports --- */

static void *tcp_counterpart(void *arg)
{
	void **args = (void **)arg;

	all_sizes((struct netpipe *)args[0], (struct netpipe_end *)args[1], 0);
	return NULL;
}

static void over_tcp(struct netpipe *b)
{
	struct netpipe_end first = { 0 }, second = { 0 };
	void *args[2] = { b, &second };
	pthread_t thread;

	if (opt_env_int("RMC_NODE", 0, 0))
		return;			/* one measures, within its own machine */
	netpipe_tcp(&first, &second, b->size);
	if (pthread_create(&thread, NULL, tcp_counterpart, args))
		die(EXIT_FAILED, "cannot start a thread");
	all_sizes(b, &first, 1);
	pthread_join(thread, NULL);
	netpipe_tcp_close(&first);
	netpipe_tcp_close(&second);
	print(b);
}

static void over_rmc(struct netpipe *b)
{
	struct rmc_team_options t = {
		.ctx_id = (unsigned int)b->ctx_id, .numa_node = -1, .flags = RMC_TEAM_SLEEP,
	};
	size_t len = (b->size + 4095) & ~(size_t)4095, rings;
	struct rmc_msg_options o;
	struct netpipe_end end = {
		.send = msg_send, .recv = msg_recv, .flush = msg_flush,
	};
	void *p;

	memlock_raise();
	rings = rmc_msg_bytes(opt_env_int("RMC_NODES", 1, 1), (unsigned int)b->cells);
	rings = (rings + 4095) & ~(size_t)4095;
	b->team = rmc_team_open_with(&t, rings + len);
	if (!b->team)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	if (b->team->nodes < 2)
		die(EXIT_USAGE, "two nodes are needed: rmc-run -n 2 rmc_netpipe; or --tcp");
	if (b->peer < 0)
		b->peer = rmc_team_nid(b->team, 1);
	if (b->peer <= rmc_team_nid(b->team, 0) ||
	    b->peer >= rmc_team_nid(b->team, 0) + b->team->nodes)
		die(EXIT_USAGE, "--peer %d: one of the other nodes, %d .. %d", b->peer,
		    rmc_team_nid(b->team, 1),
		    rmc_team_nid(b->team, 0) + b->team->nodes - 1);
	rmc_msg_defaults(&o);
	o.cells = (unsigned int)b->cells;
	o.threshold = b->threshold;
	b->msg = rmc_msg_open_with(b->team, &o);
	if (!b->msg)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || rmc_buf_register(b->team->ctx, p, len) < 0)
		die(EXIT_FAILED, "no memory for a buffer of %zu bytes: %s", len, rmc_errmsg());
	memset(p, 0, len);
	end.msg = b->msg;
	end.in = (uint8_t *)p;
	end.out = (uint8_t *)b->team->seg + rings;
	if (b->team->self == 0) {
		end.nid = b->peer;
		all_sizes(b, &end, 1);
		print(b);
	} else if (rmc_team_nid(b->team, b->team->self) == b->peer) {
		end.nid = rmc_team_nid(b->team, 0);
		all_sizes(b, &end, 0);
	}
	check("last barrier", rmc_team_barrier(b->team));
	rmc_msg_close(b->msg);
	rmc_team_close(b->team);
	munmap(p, len);
}

static void parse_threshold(struct netpipe *b)
{
	uint64_t n;

	b->threshold = RMC_MSG_THRESHOLD;
	if (!b->threshold_arg)
		return;
	if (!strcmp(b->threshold_arg, "inf"))
		b->threshold = SIZE_MAX;
	else if (!strcmp(b->threshold_arg, "0"))
		b->threshold = 0;
	else if (!opt_size(b->threshold_arg, &n))
		b->threshold = n;
	else
		die(EXIT_USAGE, "--threshold: 0, inf or a size, not '%s'", b->threshold_arg);
}

int main(int argc, char **argv)
{
	struct netpipe b = {
		.iterations = 1000, .peer = -1, .cells = RMC_MSG_CELLS,
		.ctx_id = opt_default_context(),
	};
	const struct opt opts[] = {
		{ 's', "size", OPT_SIZE, &b.size, 1, MAX_SIZE, "SIZE",
			"bytes per message (default: 1 B .. 128 KiB, powers of two)" },
		{ 'a', "all", OPT_FLAG, &b.all_sizes, 0, 0, NULL,
			"sizes 1 B .. SIZE, powers of two" },
		{ 'n', "iters", OPT_INT, &b.iterations, 1, INT_MAX, "N",
			"messages per size (default 1000; fewer of large ones)" },
		{ 'T', "threshold", OPT_STRING, &b.threshold_arg, 0, 0, "SIZE",
			"pull from this size on: 0, inf (push all), default 1K" },
		{ 'B', "best", OPT_FLAG, &b.best, 0, 0, NULL,
			"try push and pull for each size, print the best threshold" },
		{ 0, "tcp", OPT_FLAG, &b.tcp, 0, 0, NULL,
			"the kernel's TCP over loopback instead, for comparison" },
		{ 0, "cells", OPT_INT, &b.cells, RMC_MSG_CELLS_MIN, RMC_MSG_CELLS_MAX, "N",
			"of the buffer per direction, a power of two (default 256)" },
		{ 'd', "peer", OPT_INT, &b.peer, 0, RMC_NID_MAX, "NID",
			"node to measure with (default: the next)" },
		{ 'c', "ctx", OPT_INT, &b.ctx_id, 0, INT_MAX, "ID",
			"context (default $RMC_CTX, then 0)" },
		{ 0, "json", OPT_FLAG, &b.json, 0, 0, NULL, "machine-readable results" },
		{ 0 },
	};

	if (opt_parse(argc, argv, opts, "rmc-run -n 2 rmc_netpipe [options]") != argc)
		die(EXIT_USAGE, "unexpected argument '%s'; see --help", argv[argc - 1]);
	if (b.best && (b.tcp || b.threshold_arg))
		die(EXIT_USAGE, "--best goes with neither --tcp nor --threshold");
	parse_threshold(&b);
	if (!b.size) {
		b.size = MAX_ALL_SIZE;
		b.all_sizes = 1;
	}
	b.cycles_per_us = bench_calibrate();
	if (b.tcp)
		over_tcp(&b);
	else
		over_rmc(&b);
	return EXIT_OK;
}
