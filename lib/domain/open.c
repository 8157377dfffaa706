/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Opens and closes domains. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "state.h"

#define SLOTS		64
#define MEMORY		(16ULL << 20)	/* bytes of receive slots, by default */
#define MAX_MESSAGE	4096
#define DEPTH		2
#define CORES		16
#define TIMEOUT_MS	30000

static const char * const policies[] = {
	[RMC_DOM_RR]		= "rr",
	[RMC_DOM_STATIC]	= "static",
	[RMC_DOM_RANDOM]	= "random",
	[RMC_DOM_GREEDY]	= "greedy",
	[RMC_DOM_GROUPS]	= "groups",
	[RMC_DOM_JSQ]		= "jsq",
	[RMC_DOM_SQ2]		= "sq2",
	[RMC_DOM_JIQ]		= "jiq",
	[RMC_DOM_STEAL]		= "steal",
	[RMC_DOM_KEYED]		= "keyed",
	[RMC_DOM_CLASS]		= "class",
	[RMC_DOM_HIER]		= "hier",
	[RMC_DOM_SHARED]	= "shared",
};

RMC_ABI_ASSERT(sizeof(policies) / sizeof(policies[0]) == RMC_DOM_POLICIES, "all policies");

const char *rmc_domain_policy_name(int policy)
{
	return policy >= 0 && policy < RMC_DOM_POLICIES ? policies[policy] : "unknown";
}

int rmc_domain_policy(const char *name)
{
	int i;

	for (i = 0; i < RMC_DOM_POLICIES; i++)
		if (!strcmp(name, policies[i]))
			return i;
	return -EINVAL;
}

void rmc_domain_defaults_sized(struct rmc_domain_options *o, size_t size)
{
	struct rmc_domain_options ours = {
		.policy = RMC_DOM_GREEDY, .flags = RMC_DOM_REQUEUE,
	};

	rmc_struct_out(o, size, &ours, sizeof(ours));
}

void domain_defaults_ver0(struct rmc_domain_options *o) RMC_VER0(rmc_domain_defaults);
void domain_defaults_ver0(struct rmc_domain_options *o)
{
	rmc_domain_defaults_sized(o, RMC_DOMAIN_OPTIONS_SIZE_VER0);
}

static unsigned int at_most(unsigned int n, unsigned int most)
{
	return n < most ? n : most;
}

/* Zeros become defaults. Nodes that have the same options get the same ones. */
static void fill_in(struct rmc_domain_options *o, const struct rmc_ctx *ctx,
		    const struct rmc_dom_query *q)
{
	if (!o->nodes && o->first_nid < ctx->query.nodes)
		o->nodes = ctx->query.nodes - o->first_nid;
	if (!o->max_message)
		o->max_message = at_most(MAX_MESSAGE, q->max_message);
	if (!o->slots) {
		o->slots = at_most(SLOTS, q->max_slots);
		while (o->slots > 1 && (uint64_t)o->nodes * o->slots * o->max_message > MEMORY)
			o->slots /= 2;
	}
	if (!o->depth)
		o->depth = at_most(DEPTH, q->max_depth);
	if (!o->cores)
		o->cores = at_most(CORES, q->max_cores);
	if (!o->groups)
		o->groups = 1;
	if (!o->timeout_ms)
		o->timeout_ms = TIMEOUT_MS;
}

static int create_failed(const struct rmc_ctx *ctx, const struct rmc_domain_options *o,
			 const struct rmc_dom_query *q)
{
	int err = errno;

	if (rmc_why(ctx))
		return rmc_fail(err, "%s", rmc_why(ctx));
	switch (err) {
	case ENOTTY:
		return rmc_fail(err, "this RMC has no native messages: load a newer module, or start a newer rmcd");
	case EEXIST:
		return rmc_fail(err, "context %u has a domain on node %d already%s", ctx->id,
				ctx->query.nid,
				o->members > 1 ? ": other processes call rmc_domain_attach()" : "");
	case E2BIG:
		return rmc_fail(err, "this RMC has no %s: load a newer module, or start a newer rmcd",
				o->wake_us && !q->max_wake_us ? "wake_us" : "answers to messages");
	case EINVAL:
		if (o->max_answer > q->max_answer)
			return rmc_fail(err, "answers of %u bytes: this RMC has 0 .. %u",
					o->max_answer, q->max_answer);
		if (o->flags & RMC_DOM_KEY ? (uint64_t)o->key_offset + 8 > o->max_message :
					     o->key_offset)
			return rmc_fail(err, "a key at %u, of messages of %u bytes; flag RMC_DOM_KEY is %s",
					o->key_offset, o->max_message,
					o->flags & RMC_DOM_KEY ? "set" : "not set");
		if (o->policy == RMC_DOM_CLASS ? !(o->flags & RMC_DOM_KEY) || !o->classes || o->classes > 16 :
						 o->classes)
			return rmc_fail(err, "%u classes: policy class has 1 .. 16, and flag RMC_DOM_KEY, others none",
					o->classes);
		if (o->members > 1 && (o->members > q->max_members || o->members > o->slots ||
				       o->members > o->cores || o->policy == RMC_DOM_SHARED))
			return rmc_fail(err, "%u processes share a domain: 1 .. %u, with a slot and a core each (%u, %u), not of policy shared",
					o->members, q->max_members, o->slots, o->cores);
		if (o->wake_us)
			return rmc_fail(err, "wake_us %u: this RMC has 0 .. %u, and policies greedy, groups and hier",
					o->wake_us, q->max_wake_us);
		return rmc_fail(err, "no such domain: nodes %u .. %u of %u, %u slots of 1 .. %u, messages of %u bytes of 1 .. %u, policy %s, depth %u of 1 .. %u, %u cores of 1 .. %u, %u groups",
				o->first_nid, o->first_nid + o->nodes - 1, ctx->query.nodes,
				o->slots, q->max_slots, o->max_message, q->max_message,
				rmc_domain_policy_name((int)o->policy), o->depth, q->max_depth,
				o->cores, q->max_cores, o->groups);
	case EDQUOT:
		return rmc_fail(err, "user or context may have no more memory for queues (%u, %u MiB): fewer slots, or shorter messages",
				ctx->query.queue_mib_user, ctx->query.queue_mib_context);
	default:
		return rmc_fail(err, "cannot create a domain: %s", strerror(err));
	}
}

static const char no_members[] =
	"processes cannot share a domain of this RMC: load a newer module, or start a newer rmcd";

static int create(struct rmc_domain *d, struct rmc_dom_create *arg)
{
	struct rmc_dom_query q = { .size = sizeof(q) };
	struct rmc_domain_options *o = &d->o;

	if (rmc_call(d->ctx, RMC_IOC_DOM_QUERY, &q))
		return create_failed(d->ctx, o, &q);
	fill_in(o, d->ctx, &q);
	if (o->policy < 64 && !(q.policies & 1ULL << o->policy))
		return rmc_fail(EINVAL, "this RMC has no policy %s",
				rmc_domain_policy_name((int)o->policy));
	if (o->members > 1 && !q.max_members)
		return rmc_fail(EOPNOTSUPP, "%s", no_members);
	*arg = (struct rmc_dom_create) {
		.size = sizeof(*arg), .flags = o->flags, .first_nid = o->first_nid,
		.nodes = o->nodes, .slots = o->slots, .max_message = o->max_message,
		.policy = o->policy, .depth = o->depth, .cores = o->cores, .groups = o->groups,
		.max_answer = o->max_answer, .key_offset = o->key_offset, .classes = o->classes,
		.age_us = o->age_us, .members = o->members, .wake_us = o->wake_us,
	};
	return rmc_call(d->ctx, RMC_IOC_DOM_CREATE, arg) ? create_failed(d->ctx, o, &q) : 0;
}

static int map(struct rmc_domain *d, const struct rmc_dom_create *arg)
{
	size_t slots = (size_t)arg->nodes * arg->slots, len;
	void *p;

	len = rmc_page_round(slots * arg->stride);
	p = rmc_map(d->ctx, len, PROT_READ, arg->recv_offset);
	if (p == MAP_FAILED)
		goto err;
	d->recv = (const uint8_t *)p;
	d->recv_len = len;
	len = rmc_page_round(slots * sizeof(*d->send));
	p = rmc_map(d->ctx, len, PROT_READ | PROT_WRITE, arg->send_offset);
	if (p == MAP_FAILED)
		goto err;
	d->send = (struct rmc_send_slot *)p;
	d->send_len = len;
	d->stride = arg->stride;
	if (!arg->max_answer)
		return 0;
	len = rmc_page_round(slots * arg->answer_stride);
	p = rmc_map(d->ctx, len, PROT_READ, arg->answer_offset);
	if (p == MAP_FAILED)
		goto err;
	d->answers = (const uint8_t *)p;
	d->answers_len = len;
	d->answer_stride = arg->answer_stride;
	return 0;
err:
	return rmc_fail(errno, "cannot map a domain's slots: %s", strerror(errno));
}

static int make_tables(struct rmc_domain *d)
{
	size_t slots = (size_t)d->o.nodes * d->o.slots;

	d->peer = (struct peer *)aligned_alloc(LINE, d->o.nodes * sizeof(*d->peer));
	d->slot = (struct slot *)calloc(slots, sizeof(*d->slot));
	if (!d->peer || !d->slot)
		return rmc_fail(ENOMEM, "out of memory");
	memset(d->peer, 0, d->o.nodes * sizeof(*d->peer));
	d->first_slot = rmc_member_first(d->o.slots, d->o.members, d->member);
	d->own_slots = rmc_member_first(d->o.slots, d->o.members, d->member + 1) - d->first_slot;
	d->homes = at_most(d->ctx->query.rrpps ? d->ctx->query.rrpps : 1, d->o.slots);
	return 0;
}

static void free_domain(struct rmc_domain *d)
{
	if (d->answers)
		rmc_unmap(d->ctx, (void *)(uintptr_t)d->answers, d->answers_len);
	if (d->send)
		rmc_unmap(d->ctx, d->send, d->send_len);
	if (d->recv)
		rmc_unmap(d->ctx, (void *)(uintptr_t)d->recv, d->recv_len);
	free(d->slot);
	free(d->peer);
	free(d);
}

static int attach_failed(const struct rmc_ctx *ctx, uint32_t member)
{
	int err = errno;

	if (rmc_why(ctx))
		return rmc_fail(err, "%s", rmc_why(ctx));
	switch (err) {
	case ENOTTY:
		return rmc_fail(EOPNOTSUPP, "%s", no_members);
	case ENOENT:
		return rmc_fail(err, "no process has opened the domain of context %u on node %d",
				ctx->id, ctx->query.nid);
	case EEXIST:
		return rmc_fail(err, "this process has a domain in context %u already", ctx->id);
	case EBUSY:
		return rmc_fail(err, "another process is member %u of the domain", member);
	case ENOSPC:
		return rmc_fail(err, "all members of the domain are there: open it with more of them");
	case EINVAL:
		return rmc_fail(err, "the domain has no member %u beside the one that opened it",
				member);
	case EDQUOT:
		return rmc_fail(err, "user or context may have no more memory for queues (%u, %u MiB)",
				ctx->query.queue_mib_user, ctx->query.queue_mib_context);
	default:
		return rmc_fail(err, "cannot attach to the domain: %s", strerror(err));
	}
}

/* What create() does, of a domain that exists */
static int attach(struct rmc_domain *d, struct rmc_dom_create *arg, uint32_t member)
{
	struct rmc_dom_open a = { .size = sizeof(a), .member = member };
	struct rmc_domain_options own = d->o;

	if (rmc_call(d->ctx, RMC_IOC_DOM_OPEN, &a))
		return attach_failed(d->ctx, member);
	*arg = (struct rmc_dom_create) {
		.nodes = a.nodes, .slots = a.slots, .stride = a.stride,
		.recv_offset = a.recv_offset, .send_offset = a.send_offset,
		.max_answer = a.max_answer, .answer_stride = a.answer_stride,
		.answer_offset = a.answer_offset,
	};
	d->o = (struct rmc_domain_options) {
		.first_nid = a.first_nid, .nodes = a.nodes, .slots = a.slots,
		.max_message = a.max_message, .policy = a.policy, .depth = a.depth,
		.cores = a.cores, .groups = a.groups, .flags = a.dom_flags,
		.max_answer = a.max_answer, .key_offset = a.key_offset, .classes = a.classes,
		.age_us = a.age_us, .members = a.members, .wake_us = a.wake_us,
		.entries = own.entries, .timeout_ms = own.timeout_ms ? own.timeout_ms : TIMEOUT_MS,
	};
	d->member = a.member;
	d->earlier = a.earlier;
	return 0;
}

/* member: 0: create it */
static struct rmc_domain *open_domain(struct rmc_ctx *ctx, uint32_t member,
				      const struct rmc_domain_options *options, size_t size)
{
	struct rmc_dom_destroy end = { .size = sizeof(end) };
	struct rmc_dom_create arg;
	struct rmc_domain *d;
	int err = 0;

	d = (struct rmc_domain *)aligned_alloc(LINE, (sizeof(*d) + LINE - 1) & ~(size_t)(LINE - 1));
	if (!d) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	memset(d, 0, sizeof(*d));
	if (options || !member)
		err = rmc_struct_in(&d->o, sizeof(d->o), options, size,
				    RMC_DOMAIN_OPTIONS_SIZE_VER0, "options of a domain");
	if (!err)
		err = rmc_ctx_usable(ctx);
	if (err)
		goto err_free;
	d->ctx = ctx;
	pthread_mutex_init(&d->lock, NULL);
	err = member ? attach(d, &arg, member) : create(d, &arg);
	if (err)
		goto err_free;
	if (!d->o.members)
		d->o.members = 1;
	err = map(d, &arg);
	if (!err)
		err = make_tables(d);
	if (err)
		goto err_destroy;
	rmc_log(INFO, "domain: nodes %u .. %u, %u slots, messages of %u bytes, policy %s, depth %u",
		d->o.first_nid, d->o.first_nid + d->o.nodes - 1, d->o.slots, d->o.max_message,
		rmc_domain_policy_name((int)d->o.policy), d->o.depth);
	return d;

err_destroy:
	rmc_call(ctx, RMC_IOC_DOM_DESTROY, &end);
err_free:
	free_domain(d);
	errno = -err;
	return NULL;
}

struct rmc_domain *rmc_domain_open_sized(struct rmc_ctx *ctx,
					 const struct rmc_domain_options *options, size_t size)
{
	return open_domain(ctx, 0, options, size);
}

struct rmc_domain *rmc_domain_attach_sized(struct rmc_ctx *ctx, unsigned int member,
					   const struct rmc_domain_options *options, size_t size)
{
	if (!member) {
		rmc_fail(EINVAL, "member 0 is the process that opens the domain");
		errno = EINVAL;
		return NULL;
	}
	return open_domain(ctx, member, options, size);
}

struct rmc_domain *domain_attach_ver0(struct rmc_ctx *ctx, unsigned int member,
				      const struct rmc_domain_options *options)
	RMC_VER0(rmc_domain_attach);
struct rmc_domain *domain_attach_ver0(struct rmc_ctx *ctx, unsigned int member,
				      const struct rmc_domain_options *options)
{
	return rmc_domain_attach_sized(ctx, member, options, RMC_DOMAIN_OPTIONS_SIZE_VER0);
}

struct rmc_domain *domain_open_ver0(struct rmc_ctx *ctx, const struct rmc_domain_options *options)
	RMC_VER0(rmc_domain_open_with);
struct rmc_domain *domain_open_ver0(struct rmc_ctx *ctx, const struct rmc_domain_options *options)
{
	return rmc_domain_open_sized(ctx, options, RMC_DOMAIN_OPTIONS_SIZE_VER0);
}

struct rmc_domain *rmc_domain_open(struct rmc_team *team)
{
	struct rmc_domain_options o;

	rmc_domain_defaults(&o);
	o.first_nid = (unsigned int)team->first_nid;
	o.nodes = (unsigned int)team->nodes;
	return rmc_domain_open_with(team->ctx, &o);
}

void rmc_domain_close(struct rmc_domain *d)
{
	struct rmc_dom_destroy end = { .size = sizeof(end) };

	if (!d)
		return;
	while (d->core)
		rmc_core_close(&d->core->c);
	if (!rmc_ctx_inherited(d->ctx))
		rmc_call(d->ctx, RMC_IOC_DOM_DESTROY, &end);
	free_domain(d);
}

int rmc_domain_stats(struct rmc_domain *d, struct rmc_dom_stats *stats)
{
	return rmc_call(d->ctx, RMC_IOC_DOM_STATS, stats) ? -errno : 0;
}

int rmc_domain_ended(struct rmc_domain *d)
{
	struct rmc_dom_stats s = { .size = sizeof(s) };

	return d->member && rmc_call(d->ctx, RMC_IOC_DOM_STATS, &s) && errno == ESHUTDOWN;
}

unsigned int rmc_domain_max_message(const struct rmc_domain *d)
{
	return d->o.max_message;
}

unsigned int rmc_domain_max_answer(const struct rmc_domain *d)
{
	return d->o.max_answer;
}
