// SPDX-License-Identifier: GPL-2.0
/*
 * Traffic for the cluster tests.
 *
 *	pairs		every node writes to and reads from every other, and checks
 *	atomics [N]	all nodes add to node 0's counter, node 0 with CPU instructions too
 *	lines		node 1 writes lines, the other nodes read them: never a mix of two.
 *			Counts how often a write came between two reads; 0 is a failure
 *	watch SECONDS	small operations on every other node, continuously. Prints changes of
 *			status, and at the end one line per peer. Peers may start at any time.
 *			SIGUSR2 ends it earlier
 *	busy		operations in flight all the time, until killed
 *	killed N	a process that does what busy does, killed 0.3 s after it began, N times.
 *			Prints a line for each
 *	status NID	status of one read from a node, as a word
 *	wake NID	median time of a read from a node that parks before each read
 *	expose		exposes a segment until killed
 *
 * Start pairs, atomics and lines with rmc-run.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "program.h"

#define SLOT		16384		/* bytes per writer in each segment */
#define MAX_NODES	64

static void want(const char *what, int got)
{
	if (got)
		die("%s: %s", what, rmc_strerror(got));
}

static unsigned int context(void)
{
	const char *s = getenv("RMC_CTX");

	return s ? (unsigned int)atoi(s) : 0;
}

static struct rmc_team *team(size_t len)
{
	struct rmc_team *t = rmc_team_open(context(), len);

	if (!t)
		die("%s", rmc_errmsg());
	return t;
}

static void *buffer(struct rmc_ctx *ctx, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || rmc_buf_register(ctx, p, len) < 0)
		die("%s", rmc_errmsg());
	return p;
}

static uint8_t pattern(int writer, int reader, unsigned int round, size_t i)
{
	uint64_t who = (uint64_t)writer * 37 + (uint64_t)reader * 101 + round * 11 + 1;

	return (uint8_t)((who * 2654435761U + i * 2246822519U) >> 23);
}

/* ---- pairs ---- */

static int pairs(void)
{
	static const size_t lengths[] = { 1, 5, 8, 63, 64, 65, 200, 4096, 4097, 8192, SLOT - 7 };
	unsigned int round;
	uint8_t *out, *in;
	struct rmc_team *t;
	int peer;
	size_t i;

	/* a row per writer, then the row that the owner itself stores */
	t = team((MAX_NODES + 1) * SLOT);
	out = buffer(t->ctx, 2 * SLOT);
	in = out + SLOT;
	for (round = 0; round < sizeof(lengths) / sizeof(lengths[0]); round++) {
		size_t len = lengths[round], skip = round % 7;
		uint8_t *own = (uint8_t *)t->seg + MAX_NODES * SLOT;

		for (i = 0; i < len; i++)
			own[i] = pattern(t->self, 99, round, i);
		want("barrier", rmc_team_barrier(t));
		for (peer = 0; peer < t->nodes; peer++) {
			int nid = rmc_team_nid(t, peer);

			/* read what the owner stored with its CPU */
			want("read", rmc_read(t->qp, nid, t->offset + MAX_NODES * SLOT, in, len));
			for (i = 0; i < len; i++)
				if (in[i] != pattern(peer, 99, round, i))
					die("read of %zu bytes from node %d: byte %zu", len, peer, i);
			/* write, to be checked by the owner, and read it back */
			for (i = 0; i < len; i++)
				out[i] = pattern(t->self, peer, round, i);
			want("write", rmc_write(t->qp, nid, t->offset + (size_t)t->self * SLOT + skip,
						out, len));
			memset(in, 0, len);
			want("read", rmc_read(t->qp, nid, t->offset + (size_t)t->self * SLOT + skip,
					      in, len));
			if (memcmp(in, out, len))
				die("node %d does not give back %zu bytes", peer, len);
		}
		want("barrier", rmc_team_barrier(t));
		for (peer = 0; peer < t->nodes; peer++)
			for (i = 0; i < len; i++)
				if (((uint8_t *)t->seg)[(size_t)peer * SLOT + skip + i] !=
				    pattern(peer, t->self, round, i))
					die("%zu bytes written by node %d: byte %zu", len, peer, i);
		want("barrier", rmc_team_barrier(t));
	}
	printf("pairs ok\n");
	rmc_team_close(t);
	return 0;
}

/* ---- atomics ---- */

static int atomics(int count)
{
	struct rmc_team *t = team(128);
	uint64_t *counter = t->seg, expected, old;
	int i, slot;

	want("barrier", rmc_team_barrier(t));
	for (i = 0; i < count; i++) {
		slot = rmc_wait_for_slot(t->qp, NULL);
		if (slot < 0)
			want("slot", slot);
		rmc_faa_async(t->qp, slot, rmc_team_nid(t, 0), t->offset, 1);
		/* the owner's CPU adds as often, at the same time */
		if (!t->self)
			__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
	}
	want("drain", rmc_drain_cq(t->qp, NULL));
	want("barrier", rmc_team_barrier(t));
	expected = (uint64_t)count * (uint64_t)(t->nodes + 1);
	want("add", rmc_faa(t->qp, rmc_team_nid(t, 0), t->offset, 0, &old));
	if (old != expected)
		die("counter is %" PRIu64 ", not %" PRIu64, old, expected);
	want("barrier", rmc_team_barrier(t));
	printf("atomics ok\n");
	rmc_team_close(t);
	return 0;
}

/* ---- lines ---- */

static int lines(void)
{
	struct rmc_team *t = team(4096);
	uint64_t *line = buffer(t->ctx, 4096), v, reads = 0, met = 0, last = 0;
	double end = now() + 3;
	int i;

	want("barrier", rmc_team_barrier(t));
	for (v = 1; now() < end; v++) {
		if (t->self == 1) {
			for (i = 0; i < 8; i++)
				line[i] = v;
			want("write", rmc_write(t->qp, rmc_team_nid(t, 0), t->offset, line, 64));
			continue;
		}
		want("read", rmc_read(t->qp, rmc_team_nid(t, 0), t->offset, line, 64));
		for (i = 1; i < 8; i++)
			if (line[i] != line[0])
				die("a mix of lines %" PRIu64 " and %" PRIu64, line[0], line[i]);
		/* the first value may have been there before we began */
		met += last && line[0] != last;
		last = line[0];
		reads++;
	}
	want("barrier", rmc_team_barrier(t));
	if (t->self != 1 && !met)
		die("none of %" PRIu64 " reads met a write", reads);
	printf("lines ok, %" PRIu64 " of %" PRIu64 " reads met a write\n", met, reads);
	rmc_team_close(t);
	return 0;
}

/* ---- without a team ---- */

struct alone {
	struct rmc_ctx *ctx;
	struct rmc_qp *qp;
	uint8_t *seg;
	uint8_t *buf;
};

static void open_alone(struct alone *a, size_t seg_len, size_t buf_len)
{
	a->ctx = rmc_open(context(), -1);
	if (!a->ctx)
		die("%s", rmc_errmsg());
	a->buf = buffer(a->ctx, buf_len);
	a->seg = mmap(NULL, seg_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* the pattern that watch expects, before the segment is exposed */
	if (a->seg != MAP_FAILED)
		memset(a->seg, rmc_nid(a->ctx) + 1, seg_len);
	if (a->seg == MAP_FAILED || rmc_seg_register(a->ctx, a->seg, seg_len, 0))
		die("%s", rmc_errmsg());
	a->qp = rmc_qp_create(a->ctx, 64);
	if (!a->qp)
		die("%s", rmc_errmsg());
}

/* Statuses of operations on one peer */
struct peer {
	int last;
	unsigned long ok, down, absent, other;
	double worst;
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

/*
 * "T peer P STATUS after X ms" at every change; T is seconds since the start.
 * At the end "peer P ok N down N absent N other N last STATUS worst X ms".
 */
static int watch(double seconds)
{
	struct peer peers[MAX_NODES] = { 0 };
	double start = now(), t0, took;
	struct alone a;
	int p, n, s;

	signal(SIGUSR2, on_signal);
	open_alone(&a, 65536, 65536);
	n = rmc_nodes(a.ctx) < MAX_NODES ? rmc_nodes(a.ctx) : MAX_NODES;
	for (p = 0; p < n; p++)
		peers[p].last = -1;
	while (!stopped && now() - start < seconds) {
		for (p = 0; p < n; p++) {
			struct peer *r = &peers[p];

			if (p == rmc_nid(a.ctx))
				continue;
			t0 = now();
			s = rmc_read(a.qp, p, 64, a.buf, 200);
			took = now() - t0;
			if (s < 0)
				want("read", s);
			if (took > r->worst)
				r->worst = took;
			if (s != r->last)
				printf("%.1f peer %d %s after %.0f ms\n", t0 - start, p,
				       rmc_status_name(s), took * 1e3);
			fflush(stdout);
			r->last = s;
			if (s == RMC_S_OK) {
				r->ok++;
				if (a.buf[0] != p + 1 || a.buf[199] != p + 1)
					die("peer %d: wrong data", p);
			} else if (s == RMC_S_NODE_DOWN) {
				r->down++;
			} else if (s == RMC_S_BAD_CONTEXT) {
				r->absent++;
			} else {
				r->other++;
			}
		}
		usleep(1000);
	}
	for (p = 0; p < n; p++)
		if (p != rmc_nid(a.ctx))
			printf("peer %d ok %lu down %lu absent %lu other %lu last %s worst %.0f ms\n",
			       p, peers[p].ok, peers[p].down, peers[p].absent, peers[p].other,
			       rmc_status_name(peers[p].last), peers[p].worst * 1e3);
	return 0;
}

static void __attribute__((noreturn)) busy(void)
{
	struct alone a;
	int slot, i;

	open_alone(&a, 65536, 65536);
	printf("busy\n");
	fflush(stdout);
	for (i = 0; ; i++) {
		slot = rmc_wait_for_slot(a.qp, NULL);
		if (slot < 0)
			want("slot", slot);
		if (i & 1)
			rmc_read_async(a.qp, slot, i % rmc_nodes(a.ctx), 64, a.buf, 20000);
		else
			rmc_write_async(a.qp, slot, i % rmc_nodes(a.ctx), 40000, a.buf, 20000);
	}
}

static int killed(int times)
{
	char line[8];
	int end[2];
	pid_t child;
	int i, s;

	for (i = 1; i <= times; i++) {
		if (pipe(end))
			want("pipe", -errno);
		child = fork();
		if (child < 0)
			want("fork", -errno);
		if (!child) {
			dup2(end[1], STDOUT_FILENO);
			close(end[0]);
			close(end[1]);
			busy();
		}
		close(end[1]);
		if (read(end[0], line, sizeof(line)) <= 0)
			want("a process with operations", -ECHILD);
		usleep(300000);
		kill(child, SIGKILL);
		if (waitpid(child, &s, 0) != child || !WIFSIGNALED(s))
			want("a killed process", -ECHILD);
		close(end[0]);
		printf("killed %d\n", i);
	}
	return 0;
}

static int status(int nid)
{
	struct alone a;
	int s;

	open_alone(&a, 4096, 4096);
	s = rmc_read(a.qp, nid, 0, a.buf, 64);
	printf("%s\n", s < 0 ? rmc_strerror(s) : rmc_status_name(s));
	return 0;
}

#define WAKES	9

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int wake(int nid)
{
	double took[WAKES], t0;
	struct alone a;
	int i;

	open_alone(&a, 4096, 4096);
	want("first read", rmc_read(a.qp, nid, 0, a.buf, 64));
	for (i = 0; i < WAKES; i++) {
		usleep(500000);		/* both sides park */
		t0 = now();
		want("read", rmc_read(a.qp, nid, 0, a.buf, 64));
		took[i] = (now() - t0) * 1e3;
	}
	qsort(took, WAKES, sizeof(took[0]), by_value);
	printf("woken after %.0f ms (median; %.1f .. %.1f)\n", took[WAKES / 2], took[0],
	       took[WAKES - 1]);
	return 0;
}

static void __attribute__((noreturn)) expose(void)
{
	struct alone a;

	open_alone(&a, 65536, 4096);
	printf("exposed\n");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *arg = argc > 2 ? argv[2] : NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "pairs"))
		return pairs();
	if (!strcmp(what, "atomics"))
		return atomics(arg ? atoi(arg) : 2000);
	if (!strcmp(what, "lines"))
		return lines();
	if (!strcmp(what, "watch") && arg)
		return watch(atof(arg));
	if (!strcmp(what, "busy"))
		busy();
	if (!strcmp(what, "killed") && arg)
		return killed(atoi(arg));
	if (!strcmp(what, "status") && arg)
		return status(atoi(arg));
	if (!strcmp(what, "wake") && arg)
		return wake(atoi(arg));
	if (!strcmp(what, "expose"))
		expose();
	fprintf(stderr, "usage: xpair pairs|atomics [N]|lines|watch SECONDS|busy|killed N|status NID|"
		"wake NID|expose\n");
	return 2;
}
