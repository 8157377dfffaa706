// SPDX-License-Identifier: GPL-2.0
/* Copies of more than one line, or of less: see line.h for their guarantees. */
#include "line.h"
#include "vec.h"

/* Copies whole lines: the copy is the first pass, the comparison the second. */
static bool load_bulk(u8 *dst, const u8 *src, u32 len)
{
	u32 i, at;

	if (likely(rmc_os_vector())) {
		bool same;

		rmc_os_vector_begin();
		same = rmc_vec_load(dst, src, len);
		rmc_os_vector_end();
		if (likely(same))
			return true;
	} else {
		/* string instructions prefetch better than a loop of two passes */
		rmc_os_memcpy(dst, src, len);
	}
	/* first pass before second; between the same loads, no partner */
	smp_rmb();
	for (at = 0; at < len; at += RMC_LINE) {
		const u64 *s = (const u64 *)(src + at);
		const u64 *d = (const u64 *)(dst + at);
		u64 diff = 0;

		for (i = 0; i < RMC_LINE_WORDS; i++)
			diff |= READ_ONCE(s[i]) ^ d[i];
		if (unlikely(diff) && !rmc_line_load((u64 *)(dst + at), s))
			return false;
	}
	return true;
}

/**
 * rmc_lines_load_any() - copy out of shared memory, each line atomically
 * @dst: private, at the same offset within a line as @src
 * @src: shared
 * @len: bytes
 *
 * Return: false when a line keeps changing; @dst is then invalid.
 * Context: worker, does not sleep. A14 section 4.1.
 */
bool rmc_lines_load_any(u8 *dst, const u8 *src, u32 len)
{
	u32 head = -(uintptr_t)src & (RMC_LINE - 1);

	if (head) {
		head = min(head, len);
		if (unlikely(!rmc_line_load_part(dst, src, head)))
			return false;
		dst += head;
		src += head;
		len -= head;
	}
	if (len >= rmc_os_bulk_min) {
		u32 bulk = len & ~(RMC_LINE - 1);

		if (unlikely(!load_bulk(dst, src, bulk)))
			return false;
		dst += bulk;
		src += bulk;
		len -= bulk;
	}
	for (; len >= RMC_LINE; len -= RMC_LINE) {
		if (unlikely(!rmc_line_load((u64 *)dst, (const u64 *)src)))
			return false;
		dst += RMC_LINE;
		src += RMC_LINE;
	}
	return !len || rmc_line_load_part(dst, src, len);
}

/**
 * rmc_lines_store_any() - copy into shared memory, the first word of a line last
 * @dst: shared
 * @src: private, at the same offset within a line as @dst
 * @len: bytes
 *
 * Context: worker, does not sleep. A14 section 4.1.
 */
void rmc_lines_store_any(u8 *dst, const u8 *src, u32 len)
{
	u32 head = -(uintptr_t)dst & (RMC_LINE - 1);

	if (head) {
		head = min(head, len);
		rmc_line_store_part(dst, src, head);
		dst += head;
		src += head;
		len -= head;
	}
	if (len >= rmc_os_bulk_min && likely(rmc_os_vector())) {
		u32 bulk = len & ~(RMC_LINE - 1);

		rmc_os_vector_begin();
		rmc_vec_store(dst, src, bulk);
		rmc_os_vector_end();
		dst += bulk;
		src += bulk;
		len -= bulk;
	}
	for (; len >= RMC_LINE; len -= RMC_LINE) {
		rmc_line_store((u64 *)dst, (const u64 *)src);
		dst += RMC_LINE;
		src += RMC_LINE;
	}
	if (len)
		rmc_line_store_part(dst, src, len);
}

/**
 * rmc_lines_copy() - copy bytes that may change meanwhile, without line atomicity
 * @dst: private
 * @src: shared; the caller detects changes by other means
 * @len: bytes, at least rmc_os_bulk_min
 *
 * Each word is read once; words are read in any order.
 *
 * Context: worker, does not sleep.
 */
void rmc_lines_copy(u8 *dst, const u8 *src, u32 len)
{
	u32 bulk = len & ~(RMC_LINE - 1);

	if (likely(rmc_os_vector())) {
		rmc_os_vector_begin();
		rmc_vec_copy(dst, src, bulk);
		rmc_os_vector_end();
		/* starting a string instruction has a cost even for 0 bytes */
		if (unlikely(bulk < len))
			rmc_os_memcpy(dst + bulk, src + bulk, len - bulk);
	} else {
		rmc_os_memcpy(dst, src, len);
	}
}
