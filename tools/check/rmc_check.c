/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmc-check: is a recorded history linearizable, or serializable? Needs no RMC. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "json.h"
#include "opt.h"
#include "progress.h"

#define USAGE	"rmc-check [OPTION...] COMMAND FILE\n" \
		"       commands: linear (operations on keys: linearizability),\n" \
		"                 serial (transactions over lists: serializability),\n" \
		"                 print (the history as rmc-check understands it)\n" \
		"       FILE: -, standard input"

enum {
	EXIT_VIOLATED	= EXIT_FAILED,
	EXIT_UNDECIDED	= 3,
};

static struct {
	int strict, end, json, quiet, search, max;
	uint64_t states;
} o = {
	.max = 10, .states = CHECK_STATES_MAX,
};

static const struct opt options[] = {
	{ 's', "strict", OPT_FLAG, &o.strict, 0, 0, NULL,
	  "serial: transactions are ordered in real time, too" },
	{ 'e', "end", OPT_FLAG, &o.end, 0, 0, NULL,
	  "refuse a file without its end line: it may have been cut" },
	{ 'm', "max-states", OPT_SIZE, &o.states, 1, 1LL << 32, "N",
	  "linear: limit of the search of one key (4000000)" },
	{ 0, "search", OPT_FLAG, &o.search, 0, 0, NULL,
	  "linear: search even where a fast algorithm would do" },
	{ 'n', "findings", OPT_INT, &o.max, 0, 1000000, "N", "print so many at most (10)" },
	{ 'q', "quiet", OPT_FLAG, &o.quiet, 0, 0, NULL, "no progress on standard error" },
	{ 'j', "json", OPT_FLAG, &o.json, 0, 0, NULL, "the result as JSON" },
	{ 0 }
};

static struct check_history h;
static struct json j;
static const char *command, *path;
static int printed, given_up;
static uint32_t *unsure;	/* keys that were given up, of which so many are printed */

static bool is_serial(void)
{
	return !strcmp(command, "serial");
}

/* When the first result is there: a history that cannot be checked prints nothing. */
static void begin_json(void)
{
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "test", "rmc-check");
	json_string(&j, "command", command);
	json_string(&j, "file", path);
	if (is_serial())
		json_bool(&j, "strict", o.strict);
	json_array(&j, "findings");
}

static void operations(const struct check_finding *f)
{
	size_t i;

	json_array(&j, "operations");
	for (i = 0; i < f->ops; i++)
		json_uint(&j, NULL, f->op[i]->line);
	json_end_array(&j);
	json_array(&j, "before");
	for (i = 0; i < f->pairs; i++) {
		json_array(&j, NULL);
		json_uint(&j, NULL, f->before[2 * i]->line);
		json_uint(&j, NULL, f->before[2 * i + 1]->line);
		json_end_array(&j);
	}
	json_end_array(&j);
}

static void transactions(const struct check_finding *f)
{
	size_t i;

	json_array(&j, "transactions");
	for (i = 0; i < f->txns; i++)
		json_uint(&j, NULL, f->txn[i]->line);
	json_end_array(&j);
	json_array(&j, "edges");
	for (i = 0; f->step && i < f->txns; i++) {
		json_object(&j, NULL);
		json_string(&j, "kind", check_edge_name(f->step[i].kind));
		json_string(&j, "key", f->step[i].key == CHECK_NONE ? NULL :
			    check_name(&h, f->step[i].key));
		json_end_object(&j);
	}
	json_end_array(&j);
	json_bool(&j, "real_time", f->realtime);
	json_bool(&j, "lost_update", f->lost_update);
}

/* Lines of the file stand for operations and transactions */
static void finding_json(const struct check_finding *f)
{
	json_object(&j, NULL);
	json_string(&j, "reason", check_reason_name(f->reason));
	json_string(&j, "text", check_reason_text(f->reason));
	json_string(&j, "key", f->key == CHECK_NONE ? NULL : check_name(&h, f->key));
	if (h.txns)
		transactions(f);
	else
		operations(f);
	json_bool(&j, "partial", f->partial);
	json_end_object(&j);
}

static void found(void *arg, const struct check_finding *f)
{
	(void)arg;
	if (f->reason == CHECK_GAVE_UP) {
		if (given_up++ >= o.max)
			return;
		if (o.json)
			unsure[given_up - 1] = f->key;
		else
			check_print(&h, f, "", stdout);
		return;
	}
	if (printed++ >= o.max)
		return;
	if (o.json && !j.out)
		begin_json();
	if (o.json)
		finding_json(f);
	else
		check_print(&h, f, "", stdout);
}

static void progress(void *arg, uint64_t done, uint64_t all)
{
	(void)arg;
	if (!progress_due(0))
		return;
	fprintf(stderr, "%s%" PRIu64 " of %" PRIu64 "%s", progress_begin(), done, all,
		progress_end());
	fflush(stderr);
}

static const char *verdict_name(const struct check_result *r)
{
	static const char *const names[] = { "ok", "violated", "undecided" };

	return names[r->verdict];
}

/* Keys whose search reached its limit; null: several keys that scans connect */
static void undecided_json(void)
{
	int i;

	json_array(&j, "undecided");
	for (i = 0; i < given_up && i < o.max; i++)
		json_string(&j, NULL, unsure[i] == CHECK_NONE ? NULL : check_name(&h, unsure[i]));
	json_end_array(&j);
}

static void summary(const struct check_result *r)
{
	const char *nothing = h.ops + h.txns ? "" : ": no operations";
	bool serial = is_serial();

	if (o.json) {
		if (!j.out)
			begin_json();
		json_end_array(&j);
		undecided_json();
		json_string(&j, "verdict", verdict_name(r));
		json_bool(&j, "ended", h.ended);
		json_uint(&j, serial ? "transactions" : "operations", serial ? h.txns : h.ops);
		json_uint(&j, "keys", h.keys);
		json_uint(&j, serial ? "committed" : "groups", r->groups);
		json_uint(&j, serial ? "dependencies" : "searched", r->searched);
		json_uint(&j, "states", r->states);
		json_uint(&j, "all_findings", r->findings);
		json_uint(&j, "all_undecided", r->undecided);
		json_end_object(&j);
		return;
	}
	if (printed > o.max)
		printf("and %d more\n", printed - o.max);
	if (given_up > o.max)
		printf("and %d more undecided\n", given_up - o.max);
	if (serial)
		printf("%s%s: %s%s; %zu transactions, %" PRIu64 " committed, %" PRIu64 " edges\n",
		       o.strict ? "strict " : "", command, verdict_name(r), nothing, h.txns, r->groups,
		       r->searched);
	else
		printf("%s: %s%s; %zu operations, %zu keys, %" PRIu64 " of %" PRIu64
		       " groups searched, %" PRIu64 " states\n", command, verdict_name(r), nothing, h.ops,
		       h.keys, r->searched, r->groups, r->states);
}

static uint32_t line_of(size_t i)
{
	return is_serial() ? h.txn[i].line : h.op[i].line;
}

static int check(void)
{
	struct check_options options = {
		.max_states = o.states, .strict = o.strict, .search = o.search, .found = found,
		.progress = o.quiet ? NULL : progress,
	};
	bool serial = is_serial();
	struct check_result r;
	int err;

	if (serial ? h.ops > 0 : h.txns > 0)
		die(EXIT_USAGE, "%s: it has %s: %s", path, serial ? "operations" : "transactions",
		    serial ? "linear checks these" : "serial checks these");
	unsure = calloc((size_t)o.max + 1, sizeof(*unsure));
	if (!unsure)
		die(EXIT_USAGE, "out of memory");
	err = serial ? check_serial(&h, &options, &r) : check_linear(&h, &options, &r);
	if (err == -EEXIST)
		die(EXIT_USAGE, "%s:%" PRIu32 ": an append that line %" PRIu32
		    " has, too: reads cannot distinguish them", path, r.same[1]->line,
		    r.same[0]->line);
	if (err == -EBUSY)
		die(EXIT_USAGE, "%s:%" PRIu32 ": it overlaps line %" PRIu32 " of the same client",
		    path, line_of(r.overlap[1]), line_of(r.overlap[0]));
	if (err)
		die(EXIT_USAGE, "%s: %s", path, strerror(-err));
	summary(&r);
	return r.verdict == CHECK_OK ? EXIT_OK : r.verdict == CHECK_VIOLATED ? EXIT_VIOLATED :
	       EXIT_UNDECIDED;
}

int main(int argc, char **argv)
{
	int i = opt_parse(argc, argv, options, USAGE), status = EXIT_OK;
	struct check_error e;
	bool print;

	if (argc - i != 2)
		die(EXIT_USAGE, "give a command and a file: linear, serial or print FILE");
	command = argv[i];
	path = argv[i + 1];
	print = !strcmp(command, "print");
	if (!is_serial() && !print && strcmp(command, "linear"))
		die(EXIT_USAGE, "there is no command '%s': linear, serial or print", command);
	if (o.strict && !is_serial())
		die(EXIT_USAGE, "--strict is for serial: linear is always in real time");
	check_init(&h);
	if (check_read(&h, path, &e)) {
		if (e.line)
			die(EXIT_USAGE, "%s:%" PRIu64 ": %s", path, e.line, e.text);
		die(EXIT_USAGE, "%s: %s", path, e.text);
	}
	if (o.end && !h.ended)
		die(EXIT_USAGE, "%s: there is no end line: it may have been cut", path);
	if (print)
		check_write(&h, stdout);
	else
		status = check();
	if (fflush(stdout))
		die(EXIT_USAGE, "standard output: %s", strerror(errno));
	check_free(&h);
	free(unsure);
	return status;
}
