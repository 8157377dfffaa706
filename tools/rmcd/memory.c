// SPDX-License-Identifier: GPL-2.0
/* Maps the memory of clients, and copies from and to what only they have mapped. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "memory.h"

/*
 * Chunks are pages where some of the memory is private: those have no address, so what the
 * core computes from it is less than a page.
 */
#define CHUNK_SHIFT	12

/* Only memory: a file system could make a worker wait, or write back what it did not know. */
static int check_file(int fd, struct stat *st)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) || fstat(fd, st))
		return -EINVAL;
	if ((u64)fs.f_type != TMPFS_MAGIC && (u64)fs.f_type != HUGETLBFS_MAGIC)
		return -EOPNOTSUPP;
	return S_ISREG(st->st_mode) ? 0 : -EOPNOTSUPP;
}

/* @addr: where the client has it mapped: same offset within a page */
static int map_piece(struct rmcd_mem *m, const struct rmcd_piece *p, int fd, u64 addr)
{
	struct rmcd_map *map = &m->map[m->maps];
	u64 first = p->offset & ~(u64)(PAGE_SIZE - 1), end;
	struct stat st;
	int err;

	if (__builtin_add_overflow(p->offset, p->length, &end) || end > INT64_MAX - PAGE_SIZE ||
	    (p->offset - addr) % PAGE_SIZE)
		return -EINVAL;
	err = check_file(fd, &st);
	if (err)
		return err;
	/* huge pages are mapped whole */
	if ((u64)st.st_blksize > PAGE_SIZE)
		first &= ~((u64)st.st_blksize - 1);
	if (PAGE_ALIGN(end) > PAGE_ALIGN((u64)st.st_size))
		return -EFAULT;
	map->len = PAGE_ALIGN(end - first);
	if ((u64)st.st_blksize > PAGE_SIZE)
		map->len = ALIGN(map->len, (u64)st.st_blksize);
	map->addr = mmap(NULL, map->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, first);
	if (map->addr == MAP_FAILED)
		return errno == EACCES || errno == EPERM ? -EFAULT : -errno;
	map->start = (char *)map->addr + (p->offset - first);
	map->dev = st.st_dev;
	map->ino = st.st_ino;
	map->offset = p->offset;
	map->length = p->length;
	m->maps++;
	return 0;
}

static int make_chunks(struct rmcd_mem *m, u64 addr, u64 length)
{
	u64 n = ((addr & (PAGE_SIZE - 1)) + length + PAGE_SIZE - 1) >> CHUNK_SHIFT;

	m->mem.chunk = calloc(n, sizeof(void *));
	if (!m->mem.chunk)
		return -ENOMEM;
	rmc_mem_chunks(&m->mem, CHUNK_SHIFT);
	m->mem.head = addr & (PAGE_SIZE - 1);
	return 0;
}

/* A file's bytes [@at, @at + @length) of the memory: whole pages, or its first or last ones. */
static int fill_chunks(struct rmcd_mem *m, u64 at, u64 length, bool last)
{
	u64 from = m->mem.head + at, i;
	char *start = m->map[m->maps - 1].start;

	if ((at && from % PAGE_SIZE) || (!last && (from + length) % PAGE_SIZE))
		return -EINVAL;
	start -= from % PAGE_SIZE;
	for (i = from >> CHUNK_SHIFT; i <= (from + length - 1) >> CHUNK_SHIFT; i++) {
		m->mem.chunk[i] = start;
		start += PAGE_SIZE;
	}
	return 0;
}

/* Its pieces cover it exactly, and those that are private are allowed. */
static int check(const struct rmcd_memory *desc, u32 nfds, u64 length, int foreign)
{
	u64 sum = 0;
	u32 i;

	if (!desc->count || desc->count > RMCD_PIECES || desc->reserved)
		return -EINVAL;
	for (i = 0; i < desc->count; i++) {
		const struct rmcd_piece *p = &desc->piece[i];

		if (!p->length || p->reserved || __builtin_add_overflow(sum, p->length, &sum))
			return -EINVAL;
		if (p->fd == RMCD_PRIVATE ? foreign < 0 : p->fd < 0 || (u32)p->fd >= nfds)
			return p->fd == RMCD_PRIVATE ? -EOPNOTSUPP : -EINVAL;
	}
	return sum == length ? 0 : -EINVAL;
}

/**
 * rmcd_mem_create() - map the memory of a registration
 * @desc: pieces, any value; a private copy
 * @fds: descriptors of the message; they stay the caller's
 * @nfds: number of them
 * @addr: address in the client
 * @length: bytes, 1 .. RMC_MAX_SEGMENT
 * @foreign: the client's /proc/PID/mem, or -1: no private memory; stays the caller's, and open
 *	as long as the memory
 *
 * Return: memory, or ERR_PTR: -EINVAL, -EFAULT the file is shorter or not open for writing,
 * -EOPNOTSUPP neither shared memory nor huge pages, or private memory, -ENOMEM.
 */
struct rmcd_mem *rmcd_mem_create(const struct rmcd_memory *desc, const int *fds, u32 nfds,
				 u64 addr, u64 length, int foreign)
{
	struct rmcd_mem *m = calloc(1, sizeof(*m));
	u64 at = 0, end;
	int err;
	u32 i;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->foreign = -1;
	m->length = length;
	m->mem.base = addr;
	m->mem.length = length;
	err = __builtin_add_overflow(addr, length, &end) || end > INT64_MAX ? -EFAULT :
	      check(desc, nfds, length, foreign);
	if (err)
		goto err;
	if (desc->count == 1 && desc->piece[0].fd != RMCD_PRIVATE) {
		err = map_piece(m, &desc->piece[0], fds[desc->piece[0].fd], addr);
		if (err)
			goto err;
		m->mem.chunk = calloc(1, sizeof(void *));
		err = -ENOMEM;
		if (!m->mem.chunk)
			goto err;
		/* one chunk */
		rmc_mem_chunks(&m->mem, 63);
		m->mem.chunk[0] = m->map[0].start;
		return m;
	}
	err = make_chunks(m, addr, length);
	for (i = 0; !err && i < desc->count; at += desc->piece[i++].length) {
		const struct rmcd_piece *p = &desc->piece[i];

		if (p->fd == RMCD_PRIVATE) {
			m->foreign = foreign;
			continue;
		}
		err = map_piece(m, p, fds[p->fd], addr + at) ?:
		      fill_chunks(m, at, p->length, i + 1 == desc->count);
	}
	if (!err)
		return m;
err:
	rmcd_mem_destroy(m);
	return ERR_PTR(err);
}

/**
 * rmcd_mem_destroy() - unmap memory
 * @m: memory that no worker uses any more
 */
void rmcd_mem_destroy(struct rmcd_mem *m)
{
	while (m->maps--)
		munmap(m->map[m->maps].addr, m->map[m->maps].len);
	free(m->mem.chunk);
	free(m);
}

/* ---- private memory ---- */

static u64 client_address(const struct rmc_mem *mem, u64 off)
{
	return mem->base + off;
}

/**
 * rmc_os_foreign_get() - copy from private memory of a client
 * @mem: local buffer
 * @off: offset in it, bytes; the caller has checked it
 * @dst: copy
 * @len: bytes
 *
 * Memory that the client has unmapped reads as zero: only the client sees that.
 */
void rmc_os_foreign_get(const struct rmc_mem *mem, u64 off, u8 *dst, u32 len)
{
	const struct rmcd_mem *m = (const struct rmcd_mem *)mem;
	ssize_t n;

	n = pread(m->foreign, dst, len, client_address(mem, off));
	if (n < 0)
		n = 0;
	memset(dst + n, 0, len - n);
}

/**
 * rmc_os_foreign_put() - copy to private memory of a client
 * @mem: local buffer
 * @off: offset in it, bytes; the caller has checked it
 * @src: data
 * @len: bytes
 */
void rmc_os_foreign_put(const struct rmc_mem *mem, u64 off, const u8 *src, u32 len)
{
	const struct rmcd_mem *m = (const struct rmcd_mem *)mem;
	ssize_t n;

	n = pwrite(m->foreign, src, len, client_address(mem, off));
	/* unmapped since: nobody waits for it */
	(void)n;
}

/* ---- one worker serves a line ---- */

static bool same_bytes(const struct rmcd_map *a, const struct rmcd_map *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->offset < b->offset + b->length &&
	       b->offset < a->offset + a->length;
}

static bool overlap(const struct rmcd_mem *a, const struct rmcd_mem *b)
{
	u32 i, k;

	for (i = 0; i < a->maps; i++)
		for (k = 0; k < b->maps; k++)
			if (same_bytes(&a->map[i], &b->map[k]))
				return true;
	return false;
}

/**
 * rmcd_mem_expose() - record memory that a segment exposes
 * @d: daemon
 * @m: memory
 * @node: node that serves it
 *
 * Return: 0, or -EADDRINUSE: some of it is exposed already, and it is not the case that one
 * worker serves both.
 */
int rmcd_mem_expose(struct rmcd *d, struct rmcd_mem *m, struct rmc_node *node)
{
	const struct rmcd_mem *other;
	u32 i;

	m->worker = node->srv_worker;
	for (i = 0; i < rmc_fabric_rrpps(node->fabric); i++)
		if (node->unit[i]->srv_worker != m->worker)
			m->worker = NULL;
	for (other = d->exposed; other; other = other->next)
		if ((!m->worker || m->worker != other->worker) && overlap(m, other))
			return -EADDRINUSE;
	m->next = d->exposed;
	d->exposed = m;
	return 0;
}

/**
 * rmcd_mem_hide() - mirror of rmcd_mem_expose()
 * @d: daemon
 * @m: memory that no worker serves any more
 */
void rmcd_mem_hide(struct rmcd *d, struct rmcd_mem *m)
{
	struct rmcd_mem **link;

	for (link = &d->exposed; *link; link = &(*link)->next) {
		if (*link == m) {
			*link = m->next;
			return;
		}
	}
}
