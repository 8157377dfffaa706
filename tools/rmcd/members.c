// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that share the domain of another one, as kmod/dev/members.c. Each has send slots of its
 * own (kmod/core/part.h), and cores. The creator's end is that of all.
 */
#include <errno.h>
#include "domain.h"
#include "kmod/core/part.h"

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* No RRPP uses the send slots after this. */
static void withdraw(struct rmcd_domain *dom, u32 number)
{
	struct rmc_node *head = dom->d.head;
	u32 i;

	rmc_part_set(&dom->d, number, NULL);
	for (i = 0; i < rmc_fabric_units(head->fabric); i++)
		rmcd_call(head->unit[i]->srv_worker, nothing, NULL);
}

/* @ended: by another connection */
static void part(struct rmcd_file *f, bool ended)
{
	struct rmcd_domain *dom = f->domain;
	struct rmcd_member *m = &dom->other[f->member];

	rmcd_domain_detach_all(f);
	withdraw(dom, f->member);
	rmcd_slots_free(&m->send);
	rmcd_uncharge(f, RMCD_RES_queue_mib, m->kib);
	m->file = NULL;
	f->domain = NULL;
	f->member = 0;
	f->dom_ended = ended;
}

/**
 * rmcd_members_end() - a domain ends for all other connections
 * @dom: domain
 */
void rmcd_members_end(struct rmcd_domain *dom)
{
	u32 i;

	for (i = 1; i < dom->members; i++)
		if (dom->other[i].file)
			part(dom->other[i].file, true);
}

/**
 * rmcd_member_leave() - a connection leaves the domain that another one has created
 * @f: file
 *
 * Return: false: it has none, or its own.
 */
bool rmcd_member_leave(struct rmcd_file *f)
{
	if (!f->member)
		return false;
	part(f, false);
	return true;
}

/* Of a member that no connection is: @want, or any; or an error */
static int choose(const struct rmcd_domain *dom, u32 want)
{
	u32 i;

	if (want != RMC_DOM_ANY_MEMBER) {
		if (!want || want >= dom->members)
			return -EINVAL;
		return dom->other[want].file ? -EBUSY : (int)want;
	}
	for (i = 1; i < dom->members; i++)
		if (!dom->other[i].file)
			return (int)i;
	return -ENOSPC;
}

static void describe(const struct rmcd_domain *dom, struct rmc_dom_open *o)
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
	o->recv_offset = 0;
	o->send_offset = 0;
	o->max_answer = d->p.max_answer;
	o->answer_stride = d->answer_stride;
	o->answer_offset = 0;
	o->key_offset = d->key_offset;
	o->classes = dom->classes;
	o->age_us = dom->age_us;
	o->wake_us = dom->wake_us;
	o->dom_flags = (dom->requeue ? RMC_DOM_REQUEUE : 0) | (d->keyed ? RMC_DOM_KEY : 0);
}

static int join(struct rmcd_file *f, struct rmcd_domain *dom, u32 number)
{
	u64 bytes = (u64)dom->d.p.nodes * dom->d.p.slots * sizeof(struct rmc_send_slot);
	struct rmcd_member *m = &dom->other[number];
	struct rmc_mem *send;
	int err;

	m->kib = (u32)(bytes / 1024) + 1;
	err = rmcd_charge(f, RMCD_RES_queue_mib, m->kib);
	if (err)
		return err;
	m->send.fd = -1;
	err = rmcd_slots_make(&m->send, &send, "rmc-send", bytes, false);
	if (err) {
		rmcd_uncharge(f, RMCD_RES_queue_mib, m->kib);
		return err;
	}
	rmc_part_set(&dom->d, number, send);
	m->file = f;
	f->domain = dom;
	f->member = number;
	f->dom_ended = false;
	return 0;
}

/**
 * rmcd_domain_open() - RMC_IOC_DOM_OPEN
 * @f: file, attached
 * @o: member, any value; out: the rest
 *
 * Return: 0, -ENOENT there is no domain, -EEXIST this file has one, -EBUSY another file is this
 * member, -ENOSPC all are there, -EINVAL, -EDQUOT exceeds a quota, -ENOMEM, -EMFILE.
 */
int rmcd_domain_open(struct rmcd_file *f, struct rmc_dom_open *o)
{
	struct rmc_domain *d = f->node->domains.dom[f->ctx->id];
	struct rmcd_domain *dom;
	int number, err;

	if (f->domain)
		return -EEXIST;
	if (!d)
		return -ENOENT;
	/* it is its first member */
	dom = (struct rmcd_domain *)(void *)d;
	number = choose(dom, o->member);
	err = number < 0 ? number : join(f, dom, (u32)number);
	if (err)
		return err;
	describe(dom, o);
	o->member = (u32)number;
	o->earlier = dom->other[number].opened++;
	return 0;
}

/**
 * rmcd_domain_send_fd() - the send slots of a file
 * @f: file with a domain
 *
 * Return: their sealed file.
 */
int rmcd_domain_send_fd(const struct rmcd_file *f)
{
	return f->member ? f->domain->other[f->member].send.fd : f->domain->send.fd;
}
