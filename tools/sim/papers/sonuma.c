// SPDX-License-Identifier: GPL-2.0
/*
 * A14's figures 7 and 8 and table 2 in virtual time: two nodes, each with two workers as the
 * paper's platform has (RGP with RCP, and RRPP), and one thread or two. Costs are those measured on
 * one machine (profile rmc), or the papers' chip.
 *
 *	build/sim-sonuma [--json] [--quick] [--mtu N] [--costs PROFILE] [7 8 table2]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/msg.h>
#include <rmc/rmc.h>
#include "eval.h"

#define SEGMENT		(4U << 20)
#define MESSAGES	(256 * 1024)	/* of the segment, for buffers of messages */
#define WINDOW		64
#define SEND_MAX	8192

static struct {
	uint32_t size;
	int both;			/* double-sided */
	uint64_t ops;
	size_t threshold;
	uint64_t took_ns[2];
} run;

static struct rmc_team *team(char **lbuf)
{
	struct rmc_team *t = rmc_team_open(0, SEGMENT);

	eval_check(!t, "opening a team");
	*lbuf = aligned_alloc(4096, WINDOW * SEND_MAX);
	eval_check(!*lbuf || rmc_buf_register(t->ctx, *lbuf, WINDOW * SEND_MAX) < 0,
		   "registering a buffer");
	memset(*lbuf, 0, WINDOW * SEND_MAX);
	eval_check(rmc_team_barrier(t), "a barrier");
	return t;
}

static uint64_t place(const struct rmc_team *t)
{
	return t->offset + rmc_sim_random() % (SEGMENT / run.size) * run.size;
}

static void over(struct rmc_team *t, char *lbuf, uint64_t start)
{
	run.took_ns[t->self] = rmc_sim_now() - start;
	eval_check(rmc_team_barrier(t), "a barrier");
	free(lbuf);
}

/* ---- 7: reads ---- */

static void latency(void *arg)
{
	char *lbuf;
	struct rmc_team *t = team(&lbuf);
	int to = rmc_team_nid(t, t->self + 1);
	uint64_t start = rmc_sim_now(), i;

	for (i = 0; (!t->self || run.both) && i < run.ops; i++) {
		if (arg)
			eval_check(rmc_fetch_and_add(t->qp, to, place(t), 1, NULL), "fetch-and-add");
		else
			eval_check(rmc_read(t->qp, to, place(t), lbuf, run.size), "a read");
	}
	over(t, lbuf, start);
}

static void bandwidth(void *arg)
{
	char *lbuf;
	struct rmc_team *t = team(&lbuf);
	int to = rmc_team_nid(t, t->self + 1), slot;
	struct rmc_completion c = { 0 };
	uint64_t start = rmc_sim_now(), i;

	(void)arg;
	for (i = 0; (!t->self || run.both) && i < run.ops; i++) {
		if (rmc_qp_in_flight(t->qp) == WINDOW)
			eval_check(rmc_cq_wait(t->qp, &c), "waiting");
		slot = rmc_wait_for_slot(t->qp, NULL);
		rmc_read_async(t->qp, slot, to, place(t), lbuf + slot % WINDOW * SEND_MAX, run.size);
	}
	eval_check(rmc_drain_cq(t->qp, NULL), "draining");
	over(t, lbuf, start);
}

/* ns per operation of a node, the mean of both if both work */
static double per_op(uint32_t size, int both, uint64_t ops, void (*fn)(void *), void *arg)
{
	struct rmc_sim_options o = eval_options(2);

	memset(&run, 0, sizeof(run));
	run.size = size;
	run.both = both;
	run.ops = eval.quick ? ops / 10 : ops;
	eval_check(rmc_sim_init(&o), "the simulation");
	rmc_sim_spawn(0, fn, arg);
	rmc_sim_spawn(1, fn, arg);
	eval_run();
	return (double)(run.took_ns[0] + (both ? run.took_ns[1] : run.took_ns[0])) / 2 /
	       (double)run.ops;
}

static void figure7(void)
{
	static const char * const names[][2] = {
		{ "latency", "latency, double-sided" }, { "bandwidth", "bandwidth, double-sided" },
	};
	unsigned int i;
	int both;

	for (i = 0; i < EVAL_SIZES; i++) {
		for (both = 0; both < 2; both++) {
			eval_row("7", eval_sizes[i], 2, names[0][both],
				 per_op(eval_sizes[i], both, 200, latency, NULL) / 1000, "us");
			eval_row("7", eval_sizes[i], 2, names[1][both],
				 (1 + both) * eval_sizes[i] /
				 per_op(eval_sizes[i], both, 4000, bandwidth, NULL), "GB/s");
		}
	}
}

static void table2(void)
{
	double most = 0, rate;
	unsigned int i;

	for (i = 0; i < EVAL_SIZES; i++) {
		rate = eval_sizes[i] / per_op(eval_sizes[i], 0, 4000, bandwidth, NULL);
		most = rate > most ? rate : most;
	}
	eval_row("table2", 0, 2, "max bandwidth", most * 8, "Gbps");
	eval_row("table2", 64, 2, "read RTT", per_op(64, 0, 200, latency, NULL) / 1000, "us");
	eval_row("table2", 8, 2, "fetch-and-add", per_op(8, 0, 200, latency, &run) / 1000, "us");
	eval_row("table2", 64, 2, "IOPS", 1000 / per_op(64, 0, 4000, bandwidth, NULL), "M/s");
}

/* ---- 8: messages ---- */

struct end {
	struct rmc_team *t;
	struct rmc_msg *m;
	int to;
	char *lbuf;
};

static struct end end_open(void)
{
	struct end e;
	struct rmc_msg_options o;

	e.t = team(&e.lbuf);
	rmc_msg_defaults(&o);
	o.cells = RMC_MSG_CELLS;
	o.threshold = run.threshold;
	e.m = rmc_msg_open_with(e.t, &o);
	eval_check(!e.m, "opening messages");
	e.to = rmc_team_nid(e.t, e.t->self + 1);
	eval_check(rmc_team_barrier(e.t), "a barrier");
	return e;
}

/* Copies of a push: into cells, and out of those that the RMC has written. A pull has none. */
static void charge_copy(uint64_t ps)
{
	if (run.size < run.threshold)
		rmc_sim_compute((run.size * ps + 500) / 1000);
}

static void send_one(struct end *e)
{
	charge_copy(eval.costs.pack);
	eval_check(rmc_msg_send(e->m, e->to, (char *)e->t->seg + MESSAGES, run.size, RMC_MSG_ASYNC),
		   "send");
}

static void recv_one(struct end *e)
{
	size_t got;

	eval_check(rmc_msg_recv(e->m, e->to, e->lbuf, run.size, &got, NULL, RMC_MSG_REGISTERED),
		   "receive");
	charge_copy(eval.costs.cold + eval.costs.unpack);
}

static void ping_pong(void *arg)
{
	struct end e = end_open();
	uint64_t start = rmc_sim_now(), i;

	(void)arg;
	for (i = 0; i < run.ops; i++) {
		if (!e.t->self)
			send_one(&e);
		recv_one(&e);
		if (e.t->self)
			send_one(&e);
	}
	eval_check(rmc_msg_flush(e.m, e.to), "flush");
	over(e.t, e.lbuf, start);
}

static void stream(void *arg)
{
	struct end e = end_open();
	uint64_t start = rmc_sim_now(), i;

	(void)arg;
	for (i = 0; i < run.ops; i++) {
		if (!e.t->self)
			send_one(&e);
		else
			recv_one(&e);
	}
	eval_check(rmc_msg_flush(e.m, e.to), "flush");
	over(e.t, e.lbuf, start);
}

static double message_ns(uint32_t size, size_t threshold, void (*fn)(void *))
{
	struct rmc_sim_options o = eval_options(2);

	memset(&run, 0, sizeof(run));
	run.size = size;
	run.ops = eval.quick ? 50 : 500;
	run.threshold = threshold;
	eval_check(rmc_sim_init(&o), "the simulation");
	rmc_sim_spawn(0, fn, NULL);
	rmc_sim_spawn(1, fn, NULL);
	eval_run();
	/* the receiver of a stream has it all */
	return (double)run.took_ns[fn == stream] / (double)run.ops;
}

static void figure8(void)
{
	static const struct {
		const char *name;
		size_t threshold;
	} ways[] = { { "pull", 0 }, { "push", SIZE_MAX } };
	double us[2], gbps[2];
	unsigned int i, w;
	uint32_t size, best = 0;

	for (size = 32, i = 0; size <= SEND_MAX; size *= 2, i++) {
		for (w = 0; w < 2; w++) {
			char name[64];

			us[w] = message_ns(size, ways[w].threshold, ping_pong) / 2000;
			gbps[w] = size * 8 / message_ns(size, ways[w].threshold, stream);
			snprintf(name, sizeof(name), "latency, %s", ways[w].name);
			eval_row("8", size, 2, name, us[w], "us");
			snprintf(name, sizeof(name), "bandwidth, %s", ways[w].name);
			eval_row("8", size, 2, name, gbps[w], "Gbps");
		}
		eval_row("8", size, 2, "latency, best", us[0] < us[1] ? us[0] : us[1], "us");
		eval_row("8", size, 2, "bandwidth, best", gbps[0] > gbps[1] ? gbps[0] : gbps[1], "Gbps");
		if (!best && us[0] < us[1])
			best = size;
	}
	/* none: one way is the faster one at each size */
	if (best)
		eval_row("8", best, 2, "best threshold", best, "bytes");
}

int main(int argc, char **argv)
{
	static const struct eval_part parts[] = {
		{ "7", figure7 }, { "8", figure8 }, { "table2", table2 }, { }
	};

	return eval_main(argc, argv, "rmc", 64, parts);
}
