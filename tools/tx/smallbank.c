/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Smallbank (HADES, section VII): each account has a savings and a checking balance. Six
 * transactions in FaSST's mix; 9 of 10 are on 4 of 100 accounts, with both of their accounts if they
 * have two. Money comes and goes only by those that a ledger counts, so its sum is known.
 */
#include "workload.h"

enum { SAVINGS, CHECKING };
enum { AMALGAMATE, BALANCE, DEPOSIT, PAYMENT, TRANSACT, CHECK, KINDS };

#define START		1000000		/* cents on each of an account's balances */
#define HOT_PERCENT	4		/* of the accounts */
#define HOT_USE		90		/* percent of the transactions */

struct balance {
	int64_t cents;
};

struct request {
	uint64_t from, to;
	int64_t cents, change;
};

static unsigned int tables(const struct tx_scale *s, struct rmc_tx_table *t)
{
	t[SAVINGS] = t[CHECKING] = (struct rmc_tx_table){
		.records = s->accounts, .bytes = sizeof(struct balance),
	};
	return 2;
}

static int load(struct tx_client *c)
{
	const struct balance start = { START };
	uint64_t i;
	uint32_t t;
	int err;

	for (t = SAVINGS; t <= CHECKING; t++)
		for (i = 0; i < c->scale.accounts; i++) {
			err = tx_mine(c, t, i) ? rmc_tx_load(c->db, rmc_tx_record(t, i), &start,
							     sizeof(start)) : 0;
			if (err)
				return err;
		}
	return 0;
}

static int get(struct rmc_tx *t, uint32_t table, uint64_t account, int64_t *cents)
{
	const struct balance *b;
	int err = rmc_tx_get(t, rmc_tx_record(table, account), sizeof(*b), (const void **)&b);

	if (!err)
		*cents = b->cents;
	return err;
}

static int set(struct rmc_tx *t, uint32_t table, uint64_t account, int64_t cents)
{
	struct balance b = { cents };

	return rmc_tx_put(t, rmc_tx_record(table, account), &b, sizeof(b));
}

/* All money of one account to the checking balance of another */
static int amalgamate(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	int64_t savings = 0, checking = 0, other = 0;
	int err = get(t, SAVINGS, r->from, &savings);

	if (!err)
		err = get(t, CHECKING, r->from, &checking);
	if (!err)
		err = get(t, CHECKING, r->to, &other);
	if (!err)
		err = set(t, SAVINGS, r->from, 0);
	if (!err)
		err = set(t, CHECKING, r->from, 0);
	return err ? err : set(t, CHECKING, r->to, other + savings + checking);
}

static int balance(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	int64_t cents;
	int err = get(t, SAVINGS, r->from, &cents);

	return err ? err : get(t, CHECKING, r->from, &cents);
}

static int deposit(struct rmc_tx *t, void *arg)
{
	struct request *r = (struct request *)arg;
	int64_t cents = 0;
	int err = get(t, CHECKING, r->from, &cents);

	r->change = r->cents;
	return err ? err : set(t, CHECKING, r->from, cents + r->cents);
}

static int payment(struct rmc_tx *t, void *arg)
{
	const struct request *r = (const struct request *)arg;
	int64_t from = 0, to = 0;
	int err = get(t, CHECKING, r->from, &from);

	if (!err && from < r->cents)
		return RMC_TX_ABORT;
	if (!err)
		err = get(t, CHECKING, r->to, &to);
	if (!err)
		err = set(t, CHECKING, r->from, from - r->cents);
	return err ? err : set(t, CHECKING, r->to, to + r->cents);
}

static int transact(struct rmc_tx *t, void *arg)
{
	struct request *r = (struct request *)arg;
	int64_t cents = 0;
	int err = get(t, SAVINGS, r->from, &cents);

	if (!err && cents + r->cents < 0)
		return RMC_TX_ABORT;
	r->change = r->cents;
	return err ? err : set(t, SAVINGS, r->from, cents + r->cents);
}

/* Overdrawing costs a dollar */
static int check(struct rmc_tx *t, void *arg)
{
	struct request *r = (struct request *)arg;
	int64_t savings = 0, checking = 0;
	int err = get(t, SAVINGS, r->from, &savings);

	if (!err)
		err = get(t, CHECKING, r->from, &checking);
	r->change = -(savings + checking < r->cents ? r->cents + 100 : r->cents);
	return err ? err : set(t, CHECKING, r->from, checking + r->change);
}

/* Both accounts are from the hot ones, or both from all */
static void draw_accounts(struct tx_client *c, struct request *r)
{
	uint64_t n = c->scale.accounts, hot = n * HOT_PERCENT / 100;

	if (hot > 1 && tx_random(c, 0, 99) < HOT_USE)
		n = hot;
	r->from = tx_place(c, tx_random(c, 0, n - 1), n);
	r->to = tx_random(c, 0, n - 2);
	r->to += r->to >= r->from;		/* another one */
	if (c->scale.local)
		do
			r->to = tx_place(c, tx_random(c, 0, n - 1), n);
		while (r->to == r->from);
}

static int one(struct tx_client *c, unsigned int *kind)
{
	static const struct {
		unsigned int percent;
		int (*fn)(struct rmc_tx *t, void *arg);
		int64_t cents;
	} mix[KINDS] = {
		[AMALGAMATE] = { 15, amalgamate, 0 }, [BALANCE] = { 15, balance, 0 },
		[DEPOSIT] = { 15, deposit, 130 }, [PAYMENT] = { 25, payment, 500 },
		[TRANSACT] = { 15, transact, 2020 }, [CHECK] = { 15, check, 500 },
	};
	unsigned int draw = (unsigned int)tx_random(c, 0, 99), k;
	struct request r = { 0 };
	uint64_t done;
	int err;

	for (k = 0; draw >= mix[k].percent; k++)
		draw -= mix[k].percent;
	draw_accounts(c, &r);
	r.cents = mix[k].cents;
	*kind = k;
	done = c->done[k];
	err = tx_execute(c, k, mix[k].fn, &r);
	if (c->done[k] != done)
		c->ledger[0] += r.change;
	return err;
}

/* Money, and what the ledger says of it */
static int sum(struct tx_client *c, int64_t *sums)
{
	struct balance b;
	uint64_t i;
	uint32_t t;
	int err;

	for (t = SAVINGS; t <= CHECKING; t++)
		for (i = 0; i < c->scale.accounts; i++) {
			if (!tx_mine(c, t, i))
				continue;
			err = tx_peek(c, t, i, &b, sizeof(b));
			if (err)
				return err;
			sums[0] += b.cents;
		}
	sums[1] += c->ledger[0];
	return 0;
}

static const char *judge(const struct tx_scale *s, const int64_t *sums, int64_t *is,
			 int64_t *expected)
{
	*is = sums[0];
	*expected = (int64_t)(2 * s->accounts * START) + sums[1];
	return *is == *expected ? NULL : "cents of all accounts";
}

const struct workload smallbank = {
	.name = "smallbank",
	.kind = { "amalgamate", "balance", "deposit_checking", "send_payment", "transact_savings",
		  "write_check" },
	.records = 8,
	.tables = tables, .load = load, .one = one, .sum = sum, .judge = judge,
};
