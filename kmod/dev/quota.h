/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quotas: how much of what all share one user and one context may hold.
 *
 * A user is the real uid of whoever opened a context's file; what is made through
 * that file counts for him whoever makes it. Each resource is charged to the user
 * and to the context before it is allocated. CAP_SYS_RESOURCE exceeds both quotas,
 * as it does resource limits; what it holds is counted all the same.
 *
 * Documentation/tenancy.rst lists resources, parameters and errors.
 */
#ifndef RMC_QUOTA_H
#define RMC_QUOTA_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include "../run/config.h"

struct rmc_device;
struct rmc_file;

/* Of RMC_RES_queue_mib, KiB are charged. */
#define RMC_KIB_PER_MIB		1024

/**
 * struct rmc_usage - what a user or a context holds; guarded by rmc_device.quota_lock,
 *	but for @waits
 * @used: by enum rmc_resource
 * @waits: io_uring commands that wait; they end where nobody may sleep
 * @qps: queue pairs by local node
 */
struct rmc_usage {
	u64 used[RMC_RESOURCES];
	atomic_t waits;
	u32 qps[];
};

/**
 * struct rmc_user - a user with open contexts; goes with the last of them
 * @uid: who
 * @files: open contexts, each a reference; guarded by rmc_device.quota_lock
 * @usage: what he holds
 * @shares: struct rmc_share of his queue pairs; guarded likewise
 */
struct rmc_user {
	kuid_t uid;
	u32 files;
	struct rmc_usage *usage;
	struct list_head shares;
};

struct rmc_usage *rmc_usage_create(const struct rmc_device *rmc);
void rmc_usage_destroy(struct rmc_usage *u);
struct rmc_user *rmc_user_get(struct rmc_device *rmc, kuid_t uid);
void rmc_user_put(struct rmc_device *rmc, struct rmc_user *user);
int rmc_charge(struct rmc_file *f, enum rmc_resource what, u32 amount);
void rmc_uncharge(struct rmc_file *f, enum rmc_resource what, u32 amount);
int rmc_charge_wait(struct rmc_file *f);
void rmc_uncharge_wait(struct rmc_file *f);

#endif
