/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Several queue pairs, each with a thread for its RMC and one for its program, read and write
 * the same few objects: every read that succeeds is whole, and no update is lost. The data is
 * a count, repeated.
 */
#include <errno.h>
#include "sync_test.h"

#define CLIENTS		3
#define OBJECTS		2
#define STEPS		60
#define WORDS		(LEN / sizeof(uint64_t))

struct client {
	struct fixture w;
	struct rmc_sync_options o;
	pthread_t thread;
	unsigned int number, mixed, errors, torn;
	unsigned long added[OBJECTS];
};

/* An owner's place for object k; the pool of a client is in the second half */
static uint64_t place(const struct rmc_scheme *layout, unsigned int k)
{
	return k * (uint64_t)(rmc_scheme_bytes(layout, LEN) + LINE);
}

static int mixed(const uint64_t *data)
{
	unsigned int i;

	for (i = 1; i < WORDS; i++)
		if (data[i] != data[0])
			return 1;
	return 0;
}

static void one_read(struct client *c, struct rmc_sync *s, uint64_t addr, struct rmc_hold *h)
{
	int err = rmc_sync_read(s, addr, h), was_mixed;

	if (err) {
		c->errors += err < RMC_SCHEME_TORN;
		return;
	}
	was_mixed = mixed((const uint64_t *)h->data);
	err = rmc_sync_end(s, h);
	if (!err)
		c->mixed += (unsigned int)was_mixed;
	else if (err == RMC_SCHEME_TORN)
		c->torn++;
	else
		c->errors++;
}

static void one_write(struct client *c, struct rmc_sync *s, unsigned int k, uint64_t addr,
		      struct rmc_hold *h)
{
	uint64_t *data;
	unsigned int i;
	int err = rmc_sync_write(s, addr, h);

	if (err) {
		c->errors += err < RMC_SCHEME_TORN;
		return;
	}
	data = (uint64_t *)h->data;
	c->mixed += (unsigned int)mixed(data);
	for (i = 0; i < WORDS; i++)
		data[i]++;
	err = rmc_sync_commit(s, h);
	if (!err)
		c->added[k]++;
	else if (err != RMC_SCHEME_TORN)
		c->errors++;
}

static void *run(void *arg)
{
	struct client *c = (struct client *)arg;
	struct rmc_hold h[OBJECTS] = { { .len = LEN }, { .len = LEN } };
	struct rmc_sync *s = rmc_sync_open(&c->w.qp, &c->o);
	const struct rmc_scheme *layout = rmc_sync_layout(&c->o);
	unsigned int i, k;

	for (i = 0; s && i < STEPS; i++) {
		k = (i + c->number) % OBJECTS;
		if (i % 3)
			one_read(c, s, place(layout, k), &h[k]);
		else
			one_write(c, s, k, place(layout, k), &h[k]);
	}
	c->errors += !s || rmc_sync_drain(s);
	rmc_sync_close(s);
	return NULL;
}

static void race(const char *row, unsigned int flags)
{
	static struct client c[CLIENTS];
	const struct rmc_scheme *layout;
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	unsigned int i, k;
	uint64_t sum;

	memset(c, 0, sizeof(c));
	tap_where = row;
	for (i = 0; i < CLIENTS; i++) {
		fixture_init_on(&c[i].w, i ? c[0].w.segment : NULL);
		c[i].number = i;
		c[i].o = options_of(&c[i].w, row, flags);
		c[i].o.nid = (int)i;
		c[i].o.attempts = 1000000;
		c[i].o.backoff_ns = 1000;
		c[i].o.backoff_max_ns = 100000;
		c[i].o.max = LEN;
		c[i].o.pool += i * SLOTS * rmc_sync_copy_bytes(LEN);
		c[i].o.grace_us = 2000;
	}
	layout = rmc_sync_layout(&c[0].o);
	for (k = 0; k < OBJECTS; k++)
		rmc_scheme_init(layout, (struct rmc_object *)(c[0].w.segment + place(layout, k)), LEN);
	for (i = 0; i < CLIENTS; i++)
		pthread_create(&c[i].thread, NULL, run, &c[i]);
	for (i = 0; i < CLIENTS; i++)
		pthread_join(c[i].thread, NULL);
	for (i = 0; i < CLIENTS; i++) {
		CHECK_EQ(c[i].mixed, 0);
		CHECK_EQ(c[i].errors, 0);
	}
	s = rmc_sync_open(&c[0].w.qp, &c[0].o);
	for (k = 0; k < OBJECTS; k++) {
		for (i = 0, sum = 0; i < CLIENTS; i++)
			sum += c[i].added[k];
		CHECK_EQ(rmc_sync_read(s, place(layout, k), &h), 0);
		CHECK(!mixed((const uint64_t *)h.data));
		CHECK_EQ(((const uint64_t *)h.data)[0], sum);
		CHECK(sum > 0);
		CHECK_EQ(rmc_sync_end(s, &h), 0);
	}
	rmc_sync_close(s);
	for (i = CLIENTS; i-- > 0; )
		fixture_fini(&c[i].w);
	tap_where = NULL;
}

static void pessimistic(void)
{
	race("rw", 0);
	race("rw", ALL);
	race("excl", 0);
	race("excl", UNLATCH | RMC_SYNC_ASYNC);
}

static void optimistic(void)
{
	race("versioning", 0);
	race("versioning", UNLATCH);
	race("farm", 0);
	race("farm", UNLATCH);
	race("crc64", 0);
	race("crc64", UNLATCH);
	race("relaxed-farm", UNLATCH);
	race("sabre", 0);
	race("switch", 0);
}

static void out_of_place(void)
{
	race("out-of-place", 0);
	race("mark-out-of-place", 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "latches: whole objects, no lost update", pessimistic },
		{ "optimistic reads", optimistic },
		{ "copies out of place", out_of_place },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
