// SPDX-License-Identifier: GPL-2.0
/*
 * CQ compaction (T18 3.6.3): completions that the RCP keeps and writes up to 16 at a time, so that the
 * CQ's line goes to the application less often, beside completions that are written one by one. The
 * core is not changed: compact.h is in front of it, and rmc_ni_visit() is wrapped (ld --wrap).
 *
 *	one by one	kmod/core/cq.h as it is
 *	per visit	those of one visit of the worker together
 *	when full	16 together, fewer only when the worker has nothing else to do
 *
 * Reads of 64 B through packets. Threads: an application and one worker of both nodes, pinned to two
 * CPUs. Computed: a CPU for each worker and application, in virtual time, with visits that are timed
 * here (ni_load.h). The three take turns, and a ratio is the median of those of the turns. Of threads
 * the window that 95 % of them do not exceed counts: shorter ones were interrupted. "Kept" are
 * completions for each time that some were written.
 *
 *	build/host/compaction [--quick] [--json] [threads] [computed]
 *
 * Before it measures, completions of both ways are compared (16 of a queue, each once and in order).
 * Exit status: 0; 1 if they differ; 2 wrong command line; 4 fewer than two CPUs.
 */
#include <math.h>
#include <stdio.h>
#include "tools/common/json.h"
#include "kmod/ni/ni.h"
#include "ni_load.h"

#define SEGMENT		(32UL << 20)	/* of a node */
#define TURNS		21		/* quick: 3 */
#define WINDOWS		100		/* of threads, quick: 20 */
#define WINDOW_US	2000
#define KEEPERS		(2 * LOAD_THREADS)

/* ---- what the core's RCP calls ---- */

struct keeper {
	struct rmc_qpair *qp;
	struct rmc_ni *ni;		/* its worker */
	u32 n;
	struct { u16 slot; u8 status; } kept[COMPACT_MOST];
};

enum compact_mode compact_mode;
/* Of the one worker that threads have; in virtual time of all, whose visits alternate */
static struct keeper keepers[KEEPERS];
static u32 keepers_used;
static struct rmc_ni *visiting;
static u64 completions, writes;

u32 __real_rmc_ni_visit(struct rmc_ni *ni);
u32 __wrap_rmc_ni_visit(struct rmc_ni *ni);

static void write_kept(struct keeper *k)
{
	u32 i;

	for (i = 0; i < k->n; i++)
		rmc_cq_post_now(k->qp, k->kept[i].slot, k->kept[i].status);
	completions += k->n;
	writes++;
	k->n = 0;
}

void compact_keep(struct rmc_qpair *qp, u16 slot, u8 status)
{
	struct keeper *k;

	for (k = keepers; k < keepers + keepers_used; k++)
		if (k->qp == qp)
			break;
	if (k == keepers + keepers_used) {
		if (keepers_used++ == KEEPERS)
			abort();
		*k = (struct keeper){ .qp = qp, .ni = visiting };
	}
	k->kept[k->n].slot = slot;
	k->kept[k->n++].status = status;
	if (k->n == COMPACT_MOST)
		write_kept(k);
}

u32 __wrap_rmc_ni_visit(struct rmc_ni *ni)
{
	struct keeper *k;
	u32 done;

	visiting = ni;
	done = __real_rmc_ni_visit(ni);
	if (compact_mode == COMPACT_NEVER || (compact_mode == COMPACT_FULL && done))
		return done;
	for (k = keepers; k < keepers + keepers_used; k++)
		if (k->ni == ni && k->n)
			write_kept(k);
	return done;
}

/* Between two testbeds, none of which has operations in flight; their workers' threads have ended. */
static void forget(void)
{
	keepers_used = 0;
	completions = 0;
	writes = 0;
}

/* ---- both ways complete the same ---- */

static u32 seen[BENCH_ENTRIES], landed_n;

static void landed(int slot, void *arg)
{
	(void)arg;
	seen[landed_n++ % BENCH_ENTRIES] = slot;
}

/* 100 reads at once, in virtual time, whose worker's visits alternate with polls */
static bool same(enum compact_mode mode)
{
	struct load l = { .ni = "fused", .units = 1, .rrpps = 1, .frontends = 1, .one_way = true,
			  .apps = 1, .op = RMC_OP_READ, .size = 64, .outstanding = 1 };
	struct bench_app *app = &load.app[0].b;
	bool ok = true;
	u32 i, most = 0, before;

	compact_mode = mode;
	forget();
	load_open(&l);
	landed_n = 0;
	for (i = 0; i < 100; i++)
		rmc_read_async(&app->qp, rmc_wait_for_slot(&app->qp, landed), app->target, 64 * i,
			       app->lbuf + 64 * i, 64);
	for (i = 0; i < 100000 && landed_n < 100; i++) {
		testbed_visit(&load.b.w);
		before = landed_n;
		rmc_poll_cq(&app->qp, landed);
		most = max(most, landed_n - before);
	}
	for (i = 0; i < 100; i++)
		ok &= seen[i] == i;
	ok &= landed_n == 100 && !app->qp.error && most <= BENCH_ENTRIES;
	if (mode != COMPACT_NEVER)
		ok &= completions == 100 && writes && writes < 100;
	load_close();
	return ok;
}

/* ---- measuring ---- */

static const char *const names[COMPACT_MODES] = { "one by one", "per visit", "when full" };
static bool as_json;
static struct json out;
static double handoff, half_ns;

/* Operations per us of threads that have their CPUs */
static double threads_rate(const struct load *l)
{
	u32 windows = bench_quick ? WINDOWS / 5 : WINDOWS, i;
	u64 t0, t1, done, now;
	double v[WINDOWS], rate;

	load_begin_threads(l);
	usleep(20000);
	t0 = bench_now();
	done = load_completed();
	for (i = 0; i < windows; i++) {
		usleep(WINDOW_US);
		t1 = bench_now();
		now = load_completed();
		v[i] = (now - done) * 1000.0 / (t1 - t0);
		t0 = t1;
		done = now;
	}
	load_end_threads();
	bench_median(v, windows);		/* sorts */
	rate = v[windows * 95 / 100];
	if (!rate) {
		fputs("compaction: no operation completes\n", stderr);
		exit(1);
	}
	return rate;
}

static void measure(const struct load *l, bool native, const char *name)
{
	double rate[COMPACT_MODES][TURNS], ratio[COMPACT_MODES][TURNS], kept[COMPACT_MODES] = { };
	int turns = bench_quick ? 3 : TURNS, t, m;
	struct load_result r;

	for (t = 0; t < turns; t++) {
		for (m = 0; m < COMPACT_MODES; m++) {
			compact_mode = m;
			forget();
			if (native)
				r.rate = threads_rate(l);
			else
				load_computed(l, handoff, &r);
			rate[m][t] = r.rate;
			ratio[m][t] = r.rate / rate[COMPACT_NEVER][t];
			kept[m] = writes ? (double)completions / writes : 1;
		}
	}
	if (!as_json)
		printf("%-9s%5u%10u", name, l->apps, l->outstanding);
	for (m = 0; m < COMPACT_MODES; m++) {
		double median = bench_median(ratio[m], turns), mops = bench_median(rate[m], turns);

		if (!as_json) {
			printf(m ? "%10.2f%8.3f%7.1f" : "%12.2f", mops, median, kept[m]);
			continue;
		}
		json_object(&out, NULL);
		json_string(&out, "name", name);
		json_string(&out, "completions", names[m]);
		json_string(&out, "path", "packets");
		json_uint(&out, "apps", l->apps);
		json_uint(&out, "outstanding", l->outstanding);
		json_double(&out, "mops", mops);
		json_double(&out, "ratio", median);
		json_double(&out, "ratio_low", ratio[m][0]);
		json_double(&out, "ratio_high", ratio[m][turns - 1]);
		json_double(&out, "kept", kept[m]);
		json_end_object(&out);
	}
	if (!as_json)
		putchar('\n');
	fflush(stdout);
}

static void part(bool native)
{
	static const u32 flights[] = { 1, 8, 32, BENCH_ENTRIES };
	struct load l = { .ni = "fused", .units = 1, .rrpps = 1, .frontends = 1, .one_way = true,
			  .kernels = !native, .apps = 1, .op = RMC_OP_READ, .size = 64 };
	u32 workers, i;

	if (native && (load_needs(&l, &workers) > (u32)load_cpus || workers != 1))
		return;
	for (i = 0; i < ARRAY_SIZE(flights); i++) {
		l.outstanding = flights[i];
		measure(&l, native, native ? "threads" : "computed");
	}
	if (native)
		return;
	l.apps = LOAD_APPS;
	measure(&l, false, "computed");
}

/* Half a line's round trip between two CPUs, ns */
static double half_pingpong(void)
{
	double v[21];
	u32 i;

	compact_mode = COMPACT_NEVER;
	bench_finer = 20;
	bench_init(&load.b, 2, "fused", RMC_MTU_DEFAULT);
	testbed_start(&load.b.w, load_cpu + 1, false);
	for (i = 0; i < ARRAY_SIZE(v); i++)
		v[i] = bench_pingpong(&load.b);
	bench_fini(&load.b);
	bench_finer = 1;
	return bench_median(v, ARRAY_SIZE(v)) / 2;
}

static int usage(FILE *f)
{
	fputs("usage: compaction [--quick] [--json] [threads] [computed]\n"
	      "Completions one by one beside up to 16 at a time; default: both parts\n", f);
	return f == stdout ? 0 : 2;
}

static void head(void)
{
	if (as_json) {
		json_init(&out, stdout);
		json_object(&out, NULL);
		json_string(&out, "test", "compaction");
		json_int(&out, "cpus", load_cpus);
		json_double(&out, "line_ping_pong_usec", 2 * half_ns / 1000);
		json_array(&out, "rows");
		return;
	}
	printf("Completions one by one, and up to %d at a time; 64 B reads, packets; M/s, ratio, kept\n",
	       COMPACT_MOST);
	printf("%-9s%5s%10s%12s%25s%25s\n", "", "apps", "in flight", names[0], names[1], names[2]);
}

int main(int argc, char **argv)
{
	bool native = false, computed = false;
	double miss_ns;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--quick"))
			bench_quick = true;
		else if (!strcmp(argv[i], "--json"))
			as_json = true;
		else if (!strcmp(argv[i], "threads"))
			native = true;
		else if (!strcmp(argv[i], "computed"))
			computed = true;
		else
			return usage(strcmp(argv[i], "--help") ? stderr : stdout);
	}
	sched_getaffinity(0, sizeof(load_allowed), &load_allowed);
	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &load_allowed))
			load_cpu[load_cpus++] = i;
	if (bench_setup(NI_TIME_NODES * SEGMENT) < 2 || load_cpus < 2)
		return 4;
	for (i = 0; i < COMPACT_MODES; i++) {
		if (!same(i)) {
			fprintf(stderr, "compaction: %s: not each completion once\n", names[i]);
			return 1;
		}
	}
	half_ns = half_pingpong();
	load_ns_per_tick = bench_ns_per_tick();
	load_begin_second();
	handoff = load_handoff(half_ns, &miss_ns);
	head();
	if (native || !computed)
		part(true);
	if (computed || !native)
		part(false);
	load_end_second();
	if (as_json) {
		json_end_array(&out);
		json_end_object(&out);
		putchar('\n');
	}
	return 0;
}
