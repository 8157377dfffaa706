/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tests layouts and checks of <rmc/scheme.h> on objects in plain memory. */
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include <rmc/sync.h>
#include "page_reader.h"
#include "scheme_test.h"

static void table(void)
{
	const struct rmc_scheme *s;
	unsigned int i;

	for (i = 0; (s = rmc_scheme_number(i)); i++) {
		CHECK(rmc_scheme_find(s->name) == s);
		CHECK(s->title && s->image && s->store);
		CHECK(!(s->flags & RMC_SCHEME_CLEAN) == !s->data_at);
		CHECK(s->flags & RMC_SCHEME_CLEAN || s->check);
		CHECK(!s->acquire == !s->release);
	}
	CHECK_EQ(i, 8);
	CHECK(!rmc_scheme_find("none"));
	CHECK(!(rmc_scheme_find("plain")->flags & RMC_SCHEME_ATOMIC));
	CHECK(!strcmp(rmc_status_name(RMC_SCHEME_TORN), "torn"));
	CHECK(!strcmp(rmc_status_name(RMC_SCHEME_LEASE_OVER), "lease_over"));
	CHECK(strstr(rmc_strerror(RMC_SCHEME_LOCKED), "lock"));
	CHECK(!strcmp(rmc_status_name(RMC_SCHEME_LEASE_OVER + 1), "unknown"));
}

static void layouts(void)
{
	const struct rmc_scheme *farm = rmc_scheme_find("farm");

	CHECK_EQ(rmc_scheme_find("sabre")->image(128), 144);
	CHECK_EQ(rmc_scheme_find("crc64")->image(128), 160);
	CHECK_EQ(rmc_scheme_find("lock")->image(128), 160);
	CHECK_EQ(farm->image(0), 16);
	CHECK_EQ(farm->image(48), 64);
	CHECK_EQ(farm->image(49), 64 + 2 + 1);
	CHECK_EQ(farm->image(48 + 62), 128);
	CHECK_EQ(farm->image(48 + 63), 128 + 2 + 1);
	CHECK_EQ(rmc_scheme_bytes(farm, 128), 3 * 64);
	CHECK_EQ(rmc_scheme_bytes(farm, 1024), 17 * 64);
	CHECK_EQ(rmc_scheme_bytes(farm, 8192), 133 * 64);
	CHECK_EQ(rmc_scheme_bytes(rmc_scheme_find("sabre"), 1024), 17 * 64);
}

static uint64_t crc_bitwise(uint64_t c, const uint8_t *p, size_t n)
{
	int i;

	for (c = ~c; n; n--, p++)
		for (c ^= *p, i = 0; i < 8; i++)
			c = c & 1 ? c >> 1 ^ 0xc96c5795d7870f42ULL : c >> 1;
	return ~c;
}

static void crc(void)
{
	uint8_t b[600];
	size_t i, n;

	for (i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)(i * 131 + (i >> 3));
	CHECK(rmc_crc64(0, "123456789", 9) == 0x995dc9bbdf1939faULL);	/* check value */
	CHECK(rmc_crc64(0, "", 0) == 0);
	for (n = 0; n <= 520; n++)
		for (i = 0; i < 17; i += 3)
			CHECK(rmc_crc64(i, b + i, n) == crc_bitwise(i, b + i, n));
	CHECK(rmc_crc64(rmc_crc64(0, b, 100), b + 100, 400) == rmc_crc64(0, b, 500));
}

static void round_trips(void)
{
	static uint8_t data[MAX], back[MAX + 1], clean[MAX + 1];
	const struct rmc_scheme *s;
	const void *found;
	unsigned int k;
	size_t i, j;

	for (k = 0; (s = rmc_scheme_number(k)); k++) {
		for (i = 0; i < SIZES; i++) {
			size_t len = sizes[i], bytes = rmc_scheme_bytes(s, len);
			uint8_t *o = (uint8_t *)zeroed(bytes + LINE);

			memset(o, 0xee, bytes + LINE);
			rmc_scheme_init(s, (struct rmc_object *)o, len);
			CHECK(rmc_scheme_read(s, (struct rmc_object *)o, back, len) == 0);
			CHECK(!back[0] && whole(back, len));
			found = NULL;
			CHECK(rmc_scheme_check(s, o, clean, len, &found) == 0);
			for (j = 0; j < len; j++)
				data[j] = (uint8_t)(j * 7 + len);
			CHECK(rmc_scheme_write(s, (struct rmc_object *)o, data, len, NULL) == 0);
			back[len] = clean[len] = 0x55;
			CHECK(rmc_scheme_read(s, (struct rmc_object *)o, back, len) == 0);
			CHECK(!memcmp(back, data, len) && back[len] == 0x55);
			CHECK(rmc_scheme_check(s, o, clean, len, &found) == 0);
			CHECK(!memcmp(found, data, len) && clean[len] == 0x55);
			CHECK_EQ(((struct rmc_object *)o)->version, 2);
			for (j = s->image(len); j < bytes; j++)
				CHECK(o[j] == 0);
			for (; j < bytes + LINE; j++)
				CHECK(o[j] == 0xee);
			free(o);
		}
	}
}

/* Mix the images of two states: another one from a line on, or in one line only. */
static void torn(const char *name, int claims)
{
	const struct rmc_scheme *s = rmc_scheme_find(name);
	static uint8_t data[MAX], clean[MAX];
	unsigned int before, mixes = 0, found = 0;
	const void *p;
	size_t i, cut;

	for (i = 0; i < SIZES; i++) {
		size_t len = sizes[i], bytes = rmc_scheme_bytes(s, len);
		uint8_t *a = (uint8_t *)zeroed(bytes), *b = (uint8_t *)zeroed(bytes);
		uint8_t *mix = (uint8_t *)zeroed(bytes);

		rmc_scheme_init(s, (struct rmc_object *)a, len);
		fill(data, len, 1);
		rmc_scheme_write(s, (struct rmc_object *)a, data, len, NULL);
		memcpy(b, a, bytes);
		fill(data, len, 2);
		rmc_scheme_write(s, (struct rmc_object *)b, data, len, NULL);
		for (cut = LINE; cut < bytes; cut += LINE) {
			for (before = 0; before < 4; before++) {
				const uint8_t *from = before & 1 ? b : a, *other = before & 1 ? a : b;

				memcpy(mix, from, bytes);
				if (before & 2)
					memcpy(mix + cut, other + cut, LINE);
				else
					memcpy(mix, other, cut);
				mixes++;
				found += rmc_scheme_check(s, mix, clean, len, &p) == RMC_SCHEME_TORN;
			}
		}
		free(a);
		free(b);
		free(mix);
	}
	CHECK(mixes > 1000);
	CHECK_EQ(found, claims ? mixes : 0);
}

static void torn_lines(void)
{
	torn("farm", 1);
	torn("crc64", 1);
	torn("plain", 0);
}

/* The CRC does not depend on lines: mixed at every byte. */
static void torn_bytes(void)
{
	const struct rmc_scheme *s = rmc_scheme_find("crc64");
	uint8_t data[300], mix[384];
	struct {
		struct rmc_object o;
		uint8_t rest[368];
	} a, b;
	const void *p;
	size_t cut;

	rmc_scheme_init(s, &a.o, sizeof(data));
	fill(data, sizeof(data), 1);
	rmc_scheme_write(s, &a.o, data, sizeof(data), NULL);
	b = a;
	fill(data, sizeof(data), 2);
	rmc_scheme_write(s, &b.o, data, sizeof(data), NULL);
	for (cut = 17; cut < 32 + sizeof(data); cut++) {
		memcpy(mix, &a, sizeof(a));
		memcpy(mix + cut, (uint8_t *)&b + cut, sizeof(b) - cut);
		CHECK(rmc_scheme_check(s, mix, NULL, sizeof(data), &p) == RMC_SCHEME_TORN);
	}
}

static void versions(void)
{
	const struct rmc_scheme *s = rmc_scheme_find("farm");
	uint8_t data[200], clean[200], old[256];
	struct rmc_object *o = (struct rmc_object *)zeroed(256);
	const void *p;

	/* the line versions wrap from 0xfffe to 0 while the object's goes on */
	o->version = 0xfffc;
	fill(data, sizeof(data), 1);
	rmc_scheme_write(s, o, data, sizeof(data), NULL);
	CHECK(o->version == 0xfffe);
	memcpy(old, o, sizeof(old));
	fill(data, sizeof(data), 2);
	rmc_scheme_write(s, o, data, sizeof(data), NULL);
	CHECK(o->version == 0x10000);
	CHECK(rmc_scheme_check(s, o, clean, sizeof(clean), &p) == 0 && clean[199] == 2);
	memcpy(old, o, LINE);
	CHECK(rmc_scheme_check(s, old, clean, sizeof(clean), &p) == RMC_SCHEME_TORN);
	/* the object's own version wraps after 2^63 writes */
	o->version = ~1ULL;
	rmc_scheme_write(s, o, data, sizeof(data), NULL);
	CHECK(o->version == 0);
	CHECK(rmc_scheme_check(s, o, clean, sizeof(clean), &p) == 0);
	/* odd: a writer is active; remote and local readers report that */
	rmc_object_write_begin(o);
	CHECK(rmc_scheme_check(s, o, clean, sizeof(clean), &p) == RMC_SCHEME_LOCKED);
	CHECK(rmc_scheme_read(s, o, clean, sizeof(clean)) == RMC_SCHEME_LOCKED);
	rmc_object_write_end(o);
	/* ended without a store: the lines have the previous version, not this one */
	CHECK(rmc_scheme_check(s, o, clean, sizeof(clean), &p) == RMC_SCHEME_TORN);
	free(o);
}

static void *begin_and_die(void *arg)
{
	rmc_object_write_begin((struct rmc_object *)arg);
	memset((uint8_t *)arg + 40, 9, 50);
	return NULL;
}

static void dead_writers(void)
{
	uint8_t data[100], back[100];
	const struct rmc_scheme *s;
	struct rmc_object *o;
	pthread_t thread;
	unsigned int k, i;
	int err;

	for (k = 0; (s = rmc_scheme_number(k)); k++) {
		o = (struct rmc_object *)zeroed(rmc_scheme_bytes(s, sizeof(data)));
		rmc_scheme_init(s, o, sizeof(data));
		fill(data, sizeof(data), 4);
		pthread_create(&thread, NULL, begin_and_die, o);
		pthread_join(thread, NULL);
		CHECK(rmc_scheme_read(s, o, back, sizeof(back)) == RMC_SCHEME_LOCKED);
		/* the thread's id disappears after a moment */
		for (i = 0; i < 1000; i++) {
			err = rmc_scheme_repair(s, o, data, sizeof(data));
			if (err != -EAGAIN)
				break;
			usleep(1000);
		}
		CHECK_EQ(err, 0);
		CHECK(rmc_scheme_read(s, o, back, sizeof(back)) == 0 && back[99] == 4);
		CHECK(whole(back, sizeof(back)));
		CHECK_EQ(rmc_scheme_repair(s, o, data, sizeof(data)), -ENOENT);
		/* not what the dead one has stored in lines */
		CHECK_EQ(o->version, s->flags & RMC_SCHEME_CLEAN ? 2 : 4);
		free(o);
	}
}

/* The same where latch and version are apart; the latch is that of a thread of the owner. */
static void *latch_and_die(void *arg)
{
	uint64_t *words = (uint64_t *)arg;

	words[0] = (uint64_t)rmc_object_self() << 19 | 0x7ff;
	words[1] = 1;
	return NULL;
}

static void dead_latches(void)
{
	struct rmc_sync_options o = { .latch = RMC_LATCH_EXCL, .max = 100 };
	static const char * const name[] = { "excl", "versioning", "farm", "crc64" };
	uint8_t data[100], back[100];
	struct rmc_object *object;
	const struct rmc_scheme *s;
	pthread_t thread;
	unsigned int k, i;
	int err = 0;

	for (k = 0; k < 4; k++) {
		o.scheme = rmc_sync_find(name[k]);
		s = rmc_sync_layout(&o);
		object = (struct rmc_object *)zeroed(rmc_scheme_bytes(s, sizeof(data)));
		rmc_scheme_init(s, object, sizeof(data));
		fill(data, sizeof(data), 4);
		CHECK_EQ(rmc_scheme_repair(s, object, data, sizeof(data)), -ENOENT);
		pthread_create(&thread, NULL, latch_and_die, object);
		pthread_join(thread, NULL);
		CHECK(rmc_scheme_read(s, object, back, sizeof(back)) == RMC_SCHEME_LOCKED);
		for (i = 0; i < 1000; i++) {
			err = rmc_scheme_repair(s, object, data, sizeof(data));
			if (err != -EAGAIN)
				break;
			usleep(1000);
		}
		CHECK_EQ(err, 0);
		CHECK(rmc_scheme_read(s, object, back, sizeof(back)) == 0);
		CHECK(back[0] == 4 && whole(back, sizeof(back)));
		CHECK_EQ(((uint64_t *)(void *)object)[1], k == 2 ? 4 : 2);
		CHECK(!((uint64_t *)(void *)object)[0]);
		free(object);
	}
}

static void served(void)
{
	struct {
		uint32_t magic, reserved;
		uint64_t offset, len;
	} q = { RMC_READER_MAGIC, 0, 64, 100 };
	static uint8_t seg[1024] __attribute__((aligned(64)));
	const struct rmc_scheme *s;
	uint8_t data[100], out[200];
	int k;

	for (k = 0; k < 2; k++) {
		s = rmc_scheme_find(k ? "rpc" : "strip");
		q.offset = 64;
		rmc_scheme_init(s, (struct rmc_object *)(seg + 64), 100);
		fill(data, 100, 8);
		rmc_scheme_write(s, (struct rmc_object *)(seg + 64), data, 100, NULL);
		CHECK_EQ(rmc_reader_serve(s, seg, sizeof(seg), &q, sizeof(q), out, 200), 100);
		CHECK(out[99] == 8 && whole(out, 100));
		CHECK_EQ(rmc_reader_serve(s, seg, sizeof(seg), &q, 23, out, 200), -EBADMSG);
		CHECK_EQ(rmc_reader_serve(s, seg, sizeof(seg), &q, sizeof(q), out, 99), -EINVAL);
		q.offset = 960;
		CHECK_EQ(rmc_reader_serve(s, seg, sizeof(seg), &q, sizeof(q), out, 200), -EINVAL);
		q.offset = ~63ULL;
		CHECK_EQ(rmc_reader_serve(s, seg, sizeof(seg), &q, sizeof(q), out, 200), -EINVAL);
		q.offset = 65;
		CHECK_EQ(rmc_reader_serve(s, seg, sizeof(seg), &q, sizeof(q), out, 200), -EINVAL);
		q.offset = 64;
		rmc_object_write_begin((struct rmc_object *)(seg + 64));
		CHECK_EQ(rmc_reader_serve(s, seg, sizeof(seg), &q, sizeof(q), out, 200), -EAGAIN);
		rmc_object_write_end((struct rmc_object *)(seg + 64));
	}
}

/*
 * The owner writes in the middle of its own read: the write ends before the read continues,
 * or after it
 */
#define ACROSS	300		/* bytes of data, on both pages */

static struct {
	const struct rmc_scheme *s;
	struct rmc_object *o;
	uint8_t data[ACROSS];
	int end;		/* 0: the write is still active when the read continues */
} between;

static void write_between(void)
{
	fill(between.data, ACROSS, 2);
	if (between.end)
		rmc_scheme_write(between.s, between.o, between.data, ACROSS, NULL);
	else
		rmc_object_write_begin(between.o);
}

static void torn_locally(void)
{
	uint8_t *pages = page_reader_init(), back[ACROSS];
	const struct rmc_scheme *s;
	unsigned int k;

	between.o = (struct rmc_object *)(pages + PAGE - 128);
	for (k = 0; (s = rmc_scheme_number(k)); k++) {
		between.s = s;
		for (between.end = 0; between.end < 2; between.end++) {
			rmc_scheme_init(s, between.o, ACROSS);
			fill(between.data, ACROSS, 1);
			CHECK_EQ(rmc_scheme_write(s, between.o, between.data, ACROSS, NULL), 0);
			page_reader_arm(write_between);
			CHECK_EQ(rmc_scheme_read(s, between.o, back, ACROSS), RMC_SCHEME_TORN);
			CHECK_EQ(page_reader.happened, 1);
			if (!between.end)
				rmc_object_write_end(between.o);
			else
				CHECK(!rmc_scheme_read(s, between.o, back, ACROSS) && back[0] == 2 &&
				      whole(back, ACROSS));
		}
	}
	page_reader_disarm();
}

/* The same for layouts with latch and version in one line */
static void torn_words(void)
{
	uint8_t *pages = page_reader_init(), back[ACROSS];
	const struct rmc_scheme *s;
	unsigned int k;

	between.o = (struct rmc_object *)(pages + PAGE - 128);
	between.end = 1;
	for (k = 8; (s = rmc_sync_number(k)); k++) {
		/* copies elsewhere; words on the second page; versions at a switch */
		if (s->needs & RMC_NEEDS_POOL || strstr(s->name, "write-unlatch") ||
		    strstr(s->name, "switch"))
			continue;
		between.s = s;
		rmc_scheme_init(s, between.o, ACROSS);
		fill(between.data, ACROSS, 1);
		CHECK_EQ(rmc_scheme_write(s, between.o, between.data, ACROSS, NULL), 0);
		page_reader_arm(write_between);
		CHECK_EQ(rmc_scheme_read(s, between.o, back, ACROSS), RMC_SCHEME_TORN);
		CHECK_EQ(page_reader.happened, 1);
		CHECK(!rmc_scheme_read(s, between.o, back, ACROSS) && whole(back, ACROSS));
	}
	page_reader_disarm();
}

/* A remote reader does not get such a mixture, either: the owner reads again. */
static void served_whole(void)
{
	uint8_t *pages = page_reader_init(), back[ACROSS];
	struct {
		uint32_t magic, reserved;
		uint64_t offset, len;
	} q = { RMC_READER_MAGIC, 0, PAGE - 128, ACROSS };
	const struct rmc_scheme *s;
	unsigned int k;

	between.o = (struct rmc_object *)(pages + PAGE - 128);
	between.end = 1;
	for (k = 0; (s = rmc_scheme_number(k)); k++) {
		between.s = s;
		rmc_scheme_init(s, between.o, ACROSS);
		fill(between.data, ACROSS, 1);
		CHECK_EQ(rmc_scheme_write(s, between.o, between.data, ACROSS, NULL), 0);
		page_reader_arm(write_between);
		CHECK_EQ(rmc_reader_serve(s, pages, 2 * PAGE, &q, sizeof(q), back, ACROSS), ACROSS);
		CHECK_EQ(page_reader.happened, 1);
		CHECK(back[0] == 2 && whole(back, ACROSS));
	}
	page_reader_disarm();
}

/* Locks and leases of remote readers, and how they are broken */
static void holders(void)
{
	const struct rmc_scheme *lock = rmc_scheme_find("lock"), *lease = rmc_scheme_find("lease");
	struct rmc_scheme_params p = { .lease_us = 1000, .skew_us = 100, .wait_us = 3000 };
	struct rmc_object *o = (struct rmc_object *)zeroed(rmc_scheme_bytes(lock, 100));
	uint64_t *word = (uint64_t *)(void *)o + 2, now;
	uint8_t data[100] = { 7 }, back[100];
	struct timespec ts;

	rmc_scheme_init(lock, o, sizeof(data));
	CHECK_EQ(rmc_scheme_holder(lock, o), -1);
	*word = 99 << 16 | (6 + 1);
	CHECK_EQ(rmc_scheme_holder(lock, o), 6);
	CHECK_EQ(rmc_scheme_holder(lease, o), -1);
	CHECK_EQ(rmc_scheme_write(lock, o, data, sizeof(data), &p), RMC_SCHEME_LOCKED);
	CHECK_EQ(*word, 99 << 16 | (6 + 1));
	CHECK(!rmc_scheme_read(lock, o, back, sizeof(back)) && !back[0]);	/* nothing stored */
	CHECK_EQ(rmc_scheme_break(lock, o, 5), -ENOENT);
	CHECK_EQ(rmc_scheme_break(lock, o, -1), -ENOENT);
	CHECK_EQ(rmc_scheme_break(lease, o, 6), -ENOENT);
	CHECK_EQ(rmc_scheme_break(lock, o, 6), 0);
	CHECK_EQ(*word, 0);
	CHECK_EQ(rmc_scheme_write(lock, o, data, sizeof(data), &p), 0);
	CHECK_EQ(*word, 0);
	*word = ~0ULL;
	CHECK_EQ(rmc_scheme_holder(lock, o), -2);
	CHECK_EQ(rmc_scheme_break(lock, o, 0xfffe), -ENOENT);
	CHECK_EQ(*word, ~0ULL);
	/* a lease delays a writer until it has ended on any clock */
	clock_gettime(CLOCK_REALTIME, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	*word = now + 500000000;
	p.lease_us = 1000000;
	p.wait_us = 10000;
	CHECK_EQ(rmc_scheme_write(lease, o, data, sizeof(data), &p), RMC_SCHEME_LOCKED);
	/* a lease that ended just now may still be valid at a node whose clock differs */
	clock_gettime(CLOCK_REALTIME, &ts);
	*word = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	p.skew_us = 400000;
	CHECK_EQ(rmc_scheme_write(lease, o, data, sizeof(data), &p), RMC_SCHEME_LOCKED);
	/* a lease longer than any that is allowed is ignored */
	*word = now + 60000000000ULL;
	CHECK_EQ(rmc_scheme_write(lease, o, data, sizeof(data), &p), 0);
	CHECK_EQ(*word, 0);
	/* another writer's hold refuses the write, too */
	*word = 1ULL << 63;
	CHECK_EQ(rmc_scheme_write(lease, o, data, sizeof(data), &p), RMC_SCHEME_LOCKED);
	free(o);
}

static void writers_exclude(void)
{
	struct rmc_object o = { .version = 4 };

	CHECK_EQ(rmc_object_try_begin(&o), 0);
	CHECK(o.version == 5 && o.writer == rmc_object_self());
	CHECK_EQ(rmc_object_try_begin(&o), -EBUSY);
	/* no snapshot while it is written, although the version stays */
	CHECK_EQ(rmc_object_read_begin(&o), 5);
	CHECK(rmc_object_read_retry(&o, 5));
	rmc_object_write_end(&o);
	CHECK(o.version == 6 && !o.writer);
	CHECK(!rmc_object_read_retry(&o, 6) && rmc_object_read_retry(&o, 4));
	/* a remote writer has made it odd; who was refused leaves no trace */
	o.version = 7;
	CHECK_EQ(rmc_object_try_begin(&o), -EBUSY);
	CHECK(o.version == 7 && !o.writer);
}

static void *leaves(void *arg)
{
	struct rmc_object *o = (struct rmc_object *)arg;

	usleep(20000);
	/* the writer excludes new readers, and waits for this one */
	CHECK_EQ(rmc_load_acquire(&o->version), 5);
	__atomic_store_n(&o->readers, 0, __ATOMIC_SEQ_CST);
	return NULL;
}

static void writers_wait_for_readers(void)
{
	struct rmc_object o = { .version = 4, .readers = 1 };
	pthread_t reader;

	CHECK(!pthread_create(&reader, NULL, leaves, &o));
	CHECK_EQ(rmc_object_try_begin(&o), 0);
	CHECK_EQ(__atomic_load_n(&o.readers, __ATOMIC_SEQ_CST), 0);
	CHECK(!pthread_join(reader, NULL));
	rmc_object_write_end(&o);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a writer waits until the readers of an object have left", writers_wait_for_readers },
		{ "writers of an object exclude each other, remote ones too", writers_exclude },
		{ "schemes have names, titles and statuses", table },
		{ "layouts", layouts },
		{ "CRC64: vectors and a bitwise reference", crc },
		{ "what was written is read back, 1 B to 8 KiB, and no byte more", round_trips },
		{ "torn images are detected, cut at each line; plain ones delivered", torn_lines },
		{ "crc64: cut at each byte", torn_bytes },
		{ "versions wrap, odd ones are locked", versions },
		{ "objects of dead writers are repaired", dead_writers },
		{ "and those that a dead one has latched", dead_latches },
		{ "requests to the owner", served },
		{ "a write in the middle of a local read is noticed", torn_locally },
		{ "and in layouts with words", torn_words },
		{ "and the owner serves no mixture", served_whole },
		{ "locks and leases of readers, and who may break them", holders },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
