/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is a history of operations on one word or key linearizable? Each operation has the time of
 * its invocation and of its response. An operation without a known response may have taken
 * effect at any time after its invocation, or never.
 */
#ifndef SIM_LIN_H
#define SIM_LIN_H

#include <stdbool.h>
#include <stdint.h>

/* State of an absent key */
#define LIN_ABSENT	(~0ULL)
#define LIN_UNKNOWN	(~0ULL)	/* response time of an operation whose response is not known */
#define LIN_MAX		64	/* operations of one history */

enum lin_kind {
	LIN_READ,	/* got: the value */
	LIN_WRITE,	/* arg: the value */
	LIN_ADD,	/* arg: the addend; got: the value before */
	LIN_CAS,	/* expected, arg; got: the value before */
	LIN_DELETE,	/* got: 1 when it was there */
};

struct lin_op {
	enum lin_kind kind;
	uint64_t begin, end;
	uint64_t arg, expected, got;
};

struct lin {
	struct lin_op op[LIN_MAX];
	int ops;
	uint64_t initial;
};

/* A new operation without a response; NULL: no room */
struct lin_op *lin_add(struct lin *h, enum lin_kind kind, uint64_t begin);

bool lin_check(const struct lin *h);
void lin_print(const struct lin *h);

#endif
