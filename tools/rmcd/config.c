// SPDX-License-Identifier: GPL-2.0
/* Command line, and the values that it leaves open. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "opt.h"
#include "rmcd.h"

/* Memory for channels: as in kmod/run/config.h */
#define CHANNEL_SHARE		8
#define CHANNEL_MIB_MIN		256U

static const char usage[] =
	"rmcd [-n NODES] [OPTION ...]\n\n"
	"Plays the RMC of one or several nodes for processes of this machine, without a module.\n"
	"Programs of librmc find it by itself where there is no module; RMC_DEVICE=daemon or\n"
	"RMC_DEVICE=SOCKET asks for it. It runs in the foreground until SIGTERM or SIGINT.";

/* Options as text and numbers, before they are checked against each other */
struct options {
	const char *ni;
	const char *cpus;
	const char *sabre;
	int nodes;
	int node;
	int sets;
	int units;
	int rrpps;
	int interleave;
	int frontends;
	int mtu;
	int itt;
	int ring_order;
	int pay_order;
	int att_entries;
	int att_depth;
	int att_stall_ms;
	int timeout_ms;
	int dead_ms;
	int park_us;
	int poll_us_max;
	int share;
	int local;
	int channel_mib;
};

static int parse_cpus(struct rmcd_config *cfg, const char *list)
{
	const char *s = list;
	u32 first, last;
	int used;

	while (sscanf(s, "%u%n", &first, &used) == 1) {
		s += used;
		last = first;
		if (*s == '-' && sscanf(s + 1, "%u%n", &last, &used) == 1)
			s += used + 1;
		if (first > last || last >= CPU_SETSIZE)
			break;
		for (; first <= last; first++) {
			if (CPU_ISSET(first, &cfg->cpus))
				continue;
			CPU_SET(first, &cfg->cpus);
			cfg->cpu[cfg->cpu_count++] = first;
		}
		if (!*s)
			return 0;
		if (*s++ != ',')
			break;
	}
	rmcd_log("--cpus %s is no list of CPUs: give one like 0,2-3", list);
	return -EINVAL;
}

static u32 cpus_here(cpu_set_t *set)
{
	if (sched_getaffinity(0, sizeof(*set), set)) {
		CPU_ZERO(set);
		CPU_SET(0, set);
	}
	return CPU_COUNT(set);
}

static bool power(int n)
{
	return !(n & (n - 1));
}

static int check_powers(const struct options *o)
{
	if (power(o->units) && power(o->rrpps) && power(o->interleave))
		return 0;
	rmcd_log("--units, --rrpps and --interleave are powers of two");
	return -EINVAL;
}

/* As kmod/run/config.c: a unit per CPU where each unit has a worker. */
static int choose_units(struct rmcd_config *cfg, const struct options *o, u32 online)
{
	struct rmc_fabric_config *f = &cfg->fabric;

	f->units = o->units;
	f->rrpps = o->rrpps;
	if (!f->units)
		f->units = cfg->ni->per_unit ?
			   min(max(1U << ilog2(online), 2U), (u32)RMC_MAX_UNITS) : 1;
	if (!f->rrpps)
		f->rrpps = cfg->ni->per_unit && cfg->ni->separate_rrpp ? max(f->units / 2, 1U) :
									 f->units;
	f->interleave = o->interleave ? (u32)o->interleave : RMC_INTERLEAVE;
	if (f->rrpps > f->units || f->nodes * f->units > RMC_MAX_NODES) {
		rmcd_log("--nodes %u --units %u --rrpps %u: at most %u units together, and no more RRPPs than units",
			 f->nodes, f->units, f->rrpps, RMC_MAX_NODES);
		return -EINVAL;
	}
	return 0;
}

static u32 choose_channel_mib(void)
{
	u64 ram = (u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) >> 20;

	return max(min(max((u32)(ram / CHANNEL_SHARE), CHANNEL_MIB_MIN), (u32)(ram / 2)), 1U);
}

/* RMC_SABRE_DEFAULT: unknown name */
static u32 sabre_mode(const char *name)
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

static int settle(struct rmcd_config *cfg, const struct options *o)
{
	struct rmc_fabric_config *f = &cfg->fabric;
	cpu_set_t set;
	u32 online = cpus_here(&set);

	f->nodes = o->nodes;
	f->node = o->node;
	f->mtu = o->mtu;
	f->ring_order = o->ring_order;
	f->pay_order = o->pay_order;
	f->timeout_ms = o->timeout_ms;
	f->dead_ms = o->dead_ms;
	f->poll_us_max = o->poll_us_max;
	f->channel_mib = o->channel_mib ? (u32)o->channel_mib : choose_channel_mib();
	cfg->sets = o->sets;
	cfg->frontends = o->frontends;
	cfg->itt = o->itt;
	cfg->att_entries = o->att_entries;
	cfg->att_depth = o->att_depth;
	cfg->att_stall_ms = o->att_stall_ms;
	cfg->park_us = o->park_us;
	cfg->share = o->share;
	cfg->local = o->local;
	cfg->ni = rmc_ni_find(o->ni ?: online >= 3 ? "pair" : "fused");
	if (!cfg->ni) {
		rmcd_log("--ni %s is unknown: give fused, pair, edge, per_tile or split", o->ni);
		return -EINVAL;
	}
	cfg->sabre = sabre_mode(o->sabre);
	if (!cfg->sabre) {
		rmcd_log("--sabre %s is unknown: give overlapped, serialized or locked", o->sabre);
		return -EINVAL;
	}
	if (f->mtu % RMC_LINE) {
		rmcd_log("--mtu %u is no multiple of %u", f->mtu, RMC_LINE);
		return -EINVAL;
	}
	if (o->cpus && parse_cpus(cfg, o->cpus))
		return -EINVAL;
	return check_powers(o) ?: choose_units(cfg, o, online);
}

static void default_quotas(struct rmcd_config *cfg)
{
	static const u32 user[] = {
#define QUOTA(name, user, context) user,
		RMCD_QUOTAS(QUOTA)
#undef QUOTA
	};
	static const u32 context[] = {
#define QUOTA(name, user, context) context,
		RMCD_QUOTAS(QUOTA)
#undef QUOTA
	};

	memcpy(cfg->user, user, sizeof(user));
	memcpy(cfg->context, context, sizeof(context));
}

/**
 * rmcd_config_parse() - read the command line
 * @cfg: configuration, zeroed
 * @argc: as of main()
 * @argv: as of main()
 *
 * Return: 0, or -EINVAL after logging the reason and the remedy. Ends the program for --help
 * and for arguments that are no options.
 */
int rmcd_config_parse(struct rmcd_config *cfg, int argc, char **argv)
{
	struct options o = {
		.sabre = "overlapped", .node = -1, .sets = 1, .frontends = 1,
		.itt = RMC_ITT_ENTRIES, .att_entries = RMC_ATT_ENTRIES,
		.att_depth = RMC_ATT_DEPTH, .att_stall_ms = RMC_ATT_STALL_MS,
		.timeout_ms = RMC_TIMEOUT_MS, .dead_ms = RMC_DEAD_MS, .park_us = 200,
		.poll_us_max = 4000, .share = -1, .local = 1,
	};
	const struct opt opts[] = {
		{ 'n', "nodes", OPT_INT, &o.nodes, 1, RMC_MAX_NODES, "N",
		  "nodes of the fabric (2; with --region the file's)" },
		{ 's', "socket", OPT_STRING, &cfg->socket, 0, 0, "PATH",
		  "control socket ($XDG_RUNTIME_DIR/rmc/socket, as root /run/rmc/socket)" },
		{ 0, "contexts", OPT_STRING, &cfg->contexts, 0, 0, "LIST",
		  "contexts to create: ID[:MODE[:UID[:GID]]],... (0)" },
		{ 0, "stop-fd", OPT_INT, &cfg->stop_fd, 0, 1 << 20, "FD",
		  "end when this descriptor is closed at its other end" },
		{ 0, "region", OPT_STRING, &cfg->fabric.region, 0, 0, "FILE",
		  "join the fabric in this file, with one node" },
		{ 0, "region-size", OPT_SIZE, &cfg->region_size, 4096, 1LL << 40, "BYTES",
		  "make the file if it does not exist (64M)" },
		{ 0, "node", OPT_INT, &o.node, 0, RMC_NID_MAX, "NID",
		  "--region: node to be (the first that is free)" },
		{ 0, "ni", OPT_STRING, &o.ni, 0, 0, "NAME",
		  "fused, pair, edge, per_tile or split (pair from 3 CPUs on)" },
		{ 'w', "workers", OPT_INT, &o.sets, 1, RMCD_MAX_SETS, "N",
		  "sets of workers that nodes are assigned to (1)" },
		{ 'c', "cpus", OPT_STRING, &o.cpus, 0, 0, "LIST",
		  "CPUs of workers (from the highest down)" },
		{ 0, "share", OPT_INT, &o.share, 0, 1, "0|1",
		  "1: workers share CPUs with applications (if there are too few)" },
		{ 0, "local", OPT_INT, &o.local, 0, 1, "0|1",
		  "1: operations between nodes of one worker go without packets (1)" },
		{ 0, "park-us", OPT_INT, &o.park_us, 0, 1000000, "US",
		  "idle time before a worker sleeps (200)" },
		{ 0, "poll-us-max", OPT_INT, &o.poll_us_max, 50, 10000, "US",
		  "--region: longest sleep without a doorbell (4000)" },
		{ 0, "mtu", OPT_INT, &o.mtu, RMC_MTU_MIN, RMC_MTU_MAX, "BYTES",
		  "largest payload of a packet; 64 is the papers' (4096)" },
		{ 0, "units", OPT_INT, &o.units, 1, RMC_MAX_UNITS, "N", "units per node" },
		{ 0, "rrpps", OPT_INT, &o.rrpps, 1, RMC_MAX_UNITS, "N",
		  "units per node with an RRPP" },
		{ 0, "interleave", OPT_INT, &o.interleave, RMC_INTERLEAVE_MIN,
		  RMC_INTERLEAVE_MAX, "BYTES", "consecutive bytes that one RRPP serves (4096)" },
		{ 0, "frontends", OPT_INT, &o.frontends, 1, RMC_MAX_FRONTENDS, "N",
		  "split: frontends per unit (1)" },
		{ 0, "itt", OPT_INT, &o.itt, 1, RMC_TID_NONE, "N",
		  "operations in flight per node (1024)" },
		{ 0, "ring-order", OPT_INT, &o.ring_order, RMC_RING_ORDER_MIN,
		  RMC_RING_ORDER_MAX, "N", "log2 of packets in flight per pair of nodes (8)" },
		{ 0, "pay-order", OPT_INT, &o.pay_order, 1, RMC_PAY_ORDER_MAX, "N",
		  "log2 of 64-byte payload lines per ring (8)" },
		{ 0, "att-entries", OPT_INT, &o.att_entries, 1, RMC_ATT_ENTRIES_MAX, "N",
		  "SABRes that a node serves at once (16)" },
		{ 0, "att-depth", OPT_INT, &o.att_depth, 1, RMC_ATT_DEPTH_MAX, "N",
		  "lines of a SABRe fetched before its version is known (32)" },
		{ 0, "att-stall-ms", OPT_INT, &o.att_stall_ms, 1, 600000, "MS",
		  "a SABRe without requests is ended after this (100)" },
		{ 0, "sabre", OPT_STRING, &o.sabre, 0, 0, "MODE",
		  "overlapped, serialized or locked (overlapped)" },
		{ 0, "timeout-ms", OPT_INT, &o.timeout_ms, 16, 600000, "MS",
		  "an operation without reply fails after this (10000)" },
		{ 0, "dead-ms", OPT_INT, &o.dead_ms, 100, 600000, "MS",
		  "a peer without heartbeat is down after this (3000)" },
		{ 0, "channel-mib", OPT_INT, &o.channel_mib, 1, 1 << 20, "MIB",
		  "memory for channels between nodes (an eighth of the machine's)" },
		{ 0 },
	};

	default_quotas(cfg);
	cfg->region_size = 64 << 20;
	cfg->stop_fd = -1;
	if (opt_parse(argc, argv, opts, usage) != argc) {
		rmcd_log("rmcd takes no arguments: see rmcd --help");
		return -EINVAL;
	}
	return settle(cfg, &o);
}

/**
 * rmcd_config_workers() - choose the values that depend on the number of workers
 * @cfg: settled configuration
 * @workers: number of workers
 */
void rmcd_config_workers(struct rmcd_config *cfg, u32 workers)
{
	cpu_set_t set;
	u32 online = cpus_here(&set);
	int cpu;

	/* from the highest down, so CPU 0 comes last */
	for (cpu = CPU_SETSIZE; !CPU_COUNT(&cfg->cpus) && cpu-- > 0;)
		if (CPU_ISSET(cpu, &set) && cfg->cpu_count < workers)
			cfg->cpu[cfg->cpu_count++] = cpu;
	/* do not share if each worker has its own CPU and one is left for applications */
	if (cfg->share < 0)
		cfg->share = workers > cfg->cpu_count || workers >= online;
}

/**
 * rmcd_config_cpu() - CPU of a worker
 * @cfg: configuration after rmcd_config_workers()
 * @worker: number of the worker; CPUs are assigned round-robin
 *
 * Return: CPU number.
 */
int rmcd_config_cpu(const struct rmcd_config *cfg, u32 worker)
{
	return cfg->cpu[worker % cfg->cpu_count];
}
