// SPDX-License-Identifier: GPL-2.0
/*
 * Begins and ends domains, also of files that share that of another one. Each has send slots of its
 * own (part.h), and cores. The creator's end is that of all.
 */
#include <linux/slab.h>
#include <linux/sizes.h>
#include "context.h"
#include "dev.h"
#include "file_domain.h"
#include "quota.h"

/* Other files may open the domain that the file has created. */
static void begin(struct rmc_file *f)
{
	struct rmc_file_domain *dom = f->domain;

	mutex_lock(&f->ctx->dom_lock);
	dom->opened[0] = 1;
	list_add_tail(&dom->link, &f->ctx->domains);
	mutex_unlock(&f->ctx->dom_lock);
}

static int nothing(void *arg)
{
	return 0;
}

/* No RRPP uses the send slots after this. Not under rmc_file.lock: workers may be busy for long. */
static void withdraw(struct rmc_file_domain *dom, const struct rmc_member *m)
{
	struct rmc_node *head = dom->d.head;
	u32 i;

	rmc_part_set(&dom->d, m->number, NULL);
	for (i = 0; i < rmc_fabric_units(head->fabric); i++)
		rmc_worker_call(head->unit[i]->srv_worker, nothing, NULL);
}

/* @ended: by another file */
static void part(struct rmc_file_domain *dom, struct rmc_member *m, bool ended)
{
	struct rmc_file *f = m->file;
	struct rmc_queues *q;
	unsigned long id;

	lockdep_assert_held(&f->ctx->dom_lock);
	mutex_lock(&f->lock);
	xa_for_each(&f->qp, id, q)
		rmc_dom_detach(f, q);
	f->domain = NULL;
	f->member = NULL;
	f->dom_ended = ended;
	mutex_unlock(&f->lock);
	withdraw(dom, m);
	rmc_umem_put(m->send);
	rmc_uncharge(f, RMC_RES_queue_mib, m->kib);
	list_del(&m->link);
	kfree(m);
}

/* The domain that the file has created ends for all others. */
static void end(struct rmc_file *f)
{
	struct rmc_file_domain *dom = f->domain;
	struct rmc_member *m, *next;

	mutex_lock(&f->ctx->dom_lock);
	list_del_init(&dom->link);
	list_for_each_entry_safe(m, next, &dom->others, link)
		part(dom, m, true);
	mutex_unlock(&f->ctx->dom_lock);
}

/* The file leaves the domain that another one has created. False: it has none, or its own. */
static bool leave(struct rmc_file *f)
{
	bool left;

	/* also of a file that has none: the creator may still be at it */
	mutex_lock(&f->ctx->dom_lock);
	left = f->member;
	if (left)
		part(f->domain, f->member, false);
	mutex_unlock(&f->ctx->dom_lock);
	return left;
}

static struct rmc_file_domain *find(const struct rmc_file *f)
{
	struct rmc_file_domain *dom;

	list_for_each_entry(dom, &f->ctx->domains, link)
		if (dom->d.head == f->node)
			return dom;
	return NULL;
}

/* Of a member that no file is: @want, or any; or an error */
static int choose(const struct rmc_file_domain *dom, u32 want)
{
	u64 used = 1;
	const struct rmc_member *m;
	u32 n;

	list_for_each_entry(m, &dom->others, link)
		used |= BIT_ULL(m->number);
	if (want != RMC_DOM_ANY_MEMBER) {
		if (!want || want >= dom->members)
			return -EINVAL;
		return used & BIT_ULL(want) ? -EBUSY : want;
	}
	n = ffz(used);
	return n < dom->members ? n : -ENOSPC;
}

static void describe(const struct rmc_file_domain *dom, struct rmc_dom_open *o)
{
	const struct rmc_domain *d = &dom->d;

	o->members = dom->members;
	o->first_nid = d->p.first_nid;
	o->nodes = d->p.nodes;
	o->slots = d->p.slots;
	o->max_message = d->p.max_message;
	o->policy = dom->policy;
	o->depth = dom->depth;
	o->cores = d->cores_max;
	o->groups = dom->groups;
	o->stride = d->stride;
	o->life = d->life;
	o->recv_offset = rmc_map_offset(RMC_MAP_RECV, 0);
	o->send_offset = rmc_map_offset(RMC_MAP_SEND, 0);
	o->max_answer = d->p.max_answer;
	o->answer_stride = d->answer_stride;
	o->answer_offset = dom->answers ? rmc_map_offset(RMC_MAP_ANSWER, 0) : 0;
	o->key_offset = d->key_offset;
	o->classes = dom->classes;
	o->age_us = dom->age_us;
	o->wake_us = dom->wake_us;
	o->dom_flags = (dom->requeue ? RMC_DOM_REQUEUE : 0) | (d->keyed ? RMC_DOM_KEY : 0);
}

static int make_send(struct rmc_file *f, struct rmc_file_domain *dom, struct rmc_member *m)
{
	u64 bytes = (u64)dom->d.p.nodes * dom->d.p.slots * sizeof(struct rmc_send_slot);
	int err;

	m->kib = bytes / SZ_1K + 1;
	err = rmc_charge(f, RMC_RES_queue_mib, m->kib);
	if (err)
		return err;
	m->send = rmc_umem_alloc(bytes, NUMA_NO_NODE, false);
	if (!IS_ERR(m->send))
		return 0;
	rmc_uncharge(f, RMC_RES_queue_mib, m->kib);
	return PTR_ERR(m->send);
}

static int join(struct rmc_file *f, struct rmc_file_domain *dom, u32 number)
{
	struct rmc_member *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	int err;

	if (!m)
		return -ENOMEM;
	m->file = f;
	m->number = number;
	err = make_send(f, dom, m);
	if (err) {
		kfree(m);
		return err;
	}
	rmc_part_set(&dom->d, number, &m->send->mem);
	list_add_tail(&m->link, &dom->others);
	mutex_lock(&f->lock);
	f->domain = dom;
	f->member = m;
	f->dom_ended = false;
	rmc_file_own(f);
	mutex_unlock(&f->lock);
	return 0;
}

static int open_domain(struct rmc_file *f, struct rmc_dom_open *o)
{
	struct rmc_file_domain *dom;
	int number, err;

	lockdep_assert_held(&f->dom_lock);
	mutex_lock(&f->ctx->dom_lock);
	dom = find(f);
	err = f->domain ? -EEXIST : dom ? 0 : -ENOENT;
	if (err)
		goto out;
	number = choose(dom, o->member);
	err = number < 0 ? number : join(f, dom, number);
	if (err)
		goto out;
	describe(dom, o);
	o->member = number;
	o->earlier = dom->opened[number]++;
out:
	mutex_unlock(&f->ctx->dom_lock);
	return err;
}

/**
 * rmc_dom_open() - RMC_IOC_DOM_OPEN
 * @f: file, not locked, attached
 * @o: member, any value; out: the rest
 *
 * Return: 0, -ENOENT there is no domain, -EEXIST this file has one, -EBUSY another file is this
 * member, -ENOSPC all are there, -EINVAL, -EDQUOT exceeds a quota, -ENOMEM. Context: may sleep.
 */
int rmc_dom_open(struct rmc_file *f, struct rmc_dom_open *o)
{
	int err;

	mutex_lock(&f->dom_lock);
	err = open_domain(f, o);
	mutex_unlock(&f->dom_lock);
	return err;
}

/**
 * rmc_dom_begin() - RMC_IOC_DOM_CREATE
 * @f: file, not locked, attached
 * @c: parameters, any values; out: the rest
 *
 * Return: 0, -EINVAL, -EEXIST the context has one on this node, -EDQUOT exceeds a quota, -ENOMEM,
 * -EINTR fatal signal. Context: may sleep.
 */
int rmc_dom_begin(struct rmc_file *f, struct rmc_dom_create *c)
{
	int err;

	mutex_lock(&f->dom_lock);
	err = rmc_dom_make(f, c);
	if (!err)
		begin(f);
	mutex_unlock(&f->dom_lock);
	return err;
}

/**
 * rmc_dom_unlist() - what precedes rmc_dom_destroy()
 * @f: file, whose dom_lock the caller holds, but not its lock
 *
 * If the file has created its domain, no other one has it after this, nor is there a directory. If
 * it has opened it, it has left it.
 *
 * Return: true: it has left one. Context: may sleep; no signal shortens it.
 */
bool rmc_dom_unlist(struct rmc_file *f)
{
	lockdep_assert_held(&f->dom_lock);
	lockdep_assert_not_held(&f->lock);
	if (leave(f))
		return true;
	if (!f->domain)
		return false;
	end(f);
	if (f->domain->dir)
		rmc_sysfs_domain_del(f->domain->dir);
	f->domain->dir = NULL;
	return false;
}
