/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Readers from within: the rows that they execute; positions of rings that wrap. */
#include <unistd.h>
#include "../../lib/scheme/reader.h"
#include "fake_rmc.h"
#include "../tap.h"

#define ENTRIES	16
#define READS	3		/* a window that divides no power of two */

static int execute(void *arg, const struct fake_op *op)
{
	(void)arg;
	memset((void *)(uintptr_t)op->lbuf, 0, op->length);
	return op->op == RMC_OP_READ ? RMC_S_OK : RMC_S_BAD_OP;
}

static void wraps(void)
{
	static uint8_t memory[4096] __attribute__((aligned(64))), slots[ENTRIES];
	static struct rmc_operands operands[ENTRIES];
	static struct rmc_wq_entry wq[ENTRIES];
	static struct rmc_cq_entry cq[ENTRIES];
	static struct rmc_qp_flags flags = { .shared_cpu = 1 };
	struct fake_rmc rmc = { .wq = wq, .cq = cq, .flags = &flags, .entries = ENTRIES,
				.execute = execute };
	struct rmc_reader_options o = { .scheme = rmc_scheme_find("plain"), .max = 64,
					.window = READS, .memory = memory };
	struct rmc_object_read rd[READS] = { { .len = 64 }, { .len = 64 }, { .len = 64 } }, *done;
	unsigned int i, came[READS] = { 0 };
	struct rmc_reader *r;
	struct rmc_qp qp;

	rmc_qp_init_raw(&qp, wq, cq, &flags, slots, operands, ENTRIES);
	fake_rmc_start(&rmc);
	r = rmc_reader_open(&qp, &o);
	CHECK(r != NULL);
	r->done_head = r->done_tail = -2U;
	for (i = 0; i < READS; i++)
		CHECK_EQ(rmc_reader_start(r, &rd[i]), 0);
	/* all reads finish before one is taken */
	while (r->active) {
		struct rmc_completion c;

		if (rmc_cq_next(&qp, &c))
			rmc_reader_completed(r, c.slot, c.status);
		else
			usleep(10);
	}
	while (rmc_reader_poll(r, &done) == 1)
		came[done - rd]++;
	for (i = 0; i < READS; i++)
		CHECK_EQ(came[i], 1);
	rmc_reader_close(r);
	fake_rmc_stop(&rmc);
}

/* Steps have what they need, and the public half of a row is that of its parts. */
static void rows(void)
{
	const struct rmc_scheme *pub;
	unsigned int i;

	for (i = 0; (pub = rmc_scheme_number(i)); i++) {
		const struct scheme *s = scheme_of(pub);
		unsigned int latches = 0, unlatches = 0, messages = 0, fetches = 0;
		const struct step *p;

		CHECK(!s->latch == !s->layout->latch_at);
		if (s->latch) {
			CHECK(s->latch->acquire == pub->acquire);
			CHECK(s->latch->release == pub->release);
		}
		for (p = s->read; p->op != STEP_USE; p++) {
			latches += p->op == STEP_LATCH;
			unlatches += p->op == STEP_UNLATCH;
			messages += p->op == STEP_MESSAGE;
			fetches += p->op == STEP_READ || p->op == STEP_SABRE ||
				   p->op == STEP_MESSAGE;
			CHECK(p->part != PART_LATCH || s->latch);
			if (p->op == STEP_CHECK)
				CHECK(p->part == PART_LATCH ? !!s->latch->check : !!pub->check);
		}
		CHECK(fetches > 0);
		CHECK_EQ(latches, s->latch ? 1 : 0);
		CHECK_EQ(unlatches, s->latch && s->latch->flags & LATCH_RELEASED ? 1 : 0);
		CHECK(!messages == !(pub->flags & RMC_SCHEME_MESSAGE));
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "rows of the table are complete", rows },
		{ "each read comes once where positions wrap", wraps },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
