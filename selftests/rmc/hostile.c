// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile process writes random words into its own queues and meanwhile changes its buffers
 * and queue pairs. It harms only itself: operations of other processes on the same node
 * succeed, and memory that is not registered stays unchanged.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include "common.h"
#include "ring.h"

#define OWN_CTX	9		/* context of the hostile process */
#define ENTRIES	64U
#define GUARD	PAGE
#define SEG	(4 * PAGE + 100)
#define BUF	(4 * PAGE + 77)
#define CANARY	0x5a
#define SCRIBBLE_MS	2500

/* Memory between canary bytes on the same pages */
struct guarded {
	uint8_t *all, *at;
	size_t length;
};

static void guard(struct guarded *g, size_t length, size_t skew)
{
	g->all = memory(length + 2 * GUARD);
	memset(g->all, CANARY, length + 2 * GUARD);
	g->at = g->all + GUARD - skew;
	g->length = length;
}

static void check_guards(const char *what, const struct guarded *g)
{
	const uint8_t *p, *end = g->all + g->length + 2 * GUARD;

	for (p = g->all; p < end; p++) {
		if (p == g->at)
			p += g->length;
		if (*p != CANARY) {
			ktap_say("%s: byte %ld is %#x", what, (long)(p - g->at), *p);
			ktap_fail();
			return;
		}
	}
}

/* The hostile process: its queue pair on node 1, its segments on nodes 0 and 1 */
struct vandal {
	struct end e;
	struct end owner;
	struct guarded buf, seg, own_seg;
	struct rmc_wq_entry *wq;
	const struct rmc_cq_entry *cq;
	uint32_t state;
	int stop;
};

static uint64_t wide(struct vandal *v)
{
	return (uint64_t)rnd(&v->state) << 32 | rnd(&v->state);
}

static uint64_t some_lbuf(struct vandal *v)
{
	uint64_t base = (uintptr_t)v->buf.at;

	switch (rnd(&v->state) % 5) {
	case 0:
		return base + BUF - rnd(&v->state) % 20;
	case 1:
		return base - rnd(&v->state) % 20;
	case 2:
		return wide(v);
	default:
		return base + rnd(&v->state) % BUF;
	}
}

static uint64_t some_word1(struct vandal *v)
{
	static const uint32_t lengths[] = { 0, 1, 8, 16, 64, 100, PAGE, SEG, BUF, RMC_LENGTH_MAX };
	uint32_t len = lengths[rnd(&v->state) % (sizeof(lengths) / sizeof(lengths[0]))];
	uint64_t offset = rnd(&v->state) % (SEG + 10);

	if (!(rnd(&v->state) % 8))
		offset = RMC_OFFSET_MAX - rnd(&v->state) % 100;
	if (rnd(&v->state) % 2)
		offset &= ~7ULL;
	return rmc_wqe_word1(offset, len);
}

/* Fill WQ entries as if each had just been published, in this lap or the next. */
static void scribble(struct vandal *v)
{
	unsigned int i, phase = rnd(&v->state) & 1, n = 1 + rnd(&v->state) % ENTRIES;
	uint64_t word0, word1;

	for (i = 0; i < n; i++) {
		struct rmc_wq_entry *e = &v->wq[rnd(&v->state) % 4 ? i : rnd(&v->state) % ENTRIES];

		word0 = wide(v);
		word1 = wide(v);
		if (rnd(&v->state) % 8) {
			word0 = rmc_wqe_word0(rnd(&v->state) % 9, rnd(&v->state) % 5, some_lbuf(v),
					      phase);
			word1 = some_word1(v);
		}
		rmc_store_relaxed(&e->word1, word1);
		rmc_store_relaxed(&e->word0, word0);
	}
}

/* Register and withdraw a buffer that operations in flight may use; create and destroy QPs. */
static void *meddle(void *arg)
{
	struct vandal *v = arg;
	int fd = rmc_fd(v->e.ctx), id = v->e.buf_id;
	struct rmc_qp_create qp;

	while (!__atomic_load_n(&v->stop, __ATOMIC_RELAXED)) {
		usleep(500);
		if (buf_unreg(fd, (unsigned int)id))
			return (void *)1;
		id = buf_reg(fd, v->buf.at, BUF, 0);
		if (id < 0 || qp_create(fd, 2, &qp) || qp_destroy(fd, qp.qp_id))
			return (void *)2;
	}
	return NULL;
}

static void vandal_setup(struct vandal *v, uint32_t seed)
{
	memset(v, 0, sizeof(*v));
	v->state = seed;
	end_open(&v->owner, OWN_CTX, 0, 0, 0, 0);
	end_open(&v->e, OWN_CTX, 1, 0, 0, ENTRIES);
	guard(&v->buf, BUF, 7);
	guard(&v->seg, SEG, 128);
	guard(&v->own_seg, SEG, 64);
	v->e.buf_id = rmc_buf_register(v->e.ctx, v->buf.at, BUF);
	REQUIRE(v->e.buf_id >= 0);
	REQUIRE_EQ(rmc_seg_register(v->owner.ctx, v->seg.at, SEG, 0), 0);
	REQUIRE_EQ(rmc_seg_register(v->e.ctx, v->own_seg.at, SEG, 0), 0);
	v->wq = v->e.qp->wq;
	v->cq = v->e.qp->cq;
}

/* Write random entries for SCRIBBLE_MS; exit with 0 if CQ and canaries are intact. */
static void vandalise(uint32_t seed, bool with_buffers)
{
	unsigned long long end = ktap_ms() + SCRIBBLE_MS;
	struct rmc_qp_id id = { .size = sizeof(id) };
	struct vandal v;
	pthread_t other;
	void *result;
	unsigned int i;

	vandal_setup(&v, seed);
	id.qp_id = v.e.qp->id;
	if (with_buffers)
		REQUIRE(!pthread_create(&other, NULL, meddle, &v));
	while (ktap_ms() < end) {
		for (i = 0; i < 20; i++)
			scribble(&v);
		CHECK(!ioctl(rmc_fd(v.e.ctx), RMC_IOC_WAKE, &id));
		/* the worker may share this CPU */
		usleep(50);
	}
	__atomic_store_n(&v.stop, 1, __ATOMIC_RELAXED);
	if (with_buffers) {
		REQUIRE(!pthread_join(other, &result));
		CHECK(!result);
	}
	/* the CQ holds valid slots and statuses, whatever the WQ holds */
	for (i = 0; i < ENTRIES; i++) {
		uint32_t word = rmc_load_relaxed(&v.cq[i].word);

		CHECK(rmc_cqe_slot(word) < ENTRIES && rmc_cqe_status(word) < RMC_S_TX_MAX);
	}
	rmc_qp_destroy(v.e.qp);
	check_guards("buffer", &v.buf);
	check_guards("segment", &v.seg);
	check_guards("own segment", &v.own_seg);
	_exit(ktap_failures() ? 1 : 0);
}

/* Operations that must succeed: write, read back, fetch-and-add */
static void honest_op(struct end *e, uint8_t *copy, unsigned int round)
{
	size_t len = 1 + round * 37 % (PAGE - 1), at = round * 11 % 100;
	uint64_t old;

	fill(copy, len, round);
	memcpy(e->buf, copy, len);
	REQUIRE_EQ(rmc_write(e->qp, 0, 64 + at, e->buf, len), RMC_S_OK);
	memset(e->buf, 0, len);
	REQUIRE_EQ(rmc_read(e->qp, 0, 64 + at, e->buf, len), RMC_S_OK);
	REQUIRE(!memcmp(e->buf, copy, len));
	REQUIRE_EQ(rmc_faa(e->qp, 0, 0, 1, &old), RMC_S_OK);
	REQUIRE_EQ(old, round);
}

/* An honest process uses node 1 while the hostile one runs, and after that. */
static void others_go_on(bool with_buffers)
{
	long long pinned = pages_pinned();
	uint8_t *copy = memory(PAGE);
	struct end owner, honest;
	unsigned int round = 0, i;
	int status;
	pid_t pid;

	REQUIRE(!ctx_create(OWN_CTX, 0600, 0, 0) || errno == EEXIST);
	end_open(&owner, CTX, 0, 2 * PAGE, 0, 0);
	end_open(&honest, CTX, 1, 0, PAGE, 8);
	pid = helper();
	if (!pid)
		vandalise(7919, with_buffers);
	while (!waitpid(pid, &status, WNOHANG))
		honest_op(&honest, copy, round++);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	ktap_say("%u rounds of write, read and add beside the hostile process", round);
	CHECK(round >= 20);
	for (i = 0; i < 20; i++)
		honest_op(&honest, copy, round++);
	end_close(&honest);
	end_close(&owner);
	CHECK(!ctx_remove(OWN_CTX));
	CHECK(!pages_settle(pinned));
}

TEST(scribbled_wq_harms_nobody_else)
{
	others_go_on(false);
}

TEST(scribbled_wq_with_buffers_that_come_and_go)
{
	others_go_on(true);
}

/* The hostile process is killed in the middle of its run, several times. */
TEST(killed_while_it_scribbles)
{
	uint8_t *copy = memory(PAGE);
	long long pinned = pages_pinned();
	struct end owner, honest;
	unsigned int i, round = 0;
	pid_t pid;

	REQUIRE(!ctx_create(OWN_CTX, 0600, 0, 0) || errno == EEXIST);
	end_open(&owner, CTX, 0, 2 * PAGE, 0, 0);
	end_open(&honest, CTX, 1, 0, PAGE, 8);
	for (i = 0; i < 10; i++) {
		unsigned long long end = ktap_ms() + 50 + i * 13;

		pid = helper();
		if (!pid)
			vandalise(i + 1, true);
		while (ktap_ms() < end)
			honest_op(&honest, copy, round++);
		REQUIRE(!kill(pid, SIGKILL));
		REQUIRE(waitpid(pid, NULL, 0) == pid);
	}
	end_close(&honest);
	end_close(&owner);
	CHECK(!ctx_remove(OWN_CTX));
	CHECK(!pages_settle(pinned));
}

#define FLOOD_MS	1500
#define FLOOD		30000U	/* waits of the first flood */
#define FLOOD_FILES	8
#define FLOOD_RING	16384U

/* Submit n waits and reap all completions meanwhile; return how many waits were refused. */
static unsigned int flood(struct ring *r, struct end *e, unsigned int n)
{
	/* only the first open context has a segment */
	const unsigned int sources = RMC_URING_CQ | (e->seg ? RMC_URING_SEG : 0);
	unsigned int refused = 0;
	int res;

	while (n--) {
		rmc_uring_prep_wait(get(r), e->ctx, sources, e->qp, 0);
		if (r->unsubmitted < 4096 && n)
			continue;
		REQUIRE(enter(r, 0) > 0);
		while (reap(r, &res, 0) >= 0) {
			REQUIRE(res == -ENOSPC || res > 0);
			refused += res == -ENOSPC;
		}
	}
	return refused;
}

/* One completion ends all waits of this open context at once. */
static void fire(struct ring *r, struct end *e)
{
	int res, slot = rmc_wait_for_slot(e->qp, NULL);

	rmc_read_async(e->qp, slot, 1, 0, e->buf, 64);
	while (!rmc_poll_cq(e->qp, NULL))
		usleep(100);
	while (reap(r, &res, 0) >= 0)
		REQUIRE(res > 0);
}

/* Submit as many waits as possible, on one open context and then on several. */
static void flood_and_exit(void)
{
	unsigned long long end = ktap_ms() + FLOOD_MS;
	unsigned int many = (unsigned int)ktap_rounds(FLOOD);
	struct end e[FLOOD_FILES];
	struct ring r[FLOOD_FILES];
	unsigned int i, max, refused;

	for (i = 0; i < FLOOD_FILES; i++) {
		end_open(&e[i], OWN_CTX, 1, i ? 0 : SEG, PAGE, 4);
		ring_open_for(&r[i], FLOOD_RING);
	}
	max = rmc_query(e[0].ctx)->max_waits;
	refused = flood(&r[0], &e[0], many);
	if (refused < many - max - max)
		ktap_say("%u of %u waits were refused, %u is the limit", refused, many, max);
	CHECK(refused >= many - max - max);
	fire(&r[0], &e[0]);
	do {
		for (i = 0; i < FLOOD_FILES; i++)
			flood(&r[i], &e[i], max + 100);
		for (i = 0; i < FLOOD_FILES; i++)
			fire(&r[i], &e[i]);
		i = rnd(&(uint32_t){ (uint32_t)ktap_ms() }) % FLOOD_FILES;
		flood(&r[i], &e[i], max);
		ring_close(&r[i]);
		ring_open_for(&r[i], FLOOD_RING);
	} while (ktap_ms() < end);
	_exit(ktap_failures() ? 1 : 0);
}

/* Entries of an epoll instance, each for a descriptor of its own: 184 bytes of kernel memory */
#define POLLERS		30000U

/* As many as the memory of this machine allows for two epoll instances */
static unsigned int pollers(void)
{
	long long most = file_number("/proc/sys/fs/epoll/max_user_watches", "");

	return most < 3 * POLLERS ? (unsigned int)(most / 3) : POLLERS;
}

/* One open context in so many entries of an epoll instance, each of which a wake-up visits. */
static int poll_by_many(int fd)
{
	struct rlimit files = { .rlim_cur = 3 * POLLERS, .rlim_max = 3 * POLLERS };
	unsigned int n = pollers();
	struct epoll_event ev = { .events = EPOLLIN | EPOLLPRI | EPOLLET };
	int ep = epoll_create1(0), copy;
	unsigned int i;

	REQUIRE(ep >= 0 && !setrlimit(RLIMIT_NOFILE, &files));
	for (i = 0; i < n; i++) {
		copy = dup(fd);
		REQUIRE(copy >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, copy, &ev));
	}
	return ep;
}

/* Every read is armed for, and wakes all of them. */
static void wake_many_and_exit(void)
{
	static struct epoll_event ready[POLLERS];
	unsigned long long end;
	int ep[2], wakes = 0, i;
	struct end e;

	end_open(&e, OWN_CTX, 1, 0, PAGE, 4);
	ep[0] = poll_by_many(rmc_fd(e.ctx));
	ep[1] = poll_by_many(rmc_cq_eventfd(e.qp));
	end = ktap_ms() + FLOOD_MS;
	do {
		REQUIRE_EQ(rmc_cq_arm(e.qp), 0);
		REQUIRE_EQ(rmc_read(e.qp, 1, 0, e.buf, 64), RMC_S_BAD_CONTEXT);
		/* an entry that is in the list of ready ones already costs a wake-up little */
		for (i = 0; i < 2; i++)
			wakes += epoll_wait(ep[i], ready, POLLERS, 0) > 0;
	} while (ktap_ms() < end);
	CHECK(wakes > 0);
	_exit(ktap_failures() ? 1 : 0);
}

/* Read beside the other process until it ends; return whether the reads were fast enough. */
static bool read_beside(void (*hostile)(void), struct end *modest)
{
	const unsigned long long slow_ms = 20, limit_ms = 500;
	unsigned long long at, took, worst = 0;
	unsigned int reads = 0, slow = 0;
	int status, result;
	pid_t pid;

	pid = helper();
	if (!pid)
		hostile();
	while (!waitpid(pid, &status, WNOHANG)) {
		at = ktap_ms();
		result = rmc_read(modest->qp, 0, 64, modest->buf, 64);
		took = ktap_ms() - at;
		/* a read that timed out exceeds the limit, and with it this round */
		if (result != RMC_S_TIMEOUT)
			REQUIRE_EQ(result, RMC_S_OK);
		else if (took < limit_ms)
			took = limit_ms;
		worst = took > worst ? took : worst;
		slow += took >= slow_ms;
		reads++;
	}
	ktap_say("%u reads, the slowest in %llu ms, %u of %llu ms and more", reads, worst, slow,
		 slow_ms);
	REQUIRE(WIFEXITED(status) && !WEXITSTATUS(status));
	/*
	 * A debug kernel checks each of the thousands of objects that a closed ring frees, which
	 * takes seconds on the worker's CPU or the reader's. There this tests memory and locks,
	 * not latency.
	 */
	if (ktap_slow() > 1)
		return reads >= 10;
	return worst < limit_ms && reads >= 100 && slow <= reads / 20;
}

/*
 * Waits that another process starts, and that are finished, do not delay reads: the workers
 * make only a few calls between two visits. A busy host can make reads slow, but not in
 * every round.
 */
TEST_WITHIN(waits_of_others_do_not_delay_reads, 90)
{
	struct end owner, modest;
	bool quick = false;
	int i;

	REQUIRE(!ctx_create(OWN_CTX, 0600, 0, 0) || errno == EEXIST);
	end_open(&owner, CTX, 0, 2 * PAGE, 0, 0);
	end_open(&modest, CTX, 1, 0, PAGE, 8);
	if (!rmc_uring_works(modest.ctx))
		SKIP("this kernel has no io_uring");
	for (i = 0; i < 10 && !quick; i++)
		quick = read_beside(flood_and_exit, &modest);
	CHECK(quick);
	end_close(&modest);
	end_close(&owner);
}

#define TRACING		"/sys/kernel/tracing"
#define WORK_EVENT	TRACING "/events/workqueue/workqueue_execute_start/enable"

/* Remove all records from the kernel's trace; false: there is none. */
static bool trace_clear(void)
{
	int fd = open(TRACING "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* True if the kernel's trace has a line with this word. */
static bool traced(const char *word)
{
	FILE *f = fopen(TRACING "/trace", "r");
	char line[512];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, word);
	if (f)
		fclose(f);
	return found;
}

/*
 * Nor does another process whose every completion wakes thousands of epoll entries: after the
 * first time that takes long, a work item does it, as the kernel's trace shows. How fast the
 * reads are is only printed: that process, and the work item, take their shares of the CPUs.
 */
TEST_WITHIN(pollers_of_others_do_not_delay_reads, 90)
{
	struct end owner, modest;
	bool trace;

	mount("tracefs", TRACING, "tracefs", 0, NULL);
	trace = trace_clear() && !file_put(WORK_EVENT, "1");
	REQUIRE(!ctx_create(OWN_CTX, 0600, 0, 0) || errno == EEXIST);
	end_open(&owner, CTX, 0, 2 * PAGE, 0, 0);
	end_open(&modest, CTX, 1, 0, PAGE, 8);
	read_beside(wake_many_and_exit, &modest);
	if (!trace)
		SKIP("this kernel does not trace work items");
	file_put(WORK_EVENT, "0");
	CHECK(traced("function wake_later"));
	end_close(&modest);
	end_close(&owner);
}

KTAP_MAIN(suite_missing)
