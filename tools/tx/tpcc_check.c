/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * TPC-C: the consistency conditions of its specification, 3.3.2. When nothing runs, members check
 * a part of the warehouses each, and count the violations of each of the twelve. During the run, 1,
 * 2 and 5 are checked by transactions that only read.
 *
 * Condition 10 needs the sum of the payments of each customer, which rows of any district may have.
 * Members add up payments by customer with a weight for each; customers' own sums with the same
 * weights have to give the same, but for one case in 2^64. Condition 11, as printed, holds until
 * the first delivery. Here its right side grows with the deliveries that a district's queue counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tpcc.h"

#define CONDITIONS	12
#define PAID		13		/* sums[]: weighted payments, by rows */
#define RECEIVED	14		/* and by customers */
#define VIOLATIONS(n)	[n] = "violations of condition " #n

static int64_t weigh(int64_t amount, uint64_t district, uint64_t customer)
{
	uint64_t h = (district << 32 | customer) + 1;

	h = (h ^ (h >> 31)) * 0x9e3779b97f4a7c15ULL;
	h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ULL;
	return (int64_t)((uint64_t)amount * ((h ^ (h >> 32)) | 1));
}

/* ---- when nothing runs ---- */

/* What one district has */
struct totals {
	struct district d;
	struct queue q;
	uint64_t orders, waiting, lines, promised;	/* rows; lines that orders promise */
	uint64_t max_order, max_waiting, min_waiting;
	int64_t *delivered;		/* by customer */
};

static int count_lines(struct tx_client *c, uint64_t district, uint64_t o,
		       const struct order *order, struct totals *t, int64_t *sums)
{
	struct order_line line;
	uint64_t l, n = 0;
	int err;

	for (l = 0; l < LINES_MAX; l++) {
		err = tx_peek(c, ORDER_LINE, tpcc_line(&c->scale, district, o, l), &line,
			      sizeof(line));
		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		n++;
		if (!order)
			continue;
		sums[7] += !line.delivered != (order->carrier == NO_CARRIER);
		if (line.delivered)
			t->delivered[order->customer % c->scale.customers] += line.amount;
	}
	t->lines += n;
	sums[6] += n != (order ? order->lines : 0);
	return 0;
}

static int count_order(struct tx_client *c, uint64_t district, uint64_t o, struct totals *t,
		       int64_t *sums)
{
	uint64_t rid = tpcc_order(&c->scale, district, o);
	struct new_order waiting;
	struct order order;
	int there = tx_peek(c, ORDER, rid, &order, sizeof(order));
	int waits = tx_peek(c, NEW_ORDER, rid, &waiting, sizeof(waiting));

	if ((there && there != -ENOENT) || (waits && waits != -ENOENT))
		return there && there != -ENOENT ? there : waits;
	if (!there) {
		t->orders++;
		t->max_order = o + 1;
		t->promised += order.lines;
		sums[5] += (order.carrier == NO_CARRIER) != !waits;
	}
	if (!waits) {
		if (!t->waiting++)
			t->min_waiting = o + 1;
		t->max_waiting = o + 1;
	}
	return count_lines(c, district, o, there ? NULL : &order, t, sums);
}

/* The sum of the payments in a district's rows */
static int count_payments(struct tx_client *c, uint64_t district, int64_t *sum, int64_t *sums)
{
	uint64_t n = tpcc_payments(&c->scale), i;
	struct history_row h;
	int err;

	for (i = 0; i < n; i++) {
		err = tx_peek(c, HISTORY, district * n + i, &h, sizeof(h));
		if (err && err != -ENOENT)
			return err;
		if (err)
			continue;
		*sum += h.amount;
		sums[PAID] = (int64_t)((uint64_t)sums[PAID] +
				       (uint64_t)weigh(h.amount, h.c_district, h.customer));
	}
	return 0;
}

static int count_customers(struct tx_client *c, uint64_t district, const struct totals *t,
			   int64_t *sums)
{
	struct customer row;
	uint64_t i;
	int err;

	for (i = 0; i < c->scale.customers; i++) {
		err = tx_peek(c, CUSTOMER, tpcc_customer(&c->scale, district, i), &row,
			      sizeof(row));
		if (err)
			return err;
		sums[10] += row.balance != t->delivered[i] - row.ytd_payment;
		sums[12] += row.balance + row.ytd_payment != t->delivered[i];
		sums[RECEIVED] = (int64_t)((uint64_t)sums[RECEIVED] +
					   (uint64_t)weigh(row.ytd_payment, district, i));
	}
	return 0;
}

static int count_district(struct tx_client *c, uint64_t district, struct totals *t, int64_t *paid,
			  int64_t *sums)
{
	int64_t here = 0;
	uint64_t o;
	int err = tx_peek(c, DISTRICT, district, &t->d, sizeof(t->d));

	if (!err)
		err = tx_peek(c, QUEUE, district, &t->q, sizeof(t->q));
	for (o = 0; o < tpcc_orders(&c->scale) && !err; o++)
		err = count_order(c, district, o, t, sums);
	if (!err)
		err = count_payments(c, district, &here, sums);
	if (!err)
		err = count_customers(c, district, t, sums);
	if (err)
		return err;
	*paid += here;
	sums[2] += t->d.next_o != t->max_order || (t->waiting && t->max_waiting != t->max_order);
	sums[3] += t->waiting && t->max_waiting - t->min_waiting + 1 != t->waiting;
	sums[4] += t->promised != t->lines;
	sums[9] += t->d.ytd != here;
	sums[11] += t->orders - t->waiting != t->q.oldest;
	return 0;
}

static int count_warehouse(struct tx_client *c, uint64_t w, int64_t *delivered, int64_t *sums)
{
	int64_t ytd = 0, paid = 0;
	struct warehouse row;
	uint64_t d;
	int err = tx_peek(c, WAREHOUSE, w, &row, sizeof(row));

	for (d = w * DISTRICTS; d < (w + 1) * DISTRICTS && !err; d++) {
		struct totals t = { .delivered = delivered };

		memset(delivered, 0, c->scale.customers * sizeof(*delivered));
		err = count_district(c, d, &t, &paid, sums);
		ytd += t.d.ytd;
	}
	if (err)
		return err;
	sums[1] += row.ytd != ytd;
	sums[8] += row.ytd != paid;
	return 0;
}

int tpcc_sum(struct tx_client *c, int64_t *sums)
{
	int64_t *delivered = (int64_t *)calloc(c->scale.customers, sizeof(*delivered));
	uint64_t w;
	int err = delivered ? 0 : -ENOMEM;

	for (w = (uint64_t)c->self; w < c->scale.warehouses && !err; w += (uint64_t)c->nodes)
		err = count_warehouse(c, w, delivered, sums);
	free(delivered);
	return err;
}

const char *tpcc_judge(const struct tx_scale *s, const int64_t *sums, int64_t *is,
		       int64_t *expected)
{
	static const char *const name[CONDITIONS + 1] = {
		VIOLATIONS(1), VIOLATIONS(2), VIOLATIONS(3), VIOLATIONS(4), VIOLATIONS(5),
		VIOLATIONS(6), VIOLATIONS(7), VIOLATIONS(8), VIOLATIONS(9), VIOLATIONS(10),
		VIOLATIONS(11), VIOLATIONS(12),
	};
	int i;

	(void)s;
	for (i = 1; i <= CONDITIONS; i++) {
		*is = sums[i];
		*expected = 0;
		if (sums[i])
			return name[i];
	}
	*is = sums[PAID];
	*expected = sums[RECEIVED];
	return *is == *expected ? NULL : "condition 10: weighted payments";
}

/* ---- during the run ---- */

struct question {
	const struct tx_scale *s;
	uint64_t w, d, o;
	bool holds;
};

static int get(struct rmc_tx *t, uint32_t table, uint64_t rid, size_t len, void *row)
{
	return rmc_tx_get(t, rmc_tx_record(table, rid), len, (const void **)row);
}

static int condition_1(struct rmc_tx *t, void *arg)
{
	struct question *q = (struct question *)arg;
	const struct warehouse *w;
	const struct district *d;
	int64_t sum = 0;
	uint64_t i;
	int err;

	for (i = 0; i < DISTRICTS; i++)
		rmc_tx_fetch(t, rmc_tx_record(DISTRICT, q->w * DISTRICTS + i));
	err = get(t, WAREHOUSE, q->w, sizeof(*w), &w);
	for (i = 0; i < DISTRICTS && !err; i++) {
		err = get(t, DISTRICT, q->w * DISTRICTS + i, sizeof(*d), &d);
		sum += err ? 0 : d->ytd;
	}
	if (!err)
		q->holds = w->ytd == sum;
	return err;
}

/* 1: the row is there; 0: it is not, or its number is beyond the district's; or an error */
static int there(struct rmc_tx *t, const struct question *q, uint32_t table, uint64_t o, size_t len)
{
	const void *row;
	int err;

	if (o >= tpcc_orders(q->s))
		return 0;
	err = get(t, table, tpcc_order(q->s, q->d, o), len, &row);
	return err ? err == -ENOENT ? 0 : -EAGAIN : 1;
}

static int condition_2(struct rmc_tx *t, void *arg)
{
	struct question *q = (struct question *)arg;
	int last, beyond, waits, waits_beyond, err;
	const struct district *d;
	const struct queue *queue;
	uint64_t next;

	err = get(t, DISTRICT, q->d, sizeof(*d), &d);
	if (!err)
		err = get(t, QUEUE, q->d, sizeof(*queue), &queue);
	if (err)
		return err;
	next = d->next_o;
	last = there(t, q, ORDER, next - 1, sizeof(struct order));
	beyond = there(t, q, ORDER, next, sizeof(struct order));
	waits = there(t, q, NEW_ORDER, next - 1, sizeof(struct new_order));
	waits_beyond = there(t, q, NEW_ORDER, next, sizeof(struct new_order));
	q->holds = last == 1 && !beyond && !waits_beyond && waits == (queue->oldest < next);
	return last < 0 || beyond < 0 || waits < 0 || waits_beyond < 0 ? -EAGAIN : 0;
}

static int condition_5(struct rmc_tx *t, void *arg)
{
	struct question *q = (struct question *)arg;
	const struct order *o;
	int err = get(t, ORDER, tpcc_order(q->s, q->d, q->o), sizeof(*o), &o), waits;

	q->holds = true;
	if (err)
		return err == -ENOENT ? 0 : err;
	waits = there(t, q, NEW_ORDER, q->o, sizeof(struct new_order));
	q->holds = (o->carrier == NO_CARRIER) == (waits == 1);
	return waits < 0 ? waits : 0;
}

int tpcc_condition(struct tx_client *c, bool *holds)
{
	static int (*const question[])(struct rmc_tx *t, void *arg) = {
		condition_1, condition_2, condition_5,
	};
	struct question q = { .s = &c->scale, .w = tx_random(c, 0, c->scale.warehouses - 1) };
	unsigned int i;
	int err = 0;

	q.d = q.w * DISTRICTS + tx_random(c, 0, DISTRICTS - 1);
	q.o = tx_random(c, tpcc_delivered(&c->scale), tpcc_orders(&c->scale) - 1);
	*holds = true;
	for (i = 0; i < 3 && !err; i++) {
		err = rmc_tx_run(c->db, question[i], &q);
		*holds &= q.holds;
	}
	return err;
}
