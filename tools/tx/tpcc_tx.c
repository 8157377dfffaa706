/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * TPC-C: the five transactions. Each first starts to read all records that it knows it needs, so
 * that their reads take the time of one. Of a row they ask for the fields that they use, and write
 * those that they change: systems that do not work with whole records move no more.
 */
#include <errno.h>
#include <string.h>
#include "tpcc.h"

#define BY_NAME		60		/* percent of customers are found by name */
#define RECENT		20		/* orders that Stock-Level reads */
#define FEW_NAMESAKES	10		/* are in the first line of their row */

struct request {
	const struct tx_scale *s;
	uint64_t w, d;			/* home warehouse, and its district: its record number */
	uint64_t c_district, customer, name;	/* name: NAMES: by number */
	uint64_t item[LINES_MAX], supply[LINES_MAX];
	unsigned int lines, quantity[LINES_MAX];
	int64_t amount, threshold;
	uint64_t date;
	bool full;
};

/* The first len bytes of a row */
static int get(struct rmc_tx *t, uint32_t table, uint64_t rid, size_t len, void *row)
{
	return rmc_tx_get(t, rmc_tx_record(table, rid), len, (const void **)row);
}

static int put(struct rmc_tx *t, uint32_t table, uint64_t rid, const void *row, size_t len)
{
	return rmc_tx_put(t, rmc_tx_record(table, rid), row, len);
}

static void fetch(struct rmc_tx *t, uint32_t table, uint64_t rid)
{
	rmc_tx_fetch(t, rmc_tx_record(table, rid));	/* the read returns its error */
}

/* The customer by number, or of those with a name the middle one by first names */
static int find_customer(struct rmc_tx *t, const struct request *r, uint64_t *customer)
{
	uint64_t rid = r->c_district * NAMES + r->name;
	const struct names *names;
	const uint32_t *middle;
	uint32_t n, i;
	int err;

	*customer = r->customer;
	if (r->name == NAMES)
		return 0;
	err = get(t, NAMES_TABLE, rid, offsetof(struct names, customer[FEW_NAMESAKES]), &names);
	if (err)
		return err;
	n = names->n;
	if (!n)
		return -ENOENT;
	if (n > NAMESAKES)
		return -EPROTO;
	i = (n + 1) / 2 - 1;
	*customer = i < FEW_NAMESAKES ? names->customer[i] : 0;
	if (i < FEW_NAMESAKES)
		return 0;
	err = rmc_tx_get(t, rmc_tx_at(rmc_tx_record(NAMES_TABLE, rid),
				      offsetof(struct names, customer[i])),
			 sizeof(*middle), (const void **)&middle);
	*customer = err ? 0 : *middle;
	return err;
}

/* ---- New-Order ---- */

static int order_line(struct rmc_tx *t, const struct request *r, unsigned int i, uint64_t o)
{
	uint64_t at = r->supply[i] * r->s->items + r->item[i];
	struct order_line line = {
		.item = (uint32_t)r->item[i], .supply = (uint32_t)r->supply[i],
		.quantity = (uint8_t)r->quantity[i],
	};
	const struct item *item;
	const struct stock *now;
	struct stock s;
	size_t info = r->d % DISTRICTS;
	int err = get(t, ITEM, r->item[i], sizeof(*item), &item);

	/* an unused number: all of the order is taken back */
	if (err == -ENOENT)
		return RMC_TX_ABORT;
	if (!err)
		err = get(t, STOCK, at, offsetof(struct stock, info[info + 1]), &now);
	if (err)
		return err;
	memcpy(&s, now, offsetof(struct stock, info));
	s.quantity -= (int32_t)r->quantity[i];
	s.quantity += s.quantity < 10 ? 91 : 0;
	s.ytd += r->quantity[i];
	s.orders++;
	s.remote += r->supply[i] != r->w;
	line.amount = item->price * r->quantity[i];
	memcpy(line.info, now->info[info], sizeof(line.info));
	err = put(t, STOCK, at, &s, offsetof(struct stock, info));
	if (err)
		return err;
	return rmc_tx_insert(t, rmc_tx_record(ORDER_LINE, tpcc_line(r->s, r->d, o, i)), &line,
			     sizeof(line));
}

static void fetch_order(struct rmc_tx *t, const struct request *r, uint64_t customer)
{
	unsigned int i;

	fetch(t, DISTRICT, r->d);
	fetch(t, WAREHOUSE, r->w);
	fetch(t, CUSTOMER, customer);
	fetch(t, NEWEST, customer);
	for (i = 0; i < r->lines; i++) {
		fetch(t, ITEM, r->item[i]);
		if (r->item[i] < r->s->items)
			fetch(t, STOCK, r->supply[i] * r->s->items + r->item[i]);
	}
}

static int insert_order(struct rmc_tx *t, const struct request *r, uint64_t o)
{
	struct order order = {
		.customer = (uint32_t)r->customer, .carrier = NO_CARRIER,
		.lines = (uint8_t)r->lines, .all_local = 1, .entry = r->date,
	};
	struct newest newest = { (uint32_t)o, 1 };
	struct new_order waiting = { (uint32_t)o };
	unsigned int i;
	int err;

	for (i = 0; i < r->lines; i++) {
		fetch(t, ORDER_LINE, tpcc_line(r->s, r->d, o, i));
		order.all_local &= r->supply[i] == r->w;
	}
	fetch(t, NEW_ORDER, tpcc_order(r->s, r->d, o));
	err = rmc_tx_insert(t, rmc_tx_record(ORDER, tpcc_order(r->s, r->d, o)), &order,
			    sizeof(order));
	if (!err)
		err = rmc_tx_insert(t, rmc_tx_record(NEW_ORDER, tpcc_order(r->s, r->d, o)),
				    &waiting, sizeof(waiting));
	if (err)
		return err;
	return put(t, NEWEST, tpcc_customer(r->s, r->d, r->customer), &newest, sizeof(newest));
}

static int new_order(struct rmc_tx *t, void *arg)
{
	struct request *r = (struct request *)arg;
	uint64_t customer = tpcc_customer(r->s, r->d, r->customer);
	const struct warehouse *w;
	const struct customer *c;
	const struct district *d;
	unsigned int i;
	uint32_t o;
	int err;

	fetch_order(t, r, customer);
	err = get(t, DISTRICT, r->d, offsetof(struct district, name), &d);
	if (err)
		return err;
	o = d->next_o;
	r->full = o >= tpcc_orders(r->s);
	if (r->full)
		return RMC_TX_ABORT;
	err = get(t, WAREHOUSE, r->w, offsetof(struct warehouse, name), &w);
	if (!err)
		err = get(t, CUSTOMER, customer, offsetof(struct customer, phone), &c);
	if (!err)
		err = insert_order(t, r, o);
	for (i = 0; i < r->lines && !err; i++)
		err = order_line(t, r, i, o);
	o++;
	if (err)
		return err;
	return rmc_tx_put(t, rmc_tx_at(rmc_tx_record(DISTRICT, r->d),
				       offsetof(struct district, next_o)), &o, sizeof(o));
}

/* ---- Payment ---- */

static int pay_customer(struct rmc_tx *t, const struct request *r, uint64_t customer)
{
	const struct customer *now;
	struct customer c;
	uint64_t rid = tpcc_customer(r->s, r->c_district, customer);
	uint64_t ids[3] = { customer, r->c_district << 32 | r->d, (uint64_t)r->amount };
	struct rmc_tx_addr data = rmc_tx_at(rmc_tx_record(CUSTOMER, rid),
					    offsetof(struct customer, data));
	const char *text;
	int err = get(t, CUSTOMER, rid, offsetof(struct customer, phone), &now);

	if (err)
		return err;
	memcpy(&c, now, offsetof(struct customer, phone));
	c.balance -= r->amount;
	c.ytd_payment += r->amount;
	c.payments++;
	err = put(t, CUSTOMER, rid, &c, offsetof(struct customer, deliveries));
	if (err || c.credit[0] != 'B')
		return err;
	err = rmc_tx_get(t, data, sizeof(c.data), (const void **)&text);
	if (err)
		return err;
	memcpy(c.data, ids, sizeof(ids));
	memcpy(c.data + sizeof(ids), text, sizeof(c.data) - sizeof(ids));
	return rmc_tx_put(t, data, c.data, sizeof(c.data));
}

static int payment(struct rmc_tx *t, void *arg)
{
	struct request *r = (struct request *)arg;
	struct history_row h = { .amount = r->amount, .date = r->date, .district = (uint32_t)r->d,
				 .c_district = (uint32_t)r->c_district };
	const struct warehouse *w;
	const struct district *now;
	struct district d;
	uint64_t customer = 0;
	int64_t ytd;
	int err;

	fetch(t, WAREHOUSE, r->w);
	fetch(t, DISTRICT, r->d);
	err = find_customer(t, r, &customer);
	if (!err)
		err = get(t, DISTRICT, r->d, offsetof(struct district, name), &now);
	if (err)
		return err;
	memcpy(&d, now, offsetof(struct district, name));
	r->full = d.next_h >= tpcc_payments(r->s);
	if (r->full)
		return RMC_TX_ABORT;
	h.customer = (uint32_t)customer;
	err = rmc_tx_insert(t, rmc_tx_record(HISTORY, r->d * tpcc_payments(r->s) + d.next_h), &h,
			    sizeof(h));
	d.next_h++;
	d.ytd += r->amount;
	if (!err)
		err = put(t, DISTRICT, r->d, &d, offsetof(struct district, name));
	if (!err)
		err = pay_customer(t, r, customer);
	if (!err)
		err = get(t, WAREHOUSE, r->w, offsetof(struct warehouse, name), &w);
	if (err)
		return err;
	ytd = w->ytd + r->amount;
	return put(t, WAREHOUSE, r->w, &ytd, sizeof(ytd));
}

/* ---- Order-Status ---- */

static int order_status(struct rmc_tx *t, void *arg)
{
	struct request *r = (struct request *)arg;
	const struct order_line *line;
	const struct newest *newest;
	const struct customer *c;
	const struct order *o;
	uint64_t customer, i;
	int err = find_customer(t, r, &customer);

	if (!err)
		err = get(t, CUSTOMER, tpcc_customer(r->s, r->c_district, customer),
			  offsetof(struct customer, credit), &c);
	if (!err)
		err = get(t, NEWEST, tpcc_customer(r->s, r->c_district, customer), sizeof(*newest),
			  &newest);
	if (err || !newest->any)
		return err;
	err = get(t, ORDER, tpcc_order(r->s, r->c_district, newest->order), sizeof(*o), &o);
	if (!err && o->lines > LINES_MAX)
		return -EPROTO;
	for (i = 0; !err && i < o->lines; i++)
		fetch(t, ORDER_LINE, tpcc_line(r->s, r->c_district, newest->order, i));
	for (i = 0; !err && i < o->lines; i++)
		err = get(t, ORDER_LINE, tpcc_line(r->s, r->c_district, newest->order, i),
			  offsetof(struct order_line, info), &line);
	return err;
}

/* ---- Delivery ---- */

static int deliver_lines(struct rmc_tx *t, const struct request *r, uint64_t d, uint64_t oldest,
			 unsigned int lines, int64_t *sum)
{
	const struct order_line *line;
	uint64_t i, rid;
	int err = 0;

	for (i = 0; i < lines; i++)
		fetch(t, ORDER_LINE, tpcc_line(r->s, d, oldest, i));
	for (i = 0; i < lines && !err; i++) {
		rid = tpcc_line(r->s, d, oldest, i);
		err = get(t, ORDER_LINE, rid, offsetof(struct order_line, delivered), &line);
		if (!err) {
			*sum += line->amount;
			err = rmc_tx_put(t, rmc_tx_at(rmc_tx_record(ORDER_LINE, rid),
						      offsetof(struct order_line, delivered)),
					 &r->date, sizeof(r->date));
		}
	}
	return err;
}

static int deliver_to(struct rmc_tx *t, uint64_t rid, int64_t sum)
{
	const struct customer *now;
	struct customer c;
	int err = get(t, CUSTOMER, rid, offsetof(struct customer, credit_limit), &now);

	if (err)
		return err;
	memcpy(&c, now, offsetof(struct customer, credit_limit));
	c.balance += sum;
	c.deliveries++;
	return put(t, CUSTOMER, rid, &c, offsetof(struct customer, credit_limit));
}

/* The oldest order of a district, if there is one */
static int deliver(struct rmc_tx *t, const struct request *r, uint64_t d)
{
	uint8_t carrier = (uint8_t)r->quantity[0];
	const struct new_order *waiting;
	const struct queue *now;
	struct order o;
	const struct order *order;
	struct queue q;
	int64_t sum = 0;
	uint64_t rid;
	int err = get(t, QUEUE, d, sizeof(*now), &now);

	if (err || now->oldest >= tpcc_orders(r->s))
		return err;
	q = *now;
	rid = tpcc_order(r->s, d, q.oldest);
	fetch(t, ORDER, rid);
	err = get(t, NEW_ORDER, rid, sizeof(*waiting), &waiting);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = get(t, ORDER, rid, sizeof(*order), &order);
	if (err)
		return err;
	o = *order;
	if (o.lines > LINES_MAX)
		return -EPROTO;
	err = rmc_tx_delete(t, rmc_tx_record(NEW_ORDER, rid));
	if (!err)
		err = rmc_tx_put(t, rmc_tx_at(rmc_tx_record(ORDER, rid),
					      offsetof(struct order, carrier)), &carrier, 1);
	if (!err)
		err = deliver_lines(t, r, d, q.oldest, o.lines, &sum);
	if (!err)
		err = deliver_to(t, tpcc_customer(r->s, d, o.customer), sum);
	q.oldest++;
	return err ? err : put(t, QUEUE, d, &q, sizeof(q));
}

static int delivery(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	uint64_t d = r->w * DISTRICTS, i;
	int err = 0;

	for (i = 0; i < DISTRICTS; i++)
		fetch(t, QUEUE, d + i);
	for (i = 0; i < DISTRICTS && !err; i++)
		err = deliver(t, r, d + i);
	return err;
}

/* ---- Stock-Level ---- */

/* An item that several lines have is one record: it counts once, where it comes first. */
static int scarce(struct rmc_tx *t, const struct request *r, uint32_t *item, unsigned int n,
		  unsigned int *low)
{
	const struct stock *s;
	unsigned int i, k;
	int err = 0;

	*low = 0;

	for (i = 0; i < n; i++)
		fetch(t, STOCK, r->w * r->s->items + item[i]);
	for (i = 0; i < n && !err; i++) {
		for (k = 0; k < i && item[k] != item[i]; k++)
			;
		err = k < i ? 0 : get(t, STOCK, r->w * r->s->items + item[i],
				   offsetof(struct stock, orders), &s);
		*low += k == i && !err && s->quantity < r->threshold;
	}
	return err;
}

static int stock_level(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	uint32_t item[RECENT * LINES_MAX];
	const struct order_line *line;
	const struct district *d;
	const struct order *order;
	uint64_t o, next, l;
	unsigned int n = 0, low;
	int err = get(t, DISTRICT, r->d, offsetof(struct district, name), &d);

	if (err)
		return err;
	next = d->next_o;
	for (o = next > RECENT ? next - RECENT : 0; o < next; o++)
		fetch(t, ORDER, tpcc_order(r->s, r->d, o));
	for (o = next > RECENT ? next - RECENT : 0; o < next && !err; o++) {
		err = get(t, ORDER, tpcc_order(r->s, r->d, o), sizeof(*order), &order);
		for (l = 0; !err && l < order->lines && l < LINES_MAX; l++)
			fetch(t, ORDER_LINE, tpcc_line(r->s, r->d, o, l));
		for (l = 0; !err && l < order->lines && l < LINES_MAX; l++) {
			err = get(t, ORDER_LINE, tpcc_line(r->s, r->d, o, l),
				  offsetof(struct order_line, supply), &line);
			if (!err)
				item[n++] = line->item;
		}
	}
	return err ? err : scarce(t, r, item, n, &low);
}

/* ---- the mix ---- */

static void draw_lines(struct tx_client *c, struct request *r)
{
	unsigned int i;

	r->lines = (unsigned int)tx_random(c, LINES_MIN, LINES_MAX);
	for (i = 0; i < r->lines; i++) {
		r->item[i] = tpcc_nurand(c, 8191, 0, c->scale.items - 1);
		r->supply[i] = r->w;
		if (c->scale.warehouses > 1 && !tx_random(c, 0, 99))
			r->supply[i] = (r->w + tx_random(c, 1, c->scale.warehouses - 1)) %
				       c->scale.warehouses;
		r->quantity[i] = (unsigned int)tx_random(c, 1, 10);
	}
	if (!tx_random(c, 0, 99))
		r->item[r->lines - 1] = c->scale.items;		/* an unused number */
}

static void draw_customer(struct tx_client *c, struct request *r, bool by_name)
{
	uint64_t names = c->scale.customers < NAMES ? c->scale.customers : NAMES;

	r->customer = tpcc_nurand(c, 1023, 0, c->scale.customers - 1);
	r->name = NAMES;
	if (by_name && tx_random(c, 0, 99) < BY_NAME)
		r->name = tpcc_nurand(c, TPCC_NAME_A, 0, names - 1);
}

/*
 * A client is a terminal of its warehouse, or, with more warehouses than members, one of each of
 * several: with --by-warehouse these are at its own node.
 */
static uint64_t home_warehouse(struct tx_client *c)
{
	uint64_t all = c->scale.warehouses, nodes = (uint64_t)c->nodes, self = (uint64_t)c->self;

	if (c->scale.local)
		return tx_place(c, tx_random(c, 0, all - 1), all);
	if (all <= nodes)
		return self % all;
	return self + nodes * tx_random(c, 0, (all - self - 1) / nodes);
}

int tpcc_one(struct tx_client *c, unsigned int *kind)
{
	static const struct {
		unsigned int percent;
		int (*fn)(struct rmc_tx *t, void *arg);
	} mix[] = {
		[NEW_ORDER_TX] = { 45, new_order }, [PAYMENT_TX] = { 43, payment },
		[STATUS_TX] = { 4, order_status }, [DELIVERY_TX] = { 4, delivery },
		[STOCK_TX] = { 4, stock_level },
	};
	unsigned int draw, k;
	struct request r = { .s = &c->scale, .w = home_warehouse(c) };
	uint64_t other;
	int err;

	draw = (unsigned int)tx_random(c, 0, c->scale.frequent ? mix[NEW_ORDER_TX].percent +
				       mix[PAYMENT_TX].percent - 1 : 99);
	for (k = 0; draw >= mix[k].percent; k++)
		draw -= mix[k].percent;
	r.d = r.w * DISTRICTS + tx_random(c, 0, DISTRICTS - 1);
	r.c_district = r.d;
	r.date = 1 + (random_next(&c->seed) >> 32);
	r.amount = (int64_t)tx_random(c, 100, 500000);
	r.threshold = (int64_t)tx_random(c, 10, 20);
	r.quantity[0] = (unsigned int)tx_random(c, 1, 10);
	draw_customer(c, &r, k == PAYMENT_TX || k == STATUS_TX);
	if (k == NEW_ORDER_TX)
		draw_lines(c, &r);
	if (k == STOCK_TX)		/* the terminal's */
		r.d = r.w * DISTRICTS + (uint64_t)c->self / c->scale.warehouses % DISTRICTS;
	if (k == PAYMENT_TX && c->scale.warehouses > 1 && tx_random(c, 0, 99) < 15) {
		other = (r.w + tx_random(c, 1, c->scale.warehouses - 1)) % c->scale.warehouses;
		r.c_district = other * DISTRICTS + tx_random(c, 0, DISTRICTS - 1);
	}
	*kind = k;
	err = tx_execute(c, k, mix[k].fn, &r);
	c->full |= r.full;
	return err;
}
