/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every test on every testbed of a program: one TAP line for each. RMC_TESTBED in the
 * environment names one testbed instead of these, as module parameters would:
 *
 *	RMC_TESTBED=edge,units=2,interleave=256,mtu=64 pipeline.asan
 *
 * packets=1: nothing takes the local path. links=1: over links, see packets.h. All testbeds of a
 * test have links then, or it fails; a test that cannot is skipped, and its row says why. Nothing
 * over links without a packet passes, see matrix_done().
 */
#ifndef MATRIX_H
#define MATRIX_H

#include "../tap.h"
#include "packets.h"

struct matrix_test {
	const char *name;
	void (*fn)(const struct testbed_opts *o);
	bool shared;		/* stores into memory that kernels share */
	bool one_kernel;	/* all nodes are in one kernel */
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
		else if (!strcmp(word, "packets"))
			o->packets = atoi(value);
		else
			goto unknown;
	}
	testbed_links_asked = o->links;
	return true;
unknown:
	printf("Bail out! RMC_TESTBED: what is %s?\n", word ? word : "an empty one");
	exit(2);
}

/* Why a test is not run on a testbed; NULL: it is */
static inline const char *matrix_skips(const struct testbed_opts *o, bool shared, bool one_kernel)
{
	if (!o->links)
		return NULL;
	if (shared)
		return "over links: stores into memory that kernels share";
	return one_kernel ? "over links: needs all nodes in one kernel" : NULL;
}

static inline void matrix_run(const struct matrix_test *tests, u32 ntests,
			      const struct testbed_opts *opts, u32 nopts)
{
	struct testbed_opts one = opts[0];
	char name[128], where[64];
	const char *reason;
	u32 i, j;

	if (matrix_asked(&one)) {
		opts = &one;
		nopts = 1;
	}
	for (j = 0; j < nopts; j++)
		for (i = 0; i < ntests; i++) {
			snprintf(where, sizeof(where), "%s%.0u, MTU %u%s", opts[j].ni,
				 opts[j].units, opts[j].mtu, opts[j].packets ? ", packets" : "");
			snprintf(name, sizeof(name), "%s (%s)", tests[i].name, where);
			reason = matrix_skips(&opts[j], tests[i].shared, tests[i].one_kernel);
			if (reason) {
				tap_skip(name, reason);
				continue;
			}
			tap_where = where;
			testbed_now_ns = TESTBED_START_NS;
			tests[i].fn(&opts[j]);
			CHECK_EQ(testbeds_without_links, 0);
			testbeds_without_links = 0;
			tap_result(name);
		}
	tap_where = NULL;
}

/* The end of a program that reads RMC_TESTBED. A run over links has sent packets over them. */
static inline int matrix_done(void)
{
	if (testbed_links_asked) {
		printf("# %llu packets\n", (unsigned long long)packets_total);
		CHECK(packets_total > 0);
		CHECK_EQ(testbeds_without_links, 0);
		tap_result("packets went over links");
	}
	return tap_done();
}

#endif
