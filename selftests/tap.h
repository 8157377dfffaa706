/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The Test Anything Protocol for test programs of one process. A check that fails names its
 * line, and the test goes on. Two ways to write a program:
 *
 *	return tap_run(tests, ARRAY_SIZE(tests));		a table of functions
 *
 *	CHECK(...); tap_result("name"); ... return tap_done();	results as they come
 *
 * tap.sh is its counterpart for shell scripts. The tests of the module have ktap.h: each
 * test there is a process with a time limit, because what it tests may hang in the kernel.
 */
#ifndef TAP_H
#define TAP_H

#include <stdio.h>
#include <stdlib.h>

struct tap_test {
	const char *name;
	void (*run)(void);
};

static int tap_count, tap_failed;
static int tap_failures;	/* checks of this test so far */
static const char *tap_where;	/* what a failed check names beside its line, or NULL */

#define TAP_FAIL(format, ...) do {						\
	printf("# %s:%d: " format "%s%s\n", __FILE__, __LINE__, __VA_ARGS__,	\
	       tap_where ? " in " : "", tap_where ? tap_where : "");		\
	tap_failures++;								\
} while (0)

#define CHECK(cond) do {							\
	if (!(cond))								\
		TAP_FAIL("not true: %s", #cond);				\
} while (0)

#define CHECK_EQ(a, b) do {							\
	long long tap_a = (long long)(a), tap_b = (long long)(b);		\
										\
	if (tap_a != tap_b)							\
		TAP_FAIL("%s is %lld, not %lld", #a, tap_a, tap_b);		\
} while (0)

/* End of a test */
static inline void tap_result(const char *name)
{
	printf("%sok %d - %s\n", tap_failures ? "not " : "", ++tap_count, name);
	fflush(stdout);
	tap_failed += !!tap_failures;
	tap_failures = 0;
}

static inline void tap_skip(const char *name, const char *reason)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, name, reason);
	fflush(stdout);
}

/* The plan of what has been run, and the exit status */
static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

static inline int tap_run(const struct tap_test *tests, int n)
{
	int i;

	printf("1..%d\n", n);
	for (i = 0; i < n; i++) {
		tests[i].run();
		tap_result(tests[i].name);
	}
	return tap_failed ? 1 : 0;
}

#endif /* TAP_H */
