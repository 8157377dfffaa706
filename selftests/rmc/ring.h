/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring by its system calls: a ring, submitting wait commands, and reaping completions. */
#ifndef RING_H
#define RING_H

#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <rmc/uring.h>
#include "common.h"

#define RING	64

struct ring {
	int fd;
	unsigned int *sq_head, *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	unsigned int unsubmitted;
	struct { void *at; size_t len; } map[3];
};

static inline void ring_open_for(struct ring *r, unsigned int entries)
{
	struct io_uring_params p = { 0 };
	uint8_t *sq, *cq;

	memset(r, 0, sizeof(*r));
	r->fd = (int)syscall(__NR_io_uring_setup, entries, &p);
	if (r->fd < 0)
		SKIP("this kernel gives no io_uring: %s", strerror(errno));
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE,
		  MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*r->cqe), PROT_READ | PROT_WRITE,
		  MAP_SHARED, r->fd, IORING_OFF_CQ_RING);
	r->sqe = mmap(NULL, p.sq_entries * sizeof(*r->sqe), PROT_READ | PROT_WRITE,
		      MAP_SHARED, r->fd, IORING_OFF_SQES);
	REQUIRE(sq != MAP_FAILED && cq != MAP_FAILED && r->sqe != MAP_FAILED);
	r->map[0].at = sq;
	r->map[0].len = p.sq_off.array + p.sq_entries * 4;
	r->map[1].at = cq;
	r->map[1].len = p.cq_off.cqes + p.cq_entries * sizeof(*r->cqe);
	r->map[2].at = r->sqe;
	r->map[2].len = p.sq_entries * sizeof(*r->sqe);
	r->sq_head = (unsigned int *)(sq + p.sq_off.head);
	r->sq_tail = (unsigned int *)(sq + p.sq_off.tail);
	r->sq_mask = (unsigned int *)(sq + p.sq_off.ring_mask);
	r->sq_array = (unsigned int *)(sq + p.sq_off.array);
	r->cq_head = (unsigned int *)(cq + p.cq_off.head);
	r->cq_tail = (unsigned int *)(cq + p.cq_off.tail);
	r->cq_mask = (unsigned int *)(cq + p.cq_off.ring_mask);
	r->cqe = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

static inline void ring_open(struct ring *r)
{
	ring_open_for(r, RING);
}

/* Remove the mappings as well: they keep a ring alive, too. */
static inline void ring_close(struct ring *r)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		munmap(r->map[i].at, r->map[i].len);
	close(r->fd);
}

static inline struct io_uring_sqe *get(struct ring *r)
{
	unsigned int at = (*r->sq_tail + r->unsubmitted) & *r->sq_mask;

	r->sq_array[at] = at;
	r->unsubmitted++;
	return &r->sqe[at];
}

static inline int enter(struct ring *r, unsigned int want)
{
	unsigned int n = r->unsubmitted;

	__atomic_store_n(r->sq_tail, *r->sq_tail + n, __ATOMIC_RELEASE);
	r->unsubmitted = 0;
	return (int)syscall(__NR_io_uring_enter, r->fd, n, want,
			    want ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
}

/* Drop the entries that the kernel did not consume: the next enter() does not submit them. */
static inline void take_back(struct ring *r)
{
	__atomic_store_n(r->sq_tail, __atomic_load_n(r->sq_head, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

/* Return the next CQE's user data, and its *res; -1: there is none. No system call. */
static inline long long reap_now(struct ring *r, int *res)
{
	unsigned int head = *r->cq_head;
	struct io_uring_cqe *c;
	long long data;

	*res = 0;
	if (head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE))
		return -1;
	c = &r->cqe[head & *r->cq_mask];
	*res = c->res;
	data = (long long)c->user_data;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return data;
}

/* The same, waiting for up to @ms milliseconds */
static inline long long reap(struct ring *r, int *res, int ms)
{
	struct pollfd p = { .fd = r->fd, .events = POLLIN };
	long long data = reap_now(r, res);

	if (data >= 0)
		return data;
	poll(&p, 1, ms);
	/* task work runs on the way back to user space */
	syscall(__NR_io_uring_enter, r->fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
	return reap_now(r, res);
}

static inline void submit_wait(struct ring *r, struct end *e, unsigned int sources, struct rmc_qp *qp,
			uint32_t seen, uint64_t data)
{
	struct io_uring_sqe *sqe = get(r);

	rmc_uring_prep_wait(sqe, e->ctx, sources, qp, seen);
	sqe->user_data = data;
	REQUIRE_EQ(enter(r, 0), 1);
}

#endif
