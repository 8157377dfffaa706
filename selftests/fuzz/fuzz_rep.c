// SPDX-License-Identifier: GPL-2.0
/*
 * Whatever a peer answers: one CQ entry per operation, and not a byte outside the
 * local buffer, I-1, I-5. Node 1 stands still and its reply ring is ours.
 */
#include "bed.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void reap(struct bed *b, bool *busy, u32 *done)
{
	u32 slot, status;

	while (app_poll(&b->a, &slot, &status)) {
		MUST(slot < ENTRIES && busy[slot] && status < RMC_S_MAX);
		busy[slot] = false;
		++*done;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const u8 ops[] = { RMC_OP_READ, RMC_OP_READ, RMC_OP_WRITE, RMC_OP_CAS, RMC_OP_FAA,
				  RMC_OP_NOTIFY, RMC_OP_WRITE_NOTIFY, 7 };
	struct input in = { data, size };
	bool busy[ENTRIES] = { false };
	u32 posted = 0, done = 0;
	struct rmc_ring req, rep;
	struct rmc_fabric *f;
	struct rmc_desc d;
	struct bed b;
	u8 *mem;

	bed_init(&b, &in);
	f = &b.w.fabric[0];
	b.w.frozen[1] = true;
	f->dead_ms = 1000000;
	mem = f->ops->channel(f, 0, 1);
	rmc_ring_init(&req, mem, f->ring_order, f->pay_order);
	rmc_ring_init(&rep, mem + rmc_ring_bytes(f->ring_order, f->pay_order), f->ring_order,
		      f->pay_order);
	while (in.left) {
		u32 how = take(&in, 1);

		if ((how & 3) == 0) {
			/* an operation */
			u32 op = ops[take(&in, 1) % sizeof(ops)], off = take(&in, 2) % SEG & ~7U;
			u32 len = take(&in, 2) % (BUF - 64) + 1;

			if (op == RMC_OP_CAS || op == RMC_OP_FAA)
				len = 8;
			if (op == RMC_OP_NOTIFY)
				len = 0;
			if (!busy[b.a.head & (ENTRIES - 1)]) {
				busy[b.a.head & (ENTRIES - 1)] = true;
				app_post(&b.a, op, 1, off, b.buf + off % 64, len);
				posted++;
			}
		} else if ((how & 3) == 1) {
			/* an answer to the next request, true but for what the input changes */
			if (rmc_ring_peek(&req, 0, &d)) {
				struct rmc_req q;
				u64 word0;

				req.pos++;
				rmc_req_parse(&q, &d);
				word0 = rmc_rep_word0(&q, how & 4 ? take(&in, 1) : 0);
				if (how & 8)
					word0 ^= take(&in, 7) & ~(0xffULL << 56);
				rmc_ring_put(&rep, word0, how & 16 ? take(&in, 8) : d.word1);
			}
		} else if ((how & 3) == 2) {
			/* anything, anywhere */
			struct rmc_desc *s = &rep.desc[how >> 2 & rep.mask];

			WRITE_ONCE(s->word1, take(&in, 8));
			WRITE_ONCE(s->word0, take(&in, 8));
		} else {
			u64 word1 = take(&in, 8);

			rmc_ring_put(&rep, take(&in, 7) & 0x00ffffffffff000fULL, word1);
		}
		*rmc_bell_word(f, 0, RMC_LANE_REP, 0) |= 2;
		if (how & 0x20)
			world_visit(&b.w);
		if ((how & 0xc0) == 0xc0)
			world_tick(&b.w, 1);
		reap(&b, busy, &done);
	}
	bed_age(&b);
	reap(&b, busy, &done);
	/* an operation whose turn never came waits for credits: that is all it may do */
	MUST(done <= posted);
	MUST(b.w.node[0]->itt.used <= posted - done);
	bed_fini(&b);
	return 0;
}
