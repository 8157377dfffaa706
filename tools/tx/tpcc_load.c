/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * TPC-C: the first rows. Every member draws the rows of all districts from the same seed, so that
 * it knows indexes without asking, and stores those that are its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tpcc.h"

#define START_PAYMENT	1000		/* cents, of each customer */

static int store(struct tx_client *c, uint32_t table, uint64_t rid, const void *row, size_t len)
{
	return tx_mine(c, table, rid) ? rmc_tx_load(c->db, rmc_tx_record(table, rid), row, len) : 0;
}

static uint64_t draw(uint64_t *seed, uint64_t from, uint64_t to)
{
	return from + (random_next(seed) >> 16) % (to - from + 1);
}

static void text(uint64_t *seed, char *to, size_t len)
{
	uint64_t r = random_next(seed);
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = (char)('a' + (r >> i % 32 & 15));
}

/* One row of ten has this word in its data. */
static void original(uint64_t *seed, char *data, size_t len)
{
	text(seed, data, len);
	if (!draw(seed, 0, 9))
		memcpy(data + draw(seed, 0, len - 8), "ORIGINAL", 8);
}

static void last_name(char *to, uint64_t number)
{
	static const char *const part[] = { "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI",
					    "CALLY", "ATION", "EING" };

	snprintf(to, 16, "%s%s%s", part[number / 100 % 10], part[number / 10 % 10],
		 part[number % 10]);
}

static int load_items(struct tx_client *c, uint64_t *seed)
{
	struct item row;
	uint64_t i;
	int err = 0;

	for (i = 0; i < c->scale.items && !err; i++) {
		memset(&row, 0, sizeof(row));
		row.price = (int64_t)draw(seed, 100, 10000);
		row.image = (uint32_t)draw(seed, 1, 10000);
		text(seed, row.name, sizeof(row.name));
		original(seed, row.data, sizeof(row.data));
		err = store(c, ITEM, i, &row, sizeof(row));
	}
	return err;
}

static int load_warehouse(struct tx_client *c, uint64_t w, uint64_t *seed)
{
	struct warehouse row = {
		.ytd = (int64_t)(DISTRICTS * c->scale.customers * START_PAYMENT),
		.tax = (int32_t)draw(seed, 0, 2000),
	};
	struct stock s;
	uint64_t i;
	int err = store(c, WAREHOUSE, w, &row, sizeof(row));

	for (i = 0; i < c->scale.items && !err; i++) {
		memset(&s, 0, sizeof(s));
		s.quantity = (int32_t)draw(seed, 10, 100);
		text(seed, s.info[0], sizeof(s.info));
		original(seed, s.data, sizeof(s.data));
		err = store(c, STOCK, w * c->scale.items + i, &s, sizeof(s));
	}
	return err;
}

struct sorted {
	char first[16];
	uint32_t name, customer;
};

static int by_name(const void *p, const void *q)
{
	const struct sorted *a = (const struct sorted *)p, *b = (const struct sorted *)q;
	int order = memcmp(a->first, b->first, sizeof(a->first));

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return order ? order : a->customer < b->customer ? -1 : a->customer > b->customer;
}

/* The index of last names: an entry has the customers of a name, sorted by their first names */
static int load_names(struct tx_client *c, uint64_t district, struct sorted *all)
{
	uint64_t n = c->scale.customers, i = 0, name;
	struct names row;
	int err = 0;

	qsort(all, n, sizeof(*all), by_name);
	for (name = 0; name < NAMES && !err; name++) {
		memset(&row, 0, sizeof(row));
		for (; i < n && all[i].name == name; i++) {
			if (row.n == NAMESAKES)
				return -ENOSPC;
			row.customer[row.n++] = all[i].customer;
		}
		err = store(c, NAMES_TABLE, district * NAMES + name, &row, sizeof(row));
	}
	return err;
}

static int load_customer(struct tx_client *c, uint64_t district, uint64_t i, struct sorted *s,
			 uint64_t *seed)
{
	struct history_row h = { .amount = START_PAYMENT, .customer = (uint32_t)i,
				 .district = (uint32_t)district, .c_district = (uint32_t)district };
	struct customer row = {
		.balance = -START_PAYMENT, .ytd_payment = START_PAYMENT, .payments = 1,
		.credit_limit = 5000000, .middle = "OE", .discount = (int32_t)draw(seed, 0, 5000),
	};
	/* the first thousand have each name once */
	uint64_t name = i < NAMES ? i : (draw(seed, 0, 255) | draw(seed, 0, NAMES - 1)) % NAMES;
	int err;

	last_name(row.last, name);
	text(seed, row.first, sizeof(row.first));
	text(seed, row.data, sizeof(row.data));
	memcpy(row.credit, draw(seed, 0, 9) ? "GC" : "BC", 2);
	s->customer = (uint32_t)i;
	s->name = (uint32_t)name;
	memcpy(s->first, row.first, sizeof(s->first));
	err = store(c, CUSTOMER, tpcc_customer(&c->scale, district, i), &row, sizeof(row));
	if (err)
		return err;
	return store(c, HISTORY, district * tpcc_payments(&c->scale) + i, &h, sizeof(h));
}

static int load_order(struct tx_client *c, uint64_t district, uint64_t o, uint64_t customer,
		      uint64_t *seed)
{
	bool delivered = o < tpcc_delivered(&c->scale);
	struct order row = {
		.customer = (uint32_t)customer, .lines = (uint8_t)draw(seed, LINES_MIN, LINES_MAX),
		.carrier = delivered ? (uint8_t)draw(seed, 1, 10) : NO_CARRIER, .all_local = 1,
		.entry = 1,
	};
	struct newest newest = { (uint32_t)o, 1 };
	struct new_order waiting = { (uint32_t)o };
	struct order_line line;
	uint64_t i;
	int err;

	err = store(c, ORDER, tpcc_order(&c->scale, district, o), &row, sizeof(row));
	if (!err && !delivered)
		err = store(c, NEW_ORDER, tpcc_order(&c->scale, district, o), &waiting,
			    sizeof(waiting));
	if (!err)
		err = store(c, NEWEST, tpcc_customer(&c->scale, district, customer), &newest,
			    sizeof(newest));
	for (i = 0; i < row.lines && !err; i++) {
		memset(&line, 0, sizeof(line));
		line.item = (uint32_t)draw(seed, 0, c->scale.items - 1);
		line.supply = (uint32_t)(district / DISTRICTS);
		line.quantity = 5;
		line.delivered = delivered;
		line.amount = delivered ? 0 : (int64_t)draw(seed, 1, 999999);
		err = store(c, ORDER_LINE, tpcc_line(&c->scale, district, o, i), &line,
			    sizeof(line));
	}
	return err;
}

static int load_district(struct tx_client *c, uint64_t district, struct sorted *all,
			 uint32_t *order_of, uint64_t *seed)
{
	struct district row = {
		.ytd = (int64_t)(c->scale.customers * START_PAYMENT),
		.tax = (int32_t)draw(seed, 0, 2000),
		.next_o = (uint32_t)c->scale.orders, .next_h = (uint32_t)c->scale.customers,
	};
	struct queue q = { (uint32_t)tpcc_delivered(&c->scale) };
	uint64_t n = c->scale.customers, i, k;
	struct newest none = { 0, 0 };
	uint32_t swap;
	int err = store(c, DISTRICT, district, &row, sizeof(row));

	if (!err)
		err = store(c, QUEUE, district, &q, sizeof(q));
	for (i = 0; i < n && !err; i++) {
		order_of[i] = (uint32_t)i;
		err = load_customer(c, district, i, &all[i], seed);
		if (!err)
			err = store(c, NEWEST, tpcc_customer(&c->scale, district, i), &none,
				    sizeof(none));
	}
	if (!err)
		err = load_names(c, district, all);
	/* customers in random order, each again after all of them */
	for (i = n - 1; i > 0; i--) {
		k = draw(seed, 0, i);
		swap = order_of[i];
		order_of[i] = order_of[k];
		order_of[k] = swap;
	}
	for (i = 0; i < c->scale.orders && !err; i++)
		err = load_order(c, district, i, order_of[i % n], seed);
	return err;
}

int tpcc_load(struct tx_client *c)
{
	struct sorted *all = (struct sorted *)malloc(c->scale.customers * sizeof(*all));
	uint32_t *order_of = (uint32_t *)malloc(c->scale.customers * sizeof(*order_of));
	uint64_t seed = c->load_seed, w, d;
	int err = all && order_of ? load_items(c, &seed) : -ENOMEM;

	for (w = 0; w < c->scale.warehouses && !err; w++) {
		err = load_warehouse(c, w, &seed);
		for (d = w * DISTRICTS; d < (w + 1) * DISTRICTS && !err; d++)
			err = load_district(c, d, all, order_of, &seed);
	}
	free(all);
	free(order_of);
	return err;
}
