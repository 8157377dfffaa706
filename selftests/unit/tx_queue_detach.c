// SPDX-License-Identifier: GPL-2.0
/* Slots of a queue pair that are taken back while it goes on. */
#include "tx_apps.h"

u32 rmc_no_user_memory;

/* Slots are taken back while accesses are under way, as after a call whose answer was not written */
static void test_detached(const struct testbed_opts *o)
{
	u32 access, plain, slot, n, at = 16384;
	struct tx_app p;
	struct tx_apps t;
	struct rmc_qpair *qp;

	apps_make(&t, o, 2, true, &slots_opts);
	tx_app_init(&p, &t, 0, 1);
	qp = rmc_qp_inner(&p.a.qp);
	slot = tx_app_slot(&p, 0);
	t.b.w.frozen[1] = true;
	/* the second one is more than a channel has room for */
	plain = tx_app_post(&p, RMC_OP_READ, 1, at, p.buf + at, 8);
	access = tx_app_get(&p, RMC_OP_TX_READ, slot, 1, TX_START, RMC_TX_MAX_ACCESS);
	for (n = 0; n < 20; n++)
		bed_step(&t.b);
	CHECK(qp->node->itt.used);
	rmc_tx_detach(qp);
	t.b.w.frozen[1] = false;
	CHECK_EQ(tx_app_wait(&p, access), RMC_S_ABORTED);
	CHECK_EQ(tx_app_wait(&p, plain), RMC_S_OK);
	CHECK_EQ(tx_app_read(&p, slot, 1, TX_START, 8), RMC_S_BAD_OP);
	CHECK(apps_idle(&t, true));
	/* others have them, and the queue pair may get some again */
	CHECK_EQ(rmc_tx_attach(qp, p.s, 1, &p.mask), 0);
	CHECK_EQ(tx_app_read(&p, tx_app_slot(&p, 0), 1, TX_START, 8), RMC_S_OK);
	tx_app_fini(&p);
	apps_free(&t);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "slots that are taken back with an access under way", test_detached },
	};
	static const struct testbed_opts opts[] = {
		{ .ni = "fused", .mtu = 4096 },
		{ .ni = "pair", .mtu = 64 },
		{ .ni = "split", .mtu = 512 },
		{ .ni = "edge", .units = 2, .mtu = 512 },
		{ .ni = "per_tile", .units = 4, .mtu = 64, .interleave = 256 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
