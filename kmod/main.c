// SPDX-License-Identifier: GPL-2.0
/*
 * Remote Memory Controller: module parameters, and the init ladder with its mirror. See
 * run/config.c for the configuration and run/device.c for the device.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/wait_bit.h>
#include "dev/dev.h"
#include "dev/uring_wait.h"

/* Parameters without a default here are 0 until rmc_config_settle() chooses their values. */
static struct rmc_device device = {
	.cfg = {
		.fabric = {
			.node = -1,
			.timeout_ms = RMC_TIMEOUT_MS,
			.dead_ms = RMC_DEAD_MS,
			.poll_us_max = 4000,
		},
		.sets = 1,
		.frontends = 1,
		.itt = RMC_ITT_ENTRIES,
		.att_entries = RMC_ATT_ENTRIES,
		.att_depth = RMC_ATT_DEPTH,
		.att_stall_ms = RMC_ATT_STALL_MS,
		.local = true,
		.park_us = 200,
		.share = -1,
		.quota = {
#define QUOTA_DEFAULT(name, _user, _context)					\
			.user[RMC_RES_##name] = _user, .context[RMC_RES_##name] = _context,
			RMC_QUOTAS(QUOTA_DEFAULT)
#undef QUOTA_DEFAULT
		},
	},
};

static char *fabric;
module_param(fabric, charp, 0444);
MODULE_PARM_DESC(fabric, "loopback, ivshmem, or uml on User-Mode Linux (default: ivshmem if the device is there, uml if region= is given)");

module_param_named(nodes, device.cfg.fabric.nodes, uint, 0444);
MODULE_PARM_DESC(nodes, "nodes in the fabric (default: the region's, else 2 for loopback and 8 for others)");

module_param_named(node, device.cfg.fabric.node, int, 0444);
MODULE_PARM_DESC(node, "ivshmem, uml: node id to claim (default -1: the first that is free)");

static char *ni;
module_param(ni, charp, 0444);
MODULE_PARM_DESC(ni, "NI organisation: fused, pair, edge, per_tile or split (default: pair from 3 CPUs on)");

module_param_named(units, device.cfg.fabric.units, uint, 0444);
MODULE_PARM_DESC(units, "units per node, 1, 2, 4 or 8 (default: the region's, else 1, for edge, per_tile and split one per CPU)");

module_param_named(rrpps, device.cfg.fabric.rrpps, uint, 0444);
MODULE_PARM_DESC(rrpps, "units with an RRPP (default: the region's, else all, for per_tile half of them)");

module_param_named(interleave, device.cfg.fabric.interleave, uint, 0444);
MODULE_PARM_DESC(interleave, "consecutive bytes of a segment that one RRPP serves, a power of two (default: the region's, else 4096)");

module_param_named(frontends, device.cfg.frontends, uint, 0444);
MODULE_PARM_DESC(frontends, "split: frontends per unit, 1 .. 8 (default 1)");

module_param_named(workers, device.cfg.sets, uint, 0444);
MODULE_PARM_DESC(workers, "sets of worker threads that local nodes are dealt to (default 1)");

static char *cpus;
module_param(cpus, charp, 0444);
MODULE_PARM_DESC(cpus, "list of CPUs for worker threads (default: isolated ones, then from the highest down)");

module_param_named(share, device.cfg.share, int, 0444);
MODULE_PARM_DESC(share, "1: workers share CPUs with applications and yield, 0: they do not (default -1: 1 if there are too few CPUs)");

module_param_named(mtu, device.cfg.fabric.mtu, uint, 0444);
MODULE_PARM_DESC(mtu, "largest payload of a packet in bytes, a multiple of 64; 64 is the papers' protocol (default 4096)");

module_param_named(itt, device.cfg.itt, uint, 0444);
MODULE_PARM_DESC(itt, "operations in flight per node (default 1024)");

module_param_named(ring_order, device.cfg.fabric.ring_order, uint, 0444);
MODULE_PARM_DESC(ring_order, "log2 of packets in flight per pair of nodes (default 8; 6 in loopback with more than 16 nodes)");

module_param_named(pay_order, device.cfg.fabric.pay_order, uint, 0444);
MODULE_PARM_DESC(pay_order, "log2 of 64-byte payload lines per ring (default 8; 6 in loopback with more than 16 nodes)");

module_param_named(att_entries, device.cfg.att_entries, uint, 0444);
MODULE_PARM_DESC(att_entries, "SABRes a node serves at once, 1 .. 64 (default 16)");

module_param_named(att_depth, device.cfg.att_depth, uint, 0444);
MODULE_PARM_DESC(att_depth, "lines of a SABRe fetched before its version is known (default 32)");

module_param_named(att_stall_ms, device.cfg.att_stall_ms, uint, 0444);
MODULE_PARM_DESC(att_stall_ms, "milliseconds after which a SABRe whose requests stay away is ended (default 100)");

static char *sabre = "overlapped";
module_param(sabre, charp, 0444);
MODULE_PARM_DESC(sabre, "SABRes of segments that leave it open: overlapped, serialized or locked (default overlapped)");

module_param_named(timeout_ms, device.cfg.fabric.timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "milliseconds after which an operation without reply fails (default 10000)");

module_param_named(dead_ms, device.cfg.fabric.dead_ms, uint, 0444);
MODULE_PARM_DESC(dead_ms, "milliseconds after which a peer without heartbeat is down (default 3000)");

module_param_named(local, device.cfg.local, bool, 0444);
MODULE_PARM_DESC(local, "operations between nodes of one worker go without packets; changed per node in /sys/class/misc/rmc/node<n>/local_path (default Y)");

module_param_named(park_us, device.cfg.park_us, uint, 0444);
MODULE_PARM_DESC(park_us, "microseconds an idle worker spins before it sleeps (default 200)");

module_param_named(poll_us_max, device.cfg.fabric.poll_us_max, uint, 0444);
MODULE_PARM_DESC(poll_us_max, "ivshmem and uml without doorbell: longest sleep of an idle worker in microseconds, which bounds the latency an idle node adds (default 4000)");

#ifdef CONFIG_UML
static char *region;
module_param(region, charp, 0444);
MODULE_PARM_DESC(region, "uml: file of the host that all kernels of the fabric map");

static char *doorbells;
module_param(doorbells, charp, 0444);
MODULE_PARM_DESC(doorbells, "uml: named pipes of the host that wake idle workers, as a path that lacks the node id");
#else
static const char *const region, *const doorbells;
#endif

/*
 * Quotas are read at each charge, so root may change them at any time. Resources that are
 * already held stay.
 */
static int set_quota(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, INT_MAX);
}

static const struct kernel_param_ops quota_ops = {
	.set = set_quota,
	.get = param_get_uint,
};

module_param_cb(channel_mib, &quota_ops, &device.cfg.fabric.channel_mib, 0644);
MODULE_PARM_DESC(channel_mib, "loopback: MiB of memory for channels between nodes (default: an eighth of the machine's, at least 256, at most half)");

module_param_cb(max_qps_user, &quota_ops, &device.cfg.quota.user[RMC_RES_qps], 0644);
MODULE_PARM_DESC(max_qps_user, "queue pairs of one node that a user may have (default 256)");

module_param_cb(max_qps_context, &quota_ops, &device.cfg.quota.context[RMC_RES_qps], 0644);
MODULE_PARM_DESC(max_qps_context, "queue pairs of one node that all users of a context may have (default 512)");

module_param_cb(max_files_user, &quota_ops, &device.cfg.quota.user[RMC_RES_files], 0644);
MODULE_PARM_DESC(max_files_user, "contexts that a user may have open, each as often as it is (default 1024)");

module_param_cb(max_files_context, &quota_ops, &device.cfg.quota.context[RMC_RES_files], 0644);
MODULE_PARM_DESC(max_files_context, "how often a context may be open (default 4096)");

module_param_cb(max_buffers_user, &quota_ops, &device.cfg.quota.user[RMC_RES_buffers], 0644);
MODULE_PARM_DESC(max_buffers_user, "local buffers that a user may have registered (default 4096)");

module_param_cb(max_buffers_context, &quota_ops, &device.cfg.quota.context[RMC_RES_buffers],
		0644);
MODULE_PARM_DESC(max_buffers_context, "local buffers that all users of a context may have registered (default 16384)");

module_param_cb(queue_mib_user, &quota_ops, &device.cfg.quota.user[RMC_RES_queue_mib], 0644);
MODULE_PARM_DESC(queue_mib_user, "MiB of kernel memory that a user's queue pairs may take (default 64)");

module_param_cb(queue_mib_context, &quota_ops, &device.cfg.quota.context[RMC_RES_queue_mib],
		0644);
MODULE_PARM_DESC(queue_mib_context, "MiB of kernel memory that queue pairs of a context may take (default 128)");

module_param_cb(max_waits_user, &quota_ops, &device.cfg.quota.user[RMC_RES_waits], 0644);
MODULE_PARM_DESC(max_waits_user, "io_uring commands of a user that may wait (default 16384)");

module_param_cb(max_waits_context, &quota_ops, &device.cfg.quota.context[RMC_RES_waits], 0644);
MODULE_PARM_DESC(max_waits_context, "io_uring commands of all users of a context that may wait (default 65536)");

module_param_cb(max_tx_slots_user, &quota_ops, &device.cfg.quota.user[RMC_RES_tx_slots], 0644);
MODULE_PARM_DESC(max_tx_slots_user, "slots for transactions of one node that a user may have (default 56)");

module_param_cb(max_tx_slots_context, &quota_ops, &device.cfg.quota.context[RMC_RES_tx_slots],
		0644);
MODULE_PARM_DESC(max_tx_slots_context, "slots for transactions of one node that all users of a context may have (default 512)");

static int parse(struct rmc_config *cfg)
{
	cfg->fabric.region = region;
	cfg->fabric.doorbells = doorbells;
	cfg->fabric.transport = fabric ? rmc_transport_find(fabric) :
					 rmc_transport_default(&cfg->fabric);
	if (!cfg->fabric.transport) {
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
	cfg->share = cfg->share < 0 ? -1 : !!cfg->share;
	return 0;
}

/* An open of /dev/rmc waits for this. */
static void set_state(struct rmc_device *rmc, enum rmc_device_state state)
{
	/* pairs with the acquire in control_open() */
	smp_store_release(&rmc->state, state);
	/* the state, then check for waiters; pairs with prepare_to_wait() */
	smp_mb();
	wake_up_var(&rmc->state);
}

static int __init rmc_init(void)
{
	int err;

	rmc_os_init();
	err = parse(&device.cfg);
	if (err)
		return err;
	err = rmc_config_settle(&device.cfg);
	if (err)
		return err;
	err = rmc_fault_parse(&device.cfg);
	if (err)
		return err;
	err = rmc_device_start(&device);
	if (err)
		return err;
	err = rmc_fault_init(&device);
	if (err)
		goto err_fault;
	err = rmc_cdev_register(&device);
	if (err)
		goto err_cdev;
	err = rmc_sysfs_create(&device);
	if (err)
		goto err_sysfs;
	set_state(&device, RMC_DEVICE_RUNNING);
	return 0;

err_sysfs:
	set_state(&device, RMC_DEVICE_FAILED);
	rmc_cdev_unregister(&device);
err_cdev:
	rmc_fault_exit(&device);
err_fault:
	rmc_device_stop(&device);
	return err;
}

static void __exit rmc_exit(void)
{
	rmc_sysfs_remove(&device);
	rmc_cdev_unregister(&device);
	rmc_fault_exit(&device);
	rmc_device_stop(&device);
	rmc_waits_exit();
}

module_init(rmc_init);
module_exit(rmc_exit);
MODULE_DESCRIPTION("soNUMA Remote Memory Controller");
MODULE_LICENSE("GPL");
MODULE_VERSION(RMC_MODULE_VERSION);
