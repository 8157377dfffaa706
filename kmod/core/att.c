// SPDX-License-Identifier: GPL-2.0
/*
 * Active Transfers Table: register transfers, count requests, select and unroll transfers, end
 * them. Each request of a transfer gets one reply: data requests when their data is issued, the
 * announcement when the transfer ends. A transfer that ends early answers the requests received
 * so far and is freed; later requests match no transfer.
 */
#include "pipeline.h"

/**
 * rmc_att_init() - set up an empty table of the default size
 * @node: node with a zeroed table
 *
 * Return: 0. Context: any.
 */
int rmc_att_init(struct rmc_node *node)
{
	struct rmc_att *att = &node->att;

	att->entries = RMC_ATT_ENTRIES;
	att->depth = RMC_ATT_DEPTH;
	att->stall_ms = RMC_ATT_STALL_MS;
	return 0;
}

/**
 * rmc_att_destroy() - free the transfers of all channels
 * @node: node whose workers do not run; segments are not accessed
 *
 * Context: may sleep.
 */
void rmc_att_destroy(struct rmc_node *node)
{
	u32 i;

	for (i = 0; node->in && i < node->fabric->endpoints; i++) {
		if (!node->in[i])
			continue;
		rmc_os_free_atomic(node->in[i]->att);
		node->in[i]->att = NULL;
	}
}

/* Issue the next packet. Returns the second word of its data request and reply. */
static u64 cut(u32 mtu, struct rmc_xfer *x)
{
	u64 offset = x->offset + x->sent;
	u32 len = rmc_packet_length(mtu, offset, x->length - x->sent);

	x->issued++;
	x->sent += len;
	return rmc_req_word1(offset, len, x->sent == x->length);
}

static void reply(struct rmc_in *in, const struct rmc_xfer *x, u64 word1, u8 status)
{
	struct rmc_req q = { .op = x->op, .gen = x->gen, .tid = x->tid };

	rmc_ring_put(&in->rep, rmc_rep_word0(&q, status), word1);
}

static struct rmc_xfer *find(struct rmc_xfers *xs, u16 tid, u16 gen)
{
	struct rmc_xfer *x;
	u64 bits;

	if (!xs)
		return NULL;
	/* usually the packets of one transfer arrive together */
	x = &xs->x[xs->last];
	if (likely(x->state != RMC_XFER_FREE && x->tid == tid && x->gen == gen))
		return x;
	for (bits = xs->used; bits; bits &= bits - 1) {
		x = &xs->x[__ffs64(bits)];
		if (x->tid == tid && x->gen == gen) {
			xs->last = x - xs->x;
			return x;
		}
	}
	return NULL;
}

static void activate(struct rmc_node *node, struct rmc_in *in, struct rmc_xfer *x)
{
	struct rmc_att *att = &node->att;

	x->state = RMC_XFER_ACTIVE;
	/* while it waited, its source may have run out of credits */
	x->seen_ms = node->srv_ms;
	att->entry[att->used].in = in;
	att->entry[att->used++].x = x;
	rmc_xfer_open(node, x);
}

static void enqueue(struct rmc_att *att, struct rmc_in *in)
{
	in->att->next = NULL;
	if (att->first)
		att->last_in->att->next = in;
	else
		att->first = in;
	att->last_in = in;
}

static void dequeue(struct rmc_att *att, struct rmc_in *in)
{
	struct rmc_in *i, *prev = NULL;

	for (i = att->first; i && i != in; i = i->att->next)
		prev = i;
	if (!i)
		return;
	if (prev)
		prev->att->next = in->att->next;
	else
		att->first = in->att->next;
	if (att->last_in == in)
		att->last_in = prev;
}

/* Give free entries to the waiting sources, round robin. */
static void grant(struct rmc_node *node)
{
	struct rmc_att *att = &node->att;

	while (att->first && att->used < att->entries) {
		struct rmc_in *in = att->first;
		struct rmc_xfers *xs = in->att;
		u32 i = xs->wait[xs->head++ % RMC_XFERS];

		dequeue(att, in);
		if (xs->head != xs->tail)
			enqueue(att, in);
		activate(node, in, &xs->x[i]);
	}
}

/*
 * The same outside of a poll: the doorbell bits of the sources that get an entry may be clear,
 * so notify this node for them.
 */
static void grant_and_notify(struct rmc_node *node)
{
	struct rmc_att *att = &node->att;
	u32 i = att->used;

	grant(node);
	/* the doorbells of a fenced node are its successor's */
	for (; i < att->used && !READ_ONCE(node->fenced); i++)
		rmc_doorbell_notify(node->fabric, node->ep, RMC_LANE_REQ, att->entry[i].in->ep);
}

/* Free a transfer. */
static void forget(struct rmc_node *node, struct rmc_in *in, struct rmc_xfer *x)
{
	struct rmc_att *att = &node->att;
	struct rmc_xfers *xs = in->att;
	u32 i, n;

	if (x->state == RMC_XFER_ACTIVE) {
		for (i = 0; att->entry[i].x != x; i++)
			;
		att->entry[i] = att->entry[--att->used];
	} else {
		/* the others keep their order */
		for (i = n = xs->head; i != xs->tail; i++)
			if (xs->wait[i % RMC_XFERS] != x - xs->x)
				xs->wait[n++ % RMC_XFERS] = xs->wait[i % RMC_XFERS];
		xs->tail = n;
		if (xs->head == xs->tail)
			dequeue(att, in);
	}
	x->state = RMC_XFER_FREE;
	xs->used &= ~(1ULL << (x - xs->x));
	att->live--;
}

/* Send the outstanding replies and free the transfer. */
static void end(struct rmc_node *node, struct rmc_in *in, struct rmc_xfer *x, u8 status)
{
	if (unlikely(status)) {
		if (x->state == RMC_XFER_ACTIVE)
			rmc_xfer_drop(x);
		while (x->issued < x->received)
			reply(in, x, cut(node->fabric->mtu, x), status);
		rmc_stat_inc(node, att_ended);
	}
	reply(in, x, x->word1, status);
	trace_rmc_att_close(node->nid, rmc_endpoint_nid(node->fabric, in->ep), x->tid, x->issued,
			    status);
	forget(node, in, x);
}

/**
 * rmc_att_all_arrived() - check whether a transfer can be served at once
 * @s: run of an announcement and data requests; its operation validated it
 *
 * A short transfer whose requests have all arrived needs no entry. Transfers that wait for an
 * entry come first.
 *
 * Return: true if it can. Context: RRPP worker, does not sleep.
 */
bool rmc_att_all_arrived(const struct rmc_serve *s)
{
	const struct rmc_fabric *f = s->node->fabric;
	u64 offset = s->req.offset;
	u32 length = s->req.length;

	return rmc_xfer_short(f, s->in->self, offset, length) &&
	       s->count == 1 + rmc_packets(f->mtu, offset, length) && !s->node->att.first;
}

/**
 * rmc_att_register() - register an announced transfer
 * @s: request, or run of it and data requests; its operation validated it
 *
 * Return: RMC_HELD; RMC_AGAIN: no memory now; RMC_S_PROTOCOL: more than
 * RMC_XFERS, or announced twice.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_att_register(struct rmc_serve *s)
{
	struct rmc_att *att = &s->node->att;
	struct rmc_in *in = s->in;
	struct rmc_xfers *xs = in->att;
	struct rmc_xfer *x;

	if (unlikely(!xs)) {
		xs = rmc_os_zalloc_atomic(sizeof(*xs));
		if (!xs)
			return RMC_AGAIN;
		in->att = xs;
	}
	if (unlikely(!~xs->used || find(xs, s->req.tid, s->req.gen)))
		return RMC_S_PROTOCOL;
	xs->last = __ffs64(~xs->used);
	xs->used |= 1ULL << xs->last;
	x = &xs->x[xs->last];
	x->seg = s->seg;
	x->word1 = s->word1;
	x->offset = s->req.offset;
	x->length = s->req.length;
	x->packets = rmc_packets(s->node->fabric->mtu, x->offset, x->length);
	x->received = min(s->count - 1, x->packets);
	s->count = 1 + x->received;
	x->issued = 0;
	x->sent = 0;
	x->seen_ms = s->node->srv_ms;
	x->gen = s->req.gen;
	x->tid = s->req.tid;
	x->op = s->req.op;
	x->held = false;
	att->live++;
	rmc_stat_inc(s->node, att_registered);
	trace_rmc_att_open(s->node->nid, rmc_endpoint_nid(s->node->fabric, in->ep), x->tid,
			   x->packets);

	if (likely(att->used < att->entries && !att->first)) {
		activate(s->node, in, x);
		return RMC_HELD;
	}
	rmc_stat_inc(s->node, att_stalls);
	x->state = RMC_XFER_WAITING;
	if (xs->head == xs->tail)
		enqueue(att, in);
	xs->wait[xs->tail++ % RMC_XFERS] = xs->last;
	return RMC_HELD;
}

/**
 * rmc_att_count_requests() - count data requests of a transfer
 * @s: run of requests; only their id is used
 *
 * Return: RMC_HELD; RMC_S_SABRE_LOST: they belong to no transfer, or it has received all its
 * requests.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_att_count_requests(struct rmc_serve *s)
{
	struct rmc_xfer *x = find(s->in->att, s->req.tid, s->req.gen);

	if (unlikely(!x || x->received == x->packets))
		return RMC_S_SABRE_LOST;
	s->count = min(s->count, x->packets - x->received);
	x->received += s->count;
	x->seen_ms = s->node->srv_ms;
	return RMC_HELD;
}

/*
 * Answer the data requests that an active transfer has received, up to @runs runs of them.
 * After a failure the replies have no data.
 */
static u32 serve_active(struct rmc_node *node, struct rmc_in *in, struct rmc_xfer *x, u32 runs)
{
	struct rmc_fabric *f = node->fabric;
	u32 most = rmc_fabric_run(f, in->self);
	u32 issued = x->issued;
	u8 status = RMC_S_OK;

	if (issued == x->received)
		return 0;
	do {
		u32 n = x->received - x->issued;
		u64 offset = x->offset + x->sent;
		u32 bytes;

		if (n * f->mtu > most)
			n = most / f->mtu;
		bytes = min(n * f->mtu - (u32)(offset & (RMC_LINE - 1)), x->length - x->sent);
		if (likely(!status))
			status = rmc_xfer_data(x, &in->rep, offset, bytes);
		if (likely(!status)) {
			in->rep.pay_pos += rmc_lines(offset, bytes);
			rmc_stat_add(node, served_bytes, bytes);
		}
		while (n--)
			reply(in, x, cut(f->mtu, x), status);
	} while (x->issued < x->received && --runs);

	issued = x->issued - issued;
	if (unlikely(status) || x->issued == x->packets) {
		if (likely(!status))
			status = rmc_xfer_close(x);
		end(node, in, x, status);
		issued++;
	}
	rmc_doorbell_ring(f, in->ep, RMC_LANE_REP, node->ep, in->self);
	return issued;
}

/**
 * rmc_att_poll() - serve each active transfer once
 * @node: node; the caller is its RRPP worker
 *
 * Return: replies sent.
 * Context: worker, does not sleep.
 */
u32 rmc_att_poll(struct rmc_node *node)
{
	struct rmc_att *att = &node->att;
	u32 left = att->used, done = 0;
	/* a transfer that is alone may have more */
	u32 runs = left == 1 ? RMC_ATT_RUNS : 1;

	while (left--) {
		struct rmc_att_entry *e;
		u32 used = att->used;

		if (att->cursor >= used)
			att->cursor = 0;
		e = &att->entry[att->cursor];
		done += serve_active(node, e->in, e->x, runs);
		/* another transfer has taken the place of one that ended */
		if (att->used == used)
			att->cursor++;
		else if (!att->used)
			break;
	}
	grant(node);
	return done;
}

/**
 * rmc_att_tick() - end transfers whose requests stopped arriving
 * @node: node; the caller is its RRPP worker
 *
 * Context: worker, does not sleep.
 */
void rmc_att_tick(struct rmc_node *node)
{
	struct rmc_att *att = &node->att;
	u32 i = 0;

	while (i < att->used) {
		struct rmc_in *in = att->entry[i].in;
		struct rmc_xfer *x = att->entry[i].x;

		if (x->received == x->packets || node->srv_ms - x->seen_ms <= att->stall_ms) {
			i++;
			continue;
		}
		rmc_stat_inc(node, att_reclaims);
		end(node, in, x, RMC_S_SABRE_LOST);
		rmc_doorbell_ring(node->fabric, in->ep, RMC_LANE_REP, node->ep, in->self);
	}
	grant_and_notify(node);
}

/**
 * rmc_att_withdraw() - end all transfers from a segment that is withdrawn
 * @node: node; the caller is its RRPP worker
 * @seg: segment; not accessed after the call
 *
 * Context: worker, does not sleep.
 */
void rmc_att_withdraw(struct rmc_node *node, const struct rmc_mem *seg)
{
	u32 n;

	for (n = 0; n < node->fabric->endpoints && node->att.live; n++) {
		struct rmc_in *in = node->in[n];
		u32 ended = 0;
		u64 bits;

		if (!in || !in->att)
			continue;
		for (bits = in->att->used; bits; bits &= bits - 1) {
			struct rmc_xfer *x = &in->att->x[__ffs64(bits)];

			if (x->seg == seg) {
				end(node, in, x, RMC_S_BAD_CONTEXT);
				ended++;
			}
		}
		if (ended)
			rmc_doorbell_ring(node->fabric, n, RMC_LANE_REP, node->ep, in->self);
	}
	grant_and_notify(node);
}

/**
 * rmc_att_close() - free the transfers of a channel that closes, without replies
 * @node: node; the caller is its RRPP worker
 * @in: channel
 *
 * Context: worker, does not sleep.
 */
void rmc_att_close(struct rmc_node *node, struct rmc_in *in)
{
	struct rmc_xfers *xs = in->att;

	if (!xs)
		return;
	while (xs->used) {
		struct rmc_xfer *x = &xs->x[__ffs64(xs->used)];

		if (x->state == RMC_XFER_ACTIVE)
			rmc_xfer_drop(x);
		forget(node, in, x);
	}
	rmc_os_free_atomic(xs);
	in->att = NULL;
	grant_and_notify(node);
}
