// SPDX-License-Identifier: GPL-2.0
/*
 * Short runs of librmc over the core in virtual time. A seed chooses everything: nodes, NI
 * organisation, MTU, sizes of rings, loss, delay, duplicates, the order of events with the same
 * time, which node pauses or crashes and when, epochs and clocks that are about to wrap. The
 * seed of a failure is printed, and reproduces it:
 *
 *	runs [RUNS]			RUNS of each kind, from seed 1 on
 *	runs [--kind KIND] [--from SEED] [--runs RUNS]
 *	runs --kind KIND --seed SEED [--trace FILE] [--history FILE]	this run only, with its
 *			statistics; the history of its operations as rmc-check reads it, -: stdout
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../tap.h"
#include "costs.h"
#include "heap.h"
#include "runs.h"

#define ALARM_S		60	/* of real time: a longer run is stuck */

struct run run;
struct check_history run_history;

static const struct run_kind *const kinds[] = {
	&run_atomics, &run_messages, &run_collectives, &run_rejoin, &run_kv, &run_tx,
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static const struct run_kind *kind;

void run_failed(const char *file, int line, const char *cond, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: %s: ", file, line, cond);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

int64_t run_begin(enum check_kind kind, uint32_t key)
{
	int64_t op = check_begin(&run_history, rmc_sim_nid(), kind, key, rmc_sim_now());

	if (op < 0)
		abort();
	return op;
}

void run_end(int64_t op)
{
	run_history.op[op].complete = rmc_sim_now();
}

static void found(void *arg, const struct check_finding *f)
{
	(void)arg;
	check_print(&run_history, f, "# ", stdout);
}

void run_check_history(void)
{
	struct check_options o = { .found = found };
	struct check_result r;
	int err = check_linear(&run_history, &o, &r);

	RUN_CHECK(!err, "operations that cannot be, or of one node at once: %s", strerror(-err));
	if (err)
		return;
	/* a node that crashes early may leave nothing to do */
	RUN_CHECK(run_history.ops || run.crash_ns, "no operations");
	RUN_CHECK(!run_history.ops || r.verdict == CHECK_OK, "no order explains the history%s",
		  r.verdict == CHECK_UNDECIDED ? ", or the search is too long" : "");
}

uint64_t run_choose(uint64_t below)
{
	return (sim_random(&run.choice) >> 16) % below;
}

/* One of the arguments */
#define CHOOSE(...) ({								\
	const uint64_t from_[] = { __VA_ARGS__ };				\
	from_[run_choose(sizeof(from_) / sizeof(from_[0]))];			\
})

static void plan(uint64_t seed)
{
	struct rmc_sim_options *o = &run.o;
	uint32_t lines;

	memset(&run, 0, sizeof(run));
	run.choice = sim_random_seed(seed, 99);
	o->seed = seed;
	o->shuffle = 1;
	o->nodes = 2 + run_choose(RUN_NODES - 1);
	o->ni = run_choose(2) ? "fused" : "pair";
	o->mtu = CHOOSE(64, 256, 1024, 4096);
	o->ring_order = 3 + run_choose(6);
	o->pay_order = 3 + run_choose(6);
	lines = o->mtu / 64;
	while (1U << o->pay_order < lines)
		o->pay_order++;
	o->itt = CHOOSE(16, 64, 256);
	o->costs = run_choose(4) ? rmc_sim_costs_find("rmc") : NULL;
	o->one_way_ns = CHOOSE(0, 100, 500, 5000);
	o->jitter_ns = CHOOSE(0, 50, 2000);
	o->loss = CHOOSE(0, 0, 500, 10000);
	o->dup = CHOOSE(0, 20000);
	o->reorder = CHOOSE(0, 50000);
	o->gap_ns = CHOOSE(100, 5000);
	/* longer than a pause, so that a paused node replies in time */
	o->timeout_ms = 50;
	o->retries = 8;
	o->dead_ms = 100;
	o->epoch = CHOOSE(1, 0xfffffffe, 0xffffffff);
	o->limit_ns = 120000000000ULL;
	/* 32 bits of milliseconds wrap 8 ms after the start, or during the run, or never */
	o->start_ns = CHOOSE(0, 4294967290000000ULL, 5000000000ULL);
	run.victim = run_choose(o->nodes);
	if (kind->plan)
		kind->plan();
}

/* ---- faults of nodes ---- */

static void pause_victim(void *arg)
{
	(void)arg;
	rmc_sim_pause(run.victim, 1000000 + run_choose(20) * 1000000);
}

static void crash_victim(void *arg)
{
	(void)arg;
	rmc_sim_crash(run.victim);
}

static void restart_victim(void *arg)
{
	(void)arg;
	RUN_CHECK(!rmc_sim_restart(run.victim), "node %d", run.victim);
	if (kind->again)
		rmc_sim_spawn(run.victim, kind->again, NULL);
}

void run_crash(uint64_t crash_ns, uint64_t restart_ns)
{
	run.crash_ns = crash_ns;
	rmc_sim_at(crash_ns, crash_victim, NULL);
	if (restart_ns)
		rmc_sim_at(restart_ns, restart_victim, NULL);
}

/* Returns whether the run failed. */
static bool execute(uint64_t seed, const char *trace, FILE *history)
{
	struct rmc_sim_stats s;
	uint32_t nid;
	int left;

	plan(seed);
	run.o.trace = trace;
	RUN_CHECK(!rmc_sim_init(&run.o), "seed %llu", (unsigned long long)seed);
	if (run.failed)
		return true;
	for (nid = 0; nid < run.o.nodes; nid++)
		rmc_sim_spawn(nid, kind->member, NULL);
	if (run.crash_ns)
		run_crash(run.crash_ns, run.restart_ns);
	if (!run_choose(3))
		rmc_sim_at(run_choose(4000000), pause_victim, NULL);
	left = rmc_sim_run();
	RUN_CHECK(!left, "%d of the threads never end", left);
	kind->check();
	if (history) {
		check_write(&run_history, history);
		fflush(history);
	}
	if (trace || run.failed) {
		rmc_sim_stats(&s);
		printf("# %llu operations, packets: %llu lost, %llu doubled, %llu held back\n",
		       (unsigned long long)s.completions, (unsigned long long)s.lost,
		       (unsigned long long)s.doubled, (unsigned long long)s.reordered);
		printf("# %u nodes, %s, MTU %u, victim %d, crash at %llu, digest %016llx\n",
		       run.o.nodes, run.o.ni, run.o.mtu, run.victim,
		       (unsigned long long)run.crash_ns, (unsigned long long)s.digest);
	}
	rmc_sim_fini();
	return run.failed;
}

/* Run it in a process of its own, so that no run affects another. */
static bool execute_apart(uint64_t seed)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		exit(2);
	if (!pid) {
		bool failed;

		alarm(ALARM_S);
		failed = execute(seed, NULL, NULL);
		fflush(stdout);
		_exit(failed);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
		printf("# ended by signal %d\n", WTERMSIG(status));
		return true;
	}
	return WEXITSTATUS(status);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static void many(uint64_t from, int runs)
{
	double start = now_s(), took;
	char name[96];
	int i;

	for (i = 0; i < runs && tap_failures < 5; i++)
		if (execute_apart(from + i)) {
			printf("# seed %llu failed; again: runs --kind %s --seed %llu\n",
			       (unsigned long long)(from + i), kind->name,
			       (unsigned long long)(from + i));
			tap_failures++;
		}
	took = now_s() - start;
	printf("# %s: %d runs, %.0f per minute\n", kind->name, i, i / took * 60);
	snprintf(name, sizeof(name), "%s in %d short runs", kind->name, runs);
	tap_result(name);
}

static int usage(void)
{
	unsigned int i;

	fprintf(stderr, "usage: runs [--kind KIND] [--from SEED] [--runs N | N]\n"
			"       runs --kind KIND --seed SEED [--trace FILE] [--history FILE]\nkinds:");
	for (i = 0; i < KINDS; i++)
		fprintf(stderr, " %s", kinds[i]->name);
	fprintf(stderr, "\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "kind", required_argument, NULL, 'k' },
		{ "from", required_argument, NULL, 'f' },
		{ "runs", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "trace", required_argument, NULL, 't' },
		{ "history", required_argument, NULL, 'H' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *name = NULL, *trace = "/dev/null";
	uint64_t from = 1, seed = 0;
	FILE *history = NULL;
	int runs = 200, c;
	unsigned int i;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'k')
			name = optarg;
		else if (c == 'f')
			from = strtoull(optarg, NULL, 0);
		else if (c == 'r')
			runs = atoi(optarg);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 't')
			trace = optarg;
		else if (c == 'H')
			history = strcmp(optarg, "-") ? fopen(optarg, "w") : stdout;
		else
			return usage();
		if (c == 'H' && !history) {
			perror(optarg);
			return 2;
		}
	}
	if (optind < argc)
		runs = atoi(argv[optind]);
	if (runs < 1)
		return usage();
	for (i = 0; i < KINDS; i++) {
		if (name && strcmp(kinds[i]->name, name))
			continue;
		kind = kinds[i];
		tap_where = kind->name;
		if (seed)
			return execute(seed, trace, history);
		many(from, runs);
	}
	if (!kind || seed)
		return usage();
	return tap_done();
}
