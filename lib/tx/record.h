/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A record with its version, as SW-Impl has it in memory (HADES, figure 1), in FaRM's geometry
 * (../scheme/lines.h):
 *
 *	line 0	| word, 64 b | incarnation, 32 b | 0 | 48 B of data |
 *	line i	| version, low 16 b | 62 B of data                   |
 *
 *	word	63       53 52       32 31              1    0
 *		+----------+-----------+-----------------+------+
 *		| owner + 1| attempt   | version         | lock |
 *		+----------+-----------+-----------------+------+
 *
 * A compare-and-swap of eight bytes takes the lock and names its owner at once, so an owner that
 * dies leaves no lock without a name. Every committed write makes the version two larger; with it
 * the lines' versions, whose bit 0 is the lock, too. An owner is a node id; 0 while nobody has
 * the lock. A record whose incarnation is odd is present.
 *
 * An attempt is a number that an owner gives to each commit. So two locks of a node differ even if
 * the version is the same, and a compare-and-swap that unlocks one, late or repeated, leaves the
 * other. The number wraps, and so does the version.
 *
 * Memory of zeros is a record that is absent, and has version 0.
 */
#ifndef RMC_LIB_TX_RECORD_H
#define RMC_LIB_TX_RECORD_H

#include "../scheme/lines.h"

struct record {
	uint64_t word;
	uint32_t incarnation;
	uint32_t zero;
};

_Static_assert(sizeof(struct record) == sizeof(struct rmc_object), "line 0 is that of lines.h");

#define RECORD_LOCK		1ULL
#define RECORD_ATTEMPT_SHIFT	32
#define RECORD_OWNER_SHIFT	53
#define RECORD_VERSION		(((1ULL << RECORD_ATTEMPT_SHIFT) - 1) & ~RECORD_LOCK)
#define RECORD_ATTEMPT		((1U << (RECORD_OWNER_SHIFT - RECORD_ATTEMPT_SHIFT)) - 1)
#define RECORD_STEP		2	/* from version to version */
/* In the place of a node id: lines of two versions, which nobody can complete */
#define RECORD_TORN		0x7fe

_Static_assert(RMC_WQE_NID_MASK < RECORD_TORN, "a node id fits");

static inline size_t record_bytes(size_t len)
{
	return (lines_bytes(len) + LINE - 1) & ~(size_t)(LINE - 1);
}

static inline int record_locked(uint64_t word)
{
	return (int)(word & RECORD_LOCK);
}

static inline uint64_t record_lock_word(uint64_t version, int owner, uint32_t attempt)
{
	return ((uint64_t)owner + 1) << RECORD_OWNER_SHIFT |
	       (uint64_t)(attempt & RECORD_ATTEMPT) << RECORD_ATTEMPT_SHIFT |
	       (version & RECORD_VERSION) | RECORD_LOCK;
}

static inline uint32_t record_attempt(uint64_t word)
{
	return (uint32_t)(word >> RECORD_ATTEMPT_SHIFT) & RECORD_ATTEMPT;
}

/* -1: nobody */
static inline int record_owner(uint64_t word)
{
	return (int)(word >> RECORD_OWNER_SHIFT) - 1;
}

static inline uint64_t record_version(uint64_t word)
{
	return word & RECORD_VERSION;
}

static inline uint64_t record_next(uint64_t version)
{
	return (version + RECORD_STEP) & RECORD_VERSION;
}

static inline int record_present(uint32_t incarnation)
{
	return (int)(incarnation & 1);
}

/* An image that was read remotely: 0, RMC_SCHEME_LOCKED or RMC_SCHEME_TORN */
static inline int record_strip(const void *image, void *data, size_t len, struct record *r)
{
	memcpy(r, image, sizeof(*r));
	if (rmc_unlikely(record_locked(r->word)))
		return RMC_SCHEME_LOCKED;
	return lines_strip_image((const uint8_t *)image, (uint8_t *)data, len, (uint16_t)r->word);
}

/*
 * A record in this process's memory, which the RMC may be writing for another node. It stores the
 * first word of each line last: so line 0 may show the old word beside new data, and only the
 * same word, before and after, says that the data are of its version. A lock that was taken and
 * given up meanwhile does no harm.
 */
static inline int record_copy(const struct record *from, void *data, size_t len, struct record *r)
{
	int err;

	/* pairs with the release of the word in record_store(), and in the RMC */
	r->word = rmc_load_acquire(&from->word);
	if (rmc_unlikely(record_locked(r->word)))
		return RMC_SCHEME_LOCKED;
	r->incarnation = rmc_load_relaxed(&from->incarnation);
	r->zero = 0;
	err = lines_strip_object((const uint8_t *)from, (uint8_t *)data, len, (uint16_t)r->word);
	/* the data before the second load of the word */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return err || rmc_load_relaxed(&from->word) != r->word ? RMC_SCHEME_TORN : 0;
}

/* True if the lock was taken, on a record of this process */
static inline int record_swap(struct record *r, uint64_t *word, uint64_t desired)
{
	return __atomic_compare_exchange_n(&r->word, word, desired, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* Write and unlock a record of this process, which has it locked */
static inline void record_store(struct record *r, const void *data, size_t len, uint64_t version,
				uint32_t incarnation)
{
	uint16_t odd = (uint16_t)(rmc_load_relaxed(&r->word));

	/* the lock before the data; pairs with the fence of record_copy() */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	lines_store((uint8_t *)r, data, len, odd);
	rmc_store_relaxed(&r->incarnation, incarnation);
	rmc_store_release(&r->word, version);
}

/* The image of the unlocked record of a version: what one remote write stores */
static inline void record_image(void *image, const void *data, size_t len, uint64_t version,
				uint32_t incarnation)
{
	struct record r = { version, incarnation, 0 };

	lines_store((uint8_t *)image, data, len, (uint16_t)(version - 1));
	memcpy(image, &r, sizeof(r));
}

/* Are all lines of a locked record of its version? */
static inline int record_whole(const struct record *r, size_t len)
{
	const uint8_t *line = (const uint8_t *)r;
	uint16_t version = (uint16_t)(rmc_load_relaxed(&r->word) & RECORD_VERSION);
	size_t lines = record_bytes(len) / LINE, i;

	for (i = 1; i < lines; i++)
		if (rmc_load_acquire((const uint16_t *)(line + i * LINE)) != version)
			return 0;
	return 1;
}

#endif /* RMC_LIB_TX_RECORD_H */
