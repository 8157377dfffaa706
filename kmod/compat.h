/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernel versions, 6.1 being the oldest. No other file
 * looks at LINUX_VERSION_CODE.
 */
#ifndef RMC_COMPAT_H
#define RMC_COMPAT_H

#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/version.h>

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

#endif
