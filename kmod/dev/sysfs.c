// SPDX-License-Identifier: GPL-2.0
/*
 * State for people and scripts, in /sys/class/misc/rmc:
 *
 *   fabric ni units rrpps interleave nodes local_nodes nid mtu share peers_up memtype
 *   channel_kib
 *   node<k>/state, node<k>/epoch, node<k>/counters/<name>   for local nodes;
 *	"down" or "up" written to state takes the node out of the fabric or back
 *   node<k>/local_path   whether operations whose both ends have one worker take the local
 *	path, without packets; may be written at any time
 *   node<k>/domains/<context>/   sysfs_domain.c
 *   worker<k>/cpu, stages, visits, worked, parks, interrupts, wakeups, inline_polls
 */
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include "dev.h"

static const char *const state_names[] = {
	[RMC_NODE_FREE] = "free",
	[RMC_NODE_JOINING] = "joining",
	[RMC_NODE_UP] = "up",
	[RMC_NODE_DOWN] = "down",
};

static struct rmc_device *device_of(struct device *dev)
{
	/* the misc core stores its struct here */
	struct miscdevice *misc = dev_get_drvdata(dev);

	return container_of(misc, struct rmc_device, misc);
}

#define RMC_ATTR(name, format, value)						\
	static ssize_t name##_show(struct device *dev, struct device_attribute *attr, \
				   char *buf)					\
	{									\
		struct rmc_device *rmc = device_of(dev);			\
										\
		return sysfs_emit(buf, format "\n", value);			\
	}									\
	static DEVICE_ATTR_RO(name)

static u32 count_up(struct rmc_device *rmc)
{
	u32 i, n = 0;

	for (i = 0; i < rmc->port->fabric.nodes; i++)
		if (i != rmc->port->first)
			n += rmc_port_state(rmc->port, i) == RMC_NODE_UP;
	return n;
}

RMC_ATTR(fabric, "%s", rmc->port->transport->name);
RMC_ATTR(ni, "%s", rmc->cfg.ni->name);
RMC_ATTR(units, "%u", rmc_fabric_units(&rmc->port->fabric));
RMC_ATTR(rrpps, "%u", rmc_fabric_rrpps(&rmc->port->fabric));
RMC_ATTR(interleave, "%u", rmc->port->fabric.interleave);
RMC_ATTR(nodes, "%u", rmc->port->fabric.nodes);
RMC_ATTR(local_nodes, "%u", rmc->port->locals);
RMC_ATTR(nid, "%u", rmc->port->first);
RMC_ATTR(mtu, "%u", rmc->port->fabric.mtu);
RMC_ATTR(share, "%d", rmc->cfg.share);
RMC_ATTR(peers_up, "%u", count_up(rmc));
RMC_ATTR(memtype, "%s", rmc->port->memtype);
RMC_ATTR(channel_kib, "%llu", READ_ONCE(rmc->port->channel_bytes) >> 10);

static struct attribute *rmc_attrs[] = {
	&dev_attr_fabric.attr,
	&dev_attr_ni.attr,
	&dev_attr_units.attr,
	&dev_attr_rrpps.attr,
	&dev_attr_interleave.attr,
	&dev_attr_nodes.attr,
	&dev_attr_local_nodes.attr,
	&dev_attr_nid.attr,
	&dev_attr_mtu.attr,
	&dev_attr_share.attr,
	&dev_attr_peers_up.attr,
	&dev_attr_memtype.attr,
	&dev_attr_channel_kib.attr,
	NULL
};

static const struct attribute_group rmc_group = {
	.attrs = rmc_attrs,
};

const struct attribute_group *rmc_sysfs_groups[] = { &rmc_group, NULL };

/* Directory of a node or of a worker: one of @node and @worker is set. */
struct rmc_dir {
	struct kobject kobj;
	struct rmc_device *rmc;
	struct rmc_port *port;
	struct rmc_node *node;
	struct rmc_worker *worker;
	struct kobject *domains;	/* of a node: its directory of domains */
};

/**
 * struct rmc_sysfs - the directories of nodes and workers
 * @count: number of directories
 * @dir: directories
 */
struct rmc_sysfs {
	u32 count;
	struct rmc_dir *dir[];
};

struct dir_attribute {
	struct attribute attr;
	ssize_t (*show)(struct rmc_dir *d, char *buf);
	ssize_t (*store)(struct rmc_dir *d, const char *buf, size_t len);
};

static ssize_t dir_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct dir_attribute *a = container_of(attr, struct dir_attribute, attr);

	return a->show(container_of(kobj, struct rmc_dir, kobj), buf);
}

static ssize_t dir_store(struct kobject *kobj, struct attribute *attr, const char *buf,
			 size_t len)
{
	struct dir_attribute *a = container_of(attr, struct dir_attribute, attr);

	return a->store ? a->store(container_of(kobj, struct rmc_dir, kobj), buf, len) : -EIO;
}

static const struct sysfs_ops dir_ops = {
	.show = dir_show,
	.store = dir_store,
};

static void dir_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct rmc_dir, kobj));
}

#define DIR_ATTR(prefix, name, format, value)					\
	static ssize_t prefix##_##name##_show(struct rmc_dir *d, char *buf)	\
	{									\
		return sysfs_emit(buf, format "\n", value);			\
	}									\
	static struct dir_attribute prefix##_##name =				\
		{ { #name, 0444 }, prefix##_##name##_show, NULL }

static ssize_t of_node_state_show(struct rmc_dir *d, char *buf)
{
	return sysfs_emit(buf, "%s\n", state_names[rmc_port_state(d->port, d->node->nid)]);
}

static ssize_t of_node_state_store(struct rmc_dir *d, const char *buf, size_t len)
{
	int err;

	if (sysfs_streq(buf, state_names[RMC_NODE_DOWN]))
		err = rmc_device_node_down(d->rmc, d->node);
	else if (sysfs_streq(buf, state_names[RMC_NODE_UP]))
		err = rmc_device_node_up(d->rmc, d->node);
	else
		err = -EINVAL;
	return err ?: len;
}

static struct dir_attribute of_node_state = {
	{ "state", 0644 }, of_node_state_show, of_node_state_store
};

DIR_ATTR(of_node, epoch, "%u", READ_ONCE(d->port->fabric.node[d->node->nid].epoch));

static ssize_t of_node_local_path_show(struct rmc_dir *d, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(d->node->local));
}

static ssize_t of_node_local_path_store(struct rmc_dir *d, const char *buf, size_t len)
{
	bool local;
	int err = kstrtobool(buf, &local);
	u32 i;

	if (err)
		return err;
	/* order is kept: the local path waits until all packets are back */
	for (i = 0; i < rmc_fabric_units(d->node->fabric); i++)
		WRITE_ONCE(d->node->unit[i]->local, local);
	return len;
}

static struct dir_attribute of_node_local_path = {
	{ "local_path", 0644 }, of_node_local_path_show, of_node_local_path_store
};

static struct attribute *node_attrs[] = {
	&of_node_state.attr,
	&of_node_epoch.attr,
	&of_node_local_path.attr,
	NULL
};

static const struct attribute_group node_group = {
	.attrs = node_attrs,
};

/* A node's counter is the sum of its units'. */
static u64 sum_counter(const struct rmc_node *node, size_t at)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < rmc_fabric_units(node->fabric); i++)
		sum += READ_ONCE(*(u64 *)((u8 *)&node->unit[i]->stats + at));
	return sum;
}

#define COUNTER(name)								\
	DIR_ATTR(counter, name, "%llu",						\
		 sum_counter(d->node, offsetof(struct rmc_stats, name)));
RMC_STATS(COUNTER)
#undef COUNTER

static struct attribute *counter_attrs[] = {
#define COUNTER(name) &counter_##name.attr,
	RMC_STATS(COUNTER)
#undef COUNTER
	NULL
};

static const struct attribute_group counter_group = {
	.name = "counters",
	.attrs = counter_attrs,
};

static const struct attribute_group *node_groups[] = { &node_group, &counter_group, NULL };

static const struct kobj_type node_type = {
	.release = dir_release,
	.sysfs_ops = &dir_ops,
	.default_groups = node_groups,
};

static const char *stage_names(u32 stages)
{
	if (stages == RMC_STAGE_FRONT)
		return "frontend";
	if (stages == RMC_STAGE_REQ)
		return "rgp rcp";
	return stages == RMC_STAGE_SRV ? "rrpp" : "rgp rrpp rcp";
}

DIR_ATTR(worker, cpu, "%u", READ_ONCE(d->worker->cpu));
DIR_ATTR(worker, stages, "%s", stage_names(d->worker->ni.stages));
DIR_ATTR(worker, visits, "%llu", READ_ONCE(d->worker->ni.visits));
DIR_ATTR(worker, worked, "%llu", READ_ONCE(d->worker->ni.worked));
DIR_ATTR(worker, parks, "%llu", READ_ONCE(d->worker->ni.parks));
DIR_ATTR(worker, interrupts, "%llu", READ_ONCE(d->worker->interrupts));
DIR_ATTR(worker, wakeups, "%llu", READ_ONCE(d->worker->ni.wakeups));
DIR_ATTR(worker, inline_polls, "%llu", READ_ONCE(d->worker->ni.inline_polls));

static struct attribute *worker_attrs[] = {
	&worker_cpu.attr,
	&worker_stages.attr,
	&worker_visits.attr,
	&worker_worked.attr,
	&worker_parks.attr,
	&worker_interrupts.attr,
	&worker_wakeups.attr,
	&worker_inline_polls.attr,
	NULL
};
ATTRIBUTE_GROUPS(worker);

static const struct kobj_type worker_type = {
	.release = dir_release,
	.sysfs_ops = &dir_ops,
	.default_groups = worker_groups,
};

static int add_dir(struct rmc_device *rmc, const struct kobj_type *type,
		   struct rmc_node *node, struct rmc_worker *worker, u32 number)
{
	struct rmc_dir *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int err;

	if (!d)
		return -ENOMEM;
	d->rmc = rmc;
	d->port = rmc->port;
	d->node = node;
	d->worker = worker;
	err = kobject_init_and_add(&d->kobj, type, &rmc->misc.this_device->kobj, "%s%u",
				   node ? "node" : "worker", number);
	if (err) {
		kobject_put(&d->kobj);
		return err;
	}
	rmc->sysfs->dir[rmc->sysfs->count++] = d;
	if (!node)
		return 0;
	d->domains = kobject_create_and_add("domains", &d->kobj);
	return d->domains ? 0 : -ENOMEM;
}

/**
 * rmc_sysfs_domains() - directory in which those of a node's domains are
 * @rmc: device, running
 * @node: local node
 *
 * Return: its kernel object. Context: any.
 */
struct kobject *rmc_sysfs_domains(struct rmc_device *rmc, const struct rmc_node *node)
{
	/* nodes come first, in this order */
	return rmc->sysfs->dir[node->nid - rmc->port->first]->domains;
}

/**
 * rmc_sysfs_create() - make the directories of nodes and workers
 * @rmc: device whose /dev/rmc exists
 *
 * Return: 0 or a negative errno. Context: may sleep.
 */
int rmc_sysfs_create(struct rmc_device *rmc)
{
	u32 dirs = rmc->port->locals + rmc->workers, i;
	int err = 0;

	rmc->sysfs = kvzalloc(struct_size(rmc->sysfs, dir, dirs), GFP_KERNEL);
	if (!rmc->sysfs)
		return -ENOMEM;
	for (i = 0; i < rmc->port->locals && !err; i++)
		err = add_dir(rmc, &node_type, rmc->node[i], NULL, rmc->node[i]->nid);
	for (i = 0; i < rmc->workers && !err; i++)
		err = add_dir(rmc, &worker_type, NULL, &rmc->worker[i], i);
	if (err)
		rmc_sysfs_remove(rmc);
	return err;
}

/**
 * rmc_sysfs_remove() - mirror of rmc_sysfs_create()
 * @rmc: device
 *
 * On return no reader uses the directories. Context: may sleep.
 */
void rmc_sysfs_remove(struct rmc_device *rmc)
{
	while (rmc->sysfs->count) {
		struct rmc_dir *d = rmc->sysfs->dir[--rmc->sysfs->count];

		kobject_put(d->domains);
		kobject_del(&d->kobj);
		kobject_put(&d->kobj);
	}
	kvfree(rmc->sysfs);
}
