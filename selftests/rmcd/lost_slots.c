// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * tools/rmcd/lost.c: the handler while the main thread gives an entry of the table to another
 * mapping. Each read of the table in turn is the one before which that happens.
 */
#include <errno.h>
#include <string.h>
#include "memory.h"
#include "../tap.h"

#define PAGES		32
#define LONG		16	/* pages of a mapping elsewhere */

static void step(void);
#define __atomic_load_n(p, order)	(step(), __atomic_load_n(p, order))
#include "tools/rmcd/lost.c"
#undef __atomic_load_n

/* A mapping before the page that faults, and one elsewhere: the entry is of one, then the other. */
static struct {
	char *addr;
	size_t len;
} from, to;

static char *arena;
static int steps, change_at;
static struct rmcd_mem faulting, other;
static const struct rmcd_mem *lost;

void rmcd_mem_lost(struct rmcd_mem *m)
{
	lost = m;
}

static void step(void)
{
	if (++steps != change_at)
		return;
	rmcd_not_replaceable(from.addr);
	CHECK_EQ(rmcd_replaceable(to.addr, to.len, PAGE_SIZE, &other), 0);
}

static void change_at_each_step(void)
{
	siginfo_t info = { .si_addr = arena + PAGE_SIZE + 100 };
	int i;

	for (change_at = 1; change_at < 64; change_at++) {
		memset(arena, 1, PAGES * PAGE_SIZE);
		CHECK_EQ(rmcd_replaceable(from.addr, from.len, PAGE_SIZE, &other), 0);
		CHECK_EQ(rmcd_replaceable(arena + PAGE_SIZE, PAGE_SIZE, PAGE_SIZE, &faulting), 0);
		steps = 0;
		lost = NULL;
		lost_page(SIGBUS, &info, NULL);
		CHECK(lost == &faulting);
		for (i = 0; i < PAGES; i++)
			CHECK_EQ(arena[i * PAGE_SIZE], i != 1);
		rmcd_not_replaceable(from.addr);
		rmcd_not_replaceable(to.addr);
		rmcd_not_replaceable(arena + PAGE_SIZE);
		if (steps < change_at)
			break;
	}
	CHECK(change_at > 4 && change_at < 64);
}

static void becomes_short(void)
{
	from.addr = arena + PAGES * PAGE_SIZE;
	from.len = LONG * PAGE_SIZE;
	to.addr = arena;
	to.len = PAGE_SIZE;
	change_at_each_step();
}

static void becomes_long(void)
{
	from.addr = arena;
	from.len = PAGE_SIZE;
	to.addr = arena + PAGES * PAGE_SIZE;
	to.len = LONG * PAGE_SIZE;
	change_at_each_step();
}

static const struct tap_test tests[] = {
	{ "the entry of a long mapping becomes that of a short one", becomes_short },
	{ "and of a short one that of a long one", becomes_long },
};

int main(void)
{
	arena = mmap(NULL, 2 * PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		return 1;
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
