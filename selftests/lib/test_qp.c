/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The inline fast path against a thread that stands in for the RMC. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/rmc_domain.h>
#include <linux/rmc_tx.h>
#include <rmc/rmc.h>
#include "fake_rmc.h"
#include "../tap.h"

#define SEGMENT_WORDS	1024

struct fixture {
	struct rmc_qp qp;
	struct fake_rmc rmc;
	struct rmc_wq_entry *wq;
	struct rmc_cq_entry *cq;
	struct rmc_qp_flags *flags;
	uint8_t *slot;
	struct rmc_operands *operands;
	uint64_t segment[SEGMENT_WORDS];
	struct fake_op last;
	int stopped;		/* it is ordered, and an operation has failed */
};

static void *zeroed(size_t len)
{
	void *p = aligned_alloc(64, (len + 63) & ~(size_t)63);

	memset(p, 0, (len + 63) & ~(size_t)63);
	return p;
}

/* Executes operations like an RMC with one node and a segment of 8 KiB. */
static int execute(void *arg, const struct fake_op *op)
{
	struct fixture *w = (struct fixture *)arg;
	uint64_t *lbuf = (uint64_t *)(uintptr_t)op->lbuf, *word, old;
	char *at = (char *)w->segment + op->offset;
	struct rmc_rmw *r;

	w->last = *op;
	if (op->op == RMC_OP_RESUME) {
		old = (uint64_t)w->stopped;
		w->stopped = 0;
		return old ? RMC_S_OK : RMC_S_BAD_OP;
	}
	if (op->nid != 0)
		return RMC_S_BAD_NODE;
	if (!op->length)
		return RMC_S_BAD_LENGTH;
	if (op->offset + op->length > sizeof(w->segment))
		return RMC_S_OUT_OF_RANGE;
	if (op->lbuf == RMC_WQE_LBUF_MASK)
		return RMC_S_BAD_LBUF;
	switch (op->op) {
	case RMC_OP_READ:
		memcpy(lbuf, at, op->length);
		return RMC_S_OK;
	case RMC_OP_WRITE:
		memcpy(at, lbuf, op->length);
		return RMC_S_OK;
	case RMC_OP_CAS:
		word = (uint64_t *)(void *)at;
		old = *word;
		if (old == lbuf[0])
			*word = lbuf[1];
		lbuf[0] = old;
		return RMC_S_OK;
	case RMC_OP_FAA:
		word = (uint64_t *)(void *)at;
		old = *word;
		*word += lbuf[0];
		lbuf[0] = old;
		return RMC_S_OK;
	case RMC_OP_RMW:
		r = (struct rmc_rmw *)(void *)lbuf;
		word = (uint64_t *)(void *)at;
		r->old = *word;
		if (r->kind == RMC_RMW_SWAP)
			*word = r->value;
		else if (r->kind == RMC_RMW_CAS && !((*word ^ r->expected) & r->compare_mask))
			*word = (*word & ~r->swap_mask) | (r->value & r->swap_mask);
		return RMC_S_OK;
	default:
		return RMC_S_BAD_OP;
	}
}

static void wake(struct rmc_qp *qp)
{
	fake_rmc_wake(&((struct fixture *)qp->priv)->rmc);
}

static void setup(struct fixture *w, unsigned int entries)
{
	unsigned int i;

	memset(w, 0, sizeof(*w));
	w->wq = (struct rmc_wq_entry *)zeroed(entries * sizeof(*w->wq));
	w->cq = (struct rmc_cq_entry *)zeroed(entries * sizeof(*w->cq));
	w->flags = (struct rmc_qp_flags *)zeroed(sizeof(*w->flags));
	w->slot = (uint8_t *)zeroed(entries);
	w->operands = (struct rmc_operands *)zeroed(entries * sizeof(*w->operands));
	for (i = 0; i < SEGMENT_WORDS; i++)
		w->segment[i] = i * 3;
	w->flags->shared_cpu = 1;	/* the machine may have few CPUs */
	rmc_qp_init_raw(&w->qp, w->wq, w->cq, w->flags, w->slot, w->operands, entries);
	w->qp.wake = wake;
	w->qp.priv = w;
	w->rmc.wq = w->wq;
	w->rmc.cq = w->cq;
	w->rmc.flags = w->flags;
	w->rmc.entries = entries;
	w->rmc.execute = execute;
	w->rmc.arg = w;
}

static void start(struct fixture *w)
{
	fake_rmc_start(&w->rmc);
}

static void release(struct fixture *w)
{
	free(w->wq);
	free(w->cq);
	free(w->flags);
	free(w->slot);
	free(w->operands);
}

static void teardown(struct fixture *w)
{
	fake_rmc_stop(&w->rmc);
	release(w);
}

static struct fixture w;

static void test_blocking(void)
{
	uint64_t buf[8], old = 0;
	int i;

	setup(&w, 4);
	start(&w);
	for (i = 0; i < 100; i++) {	/* many laps */
		CHECK_EQ(rmc_read(&w.qp, 0, (uint64_t)i * 8, buf, 8), 0);
		CHECK_EQ(buf[0], i * 3);
	}
	buf[0] = 77;
	CHECK_EQ(rmc_write(&w.qp, 0, 64, buf, 8), 0);
	CHECK_EQ(w.segment[8], 77);
	CHECK_EQ(rmc_faa(&w.qp, 0, 64, 5, &old), 0);
	CHECK_EQ(old, 77);
	CHECK_EQ(rmc_cas(&w.qp, 0, 64, 82, 1, &old), 0);
	CHECK_EQ(old, 82);
	CHECK_EQ(rmc_cas(&w.qp, 0, 64, 82, 2, &old), 0);
	CHECK_EQ(old, 1);
	CHECK_EQ(w.segment[8], 1);
	teardown(&w);
}

static void test_earlier_names(void)
{
	uint64_t old = 0, buf[8] = { 0 };

	setup(&w, 8);
	start(&w);
	w.segment[3] = 70;
	CHECK_EQ(rmc_fetch_and_add(&w.qp, 0, 24, 7, &old), 0);
	CHECK(old == 70 && w.segment[3] == 77);
	CHECK_EQ(rmc_compare_and_swap(&w.qp, 0, 24, 77, 5, &old), 0);
	CHECK(old == 77 && w.segment[3] == 5);
	/* this RMC executes none, but gets it */
	CHECK_EQ(rmc_sabre_sync(&w.qp, 0, 64, buf, 48), RMC_S_BAD_OP);
	CHECK(w.last.op == RMC_OP_SABRE && w.last.nid == 0 && w.last.offset == 64 &&
	      w.last.length == 48 && w.last.lbuf == (uintptr_t)buf);
	CHECK_EQ(rmc_masked_compare_and_swap(&w.qp, 0, 16, 1, 2, 3, 4, 8, &old), 0);
	CHECK(w.last.op == RMC_OP_RMW && w.last.offset == 16 && w.last.length == 8);
	CHECK(((struct rmc_rmw *)w.qp.operands)->kind == RMC_RMW_CAS &&
	      ((struct rmc_rmw *)w.qp.operands)->expected == 1 &&
	      ((struct rmc_rmw *)w.qp.operands)->compare_mask == 2 &&
	      ((struct rmc_rmw *)w.qp.operands)->value == 3 &&
	      ((struct rmc_rmw *)w.qp.operands)->swap_mask == 4);
	teardown(&w);
}

/* What rmc_qp_resume() has answered for, rmc_quiet() does not report any more. */
static void test_resume(void)
{
	int slot;

	setup(&w, 4);
	start(&w);
	slot = rmc_wait_for_slot(&w.qp, NULL);
	rmc_write_async(&w.qp, slot, 0, 1ULL << 39, w.operands, 8);
	CHECK_EQ(rmc_quiet(&w.qp, NULL), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_fence(&w.qp, 0, NULL), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_qp_resume(&w.qp), RMC_S_BAD_OP);
	CHECK(w.last.op == RMC_OP_RESUME && !w.last.length);
	CHECK_EQ(rmc_quiet(&w.qp, NULL), RMC_S_OUT_OF_RANGE);
	w.stopped = 1;
	CHECK_EQ(rmc_qp_resume(&w.qp), 0);
	CHECK_EQ(rmc_quiet(&w.qp, NULL), 0);
	CHECK_EQ(rmc_fence(&w.qp, 0, NULL), 0);
	teardown(&w);
}

/* The operands of <rmc/atomic.h>, and what they need of the queue pair */
static void test_operands(void)
{
	uint64_t old = 77, word = 0;

	setup(&w, 4);
	start(&w);
	w.segment[2] = 0x1234;
	CHECK_EQ(rmc_swap(&w.qp, 0, 16, 0x5678, 8, &old), 0);
	CHECK(old == 0x1234 && w.segment[2] == 0x5678);
	/* the masked bits agree: others are replaced */
	CHECK_EQ(rmc_masked_cas(&w.qp, 0, 16, 0x5600, 0xff00, 0xaa99, 0x00ff, 8, &old), 0);
	CHECK(old == 0x5678 && w.segment[2] == 0x5699);
	CHECK_EQ(rmc_masked_cas(&w.qp, 0, 16, 0x5700, 0xff00, 0xaa11, 0x00ff, 8, &old), 0);
	CHECK(old == 0x5699 && w.segment[2] == 0x5699);
	old = 77;
	CHECK_EQ(rmc_swap(&w.qp, 5, 16, 1, 8, &old), RMC_S_BAD_NODE);
	CHECK_EQ(old, 77);
	teardown(&w);
	setup(&w, 2);
	start(&w);
	CHECK_EQ(rmc_swap(&w.qp, 0, 16, 1, 8, &old), -EINVAL);
	teardown(&w);
	/* nobody completes the read */
	setup(&w, 4);
	rmc_read_async(&w.qp, rmc_wait_for_slot(&w.qp, NULL), 0, 0, &word, 8);
	w.operands[0].word[0] = 99;
	CHECK_EQ(rmc_swap(&w.qp, 0, 16, 1, 8, &old), -EBUSY);
	/* what is in flight may still use its operands */
	CHECK(old == 77 && w.operands[0].word[0] == 99);
	release(&w);
}

/* As in the paper's figure: per-slot buffers and a callback that adds up */
static uint64_t lbuf[RMC_QP_ENTRIES_DEFAULT], *expected[RMC_QP_ENTRIES_DEFAULT];
static uint64_t sum;
static unsigned int seen;

static inline void add(int slot, void *arg)
{
	CHECK(arg == &w);
	CHECK_EQ(lbuf[slot], *expected[slot]);
	sum += lbuf[slot];
	seen++;
}

static void async(unsigned int entries, int reorder, int parking, unsigned int n)
{
	uint64_t want = 0;
	unsigned int i;

	setup(&w, entries);
	w.rmc.reorder = reorder;
	w.rmc.park = parking;
	sum = seen = 0;
	rmc_qp_set_arg(&w.qp, &w);
	start(&w);
	for (i = 0; i < n; i++) {
		int slot = rmc_wait_for_slot(&w.qp, add);
		unsigned int at = i * 7 % SEGMENT_WORDS;

		CHECK_EQ(slot, i % entries);
		expected[slot] = &w.segment[at];
		want += w.segment[at];
		rmc_read_async(&w.qp, slot, 0, at * 8, &lbuf[slot], 8);
		if (parking && i % 100 == 0)
			usleep(1000);
	}
	CHECK_EQ(rmc_drain_cq(&w.qp, add), 0);
	CHECK_EQ(seen, n);
	CHECK_EQ(sum, want);
	CHECK_EQ(rmc_qp_in_flight(&w.qp), 0);
	if (parking)
		CHECK(w.rmc.wakeups > 0);
	teardown(&w);
}

static void test_async(void)
{
	async(RMC_QP_ENTRIES_DEFAULT, 0, 0, 20000);
}

static void test_smallest_queue(void)
{
	async(2, 0, 0, 1001);
}

static void test_reordered(void)
{
	async(64, 1, 0, 20000);
}

static void test_parking(void)
{
	async(8, 0, 1, 1000);
}

/* An application that does not wait for its operation wakes the worker nevertheless. */
static void test_waking_without_waiting(void)
{
	uint64_t value = 99;
	int i, k;

	setup(&w, 4);
	w.rmc.park = 1;
	start(&w);
	for (k = 0; k < 3 && !tap_failures; k++) {
		while (!__atomic_load_n(&w.flags->need_wakeup, __ATOMIC_ACQUIRE))
			usleep(100);
		rmc_write_async(&w.qp, rmc_wait_for_slot(&w.qp, NULL), 0, 8 * (uint64_t)k,
				&value, 8);
		for (i = 0; i < 9000 && !(rmc_load_acquire(&w.cq[k].word) & RMC_CQE_PHASE); i++)
			usleep(1000);
		CHECK(rmc_load_acquire(&w.cq[k].word) & RMC_CQE_PHASE);
		CHECK_EQ(rmc_drain_cq(&w.qp, NULL), 0);
		CHECK_EQ(w.segment[k], 99);
	}
	teardown(&w);
}

static void test_poll(void)
{
	unsigned int n = 0;
	int slot, got;

	setup(&w, 8);
	rmc_qp_set_arg(&w.qp, &w);
	sum = seen = 0;
	CHECK_EQ(rmc_poll_cq(&w.qp, add), 0);
	slot = rmc_wait_for_slot(&w.qp, add);
	expected[slot] = &w.segment[5];
	rmc_read_async(&w.qp, slot, 0, 40, &lbuf[slot], 8);
	CHECK_EQ(rmc_poll_cq(&w.qp, add), 0);
	start(&w);
	while (!n) {
		got = rmc_poll_cq(&w.qp, add);
		CHECK(got >= 0);
		n += (unsigned int)got;
	}
	CHECK_EQ(n, 1);
	CHECK_EQ(seen, 1);
	teardown(&w);
}

/* Values too large for the entry's fields are refused, not truncated. */
static void test_saturation(void)
{
	uint64_t buf = 0;

	setup(&w, 4);
	start(&w);
	CHECK_EQ(rmc_read(&w.qp, 1024, 0, &buf, 8), RMC_S_BAD_NODE);
	CHECK_EQ(rmc_read(&w.qp, 1 << 16, 0, &buf, 8), RMC_S_BAD_NODE);
	CHECK_EQ(rmc_read(&w.qp, -1, 0, &buf, 8), RMC_S_BAD_NODE);
	CHECK_EQ(rmc_read(&w.qp, 0, 1ULL << 40, &buf, 8), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_read(&w.qp, 0, ~0ULL, &buf, 8), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_read(&w.qp, 0, 0, &buf, 1 << 24), RMC_S_BAD_LENGTH);
	CHECK_EQ(rmc_read(&w.qp, 0, 0, &buf, (1ULL << 32) + 8), RMC_S_BAD_LENGTH);
	CHECK_EQ(rmc_read(&w.qp, 0, 0, (void *)(uintptr_t)0xffff800000000000ULL, 8),
		 RMC_S_BAD_LBUF);
	CHECK_EQ(rmc_execute(&w.qp, 31, 0, 0, &buf, 8), RMC_S_BAD_OP);
	CHECK_EQ(rmc_read(&w.qp, 0, 0, &buf, 8), 0);
	teardown(&w);
}

static int failed_slot;

static void note_failure(int slot, void *arg)
{
	if (rmc_slot_status((struct rmc_qp *)arg, slot))
		failed_slot = slot;
}

static void test_failures(void)
{
	uint64_t buf[4];
	int i, slot;

	setup(&w, 8);
	start(&w);
	rmc_qp_set_arg(&w.qp, &w.qp);
	failed_slot = -1;
	for (i = 0; i < 4; i++) {
		slot = rmc_wait_for_slot(&w.qp, note_failure);
		rmc_read_async(&w.qp, slot, 0, i == 2 ? sizeof(w.segment) : 0, &buf[i], 8);
	}
	/* a blocking call would consume completions of others */
	CHECK_EQ(rmc_read(&w.qp, 0, 0, buf, 8), -EBUSY);
	CHECK_EQ(rmc_drain_cq(&w.qp, note_failure), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(failed_slot, 2);
	CHECK_EQ(rmc_drain_cq(&w.qp, note_failure), 0);
	teardown(&w);
}

static void test_dead(void)
{
	uint64_t buf;
	int i;

	setup(&w, 2);
	for (i = 0; i < 2; i++)
		rmc_read_async(&w.qp, rmc_wait_for_slot(&w.qp, NULL), 0, 0, &buf, 8);
	w.flags->dead = 1;
	CHECK_EQ(rmc_wait_for_slot(&w.qp, NULL), -ESHUTDOWN);
	CHECK_EQ(rmc_drain_cq(&w.qp, NULL), -ESHUTDOWN);
	CHECK_EQ(rmc_poll_cq(&w.qp, NULL), -ESHUTDOWN);
	/* completions are delivered although the queue pair is dead */
	start(&w);
	usleep(20000);
	CHECK_EQ(rmc_drain_cq(&w.qp, NULL), 0);
	teardown(&w);
}

/* Each waiting call on a dead queue pair, and on one with operations in flight */
static void test_dead_calls(void)
{
	uint64_t old = 77;
	struct rmc_completion c;
	int kind;

	for (kind = 0; kind < 9; kind++) {
		int err = 0;

		setup(&w, 4);
		CHECK_EQ(rmc_cq_wait(&w.qp, &c), -ENOENT);
		w.flags->dead = 1;
		switch (kind) {
		case 0:
			err = rmc_read(&w.qp, 0, 0, lbuf, 8);
			break;
		case 1:
			err = rmc_write(&w.qp, 0, 0, lbuf, 8);
			break;
		case 2:
			err = rmc_notify(&w.qp, 0);
			break;
		case 3:
			err = rmc_write_notify(&w.qp, 0, 0, lbuf, 8);
			break;
		case 4:
			err = rmc_cas(&w.qp, 0, 0, 1, 2, &old);
			break;
		case 5:
			err = rmc_faa(&w.qp, 0, 0, 1, &old);
			break;
		case 6:
		case 7:
		case 8:
			rmc_read_async(&w.qp, 0, 0, 0, lbuf, 8);
			err = kind == 6 ? rmc_cq_wait(&w.qp, &c) :
			      kind == 7 ? rmc_quiet(&w.qp, NULL) : rmc_fence(&w.qp, 0, NULL);
			break;
		}
		CHECK_EQ(err, -ESHUTDOWN);
		/* the operation stays in flight; a later call could take its completion */
		CHECK_EQ(rmc_qp_in_flight(&w.qp), 1);
		CHECK_EQ(rmc_write(&w.qp, 0, 0, lbuf, 8), -EBUSY);
		CHECK_EQ(rmc_cas(&w.qp, 0, 0, 1, 2, &old), -EBUSY);
		CHECK_EQ(rmc_faa(&w.qp, 0, 0, 1, &old), -EBUSY);
		CHECK_EQ(old, 77);
		release(&w);
	}
}

/* A failed blocking call does not change an error that no drain has reported yet. */
static void test_errors_apart(void)
{
	uint64_t old = 77;

	setup(&w, 4);
	start(&w);
	CHECK_EQ(rmc_read(&w.qp, 5, 0, lbuf, 8), RMC_S_BAD_NODE);
	CHECK_EQ(rmc_qp_error(&w.qp), 0);
	CHECK_EQ(rmc_cas(&w.qp, 5, 0, 1, 2, &old), RMC_S_BAD_NODE);
	CHECK_EQ(rmc_faa(&w.qp, 5, 0, 1, &old), RMC_S_BAD_NODE);
	CHECK_EQ(old, 77);
	rmc_read_async(&w.qp, rmc_wait_for_slot(&w.qp, NULL), 0, sizeof(w.segment), lbuf, 8);
	while (rmc_qp_in_flight(&w.qp))
		CHECK(rmc_poll_cq(&w.qp, NULL) >= 0);
	CHECK_EQ(rmc_read(&w.qp, 5, 0, lbuf, 8), RMC_S_BAD_NODE);
	CHECK_EQ(rmc_qp_error(&w.qp), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_drain_cq(&w.qp, NULL), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_qp_error(&w.qp), 0);
	teardown(&w);
}

/*
 * Post completions by hand, in any order. The queue pair is dead, so a wait for a completion
 * that is missing returns an error.
 */
static void post(int slot, int status)
{
	static uint32_t head;

	if (slot < 0) {			/* start at the queue pair's position */
		head = w.qp.tail;
		w.flags->dead = 1;
		return;
	}
	rmc_store_release(&w.cq[head & w.qp.mask].word,
			  rmc_cqe_word((unsigned int)slot, (unsigned int)status,
				       !(head & w.qp.entries)));
	head++;
}

static void setup_by_hand(uint32_t first)
{
	uint32_t i;

	setup(&w, 8);
	w.qp.head = w.qp.tail = first;
	for (i = first; i != first + 8; i++)
		w.cq[i & 7].word = !!(i & 8);	/* not the phase of this lap */
	post(-1, 0);
}

/* Six operations, alternately to nodes 3 and 5; returns the slot of the first. */
static int six_operations(void)
{
	int first = (int)(w.qp.head & w.qp.mask), i;

	for (i = 0; i < 6; i++)
		rmc_read_async(&w.qp, rmc_wait_for_slot(&w.qp, NULL), i % 2 ? 5 : 3, 0, lbuf, 8);
	return first;
}

static void quiet(uint32_t start)
{
	int s;

	setup_by_hand(start);
	s = six_operations();
	CHECK_EQ(rmc_quiet_node(&w.qp, 9, NULL), 0);	/* no operation to wait for */
	CHECK_EQ(rmc_quiet_node(&w.qp, 3, NULL), -ESHUTDOWN);
	post((s + 1) & 7, RMC_S_OK);
	post((s + 4) & 7, RMC_S_OK);
	post((s + 2) & 7, RMC_S_OK);
	CHECK_EQ(rmc_quiet_node(&w.qp, 3, NULL), -ESHUTDOWN);
	CHECK_EQ(rmc_qp_in_flight(&w.qp), 3);
	post(s & 7, RMC_S_OK);
	CHECK_EQ(rmc_quiet_node(&w.qp, 3, NULL), 0);	/* those to node 5 stay in flight */
	CHECK_EQ(rmc_qp_in_flight(&w.qp), 2);
	CHECK_EQ(rmc_fence(&w.qp, 5, NULL), -ESHUTDOWN);
	CHECK_EQ(rmc_quiet(&w.qp, NULL), -ESHUTDOWN);
	post((s + 5) & 7, RMC_S_TIMEOUT);
	post((s + 3) & 7, RMC_S_OK);
	/* a failure is reported until a drain, whatever the node */
	CHECK_EQ(rmc_fence(&w.qp, 5, NULL), RMC_S_TIMEOUT);
	CHECK_EQ(rmc_quiet_node(&w.qp, 3, NULL), RMC_S_TIMEOUT);
	CHECK_EQ(rmc_drain_cq(&w.qp, NULL), RMC_S_TIMEOUT);
	CHECK_EQ(rmc_quiet(&w.qp, NULL), 0);
	release(&w);
}

/*
 * An operation completes and the queue pair dies just after the waiter has missed the
 * completion. The waiter's first read of the flags triggers both: their page is inaccessible
 * until then.
 */
static struct rmc_qp_flags *hidden;

static void completes_and_dies(int sig)
{
	(void)sig;
	mprotect(hidden, 4096, PROT_READ | PROT_WRITE);
	hidden->dead = 1;
	post(0, RMC_S_OK);
}

static void test_last_completion(void)
{
	struct sigaction a = { .sa_handler = completes_and_dies }, was;
	struct rmc_completion c;
	int calls;

	for (calls = 0; calls < 2; calls++) {
		setup_by_hand(0);
		hidden = (struct rmc_qp_flags *)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(hidden != MAP_FAILED);
		w.qp.flags = hidden;
		rmc_read_async(&w.qp, rmc_wait_for_slot(&w.qp, NULL), 0, 0, lbuf, 8);
		mprotect(hidden, 4096, PROT_NONE);
		sigaction(SIGSEGV, &a, &was);
		CHECK_EQ(calls ? rmc_drain_cq(&w.qp, NULL) : rmc_cq_wait(&w.qp, &c), 0);
		sigaction(SIGSEGV, &was, NULL);
		CHECK(hidden->dead && !rmc_qp_in_flight(&w.qp));
		/* no further completion can come */
		rmc_read_async(&w.qp, rmc_wait_for_slot(&w.qp, NULL), 0, 0, lbuf, 8);
		CHECK_EQ(rmc_cq_wait(&w.qp, &c), -ESHUTDOWN);
		munmap(hidden, 4096);
		release(&w);
	}
}

static void issue_another(int slot, void *arg)
{
	(void)slot;
	(void)arg;
	seen++;
	rmc_read_async(&w.qp, rmc_wait_for_slot(&w.qp, NULL), 3, 0, lbuf, 8);
}

static void test_quiet(void)
{
	static const uint32_t starts[] = { 0, 5, 0xfffffffdU };	/* the index and the ring wrap */
	static const int order[] = { 4, 2, 1, 3, 0 };
	int s, i, k;

	for (k = 0; k < 3; k++) {
		quiet(starts[k]);
		/* operations that callbacks issue are not waited for, */
		setup_by_hand(starts[k]);
		s = six_operations();
		for (i = 0; i < 6; i++)
			post((s + i) & 7, RMC_S_OK);
		seen = 0;
		CHECK_EQ(rmc_quiet_node(&w.qp, 3, issue_another), 0);
		CHECK(seen >= 5);
		CHECK_EQ(rmc_qp_in_flight(&w.qp), 6);
		release(&w);
		/* even in the slot of one that was waited for: the third takes that of the first */
		setup_by_hand(starts[k]);
		s = six_operations();
		for (i = 0; i < 5; i++)
			post((s + order[i]) & 7, RMC_S_OK);
		seen = 0;
		CHECK_EQ(rmc_quiet_node(&w.qp, 3, issue_another), 0);
		CHECK_EQ(seen, 3);
		CHECK_EQ(rmc_qp_in_flight(&w.qp), 4);
		release(&w);
	}
}

/* A raw queue pair lacks what the library adds to its own. */
static void test_raw_has_no_extras(void)
{
	struct rmc_qp_stats stats;

	setup(&w, 4);
	CHECK_EQ(rmc_qp_cookie(&w.qp, 1), 0);
	CHECK_EQ(rmc_qp_set_cookie(&w.qp, 1, 7), -EOPNOTSUPP);
	CHECK_EQ(rmc_qp_stats(&w.qp, &stats), -EOPNOTSUPP);
	release(&w);
}

static void test_wq_format(void)
{
	char *lbuf48 = (char *)(uintptr_t)0x7fff12345678ULL;

	setup(&w, 2);
	rmc_issue(&w.qp, RMC_OP_WRITE, 0, 1023, RMC_OFFSET_MAX, lbuf48, RMC_LENGTH_MAX);
	CHECK(w.wq[0].word0 == (0x7fff12345678ULL << 16 | 1023 << 6 | RMC_OP_WRITE << 1 | 1));
	CHECK(w.wq[0].word1 == ~0ULL);
	rmc_issue(&w.qp, RMC_OP_READ, 1, 0, 0, NULL, 1);
	CHECK(w.wq[1].word0 == (RMC_OP_READ << 1 | 1));
	CHECK(w.wq[1].word1 == 1ULL << 40);
	w.qp.tail = 2;
	rmc_issue(&w.qp, RMC_OP_READ, 0, 0, 0, NULL, 1);
	CHECK((w.wq[0].word0 & 1) == 0);	/* second lap */
	start(&w);
	teardown(&w);
}

static void test_words(void)
{
	int i;

	for (i = 0; i < RMC_S_TX_MAX; i++) {
		CHECK(strcmp(rmc_status_name(i), "unknown"));
		CHECK(strlen(rmc_strerror(i)) > 5);
	}
	CHECK(!strcmp(rmc_status_name(RMC_S_OUT_OF_RANGE), "out_of_range"));
	CHECK(!strcmp(rmc_status_name(RMC_S_TX_MAX), "unknown"));
	CHECK(strstr(rmc_strerror(99), "99"));
	CHECK(strstr(rmc_strerror(-ESHUTDOWN), "torn down"));
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "blocking operations over many laps", test_blocking },
		{ "earlier names of blocking operations", test_earlier_names },
		{ "an ordered queue pair goes on", test_resume },
		{ "operands of atomics", test_operands },
		{ "asynchronous reads with callback", test_async },
		{ "queue of two entries", test_smallest_queue },
		{ "completions out of order", test_reordered },
		{ "a parked worker is woken", test_parking },
		{ "also by who does not wait", test_waking_without_waiting },
		{ "rmc_poll_cq does not wait", test_poll },
		{ "values too large for a field are refused", test_saturation },
		{ "failed operations are reported", test_failures },
		{ "a dead queue pair ends waiting", test_dead },
		{ "and each call that waits for it", test_dead_calls },
		{ "a completion just before the end", test_last_completion },
		{ "errors of blocking calls and of others are apart", test_errors_apart },
		{ "fence and quiet wait for one node's operations", test_quiet },
		{ "no cookies and statistics without the library's help", test_raw_has_no_extras },
		{ "WQ entry format", test_wq_format },
		{ "every status has a name and a line", test_words },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
