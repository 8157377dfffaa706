// SPDX-License-Identifier: GPL-2.0
/* Whatever an application writes into its WQ: one CQ entry per entry, I-1, I-5. */
#include "bed.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u32 posted = 0, done = 0, slot, status;
	bool busy[ENTRIES] = { false };
	struct bed b;

	bed_init(&b, &in);
	while (in.left) {
		u32 how = take(&in, 1);
		u64 word0, word1;

		if (how & 1) {
			/* likely to get far */
			u32 op = take(&in, 1) % 12, at = take(&in, 2), off = take(&in, 2);
			u32 len = take(&in, 2);

			len = how & 2 ? 8 : len % (2 * BUF);
			word0 = rmc_wqe_word0(op, how >> 2 & 1, (uintptr_t)b.buf + at % (BUF + 64), 0);
			word1 = rmc_wqe_word1(off % (SEG + 64), len);
		} else {
			word0 = take(&in, 8);
			word1 = take(&in, 8);
		}
		if (!busy[b.a.head & (ENTRIES - 1)]) {
			busy[b.a.head & (ENTRIES - 1)] = true;
			app_post_raw(&b.a, word0, word1);
			posted++;
		}
		if (how & 8)
			world_visit(&b.w);
		if ((how & 0x70) == 0x70)
			world_tick(&b.w, 1);
		while (app_poll(&b.a, &slot, &status)) {
			MUST(slot < ENTRIES && busy[slot] && status < RMC_S_MAX);
			busy[slot] = false;
			done++;
		}
	}
	bed_age(&b);
	while (app_poll(&b.a, &slot, &status)) {
		MUST(slot < ENTRIES && busy[slot] && status < RMC_S_MAX);
		busy[slot] = false;
		done++;
	}
	MUST(done == posted);
	MUST(!b.w.node[0]->itt.used);
	bed_fini(&b);
	return 0;
}
