/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* TPC-C: its tables, and what the other files of it share. */
#include <string.h>
#include "tpcc.h"

static unsigned int tables(const struct tx_scale *s, struct rmc_tx_table *t)
{
	uint64_t w = s->warehouses, d = w * DISTRICTS, orders = tpcc_orders(s);
	const struct rmc_tx_table all[TPCC_TABLES] = {
		[WAREHOUSE] = { w, 1, sizeof(struct warehouse), 0 },
		[DISTRICT] = { d, DISTRICTS, sizeof(struct district), 0 },
		[CUSTOMER] = { d * s->customers, DISTRICTS * s->customers,
			       sizeof(struct customer), 0 },
		[HISTORY] = { d * tpcc_payments(s), DISTRICTS * tpcc_payments(s),
			      sizeof(struct history_row), 0 },
		[ORDER] = { d * orders, DISTRICTS * orders, sizeof(struct order), 0 },
		[NEW_ORDER] = { d * orders, DISTRICTS * orders, sizeof(struct new_order), 0 },
		[ORDER_LINE] = { d * orders * LINES_MAX, DISTRICTS * orders * LINES_MAX,
				 sizeof(struct order_line), 0 },
		/* read by all, changed by nobody */
		[ITEM] = { s->items + 1, 1, sizeof(struct item), 0 },
		[STOCK] = { w * s->items, s->items, sizeof(struct stock), 0 },
		[NEWEST] = { d * s->customers, DISTRICTS * s->customers,
			     sizeof(struct newest), 0 },
		[QUEUE] = { d, DISTRICTS, sizeof(struct queue), 0 },
		[NAMES_TABLE] = { d * NAMES, DISTRICTS * NAMES, sizeof(struct names), 0 },
	};
	int i;

	memcpy(t, all, sizeof(all));
	for (i = 0; i < TPCC_TABLES && !s->by_warehouse; i++)
		t[i].group = 1;
	return TPCC_TABLES;
}

uint64_t tpcc_nurand(struct tx_client *c, uint64_t a, uint64_t from, uint64_t to)
{
	uint64_t seed = (c->load_seed + a) * 0x9e3779b97f4a7c15ULL | 1, n = to - from + 1, constant;

	constant = (random_next(&seed) >> 16) % (a + 1);
	if (a == TPCC_NAME_A) {
		/* loading has 0: the specification asks for a difference of 65 to 119, not 96, 112 */
		constant = 65 + constant % 55;
		constant += constant == 96 || constant == 112;
	}
	while (a > 2 * n)
		a >>= 1;		/* not to scale */
	return ((tx_random(c, 0, a) | tx_random(c, from, to)) + constant % (a + 1)) % n + from;
}

const struct workload tpcc = {
	.name = "tpcc",
	.kind = { "new_order", "payment", "order_status", "delivery", "stock_level" },
	.records = 1024,
	.tables = tables, .load = tpcc_load, .one = tpcc_one, .condition = tpcc_condition,
	.sum = tpcc_sum, .judge = tpcc_judge,
};
