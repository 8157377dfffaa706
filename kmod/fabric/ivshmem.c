// SPDX-License-Identifier: GPL-2.0
/*
 * ivshmem: one node per kernel, the fabric's memory is BAR 2 of QEMU's
 * inter-VM shared memory device.
 *
 *   ivshmem-plain      no interrupts: a parked worker polls again after at most
 *                      poll_us_max
 *   ivshmem-doorbell   BAR 0 +8: our id, +12: write peer << 16 | vector to
 *                      interrupt a peer, which wakes its parked workers
 *
 * rmc_region_node.doorbell holds the doorbell id plus one; zero means that the node
 * has none.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/pci.h>
#include <linux/vmalloc.h>
#include "shared.h"

#define IVSHMEM_VENDOR		0x1af4
#define IVSHMEM_DEVICE		0x1110
#define IVSHMEM_BAR_REGS	0
#define IVSHMEM_BAR_SHM		2
#define IVSHMEM_POSITION	8
#define IVSHMEM_DOORBELL	12

/**
 * struct ivshmem - the port and its device
 * @shared: port, and the region in BAR 2
 * @pdev: device
 * @regs: BAR 0; NULL without doorbell
 * @wb_pages: the mapping was made by vmap_pfn()
 */
struct ivshmem {
	struct rmc_shared shared;
	struct pci_dev *pdev;
	void __iomem *regs;
	bool wb_pages;
};

static struct ivshmem *ivshmem_of(struct rmc_fabric *f)
{
	return container_of(rmc_shared_of(f), struct ivshmem, shared);
}

static void ivshmem_notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane)
{
	struct ivshmem *iv = ivshmem_of(f);
	u32 peer;

	/* the doorbell, then the flag; pairs with the barrier in rmc_ni_park() */
	smp_mb();
	if (!iv->regs || !rmc_endpoint_parked(f, dst, lane))
		return;
	peer = READ_ONCE(f->node[rmc_endpoint_nid(f, dst)].doorbell);
	if (peer && peer <= U16_MAX + 1)
		writel((peer - 1) << 16, iv->regs + IVSHMEM_DOORBELL);
}

static const struct rmc_fabric_ops ivshmem_ops = {
	.name = "ivshmem",
	.channel = rmc_shared_channel,
	.notify = ivshmem_notify,
	.reset = rmc_shared_reset,
};

static irqreturn_t doorbell(int irq, void *data)
{
	struct ivshmem *iv = data;

	rmc_shared_rung(&iv->shared);
	return IRQ_HANDLED;
}

/* Cache mode of the mapping at @addr. */
static const char *memtype(void *addr)
{
#ifdef CONFIG_X86_64
	/* Linux's PAT entries, indexed by the PCD and PWT bits */
	static const char *const names[] = {
		"write-back", "write-combining", "uncached-minus", "uncached",
	};
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)addr, &level);

	if (!pte)
		return "unknown";
	return names[(pte_flags(*pte) & (_PAGE_PCD | _PAGE_PWT)) >> _PAGE_BIT_PWT];
#else
	return "unknown";
#endif
}

#ifdef CONFIG_VMAP_PFN
/*
 * A guest's MTRRs mark the whole PCI window as uncached, and memremap() obeys. But this
 * is RAM of the host, other kernels map it write-back, and hypervisors do not apply a
 * guest's MTRRs; on some of them the guest's page table decides. So write-back page table
 * entries are right.
 */
static void *map_write_back(phys_addr_t start, u64 bytes)
{
	unsigned long *pfns, i, count = bytes >> PAGE_SHIFT;
	void *addr;

	pfns = kvmalloc_array(count, sizeof(*pfns), GFP_KERNEL);
	if (!pfns)
		return NULL;
	for (i = 0; i < count; i++)
		pfns[i] = PHYS_PFN(start) + i;
	addr = vmap_pfn(pfns, count, PAGE_KERNEL);
	kvfree(pfns);
	return addr;
}
#else
static void *map_write_back(phys_addr_t start, u64 bytes)
{
	return NULL;
}
#endif

static int map_region(struct ivshmem *iv)
{
	phys_addr_t start = pci_resource_start(iv->pdev, IVSHMEM_BAR_SHM);
	u64 bytes = pci_resource_len(iv->pdev, IVSHMEM_BAR_SHM);
	void *wb;

	iv->shared.region.bytes = bytes;
	iv->shared.region.base = memremap(start, bytes, MEMREMAP_WB);
	if (!iv->shared.region.base)
		return -ENOMEM;
	iv->shared.port.memtype = memtype(iv->shared.region.base);
	if (strcmp(iv->shared.port.memtype, "uncached-minus"))
		return 0;
	wb = map_write_back(start, bytes);
	if (!wb)
		return 0;
	memunmap(iv->shared.region.base);
	iv->shared.region.base = wb;
	iv->wb_pages = true;
	iv->shared.port.memtype = memtype(wb);
	return 0;
}

static void unmap_region(struct ivshmem *iv)
{
	if (iv->wb_pages)
		vunmap(iv->shared.region.base);
	else
		memunmap(iv->shared.region.base);
}

/* The port works without a doorbell, so this returns no error. */
static void set_up_doorbell(struct ivshmem *iv)
{
	if (!pci_resource_len(iv->pdev, IVSHMEM_BAR_REGS))
		return;
	pci_set_master(iv->pdev);
	if (pci_alloc_irq_vectors(iv->pdev, 1, 1, PCI_IRQ_MSIX) != 1)
		return;
	iv->regs = pci_iomap(iv->pdev, IVSHMEM_BAR_REGS, 0);
	if (!iv->regs)
		goto err_regs;
	iv->shared.irq = pci_irq_vector(iv->pdev, 0);
	if (iv->shared.irq < 0 || request_irq(iv->shared.irq, doorbell, 0, "rmc", iv))
		goto err_irq;
	return;

err_irq:
	iv->shared.irq = 0;
	pci_iounmap(iv->pdev, iv->regs);
	iv->regs = NULL;
err_regs:
	pci_free_irq_vectors(iv->pdev);
}

static void take_down_doorbell(struct ivshmem *iv)
{
	if (!iv->regs)
		return;
	free_irq(iv->shared.irq, iv);
	pci_iounmap(iv->pdev, iv->regs);
	pci_free_irq_vectors(iv->pdev);
}

static struct pci_dev *find_device(void)
{
	return pci_get_device(IVSHMEM_VENDOR, IVSHMEM_DEVICE, NULL);
}

static bool ivshmem_present(const struct rmc_fabric_config *cfg)
{
	struct pci_dev *pdev = find_device();

	pci_dev_put(pdev);
	return !!pdev;
}

static int open_device(struct ivshmem *iv)
{
	int err;

	iv->pdev = find_device();
	if (!iv->pdev) {
		pr_err("there is no ivshmem device (PCI 1af4:1110): give QEMU -device ivshmem-plain, or use fabric=loopback\n");
		return -ENODEV;
	}
	err = pci_enable_device_mem(iv->pdev);
	if (err)
		goto err_enable;
	err = pci_request_regions(iv->pdev, KBUILD_MODNAME);
	if (err) {
		pr_err("%s is used by another driver: unbind that\n", pci_name(iv->pdev));
		goto err_request;
	}
	err = map_region(iv);
	if (err)
		goto err_map;
	return 0;

err_map:
	pci_release_regions(iv->pdev);
err_request:
	pci_disable_device(iv->pdev);
err_enable:
	pci_dev_put(iv->pdev);
	return err;
}

static void close_device(struct ivshmem *iv)
{
	unmap_region(iv);
	pci_release_regions(iv->pdev);
	pci_disable_device(iv->pdev);
	pci_dev_put(iv->pdev);
}

static struct rmc_port *ivshmem_open(const struct rmc_fabric_config *cfg)
{
	struct ivshmem *iv = kzalloc(sizeof(*iv), GFP_KERNEL);
	int err;

	if (!iv)
		return ERR_PTR(-ENOMEM);
	rmc_shared_init(&iv->shared, &rmc_ivshmem, &ivshmem_ops, cfg);

	err = open_device(iv);
	if (err)
		goto err_device;
	err = rmc_region_attach(&iv->shared.region, &iv->shared.port.fabric, cfg);
	if (err)
		goto err_attach;
	err = rmc_shared_claim(&iv->shared, cfg->node);
	if (err)
		goto err_attach;

	set_up_doorbell(iv);
	if (iv->regs)
		rmc_shared_has_doorbell(&iv->shared, readl(iv->regs + IVSHMEM_POSITION) + 1);
	return &iv->shared.port;

err_attach:
	close_device(iv);
err_device:
	kfree(iv);
	return ERR_PTR(err);
}

static void ivshmem_close(struct rmc_port *port)
{
	struct ivshmem *iv = ivshmem_of(&port->fabric);

	take_down_doorbell(iv);
	rmc_region_unclaim(&port->fabric, port->first, port->epoch);
	close_device(iv);
	kfree(iv);
}

const struct rmc_transport rmc_ivshmem = {
	.name = "ivshmem",
	.kind = RMC_FABRIC_IVSHMEM,
	.present = ivshmem_present,
	.open = ivshmem_open,
	.start = rmc_shared_start,
	.stop = rmc_shared_stop,
	.reclaim = rmc_shared_reclaim,
	.close = ivshmem_close,
};
