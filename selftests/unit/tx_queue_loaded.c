// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions of applications that use lines of their own node by loads and stores, as the RMC
 * sees them: bits of struct rmc_tx_local, and RMC_TX_LOADED. The accesses themselves: tx_local.c.
 */
#include "tx_apps.h"

u32 rmc_no_user_memory;

static u32 home_unit(const struct tx_apps *t)
{
	return CTX & (t->b.w.opts.rrpps - 1);
}

/* One that has used lines by local filters: its own node is asked, also if nothing is written */
static void test_loaded(const struct testbed_opts *o)
{
	static struct rmc_tx_local filters;
	struct rmc_tx_hash h = rmc_tx_hash(rmc_tx_crc(rmc_tx_line_of(TX_START)));
	struct tx_app p[2];
	struct tx_apps t;
	u32 i, slot;

	apps_make(&t, o, 2, false, &slots_opts);
	memset(&filters, 0, sizeof(filters));
	t.b.n[0].home->part->local = &filters;
	for (i = 0; i < 2; i++) {
		t.b.w.apps = home_unit(&t);
		tx_app_init(&p[i], &t, i, 1);
	}
	slot = tx_app_slot(&p[0], 0);
	filters.rd[h.a] = filters.rd[h.b] = 1ULL << slot;
	tx_app_begin(&p[0], 0);
	tx_app_record(&p[0])->flags = RMC_TX_LOADED;
	CHECK_EQ(tx_app_commit(&p[0], slot), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	CHECK_EQ(tx_app_put(&p[1], tx_app_slot(&p[1], 0), 0, TX_START, 5), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	CHECK_EQ(filters.squashed, 1ULL << slot);
	filters.rd[h.a] = filters.rd[h.b] = 0;
	/* without the flag it is not asked; with it, it refuses once, and forgets */
	tx_app_begin(&p[0], 0);
	CHECK_EQ(tx_app_commit(&p[0], slot), RMC_S_OK);
	tx_app_record(&p[0])->flags = RMC_TX_LOADED;
	CHECK_EQ(tx_app_commit(&p[0], slot), RMC_S_TX_SQUASHED);
	CHECK(apps_idle(&t, false));
	CHECK_EQ(tx_app_commit(&p[0], slot), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	for (i = 0; i < 2; i++)
		tx_app_fini(&p[i]);
	t.b.n[0].home->part->local = NULL;
	apps_free(&t);
}

/* Marks are of slots of the home's unit: with those of another one, loads are not safe. */
static void test_other_unit(const struct testbed_opts *o)
{
	struct tx_app p;
	struct tx_apps t;
	u32 u, slot;

	apps_make(&t, o, 2, false, &slots_opts);
	for (u = 0; u < t.b.w.opts.units; u++) {
		bool home = u == home_unit(&t);

		t.b.w.apps = u;
		tx_app_init(&p, &t, 0, 1);
		slot = tx_app_slot(&p, 0);
		tx_app_begin(&p, 0);
		tx_app_record(&p)->flags = RMC_TX_LOADED;
		CHECK_EQ(tx_app_commit(&p, slot), home ? RMC_S_OK : RMC_S_BAD_SLOT);
		/* an open one is over, too */
		CHECK_EQ(tx_app_read(&p, slot, 1, TX_START, 8), RMC_S_OK);
		tx_app_begin(&p, 1);
		tx_app_item(&p, 0, 1, TX_START + 64 * u, &(u64){ 1 }, 8);
		tx_app_record(&p)->flags = RMC_TX_LOADED;
		CHECK_EQ(tx_app_commit(&p, slot), home ? RMC_S_OK : RMC_S_BAD_SLOT);
		CHECK(apps_idle(&t, false));
		CHECK_EQ(word_at(&t.b, 1, TX_START + 64 * u), home);
		tx_app_fini(&p);
	}
	apps_free(&t);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "a mark of the own node refuses once", test_loaded },
		{ "slots of another unit than the home's", test_other_unit },
	};
	static const struct testbed_opts opts[] = {
		{ .ni = "fused", .mtu = 4096 },
		{ .ni = "split", .mtu = 64 },
		{ .ni = "edge", .units = 2, .mtu = 512 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
