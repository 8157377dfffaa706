// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of lines, one instruction at a time: the promises of line.h and vec.h hold after each
 * of their instructions, whatever the owner of the memory stores there. The processor's trap
 * flag stops after each one, so nothing depends on chance; the vector copies, which sanitizers
 * do not instrument, are included. So are descriptors of rings.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include "../tap.h"
#include "testbed.h"
#include "kmod/core/op.h"
#include "kmod/base/vec.h"

#if defined(__x86_64__)

#define LINES	40		/* more than RMC_VEC_AHEAD */
#define OLD	0x1111111111111111ULL
#define NEW	0x2222222222222222ULL
#define NEWER	0x3333333333333333ULL
#define EDGE	0x77

static u8 shared[(LINES + 2) * 64] __attribute__((aligned(4096)));
static u8 private[(LINES + 2) * 64] __attribute__((aligned(4096)));

static volatile u32 step, change_at, back_at;
static u32 first_word;		/* first word of each line that changes */
static void (*volatile at_step)(void);

static void trapped(int sig)
{
	step++;
	if (at_step)
		at_step();
}

static inline __attribute__((always_inline)) void trace_on(void)
{
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static inline __attribute__((always_inline)) void trace_off(void)
{
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void fill_words(u8 *p, u32 len, u64 word)
{
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = word;
}

static u32 word_of(const u8 *p)
{
	return ((uintptr_t)p & 63) / 8;
}

static void change_words(u32 first, u32 end, u64 word)
{
	u32 i;

	for (i = 0; i < sizeof(shared); i++)
		if (word_of(shared + i) >= first && word_of(shared + i) < end)
			shared[i] = word;
}

/*
 * The owner stores all lines, or their last words, between two instructions; some instructions
 * later it restores the first half of each, and stores the second half again.
 */
static void owner_stores(void)
{
	if (step == change_at)
		change_words(first_word, 8, NEW);
	if (step == back_at) {
		change_words(0, 4, OLD);
		change_words(4, 8, NEWER);
	}
}

/* The bytes [p, p + len) of the private copy: no line is torn */
static bool lines_of_one_moment(const u8 *p, u32 len)
{
	u32 i;

	for (i = 1; i < len; i++) {
		const u8 *was = p + i - 1;

		/* words that change at the same time are equal */
		if (!((uintptr_t)(p + i) & 63) || word_of(was) < first_word || p[i] == *was)
			continue;
		/* the one place within a line where another state differs, too */
		if (((uintptr_t)(p + i) & 63) != 32 || *was != (u8)OLD || p[i] != (u8)NEWER)
			return false;
	}
	return true;
}

static bool all_are(const u8 *p, u32 len, u8 byte)
{
	while (len && *p == byte) {
		p++;
		len--;
	}
	return !len;
}

enum load { LINE, PART, ANY, VECTOR };

static bool load(enum load which, u8 *dst, const u8 *src, u32 len)
{
	switch (which) {
	case LINE:
		return rmc_line_load((u64 *)dst, (const u64 *)src);
	case PART:
		return rmc_line_load_part(dst, src, len);
	case VECTOR:
		return rmc_vec_load(dst, src, len);
	default:
		return rmc_lines_load(dst, src, len);
	}
}

/*
 * With the owner's stores after each instruction in turn; @every: after every n-th; @back: half
 * of them restored this many instructions later
 */
static void loads_and_back(enum load which, u32 skip, u32 len, u32 every, u32 back)
{
	u32 last;
	bool ok;

	for (change_at = 1; ; change_at += every) {
		back_at = back ? change_at + back : 0;
		fill_words(shared, sizeof(shared), OLD);
		memset(private, EDGE, sizeof(private));
		step = 0;
		at_step = owner_stores;
		trace_on();
		ok = load(which, private + 64 + skip, shared + 64 + skip, len);
		trace_off();
		at_step = NULL;
		last = step;
		/* a single change: it was read again, or must be read by another function */
		CHECK(ok || which == VECTOR);
		if (ok)
			CHECK(lines_of_one_moment(private + 64 + skip, len));
		CHECK(all_are(private, 64 + skip, EDGE));
		CHECK(all_are(private + 64 + skip + len, 64, EDGE));
		if (tap_failures || last < change_at)
			break;
	}
}

static void loads(enum load which, u32 skip, u32 len, u32 every)
{
	loads_and_back(which, skip, len, every, 0);
}

static void test_loads(void)
{
	static const u32 parts[][2] = {		/* skip, length */
		{ 0, 8 }, { 3, 5 }, { 0, 9 }, { 7, 2 }, { 8, 16 }, { 20, 30 }, { 1, 63 }, { 0, 63 },
	};
	u32 i;

	loads(LINE, 0, 64, 1);
	/* only its last words change */
	for (first_word = 1; first_word < 8; first_word++)
		loads(LINE, 0, 64, 1);
	first_word = 0;
	tap_result("a line read is of one moment, whenever it changes");
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		loads(PART, parts[i][0], parts[i][1], 1);
	tap_result("so is a part of one");
	loads(ANY, 0, 128, 1);
	loads(ANY, 8, 120, 1);
	loads(ANY, 60, 4, 1);
	loads(ANY, 60, 5, 1);
	loads(ANY, 1, 200, 5);
	loads(ANY, 0, 512, 61);
	loads(ANY, 3, 600, 97);
	loads(ANY, 0, 33 * 64 + 5, 397);
	tap_result("and each of several lines, few or many");
}

/* A line that keeps changing is given up, after as many reads as promised. */
static u32 changes;

static void owner_restless(void)
{
	if (step % 3)
		return;
	changes++;
	fill_words(shared, sizeof(shared), changes);
}

static void test_restless(void)
{
	static const u32 lens[] = { 64, 9, 200, 1024 };
	bool ok;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		step = 0;
		at_step = owner_restless;
		trace_on();
		ok = rmc_lines_load(private + 64, shared + 64, lens[i]);
		trace_off();
		at_step = NULL;
		CHECK(!ok);
		CHECK(step > RMC_LINE_PASSES * 4);
		CHECK(step < RMC_LINE_PASSES * 200 + 8 * lens[i]);
	}
	/* a word is never torn */
	at_step = owner_restless;
	trace_on();
	ok = rmc_lines_load(private + 64, shared + 64, 8);
	trace_off();
	at_step = NULL;
	CHECK(ok && all_are(private + 65, 7, private[64]));
	tap_result("a line that never stands still is given up");
}

static u32 store_skip, store_len, late_rest;

/* A reader that finds the first byte of a line's new state finds all of it. */
static void receiver_polls(void)
{
	const u8 *p = shared + 64 + store_skip, *end = p + store_len;
	u32 i, n;

	for (; p < end; p += n) {
		n = min((u32)(64 - ((uintptr_t)p & 63)), (u32)(end - p));
		if (*p != (u8)NEW)
			continue;
		for (i = 1; i < n; i++)
			late_rest += p[i] != (u8)NEW;
	}
}

enum store { STORE_LINE, STORE_PART, STORE_ANY, STORE_VECTOR };

static void stores(enum store which, u32 skip, u32 len)
{
	u8 *dst = shared + 64 + skip, *src = private + 64 + skip;

	fill_words(shared, sizeof(shared), OLD);
	memset(private, EDGE, sizeof(private));
	fill_words(src, len, NEW);
	store_skip = skip;
	store_len = len;
	late_rest = 0;
	step = 0;
	at_step = receiver_polls;
	trace_on();
	switch (which) {
	case STORE_LINE:
		rmc_line_store((u64 *)dst, (u64 *)src);
		break;
	case STORE_PART:
		rmc_line_store_part(dst, src, len);
		break;
	case STORE_VECTOR:
		rmc_vec_store(dst, src, len);
		break;
	default:
		rmc_lines_store(dst, src, len);
	}
	trace_off();
	at_step = NULL;
	CHECK_EQ(late_rest, 0);
	CHECK(step > 4);
	CHECK(all_are(dst, len, (u8)NEW));
	CHECK(all_are(shared, 64 + skip, (u8)OLD));
	CHECK(all_are(dst + len, 64, (u8)OLD));
}

static void test_stores(void)
{
	u32 skip, len;

	stores(STORE_LINE, 0, 64);
	tap_result("of a line written the first word is there last");
	for (skip = 0; skip < 64; skip += skip < 9 ? 1 : 5)
		for (len = 1; skip + len <= 64; len += len > 9 ? 9 : 1)
			stores(STORE_PART, skip, len);
	tap_result("of a part of one the first byte");
	stores(STORE_ANY, 0, 128);
	stores(STORE_ANY, 8, 130);
	/* as long as a line, but across two */
	for (skip = 1; skip < 64; skip += skip < 8 ? 1 : 8)
		stores(STORE_ANY, skip, 64);
	stores(STORE_ANY, 63, 2);
	stores(STORE_ANY, 5, 600);
	stores(STORE_ANY, 0, 512);
	stores(STORE_ANY, 32, 1500);
	stores(STORE_ANY, 0, LINES * 64);
	tap_result("and of each of several lines, few or many");
}

/* The owner increments a word, once or all the time. */
static u64 counts, counts_most;

static void owner_counts(void)
{
	if ((step == change_at || !change_at) && counts < counts_most) {
		++*(u32 *)shared;
		counts++;
	}
}

/* Read-modify-write: adds a million to a word of @length bytes */
static u8 add(struct rmc_serve *v, u32 length)
{
	u8 status;

	memset(shared, 0, 64);
	v->req.length = length;
	counts = 0;
	step = 0;
	at_step = owner_counts;
	trace_on();
	status = rmc_rmw_serve(v);
	trace_off();
	at_step = NULL;
	return status;
}

static void test_rmw(void)
{
	struct rmc_mem *mem = mem_make(shared, sizeof(shared), 63, 0);
	struct rmc_ring ring = { .pay = private };
	struct rmc_serve v = { .seg = mem, .rx = &ring };
	struct rmc_rmw *r = (struct rmc_rmw *)private;
	u32 length;

	*r = (struct rmc_rmw){ .kind = RMC_RMW_ADD, .value = 1000000 };
	for (length = 4; length <= 8; length += 4) {
		counts_most = 1;
		for (change_at = 1; ; change_at++) {
			CHECK_EQ(add(&v, length), RMC_S_OK);
			CHECK_EQ(*(u64 *)shared, 1000000 + counts);
			CHECK(v.word1 <= counts);
			if (tap_failures || !counts)
				break;
		}
		CHECK(change_at > 10);
	}
	tap_result("read-modify-write: nothing that the owner does is lost, and once is not busy");
	for (length = 4; length <= 8; length += 4) {
		change_at = 0;
		counts_most = 100000;
		CHECK_EQ(add(&v, length), RMC_AGAIN);
		CHECK_EQ(*(u64 *)shared, counts);
		CHECK(counts < counts_most);
	}
	tap_result("read-modify-write: a word that always changes is given up");
	mem_free(mem);
}

/* A descriptor is put, or polled, while the other side acts after each instruction. */
static struct rmc_ring producer, consumer;
static u32 whole, halves, times_put;

static void consumer_polls(void)
{
	struct rmc_desc d;

	if (!rmc_ring_peek(&consumer, 0, &d))
		return;
	whole += d.word1 == NEW;
	halves += d.word1 != NEW;
}

static void producer_puts(void)
{
	if (step == change_at) {
		rmc_ring_put(&producer, 1, NEW);
		times_put++;
	}
}

static void rings(void)
{
	memset(shared, 0, sizeof(shared));
	rmc_ring_init(&producer, shared, 2, 2);
	rmc_ring_init(&consumer, shared, 2, 2);
	step = 0;
}

static void test_ring(void)
{
	struct rmc_desc d;
	bool there;
	u32 last;

	rings();
	whole = 0;
	halves = 0;
	at_step = consumer_polls;
	trace_on();
	rmc_ring_put(&producer, 1, NEW);
	trace_off();
	at_step = NULL;
	CHECK(whole > 0);
	CHECK_EQ(halves, 0);
	times_put = 0;
	for (change_at = 1; ; change_at++) {
		rings();
		at_step = producer_puts;
		trace_on();
		there = rmc_ring_peek(&consumer, 0, &d);
		trace_off();
		at_step = NULL;
		last = step;
		CHECK(!there || d.word1 == NEW);
		if (tap_failures || last < change_at)
			break;
	}
	CHECK(times_put > 1);
	tap_result("a descriptor is there as a whole, or not at all");
}

static void random_bytes(u8 *p, u32 n, u32 seed)
{
	while (n--) {
		seed = seed * 1664525 + 1013904223;
		*p++ = seed >> 24;
	}
}

/* Exactly the copied bytes change: lengths around the limits of each method */
static void test_bytes(void)
{
	static const u32 lens[] = { 1, 63, 64, 65, 127, 128, 255, 256, 257, 511, 512, 513, 575,
				    576, 1023, 1024, 1025, 1087, 1088, 1089, 2048, 2111, 2560 };
	u32 i, skip, len;
	u8 *a, *b;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (skip = 0; skip < 64; skip += 9) {
			len = min(lens[i], LINES * 64 - skip);
			a = shared + 64 + skip;
			b = private + 64 + skip;
			random_bytes(shared, sizeof(shared), i + skip);
			memset(private, EDGE, sizeof(private));
			CHECK(rmc_lines_load(b, a, len));
			CHECK(!memcmp(a, b, len));
			CHECK(all_are(private, 64 + skip, EDGE) && all_are(b + len, 64, EDGE));

			random_bytes(private, sizeof(private), i + skip);
			memset(shared, EDGE, sizeof(shared));
			rmc_lines_store(a, b, len);
			CHECK(!memcmp(a, b, len));
			CHECK(all_are(shared, 64 + skip, EDGE) && all_are(a + len, 64, EDGE));

			random_bytes(shared, sizeof(shared), i + skip);
			memset(private, EDGE, sizeof(private));
			rmc_copy(b, a, len);
			CHECK(!memcmp(a, b, len));
			CHECK(all_are(private, 64 + skip, EDGE) && all_are(b + len, 64, EDGE));
			if (len < rmc_os_bulk_min)
				continue;
			memset(private, EDGE, sizeof(private));
			rmc_lines_copy(b, a, len);
			CHECK(!memcmp(a, b, len));
			CHECK(all_are(private, 64 + skip, EDGE) && all_are(b + len, 64, EDGE));
		}
	tap_result("every byte and not one more, around each bound");
}

#ifdef RMC_OS_VECTOR
static void test_vector(void)
{
	u32 lines;

	if (!rmc_os_vector()) {
		tap_skip("vector copies", "this CPU has no AVX2");
		return;
	}
	for (lines = 1; lines <= LINES; lines += lines < 4 ? 1 : 12)
		loads(VECTOR, 0, lines * 64, lines < 4 ? 1 : 7);
	for (lines = 1; lines < 5; lines++)
		loads_and_back(VECTOR, 0, 64, 1, lines);
	tap_result("vector registers: each line of one moment, or it is said");
	for (lines = 1; lines <= LINES; lines += lines < 4 ? 1 : 4)
		stores(STORE_VECTOR, 0, lines * 64);
	tap_result("vector registers: the first word of each line last");
}
#else
static void test_vector(void)
{
	tap_skip("vector copies", "not in this build");
}
#endif

int main(void)
{
	struct sigaction trap = { .sa_handler = trapped };

	sigaction(SIGTRAP, &trap, NULL);
	test_bytes();
	test_loads();
	test_restless();
	test_stores();
	test_rmw();
	test_ring();
	test_vector();
	return tap_done();
}

#else

int main(void)
{
	tap_skip("copies, one instruction at a time", "needs the trap flag of x86");
	return tap_done();
}

#endif
