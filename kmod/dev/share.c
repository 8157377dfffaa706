// SPDX-License-Identifier: GPL-2.0
/* Creates and frees the tenants of users and contexts, and sums up their time. */
#include <linux/slab.h>
#include "context.h"
#include "file.h"
#include "quota.h"
#include "share.h"

static struct rmc_share *find(struct rmc_user *user, struct rmc_context *ctx,
			      struct rmc_ni_worker *worker)
{
	struct rmc_share *s;

	list_for_each_entry(s, &user->shares, of_user)
		if (s->worker == worker && s->context == ctx)
			return s;
	return NULL;
}

static void put(struct rmc_share *s)
{
	struct rmc_share *group;

	for (; s && !--s->refs; s = group) {
		group = s->group;
		if (s->context)
			s->context->worker_ns += s->tenant->time_ns;
		list_del(&s->of_context);
		list_del(&s->of_user);
		rmc_tenant_destroy(s->tenant);
		kfree(s);
	}
}

/* @ctx: context; NULL: the group of the user */
static struct rmc_share *get(struct rmc_user *user, struct rmc_context *ctx,
			     struct rmc_ni_worker *worker)
{
	struct rmc_share *s = find(user, ctx, worker);

	if (s) {
		s->refs++;
		return s;
	}
	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return NULL;
	if (ctx) {
		s->group = get(user, NULL, worker);
		if (!s->group)
			goto err_group;
	}
	s->tenant = rmc_tenant_create(worker->nodes[RMC_LANE_REP],
				      s->group ? s->group->tenant : NULL);
	if (!s->tenant)
		goto err_tenant;
	s->worker = worker;
	s->context = ctx;
	s->refs = 1;
	list_add(&s->of_user, &user->shares);
	INIT_LIST_HEAD(&s->of_context);
	if (ctx)
		list_add(&s->of_context, &ctx->shares);
	return s;

err_tenant:
	put(s->group);
err_group:
	kfree(s);
	return NULL;
}

/**
 * rmc_share_get() - tenant of a file's queue pairs
 * @f: file
 * @worker: worker that will poll the queue pair
 *
 * Return: tenant, for rmc_share_put() once the worker no longer polls the queue pair; NULL
 * when out of memory. Context: may sleep.
 */
struct rmc_share *rmc_share_get(struct rmc_file *f, struct rmc_ni_worker *worker)
{
	struct rmc_share *s;

	mutex_lock(&f->rmc->quota_lock);
	s = get(f->user, f->ctx, worker);
	mutex_unlock(&f->rmc->quota_lock);
	return s;
}

/**
 * rmc_share_put() - mirror of rmc_share_get()
 * @rmc: device
 * @s: tenant, or NULL
 *
 * Context: may sleep.
 */
void rmc_share_put(struct rmc_device *rmc, struct rmc_share *s)
{
	mutex_lock(&rmc->quota_lock);
	put(s);
	mutex_unlock(&rmc->quota_lock);
}

/**
 * rmc_context_worker_ns() - time that workers spent on the queue pairs of a context
 * @ctx: context
 *
 * Return: nanoseconds since the context was created, of all its users on all workers.
 * Context: may sleep.
 */
u64 rmc_context_worker_ns(struct rmc_context *ctx)
{
	struct rmc_share *s;
	u64 sum;

	mutex_lock(&ctx->rmc->quota_lock);
	sum = ctx->worker_ns;
	/* the workers add to it meanwhile */
	list_for_each_entry(s, &ctx->shares, of_context)
		sum += READ_ONCE(s->tenant->time_ns);
	mutex_unlock(&ctx->rmc->quota_lock);
	return sum;
}
