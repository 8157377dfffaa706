/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc_valet - latency of a server of native messages, by rate, policy and service time.
 *
 * server.c has its threads, client.c the clients; this is the command line, the run and the report.
 */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "json.h"
#include "memlock.h"
#include "opt.h"
#include "valet.h"

#define CHUNK		4096	/* of the collectives */

void valet_check(const char *what, int err)
{
	if (rmc_unlikely(err))
		die(EXIT_FAILED, "%s: %s", what, rmc_strerror(err));
}

/* ---- report ---- */

/* Without a CPU for each thread, client and a worker the scheduler decides. */
static int crowded(const struct valet *v)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return CPU_COUNT(&set) < v->threads + v->team->nodes ||
	       rmc_query(v->team->ctx)->shared_cpu;
}

static void report_json(const struct valet *v)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "test", "rmc_valet");
	json_string(&j, "policy", rmc_domain_policy_name(v->policy));
	json_int(&j, "depth", v->depth);
	json_int(&j, "wake_us", v->wake_us);
	json_int(&j, "threads", v->threads);
	json_int(&j, "clients", v->team->nodes - 1);
	json_string(&j, "service", service_name(v->service.kind));
	json_int(&j, "base_ns", v->base_ns);
	json_int(&j, "mean_ns", v->mean_ns);
	json_int(&j, "asked_per_sec", v->rate);
	json_double(&j, "sent_per_sec", v->rates[RATE_SENT]);
	json_double(&j, "served_per_sec", v->rates[RATE_SERVED]);
	json_uint(&j, "requests", v->sums.count[SENT]);
	json_uint(&j, "late", v->sums.count[LATE]);
	json_uint(&j, "given_again", v->sums.count[AGAIN]);
	json_string(&j, "path", "packets");
	json_bool(&j, "scheduler_decides", crowded(v));
	hist_json(&j, "server", &v->sums.server);
	hist_json(&j, "client", &v->sums.client);
	json_end_object(&j);
}

static void report_text(const struct valet *v)
{
	printf("server       %d threads, %s, depth %d\n", v->threads, rmc_domain_policy_name(v->policy),
	       v->depth);
	printf("service      %d ns, and %d ns on average: %s\n", v->base_ns, v->mean_ns,
	       service_name(v->service.kind));
	printf("rate         %.0f per second sent of %d, %.0f served; %llu of %llu found no slot at once\n",
	       v->rates[RATE_SENT], v->rate, v->rates[RATE_SERVED],
	       (unsigned long long)v->sums.count[LATE], (unsigned long long)v->sums.count[SENT]);
	printf("clients      %d, path packets%s\n\n", v->team->nodes - 1,
	       crowded(v) ? "; fewer CPUs than threads: the scheduler decides" : "");
	hist_text_head();
	hist_text("server", &v->sums.server);
	hist_text("client", &v->sums.client);
}

void valet_report(const struct valet *v)
{
	v->json ? report_json(v) : report_text(v);
	fflush(stdout);
}

/* ---- run ---- */

/* All have a domain, or all end: who joins one that does not come waits for long. */
static void agree(struct valet *v)
{
	uint64_t failed = !v->domain, clients = v->team->self ? failed : 0, sums[2];
	char why[512];

	snprintf(why, sizeof(why), "%s", failed ? rmc_errmsg() : "");
	valet_check("opening domains", rmc_coll_allreduce(v->coll, (uint64_t[]){ failed, clients },
							  sums, 2, RMC_U64, RMC_SUM));
	if (failed)
		die(EXIT_FAILED, "%s", why);
	if (sums[0])
		die(EXIT_FAILED, "%s could not open its domain",
		    sums[1] ? "a client" : "the server");
}

static void open_domain(struct valet *v)
{
	struct rmc_team_options t = {
		.ctx_id = (unsigned int)v->ctx_id, .numa_node = -1, .flags = RMC_TEAM_SLEEP,
	};
	struct rmc_domain_options d;

	memlock_raise();
	v->team = rmc_team_open_with(&t, rmc_coll_bytes(opt_env_int("RMC_NODES", 1, 1), CHUNK));
	if (!v->team)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	if (v->team->nodes < 2)
		die(EXIT_USAGE, "a server and a client are needed: rmc-run -n 2 rmc_valet");
	v->coll = rmc_coll_open(v->team, 0, CHUNK);
	if (!v->coll)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	rmc_domain_defaults(&d);
	d.first_nid = (unsigned int)rmc_team_nid(v->team, 0);
	d.nodes = (unsigned int)v->team->nodes;
	d.slots = (unsigned int)v->slots;
	d.max_message = (unsigned int)(v->request > v->reply ? v->request : v->reply);
	d.cores = 1;
	d.depth = 16;		/* of a client: it takes them all itself */
	if (!v->team->self) {
		d.policy = (unsigned int)v->policy;
		d.depth = (unsigned int)v->depth;
		d.cores = (unsigned int)v->threads;
		d.groups = (unsigned int)v->groups;
		d.wake_us = (unsigned int)v->wake_us;
	}
	v->domain = rmc_domain_open_with(v->team->ctx, &d);
	agree(v);
}

static void run(struct valet *v)
{
	uint64_t *words = (uint64_t *)(void *)&v->sums;

	open_domain(v);
	if (v->team->self) {
		valet_client(v);
	} else {
		valet_server_start(v);
		valet_check("barrier", rmc_team_barrier(v->team));
	}
	/* all replies have come */
	valet_check("barrier", rmc_team_barrier(v->team));
	if (!v->team->self)
		valet_server_end(v);
	valet_check("adding up", rmc_coll_reduce(v->coll, 0, words, words, sizeof(v->sums) / 8,
						 RMC_U64, RMC_SUM));
	valet_check("adding up", rmc_coll_reduce(v->coll, 0, v->rates, v->rates, RATES, RMC_DOUBLE,
						 RMC_SUM));
	if (!v->team->self)
		valet_report(v);
	rmc_domain_close(v->domain);
	rmc_coll_close(v->coll);
	rmc_team_close(v->team);
}

static void choose(struct valet *v)
{
	int kind = service_find(v->service_arg);

	v->policy = rmc_domain_policy(v->policy_arg);
	if (v->policy < 0)
		die(EXIT_USAGE, "--policy: there is no '%s'; rr, static, greedy, jsq and others: rmc_domain_open(3)",
		    v->policy_arg);
	if (kind < 0)
		die(EXIT_USAGE, "--service: fixed, uniform, exponential or gev, not '%s'", v->service_arg);
	if (v->request < sizeof(struct valet_request) || v->reply < sizeof(struct valet_request))
		die(EXIT_USAGE, "--request, --reply: at least %zu bytes", sizeof(struct valet_request));
	if (v->groups > v->threads)
		die(EXIT_USAGE, "--groups: at most as many as threads");
	v->service = (struct service){
		.kind = (enum service_kind)kind, .base = (uint64_t)v->base_ns * PS_PER_NS,
		.mean = (uint64_t)v->mean_ns * PS_PER_NS, .gev_shape = GEV_SHAPE,
	};
}

int main(int argc, char **argv)
{
	static struct valet v = {
		.threads = 1, .rate = 100000, .seconds = 2, .depth = 2, .groups = 1, .spin_us = 50,
		.seed = 1, .base_ns = 300, .mean_ns = 300, .request = 64, .reply = 512,
		.policy_arg = "greedy", .service_arg = "fixed",
	};
	const struct opt opts[] = {
		{ 't', "threads", OPT_INT, &v.threads, 1, VALET_THREADS_MAX, "N",
			"of the server (default 1)" },
		{ 'r', "rate", OPT_INT, &v.rate, 1, INT_MAX, "N",
			"requests per second of all clients (default 100000)" },
		{ 'D', "duration", OPT_INT, &v.seconds, 1, 3600, "SECONDS",
			"a tenth of it does not count (default 2)" },
		{ 0, "policy", OPT_STRING, &v.policy_arg, 0, 0, "NAME",
			"who gets the next request (default greedy)" },
		{ 0, "depth", OPT_INT, &v.depth, 1, 16, "N",
			"requests that a thread may have (default 2)" },
		{ 0, "groups", OPT_INT, &v.groups, 1, VALET_THREADS_MAX, "N",
			"of threads, for the policies groups and hier (default 1)" },
		{ 's', "service", OPT_STRING, &v.service_arg, 0, 0, "NAME",
			"fixed (default), uniform, exponential or gev" },
		{ 0, "base", OPT_INT, &v.base_ns, 0, 1000000000, "NS",
			"fixed part of the service time (default 300)" },
		{ 0, "mean", OPT_INT, &v.mean_ns, 0, 1000000000, "NS",
			"mean of the part that is drawn (default 300)" },
		{ 0, "request", OPT_SIZE, &v.request, 1, RMC_MAX_MESSAGE, "SIZE",
			"bytes of a request (default 64)" },
		{ 0, "reply", OPT_SIZE, &v.reply, 1, RMC_MAX_MESSAGE, "SIZE",
			"bytes of a reply (default 512)" },
		{ 0, "slots", OPT_INT, &v.slots, 0, RMC_MAX_SLOTS, "N",
			"requests under way per client (default: the library's)" },
		{ 0, "spin", OPT_INT, &v.spin_us, 0, 1000000, "US",
			"a thread polls for so long before it sleeps (default 50)" },
		{ 0, "wake", OPT_INT, &v.wake_us, 0, 1000, "US",
			"a request waits so long for a thread that polls (default 0)" },
		{ 0, "seed", OPT_INT, &v.seed, 1, INT_MAX, "N", "of random numbers (default 1)" },
		{ 'c', "ctx", OPT_INT, &v.ctx_id, 0, INT_MAX, "ID",
			"context (default $RMC_CTX, then 0)" },
		{ 0, "json", OPT_FLAG, &v.json, 0, 0, NULL, "machine-readable results" },
		{ 0 },
	};

	v.ctx_id = opt_default_context();
	if (opt_parse(argc, argv, opts, "rmc-run -n 2 rmc_valet [options]") != argc)
		die(EXIT_USAGE, "unexpected argument '%s'; see --help", argv[argc - 1]);
	choose(&v);
	run(&v);
	return EXIT_OK;
}
