// SPDX-License-Identifier: GPL-2.0
/*
 * A replicated log, whose acknowledged records must survive while nodes leave and join.
 *
 *	xlog		each node writes a log of its own, and keeps a copy of all logs
 *	xlog check NID:N ...	check that the first N records of that writer's log exist
 *
 * A record is acknowledged, "acked N", when writes of it to at least two nodes have completed
 * with OK, and all records before it are acknowledged. A node that starts exposes its copy
 * first, so that it misses no new record, then copies the records that the other nodes have:
 * "recovered M". If only one node at a time goes away, and the next one only after that one has
 * recovered, each acknowledged record is on at least one node, and after the recovery on two
 * again.
 *
 * SIGUSR1: write no more, print one line per peer and "stopped", and keep the copy exposed.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "program.h"

#define RECORDS		16384UL		/* of one log, 8 bytes each */
#define LOG		(RECORDS * 8)
#define MAX_NODES	8
#define COPIES		2
#define TELL		16		/* records between two reports */
#define PAUSE_US	10000

static struct rmc_ctx *ctx;
static struct rmc_qp *qp;
static uint64_t *copy;			/* of all logs */
static uint64_t *io;			/* local buffer, as long as one log */
static int self, nodes;
static volatile sig_atomic_t stop;

static struct {
	unsigned long ok, down, absent, other;
	double worst;
} peers[MAX_NODES];

/* The value of record n of a writer; never 0 */
static uint64_t record(int writer, uint64_t n)
{
	return (n * 0x9e3779b97f4a7c15ULL ^ (uint64_t)writer << 56) | 1;
}

static uint64_t place(int writer, uint64_t n)
{
	return (uint64_t)writer * LOG + n * 8;
}

static void *memory(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("no memory");
	return p;
}

static void set_up(int with_copy)
{
	ctx = rmc_open(0, -1);
	if (!ctx)
		die("%s", rmc_errmsg());
	self = rmc_nid(ctx);
	nodes = rmc_nodes(ctx);
	if (nodes > MAX_NODES)
		die("more than %d nodes", MAX_NODES);
	io = memory(LOG);
	if (with_copy) {
		copy = memory((size_t)nodes * LOG);
		if (rmc_seg_register(ctx, copy, (size_t)nodes * LOG, 0))
			die("%s", rmc_errmsg());
	}
	if (rmc_buf_register(ctx, io, LOG) < 0)
		die("%s", rmc_errmsg());
	qp = rmc_qp_create(ctx, 16);
	if (!qp)
		die("%s", rmc_errmsg());
}

static int done(int nid, int status, double start)
{
	double took = now() - start;

	if (status < 0)
		die("node %d: %s", nid, rmc_strerror(status));
	if (status == RMC_S_OK)
		peers[nid].ok++;
	else if (status == RMC_S_NODE_DOWN)
		peers[nid].down++;
	else if (status == RMC_S_BAD_CONTEXT)
		peers[nid].absent++;
	else
		peers[nid].other++;
	if (took > peers[nid].worst)
		peers[nid].worst = took;
	return status == RMC_S_OK;
}

static void check_record(int from, int writer, uint64_t n, uint64_t got)
{
	if (got && got != record(writer, n))
		die("node %d: record %" PRIu64 " of node %d's log is %#" PRIx64, from, n, writer,
		    got);
}

/* Copy the records that other nodes have. Returns how many were missing here. */
static unsigned long recover(void)
{
	unsigned long news = 0;
	int nid, writer;
	uint64_t n;

	for (nid = 0; nid < nodes; nid++) {
		if (nid == self)
			continue;
		for (writer = 0; writer < nodes; writer++) {
			if (!done(nid, rmc_read(qp, nid, place(writer, 0), io, LOG), now()))
				break;
			for (n = 0; n < RECORDS; n++) {
				check_record(nid, writer, n, io[n]);
				if (!io[n] || copy[writer * RECORDS + n])
					continue;
				/* a concurrent writer stores the same value */
				__atomic_store_n(&copy[writer * RECORDS + n], io[n],
						 __ATOMIC_RELAXED);
				news++;
			}
		}
	}
	return news;
}

/* Write a record to all nodes. Returns how many writes completed with OK. */
static int write_record(uint64_t n)
{
	int nid, copies = 0;

	io[0] = record(self, n);
	for (nid = 0; nid < nodes; nid++)
		copies += done(nid, rmc_write(qp, nid, place(self, n), io, 8), now());
	return copies;
}

static void stopped(int sig)
{
	(void)sig;
	stop = 1;
}

static void __attribute__((noreturn)) run(void)
{
	uint64_t n = 0;
	int nid;

	signal(SIGUSR1, stopped);
	set_up(1);
	/* nodes that start at the same time may be missing, but have nothing to recover */
	printf("recovered %lu\n", recover());
	while (n < RECORDS && copy[(uint64_t)self * RECORDS + n])
		n++;
	printf("begins at %" PRIu64 "\n", n);
	while (!stop && n < RECORDS) {
		if (write_record(n) < COPIES) {
			usleep(PAUSE_US);
			continue;	/* retry this record */
		}
		n++;
		if (!(n % TELL))
			printf("acked %" PRIu64 "\n", n);
		usleep(PAUSE_US);
	}
	printf("acked %" PRIu64 "\n", n);
	for (nid = 0; nid < nodes; nid++)
		printf("peer %d ok %lu down %lu absent %lu other %lu last - worst %.0f ms\n", nid,
		       peers[nid].ok, peers[nid].down, peers[nid].absent, peers[nid].other,
		       peers[nid].worst * 1e3);
	printf("stopped\n");
	for (;;)
		pause();
}

static int check(const char *what)
{
	static uint8_t copies[RECORDS];
	int writer, nid;
	uint64_t n, count;
	unsigned int least = MAX_NODES;

	if (sscanf(what, "%d:%" SCNu64, &writer, &count) != 2 || writer < 0 || writer >= nodes ||
	    count > RECORDS)
		die("what is '%s'", what);
	memset(copies, 0, sizeof(copies));
	for (nid = 0; nid < nodes; nid++) {
		if (rmc_read(qp, nid, place(writer, 0), io, LOG) != RMC_S_OK)
			die("node %d has no copy", nid);
		for (n = 0; n < RECORDS; n++) {
			check_record(nid, writer, n, io[n]);
			copies[n] += !!io[n];
		}
	}
	for (n = 0; n < count; n++) {
		if (copies[n] < least)
			least = copies[n];
		if (!copies[n])
			die("record %" PRIu64 " of node %d was acknowledged, and is lost", n, writer);
	}
	printf("log of node %d: %" PRIu64 " records, each on %u nodes or more\n", writer, count,
	       count ? least : 0);
	return count && least < COPIES;
}

int main(int argc, char **argv)
{
	int i, bad = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 1)
		run();
	if (argc < 3 || strcmp(argv[1], "check")) {
		fprintf(stderr, "usage: xlog [check NID:N ...]\n");
		return 2;
	}
	set_up(0);
	for (i = 2; i < argc; i++)
		bad |= check(argv[i]);
	return bad;
}
