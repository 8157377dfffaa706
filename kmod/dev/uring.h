/* SPDX-License-Identifier: GPL-2.0 */
/*
 * io_uring commands that wait: IORING_OP_URING_CMD on an open context.
 *
 *   task: rmc_uring_cmd()                       worker of the completions
 *     find, take references     -- posted call -->  finish if the event has
 *     -EIOCBQUEUED                                  happened, or link in its list
 *                               -- posted call -->  worker of the notifications,
 *                                                   likewise
 *   task work: done()  <-- the first that claims the wait: event, cancellation,
 *     CQE, references      destruction of the event
 *
 * One wait may be linked to three events of different owners. The first that claims the
 * wait removes its links from all lists, under a lock that only the commands of one open
 * context share, and finishes it. So no list ever holds a finished wait.
 *
 * Bound of a worker's load by one open context: RMC_MAX_WAITS posted calls of constant
 * time, of which run_calls() makes a few between two visits; and per event WAITS_PER_CALL
 * waits finished at once, the others by such calls.
 */
#ifndef RMC_URING_H
#define RMC_URING_H

struct io_uring_cmd;

int rmc_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

#endif
