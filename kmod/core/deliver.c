// SPDX-License-Identifier: GPL-2.0
/*
 * From a complete message to the core that processes it, and back (T18 sections 5.4, 5.5):
 *
 *   RRPP worker of the slot    dispatcher (RRPP worker of the head)     RGP worker of the core
 *   -----------------------    ------------------------------------     ----------------------
 *   rmc_domain_arrived()
 *     READY ------ relay ----> arrive(), next(): HELD
 *                              rmc_aq_post() --> application --> WQ --> rmc_domain_take()
 *                              done(), next() <------------- relay ------ FREE
 *
 * Where two of the workers are one, a call takes the place of the relay. The thesis' message from
 * the NI that dispatches to that of the core is the store into the arrival queue.
 *
 * A message may wait for a core that polls, rather than wake one that sleeps. Until it is due, or
 * given, the dispatcher's worker comes back to the domain, and does not park.
 *
 * The dispatcher also tells those who wait for a free send slot (struct rmc_room): the RECEIVE that
 * frees it may come to any unit.
 *
 * A relay has room for all that can be in it: a slot that is READY once, and one that is HELD
 * twice, since its core may have room again before it has processed the message:
 * rmc_domain_ready().
 */
#include "node.h"
#include "timeout.h"

/* Sleepers who are told of a free slot at a time */
#define ROOMS	4

static struct rmc_slot *slot_of(struct rmc_dispatch_msg *m)
{
	return (struct rmc_slot *)((u8 *)m - offsetof(struct rmc_slot, msg));
}

/* Worker of the dispatcher */
static struct rmc_ni_worker *dispatcher(const struct rmc_node *unit)
{
	return unit->head->srv_worker;
}

/* The time, which is read once for what a worker does at a time */
static u64 time_of(u64 *now)
{
	if (!*now)
		*now = rmc_os_now_ns();
	return *now;
}

/* From one time to another, which may be of another CPU, and earlier */
static u64 passed(u64 since, u64 now)
{
	return (s64)(now - since) > 0 ? now - since : 0;
}

/* Post a message to a queue; @holder: who may end it */
static void post(struct rmc_domain *d, struct rmc_slot *slot, struct rmc_aq *aq, u32 holder,
		 u64 now)
{
	u32 index = slot - d->slot, set = index / d->p.slots;
	u64 word = (u64)slot->length << RMC_AQ_LEN_SHIFT |
		   (u64)(u8)slot->turn << RMC_AQ_TURN_SHIFT |
		   (u64)(index - set * d->p.slots) << RMC_AQ_SLOT_SHIFT |
		   (u64)(d->p.first_nid + set) << RMC_AQ_NID_SHIFT;

	if (slot->op == RMC_OP_OFFER)
		word |= (u64)RMC_AQ_OFFER << RMC_AQ_KIND_SHIFT;
	if (unlikely(slot->msg.again))
		word |= RMC_AQ_AGAIN;
	rmc_times_add(&d->times->waited, passed(slot->msg.stamp, now));
	slot->given = now;
	slot->ready = false;
	WRITE_ONCE(slot->holder, holder);
	/* pairs with the acquires in held() and claim(), ops/message.c: also of who guesses */
	smp_store_release(&slot->state, RMC_SLOT_HELD);
	WRITE_ONCE(d->dispatched, d->dispatched + 1);
	rmc_aq_post(aq, word, slot->msg.stamp, d->recv, rmc_slot_data(d, index), slot->length);
}

/* Give the message in a slot to a core. */
static void give(struct rmc_domain *d, struct rmc_slot *slot, u32 core, u64 now)
{
	struct rmc_core *c = &d->core[core];

	if (unlikely(c->sleeps)) {
		c->sleeps = false;
		rmc_dispatch_hint(d->dispatch, core, RMC_CORE_POLLS);
	}
	post(d, slot, &c->aq, rmc_core_tag(core, c->generation), now);
}

/* A message is complete: to the dispatcher, or to the queue that all cores take from. */
static void arrive(struct rmc_domain *d, struct rmc_slot *slot, u64 now)
{
	if (likely(!d->shared)) {
		rmc_dispatch_arrive(d->dispatch, &slot->msg, now);
		return;
	}
	slot->msg.stamp = now;
	slot->msg.again = 0;
	post(d, slot, &d->all, RMC_CORE_ANY, now);
}

/* A core has room again beside a message that it keeps; not if it keeps its part of all slots. */
static void keep(struct rmc_domain *d, struct rmc_slot *slot, u32 core)
{
	if (d->core[core].kept < d->keep && rmc_dispatch_ready(d->dispatch, core, &slot->msg))
		d->core[core].kept++;
}

/* A core is done with a message; @now: 0: not measured */
static void done(struct rmc_domain *d, struct rmc_slot *slot, u32 core, u64 now)
{
	if (!rmc_dispatch_done(d->dispatch, core, &slot->msg))
		return;
	if (unlikely(slot->msg.early))
		d->core[core].kept--;
	if (now)
		rmc_times_add(&d->times->served, passed(slot->given, now));
}

/* @what: a slot, or with RMC_RELAY_READY one that its core keeps; @now: 0: not measured */
static void finish(struct rmc_domain *d, u32 what, u64 now)
{
	struct rmc_slot *slot = &d->slot[what & ~RMC_RELAY_READY];
	u32 core = rmc_core_index(slot->holder);

	if (unlikely(d->shared)) {
		if (now && !(what & RMC_RELAY_READY))
			rmc_times_add(&d->times->served, passed(slot->given, now));
		return;
	}
	if (unlikely(what & RMC_RELAY_READY))
		keep(d, slot, core);
	else
		done(d, slot, core, now);
}

/* Send slots that have become free */
static u64 freed(const struct rmc_domain *d)
{
	u64 n = 0;
	u32 i;

	for (i = 0; i < d->units; i++)
		n += READ_ONCE(d->unit[i].stats.freed);
	return n;
}

/* The dispatcher's worker may sleep, or poll other units. */
static void notify(struct rmc_node *unit)
{
	unit->fabric->notify(unit->head, RMC_LANE_REQ);
}

/* A message waits for a core that polls. */
static bool holds(const struct rmc_domain *d)
{
	return d->due != U64_MAX;
}

/*
 * The dispatcher's worker comes back to the domain: always, where others take part, else only while
 * somebody is to be told, or a message is due.
 */
static void watch(struct rmc_domain *d)
{
	struct rmc_domains *domains = &d->head->domains;
	u64 *word = &domains->remote[d->ctx_id / 64], bit = 1ULL << d->ctx_id % 64;
	bool on = d->reporting || holds(d);

	if (!d->remote && !!(*word & bit) != on) {
		*word ^= bit;
		domains->used += on ? 1 : -1;
	}
	/* what brought us here may be of another unit: poll the head */
	if (on)
		notify(d->head);
}

/* Tell some of those for whom a slot has become free: waking one takes time. */
static void report_some(struct rmc_domain *d)
{
	struct rmc_room *r;
	u32 i;

	for (i = 0; i < ROOMS && d->reporting; i++) {
		r = d->reporting;
		d->reporting = r->next;
		r->listed = false;
		r->reported = freed(d);
		rmc_event_happened(&r->event);
	}
	watch(d);
}

/* Tell all who wait for a free slot; who finds none arms again. */
static void report_room(struct rmc_domain *d)
{
	struct rmc_room **end = &d->reporting;

	while (*end)
		end = &(*end)->next;
	*end = d->room;
	WRITE_ONCE(d->room, NULL);
	report_some(d);
}

/*
 * True if other workers have put something into a relay that has to be taken now, or have freed a
 * slot that somebody waits for. What is finished can wait while no message does.
 */
static bool pending(const struct rmc_domain *d)
{
	u32 i;

	if (unlikely(d->reporting) || (unlikely(d->room) && freed(d) != d->freed))
		return true;
	for (i = 0; i < d->units; i++)
		if (!rmc_relay_empty(&d->unit[i].complete) ||
		    (d->waiting && !rmc_relay_empty(&d->unit[i].finished)))
			return true;
	return false;
}

/* Take what other workers have put into relays. Returns how many. */
static u32 collect(struct rmc_domain *d, u64 now)
{
	u32 complete[RMC_MAX_UNITS];
	u32 i, what, head, n = 0;

	if (unlikely(d->room) && freed(d) != d->freed)
		report_room(d);
	else if (unlikely(d->reporting))
		report_some(d);
	/* A slot in it was finished before, and that is in the other relay already. */
	for (i = 0; i < d->units; i++)
		complete[i] = rmc_relay_head(&d->unit[i].complete);
	for (i = 0; i < d->units; i++) {
		head = rmc_relay_head(&d->unit[i].finished);
		for (; rmc_relay_take(&d->unit[i].finished, head, &what); n++)
			finish(d, what, now);
	}
	for (i = 0; i < d->units; i++)
		for (; rmc_relay_take(&d->unit[i].complete, complete[i], &what); n++)
			arrive(d, &d->slot[what], now);
	return n;
}

/* What rmc_dispatch_next() has left for later */
static void hold(struct rmc_domain *d)
{
	u64 due = rmc_dispatch_due(d->dispatch);

	if (likely(due == d->due))
		return;
	d->due = due;
	watch(d);
}

/*
 * Give messages to cores while there are both. Other workers may put into relays as fast as this
 * takes: then it ends, and the worker comes back after its other work. Returns how many.
 */
static u32 dispatch(struct rmc_domain *d, u64 now)
{
	struct rmc_dispatch_msg *m;
	u32 n = 0, rounds = 0;
	int core;

	do {
		while ((core = rmc_dispatch_next(d->dispatch, now, &m)) >= 0) {
			give(d, slot_of(m), core, now);
			n++;
		}
		WRITE_ONCE(d->waiting, rmc_dispatch_waiting(d->dispatch));
		if (unlikely(d->wake_ns))
			hold(d);
		if (likely(!d->waiting || !d->remote))
			return n;
		/* say that one waits, then see what is finished; pairs with rmc_domain_take() */
		smp_mb();
	} while (!rounds++ && collect(d, now));
	if (rounds > 1 && pending(d))
		notify(d->head);
	return n;
}

/**
 * rmc_domain_arrived() - a message is complete
 * @unit: unit; the caller is its RRPP worker
 * @d: domain
 * @index: of its slot, which is READY
 * @now: time, nanoseconds; or 0, and set if it is needed
 *
 * Context: worker, does not sleep.
 */
void rmc_domain_arrived(struct rmc_node *unit, struct rmc_domain *d, u32 index, u64 *now)
{
	int core;

	if (unit->srv_worker != dispatcher(unit)) {
		rmc_relay_put(&rmc_domain_unit(d, unit)->complete, index);
		notify(unit);
		return;
	}
	/* messages of other workers have come since */
	if (d->remote)
		*now = 0;
	time_of(now);
	if (d->remote)
		collect(d, *now);
	if (unlikely(d->shared)) {
		arrive(d, &d->slot[index], *now);
		return;
	}
	core = rmc_dispatch_pass(d->dispatch, &d->slot[index].msg, *now);
	if (likely(core >= 0))
		give(d, &d->slot[index], core, *now);
	else
		dispatch(d, *now);
}

/**
 * rmc_domains_pending() - check whether other workers have put something into a relay, or a
 *	message will be due
 * @unit: unit; the caller is its RRPP worker
 *
 * Context: worker, does not sleep.
 */
bool rmc_domains_pending(const struct rmc_node *unit)
{
	u32 i;

	for (i = 0; unit->domains.used && i < RMC_MAX_CONTEXTS; i++)
		if (unit->domains.remote[i / 64] & 1ULL << i % 64 &&
		    (pending(unit->domains.dom[i]) || holds(unit->domains.dom[i])))
			return true;
	return false;
}

/**
 * rmc_domains_poll() - take what other workers have put into relays, and give what is due
 * @node: unit; the caller is its RRPP worker
 *
 * Return: messages given to cores. Context: worker, does not sleep.
 */
u32 rmc_domains_poll(struct rmc_node *node)
{
	u32 w, n = 0;

	for (w = 0; w < ARRAY_SIZE(node->domains.remote); w++) {
		u64 bits = node->domains.remote[w];

		for (; bits; bits &= bits - 1) {
			struct rmc_domain *d = node->domains.dom[w * 64 + __ffs64(bits)];
			bool more = pending(d);
			u64 now;

			if (!more && likely(!holds(d)))
				continue;
			now = rmc_os_now_ns();
			if (unlikely(!more && now < d->due))
				continue;
			collect(d, now);
			n += dispatch(d, now);
		}
	}
	return n;
}

static u32 slot_index(const struct rmc_domain *d, const struct rmc_wqe *w)
{
	return rmc_domain_set(d, w->nid) * d->p.slots + rmc_slot_number(w->offset);
}

/* The dispatcher is this worker. */
static bool dispatches(const struct rmc_node *unit)
{
	return unit->req_worker == dispatcher(unit);
}

/* The dispatcher learns that a core has room. */
static void report(struct rmc_node *unit, struct rmc_domain *d, u32 what, u64 *now)
{
	if (dispatches(unit))
		finish(d, what, d->finished++ % RMC_TIMES_SAMPLE ? 0 : time_of(now));
	else
		rmc_relay_put(&rmc_domain_unit(d, unit)->finished, what);
}

/* Then it gives the core a message, if one waits. */
static void give_more(struct rmc_node *unit, struct rmc_domain *d, u64 *now)
{
	if (dispatches(unit)) {
		if (d->waiting)
			dispatch(d, time_of(now));
		return;
	}
	/* put, then see whether a message waits; pairs with the barrier in dispatch() */
	smp_mb();
	if (READ_ONCE(d->waiting))
		notify(unit);
}

/**
 * rmc_domain_take() - the RGP has taken a valid RECEIVE: the slot is free for the next message
 * @qp: queue pair, a core of the domain; the caller is its RGP worker
 * @w: the entry
 * @now: time, nanoseconds; or 0, and set if it is needed
 *
 * Called once, also if the packet is sent several times.
 *
 * Context: worker, does not sleep.
 */
void rmc_domain_take(struct rmc_qpair *qp, const struct rmc_wqe *w, u64 *now)
{
	struct rmc_domain *d = qp->domain;
	u32 index = slot_index(d, w);

	report(qp->node, d, index, now);
	/*
	 * Pairs with the acquires in rmc_domain_store() and _put(): the message was read; and
	 * whoever sees the slot free finds it in the relay.
	 */
	smp_store_release(&d->slot[index].state, RMC_SLOT_FREE);
	give_more(qp->node, d, now);
}

/**
 * rmc_domain_ready() - the RGP has taken a valid READY: the core has room, and keeps the message
 * @qp: queue pair, a core of the domain; the caller is its RGP worker
 * @w: the entry; the first READY of this core for this message
 *
 * Context: worker, does not sleep.
 */
void rmc_domain_ready(struct rmc_qpair *qp, const struct rmc_wqe *w)
{
	struct rmc_domain *d = qp->domain;
	u32 index = slot_index(d, w);
	u64 now = 0;

	d->slot[index].ready = true;
	report(qp->node, d, index | RMC_RELAY_READY, &now);
	give_more(qp->node, d, &now);
}

/**
 * rmc_domain_freed() - a send slot has become free, and was counted
 * @unit: unit; the caller is its RRPP worker
 * @d: domain
 *
 * Context: worker, does not sleep.
 */
void rmc_domain_freed(struct rmc_node *unit, struct rmc_domain *d)
{
	if (unit->srv_worker == dispatcher(unit)) {
		if (unlikely(d->room))
			report_room(d);
		return;
	}
	/* free it, then see whether somebody waits; pairs with the barrier in rmc_room_add() */
	smp_mb();
	if (unlikely(READ_ONCE(d->room)))
		notify(unit);
}

/**
 * rmc_room_init() - a queue pair is attached
 * @d: domain
 * @r: of the queue pair, in no list
 *
 * Context: any; the dispatcher does not have @r.
 */
void rmc_room_init(const struct rmc_domain *d, struct rmc_room *r)
{
	r->seen = freed(d);
}

/**
 * rmc_room_add() - count the next send slot that becomes free as an event
 * @d: domain; the caller is its dispatcher's worker
 * @r: of a queue pair that is attached; it may have been added before
 *
 * It is removed when a slot becomes free.
 *
 * Return: the event's count: to be armed with. Context: worker, does not sleep.
 */
u32 rmc_room_add(struct rmc_domain *d, struct rmc_room *r)
{
	if (r->listed)
		return r->event.count;
	r->listed = true;
	r->next = d->room;
	if (!r->next)
		d->freed = freed(d);
	WRITE_ONCE(d->room, r);
	/* wait, then look for a free slot, as the caller does; pairs with rmc_domain_freed() */
	smp_mb();
	return r->event.count;
}

/**
 * rmc_room_missed() - check whether a slot has become free of which the thread was not told
 * @d: domain; the caller is its dispatcher's worker
 * @r: after rmc_room_add()
 *
 * For who looked for a free slot before rmc_room_add(). An event counts for nothing here: the
 * command that had armed it may have been cancelled, or ended by another event.
 *
 * Return: true: tell it now, and call rmc_room_told(). Context: worker, does not sleep.
 */
bool rmc_room_missed(const struct rmc_domain *d, struct rmc_room *r)
{
	r->reported = freed(d);
	return r->reported != r->seen;
}

/**
 * rmc_room_told() - the thread is told of the last event, or of what it missed
 * @r: of a queue pair
 *
 * Context: the dispatcher's worker, does not sleep.
 */
void rmc_room_told(struct rmc_room *r)
{
	r->seen = r->reported;
}

static void remove(struct rmc_room **at, const struct rmc_room *r)
{
	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		WRITE_ONCE(*at, r->next);
}

/**
 * rmc_room_del() - mirror of rmc_room_add()
 * @d: domain; the caller is its dispatcher's worker
 * @r: not accessed after the call; it may have been removed before
 *
 * Context: worker, does not sleep.
 */
void rmc_room_del(struct rmc_domain *d, struct rmc_room *r)
{
	if (!r->listed)
		return;
	remove(&d->room, r);
	remove(&d->reporting, r);
	watch(d);
	r->listed = false;
}

/**
 * rmc_domain_leave() - a queue pair leaves its domain
 * @qp: queue pair; the caller is its RGP worker
 *
 * Its operations on slots end with RMC_S_ABORTED: none of their packets is sent any more, so none
 * can be taken for one of the next life. Then rmc_core_del(), if it was a core.
 *
 * Context: worker, does not sleep.
 */
void rmc_domain_leave(struct rmc_qpair *qp)
{
	struct rmc_abort all = { .qp = qp, .nid = -1, .status = RMC_S_ABORTED, .slots = true };

	rmc_itt_abort(qp->node, &all);
	qp->domain = NULL;
	qp->core = RMC_CORE_NONE;
	qp->member = 0;
}

/* The number of a core that takes its messages itself */
static int take_number(struct rmc_domain *d)
{
	u32 i;

	for (i = 0; i < d->cores_max; i++) {
		if (d->core[i].used)
			continue;
		d->core[i].used = true;
		return i;
	}
	return -ENOSPC;
}

/**
 * rmc_core_add() - let a queue pair receive messages
 * @d: domain; the caller is its dispatcher's worker
 * @entry: memory of the arrival queue, zeros; at least as many entries as the depth; with
 *	RMC_DOM_SHARED unused
 * @order: log2 of the entries
 * @group: see rmc_dispatch_attach()
 * @classes: likewise
 * @tag: out, for rmc_qpair.core
 *
 * Then set rmc_qpair.domain and .core on the worker of its RGP: until then it can end no message.
 *
 * Return: the core, or a negative errno. Context: worker, does not sleep.
 */
int rmc_core_add(struct rmc_domain *d, struct rmc_aq_entry *entry, u8 order, u32 group,
		 u32 classes, u32 *tag)
{
	int core = d->shared ? take_number(d) : rmc_dispatch_attach(d->dispatch, group, classes);
	struct rmc_core *c;

	if (core < 0)
		return core;
	c = &d->core[core];
	c->aq.entry = entry;
	c->aq.order = order;
	c->aq.given.count = 0;
	c->aq.given.armed = false;
	c->sleeps = false;
	c->kept = 0;
	/* a tag is neither RMC_CORE_NONE nor RMC_CORE_ANY: those have all ones above the index */
	c->generation = c->generation % RMC_CORE_GENERATIONS + 1;
	*tag = rmc_core_tag(core, c->generation);
	dispatch(d, rmc_os_now_ns());
	return core;
}

/**
 * rmc_core_thread() - say which thread receives a core's messages
 * @d: domain; the caller is its dispatcher's worker
 * @core: index
 * @thread: see rmc_dispatch_thread()
 *
 * Context: worker, does not sleep.
 */
void rmc_core_thread(struct rmc_domain *d, u32 core, const void *thread)
{
	if (!d->shared)
		rmc_dispatch_thread(d->dispatch, core, thread);
}

/**
 * rmc_core_sleeps() - a core's thread is about to sleep, until its next message
 * @d: domain; the caller is its dispatcher's worker
 * @core: index
 *
 * Others that have as few messages come first. Then arm its event: a message that it gets in
 * between is reported by that.
 *
 * Context: worker, does not sleep.
 */
void rmc_core_sleeps(struct rmc_domain *d, u32 core)
{
	if (!d->shared && rmc_dispatch_hint(d->dispatch, core, RMC_CORE_SLEEPS))
		d->core[core].sleeps = true;
}

/**
 * rmc_core_del() - mirror of rmc_core_add()
 * @d: domain; the caller is its dispatcher's worker
 * @core: index
 * @requeue: give the messages that it holds to others, before all that wait; or else drop them:
 *	their senders learn from a JOIN that the slots are free. With RMC_DOM_SHARED nobody knows
 *	which it has: others may end them
 *
 * After rmc_domain_leave(), so the RGP takes no further RECEIVE.
 *
 * Context: worker, does not sleep.
 */
void rmc_core_del(struct rmc_domain *d, u32 core, bool requeue)
{
	u64 now = rmc_os_now_ns();
	struct rmc_dispatch_msg *m = NULL;

	/* not what it has finished */
	collect(d, now);
	if (d->shared) {
		d->core[core].used = false;
		return;
	}
	if (!rmc_dispatch_detach(d->dispatch, core, requeue ? NULL : &m))
		d->core[core].aq.entry = NULL;
	for (; !requeue && m; m = m->next) {
		/* the core reads it no more; pairs with rmc_domain_store() and _put() */
		smp_store_release(&slot_of(m)->state, RMC_SLOT_FREE);
	}
	dispatch(d, now);
}
