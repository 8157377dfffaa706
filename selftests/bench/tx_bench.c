// SPDX-License-Identifier: GPL-2.0
/*
 * Where the time of SW-Impl's transactions goes, by the parts of HADES' figure 3, and what is left
 * without them: two nodes of one kernel, one worker on a CPU of its own, the application on
 * another. Packets, as between two machines: as fast as they are, and with the link model's round
 * trip of 2 us.
 *
 * YCSB's records of ten fields of 100 B. A transaction has five requests, each for another record:
 * a read of all fields, or a write of one. A quarter of the records is of the own node, as if they
 * were spread over four. Nobody is in the way. Requests follow each other, or their reads are
 * posted together.
 *
 * A pass omits some parts of all transactions (tx_pass.h): one of them; all but one; all, which is
 * what is left. The time of a part is the mean of two differences: the whole less the pass without
 * the part, and the pass with no other part less what is left. They differ where parts depend on
 * each other: a record that was not read before is read from memory when it is locked and written.
 * What two parts have in common is halved so, and parts and rest are the whole unless three are
 * needed for an effect.
 *
 * A round has all passes in turn; a pass's value in it is the median of batches, in each of which
 * the shares of local records and of writes are exact. A batch that was preempted is repeated.
 * Times are medians over rounds, and so are quotients.
 *
 *	build/host/tx_bench [--quick] [--json] [--check] [--rounds N]
 *
 * --check: exit status 1 if parts and rest are not the whole, if a transaction is shorter with a
 * part than without, or if the copies that passes are made of take another time than the library.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <sys/resource.h>
#include "harness.h"
#include "tools/common/json.h"
#include "tx_pass.h"

#define ROUNDS_MAX	1001
#define ROUNDS		301
#define BATCHES		3		/* of a pass in a round */
#define WARM_UP		1		/* batch before those measured */
#define BATCH		16U		/* transactions */
#define TRIES		20		/* of a batch, while it is preempted */
#define REQUESTS	(BATCH * TX_REQUESTS)
#define NOISE		0.02		/* of the whole: what a part may be below nothing */

/* Each part omitted alone; each part alone not omitted */
enum pass { LIBRARY, WHOLE, WITHOUT, ONLY = WITHOUT + TX_PARTS, REST = ONLY + TX_PARTS, PASSES };

static const char * const parts[TX_PARTS] = {
	[TX_PART_SETS] = "manage RD/WR sets", [TX_PART_VERSION] = "update version",
	[TX_PART_ATOMICITY] = "read atomicity", [TX_PART_READ] = "RD before WR",
	[TX_PART_CONFLICTS] = "conflict detection",
};

static const struct mix {
	const char *name;
	u32 writes;			/* of each 4 requests */
} mixes[] = { { "100%WR", 4 }, { "50%WR-50%RD", 2 }, { "100%RD", 0 } };

#define MIXES	((u32)ARRAY_SIZE(mixes))

static const u32 hops_ns[] = { 0, 1000 };

static struct bench bench;
static struct tx_request request[REQUESTS];
static double value[PASSES][ROUNDS_MAX];	/* ns of a transaction */
static bool missed, as_json, checking;
static struct json out;

static void wrong(const char *what)
{
	fprintf(stderr, "tx_bench: %s\n", what);
	exit(3);
}

static bool applies(enum tx_part part, const struct mix *m)
{
	return m->writes || (part != TX_PART_VERSION && part != TX_PART_READ);
}

static bool taken(u32 n, u64 rid)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (request[i].rid == rid)
			return true;
	return false;
}

/*
 * Requests of a batch: of each 16, four are of the own node, and of these and of the others the
 * same share are writes.
 */
static void draw(const struct mix *m)
{
	struct tx_request r;
	u32 i, k;

	for (i = 0; i < REQUESTS; i++) {
		do {
			r.rid = bench_random() % (TX_RECORDS / 2) * 2 + !!(i & 3);
		} while (taken(i, r.rid));
		r.write = (i >> 2 & 3) < m->writes;
		r.field = (u32)(bench_random() % (TX_BYTES / TX_FIELD)) * TX_FIELD;
		request[i] = r;
	}
	for (i = REQUESTS - 1; i; i--) {
		k = (u32)(bench_random() % (i + 1));
		r = request[i];
		request[i] = request[k];
		request[k] = r;
	}
}

/* How often another program has got the CPU of the application or of the worker */
static long preempted(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_nivcsw;
}

/* Ticks of a transaction in a batch that had both CPUs to itself, if there is one */
static double batch(const struct mix *m)
{
	long before;
	int tries;
	u64 t0;
	u32 i;

	for (tries = 0; tries < TRIES; tries++) {
		draw(m);
		before = preempted();
		t0 = bench_ticks();
		for (i = 0; i < REQUESTS; i += TX_REQUESTS)
			tx_pass_run(&request[i]);
		t0 = bench_ticks() - t0;
		before -= preempted();
		tx_pass_restore(request, REQUESTS);
		if (!before)
			break;
	}
	return (double)t0 / BATCH;
}

static u32 omitted_by(enum pass p)
{
	if (p < WITHOUT)
		return p == LIBRARY ? TX_LIBRARY : 0;
	if (p < ONLY)
		return 1U << (p - WITHOUT);
	return p == REST ? TX_ALL : TX_ALL & ~(1U << (p - ONLY));
}

/* A part that the mix does not have is not omitted by a pass of its own */
static bool needed(enum pass p, const struct mix *m)
{
	return p < WITHOUT || p == REST || applies((p - WITHOUT) % TX_PARTS, m);
}

/* Did the pass execute what it should, and nothing else? */
static void verify(enum pass p, const struct mix *m, const struct tx_counts *a,
		   const struct tx_counts *b)
{
	u64 n = b->committed - a->committed, remote = n * TX_REQUESTS * 3 / 4;
	u64 written = remote * m->writes / 4, only_read = remote - written;
	u32 omits = omitted_by(p);
	bool conflicts = !(omits & 1U << TX_PART_CONFLICTS);
	enum tx_part part;

	if (b->reads - a->reads != only_read + (omits & 1U << TX_PART_READ ? 0 : written) ||
	    b->locks - a->locks != conflicts * written ||
	    b->checks - a->checks != conflicts * only_read ||
	    b->writes - a->writes != written || b->unlocks != a->unlocks)
		wrong("a pass executes other operations than it should");
	for (part = 0; part < TX_PARTS; part++)
		if (!!tx_pass_omitted(part) != (applies(part, m) && !!(omits & 1U << part)))
			wrong("a pass omits another part than it should, or none");
}

/* ns of a transaction in a round */
static double measure(enum pass p, const struct mix *m, bool together)
{
	struct tx_counts before, after;
	double ticks[BATCHES];
	int i;

	tx_pass_choose(omitted_by(p), together);
	tx_pass_counts(&before);
	for (i = -WARM_UP; i < BATCHES; i++) {
		double t = batch(m);

		if (i >= 0)
			ticks[i] = t;
	}
	tx_pass_counts(&after);
	verify(p, m, &before, &after);
	return bench_median(ticks, BATCHES) * bench_ns_per_tick();
}

/* --- results --- */

static double of_rounds(enum pass p, int rounds)
{
	double v[ROUNDS_MAX];

	memcpy(v, value[p], sizeof(v));
	return bench_median(v, rounds);
}

/* Of a part in a round, ns: the whole less what is without it; and more than the rest, with it */
static double alone(enum tx_part part, int i)
{
	return value[WHOLE][i] - value[WITHOUT + part][i];
}

static double added(enum tx_part part, int i)
{
	return value[ONLY + part][i] - value[REST][i];
}

static double time_of(enum tx_part part, int i)
{
	return (alone(part, i) + added(part, i)) / 2;
}

/* Median over rounds of a time of a part, or of its share of the whole */
static double of_part(double (*ns)(enum tx_part part, int i), enum tx_part part, bool share,
		      int rounds)
{
	double v[ROUNDS_MAX];
	int i;

	for (i = 0; i < rounds; i++)
		v[i] = ns(part, i) / (share ? value[WHOLE][i] : 1);
	return bench_median(v, rounds);
}

/* Median of the time of all parts and the rest, of the whole */
static double sum_of_parts(const struct mix *m, int rounds)
{
	double q[ROUNDS_MAX];
	enum tx_part part;
	int i;

	for (i = 0; i < rounds; i++) {
		q[i] = value[REST][i];
		for (part = 0; part < TX_PARTS; part++)
			if (applies(part, m))
				q[i] += time_of(part, i);
		q[i] /= value[WHOLE][i];
	}
	return bench_median(q, rounds);
}

static double quotient(enum pass p, enum pass of, int rounds)
{
	double q[ROUNDS_MAX];
	int i;

	for (i = 0; i < rounds; i++)
		q[i] = value[p][i] / value[of][i];
	return bench_median(q, rounds);
}

static char prefix[64];		/* of the rows of a mix */

static void row(const char *key, const char *name, double v, const char *unit)
{
	if (as_json)
		json_double(&out, key, v);
	else
		printf("%s: %-30s %8.*f %s\n", prefix, name, *unit == 'n' ? 0 : 3, v, unit);
}

static void ask(const char *key, const char *name, double is, double least, double most)
{
	bool bad = is < least || is > most;

	missed |= checking && bad;
	if (as_json)
		json_double(&out, key, is);
	else
		printf("%s: %-30s %8.3f x, asked %.2f to %.2f%s\n", prefix, name, is, least, most,
		       bad ? " MISSED" : "");
}

static void part_row(enum tx_part part, int rounds)
{
	double ns = of_part(time_of, part, false, rounds);
	double share = of_part(time_of, part, true, rounds);
	double without = of_part(alone, part, true, rounds);
	double with = of_part(added, part, true, rounds);

	missed |= checking && share < -NOISE;
	if (as_json) {
		json_object(&out, NULL);
		json_string(&out, "part", parts[part]);
		json_double(&out, "ns", ns);
		json_double(&out, "share", share);
		json_double(&out, "omitted_alone", without);
		json_double(&out, "added_alone", with);
		json_end_object(&out);
	} else {
		printf("%s: %-30s %8.0f ns, %.1f %%, asked %.1f or more%s # %.1f to %.1f %%\n",
		       prefix, parts[part], ns, 100 * share, -100 * NOISE,
		       share < -NOISE ? " MISSED" : "", 100 * without, 100 * with);
	}
}

static void report(u32 hop_ns, const struct mix *m, bool together, int rounds)
{
	enum tx_part part;

	if (as_json) {
		json_object(&out, NULL);
		json_uint(&out, "hop_ns", hop_ns);
		json_string(&out, "mix", m->name);
		json_string(&out, "requests", together ? "together" : "in turn");
		json_array(&out, "parts");
	} else {
		snprintf(prefix, sizeof(prefix), "%-11s %-8s %-8s", m->name,
			 hop_ns ? "2 us" : "no model", together ? "together" : "in turn");
	}
	for (part = 0; part < TX_PARTS; part++)
		if (applies(part, m))
			part_row(part, rounds);
	if (as_json)
		json_end_array(&out);
	row("whole", "whole", of_rounds(WHOLE, rounds), "ns");
	row("rest", "rest", of_rounds(REST, rounds), "ns");
	row("overheads", "overheads", 1 - quotient(REST, WHOLE, rounds), "of the whole");
	ask("sum", "parts and rest, of the whole", sum_of_parts(m, rounds), 0.9, 1.1);
	ask("copies", "whole, of the library's time", quotient(WHOLE, LIBRARY, rounds), 0.95, 1.05);
	if (as_json)
		json_end_object(&out);
	fflush(stdout);
}

static void with_model(u32 hop_ns, int rounds)
{
	struct rmc_model model = {
		.topology = hop_ns ? RMC_TOPOLOGY_CROSSBAR : RMC_TOPOLOGY_NONE, .hop_ns = hop_ns,
	};
	u32 i, together;
	enum pass p;
	int r;

	bench_check(rmc_model_check(&model, 2));
	testbed_stop(&bench.w);
	rmc_filters = !!hop_ns;
	bench.w.fabric[0].model = model;
	bench_check(rmc_channel_refresh(bench.w.node[0], RMC_LANE_REP));
	bench_start(&bench, false);
	for (together = 0; together < 2; together++)
		for (i = 0; i < MIXES; i++) {
			for (r = 0; r < rounds; r++)
				for (p = 0; p < PASSES; p++)
					if (needed(p, &mixes[i]))
						value[p][r] = measure(p, &mixes[i], together);
			report(hop_ns, &mixes[i], together, rounds);
		}
}

static int usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: tx_bench [--quick] [--json] [--check] [--rounds N]\n"
		"Transactions of SW-Impl by parts, as differences of passes that omit some;\n"
		"medians of %d rounds, of an eighth if quick. Exit status 3: a pass does not do\n"
		"what it should; with --check 1: a part takes less than no time, or parts and\n"
		"rest are not the whole.\n", ROUNDS);
	return status;
}

static void setup(void)
{
	size_t segment = tx_pass_segment();
	u8 *own;

	if (segment > bench_bytes || tx_pass_memory() > bench_app_bytes(BENCH_SLOT))
		wrong("no room for the records");
	own = bench_map(bench_bytes);
	memset(own, 0, bench_bytes);
	memset(bench_segment, 0, bench_bytes);
	memset(bench.app.lbuf, 0, tx_pass_memory());
	tx_pass_open(&bench.app.qp, bench.app.lbuf, own, bench_segment);
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "quick", no_argument, NULL, 'q' },
		{ "check", no_argument, NULL, 'c' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int rounds = ROUNDS, c;
	u32 i;

	while ((c = getopt_long(argc, argv, "jqcr:h", longopts, NULL)) != -1) {
		if (c == 'j')
			as_json = true;
		else if (c == 'q')
			bench_quick = true;
		else if (c == 'c')
			checking = true;
		else if (c == 'r')
			rounds = atoi(optarg);
		else
			return usage(c == 'h' ? 0 : 2);
	}
	if (bench_quick)
		rounds /= 8;
	if (rounds < 1 || rounds > ROUNDS_MAX)
		return usage(2);
	if (bench_setup(64UL << 20) < 2)
		return 4;
	bench_init(&bench, 2, "fused", 4096);
	bench_packets(&bench.w, true);
	bench_start(&bench, false);
	setup();
	if (as_json) {
		json_init(&out, stdout);
		json_object(&out, NULL);
		json_string(&out, "path", "packets");
		json_int(&out, "rounds", rounds);
		json_uint(&out, "bytes", TX_BYTES);
		json_uint(&out, "requests", TX_REQUESTS);
		json_array(&out, "mixes");
	}
	for (i = 0; i < ARRAY_SIZE(hops_ns); i++)
		with_model(hops_ns[i], rounds);
	if (as_json) {
		json_end_array(&out);
		json_end_object(&out);
	}
	tx_pass_close();
	bench_fini(&bench);
	return missed;
}
