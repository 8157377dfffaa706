// SPDX-License-Identifier: GPL-2.0
/*
 * Read-modify-write against a model that is written by hand: every kind, both widths, on the
 * packet path and on the local path; rejected operands; and with a thread that changes the same
 * word.
 */
#include "setup.h"
#include "kmod/core/pipeline.h"

static void setup(struct setup *s, const struct testbed_opts *o)
{
	setup_make(s, o, 16);
}

#define HIGH	0x8000000000000001ULL
#define HIGH32	0x80000001U

struct rmw_case {
	u32 kind;
	u64 before, value, expected, compare, swap;	/* operands */
	u64 after;
};

static const struct rmw_case cases8[] = {
	{ RMC_RMW_SWAP, 5, 7, 0, 0, 0, 7 },
	{ RMC_RMW_ADD, ~0ULL, 2, 0, 0, 0, 1 },
	{ RMC_RMW_AND, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0, 0, 0, 0x0f000f000f000f00 },
	{ RMC_RMW_OR, HIGH, 0x31, 0, 0, 0, 0x8000000000000031 },
	{ RMC_RMW_XOR, HIGH, 0x8000000000000000, 0, 0, 0, 1 },
	{ RMC_RMW_MIN, HIGH, 3, 0, 0, 0, 3 },
	{ RMC_RMW_MIN, 3, HIGH, 0, 0, 0, 3 },
	{ RMC_RMW_MAX, HIGH, 3, 0, 0, 0, HIGH },
	{ RMC_RMW_MAX, 3, HIGH, 0, 0, 0, HIGH },
	{ RMC_RMW_SMIN, 3, HIGH, 0, 0, 0, HIGH },
	{ RMC_RMW_SMIN, HIGH, 3, 0, 0, 0, HIGH },
	{ RMC_RMW_SMAX, HIGH, 3, 0, 0, 0, 3 },
	{ RMC_RMW_SMAX, 3, HIGH, 0, 0, 0, 3 },
	{ RMC_RMW_CAS, 5, 7, 5, ~0ULL, ~0ULL, 7 },
	{ RMC_RMW_CAS, 6, 7, 5, ~0ULL, ~0ULL, 6 },
	/* the upper half is compared, the lower one replaced */
	{ RMC_RMW_CAS, 0x1122334455667788, 0xaaaaaaaabbbbbbbb, 0x1122334400000000,
	  0xffffffff00000000, 0x00000000ffffffff, 0x11223344bbbbbbbb },
	{ RMC_RMW_CAS, 0x1122334555667788, 0xaaaaaaaabbbbbbbb, 0x1122334400000000,
	  0xffffffff00000000, 0x00000000ffffffff, 0x1122334555667788 },
	/* nothing is compared: always swaps */
	{ RMC_RMW_CAS, 0xf0, 0x0c, 0x77, 0, 0xff, 0x0c },
};

static const struct rmw_case cases4[] = {
	{ RMC_RMW_SWAP, 5, 0xdeadbeef00000007, 0, 0, 0, 7 },
	{ RMC_RMW_ADD, ~0U, 2, 0, 0, 0, 1 },
	{ RMC_RMW_AND, 0xff00ff00, ~0ULL << 32 | 0x0ff00ff0, 0, 0, 0, 0x0f000f00 },
	{ RMC_RMW_OR, HIGH32, 0x31, 0, 0, 0, 0x80000031 },
	{ RMC_RMW_XOR, HIGH32, 0x80000000, 0, 0, 0, 1 },
	{ RMC_RMW_MIN, HIGH32, 3, 0, 0, 0, 3 },
	{ RMC_RMW_MAX, 3, HIGH32, 0, 0, 0, HIGH32 },
	{ RMC_RMW_SMIN, 3, HIGH32, 0, 0, 0, HIGH32 },
	{ RMC_RMW_SMIN, HIGH32, 3, 0, 0, 0, HIGH32 },
	{ RMC_RMW_SMAX, 3, HIGH32, 0, 0, 0, 3 },
	{ RMC_RMW_SMAX, HIGH32, 3, 0, 0, 0, 3 },
	{ RMC_RMW_CAS, 5, 7, 0x100000005, ~0ULL, ~0ULL, 7 },
	{ RMC_RMW_CAS, 0x11223344, 0xaaaabbbb, 0x11220000, 0xffff0000, 0xffff, 0x1122bbbb },
	{ RMC_RMW_CAS, 0x11233344, 0xaaaabbbb, 0x11220000, 0xffff0000, 0xffff, 0x11233344 },
};

static void one_case(struct setup *s, const struct rmw_case *c, u32 length, u64 offset)
{
	struct rmc_rmw *r = (struct rmc_rmw *)lbuf;
	const struct rmc_rmw given = {
		.old = 0x5555555555555555, .kind = c->kind, .value = c->value,
		.expected = c->expected, .compare_mask = c->compare, .swap_mask = c->swap,
	};
	u64 word = 0;

	*r = given;
	memset(seg + offset - 8, SEG_FILL, 24);
	memcpy(seg + offset, &c->before, length);
	CHECK_EQ(app_run(&s->a, RMC_OP_RMW, 1, offset, lbuf, length), RMC_S_OK);
	memcpy(&word, seg + offset, length);
	if (word != c->after || r->old != c->before)
		printf("# kind %u, %u bytes\n", c->kind, length);
	CHECK_EQ(word, c->after);
	CHECK_EQ(r->old, c->before);
	/* neighbours of the word and the operands do not change */
	CHECK_EQ(seg[offset - 1], SEG_FILL);
	CHECK_EQ(seg[offset + length], SEG_FILL);
	r->old = given.old;
	CHECK(!memcmp(r, &given, sizeof(given)));
}

static void every_kind(struct setup *s)
{
	u32 seen = 0, i;

	for (i = 0; i < ARRAY_SIZE(cases8); i++) {
		one_case(s, &cases8[i], 8, 4096);
		one_case(s, &cases8[i], 8, 64 + 56);
		seen |= 1U << cases8[i].kind;
	}
	CHECK_EQ(seen, (1U << RMC_RMW_KINDS) - 1);
	for (seen = 0, i = 0; i < ARRAY_SIZE(cases4); i++) {
		one_case(s, &cases4[i], 4, 4096 + 4);
		one_case(s, &cases4[i], 4, 64 + 60);
		seen |= 1U << cases4[i].kind;
	}
	CHECK_EQ(seen, (1U << RMC_RMW_KINDS) - 1);
}

static void test_kinds(const struct testbed_opts *o)
{
	struct setup s;

	setup(&s, o);
	every_kind(&s);
	CHECK(setup_guards_intact());
	setup_free(&s);
}

/* If filters may exist, all operations need packets. */
static void test_kinds_in_packets(const struct testbed_opts *o)
{
	struct setup s;

	setup(&s, o);
	rmc_filters = 1;
	every_kind(&s);
	rmc_filters = 0;
	setup_free(&s);
}

static void test_refused(const struct testbed_opts *o)
{
	struct rmc_rmw *r;
	struct setup s;
	u32 kind, len;

	setup(&s, o);
	r = (struct rmc_rmw *)lbuf;
	*r = (struct rmc_rmw){ .kind = RMC_RMW_SWAP };
	for (len = 1; len < 20; len++)
		if (len != 4 && len != 8)
			CHECK_EQ(app_run(&s.a, RMC_OP_RMW, 1, 0, lbuf, len), RMC_S_BAD_LENGTH);
	CHECK_EQ(app_run(&s.a, RMC_OP_RMW, 1, 4, lbuf, 8), RMC_S_BAD_ALIGN);
	CHECK_EQ(app_run(&s.a, RMC_OP_RMW, 1, 2, lbuf, 4), RMC_S_BAD_ALIGN);
	/* the operands are longer than the word */
	CHECK_EQ(app_run(&s.a, RMC_OP_RMW, 1, 0, lbuf + SEG - 8, 8), RMC_S_BAD_LBUF);
	CHECK_EQ(app_run(&s.a, RMC_OP_RMW, 1, SEG, lbuf, 8), RMC_S_OUT_OF_RANGE);
	s.seg_mem->flags = RMC_MEM_READONLY;
	CHECK_EQ(app_run(&s.a, RMC_OP_RMW, 1, 0, lbuf, 8), RMC_S_READ_ONLY);
	s.seg_mem->flags = 0;
	for (kind = RMC_RMW_KINDS; kind; kind *= 2) {
		r->kind = kind + (kind < RMC_RMW_KINDS);
		if (r->kind < RMC_RMW_KINDS)
			continue;
		r->old = 0x5555;
		CHECK_EQ(app_run(&s.a, RMC_OP_RMW, 1, 0, lbuf, 8), RMC_S_BAD_OP);
		CHECK_EQ(r->old, 0x5555);
	}
	r->kind = RMC_RMW_SWAP;
	r->reserved = 1;
	CHECK_EQ(app_run(&s.a, RMC_OP_RMW, 1, 0, lbuf, 8), RMC_S_BAD_OP);
	/* no rejected operation changed anything */
	CHECK_EQ(seg[0], SEG_FILL);
	CHECK(testbed_credits_home(&s.w, 0, 1));
	CHECK(setup_guards_intact());
	setup_free(&s);
}

/* Both ends validate: the requester may be hostile. */
static void test_each_end(const struct testbed_opts *o)
{
	static const u32 lens[] = { 0, 1, 2, 3, 5, 6, 7, 9, 16, 64, 4096 };
	u64 line[RMC_LINE / 8] __attribute__((aligned(RMC_LINE))) = { 0 };
	struct rmc_rmw *r = (struct rmc_rmw *)line;
	struct rmc_ring ring = { .pay = (void *)line };
	struct rmc_serve v = { .rx = &ring };
	struct rmc_wqe w = { 0 };
	struct setup s;
	u32 i;

	setup(&s, o);
	r->kind = RMC_RMW_SWAP;
	v.seg = s.seg_mem;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		v.req.length = w.length = lens[i];
		CHECK_EQ(rmc_rmw_serve(&v), RMC_S_BAD_LENGTH);
		CHECK_EQ(rmc_rmw_prepare(NULL, &w), RMC_S_BAD_LENGTH);
	}
	for (i = 4; i <= 8; i += 4) {
		v.req.length = w.length = i;
		for (v.req.offset = 1; v.req.offset < i; v.req.offset++) {
			w.offset = v.req.offset;
			CHECK_EQ(rmc_rmw_serve(&v), RMC_S_BAD_ALIGN);
			CHECK_EQ(rmc_rmw_prepare(NULL, &w), RMC_S_BAD_ALIGN);
		}
		w.offset = 4096 - i;
		CHECK_EQ(rmc_rmw_prepare(NULL, &w), RMC_S_OK);
		CHECK_EQ(w.operand, sizeof(struct rmc_rmw));
	}
	CHECK_EQ(seg[0], SEG_FILL);
	CHECK(setup_guards_intact());
	setup_free(&s);
}

struct beside {
	u64 *word;
	u32 stop;
	u64 done;
};

static void *add_beside(void *arg)
{
	struct beside *b = arg;

	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(b->word, 1, __ATOMIC_SEQ_CST);
		b->done++;
	}
	return NULL;
}

/* No addition of either is lost: the owner's CPUs use atomic instructions as well. */
static void test_beside_owner(const struct testbed_opts *o)
{
	struct rmc_rmw *r;
	struct beside b = {};
	pthread_t thread;
	struct setup s;
	u32 i, done = 0;

	setup(&s, o);
	b.word = (u64 *)(seg + 4096);
	*b.word = 0;
	pthread_create(&thread, NULL, add_beside, &b);
	r = (struct rmc_rmw *)lbuf;
	*r = (struct rmc_rmw){ .kind = RMC_RMW_ADD, .value = 1ULL << 40 };
	for (i = 0; i < 2000; i++)
		done += app_run(&s.a, RMC_OP_RMW, 1, 4096, lbuf, 8) == RMC_S_OK;
	__atomic_store_n(&b.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK(done > 0);
	CHECK_EQ(*b.word, ((u64)done << 40) + b.done);
	setup_free(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "read-modify-write: every kind, 4 and 8 bytes", test_kinds },
		{ "read-modify-write: the same in packets", test_kinds_in_packets },
		{ "read-modify-write: what is refused", test_refused },
		{ "read-modify-write: each end validates", test_each_end },
		{ "read-modify-write beside the owner's atomics", test_beside_owner },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 4096 },
		{ .nodes = 2, .ni = "split", .units = 2, .frontends = 2, .mtu = 512 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
