// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* tools/rmcd/closing.c alone: when a user is refused, and what is done without threads. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>
#include "../tap.h"

static int create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *data),
		  void *data);
#define pthread_create create
#include "tools/rmcd/closing.c"
#undef pthread_create

#define USER	1000
#define QUOTA	4096	/* mappings of a user */

static int no_threads;		/* else how many times one was not created */
static int failed;		/* jobs */
static int lines;		/* of the log */

static int create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *data),
		  void *data)
{
	int n = __atomic_load_n(&no_threads, __ATOMIC_SEQ_CST);

	if (!n)
		return pthread_create(thread, attr, fn, data);
	__atomic_store_n(&no_threads, n + 1, __ATOMIC_SEQ_CST);
	return EAGAIN;
}

void rmcd_log(const char *fmt, ...)
{
	(void)fmt;
	__atomic_fetch_add(&lines, 1, __ATOMIC_SEQ_CST);
}

u64 rmc_os_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int ran;

/* Waits until the test opens the gate. */
static void pass_gate(struct rmcd_job *job)
{
	pthread_mutex_lock(&gate);
	ran++;
	pthread_mutex_unlock(&gate);
	free(job);
}

static void add_job(uid_t uid, enum rmcd_job_kind kind, unsigned int weight)
{
	struct rmcd_job *job = calloc(1, sizeof(*job));

	job->run = pass_gate;
	job->weight = weight;
	CHECK(rmcd_do_elsewhere(uid, kind, job));
}

static int ran_now(void)
{
	int n;

	pthread_mutex_lock(&gate);
	n = ran;
	pthread_mutex_unlock(&gate);
	return n;
}

static void until_ran(int n)
{
	int i;

	for (i = 0; i < 10000 && ran_now() < n; i++)
		usleep(1000);
	CHECK_EQ(ran_now(), n);
	ran = 0;
}

static bool refused_soon(uid_t uid, bool want)
{
	int i;

	for (i = 0; i < 10000 && rmcd_closing_refused(uid) != want; i++)
		usleep(1000);
	return rmcd_closing_refused(uid);
}

/* ---- without threads ---- */

static void fail(struct rmcd_job *job)
{
	free(job);
	__atomic_fetch_add(&failed, 1, __ATOMIC_SEQ_CST);
}

static struct rmcd_job *failing_job(void)
{
	struct rmcd_job *job = calloc(1, sizeof(*job));

	job->run = pass_gate;
	job->fail = fail;
	job->weight = 1;
	return job;
}

static void until_failed(int n)
{
	int i;

	for (i = 0; i < 10000 && __atomic_load_n(&failed, __ATOMIC_SEQ_CST) < n; i++)
		usleep(1000);
	CHECK_EQ(__atomic_exchange_n(&failed, 0, __ATOMIC_SEQ_CST), n);
}

/* Not even the one that creates the others: the first test */
static void none_at_all(void)
{
	struct rmcd_job *job = failing_job();

	no_threads = 1;
	CHECK(!rmcd_do_elsewhere(USER, RMCD_JOB_MAP, job));
	free(job);
	add_job(USER, RMCD_JOB_FREE, 1);
	CHECK_EQ(ran_now(), 0);
	CHECK_EQ(lines, 1);
	__atomic_store_n(&no_threads, 0, __ATOMIC_SEQ_CST);
	/* whatever comes next makes the first thread */
	add_job(USER, RMCD_JOB_FREE, 1);
	until_ran(2);
}

static void none_for_a_user(void)
{
	int i;

	__atomic_store_n(&no_threads, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < 3; i++)
		CHECK(rmcd_do_elsewhere(USER + 1, RMCD_JOB_MAP, failing_job()));
	until_failed(3);
	add_job(USER + 1, RMCD_JOB_FREE, 1);
	for (i = 0; i < 10000 && __atomic_load_n(&no_threads, __ATOMIC_SEQ_CST) < 10; i++)
		usleep(1000);
	CHECK_EQ(ran_now(), 0);
	CHECK_EQ(lines, 1);
	__atomic_store_n(&no_threads, 0, __ATOMIC_SEQ_CST);
	until_ran(1);
	CHECK(rmcd_do_elsewhere(USER + 1, RMCD_JOB_MAP, failing_job()));
	until_ran(1);
	CHECK_EQ(failed, 0);
}

/* With one that is busy they wait for that. */
static void one_thread(void)
{
	pthread_mutex_lock(&gate);
	CHECK(rmcd_do_elsewhere(USER + 1, RMCD_JOB_MAP, failing_job()));
	pthread_mutex_unlock(&gate);
	until_ran(1);
	pthread_mutex_lock(&gate);
	__atomic_store_n(&no_threads, 1, __ATOMIC_SEQ_CST);
	CHECK(rmcd_do_elsewhere(USER + 1, RMCD_JOB_MAP, failing_job()));
	CHECK(rmcd_do_elsewhere(USER + 1, RMCD_JOB_MAP, failing_job()));
	usleep(200000);
	pthread_mutex_unlock(&gate);
	until_ran(2);
	CHECK_EQ(failed, 0);
	__atomic_store_n(&no_threads, 0, __ATOMIC_SEQ_CST);
}

/* ---- a user with much to do ---- */

/* Programs that end together have their whole quota unmapped at once. */
static void whole_quota(void)
{
	int i;

	rmcd_closing_limit(QUOTA);
	pthread_mutex_lock(&gate);
	for (i = 0; i < QUOTA; i++)
		add_job(USER, RMCD_JOB_FREE, 1);
	CHECK(!rmcd_closing_refused(USER));
	for (; i < 2 * QUOTA; i++)
		add_job(USER, RMCD_JOB_FREE, 1);
	CHECK(rmcd_closing_refused(USER));
	CHECK(!rmcd_closing_refused(USER + 1));
	pthread_mutex_unlock(&gate);
	until_ran(2 * QUOTA);
	CHECK(!refused_soon(USER, false));
}

static void registrations(void)
{
	int i;

	pthread_mutex_lock(&gate);
	for (i = 0; i < 2 * QUOTA; i++)
		add_job(USER, RMCD_JOB_MAP, 1);
	CHECK(!rmcd_closing_refused(USER));
	pthread_mutex_unlock(&gate);
	until_ran(2 * QUOTA);
}

static void root(void)
{
	pthread_mutex_lock(&gate);
	add_job(0, RMCD_JOB_FREE, 4 * QUOTA);
	CHECK(!rmcd_closing_refused(0));
	add_job(0, RMCD_JOB_CLOSE, 4 * QUOTA);
	CHECK(rmcd_closing_refused(0));
	pthread_mutex_unlock(&gate);
	until_ran(2);
}

static const struct tap_test tests[] = {
	{ "no thread can be created", none_at_all },
	{ "none for a user", none_for_a_user },
	{ "no second one", one_thread },
	{ "a user has more to unmap than his quota", whole_quota },
	{ "registrations that wait do not count", registrations },
	{ "root has no quota", root },
};

int main(void)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
