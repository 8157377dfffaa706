/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Functions of SW-Impl */
#ifndef RMC_LIB_TX_SW_H
#define RMC_LIB_TX_SW_H

#include "state.h"

/* sw.c */
int rmc_tx_sw_fetch(struct rmc_tx *t, struct tx_access *a);
int rmc_tx_sw_read(struct rmc_tx *t, struct tx_access *a);

/* post.c */
void rmc_tx_sw_issue(struct rmc_tx_db *db, int slot, enum tx_op_kind kind, struct tx_access *a);
void rmc_tx_sw_completed(struct rmc_tx_db *db, const struct tx_op *op, int slot);
void rmc_tx_sw_repeat(struct rmc_tx_db *db);

/* sw_commit.c */
int rmc_tx_sw_check(struct rmc_tx *t);
int rmc_tx_sw_commit(struct rmc_tx *t);

/* repair.c */
int rmc_tx_sw_load(struct rmc_tx_db *db, void *record, const void *data, size_t len);
int rmc_tx_sw_unlock_dead(struct rmc_tx_db *db, void *record, size_t len, int nid, int quiet);

#endif /* RMC_LIB_TX_SW_H */
