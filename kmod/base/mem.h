/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registered memory in the pipelines: an array of equally large chunks in the kernel's
 * direct map. Once installed it is immutable, except for @length, @flags, @exposure and @notified.
 * kmod/dev/umem.c pins and releases the pages; the core never does.
 */
#ifndef RMC_MEM_H
#define RMC_MEM_H

#include "event.h"
#include "exposure.h"
#include "line.h"
#include "param.h"

/**
 * struct rmc_mem - one segment or local buffer
 * @base: address the application uses for its first byte
 * @length: bytes; becomes 0, at any time, when the application unmaps a buffer; from then on
 *	no operation can name it
 * @head: offset of the first byte within the first chunk, bytes; for a further range of a
 *	segment minus the offset of the range in the segment, modulo 2^64
 * @shift: log2 of the chunk size; 12 for pages
 * @mask: chunk size - 1; rmc_mem_chunks() sets both
 * @flags: RMC_MEM_READONLY, RMC_MEM_TX; the latter is set and cleared by workers of all units
 * @sabre: enum rmc_sabre_mode; RMC_SABRE_DEFAULT: it holds no objects
 * @version_off: offset of the version in an object, bytes
 * @readers_off: offset of the reader count in an object, bytes
 * @exposure: of a segment, to peers
 * @chunk: kernel addresses of the chunks
 * @primary: the segment that it is a further range of, see ct.h; or NULL
 * @notified: notifications; changed by the RRPP's worker
 */
struct rmc_mem {
	u64 base;
	u64 length;
	u64 head;
	u32 shift;
	u64 mask;
	u32 flags;
	u32 sabre;
	u32 version_off;
	u32 readers_off;
	struct rmc_exposure exposure;
	void **chunk;
	struct rmc_mem *primary;
	struct rmc_event notified;
};

/* Some of it is a range of transactions (core/tx_homes.h); not of the uapi */
#define RMC_MEM_TX		(1U << 31)
/* Remote writes and atomics are refused, or have to be looked at */
#define RMC_MEM_REFUSES		(RMC_MEM_READONLY | RMC_MEM_TX)

/* Memory in chunks of 1 << @shift bytes */
static inline void rmc_mem_chunks(struct rmc_mem *mem, u32 shift)
{
	mem->shift = shift;
	mem->mask = (1ULL << shift) - 1;
}

/**
 * rmc_mem_at() - address of a byte, and length of the contiguous rest
 * @mem: registered memory
 * @off: offset, less than @mem->length; the caller has checked it
 * @run: out, bytes from here to the end of the chunk
 */
static inline u8 *rmc_mem_at(const struct rmc_mem *mem, u64 off, u64 *run)
{
	u64 o = off + mem->head;
	u64 in = o & mem->mask;

	*run = mem->mask + 1 - in;
	return (u8 *)mem->chunk[o >> mem->shift] + in;
}

/* Address only, for prefetching. */
static inline void *rmc_mem_ptr(const struct rmc_mem *mem, u64 off)
{
	u64 run;

	return rmc_mem_at(mem, off, &run);
}

/* True when [off, off + len) lies inside; no overflow for any input. */
static inline bool rmc_mem_covers(const struct rmc_mem *mem, u64 off, u64 len)
{
	u64 length = READ_ONCE(mem->length);

	return len <= length && off <= length - len;
}

static inline void rmc_copy_line(u8 *dst, const u8 *src)
{
	u64 w0, w1, w2, w3;

	w0 = rmc_get64(src);
	w1 = rmc_get64(src + 8);
	w2 = rmc_get64(src + 16);
	w3 = rmc_get64(src + 24);
	rmc_put64(dst, w0);
	rmc_put64(dst + 8, w1);
	rmc_put64(dst + 16, w2);
	rmc_put64(dst + 24, w3);
	w0 = rmc_get64(src + 32);
	w1 = rmc_get64(src + 40);
	w2 = rmc_get64(src + 48);
	w3 = rmc_get64(src + 56);
	rmc_put64(dst + 32, w0);
	rmc_put64(dst + 40, w1);
	rmc_put64(dst + 48, w2);
	rmc_put64(dst + 56, w3);
}

/*
 * Plain copy. Starting a string instruction costs as much as copying some 200 bytes, and
 * most packets are smaller.
 */
static inline void rmc_copy(u8 *dst, const u8 *src, u32 len)
{
	if (likely(len == RMC_LINE)) {
		rmc_copy_line(dst, src);
		return;
	}
	if (len >= 256) {
		rmc_os_memcpy(dst, src, len);
		return;
	}
	for (; len >= RMC_LINE; len -= RMC_LINE, dst += RMC_LINE, src += RMC_LINE)
		rmc_copy_line(dst, src);
	for (; len >= 8; len -= 8, dst += 8, src += 8)
		rmc_put64(dst, rmc_get64(src));
	for (; len; len--)
		*dst++ = *src++;
}

/*
 * Copy from and to local buffers, without line semantics: the application waits for the
 * CQ. At least one byte.
 */
static inline void rmc_mem_get(const struct rmc_mem *mem, u64 off, u8 *dst, u32 len)
{
	u64 run;
	const u8 *src;

	for (;;) {
		src = rmc_mem_at(mem, off, &run);
		if (likely(len <= run))
			break;
		rmc_os_get(mem, off, dst, src, run);
		dst += run;
		off += run;
		len -= run;
	}
	rmc_os_get(mem, off, dst, src, len);
}

static inline void rmc_mem_put(const struct rmc_mem *mem, u64 off, const u8 *src, u32 len)
{
	u64 run;
	u8 *dst;

	for (;;) {
		dst = rmc_mem_at(mem, off, &run);
		if (likely(len <= run))
			break;
		rmc_os_put(mem, off, dst, src, run);
		src += run;
		off += run;
		len -= run;
	}
	rmc_os_put(mem, off, dst, src, len);
}

bool rmc_mem_load_pieces(const struct rmc_mem *mem, u64 off, u8 *dst, u32 len);
void rmc_mem_store_pieces(const struct rmc_mem *mem, u64 off, const u8 *src, u32 len);

/*
 * Copy from and to segments, with line semantics, see line.h. The ring side never wraps
 * here. A load returns false when a line keeps changing.
 */
static inline bool rmc_mem_load_lines(const struct rmc_mem *mem, u64 off, u8 *dst, u32 len)
{
	u64 run;
	const u8 *src = rmc_mem_at(mem, off, &run);

	if (likely(len <= run))
		return rmc_lines_load(dst, src, len);
	return rmc_mem_load_pieces(mem, off, dst, len);
}

static inline void rmc_mem_store_lines(const struct rmc_mem *mem, u64 off, const u8 *src, u32 len)
{
	u64 run;
	u8 *dst = rmc_mem_at(mem, off, &run);

	if (likely(len <= run))
		rmc_lines_store(dst, src, len);
	else
		rmc_mem_store_pieces(mem, off, src, len);
}

/**
 * struct rmc_bufs - the local buffers of one file, sorted by address
 * @count: number of buffers
 * @last: index of the last hit
 * @mem: buffers
 *
 * Owned by the worker that runs the file's RGP: only calls on that worker change it, so a
 * lookup needs no lock.
 */
struct rmc_bufs {
	u32 count;
	u32 last;
	struct rmc_mem *mem[RMC_MAX_BUFFERS];
};

/**
 * rmc_bufs_find() - find the buffer that holds [addr, addr + len)
 * @bufs: buffers of the file
 * @addr: application address from a WQ entry; any value
 * @len: bytes, not 0
 *
 * Return: the buffer, or NULL when no single buffer holds all of it.
 */
static inline struct rmc_mem *rmc_bufs_find(struct rmc_bufs *bufs, u64 addr, u64 len)
{
	u32 lo = 0, hi = bufs->count, mid;
	struct rmc_mem *m;

	if (likely(bufs->last < hi)) {
		m = bufs->mem[bufs->last];
		if (likely(addr >= m->base && rmc_mem_covers(m, addr - m->base, len)))
			return m;
	}
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		m = bufs->mem[mid];
		if (addr < m->base) {
			hi = mid;
		} else if (addr - m->base >= READ_ONCE(m->length)) {
			lo = mid + 1;
		} else {
			bufs->last = mid;
			return rmc_mem_covers(m, addr - m->base, len) ? m : NULL;
		}
	}
	return NULL;
}

int rmc_bufs_add(struct rmc_bufs *bufs, struct rmc_mem *mem);
int rmc_bufs_del(struct rmc_bufs *bufs, struct rmc_mem *mem);

#endif
