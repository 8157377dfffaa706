// SPDX-License-Identifier: GPL-2.0
/*
 * R25 5.2 in virtual time: latches by the cores of an adapter. A worker calls one of them by the
 * receive buffers of rmc/herd.h, and the core executes the compare-and-swap on its own memory.
 *
 *	worker --- place, expected, wanted ---> core: CPU atomic
 *	       <-- what was there ------------
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/herd.h>
#include <rmc/rmc.h>
#include "sync.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define CORES		8		/* BlueField-2 has so many; the paper does not say */
#define WORDS		128		/* latches, a line each */
#define START_NS	50000000	/* all have met */
#define SERVER		0

/* A request; the response is the word as it was. */
struct latch_call {
	uint32_t word;
	uint32_t reserved;
	uint64_t expected, wanted;
};

static struct {
	uint64_t word[WORDS][RMC_CACHE_LINE / sizeof(uint64_t)];
	struct rmc_herd_options o;
	struct rmc_herd *server;
	const struct sync_calls *load;
	uint64_t from, to;	/* calls that end in between count */
	uint32_t started;
	uint32_t workers, cores;	/* that have not ended */
	uint64_t done;
	uint64_t all, swapped;	/* of those at any time */
} calls;

static struct rmc_herd *join(struct rmc_team **team)
{
	struct rmc_herd *h;

	*team = rmc_team_open(0, rmc_herd_bytes(&calls.o));
	h = *team ? rmc_herd_open(*team, &calls.o) : NULL;
	if (!h) {
		fprintf(stderr, "%s\n", rmc_errmsg());
		exit(1);
	}
	eval_check(rmc_team_barrier(*team), "a barrier");
	eval_check(rmc_sim_now() >= START_NS ? -ETIMEDOUT : 0, "meeting");
	rmc_sim_sleep_until(START_NS);
	return h;
}

/* What an ARM core does for a call */
static uint64_t latch(const struct rmc_herd_request *r)
{
	const struct latch_call *c = r->data;
	uint64_t old;

	eval_check(r->len != sizeof(*c) || c->word >= WORDS ? -EBADMSG : 0, "a call");
	old = c->expected;
	__atomic_compare_exchange_n(&calls.word[c->word][0], &old, c->wanted, 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	return old;
}

static void serve(void *arg)
{
	unsigned int number = *(const unsigned int *)arg;
	struct rmc_herd_request request;
	struct rmc_herd_core *core;
	struct rmc_team *team = NULL;
	uint64_t old;
	int n;

	if (!number)
		calls.server = join(&team);
	while (!calls.server)
		rmc_sim_sleep_until(rmc_sim_now() + START_NS / 100);
	core = rmc_herd_core(calls.server, number);
	while (calls.workers) {
		n = rmc_herd_poll(core, &request);
		eval_check(n < 0 ? n : 0, "polling");
		if (n != 1)
			continue;
		old = latch(&request);
		eval_check(rmc_herd_reply(core, &request, &old, sizeof(old)), "a reply");
	}
	calls.cores--;
	if (number)
		return;
	while (calls.cores)
		rmc_sim_sleep_until(rmc_sim_now() + 1000);
	rmc_herd_close(calls.server);
	rmc_team_close(team);
}

static void work(void *arg)
{
	uint32_t number = calls.started++;
	struct latch_call c = { .word = calls.load->contended ? 0 : number % WORDS };
	struct rmc_team *team;
	struct rmc_herd *h = join(&team);
	uint64_t old;
	size_t len;

	(void)arg;
	while (rmc_sim_now() < calls.to) {
		c.wanted = c.expected + 1;
		eval_check(rmc_herd_call(h, number % CORES, &c, sizeof(c), &old, sizeof(old), &len),
			   "a call");
		calls.all++;
		calls.swapped += old == c.expected;
		c.expected = old == c.expected ? c.wanted : old;
		calls.done += rmc_sim_now() >= calls.from && rmc_sim_now() < calls.to;
	}
	calls.workers--;
	rmc_herd_close(h);
	rmc_team_close(team);
}

/* Each successful compare-and-swap has to be in the words, once. */
struct sync_rate sync_calls_run(const struct sync_calls *load)
{
	static const unsigned int number[CORES] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct rmc_sim_options o = sync_options(1 + load->workers, RMC_CACHE_LINE);
	uint64_t ns = eval.quick ? 40000 : 160000, sum = 0;
	uint32_t i;

	memset(&calls, 0, sizeof(calls));
	calls.load = load;
	calls.workers = load->workers;
	calls.cores = CORES;
	calls.from = START_NS + 20000;
	calls.to = calls.from + ns;
	calls.o = (struct rmc_herd_options){
		.server = SERVER, .cores = CORES, .slots = load->workers,
		.size = sizeof(struct latch_call),
	};
	/* all meet all, and a packet is a line: short rings */
	o.mtu = RMC_CACHE_LINE;
	o.ring_order = 4;
	o.pay_order = 4;
	eval_check(rmc_sim_init(&o), "the simulation");
	for (i = 0; i < CORES; i++)
		rmc_sim_spawn(SERVER, serve, (void *)&number[i]);
	for (i = 0; i < load->workers; i++)
		rmc_sim_spawn(1 + i, work, NULL);
	eval_run();
	for (i = 0; i < WORDS; i++)
		sum += calls.word[i][0];
	eval_check(sum != calls.swapped ? -EIO : 0, "each swap is in a word, once");
	return (struct sync_rate){
		.mops = (double)calls.done * 1e3 / (double)ns,
		.failed = 1 - (double)calls.swapped / (double)calls.all,
	};
}

/* Latches 4 KiB apart, which share a slot of the lock table, beside calls for them */
void sync_figure18(void)
{
	static const uint32_t workers[] = { 1, 8, 16, 32, 64, 128 };
	struct sync_raw raw = { .kind = SYNC_CAS, .stride = 4096, .clients = 4 };
	struct sync_calls own = { 0 }, one = { .contended = 1 };
	unsigned int i;

	for (i = 0; i < COUNT(workers); i++) {
		if (eval.quick && workers[i] != 8 && workers[i] != 128)
			continue;
		raw.workers = own.workers = one.workers = workers[i];
		eval_row("18", 4096, workers[i], "compare-and-swap, not padded", sync_raw_mops(&raw), "M/s");
		eval_row("18", 64, workers[i], "call, words of their own", sync_calls_run(&own).mops, "M/s");
		eval_row("18", 0, workers[i], "call, one word", sync_calls_run(&one).mops, "M/s");
	}
}
