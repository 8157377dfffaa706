/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * HADES: a record is a word and its data, without versions or locks.
 *
 *	| incarnation, 32 b | 0 | data | 0 ..	up to a whole line |
 *
 * It is present if its incarnation is odd. Memory of zeros is a record that is absent.
 */
#ifndef RMC_LIB_TX_HADES_H
#define RMC_LIB_TX_HADES_H

#include <linux/rmc_tx.h>
#include "state.h"

#define HADES_DATA	8	/* where data begin, bytes */

static inline size_t hades_bytes(size_t len)
{
	return (HADES_DATA + len + LINE - 1) & ~(size_t)(LINE - 1);
}

/* hades_open.c */
size_t rmc_tx_hades_more_bytes(const struct rmc_tx_db *db);
int rmc_tx_hades_usable(const struct rmc_query *q);
int rmc_tx_hades_open(struct rmc_tx_db *db);
void rmc_tx_hades_close(struct rmc_tx_db *db);
int rmc_tx_hades_load(struct rmc_tx_db *db, void *record, const void *data, size_t len);

#endif /* RMC_LIB_TX_HADES_H */
