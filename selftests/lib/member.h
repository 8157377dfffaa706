/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Checks for a member of a team under test: a failure is printed with its line and ends the
 * program.
 */
#ifndef MEMBER_H
#define MEMBER_H

#include <stdio.h>
#include <stdlib.h>
#include <rmc/rmc.h>

static struct rmc_team *team;

#define CHECK(cond) do {							\
	if (!(cond)) {								\
		printf("member %d: line %d: not true: %s\n", team->self, __LINE__, #cond); \
		exit(1);							\
	}									\
} while (0)

static inline void no_error(int err, int line)
{
	if (err) {
		printf("member %d: line %d: %d: %s\n", team->self, line, err, rmc_strerror(err));
		exit(1);
	}
}
#define OK(call)	no_error(call, __LINE__)

#endif
