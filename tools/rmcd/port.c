// SPDX-License-Identifier: GPL-2.0
/* Loopback: all nodes are in this daemon, and the fabric's memory is its own. */
#include <sys/mman.h>
#include <unistd.h>
#include "rmcd.h"

/**
 * struct loopback - the port and its memory
 * @port: port
 * @channel: [requester * endpoints + server]; NULL until first used
 * @limit: most bytes of channels
 */
struct loopback {
	struct rmcd_port port;
	void **channel;
	u64 limit;
};

static struct loopback *loopback_of(struct rmc_fabric *f)
{
	return (struct loopback *)((char *)f - offsetof(struct loopback, port.fabric));
}

static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Workers of both ends may ask at the same time. */
static void *loopback_channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	struct loopback *lo = loopback_of(f);
	void **entry = &lo->channel[requester * f->endpoints + server], *old = NULL, *mem;
	u64 bytes = PAGE_ALIGN(rmc_channel_bytes(f));

	/* pairs with the exchange below, of the other end's worker: zeroed memory, then its address */
	mem = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
	if (mem)
		return mem;
	if (__atomic_add_fetch(&lo->port.channel_bytes, bytes, __ATOMIC_RELAXED) > lo->limit)
		goto err;
	mem = pages(bytes);
	if (!mem)
		goto err;
	if (__atomic_compare_exchange_n(entry, &old, mem, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return mem;
	munmap(mem, bytes);
	__atomic_sub_fetch(&lo->port.channel_bytes, bytes, __ATOMIC_RELAXED);
	return old;
err:
	__atomic_sub_fetch(&lo->port.channel_bytes, bytes, __ATOMIC_RELAXED);
	return ERR_PTR(-ENOSPC);
}

static void loopback_notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane)
{
	/* there is no node in another process */
	(void)f;
	(void)dst;
	(void)lane;
}

/* No other process can claim the id. */
static void loopback_reset(struct rmc_fabric *f, u32 nid, u32 epoch)
{
	struct loopback *lo = loopback_of(f);
	u32 ep, i;

	(void)epoch;
	for (ep = rmc_endpoint(f, nid); ep < rmc_endpoint(f, nid + 1); ep++) {
		for (i = 0; i < f->endpoints; i++) {
			void *out = lo->channel[ep * f->endpoints + i];
			void *in = lo->channel[i * f->endpoints + ep];

			if (out)
				memset(out, 0, rmc_channel_bytes(f));
			if (in)
				memset(in, 0, rmc_channel_bytes(f));
		}
	}
}

static const struct rmc_fabric_ops loopback_ops = {
	.name = "loopback",
	.channel = loopback_channel,
	.notify = loopback_notify,
	.reset = loopback_reset,
};

static void loopback_close(struct rmcd_port *port)
{
	struct loopback *lo = loopback_of(&port->fabric);
	struct rmc_fabric *f = &port->fabric;
	u32 i;

	for (i = 0; lo->channel && i < f->endpoints * f->endpoints; i++)
		if (lo->channel[i])
			munmap(lo->channel[i], PAGE_ALIGN(rmc_channel_bytes(f)));
	free(lo->channel);
	rmc_os_free(f->doorbell);
	rmc_os_free(f->node);
	free(lo);
}

/* 128 nodes that all talk to all take 200 MB this way, instead of 650 MB. */
static void choose_orders(struct rmc_fabric *f, const struct rmc_fabric_config *cfg)
{
	bool small = f->nodes << f->unit_order > RMC_SMALL_NODES;

	f->ring_order = cfg->ring_order ?: small ? RMC_SMALL_ORDER : RMC_RING_ORDER;
	f->pay_order = cfg->pay_order ?: small ? RMC_SMALL_ORDER : RMC_PAY_ORDER;
	while (!cfg->pay_order && ((u32)RMC_LINE << f->pay_order) < f->mtu)
		f->pay_order++;
}

/**
 * rmcd_loopback_open() - set up a fabric inside this daemon
 * @cfg: configuration
 *
 * Return: port, or ERR_PTR after logging the reason.
 */
struct rmcd_port *rmcd_loopback_open(const struct rmc_fabric_config *cfg)
{
	struct loopback *lo = calloc(1, sizeof(*lo));
	struct rmc_fabric *f;

	if (!lo)
		return ERR_PTR(-ENOMEM);
	f = &lo->port.fabric;
	f->ops = &loopback_ops;
	f->nodes = cfg->nodes ?: RMC_LOOPBACK_NODES;
	f->mtu = cfg->mtu ?: RMC_MTU_DEFAULT;
	f->timeout_ms = cfg->timeout_ms;
	f->dead_ms = cfg->dead_ms;
	rmc_fabric_units_from(cfg, f);
	choose_orders(f, cfg);
	if (rmc_fabric_check(f)) {
		rmcd_log("%u nodes with --mtu %u are not possible: see rmcd --help", f->nodes,
			 f->mtu);
		free(lo);
		return ERR_PTR(-EINVAL);
	}
	lo->limit = (u64)cfg->channel_mib << 20;
	f->node = rmc_os_zalloc(f->nodes * sizeof(*f->node));
	f->doorbell = rmc_os_zalloc(f->endpoints * RMC_LANES * sizeof(*f->doorbell));
	lo->channel = calloc((size_t)f->endpoints * f->endpoints, sizeof(*lo->channel));
	lo->port.name = "loopback";
	lo->port.kind = RMC_FABRIC_LOOPBACK;
	lo->port.locals = f->nodes;
	lo->port.close = loopback_close;
	if (!f->node || !f->doorbell || !lo->channel) {
		loopback_close(&lo->port);
		rmcd_log("no memory for %u nodes", f->nodes);
		return ERR_PTR(-ENOMEM);
	}
	return &lo->port;
}
