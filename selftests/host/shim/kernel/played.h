/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kmod/fabric/region.c takes from the kernel beyond rmc_os.h, played: time passes
 * where it sleeps only, and others get at the shared words where it looks away. The files
 * in linux/ stand in for the headers that it includes.
 */
#ifndef PLAYED_H
#define PLAYED_H

#include "kmod/core/rmc_os.h"

#define USEC_PER_MSEC		1000L
#define GFP_KERNEL		0
#define current			0

struct cpumask {
	u64 bits;
};

/* A test's: who else is there, before and after each exchange of a word, and in each sleep. */
extern void (*played_exchange)(void *word, bool after);
extern void (*played_sleep)(void);
extern bool played_signal;
extern unsigned long jiffies;		/* one per ms */
extern u32 played_sleeps;

void played_say(const char *text, ...);
u32 get_random_u32(void);
void usleep_range(unsigned long least, unsigned long most);

#define signal_pending(task)	((void)(task), played_signal)
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#define time_after(a, b)	((long)((b) - (a)) < 0)

#define pr_err(...)		played_say(__VA_ARGS__)
#define pr_notice(...)		played_say(__VA_ARGS__)

#define kvcalloc(n, bytes, gfp)	rmc_os_zalloc((n) * (bytes))
#define kvfree(p)		rmc_os_free((void *)(p))

#define roundup_pow_of_two(n)	((n) > 1 ? 1ULL << (ilog2((n) - 1) + 1) : 1ULL)
#define order_base_2(n)		((n) > 1 ? ilog2((n) - 1) + 1 : 0U)
#define max_t(t, a, b)		((t)(a) > (t)(b) ? (t)(a) : (t)(b))

#define cmpxchg(p, old, new) ({							\
	__typeof__(*(p)) was_ = (old);						\
	if (played_exchange)							\
		played_exchange(p, false);					\
	__atomic_compare_exchange_n((p), &was_, (new), 0, __ATOMIC_SEQ_CST,	\
				    __ATOMIC_SEQ_CST);				\
	if (played_exchange)							\
		played_exchange(p, true);					\
	was_;									\
})

#endif
