/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Holes of files that clients register. Who touches one first is charged for its page, and gets
 * SIGBUS if nothing is left. So the library fills them before it registers. What is left:
 *
 *	the daemon's own user	up to 64 MiB of a registration are filled; further ones by the
 *				worker that gets there. Both are charged to this daemon.
 *	other users		refused. A hole that they make later is SIGBUS for the worker, as if
 *				nothing were left: lost.h. Nothing is charged to this daemon.
 *
 * The second takes a userfaultfd(2) whose faults are signals: nobody waits for anybody.
 */
#ifndef RMCD_HOLES_H
#define RMCD_HOLES_H

#include <sys/stat.h>
#include "memory.h"

void rmcd_holes_init(void);
int rmcd_holes(struct rmcd_mem *m, const struct rmcd_map *map, int fd, const struct stat *st);

#endif
