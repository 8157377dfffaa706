/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quotas: limits of the shared resources that one user and one context may hold.
 *
 * The user of a context's file is the real uid of the process that opened it; all resources
 * of that file are charged to this user. Each resource is charged to the user and to the
 * context before it is allocated. CAP_SYS_RESOURCE overrides both quotas, like resource
 * limits; the resource is charged nevertheless.
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

/* RMC_RES_queue_mib is charged in KiB. */
#define RMC_KIB_PER_MIB		1024

/**
 * struct rmc_usage - resources that a user or a context holds; all but @waits is guarded by
 *	rmc_device.quota_lock
 * @used: by enum rmc_resource
 * @waits: io_uring commands that wait; atomic, since they end where sleeping is not allowed
 * @node: those that count per node, by local node
 */
struct rmc_usage {
	u64 used[RMC_RESOURCES];
	atomic_t waits;
	struct {
		u32 qps;
		u32 tx_slots;
	} node[];
};

/**
 * struct rmc_user - a user with open contexts; freed with the last of them
 * @uid: uid
 * @files: open contexts, each a reference; guarded by rmc_device.quota_lock
 * @usage: resources that the user holds
 * @shares: struct rmc_share of the user's queue pairs; guarded by rmc_device.quota_lock
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
