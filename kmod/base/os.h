/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only include of the pipeline core besides the uapi headers.
 *
 * The files that include only this are compiled two times: into rmc.ko, and with
 * selftests/harness/shim into unit tests, sanitizer runs and the native benchmark. This file
 * names all that they need from an operating system.
 */
#ifndef RMC_OS_H
#define RMC_OS_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>
#include "compat.h"

#define rmc_os_zalloc(bytes)		kvzalloc((bytes), GFP_KERNEL)
/* charged to the caller's memory cgroup; fails instead of invoking the OOM killer */
#define rmc_os_zalloc_user(bytes)	\
	kvzalloc((bytes), GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define rmc_os_free(p)			kvfree(p)
#define rmc_os_zalloc_atomic(bytes)	kzalloc((bytes), GFP_NOWAIT | __GFP_NOWARN)
#define rmc_os_free_atomic(p)		kfree(p)
#define rmc_os_now_ns()			ktime_get_mono_fast_ns()
#define rmc_os_ns_to_ms(ns)		((u32)div_u64((ns), NSEC_PER_MSEC))
#define rmc_os_div(n, d)		div_u64((n), (d))
/* a string instruction is faster from this length on, bytes */
#define rmc_os_bulk_min			512
#define rmc_os_memcpy(d, s, n)		rmc_memcpy((d), (s), (n))

/* An array whose entries are written before they are read: not zeroed on each call */
#if __has_attribute(__uninitialized__)
#define rmc_os_unset			__attribute__((__uninitialized__))
#else
#define rmc_os_unset
#endif

/* Counters have one writer; readers may see a slightly older value */
#define rmc_os_count(counter, n)	data_race((counter) += (n))

/* the calling thread, and whether other threads wait for this CPU */
#define rmc_os_self()			((const void *)current)
/* Whether the thread of a core (rmc_dispatch_thread()) is on a CPU */
#define rmc_os_runs(thread)		rmc_task_runs(thread)
#define rmc_os_must_leave()		need_resched()

/*
 * Copies from and to a part of a local buffer that does not cross chunks; @at is its address,
 * which only user space may lack: see tools/rmcd/memory.c
 */
#define rmc_os_get(mem, off, dst, at, len)	rmc_copy(dst, at, len)
#define rmc_os_put(mem, off, at, src, len)	rmc_copy(at, src, len)

/* later loads start after earlier ones have completed; has a cost on x86, too */
#define rmc_os_finish_loads()		rmb()

/*
 * Vector registers (base/vec.h). A section between begin and end does not sleep and
 * is not preempted: it moves at most one packet.
 */
#ifdef CONFIG_X86_64
#include <asm/fpu/api.h>
#define RMC_OS_VECTOR
#define RMC_OS_VECTOR_CLOBBERS			/* the kernel's code uses none */
extern bool rmc_vector;				/* os.c */
#define rmc_os_vector()			READ_ONCE(rmc_vector)
#define rmc_os_vector_begin()		kernel_fpu_begin()
#define rmc_os_vector_end()		kernel_fpu_end()
#else
#define rmc_os_vector()			false
#define rmc_os_vector_begin()		((void)0)
#define rmc_os_vector_end()		((void)0)
#endif

/* The instruction for CRC32C, which needs no vector registers */
#ifdef CONFIG_X86_64
#define RMC_OS_CRC32C
extern bool rmc_crc32c;				/* os.c */
#define rmc_os_has_crc32c()		READ_ONCE(rmc_crc32c)
#endif

/* Atomics on application memory and on words shared with peers. */
#define rmc_os_cas64(p, old, new)	cmpxchg((p), (old), (new))
#define rmc_os_cas32(p, old, new)	cmpxchg((p), (old), (new))
#define rmc_os_faa64(p, v)		((u64)atomic64_fetch_add((v), (atomic64_t *)(p)))
#define rmc_os_faa32(p, v)		((u32)atomic_fetch_add((v), (atomic_t *)(p)))
#define rmc_os_or64(p, v)		atomic64_or((v), (atomic64_t *)(p))
#define rmc_os_inc_release(p)		((void)atomic_inc_return_release((atomic_t *)(p)))
#define rmc_os_andnot64(p, v)		atomic64_andnot((v), (atomic64_t *)(p))

void rmc_os_init(void);

#include "trace.h"

#else
#include "rmc_shim.h"
#endif

#include <linux/rmc.h>

#endif
