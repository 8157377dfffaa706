/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What clients learn when the daemon is killed.
 *
 * Queue pairs and sleepers live in memory and descriptors of the daemon. A second process
 * shares both (CLONE_VM, CLONE_FILES) and waits for the daemon's end:
 *
 *	rmcd  --- killed                       client
 *	rmc-guard:  flags->dead = 1 ------------> polling ends with -ESHUTDOWN
 *	            signals eventfds -----------> sleeping ends, then the same
 *	            exits: sockets close -------> requests end with -ESHUTDOWN
 */
#ifndef RMCD_GUARD_H
#define RMCD_GUARD_H

#include "rmcd.h"

int rmcd_guard_start(void);
void rmcd_guard_stop(void);
int rmcd_guard_qp(struct rmc_qp_flags *flags);
void rmcd_guard_qp_gone(int slot);
int rmcd_guard_eventfd(int fd);
void rmcd_guard_eventfd_gone(int slot);

#endif
