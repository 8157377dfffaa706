/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Opens and closes cores: a queue pair, an arrival queue, and memory for what is sent. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "state.h"

#define DATA		(16U << 20)	/* bytes for messages that are under way, of a core, */
#define MESSAGES	4		/* but so many messages at least */

/* The arrival queue of a core that gets nothing: its entry is never of the first lap. */
static const struct rmc_aq_entry no_arrivals;

static int attach_failed(const struct rmc_domain *d, unsigned int group)
{
	int err = errno;

	if (rmc_why(d->ctx))
		return rmc_fail(err, "%s", rmc_why(d->ctx));
	if (err == ENOSPC && d->o.members > 1)
		return rmc_fail(err, "the domain was opened for %u cores of %u processes, and this one has its part",
				d->o.cores, d->o.members);
	if (err == ENOSPC)
		return rmc_fail(err, "the domain was opened for %u cores, and has them", d->o.cores);
	if (err == ESHUTDOWN && d->member)
		return rmc_fail(err, "the process that opened the domain has closed it");
	if (err == EINVAL && d->o.policy == RMC_DOM_CLASS)
		return rmc_fail(err, "no such core: mask %#x of %u classes", group, d->o.classes);
	if (err == EINVAL)
		return rmc_fail(err, "no such core: group %u of %u", group, d->o.groups);
	return rmc_fail(err, "cannot make a core: %s", strerror(err));
}

static int attach(struct core *c, unsigned int group, unsigned int flags)
{
	struct rmc_domain *d = c->c.domain;
	struct rmc_dom_attach arg = {
		.size = sizeof(arg), .qp_id = c->c.qp->id,
		.flags = flags & RMC_CORE_SEND_ONLY ? RMC_DOM_SEND_ONLY : 0,
	};
	size_t len;
	void *p;

	if (d->o.policy == RMC_DOM_CLASS)
		arg.classes = group;
	else
		arg.group = group;
	if (rmc_call(d->ctx, RMC_IOC_DOM_ATTACH, &arg))
		return attach_failed(d, group);
	c->c.aq = &no_arrivals;
	c->c.entries = 1;
	c->c.number = ~0U;
	if (arg.flags & RMC_DOM_SEND_ONLY)
		return 0;
	len = rmc_page_round((size_t)arg.aq_entries * sizeof(struct rmc_aq_entry));
	p = rmc_map(d->ctx, len, PROT_READ, arg.aq_offset);
	if (p == MAP_FAILED)
		return rmc_fail(errno, "cannot map an arrival queue: %s", strerror(errno));
	c->c.number = arg.core;
	c->aq_len = len;
	c->all = (const struct rmc_aq_entry *)p;
	c->all_entries = arg.aq_entries;
	c->c.pulls = d->o.policy == RMC_DOM_SHARED;
	if (c->c.pulls)
		return 0;
	c->c.aq = c->all;
	c->c.entries = arg.aq_entries;
	return 0;
}

/* Cores look for free slots in different places: evenly, however many there are. */
static void spread(struct core *c)
{
	struct rmc_domain *d = c->c.domain;
	uint32_t head = (uint32_t)((uint64_t)(d->opened * 0x9e3779b9U) * d->own_slots >> 32), i;

	for (i = 0; i < d->o.nodes; i++)
		c->link[i].head = head;
	rmc_store_relaxed(&d->opened, d->opened + 1);
}

/* Each message has a piece of a local buffer, which begins with a line. */
static int make_messages(struct core *c)
{
	const struct rmc_domain *d = c->c.domain;
	size_t piece = (d->o.max_message + LINE - 1) & ~(size_t)(LINE - 1);
	uint32_t n = c->c.qp->entries, i;
	int id;

	if (n > DATA / piece)
		n = DATA / piece > MESSAGES ? (uint32_t)(DATA / piece) : MESSAGES;
	c->message = (struct message *)calloc(n, sizeof(*c->message));
	c->op = (struct op *)calloc(c->c.qp->entries, sizeof(*c->op));
	if (!c->message || !c->op)
		return rmc_fail(ENOMEM, "out of memory");
	id = rmc_buf_alloc(d->ctx, n * piece, -1, &c->buf);
	if (id < 0)
		return id;
	c->buf_id = id;
	c->messages = n;
	for (i = n; i-- > 0;) {
		c->message[i].data = (uint8_t *)c->buf + i * piece;
		c->message[i].next = c->free;
		c->free = &c->message[i];
	}
	return 0;
}

static struct core *new_core(struct rmc_domain *d)
{
	struct core *c = (struct core *)aligned_alloc(LINE, (sizeof(*c) + LINE - 1) &
							    ~(size_t)(LINE - 1));
	uint32_t i;

	if (!c)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->link = (struct link *)calloc(d->o.nodes, sizeof(*c->link));
	if (!c->link) {
		free(c);
		return NULL;
	}
	for (i = 0; i < d->o.nodes; i++)
		c->link[i].status = RMC_S_NO_DOMAIN;
	c->c.domain = d;
	c->c.recv = d->recv;
	c->c.first_nid = d->o.first_nid;
	c->c.slots = d->o.slots;
	c->c.stride = d->stride;
	c->buf_id = -1;
	list_init(&c->doubt);
	list_init(&c->parked);
	return c;
}

static int join_all(struct core *c)
{
	struct rmc_domain *d = c->c.domain;
	uint64_t deadline = rmc_deadline((int)d->o.timeout_ms);
	uint32_t peer;
	int err;

	for (peer = 0; peer < d->o.nodes; peer++) {
		err = rmc_core_join_by(c, peer, deadline);
		if (err == RMC_S_DOMAIN_MISMATCH)
			return rmc_fail(EINVAL, "node %d has a domain of other nodes, slots or messages",
					nid_of(d, peer));
		if (err > 0)
			return rmc_fail(ETIMEDOUT, "node %d has not opened its domain in time: %s",
					nid_of(d, peer), rmc_strerror(err));
		if (err)
			return rmc_fail(-err, "cannot join node %d: %s", nid_of(d, peer),
					rmc_strerror(err));
	}
	return 0;
}

/* Calls that go on: others may have their slots when the peer has processed the messages. */
static void end_calls(struct core *c)
{
	struct rmc_domain *d = c->c.domain;
	size_t slots = (size_t)d->o.nodes * d->o.slots, i;

	for (i = 0; d->o.max_answer && i < slots; i++)
		if (rmc_load_relaxed(&d->slot[i].by) == &c->c)
			rmc_slot_end_call(c, &d->slot[i]);
}

/* What was in flight, or in doubt, may be at the peer or not. */
static void abandon_all(struct core *c)
{
	struct message *m;
	uint32_t i;

	while ((m = list_pop(&c->doubt)) || (m = list_pop(&c->parked)))
		rmc_message_abandon(c, m);
	for (i = 0; c->op && i < c->c.qp->entries; i++) {
		/* none of the others has a slot */
		if (c->op[i].kind != OP_SEND && c->op[i].kind != OP_ASK)
			continue;
		if (c->op[i].m)
			rmc_message_abandon(c, c->op[i].m);
		else if (c->op[i].kind == OP_ASK)
			rmc_slot_release(c->c.domain,
					 slot_of(c->c.domain, c->op[i].peer, c->op[i].slot));
	}
}

/* The queue pair ends first: then nothing more is sent from the buffer. */
static void free_core(struct core *c)
{
	struct rmc_ctx *ctx = c->c.domain->ctx;
	uint32_t entries = c->c.qp ? c->c.qp->entries : 0;
	struct rmc_qp ended = { .entries = entries };

	rmc_qp_destroy(c->c.qp);
	c->c.qp = &ended;
	rmc_room_unwait(c);
	end_calls(c);
	abandon_all(c);
	if (c->aq_len)
		rmc_unmap(ctx, (void *)(uintptr_t)c->all, c->aq_len);
	if (c->buf_id >= 0)
		rmc_buf_unregister(ctx, c->buf_id);
	free(c->message);
	free(c->op);
	free(c->link);
	free(c);
}

static void unlink_core(struct core *c)
{
	struct core **at;

	for (at = &c->c.domain->core; *at; at = &(*at)->next) {
		if (*at == c) {
			*at = c->next;
			return;
		}
	}
}

struct rmc_core *rmc_core_open(struct rmc_domain *d, unsigned int group, unsigned int flags)
{
	int err = rmc_ctx_usable(d->ctx);
	struct core *c;

	if (err)
		return NULL;
	if (flags & ~(RMC_CORE_SEND_ONLY | RMC_CORE_NO_JOIN)) {
		rmc_fail(EINVAL, "flags of a core: %#x", flags);
		return NULL;
	}
	c = new_core(d);
	if (!c) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	/* threads open their cores at the same time, and a context has no lock */
	pthread_mutex_lock(&d->lock);
	c->c.qp = rmc_qp_create(d->ctx, d->o.entries);
	err = c->c.qp ? attach(c, group, flags) : -errno;
	if (!err)
		err = make_messages(c);
	if (err) {
		free_core(c);
	} else {
		spread(c);
		c->next = d->core;
		d->core = c;
	}
	pthread_mutex_unlock(&d->lock);
	if (!err && !(flags & RMC_CORE_NO_JOIN)) {
		err = join_all(c);
		if (err)
			rmc_core_close(&c->c);
	}
	if (!err)
		return &c->c;
	errno = -err;
	return NULL;
}

void rmc_core_close(struct rmc_core *core)
{
	struct rmc_domain *d;

	if (!core)
		return;
	d = core->domain;
	/* in a child, another thread of the parent may have held the lock */
	if (rmc_ctx_inherited(d->ctx)) {
		unlink_core(to_core(core));
		free_core(to_core(core));
		return;
	}
	rmc_core_settle(to_core(core), rmc_deadline(CLOSE_MS));
	pthread_mutex_lock(&d->lock);
	unlink_core(to_core(core));
	free_core(to_core(core));
	pthread_mutex_unlock(&d->lock);
}
