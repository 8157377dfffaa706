/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * PageRank, SHM: threads in one process, coherent memory, two ranks per vertex and a
 * barrier after each superstep. It uses no RMC. The sets are those of the split, as if
 * every thread were a node; with one thread it is the baseline of the other variants.
 */
#include <pthread.h>
#include <string.h>
#include "pagerank.h"

struct shm {
	const struct pagerank *p;
	struct vertex *vertices;	/* by position */
	uint64_t *first;		/* by position */
	uint32_t *edges;		/* position of the source */
	double *seconds;
	pthread_barrier_t barrier;
};

struct worker {
	pthread_t thread;
	struct shm *s;
	uint32_t start, end;		/* positions */
};

static void superstep(const struct worker *w, int now)
{
	const struct shm *s = w->s;
	double base = (1 - DAMPING) / s->p->graph.vertices;
	uint32_t v;
	uint64_t e;

	for (v = w->start; v < w->end; v++) {
		double rank = base;

		for (e = s->first[v]; e < s->first[v + 1]; e++) {
			const struct vertex *v2 = &s->vertices[s->edges[e]];

			rank += DAMPING * v2->rank[now] / v2->out_degree;
		}
		s->vertices[v].rank[!now] = rank;
	}
}

static void *work(void *arg)
{
	const struct worker *w = (const struct worker *)arg;
	struct shm *s = w->s;
	double start;
	int i;

	pthread_barrier_wait(&s->barrier);
	for (i = 0; i < s->p->opt.supersteps; i++) {
		start = now();
		superstep(w, i % 2);
		pthread_barrier_wait(&s->barrier);
		if (!w->start)
			s->seconds[i] = now() - start;
	}
	return NULL;
}

static void layout(struct shm *s)
{
	const struct pagerank *p = s->p;
	const struct graph *g = &p->graph;
	uint64_t n = 0, e;
	uint32_t i;

	for (i = 0; i < g->vertices; i++) {
		uint32_t v = p->order[i];

		s->vertices[i].id = v;
		s->vertices[i].out_degree = g->out_degree[v];
		s->vertices[i].rank[0] = 1.0 / g->vertices;
		for (e = g->first[v]; e < g->first[v + 1]; e++)
			s->edges[n++] = p->position[g->in[e]];
		s->first[i + 1] = n;
	}
}

void shm_run(const struct pagerank *p, int threads, double *rank, double *seconds)
{
	uint32_t n = p->graph.vertices, i;
	uint32_t share = (n + (uint32_t)threads - 1) / (uint32_t)threads;
	struct shm s = { .p = p, .seconds = seconds };
	struct worker *w;
	int t, err;

	w = (struct worker *)allocate((size_t)threads, sizeof(*w));
	s.vertices = (struct vertex *)allocate(n, sizeof(*s.vertices));
	s.first = (uint64_t *)allocate((size_t)n + 1, sizeof(*s.first));
	s.edges = (uint32_t *)allocate(p->graph.edges, sizeof(*s.edges));
	layout(&s);
	pthread_barrier_init(&s.barrier, NULL, (unsigned int)threads);
	for (t = 0; t < threads; t++) {
		uint64_t start = (uint64_t)t * share;

		w[t].s = &s;
		w[t].start = (uint32_t)(start < n ? start : n);
		w[t].end = (uint32_t)(start + share < n ? start + share : n);
		if (!t)
			continue;	/* the caller is one of them */
		err = pthread_create(&w[t].thread, NULL, work, &w[t]);
		if (err)
			die(EXIT_FAILED, "cannot start thread %d of %d: %s", t, threads,
			    strerror(err));
	}
	work(&w[0]);
	for (t = 1; t < threads; t++)
		pthread_join(w[t].thread, NULL);
	pthread_barrier_destroy(&s.barrier);
	for (i = 0; i < n; i++)
		rank[s.vertices[i].id] = s.vertices[i].rank[p->opt.supersteps % 2];
	free(s.vertices);
	free(s.first);
	free(s.edges);
	free(w);
}
