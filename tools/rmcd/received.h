/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descriptors that clients have sent. They can be anything, and to close some of them takes as
 * long as their owner likes (closing.h). So do questions about them. The main thread asks
 * only what no server answers, and closes none of them: other threads do, also connections with
 * descriptors in unread messages.
 */
#ifndef RMCD_RECEIVED_H
#define RMCD_RECEIVED_H

#include <stdbool.h>
#include <sys/types.h>

/* What a message can carry at most: SCM_MAX_FD */
#define RMCD_MOST_FDS	253

void rmcd_received_init(void);
bool rmcd_is_memory(int fd);
bool rmcd_is_eventfd(int fd);
void rmcd_close_received(uid_t uid, const int *fds, unsigned int n);
void rmcd_close_connection(uid_t uid, int fd);

#endif
