/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * MPI between two ranks of this host: messages (send, receive), and a window's memory
 * (get, put), which is mapped by the caller or copied by the kernel without asking its owner.
 *
 * NetPIPE, which Debian has, prints the best of three averages, and ends every one-sided
 * operation with a fence of both ranks: neither compares with medians of single operations.
 *
 *	mpirun -n 2 peer_mpi [-n N]
 */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "opt.h"
#include "peer.h"

#define FROM_PEER	MPI_COMM_WORLD, MPI_STATUS_IGNORE

static int rank;
static char *out, *in;			/* PEER_LARGE bytes */

/* --- two-sided --- */

static void send(int bytes)
{
	MPI_Send(out, bytes, MPI_BYTE, !rank, 0, MPI_COMM_WORLD);
}

static void receive(int bytes)
{
	MPI_Recv(in, bytes, MPI_BYTE, !rank, 0, FROM_PEER);
}

static void ping_pong(struct peer *p, int bytes, uint64_t n)
{
	uint64_t last = bench_cycles(), now, i;

	for (i = 0; i < n; i++) {
		if (rank) {
			receive(bytes);
			send(bytes);
			continue;
		}
		send(bytes);
		receive(bytes);
		now = bench_cycles();
		p->sample[i] = now - last;
		last = now;
	}
}

/* Cycles until the receiver has acknowledged the last one */
static uint64_t stream(int bytes, uint64_t n)
{
	uint64_t start = bench_cycles(), i;

	for (i = 0; i < n; i++) {
		if (rank)
			receive(bytes);
		else
			send(bytes);
	}
	if (rank)
		send(1);
	else
		receive(1);
	return bench_cycles() - start;
}

static void two_sided(struct peer *p)
{
	static const int sizes[] = { PEER_SMALL, PEER_LINE, PEER_LARGE };
	uint64_t cycles;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ping_pong(p, sizes[i], PEER_WARM(p->n));
		ping_pong(p, sizes[i], p->n);
		if (!rank)
			peer_latency(p, "send_lat", "send", (uint64_t)sizes[i], 2);
	}
	stream(PEER_LARGE, PEER_WARM(p->n));
	cycles = stream(PEER_LARGE, p->n);
	if (!rank)
		peer_stream(p, "send_bw", "send", PEER_LARGE, cycles);
}

/* --- one-sided: rank 1 is in a barrier meanwhile --- */

static void get(struct peer *p, MPI_Win win, int bytes, uint64_t n)
{
	uint64_t last = bench_cycles(), now, i;

	for (i = 0; i < n; i++) {
		MPI_Get(in, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
		MPI_Win_flush(1, win);
		now = bench_cycles();
		p->sample[i] = now - last;
		last = now;
	}
}

static uint64_t put(MPI_Win win, int bytes, uint64_t n)
{
	uint64_t start = bench_cycles(), i;

	for (i = 0; i < n; i++)
		MPI_Put(out, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
	MPI_Win_flush(1, win);
	return bench_cycles() - start;
}

static void one_sided(struct peer *p, MPI_Win win, const char *way)
{
	static const int sizes[] = { PEER_LINE, PEER_LARGE };
	size_t i;

	if (!rank) {
		MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			get(p, win, sizes[i], PEER_WARM(p->n));
			get(p, win, sizes[i], p->n);
			peer_latency(p, "get", way, (uint64_t)sizes[i], 1);
		}
		put(win, PEER_LARGE, PEER_WARM(p->n));
		peer_stream(p, "put_bw", way, PEER_LARGE, put(win, PEER_LARGE, p->n));
		MPI_Win_unlock(1, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void windows(struct peer *p)
{
	MPI_Win win;
	char *mine;

	/* memory that MPI allocates can be mapped by all ranks */
	MPI_Win_allocate(PEER_LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
	one_sided(p, win, "allocate");
	MPI_Win_free(&win);
	/* memory of the application cannot */
	mine = (char *)calloc(1, PEER_LARGE);
	if (!mine)
		die(EXIT_FAILED, "out of memory");
	MPI_Win_create(mine, PEER_LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	one_sided(p, win, "create");
	MPI_Win_free(&win);
	free(mine);
}

int main(int argc, char **argv)
{
	int n = 20000, ranks, len;
	const struct opt opts[] = {
		{ 'n', "iters", OPT_INT, &n, 1, INT_MAX, "N", "operations of each (default 20000)" },
		{ 0 },
	};
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	struct peer p = { 0 };

	if (opt_parse(argc, argv, opts, "mpirun -n 2 peer_mpi [-n N]") != argc)
		die(EXIT_USAGE, "unexpected argument '%s'; see --help", argv[argc - 1]);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks != 2)
		die(EXIT_USAGE, "it takes two ranks: mpirun -n 2");
	MPI_Get_library_version(version, &len);
	version[strcspn(version, ",\n")] = 0;
	peer_pin(rank);
	peer_init(&p, (uint64_t)n);
	out = (char *)calloc(1, PEER_LARGE);
	in = (char *)calloc(1, PEER_LARGE);
	if (!out || !in)
		die(EXIT_FAILED, "out of memory");
	if (!rank)
		peer_begin(&p, "mpi", version);
	two_sided(&p);
	windows(&p);
	if (!rank)
		peer_end(&p);
	free(out);
	free(in);
	MPI_Finalize();
	return EXIT_OK;
}
