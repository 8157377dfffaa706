// SPDX-License-Identifier: GPL-2.0
/*
 * Records accesses to memory. The compiler calls these functions for each access when it
 * instruments a program for ThreadSanitizer (-fsanitize=thread); the sanitizer itself is not
 * linked. The linker wraps memcpy() and memset().
 *
 * Models two caches of unlimited size, the application's and the worker's. A line moves when a
 * CPU reads what the other one has written since, or writes a line that the other one has a
 * copy of. Stacks are ignored: they are private and always in the cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include "testbed.h"
#include "lines.h"

#define ORDER		20
#define STACK		(256UL << 10)

struct line {
	uintptr_t at;			/* address / 64; 0: free */
	u32 op[LINES_STAGES + 1];	/* the last operation that touched it, by stage */
	u8 copies;			/* bit per CPU */
};

static struct line *table;
static enum lines_stage now = LINES_NONE;
static u32 operation, used;
static u64 touched[LINES_STAGES + 1], moved;

void lines_stage(enum lines_stage stage)
{
	now = stage;
}

void lines_operation(void)
{
	operation++;
}

void lines_reset(void)
{
	memset(touched, 0, sizeof(touched));
	moved = 0;
}

double lines_touched(int stage)
{
	return touched[stage];
}

double lines_moved(void)
{
	return moved;
}

static struct line *find(uintptr_t at)
{
	size_t i = at * 0x9e3779b97f4a7c15ULL >> (64 - ORDER);

	if (!table)
		table = calloc(1UL << ORDER, sizeof(*table));
	if (!table || used > (1U << ORDER) / 4 * 3) {
		fprintf(stderr, "lines: no room for %u lines\n", used);
		exit(1);
	}
	while (table[i].at && table[i].at != at)
		i = (i + 1) & ((1UL << ORDER) - 1);
	used += !table[i].at;
	table[i].at = at;
	return &table[i];
}

static void count(struct line *l, u32 which)
{
	if (l->op[which] == operation)
		return;
	l->op[which] = operation;
	touched[which]++;
}

static void record(const void *p, size_t len, bool write)
{
	uintptr_t a = (uintptr_t)p, at, stack = (uintptr_t)__builtin_frame_address(0);
	u8 mine = now == LINES_POST || now == LINES_POLL ? 1 : 2;

	if (now == LINES_NONE || !len || (a > stack - STACK && a < stack + STACK))
		return;
	for (at = a / 64; at <= (a + len - 1) / 64; at++) {
		struct line *l = find(at);

		count(l, now);
		count(l, LINES_NONE);
		if (!l->copies)
			l->copies = mine;	/* from memory */
		if (write ? l->copies != mine : !(l->copies & mine))
			moved++;
		l->copies = write ? mine : l->copies | mine;
	}
}

/* ---- functions that the compiler calls ---- */

#define PLAIN(n)							\
	void __tsan_read##n(void *p);					\
	void __tsan_read##n(void *p) { record(p, n, false); }		\
	void __tsan_write##n(void *p);					\
	void __tsan_write##n(void *p) { record(p, n, true); }		\
	void __tsan_unaligned_read##n(void *p);				\
	void __tsan_unaligned_read##n(void *p) { record(p, n, false); }	\
	void __tsan_unaligned_write##n(void *p);			\
	void __tsan_unaligned_write##n(void *p) { record(p, n, true); }	\
	void __tsan_volatile_read##n(void *p);				\
	void __tsan_volatile_read##n(void *p) { record(p, n, false); }	\
	void __tsan_volatile_write##n(void *p);				\
	void __tsan_volatile_write##n(void *p) { record(p, n, true); }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *p, size_t len);
void __tsan_read_range(void *p, size_t len)
{
	record(p, len, false);
}

void __tsan_write_range(void *p, size_t len);
void __tsan_write_range(void *p, size_t len)
{
	record(p, len, true);
}

#define CHANGE(n, name, builtin)					\
	u##n __tsan_atomic##n##_##name(u##n *p, u##n v, int order);	\
	u##n __tsan_atomic##n##_##name(u##n *p, u##n v, int order)	\
	{								\
		record(p, n / 8, true);					\
		return builtin(p, v, __ATOMIC_SEQ_CST);			\
	}

#define COMPARE(n, name)						\
	int __tsan_atomic##n##_compare_exchange_##name(u##n *p, u##n *old, u##n v, int a, int b);	\
	int __tsan_atomic##n##_compare_exchange_##name(u##n *p, u##n *old, u##n v, int a, int b)	\
	{								\
		record(p, n / 8, true);					\
		return __atomic_compare_exchange_n(p, old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	}

#define ATOMIC(n)							\
	u##n __tsan_atomic##n##_load(const u##n *p, int order);		\
	u##n __tsan_atomic##n##_load(const u##n *p, int order)		\
	{								\
		record(p, n / 8, false);				\
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);		\
	}								\
	void __tsan_atomic##n##_store(u##n *p, u##n v, int order);	\
	void __tsan_atomic##n##_store(u##n *p, u##n v, int order)	\
	{								\
		record(p, n / 8, true);					\
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);		\
	}								\
	CHANGE(n, exchange, __atomic_exchange_n)			\
	CHANGE(n, fetch_add, __atomic_fetch_add)			\
	CHANGE(n, fetch_sub, __atomic_fetch_sub)			\
	CHANGE(n, fetch_and, __atomic_fetch_and)			\
	CHANGE(n, fetch_or, __atomic_fetch_or)				\
	CHANGE(n, fetch_xor, __atomic_fetch_xor)			\
	COMPARE(n, strong)						\
	COMPARE(n, weak)

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void *__real_memcpy(void *d, const void *s, size_t n);
void *__wrap_memcpy(void *d, const void *s, size_t n);
void *__wrap_memcpy(void *d, const void *s, size_t n)
{
	record(s, n, false);
	record(d, n, true);
	return __real_memcpy(d, s, n);
}

void *__real_memset(void *d, int c, size_t n);
void *__wrap_memset(void *d, int c, size_t n);
void *__wrap_memset(void *d, int c, size_t n)
{
	record(d, n, true);
	return __real_memset(d, c, n);
}
