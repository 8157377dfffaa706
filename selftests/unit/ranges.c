// SPDX-License-Identifier: GPL-2.0
/*
 * Further ranges of a segment: every operation in them, at both ends of each, on the packet path
 * and on the local path; accesses between ranges, and across two of them.
 */
#include "setup.h"

#define FIRST	4096		/* bytes of the first range */
#define START	(1ULL << 32)	/* where the others begin */
#define LEN	6144
#define GAP	4096

struct ranges {
	struct setup s;
	struct rmc_mem *mem[2], view[2];
	struct rmc_ranges table;
	u8 *bytes[2];
	u64 start[2];
};

static void install(struct ranges *r, const struct rmc_ranges *table)
{
	u32 i;

	for (i = 0; i < r->s.w.opts.units; i++)
		r->s.w.node[1]->unit[i]->ct.more[CTX] = table;
}

static void setup(struct ranges *r, const struct testbed_opts *o)
{
	u32 i;

	memset(r, 0, sizeof(*r));
	setup_make(&r->s, o, 16);
	r->s.seg_mem->length = FIRST;
	for (i = 0; i < 2; i++) {
		/* in chunks of a page, not at the beginning of the first one */
		r->bytes[i] = (u8 *)aligned_alloc(PAGE, 2 * PAGE) + 2048 - 1024 * i;
		memset(r->bytes[i], SEG_FILL, LEN);
		r->mem[i] = mem_make(r->bytes[i], LEN, 12, 0);
		r->start[i] = START + i * (LEN + GAP);
		rmc_range_init(&r->view[i], r->mem[i], r->start[i], r->s.seg_mem);
		r->table.range[i].start = r->start[i];
		r->table.range[i].mem = &r->view[i];
		rmc_expose(&r->view[i].exposure);
	}
	r->table.count = 2;
	install(r, &r->table);
}

static void fini(struct ranges *r)
{
	u32 i;

	install(r, NULL);
	setup_free(&r->s);
	for (i = 0; i < 2; i++) {
		mem_free(r->mem[i]);
		free(r->bytes[i] - 2048 + 1024 * i);
	}
}

static int run(struct ranges *r, u32 op, u64 offset, u32 len)
{
	return app_run(&r->s.a, op, 1, offset, lbuf, len);
}

static void both_ways(struct ranges *r)
{
	static const u32 lens[] = { 1, 8, 64, 200, 4096, LEN };
	u32 i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < ARRAY_SIZE(lens); k++) {
			u64 end = LEN - lens[k];

			fill(lbuf, lens[k], k + 7 * i);
			CHECK_EQ(run(r, RMC_OP_WRITE, r->start[i] + end, lens[k]), RMC_S_OK);
			CHECK(!memcmp(r->bytes[i] + end, lbuf, lens[k]));
			fill(r->bytes[i], lens[k], k + 99);
			CHECK_EQ(run(r, RMC_OP_READ, r->start[i], lens[k]), RMC_S_OK);
			CHECK(!memcmp(r->bytes[i], lbuf, lens[k]));
		}
		((u64 *)lbuf)[0] = 5;
		*(u64 *)r->bytes[i] = 37;
		CHECK_EQ(run(r, RMC_OP_FAA, r->start[i], 8), RMC_S_OK);
		CHECK_EQ(*(u64 *)r->bytes[i], 42);
	}
	/* the first range has not changed */
	CHECK_EQ(run(r, RMC_OP_READ, 0, FIRST), RMC_S_OK);
	CHECK_EQ(seg[FIRST], SEG_FILL);
}

static void outside(struct ranges *r)
{
	static const s64 at[] = { -64, -1, LEN - 7, LEN, LEN + 64 };
	u32 i, k;

	CHECK_EQ(run(r, RMC_OP_READ, FIRST, 1), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(run(r, RMC_OP_READ, FIRST - 1, 2), RMC_S_OUT_OF_RANGE);
	for (i = 0; i < 2; i++)
		for (k = 0; k < ARRAY_SIZE(at); k++) {
			CHECK_EQ(run(r, RMC_OP_READ, r->start[i] + at[k], 8), RMC_S_OUT_OF_RANGE);
			CHECK_EQ(run(r, RMC_OP_WRITE, r->start[i] + at[k], 8), RMC_S_OUT_OF_RANGE);
		}
	CHECK_EQ(run(r, RMC_OP_READ, RMC_OFFSET_MAX, 1), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(run(r, RMC_OP_READ, r->start[0] + LEN + GAP - 8, 16), RMC_S_OUT_OF_RANGE);
	CHECK(setup_guards_intact());
}

static void test_access(const struct testbed_opts *o)
{
	struct ranges r;

	setup(&r, o);
	both_ways(&r);
	outside(&r);
	fini(&r);
}

static void test_access_in_packets(const struct testbed_opts *o)
{
	struct ranges r;

	setup(&r, o);
	rmc_filters = 1;
	both_ways(&r);
	outside(&r);
	rmc_filters = 0;
	fini(&r);
}

static void test_rights(const struct testbed_opts *o)
{
	struct ranges r;

	setup(&r, o);
	r.view[0].flags = RMC_MEM_READONLY;
	CHECK_EQ(run(&r, RMC_OP_WRITE, r.start[0], 8), RMC_S_READ_ONLY);
	CHECK_EQ(run(&r, RMC_OP_FAA, r.start[0], 8), RMC_S_READ_ONLY);
	CHECK_EQ(run(&r, RMC_OP_READ, r.start[0], 8), RMC_S_OK);
	CHECK_EQ(run(&r, RMC_OP_WRITE, r.start[1], 8), RMC_S_OK);
	CHECK_EQ(r.bytes[0][0], SEG_FILL);
	/* a range that not all units have yet does not exist */
	rmc_hide(&r.view[1].exposure);
	CHECK_EQ(run(&r, RMC_OP_READ, r.start[1], 8), RMC_S_OUT_OF_RANGE);
	/* without its segment there is no range */
	install(&r, NULL);
	CHECK_EQ(run(&r, RMC_OP_READ, r.start[0], 8), RMC_S_OUT_OF_RANGE);
	fini(&r);
}

/* Notifications of writes count for the segment. */
static void test_notified(const struct testbed_opts *o)
{
	struct ranges r;

	setup(&r, o);
	CHECK_EQ(run(&r, RMC_OP_WRITE_NOTIFY, r.start[1] + 8, 8), RMC_S_OK);
	CHECK_EQ(r.s.seg_mem->notified.count, 1);
	CHECK_EQ(r.view[1].notified.count, 0);
	fini(&r);
}

/* Objects have the segment's layout, and end with the range. */
static void test_objects(const struct testbed_opts *o)
{
	struct ranges r;
	u32 i;

	setup(&r, o);
	mem_objects(r.s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	for (i = 0; i < 2; i++) {
		struct rmc_exposure exposure = r.view[i].exposure;

		rmc_range_init(&r.view[i], r.mem[i], r.start[i], r.s.seg_mem);
		r.view[i].exposure = exposure;
		*(u64 *)r.bytes[i] = 2;
		CHECK_EQ(run(&r, RMC_OP_SABRE, r.start[i], 512), RMC_S_OK);
		CHECK(!memcmp(lbuf, r.bytes[i], 512));
		CHECK_EQ(run(&r, RMC_OP_SABRE, r.start[i], LEN), RMC_S_OK);
		CHECK(!memcmp(lbuf, r.bytes[i], LEN));
		*(u64 *)r.bytes[i] = 3;
		CHECK_EQ(run(&r, RMC_OP_SABRE, r.start[i], 512), RMC_S_SABRE_LOCKED);
		CHECK_EQ(run(&r, RMC_OP_SABRE, r.start[i] + LEN - 64, 128), RMC_S_OUT_OF_RANGE);
	}
	fini(&r);
}

/* How a range is made, and looked up by any context id */
static void test_table(const struct testbed_opts *o)
{
	struct rmc_ct *ct = calloc(1, sizeof(*ct));
	struct rmc_mem range;
	struct ranges r;

	setup(&r, o);
	mem_objects(r.s.seg_mem, RMC_SABRE_LOCKED, 24);
	r.s.seg_mem->readers_off = 40;
	rmc_expose(&r.mem[0]->exposure);
	rmc_range_init(&range, r.mem[0], START, r.s.seg_mem);
	CHECK(!rmc_is_exposed(&range.exposure));
	CHECK_EQ(range.sabre, RMC_SABRE_LOCKED);
	CHECK_EQ(range.version_off, r.s.seg_mem->version_off);
	CHECK_EQ(range.readers_off, 40);
	CHECK_EQ(range.length, START + LEN);
	CHECK(range.primary == r.s.seg_mem);
	ct->more[RMC_MAX_CONTEXTS - 1] = &r.table;
	CHECK(rmc_ct_range(ct, RMC_MAX_CONTEXTS - 1, r.start[1], 8) == &r.view[1]);
	CHECK(!rmc_ct_range(ct, 0, r.start[1], 8));
	CHECK(!rmc_ct_range(ct, RMC_MAX_CONTEXTS, r.start[1], 8));
	CHECK(!rmc_ct_range(ct, 0xffff, r.start[1], 8));
	fini(&r);
	free(ct);
}

/* There is no context after the last one, whatever memory follows the table. */
static void test_no_context(const struct testbed_opts *o)
{
	static const u32 ids[] = { RMC_MAX_CONTEXTS, RMC_MAX_CONTEXTS + 1, 0xffff };
	struct rmc_ranges four = { .count = 4 };
	struct ranges r;
	struct app b;
	u32 i, unit;

	setup(&r, o);
	for (i = 0; i < 4; i++) {
		four.range[i].start = r.start[0] + i;
		four.range[i].mem = &r.view[0];
	}
	for (unit = 0; unit < r.s.w.opts.units; unit++)
		r.s.w.node[1]->unit[unit]->ct.more[0] = &four;
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		app_init(&b, &r.s.w, 0, ids[i], 16);
		rmc_bufs_add(&b.bufs, r.s.buf_mem);
		CHECK_EQ(app_run(&b, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_BAD_CONTEXT);
		CHECK_EQ(app_run(&b, RMC_OP_READ, 1, r.start[0], lbuf, 64), RMC_S_BAD_CONTEXT);
		app_fini(&b);
	}
	for (unit = 0; unit < r.s.w.opts.units; unit++)
		r.s.w.node[1]->unit[unit]->ct.more[0] = NULL;
	fini(&r);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "ranges of a segment: reads, writes, atomics", test_access },
		{ "ranges of a segment: the same in packets", test_access_in_packets },
		{ "ranges of a segment: rights, hidden, none", test_rights },
		{ "ranges of a segment: notifications are the segment's", test_notified },
		{ "ranges of a segment: objects", test_objects },
		{ "ranges of a segment: the table", test_table },
		{ "no context behind the last one", test_no_context },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 4096 },
		{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256, .mtu = 64 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
