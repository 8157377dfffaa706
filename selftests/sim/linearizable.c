// SPDX-License-Identifier: GPL-2.0
/* The checker of histories itself: what it must accept, and what it must reject. */
#include <string.h>
#include "../tap.h"
#include "lin.h"

static struct lin h;

static void begin(uint64_t initial)
{
	memset(&h, 0, sizeof(h));
	h.initial = initial;
}

static void op(enum lin_kind kind, uint64_t from, uint64_t to, uint64_t arg, uint64_t got)
{
	struct lin_op *o = lin_add(&h, kind, from);

	o->end = to;
	o->arg = arg;
	o->got = got;
}

int main(void)
{
	int i;

	begin(0);
	op(LIN_WRITE, 0, 10, 1, 0);
	op(LIN_READ, 5, 6, 0, 1);
	op(LIN_READ, 7, 8, 0, 1);
	op(LIN_WRITE, 20, LIN_UNKNOWN, 2, 0);
	op(LIN_READ, 30, 31, 0, 1);
	op(LIN_READ, 32, 33, 0, 2);
	CHECK(lin_check(&h));
	tap_result("overlapping writes, and one that nobody answered, explain what was read");

	begin(0);
	op(LIN_WRITE, 0, 10, 1, 0);
	op(LIN_READ, 5, 6, 0, 1);
	op(LIN_READ, 7, 8, 0, 0);
	CHECK(!lin_check(&h));
	begin(0);
	op(LIN_WRITE, 0, 10, 1, 0);
	op(LIN_READ, 20, 21, 0, 0);
	CHECK(!lin_check(&h));
	begin(0);
	op(LIN_READ, 0, 5, 0, 2);
	op(LIN_WRITE, 20, LIN_UNKNOWN, 2, 0);
	CHECK(!lin_check(&h));
	tap_result("an old value after a new one, or one from the future, does not pass");

	begin(0);
	for (i = 0; i < 20; i++)
		op(LIN_ADD, 0, 100, 1, 19 - i);
	op(LIN_ADD, 10, LIN_UNKNOWN, 1, 0);
	op(LIN_READ, 200, 210, 0, 21);
	CHECK(lin_check(&h));
	h.op[3].got = h.op[4].got;
	CHECK(!lin_check(&h));
	tap_result("each value of a counter is given once");

	begin(0);
	op(LIN_ADD, 0, 10, 1, 0);
	op(LIN_READ, 20, 30, 0, 2);
	CHECK(!lin_check(&h));
	begin(5);
	op(LIN_CAS, 0, 10, 6, 5);
	h.op[0].expected = 5;
	op(LIN_READ, 20, 30, 0, 6);
	CHECK(lin_check(&h));
	h.op[1].got = 5;
	CHECK(!lin_check(&h));
	tap_result("what was added twice, or not at all, is found");

	begin(LIN_ABSENT);
	op(LIN_DELETE, 0, 10, 0, 0);
	op(LIN_WRITE, 20, 30, 7, 0);
	op(LIN_DELETE, 40, 50, 0, 1);
	op(LIN_READ, 60, 70, 0, LIN_ABSENT);
	CHECK(lin_check(&h));
	h.op[3].got = 7;
	CHECK(!lin_check(&h));
	tap_result("what was deleted is gone");
	return tap_done();
}
