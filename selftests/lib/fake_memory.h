/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A queue pair whose RMC is a thread, fake_rmc.c, and the segment of node 0: for readers and
 * for rmc_sync. Lines move as a whole between operations of several such queue pairs, not
 * beside a CPU; completions come out of order; replies and requests may be lost.
 */
#ifndef FAKE_MEMORY_H
#define FAKE_MEMORY_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fake_lines.h"
#include "fake_rmc.h"
#include "scheme_test.h"

#define SEGMENT		(256 << 10)
#define ENTRIES		32
#define WINDOW		8
#define LATE_MAX	1024

/* What becomes of one operation */
enum fault {
	NO_FAULT,
	LOSE_REQUEST,
	LOSE_REPLY,
	LOSE_HALF,			/* of the lines of a write; else the request */
	LATE,				/* before the next write or atomic, behind reads until then */
	LINK_DOWN,			/* not executed */
	LINK_DOWN_REPLY,		/* executed */
	FAULTS,
};

struct fixture {
	struct rmc_qp qp;
	struct fake_rmc rmc;
	uint8_t *segment, *memory;
	int without_thread;		/* operations are executed when they are issued */
	int shares;			/* the segment is another fixture's */
	unsigned int delay_line_us;	/* delay of the RMC after each line */
	unsigned int lose_op;		/* what is lost; 0: compare-and-swaps */
	int lose_swaps, lose_replies;	/* requests and replies still to lose */
	int unlocking;			/* lose only those that free a lock */
	unsigned int fault_at;		/* 1: the next operation; 0: none any more */
	unsigned int faults;		/* in a row */
	enum fault fault;
	int stops;			/* an ordered pair: after a failure all is aborted, */
	int stopped;			/* ... until RMC_OP_RESUME, which has to be alone */
	/* how often it has stopped, and gone on; and has said that it is not ordered */
	unsigned int failures, resumes, refused;
	struct fake_op late_op;		/* length 0: none */
	uint8_t late_data[LATE_MAX];
	unsigned int dies_at;		/* this node dies in the operation; 1: the next one */
	unsigned int dies_lines;	/* of it are executed before, if it is a write */
	int dead;
	unsigned int last_nid;		/* nodes up to it have this segment */
	int hold;			/* the next one stays, until the RMC releases it */
	unsigned int messages, atomics;	/* executed; read while nothing is in flight */
	void (*before)(struct fixture *w, const struct fake_op *op);
	/* a read's second line is loaded first, then this is called, once, then the others are */
	void (*between)(struct fixture *w);
	int late;			/* a read of words waits for the read behind it */
	struct fake_op words;
};

static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;

/* Word 0 last, as rmc_line_store() does */
static inline void write_line(uint8_t *to, const uint8_t *from, size_t n)
{
	while (n--)
		__atomic_store_n(to + n, from[n], __ATOMIC_RELEASE);
}

static inline void move_lines(struct fixture *w, int writes, uint8_t *lbuf, uint64_t at, size_t len)
{
	size_t n;

	for (; len; len -= n, at += n, lbuf += n) {
		n = LINE - at % LINE < len ? LINE - at % LINE : len;
		pthread_mutex_lock(&line_lock);
		if (writes)
			write_line(w->segment + at, lbuf, n);
		else
			read_line(lbuf, w->segment + at, n);
		pthread_mutex_unlock(&line_lock);
		if (w->delay_line_us)
			usleep(w->delay_line_us);
	}
}

/* Lines of a read in another order, with a write of somebody in the middle */
static inline void read_torn(struct fixture *w, uint8_t *lbuf, uint64_t at, size_t len)
{
	void (*between)(struct fixture *w) = w->between;

	w->between = NULL;
	move_lines(w, 0, lbuf + LINE, at + LINE, LINE);
	between(w);
	move_lines(w, 0, lbuf, at, LINE);
	move_lines(w, 0, lbuf + 2 * LINE, at + 2 * LINE, len - 2 * LINE);
}

static inline int execute_read(struct fixture *w, const struct fake_op *op)
{
	uint8_t *lbuf = (uint8_t *)(uintptr_t)op->lbuf;

	if (w->late && op->length == 16) {
		w->words = *op;
		w->late = 0;
		return FAKE_HOLD;
	}
	if (w->between && op->length > 2 * LINE)
		read_torn(w, lbuf, op->offset, op->length);
	else
		move_lines(w, 0, lbuf, op->offset, op->length);
	if (w->words.length) {
		move_lines(w, 0, (uint8_t *)(uintptr_t)w->words.lbuf, w->words.offset, 16);
		w->words.length = 0;
		__atomic_store_n(&w->rmc.release, 1, __ATOMIC_RELEASE);
	}
	return RMC_S_OK;
}

static inline int execute_atomic(uint64_t *word, const struct fake_op *op)
{
	uint64_t *operand = (uint64_t *)(uintptr_t)op->lbuf, v = operand[0];

	pthread_mutex_lock(&line_lock);
	if (op->op == RMC_OP_FAA)
		v = __atomic_fetch_add(word, v, __ATOMIC_SEQ_CST);
	else
		__atomic_compare_exchange_n(word, &v, operand[1], 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&line_lock);
	operand[0] = v;
	return RMC_S_OK;
}

static inline int execute_sabre(struct fixture *w, const struct fake_op *op)
{
	uint64_t *word = (uint64_t *)(w->segment + op->offset), v;

	v = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	if (v & 1)
		return RMC_S_SABRE_LOCKED;
	move_lines(w, 0, (uint8_t *)(uintptr_t)op->lbuf, op->offset, op->length);
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) == v ? RMC_S_OK : RMC_S_SABRE_ABORTED;
}

static inline int execute_op(struct fixture *w, const struct fake_op *op)
{
	switch (op->op) {
	case RMC_OP_READ:
		return execute_read(w, op);
	case RMC_OP_WRITE:
	case RMC_OP_WRITE_ONCE:
		move_lines(w, 1, (uint8_t *)(uintptr_t)op->lbuf, op->offset, op->length);
		return RMC_S_OK;
	case RMC_OP_SABRE:
		return execute_sabre(w, op);
	case RMC_OP_CAS:
	case RMC_OP_FAA:
		w->atomics++;
		return execute_atomic((uint64_t *)(void *)(w->segment + op->offset), op);
	default:
		return RMC_S_BAD_OP;
	}
}

/* A request that is under way: its data is what it was when it left. */
static inline void delay_op(struct fixture *w, const struct fake_op *op)
{
	if (op->op == RMC_OP_READ || op->op == RMC_OP_SABRE)
		return;
	if (op->length > LATE_MAX)
		abort();
	w->late_op = *op;
	memcpy(w->late_data, (const void *)(uintptr_t)op->lbuf,
	       op->op == RMC_OP_WRITE ? op->length : sizeof(struct rmc_operands));
	w->late_op.lbuf = (uintptr_t)w->late_data;
}

static inline void late_arrives(struct fixture *w)
{
	const struct fake_op op = w->late_op;

	w->late_op.length = 0;
	if (op.length)
		execute_op(w, &op);
}

static inline int resume_op(struct fixture *w)
{
	w->refused += !w->stops;
	if (!w->stops)
		return RMC_S_BAD_OP;
	__atomic_store_n(&w->resumes, w->resumes + !!w->stopped, __ATOMIC_RELEASE);
	w->stopped = 0;
	return RMC_S_OK;
}

/* Cut an operation: no line is moved in part. */
static inline void whole_lines(struct fake_op *op, unsigned int lines)
{
	uint32_t n = lines ? lines * LINE - (uint32_t)(op->offset % LINE) : 0;

	if (op->length > n)
		op->length = n;
}

static inline int execute_faulty(struct fixture *w, const struct fake_op *op)
{
	static const int down[FAULTS] = { [LINK_DOWN] = 1, [LINK_DOWN_REPLY] = 1 };
	struct fake_op half = *op;

	if (w->fault == LATE)
		delay_op(w, op);
	whole_lines(&half, op->length / 2 / LINE);
	if (w->fault == LOSE_REPLY || w->fault == LINK_DOWN_REPLY)
		execute_op(w, op);
	else if (w->fault == LOSE_HALF && op->op == RMC_OP_WRITE)
		execute_op(w, &half);
	return down[w->fault] ? RMC_S_NODE_DOWN : RMC_S_TIMEOUT;
}

/* The last operation of a node: nothing of what it does reaches anybody any more. */
static inline int die(struct fixture *w, const struct fake_op *op)
{
	struct fake_op part = *op;

	w->dead = 1;
	if (op->op != RMC_OP_WRITE)
		return RMC_S_ABORTED;
	whole_lines(&part, w->dies_lines);
	execute_op(w, &part);
	return RMC_S_ABORTED;
}

static inline int execute_next(struct fixture *w, const struct fake_op *op)
{
	int lose, status;

	if (op->nid > w->last_nid)
		return RMC_S_BAD_NODE;
	if (op->offset > SEGMENT || op->length > SEGMENT - op->offset)
		return RMC_S_OUT_OF_RANGE;
	if (w->dead)
		return RMC_S_ABORTED;
	if (w->dies_at && !--w->dies_at)
		return die(w, op);
	if (op->op != RMC_OP_READ && op->op != RMC_OP_SABRE)
		late_arrives(w);
	if (w->before)
		w->before(w, op);
	w->messages++;
	if (w->fault_at > 1) {
		w->fault_at--;
	} else if (w->fault_at && w->faults) {
		w->faults--;
		return execute_faulty(w, op);
	}
	lose = op->op == (w->lose_op ? w->lose_op : RMC_OP_CAS);
	if (lose && w->hold && w->hold--)
		return FAKE_HOLD;
	if (w->unlocking)
		lose = lose && !((uint64_t *)(uintptr_t)op->lbuf)[1];
	if (lose && w->lose_swaps && w->lose_swaps--)
		return w->fault ? execute_faulty(w, op) : RMC_S_TIMEOUT;
	status = execute_op(w, op);
	if (lose && w->lose_replies && w->lose_replies--)
		return RMC_S_TIMEOUT;
	return status;
}

static inline int execute(void *arg, const struct fake_op *op)
{
	struct fixture *w = (struct fixture *)arg;
	int status;

	if (op->op == RMC_OP_RESUME)
		return resume_op(w);
	if (w->stopped && op->op != RMC_OP_SABRE)
		return RMC_S_ABORTED;
	status = execute_next(w, op);
	if (w->stops && status > RMC_S_OK && op->op != RMC_OP_SABRE && !w->stopped) {
		w->stopped = 1;
		w->failures++;
	}
	return status;
}

static inline void visit_at_once(struct rmc_qp *qp)
{
	while (fake_rmc_visit(&((struct fixture *)qp)->rmc))
		;
}

/* segment NULL: a new one */
static inline void fixture_init_with(struct fixture *w, uint8_t *segment, int without_thread)
{
	memset(w, 0, sizeof(*w));
	w->without_thread = without_thread;
	w->shares = !!segment;
	w->segment = segment ? segment : (uint8_t *)zeroed(SEGMENT);
	w->memory = (uint8_t *)zeroed(WINDOW * (MAX + 8 * LINE + MAX / LINE * 2));
	w->rmc.entries = ENTRIES;
	w->rmc.wq = (struct rmc_wq_entry *)zeroed(ENTRIES * RMC_WQE_SIZE);
	w->rmc.cq = (struct rmc_cq_entry *)zeroed(ENTRIES * RMC_CQE_SIZE);
	w->rmc.flags = (struct rmc_qp_flags *)zeroed(sizeof(struct rmc_qp_flags));
	/* without a thread nobody else needs this CPU */
	w->rmc.flags->shared_cpu = !without_thread;
	w->rmc.execute = execute;
	w->rmc.arg = w;
	w->rmc.reorder = 1;
	rmc_qp_init_raw(&w->qp, w->rmc.wq, w->rmc.cq, w->rmc.flags, (uint8_t *)zeroed(ENTRIES),
			(struct rmc_operands *)zeroed(ENTRIES * sizeof(struct rmc_operands)),
			ENTRIES);
	if (!without_thread) {
		fake_rmc_start(&w->rmc);
		return;
	}
	pthread_mutex_init(&w->rmc.lock, NULL);
	w->rmc.flags->need_wakeup = 1;
	w->qp.wake = visit_at_once;
}

static inline void fixture_init_on(struct fixture *w, uint8_t *segment)
{
	fixture_init_with(w, segment, 0);
}

static inline void fixture_init(struct fixture *w)
{
	fixture_init_with(w, NULL, 0);
}

static inline void fixture_fini(struct fixture *w)
{
	if (!w->without_thread)
		fake_rmc_stop(&w->rmc);
	free(w->rmc.wq);
	free(w->rmc.cq);
	free(w->rmc.flags);
	free(w->qp.slot);
	free(w->qp.operands);
	if (!w->shares)
		free(w->segment);
	free(w->memory);
}

#endif /* FAKE_MEMORY_H */
