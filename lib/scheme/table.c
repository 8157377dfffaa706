/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The table of schemes: row.h says what a row is. */
#include <linux/rmc_switch.h>
#include <rmc/sync.h>
#include "words.h"
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
#define BEHIND_HEADER							\
		.layout	= &header,					\
		.pub.data_at = sizeof(struct rmc_object),		\
		.pub.image = clean_image,				\
		.pub.store = clean_store

/* lines.h */
static const struct layout lines = { .flags = LAYOUT_LINES };
#define IN_LINES							\
		.layout	= &lines,					\
		.pub.image = rmc_farm_image,				\
		.pub.store = rmc_farm_store,				\
		.pub.check = rmc_farm_check,				\
		.pub.copy = rmc_farm_copy

/* | struct rmc_object | CRC64 | 0 | data | */
static const struct layout summed = { .sum_at = WORD_AT };
#define BEHIND_SUM							\
		.layout	= &summed,					\
		.pub.data_at = sizeof(struct object_word),		\
		.pub.image = rmc_word_image,				\
		.pub.store = rmc_crc_store,				\
		.pub.check = rmc_crc_check

/* | struct rmc_object | latch | 0 | data | */
static const struct layout latched = { .latch_at = WORD_AT };
#define BEHIND_LATCH							\
		.layout	= &latched,					\
		.pub.data_at = sizeof(struct object_word),		\
		.pub.image = rmc_word_image,				\
		.pub.store = rmc_word_store

/* words.c */
static const struct layout words = { .flags = LAYOUT_WORDS, .words = WORDS_BYTES };
static const struct layout words_foot = { LAYOUT_WORDS | LAYOUT_FOOT, .words = WORDS_BYTES };
static const struct layout words_apart = { LAYOUT_WORDS | LAYOUT_APART, .words = WORDS_BYTES };
static const struct layout words_served = { LAYOUT_WORDS | LAYOUT_SERVED, .words = WORDS_BYTES };
static const struct layout words_lines = { LAYOUT_WORDS | LAYOUT_LINES, .words = WORDS_BYTES };
static const struct layout words_lines_foot = {
	LAYOUT_WORDS | LAYOUT_LINES | LAYOUT_FOOT, .words = WORDS_BYTES
};
static const struct layout words_lines_served = {
	LAYOUT_WORDS | LAYOUT_LINES | LAYOUT_SERVED, .words = WORDS_BYTES
};
static const struct layout words_ends = { LAYOUT_WORDS | LAYOUT_ENDS, .words = WORDS_BYTES };
#define SUMMED	.words = 2 * WORDS_BYTES, .sum_at = WORDS_BYTES
static const struct layout words_sum = { LAYOUT_WORDS, SUMMED, .sum = rmc_crc_sum };
static const struct layout words_sum_foot = {
	LAYOUT_WORDS | LAYOUT_FOOT, SUMMED, .sum = rmc_crc_sum
};
static const struct layout words_sum_served = {
	LAYOUT_WORDS | LAYOUT_SERVED, SUMMED, .sum = rmc_crc_sum
};
static const struct layout words_tables = { LAYOUT_WORDS, SUMMED, .sum = rmc_crc_sum_by_tables };
static const struct layout words_tables_foot = {
	LAYOUT_WORDS | LAYOUT_FOOT, SUMMED, .sum = rmc_crc_sum_by_tables
};

WORDS_FUNCTIONS(words)
WORDS_FUNCTIONS(words_foot)
WORDS_FUNCTIONS(words_apart)
WORDS_FUNCTIONS(words_served)
WORDS_FUNCTIONS(words_lines)
WORDS_FUNCTIONS(words_lines_foot)
WORDS_FUNCTIONS(words_lines_served)
WORDS_FUNCTIONS(words_ends)
WORDS_FUNCTIONS(words_sum)
WORDS_FUNCTIONS(words_sum_foot)
WORDS_FUNCTIONS(words_sum_served)
WORDS_FUNCTIONS(words_tables)
WORDS_FUNCTIONS(words_tables_foot)

/* | index word | 56 B | home copy |: lib/sync/copies.c */
static const struct layout indexed = { LAYOUT_WORDS | LAYOUT_INDEX, .words = WORDS_BYTES };

static size_t indexed_image(size_t len)
{
	return RMC_CACHE_LINE + WORDS_BYTES + len;
}

/* rmc_scheme_write() refuses before it stores */
static void indexed_store(struct rmc_object *o, const void *data, size_t len)
{
	copy_in((uint8_t *)o + RMC_CACHE_LINE + WORDS_BYTES, data, len);
}

#define BEHIND_INDEX							\
		.layout	= &indexed,					\
		.pub.data_at = WORDS_BYTES,				\
		.pub.image = indexed_image,				\
		.pub.store = indexed_store

/* | word of <linux/rmc_switch.h> | data | */
static const struct layout tuple = { .flags = LAYOUT_TUPLE };

static size_t tuple_image(size_t len)
{
	return sizeof(uint64_t) + len;
}

/* rmc_scheme_write() refuses before it stores */
static void tuple_store(struct rmc_object *o, const void *data, size_t len)
{
	copy_in((uint8_t *)o + sizeof(uint64_t), data, len);
}

/* One image alone is a state of the tuple if a switch says so. */
static int tuple_check(const void *image, void *clean, size_t len)
{
	uint64_t word;

	(void)clean;
	(void)len;
	memcpy(&word, image, sizeof(word));
	return word == RMC_SWITCH_FAILED || !(word & RMC_SWITCH_VERIFIED) ? RMC_SCHEME_TORN : 0;
}

#define BEHIND_WORD							\
		.layout	= &tuple,					\
		.pub.data_at = sizeof(uint64_t),			\
		.pub.image = tuple_image,				\
		.pub.store = tuple_store,				\
		.pub.check = tuple_check

/* --- latches --- */

#define LATCH_LOCK							\
		.latch	= &rmc_lock,					\
		.reads	= &rmc_lock,					\
		.pub.acquire = rmc_lock_acquire,			\
		.pub.release = rmc_word_release,			\
		.pub.latch = "lock"

#define LATCH_LEASE							\
		.latch	= &rmc_lease,					\
		.reads	= &rmc_lease,					\
		.pub.acquire = rmc_lease_acquire,			\
		.pub.release = rmc_word_release,			\
		.pub.latch = "lease"

/* readers take none */
#define LATCH_IN_VERSION						\
		.writes	= &rmc_latch_version,				\
		.pub.latch = "version"

#define LATCH_WRITERS							\
		.latch	= &rmc_latch_excl,				\
		.writes	= &rmc_latch_excl,				\
		.pub.latch = "excl"

#define LATCH_EXCLUSIVE							\
		.latch	= &rmc_latch_excl,				\
		.reads	= &rmc_latch_excl,				\
		.writes	= &rmc_latch_excl,				\
		.pub.latch = "excl"

#define LATCH_SHARED_BY_READERS						\
		.latch	= &rmc_latch_rw,				\
		.reads	= &rmc_latch_readers,				\
		.writes	= &rmc_latch_rw,				\
		.pub.latch = "rw"

/* --- programs of reads --- */

/* Groups are counted when the program is compiled. */
#define STEP(OP, PART, FLAGS)	{ STEP_##OP, PART_##PART, FLAGS, 0 }

#define VALIDATE							\
	STEP(READ, WORDS, 0),						\
	STEP(CHECK, SAME, 0)
#define END	STEP(END, DATA, 0)
#define USE	STEP(USE, DATA, 0)

static const struct step by_sabre[] = {
	STEP(SABRE, IMAGE, 0),
	USE, END
};

static const struct step by_read[] = {
	STEP(READ, IMAGE, 0),
	USE, END
};

/* the words of these layouts are not compared before: an image that is whole is enough */
static const struct step by_checked_read[] = {
	STEP(READ, IMAGE, 0),
	STEP(CHECK, IMAGE, 0),
	USE, VALIDATE, END
};

static const struct step optimistic[] = {
	STEP(READ, IMAGE, 0),
	STEP(CHECK, WORDS, 0),
	STEP(CHECK, IMAGE, 0),
	USE, VALIDATE, END
};

static const struct step relaxed[] = {
	STEP(READ, IMAGE, 0),
	STEP(CHECK, WORDS, 0),
	STEP(CHECK, IMAGE, 0),
	USE, END
};

static const struct step words_first[] = {
	STEP(READ, WORDS, 0),
	STEP(CHECK, WORDS, 0),
	STEP(READ, BODY, 0),
	STEP(CHECK, IMAGE, 0),
	USE, VALIDATE, END
};

/* Broken: nothing compares the version after the data. */
static const struct step words_first_only[] = {
	STEP(READ, WORDS, 0),
	STEP(CHECK, WORDS, 0),
	STEP(READ, BODY, 0),
	STEP(CHECK, IMAGE, 0),
	USE, END
};

static const struct step words_beside[] = {
	STEP(READ, WORDS, 0),
	STEP(READ, BODY, STEP_BEHIND),
	STEP(CHECK, WORDS, 0),
	STEP(CHECK, IMAGE, 0),
	USE, VALIDATE, END
};

static const struct step under_latch[] = {
	STEP(LATCH, LATCH, 0),
	STEP(READ, IMAGE, STEP_SPEC),
	STEP(CHECK, IMAGE, 0),
	USE,
	STEP(UNLATCH, LATCH, 0),
	END
};

/* nobody waits for the release */
static const struct step under_lock[] = {
	STEP(LATCH, LATCH, 0),
	STEP(READ, IMAGE, 0),
	USE,
	STEP(UNLATCH, LATCH, 0),
	END
};

static const struct step under_lease[] = {
	STEP(LATCH, LATCH, 0),
	STEP(READ, IMAGE, 0),
	STEP(CHECK, LATCH, 0),
	USE,
	STEP(CHECK, LATCH, 0),
	END
};

static const struct step by_copy[] = {
	STEP(READ, WORDS, STEP_UNKNOWN),
	STEP(CHECK, WORDS, STEP_UNKNOWN),
	STEP(READ, BODY, 0),
	STEP(CHECK, IMAGE, 0),
	USE, VALIDATE, END
};

static const struct step by_copy_relaxed[] = {
	STEP(READ, WORDS, STEP_UNKNOWN),
	STEP(CHECK, WORDS, STEP_UNKNOWN),
	STEP(READ, BODY, 0),
	STEP(CHECK, IMAGE, 0),
	USE, END
};

/*
 * Either a switch has judged the image, or it is read again: then the word of the first one, which
 * is validated at the end, was read before the data.
 */
static const struct step by_tuple[] = {
	STEP(READ, IMAGE, 0),
	STEP(CHECK, IMAGE, 0),
	STEP(READ, BODY, STEP_COLD),
	STEP(CHECK, BODY, STEP_COLD),
	USE, VALIDATE, END
};

/* Broken: a switch's verdict is not looked at. */
static const struct step by_tuple_unchecked[] = {
	STEP(READ, IMAGE, 0),
	USE, END
};

const struct step rmc_by_message[] = {
	STEP(MESSAGE, DATA, 0),
	USE, END
};

/* --- programs of writes --- */

static const struct step write_latched[] = {
	STEP(LATCH, LATCH, 0),
	STEP(READ, IMAGE, STEP_SPEC),
	STEP(CHECK, IMAGE, 0),
	USE,
	STEP(WRITE, IMAGE, 0),
	STEP(UNLATCH, LATCH, STEP_COMBINE),
	END
};

static const struct step write_anyhow[] = {
	STEP(READ, IMAGE, 0),
	USE,
	STEP(WRITE, IMAGE, 0),
	END
};

static const struct step write_copy[] = {
	STEP(READ, WORDS, STEP_UNKNOWN),
	STEP(CHECK, WORDS, STEP_UNKNOWN),
	STEP(READ, BODY, 0),
	STEP(CHECK, IMAGE, 0),
	USE,
	STEP(WRITE, IMAGE, 0),
	STEP(SWAP, WORDS, 0),
	END
};

static const struct step write_marked[] = {
	STEP(READ, WORDS, STEP_UNKNOWN),
	STEP(CHECK, WORDS, STEP_UNKNOWN),
	STEP(LATCH, LATCH, 0),
	STEP(READ, BODY, 0),
	STEP(CHECK, IMAGE, 0),
	USE,
	STEP(WRITE, IMAGE, 0),
	STEP(SWAP, WORDS, 0),
	END
};

/* A switch unlatches with the write. */
static const struct step write_tuple[] = {
	STEP(READ, WORDS, STEP_UNKNOWN),
	STEP(CHECK, WORDS, STEP_UNKNOWN),
	STEP(LATCH, LATCH, 0),
	STEP(READ, IMAGE, STEP_SPEC),
	STEP(CHECK, IMAGE, 0),
	USE,
	STEP(WRITE, IMAGE, 0),
	STEP(UNLATCH, LATCH, STEP_COLD),
	END
};

/* --- rows --- */

#define ATOMIC		.pub.guarantee = RMC_GUARANTEE_ATOMIC
#define PROBABLE	.pub.guarantee = RMC_GUARANTEE_PROBABLE
#define BROKEN		.pub.guarantee = RMC_GUARANTEE_BROKEN
#define CLEAN(AT)	.pub.flags = RMC_SCHEME_CLEAN, .pub.data_at = (AT)
#define CLEAN_ATOMIC(AT)						\
		.pub.flags = RMC_SCHEME_CLEAN | RMC_SCHEME_ATOMIC, .pub.data_at = (AT)
#define NAMED(NAME, TITLE, PAPERS, SYSTEMS)				\
		.pub.name = NAME, .pub.title = TITLE,			\
		.pub.papers = PAPERS, .pub.systems = SYSTEMS
#define PROGRAMS(READ, WRITE)						\
		.read	= READ,						\
		.write	= WRITE

/* What a row becomes with another latch or with write-unlatch; programs stay the row's. */
#define OTHER(NAME, FLAGS, LAYOUT, LATCHES)				\
static const struct scheme NAME = {					\
		WORDS_ROW(LAYOUT), FLAGS, LATCHES			\
}

OTHER(excl_foot, .pub.name = "excl", words_foot, LATCH_EXCLUSIVE);
OTHER(words_excl_foot, .pub.name = "versioning", words_foot, LATCH_WRITERS);
OTHER(farm_excl, .pub.name = "farm", words_lines, LATCH_WRITERS);
OTHER(farm_foot, .pub.name = "farm", words_lines_foot, LATCH_WRITERS);
OTHER(sum_foot, .pub.name = "crc64", words_sum_foot, LATCH_WRITERS);
OTHER(tables_foot, .pub.name = "crc64-tables", words_tables_foot, LATCH_WRITERS);
static const struct scheme sum_excl = {
		WORDS_ROW(words_sum), .pub.name = "crc64", CLEAN(2 * WORDS_BYTES), LATCH_WRITERS,
};
/* the latch is not in the object, so the owner's functions cannot take it */
static const struct scheme rw_apart = {
		WORDS_ROW(words_apart), .pub.name = "rw", CLEAN(WORDS_BYTES),
		.reads	= &rmc_latch_readers,
		.writes	= &rmc_latch_rw,
		.pub.latch = "rw",
};
/* nor is it here; readers of the relaxed rows take none */
#define LATCH_SERVED							\
		.writes	= &rmc_latch_nic,				\
		.pub.latch = "nic-rpc"
static const struct scheme rw_served = {
		WORDS_ROW(words_served), .pub.name = "rw", CLEAN(WORDS_BYTES), LATCH_SERVED,
		.reads	= &rmc_latch_nic_readers,
};
static const struct scheme excl_served = {
		WORDS_ROW(words_served), .pub.name = "excl", CLEAN(WORDS_BYTES), LATCH_SERVED,
		.reads	= &rmc_latch_nic,
};
static const struct scheme lines_served = {
		WORDS_ROW(words_lines_served), .pub.name = "relaxed-farm", .pub.flags = 0, LATCH_SERVED,
};
static const struct scheme sum_served = {
		WORDS_ROW(words_sum_served), .pub.name = "relaxed-crc64", CLEAN(2 * WORDS_BYTES),
		LATCH_SERVED,
};
static const struct scheme excl_row = {
		WORDS_ROW(words), .pub.name = "excl", CLEAN(WORDS_BYTES), LATCH_EXCLUSIVE,
};

#define WRITE_UNLATCH	(RMC_SYNC_SPEC | RMC_SYNC_WRITE_UNLATCH)

/* The first ones have objects that begin with a struct rmc_object: rmc_scheme_number() */
#define OBJECT_ROWS	8

static const struct scheme schemes[] = {
	{
		NAMED("sabre", "SABRe: checked at the destination by its RMC", "M16 3-5", NULL),
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN,
		.pub.fetch = RMC_FETCH_SABRE,
		BEHIND_HEADER, LATCH_IN_VERSION, ATOMIC,
		PROGRAMS(by_sabre, write_latched),
	}, {
		NAMED("farm", "FaRM: a version in every cache line, compared and stripped by the reader",
		      "M16 2.1; R25 4.3", "FaRM, XStore"),
		.pub.flags = RMC_SCHEME_ATOMIC,
		.pub.fetch = RMC_FETCH_READ,
		IN_LINES, LATCH_IN_VERSION, ATOMIC,
		PROGRAMS(by_checked_read, write_latched),
		.row	= ROW_LATCHES,
		.excl	= &farm_excl,
		.foot	= &farm_foot,
	}, {
		NAMED("crc64", "Pilaf: a CRC64 over the object, computed again by the reader",
		      "M16 2.1; R25 4.3", "CliqueMap, RACE, Pilaf, Clover"),
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN,
		.pub.fetch = RMC_FETCH_READ,
		BEHIND_SUM, LATCH_IN_VERSION, PROBABLE,
		PROGRAMS(by_checked_read, write_latched),
		.row	= ROW_LATCHES,
		.excl	= &sum_excl,
		.foot	= &sum_foot,
	}, {
		NAMED("lock", "DrTM: the reader takes the object's lock by compare-and-swap",
		      "M16 2.1", "DrTM"),
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_WRITES,
		.pub.fetch = RMC_FETCH_LOCK,
		.pub.needs = RMC_NEEDS_OWNER,
		BEHIND_LATCH, LATCH_LOCK, ATOMIC,
		PROGRAMS(under_lock, NULL),
	}, {
		NAMED("lease", "DrTM: readers share the object until a time", "M16 2.1", "DrTM"),
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_WRITES,
		.pub.fetch = RMC_FETCH_LEASE,
		.pub.needs = RMC_NEEDS_OWNER,
		BEHIND_LATCH, LATCH_LEASE, ATOMIC,
		PROGRAMS(under_lease, NULL),
	}, {
		NAMED("strip", "Catapult: FaRM's layout, compared and stripped at the destination",
		      "M16 2.1", "Catapult"),
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_MESSAGE,
		.pub.fetch = RMC_FETCH_MESSAGE,
		.pub.needs = RMC_NEEDS_RPC | RMC_NEEDS_OWNER,
		IN_LINES, ATOMIC,
		PROGRAMS(rmc_by_message, NULL),
	}, {
		NAMED("rpc", "the owner reads and answers by message", "M16 2.1", NULL),
		.pub.flags = RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_MESSAGE,
		.pub.fetch = RMC_FETCH_MESSAGE,
		.pub.needs = RMC_NEEDS_RPC | RMC_NEEDS_OWNER,
		BEHIND_HEADER, ATOMIC,
		PROGRAMS(rmc_by_message, NULL),
	}, {
		NAMED("plain", "UNSAFE: a remote read and no check; for comparison", "M16 7", NULL),
		.pub.flags = RMC_SCHEME_CLEAN,
		.pub.fetch = RMC_FETCH_READ,
		BEHIND_HEADER, LATCH_IN_VERSION, BROKEN,
		PROGRAMS(by_read, write_latched),
	}, {
		NAMED("rw", "readers share a latch, writers exclude all", "R25 3",
		      "PolarDB Serverless, DrTM, NAM-DB"),
		WORDS_ROW(words), CLEAN_ATOMIC(WORDS_BYTES), LATCH_SHARED_BY_READERS, ATOMIC,
		PROGRAMS(under_latch, write_latched),
		.row	= ROW_LATCHES,
		.excl	= &excl_row,
		.foot	= &excl_foot,
		.apart	= &rw_apart,
		.served	= &rw_served,
	}, {
		NAMED("excl", "readers and writers exclude each other by compare-and-swap", "R25 3.1",
		      "RCC, Narravula et al."),
		WORDS_ROW(words), CLEAN_ATOMIC(WORDS_BYTES), LATCH_EXCLUSIVE, ATOMIC,
		PROGRAMS(under_latch, write_latched),
		.row	= ROW_LATCHES,
		.excl	= &excl_row,
		.foot	= &excl_foot,
		.served	= &excl_served,
	}, {
		NAMED("versioning", "latch and version are read before the data and again at the end",
		      "R25 4.3", "Ziegler et al."),
		WORDS_ROW(words), CLEAN_ATOMIC(WORDS_BYTES), LATCH_WRITERS, ATOMIC,
		PROGRAMS(words_first, write_latched),
		.row	= ROW_LATCHES | ROW_LATE,
		.foot	= &words_excl_foot,
	}, {
		NAMED("crc64-tables", "as crc64, without carry-less multiplication", "R25 4.3", NULL),
		WORDS_ROW(words_tables), CLEAN_ATOMIC(2 * WORDS_BYTES), LATCH_WRITERS, PROBABLE,
		PROGRAMS(optimistic, write_latched),
		.row	= ROW_LATCHES,
		.foot	= &tables_foot,
	}, {
		NAMED("out-of-place", "copies are never changed; an index word names the newest",
		      "R25 6", "Nessie, AIFM, HydraDB"),
		BEHIND_INDEX, .pub.flags = RMC_SCHEME_CLEAN | RMC_SCHEME_ATOMIC, ATOMIC,
		.pub.needs = RMC_NEEDS_POOL,
		PROGRAMS(by_copy, write_copy),
		.row	= ROW_LATE,
	}, {
		NAMED("mark-out-of-place", "as out-of-place; a writer marks the index word first",
		      "R25 6", NULL),
		BEHIND_INDEX, .pub.flags = RMC_SCHEME_CLEAN | RMC_SCHEME_ATOMIC, ATOMIC,
		.writes	= &rmc_latch_mark,
		.pub.latch = "mark",
		.pub.needs = RMC_NEEDS_POOL,
		PROGRAMS(by_copy, write_marked),
		.row	= ROW_LATE,
	}, {
		NAMED("relaxed-farm", "farm without the validation at the end", "R25 6", NULL),
		WORDS_ROW(words_lines), .pub.flags = RMC_SCHEME_ATOMIC, LATCH_WRITERS, ATOMIC,
		PROGRAMS(relaxed, write_latched),
		.row	= ROW_LATCHES,
		.foot	= &farm_foot,
		.served	= &lines_served,
	}, {
		NAMED("relaxed-crc64", "crc64 without the validation at the end", "R25 6", NULL),
		WORDS_ROW(words_sum), CLEAN_ATOMIC(2 * WORDS_BYTES), LATCH_WRITERS, PROBABLE,
		PROGRAMS(relaxed, write_latched),
		.row	= ROW_LATCHES,
		.foot	= &sum_foot,
		.served	= &sum_served,
	}, {
		NAMED("relaxed-out-of-place", "out-of-place without the validation: may be an old state",
		      "R25 6", NULL),
		BEHIND_INDEX, .pub.flags = RMC_SCHEME_CLEAN | RMC_SCHEME_ATOMIC, ATOMIC,
		.pub.needs = RMC_NEEDS_POOL,
		PROGRAMS(by_copy_relaxed, write_copy),
		.row	= ROW_TIMED,
	}, {
		NAMED("switch", "a switch has version and latch, and judges each read", "R25 5.5", NULL),
		BEHIND_WORD, .pub.flags = RMC_SCHEME_CLEAN | RMC_SCHEME_ATOMIC, ATOMIC,
		.writes	= &rmc_latch_tuple,
		.pub.latch = "switch",
		PROGRAMS(by_tuple, write_tuple),
		.row	= ROW_LATE,
	}, {
		NAMED("relaxed-versioning", "UNSAFE: nothing reads the version after the data",
		      "R25 6", NULL),
		WORDS_ROW(words), CLEAN(WORDS_BYTES), LATCH_WRITERS, BROKEN,
		PROGRAMS(words_first_only, write_latched),
		.row	= ROW_LATCHES,
		.foot	= &words_excl_foot,
	}, {
		NAMED("unsync", "UNSAFE: no latch and no check; the upper bound", "R25 3.4", NULL),
		WORDS_ROW(words), CLEAN(WORDS_BYTES), BROKEN,
		.pub.latch = "none",
		PROGRAMS(by_read, write_anyhow),
	}, {
		NAMED("naive", "UNSAFE: one read of all, and the version again at the end", "R25 4.1",
		      NULL),
		WORDS_ROW(words), CLEAN(WORDS_BYTES), LATCH_WRITERS, BROKEN,
		PROGRAMS(optimistic, write_latched),
		.row	= ROW_LATCHES,
		.foot	= &words_excl_foot,
	}, {
		NAMED("bookend", "UNSAFE: the version before and behind the data, in one read", "R25 6",
		      "Cell, Sherman"),
		WORDS_ROW(words_ends), CLEAN(WORDS_BYTES), LATCH_WRITERS, BROKEN,
		PROGRAMS(optimistic, write_latched),
	}, {
		NAMED("overlapped", "UNSAFE: versioning whose first two reads are posted together",
		      "R25 7", NULL),
		WORDS_ROW(words), CLEAN(WORDS_BYTES), LATCH_WRITERS, BROKEN,
		PROGRAMS(words_beside, write_latched),
		.row	= ROW_LATCHES,
		.foot	= &words_excl_foot,
	}, {
		NAMED("mark-in-place", "UNSAFE: a writer's mark in the object is all that is checked",
		      "R25 6", "RS-store, FORD"),
		WORDS_ROW(words), CLEAN(WORDS_BYTES), LATCH_WRITERS, BROKEN,
		PROGRAMS(relaxed, write_latched),
	}, {
		NAMED("broken-rw-write-unlatch", "UNSAFE: a write over a word that readers add to",
		      "R25 3.3", NULL),
		WORDS_ROW(words_foot), .pub.flags = 0, LATCH_SHARED_BY_READERS, BROKEN,
		PROGRAMS(under_latch, write_latched),
		.options = WRITE_UNLATCH,
	}, {
		NAMED("broken-spec", "UNSAFE without order: the read is posted behind the latch",
		      "R25 3.3", NULL),
		WORDS_ROW(words), CLEAN(WORDS_BYTES), LATCH_SHARED_BY_READERS, BROKEN,
		PROGRAMS(under_latch, write_latched),
		.options = RMC_SYNC_SPEC,
	}, {
		NAMED("broken-combine", "UNSAFE without order: the release is posted behind the write",
		      "R25 3.3", NULL),
		WORDS_ROW(words), CLEAN(WORDS_BYTES), LATCH_SHARED_BY_READERS, BROKEN,
		PROGRAMS(under_latch, write_latched),
		.options = RMC_SYNC_COMBINE,
	}, {
		NAMED("broken-switch", "UNSAFE: what the switch says of a read is ignored", "R25 5.5",
		      NULL),
		BEHIND_WORD, .pub.flags = RMC_SCHEME_CLEAN, BROKEN,
		.writes	= &rmc_latch_tuple,
		.pub.latch = "switch",
		PROGRAMS(by_tuple_unchecked, write_tuple),
	}, {
		NAMED("broken-write-unlatch", "UNSAFE without order of addresses: the last line releases",
		      "R25 3.3", NULL),
		WORDS_ROW(words_foot), .pub.flags = 0, LATCH_EXCLUSIVE, BROKEN,
		PROGRAMS(under_latch, write_latched),
		.options = WRITE_UNLATCH,
	},
};

#define SCHEMES		(sizeof(schemes) / sizeof(schemes[0]))

static const struct rmc_scheme *number(unsigned int i, unsigned int end)
{
	return i < end ? &schemes[i].pub : NULL;
}

static const struct rmc_scheme *find(const char *name, unsigned int end)
{
	unsigned int i;

	for (i = 0; i < end; i++)
		if (!strcmp(schemes[i].pub.name, name))
			return &schemes[i].pub;
	return NULL;
}

const struct rmc_scheme *rmc_scheme_number(unsigned int i)
{
	return number(i, OBJECT_ROWS);
}

const struct rmc_scheme *rmc_scheme_find(const char *name)
{
	return find(name, OBJECT_ROWS);
}

const struct rmc_scheme *rmc_sync_number(unsigned int i)
{
	return number(i, SCHEMES);
}

const struct rmc_scheme *rmc_sync_find(const char *name)
{
	return find(name, SCHEMES);
}
