// SPDX-License-Identifier: GPL-2.0
/*
 * Continuous operations on other nodes, with canaries around and between all memory that a
 * remote party may write to.
 *
 *	xguard CTX clean|rough PEER ...
 *
 * clean: write, read back and count; each operation must succeed. rough: random operations;
 * each must complete, with any status. Prints "ready" when all peers have replied. SIGUSR1:
 * issue no more operations, print one line per peer in the format of xpair watch, and
 * "stopped". SIGUSR2: check the canaries, print "guards ok" and exit; until then the segment
 * stays registered for the peers.
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

#define PAGE		4096UL
#define CANARY		0x77
#define MAX_NODES	64
#define ROW		8192UL		/* of a segment, per writer */
#define SEG		(8 * ROW + 100)	/* for 8 writers; ends within a page */
#define SLOTS		16
#define SLOT		8192UL		/* of the local buffer, per WQ entry */
#define BUF		(SLOTS * SLOT + 33)
#define PATIENCE	40		/* seconds */

/* Memory with canaries around it, on the same pages */
struct guarded {
	uint8_t *all, *at;
	size_t length;
};

struct peer {
	int nid, last;
	unsigned long ok, other;
	uint64_t added;
	double worst;
};

static struct rmc_ctx *ctx;
static struct rmc_qp *qp;
static struct guarded seg, buf;
static uint16_t skip[SLOTS], len_of[SLOTS];	/* where a reply may write */
static struct peer *by_slot[SLOTS], peers[MAX_NODES];
static double since[SLOTS], began;
static int count;
static uint32_t rng;
static volatile sig_atomic_t stop, end;

static uint32_t below(uint32_t n)
{
	rng = rng * 1664525 + 1013904223;
	return (rng >> 8) % n;
}

static void guard(struct guarded *g, size_t length, size_t skew)
{
	size_t all = (length + 3 * PAGE) & ~(PAGE - 1);

	g->all = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g->all == MAP_FAILED)
		die("no memory");
	memset(g->all, CANARY, all);
	g->at = g->all + PAGE - skew;
	g->length = length;
}

static void check_canary(const char *what, const uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] != CANARY)
			die("%s: byte %zu of %zu is %#x", what, i, n, p[i]);
}

static void check_guards(const char *what, const struct guarded *g)
{
	size_t all = (g->length + 3 * PAGE) & ~(PAGE - 1);

	check_canary(what, g->all, (size_t)(g->at - g->all));
	check_canary(what, g->at + g->length, (size_t)(g->all + all - g->at - g->length));
}

static void ended(struct peer *p, int status, double took)
{
	if (status < 0)
		die("peer %d: %s", p->nid, rmc_strerror(status));
	if (status == RMC_S_OK)
		p->ok++;
	else
		p->other++;
	if (took > p->worst)
		p->worst = took;
	p->last = status;
}

/* ---- clean ---- */

static int timed(struct peer *p, int status, double start)
{
	double took = now() - start;

	ended(p, status, took);
	if (status || took > 1)
		printf("at %.1f: peer %d: %s after %.1f s\n", start - began, p->nid,
		       rmc_status_name(status), took);
	return status;
}

static void clean(struct peer *p)
{
	uint64_t row = (uint64_t)rmc_nid(ctx) * ROW, at = row + 8 + below(64), old = 0;
	size_t len = 1 + below(ROW - 200), i;
	uint8_t *out = buf.at + SLOT, *in = buf.at + 3 * SLOT, salt = (uint8_t)below(256);

	for (i = 0; i < len; i++)
		out[i] = (uint8_t)(i * 7 + salt);
	memset(in, 0, len);
	if (timed(p, rmc_write(qp, p->nid, at, out, len), now()) ||
	    timed(p, rmc_read(qp, p->nid, at, in, len), now()))
		return;
	if (memcmp(in, out, len))
		die("peer %d does not give back %zu bytes", p->nid, len);
	if (timed(p, rmc_faa(qp, p->nid, row, 1, &old), now()))
		return;
	if (old != p->added)
		die("peer %d: added %" PRIu64 " times, not %" PRIu64, p->nid, old, p->added);
	p->added++;
}

/* ---- rough ---- */

static void reaped(int slot, void *arg)
{
	uint8_t *p = buf.at + (size_t)slot * SLOT;

	(void)arg;
	ended(by_slot[slot], rmc_slot_status(qp, slot), now() - since[slot]);
	check_canary("before what was asked for", p, skip[slot]);
	check_canary("behind what was asked for", p + skip[slot] + len_of[slot],
		     SLOT - skip[slot] - len_of[slot]);
	memset(p, CANARY, SLOT);
}

static void rough(struct peer *p)
{
	unsigned int op = 1 + below(RMC_OP_SABRE);
	int atomic = op == RMC_OP_CAS || op == RMC_OP_FAA;
	size_t len = atomic ? 8 : 1 + below(SLOT / 2);
	int slot;

	rmc_poll_cq(qp, reaped);
	/* a free slot may take long to come: do not block, other peers need operations too */
	if (rmc_qp_in_flight(qp) == SLOTS ||
	    qp->slot[qp->head & qp->mask] == RMC_SLOT_BUSY) {
		usleep(500);
		return;
	}
	slot = (int)(qp->head & qp->mask);
	skip[slot] = (uint16_t)below(SLOT / 4);
	len_of[slot] = (uint16_t)(atomic ? 16 : len);
	by_slot[slot] = p;
	since[slot] = now();
	rmc_issue(qp, op, slot, p->nid, below(SEG) & (atomic ? ~7U : ~0U),
		  buf.at + (size_t)slot * SLOT + skip[slot], op == RMC_OP_NOTIFY ? 0 : len);
}

/* ---- both ---- */

static void wait_for(struct peer *p)
{
	double end = now() + PATIENCE;
	int s;

	while ((s = rmc_read(qp, p->nid, 0, buf.at, 8)) != RMC_S_OK) {
		if (s < 0 || now() > end)
			die("peer %d is not there: %s", p->nid,
			    s < 0 ? rmc_strerror(s) : rmc_status_name(s));
		usleep(20000);
	}
	memset(buf.at, CANARY, 8);
}

static void set_up(unsigned int ctx_id)
{
	ctx = rmc_open(ctx_id, -1);
	if (!ctx)
		die("%s", rmc_errmsg());
	guard(&seg, SEG, 64 * 5);
	memset(seg.at, 0, SEG);
	guard(&buf, BUF, 7);
	if (rmc_seg_register(ctx, seg.at, SEG, 0) || rmc_buf_register(ctx, buf.at, BUF) < 0)
		die("%s", rmc_errmsg());
	qp = rmc_qp_create(ctx, SLOTS);
	if (!qp)
		die("%s", rmc_errmsg());
}

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		stop = 1;
	else
		end = 1;
}

int main(int argc, char **argv)
{
	void (*one)(struct peer *p) = argc > 2 && !strcmp(argv[2], "rough") ? rough : clean;
	int i, err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 4 || argc - 3 > MAX_NODES) {
		fprintf(stderr, "usage: xguard CTX clean|rough PEER ...\n");
		return 2;
	}
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	set_up((unsigned int)atoi(argv[1]));
	for (count = 0; count < argc - 3; count++)
		peers[count].nid = atoi(argv[3 + count]);
	for (i = 0; i < count; i++)
		wait_for(&peers[i]);
	printf("ready\n");
	rng = (uint32_t)rmc_nid(ctx) + 1;
	for (began = now(), i = 0; !stop; i = (i + 1) % count) {
		one(&peers[i]);
		/* guests share the CPUs of their host */
		usleep(one == rough ? 100 : 2000);
	}
	/* each operation has one completion, with any status */
	err = rmc_drain_cq(qp, one == rough ? reaped : NULL);
	if (err < 0)
		die("drain: %s", rmc_strerror(err));
	for (i = 0; i < count; i++)
		printf("peer %d ok %lu other %lu down 0 last %s worst %.0f ms\n", peers[i].nid,
		       peers[i].ok, peers[i].other, rmc_status_name(peers[i].last),
		       peers[i].worst * 1e3);
	printf("stopped\n");
	while (!end)
		usleep(50000);
	check_guards("around the segment", &seg);
	check_guards("around the buffer", &buf);
	printf("guards ok\n");
	return 0;
}
