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
	r->s.done_head = r->s.done_tail = -2U;
	for (i = 0; i < READS; i++)
		CHECK_EQ(rmc_reader_start(r, &rd[i]), 0);
	/* all reads finish before one is taken */
	while (r->s.done_head - r->s.done_tail < READS) {
		struct rmc_completion c;

		if (rmc_cq_next(&qp, &c))
			rmc_sync_completed(&r->s, c.slot, c.status);
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

/* Steps have what they need: latches, checks, places. */
static void program(const struct scheme *s, const struct latch *latch, const struct step *p,
		    int writes)
{
	unsigned int latches = 0, releases = 0, messages = 0, fetches = 0, stores = 0, uses = 0;
	const struct step *first = p;

	for (; p->op != STEP_END; p++) {
		latches += p->op == STEP_LATCH;
		releases += p->op == STEP_UNLATCH || p->op == STEP_SWAP;
		messages += p->op == STEP_MESSAGE;
		fetches += !uses && (p->op == STEP_READ || p->op == STEP_SABRE ||
				     p->op == STEP_MESSAGE);
		stores += p->op == STEP_WRITE;
		uses += p->op == STEP_USE;
		CHECK(p->part != PART_LATCH || latch);
		CHECK(p->op != STEP_WRITE || uses);
		if (p->op == STEP_CHECK && p->part == PART_LATCH)
			CHECK(!!latch->check);
	}
	CHECK(p - first < PROGRAM_STEPS);
	CHECK(fetches > 0);
	CHECK_EQ(uses, 1);
	CHECK_EQ(latches, latch ? 1 : 0);
	CHECK_EQ(releases, (latch && latch->flags & LATCH_RELEASED) ||
		 (writes && s->layout->flags & LAYOUT_INDEX) ? 1 : 0);
	CHECK_EQ(stores, writes);
	CHECK(!messages == !(s->pub.flags & RMC_SCHEME_MESSAGE) || writes);
}

static void rows(void)
{
	const struct rmc_scheme *pub;
	unsigned int i;

	for (i = 0; (pub = rmc_sync_number(i)); i++) {
		const struct scheme *s = scheme_of(pub);

		if (s->layout->flags & LAYOUT_WORDS) {
			CHECK(!s->latch || (s->latch->take && s->latch->leave));
		} else {
			CHECK(!s->latch == !s->layout->latch_at);
			CHECK(!s->latch || s->latch->acquire == pub->acquire);
			CHECK(!s->latch || s->latch->release == pub->release);
		}
		program(s, s->reads, s->read, 0);
		if (s->write)
			program(s, s->writes, s->write, 1);
		CHECK(!s->write == !!(pub->needs & RMC_NEEDS_OWNER));
		CHECK(pub->papers && pub->title && pub->name);
		CHECK(!(pub->flags & RMC_SCHEME_ATOMIC) == (pub->guarantee == RMC_GUARANTEE_BROKEN));
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
