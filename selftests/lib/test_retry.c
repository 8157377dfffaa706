/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Retries of SABRes, with a stub of the RMC that completes them as a script says; and the
 * repair of objects whose writer died.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../lib/internal.h"
#include "rmc/object.h"
#include "rmc/sabre.h"
#include "fake_rmc.h"
#include "../tap.h"

#define ENTRIES		8
#define MS		1000000U	/* in nanoseconds */

static struct rmc_wq_entry wq[ENTRIES];
static struct rmc_cq_entry cq[ENTRIES];
static struct rmc_qp_flags flags;
static uint8_t slot[ENTRIES];
static struct rmc_ctx ctx;
static struct rmc_qp qp;
static struct fake_rmc rmc;
static struct rmc_sabre_policy policy;

static int script[4], script_len, ops, kills;

/* The last status of the script repeats. */
static int execute(void *arg, const struct fake_op *op)
{
	int status = script[ops < script_len ? ops : script_len - 1];

	(void)arg;
	ops++;
	if (kills)
		__atomic_store_n(&flags.dead, 1, __ATOMIC_RELEASE);
	return op->op == RMC_OP_SABRE && op->nid == 3 && op->offset == 128 ? status : RMC_S_BAD_OP;
}

static int tries(int n, int first, int second, int third, int fourth)
{
	int status[] = { first, second, third, fourth };
	char lbuf[64];
	int err;

	memcpy(script, status, sizeof(script));
	script_len = n;
	ops = 0;
	memset(wq, 0, sizeof(wq));
	memset(cq, 0, sizeof(cq));
	memset(&flags, 0, sizeof(flags));
	flags.shared_cpu = 1;
	rmc_qp_init_raw(&qp, wq, cq, &flags, slot, NULL, ENTRIES);
	qp.ctx = &ctx;
	rmc = (struct fake_rmc) {
		.wq = wq, .cq = cq, .flags = &flags, .entries = ENTRIES, .execute = execute,
	};
	fake_rmc_start(&rmc);
	err = rmc_sabre_retry(&qp, 3, 128, lbuf, sizeof(lbuf), &policy);
	fake_rmc_stop(&rmc);
	return err;
}

static void set_policy(uint32_t attempts, uint32_t ns, uint32_t max_ns)
{
	memset(&policy, 0, sizeof(policy));
	policy.attempts = attempts;
	policy.backoff_ns = ns;
	policy.backoff_max_ns = max_ns;
}

static void counts(void)
{
	memset(&policy, 0xff, sizeof(policy));
	rmc_sabre_policy_init(&policy);
	CHECK_EQ(policy.attempts, 16);
	CHECK_EQ(policy.backoff_ns, 200);
	CHECK_EQ(policy.backoff_max_ns, 100000);
	CHECK(!policy.fallback && !policy.tried);
	CHECK_EQ(tries(4, RMC_S_SABRE_ABORTED, RMC_S_SABRE_LOCKED, RMC_S_BUSY, RMC_S_OK), 0);
	CHECK(policy.tried == 4 && policy.failed == 3 && !policy.fell_back);
	/* counters add up */
	CHECK_EQ(tries(2, RMC_S_SABRE_LOST, RMC_S_OK, 0, 0), 0);
	CHECK(policy.tried == 6 && policy.failed == 4);
	/* an operation that cannot succeed is not retried */
	CHECK_EQ(tries(2, RMC_S_OUT_OF_RANGE, RMC_S_OK, 0, 0), RMC_S_OUT_OF_RANGE);
	CHECK(policy.tried == 7 && policy.failed == 4);
	set_policy(3, 0, 0);
	CHECK_EQ(tries(1, RMC_S_SABRE_ABORTED, 0, 0, 0), RMC_S_SABRE_ABORTED);
	CHECK(ops == 3 && policy.tried == 3 && policy.failed == 3);
	set_policy(0, 0, 0);
	CHECK_EQ(tries(2, RMC_S_SABRE_ABORTED, RMC_S_OK, 0, 0), RMC_S_SABRE_ABORTED);
	CHECK_EQ(ops, 1);
}

static void refused(void)
{
	char lbuf[64];

	set_policy(3, 0, 0);
	qp.head = qp.tail + 1;
	CHECK_EQ(rmc_sabre_retry(&qp, 3, 128, lbuf, sizeof(lbuf), &policy), -EBUSY);
	CHECK_EQ(policy.tried, 0);
	qp.tail = qp.head;
	ops = 0;
	flags.dead = 1;
	CHECK_EQ(rmc_sabre_retry_sized(&qp, 3, 128, lbuf, sizeof(lbuf), &policy, 55), -EINVAL);
	CHECK_EQ(policy.tried, 0);
}

static void *fallback_lbuf;

static int fallback(struct rmc_qp *q, int nid, uint64_t offset, void *lbuf, size_t len, void *arg)
{
	CHECK(q == &qp && nid == 3 && offset == 128 && lbuf && len == 64 && arg == &policy);
	fallback_lbuf = lbuf;
	policy.arg = NULL;		/* the policy is the caller's, not a copy */
	return 42;
}

static void falls_back(void)
{
	set_policy(2, 0, 0);
	policy.fallback = fallback;
	policy.arg = &policy;
	CHECK_EQ(tries(1, RMC_S_SABRE_LOCKED, 0, 0, 0), 42);
	CHECK(ops == 2 && policy.fell_back == 1 && fallback_lbuf && !policy.arg);
	policy.arg = &policy;
	CHECK_EQ(tries(2, RMC_S_SABRE_LOCKED, RMC_S_OK, 0, 0), 0);
	CHECK_EQ(policy.fell_back, 1);
}

static uint64_t lasts(uint32_t attempts, uint32_t ns, uint32_t max_ns)
{
	uint64_t start = rmc_now_ms();

	set_policy(attempts, ns, max_ns);
	CHECK_EQ(tries(1, RMC_S_SABRE_ABORTED, 0, 0, 0), RMC_S_SABRE_ABORTED);
	CHECK_EQ(ops, attempts);
	return rmc_now_ms() - start;
}

/* Waits are random: half of the longest on average */
static void backs_off(void)
{
	uint64_t start;
	int i;

	CHECK(lasts(40, 2 * MS, 2 * MS) >= 8);		/* 39 on average */
	CHECK(lasts(60, 1, 8 * MS) >= 20);		/* from 1 ns to 8 ms: 150 */
	CHECK(lasts(30, MS, MS) < 2000);		/* 15; unlimited doubling: a minute */
	/* no wait on a dead queue pair */
	kills = 1;
	for (i = 0; i < 3; i++) {
		set_policy(2, 4000 * MS, 4000 * MS);
		start = rmc_now_ms();
		CHECK_EQ(tries(2, RMC_S_SABRE_ABORTED, RMC_S_OK, 0, 0), -ESHUTDOWN);
		CHECK_EQ(policy.tried, 1);
		CHECK(rmc_now_ms() - start < 500);
	}
	kills = 0;
}

/* --- objects --- */

static int kill_errno;
static struct rmc_object *taken;	/* an object that another thread repairs meanwhile */

/* Replaces the C library's function. */
int kill(pid_t pid, int signal)
{
	if (taken)
		taken->writer = 12345;
	if (!kill_errno)
		return (int)syscall(SYS_kill, pid, signal);
	errno = kill_errno;
	return -1;
}

static void *thread_self(void *arg)
{
	*(uint32_t *)arg = rmc_object_self();
	return NULL;
}

static void self(void)
{
	uint32_t mine = rmc_object_self(), other = 0;
	pthread_t thread;
	int status;
	pid_t pid;

	CHECK_EQ(mine, syscall(SYS_gettid));
	pthread_create(&thread, NULL, thread_self, &other);
	pthread_join(thread, NULL);
	CHECK(other && other != mine);
	pid = fork();
	if (!pid)
		_exit(rmc_object_self() != (uint32_t)getpid());
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

static int rewrites;

static int rewrite(struct rmc_object *o, void *arg)
{
	CHECK(!__atomic_load_n(&o->readers, __ATOMIC_SEQ_CST));
	CHECK_EQ(o->writer, rmc_object_self());
	CHECK(o->version & 1);
	rewrites++;
	return *(int *)arg;
}

static uint32_t somebody_dead(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return (uint32_t)pid;
}

static void *leave_later(void *arg)
{
	usleep(30000);
	__atomic_store_n(&((struct rmc_object *)arg)->readers, 0, __ATOMIC_SEQ_CST);
	return NULL;
}

static void repair(void)
{
	struct rmc_object o = { .version = 6 };
	uint32_t dead = somebody_dead();
	pthread_t thread;
	int err = 0;

	CHECK_EQ(rmc_object_repair(&o, rewrite, &err), -ENOENT);
	o.version = 7;				/* a remote writer */
	CHECK_EQ(rmc_object_repair(&o, rewrite, &err), -EAGAIN);
	o.writer = rmc_object_self();
	CHECK_EQ(rmc_object_repair(&o, rewrite, &err), -EAGAIN);
	CHECK_EQ(o.writer, rmc_object_self());
	/* a process of another user is alive */
	o.writer = dead;
	kill_errno = EPERM;
	CHECK_EQ(rmc_object_repair(&o, rewrite, &err), -EAGAIN);
	kill_errno = 0;
	/* another thread repairs the object first */
	taken = &o;
	CHECK_EQ(rmc_object_repair(&o, rewrite, &err), -EAGAIN);
	taken = NULL;
	CHECK(o.writer == 12345 && o.version == 7 && !rewrites);
	/* the writer died before or after its write */
	o.version = 8;
	o.writer = dead;
	CHECK_EQ(rmc_object_repair(&o, rewrite, &err), 0);
	CHECK(!o.writer && o.version == 8 && !rewrites);
	/* it died during its write, and the contents cannot be restored now */
	o.version = 9;
	o.writer = dead;
	err = -EIO;
	CHECK_EQ(rmc_object_repair(&o, rewrite, &err), -EIO);
	CHECK(o.writer == dead && o.version == 9 && rewrites == 1);
	/* the repair waits for readers that hold the object */
	o.readers = 1;
	err = 0;
	pthread_create(&thread, NULL, leave_later, &o);
	CHECK_EQ(rmc_object_repair(&o, rewrite, &err), 0);
	CHECK(!o.writer && o.version == 10 && rewrites == 2);
	pthread_join(thread, NULL);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "how often a SABRe is tried", counts },
		{ "calls that are refused", refused },
		{ "the way that is left then", falls_back },
		{ "waits between attempts", backs_off },
		{ "the id of a thread", self },
		{ "objects whose writer died", repair },
	};

	ctx.pid = (int)getpid();
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
