// SPDX-License-Identifier: GPL-2.0
/*
 * Loopback: all nodes are in this kernel, and the fabric's memory is kernel memory.
 *
 * A channel is allocated on first use. The requesting worker must not sleep: it marks the
 * channel as wanted, a work item allocates it, and the worker finds it when it asks again.
 *
 * All channels together take channel_mib at most. The work item frees unused channels: those
 * of requesters without queue pairs periodically, others when a wanted channel has no room.
 * If no channel can be freed, the request is refused. Both ends of a channel have to be
 * closed before it is freed (rmc_port.retire, run/retire.c):
 *
 *   work item                requester's RGP worker       server's RRPP worker
 *   ---------                ----------------------       --------------------
 *   retire() ----- call -->  may_retire()? nothing in flight?
 *                            close the end, is_closed() marks
 *                            the channel as CLOSING: a worker
 *                            that asks for it has to wait
 *      --------- call --------------------------------->  close the end
 *   free it, entry = 0
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include "transport.h"

/* Entry of a channel that a worker asked for, and of one that was refused */
#define WANTED		1UL
#define REFUSED		2UL
/* With an address: its ends are being closed */
#define CLOSING		4UL
/* With an address: not used yet; not used yet, and spared once by may_retire() */
#define FRESH		8UL
#define AGED		16UL

/* Interval between searches for channels of requesters without queue pairs */
#define LINGER		(5 * HZ)
/* After a refusal no worker is asked to close channels for this time: such calls cost */
#define REFUSAL_MS	10

/**
 * struct loopback - the port and its memory
 * @port: port
 * @cfg: configuration
 * @channel: [requester * endpoints + server]: 0, WANTED, REFUSED, or address | flags
 * @wanted: requesters with a WANTED channel
 * @work: allocates and frees channels
 * @held: by requester, channels allocated (work item)
 * @hand: next requester to ask for channels that it does not use (work item)
 * @refuse_until: jiffies; until then requests are refused, since no channel could be freed
 * @running: workers can be called
 * @lock: held while a channel is zeroed, and while it is taken out to be freed
 */
struct loopback {
	struct rmc_port port;
	const struct rmc_fabric_config *cfg;
	unsigned long *channel;
	unsigned long *wanted;
	struct delayed_work work;
	u32 *held;
	u32 hand;
	unsigned long refuse_until;
	bool running;
	spinlock_t lock;	/* see above */
};

static struct loopback *loopback_of(struct rmc_fabric *f)
{
	return container_of(f, struct loopback, port.fabric);
}

static unsigned long *entry_of(struct loopback *lo, u32 requester, u32 server)
{
	return &lo->channel[requester * lo->port.fabric.endpoints + server];
}

static void *address_of(unsigned long entry)
{
	return (void *)(entry & PAGE_MASK);
}

/* Physically contiguous when possible: the direct map has huge pages. */
static void *channel_alloc(size_t bytes)
{
	void *mem = alloc_pages_exact(bytes, GFP_KERNEL | __GFP_ZERO | __GFP_NORETRY |
				      __GFP_NOWARN);

	return mem ?: vzalloc(bytes);
}

static void channel_free(void *mem, size_t bytes)
{
	if (is_vmalloc_addr(mem))
		vfree(mem);
	else
		free_pages_exact(mem, bytes);
}

static size_t channel_size(const struct rmc_fabric *f)
{
	return PAGE_ALIGN(rmc_channel_bytes(f));
}

/*
 * True if this port allows to free the channels from a requester to the units of a node:
 * the requester waits for none of them, and has had time to use each.
 */
static bool may_retire(struct rmc_port *port, const struct rmc_retire *r, u32 nid, bool unused)
{
	struct loopback *lo = container_of(port, struct loopback, port);
	unsigned long *entry = entry_of(lo, r->from, rmc_endpoint(&port->fabric, nid));
	bool any = false, fresh = false;
	u32 i;

	for (i = 0; i < rmc_fabric_rrpps(&port->fabric); i++) {
		unsigned long was = READ_ONCE(entry[i]);

		if (was & (WANTED | CLOSING))
			return false;
		any |= !!address_of(was);
		if (was & FRESH) {
			fresh = true;
			cmpxchg(&entry[i], was, (was & ~FRESH) | AGED);
		}
	}
	return any && (unused || !fresh);
}

static void is_closed(struct rmc_port *port, struct rmc_retire *r, u32 nid)
{
	struct loopback *lo = container_of(port, struct loopback, port);
	u32 to = rmc_endpoint(&port->fabric, nid), i;

	for (i = 0; i < rmc_fabric_rrpps(&port->fabric); i++) {
		unsigned long *entry = entry_of(lo, r->from, to + i);
		unsigned long was = READ_ONCE(*entry);

		if (!address_of(was))
			continue;
		WRITE_ONCE(*entry, (was & PAGE_MASK) | CLOSING);
		r->to[r->n++] = to + i;
	}
}

/* Frees some of the channels that a requester does not use. Returns how many. */
static u32 retire(struct loopback *lo, u32 from)
{
	struct rmc_retire r = { .from = from, .may = may_retire, .closed = is_closed };
	struct rmc_fabric *f = &lo->port.fabric;
	u32 i;

	lo->port.retire(&lo->port, &r);
	for (i = 0; i < r.n; i++) {
		unsigned long *entry = entry_of(lo, from, r.to[i]);
		void *mem;

		spin_lock(&lo->lock);
		mem = address_of(*entry);
		WRITE_ONCE(*entry, 0);
		spin_unlock(&lo->lock);
		channel_free(mem, rmc_channel_bytes(f));
		cond_resched();
	}
	lo->held[from] -= r.n;
	WRITE_ONCE(lo->port.channel_bytes, lo->port.channel_bytes - r.n * channel_size(f));
	return r.n;
}

static bool has_room(const struct loopback *lo)
{
	return lo->port.channel_bytes + channel_size(&lo->port.fabric) <=
	       (u64)READ_ONCE(lo->cfg->channel_mib) << 20;
}

/* Asks one requester after the other for channels that it does not use. */
static bool make_room(struct loopback *lo)
{
	u32 n;

	for (n = 0; !has_room(lo) && READ_ONCE(lo->running); n++) {
		if (n == lo->port.fabric.endpoints)
			return false;
		if (lo->held[lo->hand])
			retire(lo, lo->hand);
		lo->hand = (lo->hand + 1) % lo->port.fabric.endpoints;
	}
	return has_room(lo);
}

static unsigned long allocate(struct loopback *lo, u32 from)
{
	struct rmc_fabric *f = &lo->port.fabric;
	void *mem;

	if (time_before(jiffies, lo->refuse_until))
		return REFUSED;
	if (!make_room(lo)) {
		WRITE_ONCE(lo->refuse_until, jiffies + msecs_to_jiffies(REFUSAL_MS) + 1);
		return REFUSED;
	}
	mem = channel_alloc(rmc_channel_bytes(f));
	if (!mem)
		return REFUSED;
	lo->held[from]++;
	WRITE_ONCE(lo->port.channel_bytes, lo->port.channel_bytes + channel_size(f));
	return (unsigned long)mem | FRESH;
}

static void allocate_wanted(struct loopback *lo)
{
	struct rmc_fabric *f = &lo->port.fabric;
	u32 from, to;

	for_each_set_bit(from, lo->wanted, f->endpoints) {
		/* full barrier; pairs with the one in loopback_channel() */
		if (!test_and_clear_bit(from, lo->wanted))
			continue;
		for (to = 0; to < f->endpoints; to++) {
			unsigned long *entry = entry_of(lo, from, to);

			if (READ_ONCE(*entry) != WANTED)
				continue;
			/* pairs with the acquire in loopback_channel() */
			smp_store_release(entry, allocate(lo, from));
			cond_resched();
		}
	}
}

static void free_unused(struct loopback *lo)
{
	struct rmc_fabric *f = &lo->port.fabric;
	u32 from;

	for (from = 0; from < f->endpoints; from++)
		while (lo->held[from] && READ_ONCE(lo->running) &&
		       lo->port.unused(&lo->port, from) && retire(lo, from))
			cond_resched();
}

static void loopback_work(struct work_struct *work)
{
	struct loopback *lo = container_of(to_delayed_work(work), struct loopback, work);

	if (!bitmap_empty(lo->wanted, lo->port.fabric.endpoints))
		allocate_wanted(lo);
	else
		free_unused(lo);
	if (lo->port.channel_bytes && READ_ONCE(lo->running))
		queue_delayed_work(rmc_unbound_wq, &lo->work, LINGER);
}

static void *loopback_channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	struct loopback *lo = loopback_of(f);
	unsigned long *entry = entry_of(lo, requester, server);
	/* pairs with the release in allocate_wanted() */
	unsigned long was = smp_load_acquire(entry);

	if (!was) {
		if (time_before(jiffies, READ_ONCE(lo->refuse_until)))
			return ERR_PTR(-ENOSPC);
		if (!cmpxchg(entry, 0, WANTED)) {
			set_bit(requester, lo->wanted);
			/* the mark, then the bit; queueing work is a full barrier */
			mod_delayed_work(rmc_unbound_wq, &lo->work, 0);
		}
		return NULL;
	}
	if (was & (WANTED | CLOSING))
		return NULL;
	/* report the refusal once; the next call tries again */
	if (was == REFUSED) {
		cmpxchg(entry, was, 0);
		return ERR_PTR(-ENOSPC);
	}
	if (was & (FRESH | AGED))
		cmpxchg(entry, was, was & PAGE_MASK);
	return address_of(was);
}

static void loopback_notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane)
{
	/* there is no node in another kernel */
}

static void zero_channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	struct loopback *lo = loopback_of(f);
	unsigned long was;

	spin_lock(&lo->lock);
	/* pairs with the release in allocate_wanted() */
	was = smp_load_acquire(entry_of(lo, requester, server));
	if (address_of(was) && !(was & CLOSING))
		memset(address_of(was), 0, rmc_channel_bytes(f));
	spin_unlock(&lo->lock);
}

/* No other kernel can claim the id. */
static void loopback_reset(struct rmc_fabric *f, u32 nid, u32 epoch)
{
	u32 ep, i;

	for (ep = rmc_endpoint(f, nid); ep < rmc_endpoint(f, nid + 1); ep++) {
		for (i = 0; i < f->endpoints; i++) {
			zero_channel(f, ep, i);
			zero_channel(f, i, ep);
		}
	}
}

static const struct rmc_fabric_ops loopback_ops = {
	.name = "loopback",
	.channel = loopback_channel,
	.notify = loopback_notify,
	.reset = loopback_reset,
};

/* 128 nodes that all talk to all take 200 MB this way, instead of 650 MB. */
static void choose_orders(struct rmc_fabric *f, const struct rmc_fabric_config *cfg)
{
	bool small = f->nodes << f->unit_order > RMC_SMALL_NODES;

	f->ring_order = cfg->ring_order ?: small ? RMC_SMALL_ORDER : RMC_RING_ORDER;
	f->pay_order = cfg->pay_order ?: small ? RMC_SMALL_ORDER : RMC_PAY_ORDER;
	if (!cfg->pay_order)
		f->pay_order = max_t(u32, f->pay_order, order_base_2(f->mtu / RMC_LINE));
}

static void loopback_start(struct rmc_port *port, void (*kick)(void *data), void *data)
{
	WRITE_ONCE(container_of(port, struct loopback, port)->running, true);
}

static void loopback_stop(struct rmc_port *port)
{
	struct loopback *lo = container_of(port, struct loopback, port);

	/* the work item calls workers; one that is queued later does not */
	WRITE_ONCE(lo->running, false);
	cancel_delayed_work_sync(&lo->work);
}

static void loopback_close(struct rmc_port *port)
{
	struct loopback *lo = container_of(port, struct loopback, port);
	struct rmc_fabric *f = &port->fabric;
	u32 i;

	cancel_delayed_work_sync(&lo->work);
	for (i = 0; lo->channel && i < f->endpoints * f->endpoints; i++)
		if (address_of(lo->channel[i]))
			channel_free(address_of(lo->channel[i]), rmc_channel_bytes(f));
	kvfree(lo->channel);
	kvfree(lo->held);
	bitmap_free(lo->wanted);
	vfree(f->doorbell);
	vfree(f->node);
	kfree(lo);
}

static struct rmc_port *loopback_open(const struct rmc_fabric_config *cfg)
{
	struct loopback *lo = kzalloc(sizeof(*lo), GFP_KERNEL);
	struct rmc_fabric *f;

	if (!lo)
		return ERR_PTR(-ENOMEM);
	f = &lo->port.fabric;
	INIT_DELAYED_WORK(&lo->work, loopback_work);
	spin_lock_init(&lo->lock);
	lo->cfg = cfg;
	lo->refuse_until = jiffies;
	f->ops = &loopback_ops;
	f->nodes = cfg->nodes ?: RMC_LOOPBACK_NODES;
	f->mtu = cfg->mtu ?: RMC_MTU_DEFAULT;
	f->timeout_ms = cfg->timeout_ms;
	f->dead_ms = cfg->dead_ms;
	rmc_fabric_units_from(cfg, f);
	choose_orders(f, cfg);
	if (rmc_fabric_check(f)) {
		pr_err("pay_order=%u holds no packet of mtu=%u: give a pay_order of at least %u\n",
		       f->pay_order, f->mtu, order_base_2(f->mtu / RMC_LINE));
		kfree(lo);
		return ERR_PTR(-EINVAL);
	}
	if (channel_size(f) << f->rrpp_order > (u64)cfg->channel_mib << 20) {
		pr_err("channel_mib=%u holds no channel, of %zu KiB: give more\n",
		       cfg->channel_mib, channel_size(f) << f->rrpp_order >> 10);
		kfree(lo);
		return ERR_PTR(-EINVAL);
	}
	f->node = vzalloc(array_size(f->nodes, sizeof(*f->node)));
	f->doorbell = vzalloc(array_size(f->endpoints * RMC_LANES, sizeof(*f->doorbell)));
	lo->wanted = bitmap_zalloc(f->endpoints, GFP_KERNEL);
	lo->channel = kvcalloc(f->endpoints * f->endpoints, sizeof(*lo->channel), GFP_KERNEL);
	lo->held = kvcalloc(f->endpoints, sizeof(*lo->held), GFP_KERNEL);

	lo->port.transport = &rmc_loopback;
	lo->port.locals = f->nodes;
	lo->port.memtype = "write-back";
	if (!f->node || !f->doorbell || !lo->wanted || !lo->channel || !lo->held) {
		loopback_close(&lo->port);
		return ERR_PTR(-ENOMEM);
	}
	return &lo->port;
}

const struct rmc_transport rmc_loopback = {
	.name = "loopback",
	.kind = RMC_FABRIC_LOOPBACK,
	.open = loopback_open,
	.start = loopback_start,
	.stop = loopback_stop,
	.close = loopback_close,
};
