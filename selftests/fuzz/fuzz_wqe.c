// SPDX-License-Identifier: GPL-2.0
/*
 * Any WQ entry of an application: one CQ entry per entry, I-1, I-5. All nodes are honest, so no
 * tid, credit or transfer remains in use either, and no group of ordered queue pairs broken.
 *
 * An input that ends with 'O' posts to an ordered queue pair, and may model adapters.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void reap(struct fuzz *b, bool *busy, u32 *done)
{
	u32 slot, status, op;

	while (app_poll(&b->a, &slot, &status)) {
		MUST(slot < ENTRIES && busy[slot] && status < RMC_S_DOMAIN_MAX);
		op = b->a.wq[slot].word0 >> RMC_WQE_OP_SHIFT & RMC_WQE_OP_MASK;
		busy[slot] = false;
		++*done;
		/* it has no slots for transactions */
		if (rmc_op_flags(op) & RMC_OPF_TX) {
			MUST(status);
			continue;
		}
		/* an ordinary queue pair has nothing to resume */
		MUST(op == RMC_OP_RESUME && !b->a.qp.group ? status :
		     !(rmc_op_mask() >> op & 1) == (status == RMC_S_BAD_OP));
	}
}

/* Events of ordered queue pairs alone: inputs for others are older than these. */
static void set_rnic(struct fuzz *b, u32 nid, u32 how)
{
	struct rmc_rnic r = {
		.any_lines = how & 1, .gap_ns = how & 2 ? 2000000 : 0,
		.buffer_ns = how & 4 ? 5000000 : 0, .msg_ps = how & 8 ? 1000000 : 0,
		.cas_ns = how & 16 ? 1000000 : 0, .faa_ns = how & 16 ? 3000000 : 0,
		.mbps = how & 32 ? 1000 : 0, .qp_cache = how & 64 ? 1 : 0, .qp_miss_ns = 1000000,
	};
	u32 u;

	rmc_filters = 1;
	for (u = 0; u < b->w.opts.units; u++) {
		struct rmc_node *unit = b->w.node[nid]->unit[u];

		/* without memory there is no adapter */
		rmc_channel_set_adapter(unit, &r, how);
		rmc_rnic_set_client(&unit->links, &r, how);
	}
}

static void make_ordered(struct fuzz *b)
{
	app_fini(&b->a);
	b->w.apps = 0;
	app_init_ordered(&b->a, &b->w, 0, CTX, ENTRIES);
	rmc_bufs_add(&b->a.bufs, b->buf_mem);
}

/* Nothing of ordered queue pairs is counted any more, and who sends and the filters agree. */
static void check_order(struct fuzz *b, struct rmc_node *unit)
{
	u32 ep, g;

	MUST(!unit->renewals && !unit->renew_later);
	for (ep = 0; ep < unit->fabric->endpoints; ep++) {
		struct rmc_node *server = testbed_unit(&b->w, ep);
		struct rmc_filter *flt = server->links.filter[RMC_LANE_REQ][unit->ep];
		struct rmc_out *out = unit->out[ep];

		MUST(!flt || !flt->rx || !flt->order.broken);
		for (g = 0; out && g < RMC_REQ_GROUPS; g++)
			MUST(!out->ordered[g] && !out->late[g]);
		MUST(!out || (!out->broken && !out->unknown && !out->untold));
	}
	for (g = 0; b->a.qp.to && g < NODES; g++)
		MUST(!b->a.qp.to[g].writes && !b->a.qp.to[g].atomics && !b->a.qp.to[g].notifier);
}

static void check_clean(struct fuzz *b)
{
	struct rmc_itt *itt;
	u32 i, u, n;

	for (u = 0; u < b->w.opts.units; u++) {
		itt = &b->w.node[0]->unit[u]->itt;
		MUST(!itt->used && !itt->announced && !itt->restarts);
		MUST(itt->quarantined == RMC_TID_NONE);
		for (i = itt->free, n = 0; i != RMC_TID_NONE; i = itt->entry[i].next)
			n++;
		MUST(n == itt->size);
		check_order(b, b->w.node[0]->unit[u]);
		for (i = 0; i < NODES; i++)
			MUST(!b->w.node[i]->unit[u]->att.live && !b->w.node[i]->unit[u]->att.used);
	}
	for (i = 0; i < NODES; i++)
		MUST(testbed_credits_home(&b->w, 0, i));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const u8 ops[] = {
		RMC_OP_READ, RMC_OP_WRITE, RMC_OP_CAS, RMC_OP_FAA, RMC_OP_NOTIFY,
		RMC_OP_WRITE_NOTIFY, RMC_OP_SABRE, RMC_OP_WRITE_ONCE,
	};
	bool ordered = size && data[size - 1] == 'O';
	struct input in = { data, size - ordered };
	bool busy[ENTRIES] = { false };
	u32 posted = 0, done = 0, i;
	struct fuzz b;

	fuzz_init(&b, &in, false);
	if (ordered)
		make_ordered(&b);
	while (in.left) {
		u32 how = take(&in, 1), op, at, off, len, times = 1;
		u64 word0, word1;

		if (how & 0x10)
			testbed_visit(&b.w);
		reap(&b, busy, &done);
		switch (how & 3) {
		case 0:
			if (ordered && (how & 0xc) == 0xc)
				set_rnic(&b, (how >> 5) % NODES, take(&in, 1));
			else
				fuzz_chaos(&b, &in);
			continue;
		case 1:
			/* likely to pass validation */
			op = ordered && how >> 5 == 7 ? RMC_OP_RESUME : ops[how >> 5];
			at = take(&in, 2), off = take(&in, 2);
			len = take(&in, 2);
			if (op == RMC_OP_CAS || op == RMC_OP_FAA)
				len = 8;
			else if (op == RMC_OP_NOTIFY)
				len = 0;
			else
				len = how & 4 ? len % (BUF / 8) + 8 : len % (2 * BUF);
			if (how & 8)
				times = 1 + (off >> 13);
			off = how & 4 ? off % 16 * 512 : off % (SEG + 64);
			word0 = rmc_wqe_word0(op, (at >> 14) % 4,
					      (uintptr_t)b.buf + (how & 4 ? at % 64 : at % (BUF + 64)), 0);
			word1 = rmc_wqe_word1(off, len);
			if (op == RMC_OP_RESUME)
				word0 = rmc_wqe_word0(op, 0, 0, 0), word1 = 0;
			break;
		case 2:
			op = take(&in, 1) % 12;
			word0 = rmc_wqe_word0(op, how >> 2 & 3, (uintptr_t)b.buf + take(&in, 2), 0);
			word1 = take(&in, 8);
			break;
		default:
			word0 = take(&in, 8);
			word1 = take(&in, 8);
			break;
		}
		for (; times && !busy[b.a.head & (ENTRIES - 1)]; times--) {
			busy[b.a.head & (ENTRIES - 1)] = true;
			app_post_raw(&b.a, word0, word1);
			posted++;
		}
	}
	for (i = 0; ordered && i < NODES; i++)
		set_rnic(&b, i, 0);
	fuzz_calm(&b);
	reap(&b, busy, &done);
	MUST(done == posted);
	check_clean(&b);
	fuzz_fini(&b);
	return 0;
}
