/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc_chip: a model of a chip with 64 cores and its network interfaces (T18 chapter 6: tables 6.1,
 * 6.3, 6.4, figures 6.7 to 6.12). Needs no RMC.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "measure.h"
#include "opt.h"
#include "path.h"
#include "progress.h"

#define USAGE	"rmc_chip [OPTION...] COMMAND\n" \
		"       commands: table (a read without load, by rows), path (by messages),\n" \
		"                 hops (by hops between chips), latency (one core, by size),\n" \
		"                 bandwidth (all cores, by size), parameters (constants)"
#define LIST_MAX	16
#define HOPS_MAX	12
#define BYTES_MAX	65536

static struct {
	const char *networks, *designs, *sizes, *routings;
	uint64_t cycles;
	int windows, cores, reads, seed, buffer, memory_queue, store_queue, in_flight;
	int shared, json, quiet;
} o = {
	.networks = "mesh,noc-out", .designs = "edge,per-tile,split",
	.sizes = "64,128,256,512,1K,2K,4K,8K,16K", .routings = "class",
	.cycles = 50000, .windows = 20, .cores = CORES, .reads = 4, .seed = 1, .buffer = P_buffer,
	.memory_queue = P_memory_queue, .store_queue = P_store_queue, .in_flight = P_in_flight,
};

static const struct opt options[] = {
	{ 'n', "network", OPT_STRING, &o.networks, 0, 0, "NAME,...", "mesh, noc-out (both)" },
	{ 'd', "design", OPT_STRING, &o.designs, 0, 0, "NAME,...", "edge, per-tile, split (all)" },
	{ 's', "size", OPT_STRING, &o.sizes, 0, 0, "BYTES,...",
	  "of a read, blocks of 64 up to 64K (64 to 16K, doubled)" },
	{ 'r', "routing", OPT_STRING, &o.routings, 0, 0, "NAME,...",
	  "class: the directory's packets YX, others XY; xy: all (class)" },
	{ 'c', "cycles", OPT_SIZE, &o.cycles, 1000, 100000000, "N",
	  "of a window of bandwidth (50000)" },
	{ 'w', "windows", OPT_INT, &o.windows, 3, 1000, "N",
	  "at most, until two differ by less than 1 % (20)" },
	{ 0, "cores", OPT_INT, &o.cores, 1, CORES, "N",
	  "of latency, one after the other; divides 64 (64)" },
	{ 0, "reads", OPT_INT, &o.reads, 1, 1000000, "N", "of each of them (4)" },
	{ 'b', "buffer", OPT_INT, &o.buffer, 1, BUFFER_MAX, "FLITS",
	  "of a class at an input of a router (5)" },
	{ 0, "memory-queue", OPT_INT, &o.memory_queue, 1, 1000000, "BLOCKS", "of an RRPP (64)" },
	{ 0, "store-queue", OPT_INT, &o.store_queue, 1, 1000000, "BLOCKS", "of an RCP (64)" },
	{ 0, "in-flight", OPT_INT, &o.in_flight, 1, 100000000, "BLOCKS", "of an RGP (140)" },
	{ 0, "shared-buffers", OPT_FLAG, &o.shared, 0, 0, NULL,
	  "the directory's packets have no buffers of their own: deadlocks" },
	{ 0, "seed", OPT_INT, &o.seed, 0, INT32_MAX, "N", "of random numbers (1)" },
	{ 'q', "quiet", OPT_FLAG, &o.quiet, 0, 0, NULL, "no progress on standard error" },
	{ 'j', "json", OPT_FLAG, &o.json, 0, 0, NULL, "results as JSON" },
	{ 0, NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL },
};

struct list {
	unsigned int n, value[LIST_MAX];
};

static struct list networks, designs, sizes, routings;
static struct topology topologies[NETWORKS];
static struct json j;

/* ---- command line ---- */

static const char *routing_name(unsigned int routing)
{
	return routing ? "class" : "xy";
}

static const char *network_of(unsigned int i)
{
	return network_name((enum network)i);
}

static const char *design_of(unsigned int i)
{
	return design_name((enum design)i);
}

/* Value of a word: its place among @count names. Or -1 */
static long named(const char *word, const char *(*name)(unsigned int), unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (!strcmp(word, name(i)))
			return (long)i;
	return -1;
}

static long size_of(const char *word)
{
	uint64_t bytes;

	if (opt_size(word, &bytes) || !bytes || bytes % P_block || bytes > BYTES_MAX)
		return -1;
	return (long)bytes;
}

/* "a,b": name is NULL for sizes */
static void parse(const char *option, const char *words, const char *(*name)(unsigned int),
		  unsigned int count, struct list *list)
{
	while (words) {
		size_t n = strcspn(words, ",");
		char word[16];
		long value = -1;

		if (n < sizeof(word)) {
			memcpy(word, words, n);
			word[n] = 0;
			value = name ? named(word, name, count) : size_of(word);
		}
		if (value < 0)
			die(EXIT_USAGE, "--%s: there is no '%.*s'", option, (int)n, words);
		if (list->n == LIST_MAX)
			die(EXIT_USAGE, "--%s: at most %d", option, LIST_MAX);
		list->value[list->n++] = (unsigned int)value;
		words = words[n] ? words + n + 1 : NULL;
	}
}

static void parse_all(void)
{
	unsigned int i;

	parse("network", o.networks, network_of, NETWORKS, &networks);
	parse("design", o.designs, design_of, DESIGNS, &designs);
	parse("size", o.sizes, NULL, 0, &sizes);
	parse("routing", o.routings, routing_name, 2, &routings);
	if (CORES % o.cores)
		die(EXIT_USAGE, "--cores %d does not divide %d", o.cores, CORES);
	for (i = 0; i < NETWORKS; i++)
		topology_init(&topologies[i], (enum network)i);
}

static struct config config_of(unsigned int network, unsigned int design, unsigned int size,
			       unsigned int routing)
{
	struct config c;

	config_default(&c);
	c.network = (enum network)network;
	c.design = (enum design)design;
	c.bytes = size;
	c.class_routing = (int)routing;
	c.shared_buffers = o.shared;
	c.buffer = (unsigned int)o.buffer;
	c.memory_queue = (unsigned int)o.memory_queue;
	c.store_queue = (unsigned int)o.store_queue;
	c.in_flight = (unsigned int)o.in_flight;
	c.seed = (uint64_t)o.seed;
	return c;
}

static void failed(int err)
{
	if (err == -EDEADLK)
		die(EXIT_FAILED, "deadlock: packets wait for each other");
	die(EXIT_FAILED, "out of memory");
}

static void progress(unsigned int network, unsigned int design, unsigned int size)
{
	if (!o.quiet && progress_due(0))
		fprintf(stderr, "%s%s, %s, %u bytes%s", progress_begin(), network_of(network),
			design_of(design), size, progress_end());
}

static void row_begin(unsigned int network, const char *design)
{
	json_object(&j, NULL);
	json_string(&j, "network", network_of(network));
	json_string(&j, "design", design);
}

/* ---- without load ---- */

static void table_row(unsigned int network, enum read read, const char *row, double cycles)
{
	if (!o.json) {
		printf("%-8s %-14s %-20s %8.1f\n", network_of(network), read_name(read), row,
		       cycles);
		return;
	}
	row_begin(network, read_name(read));
	json_string(&j, "row", row);
	json_double(&j, "cycles", cycles);
	json_end_object(&j);
}

static void table_of(unsigned int network)
{
	const struct topology *t = &topologies[network];
	double base = path_cycles(t, (enum network)network, READ_numa, 1);
	unsigned int r;

	for (r = 0; r < READS; r++) {
		const struct step *s = path_steps((enum read)r);
		double all = 0;

		while (s->row) {
			const char *row = s->row;
			double cycles = 0;

			for (; s->row && !strcmp(s->row, row); s++)
				cycles += step_cycles(t, (enum network)network, s);
			if (cycles > 0)
				table_row(network, (enum read)r, row, cycles);
			all += cycles;
		}
		table_row(network, (enum read)r, "total", all);
		table_row(network, (enum read)r, "over NUMA, %", 100 * (all / base - 1));
	}
}

static void path_of(unsigned int network)
{
	const struct topology *t = &topologies[network];
	const struct step *s;
	unsigned int r;

	for (r = 0; r < READS; r++)
		for (s = path_steps((enum read)r); s->row; s++) {
			double cycles = step_cycles(t, (enum network)network, s);
			double hops = step_hops(t, (enum network)network, s);
			int message = s->from != s->to;

			if (!o.json) {
				printf("%-8s %-14s %-18s %-18s ", network_of(network),
				       read_name((enum read)r), s->row, s->what);
				if (message)
					printf("%-18s %-18s %-18s %u flits %5.2f hops ",
					       role_name(s->from), role_name(s->to),
					       class_name(s->class), s->flits, hops);
				printf("%6.2f\n", cycles);
				continue;
			}
			row_begin(network, read_name((enum read)r));
			json_string(&j, "row", s->row);
			json_string(&j, "what", s->what);
			if (message) {
				json_string(&j, "from", role_name(s->from));
				json_string(&j, "to", role_name(s->to));
				json_string(&j, "class", class_name(s->class));
				json_uint(&j, "flits", s->flits);
				json_double(&j, "hops", hops);
			}
			json_double(&j, "cycles", cycles);
			json_end_object(&j);
		}
}

static void hops_of(unsigned int network)
{
	const struct topology *t = &topologies[network];
	unsigned int r, hops;

	for (hops = 1; hops <= HOPS_MAX; hops++)
		for (r = 0; r < READS; r++) {
			double base = path_cycles(t, (enum network)network, READ_numa, hops);
			double all = path_cycles(t, (enum network)network, (enum read)r, hops);

			if (!o.json) {
				printf("%-8s %-14s %4u %8.1f %7.1f\n", network_of(network),
				       read_name((enum read)r), hops, all, 100 * (all / base - 1));
				continue;
			}
			row_begin(network, read_name((enum read)r));
			json_uint(&j, "hops", hops);
			json_double(&j, "cycles", all);
			json_double(&j, "over_numa_percent", 100 * (all / base - 1));
			json_end_object(&j);
		}
}

/* ---- simulated ---- */

static void latency_row(unsigned int network, const char *design, unsigned int size, double cycles)
{
	if (!o.json) {
		printf("%-8s %-9s %6u %9.1f %9.1f\n", network_of(network), design, size, cycles,
		       cycles / GHZ);
		return;
	}
	row_begin(network, design);
	json_uint(&j, "bytes", size);
	json_double(&j, "cycles", cycles);
	json_double(&j, "ns", cycles / GHZ);
	json_end_object(&j);
}

/* That of NUMA is split's without what a load does not need (T18 section 6.5.1) */
static void latency_of(unsigned int network)
{
	const struct topology *t = &topologies[network];
	double queues = path_cycles(t, (enum network)network, READ_split, 1) -
			path_cycles(t, (enum network)network, READ_numa, 1);
	unsigned int d, s;

	for (s = 0; s < sizes.n; s++)
		for (d = 0; d < designs.n; d++) {
			struct config c = config_of(network, designs.value[d], sizes.value[s], 1);
			double cycles;
			int err;

			progress(network, designs.value[d], sizes.value[s]);
			err = measure_latency(&c, (unsigned int)o.cores, (unsigned int)o.reads,
					      &cycles);
			if (err)
				failed(err);
			latency_row(network, design_name(c.design), c.bytes, cycles);
			if (c.design == DESIGN_split)
				latency_row(network, "NUMA", c.bytes, cycles - queues);
		}
}

static void bandwidth_row(const struct config *c, const struct bandwidth *b)
{
	double all = b->in + b->out;

	if (!o.json) {
		printf("%-8s %-5s %-9s %6u %7.1f %7.1f %7.1f %7.1f %5.2f %7.1f %7.1f %9.0f%s\n",
		       network_name(c->network), routing_name((unsigned int)c->class_routing),
		       design_name(c->design), c->bytes, all, b->in, b->out, b->traffic,
		       b->traffic / all, b->east, b->west, b->latency,
		       b->windows ? "" : " unstable");
		return;
	}
	row_begin(c->network, design_name(c->design));
	json_string(&j, "routing", routing_name((unsigned int)c->class_routing));
	json_uint(&j, "bytes", c->bytes);
	json_double(&j, "gbps", all);
	json_double(&j, "in_gbps", b->in);
	json_double(&j, "out_gbps", b->out);
	json_double(&j, "noc_gbps", b->traffic);
	json_double(&j, "east_gbps", b->east);
	json_double(&j, "west_gbps", b->west);
	json_double(&j, "latency_cycles", b->latency);
	json_uint(&j, "windows", b->windows);
	json_bool(&j, "stable", b->windows > 0);
	json_end_object(&j);
}

static void bandwidth_of(unsigned int network)
{
	unsigned int r, s, d;

	for (r = 0; r < routings.n; r++)
		for (s = 0; s < sizes.n; s++)
			for (d = 0; d < designs.n; d++) {
				struct config c = config_of(network, designs.value[d],
							    sizes.value[s], routings.value[r]);
				struct bandwidth b;
				int err;

				progress(network, designs.value[d], sizes.value[s]);
				err = measure_bandwidth(&c, o.cycles, (unsigned int)o.windows, &b);
				if (err)
					failed(err);
				bandwidth_row(&c, &b);
			}
}

static void parameters_of(unsigned int network)
{
	const struct param *p;

	(void)network;
	for (p = params; p->name; p++) {
		if (!o.json) {
			printf("%-16s %5d  %-9s  %s\n", p->name, p->value, p->kind, p->source);
			continue;
		}
		json_object(&j, NULL);
		json_string(&j, "name", p->name);
		json_int(&j, "value", p->value);
		json_string(&j, "kind", p->kind);
		json_string(&j, "source", p->source);
		json_end_object(&j);
	}
}

/* run: for each network, or once */
static const struct command {
	const char *name, *head;
	void (*run)(unsigned int network);
	int once;
} commands[] = {
	{ "table", "network  design         row                    cycles", table_of, 0 },
	{ "path", "network  design         row                what",
	  path_of, 0 },
	{ "hops", "network  design         hops   cycles  over NUMA, %", hops_of, 0 },
	{ "latency", "network  design     bytes    cycles        ns", latency_of, 0 },
	{ "bandwidth", "network  route design     bytes    GB/s      in     out     NOC ratio"
	  "    east    west   latency", bandwidth_of, 0 },
	{ "parameters", "name             value  kind       source", parameters_of, 1 },
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void begin(const struct command *command)
{
	if (!o.json) {
		puts(command->head);
		return;
	}
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "test", "rmc_chip");
	json_string(&j, "command", command->name);
	json_int(&j, "seed", o.seed);
	json_array(&j, "rows");
}

int main(int argc, char **argv)
{
	int i = opt_parse(argc, argv, options, USAGE);
	unsigned int c, n;

	if (argc - i != 1)
		die(EXIT_USAGE,
		    "give one command: table, path, hops, latency, bandwidth or parameters");
	for (c = 0; c < COMMANDS && strcmp(commands[c].name, argv[i]); c++)
		;
	if (c == COMMANDS)
		die(EXIT_USAGE, "there is no command '%s': see --help", argv[i]);
	parse_all();
	begin(&commands[c]);
	for (n = 0; n < (commands[c].once ? 1 : networks.n); n++)
		commands[c].run(networks.value[n]);
	if (o.json) {
		json_end_array(&j);
		json_end_object(&j);
	}
	if (fflush(stdout))
		die(EXIT_FAILED, "standard output: %s", strerror(errno));
	return EXIT_OK;
}
