/* SPDX-License-Identifier: GPL-2.0 */
/* The device: this kernel's fabric port, its nodes, their workers. */
#ifndef RMC_DEVICE_H
#define RMC_DEVICE_H

#include <linux/cdev.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "config.h"
#include "worker.h"

struct rmc_context;
struct rmc_exposed;
struct rmc_sysfs;

/* State of the module: files can be opened only while it is RUNNING. */
enum rmc_device_state {
	RMC_DEVICE_STARTING,
	RMC_DEVICE_RUNNING,
	RMC_DEVICE_FAILED,
};

/**
 * struct rmc_device - the module's state
 * @state: enum rmc_device_state
 * @cfg: settled configuration
 * @port: end of the fabric
 * @node: local nodes; node ids count from @port->first
 * @worker: threads
 * @workers: number of threads
 * @hotplug: instance of @hotplug_state
 * @hotplug_state: CPU hotplug state
 * @cpus_there: CPUs that stay online; valid while workers are moved
 * @cpus_taken: CPUs of workers that are not moved; valid while workers are moved
 * @node_lock: held while a node is taken down or up
 * @misc: /dev/rmc
 * @sysfs: directories of nodes and workers
 * @ctx_lock: guards @ctx and the contexts' open counts
 * @ctx: contexts by id
 * @ctx_class: sysfs class of contexts
 * @ctx_devt: first device number of contexts
 * @ctx_cdev: character device of contexts
 *
 * @quota_lock: guards @users and the accounts of users and contexts
 * @users: struct rmc_user of users with open contexts, by uid
 *
 * @tx_lock: guards @engines, and who uses them
 * @engines: struct rmc_engine, kmod/dev/engine.c
 * @tx_reap: frees those that nobody uses
 *
 * @exposed: lines that segments expose, kmod/dev/exposed.c; NULL: one worker serves all
 *
 * @fault_lock: serializes changes of faults and of the link model
 * @debugfs: directory of the fault files
 */
struct rmc_device {
	u32 state;
	struct rmc_config cfg;
	struct rmc_port *port;
	struct rmc_node **node;
	struct rmc_worker *worker;
	u32 workers;
	struct hlist_node hotplug;
	enum cpuhp_state hotplug_state;
	struct cpumask cpus_there;
	struct cpumask cpus_taken;
	struct mutex node_lock;	/* see above */

	struct miscdevice misc;
	struct rmc_sysfs *sysfs;

	struct mutex ctx_lock;	/* see above */
	struct rmc_context *ctx[RMC_MAX_CONTEXTS];
	struct class *ctx_class;
	dev_t ctx_devt;
	struct cdev ctx_cdev;

	struct mutex quota_lock;	/* see above */
	struct xarray users;

	struct mutex tx_lock;	/* see above */
	struct list_head engines;
	struct delayed_work tx_reap;

	struct rmc_exposed *exposed;

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

/**
 * rmc_port_state() - state of a node
 * @port: port
 * @nid: node id, less than the fabric's nodes
 *
 * Return: enum rmc_node_state; in a fabric of several kernels the local node's view,
 * because the entry of a dead node stays UP.
 */
static inline u32 rmc_port_state(struct rmc_port *port, u32 nid)
{
	struct rmc_fabric *f = &port->fabric;
	struct rmc_node *self = f->local[rmc_endpoint(f, port->first)];
	struct rmc_node *local = f->local[rmc_endpoint(f, nid)];
	u32 state;

	/* the entry belongs to another kernel */
	if (local && READ_ONCE(local->fenced))
		return RMC_NODE_DOWN;
	if (f->sync && !local)
		return READ_ONCE(self->peer[nid].state);
	state = READ_ONCE(f->node[nid].state);
	return state <= RMC_NODE_DOWN ? state : RMC_NODE_DOWN;
}

#endif
