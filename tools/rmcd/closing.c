// SPDX-License-Identifier: GPL-2.0
/* See closing.h. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "closing.h"
#include "rmcd.h"

/*
 * Threads of one user. Few closes take long, and those of a program that ends are many and short.
 * What takes time of CPUs and of the lock of our address space has one thread for each purpose.
 */
static const u32 most_threads[RMCD_JOB_KINDS] = {
	[RMCD_JOB_CLOSE] = 32, [RMCD_JOB_FREE] = 1, [RMCD_JOB_MAP] = 1,
};

static const char * const names[RMCD_JOB_KINDS] = {
	[RMCD_JOB_CLOSE] = "rmcd/closing", [RMCD_JOB_FREE] = "rmcd/freeing",
	[RMCD_JOB_MAP] = "rmcd/mapping",
};

/*
 * Descriptors of one user, and mappings if the quotas are small: more than all his programs give
 * back when they end together
 */
#define MOST_PENDING	4096
/* If none of a user's threads gets on for so long, nothing of his is accepted */
#define STUCK_NS	(1000 * 1000 * 1000ULL)
/* An idle thread waits for so long before it ends; pthread_create() is tried again after it */
#define IDLE_NS		(500 * 1000 * 1000L)
#define AGAIN_NS	(50 * 1000 * 1000L)
#define STACK_BYTES	32768

/* Descriptors that one thread closes, one after the other */
struct batch {
	struct rmcd_job job;
	u32 n;
	int fd[];
};

/**
 * struct closer - jobs of one kind for a user; all fields are guarded by @lock
 * @next: in closers
 * @uid: user
 * @kind: of its jobs
 * @threads: number of its threads
 * @idle: those of them that wait at @more, or begin; each can take a job
 * @queued: jobs in the queue
 * @pending: descriptors and mappings of jobs that are not done, those of the queue included
 * @last_ns: when one of the threads has begun or ended a job
 * @reported: the log says that the user is refused
 * @more: a job for an idle thread
 * @first: queue
 * @end: end of the queue
 */
struct closer {
	struct closer *next;
	uid_t uid;
	enum rmcd_job_kind kind;
	u32 threads;
	u32 idle;
	u32 queued;
	u32 pending;
	u64 last_ns;
	bool reported;
	pthread_cond_t more;
	struct rmcd_job *first;
	struct rmcd_job **end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work;	/* threads are missing */
static struct closer *closers;
static u64 most_freed = MOST_PENDING;	/* main thread */

static void init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

/* Returns false when the time is over. */
static bool wait_for(pthread_cond_t *cond, long ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	return pthread_cond_timedwait(cond, &lock, &until) != ETIMEDOUT;
}

static struct closer *find(uid_t uid, enum rmcd_job_kind kind)
{
	struct closer *c;

	for (c = closers; c && (c->uid != uid || c->kind != kind); c = c->next)
		;
	return c;
}

static struct closer *closer_get(uid_t uid, enum rmcd_job_kind kind)
{
	struct closer *c = find(uid, kind);

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->uid = uid;
	c->kind = kind;
	c->end = &c->first;
	init_cond(&c->more);
	c->next = closers;
	closers = c;
	return c;
}

/* Its last thread ends. */
static void closer_free(struct closer *c)
{
	struct closer **link;

	for (link = &closers; *link != c; link = &(*link)->next)
		;
	*link = c->next;
	pthread_cond_destroy(&c->more);
	free(c);
}

/* Next job; NULL: there was none for some time. The calling thread was counted as idle. */
static struct rmcd_job *take(struct closer *c)
{
	bool in_time = true;
	struct rmcd_job *job;

	while (!c->first && in_time)
		in_time = wait_for(&c->more, IDLE_NS);
	c->idle--;
	job = c->first;
	if (!job)
		return NULL;
	c->first = job->next;
	if (!c->first)
		c->end = &c->first;
	c->queued--;
	return job;
}

static void *job_main(void *data)
{
	struct closer *c = data;
	struct rmcd_job *job;
	u32 weight;

	pthread_setname_np(pthread_self(), names[c->kind]);
	pthread_mutex_lock(&lock);
	while ((job = take(c))) {
		c->last_ns = rmc_os_now_ns();
		pthread_mutex_unlock(&lock);
		weight = job->weight;
		job->run(job);
		pthread_mutex_lock(&lock);
		c->last_ns = rmc_os_now_ns();
		c->pending -= weight;
		c->idle++;
	}
	if (!--c->threads)
		closer_free(c);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Signals are for the main thread. */
static int make_thread(void *(*fn)(void *data), void *data)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, fn, data);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

/* A user with more jobs of a kind than idle threads, and not all of his threads */
static struct closer *lacks_thread(void)
{
	struct closer *c;

	for (c = closers; c; c = c->next)
		if (c->queued > c->idle && c->threads < most_threads[c->kind])
			return c;
	return NULL;
}

static void report_no_thread(int err)
{
	static bool reported;

	if (!reported)
		rmcd_log("no thread can be created for what clients ask for (%s): registrations fail, and what they had is released later",
			 strerror(err));
	reported = true;
}

/* Takes off the queue what does not wait for a thread, if there is none: a list. */
static struct rmcd_job *take_failing(struct closer *c)
{
	struct rmcd_job **link = &c->first, *failing = NULL, *job;

	while (!c->threads && (job = *link)) {
		if (!job->fail) {
			link = &job->next;
			continue;
		}
		*link = job->next;
		c->queued--;
		c->pending -= job->weight;
		job->next = failing;
		failing = job;
	}
	if (!c->threads)
		c->end = link;
	return failing;
}

/* A thread for @c could not be created. */
static void no_thread(struct closer *c, int err)
{
	struct rmcd_job *failing, *job;

	c->threads--;
	c->idle--;
	failing = take_failing(c);
	if (!c->threads && !c->first)
		closer_free(c);
	pthread_mutex_unlock(&lock);
	report_no_thread(err);
	while ((job = failing)) {
		failing = job->next;
		job->fail(job);
	}
	pthread_mutex_lock(&lock);
}

static void *closing_main(void *data)
{
	struct closer *c;
	int err;

	(void)data;
	pthread_mutex_lock(&lock);
	for (;;) {
		c = lacks_thread();
		if (!c) {
			pthread_cond_wait(&work, &lock);
			continue;
		}
		/* from here on nobody frees @c */
		c->threads++;
		c->idle++;
		pthread_mutex_unlock(&lock);
		err = make_thread(job_main, c);
		pthread_mutex_lock(&lock);
		if (!err)
			continue;
		no_thread(c, err);
		wait_for(&work, AGAIN_NS);
	}
	return NULL;
}

/* Tried again the next time, if it fails. */
static bool start(void)
{
	static bool ready, started;
	int err;

	if (started)
		return true;
	if (!ready)
		init_cond(&work);
	ready = true;
	err = make_thread(closing_main, NULL);
	started = !err;
	if (err)
		report_no_thread(err);
	return started;
}

/**
 * rmcd_do_elsewhere() - let a thread of a user do a job
 * @uid: user
 * @kind: which of his threads
 * @job: job; @job->run is called once, and frees it
 *
 * Context: main thread.
 *
 * Return: false when out of memory, or for a job that cannot wait when there are no threads: the
 * job is the caller's.
 */
bool rmcd_do_elsewhere(uid_t uid, enum rmcd_job_kind kind, struct rmcd_job *job)
{
	struct closer *c;

	if (!start() && job->fail)
		return false;
	pthread_mutex_lock(&lock);
	c = closer_get(uid, kind);
	if (c) {
		job->next = NULL;
		*c->end = job;
		c->end = &job->next;
		c->queued++;
		c->pending += job->weight;
		pthread_cond_signal(c->queued <= c->idle ? &c->more : &work);
	}
	pthread_mutex_unlock(&lock);
	return c;
}

static void close_batch(struct rmcd_job *job)
{
	struct batch *b = (struct batch *)job;
	u32 i;

	for (i = 0; i < b->n; i++)
		close(b->fd[i]);
	free(b);
}

/**
 * rmcd_close_elsewhere() - let other threads close descriptors of a client
 * @uid: its user
 * @kind: RMCD_JOB_CLOSE, or RMCD_JOB_FREE: files in memory
 * @fds: descriptors, any; nobody may use them any more
 * @n: number of them
 *
 * Context: main thread. One thread closes them, so those of one message delay each other only.
 */
void rmcd_close_elsewhere(uid_t uid, enum rmcd_job_kind kind, const int *fds, unsigned int n)
{
	struct batch *b = n ? malloc(sizeof(*b) + n * sizeof(*fds)) : NULL;

	if (!n)
		return;
	if (b) {
		b->job.run = close_batch;
		b->job.fail = NULL;
		b->job.weight = n;
		b->n = n;
		memcpy(b->fd, fds, n * sizeof(*fds));
	}
	if (!b || !rmcd_do_elsewhere(uid, kind, &b->job)) {
		/* they stay open: better than a main thread that stands still */
		free(b);
		rmcd_log("%u descriptors of user %u are not closed: no memory", n, uid);
	}
}

/*
 * One who has threads for closes, but none of them goes on; or who has too much to do. What he maps
 * does not count: each connection has one such job, and he has not too many of them. Nor does what
 * root frees, for whom quotas do not hold.
 */
static bool overloaded(const struct closer *c)
{
	switch (c->kind) {
	case RMCD_JOB_CLOSE:
		return c->pending >= MOST_PENDING ||
		       (c->threads == most_threads[c->kind] && !c->idle &&
			rmc_os_now_ns() - c->last_ns > STUCK_NS);
	case RMCD_JOB_FREE:
		return c->uid && c->pending >= most_freed;
	default:
		return false;
	}
}

/**
 * rmcd_closing_limit() - say how much one user can have mapped
 * @quota: mappings of one user
 *
 * Context: main thread, before the first connection. Programs that end together have all of it
 * unmapped at once; twice as much is what nobody needs to have waiting.
 */
void rmcd_closing_limit(unsigned int quota)
{
	most_freed = max_t(u64, MOST_PENDING, 2 * (u64)quota);
}

/**
 * rmcd_closing_refused() - does a user keep those who close his descriptors from going on?
 * @uid: user
 *
 * Context: main thread.
 *
 * Return: true: accept no connection and no descriptor of this user.
 */
bool rmcd_closing_refused(uid_t uid)
{
	bool refused = false, report = false, over;
	enum rmcd_job_kind kind;
	struct closer *c;

	pthread_mutex_lock(&lock);
	for (kind = 0; kind < RMCD_JOB_KINDS; kind++) {
		c = find(uid, kind);
		if (!c)
			continue;
		over = overloaded(c);
		report |= over && !c->reported;
		c->reported = over;
		refused |= over;
	}
	pthread_mutex_unlock(&lock);
	if (report)
		rmcd_log("user %u is refused: too much that his programs had takes long to close or unmap",
			 uid);
	return refused;
}
