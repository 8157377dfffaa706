// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "packets.h"
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINES_MAX	(RMC_MTU_MAX / RMC_LINE + 1)

/* Epochs of the two nodes of a channel */
struct life {
	u32 requester, server;
};

/* One kernel's end of a channel: the ring that it fills is sent, the other one is filled. */
struct end {
	void *mem;			/* of both rings */
	struct rmc_ring sent, taken;
	struct life sent_life, taken_life;
	bool sending, taking;		/* since the memory was zeroed */
};

enum { MSG_STATE, MSG_PACKET };

struct msg {
	u32 type;
	u32 lane;
	u32 requester, server;		/* MSG_STATE: node id, - */
	struct life life;
	union {
		struct {
			u64 word0, word1;
			u32 lines;
			u8 payload[LINES_MAX * RMC_LINE];
		} packet;
		struct {
			struct rmc_region_node entry;
			u32 sync[RMC_MAX_NODES * RMC_MAX_UNITS];
		} state;
	};
};

struct kernel {
	struct packets *p;
	pthread_mutex_t lock;		/* of all below */
	struct rmc_fabric *fabric;
	struct rmc_region_node *node;
	struct rmc_doorbell *doorbell;
	u32 *sync;
	struct end *end;		/* [requester * endpoints + server] */
	int in, out;			/* what comes; where the others put it */
	struct msg *buffer;
	struct rmc_region_node sent;	/* last */
	u32 *sent_sync, *unsent;	/* by peer: it did not get that */
	u32 beats;
	bool backlog;			/* some ring has packets that found no room */
};

struct packets {
	struct testbed *w;
	u32 kernels, eps, units;
	u64 packets, full;
	struct kernel kernel[];
};

u64 packets_total;
static struct packets *current;

static void *xcalloc(size_t n, size_t size)
{
	/* channels start on pages, as the module's do */
	size_t unit = n * size < 4096 ? RMC_LINE : 4096;
	void *p = aligned_alloc(unit, (n * size + unit - 1) & ~(unit - 1));

	if (!p)
		abort();
	memset(p, 0, n * size);
	return p;
}

static struct kernel *kernel_of(struct rmc_fabric *f)
{
	return &current->kernel[f - current->w->fabric];
}

static struct end *end_of(struct kernel *k, u32 requester, u32 server)
{
	return &k->end[requester * k->p->eps + server];
}

/* To kernel @to. Returns false when there is no room. */
static bool post(struct kernel *k, u32 to, const struct msg *m, size_t bytes)
{
	u32 i, per = current->w->workers / current->kernels;

	if (send(current->kernel[to].out, m, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (errno != EAGAIN && errno != ENOBUFS)
			abort();
		__atomic_fetch_add(&current->full, 1, __ATOMIC_RELAXED);
		return false;
	}
	/* its interrupt */
	for (i = 0; i < per; i++)
		if (current->w->worker[to * per + i].park)
			rmc_os_wake(&current->w->worker[to * per + i].ni);
	return true;
}

/* ---- packets ---- */

static struct life life_of(const struct rmc_fabric *f, u32 requester, u32 server)
{
	return (struct life){ READ_ONCE(f->node[rmc_endpoint_nid(f, requester)].epoch),
			      READ_ONCE(f->node[rmc_endpoint_nid(f, server)].epoch) };
}

static bool same(const struct life *a, const struct life *b)
{
	return a->requester == b->requester && a->server == b->server;
}

static void begin(const struct rmc_fabric *f, void *mem, struct rmc_ring *r, enum rmc_lane lane,
		  const struct life *life)
{
	if (lane == RMC_LANE_REP)
		mem = (u8 *)mem + rmc_ring_bytes(f->ring_order, f->pay_order);
	rmc_ring_init(r, mem, f->ring_order, f->pay_order);
	rmc_ring_begin(r, life->requester, life->server);
}

static void *memory(struct kernel *k, struct end *e)
{
	if (!e->mem)
		e->mem = xcalloc(1, (rmc_channel_bytes(k->fabric) + 4095) & ~4095UL);
	return e->mem;
}

/* Our last entry, if kernel @to has not got it. Returns false when there is no room. */
static bool send_entry(struct kernel *k, u32 to)
{
	u32 rows = k->p->units * k->fabric->nodes;
	struct msg m;

	if (!k->unsent[to])
		return true;
	m.type = MSG_STATE;
	m.requester = k - k->p->kernel;
	m.state.entry = k->sent;
	memcpy(m.state.sync, k->sent_sync, rows * sizeof(u32));
	if (!post(k, to, &m, offsetof(struct msg, state.sync) + rows * sizeof(u32))) {
		k->backlog = true;
		return false;
	}
	k->unsent[to] = false;
	return true;
}

/* What is new in the ring that we fill. The lock is held. */
static void send_ring(struct kernel *k, u32 requester, u32 server, enum rmc_lane lane)
{
	struct rmc_fabric *f = k->fabric;
	struct end *e = end_of(k, requester, server);
	u32 to = rmc_endpoint_nid(f, lane == RMC_LANE_REQ ? server : requester), i;
	struct life life = life_of(f, requester, server);
	struct rmc_desc d;
	struct msg m;

	if (!e->mem)
		return;
	if (!e->sending) {
		begin(f, e->mem, &e->sent, lane, &life);
		e->sent_life = life;
		e->sending = true;
	}
	/* the end is still open for a life that is over */
	if (!same(&e->sent_life, &life))
		return;
	/* in order: or the peer takes the packets for those of a stranger */
	if (!send_entry(k, to))
		return;
	m.type = MSG_PACKET;
	m.lane = lane;
	m.requester = requester;
	m.server = server;
	m.life = life;
	while (rmc_ring_peek(&e->sent, 0, &d)) {
		u32 lines = rmc_packet_lines(lane, d.word0, d.word1);
		/* what a test made up may claim more: that does not travel */
		u32 sent = min(lines, f->mtu / RMC_LINE + 1);

		m.packet.word0 = d.word0;
		m.packet.word1 = d.word1;
		m.packet.lines = lines;
		for (i = 0; i < sent; i++)
			memcpy(m.packet.payload + i * RMC_LINE,
			       rmc_ring_line(&e->sent, e->sent.pay_pos + i), RMC_LINE);
		if (!post(k, to, &m, offsetof(struct msg, packet.payload) + sent * RMC_LINE)) {
			k->backlog = true;
			return;
		}
		e->sent.pos++;
		e->sent.pay_pos += lines;
		__atomic_fetch_add(&current->packets, 1, __ATOMIC_RELAXED);
	}
}

/* The lock is held. */
static void take_packet(struct kernel *k, const struct msg *m)
{
	struct rmc_fabric *f = k->fabric;
	u32 dst = m->lane == RMC_LANE_REQ ? m->server : m->requester, i;
	u32 from = m->lane == RMC_LANE_REQ ? m->requester : m->server;
	u32 nid = rmc_endpoint_nid(f, from);
	struct life life = life_of(f, m->requester, m->server);
	struct end *e = end_of(k, m->requester, m->server);

	/* of these lives, and nothing of an older one is left: see closed() */
	if (!f->local[dst] || !same(&life, &m->life) ||
	    *rmc_sync_word(f, dst, nid) != f->node[nid].epoch)
		return;
	if (!e->taking || !same(&e->taken_life, &life)) {
		begin(f, memory(k, e), &e->taken, m->lane, &life);
		e->taken_life = life;
		e->taking = true;
	}
	for (i = 0; i < min(m->packet.lines, f->mtu / RMC_LINE + 1); i++)
		memcpy(rmc_ring_line(&e->taken, e->taken.pay_pos + i),
		       m->packet.payload + i * RMC_LINE, RMC_LINE);
	e->taken.pay_pos += m->packet.lines;
	rmc_ring_put(&e->taken, m->packet.word0 & ~(0xffULL << 56), m->packet.word1);
	/* pairs with the barrier in rmc_doorbell_clear() */
	smp_mb();
	rmc_os_or64(rmc_doorbell_word(f, dst, m->lane, from), 1ULL << (from % 64));
	f->notify(f->local[dst], m->lane);
}

/* ---- what peers know of a node ---- */

static void send_state(struct kernel *k, u32 nid)
{
	struct rmc_fabric *f = k->fabric;
	u32 rows = k->p->units * f->nodes, i;
	struct rmc_region_node now = f->node[nid];
	const u32 *sync = rmc_sync_word(f, rmc_endpoint(f, nid), 0);

	if (now.claim != k->sent.claim || now.heartbeat != k->sent.heartbeat ||
	    memcmp(sync, k->sent_sync, rows * sizeof(u32))) {
		k->sent = now;
		memcpy(k->sent_sync, sync, rows * sizeof(u32));
		for (i = 0; i < f->nodes; i++)
			k->unsent[i] = i != nid;
	}
	for (i = 0; i < f->nodes; i++)
		send_entry(k, i);
}

static void take_state(struct kernel *k, const struct msg *m)
{
	struct rmc_fabric *f = k->fabric;
	u32 nid = m->requester, i, rows = k->p->units * f->nodes;
	u32 *sync = rmc_sync_word(f, rmc_endpoint(f, nid), 0);

	for (i = 0; i < rows; i++)
		WRITE_ONCE(sync[i], m->state.sync[i]);
	WRITE_ONCE(f->node[nid].heartbeat, m->state.entry.heartbeat);
	/* pairs with the acquires of whoever reads a peer's entry */
	smp_store_release(&f->node[nid].claim, m->state.entry.claim);
}

/* ---- operations of the fabric ---- */

static void *channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	struct kernel *k = kernel_of(f);
	void *mem;

	pthread_mutex_lock(&k->lock);
	mem = memory(k, end_of(k, requester, server));
	pthread_mutex_unlock(&k->lock);
	return mem;
}

static void put(struct rmc_fabric *f, u32 from, u32 dst, enum rmc_lane lane)
{
	struct kernel *k = kernel_of(f);

	pthread_mutex_lock(&k->lock);
	if (lane == RMC_LANE_REQ)
		send_ring(k, from, dst, lane);
	else
		send_ring(k, dst, from, lane);
	pthread_mutex_unlock(&k->lock);
}

static void state(struct rmc_fabric *f, u32 nid)
{
	struct kernel *k = kernel_of(f);

	pthread_mutex_lock(&k->lock);
	send_state(k, nid);
	pthread_mutex_unlock(&k->lock);
}

static void zero(struct kernel *k, u32 requester, u32 server)
{
	struct end *e = end_of(k, requester, server);

	if (e->mem)
		memset(e->mem, 0, rmc_channel_bytes(k->fabric));
	e->sending = false;
	e->taking = false;
}

static void closed(struct rmc_fabric *f, u32 ep, u32 nid)
{
	struct kernel *k = kernel_of(f);
	u32 i;

	pthread_mutex_lock(&k->lock);
	for (i = rmc_endpoint(f, nid); i < rmc_endpoint(f, nid + 1); i++) {
		zero(k, ep, i);
		zero(k, i, ep);
	}
	pthread_mutex_unlock(&k->lock);
}

static void reset(struct rmc_fabric *f, u32 nid, u32 epoch)
{
	u32 ep, i;

	for (ep = rmc_endpoint(f, nid); ep < rmc_endpoint(f, nid + 1); ep++)
		for (i = 0; i < f->nodes; i++)
			closed(f, ep, i);
}

static const struct rmc_fabric_ops ops = {
	.name = "packets",
	.channel = channel,
	.reset = reset,
	.put = put,
	.state = state,
	.closed = closed,
};

/* ---- the testbed's side ---- */

u32 packets_pump(struct packets *p, u32 i)
{
	struct kernel *k = &p->kernel[i];
	u32 done = 0, a, b;

	if (pthread_mutex_trylock(&k->lock))
		return 0;
	while (recv(k->in, k->buffer, sizeof(*k->buffer), MSG_DONTWAIT) > 0) {
		if (k->buffer->type == MSG_STATE)
			take_state(k, k->buffer);
		else
			take_packet(k, k->buffer);
		done++;
	}
	if (k->backlog) {
		k->backlog = false;
		for (a = 0; a < p->kernels; a++)
			send_entry(k, a);
		for (a = i * p->units; a < (i + 1) * p->units; a++)
			for (b = 0; b < p->eps; b++) {
				if (b / p->units == i)
					continue;
				send_ring(k, a, b, RMC_LANE_REQ);
				send_ring(k, b, a, RMC_LANE_REP);
			}
	}
	pthread_mutex_unlock(&k->lock);
	return done;
}

u64 packets_sent(const struct packets *p, u64 *full)
{
	*full = p->full;
	return p->packets;
}

void packets_attach(struct packets *p, u32 i)
{
	struct kernel *k = &p->kernel[i];
	u64 claim = k->node[i].claim;
	u32 j;

	pthread_mutex_lock(&k->lock);
	while (recv(k->in, k->buffer, sizeof(*k->buffer), MSG_DONTWAIT) > 0)
		;
	for (j = 0; j < p->eps * p->eps; j++) {
		free(k->end[j].mem);
		memset(&k->end[j], 0, sizeof(k->end[j]));
	}
	memset(k->node, 0, p->kernels * sizeof(*k->node));
	memset(k->doorbell, 0, p->eps * RMC_LANES * sizeof(*k->doorbell));
	memset(k->sync, 0, p->eps * p->kernels * sizeof(u32));
	memset(k->sent_sync, 0, p->units * p->kernels * sizeof(u32));
	memset(&k->sent, 0, sizeof(k->sent));
	memset(k->unsent, 0, p->kernels * sizeof(u32));
	/* what a kernel has to keep, or ask its peers for */
	k->node[i].claim = claim;
	pthread_mutex_unlock(&k->lock);
	k->fabric = &p->w->fabric[i];
	k->fabric->ops = &ops;
	k->fabric->node = k->node;
	k->fabric->doorbell = k->doorbell;
	k->fabric->sync = k->sync;
}

struct packets *packets_create(struct testbed *w)
{
	u32 n = w->opts.nodes, eps = n * w->opts.units, i;
	struct rlimit files;
	struct packets *p = xcalloc(1, sizeof(*p) + n * sizeof(struct kernel));

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	p->w = w;
	p->kernels = n;
	p->eps = eps;
	p->units = w->opts.units;
	current = p;
	for (i = 0; i < n; i++) {
		struct kernel *k = &p->kernel[i];
		int pair[2], bytes = w->opts.mtu + 8192;	/* a few packets */

		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
			abort();
		setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
		k->in = pair[0];
		k->out = pair[1];
		k->p = p;
		pthread_mutex_init(&k->lock, NULL);
		k->node = xcalloc(n, sizeof(*k->node));
		k->doorbell = xcalloc(eps * RMC_LANES, sizeof(*k->doorbell));
		k->sync = xcalloc(eps * n, sizeof(u32));
		k->end = xcalloc(eps * eps, sizeof(*k->end));
		k->buffer = xcalloc(1, sizeof(*k->buffer));
		k->sent_sync = xcalloc(p->units * n, sizeof(u32));
		k->unsent = xcalloc(n, sizeof(u32));
	}
	return p;
}

void packets_destroy(struct packets *p)
{
	u32 i, j;

	packets_total += p->packets;
	for (i = 0; i < p->kernels; i++) {
		struct kernel *k = &p->kernel[i];

		close(k->in);
		close(k->out);
		for (j = 0; j < p->eps * p->eps; j++)
			free(k->end[j].mem);
		free(k->unsent);
		free(k->sent_sync);
		free(k->buffer);
		free(k->end);
		free(k->sync);
		free(k->doorbell);
		free(k->node);
	}
	free(p);
}
