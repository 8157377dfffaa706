/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * TPC-C (HADES, section VII): nine tables, and three that stand in for ordered access:
 *
 *	newest		of each customer the number of the last order	(Order-Status)
 *	queue		of each district the oldest order that is not delivered	(Delivery)
 *	names		customers of a district with a last name, by first name	(60% of payments)
 *
 * All keys are small numbers, so rows are records, and an index is computed:
 *
 *	warehouse	w		district	w * 10 + d
 *	customer	district * customers + c
 *	stock		w * items + i
 *	order		district * (orders + room) + number of the order; new_order likewise
 *	order line	order * 15 + line
 *	history		district * (customers + room) + number of the payment
 *
 * One item more than there are is a record that is absent: an order with an unused number asks for it.
 * Numbers begin with 0. A district has room for so many new orders and payments; then the run ends.
 * Money is in cents, and percentages in hundredths of a percent: sums are exact.
 */
#ifndef RMC_TOOLS_TX_TPCC_H
#define RMC_TOOLS_TX_TPCC_H

#include "workload.h"

#define DISTRICTS	10
#define LINES_MAX	15
#define LINES_MIN	5
#define NAMES		1000
#define NAMESAKES	120		/* customers of a name in a district at most */
#define NO_CARRIER	0xff
#define TPCC_NAME_A	255		/* of last names: see tpcc_nurand() */

enum { WAREHOUSE, DISTRICT, CUSTOMER, HISTORY, ORDER, NEW_ORDER, ORDER_LINE, ITEM, STOCK, NEWEST,
       QUEUE, NAMES_TABLE, TPCC_TABLES };
enum { NEW_ORDER_TX, PAYMENT_TX, STATUS_TX, DELIVERY_TX, STOCK_TX };

struct address {
	char street[2][20], city[20], state[2], zip[9];
};

struct warehouse {
	int64_t ytd;
	int32_t tax;
	char name[10];
	struct address address;
};

/* next_o: of the next order. next_h: of the next payment's row */
struct district {
	int64_t ytd;
	int32_t tax;
	uint32_t next_o, next_h;
	char name[10];
	struct address address;
};

struct customer {
	int64_t balance, ytd_payment;
	uint32_t payments, deliveries, credit_limit;
	int32_t discount;
	char first[16], middle[2], last[16], credit[2], phone[16];
	struct address address;
	uint64_t since;
	char data[500];
};

struct history_row {
	int64_t amount;
	uint64_t date;
	uint32_t customer, district, c_district;
	char data[24];
};

struct order {
	uint32_t customer;
	uint8_t carrier, lines, all_local;
	uint64_t entry;
};

struct new_order {
	uint32_t order;
};

struct order_line {
	uint32_t item, supply;
	int64_t amount;
	uint64_t delivered;		/* date; 0: not yet */
	uint8_t quantity;
	char info[24];
};

struct item {
	int64_t price;
	uint32_t image;
	char name[24], data[50];
};

struct stock {
	int32_t quantity;
	uint32_t orders, remote;
	int64_t ytd;
	char info[DISTRICTS][24];
	char data[50];
};

struct newest {
	uint32_t order, any;
};

struct queue {
	uint32_t oldest;
};

struct names {
	uint32_t n;
	uint32_t customer[NAMESAKES];
};

/* tpcc.c: record numbers */
static inline uint64_t tpcc_orders(const struct tx_scale *s)
{
	return s->orders + s->room;
}

static inline uint64_t tpcc_payments(const struct tx_scale *s)
{
	return s->customers + s->room;
}

static inline uint64_t tpcc_order(const struct tx_scale *s, uint64_t district, uint64_t o)
{
	return district * tpcc_orders(s) + o;
}

static inline uint64_t tpcc_line(const struct tx_scale *s, uint64_t district, uint64_t o,
				 uint64_t l)
{
	return tpcc_order(s, district, o) * LINES_MAX + l;
}

static inline uint64_t tpcc_customer(const struct tx_scale *s, uint64_t district, uint64_t c)
{
	return district * s->customers + c;
}

/* Of the first orders, those from here on are not delivered: 900 of 3000 */
static inline uint64_t tpcc_delivered(const struct tx_scale *s)
{
	return s->orders * 7 / 10;
}

/*
 * The specification's non-uniform numbers, from .. to; a: 255, 1023 or 8191, or less to scale. Their
 * constant is the run's, the same at all members.
 */
uint64_t tpcc_nurand(struct tx_client *c, uint64_t a, uint64_t from, uint64_t to);

/* tpcc_load.c */
int tpcc_load(struct tx_client *c);

/* tpcc_tx.c */
int tpcc_one(struct tx_client *c, unsigned int *kind);

/* tpcc_check.c */
int tpcc_condition(struct tx_client *c, bool *holds);
int tpcc_sum(struct tx_client *c, int64_t *sums);
const char *tpcc_judge(const struct tx_scale *s, const int64_t *sums, int64_t *is,
		       int64_t *expected);

#endif /* RMC_TOOLS_TX_TPCC_H */
