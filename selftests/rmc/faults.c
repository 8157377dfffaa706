// SPDX-License-Identifier: GPL-2.0
/* Fault injection and the link model, set through debugfs, on loopback nodes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "common.h"

#define DEBUGFS	"/sys/kernel/debug"

static struct end e, peer;

/* 0 or errno */
static int debugfs_write(const char *file, const char *line)
{
	char path[64];
	int fd, err = 0;

	snprintf(path, sizeof(path), DEBUGFS "/rmc/%s", file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return errno;
	if (write(fd, line, strlen(line)) < 0)
		err = errno;
	close(fd);
	return err;
}

/* The number after "name=" in lines that begin with @key: of the first, or the most; -1: none */
static long long debugfs_number(const char *file, const char *key, const char *name, bool most)
{
	char path[64], line[1024], want[32], *at;
	long long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), DEBUGFS "/rmc/%s", file);
	snprintf(want, sizeof(want), " %s=", name);
	f = fopen(path, "r");
	while (f && (v < 0 || most) && fgets(line, sizeof(line), f)) {
		at = strstr(line, want);
		if (!strncmp(line, key, strlen(key)) && at && atoll(at + strlen(want)) > v)
			v = atoll(at + strlen(want));
	}
	if (f)
		fclose(f);
	return v;
}

static long long debugfs_value(const char *file, const char *key, const char *name)
{
	return debugfs_number(file, key, name, false);
}

/* With several units one of their links has lost it. */
static long long groups_lost(void)
{
	return debugfs_number("links", "from=0 to=1 lane=requests", "lost_groups", true);
}

static long long ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void prepare(void)
{
	if (access(DEBUGFS "/rmc", F_OK))
		mount("none", DEBUGFS, "debugfs", 0, NULL);
	REQUIRE(!access(DEBUGFS "/rmc/links", W_OK));
	end_open(&e, CTX, 0, 0, 64 * PAGE, 64);
	end_open(&peer, CTX, 1, 64 * PAGE, 0, 0);
	fill(peer.seg, peer.seg_len, 5);
	REQUIRE(!debugfs_write("timeout_ms", "300"));
	CHECK(!rmc_read(e.qp, 1, 0, e.buf, 64));
}

/* Reset all settings, so that they do not affect the next test. */
static void restore(void)
{
	CHECK_EQ(debugfs_write("nodes", "node=0 stop=0 slow_ns=0"), 0);
	CHECK_EQ(debugfs_write("nodes", "node=1 stop=0 slow_ns=0"), 0);
	CHECK_EQ(debugfs_write("links", "from=any to=any"), 0);
	CHECK_EQ(debugfs_write("model", "topology=none"), 0);
	CHECK_EQ(debugfs_write("rnic", "node=any"), 0);
	CHECK_EQ(debugfs_write("retries", "0"), 0);
	CHECK_EQ(debugfs_write("timeout_ms", "10000"), 0);
	CHECK_EQ(debugfs_value("links", "from=", "loss"), -1);
	CHECK(!rmc_read(e.qp, 1, 0, e.buf, 64));
	CHECK_EQ(differs(e.buf, 64, 5), -1);
}

TEST(nonsense_is_refused)
{
	prepare();
	CHECK_EQ(debugfs_write("links", "from=1 to=0 loss=1000001"), ERANGE);
	CHECK_EQ(debugfs_write("links", "from=1 to=0 loss=x"), EINVAL);
	CHECK_EQ(debugfs_write("links", "from=1 to=0 loss=-1"), EINVAL);
	CHECK_EQ(debugfs_write("links", "from=1 to=0 lose=1"), ENOENT);
	CHECK_EQ(debugfs_write("links", "from=1 to=0 loss"), EINVAL);
	CHECK_EQ(debugfs_write("links", "from=1 to=1000 loss=1"), ENXIO);
	CHECK_EQ(debugfs_write("links", "from=1 to=0 lane=left loss=1"), EINVAL);
	CHECK_EQ(debugfs_write("links", "from=1 to=0 delay_ns=10000000001"), ERANGE);
	CHECK_EQ(debugfs_write("nodes", "stop=1"), EINVAL);
	CHECK_EQ(debugfs_write("nodes", "node=1000 stop=1"), ENXIO);
	CHECK_EQ(debugfs_write("model", "topology=ring"), EINVAL);
	CHECK_EQ(debugfs_write("model", "topology=torus2d dims=1x1"), ENOSPC);
	CHECK_EQ(debugfs_write("model", "topology=torus2d dims=1x1x1x1"), EINVAL);
	CHECK_EQ(debugfs_write("model", "topology=torus3d dims=0x4x4"), ERANGE);
	CHECK_EQ(debugfs_write("rnic", "node=1000 cas_ns=1"), ENXIO);
	CHECK_EQ(debugfs_write("rnic", "node=0 cas_ns=-1"), EINVAL);
	CHECK_EQ(debugfs_write("rnic", "node=0 cas_ns=1000000001"), ERANGE);
	CHECK_EQ(debugfs_write("rnic", "node=0 qp_cache=1025"), ERANGE);
	CHECK_EQ(debugfs_write("rnic", "node=0 lock_ns=1"), ENOENT);
	CHECK_EQ(debugfs_write("rnic", "node=0 lines=some"), EINVAL);
	CHECK_EQ(debugfs_write("rnic", "node=0 lines"), EINVAL);
	CHECK_EQ(debugfs_value("rnic", "node=0", "cas_ns"), 0);
	CHECK_EQ(debugfs_write("timeout_ms", "15"), ERANGE);
	CHECK_EQ(debugfs_write("retries", "256"), ERANGE);
	CHECK_EQ(debugfs_value("links", "from=", "loss"), -1);
	restore();
}

static uint32_t local_bytes(uint32_t nid)
{
	struct rmc_node_info n = { .size = sizeof(n), .nid = nid };

	REQUIRE(!ioctl(rmc_fd(e.ctx), RMC_IOC_NODE_INFO, &n));
	return n.local_bytes;
}

TEST(filters_need_packets)
{
	uint32_t self, other;

	prepare();
	self = local_bytes(0);
	other = local_bytes(1);
	CHECK_EQ(debugfs_write("links", "from=0 to=1 delay_ns=1000"), 0);
	CHECK_EQ(local_bytes(0), 0);
	CHECK_EQ(local_bytes(1), 0);
	CHECK(!rmc_read(e.qp, 1, 0, e.buf, 64));
	restore();
	CHECK_EQ(local_bytes(0), self);
	CHECK_EQ(local_bytes(1), other);
}

TEST(a_cut_link_times_out_and_comes_back)
{
	long long t0;

	prepare();
	CHECK_EQ(debugfs_write("links", "from=0 to=1 lane=requests down=1"), 0);
	t0 = ms();
	CHECK_EQ(rmc_read(e.qp, 1, 0, e.buf, 64), RMC_S_TIMEOUT);
	CHECK(ms() - t0 >= 290);
	CHECK_EQ(rmc_write(e.qp, 1, 0, e.buf, 40000), RMC_S_TIMEOUT);
	CHECK(debugfs_value("links", "from=0 to=1 lane=requests", "lost") > 1);
	restore();
	CHECK_EQ(differs(peer.seg, 40000, 5), -1);
}

TEST(loss_with_retransmission)
{
	uint64_t old;
	int i, ok = 0;

	prepare();
	/* a machine that stands still for a moment must not look like a loss */
	CHECK_EQ(debugfs_write("timeout_ms", "300"), 0);
	CHECK_EQ(debugfs_write("retries", "100"), 0);
	CHECK_EQ(debugfs_write("links", "from=0 to=1 loss=100000 seed=3"), 0);
	CHECK_EQ(debugfs_write("links", "from=1 to=0 loss=100000 seed=4"), 0);
	for (i = 0; i < 40; i++) {
		memset(e.buf, 0, 64);
		CHECK_EQ(rmc_read(e.qp, 1, 0, e.buf, 64), 0);
		CHECK_EQ(differs(e.buf, 64, 5), -1);
	}
	/* these are not sent again */
	memset(peer.seg + 8 * PAGE, 0, 8);
	for (i = 0; i < 40; i++)
		ok += !rmc_faa(e.qp, 1, 8 * PAGE, 1, &old);
	CHECK(ok > 10);
	CHECK(*(volatile uint64_t *)(peer.seg + 8 * PAGE) >= (uint64_t)ok);
	CHECK(*(volatile uint64_t *)(peer.seg + 8 * PAGE) <= 40);
	CHECK(file_number(SYSFS "/node0/counters/restarts", "") > 0);
	restore();
}

static int finished, bad;

static void callback(int slot, void *arg)
{
	(void)slot;
	(void)arg;
	finished++;
}

TEST(everything_at_once_completes_once)
{
	int i, slot, posted = 0;

	prepare();
	CHECK_EQ(debugfs_write("timeout_ms", "1000"), 0);
	CHECK_EQ(debugfs_write("links", "from=any to=any loss=2000 dup=50000 reorder=50000 shuffle=200000 delay_ns=2000 jitter_ns=20000 gap_ns=200000 seed=9"), 0);
	for (i = 0; i < 2000; i++) {
		slot = rmc_wait_for_slot(e.qp, callback);
		rmc_read_async(e.qp, slot, 1, (uint64_t)i * 8, e.buf + slot * 4096, 3000);
		posted++;
	}
	bad = rmc_drain_cq(e.qp, callback);
	CHECK(bad == 0 || bad == RMC_S_TIMEOUT);
	CHECK_EQ(finished, posted);
	CHECK(debugfs_value("links", "from=1 to=0 lane=replies", "doubled") > 10);
	restore();
}

TEST(delay_and_the_link_model)
{
	long long t0;
	int i;

	prepare();
	CHECK_EQ(debugfs_write("timeout_ms", "5000"), 0);
	CHECK_EQ(debugfs_write("links", "from=1 to=0 lane=replies delay_ns=20000000"), 0);
	t0 = ms();
	for (i = 0; i < 5; i++)
		CHECK(!rmc_read(e.qp, 1, 0, e.buf, 64));
	CHECK(ms() - t0 >= 100);
	CHECK_EQ(debugfs_write("links", "from=any to=any"), 0);
	CHECK_EQ(debugfs_write("model", "topology=torus2d dims=2x2 hop_ns=10000000"), 0);
	CHECK_EQ(debugfs_value("links", "from=1 to=0 lane=replies", "rtt_ns"), 20000000);
	t0 = ms();
	for (i = 0; i < 5; i++)
		CHECK(!rmc_read(e.qp, 1, 0, e.buf, 64));
	CHECK(ms() - t0 >= 99);
	CHECK(ms() - t0 < 1000);
	/* one_way delays each direction separately: all nodes are in this kernel */
	CHECK_EQ(debugfs_write("model", "topology=crossbar hop_ns=20000000 one_way=1"), 0);
	CHECK_EQ(debugfs_value("model", "topology=crossbar", "one_way"), 1);
	t0 = ms();
	for (i = 0; i < 3; i++)
		CHECK(!rmc_write(e.qp, 1, 0, e.buf, 64));
	CHECK(ms() - t0 >= 119);
	CHECK(ms() - t0 < 1000);
	CHECK_EQ(debugfs_write("model", "topology=crossbar one_way=2"), ERANGE);
	/* without a topology one_way has no effect, and filters work without its shared state */
	CHECK_EQ(debugfs_write("model", "topology=none one_way=1"), 0);
	CHECK_EQ(debugfs_value("model", "topology=none", "one_way"), 0);
	CHECK_EQ(debugfs_write("nodes", "node=1 slow_ns=20000000"), 0);
	t0 = ms();
	for (i = 0; i < 5; i++)
		CHECK(!rmc_read(e.qp, 1, 0, e.buf, 64));
	CHECK(ms() - t0 >= 100);
	restore();
}

static void post_32(void)
{
	unsigned int i;

	for (i = 0; i < 32; i++)
		rmc_read_async(e.qp, rmc_wait_for_slot(e.qp, NULL), 1, 0, e.buf, 64 * PAGE);
}

/* Packets delayed by two seconds keep all operations in flight while the node goes down. */
TEST(in_flight_operations_end_with_node_down)
{
	struct rmc_completion c;
	const char *const under_way[] = {
		"from=0 to=1 lane=requests delay_ns=2000000000",
		"from=1 to=0 lane=replies delay_ns=2000000000",
	};
	unsigned int i, n, round;
	long long t0;

	prepare();
	CHECK_EQ(debugfs_write("timeout_ms", "10000"), 0);
	for (round = 0; round < 10; round++) {
		CHECK_EQ(debugfs_write("links", under_way[round % 2]), 0);
		t0 = ms();
		post_32();
		/* in half of the rounds packets have left the queue before the node goes down */
		if (round % 4 < 2)
			usleep(20000);
		CHECK_EQ(rmc_poll_cq(e.qp, NULL), 0);
		REQUIRE_EQ(file_put(SYSFS "/node1/state", "down"), 0);
		for (n = 0, i = 0; n < 32; n++) {
			REQUIRE_EQ(rmc_cq_wait(e.qp, &c), 0);
			i += c.status == RMC_S_NODE_DOWN;
		}
		CHECK_EQ(i, 32);
		CHECK(ms() - t0 < 1500);
		REQUIRE_EQ(file_put(SYSFS "/node1/state", "up"), 0);
		CHECK_EQ(debugfs_write("links", "from=any to=any"), 0);
		/* the delayed packets do not reach later operations */
		peer.seg[7] = (uint8_t)round;
		e.buf[7] = (uint8_t)~round;
		CHECK_EQ(rmc_read(e.qp, 1, 0, e.buf, 64 * PAGE), 0);
		CHECK_EQ(e.buf[7], (uint8_t)round);
	}
	fill(peer.seg, PAGE, 5);
	restore();
}

/*
 * Latch by fetch-and-add, data, unlatch, and a read, none of which waits for another. Returns the rounds
 * in which the read did not find the data.
 */
static int overtaken(struct rmc_qp *qp)
{
	uint64_t *out = (uint64_t *)(void *)e.buf, *in = out + 16 * PAGE / 8;
	int i, k, slot, wrong = 0;

	for (i = 1; i <= 100; i++) {
		for (k = 0; k < 3 * 64; k++)
			out[k] = (uint64_t)i;
		slot = rmc_wait_for_slot(qp, NULL);
		rmc_faa_async(qp, slot, 1, 0, 1);
		slot = rmc_wait_for_slot(qp, NULL);
		rmc_write_async(qp, slot, 1, 4096 - 64, out, 3 * 512);
		slot = rmc_wait_for_slot(qp, NULL);
		rmc_faa_async(qp, slot, 1, 0, 1);
		slot = rmc_wait_for_slot(qp, NULL);
		rmc_read_async(qp, slot, 1, 4096 - 64, in, 3 * 512);
		REQUIRE(!rmc_drain_cq(qp, NULL));
		/* the read follows an atomic, and that the write */
		for (k = 0; k < 3 * 64 && in[k] == (uint64_t)i; k++)
			;
		wrong += k < 3 * 64;
	}
	CHECK_EQ(*(uint64_t *)(void *)peer.seg, 200);
	return wrong;
}

TEST(ordered_queue_pairs)
{
	struct rmc_qp *qp;

	prepare();
	qp = rmc_qp_create_with(e.ctx, 64, RMC_QP_ORDERED);
	REQUIRE(qp);
	CHECK_EQ(debugfs_write("links", "from=0 to=1 jitter_ns=100000 seed=3"), 0);
	memset(peer.seg, 0, 8);
	CHECK(overtaken(e.qp) > 0);
	memset(peer.seg, 0, 8);
	CHECK_EQ(overtaken(qp), 0);
	rmc_qp_destroy(qp);
	fill(peer.seg, peer.seg_len, 5);
	restore();
}

/*
 * Node 1 writes its own segment, through its adapter, while node 0 reads it. Returns the number of
 * reads that have found lines of two writes.
 */
static int torn_reads(struct end *writer)
{
	int i, k, slot, torn = 0;

	for (i = 1; i <= 300; i++) {
		memset(writer->buf, i, 256);
		slot = rmc_wait_for_slot(writer->qp, NULL);
		rmc_write_async(writer->qp, slot, 1, 0, writer->buf, 256);
		CHECK_EQ(rmc_read(e.qp, 1, 0, e.buf, 256), 0);
		for (k = 64; k < 256 && e.buf[k] == e.buf[0]; k += 64)
			;
		torn += k < 256;
		/* a line never is */
		for (k = 0; k < 256; k++)
			CHECK_EQ(e.buf[k], e.buf[k & ~63]);
		CHECK_EQ(rmc_drain_cq(writer->qp, NULL), 0);
	}
	return torn;
}

TEST(an_adapter_that_tears_reads)
{
	long long mtu = file_number(SYSFS "/mtu", "");
	struct end writer;
	int torn;

	prepare();
	end_open(&writer, CTX, 1, 0, PAGE, 64);
	memset(peer.seg, 0, 256);
	/* each packet as a whole: nothing is torn, unless it takes several */
	CHECK_EQ(debugfs_write("rnic", "node=1 msg_ps=1000"), 0);
	torn = torn_reads(&writer);
	CHECK(!torn || mtu < 256);
	CHECK_EQ(debugfs_write("rnic", "node=1 lines=any gap_ns=1000 seed=3"), 0);
	CHECK(torn_reads(&writer) > 0);
	end_close(&writer);
	fill(peer.seg, peer.seg_len, 5);
	restore();
}

/* A filter that has lost a packet of an ordered queue pair heals, although that one is gone. */
TEST(a_filter_that_heals)
{
	struct rmc_qp *qp;
	int i;

	prepare();
	qp = rmc_qp_create_with(e.ctx, 16, RMC_QP_ORDERED);
	REQUIRE(qp);
	CHECK_EQ(debugfs_write("links", "from=0 to=1 lane=requests down=1"), 0);
	rmc_write_async(qp, rmc_wait_for_slot(qp, NULL), 1, 0, e.buf, 64);
	for (i = 0; i < 200 && groups_lost() < 1; i++)
		usleep(1000);
	CHECK_EQ(groups_lost(), 1);
	rmc_qp_destroy(qp);
	/* the packet that heals it is lost, and who clears the fault does not wait for a time-out */
	CHECK_EQ(debugfs_write("timeout_ms", "1000000"), 0);
	usleep(50000);
	CHECK_EQ(debugfs_write("links", "sweep"), 0);
	CHECK_EQ(groups_lost(), 1);
	CHECK(debugfs_value("links", "from=0 to=1 lane=requests", "down") > 0);
	for (i = 0; i < 100; i++) {
		CHECK_EQ(debugfs_write("links", "from=any to=any"), 0);
		if (debugfs_value("links", "from=", "loss") < 0)
			break;
		usleep(10000);
	}
	restore();
}

static long long ns_since(const struct timespec *from)
{
	struct timespec to;

	clock_gettime(CLOCK_MONOTONIC, &to);
	return (to.tv_sec - from->tv_sec) * 1000000000LL + to.tv_nsec - from->tv_nsec;
}

/* A part of the model that takes long: without it none of these takes so long. */
TEST(parts_of_a_modelled_adapter)
{
	struct rmc_query q = { .size = sizeof(q) };
	struct rmc_qp *qp[16];
	struct timespec from;
	unsigned int i, k;
	int gaps;

	prepare();
	/* lines come one visit after another, and workers may share CPUs */
	CHECK_EQ(debugfs_write("timeout_ms", "10000"), 0);
	REQUIRE(!ioctl(rmc_fd(e.ctx), RMC_IOC_QUERY, &q));
	/* up to four lines at a time */
	CHECK_EQ(debugfs_write("rnic", "node=1 lines=any gap_ns=2000000"), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	CHECK_EQ(rmc_read(e.qp, 1, 0, e.buf, 4096), 0);
	gaps = q.mtu < 4096 ? 16 - 4096 / (int)q.mtu : 15;
	CHECK(ns_since(&from) >= gaps * 2000000LL);
	CHECK(!memcmp(e.buf, peer.seg, 4096));
	/* the requester's half: two of these queue pairs share a unit, and none fits beside another */
	REQUIRE(q.units < sizeof(qp) / sizeof(qp[0]));
	for (i = 0; i <= q.units; i++) {
		qp[i] = rmc_qp_create(e.ctx, 8);
		REQUIRE(qp[i]);
	}
	CHECK_EQ(debugfs_write("model", "topology=crossbar hop_ns=1000"), 0);
	CHECK_EQ(debugfs_write("rnic", "node=0 qp_cache=1 qp_miss_ns=5000000"), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (k = 0; k < 4; k++)
		for (i = 0; i <= q.units; i++)
			CHECK_EQ(rmc_read(qp[i], 1, 0, e.buf, 64), 0);
	CHECK(ns_since(&from) >= 6 * 5000000LL);
	for (i = 0; i <= q.units; i++)
		rmc_qp_destroy(qp[i]);
	restore();
}

/* Each part of the model at once: the same results, later */
TEST(a_modelled_adapter)
{
	struct timespec from;
	uint64_t old = 0, word;
	int i;

	prepare();
	CHECK_EQ(debugfs_write("model", "topology=crossbar hop_ns=1000"), 0);
	CHECK_EQ(debugfs_write("rnic", "node=any lines=any gap_ns=100 msg_ps=19500 mbps=100000 cas_ns=20000000 faa_ns=431 buffer_ns=1000 qp_cache=1 qp_miss_ns=500"), 0);
	CHECK_EQ(debugfs_value("rnic", "node=1", "qp_miss_ns"), 500);
	for (i = 0; i < 20; i++) {
		memset(e.buf, 0, 20000);
		CHECK_EQ(rmc_read(e.qp, 1, (uint64_t)i, e.buf, 20000), 0);
		CHECK(!memcmp(e.buf, peer.seg + i, 20000));
	}
	fill(e.buf, 20000, 6);
	CHECK_EQ(rmc_write(e.qp, 1, 0, e.buf, 20000), 0);
	CHECK(!memcmp(e.buf, peer.seg, 20000));
	memcpy(&word, peer.seg + 512, 8);
	CHECK_EQ(rmc_faa(e.qp, 1, 512, 3, &old), 0);
	CHECK(old == word && *(uint64_t *)(void *)(peer.seg + 512) == word + 3);
	/* the lock table: three of a slot, 20 ms each */
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (i = 0; i < 3; i++)
		CHECK_EQ(rmc_cas(e.qp, 1, 512 + 4096, 1, 1, &old), 0);
	CHECK(ns_since(&from) >= 60000000);
	memcpy(&word, peer.seg + 512 + 4096, 8);
	CHECK_EQ(old, word);
	fill(peer.seg, peer.seg_len, 5);
	restore();
	CHECK_EQ(debugfs_value("rnic", "node=1", "cas_ns"), 0);
}

TEST(a_stopped_node)
{
	prepare();
	CHECK_EQ(debugfs_write("nodes", "node=1 stop=1"), 0);
	CHECK_EQ(debugfs_value("nodes", "node=1", "stop"), 1);
	CHECK_EQ(rmc_read(e.qp, 1, 0, e.buf, 64), RMC_S_TIMEOUT);
	CHECK_EQ(debugfs_write("nodes", "node=1 stop=0"), 0);
	CHECK(!rmc_read(e.qp, 1, 0, e.buf, 64));
	/* the own node is stopped: closing the file must not hang */
	CHECK_EQ(debugfs_write("nodes", "node=0 stop=1"), 0);
	rmc_write_async(e.qp, rmc_wait_for_slot(e.qp, callback), 1, 0, e.buf, 64);
	end_close(&e);
	CHECK_EQ(debugfs_write("nodes", "node=0 stop=0"), 0);
	end_open(&e, CTX, 0, 0, 64 * PAGE, 64);
	restore();
}

KTAP_MAIN(suite_missing)
