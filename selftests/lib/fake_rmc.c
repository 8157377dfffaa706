/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A thread that stands in for the RMC on one queue pair. */
#include <sched.h>
#include <unistd.h>
#include "fake_rmc.h"

#define IDLE_POLLS	200

static int next_op(struct fake_rmc *f, struct fake_op *op)
{
	struct rmc_wq_entry *e = &f->wq[f->tail & (f->entries - 1)];
	uint64_t word0 = __atomic_load_n(&e->word0, __ATOMIC_ACQUIRE), word1;
	unsigned int phase = !(f->tail & f->entries);

	if ((word0 & RMC_WQE_PHASE) != phase)
		return 0;
	word1 = __atomic_load_n(&e->word1, __ATOMIC_RELAXED);
	op->slot = f->tail & (f->entries - 1);
	op->op = (word0 >> RMC_WQE_OP_SHIFT) & RMC_WQE_OP_MASK;
	op->nid = (word0 >> RMC_WQE_NID_SHIFT) & RMC_WQE_NID_MASK;
	op->lbuf = word0 >> RMC_WQE_LBUF_SHIFT;
	op->offset = word1 & RMC_WQE_OFFSET_MASK;
	op->length = (uint32_t)(word1 >> RMC_WQE_LEN_SHIFT);
	f->tail++;
	return 1;
}

/* The caller holds f->lock. */
static void ring(struct fake_rmc *f)
{
	uint64_t one = 1;

	f->armed = 0;
	if (write(f->eventfd, &one, sizeof(one)) < 0)
		return;		/* the eventfd is readable already */
}

static void complete(struct fake_rmc *f, unsigned int slot, int status)
{
	struct rmc_cq_entry *e = &f->cq[f->head & (f->entries - 1)];
	unsigned int phase = !(f->head & f->entries);

	__atomic_store_n(&e->word, rmc_cqe_word(slot, (unsigned int)status, phase),
			 __ATOMIC_RELEASE);
	pthread_mutex_lock(&f->lock);
	f->head++;
	if (f->armed)
		ring(f);
	pthread_mutex_unlock(&f->lock);
}

void fake_rmc_arm(struct fake_rmc *f, uint32_t seen, int eventfd)
{
	pthread_mutex_lock(&f->lock);
	f->eventfd = eventfd;
	f->armed = 1;
	if (f->head != seen)
		ring(f);
	pthread_mutex_unlock(&f->lock);
}

void fake_rmc_kill(struct fake_rmc *f)
{
	__atomic_store_n(&f->flags->dead, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&f->lock);
	if (f->armed)
		ring(f);
	pthread_mutex_unlock(&f->lock);
}

int fake_rmc_visit(struct fake_rmc *f)
{
	struct fake_op op[FAKE_BATCH];
	int status[FAKE_BATCH], n = 0, i;

	if (f->holding && __atomic_load_n(&f->release, __ATOMIC_ACQUIRE)) {
		f->holding = 0;
		complete(f, f->held, f->held_status);
	}
	while (n < (f->reorder ? FAKE_BATCH : 1) && next_op(f, &op[n])) {
		status[n] = f->execute(f->arg, &op[n]);
		n++;
	}
	if (n && f->delay_us)
		usleep((unsigned int)f->delay_us);
	for (i = n - 1; i >= 0; i--) {
		if (status[i] != FAKE_HOLD) {
			complete(f, op[i].slot, status[i]);
			continue;
		}
		f->held = op[i].slot;
		f->holding = 1;
	}
	return n;
}

static void park(struct fake_rmc *f)
{
	__atomic_store_n(&f->woken, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&f->flags->need_wakeup, 1, __ATOMIC_SEQ_CST);
	/*
	 * No interrupt synchronizes with the producer's CPU, so an entry published just now may
	 * become visible only later. The producer makes up for that: it polls need_wakeup while
	 * it waits.
	 */
	while (!__atomic_load_n(&f->woken, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&f->stop, __ATOMIC_RELAXED))
		sched_yield();
	__atomic_store_n(&f->flags->need_wakeup, 0, __ATOMIC_RELAXED);
}

static void *run(void *arg)
{
	struct fake_rmc *f = (struct fake_rmc *)arg;
	int idle = 0;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		if (fake_rmc_visit(f)) {
			idle = 0;
			continue;
		}
		if (++idle < IDLE_POLLS)
			continue;
		if (f->park)
			park(f);
		else
			sched_yield();
		idle = 0;
	}
	return NULL;
}

int fake_rmc_start(struct fake_rmc *f)
{
	f->tail = f->head = 0;
	f->stop = 0;
	return pthread_create(&f->thread, NULL, run, f);
}

void fake_rmc_stop(struct fake_rmc *f)
{
	__atomic_store_n(&f->stop, 1, __ATOMIC_RELAXED);
	pthread_join(f->thread, NULL);
}

void fake_rmc_wake(struct fake_rmc *f)
{
	__atomic_add_fetch(&f->wakeups, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&f->woken, 1, __ATOMIC_RELEASE);
}
