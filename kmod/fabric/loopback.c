// SPDX-License-Identifier: GPL-2.0
/*
 * Loopback: all nodes in this kernel, the fabric's memory is kernel memory.
 *
 * A channel is allocated when it is first asked for. The asking worker must
 * not sleep: it marks the channel as wanted, a work item allocates it, and the
 * worker finds it when it asks again.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include "../config.h"
#include "transport.h"

/* Entry of a channel that somebody asked for */
#define WANTED		((void *)1)

/**
 * struct loopback - the port and its memory
 * @port: port
 * @channel: [requester * endpoints + server]: NULL, WANTED, ERR_PTR or memory
 * @wanted: requesters with a WANTED channel
 * @work: allocates them
 */
struct loopback {
	struct rmc_port port;
	void **channel;
	unsigned long *wanted;
	struct work_struct work;
};

static struct loopback *loopback_of(struct rmc_fabric *f)
{
	return container_of(f, struct loopback, port.fabric);
}

/* Physically contiguous when possible: huge mappings in the direct map. */
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

static void allocate_wanted(struct work_struct *work)
{
	struct loopback *lo = container_of(work, struct loopback, work);
	struct rmc_fabric *f = &lo->port.fabric;
	u32 from, to;

	for_each_set_bit(from, lo->wanted, f->endpoints) {
		/* full barrier; pairs with the one in loopback_channel() */
		if (!test_and_clear_bit(from, lo->wanted))
			continue;
		for (to = 0; to < f->endpoints; to++) {
			void **entry = &lo->channel[from * f->endpoints + to];
			void *mem;

			if (READ_ONCE(*entry) != WANTED)
				continue;
			mem = channel_alloc(rmc_channel_bytes(f));
			/* pairs with the acquire in loopback_channel() */
			smp_store_release(entry, mem ?: ERR_PTR(-ENOMEM));
			cond_resched();
		}
	}
}

static void *loopback_channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	struct loopback *lo = loopback_of(f);
	void **entry = &lo->channel[requester * f->endpoints + server];
	/* pairs with the release in allocate_wanted() */
	void *mem = smp_load_acquire(entry);

	if (!mem) {
		if (!cmpxchg(entry, NULL, WANTED)) {
			set_bit(requester, lo->wanted);
			/* the mark, then the bit; queue_work() is a full barrier */
			queue_work(rmc_unbound_wq, &lo->work);
		}
		return NULL;
	}
	if (mem == WANTED)
		return NULL;
	/* out of memory: tell it once, try again next time */
	if (IS_ERR(mem))
		cmpxchg(entry, mem, NULL);
	return mem;
}

static void loopback_notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane)
{
	/* there is no node in another kernel */
}

static void zero_channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	/* pairs with the release in allocate_wanted() */
	void *mem = smp_load_acquire(&loopback_of(f)->channel[requester * f->endpoints + server]);

	if (mem && mem != WANTED && !IS_ERR(mem))
		memset(mem, 0, rmc_channel_bytes(f));
}

static void loopback_reset(struct rmc_fabric *f, u32 nid)
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
static void choose_orders(struct rmc_fabric *f, const struct rmc_config *cfg)
{
	bool small = f->nodes << f->unit_order > RMC_SMALL_NODES;

	f->ring_order = cfg->ring_order ?: small ? RMC_SMALL_ORDER : RMC_RING_ORDER;
	f->pay_order = cfg->pay_order ?: small ? RMC_SMALL_ORDER : RMC_PAY_ORDER;
	if (!cfg->pay_order)
		f->pay_order = max_t(u32, f->pay_order, order_base_2(f->mtu / RMC_LINE));
}

static void loopback_close(struct rmc_port *port)
{
	struct loopback *lo = container_of(port, struct loopback, port);
	struct rmc_fabric *f = &port->fabric;
	u32 i;

	flush_work(&lo->work);
	for (i = 0; lo->channel && i < f->endpoints * f->endpoints; i++)
		if (lo->channel[i] && lo->channel[i] != WANTED && !IS_ERR(lo->channel[i]))
			channel_free(lo->channel[i], rmc_channel_bytes(f));
	kvfree(lo->channel);
	bitmap_free(lo->wanted);
	vfree(f->bell);
	vfree(f->node);
	kfree(lo);
}

static struct rmc_port *loopback_open(const struct rmc_config *cfg)
{
	struct loopback *lo = kzalloc(sizeof(*lo), GFP_KERNEL);
	struct rmc_fabric *f;

	if (!lo)
		return ERR_PTR(-ENOMEM);
	f = &lo->port.fabric;
	INIT_WORK(&lo->work, allocate_wanted);
	f->ops = &loopback_ops;
	f->nodes = cfg->nodes ?: RMC_LOOPBACK_NODES;
	f->mtu = cfg->mtu ?: RMC_MTU_DEFAULT;
	f->timeout_ms = cfg->timeout_ms;
	f->dead_ms = cfg->dead_ms;
	rmc_config_units(cfg, f);
	choose_orders(f, cfg);
	if (rmc_fabric_check(f)) {
		pr_err("pay_order=%u holds no packet of mtu=%u: give a pay_order of at least %u\n",
		       f->pay_order, f->mtu, order_base_2(f->mtu / RMC_LINE));
		kfree(lo);
		return ERR_PTR(-EINVAL);
	}
	f->node = vzalloc(array_size(f->nodes, sizeof(*f->node)));
	f->bell = vzalloc(array_size(f->endpoints * RMC_LANES, sizeof(*f->bell)));
	lo->wanted = bitmap_zalloc(f->endpoints, GFP_KERNEL);
	lo->channel = kvcalloc(f->endpoints * f->endpoints, sizeof(*lo->channel), GFP_KERNEL);

	lo->port.transport = &rmc_loopback;
	lo->port.locals = f->nodes;
	lo->port.memtype = "write-back";
	if (!f->node || !f->bell || !lo->wanted || !lo->channel) {
		loopback_close(&lo->port);
		return ERR_PTR(-ENOMEM);
	}
	return &lo->port;
}

const struct rmc_transport rmc_loopback = {
	.name = "loopback",
	.kind = RMC_FABRIC_LOOPBACK,
	.open = loopback_open,
	.close = loopback_close,
};
