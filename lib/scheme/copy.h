/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Copies of data that another thread may write or read: the result is valid only after
 * the check. Atomic bytes make it known to ThreadSanitizer.
 */
#ifndef RMC_LIB_SCHEME_COPY_H
#define RMC_LIB_SCHEME_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef __has_feature
#define __has_feature(x)	0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
static inline void copy_in(void *to, const void *from, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		__atomic_store_n((uint8_t *)to + i, ((const uint8_t *)from)[i], __ATOMIC_RELAXED);
}

static inline void copy_out(void *to, const void *from, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		((uint8_t *)to)[i] = __atomic_load_n((const uint8_t *)from + i, __ATOMIC_RELAXED);
}
#else
#define copy_in(to, from, n)	((void)memcpy((to), (from), (n)))
#define copy_out(to, from, n)	((void)memcpy((to), (from), (n)))
#endif

#endif /* RMC_LIB_SCHEME_COPY_H */
