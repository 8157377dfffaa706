// SPDX-License-Identifier: GPL-2.0
/*
 * T18 table 8.1 and figure 8.7: how many slots keep a pair of nodes busy, and the memory of a
 * messaging domain: the thesis' formulas, and what the module takes. Computed; as JSON.
 */
#include <stdio.h>
#include <string.h>
#include "kmod/core/domain.h"
#include "kmod/core/node.h"
#include "tools/common/json.h"

#define NODES		1024
#define GBPS		100

/* Table 8.1: sizes and round trips, as printed */
static const struct {
	u32 bytes, round_trip_ns;
} sizes[] = { { 64, 397 }, { 256, 500 }, { 1024, 827 }, { 4096, 1716 } };

static struct json out;

static u32 slots_of(u32 bytes, u32 ns)
{
	u32 in_flight = GBPS * ns / 8;

	return (in_flight + bytes - 1) / bytes;
}

/* Of a domain in the module, without its arrival queues, which depend on the number of cores */
static u64 here(u32 slots, u32 bytes)
{
	struct rmc_fabric f = { .nodes = NODES, .mtu = 4096 };
	struct rmc_domain_params p = { 0, NODES, slots, bytes };

	return rmc_domain_bytes(&p, &f);
}

static void row(const char *name, u32 slots, u32 bytes, u64 domain, u64 emulated, u64 module)
{
	json_object(&out, NULL);
	json_string(&out, "name", name);
	json_uint(&out, "bytes", bytes);
	json_uint(&out, "slots", slots);
	json_double(&out, "native_mib", domain / 1048576.0);
	json_double(&out, "emulated_mib", emulated / 1048576.0);
	json_double(&out, "ratio", (double)domain / emulated);
	json_double(&out, "module_mib", module / 1048576.0);
	json_end_object(&out);
}

/* The thesis' bytes: send slots, receive slots with their counters; emulated: payload alone */
static u64 native(u32 slots, u32 bytes)
{
	return (u64)NODES * slots * (32 + 64 + bytes);
}

static u64 emulated(u32 slots, u32 bytes)
{
	return (u64)NODES * slots * bytes;
}

int main(int argc, char **argv)
{
	u32 i, small = slots_of(64, 397), large = slots_of(4096, 1716);

	if (argc > 1) {
		fputs("usage: footprint\nT18 table 8.1 and figure 8.7, computed: as JSON.\n",
		      !strcmp(argv[1], "--help") ? stdout : stderr);
		return strcmp(argv[1], "--help") ? 2 : 0;
	}
	json_init(&out, stdout);
	json_object(&out, NULL);
	json_uint(&out, "nodes", NODES);
	json_uint(&out, "gbps", GBPS);
	json_array(&out, "slots");
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		json_object(&out, NULL);
		json_uint(&out, "bytes", sizes[i].bytes);
		json_uint(&out, "round_trip_ns", sizes[i].round_trip_ns);
		json_uint(&out, "slots", slots_of(sizes[i].bytes, sizes[i].round_trip_ns));
		json_end_object(&out);
	}
	json_end_array(&out);
	json_array(&out, "memory");
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u32 n = slots_of(sizes[i].bytes, sizes[i].round_trip_ns), bytes = sizes[i].bytes;
		char name[32];

		snprintf(name, sizeof(name), "%u B, %u slots", bytes, n);
		row(name, n, bytes, native(n, bytes), emulated(n, bytes), here(n, bytes));
	}
	row("4096 B, 78 slots", small, 4096, native(small, 4096), emulated(small, 4096),
	    here(small, 4096));
	row("two domains: 64 B, 78 slots; 4096 B, 6", small + large, 4096,
	    native(small, 64) + native(large, 4096), emulated(small, 64) + emulated(large, 4096),
	    here(small, 64) + here(large, 4096));
	json_end_array(&out);
	json_end_object(&out);
	putchar('\n');
	return 0;
}
