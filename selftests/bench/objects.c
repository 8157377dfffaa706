// SPDX-License-Identifier: GPL-2.0
/*
 * Atomic object reads at native speed: the data of M16 figures 1 and 7 to 10, for the core and
 * the library's schemes, as JSON or a table. Two nodes of one kernel, one worker (fused) on a
 * CPU of its own, the reading application on another.
 *
 * Two CPUs have no room for more spinning threads. So the readers of figures 7b, 8 and 9b are
 * concurrent reads of one thread, and the writers of figure 8 run in it alternately: a step of
 * a writer makes its next object odd and stores, or makes it even again. Both schemes pay the
 * same for that; rates of one run are compared.
 *
 * Values are medians of rounds; a round's value is the rate of its best windows (windows.h).
 *
 *	build/host/objects [--quick] [--json] [--check] [--mtu N] [FIGURE ...]
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>
#include "windows.h"
#include "tools/common/json.h"

#include <rmc/error.h>
#include <rmc/reader.h>
#include <rmc/sabre.h>

#define SEGMENT		(128UL << 20)	/* more than the caches hold */
#define ENTRIES		128
#define OBJECTS		100		/* figure 8's, in the caches */
#define OBJECT_MAX	8192U
#define WINDOW		16
#define BATCH		16	/* operations between reads of the clock */

static const u32 all_sizes[] = { 64, 128, 256, 512, 1024, 2048, 4096, 8192 };
static const u32 three_sizes[] = { 128, 1024, 8192 };

static const int worker_cpus[] = { 1, 1, 1, 1 };
static u8 *segment, *landing, *clean;
static struct testbed testbed;
static struct app app;
static struct rmc_qp qp;
static struct rmc_mem *seg, *buf;
static u32 mtu = 4096;
static bool packets = true;
static int rounds = ROUNDS_MAX;
static bool as_json, checking, missed;
static struct json out;
static volatile u64 sink;

/* The application's use of an object: read all of it, as fast as possible */
static u64 __attribute__((__noinline__, optimize("O3"))) use(const void *data, u32 len)
{
	const u64 *w = data;
	u64 a = 0, b = 0, c = 0, d = 0;
	u32 i;

	for (i = 0; i + 4 <= len / 8; i += 4) {
		a += w[i];
		b += w[i + 1];
		c += w[i + 2];
		d += w[i + 3];
	}
	for (; i < len / 8; i++)
		a += w[i];
	return a + b + c + d;
}

/* --- results --- */

static void row(const char *figure, u32 size, u32 writers, const char *series, double value,
		const char *unit)
{
	static const char * const names[] = { "figure", "writers" };

	if (!as_json) {
		printf("%-9s %5u B", figure, size);
		if (*figure == '8')
			printf("  %2u writers", writers);
		printf("  %-28s %10.2f %s\n", series, value, unit);
		fflush(stdout);
		return;
	}
	json_figure_row(&out, names, figure, size, writers, series, value, unit);
}

/* --- objects of one scheme in the segment --- */

struct store {
	const struct rmc_scheme *s;
	u32 size;
	u64 step, n;
};

static void store_init(struct store *st, const char *scheme, u32 size, u64 objects)
{
	static u8 data[OBJECT_MAX];
	u64 i;

	st->s = rmc_scheme_find(scheme);
	st->size = size;
	st->step = rmc_scheme_bytes(st->s, size);
	st->n = objects ? objects : SEGMENT / st->step;
	for (i = 0; i < st->n; i++) {
		rmc_scheme_init(st->s, (struct rmc_object *)(segment + i * st->step), size);
		if (objects || st->s->store != rmc_scheme_find("sabre")->store)
			rmc_scheme_write(st->s, (struct rmc_object *)(segment + i * st->step), data,
					 size, NULL);
	}
}

static struct rmc_reader *reader_open(const struct store *st, u32 window)
{
	struct rmc_reader_options o = {
		.scheme = st->s, .max = st->size, .window = window, .attempts = ~0U,
		.memory = landing, .params = { .lease_us = 1000000 },
	};
	struct rmc_reader *r = rmc_reader_open(&qp, &o);

	if (!r) {
		fprintf(stderr, "objects: %s\n", rmc_errmsg());
		exit(1);
	}
	return r;
}

/* --- 1 and 9a: the parts of one read's time, as differences of passes --- */

enum pass { TRANSFER, CHECK, USE, PASSES };

static double pass_ns(const struct store *st, enum pass pass)
{
	u32 op = st->s->fetch == RMC_FETCH_SABRE ? RMC_OP_SABRE : RMC_OP_READ;
	const void *data;
	u64 sum = 0;
	int i;

	win_start();
	do {
		for (i = 0; i < BATCH; i++) {
			bench_check(rmc_execute(&qp, op, 1, bench_random() % st->n * st->step,
						landing, st->s->image(st->size)));
			if (pass == TRANSFER)
				continue;
			bench_check(rmc_scheme_check(st->s, landing, clean, st->size, &data));
			if (pass == USE)
				sum += use(data, st->size);
		}
	} while (!win_over(BATCH));
	sink = sum;
	return 1 / win_rate();
}

static double reader_ns(const struct store *st, struct rmc_reader *r)
{
	struct rmc_object_read rd = { .nid = 1, .len = st->size };
	u64 sum = 0;
	int i;

	win_start();
	do {
		for (i = 0; i < BATCH; i++) {
			rd.offset = bench_random() % st->n * st->step;
			bench_check(rmc_reader_read(r, &rd));
			sum += use(rd.data, st->size);
		}
	} while (!win_over(BATCH));
	sink = sum;
	return 1 / win_rate();
}

static void breakdown(void)
{
	static const char * const schemes[] = { "farm", "sabre" };
	double t[2][PASSES + 1][ROUNDS_MAX], d[ROUNDS_MAX];
	u32 i, k, p;
	int r;

	for (i = 0; i < ARRAY_SIZE(all_sizes); i++) {
		for (k = 0; k < 2; k++) {
			struct rmc_reader *reader;
			struct store st;

			store_init(&st, schemes[k], all_sizes[i], 0);
			reader = reader_open(&st, 1);
			for (r = 0; r < rounds; r++) {
				for (p = 0; p < PASSES; p++)
					t[k][p][r] = pass_ns(&st, p);
				t[k][PASSES][r] = reader_ns(&st, reader);
			}
			rmc_reader_close(reader);
			row("1", all_sizes[i], 0, k ? "sabre: transfer" : "farm: transfer",
			    median(t[k][TRANSFER], rounds), "ns");
			for (r = 0; r < rounds && !k; r++)
				d[r] = t[k][CHECK][r] - t[k][TRANSFER][r];
			if (!k)
				row("1", all_sizes[i], 0, "farm: strip and compare",
				    median(d, rounds), "ns");
			for (r = 0; r < rounds; r++)
				d[r] = t[k][USE][r] - t[k][CHECK][r];
			row("1", all_sizes[i], 0, k ? "sabre: application" : "farm: application",
			    median(d, rounds), "ns");
			for (r = 0; r < rounds; r++)
				d[r] = t[k][PASSES][r] - t[k][USE][r];
			row("1", all_sizes[i], 0, k ? "sabre: framework" : "farm: framework",
			    median(d, rounds), "ns");
			row("9a", all_sizes[i], 0, k ? "sabre" : "farm",
			    median(t[k][PASSES], rounds), "ns");
		}
		row("9a", all_sizes[i], 0, "sabre shorter by",
		    100 * (1 - median(t[1][PASSES], rounds) / median(t[0][PASSES], rounds)), "%");
	}
}

/* --- 7: SABRes and plain reads --- */

static const struct {
	const char *name;
	u32 op, mode;
} kinds[] = {
	{ "read", RMC_OP_READ, RMC_SABRE_OVERLAPPED },
	{ "SABRe", RMC_OP_SABRE, RMC_SABRE_OVERLAPPED },
	{ "SABRe, no speculation", RMC_OP_SABRE, RMC_SABRE_SERIALIZED },
	{ "SABRe, locked", RMC_OP_SABRE, RMC_SABRE_LOCKED },
};

#define KINDS	ARRAY_SIZE(kinds)

static void figure7a(void)
{
	double t[KINDS][ROUNDS_MAX];
	u32 i, k;
	int r, j;

	for (i = 0; i < ARRAY_SIZE(all_sizes); i++) {
		u32 size = all_sizes[i];	/* with the header, as in the paper */
		u64 places = SEGMENT / size;

		memset(segment, 0, SEGMENT);
		for (r = 0; r < rounds; r++) {
			for (k = 0; k < KINDS; k++) {
				seg->sabre = kinds[k].mode;
				win_start();
				do {
					for (j = 0; j < BATCH; j++) {
						u64 at = bench_random() % places * size;

						bench_check(rmc_execute(&qp, kinds[k].op, 1, at,
									landing, size));
					}
				} while (!win_over(BATCH));
				t[k][r] = 1 / win_rate();
			}
		}
		for (k = 0; k < KINDS; k++)
			row("7a", size, 0, kinds[k].name, median(t[k], rounds), "ns");
	}
	seg->sabre = RMC_SABRE_OVERLAPPED;
}

static double rate_gbs(u32 op, u32 size)
{
	u64 places = SEGMENT / size;
	u32 i;
	int slot;

	win_start();
	do {
		for (i = 0; i < 4 * BATCH; i++) {
			while (rmc_qp_in_flight(&qp) >= WINDOW)
				rmc_poll_cq(&qp, NULL);
			slot = rmc_wait_for_slot(&qp, NULL);
			rmc_issue(&qp, op, slot, 1, bench_random() % places * size,
				  landing + slot * (u64)OBJECT_MAX, size);
		}
	} while (!win_over(4 * BATCH));
	bench_check(rmc_drain_cq(&qp, NULL));
	return win_rate() * size;
}

static void figure7b(void)
{
	double t[KINDS][ROUNDS_MAX];
	u32 i, k;
	int r;

	for (i = 0; i < ARRAY_SIZE(all_sizes); i++) {
		memset(segment, 0, SEGMENT);
		for (r = 0; r < rounds; r++) {
			for (k = 0; k < KINDS; k++) {
				seg->sabre = kinds[k].mode;
				t[k][r] = rate_gbs(kinds[k].op, all_sizes[i]);
			}
		}
		for (k = 0; k < KINDS; k++)
			row("7b", all_sizes[i], 0, kinds[k].name, median(t[k], rounds), "GB/s");
	}
	seg->sabre = RMC_SABRE_OVERLAPPED;
}

/* --- 8 and 9b: as many readers as operations in flight, with concurrent writers --- */

struct writer {
	u64 at, first, last;
	bool odd;
};

static void writer_turn(const struct store *st, struct writer *w)
{
	static u8 data[OBJECT_MAX];
	struct rmc_object *o = (struct rmc_object *)(segment + w->at * st->step);

	if (w->odd) {
		rmc_object_write_end(o);
		w->at = w->at + 1 < w->last ? w->at + 1 : w->first;
	} else if (!rmc_object_try_begin(o)) {
		st->s->store(o, data, st->size);
	} else {
		return;
	}
	w->odd = !w->odd;
}

struct crowd {
	const struct store *st;
	struct rmc_reader *r;
	struct rmc_object_read rd[WINDOW];
	struct writer w[16];
	u32 writers, turn;
	u64 n, sum;
};

static void crowd_open(struct crowd *c, const struct store *st, u32 readers, u32 writers)
{
	u32 i;

	*c = (struct crowd){ .st = st, .r = reader_open(st, readers), .writers = writers };
	for (i = 0; i < writers; i++)
		c->w[i] = (struct writer){ i * st->n / writers, i * st->n / writers,
					   (i + 1) * st->n / writers, false };
	for (i = 0; i < readers; i++) {
		c->rd[i] = (struct rmc_object_read){ .nid = 1, .len = st->size,
						     .offset = bench_random() % st->n * st->step };
		bench_check(rmc_reader_start(c->r, &c->rd[i]));
	}
}

/* One of the readers whose object has arrived, if any, uses it and starts its next read */
static bool crowd_read(struct crowd *c)
{
	struct rmc_object_read *done;

	if (rmc_reader_poll(c->r, &done) != 1)
		return false;
	bench_check(done->status);
	c->sum += use(done->data, c->st->size);
	c->n++;
	rmc_reader_release(c->r, done);
	done->offset = bench_random() % c->st->n * c->st->step;
	bench_check(rmc_reader_start(c->r, done));
	return true;
}

static void crowd_write(struct crowd *c)
{
	if (c->writers)
		writer_turn(c->st, &c->w[c->turn++ % c->writers]);
}

/* Returns the number of failed attempts per object */
static double crowd_close(struct crowd *c)
{
	const struct rmc_reader_stats *stats = rmc_reader_stats(c->r);
	double again = (double)(stats->torn + stats->locked) / (double)c->n;
	u32 i;

	for (i = 0; i < c->writers; i++)
		if (c->w[i].odd)
			writer_turn(c->st, &c->w[i]);
	sink = c->sum;
	rmc_reader_close(c->r);
	return again;
}

/* Millions of objects read per second */
static double objects_per_us(const struct store *st, u32 readers, u32 writers, double *again)
{
	struct crowd c;
	u64 before;
	u32 i;

	crowd_open(&c, st, readers, writers);
	win_start();
	do {
		before = c.n;
		for (i = 0; i < 256; i++) {
			crowd_read(&c);
			if (!(i & 3))
				crowd_write(&c);
		}
	} while (!win_over(c.n - before));
	*again = crowd_close(&c);
	return win_rate() * 1000;
}

/*
 * The same for the CPU time of the readers only, as if the RMC put objects into their caches
 * and no reader waited: this CPU also runs the RMC, while the clock is stopped.
 */
static double readers_per_us(const struct store *st, u32 readers, u32 writers, double *again)
{
	struct crowd c;
	u64 before, spent, t;

	crowd_open(&c, st, readers, writers);
	win_start();
	do {
		before = c.n;
		for (spent = 0; spent < WINDOW_NS / 4; spent += bench_now() - t) {
			while (testbed_visit(&testbed))
				crowd_write(&c);
			t = bench_now();
			while (crowd_read(&c))
				;
		}
	} while (!win_add(c.n - before, spent));
	/* operations in flight have to complete before the reader is closed */
	while (testbed_visit(&testbed))
		;
	*again = crowd_close(&c);
	return win_rate() * 1000;
}

/* Percent more objects; where readers are the bottleneck, a minimum is required. */
static void gap(const char *figure, u32 size, u32 writers, double percent)
{
	u32 least = size == 128 ? 10 : size == 1024 ? 30 : 87;

	if (!checking || strcmp(figure, "8-readers")) {
		row(figure, size, writers, "sabre more by", percent, "%");
		return;
	}
	printf("%-9s %5u B  %2u writers  %-28s %10.2f %% asked >= %u%s\n", figure, size, writers,
	       "sabre more by", percent, least, percent < least ? " MISSED" : "");
	missed |= percent < least;
}

/* farm and sabre alternately, so that a disturbance of the machine affects both */
static void contest(const char *figure, u32 size, u64 objects, u32 readers, u32 writers,
		    double (*rate)(const struct store *, u32, u32, double *))
{
	double v[2][ROUNDS_MAX], again[2][ROUNDS_MAX];
	struct store st;
	int r, k;

	for (r = 0; r < rounds; r++) {
		for (k = 0; k < 2; k++) {
			store_init(&st, k ? "sabre" : "farm", size, objects);
			v[k][r] = rate(&st, readers, writers, &again[k][r]);
		}
	}
	row(figure, size, writers, "farm", median(v[0], rounds), "M/s");
	row(figure, size, writers, "sabre", median(v[1], rounds), "M/s");
	gap(figure, size, writers, 100 * (median_ratio(v[1], v[0], rounds) - 1));
	if (!writers)
		return;
	row(figure, size, writers, "farm: tries that failed", median(again[0], rounds), "per read");
	row(figure, size, writers, "sabre: tries that failed", median(again[1], rounds), "per read");
}

static void sweep_writers(const char *figure,
			  double (*rate)(const struct store *, u32, u32, double *))
{
	static const u32 writers[] = { 0, 1, 2, 4, 8, 12, 16 };
	u32 i, w;

	for (i = 0; i < ARRAY_SIZE(three_sizes); i++)
		for (w = 0; w < ARRAY_SIZE(writers); w++)
			contest(figure, three_sizes[i], OBJECTS, WINDOW, writers[w], rate);
}

static void figure8(void)
{
	sweep_writers("8", objects_per_us);
}

static void figure8_readers(void)
{
	testbed_stop(&testbed);
	sweep_writers("8-readers", readers_per_us);
	testbed_start(&testbed, worker_cpus, false);
}

static void figure9b(void)
{
	u32 i;

	/* 16 MiB: initializing more takes longer than reading it */
	for (i = 1; i < ARRAY_SIZE(all_sizes); i++)
		contest("9b", all_sizes[i], (16UL << 20) / (all_sizes[i] + 128), WINDOW - 1, 0,
			objects_per_us);
}

/* --- 10: the owner's own reads --- */

static double local_rate(const struct store *st, bool in_place)
{
	u64 sum = 0, version;
	u32 i;

	win_start();
	do {
		for (i = 0; i < 4 * BATCH; i++) {
			const struct rmc_object *o = (const struct rmc_object *)
				(segment + bench_random() % st->n * st->step);

			if (in_place) {
				do {
					version = rmc_object_read_begin(o);
					sum += use((const u8 *)o + st->s->data_at, st->size);
				} while (rmc_object_read_retry(o, version));
			} else {
				bench_check(rmc_scheme_read(st->s, o, clean, st->size));
				sum += use(clean, st->size);
			}
		}
	} while (!win_over(4 * BATCH));
	sink = sum;
	return win_rate() * 1000;
}

static void figure10(void)
{
	static const struct {
		const char *name, *scheme;
		bool in_place;
	} way[] = {
		{ "versions in lines, stripped", "farm", false },
		{ "clean layout, in place", "sabre", true },
		{ "clean layout, copied out", "sabre", false },
	};
	double v[3][ROUNDS_MAX];
	struct store st;
	u32 i, k, where;
	int r;

	for (where = 0; where < 2; where++) {
		const char *figure = where ? "10" : "10-llc";

		for (i = 1; i < ARRAY_SIZE(all_sizes); i++) {
			u64 n = where ? (64UL << 20) / (all_sizes[i] + 128) : OBJECTS;

			for (k = 0; k < 3; k++) {
				store_init(&st, way[k].scheme, all_sizes[i], n);
				for (r = 0; r < rounds; r++)
					v[k][r] = local_rate(&st, way[k].in_place);
			}
			for (k = 0; k < 3; k++)
				row(figure, all_sizes[i], 0, way[k].name, median(v[k], rounds), "M/s");
			row(figure, all_sizes[i], 0, "clean, times as many",
			    median(v[1], rounds) / median(v[0], rounds), "x");
		}
	}
}

/* --- all schemes: one read at a time, and the check alone --- */

static void all_schemes(void)
{
	double t[ROUNDS_MAX], c[ROUNDS_MAX];
	const struct rmc_scheme *s;
	const void *data;
	char name[64];
	u32 i, k, j;
	int r;

	for (i = 0; i < ARRAY_SIZE(three_sizes); i++) {
		for (k = 0; (s = rmc_scheme_number(k)); k++) {
			struct rmc_reader *reader;
			struct store st;

			if (s->flags & RMC_SCHEME_MESSAGE)
				continue;	/* needs a thread of the owner */
			store_init(&st, s->name, three_sizes[i], OBJECTS);
			reader = reader_open(&st, 1);
			for (r = 0; r < rounds; r++) {
				t[r] = reader_ns(&st, reader);
				win_start();
				do {
					for (j = 0; j < OBJECTS; j++)
						bench_check(rmc_scheme_check(s,
									     segment + j * st.step,
									     clean, st.size, &data));
				} while (!win_over(OBJECTS));
				c[r] = 1 / win_rate();
			}
			rmc_reader_close(reader);
			row("schemes", three_sizes[i], 0, s->name, median(t, rounds), "ns");
			snprintf(name, sizeof(name), "%s: check", s->name);
			if (s->check)
				row("schemes", three_sizes[i], 0, name, median(c, rounds), "ns");
		}
	}
}

/* --- */

static const struct {
	const char *name;
	void (*run)(void);
} figures[] = {
	{ "1", breakdown },	/* and 9a */
	{ "7a", figure7a },
	{ "7b", figure7b },
	{ "8", figure8 },
	{ "8-readers", figure8_readers },
	{ "9b", figure9b },
	{ "10", figure10 },
	{ "schemes", all_schemes },
};

static void testbed_up(void)
{
	static uint8_t slots[ENTRIES];
	struct testbed_opts o = { .nodes = 2, .mtu = mtu, .itt = 1024 };
	size_t len = (size_t)ENTRIES * OBJECT_MAX + (1 << 20);

	segment = bench_map(SEGMENT);
	memset(segment, 0, SEGMENT);
	landing = bench_map(len);
	clean = bench_map(2UL << 20);
	testbed_now_ns = 0;
	testbed_init(&testbed, &o);
	app_init(&app, &testbed, 0, 0, ENTRIES);
	buf = mem_make(landing, len, 12, 0);
	seg = mem_make(segment, SEGMENT, 12, 0);
	mem_objects(seg, RMC_SABRE_OVERLAPPED, 0);
	rmc_bufs_add(&app.bufs, buf);
	seg_set(&testbed, 1, 0, seg);
	rmc_qp_init_raw(&qp, app.wq, app.cq, app.flags, slots,
			(struct rmc_operands *)(landing + len - ENTRIES * sizeof(struct rmc_operands)),
			ENTRIES);
	bench_packets(&testbed, packets);
	testbed_start(&testbed, worker_cpus, false);
}

static void testbed_down(void)
{
	testbed_stop(&testbed);
	app_fini(&app);
	testbed_fini(&testbed);
	mem_free(seg);
	mem_free(buf);
}

static bool wanted(int argc, char **argv, const char *name)
{
	int i;

	for (i = optind; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return optind == argc;
}

/* Is every argument a figure? */
static bool known(int argc, char **argv)
{
	u32 i;
	int k;

	for (k = optind; k < argc; k++) {
		for (i = 0; i < ARRAY_SIZE(figures) && strcmp(figures[i].name, argv[k]); i++)
			;
		if (i == ARRAY_SIZE(figures))
			return false;
	}
	return true;
}

static int usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: objects [--json] [--quick] [--check] [--mtu N] [--path packets|local]\n"
		"               [1 7a 7b 8 8-readers 9b 10 schemes]\n"
		"M16's figures over the core at native speed; medians of %d rounds, of 5 if quick.\n"
		"--path: over packets, as between two machines, unless local is given.\n"
		"--check: exit status 1 when SABRes spare readers less than is asked of them.\n",
		ROUNDS_MAX);
	return status;
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "quick", no_argument, NULL, 'q' },
		{ "check", no_argument, NULL, 'c' },
		{ "mtu", required_argument, NULL, 'm' },
		{ "path", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	u32 i;
	int c;

	while ((c = getopt_long(argc, argv, "jqcm:p:h", longopts, NULL)) != -1) {
		if (c == 'j') {
			as_json = true;
		} else if (c == 'q') {
			rounds = 5;
		} else if (c == 'c') {
			checking = true;
		} else if (c == 'm') {
			mtu = (u32)atoi(optarg);
		} else if (c == 'p' && bench_is_path(optarg, &packets)) {
			;
		} else {
			return usage(c == 'h' ? 0 : 2);
		}
	}
	if (!known(argc, argv))
		return usage(2);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "objects: needs two CPUs, this machine has one\n");
		return 4;
	}
	bench_pin(0);
	testbed_up();
	if (as_json) {
		json_init(&out, stdout);
		json_object(&out, NULL);
		json_uint(&out, "mtu", mtu);
		json_string(&out, "path", packets ? "packets" : "local");
		json_int(&out, "rounds", rounds);
		json_array(&out, "rows");
	}
	for (i = 0; i < ARRAY_SIZE(figures); i++)
		if (wanted(argc, argv, figures[i].name))
			figures[i].run();
	if (as_json) {
		json_end_array(&out);
		json_end_object(&out);
	}
	testbed_down();
	return missed;
}
