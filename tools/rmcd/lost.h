/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages that are gone: a client may truncate a file that it has registered, or punch a hole
 * that nothing is left to fill; a peer may do so with the region. Then an access is SIGBUS. The
 * whole mapping is replaced by zeros, and the memory accepts no further operations. Only that
 * client notices; without the region, this daemon's node has no peers.
 */
#ifndef RMCD_LOST_H
#define RMCD_LOST_H

#include <stddef.h>

struct rmcd_mem;

int rmcd_replaceable(void *addr, size_t len, size_t page, struct rmcd_mem *mem);
void rmcd_not_replaceable(void *addr);
void rmcd_lost_init(void);

#endif
