/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Two chips of 64 cores (T18 table 6.2, figures 6.2 and 6.10). A tile is a router with one port for
 * all that is in it.
 *
 *	mesh	NI - core+LLC - ... 8 of them ... - core+LLC - memory		8 such rows
 *	NOC-Out	columns of 4 cores, an LLC tile with an NI, and 4 cores; the 8 LLC tiles are
 *		a flattened butterfly, which also has the network's router and the memory
 *
 * An edge or column has a lane of its own into the network's router and into memory: neither is to
 * be a bottleneck (T18 section 6.4).
 */
#ifndef CHIP_TOPOLOGY_H
#define CHIP_TOPOLOGY_H

#include <stdint.h>
#include "params.h"

#define ROUTERS_MAX	96
#define PORTS_MAX	12
#define NO_PORT		0xff

enum order { ORDER_XY, ORDER_YX, ORDERS };
enum network { NETWORK_mesh, NETWORK_nocout, NETWORKS };

/**
 * struct link - from an output to an input of another router
 * @to: router
 * @input: its port
 * @latency: cycles from router to router
 * @bisects: crosses the middle of the chip, 1 eastwards, 2 westwards
 */
struct link {
	uint8_t to, input, latency, bisects;
};

/**
 * struct topology - routers, links and who is where
 * @ports: of each router; port 0 is the tile's own
 * @out: links by router and port
 * @next: port towards a router, by order of dimensions
 * @leave: cycles from a router into its tile
 * @home: directory and LLC bank
 * @ni: edge NI, or backend; RRPP. One per row of a mesh, or per column
 * @net: the network's router, a lane per NI
 */
struct topology {
	unsigned int routers, homes;
	uint8_t ports[ROUTERS_MAX], leave[ROUTERS_MAX];
	struct link out[ROUTERS_MAX][PORTS_MAX];
	uint8_t next[ORDERS][ROUTERS_MAX][ROUTERS_MAX];
	uint8_t core[CORES], home[CORES], ni[ROWS], mc[ROWS], net[ROWS];
};

void topology_init(struct topology *t, enum network network);

/* Row of a core's NI, of a home's RRPP */
unsigned int lane_of_core(enum network network, unsigned int core);
unsigned int lane_of_home(enum network network, unsigned int home);

/* Links that a packet passes, and cycles from the start of its sending to its last flit */
unsigned int hops_between(const struct topology *t, unsigned int from, unsigned int to,
			  enum order order);
unsigned int latency_between(const struct topology *t, unsigned int from, unsigned int to,
			     enum order order, unsigned int flits);

#endif /* CHIP_TOPOLOGY_H */
