/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The table of schemes: row.h says what a row is. */
#include "row.h"
#include "scheme.h"

/* --- layouts: offsets, and the functions for them --- */

static size_t clean_image(size_t len)
{
	return sizeof(struct rmc_object) + len;
}

static void clean_store(struct rmc_object *o, const void *data, size_t len)
{
	copy_in(o + 1, data, len);
}

/* | struct rmc_object | data | */
static const struct layout header = { 0 };
#define LAYOUT_HEADER							\
		.layout	= &header,					\
		.pub.data_at = sizeof(struct rmc_object),		\
		.pub.image = clean_image,				\
		.pub.store = clean_store

/* lines.h */
static const struct layout lines = { 0 };
#define LAYOUT_LINES							\
		.layout	= &lines,					\
		.pub.image = rmc_farm_image,				\
		.pub.store = rmc_farm_store,				\
		.pub.check = rmc_farm_check,				\
		.pub.copy = rmc_farm_copy

/* | struct rmc_object | CRC64 | 0 | data | */
static const struct layout summed = { .sum_at = WORD_AT };
#define LAYOUT_SUMMED							\
		.layout	= &summed,					\
		.pub.data_at = sizeof(struct object_word),		\
		.pub.image = rmc_word_image,				\
		.pub.store = rmc_crc_store,				\
		.pub.check = rmc_crc_check

/* | struct rmc_object | latch | 0 | data | */
static const struct layout latched = { .latch_at = WORD_AT };
#define LAYOUT_LATCHED							\
		.layout	= &latched,					\
		.pub.data_at = sizeof(struct object_word),		\
		.pub.image = rmc_word_image,				\
		.pub.store = rmc_word_store

/* --- latches, of lock.c --- */

#define LATCH_LOCK							\
		.latch	= &rmc_lock,					\
		.pub.acquire = rmc_lock_acquire,			\
		.pub.release = rmc_word_release

#define LATCH_LEASE							\
		.latch	= &rmc_lease,					\
		.pub.acquire = rmc_lease_acquire,			\
		.pub.release = rmc_word_release

/* --- programs --- */

static const struct step by_sabre[] = {
	{ STEP_SABRE,	PART_IMAGE },
	{ STEP_USE,	PART_DATA },
};

static const struct step by_read[] = {
	{ STEP_READ,	PART_IMAGE },
	{ STEP_USE,	PART_DATA },
};

static const struct step by_checked_read[] = {
	{ STEP_READ,	PART_IMAGE },
	{ STEP_CHECK,	PART_IMAGE },
	{ STEP_USE,	PART_DATA },
};

static const struct step under_lock[] = {
	{ STEP_LATCH,	PART_LATCH },
	{ STEP_READ,	PART_IMAGE },
	{ STEP_UNLATCH,	PART_LATCH },
	{ STEP_USE,	PART_DATA },
};

static const struct step under_lease[] = {
	{ STEP_LATCH,	PART_LATCH },
	{ STEP_READ,	PART_IMAGE },
	{ STEP_CHECK,	PART_LATCH },
	{ STEP_USE,	PART_DATA },
};

const struct step rmc_by_message[] = {
	{ STEP_MESSAGE,	PART_DATA },
	{ STEP_USE,	PART_DATA },
};

/* --- rows --- */

static const struct scheme schemes[] = {
	{
		.pub.name = "sabre",
		.pub.title = "SABRe: checked at the destination by its RMC",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN,
		.pub.fetch = RMC_FETCH_SABRE,
		LAYOUT_HEADER,
		.read	= by_sabre,
	}, {
		.pub.name = "farm",
		.pub.title = "FaRM: a version in every cache line, compared and stripped by the reader",
		.pub.flags = RMC_SCHEME_ATOMIC,
		.pub.fetch = RMC_FETCH_READ,
		LAYOUT_LINES,
		.read	= by_checked_read,
	}, {
		.pub.name = "crc64",
		.pub.title = "Pilaf: a CRC64 over the object, computed again by the reader",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN,
		.pub.fetch = RMC_FETCH_READ,
		LAYOUT_SUMMED,
		.read	= by_checked_read,
	}, {
		.pub.name = "lock",
		.pub.title = "DrTM: the reader takes the object's lock by compare-and-swap",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_WRITES,
		.pub.fetch = RMC_FETCH_LOCK,
		LAYOUT_LATCHED,
		LATCH_LOCK,
		.read	= under_lock,
	}, {
		.pub.name = "lease",
		.pub.title = "DrTM: readers share the object until a time",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_WRITES,
		.pub.fetch = RMC_FETCH_LEASE,
		LAYOUT_LATCHED,
		LATCH_LEASE,
		.read	= under_lease,
	}, {
		.pub.name = "strip",
		.pub.title = "Catapult: FaRM's layout, compared and stripped at the destination",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_MESSAGE,
		.pub.fetch = RMC_FETCH_MESSAGE,
		LAYOUT_LINES,
		.read	= rmc_by_message,
	}, {
		.pub.name = "rpc",
		.pub.title = "the owner reads and answers by message",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_MESSAGE,
		.pub.fetch = RMC_FETCH_MESSAGE,
		LAYOUT_HEADER,
		.read	= rmc_by_message,
	}, {
		.pub.name = "plain",
		.pub.title = "UNSAFE: a remote read and no check; for comparison",
		.pub.flags = RMC_SCHEME_CLEAN,
		.pub.fetch = RMC_FETCH_READ,
		LAYOUT_HEADER,
		.read	= by_read,
	},
};

#define SCHEMES		(sizeof(schemes) / sizeof(schemes[0]))

const struct rmc_scheme *rmc_scheme_number(unsigned int i)
{
	return i < SCHEMES ? &schemes[i].pub : NULL;
}

const struct rmc_scheme *rmc_scheme_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < SCHEMES; i++)
		if (!strcmp(schemes[i].pub.name, name))
			return &schemes[i].pub;
	return NULL;
}
