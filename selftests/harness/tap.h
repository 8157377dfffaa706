/* SPDX-License-Identifier: GPL-2.0 */
/* The Test Anything Protocol, as little of it as is needed. */
#ifndef TAP_H
#define TAP_H

#include <stdio.h>
#include <stdlib.h>

static int tap_count, tap_failed, tap_bad;
static const char *tap_where;

#define CHECK(cond) do {							\
	if (!(cond)) {								\
		printf("# %s:%d: %s%s%s\n", __FILE__, __LINE__, #cond,		\
		       tap_where ? " in " : "", tap_where ? tap_where : "");	\
		tap_bad++;							\
	}									\
} while (0)

#define CHECK_EQ(a, b) do {							\
	long long a_ = (long long)(a), b_ = (long long)(b);			\
	if (a_ != b_) {								\
		printf("# %s:%d: %s is %lld, not %lld%s%s\n", __FILE__, __LINE__, #a, a_, b_, \
		       tap_where ? " in " : "", tap_where ? tap_where : "");	\
		tap_bad++;							\
	}									\
} while (0)

static inline void tap_result(const char *name)
{
	printf("%sok %d - %s\n", tap_bad ? "not " : "", ++tap_count, name);
	fflush(stdout);
	tap_failed += !!tap_bad;
	tap_bad = 0;
}

static inline void tap_skip(const char *name, const char *reason)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, name, reason);
	fflush(stdout);
}

static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif
