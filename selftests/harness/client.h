/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stub requester: the test puts requests with any values into its rings, and polls for
 * replies at any time. The node that serves it is real.
 *
 *	the test, as a frozen node <== rings, or a link ==> RRPP, ATT of a node
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "testbed.h"

/* Its ends of the channel to a unit */
struct client {
	struct testbed *w;
	struct rmc_fabric *f;		/* of its kernel */
	struct rmc_ring req, rep;
	u32 ep, to;
};

/* As endpoint @ep, of endpoint @to. Each node has a kernel of its own. */
static inline void client_init_at(struct client *c, struct testbed *w, u32 ep, u32 to)
{
	u32 nid = rmc_endpoint_nid(w->fabric, ep);

	c->w = w;
	c->f = testbed_fabric(w, nid);
	c->ep = ep;
	c->to = to;
	w->frozen[nid] = true;
	testbed_rings(w, c->f, ep, to, &c->req, &c->rep);
}

/* As unit 0 of node @nid */
static inline void client_init(struct client *c, struct testbed *w, u32 nid, u32 to)
{
	client_init_at(c, w, rmc_endpoint(w->fabric, nid), to);
}

static inline void client_send(struct client *c, u64 word0, u64 word1)
{
	rmc_ring_put(&c->req, word0, word1);
	rmc_doorbell_ring(c->f, c->to, RMC_LANE_REQ, c->ep, false);
	testbed_receive(c->w, rmc_endpoint_nid(c->f, c->to));
}

/* The next reply, if there is one */
static inline bool client_reply(struct client *c, struct rmc_rep *r)
{
	struct rmc_desc d;

	testbed_receive(c->w, rmc_endpoint_nid(c->f, c->ep));
	if (!rmc_ring_peek(&c->rep, 0, &d)) {
		/* what the link had no room for */
		testbed_receive(c->w, rmc_endpoint_nid(c->f, c->to));
		testbed_receive(c->w, rmc_endpoint_nid(c->f, c->ep));
		if (!rmc_ring_peek(&c->rep, 0, &d))
			return false;
	}
	c->rep.pos++;
	rmc_rep_parse(r, &d);
	return true;
}

/* True if its doorbell was rung since the last call. A requester that sleeps polls nothing else. */
static inline bool client_called(struct client *c)
{
	u64 *word = rmc_doorbell_word(c->f, c->ep, RMC_LANE_REP, c->to);
	bool called;

	testbed_receive(c->w, rmc_endpoint_nid(c->f, c->ep));
	called = *word >> c->to % 64 & 1;
	rmc_os_andnot64(word, 1ULL << c->to % 64);
	return called;
}

#endif
