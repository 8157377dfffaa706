// SPDX-License-Identifier: GPL-2.0
/*
 * Any reply of a peer: one CQ entry per operation, and no write outside the local buffer, I-1,
 * I-5. Nodes 1 and 2 are frozen. The input fills node 1's reply rings, one per unit: valid
 * replies go to the requesting unit.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void reap(struct fuzz *b, bool *busy, u32 *done)
{
	u32 slot, status;

	while (app_poll(&b->a, &slot, &status)) {
		MUST(slot < ENTRIES && busy[slot] && status < RMC_S_DOMAIN_MAX);
		busy[slot] = false;
		++*done;
	}
}

/* Free, quarantined and used entries of the ITT add up to its size. */
static void check_itt(struct rmc_itt *itt)
{
	u32 i, n = 0;

	for (i = itt->free; i != RMC_TID_NONE; i = itt->entry[i].next)
		n++;
	for (i = itt->quarantined; i != RMC_TID_NONE; i = itt->entry[i].next)
		n++;
	MUST(n + itt->used == itt->size);
}

/* One of node 1's units, by its channel with the application's unit. */
struct unit {
	struct rmc_ring req, rep;
	u32 ep;
};

/* The next unit, in rotation, that has a request to answer, else the one in turn. */
static struct unit *pick(struct unit *unit, u32 units, u32 turn)
{
	struct rmc_desc d;
	u32 i;

	for (i = 0; i < units; i++)
		if (rmc_ring_peek(&unit[(turn + i) % units].req, 0, &d))
			return &unit[(turn + i) % units];
	return &unit[turn % units];
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const u8 ops[] = { RMC_OP_READ, RMC_OP_SABRE, RMC_OP_WRITE, RMC_OP_CAS, RMC_OP_FAA,
				  RMC_OP_NOTIFY, RMC_OP_WRITE_NOTIFY, RMC_OP_WRITE_ONCE };
	struct input in = { data, size };
	bool busy[ENTRIES] = { false };
	u32 posted = 0, done = 0, turn, i;
	struct unit unit[UNITS];
	struct rmc_fabric *f;
	struct rmc_desc d;
	struct fuzz b;

	fuzz_init(&b, &in, true);
	f = &b.w.fabric[0];
	for (i = 0; i < b.w.opts.units; i++) {
		unit[i].ep = fuzz_endpoint(&b, 1, i);
		testbed_rings(&b.w, f, b.a.qp.node->ep, unit[i].ep, &unit[i].req, &unit[i].rep);
	}
	for (turn = 0; in.left; turn++) {
		struct unit *n1 = pick(unit, b.w.opts.units, turn);
		struct rmc_ring *req = &n1->req, *rep = &n1->rep;
		u32 how = take(&in, 1), op, off, len, n;
		u64 word0, word1;

		switch (how & 7) {
		case 0:
			fuzz_chaos(&b, &in);
			break;
		case 1:
			/* an operation, sometimes to a node that never replies */
			op = ops[how >> 5], off = take(&in, 2), len = take(&in, 2);
			n = off >> 13;
			off = off % SEG & ~7U;
			len = how & 8 ? len % 512 + 8 : len % (BUF - 64) + 1;
			if (op == RMC_OP_CAS || op == RMC_OP_FAA)
				len = 8;
			if (op == RMC_OP_NOTIFY)
				len = 0;
			if (!busy[b.a.head & (ENTRIES - 1)]) {
				busy[b.a.head & (ENTRIES - 1)] = true;
				app_post(&b.a, op, n == 7 ? 2 : 1, off, b.buf + off % 64, len);
				posted++;
			}
			break;
		case 2:
			/* valid replies to the next requests */
			for (n = 0; n <= how >> 5 && rmc_ring_peek(req, 0, &d); n++) {
				struct rmc_req q;

				req->pos++;
				rmc_req_parse(&q, &d);
				rmc_ring_put(rep, rmc_rep_word0(&q, 0), d.word1);
			}
			break;
		case 3:
		case 4:
			/* a reply that is valid except for what the input changes */
			if (rmc_ring_peek(req, 0, &d)) {
				struct rmc_req q;

				req->pos++;
				rmc_req_parse(&q, &d);
				word0 = rmc_rep_word0(&q, how & 8 ? take(&in, 1) : 0);
				if (how & 0x20)
					word0 |= (u64)(take(&in, 1) & 7) << 32;
				if (how & 0x40)
					word0 ^= take(&in, 7) & ~(0xffULL << 56);
				rmc_ring_put(rep, word0, how & 0x80 ? take(&in, 8) : d.word1);
			}
			break;
		case 5:
			/* an earlier descriptor of the ring, or a later one */
			n = how >> 5;
			word0 = READ_ONCE(rep->desc[(rep->pos - n) & rep->mask].word0);
			word1 = READ_ONCE(rep->desc[(rep->pos - n) & rep->mask].word1);
			rmc_ring_put(rep, word0 & ~(0xffULL << 56), word1);
			break;
		case 6: {
			/* any value in any place */
			struct rmc_desc *s = &rep->desc[how >> 4 & rep->mask];

			WRITE_ONCE(s->word1, take(&in, 8));
			WRITE_ONCE(s->word0, take(&in, 8));
			break;
		}
		case 7:
			word1 = take(&in, 8);
			rmc_ring_put(rep, take(&in, 7) & 0x00ffffffffff000fULL, word1);
			break;
		}
		*rmc_doorbell_word(f, b.a.qp.node->ep, RMC_LANE_REP, 0) |= 1 << n1->ep;
		if (how & 0x10)
			testbed_visit(&b.w);
		reap(&b, busy, &done);
	}
	fuzz_calm(&b);
	reap(&b, busy, &done);
	/* an operation that was not sent waits for credits: no other may be left */
	MUST(done <= posted);
	MUST(testbed_in_flight(&b.w, 0) <= posted - done);
	for (i = 0; i < b.w.opts.units; i++)
		check_itt(&b.w.node[0]->unit[i]->itt);
	fuzz_fini(&b);
	return 0;
}
