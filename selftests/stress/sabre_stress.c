// SPDX-License-Identifier: GPL-2.0
/*
 * Are SABRes atomic? A writer on one CPU stamps whole objects. A reader and its RMC on another
 * CPU read them, and check every word that arrives. The same checker must find torn objects
 * among plain reads, and among SABRes of the build "mutant", which validates the version only
 * after the data: this shows that the test can fail.
 *
 *	sabre_stress [THOUSANDS]	SABRes per mechanism and configuration
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include "matrix.h"

#include "lib/include/rmc/object.h"

#define OBJECTS		64
#define MAX_OBJECT	8192
#define DEPTH		16
#define WORDS(size)	((size) / 8 - 2)

static const char * const mode_names[] = { "plain reads", "overlapped", "serialized", "locked" };

#ifdef RMC_MUTANT
static const bool mutant = true;
#else
static const bool mutant;
#endif

static u8 *objects;
static u32 size;			/* of an object, header included */
static u32 stop_writer, pause_loops;
static u64 writes;
static bool locked;

uint32_t rmc_object_self(void)
{
	static __thread u32 id;
	static u32 ids;

	if (!id)
		id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
	return id;
}

void rmc_object_relax(unsigned int *spins)
{
	if (++*spins % 64)
		rmc_pause();
	else
		sched_yield();
}

static struct rmc_object *object(u32 i)
{
	return (struct rmc_object *)(objects + (size_t)i * MAX_OBJECT);
}

static u64 *words(struct rmc_object *o)
{
	return (u64 *)(o + 1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Every word of an object holds the number of times it was written. */
static void *writer(void *arg)
{
	u32 i = 0, k;
	volatile u32 idle;

	pin((intptr_t)arg);
	while (!__atomic_load_n(&stop_writer, __ATOMIC_RELAXED)) {
		struct rmc_object *o = object(i++ % OBJECTS);
		u64 *w = words(o), v = __atomic_load_n(&w[0], __ATOMIC_RELAXED) + 1;

		rmc_object_write_begin(o);
		for (k = 0; k < WORDS(size); k++)
			WRITE_ONCE(w[k], v);
		rmc_object_write_end(o);
		__atomic_fetch_add(&writes, 1, __ATOMIC_RELAXED);
		for (idle = 0; idle < pause_loops; idle++)
			;
	}
	return NULL;
}

static bool torn(const u8 *copy)
{
	const struct rmc_object *o = (const struct rmc_object *)copy;
	const u64 *w = (const u64 *)(o + 1);
	u32 k;

	/*
	 * The header is part of the snapshot: two increments per stamp. With the lock, a writer
	 * may wait with an odd version.
	 */
	if (o->version != 2 * w[0] && !(locked && o->version == 2 * w[0] + 1))
		return true;
	for (k = 1; k < WORDS(size); k++)
		if (w[k] != w[0])
			return true;
	return false;
}

struct tally {
	u64 ok, torn, aborted, locked, lost, other, fresh;
};

/*
 * Read with many operations in flight; this thread is also the RMC unless workers run. op READ:
 * the same without a check of atomicity.
 */
static void read_objects(struct testbed *w, struct app *a, u8 *lbuf, u32 op, u64 count,
			 bool threaded, struct tally *t)
{
	u64 done = 0, posted = 0, last[OBJECTS] = { 0 };
	u32 slot, status, which[DEPTH], seed = 1;
	time_t end = time(NULL) + 60;

	memset(t, 0, sizeof(*t));
	while (done < count && !(mutant && t->torn) && !(op == RMC_OP_READ && t->torn > 100)) {
		while (posted - done < DEPTH && posted < count) {
			u32 s = a->head & (a->entries - 1);

			seed = seed * 1664525 + 1013904223;
			which[s] = (seed >> 16) % OBJECTS;
			app_post(a, op, 1, (u64)which[s] * MAX_OBJECT, lbuf + s * MAX_OBJECT, size);
			posted++;
			/* completions come in any order, slots are reused in order */
			if (posted % DEPTH == 0)
				break;
		}
		while (done < posted) {
			if (!threaded)
				testbed_visit(w);
			else if (READ_ONCE(a->flags->need_wakeup))
				rmc_os_wake(rmc_qp_worker(&a->qp));
			while (app_poll(a, &slot, &status)) {
				u8 *copy = lbuf + slot * MAX_OBJECT;
				u64 v = ((u64 *)copy)[2];

				done++;
				if (status == RMC_S_OK) {
					if (torn(copy)) {
						t->torn++;
					} else {
						t->ok++;
						t->fresh += v != last[which[slot]];
						last[which[slot]] = v;
					}
				} else if (status == RMC_S_SABRE_ABORTED) {
					t->aborted++;
				} else if (status == RMC_S_SABRE_LOCKED) {
					t->locked++;
				} else if (status == RMC_S_SABRE_LOST) {
					t->lost++;
				} else {
					t->other++;
				}
			}
			if (threaded)
				sched_yield();
			if (!(done & 1023) && time(NULL) > end)
				return;
		}
	}
}

struct config {
	struct testbed_opts opts;
	u32 size, pause;
	bool shuffle, threaded;
};

static const struct rmc_fault shuffle = { .shuffle = RMC_ALWAYS };

static void run(const struct config *c, u32 mode, u64 count, struct tally *t)
{
	u8 *lbuf = aligned_alloc(4096, DEPTH * MAX_OBJECT);
	struct rmc_mem *seg, *buf;
	struct testbed w;
	struct app a;
	pthread_t thread;
	u32 i;

	size = c->size;
	pause_loops = c->pause;
	locked = mode == RMC_SABRE_LOCKED;
	memset(objects, 0, OBJECTS * MAX_OBJECT);
	testbed_now_ns = 0;
	testbed_init(&w, &c->opts);
	testbed_now_ns = 0;
	rmc_filters = c->shuffle;
	if (c->shuffle) {
		fault_set(&w, 0, 1, RMC_LANE_REQ, &shuffle, 7);
		fault_set(&w, 1, 0, RMC_LANE_REP, &shuffle, 8);
	}
	app_init(&a, &w, 0, 0, DEPTH);
	seg = mem_make(objects, OBJECTS * MAX_OBJECT, 12, 0);
	buf = mem_make(lbuf, DEPTH * MAX_OBJECT, 12, 0);
	mem_objects(seg, mode ? mode : RMC_SABRE_OVERLAPPED, 0);
	rmc_bufs_add(&a.bufs, buf);
	seg_set(&w, 1, 0, seg);
	stop_writer = 0;
	writes = 0;
	pthread_create(&thread, NULL, writer, (void *)0);
	while (!__atomic_load_n(&writes, __ATOMIC_RELAXED))
		sched_yield();
	if (c->threaded)
		testbed_start(&w, NULL, false);
	read_objects(&w, &a, lbuf, mode ? RMC_OP_SABRE : RMC_OP_READ, count, c->threaded, t);
	if (c->threaded)
		testbed_stop(&w);
	__atomic_store_n(&stop_writer, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	for (i = 0; i < OBJECTS; i++) {
		CHECK_EQ(object(i)->readers, 0);
		CHECK_EQ(object(i)->writer, 0);
		CHECK(!torn((u8 *)object(i)));
	}
	if (!mutant || !mode) {
		testbed_settle(&w);
		CHECK_EQ(w.node[1]->att.live, 0);
		CHECK_EQ(testbed_in_flight(&w, 0), 0);
	}
	printf("# %s MTU %u, %u B, %s%s: %llu whole, %llu torn, %llu aborted, %llu locked, %llu lost; %llu writes\n",
	       c->opts.ni, c->opts.mtu, c->size, mode_names[mode], c->shuffle ? ", shuffled" : "",
	       (unsigned long long)t->ok, (unsigned long long)t->torn,
	       (unsigned long long)t->aborted, (unsigned long long)t->locked,
	       (unsigned long long)t->lost, (unsigned long long)writes);
	app_fini(&a);
	testbed_fini(&w);
	mem_free(seg);
	mem_free(buf);
	free(lbuf);
}

/* ---- concurrent writers, and writers that die ---- */

static void *rival(void *arg)
{
	u64 n = (uintptr_t)arg;
	struct rmc_object *o = object(0);
	u64 *w = words(o);

	while (n--) {
		rmc_object_write_begin(o);
		/* plain increments: a lost one would be found */
		w[0]++;
		w[1]++;
		rmc_object_write_end(o);
	}
	return NULL;
}

static void test_writers(void)
{
	u64 n = 20000, v;
	pthread_t t[3];
	int i;

	memset(objects, 0, MAX_OBJECT);
	for (i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, rival, (void *)(uintptr_t)n);
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(words(object(0))[0], 3 * n);
	CHECK_EQ(words(object(0))[1], 3 * n);
	CHECK_EQ(object(0)->version, 6 * n);
	/* a remote writer holds the odd version: local writers see that it is taken */
	object(0)->version++;
	CHECK_EQ(rmc_object_try_begin(object(0)), -EBUSY);
	CHECK_EQ(object(0)->writer, 0);
	object(0)->version++;
	CHECK_EQ(rmc_object_try_begin(object(0)), 0);
	CHECK_EQ(rmc_object_try_begin(object(0)), -EBUSY);
	v = rmc_object_read_begin(object(0));
	CHECK(rmc_object_read_retry(object(0), v));
	rmc_object_write_end(object(0));
	v = rmc_object_read_begin(object(0));
	CHECK(!rmc_object_read_retry(object(0), v));
	CHECK(rmc_object_read_retry(object(0), v - 2));
	tap_result("writers exclude each other");
}

int main(int argc, char **argv)
{
	static const struct config configs[] = {
		{ { .nodes = 2, .ni = "fused", .mtu = 4096 }, 128, 300, false, false },
		{ { .nodes = 2, .ni = "fused", .mtu = 4096 }, 8192, 3000, false, false },
		{ { .nodes = 2, .ni = "fused", .mtu = 64 }, 1024, 1000, true, false },
		{ { .nodes = 2, .ni = "fused", .mtu = 512 }, 4096, 3000, true, false },
		{ { .nodes = 2, .ni = "pair", .mtu = 64 }, 256, 500, false, true },
		{ { .nodes = 2, .ni = "edge", .units = 2, .mtu = 512 }, 1024, 500, false, true },
	};
	/* of the testbed that RMC_TESTBED asks for */
	static struct config one = { { .nodes = 2, .mtu = 4096 }, 1024, 500, false, true };
	u64 count = (argc > 1 ? atoll(argv[1]) : 400) * 1000ULL, whole[4] = { 0 }, met[4] = { 0 };
	bool asked = matrix_asked(&one.opts);
	struct tally t;
	char name[160];
	u32 i, mode;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		printf("1..0 # SKIP writer and reader need a CPU each\n");
		return 4;
	}
	pin(1);
	objects = aligned_alloc(4096, OBJECTS * MAX_OBJECT);
	if (!mutant)
		test_writers();
	for (i = 0; i < (asked ? 1 : ARRAY_SIZE(configs)); i++) {
		const struct config *c = asked ? &one : &configs[i];
		u64 n = c->threaded ? count / 50 : c->size > 1024 ? count / 4 : count;

		/* the checker must find torn plain reads */
		if (!c->threaded) {
			run(c, 0, 20 * count, &t);
			CHECK(t.torn > 0);
			CHECK_EQ(t.other, 0);
			snprintf(name, sizeof(name), "plain reads are torn, and that is noticed (%s, MTU %u, %u B%s)",
				 c->opts.ni, c->opts.mtu, c->size, c->shuffle ? ", shuffled" : "");
			tap_result(name);
		}
		for (mode = RMC_SABRE_OVERLAPPED; mode <= RMC_SABRE_LOCKED; mode++) {
			/* the lock does not depend on the version */
			if (mutant && (mode == RMC_SABRE_LOCKED || c->threaded))
				continue;
			run(c, mode, mutant ? 20 * count : n, &t);
			whole[mode] += t.ok;
			CHECK_EQ(t.other, 0);
			if (mutant) {
				CHECK(t.torn > 0);
			} else {
				CHECK_EQ(t.torn, 0);
				CHECK(t.ok > 0);
				CHECK(t.fresh > 0);
				met[mode] += t.aborted + t.locked;
				/* the holder of the lock is not disturbed */
				CHECK(mode != RMC_SABRE_LOCKED || !t.aborted);
			}
			snprintf(name, sizeof(name), "%s (%s, MTU %u, %u B, %s%s)",
				 mutant ? "version after the data only: torn, and that is noticed" :
					  "no SABRe is torn",
				 c->opts.ni, c->opts.mtu, c->size, mode_names[mode],
				 c->shuffle ? ", shuffled" : "");
			tap_result(name);
		}
	}
	for (mode = RMC_SABRE_OVERLAPPED; !mutant && !asked && mode <= RMC_SABRE_LOCKED; mode++) {
		CHECK(met[mode] > 0);
		printf("# %llu whole, writer met %llu times\n", (unsigned long long)whole[mode],
		       (unsigned long long)met[mode]);
		snprintf(name, sizeof(name), "reader and writer met (%s)", mode_names[mode]);
		tap_result(name);
	}
	free(objects);
	return matrix_done();
}
