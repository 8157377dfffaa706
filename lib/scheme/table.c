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

static const struct latch lock = {
	.flags	= LATCH_NAMED,
	.owner	= LOCK_OWNER,
	.acquire = rmc_lock_acquire,
	.release = rmc_word_release,
};

#define LATCH_LOCK							\
		.latch	= &lock,					\
		.pub.acquire = rmc_lock_acquire,			\
		.pub.release = rmc_word_release

static const struct latch lease = {
	.owner	= LEASE_OWNER,
	.acquire = rmc_lease_acquire,
	.release = rmc_word_release,
};

#define LATCH_LEASE							\
		.latch	= &lease,					\
		.pub.acquire = rmc_lease_acquire,			\
		.pub.release = rmc_word_release

/* --- rows --- */

static const struct scheme schemes[] = {
	{
		.pub.name = "sabre",
		.pub.title = "SABRe: checked at the destination by its RMC",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN,
		.pub.fetch = RMC_FETCH_SABRE,
		LAYOUT_HEADER,
	}, {
		.pub.name = "farm",
		.pub.title = "FaRM: a version in every cache line, compared and stripped by the reader",
		.pub.flags = RMC_SCHEME_ATOMIC,
		.pub.fetch = RMC_FETCH_READ,
		LAYOUT_LINES,
	}, {
		.pub.name = "crc64",
		.pub.title = "Pilaf: a CRC64 over the object, computed again by the reader",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN,
		.pub.fetch = RMC_FETCH_READ,
		LAYOUT_SUMMED,
	}, {
		.pub.name = "lock",
		.pub.title = "DrTM: the reader takes the object's lock by compare-and-swap",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_WRITES,
		.pub.fetch = RMC_FETCH_LOCK,
		LAYOUT_LATCHED,
		LATCH_LOCK,
	}, {
		.pub.name = "lease",
		.pub.title = "DrTM: readers share the object until a time",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_WRITES,
		.pub.fetch = RMC_FETCH_LEASE,
		LAYOUT_LATCHED,
		LATCH_LEASE,
	}, {
		.pub.name = "strip",
		.pub.title = "Catapult: FaRM's layout, compared and stripped at the destination",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_MESSAGE,
		.pub.fetch = RMC_FETCH_MESSAGE,
		LAYOUT_LINES,
	}, {
		.pub.name = "rpc",
		.pub.title = "the owner reads and answers by message",
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_MESSAGE,
		.pub.fetch = RMC_FETCH_MESSAGE,
		LAYOUT_HEADER,
	}, {
		.pub.name = "plain",
		.pub.title = "UNSAFE: a remote read and no check; for comparison",
		.pub.flags = RMC_SCHEME_CLEAN,
		.pub.fetch = RMC_FETCH_READ,
		LAYOUT_HEADER,
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
