// SPDX-License-Identifier: GPL-2.0
/* Distances and routes of the link model. */
#include "model.h"

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
