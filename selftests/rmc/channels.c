// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the loopback fabric's channels: it never exceeds channel_mib, unused channels make
 * room for others, an operation that gets no channel ends with RMC_S_BUSY, and all memory is
 * freed in the end. Needs 16 nodes, whose 256 channels take 10 MiB, and channel_mib=1.
 */
#include <sys/mount.h>
#include "common.h"

#define NODES	16
#define MIB	1
#define PARAM	"/sys/module/rmc/parameters/channel_mib"

static struct end node[NODES];

static long long channel_kib(void)
{
	return file_number(SYSFS "/channel_kib", "");
}

/* No node has queue pairs: all channels are freed. */
static void wait_for_none(void)
{
	unsigned long long end = ktap_ms() + 20000 * ktap_slow();

	while (channel_kib() && ktap_ms() < end)
		usleep(100000);
	REQUIRE_EQ(channel_kib(), 0);
}

static void prepare(void)
{
	int n;

	REQUIRE_EQ(file_number(SYSFS "/nodes", ""), NODES);
	REQUIRE_EQ(file_put(PARAM, "1"), 0);
	wait_for_none();
	for (n = 0; n < NODES; n++) {
		end_open(&node[n], CTX, n, 2 * PAGE, PAGE, 64);
		fill(node[n].seg, 2 * PAGE, (unsigned int)n);
	}
}

static int read_from(int n, int peer)
{
	int status;

	memset(node[n].buf, 0, PAGE);
	status = rmc_read(node[n].qp, (uint16_t)peer, 0, node[n].buf, PAGE);
	if (!status)
		CHECK_EQ(differs(node[n].buf, PAGE, (unsigned int)peer), -1);
	return status;
}

/* Each pair communicates several times: channels are freed, created again, and start empty. */
TEST(more_pairs_than_there_is_memory_for)
{
	long long most = 0;
	int round, n, k;

	prepare();
	for (round = 0; round < 6; round++) {
		for (n = 0; n < NODES; n++) {
			for (k = 0; k < NODES; k++) {
				/* some channels carry enough to wrap their ring */
				if (!CHECK_EQ(read_from(n, (n + k * round) % NODES), RMC_S_OK))
					return;
			}
			if (channel_kib() > most)
				most = channel_kib();
		}
	}
	ktap_say("%lld KiB at most", most);
	CHECK(most > 0 && most <= MIB << 10);
}

static void ask_all(unsigned int *ok, unsigned int *busy)
{
	int n, k, slot, status;

	*ok = 0;
	*busy = 0;
	for (k = 0; k < NODES; k++) {
		for (n = 0; n < NODES; n++) {
			slot = rmc_wait_for_slot(node[n].qp, NULL);
			REQUIRE(slot >= 0);
			rmc_read_async(node[n].qp, slot, (n + k) % NODES, 64, node[n].buf + 64 * k, 64);
		}
	}
	for (n = 0; n < NODES; n++) {
		status = rmc_drain_cq(node[n].qp, NULL);
		if (!CHECK(status == RMC_S_OK || status == RMC_S_BUSY))
			ktap_say("node %d: %s", n, rmc_strerror(status));
		++*(status ? busy : ok);
	}
}

/* An operation that gets no channel ends with a status; the others succeed. */
TEST(all_pairs_at_once)
{
	unsigned int ok, busy, n, k;

	prepare();
	ask_all(&ok, &busy);
	ktap_say("%u nodes had all reads served, %u had some refused", ok, busy);
	CHECK(channel_kib() <= MIB << 10);
	usleep(50000);
	for (n = 0; n < NODES; n++)
		CHECK_EQ(read_from((int)n, (int)(n + 5) % NODES), RMC_S_OK);
	/* with a higher limit, set at run time, no operation is refused */
	CHECK_EQ(file_put(PARAM, "64"), 0);
	usleep(50000);
	ask_all(&ok, &busy);
	CHECK_EQ(busy, 0);
	CHECK(channel_kib() > MIB << 10);
	for (n = 0; n < NODES; n++)
		for (k = 0; k < NODES; k++)
			CHECK(!memcmp(node[n].buf + 64 * k, node[(n + k) % NODES].seg + 64, 64));
	CHECK_EQ(file_put(PARAM, "1"), 0);
	/* with the low limit again, channels in use are kept */
	for (n = 0; n < NODES; n++)
		CHECK_EQ(read_from((int)n, (int)(n + 3) % NODES), RMC_S_OK);
}

static int stop(int n, int stopped)
{
	char line[64];

	snprintf(line, sizeof(line), "node=%d stop=%d", n, stopped);
	return file_put("/sys/kernel/debug/rmc/nodes", line);
}

/* Operations to two stopped nodes stay in flight on 28 channels or more; 25 fit. */
TEST(what_is_in_use_is_not_taken_away)
{
	int n, k, slot, refused = 0, late = 0, ok = 0;
	struct rmc_completion c;

	if (access("/sys/kernel/debug/rmc", F_OK))
		mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	if (access("/sys/kernel/debug/rmc/nodes", F_OK))
		SKIP("no debugfs, which stops nodes");
	prepare();
	REQUIRE_EQ(stop(NODES - 1, 1), 0);
	REQUIRE_EQ(stop(NODES - 2, 1), 0);
	for (n = 0; n < NODES - 2; n++) {
		for (k = 1; k <= 2; k++) {
			slot = rmc_wait_for_slot(node[n].qp, NULL);
			REQUIRE(slot >= 0);
			rmc_read_async(node[n].qp, slot, NODES - k, 0, node[n].buf + 64 * k, 64);
		}
	}
	usleep(100000 * ktap_slow());
	CHECK(channel_kib() > (MIB << 10) - 40);
	CHECK(channel_kib() <= MIB << 10);
	REQUIRE_EQ(stop(NODES - 1, 0), 0);
	REQUIRE_EQ(stop(NODES - 2, 0), 0);
	for (n = 0; n < NODES - 2; n++) {
		for (k = 1; k <= 2; k++) {
			REQUIRE_EQ(rmc_cq_wait(node[n].qp, &c), 0);
			ok += c.status == RMC_S_OK;
			refused += c.status == RMC_S_BUSY;
			late += c.status != RMC_S_BUSY && c.status != RMC_S_OK;
		}
	}
	ktap_say("%d operations of %d were refused", refused, ok + refused + late);
	/* with two RRPPs an operation needs two channels, and some get only one */
	CHECK(refused >= 1 && ok >= (file_number(SYSFS "/rrpps", "") == 1 ? 24 : 1));
	CHECK_EQ(late, 0);
	usleep(50000);
	for (n = 0; n < NODES; n++)
		CHECK_EQ(read_from(n, NODES - 1), RMC_S_OK);
}

TEST(unused_channels_are_freed)
{
	unsigned long long end;
	int n;

	prepare();
	for (n = 0; n < NODES; n++)
		CHECK_EQ(read_from(n, (n + 1) % NODES), RMC_S_OK);
	CHECK(channel_kib() > 4 * 40);
	/* one node keeps its queue pair */
	for (n = 1; n < NODES; n++)
		rmc_qp_destroy(node[n].qp);
	end = ktap_ms() + 20000 * ktap_slow();
	while (channel_kib() > 4 * 40 && ktap_ms() < end)
		CHECK_EQ(read_from(0, 1), RMC_S_OK);
	CHECK(channel_kib() <= 4 * 40);
	rmc_qp_destroy(node[0].qp);
	wait_for_none();
}

KTAP_MAIN(suite_missing)
