/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Retries of SABRes; waits of writers; repair after the death of a writer. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "internal.h"
#include "rmc/object.h"
#include "rmc/sabre.h"

/* Pauses of a writer between two sched_yield(); most SABRes take less time than
 * these pauses
 */
#define SPINS_PER_YIELD		64U

static __thread uint32_t self;

/* A child inherits thread-local storage, but has another thread id. */
static void forget_self(void)
{
	self = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget_self);
}

uint32_t rmc_object_self(void)
{
	if (rmc_unlikely(!self))
		self = (uint32_t)syscall(SYS_gettid);
	return self;
}

void rmc_object_relax(unsigned int *spins)
{
	if (++*spins % SPINS_PER_YIELD)
		rmc_pause();
	else
		sched_yield();
}

int rmc_thread_alive(uint32_t tid)
{
	return !kill((pid_t)tid, 0) || errno != ESRCH;
}

int rmc_object_repair(struct rmc_object *o, int (*rewrite)(struct rmc_object *o, void *arg),
		      void *arg)
{
	uint32_t dead = rmc_load_acquire(&o->writer);
	unsigned int spins = 0;
	int err;

	if (!dead)
		return rmc_load_acquire(&o->version) & 1 ? -EAGAIN : -ENOENT;
	/* one of several repairers succeeds; to the others it is a live writer */
	if (rmc_thread_alive(dead) ||
	    !__atomic_compare_exchange_n(&o->writer, &dead, rmc_object_self(), 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return -EAGAIN;
	if (!(rmc_load_acquire(&o->version) & 1)) {
		rmc_store_release(&o->writer, 0);
		return 0;
	}
	while (__atomic_load_n(&o->readers, __ATOMIC_SEQ_CST))
		rmc_object_relax(&spins);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	err = rewrite(o, arg);
	if (err) {
		rmc_store_release(&o->writer, dead);
		return err;
	}
	rmc_object_write_end(o);
	return 0;
}

void rmc_sabre_policy_init_sized(struct rmc_sabre_policy *p, size_t size)
{
	static const struct rmc_sabre_policy usual = {
		.attempts = 16,
		.backoff_ns = 200,
		.backoff_max_ns = 100000,
	};

	rmc_struct_out(p, size, &usual, sizeof(usual));
}

void sabre_policy_init_ver0(struct rmc_sabre_policy *p) RMC_VER0(rmc_sabre_policy_init);
void sabre_policy_init_ver0(struct rmc_sabre_policy *p)
{
	rmc_sabre_policy_init_sized(p, RMC_SABRE_POLICY_SIZE_VER0);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Evenly distributed bits of a number (the finalizer of splitmix64): readers that start at
 * the same time differ by node and queue pair. It uses no addresses, so a program in
 * virtual time behaves the same in each run.
 */
static uint64_t spread(uint64_t n)
{
	n += 0x9e3779b97f4a7c15ULL;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ULL;
	n = (n ^ n >> 27) * 0x94d049bb133111ebULL;
	return n ^ n >> 31;
}

/* Wait for a random time up to this limit, so readers of one object spread. */
static int back_off(struct rmc_qp *qp, uint32_t most)
{
	uint64_t t0 = now_ns(), ns;
	unsigned int spins = 0;
	int err = 0;

	ns = most ? spread(t0 ^ (uint64_t)qp->id << 48 ^ (uint64_t)rmc_nid(qp->ctx) << 32) % most : 0;
	while (!err && now_ns() - t0 < ns)
		err = rmc_relax(qp, &spins);
	return err;
}

static int retry(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf, size_t len,
		 struct rmc_sabre_policy *p)
{
	uint32_t wait = p->backoff_ns, left = p->attempts ? p->attempts : 1;
	int err, backed;

	for (;;) {
		err = rmc_sabre(qp, nid, offset, lbuf, len);
		if (err == -EBUSY)
			return err;
		p->tried++;
		if (!rmc_sabre_again(err))
			return err;
		p->failed++;
		if (!--left)
			break;
		backed = back_off(qp, wait);
		if (backed)
			return backed;
		wait = wait > p->backoff_max_ns / 2 ? p->backoff_max_ns : 2 * wait;
	}
	if (!p->fallback)
		return err;
	p->fell_back++;
	return p->fallback(qp, nid, offset, lbuf, len, p->arg);
}

int rmc_sabre_retry_sized(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf, size_t len,
			  struct rmc_sabre_policy *policy, size_t size)
{
	struct rmc_sabre_policy p;
	int err = rmc_struct_in(&p, sizeof(p), policy, size, RMC_SABRE_POLICY_SIZE_VER0,
				"SABRe policy");

	if (err)
		return err;
	err = retry(qp, nid, offset, lbuf, len, &p);
	/* copy the counters only: the fallback may have changed the other fields */
	policy->tried = p.tried;
	policy->failed = p.failed;
	policy->fell_back = p.fell_back;
	return err;
}

int sabre_retry_ver0(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf, size_t len,
		     struct rmc_sabre_policy *p) RMC_VER0(rmc_sabre_retry);
int sabre_retry_ver0(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf, size_t len,
		     struct rmc_sabre_policy *p)
{
	return rmc_sabre_retry_sized(qp, nid, offset, lbuf, len, p, RMC_SABRE_POLICY_SIZE_VER0);
}
