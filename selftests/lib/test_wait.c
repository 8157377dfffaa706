/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Sleeping in the library while another thread destroys the object that the sleeper waits
 * for. Uses a daemon of its own, under sanitizers: a use after free ends the program. A
 * sleeper that is not woken lets the alarm end it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "control.h"
#include "../../lib/internal.h"
#include "../tap.h"

#define PAGE		4096
#define ROUNDS		100
#define PATIENCE_S	60

static struct rmc_ctx *ctx;
static uint64_t *segment;

struct sleeper {
	struct rmc_qp *qp;
	unsigned int spin_us;
	uint32_t seen;
	int result, done;
	pthread_t thread;
};

static void *sleep_for_completion(void *arg)
{
	struct sleeper *s = (struct sleeper *)arg;

	s->result = rmc_cq_sleep(s->qp, s->spin_us, -1);
	__atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *sleep_for_notification(void *arg)
{
	struct sleeper *s = (struct sleeper *)arg;

	s->result = rmc_seg_wait(ctx, &s->seen, -1);
	__atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Returns when the thread sleeps or is about to; i varies how long to wait for that. Nothing
 * may be destroyed before the thread has entered the library.
 */
static void start_seen(struct sleeper *s, void *(*run)(void *), struct rmc_qp *qp, int i,
		       uint32_t seen)
{
	struct rmc_sleepers *on = qp ? rmc_qp_sleepers(qp) : &ctx->seg_sleepers;

	memset(s, 0, sizeof(*s));
	s->qp = qp;
	s->seen = seen;
	s->spin_us = i % 3 == 2 ? 1000000 : 0;
	pthread_create(&s->thread, NULL, run, s);
	while (!__atomic_load_n(&on->inside, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&s->done, __ATOMIC_ACQUIRE))
		usleep(10);
	/* the thread does not always sleep by then */
	usleep(2000 + (unsigned int)(i % 10) * 100);
}

static void start(struct sleeper *s, void *(*run)(void *), struct rmc_qp *qp, int i)
{
	start_seen(s, run, qp, i, 0);
}

static int finish(struct sleeper *s)
{
	alarm(PATIENCE_S);
	pthread_join(s->thread, NULL);
	alarm(0);
	return s->result;
}

static void open_all(void)
{
	ctx = rmc_open(0, 0);
	if (!ctx || rmc_seg_register(ctx, segment, PAGE, 0)) {
		printf("Bail out! %s\n", rmc_errmsg());
		exit(1);
	}
}

static void completion_wakes(void)
{
	struct rmc_completion c;
	struct rmc_qp *qp;
	struct sleeper s;
	int i;

	open_all();
	control_faults("set --delay 20ms");
	qp = rmc_qp_create(ctx, 8);
	for (i = 0; i < 20; i++) {
		rmc_notify_async(qp, rmc_wait_for_slot(qp, NULL), 0);
		start(&s, sleep_for_completion, qp, 0);
		CHECK_EQ(finish(&s), 1);
		CHECK_EQ(rmc_cq_next(qp, &c), 1);
	}
	CHECK_EQ(rmc_cq_sleep(qp, 0, 10), 0);
	control_faults("clear");
	rmc_close(ctx);
}

static void destroyed_queue_pair(void)
{
	struct rmc_qp *qp;
	struct sleeper s;
	int i;

	open_all();
	for (i = 0; i < ROUNDS; i++) {
		qp = rmc_qp_create(ctx, 8);
		start(&s, sleep_for_completion, qp, i);
		alarm(PATIENCE_S);
		rmc_qp_destroy(qp);
		CHECK_EQ(finish(&s), -ESHUTDOWN);
	}
	rmc_close(ctx);
}

/* The queue pair is destroyed by its daemon's end. */
static void dead_queue_pair(void)
{
	struct rmc_qp *qp;
	struct sleeper s;
	int i;

	for (i = 0; i < 6; i++) {
		open_all();
		qp = rmc_qp_create(ctx, 8);
		start(&s, sleep_for_completion, qp, i);
		control_kill_daemon();
		CHECK_EQ(finish(&s), -ESHUTDOWN);
		CHECK_EQ(rmc_cq_sleep(qp, 0, -1), -ESHUTDOWN);
		rmc_qp_destroy(qp);
		rmc_close(ctx);
	}
}

static void notification_wakes(void)
{
	struct sleeper s;
	struct rmc_qp *qp;
	uint32_t i;

	open_all();
	qp = rmc_qp_create(ctx, 8);
	for (i = 0; i < 20; i++) {
		start_seen(&s, sleep_for_notification, NULL, (int)i, i);
		CHECK(!__atomic_load_n(&s.done, __ATOMIC_ACQUIRE));
		CHECK_EQ(rmc_notify(qp, 0), 0);
		CHECK_EQ(finish(&s), 1);
		CHECK_EQ(s.seen, i + 1);
	}
	CHECK_EQ(rmc_seg_wait(ctx, &i, 10), 0);
	rmc_close(ctx);
}

static void withdrawn_segment(void)
{
	struct sleeper s;
	int i;

	open_all();
	for (i = 0; i < ROUNDS; i++) {
		start(&s, sleep_for_notification, NULL, i);
		alarm(PATIENCE_S);
		CHECK_EQ(rmc_seg_unregister(ctx), 0);
		CHECK_EQ(finish(&s), -ESHUTDOWN);
		CHECK_EQ(rmc_seg_wait(ctx, &s.seen, -1), -ENOENT);
		CHECK_EQ(rmc_seg_register(ctx, segment, PAGE, 0), 0);
	}
	rmc_close(ctx);
}

static void closed_context(void)
{
	struct sleeper cq, seg;
	int i;

	for (i = 0; i < 20; i++) {
		open_all();
		start(&seg, sleep_for_notification, NULL, i);
		start(&cq, sleep_for_completion, rmc_qp_create(ctx, 8), i);
		alarm(PATIENCE_S);
		rmc_close(ctx);
		CHECK_EQ(finish(&cq), -ESHUTDOWN);
		CHECK_EQ(finish(&seg), -ESHUTDOWN);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a completion wakes a sleeper", completion_wakes },
		{ "a queue pair is destroyed while another thread sleeps on it",
			destroyed_queue_pair },
		{ "a queue pair whose daemon is killed wakes its sleeper", dead_queue_pair },
		{ "a notification wakes a sleeper", notification_wakes },
		{ "a segment is withdrawn while another thread sleeps for it",
			withdrawn_segment },
		{ "a context is closed while threads sleep in it", closed_context },
	};

	segment = (uint64_t *)mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
