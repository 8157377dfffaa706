/* SPDX-License-Identifier: GPL-2.0 */
/* Every test in every world: one TAP line for each. */
#ifndef MATRIX_H
#define MATRIX_H

#include "tap.h"
#include "world.h"

struct matrix_test {
	const char *name;
	void (*fn)(const struct world_opts *o);
};

static inline void matrix_run(const struct matrix_test *tests, u32 ntests,
			      const struct world_opts *opts, u32 nopts)
{
	char name[128], where[64];
	u32 i, j;

	for (j = 0; j < nopts; j++)
		for (i = 0; i < ntests; i++) {
			snprintf(where, sizeof(where), "%s, MTU %u", opts[j].ni, opts[j].mtu);
			tap_where = where;
			world_now_ns = 1000000000ULL;
			tests[i].fn(&opts[j]);
			snprintf(name, sizeof(name), "%s (%s)", tests[i].name, where);
			tap_result(name);
		}
	tap_where = NULL;
}

#endif
