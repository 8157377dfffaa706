// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that a worker executes between two visits (kmod/ni/calls.h), in a thread that acts like
 * worker_main(): visit, then some calls. The lock of shim/kernel is not recursive, so a function
 * that is called with it held cannot post.
 */
#include "../tap.h"
#include "kmod/ni/calls.h"

#define MANY		100
#define BUDGET		16	/* documented value of RMC_CALLS_PER_VISIT */

/* A call that records when it was executed, and may post more */
struct job {
	struct rmc_call call;
	struct completion done;
	u32 number;
	u32 again;		/* times that it posts itself again */
	struct job *other;	/* posted by it, too */
	bool once;		/* allocated; freed by its last user */
};

static struct rmc_calls calls;
static u32 visits, made, made_since, most, prepared, prepared_for, completed;
static u32 order[2000], orders;

static int job_run(void *arg)
{
	struct job *j = arg;

	made++;
	made_since++;
	most = max(most, made_since);
	if (orders < ARRAY_SIZE(order))
		order[orders++] = j->number;
	if (j->call.done)
		prepared_for += prepared;
	if (j->other)
		rmc_calls_add(&calls, &j->other->call);
	if (j->again) {
		j->again--;
		rmc_calls_add(&calls, &j->call);
	} else if (j->once && !j->call.done) {
		free(j);
		return 0;
	}
	return (int)j->number + 1000;
}

/* The waiter continues, and frees the call. */
void complete(struct completion *done)
{
	struct job *j = (struct job *)((char *)done - offsetof(struct job, done));

	completed++;
	CHECK_EQ(done->done, 0);
	done->done = 1;
	CHECK_EQ(orders ? order[orders - 1] : U32_MAX, j->number);
	CHECK_EQ(j->call.ret, j->number + 1000);
	if (j->once)
		free(j);
}

static void prepare(void *arg)
{
	CHECK(arg == &calls);
	prepared++;
}

static struct job *job_post(struct job *j, u32 number, bool waits)
{
	if (!j) {
		j = calloc(1, sizeof(*j));
		j->once = true;
	}
	j->number = number;
	j->call.fn = job_run;
	j->call.arg = j;
	j->call.done = waits ? &j->done : NULL;
	rmc_calls_add(&calls, &j->call);
	return j;
}

/* The loop of the worker. */
static void visit_and_call(void)
{
	visits++;
	made_since = 0;
	rmc_calls_run(&calls, prepare, &calls);
	CHECK(!calls.lock.held);
}

static void setup(void)
{
	rmc_calls_init(&calls);
	visits = 0;
	made = 0;
	most = 0;
	prepared = 0;
	prepared_for = 0;
	completed = 0;
	orders = 0;
}

static void test_none(void)
{
	setup();
	CHECK(!rmc_calls_left(&calls));
	visit_and_call();
	CHECK_EQ(made + prepared + completed, 0);
	tap_result("nothing to call");
}

static void test_order(void)
{
	u32 i;

	setup();
	for (i = 0; i < MANY; i++)
		job_post(NULL, i, false);
	for (i = 0; rmc_calls_left(&calls); i++) {
		CHECK_EQ(made, min(BUDGET * i, MANY));
		visit_and_call();
	}
	CHECK_EQ(i, (MANY + BUDGET - 1) / BUDGET);
	CHECK_EQ(made, MANY);
	for (i = 0; i < MANY; i++)
		CHECK_EQ(order[i], i);
	CHECK_EQ(prepared, 0);
	CHECK_EQ(completed, 0);
	tap_result("posted calls: in order, 16 between two visits, each once");
}

/* An application that posts many calls delays others only by the budget. */
static void test_flood(void)
{
	struct job flood[3] = { { .again = 1000 }, { .again = 1000 }, { .again = 1000 } };
	u32 i, n;

	for (n = 1; n <= ARRAY_SIZE(flood); n++) {
		setup();
		for (i = 0; i < n; i++) {
			flood[i].again = 1000;
			job_post(&flood[i], i, false);
		}
		/* no other caller: all are executed, with visits between */
		for (i = 0; i < 10000 && rmc_calls_left(&calls); i++)
			visit_and_call();
		CHECK_EQ(made, 1001 * n);
		CHECK_EQ(most, BUDGET);
		CHECK_EQ(visits, (1001 * n + BUDGET - 1) / BUDGET);
	}
	tap_result("calls that post themselves again do not keep the visits from happening");
}

static void test_endless(void)
{
	struct job a = { .again = 10000 }, b = { .again = 10000 }, waits = { 0 };
	u32 i;

	setup();
	job_post(&a, 1, false);
	job_post(&b, 2, false);
	visit_and_call();
	CHECK_EQ(made, BUDGET);
	job_post(&waits, 3, true);
	/* earlier calls are executed first, and none twice */
	visit_and_call();
	CHECK_EQ(waits.done.done, 1);
	CHECK_EQ(made, BUDGET + 3);
	for (i = 0; i < 100; i++)
		visit_and_call();
	CHECK_EQ(made, BUDGET + 3 + 100 * BUDGET);
	CHECK_EQ(visits, 102);
	tap_result("a call that somebody waits for is made while others post without end");
}

/* Calls that post further calls, which post further ones ... */
static void test_chain(void)
{
	struct job chain[MANY] = { 0 };
	u32 i;

	setup();
	for (i = 0; i < MANY; i++) {
		chain[i].number = i;
		chain[i].call.fn = job_run;
		chain[i].call.arg = &chain[i];
		chain[i].other = i + 1 < MANY ? &chain[i + 1] : NULL;
	}
	rmc_calls_add(&calls, &chain[0].call);
	for (i = 0; rmc_calls_left(&calls) && i < MANY; i++)
		visit_and_call();
	CHECK_EQ(made, MANY);
	CHECK_EQ(most, BUDGET);
	tap_result("calls that post others");
}

static void test_waited_for(void)
{
	u32 i;

	setup();
	for (i = 0; i < MANY; i++)
		job_post(NULL, i, true);
	for (i = 0; i < MANY; i++) {
		CHECK_EQ(made, i);
		visit_and_call();
		CHECK_EQ(completed, i + 1);
		CHECK_EQ(prepared, i + 1);
		CHECK_EQ(order[i], i);
	}
	/* before each, not after */
	CHECK_EQ(prepared_for, MANY * (MANY + 1) / 2);
	CHECK(!rmc_calls_left(&calls));
	tap_result("calls that somebody waits for: in order, one between two visits");
}

/* posted, waited for, posted ...: a waiter's call comes after those posted before it */
static void test_mixed(void)
{
	u32 i, before;

	setup();
	for (i = 0; i < 12; i++)
		job_post(NULL, i, i % 4 == 3);
	for (i = 0; i < 3; i++) {
		before = made;
		visit_and_call();
		CHECK_EQ(made - before, 4);
		CHECK_EQ(completed, i + 1);
	}
	/* as many posted as fit, and one with a waiter */
	for (i = 12; i < 12 + BUDGET; i++)
		job_post(NULL, i, false);
	job_post(NULL, i, true);
	visit_and_call();
	CHECK_EQ(completed, 3);
	visit_and_call();
	CHECK_EQ(completed, 4);
	for (i = 0; i < orders; i++)
		CHECK_EQ(order[i], i);
	CHECK_EQ(orders, 12 + BUDGET + 1);
	tap_result("both kinds: in the order in which they were posted");
}

int main(void)
{
	test_none();
	test_order();
	test_flood();
	test_endless();
	test_chain();
	test_waited_for();
	test_mixed();
	return tap_done();
}
