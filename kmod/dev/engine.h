/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Engines of transactions (core/tx_slots.h), one per unit and context, and the slots that queue
 * pairs have of them:
 *
 *   RMC_IOC_TX_OPEN   the first of a unit and context: create, add to the unit's worker
 *                     attach the queue pair
 *   queue pair ends   its worker detaches it: what is decided goes on
 *   nobody has slots, and nothing is left to be sent: removed and freed, looked at every
 *                     RMC_ENGINE_MS and before one more is created; at the latest when the device
 *                     stops
 *
 * An engine outlives the file that created it. It keeps that file's user and context for the tenant
 * whose budget it uses.
 */
#ifndef RMC_DEV_ENGINE_H
#define RMC_DEV_ENGINE_H

#include <linux/rmc_tx.h>
#include "../run/device.h"

struct rmc_file;
struct rmc_queues;

/* Interval of looking at engines that nobody uses, ms: longer than a round trip and a resend */
#define RMC_ENGINE_MS		100

void rmc_engines_init(struct rmc_device *rmc);
void rmc_engines_exit(struct rmc_device *rmc);
int rmc_engine_open(struct rmc_file *f, struct rmc_tx_open *o);
void rmc_engine_undo(struct rmc_file *f, u32 id);
void rmc_engine_close(struct rmc_file *f, struct rmc_queues *q);

#endif
