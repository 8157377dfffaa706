// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions of kmod/tx/ in all orders of messages and steps: each configuration below is
 * searched exhaustively, see harness/tx_model.h.
 *
 *	tx_explore		those of size 0
 *	tx_explore SIZE		up to this size: 1 takes minutes and some GiB
 *	tx_explore NAME...	these
 */
#include <ctype.h>
#include <time.h>
#include "tx_model.h"
#include "../tap.h"

#define R(n, l)		{ OP_READ, n, l, 0 }
#define W(n, l)		{ OP_WRITE, n, l, 0 }
#define P(n, l, w)	{ OP_PART, n, l, w }
#define LOAD(n, l)	{ OP_LOAD, n, l, 0 }
#define STORE(n, l)	{ OP_STORE, n, l, 0 }
#define T(n, ...)	{ .node = n, .op = { __VA_ARGS__ } }
#define TWICE(n, ...)	{ .node = n, .attempts = 2, .op = { __VA_ARGS__ } }
#define AT_ONCE(n, ...)	{ .node = n, .parallel = true, .op = { __VA_ARGS__ } }
#define HELD(n, ...)	{ .node = n, .hold = true, .op = { __VA_ARGS__ } }
#define LOCKS(n, l, ...) { .node = n, .lock = l, .op = { __VA_ARGS__ } }
#define LIMIT		100000000U	/* states: about 8 GiB */

static const struct config configs[] = {
	{
		.name = "alone", .about = "one reads, writes whole lines and parts of lines",
		.nodes = 3, .txs = 1, .peaceful = true,
		.tx = { T(0, R(1, 0), W(1, 1), P(2, 0, 1), R(2, 1), W(0, 0)) },
	}, {
		.name = "disjoint", .about = "two use the same nodes, other lines; both read one",
		.nodes = 2, .txs = 2, .peaceful = true,
		.tx = { T(0, R(0, 3), W(0, 0), W(1, 0)), T(1, R(0, 3), W(0, 1), P(1, 1, 0)) },
	}, {
		.name = "buffers", .about = "the same with one Locking Buffer",
		.nodes = 2, .txs = 2, .buffers = 1,
		.tx = { T(0, R(0, 3), W(0, 0), W(1, 0)), T(1, R(0, 3), W(0, 1), P(1, 1, 0)) },
	}, {
		.name = "update", .about = "two read and write a line of a third node",
		.nodes = 3, .txs = 2,
		.tx = { T(0, R(2, 0), W(2, 0)), T(1, R(2, 0), W(2, 0)) },
	}, {
		.name = "update-again", .about = "the same, squashed ones run again",
		.nodes = 3, .txs = 2,
		.tx = { TWICE(0, R(2, 0), W(2, 0)), TWICE(1, R(2, 0), W(2, 0)) },
	}, {
		.name = "skew", .about = "two read two lines, each writes one of them",
		.nodes = 2, .txs = 2,
		.tx = { T(0, R(0, 0), R(1, 0), W(0, 0)), T(1, R(0, 0), R(1, 0), W(1, 0)) },
	}, {
		.name = "skew-far", .about = "the same, neither writes at its own node",
		.nodes = 2, .txs = 2,
		.tx = { T(0, R(0, 0), W(1, 0)), T(1, R(1, 0), W(0, 0)) },
	}, {
		.name = "reader", .about = "one reads two lines that another writes as a whole",
		.nodes = 3, .txs = 2,
		.tx = { T(0, W(1, 0), W(2, 0)), T(2, R(1, 0), R(2, 0)) },
	}, {
		.name = "chain", .about = "what a transaction has seen, its readers see too",
		.nodes = 2, .txs = 3, .size = 1,
		.tx = { T(0, W(0, 0)), T(1, R(0, 0), W(1, 0)), T(0, R(1, 0), R(0, 0)) },
	}, {
		.name = "cycle", .about = "each of three reads what the next one writes",
		.nodes = 3, .txs = 3,
		.tx = { T(0, R(0, 0), W(1, 0)), T(1, R(1, 0), W(2, 0)), T(2, R(2, 0), W(0, 0)) },
	}, {
		.name = "cycle-one", .about = "the same with all lines at one node",
		.nodes = 2, .txs = 3,
		.tx = { T(0, R(1, 0), W(1, 1)), T(0, R(1, 1), W(1, 2)), T(1, R(1, 2), W(1, 0)) },
	}, {
		.name = "blind", .about = "two write the same whole lines of two nodes",
		.nodes = 2, .txs = 2,
		.tx = { T(0, W(0, 0), W(1, 0)), T(1, W(0, 0), W(1, 0)) },
	}, {
		.name = "blind-read", .about = "two write the same lines, a third reads them",
		.nodes = 2, .txs = 3, .size = 1,
		.tx = { T(0, W(0, 0), W(1, 0)), T(1, W(0, 0), W(1, 0)), T(1, R(0, 0), R(1, 0)) },
	}, {
		.name = "own-node", .about = "all at one node, from three slots of its coordinator",
		.nodes = 1, .txs = 3,
		.tx = { T(0, R(0, 0), W(0, 0)), T(0, R(0, 0), W(0, 1)), T(0, W(0, 0), W(0, 1)) },
	}, {
		.name = "parts", .about = "two write the two ends of a line, another reads it",
		.nodes = 3, .txs = 3,
		.tx = { T(0, P(2, 0, 0)), T(1, P(2, 0, 1)), T(2, R(2, 0)) },
	}, {
		.name = "parts-whole", .about = "parts of lines beside whole lines, over two nodes",
		.nodes = 2, .txs = 2,
		.tx = { T(0, P(0, 0, 0), P(0, 0, 1), P(1, 0, 1)), T(1, W(0, 0), W(1, 0)) },
	}, {
		.name = "parallel", .about = "accesses that do not wait for each other",
		.nodes = 2, .txs = 2,
		.tx = { AT_ONCE(0, R(0, 0), P(1, 0, 0)), AT_ONCE(1, W(0, 0), R(1, 0), P(1, 1, 1)) },
	}, {
		.name = "parallel-more", .about = "the same, with one more",
		.nodes = 2, .txs = 2, .size = 1,
		.tx = { AT_ONCE(0, R(0, 0), P(1, 0, 0), R(1, 1)),
			AT_ONCE(1, W(0, 0), R(1, 0), P(1, 1, 1)) },
	}, {
		.name = "three-nodes", .about = "two transactions with all three nodes each",
		.nodes = 3, .txs = 2,
		.tx = { T(0, R(0, 0), W(1, 0), W(2, 0)), T(1, R(2, 0), W(1, 0), W(0, 0)) },
	}, {
		.name = "again", .about = "write skew, squashed ones run again",
		.nodes = 2, .txs = 2, .size = 1,
		.tx = { TWICE(0, R(0, 0), R(1, 0), W(0, 0)), TWICE(1, R(0, 0), R(1, 0), W(1, 0)) },
	}, {
		.name = "loads", .about = "one loads lines of its own node that another one writes",
		.nodes = 2, .txs = 2,
		.tx = { T(0, LOAD(0, 0), LOAD(0, 1), W(1, 0)), T(1, R(1, 0), W(0, 0), W(0, 1)) },
	}, {
		.name = "stores", .about = "loads and stores beside reads and writes",
		.nodes = 2, .txs = 2,
		.tx = { T(0, LOAD(0, 0), STORE(0, 1)), T(1, R(0, 1), W(0, 0)) },
	}, {
		.name = "lost", .about = "a message is lost, write skew",
		.nodes = 2, .txs = 2, .drops = 1,
		.tx = { T(0, R(0, 0), W(1, 0)), T(1, R(1, 0), W(0, 0)) },
	}, {
		.name = "lost-two", .about = "two messages are lost",
		.nodes = 3, .txs = 2, .drops = 2,
		.tx = { T(0, R(2, 0), W(2, 0)), T(1, R(2, 0), W(2, 0)) },
	}, {
		.name = "doubled", .about = "a message comes twice, squashed ones run again",
		.nodes = 3, .txs = 2, .dups = 1,
		.tx = { TWICE(0, R(2, 0), P(2, 0, 1)), T(1, W(2, 0)) },
	}, {
		.name = "lost-doubled", .about = "a message is lost, another one comes twice",
		.nodes = 2, .txs = 2, .drops = 1, .dups = 1, .size = 1,
		.tx = { T(0, R(0, 0), W(1, 0)), T(1, R(1, 0), W(0, 0)) },
	}, {
		.name = "expired", .about = "a transaction is given up at any time",
		.nodes = 2, .txs = 2, .expiries = 1,
		.tx = { TWICE(0, R(0, 0), W(1, 0)), T(1, R(1, 0), W(0, 0)) },
	}, {
		.name = "expired-alone", .about = "one that nobody hurts commits after a time-out",
		.nodes = 2, .txs = 1, .expiries = 1, .peaceful = true,
		.tx = { TWICE(0, R(0, 0), P(1, 0, 1), W(1, 1)) },
	}, {
		.name = "refused", .about = "a refusal is lost, others use the lines meanwhile",
		.nodes = 2, .txs = 3, .drops = 1,
		.tx = { T(0, R(1, 0)), T(0, R(1, 1), W(1, 0)), T(1, R(1, 0), W(1, 1)) },
	}, {
		.name = "silent", .about = "a participant hears nothing of a living coordinator",
		.nodes = 2, .txs = 2, .silences = 1,
		.tx = { T(0, R(0, 0), W(0, 0), W(1, 0)), T(1, R(0, 0), R(1, 0)) },
	}, {
		.name = "dies", .about = "a coordinator dies at any time, then its epoch changes",
		.nodes = 3, .txs = 2, .may_die = 1, .silences = 1,
		.tx = { T(0, R(1, 0), W(1, 0), W(2, 0)), T(1, R(1, 0), W(2, 0)) },
	}, {
		.name = "restarts", .about = "a participant restarts and has forgotten all",
		.nodes = 3, .txs = 2, .may_restart = 4,
		.tx = { T(0, R(2, 0), W(1, 0)), TWICE(1, R(1, 0), W(2, 0)) },
	}, {
		.name = "forgets", .about = "a participant forgets all, and nobody is told",
		.nodes = 2, .txs = 2, .may_forget = 2,
		.tx = { T(0, R(1, 0), W(0, 0)), T(1, R(0, 0), W(1, 0)) },
	}, {
		.name = "cycle-again", .about = "a cycle of three, squashed ones run again",
		.nodes = 3, .txs = 3, .size = 1,
		.tx = { TWICE(0, R(0, 0), W(1, 0)), TWICE(1, R(1, 0), W(2, 0)),
			TWICE(2, R(2, 0), W(0, 0)) },
	}, {
		.name = "loads-three", .about = "loads and stores beside two others",
		.nodes = 2, .txs = 3,
		.tx = { T(0, LOAD(0, 0), STORE(0, 1)), T(1, R(0, 1), W(0, 0)),
			T(1, W(0, 0), W(0, 1)) },
	}, {
		.name = "held", .about = "prepared first, then committed or not, beside another one",
		.nodes = 3, .txs = 2,
		.tx = { HELD(0, R(2, 0), W(1, 0)), T(1, R(1, 0), W(2, 0)) },
	}, {
		.name = "held-own", .about = "two that are held, with loads, write skew",
		.nodes = 2, .txs = 2, .expiries = 1,
		.tx = { HELD(0, LOAD(0, 0), W(1, 0)), HELD(1, R(1, 0), W(0, 0)) },
	}, {
		.name = "held-dies", .about = "a coordinator dies while others are held",
		.nodes = 3, .txs = 2, .may_die = 1, .drops = 1,
		.tx = { HELD(0, W(1, 0), W(2, 0)), HELD(1, R(1, 0)) },
	}, {
		.name = "lockers", .about = "two lock lines of two nodes in advance",
		.nodes = 2, .txs = 2, .sure = 3,
		.tx = { LOCKS(0, 3, R(0, 0), W(1, 0)), LOCKS(1, 3, R(1, 0), W(0, 0)) },
	}, {
		.name = "lockers-three", .about = "three lock lines of a node, two of them one",
		.nodes = 3, .txs = 3, .sure = 7,
		.tx = { LOCKS(0, 1, W(0, 0)), LOCKS(1, 3, R(0, 0), W(0, 1)), LOCKS(2, 1, P(0, 1, 0)) },
	}, {
		.name = "locker-optimists", .about = "one locks in advance, others run again and again",
		.nodes = 2, .txs = 2, .sure = 1,
		.tx = { LOCKS(0, 3, R(1, 0), W(1, 1)), TWICE(1, R(1, 1), W(1, 0)) },
	}, {
		.name = "locker-reader", .about = "one locks in advance, another reads both lines",
		.nodes = 3, .txs = 2, .sure = 1,
		.tx = { LOCKS(0, 3, W(1, 0), W(2, 0)), T(2, R(1, 0), R(2, 0)) },
	}, {
		.name = "locker-more", .about = "two use a line beside those that they have locked",
		.nodes = 2, .txs = 2,
		.tx = { LOCKS(0, 1, R(0, 0), P(1, 0, 0)), LOCKS(1, 1, W(1, 1), R(1, 0), W(0, 0)) },
	}, {
		.name = "locker-loads", .about = "one locks in advance what another loads",
		.nodes = 2, .txs = 2, .sure = 2,
		.tx = { TWICE(0, LOAD(0, 0), STORE(0, 1)), LOCKS(1, 3, W(0, 0), R(0, 1)) },
	}, {
		.name = "locker-dies", .about = "one of two that lock in advance dies",
		.nodes = 3, .txs = 2, .may_die = 1, .sure = 2,
		.tx = { LOCKS(0, 3, R(1, 0), W(2, 0)), LOCKS(1, 3, W(1, 0), R(2, 0)) },
	}, {
		.name = "locker-lost", .about = "two lock in advance, messages are lost and doubled",
		.nodes = 2, .txs = 2, .drops = 1, .dups = 1, .sure = 3,
		.tx = { LOCKS(0, 1, W(1, 0)), LOCKS(1, 3, R(1, 0), W(0, 0)) },
	}, {
		.name = "locker-silent", .about = "a participant hears nothing of one that locks",
		.nodes = 2, .txs = 2, .silences = 1, .expiries = 1,
		.tx = { LOCKS(0, 3, R(1, 0), W(0, 0)), LOCKS(1, 3, R(0, 0), W(1, 0)) },
	}, {
		.name = "loads-again", .about = "loads and stores that are squashed run again",
		.nodes = 2, .txs = 2,
		.tx = { TWICE(0, LOAD(0, 0), STORE(0, 1)), TWICE(1, R(0, 1), W(0, 0)) },
	}, {
		.name = "loads-remote", .about = "write skew by loads, each writes at the other's node",
		.nodes = 2, .txs = 2,
		.tx = { T(0, LOAD(0, 0), W(1, 0)), T(1, LOAD(1, 0), W(0, 0)) },
	}, {
		.name = "mixed", .about = "a loss, a duplicate, silence and a time-out in a run",
		.nodes = 2, .txs = 2, .size = 1,
		.drops = 1, .dups = 1, .silences = 1, .expiries = 1,
		.tx = { T(0, R(0, 0), W(1, 0)), T(1, R(1, 0), W(0, 0)) },
	}, {
		.name = "dies-lost", .about = "a coordinator dies, a message is lost",
		.nodes = 3, .txs = 2, .drops = 1, .may_die = 1, .size = 1,
		.tx = { T(0, R(1, 0), W(1, 0), W(2, 0)), TWICE(1, R(1, 0), W(2, 0)) },
	}, {
		.name = "restarts-lost", .about = "a participant restarts, a message is lost",
		.nodes = 3, .txs = 2, .drops = 1, .may_restart = 4, .size = 1,
		.tx = { T(0, R(2, 0), W(1, 0), W(2, 0)), TWICE(1, R(1, 0), R(2, 0)) },
	},
};

/* A history of two transactions and two items: what each saw and wrote, the order of writes */
static const char *judge(const u8 saw[2][2], const u8 wrote[2], const u8 order[2][2],
			 bool in_time)
{
	static struct oracle o;
	u32 t, i;

	memset(&o, 0, sizeof(o));
	o.count = 2;
	for (t = 0; t < 2; t++) {
		o.tx[t].committed = true;
		o.tx[t].writes = wrote[t];
		memset(o.tx[t].saw, ORACLE_UNREAD, sizeof(o.tx[t].saw));
		memcpy(o.tx[t].saw, saw[t], 2);
		for (i = 0; i < 2; i++)
			if (order[t][i])
				o.item[t].value[o.item[t].n++] = order[t][i];
	}
	/* the first one was complete when the second one began */
	o.tx[1].before = in_time;
	return oracle_check(&o) ? NULL : o.why;
}

#define NO	ORACLE_UNREAD
#define A	ORACLE_VALUE(0, 0)
#define B	ORACLE_VALUE(1, 0)
#define JUDGE(s0, s1, t0, t1, w0, w1, o0, o1, p0, p1, in_time)			\
	judge((const u8[2][2]){ { s0, s1 }, { t0, t1 } }, (const u8[2]){ w0, w1 }, \
	      (const u8[2][2]){ { o0, o1 }, { p0, p1 } }, in_time)

/* The oracle finds what it is for, in histories that are known */
static void test_oracle(void)
{
	/* one after the other */
	CHECK(!JUDGE(0, 0, A, A, 3, 0, A, 0, A, 0, true));
	CHECK(!JUDGE(0, NO, A, NO, 1, 1, A, B, 0, 0, true));
	/* lost update; write skew; a read of half of a transaction; a read of the past */
	CHECK(JUDGE(0, NO, 0, NO, 1, 1, A, B, 0, 0, false));
	CHECK(JUDGE(NO, 0, 0, NO, 1, 2, A, 0, B, 0, false));
	CHECK(JUDGE(NO, NO, A, 0, 3, 0, A, 0, A, 0, false));
	CHECK(JUDGE(NO, NO, 0, 0, 3, 0, A, 0, A, 0, true));
	CHECK(!JUDGE(NO, NO, 0, 0, 3, 0, A, 0, A, 0, false));
	/* two lines in different orders */
	CHECK(JUDGE(NO, NO, NO, NO, 3, 3, A, B, B, A, false));
	/* missing, twice, of nobody, read though not written */
	CHECK(JUDGE(NO, NO, NO, NO, 3, 0, A, 0, 0, 0, false));
	CHECK(JUDGE(NO, NO, NO, NO, 1, 0, A, A, 0, 0, false));
	CHECK(JUDGE(NO, NO, NO, NO, 1, 0, A, B, 0, 0, false));
	CHECK(JUDGE(NO, NO, NO, B, 1, 0, A, 0, 0, 0, false));
	tap_result("oracle: known histories");
}

static void run(const struct config *c)
{
	struct timespec a, b;
	u32 n, t, mask, all = (1U << c->txs) - 1, any = 0;
	u64 commits = 0, squashes = 0, states = 0;

	clock_gettime(CLOCK_MONOTONIC, &a);
	if (!world_begin(c)) {
		TAP_FAIL("%s: set-up", c->name);
		return;
	}
	model_run(LIMIT);
	clock_gettime(CLOCK_MONOTONIC, &b);
	for (mask = 0; mask <= all; mask++)
		for (t = 0; t < c->txs; t++) {
			commits += mask >> t & 1 ? model.committed[mask] : 0;
			squashes += mask >> t & 1 ? 0 : model.committed[mask];
			any |= model.committed[mask] ? mask : 0;
		}
	for (n = 0; n < c->nodes; n++)
		states += image[n].state.n;
	printf("# %s: %u states, %llu transitions, %llu ends, %llu commits, %llu squashes; "
	       "%llu states of nodes, %u steps run, up to %llu messages, %.1f s\n", c->name,
	       model.search.state.n, (unsigned long long)model.search.edges,
	       (unsigned long long)model.ends, (unsigned long long)commits,
	       (unsigned long long)squashes, (unsigned long long)states, model.memo.key.n,
	       (unsigned long long)model.most,
	       (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
	if (model.wrong) {
		TAP_FAIL("%s: %s; steps that lead there:", c->name, model.wrong);
		model_trace(model.bad);
	}
	CHECK(!model.cut);
	/* each one commits in some run, and all of them in one */
	if (!model.wrong && !model.cut) {
		CHECK_EQ(any, all);
		CHECK(model.committed[all]);
		CHECK(!c->peaceful || !squashes);
	}
	model_free();
	world_end();
}

int main(int argc, char **argv)
{
	u32 size = argc == 2 && isdigit((unsigned char)*argv[1]) ? (u32)atoi(argv[1]) : 0;
	bool named = argc > 1 && !isdigit((unsigned char)*argv[1]);
	char name[160];
	u32 i;
	int k;

	if (!named)
		test_oracle();
	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		bool wanted = !named && configs[i].size <= size;

		for (k = 1; k < argc && named; k++)
			wanted |= !strcmp(argv[k], configs[i].name);
		if (!wanted)
			continue;
		run(&configs[i]);
		snprintf(name, sizeof(name), "%s: %s", configs[i].name, configs[i].about);
		tap_result(name);
	}
	return tap_done();
}
