/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every test on every testbed of a program: one TAP line for each. RMC_TESTBED in the
 * environment names one testbed instead of these, as module parameters would:
 *
 *	RMC_TESTBED=edge,units=2,interleave=256,mtu=64 pipeline.asan
 */
#ifndef MATRIX_H
#define MATRIX_H

#include "../tap.h"
#include "testbed.h"

struct matrix_test {
	const char *name;
	void (*fn)(const struct testbed_opts *o);
};

/*
 * Read RMC_TESTBED; options that it does not name stay as in @o. Return: false if it is
 * not set.
 */
static inline bool matrix_asked(struct testbed_opts *o)
{
	static char said[128];
	char *value, *word;

	if (!getenv("RMC_TESTBED"))
		return false;
	snprintf(said, sizeof(said), "%s", getenv("RMC_TESTBED"));
	word = strtok(said, ",");
	o->ni = word;
	if (!word || !rmc_ni_find(word))
		goto unknown;
	while ((word = strtok(NULL, ","))) {
		value = strchr(word, '=');
		if (!value)
			goto unknown;
		*value++ = 0;
		if (!strcmp(word, "units"))
			o->units = atoi(value);
		else if (!strcmp(word, "rrpps"))
			o->rrpps = atoi(value);
		else if (!strcmp(word, "interleave"))
			o->interleave = atoi(value);
		else if (!strcmp(word, "frontends"))
			o->frontends = atoi(value);
		else if (!strcmp(word, "mtu"))
			o->mtu = atoi(value);
		else if (!strcmp(word, "links"))
			o->links = atoi(value);
		else
			goto unknown;
	}
	return true;
unknown:
	printf("Bail out! RMC_TESTBED: what is %s?\n", word ? word : "an empty one");
	exit(2);
}

static inline void matrix_run(const struct matrix_test *tests, u32 ntests,
			      const struct testbed_opts *opts, u32 nopts)
{
	struct testbed_opts one = opts[0];
	char name[128], where[64];
	u32 i, j;

	if (matrix_asked(&one)) {
		opts = &one;
		nopts = 1;
	}
	for (j = 0; j < nopts; j++)
		for (i = 0; i < ntests; i++) {
			snprintf(where, sizeof(where), "%s%.0u, MTU %u", opts[j].ni, opts[j].units,
				 opts[j].mtu);
			tap_where = where;
			testbed_now_ns = TESTBED_START_NS;
			tests[i].fn(&opts[j]);
			snprintf(name, sizeof(name), "%s (%s)", tests[i].name, where);
			tap_result(name);
		}
	tap_where = NULL;
}

#endif
