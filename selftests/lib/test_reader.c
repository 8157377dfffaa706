/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Readers of <rmc/reader.h>, against a thread that stands in for the RMC. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include "fake_memory.h"
#include "scheme_test.h"

#define LOCK_AT		16	/* offset of lock and lease words */

static struct rmc_reader *reader_of(struct fixture *w, const char *scheme, unsigned int attempts)
{
	struct rmc_reader_options o = {
		.scheme = rmc_scheme_find(scheme), .max = MAX, .window = WINDOW,
		.attempts = attempts, .memory = w->memory, .nid = 3,
		.params = { .lease_us = 1000000 },	/* a sanitized RMC is slow */
	};

	return rmc_reader_open(&w->qp, &o);
}

static const char * const one_sided[] = { "sabre", "farm", "crc64", "lock", "lease", "plain" };
#define ONE_SIDED	(sizeof(one_sided) / sizeof(one_sided[0]))

static void reads(void)
{
	static uint8_t data[MAX];
	struct rmc_object_read rd[WINDOW + 1], *done;
	struct rmc_reader *r;
	struct fixture w;
	unsigned int k, i, n;
	int err;

	for (k = 0; k < ONE_SIDED; k++) {
		const struct rmc_scheme *s = rmc_scheme_find(one_sided[k]);
		size_t step = rmc_scheme_bytes(s, MAX);

		fixture_init(&w);
		r = reader_of(&w, one_sided[k], 0);
		CHECK(r != NULL);
		memset(rd, 0, sizeof(rd));
		for (i = 0; i <= WINDOW; i++) {
			rd[i].offset = i * step;
			rd[i].len = sizes[SIZES - 1 - i];
			rmc_scheme_init(s, (struct rmc_object *)(w.segment + i * step), rd[i].len);
			fill(data, rd[i].len, (uint8_t)(i + 1));
			rmc_scheme_write(s, (struct rmc_object *)(w.segment + i * step), data,
					 rd[i].len, NULL);
		}
		for (i = 0; i < WINDOW; i++)
			CHECK_EQ(rmc_reader_start(r, &rd[i]), 0);
		CHECK_EQ(rmc_reader_start(r, &rd[WINDOW]), -EAGAIN);
		CHECK_EQ(rmc_reader_read(r, &rd[WINDOW]), -EBUSY);
		for (n = 0; n < WINDOW; ) {
			err = rmc_reader_poll(r, &done);
			CHECK(err >= 0);
			if (err <= 0) {
				usleep(100);
				continue;
			}
			CHECK_EQ(done->status, 0);
			CHECK(((const uint8_t *)done->data)[0] == done - rd + 1);
			CHECK(whole((const uint8_t *)done->data, done->len));
			n++;
		}
		CHECK_EQ(rmc_reader_start(r, &rd[WINDOW]), -EAGAIN);
		for (i = 0; i < WINDOW; i++)
			rmc_reader_release(r, &rd[i]);
		CHECK_EQ(rmc_reader_read(r, &rd[WINDOW]), 0);
		CHECK(((const uint8_t *)rd[WINDOW].data)[0] == WINDOW + 1);
		rd[0].len = MAX + 1;
		CHECK_EQ(rmc_reader_read(r, &rd[0]), -EMSGSIZE);
		rd[0].len = 8;
		rd[0].offset = SEGMENT;
		CHECK_EQ(rmc_reader_read(r, &rd[0]), RMC_S_OUT_OF_RANGE);
		rd[0].nid = 1;
		CHECK_EQ(rmc_reader_read(r, &rd[0]), RMC_S_BAD_NODE);
		CHECK_EQ(rmc_reader_stats(r)->reads, WINDOW + 1);
		CHECK_EQ(rmc_reader_stats(r)->failed, 2);
		rmc_reader_close(r);
		fixture_fini(&w);
	}
}

static void refused(void)
{
	struct rmc_reader_options o = { .max = 64, .window = ENTRIES };
	struct fixture w;

	fixture_init(&w);
	CHECK(!rmc_reader_open(&w.qp, &o));
	o.scheme = rmc_scheme_find("farm");
	CHECK(!rmc_reader_open(&w.qp, &o));	/* the window is too large */
	o.window = 1;
	o.scheme = rmc_scheme_find("strip");
	CHECK(!rmc_reader_open(&w.qp, &o));	/* no RPC */
	CHECK(errno == EINVAL);
	fixture_fini(&w);
}

/* A call that fails while its read goes on leaves no reference to the caller's memory. */
static struct rmc_reader *read_that_fails(struct fixture *w)
{
	struct rmc_reader *r = reader_of(w, "farm", 0);
	struct rmc_object_read rd = { .len = 64 };

	w->delay_line_us = 20000;
	w->rmc.flags->dead = 1;
	CHECK_EQ(rmc_reader_read(r, &rd), -ESHUTDOWN);
	w->rmc.flags->dead = 0;
	return r;
}

static void failed_call(void)
{
	const struct rmc_scheme *s = rmc_scheme_find("farm");
	struct rmc_object_read rd = { .len = 64 }, *done;
	struct rmc_reader *r;
	struct fixture w;
	uint8_t data[64];
	int i;

	fixture_init(&w);
	rmc_scheme_init(s, (struct rmc_object *)w.segment, sizeof(data));
	fill(data, sizeof(data), 7);
	rmc_scheme_write(s, (struct rmc_object *)w.segment, data, sizeof(data), NULL);

	r = read_that_fails(&w);
	for (i = 0; i < 300; i++) {
		CHECK_EQ(rmc_reader_poll(r, &done), 0);	/* its end is not reported */
		usleep(1000);
	}
	CHECK_EQ(rmc_reader_read(r, &rd), 0);
	CHECK(whole((const uint8_t *)rd.data, rd.len));
	rmc_reader_close(r);

	/* the next call waits for the read that the failed one left */
	r = read_that_fails(&w);
	CHECK_EQ(rmc_reader_read(r, &rd), 0);
	CHECK(whole((const uint8_t *)rd.data, rd.len));
	rmc_reader_close(r);
	fixture_fini(&w);
}

struct writing {
	struct fixture *w;
	const struct rmc_scheme *scheme;
	size_t len;
	int objects, stop, errors;
	unsigned long writes;
};

static void *write_all(void *arg)
{
	struct writing *wr = (struct writing *)arg;
	struct rmc_scheme_params p = { .lease_us = 2000, .wait_us = 1000000 };
	size_t step = rmc_scheme_bytes(wr->scheme, wr->len);
	uint8_t *data = (uint8_t *)malloc(wr->len), state = 0;
	int i;

	while (!__atomic_load_n(&wr->stop, __ATOMIC_RELAXED)) {
		fill(data, wr->len, ++state);
		for (i = 0; i < wr->objects; i++)
			wr->errors += !!rmc_scheme_write(wr->scheme, (struct rmc_object *)
					(wr->w->segment + (size_t)i * step), data, wr->len, &p);
		__atomic_add_fetch(&wr->writes, 1, __ATOMIC_RELAXED);
		if (wr->scheme->flags & RMC_SCHEME_WRITES)
			usleep(200);	/* readers get a chance at the lock as well */
	}
	free(data);
	return NULL;
}

/* A reader beside a writer gets only whole states. */
static void races(void)
{
	static const size_t lens[] = { 128, 1024, 8192 };
	unsigned int k, i, n;
	pthread_t thread;
	struct fixture w;

	for (k = 0; k < ONE_SIDED - 1; k++) {
		for (i = 0; i < 3; i++) {
			struct writing wr = { &w, rmc_scheme_find(one_sided[k]), lens[i], 3, 0, 0, 0 };
			struct rmc_object_read rd = { .len = lens[i] };
			struct rmc_reader_options o = {
				.scheme = wr.scheme, .max = MAX, .window = 1, .nid = 3,
				.attempts = 1000000, .params = { .lease_us = 2000 },
			};
			struct rmc_reader *r;
			unsigned int mixed = 0;
			int err = 0;

			fixture_init(&w);
			for (n = 0; n < 3; n++)
				rmc_scheme_init(wr.scheme, (struct rmc_object *)(w.segment +
						n * rmc_scheme_bytes(wr.scheme, rd.len)), rd.len);
			o.memory = w.memory;
			r = rmc_reader_open(&w.qp, &o);
			pthread_create(&thread, NULL, write_all, &wr);
			while (!__atomic_load_n(&wr.writes, __ATOMIC_RELAXED))
				usleep(100);
			for (n = 0; n < 150 && !err; n++) {
				rd.offset = n % 3 * rmc_scheme_bytes(wr.scheme, rd.len);
				err = rmc_reader_read(r, &rd);
				mixed += !err && !whole((const uint8_t *)rd.data, rd.len);
			}
			__atomic_store_n(&wr.stop, 1, __ATOMIC_RELAXED);
			pthread_join(thread, NULL);
			CHECK_EQ(err, 0);
			CHECK_EQ(mixed, 0);
			CHECK_EQ(wr.errors, 0);
			CHECK(wr.writes > 0);
			rmc_reader_close(r);
			fixture_fini(&w);
		}
	}
}

/* Without a check a reader delivers a torn object: the tests above can fail. */
static void unsafe(void)
{
	const struct rmc_scheme *s = rmc_scheme_find("plain");
	struct rmc_object_read rd = { .len = 1024 };
	struct rmc_reader *r;
	struct fixture w;
	struct rmc_object *o;

	fixture_init(&w);
	o = (struct rmc_object *)w.segment;
	rmc_scheme_init(s, o, rd.len);
	r = reader_of(&w, "plain", 0);
	rmc_object_write_begin(o);
	memset(o + 1, 7, 512);
	CHECK_EQ(rmc_reader_read(r, &rd), 0);
	CHECK(!whole((const uint8_t *)rd.data, rd.len));
	rmc_object_write_end(o);
	rmc_reader_close(r);
	fixture_fini(&w);
}

static void out_of_attempts(void)
{
	static const int status[] = { RMC_S_SABRE_LOCKED, RMC_SCHEME_LOCKED };
	struct rmc_object_read rd = { .len = 500 };
	struct rmc_reader *r;
	struct fixture w;
	int k;

	for (k = 0; k < 2; k++) {
		fixture_init(&w);
		r = reader_of(&w, one_sided[k], 5);
		rmc_scheme_init(rmc_scheme_find(one_sided[k]), (struct rmc_object *)w.segment, 500);
		rmc_object_write_begin((struct rmc_object *)w.segment);
		CHECK_EQ(rmc_reader_read(r, &rd), status[k]);
		CHECK_EQ(rd.tries, 5);
		CHECK_EQ(rmc_reader_stats(r)->locked, 5);
		rmc_reader_close(r);
		fixture_fini(&w);
	}
}

static void set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint64_t get(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void dead_holder(void)
{
	const struct rmc_scheme *s = rmc_scheme_find("lock");
	struct rmc_scheme_params p = { .wait_us = 2000 };
	struct rmc_object_read rd = { .len = 100 };
	uint8_t data[100] = { 1 };
	struct rmc_reader *r;
	struct rmc_object *o;
	struct fixture w;
	uint64_t *word;

	fixture_init(&w);
	o = (struct rmc_object *)w.segment;
	word = (uint64_t *)(w.segment + LOCK_AT);
	r = reader_of(&w, "lock", 4);
	rmc_scheme_init(s, o, rd.len);
	CHECK_EQ(rmc_scheme_holder(s, o), -1);
	set(word, 1234ULL << 16 | (7 + 1));
	CHECK_EQ(rmc_scheme_holder(s, o), 7);
	CHECK_EQ(rmc_reader_read(r, &rd), RMC_SCHEME_LOCKED);
	CHECK_EQ(rmc_scheme_write(s, o, data, sizeof(data), &p), RMC_SCHEME_LOCKED);
	CHECK(!(o->version & 1));	/* a failed wait leaves a whole object */
	CHECK_EQ(rmc_scheme_break(s, o, 6), -ENOENT);
	CHECK_EQ(rmc_scheme_break(s, o, -1), -ENOENT);
	CHECK_EQ(rmc_scheme_break(s, o, 7), 0);
	CHECK_EQ(rmc_scheme_break(s, o, 7), -ENOENT);
	CHECK_EQ(rmc_scheme_write(s, o, data, sizeof(data), &p), 0);
	CHECK_EQ(rmc_reader_read(r, &rd), 0);
	/* the owner's own lock is not broken */
	set(word, ~0ULL);
	CHECK_EQ(rmc_scheme_holder(s, o), -2);
	CHECK_EQ(rmc_scheme_break(s, o, 0xfffe), -ENOENT);
	CHECK_EQ(rmc_reader_read(r, &rd), RMC_SCHEME_LOCKED);
	set(word, 0);
	rmc_reader_close(r);
	fixture_fini(&w);
}

/* Whichever packet is lost, no lock stays behind. */
static void lost_swaps(void)
{
	struct rmc_object_read rd = { .len = 100 };
	struct rmc_reader *r;
	struct fixture w;
	int i;

	for (i = 0; i < 4; i++) {
		fixture_init(&w);
		rmc_scheme_init(rmc_scheme_find("lock"), (struct rmc_object *)w.segment, rd.len);
		r = reader_of(&w, "lock", 10);
		w.unlocking = i & 1;
		w.lose_swaps = i & 2 ? 0 : 3;
		w.lose_replies = i & 2 ? 3 : 0;
		CHECK_EQ(rmc_reader_read(r, &rd), 0);
		rmc_reader_close(r);
		CHECK_EQ(*(uint64_t *)(w.segment + LOCK_AT), 0);
		CHECK_EQ(w.lose_swaps + w.lose_replies, 0);
		fixture_fini(&w);
	}
}

/* Polls until a read has ended; or for some time, if there is none to wait for. */
static void poll_for(struct rmc_reader *r, const struct rmc_object_read *want)
{
	struct rmc_object_read *done = NULL;
	int i, n = want ? 100000 : 500, err = 0;

	for (i = 0; i < n && !err; i++) {
		err = rmc_reader_poll(r, &done);
		usleep(100);
	}
	CHECK_EQ(err, want != NULL);
	CHECK(!want || done == want);
}

/*
 * The first compare-and-swap stays in its slot. So the ring ends before it, behind that of another
 * read: it has its lock, and no slot for what comes next. Then the reader is closed.
 */
static void closed_without_slot(void)
{
	const struct rmc_scheme *s = rmc_scheme_find("lock");
	size_t step = rmc_scheme_bytes(s, 100);
	struct rmc_object_read first = { .len = 100 }, rd = { .len = 100, .offset = step };
	struct rmc_reader *r;
	struct fixture w;
	uint64_t *word;
	int i;

	fixture_init(&w);
	for (i = 0; i < 2; i++)
		rmc_scheme_init(s, (struct rmc_object *)(w.segment + (size_t)i * step), 100);
	word = (uint64_t *)(w.segment + step + LOCK_AT);
	r = reader_of(&w, "lock", 4);
	w.hold = 1;
	CHECK_EQ(rmc_reader_start(r, &first), 0);
	/* three slots each: lock, read, unlock */
	for (i = 0; i < (ENTRIES - 2) / 3; i++) {
		CHECK_EQ(rmc_reader_start(r, &rd), 0);
		poll_for(r, &rd);
		rmc_reader_release(r, &rd);
	}
	CHECK_EQ(rmc_reader_start(r, &rd), 0);
	poll_for(r, NULL);
	CHECK(get(word) != 0);
	__atomic_store_n(&w.rmc.release, 1, __ATOMIC_RELEASE);
	rmc_reader_close(r);
	CHECK_EQ(get(word), 0);
	CHECK_EQ(*(uint64_t *)(w.segment + LOCK_AT), 0);
	fixture_fini(&w);
}

static uint64_t realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void leases(void)
{
	const struct rmc_scheme *s = rmc_scheme_find("lease");
	struct rmc_scheme_params p = { .lease_us = 20000, .skew_us = 1000, .wait_us = 200000 };
	struct rmc_reader_options o = {
		.scheme = s, .max = MAX, .window = 1, .attempts = 3, .params = p,
	};
	struct rmc_object_read rd = { .len = 1000 };
	uint8_t data[1000];
	uint64_t *word, before, end;
	struct rmc_reader *r;
	struct fixture w;

	fixture_init(&w);
	word = (uint64_t *)(w.segment + LOCK_AT);
	rmc_scheme_init(s, (struct rmc_object *)w.segment, rd.len);
	o.memory = w.memory;
	r = rmc_reader_open(&w.qp, &o);

	/* the lease of a dead reader delays a writer until the lease ends, no longer */
	CHECK_EQ(rmc_reader_read(r, &rd), 0);
	end = get(word);
	CHECK(end > realtime_ns() && end < realtime_ns() + 21000000);
	CHECK_EQ(rmc_reader_read(r, &rd), 0);		/* shares the lease */
	CHECK(get(word) == end || realtime_ns() > end - 1000000);
	end = get(word);
	fill(data, sizeof(data), 5);
	CHECK_EQ(rmc_scheme_write(s, (struct rmc_object *)w.segment, data, sizeof(data), &p), 0);
	CHECK(realtime_ns() > end);
	CHECK_EQ(get(word), 0);

	/* a writer that may not wait that long returns an error */
	CHECK_EQ(rmc_reader_read(r, &rd), 0);
	p.wait_us = 1000;
	CHECK_EQ(rmc_scheme_write(s, (struct rmc_object *)w.segment, data, sizeof(data), &p),
		 RMC_SCHEME_LOCKED);
	p.wait_us = 200000;

	/* a lease that ends too far in the future is ignored */
	set(word, realtime_ns() + 3600000000000ULL);
	before = realtime_ns();
	CHECK_EQ(rmc_scheme_write(s, (struct rmc_object *)w.segment, data, sizeof(data), &p), 0);
	CHECK(realtime_ns() - before < 1000000000);
	set(word, realtime_ns() + 3600000000000ULL);
	CHECK_EQ(rmc_reader_read(r, &rd), 0);
	CHECK(get(word) < realtime_ns() + 21000000);

	/* the writer holds the object */
	set(word, 1ULL << 63);
	CHECK_EQ(rmc_reader_read(r, &rd), RMC_SCHEME_LOCKED);
	set(word, 0);

	/* data that arrives after the end of the lease is not used */
	w.delay_line_us = 3000;
	before = rmc_reader_stats(r)->lease_over;
	CHECK_EQ(rmc_reader_read(r, &rd), RMC_SCHEME_LEASE_OVER);
	CHECK_EQ(rmc_reader_stats(r)->lease_over - before, 3);
	rmc_reader_close(r);
	fixture_fini(&w);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "readers, all one-sided schemes", reads },
		{ "readers that cannot be", refused },
		{ "a failed call leaves nothing of the caller's behind", failed_call },
		{ "readers beside a writer see whole states only", races },
		{ "plain reads see what never was", unsafe },
		{ "attempts end with the last status", out_of_attempts },
		{ "a dead holder keeps its lock until it is broken", dead_holder },
		{ "lost compare-and-swaps leave no lock behind", lost_swaps },
		{ "a closed reader without a slot leaves no lock behind", closed_without_slot },
		{ "leases end, are shared, and bound", leases },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
