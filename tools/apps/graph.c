/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Edge lists to compressed sparse columns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph.h"
#include "opt.h"

void graph_add(struct graph *g, uint32_t src, uint32_t dst)
{
	if (g->edges == g->room) {
		uint64_t room = g->room ? 2 * g->room : 65536;
		void *p = realloc(g->list, room * sizeof(*g->list));

		if (!p)
			die(EXIT_FAILED, "no memory for %llu edges", (unsigned long long)room);
		g->list = (struct graph_edge *)p;
		g->room = room;
	}
	g->list[g->edges].src = src;
	g->list[g->edges++].dst = dst;
}

void graph_finish(struct graph *g, const char *what)
{
	uint64_t i, *fill;
	uint32_t v;

	if (!g->vertices)
		die(EXIT_USAGE, "%s: the graph is empty", what);
	if (!g->edges)
		die(EXIT_USAGE, "%s: the graph has %u vertices but no edges: nothing to rank", what,
		    g->vertices);
	g->first = (uint64_t *)calloc((size_t)g->vertices + 1, sizeof(*g->first));
	g->in = (uint32_t *)malloc(g->edges * sizeof(*g->in));
	g->out_degree = (uint32_t *)calloc(g->vertices, sizeof(*g->out_degree));
	fill = (uint64_t *)malloc(g->vertices * sizeof(*fill));
	if (!g->first || !g->in || !g->out_degree || !fill)
		die(EXIT_FAILED, "no memory for %u vertices and %llu edges", g->vertices,
		    (unsigned long long)g->edges);

	for (i = 0; i < g->edges; i++) {
		g->first[g->list[i].dst + 1]++;
		g->out_degree[g->list[i].src]++;
	}
	for (v = 0; v < g->vertices; v++) {
		fill[v] = g->first[v];
		g->first[v + 1] += g->first[v];
	}
	for (i = 0; i < g->edges; i++)
		g->in[fill[g->list[i].dst]++] = g->list[i].src;
	free(fill);
	free(g->list);
	g->list = NULL;
	g->room = 0;
}

void graph_free(struct graph *g)
{
	free(g->first);
	free(g->in);
	free(g->out_degree);
	free(g->list);
	strtab_free(&g->names);
	memset(g, 0, sizeof(*g));
}

uint64_t graph_checksum(const struct graph *g)
{
	uint64_t sum = g->vertices * 0x9e3779b97f4a7c15ULL ^ g->edges, i;

	for (i = 0; i < g->vertices; i++)
		sum = (sum ^ g->first[i]) * 0x100000001b3ULL;
	for (i = 0; i < g->edges; i++)
		sum = (sum ^ g->in[i]) * 0x100000001b3ULL;
	return sum;
}

const char *graph_label(const struct graph *g, uint32_t v, char *buf, size_t len)
{
	if (v < g->names.count)
		return g->names.name[v];
	snprintf(buf, len, "%u", v);
	return buf;
}
