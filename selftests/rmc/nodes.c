// SPDX-License-Identifier: GPL-2.0
/* All nodes of the module in one process; run_kselftest.sh loads it with 128. */
#include "common.h"

#define MAX	1024
#define SEG	(2 * PAGE)

static struct end node[MAX];
static int nodes;

static void prepare(unsigned int depth)
{
	int n;

	nodes = (int)file_number(SYSFS "/nodes", "");
	REQUIRE(nodes > 0 && nodes <= MAX);
	for (n = 0; n < nodes; n++) {
		end_open(&node[n], CTX, n, SEG, PAGE, depth);
		fill(node[n].seg, SEG, (unsigned int)n);
	}
}

TEST_WITHIN(every_node_reads_its_right_neighbour, 120)
{
	int n;

	prepare(8);
	for (n = 0; n < nodes; n++) {
		CHECK_EQ(rmc_read(node[n].qp, (n + 1) % nodes, 0, node[n].buf, PAGE), RMC_S_OK);
		CHECK_EQ(differs(node[n].buf, PAGE, (unsigned int)((n + 1) % nodes)), -1);
	}
}

TEST_WITHIN(all_read_from_some_at_once, 120)
{
	int n, k, slot;

	prepare(8);
	for (k = 0; k < 4; k++) {
		for (n = 0; n < nodes; n++) {
			slot = rmc_wait_for_slot(node[n].qp, NULL);
			REQUIRE(slot >= 0);
			rmc_read_async(node[n].qp, slot, k * 31 % nodes, (uint64_t)n, node[n].buf + k * 1000,
				       1000);
		}
	}
	for (n = 0; n < nodes; n++) {
		CHECK_EQ(rmc_drain_cq(node[n].qp, NULL), 0);
		for (k = 0; k < 4; k++)
			CHECK(!memcmp(node[n].buf + k * 1000, node[k * 31 % nodes].seg + n, 1000));
	}
}

TEST_WITHIN(one_writes_to_all, 120)
{
	int n, slot;

	prepare(8);
	fill(node[0].buf, PAGE, 4711);
	for (n = 0; n < nodes; n++) {
		slot = rmc_wait_for_slot(node[0].qp, NULL);
		REQUIRE(slot >= 0);
		rmc_write_async(node[0].qp, slot, n, 3, node[0].buf, PAGE);
	}
	CHECK_EQ(rmc_drain_cq(node[0].qp, NULL), 0);
	for (n = 0; n < nodes; n++)
		CHECK_EQ(differs(node[n].seg + 3, PAGE, 4711), -1);
}

TEST_WITHIN(all_add_to_one, 120)
{
	int n, k, slot;

	prepare(8);
	*(uint64_t *)node[0].seg = 0;
	for (k = 0; k < 8; k++) {
		for (n = 0; n < nodes; n++) {
			slot = rmc_wait_for_slot(node[n].qp, NULL);
			REQUIRE(slot >= 0);
			rmc_faa_async(node[n].qp, slot, 0, 0, 1);
		}
	}
	for (n = 0; n < nodes; n++)
		CHECK_EQ(rmc_drain_cq(node[n].qp, NULL), 0);
	CHECK_EQ(*(volatile uint64_t *)node[0].seg, 8 * nodes);
}

/* A free slot of node @n for an operation to *@peer, its @k-th neighbour to the right */
static int to_neighbour(int n, int k, int *peer)
{
	int slot = rmc_wait_for_slot(node[n].qp, NULL);

	REQUIRE(slot >= 0);
	*peer = (n + k) % nodes;
	return slot;
}

static void drain_all(int step)
{
	int n;

	for (n = 0; n < nodes; n += step)
		REQUIRE_EQ(rmc_drain_cq(node[n].qp, NULL), 0);
}

/*
 * Every pair of nodes uses its rings; a guest of the usual size has no memory for 128 x 128.
 * All nodes send at once: a worker polls each of the rings however few are in use, which takes
 * a tenth of a second where memory is emulated. In a slow kernel only some nodes send, but
 * still to all nodes.
 */
TEST_WITHIN(each_talks_to_each, 300)
{
	const int step = (int)ktap_slow();
	int n, k, slot, peer;
	long long sum = 0;

	prepare(128);
	if (nodes > 16 && file_number("/proc/meminfo", "MemAvailable:") < 350 << 10)
		SKIP("this guest has too little memory for %d x %d rings", nodes, nodes);
	for (n = 0; n < nodes; n++)
		*(uint64_t *)node[n].seg = 0;
	for (k = 0; k < nodes; k++) {
		for (n = 0; n < nodes; n += step) {
			slot = to_neighbour(n, k, &peer);
			rmc_read_async(node[n].qp, slot, peer, 64, node[n].buf, 100);
		}
	}
	drain_all(step);
	for (k = 0; k < nodes; k++) {
		for (n = 0; n < nodes; n += step) {
			slot = to_neighbour(n, k, &peer);
			rmc_faa_async(node[n].qp, slot, peer, 0, (uint64_t)n + 1);
		}
	}
	drain_all(step);
	for (n = 0; n < nodes; n += step)
		sum += n + 1;
	for (k = 0; k < nodes; k++)
		CHECK_EQ(*(volatile uint64_t *)node[k].seg, sum);
}

TEST(highest_node_is_nodes_minus_one)
{
	struct end e;

	nodes = (int)file_number(SYSFS "/nodes", "");
	end_open(&e, CTX, nodes - 1, PAGE, PAGE, 8);
	CHECK_EQ(rmc_read(e.qp, nodes - 1, 0, e.buf, 8), RMC_S_OK);
	CHECK_EQ(rmc_read(e.qp, nodes, 0, e.buf, 8), RMC_S_BAD_NODE);
	CHECK(!rmc_open(CTX, nodes) && errno == ENXIO);
}

KTAP_MAIN(suite_missing)
