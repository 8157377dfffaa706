// SPDX-License-Identifier: GPL-2.0
/* Takes packets off the wire, holds them until they are due, passes them on. */
#include "stages.h"

u32 rmc_filters __read_mostly;

static void *zalloc(size_t bytes, bool may_sleep)
{
	return may_sleep ? rmc_os_zalloc(bytes) : rmc_os_zalloc_atomic(bytes);
}

/**
 * rmc_links_init() - initialize the links of a unit, without filters
 * @l: links of a unit
 * @f: fabric
 * @ep: endpoint of the unit
 *
 * Return: 0 or -ENOMEM; rmc_links_destroy() frees what was allocated.
 * Context: may sleep.
 */
int rmc_links_init(struct rmc_links *l, struct rmc_fabric *f, u32 ep)
{
	enum rmc_lane lane;

	l->fabric = f;
	l->nid = rmc_endpoint_nid(f, ep);
	l->ep = ep;
	l->rnic_rng = 1 + ep;
	for (lane = 0; lane < RMC_LANES; lane++) {
		l->model[lane] = f->model;
		l->filter[lane] = rmc_os_zalloc(f->endpoints * sizeof(*l->filter[lane]));
		if (!l->filter[lane])
			return -ENOMEM;
	}
	return 0;
}

/**
 * rmc_links_destroy() - free the filters of all links, and the switch; no channel is open
 * @l: links of a unit
 */
void rmc_links_destroy(struct rmc_links *l)
{
	enum rmc_lane lane;
	u32 i;

	rmc_switch_destroy(l->sw);
	for (lane = 0; lane < RMC_LANES; lane++) {
		for (i = 0; l->filter[lane] && i < l->fabric->endpoints; i++)
			rmc_filter_destroy(l->filter[lane][i]);
		rmc_os_free(l->filter[lane]);
	}
	rmc_os_free_atomic(l->rnic_client);
	rmc_os_free_atomic(l->rnic_server);
}

/**
 * rmc_filter_create() - create a filter without faults
 * @f: fabric
 * @lane: lane of its rings
 * @may_sleep: the caller may sleep; workers may not
 *
 * Return: filter, or NULL when out of memory.
 */
struct rmc_filter *rmc_filter_create(const struct rmc_fabric *f, enum rmc_lane lane,
				     bool may_sleep)
{
	struct rmc_filter *flt = zalloc(sizeof(*flt), may_sleep);
	u32 lines = 2U << f->pay_order;
	void *ring;

	if (!flt)
		return NULL;
	flt->lane = lane;
	flt->rng = 1;
	/* each packet of the shared ring and a copy of it, plus batches of the pump */
	flt->room = (2U << f->ring_order) + 2 * RMC_BATCH;
	flt->frees = lines;
	ring = zalloc(rmc_ring_bytes(f->ring_order + 1, f->pay_order + 1), may_sleep);
	flt->heap = zalloc(flt->room * sizeof(*flt->heap), may_sleep);
	flt->pool = zalloc((size_t)lines * RMC_LINE, may_sleep);
	flt->next = zalloc(lines * sizeof(*flt->next), may_sleep);
	if (ring)
		rmc_ring_init(&flt->tx, ring, f->ring_order + 1, f->pay_order + 1);
	if (lane == RMC_LANE_REP)
		flt->own_sent = zalloc(sizeof(u64) << f->ring_order, may_sleep);
	if (!ring || !flt->heap || !flt->pool || !flt->next ||
	    (lane == RMC_LANE_REP && !flt->own_sent)) {
		rmc_filter_destroy(flt);
		return NULL;
	}
	return flt;
}

/**
 * rmc_filter_destroy() - free a filter that is not installed
 * @flt: filter or NULL
 */
void rmc_filter_destroy(struct rmc_filter *flt)
{
	if (!flt)
		return;
	rmc_os_free(flt->own_sent);
	rmc_os_free(flt->next);
	rmc_os_free(flt->pool);
	rmc_os_free(flt->heap);
	rmc_os_free(flt->tx.desc);
	rmc_os_free(flt);
}

/**
 * rmc_filter_set() - set the faults of a filter
 * @flt: filter; if it is installed, the caller is its worker
 * @fault: faults
 * @seed: seed of the random numbers, for repeatability; 0: continue the sequence
 */
void rmc_filter_set(struct rmc_filter *flt, const struct rmc_fault *fault, u64 seed)
{
	flt->fault = *fault;
	if (seed)
		flt->rng = seed;
}

/* ---- packets by due time ---- */

static bool is_lost(const struct rmc_filter *flt, const struct rmc_packet *p)
{
	return p->word0 & (flt->lane == RMC_LANE_REQ ? RMC_REQ_LOST : RMC_REP_LOST);
}

static bool before(const struct rmc_packet *a, const struct rmc_packet *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : (s32)(a->seq - b->seq) < 0;
}

static void push(struct rmc_filter *flt, const struct rmc_packet *p)
{
	u32 i = flt->held++, up;

	for (; i; i = up) {
		up = (i - 1) / 2;
		if (!before(p, &flt->heap[up]))
			break;
		flt->heap[i] = flt->heap[up];
	}
	flt->heap[i] = *p;
}

static void pop(struct rmc_filter *flt)
{
	struct rmc_packet *last = &flt->heap[--flt->held];
	u32 i = 0, down;

	for (;; i = down) {
		down = 2 * i + 1;
		if (down >= flt->held)
			break;
		if (down + 1 < flt->held && before(&flt->heap[down + 1], &flt->heap[down]))
			down++;
		if (!before(&flt->heap[down], last))
			break;
		flt->heap[i] = flt->heap[down];
	}
	flt->heap[i] = *last;
}

/* By due time: what is taken first goes where the heap has become shorter, so backwards. */
static void sort_held(struct rmc_filter *flt)
{
	u32 i, n = flt->held;

	while (flt->held) {
		struct rmc_packet first = flt->heap[0];

		pop(flt);
		flt->heap[flt->held] = first;
	}
	for (i = 0; i < n / 2; i++)
		swap(flt->heap[i], flt->heap[n - 1 - i]);
	flt->held = n;
}

/* True if a packet has not passed the switch, or is a copy for one. */
static bool before_switch(const struct rmc_links *l, const struct rmc_filter *flt,
			  const struct rmc_packet *p)
{
	return flt->lane == RMC_LANE_REQ && !p->switched && unlikely(l->sw || p->copy);
}

/*
 * The same, as they would pass the stages of the arrival: what has passed these may be due later
 * than what has not, and is behind it. What has yet to pass the switch is behind it all, in the
 * order of the wire; it meets those stages later.
 */
static void sort_arrived(struct rmc_links *l, struct rmc_filter *flt)
{
	u64 last = 0;
	u32 i, n = flt->held;

	sort_held(flt);
	for (i = 0; i < n; i++) {
		struct rmc_packet *p = &flt->heap[i];

		if (before_switch(l, flt, p))
			continue;
		if (!p->arrived && !is_lost(flt, p))
			rmc_arrival_order(l, flt, p);
		last = max(last, p->due_ns);
	}
	for (i = 0; i < n; i++)
		if (before_switch(l, flt, &flt->heap[i]))
			flt->heap[i].due_ns = max(flt->heap[i].due_ns, last + 1);
	for (flt->held = 0; flt->held < n;) {
		struct rmc_packet p = flt->heap[flt->held];

		push(flt, &p);
	}
	sort_held(flt);
}

/* ---- payload ---- */

static void reset_pool(struct rmc_filter *flt)
{
	u32 i;

	flt->held = 0;
	flt->last_due_ns = 0;
	memset(flt->order.way, 0, sizeof(flt->order.way));
	memset(flt->order.arrival, 0, sizeof(flt->order.arrival));
	/* read by who lists the links */
	WRITE_ONCE(flt->order.broken, 0);
	flt->copies = 0;
	flt->copy_lines = 0;
	flt->free = 0;
	flt->frees = flt->tx.pay_mask + 1;
	for (i = 0; i < flt->frees; i++)
		flt->next[i] = i + 1;	/* the last entry is never followed */
}

/* Clears the marks that only filters may set. */
static u64 unmarked(const struct rmc_filter *flt, u64 word0)
{
	word0 &= ~(0xffULL << 56);
	return flt->lane == RMC_LANE_REQ ? word0 & ~(RMC_REQ_LOST | RMC_REQ_ANSWERED) :
					   word0 & ~(RMC_REP_COPY | RMC_REP_DUPLICATED);
}

/* Copies @lines from the wire; the caller has checked that as many are free. */
static u16 store(struct rmc_filter *flt, u32 lines)
{
	u16 first = RMC_NO_LINE, *link = &first;
	u32 i;

	for (i = 0; i < lines; i++) {
		u16 line = flt->free;

		flt->free = flt->next[line];
		*link = line;
		link = &flt->next[line];
		memcpy(flt->pool + (size_t)line * RMC_LINE,
		       rmc_ring_line(&flt->wire, flt->wire.pay_pos + i), RMC_LINE);
	}
	flt->frees -= lines;
	return first;
}

/* Frees a packet's lines; @pass: copies them to the private ring. */
static void release(struct rmc_filter *flt, const struct rmc_packet *p, bool pass)
{
	u16 line = p->line;
	u32 i;

	for (i = 0; line != RMC_NO_LINE && i < p->lines; i++) {
		u16 next = flt->next[line];

		if (pass)
			memcpy(rmc_ring_line(&flt->tx, flt->tx.pay_pos + i),
			       flt->pool + (size_t)line * RMC_LINE, RMC_LINE);
		flt->next[line] = flt->free;
		flt->free = line;
		flt->frees++;
		line = next;
	}
}

/* ---- opening and closing of channels ---- */

/**
 * rmc_filter_wanted() - check whether each channel needs a filter, even without faults
 * @l: links of a unit
 * @lane: lane
 */
bool rmc_filter_wanted(const struct rmc_links *l, enum rmc_lane lane)
{
	const struct rmc_model *m = &l->model[lane];

	if (m->topology != RMC_TOPOLOGY_NONE && (lane == RMC_LANE_REP || m->one_way))
		return true;
	return lane == RMC_LANE_REQ && (l->slow_ns || l->sw || rmc_rnic_delays(&l->rnic));
}

/**
 * rmc_filter_route() - what the link model says of a link, from now on
 * @l: links of the unit; the caller is the lane's worker
 * @peer: other end
 * @flt: filter of the link
 *
 * Return: false: no memory, ask again. Context: worker, does not sleep.
 */
bool rmc_filter_route(struct rmc_links *l, u32 peer, struct rmc_filter *flt)
{
	const struct rmc_model *m = &l->model[flt->lane];
	struct rmc_fabric *f = l->fabric;
	bool req = flt->lane == RMC_LANE_REQ;
	u64 *sent;

	if (!m->one_way) {
		flt->sent = flt->own_sent;
	} else {
		sent = rmc_model_sent_times(f->shared, req ? peer : l->ep, req ? l->ep : peer);
		if (!sent)
			return false;
		flt->sent = sent;
	}
	/* times of an earlier model are nobody's */
	if (flt->one_way && !m->one_way && flt->own_sent)
		memset(flt->own_sent, 0, sizeof(u64) << f->ring_order);
	flt->one_way = m->one_way;
	flt->peer = peer;
	flt->peer_nid = rmc_endpoint_nid(f, peer);
	/* a round trip is over at its reply: requests have no time of their own */
	if (req && !m->one_way)
		memset(&flt->path, 0, sizeof(flt->path));
	else
		rmc_model_path(m, l->nid, flt->peer_nid, &flt->path);
	WRITE_ONCE(flt->rtt_ns, flt->path.rtt_ns);
	return true;
}

/**
 * rmc_filter_open() - put a channel's filter, if any, between the wire and the pipeline
 * @l: links of the unit; the caller is the lane's worker
 * @peer: other end
 * @lane: lane
 * @rx: ring that the pipeline consumes; becomes the private one
 *
 * Return: true when the filter is in place, or none is needed; false: no memory, call
 * again.
 * Context: worker, does not sleep.
 */
bool rmc_filter_open(struct rmc_links *l, u32 peer, enum rmc_lane lane, struct rmc_ring *rx)
{
	struct rmc_fabric *f = l->fabric;
	struct rmc_filter *flt = l->filter[lane][peer];

	if (!flt && rmc_filter_wanted(l, lane)) {
		flt = rmc_filter_create(f, lane, false);
		if (!flt)
			return false;
		l->filter[lane][peer] = flt;
	}
	if (!flt)
		return true;
	if (!rmc_filter_route(l, peer, flt))
		return false;
	if (flt->rx)
		return true;
	reset_pool(flt);
	if (flt->own_sent)
		memset(flt->own_sent, 0, sizeof(u64) << rx->order);
	flt->wire = *rx;
	if (l->sw && lane == RMC_LANE_REQ)
		rmc_switch_join(l->sw, peer, flt->wire.pos);
	/* the private ring starts with empty descriptors, at the first lap */
	memset(flt->tx.desc, 0, sizeof(*flt->tx.desc) << flt->tx.order);
	flt->tx.pos = 0;
	flt->tx.pay_pos = 0;
	*rx = flt->tx;
	flt->rx = rx;
	return true;
}

/**
 * rmc_filter_close() - close a channel's filter, and drop the packets that it holds
 * @flt: filter or NULL
 *
 * Context: worker, does not sleep.
 */
void rmc_filter_close(struct rmc_filter *flt)
{
	if (!flt)
		return;
	flt->rx = NULL;
	flt->held = 0;
	WRITE_ONCE(flt->stats.held, 0);
}

/**
 * rmc_filter_flush() - make all held packets due, in the order in which they would have been
 * @l: links of the unit
 * @flt: filter
 *
 * Context: worker, does not sleep.
 */
void rmc_filter_flush(struct rmc_links *l, struct rmc_filter *flt)
{
	u32 i;

	/* sorted, it is still a heap */
	sort_arrived(l, flt);
	for (i = 0; i < flt->held; i++) {
		flt->heap[i].due_ns = 0;
		flt->heap[i].seq = i;
		flt->heap[i].arrived = !before_switch(l, flt, &flt->heap[i]);
	}
	flt->last_due_ns = 0;
	memset(flt->order.way, 0, sizeof(flt->order.way));
	memset(flt->order.arrival, 0, sizeof(flt->order.arrival));
}

/**
 * rmc_filter_drain() - make all held packets due, so that a filter can be removed
 * @l: links of the unit
 * @flt: filter of a channel
 *
 * The pipeline has to consume the packets before the filter can be removed, so the caller
 * may have to call this again. If packets of an ordered queue pair were lost, what is behind them
 * is still to be lost, so the filter stays until their sender has noticed and renewed their group,
 * or the channel closes.
 *
 * Return: 0: the pipeline consumes the wire from now on. -EAGAIN: packets are left, which takes
 * some visits. -EBUSY: it waits for the sender, which takes up to a time-out.
 * Context: worker, does not sleep.
 */
int rmc_filter_drain(struct rmc_links *l, struct rmc_filter *flt)
{
	static const struct rmc_fault none;

	flt->fault = none;
	flt->one_way = false;
	memset(&flt->path, 0, sizeof(flt->path));
	WRITE_ONCE(flt->rtt_ns, 0);
	if (!flt->rx)
		return 0;
	rmc_filter_flush(l, flt);
	if (flt->held || flt->tx.pos != flt->rx->pos)
		return -EAGAIN;
	if (flt->order.broken)
		return -EBUSY;
	*flt->rx = flt->wire;
	flt->rx = NULL;
	return 0;
}

/**
 * rmc_filter_set_switch() - put a switch before the unit, or take it away
 * @l: links of the unit; the caller is its RRPP worker
 * @sw: switch; NULL: none
 *
 * Requests that are held have passed, or pass by. rmc_channel_refresh() is next: each channel
 * needs a filter.
 *
 * Context: worker, does not sleep.
 */
void rmc_filter_set_switch(struct rmc_links *l, struct rmc_switch *sw)
{
	u32 peer, i;

	WRITE_ONCE(l->sw, sw);
	for (peer = 0; sw && peer < l->fabric->endpoints; peer++) {
		struct rmc_filter *flt = l->filter[RMC_LANE_REQ][peer];

		if (!flt || !flt->rx)
			continue;
		rmc_switch_join(sw, peer, flt->wire.pos);
		for (i = 0; i < flt->held; i++)
			flt->heap[i].switched = !flt->heap[i].copy;
	}
}

/* ---- path of a packet ---- */

/* A switch sees the requests of a link in order, as a reliable connection keeps them. */
static bool in_order(const struct rmc_links *l, const struct rmc_filter *flt)
{
	return unlikely(l->sw) && flt->lane == RMC_LANE_REQ;
}

static void lose(struct rmc_filter *flt, struct rmc_packet *p)
{
	rmc_filter_count(flt, lost, 1);
	rmc_order_lost(flt, p);
	p->word0 |= flt->lane == RMC_LANE_REQ ? RMC_REQ_LOST : RMC_REP_LOST;
}

/* The packet at the head of the wire, as a copy; false: none, or no room for it. */
static bool take(struct rmc_links *l, struct rmc_filter *flt, u64 now, struct rmc_packet *p)
{
	struct rmc_desc d;
	u32 copy;

	if (flt->held + 2 * RMC_BATCH > flt->room || !rmc_ring_peek(&flt->wire, 0, &d))
		return false;
	d.word0 = unmarked(flt, d.word0);
	/* a length has 16 bits: at most 1025 lines */
	p->lines = rmc_packet_lines(flt->lane, d.word0, d.word1);
	copy = rmc_packet_payload(flt, p);
	if (flt->frees < copy)
		return false;
	rmc_filter_count(flt, packets, 1);
	p->word0 = d.word0;
	p->word1 = d.word1;
	p->seq = flt->seq++;
	p->due_ns = now;
	p->line = RMC_NO_LINE;
	p->psn = flt->wire.pos;
	p->arrived = false;
	p->switched = false;
	p->copy = false;
	if (likely(rmc_stages(l, flt, p, now)))
		p->line = store(flt, copy);
	else
		lose(flt, p);
	if (flt->lane == RMC_LANE_REP)
		p->word0 &= ~RMC_REP_HALF;	/* the model has used it */
	if (in_order(l, flt)) {
		p->due_ns = max(p->due_ns, flt->last_due_ns);
		flt->last_due_ns = p->due_ns;
	}
	return true;
}

/* Adds a copy of a reply, or of a request before a switch, due gap_ns later. */
static void duplicate(struct rmc_filter *flt, struct rmc_packet *p)
{
	struct rmc_packet copy = *p;
	u32 lines = p->line == RMC_NO_LINE ? 0 : p->lines;

	if (flt->copies > flt->wire.mask || flt->frees < lines ||
	    flt->copy_lines + lines > flt->wire.pay_mask + 1)
		return;
	flt->copies++;
	flt->copy_lines += lines;
	rmc_filter_count(flt, doubled, 1);
	if (flt->lane == RMC_LANE_REP) {
		p->word0 |= RMC_REP_DUPLICATED;
		copy.word0 |= RMC_REP_COPY;
	}
	copy.copy = true;
	copy.due_ns += flt->fault.gap_ns;
	copy.seq = flt->seq++;
	if (lines)
		/* still the head of the wire */
		copy.line = store(flt, lines);
	push(flt, &copy);
}

static void forget_copy(struct rmc_filter *flt, const struct rmc_packet *p)
{
	flt->copies--;
	if (p->line != RMC_NO_LINE)
		flt->copy_lines -= p->lines;
}

/*
 * The first packet passes the switch. Returns false if there is no room for an answer, which
 * overtakes what has been passed on and is held for its arrival.
 */
static bool pass_switch(struct rmc_links *l, struct rmc_filter *flt)
{
	struct rmc_packet p = flt->heap[0];
	enum rmc_switch_verdict verdict = RMC_SWITCH_DROP;
	struct rmc_switch_answer answer;

	if (flt->tx.pay_pos - flt->rx->pay_pos > flt->tx.pay_mask)
		return false;
	pop(flt);
	if (is_lost(flt, &p)) {
		rmc_switch_lost(l->sw, flt->peer);
		verdict = RMC_SWITCH_FORWARD;
	} else if (l->sw) {
		verdict = rmc_switch_arrives(l->sw, flt->peer, &p, p.line == RMC_NO_LINE ?
					     NULL : flt->pool + (size_t)p.line * RMC_LINE, &answer);
	}
	if (verdict != RMC_SWITCH_FORWARD)
		release(flt, &p, false);
	if (verdict == RMC_SWITCH_DROP && !p.copy) {
		/* taken for a duplicate, it is lost: its credit returns all the same */
		lose(flt, &p);
		p.line = RMC_NO_LINE;
		rmc_switch_lost(l->sw, flt->peer);
		verdict = RMC_SWITCH_FORWARD;
	}
	if (verdict == RMC_SWITCH_FORWARD) {
		p.switched = true;
		push(flt, &p);
		return true;
	}
	if (p.copy)
		forget_copy(flt, &p);
	if (verdict == RMC_SWITCH_ANSWER) {
		memcpy(rmc_ring_line(&flt->tx, flt->tx.pay_pos), &answer, sizeof(answer));
		flt->tx.pay_pos++;
		rmc_ring_put(&flt->tx, p.word0 | RMC_REQ_ANSWERED, p.word1);
	}
	return true;
}

/*
 * Busy-waits for a packet that is due before the worker's next visit; else the latencies
 * of short paths would be quantized. Returns the time after the wait. The number of reads
 * is limited because the clocks of tests may stand still.
 */
static u64 wait_until_due(u64 due, u64 now)
{
	u32 n;

	for (n = 0; now < due && due - now <= RMC_VISIT_NS && n < 8; n++)
		now = rmc_os_now_ns();
	return now;
}

/**
 * rmc_filter_pump() - take packets off the wire, and pass on those that are due
 * @l: links of the unit; the caller is the lane's worker
 * @flt: filter of an open channel
 *
 * Context: worker, does not sleep.
 */
void rmc_filter_pump(struct rmc_links *l, struct rmc_filter *flt)
{
	struct rmc_packet batch[RMC_BATCH];
	u64 now = rmc_os_now_ns();
	u32 n, i;

	for (n = 0; n < RMC_BATCH; n++) {
		if (!take(l, flt, now, &batch[n]))
			break;
		if ((flt->lane == RMC_LANE_REP || l->sw) && !is_lost(flt, &batch[n]) &&
		    rmc_fault_chance(flt, flt->fault.dup))
			duplicate(flt, &batch[n]);
		flt->wire.pos++;
		flt->wire.pay_pos += batch[n].lines;
	}
	if (flt->fault.shuffle && !in_order(l, flt))
		rmc_fault_shuffle(flt, batch, n);
	for (i = 0; i < n; i++)
		push(flt, &batch[i]);

	if (flt->held)
		now = wait_until_due(flt->heap[0].due_ns, now);
	while (flt->held) {
		struct rmc_packet *p = &flt->heap[0];

		if (p->due_ns > now || flt->tx.pos - flt->rx->pos > flt->tx.mask)
			break;
		if (before_switch(l, flt, p)) {
			if (!pass_switch(l, flt))
				break;
			continue;
		}
		if (!p->arrived) {
			struct rmc_packet arrived = *p;

			pop(flt);
			arrived.arrived = true;
			if (!is_lost(flt, &arrived))
				rmc_arrivals(l, flt, &arrived);
			push(flt, &arrived);
			continue;
		}
		if (p->line != RMC_NO_LINE &&
		    flt->tx.pay_pos - flt->rx->pay_pos + p->lines > flt->tx.pay_mask + 1)
			break;
		release(flt, p, true);
		if (p->copy)
			forget_copy(flt, p);
		flt->tx.pay_pos += p->lines;
		rmc_ring_put(&flt->tx, p->word0, p->word1);
		pop(flt);
	}
	WRITE_ONCE(flt->stats.held, flt->held);
}

/**
 * rmc_filter_idle() - check whether a filter has no effect
 * @l: links of a unit
 * @flt: filter of one of them
 *
 * Return: true when the filter may be removed.
 */
bool rmc_filter_idle(const struct rmc_links *l, const struct rmc_filter *flt)
{
	return rmc_fault_none(&flt->fault) && !rmc_filter_wanted(l, flt->lane);
}
