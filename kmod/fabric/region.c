// SPDX-License-Identifier: GPL-2.0
/* Formats a shared region, agrees with peers on its sizes, and claims node ids. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include "region.h"

/* Chooses the largest rings that fit, unless the user has set their sizes. */
static int choose_sizes(struct rmc_region *r, struct rmc_fabric *f,
			const struct rmc_fabric_config *cfg)
{
	u64 need, megs;
	u32 least;

	f->nodes = cfg->nodes ?: RMC_REGION_NODES;
	f->mtu = cfg->mtu ?: RMC_MTU_DEFAULT;
	f->ring_order = cfg->ring_order ?: RMC_RING_ORDER;
	f->pay_order = cfg->pay_order ?: RMC_PAY_ORDER;
	rmc_fabric_units_from(cfg, f);
	least = order_base_2(f->mtu / RMC_LINE);
	if (!cfg->pay_order)
		f->pay_order = max(f->pay_order, least);
	if (rmc_fabric_check(f)) {
		pr_err("pay_order=%u holds no packet of mtu=%u: give a pay_order of at least %u\n",
		       f->pay_order, f->mtu, least);
		return -EINVAL;
	}
	for (;;) {
		need = rmc_region_layout(r, f);
		if (need <= r->bytes)
			return 0;
		if (!cfg->pay_order && f->pay_order > least)
			f->pay_order--;
		else if (!cfg->ring_order && f->ring_order > RMC_RING_ORDER_MIN)
			f->ring_order--;
		else
			break;
	}
	megs = max_t(u64, roundup_pow_of_two(need) >> 20, 1);
	pr_err("%u nodes with mtu=%u need %llu bytes of shared memory, there are %llu: give the device size=%lluM, or fewer nodes or a smaller mtu\n",
	       f->nodes, f->mtu, need, r->bytes, megs);
	return -ENOSPC;
}

/*
 * True if the tables are all zero. A formatter may read them only: a successor may own
 * them in the meantime.
 */
static bool tables_empty(const struct rmc_region *r, const struct rmc_fabric *f)
{
	return !memchr_inv(f->node, 0, r->channels - PAGE_SIZE);
}

/* We own the place: state is FORMATTING with our nonce. */
static int format(struct rmc_region *r, struct rmc_fabric *f,
		  const struct rmc_fabric_config *cfg, u32 mine)
{
	struct rmc_region_head *first = r->base, *h = rmc_region_head(r);
	u32 place = mine & RMC_REGION_PLACE_MASK << RMC_REGION_PLACE_SHIFT;
	int err;

	err = choose_sizes(r, f, cfg);
	if (err) {
		cmpxchg(&first->state, mine, RMC_REGION_RAW | place);
		return err;
	}
	/* an empty channel is all zero; channels are zeroed when a node joins */
	if (!tables_empty(r, f)) {
		if (cmpxchg(&first->state, mine, RMC_REGION_RAW | place) != mine)
			return -EAGAIN;
		pr_err("the shared memory holds something else: start all nodes anew on zeroed memory\n");
		return -EPROTO;
	}
	WRITE_ONCE(h->version, RMC_REGION_VERSION);
	WRITE_ONCE(h->nodes, f->nodes);
	WRITE_ONCE(h->mtu, f->mtu);
	WRITE_ONCE(h->ring_order, f->ring_order);
	WRITE_ONCE(h->pay_order, f->pay_order);
	WRITE_ONCE(h->unit_order, f->unit_order);
	WRITE_ONCE(h->rrpp_order, f->rrpp_order);
	WRITE_ONCE(h->interleave, f->interleave);
	WRITE_ONCE(h->bytes, rmc_region_layout(r, f));
	WRITE_ONCE(h->magic, RMC_REGION_MAGIC);
	/* full barrier; pairs with the acquire in rmc_region_attach(). It fails
	 * when another formatter took over because we were too slow.
	 */
	return cmpxchg(&first->state, mine, RMC_REGION_READY | place) == mine ? 0 : -EAGAIN;
}

/* Claims a place that no formatter had before. -EAGAIN: another formatter was faster. */
static int take_over(struct rmc_region *r, struct rmc_fabric *f,
		     const struct rmc_fabric_config *cfg, u32 state)
{
	struct rmc_region_head *first = r->base;
	u32 mine;

	r->place = state >> RMC_REGION_PLACE_SHIFT & RMC_REGION_PLACE_MASK;
	/* a late formatter may still write to its own place */
	if ((state & RMC_REGION_STATE_MASK) != RMC_REGION_RAW &&
	    ++r->place > RMC_REGION_PLACE_MASK) {
		pr_err("too many kernels died while they formatted the shared memory: start all nodes anew on zeroed memory\n");
		return -EPROTO;
	}
	mine = RMC_REGION_FORMATTING | r->place << RMC_REGION_PLACE_SHIFT |
	       get_random_u32() << RMC_REGION_NONCE_SHIFT;
	if (cmpxchg(&first->state, state, mine) != state)
		return -EAGAIN;
	return format(r, f, cfg, mine);
}

/* Takes the header's numbers, and logs what is wrong with them. */
static int adopt(struct rmc_region *r, struct rmc_fabric *f, const struct rmc_fabric_config *cfg)
{
	int err = rmc_region_adopt(r, f);

	if (err == -ENOENT)
		pr_err("the shared memory holds something else (wanted version %u): start all nodes anew on zeroed memory\n",
		       RMC_REGION_VERSION);
	else if (err)
		pr_err("invalid header of the shared memory (%u nodes, %llu bytes): start all nodes anew on zeroed memory\n",
		       f->nodes, r->bytes);
	if (err)
		return -EPROTO;
	if ((cfg->nodes && cfg->nodes != f->nodes) || (cfg->mtu && cfg->mtu != f->mtu))
		pr_notice("the fabric was formatted for %u nodes and mtu %u; that holds\n",
			  f->nodes, f->mtu);
	if (cfg->units != rmc_fabric_units(f) || cfg->rrpps != rmc_fabric_rrpps(f))
		pr_notice("the fabric was formatted for %u units per node, %u of them with an RRPP; that holds\n",
			  rmc_fabric_units(f), rmc_fabric_rrpps(f));
	return 0;
}

/**
 * rmc_region_attach() - format a region, or adopt the format that it has
 * @r: region; base and bytes are set, the rest is filled in
 * @f: fabric; its numbers and tables are filled in
 * @cfg: used to format
 *
 * Return: 0, or a negative errno after logging the reason.
 * Context: may sleep, for some seconds.
 */
int rmc_region_attach(struct rmc_region *r, struct rmc_fabric *f,
		      const struct rmc_fabric_config *cfg)
{
	struct rmc_region_head *h = r->base;
	u32 seen = RMC_REGION_RAW, state;
	unsigned long since = jiffies;
	int err;

	if (r->bytes < 2 * PAGE_SIZE) {
		pr_err("%llu bytes of shared memory are too few: give the device size=1M or more\n",
		       r->bytes);
		return -ENOSPC;
	}
	for (;;) {
		/* pairs with the cmpxchg in format() */
		state = smp_load_acquire(&h->state);
		if ((state & RMC_REGION_STATE_MASK) == RMC_REGION_READY) {
			r->place = state >> RMC_REGION_PLACE_SHIFT & RMC_REGION_PLACE_MASK;
			return adopt(r, f, cfg);
		}
		if (state != seen) {
			seen = state;
			since = jiffies;
		}
		if ((state & RMC_REGION_STATE_MASK) == RMC_REGION_RAW ||
		    time_after(jiffies, since + msecs_to_jiffies(RMC_REGION_FORMAT_MS))) {
			/* on -EAGAIN sleep: the word may change all the time */
			err = take_over(r, f, cfg, state);
			if (err != -EAGAIN)
				return err;
		}
		if (signal_pending(current))
			return -EINTR;
		usleep_range(500, 2000);
	}
}

/* Tries once; fails unless the entry is still @was. */
static bool claim(struct rmc_fabric *f, u32 nid, u64 was, u32 *epoch)
{
	u32 next = rmc_claim_epoch(was) + 1 ?: 1;

	if (cmpxchg(&f->node[nid].claim, was, rmc_claim(RMC_NODE_JOINING, next)) != was)
		return false;
	*epoch = next;
	return true;
}

static bool claim_idle(struct rmc_fabric *f, u32 nid, u32 state, u32 *epoch)
{
	u64 was = READ_ONCE(f->node[nid].claim);

	return rmc_claim_state(was) == state && claim(f, nid, was, epoch);
}

/* State of an entry when we began to watch it. */
struct watched {
	u64 word;
	u32 heartbeat;
};

/*
 * Watches the heartbeats of [first, last] and claims the first node that has
 * none, or that leaves meanwhile.
 */
static int claim_dead(struct rmc_fabric *f, u32 first, u32 last, u32 *nid, u32 *epoch)
{
	unsigned long end = jiffies + msecs_to_jiffies(f->dead_ms);
	struct watched *seen;
	int err = -EBUSY;
	u32 i;

	seen = kvcalloc(f->nodes, sizeof(*seen), GFP_KERNEL);
	if (!seen)
		return -ENOMEM;
	for (i = first; i <= last; i++) {
		seen[i].word = READ_ONCE(f->node[i].claim);
		seen[i].heartbeat = READ_ONCE(f->node[i].heartbeat);
	}
	for (;;) {
		bool waited = time_after(jiffies, end), alive = true;

		for (i = first; i <= last; i++) {
			u64 word = READ_ONCE(f->node[i].claim);
			bool still = word == seen[i].word &&
				     READ_ONCE(f->node[i].heartbeat) == seen[i].heartbeat;

			alive &= !still;
			if (rmc_claim_state(word) == RMC_NODE_DOWN || (still && waited)) {
				if (claim(f, i, word, epoch)) {
					*nid = i;
					err = 0;
					goto out;
				}
			}
		}
		if (waited || alive)
			break;
		if (signal_pending(current)) {
			err = -EINTR;
			break;
		}
		usleep_range(2000, 5000);
	}
out:
	kvfree(seen);
	return err;
}

/**
 * rmc_region_claim() - become a node of the fabric
 * @f: fabric
 * @wanted: node id, or -1 for the first one that is free or that a node left or died with
 * @nid: out, node id
 * @epoch: out, not 0, set on success only; for rmc_node_join() and rmc_region_unclaim()
 *
 * Return: 0, or a negative errno after logging the reason.
 * Context: may sleep; for dead_ms to distinguish a dead node from a live one.
 */
int rmc_region_claim(struct rmc_fabric *f, s32 wanted, u32 *nid, u32 *epoch)
{
	static const u32 idle[] = { RMC_NODE_FREE, RMC_NODE_DOWN };
	u32 first = wanted < 0 ? 0 : wanted;
	u32 last = wanted < 0 ? f->nodes - 1 : wanted;
	int i, err;

	if (wanted >= 0 && wanted >= f->nodes) {
		pr_err("node=%d does not exist: the fabric has nodes 0 .. %u\n", wanted,
		       f->nodes - 1);
		return -EINVAL;
	}
	for (i = 0; i < ARRAY_SIZE(idle); i++) {
		for (*nid = first; *nid <= last; ++*nid)
			if (claim_idle(f, *nid, idle[i], epoch))
				return 0;
	}
	err = claim_dead(f, first, last, nid, epoch);
	if (err == -EBUSY && wanted >= 0)
		pr_err("node=%d is taken by another kernel that is alive: give another id, or -1\n",
		       wanted);
	else if (err == -EBUSY)
		pr_err("all %u nodes of the fabric are taken: start it anew with more nodes\n",
		       f->nodes);
	return err;
}

/**
 * rmc_region_unclaim() - give back an id that never joined
 * @f: fabric
 * @nid: node id
 * @epoch: from rmc_region_claim(); nothing happens if the node has joined since
 */
void rmc_region_unclaim(struct rmc_fabric *f, u32 nid, u32 epoch)
{
	cmpxchg(&f->node[nid].claim, rmc_claim(RMC_NODE_JOINING, epoch),
		rmc_claim(RMC_NODE_DOWN, epoch));
}

/**
 * rmc_region_reset() - zero all channels from and to a node
 * @r: region
 * @f: fabric
 * @nid: node id; its channels are not in use
 * @epoch: of the claim of this kernel
 *
 * This kernel may be paused between any two steps, and its id may be claimed meanwhile. So
 * the claim is checked before each channel: when this kernel resumes, it zeroes at most the
 * rest of one channel of its successor.
 *
 * Context: any.
 */
void rmc_region_reset(const struct rmc_region *r, const struct rmc_fabric *f, u32 nid, u32 epoch)
{
	size_t bytes = rmc_channel_bytes(f);
	u32 ep, i;

	for (ep = rmc_endpoint(f, nid); ep < rmc_endpoint(f, nid + 1); ep++) {
		for (i = 0; i < f->endpoints; i++) {
			if (!rmc_claim_holds(f, nid, epoch))
				return;
			memset(rmc_region_channel(r, f, ep, i), 0, bytes);
			if (!rmc_claim_holds(f, nid, epoch))
				return;
			memset(rmc_region_channel(r, f, i, ep), 0, bytes);
		}
	}
}
