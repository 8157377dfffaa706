/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages of clients that are gone: a client may truncate a file that it has registered. Then an
 * access is SIGBUS, and the whole mapping is replaced by zeros. Only that client sees it.
 */
#ifndef RMCD_LOST_H
#define RMCD_LOST_H

#include <stddef.h>

int rmcd_replaceable(void *addr, size_t len);
void rmcd_not_replaceable(void *addr);
void rmcd_lost_init(void);

#endif
