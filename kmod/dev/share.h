/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Maps queue pairs to the tenants (core/tenant.h) of users and contexts.
 *
 * On each worker a context has a tenant for each of its users, and each user has a group of
 * all tenants of that user. Both are created with their first queue pair on that worker and
 * freed with the last one.
 */
#ifndef RMC_SHARE_H
#define RMC_SHARE_H

#include <linux/list.h>
#include <linux/types.h>

struct rmc_context;
struct rmc_device;
struct rmc_file;
struct rmc_ni_worker;
struct rmc_tenant;

/**
 * struct rmc_share - one tenant; guarded by rmc_device.quota_lock
 * @of_user: in rmc_user.shares
 * @of_context: in rmc_context.shares
 * @worker: polls its queue pairs
 * @context: context; NULL: this is the group of a user
 * @group: group of its user, on the same worker; NULL: this is a group
 * @tenant: account
 * @refs: queue pairs, or tenants of a group
 */
struct rmc_share {
	struct list_head of_user;
	struct list_head of_context;
	struct rmc_ni_worker *worker;
	struct rmc_context *context;
	struct rmc_share *group;
	struct rmc_tenant *tenant;
	u32 refs;
};

struct rmc_share *rmc_share_get(struct rmc_file *f, struct rmc_ni_worker *worker);
void rmc_share_put(struct rmc_device *rmc, struct rmc_share *s);
u64 rmc_context_worker_ns(struct rmc_context *ctx);

#endif
