/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What of a range of addresses can be shared, and how: see share.h. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../internal.h"
#include "maps.h"
#include "region.h"
#include "share.h"

/* Holes of a registration that are filled for a daemon of our own user: as in tools/rmcd/holes.c */
#define FILL_BYTES	(64ULL << 20)

/* Consecutive addresses that become one piece */
struct run {
	uintptr_t start, end;
	enum { RUN_PRIVATE, RUN_MOVE, RUN_FILE } kind;
	int prot;
	uint64_t offset;	/* RUN_FILE */
	int file;		/* RUN_FILE: index of the region */
};

struct plan {
	struct run run[RMCD_PIECES];
	unsigned int runs;
	int too_many;		/* runs or files */
	int lazy;		/* large holes stay */
	uint64_t filled;	/* bytes of files with holes */
};

static const char why_private[] =
	"rmcd cannot map private memory that is no whole pages: take rmc_seg_alloc(), or page-aligned memory of whole pages (not of the stack)";
static const char why_many[] =
	"the memory consists of too many mappings for rmcd: take rmc_seg_alloc(), or one mapping";
static const char why_holes[] =
	"the memory is of a file with holes, and nothing is left to fill them: free some, or take a smaller file";
static const char why_fixed[] =
	"this memory cannot be moved to where rmcd maps it: take rmc_seg_alloc()";

/* Index of the file, whose reference it takes over; -1: there are too many files */
static int add_file(struct rmc_share *s, struct rmc_region *r)
{
	unsigned int i;

	for (i = 0; i < s->regions; i++) {
		if (s->region[i] == r) {
			rmc_region_put(r);
			return (int)i;
		}
	}
	if (s->regions == RMCD_MESSAGE_FDS) {
		rmc_region_put(r);
		return -1;
	}
	s->region[s->regions] = r;
	return (int)s->regions++;
}

static int continues(const struct run *a, const struct run *b)
{
	if (a->kind != b->kind || a->end != b->start)
		return 0;
	if (a->kind == RUN_MOVE)
		return a->prot == b->prot;
	return a->kind == RUN_PRIVATE ||
	       (a->file == b->file && a->offset + (a->end - a->start) == b->offset);
}

static void add_run(struct plan *p, const struct run *r)
{
	if (r->start >= r->end)
		return;
	if (p->runs && continues(&p->run[p->runs - 1], r))
		p->run[p->runs - 1].end = r->end;
	else if (p->runs == RMCD_PIECES)
		p->too_many = 1;
	else
		p->run[p->runs++] = *r;
}

static int plan_shared(struct rmc_share *s, struct plan *p, const struct rmc_vma *v,
		       struct run *r)
{
	struct rmc_region *region;
	int err = rmc_region_get(v, &region);

	/* memory without a way to its file: other processes may have it, so it stays */
	if (err && err != -ENOENT)
		return err;
	r->kind = RUN_PRIVATE;
	if (!err) {
		r->kind = RUN_FILE;
		r->offset = v->offset + (r->start - v->start);
		r->file = add_file(s, region);
		if (r->file < 0)
			p->too_many = 1;
	}
	add_run(p, r);
	return 0;
}

/* The whole pages among these bytes move. The main thread's stack grows, so it does not. */
static void plan_private(struct plan *p, const struct rmc_vma *v, const struct run *r)
{
	uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	uintptr_t first = (r->start + mask) & ~mask, last = r->end & ~mask;
	struct run part = *r;

	part.kind = RUN_PRIVATE;
	if (first >= last || !strcmp(v->path, "[stack]")) {
		add_run(p, &part);
		return;
	}
	part.end = first;
	add_run(p, &part);
	part.kind = RUN_MOVE;
	part.start = first;
	part.end = last;
	add_run(p, &part);
	part.kind = RUN_PRIVATE;
	part.start = last;
	part.end = r->end;
	add_run(p, &part);
}

static int make_plan(struct rmc_share *s, struct plan *p, uintptr_t at, uintptr_t end)
{
	FILE *maps = rmc_maps_open();
	struct rmc_vma v;
	struct run r;
	int err = 0;

	if (!maps)
		return -errno;
	while (!err && at < end && rmc_maps_next(maps, &v)) {
		if (v.end <= at)
			continue;
		if (v.start > at || !(v.prot & PROT_READ) || !(v.prot & PROT_WRITE))
			break;
		r = (struct run) { .start = at, .end = v.end < end ? v.end : end, .prot = v.prot };
		if (v.shared)
			err = plan_shared(s, p, &v, &r);
		else
			plan_private(p, &v, &r);
		at = r.end;
	}
	fclose(maps);
	return err ? err : at < end ? -EFAULT : 0;
}

static void drop(struct rmc_share *s)
{
	while (s->regions)
		rmc_region_put(s->region[--s->regions]);
	memset(&s->memory, 0, sizeof(s->memory));
}

static void plan_all_private(struct rmc_share *s, struct plan *p, uintptr_t at, uintptr_t end)
{
	drop(s);
	p->runs = 1;
	p->run[0] = (struct run) { .start = at, .end = end, .kind = RUN_PRIVATE };
}

static int is_private(const struct plan *p)
{
	unsigned int i;

	for (i = 0; i < p->runs; i++)
		if (p->run[i].kind == RUN_PRIVATE)
			return 1;
	return 0;
}

/* Memory that cannot move can be a local buffer still. */
static int move_run(struct rmc_share *s, struct run *r, int shared_only, const char **why)
{
	struct rmc_region *region;
	int err;

	err = rmc_region_move(r->start, r->end - r->start, r->prot, &region);
	if (err == -ENOMEM || err == -EFAULT)
		return err;
	if (!err) {
		r->kind = RUN_FILE;
		r->offset = 0;
		r->file = add_file(s, region);
		if (r->file >= 0)
			return 0;
	}
	if (shared_only) {
		*why = why_fixed;
		return -EOPNOTSUPP;
	}
	r->kind = RUN_PRIVATE;
	return 0;
}

/*
 * rmcd fills no holes for others, and who fills them is charged. 0, or -ENOMEM. A file that is too
 * short, or that a seal protects, is rmcd's to judge. One of our own user leaves holes beyond some
 * size to who touches them, and so do we: a large file may be meant to have them.
 */
static int fill_holes(const struct rmc_share *s, struct plan *p, const struct run *r,
		      const char **why)
{
	int fd = rmc_region_fd(s->region[r->file]);
	struct stat st;

	if (fstat(fd, &st) || (uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size ||
	    r->offset + (r->end - r->start) > rmc_page_round((uint64_t)st.st_size))
		return 0;
	p->filled += r->end - r->start;
	if (p->lazy && p->filled > FILL_BYTES)
		return 0;
	if (!rmc_populate(fd, r->start, r->end - r->start, r->offset))
		return 0;
	*why = why_holes;
	return -ENOMEM;
}

static int carry_out(struct rmc_share *s, struct plan *p, int shared_only, const char **why)
{
	struct rmcd_piece *piece;
	struct run *r;
	int err;

	for (r = p->run; r < p->run + p->runs; r++) {
		err = r->kind == RUN_MOVE ? move_run(s, r, shared_only, why) :
		      r->kind == RUN_FILE ? fill_holes(s, p, r, why) : 0;
		if (err)
			return err;
		piece = &s->memory.piece[s->memory.count++];
		piece->length = r->end - r->start;
		piece->offset = r->kind == RUN_FILE ? r->offset : 0;
		piece->fd = r->kind == RUN_FILE ? r->file : RMCD_PRIVATE;
	}
	return 0;
}

int rmc_share_begin(struct rmc_share *s, void *addr, size_t len, int shared_only, int lazy,
		    const char **why)
{
	uintptr_t start = (uintptr_t)addr, end = start + len;
	struct plan p = { .lazy = lazy };
	int err;

	memset(s, 0, sizeof(*s));
	if (end < start)
		return -EFAULT;
	rmc_regions_lock();
	err = make_plan(s, &p, start, end);
	if (!err && p.too_many && !shared_only)
		plan_all_private(s, &p, start, end);
	if (!err && shared_only && (p.too_many || is_private(&p))) {
		*why = p.too_many ? why_many : why_private;
		err = -EOPNOTSUPP;
	}
	if (!err)
		err = carry_out(s, &p, shared_only, why);
	if (err)
		drop(s);
	rmc_regions_unlock();
	return err;
}

void *rmc_share_alloc(struct rmc_share *s, size_t len, int numa_node)
{
	struct rmc_region *region;
	void *p;

	memset(s, 0, sizeof(*s));
	rmc_regions_lock();
	p = rmc_region_alloc(len, numa_node, &region);
	if (p) {
		s->region[s->regions++] = region;
		s->memory.count = 1;
		s->memory.piece[0] = (struct rmcd_piece) { .length = len };
	}
	rmc_regions_unlock();
	return p;
}

void rmc_share_end(struct rmc_share *s)
{
	int err = errno;

	rmc_regions_lock();
	drop(s);
	rmc_regions_unlock();
	errno = err;
}

void rmc_share_fds(const struct rmc_share *s, int *fd)
{
	unsigned int i;

	for (i = 0; i < s->regions; i++)
		fd[i] = rmc_region_fd(s->region[i]);
}
