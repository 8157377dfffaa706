// SPDX-License-Identifier: GPL-2.0
/*
 * Messages on the packet path and on the local path (core/local_message.h): arrivals, memory,
 * statuses and counters must be the same, also of what is refused. RMC_TESTBED is ignored: both paths
 * need one unit on one worker.
 */
#include "domains.h"
#include "kmod/core/local.h"

void (*rmc_between_passes)(void);

#define STEPS	160
#define POSTED	24		/* at once: more than a batch takes */

/* What one run has left behind */
struct outcome {
	u64 arrivals, statuses, memory;
	u64 counters[2][64], domain[2][8];
	u32 status[16], packets;
};

static u64 mix(u64 sum, u64 value)
{
	return (sum ^ value) * 0x100000001b3;
}

static u64 mix_bytes(u64 sum, const u8 *p, size_t n)
{
	while (n--)
		sum = mix(sum, *p++);
	return sum;
}

/* Requests that went to a ring, of both nodes */
static u32 packets_of(const struct doms *t)
{
	u32 n = 0, from, to;

	for (from = 0; from < 2; from++)
		for (to = 0; to < 2; to++)
			n += t->w.node[from]->out[to] ? t->w.node[from]->out[to]->req.pos : 0;
	return n;
}

/* All that was posted completes. */
static void complete_all(struct doms *t, struct outcome *o)
{
	u32 nid, i, slot, status;

	testbed_settle(&t->w);
	for (nid = 0; nid < 2; nid++)
		for (i = 0; i < t->cores; i++)
			while (app_poll(&t->node[nid].app[i].a, &slot, &status)) {
				/* those of one queue pair may complete in another order */
				o->statuses += mix(mix(nid * 8 + i, slot), status);
				o->status[status % 16]++;
			}
}

/* Some lengths are too long, for a message or for one path; some are 0. */
static u32 some_length(const struct doms *t, const struct testbed_opts *o)
{
	switch (random_below(12)) {
	case 0: return t->p.max_message + random_below(2);
	case 1: return RMC_LOCAL_PACKETS * o->mtu + random_below(3) - 1;
	case 2: return random_below(4) ? 64 : 0;
	case 3: return RMC_AQ_HEAD + random_below(2);
	}
	return 1 + random_below(300);
}

static struct arrival held[2][DOM_CORES][DOM_AQ];
static u32 holds[2][DOM_CORES];

static void take_all(struct doms *t, struct outcome *o)
{
	struct arrival *m;
	u32 nid, i;

	for (nid = 0; nid < 2; nid++)
		for (i = 0; i < t->cores; i++)
			for (; holds[nid][i] < t->dp.depth; holds[nid][i]++) {
				m = &held[nid][i][holds[nid][i]];
				memset(m, 0, sizeof(*m));
				if (!dom_arrival(t, nid, i, m))
					break;
				m->stamp = 0;
				o->arrivals = mix_bytes(mix(o->arrivals, nid * 8 + i), (u8 *)m, sizeof(*m));
				o->arrivals = mix_bytes(o->arrivals, dom_data(t, nid, m), m->len);
			}
}

/* SENDs of one core, so that their order does not depend on the path */
static void some_sends(struct doms *t, const struct testbed_opts *o)
{
	u32 nid = random_below(2), core = random_below(t->cores), to = random_below(2);
	u32 n = 1 + random_below(POSTED), i, slot, len;

	for (i = 0; i < n; i++) {
		u8 *data = buf(t, nid, core) + (i % 4) * 20480 + random_below(64);

		slot = random_below(t->p.slots);
		len = some_length(t, o);
		if (!dom_claim(t, nid, to, slot))
			continue;
		write_message(data, i, len);
		dom_post(t, nid, core, random_below(4) ? RMC_OP_SEND : RMC_OP_OFFER, to, slot, data,
			 len);
	}
}

/* Alone: any slot, in use or not or none, with any turn; a RECEIVE or a REPLY of what nobody has */
static void break_a_rule(struct doms *t, const struct testbed_opts *o)
{
	static const u32 ops[] = { RMC_OP_SEND, RMC_OP_OFFER, RMC_OP_RECEIVE, RMC_OP_REPLY };
	u32 nid = random_below(2), core = random_below(t->cores), to = random_below(2);
	u32 slot = random_below(t->p.slots + 1), op = ops[random_below(4)];
	u32 turn = random_below(4) - 2;

	if (slot < t->p.slots)
		turn += op == RMC_OP_SEND || op == RMC_OP_OFFER ? dom_send_slot(t, nid, to, slot)->turn :
								  rmc_domain_slot(&t->node[nid].d, to, slot)->turn;
	app_post(&t->node[nid].app[core].a, op, random_below(30) ? to : 2, rmc_slot_offset(slot, turn),
		 buf(t, nid, core), op == RMC_OP_RECEIVE ? !random_below(9) : some_length(t, o));
}

/* RECEIVEs and REPLYs of one core, in any order, of some of its messages; now and then twice */
static void some_ends(struct doms *t, u32 nid, u32 core)
{
	u32 k, len;

	for (k = 0; k < holds[nid][core];) {
		struct arrival *m = &held[nid][core][k];

		if (!random_below(3)) {
			k++;
			continue;
		}
		len = 1 + random_below(random_below(6) ? 200 : t->p.max_answer);
		if (random_below(2))
			dom_post_receive(t, nid, core, m);
		else
			dom_post_reply(t, nid, core, m, buf(t, nid, core), len);
		if (!random_below(6))
			dom_post_receive(t, nid, core, m);
		memmove(m, m + 1, (--holds[nid][core] - k) * sizeof(*m));
	}
}

/* Who asked reads answers. */
static void free_answers(struct doms *t, struct outcome *o)
{
	u32 nid, to, slot, len;
	const u8 *answer;

	for (nid = 0; nid < 2; nid++)
		for (to = 0; to < 2; to++)
			for (slot = 0; slot < t->p.slots; slot++) {
				answer = dom_answer(t, nid, to, slot, &len);
				if (!answer)
					continue;
				o->arrivals = mix_bytes(mix(o->arrivals, slot), answer, len);
				WRITE_ONCE(dom_send_slot(t, nid, to, slot)->valid, 0);
			}
}

/* Messages that a core was told to end, but still has, are found in its slots. */
static void find_held(struct doms *t)
{
	u32 nid, i, k;

	for (nid = 0; nid < 2; nid++)
		for (i = 0; i < t->cores; i++)
			for (k = 0; k < holds[nid][i];) {
				struct arrival *m = &held[nid][i][k];
				struct rmc_slot *s = rmc_domain_slot(&t->node[nid].d, m->nid, m->slot);

				if (s->state == RMC_SLOT_HELD && (u8)s->turn == m->turn &&
				    s->holder == dom_qp(&t->node[nid].app[i])->core)
					k++;
				else
					memmove(m, m + 1, (--holds[nid][i] - k) * sizeof(*m));
			}
}

static void report(struct doms *t, struct outcome *o)
{
	u32 nid, k;

	for (nid = 0; nid < 2; nid++) {
		struct dom_node *n = &t->node[nid];
		size_t slots = (size_t)t->p.nodes * t->p.slots;

		k = 0;
		/* how often a long one waited for the rings' room is the packet path's affair */
#define COUNTER(name) o->counters[nid][k++] =					\
		strcmp(#name, "credit_stalls") ? testbed_stat(&t->w, nid, name) : 0;
		RMC_STATS(COUNTER)
#undef COUNTER
		k = 0;
#define X(name, ...) o->domain[nid][k++] = dom_stat(t, nid, name);
		RMC_DOMAIN_STATS(X)
#undef X
		o->domain[nid][k++] = n->d.dispatched;
		o->memory = mix_bytes(o->memory, n->recv, slots * n->d.stride);
		o->memory = mix_bytes(o->memory, n->answers, slots * n->d.answer_stride);
		o->memory = mix_bytes(o->memory, (u8 *)n->send, slots * sizeof(*n->send));
	}
}

static void run(const struct testbed_opts *opts, u32 policy, bool local, struct outcome *o)
{
	struct testbed_opts k = *opts;
	struct doms t;
	u32 before, core, i;

	memset(&t, 0, sizeof(t));
	memset(o, 0, sizeof(*o));
	memset(holds, 0, sizeof(holds));
	random_state = 77 + policy;
	k.packets = !local;
	t.nodes = 2;
	t.cores = 3;
	t.p.slots = 12;
	t.p.max_message = 18000;
	t.p.max_answer = 9000;
	t.dp.depth = 4;
	t.dp.policy = policy;
	t.keyed = policy == RMC_DISPATCH_KEYED || policy == RMC_DISPATCH_CLASS;
	t.key_offset = 8;
	t.dp.classes = policy == RMC_DISPATCH_CLASS ? 3 : 1;
	doms_init(&t, &k);
	for (i = 0; i < 2; i++)
		t.node[i].d.classes = policy == RMC_DISPATCH_CLASS;
	doms_join(&t);
	before = packets_of(&t);
	for (i = 0; i < STEPS; i++) {
		some_sends(&t, opts);
		complete_all(&t, o);
		take_all(&t, o);
		break_a_rule(&t, opts);
		complete_all(&t, o);
		find_held(&t);
		for (core = 0; core < 2 * t.cores; core++) {
			some_ends(&t, core % 2, core / 2);
			complete_all(&t, o);
		}
		take_all(&t, o);
		free_answers(&t, o);
	}
	o->packets = packets_of(&t) - before;
	report(&t, o);
	doms_fini(&t);
}

static void test_same(const struct testbed_opts *opts)
{
	static const u32 policies[] = {
		RMC_DISPATCH_GREEDY, RMC_DISPATCH_RR, RMC_DISPATCH_JSQ, RMC_DISPATCH_KEYED,
		RMC_DISPATCH_CLASS, RMC_DISPATCH_STEAL,
	};
	struct outcome packets, local;
	u32 i, k, nid;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		run(opts, policies[i], false, &packets);
		run(opts, policies[i], true, &local);
		CHECK_EQ(local.arrivals, packets.arrivals);
		CHECK_EQ(local.statuses, packets.statuses);
		CHECK_EQ(local.memory, packets.memory);
		for (k = 0; k < 16; k++)
			CHECK_EQ(local.status[k], packets.status[k]);
		for (nid = 0; nid < 2; nid++) {
			for (k = 0; k < 64; k++)
				CHECK_EQ(local.counters[nid][k], packets.counters[nid][k]);
			for (k = 0; k < 8; k++)
				CHECK_EQ(local.domain[nid][k], packets.domain[nid][k]);
		}
		/* there is something to be compared */
		CHECK(packets.status[RMC_S_OK] > STEPS);
		CHECK(packets.packets > STEPS);
		CHECK(local.packets + STEPS < packets.packets);
	}
}

/* Does the next operation of an application need packets? */
static bool needs_packets(struct doms *t, u32 before)
{
	return packets_of(t) != before;
}

/* A message of so many bytes, its RECEIVE, and whether either needed packets */
static bool message_needs(struct doms *t, u32 len)
{
	u32 before = packets_of(t);
	struct arrival m;

	write_message(buf(t, 0, 0), 1, len);
	CHECK_EQ(dom_send(t, 0, 0, 1, 0, buf(t, 0, 0), len), RMC_S_OK);
	check_arrival(t, 0, 0, 1, len, &m);
	CHECK_EQ(dom_receive(t, 1, 0, &m), RMC_S_OK);
	CHECK(!dom_send_slot(t, 0, 1, 0)->valid);
	return needs_packets(t, before);
}

/* What takes the local path: what local.h says. */
static void test_reach(const struct testbed_opts *o)
{
	struct rmc_ni_worker other, *worker;
	u32 most = rmc_local_bytes_max(&(struct rmc_fabric){ .mtu = o->mtu }, RMC_OPF_RUNS);
	struct doms t;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 1;
	t.p.max_message = 3 * RMC_LOCAL_BYTES;
	doms_init(&t, o);
	doms_join(&t);
	CHECK(!message_needs(&t, 1));
	CHECK(!message_needs(&t, most));
	CHECK(message_needs(&t, most + 1));
	CHECK(!message_needs(&t, most));
	t.w.node[0]->local = false;
	CHECK(message_needs(&t, 8));
	t.w.node[0]->local = true;
	rmc_filters = 1;
	CHECK(message_needs(&t, 8));
	rmc_filters = 0;
	/* messages have no order in an ordered queue pair */
	t.node[0].app[0].a.qp.group = 1;
	t.node[0].app[0].a.qp.stopped = true;
	CHECK(!message_needs(&t, 8));
	t.node[0].app[0].a.qp.group = 0;
	t.node[0].app[0].a.qp.stopped = false;
	/* tenants that share a worker: one packet at a time */
	t.node[0].app[0].a.qp.budget = 1 << 20;
	CHECK(!message_needs(&t, o->mtu));
	CHECK(message_needs(&t, o->mtu + 1));
	t.node[0].app[0].a.qp.budget = RMC_POLL_ALL;
	worker = t.w.node[1]->srv_worker;
	t.w.node[1]->srv_worker = &other;
	CHECK(rmc_local_reach(t.w.node[0], 1) == 0);
	t.w.node[1]->srv_worker = worker;
	doms_fini(&t);
}

/* Messages do not overtake packets of their node: a long one, which is on its way, comes first. */
static void test_order(const struct testbed_opts *o)
{
	struct arrival m;
	struct doms t;
	u32 len = 18000;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 1;
	t.dp.depth = 4;
	t.p.max_message = len;
	doms_init(&t, o);
	doms_join(&t);
	write_message(buf(&t, 0, 0), 1, len);
	write_message(buf(&t, 0, 0) + len, 2, 8);
	CHECK(dom_claim(&t, 0, 1, 0) && dom_claim(&t, 0, 1, 1));
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 0, buf(&t, 0, 0), len);
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 1, buf(&t, 0, 0) + len, 8);
	testbed_settle(&t.w);
	check_arrival(&t, 0, 0, 1, len, &m);
	check_arrival(&t, 0, 1, 2, 8, &m);
	doms_fini(&t);
}

/* Turned on and off while messages go to and fro: each arrives once, in the turn of its slot. */
static void test_switch(const struct testbed_opts *o)
{
	u32 slot, status, sent[8] = { 0 }, got[8] = { 0 }, done = 0, i, s;
	struct arrival m;
	struct doms t;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 1;
	t.dp.depth = 4;
	doms_init(&t, o);
	doms_join(&t);
	for (i = 0; done < 3000 && i < 200000; i++) {
		t.w.node[0]->local = i / 3 % 2;
		t.w.node[1]->local = i / 5 % 2;
		s = i % 8;
		/* a slot's SEND has completed if its message was received */
		if (sent[s] == got[s] && dom_claim(&t, 0, 1, s)) {
			write_message(buf(&t, 0, 0) + s * 64, sent[s]++, 64);
			dom_post(&t, 0, 0, RMC_OP_SEND, 1, s, buf(&t, 0, 0) + s * 64, 64);
		}
		if (i % 2)
			testbed_visit(&t.w);
		while (app_poll(&t.node[0].app[0].a, &slot, &status))
			CHECK_EQ(status, RMC_S_OK);
		while (app_poll(&t.node[1].app[0].a, &slot, &status))
			CHECK_EQ(status, RMC_S_OK);
		if (!dom_arrival(&t, 1, 0, &m))
			continue;
		CHECK(is_message(dom_data(&t, 1, &m), got[m.slot]++, 64));
		dom_post_receive(&t, 1, 0, &m);
		done++;
	}
	CHECK_EQ(done, 3000);
	testbed_settle(&t.w);
	CHECK_EQ(dom_stat(&t, 1, refused), 0);
	doms_fini(&t);
}

/* Who has not joined, or has joined another life, sends nothing. */
static void test_lives(const struct testbed_opts *o)
{
	struct arrival m;
	struct doms t;
	u32 before;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 1;
	doms_init(&t, o);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 0, buf(&t, 0, 0), 8), RMC_S_DOMAIN_MISMATCH);
	CHECK(!dom_arrival(&t, 1, 0, &m));
	doms_join(&t);
	write_message(buf(&t, 0, 0), 1, 8);
	before = packets_of(&t);
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 0, buf(&t, 0, 0), 8);
	CHECK_EQ(app_wait(&t.node[0].app[0].a), RMC_S_OK);
	CHECK_EQ(packets_of(&t), before);
	check_arrival(&t, 0, 0, 1, 8, &m);
	/* the receiver begins anew */
	dom_detach(&t, 1, 0, false);
	dom_remove(&t, 1);
	CHECK_EQ(dom_create(&t, 1), 0);
	dom_attach(&t, 1, 0);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 1, buf(&t, 0, 0), 8), RMC_S_DOMAIN_MISMATCH);
	CHECK(!dom_arrival(&t, 1, 0, &m));
	CHECK_EQ(t.node[1].d.slot[1].state, RMC_SLOT_FREE);
	doms_fini(&t);
}

/*
 * The sender's domain is another one by now: with fewer slots, shorter answers, or for other nodes.
 * What a core has of the old one ends with the status that the packet path has.
 */
static void test_other_domain(const struct testbed_opts *o)
{
	static const int want[] = { RMC_S_BAD_SLOT, RMC_S_PROTOCOL, RMC_S_DOMAIN_MISMATCH };
	struct testbed_opts k = *o;
	struct arrival m;
	struct doms t;
	u32 how, path, refused, counted[2];

	for (how = 0; how < 3; how++)
		for (path = 0; path < 2; path++) {
			k.packets = path;
			memset(&t, 0, sizeof(t));
			t.nodes = 2;
			t.cores = 1;
			t.p.max_answer = 128;
			doms_init(&t, &k);
			doms_join(&t);
			CHECK_EQ(dom_send(&t, 1, 0, 0, 7, buf(&t, 1, 0), 8), RMC_S_OK);
			CHECK(dom_arrival(&t, 0, 0, &m));
			dom_detach(&t, 1, 0, false);
			dom_remove(&t, 1);
			t.p.slots = how == 0 ? 4 : 8;
			t.p.max_answer = how == 1 ? 64 : 128;
			t.p.first_nid = how == 2;
			t.p.nodes = how == 2 ? 1 : 2;
			CHECK_EQ(dom_create(&t, 1), 0);
			dom_attach(&t, 1, 0);
			refused = dom_stat(&t, 1, refused);
			CHECK_EQ(dom_reply(&t, 0, 0, &m, buf(&t, 0, 0), 65), want[how]);
			counted[path] = dom_stat(&t, 1, refused) - refused;
			CHECK(counted[path]);
			CHECK_EQ(counted[path], counted[0]);
			CHECK_EQ(t.node[0].d.slot[8 + 7].state, RMC_SLOT_FREE);
			doms_fini(&t);
		}
}

/* A peer that is down: SENDs fail, a RECEIVE fails too but frees slot and core. */
static void test_down(const struct testbed_opts *o)
{
	struct arrival m;
	struct doms t;

	two(&t, o);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 0, buf(&t, 0, 0), 8), RMC_S_OK);
	CHECK(dom_arrival(&t, 1, 0, &m));
	/* as when its heartbeat has not come */
	t.w.node[1]->peer[0].silent = true;
	t.w.node[1]->out[0]->down = true;
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_NODE_DOWN);
	CHECK_EQ(t.node[1].d.slot[0].state, RMC_SLOT_FREE);
	CHECK(dom_send_slot(&t, 0, 1, 0)->valid);
	CHECK_EQ(dom_send(&t, 1, 0, 0, 0, buf(&t, 1, 0), 8), RMC_S_NODE_DOWN);
	CHECK(!dom_arrival(&t, 0, 0, &m));
	t.w.node[1]->peer[0].silent = false;
	CHECK_EQ(dom_send(&t, 1, 0, 0, 1, buf(&t, 1, 0), 8), RMC_S_OK);
	CHECK(dom_arrival(&t, 0, 0, &m));
	doms_fini(&t);
}

/* Tenants that share the worker: a poll ends when its budget is used up. */
static void test_budget(const struct testbed_opts *o)
{
	struct arrival m;
	struct doms t;
	u32 i, n;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 1;
	t.dp.depth = 8;
	doms_init(&t, o);
	doms_join(&t);
	t.node[0].app[0].a.qp.budget = 2 * (64 + RMC_TENANT_ENTRY);
	for (i = 0; i < 8; i++) {
		write_message(buf(&t, 0, 0) + 64 * i, i, 64);
		CHECK(dom_claim(&t, 0, 1, i));
		dom_post(&t, 0, 0, RMC_OP_SEND, 1, i, buf(&t, 0, 0) + 64 * i, 64);
	}
	for (i = 0; i < 8; i += 2) {
		CHECK_EQ(rmc_rgp_poll(&t.node[0].app[0].a.qp), 2);
		for (n = 0; dom_arrival(&t, 1, 0, &m); n++)
			CHECK_EQ(m.slot, i + n);
		CHECK_EQ(n, 2);
	}
	CHECK_EQ(packets_of(&t), 4);		/* of JOINs, each way and to itself */
	t.node[0].app[0].a.qp.budget = RMC_POLL_ALL;
	doms_fini(&t);
}

static u8 *restless;

static void store_restless(void)
{
	++*(volatile u64 *)restless;
}

/*
 * Behind a READ of a line that keeps changing, which is put back into the WQ: each of both completes
 * once, and the message is executed once.
 */
static void test_put_back(const struct testbed_opts *o)
{
	static const u32 ops[] = { RMC_OP_SEND, RMC_OP_RECEIVE, RMC_OP_REPLY, RMC_OP_JOIN };
	u32 i, k, got[64], slot, status, read, other;
	struct rmc_mem *seg;
	struct arrival m;
	struct doms t;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 1;
	t.dp.depth = 4;
	t.p.max_answer = 64;
	doms_init(&t, o);
	restless = aligned_alloc(4096, 4096);
	memset(restless, 0, 4096);
	seg = mem_make(restless, 4096, 12, 0);
	seg_set(&t.w, 1, DOM_CTX, seg);
	doms_join(&t);
	CHECK_EQ(app_run(&t.node[0].app[0].a, RMC_OP_READ, 1, 0, buf(&t, 0, 0), 64), RMC_S_OK);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		memset(got, 0, sizeof(got));
		CHECK_EQ(dom_send(&t, 1, 0, 0, i, buf(&t, 1, 0), 8), RMC_S_OK);
		CHECK(dom_arrival(&t, 0, 0, &m));
		CHECK(dom_claim(&t, 0, 1, i));
		rmc_between_passes = store_restless;
		read = app_post(&t.node[0].app[0].a, RMC_OP_READ, 1, 0, buf(&t, 0, 0) + 8192, 64);
		other = app_post(&t.node[0].app[0].a, ops[i], 1,
				 rmc_slot_offset(i, ops[i] == RMC_OP_SEND ? 1 :
						    ops[i] == RMC_OP_JOIN ? 0 : m.turn),
				 buf(&t, 0, 0), ops[i] == RMC_OP_RECEIVE ? 0 : 8);
		for (k = 0; k < 4; k++)
			testbed_visit(&t.w);
		rmc_between_passes = NULL;
		testbed_settle(&t.w);
		while (app_poll(&t.node[0].app[0].a, &slot, &status)) {
			CHECK(status == RMC_S_OK || slot == read);
			got[slot]++;
		}
		CHECK_EQ(got[read], 1);
		CHECK_EQ(got[other], 1);
		CHECK_EQ(dom_arrival(&t, 1, 0, &m), ops[i] == RMC_OP_SEND);
	}
	CHECK_EQ(dom_stat(&t, 1, messages), 1);
	doms_fini(&t);
	mem_free(seg);
	free(restless);
}

/* Others between messages: JOIN, READY and what is no message; and memory that is gone, or none */
static void test_between(const struct testbed_opts *o)
{
	static const u32 want[] = { RMC_S_OK, RMC_S_OK, RMC_S_OK, RMC_S_BAD_CONTEXT, RMC_S_OK, RMC_S_OK,
				    RMC_S_BAD_SLOT, RMC_S_BAD_LENGTH, RMC_S_OK };
	u32 slot, status, first, n = 0;
	struct arrival m;
	struct app *a;
	struct doms t;

	two(&t, o);
	a = &t.node[0].app[0].a;
	CHECK_EQ(dom_send(&t, 1, 0, 0, 0, buf(&t, 1, 0), 8), RMC_S_OK);
	CHECK(dom_arrival(&t, 0, 0, &m));
	CHECK(dom_claim(&t, 0, 1, 0) && dom_claim(&t, 0, 1, 1) && dom_claim(&t, 0, 1, 2));
	first = a->head;
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 0, buf(&t, 0, 0), 8);
	app_post(a, RMC_OP_JOIN, 1, rmc_slot_offset(3, 0), buf(&t, 0, 0) + 64, 8);
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 1, buf(&t, 0, 0), 8);
	app_post(a, RMC_OP_READ, 1, 0, buf(&t, 0, 0) + 128, 8);
	app_post(a, RMC_OP_READY, 1, rmc_slot_offset(0, m.turn), NULL, 0);
	app_post(a, RMC_OP_RECEIVE, 1, rmc_slot_offset(0, m.turn), NULL, 0);
	app_post(a, RMC_OP_RECEIVE, 1, rmc_slot_offset(0, m.turn), NULL, 0);
	/* this domain has no answers */
	app_post(a, RMC_OP_REPLY, 1, rmc_slot_offset(0, m.turn), NULL, 0);
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 2, buf(&t, 0, 0), 8);
	for (; n < ARRAY_SIZE(want); n++) {
		testbed_settle(&t.w);
		if (!app_poll(a, &slot, &status))
			break;
		CHECK_EQ(status, want[(slot - first) % a->entries]);
	}
	CHECK_EQ(n, ARRAY_SIZE(want));
	app_post(a, RMC_OP_REPLY, 1, rmc_slot_offset(0, m.turn), NULL, 0);
	CHECK_EQ(app_wait(a), RMC_S_BAD_LENGTH);
	/* the buffer is unmapped before the entry is taken */
	CHECK(dom_claim(&t, 0, 1, 3));
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 3, buf(&t, 0, 0), 8);
	WRITE_ONCE(t.node[0].app[0].mem->length, 0);
	CHECK_EQ(app_wait(a), RMC_S_BAD_LBUF);
	WRITE_ONCE(t.node[0].app[0].mem->length, DOM_BUF);
	doms_fini(&t);
}

/* A node that another kernel has claimed, and a domain that is hidden: the packet path decides. */
static void test_gone(const struct testbed_opts *o)
{
	struct doms t;
	u32 before;

	two(&t, o);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 0, buf(&t, 0, 0), 8), RMC_S_OK);
	before = packets_of(&t);
	rmc_hide(&t.node[1].d.exposure);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 1, buf(&t, 0, 0), 8), RMC_S_NO_DOMAIN);
	CHECK_EQ(packets_of(&t), before + 1);
	rmc_expose(&t.node[1].d.exposure);
	t.w.node[1]->fenced = true;
	CHECK(dom_claim(&t, 0, 1, 2));
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 2, buf(&t, 0, 0), 8);
	rmc_rgp_poll(&t.node[0].app[0].a.qp);
	CHECK_EQ(packets_of(&t), before + 2);
	CHECK_EQ(t.node[1].d.slot[2].state, RMC_SLOT_FREE);
	t.w.node[1]->fenced = false;
	CHECK_EQ(app_wait(&t.node[0].app[0].a), RMC_S_OK);
	doms_fini(&t);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "both paths are the same", test_same },
		{ "what takes the local path", test_reach },
		{ "packets are not overtaken", test_order },
		{ "the path changes all the time", test_switch },
		{ "lives", test_lives },
		{ "a sender with another domain", test_other_domain },
		{ "a peer is down", test_down },
		{ "a budget of a poll", test_budget },
		{ "behind a read that is put back", test_put_back },
		{ "others between messages", test_between },
		{ "a node, or a domain, that is gone", test_gone },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 512 },
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
	};
	u32 i, k;
	char name[64];

	for (k = 0; k < ARRAY_SIZE(opts); k++)
		for (i = 0; i < ARRAY_SIZE(tests); i++) {
			testbed_now_ns = TESTBED_START_NS;
			tests[i].fn(&opts[k]);
			snprintf(name, sizeof(name), "%s (MTU %u)", tests[i].name, opts[k].mtu);
			tap_result(name);
		}
	return tap_done();
}
