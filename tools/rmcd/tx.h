/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transactions of clients (uapi/linux/rmc_tx.h): as kmod/dev/tx.h and kmod/dev/engine.h. The main
 * thread has all of it but what workers are called with.
 */
#ifndef RMCD_TX_H
#define RMCD_TX_H

#include <linux/rmc_tx.h>
#include "file.h"

/* tx.c */
int rmcd_tx_range_add(struct rmcd_file *f, struct rmc_tx_reg *r, struct rmcd_mem *local);
int rmcd_tx_range_del(struct rmcd_file *f);
void rmcd_tx_range_withdrawn(struct rmcd_file *f, const struct rmc_mem *mem);
int rmcd_tx_locks_fd(const struct rmcd_file *f);

/* engine.c */
int rmcd_engine_open(struct rmcd_file *f, struct rmc_tx_open *o);
void rmcd_engine_close(struct rmcd_file *f, struct rmcd_qp *q);
int rmcd_engines_poll(struct rmcd *d);
void rmcd_engines_exit(struct rmcd *d);

#endif
