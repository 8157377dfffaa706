/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ends of the library's one-sided messages (<rmc/msg.h>) between node 0 and node 1 of a
 * benchmark. One thread is the application at both.
 */
#ifndef BENCH_MESSAGE_ENDS_H
#define BENCH_MESSAGE_ENDS_H

#include <stdio.h>
#include "harness.h"

#include <rmc/error.h>
#include <rmc/msg.h>

#define END_SEGMENT	(64UL << 20)
#define END_CELLS	1024		/* 8 KiB pushed are 137 of them */
#define END_LOCAL	(1UL << 20)	/* of the registered memory, for the library */
#define END_DATA	(256UL << 10)	/* offset of messages in the segment */
#define END_LARGEST	8192

struct end {
	struct bench_app app;
	struct rmc_msg *m;
	u8 *seg, *in;
	u32 peer;
};

static struct end end[2];

static void end_check(const char *what, int err)
{
	if (!err)
		return;
	fprintf(stderr, "messages: %s: %s\n", what, rmc_strerror(err));
	exit(1);
}

static void end_open(struct end *e, u32 nid, u8 *seg)
{
	struct rmc_msg_raw raw = {
		.qp = &e->app.qp, .nodes = 2, .self = nid, .seg = seg, .seg_len = bench_bytes,
		.max_length = 1 << 20, .local = e->app.lbuf,
	};
	struct rmc_msg_options o;

	rmc_msg_defaults(&o);
	o.cells = END_CELLS;
	e->seg = seg;
	e->in = e->app.lbuf + END_LOCAL;
	e->peer = !nid;
	e->m = rmc_msg_open_raw(&raw, &o);
	if (!e->m || rmc_msg_local_bytes(2, END_CELLS) > END_LOCAL ||
	    rmc_msg_bytes(2, END_CELLS) > END_DATA) {
		fprintf(stderr, "messages: %s\n", rmc_errmsg());
		exit(1);
	}
}

/* The segments of both nodes, and their queue pairs: before bench_start(). Returns node 0's. */
static u8 *ends_init(struct bench *b)
{
	u8 *first = aligned_alloc(4096, bench_bytes);
	int k;

	if (!first) {
		fprintf(stderr, "messages: out of memory\n");
		exit(1);
	}
	memset(bench_segment, 0, bench_bytes);
	memset(first, 0, bench_bytes);
	seg_set(&b->w, 0, 0, mem_make(first, bench_bytes, 12, 0));
	for (k = 0; k < 2; k++) {
		bench_app_init(b, &end[k].app, k, !k);
		memset(end[k].app.lbuf, 0, END_LOCAL + END_LARGEST);
	}
	return first;
}

/* While the worker runs */
static void ends_open(u8 *first)
{
	end_open(&end[0], 0, first);
	end_open(&end[1], 1, bench_segment);
}

/* Messages of @size from now on, pushed or pulled */
static void ends_set(u32 size, bool pull)
{
	int k;

	for (k = 0; k < 2; k++) {
		end[k].seg[END_DATA + size - 1] = (u8)size;
		rmc_msg_set_threshold(end[k].m, pull ? 0 : SIZE_MAX);
	}
}

static void end_send(struct end *e, u32 size)
{
	end_check("send", rmc_msg_send(e->m, e->peer, e->seg + END_DATA, size, RMC_MSG_ASYNC));
}

static void end_receive(struct end *e, u32 size)
{
	size_t got;

	end_check("receive",
		  rmc_msg_recv(e->m, e->peer, e->in, size, &got, NULL, RMC_MSG_REGISTERED));
	if (got != size || e->in[size - 1] != (u8)size) {
		fprintf(stderr, "messages: not what was sent\n");
		exit(1);
	}
}

static void ends_flush(void)
{
	int k;

	for (k = 0; k < 2; k++)
		end_check("flush", rmc_msg_flush(end[k].m, end[k].peer));
}

/* Of a message's data: cells are written, at most a quarter of all at once; a pull is a read. */
static const char *ends_path(const struct testbed *w, u32 size, bool pull)
{
	u32 cells = (size + RMC_MSG_PAYLOAD - 1) / RMC_MSG_PAYLOAD;

	return bench_path(w, pull ? size : cells <= END_CELLS / 2 ? cells * RMC_MSG_CELL :
							END_CELLS / 4 * RMC_MSG_CELL);
}

#endif
