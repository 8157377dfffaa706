/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Rendezvous (T18 section 5.4): a message that is too long for a slot says where it lies, and its
 * receiver reads it.
 */
#include <errno.h>
#include <string.h>
#include "state.h"

/* The message of an offer */
struct offer {
	uint64_t offset;		/* in the sender's segment */
	uint64_t len;
};

int rmc_offer(struct rmc_core *core, int nid, uint64_t offset, uint64_t len, unsigned int flags,
	      struct rmc_call *call)
{
	struct offer o = { offset, len };

	if (!len || flags & ~RMC_SEND_DONTWAIT)
		return -EINVAL;
	return rmc_call_send(core, nid, &o, sizeof(o), flags | RMC_SEND_OFFER, call);
}

static int offer_of(struct rmc_core *core, const struct rmc_arrival *m, struct offer *o)
{
	if (m->kind != RMC_AQ_OFFER || m->len != sizeof(*o) || !has_peer(core->domain, (int)m->nid))
		return -EINVAL;
	memcpy(o, m->head, sizeof(*o));
	return o->len ? 0 : -EPROTO;
}

/* Post what the queue pair has entries for. */
static void post_reads(struct core *c, int nid, const struct offer *o, uint8_t *buf, uint64_t *posted)
{
	uint32_t most = c->c.domain->ctx->query.max_length, entry;
	uint64_t len;

	while (*posted < o->len && !c->fetched && has_entry(c)) {
		len = o->len - *posted < most ? o->len - *posted : most;
		entry = c->c.qp->head & c->c.qp->mask;
		c->op[entry] = (struct op) { .kind = OP_FETCH };
		c->fetching++;
		rmc_issue(c->c.qp, RMC_OP_READ, (int)entry, nid, o->offset + *posted, buf + *posted,
			  len);
		*posted += len;
	}
}

int rmc_fetch(struct rmc_core *core, const struct rmc_arrival *m, void *buf, size_t size, size_t *len)
{
	struct core *c = to_core(core);
	unsigned int spins = 0;
	uint64_t posted = 0;
	struct offer o;
	int err = offer_of(core, m, &o);

	if (err)
		return err;
	*len = o.len;
	if (o.len > size)
		return -EMSGSIZE;
	c->fetched = 0;
	for (;;) {
		err = rmc_core_poll(core);
		if (err)
			return err;
		post_reads(c, (int)m->nid, &o, (uint8_t *)buf, &posted);
		if (!c->fetching && (posted == o.len || c->fetched))
			return c->fetched;
		err = rmc_relax(core->qp, &spins);
		if (err)
			return err;
	}
}
