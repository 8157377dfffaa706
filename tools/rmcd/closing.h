/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Closes what clients have, or have had, without making the main thread wait. The last close of a
 * file takes as long as its owner likes: a TCP socket lingers, a file of FUSE is flushed, and
 * what poll() supports may be in an epoll set whose lock a client holds: eventfds, pipes, sockets.
 *
 *	main thread --> struct closer of the user: queue of batches --> its threads: close()
 *	                                                ^
 *	                        thread "closing": creates them
 *
 * Each user has its own threads, so nobody waits for what another user has sent. Their number is
 * limited; what none of them is free for stays open in the queue until one is.
 */
#ifndef RMCD_CLOSING_H
#define RMCD_CLOSING_H

#include <stdbool.h>
#include <sys/types.h>

void rmcd_close_elsewhere(uid_t uid, const int *fds, unsigned int n);
bool rmcd_closing_refused(uid_t uid);

#endif
