/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Calls, for test_domain.c: answers, many at a time, losses, peers that go. */
#ifndef DOMAIN_CALLS_H
#define DOMAIN_CALLS_H

static struct rmc_domain_options with_answers(unsigned int slots, unsigned int depth)
{
	struct rmc_domain_options o = options(slots, depth);

	o.max_answer = 600;
	return o;
}

static int call_value(int nid, uint32_t value, struct rmc_call *call)
{
	return rmc_call_send(core[0], nid, &value, sizeof(value), 0, call);
}

/* Takes an arrival and answers it with its value + 1 in each word of len bytes. */
static void answer_one(struct rmc_core *c, size_t len)
{
	uint32_t words[150], value;
	struct rmc_arrival m;
	unsigned int i;

	CHECK_EQ(rmc_arrival_wait(c, &m, 50, 5000), 1);
	memcpy(&value, rmc_arrival_data(c, &m), sizeof(value));
	for (i = 0; i < 150; i++)
		words[i] = value + 1;
	CHECK_EQ(rmc_respond(c, &m, words, len), 0);
}

static void check_call(const struct rmc_call *call, uint32_t value, size_t length)
{
	const void *answer = NULL;
	uint32_t word = 0;
	size_t len = 9999;

	CHECK_EQ(rmc_call_wait(core[0], call, &answer, &len, 5000), 0);
	CHECK_EQ(len, length);
	if (len >= sizeof(word) && len <= 600) {
		memcpy(&word, answer, sizeof(word));
		CHECK_EQ(word, value + 1);
		memcpy(&word, (const char *)answer + len - sizeof(word), sizeof(word));
		CHECK_EQ(word, value + 1);
	}
	rmc_call_end(core[0], call);
	/* it has ended */
	CHECK_EQ(rmc_call_poll(core[0], call, &answer, &len), -EINVAL);
	rmc_call_end(core[0], call);
}

static void calls(void)
{
	struct rmc_domain_options o = with_answers(4, 4);
	struct rmc_call call[4], other;
	const void *answer;
	uint32_t i, value = 1;
	struct rmc_arrival m;
	size_t len;

	open_nodes(&o);
	CHECK_EQ(rmc_domain_max_answer(domain[0]), 600);
	for (i = 0; i < 600; i += 4) {
		CHECK_EQ(call_value(1, i, &call[0]), 0);
		CHECK_EQ(call[0].nid, 1);
		answer_one(core[1], i + 4);
		check_call(&call[0], i, i + 4);
	}
	/* several, answered in another order; no room for more */
	for (i = 0; i < 4; i++)
		CHECK_EQ(call_value(1, 100 + i, &call[i]), 0);
	CHECK_EQ(rmc_call_send(core[0], 1, &value, 4, RMC_SEND_DONTWAIT, &other), -EAGAIN);
	CHECK_EQ(rmc_call_poll(core[0], &call[3], &answer, &len), -EAGAIN);
	CHECK_EQ(rmc_call_wait(core[0], &call[3], &answer, &len, 20), -ETIMEDOUT);
	for (i = 0; i < 4; i++)
		answer_one(core[1], 8);
	CHECK_EQ(rmc_call_wait(core[0], &call[3], &answer, &len, 5000), 0);
	/* answered, but its answer may still be read */
	CHECK_EQ(rmc_call_send(core[0], 1, &value, 4, RMC_SEND_DONTWAIT, &other), -EAGAIN);
	for (i = 4; i-- > 0;)
		check_call(&call[i], 100 + i, 8);
	/* received only, or answered with nothing */
	CHECK_EQ(call_value(1, 7, &call[0]), 0);
	CHECK_EQ(rmc_arrival_wait(core[1], &m, 0, 5000), 1);
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	check_call(&call[0], 7, 0);
	CHECK_EQ(call_value(1, 8, &call[0]), 0);
	CHECK_EQ(rmc_arrival_wait(core[1], &m, 0, 5000), 1);
	CHECK_EQ(rmc_respond(core[1], &m, NULL, 0), 0);
	check_call(&call[0], 8, 0);
	/* nobody waits for the answer: neither of a call that has ended nor of a message */
	for (i = 0; i < 20; i++) {
		if (i & 1) {
			CHECK_EQ(call_value(1, i, &call[0]), 0);
			rmc_call_end(core[0], &call[0]);
		} else {
			CHECK_EQ(send_value(core[0], 1, 4, i, 0), 0);
		}
		answer_one(core[1], 8);
		CHECK_EQ(rmc_core_flush(core[1]), 0);
	}
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	CHECK_EQ(rmc_domain_room(domain[0], 1), 4);
	/* what is refused */
	CHECK_EQ(call_value(1, 9, &call[0]), 0);
	CHECK_EQ(rmc_arrival_wait(core[1], &m, 0, 5000), 1);
	CHECK_EQ(rmc_respond(core[1], &m, &value, 601), -EMSGSIZE);
	CHECK_EQ(rmc_respond(core[1], &m, NULL, 4), -EINVAL);
	m.slot += 4;
	CHECK_EQ(rmc_respond(core[1], &m, &value, 4), -EINVAL);
	m.slot -= 4;
	CHECK_EQ(rmc_respond(core[1], &m, &value, 4), 0);
	other = call[0];
	other.turn++;
	CHECK_EQ(rmc_call_poll(core[0], &other, &answer, &len), -EINVAL);
	other.nid = FAKE_NODES;
	CHECK_EQ(rmc_call_poll(core[0], &other, &answer, &len), -EINVAL);
	rmc_call_end(core[0], &other);
	CHECK_EQ(rmc_call_wait(core[0], &call[0], &answer, &len, 5000), 0);
	rmc_call_end(core[0], &call[0]);
	close_nodes();
	o = options(2, 2);
	open_nodes(&o);
	CHECK_EQ(call_value(1, 1, &call[0]), -EOPNOTSUPP);
	CHECK_EQ(send_value(core[0], 1, 4, 1, 0), 0);
	CHECK_EQ(rmc_arrival_wait(core[1], &m, 0, 5000), 1);
	CHECK_EQ(rmc_respond(core[1], &m, &value, 4), -EOPNOTSUPP);
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	close_nodes();
	o = with_answers(2, 2);
	o.max_answer = 5000;
	CHECK(!rmc_domain_open_with(fake_ctx(0), &o));
	CHECK(strstr(rmc_errmsg(), "answers of 5000 bytes: this RMC has 0 .. 4096"));
}

/* A call is of the core that made it: another one neither polls nor ends it. */
static void calls_of_others(void)
{
	struct rmc_domain_options o = with_answers(1, 1);
	const void *answer;
	struct rmc_core *other;
	struct rmc_call call;
	size_t len;

	open_nodes(&o);
	other = rmc_core_open(domain[0], 0, RMC_CORE_SEND_ONLY);
	CHECK(other);
	CHECK_EQ(call_value(1, 1, &call), 0);
	answer_one(core[1], 8);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	CHECK_EQ(rmc_call_poll(other, &call, &answer, &len), -EINVAL);
	rmc_call_end(other, &call);
	check_call(&call, 1, 8);
	rmc_core_close(other);
	close_nodes();
}

/* What is lost: the message, which is sent again, or the answer, which is not. */
static void lost_calls(void)
{
	struct rmc_domain_options o = with_answers(2, 2);
	struct rmc_call call, again;
	const void *answer;
	uint64_t before;
	size_t len;

	o.timeout_ms = 300;
	open_nodes(&o);
	next(RMC_OP_SEND, RMC_S_TIMEOUT, 3);
	CHECK_EQ(call_value(1, 1, &call), 0);
	while (fates_left())
		CHECK_EQ(rmc_call_poll(core[0], &call, &answer, &len), -EAGAIN);
	/* given up while it is in doubt: the slot is free once it was processed */
	next(RMC_OP_SEND, FAKE_LATE, 1);
	CHECK_EQ(call_value(1, 2, &again), 0);
	rmc_call_end(core[0], &again);
	/* it goes on meanwhile */
	CHECK_EQ(rmc_call_wait(core[0], &call, &answer, &len, 50), -ETIMEDOUT);
	answer_one(core[1], 8);
	answer_one(core[1], 8);
	check_call(&call, 1, 8);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	CHECK_EQ(rmc_domain_room(domain[0], 1), 2);
	/* the answer is there, though its sender does not know */
	next(RMC_OP_REPLY, FAKE_LATE, 1);
	CHECK_EQ(call_value(1, 3, &call), 0);
	answer_one(core[1], 8);
	check_call(&call, 3, 8);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	/* it is lost: who called asks, and waits for one that may be on its way */
	next(RMC_OP_REPLY, FAKE_DEAF, 1);
	CHECK_EQ(call_value(1, 4, &call), 0);
	answer_one(core[1], 8);
	before = rmc_now_ms();
	CHECK_EQ(rmc_call_wait(core[0], &call, &answer, &len, 5000), RMC_S_TIMEOUT);
	CHECK(rmc_now_ms() - before >= 300);
	rmc_call_end(core[0], &call);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	/* the slot comes back when there is no room for long */
	CHECK_EQ(call_value(1, 5, &call), 0);
	CHECK_EQ(call_value(1, 6, &again), 0);
	answer_one(core[1], 8);
	answer_one(core[1], 8);
	check_call(&call, 5, 8);
	check_call(&again, 6, 8);
	close_nodes();
}

/* The peer dies, or begins anew, before it has answered. */
static int held_back;

/* SENDs to node 2 wait, then it is down. */
static int goes_down(int from, const struct fake_op *op)
{
	(void)from;
	if (op->op != RMC_OP_SEND || op->nid != 2)
		return FAKE_GO;
	while (__atomic_load_n(&held_back, __ATOMIC_ACQUIRE)) {
		fake_unlock();
		usleep(100);
		fake_lock();
	}
	return RMC_S_NODE_DOWN;
}

/* All memory for messages is parked, for a peer that is given up, and others are answered. */
static void answers_without_memory(void)
{
	struct rmc_domain_options o = with_answers(32, 4);
	struct rmc_arrival m;
	int i, err;

	o.entries = 16;
	open_nodes(&o);
	for (i = 0; i < 3; i++)
		CHECK_EQ(send_value(core[1], 0, 8, 1, 0), 0);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	__atomic_store_n(&held_back, 1, __ATOMIC_RELEASE);
	fake_lock();
	fake_fate = goes_down;
	fake_unlock();
	do
		err = send_value(core[0], 2, 8, 1, RMC_SEND_DONTWAIT);
	while (!err);
	CHECK_EQ(err, -EAGAIN);
	__atomic_store_n(&held_back, 0, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_core_flush(core[0]), RMC_S_NODE_DOWN);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(rmc_arrival_wait(core[0], &m, 50, 5000), 1);
		CHECK_EQ(i ? rmc_respond(core[0], &m, &i, sizeof(i)) : rmc_receive(core[0], &m), 0);
	}
	fake_lock();
	fake_fate = NULL;
	fake_unlock();
	close_nodes();
}

static void calls_to_the_dead(void)
{
	struct rmc_domain_options o = with_answers(2, 2);
	struct rmc_call call;
	const void *answer;
	size_t len;

	o.timeout_ms = 300;
	open_nodes(&o);
	CHECK_EQ(call_value(1, 1, &call), 0);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	fake_lock();
	fake_down[1] = 1;
	fake_unlock();
	/* it asks by itself */
	CHECK_EQ(rmc_call_wait(core[0], &call, &answer, &len, 5000), RMC_S_NODE_DOWN);
	rmc_call_end(core[0], &call);
	CHECK_EQ(call_value(1, 1, &call), RMC_S_NODE_DOWN);
	CHECK_EQ(rmc_core_flush(core[0]), RMC_S_NODE_DOWN);
	fake_lock();
	fake_down[1] = 0;
	fake_unlock();
	CHECK_EQ(rmc_core_join(core[0], 1), 0);
	answer_one(core[1], 8);
	CHECK_EQ(call_value(1, 2, &call), 0);
	answer_one(core[1], 8);
	check_call(&call, 2, 8);
	/* another domain */
	CHECK_EQ(call_value(1, 3, &call), 0);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	rmc_domain_close(domain[1]);
	domain[1] = rmc_domain_open_with(fake_ctx(1), &o);
	core[1] = rmc_core_open(domain[1], 0, RMC_CORE_NO_JOIN);
	CHECK_EQ(rmc_call_wait(core[0], &call, &answer, &len, 5000), RMC_S_DOMAIN_MISMATCH);
	CHECK_EQ(rmc_core_join(core[0], 1), 0);
	CHECK_EQ(rmc_call_poll(core[0], &call, &answer, &len), RMC_S_DOMAIN_MISMATCH);
	rmc_call_end(core[0], &call);
	CHECK_EQ(rmc_core_join(core[1], 0), 0);
	CHECK_EQ(call_value(1, 4, &call), 0);
	answer_one(core[1], 8);
	check_call(&call, 4, 8);
	close_nodes();
}

/* A core closes with calls that go on: others have their slots when the peer has answered. */
static void closing_with_calls(void)
{
	struct rmc_domain_options o = with_answers(2, 2);
	struct rmc_core *other;
	struct rmc_call call;
	uint32_t value = 7;

	open_nodes(&o);
	other = rmc_core_open(domain[0], 0, RMC_CORE_SEND_ONLY);
	CHECK(other);
	CHECK_EQ(rmc_call_send(other, 1, &value, sizeof(value), 0, &call), 0);
	CHECK_EQ(rmc_core_flush(other), 0);
	rmc_core_close(other);
	CHECK_EQ(rmc_domain_room(domain[0], 1), 1);
	answer_one(core[1], 8);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	CHECK_EQ(rmc_domain_room(domain[0], 1), 2);
	CHECK_EQ(call_value(1, 1, &call), 0);
	answer_one(core[1], 8);
	check_call(&call, 1, 8);
	close_nodes();
}

/* A core closes before its answer has gone: the slot of an earlier message of it is another core's. */
static void closing_with_an_answer(void)
{
	struct rmc_domain_options o = with_answers(1, 1);
	const void *answer = NULL;
	uint32_t value = 7, word;
	struct rmc_core *other;
	struct rmc_arrival m;
	struct rmc_call call;
	size_t len = 0;
	int err;

	open_nodes(&o);
	other = rmc_core_open(domain[0], 0, RMC_CORE_SEND_ONLY);
	CHECK(other);
	transfer(0, 1, 8, 1);
	CHECK_EQ(rmc_call_send(other, 1, &value, sizeof(value), 0, &call), 0);
	CHECK_EQ(rmc_core_flush(other), 0);
	CHECK_EQ(send_value(core[2], 0, 8, 2, 0), 0);
	CHECK(has(core[0], &m, 8, 2));
	next(RMC_OP_REPLY, FAKE_HOLD, 1);
	CHECK_EQ(rmc_respond(core[0], &m, &value, sizeof(value)), 0);
	rmc_core_close(core[0]);
	CHECK_EQ(fates_left(), 0);
	core[0] = rmc_core_open(domain[0], 0, 0);
	CHECK(core[0]);
	answer_one(core[1], 8);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	/* it was not read */
	err = send_value(core[0], 1, 8, 3, RMC_SEND_DONTWAIT);
	CHECK_EQ(err, -EAGAIN);
	CHECK_EQ(rmc_call_wait(other, &call, &answer, &len, 5000), 0);
	CHECK_EQ(len, 8);
	if (len == 8) {
		memcpy(&word, answer, sizeof(word));
		CHECK_EQ(word, value + 1);
	}
	rmc_call_end(other, &call);
	if (err == -EAGAIN)
		transfer(0, 1, 8, 3);
	rmc_core_close(other);
	close_nodes();
}

/* The number of a slot's message wraps. */
static void calls_wrap(void)
{
	struct rmc_domain_options o = with_answers(1, 1);
	struct rmc_call call;
	uint32_t i;

	open_nodes(&o);
	for (i = 0; i < 255; i++)
		transfer(0, 1, 8, i);
	slot_of(domain[0], 1, 0)->turn |= 0xffffff00;
	for (i = 0; i < 3; i++) {
		CHECK_EQ(call_value(1, i, &call), 0);
		CHECK_EQ(call.turn, i);
		answer_one(core[1], 8);
		check_call(&call, i, 8);
	}
	close_nodes();
}

/* The message is there, and then the peer says nothing any more, not even that it lives. */
static void silent_peer(void)
{
	struct rmc_domain_options o = with_answers(2, 2);
	struct rmc_call call;
	const void *answer;
	size_t len;

	o.timeout_ms = 300;
	open_nodes(&o);
	CHECK_EQ(call_value(1, 1, &call), 0);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	next(RMC_OP_JOIN, RMC_S_TIMEOUT, 1000000);
	CHECK_EQ(rmc_call_wait(core[0], &call, &answer, &len, 20000), RMC_S_TIMEOUT);
	rmc_call_end(core[0], &call);
	next(RMC_OP_JOIN, RMC_S_TIMEOUT, 0);
	CHECK_EQ(rmc_core_lost(core[0], 1), RMC_S_TIMEOUT);
	CHECK_EQ(rmc_core_lost(core[0], 2), 0);
	CHECK_EQ(rmc_core_lost(core[0], 99), -EINVAL);
	answer_one(core[1], 8);
	close_nodes();
}

/* A core that only waits learns by asking that its peer is gone. */
static void probing(void)
{
	struct rmc_domain_options o = with_answers(2, 2);
	uint64_t end;

	open_nodes(&o);
	end = rmc_now_ms() + 300;
	while (rmc_now_ms() < end)
		CHECK_EQ(rmc_core_probe(core[0]), 0);
	CHECK_EQ(rmc_core_lost(core[0], 1), 0);
	rmc_core_close(core[1]);
	rmc_domain_close(domain[1]);
	end = rmc_now_ms() + 5000;
	while (!rmc_core_lost(core[0], 1) && rmc_now_ms() < end)
		CHECK_EQ(rmc_core_probe(core[0]), 0);
	CHECK_EQ(rmc_core_lost(core[0], 1), RMC_S_NO_DOMAIN);
	CHECK_EQ(rmc_core_lost(core[0], 2), 0);
	CHECK_EQ(rmc_core_flush(core[0]), RMC_S_NO_DOMAIN);
	domain[1] = rmc_domain_open_with(fake_ctx(1), &o);
	core[1] = rmc_core_open(domain[1], 0, RMC_CORE_NO_JOIN);
	close_nodes();
}

/*
 * What an event loop has armed for is not lost in a call that waits, either; and a core that closes waits
 * no more.
 */
static void call_that_waits(void)
{
	struct rmc_domain_options o = with_answers(1, 1);
	struct rmc_core *other;
	struct rmc_arrival m;
	const void *answer;
	struct rmc_call call;
	struct pollfd p;
	size_t len;

	open_nodes(&o);
	p = (struct pollfd) { .fd = rmc_core_eventfd(core[0]), .events = POLLIN };
	CHECK_EQ(rmc_core_arm(core[0]), 0);
	transfer_to_loop(&p);
	CHECK_EQ(call_value(1, 1, &call), 0);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	/* nothing happens while it sleeps */
	CHECK_EQ(rmc_call_wait(core[0], &call, &answer, &len, 50), -ETIMEDOUT);
	CHECK_EQ(poll(&p, 1, 0), 1);
	answer_one(core[1], 8);
	check_call(&call, 1, 8);
	CHECK(has(core[0], &m, 8, 9));
	CHECK_EQ(rmc_receive(core[0], &m), 0);
	other = rmc_core_open(domain[0], 0, RMC_CORE_SEND_ONLY);
	CHECK(other);
	CHECK_EQ(rmc_core_arm_room(other), 0);
	CHECK_EQ(domain[0]->room_waits, 1);
	rmc_core_close(other);
	CHECK_EQ(domain[0]->room_waits, 0);
	close_nodes();
}

#define CALLERS	3
#define CALLS	1500

static int callers;

static void *caller(void *arg)
{
	uint32_t first = (uint32_t)(uintptr_t)arg * CALLS, i, word;
	struct rmc_core *c = rmc_core_open(domain[0], 0, RMC_CORE_SEND_ONLY);
	const void *answer = NULL;
	struct rmc_call call;
	size_t len = 0;

	CHECK(c);
	for (i = first; c && i < first + CALLS; i++) {
		CHECK_EQ(rmc_call_send(c, 1, &i, sizeof(i), 0, &call), 0);
		CHECK_EQ(rmc_call_wait(c, &call, &answer, &len, -1), 0);
		/* who is done waits for no room, even if that came before it slept */
		CHECK(!to_core(c)->room_armed);
		CHECK_EQ(len, 8);
		memcpy(&word, answer, sizeof(word));
		CHECK_EQ(word, i + 1);
		rmc_call_end(c, &call);
	}
	CHECK_EQ(rmc_core_flush(c), 0);
	rmc_core_close(c);
	__atomic_fetch_add(&callers, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Cores that share slots call, and sleep for room and answers. */
static void calling_threads(void)
{
	struct rmc_domain_options o = with_answers(2, 2);
	pthread_t thread[CALLERS];
	unsigned int i;

	open_nodes(&o);
	callers = 0;
	for (i = 0; i < CALLERS; i++)
		pthread_create(&thread[i], NULL, caller, (void *)(uintptr_t)i);
	for (i = 0; i < CALLERS * CALLS; i++)
		answer_one(core[1], 8);
	for (i = 0; i < CALLERS; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(callers, CALLERS);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	CHECK_EQ(rmc_domain_room(domain[0], 1), 2);
	close_nodes();
}

#endif
