// SPDX-License-Identifier: GPL-2.0
/*
 * Device files: /dev/rmc, which creates contexts, and the contexts in
 * /dev/rmc_contexts. An open file holds a reference to the module.
 */
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/wait_bit.h>
#include "context.h"
#include "dev.h"
#include "file.h"
#include "ioctl.h"
#include "uring.h"

static int context_open(struct inode *inode, struct file *file)
{
	struct rmc_device *rmc = container_of(inode->i_cdev, struct rmc_device, ctx_cdev);
	struct rmc_context *ctx;
	struct rmc_file *f;

	ctx = rmc_context_open(rmc, iminor(inode) - MINOR(rmc->ctx_devt));
	if (!ctx)
		return -ENXIO;
	f = rmc_file_create(rmc, ctx);
	if (IS_ERR(f)) {
		rmc_context_release(rmc, ctx);
		return PTR_ERR(f);
	}
	file->private_data = f;
	return nonseekable_open(inode, file);
}

static int context_flush(struct file *file, fl_owner_t id)
{
	rmc_file_flush(file->private_data);
	return 0;
}

static int context_release(struct inode *inode, struct file *file)
{
	rmc_file_destroy(file->private_data);
	return 0;
}

static __poll_t context_poll(struct file *file, poll_table *table)
{
	struct rmc_file *f = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &f->wait, table);
	if (atomic_read(&f->signalled[RMC_WAIT_CQ]))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (atomic_read(&f->signalled[RMC_WAIT_SEG]))
		mask |= EPOLLPRI;
	if (atomic_read(&f->signalled[RMC_WAIT_ROOM]))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (READ_ONCE(f->gone))
		mask |= EPOLLHUP;
	return mask;
}

static const struct file_operations context_fops = {
	.owner = THIS_MODULE,
	.open = context_open,
	.flush = context_flush,
	.release = context_release,
	.unlocked_ioctl = rmc_context_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = rmc_file_mmap,
	.poll = context_poll,
	.uring_cmd = rmc_uring_cmd,
};

/*
 * The file exists before the module has started completely. A module that fails to start
 * does not wait for processes that have opened the file.
 */
static int control_open(struct inode *inode, struct file *file)
{
	/* misc_open() stores the struct miscdevice here */
	struct rmc_device *rmc = container_of(file->private_data, struct rmc_device, misc);
	int err;

	err = wait_var_event_killable(&rmc->state,
				      READ_ONCE(rmc->state) != RMC_DEVICE_STARTING);
	if (err)
		return err;
	/* pairs with the release in set_state() */
	if (smp_load_acquire(&rmc->state) != RMC_DEVICE_RUNNING)
		return -ENODEV;
	return nonseekable_open(inode, file);
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = control_open,
	.unlocked_ioctl = rmc_control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/**
 * rmc_cdev_register() - create /dev/rmc, and prepare for contexts
 * @rmc: started device
 *
 * Return: 0 or a negative errno. Context: may sleep.
 */
int rmc_cdev_register(struct rmc_device *rmc)
{
	int err;

	err = rmc_contexts_init(rmc, &context_fops);
	if (err)
		return err;
	rmc->misc.minor = MISC_DYNAMIC_MINOR;
	rmc->misc.name = "rmc";
	rmc->misc.fops = &control_fops;
	rmc->misc.mode = 0600;
	rmc->misc.groups = rmc_sysfs_groups;
	err = misc_register(&rmc->misc);
	if (err)
		rmc_contexts_exit(rmc);
	return err;
}

/**
 * rmc_cdev_unregister() - mirror of rmc_cdev_register()
 * @rmc: device; no file uses it
 *
 * Context: may sleep.
 */
void rmc_cdev_unregister(struct rmc_device *rmc)
{
	misc_deregister(&rmc->misc);
	rmc_contexts_exit(rmc);
}
