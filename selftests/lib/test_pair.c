/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Creation, waiting and destruction of queue pairs, and threads that sleep. The test
 * controls each step of the driver. Uses stub_driver.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <rmc/wait.h>
#include "../../lib/internal.h"
#include "stub_driver.h"
#include "../tap.h"

#define ENTRIES		4096
#define ID		1	/* of the queue pair under test */
#define PATIENCE_S	30
#define LONG_MS		8000	/* never expires */
#define SOON_MS		4000	/* limit for calls that must not wait LONG_MS */

static struct rmc_ctx *ctx;
static struct rmc_qp *qp;

static void open_ctx(void)
{
	alarm(PATIENCE_S);
	stub_reset();
	ctx = rmc_open(0, -1);
	if (!ctx) {
		printf("Bail out! %s\n", rmc_errmsg());
		exit(1);
	}
}

static void close_ctx(void)
{
	rmc_close(ctx);
	CHECK_EQ(stub_left(), 0);
	alarm(0);
}

/* Create another queue pair first, so that the id of this one is not 0. */
static void open_pair(void)
{
	open_ctx();
	CHECK(rmc_qp_create(ctx, 2));
	qp = rmc_qp_create(ctx, ENTRIES);
	if (!qp || qp->id != ID) {
		printf("Bail out! %s\n", rmc_errmsg());
		exit(1);
	}
}

static struct rmc_qp_stats stats(void)
{
	struct rmc_qp_stats s;

	memset(&s, 0, sizeof(s));
	CHECK_EQ(rmc_qp_stats(qp, &s), 0);
	return s;
}

static const struct stub_mapping *part(unsigned int id, unsigned int which)
{
	return stub_mapped((unsigned long long)id << 32 | which << 16);
}

static int is_part(unsigned int which, size_t len, int prot)
{
	const struct stub_mapping *m = part(ID, which);

	return m && m->len == len && m->prot == prot && m->flags == MAP_SHARED && !m->forks;
}

static void creation(void)
{
	struct rmc_qp *another;
	int i;

	open_pair();
	CHECK(is_part(0, ENTRIES * RMC_WQE_SIZE, PROT_READ | PROT_WRITE));
	CHECK(is_part(1, ENTRIES * RMC_CQE_SIZE, PROT_READ));
	CHECK(is_part(2, 4096, PROT_READ));
	CHECK((void *)qp->wq == (void *)stub.wq[ID] && (const void *)qp->cq == (void *)stub.cq[ID]);
	CHECK_EQ(qp->yields, 1);
	CHECK_EQ(qp->eventfd, -1);
	CHECK(qp->operands && qp->slot[ENTRIES - 1] != RMC_SLOT_BUSY);
	for (i = 0; i < STUB_MAPPINGS; i++)
		CHECK(!stub.mapping[i].addr || !stub.mapping[i].forks);
	another = rmc_qp_create(ctx, 0);
	CHECK_EQ(stub.qp_create.entries, RMC_QP_ENTRIES_DEFAULT);
	stub.query.features = 0;
	CHECK_EQ(rmc_qp_set_cookie(another, RMC_QP_ENTRIES_DEFAULT - 1, 5), 0);
	CHECK(rmc_cq_eventfd(another) >= 0);
	/* in any order: each releases only its own resources, and the others keep working */
	rmc_qp_destroy(qp);
	CHECK(!stub.qp[ID] && stub.qp[0] && stub.qp[2]);
	CHECK(!part(ID, 0) && !part(ID, 1) && !part(ID, 2) && part(0, 0) && part(2, 0));
	i = another->eventfd;
	rmc_qp_destroy(another);
	CHECK(fcntl(i, F_GETFD) < 0);
	CHECK(stub.qp[0] && !stub.qp[2]);
	CHECK(!stub.buffer[1] && !stub.buffer[2] && stub.buffer[0]);
	close_ctx();

	stub_reset();
	open_ctx();
	stub.calls = 0;
	errno = 0;
	CHECK(!rmc_qp_create(ctx, 3));
	CHECK_EQ(errno, EINVAL);
	CHECK(!rmc_qp_create(ctx, 1U << 17));
	CHECK_EQ(errno, EINVAL);
	CHECK(!rmc_qp_create(ctx, 1U << 31));
	CHECK_EQ(stub.calls, 0);
	/* an older driver cannot be asked to yield */
	ctx->query.features = 0;
	qp = rmc_qp_create(ctx, 8);
	CHECK_EQ(qp->yields, 0);
	close_ctx();
}

static int mappings(void)
{
	int i, n = 0;

	for (i = 0; i < STUB_MAPPINGS; i++)
		n += stub.mapping[i].addr != NULL;
	return n;
}

static void creation_fails(void)
{
	unsigned int n;

	open_ctx();
	CHECK(rmc_qp_create(ctx, 2));
	for (n = 1; n < 20; n++) {
		stub.calls = 0;
		stub.fail_at = n;
		stub.error = ENOMEM;
		errno = 0;
		qp = rmc_qp_create(ctx, 8);
		if (qp)
			break;
		CHECK_EQ(errno, ENOMEM);
		CHECK(!stub.qp[1] && !stub.buffer[1]);
		CHECK_EQ(mappings(), 4);
	}
	CHECK_EQ(n, 7);
	close_ctx();
}

/* Pin the thread to its current CPU, and return that. */
static int this_cpu(void)
{
	static int cpu = -1;
	cpu_set_t set;

	if (cpu >= 0)
		return cpu;
	cpu = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	CHECK_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
	return cpu;
}

static unsigned int relaxed(unsigned int spins)
{
	unsigned int yields = stub.yields;

	CHECK_EQ(rmc_relax_slow(qp, spins), 0);
	return stub.yields - yields;
}

static void waiting(void)
{
	struct rmc_qp_flags *f;
	struct rmc_qp_stats s;
	int i;

	open_pair();
	f = stub.flags[ID];
	/* the worker shares CPUs with us: yield to it */
	CHECK_EQ(relaxed(1), 1);
	CHECK(stub.wake.qp_id == ID && stub.wake.flags == RMC_WAKE_YIELD);
	CHECK_EQ(qp->shared, 1);
	/* it is on another CPU for now: yield only at intervals */
	stub.yield_result = 1;
	CHECK_EQ(relaxed(2), 1);
	CHECK_EQ(qp->apart, 1);
	CHECK_EQ(relaxed(3), 0);
	CHECK_EQ(relaxed(31), 0);
	stub.yield_result = 0;
	CHECK_EQ(relaxed(32), 1);
	CHECK_EQ(relaxed(33), 1);
	/* a parked worker must be woken at once */
	qp->apart = 1;
	f->need_wakeup = 1;
	stub.yield_result = 1;
	CHECK_EQ(relaxed(3), 1);
	f->need_wakeup = 0;
	/* it has a dedicated CPU, which may be this one */
	f->shared_cpu = 0;
	CHECK_EQ(relaxed(16), 0);
	CHECK_EQ(qp->shared, 0);
	f->worker_cpu = (uint32_t)this_cpu();
	CHECK_EQ(relaxed(16), 1);
	f->worker_cpu = ~0U;
	CHECK_EQ(stub.wakes, 0);
	f->need_wakeup = 1;
	CHECK_EQ(relaxed(1), 0);
	CHECK_EQ(stub.wakes, 1);
	CHECK(stub.wake.qp_id == ID && !stub.wake.flags);
	/* an older driver cannot yield: the library wakes the worker instead */
	f->shared_cpu = 1;
	qp->yields = 0;
	CHECK_EQ(relaxed(1), 0);
	CHECK_EQ(stub.wakes, 2);
	f->dead = 1;
	CHECK_EQ(rmc_relax_slow(qp, 1), -ESHUTDOWN);
	f->dead = 0;
	s = stats();
	CHECK_EQ(s.waits, 12);
	CHECK_EQ(s.wakes, 2);
	CHECK_EQ(s.yields, stub.yields + 1);
	/* waiting keeps the 64-bit indexes current */
	for (i = 0; i < 3; i++) {
		qp->head += 0x60000000;
		qp->tail += 0x60000000;
		CHECK_EQ(rmc_relax_slow(qp, 1), 0);
	}
	s = stats();
	CHECK_EQ(s.issued, 3 * 0x60000000ULL);
	CHECK_EQ(s.completed, 3 * 0x60000000ULL);
	close_ctx();
}

/* A queue pair of rmc_qp_init_raw() has no worker to wake. */
static void raw(void)
{
	struct rmc_qp_flags f = { .need_wakeup = 1 };
	static struct rmc_wq_entry wq[8];
	static struct rmc_cq_entry cq[8];
	struct rmc_qp_stats s;
	uint8_t slot[8];
	struct rmc_qp r;

	rmc_qp_init_raw(&r, wq, cq, &f, slot, NULL, 8);
	CHECK_EQ(rmc_relax_slow(&r, 1), 0);
	rmc_cq_failed(&r, 1, RMC_S_TIMEOUT);
	rmc_cq_failed(&r, 2, RMC_S_NODE_DOWN);
	CHECK_EQ(r.error, RMC_S_TIMEOUT);	/* the first error stays */
	CHECK_EQ(rmc_qp_stats(&r, &s), -EOPNOTSUPP);
	CHECK_EQ(rmc_qp_make_cookies(&r), -EOPNOTSUPP);
}

/* --- sleeping --- */

static int late(uint64_t start)
{
	return rmc_now_ms() - start >= SOON_MS;
}

/* Sleep, and return the result; the call must return before SOON_MS. */
static int sleeps(unsigned int spin_us, int timeout_ms)
{
	uint64_t start = rmc_now_ms();
	int err = rmc_cq_sleep(qp, spin_us, timeout_ms);

	CHECK(!late(start));
	CHECK_EQ(rmc_qp_sleepers(qp)->inside, 0);
	return err;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void ring(int fd)
{
	uint64_t one = 1;

	CHECK_EQ(write(fd, &one, sizeof(one)), sizeof(one));
}

static void completions(void)
{
	uint64_t start;

	open_pair();
	qp->head = 5;
	qp->tail = 3;
	start = now_us();
	CHECK_EQ(sleeps(0, 1), 0);
	CHECK(now_us() - start >= 1000);	/* no less than requested */
	CHECK_EQ(stub.arms, 1);
	CHECK(stub.cq_arm.qp_id == ID && stub.cq_arm.seen == 3);
	CHECK_EQ(stub.cq_arm.eventfd, qp->eventfd);
	CHECK_EQ(rmc_cq_eventfd(qp), qp->eventfd);
	CHECK_EQ(stats().sleeps, 1);
	CHECK_EQ(sleeps(0, 0), 0);
	/* an old event in the eventfd does not end a sleep */
	ring(qp->eventfd);
	stub.arms = 0;
	CHECK_EQ(sleeps(0, 30), 0);
	CHECK_EQ(stub.arms, 1);
	/* a completion that is there needs no sleep */
	stub_complete(ID, 3, 3, RMC_S_OK);
	CHECK_EQ(sleeps(0, -1), 1);
	CHECK_EQ(stub.arms, 1);
	/* an entry of the previous lap is no completion */
	qp->tail = ENTRIES + 3;
	CHECK_EQ(sleeps(0, 1), 0);
	stub_complete(ID, ENTRIES + 3, 3, RMC_S_OK);
	CHECK_EQ(sleeps(0, -1), 1);
	close_ctx();
}

static int rings_left, ring_after_us;

static void complete_and_ring(void)
{
	stub_complete(ID, qp->tail, 0, RMC_S_OK);
	ring(qp->eventfd);
}

static void ring_for_nothing(void)
{
	if (rings_left-- <= 0)
		return;
	usleep((unsigned int)ring_after_us);
	ring(qp ? qp->eventfd : ctx->seg_sleepers.eventfd);
}

static void end_queue_pair(void)
{
	rmc_sleepers_end(rmc_qp_sleepers(qp));
}

static void kill_queue_pair(void)
{
	stub.flags[ID]->dead = 1;
}

/* Events just before the thread sleeps */
static void last_moment(void)
{
	uint64_t start;

	open_pair();
	stub.on_arm = complete_and_ring;
	CHECK_EQ(rmc_cq_eventfd(qp) < 0, 0);
	CHECK_EQ(sleeps(0, LONG_MS), 1);
	qp->tail++;
	stub.on_arm = end_queue_pair;
	CHECK_EQ(sleeps(0, LONG_MS), -ESHUTDOWN);
	stub.on_arm = NULL;
	/* later callers may sleep again */
	CHECK_EQ(sleeps(0, 1), 0);
	stub.fail = RMC_IOC_CQ_ARM;
	stub.error = EIO;
	CHECK_EQ(sleeps(0, LONG_MS), -EIO);
	stub.error = ENOTTY;
	CHECK_EQ(sleeps(0, LONG_MS), -ENOTTY);
	CHECK(strstr(rmc_errmsg(), "load a newer one"));
	CHECK_EQ(rmc_cq_arm(qp), -ENOTTY);
	stub.error = ENOENT;
	stub.on_arm = kill_queue_pair;
	CHECK_EQ(sleeps(0, LONG_MS), -ESHUTDOWN);
	stub.on_arm = NULL;
	stub.fail = 0;
	stub.arms = 0;
	CHECK_EQ(sleeps(0, LONG_MS), -ESHUTDOWN);
	CHECK_EQ(sleeps(LONG_MS * 1000U, LONG_MS), -ESHUTDOWN);
	CHECK_EQ(stub.arms, 0);
	stub.flags[ID]->dead = 0;
	/* after a spurious wake-up it sleeps for the rest of its time, if any */
	stub.on_arm = ring_for_nothing;
	rings_left = 1;
	ring_after_us = 30000;
	CHECK_EQ(sleeps(0, 10), 0);
	rings_left = 1;
	/* so long that a busy machine's delay is not taken for a second sleep of 4 s */
	ring_after_us = 3900000;
	start = rmc_now_ms();
	CHECK_EQ(rmc_cq_sleep(qp, 0, 4000), 0);
	CHECK(rmc_now_ms() - start >= 4000 && rmc_now_ms() - start < 7800);
	close_ctx();
}

static void handler(int signal)
{
	(void)signal;
}

static void interrupt_soon(void)
{
	struct sigaction a = { .sa_handler = handler };
	struct itimerval t = { .it_value.tv_usec = 20000, .it_interval.tv_usec = 20000 };

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static void interrupt_no_more(void)
{
	struct itimerval t = { .it_value.tv_usec = 0 };

	setitimer(ITIMER_REAL, &t, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(PATIENCE_S);
}

static void no_descriptors(int none)
{
	static struct rlimit was;
	struct rlimit l;

	if (none)
		getrlimit(RLIMIT_NOFILE, &was);
	l = was;
	if (none)
		l.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
}

static void disturbed(void)
{
	uint32_t seen = 0;

	open_pair();
	no_descriptors(1);
	CHECK_EQ(rmc_cq_arm(qp), -EMFILE);
	CHECK_EQ(rmc_seg_wait(ctx, &seen, 0), -EMFILE);
	CHECK_EQ(stub.arms, 0);
	no_descriptors(0);
	interrupt_soon();
	CHECK_EQ(sleeps(0, LONG_MS), -EINTR);
	CHECK_EQ(rmc_seg_wait(ctx, &seen, LONG_MS), -EINTR);
	interrupt_no_more();
	close_ctx();
}

static int step;	/* the step that the other thread may execute */

static void wait_for_step(int value)
{
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < value)
		sched_yield();
}

static void *complete_later(void *arg)
{
	(void)arg;
	usleep(20000);
	stub_complete(ID, qp->tail, 0, RMC_S_OK);
	return NULL;
}

static void *end_later(void *arg)
{
	(void)arg;
	usleep(20000);
	end_queue_pair();
	return NULL;
}

#define ENDS	400

/* A completion, and then the end of the queue pair, at varying moments of a spinning wait */
static void *complete_and_kill(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ENDS; i++) {
		wait_for_step(2 * i + 1);
		for (volatile int n = i % 40 * 20; n; n--)
			;
		stub_complete(ID, (unsigned int)i, 0, RMC_S_OK);
		__atomic_store_n(&stub.flags[ID]->dead, 1, __ATOMIC_RELEASE);
		wait_for_step(2 * i + 2);
	}
	return NULL;
}

static void spinning(void)
{
	pthread_t thread;
	int i;

	open_pair();
	pthread_create(&thread, NULL, complete_later, NULL);
	CHECK_EQ(sleeps(LONG_MS * 1000U, -1), 1);
	pthread_join(thread, NULL);
	CHECK_EQ(stub.arms, 0);
	qp->tail++;
	pthread_create(&thread, NULL, end_later, NULL);
	CHECK_EQ(sleeps(LONG_MS * 1000U, -1), -ESHUTDOWN);
	pthread_join(thread, NULL);
	close_ctx();

	open_pair();
	qp->shared = 1;
	step = 0;
	pthread_create(&thread, NULL, complete_and_kill, NULL);
	for (i = 0; i < ENDS; i++) {
		qp->tail = (uint32_t)i;
		stub.flags[ID]->dead = 0;
		__atomic_store_n(&step, 2 * i + 1, __ATOMIC_RELEASE);
		CHECK_EQ(rmc_cq_sleep(qp, LONG_MS * 1000U, -1), 1);
		while (!__atomic_load_n(&stub.flags[ID]->dead, __ATOMIC_ACQUIRE))
			sched_yield();
		__atomic_store_n(&step, 2 * i + 2, __ATOMIC_RELEASE);
	}
	pthread_join(thread, NULL);
	close_ctx();
}

/* --- notifications --- */

static int waits(uint32_t *seen, int timeout_ms)
{
	uint64_t start = rmc_now_ms();
	int err = rmc_seg_wait(ctx, seen, timeout_ms);

	CHECK(!late(start));
	CHECK_EQ(ctx->seg_sleepers.inside, 0);
	return err;
}

static void ring_once_and_withdraw(void)
{
	ring(ctx->seg_sleepers.eventfd);
	if (stub.arms)
		stub.fail = RMC_IOC_SEG_ARM;
}

static void end_segment(void)
{
	rmc_sleepers_end(&ctx->seg_sleepers);
}

static void notify_and_ring(void)
{
	if (stub.arms)
		stub.notified = 12;
	ring(ctx->seg_sleepers.eventfd);
}

static void notifications(void)
{
	uint32_t seen = 5;
	uint64_t start;

	open_ctx();
	qp = NULL;
	stub.notified = 7;
	CHECK_EQ(rmc_seg_arm(ctx, &seen, 99), 0);
	CHECK(stub.seg_arm.seen == 5 && stub.seg_arm.eventfd == 99);
	CHECK_EQ(seen, 7);
	stub.notified = 9;
	CHECK_EQ(waits(&seen, -1), 1);
	CHECK_EQ(seen, 9);
	CHECK_EQ(waits(&seen, 0), 0);
	ring(ctx->seg_sleepers.eventfd);
	stub.arms = 0;
	CHECK_EQ(waits(&seen, 30), 0);
	CHECK_EQ(stub.arms, 1);
	/* the count wraps */
	seen = UINT32_MAX;
	stub.notified = 0;
	CHECK_EQ(waits(&seen, LONG_MS), 1);
	CHECK_EQ(seen, 0);
	stub.arms = 0;
	stub.on_arm = notify_and_ring;
	CHECK_EQ(waits(&seen, LONG_MS), 1);
	CHECK_EQ(seen, 12);
	stub.on_arm = end_segment;
	CHECK_EQ(waits(&seen, LONG_MS), -ESHUTDOWN);
	stub.on_arm = ring_for_nothing;
	rings_left = 1;
	ring_after_us = 900000;
	start = rmc_now_ms();
	CHECK_EQ(rmc_seg_wait(ctx, &seen, 1000), 0);
	CHECK(rmc_now_ms() - start >= 1000 && rmc_now_ms() - start < 1800);
	/* the segment is withdrawn during the sleep; then there is none at all */
	stub.arms = 0;
	stub.error = ENOENT;
	stub.on_arm = ring_once_and_withdraw;
	CHECK_EQ(waits(&seen, LONG_MS), -ESHUTDOWN);
	CHECK_EQ(waits(&seen, LONG_MS), -ENOENT);
	close_ctx();
}

/* --- destruction waits for sleepers --- */

static int left;

static void *nap(void *arg)
{
	struct rmc_sleepers *s = (struct rmc_sleepers *)arg;
	struct pollfd p = { .fd = rmc_sleepers_eventfd(s), .events = POLLIN };

	rmc_sleepers_enter(s);
	poll(&p, 1, -1);
	usleep(20000);
	__atomic_store_n(&left, 1, __ATOMIC_RELEASE);
	rmc_sleepers_leave(s);
	return NULL;
}

static void sleepers(void)
{
	struct rmc_sleepers s;
	pthread_t thread;
	uint32_t since;

	alarm(PATIENCE_S);
	memset(&s, 0x55, sizeof(s));
	rmc_sleepers_init(&s);
	CHECK(!s.inside && !s.ended && s.eventfd == -1);
	rmc_sleepers_wait(&s);			/* no sleeper: returns at once */
	s.ended = UINT32_MAX;
	since = rmc_sleepers_enter(&s);
	CHECK_EQ(since, UINT32_MAX);
	CHECK(!rmc_sleepers_ended(&s, since));
	rmc_sleepers_end(&s);
	CHECK(rmc_sleepers_ended(&s, since));
	rmc_sleepers_leave(&s);
	left = 0;
	pthread_create(&thread, NULL, nap, &s);
	while (!__atomic_load_n(&s.inside, __ATOMIC_SEQ_CST))
		sched_yield();
	rmc_sleepers_wait(&s);
	CHECK(__atomic_load_n(&left, __ATOMIC_ACQUIRE));
	pthread_join(thread, NULL);
	close(s.eventfd);
	alarm(0);
}

static int result;

static void *sleep_on_pair(void *arg)
{
	(void)arg;
	result = rmc_cq_sleep(qp, 0, -1);
	return NULL;
}

static void *sleep_on_segment(void *arg)
{
	uint32_t seen = 0;

	(void)arg;
	result = rmc_seg_wait(ctx, &seen, -1);
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), struct rmc_sleepers *on)
{
	pthread_create(thread, NULL, run, NULL);
	while (!__atomic_load_n(&on->inside, __ATOMIC_SEQ_CST))
		sched_yield();
	usleep(5000);
}

/* The library wakes sleepers itself, whether or not the driver wakes them. */
static void quiet_driver(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 10; i++) {
		open_pair();
		stub.quiet = i & 1;
		start(&thread, sleep_on_pair, rmc_qp_sleepers(qp));
		rmc_qp_destroy(qp);
		pthread_join(thread, NULL);
		CHECK_EQ(result, -ESHUTDOWN);
		start(&thread, sleep_on_segment, &ctx->seg_sleepers);
		stub.segment = 1;
		CHECK_EQ(rmc_seg_unregister(ctx), 0);
		pthread_join(thread, NULL);
		CHECK_EQ(result, -ESHUTDOWN);
		/* closing wakes the sleeper: the driver withdraws the segment only with the file */
		start(&thread, sleep_on_segment, &ctx->seg_sleepers);
		close_ctx();
		pthread_join(thread, NULL);
		CHECK_EQ(result, -ESHUTDOWN);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "what a queue pair is made of", creation },
		{ "each call of the driver fails", creation_fails },
		{ "waiting wakes the worker, or lets it on", waiting },
		{ "a queue pair of somebody else's", raw },
		{ "sleeping for completions", completions },
		{ "what happens in the last moment before sleeping", last_moment },
		{ "signals, and no descriptor", disturbed },
		{ "spinning before sleeping", spinning },
		{ "sleeping for notifications", notifications },
		{ "who destroys waits for who sleeps", sleepers },
		{ "a driver that wakes nobody", quiet_driver },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
