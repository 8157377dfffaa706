// SPDX-License-Identifier: GPL-2.0
/*
 * Creates and removes contexts and their device files. The mode and owner of
 * /dev/rmc_contexts/<ctx_id> are the access control: a process that may open the file may
 * use the context.
 */
#include <linux/fs.h>
#include <linux/slab.h>
#include "../base/compat.h"
#include "context.h"
#include "engine.h"
#include "exposed.h"
#include "quota.h"
#include "share.h"

static struct rmc_context *context_of(const struct device *dev)
{
	return container_of(dev, struct rmc_context, dev);
}

static ssize_t ctx_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", context_of(dev)->id);
}
static DEVICE_ATTR_RO(ctx_id);

static ssize_t open_count_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(context_of(dev)->opens));
}
static DEVICE_ATTR_RO(open_count);

/* Resources that all open files of the context hold together. */
#define USAGE_ATTR(name, what)							\
	static ssize_t name##_show(struct device *dev, struct device_attribute *attr, \
				   char *buf)					\
	{									\
		return sysfs_emit(buf, "%llu\n",				\
				  READ_ONCE(context_of(dev)->usage->used[what])); \
	}									\
	static DEVICE_ATTR_RO(name)

USAGE_ATTR(qps, RMC_RES_qps);
USAGE_ATTR(buffers, RMC_RES_buffers);
USAGE_ATTR(queue_kib, RMC_RES_queue_mib);
USAGE_ATTR(tx_slots, RMC_RES_tx_slots);

static ssize_t waits_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", atomic_read(&context_of(dev)->usage->waits));
}
static DEVICE_ATTR_RO(waits);

static ssize_t worker_ns_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", rmc_context_worker_ns(context_of(dev)));
}
static DEVICE_ATTR_RO(worker_ns);

static struct attribute *context_attrs[] = {
	&dev_attr_ctx_id.attr,
	&dev_attr_open_count.attr,
	&dev_attr_qps.attr,
	&dev_attr_buffers.attr,
	&dev_attr_queue_kib.attr,
	&dev_attr_tx_slots.attr,
	&dev_attr_waits.attr,
	&dev_attr_worker_ns.attr,
	NULL
};
ATTRIBUTE_GROUPS(context);

static char *context_devnode(RMC_DEVNODE_TYPE_CONST struct device *dev, umode_t *mode,
			     kuid_t *uid, kgid_t *gid)
{
	const struct rmc_context *ctx = context_of(dev);

	/* NULL when the device file is removed: only the name is wanted */
	if (mode)
		*mode = ctx->mode;
	if (uid)
		*uid = ctx->uid;
	if (gid)
		*gid = ctx->gid;
	return kasprintf(GFP_KERNEL, "rmc_contexts/%u", ctx->id);
}

static void context_free(struct device *dev)
{
	struct rmc_context *ctx = context_of(dev);

	rmc_usage_destroy(ctx->usage);
	kfree(ctx);
}

static const struct device_type context_type = {
	.name = "rmc_context",
	.groups = context_groups,
	.devnode = context_devnode,
	.release = context_free,
};

/**
 * rmc_contexts_init() - prepare for contexts
 * @rmc: device
 * @fops: operations of the files in /dev/rmc_contexts
 *
 * Return: 0 or a negative errno. Context: may sleep.
 */
int rmc_contexts_init(struct rmc_device *rmc, const struct file_operations *fops)
{
	int err;

	mutex_init(&rmc->ctx_lock);
	mutex_init(&rmc->quota_lock);
	xa_init(&rmc->users);
	rmc_engines_init(rmc);
	err = rmc_exposed_create(rmc);
	if (err)
		return err;
	rmc->ctx_class = rmc_class_create("rmc_context");
	if (IS_ERR(rmc->ctx_class)) {
		err = PTR_ERR(rmc->ctx_class);
		goto err_class;
	}
	err = alloc_chrdev_region(&rmc->ctx_devt, 0, RMC_MAX_CONTEXTS, "rmc_context");
	if (err)
		goto err_region;
	cdev_init(&rmc->ctx_cdev, fops);
	rmc->ctx_cdev.owner = THIS_MODULE;
	err = cdev_add(&rmc->ctx_cdev, rmc->ctx_devt, RMC_MAX_CONTEXTS);
	if (err)
		goto err_cdev;
	return 0;

err_cdev:
	unregister_chrdev_region(rmc->ctx_devt, RMC_MAX_CONTEXTS);
err_region:
	class_destroy(rmc->ctx_class);
err_class:
	rmc_exposed_destroy(rmc);
	return err;
}

/**
 * rmc_contexts_exit() - remove all contexts; mirror of rmc_contexts_init()
 * @rmc: device; no context is open
 *
 * Context: may sleep.
 */
void rmc_contexts_exit(struct rmc_device *rmc)
{
	u32 i;

	rmc_engines_exit(rmc);
	for (i = 0; i < RMC_MAX_CONTEXTS; i++)
		if (rmc->ctx[i])
			device_unregister(&rmc->ctx[i]->dev);
	cdev_del(&rmc->ctx_cdev);
	unregister_chrdev_region(rmc->ctx_devt, RMC_MAX_CONTEXTS);
	class_destroy(rmc->ctx_class);
	rmc_exposed_destroy(rmc);
}

/**
 * rmc_context_create() - create a context and its device file
 * @rmc: device
 * @arg: id, mode, owner
 *
 * Return: 0, -EINVAL, -EEXIST, -ENOMEM. Context: may sleep.
 */
int rmc_context_create(struct rmc_device *rmc, const struct rmc_ctx_create *arg)
{
	struct rmc_context *ctx;
	int err;

	if (arg->ctx_id >= RMC_MAX_CONTEXTS || arg->mode & ~0777U)
		return -EINVAL;
	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	if (!ctx)
		return -ENOMEM;
	ctx->id = array_index_nospec(arg->ctx_id, RMC_MAX_CONTEXTS);
	ctx->mode = arg->mode;
	ctx->uid = make_kuid(current_user_ns(), arg->uid);
	ctx->gid = make_kgid(current_user_ns(), arg->gid);
	ctx->rmc = rmc;
	INIT_LIST_HEAD(&ctx->shares);
	mutex_init(&ctx->dom_lock);
	INIT_LIST_HEAD(&ctx->domains);
	device_initialize(&ctx->dev);
	ctx->dev.class = rmc->ctx_class;
	ctx->dev.type = &context_type;
	ctx->dev.devt = rmc->ctx_devt + ctx->id;
	err = -ENOMEM;
	ctx->usage = rmc_usage_create(rmc);
	if (!ctx->usage)
		goto err_put;
	err = -EINVAL;
	if (!uid_valid(ctx->uid) || !gid_valid(ctx->gid))
		goto err_put;
	err = dev_set_name(&ctx->dev, "rmcctx%u", ctx->id);
	if (err)
		goto err_put;

	mutex_lock(&rmc->ctx_lock);
	err = rmc->ctx[ctx->id] ? -EEXIST : device_add(&ctx->dev);
	if (!err)
		rmc->ctx[ctx->id] = ctx;
	mutex_unlock(&rmc->ctx_lock);
	if (err)
		goto err_put;
	return 0;

err_put:
	put_device(&ctx->dev);
	return err;
}

/**
 * rmc_context_remove() - remove a context and its device file
 * @rmc: device
 * @id: context id; any value
 *
 * Return: 0, -ENOENT, -EBUSY when it is open. Context: may sleep.
 */
int rmc_context_remove(struct rmc_device *rmc, u32 id)
{
	struct rmc_context *ctx;
	int err = 0;

	if (id >= RMC_MAX_CONTEXTS)
		return -ENOENT;
	id = array_index_nospec(id, RMC_MAX_CONTEXTS);
	mutex_lock(&rmc->ctx_lock);
	ctx = rmc->ctx[id];
	if (!ctx) {
		err = -ENOENT;
	} else if (ctx->opens) {
		err = -EBUSY;
	} else {
		rmc->ctx[id] = NULL;
		device_unregister(&ctx->dev);
	}
	mutex_unlock(&rmc->ctx_lock);
	return err;
}

/**
 * rmc_context_open() - take a reference to a context
 * @rmc: device
 * @id: context id, less than RMC_MAX_CONTEXTS
 *
 * Return: context, for rmc_context_release(), or NULL.
 * Context: may sleep.
 */
struct rmc_context *rmc_context_open(struct rmc_device *rmc, u32 id)
{
	struct rmc_context *ctx;

	mutex_lock(&rmc->ctx_lock);
	ctx = rmc->ctx[id];
	if (ctx)
		WRITE_ONCE(ctx->opens, ctx->opens + 1);
	mutex_unlock(&rmc->ctx_lock);
	return ctx;
}

/**
 * rmc_context_release() - mirror of rmc_context_open()
 * @rmc: device
 * @ctx: context
 *
 * Context: may sleep.
 */
void rmc_context_release(struct rmc_device *rmc, struct rmc_context *ctx)
{
	mutex_lock(&rmc->ctx_lock);
	WRITE_ONCE(ctx->opens, ctx->opens - 1);
	mutex_unlock(&rmc->ctx_lock);
}
