/* SPDX-License-Identifier: GPL-2.0 */
/* All that runs in this kernel: one fabric port, its nodes, their workers. */
#ifndef RMC_DEVICE_H
#define RMC_DEVICE_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include "config.h"
#include "worker.h"

struct rmc_context;
struct rmc_sysfs;

/**
 * struct rmc_device - the module's state
 * @cfg: settled configuration
 * @port: end of the fabric
 * @node: local nodes; node ids count from @port->first
 * @worker: threads
 * @workers: number of threads
 * @node_lock: held while a node is taken down or up
 * @misc: /dev/rmc
 * @sysfs: directories of nodes and workers
 * @ctx_lock: guards @ctx and the contexts' open counts
 * @ctx: contexts by id
 * @ctx_class: sysfs class of contexts
 * @ctx_devt: first device number of contexts
 * @ctx_cdev: their character device
 *
 * @fault_lock: one change of faults or of the link model at a time
 * @debugfs: their directory
 */
struct rmc_device {
	struct rmc_config cfg;
	struct rmc_port *port;
	struct rmc_node **node;
	struct rmc_worker *worker;
	u32 workers;
	struct mutex node_lock;	/* see above */

	struct miscdevice misc;
	struct rmc_sysfs *sysfs;

	struct mutex ctx_lock;	/* see above */
	struct rmc_context *ctx[RMC_MAX_CONTEXTS];
	struct class *ctx_class;
	dev_t ctx_devt;
	struct cdev ctx_cdev;

	struct mutex fault_lock;	/* see above */
	struct dentry *debugfs;
};

int rmc_device_start(struct rmc_device *rmc);
void rmc_device_stop(struct rmc_device *rmc);
int rmc_device_node_down(struct rmc_device *rmc, struct rmc_node *node);
int rmc_device_node_up(struct rmc_device *rmc, struct rmc_node *node);

/* Local node by id, or NULL. */
static inline struct rmc_node *rmc_device_node(struct rmc_device *rmc, u32 nid)
{
	u32 i = nid - rmc->port->first;

	if (nid < rmc->port->first || i >= rmc->port->locals)
		return NULL;
	return rmc->node[array_index_nospec(i, rmc->port->locals)];
}

/* cdev.c, fault.c, sysfs.c */
int rmc_cdev_register(struct rmc_device *rmc);
void rmc_cdev_unregister(struct rmc_device *rmc);
int rmc_fault_init(struct rmc_device *rmc);
void rmc_fault_exit(struct rmc_device *rmc);
int rmc_sysfs_create(struct rmc_device *rmc);
void rmc_sysfs_remove(struct rmc_device *rmc);
extern const struct attribute_group *rmc_sysfs_groups[];

#endif
