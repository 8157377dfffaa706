// SPDX-License-Identifier: GPL-2.0
/*
 * A program with its own main(): each node runs it, as one thread. Linked with
 * --wrap=main,--wrap=exit. The environment configures the simulation: see usage().
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "sim.h"

#define WATCH_S	2	/* of CPU time without an event: stuck */

int __real_main(int argc, char **argv, char **envp);
int __wrap_main(int argc, char **argv, char **envp);
_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);

static struct {
	int argc;
	char **argv;
	char **envp;
	int worst;
} program;

_Noreturn void __wrap_exit(int status)
{
	if (!sim.self)
		__real_exit(status);
	if (status > program.worst)
		program.worst = status;
	sim_exit();
	abort();
}

static void run(void *arg)
{
	int status = __real_main(program.argc, program.argv, program.envp);

	(void)arg;
	if (status > program.worst)
		program.worst = status;
}

/*
 * A thread that reads memory in a loop without calls does not let other threads run, so no
 * event ever comes.
 */
static void check_progress(int signal)
{
	static const char says[] =
		"simulator: a node loops without waiting; "
		"rmc_relax() or sched_yield() lets others run\n";
	static uint64_t last;

	(void)signal;
	if (sim.running && sim.stats.events == last) {
		if (write(STDERR_FILENO, says, sizeof(says) - 1) < 0)
			_exit(5);
		_exit(4);
	}
	last = sim.stats.events;
}

static void watch_progress(void)
{
	const struct itimerval every = { { WATCH_S, 0 }, { WATCH_S, 0 } };

	signal(SIGVTALRM, check_progress);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
}

/* The table of costs */
static void print_costs(void)
{
	const struct rmc_sim_cost_row *row;
	unsigned int i;

	for (i = 0; (row = rmc_sim_cost_row(i)); i++)
		printf("%-12s %-8s %6u %s  %-9s  %s (%s)\n", row->profile, row->name, row->value,
		       row->unit, rmc_sim_provenance_name(row->provenance), row->what, row->source);
	__real_exit(0);
}

static void usage(void)
{
	const struct rmc_sim_cost_row *row;
	const char *last = "";
	unsigned int i;

	fputs("This program runs in the simulator. Environment:\n"
	      "  RMC_SIM_NODES=4        nodes, one thread each\n"
	      "  RMC_SIM_SEED=1         of everything that is random\n"
	      "  RMC_SIM_SHUFFLE=1      events of one time come in random order\n"
	      "  RMC_SIM_NI=fused       NI organisation, or pair\n"
	      "  RMC_SIM_COSTS=rmc      what work costs: list, none, or a profile of the table:",
	      stderr);
	for (i = 0; (row = rmc_sim_cost_row(i)); i++) {
		if (strcmp(row->profile, last))
			fprintf(stderr, " %s", row->profile);
		last = row->profile;
	}
	fputs("\n"
	      "  RMC_SIM_MTU=4096       payload of a packet, bytes\n"
	      "  RMC_SIM_MEMORY=1       lines of segments take their time\n"
	      "  RMC_SIM_DELAY=500      of each packet, one way, ns\n"
	      "  RMC_SIM_JITTER=0       and up to so much more, ns\n"
	      "  RMC_SIM_LOSS=0         packets lost, of a million; also RMC_SIM_DUP, _REORDER\n"
	      "  RMC_SIM_TIMEOUT=10000  of a packet that is lost, ms\n"
	      "  RMC_SIM_TRACE=FILE     write each event down\n"
	      "  RMC_SIM_STATS=1        at the end, what there was\n", stderr);
	__real_exit(2);
}

static uint64_t number(const char *name, uint64_t absent)
{
	const char *s = getenv(name);
	char *end;
	uint64_t n;

	if (!s || !*s)
		return absent;
	n = strtoull(s, &end, 0);
	if (*end) {
		fprintf(stderr, "%s=%s is no number\n", name, s);
		usage();
	}
	return n;
}

static void print_stats(void)
{
	struct rmc_sim_stats s;

	rmc_sim_stats(&s);
	fprintf(stderr, "simulated: %.3f us, %llu operations, %llu requests served\n",
		(sim.now - sim.o.start_ns) / 1000.0, (unsigned long long)s.completions,
		(unsigned long long)s.requests);
	fprintf(stderr, "%llu events, digest %016llx\n", (unsigned long long)s.events,
		(unsigned long long)s.digest);
}

int __wrap_main(int argc, char **argv, char **envp)
{
	const char *costs = getenv("RMC_SIM_COSTS");
	struct rmc_sim_options o = {
		.nodes = (uint32_t)number("RMC_SIM_NODES", 4),
		.seed = number("RMC_SIM_SEED", 1),
		.shuffle = (int)number("RMC_SIM_SHUFFLE", 0),
		.ni = getenv("RMC_SIM_NI"),
		.mtu = (uint32_t)number("RMC_SIM_MTU", 0),
		.memory = (int)number("RMC_SIM_MEMORY", 0),
		.one_way_ns = number("RMC_SIM_DELAY", 500),
		.jitter_ns = number("RMC_SIM_JITTER", 0),
		.loss = (uint32_t)number("RMC_SIM_LOSS", 0),
		.dup = (uint32_t)number("RMC_SIM_DUP", 0),
		.reorder = (uint32_t)number("RMC_SIM_REORDER", 0),
		.gap_ns = 1000,
		.timeout_ms = (uint32_t)number("RMC_SIM_TIMEOUT", 0),
		.retries = 5,
		.trace = getenv("RMC_SIM_TRACE"),
	};
	uint32_t nid;
	int err, left;

	if (getenv("RMC_SIM_HELP"))
		usage();
	if (costs && !strcmp(costs, "list"))
		print_costs();
	if (!costs)
		costs = "rmc";
	o.costs = rmc_sim_costs_find(costs);
	if (!o.costs && strcmp(costs, "none")) {
		fprintf(stderr, "RMC_SIM_COSTS: no profile '%s'\n", costs);
		usage();
	}
	program.argc = argc;
	program.argv = argv;
	program.envp = envp;
	err = rmc_sim_init(&o);
	if (err) {
		fprintf(stderr, "cannot simulate this: %s\n", strerror(-err));
		return 2;
	}
	for (nid = 0; nid < sim.o.nodes; nid++)
		if (rmc_sim_spawn(nid, run, NULL) < 0)
			return 2;
	watch_progress();
	left = rmc_sim_run();
	if (left) {
		fprintf(stderr, "%d of %u nodes still wait after %llu s of virtual time\n", left,
			sim.o.nodes, (unsigned long long)(sim.o.limit_ns / 1000000000));
		program.worst = program.worst ? program.worst : 3;
	}
	if (number("RMC_SIM_STATS", 0))
		print_stats();
	rmc_sim_fini();
	return program.worst;
}
