// SPDX-License-Identifier: GPL-2.0
/* A switch before nodes whose network adapter is modelled, and ordered queue pairs through it. */
#include "switched.h"
#include "kmod/core/adapter.h"

#define LARGE		16384u	/* where tuples of LARGE_BYTES begin */
#define LARGE_BYTES	512u

/* The lines of a request are moved in steps, from now on. */
static void adapter(struct setup *s, const struct rmc_rnic *r)
{
	CHECK_EQ(rmc_channel_set_adapter(server(s, 0), r, 7), 0);
}

static void short_visit(struct setup *s)
{
	testbed_visit(&s->w);
	testbed_now_ns += 100;
}

static u64 *large(u32 tuple, u32 word)
{
	return (u64 *)(seg + LARGE + tuple * LARGE_BYTES) + word;
}

/* Post a WRITE of a whole tuple, and go on until it has stored its word and not its last one. */
static void write_half(struct setup *s, u64 word, u64 data, u64 stored)
{
	u32 i;

	for (i = 1; i < LARGE_BYTES / 8; i++)
		((u64 *)lbuf)[i] = data;
	*(u64 *)lbuf = word;
	app_post(&s->a, RMC_OP_WRITE, 1, LARGE, lbuf, LARGE_BYTES);
	for (i = 0; i < 200 && *large(0, 0) != stored; i++)
		short_visit(s);
	CHECK_EQ(*large(0, 0), stored);
	CHECK(*large(0, LARGE_BYTES / 8 - 1) != data);
}

/* Tuples become hot while what was cold is half done: the switch does not see the other half. */
static void test_promoted(const struct testbed_opts *o)
{
	static const struct rmc_rnic steps = { .any_lines = 1, .gap_ns = 1000 };
	static const struct rmc_rnic buffer = { .buffer_ns = 900000000 }, none = { };
	struct rmc_switch_memory m;
	struct rmc_switch *sw;
	struct setup s;
	u64 was, now;

	if (o->mtu < LARGE_BYTES)
		return;
	begin(&s, o);
	switch_on(&s);
	m = rmc_switched_memory(server(&s, 0));
	add_range(server(&s, 0), LARGE, LARGE_BYTES, 2, false);
	CHECK_EQ(rmc_switch_demote(server(&s, 0)->links.sw, CTX, LARGE, 1, &done, &m), 0);
	adapter(&s, &steps);
	was = *large(0, 0);
	CHECK_EQ(cas(&s, LARGE, was, was + 1, &now), RMC_S_OK);
	write_half(&s, was + 2, 1, was + 2);
	CHECK_EQ(rmc_switched_promote(server(&s, 0), CTX, LARGE, 1), 0);
	CHECK_EQ(*large(0, LARGE_BYTES / 8 - 1), 1);
	CHECK_EQ(wait_ms(&s, 20), RMC_S_OK);
	/* the same without a switch so far */
	CHECK_EQ(rmc_switch_demote(server(&s, 0)->links.sw, CTX, LARGE, 2, &done, &m), 0);
	CHECK_EQ(rmc_switch_demote(server(&s, 0)->links.sw, CTX, 0, TUPLES, &done, &m), 0);
	CHECK_EQ(rmc_switch_demote(server(&s, 0)->links.sw, CTX, WORDS, WORD_COUNT, &done, &m), 0);
	CHECK_EQ(rmc_switched_take_away(server(&s, 0), &sw), 0);
	was = *large(0, 0);
	CHECK_EQ(cas(&s, LARGE, was, was + 1, &now), RMC_S_OK);
	write_half(&s, was + 2, 2, was + 2);
	CHECK_EQ(rmc_switched_install(server(&s, 0), sw), 0);
	CHECK_EQ(*large(0, LARGE_BYTES / 8 - 1), 2);
	CHECK_EQ(wait_ms(&s, 20), RMC_S_OK);
	/* the adapter's buffer does not keep a word that the switch has changed */
	adapter(&s, &buffer);
	was = *large(0, 0);
	CHECK_EQ(cas(&s, LARGE, was, was + 1, &now), RMC_S_OK);
	CHECK_EQ(cas(&s, LARGE, was + 1, was + 2, &now), RMC_S_OK);
	CHECK_EQ(rmc_switched_promote(server(&s, 0), CTX, LARGE, 1), 0);
	was = *large(0, 0);
	CHECK_EQ(cas(&s, LARGE, was, was + 1, &now), RMC_S_OK);
	CHECK_EQ(cas(&s, LARGE, was + 1, was + 2, &now), RMC_S_OK);
	CHECK_EQ(rmc_switch_demote(server(&s, 0)->links.sw, CTX, LARGE, 1, &done, &m), 0);
	was = (was + 2) & ~RMC_SWITCH_SWITCHED;
	CHECK_EQ(*large(0, 0), was);
	CHECK_EQ(cas(&s, LARGE, was, was + 1, &now), RMC_S_OK);
	CHECK_EQ(now, was);
	adapter(&s, &none);
	check_quiet(&s);
	teardown(&s);
}

/* Close the channels of node 0 at one that is a kernel of its own, and end. */
static void leave(struct setup *s)
{
	u32 i;

	for (i = 0; i < s->w.opts.units; i++)
		rmc_in_close(server(s, 0), rmc_endpoint(server(s, 0)->fabric, 0) + i);
}

static void end_alone(struct setup *s)
{
	app_lost(&s->a);
	rmc_filters = 0;
	testbed_fini(&s->w);
	mem_free(s->seg_mem);
	mem_free(s->buf_mem);
	free(seg - PAGE);
	free(lbuf - PAGE);
}

/* A holder dies amid its write, and the switch crashes: what it recovers is one version. */
static void test_half_written(const struct testbed_opts *o)
{
	static const struct rmc_rnic steps = { .any_lines = 1, .gap_ns = 1000 };
	struct testbed_opts k = *o;
	struct rmc_switch_memory m;
	struct rmc_switch *sw;
	struct setup s;
	u64 was, now;
	u32 i;

	if (o->mtu < LARGE_BYTES)
		return;
	k.kernels = true;
	begin(&s, &k);
	switch_on(&s);
	sw = server(&s, 0)->links.sw;
	m = rmc_switched_memory(server(&s, 0));
	add_range(server(&s, 0), LARGE, LARGE_BYTES, 2, false);
	adapter(&s, &steps);
	was = *large(0, 0);
	CHECK_EQ(cas(&s, LARGE, was, was + 1, &now), RMC_S_OK);
	write_half(&s, was + 1, 3, was + 2);
	leave(&s);
	CHECK_EQ(sw->latched, 1);
	rmc_switch_crash(sw);
	CHECK_EQ(rmc_switch_recover(sw, &m), 0);
	for (i = 1; i < LARGE_BYTES / 8; i++)
		CHECK_EQ(*large(0, i), 3);
	end_alone(&s);
}

/* True if a request of @op to @s's server has begun, and not all its lines were moved */
static bool is_half(struct setup *s, u8 op)
{
	u32 i;

	for (i = 0; i < s->w.opts.units; i++) {
		struct rmc_in *in = server(s, 0)->in[rmc_endpoint(server(s, 0)->fabric, 0) + i];

		if (in && in->steps && in->steps->begun && in->steps->done &&
		    (u8)(in->steps->word0 >> 48) == op)
			return true;
	}
	return false;
}

/* A reader dies amid its read: nothing is stored. */
static void test_half_read(const struct testbed_opts *o)
{
	static const struct rmc_rnic steps = { .any_lines = 1, .gap_ns = 1000 };
	struct testbed_opts k = *o;
	struct setup s;
	u32 i;

	if (o->mtu < LARGE_BYTES)
		return;
	k.kernels = true;
	begin(&s, &k);
	switch_on(&s);
	/* what is stale in the rings is not what memory has */
	memset(lbuf, 0x11, LARGE_BYTES);
	for (i = 0; i < 4; i++)
		CHECK_EQ(run_ms(&s, RMC_OP_WRITE, LARGE, lbuf, LARGE_BYTES, 20), RMC_S_OK);
	adapter(&s, &steps);
	app_post(&s.a, RMC_OP_READ, 1, LARGE, lbuf, LARGE_BYTES);
	for (i = 0; i < 200 && !is_half(&s, RMC_OP_READ); i++)
		short_visit(&s);
	CHECK(is_half(&s, RMC_OP_READ));
	memset(seg + LARGE, 0x22, LARGE_BYTES);
	leave(&s);
	for (i = 0; i < LARGE_BYTES; i++)
		CHECK_EQ(seg[LARGE + i], 0x22);
	end_alone(&s);
}

/* A reply without the word of a tuple: nothing of the reply before it is changed. */
static void test_beside(const struct testbed_opts *o)
{
	struct setup s;
	u32 i;

	if (o->mtu < LARGE_BYTES)
		return;
	begin(&s, o);
	switch_on(&s);
	CHECK_EQ(try_range(server(&s, 0), LARGE, LARGE_BYTES, 1, false), 0);
	memset(seg + LARGE, 0xff, LARGE_BYTES);
	app_post(&s.a, RMC_OP_READ, 1, LARGE + 2 * RMC_LINE, lbuf, RMC_LINE);
	app_post(&s.a, RMC_OP_READ, 1, LARGE + RMC_LINE, lbuf + RMC_LINE, RMC_LINE);
	CHECK_EQ(wait_ms(&s, 20), RMC_S_OK);
	CHECK_EQ(wait_ms(&s, 20), RMC_S_OK);
	for (i = 0; i < 2 * RMC_LINE; i++)
		CHECK_EQ(lbuf[i], 0xff);
	check_quiet(&s);
	switch_off(&s);
	teardown(&s);
}

/* How many operations of node 0 have failed, and wait for other replies */
static u32 failing(struct setup *s)
{
	u32 i, k, n = 0;

	for (i = 0; i < s->w.opts.units; i++) {
		const struct rmc_itt *itt = &s->w.node[0]->unit[i]->itt;

		for (k = 0; k < itt->size; k++) {
			if (!itt->entry[k].qp || !itt->entry[k].status)
				continue;
			CHECK(!itt->entry[k].copied);
			n++;
		}
	}
	return n;
}

/*
 * A requester without a filter does not count a switch's answer as if it could have copies, also
 * while other replies to the operation are waited for.
 */
static void test_answer_counted(const struct testbed_opts *o)
{
	static const struct rmc_rnic steps = { .any_lines = 1, .gap_ns = 1000 }, none = { };
	u32 i, slot, status = RMC_S_OK, seen = 0;
	struct setup s;

	begin(&s, o);
	switch_on(&s);
	for (i = 0; i < s.w.opts.rrpps; i++)
		CHECK_EQ(rmc_channel_set_adapter(server(&s, i), &steps, 7), 0);
	/* a part of a tuple, which is refused, and lines behind all tuples */
	app_post(&s.a, RMC_OP_READ, 1, TUPLES * BYTES - 56, lbuf, 56 + 1024);
	for (i = 0; i < 1000 && !app_poll(&s.a, &slot, &status); i++) {
		short_visit(&s);
		seen += failing(&s);
	}
	CHECK_EQ(status, RMC_S_BAD_LENGTH);
	/* several RRPPs answer in any order */
	CHECK(seen || s.w.opts.rrpps > 1);
	for (i = 0; i < s.w.opts.rrpps; i++)
		CHECK_EQ(rmc_channel_set_adapter(server(&s, i), &none, 7), 0);
	check_quiet(&s);
	switch_off(&s);
	teardown(&s);
}

/* A writer and a reader, whose lines are in any order: what the switch verifies is never torn. */
static void test_torn(const struct testbed_opts *o)
{
	static const struct rmc_rnic steps = { .any_lines = 1, .gap_ns = 100 }, none = { };
	u32 verified = 0, torn = 0, wrong = 0, slot, status, round, i;
	struct testbed_opts three = *o;
	u64 *out, *in, word;
	bool writes = false, reads = false;
	struct app reader;
	struct setup s;

	if (o->mtu < LARGE_BYTES)
		return;
	three.nodes = 3;
	begin(&s, &three);
	app_init(&reader, &s.w, 2, CTX, 64);
	rmc_bufs_add(&reader.bufs, s.buf_mem);
	switch_on(&s);
	add_range(server(&s, 0), LARGE, LARGE_BYTES, 1, false);
	adapter(&s, &steps);
	out = (u64 *)lbuf;
	in = (u64 *)(lbuf + 4096);
	word = *large(0, 0);
	for (round = 0; round < 12000; round++) {
		short_visit(&s);
		if (!reads)
			app_post(&reader, RMC_OP_READ, 1, LARGE, in, LARGE_BYTES);
		reads = true;
		if (app_poll(&reader, &slot, &status)) {
			u32 differ = 0;

			reads = false;
			CHECK_EQ(status, RMC_S_OK);
			for (i = 2; i < LARGE_BYTES / 8; i++)
				differ += in[i] != in[1];
			if (in[0] == RMC_SWITCH_FAILED) {
				torn += !!differ;
			} else {
				verified++;
				wrong += differ || !(in[0] & RMC_SWITCH_VERIFIED) ||
					 in[1] != (in[0] & RMC_SWITCH_VERSION);
			}
		}
		/* now and then: else no read would be consistent */
		if (!writes && round % 200 == 0) {
			out[0] = word;
			out[1] = word + 1;
			app_post(&s.a, RMC_OP_CAS, 1, LARGE, out, 8);
			writes = true;
		}
		if (!writes || !app_poll(&s.a, &slot, &status))
			continue;
		CHECK_EQ(status, RMC_S_OK);
		if (word & RMC_SWITCH_LATCHED) {
			word++;
			writes = false;
			continue;
		}
		CHECK_EQ(out[0], word);
		word++;
		for (i = 1; i < LARGE_BYTES / 8; i++)
			out[i] = (word + 1) & RMC_SWITCH_VERSION;
		out[0] = word;
		app_post(&s.a, RMC_OP_WRITE, 1, LARGE, out, LARGE_BYTES);
	}
	/* there was something to find */
	CHECK(verified > 100 && torn > 10);
	CHECK_EQ(wrong, 0);
	adapter(&s, &none);
	for (i = 0; i < 100; i++)
		short_visit(&s);
	app_fini(&reader);
	teardown(&s);
}

static int wait_app(struct setup *s, struct app *a, u32 ms)
{
	u32 slot, status, i;

	for (i = 0; i < 50 * ms; i++) {
		if (app_poll(a, &slot, &status))
			return status;
		testbed_visit(&s->w);
		if (i % 50 == 49)
			testbed_tick(&s->w, 1);
	}
	return -1;
}

/* An ordered queue pair beside the ordinary one of the same node */
static void ordered_begin(struct setup *s, struct app *a, const struct testbed_opts *o)
{
	begin(s, o);
	set_timeout(s, 20, 0);
	app_init_ordered(a, &s->w, 0, CTX, 64);
	rmc_bufs_add(&a->bufs, s->buf_mem);
	switch_on(s);
}

static u32 broken(struct setup *s)
{
	u32 i, k, all = 0;

	for (i = 0; i < s->w.opts.rrpps; i++)
		for (k = 0; k < s->w.fabric->endpoints; k++)
			if (server(s, i)->links.filter[RMC_LANE_REQ][k])
				all |= server(s, i)->links.filter[RMC_LANE_REQ][k]->order.broken;
	return all;
}

static void post_add(struct app *a, u32 at)
{
	*(u64 *)(lbuf + at) = 1;
	app_post(a, RMC_OP_FAA, 1, 8192, lbuf + at, 8);
}

/* A group is renewed although a switch is on the way of the packet that says so. */
static void test_renewed(const struct testbed_opts *o)
{
	static const struct rmc_fault down = { .loss = RMC_ALWAYS }, none = { };
	u32 i, errors;
	struct setup s;
	struct app a;

	ordered_begin(&s, &a, o);
	post_add(&a, 0);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OK);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &down, 1);
	post_add(&a, 0);
	CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
	CHECK(broken(&s));
	app_fini(&a);
	errors = testbed_stat(&s.w, 1, serve_errors);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &none, 1);
	for (i = 0; i < 100; i++) {
		testbed_tick(&s.w, 1);
		testbed_settle(&s.w);
	}
	CHECK_EQ(broken(&s), 0);
	CHECK_EQ(testbed_stat(&s.w, 1, serve_errors), errors);
	CHECK_EQ(*(u64 *)(seg + 8192), 1);
	check_quiet(&s);
	switch_off(&s);
	teardown(&s);
}

/*
 * A flush while an atomic of a group is held behind the switch, and before the switch more of its
 * group, and others: all pass in the order of the wire.
 */
static void test_flushed(const struct testbed_opts *o)
{
	static const struct rmc_rnic slow = { .faa_ns = 10000000 }, none = { };
	static const struct rmc_fault way = { .delay_ns = 1000000 }, no_fault = { };
	struct rmc_model model = { .topology = RMC_TOPOLOGY_CROSSBAR, .hop_ns = 1 }, no_model = { };
	struct setup s;
	struct app a;
	u32 i;

	ordered_begin(&s, &a, o);
	set_timeout(&s, 500, 0);
	for (i = 0; i < s.w.opts.rrpps; i++)
		CHECK_EQ(rmc_channel_set_adapter(server(&s, i), &slow, 1), 0);
	post_add(&a, 0);
	for (i = 0; i < 20; i++)
		short_visit(&s);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &way, 1);
	post_add(&a, 64);
	for (i = 0; i < 5; i++)
		short_visit(&s);
	app_post(&s.a, RMC_OP_READ, 1, 8192 + 64, lbuf + 128, 8);
	for (i = 0; i < 20; i++)
		short_visit(&s);
	for (i = 0; i < s.w.opts.rrpps; i++)
		CHECK_EQ(rmc_channel_set_adapter(server(&s, i), &none, 1), 0);
	CHECK_EQ(wait_ms(&s, 20), RMC_S_OK);
	CHECK_EQ(wait_app(&s, &a, 20), RMC_S_OK);
	CHECK_EQ(wait_app(&s, &a, 20), RMC_S_OK);
	CHECK_EQ(*(u64 *)(lbuf + 64), 1);
	CHECK_EQ(*(u64 *)(seg + 8192), 2);
	CHECK_EQ(switch_stat(&s, duplicates), 0);
	CHECK_EQ(switch_stat(&s, psn_errors), 0);
	/* what is before the switch meets the adapter when it has passed: the lock is taken */
	for (i = 0; i < s.w.opts.rrpps; i++)
		CHECK_EQ(rmc_channel_set_adapter(server(&s, i), &slow, 1), 0);
	post_add(&a, 0);
	CHECK_EQ(wait_app(&s, &a, 3), -1);
	post_add(&a, 64);
	for (i = 0; i < 5; i++)
		short_visit(&s);
	model_set(&s.w, &model);
	CHECK_EQ(wait_app(&s, &a, 2), RMC_S_OK);
	CHECK_EQ(wait_app(&s, &a, 3), -1);
	CHECK_EQ(wait_app(&s, &a, 40), RMC_S_OK);
	model_set(&s.w, &no_model);
	for (i = 0; i < s.w.opts.rrpps; i++)
		CHECK_EQ(rmc_channel_set_adapter(server(&s, i), &none, 1), 0);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &no_fault, 1);
	/* what the switch should take for a duplicate wrongly is lost, and returns its credit */
	set_timeout(&s, 20, 0);
	for (i = 0; i < s.w.opts.rrpps; i++)
		server(&s, i)->links.sw->last[s.a.qp.node->ep].psn += 2;
	for (i = 0; i < 2; i++)
		CHECK_EQ(run_ms(&s, RMC_OP_WRITE, 8192, lbuf, 64, 40), RMC_S_TIMEOUT);
	CHECK_EQ(*(u64 *)(seg + 8192), 4);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 8192, lbuf, 64, 40), RMC_S_OK);
	check_quiet(&s);
	CHECK_EQ(switch_stat(&s, psn_errors), 0);
	app_fini(&a);
	switch_off(&s);
	teardown(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "tuples are promoted amid a write", test_promoted },
		{ "a holder dies amid its write", test_half_written },
		{ "a reader dies amid its read", test_half_read },
		{ "a reply beside that of a tuple", test_beside },
		{ "a switch's answers are not counted", test_answer_counted },
		{ "torn reads are not verified", test_torn },
		{ "a group is renewed", test_renewed },
		{ "filters are flushed", test_flushed },
	};

	matrix_run(tests, ARRAY_SIZE(tests), filtered_opts, ARRAY_SIZE(filtered_opts));
	return matrix_done();
}
