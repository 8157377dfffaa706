// SPDX-License-Identifier: GPL-2.0
/* Domains of messages: what may be asked, messages between nodes, sleeping, ends in each order. */
#include <poll.h>
#include <sys/eventfd.h>
#include "domain_member.h"

TEST(each_length_both_ways)
{
	static const size_t lengths[] = { 1, 8, 48, 49, 64, 1000, 4095, 4096, MESSAGE };
	unsigned int i, rounds = 4 * sizeof(lengths) / sizeof(lengths[0]);
	struct member a, b;
	struct rmc_dom_stats s;

	two_members(&a, &b);
	for (i = 0; i < rounds; i++) {
		pass(&a, &b, i % SLOTS, i, lengths[i % (rounds / 4)]);
		pass(&b, &a, i * 3 % SLOTS, i + 100, 1 + i);
	}
	s = stats(&b);
	CHECK_EQ(s.messages, rounds);
	CHECK_EQ(s.dispatched, rounds);
	CHECK_EQ(s.freed, rounds);
	CHECK_EQ(s.refused, 0);
	CHECK_EQ(s.cores, 1);
}

TEST(a_core_has_no_more_than_its_depth)
{
	struct arrival m[SLOTS];
	struct member a, b;
	unsigned int i;

	two_members(&a, &b);
	for (i = 0; i < SLOTS; i++)
		REQUIRE_EQ(send_message(&a, 1, i, i, 60), RMC_S_OK);
	for (i = 0; i < DEPTH; i++)
		REQUIRE(wait_arrival(&b, &m[i]));
	usleep(10000);
	CHECK(!next_arrival(&b, &m[DEPTH]));
	CHECK_EQ(stats(&b).waiting, SLOTS - DEPTH);
	/* not free: a new message in it is refused, the same one has no effect */
	CHECK(!is_free(&a, 1, 0));
	CHECK_EQ(rmc_execute(a.e.qp, RMC_OP_SEND, 1,
			     rmc_slot_offset(0, (uint8_t)(slot_of(&a, 1, 0)->turn + 1)), a.e.buf, 60),
		 RMC_S_SLOT_BUSY);
	CHECK_EQ(rmc_execute(a.e.qp, RMC_OP_SEND, 1,
			     rmc_slot_offset(0, (uint8_t)slot_of(&a, 1, 0)->turn), a.e.buf, 60),
		 RMC_S_OK);
	for (i = 0; i < SLOTS; i++) {
		if (i >= DEPTH)
			REQUIRE(wait_arrival(&b, &m[i]));
		CHECK_EQ(m[i].slot, i);
		CHECK_EQ(receive(b.e.qp, &m[i]), RMC_S_OK);
		CHECK(wait_free(&a, 1, i));
	}
	CHECK(!next_arrival(&b, &m[0]));
}

static int arm(struct member *m, int efd, uint32_t seen)
{
	struct rmc_aq_arm a = { .size = sizeof(a), .qp_id = m->e.qp->id, .seen = seen,
				.eventfd = efd };

	return ioctl(rmc_fd(m->e.ctx), RMC_IOC_AQ_ARM, &a) ? -errno : 0;
}

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

TEST(arrivals_wake_who_armed)
{
	int efd = eventfd(0, EFD_NONBLOCK);
	struct member a, b;
	struct arrival m;
	uint64_t n;

	two_members(&a, &b);
	REQUIRE_EQ(arm(&b, efd, 0), 0);
	CHECK(!readable(efd, 50));
	REQUIRE_EQ(send_message(&a, 1, 0, 1, 8), RMC_S_OK);
	CHECK(readable(efd, WAIT_S * 1000));
	CHECK(readable(rmc_fd(b.e.ctx), 1000));
	REQUIRE(wait_arrival(&b, &m));
	CHECK_EQ(read(efd, &n, 8), 8);
	/* not armed */
	REQUIRE_EQ(send_message(&a, 1, 1, 1, 8), RMC_S_OK);
	REQUIRE(wait_arrival(&b, &m));
	CHECK(!readable(efd, 50));
	/* late */
	REQUIRE_EQ(arm(&b, efd, 1), 0);
	CHECK(readable(efd, 1000));
	CHECK_EQ(read(efd, &n, 8), 8);
	/* who sleeps learns of the end */
	REQUIRE_EQ(arm(&b, efd, 2), 0);
	CHECK_EQ(dom_call(&b, RMC_IOC_DOM_DETACH), 0);
	CHECK(readable(efd, 1000));
	CHECK_EQ(dom_call(&b, RMC_IOC_DOM_DETACH), -ENOENT);
	CHECK_EQ(arm(&b, efd, 0), -ENOENT);
}

static int arm_room(struct member *m, unsigned int qp_id, int efd)
{
	struct rmc_room_arm a = { .size = sizeof(a), .qp_id = qp_id, .eventfd = efd };

	return ioctl(rmc_fd(m->e.ctx), RMC_IOC_ROOM_ARM, &a) ? -errno : 0;
}

/* With rmcd there is no POLLOUT: what it reports is readable. */
static bool reports_room(struct member *m)
{
	struct pollfd p = { .fd = rmc_fd(m->e.ctx), .events = POLLOUT | POLLIN };

	return poll(&p, 1, 1000) == 1;
}

static void receive_next(struct member *b)
{
	struct arrival m;

	REQUIRE(wait_arrival(b, &m));
	REQUIRE_EQ(receive(b->e.qp, &m), RMC_S_OK);
}

/* All who have armed, threads of a sender for instance, are told that a send slot is free. */
TEST(free_slots_wake_who_armed)
{
	struct rmc_dom_attach sends = { .size = sizeof(sends), .flags = RMC_DOM_SEND_ONLY };
	int efd[2] = { eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK) };
	struct member a, b;
	struct rmc_qp *qp;
	unsigned int i;
	uint64_t n;

	two_members(&a, &b);
	qp = rmc_qp_create(a.e.ctx, 16);
	REQUIRE(qp);
	CHECK_EQ(arm_room(&a, qp->id, efd[1]), -ENOENT);
	sends.qp_id = qp->id;
	REQUIRE_EQ(ioctl(rmc_fd(a.e.ctx), RMC_IOC_DOM_ATTACH, &sends), 0);
	for (i = 0; i < SLOTS; i++)
		REQUIRE_EQ(send_message(&a, 1, i, i, 60), RMC_S_OK);
	CHECK_EQ(arm_room(&a, a.e.qp->id, 0), -EINVAL);
	REQUIRE_EQ(arm_room(&a, a.e.qp->id, efd[0]), 0);
	REQUIRE_EQ(arm_room(&a, qp->id, efd[1]), 0);
	CHECK(!readable(efd[0], 50));
	receive_next(&b);
	CHECK(readable(efd[0], WAIT_S * 1000));
	CHECK(readable(efd[1], WAIT_S * 1000));
	CHECK(reports_room(&a));
	CHECK(is_free(&a, 1, 0));
	/* once */
	CHECK_EQ(read(efd[0], &n, 8), 8);
	CHECK_EQ(n, 1);
	receive_next(&b);
	CHECK(wait_free(&a, 1, 1));
	CHECK(!readable(efd[0], 50));
	/* what was free before is not reported */
	REQUIRE_EQ(arm_room(&a, a.e.qp->id, efd[0]), 0);
	CHECK(!readable(efd[0], 50));
	/* who sleeps learns of the end */
	CHECK_EQ(read(efd[1], &n, 8), 8);
	REQUIRE_EQ(arm_room(&a, qp->id, efd[1]), 0);
	rmc_qp_destroy(qp);
	CHECK(readable(efd[1], 1000));
	CHECK_EQ(dom_call(&a, RMC_IOC_DOM_DESTROY), 0);
	CHECK(readable(efd[0], 1000));
	CHECK_EQ(arm_room(&a, a.e.qp->id, efd[0]), -ENOENT);
}

/* The receiver is killed while it holds a message; its successor has another life. */
TEST(killed_receiver_and_its_successor)
{
	uint32_t life, *first = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int spins = 0;
	struct member a, b;
	struct arrival m;
	time_t end = 0;
	pid_t child;

	open_member(&a, 0);
	REQUIRE_EQ(create(&a, &usual), 0);
	REQUIRE_EQ(attach(&a, a.e.qp), 0);
	child = helper();
	if (!child) {
		open_member(&b, 1);
		if (create(&b, &usual) || attach(&b, b.e.qp) || join(&b, b.e.qp, 0, &life))
			_exit(1);
		__atomic_store_n(&first[0], b.dom.life, __ATOMIC_RELEASE);
		if (wait_arrival(&b, &m))
			__atomic_store_n(&first[1], 1, __ATOMIC_RELEASE);
		pause();
		_exit(1);
	}
	while (!__atomic_load_n(&first[0], __ATOMIC_ACQUIRE))
		REQUIRE(waits(a.e.qp, &end, &spins));
	REQUIRE_EQ(join(&a, a.e.qp, 1, &life), RMC_S_OK);
	CHECK_EQ(life, first[0]);
	REQUIRE_EQ(send_message(&a, 1, 1, 2, 100), RMC_S_OK);
	while (!__atomic_load_n(&first[1], __ATOMIC_ACQUIRE))
		REQUIRE(waits(a.e.qp, &end, &spins));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	end = 0;
	while (join(&a, a.e.qp, 1, &life) != RMC_S_NO_DOMAIN)
		REQUIRE(waits(a.e.qp, &end, &spins));
	CHECK_EQ(send_message(&a, 1, 2, 3, 100), RMC_S_NO_DOMAIN);
	open_member(&b, 1);
	REQUIRE_EQ(create(&b, &usual), 0);
	CHECK(b.dom.life != first[0]);
	REQUIRE_EQ(attach(&b, b.e.qp), 0);
	CHECK_EQ(send_message(&a, 1, 3, 3, 100), RMC_S_DOMAIN_MISMATCH);
	REQUIRE_EQ(join(&a, a.e.qp, 1, &life), RMC_S_OK);
	REQUIRE_EQ(join(&b, b.e.qp, 0, &life), RMC_S_OK);
	/* all slots begin with turn 1 */
	memset(slot_of(&a, 1, 0), 0, SLOTS * sizeof(*a.send));
	pass(&a, &b, 1, 4, 100);
	pass(&b, &a, 0, 5, 100);
}

TEST(ends_in_each_order)
{
	struct member a, b;
	int order;

	for (order = 0; order < 4; order++) {
		two_members(&a, &b);
		pass(&a, &b, 0, 1, 100);
		REQUIRE_EQ(send_message(&a, 1, 1, 2, 100), RMC_S_OK);
		if (order == 1)
			CHECK_EQ(dom_call(&b, RMC_IOC_DOM_DETACH), 0);
		if (order == 2) {
			rmc_qp_destroy(b.e.qp);
			b.e.qp = NULL;
		}
		if (order != 3) {
			struct rmc_dom_destroy d = { .size = sizeof(d) };

			CHECK_EQ(ioctl(rmc_fd(b.e.ctx), RMC_IOC_DOM_DESTROY, &d), 0);
			CHECK_ERRNO(ioctl(rmc_fd(b.e.ctx), RMC_IOC_DOM_DESTROY, &d), ENOENT);
			CHECK_EQ(send_message(&a, 1, 2, 3, 100), RMC_S_NO_DOMAIN);
		}
		close_member(&b);
		close_member(&a);
	}
}

static int reply(struct member *m, const struct arrival *a, unsigned int seed, size_t len)
{
	fill(m->e.buf, len, seed);
	return rmc_execute(m->e.qp, RMC_OP_REPLY, a->nid, rmc_slot_offset(a->slot, a->turn), m->e.buf,
			   len);
}

/* Answers to @a's messages, in memory that only the RMC writes; its thread sleeps until they come */
TEST(answers)
{
	static const size_t lengths[] = { 1, 63, 64, 65, 4096, 4097, 8000 };
	struct rmc_dom_create with = usual;
	int efd = eventfd(0, EFD_NONBLOCK);
	const struct rmc_answer *answer;
	struct member a, b;
	struct arrival m;
	unsigned int i;
	uint32_t life;
	uint64_t n;
	size_t len;

	with.max_answer = 8000;
	open_member(&a, 0);
	open_member(&b, 1);
	REQUIRE_EQ(create(&a, &usual), 0);
	CHECK_EQ(a.dom.answer_stride, 0);
	CHECK_EQ(a.dom.answer_offset, 0);
	REQUIRE_EQ(create(&b, &with), 0);
	REQUIRE_EQ(attach(&a, a.e.qp), 0);
	REQUIRE_EQ(attach(&b, b.e.qp), 0);
	/* both ends have answers, or none */
	CHECK_EQ(join(&a, a.e.qp, 1, &life), RMC_S_DOMAIN_MISMATCH);
	munmap(a.recv, a.recv_len);
	munmap(a.send, PAGE);
	munmap((void *)(uintptr_t)a.aq, PAGE);
	REQUIRE_EQ(dom_call(&a, RMC_IOC_DOM_DESTROY), 0);
	REQUIRE_EQ(create(&a, &with), 0);
	REQUIRE_EQ(attach(&a, a.e.qp), 0);
	REQUIRE_EQ(join(&a, a.e.qp, 1, &life), RMC_S_OK);
	REQUIRE_EQ(join(&b, b.e.qp, 0, &life), RMC_S_OK);
	REQUIRE(a.dom.answer_stride >= 8064);
	len = round_up((size_t)a.dom.nodes * SLOTS * a.dom.answer_stride);
	CHECK(mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, rmc_fd(a.e.ctx),
		   (off_t)a.dom.answer_offset) == MAP_FAILED);
	answer = mmap(NULL, len, PROT_READ, MAP_SHARED, rmc_fd(a.e.ctx), (off_t)a.dom.answer_offset);
	REQUIRE(answer != MAP_FAILED);
	for (i = 0; i < 3 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t length = lengths[i % (sizeof(lengths) / sizeof(lengths[0]))];
		unsigned int slot = i % SLOTS;
		const struct rmc_answer *at = (const void *)((const uint8_t *)answer +
						(SLOTS + slot) * a.dom.answer_stride);

		REQUIRE_EQ(send_message(&a, 1, slot, i, 100), RMC_S_OK);
		REQUIRE(wait_arrival(&b, &m));
		CHECK_EQ(m.slot, slot);
		REQUIRE_EQ(arm_room(&a, a.e.qp->id, efd), 0);
		CHECK_EQ(reply(&b, &m, i + 50, 8001), RMC_S_BAD_LENGTH);
		REQUIRE_EQ(reply(&b, &m, i + 50, length), RMC_S_OK);
		REQUIRE(readable(efd, WAIT_S * 1000));
		CHECK_EQ(read(efd, &n, 8), 8);
		CHECK_EQ(slot_of(&a, 1, slot)->valid, RMC_SEND_ANSWERED);
		CHECK_EQ(at->length, length);
		CHECK_EQ(at->turn, slot_of(&a, 1, slot)->turn);
		CHECK_EQ(differs((const uint8_t *)(at + 1), length, i + 50), -1);
		CHECK_EQ(reply(&b, &m, i + 50, length), RMC_S_BAD_SLOT);
		__atomic_store_n(&slot_of(&a, 1, slot)->valid, RMC_SEND_FREE, __ATOMIC_RELEASE);
	}
	munmap((void *)(uintptr_t)answer, len);
}

TEST(message_goes_to_another_core)
{
	struct rmc_dom_create requeue = usual;
	struct member a, b, second;
	struct arrival m;
	struct rmc_qp *qp;
	uint32_t life;

	requeue.flags = RMC_DOM_REQUEUE;
	open_member(&a, 0);
	open_member(&b, 1);
	REQUIRE_EQ(create(&a, &usual), 0);
	REQUIRE_EQ(create(&b, &requeue), 0);
	REQUIRE_EQ(attach(&a, a.e.qp), 0);
	REQUIRE_EQ(attach(&b, b.e.qp), 0);
	REQUIRE_EQ(join(&a, a.e.qp, 1, &life), RMC_S_OK);
	REQUIRE_EQ(join(&b, b.e.qp, 0, &life), RMC_S_OK);
	REQUIRE_EQ(send_message(&a, 1, 3, 7, 100), RMC_S_OK);
	REQUIRE(wait_arrival(&b, &m));
	CHECK(!m.again);
	second = b;
	qp = rmc_qp_create(b.e.ctx, 16);
	REQUIRE(qp);
	REQUIRE_EQ(attach(&second, qp), 0);
	CHECK(!next_arrival(&second, &m));
	rmc_qp_destroy(b.e.qp);
	second.e.qp = qp;
	REQUIRE(wait_arrival(&second, &m));
	CHECK(m.again);
	CHECK_EQ(m.slot, 3);
	REQUIRE_EQ(join(&second, qp, 0, &life), RMC_S_OK);
	CHECK_EQ(receive(qp, &m), RMC_S_OK);
	CHECK(wait_free(&a, 1, 3));
}

TEST(queue_pair_that_only_sends)
{
	struct rmc_dom_attach at = { .size = sizeof(at), .flags = RMC_DOM_SEND_ONLY };
	struct member a, b;
	struct arrival m;
	struct rmc_qp *qp;

	two_members(&a, &b);
	qp = rmc_qp_create(b.e.ctx, 16);
	REQUIRE(qp);
	at.qp_id = qp->id;
	REQUIRE_EQ(ioctl(rmc_fd(b.e.ctx), RMC_IOC_DOM_ATTACH, &at), 0);
	CHECK_EQ(at.core, ~0U);
	CHECK_EQ(at.aq_entries, 0);
	REQUIRE_EQ(send_message(&a, 1, 0, 9, 200), RMC_S_OK);
	REQUIRE(wait_arrival(&b, &m));
	/* only the core that has a message ends it */
	CHECK_EQ(receive(qp, &m), RMC_S_BAD_SLOT);
	CHECK_EQ(receive(b.e.qp, &m), RMC_S_OK);
	CHECK_EQ(receive(b.e.qp, &m), RMC_S_BAD_SLOT);
}

#define REFUSED(err, ...) do {							\
	struct rmc_dom_create c_ = usual;					\
										\
	c_.size = sizeof(c_);							\
	__VA_ARGS__;								\
	CHECK_ERRNO(ioctl(fd, RMC_IOC_DOM_CREATE, &c_), err);			\
} while (0)

TEST(what_is_refused)
{
	struct rmc_dom_attach at = { .size = sizeof(at) };
	struct rmc_dom_stats s = { .size = sizeof(s) };
	struct rmc_dom_query q = { .size = sizeof(q) };
	struct member a;
	int fd;

	open_member(&a, 0);
	fd = rmc_fd(a.e.ctx);
	REQUIRE_EQ(ioctl(fd, RMC_IOC_DOM_QUERY, &q), 0);
	CHECK(q.policies & 1ULL << RMC_DOM_GREEDY);
	CHECK_EQ(q.max_slots, RMC_MAX_SLOTS);
	CHECK(q.max_wake_us >= 1000);
	CHECK_ERRNO(ioctl(fd, RMC_IOC_DOM_STATS, &s), ENOENT);
	CHECK_ERRNO(ioctl(fd, RMC_IOC_DOM_ATTACH, &at), ENOENT);
	REFUSED(EINVAL, c_.nodes = 0);
	REFUSED(EINVAL, c_.nodes = 5);
	REFUSED(EINVAL, c_.first_nid = 1);
	REFUSED(EINVAL, c_.first_nid = ~0U);
	REFUSED(EINVAL, c_.slots = 0);
	REFUSED(EINVAL, c_.slots = q.max_slots + 1);
	REFUSED(EINVAL, c_.max_message = 0);
	REFUSED(EINVAL, c_.max_message = q.max_message + 1);
	REFUSED(EINVAL, c_.max_answer = q.max_answer + 1);
	REFUSED(EINVAL, c_.policy = RMC_DOM_POLICIES);
	REFUSED(EINVAL, c_.policy = ~0U);
	REFUSED(EINVAL, c_.policy = RMC_DOM_CLASS);
	REFUSED(EINVAL, c_.key_offset = 1);
	REFUSED(EINVAL, c_.classes = 1);
	REFUSED(EINVAL, c_.wake_us = q.max_wake_us + 1);
	REFUSED(EINVAL, c_.policy = RMC_DOM_RR, c_.wake_us = 1);
	REFUSED(EINVAL, c_.depth = 0);
	REFUSED(EINVAL, c_.depth = q.max_depth + 1);
	REFUSED(EINVAL, c_.cores = 0);
	REFUSED(EINVAL, c_.cores = q.max_cores + 1);
	REFUSED(EINVAL, c_.groups = 0);
	REFUSED(EINVAL, c_.groups = 2);
	REFUSED(EOPNOTSUPP, c_.flags = 4);
	/* 16 GiB */
	REFUSED(ENOMEM, c_.slots = q.max_slots, c_.max_message = q.max_message);
	REQUIRE_EQ(create(&a, &usual), 0);
	REFUSED(EEXIST, c_.flags = 0);
	at.qp_id = 77;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_DOM_ATTACH, &at), ENOENT);
	at.qp_id = a.e.qp->id;
	at.flags = 2;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_DOM_ATTACH, &at), EOPNOTSUPP);
	at.flags = 0;
	at.group = 1;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_DOM_ATTACH, &at), EINVAL);
	/* a queue pair of no domain */
	CHECK_EQ(rmc_execute(a.e.qp, RMC_OP_SEND, 1, rmc_slot_offset(0, 1), a.e.buf, 8),
		 RMC_S_NO_DOMAIN);
	REQUIRE_EQ(attach(&a, a.e.qp), 0);
	at.group = 0;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_DOM_ATTACH, &at), EBUSY);
	/* the other node has none */
	CHECK_EQ(rmc_execute(a.e.qp, RMC_OP_JOIN, 1, 0, a.e.buf, 8), RMC_S_NO_DOMAIN);
}

TEST(mappings_that_only_the_rmc_writes)
{
	struct member a;
	void *p;
	int fd;

	open_member(&a, 0);
	fd = rmc_fd(a.e.ctx);
	REQUIRE_EQ(create(&a, &usual), 0);
	REQUIRE_EQ(attach(&a, a.e.qp), 0);
	p = mmap(NULL, a.recv_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 (off_t)a.dom.recv_offset);
	CHECK(p == MAP_FAILED);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)a.core.aq_offset);
	CHECK(p == MAP_FAILED);
	CHECK_ERRNO(mprotect(a.recv, PAGE, PROT_READ | PROT_WRITE), EACCES);
	CHECK_ERRNO(mprotect((void *)(uintptr_t)a.aq, PAGE, PROT_READ | PROT_WRITE), EACCES);
	/* they outlive domain and core */
	CHECK_EQ(dom_call(&a, RMC_IOC_DOM_DESTROY), 0);
	CHECK_EQ(((volatile uint8_t *)a.recv)[a.recv_len - 1], 0);
	a.send[0].valid = 1;
}

/* A process writes whatever it likes into its send slots and WQ; two others go on. */
TEST(hostile_neighbour)
{
	struct member a, b, evil;
	uint32_t state = 1, n = 0;
	pid_t child;

	REQUIRE(!ctx_create(9, 0666, 0, 0) || errno == EEXIST);
	child = helper();
	if (!child) {
		memset(&evil, 0, sizeof(evil));
		end_open(&evil.e, 9, 0, 0, 2 * PAGE, 16);
		if (create(&evil, &usual) || attach(&evil, evil.e.qp))
			_exit(1);
		for (;;) {
			unsigned int op = RMC_OP_SEND + rnd(&state) % 4;
			uint64_t offset = (uint64_t)rnd(&state) << 8 ^ rnd(&state);

			memset(evil.send, (int)rnd(&state), PAGE);
			rmc_execute(evil.e.qp, op, (int)(rnd(&state) % 5),
				    n++ % 2 ? offset : offset & 0x3fffffff, evil.e.buf,
				    op == RMC_OP_RECEIVE ? 0 : rnd(&state) % 6000);
		}
	}
	two_members(&a, &b);
	for (n = 0; n < 40; n++)
		pass(&a, &b, n % SLOTS, n, 1 + n * 100);
	CHECK_EQ(kill(child, 0), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	pass(&b, &a, 0, 1, MESSAGE);
	CHECK_EQ(ctx_remove(9), 0);
}

static const char *missing(void)
{
	const char *why = suite_missing();
	struct rmc_dom_query q = { .size = sizeof(q) };
	int fd;

	if (why)
		return why;
	fd = open_ctx(CTX);
	if (fd >= 0 && ioctl(fd, RMC_IOC_DOM_QUERY, &q) && errno == ENOTTY)
		why = "this rmc has no messages";
	if (fd >= 0)
		close(fd);
	return why;
}

KTAP_MAIN(missing)
