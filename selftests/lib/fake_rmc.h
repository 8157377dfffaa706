/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The RMC's side of one queue pair, as a thread: takes WQ entries in ring
 * order, lets a callback execute them, and posts completions, on request not in
 * the order in which the operations came.
 */
#ifndef FAKE_RMC_H
#define FAKE_RMC_H

#include <pthread.h>
#include <stdint.h>
#include <linux/rmc_queue.h>

#define FAKE_BATCH	16	/* completions that reordering may mix */
#define FAKE_HOLD	-1	/* of execute(): done, and completed only on fake_rmc.release */

struct fake_op {
	unsigned int op, nid, slot;
	uint64_t lbuf, offset;
	uint32_t length;
};

struct fake_rmc {
	struct rmc_wq_entry *wq;
	struct rmc_cq_entry *cq;
	struct rmc_qp_flags *flags;
	unsigned int entries;
	int (*execute)(void *arg, const struct fake_op *op);	/* enum rmc_status, FAKE_HOLD */
	void *arg;
	int reorder;
	int park;		/* park when idle, until fake_rmc_wake() */
	int delay_us;		/* before each completion */

	/* who wants to know of the next completion; lock guards all three */
	pthread_mutex_t lock;
	int armed, eventfd;

	int holding, release;	/* one operation at a time */
	unsigned int held;	/* its slot */

	uint32_t tail, head;
	int stop;
	int woken;
	unsigned long wakeups;
	pthread_t thread;
};

int fake_rmc_start(struct fake_rmc *f);
void fake_rmc_stop(struct fake_rmc *f);

/* Make eventfd readable once more than seen operations are complete, or at the end. */
void fake_rmc_arm(struct fake_rmc *f, uint32_t seen, int eventfd);

/* The queue pair is dead; waiters are woken after that shows. */
void fake_rmc_kill(struct fake_rmc *f);
void fake_rmc_wake(struct fake_rmc *f);

#endif /* FAKE_RMC_H */
