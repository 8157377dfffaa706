// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * What rmcd does with clients that break the rules, and with their modest neighbour, who goes on
 * working meanwhile. usage: protocol PATH_OF_RMCD [OPTION_OF_RMCD ...]
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../tap.h"
#include "raw.h"

#define SEG	(64 * 1024)

/* The neighbour: node 0, a segment and a buffer in one file */
static struct raw modest;
static struct raw_qp modest_qp;
static uint8_t *modest_seg, *modest_buf;

static void open_modest(void)
{
	void *p;
	int fd = shared(2 * SEG, &p);

	modest_seg = p;
	modest_buf = modest_seg + SEG;
	CHECK_EQ(raw_open(&modest, 0), 0);
	CHECK_EQ(raw_seg(&modest, modest_seg, SEG, fd, 0), 0);
	CHECK_EQ(raw_buf(&modest, modest_buf, SEG, fd, SEG, NULL), 0);
	CHECK_EQ(raw_qp(&modest, &modest_qp, 64), 0);
	close(fd);
}

/* It reads what is in its own segment. */
static void check_modest(void)
{
	static uint8_t round;

	memset(modest_seg, ++round, 4096);
	memset(modest_buf, 0, 4096);
	raw_post(&modest_qp, RMC_OP_READ, 0, 0, modest_buf, 4096);
	CHECK_EQ(raw_wait(&modest_qp, 10000), RMC_S_OK);
	CHECK_EQ(modest_buf[0], round);
	CHECK_EQ(modest_buf[4095], round);
}

static int opens(void)
{
	struct rmcd_attr a = { .path = "class/rmc_context/rmcctx0/open_count" };
	struct raw c;
	int n = -1;

	CHECK_EQ(raw_open(&c, -1), 0);
	CHECK_EQ(raw_call(&c, RMCD_ATTR_READ, &a, sizeof(a)), 0);
	sscanf(a.value, "%d", &n);
	raw_close(&c);
	return n;
}

/* The daemon notices the end of a connection some time later. */
static void check_opens(int want)
{
	int i;

	for (i = 0; i < 5000 && opens() != want; i++)
		usleep(1000);
	CHECK_EQ(opens(), want);
}

static void operations(void)
{
	uint64_t word = 7;
	struct raw_qp q;
	struct raw c;
	void *p;
	int fd = shared(PAGE, &p);

	check_modest();
	/* another process's node, and a word on the stack */
	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_call(&c, RMC_IOC_ATTACH,
			  &(struct rmc_attach){ .size = sizeof(struct rmc_attach), .nid = 1 },
			  sizeof(struct rmc_attach)), 0);
	CHECK_EQ(raw_buf(&c, &word, sizeof(word), -1, 0, NULL), 0);
	CHECK_EQ(raw_qp(&c, &q, 2), 0);
	memset(modest_seg, 0x11, 64);
	raw_post(&q, RMC_OP_READ, 0, 8, &word, 8);
	CHECK_EQ(raw_wait(&q, 10000), RMC_S_OK);
	CHECK_EQ(word, 0x1111111111111111);
	word = 5;
	raw_post(&q, RMC_OP_WRITE, 0, 16, &word, 8);
	CHECK_EQ(raw_wait(&q, 10000), RMC_S_OK);
	CHECK_EQ(modest_seg[16], 5);
	/* private memory is no segment; beside it shared memory is */
	CHECK_EQ(raw_seg(&c, p, PAGE, -1, 0), -EOPNOTSUPP);
	CHECK_EQ(raw_seg(&c, p, PAGE, fd, 0), 0);
	CHECK_EQ(raw_seg(&c, p, PAGE, fd, 0), -EEXIST);
	raw_qp_unmap(&q);
	raw_close(&c);
	close(fd);
	check_opens(1);
}

/* Pieces that are private at both ends, and whole pages between them */
static void mixed_buffer(void)
{
	struct rmc_buf_reg arg = { .size = sizeof(arg) };
	struct rmcd_memory m = { .count = 3 };
	uint8_t *base = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	int fd = memfd_create("mixed", MFD_CLOEXEC), i;
	struct raw_qp q;
	struct raw c;

	CHECK(!ftruncate(fd, 2 * PAGE));
	CHECK(mmap(base + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
	      MAP_FAILED);
	m.piece[0] = (struct rmcd_piece){ .length = 100, .fd = RMCD_PRIVATE };
	m.piece[1] = (struct rmcd_piece){ .length = 2 * PAGE, .fd = 0 };
	m.piece[2] = (struct rmcd_piece){ .length = 50, .fd = RMCD_PRIVATE };
	arg.addr = (uintptr_t)base + PAGE - 100;
	arg.length = 100 + 2 * PAGE + 50;
	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_BUF_REG, &arg, sizeof(arg), &m, sizeof(m), &fd, 1), 0);
	CHECK_EQ(raw_qp(&c, &q, 8), 0);
	for (i = 0; i < SEG; i++)
		modest_seg[i] = (uint8_t)(i * 7);
	raw_post(&q, RMC_OP_READ, 0, 0, base + PAGE - 100, (uint32_t)arg.length);
	CHECK_EQ(raw_wait(&q, 10000), RMC_S_OK);
	CHECK(!memcmp(base + PAGE - 100, modest_seg, arg.length));
	memset(modest_seg, 0, SEG);
	raw_post(&q, RMC_OP_WRITE, 0, 0, base + PAGE - 100, (uint32_t)arg.length);
	CHECK_EQ(raw_wait(&q, 10000), RMC_S_OK);
	CHECK(!memcmp(base + PAGE - 100, modest_seg, arg.length));
	CHECK_EQ(modest_seg[arg.length], 0);
	/* what the client unmapped reads as zero, and is written to nowhere */
	munmap(base, PAGE);
	raw_post(&q, RMC_OP_WRITE, 0, 0, base + PAGE - 100, 100);
	CHECK_EQ(raw_wait(&q, 10000), RMC_S_OK);
	CHECK_EQ(modest_seg[10], 0);
	raw_post(&q, RMC_OP_READ, 0, 0, base + PAGE - 100, 100);
	CHECK_EQ(raw_wait(&q, 10000), RMC_S_OK);
	raw_qp_unmap(&q);
	raw_close(&c);
	close(fd);
	munmap(base, 4 * PAGE);
	check_modest();
}

/* Each ends the connection, and nothing else. */
static void broken_messages(void)
{
	struct {
		struct rmcd_head head;
		struct rmcd_open open;
		uint8_t more[2048];
	} m = { .head.request = RMCD_OPEN, .open = { .version = RMCD_VERSION } };
	int fds[16], i;
	struct raw c;
	uint8_t in[64];

	for (i = 0; i < 16; i++)
		fds[i] = eventfd(0, 0);
	for (i = 0; i < 7; i++) {
		CHECK_EQ(raw_connect(&c), 0);
		m.head = (struct rmcd_head){ .request = RMCD_OPEN };
		switch (i) {
		case 0:		/* shorter than its head */
			raw_send(&c, &m, sizeof(m.head) - 1, NULL, 0);
			break;
		case 1:		/* longer than any message */
			raw_send(&c, &m, sizeof(m), NULL, 0);
			break;
		case 2:		/* more descriptors than it says */
			raw_send(&c, &m, sizeof(m.head) + sizeof(m.open), fds, 1);
			break;
		case 3:		/* fewer */
			m.head.fds = 2;
			raw_send(&c, &m, sizeof(m.head) + sizeof(m.open), fds, 1);
			break;
		case 4:		/* more than possible */
			m.head.fds = 16;
			raw_send(&c, &m, sizeof(m.head) + sizeof(m.open), fds, 16);
			break;
		case 5:
			m.head.reserved = 1;
			raw_send(&c, &m, sizeof(m.head) + sizeof(m.open), NULL, 0);
			break;
		case 6:
			m.head.ret = -1;
			raw_send(&c, &m, sizeof(m.head) + sizeof(m.open), NULL, 0);
			break;
		}
		CHECK_EQ(raw_receive(&c, in, sizeof(in)), -EPIPE);
		raw_close(&c);
	}
	for (i = 0; i < 16; i++)
		close(fds[i]);
	check_modest();
}

static void refused_opens(void)
{
	struct rmcd_open open = { .version = RMCD_VERSION + 1 };
	struct rmc_query q = { .size = sizeof(q) };
	struct raw c;

	CHECK_EQ(raw_connect(&c), 0);
	CHECK_EQ(raw_call(&c, RMC_IOC_QUERY, &q, sizeof(q)), -EPROTO);
	CHECK_EQ(raw_call(&c, RMCD_OPEN, &open, sizeof(open)), -EPROTO);
	open.version = RMCD_VERSION;
	open.flags = 1;
	CHECK_EQ(raw_call(&c, RMCD_OPEN, &open, sizeof(open)), -EOPNOTSUPP);
	open.flags = 0;
	open.ctx_id = 7;
	CHECK_EQ(raw_call(&c, RMCD_OPEN, &open, sizeof(open)), -ENOENT);
	open.ctx_id = 256;
	CHECK_EQ(raw_call(&c, RMCD_OPEN, &open, sizeof(open)), -ENOENT);
	open.ctx_id = -2;
	CHECK_EQ(raw_call(&c, RMCD_OPEN, &open, sizeof(open)), -ENOENT);
	CHECK_EQ(raw_call(&c, RMCD_OPEN, &open, sizeof(open) - 1), -EINVAL);
	open.ctx_id = -1;
	CHECK_EQ(raw_call(&c, RMCD_OPEN, &open, sizeof(open)), 0);
	CHECK_EQ(raw_call(&c, RMCD_OPEN, &open, sizeof(open)), -EPROTO);
	/* a control connection has no queue pairs */
	CHECK_EQ(raw_call(&c, RMC_IOC_QP_CREATE, &q, sizeof(q)), -ENOTTY);
	CHECK_EQ(raw_call(&c, RMC_IOC_QUERY, &q, sizeof(q)), 0);
	CHECK_EQ(q.nodes, 2);
	raw_close(&c);
}

static void wrong_structs(void)
{
	struct rmc_query q = { .size = 8 };
	struct { struct rmc_query q; uint32_t more; } big = { .q.size = sizeof(big) };
	struct rmc_qp_create qp = { .size = sizeof(qp), .entries = 3 };
	struct rmc_buf_reg buf = { .size = sizeof(buf), .addr = 4096, .length = 4096 };
	struct rmcd_memory m = { .count = 0 };
	struct raw c;

	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_call(&c, RMC_IOC_QUERY, &q, sizeof(q)), -EINVAL);
	q.size = sizeof(q) + 8;		/* more than the message has */
	CHECK_EQ(raw_call(&c, RMC_IOC_QUERY, &q, sizeof(q)), -EINVAL);
	q.size = sizeof(q);
	q.flags = 1;
	CHECK_EQ(raw_call(&c, RMC_IOC_QUERY, &q, sizeof(q)), -EOPNOTSUPP);
	CHECK_EQ(raw_call(&c, RMC_IOC_QUERY, &q, 0), -EINVAL);
	big.more = 1;
	CHECK_EQ(raw_call(&c, RMC_IOC_QUERY, &big, sizeof(big)), -E2BIG);
	big.more = 0;
	CHECK_EQ(raw_call(&c, RMC_IOC_QUERY, &big, sizeof(big)), 0);
	CHECK_EQ(raw_call(&c, RMC_IOC_QP_CREATE, &qp, sizeof(qp)), -EINVAL);
	CHECK_EQ(raw_call(&c, 0xb7ff, &q, sizeof(q)), -ENOTTY);
	CHECK_EQ(raw_call(&c, 0xffffffff, &q, sizeof(q)), -ENOTTY);
	/* memory whose pieces say nothing, too much, or something else */
	CHECK_EQ(raw_call(&c, RMC_IOC_BUF_REG, &buf, sizeof(buf)), -EINVAL);
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_BUF_REG, &buf, sizeof(buf), &m, sizeof(m), NULL, 0),
		 -EINVAL);
	m.count = RMCD_PIECES + 1;
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_BUF_REG, &buf, sizeof(buf), &m, sizeof(m), NULL, 0),
		 -EINVAL);
	m.count = 1;
	m.piece[0] = (struct rmcd_piece){ .length = 4096, .fd = 5 };
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_BUF_REG, &buf, sizeof(buf), &m, sizeof(m), NULL, 0),
		 -EINVAL);
	m.piece[0] = (struct rmcd_piece){ .length = 4095, .fd = RMCD_PRIVATE };
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_BUF_REG, &buf, sizeof(buf), &m, sizeof(m), NULL, 0),
		 -EINVAL);
	m.count = 2;
	m.piece[0] = (struct rmcd_piece){ .length = ~0ULL, .fd = RMCD_PRIVATE };
	m.piece[1] = (struct rmcd_piece){ .length = 4097, .fd = RMCD_PRIVATE };
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_BUF_REG, &buf, sizeof(buf), &m, sizeof(m), NULL, 0),
		 -EINVAL);
	buf.addr = RMC_WQE_LBUF_MASK;
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_BUF_REG, &buf, sizeof(buf), &m, sizeof(m), NULL, 0),
		 -EINVAL);
	raw_close(&c);
	check_modest();
}

/* Descriptors that are no memory, or less than they say */
static void wrong_files(void)
{
	int fds[2], small, disk, null, readonly;
	char path[] = "/proc/self/fd/0000000000", disk_path[] = "./rmcd-test-XXXXXX";
	void *p;
	struct raw c;

	small = shared(PAGE, &p);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", small);
	readonly = open(path, O_RDONLY);
	null = open("/dev/zero", O_RDWR);
	disk = mkstemp(disk_path);
	unlink(disk_path);
	CHECK(!ftruncate(disk, 2 * PAGE));
	CHECK(!pipe(fds));
	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_call(&c, RMC_IOC_ATTACH,
			  &(struct rmc_attach){ .size = sizeof(struct rmc_attach), .nid = 1 },
			  sizeof(struct rmc_attach)), 0);
	CHECK_EQ(raw_seg(&c, p, 2 * PAGE, small, 0), -EFAULT);
	CHECK_EQ(raw_seg(&c, p, PAGE, small, PAGE), -EFAULT);
	CHECK_EQ(raw_seg(&c, p, PAGE, small, ~0ULL << 12), -EINVAL);
	CHECK_EQ(raw_seg(&c, p, PAGE, small, 64), -EINVAL);
	CHECK_EQ(raw_seg(&c, p, PAGE, readonly, 0), -EFAULT);
	CHECK_EQ(raw_seg(&c, p, PAGE, fds[1], 0), -EOPNOTSUPP);
	CHECK_EQ(raw_seg(&c, p, PAGE, c.fd, 0), -EOPNOTSUPP);
	CHECK(raw_seg(&c, p, PAGE, null, 0) < 0);
	/* not where the checkout is in memory */
	if (raw_seg(&c, p, PAGE, disk, 0) != -EOPNOTSUPP)
		printf("# this directory is in memory: a file on disk was not tried\n");
	CHECK_EQ(raw_seg(&c, p, PAGE, small, 0), 0);
	raw_close(&c);
	close(fds[0]);
	close(fds[1]);
	close(small);
	close(readonly);
	close(null);
	close(disk);
	check_modest();
}

/* A client has the CQ and its flags for reading only, and cannot shorten its queues. */
static void sealed_queues(void)
{
	struct raw_qp q;
	struct raw c;

	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_qp(&c, &q, 128), 0);
	CHECK(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, q.cq_fd, 0) == MAP_FAILED);
	CHECK(mprotect((void *)(uintptr_t)q.cq, PAGE, PROT_READ | PROT_WRITE));
	CHECK(pwrite(q.cq_fd, "x", 1, 0) < 0);
	CHECK(fallocate(q.cq_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE));
	CHECK(ftruncate(q.cq_fd, 0));
	CHECK(ftruncate(q.wq_fd, 0));
	CHECK(ftruncate(q.wq_fd, 1 << 20));
	/* a hole in its own WQ harms nobody */
	fallocate(q.wq_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE);
	memset(q.wq, 0xff, 128 * sizeof(*q.wq));
	check_modest();
	raw_qp_unmap(&q);
	raw_close(&c);
}

/* Files that were registered, then truncated: the pages are gone. */
static void truncated_memory(void)
{
	struct raw_qp q;
	struct raw c;
	void *p;
	int fd = shared(SEG, &p), i, status;

	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_call(&c, RMC_IOC_ATTACH,
			  &(struct rmc_attach){ .size = sizeof(struct rmc_attach), .nid = 1 },
			  sizeof(struct rmc_attach)), 0);
	CHECK_EQ(raw_seg(&c, p, SEG, fd, 0), 0);
	CHECK_EQ(raw_qp(&c, &q, 16), 0);
	CHECK(!ftruncate(fd, PAGE));
	/* zeros for the one that finds it, then errors: shortage.c */
	for (i = 0; i < SEG / PAGE; i++) {
		memset(modest_buf, 0xaa, 4096);
		raw_post(&modest_qp, RMC_OP_READ, 1, (uint64_t)i * PAGE, modest_buf, 4096);
		status = raw_wait(&modest_qp, 10000);
		CHECK(status == RMC_S_OK || (i && status == RMC_S_OUT_OF_RANGE));
		CHECK(!modest_buf[100] || status);
	}
	raw_qp_unmap(&q);
	raw_close(&c);
	close(fd);
	munmap(p, SEG);
	check_modest();
}

/* An eventfd that is full, and waits in write() */
static void full_eventfd(void)
{
	struct rmc_cq_arm arm = { .size = sizeof(arm), .eventfd = 0 };
	int fd = eventfd(0, 0), fds[2];
	struct raw_qp q;
	struct raw c;
	uint64_t start;
	int i;

	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_qp(&c, &q, 16), 0);
	CHECK(!pipe(fds));
	/* only eventfds */
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_CQ_ARM, &arm, sizeof(arm), NULL, 0, &fds[1], 1), -EINVAL);
	CHECK_EQ(raw_call(&c, RMC_IOC_CQ_ARM, &arm, sizeof(arm)), -EBADF);
	CHECK_EQ(eventfd_write(fd, 0xfffffffffffffffeULL), 0);
	for (i = 0; i < 20; i++) {
		arm.seen = q.tail;
		CHECK_EQ(raw_call_fds(&c, RMC_IOC_CQ_ARM, &arm, sizeof(arm), NULL, 0, &fd, 1), 0);
		raw_post(&q, 31, 0, 0, NULL, 0);
		CHECK_EQ(raw_wait(&q, 10000), RMC_S_BAD_OP);
		start = now_ns();
		check_modest();
		CHECK(now_ns() - start < 2000000000);
	}
	close(fds[0]);
	close(fds[1]);
	close(fd);
	raw_qp_unmap(&q);
	raw_close(&c);
}

/* A sleeper is signalled once per arming, and when its queue pair goes. */
static void sleepers(void)
{
	struct rmc_cq_arm arm = { .size = sizeof(arm), .eventfd = 0 };
	struct rmc_qp_id id = { .size = sizeof(id) };
	int fd = eventfd(0, EFD_NONBLOCK);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct raw_qp q;
	struct raw c;
	eventfd_t n;

	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_qp(&c, &q, 16), 0);
	arm.qp_id = q.id;
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_CQ_ARM, &arm, sizeof(arm), NULL, 0, &fd, 1), 0);
	CHECK_EQ(poll(&p, 1, 50), 0);
	raw_post(&q, 31, 0, 0, NULL, 0);
	CHECK_EQ(poll(&p, 1, 10000), 1);
	CHECK_EQ(raw_wait(&q, 10000), RMC_S_BAD_OP);
	CHECK(!eventfd_read(fd, &n) && n == 1);
	raw_post(&q, 31, 0, 0, NULL, 0);
	CHECK_EQ(raw_wait(&q, 10000), RMC_S_BAD_OP);
	CHECK_EQ(poll(&p, 1, 50), 0);
	/* one has happened already */
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_CQ_ARM, &arm, sizeof(arm), NULL, 0, &fd, 1), 0);
	CHECK_EQ(poll(&p, 1, 10000), 1);
	eventfd_read(fd, &n);
	arm.seen = 2;
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_CQ_ARM, &arm, sizeof(arm), NULL, 0, &fd, 1), 0);
	id.qp_id = q.id;
	CHECK_EQ(q.flags->dead, 0);
	CHECK_EQ(raw_call(&c, RMC_IOC_QP_DESTROY, &id, sizeof(id)), 0);
	CHECK_EQ(poll(&p, 1, 10000), 1);
	CHECK_EQ(q.flags->dead, 1);
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_CQ_ARM, &arm, sizeof(arm), NULL, 0, &fd, 1), -ENOENT);
	raw_qp_unmap(&q);
	raw_close(&c);
	close(fd);
}

#include "clients.h"
#include "faulty.h"

static void attributes(void)
{
	struct rmcd_attr a = { .path = "class/misc/rmc" };
	char names[8192] = "";
	struct raw c;

	CHECK_EQ(raw_open(&c, -1), 0);
	do {
		CHECK_EQ(raw_call(&c, RMCD_ATTR_LIST, &a, sizeof(a)), 0);
		strncat(names, a.value, sizeof(names) - strlen(names) - 1);
		a.offset += a.count;
	} while (a.count);
	CHECK(strstr(names, "fabric\n") && strstr(names, "node0\nnode1\nworker0\n"));
	strcpy(a.path, "class/misc/rmc/node1/state");
	CHECK_EQ(raw_call(&c, RMCD_ATTR_READ, &a, sizeof(a)), 0);
	CHECK(!strcmp(a.value, "up"));
	strcpy(a.value, "down");
	CHECK_EQ(raw_call(&c, RMCD_ATTR_WRITE, &a, sizeof(a)), 0);
	CHECK_EQ(raw_call(&c, RMCD_ATTR_READ, &a, sizeof(a)), 0);
	CHECK(!strcmp(a.value, "down"));
	strcpy(a.value, "up");
	CHECK_EQ(raw_call(&c, RMCD_ATTR_WRITE, &a, sizeof(a)), 0);
	strcpy(a.value, "sideways");
	CHECK_EQ(raw_call(&c, RMCD_ATTR_WRITE, &a, sizeof(a)), -EINVAL);
	strcpy(a.path, "class/misc/rmc/node1/counters/served");
	CHECK_EQ(raw_call(&c, RMCD_ATTR_READ, &a, sizeof(a)), 0);
	CHECK_EQ(raw_call(&c, RMCD_ATTR_WRITE, &a, sizeof(a)), -EACCES);
	strcpy(a.path, "class/misc/rmc/node2/state");
	CHECK_EQ(raw_call(&c, RMCD_ATTR_READ, &a, sizeof(a)), -ENOENT);
	strcpy(a.path, "class/misc/rmc/node1/state/more");
	CHECK_EQ(raw_call(&c, RMCD_ATTR_READ, &a, sizeof(a)), -ENOENT);
	strcpy(a.path, "../etc/passwd");
	CHECK_EQ(raw_call(&c, RMCD_ATTR_READ, &a, sizeof(a)), -ENOENT);
	memset(a.path, 'x', sizeof(a.path));
	CHECK_EQ(raw_call(&c, RMCD_ATTR_LIST, &a, sizeof(a)), -ENOENT);
	raw_close(&c);
}

/* Of node 1; @lost: records lost before it */
static bool event_arrives(int fd, unsigned int type, int *lost)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct rmc_node_event ev;

	*lost = 0;
	while (poll(&p, 1, 10000) == 1 && read(fd, &ev, sizeof(ev)) == sizeof(ev)) {
		if (ev.type == type && ev.nid == 1)
			return true;
		*lost += ev.type == RMC_EVENT_OVERFLOW ? (int)ev.lost : 0;
	}
	return false;
}

static void events(void)
{
	struct rmc_watch w = { .size = sizeof(w), .nid = -1, .flags = RMC_WATCH_NONBLOCK };
	struct rmcd_attr a = { .path = "class/misc/rmc/node1/state" };
	struct rmc_node_event ev[512];
	struct raw c, ctl;
	int fd, i, n, overflow = 0, seen = 0;

	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_open(&ctl, -1), 0);
	CHECK_EQ(raw_call(&c, RMC_IOC_WATCH, &w, sizeof(w)), 0);
	CHECK_EQ(c.gots, 1);
	fd = c.got[0];
	c.gots = 0;
	CHECK_EQ(raw_call(&c, RMC_IOC_WATCH, &w, sizeof(w)), -EBUSY);
	strcpy(a.value, "down");
	CHECK_EQ(raw_call(&ctl, RMCD_ATTR_WRITE, &a, sizeof(a)), 0);
	CHECK(event_arrives(fd, RMC_EVENT_NODE_DOWN, &overflow));
	CHECK_EQ(overflow, 0);
	/* more than the event file has places: an overflow, and no event after it is lost silently */
	for (i = 0; i < 90; i++) {
		strcpy(a.value, i % 2 ? "down" : "up");
		CHECK_EQ(raw_call(&ctl, RMCD_ATTR_WRITE, &a, sizeof(a)), 0);
	}
	strcpy(a.value, "up");
	CHECK_EQ(raw_call(&ctl, RMCD_ATTR_WRITE, &a, sizeof(a)), 0);
	while ((n = (int)read(fd, ev, sizeof(ev))) > 0)
		for (i = 0; i < n / (int)sizeof(ev[0]); i++, seen++)
			overflow += ev[i].type == RMC_EVENT_OVERFLOW ? (int)ev[i].lost : 0;
	CHECK_EQ(seen, 128);
	CHECK_EQ(ev[127].type, RMC_EVENT_OVERFLOW);
	CHECK_EQ(overflow, 1);
	/* the others that were lost are reported before the next event */
	strcpy(a.value, "down");
	CHECK_EQ(raw_call(&ctl, RMCD_ATTR_WRITE, &a, sizeof(a)), 0);
	CHECK(event_arrives(fd, RMC_EVENT_NODE_DOWN, &overflow));
	CHECK(overflow > 10);
	strcpy(a.value, "up");
	CHECK_EQ(raw_call(&ctl, RMCD_ATTR_WRITE, &a, sizeof(a)), 0);
	close(fd);
	/* its place is free again */
	CHECK_EQ(raw_call(&c, RMC_IOC_WATCH, &w, sizeof(w)), 0);
	raw_close(&c);
	raw_close(&ctl);
	check_modest();
}

/* Last: the daemon is killed. Sleepers wake, queue pairs are dead, requests end. */
static void killed_daemon(void)
{
	struct rmc_cq_arm arm = { .size = sizeof(arm), .eventfd = 0, .qp_id = modest_qp.id };
	struct rmc_query query = { .size = sizeof(query) };
	int fd = eventfd(0, EFD_NONBLOCK), i;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	arm.seen = modest_qp.tail;
	CHECK_EQ(raw_call_fds(&modest, RMC_IOC_CQ_ARM, &arm, sizeof(arm), NULL, 0, &fd, 1), 0);
	CHECK_EQ(poll(&p, 1, 20), 0);
	kill(daemon_pid, SIGKILL);
	CHECK_EQ(poll(&p, 1, 10000), 1);
	for (i = 0; i < 10000 && !modest_qp.flags->dead; i++)
		usleep(1000);
	CHECK_EQ(modest_qp.flags->dead, 1);
	CHECK_EQ(raw_call(&modest, RMC_IOC_QUERY, &query, sizeof(query)), -EPIPE);
	close(fd);
}

static const struct tap_test tests[] = {
	{ "operations between two processes", operations },
	{ "a buffer that is partly private", mixed_buffer },
	{ "broken messages end the connection", broken_messages },
	{ "opens that are refused", refused_opens },
	{ "structs that are wrong", wrong_structs },
	{ "files that are no memory", wrong_files },
	{ "the CQ is sealed", sealed_queues },
	{ "registered files are truncated", truncated_memory },
	{ "an eventfd that is full", full_eventfd },
	{ "sleepers", sleepers },
	{ "a client stops reading", stops_reading },
	{ "descriptors that take long to close", lingering_descriptors },
	{ "clients are killed", killed_clients },
	{ "a child keeps the connection", orphaned_connection },
	{ "another user", other_user },
	{ "attributes", attributes },
	{ "faults and the link model", faults },
	{ "events of nodes", events },
	{ "the daemon is killed", killed_daemon },
};

int main(int argc, char **argv)
{
	const char *options[16] = { "-n", "2", "--contexts", "0" };
	int failed, i;

	if (argc < 2 || argc > 12) {
		fprintf(stderr, "usage: protocol PATH_OF_RMCD [OPTION_OF_RMCD ...]\n");
		return 2;
	}
	for (i = 2; i < argc; i++)
		options[i + 2] = argv[i];
	signal(SIGPIPE, SIG_IGN);
	start_daemon(argv[1], options);
	open_modest();
	failed = tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	stop_daemon();
	return failed;
}
