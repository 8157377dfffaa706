/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * An accessor of blocks in plain memory (lib/ds/block.h). It counts calls; the call of a given
 * number restarts, fails, or first runs another operation, over another accessor of the same
 * memory; or the client dies there. A write may fail, and be stored later. With local_atomic_ops an
 * operation that fails, or restarts, leaves no trace; no other one runs meanwhile.
 */
#ifndef LOCAL_BLOCKS_H
#define LOCAL_BLOCKS_H

#include <setjmp.h>
#include <stdlib.h>
#include "../../lib/ds/block.h"
#include "../tap.h"

#define LOCAL_AT	192		/* address of block 0: nothing may rely on a number */
#define LOCAL_BROKEN	7		/* a status of the accessor */

struct local_block {
	uint64_t version;
	void *latched;			/* by this accessor */
};

struct local_memory {
	size_t bytes;
	uint64_t fixed, blocks;
	uint8_t *data;
	struct local_block *state;
	uint64_t *free, frees;		/* numbers; the last one is allocated next */
};

struct local {
	struct rmc_blocks base;
	struct local_memory *m;
	uint8_t *buffer;
	unsigned int used;		/* buffers: bits */
	uint64_t held[RMC_BLOCK_HOLDS];	/* address, by buffer */
	bool parts;			/* data is NULL */
	bool hides;			/* a latch does not show if nothing was written */
	bool stores;			/* the call that fails has done what it was to do */
	unsigned int attempts;		/* 0: without end */
	unsigned int calls, ends;
	unsigned int restart_at, fail_at, run_at;
	void (*run)(void);
	jmp_buf *dead;			/* from the call dies_at: all that it held stays latched */
	unsigned int dies_at;
	unsigned int later_at, left;	/* number of the leave() of what was written; so far */
	uint64_t later;			/* address of a block that is stored later, with */
	uint8_t *later_data;
	struct local_memory undo;		/* local_atomic_ops: as the operation began */
	/* of all since the beginning */
	unsigned int reads, valids, writes, restarts, most_held;
};

static inline struct local *local_of(const struct rmc_blocks *a)
{
	return (struct local *)((char *)(uintptr_t)a - offsetof(struct local, base));
}

static inline uint64_t local_at(const struct local_memory *m, uint64_t n)
{
	return LOCAL_AT + n * m->bytes;
}

static inline uint8_t *local_data(const struct local_memory *m, uint64_t at)
{
	return m->data + (at - LOCAL_AT);
}

static inline struct local_block *local_state(const struct local_memory *m, uint64_t at)
{
	return &m->state[(at - LOCAL_AT) / m->bytes];
}

/* Of each call: 0, or what it is to return */
static int local_step(struct local *l)
{
	void (*run)(void) = l->run;

	l->calls++;
	if (l->calls == l->dies_at && l->dead)
		longjmp(*l->dead, 1);
	if (l->calls == l->run_at && run) {
		l->run = NULL;
		run();
	}
	if (l->calls == l->restart_at)
		return RMC_BLOCK_RESTART;
	return l->calls == l->fail_at ? LOCAL_BROKEN : 0;
}

/* The state of all blocks, to begin from it again */
static inline void local_copy_memory(struct local_memory *to, const struct local_memory *from)
{
	memcpy(to->data, from->data, from->blocks * from->bytes);
	memcpy(to->state, from->state, from->blocks * sizeof(*from->state));
	memcpy(to->free, from->free, from->blocks * sizeof(*from->free));
	to->frees = from->frees;
}

static int local_begin(struct rmc_blocks *a, unsigned int restarts)
{
	struct local *l = local_of(a);

	CHECK_EQ(l->used, 0);
	l->restarts += !!restarts;
	if (a->ops->atomic && restarts)
		local_copy_memory(l->m, &l->undo);
	else if (a->ops->atomic)
		local_copy_memory(&l->undo, l->m);
	return l->attempts && restarts >= l->attempts ? -EAGAIN : 0;
}

static int local_end_operation(struct rmc_blocks *a, int result)
{
	struct local *l = local_of(a);

	CHECK_EQ(l->used, 0);
	l->ends++;
	if (a->ops->atomic && result && result != -ENOENT && result != -EEXIST)
		local_copy_memory(l->m, &l->undo);
	return result;
}

static uint64_t local_fixed_at(const struct rmc_blocks *a, uint64_t n)
{
	CHECK(n < a->fixed);
	return local_at(local_of(a)->m, n);
}

static void local_take(struct local *l, uint64_t at, enum rmc_block_mode mode,
		       struct rmc_block_hold *h)
{
	unsigned int held;

	h->buffer = __builtin_ffs((int)~l->used) - 1;
	CHECK(h->buffer < RMC_BLOCK_HOLDS);
	l->used |= 1U << h->buffer;
	held = (unsigned int)__builtin_popcount(l->used);
	if (held > l->most_held)
		l->most_held = held;
	h->at = at;
	l->held[h->buffer] = at;
	h->mode = mode;
	h->word = local_state(l->m, at)->version;
	h->dirty = h->fresh = false;
	h->data = l->buffer + (size_t)h->buffer * l->base.bytes;
	memcpy(h->data, local_data(l->m, at), l->base.bytes);
	if (l->parts)
		h->data = NULL;
	if (mode != RMC_BLOCK_READ)
		local_state(l->m, at)->latched = l;
}

static int local_enter(struct rmc_blocks *a, uint64_t at, enum rmc_block_mode mode,
		       struct rmc_block_hold *h)
{
	struct local *l = local_of(a);
	int err = local_step(l), i;

	CHECK(!h->at);
	if (err)
		return err;
	for (i = 0; i < RMC_BLOCK_HOLDS; i++)
		if (l->used >> i & 1 && l->held[i] == at)
			return -EPROTO;
	if (at < LOCAL_AT || (at - LOCAL_AT) % l->base.bytes ||
	    (at - LOCAL_AT) / l->base.bytes >= l->m->blocks)
		return -EPROTO;
	l->reads++;
	if (local_state(l->m, at)->latched)
		return RMC_BLOCK_RESTART;
	local_take(l, at, mode, h);
	return 0;
}

static int local_valid(struct rmc_blocks *a, struct rmc_block_hold *h)
{
	struct local *l = local_of(a);
	int err = local_step(l);

	CHECK(h->at);
	l->valids++;
	if (err || h->mode != RMC_BLOCK_READ)
		return err;
	return local_state(l->m, h->at)->version == h->word && !local_state(l->m, h->at)->latched ?
	       0 : RMC_BLOCK_RESTART;
}

static int local_upgrade(struct rmc_blocks *a, struct rmc_block_hold *h)
{
	struct local *l = local_of(a);
	int err;

	CHECK(h->at);
	/* others may share it */
	CHECK(h->mode != RMC_BLOCK_LATCH);
	if (h->mode != RMC_BLOCK_READ)
		return 0;
	err = local_step(l);
	if (err)
		return err;
	if (local_state(l->m, h->at)->version != h->word || local_state(l->m, h->at)->latched)
		return RMC_BLOCK_RESTART;
	h->mode = RMC_BLOCK_WRITE;
	local_state(l->m, h->at)->latched = l;
	return 0;
}

static uint8_t *local_copy(const struct local *l, const struct rmc_block_hold *h)
{
	return l->buffer + (size_t)h->buffer * l->base.bytes;
}

static void local_free_buffer(struct local *l, struct rmc_block_hold *h)
{
	l->used &= ~(1U << h->buffer);
	h->at = 0;
	h->data = NULL;
}

static void local_end(struct local *l, struct rmc_block_hold *h)
{
	if (h->mode != RMC_BLOCK_READ) {
		CHECK(local_state(l->m, h->at)->latched == l);
		local_state(l->m, h->at)->latched = NULL;
		if (h->dirty || !l->hides)
			local_state(l->m, h->at)->version++;
	}
	local_free_buffer(l, h);
}

/* What is on its way arrives, and a dead client's latches are released: nobody has these words */
static inline void local_settle(struct local *l)
{
	uint64_t i;

	if (l->later) {
		memcpy(local_data(l->m, l->later), l->later_data, l->base.bytes);
		local_state(l->m, l->later)->latched = NULL;
		local_state(l->m, l->later)->version++;
	}
	l->later = 0;
	if (!l->dead)
		return;
	for (i = 0; i < l->m->blocks; i++) {
		if (l->m->state[i].latched != l)
			continue;
		l->m->state[i].latched = NULL;
		l->m->state[i].version++;
	}
	l->used = 0;
	l->dead = NULL;
}

/* A READ that restarts was not one state; a WRITE that fails is not stored, or is. */
static int local_leave(struct rmc_blocks *a, struct rmc_block_hold *h)
{
	struct local *l = local_of(a);
	int err = local_step(l);

	CHECK(h->at);
	if (h->mode != RMC_BLOCK_READ && err == RMC_BLOCK_RESTART)
		err = 0;
	if (!err && h->mode == RMC_BLOCK_WRITE && h->dirty && ++l->left == l->later_at) {
		l->later = h->at;
		memcpy(l->later_data, local_copy(l, h), l->base.bytes);
		local_free_buffer(l, h);
		return LOCAL_BROKEN;
	}
	if (h->mode == RMC_BLOCK_WRITE && h->dirty && (!err || l->stores)) {
		memcpy(local_data(l->m, h->at), local_copy(l, h), l->base.bytes);
		l->writes++;
	} else if (h->mode == RMC_BLOCK_WRITE) {
		h->dirty = false;
	}
	local_end(l, h);
	return err;
}

static void local_cancel(struct rmc_blocks *a, struct rmc_block_hold *h)
{
	struct local *l = local_of(a);
	uint64_t at = h->at;

	if (!at)
		return;
	h->dirty = false;
	local_end(l, h);
	if (h->fresh)
		l->m->free[l->m->frees++] = (at - LOCAL_AT) / l->base.bytes;
}

static int local_read(struct rmc_blocks *a, struct rmc_block_hold *h, size_t offset, size_t len,
		      const void **data)
{
	struct local *l = local_of(a);

	CHECK(l->parts && h->at && offset + len <= l->base.bytes);
	*data = local_copy(l, h) + offset;
	return local_step(l);
}

static int local_write(struct rmc_blocks *a, struct rmc_block_hold *h, size_t offset,
		       const void *data, size_t len)
{
	struct local *l = local_of(a);

	CHECK(l->parts && h->mode == RMC_BLOCK_WRITE && offset + len <= l->base.bytes);
	memmove(local_copy(l, h) + offset, data, len);
	h->dirty = true;
	return local_step(l);
}

static int local_alloc(struct rmc_blocks *a, uint64_t beside, struct rmc_block_hold *h)
{
	struct local *l = local_of(a);
	int err = local_step(l);

	(void)beside;
	CHECK(!h->at);
	if (err)
		return err;
	if (!l->m->frees)
		return -ENOSPC;
	local_take(l, local_at(l->m, l->m->free[--l->m->frees]), RMC_BLOCK_WRITE, h);
	memset(local_copy(l, h), 0, l->base.bytes);
	h->fresh = h->dirty = true;
	return 0;
}

static int local_retire(struct rmc_blocks *a, struct rmc_block_hold *h)
{
	static const uint16_t kind = RMC_BLOCK_FREE;
	struct local *l = local_of(a);
	int err = local_step(l);

	CHECK(h->mode == RMC_BLOCK_WRITE && !h->fresh);
	CHECK((h->at - LOCAL_AT) / l->base.bytes >= l->m->fixed);
	if (err)
		return err;
	memset(local_data(l->m, h->at), 0xee, l->base.bytes);
	memcpy(local_data(l->m, h->at), &kind, sizeof(kind));
	/* allocated again at once, as it may be */
	l->m->free[l->m->frees++] = (h->at - LOCAL_AT) / l->base.bytes;
	h->dirty = true;
	local_end(l, h);
	return 0;
}

#define LOCAL_OPS \
	.begin	= local_begin, \
	.end	= local_end_operation, \
	.fixed_at = local_fixed_at, \
	.enter	= local_enter, \
	.valid	= local_valid, \
	.upgrade = local_upgrade, \
	.leave	= local_leave, \
	.cancel	= local_cancel, \
	.read	= local_read, \
	.write	= local_write, \
	.alloc	= local_alloc, \
	.retire	= local_retire,

static const struct rmc_block_ops local_ops = { LOCAL_OPS };
static const struct rmc_block_ops local_atomic_ops __attribute__((unused)) = {
	.atomic	= true,
	LOCAL_OPS
};

static inline void local_memory_init(struct local_memory *m, size_t bytes, uint64_t fixed,
				     uint64_t blocks)
{
	uint64_t i;

	m->bytes = bytes;
	m->fixed = fixed;
	m->blocks = blocks;
	m->data = (uint8_t *)calloc(blocks, bytes);
	m->state = (struct local_block *)calloc(blocks, sizeof(*m->state));
	m->free = (uint64_t *)calloc(blocks, sizeof(*m->free));
	if (!m->data || !m->state || !m->free)
		exit(1);
	m->frees = 0;
	for (i = blocks; i > fixed; i--)
		m->free[m->frees++] = i - 1;
}

static inline void local_memory_free(struct local_memory *m)
{
	free(m->data);
	free(m->state);
	free(m->free);
}

static inline void local_init(struct local *l, struct local_memory *m, uint32_t structure)
{
	memset(l, 0, sizeof(*l));
	l->base.ops = &local_ops;
	l->base.bytes = m->bytes;
	l->base.fixed = m->fixed;
	l->base.structure = structure;
	l->m = m;
	local_memory_init(&l->undo, m->bytes, m->fixed, m->blocks);
	l->buffer = (uint8_t *)calloc(RMC_BLOCK_HOLDS, m->bytes);
	l->later_data = (uint8_t *)malloc(m->bytes);
	if (!l->buffer || !l->later_data)
		exit(1);
}

static inline void local_free(struct local *l)
{
	CHECK_EQ(l->used, 0);
	free(l->buffer);
	free(l->later_data);
	local_memory_free(&l->undo);
}

#endif /* LOCAL_BLOCKS_H */
