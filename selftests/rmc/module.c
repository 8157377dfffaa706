// SPDX-License-Identifier: GPL-2.0
/*
 * Loading and unloading: what is refused, and what stays behind. The environment variable
 * RMC_KO names the module; USUAL has its usual parameters. The program leaves the module
 * unloaded.
 */
#include <sys/syscall.h>
#include "common.h"

#define USUAL	"fabric=loopback nodes=4"

static int load(const char *args)
{
	int fd = open(getenv("RMC_KO"), O_RDONLY | O_CLOEXEC), err, saved;

	if (fd < 0)
		return -1;
	err = (int)syscall(SYS_finit_module, fd, args, 0);
	saved = errno;
	close(fd);
	errno = saved;
	return err;
}

static int unload(void)
{
	return (int)syscall(SYS_delete_module, "rmc", O_NONBLOCK);
}

static const char *missing(void)
{
	if (!getenv("RMC_KO"))
		return "RMC_KO does not name rmc.ko";
	unload();
	return module_missing();
}

TEST(loads_and_unloads)
{
	int i;

	for (i = 0; i < 5; i++) {
		REQUIRE(!load(USUAL));
		CHECK(!access(CTL_PATH, F_OK));
		REQUIRE(!unload());
		CHECK_ERRNO(access(CTL_PATH, F_OK), ENOENT);
	}
}

TEST(busy_while_a_context_is_open)
{
	int fd;

	REQUIRE(!load(USUAL));
	REQUIRE(!ctx_create(CTX, 0600, 0, 0));
	fd = open_ctx(CTX);
	REQUIRE(fd >= 0);
	CHECK(unload() == -1 && (errno == EBUSY || errno == EWOULDBLOCK));
	close(fd);
	CHECK(!unload());
}

/* Mappings alone keep the module loaded, too: it owns their pages and operations. */
TEST(busy_while_queues_are_mapped)
{
	struct rmc_qp_create qp;
	void *wq;
	int fd;

	REQUIRE(!load(USUAL));
	REQUIRE(!ctx_create(CTX, 0600, 0, 0));
	fd = open_ctx(CTX);
	REQUIRE(!qp_create(fd, 16, &qp));
	wq = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)qp.wq_offset);
	REQUIRE(wq != MAP_FAILED);
	close(fd);
	CHECK(unload() == -1 && (errno == EBUSY || errno == EWOULDBLOCK));
	munmap(wq, PAGE);
	CHECK(!unload());
}

TEST(busy_while_the_control_device_is_open)
{
	int fd;

	REQUIRE(!load(USUAL));
	fd = open_ctl();
	REQUIRE(fd >= 0);
	CHECK(unload() == -1 && (errno == EBUSY || errno == EWOULDBLOCK));
	close(fd);
	CHECK(!unload());
}

TEST(contexts_without_users_do_not_keep_it)
{
	unsigned int i;

	REQUIRE(!load(USUAL));
	for (i = 0; i < 5; i++)
		REQUIRE(!ctx_create(i, 0600, 0, 0));
	CHECK(!unload());
	CHECK_ERRNO(access(RMC_CTX_DIR "/0", F_OK), ENOENT);
	REQUIRE(!load(USUAL));
	/* after a new load the contexts do not exist */
	CHECK_ERRNO(open_ctx(0), ENOENT);
	CHECK(!ctx_create(0, 0600, 0, 0));
	CHECK(!unload());
}

TEST(unloads_right_after_traffic)
{
	int i, k;

	for (i = 0; i < 5; i++) {
		pid_t pid;

		REQUIRE(!load(USUAL));
		REQUIRE(!ctx_create(CTX, 0600, 0, 0));
		pid = helper();
		if (!pid) {
			struct end a, b;

			end_open(&a, CTX, 0, PAGE, 0, 0);
			end_open(&b, CTX, 1, 0, PAGE, 16);
			for (k = 0; k < 16; k++)
				rmc_read_async(b.qp, k, 0, 0, b.buf, PAGE);
			_exit(0);
		}
		REQUIRE(helper_ok(pid));
		CHECK(!unload());
	}
}

TEST(works_with_one_node)
{
	struct end e;

	REQUIRE(!load("fabric=loopback nodes=1"));
	REQUIRE(!ctx_create(CTX, 0600, 0, 0));
	end_open(&e, CTX, 0, PAGE, PAGE, 8);
	fill(e.seg, PAGE, 1);
	CHECK_EQ(rmc_read(e.qp, 0, 0, e.buf, PAGE), RMC_S_OK);
	CHECK_EQ(differs(e.buf, PAGE, 1), -1);
	CHECK_EQ(rmc_read(e.qp, 1, 0, e.buf, PAGE), RMC_S_BAD_NODE);
	end_close(&e);
	CHECK(!unload());
}

/* An ITT so small that nearly every operation waits for an entry */
TEST(works_with_a_tiny_itt)
{
	struct end a, b;
	int i, slot;

	REQUIRE(!load("fabric=loopback nodes=2 itt=2 mtu=64"));
	REQUIRE(!ctx_create(CTX, 0600, 0, 0));
	end_open(&a, CTX, 0, 4 * PAGE, 0, 0);
	end_open(&b, CTX, 1, 0, 4 * PAGE, 64);
	fill(a.seg, 4 * PAGE, 2);
	for (i = 0; i < 1000; i++) {
		slot = rmc_wait_for_slot(b.qp, NULL);
		REQUIRE(slot >= 0);
		rmc_read_async(b.qp, slot, 0, (uint64_t)(i * 3), b.buf + i * 3, 3 + i % 500);
	}
	CHECK_EQ(rmc_drain_cq(b.qp, NULL), 0);
	CHECK_EQ(differs(b.buf, 3000, 2), -1);
	end_close(&a);
	end_close(&b);
	CHECK(!unload());
}

TEST(bad_parameters_are_refused)
{
	static const char * const bad[] = {
		"fabric=loopback nodes=1025", "fabric=loopback nodes=-1", "fabric=loopback mtu=65",
		"fabric=loopback mtu=32", "fabric=loopback mtu=1000000", "fabric=loopback itt=0",
		"fabric=loopback itt=1000000", "fabric=loopback ni=hexagon", "fabric=ether",
		"fabric=loopback cpus=77", "fabric=loopback cpus=a", "fabric=loopback timeout_ms=0",
		"fabric=loopback dead_ms=0", "fabric=loopback park_us=99999999",
		"fabric=loopback topology=typo", "fabric=loopback topology=torus2d dims=2xb",
		"fabric=loopback topology=crossbar hop_ns=4000000000",
	};
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int r = load(bad[i]);

		if (!CHECK(r == -1 && (errno == EINVAL || errno == ERANGE))) {
			ktap_say("with %s", bad[i]);
			if (!r)
				REQUIRE(!unload());
		}
		CHECK_ERRNO(access(CTL_PATH, F_OK), ENOENT);
	}
}

/*
 * A module that fails to start does not wait until its files are closed, so no process can
 * open one before it runs. A helper tries all the time. The start fails because the topology is
 * unknown or its dimensions are too small for all nodes.
 */
TEST(nothing_opens_before_the_module_runs)
{
	static const char * const bad[] = { "topology=typo", "topology=torus2d dims=1x2" };
	int i, status;
	pid_t pid;

	pid = helper();
	if (!pid) {
		for (;;)
			if (open(CTL_PATH, O_RDONLY | O_CLOEXEC) >= 0)
				_exit(1);
	}
	for (i = 0; i < ktap_rounds(40); i++) {
		char args[128];

		snprintf(args, sizeof(args), USUAL " %s", bad[i % 2]);
		CHECK_EQ(load(args), -1);
		REQUIRE_EQ(waitpid(pid, &status, WNOHANG), 0);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	/* an open succeeds once a module has started */
	pid = helper();
	if (!pid) {
		while (open(CTL_PATH, O_RDONLY | O_CLOEXEC) < 0)
			if (errno != ENOENT)
				_exit(1);
		_exit(0);
	}
	REQUIRE(!load(USUAL));
	CHECK(helper_ok(pid));
	CHECK(!unload());
}

TEST(ivshmem_without_the_device_is_enodev)
{
	if (!load("fabric=ivshmem nodes=2")) {
		unload();
		SKIP("this machine has an ivshmem device");
	}
	/* a kernel without PCI does not even know the name */
	CHECK_EQ(errno, access("/sys/bus/pci", F_OK) ? EINVAL : ENODEV);
}

TEST(parameters_show_up)
{
	struct rmc_query q = { .size = sizeof(q) };
	int fd;

	REQUIRE(!load("fabric=loopback nodes=3 ni=pair mtu=128 itt=77 timeout_ms=1234"));
	fd = open_ctl();
	REQUIRE(fd >= 0);
	REQUIRE(!ioctl(fd, RMC_IOC_QUERY, &q));
	CHECK_EQ(q.fabric, RMC_FABRIC_LOOPBACK);
	CHECK_EQ(q.nodes, 3);
	CHECK_EQ(q.local_nodes, 3);
	CHECK_EQ(q.ni, RMC_NI_PAIR);
	CHECK_EQ(q.mtu, 128);
	CHECK_EQ(q.itt_entries, 77);
	CHECK_EQ(q.timeout_ms, 1234);
	close(fd);
	CHECK(!unload());
}

KTAP_MAIN(missing)
