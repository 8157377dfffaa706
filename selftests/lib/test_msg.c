/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Messages between nodes that are threads. A fabric in this process stores lines as the RRPP
 * does: the first word last, and the lines of one write in any order.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include <rmc/msg.h>
#include "../../lib/cell.h"
#include "fake_rmc.h"
#include "../tap.h"

#define NODES_MAX	6
#define CELLS		16
#define DATA		(12U << 20)
#define MAX_LENGTH	0x123456U	/* several reads for one pull */
#define BIG		(5U << 20)

struct node {
	int nid;
	struct rmc_qp qp;
	struct fake_rmc rmc;
	uint8_t *slot, *seg, *local;
	size_t seg_len;
	uint8_t *data;		/* the part of seg from which messages are sent */
	struct rmc_msg *m;
	unsigned int seed, ops;
	int hold;		/* 1: hold the next write of cells, 2: it is held */
	const uint8_t *held_from;
	uint8_t held[64];	/* first line of the held write */
	int delay;		/* 1: delay the next write of counters, 2: it is delayed */
	uint64_t delayed;
	uint8_t *delayed_to;
	int lose;		/* all writes of cells are lost */
	unsigned int lost;
	int refuse_lbuf;	/* reads longer than a line fail with RMC_S_BAD_LBUF */
};

static struct node node[NODES_MAX];
static int nodes, dead_node, lossy;
static int (*state_of_node)(void *arg, int nid);

static void *zeroed(size_t len)
{
	void *p = aligned_alloc(4096, (len + 4095) & ~(size_t)4095);

	memset(p, 0, (len + 4095) & ~(size_t)4095);
	return p;
}

static void store_line(uint8_t *dst, const uint8_t *src, size_t len)
{
	uint64_t word;
	size_t i;

	for (i = 8; i < len; i += 8) {
		memcpy(&word, src + i, 8);
		__atomic_store_n((uint64_t *)(void *)(dst + i), word, __ATOMIC_RELAXED);
	}
	memcpy(&word, src, 8);
	__atomic_store_n((uint64_t *)(void *)dst, word, __ATOMIC_RELEASE);
}

static int execute(void *arg, const struct fake_op *op)
{
	struct node *n = (struct node *)arg, *to;
	uint8_t *lbuf = (uint8_t *)(uintptr_t)op->lbuf, *at;
	uint32_t lines, i;
	int late = 0;

	if ((int)op->nid >= nodes)
		return RMC_S_BAD_NODE;
	to = &node[op->nid];
	if (__atomic_load_n(&dead_node, __ATOMIC_ACQUIRE) == to->nid)
		return RMC_S_NODE_DOWN;
	if (op->length > MAX_LENGTH)
		return RMC_S_BAD_LENGTH;
	if (op->offset + op->length > to->seg_len)
		return RMC_S_OUT_OF_RANGE;
	if (lossy && ++n->ops % 7 == 0)
		return RMC_S_TIMEOUT;			/* the request was lost, */
#ifndef __SANITIZE_THREAD__
	late = lossy && n->ops % 11 == 0;		/* or the reply: written again */
#endif
	at = to->seg + op->offset;
	if (op->op == RMC_OP_READ && op->length > 64 &&
	    __atomic_load_n(&n->refuse_lbuf, __ATOMIC_ACQUIRE))
		return RMC_S_BAD_LBUF;
	if (op->op == RMC_OP_WRITE && op->length >= 64 &&
	    __atomic_load_n(&n->lose, __ATOMIC_ACQUIRE)) {
		__atomic_add_fetch(&n->lost, 1, __ATOMIC_ACQ_REL);
		return RMC_S_TIMEOUT;
	}
	if (op->op == RMC_OP_READ) {
		for (i = 0; op->length == 64 && i < 64; i += 8)
			*(uint64_t *)(void *)(lbuf + i) =
				__atomic_load_n((uint64_t *)(void *)(at + i), __ATOMIC_ACQUIRE);
		if (op->length != 64)
			memcpy(lbuf, at, op->length);
		return RMC_S_OK;
	}
	if (op->length == 8 && __atomic_load_n(&n->delay, __ATOMIC_ACQUIRE) == 1) {
		memcpy(&n->delayed, lbuf, 8);
		n->delayed_to = at;
		__atomic_store_n(&n->delay, 2, __ATOMIC_RELEASE);
		return FAKE_HOLD;
	}
	lines = (op->length + 63) / 64;
	for (i = lines; i-- > 0;)			/* backwards, as lines have no order */
		store_line(at + i * 64, lbuf + i * 64,
			   op->length - i * 64 < 64 ? op->length - i * 64 : 64);
	if (op->length >= 64 && __atomic_load_n(&n->hold, __ATOMIC_ACQUIRE) == 1) {
		n->held_from = lbuf;
		memcpy(n->held, lbuf, sizeof(n->held));
		__atomic_store_n(&n->hold, 2, __ATOMIC_RELEASE);
		return FAKE_HOLD;
	}
	return late ? RMC_S_TIMEOUT : RMC_S_OK;
}

static void make_node(int i)
{
	struct node *n = &node[i];
	size_t rings = rmc_msg_bytes(nodes, CELLS);

	memset(n, 0, sizeof(*n));
	n->nid = i;
	n->seed = (unsigned int)i + 1;
	n->seg_len = rings + DATA;
	n->seg = (uint8_t *)zeroed(n->seg_len);
	n->data = n->seg + rings;
	n->local = (uint8_t *)zeroed(rmc_msg_local_bytes(nodes, CELLS));
	n->slot = (uint8_t *)zeroed(64);
	n->rmc.entries = 32;
	n->rmc.wq = (struct rmc_wq_entry *)zeroed(32 * RMC_WQE_SIZE);
	n->rmc.cq = (struct rmc_cq_entry *)zeroed(32 * RMC_CQE_SIZE);
	n->rmc.flags = (struct rmc_qp_flags *)zeroed(sizeof(struct rmc_qp_flags));
	n->rmc.flags->shared_cpu = 1;
	n->rmc.execute = execute;
	n->rmc.arg = n;
	n->rmc.reorder = 1;
	rmc_qp_init_raw(&n->qp, n->rmc.wq, n->rmc.cq, n->rmc.flags, n->slot, NULL, 32);
}

static void begin(int count, size_t threshold)
{
	struct rmc_msg_options o;
	int i;

	nodes = count;
	__atomic_store_n(&dead_node, -1, __ATOMIC_RELEASE);
	for (i = 0; i < count; i++)
		make_node(i);
	for (i = 0; i < count; i++) {
		struct node *n = &node[i];
		struct rmc_msg_raw raw = {
			.qp = &n->qp, .nodes = count, .self = i, .seg = n->seg,
			.seg_len = n->seg_len, .max_length = MAX_LENGTH, .local = n->local,
			.node_state = state_of_node,
		};

		rmc_msg_defaults(&o);
		o.cells = CELLS;
		o.threshold = threshold;
		fake_rmc_start(&n->rmc);
		n->m = rmc_msg_open_raw(&raw, &o);
		CHECK(n->m);
		if (!n->m)
			exit(1);
	}
}

static void end(void)
{
	int i;

	for (i = 0; i < nodes; i++)
		rmc_msg_close(node[i].m);
	for (i = 0; i < nodes; i++) {
		struct node *n = &node[i];

		fake_rmc_stop(&n->rmc);
		free(n->seg);
		free(n->local);
		free(n->slot);
		free(n->rmc.wq);
		free(n->rmc.cq);
		free(n->rmc.flags);
	}
	lossy = 0;
	state_of_node = NULL;
}

static void on_nodes(int count, void *(*run)(void *))
{
	pthread_t thread[NODES_MAX];
	int i;

	for (i = 0; i < count; i++)
		pthread_create(&thread[i], NULL, run, &node[i]);
	for (i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
}

static void fill(uint8_t *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (uint8_t)(seed >> 24);
	}
}

static int is_filled(const uint8_t *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		if (p[i] != (uint8_t)(seed >> 24))
			return 0;
	}
	return 1;
}

static const size_t sizes[] = {
	0, 1, 8, 59, 60, 61, 64, 119, 120, 121, 479, 480, 481, 960, 1023, 1024, 1025, 4096,
	65536, 131072, 200000, 0xfffff, 0x100000,
	52 + 20000 * 60 + 1,	/* a long message with one byte in its last cell */
	BIG,
};

#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

static void *send_sizes(void *arg)
{
	struct node *n = (struct node *)arg;
	size_t i;

	for (i = 0; i < SIZES; i++) {
		fill(n->data, sizes[i], (unsigned int)i);
		CHECK_EQ(rmc_msg_send(n->m, 1, n->data, sizes[i], 0), 0);
		memset(n->data, 0xee, sizes[i]);	/* the buffer is free on return */
	}
	return NULL;
}

static void *recv_sizes(void *arg)
{
	struct node *n = (struct node *)arg;
	uint8_t *buf = (uint8_t *)malloc(BIG);
	int from;
	size_t i, len;

	for (i = 0; i < SIZES; i++) {
		from = -1;
		len = ~(size_t)0;
		CHECK_EQ(rmc_msg_recv(n->m, i & 1 ? 0 : RMC_MSG_ANY, i % 3 ? buf : n->data, BIG,
				      &len, &from, i % 3 ? 0 : RMC_MSG_REGISTERED), 0);
		CHECK_EQ(len, sizes[i]);
		CHECK_EQ(from, 0);
		CHECK(is_filled(i % 3 ? buf : n->data, sizes[i], (unsigned int)i));
	}
	/* the last message's acknowledgment may be lost */
	CHECK_EQ(rmc_msg_flush(n->m, 0), 0);
	free(buf);
	return NULL;
}

static void *sender_and_receiver(void *arg)
{
	return ((struct node *)arg)->nid ? recv_sizes(arg) : send_sizes(arg);
}

static void all_sizes(size_t threshold)
{
	begin(2, threshold);
	on_nodes(2, sender_and_receiver);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);
	end();
}

static void sizes_default(void)
{
	all_sizes(RMC_MSG_THRESHOLD);
}

static void sizes_pull(void)
{
	all_sizes(0);
}

static void sizes_push(void)
{
	all_sizes(SIZE_MAX);
}

static void sizes_lossy(void)
{
	lossy = 1;
	all_sizes(RMC_MSG_THRESHOLD);
}

/* No receiver: messages that fit are sent, the next is refused, and all that were sent arrive. */
static void eagain(void)
{
	uint8_t buf[200], got[200];
	int sent = 0, received = 0, err;
	size_t len;

	begin(2, SIZE_MAX);
	for (;;) {
		fill(buf, sizeof(buf), (unsigned int)sent);
		err = rmc_msg_send(node[0].m, 1, buf, sizeof(buf), RMC_MSG_DONTWAIT);
		if (err)
			break;
		sent++;
	}
	CHECK_EQ(err, -EAGAIN);
	CHECK_EQ(sent, CELLS / 4);		/* 4 cells each */
	CHECK_EQ(rmc_msg_send(node[0].m, 1, node[0].data, 60 * CELLS, RMC_MSG_DONTWAIT),
		 -EMSGSIZE);
	usleep(20000);				/* all writes complete meanwhile */
	while (!rmc_msg_recv(node[1].m, 0, got, sizeof(got), &len, NULL, RMC_MSG_DONTWAIT)) {
		CHECK_EQ(len, sizeof(got));
		CHECK(is_filled(got, len, (unsigned int)received));
		received++;
	}
	CHECK_EQ(received, sent);
	usleep(20000);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), RMC_MSG_DONTWAIT), 0);
	end();
}

/* A ring full of messages to pull: EAGAIN, and the data stays in use until a flush. */
static void async_pull(void)
{
	uint8_t got[4096];
	int sent = 0, i;
	size_t len;

	begin(2, 0);
	fill(node[0].data, sizeof(got), 7);
	while (!rmc_msg_send(node[0].m, 1, node[0].data, sizeof(got), RMC_MSG_DONTWAIT))
		sent++;
	CHECK_EQ(sent, CELLS);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), CELLS);
	for (i = 0; i < sent; i++) {
		CHECK_EQ(rmc_msg_recv(node[1].m, 0, got, sizeof(got), &len, NULL, 0), 0);
		CHECK(is_filled(got, len, 7));
	}
	CHECK_EQ(rmc_msg_flush(node[0].m, 1), 0);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);
	end();
}

static void small_buffer(void)
{
	const void *data = NULL;
	uint8_t buf[100];
	size_t len = 0;
	int from = -1;

	begin(2, SIZE_MAX);
	CHECK_EQ(rmc_msg_peek(node[1].m, RMC_MSG_ANY, &data, &len, &from), -EAGAIN);
	fill(buf, 60, 1);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, 60, 0), 0);
	fill(buf, 100, 2);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, 100, 0), 0);
	while (rmc_msg_peek(node[1].m, RMC_MSG_ANY, &data, &len, &from) == -EAGAIN)
		sched_yield();
	CHECK(len == 60 && from == 0 && data && is_filled((const uint8_t *)data, 60, 1));
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, buf, 59, &len, NULL, 0), -EMSGSIZE);
	CHECK_EQ(len, 60);
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, buf, 60, &len, NULL, 0), 0);
	CHECK(is_filled(buf, 60, 1));
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, buf, 99, &len, NULL, 0), -EMSGSIZE);
	CHECK_EQ(rmc_msg_peek(node[1].m, 0, &data, &len, &from), 0);
	CHECK(len == 100 && !data);
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, buf, 100, &len, NULL, 0), 0);
	CHECK(is_filled(buf, 100, 2));
	CHECK_EQ(rmc_msg_recv(node[1].m, 5, buf, 100, &len, NULL, 0), -EINVAL);
	CHECK_EQ(rmc_msg_send(node[1].m, -1, buf, 1, 0), -EINVAL);
	end();
}

/* Every node sends numbered messages of random size to all, itself too, and receives. */
#define PER_PAIR	150

static void *exchange(void *arg)
{
	struct node *n = (struct node *)arg;
	unsigned int sent[NODES_MAX] = { 0 }, got[NODES_MAX] = { 0 };
	int left_out = PER_PAIR * nodes, left_in = PER_PAIR * nodes, to, from, err;
	uint8_t *in = (uint8_t *)malloc(4096);
	size_t len;

	while (left_out || left_in) {
		to = rand_r(&n->seed) % nodes;
		if (left_out && sent[to] < PER_PAIR) {
			unsigned int id = (unsigned int)(n->nid * 1000 + to) * 1000 + sent[to];
			/* below half a buffer: pushed, above: pulled */
			size_t size = id * 2654435761U % 450;
			uint8_t *at = n->data + ((size_t)to * PER_PAIR + sent[to]) * 4096;

			if (sent[to] % 5 == 0)
				size += 2000;
			fill(at, size, id);
			err = rmc_msg_send(n->m, to, at, size, RMC_MSG_DONTWAIT);
			if (!err) {
				sent[to]++;
				left_out--;
			} else {
				CHECK_EQ(err, -EAGAIN);
			}
		}
		err = rmc_msg_recv(n->m, RMC_MSG_ANY, in, 4096, &len, &from, RMC_MSG_DONTWAIT);
		if (!err) {
			unsigned int id = (unsigned int)(from * 1000 + n->nid) * 1000 + got[from];

			CHECK_EQ(len, id * 2654435761U % 450 + (got[from] % 5 ? 0 : 2000));
			CHECK(is_filled(in, len, id));
			got[from]++;
			left_in--;
		} else {
			CHECK_EQ(err, -EAGAIN);
			sched_yield();
		}
	}
	for (to = 0; to < nodes; to++)
		CHECK_EQ(rmc_msg_flush(n->m, to), 0);
	free(in);
	return NULL;
}

static void order(void)
{
	begin(2, 1024);
	on_nodes(2, exchange);
	end();
}

static void many_peers(void)
{
	begin(NODES_MAX - 1, 1024);
	on_nodes(nodes, exchange);
	end();
}

static void many_lossy(void)
{
	lossy = 1;
	begin(3, 1024);
	on_nodes(3, exchange);
	end();
}

static void *kill_soon(void *arg)
{
	usleep(100000);
	__atomic_store_n(&dead_node, *(int *)arg, __ATOMIC_RELEASE);
	return NULL;
}

static void peer_death(void)
{
	uint8_t *buf = (uint8_t *)malloc(BIG);
	pthread_t killer;
	int victim = 1, from = -1;
	size_t len;

	memset(buf, 1, BIG);
	begin(3, SIZE_MAX);
	/* a receive from this peer: a message that arrived earlier is delivered */
	CHECK_EQ(rmc_msg_send(node[1].m, 0, buf, 100, 0), 0);
	pthread_create(&killer, NULL, kill_soon, &victim);
	CHECK_EQ(rmc_msg_recv(node[0].m, 1, buf, BIG, &len, NULL, 0), 0);
	CHECK_EQ(rmc_msg_recv(node[0].m, 1, buf, BIG, &len, NULL, 0), RMC_S_NODE_DOWN);
	/* RMC_MSG_ANY: the death is reported once, then messages of others are delivered */
	CHECK_EQ(rmc_msg_recv(node[0].m, RMC_MSG_ANY, buf, BIG, &len, &from, 0), RMC_S_NODE_DOWN);
	CHECK_EQ(from, 1);
	CHECK_EQ(rmc_msg_send(node[2].m, 0, buf, 5, 0), 0);
	CHECK_EQ(rmc_msg_recv(node[0].m, RMC_MSG_ANY, buf, BIG, &len, &from, 0), 0);
	CHECK_EQ(from, 2);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, 5, 0), RMC_S_NODE_DOWN);
	pthread_join(killer, NULL);
	end();

	/* death in the middle of a push to a peer that never receives, and of a pull */
	begin(2, SIZE_MAX);
	pthread_create(&killer, NULL, kill_soon, &victim);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, BIG, 0), RMC_S_NODE_DOWN);
	pthread_join(killer, NULL);
	end();
	begin(2, 0);
	pthread_create(&killer, NULL, kill_soon, &victim);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, node[0].data, BIG, 0), RMC_S_NODE_DOWN);
	pthread_join(killer, NULL);
	end();

	/* the receiver's side: the first cell has arrived, and the source of the pull is gone */
	begin(2, 0);
	victim = 0;
	CHECK_EQ(rmc_msg_send(node[0].m, 1, node[0].data, 5000, RMC_MSG_ASYNC), 0);
	kill_soon(&victim);
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, buf, BIG, &len, NULL, 0), RMC_S_NODE_DOWN);
	CHECK_EQ(rmc_msg_recv(node[1].m, RMC_MSG_ANY, buf, BIG, &len, &from, 0), RMC_S_NODE_DOWN);
	CHECK_EQ(rmc_msg_recv(node[1].m, RMC_MSG_ANY, buf, BIG, &len, &from, 0), RMC_S_NODE_DOWN);
	end();
	free(buf);
}

/* Another process in the peer's place does not have our signature in its memory. */
static void other_life(void)
{
	uint8_t buf[10];
	size_t len;

	begin(2, 1024);
	memset(node[1].seg, 0, rmc_msg_bytes(2, CELLS));
	CHECK_EQ(rmc_msg_recv(node[0].m, 1, buf, 10, &len, NULL, 0), RMC_S_BAD_CONTEXT);
	end();
}

/*
 * The write of a cell has arrived, but has not completed. The receiver may have returned the
 * cell already. The source of the write must not change, because the write may be repeated.
 */
static size_t refill_len;

static void *send_one(void *arg)
{
	struct node *n = (struct node *)arg;
	uint8_t buf[400];

	fill(buf, refill_len, 99);
	CHECK_EQ(rmc_msg_send(n->m, 1, buf, refill_len, 0), 0);
	return NULL;
}

static void refilled(size_t len, int before)
{
	uint8_t buf[400], got[400];
	pthread_t sender;
	size_t n;
	int i;

	begin(2, SIZE_MAX);
	__atomic_store_n(&node[0].hold, 1, __ATOMIC_RELEASE);
	for (i = 0; i < before; i++) {
		fill(buf, len, (unsigned int)i);
		CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, len, 0), 0);
		CHECK_EQ(rmc_msg_recv(node[1].m, 0, got, sizeof(got), &n, NULL, 0), 0);
		CHECK(n == len && is_filled(got, n, (unsigned int)i));
	}
	CHECK_EQ(__atomic_load_n(&node[0].hold, __ATOMIC_ACQUIRE), 2);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);	/* it has read the credits */
	refill_len = len;
	pthread_create(&sender, NULL, send_one, &node[0]);
	usleep(50000);
	CHECK(!memcmp(node[0].held_from, node[0].held, sizeof(node[0].held)));
	__atomic_store_n(&node[0].rmc.release, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, got, sizeof(got), &n, NULL, 0), 0);
	CHECK(n == len && is_filled(got, n, 99));
	pthread_join(sender, NULL);
	end();
}

static void cell_in_flight(void)
{
	refilled(50, CELLS);		/* the path of single cells, */
	refilled(350, 2);		/* and that of longer messages: six cells each */
}

/*
 * A delayed write of counters must not arrive after a later one. It would take back credits
 * that were returned, and no later message returns them again.
 */
static void *receive_half(void *arg)
{
	struct node *n = (struct node *)arg;
	uint8_t got[10];
	size_t len;
	int i;

	for (i = 0; i < CELLS / 2; i++) {
		/* credits for a quarter are in flight when there are more to return */
		while (i == CELLS / 4 && __atomic_load_n(&n->delay, __ATOMIC_ACQUIRE) != 2)
			usleep(1000);
		CHECK_EQ(rmc_msg_recv(n->m, 0, got, sizeof(got), &len, NULL, 0), 0);
	}
	CHECK_EQ(rmc_msg_flush(n->m, 0), 0);
	return NULL;
}

static void slow_counters(void)
{
	uint8_t buf[10] = { 0 };
	pthread_t receiver;
	int i;

	begin(2, SIZE_MAX);
	__atomic_store_n(&node[1].delay, 1, __ATOMIC_RELEASE);
	for (i = 0; i < CELLS / 2; i++)
		CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), 0), 0);
	pthread_create(&receiver, NULL, receive_half, &node[1]);
	while (__atomic_load_n(&node[1].delay, __ATOMIC_ACQUIRE) != 2)
		usleep(1000);
	usleep(50000);				/* the next quarter is received */
	store_line(node[1].delayed_to, (const uint8_t *)&node[1].delayed, 8);
	__atomic_store_n(&node[1].rmc.release, 1, __ATOMIC_RELEASE);
	pthread_join(receiver, NULL);
	/* all cells are free */
	for (i = 0; i < CELLS; i++)
		CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), RMC_MSG_DONTWAIT), 0);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), RMC_MSG_DONTWAIT), -EAGAIN);
	end();
}

/* Retries end at their maximum number, or when the node is down. */
static int up_or_down;

static int state_up_or_down(void *arg, int nid)
{
	(void)arg;
	return nid == 1 ? __atomic_load_n(&up_or_down, __ATOMIC_ACQUIRE) : RMC_NODE_UP;
}

static void lost_for_ever(void)
{
	uint8_t buf[10] = { 0 };
	int k, i, err = -EAGAIN;
	size_t len;

	for (k = 0; k < 2; k++) {
		state_of_node = state_up_or_down;
		__atomic_store_n(&up_or_down, RMC_NODE_UP, __ATOMIC_RELEASE);
		begin(2, SIZE_MAX);
		__atomic_store_n(&node[0].lose, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&up_or_down, k ? RMC_NODE_DOWN : RMC_NODE_UP, __ATOMIC_RELEASE);
		err = rmc_msg_send(node[0].m, 1, buf, sizeof(buf), 0);
		for (i = 0; i < 100000 && (!err || err == -EAGAIN); i++) {
			err = rmc_msg_recv(node[0].m, 1, buf, sizeof(buf), &len, NULL,
					   RMC_MSG_DONTWAIT);
			sched_yield();
		}
		CHECK_EQ(err, RMC_S_TIMEOUT);
		CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), 0), RMC_S_TIMEOUT);
		CHECK_EQ(__atomic_load_n(&node[0].lost, __ATOMIC_ACQUIRE), k ? 1 : 8);
		end();
	}
	/* nothing in flight: a silent node that is down is detected */
	state_of_node = state_up_or_down;
	__atomic_store_n(&up_or_down, RMC_NODE_UP, __ATOMIC_RELEASE);
	begin(2, SIZE_MAX);
	__atomic_store_n(&up_or_down, RMC_NODE_DOWN, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_msg_recv(node[0].m, 1, buf, sizeof(buf), &len, NULL, 0), RMC_S_NODE_DOWN);
	end();
}

/* The line that node 1 writes at node 0: credits and pulled, nonce */
static uint64_t *line_of_1(void)
{
	return (uint64_t *)(void *)(node[0].seg + (size_t)(CELLS + 1) * 64);
}

/* Counters of another incarnation, and credits for cells that were never sent */
static void strange_line(void)
{
	uint8_t buf[10] = { 0 };

	begin(2, SIZE_MAX);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), 0), 0);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);	/* node 0 knows the nonce now */
	rmc_store_release(&line_of_1()[0], 7ULL << 32 | 1);
	rmc_store_release(&line_of_1()[1], line_of_1()[1] + 1);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), 0), RMC_S_BAD_CONTEXT);
	end();
	begin(2, SIZE_MAX);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), 0), 0);
	rmc_store_release(&line_of_1()[0], 2);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), 0), RMC_S_PROTOCOL);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), RMC_MSG_DONTWAIT), RMC_S_PROTOCOL);
	/* the first error is the one that is reported */
	rmc_store_release(&line_of_1()[1], line_of_1()[1] + 1);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), 0), RMC_S_PROTOCOL);
	end();
}

#include "msg_strange.h"
#include "msg_lives.h"

static void bad_arguments(void)
{
	uint8_t b[8] = { 0 };
	size_t len;

	begin(2, 1024);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, NULL, 1, 0), -EINVAL);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, NULL, 0, 0), 0);
	CHECK_EQ(rmc_msg_send(node[0].m, 2, b, 1, 0), -EINVAL);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, b, 1, 1 << 20), -EINVAL);
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, b, 8, &len, NULL, 1 << 20), -EINVAL);
	CHECK_EQ(rmc_msg_recv(node[1].m, -2, b, 8, &len, NULL, RMC_MSG_DONTWAIT), -EINVAL);
	CHECK_EQ(rmc_msg_flush(node[0].m, 2), -EINVAL);
	CHECK_EQ(rmc_msg_pending(node[0].m, 2), 0);
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 2, 1), -EINVAL);
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 0, 1), -EINVAL);
	CHECK_EQ(rmc_msg_recv(node[1].m, 0, b, 8, &len, NULL, 0), 0);
	CHECK_EQ(len, 0);
	end();
}

static void bad_options(void)
{
	struct rmc_msg_raw raw = { .nodes = 2, .seg_len = 1 << 16 };
	struct rmc_msg_options o;

	rmc_msg_defaults(&o);
	o.cells = 100;
	CHECK(!rmc_msg_open_raw(&raw, &o));
	CHECK(strstr(rmc_errmsg(), "power of two"));
	o.cells = 1024;
	CHECK(!rmc_msg_open_raw(&raw, &o));
	CHECK(strstr(rmc_errmsg(), "take"));
	o.cells = 64;
	o.at = 8;
	raw.offset = 56;
	CHECK(!rmc_msg_open_raw(&raw, &o));
	CHECK_EQ(errno, EINVAL);
	o.at = 64;
	raw.offset = 8;
	CHECK(!rmc_msg_open_raw(&raw, &o));
	CHECK(strstr(rmc_errmsg(), "a multiple of 64"));
	raw.offset = 0;
	o.at = raw.seg_len + 64;
	CHECK(!rmc_msg_open_raw(&raw, &o));
	o.at = raw.seg_len - rmc_msg_bytes(2, 64) + 64;
	CHECK(!rmc_msg_open_raw(&raw, &o));
	CHECK(strstr(rmc_errmsg(), "take"));
	raw.seg_len = 1ULL << 40;
	o.at = 0;
	o.cells = RMC_MSG_CELLS_MIN / 2;
	CHECK(!rmc_msg_open_raw(&raw, &o));
	o.cells = RMC_MSG_CELLS_MAX * 2;
	CHECK(!rmc_msg_open_raw(&raw, &o));
	CHECK(strstr(rmc_errmsg(), "power of two"));
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "all sizes, usual threshold", sizes_default },
		{ "all sizes, threshold 0", sizes_pull },
		{ "all sizes, no threshold", sizes_push },
		{ "all sizes, requests and replies are lost", sizes_lossy },
		{ "a full buffer: EAGAIN, nothing lost", eagain },
		{ "pulls under way, and their end", async_pull },
		{ "too small a buffer, and peeking", small_buffer },
		{ "order per pair, random sizes", order },
		{ "many peers, all to all", many_peers },
		{ "all to all over a lossy fabric", many_lossy },
		{ "a peer's death", peer_death },
		{ "a peer's next life", other_life },
		{ "a cell whose write is not complete is not filled again", cell_in_flight },
		{ "counters do not overtake each other", slow_counters },
		{ "writes that are lost for ever, nodes that are down", lost_for_ever },
		{ "a line of another life, or with credits for nothing", strange_line },
		{ "cells that do not belong together", strange_cells },
		{ "data that cannot be pulled", strange_pulls },
		{ "half a message, and its sender's death", half_a_message },
		{ "a peer that comes back is let in, and all counts begin anew", rejoined },
		{ "a peer that comes back too late is let in by a later call", late_newcomer },
		{ "what is in flight to a former life ends first", in_flight },
		{ "a peer that ends again while it is let in", ends_again },
		{ "each end of a peer's lives is reported", reported_again },
		{ "a queue pair that ends while a peer is let in", dead_queue },
		{ "bad arguments", bad_arguments },
		{ "bad options", bad_options },
	};

	return tap_run(tests, (int)(sizeof(tests) / sizeof(tests[0])));
}
