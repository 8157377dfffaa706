/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Memory ordering and spinning. Compiler builtins rather than <stdatomic.h>,
 * which C++17 does not have.
 */
#ifndef RMC_BARRIER_H
#define RMC_BARRIER_H

#include <stdint.h>

/*
 * Inlines of the fast path. lib/ffi.c redefines this and so emits the same functions as
 * ordinary symbols for other languages.
 */
#ifndef RMC_INLINE
#define RMC_INLINE static inline __attribute__((always_inline, unused))
#endif

#define rmc_likely(x)	__builtin_expect(!!(x), 1)
#define rmc_unlikely(x)	__builtin_expect(!!(x), 0)

#define rmc_load_relaxed(p)	__atomic_load_n((p), __ATOMIC_RELAXED)
#define rmc_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define rmc_store_relaxed(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define rmc_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* Keeps the compiler, but not the CPU, from moving accesses across it. */
#define rmc_compiler_barrier()	__asm__ __volatile__("" ::: "memory")

/* Spin loop hint to the CPU. */
#if defined(__x86_64__) || defined(__i386__)
#define rmc_pause()	__builtin_ia32_pause()
#elif defined(__aarch64__)
#define rmc_pause()	__asm__ __volatile__("yield" ::: "memory")
#else
#define rmc_pause()	rmc_compiler_barrier()
#endif

#endif /* RMC_BARRIER_H */
