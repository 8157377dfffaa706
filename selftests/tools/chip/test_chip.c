/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Tests of tools/chip: the network against closed forms and for conservation, a lone read against
 * its path, the tables against the thesis, bounds of the chip, and deadlock.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "measure.h"
#include "path.h"
#include "zipf.h"
#include "../../tap.h"

static struct noc noc;
static struct chip chip;

static void start(enum network network, unsigned int buffer)
{
	if (noc_init(&noc, network, buffer))
		exit(1);
	noc.order[CLASS_DIR] = noc.order[CLASS_DRS] = ORDER_YX;
}

static struct config config_of(enum design design, enum network network, unsigned int bytes)
{
	struct config f;

	config_default(&f);
	f.design = design;
	f.network = network;
	f.bytes = bytes;
	return f;
}

/* ---- topologies ---- */

static void mesh_distances(void)
{
	unsigned int i, k, hops = 0, column = 0, row = 0, turns = 0;
	struct topology t;

	topology_init(&t, NETWORK_mesh);
	for (i = 0; i < CORES; i++) {
		hops += hops_between(&t, t.core[i], t.ni[i / ROWS], ORDER_XY);
		for (k = 0; k < CORES; k++) {
			unsigned int dx = (unsigned int)abs((int)(i % ROWS) - (int)(k % ROWS));
			unsigned int dy = (unsigned int)abs((int)(i / ROWS) - (int)(k / ROWS));

			CHECK_EQ(hops_between(&t, t.core[i], t.core[k], ORDER_XY), dx + dy);
			CHECK_EQ(hops_between(&t, t.core[i], t.core[k], ORDER_YX), dx + dy);
		}
	}
	CHECK_EQ(hops, 64 * 4.5);	/* 1 to 8 */
	for (i = 0; i < ROWS; i++)
		for (k = 0; k < ROWS; k++) {
			/* the turn: YX in the column beside the sender, XY in that beside memory */
			unsigned int up = (unsigned int)abs((int)i - (int)k), at = t.ni[i];

			CHECK_EQ(hops_between(&t, t.ni[i], t.mc[k], ORDER_XY), 9 + up);
			for (; at != t.mc[k]; at = t.out[at][t.next[ORDER_YX][at][t.mc[k]]].to)
				column += at % 10 == 1;
			for (at = t.ni[i]; at != t.mc[k];
			     at = t.out[at][t.next[ORDER_XY][at][t.mc[k]]].to)
				row += at % 10 == 8;
			turns += up + 1;
		}
	CHECK_EQ(column, turns);
	CHECK_EQ(row, turns);
}

static void nocout_distances(void)
{
	struct topology t;
	unsigned int i, k;

	topology_init(&t, NETWORK_nocout);
	for (i = 0; i < CORES; i++) {
		CHECK_EQ(hops_between(&t, t.core[i], t.home[i / 8], ORDER_XY), i % 4 + 1);
		CHECK_EQ(hops_between(&t, t.home[i / 8], t.core[i], ORDER_XY), i % 4 + 1);
		for (k = 0; k < ROWS; k++)
			CHECK_EQ(hops_between(&t, t.core[i], t.home[k], ORDER_XY),
				 i % 4 + 1 + (k != i / 8));
	}
	CHECK_EQ(hops_between(&t, t.core[3], t.core[7], ORDER_XY), 8);	/* both sides of a column */
	CHECK_EQ(hops_between(&t, t.core[1], t.core[3], ORDER_XY), 2);	/* one side */
	/* two tiles per cycle; a hop of the tree; into the tile */
	CHECK_EQ(latency_between(&t, t.home[0], t.home[7], ORDER_XY, 1), P_port + 4 + 1);
	CHECK_EQ(latency_between(&t, t.home[0], t.home[1], ORDER_XY, 5), P_port + 1 + 1 + 4);
	CHECK_EQ(latency_between(&t, t.core[2], t.home[0], ORDER_XY, 2), P_port + 3 + 1 + 1);
}

/* ---- the network ---- */

static unsigned int random_router(uint64_t *seed)
{
	return (unsigned int)(random_next(seed) % noc.topology.routers);
}

static void one_alone(unsigned int from, unsigned int to, enum class class, unsigned int flits)
{
	uint64_t begun = noc.now;

	noc_send(&noc, from, to, class, flits, 0);
	while (!noc_arrived(&noc, to, class)) {
		noc_step(&noc);
		if (noc.now - begun > 1000) {
			TAP_FAIL("%u to %u never arrives", from, to);
			return;
		}
	}
	if (noc.now - begun != latency_between(&noc.topology, from, to,
					       (enum order)noc.order[class], flits))
		TAP_FAIL("%u to %u, %u flits: %u cycles", from, to, flits,
			 (unsigned int)(noc.now - begun));
	CHECK_EQ(noc_arrived(&noc, to, class)->from, from);
	noc_take(&noc, to, class);
}

/* Every pair, both orders, every length: what arrives alone takes what the path says */
static void lone_packets(void)
{
	static const unsigned int flits[] = { P_control_flits, P_request_flits, P_data_flits,
					      P_reply_flits };
	unsigned int network, from, to;

	for (network = 0; network < NETWORKS; network++) {
		start((enum network)network, P_buffer);
		for (from = 0; from < noc.topology.routers; from++)
			for (to = 0; to < noc.topology.routers; to++) {
				if (from == to)
					continue;
				one_alone(from, to, CLASS_REQ, flits[(from + to) % 4]);
				one_alone(from, to, CLASS_DIR, flits[(from + 2 * to) % 4]);
			}
		noc_destroy(&noc);
	}
}

static void take_all(uint64_t *taken)
{
	unsigned int r, k;

	for (r = 0; r < noc.topology.routers; r++)
		for (k = 0; k < CLASSES; k++) {
			struct packet *p = noc_arrived(&noc, r, (enum class)k);

			if (!p)
				continue;
			if (p->to != r || p->class != k)
				TAP_FAIL("a packet for %u is at %u", p->to, r);
			*taken += p->flits;
			noc_take(&noc, r, (enum class)k);
		}
}

static void all_is_free(void)
{
	unsigned int r, p, k;

	CHECK_EQ(noc.inside, 0);
	CHECK_EQ(noc.queued, 0);
	CHECK_EQ(noc.held, 0);
	CHECK_EQ(noc.stats.packets_in, noc.stats.packets_out);
	CHECK_EQ(noc.stats.flits_in, noc.stats.flits_out);
	for (r = 0; r < noc.topology.routers; r++)
		for (p = 1; p < noc.topology.ports[r]; p++)
			for (k = 0; k < CLASSES; k++)
				if (noc.router[r].credit[p][k] != noc.buffer ||
				    noc.router[r].owner[p][k])
					TAP_FAIL("router %u has lost a credit or an output", r);
}

/* An input gives one flit per cycle: credits of the last one */
static void inputs_give_one(void)
{
	static unsigned char given[ROUTERS_MAX][PORTS_MAX];
	unsigned int i;

	memset(given, 0, sizeof(given));
	for (i = 0; i < noc.backs; i++)
		if (given[noc.back[i].router][noc.back[i].port]++)
			TAP_FAIL("%s", "an input gave two flits");
}

/* Random packets of all classes, more than the network takes; then it runs empty */
static void conservation(enum network network, unsigned int buffer)
{
	uint64_t seed = 5, sent = 0, taken = 0, end;

	start(network, buffer);
	while (noc.now < 3000) {
		unsigned int k, n;

		for (n = 0; n < 40; n++) {
			unsigned int from = random_router(&seed), to = random_router(&seed);
			enum class class = (enum class)(random_next(&seed) % CLASSES);

			k = 1 + (unsigned int)(random_next(&seed) % P_reply_flits);
			if (from == to || !noc_room(&noc, from, to, class))
				continue;
			noc_send(&noc, from, to, class, k, 0);
			sent += k;
		}
		noc_step(&noc);
		inputs_give_one();
		take_all(&taken);
		/* a flit per link and cycle */
		if (noc.stats.east > ROWS * noc.now && network == NETWORK_mesh)
			TAP_FAIL("%s", "more crosses the middle than it takes");
	}
	for (end = noc.now + 20000; noc.now < end && noc_next(&noc) != UINT64_MAX;) {
		noc_step(&noc);
		take_all(&taken);
	}
	CHECK_EQ(taken, sent);
	CHECK(sent > 20000);
	all_is_free();
	noc_destroy(&noc);
}

static void conservations(void)
{
	static const unsigned int buffers[] = { 1, 2, P_buffer, BUFFER_MAX };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		conservation(NETWORK_mesh, buffers[i]);
		conservation(NETWORK_nocout, buffers[i]);
	}
}

/* Rows that send all they can across the chip: each link is full, and all rows get the same */
static void full_links(void)
{
	unsigned int i, classes[] = { CLASS_NET, CLASS_RSP };
	uint64_t got[ROWS] = { 0 };

	start(NETWORK_mesh, P_buffer);
	while (noc.now < 5000) {
		for (i = 0; i < 2 * ROWS; i++) {
			unsigned int from = noc.topology.ni[i / 2], to = noc.topology.mc[i / 2];

			if (noc_room(&noc, from, to, (enum class)classes[i & 1]))
				noc_send(&noc, from, to, (enum class)classes[i & 1], P_data_flits,
					 0);
		}
		noc_step(&noc);
		for (i = 0; i < 2 * ROWS; i++) {
			unsigned int to = noc.topology.mc[i / 2];

			while (noc_arrived(&noc, to, (enum class)classes[i & 1])) {
				noc_take(&noc, to, (enum class)classes[i & 1]);
				got[i / 2]++;
			}
		}
	}
	CHECK(noc.stats.east <= ROWS * noc.now);
	CHECK(noc.stats.east >= ROWS * (noc.now - 50));
	CHECK_EQ(noc.stats.west, 0);
	for (i = 1; i < ROWS; i++)
		CHECK_EQ(got[i], got[0]);
	noc_destroy(&noc);
}

/* ---- paths ---- */

static double total(enum network network, enum read read, unsigned int hops)
{
	struct topology t;

	topology_init(&t, network);
	return path_cycles(&t, network, read, hops);
}

static double row_of(enum network network, enum read read, const char *row)
{
	const struct step *s;
	struct topology t;
	double sum = 0;

	topology_init(&t, network);
	for (s = path_steps(read); s->row; s++)
		if (!strcmp(s->row, row))
			sum += step_cycles(&t, network, s);
	return sum;
}

static void near(const char *what, double here, double there, double percent)
{
	if (fabs(here - there) > percent / 100 * there)
		TAP_FAIL("%s: %.1f, the thesis has %.0f", what, here, there);
}

/* Sums of rows by hand, from mean distances: 4.5 to the edge, 5.25 between tiles, 7.125 both */
static void rows(void)
{
	double to_edge = P_port + 3 + 3 * 4.5, tiles = P_port + 3 + 3 * 5.25;
	double both = P_port + 3 + 3 * 7.125, own = 1.0 / 64 * (P_port + 3 - P_local);

	CHECK(fabs(row_of(NETWORK_mesh, READ_numa, "to the network") - (to_edge + 1)) < 1e-9);
	CHECK(fabs(row_of(NETWORK_mesh, READ_edge, "WQ write") -
		   (13 + tiles - own + 6 + both + 3 + to_edge)) < 1e-9);
	CHECK(fabs(row_of(NETWORK_mesh, READ_edge, "WQ read and RGP") -
		   (both + 6 + tiles - own + 3 + to_edge + 4 + 7)) < 1e-9);
	CHECK(fabs(row_of(NETWORK_mesh, READ_edge, "RCP and CQ write") -
		   (11 + both + 6 + tiles - own + 3 + to_edge)) < 1e-9);
	CHECK(fabs(row_of(NETWORK_mesh, READ_edge, "CQ read") -
		   (10 + tiles - own + 6 + both + 3 + to_edge + 4)) < 1e-9);
	CHECK(fabs(row_of(NETWORK_mesh, READ_split, "RRPP") -
		   (7 + 6 + 100 + to_edge + both + both + 4 + to_edge + 4)) < 1e-9);
	CHECK(fabs(total(NETWORK_mesh, READ_split, 12) - total(NETWORK_mesh, READ_split, 1) -
		   11 * 140) < 1e-9);
}

/* No total is fitted, and the bounds are what the model reaches: a change has to be looked at */
static void tables(void)
{
	near("request to the edge", row_of(NETWORK_mesh, READ_numa, "to the network"), 23, 3);
	near("edge", total(NETWORK_mesh, READ_edge, 1), 710, 6);
	near("per-tile", total(NETWORK_mesh, READ_per_tile, 1), 445, 5);
	near("split", total(NETWORK_mesh, READ_split, 1), 447, 4);
	near("NUMA", total(NETWORK_mesh, READ_numa, 1), 395, 5);
	near("edge, NOC-Out", total(NETWORK_nocout, READ_edge, 1), 500, 3);
	near("per-tile, NOC-Out", total(NETWORK_nocout, READ_per_tile, 1), 355, 8);
	near("split, NOC-Out", total(NETWORK_nocout, READ_split, 1), 357, 11);
	near("NUMA, NOC-Out", total(NETWORK_nocout, READ_numa, 1), 305, 9);
	near("RRPP", row_of(NETWORK_mesh, READ_edge, "RRPP"), 208, 8);
}

/* ---- the chip ---- */

static void run(const struct config *f, uint64_t cycles)
{
	int err = chip_init(&chip, f);

	if (!err)
		err = chip_run(&chip, cycles, UINT64_MAX);
	if (err)
		TAP_FAIL("%s on %s: %s", design_name(f->design), network_name(f->network),
			 err == -EDEADLK ? "deadlock" : "no memory");
}

static unsigned int between(const struct topology *t, unsigned int a, unsigned int b,
			    unsigned int flits)
{
	return latency_between(t, a, b, ORDER_XY, flits);
}

/* A read of one block by a lone core on the mesh: its own path, to three cycles of a poll */
static void lone_read(enum design design, unsigned int core)
{
	struct config f = config_of(design, NETWORK_mesh, 64);
	const struct topology *t = &chip.noc.topology;
	unsigned int tile, ni, rrpp, home, mc, expected;
	uint64_t took;
	int err;

	f.window = f.cores = 1;
	f.first_core = core;
	f.seed = 77 + core;
	err = chip_init(&chip, &f) ? -ENOMEM : chip_run(&chip, 100000, 1);
	CHECK_EQ(err, 0);
	tile = t->core[core];
	ni = t->ni[core / ROWS];
	home = t->home[home_of(&chip, chip.core[core].request[0].remote)];
	rrpp = t->ni[lane_of(&chip, chip.core[core].request[0].remote)];
	mc = t->mc[mc_of(&chip, chip.core[core].request[0].remote)];
	expected = 13 + 5 + 70 + 7 + between(t, rrpp, home, 1) + 6 + between(t, home, mc, 1) + 100 +
		   between(t, mc, home, 5) + between(t, home, rrpp, 5) + 70 + 5 + 10;
	if (design == DESIGN_split)
		expected += 4 + between(t, tile, ni, 2) + 4 + 4 + between(t, ni, tile, 1) + 8;
	else
		expected += 7 + between(t, tile, ni, 2) + between(t, ni, tile, 6) + 11;
	took = chip.stats.cycles_of_requests;
	if (took < expected || took > expected + 2 * P_l1)
		TAP_FAIL("%s, core %u: %u cycles, its path has %u", design_name(design), core,
			 (unsigned int)took, expected);
	chip_destroy(&chip);
}

static void lone_reads(void)
{
	unsigned int i;

	for (i = 0; i < CORES; i += 3) {
		lone_read(DESIGN_per_tile, i);
		lone_read(DESIGN_split, i);
	}
}

/* Lines of an edge NI's queues move: a lone read takes its path, but for polls that overlap */
static void lone_edge_reads(void)
{
	struct config f = config_of(DESIGN_edge, NETWORK_mesh, 64);
	double cycles;

	CHECK_EQ(measure_latency(&f, CORES, 8, &cycles), 0);
	near("simulated, by path", cycles, total(NETWORK_mesh, READ_edge, 1), 5);
	f.network = NETWORK_nocout;
	CHECK_EQ(measure_latency(&f, CORES, 8, &cycles), 0);
	near("simulated, by path, NOC-Out", cycles, total(NETWORK_nocout, READ_edge, 1), 5);
}

/* Its packets: five for each exclusive copy, four for each block of a queue, seven for the data */
static void lone_edge_packets(void)
{
	struct config f = config_of(DESIGN_edge, NETWORK_mesh, 64);

	f.window = f.cores = 1;
	f.first_core = 44;
	if (chip_init(&chip, &f))
		exit(1);
	CHECK_EQ(chip_run(&chip, 100000, 1), 0);
	CHECK_EQ(chip.stats.noc.packets_in, 5 + 4 + 4 + 3 + 5 + 4);
	chip_destroy(&chip);
}

/* Every block that goes out comes in; what a chip sends and gets is the same */
static void both_directions(void)
{
	unsigned int d;

	for (d = 0; d < DESIGNS; d++) {
		struct config f = config_of((enum design)d, NETWORK_mesh, 256);
		uint64_t lost;

		run(&f, 15000);
		lost = chip.stats.bytes_out - chip.stats.bytes_in;
		/* those on the wire, and of RCPs on their way to the LLC */
		if (lost > 64ULL * chip.nis * (P_in_flight + P_store_queue))
			TAP_FAIL("%s: %lld bytes between RRPPs and RCPs", design_name(f.design),
				 (long long)lost);
		/* a request is complete when its last block is on its way to the LLC */
		CHECK(chip.stats.requests > 0);
		CHECK(chip.stats.bytes_in + 64ULL * chip.nis * P_store_queue >=
		      256 * chip.stats.requests);
		CHECK(chip.stats.noc.east <= ROWS * chip.noc.now);
		CHECK(chip.stats.noc.west <= ROWS * chip.noc.now);
		chip_destroy(&chip);
	}
}

/* An RRPP with one entry serves one block after the other: Little's law */
static void one_entry(void)
{
	struct config f = config_of(DESIGN_split, NETWORK_mesh, 512);
	double rate, mean = row_of(NETWORK_mesh, READ_split, "RRPP");

	f.memory_queue = 1;
	run(&f, 40000);
	rate = (double)chip.stats.bytes_out / 64 / (double)chip.noc.now;
	/* other packets delay it a little; a new one waits for the next cycle */
	if (rate * mean > ROWS || rate * mean < 0.9 * ROWS)
		TAP_FAIL("%.4f blocks per cycle, at most %.4f", rate, ROWS / mean);
	chip_destroy(&chip);
}

static void same_seed(void)
{
	unsigned int d;

	for (d = 0; d < DESIGNS; d++) {
		struct config f = config_of((enum design)d, NETWORK_mesh, 128);
		struct chip_stats first;

		run(&f, 4000);
		first = chip.stats;
		chip_destroy(&chip);
		run(&f, 4000);
		CHECK(!memcmp(&first, &chip.stats, sizeof(first)));
		chip_destroy(&chip);
		f.seed++;
		run(&f, 4000);
		CHECK(memcmp(&first, &chip.stats, sizeof(first)));
		chip_destroy(&chip);
	}
}

/* All cores ask for all they can; reads go on to the end */
static void saturated(void)
{
	static const unsigned int buffers[] = { 1, P_buffer };
	unsigned int d, network, i;

	for (d = 0; d < DESIGNS; d++)
		for (network = 0; network < NETWORKS; network++)
			for (i = 0; i < 2; i++) {
				struct config f = config_of((enum design)d, (enum network)network,
							    1024);
				uint64_t before;

				f.buffer = buffers[i];
				f.class_routing = (int)(i + network) % 2;
				run(&f, 6000);
				before = chip.stats.bytes_in;
				CHECK_EQ(chip_run(&chip, 8000, UINT64_MAX), 0);
				CHECK(chip.stats.bytes_in > before);
				chip_destroy(&chip);
			}
}

/* Without buffers of their own, the directory's packets wait for packets that wait for them */
static void deadlock(void)
{
	struct config f = config_of(DESIGN_per_tile, NETWORK_mesh, 8192);

	f.shared_buffers = 1;
	if (chip_init(&chip, &f))
		exit(1);
	CHECK_EQ(chip_run(&chip, 400000, UINT64_MAX), -EDEADLK);
	CHECK(chip.noc.inside > 0);
	chip_destroy(&chip);
}

/* Memories at the end of a row that all packets turn into: less bandwidth (T18 figure 6.9b) */
static void routing(void)
{
	struct config f = config_of(DESIGN_split, NETWORK_mesh, 512);
	struct bandwidth class, xy;

	CHECK_EQ(measure_bandwidth(&f, 4000, 4, &class), 0);
	f.class_routing = 0;
	CHECK_EQ(measure_bandwidth(&f, 4000, 4, &xy), 0);
	CHECK(xy.in + xy.out < 0.75 * (class.in + class.out));
	near("peak, GB/s", class.in + class.out, 214, 10);
	near("NOC, GB/s", class.traffic, 594, 10);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "mesh: distances, and where packets turn", mesh_distances },
		{ "NOC-Out: distances", nocout_distances },
		{ "a lone packet takes what its path says", lone_packets },
		{ "what enters the network leaves it, whatever its buffers", conservations },
		{ "links carry a flit per cycle, rows the same", full_links },
		{ "rows of the tables are sums of paths", rows },
		{ "totals of the tables beside the thesis", tables },
		{ "lone reads take what their paths say", lone_reads },
		{ "lone reads over edge NIs", lone_edge_reads },
		{ "packets of a read over an edge NI", lone_edge_packets },
		{ "inbound and outbound load are the same", both_directions },
		{ "an RRPP with one entry: Little's law", one_entry },
		{ "the same seed, the same run", same_seed },
		{ "no deadlock, whatever the buffers", saturated },
		{ "a deadlock without buffers for the directory's packets", deadlock },
		{ "XY routing takes bandwidth", routing },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
