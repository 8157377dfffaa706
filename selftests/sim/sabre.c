// SPDX-License-Identifier: GPL-2.0
/*
 * M16 in virtual time, tools/sim/papers/sabre.c: what its figures rest on. Limits are loose where
 * a constant may change, and tight where a mechanism must show.
 */
#include "../tap.h"
#define main evaluation_main
#define eval_row caught_row
#include "tools/sim/papers/sabre.c"
#undef main

enum { READ, SABRE, SERIALIZED, LOCKED };

static double ns(int kind, uint32_t size)
{
	return latency_ns(&kinds[kind], size, 0);
}

/* Figure 7a: a block the same for all; then no speculation costs; SABRes as reads until 1 KiB */
static void test_latency(void)
{
	unsigned int i;

	CHECK_EQ(ns(READ, 64), 355);
	CHECK_EQ(ns(SABRE, 64), 355);
	CHECK_EQ(ns(SERIALIZED, 64), 355);
	for (i = 1; i < EVAL_SIZES; i++) {
		double read = ns(READ, eval_sizes[i]), sabre = ns(SABRE, eval_sizes[i]);

		CHECK(sabre > read - 1);
		CHECK(eval_sizes[i] > 1024 ? sabre > read + 10 && sabre < read + 60 : sabre < read + 1);
		/* a miss that nothing hides */
		CHECK(ns(SERIALIZED, eval_sizes[i]) > sabre + 80);
		CHECK(ns(LOCKED, eval_sizes[i]) > sabre + 80);
	}
	tap_result("figure 7a: three curves, where no speculation costs a miss");
}

/* Bandwidth times latency is 28 lines; fewer stall the transfer while its version is on the way. */
static void test_depth(void)
{
	static const uint32_t depths[] = { 1, 4, 8, 16, 24, 32 };
	double last = latency_ns(&kinds[SABRE], 8192, depths[0]), now;
	unsigned int i;

	CHECK(last > latency_ns(&kinds[SERIALIZED], 8192, 32) - 5);
	for (i = 1; i < sizeof(depths) / sizeof(depths[0]); i++, last = now) {
		now = latency_ns(&kinds[SABRE], 8192, depths[i]);
		CHECK(now < last - 5);
	}
	CHECK(latency_ns(&kinds[SABRE], 8192, 128) > last - 1);
	tap_result("a stream buffer below bandwidth times latency stalls");
}

/* Figure 7b: all reach the 20 GB/s of each R2P2 */
static void test_bandwidth(void)
{
	double read = bandwidth(&kinds[READ], 8192, READERS);
	double sabre = bandwidth(&kinds[SABRE], 8192, READERS);

	CHECK(read > 19 && read < 21);
	CHECK(sabre > 18 && sabre < 21);
	/* a window of 16 */
	sabre = bandwidth(&kinds[SABRE], 64, READERS);
	CHECK(sabre > 4 && sabre < 10);
	/* data that waits for its version leaves the memory to others */
	CHECK(bandwidth(&kinds[SERIALIZED], 1024, READERS) > 16);
	tap_result("figure 7b: 16 threads fill each R2P2");
}

/* Requests of the objects' chip, by row: none of another, none of the readers' chip */
static void test_rows(void)
{
	uint64_t all = 0;
	unsigned int i, r;

	bandwidth(&kinds[SABRE], 1024, READERS);
	for (i = 0; i < ROWS; i++)
		all += eval.served[ROWS + i];
	CHECK(all > 1000);
	for (i = 0; i < ROWS; i++) {
		CHECK_EQ(eval.served[i], 0);
		CHECK(eval.served[ROWS + i] * ROWS > all * 9 / 10);
		CHECK(eval.served[ROWS + i] * ROWS < all * 11 / 10);
	}
	/* readers of the first rows only, one each */
	for (r = 1; r < ROWS; r++) {
		bandwidth(&kinds[SABRE], 1024, r);
		for (i = 0; i < ROWS; i++)
			CHECK_EQ(eval.served[ROWS + i] > 0, i < r);
	}
	tap_result("all SABRes of an RGP go to the R2P2 of its row");
}

/* Conflicts grow with writers, none of which waits for another; readers go on */
static void check_conflicts(rate_fn *rate_of)
{
	static const uint32_t writers[] = { 0, 1, 4, 16 };
	static const char * const schemes[] = { "farm", "sabre" };
	double longer[2];
	unsigned int i, s;

	for (s = 0; s < 2; s++) {
		double last = -1, again;
		uint64_t writes = 0;

		for (i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
			CHECK(rate_of(schemes[s], 1024, writers[i], &again) > 1);
			CHECK(i ? again > last : again == 0);
			CHECK(i ? run.writes > 3 * writes : !run.writes);
			last = again;
			writes = run.writes;
		}
		CHECK(last > 0.05 && last < 0.5);
	}
	/* the longer the object, the more */
	rate_of("sabre", 128, 16, &longer[0]);
	rate_of("sabre", 8192, 16, &longer[1]);
	CHECK(longer[1] > 2 * longer[0]);
	/* and the longer they are being written */
	eval.costs.store *= 20;
	rate_of("sabre", 128, 16, &longer[1]);
	eval.costs.store /= 20;
	CHECK(longer[1] > 2 * longer[0]);
}

/* Figure 8 through the store: each lookup is one of it, with a read of the index */
static void test_conflicts(void)
{
	double none, all, again;

	check_conflicts(conflict_rate);
	none = conflict_rate("farm", 8192, 0, &again);
	CHECK_EQ(run.gets, run.done);
	CHECK(run.buckets >= run.gets && run.buckets < run.gets * 3 / 2);
	CHECK_EQ(run.tries, run.gets);
	all = conflict_rate("farm", 8192, 16, &again);
	CHECK_EQ(run.gets, run.done);
	CHECK(run.buckets >= run.gets);
	CHECK(run.tries > run.gets * 11 / 10);
	CHECK(all < 0.9 * none);
	tap_result("figure 8: tries fail the more, the more writers and the longer the objects");
}

static struct {
	unsigned int rows, gets;
	bool other;			/* a row of another part, or no lookups in the store */
} caught;

/* In place of the table's row */
void caught_row(const char *part, uint32_t bytes, uint32_t nodes, const char *series, double value,
		const char *unit)
{
	(void)bytes;
	(void)nodes;
	(void)unit;
	caught.rows++;
	caught.other |= !!strcmp(part, "8");
	if (!strstr(series, "gets of the store"))
		return;
	caught.gets++;
	caught.other |= value != 1;
}

/* What is printed as figure 8 is of the store: two schemes, three sizes, two numbers of writers */
static void test_part(void)
{
	figure8();
	CHECK_EQ(caught.gets, 12);
	CHECK(caught.rows > 3 * caught.gets);
	CHECK(!caught.other);
	tap_result("figure 8 as printed: each object is a get of the store");
}

/* The same without the store, as the paper's: no index, so more objects */
static void test_bare(void)
{
	double bare, again;

	check_conflicts(bare_rate);
	CHECK(bare_rate("farm", 1024, 16, &again) < 0.97 * bare_rate("farm", 1024, 0, &again));
	CHECK(bare_rate("sabre", 1024, 16, &again) < 0.97 * bare_rate("sabre", 1024, 0, &again));
	bare = bare_rate("sabre", 128, 0, &again);
	CHECK_EQ(run.gets, 0);
	CHECK(bare > 1.5 * conflict_rate("sabre", 128, 0, &again));
	tap_result("figure 8 without a store: the same, and a lookup's first read is not there");
}

/* Figures 1 and 9: what each scheme costs its reader, through the store */
static void test_store(void)
{
	double farm, sabre, strip;
	uint64_t transfer_ns;
	uint32_t store_ps;

	lookups("farm", 4096, 1);
	farm = (double)(run.transfer_ns + run.software_ns) / (double)run.done;
	lookups("sabre", 4096, 1);
	sabre = (double)(run.transfer_ns + run.software_ns) / (double)run.done;
	CHECK_EQ(run.done, run.ops);
	/* by what the reader does not strip, and not more */
	CHECK(farm - sabre > 4096 * eval.costs.strip / 1000 - 20);
	CHECK(farm - sabre < 4096 * eval.costs.strip / 1000 + 20);
	lookups("strip", 4096, 15);
	CHECK_EQ(run.done, 15 * run.ops);
	strip = (double)run.done / (double)run.last_ns;
	lookups("sabre", 4096, 15);
	CHECK_EQ(run.done, 15 * run.ops);
	/* owners strip for all */
	CHECK((double)run.done / (double)run.last_ns > strip);
	/* what fills the store has no part in it */
	lookups("sabre", 1024, 15);
	transfer_ns = run.transfer_ns;
	store_ps = eval.costs.store;
	eval.costs.store = 0;
	lookups("sabre", 1024, 15);
	eval.costs.store = store_ps;
	CHECK_EQ(run.transfer_ns, transfer_ns);
	tap_result("figures 1 and 9: 15 readers, stripped at the source, at the destination, not at all");
}

/* A profile with the paper's share of stripping, whose only fitted value is that */
static void test_fitted(void)
{
	const struct rmc_sim_cost_row *row;
	struct rmc_sim_costs here = eval.costs, there = *rmc_sim_costs_find("sonuma-r2p2-strip");
	unsigned int i, found = 0;
	double share;

	there.name = here.name;
	there.strip = here.strip;
	CHECK(!memcmp(&here, &there, sizeof(here)));
	for (i = 0; (row = rmc_sim_cost_row(i)); i++)
		found += row->provenance == RMC_SIM_FITTED && !strcmp(row->profile, "sonuma-r2p2-strip") &&
			 !strcmp(row->name, "strip");
	CHECK_EQ(found, 1);
	eval.costs = *rmc_sim_costs_find("sonuma-r2p2-strip");
	lookups("farm", 8192, 1);
	/* figure 1: half of the time */
	share = 8192e-3 * eval.costs.strip * (double)run.done / (double)(run.transfer_ns + run.software_ns);
	CHECK(share > 0.48 && share < 0.52);
	eval.costs = here;
	tap_result("stripping fitted to figure 1 takes half of a read of 8 KiB, and nothing else differs");
}

int main(void)
{
	eval.profile = "sonuma-r2p2";
	eval.costs = *rmc_sim_costs_find(eval.profile);
	eval.mtu = 64;
	eval.quick = true;
	test_latency();
	test_depth();
	test_bandwidth();
	test_rows();
	test_conflicts();
	test_part();
	test_bare();
	test_store();
	test_fitted();
	return tap_done();
}
