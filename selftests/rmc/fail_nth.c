// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation and every user copy of a setup call fails once: the first, then the
 * second, until the call meets no failure (/proc/thread-self/fail-nth of a kernel with
 * fault injection). Each time the call must either work nevertheless or fail with ENOMEM
 * or EFAULT, leave nothing behind, and work the next time. kmemleak finds the leaks that
 * these tests cannot see, at the end: selftests/check-debug.
 *
 * The environment variable RMC_KO names the module. The program leaves it unloaded.
 */
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include "common.h"
#include "ring.h"

#define ARGS		"fabric=loopback nodes=2 ni=fused"
#define DEBUGFS		"/sys/kernel/debug/"
#define MOST_POINTS	5000

static int nth_fd = -1;
/* counts of the current sweep */
static unsigned int points, survived;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* Fail all allocations, also those that may wait for memory, without a report for each. */
static void prepare(void)
{
	static const char *const faults[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	char path[128];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), DEBUGFS "%s/verbose", faults[i]);
		put(path, "0");
		if (i == 2)
			continue;
		snprintf(path, sizeof(path), DEBUGFS "%s/ignore-gfp-wait", faults[i]);
		put(path, "N");
	}
	put(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N");
	put(DEBUGFS "fail_page_alloc/min-order", "0");
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	REQUIRE(nth_fd >= 0);
}

static void arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	/* if the injected failure hits this write itself, the second write succeeds */
	if (pwrite(nth_fd, text, (size_t)len, 0) != len)
		REQUIRE(pwrite(nth_fd, text, (size_t)len, 0) == len);
}

/* End the injection. Return whether the call reached the n-th point, which then failed. */
static int disarm(void)
{
	char text[16] = "";
	int saved = errno, hit;

	/* if this read fails, the read reached the n-th point, and the call did not */
	hit = pread(nth_fd, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
	arm(0);
	errno = saved;
	return hit;
}

/*
 * Run @go once for each point where it can fail, and @undo after each success. On failure
 * @go gives -1 and sets errno.
 */
#define SWEEP(go, undo)								\
	do {									\
		unsigned int n_;						\
		int hit_ = 1;							\
										\
		points = 0;							\
		survived = 0;							\
		for (n_ = 1; hit_ && n_ < MOST_POINTS; n_++) {			\
			long got_;						\
										\
			arm(n_);						\
			errno = 0;						\
			got_ = (long)(go);					\
			hit_ = disarm();					\
			points += hit_;						\
			if (got_ != -1) {					\
				survived += hit_;				\
				undo;						\
			} else if (!CHECK(hit_ && (errno == ENOMEM || errno == EFAULT))) { \
				ktap_say("point %u of " #go ": %s", n_, strerror(errno)); \
				break;						\
			}							\
		}								\
		CHECK(!hit_);							\
		ktap_say("%u points, survived %u: " #go, points, survived);	\
		CHECK(points);							\
	} while (0)

/* The module is loaded from memory: failures of the file system are not tested. */
static void *ko;
static size_t ko_len;

static int read_ko(void)
{
	int fd = open(getenv("RMC_KO"), O_RDONLY | O_CLOEXEC);
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (end <= 0)
		return -1;
	ko_len = (size_t)end;
	ko = malloc(ko_len);
	if (!ko || pread(fd, ko, ko_len, 0) != end)
		return -1;
	close(fd);
	return 0;
}

static int load(void)
{
	return (int)syscall(SYS_init_module, ko, ko_len, ARGS);
}

static int unload(void)
{
	return (int)syscall(SYS_delete_module, "rmc", O_NONBLOCK);
}

static const char *missing(void)
{
	if (module_missing())
		return module_missing();
	if (access("/proc/self/fail-nth", F_OK) || access(DEBUGFS "fail_usercopy", F_OK))
		return "the kernel injects no faults";
	if (!getenv("RMC_KO") || read_ko())
		return "RMC_KO does not name rmc.ko";
	unload();
	return load() ? "cannot load the module" : NULL;
}

static int opened(void)
{
	int fd = open_ctx(CTX);

	REQUIRE(fd >= 0);
	return fd;
}

static int ctl_create(int ctl, unsigned int id)
{
	struct rmc_ctx_create arg = { .size = sizeof(arg), .ctx_id = id, .mode = 0666 };

	return ioctl(ctl, RMC_IOC_CTX_CREATE, &arg);
}

TEST_WITHIN(context_create, 300)
{
	int ctl = open_ctl();

	REQUIRE(ctl >= 0);
	prepare();
	SWEEP(ctl_create(ctl, 7), REQUIRE(!ctx_remove(7)));
	CHECK_ERRNO(open_ctx(7), ENOENT);
	if (ctl_create(ctl, CTX))
		CHECK(errno == EEXIST);
}

TEST_WITHIN(context_open, 120)
{
	int fd = -1;

	prepare();
	ctx_create(CTX, 0666, 0, 0);
	SWEEP(fd = open_ctx(CTX), close(fd));
	/* no failed open is still counted */
	CHECK(!ctx_remove(CTX));
	CHECK(!ctx_create(CTX, 0666, 0, 0));
}

static int query(int fd)
{
	struct rmc_query q = { .size = sizeof(q) };

	return ioctl(fd, RMC_IOC_QUERY, &q);
}

static int attach(int fd)
{
	struct rmc_attach a = { .size = sizeof(a), .nid = 1 };

	return ioctl(fd, RMC_IOC_ATTACH, &a);
}

TEST(query_and_attach)
{
	int fd = opened();

	prepare();
	SWEEP(query(fd), (void)0);
	SWEEP(attach(fd), (void)0);
}

TEST_WITHIN(segment_of_the_application, 120)
{
	long long pinned = pages_pinned();
	int fd = opened();
	void *mem = memory(64 * PAGE);

	prepare();
	/* the memory is untouched, so that pinning allocates the pages */
	SWEEP(seg_reg(fd, mem, 64 * PAGE, 0),
	      REQUIRE(!seg_unreg(fd)); madvise(mem, 64 * PAGE, MADV_DONTNEED));
	CHECK_ERRNO(seg_unreg(fd), ENOENT);
	CHECK(!pages_settle(pinned));
	CHECK_EQ(pinned_kib(), 0);
}

TEST_WITHIN(segment_of_the_driver, 120)
{
	int fd = opened();

	prepare();
	SWEEP(seg_reg(fd, NULL, 3 << 20, RMC_MEM_ALLOC), REQUIRE(!seg_unreg(fd)));
	CHECK_ERRNO(seg_unreg(fd), ENOENT);
	CHECK_EQ(pinned_kib(), 0);
}

TEST_WITHIN(buffers, 120)
{
	long long pinned = pages_pinned();
	void *mem = memory(64 * PAGE);
	int fd = opened(), id = -1;

	prepare();
	SWEEP(id = buf_reg(fd, mem, 64 * PAGE, 0), REQUIRE(!buf_unreg(fd, (unsigned int)id)));
	SWEEP(id = buf_reg(fd, NULL, 64 * PAGE, RMC_MEM_ALLOC),
	      REQUIRE(!buf_unreg(fd, (unsigned int)id)));
	/* no failed registration keeps an id or a table entry */
	id = buf_reg(fd, mem, 64 * PAGE, 0);
	CHECK_EQ(id, 0);
	CHECK(!buf_unreg(fd, 0));
	CHECK(!pages_settle(pinned));
	CHECK_EQ(pinned_kib(), 0);
}

TEST_WITHIN(queue_pair, 120)
{
	struct rmc_qp_create qp;
	int fd = opened();

	prepare();
	SWEEP(qp_create(fd, 1024, &qp), REQUIRE(!qp_destroy(fd, qp.qp_id)));
	REQUIRE(!qp_create(fd, 16, &qp));
	CHECK_EQ(qp.qp_id, 0);
}

static void *map(int fd, size_t len, uint64_t offset, int prot)
{
	return mmap(NULL, len, prot, MAP_SHARED, fd, (off_t)offset);
}

/* MAP_FAILED is -1, which SWEEP() takes as failure. */
TEST_WITHIN(mappings, 120)
{
	struct rmc_buf_reg buf = { .size = sizeof(buf), .flags = RMC_MEM_ALLOC,
				   .length = 600 * PAGE };
	struct rmc_qp_create qp;
	int fd = opened();
	void *p = NULL;

	REQUIRE(!qp_create(fd, 1024, &qp));
	REQUIRE(!ioctl(fd, RMC_IOC_BUF_REG, &buf));
	prepare();
	SWEEP(p = map(fd, 1024 * RMC_WQE_SIZE, qp.wq_offset, PROT_READ | PROT_WRITE),
	      munmap(p, 1024 * RMC_WQE_SIZE));
	SWEEP(p = map(fd, PAGE, qp.flags_offset, PROT_READ), munmap(p, PAGE));
	SWEEP(p = map(fd, 600 * PAGE, buf.mmap_offset, PROT_READ | PROT_WRITE),
	      munmap(p, 600 * PAGE));
}

static int dom_create(int fd, struct rmc_dom_create *c)
{
	*c = (struct rmc_dom_create){ .size = sizeof(*c), .nodes = 2, .slots = 64,
				      .max_message = 8 * PAGE, .policy = RMC_DOM_GREEDY,
				      .depth = 2, .cores = 2, .groups = 1, .members = 2 };
	return ioctl(fd, RMC_IOC_DOM_CREATE, c);
}

static int dom_open(int fd, struct rmc_dom_open *o)
{
	*o = (struct rmc_dom_open){ .size = sizeof(*o), .member = RMC_DOM_ANY_MEMBER };
	return ioctl(fd, RMC_IOC_DOM_OPEN, o);
}

static int dom_destroy(int fd)
{
	struct rmc_dom_destroy d = { .size = sizeof(d) };

	return ioctl(fd, RMC_IOC_DOM_DESTROY, &d);
}

static int dom_attach(int fd, struct rmc_dom_attach *a, unsigned int qp_id)
{
	*a = (struct rmc_dom_attach){ .size = sizeof(*a), .qp_id = qp_id };
	return ioctl(fd, RMC_IOC_DOM_ATTACH, a);
}

static int dom_detach(int fd, unsigned int qp_id)
{
	struct rmc_dom_detach d = { .size = sizeof(d), .qp_id = qp_id };

	return ioctl(fd, RMC_IOC_DOM_DETACH, &d);
}

static int aq_arm(int fd, unsigned int qp_id, int event)
{
	struct rmc_aq_arm a = { .size = sizeof(a), .qp_id = qp_id, .eventfd = event };

	return ioctl(fd, RMC_IOC_AQ_ARM, &a);
}

static int room_arm(int fd, unsigned int qp_id, int event)
{
	struct rmc_room_arm a = { .size = sizeof(a), .qp_id = qp_id, .eventfd = event };

	return ioctl(fd, RMC_IOC_ROOM_ARM, &a);
}

TEST_WITHIN(domain_of_messages, 120)
{
	int fd = opened(), other = opened(), event = eventfd(0, EFD_CLOEXEC);
	struct rmc_dom_attach core;
	struct rmc_dom_create dom;
	struct rmc_dom_open open;
	struct rmc_qp_create qp;
	void *p = NULL;

	REQUIRE(!qp_create(fd, 16, &qp));
	prepare();
	SWEEP(dom_create(fd, &dom), REQUIRE(!dom_destroy(fd)));
	CHECK_ERRNO(dom_destroy(fd), ENOENT);
	REQUIRE(!dom_create(fd, &dom));
	SWEEP(dom_attach(fd, &core, qp.qp_id), REQUIRE(!dom_detach(fd, qp.qp_id)));
	REQUIRE(!dom_attach(fd, &core, qp.qp_id));
	/* no failed call keeps a core */
	CHECK_EQ(core.core, 0);
	SWEEP(p = map(fd, 128 * dom.stride, dom.recv_offset, PROT_READ),
	      munmap(p, 128 * dom.stride));
	SWEEP(p = map(fd, PAGE, core.aq_offset, PROT_READ), munmap(p, PAGE));
	SWEEP(aq_arm(fd, qp.qp_id, event), (void)0);
	SWEEP(room_arm(fd, qp.qp_id, event), (void)0);
	SWEEP(dom_detach(fd, qp.qp_id), REQUIRE(!dom_attach(fd, &core, qp.qp_id)));
	/* no failed call keeps a member */
	SWEEP(dom_open(other, &open), REQUIRE(!dom_destroy(other)));
	CHECK_ERRNO(dom_destroy(other), ENOENT);
	REQUIRE(!dom_open(other, &open));
	CHECK_EQ(open.member, 1);
	SWEEP(p = map(other, PAGE, open.send_offset, PROT_READ | PROT_WRITE), munmap(p, PAGE));
}

static int tx_reg(int fd, void *local, struct rmc_tx_reg *r)
{
	*r = (struct rmc_tx_reg){ .size = sizeof(*r), .length = 64 * PAGE,
				  .local = (uintptr_t)local };
	return ioctl(fd, RMC_IOC_TX_REG, r);
}

static int tx_unreg(int fd)
{
	struct rmc_tx_reg r = { .size = sizeof(r) };

	return ioctl(fd, RMC_IOC_TX_REG, &r);
}

static int tx_open(int fd, unsigned int qp_id, struct rmc_tx_open *o)
{
	*o = (struct rmc_tx_open){ .size = sizeof(*o), .qp_id = qp_id, .slots = 4 };
	return ioctl(fd, RMC_IOC_TX_OPEN, o);
}

/* The engine of a context that nobody uses any more is freed soon, not at once. */
static int no_engine(int fd, struct rmc_qp_create *qp)
{
	usleep(300000);
	return qp_create(fd, 16, qp);
}

TEST_WITHIN(transactions, 300)
{
	size_t bytes = (sizeof(struct rmc_tx_locks) + PAGE - 1) & ~(PAGE - 1);
	void *local = memory(sizeof(struct rmc_tx_local)), *p = NULL;
	struct rmc_qp_create qp;
	struct rmc_tx_open open;
	struct rmc_tx_reg reg;
	long long pinned;
	int fd = opened();

	REQUIRE(!seg_reg(fd, memory(64 * PAGE), 64 * PAGE, 0));
	pinned = pinned_kib();
	prepare();
	SWEEP(tx_reg(fd, local, &reg), REQUIRE(!tx_unreg(fd)));
	CHECK_ERRNO(tx_unreg(fd), ENOENT);
	CHECK_EQ(pinned_kib(), pinned);
	REQUIRE(!tx_reg(fd, local, &reg));
	SWEEP(p = map(fd, bytes, reg.locks_offset, PROT_READ), munmap(p, bytes));
	REQUIRE(!qp_create(fd, 16, &qp));
	SWEEP(tx_open(fd, qp.qp_id, &open),
	      REQUIRE(!qp_destroy(fd, qp.qp_id)); REQUIRE(!no_engine(fd, &qp)));
	/* no failed call keeps slots */
	REQUIRE(!tx_open(fd, qp.qp_id, &open));
	CHECK_EQ(open.slot_mask, 15);
}

static int cq_arm(int fd, unsigned int qp_id, int event)
{
	struct rmc_cq_arm a = { .size = sizeof(a), .qp_id = qp_id, .eventfd = event };

	return ioctl(fd, RMC_IOC_CQ_ARM, &a);
}

static int seg_arm(int fd, int event)
{
	struct rmc_seg_arm a = { .size = sizeof(a), .eventfd = event };

	return ioctl(fd, RMC_IOC_SEG_ARM, &a);
}

TEST(arming)
{
	int fd = opened(), event = eventfd(0, EFD_CLOEXEC);
	struct rmc_qp_create qp;

	REQUIRE(event >= 0);
	REQUIRE(!qp_create(fd, 16, &qp));
	REQUIRE(!seg_reg(fd, memory(PAGE), PAGE, 0));
	prepare();
	SWEEP(cq_arm(fd, qp.qp_id, event), (void)0);
	SWEEP(seg_arm(fd, event), (void)0);
}

/*
 * Submit a command that waits for a completion. Return -1 and errno if io_uring does not
 * accept it, for which it gives EAGAIN (here ENOMEM), or completes it at once with an error.
 */
static int wait_submit(struct ring *r, struct end *e)
{
	int n, res;

	rmc_uring_prep_wait(get(r), e->ctx, RMC_URING_CQ, e->qp, 0);
	n = enter(r, 0);
	if (n != 1) {
		take_back(r);
		if (n >= 0 || errno == EAGAIN)
			errno = ENOMEM;
		return -1;
	}
	if (reap_now(r, &res) < 0)
		return 0;
	errno = res < 0 ? -res : EPROTO;
	return -1;
}

/* One completion ends all waits, which are @n. */
static void waits_end(struct ring *r, struct end *e, unsigned int n)
{
	int res;

	rmc_read_async(e->qp, rmc_wait_for_slot(e->qp, NULL), 0, 0, e->buf, 64);
	while (n--) {
		REQUIRE_EQ(reap(r, &res, 5000), 0);
		REQUIRE_EQ(res & (int)RMC_URING_SOURCE_MASK, RMC_URING_CQ);
	}
	REQUIRE_EQ(reap(r, &res, 0), -1);
	REQUIRE_EQ(rmc_poll_cq(e->qp, NULL), 1);
}

TEST_WITHIN(waits_of_io_uring, 120)
{
	struct end owner, user;
	unsigned int i, max;
	struct ring r;

	end_open(&owner, CTX, 0, PAGE, 0, 0);
	end_open(&user, CTX, 1, 0, PAGE, 8);
	if (!rmc_uring_works(user.ctx))
		SKIP("this kernel has no io_uring");
	max = rmc_query(user.ctx)->max_waits;
	ring_open_for(&r, 2048);
	REQUIRE(max > 0 && max <= 2048);
	/* io_uring allocates what it keeps; after that the first allocation is the module's */
	REQUIRE_EQ(wait_submit(&r, &user), 0);
	waits_end(&r, &user, 1);
	prepare();
	SWEEP(wait_submit(&r, &user), waits_end(&r, &user, 1));
	CHECK(survived < points);
	/* failed commands do not count against the limit: max_waits commands can wait */
	for (i = 0; i < max; i++)
		REQUIRE_EQ(wait_submit(&r, &user), 0);
	CHECK_ERRNO(wait_submit(&r, &user), ENOSPC);
	waits_end(&r, &user, max);
}

/* After all failures the module still serves operations. */
TEST(works_nevertheless)
{
	struct end owner, user;

	end_open(&owner, CTX, 0, PAGE, 0, 0);
	end_open(&user, CTX, 1, 0, PAGE, 8);
	fill(owner.seg, PAGE, 5);
	CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, PAGE), RMC_S_OK);
	CHECK_EQ(differs(user.buf, PAGE, 5), -1);
}

/*
 * From here on the module is unloaded. Most points are in the kernel's module loader; with
 * RMC_STRIDE=N in the environment only every N-th point is tried.
 */
TEST_WITHIN(module_load, 900)
{
	unsigned int stride = getenv("RMC_STRIDE") ? (unsigned int)atoi(getenv("RMC_STRIDE")) : 1;
	unsigned int n, tried = 0;
	int hit = 1, err;

	REQUIRE(stride);
	REQUIRE(!unload());
	prepare();
	for (n = 1; hit && n < MOST_POINTS; n += stride, tried++) {
		arm(n);
		errno = 0;
		err = load();
		hit = disarm();
		if (!err) {
			CHECK(!access(CTL_PATH, F_OK));
			REQUIRE(!unload());
			continue;
		}
		if (!CHECK(hit && (errno == ENOMEM || errno == EFAULT)))
			ktap_say("point %u: %s", n, strerror(errno));
		CHECK_ERRNO(access(CTL_PATH, F_OK), ENOENT);
		CHECK_ERRNO(access("/sys/module/rmc", F_OK), ENOENT);
	}
	ktap_say("%u of %u points", tried, n);
	CHECK(!hit);
}

KTAP_MAIN(missing)
