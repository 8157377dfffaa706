// SPDX-License-Identifier: GPL-2.0
/* Nodes with a switch before their RRPPs: operations of an application, faults, the link model. */
#include "switched.h"

/* Operations of cold tuples and hot ones: packet by packet. */
static void mixed_with_cold(struct setup *s)
{
	struct rmc_node *node = server(s, 0);
	struct rmc_switch_memory m = rmc_switched_memory(node);

	CHECK_EQ(rmc_switch_demote(node->links.sw, CTX, 0, 1, &done, &m), 0);
	CHECK_EQ(run_ms(s, RMC_OP_SABRE, 0, lbuf, 512, 40), RMC_S_BAD_OP);
	if (s->w.opts.mtu == BYTES) {
		CHECK_EQ(run_ms(s, RMC_OP_READ, 0, lbuf, 2 * BYTES, 20), RMC_S_OK);
		CHECK_EQ(*(u64 *)lbuf, *word_of(0));
		CHECK_EQ(*(u64 *)(lbuf + BYTES), *word_of(1) | RMC_SWITCH_VERIFIED);
	} else {
		CHECK_EQ(run_ms(s, RMC_OP_READ, 0, lbuf, 2 * BYTES, 20), RMC_S_BAD_LENGTH);
	}
	CHECK_EQ(run_ms(s, RMC_OP_READ, BYTES, lbuf, BYTES, 20), RMC_S_OK);
	CHECK_EQ(*(u64 *)lbuf, *word_of(1) | RMC_SWITCH_VERIFIED);
	CHECK_EQ(rmc_switched_promote(node, CTX, 0, 1), 0);
}

/* A peer writes the mark of a switch to cold tuples: no reader takes it for a verdict. */
static void marks_in_memory(struct setup *s)
{
	static const u32 len[] = { 8, BYTES, 2 * BYTES, 3 * BYTES + 8, 1, 64 };
	struct rmc_switch_memory m;
	u32 i, n;

	for (i = 0; i < s->w.opts.rrpps; i++) {
		m = rmc_switched_memory(server(s, i));
		CHECK_EQ(rmc_switch_demote(server(s, i)->links.sw, CTX, 0, 8, &done, &m), 0);
	}
	memset(seg, 0xff, 8 * BYTES);
	for (n = 0; n < 2 * ARRAY_SIZE(len); n++) {
		/* from a tuple's begin, and from amid the one before */
		u32 off = n % 2 ? 2 * BYTES : BYTES + 7, bytes = len[n / 2];

		memset(lbuf, 0, 8 * BYTES);
		CHECK_EQ(run_ms(s, RMC_OP_READ, off, lbuf, bytes, 20), RMC_S_OK);
		for (i = 0; i < bytes; i++)
			CHECK_EQ(lbuf[i], (off + i) % BYTES == 7 ? 0x7f : 0xff);
		CHECK_EQ(lbuf[bytes], 0);
	}
	CHECK_EQ(seg[2 * BYTES + 7], 0xff);
	memset(seg, 0, 8 * BYTES);
}

/* A peer sends a packet with the mark of a switch, for a tuple. */
static void forge_answer(struct setup *s)
{
	struct rmc_node *node = s->a.qp.node;
	struct rmc_out *out = node->out[rmc_endpoint(node->fabric, 1)];

	memset(rmc_ring_line(&out->req, out->req.pay_pos), 0, RMC_LINE);
	rmc_ring_put(&out->req, rmc_req_word0(RMC_OP_READ | RMC_OP_ANSWERED, CTX, 0, 0),
		     rmc_req_word1(0, 8, true));
	out->credits--;
	rmc_doorbell_ring(node->fabric, rmc_endpoint(node->fabric, 1), RMC_LANE_REQ, node->ep,
			  false);
	testbed_settle(&s->w);
}

/* Latch, write, read, validate: each is one operation, and the words are right on both sides. */
static void test_operations(const struct testbed_opts *o)
{
	u64 was, now, i;
	struct setup s;

	begin(&s, o);
	switch_on(&s);
	for (i = 0; i < TUPLES; i++) {
		CHECK_EQ(read_word(&s, i * BYTES, &was), RMC_S_OK);
		CHECK_EQ(was, *word_of(i));
		CHECK_EQ(cas(&s, i * BYTES, was, was + 1, &now), RMC_S_OK);
		CHECK_EQ(now, was);
		/* not in memory */
		CHECK_EQ(*word_of(i), was);
		CHECK_EQ(cas(&s, i * BYTES, was, was + 1, &now), RMC_S_OK);
		CHECK_EQ(now, was + 1);
		CHECK_EQ(run_ms(&s, RMC_OP_READ, i * BYTES, lbuf, BYTES, 20), RMC_S_OK);
		CHECK_EQ(*(u64 *)lbuf, RMC_SWITCH_FAILED);

		memset(lbuf, 0x30 + i, BYTES);
		*(u64 *)lbuf = was + 1;
		CHECK_EQ(run_ms(&s, RMC_OP_WRITE, i * BYTES, lbuf, BYTES, 20), RMC_S_OK);
		CHECK_EQ(*word_of(i), was + 2);
		CHECK_EQ(word_of(i)[1], word_of(i)[BYTES / 8 - 1]);
		/* again: it is taken for a repeated one, and changes nothing */
		memset(lbuf + 8, 0xee, BYTES - 8);
		CHECK_EQ(run_ms(&s, RMC_OP_WRITE, i * BYTES, lbuf, BYTES, 20), RMC_S_OK);
		CHECK_EQ(*word_of(i), was + 2);
		*(u64 *)lbuf = was - 1;
		CHECK_EQ(run_ms(&s, RMC_OP_WRITE, i * BYTES, lbuf, BYTES, 20), RMC_S_ABORTED);
		memset(lbuf, 0, BYTES);
		CHECK_EQ(run_ms(&s, RMC_OP_READ, i * BYTES, lbuf, BYTES, 20), RMC_S_OK);
		CHECK_EQ(*(u64 *)lbuf, (was + 2) | RMC_SWITCH_VERIFIED);
		CHECK(!memcmp(lbuf + 8, seg + i * BYTES + 8, BYTES - 8));
		CHECK_EQ(lbuf[8], 0x30 + i);
		CHECK_EQ(read_word(&s, i * BYTES, &now), RMC_S_OK);
		CHECK_EQ(now, was + 2);
	}
	mixed_with_cold(&s);
	/* refused ones keep the rings in step */
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 8, lbuf, 8, 20), RMC_S_BAD_LENGTH);
	CHECK_EQ(run_ms(&s, RMC_OP_WRITE, 0, lbuf, 20, 20), RMC_S_BAD_LENGTH);
	CHECK_EQ(run_ms(&s, RMC_OP_FAA, 0, lbuf, 8, 20), RMC_S_BAD_OP);
	CHECK_EQ(run_ms(&s, RMC_OP_SABRE, 0, lbuf, 512, 40), RMC_S_BAD_OP);
	/* beside them all is as ever */
	fill(lbuf, 4000, 5);
	CHECK_EQ(run_ms(&s, RMC_OP_WRITE, 8192 + 13, lbuf, 4000, 20), RMC_S_OK);
	memset(lbuf, 0, 4000);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 8192 + 13, lbuf, 4000, 20), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg + 8192 + 13, 4000));
	for (i = 0; i < WORD_COUNT; i++) {
		*(u64 *)lbuf = i;
		CHECK_EQ(run_ms(&s, RMC_OP_FAA, WORDS + 8 * i, lbuf, 8, 20), RMC_S_OK);
		CHECK_EQ(read_word(&s, WORDS + 8 * i, &now), RMC_S_OK);
		CHECK_EQ(now, i);
		CHECK_EQ(((u64 *)(seg + WORDS))[i], 0);
	}
	CHECK_EQ(switch_stat(&s, latches), TUPLES);
	CHECK_EQ(switch_stat(&s, unlatches), TUPLES);
	check_quiet(&s);
	switch_off(&s);
	CHECK_EQ(((u64 *)(seg + WORDS))[7], 7);
	/* cold: the same operations, by the storage node */
	was = *word_of(3);
	CHECK(!(was & (RMC_SWITCH_SWITCHED | RMC_SWITCH_LATCHED)));
	CHECK_EQ(cas(&s, 3 * BYTES, was, was + 1, &now), RMC_S_OK);
	CHECK_EQ(*word_of(3), was + 1);
	check_quiet(&s);
	teardown(&s);
}

/* What the switch answers takes half of the round trip, both with and without one_way. */
static void test_half(const struct testbed_opts *o)
{
	struct rmc_model m = { .topology = RMC_TOPOLOGY_CROSSBAR, .hop_ns = 10000000 }, none = { };
	struct setup s;
	u64 now;

	begin(&s, o);
	switch_on(&s);
	model_set(&s.w, &m);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 8);
	CHECK_EQ(wait_ms(&s, 8), -1);
	CHECK_EQ(wait_ms(&s, 4), RMC_S_OK);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, BYTES);
	CHECK_EQ(wait_ms(&s, 18), -1);
	CHECK_EQ(wait_ms(&s, 4), RMC_S_OK);
	CHECK_EQ(*(u64 *)lbuf, *word_of(0) | RMC_SWITCH_VERIFIED);
	model_set(&s.w, &none);
	if (!s.w.opts.kernels) {
		s.w.fabric->shared = rmc_model_share(s.w.opts.nodes, s.w.fabric->endpoints,
						     s.w.fabric->ring_order);
		m.one_way = 1;
		model_set(&s.w, &m);
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 8);
		CHECK_EQ(wait_ms(&s, 8), -1);
		CHECK_EQ(wait_ms(&s, 4), RMC_S_OK);
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, BYTES);
		CHECK_EQ(wait_ms(&s, 18), -1);
		CHECK_EQ(wait_ms(&s, 4), RMC_S_OK);
		model_set(&s.w, &none);
	}
	CHECK_EQ(cas(&s, 0, *word_of(0), *word_of(0) + 1, &now), RMC_S_OK);
	check_quiet(&s);
	rmc_model_unshare(s.w.fabric->shared);
	s.w.fabric->shared = NULL;
	teardown(&s);
}

/* Every request has a copy that comes behind it: nothing happens twice, no credit is lost. */
static void test_duplicates(const struct testbed_opts *o)
{
	struct rmc_fault dup = { .dup = RMC_ALWAYS, .gap_ns = 2000000 };
	struct setup s;
	u64 old;
	u32 i;

	begin(&s, o);
	switch_on(&s);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &dup, 1);
	for (i = 0; i < 40; i++) {
		*(u64 *)lbuf = 1;
		CHECK_EQ(run_ms(&s, RMC_OP_FAA, WORDS, lbuf, 8, 20), RMC_S_OK);
		CHECK_EQ(*(u64 *)lbuf, i);
		/* 0 to 1 and back: the copy of the first would do it again */
		CHECK_EQ(cas(&s, WORDS + 8, 0, 1, &old), RMC_S_OK);
		CHECK_EQ(old, 0);
		CHECK_EQ(cas(&s, WORDS + 8, 1, 0, &old), RMC_S_OK);
		testbed_tick(&s.w, 3);
		*(u64 *)lbuf = 1;
		CHECK_EQ(run_ms(&s, RMC_OP_FAA, 8192, lbuf, 8, 20), RMC_S_OK);
	}
	CHECK_EQ(*(u64 *)(seg + 8192), 40);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 16384, lbuf, 9000, 20), RMC_S_OK);
	check_quiet(&s);
	testbed_tick(&s.w, 5);
	testbed_settle(&s.w);
	CHECK(switch_stat(&s, duplicates) >= 160);
	/* copies that are held when the switch goes are no requests either */
	*(u64 *)lbuf = 1;
	CHECK_EQ(run_ms(&s, RMC_OP_FAA, 8192, lbuf, 8, 20), RMC_S_OK);
	switch_off(&s);
	for (i = 0; i < 10; i++)
		testbed_tick(&s.w, 1);
	testbed_settle(&s.w);
	CHECK_EQ(*(u64 *)(seg + 8192), 41);
	CHECK_EQ(*(u64 *)(seg + WORDS), 40);
	check_quiet(&s);
	teardown(&s);
}

/* All faults at once: the receiver's numbers stay right, and words are counted exactly. */
static void test_faults(const struct testbed_opts *o)
{
	struct rmc_fault fault = {
		.loss = 50000, .dup = 300000, .reorder = 200000, .shuffle = 300000,
		.delay_ns = 100000, .jitter_ns = 3000000, .gap_ns = 2000000,
	};
	u32 i, ok = 0, late = 0, slot, status;
	struct setup s;

	begin(&s, o);
	set_timeout(&s, 50, 0);
	switch_on(&s);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &fault, 3);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &fault, 4);
	for (i = 0; i < 640; i++) {
		u8 *buf = lbuf + i % 32 * 512;

		*(u64 *)buf = 1;
		switch (i % 4) {
		case 0:
		case 1:
			app_post(&s.a, RMC_OP_FAA, 1, WORDS, buf, 8);
			break;
		case 2:
			app_post(&s.a, RMC_OP_READ, 1, i % TUPLES * BYTES, buf, BYTES);
			break;
		default:
			app_post(&s.a, RMC_OP_READ, 1, 8192 + i, buf, 500);
		}
		if (i % 16 != 15)
			continue;
		for (slot = 0; slot < 100; slot++) {
			testbed_visit(&s.w);
			testbed_visit(&s.w);
			testbed_tick(&s.w, 1);
		}
		while (app_poll(&s.a, &slot, &status)) {
			ok += slot % 4 < 2 && status == RMC_S_OK;
			late += slot % 4 < 2 && status == RMC_S_TIMEOUT;
		}
	}
	check_quiet(&s);
	CHECK(ok > 100 && late > 1);
	CHECK_EQ(switch_stat(&s, psn_errors), 0);
	switch_off(&s);
	/* each that was acknowledged, once; of the others those that arrived */
	CHECK(*(u64 *)(seg + WORDS) >= ok && *(u64 *)(seg + WORDS) <= ok + late);
	check_quiet(&s);
	teardown(&s);
}

/*
 * Latch a tuple, whether or not replies come: a lost compare-and-swap is not repeated, and who does
 * not know whether it has latched gives it free.
 */
static void latch_surely(struct setup *s, u64 off)
{
	u64 was, now;
	int status;

	for (;;) {
		status = run_ms(s, RMC_OP_READ, off, lbuf + 128, 8, 300);
		was = *(u64 *)(lbuf + 128);
		if (status != RMC_S_OK)
			continue;
		((u64 *)lbuf)[0] = was;
		((u64 *)lbuf)[1] = was + 1;
		status = run_ms(s, RMC_OP_CAS, off, lbuf, 8, 300);
		now = *(u64 *)lbuf;
		if (status == RMC_S_OK) {
			CHECK_EQ(now, was);
			if (!(was & RMC_SWITCH_LATCHED))
				break;
		} else {
			CHECK_EQ(status, RMC_S_TIMEOUT);
		}
	}
	*(u64 *)lbuf = was + 1;
}

/* Replies are lost, so operations are repeated: a write that was done does not fail. */
static void test_repeated(const struct testbed_opts *o)
{
	struct rmc_fault fault = { .loss = 300000 };
	struct setup s;
	u32 i;

	begin(&s, o);
	set_timeout(&s, 10, 20);
	switch_on(&s);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &fault, 5);
	for (i = 0; i < 60; i++) {
		u64 off = i % 3 * BYTES;

		latch_surely(&s, off);
		((u64 *)lbuf)[1] = i;
		CHECK_EQ(run_ms(&s, RMC_OP_WRITE, off, lbuf, BYTES, 300), RMC_S_OK);
		CHECK_EQ(word_of(i % 3)[1], i);
		CHECK(!(*word_of(i % 3) & RMC_SWITCH_LATCHED));
	}
	CHECK(testbed_stat(&s.w, 0, restarts) > 10);
	CHECK(switch_stat(&s, stale_writes) > 3);
	CHECK_EQ(switch_stat(&s, latches), switch_stat(&s, unlatches));
	CHECK_EQ(switch_stat(&s, psn_errors), 0);
	CHECK(fault_clear(&s.w, 1, 0, RMC_LANE_REP));
	check_quiet(&s);
	switch_off(&s);
	teardown(&s);
}

/* Marks of peers say nothing; a switch promotes nothing that peers may not write. */
static void test_hostile(const struct testbed_opts *o)
{
	struct rmc_switch_memory m;
	struct setup s;
	u64 was;
	u32 i;

	begin(&s, o);
	was = testbed_stat(&s.w, 1, serve_errors);
	forge_answer(&s);
	CHECK_EQ(testbed_stat(&s.w, 1, serve_errors), was + 1);
	switch_on(&s);
	was = switch_stat(&s, answered);
	forge_answer(&s);
	CHECK_EQ(switch_stat(&s, answered), was + 1);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 8192, lbuf, 512, 20), RMC_S_OK);
	marks_in_memory(&s);
	switch_off(&s);
	switch_on(&s);
	/* one that has crashed has nothing to give back */
	for (i = 0; i < s.w.opts.rrpps; i++) {
		struct rmc_switch *sw;

		rmc_switch_crash(server(&s, i)->links.sw);
		CHECK_EQ(rmc_switched_take_away(server(&s, i), &sw), 0);
		rmc_switch_destroy(sw);
	}
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 512, 20), RMC_S_OK);
	switch_on(&s);
	m = rmc_switched_memory(server(&s, 0));
	CHECK_EQ(rmc_switch_demote(server(&s, 0)->links.sw, CTX, 0, 1, &done, &m), 0);
	s.seg_mem->flags |= RMC_MEM_READONLY;
	CHECK_EQ(rmc_switch_promote(server(&s, 0)->links.sw, CTX, 0, 1, &m), -EFAULT);
	s.seg_mem->flags &= ~RMC_MEM_READONLY;
	check_quiet(&s);
	teardown(&s);
}

/* A segment goes: its switch forgets it, and the next one is not taken for it. */
static void test_withdrawn(const struct testbed_opts *o)
{
	struct setup s;
	u64 was, now;
	u32 i;

	begin(&s, o);
	switch_on(&s);
	CHECK_EQ(read_word(&s, 0, &now), RMC_S_OK);
	was = now;
	/* what the switch answers is admitted as all is, before it has an effect */
	rmc_hide(&s.seg_mem->exposure);
	CHECK_EQ(read_word(&s, 0, &now), RMC_S_BAD_CONTEXT);
	CHECK_EQ(cas(&s, 0, was, was + 1, &now), RMC_S_BAD_CONTEXT);
	*(u64 *)lbuf = 1;
	CHECK_EQ(run_ms(&s, RMC_OP_FAA, WORDS, lbuf, 8, 20), RMC_S_BAD_CONTEXT);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 8, lbuf, 8, 20), RMC_S_BAD_CONTEXT);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, BYTES, 20), RMC_S_BAD_CONTEXT);
	rmc_expose(&s.seg_mem->exposure);
	s.seg_mem->flags |= RMC_MEM_READONLY;
	CHECK_EQ(cas(&s, 0, was, was + 1, &now), RMC_S_READ_ONLY);
	CHECK_EQ(read_word(&s, WORDS, &now), RMC_S_OK);
	CHECK_EQ(now, 0);
	s.seg_mem->flags &= ~RMC_MEM_READONLY;
	CHECK_EQ(read_word(&s, 0, &now), RMC_S_OK);
	CHECK_EQ(now, was);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, BYTES, 20), RMC_S_OK);
	CHECK_EQ(*(u64 *)lbuf, was | RMC_SWITCH_VERIFIED);
	seg_set(&s.w, 1, CTX, NULL);
	CHECK_EQ(read_word(&s, 0, &now), RMC_S_BAD_CONTEXT);
	for (i = 0; i < s.w.opts.rrpps; i++)
		CHECK_EQ(server(&s, i)->links.sw->frees, 128);
	seg_set(&s.w, 1, CTX, s.seg_mem);
	memset(seg, 0, SEG);
	CHECK_EQ(read_word(&s, 0, &now), RMC_S_OK);
	CHECK_EQ(now, 0);
	check_quiet(&s);
	teardown(&s);
}

#define FURTHER	(1ULL << 32)	/* where further ranges of the segment begin */

/* Further ranges of the segment: one goes, and takes only what lies in it. */
static void test_ranges(const struct testbed_opts *o)
{
	struct rmc_mem *mem[2], view[2];
	struct rmc_ranges table = { .count = 2 };
	struct rmc_node *node;
	struct setup s;
	u64 was, now;
	u8 *bytes;
	u32 i;

	begin(&s, o);
	bytes = aligned_alloc(PAGE, 2 * PAGE);
	memset(bytes, 0, 2 * PAGE);
	for (i = 0; i < 2; i++) {
		mem[i] = mem_make(bytes + i * PAGE, PAGE, 12, 0);
		table.range[i].start = FURTHER + i * PAGE;
		table.range[i].mem = &view[i];
		rmc_range_init(&view[i], mem[i], FURTHER + i * PAGE, s.seg_mem);
		rmc_expose(&view[i].exposure);
	}
	switch_on(&s);
	for (i = 0; i < s.w.opts.rrpps; i++) {
		server(&s, i)->ct.more[CTX] = &table;
		/* in two of them: one could go without the other */
		node = server(&s, i);
		CHECK_EQ(try_range(node, FURTHER, BYTES, 2 * PAGE / BYTES, false), -EFAULT);
		CHECK_EQ(try_range(node, FURTHER - BYTES, BYTES, 2, false), -EFAULT);
		CHECK_EQ(try_range(node, FURTHER + 2 * PAGE - BYTES, BYTES, 2, false), -EFAULT);
		add_range(node, FURTHER, BYTES, 1, false);
		add_range(node, FURTHER + PAGE, BYTES, 1, false);
	}
	was = *(u64 *)bytes;
	CHECK_EQ(cas(&s, 0, *word_of(0), *word_of(0) + 1, &now), RMC_S_OK);
	CHECK_EQ(cas(&s, FURTHER, was, was + 1, &now), RMC_S_OK);
	CHECK_EQ(cas(&s, WORDS, 0, 77, &now), RMC_S_OK);
	table.count = 1;
	for (i = 0; i < s.w.opts.rrpps; i++)
		rmc_state_withdraw(server(&s, i), &view[1]);
	/* latches and words of the others are as they were */
	CHECK_EQ(read_word(&s, 0, &now), RMC_S_OK);
	CHECK_EQ(now, *word_of(0) + 1);
	CHECK_EQ(read_word(&s, FURTHER, &now), RMC_S_OK);
	CHECK_EQ(now, was + 1);
	CHECK_EQ(read_word(&s, WORDS, &now), RMC_S_OK);
	CHECK_EQ(now, 77);
	CHECK_EQ(read_word(&s, FURTHER + PAGE, &now), RMC_S_OUT_OF_RANGE);
	/* what is hidden is not gone */
	rmc_hide(&view[0].exposure);
	for (i = 0; i < s.w.opts.rrpps; i++)
		rmc_state_withdraw(server(&s, i), &view[1]);
	rmc_expose(&view[0].exposure);
	CHECK_EQ(read_word(&s, FURTHER, &now), RMC_S_OK);
	CHECK_EQ(now, was + 1);
	CHECK_EQ(cas(&s, 0, *word_of(0) + 1, *word_of(0) + 2, &now), RMC_S_OK);
	CHECK_EQ(cas(&s, FURTHER, was + 1, was + 2, &now), RMC_S_OK);
	for (i = 0; i < s.w.opts.rrpps; i++) {
		struct rmc_switch_memory m = rmc_switched_memory(server(&s, i));

		CHECK_EQ(rmc_switch_demote(server(&s, i)->links.sw, CTX, FURTHER, 1, &done, &m), 0);
		rmc_state_withdraw(server(&s, i), &view[0]);
		server(&s, i)->ct.more[CTX] = NULL;
	}
	switch_off(&s);
	check_quiet(&s);
	teardown(&s);
	for (i = 0; i < 2; i++)
		mem_free(mem[i]);
	free(bytes);
}

static struct rmc_switch_unlatch unlatch(struct setup *s, bool connected)
{
	struct rmc_switch_unlatch u = { .connected = connected };
	u32 i;

	for (i = 0; i < s->w.opts.rrpps; i++)
		CHECK_EQ(rmc_switched_unlatch(server(s, i), &u, 0), 0);
	return u;
}

/* The holder's node dies: its latches stay until somebody takes them, and only then. */
static void test_dead_holder(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_switch_unlatch u;
	struct setup s;
	u64 now;
	u32 i, ms;

	k.kernels = true;
	begin(&s, &k);
	switch_on(&s);
	for (i = 0; i < TUPLES; i++)
		CHECK_EQ(cas(&s, i * BYTES, *word_of(i), *word_of(i) + 1, &now), RMC_S_OK);
	u = unlatch(&s, false);
	CHECK_EQ(u.freed, 0);
	CHECK_EQ(u.kept, TUPLES);
	/* of a process that is dead, on a node that is not */
	u = unlatch(&s, true);
	CHECK_EQ(u.freed, TUPLES);
	for (i = 0; i < TUPLES; i++)
		CHECK_EQ(cas(&s, i * BYTES, *word_of(i), *word_of(i) + 1, &now), RMC_S_OK);
	s.w.frozen[0] = true;
	for (ms = 0; ms < 4 * s.w.fabric[1].dead_ms; ms += 10)
		testbed_pass(&s.w, 10);
	u = unlatch(&s, false);
	CHECK_EQ(u.freed, TUPLES);
	for (i = 0; i < TUPLES; i++)
		CHECK(!(*word_of(i) & RMC_SWITCH_LATCHED) &&
		      (*word_of(i) & RMC_SWITCH_VERSION) == 4);
	for (i = 0; i < s.w.opts.rrpps; i++)
		CHECK_EQ(server(&s, i)->links.sw->latched, 0);
	s.w.frozen[0] = false;
	app_lost(&s.a);
	rmc_filters = 0;
	testbed_fini(&s.w);
	mem_free(s.seg_mem);
	mem_free(s.buf_mem);
	free(seg - PAGE);
	free(lbuf - PAGE);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "latch, write, read, validate", test_operations },
		{ "half of a round trip", test_half },
		{ "duplicated requests", test_duplicates },
		{ "all faults at once", test_faults },
		{ "repeated writes", test_repeated },
		{ "hostile peers, and a read-only segment", test_hostile },
		{ "a segment is withdrawn", test_withdrawn },
		{ "a range of a segment is withdrawn", test_ranges },
		{ "the holder of latches dies", test_dead_holder },
	};

	matrix_run(tests, ARRAY_SIZE(tests), filtered_opts, ARRAY_SIZE(filtered_opts));
	return matrix_done();
}
