// SPDX-License-Identifier: GPL-2.0
/* Link model: distances and routes, and when a reply arrives. */
#include "stage.h"

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

	if (m->topology > RMC_TOPOLOGY_TORUS3D)
		return -EINVAL;
	if (m->hop_ns > RMC_MODEL_NS_MAX || m->base_ns > RMC_MODEL_NS_MAX ||
	    m->local_ns > RMC_MODEL_NS_MAX)
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

/**
 * rmc_model_hops() - distance of two nodes
 * @m: model, checked
 * @from: node id
 * @to: node id
 *
 * Return: hops: 0 from a node to itself, 1 through a crossbar.
 */
u32 rmc_model_hops(const struct rmc_model *m, u32 from, u32 to)
{
	u32 i, n = dimensions(m), hops = 0;
	bool up;

	if (from == to || m->topology == RMC_TOPOLOGY_NONE)
		return 0;
	if (!n)
		return 1;
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
	bool up, first = true;

	memset(path, 0, sizeof(*path));
	if (m->topology == RMC_TOPOLOGY_NONE)
		return;
	path->rtt_ns = 2ULL * rmc_model_hops(m, from, to) * m->hop_ns + m->base_ns;
	path->rtt_ns -= min_t(u64, path->rtt_ns, m->local_ns);
	/* 8 bits x 10^9 fs/us / (bits per us) */
	if (m->mbps && from != to)
		path->byte_fs = rmc_os_div(8000000000ULL, m->mbps);
	for (i = 0; i < n; i++) {
		if (steps(from % m->dim[i], to % m->dim[i], m->dim[i], &up)) {
			/* requests leave in the lowest dimension, replies arrive
			 * in the highest, both in the shorter direction
			 */
			if (first)
				path->out = 2 * i + !up;
			path->in = 2 * i + !up;
			first = false;
		}
		from /= m->dim[i];
		to /= m->dim[i];
	}
}

/**
 * rmc_stage_model() - replies arrive when the model lets them
 * @l: links of the unit
 * @flt: filter
 * @p: packet
 * @now: time, nanoseconds
 *
 * Replies come in the order of requests, but for those that the server held (ring.h): then
 * the time of sending is a neighbour's.
 *
 * Return: see stage.h. Context: worker, does not sleep.
 */
bool rmc_stage_model(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p, u64 now)
{
	const struct rmc_path *path = &flt->path;
	u64 sent, due;

	if (flt->lane != RMC_LANE_REP || !(path->rtt_ns + path->byte_fs))
		return true;
	sent = flt->sent_ns[flt->wire.pos & flt->wire.mask];
	if (!sent)
		return true;
	due = sent + path->rtt_ns;
	flt->stats.flight_ns += now - sent;
	if (path->byte_fs) {
		struct rmc_port_time *port = &l->port[path->in];

		due = max(max(due, port->in_ns), p->due_ns);
		due += rmc_path_ns(path, RMC_PACKET_HEADER +
				   rmc_packet_payload(flt, p) * RMC_LINE);
		port->in_ns = due;
	}
	p->due_ns = max(due, p->due_ns);
	return true;
}

/**
 * rmc_model_sent() - a request was put into the ring just now
 * @l: links of the unit; the caller is its RGP worker
 * @flt: filter of the channel's replies
 * @req: the channel's request ring
 * @lines: payload lines of the request
 *
 * Context: worker, does not sleep.
 */
void rmc_model_sent(struct rmc_links *l, struct rmc_filter *flt, const struct rmc_ring *req,
		    u32 lines)
{
	u64 now;

	if (!(flt->path.rtt_ns + flt->path.byte_fs))
		return;
	now = rmc_os_now_ns();
	if (flt->path.byte_fs) {
		struct rmc_port_time *port = &l->port[flt->path.out];

		now = max(now, port->out_ns) +
		      rmc_path_ns(&flt->path, RMC_PACKET_HEADER + lines * RMC_LINE);
		port->out_ns = now;
	}
	flt->sent_ns[(req->pos - 1) & req->mask] = now;
}
