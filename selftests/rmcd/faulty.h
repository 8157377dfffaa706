/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Part of protocol.c: faults and the link model of a daemon, as rmcctl sets them. Node 1 reads
 * and writes the neighbour's segment on node 0. What the faults themselves do is tested with the
 * module (selftests/rmc/faults.c): the code is the same.
 */
#ifndef FAULTY_H
#define FAULTY_H

static struct raw faulty;	/* on node 1 */
static struct raw_qp faulty_qp;
static uint8_t *faulty_buf;

static int fault_write(const char *file, const char *line)
{
	struct rmcd_attr a = { .offset = 0 };

	snprintf(a.path, sizeof(a.path), "kernel/debug/rmc/%s", file);
	snprintf(a.value, sizeof(a.value), "%s", line);
	return raw_call(&faulty, RMCD_ATTR_WRITE, &a, sizeof(a));
}

/* The number after " name=" in the lines that begin with @key, added up; -1: no such line */
static long long fault_value(const char *file, const char *key, const char *name)
{
	struct rmcd_attr a = { .offset = 0 };
	char want[32], *line, *next, *at;
	long long sum = -1;

	snprintf(a.path, sizeof(a.path), "kernel/debug/rmc/%s", file);
	snprintf(want, sizeof(want), " %s=", name);
	do {
		CHECK_EQ(raw_call(&faulty, RMCD_ATTR_LIST, &a, sizeof(a)), 0);
		a.offset += a.count;
		for (line = strtok_r(a.value, "\n", &next); line;
		     line = strtok_r(NULL, "\n", &next)) {
			at = strstr(line, want);
			if (!strncmp(line, key, strlen(key)) && at)
				sum = (sum < 0 ? 0 : sum) + atoll(at + strlen(want));
		}
	} while (a.count);
	return sum;
}

static long long counter(const char *name)
{
	struct rmcd_attr a = { .offset = 0 };

	snprintf(a.path, sizeof(a.path), "class/misc/rmc/node1/counters/%s", name);
	CHECK_EQ(raw_call(&faulty, RMCD_ATTR_READ, &a, sizeof(a)), 0);
	return atoll(a.value);
}

/*
 * A filter that has lost a packet of an ordered queue pair: the command that clears it does not wait,
 * but says that it stays, which it does until the sender's time-out.
 */
static void lost_of_ordered(void)
{
	const char *link = "from=1 to=0 lane=requests";
	struct raw_qp qp;
	uint64_t start;
	int i;

	CHECK_EQ(fault_write("timeout_ms", "600"), 0);
	CHECK_EQ(raw_qp_with(&faulty, &qp, 16, RMC_QP_ORDERED), 0);
	CHECK_EQ(fault_write("links", "from=1 to=0 lane=requests down=1"), 0);
	raw_post(&qp, RMC_OP_WRITE, 0, 0, faulty_buf, 64);
	for (i = 0; i < 500 && fault_value("links", link, "lost_groups") < 1; i++)
		usleep(1000);
	CHECK_EQ(fault_value("links", link, "lost_groups"), 1);
	CHECK_EQ(fault_value("links", link, "waits"), 0);
	start = now_ns();
	CHECK_EQ(fault_write("links", "from=any to=any clear"), 0);
	CHECK(now_ns() - start < 500000000);
	CHECK_EQ(fault_value("links", link, "waits"), 1);
	CHECK_EQ(raw_wait(&qp, 20000), RMC_S_TIMEOUT);
	for (i = 0; i < 200 && fault_value("links", link, "waits") >= 0; i++) {
		usleep(10000);
		CHECK_EQ(fault_write("links", "from=any to=any clear"), 0);
	}
	CHECK_EQ(fault_value("links", "from=", "loss"), -1);

	/* so is what says that the group is renewed: the next one waits for us, not for a time-out */
	CHECK_EQ(fault_write("timeout_ms", "100"), 0);
	CHECK_EQ(fault_write("links", "from=1 to=0 lane=requests down=1"), 0);
	raw_post(&qp, RMC_OP_RESUME, 0, 0, NULL, 0);
	CHECK_EQ(raw_wait(&qp, 20000), RMC_S_OK);
	raw_post(&qp, RMC_OP_WRITE, 0, 0, faulty_buf, 64);
	CHECK_EQ(raw_wait(&qp, 20000), RMC_S_TIMEOUT);
	CHECK_EQ(fault_write("timeout_ms", "1000000"), 0);
	usleep(50000);
	CHECK_EQ(fault_write("links", "sweep"), 0);
	CHECK(fault_value("links", link, "down") > 0);
	CHECK_EQ(fault_value("links", link, "waits"), 0);
	CHECK_EQ(fault_write("links", "from=any to=any clear"), 0);
	for (i = 0; i < 500 && fault_value("links", link, "waits") >= 0; i++) {
		usleep(10000);
		CHECK_EQ(fault_write("links", "sweep"), 0);
	}
	CHECK_EQ(fault_value("links", "from=", "loss"), -1);
	raw_qp_unmap(&qp);
}

static int far_read(uint32_t len)
{
	memset(faulty_buf, 0, len);
	raw_post(&faulty_qp, RMC_OP_READ, 0, 0, faulty_buf, len);
	return raw_wait(&faulty_qp, 20000);
}

/* Shortest of @n reads, ns: a machine that stands still makes them longer only */
static uint64_t least_read(int n)
{
	uint64_t start, took, least = UINT64_MAX;

	while (n--) {
		start = now_ns();
		CHECK_EQ(far_read(64), RMC_S_OK);
		took = now_ns() - start;
		least = took < least ? took : least;
	}
	return least;
}

static void refused_faults(void)
{
	static const struct {
		const char *file, *line;
		int err;
	} bad[] = {
		{ "links", "from=1 to=0 loss=1000001", -ERANGE },
		{ "links", "from=1 to=0 loss=x", -EINVAL },
		{ "links", "from=1 to=0 loss=-1", -EINVAL },
		{ "links", "from=1 to=0 loss= 1", -EINVAL },
		{ "links", "from=1 to=0 lose=1", -ENOENT },
		{ "links", "from=1 to=0 loss", -EINVAL },
		{ "links", "from=1 to=2 loss=1", -ENXIO },
		{ "links", "from=4294967297 to=0 loss=1", -ERANGE },
		{ "links", "from=1 to=0 lane=left loss=1", -EINVAL },
		{ "links", "from=1 to=0 seed=18446744073709551616", -ERANGE },
		{ "nodes", "stop=1", -EINVAL },
		{ "nodes", "node=2 stop=1", -ENXIO },
		{ "model", "topology=ring", -EINVAL },
		{ "model", "topology=torus2d dims=1x1", -ENOSPC },
		{ "model", "topology=torus2d dims=1x1x1x1", -EINVAL },
		{ "timeout_ms", "15", -ERANGE },
		{ "timeout_ms", "", -EINVAL },
		{ "retries", "256", -ERANGE },
		{ "lines", "from=1", -ENOENT },
		{ "", "", -ENOENT },
		{ "../rmc/links", "from=1", -ENOENT },
	};
	char line[300];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int err = fault_write(bad[i].file, bad[i].line);

		if (err != bad[i].err)
			TAP_FAIL("\"%s\" to %s: %d", bad[i].line, bad[i].file, err);
	}
	memset(line, ' ', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	CHECK_EQ(fault_write("links", line), -E2BIG);
	CHECK_EQ(fault_value("links", "from=", "loss"), -1);
}

static void faults(void)
{
	long long restarts;
	void *p;
	int fd = shared(SEG, &p), i;

	faulty_buf = p;
	CHECK_EQ(raw_open(&faulty, 0), 0);
	CHECK_EQ(raw_call(&faulty, RMC_IOC_ATTACH,
			  &(struct rmc_attach){ .size = sizeof(struct rmc_attach), .nid = 1 },
			  sizeof(struct rmc_attach)), 0);
	CHECK_EQ(raw_buf(&faulty, p, SEG, fd, 0, NULL), 0);
	CHECK_EQ(raw_qp(&faulty, &faulty_qp, 16), 0);
	close(fd);
	memset(modest_seg, 0x5a, SEG);
	refused_faults();

	/* a link that is cut, one way */
	CHECK_EQ(fault_write("timeout_ms", "200"), 0);
	CHECK_EQ(fault_write("links", "from=1 to=0 lane=requests down=1"), 0);
	CHECK_EQ(far_read(64), RMC_S_TIMEOUT);
	CHECK(fault_value("links", "from=1 to=0 lane=requests", "lost") >= 1);
	CHECK_EQ(fault_value("links", "from=1 to=0 lane=replies", "down"), -1);
	check_modest();
	CHECK_EQ(fault_write("links", "from=any to=any clear"), 0);
	CHECK_EQ(fault_value("links", "from=", "loss"), -1);
	CHECK_EQ(far_read(4096), RMC_S_OK);

	lost_of_ordered();

	/* lost packets are sent again */
	memset(modest_seg, 0x5a, SEG);
	restarts = counter("restarts");
	CHECK_EQ(fault_write("retries", "200"), 0);
	CHECK_EQ(fault_write("timeout_ms", "16"), 0);
	CHECK_EQ(fault_write("links", "from=any to=any loss=200000 dup=100000 seed=3"), 0);
	for (i = 0; i < 30; i++) {
		CHECK_EQ(far_read(64), RMC_S_OK);
		CHECK_EQ(faulty_buf[0], 0x5a);
	}
	CHECK(counter("restarts") > restarts);
	CHECK_EQ(fault_write("links", ""), 0);
	CHECK_EQ(fault_write("timeout_ms", "10000"), 0);

	/* a server that stands still, and goes on */
	CHECK_EQ(fault_write("nodes", "node=0 stop=1"), 0);
	CHECK_EQ(fault_value("nodes", "node=0", "stop"), 1);
	raw_post(&faulty_qp, RMC_OP_READ, 0, 0, faulty_buf, 64);
	usleep(50000);
	CHECK_EQ(fault_write("nodes", "node=0 stop=0"), 0);
	CHECK_EQ(raw_wait(&faulty_qp, 20000), RMC_S_OK);

	/* a slow one, then a fabric with distances: one hop there and one back */
	CHECK_EQ(fault_write("nodes", "node=0 slow_ns=5000000"), 0);
	CHECK(least_read(3) >= 5000000);
	CHECK_EQ(fault_write("nodes", "node=0 slow_ns=0"), 0);
	CHECK_EQ(fault_write("model", "topology=torus2d dims=2x1 hop_ns=4000000 one_way=1"), 0);
	CHECK(least_read(3) >= 8000000);
	CHECK_EQ(fault_write("model", "topology=none"), 0);
	CHECK_EQ(fault_value("links", "from=", "loss"), -1);
	CHECK_EQ(far_read(4096), RMC_S_OK);
	CHECK_EQ(fault_write("retries", "0"), 0);
	raw_qp_unmap(&faulty_qp);
	raw_close(&faulty);
	check_opens(1);
	check_modest();
}

#endif
