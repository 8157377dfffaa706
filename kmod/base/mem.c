// SPDX-License-Identifier: GPL-2.0
/* Copies across chunks, and the sorted table of a file's local buffers. */
#include "mem.h"

/**
 * rmc_mem_load_pieces() - rmc_mem_load_lines() across chunks
 * @mem: segment
 * @off: offset in it, bytes; the caller has checked the range
 * @dst: payload, at the same offset within a line
 * @len: bytes
 *
 * Return: false when a line keeps changing.
 * Context: worker, does not sleep.
 */
bool rmc_mem_load_pieces(const struct rmc_mem *mem, u64 off, u8 *dst, u32 len)
{
	while (len) {
		u64 run;
		const u8 *src = rmc_mem_at(mem, off, &run);
		u32 n = min_t(u64, run, len);

		if (unlikely(!rmc_lines_load(dst, src, n)))
			return false;
		dst += n;
		off += n;
		len -= n;
	}
	return true;
}

/**
 * rmc_mem_store_pieces() - rmc_mem_store_lines() across chunks
 * @mem: segment
 * @off: offset in it, bytes; the caller has checked the range
 * @src: payload, at the same offset within a line
 * @len: bytes
 *
 * Context: worker, does not sleep.
 */
void rmc_mem_store_pieces(const struct rmc_mem *mem, u64 off, const u8 *src, u32 len)
{
	while (len) {
		u64 run;
		u8 *dst = rmc_mem_at(mem, off, &run);
		u32 n = min_t(u64, run, len);

		rmc_lines_store(dst, src, n);
		src += n;
		off += n;
		len -= n;
	}
}

/**
 * rmc_bufs_add() - add a local buffer
 * @bufs: table; the caller is the worker that owns it
 * @mem: buffer, stays the caller's
 *
 * Return: 0, -EEXIST when it overlaps another, -ENOSPC when the table is full.
 * Context: does not sleep.
 */
int rmc_bufs_add(struct rmc_bufs *bufs, struct rmc_mem *mem)
{
	u32 i;

	if (bufs->count == RMC_MAX_BUFFERS)
		return -ENOSPC;
	for (i = 0; i < bufs->count; i++)
		if (mem->base < bufs->mem[i]->base + READ_ONCE(bufs->mem[i]->length) &&
		    bufs->mem[i]->base < mem->base + mem->length)
			return -EEXIST;
	/* after an unmapped one at the same address: the search passes that to the right */
	for (i = bufs->count; i > 0 && bufs->mem[i - 1]->base > mem->base; i--)
		bufs->mem[i] = bufs->mem[i - 1];
	bufs->mem[i] = mem;
	bufs->count++;
	return 0;
}

/**
 * rmc_bufs_del() - remove a local buffer
 * @bufs: table; the caller is the worker that owns it
 * @mem: buffer
 *
 * Operations in flight still point to it: see rmc_itt_abort().
 *
 * Return: 0, -ENOENT when the table does not hold it.
 * Context: does not sleep.
 */
int rmc_bufs_del(struct rmc_bufs *bufs, struct rmc_mem *mem)
{
	u32 i;

	for (i = 0; i < bufs->count; i++)
		if (bufs->mem[i] == mem)
			break;
	if (i == bufs->count)
		return -ENOENT;
	bufs->count--;
	for (; i < bufs->count; i++)
		bufs->mem[i] = bufs->mem[i + 1];
	bufs->mem[bufs->count] = NULL;
	return 0;
}
