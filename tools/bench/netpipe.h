/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Parts of rmc_netpipe:
 *
 *	rmc_netpipe.c	command line, measurements, output; the table of engines
 *	netpipe_msg.c	engine: librmc's messages
 *	netpipe_native.c engine: native messages of the RMC
 *	netpipe_tcp.c	engine: TCP over loopback
 *
 * A further engine is a file with a struct netpipe_engine, and a row of the table.
 */
#ifndef RMC_NETPIPE_H
#define RMC_NETPIPE_H

#include <stddef.h>
#include <stdint.h>
#include "json.h"

struct netpipe_engine;
struct rmc_team;

/* One end of a connection */
struct netpipe_end {
	const struct netpipe_engine *engine;	/* NULL: this end is not in this process */
	void *state;				/* the engine's */
	uint8_t *out, *in;			/* messages of up to options->size bytes */
};

/* The ends of this process: [0] measures, [1] answers. Other members of a run have none. */
struct netpipe_ends {
	struct netpipe_end end[2];
	void *state;				/* the engine's, of all members */
};

struct netpipe_options {
	uint64_t size;			/* the largest */
	int peer;			/* -1: the next node */
	int ctx_id, cells;
	size_t threshold;		/* pull from this size on */
};

/*
 * How messages move. Failures end the program. Both ends call send() and recv() in turn, with
 * the same lengths.
 */
struct netpipe_engine {
	const char *name;		/* of --engine */
	const char *transport;		/* in JSON */
	const char *title;
	const char *way;		/* of each result; NULL: "push" or "pull" */

	void (*open)(struct netpipe_ends *ends, const struct netpipe_options *o);
	void (*send)(struct netpipe_end *end, size_t len);
	void (*recv)(struct netpipe_end *end, size_t len);
	void (*flush)(struct netpipe_end *end);	/* wait until sent buffers are free */
	void (*close)(struct netpipe_ends *ends);

	/* path of the data of messages of that size: path.h, or "none" */
	const char *(*path)(const struct netpipe_end *end, size_t len, int pull);
	/* optional: push or pull from now on; without it there is no --best and --threshold */
	void (*set_pull)(struct netpipe_end *end, int pull);
	/* optional: what it runs on, as fields of a JSON object, or as lines */
	void (*json)(const struct netpipe_end *end, struct json *j);
	void (*print)(const struct netpipe_end *end);
};

extern const struct netpipe_engine netpipe_msg, netpipe_native, netpipe_tcp;

/* Node of the other end, of a team: peer as of --peer. Ends the program if there is none */
int netpipe_peer(const struct rmc_team *team, int peer);

/* The other end of a run: receives, and answers the first end */
void netpipe_echo(struct netpipe_end *end, uint64_t size, uint64_t n);
void netpipe_sink(struct netpipe_end *end, uint64_t size, uint64_t n);

#endif /* RMC_NETPIPE_H */
