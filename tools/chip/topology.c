/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Mesh and NOC-Out: see topology.h */
#include <string.h>
#include "topology.h"

#define COLUMNS		(ROWS + 2)	/* of a mesh: NIs, tiles, memory */
#define SIDE		4		/* cores of a NOC-Out column on a side of its LLC tile */

const struct param params[] = {
#define PARAM(name, value, kind, source)	{ #name, #kind, source, value },
#include "params.def"
#undef PARAM
	{ NULL, NULL, NULL, 0 },
};

/* Both directions */
static void connect(struct topology *t, unsigned int a, unsigned int b, unsigned int latency,
		    int bisects)
{
	unsigned int pa = t->ports[a]++, pb = t->ports[b]++;

	t->out[a][pa] = (struct link){ (uint8_t)b, (uint8_t)pb, (uint8_t)latency, bisects ? 1 : 0 };
	t->out[b][pb] = (struct link){ (uint8_t)a, (uint8_t)pa, (uint8_t)latency, bisects ? 2 : 0 };
}

static uint8_t port_to(const struct topology *t, unsigned int from, unsigned int to)
{
	unsigned int p;

	for (p = 1; p < t->ports[from]; p++)
		if (t->out[from][p].to == to)
			return (uint8_t)p;
	return NO_PORT;
}

/* ---- mesh ---- */

static unsigned int at(unsigned int x, unsigned int y)
{
	return y * COLUMNS + x;
}

/*
 * The router after from. NIs and memory are beside the mesh, so there are no links between
 * them: packets for another row turn in the column beside.
 */
static unsigned int mesh_next(unsigned int from, unsigned int to, enum order order)
{
	unsigned int x = from % COLUMNS, y = from / COLUMNS, tx = to % COLUMNS, ty = to / COLUMNS;
	unsigned int column = tx < 1 ? 1 : tx > ROWS ? ROWS : tx;

	if (y == ty)
		return x < tx ? from + 1 : from - 1;
	if (x < 1)
		return from + 1;
	if (x > ROWS)
		return from - 1;
	if (order == ORDER_XY && x != column)
		return x < column ? from + 1 : from - 1;
	return y < ty ? from + COLUMNS : from - COLUMNS;
}

static void mesh_init(struct topology *t)
{
	unsigned int x, y, i, k, o;

	t->routers = ROWS * COLUMNS;
	t->homes = CORES;
	for (y = 0; y < ROWS; y++)
		for (x = 0; x + 1 < COLUMNS; x++)
			connect(t, at(x, y), at(x + 1, y), P_hop, x == ROWS / 2);
	for (x = 1; x <= ROWS; x++)
		for (y = 0; y + 1 < ROWS; y++)
			connect(t, at(x, y), at(x, y + 1), P_hop, 0);
	for (y = 0; y < ROWS; y++) {
		t->ni[y] = t->net[y] = (uint8_t)at(0, y);
		t->mc[y] = (uint8_t)at(ROWS + 1, y);
	}
	for (i = 0; i < CORES; i++)
		t->core[i] = t->home[i] = (uint8_t)at(i % ROWS + 1, i / ROWS);
	memset(t->leave, P_hop, sizeof(t->leave));
	for (o = 0; o < ORDERS; o++)
		for (i = 0; i < t->routers; i++)
			for (k = 0; k < t->routers; k++)
				t->next[o][i][k] = i == k ? 0 :
					port_to(t, i, mesh_next(i, k, (enum order)o));
}

/* ---- NOC-Out: cores, LLC tiles, lanes of the network's router, lanes of memory ---- */

enum { LLC = CORES, NET = LLC + ROWS, MC = NET + ROWS, NOCOUT = MC + ROWS };

/* Column of a router; a column's cores are 0 .. 3 below its LLC tile, 4 .. 7 above */
static unsigned int column_of(unsigned int router)
{
	return router < CORES ? router / ROWS : (router - CORES) % ROWS;
}

/* Core k of a chain is k + 1 hops from the LLC tile */
static unsigned int inwards(unsigned int core)
{
	return core % SIDE ? core - 1 : LLC + core / ROWS;
}

static unsigned int nocout_next(unsigned int from, unsigned int to)
{
	unsigned int column = column_of(to);

	if (from < CORES) {
		int outwards = to < CORES && to / SIDE == from / SIDE && to > from;

		return outwards ? from + 1 : inwards(from);
	}
	if (from >= NET)
		return LLC + column_of(from);
	if (from - LLC != column)
		return LLC + column;
	return to < CORES ? to - to % SIDE : to;
}

static unsigned int butterfly(unsigned int tiles)
{
	return (tiles + P_tiles_per_cycle - 1) / P_tiles_per_cycle;
}

static void nocout_init(struct topology *t)
{
	unsigned int i, k;

	t->routers = NOCOUT;
	t->homes = ROWS;
	for (i = 0; i < CORES; i++) {
		connect(t, i, inwards(i), P_tree_hop, 0);
		t->core[i] = (uint8_t)i;
	}
	for (i = 0; i < ROWS; i++) {
		for (k = i + 1; k < ROWS; k++)
			connect(t, LLC + i, LLC + k, butterfly(k - i),
				i < ROWS / 2 && k >= ROWS / 2);
		connect(t, LLC + i, NET + i, butterfly(i + 1), 0);
		connect(t, LLC + i, MC + i, butterfly(ROWS - i), 0);
		t->home[i] = t->ni[i] = (uint8_t)(LLC + i);
		t->net[i] = (uint8_t)(NET + i);
		t->mc[i] = (uint8_t)(MC + i);
	}
	memset(t->leave, P_tree_hop, sizeof(t->leave));
	for (i = 0; i < t->routers; i++)
		for (k = 0; k < t->routers; k++) {
			uint8_t p = i == k ? 0 : port_to(t, i, nocout_next(i, k));

			t->next[ORDER_XY][i][k] = t->next[ORDER_YX][i][k] = p;
		}
}

void topology_init(struct topology *t, enum network network)
{
	memset(t, 0, sizeof(*t));
	memset(t->ports, 1, sizeof(t->ports));
	if (network == NETWORK_mesh)
		mesh_init(t);
	else
		nocout_init(t);
}

/* Both are rows of a mesh and columns of NOC-Out. */
unsigned int lane_of_core(enum network network, unsigned int core)
{
	(void)network;
	return core / ROWS;
}

unsigned int lane_of_home(enum network network, unsigned int home)
{
	return network == NETWORK_mesh ? home / ROWS : home;
}

unsigned int hops_between(const struct topology *t, unsigned int from, unsigned int to,
			  enum order order)
{
	unsigned int hops = 0;

	for (; from != to; hops++)
		from = t->out[from][t->next[order][from][to]].to;
	return hops;
}

unsigned int latency_between(const struct topology *t, unsigned int from, unsigned int to,
			     enum order order, unsigned int flits)
{
	unsigned int cycles = P_port + t->leave[to] + flits - 1;

	if (from == to)
		return P_local;
	while (from != to) {
		const struct link *l = &t->out[from][t->next[order][from][to]];

		cycles += l->latency;
		from = l->to;
	}
	return cycles;
}
