// SPDX-License-Identifier: GPL-2.0
/*
 * SABRes of objects that transactions write (RMC_SABRE_TX): what is refused, an object that is
 * written meanwhile, ranges that go, and how many readers there may be.
 */
#include "tx_nodes.h"

u32 rmc_no_user_memory;

#define BUF	(128 * 1024)

struct reader {
	struct tx_bed b;
	struct app a;
	struct rmc_mem *mem;
	u8 *buf;
};

static void make(struct reader *r, const struct testbed_opts *o)
{
	memset(r, 0, sizeof(*r));
	bed_make(&r->b, o, 2);
	mem_objects(r->b.n[1].mem, RMC_SABRE_TX, 0);
	r->buf = aligned_alloc(4096, BUF);
	memset(r->buf, 0, BUF);
	r->mem = mem_make(r->buf, BUF, 12, 0);
	app_init(&r->a, &r->b.w, 0, CTX, 16);
	rmc_bufs_add(&r->a.bufs, r->mem);
}

static void unmake(struct reader *r)
{
	CHECK(bed_idle(&r->b));
	CHECK(bed_clean(&r->b));
	CHECK_EQ(testbed_transfers(&r->b.w, 1), 0);
	app_fini(&r->a);
	bed_free(&r->b);
	mem_free(r->mem);
	free(r->buf);
}

static int sabre(struct reader *r, u64 offset, u32 length)
{
	return app_run(&r->a, RMC_OP_SABRE, 1, offset, r->buf, length);
}

/* Writes a word at two places of node 1 in a transaction, until it has begun to commit */
static u32 begin_commit(struct reader *r, u64 one, u64 other, u64 word)
{
	u32 slot = bed_begin(&r->b, 0);

	CHECK_EQ(bed_write(&r->b, 0, slot, 1, one, &word, 8), 0);
	CHECK_EQ(bed_write(&r->b, 0, slot, 1, other, &word, 8), 0);
	CHECK_EQ(rmc_tx_engine_commit(r->b.n[0].e, slot), 0);
	return slot;
}

static void test_statuses(const struct testbed_opts *o)
{
	static const u32 lengths[] = { 1, 8, 64, 65, 4096, 10000, 65536 };
	struct reader r;
	u32 i;

	make(&r, o);
	for (i = 0; i < TX_SEG; i++)
		r.b.n[1].seg[i] = 1 + i % 251;
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(r.buf, 0, BUF);
		CHECK_EQ(sabre(&r, TX_START, lengths[i]), RMC_S_OK);
		CHECK(!memcmp(r.buf, r.b.n[1].seg + TX_START, lengths[i]));
		CHECK_EQ(r.buf[lengths[i]], 0);
	}
	CHECK_EQ(sabre(&r, TX_START + TX_BYTES - 8, 8), RMC_S_OK);
	CHECK_EQ(sabre(&r, TX_START + 4, 64), RMC_S_BAD_ALIGN);
	CHECK_EQ(sabre(&r, TX_START, 65537), RMC_S_BAD_LENGTH);
	CHECK_EQ(sabre(&r, TX_START + 8, 65536), RMC_S_OK);
	/* not, or not all of it, in the range */
	CHECK_EQ(sabre(&r, TX_START - 64, 64), RMC_S_NO_VERSION);
	CHECK_EQ(sabre(&r, TX_START - 8, 16), RMC_S_NO_VERSION);
	CHECK_EQ(sabre(&r, TX_START + TX_BYTES - 8, 16), RMC_S_NO_VERSION);
	CHECK_EQ(sabre(&r, TX_START + TX_BYTES - 4096, 8192), RMC_S_NO_VERSION);
	CHECK_EQ(sabre(&r, TX_SEG - 8, 16), RMC_S_OUT_OF_RANGE);
	bed_unhome(&r.b, 1);
	CHECK_EQ(sabre(&r, TX_START, 64), RMC_S_NO_VERSION);
	CHECK_EQ(sabre(&r, TX_START, 8192), RMC_S_NO_VERSION);
	unmake(&r);
}

/* Who commits on a line keeps new readers away: they do not make it wait. Other lines are read. */
static void test_locked(const struct testbed_opts *o)
{
	struct reader r;
	u32 slot, n;

	make(&r, o);
	slot = begin_commit(&r, TX_START, TX_START + 4096, 5);
	for (n = 0; n < 10000 && !r.b.n[1].home->part->locks; n++)
		bed_step(&r.b);
	CHECK(r.b.n[1].home->part->locks);
	/* the engine is not polled meanwhile */
	CHECK_EQ(sabre(&r, TX_START, 64), RMC_S_SABRE_LOCKED);
	CHECK_EQ(sabre(&r, TX_START + 64, 4096), RMC_S_SABRE_LOCKED);
	CHECK_EQ(sabre(&r, TX_START + 64, 4096 - 64), RMC_S_OK);
	CHECK_EQ(sabre(&r, TX_START + 4096 + 64, 8192), RMC_S_OK);
	CHECK_EQ(bed_end(&r.b, 0, slot), RMC_S_OK);
	CHECK(bed_idle(&r.b));
	CHECK_EQ(sabre(&r, TX_START, 4096 + 64), RMC_S_OK);
	CHECK_EQ(*(u64 *)r.buf, 5);
	CHECK_EQ(*(u64 *)(r.buf + 4096), 5);
	unmake(&r);
}

static struct testbed_opts slow(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;

	k.ring_order = 3;
	k.pay_order = k.mtu > 64 ? 6 : 3;
	k.kernels = true;
	return k;
}

/* Until the destination is in the middle of the object */
static void step_into(struct reader *r)
{
	struct rmc_att *att = &r->b.w.node[1]->att;
	u32 i;

	for (i = 0; i < 1000; i++) {
		testbed_visit(&r->b.w);
		if (att->used && att->entry[0].x->issued > 0)
			return;
	}
	CHECK(!"reached the middle");
}

/* A commit to what is being read waits with its stores, and nobody fails. */
static void test_meanwhile(const struct testbed_opts *o)
{
	struct testbed_opts k = slow(o);
	const u64 last = TX_START + 65536 - 64;
	struct rmc_tx_part *part;
	u32 slot, n, held = 0;
	struct reader r;

	make(&r, &k);
	part = r.b.n[1].home->part;
	app_post(&r.a, RMC_OP_SABRE, 1, TX_START, r.buf, 65536);
	step_into(&r);
	CHECK_EQ(part->readers, 1);
	slot = begin_commit(&r, TX_START, last, 9);
	for (n = 0; n < 100000 && part->readers; n++) {
		bed_step(&r.b);
		held += part->locks && part->readers;
	}
	CHECK(held > 0);
	CHECK_EQ(app_wait(&r.a), RMC_S_OK);
	CHECK_EQ(*(u64 *)r.buf, 0);
	CHECK_EQ(*(u64 *)(r.buf + 65536 - 64), 0);
	CHECK_EQ(bed_end(&r.b, 0, slot), RMC_S_OK);
	CHECK(bed_idle(&r.b));
	CHECK_EQ(word_at(&r.b, 1, TX_START), 9);
	CHECK_EQ(word_at(&r.b, 1, last), 9);
	CHECK_EQ(part->readers, 0);
	unmake(&r);
}

/* The range goes in the middle of a read, then the source. */
static void test_withdrawal(const struct testbed_opts *o)
{
	struct testbed_opts k = slow(o);
	struct reader r;
	u32 i;

	make(&r, &k);
	app_post(&r.a, RMC_OP_SABRE, 1, TX_START, r.buf, 65536);
	step_into(&r);
	bed_unhome(&r.b, 1);
	CHECK_EQ(app_wait(&r.a), RMC_S_BAD_CONTEXT);
	testbed_settle(&r.b.w);
	CHECK_EQ(testbed_transfers(&r.b.w, 1), 0);
	bed_home(&r.b, 1);
	app_post(&r.a, RMC_OP_SABRE, 1, TX_START, r.buf, 65536);
	step_into(&r);
	CHECK_EQ(r.b.n[1].home->part->readers, 1);
	app_fini(&r.a);
	/* orphans end when no requests have come for long enough */
	for (i = 0; i < 2 * RMC_ATT_STALL_MS; i++)
		testbed_tick(&r.b.w, 1);
	CHECK_EQ(r.b.n[1].home->part->readers, 0);
	app_init(&r.a, &r.b.w, 0, CTX, 16);
	rmc_bufs_add(&r.a.bufs, r.mem);
	CHECK_EQ(sabre(&r, TX_START, 65536), RMC_S_OK);
	unmake(&r);
}

static void test_bound(const struct testbed_opts *o)
{
	struct rmc_tx_part *part;
	u32 i, reader[RMC_TX_READERS];
	struct reader r;

	make(&r, o);
	part = r.b.n[1].home->part;
	for (i = 0; i < RMC_TX_READERS; i++)
		CHECK_EQ(rmc_tx_part_read_begin(part, TX_START + 64 * i, 64, &reader[i]), RMC_S_OK);
	CHECK_EQ(rmc_tx_part_read_begin(part, TX_START, 64, &reader[0]), RMC_S_TX_LOCKED);
	CHECK_EQ(sabre(&r, TX_START, 64), RMC_S_SABRE_LOCKED);
	rmc_tx_part_read_end(part, reader[3]);
	CHECK_EQ(sabre(&r, TX_START, 64), RMC_S_OK);
	CHECK_EQ(rmc_tx_part_read_begin(part, TX_START, 64, &reader[3]), RMC_S_OK);
	for (i = RMC_TX_READERS; i--;)
		rmc_tx_part_read_end(part, reader[i]);
	CHECK_EQ(part->readers, 0);
	unmake(&r);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "what is refused", test_statuses },
		{ "lines of a commit", test_locked },
		{ "a commit meanwhile", test_meanwhile },
		{ "a range that goes, a reader that goes", test_withdrawal },
		{ "as many readers as there may be", test_bound },
	};
	static const struct testbed_opts opts[] = {
		{ .ni = "fused", .mtu = 4096 },
		{ .ni = "pair", .mtu = 64 },
		{ .ni = "split", .mtu = 512 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
