/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event files: applications read the events of nodes and links from them.
 *
 *   worker: rmc_peers_poll() --> rmc_os_node_event() --> every watcher of that node
 *                                                           | ring of records
 *   application: poll(), read(), io_uring  <-- report() <----+ work
 */
#ifndef RMC_WATCH_H
#define RMC_WATCH_H

#include <linux/types.h>

/*
 * Event files in a kernel: at an event a worker visits all of them, which takes some 0.2 ms
 * at most. A user without CAP_SYS_ADMIN may have a quarter of them.
 */
#define RMC_MAX_WATCHES		1024
#define RMC_MAX_USER_WATCHES	(RMC_MAX_WATCHES / 4)

struct file;
struct rmc_file;
struct rmc_node;
struct rmc_wait_link;
struct rmc_watcher;

struct file *rmc_watcher_open(struct rmc_file *f, struct rmc_node *node, u32 types,
			      bool nonblock);
void rmc_watcher_detach(struct rmc_file *f);
bool rmc_watcher_wait(struct rmc_file *f, struct rmc_wait_link *l);

#endif
