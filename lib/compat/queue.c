/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Operations of sonuma-vm programs. A tid is the slot of the queue pair, so the
 * next one is always wq->head.
 *
 * A completion can arrive outside of a check or drain, when no handler is known: in a
 * blocking operation, or when an asynchronous one finds no free entry. It is then kept
 * in `late`, with its own copy of the entry, until the next check or drain.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

struct completed {
	uint8_t tid;
	wq_entry_t entry;
};

/* Belongs to the thread that uses the queue. */
struct queue {
	rmc_wq_t wq;			/* first: the part that the program sees */
	struct queue *next;
	struct sonuma_ctx *ctx;
	struct rmc_qp *qp;
	struct completed *late;		/* ring of late_room, a power of two */
	size_t late_first, late_count, late_room;
	uint64_t refused;		/* per tid: posted for another context */
	unsigned int reported;		/* bit per status: already reported */
};

struct cq {
	rmc_cq_t cq;			/* first */
	struct cq *next;
};

/* The interface has no call to free them. Guarded by sonuma_lock */
static struct queue *queues;
static struct cq *cqs;

static struct queue *to_queue(rmc_wq_t *wq)
{
	return (struct queue *)(void *)wq;
}

int sonuma_reg_wq(int fd, rmc_wq_t **wq)
{
	struct queue *w = (struct queue *)calloc(1, sizeof(*w));
	int err = -1;

	if (!w)
		return -1;
	pthread_mutex_lock(&sonuma_lock);
	w->ctx = sonuma_find_ctx(fd);
	if (w->ctx) {
		w->qp = rmc_qp_create(w->ctx->rmc, MAX_NUM_WQ);
		if (w->qp) {
			w->next = queues;
			queues = w;
			err = 0;
		} else {
			fprintf(stderr, "sonuma: %s\n", rmc_errmsg());
		}
	}
	pthread_mutex_unlock(&sonuma_lock);
	if (err) {
		free(w);
		return -1;
	}
	w->wq.SR = 1;
	*wq = &w->wq;
	return 0;
}

int sonuma_reg_cq(int fd, rmc_cq_t **cq)
{
	struct cq *c = NULL;

	pthread_mutex_lock(&sonuma_lock);
	if (sonuma_find_ctx(fd))
		c = (struct cq *)calloc(1, sizeof(*c));
	if (c) {
		c->next = cqs;
		cqs = c;
	}
	pthread_mutex_unlock(&sonuma_lock);
	if (!c)
		return -1;
	c->cq.SR = 1;
	*cq = &c->cq;
	return 0;
}

/* --- completions --- */

static void report_failure(struct queue *w, const wq_entry_t *e)
{
	if (!e->status || w->reported & 1U << (e->status % 32))
		return;
	w->reported |= 1U << (e->status % 32);
	fprintf(stderr, "sonuma: %s of %llu B, node %u context %u offset %llu: %s (logged once)\n",
		e->op == 'r' ? "read" : "write", (unsigned long long)e->length, e->nid, e->cid,
		(unsigned long long)e->offset, rmc_strerror(e->status));
}

static void complete(struct queue *w, const struct rmc_completion *c, struct completed *done)
{
	wq_entry_t *e = &w->wq.q[c->slot];

	e->valid = 0;
	e->status = (uint16_t)c->status;
	if (w->refused & 1ULL << c->slot) {
		w->refused &= ~(1ULL << c->slot);
		e->status = RMC_S_BAD_CONTEXT;
	}
	report_failure(w, e);
	done->tid = (uint8_t)c->slot;
	done->entry = *e;
}

static int keep(struct queue *w, const struct completed *done)
{
	if (w->late_count == w->late_room) {
		size_t room = w->late_room ? 2 * w->late_room : MAX_NUM_WQ, i;
		struct completed *p = (struct completed *)malloc(room * sizeof(*p));

		if (!p)
			return -ENOMEM;
		for (i = 0; i < w->late_count; i++)
			p[i] = w->late[(w->late_first + i) & (w->late_room - 1)];
		free(w->late);
		w->late = p;
		w->late_first = 0;
		w->late_room = room;
	}
	w->late[(w->late_first + w->late_count++) & (w->late_room - 1)] = *done;
	return 0;
}

/* The next completion for a handler, without waiting */
static int take(struct queue *w, struct completed *done)
{
	struct rmc_completion c;

	if (w->late_count) {
		*done = w->late[w->late_first & (w->late_room - 1)];
		w->late_first++;
		w->late_count--;
		return 1;
	}
	if (!rmc_qp_in_flight(w->qp) || !rmc_cq_next(w->qp, &c))
		return 0;
	complete(w, &c, done);
	return 1;
}

/* Wait for a completion and keep it. -ENOENT: nothing is in flight */
static int wait_and_keep(struct queue *w)
{
	struct rmc_completion c;
	struct completed done;
	int err = rmc_cq_wait(w->qp, &c);

	if (err)
		return err;
	complete(w, &c, &done);
	return keep(w, &done);
}

static int head_is_busy(const struct queue *w)
{
	return w->qp->slot[w->qp->head & w->qp->mask] == RMC_SLOT_BUSY;
}

static void show_cq(const struct queue *w, rmc_cq_t *cq)
{
	if (!cq)
		return;
	cq->tail = (uint8_t)(w->qp->tail % MAX_NUM_WQ);
	cq->SR = !(w->qp->tail & MAX_NUM_WQ);
}

static void deliver(struct queue *w, rmc_cq_t *cq, struct completed *done,
		    sonuma_handler *handler, void *owner)
{
	show_cq(w, cq);
	if (handler)
		handler(done->tid, &done->entry, owner);
}

/*
 * A handler that always posts again must not keep us here for ever, so the number of
 * delivered completions is limited to those of operations posted before.
 */
int sonuma_check_cq(rmc_wq_t *wq, rmc_cq_t *cq, sonuma_handler *handler, void *owner)
{
	struct queue *w = to_queue(wq);
	struct completed done;
	size_t budget;
	int err;

	for (;;) {
		budget = w->late_count + rmc_qp_in_flight(w->qp);
		while (budget-- && take(w, &done))
			deliver(w, cq, &done, handler, owner);
		if (!head_is_busy(w))
			return 0;
		err = wait_and_keep(w);
		if (err)
			return err == -ENOENT ? 0 : err;
	}
}

int sonuma_drain_cq(rmc_wq_t *wq, rmc_cq_t *cq, sonuma_handler *handler, void *owner)
{
	struct queue *w = to_queue(wq);
	size_t budget = w->late_count + rmc_qp_in_flight(w->qp);
	struct completed done;
	int err;

	while (budget) {
		if (take(w, &done)) {
			budget--;
			deliver(w, cq, &done, handler, owner);
			continue;
		}
		err = wait_and_keep(w);
		if (err)
			return err == -ENOENT ? 0 : err;
	}
	return 0;
}

/* --- operations --- */

/* True if cid is the program's name for the context */
static int is_ours(const struct sonuma_ctx *ctx, uint32_t cid)
{
	return cid == ctx->id || (ctx->by_default && !cid);
}

/* The tid, or -errno */
static int post(struct queue *w, char op, uint8_t *base, uint64_t base_offset, int nid,
		uint32_t cid, uint64_t offset, uint64_t length)
{
	unsigned int opcode = op == 'r' ? RMC_OP_READ : RMC_OP_WRITE;
	struct rmc_qp *qp = w->qp;
	wq_entry_t *e;
	int slot, err;

	sonuma_meet(w->ctx, nid);
	while (head_is_busy(w)) {
		err = wait_and_keep(w);
		if (err)
			return err;
	}
	slot = (int)(qp->head & qp->mask);
	e = &w->wq.q[slot];
	e->op = (uint8_t)op;
	e->SR = w->wq.SR;
	e->cid = (uint8_t)cid;
	e->nid = (uint16_t)nid;
	e->status = 0;
	e->buf_addr = (uintptr_t)base;
	e->buf_offset = base_offset;
	e->offset = offset;
	e->length = length;
	e->valid = 1;
	if (!is_ours(w->ctx, cid)) {
		w->refused |= 1ULL << slot;
		opcode = RMC_OP_NOP;	/* completes in order, with an error */
	}
	rmc_issue(qp, opcode, slot, nid, offset, base + base_offset, length);
	w->wq.head = (uint8_t)(qp->head % MAX_NUM_WQ);
	w->wq.SR = !(qp->head & MAX_NUM_WQ);
	return slot;
}

static int execute(rmc_wq_t *wq, rmc_cq_t *cq, char op, uint8_t *base, uint64_t base_offset,
		   int nid, uint32_t cid, uint64_t offset, uint64_t length)
{
	struct queue *w = to_queue(wq);
	struct rmc_completion c;
	struct completed done;
	int tid, err;

	tid = post(w, op, base, base_offset, nid, cid, offset, length);
	if (tid < 0)
		return tid;
	for (;;) {
		err = rmc_cq_wait(w->qp, &c);
		if (err)
			return err;
		complete(w, &c, &done);
		if (c.slot == tid)
			break;
		err = keep(w, &done);
		if (err)
			return err;
	}
	show_cq(w, cq);
	return done.entry.status;
}

int sonuma_rread_sync(rmc_wq_t *wq, rmc_cq_t *cq, uint8_t *base, uint64_t base_offset, int nid,
		      uint32_t cid, uint64_t offset, uint64_t length)
{
	return execute(wq, cq, 'r', base, base_offset, nid, cid, offset, length);
}

int sonuma_rwrite_sync(rmc_wq_t *wq, rmc_cq_t *cq, uint8_t *base, uint64_t base_offset, int nid,
		       uint32_t cid, uint64_t offset, uint64_t length)
{
	return execute(wq, cq, 'w', base, base_offset, nid, cid, offset, length);
}

int sonuma_rread_async(rmc_wq_t *wq, uint8_t *base, uint64_t base_offset, int nid, uint32_t cid,
		       uint64_t offset, uint64_t length)
{
	int tid = post(to_queue(wq), 'r', base, base_offset, nid, cid, offset, length);

	return tid < 0 ? tid : 0;
}

int sonuma_rwrite_async(rmc_wq_t *wq, uint8_t *base, uint64_t base_offset, int nid, uint32_t cid,
			uint64_t offset, uint64_t length)
{
	int tid = post(to_queue(wq), 'w', base, base_offset, nid, cid, offset, length);

	return tid < 0 ? tid : 0;
}
