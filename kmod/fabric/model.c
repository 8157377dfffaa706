// SPDX-License-Identifier: GPL-2.0
/* Link model: distances and routes, and when a reply arrives. */
#include "stages.h"

static u32 dimensions(const struct rmc_model *m)
{
	switch (m->topology) {
	case RMC_TOPOLOGY_TORUS2D:
		return 2;
	case RMC_TOPOLOGY_TORUS3D:
		return 3;
	default:
		return 0;
	}
}

/**
 * rmc_model_check() - validate a model
 * @m: model
 * @nodes: nodes of the fabric
 *
 * Return: 0; -EINVAL: unknown topology; -ERANGE: a number is too large; -ENOSPC: a
 * torus with fewer places than the fabric has nodes.
 */
int rmc_model_check(const struct rmc_model *m, u32 nodes)
{
	u32 i, n = dimensions(m);
	u64 places = 1;

	if (m->topology > RMC_TOPOLOGY_RACKS)
		return -EINVAL;
	if (m->hop_ns > RMC_MODEL_NS_MAX || m->base_ns > RMC_MODEL_NS_MAX ||
	    m->local_ns > RMC_MODEL_NS_MAX || m->rack_ns > RMC_MODEL_NS_MAX)
		return -ERANGE;
	if (m->topology == RMC_TOPOLOGY_RACKS && !m->dim[0])
		return -ERANGE;
	for (i = 0; i < n; i++) {
		if (!m->dim[i] || m->dim[i] > RMC_MAX_NODES)
			return -ERANGE;
		places *= m->dim[i];
	}
	return n && places < nodes ? -ENOSPC : 0;
}

/* Steps from @a to @b on a ring of @size; *up: towards larger numbers. */
static u32 steps(u32 a, u32 b, u32 size, bool *up)
{
	u32 ahead = (b + size - a) % size;

	*up = ahead <= size - ahead;
	return *up ? ahead : size - ahead;
}

/* First node of the rack of @nid; with other topologies all nodes are in one. */
static u32 rack_of(const struct rmc_model *m, u32 nid)
{
	return m->topology == RMC_TOPOLOGY_RACKS ? nid - nid % m->dim[0] : 0;
}

/**
 * rmc_model_hops() - distance of two nodes
 * @m: model, checked
 * @from: node id
 * @to: node id
 *
 * Return: hops: 0 from a node to itself, 1 through a crossbar, 2 through those of two racks.
 */
u32 rmc_model_hops(const struct rmc_model *m, u32 from, u32 to)
{
	u32 i, n = dimensions(m), hops = 0;
	bool up;

	if (from == to || m->topology == RMC_TOPOLOGY_NONE)
		return 0;
	if (!n)
		return 1 + (rack_of(m, from) != rack_of(m, to));
	for (i = 0; i < n; i++) {
		hops += steps(from % m->dim[i], to % m->dim[i], m->dim[i], &up);
		from /= m->dim[i];
		to /= m->dim[i];
	}
	return hops;
}

/**
 * rmc_model_path() - delay, bandwidth and ports towards one destination
 * @m: model, checked
 * @from: requester
 * @to: destination
 * @path: out
 */
void rmc_model_path(const struct rmc_model *m, u32 from, u32 to, struct rmc_path *path)
{
	u32 i, n = dimensions(m);
	bool up, back, first = true;

	memset(path, 0, sizeof(*path));
	if (m->topology == RMC_TOPOLOGY_NONE)
		return;
	path->rack = rack_of(m, from);
	path->far_rack = rack_of(m, to);
	path->request_ns = (u64)rmc_model_hops(m, from, to) * m->hop_ns;
	if (path->rack != path->far_rack) {
		path->request_ns += m->rack_ns;
		if (m->rack_mbps)
			path->rack_fs = rmc_os_div(8000000000ULL, m->rack_mbps);
	}
	path->rtt_ns = 2 * path->request_ns + m->base_ns;
	path->rtt_ns -= min_t(u64, path->rtt_ns, m->local_ns);
	path->reply_ns = path->request_ns + m->base_ns;
	path->reply_ns -= min_t(u64, path->reply_ns, m->local_ns);
	/* 8 bits x 10^9 fs/us / (bits per us) */
	if (m->mbps && from != to)
		path->byte_fs = rmc_os_div(8000000000ULL, m->mbps);
	for (i = 0; i < n; i++) {
		if (steps(to % m->dim[i], from % m->dim[i], m->dim[i], &back) && first)
			path->back = 2 * i + !back;
		if (steps(from % m->dim[i], to % m->dim[i], m->dim[i], &up)) {
			/* requests leave in the lowest dimension, replies arrive
			 * in the highest, both in the shorter direction
			 */
			if (first)
				path->out = 2 * i + !up;
			/* what moves up comes in at the lower side */
			path->in = 2 * i + back;
			first = false;
		}
		from /= m->dim[i];
		to /= m->dim[i];
	}
}

/**
 * rmc_model_share() - allocate the state that both ends of all links share
 * @nodes: of the fabric
 * @endpoints: of the fabric
 * @ring_order: log2 of the slots of its request rings
 *
 * Return: value for rmc_fabric.shared, or NULL when out of memory.
 * Context: may sleep.
 */
struct rmc_model_shared *rmc_model_share(u32 nodes, u32 endpoints, u32 ring_order)
{
	struct rmc_model_shared *s = rmc_os_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->nodes = nodes;
	s->endpoints = endpoints;
	s->ring_order = ring_order;
	s->port = rmc_os_zalloc(nodes * sizeof(*s->port));
	s->sent = rmc_os_zalloc((size_t)endpoints * endpoints * sizeof(*s->sent));
	if (!s->port || !s->sent) {
		rmc_model_unshare(s);
		return NULL;
	}
	return s;
}

/**
 * rmc_model_unshare() - mirror of rmc_model_share(); no node exists any more
 * @s: what it returned, or NULL
 *
 * Context: may sleep.
 */
void rmc_model_unshare(struct rmc_model_shared *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; s->sent && i < (size_t)s->endpoints * s->endpoints; i++)
		rmc_os_free_atomic(s->sent[i]);
	rmc_os_free(s->sent);
	rmc_os_free(s->port);
	rmc_os_free(s);
}

/**
 * rmc_model_reset() - all ports are free, no request is on its way: another model begins
 * @s: shared by all links, none of which uses it now
 */
void rmc_model_reset(struct rmc_model_shared *s)
{
	size_t i;

	memset(s->port, 0, s->nodes * sizeof(*s->port));
	for (i = 0; i < (size_t)s->endpoints * s->endpoints; i++)
		if (s->sent[i])
			memset(s->sent[i], 0, sizeof(**s->sent) << s->ring_order);
}

/**
 * rmc_model_sent_times() - times at which the requests of a channel left, by slot
 * @s: shared by both ends, either of which may be the first to call
 * @requester: its endpoint
 * @server: its endpoint
 *
 * Return: times, which stay until rmc_model_unshare(); NULL: out of memory, call again.
 * Context: worker, does not sleep.
 */
u64 *rmc_model_sent_times(struct rmc_model_shared *s, u32 requester, u32 server)
{
	u64 **place = &s->sent[(size_t)requester * s->endpoints + server];
	u64 *times = READ_ONCE(*place), *other;

	if (times)
		return times;
	times = rmc_os_zalloc_atomic(sizeof(*times) << s->ring_order);
	if (!times)
		return NULL;
	/* a full barrier: the other end sees zeros */
	other = (u64 *)(uintptr_t)rmc_os_cas64((u64 *)place, 0, (uintptr_t)times);
	if (!other)
		return times;
	rmc_os_free_atomic(times);
	return other;
}

/* Send a packet by a port that workers share, at @ready or later. Returns when it has left. */
static u64 leave_shared(u64 *out_ns, u64 ready, u64 ns)
{
	u64 was, due;

	do {
		was = READ_ONCE(*out_ns);
		due = max(was, ready) + ns;
	} while (rmc_os_cas64(out_ns, was, due) != was);
	return due;
}

/* Receive a packet: its last bit arrives at @last, or later if the port is busy. Returns when. */
static u64 enter_shared(u64 *in_ns, u64 last, u64 ns)
{
	u64 was, due;

	do {
		was = READ_ONCE(*in_ns);
		due = max(last, was + ns);
	} while (rmc_os_cas64(in_ns, was, due) != was);
	return due;
}

/* Due time if each way is modelled separately; @half: of a switch's answer, as round_trip_due(). */
static u64 one_way_due(struct rmc_links *l, struct rmc_filter *flt, u32 bytes, bool half, u64 now)
{
	const struct rmc_path *path = &flt->path;
	struct rmc_model_shared *s = l->fabric->shared;
	u64 ns = rmc_path_ns(path, bytes), due;

	if (flt->lane == RMC_LANE_REQ) {
		due = READ_ONCE(flt->sent[flt->wire.pos & flt->wire.mask]) + path->request_ns;
	} else if (half) {
		/* the request has taken its whole way to the worker of the switch */
		due = now + (path->reply_ns - min(path->reply_ns, path->request_ns)) / 2;
	} else {
		due = path->byte_fs ? leave_shared(&s->port[flt->peer_nid][path->back].out_ns,
						   now, ns) : now;
		if (path->rack_fs)
			due = leave_shared(&s->port[path->far_rack][RMC_RACK_PORT].out_ns, due,
					   rmc_path_rack_ns(path, bytes));
		due += path->reply_ns;
	}
	return due;
}

/* A packet at @due or later by a port that only its node uses. Returns when it has passed. */
static u64 pass_own(u64 *free_ns, u64 due, u64 ns)
{
	*free_ns = max(due, *free_ns) + ns;
	return *free_ns;
}

/* Due time of a reply: when the modelled round trip, or half of it, is over. */
static u64 round_trip_due(struct rmc_links *l, struct rmc_filter *flt, u32 bytes, bool half,
			  u64 now)
{
	const struct rmc_path *path = &flt->path;
	/* replies arrive in the order of requests, except those that the server held
	 * (ring.h): then this is the time of a neighbour
	 */
	u64 sent = flt->sent[flt->wire.pos & flt->wire.mask];
	u64 due = sent + (half ? path->rtt_ns / 2 : path->rtt_ns);

	if (!sent)
		return now;
	rmc_filter_count(flt, flight_ns, now - sent);
	if (path->rack_fs)
		due = pass_own(&l->port[RMC_RACK_PORT].in_ns, max(due, now),
			       rmc_path_rack_ns(path, bytes));
	if (path->byte_fs)
		due = pass_own(&l->port[path->in].in_ns, max(due, now), rmc_path_ns(path, bytes));
	return due;
}

/**
 * rmc_stage_model() - delay packets as the link model says
 * @l: links of the unit
 * @flt: filter
 * @p: packet
 * @now: time, nanoseconds
 *
 * Return: see stages.h. Context: worker, does not sleep.
 */
bool rmc_stage_model(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p, u64 now)
{
	const struct rmc_path *path = &flt->path;
	u32 bytes = rmc_packet_bytes(l, flt, p);
	bool half = flt->lane == RMC_LANE_REP && p->word0 & RMC_REP_HALF;
	u64 due = now;

	if (flt->one_way) {
		due = one_way_due(l, flt, bytes, half, now);
		/* requests stay in order, also while the model is being changed */
		if (flt->lane == RMC_LANE_REQ) {
			due = max(due, flt->last_due_ns);
			flt->last_due_ns = due;
		}
	} else if (flt->lane == RMC_LANE_REP && path->rtt_ns + path->byte_fs + path->rack_fs) {
		due = round_trip_due(l, flt, bytes, half, now);
	}
	p->due_ns = max(due, p->due_ns);
	return true;
}

/**
 * rmc_arrival_port() - a packet comes in when the port is free for its bytes
 * @l: links of the unit
 * @flt: filter
 * @p: packet, whose last bit arrives at due_ns
 *
 * Context: worker, does not sleep.
 */
void rmc_arrival_port(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p)
{
	const struct rmc_path *path = &flt->path;
	u32 bytes = rmc_packet_bytes(l, flt, p);

	if (flt->one_way && path->rack_fs)
		p->due_ns = enter_shared(&l->fabric->shared->port[path->rack][RMC_RACK_PORT].in_ns,
					 p->due_ns, rmc_path_rack_ns(path, bytes));
	if (flt->one_way && path->byte_fs)
		p->due_ns = enter_shared(&l->fabric->shared->port[l->nid][path->in].in_ns,
					 p->due_ns, rmc_path_ns(path, bytes));
}

/**
 * rmc_model_send() - record when a request leaves; call before it is put into the ring
 * @l: links of the unit; the caller is its RGP worker
 * @flt: filter of the channel's replies
 * @req: the channel's request ring
 * @lines: payload lines of the request
 * @qp: number of its queue pair, or RMC_RNIC_NO_QP
 *
 * Context: worker, does not sleep.
 */
void rmc_model_send(struct rmc_links *l, struct rmc_filter *flt, const struct rmc_ring *req,
		    u32 lines, u32 qp)
{
	const struct rmc_path *path = &flt->path;
	u32 bytes = RMC_PACKET_HEADER + lines * RMC_LINE;
	struct rmc_model_shared *s = l->fabric->shared;
	struct rmc_port_time *link;
	u64 now, ns;

	if (!flt->sent || !(flt->one_way || path->rtt_ns + path->byte_fs + path->rack_fs))
		return;
	now = rmc_os_now_ns();
	if (l->rnic_client)
		now = rmc_rnic_send(l->rnic_client, qp, now);
	if (path->byte_fs) {
		ns = rmc_path_ns(path, bytes);
		now = flt->one_way ? leave_shared(&s->port[l->nid][path->out].out_ns, now, ns) :
				     pass_own(&l->port[path->out].out_ns, now, ns);
	}
	if (path->rack_fs) {
		link = flt->one_way ? &s->port[path->rack][RMC_RACK_PORT] : &l->port[RMC_RACK_PORT];
		ns = rmc_path_rack_ns(path, bytes);
		now = flt->one_way ? leave_shared(&link->out_ns, now, ns) :
				     pass_own(&link->out_ns, now, ns);
	}
	WRITE_ONCE(flt->sent[req->pos & req->mask], now);
}
