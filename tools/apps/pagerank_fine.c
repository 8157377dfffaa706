/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * PageRank, fine-grain, as in A14 figure 4 (T18 figure 3.6): every edge whose source
 * lives on another node costs one asynchronous remote read per superstep, whose
 * completion adds to the destination's rank.
 *
 * selftests/lib/inline_check.sh checks that the loop of fine_superstep() calls only
 * functions of waiting and of errors.
 */
#include "pagerank.h"

static inline void pagerank_async(int slot, void *arg)
{
	struct pagerank *p = (struct pagerank *)arg;
	const struct vertex *v = &p->lbuf[slot];

	*p->async_dest_addr[slot] += DAMPING * v->rank[p->superstep % 2] / v->out_degree;
}

void fine_prepare(struct pagerank *p)
{
	unsigned int entries = rmc_qp_entries(p->qp);

	p->lbuf = (struct vertex *)local_buffer(p, entries * sizeof(*p->lbuf));
	p->async_dest_addr = (double **)allocate(entries, sizeof(*p->async_dest_addr));
	rmc_qp_set_arg(p->qp, p);
}

__attribute__((noinline)) void fine_superstep(struct pagerank *p)
{
	int evenodd = (p->superstep + 1) % 2;
	struct rmc_qp *qp = p->qp;
	uint64_t e;
	uint32_t v;

	for (v = 0; v < p->count; v++) {
		p->vertices[v].rank[evenodd] = (1 - DAMPING) / p->graph.vertices;
		for (e = p->first[v]; e < p->first[v + 1]; e++) {
			const struct edge *edge = &p->edges[e];

			if (edge->nid == LOCAL) {
				/* shared memory model */
				const struct vertex *v2 = &p->vertices[edge->index];

				p->vertices[v].rank[evenodd] += DAMPING *
					v2->rank[p->superstep % 2] / v2->out_degree;
			} else {
				/* flow control */
				int slot = rmc_wait_for_slot(qp, pagerank_async);

				if (rmc_unlikely(slot < 0 || rmc_qp_error(qp)))
					check("remote read", slot < 0 ? slot : rmc_qp_error(qp));
				/* callback argument, then the split operation */
				p->async_dest_addr[slot] = &p->vertices[v].rank[evenodd];
				rmc_read_async(qp, slot, edge->nid, vertex_offset(p, edge->index),
					       &p->lbuf[slot], sizeof(struct vertex));
				p->remote_reads++;
			}
		}
		charge_edges(p->first[v + 1] - p->first[v]);
	}
	check("remote read", rmc_drain_cq(qp, pagerank_async));
	p->remote_bytes = p->remote_reads * sizeof(struct vertex);
	p->superstep++;
}
