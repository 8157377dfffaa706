// SPDX-License-Identifier: GPL-2.0
/* Messaging domains: set-up, slots, and what an RRPP does with their packets (T18 section 5.6). */
#include "node.h"
#include "part.h"

/* Index in d->ring_life of the ring that a request came in */
static u32 ring_index(const struct rmc_domain *d, const struct rmc_serve *s)
{
	return s->from << d->rrpp_order | rmc_slot_home(s->req.offset, d->rrpp_order);
}

static bool valid(const struct rmc_domain_params *p, const struct rmc_fabric *f)
{
	return p->nodes && p->nodes <= f->nodes && p->first_nid <= f->nodes - p->nodes &&
	       p->slots && p->slots <= RMC_MAX_SLOTS && p->max_message &&
	       p->max_message <= RMC_MAX_MESSAGE && p->max_answer <= RMC_MAX_ANSWER;
}

/**
 * rmc_domain_args() - what RMC_IOC_DOM_CREATE asks for, as rmc_domain_init() takes it
 * @c: any values
 * @p: out, not validated
 * @dp: out, not validated
 *
 * Return: 0, -EINVAL. Context: any.
 */
int rmc_domain_args(const struct rmc_dom_create *c, struct rmc_domain_params *p,
		    struct rmc_dispatch_params *dp)
{
	*p = (struct rmc_domain_params){
		.first_nid = c->first_nid,
		.nodes = c->nodes,
		.slots = c->slots,
		.max_message = c->max_message,
		.max_answer = c->max_answer,
	};
	*dp = (struct rmc_dispatch_params){
		.policy = c->policy,
		.depth = c->depth,
		.cores = c->cores,
		.groups = c->groups,
		.classes = c->classes ?: 1,
		.seed = 1,
		.age_ns = c->age_us * 1000ULL,
		.wake_ns = c->wake_us * 1000ULL,
	};
	if (!rmc_members_valid(c))
		return -EINVAL;
	if (c->age_us && c->policy != RMC_DOM_CLASS && c->policy != RMC_DOM_STEAL)
		return -EINVAL;
	if (c->wake_us > RMC_DOMAIN_WAKE_US_MAX || (c->wake_us && !rmc_dispatch_holds(c->policy)))
		return -EINVAL;
	if (c->groups != 1 && !rmc_dispatch_has_groups(c->policy))
		return -EINVAL;
	if (c->flags & RMC_DOM_KEY ? (u64)c->key_offset + sizeof(u64) > c->max_message :
				     c->key_offset)
		return -EINVAL;
	if (c->policy == RMC_DOM_CLASS ? !c->classes || !(c->flags & RMC_DOM_KEY) : c->classes)
		return -EINVAL;
	return 0;
}

/**
 * rmc_domain_queue_order() - entries of the arrival queue of all cores: one for each slot at least
 * @p: valid parameters
 *
 * Return: log2 of their number. Context: any.
 */
u32 rmc_domain_queue_order(const struct rmc_domain_params *p)
{
	u32 order = 1;

	while (1ULL << order < (u64)p->nodes * p->slots)
		order++;
	return order;
}

/**
 * rmc_domain_bytes() - memory of a domain, for quotas
 * @p: parameters, any values
 * @f: fabric
 *
 * Return: bytes of slots, and of what rmc_domain_init() takes for each; 0: invalid parameters.
 * Context: any.
 */
u64 rmc_domain_bytes(const struct rmc_domain_params *p, const struct rmc_fabric *f)
{
	u64 words;

	if (!valid(p, f))
		return 0;
	words = (rmc_packets(f->mtu, 0, p->max_message) + 63) / 64;
	return (u64)p->nodes * p->slots *
	       (RMC_LINE * (1 + rmc_lines(0, p->max_message)) + sizeof(struct rmc_send_slot) +
		sizeof(struct rmc_slot) + words * sizeof(u64) +
		6 * sizeof(u32) * rmc_fabric_units(f) + rmc_answer_bytes(p, f));
}

/**
 * rmc_domain_init() - allocate what a domain needs in the kernel
 * @d: domain, zeroed
 * @head: first unit of the node
 * @ctx_id: context, less than RMC_MAX_CONTEXTS
 * @life: differs from that of every earlier domain of the context on this node; not 0
 * @p: parameters, any values
 * @dispatch: parameters of the dispatcher, any values
 *
 * The caller then sets @d->recv, @d->send and, with @p->max_answer, @d->answers; with
 * RMC_DOM_SHARED @d->all.mem. Memory is charged to the memory cgroup of the caller.
 *
 * Return: 0, -EINVAL, -ENOMEM; with an error nothing is left to destroy. Context: may sleep.
 */
int rmc_domain_init(struct rmc_domain *d, struct rmc_node *head, u16 ctx_id, u32 life,
		    const struct rmc_domain_params *p, const struct rmc_dispatch_params *dispatch)
{
	const struct rmc_fabric *f = head->fabric;
	size_t slots, lives;
	void *mem;
	u32 i;

	if (!valid(p, f) || !life || rmc_dispatch_check(dispatch))
		return -EINVAL;
	d->head = head;
	d->p = *p;
	d->ctx_id = ctx_id;
	d->life = life;
	d->packets_max = rmc_packets(f->mtu, 0, p->max_message);
	d->words = (d->packets_max + 63) / 64;
	d->stride = RMC_LINE * (1 + rmc_lines(0, p->max_message));
	d->rrpp_order = f->rrpp_order;
	d->classes = dispatch->policy == RMC_DISPATCH_CLASS;
	d->shared = dispatch->policy == RMC_DISPATCH_SHARED;
	d->all.order = rmc_domain_queue_order(p);
	d->cores_max = dispatch->cores;
	d->keep = U32_MAX;
	d->wake_ns = dispatch->wake_ns;
	d->due = U64_MAX;
	slots = (size_t)p->nodes * p->slots;
	lives = (size_t)p->nodes << f->rrpp_order;
	d->slot = rmc_os_zalloc_user(slots * sizeof(*d->slot));
	d->seen = rmc_os_zalloc_user(slots * d->words * sizeof(*d->seen));
	d->peer_life = rmc_os_zalloc_user(lives * sizeof(*d->peer_life));
	d->ring_life = rmc_os_zalloc_user(((size_t)f->endpoints << f->rrpp_order) *
					  sizeof(*d->ring_life));
	d->walked_ms = rmc_os_zalloc_user(lives * sizeof(*d->walked_ms));
	d->touched = rmc_os_zalloc_user(lives);
	d->unit = rmc_os_zalloc_user(rmc_fabric_units(f) * sizeof(*d->unit));
	d->core = rmc_os_zalloc_user(dispatch->cores * sizeof(*d->core));
	d->times = rmc_os_zalloc_user(sizeof(*d->times));
	mem = rmc_os_zalloc_user(rmc_dispatch_bytes(dispatch));
	if (mem)
		d->dispatch = rmc_dispatch_init(mem, dispatch);
	if (!rmc_answers_init(d) || !d->slot || !d->seen || !d->peer_life || !d->ring_life ||
	    !d->walked_ms || !d->touched || !d->unit || !d->core || !d->times || !mem)
		goto no_memory;
	d->units = rmc_fabric_units(f);
	for (i = 0; i < d->units; i++) {
		if (rmc_relay_init(&d->unit[i].finished, 2 * slots) ||
		    rmc_relay_init(&d->unit[i].complete, slots))
			goto no_memory;
		d->remote |= head->unit[i]->srv_worker != head->srv_worker ||
			     head->unit[i]->req_worker != head->srv_worker;
	}
	return 0;

no_memory:
	rmc_domain_destroy(d);
	return -ENOMEM;
}

/**
 * rmc_domain_destroy() - free what rmc_domain_init() took
 * @d: domain that no unit has
 *
 * Context: may sleep.
 */
void rmc_domain_destroy(struct rmc_domain *d)
{
	u32 i;

	for (i = 0; i < d->units; i++) {
		rmc_relay_destroy(&d->unit[i].complete);
		rmc_relay_destroy(&d->unit[i].finished);
	}
	rmc_os_free(d->part);
	rmc_os_free(d->dispatch);
	rmc_os_free(d->times);
	rmc_os_free(d->core);
	rmc_os_free(d->unit);
	rmc_os_free(d->touched);
	rmc_os_free(d->walked_ms);
	rmc_os_free(d->ring_life);
	rmc_os_free(d->peer_life);
	rmc_os_free(d->seen);
	rmc_os_free(d->slot);
	rmc_answers_destroy(d);
	memset(d, 0, sizeof(*d));
}

/**
 * rmc_domain_add() - let a unit serve the packets of a domain
 * @unit: unit; the caller is its RRPP worker
 * @d: domain of a context that has none on this unit
 *
 * The head first: it empties the relays of the others.
 *
 * Context: worker, does not sleep.
 */
void rmc_domain_add(struct rmc_node *unit, struct rmc_domain *d)
{
	unit->domains.dom[d->ctx_id] = d;
	if (d->remote && unit == unit->head) {
		unit->domains.remote[d->ctx_id / 64] |= 1ULL << d->ctx_id % 64;
		unit->domains.used++;
	}
}

/**
 * rmc_domain_del() - mirror of rmc_domain_add()
 * @unit: unit; the caller is its RRPP worker
 * @d: domain; not accessed for packets after the call
 *
 * Context: worker, does not sleep.
 */
void rmc_domain_del(struct rmc_node *unit, struct rmc_domain *d)
{
	u64 *word = &unit->domains.remote[d->ctx_id / 64], bit = 1ULL << d->ctx_id % 64;

	if (*word & bit) {
		unit->domains.used--;
		*word &= ~bit;
	}
	unit->domains.dom[d->ctx_id] = NULL;
}

/**
 * rmc_domain_report() - counters and times
 * @d: domain, whose workers go on
 * @s: out, but for its size and cores; zeroed
 *
 * Context: any.
 */
void rmc_domain_report(const struct rmc_domain *d, struct rmc_dom_stats *s)
{
	static const u32 per_mille[] = { 500, 990, 999 };
	u32 i;

	for (i = 0; i < d->units; i++) {
		const struct rmc_domain_stats *unit = &d->unit[i].stats;

#define X(name, ...) s->name += READ_ONCE(unit->name);
		RMC_DOMAIN_STATS(X)
#undef X
	}
	s->dispatched = READ_ONCE(d->dispatched);
	s->waiting = READ_ONCE(d->waiting);
	for (i = 0; i < ARRAY_SIZE(per_mille); i++) {
		s->waited_ns[i] = rmc_times_below(&d->times->waited, per_mille[i]);
		s->served_ns[i] = rmc_times_below(&d->times->served, per_mille[i]);
	}
}

/* The dispatcher's key of a message that is complete, of the source @set */
static u32 key_of(const struct rmc_domain *d, u32 set, u32 index)
{
	u64 key;

	if (likely(!d->keyed))
		return rmc_dispatch_hash(d->p.first_nid + set);
	if (d->slot[index].length < d->key_offset + sizeof(key))
		return d->classes ? U32_MAX : rmc_dispatch_hash(d->p.first_nid + set);
	rmc_mem_get(d->recv, rmc_slot_data(d, index) + d->key_offset, (u8 *)&key, sizeof(key));
	return d->classes ? min_t(u64, key, U32_MAX) : rmc_dispatch_hash(key);
}

/* All of a message is in its slot, which the source @set filled: to the dispatcher */
static void filled(struct rmc_node *node, struct rmc_domain *d, u32 set, u32 index, u64 *now)
{
	struct rmc_slot *slot = &d->slot[index];

	WRITE_ONCE(slot->turn, slot->turn + 1);
	WRITE_ONCE(slot->state, RMC_SLOT_READY);
	rmc_domain_count(rmc_domain_unit(d, node), messages);
	slot->msg.key = key_of(d, set, index);
	rmc_domain_arrived(node, d, index, now);
}

/* True if the packet came before; else its bit is set. A message of one packet has no bits. */
static bool seen_before(const struct rmc_domain *d, u32 index, u32 packet, u32 total)
{
	u64 *seen, bit = 1ULL << packet % 64;

	if (likely(total == 1))
		return false;
	seen = d->seen + (size_t)index * d->words + packet / 64;
	if (unlikely(*seen & bit))
		return true;
	*seen |= bit;
	return false;
}

/**
 * rmc_domain_store() - serve a packet of a message
 * @s: request, of RMC_OP_SEND or RMC_OP_OFFER, whose slot exists and is at home here
 * @d: domain
 * @set: number of the source in it
 *
 * A packet of an earlier message, or one that came before, has no effect: it was sent again, or it
 * is a duplicate.
 *
 * Return: RMC_S_OK; RMC_S_DOMAIN_MISMATCH: the source has not joined; RMC_S_BAD_SLOT: not the
 * next message of the slot; RMC_S_SLOT_BUSY: the message before is still in it;
 * RMC_S_PROTOCOL. Context: RRPP worker, does not sleep.
 */
u8 rmc_domain_store(struct rmc_serve *s, struct rmc_domain *d, u32 set)
{
	const u32 mtu = s->node->fabric->mtu;
	const u64 offset = s->req.offset;
	const u32 byte = rmc_slot_byte(offset), length = s->req.length;
	const u32 total = rmc_packets_of(s->req.ctx_id, s->word1);
	const u32 index = rmc_slot_index(d, set, offset);
	const u32 life = d->peer_life[rmc_life_index(d, set, offset)];
	struct rmc_domain_unit *unit = rmc_domain_unit(d, s->node);
	struct rmc_slot *slot = &d->slot[index];
	u32 packet = byte ? rmc_os_div(byte, mtu) : 0;
	bool last = s->word1 & RMC_REQ_LAST;
	u32 state;
	s8 ahead;

	/* in a ring that has not heard of this life, packets of an earlier one may wait */
	if (unlikely(!life || d->ring_life[ring_index(d, s)] != life))
		return RMC_S_DOMAIN_MISMATCH;
	/* cut as rmc_packet_length() does; @total may be anything */
	if (unlikely(packet * mtu != byte || total > d->packets_max || packet >= total ||
		     last != (packet == total - 1) || (!last && length != mtu) ||
		     byte + length > d->p.max_message))
		return RMC_S_PROTOCOL;
	ahead = rmc_slot_turn(offset) - (u8)slot->turn;
	/*
	 * Delivered before: the reply was lost. The RECEIVE may have freed the slot meanwhile,
	 * and later messages may have used it.
	 */
	if (unlikely(ahead <= 0 && slot->turn >= (u32)-ahead + 1)) {
		rmc_domain_count(unit, repeated);
		return RMC_S_OK;
	}
	if (unlikely(ahead != 1))
		return RMC_S_BAD_SLOT;
	/* pairs with the release in rmc_domain_take(): the receiver has read the message */
	state = smp_load_acquire(&slot->state);
	if (state == RMC_SLOT_FREE) {
		if (unlikely(total != 1))
			memset(d->seen + (size_t)index * d->words, 0,
			       (total + 63) / 64 * sizeof(*d->seen));
		slot->total = total;
		slot->got = 0;
		slot->op = s->req.op;
		WRITE_ONCE(slot->state, RMC_SLOT_FILLING);
		d->touched[rmc_life_index(d, set, offset)] = true;
	} else if (unlikely(state != RMC_SLOT_FILLING)) {
		return RMC_S_SLOT_BUSY;
	} else if (unlikely(total != slot->total || s->req.op != slot->op)) {
		return RMC_S_PROTOCOL;
	}
	if (unlikely(seen_before(d, index, packet, total))) {
		rmc_domain_count(unit, repeated);
		return RMC_S_OK;
	}
	rmc_serve_copy(s, d->recv, rmc_slot_data(d, index) + byte, length);
	rmc_domain_count(unit, packets);
	if (last)
		slot->length = byte + length;
	if (likely(++slot->got == total))
		filled(s->node, d, set, index, &s->now);
	return RMC_S_OK;
}

/* Copy a message to its slot, where nobody reads. */
static void copy(const struct rmc_domain *d, u64 to, const struct rmc_mem *from, u64 at, u32 length)
{
	u64 run;
	u8 *dst;

	for (;;) {
		dst = rmc_mem_at(d->recv, to, &run);
		if (likely(length <= run))
			break;
		rmc_mem_get(from, at, dst, run);
		to += run;
		at += run;
		length -= run;
	}
	rmc_mem_get(from, at, dst, length);
}

/**
 * rmc_domain_put() - store a whole message, without packets
 * @unit: unit of the slot; the caller is its RRPP worker, and the RGP worker of the source
 * @d: domain
 * @set: number of the source in it
 * @w: SEND or OFFER, which is valid for the source's domain; the slot exists in @d
 * @from: its local buffer
 * @now: time, nanoseconds; or 0, and set if it is needed
 *
 * Return: the packets that it would have had; 0: nothing has changed: rmc_domain_store() has to
 * decide about it. Context: RRPP worker, does not sleep.
 */
u32 rmc_domain_put(struct rmc_node *unit, struct rmc_domain *d, u32 set, const struct rmc_wqe *w,
		   const struct rmc_mem *from, u64 *now)
{
	const u32 index = rmc_slot_index(d, set, w->offset), life = d->peer_life[set];
	const u32 from_ep = rmc_endpoint(unit->fabric, d->p.first_nid + set);
	const u32 packets = rmc_packets(unit->fabric->mtu, 0, w->length);
	struct rmc_domain_unit *part = rmc_domain_unit(d, unit);
	struct rmc_slot *slot = &d->slot[index];

	/* one unit, so one life of each source; it sends to nodes of its kernel, in one ring */
	if (unlikely(!life || d->ring_life[from_ep] != life || w->length > d->p.max_message))
		return 0;
	if (unlikely(rmc_slot_turn(w->offset) != (u8)(slot->turn + 1)))
		return 0;
	/* pairs with the release in rmc_domain_take(): the receiver has read the message */
	if (unlikely(smp_load_acquire(&slot->state) != RMC_SLOT_FREE))
		return 0;
	slot->total = packets;
	slot->got = packets;
	slot->op = w->op;
	slot->length = w->length;
	d->touched[set] = true;
	copy(d, rmc_slot_data(d, index), from, w->lbuf - from->base, w->length);
	WRITE_ONCE(part->stats.packets, part->stats.packets + packets);
	filled(unit, d, set, index, now);
	return packets;
}

/**
 * rmc_domain_free() - serve a RECEIVE: free the send slot of a message that was processed
 * @s: request, whose slot exists and is at home here
 * @d: domain
 * @set: number of the source in it
 *
 * One of another message, or of an earlier life of either domain, has no effect; nor one whose slot
 * the application changes at that time.
 *
 * Return: RMC_S_OK. Context: RRPP worker, does not sleep.
 */
u8 rmc_domain_free(struct rmc_serve *s, struct rmc_domain *d, u32 set)
{
	const u64 offset = s->req.offset;
	const u32 index = rmc_slot_index(d, set, offset);
	struct rmc_domain_unit *unit = rmc_domain_unit(d, s->node);
	union rmc_send_word was, now;
	u64 *word;

	word = rmc_part_word(d, set, index);
	/* pairs with the release of whoever claims the slot: a slot in use has its turn */
	was.word = likely(word) ? smp_load_acquire(word) : 0;
	now = was;
	now.valid = 0;
	/*
	 * At once: an application that freed the slot itself, since it was in doubt, may claim it
	 * for the next message meanwhile. Pairs with the acquire of whoever claims the slot: what
	 * it held may be changed.
	 */
	if (rmc_slot_byte(offset) !=
	    rmc_slot_lives(d->life, d->peer_life[rmc_life_index(d, set, offset)]) ||
	    was.valid != RMC_SEND_USED || (u8)was.turn != rmc_slot_turn(offset) ||
	    rmc_packets_of(s->req.ctx_id, s->word1) != rmc_turn_high(was.turn) ||
	    rmc_os_cas64(word, was.word, now.word) != was.word) {
		rmc_domain_count(unit, repeated);
		return RMC_S_OK;
	}
	rmc_domain_count(unit, freed);
	rmc_domain_freed(s->node, d);
	return RMC_S_OK;
}

/* True if messages of the source are in these slots, complete and not finished. */
static bool occupied(const struct rmc_domain *d, u32 set, u32 home)
{
	u32 i;

	for (i = home; i < d->p.slots; i += 1U << d->rrpp_order) {
		/* pairs with the release in rmc_domain_take() */
		u32 state = smp_load_acquire(&rmc_domain_slot(d, set, i)->state);

		if (state == RMC_SLOT_READY || state == RMC_SLOT_HELD)
			return true;
	}
	return false;
}

/* A new life of the source: its slots are as those of a new domain. */
static void reset_slots(struct rmc_domain *d, u32 set, u32 home)
{
	u32 i;

	for (i = home; i < d->p.slots; i += 1U << d->rrpp_order) {
		struct rmc_slot *slot = rmc_domain_slot(d, set, i);

		WRITE_ONCE(slot->state, RMC_SLOT_FREE);
		WRITE_ONCE(slot->turn, 0);
	}
}

/*
 * Begin a new life. Slots are walked only if the source has used one since it began the last one,
 * and once per millisecond: a peer can ask for as many lives as it likes.
 */
static u8 begin_life(struct rmc_serve *s, struct rmc_domain *d, u32 set, u32 index, u32 life)
{
	const u32 home = rmc_slot_home(s->req.offset, d->rrpp_order);

	if (d->touched[index]) {
		if (d->walked_ms[index] == s->node->srv_ms)
			return RMC_S_SLOT_BUSY;
		d->walked_ms[index] = s->node->srv_ms;
		if (occupied(d, set, home))
			return RMC_S_SLOT_BUSY;
		reset_slots(d, set, home);
		d->touched[index] = false;
	}
	WRITE_ONCE(d->peer_life[index], life);
	return RMC_S_OK;
}

/**
 * rmc_domain_join() - serve a JOIN: compare parameters, begin a new life of the source
 * @s: request, whose slot exists and is at home here; out: life of @d, state of the slot
 * @d: domain
 * @set: number of the source in it
 *
 * With the life that is known already nothing changes: it says whether the destination lives, and
 * what became of a message whose SEND or RECEIVE is in doubt. A new life begins with turn 1 in
 * each slot, and not before all messages of the old one are finished: the application may still
 * read them. Packets of the old life may wait in the rings of other units of the source. So each
 * of them joins, and a SEND is served only in a ring in which the life has joined.
 *
 * Return: RMC_S_OK, RMC_S_DOMAIN_MISMATCH, RMC_S_SLOT_BUSY: try again; RMC_S_PROTOCOL.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_domain_join(struct rmc_serve *s, struct rmc_domain *d, u32 set)
{
	const struct rmc_join *from = (const struct rmc_join *)rmc_ring_line(s->rx, s->rx_pay);
	const u32 index = rmc_life_index(d, set, s->req.offset);
	const u32 life = READ_ONCE(from->life);
	struct rmc_slot *slot;
	u8 status;

	if (!life)
		return RMC_S_PROTOCOL;
	if (READ_ONCE(from->p.first_nid) != d->p.first_nid ||
	    READ_ONCE(from->p.nodes) != d->p.nodes || READ_ONCE(from->p.slots) != d->p.slots ||
	    READ_ONCE(from->p.max_message) != d->p.max_message ||
	    READ_ONCE(from->p.max_answer) != d->p.max_answer)
		return RMC_S_DOMAIN_MISMATCH;
	if (life != d->peer_life[index]) {
		status = begin_life(s, d, set, index, life);
		if (status)
			return status;
	}
	d->ring_life[ring_index(d, s)] = life;
	slot = &d->slot[rmc_slot_index(d, set, s->req.offset)];
	if (unlikely(rmc_slot_byte(s->req.offset) == RMC_JOIN_SKIP))
		rmc_slot_skip(d, set, slot, s->req.offset);
	s->word1 = d->life | rmc_join_turn(slot->turn);
	/* pairs with the release in rmc_domain_take() */
	if (smp_load_acquire(&slot->state) == RMC_SLOT_FREE)
		s->word1 |= RMC_JOIN_FREE;
	return RMC_S_OK;
}

/**
 * rmc_domains_init() - a unit has no domain yet
 * @node: unit
 *
 * Return: 0, -ENOMEM. Context: may sleep.
 */
int rmc_domains_init(struct rmc_node *node)
{
	/* nothing ends by time */
	node->domains.stall_ms = U32_MAX;
	/* apart: what each visit reads of a node is not to be spread over more lines */
	node->domains.dom = rmc_os_zalloc(RMC_MAX_CONTEXTS * sizeof(*node->domains.dom));
	return node->domains.dom ? 0 : -ENOMEM;
}

/**
 * rmc_domains_destroy() - a unit is freed; its domains belong to who created them
 * @node: unit
 */
void rmc_domains_destroy(struct rmc_node *node)
{
	rmc_os_free(node->domains.dom);
	node->domains.dom = NULL;
}

/**
 * rmc_domains_tick() - nothing ends by time
 * @node: unit
 */
void rmc_domains_tick(struct rmc_node *node)
{
}

/**
 * rmc_domains_withdraw() - messages are in no segment
 * @node: unit
 * @seg: segment
 */
void rmc_domains_withdraw(struct rmc_node *node, const struct rmc_mem *seg)
{
}

/**
 * rmc_domains_close() - nothing depends on a channel
 * @node: unit
 * @in: channel that closes
 *
 * A message of which packets are missing may be continued by the same life of the source, and is
 * forgotten with the next one.
 */
void rmc_domains_close(struct rmc_node *node, struct rmc_in *in)
{
}
