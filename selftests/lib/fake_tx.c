/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Transactions that fake RMCs commit: see fake_tx.h. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <linux/rmc_tx.h>
#include "fake_lines.h"
#include "fake_tx.h"
#include "../../lib/tx/filter.h"
#include "../../lib/tx/hades.h"

static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;

static uint64_t name_of(unsigned int home, uint64_t offset)
{
	return offset / LINE * CLUSTER_NODES + home;
}

static int uses(const struct fake_tx *t, uint64_t name)
{
	uint32_t i;

	for (i = 0; i < t->n; i++)
		if (t->line[i] == name)
			return 1;
	return 0;
}

static void note(struct fake_tx *t, uint64_t name)
{
	if (uses(t, name))
		return;
	if (!t->line)
		t->line = (uint64_t *)malloc(FAKE_TX_LINES * sizeof(*t->line));
	if (t->n == FAKE_TX_LINES)
		abort();
	t->line[t->n++] = name;
}

static void over(struct cluster_node *n, struct fake_tx *t)
{
	t->busy = n->cluster->busy;
	t->open = 0;
	t->n = 0;
	t->squashed = 0;
}

/* The slot of an access, which begins a transaction */
static int begin(struct fake_tx *t)
{
	if (!t->open && t->busy) {
		t->busy--;
		return RMC_S_BUSY;
	}
	t->open = 1;
	return RMC_S_OK;
}

int fake_tx_access(struct cluster_node *n, const struct fake_op *op)
{
	unsigned int slot = op->length >> RMC_TX_LENGTH_SHIFT;
	uint64_t length = op->length & ((1U << RMC_TX_LENGTH_SHIFT) - 1), at, run;
	struct cluster_node *home = &n->cluster->node[op->nid];
	uint8_t *lbuf = (uint8_t *)(uintptr_t)op->lbuf;
	struct fake_tx *t = &n->tx[slot];
	int status;

	if (!length || length > RMC_TX_MAX_ACCESS)
		return RMC_S_BAD_LENGTH;
	if (op->offset < LINE || op->offset > home->team.len ||
	    length > home->team.len - op->offset)
		return RMC_S_OUT_OF_RANGE;
	pthread_mutex_lock(&all);
	status = begin(t);
	for (at = op->offset; at < op->offset + length && !status; at += run) {
		run = LINE - at % LINE;
		if (run > op->offset + length - at)
			run = op->offset + length - at;
		if (t->squashed >> op->nid & 1) {
			status = RMC_S_TX_SQUASHED;
			break;
		}
		note(t, name_of(op->nid, at));
		read_line(lbuf + (at - op->offset), home->segment + at, run);
		pthread_mutex_unlock(&all);
		if (n->cluster->yields)
			sched_yield();
		pthread_mutex_lock(&all);
	}
	pthread_mutex_unlock(&all);
	return status;
}

static uint64_t padded(uint32_t length)
{
	return (length + 7ULL) & ~7ULL;
}

/* As the RMC refuses it */
static int check(const struct cluster *c, const struct rmc_tx_commit *record, uint32_t length)
{
	const struct rmc_tx_item *item = (const struct rmc_tx_item *)(record + 1);
	uint64_t bytes = 0;
	uint32_t i, k;

	if (length < sizeof(*record) || record->count > RMC_TX_MAX_RANGES ||
	    record->flags & ~RMC_TX_LOADED)
		return RMC_S_BAD_LENGTH;
	for (i = 0; i < record->count; i++) {
		if ((int)item[i].nid >= c->nodes || item[i].flags)
			return RMC_S_BAD_NODE;
		if (!item[i].length || item[i].offset < LINE ||
		    item[i].offset + item[i].length > c->node[item[i].nid].team.len)
			return RMC_S_OUT_OF_RANGE;
		for (k = 0; k < i; k++)
			if (item[k].nid == item[i].nid &&
			    item[k].offset < item[i].offset + item[i].length &&
			    item[i].offset < item[k].offset + item[k].length)
				return RMC_S_BAD_LENGTH;
		bytes += padded(item[i].length);
	}
	if (bytes > RMC_TX_MAX_BYTES)
		return RMC_S_BAD_LENGTH;
	return length == sizeof(*record) + record->count * sizeof(*item) + bytes ? RMC_S_OK :
	       RMC_S_BAD_LENGTH;
}

static void squash_users(struct cluster *c, const struct fake_tx *by, unsigned int home,
			 uint64_t name)
{
	struct cluster_node *n;
	struct fake_tx *t;

	for (n = c->node; n < c->node + c->nodes; n++)
		for (t = n->tx; t < n->tx + RMC_TX_MAX_SLOTS; t++)
			if (t != by && t->open && uses(t, name))
				t->squashed |= 1ULL << home;
}

/* Lock a line for the home's own transactions, by the only Locking Buffer; the mask comes last */
static void lock_line(struct rmc_tx_locks *k, uint64_t line)
{
	struct tx_hash h = tx_hash(line);

	if (!k)
		return;
	__atomic_store_n(&k->wr[h.rd[0]], 1, __ATOMIC_RELAXED);
	__atomic_store_n(&k->wr[h.rd[1]], 1, __ATOMIC_RELAXED);
	/* pairs with tx_bits_barrier(): a bit in a filter, then the look at this one */
	__atomic_exchange_n(&k->mask, 1, __ATOMIC_SEQ_CST);
}

static void unlock_lines(struct rmc_tx_locks *k)
{
	uint32_t i;

	if (!k || !k->mask)
		return;
	__atomic_exchange_n(&k->mask, 0, __ATOMIC_SEQ_CST);
	for (i = 0; i < RMC_TX_FILTER_BITS; i++)
		__atomic_store_n(&k->wr[i], 0, __ATOMIC_RELEASE);
}

/*
 * The home's own transactions that use a line by loads and stores, but the committing one: their
 * process hears of it before the line changes.
 */
static void squash_local(struct cluster *c, const struct fake_tx *by, unsigned int home,
			 uint64_t line)
{
	struct rmc_tx_local *l = rmc_tx_hades_filters(c->node[home].db);
	struct fake_tx *t = c->node[home].tx;
	struct tx_hash h = tx_hash(line);
	uint64_t users, i;

	if (!l)
		return;
	users = tx_filter_readers(l, &h) | tx_filter_writers(l, &h);
	for (i = 0; i < RMC_TX_MAX_SLOTS; i++) {
		if (!(users >> i & 1) || &t[i] == by)
			continue;
		t[i].squashed |= 1ULL << home;
		__atomic_fetch_or(&l->squashed, 1ULL << i, __ATOMIC_SEQ_CST);
	}
}

static struct rmc_tx_locks *locks_of(struct cluster *c, int home)
{
	return (struct rmc_tx_locks *)(uintptr_t)rmc_tx_hades_locks(c->node[home].db);
}

/* Whoever uses what it writes is squashed, or has to wait */
static void lock_and_squash(struct cluster *c, const struct fake_tx *t,
			    const struct rmc_tx_commit *record)
{
	const struct rmc_tx_item *item = (const struct rmc_tx_item *)(record + 1);
	uint32_t i;
	uint64_t at;

	for (i = 0; i < record->count; i++, item++)
		for (at = item->offset / LINE * LINE; at < item->offset + item->length;
		     at += LINE) {
			lock_line(locks_of(c, item->nid), at / LINE);
			squash_users(c, t, item->nid, name_of(item->nid, at));
			squash_local(c, t, item->nid, at / LINE);
		}
}

static void store(struct cluster *c, const struct rmc_tx_commit *record)
{
	const struct rmc_tx_item *item = (const struct rmc_tx_item *)(record + 1);
	const uint8_t *data = (const uint8_t *)(item + record->count);
	uint32_t i, k;

	for (i = 0; i < record->count; i++, item++) {
		uint8_t *to = c->node[item->nid].segment + item->offset;

		for (k = 0; k < item->length; k++)
			__atomic_store_n(to + k, data[k], __ATOMIC_RELAXED);
		data += padded(item->length);
	}
}

int fake_tx_commit(struct cluster_node *n, const struct fake_op *op)
{
	const struct rmc_tx_commit *record = (const struct rmc_tx_commit *)(uintptr_t)op->lbuf;
	struct fake_tx *t = &n->tx[op->nid];
	int status, i;

	pthread_mutex_lock(&all);
	status = check(n->cluster, record, op->length);
	if (!status && t->squashed)
		status = RMC_S_TX_SQUASHED;
	if (!status) {
		lock_and_squash(n->cluster, t, record);
		store(n->cluster, record);
		for (i = 0; i < n->cluster->nodes; i++)
			unlock_lines(locks_of(n->cluster, i));
	}
	over(n, t);
	pthread_mutex_unlock(&all);
	return status;
}

void fake_tx_abort(struct cluster_node *n, const struct fake_op *op)
{
	pthread_mutex_lock(&all);
	over(n, &n->tx[op->nid]);
	pthread_mutex_unlock(&all);
}

void fake_tx_free(struct cluster_node *n)
{
	unsigned int i;

	for (i = 0; i < RMC_TX_MAX_SLOTS; i++)
		free(n->tx[i].line);
	free(n->tx);
}
