/* SPDX-License-Identifier: GPL-2.0 */
/* Nodes with a domain of messages, by bare calls */
#ifndef DOMAIN_MEMBER_H
#define DOMAIN_MEMBER_H

#include "common.h"

#define SLOTS	8
#define MESSAGE	5000
#define DEPTH	2
#define WAIT_S	20

/* A node with a domain, and one queue pair that is a core */
struct member {
	struct end e;
	struct rmc_dom_create dom;
	struct rmc_dom_attach core;
	uint8_t *recv;
	struct rmc_send_slot *send;
	const struct rmc_aq_entry *aq;
	size_t recv_len;
	int nid;
	unsigned int seen;
};

static const struct rmc_dom_create usual = {
	.nodes = 4, .slots = SLOTS, .max_message = MESSAGE, .policy = RMC_DOM_GREEDY,
	.depth = DEPTH, .cores = 4, .groups = 1,
};

static inline size_t round_up(size_t len)
{
	return (len + PAGE - 1) & ~(PAGE - 1);
}

static inline int create(struct member *m, const struct rmc_dom_create *c)
{
	int fd = rmc_fd(m->e.ctx);

	m->dom = *c;
	m->dom.size = sizeof(m->dom);
	if (ioctl(fd, RMC_IOC_DOM_CREATE, &m->dom))
		return -errno;
	m->recv_len = round_up((size_t)m->dom.nodes * m->dom.slots * m->dom.stride);
	m->recv = mmap(NULL, m->recv_len, PROT_READ, MAP_SHARED, fd, (off_t)m->dom.recv_offset);
	m->send = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       (off_t)m->dom.send_offset);
	return m->recv == MAP_FAILED || m->send == MAP_FAILED ? -errno : 0;
}

/* Share the domain of the node's creator, as this member, or as any */
static inline int open_domain(struct member *m, uint32_t member, struct rmc_dom_open *o)
{
	int fd = rmc_fd(m->e.ctx);

	*o = (struct rmc_dom_open){ .size = sizeof(*o), .member = member };
	if (ioctl(fd, RMC_IOC_DOM_OPEN, o))
		return -errno;
	m->dom = (struct rmc_dom_create){
		.nodes = o->nodes, .slots = o->slots, .stride = o->stride, .life = o->life,
		.recv_offset = o->recv_offset,
	};
	m->recv_len = round_up((size_t)o->nodes * o->slots * o->stride);
	m->recv = mmap(NULL, m->recv_len, PROT_READ, MAP_SHARED, fd, (off_t)o->recv_offset);
	m->send = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)o->send_offset);
	return m->recv == MAP_FAILED || m->send == MAP_FAILED ? -errno : 0;
}

static inline int attach_classes(struct member *m, struct rmc_qp *qp, uint32_t classes)
{
	int fd = rmc_fd(m->e.ctx);
	void *p;

	m->core = (struct rmc_dom_attach){ .size = sizeof(m->core), .qp_id = qp->id,
					   .classes = classes };
	m->seen = 0;
	if (ioctl(fd, RMC_IOC_DOM_ATTACH, &m->core))
		return -errno;
	p = mmap(NULL, round_up(m->core.aq_entries * sizeof(*m->aq)), PROT_READ, MAP_SHARED, fd,
		 (off_t)m->core.aq_offset);
	m->aq = p;
	return p == MAP_FAILED ? -errno : 0;
}

static inline int attach(struct member *m, struct rmc_qp *qp)
{
	return attach_classes(m, qp, 0);
}

static inline void open_member(struct member *m, int nid)
{
	memset(m, 0, sizeof(*m));
	m->nid = nid;
	end_open(&m->e, CTX, nid, 0, 2 * PAGE, 16);
}

/* Each RRPP of the peer, and its life */
static inline int join(struct member *m, struct rmc_qp *qp, int nid, uint32_t *life)
{
	unsigned int i, rrpps = rmc_query(m->e.ctx)->rrpps;
	uint64_t *state = (uint64_t *)(void *)m->e.buf;
	int status = 0;

	for (i = 0; !status && i < rrpps; i++)
		status = rmc_execute(qp, RMC_OP_JOIN, nid, rmc_slot_offset(i, 0), state, 8);
	*life = RMC_JOIN_LIFE(*state);
	return status;
}

static inline struct rmc_send_slot *slot_of(struct member *m, int nid, unsigned int slot)
{
	return &m->send[nid * SLOTS + (int)slot];
}

static inline int send_message(struct member *m, int nid, unsigned int slot, unsigned int seed, size_t len)
{
	struct rmc_send_slot *s = slot_of(m, nid, slot);

	fill(m->e.buf, len, seed);
	s->turn++;
	__atomic_store_n(&s->valid, 1, __ATOMIC_RELEASE);
	return rmc_execute(m->e.qp, RMC_OP_SEND, nid, rmc_slot_offset(slot, (uint8_t)s->turn),
			   m->e.buf, len);
}

struct arrival {
	int nid;
	unsigned int slot, len;
	uint8_t turn;
	bool again;
	uint8_t head[RMC_AQ_HEAD];
};

static inline bool next_arrival(struct member *m, struct arrival *a)
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

/* Steps of waiting, for at most WAIT_S */
static inline bool waits(struct rmc_qp *qp, time_t *end, unsigned int *spins)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!*end)
		*end = now.tv_sec + WAIT_S;
	return now.tv_sec < *end && !rmc_relax(qp, spins);
}

static inline bool wait_arrival(struct member *m, struct arrival *a)
{
	unsigned int spins = 0;
	time_t end = 0;

	while (!next_arrival(m, a))
		if (!waits(m->e.qp, &end, &spins))
			return false;
	return true;
}

static inline bool is_free(struct member *m, int nid, unsigned int slot)
{
	return !__atomic_load_n(&slot_of(m, nid, slot)->valid, __ATOMIC_ACQUIRE);
}

static inline bool wait_free(struct member *m, int nid, unsigned int slot)
{
	unsigned int spins = 0;
	time_t end = 0;

	while (!is_free(m, nid, slot))
		if (!waits(m->e.qp, &end, &spins))
			return false;
	return true;
}

static inline int receive(struct rmc_qp *qp, const struct arrival *a)
{
	return rmc_execute(qp, RMC_OP_RECEIVE, a->nid, rmc_slot_offset(a->slot, a->turn), NULL, 0);
}

/* One message from @a to @b, checked and received */
static inline void pass(struct member *a, struct member *b, unsigned int slot, unsigned int seed, size_t len)
{
	struct arrival m = { 0 };

	REQUIRE_EQ(send_message(a, b->nid, slot, seed, len), RMC_S_OK);
	REQUIRE(wait_arrival(b, &m));
	CHECK_EQ(m.nid, a->nid);
	CHECK_EQ(m.slot, slot);
	CHECK_EQ(m.len, len);
	CHECK_EQ(differs(m.head, len < RMC_AQ_HEAD ? len : RMC_AQ_HEAD, seed), -1);
	CHECK_EQ(differs(b->recv + ((size_t)m.nid * SLOTS + m.slot) * b->dom.stride + 64, len, seed),
		 -1);
	REQUIRE_EQ(receive(b->e.qp, &m), RMC_S_OK);
	REQUIRE(wait_free(a, b->nid, slot));
}

static inline void two_members_with(struct member *a, struct member *b, const struct rmc_dom_create *c)
{
	uint32_t life;

	open_member(a, 0);
	open_member(b, 1);
	REQUIRE_EQ(create(a, c), 0);
	REQUIRE_EQ(create(b, c), 0);
	REQUIRE_EQ(attach(a, a->e.qp), 0);
	REQUIRE_EQ(attach(b, b->e.qp), 0);
	REQUIRE_EQ(join(a, a->e.qp, 1, &life), RMC_S_OK);
	CHECK_EQ(life, b->dom.life);
	REQUIRE_EQ(join(b, b->e.qp, 0, &life), RMC_S_OK);
	CHECK_EQ(life, a->dom.life);
}

static inline void two_members(struct member *a, struct member *b)
{
	two_members_with(a, b, &usual);
}

/* A mapping would keep the file open, and with it the domain. */
static inline void close_member(struct member *m)
{
	munmap((void *)(uintptr_t)m->aq, PAGE);
	munmap(m->recv, m->recv_len);
	munmap(m->send, PAGE);
	end_close(&m->e);
}

static inline int dom_call(struct member *m, unsigned long request)
{
	struct rmc_dom_detach d = { .size = sizeof(d), .qp_id = m->e.qp->id };
	struct rmc_dom_destroy destroy = { .size = sizeof(destroy) };

	return ioctl(rmc_fd(m->e.ctx), request,
		     request == RMC_IOC_DOM_DETACH ? (void *)&d : (void *)&destroy) ? -errno : 0;
}

static inline struct rmc_dom_stats stats(struct member *m)
{
	struct rmc_dom_stats s = { .size = sizeof(s) };

	CHECK_EQ(ioctl(rmc_fd(m->e.ctx), RMC_IOC_DOM_STATS, &s), 0);
	return s;
}

#endif
