/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Readers: their options, which are some of those of <rmc/sync.h>. */
#include "reader.h"

/* Options of a relaxed rmc_sync, or -errno with the message set */
static int sync_options(struct rmc_sync_options *o, struct plan *plan,
			const struct rmc_reader_options *r)
{
	if (!r->scheme)
		return rmc_fail(EINVAL, "reader: no scheme");
	if (scheme_of(r->scheme)->row & ROW_LATE)
		return rmc_fail(EINVAL, "reader: %s needs rmc_sync_end()", r->scheme->name);
	memset(o, 0, sizeof(*o));
	o->scheme = r->scheme;
	o->max = r->max;
	o->buffers = r->window;
	o->attempts = r->attempts;
	o->backoff_ns = r->backoff_ns;
	o->backoff_max_ns = r->backoff_max_ns;
	o->params = r->params;
	o->nid = r->nid;
	o->rpc = r->rpc;
	o->memory = r->memory;
	return rmc_sync_compile(plan, o, NULL);
}

static struct rmc_reader *reader_open(struct rmc_qp *qp,
				      const struct rmc_reader_options *options)
{
	struct rmc_sync_options o;
	struct rmc_reader *r;
	struct plan plan;
	int err;

	err = sync_options(&o, &plan, options);
	if (!err && (sync_buffers(&o) > qp->entries / 2 ||
		     (options->scheme->flags & RMC_SCHEME_MESSAGE && !options->rpc)))
		err = rmc_fail(EINVAL, "reader: a window beyond half the queue pair's %u entries, "
			       "or a scheme of messages without an RPC", qp->entries);
	if (err) {
		errno = -err;
		return NULL;
	}
	r = (struct rmc_reader *)rmc_sync_create(qp, &o, &plan);
	if (!r)
		return NULL;
	r->s.relaxed = 1;
	/* the other layouts' checks are of images, and there are no upgrades */
	r->s.notes = !!(plan.scheme->layout->flags & LAYOUT_WORDS);
	r->s.fall_back = !!options->fall_back;
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
	struct rmc_sync_options s;
	struct plan plan;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_READER_OPTIONS_SIZE_VER0,
			     "reader options") || sync_options(&s, &plan, &o) ? 0 :
	       rmc_sync_memory(&s, plan.scheme);
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

void rmc_reader_close(struct rmc_reader *r)
{
	if (r)
		rmc_sync_close(&r->s);
}
