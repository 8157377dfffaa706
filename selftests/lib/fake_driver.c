/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A driver and a fabric in user space, so that whole programs run on a machine without the
 * module: link with --wrap=open,ioctl,mmap. Each node is a process. FAKE_FABRIC names a file
 * that all of them map; it holds the address of each node's segment. A thread per queue pair
 * accesses these segments with process_vm_readv() and process_vm_writev().
 *
 * The driver validates what the real one validates: registration of local buffers, bounds
 * and struct sizes. It does not model timing or ordering.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <linux/rmc.h>
#include "fake_driver.h"
#include "fake_rmc.h"

#define FAKE_NODES	16
#define FAKE_QPS	4
#define FAKE_BUFFERS	64
#define FAKE_ENTRIES	1024
#define FAKE_MAX_LENGTH	(1U << 20)

enum { MAP_WQ, MAP_CQ, MAP_FLAGS };

/* A request to a node to execute an atomic operation; only the holder writes it */
struct ask {
	int holder;		/* pid */
	int state;
	unsigned int op;
	uint64_t addr, operand[2], old;
};

enum { ASK_NONE, ASK_ASKED, ASK_DONE };

struct fabric {
	struct {
		int pid;	/* 0: free; stored last */
		int have_segment, objects;
		unsigned int notified;
		uint64_t addr, length;
		struct ask ask;
	} node[FAKE_NODES];
	unsigned int foreign_teardowns;
};

int __real_open(const char *path, int flags, ...);
int __real_ioctl(int fd, unsigned long request, ...);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);

static struct fabric *fabric;
static int fake_fd = -1, self = -1, owner;	/* owner: pid that opened it */
static struct {
	uint64_t addr, length;	/* length 0: free */
} buffer[FAKE_BUFFERS];
static struct fake_rmc *qp[FAKE_QPS];

int fake_timeouts, fake_timeouts_arrive, fake_worker_apart, fake_shared_cpu = 1;
int fake_slow_ms;
unsigned int fake_yields, fake_changed;

static int registered(uint64_t addr, uint64_t length)
{
	int i;

	for (i = 0; i < FAKE_BUFFERS; i++)
		if (addr >= buffer[i].addr && length <= buffer[i].length &&
		    addr - buffer[i].addr <= buffer[i].length - length)
			return 1;
	return 0;
}

static int copy(int pid, int write, uint64_t local, uint64_t remote, uint64_t length)
{
	struct iovec l = { (void *)(uintptr_t)local, length };
	struct iovec r = { (void *)(uintptr_t)remote, length };
	ssize_t n;

	if (pid == getpid()) {
		if (write)
			memcpy((void *)(uintptr_t)remote, (void *)(uintptr_t)local, length);
		else
			memcpy((void *)(uintptr_t)local, (void *)(uintptr_t)remote, length);
		return RMC_S_OK;
	}
	n = write ? process_vm_writev(pid, &l, 1, &r, 1, 0)
		  : process_vm_readv(pid, &l, 1, &r, 1, 0);
	return n == (ssize_t)length ? RMC_S_OK : RMC_S_NODE_DOWN;
}

/* The first word of a line becomes visible last. */
static int write_line(int pid, uint64_t local, uint64_t remote, uint64_t length)
{
	int err = RMC_S_OK;

	if (length > 8)
		err = copy(pid, 1, local + 8, remote + 8, length - 8);
	if (!err)
		err = copy(pid, 1, local, remote, length < 8 ? length : 8);
	return err;
}

static int write_remote(int pid, uint64_t local, uint64_t remote, uint64_t length)
{
	uint64_t n;
	int err = RMC_S_OK;

	for (; length && !err; length -= n, local += n, remote += n) {
		n = 64 - remote % 64;
		if (n > length)
			n = length;
		err = write_line(pid, local, remote, n);
	}
	return err;
}

/*
 * The data is visible at once, but the write completes fake_slow_ms later. fake_changed
 * counts the writes whose local buffer changed in between.
 */
static int write_slowly(int pid, uint64_t local, uint64_t remote, uint64_t length)
{
	void *was = malloc(length);
	int err;

	memcpy(was, (void *)(uintptr_t)local, length);
	err = write_remote(pid, local, remote, length);
	usleep((unsigned int)fake_slow_ms * 1000);
	if (memcmp(was, (void *)(uintptr_t)local, length))
		__atomic_add_fetch(&fake_changed, 1, __ATOMIC_RELAXED);
	free(was);
	return err;
}

/* Reads each line atomically: a line is read again until two consecutive reads agree. */
static int read_remote(int pid, uint64_t local, uint64_t remote, uint64_t length)
{
	uint8_t twice[64], *to;
	uint64_t n;
	int err;

	err = copy(pid, 0, local, remote, length);
	for (; length && !err; length -= n, local += n, remote += n) {
		to = (uint8_t *)(uintptr_t)local;
		n = 64 - remote % 64;
		if (n > length)
			n = length;
		err = copy(pid, 0, (uintptr_t)twice, remote, n);
		while (!err && memcmp(to, twice, n)) {
			memcpy(to, twice, n);
			err = copy(pid, 0, (uintptr_t)twice, remote, n);
		}
	}
	return err;
}

static int sabre(int pid, uint64_t local, uint64_t remote, uint64_t length)
{
	uint64_t before = 0, after = 0;
	int err;

	err = copy(pid, 0, (uintptr_t)&before, remote, sizeof(before));
	if (!err && before & 1)
		return RMC_S_SABRE_LOCKED;
	if (!err)
		err = copy(pid, 0, local, remote, length);
	if (!err)
		err = copy(pid, 0, (uintptr_t)&after, remote, sizeof(after));
	return !err && after != before ? RMC_S_SABRE_ABORTED : err;
}

static uint64_t change(uint64_t *word, unsigned int op, const uint64_t *operand)
{
	uint64_t old = operand[0];

	if (op == RMC_OP_FAA)
		return __atomic_fetch_add(word, operand[0], __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(word, &old, operand[1], 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

static void sleep_while(int *word, int value)
{
	struct timespec t = { .tv_nsec = 10000000 };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
}

static void set(int *word, int value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, 64, NULL, NULL, 0);
}

/*
 * Atomic operations must be atomic with respect to the owner's CPU, too. Another process
 * cannot do that to the owner's memory, so a thread of the owner executes them.
 */
static void *atomics(void *arg)
{
	struct ask *a = (struct ask *)arg;
	int state;

	for (;;) {
		state = __atomic_load_n(&a->state, __ATOMIC_ACQUIRE);
		if (state != ASK_ASKED) {
			sleep_while(&a->state, state);
			continue;
		}
		if (__atomic_load_n(&fabric->node[self].have_segment, __ATOMIC_ACQUIRE))
			a->old = change((uint64_t *)(uintptr_t)a->addr, a->op, a->operand);
		set(&a->state, ASK_DONE);
	}
	return NULL;
}

static int atomic(unsigned int nid, int pid, const struct fake_op *op, uint64_t remote)
{
	uint64_t *operand = (uint64_t *)(uintptr_t)op->lbuf;
	struct ask *a = &fabric->node[nid].ask;
	int nobody = 0, state, err = 0;

	if (pid == getpid()) {
		operand[0] = change((uint64_t *)(uintptr_t)remote, op->op, operand);
		return 0;
	}
	while (!__atomic_compare_exchange_n(&a->holder, &nobody, getpid(), 0, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		/* a dead holder does not need its request any more: replace it */
		if (kill(nobody, 0) && __atomic_compare_exchange_n(&a->holder, &nobody, getpid(), 0,
								   __ATOMIC_ACQUIRE,
								   __ATOMIC_RELAXED))
			break;
		nobody = 0;
		sched_yield();
	}
	a->op = op->op;
	a->addr = remote;
	memcpy(a->operand, operand, op->op == RMC_OP_CAS ? 16 : 8);
	set(&a->state, ASK_ASKED);
	while ((state = __atomic_load_n(&a->state, __ATOMIC_ACQUIRE)) != ASK_DONE && !err) {
		if (kill(pid, 0))
			err = RMC_S_NODE_DOWN;
		else
			sleep_while(&a->state, state);
	}
	if (!err)
		operand[0] = a->old;
	__atomic_store_n(&a->state, ASK_NONE, __ATOMIC_RELAXED);
	__atomic_store_n(&a->holder, 0, __ATOMIC_RELEASE);
	return err;
}

static void ring_segment(void);

/* Wakes sleepers of this process only: no test sleeps for a notification of another one. */
static int notify(unsigned int nid)
{
	if (!__atomic_load_n(&fabric->node[nid].have_segment, __ATOMIC_ACQUIRE))
		return RMC_S_BAD_CONTEXT;
	__atomic_add_fetch(&fabric->node[nid].notified, 1, __ATOMIC_ACQ_REL);
	if ((int)nid == self)
		ring_segment();
	return RMC_S_OK;
}

static int execute(void *arg, const struct fake_op *op)
{
	uint64_t remote;
	int pid;

	(void)arg;
	if (op->nid >= FAKE_NODES)
		return RMC_S_BAD_NODE;
	if (op->op == RMC_OP_NOTIFY)
		return notify(op->nid);
	if (!op->length || op->length > FAKE_MAX_LENGTH)
		return RMC_S_BAD_LENGTH;
	if (!registered(op->lbuf, op->length))
		return RMC_S_BAD_LBUF;
	pid = __atomic_load_n(&fabric->node[op->nid].pid, __ATOMIC_ACQUIRE);
	if (!pid || kill(pid, 0))
		return RMC_S_NODE_DOWN;
	if (!__atomic_load_n(&fabric->node[op->nid].have_segment, __ATOMIC_ACQUIRE))
		return RMC_S_BAD_CONTEXT;
	if (op->offset > fabric->node[op->nid].length ||
	    op->length > fabric->node[op->nid].length - op->offset)
		return RMC_S_OUT_OF_RANGE;
	remote = fabric->node[op->nid].addr + op->offset;
	switch (op->op) {
	case RMC_OP_READ:
		return read_remote(pid, op->lbuf, remote, op->length);
	case RMC_OP_SABRE:
		return fabric->node[op->nid].objects ?
			sabre(pid, op->lbuf, remote, op->length) : RMC_S_NO_VERSION;
	case RMC_OP_WRITE:
		if (fake_timeouts > 0) {
			fake_timeouts--;
			if (fake_timeouts_arrive)
				write_remote(pid, op->lbuf, remote, op->length);
			return RMC_S_TIMEOUT;
		}
		return (fake_slow_ms && op->length >= 64 ? write_slowly : write_remote)
			(pid, op->lbuf, remote, op->length);
	case RMC_OP_CAS:
	case RMC_OP_FAA:
		if (op->length != 8)
			return RMC_S_BAD_LENGTH;
		return op->offset % 8 ? RMC_S_BAD_ALIGN : atomic(op->nid, pid, op, remote);
	default:
		return RMC_S_BAD_OP;
	}
}

int __wrap_open(const char *path, int flags, ...)
{
	const char *shared = getenv("FAKE_FABRIC");
	mode_t mode = 0;
	va_list ap;
	int fd;

	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (!shared || strncmp(path, "/dev/rmc_contexts/", 18))
		return __real_open(path, flags, mode);
	fd = __real_open(shared, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fd;
	fabric = (struct fabric *)__real_mmap(NULL, sizeof(*fabric), PROT_READ | PROT_WRITE,
					      MAP_SHARED, fd, 0);
	if (fabric == MAP_FAILED)
		return -1;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	fake_fd = fd;
	owner = getpid();
	return fd;
}

static void *pages(size_t len)
{
	return __real_mmap(NULL, (len + 4095) & ~(size_t)4095, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int create_qp(struct rmc_qp_create *arg)
{
	struct fake_rmc *f;
	unsigned int i;

	if (arg->entries < 2 || arg->entries > FAKE_ENTRIES || arg->entries & (arg->entries - 1))
		return EINVAL;
	for (i = 0; i < FAKE_QPS && qp[i]; i++)
		;
	if (i == FAKE_QPS)
		return ENOSPC;
	f = (struct fake_rmc *)calloc(1, sizeof(*f));
	f->entries = arg->entries;
	f->wq = (struct rmc_wq_entry *)pages(arg->entries * RMC_WQE_SIZE);
	f->cq = (struct rmc_cq_entry *)pages(arg->entries * RMC_CQE_SIZE);
	f->flags = (struct rmc_qp_flags *)pages(sizeof(*f->flags));
	f->flags->shared_cpu = (uint32_t)fake_shared_cpu;
	f->flags->worker_cpu = ~0U;
	f->execute = execute;
	f->reorder = 1;
	if (getenv("FAKE_DELAY_US"))
		f->delay_us = atoi(getenv("FAKE_DELAY_US"));
	qp[i] = f;
	arg->qp_id = i;
	arg->wq_offset = (uint64_t)i << 32 | MAP_WQ << 16;
	arg->cq_offset = (uint64_t)i << 32 | MAP_CQ << 16;
	arg->flags_offset = (uint64_t)i << 32 | MAP_FLAGS << 16;
	return fake_rmc_start(f);
}

unsigned int fake_foreign_teardowns(void)
{
	return __atomic_load_n(&fabric->foreign_teardowns, __ATOMIC_ACQUIRE);
}

/*
 * In the driver, parent and child share the objects of the file. Here they do not, so a
 * teardown by a child is only counted.
 */
static int tears_down(unsigned long request)
{
	if (owner == getpid() || (request != RMC_IOC_QP_DESTROY &&
				  request != RMC_IOC_SEG_UNREG && request != RMC_IOC_BUF_UNREG))
		return 0;
	__atomic_add_fetch(&fabric->foreign_teardowns, 1, __ATOMIC_ACQ_REL);
	return 1;
}

/* As in the module, a queue pair cannot be armed while it is destroyed. */
static pthread_mutex_t qp_lock = PTHREAD_MUTEX_INITIALIZER;

static int destroy_qp(const struct rmc_qp_id *arg)
{
	struct fake_rmc *f;

	if (arg->qp_id >= FAKE_QPS)
		return ENOENT;
	pthread_mutex_lock(&qp_lock);
	f = qp[arg->qp_id];
	if (f) {
		fake_rmc_kill(f);
		qp[arg->qp_id] = NULL;
	}
	pthread_mutex_unlock(&qp_lock);
	if (!f)
		return ENOENT;
	fake_rmc_stop(f);
	free(f);
	return 0;
}

void fake_kill_queue_pairs(void)
{
	unsigned int i;

	pthread_mutex_lock(&qp_lock);
	for (i = 0; i < FAKE_QPS; i++)
		if (qp[i])
			fake_rmc_kill(qp[i]);
	pthread_mutex_unlock(&qp_lock);
}

/* The waiter for notifications of the segment; the fabric only has their count */
static struct {
	pthread_mutex_t lock;
	int armed, eventfd;
} seg_waiter = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ring_segment(void)
{
	uint64_t one = 1;

	pthread_mutex_lock(&seg_waiter.lock);
	if (seg_waiter.armed && write(seg_waiter.eventfd, &one, sizeof(one)) < 0)
		perror("eventfd");
	seg_waiter.armed = 0;
	pthread_mutex_unlock(&seg_waiter.lock);
}

static int arm_segment(struct rmc_seg_arm *arg)
{
	unsigned int count;

	pthread_mutex_lock(&seg_waiter.lock);
	if (!__atomic_load_n(&fabric->node[self].have_segment, __ATOMIC_ACQUIRE)) {
		pthread_mutex_unlock(&seg_waiter.lock);
		return ENOENT;
	}
	seg_waiter.armed = arg->eventfd >= 0;
	seg_waiter.eventfd = arg->eventfd;
	count = __atomic_load_n(&fabric->node[self].notified, __ATOMIC_ACQUIRE);
	pthread_mutex_unlock(&seg_waiter.lock);
	if (count != arg->seen)
		ring_segment();
	arg->seen = count;
	return 0;
}

static int arm_queue(const struct rmc_cq_arm *arg)
{
	int err = ENOENT;

	if (arg->qp_id >= FAKE_QPS)
		return ENOENT;
	pthread_mutex_lock(&qp_lock);
	if (qp[arg->qp_id]) {
		fake_rmc_arm(qp[arg->qp_id], arg->seen, arg->eventfd);
		err = 0;
	}
	pthread_mutex_unlock(&qp_lock);
	return err;
}

static int register_buffer(struct rmc_buf_reg *arg)
{
	unsigned int i;

	if (arg->flags || !arg->length)
		return EOPNOTSUPP;
	for (i = 0; i < FAKE_BUFFERS; i++)
		if (buffer[i].length && arg->addr < buffer[i].addr + buffer[i].length &&
		    buffer[i].addr < arg->addr + arg->length)
			return EEXIST;
	for (i = 0; i < FAKE_BUFFERS && buffer[i].length; i++)
		;
	if (i == FAKE_BUFFERS)
		return ENOSPC;
	buffer[i].addr = arg->addr;
	buffer[i].length = arg->length;
	arg->buf_id = i;
	return 0;
}

/* What a node is told of its operations on another one: FAKE_LOCAL_BYTES, FAKE_LOCAL_NODES */
static unsigned int local_bytes(unsigned int nid)
{
	const char *bytes = getenv("FAKE_LOCAL_BYTES"), *nodes = getenv("FAKE_LOCAL_NODES");

	if (!bytes || (nodes && nid >= (unsigned int)atoi(nodes)))
		return 0;
	return (unsigned int)atoi(bytes);
}

/* Returns a positive errno, or the negated result of the ioctl */
static int dispatch(unsigned long request, void *p)
{
	if (tears_down(request))
		return 0;
	switch (request) {
	case RMC_IOC_QUERY: {
		struct rmc_query *q = (struct rmc_query *)p;

		q->abi = RMC_ABI_VERSION;
		q->fabric = RMC_FABRIC_LOOPBACK;
		q->ni = RMC_NI_FUSED;
		q->nodes = FAKE_NODES;
		q->local_nodes = FAKE_NODES;
		q->nid = self;
		q->mtu = 64;
		q->max_length = FAKE_MAX_LENGTH;
		q->max_sabre = FAKE_MAX_LENGTH;
		q->max_segment = RMC_OFFSET_MAX;
		q->max_qps = FAKE_QPS;
		q->max_buffers = FAKE_BUFFERS;
		q->max_entries = FAKE_ENTRIES;
		q->shared_cpu = (uint32_t)fake_shared_cpu;
		q->features |= RMC_FEATURE_YIELD;
		if (getenv("FAKE_LOCAL_BYTES"))
			q->features |= RMC_FEATURE_LOCAL_BYTES;
		return q->size == sizeof(*q) ? 0 : EINVAL;
	}
	case RMC_IOC_ATTACH: {
		const struct rmc_attach *a = (const struct rmc_attach *)p;

		if (a->nid >= FAKE_NODES)
			return ENXIO;
		self = (int)a->nid;
		fabric->node[self].have_segment = 0;
		fabric->node[self].notified = 0;
		__atomic_store_n(&fabric->node[self].pid, getpid(), __ATOMIC_RELEASE);
		return 0;
	}
	case RMC_IOC_NODE_INFO: {
		struct rmc_node_info *n = (struct rmc_node_info *)p;
		int pid;

		if (n->nid >= FAKE_NODES)
			return EINVAL;
		pid = __atomic_load_n(&fabric->node[n->nid].pid, __ATOMIC_ACQUIRE);
		n->state = !pid ? RMC_NODE_FREE : kill(pid, 0) ? RMC_NODE_DOWN : RMC_NODE_UP;
		n->local_bytes = local_bytes(n->nid);
		return 0;
	}
	case RMC_IOC_SEG_REG: {
		const struct rmc_seg_reg *s = (const struct rmc_seg_reg *)p;
		static int serving;	/* pid with the thread; a forked child has none */
		pthread_t thread;

		if (s->flags & ~RMC_MEM_OBJECTS || s->version_offset)
			return EOPNOTSUPP;
		if (fabric->node[self].have_segment)
			return EEXIST;
		fabric->node[self].addr = s->addr;
		fabric->node[self].length = s->length;
		fabric->node[self].objects = !!(s->flags & RMC_MEM_OBJECTS);
		__atomic_store_n(&fabric->node[self].have_segment, 1, __ATOMIC_RELEASE);
		if (serving != getpid()) {
			if (pthread_create(&thread, NULL, atomics, &fabric->node[self].ask))
				return EAGAIN;
			pthread_detach(thread);
			serving = getpid();
		}
		return 0;
	}
	case RMC_IOC_SEG_UNREG:
		if (!fabric->node[self].have_segment)
			return ENOENT;
		__atomic_store_n(&fabric->node[self].have_segment, 0, __ATOMIC_RELEASE);
		ring_segment();
		return 0;
	case RMC_IOC_BUF_REG:
		return register_buffer((struct rmc_buf_reg *)p);
	case RMC_IOC_BUF_UNREG:
		buffer[((struct rmc_buf_unreg *)p)->buf_id].length = 0;
		return 0;
	case RMC_IOC_QP_CREATE:
		return create_qp((struct rmc_qp_create *)p);
	case RMC_IOC_QP_DESTROY:
		return destroy_qp((const struct rmc_qp_id *)p);
	case RMC_IOC_CQ_ARM:
		return arm_queue((const struct rmc_cq_arm *)p);
	case RMC_IOC_SEG_ARM:
		return arm_segment((struct rmc_seg_arm *)p);
	case RMC_IOC_WAKE:
		/* the worker is a separate thread, which may be waiting for this CPU */
		if (((struct rmc_qp_id *)p)->flags & RMC_WAKE_YIELD) {
			fake_yields++;
			sched_yield();
			return -fake_worker_apart;
		}
		return 0;
	default:
		return ENOTTY;
	}
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *p;
	int err;

	va_start(ap, request);
	p = va_arg(ap, void *);
	va_end(ap);
	if (fd != fake_fd || fd < 0)
		return __real_ioctl(fd, request, p);
	err = dispatch(request, p);
	if (err <= 0)
		return -err;
	errno = err;
	return -1;
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	struct fake_rmc *f;

	if (fd != fake_fd || fd < 0)
		return __real_mmap(addr, len, prot, flags, fd, offset);
	f = qp[offset >> 32];
	switch ((offset >> 16) & 0xffff) {
	case MAP_WQ:
		return f->wq;
	case MAP_CQ:
		return f->cq;
	default:
		return f->flags;
	}
}
