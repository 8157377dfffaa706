/* SPDX-License-Identifier: GPL-2.0 */
/* Contexts: the global address spaces, and their devices in /dev/rmc_contexts. */
#ifndef RMC_CONTEXT_H
#define RMC_CONTEXT_H

#include <linux/device.h>
#include "../run/device.h"

/**
 * struct rmc_context - one context
 * @dev: its device; holds the structure
 * @id: context id
 * @opens: number of open files, guarded by rmc_device.ctx_lock
 * @usage: resources that these files hold
 * @rmc: device
 * @shares: struct rmc_share of its queue pairs; guarded by rmc_device.quota_lock
 * @worker_ns: time that workers spent on queue pairs of freed tenants; guarded likewise
 * @wake_later_ns: until then, work items wake its sleepers instead of workers; workers write it
 * @dom_lock: guards @domains, and who shares them, see file_domain.h
 * @domains: struct rmc_file_domain, one of a node at most
 * @uid: owner of the device file
 * @gid: its group
 * @mode: its permission bits
 */
struct rmc_context {
	struct device dev;
	u32 id;
	u32 opens;
	struct rmc_usage *usage;
	struct rmc_device *rmc;
	struct list_head shares;
	u64 worker_ns;
	u64 wake_later_ns;
	struct mutex dom_lock;	/* see above */
	struct list_head domains;
	kuid_t uid;
	kgid_t gid;
	umode_t mode;
};

int rmc_contexts_init(struct rmc_device *rmc, const struct file_operations *fops);
void rmc_contexts_exit(struct rmc_device *rmc);
int rmc_context_create(struct rmc_device *rmc, const struct rmc_ctx_create *arg);
int rmc_context_remove(struct rmc_device *rmc, u32 id);
struct rmc_context *rmc_context_open(struct rmc_device *rmc, u32 id);
void rmc_context_release(struct rmc_device *rmc, struct rmc_context *ctx);

#endif
