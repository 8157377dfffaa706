// SPDX-License-Identifier: GPL-2.0
/*
 * Bounds: the numbers of a fabric and of a region's header, and what a filter may hold
 * if a hostile peer writes any values to its wire.
 */
#include "../tap.h"
#include "testbed.h"
#include "kmod/core/pipeline.h"
#include "kmod/fabric/region.h"

static const struct rmc_fabric good = {
	.nodes = 4, .unit_order = 1, .rrpp_order = 1, .interleave = 4096, .mtu = 512,
	.ring_order = 4, .pay_order = 4,
};

#define REFUSED(change) do {							\
	struct rmc_fabric f = good;						\
										\
	f.change;								\
	CHECK_EQ(rmc_fabric_check(&f), -EINVAL);				\
} while (0)

#define ACCEPTED(change) do {							\
	struct rmc_fabric f = good;						\
										\
	f.change;								\
	CHECK_EQ(rmc_fabric_check(&f), 0);					\
} while (0)

static void test_numbers(void)
{
	struct rmc_fabric f = good;

	CHECK_EQ(rmc_fabric_check(&f), 0);
	CHECK_EQ(f.endpoints, 8);
	CHECK_EQ(f.block_shift, 12);
	CHECK_EQ(f.cut, 512);
	CHECK_EQ(f.cut_mask, 511);
	f.mtu = 576;
	f.interleave = 256;
	CHECK_EQ(rmc_fabric_check(&f), 0);
	CHECK_EQ(f.cut, 256);
	f.interleave = 4096;
	CHECK_EQ(rmc_fabric_check(&f), 0);
	CHECK_EQ(f.cut, 512);
	f.rrpp_order = 0;
	CHECK_EQ(rmc_fabric_check(&f), 0);
	CHECK_EQ(f.cut, 576);
	CHECK_EQ(f.cut_mask, 63);

	REFUSED(nodes = 0);
	REFUSED(nodes = RMC_MAX_NODES / 2 + 1);
	REFUSED(nodes = RMC_MAX_NODES + 1);
	REFUSED(nodes = 1U << 31);	/* shifted out if there are two units */
	ACCEPTED(nodes = RMC_MAX_NODES / 2);
	f = good;
	f.unit_order = f.rrpp_order = 0;
	f.nodes = RMC_MAX_NODES + 1;
	CHECK_EQ(rmc_fabric_check(&f), -EINVAL);
	f.nodes = RMC_MAX_NODES;
	CHECK_EQ(rmc_fabric_check(&f), 0);
	REFUSED(unit_order = 4);
	REFUSED(unit_order = 31);
	ACCEPTED(unit_order = 3);
	REFUSED(unit_order = 0);	/* more RRPPs than units */
	REFUSED(rrpp_order = 2);
	ACCEPTED(rrpp_order = 0);
	REFUSED(interleave = 0);
	REFUSED(interleave = 32);
	REFUSED(interleave = 96);
	REFUSED(interleave = 4097);
	REFUSED(interleave = RMC_INTERLEAVE_MAX * 2);
	REFUSED(interleave = RMC_INTERLEAVE_MAX - 64);
	ACCEPTED(interleave = RMC_INTERLEAVE_MIN);
	ACCEPTED(interleave = RMC_INTERLEAVE_MAX);
	REFUSED(mtu = 0);
	REFUSED(mtu = 32);
	REFUSED(mtu = 65);
	REFUSED(mtu = 1024 + 64);	/* more than the ring has */
	ACCEPTED(mtu = 1024);
	ACCEPTED(mtu = RMC_MTU_MIN);
	REFUSED(ring_order = RMC_RING_ORDER_MIN - 1);
	REFUSED(ring_order = RMC_RING_ORDER_MAX + 1);
	ACCEPTED(ring_order = RMC_RING_ORDER_MIN);
	ACCEPTED(ring_order = RMC_RING_ORDER_MAX);
	REFUSED(pay_order = 2);
	REFUSED(pay_order = RMC_PAY_ORDER_MAX + 1);
	REFUSED(pay_order = 40);
	ACCEPTED(pay_order = RMC_PAY_ORDER_MAX);
	f = good;
	f.pay_order = RMC_PAY_ORDER_MAX;
	f.mtu = RMC_MTU_MAX + 64;
	CHECK_EQ(rmc_fabric_check(&f), -EINVAL);
	f.mtu = RMC_MTU_MAX;
	CHECK_EQ(rmc_fabric_check(&f), 0);
	tap_result("a fabric's numbers, and those just beyond");
}

static void header(struct rmc_region *r, const struct rmc_fabric *numbers)
{
	struct rmc_region_head *h = r->base;
	struct rmc_fabric f = *numbers;

	CHECK_EQ(rmc_fabric_check(&f), 0);
	*h = (struct rmc_region_head){
		.magic = RMC_REGION_MAGIC, .version = RMC_REGION_VERSION, .nodes = f.nodes,
		.mtu = f.mtu, .ring_order = f.ring_order, .pay_order = f.pay_order,
		.unit_order = f.unit_order, .rrpp_order = f.rrpp_order,
		.interleave = f.interleave, .bytes = rmc_region_layout(r, &f),
	};
}

/* Tables and channels follow each other, each as long as it must be */
static void check_layout(const struct rmc_region *r, const struct rmc_fabric *f)
{
	u32 last = f->endpoints - 1;
	u8 *end;

	CHECK((u8 *)f->node - (u8 *)r->base >= (long)sizeof(struct rmc_region_head));
	CHECK((u8 *)(f->node + f->nodes) <= (u8 *)f->doorbell);
	CHECK((u8 *)(f->doorbell + f->endpoints * RMC_LANES) <= (u8 *)f->sync);
	CHECK((u8 *)(f->sync + f->endpoints * f->nodes) <= (u8 *)r->base + r->channels);
	CHECK(!((uintptr_t)f->doorbell % 8) && !(r->channels % PAGE_SIZE));
	CHECK(r->stride >= rmc_channel_bytes(f) && !(r->stride % PAGE_SIZE));
	end = rmc_region_channel(r, f, last, last);
	CHECK(end + r->stride <= (u8 *)r->base + r->bytes);
	CHECK_EQ((u8 *)rmc_region_channel(r, f, 1, 0) - (u8 *)rmc_region_channel(r, f, 0, last),
		 r->stride);
}

static void test_header(void)
{
	struct rmc_region r = { .base = aligned_alloc(PAGE_SIZE, 64 << 20), .bytes = 64 << 20 };
	struct rmc_region_head *h = r.base;
	struct rmc_fabric f = { 0 }, many = good;
	u64 bytes;

	memset(r.base, 0, PAGE_SIZE);
	header(&r, &good);
	CHECK_EQ(rmc_region_adopt(&r, &f), 0);
	CHECK_EQ(f.nodes, 4);
	CHECK_EQ(f.mtu, 512);
	CHECK_EQ(f.ring_order, 4);
	CHECK_EQ(f.pay_order, 4);
	CHECK_EQ(f.unit_order, 1);
	CHECK_EQ(f.rrpp_order, 1);
	CHECK_EQ(f.interleave, 4096);
	check_layout(&r, &f);
	many.nodes = 17;
	many.unit_order = 2;
	header(&r, &many);
	CHECK_EQ(rmc_region_adopt(&r, &f), 0);
	check_layout(&r, &f);

	/* the exact size, a byte less */
	header(&r, &good);
	bytes = h->bytes;
	r.bytes = bytes;
	CHECK_EQ(rmc_region_adopt(&r, &f), 0);
	check_layout(&r, &f);
	r.bytes = bytes - 1;
	CHECK_EQ(rmc_region_adopt(&r, &f), -EPROTO);
	r.bytes = 64 << 20;
	/* the header has less or more than its numbers need */
	h->bytes = bytes - PAGE_SIZE;
	CHECK_EQ(rmc_region_adopt(&r, &f), -EPROTO);
	h->bytes = bytes + PAGE_SIZE;
	CHECK_EQ(rmc_region_adopt(&r, &f), -EPROTO);
	h->bytes = bytes;

#define BROKEN(field, value, err) do {						\
	typeof(h->field) was = h->field;					\
										\
	h->field = value;							\
	CHECK_EQ(rmc_region_adopt(&r, &f), err);				\
	h->field = was;								\
} while (0)
	BROKEN(magic, RMC_REGION_MAGIC + 1, -ENOENT);
	BROKEN(version, RMC_REGION_VERSION + 1, -ENOENT);
	BROKEN(version, RMC_REGION_VERSION - 1, -ENOENT);
	BROKEN(nodes, 5, -EPROTO);
	BROKEN(nodes, 0, -EPROTO);
	BROKEN(unit_order, 0, -EPROTO);
	BROKEN(unit_order, 40, -EPROTO);
	BROKEN(rrpp_order, 2, -EPROTO);
	BROKEN(interleave, 96, -EPROTO);
	BROKEN(interleave, 0, -EPROTO);
	BROKEN(mtu, 100, -EPROTO);
	BROKEN(ring_order, 8, -EPROTO);
	BROKEN(ring_order, 64, -EPROTO);
	BROKEN(pay_order, 5, -EPROTO);
	BROKEN(pay_order, 64, -EPROTO);
	CHECK_EQ(rmc_region_adopt(&r, &f), 0);
	free(r.base);
	tap_result("a header that describes what is not there");
}

/* Zeroed memory is no packet for any pair of epochs, and adjacent epochs differ in lap. */
static void test_lives(void)
{
	struct rmc_ring a = { 0 }, b = { 0 };
	u32 requester, server;
	u64 line[64] = { 0 };
	struct rmc_desc d;

	rmc_ring_init(&a, line, 2, 0);
	rmc_ring_init(&b, line, 2, 0);
	for (requester = 1; requester < 300; requester++)
		for (server = 1; server < 300; server++) {
			rmc_ring_begin(&a, requester, server);
			if (rmc_ring_peek(&a, 0, &d) || rmc_ring_ready(&a))
				CHECK(!"empty");
			rmc_ring_begin(&b, requester + 1, server);
			if (rmc_ring_lap(&a, a.pos) == rmc_ring_lap(&b, b.pos))
				CHECK(!"another requester's life");
			rmc_ring_begin(&b, requester, server + 1);
			if (rmc_ring_lap(&a, a.pos) == rmc_ring_lap(&b, b.pos))
				CHECK(!"another server's life");
		}
	tap_result("rings: each life has laps of its own");
}

/* Length and alignment of an atomic come from a peer, not from a validating RGP. */
static void test_atomics(void)
{
	static const struct { u64 offset; u32 length; u8 status; } tries[] = {
		{ 8, 8, RMC_S_OK }, { 4, 8, RMC_S_BAD_ALIGN }, { 9, 8, RMC_S_BAD_ALIGN },
		{ 60, 8, RMC_S_BAD_ALIGN }, { 8, 4, RMC_S_BAD_ALIGN }, { 8, 16, RMC_S_BAD_ALIGN },
	};
	static u64 memory[32] __attribute__((aligned(64)));
	u64 operands[8] __attribute__((aligned(64))) = { 0, 5 };
	struct rmc_mem *m = mem_make(memory, sizeof(memory), 63, 0);
	struct rmc_ring rx = { .pay = (u8 *)operands };
	struct rmc_serve s = { .seg = m, .rx = &rx, .tx = &rx };
	u32 i, k, changed;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		s.req.offset = tries[i].offset;
		s.req.length = tries[i].length;
		memset(memory, 0, sizeof(memory));
		operands[0] = 3;
		CHECK_EQ(rmc_faa_serve(&s), tries[i].status);
		operands[0] = 0;
		if (!tries[i].status)
			memset(memory, 0, sizeof(memory));
		CHECK_EQ(rmc_cas_serve(&s), tries[i].status);
		for (k = 0, changed = 0; k < ARRAY_SIZE(memory); k++)
			changed += memory[k] != 0;
		CHECK_EQ(changed, tries[i].status ? 0 : 1);
	}
	mem_free(m);
	tap_result("atomics that a peer makes up");
}

static void test_announcements(void)
{
	CHECK_EQ(rmc_announce_length(RMC_REQ_FIRST), 0);
	CHECK_EQ(rmc_announce_length(RMC_REQ_FIRST | 1), 0);
	CHECK_EQ(rmc_announce_length(1ULL << 48 | 63ULL << RMC_REQ_SURPLUS_SHIFT | RMC_REQ_FIRST | 1), 0);
	CHECK_EQ(rmc_announce_length(1ULL << 48 | 63ULL << RMC_REQ_SURPLUS_SHIFT | RMC_REQ_FIRST | 63), 0);
	CHECK_EQ(rmc_announce_length(1ULL << 48 | 62ULL << RMC_REQ_SURPLUS_SHIFT | RMC_REQ_FIRST | 1), 1);
	tap_result("announcements of less than nothing");
}

/* ---- filters ---- */

/* A node; the test writes the memory of its peer's channel */
struct wire {
	struct testbed w;
	struct rmc_node *node;
	struct rmc_filter *flt;
	struct rmc_ring tx, rx;		/* the peer's end, the pipeline's */
	void *mem;
	bool claims;
};

static void wire_init(struct wire *v, enum rmc_lane lane, const struct rmc_fault *fault)
{
	struct testbed_opts o = { .nodes = 2, .mtu = 64, .ring_order = 2, .pay_order = 2 };

	memset(v, 0, sizeof(*v));
	testbed_init(&v->w, &o);
	v->node = v->w.node[0];
	v->mem = aligned_alloc(64, rmc_ring_bytes(2, 2));
	memset(v->mem, 0, rmc_ring_bytes(2, 2));
	rmc_ring_init(&v->tx, v->mem, 2, 2);
	rmc_ring_init(&v->rx, v->mem, 2, 2);
	v->flt = rmc_filter_create(v->w.fabric, lane, true);
	rmc_filter_set(v->flt, fault, 99);
	v->node->links.filter[lane][1] = v->flt;
	CHECK(rmc_filter_open(&v->node->links, 1, lane, &v->rx));
	CHECK(v->flt->rx == &v->rx);
}

static void wire_fini(struct wire *v)
{
	rmc_filter_close(v->flt);
	testbed_fini(&v->w);
	free(v->mem);
}

static bool earlier(const struct rmc_packet *a, const struct rmc_packet *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : (s32)(a->seq - b->seq) < 0;
}

/* A filter never holds more than fits, and each line is used once. */
static void check_filter(struct wire *v)
{
	struct rmc_filter *flt = v->flt;
	u32 lines = flt->tx.pay_mask + 1, i, used = 0, copies = 0, n;
	u16 line;

	CHECK(flt->held <= flt->room);
	CHECK(flt->frees <= lines);
	CHECK(flt->copies <= flt->wire.mask + 1);
	CHECK(flt->copy_lines <= flt->wire.pay_mask + 1);
	CHECK(flt->tx.pos - v->rx.pos <= flt->tx.mask + 1);
	/* except for lines that were only claimed */
	CHECK(flt->tx.pay_pos - v->rx.pay_pos <= lines || v->claims);
	for (i = 0; i < flt->held && i < flt->room; i++) {
		const struct rmc_packet *p = &flt->heap[i];

		if (i)
			CHECK(!earlier(p, &flt->heap[(i - 1) / 2]));
		copies += flt->lane == RMC_LANE_REP && p->word0 & RMC_REP_COPY;
		if (p->line != RMC_NO_LINE)
			used += p->lines;
	}
	CHECK_EQ(copies, flt->copies);
	CHECK_EQ(used + flt->frees, lines);
	for (n = 0, line = flt->free; n < flt->frees && n < lines; n++, line = flt->next[line]) {
		CHECK(line < lines);
		if (line >= lines)
			break;
	}
}

static void wire_put(struct wire *v, u64 word0, u64 word1)
{
	rmc_ring_put(&v->tx, word0, word1);
}

/* The pipeline takes a packet, as the RCP does: payload of successful replies only */
static bool wire_take_one(struct wire *v, u64 *word0, const u8 **payload)
{
	struct rmc_desc d;

	if (!rmc_ring_peek(&v->rx, 0, &d))
		return false;
	v->rx.pos++;
	*word0 = d.word0;
	*payload = rmc_ring_line(&v->rx, v->rx.pay_pos);
	if (!(d.word0 >> 40 & 0xff) || v->flt->lane == RMC_LANE_REQ)
		v->rx.pay_pos += v->flt->lane == RMC_LANE_REP ?
			rmc_op_echo_lines(rmc_op_flags(d.word0 >> 48), d.word1) :
			rmc_op_req_lines(rmc_op_flags(d.word0 >> 48),
					 rmc_word1_offset(d.word1), rmc_word1_length(d.word1));
	return true;
}

/* Takes all published packets */
static u32 wire_take(struct wire *v, u64 *word0)
{
	const u8 *payload;
	u32 n = 0;

	while (wire_take_one(v, word0, &payload))
		n++;
	return n;
}

/* A packet with payload: a reply to a read, or a write. */
static u64 wire_word0(enum rmc_lane lane)
{
	return lane == RMC_LANE_REP ?
	       rmc_rep_word0(&(struct rmc_req){ .op = RMC_OP_READ }, 0) :
	       rmc_req_word0(RMC_OP_WRITE, 0, 0, 0);
}

/* Such packets with @lines lines of payload each, of which all bytes are @byte. */
static void wire_send(struct wire *v, u32 packets, u32 lines, u8 byte)
{
	u32 i;

	while (packets--) {
		for (i = 0; i < lines; i++)
			memset(rmc_ring_line(&v->tx, v->tx.pay_pos + i), byte, RMC_LINE);
		v->tx.pay_pos += lines;
		wire_put(v, wire_word0(v->flt->lane), rmc_req_word1(0, lines * RMC_LINE, true));
	}
}

/* Nothing is due, and the peer refills its ring as soon as it is empty. */
static void test_flood(void)
{
	static const struct rmc_fault late = { .delay_ns = 9000000000ULL };
	static const u32 lengths[] = { 0, 64, 128 };
	struct wire v;
	u32 round, i, k;
	u64 word0;

	for (k = 0; k < RMC_LANES * ARRAY_SIZE(lengths); k++) {
		enum rmc_lane lane = k % RMC_LANES;
		u32 length = lengths[k / RMC_LANES];

		testbed_now_ns = TESTBED_START_NS;
		wire_init(&v, lane, &late);
		for (round = 0; round < 60; round++) {
			for (i = 0; i < 4; i++)
				wire_put(&v, wire_word0(lane), rmc_req_word1(0, length, true));
			rmc_filter_pump(&v.node->links, v.flt);
			check_filter(&v);
			/* consumed or not, they are written anew */
			v.tx.pos = v.flt->wire.pos;
		}
		CHECK(v.flt->held > (length ? 3 : 8));
		CHECK_EQ(wire_take(&v, &word0), 0);
		/* all due at once: no more than fit the private ring */
		testbed_now_ns += 10000000000ULL;
		for (round = 0; round < 60; round++) {
			testbed_now_ns += 1000000000ULL;
			rmc_filter_pump(&v.node->links, v.flt);
			check_filter(&v);
			if (round % 4 == 3)
				wire_take(&v, &word0);
		}
		CHECK_EQ(v.flt->held, 0);
		CHECK_EQ(v.flt->frees, v.flt->tx.pay_mask + 1);
		wire_fini(&v);
	}
	tap_result("filter: a peer that never stops sending");
}

/* A pipeline slower than the peer: packets that it has not taken do not change. */
static void test_slow_pipeline(void)
{
	static const struct rmc_fault none;
	u32 k, round, sent, taken;
	const u8 *payload;
	struct wire v;
	u64 word0;

	for (k = 0; k < RMC_LANES * 2; k++) {
		u32 lines = 1 + k / RMC_LANES;

		testbed_now_ns = TESTBED_START_NS;
		wire_init(&v, k % RMC_LANES, &none);
		for (round = sent = taken = 0; round < 600; round++) {
			/* the wire has four slots and four lines */
			if (round < 500 && v.tx.pos - v.flt->wire.pos < 4 / lines)
				wire_send(&v, 1, lines, sent++);
			rmc_filter_pump(&v.node->links, v.flt);
			check_filter(&v);
			if (round % 5 && round < 500)
				continue;
			CHECK_EQ(wire_take_one(&v, &word0, &payload), taken < sent);
			if (taken == sent)
				continue;
			CHECK_EQ(payload[0], (u8)taken);
			CHECK(!memcmp(payload, payload + 1, RMC_LINE - 1));
			taken++;
		}
		CHECK(sent > 100 && taken == sent);
		wire_fini(&v);
	}
	tap_result("filter: a pipeline that is slower than the peer");
}

/* The number of copies is limited, however often packets are duplicated. */
static void test_copies(void)
{
	static const struct rmc_fault dup = { .dup = RMC_ALWAYS, .gap_ns = 5000000000ULL };
	static const struct rmc_fault late = { .delay_ns = 5000000000ULL };
	const u8 *payload;
	u32 round, n = 0;
	struct wire v;
	u64 word0;

	testbed_now_ns = TESTBED_START_NS;
	wire_init(&v, RMC_LANE_REP, &dup);
	for (round = 0; round < 200; round++) {
		wire_put(&v, rmc_rep_word0(&(struct rmc_req){ .op = RMC_OP_READ, .tid = round }, 0),
			 rmc_req_word1(0, 64, true));
		rmc_filter_pump(&v.node->links, v.flt);
		check_filter(&v);
		n += wire_take(&v, &word0);
		CHECK_EQ(n, round + 1);
		CHECK_EQ(!!(word0 & RMC_REP_DUPLICATED), round < 4);
		CHECK(!(word0 & RMC_REP_COPY));
	}
	CHECK_EQ(v.flt->copies, 4);
	CHECK_EQ(v.flt->copy_lines, 4);
	CHECK_EQ(v.flt->stats.doubled, 4);
	testbed_now_ns += 6000000000ULL;
	rmc_filter_pump(&v.node->links, v.flt);
	CHECK_EQ(wire_take(&v, &word0), 4);
	CHECK(word0 & RMC_REP_COPY);
	check_filter(&v);
	CHECK_EQ(v.flt->copies, 0);
	CHECK_EQ(v.flt->copy_lines, 0);
	/* replies to writes have no lines, nor have their copies */
	for (round = 0; round < 20; round++) {
		wire_put(&v, rmc_rep_word0(&(struct rmc_req){ .op = RMC_OP_WRITE }, 0),
			 rmc_req_word1(0, 64, true));
		rmc_filter_pump(&v.node->links, v.flt);
		check_filter(&v);
		wire_take(&v, &word0);
	}
	CHECK_EQ(v.flt->copies, 4);
	CHECK_EQ(v.flt->copy_lines, 0);
	wire_fini(&v);

	/* long copies leave room for the longest packet that may arrive, which is not delayed */
	wire_init(&v, RMC_LANE_REP, &dup);
	for (round = 0; round < 20; round++) {
		wire_send(&v, 1, round % 2 ? 4 : 2, round);
		rmc_filter_pump(&v.node->links, v.flt);
		check_filter(&v);
		CHECK_EQ(wire_take(&v, &word0), 1);
	}
	CHECK_EQ(v.flt->copies, 2);
	CHECK_EQ(v.flt->copy_lines, 4);
	wire_fini(&v);

	/* a peer that sends more than it may has used the last line: none is left for a copy */
	wire_init(&v, RMC_LANE_REP, &late);
	for (round = 0; round < 8; round++) {
		if (round == 7)
			rmc_filter_set(v.flt, &dup, 0);
		wire_send(&v, 1, 1, round);
		rmc_filter_pump(&v.node->links, v.flt);
		check_filter(&v);
	}
	CHECK_EQ(v.flt->copies, 0);
	CHECK_EQ(wire_take(&v, &word0), 1);
	CHECK(!(word0 & (RMC_REP_COPY | RMC_REP_DUPLICATED)));
	testbed_now_ns += 6000000000ULL;
	rmc_filter_pump(&v.node->links, v.flt);
	check_filter(&v);
	for (round = 0; wire_take_one(&v, &word0, &payload); round++)
		CHECK_EQ(payload[RMC_LINE - 1], round);
	CHECK_EQ(round, 7);
	CHECK_EQ(v.flt->held, 0);
	wire_fini(&v);
	tap_result("filter: copies have their bounds");
}

/* Only filters set marks; a packet that claims more lines than exist has no payload. */
static void test_claims(void)
{
	static const struct rmc_fault none;
	static const u32 lengths[] = { 0xffff, 257, 64 * 5, 65 };
	struct wire v;
	u64 word0;
	u32 i;

	testbed_now_ns = TESTBED_START_NS;
	wire_init(&v, RMC_LANE_REP, &none);
	v.claims = true;
	wire_put(&v, rmc_rep_word0(&(struct rmc_req){ .op = RMC_OP_WRITE }, 0) | RMC_REP_COPY |
		 RMC_REP_DUPLICATED, 0);
	rmc_filter_pump(&v.node->links, v.flt);
	CHECK_EQ(wire_take(&v, &word0), 1);
	CHECK(!(word0 & (RMC_REP_COPY | RMC_REP_DUPLICATED)));
	CHECK_EQ(v.flt->copies, 0);
	for (i = 0; i < 12; i++) {
		wire_put(&v, rmc_rep_word0(&(struct rmc_req){ .op = RMC_OP_READ }, 0),
			 rmc_req_word1(i % 3 ? 0 : 63, lengths[i % 4], true));
		rmc_filter_pump(&v.node->links, v.flt);
		check_filter(&v);
		CHECK_EQ(wire_take(&v, &word0), 1);
		CHECK_EQ(v.rx.pay_pos, v.flt->tx.pay_pos);
		CHECK_EQ(v.flt->frees, v.flt->tx.pay_mask + 1);
	}
	wire_fini(&v);
	wire_init(&v, RMC_LANE_REQ, &none);
	wire_put(&v, rmc_req_word0(RMC_OP_WRITE, 0, 0, 0) | RMC_REQ_LOST, rmc_req_word1(0, 64, true));
	rmc_filter_pump(&v.node->links, v.flt);
	CHECK_EQ(wire_take(&v, &word0), 1);
	CHECK(!(word0 & RMC_REQ_LOST));
	wire_fini(&v);
	tap_result("filter: marks and payload that a peer makes up");
}

/* The peer restarts: a filter that was full of its packets starts empty. */
static void test_reopened(void)
{
	static const struct rmc_fault none, dup = { .dup = RMC_ALWAYS, .delay_ns = 5000000000ULL };
	struct wire v;
	u64 word0;
	u32 life;

	testbed_now_ns = TESTBED_START_NS;
	wire_init(&v, RMC_LANE_REP, &none);
	for (life = 1; life < 4; life++) {
		/* packets of the previous epoch do not arrive now */
		rmc_filter_pump(&v.node->links, v.flt);
		check_filter(&v);
		CHECK_EQ(wire_take(&v, &word0), 0);
		rmc_filter_set(v.flt, &none, 0);
		wire_send(&v, 3, 1, life);
		rmc_filter_pump(&v.node->links, v.flt);
		CHECK_EQ(wire_take(&v, &word0), 3);
		/* as many as allowed, copies too; none is taken */
		rmc_filter_set(v.flt, &dup, 0);
		wire_send(&v, 4, 1, life);
		rmc_filter_pump(&v.node->links, v.flt);
		check_filter(&v);
		CHECK_EQ(v.flt->held, 8);
		CHECK_EQ(v.flt->stats.doubled, 4 * life);
		testbed_now_ns += 6000000000ULL;
		if (life == 2)
			rmc_filter_pump(&v.node->links, v.flt);
		rmc_filter_close(v.flt);
		CHECK_EQ(v.flt->stats.held, 0);
		memset(v.mem, 0, rmc_ring_bytes(2, 2));
		rmc_ring_init(&v.tx, v.mem, 2, 2);
		rmc_ring_init(&v.rx, v.mem, 2, 2);
		CHECK(rmc_filter_open(&v.node->links, 1, RMC_LANE_REP, &v.rx));
	}
	wire_fini(&v);
	tap_result("filter: of a peer's former life nothing is left");
}

/* Only a filter without any fault is idle, and may be removed. */
static void test_idle(void)
{
	static const struct rmc_fault faults[] = {
		{ .loss = 1 }, { .dup = 1 }, { .reorder = 1 }, { .shuffle = 1 }, { .down = true },
		{ .delay_ns = 1 }, { .jitter_ns = 1 },
	}, none = { .gap_ns = 1 };
	enum rmc_lane lane;
	struct wire v;
	u32 i;

	for (lane = 0; lane < RMC_LANES; lane++) {
		wire_init(&v, lane, &none);
		CHECK(rmc_filter_idle(&v.node->links, v.flt));
		for (i = 0; i < ARRAY_SIZE(faults); i++) {
			rmc_filter_set(v.flt, &faults[i], 0);
			CHECK(!rmc_filter_idle(&v.node->links, v.flt));
		}
		rmc_filter_set(v.flt, &none, 0);
		/* the link model acts on replies, a slow node on requests */
		v.node->links.model[lane].topology = RMC_TOPOLOGY_CROSSBAR;
		CHECK_EQ(rmc_filter_idle(&v.node->links, v.flt), lane == RMC_LANE_REQ);
		v.node->links.model[lane].topology = RMC_TOPOLOGY_NONE;
		v.node->links.slow_ns = 1;
		CHECK_EQ(rmc_filter_idle(&v.node->links, v.flt), lane == RMC_LANE_REP);
		v.node->links.slow_ns = 0;
		CHECK(rmc_filter_idle(&v.node->links, v.flt));
		wire_fini(&v);
	}
	tap_result("filter: only one without any fault is idle");
}

/* Delayed in any order: passed on in the order of due times, then of arrival. */
static void test_order(void)
{
	static const struct rmc_fault jitter = { .jitter_ns = 3000000000ULL };
	struct wire v;
	u32 round, i;
	u64 word0;

	testbed_now_ns = TESTBED_START_NS;
	wire_init(&v, RMC_LANE_REP, &jitter);
	for (round = 0; round < 300; round++) {
		for (i = 0; i < 3; i++)
			wire_put(&v, rmc_rep_word0(&(struct rmc_req){ .op = RMC_OP_WRITE }, 0), 0);
		rmc_filter_pump(&v.node->links, v.flt);
		v.tx.pos = v.flt->wire.pos;
		check_filter(&v);
		testbed_now_ns += 300000000;
		rmc_filter_pump(&v.node->links, v.flt);
		check_filter(&v);
		wire_take(&v, &word0);
		for (i = 0; i < v.flt->held; i++)
			CHECK(v.flt->heap[i].due_ns > testbed_now_ns);
	}
	wire_fini(&v);
	tap_result("filter: what is due is handed on, what is not stays");
}

int main(void)
{
	test_numbers();
	test_header();
	test_lives();
	test_atomics();
	test_announcements();
	test_flood();
	test_slow_pipeline();
	test_copies();
	test_claims();
	test_reopened();
	test_idle();
	test_order();
	return tap_done();
}
