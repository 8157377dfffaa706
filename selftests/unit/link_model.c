// SPDX-License-Identifier: GPL-2.0
/* The link model's arithmetic: distances, routes and times of crossbars and tori. */
#include "../tap.h"
#include "testbed.h"

#define CROSSBAR	{ .topology = RMC_TOPOLOGY_CROSSBAR }
#define TORUS2D(x, y)	{ .topology = RMC_TOPOLOGY_TORUS2D, .dim = { x, y } }
#define RACKS(n)	{ .topology = RMC_TOPOLOGY_RACKS, .dim = { n } }
#define TORUS3D(x, y, z) { .topology = RMC_TOPOLOGY_TORUS3D, .dim = { x, y, z } }

/* Diameter and mean distance over all pairs, including a node and itself */
static void test_distances(void)
{
	static const struct {
		struct rmc_model m;
		u32 nodes, diameter;
		double mean;
	} known[] = {
		/* T18 table 3.1; its 10 hops are both ways */
		{ TORUS3D(8, 8, 4), 256, 10, 5 },
		/* T18 chapter 6: 6 on average, at most 12 */
		{ TORUS3D(8, 8, 8), 512, 12, 6 },
		{ TORUS2D(16, 8), 128, 12, 6 },
		{ TORUS2D(16, 16), 256, 16, 8 },
		/* an odd ring: 0 1 2 2 1 */
		{ TORUS2D(5, 1), 5, 2, 1.2 },
		/* all nodes except oneself */
		{ CROSSBAR, 4, 1, 0.75 },
		/* 15 of the rack, 48 of others */
		{ RACKS(16), 64, 2, (15 + 2 * 48) / 64.0 },
		/* the last rack is not full */
		{ RACKS(3), 5, 2, (3 * (2 + 2 * 2) + 2 * (1 + 2 * 3)) / 25.0 },
		{ { .topology = RMC_TOPOLOGY_NONE }, 4, 0, 0 },
	};
	u32 k, i, j;

	for (k = 0; k < ARRAY_SIZE(known); k++) {
		u32 n = known[k].nodes, most = 0, sum = 0;

		CHECK_EQ(rmc_model_check(&known[k].m, n), 0);
		for (i = 0; i < n; i++)
			for (j = 0; j < n; j++) {
				u32 hops = rmc_model_hops(&known[k].m, i, j);

				CHECK_EQ(hops, rmc_model_hops(&known[k].m, j, i));
				CHECK_EQ(!hops, i == j || !known[k].diameter);
				sum += hops;
				most = max(most, hops);
			}
		CHECK_EQ(most, known[k].diameter);
		CHECK_EQ(sum, (u32)(known[k].mean * n * n + 0.5));
	}
}

static void test_places(void)
{
	struct rmc_model m = TORUS3D(8, 8, 4);

	CHECK_EQ(rmc_model_check(&m, 257), -ENOSPC);
	CHECK_EQ(rmc_model_hops(&m, 0, 7), 1);
	CHECK_EQ(rmc_model_hops(&m, 0, 63), 2);
	CHECK_EQ(rmc_model_hops(&m, 0, 9 + 64), 3);
	m.topology = RMC_TOPOLOGY_TORUS2D;
	CHECK_EQ(rmc_model_check(&m, 65), -ENOSPC);
	CHECK_EQ(rmc_model_hops(&m, 0, 36), 8);
	m.dim[1] = 0;
	CHECK_EQ(rmc_model_check(&m, 2), -ERANGE);
	m.topology = 5;
	CHECK_EQ(rmc_model_check(&m, 2), -EINVAL);
	m = (struct rmc_model)RACKS(0);
	CHECK_EQ(rmc_model_check(&m, 2), -ERANGE);
	m.dim[0] = 1;
	CHECK_EQ(rmc_model_check(&m, 1024), 0);
	m.rack_ns = RMC_MODEL_NS_MAX + 1;
	CHECK_EQ(rmc_model_check(&m, 2), -ERANGE);
}

static void test_paths(void)
{
	struct rmc_model torus = TORUS3D(8, 8, 4), crossbar = CROSSBAR;
	struct rmc_path path;

	/* both ways, plus the service time, minus the local time */
	torus.hop_ns = 35;
	rmc_model_path(&torus, 0, 9 + 64, &path);
	CHECK_EQ(path.rtt_ns, 210);
	torus.base_ns = 120;
	rmc_model_path(&torus, 0, 164, &path);
	CHECK_EQ(path.rtt_ns, 820);
	torus.local_ns = 20;
	rmc_model_path(&torus, 0, 164, &path);
	CHECK_EQ(path.rtt_ns, 800);
	torus.local_ns = 1000;
	rmc_model_path(&torus, 0, 164, &path);
	CHECK_EQ(path.rtt_ns, 0);

	/* out by the lowest dimension, in by the highest, both in the shorter direction */
	rmc_model_path(&torus, 0, 9 + 64, &path);
	CHECK_EQ(path.out, 0);
	CHECK_EQ(path.in, 4);
	rmc_model_path(&torus, 0, 56, &path);
	CHECK_EQ(path.out, 3);
	/* the other node's packets leave by its lowest dimension, not by our port of arrival */
	CHECK_EQ(path.back, 2);
	rmc_model_path(&torus, 0, 9 + 64, &path);
	CHECK_EQ(path.back, 1);
	rmc_model_path(&torus, 0, 64, &path);
	CHECK_EQ(path.back, 5);
	CHECK_EQ(path.in, 4);

	/* each way separately */
	torus.local_ns = 20;
	rmc_model_path(&torus, 0, 164, &path);
	CHECK_EQ(path.request_ns + path.reply_ns, path.rtt_ns);
	CHECK_EQ(path.request_ns, 350);
	torus.local_ns = 1000;
	rmc_model_path(&torus, 0, 164, &path);
	CHECK_EQ(path.reply_ns, 0);

	/* half around an even ring both go up: what comes back arrives at the lower side */
	rmc_model_path(&torus, 0, 4, &path);
	CHECK_EQ(path.out, 0);
	CHECK_EQ(path.back, 0);
	CHECK_EQ(path.in, 1);

	crossbar.hop_ns = 50;
	crossbar.mbps = 8000;
	CHECK_EQ(rmc_model_check(&crossbar, 1024), 0);
	rmc_model_path(&crossbar, 3, 4, &path);
	CHECK_EQ(path.rtt_ns, 100);
	CHECK_EQ(rmc_path_ns(&path, 1000), 1000);
	/* as RDMA: 2 us */
	crossbar.hop_ns = 1000;
	rmc_model_path(&crossbar, 3, 4, &path);
	CHECK_EQ(path.rtt_ns, 2000);
}

/* Two levels: a crossbar per rack, and links between racks with a latency and a bandwidth of their own */
static void test_racks(void)
{
	struct rmc_model m = RACKS(16);
	struct rmc_path path;

	m.hop_ns = 50;
	m.base_ns = 100;
	m.mbps = 80000;
	m.rack_ns = 2000;
	m.rack_mbps = 8000;
	rmc_model_path(&m, 17, 31, &path);
	CHECK_EQ(path.rtt_ns, 200);
	CHECK_EQ(rmc_path_ns(&path, 1000), 100);
	CHECK_EQ(rmc_path_rack_ns(&path, 1000), 0);
	CHECK_EQ(path.rack, 16);
	CHECK_EQ(path.far_rack, 16);
	rmc_model_path(&m, 17, 32, &path);
	CHECK_EQ(path.request_ns, 2100);
	CHECK_EQ(path.rtt_ns, 4300);
	CHECK_EQ(path.reply_ns, 2200);
	CHECK_EQ(rmc_path_ns(&path, 1000), 100);
	CHECK_EQ(rmc_path_rack_ns(&path, 1000), 1000);
	CHECK_EQ(path.rack, 16);
	CHECK_EQ(path.far_rack, 32);
	rmc_model_path(&m, 32, 17, &path);
	CHECK_EQ(path.rack, 32);
	CHECK_EQ(path.far_rack, 16);
	/* no limit between racks */
	m.rack_mbps = 0;
	rmc_model_path(&m, 17, 32, &path);
	CHECK_EQ(path.rack_fs, 0);
	/* what is not of racks */
	m.topology = RMC_TOPOLOGY_CROSSBAR;
	m.rack_mbps = 8000;
	rmc_model_path(&m, 17, 32, &path);
	CHECK_EQ(path.rtt_ns, 200);
	CHECK_EQ(path.rack_fs, 0);
}

int main(void)
{
	test_distances();
	tap_result("link model: distances in crossbars and tori");
	test_places();
	tap_result("link model: places, and invalid models");
	test_paths();
	tap_result("link model: round trips and ports");
	test_racks();
	tap_result("link model: several racks");
	return tap_done();
}
