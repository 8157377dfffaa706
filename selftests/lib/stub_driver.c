/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A stub of the driver that a test controls: see stub_driver.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fake_rmc.h"
#include "stub_driver.h"

#define QUEUE_BYTES	(64U << 10)

enum { MAP_WQ, MAP_CQ, MAP_FLAGS, MAP_PARTS };

int __real_open(const char *path, int flags, ...);
int __real_ioctl(int fd, unsigned long request, ...);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t len);
int __real_madvise(void *addr, size_t len, int advice);
int __real_access(const char *path, int mode);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *addr, size_t len);
int __wrap_madvise(void *addr, size_t len, int advice);
int __wrap_access(const char *path, int mode);
int __real_close(int fd);
int __wrap_close(int fd);

struct stub stub;

static int driver_fd = -1;
static struct fake_rmc worker[STUB_QPS];
static _Alignas(4096) char queue[STUB_QPS][MAP_PARTS][QUEUE_BYTES];
static _Alignas(4096) char driver_memory[STUB_BUFFERS + 1][1 << 20];

void stub_reset(void)
{
	memset(&stub, 0, sizeof(stub));
	stub.query = (struct rmc_query) {
		.abi = RMC_ABI_VERSION, .fabric = RMC_FABRIC_LOOPBACK, .ni = RMC_NI_FUSED,
		.nodes = 4, .local_nodes = 1, .max_length = 1 << 20, .max_segment = 1ULL << 30,
		.max_qps = STUB_QPS, .max_buffers = STUB_BUFFERS, .max_entries = 4096,
		.features = RMC_FEATURE_YIELD,
	};
	stub.watch_fd = -1;
	stub.node_state = RMC_NODE_UP;
	driver_fd = -1;
}

int stub_left(void)
{
	int left = stub.wrong + stub.segment, i;

	for (i = 0; i < STUB_BUFFERS; i++)
		left += stub.buffer[i];
	for (i = 0; i < STUB_QPS; i++)
		left += stub.qp[i];
	for (i = 0; i < STUB_MAPPINGS; i++)
		left += stub.mapping[i].addr != NULL;
	return left + (driver_fd >= 0 && fcntl(driver_fd, F_GETFD) >= 0);
}

const struct stub_mapping *stub_mapped(unsigned long long offset)
{
	int i;

	for (i = 0; i < STUB_MAPPINGS; i++)
		if (stub.mapping[i].addr && stub.mapping[i].fd == driver_fd &&
		    stub.mapping[i].offset == offset)
			return &stub.mapping[i];
	return NULL;
}

/* True if this call has to fail */
static int fails(void)
{
	if (++stub.calls != stub.fail_at)
		return 0;
	errno = stub.error;
	return 1;
}

int __wrap_access(const char *path, int mode)
{
	if (strcmp(path, "/dev/rmc"))
		return __real_access(path, mode);
	return stub.module ? 0 : -1;
}

int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (strncmp(path, "/dev/rmc_contexts/", 18) && strcmp(path, "/dev/rmc"))
		return __real_open(path, flags, mode);
	if (fails())
		return -1;
	strncpy(stub.path, path, sizeof(stub.path) - 1);
	stub.open_flags = flags;
	driver_fd = __real_open("/dev/null", flags);
	return driver_fd;
}

int __wrap_close(int fd)
{
	int err = __real_close(fd);

	if (!err)
		errno = EINTR;
	return err;
}

static int execute(void *arg, const struct fake_op *op)
{
	char *at = stub.memory + op->offset, *lbuf = (char *)(uintptr_t)op->lbuf;
	int status;

	(void)arg;
	while (__atomic_load_n(&stub.hold, __ATOMIC_ACQUIRE))
		usleep(100);
	status = __atomic_load_n(&stub.op_status, __ATOMIC_ACQUIRE);
	if (op->length > stub.query.max_length)
		status = RMC_S_BAD_LENGTH;
	if (op->op == RMC_OP_WRITE && !status)
		memcpy(at, lbuf, op->length);
	if (op->op == RMC_OP_READ && !status)
		memcpy(lbuf, at, op->length);
	__atomic_add_fetch(&stub.ops, 1, __ATOMIC_ACQ_REL);
	return status;
}

static int create_qp(struct rmc_qp_create *arg)
{
	struct fake_rmc *f;
	int i;

	if (arg->flags & ~RMC_QP_ORDERED)
		return EOPNOTSUPP;
	if (arg->size != sizeof(*arg) || arg->entries < 2 || arg->entries > stub.query.max_entries)
		return EINVAL;
	for (i = 0; i < STUB_QPS && stub.qp[i]; i++)
		;
	if (i == STUB_QPS)
		return ENOSPC;
	memset(queue[i], 0, sizeof(queue[i]));
	stub.wq[i] = (struct rmc_wq_entry *)(void *)queue[i][MAP_WQ];
	stub.cq[i] = (struct rmc_cq_entry *)(void *)queue[i][MAP_CQ];
	stub.flags[i] = (struct rmc_qp_flags *)(void *)queue[i][MAP_FLAGS];
	stub.flags[i]->shared_cpu = 1;
	stub.flags[i]->worker_cpu = ~0U;
	stub.flags[i]->dead = (uint32_t)stub.stillborn;
	stub.qp[i] = 1;
	arg->qp_id = (unsigned int)i;
	arg->wq_offset = (unsigned long long)i << 32 | MAP_WQ << 16;
	arg->cq_offset = (unsigned long long)i << 32 | MAP_CQ << 16;
	arg->flags_offset = (unsigned long long)i << 32 | MAP_FLAGS << 16;
	stub.qp_create = *arg;
	if (!stub.memory)
		return 0;
	f = &worker[i];
	memset(f, 0, sizeof(*f));
	f->wq = stub.wq[i];
	f->cq = stub.cq[i];
	f->flags = stub.flags[i];
	f->entries = arg->entries;
	f->execute = execute;
	return fake_rmc_start(f);
}

static int destroy_qp(const struct rmc_qp_id *arg)
{
	if (arg->qp_id >= STUB_QPS || !stub.qp[arg->qp_id])
		return ENOENT;
	__atomic_store_n(&stub.flags[arg->qp_id]->dead, !stub.quiet, __ATOMIC_RELEASE);
	__atomic_store_n(&stub.hold, 0, __ATOMIC_RELEASE);
	if (worker[arg->qp_id].execute) {
		fake_rmc_stop(&worker[arg->qp_id]);
		worker[arg->qp_id].execute = NULL;
	}
	stub.qp[arg->qp_id] = 0;
	return 0;
}

static int register_buffer(struct rmc_buf_reg *arg)
{
	int i;

	for (i = 0; i < STUB_BUFFERS && stub.buffer[i]; i++)
		;
	if (i == STUB_BUFFERS)
		return ENOSPC;
	arg->buf_id = (unsigned int)i;
	arg->mmap_offset = STUB_BUF_OFFSET + (unsigned long long)i * 4096;
	stub.buffer[i] = 1;
	stub.buf_reg = *arg;
	return 0;
}

static int release(unsigned long request, const void *p)
{
	unsigned int id;

	stub.releases++;
	errno = EINTR;		/* successful calls may change errno */
	if (request == RMC_IOC_QP_DESTROY)
		return destroy_qp((const struct rmc_qp_id *)p);
	if (request == RMC_IOC_SEG_DEL) {
		stub.seg_del = *(const struct rmc_seg_del *)p;
		return 0;
	}
	if (request == RMC_IOC_BUF_UNREG) {
		id = ((const struct rmc_buf_unreg *)p)->buf_id;
		if (id >= STUB_BUFFERS || !stub.buffer[id])
			return ENOENT;
		stub.buffer[id] = 0;
		return 0;
	}
	if (!stub.segment)
		return ENOENT;
	stub.segment = 0;
	return 0;
}

static int attach(const struct rmc_attach *arg)
{
	stub.attach = *arg;
	return arg->nid < stub.query.first_local ||
	       arg->nid >= stub.query.first_local + stub.query.local_nodes ? ENXIO : 0;
}

static int query(struct rmc_query *arg)
{
	if (arg->size != sizeof(*arg))
		return EINVAL;
	*arg = stub.query;
	arg->size = sizeof(*arg);
	return 0;
}

static int dispatch(unsigned long request, void *p)
{
	switch (request) {
	case RMC_IOC_QUERY:
		return query((struct rmc_query *)p);
	case RMC_IOC_ATTACH:
		return attach((const struct rmc_attach *)p);
	case RMC_IOC_NODE_INFO:
		stub.node_info = *(struct rmc_node_info *)p;
		((struct rmc_node_info *)p)->state = (unsigned int)stub.node_state;
		return 0;
	case RMC_IOC_SEG_REG:
		((struct rmc_seg_reg *)p)->mmap_offset = STUB_SEG_OFFSET;
		stub.seg_reg = *(struct rmc_seg_reg *)p;
		stub.segment = 1;
		return 0;
	case RMC_IOC_SEG_ADD:
		stub.seg_add = *(struct rmc_seg_add *)p;
		return 0;
	case RMC_IOC_BUF_REG:
		return register_buffer((struct rmc_buf_reg *)p);
	case RMC_IOC_QP_CREATE:
		return create_qp((struct rmc_qp_create *)p);
	case RMC_IOC_CQ_ARM:
		stub.arms++;
		stub.cq_arm = *(struct rmc_cq_arm *)p;
		return 0;
	case RMC_IOC_SEG_ARM:
		stub.arms++;
		stub.seg_arm = *(struct rmc_seg_arm *)p;
		((struct rmc_seg_arm *)p)->seen = stub.notified;
		return 0;
	case RMC_IOC_WAKE:
		stub.wake = *(struct rmc_qp_id *)p;
		if (!(stub.wake.flags & RMC_WAKE_YIELD)) {
			stub.wakes++;
			return 0;
		}
		stub.yields++;
		return -stub.yield_result;
	case RMC_IOC_WATCH:
		stub.watch = *(struct rmc_watch *)p;
		((struct rmc_watch *)p)->fd = stub.watch_fd;
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
	if (fd != driver_fd || fd < 0)
		return __real_ioctl(fd, request, p);
	if (stub.on_arm && (request == RMC_IOC_CQ_ARM || request == RMC_IOC_SEG_ARM))
		stub.on_arm();
	if (request == stub.fail) {
		errno = stub.error;
		return -1;
	}
	if (request == RMC_IOC_QP_DESTROY || request == RMC_IOC_SEG_UNREG ||
	    request == RMC_IOC_BUF_UNREG || request == RMC_IOC_SEG_DEL)
		err = release(request, p);
	else
		err = request != RMC_IOC_WAKE && fails() ? errno : dispatch(request, p);
	if (err <= 0)
		return -err;
	errno = err;
	return -1;
}

/* Address of the driver's memory at an offset */
static void *memory_at(unsigned long long offset)
{
	if (offset >= STUB_BUF_OFFSET)
		return driver_memory[(offset - STUB_BUF_OFFSET) / 4096 % STUB_BUFFERS + 1];
	if (offset >= STUB_SEG_OFFSET)
		return driver_memory[0];
	return queue[offset >> 32 & (STUB_QPS - 1)][(offset >> 16 & 0xffff) % MAP_PARTS];
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	int driver = fd >= 0 && fd == driver_fd, i;
	void *p;

	if (fails())
		return MAP_FAILED;
	p = driver ? memory_at((unsigned long long)offset)
		   : __real_mmap(addr, len, prot, flags, fd, offset);
	if (p == MAP_FAILED)
		return p;
	for (i = 0; i < STUB_MAPPINGS && stub.mapping[i].addr; i++)
		;
	if (i == STUB_MAPPINGS)
		abort();
	stub.mapping[i] = (struct stub_mapping) { p, len, prot, flags, driver ? fd : -1,
						  (unsigned long long)offset, 1 };
	return p;
}

int __wrap_munmap(void *addr, size_t len)
{
	int i;

	for (i = 0; i < STUB_MAPPINGS; i++) {
		if (stub.mapping[i].addr != addr || stub.mapping[i].len != len)
			continue;
		stub.mapping[i].addr = NULL;
		errno = EINTR;
		return stub.mapping[i].fd >= 0 ? 0 : __real_munmap(addr, len);
	}
	stub.wrong++;
	return -1;
}

int __wrap_madvise(void *addr, size_t len, int advice)
{
	int i;

	for (i = 0; i < STUB_MAPPINGS; i++) {
		if (stub.mapping[i].addr != addr || stub.mapping[i].len != len)
			continue;
		stub.mapping[i].forks &= advice != MADV_DONTFORK;
		if (stub.mapping[i].fd >= 0)
			return 0;
	}
	return __real_madvise(addr, len, advice);
}

void stub_complete(int qp, unsigned int n, unsigned int slot, int status)
{
	unsigned int entries = stub.qp_create.entries;

	__atomic_store_n(&stub.cq[qp][n & (entries - 1)].word,
			 rmc_cqe_word(slot, (unsigned int)status, !(n & entries)),
			 __ATOMIC_RELEASE);
}
