// SPDX-License-Identifier: GPL-2.0
/*
 * The simulator compared with queueing theory. All costs are 0 except where a test is about
 * them, so that what is left is known: a delay, or a link that sends one byte per nanosecond.
 * Operations go through librmc, the core and its link model.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/object.h>
#include <rmc/rmc.h>
#include <rmc/sabre.h>
#include "../tap.h"
#include "costs.h"
#include "rmc_sim.h"

#define LINE		64
#define HEADER		16	/* RMC_PACKET_HEADER: a packet besides its payload, bytes */
#define RTT_NS		1000
#define SEG		(64 * 1024)
#define ENTRIES		1024

static char *seg, *lbuf;

static void serve(void *arg)
{
	struct rmc_ctx *c = rmc_open(0, -1);

	(void)arg;
	CHECK(c && !rmc_seg_register(c, seg, SEG, 0));
	/* until all others are done; the simulation frees the context */
}

static struct rmc_qp *begin(void)
{
	struct rmc_ctx *c = rmc_open(0, -1);
	struct rmc_qp *qp = c ? rmc_qp_create(c, ENTRIES) : NULL;

	CHECK(qp && rmc_buf_register(c, lbuf, SEG) >= 0);
	/* the first operation opens the channel */
	rmc_sim_sleep_until(10000);
	CHECK_EQ(rmc_read(qp, 1, 0, lbuf, LINE), 0);
	return qp;
}

static void simulate(struct rmc_sim_options *o, void (*client)(void *), void *arg)
{
	int err = rmc_sim_init(o);

	CHECK_EQ(err, 0);
	if (err)
		return;
	rmc_sim_spawn(1, serve, NULL);
	rmc_sim_spawn(0, client, arg);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_fini();
}

/* ---- a window of w over a delay d: w/d ---- */

struct window {
	int w;
	int ops;
	uint64_t took;
};

static void windowed(void *arg)
{
	struct rmc_qp *qp = begin();
	struct window *win = arg;
	struct rmc_completion c;
	uint64_t start = rmc_sim_now();
	int i;

	for (i = 0; i < win->ops; i++) {
		if (rmc_qp_in_flight(qp) == (unsigned int)win->w)
			CHECK_EQ(rmc_cq_wait(qp, &c), 0);
		rmc_read_async(qp, rmc_wait_for_slot(qp, NULL), 1, i % 512 * LINE, lbuf, LINE);
	}
	CHECK_EQ(rmc_drain_cq(qp, NULL), 0);
	win->took = rmc_sim_now() - start;
}

static void test_window(const char *name, struct rmc_sim_options o)
{
	static const int windows[] = { 1, 2, 3, 7, 16, 64, 200 };
	struct window win;
	unsigned int i;

	for (i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		win.w = windows[i];
		win.ops = 50 * win.w;
		simulate(&o, windowed, &win);
		/* ops / took = w / d */
		CHECK_EQ(win.took, 50 * RTT_NS);
	}
	tap_result(name);
}

/* ---- one read of the papers' machine ---- */

static void one_read(void *arg)
{
	struct rmc_qp *qp = begin();
	uint64_t start;

	rmc_sim_sleep_until(20000);
	start = rmc_sim_now();
	CHECK_EQ(rmc_read(qp, 1, 0, lbuf, LINE), 0);
	*(uint64_t *)arg = rmc_sim_now() - start;
}

/* 710 cycles of 2 GHz (T18 table 6.3), one hop of 35 ns each way included */
static void test_published(void)
{
	struct rmc_sim_options o = {
		.one_way_ns = 35, .costs = rmc_sim_costs_find("sonuma-edge"),
	};
	uint64_t ns = 0;

	simulate(&o, one_read, &ns);
	CHECK_EQ(ns, 355);
	tap_result("a read with the papers' costs takes what the papers print, 355 ns");
}

/* ---- an object of lines in memory ---- */

#define M_NS		90	/* a line from memory, sonuma-r2p2 */
#define L_PS		3200	/* the next one */

struct access {
	int sabre, mode, lines;
	uint64_t ns;
};

static void serve_objects(void *arg)
{
	struct rmc_object_layout l = { .mode = ((struct access *)arg)->mode };
	struct rmc_ctx *c = rmc_open(0, -1);

	memset(seg, 0, SEG);
	CHECK(c && !rmc_seg_register_objects(c, seg, SEG, 0, &l));
}

static void one_access(void *arg)
{
	struct rmc_qp *qp = begin();
	struct access *a = arg;
	int len = a->lines * LINE;
	uint64_t start;

	rmc_sim_sleep_until(20000);
	start = rmc_sim_now();
	/* not what begin() has read */
	CHECK_EQ(a->sabre ? rmc_sabre(qp, 1, 4096, lbuf, len) : rmc_read(qp, 1, 4096, lbuf, len), 0);
	a->ns = rmc_sim_now() - start;
}

/* ns beyond those of one line: what memory makes of it */
static uint64_t packets_ns(int sabre, int mode, int lines, uint32_t depth, uint32_t mtu)
{
	struct rmc_sim_options o = {
		.one_way_ns = 35, .costs = rmc_sim_costs_find("sonuma-r2p2"), .memory = 1,
		.att_depth = depth, .mtu = mtu, .ni = "pair", .ring_order = 8,
	};
	struct access a = { sabre, mode, lines, 0 };

	CHECK_EQ(rmc_sim_init(&o), 0);
	rmc_sim_spawn(1, serve_objects, &a);
	rmc_sim_spawn(0, one_access, &a);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_fini();
	return a.ns - 355;
}

/* In one packet, so that only memory counts */
static uint64_t access_ns(int sabre, int mode, int lines, uint32_t depth)
{
	return packets_ns(sabre, mode, lines, depth, 8192);
}

/* Line by line, through the ATT: a visit's replies are sent when the last of its lines is there. */
static void test_transfers(void)
{
	static const uint32_t depths[] = { 1, 8, 16, 24, 32 };
	uint64_t n = 128, full = (n - 1) * L_PS / 1000, ns, last = ~0ULL;
	unsigned int i;

	ns = packets_ns(0, RMC_SABRE_OVERLAPPED, n, 0, LINE);
	CHECK(ns >= full && ns < full + 40);
	for (i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		ns = packets_ns(1, RMC_SABRE_OVERLAPPED, n, depths[i], LINE);
		CHECK(ns >= full && ns < last);
		last = ns;
	}
	CHECK(ns < full + 40);
	/* more than bandwidth times latency brings nothing */
	CHECK_EQ(packets_ns(1, RMC_SABRE_OVERLAPPED, n, 128, LINE), ns);
	ns = packets_ns(1, RMC_SABRE_SERIALIZED, n, 0, LINE) - ns;
	CHECK(ns > M_NS - 10 && ns < M_NS + 10);
	tap_result("the same in packets of a line: stalls by depth, no speculation a miss more");
}

static void test_lines(void)
{
	static const int lines[] = { 1, 2, 16, 32, 64, 128 };
	uint64_t n, read;
	unsigned int i;

	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		n = lines[i];
		read = access_ns(0, RMC_SABRE_OVERLAPPED, n, 0);
		CHECK_EQ(read, (n - 1) * L_PS / 1000);
		/* lines are fetched with the version; it is there before the buffer of 32 is full */
		CHECK_EQ(access_ns(1, RMC_SABRE_OVERLAPPED, n, 0), read);
		/* the others after the version */
		CHECK_EQ(access_ns(1, RMC_SABRE_SERIALIZED, n, 0),
			 n > 1 ? M_NS + (n - 2) * L_PS / 1000 : 0);
	}
	tap_result("an object in memory: SABRes take as long as reads, without speculation a miss more");
}

/* While the version is on its way no more lines than att_depth are: then the transfer stalls. */
static void test_depth(void)
{
	static const uint32_t depths[] = { 1, 2, 8, 27, 29, 128 };
	uint64_t d, n = 128, full = (n - 1) * L_PS / 1000;
	unsigned int i;

	for (i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		d = depths[i];
		/* Little's law: 90 ns / 3.2 ns are 28.1 lines */
		CHECK_EQ(access_ns(1, RMC_SABRE_OVERLAPPED, n, d),
			 d * L_PS < M_NS * 1000 ? M_NS + (n - d - 1) * L_PS / 1000 : full);
	}
	tap_result("stream buffers: a depth below bandwidth times latency stalls");
}

/* ---- a queue in front of a link ---- */

struct queue {
	double load;
	int lines;		/* of each packet, or their mean */
	int exponential;	/* approximately, in whole lines up to the largest packet */
	int ops;
	/* out, all in ns */
	double wait;		/* mean */
	double expected;	/* of an infinitely long run */
	int wrong;		/* waits that differ from theory for the same arrivals */
};

static double uniform(void)
{
	return ((rmc_sim_random() >> 11) + 0.5) / 9007199254740992.0;
}

/* Packets of a geometric number of lines take nearly exponential times. */
static int draw_lines(const struct queue *q)
{
	int n;

	if (!q->exponential)
		return q->lines;
	do
		n = 1 + (int)(log(uniform()) / log(1 - 1.0 / q->lines));
	while (n > 511);
	return n;
}

struct job {
	uint64_t arrived, service, left;
};

static void arrivals(void *arg)
{
	uint64_t gap_ns, next, sent = 0, wait, sum = 0;
	static struct job job[ENTRIES];
	struct rmc_qp *qp = begin();
	struct queue *q = arg;
	struct rmc_completion c;
	double mean = HEADER + q->lines * LINE, rest = 0, gap;
	int i = 0, done = 0, slot, n;

	next = 20000;
	while (done < q->ops) {
		while (rmc_cq_next(qp, &c)) {
			struct job *j = &job[c.slot];

			CHECK_EQ(c.status, 0);
			/* a reply is only a header */
			wait = rmc_sim_now() - RTT_NS - HEADER - j->service - j->arrived;
			/* Lindley: sent when the previous packet has left, or at once */
			q->wrong += wait != j->left - j->service - j->arrived;
			sum += wait;
			done++;
		}
		if (i < q->ops && rmc_sim_now() >= next) {
			slot = rmc_wait_for_slot(qp, NULL);
			n = draw_lines(q);
			job[slot].arrived = rmc_sim_now();
			job[slot].service = HEADER + n * LINE;
			sent = (sent > next ? sent : next) + job[slot].service;
			job[slot].left = sent;
			rmc_write_async(qp, slot, 1, 0, lbuf, n * LINE);
			/* whole nanoseconds; the remainder is carried over */
			gap = -log(uniform()) * mean / q->load + rest;
			gap_ns = (uint64_t)gap;
			rest = gap - gap_ns;
			next += gap_ns;
			i++;
			continue;
		}
		rmc_sim_wait_until(i < q->ops ? next : rmc_sim_now() + 1000000);
	}
	q->wait = (double)sum / q->ops;
}

/* Pollaczek-Khinchine, for exponential times rounded to whole lines */
static double expected(const struct queue *q)
{
	double p = 1.0 / q->lines, weight = p, all = 0, m1 = 0, m2 = 0, s, rate;
	int n;

	if (!q->exponential)	/* M/D/1 */
		return (HEADER + q->lines * LINE) * q->load / (2 * (1 - q->load));
	for (n = 1; n <= 511; n++, weight *= 1 - p) {
		s = HEADER + n * LINE;
		all += weight;
		m1 += weight * s;
		m2 += weight * s * s;
	}
	m1 /= all;
	m2 /= all;
	rate = q->load / (HEADER + q->lines * LINE);
	return rate * m2 / (2 * (1 - rate * m1));
}

static void test_queue(struct queue q)
{
	struct rmc_sim_options o = {
		.topology = 1, .hop_ns = RTT_NS / 2, .mbps = 8000, .mtu = 32768,
		.ring_order = 10, .pay_order = 14, .itt = ENTRIES, .seed = 3,
	};
	char name[128];
	double mm1 = (HEADER + q.lines * LINE) * q.load / (1 - q.load);

	simulate(&o, arrivals, &q);
	q.expected = expected(&q);
	printf("# load %.1f: %d waits, mean %.1f ns, in theory %.1f ns (%+.2f %%)", q.load, q.ops,
	       q.wait, q.expected, 100 * (q.wait / q.expected - 1));
	if (q.exponential)
		printf("; M/M/1 %.1f ns (%+.2f %%)", mm1, 100 * (q.wait / mm1 - 1));
	printf("\n");
	CHECK_EQ(q.wrong, 0);
	CHECK(fabs(q.wait / q.expected - 1) < 0.03);
	snprintf(name, sizeof(name), "M/%s/1, link, load %.1f: each wait is exact, mean within 3 %%",
		 q.exponential ? "M" : "D", q.load);
	tap_result(name);
}

/* ---- the ports of a server with several clients ---- */

#define CLIENTS	8

struct port {
	double load;		/* 0: as much as the clients can request */
	int write;
	int lines;
	int ops;		/* of each client */
	/* out, of all clients */
	uint64_t first, last;	/* ns */
	uint64_t waits;
};

static uint64_t packet_ns(const struct port *p)
{
	return HEADER + p->lines * LINE;
}

static void ask(struct rmc_qp *qp, const struct port *p)
{
	int slot = rmc_wait_for_slot(qp, NULL);

	if (p->write)
		rmc_write_async(qp, slot, 1, 0, lbuf, p->lines * LINE);
	else
		rmc_read_async(qp, slot, 1, 0, lbuf, p->lines * LINE);
}

static void saturate(void *arg)
{
	struct rmc_qp *qp = begin();
	struct rmc_completion c;
	struct port *p = arg;
	int i;

	rmc_sim_sleep_until(100000);
	p->first = rmc_sim_now();
	for (i = 0; i < p->ops; i++) {
		if (rmc_qp_in_flight(qp) == 16)
			CHECK_EQ(rmc_cq_wait(qp, &c), 0);
		ask(qp, p);
	}
	CHECK_EQ(rmc_drain_cq(qp, NULL), 0);
	if (rmc_sim_now() > p->last)
		p->last = rmc_sim_now();
}

/* One operation at a time, at random times: the wait is the time beyond that of a lone one. */
static void poisson(void *arg)
{
	double gap, rest = 0;
	struct rmc_qp *qp = begin();
	struct port *p = arg;
	struct rmc_completion c;
	uint64_t at[ENTRIES], next = 100000;
	int i = 0, done = 0, slot;

	while (done < p->ops) {
		while (rmc_cq_next(qp, &c)) {
			p->waits += rmc_sim_now() - at[c.slot] - RTT_NS - HEADER - packet_ns(p);
			done++;
		}
		if (i < p->ops && rmc_sim_now() >= next) {
			slot = rmc_wait_for_slot(qp, NULL);
			at[slot] = rmc_sim_now();
			rmc_read_async(qp, slot, 1, 0, lbuf, p->lines * LINE);
			gap = -log(uniform()) * packet_ns(p) * CLIENTS / p->load + rest;
			rest = gap - (uint64_t)gap;
			next += (uint64_t)gap;
			i++;
			continue;
		}
		rmc_sim_wait_until(i < p->ops ? next : rmc_sim_now() + 1000000);
	}
}

static void clients(struct port *p, int one_way, void (*fn)(void *))
{
	struct rmc_sim_options o = {
		.nodes = CLIENTS + 1, .topology = 1, .hop_ns = RTT_NS / 2, .mbps = 8000,
		.mtu = 4096, .itt = ENTRIES, .seed = 5, .one_way = one_way,
	};
	int i;

	CHECK_EQ(rmc_sim_init(&o), 0);
	rmc_sim_spawn(1, serve, NULL);
	for (i = 0; i <= CLIENTS; i++)
		if (i != 1)
			rmc_sim_spawn(i, fn, p);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_fini();
}

/* Data of all clients passes one port, or a port each. */
static void test_ports(int write, const char *name)
{
	struct port p = { .write = write, .lines = 16, .ops = 2000 }, q = p;
	double one, each;

	clients(&p, 1, saturate);
	clients(&q, 0, saturate);
	one = (double)(p.last - p.first) / (CLIENTS * p.ops * packet_ns(&p));
	each = (double)(q.last - q.first) / (q.ops * packet_ns(&q));
	printf("# time over that of all bytes in one port: %.4f; without the server's: %.4f of one client's\n",
	       one, each);
	CHECK(one >= 1 && one < 1.002);
	CHECK(each >= 1 && each < 1.2);
	tap_result(name);
}

static void test_server_queue(double load)
{
	struct port p = { .load = load, .lines = 16, .ops = 40000 };
	double wait, want = packet_ns(&p) * load / (2 * (1 - load));
	char name[96];

	clients(&p, 1, poisson);
	wait = (double)p.waits / (CLIENTS * p.ops);
	printf("# load %.1f: mean wait %.1f ns, in theory %.1f ns (%+.2f %%)\n", load, wait, want,
	       100 * (wait / want - 1));
	CHECK(fabs(wait / want - 1) < 0.05);
	snprintf(name, sizeof(name), "M/D/1, a server's port, load %.1f: mean wait within 5 %%", load);
	tap_result(name);
}

int main(void)
{
	seg = aligned_alloc(4096, SEG);
	lbuf = aligned_alloc(4096, SEG);
	if (!seg || !lbuf)
		return 2;
	test_window("a window of w over a delay of d: w/d, exactly",
		    (struct rmc_sim_options){ .one_way_ns = RTT_NS / 2 });
	test_window("the same with the link model, which holds replies back",
		    (struct rmc_sim_options){ .topology = 1, .hop_ns = RTT_NS / 2 });
	test_window("the same with each way modelled for itself",
		    (struct rmc_sim_options){ .topology = 1, .hop_ns = RTT_NS / 2, .one_way = 1 });
	test_window("the same with an NI of two workers",
		    (struct rmc_sim_options){ .one_way_ns = RTT_NS / 2, .ni = "pair" });
	test_published();
	test_lines();
	test_depth();
	test_transfers();
	test_queue((struct queue){ .load = 0.5, .lines = 4, .ops = 400000 });
	test_queue((struct queue){ .load = 0.8, .lines = 4, .ops = 400000 });
	test_queue((struct queue){ .load = 0.5, .lines = 48, .exponential = 1, .ops = 500000 });
	test_queue((struct queue){ .load = 0.8, .lines = 48, .exponential = 1, .ops = 500000 });
	test_ports(0, "reads by many: the port by which the server answers is the limit");
	test_ports(1, "writes by many: the port by which they come in is the limit");
	test_server_queue(0.5);
	test_server_queue(0.8);
	return tap_done();
}
