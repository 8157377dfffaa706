/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * One member of a team that tests the object store:
 * prog_kv SCHEME [orphan | other | locked | resized].
 * Prints "member N: ok ...", or the failed check and fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "../../lib/kv/state.h"
#include "member.h"

#define OBJECTS		200
#define KEY_MAX		40
#define VALUE_MAX	1200
#define KEYS		(OBJECTS / 2)
#define SHARED		6
#define ROUNDS		120
#define STEPS		6000
#define FEW_ATTEMPTS	3
#define AGAIN		10

static struct rmc_kv *kv;
static uint64_t seed;

static unsigned int rnd(unsigned int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)(seed >> 33) % n;
}

/* Every byte of a value depends on its key, length and state. */
static void make(uint8_t *v, size_t len, unsigned int key, unsigned int state)
{
	memset(v, (int)(key * 31 + state * 7 + len), len);
}

static int whole(const void *v, size_t len)
{
	return len < 2 || !memcmp(v, (const char *)v + 1, len - 1);
}

static int put(const char *key, const void *v, size_t len)
{
	return rmc_kv_put(kv, key, strlen(key), v, len);
}

static int get(const char *key, const void **v, size_t *len)
{
	return rmc_kv_get(kv, key, strlen(key), v, len);
}

static int del(const char *key)
{
	return rmc_kv_delete(kv, key, strlen(key));
}

static void limits(void)
{
	static uint8_t v[VALUE_MAX + 1];
	char key[KEY_MAX + 2];
	const void *got;
	size_t len;

	memset(key, 'k', sizeof(key));
	CHECK(rmc_kv_put(kv, key, KEY_MAX + 1, v, 1) == -EMSGSIZE);
	CHECK(rmc_kv_get(kv, key, KEY_MAX + 1, &got, &len) == -EMSGSIZE);
	CHECK(rmc_kv_delete(kv, key, KEY_MAX + 1) == -EMSGSIZE);
	CHECK(rmc_kv_put(kv, key, 3, v, VALUE_MAX + 1) == -EMSGSIZE);
	CHECK(rmc_kv_put(kv, key, 0, v, 1) == -EINVAL);
	CHECK(rmc_kv_get(kv, key, 0, &got, &len) == -EINVAL);
	CHECK(rmc_kv_delete(kv, key, 0) == -EINVAL);
	key[0] = (char)team->self;		/* keys are bytes, zeros included */
	key[1] = 0;
	memset(v, 0x5a, sizeof(v));
	OK(rmc_kv_put(kv, key, KEY_MAX, v, VALUE_MAX));
	OK(rmc_kv_get(kv, key, KEY_MAX, &got, &len));
	CHECK(len == VALUE_MAX && !memcmp(got, v, len));
	CHECK(rmc_kv_get(kv, key, KEY_MAX - 1, &got, &len) == -ENOENT);
	OK(rmc_kv_delete(kv, key, KEY_MAX));
	CHECK(rmc_kv_get(kv, key, KEY_MAX, &got, &len) == -ENOENT);
	CHECK(rmc_kv_delete(kv, key, KEY_MAX) == -ENOENT);
	OK(rmc_kv_put(kv, key, 1, v, 0));	/* an empty value is a value */
	OK(rmc_kv_get(kv, key, 1, &got, &len));
	CHECK(len == 0);
	OK(rmc_kv_put(kv, key, 1, v, 3));
	OK(rmc_kv_get(kv, key, 1, &got, &len));
	OK(rmc_kv_put(kv, key, 1, got, len));	/* a value returned by get may be put */
	OK(rmc_kv_get(kv, key, 1, &got, &len));
	CHECK(len == 3 && !memcmp(got, v, 3));
	OK(rmc_kv_delete(kv, key, 1));
}

/* Each member's keys, read by all members */
static void own_keys(void)
{
	uint8_t v[VALUE_MAX];
	const void *got;
	int m, i, step;
	char key[32];
	size_t len;

	for (step = 0; step < 3; step++) {
		for (i = 0; i < KEYS / team->nodes; i++) {
			len = (size_t)(i * 37 + step * 100) % VALUE_MAX;
			snprintf(key, sizeof(key), "m%d-%d", team->self, i);
			make(v, len, (unsigned int)i, (unsigned int)(team->self + step));
			if (step == 1 && i % 2)
				OK(del(key));
			else
				OK(put(key, v, len));
		}
		OK(rmc_kv_barrier(kv));
		for (m = 0; m < team->nodes; m++) {
			for (i = 0; i < KEYS / team->nodes; i++) {
				snprintf(key, sizeof(key), "m%d-%d", m, i);
				if (step == 1 && i % 2) {
					CHECK(get(key, &got, &len) == -ENOENT);
					continue;
				}
				OK(get(key, &got, &len));
				CHECK(len == (size_t)(i * 37 + step * 100) % VALUE_MAX);
				make(v, len, (unsigned int)i, (unsigned int)(m + step));
				CHECK(!memcmp(got, v, len));
			}
		}
		OK(rmc_kv_barrier(kv));
	}
	for (i = 0; i < KEYS / team->nodes; i++) {
		snprintf(key, sizeof(key), "m%d-%d", team->self, i);
		OK(del(key));
	}
	OK(rmc_kv_barrier(kv));
}

/* All members write and read the same keys at once, in changing lengths. */
static void shared_keys(int atomic)
{
	unsigned int mixed = 0, found = 0;
	uint8_t v[VALUE_MAX];
	const void *got;
	char key[32];
	int i, err;
	size_t len;

	for (i = 0; i < ROUNDS; i++) {
		snprintf(key, sizeof(key), "shared-%u", rnd(SHARED));
		switch (rnd(8)) {
		case 0:
			err = del(key);
			CHECK(!err || err == -ENOENT);
			break;
		case 1:
		case 2:
		case 3:
			len = rnd(4) ? VALUE_MAX : rnd(VALUE_MAX);
			memset(v, (int)rnd(256), len);
			OK(put(key, v, len));
			break;
		default:
			err = get(key, &got, &len);
			CHECK(!err || err == -ENOENT);
			if (!err) {
				found++;
				mixed += !whole(got, len);
			}
		}
	}
	CHECK(!atomic || !mixed);
	CHECK(found);
	OK(rmc_kv_barrier(kv));
	if (!team->self)
		for (i = 0; i < SHARED; i++) {
			snprintf(key, sizeof(key), "shared-%d", i);
			err = del(key);
			CHECK(!err || err == -ENOENT);
		}
	OK(rmc_kv_barrier(kv));
}

/* One member fills the store up, empties it, and fills it up again. */
static void full(void)
{
	unsigned int n, last = 0, i;
	struct rmc_kv_stats s;
	const void *got;
	char key[32];
	size_t len;
	int round, err;

	for (round = 0; round < 2 && !team->self; round++) {
		for (n = 0; ; n++) {
			snprintf(key, sizeof(key), "full-%d-%u", round, n);
			err = put(key, &n, sizeof(n));
			if (err)
				break;
		}
		CHECK(err == -ENOSPC);
		/* one member's part is full; others may have room, but none exceeds its share */
		CHECK(n >= OBJECTS && n <= OBJECTS * (unsigned int)team->nodes);
		CHECK(get(key, &got, &len) == -ENOENT);
		CHECK(!round || team->nodes > 1 || n == last);
		last = n;
		snprintf(key, sizeof(key), "full-%d-%u", round, 0);
		OK(put(key, &n, sizeof(n)));		/* existing keys may change */
		OK(put(key, "\0\0\0", 4));
		for (i = 0; i < n; i++) {
			snprintf(key, sizeof(key), "full-%d-%u", round, i);
			OK(get(key, &got, &len));
			CHECK(len == 4 && !memcmp(got, &i, 4));
			OK(del(key));
		}
	}
	OK(rmc_kv_barrier(kv));
	rmc_kv_stats(kv, &s);
	CHECK(!s.objects);
}

/* Compare the store with a table in plain memory, with more keys than objects. */
static void model(void)
{
	static struct {
		int there;
		size_t len;
		unsigned int state;
	} t[OBJECTS * 2];
	unsigned int there = 0, k, step;
	uint8_t v[VALUE_MAX];
	const void *got;
	char key[32];
	size_t len;
	int err;

	for (step = 0; step < STEPS; step++) {
		k = rnd(OBJECTS * 2);
		snprintf(key, sizeof(key), "model-%u", k);
		if (rnd(3)) {
			len = rnd(64);
			make(v, len, k, step);
			err = put(key, v, len);
			CHECK(err == (t[k].there || there < OBJECTS ? 0 : -ENOSPC));
			if (!err) {
				there += !t[k].there;
				t[k].there = 1;
				t[k].len = len;
				t[k].state = step;
			}
		} else {
			err = del(key);
			CHECK(err == (t[k].there ? 0 : -ENOENT));
			there -= t[k].there;
			t[k].there = 0;
		}
		k = rnd(OBJECTS * 2);
		snprintf(key, sizeof(key), "model-%u", k);
		err = get(key, &got, &len);
		CHECK(err == (t[k].there ? 0 : -ENOENT));
		if (err)
			continue;
		make(v, t[k].len, k, t[k].state);
		CHECK(len == t[k].len && !memcmp(got, v, len));
	}
}

/* The last member dies; operations on its keys report that. */
static void orphan(void)
{
	int i, err = 0, from_last = 0;
	const void *got;
	char key[32];
	size_t len;

	OK(rmc_kv_barrier(kv));
	if (team->self == team->nodes - 1) {
		usleep(200000);
		_exit(0);
	}
	for (i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "key-%d", i);
		if (rmc_kv_owner(kv, key, strlen(key)) != team->nodes - 1)
			continue;
		from_last = 1;
		while ((err = get(key, &got, &len)) == -ENOENT)
			;
		break;
	}
	CHECK(from_last && (err == RMC_S_NODE_DOWN || err == RMC_S_BAD_CONTEXT));
	err = put(key, "x", 1);
	CHECK(err == RMC_S_NODE_DOWN || err == RMC_S_BAD_CONTEXT);
	err = rmc_kv_barrier(kv);
	CHECK(err == RMC_S_NODE_DOWN || err == RMC_S_BAD_CONTEXT);
	printf("member %d: reported\n", team->self);
}

/* Set the lock word of each of member 0's objects to @word. */
static void lock_all(uint64_t word)
{
	uint32_t i;

	for (i = 0; !team->self && i < OBJECTS; i++)
		rmc_store_release((uint64_t *)(void *)object_of(kv, i) + 2, word);
	OK(rmc_kv_barrier(kv));
}

/*
 * Live readers hold all of member 0's objects. A write reports that its object is locked. A
 * read reports it too, not that the key does not exist.
 */
static void locked(void)
{
	uint64_t word = 77 << 16 | (uint64_t)(rmc_team_nid(team, 0) + 1);
	const void *value;
	char key[32];
	size_t len;
	int i = 0;

	do
		snprintf(key, sizeof(key), "key-%d", i++);
	while (rmc_kv_owner(kv, key, strlen(key)));
	lock_all(word);
	CHECK(put(key, "x", 1) == RMC_SCHEME_LOCKED);
	CHECK(del(key) == -ENOENT);
	OK(rmc_kv_barrier(kv));
	lock_all(0);
	OK(put(key, "x", 1));
	OK(rmc_kv_barrier(kv));
	lock_all(word);
	if (team->self)
		CHECK(rmc_kv_get(kv, key, strlen(key), &value, &len) == RMC_SCHEME_LOCKED);
	OK(rmc_kv_barrier(kv));
	lock_all(0);
	OK(rmc_kv_get(kv, key, strlen(key), &value, &len));
	CHECK(len == 1);
	OK(rmc_kv_barrier(kv));
	printf("member %d: ok\n", team->self);
}

/*
 * True if all others are in the next barrier. A failed member never gets there, so each must
 * be up.
 */
static int all_others_arrived(void)
{
	int m, all = 1;

	for (m = 0; m < team->nodes; m++) {
		CHECK(rmc_node_state(team->ctx, rmc_team_nid(team, m)) == RMC_NODE_UP);
		all &= m == team->self || kv->rounds[m] > kv->round;
	}
	return all;
}

/* The length of each value differs from those of the 100 before it. */
static void keep_resizing(const char *key)
{
	static uint8_t v[VALUE_MAX];
	size_t len = 0;

	while (!all_others_arrived()) {
		len = (len + 8) % VALUE_MAX;
		make(v, len, 1, 1);
		OK(put(key, v, len));
		CHECK(rmc_kv_progress(kv) >= 0);
	}
}

/*
 * The owner changes the length of the object each time between a reader's read of the index
 * and of the object: links are slower than a change. Gets report that after all
 * attempts and never return a torn value. They succeed once the owner stops.
 */
static void resized(void)
{
	static uint8_t v[VALUE_MAX];
	struct rmc_kv_stats before, s;
	int again = 0, i = 0, err;
	const void *value;
	char key[32];
	size_t len;

	do
		snprintf(key, sizeof(key), "key-%d", i++);
	while (rmc_kv_owner(kv, key, strlen(key)));
	if (!team->self)
		OK(put(key, "", 0));
	OK(rmc_kv_barrier(kv));
	if (!team->self)
		keep_resizing(key);
	for (i = 0; team->self && i < 1000 && again < AGAIN; i++) {
		rmc_kv_stats(kv, &before);
		err = get(key, &value, &len);
		CHECK(!err || err == -EAGAIN || err == RMC_S_SABRE_ABORTED ||
		      err == RMC_S_SABRE_LOCKED);
		if (!err) {
			make(v, len, 1, 1);
			CHECK(!memcmp(value, v, len));
		}
		if (err != -EAGAIN)
			continue;
		again++;
		rmc_kv_stats(kv, &s);
		CHECK(s.buckets - before.buckets == FEW_ATTEMPTS && s.stale > before.stale);
	}
	CHECK(!team->self || again == AGAIN);
	OK(rmc_kv_barrier(kv));
	OK(get(key, &value, &len));
	make(v, len, 1, 1);
	CHECK(!memcmp(value, v, len));
	OK(rmc_kv_barrier(kv));
	printf("member %d: ok, %d of %d gets\n", team->self, again, i);
}

int main(int argc, char **argv)
{
	struct rmc_team_options t = { .numa_node = -1, .flags = RMC_TEAM_OBJECTS };
	struct rmc_kv_options o = {
		.scheme = rmc_scheme_find(argc > 1 ? argv[1] : "sabre"),
		.objects = OBJECTS, .key_max = KEY_MAX, .value_max = VALUE_MAX,
		.params = { .lease_us = 2000, .skew_us = 200, .wait_us = 3000000 },
		.attempts = 100000,
		.native = !!getenv("NATIVE"),
	};
	const char *mode = argc > 2 ? argv[2] : "", *n = getenv("RMC_NODES");
	struct rmc_kv_stats s;

	if (!o.scheme)
		return 2;
	team = rmc_team_open_with(&t, rmc_kv_bytes(n ? atoi(n) : 1, &o));
	if (!team) {
		printf("%s\n", rmc_errmsg());
		return 1;
	}
	seed = 88172645463325252ULL + (uint64_t)team->self * 7919;
	if (!strcmp(mode, "other") && team->self)
		o.value_max--;		/* which takes as much memory */
	if (!strcmp(mode, "locked") || !strcmp(mode, "resized"))
		o.attempts = FEW_ATTEMPTS;
	if (!strcmp(mode, "locked"))
		o.params.wait_us = 2000;
	kv = rmc_kv_open(team, &o);
	if (!kv) {
		printf("member %d: %s\n", team->self, rmc_errmsg());
		rmc_team_close(team);
		return 1;
	}
	if (!strcmp(mode, "orphan")) {
		orphan();
	} else if (!strcmp(mode, "locked")) {
		locked();
	} else if (!strcmp(mode, "resized")) {
		resized();
	} else {
		limits();
		OK(rmc_kv_barrier(kv));
		own_keys();
		shared_keys(o.scheme->flags & RMC_SCHEME_ATOMIC);
		full();
		if (team->nodes == 1)
			model();
		OK(rmc_kv_barrier(kv));
		rmc_kv_stats(kv, &s);
		printf("member %d: ok, %llu remote gets\n", team->self,
		       (unsigned long long)s.remote_gets);
	}
	rmc_kv_close(kv);
	rmc_team_close(team);
	return 0;
}
