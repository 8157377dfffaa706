// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* tools/rmcd/closing.c alone: when a user is refused. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>
#include "../tap.h"

#include "tools/rmcd/closing.c"

#define USER	1000
#define QUOTA	4096	/* mappings of a user */

void rmcd_log(const char *fmt, ...)
{
	(void)fmt;
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
	{ "a user has more to unmap than his quota", whole_quota },
	{ "registrations that wait do not count", registrations },
	{ "root has no quota", root },
};

int main(void)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
