/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables of HADES and HADES-H in the model: records in whole lines, with a head of version and
 * incarnation; where they are is as in lib/tx/table.c.
 */
#ifndef HADES_SHAPE_H
#define HADES_SHAPE_H

#include <rmc/tx.h>
#include "hades.h"

struct hd_table {
	uint64_t records, group, at;
	uint32_t bytes, stride;
};

struct hd_shape {
	struct hd_table table[RMC_TX_TABLES_MAX];
	unsigned int tables, nodes;
	uint32_t largest;
	uint64_t bytes;			/* of a node */
};

extern struct hd_shape hd_shape;

void hd_shape_set(unsigned int nodes, const struct rmc_tx_table *t, unsigned int tables,
		  uint64_t at);
unsigned int hd_locate(uint32_t table, uint64_t rid, uint64_t *offset);

#endif
