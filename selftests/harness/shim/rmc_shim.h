/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in for what kmod/base/os.h takes from the kernel.
 * Barriers are compiler builtins, so ThreadSanitizer understands them.
 */
#ifndef RMC_SHIM_H
#define RMC_SHIM_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#ifndef noinline
#define noinline		__attribute__((noinline))
#endif
#define __read_mostly
#define ____cacheline_aligned	__attribute__((aligned(64)))

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#ifdef RMC_SHIM_SIM
/* The simulator's memory: tools/sim/lines.c. Only what lies in a segment matters. */
extern bool sim_lines_on;
void sim_lines_fetch(const void *p);
void sim_lines_load(const void *p, size_t n);
void sim_lines_depend(const void *p);
/* When what a pipelined stage publishes becomes visible: tools/sim/publish.c */
extern bool sim_publish_on;
void sim_publish(const u64 *p);
bool sim_publish_hides(const u64 *p, u64 *before);
#define smp_load_acquire(p)	({						\
	__typeof__(*(p) + 0) v_ = __atomic_load_n((p), __ATOMIC_ACQUIRE);	\
	u64 before_;								\
										\
	if (__builtin_expect(sim_lines_on, 0))					\
		sim_lines_depend(p);						\
	if (__builtin_expect(sim_publish_on, 0) && sizeof(*(p)) == sizeof(u64) && \
	    sim_publish_hides((const void *)(p), &before_))			\
		v_ = (__typeof__(v_))before_;					\
	v_;									\
})
#define smp_store_release(p, v)	do {						\
	if (__builtin_expect(sim_publish_on, 0) && sizeof(*(p)) == sizeof(u64))	\
		sim_publish((const void *)(p));					\
	__atomic_store_n((p), (v), __ATOMIC_RELEASE);				\
} while (0)
#else
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#endif
#ifdef RMC_TEST_HOOKS
/* tests play an owner that stores between two passes over a line */
extern void (*rmc_between_passes)(void);
#define smp_rmb()		do {						\
	__atomic_thread_fence(__ATOMIC_ACQUIRE);				\
	if (rmc_between_passes)							\
		rmc_between_passes();						\
} while (0)
/* ... and another CPU, at the place of a full barrier */
extern void (*rmc_at_barrier)(void);
#define smp_mb()		do {						\
	__atomic_thread_fence(__ATOMIC_SEQ_CST);				\
	if (rmc_at_barrier)							\
		rmc_at_barrier();						\
} while (0)
#else
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

#ifdef RMC_TEST_HOOKS
/* ... and what is fetched before it is read */
extern void (*rmc_at_prefetch)(const void *p);
#define prefetch(p)		do {						\
	__builtin_prefetch((p), 0);						\
	if (rmc_at_prefetch)							\
		rmc_at_prefetch(p);						\
} while (0)
#elif defined(RMC_SHIM_SIM)
#define prefetch(p)		do {						\
	__builtin_prefetch((p), 0);						\
	if (unlikely(sim_lines_on))						\
		sim_lines_fetch(p);						\
} while (0)
#else
#define prefetch(p)		__builtin_prefetch((p), 0)
#endif
#define prefetchw(p)		__builtin_prefetch((p), 1)
#define ilog2(n)		((u32)(63 - __builtin_clzll(n)))
#define __ffs64(w)		((u32)__builtin_ctzll(w))
#define hweight64(w)		((u32)__builtin_popcountll(w))
#define array_index_nospec(i, n)	(i)

#define U32_MAX			(~(u32)0)
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define U64_MAX			(~0ULL)
#define BUILD_BUG_ON(c)		_Static_assert(!(c), #c)

#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define min_t(t, a, b)		((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max_t(t, a, b)		((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define swap(a, b)		do { __typeof__(a) t_ = (a); (a) = (b); (b) = t_; } while (0)

#define PAGE_SIZE		4096
#define ALIGN(n, a)		(((n) + (a) - 1) & ~((__typeof__(n))(a) - 1))
#define PAGE_ALIGN(n)		ALIGN(n, PAGE_SIZE)

#define MAX_ERRNO		4095
#define ERR_PTR(e)		((void *)(intptr_t)(e))
#define IS_ERR(p)		((uintptr_t)(p) >= (uintptr_t)-MAX_ERRNO)

static inline u64 rmc_os_cas64(u64 *p, u64 old, u64 new)
{
	__atomic_compare_exchange_n(p, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static inline u32 rmc_os_cas32(u32 *p, u32 old, u32 new)
{
	__atomic_compare_exchange_n(p, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

#ifdef RMC_SHIM_SIM
#define rmc_os_faa64(p, v)	({						\
	if (unlikely(sim_lines_on))						\
		sim_lines_depend(p);						\
	__atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST);				\
})
#else
#define rmc_os_faa64(p, v)	__atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#endif
#define rmc_os_faa32(p, v)	__atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#if defined(__x86_64__)
#define rmc_os_finish_loads()	__builtin_ia32_lfence()
#else
#define rmc_os_finish_loads()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
#define rmc_os_or64(p, v)	((void)__atomic_fetch_or((p), (v), __ATOMIC_RELAXED))
#define rmc_os_inc_release(p)	((void)__atomic_fetch_add((p), 1, __ATOMIC_RELEASE))
#define rmc_os_andnot64(p, v)	((void)__atomic_fetch_and((p), ~(u64)(v), __ATOMIC_RELAXED))

/* In the simulator, memory of the core is from tools/sim/memory.c */
#if defined(RMC_SHIM_SIM) && !defined(__SANITIZE_ADDRESS__)
#define RMC_SHIM_MEMORY
void *rmc_os_zalloc(size_t bytes);
void rmc_os_free(void *p);
#else
#define rmc_os_free(p)			free(p)
static inline void *rmc_os_zalloc(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

	if (p)
		memset(p, 0, bytes);
	return p;
}
#endif

#ifdef RMC_TEST_HOOKS
/* the n-th allocation on a user's account fails, counted from 1; 0: none */
extern u32 rmc_no_user_memory;
#define rmc_os_zalloc_user(bytes)	\
	(rmc_no_user_memory && !--rmc_no_user_memory ? NULL : rmc_os_zalloc(bytes))
#else
#define rmc_os_zalloc_user(bytes)	rmc_os_zalloc(bytes)
#endif
#ifdef RMC_TEST_HOOKS
/* so many allocations fail that must not sleep */
extern u32 rmc_no_memory;
#define rmc_os_zalloc_atomic(bytes)	\
	(rmc_no_memory ? rmc_no_memory--, NULL : rmc_os_zalloc(bytes))
#else
#define rmc_os_zalloc_atomic(bytes)	rmc_os_zalloc(bytes)
#endif
#define rmc_os_free_atomic(p)		rmc_os_free(p)
#define rmc_os_ns_to_ms(ns)		((u32)((ns) / 1000000))
#define rmc_os_div(n, d)		((u64)(n) / (d))
/* Tests name a flag as the thread of a core. */
#define rmc_os_runs(thread)		READ_ONCE(*(const bool *)(thread))

/* ThreadSanitizer must see every access to shared lines as atomic. */
#ifndef __has_feature
#define __has_feature(x)	0
#endif
#if __has_feature(thread_sanitizer)
#define rmc_os_bulk_min			(1U << 31)
#elif defined(RMC_SHIM_SIM)
#define rmc_os_bulk_min			64
#else
#define rmc_os_bulk_min			512
#endif

#define rmc_os_unset

/* one writer; ThreadSanitizer does not know who reads */
#if __has_feature(thread_sanitizer) || defined(__SANITIZE_THREAD__)
#define rmc_os_count(counter, n)	WRITE_ONCE(counter, (counter) + (n))
#else
#define rmc_os_count(counter, n)	((void)((counter) += (n)))
#endif

/* The kernel's memcpy on CPUs with fast string operations. */
static inline void rmc_os_memcpy(void *d, const void *s, size_t n)
{
#ifdef RMC_SHIM_SIM
	if (unlikely(sim_lines_on))
		sim_lines_load(s, n);
#endif
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
#else
	memcpy(d, s, n);
#endif
}

/*
 * Vector registers, as the kernel's side of base/os.h has them. Not where a sanitizer
 * or a test has to see each access.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(RMC_TEST_PASSES) && \
	!defined(RMC_TEST_SCALAR) && !defined(RMC_SHIM_SIM) && \
	!__has_feature(thread_sanitizer)
#define RMC_OS_VECTOR
#define RMC_OS_VECTOR_CLOBBERS	, "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5"
#define rmc_os_vector()		__builtin_cpu_supports("avx2")
#else
#define rmc_os_vector()		false
#endif
#define rmc_os_vector_begin()	((void)0)
#define rmc_os_vector_end()	((void)0)

#ifdef __x86_64__
#define RMC_OS_CRC32C
#define rmc_os_has_crc32c()	__builtin_cpu_supports("sse4.2")
#endif

/*
 * Local buffers of other processes may have parts that this one cannot map. Such a buffer is one
 * chunk of half the usual size.
 */
#ifdef RMC_OS_FOREIGN
#define RMC_OS_FOREIGN_SHIFT		62
struct rmc_mem;
void rmc_os_foreign_get(const struct rmc_mem *mem, u64 off, u8 *dst, u32 len);
void rmc_os_foreign_put(const struct rmc_mem *mem, u64 off, const u8 *src, u32 len);
#define rmc_os_get(mem, off, dst, at, len)	do {				\
	if (unlikely((mem)->shift == RMC_OS_FOREIGN_SHIFT))			\
		rmc_os_foreign_get(mem, off, dst, len);				\
	else									\
		rmc_copy(dst, at, len);						\
} while (0)
#define rmc_os_put(mem, off, at, src, len)	do {				\
	if (unlikely((mem)->shift == RMC_OS_FOREIGN_SHIFT))			\
		rmc_os_foreign_put(mem, off, src, len);				\
	else									\
		rmc_copy(at, src, len);						\
} while (0)
#else
#define rmc_os_get(mem, off, dst, at, len)	rmc_copy(dst, at, len)
#define rmc_os_put(mem, off, at, src, len)	rmc_copy(at, src, len)
#endif

#define rmc_os_self()			((const void *)pthread_self())
#define rmc_os_must_leave()		false

u64 rmc_os_now_ns(void);

/*
 * What tracepoints say, except for tids, event by event: kept where sanitizers are at work, for a
 * test that sets shim_log.
 */
enum shim_trace { SHIM_INJECT, SHIM_REFUSE, SHIM_SERVE, SHIM_COMPLETE, SHIM_TRACES };

#define SHIM_EVENTS	128

struct shim_event {
	u32 node, peer, slot, status, packets;
};

struct shim_log {
	struct shim_event event[SHIM_TRACES][SHIM_EVENTS];
	u32 events[SHIM_TRACES];	/* may exceed SHIM_EVENTS: the others are not kept */
};

#ifdef __SANITIZE_ADDRESS__
extern struct shim_log *shim_log __attribute__((weak));
struct shim_log *shim_log;
#else
#define shim_log	((struct shim_log *)NULL)
#endif

static inline void shim_trace(enum shim_trace which, struct shim_event event)
{
	if (!shim_log)
		return;
	if (shim_log->events[which] < SHIM_EVENTS)
		shim_log->event[which][shim_log->events[which]] = event;
	shim_log->events[which]++;
}

static inline void trace_rmc_rgp_inject(u32 node, u32 to, u32 tid, u32 packets)
{
	shim_trace(SHIM_INJECT, (struct shim_event){ node, to, .packets = packets });
}

static inline void trace_rmc_rgp_refuse(u32 node, u32 slot, u32 status)
{
	shim_trace(SHIM_REFUSE, (struct shim_event){ node, .slot = slot, .status = status });
}

static inline void trace_rmc_rrpp_serve(u32 node, u32 from, u32 packets)
{
	shim_trace(SHIM_SERVE, (struct shim_event){ node, from, .packets = packets });
}

static inline void trace_rmc_rcp_complete(u32 node, u32 to, u32 tid, u32 slot, u32 status)
{
	shim_trace(SHIM_COMPLETE, (struct shim_event){ node, to, slot, status, 0 });
}

#define trace_rmc_att_open(...)		((void)0)
#define trace_rmc_att_close(...)	((void)0)

#endif
