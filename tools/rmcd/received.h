/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descriptors that clients have sent. They can be anything, and to close some of them takes as
 * long as their owner likes: a TCP socket that lingers, a file of FUSE. So do questions about
 * them. The main thread asks and closes only what is known to be memory or an eventfd; all
 * others, and connections with unread messages, are closed by threads of their own.
 */
#ifndef RMCD_RECEIVED_H
#define RMCD_RECEIVED_H

#include <stdbool.h>

void rmcd_received_init(void);
bool rmcd_is_memory(int fd);
bool rmcd_is_eventfd(int fd);
void rmcd_close_received(int fd);
void rmcd_close_connection(int fd);

#endif
