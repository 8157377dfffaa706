/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The RMC's side of one queue pair, as a thread. It takes WQ entries in ring order, lets a
 * callback execute them, and posts completions, out of order on request.
 */
#ifndef FAKE_RMC_H
#define FAKE_RMC_H

#include <pthread.h>
#include <stdint.h>
#include <linux/rmc_queue.h>

#define FAKE_BATCH	16	/* operations per batch when reordering */
#define FAKE_HOLD	-1	/* result of execute(): complete it on .release only */

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
	int delay_us;		/* before the completions of each batch */

	/* waiter for the next completion; lock guards both fields and updates of head */
	pthread_mutex_t lock;
	int armed, eventfd;

	int holding, release;	/* at most one operation is held */
	unsigned int held;	/* its slot */
	int held_status;	/* that it completes with; 0 unless the test sets it */

	uint32_t tail, head;
	int stop;
	int woken;
	unsigned long wakeups;
	pthread_t thread;
};

/*
 * One visit, which a test without the thread calls itself: executes a batch in order and
 * completes it in reverse order; without reordering, one operation. Their number
 */
int fake_rmc_visit(struct fake_rmc *f);

int fake_rmc_start(struct fake_rmc *f);
void fake_rmc_stop(struct fake_rmc *f);

/* Make eventfd readable once the count of completions differs from seen, or the pair is dead. */
void fake_rmc_arm(struct fake_rmc *f, uint32_t seen, int eventfd);

/* Mark the queue pair dead, and then wake its waiter. */
void fake_rmc_kill(struct fake_rmc *f);
void fake_rmc_wake(struct fake_rmc *f);

#endif /* FAKE_RMC_H */
