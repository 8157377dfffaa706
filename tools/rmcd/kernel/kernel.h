/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kmod/fabric/region.c takes from the kernel beyond base/os.h. The files in linux/ stand
 * in for the headers that it includes.
 */
#ifndef RMCD_KERNEL_H
#define RMCD_KERNEL_H

#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include "kmod/base/os.h"

#define GFP_KERNEL		0
#define current			0
#define jiffies			((unsigned long)rmc_os_ns_to_ms(rmc_os_now_ns()))
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#define time_after(a, b)	((s32)((u32)(b) - (u32)(a)) < 0)
#define signal_pending(task)	((void)(task), false)
#define kvcalloc(n, bytes, gfp)	calloc((n), (bytes))
#define kvfree(p)		free(p)
#define pr_err(...)		rmcd_log_kernel(__VA_ARGS__)
#define pr_notice(...)		rmcd_log_kernel(__VA_ARGS__)
#define pr_info(...)		rmcd_log_kernel(__VA_ARGS__)
#define roundup_pow_of_two(n)	((n) > 1 ? 1ULL << (ilog2((n) - 1) + 1) : 1ULL)
#define order_base_2(n)		((n) > 1 ? ilog2((n) - 1) + 1 : 0U)

/* unchecked formats: u64 is another type here than in the kernel, of the same size */
void rmcd_log_kernel(const char *fmt, ...);

static inline void usleep_range(unsigned long least, unsigned long most)
{
	struct timespec ts = { .tv_nsec = least * 1000 };

	(void)most;
	nanosleep(&ts, NULL);
}

static inline u32 get_random_u32(void)
{
	u32 word = (u32)rmc_os_now_ns();

	/* without entropy the time will do: it only has to differ from a formatter before */
	if (getrandom(&word, sizeof(word), GRND_NONBLOCK) < 0)
		return word;
	return word;
}

static inline const void *memchr_inv(const void *start, int c, size_t bytes)
{
	const u8 *p = start, *end = p + bytes;

	for (; p < end; p++)
		if (*p != (u8)c)
			return p;
	return NULL;
}

#define cmpxchg(p, old, new) ({							\
	__typeof__(*(p)) was_ = (old);						\
	__atomic_compare_exchange_n((p), &was_, (new), 0, __ATOMIC_SEQ_CST,	\
				    __ATOMIC_SEQ_CST);				\
	was_;									\
})

#endif
