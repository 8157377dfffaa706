// SPDX-License-Identifier: GPL-2.0
/* Validates a configuration, and chooses the values that it leaves open. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/isolation.h>
#include "config.h"

static int check_range(const char *name, u32 value, u32 lo, u32 hi)
{
	if (value >= lo && value <= hi)
		return 0;
	pr_err("%s=%u is out of range: give %u .. %u\n", name, value, lo, hi);
	return -EINVAL;
}

static int check_order(const char *name, u32 value, u32 lo, u32 hi)
{
	return value ? check_range(name, value, lo, hi) : 0;
}

/* 0: not set by the user. */
static int check_power(const char *name, u32 value, u32 lo, u32 hi)
{
	if (!value || (is_power_of_2(value) && value >= lo && value <= hi))
		return 0;
	pr_err("%s=%u will not do: give a power of two, %u .. %u\n", name, value, lo, hi);
	return -EINVAL;
}

static int check(const struct rmc_config *cfg)
{
	const struct rmc_fabric_config *f = &cfg->fabric;

	if (check_order("nodes", f->nodes, 1, RMC_MAX_NODES) ||
	    check_range("workers", cfg->sets, 1, RMC_MAX_SETS) ||
	    check_power("units", f->units, 1, RMC_MAX_UNITS) ||
	    check_power("rrpps", f->rrpps, 1, RMC_MAX_UNITS) ||
	    check_power("interleave", f->interleave, RMC_INTERLEAVE_MIN,
			RMC_INTERLEAVE_MAX) ||
	    check_range("frontends", cfg->frontends, 1, RMC_MAX_FRONTENDS) ||
	    check_range("itt", cfg->itt, 1, RMC_TID_NONE) ||
	    check_order("mtu", f->mtu, RMC_MTU_MIN, RMC_MTU_MAX) ||
	    check_order("ring_order", f->ring_order, RMC_RING_ORDER_MIN, RMC_RING_ORDER_MAX) ||
	    check_order("pay_order", f->pay_order, 1, RMC_PAY_ORDER_MAX) ||
	    check_range("att_entries", cfg->att_entries, 1, RMC_ATT_ENTRIES_MAX) ||
	    check_range("att_depth", cfg->att_depth, 1, RMC_ATT_DEPTH_MAX) ||
	    check_range("att_stall_ms", cfg->att_stall_ms, 1, 600 * MSEC_PER_SEC) ||
	    check_range("timeout_ms", f->timeout_ms, 16, INT_MAX) ||
	    check_range("dead_ms", f->dead_ms, 100, 600 * MSEC_PER_SEC) ||
	    check_range("park_us", cfg->park_us, 0, USEC_PER_SEC) ||
	    check_range("poll_us_max", f->poll_us_max, RMC_POLL_US_MIN, 10 * USEC_PER_MSEC))
		return -EINVAL;
	if (f->mtu % RMC_LINE) {
		pr_err("mtu=%u is no multiple of %u\n", f->mtu, RMC_LINE);
		return -EINVAL;
	}
	if (f->node >= 0 && f->nodes && f->node >= f->nodes) {
		pr_err("node=%d does not exist among nodes=%u\n", f->node, f->nodes);
		return -EINVAL;
	}
	return 0;
}

/*
 * A CPU of @there but not of @taken: isolated CPUs first; then from the highest down, so
 * CPU 0 comes last. nr_cpu_ids: none.
 */
static unsigned int choose_cpu(const struct cpumask *there, const struct cpumask *taken)
{
	const struct cpumask *busy = housekeeping_cpumask(HK_TYPE_DOMAIN);
	unsigned int cpu;

	for_each_cpu(cpu, there)
		if (!cpumask_test_cpu(cpu, busy) && !cpumask_test_cpu(cpu, taken))
			return cpu;
	for (cpu = nr_cpu_ids; cpu-- > 0;)
		if (cpumask_test_cpu(cpu, there) && !cpumask_test_cpu(cpu, taken))
			return cpu;
	return nr_cpu_ids;
}

static void choose_cpus(struct rmc_config *cfg, u32 want)
{
	unsigned int cpu;

	while (want--) {
		cpu = choose_cpu(cpu_online_mask, &cfg->cpus);
		if (cpu >= nr_cpu_ids)
			return;
		cpumask_set_cpu(cpu, &cfg->cpus);
	}
}

/**
 * rmc_sabre_mode_find() - mechanism of SABRes by name
 * @name: name that the user gave
 *
 * Return: enum rmc_sabre_mode; RMC_SABRE_DEFAULT: unknown name.
 */
u32 rmc_sabre_mode_find(const char *name)
{
	static const char * const names[] = {
		[RMC_SABRE_OVERLAPPED]	= "overlapped",
		[RMC_SABRE_SERIALIZED]	= "serialized",
		[RMC_SABRE_LOCKED]	= "locked",
	};
	u32 i;

	for (i = RMC_SABRE_OVERLAPPED; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return i;
	return RMC_SABRE_DEFAULT;
}

/*
 * Where each unit has a worker, as many units as there are CPUs; a per-tile NI has
 * fewer RRPPs than tiles (T18 section 6.2.2).
 */
static int choose_units(struct rmc_config *cfg, unsigned int online)
{
	struct rmc_fabric_config *f = &cfg->fabric;

	if (!f->units)
		f->units = cfg->ni->per_unit ?
			     clamp(rounddown_pow_of_two(online), 2, RMC_MAX_UNITS) : 1;
	if (!f->rrpps)
		f->rrpps = cfg->ni->per_unit && cfg->ni->separate_rrpp ? max(f->units / 2, 1U) :
			     f->units;
	if (!f->interleave)
		f->interleave = RMC_INTERLEAVE;
	if (f->rrpps > f->units) {
		pr_err("rrpps=%u are more than units=%u\n", f->rrpps, f->units);
		return -EINVAL;
	}
	if (f->nodes * f->units > RMC_MAX_NODES) {
		pr_err("nodes=%u with units=%u are too many: together %u at most\n", f->nodes,
		       f->units, RMC_MAX_NODES);
		return -EINVAL;
	}
	return 0;
}

static u32 choose_channel_mib(void)
{
	u32 ram = totalram_pages() >> (20 - PAGE_SHIFT);

	return max(min(max(ram / RMC_CHANNEL_SHARE, RMC_CHANNEL_MIB_MIN), ram / 2), 1U);
}

/**
 * rmc_config_settle() - validate a configuration and choose the values that it leaves open
 * @cfg: configuration
 *
 * Return: 0, or -EINVAL after logging the reason and the remedy.
 * Context: may sleep.
 */
int rmc_config_settle(struct rmc_config *cfg)
{
	struct rmc_fabric_config *f = &cfg->fabric;
	unsigned int online = num_online_cpus();
	int err = 0;

	if (check(cfg))
		return -EINVAL;
	if (!cfg->ni)
		cfg->ni = rmc_ni_find(online >= 3 ? "pair" : "fused");
	if (choose_units(cfg, online))
		return -EINVAL;
	if (!f->channel_mib)
		f->channel_mib = choose_channel_mib();

	cpus_read_lock();
	if (!cpumask_subset(&cfg->cpus, cpu_online_mask)) {
		pr_err("cpus=%*pbl names a CPU that is not online: %*pbl are\n",
		       cpumask_pr_args(&cfg->cpus), cpumask_pr_args(cpu_online_mask));
		err = -EINVAL;
	}
	cpus_read_unlock();
	return err;
}

/**
 * rmc_config_workers() - choose the values that depend on the number of workers
 * @cfg: settled configuration
 * @workers: number of workers, which the fabric decides
 *
 * Context: may sleep.
 */
void rmc_config_workers(struct rmc_config *cfg, u32 workers)
{
	cpus_read_lock();
	cfg->any_cpu = cpumask_empty(&cfg->cpus);
	if (cfg->any_cpu)
		choose_cpus(cfg, workers);
	/* do not share if each worker has its own CPU and one is left for applications */
	if (cfg->share < 0)
		cfg->share = workers > cpumask_weight(&cfg->cpus) || workers >= num_online_cpus();
	cpus_read_unlock();
}

/**
 * rmc_config_cpu() - CPU of a worker
 * @cfg: settled configuration
 * @worker: number of the worker; CPUs are assigned round-robin
 *
 * Return: CPU number.
 */
unsigned int rmc_config_cpu(const struct rmc_config *cfg, u32 worker)
{
	u32 skip = worker % cpumask_weight(&cfg->cpus);
	unsigned int cpu;

	for_each_cpu(cpu, &cfg->cpus)
		if (!skip--)
			return cpu;
	return cpumask_first(&cfg->cpus);
}

/**
 * rmc_config_spare_cpu() - new CPU for a worker whose CPU goes offline
 * @cfg: settled configuration
 * @there: CPUs that stay online, not empty
 * @taken: CPUs of other workers
 *
 * Chooses as at the start: a CPU that the user named, else any; CPUs without a worker first.
 *
 * Return: CPU number. Context: may sleep, or cpus_read_lock() or its writer's is held.
 */
unsigned int rmc_config_spare_cpu(const struct rmc_config *cfg, const struct cpumask *there,
				  const struct cpumask *taken)
{
	unsigned int cpu;

	if (!cfg->any_cpu) {
		for_each_cpu_and(cpu, &cfg->cpus, there)
			if (!cpumask_test_cpu(cpu, taken))
				return cpu;
		cpu = cpumask_first_and(&cfg->cpus, there);
		if (cpu < nr_cpu_ids)
			return cpu;
	}
	cpu = choose_cpu(there, taken);
	return cpu < nr_cpu_ids ? cpu : choose_cpu(there, cpu_none_mask);
}
