// SPDX-License-Identifier: GPL-2.0
/*
 * Messages under real threads: workers on threads of their own, so that relays are used, and a
 * thread for each core of each node. Each message is processed once, whole, whatever cores come
 * and go, workers sleep, or an application does. Run plain, and under AddressSanitizer and
 * ThreadSanitizer.
 *
 *	message_stress [milliseconds]	of each run, at least; default 1000
 */
#define _GNU_SOURCE
#include "message_threads.h"

#define STALL_MS	60000		/* nothing happens: a message, or a wake-up, is lost */
#define LEAST		40		/* messages of a run */

static u32 run_ms = 1000;

/* ---- runs ---- */

static void start(struct run *r, const struct kind *k)
{
	u32 nid, i, any = 0;

	memset(r, 0, sizeof(*r));
	r->k = k;
	r->honest = k->nodes - k->hostile;
	r->t.nodes = k->nodes;
	r->t.cores = k->cores;
	r->t.p.slots = k->slots;
	r->t.p.max_message = MOST;
	r->t.dp.policy = k->policy;
	r->t.dp.depth = k->depth;
	doms_init(&r->t, &k->o);
	doms_join(&r->t);
	r->ledger = calloc(DOM_NODES * DOM_CORES, SEQS);
	r->sending = 1;
	for (nid = 0; nid < k->nodes; nid++) {
		/* the machine may be busy: nothing is to time out */
		testbed_fabric(&r->t.w, nid)->timeout_ms = 2 * STALL_MS;
		testbed_fabric(&r->t.w, nid)->dead_ms = 2 * STALL_MS;
		r->place[nid] = calloc(k->nodes * k->slots, sizeof(struct place));
		for (i = 0; i < k->cores; i++) {
			struct member *m = &r->m[nid][i];

			m->r = r;
			m->app = &r->t.node[nid].app[i];
			m->nid = nid;
			m->i = i;
			m->seed = 77 + any++;
		}
	}
	r->begin = now_ms();
	testbed_start(&r->t.w, NULL, k->park);
	for (nid = 0; nid < k->nodes; nid++)
		for (i = 0; i < k->cores; i++)
			if (pthread_create(&r->m[nid][i].thread, NULL,
					   nid < r->honest ? honest : hostile, &r->m[nid][i]))
				abort();
}

static u64 done_of(struct run *r)
{
	return __atomic_load_n(&r->processed, __ATOMIC_RELAXED) +
	       __atomic_load_n(&r->dropped, __ATOMIC_RELAXED);
}

/* All messages have been processed or dropped, and all send slots are free. */
static bool drained(struct run *r)
{
	u32 nid, i;

	if (done_of(r) != __atomic_load_n(&r->sent, __ATOMIC_RELAXED))
		return false;
	for (nid = 0; nid < r->honest; nid++)
		for (i = 0; i < r->honest * r->k->slots; i++) {
			u32 state = smp_load_acquire(&r->place[nid][i].state);

			if (state == CLAIMED || state == ASKING ||
			    READ_ONCE(r->t.node[nid].send[i].valid))
				return false;
		}
	return true;
}

/* Sum of a counter of all honest threads */
#define total(r, name) ({							\
	u64 sum_ = 0;								\
	u32 n_, i_;								\
										\
	for (n_ = 0; n_ < (r)->honest; n_++)					\
		for (i_ = 0; i_ < (r)->k->cores; i_++)				\
			sum_ += __atomic_load_n(&(r)->m[n_][i_].name, __ATOMIC_RELAXED); \
	sum_;									\
})

/* Wait until @until says so, while messages are done. */
static void watch(struct run *r, bool (*until)(struct run *r))
{
	u32 last = now_ms();
	u64 done = done_of(r);

	while (!until(r)) {
		usleep(1000);
		if (done_of(r) != done) {
			done = done_of(r);
			last = now_ms();
		}
		if (now_ms() - last < STALL_MS)
			continue;
		printf("# %llu of %llu messages done\nBail out! nothing happens (%s)\n",
		       (unsigned long long)done,
		       (unsigned long long)__atomic_load_n(&r->sent, __ATOMIC_RELAXED),
		       r->k->o.ni);
		fflush(stdout);
		_exit(1);
	}
}

/* It took long enough, and what is to be tested has happened. */
static bool ran(struct run *r)
{
	return now_ms() - r->begin >= run_ms && done_of(r) >= LEAST;
}

static bool ran_full(struct run *r)
{
	return ran(r) && total(r, full);
}

static bool ran_moves(struct run *r)
{
	return ran(r) && total(r, moves) >= 8;
}

static void finish(struct run *r)
{
	u64 messages = 0, refused = 0, waiting = 0, missing = 0;
	const struct kind *k = r->k;
	u32 nid, i, seq;

	r->rate = done_of(r) * 1000000 / (now_ms() - r->begin + 1);
	WRITE_ONCE(r->sending, 0);
	watch(r, drained);
	__atomic_store_n(&r->stop, 1, __ATOMIC_RELEASE);
	for (nid = 0; nid < k->nodes; nid++)
		for (i = 0; i < k->cores; i++)
			pthread_join(r->m[nid][i].thread, NULL);
	testbed_stop(&r->t.w);
	for (i = 0; i < r->t.w.workers; i++)
		r->parks += r->t.w.worker[i].ni.parks;
	testbed_settle(&r->t.w);
	CHECK_EQ(total(r, bad), 0);
	for (nid = 0; nid < r->honest; nid++) {
		messages += dom_stat(&r->t, nid, messages);
		refused += dom_stat(&r->t, nid, refused);
		waiting += rmc_dispatch_waiting(r->t.node[nid].d.dispatch);
		for (i = 0; i < k->cores; i++)
			for (seq = 0; seq < r->m[nid][i].seqs; seq++)
				missing += !r->ledger[(nid * DOM_CORES + i) * SEQS + seq];
		CHECK_EQ(testbed_in_flight(&r->t.w, nid), 0);
		for (i = 0; i < r->honest; i++)
			CHECK(testbed_credits_home(&r->t.w, nid, i));
	}
	CHECK_EQ(missing, 0);
	CHECK_EQ(r->processed + r->dropped, r->sent);
	CHECK(r->processed > 0);
	if (!k->hostile) {
		CHECK_EQ(messages, r->sent);
		CHECK_EQ(refused, 0);
		CHECK_EQ(waiting, 0);
	}
	printf("# %s: %llu messages, %llu dropped, %llu again; no slot %llu times, asked for one %llu times; %llu cores went\n",
	       k->o.ni, (unsigned long long)r->processed, (unsigned long long)r->dropped,
	       (unsigned long long)total(r, again), (unsigned long long)total(r, full),
	       (unsigned long long)total(r, asks), (unsigned long long)total(r, moves));
	free(r->ledger);
	for (nid = 0; nid < k->nodes; nid++)
		free(r->place[nid]);
	doms_fini(&r->t);
}

static struct run the_run;

static void go(const struct kind *k, bool (*until)(struct run *r))
{
	start(&the_run, k);
	watch(&the_run, until);
	finish(&the_run);
}

/* Few slots, so senders wait for receivers. */
static void test_once(const struct kind *org)
{
	struct kind k = *org;

	k.nodes = 3;
	k.cores = 2;
	k.slots = 4;
	go(&k, ran_full);
}

/* Cores leave with messages, which others get or nobody, and come back. */
static void test_churn(const struct kind *org)
{
	struct kind k = *org;

	k.nodes = 2;
	k.cores = 4;
	k.slots = 8;
	k.churn = true;
	go(&k, ran_moves);
}

/*
 * Threads sleep, so workers do: one that puts into a relay wakes the dispatcher's. Whether they
 * park depends on the scheduler, so there are several attempts.
 */
static void test_sleep(const struct kind *org)
{
	u64 parks = 0;
	struct kind k = *org;
	u32 i;

	k.nodes = 2;
	k.cores = 2;
	k.slots = 2;
	k.depth = 1;
	k.park = true;
	for (i = 0; i < 16 && !parks; i++) {
		k.pause_us = 4000 * (i + 1);
		go(&k, ran);
		parks += the_run.parks;
	}
	CHECK(parks > 0);
}

/*
 * Nodes 0 and 1 exchange messages at a rate that an application of node 2 cannot stop: it sends
 * them what it likes, and never ends a message of theirs.
 */
static void test_hostile(const struct kind *org)
{
	struct kind k = *org;
	u64 alone;

	k.nodes = 2;
	k.cores = 1;
	k.slots = 8;
	go(&k, ran);
	alone = the_run.rate;

	k.nodes = 3;
	k.hostile = true;
	go(&k, ran_full);
	printf("# %s: %.0f messages a second, %.0f alone\n", k.o.ni, the_run.rate / 1e3, alone / 1e3);
	/* it takes its share of workers and cores, and another load on the machine does too */
	CHECK(the_run.rate >= alone / 1000);
}

/* ---- a sender that frees its slot itself ---- */

struct late {
	struct doms t;
	u32 turn;		/* the RECEIVEs name it */
	u32 stop;
	u32 served;
};

/* An RRPP that gets a RECEIVE again and again, as from a link that doubles packets */
static void *repeat_receive(void *arg)
{
	struct late *l = arg;
	struct rmc_domain *d = &l->t.node[0].d;
	struct rmc_serve s = { .node = l->t.w.node[0], .req = { .op = RMC_OP_RECEIVE } };
	u32 life;

	s.from = rmc_endpoint(s.node->fabric, 1);
	/* of node 1's domain, where the slot's RRPP has it */
	life = d->peer_life[rmc_life_index(d, 1, rmc_slot_offset(0, 0))];

	while (!__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE)) {
		u32 turn = __atomic_load_n(&l->turn, __ATOMIC_ACQUIRE);

		s.req.offset = rmc_slot_offset(0, turn) | rmc_slot_lives(d->life, life);
		s.req.ctx_id = DOM_CTX | rmc_packets_word0(rmc_turn_high(turn)) >> 32;
		s.word1 = rmc_packets_word1(rmc_turn_high(turn));
		rmc_domain_free(&s, d, 1);
		__atomic_store_n(&l->served, l->served + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Claim the slot, as far as other threads see it. */
static void take_slot(struct rmc_send_slot *s, u32 turn)
{
	WRITE_ONCE(s->turn, turn);
	/* pairs with the load in rmc_domain_free(): the turn */
	smp_store_release(&s->valid, 1);
}

static void spin(u32 n)
{
	while (n--)
		__asm__ volatile("" : : : "memory");
}

/*
 * A sender in doubt asked, frees its slot and sends the next message. The RECEIVE of the last one
 * comes at that time after all: it does not free the slot of the next one.
 */
static void test_late(const struct testbed_opts *ni)
{
	u32 t0 = now_ms(), turn, from, early = 0;
	static struct late l;
	struct rmc_send_slot *s;
	pthread_t thread;

	memset(&l, 0, sizeof(l));
	two(&l.t, ni);
	s = dom_send_slot(&l.t, 0, 1, 0);
	if (pthread_create(&thread, NULL, repeat_receive, &l))
		abort();
	for (turn = 1; (now_ms() - t0 < run_ms || turn < 200) && !tap_failures; turn += 2) {
		take_slot(s, turn);
		__atomic_store_n(&l.turn, turn, __ATOMIC_RELEASE);
		spin(turn % 127);
		while (turn % 32 == 1 && smp_load_acquire(&s->valid)) {
			if (now_ms() - t0 > run_ms + 10000) {
				TAP_FAIL("no RECEIVE frees the slot of turn %u", turn);
				break;
			}
			sched_yield();
		}
		early += !smp_load_acquire(&s->valid);
		smp_store_release(&s->valid, 0);
		take_slot(s, turn + 1);
		for (from = READ_ONCE(l.served); smp_load_acquire(&l.served) - from < 2;)
			sched_yield();
		CHECK(smp_load_acquire(&s->valid));
		smp_store_release(&s->valid, 0);
	}
	__atomic_store_n(&l.stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	printf("# %u of %u messages freed by their RECEIVE, %llu by the sender\n", early, turn / 2,
	       (unsigned long long)(turn / 2 - early));
	CHECK(dom_stat(&l.t, 0, freed) > 0);
	doms_fini(&l.t);
}

int main(int argc, char **argv)
{
	static const struct kind orgs[] = {
		{ { .ni = "fused" }, RMC_DISPATCH_GREEDY, 2 },
		{ { .ni = "pair", .mtu = 512 }, RMC_DISPATCH_RR, 1 },
		{ { .ni = "edge", .units = 2 }, RMC_DISPATCH_JSQ, 2 },
		{ { .ni = "per_tile", .units = 2, .rrpps = 2, .mtu = 64 }, RMC_DISPATCH_GREEDY, 1 },
		{ { .ni = "split", .units = 2 }, RMC_DISPATCH_KEYED, 4 },
	};
	struct kind one = { .policy = RMC_DISPATCH_GREEDY, .depth = 2 };
	bool asked = matrix_asked(&one.o);
	char name[96];
	u32 i;

	if (argc > 1)
		run_ms = atoi(argv[1]);
	for (i = 0; i < (asked ? 1 : ARRAY_SIZE(orgs)); i++) {
		const struct kind *k = asked ? &one : &orgs[i];

#define RUN(what, call) do {							\
		tap_where = k->o.ni;						\
		call;								\
		snprintf(name, sizeof(name), what " (%s)", k->o.ni);		\
		tap_result(name);						\
	} while (0)
		RUN("each message once, whole", test_once(k));
		RUN("cores that come and go", test_churn(k));
		RUN("workers that sleep", test_sleep(k));
		RUN("an application that keeps no rule", test_hostile(k));
		/* two threads, whatever the organisation */
		if (!i)
			RUN("a RECEIVE that comes late", test_late(&k->o));
	}
	return matrix_done();
}
