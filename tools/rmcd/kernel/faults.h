/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kmod/dev/link.c and kmod/dev/debugfs.c take from the kernel and from kmod/run: rmcd
 * compiles both, so faults and the link model are those of the module, to the letter. This file
 * takes the place of kmod/run/device.h. ../faults.c has the functions.
 */
#ifndef RMC_DEVICE_H
#define RMC_DEVICE_H

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/types.h>
#include "kernel.h"
#include "../faults.h"

/* of POSIX; kmod/dev/debugfs.c has another one */
#undef LINE_MAX

/* kmod/run: the daemon is the device */
#define rmc_device		rmcd
#define rmc_config		rmcd_config
#define rmc_device_node(d, nid)	rmcd_node(d, nid)
#define rmc_worker_call(ni, fn, arg) rmcd_call(ni, fn, arg)

#define KBUILD_MODNAME		"rmc"
#define THIS_MODULE		NULL
#define __user
#define U8_MAX			255
#define time_before(a, b)	time_after(b, a)
#define kstrdup(s, gfp)		strdup(s)
#define kfree(p)		free(p)

/* the main thread alone changes faults */
#define mutex_init(lock)	((void)(lock))
#define mutex_lock(lock)	((void)(lock))
#define mutex_unlock(lock)	((void)(lock))
#define lockdep_assert_held(lock) ((void)(lock))

/* config.c sets them: faults.h declares a pointer to each */
#define module_param(name, type, mode) __typeof__(name) *const rmcd_param_##name = &(name)
#define MODULE_PARM_DESC(name, text) _Static_assert(sizeof(text) > 1, "a parameter is described")

int kstrtou64(const char *s, unsigned int base, u64 *value);
int kstrtou32(const char *s, unsigned int base, u32 *value);

static inline int copy_from_user(void *to, const void __user *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return 0;
}

/* ---- files ---- */

struct dentry;
struct seq_file;

struct inode {
	void *i_private;
};

struct file {
	void *private_data;
};

/**
 * struct file_operations - of a file, and of an attribute that is a number
 * @owner: not used, like @read and @llseek
 * @open: calls single_open()
 * @read: see @owner
 * @write: takes a line
 * @llseek: see @owner
 * @release: single_release()
 * @get: reads the number; the others are NULL then
 * @set: changes it
 */
struct file_operations {
	void *owner;
	int (*open)(struct inode *inode, struct file *filp);
	void *read;
	ssize_t (*write)(struct file *filp, const char __user *data, size_t count, loff_t *pos);
	void *llseek;
	int (*release)(struct inode *inode, struct file *filp);
	int (*get)(void *data, u64 *value);
	int (*set)(void *data, u64 value);
};

/* The text that a file shows. */
struct seq_file {
	char *text;
	size_t bytes;
	FILE *stream;
	int (*show)(struct seq_file *m, void *unused);
	void *private;
};

#define seq_read		NULL
#define seq_lseek		NULL
/* unchecked formats: see rmcd_log_kernel() */
void seq_printf(struct seq_file *m, const char *fmt, ...);
#define seq_putc(m, c)		fputc((c), (m)->stream)
int single_open(struct file *filp, int (*show)(struct seq_file *m, void *unused), void *data);
int single_release(struct inode *inode, struct file *filp);

#define DEFINE_DEBUGFS_ATTRIBUTE(name, get_fn, set_fn, fmt)			\
	static const struct file_operations name = { .get = get_fn, .set = set_fn }
#define debugfs_create_dir(name, parent)	NULL
#define debugfs_remove_recursive(dir)		((void)(dir))
#define debugfs_create_file_unsafe		debugfs_create_file
void debugfs_create_file(const char *name, int mode, struct dentry *parent, void *data,
			 const struct file_operations *fops);

#endif
