/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernel versions, from 6.1 on, and between real kernels and
 * User-Mode Linux. No other file uses LINUX_VERSION_CODE.
 */
#ifndef RMC_COMPAT_H
#define RMC_COMPAT_H

#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <uapi/linux/sched/types.h>

#ifndef CONFIG_64BIT
#error "rmc reaches pinned memory through the direct map, which takes a 64-bit kernel"
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "rmc.ko needs Linux 6.1 or newer"
#endif
/* Newest series that the tests ran on; Kbuild warns when the kernel is newer. */
#define RMC_TESTED_LINUX	7.2

/* The device argument of device_type.devnode() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define RMC_DEVNODE_TYPE_CONST
#else
#define RMC_DEVNODE_TYPE_CONST	const
#endif

static inline void rmc_vm_flags_mod(struct vm_area_struct *vma, unsigned long set,
				    unsigned long clear)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#else
	vm_flags_mod(vma, set, clear);
#endif
}

/* A task with a reference: is it on a CPU? A kernel for one CPU does not say. */
static inline bool rmc_task_runs(const struct task_struct *task)
{
#ifdef CONFIG_SMP
	return READ_ONCE(task->on_cpu);
#else
	return true;
#endif
}

static inline long rmc_pin_user_pages(unsigned long start, unsigned long count,
				      unsigned int flags, struct page **pages)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return pin_user_pages(start, count, flags, pages, NULL);
#else
	return pin_user_pages(start, count, flags, pages);
#endif
}

static inline void rmc_eventfd_signal(struct eventfd_ctx *ctx)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	eventfd_signal(ctx, 1);
#else
	eventfd_signal(ctx);
#endif
}

static inline struct class *rmc_class_create(const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	return class_create(THIS_MODULE, name);
#else
	return class_create(name);
#endif
}

/* An unbound workqueue for short work */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define rmc_unbound_wq	system_unbound_wq
#else
#define rmc_unbound_wq	system_dfl_wq
#endif

/*
 * For a thread that yields. Since 6.6 the scheduler grants time slices of some
 * milliseconds, and since 6.18, also in stable kernels, a yield forfeits the rest of one:
 * other groups, those of all applications, run for that time before the thread is eligible
 * again. The shortest possible slice reduces it to 0.1 ms.
 */
static inline void rmc_sched_short_slice(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_NORMAL,
		.sched_runtime = 100 * NSEC_PER_USEC,
	};

	/* no error: all works without it, but slowly */
	if (sched_setattr_nocheck(task, &attr))
		pr_debug("no short time slice for a worker\n");
#endif
}

#if defined(CONFIG_UML) && defined(CONFIG_X86_64)
/*
 * User-Mode Linux uses the fence instructions for devices also between CPUs: an acquire
 * costs an mfence, and lfence keeps loads from overlapping. These definitions are those of
 * a native kernel on the same CPU.
 */
#undef __smp_mb
#undef __smp_rmb
#undef __smp_wmb
#undef __smp_load_acquire
#undef __smp_store_release
#define __smp_mb()	asm volatile("lock addl $0,-4(%%rsp)" ::: "memory", "cc")
#define __smp_rmb()	barrier()
#define __smp_wmb()	barrier()
#define __smp_load_acquire(p)						\
({									\
	typeof(*(p)) ___p1 = READ_ONCE(*(p));				\
	barrier();							\
	___p1;								\
})
#define __smp_store_release(p, v)					\
do {									\
	barrier();							\
	WRITE_ONCE(*(p), v);						\
} while (0)
#endif

/* Bulk copy: with a string instruction where the CPU has fast ones. */
static inline void rmc_memcpy(void *d, const void *s, size_t n)
{
#if defined(CONFIG_UML) && defined(CONFIG_X86_64)
	/* UML does not patch alternatives, so its memcpy() never uses string instructions */
	asm volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
#else
	memcpy(d, s, n);
#endif
}

/*
 * CPUs on which a process may run now: a superset, because a CPU may stay in the mask while
 * it runs another process. A CPU that leaves or enters the mask executes a full barrier in
 * the context switch. Other architectures do not maintain the mask.
 */
static inline const struct cpumask *rmc_mm_cpus(struct mm_struct *mm)
{
#ifdef CONFIG_X86
	return mm_cpumask(mm);
#else
	return cpu_online_mask;
#endif
}

#ifdef CONFIG_UML
static inline long rmc_fence_here(void *reached)
{
	/* pairs with the barrier in rmc_fence_cpus() of the caller */
	smp_mb();
	atomic_inc(reached);
	return 0;
}

/*
 * These CPUs, and this one, execute a full barrier. An interrupt would only reach the
 * thread that runs the kernel: user space is another process of the host, and continues
 * meanwhile. But user space stops while its CPU runs a kernel thread; on this CPU that is
 * the caller. Each of them adds one to @reached.
 */
static inline void rmc_fence_cpus(const struct cpumask *cpus, atomic_t *reached)
{
	int cpu;

	smp_mb(); /* as rmc_fence_here() */
	for_each_cpu(cpu, cpus)
		work_on_cpu(cpu, rmc_fence_here, reached);
}
#else
static inline void rmc_fence_here(void *reached)
{
	/* pairs with the barriers in rmc_fence_cpus(); the interrupt itself is one, too */
	smp_mb();
	atomic_inc(reached);
}

/*
 * These CPUs, and this one, execute a full barrier, interrupts being enabled here. Each that
 * was interrupted adds one to @reached.
 */
static inline void rmc_fence_cpus(const struct cpumask *cpus, atomic_t *reached)
{
	/* for this CPU; pairs with those of the other CPUs in rmc_fence_here() */
	smp_mb();
	preempt_disable();
	/* a CPU that went offline meanwhile runs no process */
	smp_call_function_many(cpus, rmc_fence_here, reached, true);
	preempt_enable();
	/* later accesses come after the interrupts; pairs likewise */
	smp_mb();
}
#endif

#ifdef RMC_COMPAT_URING	/* uring.c, uring_wait.c: these bring half of the block layer */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#include <linux/io_uring.h>
#include <linux/io_uring_types.h>
#include <linux/percpu-refcount.h>
#else
#include <linux/io_uring/cmd.h>
#endif

/*
 * io_uring commands. A command that waits for long must be cancelled when its ring or task
 * goes. Since 6.7 io_uring requests that; before, the watchdog of kmod/dev/uring_wait.c polls
 * for it.
 */
static inline const void *rmc_uring_cmd_data(struct io_uring_cmd *cmd)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return cmd->cmd;
#else
	return cmd->sqe->cmd;
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define RMC_URING_WATCHDOG	1
#define RMC_URING_F_CANCEL	0

static inline void rmc_uring_mark_cancelable(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
}

/* Its ring is being closed, or the task that submitted it waits in exec() for it. */
static inline bool rmc_uring_orphaned(struct io_uring_cmd *cmd)
{
	struct io_kiocb *req = cmd_to_io_kiocb(cmd);

	if (percpu_ref_is_dying(&req->ctx->refs))
		return true;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	return atomic_read(&req->task->io_uring->in_idle);
#else
	return atomic_read(&req->task->io_uring->in_cancel);
#endif
}
#else
#define RMC_URING_WATCHDOG	0
#define RMC_URING_F_CANCEL	IO_URING_F_CANCEL

static inline void rmc_uring_mark_cancelable(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
}

static inline bool rmc_uring_orphaned(struct io_uring_cmd *cmd)
{
	return false;
}
#endif

static inline void rmc_uring_done(struct io_uring_cmd *cmd, int res, unsigned int issue_flags)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
	io_uring_cmd_done(cmd, res, 0, issue_flags);
#else
	io_uring_cmd_done(cmd, res, issue_flags);
#endif
}

/* Defines name(), a function that io_uring calls in the task: fn(cmd, issue_flags) */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
#define RMC_URING_TASK_WORK(name, fn)						\
	static void name(struct io_uring_cmd *cmd, unsigned int issue_flags)	\
	{									\
		fn(cmd, issue_flags);						\
	}
#else
#define RMC_URING_TASK_WORK(name, fn)						\
	static void name(struct io_tw_req tw_req, io_tw_token_t token)		\
	{									\
		fn(io_uring_cmd_from_tw(tw_req), IO_URING_CMD_TASK_WORK_ISSUE_FLAGS); \
	}
#endif
#endif

#endif
