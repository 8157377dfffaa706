// SPDX-License-Identifier: GPL-2.0
/* Every limit in QUERY: it can be reached, its errno is clear, and all resources come back. */
#include "common.h"

static struct rmc_query q = { .size = sizeof(q) };
static int fd;

static void prepare(void)
{
	fd = open_ctx(CTX);
	REQUIRE(fd >= 0);
	REQUIRE(!ioctl(fd, RMC_IOC_QUERY, &q));
}

static unsigned int qps_until_full(int f)
{
	struct rmc_qp_create qp;
	unsigned int n = 0;

	while (!qp_create(f, 2, &qp))
		if (++n > q.max_qps)
			break;
	CHECK_EQ(errno, ENOSPC);
	return n;
}

TEST(qps_until_enospc)
{
	struct rmc_qp_create qp;
	int round;

	for (round = 0; round < 3; round++) {
		prepare();
		CHECK_EQ(qps_until_full(fd), q.max_qps);
		/* a destroyed queue pair makes room for one */
		CHECK(!qp_destroy(fd, 17));
		CHECK(!qp_create(fd, 2, &qp));
		CHECK_ERRNO(qp_create(fd, 2, &qp), ENOSPC);
		close(fd);
	}
}

/* The limit is per node: its open files share it, other nodes do not. */
TEST(qp_limit_is_per_node)
{
	struct rmc_qp_create qp;
	struct end other, same;

	prepare();
	CHECK_EQ(qps_until_full(fd), q.max_qps);
	end_open(&same, CTX, 0, 0, 0, 0);
	end_open(&other, CTX, 1, 0, 0, 0);
	CHECK_ERRNO(qp_create(rmc_fd(same.ctx), 2, &qp), ENOSPC);
	CHECK(!qp_create(rmc_fd(other.ctx), 2, &qp));
	close(fd);
	CHECK(!qp_create(rmc_fd(same.ctx), 2, &qp));
}

TEST(qps_of_killed_processes_come_back)
{
	struct rmc_qp_create qp;
	int round, status;
	pid_t pid;

	for (round = 0; round < 3; round++) {
		pid = helper();
		if (!pid) {
			prepare();
			REQUIRE_EQ(qps_until_full(fd), q.max_qps);
			kill(getpid(), SIGKILL);
		}
		REQUIRE(waitpid(pid, &status, 0) == pid);
		REQUIRE(WIFSIGNALED(status));
	}
	prepare();
	CHECK(!qp_create(fd, 2, &qp));
}

TEST(entries_are_a_power_of_two)
{
	struct rmc_qp_create qp;
	unsigned int bad[] = { 0, 1, 3, 5, 6, 7, 12, 100, 0x80000000, 0xffffffff, 0, 0, 0 }, i;

	prepare();
	bad[10] = q.max_entries + 1;
	bad[11] = q.max_entries * 2;
	bad[12] = q.max_entries - 1;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK_ERRNO(qp_create(fd, bad[i], &qp), EINVAL))
			ktap_say("entries %u", bad[i]);
	for (i = 2; i <= q.max_entries; i *= 2)
		if (!CHECK(!qp_create(fd, i, &qp)))
			ktap_say("entries %u", i);
}

/* The smallest and the largest queues work, for several laps. */
TEST(shortest_and_longest_queues_work)
{
	unsigned int entries, i;
	struct end a, b;
	int slot;

	prepare();
	end_open(&a, CTX, 0, PAGE, 0, 0);
	fill(a.seg, PAGE, 1);
	for (entries = 2; entries <= q.max_entries; entries *= q.max_entries / 2) {
		end_open(&b, CTX, 1, 0, PAGE, entries);
		for (i = 0; i < 3 * entries + 1; i++) {
			slot = rmc_wait_for_slot(b.qp, NULL);
			REQUIRE_EQ(slot, i % entries);
			rmc_read_async(b.qp, slot, 0, i % PAGE, b.buf + i % PAGE, 1);
		}
		CHECK_EQ(rmc_drain_cq(b.qp, NULL), 0);
		end_close(&b);
	}
}

TEST(contexts_until_the_limit)
{
	char path[64];
	unsigned int i, made = 0;
	int f;

	prepare();
	for (i = 0; i < q.max_contexts; i++) {
		if (ctx_create(i, 0600, 0, 0))
			CHECK_EQ(errno, EEXIST);	/* CTX */
		else
			made++;
	}
	CHECK(made >= q.max_contexts - 2);
	CHECK_ERRNO(ctx_create(q.max_contexts, 0600, 0, 0), EINVAL);
	CHECK_ERRNO(ctx_create(~0U, 0600, 0, 0), EINVAL);
	f = open_ctx(q.max_contexts - 1);
	CHECK(f >= 0);
	close(f);
	for (i = 0; i < q.max_contexts; i++)
		if (i != CTX && !CHECK(!ctx_remove(i)))
			break;
	snprintf(path, sizeof(path), RMC_CTX_DIR "/%u", q.max_contexts - 1);
	CHECK_ERRNO(access(path, F_OK), ENOENT);
	CHECK_ERRNO(ctx_remove(q.max_contexts - 1), ENOENT);
	CHECK_ERRNO(ctx_remove(q.max_contexts), ENOENT);
	CHECK_ERRNO(ctx_remove(~0U), ENOENT);
}

TEST(existing_context_is_eexist)
{
	prepare();
	CHECK_ERRNO(ctx_create(CTX, 0600, 0, 0), EEXIST);
}

TEST(open_context_is_ebusy)
{
	int a, b;

	prepare();
	REQUIRE(!ctx_create(5, 0600, 0, 0));
	a = open_ctx(5);
	b = open_ctx(5);
	REQUIRE(a >= 0 && b >= 0);
	CHECK_ERRNO(ctx_remove(5), EBUSY);
	close(a);
	CHECK_ERRNO(ctx_remove(5), EBUSY);
	close(b);
	CHECK(!ctx_remove(5));
	CHECK_ERRNO(open_ctx(5), ENOENT);
}

TEST(context_mode_is_at_most_0777)
{
	prepare();
	CHECK_ERRNO(ctx_create(5, 01777, 0, 0), EINVAL);
	CHECK_ERRNO(ctx_create(5, 04755, 0, 0), EINVAL);
	CHECK_ERRNO(ctx_create(5, ~0U, 0, 0), EINVAL);
	CHECK(!ctx_create(5, 0777, 0, 0));
	CHECK(!ctx_remove(5));
}

TEST(contexts_come_and_go)
{
	int i, f;

	prepare();
	for (i = 0; i < 100; i++) {
		if (!CHECK(!ctx_create(5, 0600, 0, 0)))
			break;
		f = open_ctx(5);
		CHECK(f >= 0);
		close(f);
		if (!CHECK(!ctx_remove(5)))
			break;
	}
}

TEST(itt_limit_is_reported)
{
	prepare();
	CHECK_EQ(q.itt_entries, file_number("/sys/module/rmc/parameters/itt", ""));
}

/* Nothing that is opened, registered or mapped here stays allocated. */
TEST(memory_comes_back)
{
	long long pinned = pages_pinned(), before = 0, after;
	struct end e;
	void *p;
	int i;

	for (i = 0; i < 60; i++) {
		if (i == 10)
			before = memory_there();
		end_open(&e, CTX, 0, 1 << 20, 1 << 20, 4096);
		REQUIRE(rmc_buf_alloc(e.ctx, 1 << 20, -1, &p) >= 0);
		memset(p, 1, 1 << 20);
		end_close(&e);
	}
	usleep(200000);
	after = memory_there();
	CHECK(!pages_settle(pinned));
	/* 50 rounds of 3 MiB: less than two of them may be missing */
	if (!CHECK(before - after < 6 << 10))
		ktap_say("%lld KiB are gone", before - after);
}

KTAP_MAIN(suite_missing)
