/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bulk copies of whole lines with AVX2: in one pass, with many misses in flight.
 *
 * Only between rmc_os_vector_begin() and _end(), if rmc_os_vector() is true. x86 keeps the
 * order of loads and that of stores, also of vectors. An access to 16 aligned bytes is
 * atomic by contract (Intel SDM vol. 3 9.1.1, AMD APM vol. 2 7.3.2); one to 32 bytes is at
 * least two such accesses.
 */
#ifndef RMC_VEC_H
#define RMC_VEC_H

#include "line.h"

#ifdef RMC_OS_VECTOR

/* prefetch distance, bytes: some lines more than a core keeps misses in flight */
#define RMC_VEC_AHEAD	1024
#define RMC_VEC_FETCH	"prefetcht0 %c[ahead](%[src],%[at])\n\t"
#define RMC_VEC_FETCHW	"prefetchw %c[ahead](%[dst],%[at])\n\t"

#define RMC_VEC_GET							\
	"vmovdqu (%[src],%[at]), %%ymm0\n\t"				\
	"vmovdqu 32(%[src],%[at]), %%ymm1\n\t"
#define RMC_VEC_READ_AGAIN						\
	"vpxor (%[src],%[at]), %%ymm0, %%ymm2\n\t"			\
	"vpxor 32(%[src],%[at]), %%ymm1, %%ymm3\n\t"			\
	"vpor %%ymm2, %%ymm4, %%ymm4\n\t"				\
	"vpor %%ymm3, %%ymm5, %%ymm5\n\t"
#define RMC_VEC_PUT							\
	"vmovdqu %%ymm0, (%[dst],%[at])\n\t"				\
	"vmovdqu %%ymm1, 32(%[dst],%[at])\n\t"
#define RMC_VEC_PUT_FIRST_LAST						\
	"vmovdqa %%ymm1, 32(%[dst],%[at])\n\t"				\
	"vextracti128 $1, %%ymm0, 16(%[dst],%[at])\n\t"			\
	"vmovdqa %%xmm0, (%[dst],%[at])\n\t"

/* @body for each line; @fetch while the prefetched line is before the end */
#define RMC_VEC_LINES(before, fetch, body, after)			\
	asm volatile(before						\
		     "test %[near], %[near]\n\t"			\
		     "jz 2f\n"						\
		     "1:\n\t" fetch body				\
		     "add $64, %[at]\n\t"				\
		     "cmp %[near], %[at]\n\t"				\
		     "jb 1b\n"						\
		     "2:\n\t" body					\
		     "add $64, %[at]\n\t"				\
		     "cmp %[end], %[at]\n\t"				\
		     "jb 2b\n\t"					\
		     after						\
		     "vzeroupper"					\
		     : [at] "+&r" (at), [changed] "+&q" (changed)		\
		     : [src] "r" (src), [dst] "r" (dst), [near] "r" (near),	\
		       [end] "r" ((u64)len), [ahead] "i" (RMC_VEC_AHEAD)	\
		     : "memory", "cc" RMC_OS_VECTOR_CLOBBERS)

static inline u64 rmc_vec_near(u32 len)
{
	return len > RMC_VEC_AHEAD ? len - RMC_VEC_AHEAD : 0;
}

/*
 * Copy @len bytes, whole lines and at least one, in two passes per line: the loads of the
 * second pass come after those of the first. Returns false when a line changed between
 * the passes.
 */
static inline bool rmc_vec_load(u8 *dst, const u8 *src, u32 len)
{
	u64 at = 0, near = rmc_vec_near(len);
	u32 changed = 0;

	RMC_VEC_LINES("vpxor %%ymm4, %%ymm4, %%ymm4\n\t"
		      "vpxor %%ymm5, %%ymm5, %%ymm5\n\t",
		      RMC_VEC_FETCH, RMC_VEC_GET RMC_VEC_READ_AGAIN RMC_VEC_PUT,
		      "vpor %%ymm4, %%ymm5, %%ymm4\n\t"
		      "vptest %%ymm4, %%ymm4\n\t"
		      "setnz %b[changed]\n\t");
	return !changed;
}

/* The same in one pass. */
static inline void rmc_vec_copy(u8 *dst, const u8 *src, u32 len)
{
	u64 at = 0, near = rmc_vec_near(len);
	u32 changed = 0;

	RMC_VEC_LINES("", RMC_VEC_FETCH, RMC_VEC_GET RMC_VEC_PUT, "");
}

/* Store @len bytes; @dst is line-aligned. The first word of each line comes last. */
static inline void rmc_vec_store(u8 *dst, const u8 *src, u32 len)
{
	u64 at = 0, near = rmc_vec_near(len);
	u32 changed = 0;

	RMC_VEC_LINES("", RMC_VEC_FETCHW, RMC_VEC_GET RMC_VEC_PUT_FIRST_LAST, "");
}

#else

/* never called: rmc_os_vector() is false */
static inline bool rmc_vec_load(u8 *dst, const u8 *src, u32 len) { return false; }
static inline void rmc_vec_copy(u8 *dst, const u8 *src, u32 len) { }
static inline void rmc_vec_store(u8 *dst, const u8 *src, u32 len) { }

#endif
#endif
