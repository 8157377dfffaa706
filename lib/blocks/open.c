/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Areas of blocks: their shape, their format; opening them. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "state.h"

#define CHUNK_DEFAULT		64
#define BACKOFF_NS		1000
#define BACKOFF_MAX_NS		64000
#define DATA_MIN		16

static bool is_table(const struct rmc_blocks_options *o)
{
	return o->structure == RMC_BLOCKS_TABLE || o->structure == RMC_BLOCKS_TABLE_DIRECT;
}

static void defaults(struct rmc_blocks_options *o)
{
	if (!o->scheme)
		o->scheme = rmc_scheme_find("farm");
	if (!o->nodes)
		o->nodes = 1;
	if (!o->fixed && !is_table(o))
		o->fixed = 1;
	if (!o->backoff_ns && !o->backoff_max_ns) {
		o->backoff_ns = BACKOFF_NS;
		o->backoff_max_ns = BACKOFF_MAX_NS;
	}
	if (!o->grace_us)
		o->grace_us = RMC_BLOCKS_GRACE_US;
	if (!o->wait_us)
		o->wait_us = o->grace_us > UINT32_MAX - RMC_BLOCKS_WAIT_US ? UINT32_MAX :
			     o->grace_us + RMC_BLOCKS_WAIT_US;
	if (!o->chunk)
		o->chunk = CHUNK_DEFAULT;
}

static uint64_t lines(uint64_t bytes)
{
	return (bytes + RMC_CACHE_LINE - 1) & ~(uint64_t)(RMC_CACHE_LINE - 1);
}

/*
 * Remote writers store an image: of schemes whose readers detect that, and take no latch of their
 * own
 */
static bool suits(const struct rmc_scheme *s)
{
	return (s->fetch == RMC_FETCH_READ || s->fetch == RMC_FETCH_SABRE) &&
	       s->flags & RMC_SCHEME_ATOMIC && !s->acquire;
}

static int shape_of(struct shape *s, const struct rmc_blocks_options *o)
{
	uint64_t last = o->first_nid < 0 ? ~0ULL : (uint64_t)o->first_nid + o->nodes - 1;
	bool is_sync = rmc_remote_is_sync(o);
	int err;

	if (!is_sync && !suits(o->scheme))
		return rmc_fail(EINVAL, "blocks: scheme %s does not suit remote writers",
				o->scheme->name);
	if (o->bytes < DATA_MIN || o->bytes > RMC_LENGTH_MAX / 2 || o->offset % RMC_CACHE_LINE ||
	    o->capacity > RMC_BLOCKS_MAX || o->fixed > o->capacity || last > RMC_NID_MAX ||
	    o->chunk > RMC_BLOCKS_MAX)
		return rmc_fail(EINVAL, "blocks: %zu bytes each, %llu of which %llu fixed at %llu, "
				"in %u nodes from %d on: not possible", o->bytes,
				(unsigned long long)o->capacity, (unsigned long long)o->fixed,
				(unsigned long long)o->offset, o->nodes, o->first_nid);
	if (!o->fixed)
		return rmc_fail(EINVAL, "blocks: a table needs a number of buckets (fixed)");
	if (o->structure == RMC_BLOCKS_BTREE)
		return rmc_fail(EINVAL, "blocks: a B-tree moves keys between blocks, so it is for "
				"transactions only (rmc_tx_blocks_open); else take a B+tree");
	if (o->structure > RMC_BLOCKS_BTREE || o->flags & ~RMC_BLOCKS_REDO)
		return rmc_fail(EINVAL, "blocks: structure %u, flags %#x: not known", o->structure,
				o->flags);
	/* others wait while a client waits for the end of a lost write */
	if (o->wait_us < o->grace_us)
		return rmc_fail(EINVAL, "blocks: wait_us %u is less than grace_us %u", o->wait_us,
				o->grace_us);
	*s = (struct shape){ .layout = o->scheme, .object = o->bytes, .latch = "version" };
	err = is_sync ? rmc_remote_sync_shape(o, s) : 0;
	if (err)
		return err;
	s->image = s->layout->image(s->object);
	s->copy_at = s->stride = rmc_scheme_bytes(s->layout, s->object);
	/* one line is stored as a whole */
	s->copy = o->flags & RMC_BLOCKS_REDO && s->image > RMC_CACHE_LINE;
	if (s->copy)
		s->stride = 2 * s->copy_at + RMC_CACHE_LINE;
	s->stride += o->pad * (size_t)RMC_CACHE_LINE;
	if (s->stride > RMC_LENGTH_MAX)
		return rmc_fail(EINVAL, "blocks: %zu bytes are more than one read", s->stride);
	s->next_at = sizeof(struct area);
	s->free_at = s->next_at + RMC_CACHE_LINE;
	s->latches_at = s->free_at + lines((o->capacity + 7) / 8);
	s->blocks_at = s->latches_at + (s->apart ? lines(o->capacity * sizeof(uint64_t)) : 0);
	s->end = s->blocks_at + o->capacity * s->stride;
	if (s->end > RMC_OFFSET_MAX || o->offset > RMC_OFFSET_MAX - s->end)
		return rmc_fail(EINVAL, "blocks: an area of %llu bytes is beyond a segment",
				(unsigned long long)s->end);
	return 0;
}

/* Complete and checked: 0 or -EINVAL, -E2BIG */
static int options_in(struct rmc_blocks_options *o, struct shape *s,
		      const struct rmc_blocks_options *options, size_t size)
{
	int err = rmc_struct_in(o, sizeof(*o), options, size, RMC_BLOCKS_OPTIONS_SIZE_VER1,
				"blocks options");

	if (err)
		return err;
	defaults(o);
	return shape_of(s, o);
}

size_t rmc_blocks_bytes_sized(const struct rmc_blocks_options *options, size_t size)
{
	struct rmc_blocks_options o;
	struct shape s;

	return options_in(&o, &s, options, size) ? 0 : s.end;
}

size_t rmc_blocks_fit(const struct rmc_scheme *scheme, size_t image)
{
	size_t len = image & ~(size_t)7;

	if (!scheme)
		scheme = rmc_scheme_find("farm");
	while (len && scheme->image(len) > image)
		len -= 8;
	/* the sum of sync.c, of a scheme that has none itself */
	if (rmc_scheme_find(scheme->name) != scheme && image > RMC_CACHE_LINE)
		len -= 8;
	return len;
}

/* Of images; the lines for words are behind them */
static size_t images_of(const struct rmc_blocks_options *o, const struct shape *s)
{
	return rmc_remote_is_sync(o) ? rmc_remote_sync_memory(o, s) : BLOCK_BUFFERS * s->stride;
}

static size_t memory_of(const struct rmc_blocks_options *o, const struct shape *s)
{
	return images_of(o, s) + sizeof(struct area);
}

size_t rmc_blocks_memory_sized(const struct rmc_blocks_options *options, size_t size)
{
	struct rmc_blocks_options o;
	struct shape s;

	return options_in(&o, &s, options, size) ? 0 : memory_of(&o, &s);
}

static struct area area_of(const struct rmc_blocks_options *o, const struct shape *s)
{
	struct area a = {
		.magic = BLOCK_AREA_MAGIC,
		.capacity = o->capacity,
		.fixed = o->fixed,
		.bytes = o->bytes,
		.first_nid = (uint32_t)o->first_nid,
		.nodes = o->nodes,
		.structure = o->structure,
		.flags = o->flags,
		.pad = o->pad,
	};

	strncpy(a.latch, s->latch, sizeof(a.latch) - 1);
	strncpy(a.scheme, o->scheme->name, sizeof(a.scheme) - 1);
	return a;
}

/* Not 0, and another one than before, whatever that was */
static uint64_t next_epoch(const struct area *before)
{
	struct timespec ts;
	uint64_t epoch;

	clock_gettime(CLOCK_REALTIME, &ts);
	epoch = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	if (epoch && epoch != before->epoch)
		return epoch;
	return before->epoch + 1 + (before->epoch == ~0ULL);
}

int rmc_blocks_format_sized(const struct rmc_blocks_options *options, void *area, size_t size)
{
	struct rmc_blocks_options o;
	uint8_t *at = (uint8_t *)area;
	struct area a, *header = (struct area *)area;
	struct shape s;
	uint64_t i;
	int err = options_in(&o, &s, options, size);

	if (err)
		return err;
	if ((uintptr_t)area % RMC_CACHE_LINE)
		return rmc_fail(EINVAL, "blocks: an area begins with a line");
	rmc_store_relaxed(&header->magic, 0);
	/* latches, too */
	memset(at + s.next_at, 0, s.blocks_at - s.next_at);
	rmc_store_relaxed((uint64_t *)(void *)(at + s.next_at), o.fixed);
	for (i = 0; i < o.capacity; i++)
		rmc_scheme_init(s.layout, (struct rmc_object *)(void *)
				(at + s.blocks_at + i * s.stride), s.object);
	a = area_of(&o, &s);
	a.epoch = next_epoch(header);
	memcpy(at + sizeof(a.magic), (uint8_t *)&a + sizeof(a.magic), sizeof(a) - sizeof(a.magic));
	/* the area before its magic; pairs with the RMC's reads, a line at a time */
	rmc_store_release(&header->magic, a.magic);
	return 0;
}

/* The area's header, into scratch: 0 or a status */
static int read_header(struct remote *r, unsigned int area)
{
	unsigned int tries = 0;
	int err;

	rmc_remote_alone(r);
	do {
		r->stats.validations++;
		err = rmc_read(r->qp, area_nid(r, area), r->o.offset, r->scratch,
			       sizeof(struct area));
	} while (rmc_remote_again(r, area, err, &tries));
	return err;
}

/*
 * Before an operation on an area whose node was not there once: 0; -ESTALE: it was formatted again;
 * a status: it is still not there
 */
int rmc_remote_check_area(struct remote *r, unsigned int area)
{
	struct chunk *c = &r->chunk[area];
	struct area a;
	int err;

	if (!c->suspect)
		return c->gone ? -ESTALE : 0;
	err = read_header(r, area);
	if (err)
		return err;
	memcpy(&a, r->scratch, sizeof(a));
	c->suspect = false;
	c->gone |= a.magic != BLOCK_AREA_MAGIC || a.epoch != c->epoch;
	return c->gone ? -ESTALE : 0;
}

/* All owners have formatted the same areas */
static int compare_areas(struct remote *r)
{
	struct area mine = area_of(&r->o, &r->shape), a;
	unsigned int i;
	int err;

	for (i = 0; i < r->o.nodes; i++) {
		err = read_header(r, i);
		if (err)
			return rmc_fail(err < 0 ? -err : EIO, "blocks of node %d: %s",
					area_nid(r, i), rmc_strerror(err));
		memcpy(&a, r->scratch, sizeof(a));
		mine.epoch = r->chunk[i].epoch = a.epoch;
		if (memcmp(&a, &mine, sizeof(mine)))
			return rmc_fail(EPROTO, "node %d has no such area of blocks: formatted, "
					"with the same options?", area_nid(r, i));
	}
	return 0;
}

/* One block of each area is read as all will be: a SABRe has limits that depend on the segment */
static int try_blocks(struct remote *r)
{
	struct rmc_block_hold h = { 0 };
	unsigned int i;
	int err;

	for (i = 0; i < r->o.nodes; i++) {
		err = rmc_remote_enter(r, block_at(r, i, 0), RMC_BLOCK_READ, 1, &h);
		if (err && err != RMC_BLOCK_RESTART)
			return rmc_fail(err < 0 ? -err : EIO, "a block of %zu bytes of node %d: %s",
					r->shape.image, area_nid(r, i), rmc_strerror(err));
		rmc_remote_cancel(r, &h);
	}
	return 0;
}

static int open_memory(struct remote *r)
{
	size_t len = rmc_page_round(memory_of(&r->o, &r->shape));

	r->chunk = (struct chunk *)calloc(r->o.nodes, sizeof(*r->chunk));
	r->data = (uint8_t *)calloc(BLOCK_BUFFERS + 1, r->o.bytes);
	if (!r->chunk || !r->data)
		return rmc_fail(ENOMEM, "out of memory");
	r->pending_image = r->data + BLOCK_BUFFERS * r->o.bytes;
	if (r->o.memory) {
		r->memory = (uint8_t *)r->o.memory;
	} else {
		void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (p == MAP_FAILED)
			return rmc_fail(ENOMEM, "out of memory");
		madvise(p, len, MADV_DONTFORK);
		r->memory = (uint8_t *)p;
		r->buf_id = rmc_buf_register(r->qp->ctx, p, len);
		if (r->buf_id < 0)
			return r->buf_id;
	}
	r->scratch = (uint64_t *)(void *)(r->memory + images_of(&r->o, &r->shape));
	return rmc_remote_is_sync(&r->o) ? rmc_remote_sync_open(r) : 0;
}

static void release(struct remote *r)
{
	rmc_sync_close(r->sync);
	if (r->buf_id >= 0)
		rmc_buf_unregister(r->qp->ctx, r->buf_id);
	if (r->memory && !r->o.memory)
		rmc_unmap(r->qp->ctx, r->memory, rmc_page_round(memory_of(&r->o, &r->shape)));
	free(r->data);
	free(r->chunk);
	free(r);
}

struct rmc_blocks *rmc_blocks_open_sized(struct rmc_qp *qp,
					 const struct rmc_blocks_options *options, size_t size)
{
	struct remote *r = (struct remote *)calloc(1, sizeof(*r));
	int err;

	if (!r) {
		rmc_set_errmsg("out of memory");
		return NULL;
	}
	r->qp = qp;
	r->buf_id = -1;
	err = options_in(&r->o, &r->shape, options, size);
	if (!err && ((unsigned int)r->o.nid > RMC_NID_MAX || !r->o.client ||
		     r->o.client >= RMC_BLOCKS_CLIENTS))
		err = rmc_fail(EINVAL, "blocks: client %u of node %d, numbers are 1 to %d",
			       r->o.client, r->o.nid, RMC_BLOCKS_CLIENTS - 1);
	if (!err && (uintptr_t)r->o.memory % sizeof(uint64_t))
		err = rmc_fail(EINVAL, "blocks: memory is not aligned to words");
	if (err)
		goto err;
	r->base.ops = &rmc_remote_ops;
	r->base.bytes = r->o.bytes;
	r->base.fixed = r->o.fixed * r->o.nodes;
	r->base.structure = r->o.structure;
	r->owner = ((uint64_t)r->o.client << BLOCK_OWNER_NID_BITS | (uint64_t)(r->o.nid + 1)) <<
		   BLOCK_WORD_OWNER_SHIFT;
	/* no address: a program in virtual time behaves the same in each run */
	r->seed = (rmc_now_ns() ^ r->owner) * 0x9e3779b97f4a7c15ULL;
	r->seed += !r->seed;
	r->turn = r->o.client;
	r->deadline = rmc_now_ns() + wait_ns(r);
	err = open_memory(r);
	if (!err)
		err = compare_areas(r);
	if (!err)
		err = try_blocks(r);
	memset(&r->stats, 0, sizeof(r->stats));
	if (!err)
		return &r->base;
err:
	release(r);
	errno = -err;
	return NULL;
}

void rmc_remote_close(struct rmc_blocks *blocks)
{
	struct remote *r = remote_of(blocks);

	rmc_remote_settle_now(r);
	rmc_remote_give_back(r);
	release(r);
}

/* --- of any accessor --- */

void rmc_blocks_close(struct rmc_blocks *blocks)
{
	if (blocks)
		blocks->ops->close(blocks);
}

int rmc_blocks_settle(struct rmc_blocks *blocks)
{
	return blocks->ops->settle ? blocks->ops->settle(blocks) : 0;
}

int rmc_blocks_recover(struct rmc_blocks *blocks, int nid, unsigned int client)
{
	return blocks->ops->recover ? blocks->ops->recover(blocks, nid, client) : -EOPNOTSUPP;
}

void rmc_blocks_stats_sized(const struct rmc_blocks *blocks, struct rmc_blocks_stats *stats,
			    size_t size)
{
	struct rmc_blocks_stats s = { 0 };

	if (blocks->ops->stats)
		blocks->ops->stats(blocks, &s);
	rmc_struct_out(stats, size, &s, sizeof(s));
}

/* --- callers of any version, see <rmc/abi.h> --- */

size_t blocks_bytes_ver1(const struct rmc_blocks_options *options) RMC_VER0(rmc_blocks_bytes);
size_t blocks_bytes_ver1(const struct rmc_blocks_options *options)
{
	return rmc_blocks_bytes_sized(options, RMC_BLOCKS_OPTIONS_SIZE_VER1);
}

size_t blocks_memory_ver1(const struct rmc_blocks_options *options) RMC_VER0(rmc_blocks_memory);
size_t blocks_memory_ver1(const struct rmc_blocks_options *options)
{
	return rmc_blocks_memory_sized(options, RMC_BLOCKS_OPTIONS_SIZE_VER1);
}

int blocks_format_ver1(const struct rmc_blocks_options *options, void *area)
	RMC_VER0(rmc_blocks_format);
int blocks_format_ver1(const struct rmc_blocks_options *options, void *area)
{
	return rmc_blocks_format_sized(options, area, RMC_BLOCKS_OPTIONS_SIZE_VER1);
}

struct rmc_blocks *blocks_open_ver1(struct rmc_qp *qp, const struct rmc_blocks_options *options)
	RMC_VER0(rmc_blocks_open);
struct rmc_blocks *blocks_open_ver1(struct rmc_qp *qp, const struct rmc_blocks_options *options)
{
	return rmc_blocks_open_sized(qp, options, RMC_BLOCKS_OPTIONS_SIZE_VER1);
}

void blocks_stats_ver1(const struct rmc_blocks *blocks, struct rmc_blocks_stats *stats)
	RMC_VER0(rmc_blocks_stats);
void blocks_stats_ver1(const struct rmc_blocks *blocks, struct rmc_blocks_stats *stats)
{
	rmc_blocks_stats_sized(blocks, stats, RMC_BLOCKS_STATS_SIZE_VER1);
}
