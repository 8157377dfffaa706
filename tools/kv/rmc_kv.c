/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-kv: the object store of <rmc/kv.h> as a program, one process per node. Objects live
 * as long as the run, so one command line, or standard input, has several get, put and
 * delete commands.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kv.h"
#include "opt.h"

#define USAGE	"rmc-run -n N rmc-kv [OPTION...] COMMAND...\n" \
		"       commands: get KEY, put KEY VALUE, delete KEY, any number of them;\n" \
		"                 - (commands from standard input, one a line);\n" \
		"                 bench; schemes"
#define KEY_MAX		128
#define COMMAND_MAX	(RMC_KV_VALUE_MAX + 1024)

static struct kv_run r = {
	.clients = 0, .seconds = 5, .theta_percent = 99, .attempts = 1000, .keys = 10000,
	.value = 1024, .scheme_name = "sabre", .mix = "B", .distribution = "zipfian",
};

static const struct opt options[] = {
	{ 's', "scheme", OPT_STRING, &r.scheme_name, 0, 0, "NAME",
	  "how objects are read (sabre); see: rmc-kv schemes" },
	{ 'm', "mix", OPT_STRING, &r.mix, 0, 0, "A|B|C", "YCSB's: 50, 95 (usual) or 100% reads" },
	{ 'd', "distribution", OPT_STRING, &r.distribution, 0, 0, "D", "zipfian (usual) or uniform" },
	{ 0, "theta", OPT_INT, &r.theta_percent, 0, 1000, "PERCENT",
	  "of the zipfian one, 0 to 1000 (99)" },
	{ 'k', "keys", OPT_SIZE, &r.keys, 1, RMC_KV_OBJECTS_MAX, "N", "keys in all (10000)" },
	{ 'v', "value", OPT_SIZE, &r.value, 1, RMC_KV_VALUE_MAX, "SIZE", "bytes per value (1K)" },
	{ 't', "time", OPT_INT, &r.seconds, 1, 86400, "S", "seconds to run (5)" },
	{ 'n', "operations", OPT_SIZE, &r.operations, 1, INT64_MAX, "N",
	  "operations per client, instead of a time" },
	{ 0, "clients", OPT_INT, &r.clients, 1, 1024, "N", "only the first N nodes (all)" },
	{ 0, "attempts", OPT_INT, &r.attempts, 1, INT32_MAX, "N", "at a torn or locked object (1000)" },
	{ 0, "backoff", OPT_INT, &r.backoff_ns, 0, 1000000000, "NS",
	  "wait between them, doubled up to 64 times (0: none)" },
	{ 0, "fall-back", OPT_FLAG, &r.fall_back, 0, 0, NULL, "then ask the owner by message" },
	{ 0, "native", OPT_FLAG, &r.native, 0, 0, NULL,
	  "puts and deletes are native messages" },
	{ 0, "lease", OPT_INT, &r.lease_us, 1, 1000000, "US", "length of leases (1000)" },
	{ 0, "skew", OPT_INT, &r.skew_us, 1, 1000000, "US", "of the nodes' clocks at most (100)" },
	{ 0, "seed", OPT_INT, &r.seed, 0, INT32_MAX, "N", "of random numbers" },
	{ 0, "client", OPT_INT, &r.client, 0, 1023, "N", "node that does get, put, delete (0)" },
	{ 'c', "context", OPT_INT, &r.ctx_id, 0, INT32_MAX, "ID", "context ($RMC_CTX or 0)" },
	{ 'q', "quiet", OPT_FLAG, &r.quiet, 0, 0, NULL, "no progress on standard error" },
	{ 'j', "json", OPT_FLAG, &r.json, 0, 0, NULL, "results of bench as JSON" },
	{ 0, NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL },
};

static int list_schemes(void)
{
	const struct rmc_scheme *s;
	unsigned int i;

	for (i = 0; (s = rmc_scheme_number(i)); i++)
		printf("%-8s %5zu B for 1 KiB  %s\n", s->name, rmc_scheme_bytes(s, 1024), s->title);
	return EXIT_OK;
}

static int failed(const char *what, const char *key, int err)
{
	fprintf(stderr, "rmc-kv: %s %s: %s\n", what, key,
		err == -ENOENT ? "no such key" : rmc_strerror(err));
	return EXIT_FAILED;
}

/* Number of words of a command, 0: unknown command */
static int words_of(const char *command)
{
	if (!strcmp(command, "put"))
		return 3;
	return !strcmp(command, "get") || !strcmp(command, "delete") ? 2 : 0;
}

static int one_command(char **w)
{
	const void *value;
	size_t len;
	int err;

	if (!strcmp(w[0], "put")) {
		err = rmc_kv_put(r.kv, w[1], strlen(w[1]), w[2], strlen(w[2]));
	} else if (!strcmp(w[0], "delete")) {
		err = rmc_kv_delete(r.kv, w[1], strlen(w[1]));
	} else {
		err = rmc_kv_get(r.kv, w[1], strlen(w[1]), &value, &len);
		if (!err)
			printf("%.*s\n", (int)len, (const char *)value);
	}
	return err ? failed(w[0], w[1], err) : EXIT_OK;
}

static void check_commands(int n, char **w)
{
	int i, take;

	for (i = 0; i < n; i += take) {
		take = words_of(w[i]);
		if (!take)
			die(EXIT_USAGE, "no command '%s': get, put, delete, bench, schemes or -", w[i]);
		if (i + take > n)
			die(EXIT_USAGE, "%s needs a key%s", w[i], take == 3 ? " and a value" : "");
	}
}

static int commands(int n, char **w)
{
	int i, worst = EXIT_OK, err;

	for (i = 0; i < n; i += words_of(w[i])) {
		err = one_command(w + i);
		worst = err > worst ? err : worst;
	}
	return worst;
}

static int commands_from_stdin(void)
{
	char *line = (char *)malloc(COMMAND_MAX), *w[3], *rest;
	int worst = EXIT_OK, n, err;

	if (!line)
		die(EXIT_FAILED, "out of memory");
	while (fgets(line, COMMAND_MAX, stdin)) {
		line[strcspn(line, "\n")] = 0;
		for (n = 0, rest = line; n < 2; n++) {
			w[n] = strtok_r(NULL, " \t", &rest);
			if (!w[n])
				break;
		}
		w[2] = rest ? rest + strspn(rest, " \t") : NULL;	/* the rest is the value */
		if (!n)
			continue;
		if (words_of(w[0]) < 2 || n < 2) {
			fprintf(stderr, "rmc-kv: not a command: '%s'\n", w[0]);
			err = EXIT_USAGE;
		} else {
			err = one_command(w);
		}
		worst = err > worst ? err : worst;
		fflush(stdout);
	}
	free(line);
	return worst;
}

static void check_options(int bench)
{
	if (!r.scheme)
		die(EXIT_USAGE, "no scheme '%s'; see: rmc-kv schemes", r.scheme_name);
	if (strlen(r.mix) != 1 || !strchr("ABCabc", r.mix[0]))
		die(EXIT_USAGE, "--mix: '%s' is not A, B or C", r.mix);
	if (strcmp(r.distribution, "zipfian") && strcmp(r.distribution, "uniform"))
		die(EXIT_USAGE, "--distribution: '%s' is not zipfian or uniform", r.distribution);
	if (bench && r.keys < 2)
		die(EXIT_USAGE, "--keys: bench needs two");
}

/* Keys are distributed over nodes at random: room for deviations from the mean */
static uint64_t objects_per_node(int nodes, int bench)
{
	double mean = (double)r.keys / nodes;

	return bench && nodes > 1 ? (uint64_t)(mean + 6 * sqrt(mean)) + 16 : r.keys;
}

static void open_store(int bench)
{
	struct rmc_team_options t = {
		.ctx_id = (unsigned int)r.ctx_id, .numa_node = -1,
		.flags = r.scheme->fetch == RMC_FETCH_SABRE ? RMC_TEAM_OBJECTS : 0,
	};
	int nodes = opt_env_int("RMC_NODES", 1, 1);
	struct rmc_kv_options o = {
		.scheme = r.scheme,
		.objects = objects_per_node(nodes, bench),
		.key_max = bench ? 32 : KEY_MAX,
		.value_max = (uint32_t)r.value,
		.attempts = (unsigned int)r.attempts,
		.backoff_ns = (uint32_t)r.backoff_ns,
		.backoff_max_ns = (uint32_t)(r.backoff_ns > INT32_MAX / 64 ? INT32_MAX :
					     64 * r.backoff_ns),
		.fall_back = (unsigned int)r.fall_back,
		.native = (unsigned int)r.native,
		.params = { (uint32_t)r.lease_us, (uint32_t)r.skew_us, 0 },
	};
	size_t bytes = rmc_kv_bytes(nodes, &o);

	if (!bytes)
		die(EXIT_USAGE, "a store of that size cannot be");
	bytes = (bytes + 63) & ~(size_t)63;
	r.team = rmc_team_open_with(&t, bytes + workload_bytes(nodes));
	if (!r.team)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	if (!r.clients || r.clients > r.team->nodes)
		r.clients = r.team->nodes;
	if (r.client >= r.team->nodes)
		die(EXIT_USAGE, "--client: the run has node 0 .. %d", r.team->nodes - 1);
	r.coll = rmc_coll_open(r.team, bytes, 4096);
	if (!r.coll)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	r.kv = rmc_kv_open(r.team, &o);
	if (!r.kv)
		die(EXIT_FAILED, "%s", rmc_errmsg());
}

int main(int argc, char **argv)
{
	int i, n, bench, status = EXIT_OK, err;
	char **w;

	r.ctx_id = opt_default_context();
	i = opt_parse(argc, argv, options, USAGE);
	w = argv + i;
	n = argc - i;
	if (!n)
		die(EXIT_USAGE, "no command; see rmc-kv --help");
	if (!strcmp(w[0], "schemes"))
		return list_schemes();
	bench = !strcmp(w[0], "bench");
	if (bench) {			/* options may follow */
		w[0] = argv[0];
		i = opt_parse(n, w, options, USAGE);
		if (i < n)
			die(EXIT_USAGE, "bench: '%s' is not an option", w[i]);
	} else if (strcmp(w[0], "-")) {
		check_commands(n, w);
	}
	r.scheme = rmc_scheme_find(r.scheme_name);
	check_options(bench);
	open_store(bench);
	if (bench)
		status = workload(&r);
	else if (r.team->self == r.client)
		status = strcmp(w[0], "-") ? commands(n, w) : commands_from_stdin();
	err = rmc_kv_barrier(r.kv);
	if (err)
		die(EXIT_FAILED, "barrier: %s", rmc_strerror(err));
	fflush(stdout);
	err = rmc_team_barrier(r.team);		/* the last messages are in transit */
	rmc_kv_close(r.kv);
	rmc_coll_close(r.coll);
	rmc_team_close(r.team);
	return status;
}
