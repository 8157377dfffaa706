// SPDX-License-Identifier: GPL-2.0
/*
 * Random executions of transactions that use one node: some by loads and stores (lib/tx/local.h),
 * some as another node's, in steps of any order; then the same transactions all by the RMC. In both
 * modes, what a transaction has read when its INTEND is acked is what those that were acked before
 * have left, and memory is what they have written. By loads and stores that holds for each read.
 */
#include "../tap.h"
#include "tx_own.h"

#define REMOTE		3
#define AT(line)	((u64)(line) * RMC_LINE)

static struct own_node node;
static struct tx_bits bits, others_bits;
static u64 word;

/* An access of eight bytes */
static int get(struct tx_local *t, u64 line)
{
	return tx_local_read(t, AT(line), &word, 8);
}

static int put(struct tx_local *t, u64 line, u64 value)
{
	return rmc_tx_local_write(t, AT(line), &value, 8);
}

static u64 in_memory(u64 line)
{
	return *(u64 *)(node.memory + AT(line));
}

enum { ACTORS = 5, LOCALS = 3, LINES = 6, STEPS = 40000 };

/* A transaction of the same steps in both modes */
static struct actor {
	struct tx_local t;
	struct own_commit c;
	u32 source, slot;
	bool local, running, prepared;
	u8 read[LINES], wrote[LINES];
	u64 saw[LINES], value[LINES];
} actors[ACTORS];

static u64 model[LINES], state, commits[2], fails[2];
static u32 lines[LINES];

static u32 rnd(u32 n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(state >> 33) % n;
}

static void actor_over(struct actor *x, bool mode, bool ok)
{
	commits[mode] += ok;
	fails[mode] += !ok;
	x->running = false;
	x->prepared = false;
	memset(x->read, 0, sizeof(x->read));
	memset(x->wrote, 0, sizeof(x->wrote));
}

static void actor_abort(struct actor *x, bool mode)
{
	if (x->local && rnd(2))
		own_abort_local(&node, &x->t);
	else if (x->local)
		rmc_tx_local_end(&x->t);	/* the RMC's mark may stay */
	else
		own_abort(&node, x->source, x->slot);
	actor_over(x, mode, false);
}

/* All that was read is what committed transactions have left; without its own commits */
static void check_reads(const struct actor *x)
{
	u32 i;

	for (i = 0; i < LINES; i++)
		if (x->read[i])
			CHECK_EQ(x->saw[i], model[i]);
}

static void actor_intend(struct actor *x, bool mode)
{
	u64 found[LINES], i, n = 0;
	u8 status;

	if (x->local) {
		n = rmc_tx_local_find(&x->t, found, LINES);
		status = own_intend_local(&node, &x->c, &x->t);
		CHECK_EQ(n, x->t.redo.n);
		for (i = 0; i < n; i++)
			CHECK(tx_redo_find(&x->t.redo, found[i]));
	} else {
		for (i = 0; i < LINES; i++)
			if (x->wrote[i])
				x->c.range[n++] = (struct rmc_tx_range) { AT(lines[i]), 8 };
		x->c.count = n;
		status = own_intend(&node, &x->c, x->source, x->slot);
	}
	if (status) {
		actor_abort(x, mode);
		return;
	}
	x->prepared = true;
	/* acks are in the order in which transactions take effect */
	check_reads(x);
	for (i = 0; i < LINES; i++)
		if (x->wrote[i])
			model[i] = x->value[i];
}

static void actor_close(struct actor *x, bool mode)
{
	u32 i;

	if (x->local) {
		own_close_local(&node, &x->c, &x->t);
	} else {
		for (i = 0; i < LINES; i++)
			if (x->wrote[i])
				CHECK_EQ(own_data(&node, &x->c, AT(lines[i]),
						  (u8 *)&x->value[i], 8), 0);
		CHECK_EQ(own_close(&node, &x->c), RMC_S_OK);
	}
	for (i = 0; i < LINES; i++)
		if (x->wrote[i])
			CHECK_EQ(in_memory(lines[i]), x->value[i]);
	actor_over(x, mode, true);
}

/* Is one that is prepared going to store to a line that was read? Then model[] is ahead. */
static bool is_ahead(const struct actor *x)
{
	const struct actor *y;
	u32 i;

	for (y = actors; y < actors + ACTORS; y++)
		for (i = 0; i < LINES; i++)
			if (y != x && y->prepared && y->wrote[i] && x->read[i])
				return true;
	return false;
}

static void actor_access(struct actor *x, bool mode)
{
	u32 i = rnd(LINES);
	bool write = rnd(3) == 0;
	u64 value = state | 1;
	int err;

	if (x->local)
		err = write ? put(&x->t, lines[i], value) : get(&x->t, lines[i]);
	else
		err = own_access(&node, x->source, x->slot, write ? RMC_TX_OWN : RMC_TX_READ,
				 AT(lines[i]), &word, 8);
	if (err == (x->local ? (int)TX_LOCAL_LOCKED : (int)RMC_S_TX_LOCKED))
		return;
	if (err) {
		actor_abort(x, mode);
		return;
	}
	if (write) {
		x->wrote[i] = 1;
		x->value[i] = value;
	} else if (!x->wrote[i]) {
		if (x->read[i])
			CHECK(!x->local || x->saw[i] == word);
		else
			x->saw[i] = word;
		x->read[i] = 1;
	} else if (x->local) {
		CHECK_EQ(word, x->value[i]);
	}
	/* no local transaction sees two states, doomed or not */
	if (x->local && !is_ahead(x))
		check_reads(x);
}

static void actor_step(struct actor *x, bool mode)
{
	if (x->prepared) {
		if (rnd(3) == 0)
			actor_close(x, mode);
	} else if (!x->running) {
		x->running = true;
		if (x->local)
			rmc_tx_local_begin(&x->t, x->slot, rnd(2) ? &bits : &others_bits);
	} else if (rnd(6) == 0) {
		actor_intend(x, mode);
	} else if (rnd(20) == 0) {
		actor_abort(x, mode);
	} else {
		if (x->local && rnd(8) == 0)
			rmc_tx_local_resume(&x->t, rnd(2) ? &bits : &others_bits);
		actor_access(x, mode);
	}
}

/* mode 1: the first actors by loads and stores; 0: the same transactions by the RMC */
static void run_random(bool mode, u64 seed)
{
	struct actor *x;
	u32 i;

	own_begin(&node);
	memset(model, 0, sizeof(model));
	state = seed;
	for (i = 0; i < LINES; i++)
		lines[i] = i < 3 ? i : i * 1024;
	for (i = 0; i < ACTORS; i++) {
		x = &actors[i];
		memset(x, 0, sizeof(*x));
		x->local = mode && i < LOCALS;
		x->source = i < LOCALS ? OWN_SELF : REMOTE;
		x->slot = i;
		CHECK_EQ(rmc_tx_local_init(&x->t, &node.range, LINES), 0);
	}
	for (i = 0; i < STEPS && !tap_failures; i++)
		actor_step(&actors[rnd(ACTORS)], mode);
	for (x = actors; x < actors + ACTORS; x++) {
		if (x->prepared)
			actor_close(x, mode);
		else if (x->running)
			actor_abort(x, mode);
		rmc_tx_local_free(&x->t);
	}
	for (i = 0; i < LINES; i++)
		CHECK_EQ(in_memory(lines[i]), model[i]);
	CHECK(own_end(&node));
}

static void test_random(void)
{
	u32 mode, seed;

	for (mode = 0; mode < 2; mode++) {
		commits[mode] = 0;
		fails[mode] = 0;
		for (seed = 1; seed < 5; seed++)
			run_random(mode, seed);
		printf("# %s: %llu committed, %llu did not\n",
		       mode ? "by loads and stores" : "by the RMC",
		       (unsigned long long)commits[mode], (unsigned long long)fails[mode]);
		CHECK(commits[mode] > 1000 && fails[mode] > 1000);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "tx local: random executions, in both modes", test_random },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
