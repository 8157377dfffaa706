// SPDX-License-Identifier: GPL-2.0
/*
 * Registered memory whose pages are not contiguous, as the kernel pins them: accesses across
 * page boundaries, at both ends, on the packet path and on the local path.
 */
#include "setup.h"

#define CHUNKS	(SEG / PAGE)

static void setup(struct setup *s, const struct testbed_opts *o)
{
	u32 i;

	setup_make(s, o, 16);
	/* the segment's pages in reverse, the buffer's by twos */
	for (i = 0; i < CHUNKS; i++) {
		s->seg_mem->chunk[i] = seg + (CHUNKS - 1 - i) * PAGE;
		s->buf_mem->chunk[i] = lbuf + (i ^ 1) * PAGE;
	}
}

/* Byte @off of memory, as the application has it */
static u8 *at(const struct rmc_mem *mem, u64 off)
{
	return (u8 *)mem->chunk[off / PAGE] + off % PAGE;
}

static void put(const struct rmc_mem *mem, u64 off, const u8 *from, u32 len)
{
	while (len--)
		*at(mem, off++) = *from++;
}

static bool has(const struct rmc_mem *mem, u64 off, const u8 *want, u32 len)
{
	while (len && *at(mem, off) == *want) {
		off++;
		want++;
		len--;
	}
	return !len;
}

/* [@off, @off + @len) of the segment <--> [@buf, @buf + @len) of the buffer, nothing else */
static void both_ways(struct setup *s, u64 off, u64 buf, u32 len)
{
	const struct rmc_mem *m = s->seg_mem, *l = s->buf_mem;
	static u8 want[SEG];

	fill(want, len, off + len);
	memset(seg, SEG_FILL, SEG);
	put(l, buf, want, len);
	CHECK_EQ(app_run(&s->a, RMC_OP_WRITE, 1, off, lbuf + buf, len), RMC_S_OK);
	CHECK(has(m, off, want, len));
	CHECK_EQ(*at(m, off - 1), SEG_FILL);
	CHECK_EQ(*at(m, off + len), SEG_FILL);

	memset(lbuf, BUF_FILL, SEG);
	CHECK_EQ(app_run(&s->a, RMC_OP_READ, 1, off, lbuf + buf, len), RMC_S_OK);
	CHECK(has(l, buf, want, len));
	CHECK_EQ(*at(l, buf - 1), BUF_FILL);
	CHECK_EQ(*at(l, buf + len), BUF_FILL);
}

static void every_length(struct setup *s)
{
	static const u32 lens[] = { 1, 8, 63, 64, 65, 128, 500, 4095, 4096, 4097, 9000, 20000 };
	static const u32 before[] = { 1, 7, 8, 63, 64, 65, 4000 };
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (k = 0; k < ARRAY_SIZE(before); k++) {
			both_ways(s, 3 * PAGE - before[k], 2 * PAGE + 5, lens[i]);
			both_ways(s, 2 * PAGE + 64, 5 * PAGE - before[k], lens[i]);
			both_ways(s, 4 * PAGE - before[k], 7 * PAGE - before[k], lens[i]);
			/* as long as a line, but across two of them */
			both_ways(s, PAGE + before[k] % PAGE, PAGE + 3, 64);
		}
	CHECK(setup_guards_intact());
}

static void test_read_write(const struct testbed_opts *o)
{
	struct setup s;

	setup(&s, o);
	every_length(&s);
	setup_free(&s);
}

static void test_in_packets(const struct testbed_opts *o)
{
	struct setup s;

	setup(&s, o);
	rmc_filters = 1;
	every_length(&s);
	rmc_filters = 0;
	setup_free(&s);
}

/* Operands and objects cross pages, too. */
static void test_operands_objects(const struct testbed_opts *o)
{
	u64 operand[2] = { 5, 7 }, old = 5;
	static u8 object[3 * PAGE];
	struct setup s;
	u32 len;

	setup(&s, o);
	put(s.seg_mem, PAGE - 8, (u8 *)&old, 8);
	put(s.buf_mem, PAGE - 8, (u8 *)operand, 16);
	CHECK_EQ(app_run(&s.a, RMC_OP_CAS, 1, PAGE - 8, lbuf + PAGE - 8, 8), RMC_S_OK);
	CHECK(has(s.seg_mem, PAGE - 8, (u8 *)&operand[1], 8));
	CHECK(has(s.buf_mem, PAGE - 8, (u8 *)&old, 8));
	put(s.buf_mem, PAGE - 3, (u8 *)operand, 8);
	CHECK_EQ(app_run(&s.a, RMC_OP_FAA, 1, PAGE - 8, lbuf + PAGE - 3, 8), RMC_S_OK);
	CHECK(has(s.buf_mem, PAGE - 3, (u8 *)&operand[1], 8));

	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	fill(object, sizeof(object), 3);
	memset(object, 0, 16);
	for (len = 200; len <= sizeof(object); len += 1000) {
		put(s.seg_mem, 3 * PAGE - 104, object, len);
		CHECK_EQ(app_run(&s.a, RMC_OP_SABRE, 1, 3 * PAGE - 104, lbuf + PAGE - 50, len), RMC_S_OK);
		CHECK(has(s.buf_mem, PAGE - 50, object, len));
	}
	CHECK(setup_guards_intact());
	setup_free(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "scattered pages: read and write", test_read_write },
		{ "scattered pages: the same in packets", test_in_packets },
		{ "scattered pages: operands, objects", test_operands_objects },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256, .mtu = 64 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
