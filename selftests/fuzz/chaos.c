// SPDX-License-Identifier: GPL-2.0
/* The testbed of the fuzz targets, and events in it besides packets. */
#include "fuzz.h"
#include "kmod/core/switched.h"

#define TUPLE	64U	/* bytes; tuples are in the first half of the segment, and behind it */
#define WORDS	64U	/* ... words of a switch */

void (*rmc_between_passes)(void);
u32 rmc_no_memory;

/* A line that changes between two reads of it, for the given number of times. */
static u64 *restless;
static u32 stores;

static void store_between(void)
{
	if (!stores)
		return;
	stores--;
	++*restless;
}

/* The first byte of the input chooses the testbed. */
void fuzz_init(struct fuzz *b, struct input *in, bool hostile)
{
	u32 how = take(in, 1), i;
	struct testbed_opts o = {
		.nodes = NODES, .kernels = true, .itt = 8, .ring_order = 4,
		.mtu = how & 1 ? 64 : 1024, .pay_order = how & 1 ? 4 : 5,
		.att_entries = 2,
		/* small blocks: packets of both MTUs cross their ends */
		.ni = how & 0x80 ? "edge" : "fused", .units = how & 0x80 ? UNITS : 1,
		.interleave = 256,
	};

	memset(b, 0, sizeof(*b));
	testbed_now_ns = 1000000000ULL;
	rmc_filters = 0;
	rmc_no_memory = 0;
	stores = 0;
	rmc_between_passes = store_between;
	testbed_init(&b->w, &o);
	/*
	 * exactly as long as registered, so that AddressSanitizer detects any access beyond it
	 */
	b->seg = aligned_alloc(64, SEG);
	b->buf = aligned_alloc(64, BUF);
	/* even versions: no object is being written */
	memset(b->seg, 2, SEG);
	memset(b->buf, 4, BUF);
	b->seg_mem = mem_make(b->seg, SEG, how & 2 ? 63 : 12, how & 4 ? RMC_MEM_READONLY : 0);
	b->buf_mem = mem_make(b->buf, BUF, how & 2 ? 63 : 12, 0);
	/* modes 0 (no objects) to 3 */
	mem_objects(b->seg_mem, how >> 3 & 3, 0);
	app_init(&b->a, &b->w, 0, CTX, ENTRIES);
	rmc_bufs_add(&b->a.bufs, b->buf_mem);
	for (i = 0; i < NODES; i++) {
		seg_set(&b->w, i, CTX, b->seg_mem);
		b->w.fabric[i].timeout_ms = 64;
		b->w.fabric[i].dead_ms = hostile ? 1000000 : 300;
		b->w.fabric[i].retries = how >> 5 & 3;
		b->w.frozen[i] = hostile && i;
	}
	b->hostile = hostile;
}

void fuzz_fini(struct fuzz *b)
{
	rmc_between_passes = NULL;
	app_fini(&b->a);
	testbed_fini(&b->w);
	mem_free(b->seg_mem);
	mem_free(b->buf_mem);
	free(b->seg);
	free(b->buf);
	rmc_filters = 0;
}

/* Let time pass; per tick, up to the given number of visits while there is work. */
static void pass(struct fuzz *b, u32 ticks, u32 ms, u32 visits)
{
	u32 k;

	while (ticks--) {
		for (k = 0; k < visits && testbed_visit(&b->w); k++)
			;
		testbed_tick(&b->w, ms);
	}
}

/* ---- faults ---- */

static void set_fault(struct fuzz *b, struct input *in)
{
	static const u32 often[] = { 0, 100000, 500000, RMC_ALWAYS };
	static const u64 ns[] = { 0, 500000, 20000000, 5000000000ULL };
	u32 link = take(in, 1), chances = take(in, 1), times = take(in, 1);
	struct rmc_fault fault = {
		.loss = often[chances & 3], .dup = often[chances >> 2 & 3],
		.reorder = often[chances >> 4 & 3], .shuffle = often[chances >> 6],
		.delay_ns = ns[times & 3], .jitter_ns = ns[times >> 2 & 3],
		.gap_ns = ns[times >> 4 & 3], .down = (times >> 6) == 3,
	};
	u32 at = b->hostile ? 0 : (link & 3) % NODES, from = (link >> 2 & 3) % NODES;

	rmc_filters = 1;
	fault_set(&b->w, from, at, link & 0x10 ? RMC_LANE_REQ : RMC_LANE_REP, &fault, link + 1);
}

/* As the command does, which repeats it until nothing is held; here it is done once. */
static void clear_fault(struct fuzz *b, u32 from, u32 at, enum rmc_lane lane)
{
	u32 units = b->w.opts.units, i;

	for (i = 0; i < units * units; i++) {
		struct rmc_node *node = b->w.node[at]->unit[i / units];
		u32 ep = fuzz_endpoint(b, from, i);
		struct rmc_filter *flt = node->links.filter[lane][ep];

		if (flt && !rmc_channel_del_filter(node, ep, lane))
			rmc_filter_destroy(flt);
	}
}

static void set_model(struct fuzz *b, u32 how)
{
	struct rmc_model m = {
		.topology = how & 3, .dim = { 3, 1, 1 }, .hop_ns = how & 4 ? 1000000 : 50,
		.base_ns = how & 8 ? 1000 : 0, .local_ns = how & 16 ? 100 : 0,
		.mbps = how & 32 ? 100 : 0,
	};
	enum rmc_lane lane;
	u32 i, u;

	MUST(!rmc_model_check(&m, NODES));
	rmc_filters = 1;
	for (i = 0; i < NODES; i++) {
		b->w.fabric[i].model = m;
		for (u = 0; u < b->w.opts.units; u++)
			for (lane = 0; lane < RMC_LANES; lane++)
				rmc_channel_refresh(b->w.node[i]->unit[u], lane);
	}
}

static void set_slow(struct fuzz *b, u32 nid, u32 ns)
{
	u32 u;

	rmc_filters = 1;
	for (u = 0; u < b->w.opts.units; u++) {
		b->w.node[nid]->unit[u]->links.slow_ns = ns;
		rmc_channel_refresh(b->w.node[nid]->unit[u], RMC_LANE_REQ);
	}
}

static void set_stopped(struct fuzz *b, u32 nid, u32 how)
{
	u32 u;

	rmc_filters = 1;
	for (u = 0; u < b->w.opts.units; u++) {
		b->w.node[nid]->unit[u]->req_stopped = how & 1;
		b->w.node[nid]->unit[u]->srv_stopped = how >> 1 & 1;
	}
}

/* ---- switch ---- */

static void add_range(struct rmc_node *unit, u64 begin, u32 bytes, u32 count, bool words)
{
	struct rmc_switch_range r = {
		.ctx_id = CTX, .begin = begin, .stride = bytes, .bytes = bytes, .count = count,
		.words = words,
	};

	MUST(!rmc_switch_check(unit->fabric, &r));
	r.slot = rmc_os_zalloc(count * sizeof(*r.slot));
	if (r.slot && !rmc_switched_add(unit, &r))
		rmc_switched_promote(unit, CTX, begin, count);
	else
		rmc_os_free(r.slot);
}

static void switch_on(struct rmc_node *unit)
{
	struct rmc_switch *sw = rmc_switch_create(unit->fabric, unit->ep, 128,
						  unit->links.switch_epoch + 1,
						  unit->links.switch_epochs);

	rmc_filters = 1;
	if (!sw)
		return;
	rmc_switched_install(unit, sw);
	add_range(unit, 0, TUPLE, SEG / 2 / TUPLE, false);
	add_range(unit, SEG / 2, 8, WORDS, true);
}

static void switch_off(struct rmc_node *unit)
{
	struct rmc_switch *sw;

	if (!unit->links.sw)
		return;
	rmc_switch_crash(unit->links.sw);
	MUST(!rmc_switched_take_away(unit, &sw));
	rmc_switch_destroy(sw);
}

static void switch_command(struct rmc_node *unit, u32 how)
{
	struct rmc_switch_memory m = rmc_switched_memory(unit);
	struct rmc_switch_unlatch u = { .nid = how >> 3 & 1 ? 1 : 2, .connected = how & 16 };
	u64 at = how & 32 ? SEG / 2 : (how >> 3 & 7) * TUPLE;
	u32 some = how & 64 ? 32 : 2, done;

	switch (how & 7) {
	case 0:
		rmc_switch_demote(unit->links.sw, CTX, at, some, &done, &m);
		break;
	case 1:
		rmc_switched_promote(unit, CTX, at, some);
		break;
	case 2:
		rmc_switch_crash(unit->links.sw);
		break;
	case 3:
	case 4:
		rmc_switch_recover(unit->links.sw, &m);
		break;
	case 5:
		rmc_switched_unlatch(unit, &u, 0);
		break;
	case 6:
		rmc_switch_keep(unit->links.sw);
		break;
	case 7:
		switch_off(unit);
		break;
	}
}

void fuzz_switch(struct fuzz *b, u32 how)
{
	u32 u;

	for (u = 0; u < b->w.opts.units; u++) {
		struct rmc_node *unit = b->w.node[0]->unit[u];

		if (unit->links.sw)
			switch_command(unit, how);
		else
			switch_on(unit);
	}
}

/* ---- memory ---- */

static void withdraw(struct fuzz *b, u32 nid, bool gone)
{
	seg_set(&b->w, nid, CTX, gone ? NULL : b->seg_mem);
	if (!nid)
		b->withdrawn = gone;
}

/* The application unregisters its buffer while operations use it, and registers another. */
static void swap_buffer(struct fuzz *b)
{
	struct rmc_abort uses = { .lbuf = b->buf_mem, .nid = -1, .status = RMC_S_BAD_LBUF };
	struct rmc_mem *half;
	u32 u;

	rmc_bufs_del(&b->a.bufs, b->buf_mem);
	MUST(rmc_bufs_del(&b->a.bufs, b->buf_mem));
	for (u = 0; u < b->w.opts.units; u++)
		rmc_itt_abort(b->w.node[0]->unit[u], &uses);
	half = mem_make(b->buf + BUF / 2, BUF / 2, 12, 0);
	MUST(!rmc_bufs_add(&b->a.bufs, half) && rmc_bufs_add(&b->a.bufs, b->buf_mem));
	rmc_bufs_del(&b->a.bufs, half);
	mem_free(half);
	MUST(!rmc_bufs_add(&b->a.bufs, b->buf_mem));
}

/* ---- nodes ---- */

/* Node 1 or 2, which is honest: goes down, comes up, dies and restarts, or freezes. */
static void fate(struct fuzz *b, u32 how)
{
	u32 nid = 1 + (how & 1);
	struct rmc_node *node = b->w.node[nid];
	u32 u;

	switch (how >> 1 & 3) {
	case 0:
		for (u = 0; u < b->w.opts.units; u++)
			rmc_node_down_srv(node->unit[u]);
		for (u = 0; u < b->w.opts.units; u++)
			rmc_node_down_req(node->unit[u]);
		break;
	case 1:
		if (node->left)
			rmc_node_join(node, rmc_os_ns_to_ms(testbed_now_ns));
		break;
	case 2:
		testbed_restart(&b->w, nid);
		seg_set(&b->w, nid, CTX, b->seg_mem);
		break;
	case 3:
		b->w.frozen[nid] = how & 8;
		break;
	}
}

/* A peer writes any values into its own shared words. */
static void rumour(struct fuzz *b, struct input *in)
{
	u32 how = take(in, 1), nid = 1 + (how & 1);
	u64 v = take(in, 2);
	u32 *sync = &b->w.sync[fuzz_endpoint(b, nid, how >> 3) * NODES];

	b->replies_optional = true;
	switch (how >> 1 & 3) {
	case 0:
		b->w.table[nid].claim = rmc_claim(v & 7, 1 + (v >> 8 & 3));
		break;
	case 1:
		b->w.table[nid].heartbeat = v;
		break;
	case 2:
		*sync = v;
		break;
	case 3:
		/* restore the valid values */
		b->w.table[nid].claim = rmc_claim(RMC_NODE_UP, 1);
		*sync = 1;
		break;
	}
}

void fuzz_chaos(struct fuzz *b, struct input *in)
{
	u32 what = take(in, 1), how;

	switch (what % 16) {
	default:
		pass(b, 1 + (what >> 4), 1, 2);
		break;
	case 1:
		pass(b, 3, 20 << (what >> 4 & 3), 2);
		break;
	case 2:
		set_fault(b, in);
		break;
	case 3:
		how = take(in, 1);
		clear_fault(b, (how >> 2 & 3) % NODES, b->hostile ? 0 : (how & 3) % NODES,
			    how & 0x10 ? RMC_LANE_REQ : RMC_LANE_REP);
		break;
	case 4:
		set_model(b, take(in, 1));
		break;
	case 5:
		set_slow(b, (what >> 4 & 3) % NODES, what & 0x80 ? 3000000 : 0);
		break;
	case 6:
		set_stopped(b, (what >> 4 & 3) % NODES, what >> 6);
		break;
	case 7:
		/* the owner writes an object: its version, or all of it */
		how = take(in, 1);
		++*(u64 *)(b->seg + how % 16 * 512);
		if (how & 0x10)
			memset(b->seg + how % 16 * 512 + 8, how, 56);
		break;
	case 8:
		how = take(in, 1);
		restless = (u64 *)(b->seg + how * 8 % SEG);
		stores = 1 << (what >> 4 & 7);
		break;
	case 9:
		withdraw(b, b->hostile ? 0 : (what >> 4 & 3) % NODES, what & 0x80);
		break;
	case 10:
		swap_buffer(b);
		break;
	case 11:
		rmc_no_memory = what >> 4;
		break;
	case 12:
		if (b->hostile)
			rumour(b, in);
		else
			fate(b, what >> 4);
		break;
	case 13:
		rmc_event_arm(&b->seg_mem->notified, b->seg_mem->notified.count - (what >> 7));
		break;
	case 14:
		if (b->switched)
			fuzz_switch(b, take(in, 1));
		else
			pass(b, 1 + (what >> 4), 1, 2);
		break;
	}
}

void fuzz_calm(struct fuzz *b)
{
	u32 i, from;

	stores = 0;
	rmc_no_memory = 0;
	for (i = 0; i < b->w.opts.units; i++)
		switch_off(b->w.node[0]->unit[i]);
	set_model(b, 0);
	for (i = 0; i < NODES; i++) {
		set_stopped(b, i, 0);
		set_slow(b, i, 0);
		withdraw(b, i, false);
		b->w.frozen[i] = b->hostile && i;
		if (!b->hostile && b->w.node[i]->left)
			rmc_node_join(b->w.node[i], rmc_os_ns_to_ms(testbed_now_ns));
		for (from = 0; from < NODES; from++) {
			clear_fault(b, from, i, RMC_LANE_REQ);
			clear_fault(b, from, i, RMC_LANE_REP);
		}
	}
	pass(b, 25, 20, 64);
	/* for nodes that join, and wait for silent ones */
	pass(b, 6, 300, 64);
	pass(b, 10, 20, 64);
}
