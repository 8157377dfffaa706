// SPDX-License-Identifier: GPL-2.0
/*
 * Any request of peers: one reply each, and no write outside the segment, I-1, I-5. Nodes 1 and
 * 2 are frozen, and the input fills their rings. With several units, each of the two sends to
 * another unit of node 0. An input that ends with 'S' begins with a switch before node 0; one that
 * ends with 'T' with a range of transactions there.
 */
#include "fuzz.h"
#include "selftests/harness/client.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

struct peer {
	struct client c;
	u32 sent, got;
	/* the last announcement */
	u16 tid, gen;
};

static void collect(struct fuzz *b, struct peer *p)
{
	struct rmc_rep r;
	u32 i;

	/* after writes to any place, any reply is possible */
	for (i = 0; i <= p->c.rep.mask && client_reply(&p->c, &r); i++)
		p->got++;
	MUST(b->replies_optional || p->got <= p->sent);
}

/* Send any request, while there are credits. */
static void send(struct peer *p, u64 word0, u64 word1)
{
	if (p->sent - p->got > p->c.req.mask)
		return;
	client_send(&p->c, word0 & ~(0xffULL << 56), word1);
	p->sent++;
}

/* What a switch serves, of one of four clients: a tuple, its word, or a word of the switch */
static void to_switch(struct peer *p, u32 how, u32 op, u32 off)
{
	static const u8 ops[] = {
		RMC_OP_READ, RMC_OP_WRITE, RMC_OP_CAS, RMC_OP_READ, RMC_OP_WRITE_ONCE, RMC_OP_FAA,
	};
	u32 len = op & 0x40 ? 8 : 64;
	u64 word0;

	op = ops[op % ARRAY_SIZE(ops)];
	if (op == RMC_OP_CAS || op == RMC_OP_FAA)
		len = 8;
	/* the words begin in the middle */
	off = off & 0x8000 ? SEG / 2 + off % 64 * 8 : off % 8 * 64;
	word0 = rmc_req_word0(op, CTX, how, p->sent);
	send(p, word0, rmc_req_word1(off, len, true) | (u64)(how >> 5 & 3) << RMC_REQ_GROUP_SHIFT);
}

/* The second half of the segment is a range of transactions. NULL: it is read-only */
static struct rmc_tx_home *make_home(struct fuzz *b)
{
	const struct rmc_tx_limits limits = { .start = SEG / 2, .length = SEG / 2, .groups = 8,
					      .buffers = 4 };
	struct rmc_tx_home *home = rmc_tx_home_create(b->w.node[0], CTX, b->seg_mem, &limits, NULL, NULL);
	u32 i;

	if (IS_ERR(home))
		return NULL;
	for (i = 0; i < b->w.opts.units; i++)
		MUST(!rmc_tx_homes_add(b->w.node[0]->unit[i], home));
	return home;
}

/* Locks are those of transactions that are prepared. */
static void free_home(struct fuzz *b, struct rmc_tx_home *home)
{
	const struct rmc_tx_part *p = home->part;
	u32 i, locks = 0;

	for (i = 0; i < p->groups; i++)
		locks += __builtin_popcountll(p->group[i].locked);
	MUST(locks == p->locks && locks <= 4);
	for (i = 0; i < b->w.opts.units; i++)
		rmc_tx_homes_del(b->w.node[0]->unit[i], home);
	rmc_tx_home_destroy(home);
}

/*
 * A packet of a transaction: an access, or a message with one or two ranges or pieces, all of it or
 * one packet. Its fields are likely to fit those of others.
 */
static void to_home(struct peer *p, u32 how, u32 op, u32 off, u32 len)
{
	u32 mtu = p->c.f->mtu, slot = op >> 2 & 3, gen = op >> 4 & 3, kind = op & 3, at = 0, n, i;
	struct {
		struct rmc_tx_head head;
		u64 body[24];
	} m = {
		.head = { .gen = gen, .slot = slot, .count = 1 + (how >> 7), .flags = off >> 13 & 1,
			  .kind = kind == 0 ? 1 + (off >> 15) : kind == 3 ? 5 + (off >> 15) : 2 + kind },
	};
	u64 word1 = rmc_req_word1(SEG / 2 + off % 1024, 1 + len % mtu, true);

	m.body[0] = SEG / 2 + off % 1024;
	m.body[1] = kind == 1 ? len % 200 : 8;
	m.body[kind == 1 ? 2 : 3] = SEG / 2 + 1024 + off % 64;
	m.body[kind == 1 ? 3 : 4] = 8;
	if (off & 0x4000)
		((u8 *)&m)[len % sizeof(m)] ^= how;
	n = kind == 0 || kind == 3 ? 64 : 64 + (kind == 1 ? 16 : 24) * (1 + (how >> 7));
	if (kind) {
		at = n > mtu && off & 0x1000 ? mtu : 0;
		word1 = rmc_req_word1(rmc_tx_offset(slot, gen) + at, min(n - at, mtu),
				      n - at <= mtu);
		n = min(n - at, mtu);
	}
	for (i = 0; i < n; i += RMC_LINE)
		memcpy(rmc_ring_line(&p->c.req, p->c.req.pay_pos + i / RMC_LINE), (u8 *)&m + at + i,
		       min(n - i, RMC_LINE));
	if (p->sent - p->got <= p->c.req.mask)
		p->c.req.pay_pos += rmc_lines(0, n);
	send(p, rmc_req_word0(RMC_OP_TX_ACCESS + kind, CTX, 0, slot), word1);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct peer peer[2] = { 0 };
	struct rmc_tx_home *home = NULL;
	struct rmc_fabric *f;
	struct fuzz b;
	u32 i;

	fuzz_init(&b, &in, true);
	f = &b.w.fabric[0];
	b.switched = size && data[size - 1] == 'S';
	if (b.switched)
		fuzz_switch(&b, 0);
	if (size && data[size - 1] == 'T')
		home = make_home(&b);
	for (i = 0; i < 2; i++)
		client_init_at(&peer[i].c, &b.w, fuzz_endpoint(&b, 1 + i, i),
			       fuzz_endpoint(&b, 0, i));
	while (in.left) {
		u32 how = take(&in, 1), op, off, len;
		struct peer *p = &peer[how >> 3 & 1];
		u64 word0, word1;

		switch (how & 7) {
		case 0:
			fuzz_chaos(&b, &in);
			break;
		case 1:
			word0 = take(&in, 7);
			send(p, word0, take(&in, 8));
			break;
		case 2:
			/* likely to pass validation */
			op = take(&in, 1), off = take(&in, 2), len = take(&in, 2);
			if (b.switched) {
				to_switch(p, how, op, off);
				break;
			}
			if (home && !(how & 0x20)) {
				to_home(p, how, op, off, len);
				break;
			}
			word0 = rmc_req_word0(op % 12 | (op & 0x80), how & 0x80 ? op : CTX, how, p->sent);
			off = op & 0x40 ? off % SEG & ~7U : off % (SEG + 64);
			len = op & 0x20 ? 8 : len % (f->mtu + 64);
			send(p, word0, rmc_req_word1(off, len, how & 0x40));
			break;
		case 3:
			/* an announcement of an object, of a part of it, or an invalid one */
			off = take(&in, 1);
			len = take(&in, 2);
			p->tid = off >> 4 & 7;
			p->gen = off >> 7;
			off = how & 0x40 ? len % SEG : off % 16 * 512;
			len = how & 0x80 ? len : len % 2048 + 8;
			send(p, rmc_req_word0(RMC_OP_SABRE, CTX, p->gen, p->tid),
			     rmc_announce_word1(off, len));
			break;
		case 4:
			/* data requests of the transfer announced last */
			word0 = rmc_req_word0(RMC_OP_SABRE, CTX, p->gen, p->tid);
			for (i = 0; i <= how >> 5; i++)
				send(p, word0, rmc_req_word1(i * 64 % SEG, 64, false));
			break;
		case 5:
			/* an object in one packet */
			off = take(&in, 1);
			len = take(&in, 2);
			word1 = rmc_req_word1(off % 16 * 512 + (how & 0x40 ? 4 : 0),
					      len % (f->mtu + 64), true);
			send(p, rmc_req_word0(RMC_OP_SABRE, CTX, how, p->sent), word1 | RMC_REQ_FIRST);
			break;
		case 6:
			/* any place, any lap, any payload: such requests need no reply */
			word0 = take(&in, 8);
			WRITE_ONCE(p->c.req.desc[how >> 4 & p->c.req.mask].word1, take(&in, 8));
			WRITE_ONCE(p->c.req.desc[how >> 4 & p->c.req.mask].word0, word0);
			memset(p->c.req.pay, how, RMC_LINE);
			b.replies_optional = true;
			break;
		case 7:
			/* doorbells of any source */
			*rmc_doorbell_word(f, p->c.to, how >> 4 & 1, 0) |= take(&in, 1);
			break;
		}
		*rmc_doorbell_word(f, p->c.to, RMC_LANE_REQ, 0) |= 1 << p->c.ep;
		if (how & 0x10)
			testbed_visit(&b.w);
		collect(&b, p);
	}
	for (i = 0; i < 2; i++)
		*rmc_doorbell_word(f, peer[i].c.to, RMC_LANE_REQ, 0) |= 1 << peer[i].c.ep;
	fuzz_calm(&b);
	for (i = 0; i < 2; i++) {
		collect(&b, &peer[i]);
		MUST(b.replies_optional || peer[i].got == peer[i].sent);
	}
	for (i = 0; i < b.w.opts.units; i++) {
		struct rmc_att *att = &b.w.node[0]->unit[i]->att;

		MUST(!att->live && !att->used && !att->first);
	}
	if (home)
		free_home(&b, home);
	fuzz_fini(&b);
	return 0;
}
