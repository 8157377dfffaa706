// SPDX-License-Identifier: GPL-2.0
/* Command line, and the values that it leaves open. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "opt.h"
#include "faults.h"

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
	const char *socket;
	const char *contexts;
	const char *region;
	uint64_t region_size;
	int stop_fd;
	const char *ni;
	const char *cpus;
	const char *sabre;
	int nodes;
	const char *node;
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
	const char *topology;
	const char *dims;
	int hop_ns;
	int base_ns;
	int local_ns;
	int link_mbps;
	int rack_ns;
	int rack_mbps;
	int one_way;
	int retries;
	int user[RMCD_RESOURCES];
	int context[RMCD_RESOURCES];
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

static u64 ram_mib(void)
{
	return (u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) >> 20;
}

/* The limit of a cgroup and those above it: the least; @path is changed */
static u64 least_limit(const char *root, char *path, const char *file, u64 mib)
{
	char name[4096], *slash;
	u64 bytes;
	FILE *f;

	do {
		snprintf(name, sizeof(name), "/sys/fs/cgroup%s%s/%s", root, path, file);
		f = fopen(name, "re");
		/* "max" is no number */
		if (f && fscanf(f, "%" SCNu64, &bytes) == 1)
			mib = min(mib, bytes >> 20);
		if (f)
			fclose(f);
		slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return mib;
}

/* What this process may have: memory of the machine, or of its cgroup */
static u64 memory_mib(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	u64 mib = ram_mib();
	char line[2048], *path;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		path = strstr(line, ":memory:");
		if (path)
			mib = least_limit("/memory", path + 8, "memory.limit_in_bytes", mib);
		if (!strncmp(line, "0::", 3))
			mib = least_limit("", line + 3, "memory.max", mib);
	}
	if (f)
		fclose(f);
	return mib;
}

static u32 choose_channel_mib(void)
{
	u64 ram = ram_mib();

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

/* Digits only: strtol() would take blanks and signs, too. -1: no node id */
static int node_id(const char **s)
{
	char *end;
	long nid;

	if (**s < '0' || **s > '9')
		return -1;
	nid = strtol(*s, &end, 10);
	*s = end;
	return nid <= RMC_NID_MAX ? (int)nid : -1;
}

/* "3", or "2-5"; the fabric says whether there are as many */
static int choose_nodes(struct rmcd_config *cfg, const char *range)
{
	int first = -1, last = -1;

	if (range) {
		first = node_id(&range);
		last = first;
		if (*range == '-') {
			range++;
			last = node_id(&range);
		}
		if (first < 0 || last < first || *range) {
			rmcd_log("--node is no node id or range: give one like 3 or 2-5");
			return -EINVAL;
		}
	}
	cfg->fabric.node = first;
	cfg->locals = last - first + 1;
	return 0;
}

/* The parameters of the module that kmod/dev/debugfs.c has */
static int choose_model(struct rmcd_config *cfg, const struct options *o)
{
	*rmcd_param_topology = (char *)(uintptr_t)o->topology;
	*rmcd_param_dims = (char *)(uintptr_t)o->dims;
	*rmcd_param_hop_ns = o->hop_ns;
	*rmcd_param_base_ns = o->base_ns;
	*rmcd_param_local_ns = o->local_ns;
	*rmcd_param_link_mbps = o->link_mbps;
	*rmcd_param_rack_ns = o->rack_ns;
	*rmcd_param_rack_mbps = o->rack_mbps;
	*rmcd_param_one_way = o->one_way;
	*rmcd_param_retries = o->retries;
	return rmc_fault_parse(cfg);
}

static int settle(struct rmcd_config *cfg, const struct options *o)
{
	struct rmc_fabric_config *f = &cfg->fabric;
	cpu_set_t set;
	u32 online = cpus_here(&set);

	f->nodes = o->nodes;
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
	if (o->cpus && parse_cpus(cfg, o->cpus))
		return -EINVAL;
	cfg->ni = rmc_ni_find(o->ni ?: online >= 3 && CPU_COUNT(&cfg->cpus) != 1 ? "pair" : "fused");
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
	return choose_nodes(cfg, o->node) ?: check_powers(o) ?: choose_units(cfg, o, online) ?:
	       choose_model(cfg, o);
}

/* What the command line says; the defaults are those of the module */
static struct options given = {
	.sabre = "overlapped", .sets = 1, .frontends = 1, .itt = RMC_ITT_ENTRIES,
	.att_entries = RMC_ATT_ENTRIES, .att_depth = RMC_ATT_DEPTH,
	.att_stall_ms = RMC_ATT_STALL_MS, .timeout_ms = RMC_TIMEOUT_MS, .dead_ms = RMC_DEAD_MS,
	.park_us = 200, .poll_us_max = 4000, .share = -1, .local = 1, .stop_fd = -1,
	.region_size = 64 << 20,
#define QUOTA(name, option, _user, _context, what)				\
	.user[RMCD_RES_##name] = _user, .context[RMCD_RES_##name] = _context,
	RMCD_QUOTAS(QUOTA)
#undef QUOTA
};

/* Defaults of mapped_mib where there is less memory */
static void choose_mapped_mib(void)
{
	int *user = &given.user[RMCD_RES_mapped_mib], *context = &given.context[RMCD_RES_mapped_mib];
	u64 mib = memory_mib();

	*user = min_t(u64, *user, mib * RMCD_MAPPED_TIMES);
	*context = min_t(u64, *context, mib * RMCD_MAPPED_TIMES_CONTEXT);
}

#define QUOTA_OPT(name, option, whose, value, what)				\
	{ 0, option "-" #whose, OPT_INT, &given.whose[RMCD_RES_##name], 1, INT_MAX, "N",	\
	  "most " what " of a " #whose " (" #value ")" },
#define QUOTA_OPTS(name, option, _user, _context, what)				\
	QUOTA_OPT(name, option, user, _user, what)				\
	QUOTA_OPT(name, option, context, _context, what)

static const struct opt opts[] = {
	{ 'n', "nodes", OPT_INT, &given.nodes, 1, RMC_MAX_NODES, "N",
	  "nodes of the fabric (2; with --region the file's)" },
	{ 's', "socket", OPT_STRING, &given.socket, 0, 0, "PATH",
	  "control socket ($XDG_RUNTIME_DIR/rmc/socket, as root /run/rmc/socket)" },
	{ 0, "contexts", OPT_STRING, &given.contexts, 0, 0, "LIST",
	  "contexts to create: ID[:MODE[:UID[:GID]]],... (0)" },
	{ 0, "stop-fd", OPT_INT, &given.stop_fd, 0, 1 << 20, "FD",
	  "end when this descriptor is closed at its other end" },
	{ 0, "region", OPT_STRING, &given.region, 0, 0, "FILE",
	  "join the fabric in this file, with one node or those of --node" },
	{ 0, "region-size", OPT_SIZE, &given.region_size, 4096, 1LL << 40, "BYTES",
	  "make the file if it does not exist (64M)" },
	{ 0, "node", OPT_STRING, &given.node, 0, 0, "NID[-NID]",
	  "--region: node to be, or the first and the last (the first that is free)" },
	{ 0, "ni", OPT_STRING, &given.ni, 0, 0, "NAME",
	  "fused, pair, edge, per_tile or split (pair from 3 CPUs on, but on one of --cpus)" },
	{ 'w', "workers", OPT_INT, &given.sets, 1, RMCD_MAX_SETS, "N",
	  "sets of workers that nodes are assigned to (1)" },
	{ 'c', "cpus", OPT_STRING, &given.cpus, 0, 0, "LIST",
	  "CPUs of workers (from the highest down)" },
	{ 0, "share", OPT_INT, &given.share, 0, 1, "0|1",
	  "1: workers share CPUs with applications (if there are too few)" },
	{ 0, "local", OPT_INT, &given.local, 0, 1, "0|1",
	  "1: operations between nodes of one worker go without packets (1)" },
	{ 0, "park-us", OPT_INT, &given.park_us, 0, 1000000, "US",
	  "idle time before a worker sleeps (200)" },
	{ 0, "poll-us-max", OPT_INT, &given.poll_us_max, 50, 10000, "US",
	  "--region: longest sleep without a doorbell (4000)" },
	{ 0, "mtu", OPT_INT, &given.mtu, RMC_MTU_MIN, RMC_MTU_MAX, "BYTES",
	  "largest payload of a packet; 64 is the papers' (4096)" },
	{ 0, "units", OPT_INT, &given.units, 1, RMC_MAX_UNITS, "N", "units per node" },
	{ 0, "rrpps", OPT_INT, &given.rrpps, 1, RMC_MAX_UNITS, "N",
	  "units per node with an RRPP" },
	{ 0, "interleave", OPT_INT, &given.interleave, RMC_INTERLEAVE_MIN,
	  RMC_INTERLEAVE_MAX, "BYTES", "consecutive bytes that one RRPP serves (4096)" },
	{ 0, "frontends", OPT_INT, &given.frontends, 1, RMC_MAX_FRONTENDS, "N",
	  "split: frontends per unit (1)" },
	{ 0, "itt", OPT_INT, &given.itt, 1, RMC_TID_NONE, "N",
	  "operations in flight per node (1024)" },
	{ 0, "ring-order", OPT_INT, &given.ring_order, RMC_RING_ORDER_MIN,
	  RMC_RING_ORDER_MAX, "N", "log2 of packets in flight per pair of nodes (8)" },
	{ 0, "pay-order", OPT_INT, &given.pay_order, 1, RMC_PAY_ORDER_MAX, "N",
	  "log2 of 64-byte payload lines per ring (8)" },
	{ 0, "att-entries", OPT_INT, &given.att_entries, 1, RMC_ATT_ENTRIES_MAX, "N",
	  "SABRes that a node serves at once (16)" },
	{ 0, "att-depth", OPT_INT, &given.att_depth, 1, RMC_ATT_DEPTH_MAX, "N",
	  "lines of a SABRe fetched before its version is known (32)" },
	{ 0, "att-stall-ms", OPT_INT, &given.att_stall_ms, 1, 600000, "MS",
	  "a SABRe without requests is ended after this (100)" },
	{ 0, "sabre", OPT_STRING, &given.sabre, 0, 0, "MODE",
	  "overlapped, serialized or locked (overlapped)" },
	{ 0, "timeout-ms", OPT_INT, &given.timeout_ms, 16, 600000, "MS",
	  "an operation without reply fails after this (10000)" },
	{ 0, "dead-ms", OPT_INT, &given.dead_ms, 100, 600000, "MS",
	  "a peer without heartbeat is down after this (3000)" },
	{ 0, "channel-mib", OPT_INT, &given.channel_mib, 1, 1 << 20, "MIB",
	  "memory for channels between nodes (an eighth of the machine's)" },
	{ 0, "topology", OPT_STRING, &given.topology, 0, 0, "NAME",
	  "link model: none, crossbar, torus2d, torus3d or racks (none)" },
	{ 0, "dims", OPT_STRING, &given.dims, 0, 0, "NxN[xN]",
	  "link model: nodes per dimension of a torus, like 8x8x4; of a rack" },
	{ 0, "hop-ns", OPT_INT, &given.hop_ns, 0, 1000000000, "NS",
	  "link model: time of a hop, one way (0)" },
	{ 0, "base-ns", OPT_INT, &given.base_ns, 0, 1000000000, "NS",
	  "link model: added to each round trip (0)" },
	{ 0, "local-ns", OPT_INT, &given.local_ns, 0, 1000000000, "NS",
	  "link model: time to post and to see a completion, subtracted (0)" },
	{ 0, "link-mbps", OPT_INT, &given.link_mbps, 0, 1LL << 30, "MBPS",
	  "link model: megabits per second of a link, each way (0: no limit)" },
	{ 0, "rack-ns", OPT_INT, &given.rack_ns, 0, 1000000000, "NS",
	  "link model: time between two racks, one way (0)" },
	{ 0, "rack-mbps", OPT_INT, &given.rack_mbps, 0, 1LL << 30, "MBPS",
	  "link model: megabits per second of a rack's link to others, each way (0: no limit)" },
	{ 0, "one-way", OPT_INT, &given.one_way, 0, 1, "0|1",
	  "link model: each way for itself, and the servers' ports; not with --region (0)" },
	{ 0, "retries", OPT_INT, &given.retries, 0, 255, "N",
	  "times that a read or write whose packets were lost begins again (0)" },
	RMCD_QUOTAS(QUOTA_OPTS)
	{ 0 },
};

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
	u32 i;

	choose_mapped_mib();
	if (opt_parse(argc, argv, opts, usage) != argc) {
		rmcd_log("rmcd takes no arguments: see rmcd --help");
		return -EINVAL;
	}
	cfg->socket = given.socket;
	cfg->contexts = given.contexts;
	cfg->fabric.region = given.region;
	cfg->region_size = given.region_size;
	cfg->stop_fd = given.stop_fd;
	for (i = 0; i < RMCD_RESOURCES; i++) {
		cfg->user[i] = given.user[i];
		cfg->context[i] = given.context[i];
	}
	return settle(cfg, &given);
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
