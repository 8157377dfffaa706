/* SPDX-License-Identifier: GPL-2.0 */
/* The ioctls of uapi/linux/rmc.h. */
#ifndef RMC_IOCTL_H
#define RMC_IOCTL_H

#include <linux/fs.h>

long rmc_context_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long rmc_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif
