/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A network of routers, flit by flit and cycle by cycle. Wormhole: an output's class belongs to a
 * packet from its first flit to its last. Each class has a buffer at each input, a credit per flit.
 *
 *	noc_send() -> queue of the class -> router ... router -> arrived packets of the class
 *	              (bounded)             (credits)            (bounded; the client takes them)
 *
 * In one cycle an output sends a flit, an input gives one, a tile gives one and takes one.
 */
#ifndef CHIP_NOC_H
#define CHIP_NOC_H

#include <stdint.h>
#include "topology.h"

/*
 * Message classes: what a class waits for is further down, so that none waits for itself. Those of
 * the directory go YX with class-based routing (T18 section 6.3.2), all others XY.
 */
enum class {
	CLASS_NET,		/* network packets and queue entries between tiles and NIs */
	CLASS_REQ,		/* to the directory */
	CLASS_DIR,		/* from the directory, and waiting for an answer */
	CLASS_RSP,		/* answers to those, and data from memory */
	CLASS_DRS,		/* answers of the directory */
	CLASSES
};

#define BUFFER_MAX	16
#define QUEUE_MAX	1024

/**
 * struct packet - one message
 * @ready: when it may enter the network, later when it has arrived
 * @flits: length
 * @sent: flits that have entered
 * @kind, @core, @slot, @line, @value, @address: the client's
 */
struct packet {
	uint64_t ready;
	uint8_t class, flits, sent, from, to;
	uint8_t kind, core, slot, line;
	uint32_t value, address;
	uint32_t next;		/* free ones */
};

/* ready: low bits of a cycle */
struct flit {
	uint32_t packet : 30, head : 1, tail : 1;
	uint32_t ready;
};

/* A class' buffer at an input; out: the port that its packet takes */
struct input {
	uint8_t first, count, out;
	struct flit flit[BUFFER_MAX];
};

/* size: a power of two */
struct ring {
	uint32_t first, count, size, packet[QUEUE_MAX];
};

/**
 * struct router - a router and its tile's side of the network
 * @want: inputs (port * CLASSES + class) whose packet takes this output
 * @wanted: outputs with any
 * @owner: input + 1 that an output's class belongs to
 * @credit: free flits behind an output
 * @last: input that was served last
 * @turn: class that the tile sends next
 * @waiting, @here: classes with packets in @in, in @arrived
 * @in: packets of the tile that wait to enter
 * @limit: of them
 * @arrived: packets that have left, oldest first
 * @coming: of these and those that are leaving
 */
struct router {
	uint64_t want[PORTS_MAX];
	uint32_t wanted;
	struct input input[PORTS_MAX * CLASSES];
	uint8_t owner[PORTS_MAX][CLASSES];
	uint8_t credit[PORTS_MAX][CLASSES];
	uint8_t last[PORTS_MAX], turn;
	uint32_t waiting, here;
	uint16_t limit[CLASSES];
	struct ring in[CLASSES], arrived[CLASSES];
	uint16_t coming[CLASSES];
};

struct noc_stats {
	uint64_t packets_in, packets_out, flits_in, flits_out;	/* of the network */
	uint64_t moves, east, west;	/* flits over links, over the middle */
};

/**
 * struct noc - the network
 * @share: of a class: the one whose buffers it uses, normally its own
 * @order: order of dimensions of each class
 * @buffer: flits of an input
 * @now: cycle
 * @inside: flits in routers
 * @queued: packets that wait to enter
 * @held: packets that have arrived
 * @back: credits of this cycle, which are free in the next one
 * @moved: when the last flit moved, or packet was taken
 */
struct noc {
	struct topology topology;
	uint8_t share[CLASSES], order[CLASSES];
	unsigned int buffer;
	uint64_t now, moved, inside, queued, held;
	struct router router[ROUTERS_MAX];
	struct packet *packet;
	uint32_t packets, free;
	struct { uint8_t router, port, class; } back[ROUTERS_MAX * PORTS_MAX];
	unsigned int backs;
	struct noc_stats stats;
};

/* Returns 0 or -ENOMEM. */
int noc_init(struct noc *n, enum network network, unsigned int buffer);

/* Packets of a class that may wait to enter at a router, if not P_queue; at most QUEUE_MAX / 2 */
void noc_limit(struct noc *n, unsigned int router, enum class class, unsigned int limit);
void noc_destroy(struct noc *n);

/* Whether noc_send() may be called; who ignores that is bounded in another way. */
int noc_room(const struct noc *n, unsigned int from, unsigned int to, enum class class);

/* The packet, for the client's fields; it enters the network @delay cycles from now or later. */
struct packet *noc_send(struct noc *n, unsigned int from, unsigned int to, enum class class,
			unsigned int flits, unsigned int delay);

/* The oldest packet of a class that has arrived at a router, or NULL; and take it away. */
struct packet *noc_arrived(struct noc *n, unsigned int router, enum class class);
void noc_take(struct noc *n, unsigned int router, enum class class);

/* One cycle */
void noc_step(struct noc *n);

/* When the network has something to do: now + 1, later, or UINT64_MAX */
uint64_t noc_next(const struct noc *n);

#endif /* CHIP_NOC_H */
