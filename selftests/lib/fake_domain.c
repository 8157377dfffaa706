/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Nodes with domains, behind a driver: see fake_domain.h. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/rmc_domain.h>
#include "fake_domain.h"

#define QPS		8		/* of a node */
#define CORES		4
#define SLOTS		64
#define MAX_ANSWER	4096
#define WAKE_US		1000

enum { MAP_WQ, MAP_CQ, MAP_FLAGS, MAP_AQ, MAP_RECV, MAP_SEND, MAP_ANSWER, MAP_BUF };
enum { FREE, FILLING, READY, HELD };

struct record {			/* a receive slot */
	int state;
	unsigned int turn;
	struct qp *holder;
	int ready;
};

struct qp {
	struct node *node;
	int used, attached, core, started;
	struct fake_rmc rmc;
	unsigned int ring_life[FAKE_NODES][FAKE_RRPPS];	/* at the nodes */
	struct rmc_aq_entry *aq;
	unsigned int entries, posted, held;
	int armed, eventfd, room_armed;
	unsigned int seen;
};

struct message {		/* READY, in the order of arrival */
	int from;
	unsigned int slot, len, turn, kind, again;
};

struct node {
	struct rmc_ctx ctx;
	int nid, exists, buffers;
	struct rmc_dom_create p;
	struct qp qp[QPS];
	struct record slot[FAKE_NODES][SLOTS];
	unsigned int peer_life[FAKE_NODES][FAKE_RRPPS];
	unsigned char *recv, *answers;
	struct rmc_send_slot *send;
	struct message fifo[FAKE_NODES * SLOTS];
	unsigned int first, last, next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node node[FAKE_NODES];
static unsigned int lives;
static const struct rmc_driver driver;

int (*fake_fate)(int from, const struct fake_op *op);
int fake_down[FAKE_NODES], fake_repeated, fake_asked, fake_armed, fake_left, fake_error;
unsigned long fake_refuse;

void fake_lock(void)
{
	pthread_mutex_lock(&lock);
}

void fake_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

unsigned int fake_turn(int to, int from, unsigned int slot)
{
	unsigned int turn;

	fake_lock();
	turn = node[to].slot[from][slot].turn;
	fake_unlock();
	return turn;
}

/* Created and mapped */
static int is_there(const struct node *n)
{
	return n->exists && n->recv && n->send;
}

static void ring(int fd)
{
	uint64_t one = 1;

	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return;		/* it is readable already */
}

static void post(struct node *n, struct qp *q, const struct message *m)
{
	struct rmc_aq_entry *e = &q->aq[q->posted & (q->entries - 1)];
	uint64_t phase = !(q->posted & q->entries);

	n->slot[m->from][m->slot].state = HELD;
	n->slot[m->from][m->slot].holder = q;
	n->slot[m->from][m->slot].ready = 0;
	e->stamp = rmc_now_ns();
	memcpy(e->head, n->recv + ((size_t)m->from * n->p.slots + m->slot) * n->p.stride + 64,
	       m->len < RMC_AQ_HEAD ? m->len : RMC_AQ_HEAD);
	__atomic_store_n(&e->word0, phase | (uint64_t)m->kind << RMC_AQ_KIND_SHIFT |
			 (m->again ? RMC_AQ_AGAIN : 0) | (uint64_t)m->from << RMC_AQ_NID_SHIFT |
			 (uint64_t)m->slot << RMC_AQ_SLOT_SHIFT |
			 (uint64_t)(m->turn & 0xff) << RMC_AQ_TURN_SHIFT |
			 (uint64_t)m->len << RMC_AQ_LEN_SHIFT, __ATOMIC_RELEASE);
	q->posted++;
	q->held++;
	if (q->armed && q->posted != q->seen) {
		q->armed = 0;
		ring(q->eventfd);
	}
}

/* Round robin among cores with room */
static void dispatch(struct node *n)
{
	struct qp *q;
	int i;

	for (i = 0; i < QPS && n->first != n->last; i++) {
		q = &n->qp[n->next++ % QPS];
		if (!q->attached || !q->aq || q->held >= n->p.depth)
			continue;
		post(n, q, &n->fifo[n->first++ % (FAKE_NODES * SLOTS)]);
		i = -1;
	}
}

static int do_join(struct qp *q, struct node *to, const struct fake_op *op, unsigned int slot)
{
	unsigned int home = slot % FAKE_RRPPS, i, life = q->node->p.life;
	int from = q->node->nid;
	struct record *r = to->slot[from];
	uint64_t state;

	fake_asked++;
	if (q->node->p.slots != to->p.slots || q->node->p.max_message != to->p.max_message ||
	    q->node->p.nodes != to->p.nodes || q->node->p.max_answer != to->p.max_answer)
		return RMC_S_DOMAIN_MISMATCH;
	if (to->peer_life[from][home] != life) {
		for (i = home; i < to->p.slots; i += FAKE_RRPPS)
			if (r[i].state == READY || r[i].state == HELD)
				return RMC_S_SLOT_BUSY;
		for (i = home; i < to->p.slots; i += FAKE_RRPPS)
			memset(&r[i], 0, sizeof(r[i]));
		to->peer_life[from][home] = life;
	}
	q->ring_life[to->nid][home] = life;
	state = to->p.life | (uint64_t)(r[slot].turn & 0xff) << 32;
	if (r[slot].state == FREE)
		state |= RMC_JOIN_FREE;
	memcpy((void *)(uintptr_t)op->lbuf, &state, sizeof(state));
	return RMC_S_OK;
}

static void store(struct node *to, int from, unsigned int slot, const struct fake_op *op)
{
	struct record *r = &to->slot[from][slot];

	memcpy(to->recv + ((size_t)from * to->p.slots + slot) * to->p.stride + 64,
	       (const void *)(uintptr_t)op->lbuf, op->length);
	r->state = READY;
	r->turn++;
	to->fifo[to->last++ % (FAKE_NODES * SLOTS)] = (struct message) {
		from, slot, op->length, r->turn, op->op == RMC_OP_OFFER, 0,
	};
	dispatch(to);
}

void fake_late(int to, int from, unsigned int slot, const void *data, unsigned int len)
{
	struct fake_op op = { .op = RMC_OP_SEND, .lbuf = (uintptr_t)data, .length = len };

	store(&node[to], from, slot, &op);
}

static int do_send(struct qp *q, struct node *to, const struct fake_op *op, unsigned int slot,
		   unsigned int turn, int part)
{
	unsigned int home = slot % FAKE_RRPPS;
	int from = q->node->nid;
	struct record *r = &to->slot[from][slot];
	signed char ahead = (signed char)(turn - r->turn);

	/* a ring of another life of either side: its JOIN was for a domain that is gone */
	if (!to->peer_life[from][home] || q->ring_life[to->nid][home] != to->peer_life[from][home])
		return RMC_S_DOMAIN_MISMATCH;
	if (ahead <= 0 && r->turn >= (unsigned int)-ahead + 1) {
		fake_repeated++;
		return RMC_S_OK;
	}
	if (ahead != 1)
		return RMC_S_BAD_SLOT;
	if (r->state != FREE && r->state != FILLING)
		return RMC_S_SLOT_BUSY;
	r->state = FILLING;
	if (part)
		return RMC_S_NODE_DOWN;
	store(to, from, slot, op);
	return RMC_S_OK;
}

static void tell_room(struct node *n)
{
	unsigned int i;

	for (i = 0; i < QPS; i++) {
		if (!n->qp[i].used || !n->qp[i].room_armed)
			continue;
		n->qp[i].room_armed = 0;
		ring(n->qp[i].eventfd);
	}
}

/* op: with a REPLY */
static void finish(struct node *from, int to, unsigned int slot, unsigned int turn,
		   const struct fake_op *op)
{
	unsigned int index = (unsigned int)from->nid * from->p.slots + slot;
	struct rmc_send_slot *s = &node[to].send[index];
	struct rmc_answer *a;

	if (__atomic_load_n(&s->valid, __ATOMIC_ACQUIRE) != RMC_SEND_USED ||
	    (__atomic_load_n(&s->turn, __ATOMIC_RELAXED) & 0xff) != turn)
		return;
	if (op) {
		a = (struct rmc_answer *)(void *)(node[to].answers +
						  (size_t)index * node[to].p.answer_stride);
		a->length = op->length;
		a->turn = s->turn;
		memcpy(a + 1, (const void *)(uintptr_t)op->lbuf, op->length);
	}
	__atomic_store_n(&s->valid, op ? RMC_SEND_ANSWERED : RMC_SEND_FREE, __ATOMIC_RELEASE);
	tell_room(&node[to]);
}

static int do_receive(struct qp *q, int to, unsigned int slot, unsigned int turn, int lost,
		      const struct fake_op *op)
{
	struct node *n = q->node;
	struct record *r = &n->slot[to][slot];

	if (op && op->length > n->p.max_answer)
		return RMC_S_BAD_LENGTH;
	if (r->state != HELD || r->holder != q || (r->turn & 0xff) != turn)
		return RMC_S_BAD_SLOT;
	r->state = FREE;
	q->held -= !r->ready;
	dispatch(n);
	if (lost)
		return RMC_S_TIMEOUT;
	if (fake_down[to])
		return RMC_S_NODE_DOWN;
	if (!is_there(&node[to]))
		return RMC_S_NO_DOMAIN;
	finish(n, to, slot, turn, op);
	return RMC_S_OK;
}

static int do_ready(struct qp *q, int to, unsigned int slot, unsigned int turn)
{
	struct record *r = &q->node->slot[to][slot];

	if (r->state != HELD || r->holder != q || (r->turn & 0xff) != turn || r->ready)
		return RMC_S_BAD_SLOT;
	r->ready = 1;
	q->held--;
	dispatch(q->node);
	return RMC_S_OK;
}

static int execute_locked(struct qp *q, const struct fake_op *op)
{
	unsigned int slot = (unsigned int)(op->offset >> RMC_SLOT_SHIFT);
	unsigned int turn = op->offset >> RMC_TURN_SHIFT & 0xff;
	int fate = fake_fate ? fake_fate(q->node->nid, op) : FAKE_GO, status;

	if (!q->attached)
		return RMC_S_NO_DOMAIN;
	if (op->nid >= FAKE_NODES)
		return RMC_S_BAD_NODE;
	if (slot >= q->node->p.slots)
		return RMC_S_BAD_SLOT;
	if (fate >= 0 || fate == FAKE_HOLD)
		return fate;
	if (op->op == RMC_OP_RECEIVE || op->op == RMC_OP_REPLY) {
		status = do_receive(q, (int)op->nid, slot, turn, fate == FAKE_DEAF,
				    op->op == RMC_OP_REPLY ? op : NULL);
		return fate == FAKE_LATE && !status ? RMC_S_TIMEOUT : status;
	}
	if (op->op == RMC_OP_READY)
		return do_ready(q, (int)op->nid, slot, turn);
	if (fake_down[op->nid] || fake_down[q->node->nid])
		return RMC_S_NODE_DOWN;
	if (!is_there(&node[op->nid]))
		return RMC_S_NO_DOMAIN;
	switch (op->op) {
	case RMC_OP_JOIN:
		status = do_join(q, &node[op->nid], op, slot);
		break;
	case RMC_OP_SEND:
	case RMC_OP_OFFER:
		status = do_send(q, &node[op->nid], op, slot, turn, fate == FAKE_PART);
		break;
	default:
		return RMC_S_BAD_OP;
	}
	return fate == FAKE_LATE ? RMC_S_TIMEOUT : status;
}

static int execute(void *arg, const struct fake_op *op)
{
	int status;

	fake_lock();
	status = execute_locked((struct qp *)arg, op);
	fake_unlock();
	return status;
}

/* --- calls --- */

static struct node *node_of(const struct rmc_ctx *ctx)
{
	return (struct node *)ctx->priv;
}

static uint64_t cookie(unsigned int kind, unsigned int id)
{
	return (uint64_t)kind << 32 | id;
}

static int create_qp(struct node *n, struct rmc_qp_create *arg)
{
	unsigned int i;

	for (i = 0; i < QPS && n->qp[i].used; i++)
		;
	if (i == QPS)
		return ENOSPC;
	memset(&n->qp[i], 0, sizeof(n->qp[i]));
	n->qp[i].used = 1;
	n->qp[i].node = n;
	n->qp[i].rmc.entries = arg->entries;
	n->qp[i].rmc.execute = execute;
	n->qp[i].rmc.arg = &n->qp[i];
	pthread_mutex_init(&n->qp[i].rmc.lock, NULL);
	arg->qp_id = i;
	arg->wq_offset = cookie(MAP_WQ, i);
	arg->cq_offset = cookie(MAP_CQ, i);
	arg->flags_offset = cookie(MAP_FLAGS, i);
	fake_left++;
	return 0;
}

/* What the core has goes to others. */
static int detach(struct node *n, struct qp *q)
{
	unsigned int i;
	int from;

	if (!q->attached)
		return ENOENT;
	q->attached = 0;
	q->aq = NULL;
	for (from = 0; from < FAKE_NODES; from++)
		for (i = 0; i < n->p.slots; i++)
			if (n->slot[from][i].state == HELD && n->slot[from][i].holder == q)
				n->slot[from][i].state = FREE;
	return 0;
}

static int destroy_qp(struct node *n, unsigned int id)
{
	struct qp *q = &n->qp[id];

	if (id >= QPS || !q->used)
		return ENOENT;
	fake_lock();
	detach(n, q);
	fake_unlock();
	if (q->started) {
		fake_rmc_stop(&q->rmc);
		fake_rmc_kill(&q->rmc);
	}
	fake_lock();
	q->used = 0;
	fake_left--;
	fake_unlock();
	return 0;
}

static int create_dom(struct node *n, struct rmc_dom_create *arg)
{
	if (n->exists)
		return EEXIST;
	if (!arg->slots || arg->slots > SLOTS || arg->policy >= RMC_DOM_POLICIES || !arg->depth ||
	    arg->first_nid || arg->nodes > FAKE_NODES || arg->max_answer > MAX_ANSWER ||
	    arg->wake_us > WAKE_US)
		return EINVAL;
	arg->stride = (64 + arg->max_message + 63) / 64 * 64;
	arg->life = ++lives;
	arg->recv_offset = cookie(MAP_RECV, 0);
	arg->send_offset = cookie(MAP_SEND, 0);
	arg->answer_offset = cookie(MAP_ANSWER, 0);
	arg->answer_stride = arg->max_answer ? (64 + arg->max_answer + 63) / 64 * 64 : 0;
	n->p = *arg;
	memset(n->slot, 0, sizeof(n->slot));
	memset(n->peer_life, 0, sizeof(n->peer_life));
	n->first = n->last = 0;
	n->exists = 1;
	fake_left++;
	return 0;
}

static int destroy_dom(struct node *n)
{
	int i;

	if (!n->exists)
		return ENOENT;
	for (i = 0; i < QPS; i++)
		detach(n, &n->qp[i]);
	n->exists = 0;
	n->recv = NULL;
	n->send = NULL;
	n->answers = NULL;
	fake_left--;
	/* rings have not joined the next one */
	for (i = 0; i < FAKE_NODES * QPS; i++)
		memset(node[i / QPS].qp[i % QPS].ring_life[n->nid], 0,
		       sizeof(node[0].qp[0].ring_life[0]));
	return 0;
}

static int attach(struct node *n, struct rmc_dom_attach *arg)
{
	struct qp *q = &n->qp[arg->qp_id];
	int i, cores = 0;

	if (!n->exists || !q->used)
		return ENOENT;
	for (i = 0; i < QPS; i++)
		cores += n->qp[i].used && n->qp[i].attached;
	if (cores >= CORES)
		return ENOSPC;
	q->attached = 1;
	arg->core = arg->flags & RMC_DOM_SEND_ONLY ? ~0U : arg->qp_id;
	arg->aq_entries = 0;
	if (arg->flags & RMC_DOM_SEND_ONLY)
		return 0;
	for (q->entries = 1; q->entries < n->p.depth; q->entries *= 2)
		;
	arg->aq_entries = q->entries;
	arg->aq_offset = cookie(MAP_AQ, arg->qp_id);
	return 0;
}

static int arm(struct node *n, const struct rmc_aq_arm *arg)
{
	struct qp *q = &n->qp[arg->qp_id];

	if (!q->attached)
		return ENOENT;
	q->eventfd = arg->eventfd;
	q->seen = arg->seen;
	q->armed = q->posted == q->seen;
	if (!q->armed)
		ring(q->eventfd);
	return 0;
}

static int arm_room(struct node *n, const struct rmc_room_arm *arg)
{
	struct qp *q = &n->qp[arg->qp_id];

	if (!q->attached)
		return ENOENT;
	q->eventfd = arg->eventfd;
	q->room_armed = 1;
	fake_armed++;
	return 0;
}

static int stats(struct node *n, struct rmc_dom_stats *s)
{
	if (!n->exists)
		return ENOENT;
	s->messages = n->last;
	s->waiting = n->last - n->first;
	return 0;
}

static int call_locked(struct node *n, unsigned long request, void *arg)
{
	struct rmc_dom_query *q = (struct rmc_dom_query *)arg;

	if (request == fake_refuse)
		return fake_error;
	switch (request) {
	case RMC_IOC_QP_CREATE:
		return create_qp(n, (struct rmc_qp_create *)arg);
	case RMC_IOC_BUF_REG:
		fake_left++;
		((struct rmc_buf_reg *)arg)->buf_id = (unsigned int)n->buffers++;
		((struct rmc_buf_reg *)arg)->mmap_offset = cookie(MAP_BUF, 0);
		return 0;
	case RMC_IOC_BUF_UNREG:
		fake_left--;
		return 0;
	case RMC_IOC_DOM_QUERY:
		*q = (struct rmc_dom_query) {
			.size = sizeof(*q), .policies = 1U << RMC_DOM_RR | 1U << RMC_DOM_GREEDY,
			.max_slots = SLOTS, .max_message = 8192, .max_cores = CORES,
			.max_depth = 16, .max_answer = MAX_ANSWER, .max_wake_us = WAKE_US,
		};
		return 0;
	case RMC_IOC_DOM_CREATE:
		return create_dom(n, (struct rmc_dom_create *)arg);
	case RMC_IOC_DOM_DESTROY:
		return destroy_dom(n);
	case RMC_IOC_DOM_ATTACH:
		return attach(n, (struct rmc_dom_attach *)arg);
	case RMC_IOC_DOM_STATS:
		return stats(n, (struct rmc_dom_stats *)arg);
	case RMC_IOC_ROOM_ARM:
		return arm_room(n, (const struct rmc_room_arm *)arg);
	case RMC_IOC_AQ_ARM:
		return arm(n, (const struct rmc_aq_arm *)arg);
	default:
		return ENOTTY;
	}
}

static int call(struct rmc_ctx *ctx, unsigned long request, void *arg)
{
	struct node *n = node_of(ctx);
	int err;

	if (request == RMC_IOC_WAKE) {
		sched_yield();
		return 0;
	}
	if (request == RMC_IOC_CQ_ARM) {
		const struct rmc_cq_arm *a = (const struct rmc_cq_arm *)arg;

		fake_rmc_arm(&n->qp[a->qp_id].rmc, a->seen, a->eventfd);
		return 0;
	}
	if (request == RMC_IOC_QP_DESTROY) {
		err = destroy_qp(n, ((const struct rmc_qp_id *)arg)->qp_id);
	} else {
		fake_lock();
		err = call_locked(n, request, arg);
		fake_unlock();
	}
	errno = err;
	return err ? -1 : 0;
}

/* Both sides have one mapping, so that ThreadSanitizer sees all accesses. */
static void *map(struct rmc_ctx *ctx, size_t len, int prot, uint64_t offset)
{
	struct node *n = node_of(ctx);
	struct qp *q = &n->qp[offset & (QPS - 1)];
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)prot;
	if (p == MAP_FAILED)
		return p;
	fake_lock();
	switch (offset >> 32) {
	case MAP_WQ:
		q->rmc.wq = (struct rmc_wq_entry *)p;
		break;
	case MAP_CQ:
		q->rmc.cq = (struct rmc_cq_entry *)p;
		break;
	case MAP_FLAGS:
		q->rmc.flags = (struct rmc_qp_flags *)p;
		q->rmc.flags->shared_cpu = 1;
		q->rmc.flags->worker_cpu = ~0U;
		break;
	case MAP_AQ:
		q->aq = (struct rmc_aq_entry *)p;
		dispatch(n);
		break;
	case MAP_RECV:
		n->recv = (unsigned char *)p;
		break;
	case MAP_ANSWER:
		n->answers = (unsigned char *)p;
		break;
	case MAP_SEND:
		n->send = (struct rmc_send_slot *)p;
		break;
	}
	if (!q->started && q->used && q->rmc.wq && q->rmc.cq && q->rmc.flags)
		q->started = !fake_rmc_start(&q->rmc);
	fake_unlock();
	return p;
}

static const struct rmc_driver driver = { .name = "fake", .call = call, .map = map };

void fake_begin(void)
{
	int i;

	memset(node, 0, sizeof(node));
	memset(fake_down, 0, sizeof(fake_down));
	fake_fate = NULL;
	fake_repeated = fake_asked = fake_armed = fake_left = 0;
	fake_refuse = 0;
	for (i = 0; i < FAKE_NODES; i++) {
		struct rmc_ctx *ctx = &node[i].ctx;

		node[i].nid = i;
		ctx->driver = &driver;
		ctx->priv = &node[i];
		ctx->pid = (int)getpid();
		ctx->query.nid = i;
		ctx->query.nodes = FAKE_NODES;
		ctx->query.rrpps = FAKE_RRPPS;
		ctx->query.max_entries = 4096;
	}
}

struct rmc_ctx *fake_ctx(int nid)
{
	return &node[nid].ctx;
}

void fake_kill(int nid)
{
	int i;

	for (i = 0; i < QPS; i++)
		if (node[nid].qp[i].started)
			fake_rmc_kill(&node[nid].qp[i].rmc);
}
