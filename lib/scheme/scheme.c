/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What the owner of objects does by the row of their scheme: initialize, write, read, repair
 * them, and break their latches; and how a reader checks an image.
 */
#include "../internal.h"
#include "row.h"
#include "scheme.h"

void rmc_scheme_init(const struct rmc_scheme *s, struct rmc_object *o, size_t len)
{
	uint32_t sum_at = scheme_of(s)->layout->sum_at;
	static const uint8_t zeros[64];
	size_t bytes = rmc_scheme_bytes(s, len);
	uint64_t crc = 0;
	size_t n;

	memset(o, 0, bytes);
	if (!sum_at)
		return;		/* zeroed memory is a consistent object */
	for (n = len; n >= sizeof(zeros); n -= sizeof(zeros))
		crc = rmc_crc64(crc, zeros, sizeof(zeros));
	crc = rmc_crc64(crc, zeros, n);
	memcpy((uint8_t *)o + sum_at, &crc, sizeof(crc));
}

int rmc_scheme_write(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
		     size_t len, const struct rmc_scheme_params *params)
{
	struct rmc_scheme_params p = scheme_params(params);
	const struct latch *latch = scheme_of(s)->latch;
	int err = 0;

	rmc_object_write_begin(o);
	if (latch)
		err = latch->acquire(o, &p);
	if (!err) {
		s->store(o, data, len);
		if (latch)
			latch->release(o);
	}
	rmc_object_write_end(o);
	return err;
}

int rmc_scheme_read(const struct rmc_scheme *s, const struct rmc_object *o, void *data, size_t len)
{
	uint64_t version = rmc_object_read_begin(o);
	int err = 0;

	if (version & 1)
		return RMC_SCHEME_LOCKED;
	if (s->copy)
		err = s->copy(o, data, len);
	else
		copy_out(data, (const uint8_t *)o + s->data_at, len);
	return err || rmc_object_read_retry(o, version) ? RMC_SCHEME_TORN : 0;
}

int rmc_scheme_check(const struct rmc_scheme *s, const void *image, void *clean, size_t len,
		     const void **data)
{
	*data = s->flags & RMC_SCHEME_CLEAN ? (const uint8_t *)image + s->data_at : clean;
	return s->check ? s->check(image, clean, len) : 0;
}

/* The latch whose word names its holder, or NULL */
static const struct latch *named_latch(const struct rmc_scheme *s)
{
	const struct latch *latch = scheme_of(s)->latch;

	return latch && latch->flags & LATCH_NAMED ? latch : NULL;
}

int rmc_scheme_holder(const struct rmc_scheme *s, const struct rmc_object *o)
{
	const struct latch *latch = named_latch(s);
	uint64_t w;

	if (!latch)
		return -1;
	w = rmc_load_acquire(latch_word(scheme_of(s), o));
	if (w == latch->owner)
		return -2;
	return (int)(w & LOCK_NID_MASK) - 1;
}

int rmc_scheme_break(const struct rmc_scheme *s, struct rmc_object *o, int nid)
{
	const struct latch *latch = named_latch(s);
	uint64_t *word, w;

	if (!latch || nid < 0)
		return -ENOENT;
	word = latch_word(scheme_of(s), o);
	w = rmc_load_acquire(word);
	if (w == latch->owner || (int)(w & LOCK_NID_MASK) - 1 != nid)
		return -ENOENT;
	return __atomic_compare_exchange_n(word, &w, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ?
	       0 : -ENOENT;
}

struct rewrite {
	const struct rmc_scheme *scheme;
	const void *data;
	size_t len;
};

static int rewrite(struct rmc_object *o, void *arg)
{
	const struct rewrite *r = (const struct rewrite *)arg;
	const struct rmc_scheme_params p = scheme_params(NULL);
	const struct scheme *s = scheme_of(r->scheme);
	int err = 0;

	/* the dead writer may hold the latch already; those of readers still count */
	if (s->latch && rmc_load_acquire(latch_word(s, o)) != s->latch->owner)
		err = s->latch->acquire(o, &p);
	if (err)
		return err;
	s->pub.store(o, r->data, r->len);
	if (s->latch)
		s->latch->release(o);
	return 0;
}

int rmc_scheme_repair(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
		      size_t len)
{
	struct rewrite r = { s, data, len };

	return rmc_object_repair(o, rewrite, &r);
}
