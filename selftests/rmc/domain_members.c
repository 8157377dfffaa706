// SPDX-License-Identifier: GPL-2.0
/*
 * Domains that several files of a node share: parts of slots and cores, ends in each state and order,
 * and members that follow others.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include "domain_member.h"

#define PART	(SLOTS / 2)		/* slots of each of two members */

/* Node 0 alone, node 1 with its creator and another member; all have joined */
struct trio {
	struct member a, b, other;
	struct rmc_dom_open open;
};

static struct rmc_dom_create shared_by(unsigned int members, unsigned int policy, unsigned int flags)
{
	struct rmc_dom_create c = usual;

	c.members = members;
	c.policy = policy;
	c.flags = flags;
	return c;
}

static void trio(struct trio *t, unsigned int policy, unsigned int flags)
{
	struct rmc_dom_create c = shared_by(2, policy, flags);
	uint32_t life;

	open_member(&t->a, 0);
	open_member(&t->b, 1);
	open_member(&t->other, 1);
	REQUIRE_EQ(create(&t->a, &usual), 0);
	REQUIRE_EQ(create(&t->b, &c), 0);
	REQUIRE_EQ(open_domain(&t->other, RMC_DOM_ANY_MEMBER, &t->open), 0);
	REQUIRE_EQ(attach(&t->a, t->a.e.qp), 0);
	REQUIRE_EQ(attach(&t->b, t->b.e.qp), 0);
	REQUIRE_EQ(attach(&t->other, t->other.e.qp), 0);
	REQUIRE_EQ(join(&t->a, t->a.e.qp, 1, &life), RMC_S_OK);
	REQUIRE_EQ(join(&t->b, t->b.e.qp, 0, &life), RMC_S_OK);
	REQUIRE_EQ(join(&t->other, t->other.e.qp, 0, &life), RMC_S_OK);
}

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

static int arm(struct member *m, int efd)
{
	struct rmc_aq_arm a = { .size = sizeof(a), .qp_id = m->e.qp->id, .seen = m->seen,
				.eventfd = efd };

	return ioctl(rmc_fd(m->e.ctx), RMC_IOC_AQ_ARM, &a) ? -errno : 0;
}

static int arm_room(struct member *m, int efd)
{
	struct rmc_room_arm a = { .size = sizeof(a), .qp_id = m->e.qp->id, .eventfd = efd };

	return ioctl(rmc_fd(m->e.ctx), RMC_IOC_ROOM_ARM, &a) ? -errno : 0;
}

TEST(members_have_parts)
{
	struct rmc_dom_stats s;
	struct arrival m;
	struct trio t;
	unsigned int i;

	trio(&t, RMC_DOM_RR, 0);
	CHECK_EQ(t.open.member, 1);
	CHECK_EQ(t.open.members, 2);
	CHECK_EQ(t.open.earlier, 0);
	CHECK_EQ(t.open.life, t.b.dom.life);
	CHECK_EQ(t.open.depth, DEPTH);
	CHECK_EQ(t.open.cores, 4);
	CHECK_EQ(t.open.policy, RMC_DOM_RR);
	/* messages go to both */
	for (i = 0; i < SLOTS; i++) {
		struct member *to = i % 2 ? &t.other : &t.b;

		REQUIRE_EQ(send_message(&t.a, 1, i, i, 500), RMC_S_OK);
		REQUIRE(wait_arrival(to, &m));
		CHECK_EQ(m.slot, i);
		CHECK_EQ(differs(to->recv + (m.nid * SLOTS + m.slot) * to->dom.stride + 64, 500, i),
			 -1);
		/* the other one has no right to end it */
		CHECK_EQ(receive(i % 2 ? t.b.e.qp : t.other.e.qp, &m), RMC_S_BAD_SLOT);
		CHECK_EQ(receive(to->e.qp, &m), RMC_S_OK);
		CHECK(wait_free(&t.a, 1, i));
	}
	s = stats(&t.other);
	CHECK_EQ(s.messages, SLOTS);
	CHECK_EQ(s.cores, 2);
	/* each sends by its own slots */
	for (i = 0; i < SLOTS; i++) {
		struct member *own = i < PART ? &t.b : &t.other;
		struct member *none = i < PART ? &t.other : &t.b;

		CHECK_EQ(send_message(none, 0, i, i, 60), RMC_S_BAD_SLOT);
		pass(own, &t.a, i, i, 60);
		/* and nobody changes those of others */
		CHECK(!is_free(none, 0, i));
	}
	CHECK_EQ(dom_call(&t.other, RMC_IOC_DOM_DESTROY), 0);
	CHECK_EQ(dom_call(&t.other, RMC_IOC_DOM_DESTROY), -ENOENT);
	CHECK_EQ(dom_call(&t.other, RMC_IOC_DOM_DETACH), -ENOENT);
	pass(&t.a, &t.b, 0, 1, 60);
	CHECK_EQ(stats(&t.b).cores, 1);
}

#define REFUSED(fd, err, ...) do {						\
	struct rmc_dom_create c_ = shared_by(2, RMC_DOM_GREEDY, 0);		\
										\
	c_.size = sizeof(c_);							\
	__VA_ARGS__;								\
	CHECK_ERRNO(ioctl(fd, RMC_IOC_DOM_CREATE, &c_), err);			\
} while (0)

TEST(what_is_refused)
{
	struct rmc_dom_query q = { .size = sizeof(q) };
	struct member b, other, elsewhere, foreign;
	struct rmc_dom_create c = shared_by(2, RMC_DOM_GREEDY, 0);
	struct rmc_dom_attach at = { .size = sizeof(at) };
	struct rmc_qp *qp[2];
	struct rmc_dom_open o;
	int fd;

	REQUIRE(!ctx_create(9, 0666, 0, 0) || errno == EEXIST);
	open_member(&b, 1);
	open_member(&other, 1);
	open_member(&elsewhere, 2);
	memset(&foreign, 0, sizeof(foreign));
	end_open(&foreign.e, 9, 1, 0, PAGE, 16);
	fd = rmc_fd(b.e.ctx);
	REQUIRE_EQ(ioctl(fd, RMC_IOC_DOM_QUERY, &q), 0);
	CHECK_EQ(q.max_members, RMC_MAX_MEMBERS);
	REFUSED(fd, EINVAL, c_.members = q.max_members + 1, c_.slots = 100, c_.cores = 100);
	REFUSED(fd, EINVAL, c_.members = ~0U);
	REFUSED(fd, EINVAL, c_.members = 5);
	REFUSED(fd, EINVAL, c_.slots = 1);
	REFUSED(fd, EINVAL, c_.policy = RMC_DOM_SHARED);
	CHECK_EQ(open_domain(&other, 1, &o), -ENOENT);
	/* the creator's alone */
	REQUIRE_EQ(create(&b, &usual), 0);
	CHECK_EQ(open_domain(&other, RMC_DOM_ANY_MEMBER, &o), -ENOSPC);
	CHECK_EQ(open_domain(&other, 1, &o), -EINVAL);
	close_member(&b);
	open_member(&b, 1);
	REQUIRE_EQ(create(&b, &c), 0);
	CHECK_EQ(open_domain(&b, 1, &o), -EEXIST);
	CHECK_EQ(open_domain(&elsewhere, 1, &o), -ENOENT);
	CHECK_EQ(open_domain(&foreign, 1, &o), -ENOENT);
	CHECK_EQ(open_domain(&other, 0, &o), -EINVAL);
	CHECK_EQ(open_domain(&other, 2, &o), -EINVAL);
	REQUIRE_EQ(open_domain(&other, 1, &o), 0);
	CHECK_EQ(open_domain(&other, 1, &o), -EEXIST);
	REFUSED(rmc_fd(other.e.ctx), EEXIST, c_.members = 1);
	open_member(&elsewhere, 1);
	CHECK_EQ(open_domain(&elsewhere, 1, &o), -EBUSY);
	CHECK_EQ(open_domain(&elsewhere, RMC_DOM_ANY_MEMBER, &o), -ENOSPC);
	/* two of four cores */
	REQUIRE_EQ(attach(&other, other.e.qp), 0);
	qp[0] = rmc_qp_create(other.e.ctx, 16);
	qp[1] = rmc_qp_create(other.e.ctx, 16);
	REQUIRE(qp[0] && qp[1]);
	REQUIRE_EQ(attach(&other, qp[0]), 0);
	CHECK_EQ(attach(&other, qp[1]), -ENOSPC);
	/* but any number that only sends */
	at.qp_id = qp[1]->id;
	at.flags = RMC_DOM_SEND_ONLY;
	CHECK_EQ(ioctl(rmc_fd(other.e.ctx), RMC_IOC_DOM_ATTACH, &at), 0);
	rmc_qp_destroy(qp[0]);
	rmc_qp_destroy(qp[1]);
	end_close(&foreign.e);
	CHECK_EQ(ctx_remove(9), 0);
}

/* All that a file may do with a domain that another one has ended */
static void check_ended(struct member *m, const struct rmc_dom_open *o)
{
	struct rmc_dom_stats s = { .size = sizeof(s) };
	struct rmc_dom_attach at = { .size = sizeof(at), .qp_id = m->e.qp->id };
	int fd = rmc_fd(m->e.ctx);

	CHECK_EQ(arm(m, -1), -ESHUTDOWN);
	CHECK_EQ(arm_room(m, -1), -ESHUTDOWN);
	CHECK_ERRNO(ioctl(fd, RMC_IOC_DOM_STATS, &s), ESHUTDOWN);
	CHECK_ERRNO(ioctl(fd, RMC_IOC_DOM_ATTACH, &at), ESHUTDOWN);
	CHECK_EQ(dom_call(m, RMC_IOC_DOM_DETACH), -ESHUTDOWN);
	CHECK_EQ(send_message(m, 0, PART, 1, 60), RMC_S_NO_DOMAIN);
	/* mappings stay; there are no new ones */
	CHECK_EQ(((volatile uint8_t *)m->recv)[m->recv_len - 1], 0);
	memset(m->send, 1, PAGE);
	CHECK(mmap(NULL, m->recv_len, PROT_READ, MAP_SHARED, fd,
		   (off_t)o->recv_offset) == MAP_FAILED);
}

/* How the creator ends it */
enum { DESTROY, CLOSE, KILL, ENDS };

/* Begin where another file is about to end: an RMC may notice a close a little later. */
static void begin(struct member *m, const struct rmc_dom_create *c, struct rmc_dom_open *o)
{
	unsigned int spins = 0;
	time_t end = 0;
	int err;

	open_member(m, 1);
	while ((err = c ? create(m, c) : open_domain(m, 1, o)) == (c ? -EEXIST : -EBUSY))
		REQUIRE(waits(m->e.qp, &end, &spins));
	REQUIRE_EQ(err, 0);
	REQUIRE_EQ(attach(m, m->e.qp), 0);
}

static void tell(uint32_t *word)
{
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
}

static void until_told(const uint32_t *word)
{
	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		usleep(1000);
}

static uint32_t *shared_words(void)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* The creator, in a process of its own, until it is told to end */
static void run_creator(const struct rmc_dom_create *c, int how, uint32_t *words)
{
	struct member b;
	uint32_t life;

	begin(&b, c, NULL);
	if (join(&b, b.e.qp, 0, &life))
		_exit(1);
	tell(&words[0]);
	until_told(&words[1]);
	if (how == DESTROY && dom_call(&b, RMC_IOC_DOM_DESTROY))
		_exit(1);
	if (how == CLOSE)
		close_member(&b);
	_exit(0);
}

TEST(creator_ends_it_for_all)
{
	struct rmc_dom_create c = shared_by(2, RMC_DOM_RR, 0);
	int how, efd[2] = { eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK) };
	uint32_t life, *words = shared_words();
	struct member a, other;
	struct rmc_dom_open o;
	uint64_t n;
	pid_t child;

	for (how = 0; how < ENDS; how++) {
		memset(words, 0, PAGE);
		open_member(&a, 0);
		REQUIRE_EQ(create(&a, &usual), 0);
		REQUIRE_EQ(attach(&a, a.e.qp), 0);
		child = helper();
		if (!child)
			run_creator(&c, how, words);
		until_told(&words[0]);
		begin(&other, NULL, &o);
		REQUIRE_EQ(join(&other, other.e.qp, 0, &life), RMC_S_OK);
		REQUIRE_EQ(join(&a, a.e.qp, 1, &life), RMC_S_OK);
		pass(&other, &a, PART, 3, 100);
		/* one that nobody receives, and a member that sleeps for all */
		REQUIRE_EQ(send_message(&other, 0, PART + 1, 3, 100), RMC_S_OK);
		REQUIRE_EQ(arm(&other, efd[0]), 0);
		REQUIRE_EQ(arm_room(&other, efd[1]), 0);
		CHECK(!readable(efd[0], 20));
		tell(&words[1]);
		if (how == KILL)
			kill(child, SIGKILL);
		CHECK(readable(efd[0], WAIT_S * 1000));
		CHECK(readable(efd[1], WAIT_S * 1000));
		CHECK(readable(rmc_fd(other.e.ctx), 1000));
		waitpid(child, NULL, 0);
		CHECK_EQ(read(efd[0], &n, 8), 8);
		CHECK_EQ(read(efd[1], &n, 8), 8);
		check_ended(&other, &o);
		CHECK_EQ(send_message(&a, 1, 0, 3, 100), RMC_S_NO_DOMAIN);
		/* it begins anew, as the creator */
		munmap(other.recv, other.recv_len);
		munmap(other.send, PAGE);
		munmap((void *)(uintptr_t)other.aq, PAGE);
		CHECK_EQ(open_domain(&other, 1, &o), -ENOENT);
		REQUIRE_EQ(create(&other, &usual), 0);
		REQUIRE_EQ(attach(&other, other.e.qp), 0);
		CHECK(other.dom.life != o.life);
		close_member(&other);
		close_member(&a);
	}
}

/* A member goes while it has a message; the creator's core gets it, or nobody */
TEST(messages_of_a_member_that_goes)
{
	unsigned int requeue, how;
	struct arrival m;
	struct trio t;

	for (requeue = 0; requeue < 2; requeue++) {
		for (how = 0; how < ENDS; how++) {
			trio(&t, RMC_DOM_RR, requeue ? RMC_DOM_REQUEUE : 0);
			REQUIRE_EQ(send_message(&t.a, 1, 0, 1, 100), RMC_S_OK);
			REQUIRE_EQ(send_message(&t.a, 1, 1, 2, 100), RMC_S_OK);
			REQUIRE(wait_arrival(&t.b, &m));
			CHECK_EQ(receive(t.b.e.qp, &m), RMC_S_OK);
			REQUIRE(wait_arrival(&t.other, &m));
			CHECK_EQ(m.slot, 1);
			if (how == DESTROY)
				CHECK_EQ(dom_call(&t.other, RMC_IOC_DOM_DESTROY), 0);
			/* mappings keep a file open */
			if (how == KILL)
				CHECK_EQ(dom_call(&t.other, RMC_IOC_DOM_DETACH), 0);
			close_member(&t.other);
			if (requeue) {
				REQUIRE(wait_arrival(&t.b, &m));
				CHECK(m.again);
				CHECK_EQ(m.slot, 1);
				CHECK_EQ(receive(t.b.e.qp, &m), RMC_S_OK);
				CHECK(wait_free(&t.a, 1, 1));
			}
			CHECK_EQ(stats(&t.b).cores, 1);
			pass(&t.a, &t.b, 2, 3, 100);
			close_member(&t.b);
			close_member(&t.a);
		}
	}
}

/* What the slot's next message has to be numbered after, with what another process left given up */
static uint32_t take_over(struct member *m, unsigned int slot)
{
	uint64_t *state = (uint64_t *)(void *)m->e.buf;
	uint32_t turn;

	REQUIRE_EQ(rmc_execute(m->e.qp, RMC_OP_JOIN, 0, rmc_slot_offset(slot, 0), state, 8), RMC_S_OK);
	turn = RMC_JOIN_TURN(*state) | RMC_JOIN_HIGH(*state) << 8;
	REQUIRE_EQ(rmc_execute(m->e.qp, RMC_OP_JOIN, 0, rmc_skip_offset(slot, (uint8_t)(turn + 1)),
			       state, 8), RMC_S_OK);
	/* given up, or it was complete a moment ago */
	if (RMC_JOIN_TURN(*state) == (uint8_t)(turn + 1))
		turn++;
	slot_of(m, 0, slot)->turn = turn;
	if (!(*state & RMC_JOIN_FREE))
		__atomic_store_n(&slot_of(m, 0, slot)->valid, RMC_SEND_USED, __ATOMIC_RELEASE);
	return turn;
}

/* A member in a process of its own, with messages in each state until it is killed */
static void run_member(unsigned int earlier, uint32_t *word)
{
	struct rmc_dom_open o;
	struct member m;
	uint32_t life;
	unsigned int i;

	begin(&m, NULL, &o);
	REQUIRE_EQ(o.earlier, earlier);
	REQUIRE_EQ(join(&m, m.e.qp, 0, &life), RMC_S_OK);
	for (i = PART; earlier && i < SLOTS; i++)
		REQUIRE(take_over(&m, i));
	REQUIRE_EQ(send_message(&m, 0, PART, 1, 100), RMC_S_OK);
	REQUIRE_EQ(send_message(&m, 0, PART + 1, 2, 100), RMC_S_OK);
	tell(word);
	for (i = 0;; i++)
		send_message(&m, 0, PART + 2, i, MESSAGE);
}

/* Receive what there is until all slots of the other member are free. */
static void drain(struct member *a, struct member *from)
{
	unsigned int spins = 0, i = PART;
	struct arrival m;
	time_t end = 0;

	while (i < SLOTS) {
		if (next_arrival(a, &m))
			CHECK_EQ(receive(a->e.qp, &m), RMC_S_OK);
		else if (is_free(from, a->nid, i))
			i++;
		else
			REQUIRE(waits(a->e.qp, &end, &spins));
	}
}

/*
 * A member is killed with messages that lie at the peer, and that are under way. Its successor has
 * other send slots in memory, and goes on with the same ones.
 */
TEST(killed_member_and_its_successor)
{
	struct rmc_dom_create c = shared_by(2, RMC_DOM_RR, RMC_DOM_REQUEUE);
	uint32_t life, *word = shared_words();
	struct member a, b, other;
	unsigned int i, round;
	struct rmc_dom_open o;
	pid_t child;

	open_member(&a, 0);
	open_member(&b, 1);
	REQUIRE_EQ(create(&a, &usual), 0);
	REQUIRE_EQ(create(&b, &c), 0);
	REQUIRE_EQ(attach(&a, a.e.qp), 0);
	REQUIRE_EQ(join(&a, a.e.qp, 1, &life), RMC_S_OK);
	for (round = 0; round < 3; round++) {
		*word = 0;
		child = helper();
		if (!child)
			run_member(2 * round, word);
		until_told(word);
		usleep(2000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		begin(&other, NULL, &o);
		CHECK_EQ(o.earlier, 2 * round + 1);
		for (i = 0; i < PAGE; i++)
			REQUIRE_EQ(((uint8_t *)other.send)[i], 0);
		REQUIRE_EQ(join(&other, other.e.qp, 0, &life), RMC_S_OK);
		CHECK_EQ(life, a.dom.life);
		for (i = PART; i < SLOTS; i++)
			CHECK(take_over(&other, i) > 0);
		/* what lies at the peer is received, and frees what this process knows of */
		CHECK(!is_free(&other, 0, PART));
		CHECK(!is_free(&other, 0, PART + 1));
		drain(&a, &other);
		for (i = 0; i < 3 * PART; i++)
			pass(&other, &a, PART + i % PART, i, 1 + 400 * i);
		close_member(&other);
	}
}

/* A file of a member or creator whose process forks, and is killed. Returns its child */
static pid_t killed_parent(const struct rmc_dom_create *c, struct member *other)
{
	struct rmc_dom_open o;
	pid_t child, grandchild;
	struct member m;
	int p[2];

	REQUIRE_EQ(pipe(p), 0);
	child = helper();
	if (!child) {
		open_member(&m, 1);
		if (c ? create(&m, c) : open_domain(&m, 1, &o))
			_exit(1);
		grandchild = fork();
		if (grandchild && write(p[1], &grandchild, sizeof(grandchild)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	REQUIRE_EQ(read(p[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	if (c)
		REQUIRE_EQ(open_domain(other, 1, &o), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(p[0]);
	close(p[1]);
	return grandchild;
}

TEST(child_of_a_killed_member_keeps_nothing)
{
	struct rmc_dom_create c = shared_by(2, RMC_DOM_GREEDY, 0);
	struct rmc_dom_open o;
	struct member b, m;
	pid_t child;

	open_member(&b, 1);
	REQUIRE_EQ(create(&b, &c), 0);
	child = killed_parent(NULL, NULL);
	begin(&m, NULL, &o);
	CHECK_EQ(o.earlier, 1);
	kill(child, SIGKILL);
}

TEST(child_of_a_killed_creator_keeps_nothing)
{
	struct rmc_dom_create c = shared_by(2, RMC_DOM_GREEDY, 0);
	struct rmc_dom_stats s = { .size = sizeof(s) };
	unsigned int spins = 0;
	struct member b;
	time_t end = 0;
	pid_t child;

	open_member(&b, 1);
	child = killed_parent(&c, &b);
	while (!ioctl(rmc_fd(b.e.ctx), RMC_IOC_DOM_STATS, &s))
		REQUIRE(waits(b.e.qp, &end, &spins));
	CHECK_EQ(errno, ESHUTDOWN);
	kill(child, SIGKILL);
}

TEST(ends_in_each_order_with_mappings)
{
	struct trio t;
	unsigned int order, i;

	for (order = 0; order < 6; order++) {
		static const char orders[6][4] = { "abo", "aob", "bao", "boa", "oab", "oba" };

		trio(&t, RMC_DOM_GREEDY, RMC_DOM_REQUEUE);
		REQUIRE_EQ(send_message(&t.a, 1, 0, 1, 100), RMC_S_OK);
		REQUIRE_EQ(send_message(&t.a, 1, 1, 1, 100), RMC_S_OK);
		REQUIRE_EQ(send_message(&t.b, 0, 0, 1, 100), RMC_S_OK);
		REQUIRE_EQ(send_message(&t.other, 0, PART, 1, 100), RMC_S_OK);
		for (i = 0; i < 3; i++) {
			struct member *m = orders[order][i] == 'a' ? &t.a :
					   orders[order][i] == 'b' ? &t.b : &t.other;

			if (dom_call(m, RMC_IOC_DOM_DESTROY))
				CHECK(m == &t.other);
			/* all of them, of domains that are gone */
			memset(t.a.send, (int)i, PAGE);
			memset(t.b.send, (int)i, PAGE);
			memset(t.other.send, (int)i, PAGE);
		}
		close_member(&t.a);
		close_member(&t.b);
		close_member(&t.other);
	}
}

/* Takes what it gets and never receives it, scribbles, arms, and comes and goes; unprivileged */
static void be_hostile(uint32_t seed)
{
	struct rmc_dom_open o;
	struct member evil;
	uint32_t state = seed, n;

	drop_privileges(NOBODY);
	for (;;) {
		open_member(&evil, 1);
		if (open_domain(&evil, 1, &o)) {
			end_close(&evil.e);
			continue;
		}
		attach(&evil, evil.e.qp);
		for (n = 0; n < 50; n++) {
			unsigned int op = RMC_OP_SEND + rnd(&state) % 5;
			uint64_t offset = (uint64_t)rnd(&state) << 8 ^ rnd(&state);

			memset(evil.send, (int)rnd(&state), PAGE);
			rmc_execute(evil.e.qp, op, (int)(rnd(&state) % 5),
				    n % 2 ? offset : offset & 0x7fffffff, evil.e.buf,
				    op == RMC_OP_RECEIVE ? 0 : rnd(&state) % 6000);
			arm(&evil, -1);
			arm_room(&evil, -1);
		}
		close_member(&evil);
	}
}

/*
 * A hostile member, and others that would be it: the creator has half of the slots and cores, and its
 * messages go on both ways, those of another domain as well.
 */
TEST_WITHIN(hostile_member, 120)
{
	struct rmc_dom_create c = shared_by(2, RMC_DOM_GREEDY, RMC_DOM_REQUEUE);
	unsigned int i, got = 0, sent = 0, spins = 0;
	struct member a, b, far;
	struct arrival m;
	pid_t evil[2];
	time_t end = 0;
	uint32_t life;

	open_member(&a, 0);
	open_member(&b, 1);
	open_member(&far, 2);
	REQUIRE_EQ(create(&a, &usual), 0);
	REQUIRE_EQ(create(&b, &c), 0);
	REQUIRE_EQ(create(&far, &usual), 0);
	REQUIRE_EQ(attach(&a, a.e.qp), 0);
	REQUIRE_EQ(attach(&b, b.e.qp), 0);
	REQUIRE_EQ(attach(&far, far.e.qp), 0);
	REQUIRE_EQ(join(&a, a.e.qp, 1, &life), RMC_S_OK);
	REQUIRE_EQ(join(&a, a.e.qp, 2, &life), RMC_S_OK);
	REQUIRE_EQ(join(&far, far.e.qp, 0, &life), RMC_S_OK);
	REQUIRE_EQ(join(&b, b.e.qp, 0, &life), RMC_S_OK);
	for (i = 0; i < 2; i++) {
		evil[i] = helper();
		if (!evil[i])
			be_hostile(i + 1);
	}
	while (got < 60) {
		for (i = 0; i < SLOTS; i++)
			if (is_free(&a, 1, i) && send_message(&a, 1, i, i, 200) == RMC_S_OK)
				sent++;
		while (next_arrival(&b, &m)) {
			CHECK_EQ(differs(b.recv + (m.nid * SLOTS + m.slot) * b.dom.stride + 64, m.len,
					 m.slot), -1);
			CHECK_EQ(receive(b.e.qp, &m), RMC_S_OK);
			got++;
		}
		pass(&a, &far, got % SLOTS, got, 100);
		pass(&far, &a, got % SLOTS, got, 100);
		if (!waits(a.e.qp, &end, &spins)) {
			ktap_say("got %u of %u", got, sent);
			ktap_fail();
			break;
		}
	}
	CHECK(sent >= got);
	for (i = 0; i < 2; i++) {
		kill(evil[i], SIGKILL);
		waitpid(evil[i], NULL, 0);
	}
	/* what they had comes back */
	end = 0;
	for (i = 0; i < SLOTS; i++) {
		while (!is_free(&a, 1, i)) {
			if (next_arrival(&b, &m))
				CHECK_EQ(receive(b.e.qp, &m), RMC_S_OK);
			REQUIRE(waits(a.e.qp, &end, &spins));
		}
	}
}

static const char *missing(void)
{
	const char *why = suite_missing();
	struct rmc_dom_query q = { .size = sizeof(q) };
	int fd;

	if (why)
		return why;
	fd = open_ctx(CTX);
	if (fd >= 0 && (ioctl(fd, RMC_IOC_DOM_QUERY, &q) || !q.max_members))
		why = "this rmc has no domains that files share";
	if (fd >= 0)
		close(fd);
	return why;
}

KTAP_MAIN(missing)
