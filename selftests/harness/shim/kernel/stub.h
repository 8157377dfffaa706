/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stub of what kmod/fabric/region.c and kmod/ni/calls.h take from the kernel beyond
 * base/os.h: time passes only where they sleep, and a test changes the shared words between
 * two accesses of theirs. The files in linux/ stand in for the headers that they include.
 */
#ifndef STUB_H
#define STUB_H

#include "kmod/base/os.h"

#define USEC_PER_MSEC		1000L
#define GFP_KERNEL		0
#define current			0

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

static inline void synchronize_irq(unsigned int irq)
{
}

struct cpumask {
	u64 bits;
};

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list_head *list)
{
	return READ_ONCE(list->next) == list;
}

static inline void list_add_tail(struct list_head *node, struct list_head *list)
{
	node->next = list;
	node->prev = list->prev;
	list->prev->next = node;
	list->prev = node;
}

static inline void list_del(struct list_head *node)
{
	node->next->prev = node->prev;
	node->prev->next = node->next;
	node->next = NULL;
	node->prev = NULL;
}

#define list_first_entry_or_null(list, type, member)	\
	(list_empty(list) ? NULL : (type *)((char *)(list)->next - offsetof(type, member)))

/* One thread: nobody may want a lock that is held, nor give back one that is not. */
typedef struct {
	bool held;
} raw_spinlock_t;

static inline void raw_spin_lock_init(raw_spinlock_t *lock)
{
	lock->held = false;
}

static inline void raw_spin_lock_irq(raw_spinlock_t *lock)
{
	if (lock->held)
		abort();
	lock->held = true;
}

static inline void raw_spin_unlock_irq(raw_spinlock_t *lock)
{
	if (!lock->held)
		abort();
	lock->held = false;
}

#define raw_spin_lock_irqsave(lock, flags)	((flags) = 0, raw_spin_lock_irq(lock))
#define raw_spin_unlock_irqrestore(lock, flags)	((void)(flags), raw_spin_unlock_irq(lock))

struct completion {
	u32 done;
};

void complete(struct completion *done);		/* a test's */

typedef struct {
	u32 val;
} kuid_t;

/* A test's: who else is there, before and after each exchange of a word, and in each sleep. */
extern void (*stub_exchange)(void *word, bool after);
extern void (*stub_sleep)(void);
extern bool stub_signal;
extern unsigned long jiffies;		/* one per ms */
extern u32 stub_sleeps;

void stub_say(const char *text, ...);
u32 get_random_u32(void);
void usleep_range(unsigned long least, unsigned long most);

#define signal_pending(task)	((void)(task), stub_signal)
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#define time_after(a, b)	((long)((b) - (a)) < 0)

#define pr_err(...)		stub_say(__VA_ARGS__)
#define pr_notice(...)		stub_say(__VA_ARGS__)

#define kvcalloc(n, bytes, gfp)	rmc_os_zalloc((n) * (bytes))
#define kvfree(p)		rmc_os_free((void *)(p))

static inline const void *memchr_inv(const void *start, int c, size_t bytes)
{
	const u8 *p = start, *end = p + bytes;

	for (; p < end; p++)
		if (*p != (u8)c)
			return p;
	return NULL;
}

#define roundup_pow_of_two(n)	((n) > 1 ? 1ULL << (ilog2((n) - 1) + 1) : 1ULL)
#define order_base_2(n)		((n) > 1 ? ilog2((n) - 1) + 1 : 0U)

#define cmpxchg(p, old, new) ({							\
	__typeof__(*(p)) was_ = (old);						\
	if (stub_exchange)							\
		stub_exchange(p, false);					\
	__atomic_compare_exchange_n((p), &was_, (new), 0, __ATOMIC_SEQ_CST,	\
				    __ATOMIC_SEQ_CST);				\
	if (stub_exchange)							\
		stub_exchange(p, true);						\
	was_;									\
})

#endif
