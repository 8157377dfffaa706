/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupts threads that a client blocks.
 *
 * The daemon signals eventfds of clients, and a client can fill one at the wrong moment, so
 * that the write waits. The watchdog is a thread of its own: workers and the main thread wait
 * for each other, so neither could watch the other.
 */
#ifndef RMCD_WATCHDOG_H
#define RMCD_WATCHDOG_H

#include "rmcd.h"

int rmcd_watchdog_start(struct rmcd *d);
void rmcd_watchdog_stop(struct rmcd *d);
void rmcd_watchdog_arm(struct rmcd *d);
void rmcd_watchdog_disarm(struct rmcd *d);
void rmcd_block_init(void);
void rmcd_block_begin(void);
void rmcd_block_end(void);

#endif
