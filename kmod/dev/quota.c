// SPDX-License-Identifier: GPL-2.0
/* Counts the resources of users and contexts, and enforces their quotas. */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "context.h"
#include "file.h"
#include "quota.h"
#include "uring_wait.h"

/**
 * rmc_usage_create() - create an empty account of a user or a context
 * @rmc: device
 *
 * Return: account or NULL when out of memory. Context: may sleep.
 */
struct rmc_usage *rmc_usage_create(const struct rmc_device *rmc)
{
	struct rmc_usage *u;

	return kvzalloc(struct_size(u, node, rmc->port->locals), GFP_KERNEL_ACCOUNT);
}

/**
 * rmc_usage_destroy() - mirror of rmc_usage_create()
 * @u: account, or NULL
 *
 * Context: may sleep.
 */
void rmc_usage_destroy(struct rmc_usage *u)
{
	kvfree(u);
}

static struct rmc_user *user_create(struct rmc_device *rmc, kuid_t uid)
{
	struct rmc_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	user->uid = uid;
	INIT_LIST_HEAD(&user->shares);
	user->usage = rmc_usage_create(rmc);
	if (!user->usage)
		goto err;
	if (xa_err(xa_store(&rmc->users, __kuid_val(uid), user, GFP_KERNEL_ACCOUNT)))
		goto err;
	return user;

err:
	rmc_usage_destroy(user->usage);
	kfree(user);
	return NULL;
}

/**
 * rmc_user_get() - get the account of a user who opens a file
 * @rmc: device
 * @uid: user
 *
 * Return: user, for rmc_user_put(), or NULL when out of memory.
 * Context: may sleep.
 */
struct rmc_user *rmc_user_get(struct rmc_device *rmc, kuid_t uid)
{
	struct rmc_user *user;

	mutex_lock(&rmc->quota_lock);
	user = xa_load(&rmc->users, __kuid_val(uid)) ?: user_create(rmc, uid);
	if (user)
		user->files++;
	mutex_unlock(&rmc->quota_lock);
	return user;
}

/**
 * rmc_user_put() - mirror of rmc_user_get(); the last one frees the account
 * @rmc: device
 * @user: user
 *
 * Context: may sleep.
 */
void rmc_user_put(struct rmc_device *rmc, struct rmc_user *user)
{
	mutex_lock(&rmc->quota_lock);
	if (--user->files) {
		mutex_unlock(&rmc->quota_lock);
		return;
	}
	xa_erase(&rmc->users, __kuid_val(user->uid));
	mutex_unlock(&rmc->quota_lock);
	rmc_usage_destroy(user->usage);
	kfree(user);
}

/* Where a resource is counted that counts per node; NULL: it counts in total. */
static u32 *at_node(const struct rmc_file *f, struct rmc_usage *u, enum rmc_resource what)
{
	u32 i = f->node ? f->node->nid - f->rmc->port->first : 0;

	switch (what) {
	case RMC_RES_qps:
		return &u->node[i].qps;
	case RMC_RES_tx_slots:
		return &u->node[i].tx_slots;
	default:
		return NULL;
	}
}

/* Amount that counts against the quota */
static u64 counted(const struct rmc_file *f, struct rmc_usage *u, enum rmc_resource what)
{
	const u32 *here = at_node(f, u, what);

	return here ? *here : u->used[what];
}

static void add(const struct rmc_file *f, struct rmc_usage *u, enum rmc_resource what, s64 amount)
{
	u32 *here = at_node(f, u, what);

	WRITE_ONCE(u->used[what], u->used[what] + amount);
	if (here)
		*here += amount;
}

/**
 * rmc_charge() - charge a resource to the user and the context of a file
 * @f: file; attached, for what counts per node
 * @what: resource
 * @amount: amount; KiB for RMC_RES_queue_mib
 *
 * Return: 0, or -EDQUOT: exceeds a quota. Context: may sleep.
 */
int rmc_charge(struct rmc_file *f, enum rmc_resource what, u32 amount)
{
	const struct rmc_quota *quota = &f->rmc->cfg.quota;
	u32 per = what == RMC_RES_queue_mib ? RMC_KIB_PER_MIB : 1;
	struct rmc_usage *user = f->user->usage, *ctx = f->ctx->usage;
	int err = 0;

	mutex_lock(&f->rmc->quota_lock);
	/* parameters may change meanwhile; a change affects later charges only */
	if (counted(f, user, what) + amount > (u64)READ_ONCE(quota->user[what]) * per ||
	    counted(f, ctx, what) + amount > (u64)READ_ONCE(quota->context[what]) * per)
		err = capable(CAP_SYS_RESOURCE) ? 0 : -EDQUOT;
	if (!err) {
		add(f, user, what, amount);
		add(f, ctx, what, amount);
	}
	mutex_unlock(&f->rmc->quota_lock);
	return err;
}

/**
 * rmc_uncharge() - mirror of rmc_charge()
 * @f: file
 * @what: resource
 * @amount: charged amount
 *
 * Context: may sleep.
 */
void rmc_uncharge(struct rmc_file *f, enum rmc_resource what, u32 amount)
{
	mutex_lock(&f->rmc->quota_lock);
	add(f, f->user->usage, what, -(s64)amount);
	add(f, f->ctx->usage, what, -(s64)amount);
	mutex_unlock(&f->rmc->quota_lock);
}

/**
 * rmc_charge_wait() - charge an io_uring command that waits to file, user and context
 * @f: file
 *
 * Return: 0, -ENOSPC exceeds the limit of a file, -EDQUOT exceeds a quota.
 * Context: any.
 */
int rmc_charge_wait(struct rmc_file *f)
{
	const struct rmc_quota *quota = &f->rmc->cfg.quota;
	u32 user = atomic_inc_return(&f->user->usage->waits);
	u32 ctx = atomic_inc_return(&f->ctx->usage->waits);
	int err = 0;

	if (atomic_inc_return(&f->waits) > RMC_MAX_WAITS)
		err = -ENOSPC;
	else if ((user > READ_ONCE(quota->user[RMC_RES_waits]) ||
		  ctx > READ_ONCE(quota->context[RMC_RES_waits])) &&
		 !capable(CAP_SYS_RESOURCE))
		err = -EDQUOT;
	if (err)
		rmc_uncharge_wait(f);
	return err;
}

/**
 * rmc_uncharge_wait() - mirror of rmc_charge_wait()
 * @f: file
 *
 * Context: any.
 */
void rmc_uncharge_wait(struct rmc_file *f)
{
	atomic_dec(&f->waits);
	atomic_dec(&f->ctx->usage->waits);
	atomic_dec(&f->user->usage->waits);
}
