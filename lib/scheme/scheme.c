/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The table of schemes, and their common code. */
#include "../internal.h"
#include "scheme.h"

static size_t clean_image(size_t len)
{
	return sizeof(struct rmc_object) + len;
}

static void clean_store(struct rmc_object *o, const void *data, size_t len)
{
	copy_in(o + 1, data, len);
}

static const struct rmc_scheme schemes[] = {
	{
		.name	= "sabre",
		.title	= "SABRe: checked at the destination by its RMC",
		.flags	= RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN,
		.fetch	= RMC_FETCH_SABRE,
		.data_at = sizeof(struct rmc_object),
		.image	= clean_image,
		.store	= clean_store,
	}, {
		.name	= "farm",
		.title	= "FaRM: a version in every cache line, compared and stripped by the reader",
		.flags	= RMC_SCHEME_ATOMIC,
		.fetch	= RMC_FETCH_READ,
		.image	= rmc_farm_image,
		.store	= rmc_farm_store,
		.check	= rmc_farm_check,
		.copy	= rmc_farm_copy,
	}, {
		.name	= "crc64",
		.title	= "Pilaf: a CRC64 over the object, computed again by the reader",
		.flags	= RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN,
		.fetch	= RMC_FETCH_READ,
		.data_at = sizeof(struct object_word),
		.image	= rmc_word_image,
		.store	= rmc_crc_store,
		.check	= rmc_crc_check,
	}, {
		.name	= "lock",
		.title	= "DrTM: the reader takes the object's lock by compare-and-swap",
		.flags	= RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_WRITES,
		.fetch	= RMC_FETCH_LOCK,
		.data_at = sizeof(struct object_word),
		.image	= rmc_word_image,
		.store	= rmc_word_store,
		.acquire = rmc_lock_acquire,
		.release = rmc_word_release,
	}, {
		.name	= "lease",
		.title	= "DrTM: readers share the object until a time",
		.flags	= RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_WRITES,
		.fetch	= RMC_FETCH_LEASE,
		.data_at = sizeof(struct object_word),
		.image	= rmc_word_image,
		.store	= rmc_word_store,
		.acquire = rmc_lease_acquire,
		.release = rmc_word_release,
	}, {
		.name	= "strip",
		.title	= "Catapult: FaRM's layout, compared and stripped at the destination",
		.flags	= RMC_SCHEME_ATOMIC | RMC_SCHEME_MESSAGE,
		.fetch	= RMC_FETCH_MESSAGE,
		.image	= rmc_farm_image,
		.store	= rmc_farm_store,
		.check	= rmc_farm_check,
		.copy	= rmc_farm_copy,
	}, {
		.name	= "rpc",
		.title	= "the owner reads and answers by message",
		.flags	= RMC_SCHEME_ATOMIC | RMC_SCHEME_CLEAN | RMC_SCHEME_MESSAGE,
		.fetch	= RMC_FETCH_MESSAGE,
		.data_at = sizeof(struct rmc_object),
		.image	= clean_image,
		.store	= clean_store,
	}, {
		.name	= "plain",
		.title	= "UNSAFE: a remote read and no check; for comparison",
		.flags	= RMC_SCHEME_CLEAN,
		.fetch	= RMC_FETCH_READ,
		.data_at = sizeof(struct rmc_object),
		.image	= clean_image,
		.store	= clean_store,
	},
};

#define SCHEMES		(sizeof(schemes) / sizeof(schemes[0]))

const struct rmc_scheme *rmc_scheme_number(unsigned int i)
{
	return i < SCHEMES ? &schemes[i] : NULL;
}

const struct rmc_scheme *rmc_scheme_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < SCHEMES; i++)
		if (!strcmp(schemes[i].name, name))
			return &schemes[i];
	return NULL;
}

void rmc_scheme_init(const struct rmc_scheme *s, struct rmc_object *o, size_t len)
{
	static const uint8_t zeros[64];
	size_t bytes = rmc_scheme_bytes(s, len);
	uint64_t crc = 0;
	size_t n;

	memset(o, 0, bytes);
	if (s->store != rmc_crc_store)
		return;		/* zeroed memory is a consistent object */
	for (n = len; n >= sizeof(zeros); n -= sizeof(zeros))
		crc = rmc_crc64(crc, zeros, sizeof(zeros));
	((struct object_word *)o)->word = rmc_crc64(crc, zeros, n);
}

int rmc_scheme_write(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
		     size_t len, const struct rmc_scheme_params *params)
{
	struct rmc_scheme_params p = scheme_params(params);
	int err = 0;

	rmc_object_write_begin(o);
	if (s->acquire)
		err = s->acquire(o, &p);
	if (!err) {
		s->store(o, data, len);
		if (s->release)
			s->release(o);
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

int rmc_scheme_holder(const struct rmc_scheme *s, const struct rmc_object *o)
{
	uint64_t w;

	if (s->fetch != RMC_FETCH_LOCK)
		return -1;
	w = rmc_load_acquire(&((const struct object_word *)o)->word);
	if (w == LOCK_OWNER)
		return -2;
	return (int)(w & LOCK_NID_MASK) - 1;
}

int rmc_scheme_break(const struct rmc_scheme *s, struct rmc_object *o, int nid)
{
	uint64_t *word = &((struct object_word *)o)->word, w;

	if (s->fetch != RMC_FETCH_LOCK || nid < 0)
		return -ENOENT;
	w = rmc_load_acquire(word);
	if (w == LOCK_OWNER || (int)(w & LOCK_NID_MASK) - 1 != nid)
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
	uint64_t *word = &((struct object_word *)o)->word;
	int err = 0;

	/* the dead writer may hold the lock already; readers' locks and leases still count */
	if (r->scheme->acquire && rmc_load_acquire(word) != LOCK_OWNER &&
	    rmc_load_acquire(word) != LEASE_OWNER)
		err = r->scheme->acquire(o, &p);
	if (err)
		return err;
	r->scheme->store(o, r->data, r->len);
	if (r->scheme->release)
		r->scheme->release(o);
	return 0;
}

int rmc_scheme_repair(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
		      size_t len)
{
	struct rewrite r = { s, data, len };

	return rmc_object_repair(o, rewrite, &r);
}
