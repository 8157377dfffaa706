/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What a scheme consists of. A row of the table (table.c) combines
 *
 *	pub	name, guarantee and functions: what programs see
 *	layout	where the parts of an object are
 *	latch	how the owner's writers exclude others; NULL: by the version alone
 *	reads	the latch of remote reads, and
 *	writes	of remote writes; NULL: none
 *	read	the steps of a remote read, which lib/sync/steps.c executes, and
 *	write	of a remote write; NULL: only the owner writes
 *
 * so that a layout, a latch or a program serves several schemes. Neither the executor nor the
 * owner's functions know a scheme by its name. What a new scheme needs beyond a row is a
 * layout, a latch or a kind of step, if there is none that it can use.
 */
#ifndef RMC_LIB_SCHEME_ROW_H
#define RMC_LIB_SCHEME_ROW_H

#include <rmc/scheme.h>

/*
 * --- layouts ---
 *
 * LAYOUT_WORDS: 16 bytes, latch and version, in one line: the first, or the last with
 * LAYOUT_FOOT. LAYOUT_TUPLE: one word, which is both. All others begin with a struct rmc_object.
 * words.c has the functions of LAYOUT_WORDS; struct rmc_scheme has those of the data in general.
 */
#define LAYOUT_WORDS	(1U << 0)
#define LAYOUT_FOOT	(1U << 1)	/* words are in the last line */
#define LAYOUT_LINES	(1U << 2)	/* a version in each line: lines.h */
#define LAYOUT_ENDS	(1U << 3)	/* the version again behind the data */
#define LAYOUT_INDEX	(1U << 4)	/* index word; data is a copy elsewhere: lib/sync/copies.c */
#define LAYOUT_APART	(1U << 5)	/* the latch is in an array of its own */
#define LAYOUT_TUPLE	(1U << 6)	/* word of <linux/rmc_switch.h>, a switch may have it */
#define LAYOUT_SERVED	(1U << 7)	/* the latch is in no memory: lib/sync/server.c */
#define LAYOUT_ELSEWHERE	(LAYOUT_APART | LAYOUT_SERVED)

#define WORDS_BYTES	16

/* Offsets in the object, with LAYOUT_WORDS from the words; 0: it has no such part. */
struct layout {
	unsigned int flags;		/* LAYOUT_* */
	uint32_t words;			/* LAYOUT_WORDS: bytes of words and sum */
	uint32_t sum_at;		/* CRC64 of the data */
	uint32_t latch_at;		/* word of the latch */
	uint64_t (*sum)(const void *data, size_t len);
};

#define WORD_LATCH	0	/* of the words */
#define WORD_VERSION	1

/* --- latches --- */

#define LATCH_NAMED	(1U << 0)	/* the word has a node: holder() */
#define LATCH_RELEASED	(1U << 1)	/* its holder releases it; without, it ends by itself */
#define LATCH_COUNTS	(1U << 2)	/* taken by fetch-and-add of one: readers of rw */
#define LATCH_ADDS	(1U << 3)	/* released by fetch-and-add */
#define LATCH_VERSION	(1U << 4)	/* the word is the version */
#define LATCH_LAZY	(1U << 5)	/* nobody ever waits for its release */
#define LATCH_RW	(1U << 6)	/* a word of rw */
#define LATCH_INDEX	(1U << 7)	/* the index word, marked */
#define LATCH_TUPLE	(1U << 8)	/* word of <linux/rmc_switch.h>; it has no name at a switch */
#define LATCH_MESSAGE	(1U << 9)	/* a server keeps it, and is asked by messages */

/* What an atomic has found instead of the word that it expected */
enum latch_found {
	LATCH_HELD,		/* the object is locked */
	LATCH_SHARED,		/* the word of another reader; it is this one's as well */
	LATCH_STALE,		/* a word that nobody holds the object with: swap that */
	LATCH_OVERFLOW,		/* more readers, or versions, than the word has room for */
};

struct latch_owner {
	int nid;		/* of the node that takes it */
	unsigned int client;	/* among those of the node */
};

/*
 * A word, 0 while it is free. The owner's writers take it by acquire() and leave it by
 * release(), or by take() and leave() where it is not at the place of struct object_word.
 * Remote nodes take it by a remote atomic.
 */
struct latch {
	const char *name;
	unsigned int flags;		/* LATCH_* */
	uint64_t owner;			/* the word while a writer of the owner holds it */
	uint64_t versions;		/* LATCH_VERSION: bits of the version beside a name */

	int (*acquire)(struct rmc_object *o, const struct rmc_scheme_params *p);
	void (*release)(struct rmc_object *o);
	int (*take)(uint64_t *word, const struct rmc_scheme_params *p);
	void (*leave)(uint64_t *word);
	uint64_t (*own)(void);		/* the word of this thread of the owner */

	/* The word of a holder; no other one of this client has this token. */
	uint64_t (*word)(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			 const struct rmc_scheme_params *p);
	enum latch_found (*found)(uint64_t word, const struct rmc_scheme_params *p);
	/* Was the word held until now? 0 or enum rmc_scheme_status */
	int (*check)(uint64_t word, const struct rmc_scheme_params *p);
	/* Does somebody hold it exclusively? */
	int (*held)(uint64_t word);
	/* Node of the holder: -1: none, -2: a writer of the owner, and its thread */
	int (*holder)(uint64_t word);
	unsigned int (*client)(uint64_t word);	/* among those of the node */
	uint32_t (*thread)(uint64_t word);
};

/* --- programs --- */

/* The part of the object that a step is about */
enum part {
	PART_IMAGE,		/* all of it, as a reader fetches it; words are taken from it */
	PART_BODY,		/* the same, but the words are those that were read before; CHECK: are they? */
	PART_WORDS,		/* latch and version; of LAYOUT_INDEX the index word */
	PART_SAME,		/* CHECK: they are as at the beginning */
	PART_READERS,		/* CHECK: no SABRe holds the object any more */
	PART_LATCH,		/* the latch's word */
	PART_DATA,		/* the data alone */
};

/*
 * The first seven go to the owner's node, and the program continues when their result has
 * come. If a step fails before STEP_USE, a latch that was taken is released, and the
 * program begins again or ends.
 */
enum step_op {
	STEP_LATCH,		/* take the latch */
	STEP_READ,		/* read the part remotely */
	STEP_SABRE,		/* read it by a SABRe */
	STEP_MESSAGE,		/* ask the owner for it */
	STEP_WRITE,		/* write all but the words of a header, or all of a footer */
	STEP_UNLATCH,		/* release the latch */
	STEP_SWAP,		/* compare-and-swap the index word */
	STEP_CHECK,		/* is the image one state of the object? is the latch held? */
	STEP_USE,		/* the data is the caller's, until it ends the hold */
	STEP_END,		/* last step of a program */
};

#define STEP_SPEC	(1U << 0)	/* behind the step before with RMC_SYNC_SPEC */
#define STEP_COMBINE	(1U << 1)	/* behind it with RMC_SYNC_COMBINE */
#define STEP_BEHIND	(1U << 2)	/* behind it: both are in flight at a time */
#define STEP_UNKNOWN	(1U << 3)	/* only if the caller has no hint */
#define STEP_UNLATCHES	(1U << 4)	/* WRITE: its last line has the free word */
#define STEP_FETCHES	(1U << 5)	/* an image, and nothing else is in flight: the usual case */
#define STEP_LAST	(1U << 6)	/* and then it is checked, if at all, and the caller's */
#define STEP_COLD	(1U << 7)	/* only if no switch has judged the image */

struct step {
	uint8_t op;		/* enum step_op */
	uint8_t part;		/* enum part */
	uint8_t flags;		/* STEP_* */
	uint8_t group;		/* compiled: operations that are posted together from here on */
};

#define PROGRAM_STEPS	10

#define ROW_LATCHES	(1U << 0)	/* another latch may be chosen */
#define ROW_LATE	(1U << 1)	/* data may be a mixture until it is validated */
#define ROW_TIMED	(1U << 2)	/* a copy is read before it may be used again, or not at all */

struct scheme {
	struct rmc_scheme pub;
	const struct layout *layout;
	const struct latch *latch, *reads, *writes;
	const struct step *read, *write;
	unsigned int row;		/* ROW_* */
	unsigned int options;		/* RMC_SYNC_* that a broken row has, order or not */
	/* the same checks with latch excl, with that in a footer, with latches apart, or of a server */
	const struct scheme *excl, *foot, *apart, *served;
};

_Static_assert(offsetof(struct scheme, pub) == 0, "scheme_of() relies on it");

/* Programs have only pointers to rows of the table. */
static inline const struct scheme *scheme_of(const struct rmc_scheme *s)
{
	return (const struct scheme *)s;
}

/* Offset of the line with the words, of an object of len bytes */
static inline size_t words_at(const struct scheme *s, size_t len)
{
	return s->layout->flags & LAYOUT_FOOT ? s->pub.image(len) - RMC_CACHE_LINE : 0;
}

static inline uint64_t *latch_word(const struct scheme *s, const struct rmc_object *o, size_t len)
{
	size_t at = s->layout->flags & LAYOUT_WORDS ? words_at(s, len) : s->layout->latch_at;

	return (uint64_t *)((uintptr_t)o + at);
}

/*
 * words.c: make an image of data, which is in its place already where the layout is clean.
 * words: latch and version of LAYOUT_WORDS; others have the version only.
 */
void rmc_encode(const struct scheme *s, uint8_t *image, const void *data, size_t len,
		const uint64_t *words);

/*
 * words.c: of an image whose lines may differ: by how much a line's version is ahead of that of
 * the words, an even number, 0 if no line has one beside such words; and the data of all lines
 */
uint64_t rmc_words_ahead(const struct layout *l, const uint8_t *image, size_t len);
void rmc_words_gather(const struct layout *l, const void *image, void *data, size_t len);

/* table.c: the owner reads; it replaces the program of a read that has failed often. */
extern const struct step rmc_by_message[];

/* lock.c */
extern const struct latch rmc_lock, rmc_lease;

/* lib/sync/latch.c */
extern const struct latch rmc_latch_rw, rmc_latch_readers, rmc_latch_excl, rmc_latch_version;
extern const struct latch rmc_latch_mark, rmc_latch_tuple;

/* lib/sync/message.c */
extern const struct latch rmc_latch_nic, rmc_latch_nic_readers;

#endif /* RMC_LIB_SCHEME_ROW_H */
