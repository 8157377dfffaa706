// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the core, for the simulator. 128 nodes have 16,000 channels of 19 KB, of which an
 * operation uses a random one: with malloc() that is a page fault for each 4 KB, and a TLB miss
 * for nearly each access. Here blocks are cut from chunks that the kernel backs with huge pages,
 * where it has some, and that are zero already. Freed blocks are reused by size. With
 * AddressSanitizer the core uses malloc(), as in other tests.
 */
#include "node.h"

#ifdef RMC_SHIM_MEMORY
#include <sys/mman.h>

#define CHUNK_MIN	(64 * 1024)
#define CHUNK_MAX	(64 * 1024 * 1024)
/* larger ones are from malloc() */
#define BLOCK_MAX	(32 * 1024)

/**
 * struct block - header, right before a block
 * @bytes: of header and block
 * @next: free block of the same size
 */
struct block {
	size_t bytes;
	struct block *next;
};

/* Header of a chunk, in its first line; the header of the first block is at the line's end */
struct chunk {
	struct chunk *next;
	size_t bytes;
};

/*
 * @at, @left: rest of the newest chunk, all zero unless it is @used; @spare: of earlier
 * simulations; @free: by size in lines
 */
static struct {
	struct chunk *chunks, *spare;
	void *at;
	size_t left;
	bool used;
	struct block *free[BLOCK_MAX / RMC_LINE + 1];
} memory;

static struct chunk *map_chunk(void)
{
	size_t bytes = memory.chunks ? min(2 * memory.chunks->bytes, (size_t)CHUNK_MAX) : CHUNK_MIN;
	struct chunk *c = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (c == MAP_FAILED)
		return NULL;
	/* where there are no huge pages, others do */
	madvise(c, bytes, MADV_HUGEPAGE);
	c->bytes = bytes;
	return c;
}

static bool add_chunk(void)
{
	size_t head = RMC_LINE - sizeof(struct block);
	struct chunk *c = memory.spare;

	memory.used = c;
	if (c)
		memory.spare = c->next;
	else
		c = map_chunk();
	if (!c)
		return false;
	c->next = memory.chunks;
	memory.chunks = c;
	memory.at = (char *)c + head;
	memory.left = c->bytes - head;
	return true;
}

/* A block that this simulation has not used. */
static struct block *cut(size_t bytes)
{
	struct block *b;

	if (memory.left < bytes && !add_chunk())
		return NULL;
	b = memory.at;
	memory.at = (char *)memory.at + bytes;
	memory.left -= bytes;
	if (memory.used)
		memset(b, 0, bytes);
	b->bytes = bytes;
	return b;
}

/**
 * rmc_os_zalloc() - allocate memory of the core
 * @bytes: how many
 *
 * Return: zeroed memory, aligned to 64 bytes; NULL: no memory.
 */
void *rmc_os_zalloc(size_t bytes)
{
	size_t all = ALIGN(sizeof(struct block) + bytes, RMC_LINE);
	struct block **list = &memory.free[all / RMC_LINE], *b;

	if (all > BLOCK_MAX) {
		char *p = aligned_alloc(RMC_LINE, RMC_LINE + ALIGN(bytes, RMC_LINE));

		if (!p)
			return NULL;
		b = (struct block *)(p + RMC_LINE) - 1;
		b->bytes = all;
		return memset(b + 1, 0, bytes);
	}
	b = *list;
	if (!b) {
		b = cut(all);
		return b ? b + 1 : NULL;
	}
	*list = b->next;
	return memset(b + 1, 0, bytes);
}

/**
 * rmc_os_free() - free memory of the core
 * @p: from rmc_os_zalloc(), or NULL
 */
void rmc_os_free(void *p)
{
	struct block *b = (struct block *)p - 1;

	if (!p)
		return;
	if (b->bytes > BLOCK_MAX) {
		free((char *)p - RMC_LINE);
		return;
	}
	b->next = memory.free[b->bytes / RMC_LINE];
	memory.free[b->bytes / RMC_LINE] = b;
}

/**
 * sim_memory_reset() - end of a simulation: no block is in use
 *
 * Its chunks are the next one's.
 */
void sim_memory_reset(void)
{
	while (memory.chunks) {
		struct chunk *c = memory.chunks;

		memory.chunks = c->next;
		c->next = memory.spare;
		memory.spare = c;
	}
	memory.left = 0;
	memset(memory.free, 0, sizeof(memory.free));
}

#else

void sim_memory_reset(void)
{
}

#endif
