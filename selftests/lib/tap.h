/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Just enough TAP: a test is a function, a failed check names its line. */
#ifndef TAP_H
#define TAP_H

#include <stdio.h>

struct tap_test {
	const char *name;
	void (*run)(void);
};

static int tap_failures;

#define CHECK(cond) do {							\
	if (!(cond)) {								\
		printf("# %s:%d: not true: %s\n", __FILE__, __LINE__, #cond);	\
		tap_failures++;							\
	}									\
} while (0)

#define CHECK_EQ(a, b) do {							\
	long long tap_a = (long long)(a), tap_b = (long long)(b);		\
										\
	if (tap_a != tap_b) {							\
		printf("# %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__,	\
		       #a, tap_a, tap_b);					\
		tap_failures++;							\
	}									\
} while (0)

static inline int tap_run(const struct tap_test *tests, int n)
{
	int failed = 0, i;

	printf("1..%d\n", n);
	for (i = 0; i < n; i++) {
		tap_failures = 0;
		tests[i].run();
		printf("%sok %d - %s\n", tap_failures ? "not " : "", i + 1, tests[i].name);
		fflush(stdout);
		failed += !!tap_failures;
	}
	return failed ? 1 : 0;
}

#endif /* TAP_H */
