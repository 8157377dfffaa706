// SPDX-License-Identifier: GPL-2.0
/*
 * Model of a network adapter: the times of its parts. core/adapter.c has what it does to memory.
 *
 * Atomics hold a slot of a lock table that is chosen by the lowest 12 bits of the address, so words
 * that are 4 KiB apart wait for each other as if they were one (R25 3.2). The filter only knows the
 * offset in the segment, which has these bits if the segment begins on a page.
 */
#include "stages.h"

/**
 * rmc_rnic_check() - validate an adapter
 * @r: adapter, any values
 * @mtu: of the fabric
 *
 * Return: 0; -ERANGE: a number is too large; -EMSGSIZE: packets are too long for @r->any_lines.
 */
int rmc_rnic_check(const struct rmc_rnic *r, u32 mtu)
{
	if (r->any_lines > 1 || r->gap_ns > RMC_RNIC_NS_MAX || r->msg_ps > RMC_RNIC_NS_MAX ||
	    r->cas_ns > RMC_RNIC_NS_MAX || r->faa_ns > RMC_RNIC_NS_MAX ||
	    r->buffer_ns > RMC_RNIC_NS_MAX || r->qp_miss_ns > RMC_RNIC_NS_MAX ||
	    r->qp_cache > RMC_MAX_QPS)
		return -ERANGE;
	return r->any_lines && mtu > RMC_RNIC_MTU_MAX ? -EMSGSIZE : 0;
}

/**
 * rmc_rnic_set_server() - set the server's half of an adapter
 * @l: links of the unit; the caller is its RRPP's worker
 * @r: adapter, checked
 * @seed: seed of its random numbers; 0: keep the current sequence
 *
 * Return: 0 or -ENOMEM; then there is no adapter. Context: worker, does not sleep.
 */
int rmc_rnic_set_server(struct rmc_links *l, const struct rmc_rnic *r, u64 seed)
{
	struct rmc_rnic_server *s = l->rnic_server;

	if (rmc_rnic_on(r) && !s)
		s = rmc_os_zalloc_atomic(sizeof(*s));
	if (!rmc_rnic_on(r) || !s) {
		rmc_os_free_atomic(l->rnic_server);
		l->rnic_server = NULL;
		memset(&l->rnic, 0, sizeof(l->rnic));
		return rmc_rnic_on(r) ? -ENOMEM : 0;
	}
	memset(s, 0, sizeof(*s));
	l->rnic_server = s;
	l->rnic = *r;
	if (seed)
		l->rnic_rng = seed;
	return 0;
}

/**
 * rmc_rnic_set_client() - set the requester's half of an adapter
 * @l: links of the unit; the caller is its RGP's worker
 * @r: adapter, checked
 * @seed: seed of its random numbers; 0: a fixed one
 *
 * Return: 0 or -ENOMEM; then there is no such half. Context: worker, does not sleep.
 */
int rmc_rnic_set_client(struct rmc_links *l, const struct rmc_rnic *r, u64 seed)
{
	struct rmc_rnic_client *c;

	rmc_os_free_atomic(l->rnic_client);
	l->rnic_client = NULL;
	if (!r->qp_cache || !r->qp_miss_ns)
		return 0;
	c = rmc_os_zalloc_atomic(sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->rng = seed ?: 1;
	c->miss_ns = r->qp_miss_ns;
	c->most = r->qp_cache;
	l->rnic_client = c;
	return 0;
}

/**
 * rmc_rnic_send() - a queue pair sends a request
 * @c: requester's adapter
 * @qp: number of the queue pair, any value, or RMC_RNIC_NO_QP
 * @now: time, nanoseconds
 *
 * Return: when the request leaves. Context: worker, does not sleep.
 */
u64 rmc_rnic_send(struct rmc_rnic_client *c, u32 qp, u64 now)
{
	u16 place;

	if (qp == RMC_RNIC_NO_QP)
		return max(now, c->busy_ns);
	qp %= RMC_MAX_QPS;
	if (c->place[qp])
		return max(now, c->busy_ns);
	c->misses++;
	place = c->used;
	if (c->used == c->most) {
		place = rmc_random_below(&c->rng, c->most);
		c->place[c->number[place]] = 0;
	} else {
		c->used++;
	}
	c->number[place] = qp;
	c->place[qp] = place + 1;
	c->busy_ns = max(now, c->busy_ns) + c->miss_ns;
	return c->busy_ns;
}

/* Request and reply pass the port, each in its direction. */
static u64 pass_port(const struct rmc_links *l, struct rmc_filter *flt, const struct rmc_packet *p)
{
	struct rmc_rnic_server *s = l->rnic_server;
	u64 byte_fs = rmc_os_div(8000000000ULL, l->rnic.mbps), due;
	u32 lines = rmc_op_echo_lines(rmc_op_flags((u8)(p->word0 >> 48)), p->word1);
	/* from a peer, as in rmc_packet_bytes() */
	u32 reply = min(lines, l->fabric->mtu / RMC_LINE);
	u32 bytes = rmc_packet_bytes(l, flt, p);

	due = max(p->due_ns, s->in_ns + rmc_os_div(bytes * byte_fs, 1000000));
	s->in_ns = due;
	/* the reply begins when those before it have left */
	due = max(due, s->out_ns);
	s->out_ns = due + rmc_os_div((RMC_PACKET_HEADER + reply * RMC_LINE) * byte_fs, 1000000);
	return due;
}

/* Each message occupies the adapter. */
static u64 pass_messages(const struct rmc_rnic *r, struct rmc_rnic_server *s, u64 now)
{
	u64 ps;

	if (now > s->busy_ns) {
		s->busy_ns = now;
		s->busy_ps = 0;
	}
	ps = (u64)s->busy_ps + r->msg_ps;
	s->busy_ns += rmc_os_div(ps, 1000);
	s->busy_ps = ps - rmc_os_div(ps, 1000) * 1000;
	return s->busy_ns;
}

/**
 * rmc_arrival_rnic() - requests take their time in the server's adapter
 * @l: links of the unit
 * @flt: filter
 * @p: packet
 *
 * Context: worker, does not sleep.
 */
void rmc_arrival_rnic(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p)
{
	const struct rmc_rnic *r = &l->rnic;
	struct rmc_rnic_server *s = l->rnic_server;
	u64 *lock;
	u8 op = p->word0 >> 48;
	u32 ns;

	if (flt->lane != RMC_LANE_REQ || !s)
		return;
	if (r->mbps)
		p->due_ns = pass_port(l, flt, p);
	if (r->msg_ps)
		p->due_ns = pass_messages(r, s, p->due_ns);
	if (rmc_rank(rmc_op_flags(op)) != RMC_RANK_ATOMIC)
		return;
	ns = op == RMC_OP_FAA ? r->faa_ns : r->cas_ns;
	lock = &s->lock_ns[rmc_word1_offset(p->word1) % RMC_RNIC_LOCK_BYTES / 8];
	if (ns) {
		*lock = max(*lock, p->due_ns) + ns;
		p->due_ns = *lock;
	}
}
