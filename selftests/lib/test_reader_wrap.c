/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A reader after 2^32 reads: the positions of its rings wrap. */
#include <unistd.h>
#include "../../lib/scheme/reader.c"
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
			completed(r, c.slot, c.status);
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

int main(void)
{
	static const struct tap_test tests[] = {
		{ "each read comes once where positions wrap", wraps },
	};

	return tap_run(tests, 1);
}
