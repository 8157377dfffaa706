/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * PageRank, bulk: at the beginning of a superstep each node pulls the sets of all its
 * peers, with one large remote read each if the largest operation allows, and then
 * computes on its copy only.
 *
 * Pulled ranks and ranks that the owner changes meanwhile have different parity, so they
 * may share lines.
 */
#include "pagerank.h"

void bulk_prepare(struct pagerank *p)
{
	struct vertex *copy;
	int member;

	p->set = (const struct vertex **)allocate((size_t)p->nodes, sizeof(*p->set));
	copy = (struct vertex *)local_buffer(p, (size_t)p->nodes * p->per_node * sizeof(*copy));
	for (member = 0; member < p->nodes; member++)
		p->set[member] = copy + (size_t)member * p->per_node;
	p->set[p->team->self] = p->vertices;
}

/* Start with the right neighbour, so that each node starts at another one. */
static void pull(struct pagerank *p)
{
	uint32_t most = rmc_query(p->team->ctx)->max_length / sizeof(struct vertex), i, n;
	int k, member, nid, slot;

	for (k = 1; k < p->nodes; k++) {
		member = (p->team->self + k) % p->nodes;
		nid = rmc_team_nid(p->team, member);
		for (i = 0; i < set_size(p, member); i += n) {
			n = set_size(p, member) - i < most ? set_size(p, member) - i : most;
			slot = rmc_wait_for_slot(p->qp, NULL);
			if (slot < 0)
				check("remote read", slot);
			rmc_read_async(p->qp, slot, nid, vertex_offset(p, i),
				       (void *)(uintptr_t)&p->set[member][i],
				       n * sizeof(struct vertex));
			p->remote_reads++;
			p->remote_bytes += n * sizeof(struct vertex);
		}
	}
	check("remote read", rmc_drain_cq(p->qp, NULL));
}

void bulk_superstep(struct pagerank *p)
{
	int now = p->superstep % 2, next = !now, first_nid = rmc_team_nid(p->team, 0);
	uint64_t e;
	uint32_t v;

	pull(p);
	for (v = 0; v < p->count; v++) {
		double rank = (1 - DAMPING) / p->graph.vertices;

		for (e = p->first[v]; e < p->first[v + 1]; e++) {
			const struct edge *edge = &p->edges[e];
			int owner = edge->nid == LOCAL ? p->team->self : edge->nid - first_nid;
			const struct vertex *v2 = &p->set[owner][edge->index];

			rank += DAMPING * v2->rank[now] / v2->out_degree;
		}
		p->vertices[v].rank[next] = rank;
	}
	charge_edges(p->first[p->count]);
	p->superstep++;
}
