/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Other systems on this machine, measured between two processes, for tools/rmc-bench:
 *
 *	peer.c		CPUs, results as JSON
 *	peer_mpi.c	MPI, two ranks of mpirun
 *	peer_pipe.c	pipe, socket pair or TCP, by system calls or io_uring
 *
 * Both sides run the same measurements in the same order. The first measures and prints.
 */
#ifndef RMC_PEER_H
#define RMC_PEER_H

#include <stdint.h>
#include "json.h"

#define PEER_SMALL	8U		/* sizes of messages, in bytes */
#define PEER_LINE	64U
#define PEER_LARGE	8192U
#define PEER_WARM(n)	((n) / 10 + 1)	/* operations before those that count */

struct peer {
	struct json j;
	double cycles_per_us;
	uint64_t *sample;		/* cycles, of n operations */
	uint64_t n;
};

/* Ends the program if there is no memory. */
void peer_init(struct peer *p, uint64_t n);

/* Run on the nth CPU of those that this process may use; they spin, and need one each. */
void peer_pin(int nth);

void peer_begin(struct peer *p, const char *test, const char *transport);
/* The samples; parts: of how many equal parts an operation is, 2 for a round trip */
void peer_latency(struct peer *p, const char *test, const char *way, uint64_t bytes, int parts);
/* n messages or operations in so many cycles */
void peer_stream(struct peer *p, const char *test, const char *way, uint64_t bytes,
		 uint64_t cycles);
void peer_end(struct peer *p);

#endif /* RMC_PEER_H */
