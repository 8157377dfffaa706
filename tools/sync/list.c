/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmc-sync schemes: the table of the library, and its systems, with what a read and a write cost. */
#include <stdio.h>
#include <string.h>
#include "json.h"
#include "opt.h"
#include "sync.h"

const char *guarantee_name(const struct rmc_scheme *s)
{
	static const char * const name[] = {
		[RMC_GUARANTEE_ATOMIC] = "atomic", [RMC_GUARANTEE_PROBABLE] = "probable",
		[RMC_GUARANTEE_BROKEN] = "broken",
	};

	return name[s->guarantee];
}

/* What it needs beyond memory that nodes share */
static const char *needs_name(const struct rmc_scheme *s)
{
	return s->needs & RMC_NEEDS_RPC ? "rpc" : s->needs & RMC_NEEDS_POOL ? "pool" :
	       s->needs & RMC_NEEDS_OWNER ? "owner" : "";
}

/* messages/round trips/atomics of a read or write; "-": only the owner writes, or refused */
static const char *cost_name(const struct rmc_sync_options *options, int writes, char *to, size_t len)
{
	struct rmc_sync_options o = *options;
	struct rmc_sync_cost c;

	o.flags |= RMC_SYNC_TRUST_ORDER;
	if (rmc_sync_cost(&o, writes, &c))
		return "-";
	snprintf(to, len, "%u/%u/%u", c.messages, c.round_trips, c.atomics);
	return to;
}

static void costs_json(struct json *j, const struct rmc_sync_options *o)
{
	char cost[32];

	json_string(j, "read_cost", cost_name(o, 0, cost, sizeof(cost)));
	json_string(j, "write_cost", cost_name(o, 1, cost, sizeof(cost)));
}

static void scheme_json(struct json *j, const struct rmc_sync_options *o)
{
	const struct rmc_scheme *s = o->scheme;

	json_object(j, NULL);
	json_string(j, "name", s->name);
	json_string(j, "title", s->title);
	json_string(j, "guarantee", guarantee_name(s));
	json_string(j, "latch", s->latch ? s->latch : "none");
	json_string(j, "needs", needs_name(s));
	json_string(j, "papers", s->papers);
	json_string(j, "systems", s->systems ? s->systems : "");
	json_uint(j, "object_bytes", rmc_scheme_bytes(s, o->max));
	costs_json(j, o);
	json_end_object(j);
}

static void scheme_text(const struct rmc_sync_options *o)
{
	const struct rmc_scheme *s = o->scheme;
	char read[32], write[32];

	printf("%-23s  %-9s  %-7s  %-5s  %8zu  %-7s  %-7s  %s; %s%s%s\n", s->name, guarantee_name(s),
	       s->latch ? s->latch : "none", needs_name(s), rmc_scheme_bytes(s, o->max),
	       cost_name(o, 0, read, sizeof(read)), cost_name(o, 1, write, sizeof(write)), s->title,
	       s->papers, s->systems ? "; " : "", s->systems ? s->systems : "");
}

int list_schemes(const struct sync_run *r)
{
	struct rmc_sync_options o = r->o;
	unsigned int i;
	struct json j;

	json_init(&j, stdout);
	if (r->json)
		json_array(&j, NULL);
	else
		printf("%-23s  %-9s  %-7s  %-5s  %8s  %-7s  %-7s  %s\n", "scheme", "guarantee", "latch",
		       "needs", "bytes", "read", "write", "title; where it is from; systems");
	for (i = 0; (o.scheme = rmc_sync_number(i)); i++) {
		if (r->json)
			scheme_json(&j, &o);
		else
			scheme_text(&o);
	}
	if (r->json)
		json_end_array(&j);
	else
		printf("read, write: messages/round trips/atomics of one that nobody is in the way of\n");
	return EXIT_OK;
}

/* --- systems --- */

static void system_json(struct json *j, const struct rmc_sync_system *s,
			const struct rmc_sync_options *o)
{
	char list[FLAGS_LENGTH];

	json_object(j, NULL);
	json_string(j, "name", s->name);
	json_string(j, "title", s->title);
	json_string(j, "papers", s->papers);
	json_string(j, "scheme", s->scheme);
	json_string(j, "guarantee", guarantee_name(o->scheme));
	json_string(j, "latch", rmc_sync_latch_name(s->latch));
	json_string(j, "options", flags_name(s->flags, list));
	json_uint(j, "pad_lines", s->pad);
	json_uint(j, "stride", o->stride);
	costs_json(j, o);
	json_end_object(j);
}

static void system_text(const struct rmc_sync_system *s, const struct rmc_sync_options *o)
{
	char list[FLAGS_LENGTH], read[32], write[32];

	printf("%-18s  %-10s  %-5s  %-24s  %8llu  %-7s  %-7s  %s; %s\n", s->name, s->scheme,
	       rmc_sync_latch_name(s->latch), flags_name(s->flags, list),
	       (unsigned long long)o->stride, cost_name(o, 0, read, sizeof(read)),
	       cost_name(o, 1, write, sizeof(write)), s->title, s->papers);
}

/* All of them, or the one that is named */
int list_systems(const struct sync_run *r)
{
	const struct rmc_sync_system *s;
	struct rmc_sync_options o = r->o;
	unsigned int i;
	struct json j;

	json_init(&j, stdout);
	if (r->json)
		json_array(&j, NULL);
	else
		printf("%-18s  %-10s  %-5s  %-24s  %8s  %-7s  %-7s  %s\n", "system", "scheme", "latch",
		       "options", "stride", "read", "write", "title; where it is from");
	for (i = 0; (s = rmc_sync_system_number(i)); i++) {
		if (r->system && strcmp(s->name, r->system))
			continue;
		if (rmc_sync_system_use(s, &o))
			die(EXIT_USAGE, "%s", rmc_errmsg());
		if (r->json)
			system_json(&j, s, &o);
		else
			system_text(s, &o);
	}
	if (r->json)
		json_end_array(&j);
	else
		printf("read, write: messages/round trips/atomics of one that nobody is in the way of\n");
	return EXIT_OK;
}
