/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does what may take long for a client without making the main thread wait. The last close of a
 * file takes as long as its owner likes: a TCP socket lingers, a file of FUSE is flushed, and
 * what poll() supports may be in an epoll set whose lock a client holds: eventfds, pipes, sockets.
 * The last close, or unmapping, of a file in memory frees it: 60 ms per GiB. When one is mapped,
 * its holes are found or filled: 0.5 s per GiB.
 *
 *	main thread --> struct closer of the user and kind: queue of jobs --> its threads
 *	                                                ^
 *	                        thread "closing": creates them
 *
 * Each user has its own threads, so nobody waits for what another user has sent. Their number is
 * limited; what none of them is free for stays in the queue until one is. Whose queue is too long
 * is refused until it is shorter: rmcd_closing_refused().
 */
#ifndef RMCD_CLOSING_H
#define RMCD_CLOSING_H

#include <stdbool.h>
#include <sys/types.h>

/* Each kind has its own threads per user. */
enum rmcd_job_kind {
	RMCD_JOB_CLOSE,		/* close what may wait for its owner */
	RMCD_JOB_FREE,		/* close or unmap files in memory */
	RMCD_JOB_MAP,		/* map files in memory: memory.h */
	RMCD_JOB_KINDS
};

/**
 * struct rmcd_job - what a thread shall do
 * @next: in its queue
 * @run: does it, and frees it
 * @fail: called instead of @run when the user has no thread of this kind and cannot have one now:
 *	somebody waits for an answer. NULL: it waits until there is a thread
 * @weight: descriptors and mappings that it ends, or holds meanwhile
 */
struct rmcd_job {
	struct rmcd_job *next;
	void (*run)(struct rmcd_job *job);
	void (*fail)(struct rmcd_job *job);
	unsigned int weight;
};

bool rmcd_do_elsewhere(uid_t uid, enum rmcd_job_kind kind, struct rmcd_job *job);
void rmcd_close_elsewhere(uid_t uid, enum rmcd_job_kind kind, const int *fds, unsigned int n);
void rmcd_closing_limit(unsigned int quota);
bool rmcd_closing_refused(uid_t uid);

#endif
