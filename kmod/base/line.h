/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies with line atomicity (A14 section 4.1).
 *
 * One RRPP serves all remote operations on a line, one after another, so they are atomic
 * with regard to each other. With regard to the owner's CPUs:
 *
 * - A read loads the line word by word, then again, until both passes agree.
 *   The second pass hits L1. (Known race: an owner that changes the line to
 *   another state and back between the passes, two times and in step, could still
 *   be seen mixed; that takes two full line transfers within the few
 *   nanoseconds between two passes.)
 *   An owner that shares our L1, on the sibling hyperthread, can store faster
 *   than we do two passes. So after RMC_LINE_PASSES passes the RRPP serves other
 *   sources and retries the read at the next visit; after RMC_AGAIN_TRIES tries the
 *   read ends with RMC_S_BUSY. A single word needs one pass only.
 * - A write stores the line's first word last, with release: an owner that
 *   polls the first word with acquire may read the rest of the line.
 */
#ifndef RMC_LINE_H
#define RMC_LINE_H

#include "os.h"

#define RMC_LINE	RMC_CACHE_LINE
#define RMC_LINE_WORDS	(RMC_LINE / 8)
/* Passes over a line that keeps changing before other sources are served: 7 us at most */
#define RMC_LINE_PASSES	64

/* Unaligned 8 bytes; one instruction even where memcpy() is always a call (-fno-builtin) */
static inline u64 rmc_get64(const u8 *p)
{
	u64 w;

	__builtin_memcpy(&w, p, 8);
	return w;
}

static inline void rmc_put64(u8 *p, u64 w)
{
	__builtin_memcpy(p, &w, 8);
}

/* Lines that [off, off + len) touches. */
static inline u32 rmc_lines(u64 off, u32 len)
{
	return ((u32)(off & (RMC_LINE - 1)) + len + RMC_LINE - 1) / RMC_LINE;
}

/* Read each word of a line once; not atomic. */
static inline void rmc_line_pass(u64 *dst, const u64 *src)
{
	dst[0] = READ_ONCE(src[0]);
	dst[1] = READ_ONCE(src[1]);
	dst[2] = READ_ONCE(src[2]);
	dst[3] = READ_ONCE(src[3]);
	dst[4] = READ_ONCE(src[4]);
	dst[5] = READ_ONCE(src[5]);
	dst[6] = READ_ONCE(src[6]);
	dst[7] = READ_ONCE(src[7]);
}

/*
 * Read one whole line. @dst is private, @src shared; both 8-byte aligned. The first
 * pass stores to @dst, the second compares with it, because two passes do not fit in
 * registers. Returns false when the line keeps changing.
 */
static __always_inline bool rmc_line_load(u64 *dst, const u64 *src)
{
	u32 passes = RMC_LINE_PASSES;

	do {
		u64 d0, d1;

		rmc_line_pass(dst, src);
		/* first pass before second; between the same loads, no partner */
		smp_rmb();
		d0 = READ_ONCE(src[0]) ^ dst[0];
		d1 = READ_ONCE(src[1]) ^ dst[1];
		d0 |= READ_ONCE(src[2]) ^ dst[2];
		d1 |= READ_ONCE(src[3]) ^ dst[3];
		d0 |= READ_ONCE(src[4]) ^ dst[4];
		d1 |= READ_ONCE(src[5]) ^ dst[5];
		d0 |= READ_ONCE(src[6]) ^ dst[6];
		d1 |= READ_ONCE(src[7]) ^ dst[7];
		if (likely(!(d0 | d1)))
			return true;
	} while (--passes);
	return false;
}

/* Read part of one line: [src, src + len) lies within it. False: as above. */
static inline bool rmc_line_load_part(u8 *dst, const u8 *src, u32 len)
{
	const u64 *first = (const u64 *)((uintptr_t)src & ~7UL);
	u32 skip = (uintptr_t)src & 7;
	u32 words = (skip + len + 7) / 8, passes = RMC_LINE_PASSES, i;
	u64 copy[RMC_LINE_WORDS], diff;

	if (words == 1) {
		copy[0] = READ_ONCE(first[0]);
		memcpy(dst, (u8 *)copy + skip, len);
		return true;
	}
	do {
		if (unlikely(!passes--))
			return false;
		for (i = 0; i < words; i++)
			copy[i] = READ_ONCE(first[i]);
		/* first pass before second, as above */
		smp_rmb();
		diff = 0;
		for (i = 0; i < words; i++)
			diff |= copy[i] ^ READ_ONCE(first[i]);
	} while (unlikely(diff));
	memcpy(dst, (u8 *)copy + skip, len);
	return true;
}

/* Write one whole line, first word last. @dst is shared, @src private. */
static inline void rmc_line_store(u64 *dst, const u64 *src)
{
	int i;

	for (i = 1; i < RMC_LINE_WORDS; i++)
		WRITE_ONCE(dst[i], src[i]);
	/* pairs with the owner's acquire load of the line's first word */
	smp_store_release(&dst[0], src[0]);
}

/* Write part of one line; not a byte outside [dst, dst + len) is touched. */
static inline void rmc_line_store_part(u8 *dst, const u8 *src, u32 len)
{
	u32 head = min_t(u32, len, 8 - ((uintptr_t)dst & 7));
	u32 i = head;

	for (; i + 8 <= len; i += 8)
		WRITE_ONCE(*(u64 *)(dst + i), rmc_get64(src + i));
	for (; i < len; i++)
		WRITE_ONCE(dst[i], src[i]);
	if (head == 8) {
		/* the first word last, as in rmc_line_store() */
		smp_store_release((u64 *)dst, rmc_get64(src));
		return;
	}
	for (i = head; i-- > 0;)
		/* what is written of the first word last, its first byte at the end */
		smp_store_release(&dst[i], src[i]);
}

bool rmc_lines_load_any(u8 *dst, const u8 *src, u32 len);
void rmc_lines_store_any(u8 *dst, const u8 *src, u32 len);
void rmc_lines_copy(u8 *dst, const u8 *src, u32 len);

/*
 * Copy between shared memory and a payload ring. Both sides have the same offset within a
 * line, so their line boundaries match. A load returns false when a line keeps changing;
 * @dst is then invalid.
 */
static inline bool rmc_lines_load(u8 *dst, const u8 *src, u32 len)
{
	if (likely(len == RMC_LINE && !((uintptr_t)src & (RMC_LINE - 1))))
		return rmc_line_load((u64 *)dst, (const u64 *)src);
	return rmc_lines_load_any(dst, src, len);
}

static inline void rmc_lines_store(u8 *dst, const u8 *src, u32 len)
{
	if (likely(len == RMC_LINE && !((uintptr_t)dst & (RMC_LINE - 1))))
		rmc_line_store((u64 *)dst, (const u64 *)src);
	else
		rmc_lines_store_any(dst, src, len);
}

#endif
