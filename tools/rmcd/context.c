// SPDX-License-Identifier: GPL-2.0
/* Contexts with owner and mode, users, quotas, and tenants. */
#include <unistd.h>
#include "context.h"
#include "file.h"

#define KIB_PER_MIB	1024

/**
 * rmcd_is_admin() - may this peer administer the daemon: contexts, nodes, faults?
 * @peer: peer
 *
 * Return: true for root and for the user who runs the daemon.
 */
bool rmcd_is_admin(const struct rmcd_peer *peer)
{
	return !peer->uid || peer->uid == geteuid();
}

/**
 * rmcd_context_create() - RMC_IOC_CTX_CREATE
 * @d: daemon
 * @arg: id, mode, owner
 *
 * Return: 0, -EINVAL, -EEXIST, -ENOMEM.
 */
int rmcd_context_create(struct rmcd *d, const struct rmc_ctx_create *arg)
{
	struct rmcd_context *ctx;

	if (arg->ctx_id >= RMC_MAX_CONTEXTS || arg->mode & ~0777U)
		return -EINVAL;
	if (d->ctx[arg->ctx_id])
		return -EEXIST;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ctx->usage.node = calloc(d->port->locals, sizeof(*ctx->usage.node));
	if (!ctx->usage.node) {
		free(ctx);
		return -ENOMEM;
	}
	ctx->id = arg->ctx_id;
	ctx->mode = arg->mode ?: 0600;
	ctx->uid = arg->uid;
	ctx->gid = arg->gid;
	d->ctx[ctx->id] = ctx;
	return 0;
}

static void context_free(struct rmcd_context *ctx)
{
	free(ctx->usage.node);
	free(ctx);
}

static void context_remove(struct rmcd *d, u32 id)
{
	struct rmcd_context *ctx = d->ctx[id];

	d->ctx[id] = NULL;
	ctx->removed = true;
	if (!ctx->refs)
		context_free(ctx);
}

/**
 * rmcd_context_put() - an engine of transactions does not need its context any more
 * @ctx: context, with a reference in @refs
 */
void rmcd_context_put(struct rmcd_context *ctx)
{
	if (!--ctx->refs && ctx->removed)
		context_free(ctx);
}

/**
 * rmcd_context_remove() - RMC_IOC_CTX_REMOVE
 * @d: daemon
 * @id: any value
 *
 * Return: 0, -ENOENT, -EBUSY it is open.
 */
int rmcd_context_remove(struct rmcd *d, u32 id)
{
	if (id >= RMC_MAX_CONTEXTS || !d->ctx[id])
		return -ENOENT;
	if (d->ctx[id]->opens)
		return -EBUSY;
	context_remove(d, id);
	return 0;
}

/**
 * rmcd_contexts_free() - remove all contexts
 * @d: daemon; none is open
 */
void rmcd_contexts_free(struct rmcd *d)
{
	u32 i;

	for (i = 0; i < RMC_MAX_CONTEXTS; i++)
		if (d->ctx[i])
			context_remove(d, i);
}

static bool in_group(const struct rmcd_peer *peer, gid_t gid)
{
	u32 i;

	if (peer->gid == gid)
		return true;
	for (i = 0; i < peer->group_count; i++)
		if (peer->groups[i] == gid)
			return true;
	return false;
}

/**
 * rmcd_context_allows() - check permission bits, as open() of a device file does
 * @ctx: context
 * @peer: who opens
 * @want: bits, 4 read and 2 write
 *
 * Return: true if all bits are granted.
 */
bool rmcd_context_allows(const struct rmcd_context *ctx, const struct rmcd_peer *peer, u32 want)
{
	u32 shift = peer->uid == ctx->uid ? 6 : in_group(peer, ctx->gid) ? 3 : 0;

	return !peer->uid || (ctx->mode >> shift & want) == want;
}

/* ---- users ---- */

/**
 * rmcd_user_get() - get the account of a user
 * @d: daemon
 * @uid: user
 *
 * Return: user, for rmcd_user_put(), or NULL when out of memory.
 */
struct rmcd_user *rmcd_user_get(struct rmcd *d, uid_t uid)
{
	struct rmcd_user *u;

	for (u = d->user; u; u = u->next) {
		if (u->uid == uid) {
			u->refs++;
			return u;
		}
	}
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->usage.node = calloc(d->port->locals, sizeof(*u->usage.node));
	if (!u->usage.node) {
		free(u);
		return NULL;
	}
	u->uid = uid;
	u->refs = 1;
	u->next = d->user;
	d->user = u;
	return u;
}

/**
 * rmcd_user_put() - mirror of rmcd_user_get()
 * @d: daemon
 * @user: user
 */
void rmcd_user_put(struct rmcd *d, struct rmcd_user *user)
{
	struct rmcd_user **link;

	if (--user->refs)
		return;
	for (link = &d->user; *link != user; link = &(*link)->next)
		;
	*link = user->next;
	free(user->usage.node);
	free(user);
}

/* ---- quotas ---- */

/* Where a resource is counted that counts per node; NULL: it counts in total. */
static u32 *at_node(const struct rmcd_file *f, const struct rmcd_usage *u, enum rmcd_resource what)
{
	u32 i = f->node ? f->node->nid - f->d->port->first : 0;

	if (what == RMCD_RES_qps)
		return &u->node[i].qps;
	return what == RMCD_RES_tx_slots ? &u->node[i].tx_slots : NULL;
}

/* Amount that counts against the quota */
static u64 counted(const struct rmcd_file *f, const struct rmcd_usage *u, enum rmcd_resource what)
{
	const u32 *here = at_node(f, u, what);

	return here ? *here : u->used[what];
}

static void add(const struct rmcd_file *f, struct rmcd_usage *u, enum rmcd_resource what,
		s64 amount)
{
	u32 *here = at_node(f, u, what);

	u->used[what] += amount;
	if (here)
		*here += amount;
}

/**
 * rmcd_charge() - charge a resource to the user and the context of a file
 * @f: file; attached, for what counts per node
 * @what: resource
 * @amount: amount; KiB for queue_mib
 *
 * Return: 0, or -EDQUOT: exceeds a quota. Quotas do not hold for root.
 */
int rmcd_charge(struct rmcd_file *f, enum rmcd_resource what, u32 amount)
{
	const struct rmcd_config *cfg = &f->d->cfg;
	u64 per = what == RMCD_RES_queue_mib ? KIB_PER_MIB : 1;

	if (f->user->uid && (counted(f, &f->user->usage, what) + amount > cfg->user[what] * per ||
			     counted(f, &f->ctx->usage, what) + amount > cfg->context[what] * per))
		return -EDQUOT;
	add(f, &f->user->usage, what, amount);
	add(f, &f->ctx->usage, what, amount);
	return 0;
}

/**
 * rmcd_uncharge() - mirror of rmcd_charge()
 * @f: file
 * @what: resource
 * @amount: charged amount
 */
void rmcd_uncharge(struct rmcd_file *f, enum rmcd_resource what, u32 amount)
{
	add(f, &f->user->usage, what, -(s64)amount);
	add(f, &f->ctx->usage, what, -(s64)amount);
}

/* ---- tenants ---- */

static struct rmcd_share *find(struct rmcd_user *user, const struct rmcd_context *ctx,
			       const struct rmc_ni_worker *worker)
{
	struct rmcd_share *s;

	for (s = user->shares; s; s = s->next)
		if (s->worker == worker && s->ctx == ctx)
			return s;
	return NULL;
}

static void put(struct rmcd_user *user, struct rmcd_share *s)
{
	struct rmcd_share **link, *group;

	for (; s && !--s->refs; s = group) {
		group = s->group;
		if (s->ctx)
			s->ctx->worker_ns += s->tenant->time_ns;
		for (link = &user->shares; *link != s; link = &(*link)->next)
			;
		*link = s->next;
		rmc_tenant_destroy(s->tenant);
		free(s);
	}
}

/* @ctx: context; NULL: the group of the user */
static struct rmcd_share *get(struct rmcd_user *user, struct rmcd_context *ctx,
			      struct rmc_ni_worker *worker)
{
	struct rmcd_share *s = find(user, ctx, worker);

	if (s) {
		s->refs++;
		return s;
	}
	s = calloc(1, sizeof(*s));
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
	s->ctx = ctx;
	s->refs = 1;
	s->next = user->shares;
	user->shares = s;
	return s;

err_tenant:
	put(user, s->group);
err_group:
	free(s);
	return NULL;
}

/**
 * rmcd_share_get() - tenant of a file's queue pairs
 * @f: file
 * @worker: worker that will poll the queue pair
 *
 * Return: tenant, for rmcd_share_put() once the worker no longer polls the queue pair; NULL
 * when out of memory.
 */
struct rmcd_share *rmcd_share_get(struct rmcd_file *f, struct rmc_ni_worker *worker)
{
	return get(f->user, f->ctx, worker);
}

/**
 * rmcd_share_put() - mirror of rmcd_share_get()
 * @f: file
 * @s: tenant, or NULL
 */
void rmcd_share_put(struct rmcd_file *f, struct rmcd_share *s)
{
	put(f->user, s);
}

/**
 * rmcd_user_share_put() - the same for who has a reference to the user
 * @user: user of the tenant
 * @s: tenant, or NULL
 */
void rmcd_user_share_put(struct rmcd_user *user, struct rmcd_share *s)
{
	put(user, s);
}

/**
 * rmcd_context_worker_ns() - time that workers spent on the queue pairs of a context
 * @d: daemon
 * @ctx: context
 *
 * Return: nanoseconds since the context was created.
 */
u64 rmcd_context_worker_ns(struct rmcd *d, const struct rmcd_context *ctx)
{
	const struct rmcd_user *u;
	const struct rmcd_share *s;
	u64 sum = ctx->worker_ns;

	for (u = d->user; u; u = u->next)
		for (s = u->shares; s; s = s->next)
			if (s->ctx == ctx)
				/* the worker adds to it meanwhile */
				sum += READ_ONCE(s->tenant->time_ns);
	return sum;
}
