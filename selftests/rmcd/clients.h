/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Part of protocol.c: clients that stop, die, leave children behind, belong to other users, or
 * send what takes long to close. Uses its neighbour, check_modest() and check_opens().
 */
#ifndef CLIENTS_H
#define CLIENTS_H

/* Requests without end, and nobody reads the answers. */
static void stops_reading(void)
{
	struct {
		struct rmcd_head head;
		struct rmc_query q;
	} m = { .head.request = RMC_IOC_QUERY, .q.size = sizeof(m.q) };
	struct raw c;
	int i, err = 0;

	CHECK_EQ(raw_open(&c, 0), 0);
	for (i = 0; i < 100000 && !err; i++)
		err = raw_send(&c, &m, sizeof(m), NULL, 0);
	CHECK(err == -EPIPE || err == -ECONNRESET);
	raw_close(&c);
	check_opens(1);
	check_modest();
}

/* A TCP socket that keeps whoever closes it for an hour: its peer reads nothing */
static int lingering(int *peer)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int l = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	struct linger linger = { 1, 3600 };
	socklen_t len = sizeof(addr);
	static char data[65536];

	if (bind(l, (struct sockaddr *)&addr, sizeof(addr)) || listen(l, 1) ||
	    getsockname(l, (struct sockaddr *)&addr, &len) ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		abort();
	*peer = accept(l, NULL, NULL);
	close(l);
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		abort();
	return fd;
}

/* Descriptors that take long to close: in messages that are read, refused, and not read */
static void lingering_descriptors(void)
{
	struct {
		struct rmcd_head head;
		struct rmcd_open open;
	} m = { .head = { .request = RMCD_OPEN, .fds = 1 },
		.open = { .version = RMCD_VERSION } };
	int peer, fd, i;
	struct raw c;
	uint64_t start = now_ns();

	for (i = 0; i < 3; i++) {
		fd = lingering(&peer);
		/* stopped until we have closed ours: its copies are the last ones */
		kill(daemon_pid, SIGSTOP);
		CHECK_EQ(raw_connect(&c), 0);
		m.head.fds = i == 0 ? 1 : 0;
		raw_send(&c, &m, sizeof(m), &fd, 1);
		raw_send(&c, &m, sizeof(m), &fd, 1);
		raw_send(&c, &m, i == 2 ? sizeof(m) : 1, &fd, 1);
		close(fd);
		raw_close(&c);
		kill(daemon_pid, SIGCONT);
		check_opens(1);
		check_modest();
		CHECK(now_ns() - start < 20000000000ULL);
		close(peer);
	}
}

/* Processes that are killed at some moment of a busy life */
static void killed_clients(void)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 12; i++) {
		pid = fork();
		if (!pid) {
			struct raw c;
			void *p;
			int fd = shared(SEG, &p);

			for (;;) {
				struct raw_qp q;

				if (raw_open(&c, 0) || raw_buf(&c, p, SEG, fd, 0, NULL) ||
				    raw_qp(&c, &q, 64))
					_exit(1);
				raw_post(&q, RMC_OP_READ, 0, 0, p, 4096);
				raw_post(&q, RMC_OP_WRITE, 0, SEG / 2, p, 4096);
				raw_qp_unmap(&q);
				raw_close(&c);
			}
		}
		usleep(3000 + 5000 * (unsigned int)i);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		CHECK(WIFSIGNALED(status));
	}
	check_opens(1);
	check_modest();
}

/* A child keeps the connection open, but not what the dead process had. */
static void orphaned_connection(void)
{
	int out[2], in[2];
	pid_t pid, child;
	struct raw c;
	char byte;
	void *p;
	int fd = shared(PAGE, &p);

	CHECK(!pipe(out) && !pipe(in));
	pid = fork();
	if (!pid) {
		if (raw_open(&c, 0) ||
		    raw_call(&c, RMC_IOC_ATTACH,
			     &(struct rmc_attach){ .size = sizeof(struct rmc_attach), .nid = 1 },
			     sizeof(struct rmc_attach)) ||
		    raw_seg(&c, p, PAGE, fd, 0))
			_exit(1);
		child = fork();
		if (!child) {
			close(in[1]);
			(void)!read(in[0], &byte, 1);
			_exit(0);
		}
		(void)!write(out[1], "x", 1);
		pause();
	}
	CHECK_EQ(read(out[0], &byte, 1), 1);
	raw_post(&modest_qp, RMC_OP_READ, 1, 0, modest_buf, 64);
	CHECK_EQ(raw_wait(&modest_qp, 10000), RMC_S_OK);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 5000; i++) {
		raw_post(&modest_qp, RMC_OP_READ, 1, 0, modest_buf, 64);
		if (raw_wait(&modest_qp, 10000) != RMC_S_OK)
			break;
		usleep(1000);
	}
	raw_post(&modest_qp, RMC_OP_READ, 1, 0, modest_buf, 64);
	CHECK_EQ(raw_wait(&modest_qp, 10000), RMC_S_BAD_CONTEXT);
	CHECK_EQ(opens(), 2);
	close(in[0]);
	close(in[1]);
	check_opens(1);
	close(out[0]);
	close(out[1]);
	close(fd);
}

/* Another user: quotas hold, modes hold, no administration, no private memory */
static void other_user(void)
{
	struct rmc_ctx_create create = { .size = sizeof(create), .ctx_id = 9, .mode = 0666 };
	struct rmcd_attr a = { .path = "class/misc/rmc/node1/state", .value = "down" };
	struct rmc_ctx_remove remove = { .size = sizeof(remove), .ctx_id = 9 };
	struct raw c, ctl;
	int status;
	pid_t pid;

	if (geteuid()) {
		printf("# not root: other users were not tried\n");
		return;
	}
	CHECK_EQ(raw_open(&ctl, -1), 0);
	CHECK_EQ(raw_call(&ctl, RMC_IOC_CTX_CREATE, &create, sizeof(create)), 0);
	CHECK_EQ(raw_call(&ctl, RMC_IOC_CTX_CREATE, &create, sizeof(create)), -EEXIST);
	pid = fork();
	if (!pid) {
		static struct raw_qp q;
		uint64_t word = 0;
		int n, err = 0;

		tap_failures = 0;
		if (setgid(65534) || setuid(65534))
			_exit(2);
		CHECK_EQ(raw_open(&c, 0), -EACCES);
		raw_close(&c);
		CHECK_EQ(raw_open(&c, -1), 0);
		CHECK_EQ(raw_call(&c, RMC_IOC_CTX_CREATE, &create, sizeof(create)), -EPERM);
		CHECK_EQ(raw_call(&c, RMC_IOC_CTX_REMOVE, &remove, sizeof(remove)), -EPERM);
		CHECK_EQ(raw_call(&c, RMCD_ATTR_WRITE, &a, sizeof(a)), -EPERM);
		/* nor faults, as debugfs is root's alone */
		strcpy(a.path, "kernel/debug/rmc/links");
		strcpy(a.value, "down=1");
		CHECK_EQ(raw_call(&c, RMCD_ATTR_WRITE, &a, sizeof(a)), -EPERM);
		CHECK_EQ(raw_call(&c, RMCD_ATTR_LIST, &a, sizeof(a)), -EPERM);
		raw_close(&c);
		CHECK_EQ(raw_open(&c, 9), 0);
		CHECK_EQ(raw_buf(&c, &word, sizeof(word), -1, 0, NULL), -EOPNOTSUPP);
		/* addresses of the daemon: a sparse file of 1 TiB is more than the quota */
		n = memfd_create("sparse", MFD_CLOEXEC);
		CHECK(!ftruncate(n, 1LL << 40));
		CHECK_EQ(raw_buf(&c, (void *)(uintptr_t)PAGE, 1ULL << 40, n, 0, NULL), -EDQUOT);
		/* and its holes would be the daemon's memory; holes.c has the rest */
		if (may_userfault())
			CHECK_EQ(raw_buf(&c, (void *)(uintptr_t)PAGE, 1ULL << 30, n, 0, NULL), -EFAULT);
		CHECK(pwrite(n, &word, sizeof(word), 0) == sizeof(word));
		CHECK_EQ(raw_buf(&c, (void *)(uintptr_t)PAGE, PAGE, n, 0, NULL), 0);
		close(n);
		for (n = 0; n < 300 && !err; n++) {
			err = raw_qp(&c, &q, 2);
			if (!err)
				raw_qp_unmap(&q);
		}
		CHECK_EQ(err, -EDQUOT);
		CHECK_EQ(n, 257);
		fflush(stdout);
		_exit(tap_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	for (int i = 0; i < 5000; i++) {
		if (raw_call(&ctl, RMC_IOC_CTX_REMOVE, &remove, sizeof(remove)) != -EBUSY)
			break;
		usleep(1000);
	}
	CHECK_EQ(raw_call(&ctl, RMC_IOC_CTX_REMOVE, &remove, sizeof(remove)), -ENOENT);
	raw_close(&ctl);
	check_modest();
}

#endif
