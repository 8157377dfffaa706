/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Native messages of the library, over nodes in this process (fake_domain.c): each message arrives
 * once, whatever is lost; what is given up, and how it comes back; sleeping for arrivals.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fake_domain.h"
#include "../../lib/domain/state.h"
#include "../tap.h"

#define PATIENCE_S	120
#define MAX		600		/* bytes of a message */

static struct rmc_domain *domain[FAKE_NODES];
static struct rmc_core *core[FAKE_NODES];

static struct rmc_domain_options options(unsigned int slots, unsigned int depth)
{
	struct rmc_domain_options o;

	rmc_domain_defaults(&o);
	o.slots = slots;
	o.depth = depth;
	o.max_message = MAX;
	o.entries = 16;
	o.timeout_ms = 2000;
	return o;
}

static void open_nodes(const struct rmc_domain_options *o)
{
	int i;

	alarm(PATIENCE_S);
	fake_begin();
	for (i = 0; i < FAKE_NODES; i++) {
		domain[i] = rmc_domain_open_with(fake_ctx(i), o);
		CHECK(domain[i]);
	}
	for (i = 0; i < FAKE_NODES; i++) {
		core[i] = rmc_core_open(domain[i], 0, 0);
		if (!core[i]) {
			printf("Bail out! %s\n", rmc_errmsg());
			exit(1);
		}
	}
}

static void close_nodes(void)
{
	int i;

	for (i = 0; i < FAKE_NODES; i++)
		rmc_core_close(core[i]);
	for (i = 0; i < FAKE_NODES; i++)
		rmc_domain_close(domain[i]);
	CHECK_EQ(fake_left, 0);
	alarm(0);
}

static void fill(uint8_t *p, size_t len, uint32_t value)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = (uint8_t)(value * 31 + i * 7);
	memcpy(p, &value, len < 4 ? len : 4);
}

static int send_value(struct rmc_core *c, int nid, size_t len, uint32_t value, unsigned int flags)
{
	uint8_t data[MAX];

	fill(data, len, value);
	return rmc_send(c, nid, data, len, flags);
}

/* The next arrival, which is this message */
static int has(struct rmc_core *c, struct rmc_arrival *m, size_t len, uint32_t value)
{
	uint8_t data[MAX];

	if (rmc_arrival_wait(c, m, 0, 10000) != 1)
		return 0;
	fill(data, len, value);
	return m->len == len && !memcmp(rmc_arrival_data(c, m), data, len) &&
	       !memcmp(m->head, data, len < RMC_AQ_HEAD ? len : RMC_AQ_HEAD);
}

static void transfer(int from, int to, size_t len, uint32_t value)
{
	struct rmc_arrival m;

	CHECK_EQ(send_value(core[from], to, len, value, 0), 0);
	CHECK_EQ(rmc_core_flush(core[from]), 0);
	CHECK(has(core[to], &m, len, value));
	CHECK_EQ(m.nid, from);
	CHECK_EQ(rmc_receive(core[to], &m), 0);
	CHECK_EQ(rmc_core_flush(core[to]), 0);
}

/* Nothing else arrives */
static int quiet(int nid)
{
	struct rmc_arrival m;

	return rmc_arrival_wait(core[nid], &m, 0, 5) == 0;
}

static void lengths_and_laps(void)
{
	struct rmc_domain_options o = options(3, 2);
	struct rmc_arrival m;
	uint32_t i;

	open_nodes(&o);
	for (i = 0; i < 1000; i++)
		transfer(0, 1, 1 + i % MAX, i);
	transfer(2, 2, MAX, 5);			/* a node may send to itself */
	CHECK_EQ(send_value(core[0], 2, 8, 9, RMC_SEND_OFFER), 0);
	CHECK(has(core[2], &m, 8, 9));
	CHECK_EQ(m.kind, RMC_AQ_OFFER);
	CHECK(!m.again && m.stamp);
	CHECK_EQ(rmc_receive(core[2], &m), 0);
	CHECK_EQ(rmc_core_flush(core[2]), 0);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	/* twice: the core does not have it */
	CHECK_EQ(rmc_receive(core[2], &m), 0);
	CHECK_EQ(rmc_core_flush(core[2]), RMC_S_BAD_SLOT);
	CHECK_EQ(rmc_core_flush(core[2]), 0);
	CHECK(quiet(0) && quiet(1) && quiet(2));
	CHECK_EQ(fake_repeated, 0);
	close_nodes();
}

static void arguments(void)
{
	struct rmc_domain_options o = options(3, 2);
	struct rmc_dom_stats s = { .size = sizeof(s) };
	struct rmc_arrival m = { .nid = 77 };

	open_nodes(&o);
	CHECK_EQ(send_value(core[0], FAKE_NODES, 8, 0, 0), -EINVAL);
	CHECK_EQ(send_value(core[0], -1, 8, 0, 0), -EINVAL);
	CHECK_EQ(rmc_send(core[0], 1, NULL, 8, 0), -EINVAL);
	CHECK_EQ(send_value(core[0], 1, 0, 0, 0), -EINVAL);
	CHECK_EQ(send_value(core[0], 1, 8, 0, 4), -EINVAL);
	CHECK_EQ(rmc_send(core[0], 1, &o, MAX + 1, 0), -EMSGSIZE);
	CHECK_EQ(rmc_receive(core[0], &m), -EINVAL);
	m.nid = 1;
	m.slot = 3;
	CHECK_EQ(rmc_receive(core[0], &m), -EINVAL);
	CHECK_EQ(rmc_core_join(core[0], FAKE_NODES), -EINVAL);
	CHECK_EQ(rmc_domain_room(domain[0], 99), -EINVAL);
	CHECK_EQ(rmc_domain_room(domain[0], 2), 3);
	CHECK_EQ(rmc_domain_max_message(domain[0]), MAX);
	CHECK_EQ(rmc_domain_stats(domain[0], &s), 0);
	CHECK_EQ(rmc_domain_policy("greedy"), RMC_DOM_GREEDY);
	CHECK_EQ(rmc_domain_policy("shared"), RMC_DOM_SHARED);
	CHECK_EQ(rmc_domain_policy("best"), -EINVAL);
	CHECK(!strcmp(rmc_domain_policy_name(RMC_DOM_JIQ), "jiq"));
	CHECK(!strcmp(rmc_domain_policy_name(RMC_DOM_POLICIES), "unknown"));
	CHECK(!strcmp(rmc_domain_policy_name(-1), "unknown"));
	CHECK(!rmc_core_open(domain[0], 0, 4));
	CHECK_EQ(errno, EINVAL);
	CHECK(!rmc_domain_open_with(fake_ctx(0), &o));
	CHECK_EQ(errno, EEXIST);
	close_nodes();
}

/* What cannot be opened leaves nothing. */
static void refusals(void)
{
	static const unsigned long number[] = {
		RMC_IOC_DOM_QUERY, RMC_IOC_DOM_CREATE, RMC_IOC_QP_CREATE, RMC_IOC_DOM_ATTACH,
		RMC_IOC_BUF_REG,
	};
	struct rmc_domain_options o = options(3, 2);
	struct rmc_domain *d;
	size_t i;

	fake_begin();
	fake_error = ENOTTY;
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		fake_refuse = number[i];
		d = rmc_domain_open_with(fake_ctx(0), &o);
		CHECK_EQ(!d, i < 2);
		CHECK(!d || !rmc_core_open(d, 0, 0));
		CHECK_EQ(errno, ENOTTY);
		CHECK(i >= 2 || strstr(rmc_errmsg(), "no native messages"));
		rmc_domain_close(d);
		CHECK_EQ(fake_left, 0);
	}
	fake_refuse = 0;
	o.slots = 65;
	CHECK(!rmc_domain_open_with(fake_ctx(0), &o));
	CHECK_EQ(errno, EINVAL);
	CHECK(strstr(rmc_errmsg(), "65 slots of 1 .. 64"));
	o.slots = 3;
	o.wake_us = 1001;
	CHECK(!rmc_domain_open_with(fake_ctx(0), &o));
	CHECK(strstr(rmc_errmsg(), "wake_us 1001: this RMC has 0 .. 1000"));
	o.wake_us = 1000;
	d = rmc_domain_open_with(fake_ctx(0), &o);
	CHECK(d);
	rmc_domain_close(d);
	o.wake_us = 0;
	o.policy = RMC_DOM_SHARED;
	CHECK(!rmc_domain_open_with(fake_ctx(0), &o));
	CHECK(strstr(rmc_errmsg(), "no policy shared"));
	CHECK_EQ(fake_left, 0);
}

/* Where a core looks for a slot first differs from others', also after it has joined once more. */
static void apart(void)
{
	struct rmc_domain_options o = options(32, 8);
	struct rmc_core *other[3];
	struct rmc_arrival m;
	uint32_t i, slot[3];

	open_nodes(&o);
	for (i = 0; i < 3; i++) {
		other[i] = rmc_core_open(domain[0], 0, 0);
		CHECK(other[i]);
	}
	for (i = 0; i < 6; i++) {
		if (i == 3)
			CHECK_EQ(rmc_core_join(other[0], 1), 0);
		CHECK_EQ(send_value(other[i % 3], 1, 8, i, 0), 0);
		CHECK(has(core[1], &m, 8, i));
		CHECK_EQ(rmc_receive(core[1], &m), 0);
		if (i >= 3)
			CHECK_EQ(m.slot, slot[i - 3] + 1);
		else
			slot[i] = m.slot;
	}
	for (i = 0; i < 3; i++) {
		CHECK(slot[i] > 1);
		CHECK(slot[i] > slot[(i + 1) % 3] + 4 || slot[(i + 1) % 3] > slot[i] + 4);
		rmc_core_close(other[i]);
	}
	close_nodes();
}

static void room(void)
{
	struct rmc_domain_options o = options(4, 1);
	struct rmc_arrival m;
	uint32_t i;

	open_nodes(&o);
	for (i = 0; i < 4; i++)
		CHECK_EQ(send_value(core[0], 1, 16, i, RMC_SEND_DONTWAIT), 0);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	CHECK_EQ(rmc_domain_room(domain[0], 1), 0);
	CHECK_EQ(rmc_domain_room(domain[0], 2), 4);
	CHECK_EQ(send_value(core[0], 1, 16, 4, RMC_SEND_DONTWAIT), -EAGAIN);
	CHECK_EQ(send_value(core[0], 2, 16, 9, RMC_SEND_DONTWAIT), 0);
	/* depth 1: the second one comes when the first one was received */
	CHECK(has(core[1], &m, 16, 0));
	CHECK(quiet(1));
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	CHECK_EQ(rmc_domain_room(domain[0], 1), 1);
	CHECK_EQ(send_value(core[0], 1, 16, 4, RMC_SEND_DONTWAIT), 0);
	CHECK_EQ(send_value(core[0], 1, 16, 5, RMC_SEND_DONTWAIT), -EAGAIN);
	for (i = 1; i < 5; i++) {
		CHECK(has(core[1], &m, 16, i));
		CHECK_EQ(rmc_receive(core[1], &m), 0);
	}
	close_nodes();
}

/* A server that answers later takes more messages than the depth, one for each that it keeps. */
static void ready(void)
{
	struct rmc_domain_options o = options(4, 1);
	struct rmc_arrival m[3];
	uint32_t i;

	open_nodes(&o);
	for (i = 0; i < 4; i++)
		CHECK_EQ(send_value(core[0], 1, 16, i, 0), 0);
	for (i = 0; i < 3; i++) {
		CHECK(has(core[1], &m[i], 16, i));
		CHECK(quiet(1));
		if (i < 2)
			CHECK_EQ(rmc_ready(core[1], &m[i]), 0);
	}
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	CHECK_EQ(rmc_ready(core[1], &m[0]), 0);
	CHECK_EQ(rmc_core_flush(core[1]), RMC_S_BAD_SLOT);
	for (i = 0; i < 2; i++)
		CHECK_EQ(rmc_receive(core[1], &m[i]), 0);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	CHECK(quiet(1));
	CHECK_EQ(rmc_receive(core[1], &m[2]), 0);
	CHECK(has(core[1], &m[0], 16, 3));
	CHECK_EQ(rmc_receive(core[1], &m[0]), 0);
	close_nodes();
}

/* --- several cores of a node send, several receive --- */

#define SENDERS		3
#define EACH		2000

static unsigned int seen[SENDERS * EACH], received;

static void *sender(void *arg)
{
	struct rmc_core *c = rmc_core_open(domain[0], 0, RMC_CORE_SEND_ONLY);
	uint32_t first = (uint32_t)(uintptr_t)arg * EACH, i;
	struct rmc_arrival m;

	CHECK(c);
	CHECK_EQ(rmc_arrival_wait(c, &m, 0, 0), -EOPNOTSUPP);
	CHECK_EQ(rmc_arrival_next(c, &m), 0);
	for (i = first; c && i < first + EACH; i++)
		CHECK_EQ(send_value(c, 1, 4 + i % 100, i, 0), 0);
	CHECK_EQ(rmc_core_flush(c), 0);
	rmc_core_close(c);
	return NULL;
}

static void *receiver(void *arg)
{
	struct rmc_core *c = rmc_core_open(domain[1], 0, 0);
	struct rmc_arrival m;
	uint8_t data[MAX];
	uint32_t value;
	int got;

	(void)arg;
	CHECK(c);
	while (__atomic_load_n(&received, __ATOMIC_ACQUIRE) < SENDERS * EACH) {
		got = rmc_arrival_wait(c, &m, 10, 20);
		CHECK(got >= 0);
		if (got <= 0)
			continue;
		memcpy(&value, m.head, sizeof(value));
		fill(data, m.len, value);
		CHECK(value < SENDERS * EACH && m.len == 4 + value % 100 &&
		      !memcmp(rmc_arrival_data(c, &m), data, m.len));
		if (value < SENDERS * EACH)
			__atomic_add_fetch(&seen[value], 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&received, 1, __ATOMIC_ACQ_REL);
		CHECK_EQ(rmc_receive(c, &m), 0);
	}
	CHECK_EQ(rmc_core_flush(c), 0);
	rmc_core_close(c);
	return NULL;
}

static void run_threads(int (*fate)(int from, const struct fake_op *op))
{
	struct rmc_domain_options o = options(5, 2);
	pthread_t thread[SENDERS + 2];
	size_t i;

	alarm(PATIENCE_S);
	memset(seen, 0, sizeof(seen));
	received = 0;
	fake_begin();
	fake_fate = fate;
	for (i = 0; i < FAKE_NODES; i++)
		domain[i] = rmc_domain_open_with(fake_ctx((int)i), &o);
	for (i = 0; i < SENDERS; i++)
		pthread_create(&thread[i], NULL, sender, (void *)i);
	for (i = SENDERS; i < SENDERS + 2; i++)
		pthread_create(&thread[i], NULL, receiver, NULL);
	for (i = 0; i < SENDERS + 2; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < SENDERS * EACH; i++)
		CHECK_EQ(seen[i], 1);
	for (i = 0; i < FAKE_NODES; i++)
		rmc_domain_close(domain[i]);
	CHECK_EQ(fake_left, 0);
	alarm(0);
}

static void threads(void)
{
	run_threads(NULL);
	CHECK_EQ(fake_repeated, 0);
}

/* Called with the lock */
static int lossy(int from, const struct fake_op *op)
{
	static unsigned int n;

	(void)from;
	n = n * 1664525 + 1013904223;
	switch (n >> 8 & 15) {
	case 0:
		return RMC_S_TIMEOUT;
	case 1:
		return op->op == RMC_OP_RECEIVE ? FAKE_GO : FAKE_LATE;
	default:
		return FAKE_GO;
	}
}

/* A RECEIVE always has its effect here; its packet is lost now and then. */
static int lossy_fate(int from, const struct fake_op *op)
{
	int fate = lossy(from, op);

	return fate >= 0 && op->op == RMC_OP_RECEIVE ? FAKE_DEAF : fate;
}

static void lossy_threads(void)
{
	run_threads(lossy_fate);
	CHECK_EQ(fake_repeated, 0);		/* a sender in doubt asks first */
}

/* --- one operation at a time --- */

static unsigned int fate_op;
static int fate, fates;				/* what becomes of so many of these */

static int some(int from, const struct fake_op *op)
{
	if ((from && op->op != RMC_OP_REPLY) || op->op != fate_op || !fates)
		return FAKE_GO;
	fates--;
	return fate;
}

static void next(unsigned int op, int becomes, int n)
{
	fake_lock();
	fake_fate = some;
	fate_op = op;
	fate = becomes;
	fates = n;
	fake_unlock();
}

static int fates_left(void)
{
	int n;

	fake_lock();
	n = fates;
	fake_unlock();
	return n;
}

static void doubt(void)
{
	struct rmc_domain_options o = options(2, 2);
	int asked;

	open_nodes(&o);
	next(RMC_OP_SEND, RMC_S_TIMEOUT, 3);
	asked = fake_asked;
	transfer(0, 1, 100, 1);			/* the request was lost, */
	CHECK_EQ(fates, 0);
	CHECK_EQ(fake_asked, asked + 3);
	next(RMC_OP_SEND, FAKE_LATE, 1);
	transfer(0, 1, 100, 2);			/* or the reply */
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	CHECK_EQ(fake_repeated, 0);
	next(RMC_OP_SEND, RMC_S_BUSY, 1);
	transfer(0, 1, 100, 3);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	CHECK(quiet(1));
	close_nodes();
}

/* All SENDs and JOINs of node 0 time out. */
static int unanswered(int from, const struct fake_op *op)
{
	return !from && op->op != RMC_OP_RECEIVE ? RMC_S_TIMEOUT : FAKE_GO;
}

static void no_answer(void)
{
	struct rmc_domain_options o = options(2, 2);
	struct rmc_arrival m;

	open_nodes(&o);
	domain[0]->o.timeout_ms = 50;
	fake_lock();
	fake_fate = unanswered;
	fake_unlock();
	CHECK_EQ(send_value(core[0], 1, 100, 4, 0), 0);
	CHECK_EQ(rmc_core_flush(core[0]), RMC_S_TIMEOUT);
	CHECK_EQ(send_value(core[0], 1, 100, 5, 0), RMC_S_TIMEOUT);
	CHECK_EQ(rmc_core_join(core[0], 1), RMC_S_TIMEOUT);
	/* the message is kept, and sent when there are answers again */
	fake_lock();
	fake_fate = NULL;
	fake_unlock();
	CHECK(quiet(1));
	CHECK_EQ(rmc_core_join(core[0], 1), 0);
	CHECK(has(core[1], &m, 100, 4));
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	transfer(0, 1, 100, 6);
	close_nodes();
}

/* A RECEIVE is lost: the sender has no room, until it asks. */
static int deaf(int from, const struct fake_op *op)
{
	return from == 1 && op->op == RMC_OP_RECEIVE ? FAKE_DEAF : FAKE_GO;
}

static void lost_receives(void)
{
	struct rmc_domain_options o = options(2, 2);
	uint32_t i;

	open_nodes(&o);
	fake_lock();
	fake_fate = deaf;
	fake_unlock();
	for (i = 0; i < 2; i++)
		transfer(0, 1, 10, i);
	CHECK_EQ(send_value(core[0], 1, 10, 9, RMC_SEND_DONTWAIT), -EAGAIN);
	for (i = 0; i < 6; i++)
		transfer(0, 1, 10, i);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	close_nodes();
}

static void set_down(int nid, int down)
{
	fake_lock();
	fake_down[nid] = down;
	fake_unlock();
}

/* The node is down for a while, with part of a message: the message is completed. */
static void given_up(void)
{
	struct rmc_domain_options o = options(4, 2);
	struct rmc_arrival m;

	open_nodes(&o);
	transfer(0, 1, 20, 1);
	next(RMC_OP_SEND, FAKE_PART, 1);
	CHECK_EQ(send_value(core[0], 1, MAX, 2, 0), 0);
	CHECK_EQ(rmc_core_flush(core[0]), RMC_S_NODE_DOWN);
	set_down(1, 1);
	CHECK_EQ(send_value(core[0], 1, 20, 3, 0), RMC_S_NODE_DOWN);
	CHECK_EQ(send_value(core[0], 1, 20, 3, RMC_SEND_DONTWAIT), RMC_S_NODE_DOWN);
	transfer(0, 2, 20, 4);
	domain[0]->o.timeout_ms = 20;
	CHECK_EQ(rmc_core_join(core[0], 1), RMC_S_NODE_DOWN);
	set_down(1, 0);
	domain[0]->o.timeout_ms = 2000;
	CHECK_EQ(send_value(core[0], 1, 20, 3, 0), RMC_S_NODE_DOWN);
	CHECK_EQ(rmc_core_join(core[0], 1), 0);
	CHECK(has(core[1], &m, MAX, 2));
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	CHECK_EQ(rmc_domain_room(domain[0], 1), 4);
	transfer(0, 1, 20, 5);
	CHECK(quiet(1));
	close_nodes();
}

/* Messages to a peer that was given up do not use up the core's memory for ever. */
static void many_given_up(void)
{
	struct rmc_domain_options o = options(64, 16);
	uint32_t i;

	open_nodes(&o);
	next(RMC_OP_SEND, FAKE_PART, 1000);
	for (i = 0; i < 100 && !send_value(core[0], 1, 20, i, RMC_SEND_DONTWAIT); i++)
		;
	CHECK(i);
	rmc_core_flush(core[0]);
	CHECK_EQ(to_core(core[0])->messages, 16);
	while (to_core(core[0])->free)		/* as if all of them were parked */
		to_core(core[0])->free = to_core(core[0])->free->next;
	next(0, 0, 0);
	for (i = 0; i < 100; i++)
		transfer(0, 2, 20, i);
	/* their slots are of no use in this life of the peer */
	CHECK_EQ(rmc_core_join(core[0], 1), 0);
	transfer(1, 0, 20, 7);
	close_nodes();
}

#include "domain_lives.h"

/* --- opening --- */

static void *open_late(void *arg)
{
	struct rmc_domain_options o = options(2, 2);

	(void)arg;
	usleep(30000);
	domain[1] = rmc_domain_open_with(fake_ctx(1), &o);
	return NULL;
}

static void opening(void)
{
	struct rmc_domain_options o = options(2, 2), other = options(3, 2);
	pthread_t thread;

	alarm(PATIENCE_S);
	fake_begin();
	domain[0] = rmc_domain_open_with(fake_ctx(0), &o);
	domain[2] = rmc_domain_open_with(fake_ctx(2), &o);
	domain[0]->o.timeout_ms = 20;
	CHECK(!rmc_core_open(domain[0], 0, 0));
	CHECK_EQ(errno, ETIMEDOUT);
	CHECK(strstr(rmc_errmsg(), "node 1 has not opened its domain"));
	domain[1] = rmc_domain_open_with(fake_ctx(1), &other);
	CHECK(!rmc_core_open(domain[0], 0, 0));
	CHECK_EQ(errno, EINVAL);
	CHECK(strstr(rmc_errmsg(), "node 1 has a domain of other"));
	rmc_domain_close(domain[1]);
	domain[0]->o.timeout_ms = 10000;
	pthread_create(&thread, NULL, open_late, NULL);
	core[0] = rmc_core_open(domain[0], 0, 0);
	CHECK(core[0]);
	pthread_join(thread, NULL);
	/* one that joins nobody, and later does */
	core[1] = rmc_core_open(domain[1], 0, RMC_CORE_NO_JOIN);
	CHECK(core[1]);
	CHECK_EQ(send_value(core[1], 0, 4, 0, 0), RMC_S_NO_DOMAIN);
	CHECK_EQ(rmc_domain_room(domain[1], 0), 0);
	CHECK_EQ(rmc_core_join(core[1], 0), 0);
	transfer(1, 0, 4, 0);
	/* closing a domain closes its cores */
	rmc_domain_close(domain[1]);
	rmc_domain_close(domain[0]);
	rmc_domain_close(domain[2]);
	CHECK_EQ(fake_left, 0);
	alarm(0);
}

/* --- sleeping, and a queue pair that dies --- */

#include "domain_sleep.h"

static void *killer(void *arg)
{
	usleep(20000);
	fake_kill(*(const int *)arg);
	return NULL;
}

static void dead(void)
{
	struct rmc_domain_options o = options(1, 1);
	struct rmc_arrival m;
	int nid = 0, err = 0;
	pthread_t thread;

	open_nodes(&o);
	pthread_create(&thread, NULL, killer, &nid);
	/* the killer does not signal the arrival queue, so this ends by time at worst */
	while (!err)
		err = rmc_arrival_wait(core[0], &m, 0, 5);
	CHECK_EQ(err, -ESHUTDOWN);
	pthread_join(thread, NULL);
	for (err = 0; !err;)
		err = rmc_arrival_next(core[0], &m);
	CHECK_EQ(err, -ESHUTDOWN);
	CHECK_EQ(send_value(core[1], 2, 8, 1, 0), 0);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	nid = 1;
	pthread_create(&thread, NULL, killer, &nid);
	/* without room */
	CHECK_EQ(send_value(core[1], 2, 8, 1, 0), -ESHUTDOWN);
	pthread_join(thread, NULL);
	close_nodes();
}

/* --- closing --- */

static void closing(void)
{
	struct rmc_domain_options o = options(2, 2);
	struct rmc_core *other;

	open_nodes(&o);
	other = rmc_core_open(domain[0], 0, RMC_CORE_SEND_ONLY);
	CHECK(other);
	/* what was not there yet when its core closed is not there later, nor in the way */
	next(RMC_OP_SEND, FAKE_PART, 1);
	CHECK_EQ(send_value(other, 1, 20, 1, 0), 0);
	rmc_core_close(other);
	CHECK_EQ(rmc_domain_room(domain[0], 1), 1);
	transfer(0, 1, 20, 2);
	transfer(0, 1, 20, 3);
	CHECK(quiet(1));
	/* a sent message is there before the core ends */
	other = rmc_core_open(domain[0], 0, RMC_CORE_SEND_ONLY);
	next(RMC_OP_SEND, RMC_S_TIMEOUT, 2);
	CHECK_EQ(send_value(other, 1, 20, 4, 0), 0);
	rmc_core_close(other);
	CHECK(has(core[1], &(struct rmc_arrival) { 0 }, 20, 4));
	close_nodes();
}

#include "domain_calls.h"
#include "domain_rpc.h"

int main(void)
{
	static const struct tap_test tests[] = {
		{ "lengths, laps, and a message received twice", lengths_and_laps },
		{ "arguments", arguments },
		{ "what cannot be opened", refusals },
		{ "room", room },
		{ "cores begin at different slots", apart },
		{ "a core that is ready takes more", ready },
		{ "threads share the slots of a pair", threads },
		{ "the same, with losses", lossy_threads },
		{ "a sender in doubt asks", doubt },
		{ "nobody answers", no_answer },
		{ "a RECEIVE is lost", lost_receives },
		{ "a peer is given up, and joined again", given_up },
		{ "many messages to a peer that is given up", many_given_up },
		{ "a peer begins anew", new_life },
		{ "messages in doubt when it does", doubt_over_lives },
		{ "packets and answers of the last life", late_packets },
		{ "domains that are not there yet, or others", opening },
		{ "sleeping for arrivals", sleeping },
		{ "a sleeper's messages", sleeper_in_doubt },
		{ "sleeping for room", sleeping_for_room },
		{ "other reasons to wake", other_wakes },
		{ "a queue pair dies", dead },
		{ "closing", closing },
		{ "calls", calls },
		{ "calls of another core", calls_of_others },
		{ "calls that are lost", lost_calls },
		{ "a call that waits", call_that_waits },
		{ "a core closes with calls", closing_with_calls },
		{ "a core closes with an answer", closing_with_an_answer },
		{ "calls in turns that wrap", calls_wrap },
		{ "a peer that says nothing any more", silent_peer },
		{ "asking whether peers live", probing },
		{ "calls to a peer that goes", calls_to_the_dead },
		{ "answers while all memory for messages is in use", answers_without_memory },
		{ "threads that call", calling_threads },
		{ "rpc: answered, then its member ends", answered_before_the_end },
		{ "rpc: a member is restarted twice", rejoin_twice },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
