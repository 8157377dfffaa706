// SPDX-License-Identifier: GPL-2.0
/*
 * Remote Memory Controller: parameters, and the ladder of setting up and its
 * mirror. What runs is in device.c, what it emulates in config.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include "device.h"
#include "uring.h"

static char *fabric;
module_param(fabric, charp, 0444);
MODULE_PARM_DESC(fabric, "loopback, ivshmem, or uml on User-Mode Linux (default: ivshmem if the device is there, uml if region= is given)");

static unsigned int nodes;
module_param(nodes, uint, 0444);
MODULE_PARM_DESC(nodes, "nodes in the fabric (default: the region's, else 2 for loopback and 8 for others)");

static int node = -1;
module_param(node, int, 0444);
MODULE_PARM_DESC(node, "ivshmem, uml: node id to claim (default -1: the first that is free)");

static char *ni;
module_param(ni, charp, 0444);
MODULE_PARM_DESC(ni, "NI organisation: fused, pair, edge, per_tile or split (default: pair from 3 CPUs on)");

static unsigned int units;
module_param(units, uint, 0444);
MODULE_PARM_DESC(units, "units per node, 1, 2, 4 or 8 (default: the region's, else 1, for edge, per_tile and split one per CPU)");

static unsigned int rrpps;
module_param(rrpps, uint, 0444);
MODULE_PARM_DESC(rrpps, "units with an RRPP (default: the region's, else all, for per_tile half of them)");

static unsigned int interleave;
module_param(interleave, uint, 0444);
MODULE_PARM_DESC(interleave, "consecutive bytes of a segment that one RRPP serves, a power of two (default: the region's, else 4096)");

static unsigned int frontends = 1;
module_param(frontends, uint, 0444);
MODULE_PARM_DESC(frontends, "split: frontends per unit, 1 .. 8 (default 1)");

static unsigned int workers = 1;
module_param(workers, uint, 0444);
MODULE_PARM_DESC(workers, "sets of worker threads that local nodes are dealt to (default 1)");

static char *cpus;
module_param(cpus, charp, 0444);
MODULE_PARM_DESC(cpus, "list of CPUs for worker threads (default: isolated ones, then from the highest down)");

static int share = -1;
module_param(share, int, 0444);
MODULE_PARM_DESC(share, "1: workers share CPUs with applications and yield, 0: they do not (default -1: 1 if there are too few CPUs)");

static unsigned int mtu;
module_param(mtu, uint, 0444);
MODULE_PARM_DESC(mtu, "largest payload of a packet in bytes, a multiple of 64; 64 is the papers' protocol (default 4096)");

static unsigned int itt = RMC_ITT_ENTRIES;
module_param(itt, uint, 0444);
MODULE_PARM_DESC(itt, "operations in flight per node (default 1024)");

static unsigned int ring_order;
module_param(ring_order, uint, 0444);
MODULE_PARM_DESC(ring_order, "log2 of packets in flight per pair of nodes (default 8; 6 in loopback with more than 16 nodes)");

static unsigned int pay_order;
module_param(pay_order, uint, 0444);
MODULE_PARM_DESC(pay_order, "log2 of 64-byte payload lines per ring (default 8; 6 in loopback with more than 16 nodes)");

static unsigned int att_entries = RMC_ATT_ENTRIES;
module_param(att_entries, uint, 0444);
MODULE_PARM_DESC(att_entries, "SABRes a node serves at once, 1 .. 64 (default 16)");

static unsigned int att_depth = RMC_ATT_DEPTH;
module_param(att_depth, uint, 0444);
MODULE_PARM_DESC(att_depth, "lines of a SABRe fetched before its version is known (default 32)");

static unsigned int att_stall_ms = RMC_ATT_STALL_MS;
module_param(att_stall_ms, uint, 0444);
MODULE_PARM_DESC(att_stall_ms, "milliseconds after which a SABRe whose requests stay away is ended (default 100)");

static char *sabre = "overlapped";
module_param(sabre, charp, 0444);
MODULE_PARM_DESC(sabre, "SABRes of segments that leave it open: overlapped, serialized or locked (default overlapped)");

static unsigned int timeout_ms = RMC_TIMEOUT_MS;
module_param(timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "milliseconds after which an operation without reply fails (default 10000)");

static unsigned int dead_ms = RMC_DEAD_MS;
module_param(dead_ms, uint, 0444);
MODULE_PARM_DESC(dead_ms, "milliseconds after which a peer without heartbeat is down (default 3000)");

static unsigned int park_us = 200;
module_param(park_us, uint, 0444);
MODULE_PARM_DESC(park_us, "microseconds an idle worker spins before it sleeps (default 200)");

static unsigned int poll_us_max = 4000;
module_param(poll_us_max, uint, 0444);
MODULE_PARM_DESC(poll_us_max, "ivshmem and uml without doorbell: longest sleep of an idle worker in microseconds, which bounds the latency an idle node adds (default 4000)");

#ifdef CONFIG_UML
static char *region;
module_param(region, charp, 0444);
MODULE_PARM_DESC(region, "uml: file of the host that all kernels of the fabric map");

static char *bells;
module_param(bells, charp, 0444);
MODULE_PARM_DESC(bells, "uml: named pipes of the host that wake idle workers, as a path that lacks the node id");
#else
static const char *const region, *const bells;
#endif

static struct rmc_device device;

static int parse(struct rmc_config *cfg)
{
	cfg->region = region;
	cfg->bells = bells;
	cfg->transport = fabric ? rmc_transport_find(fabric) : rmc_transport_default(cfg);
	if (!cfg->transport) {
		pr_err("fabric=%s is unknown to this kernel: give loopback, or %s\n", fabric,
		       IS_ENABLED(CONFIG_UML) ? rmc_uml.name : rmc_ivshmem.name);
		return -EINVAL;
	}
	if (ni) {
		cfg->ni = rmc_ni_find(ni);
		if (!cfg->ni) {
			pr_err("ni=%s is unknown: give fused, pair, edge, per_tile or split\n", ni);
			return -EINVAL;
		}
	}
	if (cpus && *cpus && cpulist_parse(cpus, &cfg->cpus)) {
		pr_err("cpus=%s is no list of CPUs below %u: give one like 0,2-3\n", cpus,
		       nr_cpu_ids);
		return -EINVAL;
	}
	cfg->sabre = rmc_sabre_mode_find(sabre);
	if (!cfg->sabre) {
		pr_err("sabre=%s is unknown: give overlapped, serialized or locked\n", sabre);
		return -EINVAL;
	}
	cfg->nodes = nodes;
	cfg->node = node;
	cfg->sets = workers;
	cfg->units = units;
	cfg->rrpps = rrpps;
	cfg->interleave = interleave;
	cfg->frontends = frontends;
	cfg->mtu = mtu;
	cfg->itt = itt;
	cfg->ring_order = ring_order;
	cfg->pay_order = pay_order;
	cfg->att_entries = att_entries;
	cfg->att_depth = att_depth;
	cfg->att_stall_ms = att_stall_ms;
	cfg->timeout_ms = timeout_ms;
	cfg->dead_ms = dead_ms;
	cfg->park_us = park_us;
	cfg->poll_us_max = poll_us_max;
	cfg->share = share < 0 ? -1 : !!share;
	return 0;
}

#ifdef RMC_OS_VECTOR
bool rmc_vector __read_mostly;

static void __init find_vector(void)
{
	rmc_vector = boot_cpu_has(X86_FEATURE_AVX2);
}
#else
static void __init find_vector(void) { }
#endif

static int __init rmc_init(void)
{
	int err;

	find_vector();
	err = parse(&device.cfg);
	if (err)
		return err;
	err = rmc_config_settle(&device.cfg);
	if (err)
		return err;
	err = rmc_device_start(&device);
	if (err)
		return err;
	err = rmc_cdev_register(&device);
	if (err)
		goto err_cdev;
	err = rmc_sysfs_create(&device);
	if (err)
		goto err_sysfs;
	err = rmc_fault_init(&device);
	if (err)
		goto err_fault;
	return 0;

err_fault:
	rmc_sysfs_remove(&device);
err_sysfs:
	rmc_cdev_unregister(&device);
err_cdev:
	rmc_device_stop(&device);
	return err;
}

static void __exit rmc_exit(void)
{
	rmc_fault_exit(&device);
	rmc_sysfs_remove(&device);
	rmc_cdev_unregister(&device);
	rmc_device_stop(&device);
	rmc_uring_exit();
}

module_init(rmc_init);
module_exit(rmc_exit);
MODULE_DESCRIPTION("soNUMA Remote Memory Controller");
MODULE_LICENSE("GPL");
