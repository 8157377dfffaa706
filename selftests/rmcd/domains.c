// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Domains of messages, over the protocol: what a client may ask, messages between two nodes, ends in
 * each order. usage: domains PATH_OF_RMCD [OPTION_OF_RMCD ...]
 */
#include <errno.h>
#include <linux/rmc_domain.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../tap.h"
#include "raw.h"

#define SLOTS	8
#define MESSAGE	5000
#define DEPTH	2
#define WAIT_MS	20000

/* A node with a domain, and one queue pair that is a core */
struct member {
	struct raw c;
	struct raw_qp qp;
	struct rmc_dom_create dom;
	struct rmc_dom_attach core;
	uint8_t *buf, *recv;
	struct rmc_send_slot *send;
	const struct rmc_aq_entry *aq;
	size_t recv_len, aq_len;
	int recv_fd, send_fd, answer_fd, aq_fd;
	unsigned int nid, seen;
};

static int create(struct member *m, const struct rmc_dom_create *c)
{
	int err;

	m->dom = *c;
	m->dom.size = sizeof(m->dom);
	err = raw_call(&m->c, RMC_IOC_DOM_CREATE, &m->dom, sizeof(m->dom));
	if (err)
		return err;
	if (m->c.gots != 2 + !!c->max_answer)
		return -EBADMSG;
	m->recv_fd = m->c.got[0];
	m->send_fd = m->c.got[1];
	m->answer_fd = c->max_answer ? m->c.got[2] : -1;
	m->c.gots = 0;
	m->recv_len = (size_t)m->dom.nodes * m->dom.slots * m->dom.stride;
	m->recv = mmap(NULL, m->recv_len, PROT_READ, MAP_SHARED, m->recv_fd, 0);
	m->send = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, m->send_fd, 0);
	return m->recv == MAP_FAILED || m->send == MAP_FAILED ? -errno : 0;
}

static const struct rmc_dom_create usual = {
	.nodes = 2, .slots = SLOTS, .max_message = MESSAGE, .policy = RMC_DOM_GREEDY,
	.depth = DEPTH, .cores = 4, .groups = 1,
};

static int attach(struct member *m)
{
	int err;

	m->core = (struct rmc_dom_attach){ .size = sizeof(m->core), .qp_id = m->qp.id };
	m->seen = 0;
	err = raw_call(&m->c, RMC_IOC_DOM_ATTACH, &m->core, sizeof(m->core));
	if (err)
		return err;
	if (m->c.gots != 1)
		return -EBADMSG;
	m->aq_fd = m->c.got[0];
	m->c.gots = 0;
	m->aq_len = m->core.aq_entries * sizeof(*m->aq);
	m->aq = mmap(NULL, m->aq_len, PROT_READ, MAP_SHARED, m->aq_fd, 0);
	return m->aq == MAP_FAILED ? -errno : 0;
}

static void unmap_domain(struct member *m)
{
	munmap(m->recv, m->recv_len);
	munmap(m->send, PAGE);
	close(m->recv_fd);
	close(m->send_fd);
	if (m->answer_fd >= 0)
		close(m->answer_fd);
}

static void unmap_core(struct member *m)
{
	munmap((void *)(uintptr_t)m->aq, m->aq_len);
	close(m->aq_fd);
}

static int open_member(struct member *m, unsigned int nid)
{
	struct rmc_attach at = { .size = sizeof(at), .nid = nid };
	void *p;
	int fd = shared(2 * PAGE, &p), err;

	m->buf = p;
	m->nid = nid;
	err = raw_open(&m->c, 0);
	if (!err)
		err = raw_call(&m->c, RMC_IOC_ATTACH, &at, sizeof(at));
	if (!err)
		err = raw_buf(&m->c, p, 2 * PAGE, fd, 0, NULL);
	if (!err)
		err = raw_qp(&m->c, &m->qp, 16);
	close(fd);
	return err;
}

/* Domain and core, then the connection's end */
static void close_member(struct member *m)
{
	unmap_core(m);
	unmap_domain(m);
	raw_qp_unmap(&m->qp);
	raw_close(&m->c);
	munmap(m->buf, 2 * PAGE);
}

static int run(struct member *m, unsigned int op, unsigned int nid, uint64_t offset, void *buf,
	       uint32_t len)
{
	raw_post(&m->qp, op, nid, offset, buf, len);
	return raw_wait(&m->qp, WAIT_MS);
}

/* Each RRPP of the peer; *@state: what the last one said */
static int join(struct member *m, unsigned int nid, uint64_t *state)
{
	struct rmc_query q = { .size = sizeof(q) };
	unsigned int i;
	int status = raw_call(&m->c, RMC_IOC_QUERY, &q, sizeof(q));

	for (i = 0; !status && i < q.rrpps; i++) {
		status = run(m, RMC_OP_JOIN, nid, rmc_slot_offset(i, 0), m->buf, 8);
		memcpy(state, m->buf, sizeof(*state));
	}
	return status;
}

static struct rmc_send_slot *slot_of(struct member *m, unsigned int nid, unsigned int slot)
{
	return &m->send[nid * SLOTS + slot];
}

static bool is_free(struct member *m, unsigned int nid, unsigned int slot)
{
	return !__atomic_load_n(&slot_of(m, nid, slot)->valid, __ATOMIC_ACQUIRE);
}

static void fill(uint8_t *p, unsigned int value, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = (uint8_t)(value * 31 + i * 7 + (i >> 8));
}

static int send_message(struct member *m, unsigned int nid, unsigned int slot, unsigned int value,
			uint32_t len)
{
	struct rmc_send_slot *s = slot_of(m, nid, slot);

	fill(m->buf, value, len);
	s->turn++;
	__atomic_store_n(&s->valid, 1, __ATOMIC_RELEASE);
	return run(m, RMC_OP_SEND, nid, rmc_slot_offset(slot, (uint8_t)s->turn), m->buf, len);
}

struct arrival {
	unsigned int nid, slot, len;
	uint8_t turn;
	bool again;
	uint8_t head[RMC_AQ_HEAD];
};

static bool next_arrival(struct member *m, struct arrival *a)
{
	const struct rmc_aq_entry *e = &m->aq[m->seen % m->core.aq_entries];
	uint64_t word = __atomic_load_n(&e->word0, __ATOMIC_ACQUIRE);

	if ((word & 1) != !(m->seen & m->core.aq_entries))
		return false;
	a->nid = word >> RMC_AQ_NID_SHIFT & 0x3ff;
	a->slot = word >> RMC_AQ_SLOT_SHIFT & 0xfff;
	a->turn = (uint8_t)(word >> RMC_AQ_TURN_SHIFT);
	a->len = word >> RMC_AQ_LEN_SHIFT & 0x1fffff;
	a->again = word & RMC_AQ_AGAIN;
	memcpy(a->head, e->head, sizeof(a->head));
	m->seen++;
	return true;
}

static bool wait_arrival(struct member *m, struct arrival *a)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	while (!next_arrival(m, a))
		if (now_ns() > end)
			return false;
	return true;
}

static int receive(struct member *m, const struct arrival *a)
{
	return run(m, RMC_OP_RECEIVE, a->nid, rmc_slot_offset(a->slot, a->turn), NULL, 0);
}

static bool wait_free(struct member *m, unsigned int nid, unsigned int slot)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	while (!is_free(m, nid, slot))
		if (now_ns() > end)
			return false;
	return true;
}

/* One message from @a to @b, checked and received */
static void pass(struct member *a, struct member *b, unsigned int slot, unsigned int value,
		 uint32_t len)
{
	static uint8_t want[MESSAGE];
	struct arrival m = {};

	fill(want, value, len);
	CHECK_EQ(send_message(a, b->nid, slot, value, len), RMC_S_OK);
	CHECK(wait_arrival(b, &m));
	CHECK_EQ(m.nid, a->nid);
	CHECK_EQ(m.slot, slot);
	CHECK_EQ(m.len, len);
	CHECK(!memcmp(m.head, want, len < RMC_AQ_HEAD ? len : RMC_AQ_HEAD));
	CHECK(!memcmp(b->recv + (size_t)(m.nid * SLOTS + m.slot) * b->dom.stride + 64, want, len));
	CHECK_EQ(receive(b, &m), RMC_S_OK);
	CHECK(wait_free(a, b->nid, slot));
}

static void two_members(struct member *a, struct member *b)
{
	uint64_t state;

	CHECK_EQ(open_member(a, 0), 0);
	CHECK_EQ(open_member(b, 1), 0);
	CHECK_EQ(create(a, &usual), 0);
	CHECK_EQ(create(b, &usual), 0);
	CHECK_EQ(attach(a), 0);
	CHECK_EQ(attach(b), 0);
	CHECK_EQ(join(a, 1, &state), RMC_S_OK);
	CHECK_EQ(RMC_JOIN_LIFE(state), b->dom.life);
	CHECK_EQ(join(b, 0, &state), RMC_S_OK);
	CHECK_EQ(RMC_JOIN_LIFE(state), a->dom.life);
}

/* ---- tests ---- */

static void test_messages(void)
{
	static const uint32_t lengths[] = { 1, 8, 48, 49, 64, 1000, 4095, 4096, MESSAGE };
	struct rmc_dom_stats s = { .size = sizeof(s) };
	struct member a, b;
	unsigned int i;

	two_members(&a, &b);
	for (i = 0; i < 4 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		pass(&a, &b, i % SLOTS, i, lengths[i % (sizeof(lengths) / sizeof(lengths[0]))]);
		pass(&b, &a, (i * 3) % SLOTS, i + 100, 1 + i);
	}
	CHECK_EQ(raw_call(&b.c, RMC_IOC_DOM_STATS, &s, sizeof(s)), 0);
	CHECK_EQ(s.messages, i);
	CHECK_EQ(s.dispatched, i);
	CHECK_EQ(s.freed, i);
	CHECK_EQ(s.refused, 0);
	CHECK_EQ(s.waiting, 0);
	CHECK_EQ(s.cores, 1);
	close_member(&a);
	close_member(&b);
}

/* What is reported of a domain while there is one, and who asks for more than that */
static void test_attributes(void)
{
#define OF	"class/misc/rmc/node1/domains"
	static const char * const none[] = {
		OF "/1/messages", OF "/x/messages", OF "/0/bytes", OF "/00/", OF "/0/messages/x",
		"class/misc/rmc/node1/domains0/messages", OF "/4294967296/messages",
	};
	unsigned long long from, count, last = 0, sum = 0;
	struct rmcd_attr r = { .path = OF "/0/messages" };
	struct member a, b;
	char *line, *next;
	unsigned int i;

	two_members(&a, &b);
	for (i = 0; i < 20; i++)
		pass(&a, &b, i % SLOTS, i, 60);
	CHECK_EQ(raw_call(&b.c, RMCD_ATTR_READ, &r, sizeof(r)), 0);
	CHECK(!strcmp(r.value, "20"));
	CHECK_EQ(raw_call(&b.c, RMCD_ATTR_WRITE, &r, sizeof(r)), -EACCES);
	strcpy(r.path, OF "/0/waited_histogram");
	CHECK_EQ(raw_call(&b.c, RMCD_ATTR_READ, &r, sizeof(r)), -EOVERFLOW);
	for (r.offset = 0; !raw_call(&b.c, RMCD_ATTR_LIST, &r, sizeof(r)) && r.count; r.offset += r.count)
		for (line = strtok_r(r.value, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
			CHECK_EQ(sscanf(line, "%llu %llu", &from, &count), 2);
			CHECK(count && (!sum || from > last));
			last = from;
			sum += count;
		}
	CHECK_EQ(sum, 20);
	r = (struct rmcd_attr) { .path = OF };
	CHECK_EQ(raw_call(&b.c, RMCD_ATTR_LIST, &r, sizeof(r)), 0);
	CHECK(!strcmp(r.value, "0\n"));
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		r = (struct rmcd_attr) { .offset = 0 };
		strcpy(r.path, none[i]);
		CHECK_EQ(raw_call(&b.c, RMCD_ATTR_READ, &r, sizeof(r)), -ENOENT);
	}
	close_member(&b);
	r = (struct rmcd_attr) { .path = OF "/0/messages" };
	CHECK_EQ(raw_call(&a.c, RMCD_ATTR_READ, &r, sizeof(r)), -ENOENT);
	close_member(&a);
#undef OF
}

/* A core has no more than the depth; the rest waits, and nothing is lost. */
static void test_back_pressure(void)
{
	struct rmc_dom_stats s = { .size = sizeof(s) };
	struct arrival m[SLOTS];
	struct member a, b;
	unsigned int i;

	two_members(&a, &b);
	for (i = 0; i < SLOTS; i++)
		CHECK_EQ(send_message(&a, 1, i, i, 60), RMC_S_OK);
	for (i = 0; i < DEPTH; i++)
		CHECK(wait_arrival(&b, &m[i]));
	usleep(10000);
	CHECK(!next_arrival(&b, &m[DEPTH]));
	CHECK_EQ(raw_call(&b.c, RMC_IOC_DOM_STATS, &s, sizeof(s)), 0);
	CHECK_EQ(s.waiting, SLOTS - DEPTH);
	/* the slot is not free: neither a new message in it, nor the same one again, has an effect */
	CHECK(!is_free(&a, 1, 0));
	CHECK_EQ(run(&a, RMC_OP_SEND, 1, rmc_slot_offset(0, (uint8_t)(slot_of(&a, 1, 0)->turn + 1)),
		     a.buf, 60), RMC_S_SLOT_BUSY);
	CHECK_EQ(run(&a, RMC_OP_SEND, 1, rmc_slot_offset(0, (uint8_t)slot_of(&a, 1, 0)->turn),
		     a.buf, 60), RMC_S_OK);
	for (i = 0; i < SLOTS; i++) {
		if (i >= DEPTH)
			CHECK(wait_arrival(&b, &m[i]));
		CHECK_EQ(m[i].slot, i);
		CHECK_EQ(receive(&b, &m[i]), RMC_S_OK);
		CHECK(wait_free(&a, 1, i));
	}
	CHECK(!next_arrival(&b, &m[0]));
	close_member(&a);
	close_member(&b);
}

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

static int arm(struct member *m, int eventfd, uint32_t seen)
{
	struct rmc_aq_arm arg = { .size = sizeof(arg), .qp_id = m->qp.id, .seen = seen,
				  .eventfd = eventfd };

	return raw_call_fds(&m->c, RMC_IOC_AQ_ARM, &arg, sizeof(arg), NULL, 0, &eventfd,
			    eventfd >= 0);
}

static void test_sleep(void)
{
	struct rmc_aq_arm other = { .size = sizeof(other), .qp_id = 5, .eventfd = -1 };
	int fd = eventfd(0, EFD_NONBLOCK);
	struct member a, b;
	struct arrival m;
	uint64_t count;

	two_members(&a, &b);
	CHECK_EQ(arm(&b, fd, 0), 0);
	CHECK(!readable(fd, 20));
	CHECK_EQ(send_message(&a, 1, 0, 1, 8), RMC_S_OK);
	CHECK(readable(fd, WAIT_MS));
	CHECK(wait_arrival(&b, &m));
	CHECK_EQ(read(fd, &count, sizeof(count)), (ssize_t)sizeof(count));
	/* not armed */
	CHECK_EQ(send_message(&a, 1, 1, 1, 8), RMC_S_OK);
	CHECK(wait_arrival(&b, &m));
	CHECK(!readable(fd, 20));
	/* late: one has come since */
	CHECK_EQ(arm(&b, fd, 1), 0);
	CHECK(readable(fd, WAIT_MS));
	CHECK_EQ(read(fd, &count, sizeof(count)), (ssize_t)sizeof(count));
	CHECK_EQ(raw_call(&b.c, RMC_IOC_AQ_ARM, &other, sizeof(other)), -ENOENT);
	/* who sleeps learns of the end */
	CHECK_EQ(arm(&b, fd, 2), 0);
	{
		struct rmc_dom_detach d = { .size = sizeof(d), .qp_id = b.qp.id };

		CHECK_EQ(raw_call(&b.c, RMC_IOC_DOM_DETACH, &d, sizeof(d)), 0);
		CHECK(readable(fd, WAIT_MS));
		CHECK_EQ(raw_call(&b.c, RMC_IOC_DOM_DETACH, &d, sizeof(d)), -ENOENT);
	}
	CHECK_EQ(arm(&b, fd, 0), -ENOENT);
	close_member(&a);
	close_member(&b);
	close(fd);
}

static int arm_room(struct member *m, uint32_t qp_id, int eventfd)
{
	struct rmc_room_arm arg = { .size = sizeof(arg), .qp_id = qp_id, .eventfd = eventfd };

	return raw_call_fds(&m->c, RMC_IOC_ROOM_ARM, &arg, sizeof(arg), NULL, 0, &eventfd,
			    eventfd >= 0);
}

static void test_room(void)
{
	struct rmc_dom_detach d = { .size = sizeof(d) };
	int fd = eventfd(0, EFD_NONBLOCK);
	struct member a, b;
	struct arrival m;
	uint64_t count;

	two_members(&a, &b);
	d.qp_id = a.qp.id;
	CHECK_EQ(arm_room(&a, a.qp.id, 5), -EINVAL);
	CHECK_EQ(arm_room(&a, a.qp.id + 1, -1), -ENOENT);
	CHECK_EQ(send_message(&a, 1, 0, 1, 8), RMC_S_OK);
	CHECK_EQ(arm_room(&a, a.qp.id, fd), 0);
	CHECK(!readable(fd, 20));
	CHECK(wait_arrival(&b, &m));
	CHECK_EQ(receive(&b, &m), RMC_S_OK);
	CHECK(readable(fd, WAIT_MS));
	CHECK(wait_free(&a, 1, 0));
	CHECK_EQ(read(fd, &count, sizeof(count)), (ssize_t)sizeof(count));
	/* who sleeps learns of the end */
	CHECK_EQ(arm_room(&a, a.qp.id, fd), 0);
	CHECK(!readable(fd, 20));
	CHECK_EQ(raw_call(&a.c, RMC_IOC_DOM_DETACH, &d, sizeof(d)), 0);
	CHECK(readable(fd, WAIT_MS));
	CHECK_EQ(arm_room(&a, a.qp.id, fd), -ENOENT);
	close_member(&a);
	close_member(&b);
	close(fd);
}

static void test_answers(void)
{
	struct rmc_dom_create with = usual;
	const struct rmc_answer *answer;
	uint8_t want[3000];
	struct member a, b;
	struct arrival m;
	uint64_t state;
	size_t len;

	with.max_answer = 3000;
	CHECK_EQ(open_member(&a, 0), 0);
	CHECK_EQ(open_member(&b, 1), 0);
	CHECK_EQ(create(&a, &with), 0);
	CHECK_EQ(create(&b, &with), 0);
	CHECK_EQ(attach(&a), 0);
	CHECK_EQ(attach(&b), 0);
	CHECK_EQ(join(&a, 1, &state), RMC_S_OK);
	CHECK_EQ(join(&b, 0, &state), RMC_S_OK);
	len = (size_t)with.nodes * SLOTS * a.dom.answer_stride;
	/* it cannot be written, nor made shorter */
	CHECK(mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, a.answer_fd, 0) == MAP_FAILED);
	CHECK(ftruncate(a.answer_fd, 0));
	answer = mmap(NULL, len, PROT_READ, MAP_SHARED, a.answer_fd, 0);
	CHECK(answer != MAP_FAILED);
	CHECK_EQ(send_message(&a, 1, 0, 1, 8), RMC_S_OK);
	CHECK(wait_arrival(&b, &m));
	fill(b.buf, 9, 3000);
	fill(want, 9, 3000);
	CHECK_EQ(run(&b, RMC_OP_REPLY, 0, rmc_slot_offset(m.slot, m.turn), b.buf, 3000), RMC_S_OK);
	answer = (const void *)((const uint8_t *)answer + SLOTS * a.dom.answer_stride);
	CHECK_EQ(a.send[SLOTS].valid, RMC_SEND_ANSWERED);
	CHECK_EQ(answer->length, 3000);
	CHECK(!memcmp(answer + 1, want, 3000));
	munmap((void *)((uintptr_t)answer - SLOTS * a.dom.answer_stride), len);
	close_member(&a);
	close_member(&b);
}

/* A member ends while the other sends, and begins anew: another life. */
static void test_lives(void)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL, state;
	struct member a, b;
	struct arrival m;
	uint32_t life;

	two_members(&a, &b);
	pass(&a, &b, 0, 1, 100);
	CHECK_EQ(send_message(&a, 1, 1, 2, 100), RMC_S_OK);
	CHECK(wait_arrival(&b, &m));
	life = b.dom.life;
	/* it has a message, and its connection ends */
	close_member(&b);
	/* the daemon learns of that a little later */
	while (now_ns() < end && join(&a, 1, &state) != RMC_S_NO_DOMAIN)
		usleep(1000);
	CHECK_EQ(send_message(&a, 1, 2, 3, 100), RMC_S_NO_DOMAIN);
	CHECK_EQ(open_member(&b, 1), 0);
	CHECK_EQ(create(&b, &usual), 0);
	CHECK(b.dom.life != life);
	CHECK_EQ(attach(&b), 0);
	CHECK_EQ(run(&a, RMC_OP_SEND, 1, rmc_slot_offset(0, 1), a.buf, 8), RMC_S_DOMAIN_MISMATCH);
	CHECK_EQ(join(&a, 1, &state), RMC_S_OK);
	CHECK_EQ(RMC_JOIN_LIFE(state), b.dom.life);
	CHECK_EQ(join(&b, 0, &state), RMC_S_OK);
	/* all slots begin with turn 1 */
	memset(slot_of(&a, 1, 0), 0, SLOTS * sizeof(*a.send));
	pass(&a, &b, 1, 4, 100);
	pass(&b, &a, 0, 5, 100);
	close_member(&a);
	close_member(&b);
}

/* Queue pair, core and domain end in each order. */
static void test_ends(void)
{
	struct member a, b;
	int order;

	for (order = 0; order < 4; order++) {
		struct rmc_dom_destroy destroy = { .size = sizeof(destroy) };
		struct rmc_dom_detach detach = { .size = sizeof(detach) };
		struct rmc_qp_id qp = { .size = sizeof(qp) };

		two_members(&a, &b);
		pass(&a, &b, 0, 1, 100);
		CHECK_EQ(send_message(&a, 1, 1, 2, 100), RMC_S_OK);
		detach.qp_id = b.qp.id;
		qp.qp_id = b.qp.id;
		if (order == 1)
			CHECK_EQ(raw_call(&b.c, RMC_IOC_DOM_DETACH, &detach, sizeof(detach)), 0);
		if (order == 2)
			CHECK_EQ(raw_call(&b.c, RMC_IOC_QP_DESTROY, &qp, sizeof(qp)), 0);
		if (order != 3)
			CHECK_EQ(raw_call(&b.c, RMC_IOC_DOM_DESTROY, &destroy, sizeof(destroy)), 0);
		if (order != 3)
			CHECK_EQ(raw_call(&b.c, RMC_IOC_DOM_DESTROY, &destroy, sizeof(destroy)),
				 -ENOENT);
		if (order != 3)
			CHECK_EQ(send_message(&a, 1, 2, 3, 100), RMC_S_NO_DOMAIN);
		close_member(&b);
		close_member(&a);
	}
}

/* A message that a core has goes to another one with RMC_DOM_REQUEUE. */
static void test_requeue(void)
{
	struct rmc_dom_create requeue = usual;
	struct rmc_qp_id qp = { .size = sizeof(qp) };
	struct member a, b, second;
	struct arrival m;
	uint64_t state;

	requeue.flags = RMC_DOM_REQUEUE;
	CHECK_EQ(open_member(&a, 0), 0);
	CHECK_EQ(open_member(&b, 1), 0);
	CHECK_EQ(create(&a, &usual), 0);
	CHECK_EQ(create(&b, &requeue), 0);
	CHECK_EQ(attach(&a), 0);
	CHECK_EQ(attach(&b), 0);
	CHECK_EQ(join(&a, 1, &state), RMC_S_OK);
	CHECK_EQ(join(&b, 0, &state), RMC_S_OK);
	CHECK_EQ(send_message(&a, 1, 3, 7, 100), RMC_S_OK);
	CHECK(wait_arrival(&b, &m));
	CHECK(!m.again);
	/* the same domain, another queue pair */
	second = b;
	CHECK_EQ(raw_qp(&b.c, &second.qp, 16), 0);
	second.c = b.c;
	CHECK_EQ(attach(&second), 0);
	CHECK(!next_arrival(&second, &m));
	qp.qp_id = b.qp.id;
	CHECK_EQ(raw_call(&b.c, RMC_IOC_QP_DESTROY, &qp, sizeof(qp)), 0);
	CHECK(wait_arrival(&second, &m));
	CHECK(m.again);
	CHECK_EQ(m.slot, 3);
	second.qp.c = &b.c;
	CHECK_EQ(join(&second, 0, &state), RMC_S_OK);
	CHECK_EQ(receive(&second, &m), RMC_S_OK);
	CHECK(wait_free(&a, 1, 3));
	unmap_core(&second);
	raw_qp_unmap(&second.qp);
	close_member(&b);
	close_member(&a);
}

static int try_create(struct member *m, const struct rmc_dom_create *c)
{
	struct rmc_dom_create arg = *c;

	arg.size = sizeof(arg);
	return raw_call(&m->c, RMC_IOC_DOM_CREATE, &arg, sizeof(arg));
}

#define REFUSED(err, ...) do {							\
	struct rmc_dom_create c_ = usual;					\
										\
	__VA_ARGS__;								\
	CHECK_EQ(try_create(&a, &c_), err);					\
} while (0)

static void test_refusals(void)
{
	struct rmc_dom_attach at = { .size = sizeof(at) };
	struct rmc_dom_stats s = { .size = sizeof(s) };
	struct rmc_dom_query q = { .size = sizeof(q) };
	struct member a;
	void *p;

	CHECK_EQ(open_member(&a, 0), 0);
	CHECK_EQ(raw_call(&a.c, RMC_IOC_DOM_QUERY, &q, sizeof(q)), 0);
	CHECK(q.policies & 1ULL << RMC_DOM_GREEDY);
	CHECK_EQ(q.max_slots, RMC_MAX_SLOTS);
	CHECK(q.max_wake_us >= 1000);
	CHECK_EQ(raw_call(&a.c, RMC_IOC_DOM_STATS, &s, sizeof(s)), -ENOENT);
	CHECK_EQ(raw_call(&a.c, RMC_IOC_DOM_ATTACH, &at, sizeof(at)), -ENOENT);
	REFUSED(-EINVAL, c_.nodes = 0);
	REFUSED(-EINVAL, c_.nodes = 3);
	REFUSED(-EINVAL, c_.first_nid = 1);
	REFUSED(-EINVAL, c_.first_nid = ~0U);
	REFUSED(-EINVAL, c_.slots = 0);
	REFUSED(-EINVAL, c_.slots = q.max_slots + 1);
	REFUSED(-EINVAL, c_.max_message = 0);
	REFUSED(-EINVAL, c_.max_message = q.max_message + 1);
	REFUSED(-EINVAL, c_.policy = RMC_DOM_POLICIES);
	REFUSED(-EINVAL, c_.policy = ~0U);
	REFUSED(-EINVAL, c_.policy = RMC_DOM_CLASS);
	REFUSED(-EINVAL, c_.key_offset = 1);
	REFUSED(-EINVAL, c_.classes = 1);
	REFUSED(-EINVAL, c_.wake_us = q.max_wake_us + 1);
	REFUSED(-EINVAL, c_.policy = RMC_DOM_RR; c_.wake_us = 1);
	REFUSED(-EINVAL, c_.depth = 0);
	REFUSED(-EINVAL, c_.depth = q.max_depth + 1);
	REFUSED(-EINVAL, c_.cores = 0);
	REFUSED(-EINVAL, c_.cores = q.max_cores + 1);
	REFUSED(-EINVAL, c_.groups = 0);
	REFUSED(-EOPNOTSUPP, c_.flags = 4);
	/* 8 GiB */
	REFUSED(-ENOMEM, c_.slots = q.max_slots, c_.max_message = q.max_message);
	CHECK_EQ(create(&a, &usual), 0);
	CHECK_EQ(try_create(&a, &usual), -EEXIST);
	at.qp_id = 77;
	CHECK_EQ(raw_call(&a.c, RMC_IOC_DOM_ATTACH, &at, sizeof(at)), -ENOENT);
	at.qp_id = a.qp.id;
	at.flags = 2;
	CHECK_EQ(raw_call(&a.c, RMC_IOC_DOM_ATTACH, &at, sizeof(at)), -EOPNOTSUPP);
	at.flags = 0;
	at.group = 1;
	CHECK_EQ(raw_call(&a.c, RMC_IOC_DOM_ATTACH, &at, sizeof(at)), -EINVAL);
	/* a queue pair that belongs to no domain */
	CHECK_EQ(run(&a, RMC_OP_SEND, 1, rmc_slot_offset(0, 1), a.buf, 8), RMC_S_NO_DOMAIN);
	CHECK_EQ(attach(&a), 0);
	at.group = 0;
	CHECK_EQ(raw_call(&a.c, RMC_IOC_DOM_ATTACH, &at, sizeof(at)), -EBUSY);
	/* the other node has none */
	CHECK_EQ(run(&a, RMC_OP_JOIN, 1, 0, a.buf, 8), RMC_S_NO_DOMAIN);
	/* clients only read these, and their size stays */
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, a.recv_fd, 0);
	CHECK(p == MAP_FAILED);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, a.aq_fd, 0);
	CHECK(p == MAP_FAILED);
	CHECK(ftruncate(a.recv_fd, 0) && ftruncate(a.send_fd, 0) && ftruncate(a.aq_fd, 0));
	close_member(&a);
}

/* It has no arrival queue, and gets no message. */
static void test_send_only(void)
{
	struct member a, b;
	struct raw_qp qp;
	struct rmc_dom_attach at = { .size = sizeof(at), .flags = RMC_DOM_SEND_ONLY };
	struct arrival m;

	two_members(&a, &b);
	CHECK_EQ(raw_qp(&b.c, &qp, 16), 0);
	at.qp_id = qp.id;
	CHECK_EQ(raw_call(&b.c, RMC_IOC_DOM_ATTACH, &at, sizeof(at)), 0);
	CHECK_EQ(b.c.gots, 0);
	CHECK_EQ(at.core, ~0U);
	CHECK_EQ(at.aq_entries, 0);
	CHECK_EQ(send_message(&a, 1, 0, 9, 200), RMC_S_OK);
	CHECK(wait_arrival(&b, &m));
	/* only the core that has a message ends it */
	raw_post(&qp, RMC_OP_RECEIVE, m.nid, rmc_slot_offset(m.slot, m.turn), NULL, 0);
	CHECK_EQ(raw_wait(&qp, WAIT_MS), RMC_S_BAD_SLOT);
	CHECK_EQ(receive(&b, &m), RMC_S_OK);
	CHECK_EQ(receive(&b, &m), RMC_S_BAD_SLOT);
	raw_qp_unmap(&qp);
	close_member(&a);
	close_member(&b);
}

/* A client writes whatever it likes into its send slots and WQ; another domain goes on. */
static void test_hostile(void)
{
	struct member a, b, evil;
	struct rmc_attach at = { .size = sizeof(at), .nid = 0 };
	unsigned int i, seed = 1;
	void *p;
	int fd = shared(2 * PAGE, &p);

	memset(&evil, 0, sizeof(evil));
	evil.buf = p;
	CHECK_EQ(raw_open(&evil.c, 1), 0);
	CHECK_EQ(raw_call(&evil.c, RMC_IOC_ATTACH, &at, sizeof(at)), 0);
	CHECK_EQ(raw_buf(&evil.c, p, 2 * PAGE, fd, 0, NULL), 0);
	CHECK_EQ(raw_qp(&evil.c, &evil.qp, 16), 0);
	CHECK_EQ(create(&evil, &usual), 0);
	CHECK_EQ(attach(&evil), 0);
	two_members(&a, &b);
	for (i = 0; i < 2000; i++) {
		unsigned int op = RMC_OP_SEND + (seed >> 8) % 4;
		uint64_t offset;

		seed = seed * 1664525 + 1013904223;
		offset = (uint64_t)(seed >> 4) << 12 | (seed >> 20);
		memset(evil.send, (int)(seed >> 16), PAGE);
		raw_post(&evil.qp, op, (seed >> 10) % 3, i % 2 ? offset : offset & 0x3fffffff,
			 evil.buf, op == RMC_OP_RECEIVE ? 0 : (seed >> 12) % 6000);
		CHECK(raw_wait(&evil.qp, WAIT_MS) >= 0);
		if (i % 50 == 0)
			pass(&a, &b, i / 50 % SLOTS, i, 100);
	}
	close_member(&evil);
	pass(&b, &a, 0, 1, MESSAGE);
	close_member(&a);
	close_member(&b);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *options[16] = { "-n", "2", "--contexts", "0,1" };
	int i, n = 4;

	if (argc < 2)
		return 2;
	for (i = 2; i < argc && n < 15; i++)
		options[n++] = argv[i];
	start_daemon(argv[1], options);
	test_refusals();
	tap_result("what is refused");
	test_messages();
	test_attributes();
	tap_result("messages of each length, both ways");
	test_back_pressure();
	tap_result("a core has no more than its depth");
	test_sleep();
	tap_result("sleeping for arrivals");
	test_room();
	tap_result("sleeping for a free send slot");
	test_answers();
	tap_result("messages that are answered");
	test_lives();
	tap_result("a member ends, and begins anew");
	test_ends();
	tap_result("ends in each order");
	test_requeue();
	tap_result("a message goes to another core");
	test_send_only();
	tap_result("a queue pair that only sends");
	test_hostile();
	tap_result("a hostile client, and two others");
	CHECK(daemon_ended_well());
	tap_result("the daemon ends well");
	return tap_done();
}
