/* SPDX-License-Identifier: GPL-2.0 */
/* Write list of a transaction (HADES section IV-C, module 4b): see tx_engine.h. */
#ifndef RMC_TX_WRITES_H
#define RMC_TX_WRITES_H

#include "tx_engine.h"

int rmc_tx_writes_add(struct rmc_tx_txn *t, u32 bytes, u32 nid, u64 offset, const u8 *data,
		      u32 length);
void rmc_tx_writes_overlay(const struct rmc_tx_txn *t, u32 nid, u64 offset, u8 *to, u32 length);
u32 rmc_tx_writes_ranges(const struct rmc_tx_txn *t, u32 nid, struct rmc_tx_range *range);
u32 rmc_tx_writes_pieces(const struct rmc_tx_txn *t, u32 nid, u32 *next, u32 *sent, u8 *body,
			 u32 *count);

#endif
