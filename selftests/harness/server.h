/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stub server: the test takes requests from its rings, and sends any reply at any time.
 * Node 0 is real.
 *
 *	application --> RGP, RCP of node 0 <== rings, or a link ==> the test, as node 1 or 2
 */
#ifndef SERVER_H
#define SERVER_H

#include "setup.h"
#include "kmod/core/pipeline.h"

#define DATA	0xee		/* payload of most made-up replies */

/* The server's ends of the channel from node 0 */
struct server {
	struct testbed *w;
	struct rmc_fabric *f;		/* of its kernel */
	struct rmc_ring req, rep;
	u32 ep;
	u8 data;			/* payload of its replies */
};

static inline struct rmc_fabric *fabric(struct setup *s)
{
	return &s->w.fabric[0];
}

static inline struct rmc_out *out_to(struct setup *s, u32 nid)
{
	return s->w.node[0]->out[nid];
}

/* Node 0 is real; the others are frozen. */
static inline void setup(struct setup *s, const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	u32 i;

	k.nodes = 3;
	k.kernels = true;
	setup_make(s, &k, 32);
	s->w.frozen[1] = true;
	s->w.frozen[2] = true;
	for (i = 0; i < k.nodes; i++)
		s->w.fabric[i].dead_ms = 1000000;
	memset(lbuf, 0x11, SEG);
}

/*
 * Serve unit 0 of node 0 as endpoint @ep. Call after the first operation was posted, which
 * opens the channel.
 */
static inline void serve_at(struct server *v, struct setup *s, u32 ep)
{
	v->w = &s->w;
	v->f = testbed_fabric(&s->w, rmc_endpoint_nid(fabric(s), ep));
	v->ep = ep;
	v->data = DATA;
	testbed_rings(v->w, v->f, 0, ep, &v->req, &v->rep);
}

/* Serve as a node of one unit */
static inline void serve_as(struct server *v, struct setup *s, u32 nid)
{
	serve_at(v, s, rmc_endpoint(fabric(s), nid));
}

/* The next request, if there is one */
static inline bool take_any(struct server *v, struct rmc_desc *d)
{
	testbed_receive(v->w, rmc_endpoint_nid(v->f, v->ep));
	if (!rmc_ring_peek(&v->req, 0, d)) {
		/* what the link had no room for */
		testbed_receive(v->w, 0);
		testbed_receive(v->w, rmc_endpoint_nid(v->f, v->ep));
		if (!rmc_ring_peek(&v->req, 0, d))
			return false;
	}
	v->req.pos++;
	return true;
}

/* The next request; there must be one. */
static inline struct rmc_desc take(struct server *v)
{
	struct rmc_desc d = { 0 };

	CHECK(take_any(v, &d));
	return d;
}

static inline u32 take_all(struct server *v)
{
	struct rmc_desc d;
	u32 n = 0;

	while (take_any(v, &d))
		n++;
	return n;
}

/* Send any reply, with the lines that it claims */
static inline void put(struct server *v, u64 word0, u64 word1)
{
	u16 flags = rmc_op_flags(word0 >> 48);
	u32 lines = word0 >> 40 & 0xff ? 0 : rmc_op_echo_lines(flags, word1), i;

	for (i = 0; i < lines && i <= v->rep.pay_mask; i++)
		memset(rmc_ring_line(&v->rep, v->rep.pay_pos + i), v->data, RMC_LINE);
	v->rep.pay_pos += lines;
	rmc_ring_put(&v->rep, word0, word1);
	rmc_doorbell_ring(v->f, 0, RMC_LANE_REP, v->ep, false);
	testbed_receive(v->w, 0);
}

/* Reply to a request, with any @at and @len */
static inline void answer(struct server *v, const struct rmc_desc *d, u64 at, u32 len, u8 status)
{
	put(v, rmc_rep_echo(d->word0, status), rmc_req_word1(at, len, false));
}

/* The correct reply */
static inline void answer_well(struct server *v, const struct rmc_desc *d)
{
	put(v, rmc_rep_echo(d->word0, RMC_S_OK), d->word1);
}

/* Some visits of each worker */
static inline void visit_workers(struct setup *s)
{
	u32 i;

	for (i = 0; i < 4; i++)
		testbed_visit(&s->w);
}

/* No more credits, lines and holds than exist */
static inline void check_bounds(struct setup *s)
{
	struct rmc_out *out = out_to(s, 1);

	CHECK(out->credits <= out->req.mask + 1);
	CHECK(out->req_lines <= out->req.pay_mask + 1);
	CHECK(out->rep_lines <= out->rep.pay_mask + 1);
	CHECK(out->held <= out->req.mask + 1);
	CHECK(out->held_lines <= out->rep.pay_mask + 1);
	CHECK(out->xfers <= RMC_XFERS);
}

static inline bool untouched(const u8 *p, u32 n)
{
	while (n && *p == 0x11) {
		p++;
		n--;
	}
	return !n;
}

/* Number of free and of quarantined ITT entries of node 0; all of them if nothing is in flight */
static inline u32 itt_free(struct setup *s, u32 *quarantined)
{
	struct rmc_itt *itt = &s->w.node[0]->itt;
	u32 n = 0;
	u16 tid;

	for (*quarantined = 0, tid = itt->quarantined; tid != RMC_TID_NONE && *quarantined <= itt->size;
	     tid = itt->entry[tid].next)
		++*quarantined;
	for (tid = itt->free; tid != RMC_TID_NONE && n <= itt->size; tid = itt->entry[tid].next)
		n++;
	return n;
}

static inline int status_of(struct setup *s)
{
	u32 slot, status;

	visit_workers(s);
	return app_poll(&s->a, &slot, &status) ? (int)status : -1;
}

/* Let all operations in flight time out */
static inline void time_out(struct setup *s)
{
	u32 i;

	for (i = 0; i < 20; i++)
		testbed_tick(&s->w, fabric(s)->timeout_ms / 16 + 1);
}

#endif
