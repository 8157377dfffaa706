// SPDX-License-Identifier: GPL-2.0
/*
 * Segments and local buffers on chosen NUMA nodes, allocated by the driver and by libnuma. The
 * guest of run_in_vm.sh has two nodes (numa=fake=2).
 */
#include <numa.h>
#include <string.h>
#include <sys/mman.h>
#include "common.h"

#define PAGES	16

static int highest;

static void prepare(void)
{
	highest = numa_available() < 0 ? 0 : numa_max_node();
	if (!highest)
		SKIP("one NUMA node only");
}

/* How many of the PAGES pages at @p are not on the node; -1: unknown */
static int elsewhere(void *p, int numa_node)
{
	void *page[PAGES];
	int status[PAGES], i, count = 0;

	for (i = 0; i < PAGES; i++)
		page[i] = (char *)p + (size_t)i * PAGE;
	if (numa_move_pages(0, PAGES, page, NULL, status, 0))
		return -1;
	for (i = 0; i < PAGES; i++)
		count += status[i] != numa_node;
	return count;
}

TEST(driver_memory_is_on_the_chosen_node)
{
	struct end e;
	void *seg, *buf;
	int node, id;

	prepare();
	for (node = 0; node <= highest; node++) {
		end_open(&e, CTX, 0, 0, 0, 0);
		REQUIRE_EQ(rmc_seg_alloc(e.ctx, PAGES * PAGE, 0, node, &seg), 0);
		id = rmc_buf_alloc(e.ctx, PAGES * PAGE, node, &buf);
		REQUIRE(id >= 0);
		memset(seg, 1, PAGES * PAGE);	/* mapped by now */
		memset(buf, 1, PAGES * PAGE);
		CHECK_EQ(elsewhere(seg, node), 0);
		CHECK_EQ(elsewhere(buf, node), 0);
		end_close(&e);
	}
}

/* Pinning must not migrate the pages, and operations use them where they are. */
TEST(memory_of_libnuma_stays_where_it_is)
{
	struct end owner, user;
	void *seg, *buf;
	int node, id;

	prepare();
	for (node = 0; node <= highest; node++) {
		end_open(&owner, CTX, 0, 0, 0, 0);
		end_open(&user, CTX, 1, 0, 0, 16);
		seg = numa_alloc_onnode(PAGES * PAGE, node);
		buf = numa_alloc_onnode(PAGES * PAGE, highest - node);
		REQUIRE(seg && buf);
		memset(seg, 0x5a, PAGES * PAGE);
		memset(buf, 0, PAGES * PAGE);
		REQUIRE_EQ(rmc_seg_register(owner.ctx, seg, PAGES * PAGE, 0), 0);
		id = rmc_buf_register(user.ctx, buf, PAGES * PAGE);
		REQUIRE(id >= 0);
		CHECK_EQ(elsewhere(seg, node), 0);
		CHECK_EQ(elsewhere(buf, highest - node), 0);
		CHECK_EQ(rmc_read(user.qp, owner.nid, 0, buf, PAGES * PAGE), RMC_S_OK);
		CHECK(!memcmp(seg, buf, PAGES * PAGE));
		end_close(&user);
		end_close(&owner);
		numa_free(seg, PAGES * PAGE);
		numa_free(buf, PAGES * PAGE);
	}
}

KTAP_MAIN(suite_missing)
