/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Accesses of a transaction to its own node by loads and stores (HADES table II, "local read" and
 * "local write"). Conflicts with other transactions of this process are noticed at once: whoever is
 * second squashes itself. Those with transactions of other nodes, which are not prevented by their
 * locks, are noticed by the RMC when one of the two commits.
 *
 *	read a line		write a line			looks for
 *	  filter bit?		  filter bit?			  an earlier access: done
 *				  claim its tag (tags.h)	  another's tag
 *	  read filter		  both sections of the
 *	  |			  write filter
 *	  +---- full barrier -----+
 *	  tag of another?	  tag, read filter of another?	  transactions of this process
 *	  write filter of a	  either filter of a		  transactions that commit
 *	    Locking Buffer?	    Locking Buffer?
 *	  load it		  load it into the redo buffer
 *	  acquire		  acquire
 *	  not squashed?		  not squashed?			  the RMC, since: what was loaded
 *								  may be of two states
 *
 * Nothing is stored to the segment: the RMC does it, from the redo buffer, when the transaction
 * commits.
 *
 * A thread has filter bits, in the place of those of HADES' private caches (module 1): which lines
 * the transactions that run on it have used. They may forget, and are never wrong: an entry has
 * slot and use number, and each transaction that begins or is resumed gets a new number.
 *
 * A slot is one of RMC_IOC_TX_OPEN. All functions on a transaction are called by one thread at a
 * time; different transactions, by any.
 */
#ifndef RMC_LIB_TX_LOCAL_H
#define RMC_LIB_TX_LOCAL_H

#include "../scheme/copy.h"
#include "filter.h"
#include "redo.h"
#include "tags.h"

/* Of a segment with a range of transactions (struct rmc_tx_reg), shared by all threads */
struct tx_range {
	uint8_t *base;			/* first byte of the segment, not of the range */
	struct rmc_tx_local *filters;
	const struct rmc_tx_locks *locks;
	struct tx_tags *tags;
	uint64_t free_slots;
};

#define TX_BITS_LINES	1024
#define TX_BITS_RD	1ULL
#define TX_BITS_WR	2ULL
#define TX_BITS_USES	22	/* bits of a use number */

/*
 * Filter bits of a thread, direct-mapped: line << 30 | slot << 24 | use << 2 | TX_BITS_*. Use 0 is
 * of nobody.
 */
struct tx_bits {
	uint64_t entry[TX_BITS_LINES];
	uint32_t use[RMC_TX_MAX_SLOTS];
};

enum tx_local_status {
	TX_LOCAL_OK,
	TX_LOCAL_LOCKED,	/* one commits that uses the line: call again, later */
	/* the transaction is squashed, and has to be aborted */
	TX_LOCAL_WRITTEN,	/* another one of this process has written the line */
	TX_LOCAL_USED,		/* another one of this process has read the line that it writes */
	TX_LOCAL_EVICTED,	/* a set of tags is full: the next one in the slot is by the RMC */
	TX_LOCAL_FULL,		/* the redo buffer is */
	TX_LOCAL_SQUASHED,	/* by the RMC */
};

/* A transaction, of a slot, again and again */
struct tx_local {
	/* what a filtered read needs, in one line */
	struct tx_bits *bits;		/* of the thread that runs it */
	uint64_t key;			/* of its entries there; TX_LOCAL_NO_KEY: squashed */
	const uint8_t *base;		/* of the range */
	const __u64 *marks;		/* its filters' word squashed */
	uint64_t bit;			/* of its slot */
	struct tx_range *range;
	uint32_t slot;
	enum tx_local_status squashed;	/* TX_LOCAL_OK: not yet noticed */
	int by_rmc;			/* evicted: the next one does not use tags */
	uint64_t rd[RMC_TX_FILTER_BITS / 64];	/* words that have its bit */
	uint64_t sets[TX_TAG_WORDS];
	struct tx_redo redo;
	uint64_t reads, writes, evicted;	/* first accesses to a line */
} __attribute__((aligned(64)));

#define TX_LOCAL_NO_KEY	UINT64_MAX

/* 0 or -ENOMEM. lines: that a transaction writes at most, up to TX_REDO_MAX */
int rmc_tx_local_init(struct tx_local *t, struct tx_range *range, uint32_t lines);
void rmc_tx_local_free(struct tx_local *t);
/* A slot of the range that no transaction has; -1: there is none, wait */
int rmc_tx_slot_take(struct tx_range *range);
void rmc_tx_slot_put(struct tx_range *range, uint32_t slot);
/*
 * Nobody uses the slot, and the RMC has ended the transaction that was there before, if it knew of
 * it. bits: of the calling thread
 */
void rmc_tx_local_begin(struct tx_local *t, uint32_t slot, struct tx_bits *bits);
/* A thread goes on with a transaction that another one has run, or was stopped (section VI) */
void rmc_tx_local_resume(struct tx_local *t, struct tx_bits *bits);
/* enum tx_local_status; what was read before a squash is worth nothing */
int rmc_tx_local_read(struct tx_local *t, uint64_t offset, void *data, size_t len);
int rmc_tx_local_write(struct tx_local *t, uint64_t offset, const void *data, size_t len);
/* Is it squashed? All that it has read was there together, unless it is. */
int rmc_tx_local_check(struct tx_local *t);
/* The lines that it has written, by their tags; see rmc_tx_tags_find() */
uint32_t rmc_tx_local_find(const struct tx_local *t, uint64_t *line, uint32_t max);
/*
 * It is over: the RMC has stored all of it, or will store nothing of it. Its tags and filters are
 * free for others.
 */
void rmc_tx_local_end(struct tx_local *t);

/* TX_BITS_* of a line, or more than both: the thread has to ask */
static inline uint64_t tx_bits_of(const struct tx_local *t, uint64_t line)
{
	return t->bits->entry[line % TX_BITS_LINES] ^ (line << 30 | t->key);
}

/* Has the RMC marked its slot? A bit that was set late counts, too. */
static inline int tx_local_marked(const struct tx_local *t)
{
	return (rmc_load_relaxed(t->marks) & t->bit) != 0;
}

/* After loads: pairs with the RMC, which marks a transaction before it stores what hurts it */
static inline int tx_local_alive(struct tx_local *t)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (rmc_likely(!tx_local_marked(t)))
		return TX_LOCAL_OK;
	return rmc_tx_local_check(t);
}

/* rmc_tx_local_read(), fast for a part of a line that was read before */
static inline int tx_local_read(struct tx_local *t, uint64_t offset, void *data, size_t len)
{
	if (rmc_likely(len <= TX_REDO_LINE - offset % TX_REDO_LINE &&
		       tx_bits_of(t, offset / TX_REDO_LINE) == TX_BITS_RD)) {
		copy_out(data, t->base + offset, len);
		return tx_local_alive(t);
	}
	return rmc_tx_local_read(t, offset, data, len);
}

#endif /* RMC_LIB_TX_LOCAL_H */
