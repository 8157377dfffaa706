/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Moves private memory to files that rmcd maps, and back: see region.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../internal.h"
#include "maps.h"
#include "region.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL		8U
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

#define NUMA_NODES		1024	/* as many as Linux can have */
#define NUMA_BIND		2	/* MPOL_BIND, of a header that few systems have */

/**
 * struct rmc_region - a file
 * @next: in the list
 * @fd: the file; -1 in a child of fork(), which has nothing to pass
 * @dev: of the file
 * @ino: of the file
 * @refs: registrations; 0: it could not move back, and stays for fork(), or until it is
 *	registered again
 * @addr: moved private memory: where it is
 * @len: moved private memory: bytes; 0: not moved
 *
 * Guarded by lock.
 */
struct rmc_region {
	struct rmc_region *next;
	int fd;
	uint64_t dev, ino;
	unsigned int refs;
	uintptr_t addr;
	size_t len;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct rmc_region *regions;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/*
 * Map what is missing in these bytes: they may have mappings that the application has made
 * since, or pages that have moved back. Takes no lock and no memory, as in a child of fork().
 */
static void fill_gaps(int fd, uintptr_t addr, size_t len, uint64_t offset)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), half;
	void *at = (void *)addr, *p;

	p = mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd,
		 (off_t)offset);
	if (p == at)
		return;
	if (p != MAP_FAILED)		/* before Linux 4.17 */
		munmap(p, len);
	else if (errno != EEXIST)
		return;
	/* msync() without effect: it fails if there is a gap */
	if (len <= page || !msync(at, len, MS_ASYNC))
		return;
	half = (len / page / 2) * page;
	fill_gaps(fd, addr, half, offset);
	fill_gaps(fd, addr + half, len - half, offset + half);
}

/*
 * Moved pages are MADV_DONTFORK, so that no child writes to the parent's memory. Put a private
 * mapping there: registered memory must not be a hole in a child, which may free it.
 */
static void after_fork_in_child(void)
{
	struct rmc_region *r;

	while ((r = regions)) {
		regions = r->next;
		if (r->len)
			fill_gaps(r->fd, r->addr, r->len, 0);
		close(r->fd);
		r->fd = -1;
	}
	pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

void rmc_regions_lock(void)
{
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&lock);
}

void rmc_regions_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* Takes over the descriptor; NULL: out of memory */
static struct rmc_region *new_region(int fd)
{
	struct rmc_region *r = (struct rmc_region *)calloc(1, sizeof(*r));
	struct stat st;

	if (!r || fstat(fd, &st)) {
		free(r);
		close(fd);
		return NULL;
	}
	r->fd = fd;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	r->refs = 1;
	return r;
}

static void link_region(struct rmc_region *r)
{
	r->next = regions;
	regions = r;
}

static void free_region(struct rmc_region *r)
{
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

int rmc_region_get(const struct rmc_vma *v, struct rmc_region **region)
{
	struct rmc_region *r;
	int fd;

	for (r = regions; r; r = r->next) {
		if (r->dev == v->dev && r->ino == v->ino) {
			r->refs++;
			*region = r;
			return 0;
		}
	}
	fd = rmc_vma_file(v);
	if (fd < 0)
		return fd;
	r = new_region(fd);
	if (!r)
		return -ENOMEM;
	link_region(r);
	*region = r;
	return 0;
}

/*
 * Beyond the limit of file sizes ftruncate() is a signal, which ends the program; pages beyond
 * this machine's memory are the OOM killer's.
 */
static int too_long(size_t len)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	struct rlimit rl;

	return (!getrlimit(RLIMIT_FSIZE, &rl) && rl.rlim_cur != RLIM_INFINITY && len > rl.rlim_cur) ||
	       (pages > 0 && page > 0 && len / (size_t)page > (size_t)pages);
}

/* A new file whose size is final, or accesses beyond a new end would be SIGBUS */
static int make_file(size_t len, struct rmc_region **region)
{
	int fd = memfd_create("rmc", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL), err;

	if (fd < 0 && errno == EINVAL)		/* before Linux 6.3 */
		fd = memfd_create("rmc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (too_long(len)) {
		close(fd);
		return -ENOMEM;
	}
	if (ftruncate(fd, (off_t)len) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
		err = errno == EFBIG || errno == EINVAL ? ENOMEM : errno;
		close(fd);
		return -err;
	}
	*region = new_region(fd);
	return *region ? 0 : -ENOMEM;
}

/* Between memory and file; pread() and pwrite() fail where an access would be a signal. */
static int copy(int fd, uintptr_t addr, size_t len, uint64_t offset, int to_file)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		if (to_file)
			n = pwrite(fd, (const void *)(addr + done), len - done,
				   (off_t)(offset + done));
		else
			n = pread(fd, (void *)(addr + done), len - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EFAULT ? -EFAULT : -ENOMEM;
		done += (size_t)n;
	}
	return 0;
}

/* Put a mapping elsewhere: it keeps its pages and MADV_DONTFORK. */
static int put_at(void *p, size_t len, uintptr_t addr)
{
	int err;

	if (mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)addr) != MAP_FAILED)
		return 0;
	err = -errno;
	munmap(p, len);
	return err;
}

int rmc_region_move(uintptr_t addr, size_t len, int prot, struct rmc_region **region)
{
	struct rmc_region *r;
	int err = make_file(len, &r);
	void *p;

	if (err)
		return err;
	err = copy(r->fd, addr, len, 0, 1);
	if (err)
		goto err_free;
	p = mmap(NULL, len, prot, MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED) {
		err = -errno;
		goto err_free;
	}
	/* faults do it on a kernel before 5.14 */
	madvise(p, len, MADV_POPULATE_WRITE);
	madvise(p, len, MADV_DONTFORK);
	err = put_at(p, len, addr);
	if (err)
		goto err_free;
	r->addr = addr;
	r->len = len;
	link_region(r);
	*region = r;
	return 0;

err_free:
	free_region(r);
	return err;
}

/* One mapping of moved memory: 0, or -errno; then it stays shared, which works as well. */
static int move_mapping(const struct rmc_region *r, uintptr_t start, size_t len, uint64_t offset,
			int prot)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (copy(r->fd, (uintptr_t)p, len, offset, 0) || mprotect(p, len, prot)) {
		munmap(p, len);
		return -ENOMEM;
	}
	return put_at(p, len, start);
}

/*
 * The application may have unmapped a part, or mapped something else there: that stays.
 * Returns 0 if some of the memory could not be moved, for want of descriptors or memory.
 */
static int move_back(const struct rmc_region *r)
{
	FILE *maps = rmc_maps_open();
	uintptr_t start, end;
	struct rmc_vma v;
	int all = 1;

	if (!maps)
		return 0;
	while (rmc_maps_next(maps, &v) && v.start < r->addr + r->len) {
		start = v.start > r->addr ? v.start : r->addr;
		end = v.end < r->addr + r->len ? v.end : r->addr + r->len;
		if (start >= end || !v.shared || v.dev != r->dev || v.ino != r->ino)
			continue;
		if (move_mapping(r, start, end - start, v.offset + (start - v.start), v.prot))
			all = 0;
	}
	fclose(maps);
	return all;
}

int rmc_populate(int fd, uintptr_t addr, size_t len, uint64_t offset)
{
	uintptr_t first = addr & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);

	while (madvise((void *)first, len + (addr - first), MADV_POPULATE_WRITE)) {
		if (errno == EINVAL)		/* before Linux 5.14 */
			return fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)len) &&
			       (errno == ENOSPC || errno == ENOMEM) ? -1 : 0;
		if (errno != EINTR && errno != EAGAIN)
			return -1;
	}
	return 0;
}

/* Without it, memory that is missing would be noticed by the first access, as SIGBUS. */
static int populate(int fd, void *p, size_t len, int numa_node)
{
	unsigned long nodes[NUMA_NODES / (8 * sizeof(unsigned long))] = { 0 };
	unsigned int bits = 8 * sizeof(unsigned long);

	if (numa_node >= NUMA_NODES)
		return EINVAL;
	if (numa_node >= 0) {
		nodes[(unsigned int)numa_node / bits] = 1UL << (unsigned int)numa_node % bits;
		if (syscall(SYS_mbind, p, len, NUMA_BIND, nodes, NUMA_NODES + 1, 0) &&
		    ((errno != ENOSYS && errno != EPERM) || numa_node))
			return EINVAL;
	}
	return rmc_populate(fd, (uintptr_t)p, len, 0) ? ENOMEM : 0;
}

void *rmc_region_alloc(size_t len, int numa_node, struct rmc_region **region)
{
	size_t mapped = rmc_page_round(len);
	struct rmc_region *r;
	int err;
	void *p;

	err = mapped < len ? -ENOMEM : make_file(mapped, &r);
	if (err) {
		errno = -err;
		return NULL;
	}
	p = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED) {
		err = ENOMEM;
		goto err_free;
	}
	err = populate(r->fd, p, mapped, numa_node);
	if (err)
		goto err_unmap;
	link_region(r);
	*region = r;
	return p;

err_unmap:
	munmap(p, mapped);
err_free:
	free_region(r);
	errno = err;
	return NULL;
}

void rmc_region_put(struct rmc_region *region)
{
	struct rmc_region **link;

	if (--region->refs)
		return;
	/* what is left has MADV_DONTFORK: fork() must find it */
	if (region->fd >= 0 && region->len && !move_back(region))
		return;
	for (link = &regions; *link; link = &(*link)->next) {
		if (*link == region) {
			*link = region->next;
			break;
		}
	}
	free_region(region);
}

int rmc_region_fd(const struct rmc_region *region)
{
	return region->fd;
}
