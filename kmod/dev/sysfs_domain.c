// SPDX-License-Identifier: GPL-2.0
/*
 * Domains of messages for people and scripts, in /sys/class/misc/rmc/node<k>/domains/<context>,
 * from a domain's creation to its end:
 *
 *   policy depth slots cores wake_us waiting
 *   packets messages repeated refused freed dispatched   counters, see struct rmc_dom_stats
 *   waited_p50_ns waited_p99_ns waited_p999_ns served_...   percentiles, see there
 *   waited_histogram served_histogram   lines "nanoseconds count": so many from there to the next
 */
#include <linux/kobject.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include "../core/node.h"
#include "dev.h"

/**
 * struct rmc_domain_dir - directory of a domain
 * @kobj: kernel object
 * @d: domain, until the directory is removed
 * @policy: its policy
 * @depth: messages that a core may have
 * @cores: number of its cores
 */
struct rmc_domain_dir {
	struct kobject kobj;
	const struct rmc_domain *d;
	u32 policy;
	u32 depth;
	const u32 *cores;
};

struct domain_attribute {
	struct attribute attr;
	ssize_t (*show)(const struct rmc_domain_dir *dir, char *buf);
};

static ssize_t dir_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct domain_attribute *a = container_of(attr, struct domain_attribute, attr);

	return a->show(container_of(kobj, struct rmc_domain_dir, kobj), buf);
}

static const struct sysfs_ops dir_ops = {
	.show = dir_show,
};

static void dir_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct rmc_domain_dir, kobj));
}

static struct rmc_dom_stats stats_of(const struct rmc_domain_dir *dir)
{
	struct rmc_dom_stats s = {};

	rmc_domain_report(dir->d, &s);
	return s;
}

static ssize_t show_histogram(const struct rmc_times *t, char *buf)
{
	ssize_t len = 0;
	u64 count;
	u32 i;

	for (i = 0; i < RMC_TIMES_BUCKETS; i++) {
		count = READ_ONCE(t->bucket[i]);
		if (count)
			len += sysfs_emit_at(buf, len, "%llu %llu\n", rmc_times_from(i), count);
	}
	return len;
}

#define ATTR(name, value)							\
	static ssize_t name##_show(const struct rmc_domain_dir *dir, char *buf)	\
	{									\
		return value;							\
	}									\
	static struct domain_attribute attr_##name = { { #name, 0444 }, name##_show }

ATTR(policy, sysfs_emit(buf, "%s\n", rmc_dispatch_name(dir->policy)));
ATTR(depth, sysfs_emit(buf, "%u\n", dir->depth));
ATTR(slots, sysfs_emit(buf, "%u\n", dir->d->p.slots));
ATTR(cores, sysfs_emit(buf, "%u\n", READ_ONCE(*dir->cores)));
ATTR(wake_us, sysfs_emit(buf, "%llu\n", div_u64(dir->d->wake_ns, NSEC_PER_USEC)));
ATTR(waiting, sysfs_emit(buf, "%u\n", stats_of(dir).waiting));
#define X(name, ...) ATTR(name, sysfs_emit(buf, "%llu\n", stats_of(dir).name));
RMC_DOMAIN_STATS(X)
X(dispatched)
#undef X
#define X(name, what, i) ATTR(name, sysfs_emit(buf, "%llu\n", (stats_of(dir).what)[i]));
X(waited_p50_ns, waited_ns, 0)
X(waited_p99_ns, waited_ns, 1)
X(waited_p999_ns, waited_ns, 2)
X(served_p50_ns, served_ns, 0)
X(served_p99_ns, served_ns, 1)
X(served_p999_ns, served_ns, 2)
#undef X
ATTR(waited_histogram, show_histogram(&dir->d->times->waited, buf));
ATTR(served_histogram, show_histogram(&dir->d->times->served, buf));

#define OF(name) (&attr_##name.attr)

static struct attribute *domain_attrs[] = {
	&attr_policy.attr,
	&attr_depth.attr,
	&attr_slots.attr,
	&attr_cores.attr,
	&attr_wake_us.attr,
	&attr_waiting.attr,
	&attr_dispatched.attr,
	&attr_waited_p50_ns.attr,
	&attr_waited_p99_ns.attr,
	&attr_waited_p999_ns.attr,
	&attr_served_p50_ns.attr,
	&attr_served_p99_ns.attr,
	&attr_served_p999_ns.attr,
	&attr_waited_histogram.attr,
	&attr_served_histogram.attr,
#define X(name, ...) OF(name),
	RMC_DOMAIN_STATS(X)
#undef X
	NULL
};
ATTRIBUTE_GROUPS(domain);

static const struct kobj_type domain_type = {
	.release = dir_release,
	.sysfs_ops = &dir_ops,
	.default_groups = domain_groups,
};

/**
 * rmc_sysfs_domain_add() - make the directory of a domain
 * @rmc: device
 * @d: domain, initialized
 * @policy: its policy
 * @depth: messages that a core may have
 * @cores: number of its cores, which changes
 *
 * Return: the directory, or ERR_PTR(-ENOMEM). Context: may sleep.
 */
struct rmc_domain_dir *rmc_sysfs_domain_add(struct rmc_device *rmc, const struct rmc_domain *d,
					    u32 policy, u32 depth, const u32 *cores)
{
	struct rmc_domain_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL_ACCOUNT);
	int err;

	if (!dir)
		return ERR_PTR(-ENOMEM);
	dir->d = d;
	dir->policy = policy;
	dir->depth = depth;
	dir->cores = cores;
	err = kobject_init_and_add(&dir->kobj, &domain_type, rmc_sysfs_domains(rmc, d->head), "%u",
				   d->ctx_id);
	if (!err)
		return dir;
	kobject_put(&dir->kobj);
	return ERR_PTR(err);
}

/**
 * rmc_sysfs_domain_del() - mirror of rmc_sysfs_domain_add()
 * @dir: directory
 *
 * On return no reader uses the domain. Context: may sleep.
 */
void rmc_sysfs_domain_del(struct rmc_domain_dir *dir)
{
	kobject_del(&dir->kobj);
	kobject_put(&dir->kobj);
}
