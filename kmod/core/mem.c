// SPDX-License-Identifier: GPL-2.0
/* The sorted table of a file's local buffers. */
#include "mem.h"

/**
 * rmc_bufs_add() - make a local buffer known
 * @bufs: table; the caller runs on the worker that owns it
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
		if (mem->base < bufs->mem[i]->base + bufs->mem[i]->length &&
		    bufs->mem[i]->base < mem->base + mem->length)
			return -EEXIST;
	for (i = bufs->count; i > 0 && bufs->mem[i - 1]->base > mem->base; i--)
		bufs->mem[i] = bufs->mem[i - 1];
	bufs->mem[i] = mem;
	bufs->count++;
	return 0;
}

/**
 * rmc_bufs_del() - forget a local buffer
 * @bufs: table; the caller runs on the worker that owns it
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
