// SPDX-License-Identifier: GPL-2.0
/* Waiting for messages by io_uring commands: arrivals, completions, free send slots, answers. */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include "common.h"
#include "ring.h"

#define SLOTS	4
#define ALL	(RMC_URING_MSG_CQ | RMC_URING_MSG_AQ | RMC_URING_MSG_ROOM)

/* A node with a domain and a core */
struct member {
	struct rmc_ctx *ctx;
	struct rmc_domain *domain;
	struct rmc_core *core;
};

static void open_member(struct member *m, int nid)
{
	struct rmc_domain_options o;

	rmc_domain_defaults(&o);
	o.nodes = 4;
	o.slots = SLOTS;
	o.max_answer = 64;
	m->ctx = rmc_open(CTX, nid);
	REQUIRE(m->ctx);
	if (!rmc_uring_works_for_cores(m->ctx))
		SKIP("this kernel has no io_uring");
	m->domain = rmc_domain_open_with(m->ctx, &o);
	REQUIRE(m->domain);
	m->core = rmc_core_open(m->domain, 0, RMC_CORE_NO_JOIN);
	REQUIRE(m->core);
}

static void close_member(struct member *m)
{
	rmc_domain_close(m->domain);
	rmc_close(m->ctx);
}

static void two_members(struct member *a, struct member *b)
{
	open_member(a, 0);
	open_member(b, 1);
	REQUIRE_EQ(rmc_core_join(a->core, 1), 0);
	REQUIRE_EQ(rmc_core_join(b->core, 0), 0);
}

static void submit(struct ring *r, const struct member *m, unsigned int sources, uint64_t data)
{
	struct io_uring_sqe *sqe = get(r);

	rmc_uring_prep_wait_core(sqe, m->core, sources);
	sqe->user_data = data;
	REQUIRE_EQ(enter(r, 0), 1);
}

/* A command with any contents */
static void submit_raw(struct ring *r, const struct member *m, struct rmc_uring_wait_msg wait)
{
	struct io_uring_sqe *sqe = get(r);

	rmc_uring_prep_wait_core(sqe, m->core, 0);
	memcpy((unsigned char *)sqe + RMC_URING_SQE_CMD, &wait, sizeof(wait));
	REQUIRE_EQ(enter(r, 0), 1);
}

#define CHECK_CQE(r, want_data, want_source) do {				\
	int res_ = 0;								\
	CHECK_EQ(reap(r, &res_, 5000), want_data);				\
	CHECK_EQ(res_ < 0 ? res_ : res_ & (int)RMC_URING_SOURCE_MASK, want_source);	\
} while (0)

#define CHECK_QUIET(r, ms) do {							\
	int res_ = 0;								\
	CHECK_EQ(reap(r, &res_, ms), -1);					\
} while (0)

static void send_one(struct member *m, int nid)
{
	REQUIRE_EQ(rmc_send(m->core, nid, "message", 8, 0), 0);
	REQUIRE_EQ(rmc_core_flush(m->core), 0);
}

static void take(struct member *m, struct rmc_arrival *a)
{
	REQUIRE_EQ(rmc_arrival_next(m->core, a), 1);
	CHECK_EQ(a->len, 8);
}

TEST(an_arrival_completes_the_command)
{
	struct rmc_arrival arrival;
	struct member a, b;
	struct ring r;
	int res = 0;

	two_members(&a, &b);
	ring_open(&r);
	submit(&r, &b, RMC_URING_MSG_AQ, 7);
	CHECK_QUIET(&r, 100);
	send_one(&a, 1);
	CHECK_EQ(reap(&r, &res, 5000), 7);
	CHECK_EQ(res, RMC_URING_MSG_AQ | 1 << RMC_URING_COUNT_SHIFT);
	/* what came before completes it at once */
	submit(&r, &b, RMC_URING_MSG_AQ, 8);
	CHECK_CQE(&r, 8, RMC_URING_MSG_AQ);
	take(&b, &arrival);
	REQUIRE_EQ(rmc_receive(b.core, &arrival), 0);
	REQUIRE_EQ(rmc_core_flush(b.core), 0);
	submit(&r, &b, RMC_URING_MSG_AQ, 9);
	CHECK_QUIET(&r, 100);
	send_one(&a, 1);
	CHECK_CQE(&r, 9, RMC_URING_MSG_AQ);
	close_member(&a);
	close_member(&b);
}

/* A sender without room, and one that waits for its answer; both try once more after submitting. */
TEST(a_free_slot_and_an_answer_complete_the_command)
{
	struct rmc_arrival arrival[SLOTS];
	const void *answer = NULL;
	struct rmc_call call;
	struct member a, b;
	size_t len = 0;
	struct ring r;
	int i;

	two_members(&a, &b);
	ring_open(&r);
	for (i = 0; i < SLOTS; i++)
		send_one(&a, 1);
	CHECK_EQ(rmc_send(a.core, 1, "m", 2, RMC_SEND_DONTWAIT), -EAGAIN);
	submit(&r, &a, RMC_URING_MSG_ROOM, 1);
	CHECK_EQ(rmc_send(a.core, 1, "m", 2, RMC_SEND_DONTWAIT), -EAGAIN);
	CHECK_QUIET(&r, 100);
	take(&b, &arrival[0]);
	REQUIRE_EQ(rmc_receive(b.core, &arrival[0]), 0);
	REQUIRE_EQ(rmc_core_flush(b.core), 0);
	CHECK_CQE(&r, 1, RMC_URING_MSG_ROOM);
	REQUIRE_EQ(rmc_call_send(a.core, 1, "message", 8, RMC_SEND_DONTWAIT, &call), 0);
	REQUIRE_EQ(rmc_core_flush(a.core), 0);
	/* one that became free before is no event */
	submit(&r, &a, RMC_URING_MSG_ROOM, 2);
	CHECK_EQ(rmc_call_poll(a.core, &call, &answer, &len), -EAGAIN);
	CHECK_QUIET(&r, 100);
	for (i = 0; i < SLOTS; i++) {
		struct pollfd none = { .fd = -1 };

		while (!rmc_arrival_next(b.core, &arrival[i]))
			poll(&none, 1, 1);
		REQUIRE_EQ(rmc_respond(b.core, &arrival[i], "yes", 4), 0);
		REQUIRE_EQ(rmc_core_flush(b.core), 0);
	}
	CHECK_CQE(&r, 2, RMC_URING_MSG_ROOM);
	CHECK_EQ(rmc_call_wait(a.core, &call, &answer, &len, 5000), 0);
	CHECK(len == 4 && !memcmp(answer, "yes", 4));
	rmc_call_end(a.core, &call);
	close_member(&a);
	close_member(&b);
}

/* Who looked for a slot may submit, or the kernel start its command, after one became free. */
TEST(a_slot_that_became_free_before_completes_one_command)
{
	struct rmc_arrival arrival;
	struct member a, b;
	struct ring r;
	int i;

	two_members(&a, &b);
	ring_open(&r);
	for (i = 0; i < SLOTS; i++)
		send_one(&a, 1);
	CHECK_EQ(rmc_send(a.core, 1, "m", 2, RMC_SEND_DONTWAIT), -EAGAIN);
	take(&b, &arrival);
	REQUIRE_EQ(rmc_receive(b.core, &arrival), 0);
	REQUIRE_EQ(rmc_core_flush(b.core), 0);
	submit(&r, &a, RMC_URING_MSG_ROOM, 1);
	CHECK_CQE(&r, 1, RMC_URING_MSG_ROOM);
	submit(&r, &a, RMC_URING_MSG_ROOM, 2);
	CHECK_QUIET(&r, 100);
	take(&b, &arrival);
	REQUIRE_EQ(rmc_receive(b.core, &arrival), 0);
	REQUIRE_EQ(rmc_core_flush(b.core), 0);
	CHECK_CQE(&r, 2, RMC_URING_MSG_ROOM);
	close_member(&a);
	close_member(&b);
}

/*
 * Whoever looked for a free slot before submitting is told of one that became free while no command
 * waited for it, also if the last command was armed for it but ended otherwise.
 */
TEST(a_slot_is_missed_by_nobody)
{
	struct rmc_arrival arrival;
	struct member a, b;
	struct ring r;
	int i;

	two_members(&a, &b);
	ring_open(&r);
	send_one(&a, 1);
	for (i = 0; i < 3; i++) {
		submit(&r, &a, RMC_URING_MSG_CQ | RMC_URING_MSG_ROOM, 1);
		CHECK_QUIET(&r, 50);
		send_one(&a, 1);
		CHECK_CQE(&r, 1, RMC_URING_MSG_CQ);
		take(&b, &arrival);
		REQUIRE_EQ(rmc_receive(b.core, &arrival), 0);
		REQUIRE_EQ(rmc_core_flush(b.core), 0);
		poll(NULL, 0, 20);
		submit(&r, &a, RMC_URING_MSG_ROOM, 2);
		CHECK_CQE(&r, 2, RMC_URING_MSG_ROOM);
		submit(&r, &a, RMC_URING_MSG_ROOM, 3);
		CHECK_QUIET(&r, 50);
		take(&b, &arrival);
		REQUIRE_EQ(rmc_receive(b.core, &arrival), 0);
		REQUIRE_EQ(rmc_core_flush(b.core), 0);
		CHECK_CQE(&r, 3, RMC_URING_MSG_ROOM);
		send_one(&a, 1);
	}
	close_member(&a);
	close_member(&b);
}

TEST(a_completion_completes_the_command)
{
	struct member a, b;
	struct ring r;

	two_members(&a, &b);
	ring_open(&r);
	submit(&r, &a, ALL, 1);
	CHECK_QUIET(&r, 50);
	REQUIRE_EQ(rmc_send(a.core, 1, "message", 8, 0), 0);
	CHECK_CQE(&r, 1, RMC_URING_MSG_CQ);
	REQUIRE_EQ(rmc_core_flush(a.core), 0);
	close_member(&a);
	close_member(&b);
}

/* One command per message and no other wakeup: a lost one ends the test. */
TEST(no_wakeup_is_lost)
{
	int i, n = ktap_rounds(1000), res;
	struct rmc_arrival arrival;
	struct member a, b;
	struct ring r, s;

	two_members(&a, &b);
	ring_open(&r);
	ring_open(&s);
	for (i = 0; i < n; i++) {
		if (i & 1)
			send_one(&a, 1);
		submit(&r, &b, RMC_URING_MSG_AQ, (uint64_t)i);
		if (!(i & 1))
			send_one(&a, 1);
		REQUIRE_EQ(reap(&r, &res, 5000), i);
		REQUIRE_EQ(res & (int)RMC_URING_SOURCE_MASK, RMC_URING_MSG_AQ);
		take(&b, &arrival);
		submit(&s, &a, RMC_URING_MSG_ROOM, (uint64_t)i);
		REQUIRE_EQ(rmc_receive(b.core, &arrival), 0);
		REQUIRE_EQ(rmc_core_flush(b.core), 0);
		REQUIRE_EQ(reap(&s, &res, 5000), i);
		REQUIRE_EQ(res & (int)RMC_URING_SOURCE_MASK, RMC_URING_MSG_ROOM);
	}
	CHECK_QUIET(&r, 20);
	CHECK_QUIET(&s, 20);
	close_member(&a);
	close_member(&b);
}

TEST(what_cannot_be_waited_for)
{
	struct rmc_core *sender;
	struct member a, b;
	struct rmc_qp *qp;
	struct ring r;
	uint32_t id;

	two_members(&a, &b);
	ring_open(&r);
	id = a.core->qp->id;
	submit_raw(&r, &a, (struct rmc_uring_wait_msg){ 0, id, 0, 0 });
	CHECK_CQE(&r, 0, -EINVAL);
	submit_raw(&r, &a, (struct rmc_uring_wait_msg){ ALL | 8, id, 0, 0 });
	CHECK_CQE(&r, 0, -EOPNOTSUPP);
	submit_raw(&r, &a, (struct rmc_uring_wait_msg){ ALL, 12345, 0, 0 });
	CHECK_CQE(&r, 0, -ENOENT);
	qp = rmc_qp_create(a.ctx, 16);
	REQUIRE(qp);
	submit_raw(&r, &a, (struct rmc_uring_wait_msg){ RMC_URING_MSG_CQ, qp->id, 0, 0 });
	CHECK_CQE(&r, 0, -ENOENT);
	/* a queue pair that only sends has no arrivals */
	sender = rmc_core_open(a.domain, 0, RMC_CORE_NO_JOIN | RMC_CORE_SEND_ONLY);
	REQUIRE(sender);
	id = sender->qp->id;
	submit_raw(&r, &a, (struct rmc_uring_wait_msg){ ALL, id, 0, 0 });
	CHECK_CQE(&r, 0, -ENOENT);
	submit_raw(&r, &a, (struct rmc_uring_wait_msg){ RMC_URING_MSG_ROOM, id, 0, 0 });
	CHECK_QUIET(&r, 20);
	rmc_core_close(sender);
	CHECK_CQE(&r, 0, -ESHUTDOWN);
	close_member(&a);
	close_member(&b);
}

/* The core ends, or the ring, with commands of all kinds that wait */
TEST(ends_in_each_order)
{
	struct member a, b;
	struct ring r;
	int i, k;

	for (i = 0; i < 3; i++) {
		two_members(&a, &b);
		ring_open(&r);
		for (k = 0; k < 8; k++) {
			submit(&r, &a, ALL, (uint64_t)k);
			submit(&r, &a, RMC_URING_MSG_AQ << k % 2, (uint64_t)k);
		}
		if (i == 0) {
			ring_close(&r);
			send_one(&b, 0);
		} else if (i == 1) {
			rmc_core_close(a.core);
			for (k = 0; k < 16; k++) {
				int res = 0;

				CHECK(reap(&r, &res, 5000) >= 0);
				CHECK_EQ(res, -ESHUTDOWN);
			}
			ring_close(&r);
		}
		close_member(&a);
		close_member(&b);
		if (i == 2)
			ring_close(&r);
	}
}

/* Two files of node 1 that share a domain, and a core of the second one */
static void open_pair(struct rmc_ctx **creator, struct rmc_domain **domain, struct member *m)
{
	struct rmc_domain_options o;

	*creator = rmc_open(CTX, 1);
	REQUIRE(*creator);
	if (!rmc_uring_works_for_cores(*creator))
		SKIP("this kernel has no io_uring");
	rmc_domain_defaults(&o);
	o.nodes = 4;
	o.slots = SLOTS;
	o.members = 2;
	*domain = rmc_domain_open_with(*creator, &o);
	REQUIRE(*domain);
	m->ctx = rmc_open(CTX, 1);
	REQUIRE(m->ctx);
	m->domain = rmc_domain_attach(m->ctx, 1, NULL);
	REQUIRE(m->domain);
	m->core = rmc_core_open(m->domain, 0, RMC_CORE_NO_JOIN);
	REQUIRE(m->core);
}

/* The creator ends the domain while commands of another file wait and are submitted: each ends. */
TEST(creator_ends_the_domain)
{
	struct rmc_domain *domain;
	struct rmc_ctx *creator;
	struct member m;
	struct ring r;
	int round, left, res;
	pid_t pid;

	for (round = 0; round < 10; round++) {
		open_pair(&creator, &domain, &m);
		ring_open(&r);
		pid = helper();
		if (!pid) {
			struct rmc_dom_destroy end = { .size = sizeof(end) };

			/* by the descriptor of the parent's file */
			usleep(300U * (unsigned int)round);
			_exit(ioctl(rmc_fd(creator), RMC_IOC_DOM_DESTROY, &end) != 0);
		}
		for (left = 0; left < 16; left++) {
			submit(&r, &m, ALL, 1);
			usleep(100);
		}
		CHECK(helper_ok(pid));
		for (; left; left--) {
			CHECK_EQ(reap(&r, &res, 5000), 1);
			CHECK_EQ(res, -ESHUTDOWN);
		}
		close_member(&m);
		rmc_domain_close(domain);
		rmc_close(creator);
		ring_close(&r);
	}
}

/* A process that waits is killed: its domain ends, and the next one has its place. */
TEST(killed_while_waiting)
{
	struct member a, b;
	struct ring r;
	pid_t pid;
	int i;

	/* skips where there is no io_uring */
	open_member(&a, 1);
	close_member(&a);
	for (i = 0; i < 5; i++) {
		pid = helper();
		if (!pid) {
			open_member(&b, 1);
			ring_open(&r);
			submit(&r, &b, ALL, 1);
			kill(getpid(), SIGKILL);
			pause();
		}
		CHECK(ktap_wait(pid, 10000) >= 0);
		/* io_uring releases a dead process's files a little later */
		for (a.domain = NULL; !a.domain; ) {
			struct rmc_domain_options o;

			rmc_domain_defaults(&o);
			o.nodes = 4;
			a.ctx = rmc_open(CTX, 1);
			REQUIRE(a.ctx);
			a.domain = rmc_domain_open_with(a.ctx, &o);
			if (!a.domain) {
				CHECK_EQ(errno, EEXIST);
				rmc_close(a.ctx);
				usleep(5000);
			}
		}
		close_member(&a);
	}
}

KTAP_MAIN(suite_missing)
