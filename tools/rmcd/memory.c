// SPDX-License-Identifier: GPL-2.0
/* Maps the memory of clients, and copies from and to what only they have mapped. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "closing.h"
#include "holes.h"
#include "lost.h"
#include "memory.h"
#include "received.h"

/* So much is unmapped at once: who maps meanwhile waits for it */
#define UNMAP_BYTES	(32UL << 20)

/* Huge pages are mapped whole; only alone, since the address of one has to be a multiple of it. */
static u64 unit_of(const struct stat *st)
{
	return (u64)st->st_blksize > PAGE_SIZE ? (u64)st->st_blksize : PAGE_SIZE;
}

/* From the end on: nobody else can map something there before the rest is gone. */
static void unmap(char *addr, size_t len, size_t page)
{
	size_t step = max(UNMAP_BYTES, page), left = 0, tail;
	int err = 0;

	for (; len; len -= tail) {
		tail = len % step ?: step;
		if (!munmap(addr + len - tail, tail))
			continue;
		err = errno;
		left += tail;
	}
	if (left)
		rmcd_log("%zu bytes stay mapped: %s", left, strerror(err));
}

/*
 * Mapped elsewhere first, then moved: where mmap() itself fails with MAP_FIXED, it may have
 * unmapped what was there, and another thread maps memory of another user into the gap.
 */
static int move_piece(struct rmcd_mem *m, struct rmcd_map *map, char *at)
{
	int err;

	if (mremap(map->addr, map->len, map->len, MREMAP_MAYMOVE | MREMAP_FIXED, at) !=
	    MAP_FAILED) {
		map->addr = at;
		return 0;
	}
	err = -errno;
	unmap(map->addr, map->len, PAGE_SIZE);
	/* nobody knows whether this part is still ours: it stays; the caller unmaps the rest */
	unmap(at + map->len, m->range + m->range_len - (at + map->len), PAGE_SIZE);
	m->range_len = at - m->range;
	return err;
}

static bool has_huge_pages(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == HUGETLBFS_MAGIC;
}

/* @at: where to map the first byte of its page, in a range that we have; NULL: anywhere */
static int map_piece(struct rmcd_mem *m, const struct rmcd_piece *p, int fd, char *at)
{
	struct rmcd_map *map = &m->map[m->maps];
	u64 first, end, unit;
	struct stat st;
	int err;

	if (__builtin_add_overflow(p->offset, p->length, &end) || end > INT64_MAX - (1ULL << 31) ||
	    fstat(fd, &st) || (at && has_huge_pages(fd)))
		return -EINVAL;
	if (PAGE_ALIGN(end) > PAGE_ALIGN((u64)st.st_size))
		return -EFAULT;
	unit = at ? PAGE_SIZE : unit_of(&st);
	first = p->offset & ~(unit - 1);
	map->len = ALIGN(end - first, unit);
	map->addr = mmap(NULL, map->len, PROT_READ | PROT_WRITE,
			 MAP_SHARED | (m->own ? 0 : MAP_NORESERVE), fd, first);
	if (map->addr == MAP_FAILED)
		return errno == EACCES || errno == EPERM ? -EFAULT : -errno;
	if (at) {
		err = move_piece(m, map, at);
		if (err)
			return err;
	}
	m->maps++;
	map->start = (char *)map->addr + (p->offset - first);
	map->dev = st.st_dev;
	map->ino = st.st_ino;
	map->offset = p->offset;
	map->length = p->length;
	map->page = unit;
	return rmcd_holes(m, map, fd, &st);
}

/* Its pieces cover it exactly, those that are private are allowed, and the others are memory. */
static int check(const struct rmcd_registration *reg, const int *fds, u32 nfds)
{
	const struct rmcd_memory *desc = &reg->memory;
	u64 addr = reg->addr, sum = 0;
	u32 i;

	if (!desc->count || desc->count > RMCD_PIECES || desc->reserved)
		return -EINVAL;
	for (i = 0; i < desc->count; i++) {
		const struct rmcd_piece *p = &desc->piece[i];
		u64 begin = addr + sum;

		if (!p->length || p->reserved || __builtin_add_overflow(sum, p->length, &sum))
			return -EINVAL;
		if (p->fd == RMCD_PRIVATE) {
			if (reg->foreign < 0)
				return -EOPNOTSUPP;
			continue;
		}
		/* whole pages, but for the first and the last byte of all */
		if (p->fd < 0 || (u32)p->fd >= nfds || (p->offset - begin) % PAGE_SIZE ||
		    (i && begin % PAGE_SIZE) ||
		    (i + 1 < desc->count && (addr + sum) % PAGE_SIZE))
			return -EINVAL;
		/* a file system could make a worker wait, or write back what it did not know */
		if (!rmcd_is_memory(fds[p->fd]))
			return -EOPNOTSUPP;
	}
	return sum == reg->length ? 0 : -EINVAL;
}

/**
 * rmcd_registration_check() - check what can be checked without waiting
 * @reg: any value; a private copy
 * @fds: descriptors of the message
 * @nfds: number of them
 *
 * Context: main thread.
 *
 * Return: 0, -EINVAL, -EFAULT, -EOPNOTSUPP neither shared memory nor huge pages, or private memory.
 */
int rmcd_registration_check(const struct rmcd_registration *reg, const int *fds, u32 nfds)
{
	u64 end;

	if (__builtin_add_overflow(reg->addr, reg->length, &end) || end > INT64_MAX)
		return -EFAULT;
	return check(reg, fds, nfds);
}

/* Several pieces: side by side in one range of addresses; nothing is where they are private. */
static int map_range(struct rmcd_mem *m, const struct rmcd_memory *desc, const int *fds, u64 addr,
		     u64 length)
{
	u64 head = addr % PAGE_SIZE, at = head;
	u32 i;
	int err;

	m->range_len = PAGE_ALIGN(head + length);
	m->range = mmap(NULL, m->range_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);
	if (m->range == MAP_FAILED) {
		m->range = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < desc->count; at += desc->piece[i++].length) {
		const struct rmcd_piece *p = &desc->piece[i];

		if (p->fd == RMCD_PRIVATE)
			continue;
		m->map[m->maps].in_range = true;
		err = map_piece(m, p, fds[p->fd], m->range + (at & ~(u64)(PAGE_SIZE - 1)));
		if (err)
			return err;
	}
	m->mem.chunk[0] = m->range + head;
	return 0;
}

static void unmap_all(struct rmcd_mem *m)
{
	for (; m->maps; m->maps--)
		if (!m->map[m->maps - 1].in_range)
			unmap(m->map[m->maps - 1].addr, m->map[m->maps - 1].len,
			      m->map[m->maps - 1].page);
	if (m->range)
		unmap(m->range, m->range_len, PAGE_SIZE);
}

static bool has_private(const struct rmcd_memory *desc)
{
	u32 i;

	for (i = 0; i < desc->count; i++)
		if (desc->piece[i].fd == RMCD_PRIVATE)
			return true;
	return false;
}

/**
 * rmcd_mem_create() - map the memory of a registration
 * @reg: registration, after rmcd_registration_check(). Its descriptor of private memory stays the
 *	caller's, and open as long as the memory
 * @fds: descriptors of the message; they stay the caller's
 *
 * Context: a thread of the client's user: this takes its time.
 * The memory belongs to nobody else yet; rmcd_mem_ready() has to follow.
 *
 * Return: memory, or ERR_PTR: -EINVAL, -EFAULT the file is shorter, has holes or is not open for
 * writing, -ENOMEM, also to fill holes of the file.
 */
struct rmcd_mem *rmcd_mem_create(const struct rmcd_registration *reg, const int *fds)
{
	const struct rmcd_memory *desc = &reg->memory;
	struct rmcd_mem *m = calloc(1, sizeof(*m));
	int err;
	u32 i;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->foreign = -1;
	m->length = reg->length;
	m->uid = reg->uid;
	m->own = reg->own;
	m->mem.base = reg->addr;
	m->mem.length = reg->length;
	m->mem.chunk = m->chunk;
	/* one chunk */
	rmc_mem_chunks(&m->mem, 63);
	if (has_private(desc)) {
		rmc_mem_chunks(&m->mem, RMC_OS_FOREIGN_SHIFT);
		m->foreign = reg->foreign;
		m->pieces = desc->count;
		for (i = 0; i < desc->count; i++) {
			m->piece[i].length = desc->piece[i].length;
			m->piece[i].private = desc->piece[i].fd == RMCD_PRIVATE;
		}
	}
	if (desc->count == 1 && m->foreign < 0) {
		err = map_piece(m, &desc->piece[0], fds[desc->piece[0].fd], NULL);
		if (!err)
			m->mem.chunk[0] = m->map[0].start;
	} else {
		err = map_range(m, desc, fds, reg->addr, reg->length);
	}
	if (!err)
		return m;
	unmap_all(m);
	free(m);
	return ERR_PTR(err);
}

/**
 * rmcd_mem_ready() - workers may use memory from now on
 * @m: memory of rmcd_mem_create()
 *
 * Context: main thread.
 *
 * Return: 0, -ENOSPC too many mappings.
 */
int rmcd_mem_ready(struct rmcd_mem *m)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < m->maps; i++)
		err = rmcd_replaceable(m->map[i].addr, m->map[i].len, m->map[i].page, m);
	return err;
}

static void free_elsewhere(struct rmcd_job *job)
{
	struct rmcd_mem *m = (struct rmcd_mem *)((char *)job - offsetof(struct rmcd_mem, job));

	unmap_all(m);
	free(m);
}

/**
 * rmcd_mem_destroy() - unmap memory
 * @m: memory that no worker uses any more
 *
 * Context: main thread. The client may have closed its files: then this frees them.
 */
void rmcd_mem_destroy(struct rmcd_mem *m)
{
	u32 i;

	for (i = 0; i < m->maps; i++)
		rmcd_not_replaceable(m->map[i].addr);
	m->job.run = free_elsewhere;
	m->job.fail = NULL;
	m->job.weight = max(m->maps, 1U);
	if (!rmcd_do_elsewhere(m->uid, RMCD_JOB_FREE, &m->job))
		rmcd_log("%llu bytes of user %u stay mapped: no memory",
			 (unsigned long long)m->length, m->uid);
}

/**
 * rmcd_mem_lost() - refuse further operations: pages of the memory are gone
 * @m: memory
 *
 * They would not reach the client, and seem to succeed. Operations complete with
 * RMC_S_OUT_OF_RANGE, with a local buffer RMC_S_BAD_LBUF.
 *
 * Context: signal handler of a thread that uses the memory.
 */
void rmcd_mem_lost(struct rmcd_mem *m)
{
	WRITE_ONCE(m->mem.length, 0);
	if (m->view)
		WRITE_ONCE(m->view->length, 0);
}

/* ---- private memory ---- */

/* What of [@off, @off + @len) is in its first piece: the length, and whether it is private */
static u32 next_piece(const struct rmcd_mem *m, u64 off, u32 len, bool *private)
{
	u64 end = 0;
	u32 i;

	for (i = 0; i < m->pieces; i++) {
		end += m->piece[i].length;
		if (off < end)
			break;
	}
	*private = i < m->pieces && m->piece[i].private;
	return min_t(u64, len, end - off);
}

/**
 * rmc_os_foreign_get() - copy from a local buffer that is partly private memory of a client
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
	bool private;
	ssize_t got;
	u32 n;

	for (; len; off += n, dst += n, len -= n) {
		n = next_piece(m, off, len, &private);
		if (!private) {
			rmc_copy(dst, rmc_mem_ptr(mem, off), n);
			continue;
		}
		got = pread(m->foreign, dst, n, mem->base + off);
		if (got < (ssize_t)n)
			memset(dst + max(got, (ssize_t)0), 0, n - max(got, (ssize_t)0));
	}
}

/**
 * rmc_os_foreign_put() - copy to such a local buffer
 * @mem: local buffer
 * @off: offset in it, bytes; the caller has checked it
 * @src: data
 * @len: bytes
 */
void rmc_os_foreign_put(const struct rmc_mem *mem, u64 off, const u8 *src, u32 len)
{
	const struct rmcd_mem *m = (const struct rmcd_mem *)mem;
	bool private;
	u32 n;

	for (; len; off += n, src += n, len -= n) {
		n = next_piece(m, off, len, &private);
		if (!private)
			rmc_copy(rmc_mem_ptr(mem, off), src, n);
		else if (pwrite(m->foreign, src, n, mem->base + off) < 0)
			continue;	/* unmapped since: nobody waits for it */
	}
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
