/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Calls of <rmc/rpc.h> over domains, for test_domain.c: node 0 calls, the test is the other nodes. */
#ifndef DOMAIN_RPC_H
#define DOMAIN_RPC_H

#include <rmc/rpc.h>

#define RPC_WINDOW	4
#define REQUEST		1U
#define RESPONSE	2U

/* As lib/rpc.c sends it */
struct rpc_message {
	uint32_t kind;
	int32_t ticket, result;
	uint32_t reserved;
	uint64_t value;
};

static struct rmc_rpc *rpc;

static struct rmc_domain_options as_of_calls(void)
{
	struct rmc_domain_options o = with_answers(RPC_WINDOW, 4);

	o.max_message = o.max_answer = sizeof(struct rpc_message);
	return o;
}

static void open_rpc(void)
{
	struct rmc_rpc_options calls = {
		.max = sizeof(uint64_t), .window = RPC_WINDOW, .nodes = FAKE_NODES,
	};
	struct rmc_domain_options o = as_of_calls();
	int i;

	alarm(PATIENCE_S);
	fake_begin();
	for (i = 1; i < FAKE_NODES; i++) {
		domain[i] = rmc_domain_open_with(fake_ctx(i), &o);
		core[i] = domain[i] ? rmc_core_open(domain[i], 0, RMC_CORE_NO_JOIN) : NULL;
	}
	rpc = rmc_rpc_open_domain(fake_ctx(0), &calls);
	if (!rpc || !core[1] || !core[2]) {
		printf("Bail out! %s\n", rmc_errmsg());
		exit(1);
	}
	for (i = 1; i < FAKE_NODES; i++)
		CHECK_EQ(rmc_core_join(core[i], 0), 0);
}

static void close_rpc(void)
{
	int i;

	rmc_rpc_close(rpc);
	for (i = 1; i < FAKE_NODES; i++) {
		rmc_core_close(core[i]);
		rmc_domain_close(domain[i]);
	}
	CHECK_EQ(fake_left, 0);
	alarm(0);
}

static int post_call(int nid, uint64_t value, uint64_t *response)
{
	*response = 0;
	return rmc_rpc_post(rpc, nid, &value, sizeof(value), response, sizeof(*response));
}

/* As a server: to the next request, or one that was taken before; the response is complete then. */
static void serve_call(int nid, const struct rmc_arrival *m)
{
	struct rpc_message r = { 0 };

	memcpy(&r, rmc_arrival_data(core[nid], m), sizeof(r));
	CHECK_EQ(r.kind, REQUEST);
	r.kind = RESPONSE;
	r.result = sizeof(r.value);
	r.value++;
	CHECK_EQ(rmc_respond(core[nid], m, &r, sizeof(r)), 0);
	CHECK_EQ(rmc_core_flush(core[nid]), 0);
}

static void check_response(int ticket, const uint64_t *response, uint64_t value)
{
	int result = 0, failed = 1;

	CHECK_EQ(rmc_rpc_poll(rpc, ticket, &result, &failed), 1);
	CHECK_EQ(failed, 0);
	CHECK_EQ(result, sizeof(value));
	CHECK_EQ(*response, value + 1);
}

static void check_failed(int ticket, int status)
{
	int result = 0, failed = 0;

	CHECK_EQ(rmc_rpc_poll(rpc, ticket, &result, &failed), 1);
	CHECK_EQ(failed, 1);
	CHECK_EQ(result, status);
}

/* A member has answered one of its calls when it ends: that answer is not lost with the others. */
static void answered_before_the_end(void)
{
	uint64_t response[RPC_WINDOW];
	int ticket[3], i, round;
	struct rmc_arrival m[2];

	for (round = 0; round < 2; round++) {
		open_rpc();
		for (i = 0; i < 2; i++)
			ticket[i] = post_call(1, (uint64_t)i, &response[i]);
		for (i = 0; i < 2; i++)
			CHECK_EQ(rmc_arrival_wait(core[1], &m[i], 0, 10000), 1);
		/* not the first one, which comes first */
		serve_call(1, &m[1]);
		set_down(1, 1);
		/* the core learns of it; the calls do not yet */
		ticket[2] = post_call(1, 2, &response[2]);
		CHECK(ticket[2] >= 0);
		CHECK_EQ(rmc_rpc_flush(rpc, 1), 0);
		/* nor do they by a further one */
		if (round)
			CHECK_EQ(post_call(1, 3, &response[3]), -EAGAIN);
		CHECK_EQ(rmc_rpc_lost(rpc, 1), 0);
		CHECK(rmc_rpc_progress(rpc) > 0);
		check_response(ticket[1], &response[1], 1);
		check_failed(ticket[0], RMC_S_NODE_DOWN);
		check_failed(ticket[2], RMC_S_NODE_DOWN);
		CHECK_EQ(rmc_rpc_lost(rpc, 1), RMC_S_NODE_DOWN);
		CHECK_EQ(post_call(1, 3, &response[3]), -ENODEV);
		set_down(1, 0);
		close_rpc();
	}
}

static int asked_of_1;

/* Called with the lock */
static int slow_joins(int from, const struct fake_op *op)
{
	if (!from && op->op == RMC_OP_JOIN)
		usleep(3000);
	return FAKE_GO;
}

static int count_joins(int from, const struct fake_op *op)
{
	asked_of_1 += !from && op->op == RMC_OP_JOIN && op->nid == 1;
	return FAKE_GO;
}

/* The calls' core has asked node 1 whether it lives, and knows the answer. */
static void until_asked(void)
{
	uint64_t end = rmc_now_ms() + 10000;
	int asked;

	fake_lock();
	asked_of_1 = 0;
	fake_fate = count_joins;
	fake_unlock();
	do {
		CHECK(rmc_rpc_progress(rpc) >= 0);
		fake_lock();
		asked = asked_of_1;
		fake_unlock();
	} while (!asked && rmc_now_ms() < end);
	CHECK(asked);
	CHECK_EQ(rmc_rpc_flush(rpc, 1), 0);
}

/*
 * A member is restarted, and dies once more before all requests of its first incarnation are served:
 * a rejoin that comes then is not the end of the one before, which joined a life that is gone.
 */
static void rejoin_twice(void)
{
	struct rpc_message request = { .kind = REQUEST };
	struct rmc_domain_options o = as_of_calls();
	struct rmc_arrival m;
	struct rmc_call call;
	uint64_t response;
	int ticket;

	open_rpc();
	/* a request that nobody has served */
	CHECK_EQ(rmc_core_join(core[2], 2), 0);
	CHECK_EQ(rmc_call_send(core[2], 0, &request, sizeof(request), 0, &call), 0);
	CHECK_EQ(rmc_core_flush(core[2]), 0);
	begin_anew(1, &o);
	set_fate(slow_joins);
	CHECK_EQ(rmc_rpc_rejoin(rpc, 1, 1), -ETIMEDOUT);
	set_fate(NULL);
	begin_anew(1, &o);
	until_asked();
	CHECK_EQ(rmc_rpc_lost(rpc, 1), RMC_S_BAD_CONTEXT);
	CHECK_EQ(rmc_rpc_rejoin(rpc, 1, 10000), 0);
	CHECK_EQ(rmc_rpc_lost(rpc, 1), 0);
	ticket = post_call(1, 7, &response);
	CHECK(ticket >= 0);
	if (ticket >= 0) {
		CHECK_EQ(rmc_arrival_wait(core[1], &m, 0, 10000), 1);
		serve_call(1, &m);
		check_response(ticket, &response, 7);
	}
	close_rpc();
}

#endif
