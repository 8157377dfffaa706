/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What a scheme consists of. A row of the table (table.c) combines
 *
 *	pub	name, guarantee (RMC_SCHEME_ATOMIC) and functions: what programs see
 *	layout	where the parts of an object are
 *	latch	how readers and writers exclude each other; NULL: they do not
 *
 * so that a layout or a latch serves several schemes.
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

/*
 * A word in the object, 0 while it is free. The owner's writers take it by acquire() and
 * leave it by release().
 */
struct latch {
	unsigned int flags;		/* LATCH_* */
	uint64_t owner;			/* the word while a writer of the owner holds it */

	int (*acquire)(struct rmc_object *o, const struct rmc_scheme_params *p);
	void (*release)(struct rmc_object *o);
};

struct scheme {
	struct rmc_scheme pub;
	const struct layout *layout;
	const struct latch *latch;
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

#endif /* RMC_LIB_SCHEME_ROW_H */
