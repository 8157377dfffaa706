// SPDX-License-Identifier: GPL-2.0
/*
 * Whether the device works at all: every operation once between two nodes, by bare
 * ioctls and queue entries, without the library.
 *
 *   smoke SERVER CLIENT [OPS]    both nodes in this kernel
 *   smoke serve                  expose a segment and sleep
 *   smoke use SERVER [OPS]       use it from this kernel's node
 *   smoke hammer SERVER CLIENT   keep the queues full until killed
 *
 * Needs /dev/rmc and creates context 0. KTAP on standard output.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/rmc.h>

#define SEG_BYTES	(1 << 20)
#define BUF_BYTES	(256 << 10)
#define ENTRIES		64

struct qp {
	int fd;
	uint32_t id;
	struct rmc_wq_entry *wq;
	uint32_t *cq;
	struct rmc_qp_flags *flags;
	uint32_t head, tail;
};

static int tests, failed;

static void check(int ok, const char *what)
{
	printf("%sok %d %s\n", ok ? "" : "not ", ++tests, what);
	failed += !ok;
	fflush(stdout);
}

static void need(int ok, const char *what)
{
	if (ok)
		return;
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static void create_context(void)
{
	struct rmc_ctx_create c = { .size = sizeof(c), .mode = 0600 };
	int fd = open("/dev/rmc", O_RDWR);

	need(fd >= 0, "open /dev/rmc");
	need(!ioctl(fd, RMC_IOC_CTX_CREATE, &c) || errno == EEXIST, "CTX_CREATE");
	close(fd);
}

static int open_context(int nid)
{
	struct rmc_attach a = { .size = sizeof(a), .nid = nid };
	int fd = open("/dev/rmc_contexts/0", O_RDWR);

	need(fd >= 0, "open /dev/rmc_contexts/0");
	if (nid >= 0)
		need(!ioctl(fd, RMC_IOC_ATTACH, &a), "ATTACH");
	return fd;
}

static uint64_t *segment(int fd)
{
	struct rmc_seg_reg s = {
		.size = sizeof(s), .flags = RMC_MEM_ALLOC, .length = SEG_BYTES,
	};
	void *p;

	need(!ioctl(fd, RMC_IOC_SEG_REG, &s), "SEG_REG");
	p = mmap(NULL, SEG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, s.mmap_offset);
	need(p != MAP_FAILED, "mmap segment");
	return p;
}

static void queues(struct qp *q, int fd)
{
	struct rmc_qp_create c = { .size = sizeof(c), .entries = ENTRIES };

	need(!ioctl(fd, RMC_IOC_QP_CREATE, &c), "QP_CREATE");
	memset(q, 0, sizeof(*q));
	q->fd = fd;
	q->id = c.qp_id;
	q->wq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, c.wq_offset);
	q->cq = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, c.cq_offset);
	q->flags = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, c.flags_offset);
	need(q->wq != MAP_FAILED && q->cq != MAP_FAILED && q->flags != MAP_FAILED, "mmap queues");
}

static void post(struct qp *q, int op, int nid, void *lbuf, uint64_t off, uint32_t len)
{
	struct rmc_wq_entry *e = &q->wq[q->head % ENTRIES];
	struct rmc_qp_id id = { .size = sizeof(id), .qp_id = q->id };

	__atomic_store_n(&e->word1, rmc_wqe_word1(off, len), __ATOMIC_RELAXED);
	__atomic_store_n(&e->word0, rmc_wqe_word0(op, nid, (uintptr_t)lbuf,
						  ~(q->head / ENTRIES) & 1), __ATOMIC_RELEASE);
	q->head++;
	if (__atomic_load_n(&q->flags->need_wakeup, __ATOMIC_RELAXED))
		need(!ioctl(q->fd, RMC_IOC_WAKE, &id), "WAKE");
}

/* Status of the next completion; -1 after 20 seconds without one. */
static int reap(struct qp *q)
{
	uint32_t *e = &q->cq[q->tail % ENTRIES], w;
	time_t end = time(NULL) + 20;
	unsigned int spins = 0;

	for (;;) {
		w = __atomic_load_n(e, __ATOMIC_ACQUIRE);
		if ((w & RMC_CQE_PHASE) == (~(q->tail / ENTRIES) & 1))
			break;
		if (q->flags->shared_cpu || !(++spins % 4096))
			sched_yield();
		if (time(NULL) > end)
			return -1;
	}
	q->tail++;
	return rmc_cqe_status(w);
}

static int run(struct qp *q, int op, int nid, void *lbuf, uint64_t off, uint32_t len)
{
	post(q, op, nid, lbuf, off, len);
	return reap(q);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* @seg: the server's memory if this process has it mapped, or NULL. */
static void use(int fd, int server, volatile uint64_t *seg, int ops)
{
	struct rmc_buf_reg b = { .size = sizeof(b), .length = BUF_BYTES };
	struct rmc_buf_unreg u = { .size = sizeof(u) };
	struct rmc_qp_id id = { .size = sizeof(id) };
	uint64_t *buf = aligned_alloc(4096, BUF_BYTES), old;
	struct qp q;
	double t;
	int i, n, ok;

	b.addr = (uintptr_t)buf;
	memset(buf, 0, BUF_BYTES);
	need(!ioctl(fd, RMC_IOC_BUF_REG, &b), "BUF_REG");
	queues(&q, fd);

	buf[0] = 0x1122334455667788;
	check(run(&q, RMC_OP_WRITE, server, buf, 0, 8) == RMC_S_OK, "write 8");
	check(run(&q, RMC_OP_READ, server, buf + 8, 0, 8) == RMC_S_OK && buf[8] == buf[0],
	      "read 8 back");
	if (seg)
		check(seg[0] == buf[0], "the segment holds it");
	for (i = 0; i < BUF_BYTES / 8 / 2; i++)
		buf[i] = i * 0x9e3779b97f4a7c15;
	check(run(&q, RMC_OP_WRITE, server, buf, 8200, BUF_BYTES / 2 - 3) == RMC_S_OK,
	      "write large, odd length");
	check(run(&q, RMC_OP_READ, server, (char *)buf + BUF_BYTES / 2 + 1, 8200,
		  BUF_BYTES / 2 - 3) == RMC_S_OK &&
	      !memcmp(buf, (char *)buf + BUF_BYTES / 2 + 1, BUF_BYTES / 2 - 3),
	      "read it back, misaligned");

	buf[0] = 0;
	run(&q, RMC_OP_WRITE, server, buf, 64, 8);
	for (i = 0, ok = 1; i < 100; i++) {
		buf[0] = 3;
		ok &= run(&q, RMC_OP_FAA, server, buf, 64, 8) == RMC_S_OK &&
		      buf[0] == (uint64_t)i * 3;
	}
	check(ok, "fetch and add");
	buf[0] = 300;
	buf[1] = 7;
	ok = run(&q, RMC_OP_CAS, server, buf, 64, 8) == RMC_S_OK && buf[0] == 300;
	buf[0] = 300;
	old = run(&q, RMC_OP_CAS, server, buf, 64, 8) == RMC_S_OK ? buf[0] : 0;
	check(ok && old == 7, "compare and swap");

	check(run(&q, RMC_OP_READ, server, buf, SEG_BYTES - 4, 8) == RMC_S_OUT_OF_RANGE,
	      "beyond the segment");
	check(run(&q, RMC_OP_READ, 1000, buf, 0, 8) == RMC_S_BAD_NODE, "no such node");
	check(run(&q, RMC_OP_READ, server, buf, 0, 0) == RMC_S_BAD_LENGTH, "length 0");
	check(run(&q, 17, server, buf, 0, 8) == RMC_S_BAD_OP, "bad operation");
	check(run(&q, RMC_OP_FAA, server, buf, 4, 8) == RMC_S_BAD_ALIGN, "misaligned atomic");
	check(run(&q, RMC_OP_READ, server, (char *)buf + BUF_BYTES - 4, 0, 8) == RMC_S_BAD_LBUF,
	      "partly registered buffer");

	t = now();
	for (i = 0, ok = 1; i < ops; i++)
		ok &= run(&q, RMC_OP_READ, server, buf, (i * 64) % 65536, 64) == RMC_S_OK;
	t = now() - t;
	check(ok, "reads one by one");
	printf("# %.2f us each, on CPU %d, worker on %u\n", t / ops * 1e6, sched_getcpu(),
	       q.flags->worker_cpu);
	t = now();
	for (i = n = 0, ok = 1; n < ops; n++) {
		while (i < ops && i - n < ENTRIES / 2) {
			post(&q, RMC_OP_READ, server, buf + i % ENTRIES * 8, (i * 64) % 65536, 64);
			i++;
		}
		ok &= reap(&q) == RMC_S_OK;
	}
	t = now() - t;
	check(ok, "reads in parallel");
	printf("# %.2f us each, on CPU %d, worker on %u\n", t / ops * 1e6, sched_getcpu(),
	       q.flags->worker_cpu);

	usleep(300000);
	t = now();
	check(run(&q, RMC_OP_READ, server, buf, 0, 64) == RMC_S_OK, "read after a pause");
	printf("# %.2f us, on CPU %d\n", (now() - t) * 1e6, sched_getcpu());

	u.buf_id = b.buf_id;
	check(!ioctl(fd, RMC_IOC_BUF_UNREG, &u), "BUF_UNREG");
	check(run(&q, RMC_OP_READ, server, buf, 0, 8) == RMC_S_BAD_LBUF, "withdrawn buffer");
	id.qp_id = q.id;
	check(!ioctl(fd, RMC_IOC_QP_DESTROY, &id) && q.flags->dead, "QP_DESTROY");
	check(ioctl(fd, RMC_IOC_QP_DESTROY, &id) && errno == ENOENT, "second QP_DESTROY");
}

static void hammer(int fd, int server)
{
	struct rmc_buf_reg b = { .size = sizeof(b), .length = BUF_BYTES };
	uint64_t *buf = aligned_alloc(4096, BUF_BYTES);
	struct qp q;

	b.addr = (uintptr_t)buf;
	need(!ioctl(fd, RMC_IOC_BUF_REG, &b), "BUF_REG");
	queues(&q, fd);
	for (;;) {
		while (q.head - q.tail < ENTRIES)
			post(&q, RMC_OP_READ, server, buf, 0, BUF_BYTES);
		need(reap(&q) >= 0, "reap");
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	uint64_t *seg;

	if (!strcmp(mode, "serve")) {
		create_context();
		segment(open_context(-1));
		for (;;)
			pause();
	}
	if (!strcmp(mode, "use") && argc > 2) {
		create_context();
		printf("TAP version 13\n");
		use(open_context(-1), atoi(argv[2]), NULL, argc > 3 ? atoi(argv[3]) : 2000);
	} else if (!strcmp(mode, "hammer") && argc > 3) {
		create_context();
		segment(open_context(atoi(argv[2])));
		hammer(open_context(atoi(argv[3])), atoi(argv[2]));
	} else if (argc > 2) {
		create_context();
		printf("TAP version 13\n");
		seg = segment(open_context(atoi(argv[1])));
		use(open_context(atoi(argv[2])), atoi(argv[1]), seg,
		    argc > 3 ? atoi(argv[3]) : 2000);
	} else {
		fprintf(stderr, "usage: smoke SERVER CLIENT [OPS] | serve | use SERVER [OPS] | hammer SERVER CLIENT\n");
		return 2;
	}
	printf("1..%d\n", tests);
	return failed ? 1 : 0;
}
