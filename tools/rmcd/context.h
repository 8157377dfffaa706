/* SPDX-License-Identifier: GPL-2.0 */
/* Contexts and users: who may open what, and how much of it (Documentation/tenancy.rst). */
#ifndef RMCD_CONTEXT_H
#define RMCD_CONTEXT_H

#include <sys/types.h>
#include "rmcd.h"

/**
 * struct rmcd_usage - resources that a user or a context holds
 * @used: by enum rmcd_resource; queue_mib in KiB
 * @node: those that count per node, by local node
 */
struct rmcd_usage {
	u64 used[RMCD_RESOURCES];
	struct {
		u32 qps;
		u32 tx_slots;
	} *node;
};

/**
 * struct rmcd_share - a tenant (core/tenant.h): a context of a user on a worker, or a user
 * @next: in rmcd_user.shares
 * @worker: polls its queue pairs
 * @ctx: context; NULL: this is the group of the user
 * @group: group of its user on the same worker; NULL: this is a group
 * @tenant: account
 * @refs: queue pairs, or tenants of a group
 */
struct rmcd_share {
	struct rmcd_share *next;
	struct rmc_ni_worker *worker;
	struct rmcd_context *ctx;
	struct rmcd_share *group;
	struct rmc_tenant *tenant;
	u32 refs;
};

/**
 * struct rmcd_user - a user with connections
 * @next: in rmcd.user
 * @uid: uid
 * @refs: connections
 * @usage: resources
 * @shares: tenants
 */
struct rmcd_user {
	struct rmcd_user *next;
	uid_t uid;
	u32 refs;
	struct rmcd_usage usage;
	struct rmcd_share *shares;
};

/**
 * struct rmcd_context - a context
 * @id: context id
 * @opens: open files
 * @refs: engines of transactions that keep it; it may be removed already
 * @removed: it is
 * @usage: resources of these files
 * @mode: permission bits, as of a device file
 * @uid: owner
 * @gid: group
 * @worker_ns: worker time of freed tenants
 * @wake_later_ns: until then, the main thread wakes its sleepers instead of workers
 */
struct rmcd_context {
	u32 id;
	u32 opens;
	u32 refs;
	bool removed;
	struct rmcd_usage usage;
	u32 mode;
	uid_t uid;
	gid_t gid;
	u64 worker_ns;
	u64 wake_later_ns;
};

/**
 * struct rmcd_peer - who is at the other end of a connection, as the kernel says
 * @pid: process
 * @uid: effective uid
 * @gid: effective gid
 * @groups: supplementary groups
 * @group_count: number of @groups
 */
struct rmcd_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	gid_t groups[64];
	u32 group_count;
};

int rmcd_context_create(struct rmcd *d, const struct rmc_ctx_create *arg);
int rmcd_context_remove(struct rmcd *d, u32 id);
void rmcd_context_put(struct rmcd_context *ctx);
void rmcd_contexts_free(struct rmcd *d);
bool rmcd_context_allows(const struct rmcd_context *ctx, const struct rmcd_peer *peer, u32 want);
bool rmcd_is_admin(const struct rmcd_peer *peer);

struct rmcd_user *rmcd_user_get(struct rmcd *d, uid_t uid);
void rmcd_user_put(struct rmcd *d, struct rmcd_user *user);

int rmcd_charge(struct rmcd_file *f, enum rmcd_resource what, u32 amount);
void rmcd_uncharge(struct rmcd_file *f, enum rmcd_resource what, u32 amount);

struct rmcd_share *rmcd_share_get(struct rmcd_file *f, struct rmc_ni_worker *worker);
void rmcd_share_put(struct rmcd_file *f, struct rmcd_share *s);
void rmcd_user_share_put(struct rmcd_user *user, struct rmcd_share *s);
u64 rmcd_context_worker_ns(struct rmcd *d, const struct rmcd_context *ctx);

#endif
