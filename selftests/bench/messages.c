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
 * "copies" is the time of a byte into the cells of a push, and out of them, with everything in the
 * caches: what the simulator charges for it (tools/sim/costs.def).
 *
 *	build/host/messages [--quick] [--path local|packets]
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include "message_ends.h"
#include "lib/cell.h"
#include "tools/common/json.h"

#define ROUNDS		9
#define LIMITS		11		/* samples of the ping-pong per round */
#define LATENCIES	4000		/* per size, way and round; quick: a quarter */
#define WINDOWS		60		/* of streaming, likewise */
#define WINDOW		64		/* messages in flight, at most, */
#define WINDOW_BYTES	32768U		/* and their bytes */
#define WAYS		2		/* push, pull */

struct samples {
	double *v;
	size_t n;
};

static bool packets;		/* also between nodes of one worker */
static struct bench bench;
static const u32 sizes[] = { 8, 32, 64, 256, 1024, 4096, 8192 };
static struct samples one_way[ARRAY_SIZE(sizes)][WAYS], streams[ARRAY_SIZE(sizes)][WAYS];

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

static void latency(struct samples *s, u32 size)
{
	int n = bench_quick ? LATENCIES / 4 : LATENCIES, i;
	double ns = bench_ns_per_tick();
	u64 t0, now;

	t0 = bench_ticks();
	for (i = -50; i < n; i++) {
		end_send(&end[i & 1], size);
		end_receive(&end[!(i & 1)], size);
		now = bench_ticks();
		if (i >= 0)
			sample(s, (now - t0) * ns);
		t0 = bench_ticks();
	}
	ends_flush();
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
			end_send(&end[0], size);
		for (k = 0; k < window; k++)
			end_receive(&end[1], size);
		if (i >= 0)
			sample(s, (double)(bench_now() - t0) / window);
	}
	ends_flush();
}

static void round_of(void)
{
	u32 i, pull;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (pull = 0; pull < WAYS; pull++) {
			ends_set(sizes[i], pull);
			latency(&one_way[i][pull], sizes[i]);
			stream(&streams[i][pull], sizes[i]);
		}
	}
}

static struct rmc_cell cells[2 * END_LARGEST / RMC_MSG_PAYLOAD];
static u8 message[END_LARGEST];

/* As push() of the library */
static void __attribute__((__noinline__)) fill_cells(u32 size)
{
	u32 done = 0, k, n;

	for (k = 0; done < size; k++, done += n) {
		n = size - done < RMC_MSG_PAYLOAD ? size - done : RMC_MSG_PAYLOAD;
		cells[k].head = rmc_cell_head(k & 1, RMC_CELL_MORE, 0, n);
		memcpy(cells[k].payload, message + done, n);
	}
}

/* As take_pushed() */
static void __attribute__((__noinline__)) empty_cells(u32 size)
{
	u32 done = 0, k, n;

	for (k = 0; done < size; k++, done += n) {
		n = rmc_cell_length(rmc_cell_load(&cells[k]));
		memcpy(message + done, cells[k].payload, n);
	}
}

/* Median, ps per byte */
static double copy_ps(void (*copy)(u32))
{
	double ps[999];
	u32 i, k;
	u64 t0;

	for (i = 0; i < ARRAY_SIZE(ps); i++) {
		t0 = bench_ticks();
		for (k = 0; k < 8; k++)
			copy(END_LARGEST);
		ps[i] = (bench_ticks() - t0) * bench_ns_per_tick() * 1000 / 8 / END_LARGEST;
	}
	return bench_median(ps, ARRAY_SIZE(ps));
}

static void report_copies(struct json *j)
{
	fill_cells(END_LARGEST);
	json_object(j, "copies");
	json_double(j, "in_ps_per_byte", copy_ps(fill_cells));
	json_double(j, "out_ps_per_byte", copy_ps(empty_cells));
	json_end_object(j);
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
			json_string(j, "path", ends_path(&bench.w, sizes[i], pull));
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
	if (bench_setup(END_SEGMENT) < 2)
		return 4;
	bench_init(&bench, 2, "fused", 4096);
	first = ends_init(&bench);
	bench_packets(&bench.w, packets);
	bench_start(&bench, false);
	bench_finer = 10;
	ends_open(first);
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
	json_int(&out, "cells", END_CELLS);
	json_string(&out, "path", packets ? "packets" : "local");
	json_object(&out, "limits");
	json_double(&out, "line_ping_pong_usec", bench_median(pp, ROUNDS * LIMITS) / 1e3);
	json_end_object(&out);
	report_copies(&out);
	json_array(&out, "results");
	report(&out);
	json_end_array(&out);
	json_end_object(&out);
	for (k = 0; k < 2; k++)
		rmc_msg_close(end[k].m);
	testbed_stop(&bench.w);
	return 0;
}
