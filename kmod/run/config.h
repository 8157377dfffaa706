/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Configuration of the emulator, as a plain object. main.c fills it in from the module
 * parameters; device.h has the state that runs by it.
 */
#ifndef RMC_CONFIG_H
#define RMC_CONFIG_H

#include <linux/cpumask.h>
#include "../fabric/transport.h"
#include "../ni/ni.h"

/* Sets of worker threads; the NI organisation decides the number of workers in a set */
#define RMC_MAX_SETS		64
/*
 * Memory for loopback's channels, which cannot be swapped: 1 / RMC_CHANNEL_SHARE of the
 * machine's memory. At least enough for all channels of 128 nodes (200 MiB), but at most
 * half of the machine's memory.
 */
#define RMC_CHANNEL_SHARE	8
#define RMC_CHANNEL_MIB_MIN	256

/*
 * Quotas: field of struct rmc_quota, default per user, default per context.
 *
 *   qps		queue pairs of one node. RMC_MAX_QPS of a node are the full quotas
 *			of four users, or of two contexts.
 *   files		open contexts. A process may usually open 1024 files; each takes
 *			up to 20 KiB of kernel memory.
 *   buffers		local buffers: the maximum of 16 files.
 *   queue_mib		MiB of queue pairs' kernel memory, of all nodes: 256 of the
 *			longest queues take 21 MiB, in the split organisation 42 MiB.
 *   waits		io_uring commands that wait: the maximum of 16 files, some 6 MiB.
 *   tx_slots	slots for transactions of one node: 25 cores with two transactions each
 *			(HADES table III), and some of the 64 of a unit are left for others.
 */
#define RMC_QUOTAS(X)				\
	X(qps,		256,	512)		\
	X(files,	1024,	4096)		\
	X(buffers,	4096,	16384)		\
	X(queue_mib,	64,	128)		\
	X(waits,	16384,	65536)	\
	X(tx_slots,	56,	512)

enum rmc_resource {
#define RMC_QUOTA_ENUM(name, user, context) RMC_RES_##name,
	RMC_QUOTAS(RMC_QUOTA_ENUM)
#undef RMC_QUOTA_ENUM
	RMC_RESOURCES
};

/**
 * struct rmc_quota - limits, by enum rmc_resource; may change at any time
 * @user: of one user
 * @context: of one context
 */
struct rmc_quota {
	u32 user[RMC_RESOURCES];
	u32 context[RMC_RESOURCES];
};

/**
 * struct rmc_config - configuration of the emulator
 * @fabric: the fabric, and this kernel's place in it
 * @ni: NI organisation; NULL until rmc_config_settle() chooses one
 * @sets: sets of worker threads
 * @frontends: frontends per unit, in the split organisation
 * @itt: operations in flight per node
 * @att_entries: active SABRes per node
 * @att_depth: lines of one SABRe fetched ahead
 * @att_stall_ms: an active SABRe without requests is ended after this
 * @sabre: enum rmc_sabre_mode of segments registered with RMC_SABRE_DEFAULT
 * @local: initial value of rmc_node.local: the local path is allowed
 * @park_us: an idle worker spins this long before it parks
 * @share: workers share CPUs with applications; -1 until rmc_config_workers()
 * @cpus: CPUs of the worker threads; empty: choose
 * @any_cpu: the user named no CPUs, so workers may leave @cpus
 * @quota: quotas of users and contexts
 */
struct rmc_config {
	struct rmc_fabric_config fabric;
	const struct rmc_ni_org *ni;
	u32 sets;
	u32 frontends;
	u32 itt;
	u32 att_entries;
	u32 att_depth;
	u32 att_stall_ms;
	u32 sabre;
	bool local;
	u32 park_us;
	s32 share;
	struct cpumask cpus;
	bool any_cpu;
	struct rmc_quota quota;
};

u32 rmc_sabre_mode_find(const char *name);
int rmc_config_settle(struct rmc_config *cfg);
void rmc_config_workers(struct rmc_config *cfg, u32 workers);
unsigned int rmc_config_cpu(const struct rmc_config *cfg, u32 worker);
unsigned int rmc_config_spare_cpu(const struct rmc_config *cfg, const struct cpumask *there,
				  const struct cpumask *taken);

#endif
