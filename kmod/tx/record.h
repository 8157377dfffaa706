/* SPDX-License-Identifier: GPL-2.0 */
/* Inside a participant (part.h): records, and lines that an INTEND has announced. */
#ifndef RMC_TX_RECORD_H
#define RMC_TX_RECORD_H

#include "part.h"

/**
 * struct rmc_tx_ref - a transaction, while a call works on it
 * @g: group of its source
 * @r: record
 * @bit: of its slot
 * @slot: slot
 */
struct rmc_tx_ref {
	struct rmc_tx_group *g;
	struct rmc_tx_record *r;
	u64 bit;
	u32 slot;
};

u8 rmc_tx_record_find(struct rmc_tx_part *p, const struct rmc_txid *id, bool create,
		      struct rmc_tx_ref *t);
u8 rmc_tx_record_open(struct rmc_tx_part *p, const struct rmc_txid *id, struct rmc_tx_ref *t);
void rmc_tx_record_clear(struct rmc_tx_ref *t);
void rmc_tx_record_finish(struct rmc_tx_part *p, struct rmc_tx_ref *t, u32 gen, u8 state);
/* in lock.c, read.c and buffer.c */
void rmc_tx_buffer_take(struct rmc_tx_part *p, struct rmc_tx_ref *t);
void rmc_tx_buffer_drop(struct rmc_tx_part *p, struct rmc_tx_ref *t);
void rmc_tx_buffer_show(struct rmc_tx_part *p, const struct rmc_tx_ref *t);
bool rmc_tx_is_locked(const struct rmc_tx_part *p, const struct rmc_tx_ref *t, struct rmc_tx_hash h,
		      bool write);
bool rmc_tx_local_locked(const struct rmc_tx_part *p, const struct rmc_tx_ref *t, u64 line);
bool rmc_tx_may_buffer(const struct rmc_tx_part *p, const struct rmc_tx_ref *t);
void rmc_tx_squash_users(struct rmc_tx_part *p, const struct rmc_tx_ref *t, u64 line);
bool rmc_tx_is_being_read(const struct rmc_tx_part *p, const struct rmc_tx_ref *t);
u32 rmc_tx_place_of(const struct rmc_tx_part *p, const struct rmc_tx_ref *t);
void rmc_tx_leave_queue(struct rmc_tx_part *p, const struct rmc_tx_ref *t);
void rmc_tx_unlock(struct rmc_tx_part *p, struct rmc_tx_ref *t);

static inline bool rmc_tx_is_closed(const struct rmc_tx_record *r)
{
	return r->state == RMC_TX_COMMITTED || r->state == RMC_TX_ABORTED;
}

static inline struct rmc_tx_line *rmc_tx_line_at(struct rmc_tx_group *g, u32 index)
{
	return index ? &g->line[index - 1] : NULL;
}

static inline struct rmc_tx_hash rmc_tx_hash_of(u64 line)
{
	return rmc_tx_hash(rmc_tx_crc(line));
}

/* Has it done nothing here? */
static inline bool rmc_tx_record_is_new(const struct rmc_tx_record *r)
{
	u64 any = r->refused;
	u32 i;

	for (i = 0; i < RMC_TX_ROW; i++)
		any |= r->rd.bit[i] | r->wr.bit[i];
	return !any;
}

#endif
