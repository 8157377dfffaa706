// SPDX-License-Identifier: GPL-2.0
/*
 * Local transactions in several threads, and another node's, over few lines: money moves between
 * accounts, and some only add it up. Each sum is what it was at first, in transactions that are
 * squashed later, too: whoever may see a mixture has a bit in a filter, or meets a lock. That is
 * what the barriers are for, of two local threads, and of one and the RRPP's worker. And two
 * threads that access a line for the first time in the same moment, again and again: one of them at least
 * notices.
 *
 *	build/host/tx_local_stress [MILLISECONDS]	of each
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>
#include "../tap.h"
#include "tx_own.h"

#define REMOTE		3
#define ACCOUNTS	4
#define MONEY		1000
#define THREADS		3		/* the last one is the other node */
#define AT(account)	((u64)(account) * 5 * RMC_LINE)

static struct own_node node;
static bool over;

static struct thread {
	pthread_t thread;
	struct tx_bits bits;
	struct tx_local t;
	u64 seed;
	u64 moved, audits, squashed;
	u64 wrong;
} threads[THREADS] ____cacheline_aligned;

static u32 rnd(struct thread *x, u32 n)
{
	x->seed = x->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(x->seed >> 33) % n;
}

/* Waits for locks */
static int local_get(struct thread *x, u32 account, u64 *money)
{
	int err, tries = 1000;

	do
		err = tx_local_read(&x->t, AT(account), money, 8);
	while (err == TX_LOCAL_LOCKED && --tries);
	return err;
}

static int local_put(struct thread *x, u32 account, u64 money)
{
	int err, tries = 1000;

	do
		err = rmc_tx_local_write(&x->t, AT(account), &money, 8);
	while (err == TX_LOCAL_LOCKED && --tries);
	return err;
}

static void local_audit(struct thread *x)
{
	u64 sum = 0, money;
	u32 i, first = rnd(x, ACCOUNTS);

	for (i = 0; i < ACCOUNTS; i++) {
		if (local_get(x, (first + i) % ACCOUNTS, &money)) {
			own_abort_local(&node, &x->t);
			x->squashed++;
			return;
		}
		sum += money;
	}
	/* it is squashed later, maybe: what it has seen was there together all the same */
	x->wrong += sum != ACCOUNTS * MONEY;
	rmc_tx_local_end(&x->t);
	rmc_os_count(x->audits, 1);
}

static void local_move(struct thread *x)
{
	u32 from = rnd(x, ACCOUNTS), to = (from + 1 + rnd(x, ACCOUNTS - 1)) % ACCOUNTS;
	u64 a, b;

	if (local_get(x, from, &a) || local_get(x, to, &b) || local_put(x, from, a - 1) ||
	    local_put(x, to, b + 1)) {
		own_abort_local(&node, &x->t);
		x->squashed++;
	} else if (own_commit_local(&node, &x->t)) {
		rmc_os_count(x->moved, 1);
	} else {
		x->squashed++;
	}
}

static void *local_thread(void *arg)
{
	struct thread *x = arg;
	int slot;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		slot = rmc_tx_slot_take(&node.range);
		rmc_tx_local_begin(&x->t, (u32)slot, &x->bits);
		if (rnd(x, 3))
			local_audit(x);
		else
			local_move(x);
		rmc_tx_slot_put(&node.range, (u32)slot);
	}
	return NULL;
}

/* The other node's: writes two accounts, without a look at others */
static bool remote_move(struct thread *x, struct own_commit *c)
{
	u32 from = rnd(x, ACCOUNTS - 1), to = from + 1 + rnd(x, ACCOUNTS - 1 - from), k;
	u64 money[2];

	for (k = 0; k < 2; k++)
		if (own_access(&node, REMOTE, 0, RMC_TX_OWN, AT(k ? to : from), &money[k], 8))
			return false;
	c->range[0] = (struct rmc_tx_range) { AT(from), 8 };
	c->range[1] = (struct rmc_tx_range) { AT(to), 8 };
	c->count = 2;
	if (own_intend(&node, c, REMOTE, 0))
		return false;
	money[0]--;
	money[1]++;
	for (k = 0; k < 2; k++)
		own_data(&node, c, c->range[k].offset, (u8 *)&money[k], 8);
	own_close(&node, c);
	return true;
}

static void *remote_thread(void *arg)
{
	struct thread *x = arg;
	struct own_commit c;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		if (remote_move(x, &c)) {
			rmc_os_count(x->moved, 1);
			continue;
		}
		own_abort(&node, REMOTE, 0);
		x->squashed++;
	}
	return NULL;
}

/* Others may keep this program from its CPUs for long */
static bool all_moved(void)
{
	u32 i;

	for (i = 0; i < THREADS; i++)
		if (!READ_ONCE(threads[i].moved) ||
		    (i < THREADS - 1 && !READ_ONCE(threads[i].audits)))
			return false;
	return true;
}

static void run(u32 ms)
{
	u32 waits = 200;
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	u64 sum = 0;
	u32 i;

	own_begin(&node);
	for (i = 0; i < ACCOUNTS; i++)
		*(u64 *)(node.memory + AT(i)) = MONEY;
	for (i = 0; i < THREADS; i++) {
		threads[i].seed = i;
		CHECK_EQ(rmc_tx_local_init(&threads[i].t, &node.range, 8), 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i].thread, NULL,
			       i < THREADS - 1 ? local_thread : remote_thread, &threads[i]);
	nanosleep(&time, NULL);
	while (!all_moved() && --waits)
		nanosleep(&(struct timespec) { .tv_nsec = 50000000 }, NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i].thread, NULL);
	for (i = 0; i < THREADS; i++) {
		struct thread *x = &threads[i];

		printf("# %s: %llu moved, %llu audits, %llu squashed, %llu wrong\n",
		       i < THREADS - 1 ? "local" : "remote", (unsigned long long)x->moved,
		       (unsigned long long)x->audits, (unsigned long long)x->squashed,
		       (unsigned long long)x->wrong);
		CHECK_EQ(x->wrong, 0);
		CHECK(x->moved);
		CHECK(x->audits || i == THREADS - 1);
		rmc_tx_local_free(&x->t);
	}
	for (i = 0; i < ACCOUNTS; i++)
		sum += *(u64 *)(node.memory + AT(i));
	CHECK_EQ(sum, ACCOUNTS * MONEY);
	CHECK(own_end(&node));
}

/* ---- two threads, one line ---- */

static struct pair {
	struct tx_bits bits;
	struct tx_local t;
	int result;
	u64 round;		/* twice its number; one more: it has done it */
} pair[2] ____cacheline_aligned;

static u64 rounds;

/* The other one is there, too; false: it has ended */
static bool meet(u32 i, u64 round)
{
	u64 other;
	u32 spins;

	__atomic_store_n(&pair[i].round, round, __ATOMIC_SEQ_CST);
	for (spins = 1;; spins++) {
		other = __atomic_load_n(&pair[!i].round, __ATOMIC_ACQUIRE);
		if (other >= round)
			return other != U64_MAX;
		if (spins % 4096 == 0)
			sched_yield();
	}
}

/* Both write the line, or the second one reads it */
static int access_at_once(struct pair *p, u32 i, u64 round)
{
	u64 value = 1, offset = round % 8 * RMC_LINE;

	if (i && round % 2)
		return tx_local_read(&p->t, offset, &value, 8);
	return rmc_tx_local_write(&p->t, offset, &value, 8);
}

static void *pair_thread(void *arg)
{
	struct pair *p = arg;
	u32 i = p - pair;
	u64 round;

	for (round = 2;; round += 2) {
		rmc_tx_local_begin(&p->t, 10 + i, &p->bits);
		/* the first one ends both */
		if (!i && __atomic_load_n(&over, __ATOMIC_RELAXED))
			round = U64_MAX;
		if (round == U64_MAX || !meet(i, round))
			break;
		p->result = access_at_once(p, i, round / 2);
		meet(i, round + 1);
		/* its result stays until the next round, when this one is there */
		if (!i && !p->result && !pair[1].result)
			threads[0].wrong++;
		if (!i)
			rounds++;
		rmc_tx_local_end(&p->t);
	}
	__atomic_store_n(&p->round, U64_MAX, __ATOMIC_RELEASE);
	rmc_tx_local_end(&p->t);
	return NULL;
}

static void run_pair(u32 ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	pthread_t thread[2];
	u32 i;

	own_begin(&node);
	over = false;
	threads[0].wrong = 0;
	for (i = 0; i < 2; i++)
		CHECK_EQ(rmc_tx_local_init(&pair[i].t, &node.range, 8), 0);
	for (i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, pair_thread, &pair[i]);
	nanosleep(&time, NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		rmc_tx_local_free(&pair[i].t);
	}
	printf("# %llu rounds\n", (unsigned long long)rounds);
	CHECK(rounds > 10);
	CHECK_EQ(threads[0].wrong, 0);
	CHECK(own_end(&node));
}

int main(int argc, char **argv)
{
	u32 ms = argc > 1 ? (u32)atoi(argv[1]) : 1000;

	run(ms);
	tap_result("tx local stress: no thread sees a mixture, no money is lost");
	run_pair(ms);
	tap_result("tx local stress: of two that access a line at once, one notices");
	return tap_done();
}
