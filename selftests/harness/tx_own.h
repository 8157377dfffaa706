/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A node of transactions for tests of local accesses: a participant (kmod/tx/part.h) over a
 * segment, the tables of its process (lib/tx/local.h), and what a coordinator does for a transaction that is
 * only there. Calls of the participant are one at a time, as by an RRPP's worker.
 */
#ifndef TX_OWN_H
#define TX_OWN_H

#include <pthread.h>
#include <string.h>
#include "kmod/tx/part.h"
#include "lib/tx/local.h"
#include "hooks.h"

#define OWN_PAGE	4096
#define OWN_PAGES	512
#define OWN_BYTES	(OWN_PAGES * OWN_PAGE)
#define OWN_LINES	(OWN_BYTES / RMC_LINE)
#define OWN_SELF	7
#define OWN_RANGES	64	/* of a transaction of these tests */

struct own_node {
	struct rmc_tx_part *p;
	struct rmc_mem mem;
	void *chunk[OWN_PAGES];
	u8 *memory;
	struct rmc_tx_local local ____cacheline_aligned;
	struct rmc_tx_locks locks ____cacheline_aligned;
	struct tx_tags *tags;
	struct tx_range range;
	pthread_mutex_t rrpp;
	u32 gen[RMC_TX_SOURCES][RMC_TX_SLOTS];
};

static inline void own_begin(struct own_node *n)
{
	struct rmc_tx_limits limits = {
		.start = 0, .length = OWN_BYTES, .self = OWN_SELF, .groups = 4,
	};
	u32 i;

	memset(n, 0, sizeof(*n));
	n->memory = aligned_alloc(OWN_PAGE, OWN_BYTES);
	memset(n->memory, 0, OWN_BYTES);
	for (i = 0; i < OWN_PAGES; i++)
		n->chunk[i] = n->memory + i * OWN_PAGE;
	n->mem.length = OWN_BYTES;
	n->mem.chunk = n->chunk;
	rmc_mem_chunks(&n->mem, 12);
	n->tags = aligned_alloc(64, sizeof(*n->tags));
	memset(n->tags, 0, sizeof(*n->tags));
	n->range = (struct tx_range) {
		.base = n->memory, .filters = &n->local, .locks = &n->locks, .tags = n->tags,
		.free_slots = U64_MAX,
	};
	pthread_mutex_init(&n->rrpp, NULL);
	n->p = rmc_tx_part_new(&limits, &n->mem, &n->local, &n->locks);
}

/* true: nothing is left of any transaction */
static inline bool own_end(struct own_node *n)
{
	u64 left = 0;
	size_t i;

	n->local.squashed = 0;
	for (i = 0; i < sizeof(n->local) / 8; i++)
		left |= ((u64 *)&n->local)[i];
	for (i = 0; i < sizeof(*n->tags) / 8; i++)
		left |= ((u64 *)n->tags)[i];
	left |= n->p->locks | n->locks.mask;
	rmc_tx_part_free(n->p);
	pthread_mutex_destroy(&n->rrpp);
	free(n->tags);
	free(n->memory);
	return !left;
}

/* ---- messages ---- */

/* A transaction that commits: its name, and what it writes */
struct own_commit {
	struct rmc_txid id;
	struct rmc_tx_range range[OWN_RANGES];
	u32 count;
};

static inline struct rmc_txid own_tx(struct own_node *n, u32 source, u32 slot)
{
	return (struct rmc_txid) { .source = source, .slot = slot, .gen = n->gen[source][slot] };
}

static inline u8 own_access(struct own_node *n, u32 source, u32 slot, enum rmc_tx_access kind,
			    u64 offset, void *data, u32 len)
{
	struct rmc_txid id = own_tx(n, source, slot);
	u8 status;

	pthread_mutex_lock(&n->rrpp);
	status = rmc_tx_part_access(n->p, &id, kind, offset, len);
	if (!status)
		copy_out(data, n->memory + offset, len);
	pthread_mutex_unlock(&n->rrpp);
	return status;
}

static inline u8 own_intend(struct own_node *n, struct own_commit *c, u32 source, u32 slot)
{
	u8 status;

	c->id = own_tx(n, source, slot);
	pthread_mutex_lock(&n->rrpp);
	status = rmc_tx_part_intend(n->p, &c->id, 0, c->range, c->count);
	pthread_mutex_unlock(&n->rrpp);
	return status;
}

static inline u8 own_data(struct own_node *n, const struct own_commit *c, u64 offset,
			  const u8 *data, u32 len)
{
	u8 status;

	pthread_mutex_lock(&n->rrpp);
	status = rmc_tx_part_data(n->p, &c->id, offset, data, len);
	pthread_mutex_unlock(&n->rrpp);
	return status;
}

/* After an ack */
static inline u8 own_close(struct own_node *n, struct own_commit *c)
{
	u8 status;

	pthread_mutex_lock(&n->rrpp);
	status = rmc_tx_part_close(n->p, &c->id, RMC_TX_LOCAL, true);
	pthread_mutex_unlock(&n->rrpp);
	n->gen[c->id.source][c->id.slot]++;
	return status;
}

static inline void own_abort(struct own_node *n, u32 source, u32 slot)
{
	struct rmc_txid id = own_tx(n, source, slot);

	pthread_mutex_lock(&n->rrpp);
	rmc_tx_part_close(n->p, &id, RMC_TX_LOCAL, false);
	pthread_mutex_unlock(&n->rrpp);
	n->gen[source][slot]++;
}

/* ---- the commit of a local transaction ---- */

static inline u8 own_intend_local(struct own_node *n, struct own_commit *c, struct tx_local *t)
{
	struct tx_redo_run run = { 0 };

	rmc_tx_redo_sort(&t->redo);
	for (c->count = 0; rmc_tx_redo_next(&t->redo, &run); c->count++)
		c->range[c->count] = (struct rmc_tx_range) { run.offset, run.length };
	return own_intend(n, c, OWN_SELF, t->slot);
}

static inline void own_close_local(struct own_node *n, struct own_commit *c, struct tx_local *t)
{
	struct tx_redo_run run = { 0 };
	u8 data[OWN_RANGES * RMC_LINE];

	while (rmc_tx_redo_next(&t->redo, &run)) {
		rmc_tx_redo_copy(&t->redo, &run, data);
		own_data(n, c, run.offset, data, run.length);
	}
	own_close(n, c);
	rmc_tx_local_end(t);
}

static inline void own_abort_local(struct own_node *n, struct tx_local *t)
{
	rmc_tx_local_end(t);
	own_abort(n, OWN_SELF, t->slot);
}

/* All of it: true if it has committed */
static inline bool own_commit_local(struct own_node *n, struct tx_local *t)
{
	struct own_commit c;

	if (rmc_tx_local_check(t) || own_intend_local(n, &c, t)) {
		own_abort_local(n, t);
		return false;
	}
	own_close_local(n, &c, t);
	return true;
}

#endif
