/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A wormhole network: see noc.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "noc.h"

/* Half of the cycles of a port before the first router, half behind the last */
#define PORT_IN		((P_port + 1) / 2)
#define PORT_OUT	(P_port / 2)
#define NONE		UINT32_MAX

static uint64_t bit(unsigned int i)
{
	return 1ULL << i;
}

void noc_limit(struct noc *n, unsigned int router, enum class class, unsigned int limit)
{
	struct router *r = &n->router[router];

	/* some are sent without room: acknowledgements, as many as there are lines */
	r->limit[class] = (uint16_t)limit;
	for (r->in[class].size = 32; r->in[class].size < 2 * limit; r->in[class].size *= 2)
		;
}

int noc_init(struct noc *n, enum network network, unsigned int buffer)
{
	unsigned int r, c;

	memset(n, 0, sizeof(*n));
	topology_init(&n->topology, network);
	n->buffer = buffer;
	n->free = NONE;
	for (c = 0; c < CLASSES; c++)
		n->share[c] = (uint8_t)c;
	for (r = 0; r < n->topology.routers; r++) {
		memset(n->router[r].credit, (int)buffer, sizeof(n->router[r].credit));
		for (c = 0; c < CLASSES; c++) {
			noc_limit(n, r, (enum class)c, P_queue);
			n->router[r].arrived[c].size = 8 * P_queue;
		}
	}
	n->packets = 1024;
	n->packet = (struct packet *)calloc(n->packets, sizeof(*n->packet));
	if (!n->packet)
		return -ENOMEM;
	for (r = 0; r < n->packets; r++) {
		n->packet[r].next = n->free;
		n->free = r;
	}
	return 0;
}

void noc_destroy(struct noc *n)
{
	free(n->packet);
	n->packet = NULL;
}

/* ---- packets ---- */

static uint32_t packet_new(struct noc *n)
{
	uint32_t i = n->free;

	if (i == NONE) {
		/* twice as many; what is in the network is bounded, so this ends */
		struct packet *p = (struct packet *)realloc(n->packet, 2 * n->packets * sizeof(*p));

		if (!p)
			abort();
		memset(p + n->packets, 0, n->packets * sizeof(*p));
		for (i = n->packets; i < 2 * n->packets; i++) {
			p[i].next = n->free;
			n->free = i;
		}
		n->packet = p;
		n->packets *= 2;
		i = n->free;
	}
	n->free = n->packet[i].next;
	return i;
}

static void put(struct ring *r, uint32_t packet)
{
	if (r->count == r->size)
		abort();
	r->packet[(r->first + r->count++) & (r->size - 1)] = packet;
}

static uint32_t front(const struct ring *r)
{
	return r->packet[r->first];
}

static void drop(struct ring *r)
{
	r->first = (r->first + 1) & (r->size - 1);
	r->count--;
}

int noc_room(const struct noc *n, unsigned int from, unsigned int to, enum class class)
{
	const struct router *r = &n->router[from];
	unsigned int c = n->share[class];

	if (from == to)
		return r->coming[c] < P_arrivals;
	return r->in[c].count < r->limit[c];
}

struct packet *noc_send(struct noc *n, unsigned int from, unsigned int to, enum class class,
			unsigned int flits, unsigned int delay)
{
	uint32_t i = packet_new(n);
	struct packet *p = &n->packet[i];
	struct router *r = &n->router[from];
	unsigned int c = n->share[class];

	memset(p, 0, sizeof(*p));
	p->class = (uint8_t)class;
	p->flits = (uint8_t)flits;
	p->from = (uint8_t)from;
	p->to = (uint8_t)to;
	if (from == to) {
		p->ready = n->now + delay + P_local;
		r->coming[c]++;
		r->here |= 1U << c;
		put(&r->arrived[c], i);
		n->held++;
	} else {
		p->ready = n->now + delay + PORT_IN;
		r->waiting |= 1U << c;
		put(&r->in[c], i);
		n->queued++;
		n->stats.packets_in++;
	}
	return p;
}

struct packet *noc_arrived(struct noc *n, unsigned int router, enum class class)
{
	struct ring *a = &n->router[router].arrived[class];
	struct packet *p;

	if (!a->count)
		return NULL;
	p = &n->packet[front(a)];
	return p->ready <= n->now ? p : NULL;
}

void noc_take(struct noc *n, unsigned int router, enum class class)
{
	struct router *r = &n->router[router];
	uint32_t i = front(&r->arrived[class]);

	drop(&r->arrived[class]);
	if (!r->arrived[class].count)
		r->here &= ~(1U << class);
	r->coming[class]--;
	n->held--;
	n->moved = n->now;
	n->packet[i].next = n->free;
	n->free = i;
}

/* ---- routers ---- */

/* The packet at the front of an input takes this output */
static void wants(struct noc *n, unsigned int r, unsigned int i)
{
	struct router *x = &n->router[r];
	struct input *in = &x->input[i];
	const struct packet *p = &n->packet[in->flit[in->first].packet];

	if (in->flit[in->first].head)
		in->out = n->topology.next[n->order[p->class]][r][p->to];
	x->want[in->out] |= bit(i);
	x->wanted |= 1U << in->out;
}

static void push(struct noc *n, unsigned int r, unsigned int i, const struct flit *f)
{
	struct input *in = &n->router[r].input[i];

	unsigned int end = in->first + in->count++;

	in->flit[end < n->buffer ? end : end - n->buffer] = *f;
	if (in->count == 1)
		wants(n, r, i);
}

static void pop(struct noc *n, unsigned int r, unsigned int i)
{
	struct router *x = &n->router[r];
	struct input *in = &x->input[i];
	int tail = in->flit[in->first].tail;

	in->first = (uint8_t)(in->first + 1U < n->buffer ? in->first + 1 : 0);
	in->count--;
	if (in->count && !tail)
		return;
	x->want[in->out] &= ~bit(i);
	if (!x->want[in->out])
		x->wanted &= ~(1U << in->out);
	if (in->count)
		wants(n, r, i);
}

/* May this input's flit leave by this output? */
static int may_pass(const struct noc *n, const struct router *x, unsigned int i, unsigned int out)
{
	const struct input *in = &x->input[i];
	const struct flit *f = &in->flit[in->first];
	unsigned int c = i % CLASSES;

	if ((int32_t)(f->ready - (uint32_t)n->now) > 0 || x->owner[out][c] != (f->head ? 0 : i + 1))
		return 0;
	if (out)
		return x->credit[out][c] > 0;
	return !f->head || x->coming[c] < P_arrivals;
}

static void leave(struct noc *n, unsigned int r, struct flit *f, unsigned int c)
{
	struct router *x = &n->router[r];

	if (f->head)
		x->coming[c]++;
	n->inside--;
	n->stats.flits_out++;
	if (!f->tail)
		return;
	n->packet[f->packet].ready = n->now + n->topology.leave[r] + PORT_OUT;
	put(&x->arrived[c], f->packet);
	x->here |= 1U << c;
	n->held++;
	n->stats.packets_out++;
}

static void pass(struct noc *n, unsigned int r, unsigned int i, unsigned int out)
{
	struct router *x = &n->router[r];
	struct input *in = &x->input[i];
	struct flit f = in->flit[in->first];
	unsigned int c = i % CLASSES;

	pop(n, r, i);
	x->owner[out][c] = (uint8_t)(f.tail ? 0 : i + 1);
	x->last[out] = (uint8_t)i;
	n->moved = n->now;
	if (i >= CLASSES) {
		/* this input is the other direction of the output of the same number */
		const struct link *up = &n->topology.out[r][i / CLASSES];

		n->back[n->backs].router = up->to;
		n->back[n->backs].port = up->input;
		n->back[n->backs++].class = (uint8_t)c;
	}
	if (out) {
		const struct link *l = &n->topology.out[r][out];

		f.ready = (uint32_t)n->now + l->latency;
		x->credit[out][c]--;
		n->stats.moves++;
		n->stats.east += l->bisects == 1;
		n->stats.west += l->bisects == 2;
		push(n, l->to, l->input * CLASSES + c, &f);
	} else {
		leave(n, r, &f, c);
	}
}

/* Inputs of the port of input i */
static uint64_t port_of(unsigned int i)
{
	return (bit(CLASSES) - 1) << (i / CLASSES * CLASSES);
}

/* One output of a router: the first input behind the last one that was served. It, or -1 */
static int serve(struct noc *n, unsigned int r, unsigned int out, uint64_t used)
{
	struct router *x = &n->router[r];
	uint64_t all = x->want[out] & ~used, behind = all & ~(bit(x->last[out]) * 2 - 1);
	uint64_t both[2] = { behind, all & ~behind };
	unsigned int k;

	for (k = 0; k < 2; k++)
		for (; both[k]; both[k] &= both[k] - 1) {
			unsigned int i = (unsigned int)__builtin_ctzll(both[k]);

			if (may_pass(n, x, i, out)) {
				pass(n, r, i, out);
				return (int)i;
			}
		}
	return -1;
}

static void switch_router(struct noc *n, unsigned int r)
{
	struct router *x = &n->router[r];
	unsigned int ports = n->topology.ports[r], first = (unsigned int)(n->now % ports), k;
	uint32_t wanted = x->wanted;
	uint64_t used = 0;

	for (k = 0; k < ports; k++) {
		unsigned int out = first + k < ports ? first + k : first + k - ports;
		int i;

		if (!(wanted & 1U << out))
			continue;
		i = serve(n, r, out, used);
		if (i >= 0)
			used |= port_of((unsigned int)i);
	}
}

/* A flit of the tile: classes in turn, those whose buffer has room */
static void enter(struct noc *n, unsigned int r)
{
	struct router *x = &n->router[r];
	unsigned int k;

	for (k = 0; k < CLASSES; k++) {
		unsigned int c = (x->turn + k) % CLASSES;
		struct packet *p;
		struct flit f;

		if (!(x->waiting & 1U << c) || x->input[c].count >= n->buffer)
			continue;
		p = &n->packet[front(&x->in[c])];
		if (p->ready > n->now)
			continue;
		f = (struct flit){ front(&x->in[c]), !p->sent, p->sent + 1 == p->flits,
				   (uint32_t)n->now };
		p->sent++;
		push(n, r, c, &f);
		n->inside++;
		n->stats.flits_in++;
		n->moved = n->now;
		x->turn = (uint8_t)(c + 1);
		if (f.tail) {
			drop(&x->in[c]);
			n->queued--;
			if (!x->in[c].count)
				x->waiting &= ~(1U << c);
		}
		return;
	}
}

void noc_step(struct noc *n)
{
	unsigned int r, i;

	n->now++;
	if (n->queued)
		for (r = 0; r < n->topology.routers; r++)
			if (n->router[r].waiting)
				enter(n, r);
	if (!n->inside)
		return;
	n->backs = 0;
	for (r = 0; r < n->topology.routers; r++)
		if (n->router[r].wanted)
			switch_router(n, r);
	for (i = 0; i < n->backs; i++)
		n->router[n->back[i].router].credit[n->back[i].port][n->back[i].class]++;
}

uint64_t noc_next(const struct noc *n)
{
	uint64_t next = UINT64_MAX;
	unsigned int r, c;

	if (n->inside)
		return n->now + 1;
	for (r = 0; (n->queued || n->held) && r < n->topology.routers; r++) {
		const struct router *x = &n->router[r];

		for (c = 0; c < CLASSES; c++) {
			if (x->in[c].count && n->packet[front(&x->in[c])].ready < next)
				next = n->packet[front(&x->in[c])].ready;
			if (x->arrived[c].count && n->packet[front(&x->arrived[c])].ready < next)
				next = n->packet[front(&x->arrived[c])].ready;
		}
	}
	return next <= n->now ? n->now + 1 : next;
}
