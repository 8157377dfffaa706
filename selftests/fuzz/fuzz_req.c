// SPDX-License-Identifier: GPL-2.0
/*
 * Whatever a peer writes into its request ring: one reply each, and not a byte
 * outside the segment, I-1, I-5. Node 1 stands still and its ring is ours.
 */
#include "bed.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct rmc_ring req, rep;
	u32 sent = 0, got = 0;
	bool wild = false;
	struct rmc_fabric *f;
	struct rmc_desc d;
	struct bed b;
	u8 *mem;
	u32 i;

	bed_init(&b, &in);
	f = &b.w.fabric[0];
	b.w.frozen[1] = true;
	f->dead_ms = 1000000;
	mem = f->ops->channel(f, 1, 0);
	rmc_ring_init(&req, mem, f->ring_order, f->pay_order);
	rmc_ring_init(&rep, mem + rmc_ring_bytes(f->ring_order, f->pay_order), f->ring_order,
		      f->pay_order);
	while (in.left) {
		u32 how = take(&in, 1);
		u64 word0, word1;

		if (how & 1) {
			u32 op = take(&in, 1), off = take(&in, 2), len = take(&in, 2);

			word0 = rmc_req_word0(op % 12 | (op & 0x80), how & 2 ? CTX : how >> 2, how, sent);
			word1 = rmc_req_word1(off % (SEG + 64), how & 4 ? 8 : len % 1200, how & 8);
		} else {
			word0 = take(&in, 7);
			word1 = take(&in, 8);
		}
		if ((how & 0xc0) == 0xc0) {
			/* somewhere, any lap: nobody promised to be answered */
			struct rmc_desc *s = &req.desc[how >> 2 & req.mask];

			WRITE_ONCE(s->word1, word1);
			WRITE_ONCE(s->word0, word0 | (u64)how << 56);
			memset(req.pay, how, RMC_LINE);
			wild = true;
		} else if (sent - got <= req.mask) {
			rmc_ring_put(&req, word0 & ~(0xffULL << 56), word1);
			sent++;
		}
		*rmc_bell_word(f, 0, how >> 4 & 1, 0) |= 2 | (u64)(how >> 5) << 2;
		if (how & 0x20)
			world_visit(&b.w);
		while (rmc_ring_peek(&rep, 0, &d)) {
			rep.pos++;
			got++;
		}
	}
	*rmc_bell_word(f, 0, RMC_LANE_REQ, 0) |= 2;
	bed_age(&b);
	for (i = 0; i <= rep.mask && rmc_ring_peek(&rep, 0, &d); i++) {
		rep.pos++;
		got++;
	}
	/* who writes anywhere may hit his own requests */
	MUST(wild || got == sent);
	bed_fini(&b);
	return 0;
}
