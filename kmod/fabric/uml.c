// SPDX-License-Identifier: GPL-2.0
/*
 * uml: one node per User-Mode-Linux kernel, the fabric's memory is a file of
 * the host.
 *
 *	kernel A = process of the host		kernel B = process of the host
 *	  mmap(region) ----------> file <---------- mmap(region)
 *	  write(doorbells + "B") ----> pipe ----------> SIGIO -> interrupt
 *
 * Such a kernel's own address space is that of a process, so what the host maps there is
 * ordinary kernel memory. Each node has a named pipe beside the file. A byte in the pipe
 * interrupts the node's kernel, which wakes its parked workers. rmc_region_node.doorbell
 * is 1 when a node has a pipe. Without pipes, a parked worker polls again after at most
 * poll_us_max.
 *
 * The host is trusted like a hypervisor; peers are not.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/interrupt.h>
#include <linux/mman.h>
#include <linux/slab.h>
#include <linux/unistd.h>
#include <irq_kern.h>
#include <os.h>
#include "shared.h"

/* rmc_region_node.doorbell of a node that has a pipe */
#define UML_DOORBELL	1

/**
 * struct uml - the port and its files of the host
 * @shared: port, and the mapped file
 * @fd: the host's file descriptor of the file
 * @doorbell: doorbell pipes by node id, file descriptors of the host; negative: none. All are
 *	negative when this node has no interrupt of its own.
 */
struct uml {
	struct rmc_shared shared;
	int fd;
	int *doorbell;
};

static struct uml *uml_of(struct rmc_fabric *f)
{
	return container_of(rmc_shared_of(f), struct uml, shared);
}

static void uml_notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane)
{
	u32 nid = rmc_endpoint_nid(f, dst);
	struct uml *u = uml_of(f);

	/* the doorbell, then the flag; pairs with the barrier in rmc_ni_park() */
	smp_mb();
	if (!rmc_endpoint_parked(f, dst, lane) || u->doorbell[nid] < 0)
		return;
	/* does not block; a full pipe already interrupts the peer */
	if (READ_ONCE(f->node[nid].doorbell) == UML_DOORBELL)
		os_write_file(u->doorbell[nid], "", 1);
}

static const struct rmc_fabric_ops uml_ops = {
	.name = "uml",
	.channel = rmc_shared_channel,
	.notify = uml_notify,
	.reset = rmc_shared_reset,
};

static irqreturn_t doorbell(int irq, void *data)
{
	struct uml *u = data;
	int pipe = u->doorbell[u->shared.port.first];
	char rings[64];

	/* empty the pipe first: a later ring must interrupt us again */
	while (os_read_file(pipe, rings, sizeof(rings)) == sizeof(rings))
		;
	rmc_shared_rung(&u->shared);
	return IRQ_HANDLED;
}

static int map_region(struct uml *u, const char *path)
{
	unsigned long long bytes;
	long addr;
	int err;

	err = os_file_size(path, &bytes);
	if (err < 0)
		return err;
	u->fd = os_open_file(path, of_cloexec(of_rdwr(OPENFLAGS())), 0);
	if (u->fd < 0)
		return u->fd;
	/* populate it now: later faults of the host would stop us page by page */
	addr = syscall(__NR_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		       u->fd, 0);
	if (addr == -1) {
		os_close_file(u->fd);
		return -ENOMEM;
	}
	u->shared.region.base = (void *)addr;
	u->shared.region.bytes = bytes;
	return 0;
}

static void unmap_region(struct uml *u)
{
	syscall(__NR_munmap, u->shared.region.base, u->shared.region.bytes);
	os_close_file(u->fd);
}

static int open_doorbell(const char *doorbells, u32 nid)
{
	/* read and write: the open does not wait for a peer, and the pipe never hangs up */
	char *path = kasprintf(GFP_KERNEL, "%s%u", doorbells, nid);
	int fd;

	if (!path)
		return -ENOMEM;
	fd = os_open_file(path, of_cloexec(of_rdwr(OPENFLAGS())), 0);
	kfree(path);
	if (fd < 0)
		return fd;
	if (os_set_fd_block(fd, 0)) {
		os_close_file(fd);
		return -EIO;
	}
	return fd;
}

static void close_doorbells(struct uml *u)
{
	u32 i;

	for (i = 0; i < u->shared.port.fabric.nodes; i++) {
		if (u->doorbell[i] >= 0)
			os_close_file(u->doorbell[i]);
		u->doorbell[i] = -1;
	}
}

/* The port works without doorbells, so this returns no error. */
static void set_up_doorbells(struct uml *u, const char *doorbells)
{
	u32 i, first = u->shared.port.first;
	int irq = -ENOENT;

	for (i = 0; doorbells && i < u->shared.port.fabric.nodes; i++)
		u->doorbell[i] = open_doorbell(doorbells, i);
	if (u->doorbell[first] >= 0)
		irq = um_request_irq(UM_IRQ_ALLOC, u->doorbell[first], IRQ_READ, doorbell, 0,
				     "rmc", u);
	if (irq < 0) {
		close_doorbells(u);
		return;
	}
	u->shared.irq = irq;
	rmc_shared_has_doorbell(&u->shared, UML_DOORBELL);
}

static void take_down_doorbells(struct uml *u)
{
	if (u->shared.irq)
		um_free_irq(u->shared.irq, u);
	close_doorbells(u);
}

static bool uml_present(const struct rmc_fabric_config *cfg)
{
	return cfg->region;
}

static struct rmc_port *uml_open(const struct rmc_fabric_config *cfg)
{
	struct rmc_fabric *f;
	struct uml *u;
	int err;
	u32 i;

	if (!cfg->region) {
		pr_err("fabric=uml needs region=, a file of the host that all kernels map\n");
		return ERR_PTR(-EINVAL);
	}
	u = kzalloc(sizeof(*u), GFP_KERNEL);
	if (!u)
		return ERR_PTR(-ENOMEM);
	f = &u->shared.port.fabric;
	rmc_shared_init(&u->shared, &rmc_uml, &uml_ops, cfg);
	u->shared.port.memtype = "write-back";

	err = map_region(u, cfg->region);
	if (err) {
		pr_err("region=%s cannot be mapped: error %d: give a file of the host\n",
		       cfg->region, err);
		goto err_map;
	}
	err = rmc_region_attach(&u->shared.region, f, cfg);
	if (err)
		goto err_attach;
	err = -ENOMEM;
	u->doorbell = kvmalloc_array(f->nodes, sizeof(*u->doorbell), GFP_KERNEL);
	if (!u->doorbell)
		goto err_attach;
	for (i = 0; i < f->nodes; i++)
		u->doorbell[i] = -1;
	err = rmc_shared_claim(&u->shared, cfg->node);
	if (err)
		goto err_claim;

	set_up_doorbells(u, cfg->doorbells);
	return &u->shared.port;

err_claim:
	kvfree(u->doorbell);
err_attach:
	unmap_region(u);
err_map:
	kfree(u);
	return ERR_PTR(err);
}

static void uml_close(struct rmc_port *port)
{
	struct uml *u = uml_of(&port->fabric);

	take_down_doorbells(u);
	rmc_region_unclaim(&port->fabric, port->first, port->epoch);
	kvfree(u->doorbell);
	unmap_region(u);
	kfree(u);
}

const struct rmc_transport rmc_uml = {
	.name = "uml",
	.kind = RMC_FABRIC_UML,
	.present = uml_present,
	.open = uml_open,
	.start = rmc_shared_start,
	.stop = rmc_shared_stop,
	.reclaim = rmc_shared_reclaim,
	.close = uml_close,
};
