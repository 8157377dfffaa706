/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What a scheme consists of. A row of the table (table.c) combines
 *
 *	pub	name, guarantee (RMC_SCHEME_ATOMIC) and functions: what programs see
 *	layout	where the parts of an object are
 *	latch	how readers and writers exclude each other; NULL: they do not
 *	read	the steps of a read, which steps.c executes
 *
 * so that a layout, a latch or a program serves several schemes. Neither the reader nor the
 * owner's functions know a scheme by its name. What a new scheme needs beyond a row is a
 * layout, a latch or a kind of step, if there is none that it can use.
 */
#ifndef RMC_LIB_SCHEME_ROW_H
#define RMC_LIB_SCHEME_ROW_H

#include <rmc/scheme.h>

/* Offsets in the object; 0: it has no such part. struct rmc_scheme has those of the data. */
struct layout {
	uint32_t sum_at;		/* CRC64 of the data */
	uint32_t latch_at;		/* word of the latch */
};

#define LATCH_NAMED	(1U << 0)	/* the word has the reader's node: lock_word() */
#define LATCH_RELEASED	(1U << 1)	/* readers release it; without, it ends by itself */

/* What a reader's compare-and-swap has found instead of the word that it expected */
enum latch_found {
	LATCH_HELD,		/* the object is locked */
	LATCH_SHARED,		/* the word of another reader; it is this one's as well */
	LATCH_STALE,		/* a word that nobody holds the object with: swap that */
};

/*
 * A word in the object, 0 while it is free. The owner's writers take it by acquire() and
 * leave it by release(). Readers take it by a remote compare-and-swap.
 */
struct latch {
	unsigned int flags;		/* LATCH_* */
	uint64_t owner;			/* the word while a writer of the owner holds it */

	int (*acquire)(struct rmc_object *o, const struct rmc_scheme_params *p);
	void (*release)(struct rmc_object *o);

	/* The word of a reader of node nid; no other read of it has this token. */
	uint64_t (*word)(int nid, uint64_t token, const struct rmc_scheme_params *p);
	enum latch_found (*found)(uint64_t word, const struct rmc_scheme_params *p);
	/* Was the word held until now? 0 or enum rmc_scheme_status */
	int (*check)(uint64_t word, const struct rmc_scheme_params *p);
};

/* The part of the object that a step is about */
enum part {
	PART_IMAGE,		/* all of it, as a reader fetches it */
	PART_LATCH,		/* its latch's word */
	PART_DATA,		/* the data alone */
};

/*
 * The first five go to the owner's node, and the program continues when their result has
 * come; nothing waits for an unlatch. If a step fails, a latch that was taken is released,
 * and the program begins again or the read ends.
 */
enum step_op {
	STEP_LATCH,		/* take the latch: compare-and-swap */
	STEP_READ,		/* read the part remotely */
	STEP_SABRE,		/* read it by a SABRe */
	STEP_MESSAGE,		/* ask the owner for it */
	STEP_UNLATCH,		/* release the latch: compare-and-swap */
	STEP_CHECK,		/* is the image one state of the object? is the latch held? */
	STEP_USE,		/* the data is the caller's: last step of a program */
};

struct step {
	uint8_t op;		/* enum step_op */
	uint8_t part;		/* enum part */
};

struct scheme {
	struct rmc_scheme pub;
	const struct layout *layout;
	const struct latch *latch;
	const struct step *read;
};

_Static_assert(offsetof(struct scheme, pub) == 0, "scheme_of() relies on it");

/* Programs have only pointers to rows of the table. */
static inline const struct scheme *scheme_of(const struct rmc_scheme *s)
{
	return (const struct scheme *)s;
}

static inline uint64_t *latch_word(const struct scheme *s, const struct rmc_object *o)
{
	return (uint64_t *)((uintptr_t)o + s->layout->latch_at);
}

/* table.c: the owner reads; it replaces the program of a read that has failed often. */
extern const struct step rmc_by_message[];

/* lock.c */
extern const struct latch rmc_lock, rmc_lease;

#endif /* RMC_LIB_SCHEME_ROW_H */
