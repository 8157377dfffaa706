// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Cycles of dependencies between transactions, named as by Adya (Weak consistency, 1999), and as
 * Kingsbury and Alvaro have it for real time (Elle, 2020).
 *
 * A rung of the ladder allows some kinds of edges, and demands one of a certain kind. For each
 * rung, from the worst anomaly on: the strongly connected components of the allowed edges (Tarjan),
 * and in each the shortest cycle. A component with a transaction that was reported is passed over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

#define NIL		UINT32_MAX
#ifndef WALK_MAX
#define WALK_MAX	20000000	/* edges that the search for a component's cycle follows */
#endif

int graph_add(struct graph *g, uint32_t from, uint32_t to, enum edge_kind kind, uint32_t key)
{
	void *p = check_grow(g->edge, g->edges, 1, &g->room, sizeof(*g->edge));

	if (!p)
		return -ENOMEM;
	g->edge = p;
	g->edge[g->edges++] = (struct edge){ from, to, key, (uint8_t)kind };
	return 0;
}

int graph_sort(struct graph *g)
{
	struct edge *sorted = malloc((g->edges + 1) * sizeof(*sorted));
	size_t nodes = g->nodes, i;
	size_t *at = malloc((nodes + 1) * sizeof(*at));

	g->first = calloc(nodes + 2, sizeof(*g->first));
	g->covered = calloc(nodes + 1, sizeof(*g->covered));
	g->cut = calloc(nodes + 1, sizeof(*g->cut));
	if (!sorted || !at || !g->first || !g->covered || !g->cut) {
		free(sorted);
		free(at);
		return -ENOMEM;
	}
	for (i = 0; i < g->edges; i++)
		g->first[g->edge[i].from + 1]++;
	for (i = 0; i < nodes; i++) {
		g->first[i + 1] += g->first[i];
		at[i] = g->first[i];
	}
	for (i = 0; i < g->edges; i++)
		sorted[at[g->edge[i].from]++] = g->edge[i];
	free(at);
	free(g->edge);
	g->edge = sorted;
	g->room = g->edges + 1;
	return 0;
}

void graph_free(struct graph *g)
{
	free(g->edge);
	free(g->first);
	free(g->covered);
	free(g->cut);
}

#define WW	EDGE_BIT(EDGE_WW)
#define WR	EDGE_BIT(EDGE_WR)
#define RW	EDGE_BIT(EDGE_RW)
#define RT	EDGE_BIT(EDGE_RT)
#define VIA	EDGE_BIT(EDGE_VIA)
#define LOST	EDGE_BIT(EDGE_LOST)

static const struct rung {
	enum check_reason reason;
	bool realtime;
	enum edge_kind demanded;
	unsigned int allowed;	/* kinds of the edges of a component */
	unsigned int path;	/* of a cycle's edges beside the one that is demanded */
} ladder[] = {
	{ CHECK_G0, false, EDGE_WW, WW, WW },
	{ CHECK_G1C, false, EDGE_WR, WW | WR, WW | WR },
	{ CHECK_G_SINGLE, false, EDGE_RW, WW | WR | RW | VIA, WW | WR | VIA },
	/* appends in an unknown order: ww one way and rw the other, whichever it is */
	{ CHECK_G_SINGLE, false, EDGE_LOST, LOST | RW | VIA, LOST | RW | VIA },
	{ CHECK_G2, false, EDGE_RW, WW | WR | RW | VIA, WW | WR | RW | VIA },
	{ CHECK_G0, true, EDGE_WW, WW | RT | VIA, WW | RT | VIA },
	{ CHECK_G1C, true, EDGE_WR, WW | WR | RT | VIA, WW | WR | RT | VIA },
	{ CHECK_G_SINGLE, true, EDGE_RW, WW | WR | RW | RT | VIA, WW | WR | RT | VIA },
	{ CHECK_G2, true, EDGE_RW, WW | WR | RW | RT | VIA, WW | WR | RW | RT | VIA },
};

struct finder {
	struct graph *g;
	const struct rung *rung;
	/* of nodes, by Tarjan's algorithm */
	uint32_t *index, *low, *component;
	uint32_t *stack, *path;
	size_t *next;			/* edge of a node on the path */
	bool *stacked;
	/* of nodes, by the search of a path */
	uint32_t *dist, *run, *queue;
	size_t *came;			/* edge by which it was reached */
	uint32_t runs;
	bool certain;			/* each edge that is demanded is on a cycle */
	uint64_t walked;
	/* the shortest cycle of a component so far */
	uint32_t *cycle;
	struct check_step *step;
	size_t *edges;
	uint32_t length;

	void (*found)(void *arg, const struct cycle *c);
	void *arg;
};

static bool is_txn(const struct finder *f, uint32_t node)
{
	return node < f->g->txns;
}

/* ---- the shortest cycle through an edge ---- */

/* The cycle of an edge and the path that was found from its end to its beginning */
static void keep_cycle(struct finder *f, size_t edge)
{
	const struct edge *e = &f->g->edge[edge];
	uint32_t node = e->from;
	struct check_step step;
	size_t n = 0, i;

	/* backwards: the path's last edge first */
	while (node != e->to) {
		f->edges[n++] = f->came[node];
		node = f->g->edge[f->came[node]].from;
	}
	f->edges[n++] = edge;
	f->length = 0;
	for (i = n; i--;) {
		e = &f->g->edge[f->edges[i]];
		if (!is_txn(f, e->from))
			continue;
		f->cycle[f->length] = e->from;
		/* a lost update has rw both ways, so this one is of the same key */
		if (f->rung->demanded == EDGE_LOST)
			step = (struct check_step){ e->kind == EDGE_LOST ? CHECK_WW : CHECK_RW,
						    f->g->edge[edge].key };
		else
			step = (struct check_step){ (enum check_edge)e->kind, e->key };
		f->step[f->length++] = step;
	}
}

/*
 * Whether the component's search may end. Where a path may have all kinds of edges that connect the
 * component, each edge that is demanded is on a cycle: the first search finds one, and is not cut.
 */
static bool walked_enough(const struct finder *f)
{
	return f->walked > WALK_MAX && (f->length || !f->certain);
}

/*
 * Shortest path from the end of an edge to its beginning, within the component: breadth first,
 * where only transactions count as length. A cycle that is not shorter than the one that is known
 * does not count.
 */
static void search_cycle(struct finder *f, size_t edge)
{
	const struct edge *e = &f->g->edge[edge], *o;
	uint32_t goal = e->from, at, d, component = f->component[goal];
	size_t head = 2 * (size_t)f->g->nodes, tail = head, i;

	f->runs++;
	f->run[e->to] = f->runs;
	f->dist[e->to] = is_txn(f, e->to);
	f->queue[tail++] = e->to;
	while (head < tail) {
		at = f->queue[head++];
		if (at == goal) {
			keep_cycle(f, edge);
			return;
		}
		for (i = f->g->first[at]; i < f->g->first[at + 1]; i++) {
			o = &f->g->edge[i];
			f->walked++;
			if (!(f->rung->path >> o->kind & 1) || f->component[o->to] != component)
				continue;
			d = f->dist[at] + is_txn(f, o->to);
			if (f->run[o->to] == f->runs && f->dist[o->to] <= d)
				continue;
			if (f->length && d >= f->length)
				continue;
			f->run[o->to] = f->runs;
			f->dist[o->to] = d;
			f->came[o->to] = i;
			if (is_txn(f, o->to))
				f->queue[tail++] = o->to;
			else
				f->queue[--head] = o->to;
		}
		if (walked_enough(f))
			return;
	}
}

static bool any_of(const bool *set, const uint32_t *node, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (set[node[i]])
			return true;
	return false;
}

static void search_component(struct finder *f, const uint32_t *node, uint32_t n)
{
	struct graph *g = f->g;
	bool demanded = false, cut;
	uint32_t i;
	size_t k;

	if (any_of(g->covered, node, n))
		return;
	f->length = 0;
	f->walked = 0;
	for (i = 0; i < n && f->length != 2 && !walked_enough(f); i++)
		for (k = g->first[node[i]]; k < g->first[node[i] + 1]; k++)
			if (g->edge[k].kind == f->rung->demanded &&
			    f->component[g->edge[k].to] == f->component[node[i]] &&
			    f->length != 2 && !walked_enough(f)) {
				demanded = true;
				search_cycle(f, k);
			}
	/* by this rung, or an earlier one */
	cut = f->walked > WALK_MAX || any_of(g->cut, node, n);
	if (!f->length) {
		g->undecided |= demanded && f->certain;
		for (i = 0; i < n && cut; i++)
			g->cut[node[i]] = true;
		return;
	}
	for (i = 0; i < n; i++)
		g->covered[node[i]] = is_txn(f, node[i]);
	f->found(f->arg, &(struct cycle){
		.reason = f->rung->reason, .realtime = f->rung->realtime, .partial = cut,
		.txn = f->cycle, .step = f->step, .n = f->length,
	});
}

/* ---- components ---- */

/* The first node that an edge leads to and that has no index yet, or NIL */
static uint32_t descend(struct finder *f, uint32_t n)
{
	for (; f->next[n] < f->g->first[n + 1]; f->next[n]++) {
		const struct edge *e = &f->g->edge[f->next[n]];

		if (!(f->rung->allowed >> e->kind & 1))
			continue;
		/* the edge comes again when its end has been left */
		if (f->index[e->to] == NIL)
			return e->to;
		if (f->stacked[e->to] && f->low[e->to] < f->low[n])
			f->low[n] = f->low[e->to];
	}
	return NIL;
}

/* Tarjan's algorithm without recursion, from one node on */
static void visit(struct finder *f, uint32_t root, uint32_t *count)
{
	uint32_t depth = 1, top = 0, n, m;

	f->path[0] = root;
	while (depth) {
		n = f->path[depth - 1];
		if (f->index[n] == NIL) {
			f->index[n] = f->low[n] = (*count)++;
			f->next[n] = f->g->first[n];
			f->stack[top++] = n;
			f->stacked[n] = true;
		}
		m = descend(f, n);
		if (m != NIL) {
			f->path[depth++] = m;
			continue;
		}
		depth--;
		if (f->low[n] != f->index[n])
			continue;
		m = top;
		do {
			m--;
			f->stacked[f->stack[m]] = false;
			f->component[f->stack[m]] = f->index[n];
		} while (f->stack[m] != n);
		if (top - m > 1)
			search_component(f, f->stack + m, top - m);
		top = m;
	}
}

static void climb(struct finder *f, const struct rung *rung)
{
	uint32_t root, count = 0;

	f->rung = rung;
	f->certain = rung->path == rung->allowed;
	memset(f->index, 0xff, f->g->nodes * sizeof(*f->index));
	memset(f->component, 0xff, f->g->nodes * sizeof(*f->component));
	for (root = 0; root < f->g->nodes; root++)
		if (f->index[root] == NIL)
			visit(f, root, &count);
}

int graph_cycles(struct graph *g, bool realtime, void (*found)(void *arg, const struct cycle *c),
		 void *arg)
{
	struct finder f = { .g = g, .found = found, .arg = arg };
	size_t n = (size_t)g->nodes + 1, i;
	int err = -ENOMEM;
	uint32_t **of[] = {
		&f.index, &f.low, &f.component, &f.stack, &f.path, &f.dist, &f.cycle,
	};

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		*of[i] = malloc(n * sizeof(**of[i]));
	f.run = calloc(n, sizeof(*f.run));
	f.queue = malloc(4 * n * sizeof(*f.queue));
	f.next = malloc(n * sizeof(*f.next));
	f.came = malloc(n * sizeof(*f.came));
	f.edges = malloc(n * sizeof(*f.edges));
	f.step = malloc(n * sizeof(*f.step));
	f.stacked = calloc(n, sizeof(*f.stacked));
	if (f.index && f.low && f.component && f.stack && f.path && f.dist && f.cycle && f.run &&
	    f.queue && f.next && f.came && f.edges && f.step && f.stacked) {
		for (i = 0; i < sizeof(ladder) / sizeof(ladder[0]); i++)
			if (realtime || !ladder[i].realtime)
				climb(&f, &ladder[i]);
		err = 0;
	}
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		free(*of[i]);
	free(f.run);
	free(f.queue);
	free(f.next);
	free(f.came);
	free(f.edges);
	free(f.step);
	free(f.stacked);
	return err;
}
