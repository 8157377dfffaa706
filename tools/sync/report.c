/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Results of rmc-sync. */
#include <stdio.h>
#include "json.h"
#include "opt.h"
#include "path.h"
#include "sync.h"

static const char * const count_name[COUNTS] = {
	"reads", "writes", "changed", "failed", "mixed_reads", "torn_tries", "locked_tries",
	"lost_tries", "messages", "round_trips", "atomics",
};

static const char *path(const struct sync_run *r)
{
	return path_of_team(r->team, rmc_scheme_bytes(r->layout, r->bytes));
}

static double per_operation(const struct measured *m, int count)
{
	uint64_t operations = m->count[READS] + m->count[WRITES];

	return operations ? (double)m->count[count] / (double)operations : 0;
}

static void report_json(const struct sync_run *r, const struct measured *m)
{
	struct json j;
	int i;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "command", r->torn ? "torn" : "bench");
	json_string(&j, "system", r->system ? r->system : "");
	json_string(&j, "scheme", r->o.scheme->name);
	json_string(&j, "guarantee", guarantee_name(r->o.scheme));
	json_string(&j, "latch", r->latch);
	json_string(&j, "options", r->options);
	json_bool(&j, "ordered", rmc_sync_is_ordered(r->qp));
	json_string(&j, "path", path(r));
	json_int(&j, "nodes", r->team->nodes);
	json_int(&j, "storage_nodes", r->storage);
	json_bool(&j, "storage_only_serves", r->serve);
	json_string(&j, "structure", r->structure);
	json_int(&j, "levels", r->levels);
	json_uint(&j, "tuples", r->leaves);
	json_uint(&j, "bytes", r->bytes);
	json_uint(&j, "stride", r->stride);
	json_int(&j, "writes_percent", r->writes);
	json_double(&j, "theta", r->theta_percent / 100.0);
	json_double(&j, "operations_per_s", m->ops_per_s);
	json_double(&j, "least_of_a_worker", m->least);
	json_double(&j, "most_of_a_worker", m->most);
	for (i = 0; i < COUNTS; i++)
		json_uint(&j, count_name[i], m->count[i]);
	json_double(&j, "messages_per_operation", per_operation(m, MESSAGES));
	json_double(&j, "round_trips_per_operation", per_operation(m, ROUND_TRIPS));
	json_double(&j, "atomics_per_operation", per_operation(m, ATOMICS));
	hist_json(&j, "read", m->read);
	hist_json(&j, "write", m->write);
	json_end_object(&j);
}

static void report_text(const struct sync_run *r, const struct measured *m)
{
	int i;

	if (r->system)
		printf("system       %s\n", r->system);
	printf("scheme       %s (%s), latch %s%s%s\n", r->o.scheme->name, r->o.scheme->title, r->latch,
	       *r->options ? ", " : "", r->options);
	if (r->levels > 1)
		printf("structure    %s of %d levels, %d children of a node\n", r->structure, r->levels,
		       r->fanout);
	printf("tuples       %llu of %llu bytes on each of %d nodes, one every %llu bytes; %d workers\n",
	       (unsigned long long)r->leaves, (unsigned long long)r->bytes, r->storage,
	       (unsigned long long)r->stride, r->team->nodes - (r->serve ? r->storage : 0));
	printf("path         %s\n", path(r));
	printf("throughput   %.0f operations per second; of one worker %.0f .. %.0f\n", m->ops_per_s,
	       m->least, m->most);
	printf("each         %.2f messages, %.2f round trips, %.2f atomics\n\n",
	       per_operation(m, MESSAGES), per_operation(m, ROUND_TRIPS), per_operation(m, ATOMICS));
	hist_text_head();
	hist_text("read", m->read);
	hist_text("write", m->write);
	printf("\n");
	for (i = 0; i < MESSAGES; i++)
		printf("%-14s %llu\n", count_name[i], (unsigned long long)m->count[i]);
}

/* A mixture that was delivered: of a scheme that promises none, or what torn looks for */
int report(const struct sync_run *r, const struct measured *m)
{
	int broken = r->o.scheme->guarantee == RMC_GUARANTEE_BROKEN, found = m->count[MIXED] > 0;

	if (r->json)
		report_json(r, m);
	else
		report_text(r, m);
	if (found && !r->json)
		printf("\n%llu of %llu reads delivered a mixture of two states%s\n",
		       (unsigned long long)m->count[MIXED], (unsigned long long)m->count[READS],
		       broken ? "" : ": that is a bug");
	else if (r->torn && !r->json)
		printf("\nno read of %llu delivered a mixture of two states\n",
		       (unsigned long long)m->count[READS]);
	return found && (!broken || r->torn) ? EXIT_FAILED : EXIT_OK;
}
