/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The inline fast path against a thread that plays the RMC. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "fake_rmc.h"
#include "tap.h"

#define SEGMENT_WORDS	1024

struct world {
	struct rmc_qp qp;
	struct fake_rmc rmc;
	struct rmc_wq_entry *wq;
	struct rmc_cq_entry *cq;
	struct rmc_qp_flags *flags;
	uint8_t *slot;
	struct rmc_operands *operands;
	uint64_t segment[SEGMENT_WORDS];
	struct fake_op last;
};

static void *zeroed(size_t len)
{
	void *p = aligned_alloc(64, (len + 63) & ~(size_t)63);

	memset(p, 0, (len + 63) & ~(size_t)63);
	return p;
}

/* What an RMC with one node and a segment of 8 KiB answers */
static int execute(void *arg, const struct fake_op *op)
{
	struct world *w = (struct world *)arg;
	uint64_t *lbuf = (uint64_t *)(uintptr_t)op->lbuf, *word, old;
	char *at = (char *)w->segment + op->offset;

	w->last = *op;
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
	default:
		return RMC_S_BAD_OP;
	}
}

static void wake(struct rmc_qp *qp)
{
	fake_rmc_wake(&((struct world *)qp->priv)->rmc);
}

static void setup(struct world *w, unsigned int entries)
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

static void start(struct world *w)
{
	fake_rmc_start(&w->rmc);
}

static void teardown(struct world *w)
{
	fake_rmc_stop(&w->rmc);
	free(w->wq);
	free(w->cq);
	free(w->flags);
	free(w->slot);
	free(w->operands);
}

static struct world w;

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
	CHECK_EQ(rmc_fetch_and_add(&w.qp, 0, 64, 5, &old), 0);
	CHECK_EQ(old, 77);
	CHECK_EQ(rmc_compare_and_swap(&w.qp, 0, 64, 82, 1, &old), 0);
	CHECK_EQ(old, 82);
	CHECK_EQ(rmc_compare_and_swap(&w.qp, 0, 64, 82, 2, &old), 0);
	CHECK_EQ(old, 1);
	CHECK_EQ(w.segment[8], 1);
	teardown(&w);
}

/* As the paper's figure does: per-slot buffers and a callback that adds up */
static uint64_t lbuf[MAX_WQ_SIZE], *expected[MAX_WQ_SIZE];
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
	async(MAX_WQ_SIZE, 0, 0, 20000);
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

/* Values beyond the entry's fields are refused, not cut. */
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
	/* a blocking call would swallow completions */
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
	/* what completed before the end is not lost */
	start(&w);
	usleep(20000);
	CHECK_EQ(rmc_drain_cq(&w.qp, NULL), 0);
	teardown(&w);
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

	for (i = 0; i < RMC_S_MAX; i++) {
		CHECK(strcmp(rmc_status_name(i), "unknown"));
		CHECK(strlen(rmc_strerror(i)) > 5);
	}
	CHECK(!strcmp(rmc_status_name(RMC_S_OUT_OF_RANGE), "out_of_range"));
	CHECK(!strcmp(rmc_status_name(RMC_S_MAX), "unknown"));
	CHECK(strstr(rmc_strerror(99), "99"));
	CHECK(strstr(rmc_strerror(-ESHUTDOWN), "torn down"));
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "blocking operations over many laps", test_blocking },
		{ "asynchronous reads with callback", test_async },
		{ "queue of two entries", test_smallest_queue },
		{ "completions out of order", test_reordered },
		{ "a parked worker is woken", test_parking },
		{ "rmc_poll_cq does not wait", test_poll },
		{ "values too large for a field are refused", test_saturation },
		{ "failed operations are told", test_failures },
		{ "a dead queue pair ends waiting", test_dead },
		{ "WQ entry format", test_wq_format },
		{ "every status has a name and a line", test_words },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
