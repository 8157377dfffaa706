/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Readers: their memory, of which a part is registered, from open to close. */
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include "reader.h"

#define DEFAULT_ATTEMPTS	64

static size_t image_bytes(const struct rmc_reader_options *o)
{
	/* the data of clean layouts stays aligned; one more line for an unaligned end */
	return rmc_scheme_bytes(o->scheme, o->max) + RMC_CACHE_LINE;
}

static size_t reader_bytes(const struct rmc_reader_options *o)
{
	return (size_t)rmc_reader_window(o) * image_bytes(o);
}

static int no_memory(const struct rmc_reader *r)
{
	return rmc_fail(ENOMEM, "reader: no memory for %u objects", rmc_reader_window(&r->o));
}

/* Sets the message; of a buffer that cannot be registered, rmc_buf_register() did. */
static int allocate(struct rmc_reader *r)
{
	unsigned int n = rmc_reader_window(&r->o), i;
	size_t clean = (r->o.max + RMC_CACHE_LINE) & ~(size_t)(RMC_CACHE_LINE - 1);
	uint8_t *image = (uint8_t *)r->o.memory;
	int err;

	r->entry = (struct entry *)calloc(n, sizeof(*r->entry));
	r->slot = (struct slot *)calloc(r->qp->entries, sizeof(*r->slot));
	r->unlatch = (struct unlatch *)calloc(r->qp->entries + n, sizeof(*r->unlatch));
	/* a power of two, so that positions can wrap */
	while (r->done_mask + 1 < n)
		r->done_mask = 2 * r->done_mask + 1;
	r->done = (struct entry **)calloc(r->done_mask + 1, sizeof(*r->done));
	r->free = (unsigned int *)calloc(n, sizeof(*r->free));
	if (!r->entry || !r->slot || !r->unlatch || !r->done || !r->free)
		return no_memory(r);
	if (!image) {
		size_t len = rmc_page_round(reader_bytes(&r->o));

		if (posix_memalign(&r->memory, (size_t)sysconf(_SC_PAGESIZE), len))
			return no_memory(r);
		memset(r->memory, 0, len);
		err = rmc_buf_register(r->qp->ctx, r->memory, len);
		if (err < 0)
			return err;
		r->buf_id = err;
		image = (uint8_t *)r->memory;
	}
	for (i = 0; i < n; i++, image += image_bytes(&r->o)) {
		r->entry[i].image = image;
		if (r->o.scheme->flags & RMC_SCHEME_CLEAN)
			r->entry[i].data = image + r->o.scheme->data_at;
		else if (posix_memalign((void **)&r->entry[i].data, RMC_CACHE_LINE, clean))
			return no_memory(r);
		r->free[r->frees++] = n - 1 - i;
	}
	return 0;
}

static void deallocate(struct rmc_reader *r)
{
	unsigned int i;

	for (i = 0; r->entry && i < rmc_reader_window(&r->o); i++)
		if (!(r->o.scheme->flags & RMC_SCHEME_CLEAN))
			free(r->entry[i].data);
	if (r->buf_id >= 0)
		rmc_buf_unregister(r->qp->ctx, r->buf_id);
	free(r->memory);
	free(r->free);
	free(r->done);
	free(r->unlatch);
	free(r->slot);
	free(r->entry);
	free(r);
}

static struct rmc_reader *reader_open(struct rmc_qp *qp,
				      const struct rmc_reader_options *options)
{
	struct rmc_reader *r;
	int err;

	if (!options->scheme || rmc_reader_window(options) > qp->entries / 2 ||
	    (options->scheme->flags & RMC_SCHEME_MESSAGE && !options->rpc)) {
		rmc_fail(EINVAL, "reader: no scheme, a window beyond half the queue pair's %u "
			 "entries, or a scheme of messages without an RPC", qp->entries);
		return NULL;
	}
	r = (struct rmc_reader *)calloc(1, sizeof(*r));
	if (!r) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	r->qp = qp;
	r->o = *options;
	r->scheme = scheme_of(options->scheme);
	r->latch_at = r->scheme->layout->latch_at;
	r->releases = r->scheme->latch && r->scheme->latch->flags & LATCH_RELEASED;
	r->p = scheme_params(&options->params);
	r->buf_id = -1;
	if (!r->o.attempts)
		r->o.attempts = DEFAULT_ATTEMPTS;
	if (getrandom(&r->token, sizeof(r->token), 0) != sizeof(r->token))
		r->token = monotonic_ns() * 0x9e3779b97f4a7c15ULL;
	r->seed = r->token | 1;
	err = allocate(r);
	if (err) {
		deallocate(r);
		errno = -err;
		return NULL;
	}
	return r;
}

struct rmc_reader *rmc_reader_open_sized(struct rmc_qp *qp,
					 const struct rmc_reader_options *options, size_t size)
{
	struct rmc_reader_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_READER_OPTIONS_SIZE_VER0,
			     "reader options") ? NULL : reader_open(qp, &o);
}

size_t rmc_reader_bytes_sized(const struct rmc_reader_options *options, size_t size)
{
	struct rmc_reader_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_READER_OPTIONS_SIZE_VER0,
			     "reader options") ? 0 : reader_bytes(&o);
}

struct rmc_reader *reader_open_ver0(struct rmc_qp *qp, const struct rmc_reader_options *options)
	RMC_VER0(rmc_reader_open);
struct rmc_reader *reader_open_ver0(struct rmc_qp *qp, const struct rmc_reader_options *options)
{
	return rmc_reader_open_sized(qp, options, RMC_READER_OPTIONS_SIZE_VER0);
}

size_t reader_bytes_ver0(const struct rmc_reader_options *options) RMC_VER0(rmc_reader_bytes);
size_t reader_bytes_ver0(const struct rmc_reader_options *options)
{
	return rmc_reader_bytes_sized(options, RMC_READER_OPTIONS_SIZE_VER0);
}

/* Those of reads that wait for their turn, or for a slot: no completion will come for them. */
static void unlatch_ready(struct rmc_reader *r)
{
	unsigned int i;

	for (i = 0; i < rmc_reader_window(&r->o); i++)
		if (r->entry[i].state == READY && r->entry[i].latched)
			rmc_reader_unlatch(r, &r->entry[i]);
}

void rmc_reader_close(struct rmc_reader *r)
{
	struct rmc_completion c;

	if (!r)
		return;
	if (!rmc_qp_inherited(r->qp))
		unlatch_ready(r);
	/* wait: operations use memory, and latches of remote objects are held */
	while (!rmc_qp_inherited(r->qp) && (rmc_qp_in_flight(r->qp) || r->unlatches)) {
		rmc_reader_issue_unlatches(r);
		if (rmc_cq_wait(r->qp, &c))
			break;
		if (r->slot[c.slot].use == USE_UNLATCH)
			rmc_reader_unlatched(r, &r->slot[c.slot].unlatch, c.status);
		else if (r->releases)
			rmc_reader_unlatch(r, r->slot[c.slot].entry);
	}
	deallocate(r);
}
