// SPDX-License-Identifier: GPL-2.0
/* Every status that an operation can end with, and that failures have no other effect. */
#include "common.h"

#define SEG	(5 * PAGE)
#define BUF	(5 * PAGE)

static struct end owner, user;	/* node 0 has the segment, node 1 uses it */

static void prepare(void)
{
	end_open(&owner, CTX, 0, SEG, 0, 0);
	end_open(&user, CTX, 1, 0, BUF, 128);
}

static void check_status(unsigned int op, int nid, uint64_t offset, const void *lbuf, size_t len,
			 int want, int line)
{
	int got = rmc_execute(user.qp, op, nid, offset, lbuf, len);

	if (got == want)
		return;
	ktap_say("line %d: op %u, node %d, offset %#llx, %zu bytes: %s, not %s", line, op, nid,
		 (unsigned long long)offset, len, got < 0 ? strerror(-got) : rmc_status_name(got),
		 rmc_status_name(want));
	ktap_fail();
}

#define STATUS(op, nid, offset, lbuf, len, want)				\
	check_status(RMC_OP_##op, nid, offset, lbuf, len, RMC_S_##want, __LINE__)

/* After any failure the queue pair still works. */
static void check_sane(void)
{
	fill(owner.seg, 100, 77);
	STATUS(READ, 0, 0, user.buf, 100, OK);
	CHECK_EQ(differs(user.buf, 100, 77), -1);
}

TEST(no_segment_is_bad_context)
{
	prepare();
	STATUS(READ, 2, 0, user.buf, 8, BAD_CONTEXT);
	STATUS(WRITE, 2, 0, user.buf, 8, BAD_CONTEXT);
	STATUS(CAS, 2, 0, user.buf, 8, BAD_CONTEXT);
	STATUS(FAA, 2, 0, user.buf, 8, BAD_CONTEXT);
	STATUS(READ, 2, 0, user.buf, 8193, BAD_CONTEXT);
	check_sane();
}

TEST(unknown_node_is_bad_node)
{
	int nodes;

	prepare();
	nodes = rmc_nodes(user.ctx);
	STATUS(READ, nodes, 0, user.buf, 8, BAD_NODE);
	STATUS(WRITE, RMC_NID_MAX, 0, user.buf, 8, BAD_NODE);
	STATUS(FAA, RMC_NID_MAX, 0, user.buf, 8, BAD_NODE);
	check_sane();
}

TEST(past_the_segment_is_out_of_range)
{
	uint8_t *copy = memory(SEG);

	prepare();
	fill(owner.seg, SEG, 12);
	memcpy(copy, owner.seg, SEG);
	memset(user.buf, 0, BUF);
	STATUS(READ, 0, SEG, user.buf, 1, OUT_OF_RANGE);
	STATUS(READ, 0, SEG - 4, user.buf, 8, OUT_OF_RANGE);
	STATUS(WRITE, 0, SEG, user.buf, 1, OUT_OF_RANGE);
	/* packets before the end may be executed: write what is there already */
	memcpy(user.buf, owner.seg + SEG - 7, 7);
	STATUS(WRITE, 0, SEG - 7, user.buf, 8, OUT_OF_RANGE);
	STATUS(CAS, 0, SEG, user.buf, 8, OUT_OF_RANGE);
	STATUS(FAA, 0, 1ULL << 39, user.buf, 8, OUT_OF_RANGE);
	CHECK(!memcmp(copy, owner.seg, SEG));
	check_sane();
}

TEST(segment_ends_at_its_length)
{
	struct end a;

	end_open(&a, CTX, 0, 100, 0, 0);
	end_open(&user, CTX, 1, 0, BUF, 2);
	STATUS(READ, 0, 99, user.buf, 1, OK);
	STATUS(READ, 0, 99, user.buf, 2, OUT_OF_RANGE);
	STATUS(WRITE, 0, 0, user.buf, 100, OK);
	STATUS(WRITE, 0, 0, user.buf, 101, OUT_OF_RANGE);
	STATUS(FAA, 0, 88, user.buf, 8, OK);
	STATUS(FAA, 0, 96, user.buf, 8, OUT_OF_RANGE);
}

TEST(offset_overflow_is_out_of_range)
{
	prepare();
	STATUS(READ, 0, RMC_OFFSET_MAX, user.buf, 1, OUT_OF_RANGE);
	STATUS(READ, 0, RMC_OFFSET_MAX, user.buf, BUF, OUT_OF_RANGE);
	STATUS(WRITE, 0, RMC_OFFSET_MAX - 5, user.buf, BUF, OUT_OF_RANGE);
	STATUS(FAA, 0, RMC_OFFSET_MAX - 7, user.buf, 8, OUT_OF_RANGE);
	check_sane();
}

TEST(length_zero_is_bad_length)
{
	prepare();
	STATUS(READ, 0, 0, user.buf, 0, BAD_LENGTH);
	STATUS(WRITE, 0, 0, user.buf, 0, BAD_LENGTH);
	STATUS(FAA, 0, 0, user.buf, 0, BAD_LENGTH);
	STATUS(READ, 0, 0, user.buf, (size_t)RMC_LENGTH_MAX + 1, BAD_LENGTH);
	check_sane();
}

TEST(atomics_are_eight_bytes)
{
	int len;

	prepare();
	for (len = 1; len <= 17; len++) {
		if (len == 8)
			continue;
		STATUS(CAS, 0, 0, user.buf, (size_t)len, BAD_LENGTH);
		STATUS(FAA, 0, 0, user.buf, (size_t)len, BAD_LENGTH);
	}
	check_sane();
}

TEST(misaligned_atomics_are_bad_align)
{
	uint64_t i;

	prepare();
	for (i = 1; i < 8; i++) {
		STATUS(CAS, 0, i, user.buf, 8, BAD_ALIGN);
		STATUS(FAA, 0, 56 + i, user.buf, 8, BAD_ALIGN);
	}
	check_sane();
}

TEST(unregistered_buffer_is_bad_lbuf)
{
	uint8_t *p = memory(PAGE);

	prepare();
	STATUS(READ, 0, 0, p, 8, BAD_LBUF);
	STATUS(WRITE, 0, 0, p, 8, BAD_LBUF);
	STATUS(FAA, 0, 0, p, 8, BAD_LBUF);
	STATUS(READ, 0, 0, NULL, 8, BAD_LBUF);
	STATUS(READ, 0, 0, (void *)0xffffffffffff, 8, BAD_LBUF);
	STATUS(READ, 0, 0, (void *)0xffff888000000000, 8, BAD_LBUF);
	/* another file's buffer, and the segment, are not this file's buffers */
	STATUS(READ, 0, 0, owner.seg, 8, BAD_LBUF);
	check_sane();
}

TEST(partly_registered_buffer_is_bad_lbuf)
{
	prepare();
	STATUS(READ, 0, 0, user.buf - 1, 2, BAD_LBUF);
	STATUS(READ, 0, 0, user.buf + BUF - 1, 2, BAD_LBUF);
	STATUS(WRITE, 0, 0, user.buf + BUF - 4, 8, BAD_LBUF);
	STATUS(FAA, 0, 0, user.buf + BUF - 7, 8, BAD_LBUF);
	STATUS(FAA, 0, 0, user.buf + BUF - 8, 8, OK);
	/* a compare-and-swap has two operands */
	STATUS(CAS, 0, 0, user.buf + BUF - 8, 8, BAD_LBUF);
	STATUS(CAS, 0, 0, user.buf + BUF - 16, 8, OK);
	check_sane();
}

TEST(readonly_segment)
{
	uint8_t *p = memory(PAGE);
	struct end a;

	end_open(&a, CTX, 0, 0, 0, 0);
	fill(p, PAGE, 13);
	REQUIRE_EQ(rmc_seg_register(a.ctx, p, PAGE, RMC_MEM_READONLY), 0);
	end_open(&user, CTX, 1, 0, BUF, 8);
	STATUS(READ, 0, 0, user.buf, PAGE, OK);
	CHECK_EQ(differs(user.buf, PAGE, 13), -1);
	memset(user.buf, 0, PAGE);
	STATUS(WRITE, 0, 0, user.buf, 1, READ_ONLY);
	STATUS(WRITE, 0, 0, user.buf, PAGE, READ_ONLY);
	STATUS(CAS, 0, 0, user.buf, 8, READ_ONLY);
	STATUS(FAA, 0, 0, user.buf, 8, READ_ONLY);
	CHECK_EQ(differs(p, PAGE, 13), -1);
}

TEST(unknown_opcode_is_bad_op)
{
	unsigned int op;

	prepare();
	for (op = 0; op < RMC_OP_MAX; op++)
		if (!(rmc_query(user.ctx)->op_mask >> op & 1))
			check_status(op, 0, 0, user.buf, 8, RMC_S_BAD_OP, __LINE__);
	check_sane();
}

/* A segment belongs to one context only. */
TEST(contexts_are_apart)
{
	struct end a, b;

	REQUIRE(!ctx_create(3, 0600, 0, 0) || errno == EEXIST);
	prepare();
	memset(owner.seg, 1, SEG);
	end_open(&b, 3, 1, 0, PAGE, 8);
	CHECK_EQ(rmc_read(b.qp, 0, 0, b.buf, 8), RMC_S_BAD_CONTEXT);
	end_open(&a, 3, 0, PAGE, 0, 0);
	memset(a.seg, 3, PAGE);
	CHECK_EQ(rmc_read(b.qp, 0, 0, b.buf, PAGE), RMC_S_OK);
	CHECK_EQ(b.buf[0], 3);
	CHECK_EQ(rmc_read(b.qp, 0, PAGE, b.buf, 8), RMC_S_OUT_OF_RANGE);
	STATUS(READ, 0, PAGE, user.buf, 8, OK);
	CHECK_EQ(user.buf[0], 1);
	end_close(&a);
	end_close(&b);
	CHECK(!ctx_remove(3));
}

KTAP_MAIN(suite_missing)
