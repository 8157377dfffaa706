// SPDX-License-Identifier: GPL-2.0
/*
 * Any WQ entry of an application: one CQ entry per entry, I-1, I-5. All nodes are honest, so no
 * tid, credit or transfer remains in use either.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void reap(struct fuzz *b, bool *busy, u32 *done)
{
	u32 slot, status, op;

	while (app_poll(&b->a, &slot, &status)) {
		MUST(slot < ENTRIES && busy[slot] && status < RMC_S_DOMAIN_MAX);
		op = b->a.wq[slot].word0 >> RMC_WQE_OP_SHIFT & RMC_WQE_OP_MASK;
		/* an ordinary queue pair has nothing to resume */
		MUST(op == RMC_OP_RESUME ? status :
		     !(rmc_op_mask() >> op & 1) == (status == RMC_S_BAD_OP));
		busy[slot] = false;
		++*done;
	}
}

static void check_clean(struct fuzz *b)
{
	struct rmc_itt *itt;
	u32 i, u, n;

	for (u = 0; u < b->w.opts.units; u++) {
		itt = &b->w.node[0]->unit[u]->itt;
		MUST(!itt->used && !itt->announced && !itt->restarts);
		MUST(itt->quarantined == RMC_TID_NONE);
		for (i = itt->free, n = 0; i != RMC_TID_NONE; i = itt->entry[i].next)
			n++;
		MUST(n == itt->size);
		for (i = 0; i < NODES; i++)
			MUST(!b->w.node[i]->unit[u]->att.live && !b->w.node[i]->unit[u]->att.used);
	}
	for (i = 0; i < NODES; i++)
		MUST(testbed_credits_home(&b->w, 0, i));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const u8 ops[] = {
		RMC_OP_READ, RMC_OP_WRITE, RMC_OP_CAS, RMC_OP_FAA, RMC_OP_NOTIFY,
		RMC_OP_WRITE_NOTIFY, RMC_OP_SABRE, RMC_OP_SABRE,
	};
	struct input in = { data, size };
	bool busy[ENTRIES] = { false };
	u32 posted = 0, done = 0;
	struct fuzz b;

	fuzz_init(&b, &in, false);
	while (in.left) {
		u32 how = take(&in, 1), op, at, off, len, times = 1;
		u64 word0, word1;

		if (how & 0x10)
			testbed_visit(&b.w);
		reap(&b, busy, &done);
		switch (how & 3) {
		case 0:
			fuzz_chaos(&b, &in);
			continue;
		case 1:
			/* likely to pass validation */
			op = ops[how >> 5], at = take(&in, 2), off = take(&in, 2);
			len = take(&in, 2);
			if (op == RMC_OP_CAS || op == RMC_OP_FAA)
				len = 8;
			else if (op == RMC_OP_NOTIFY)
				len = 0;
			else
				len = how & 4 ? len % (BUF / 8) + 8 : len % (2 * BUF);
			if (how & 8)
				times = 1 + (off >> 13);
			off = how & 4 ? off % 16 * 512 : off % (SEG + 64);
			word0 = rmc_wqe_word0(op, (at >> 14) % 4,
					      (uintptr_t)b.buf + (how & 4 ? at % 64 : at % (BUF + 64)), 0);
			word1 = rmc_wqe_word1(off, len);
			break;
		case 2:
			op = take(&in, 1) % 12;
			word0 = rmc_wqe_word0(op, how >> 2 & 3, (uintptr_t)b.buf + take(&in, 2), 0);
			word1 = take(&in, 8);
			break;
		default:
			word0 = take(&in, 8);
			word1 = take(&in, 8);
			break;
		}
		for (; times && !busy[b.a.head & (ENTRIES - 1)]; times--) {
			busy[b.a.head & (ENTRIES - 1)] = true;
			app_post_raw(&b.a, word0, word1);
			posted++;
		}
	}
	fuzz_calm(&b);
	reap(&b, busy, &done);
	MUST(done == posted);
	check_clean(&b);
	fuzz_fini(&b);
	return 0;
}
