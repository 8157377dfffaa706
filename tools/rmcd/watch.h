/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event files: sockets in which clients read the events of nodes and links.
 *
 *   worker: rmc_peers_poll() --> rmc_os_node_event() --> a socket per watcher --> read()
 */
#ifndef RMCD_WATCH_H
#define RMCD_WATCH_H

#include <sys/types.h>
#include "rmcd.h"

/* At an event a worker writes to all of them. A user may have a quarter. */
#define RMCD_MAX_WATCHES	1024
#define RMCD_MAX_USER_WATCHES	(RMCD_MAX_WATCHES / 4)

int rmcd_watcher_open(struct rmcd *d, struct rmcd_file *f, struct rmc_node *node, uid_t uid,
		      u32 types, bool nonblock);
void rmcd_watcher_detach(struct rmcd_file *f);
void rmcd_watchers_free(struct rmcd *d);

#endif
