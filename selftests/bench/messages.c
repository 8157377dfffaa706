// SPDX-License-Identifier: GPL-2.0
/*
 * librmc's messages over the core at native speed, as JSON. rmc_netpipe measures the same where
 * CPUs exist for two applications and a worker. Here two CPUs suffice: one thread is sender and
 * receiver alternately, and the worker runs on the other CPU. A time runs from rmc_msg_send()
 * to the return of rmc_msg_recv() at the other end.
 *
 *	application (sender's end)		worker		application (receiver's end)
 *	t0 rmc_msg_send -> WQ entry, cells ---> RGP .. RRPP --> cells in the segment
 *						                rmc_msg_recv -> t1
 *
 * The direction alternates, so that messages return credits as in a ping-pong.
 *
 *	build/host/messages [--quick] [--path local|packets]
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include "harness.h"
#include "tools/common/json.h"

#include <rmc/error.h>
#include <rmc/msg.h>

#define SEGMENT		(64UL << 20)
#define CELLS		1024		/* 8 KiB pushed are 137 of them */
#define LOCAL		(1UL << 20)	/* of the registered memory, for the library */
#define DATA		(256UL << 10)	/* offset of messages in the segment */
#define LARGEST	8192
#define ROUNDS		9
#define LIMITS		11		/* samples of the ping-pong per round */
#define LATENCIES	4000		/* per size, way and round; quick: a quarter */
#define WINDOWS		60		/* of streaming, likewise */
#define WINDOW		64		/* messages in flight, at most, */
#define WINDOW_BYTES	32768U		/* and their bytes */
#define WAYS		2		/* push, pull */

struct end {
	struct bench_app app;
	struct rmc_msg *m;
	u8 *seg, *in;
	u32 peer;
};

struct samples {
	double *v;
	size_t n;
};

static bool packets;		/* also between nodes of one worker */
static struct bench bench;
static struct end end[2];
static const u32 sizes[] = { 8, 32, 64, 256, 1024, 4096, 8192 };
static struct samples one_way[ARRAY_SIZE(sizes)][WAYS], streams[ARRAY_SIZE(sizes)][WAYS];

static void check(const char *what, int err)
{
	if (!err)
		return;
	fprintf(stderr, "messages: %s: %s\n", what, rmc_strerror(err));
	exit(1);
}

static void sample(struct samples *s, double v)
{
	if (!(s->n % 4096))
		s->v = realloc(s->v, (s->n + 4096) * sizeof(*s->v));
	if (!s->v) {
		fprintf(stderr, "messages: out of memory\n");
		exit(1);
	}
	s->v[s->n++] = v;
}

static double percentile(const struct samples *s, double share)
{
	return s->v[(size_t)(share * (s->n - 1))];
}

static void open_end(struct end *e, u32 nid, u8 *seg)
{
	struct rmc_msg_raw raw = {
		.qp = &e->app.qp, .nodes = 2, .self = nid, .seg = seg, .seg_len = bench_bytes,
		.max_length = 1 << 20, .local = e->app.lbuf,
	};
	struct rmc_msg_options o;

	rmc_msg_defaults(&o);
	o.cells = CELLS;
	e->seg = seg;
	e->in = e->app.lbuf + LOCAL;
	e->peer = !nid;
	e->m = rmc_msg_open_raw(&raw, &o);
	if (!e->m || rmc_msg_local_bytes(2, CELLS) > LOCAL || rmc_msg_bytes(2, CELLS) > DATA) {
		fprintf(stderr, "messages: %s\n", rmc_errmsg());
		exit(1);
	}
}

static void send(struct end *e, u32 size)
{
	check("send", rmc_msg_send(e->m, e->peer, e->seg + DATA, size, RMC_MSG_ASYNC));
}

static void receive(struct end *e, u32 size)
{
	size_t got;

	check("receive", rmc_msg_recv(e->m, e->peer, e->in, size, &got, NULL, RMC_MSG_REGISTERED));
	if (got != size || e->in[size - 1] != (u8)size) {
		fprintf(stderr, "messages: not what was sent\n");
		exit(1);
	}
}

static void flush(void)
{
	int k;

	for (k = 0; k < 2; k++)
		check("flush", rmc_msg_flush(end[k].m, end[k].peer));
}

static void latency(struct samples *s, u32 size)
{
	int n = bench_quick ? LATENCIES / 4 : LATENCIES, i;
	double ns = bench_ns_per_tick();
	u64 t0, now;

	t0 = bench_ticks();
	for (i = -50; i < n; i++) {
		send(&end[i & 1], size);
		receive(&end[!(i & 1)], size);
		now = bench_ticks();
		if (i >= 0)
			sample(s, (now - t0) * ns);
		t0 = bench_ticks();
	}
	flush();
}

/* ns per message, for windows of messages that are first sent and then received */
static void stream(struct samples *s, u32 size)
{
	int n = bench_quick ? WINDOWS / 4 : WINDOWS, i, k;
	int window = WINDOW_BYTES / size < WINDOW ? WINDOW_BYTES / size : WINDOW;
	u64 t0;

	for (i = -2; i < n; i++) {
		t0 = bench_now();
		for (k = 0; k < window; k++)
			send(&end[0], size);
		for (k = 0; k < window; k++)
			receive(&end[1], size);
		if (i >= 0)
			sample(s, (double)(bench_now() - t0) / window);
	}
	flush();
}

static void round_of(void)
{
	u32 i, pull;
	int k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (k = 0; k < 2; k++)
			end[k].seg[DATA + sizes[i] - 1] = (u8)sizes[i];
		for (pull = 0; pull < WAYS; pull++) {
			for (k = 0; k < 2; k++)
				rmc_msg_set_threshold(end[k].m, pull ? 0 : SIZE_MAX);
			latency(&one_way[i][pull], sizes[i]);
			stream(&streams[i][pull], sizes[i]);
		}
	}
}

/* Of a message's data: cells are written, at most a quarter of all at once; a pull is a read. */
static const char *path_of(u32 size, bool pull)
{
	u32 cells = (size + RMC_MSG_PAYLOAD - 1) / RMC_MSG_PAYLOAD;

	return bench_path(&bench.w, pull ? size : cells <= CELLS / 2 ? cells * RMC_MSG_CELL :
							   CELLS / 4 * RMC_MSG_CELL);
}

static void report(struct json *j)
{
	u32 i, pull;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (pull = 0; pull < WAYS; pull++) {
			struct samples *l = &one_way[i][pull], *s = &streams[i][pull];

			bench_median(l->v, l->n);		/* sorts */
			json_object(j, NULL);
			json_uint(j, "bytes", sizes[i]);
			json_string(j, "way", pull ? "pull" : "push");
			json_string(j, "path", path_of(sizes[i], pull));
			json_uint(j, "samples", l->n);
			json_double(j, "t_min_usec", percentile(l, 0) / 1e3);
			json_double(j, "t_typical_usec", percentile(l, 0.5) / 1e3);
			json_double(j, "p99_usec", percentile(l, 0.99) / 1e3);
			json_double(j, "p99_9_usec", percentile(l, 0.999) / 1e3);
			json_double(j, "bw_typical_bytes_per_sec",
				    sizes[i] * 1e9 / bench_median(s->v, s->n));
			json_end_object(j);
		}
	}
}

static int usage(FILE *f)
{
	fprintf(f, "usage: messages [--quick] [--path local|packets]\n");
	return f == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "path", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct rmc_mem *seg;
	struct json out;
	double pp[ROUNDS * LIMITS];
	u8 *first;
	int c, i, k;

	while ((c = getopt_long(argc, argv, "qp:h", longopts, NULL)) != -1) {
		if (c == 'q')
			bench_quick = true;
		else if (c != 'p' || !bench_is_path(optarg, &packets))
			return usage(c == 'h' ? stdout : stderr);
	}
	if (optind < argc)
		return usage(stderr);
	if (bench_setup(SEGMENT) < 2)
		return 4;
	memset(bench_segment, 0, bench_bytes);
	first = aligned_alloc(4096, bench_bytes);
	if (!first)
		return 1;
	memset(first, 0, bench_bytes);
	bench_init(&bench, 2, "fused", 4096);
	seg = mem_make(first, bench_bytes, 12, 0);
	seg_set(&bench.w, 0, 0, seg);
	for (k = 0; k < 2; k++) {
		bench_app_init(&bench, &end[k].app, k, !k);
		memset(end[k].app.lbuf, 0, LOCAL + LARGEST);
	}
	bench_packets(&bench.w, packets);
	bench_start(&bench, false);
	bench_finer = 10;
	open_end(&end[0], 0, first);
	open_end(&end[1], 1, bench_segment);
	for (k = 0; k < ROUNDS; k++) {
		for (i = 0; i < LIMITS; i++)
			pp[k * LIMITS + i] = bench_pingpong(&bench);
		if (!bench_quick || k % 3 == 0)
			round_of();
	}
	json_init(&out, stdout);
	json_object(&out, NULL);
	json_string(&out, "test", "host_messages");
	json_string(&out, "latency", "one way, one thread at both ends");
	json_int(&out, "cells", CELLS);
	json_string(&out, "path", packets ? "packets" : "local");
	json_object(&out, "limits");
	json_double(&out, "line_ping_pong_usec", bench_median(pp, ROUNDS * LIMITS) / 1e3);
	json_end_object(&out);
	json_array(&out, "results");
	report(&out);
	json_end_array(&out);
	json_end_object(&out);
	for (k = 0; k < 2; k++)
		rmc_msg_close(end[k].m);
	testbed_stop(&bench.w);
	return 0;
}
