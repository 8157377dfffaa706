/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * TATP (HADES, section VII): subscribers of a telecommunication network, four tables, seven
 * transactions. All keys are small numbers, so they are record numbers:
 *
 *	subscriber		s_id
 *	access_info		4 per subscriber: ai_type
 *	special_facility	4 per subscriber: sf_type
 *	call_forwarding		3 per special facility: start time 0, 8, 16
 *	number			s_id by sub_nbr: the index of subscribers
 *
 * Transactions that know a subscriber by the number read the index in the same transaction.
 */
#include <errno.h>
#include <string.h>
#include "workload.h"

enum { SUBSCRIBER, ACCESS, FACILITY, FORWARDING, NUMBER };
enum { GET_SUBSCRIBER, GET_ACCESS, GET_DESTINATION, UPDATE_SUBSCRIBER, UPDATE_LOCATION,
       INSERT_FORWARDING, DELETE_FORWARDING, KINDS };

#define TYPES	4
#define STARTS	3

struct subscriber {
	uint64_t s_id;
	char sub_nbr[16];
	uint8_t bit[10], hex[10], byte2[10], pad[2];
	uint32_t msc_location, vlr_location;
};

struct access {
	uint8_t data1, data2;
	char data3[3], data4[5];
};

struct facility {
	uint8_t is_active, error_cntrl, data_a;
	char data_b[5];
};

struct forwarding {
	uint8_t start_time, end_time;
	char numberx[16];
};

struct number {
	uint64_t s_id;
};

struct request {
	uint64_t s_id, type, start, end;
	uint32_t location;
	char number[16], forward_to[16];
};

static unsigned int tables(const struct tx_scale *s, struct rmc_tx_table *t)
{
	const struct rmc_tx_table all[] = {
		[SUBSCRIBER] = { .records = s->subscribers, .bytes = sizeof(struct subscriber) },
		[ACCESS] = { .records = TYPES * s->subscribers, .bytes = sizeof(struct access) },
		[FACILITY] = { .records = TYPES * s->subscribers,
			       .bytes = sizeof(struct facility) },
		[FORWARDING] = { .records = STARTS * TYPES * s->subscribers,
				 .bytes = sizeof(struct forwarding) },
		[NUMBER] = { .records = s->subscribers, .bytes = sizeof(struct number) },
	};

	memcpy(t, all, sizeof(all));
	return sizeof(all) / sizeof(all[0]);
}

static void make_number(char *to, uint64_t s_id)
{
	int i;

	memset(to, 0, 16);
	for (i = 14; i >= 0; i--, s_id /= 10)
		to[i] = (char)('0' + s_id % 10);
}

/* The index: numbers are s_id, in digits. An entry has the record number that its digits say. */
static uint64_t number_of(const char *digits)
{
	uint64_t n = 0;

	while (*digits)
		n = n * 10 + (uint64_t)(*digits++ - '0');
	return n;
}

static int store(struct tx_client *c, uint32_t table, uint64_t rid, const void *data, size_t len)
{
	if (!tx_mine(c, table, rid))
		return 0;
	return rmc_tx_load(c->db, rmc_tx_record(table, rid), data, len);
}

/* 1 to 4 of the types; all members draw the same ones */
static unsigned int draw_types(uint64_t *seed)
{
	unsigned int n = 1 + (unsigned int)(random_next(seed) >> 16) % TYPES, set = 0;

	while ((unsigned int)__builtin_popcount(set) < n)
		set |= 1U << (random_next(seed) >> 16) % TYPES;
	return set;
}

static int load_facility(struct tx_client *c, uint64_t rid, uint64_t *seed)
{
	struct facility f = { .is_active = (random_next(seed) >> 16) % 100 < 85, .data_b = "ABCD" };
	unsigned int n = (unsigned int)(random_next(seed) >> 16) % (STARTS + 1), set = 0, i;
	int err = store(c, FACILITY, rid, &f, sizeof(f));

	while ((unsigned int)__builtin_popcount(set) < n)
		set |= 1U << (random_next(seed) >> 16) % STARTS;
	for (i = 0; i < STARTS && !err; i++) {
		uint64_t at = rid * STARTS + i, length = 1 + (random_next(seed) >> 16) % 8;
		struct forwarding w = { (uint8_t)(8 * i), (uint8_t)(8 * i + length), "0" };

		if (set & 1U << i) {
			c->ledger[1] += tx_mine(c, FORWARDING, at);
			err = store(c, FORWARDING, at, &w, sizeof(w));
		}
	}
	return err;
}

static int load_subscriber(struct tx_client *c, uint64_t s, uint64_t *seed)
{
	unsigned int access = draw_types(seed), facility = draw_types(seed), i;
	struct subscriber row = { .s_id = s, .msc_location = 1, .vlr_location = 2 };
	struct access info = { 1, 2, "ABC", "ABCDE" };
	struct number index = { s };
	int err;

	make_number(row.sub_nbr, s);
	for (i = 0; i < 10; i++)
		row.bit[i] = (uint8_t)(random_next(seed) >> 16 & 1);
	err = store(c, SUBSCRIBER, s, &row, sizeof(row));
	if (!err)
		err = store(c, NUMBER, s, &index, sizeof(index));
	for (i = 0; i < TYPES && !err; i++)
		if (access & 1U << i)
			err = store(c, ACCESS, s * TYPES + i, &info, sizeof(info));
	for (i = 0; i < TYPES && !err; i++)
		if (facility & 1U << i)
			err = load_facility(c, s * TYPES + i, seed);
	return err;
}

static int load(struct tx_client *c)
{
	uint64_t seed = c->load_seed, s;
	int err = 0;

	for (s = 0; s < c->scale.subscribers && !err; s++)
		err = load_subscriber(c, s, &seed);
	return err;
}

/* ---- transactions ---- */

static int get_subscriber(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	const void *row;

	return rmc_tx_get(t, rmc_tx_record(SUBSCRIBER, r->s_id), sizeof(struct subscriber), &row);
}

static int get_access(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	const void *row;

	return rmc_tx_get(t, rmc_tx_record(ACCESS, r->s_id * TYPES + r->type),
			  sizeof(struct access), &row);
}

static int get_destination(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	uint64_t facility = r->s_id * TYPES + r->type, i;
	const struct forwarding *w;
	const struct facility *f;
	int found = 0;
	int err = rmc_tx_get(t, rmc_tx_record(FACILITY, facility), sizeof(*f), (const void **)&f);

	if (err || !f->is_active)
		return err ? err : -ENOENT;
	for (i = 0; 8 * i <= r->start; i++)
		rmc_tx_fetch(t, rmc_tx_record(FORWARDING, facility * STARTS + i));
	for (i = 0; 8 * i <= r->start; i++) {
		err = rmc_tx_get(t, rmc_tx_record(FORWARDING, facility * STARTS + i), sizeof(*w),
				 (const void **)&w);
		if (err && err != -ENOENT)
			return err;
		found += !err && w->end_time > r->end;
	}
	return found ? 0 : -ENOENT;
}

static int update_subscriber(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	uint8_t bit = r->start & 1, data_a = (uint8_t)r->end;
	int err = rmc_tx_put(t, rmc_tx_at(rmc_tx_record(SUBSCRIBER, r->s_id),
					  offsetof(struct subscriber, bit)), &bit, 1);

	if (err)
		return err;
	return rmc_tx_put(t, rmc_tx_at(rmc_tx_record(FACILITY, r->s_id * TYPES + r->type),
				       offsetof(struct facility, data_a)), &data_a, 1);
}

/* The subscriber of a number: its row has to have the same number */
static int by_number(struct rmc_tx *t, const char *digits, uint64_t *s_id)
{
	const struct subscriber *row;
	const struct number *index;
	int err = rmc_tx_get(t, rmc_tx_record(NUMBER, number_of(digits)), sizeof(*index),
			     (const void **)&index);

	if (err)
		return err;
	*s_id = index->s_id;
	err = rmc_tx_get(t, rmc_tx_record(SUBSCRIBER, *s_id), sizeof(*row), (const void **)&row);
	return err ? err : strcmp(row->sub_nbr, digits) ? -EPROTO : 0;
}

static int update_location(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	uint64_t s_id = 0;
	int err = by_number(t, r->number, &s_id);

	return err ? err : rmc_tx_put(t, rmc_tx_at(rmc_tx_record(SUBSCRIBER, s_id),
						   offsetof(struct subscriber, vlr_location)),
				      &r->location, sizeof(r->location));
}

static int insert_forwarding(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	struct forwarding w = { (uint8_t)r->start, (uint8_t)r->end, "" };
	uint64_t s_id = 0, facility, i;
	const void *f;
	int err = by_number(t, r->number, &s_id), there = 0;

	memcpy(w.numberx, r->forward_to, sizeof(w.numberx));
	if (err)
		return err;
	/* all facilities of the subscriber */
	for (i = 0; i < TYPES; i++)
		rmc_tx_fetch(t, rmc_tx_record(FACILITY, s_id * TYPES + i));
	for (i = 0; i < TYPES; i++) {
		err = rmc_tx_get(t, rmc_tx_record(FACILITY, s_id * TYPES + i),
				 sizeof(struct facility), &f);
		if (err && err != -ENOENT)
			return err;
		there += !err && i == r->type;
	}
	if (!there)
		return -ENOENT;
	facility = s_id * TYPES + r->type;
	return rmc_tx_insert(t, rmc_tx_record(FORWARDING, facility * STARTS + r->start / 8), &w,
			     sizeof(w));
}

static int delete_forwarding(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	uint64_t s_id = 0;
	int err = by_number(t, r->number, &s_id);

	s_id = (s_id * TYPES + r->type) * STARTS + r->start / 8;
	return err ? err : rmc_tx_delete(t, rmc_tx_record(FORWARDING, s_id));
}

/* TATP's non-uniform subscribers: A by their number */
static uint64_t subscriber(struct tx_client *c)
{
	uint64_t n = c->scale.subscribers;
	uint64_t a = n <= 1000000 ? 65535 : n <= 10000000 ? 1048575 : 2097151;

	return tx_place(c, (tx_random(c, 0, a) | tx_random(c, 0, n - 1)) % n, n);
}

static int one(struct tx_client *c, unsigned int *kind)
{
	static const struct {
		unsigned int percent;
		int (*fn)(struct rmc_tx *t, void *arg);
	} mix[KINDS] = {
		[GET_SUBSCRIBER] = { 35, get_subscriber }, [GET_ACCESS] = { 35, get_access },
		[GET_DESTINATION] = { 10, get_destination },
		[UPDATE_SUBSCRIBER] = { 2, update_subscriber },
		[UPDATE_LOCATION] = { 14, update_location },
		[INSERT_FORWARDING] = { 2, insert_forwarding },
		[DELETE_FORWARDING] = { 2, delete_forwarding },
	};
	unsigned int draw = (unsigned int)tx_random(c, 0, 99), k;
	struct request r = { .s_id = subscriber(c), .type = tx_random(c, 0, TYPES - 1) };
	uint64_t done;
	int err;

	for (k = 0; draw >= mix[k].percent; k++)
		draw -= mix[k].percent;
	r.start = 8 * tx_random(c, 0, STARTS - 1);
	r.end = k == INSERT_FORWARDING ? r.start + tx_random(c, 1, 8) : tx_random(c, 1, 24);
	r.location = (uint32_t)random_next(&c->seed);
	make_number(r.number, r.s_id);
	make_number(r.forward_to, random_next(&c->seed) >> 16);
	*kind = k;
	done = c->done[k];
	err = tx_execute(c, k, mix[k].fn, &r);
	if (c->done[k] != done)
		c->ledger[0] += k == INSERT_FORWARDING ? 1 : k == DELETE_FORWARDING ? -1 : 0;
	return err;
}

/* ---- what has to hold ---- */

/* [0]: rows of forwardings; [1]: as the ledger has it; [2]: rows and numbers that do not agree */
static int sum_forwardings(struct tx_client *c, int64_t *sums)
{
	uint64_t n = STARTS * TYPES * c->scale.subscribers, i;
	struct forwarding w;
	int err;

	for (i = 0; i < n; i++) {
		if (!tx_mine(c, FORWARDING, i))
			continue;
		err = tx_peek(c, FORWARDING, i, &w, sizeof(w));
		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		sums[0]++;
		/* its place says when it starts: at most three, at different times */
		sums[2] += w.start_time != 8 * (i % STARTS) || w.end_time <= w.start_time;
		err = tx_peek(c, FACILITY, i / STARTS, &(struct facility){ 0 },
			      sizeof(struct facility));
		sums[2] += err == -ENOENT;
		if (err && err != -ENOENT)
			return err;
	}
	sums[1] += c->ledger[0] + c->ledger[1];
	return 0;
}

static int sum(struct tx_client *c, int64_t *sums)
{
	struct subscriber row;
	struct number index;
	char digits[16];
	uint64_t s;
	int err;

	for (s = 0; s < c->scale.subscribers; s++) {
		if (!tx_mine(c, SUBSCRIBER, s))
			continue;
		err = tx_peek(c, SUBSCRIBER, s, &row, sizeof(row));
		if (!err)
			err = tx_peek(c, NUMBER, s, &index, sizeof(index));
		if (err)
			return err;
		make_number(digits, s);
		sums[2] += row.s_id != s || index.s_id != s || strcmp(row.sub_nbr, digits);
	}
	return sum_forwardings(c, sums);
}

static const char *judge(const struct tx_scale *s, const int64_t *sums, int64_t *is,
			 int64_t *expected)
{
	(void)s;
	*is = sums[2];
	*expected = 0;
	if (sums[2])
		return "rows that do not agree with others";
	*is = sums[0];
	*expected = sums[1];
	return sums[0] == sums[1] ? NULL : "call forwardings";
}

const struct workload tatp = {
	.name = "tatp",
	.kind = { "get_subscriber_data", "get_access_data", "get_new_destination",
		  "update_subscriber_data", "update_location", "insert_call_forwarding",
		  "delete_call_forwarding" },
	.records = 8,
	.tables = tables, .load = load, .one = one, .sum = sum, .judge = judge,
};
