/* SPDX-License-Identifier: GPL-2.0 */
/*
 * io_uring commands that wait: IORING_OP_URING_CMD on an open context.
 *
 *   task: rmc_uring_cmd()                       completions' worker
 *     look up, take references  -- posted call -->  happened already, or link
 *     -EIOCBQUEUED                                  in the event's list
 *                               -- posted call -->  notifications' worker, likewise
 *   task work: done()  <-- whoever claims the wait first: event, cancellation,
 *     CQE, references      destruction of what it waits for
 *
 * One wait may be linked to three events of different owners. The first to claim it
 * takes its links off all their lists, under a lock that only the commands of one open
 * context share, and finishes it: no list ever holds a wait that is over.
 *
 * What one open context can make a worker do: RMC_MAX_WAITS posted calls of constant
 * time, of which run_calls() makes a few between two visits; and at an event
 * WAITS_PER_CALL waits finished at once, the others by such calls.
 */
#ifndef RMC_URING_H
#define RMC_URING_H

struct io_uring_cmd;

int rmc_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

#endif
