/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transactions of files (uapi/linux/rmc_tx.h): the range of a file's segment whose participant this
 * node is, and the engines that coordinate for its queue pairs.
 *
 *   RMC_IOC_TX_REG    file --> struct rmc_file_tx --> core/tx_homes.h, on all units
 *                              filters of the owner: its memory, pinned, one kernel address
 *                              Locking Buffers: pages of ours, which it maps read-only
 *
 * The file's lock guards all of it.
 */
#ifndef RMC_DEV_TX_H
#define RMC_DEV_TX_H

#include <linux/rmc_tx.h>
#include <linux/types.h>

struct rmc_file;
struct rmc_mem;
struct rmc_pages;
struct rmc_umem;

struct rmc_umem *rmc_tx_local_pin(u64 addr);
int rmc_tx_range_add(struct rmc_file *f, struct rmc_tx_reg *r, struct rmc_mem *further,
		     struct rmc_umem *local);
int rmc_tx_range_del(struct rmc_file *f);
void rmc_tx_range_withdrawn(struct rmc_file *f, const struct rmc_mem *mem);
const struct rmc_pages *rmc_tx_locks_pages(const struct rmc_file *f);

#endif
