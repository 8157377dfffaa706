/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What the owner of objects does by the row of their scheme: initialize, write, read, repair
 * them, and break their latches; and how a reader checks an image.
 */
#include "../internal.h"
#include "../sync/latch.h"

void rmc_scheme_init(const struct rmc_scheme *s, struct rmc_object *o, size_t len)
{
	const struct layout *layout = scheme_of(s)->layout;
	size_t sum_at = layout->sum_at;
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
	if (layout->flags & LAYOUT_WORDS)
		sum_at += words_at(scheme_of(s), len);
	memcpy((uint8_t *)o + sum_at, &crc, sizeof(crc));
}

/* --- objects with words; others begin with a struct rmc_object --- */

/* The latch is held. */
static void store_words(const struct scheme *s, struct rmc_object *o, const void *data, size_t len)
{
	uint64_t *version = latch_word(s, o, len) + WORD_VERSION, v = rmc_load_relaxed(version);

	/* odd before the data; pairs with the fence of read_words() */
	rmc_store_relaxed(version, v | 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	s->pub.store(o, data, len);
	rmc_store_release(version, (v | 1) + 1);
}

static int write_words(const struct scheme *s, struct rmc_object *o, const void *data, size_t len,
		       const struct rmc_scheme_params *p)
{
	uint64_t *latch = latch_word(s, o, len), *version = latch + WORD_VERSION, v;
	int err;

	if (s->layout->flags & (LAYOUT_INDEX | LAYOUT_ELSEWHERE))
		return -EOPNOTSUPP;
	err = s->latch ? s->latch->take(latch, p) : 0;
	if (err)
		return err;
	v = rmc_load_relaxed(version);
	if (v >= VERSION_LIMIT) {
		if (s->latch)
			s->latch->leave(latch);
		return -EOVERFLOW;
	}
	store_words(s, o, data, len);
	if (s->latch)
		s->latch->leave(latch);
	return 0;
}

/*
 * A remote writer holds the latch while it writes, and its version is new: so the latch is
 * free before and afterwards, and the version is the same.
 */
static int read_words(const struct scheme *s, const struct rmc_object *o, void *data, size_t len)
{
	const uint64_t *latch = latch_word(s, o, len);
	uint64_t version;

	if (s->layout->flags & (LAYOUT_INDEX | LAYOUT_ELSEWHERE))
		return -EOPNOTSUPP;
	version = rmc_load_acquire(latch + WORD_VERSION);
	if ((s->latch && s->latch->held(rmc_load_acquire(latch))) || version & 1)
		return RMC_SCHEME_LOCKED;
	s->pub.copy(o, data, len);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return (s->latch && s->latch->held(rmc_load_acquire(latch))) ||
	       rmc_load_relaxed(latch + WORD_VERSION) != version ? RMC_SCHEME_TORN : 0;
}

/* Waits for the owner's writers, and for one of another node for a time: it may be dead. */
static int begin_write(struct rmc_object *o, const struct rmc_scheme_params *p)
{
	uint64_t version, seen = 0, until = 0;
	unsigned int spins = 0;

	while (rmc_unlikely(rmc_object_try_begin(o))) {
		rmc_object_relax(&spins);
		version = rmc_load_relaxed(&o->version);
		if (rmc_latch_version.holder(version) < 0)
			continue;
		if (version != seen) {
			seen = version;
			until = monotonic_ns() + p->wait_us * 1000ULL;
		} else if (monotonic_ns() > until) {
			return RMC_SCHEME_LOCKED;
		}
	}
	return 0;
}

int rmc_scheme_write(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
		     size_t len, const struct rmc_scheme_params *params)
{
	struct rmc_scheme_params p = scheme_params(params);
	const struct latch *latch = scheme_of(s)->latch;
	int err;

	/* memory does not say what a switch knows */
	if (scheme_of(s)->layout->flags & LAYOUT_TUPLE)
		return -EOPNOTSUPP;
	if (scheme_of(s)->layout->flags & LAYOUT_WORDS)
		return write_words(scheme_of(s), o, data, len, &p);
	err = begin_write(o, &p);
	if (err)
		return err;
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
	uint64_t version;
	int err = 0;

	if (scheme_of(s)->layout->flags & LAYOUT_TUPLE)
		return -EOPNOTSUPP;
	if (scheme_of(s)->layout->flags & LAYOUT_WORDS)
		return read_words(scheme_of(s), o, data, len);
	version = rmc_object_read_begin(o);
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

/* The latch in the object whose word names its holder, or NULL */
static const struct latch *named_latch(const struct rmc_scheme *s)
{
	const struct latch *latch = scheme_of(s)->latch ? scheme_of(s)->latch : scheme_of(s)->writes;

	return latch && latch->flags & LATCH_NAMED ? latch : NULL;
}

int rmc_sync_holder(const struct rmc_scheme *s, const struct rmc_object *o, size_t len)
{
	const struct latch *latch = named_latch(s);

	/* nobody here knows where the array is */
	if (scheme_of(s)->layout->flags & LAYOUT_ELSEWHERE)
		return -EOPNOTSUPP;
	return latch ? latch->holder(rmc_load_acquire(latch_word(scheme_of(s), o, len))) : -1;
}

/* What the word becomes without its holder; the version is another one than before. */
static uint64_t without_holder(const struct latch *latch, uint64_t word)
{
	if (latch->flags & LATCH_VERSION)
		return (word & latch->versions) + 1;
	return latch->flags & LATCH_RW ? word & RW_READERS : 0;
}

int rmc_sync_break(const struct rmc_scheme *s, struct rmc_object *o, size_t len, int nid)
{
	const struct latch *latch = named_latch(s);
	uint64_t *word, w;

	/* lines have versions as well */
	if (scheme_of(s)->layout->flags & (LAYOUT_ELSEWHERE | LAYOUT_LINES))
		return -EOPNOTSUPP;
	if (!latch || nid < 0)
		return -ENOENT;
	/* the index word's sequence is in the copy */
	if (latch->flags & LATCH_INDEX)
		return -EOPNOTSUPP;
	word = latch_word(scheme_of(s), o, len);
	w = rmc_load_acquire(word);
	do {
		if (latch->holder(w) != nid)
			return -ENOENT;
		/* readers of rw come and go meanwhile */
	} while (!__atomic_compare_exchange_n(word, &w, without_holder(latch, w), 0,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return 0;
}

/* The length matters to footers only, which no scheme of these functions has. */
int rmc_scheme_holder(const struct rmc_scheme *s, const struct rmc_object *o)
{
	return scheme_of(s)->layout->flags & LAYOUT_FOOT ? -1 : rmc_sync_holder(s, o, 0);
}

int rmc_scheme_break(const struct rmc_scheme *s, struct rmc_object *o, int nid)
{
	return scheme_of(s)->layout->flags & LAYOUT_FOOT ? -ENOENT : rmc_sync_break(s, o, 0, nid);
}

struct rewrite {
	const struct rmc_scheme *scheme;
	const void *data;
	size_t len;
};

/*
 * Lines that the dead writer has stored have the version that it would have ended with: a reader
 * that has some of them must not take those of the repair for the rest.
 */
static void beyond_lines(const struct scheme *s, uint64_t *version)
{
	if (s->layout->flags & LAYOUT_LINES)
		rmc_store_relaxed(version, (rmc_load_relaxed(version) | 1) + 2);
}

static int rewrite(struct rmc_object *o, void *arg)
{
	const struct rewrite *r = (const struct rewrite *)arg;
	const struct rmc_scheme_params p = scheme_params(NULL);
	const struct scheme *s = scheme_of(r->scheme);
	int err = 0;

	/* the dead writer may hold the latch already; those of readers still count */
	if (s->latch && rmc_load_acquire(latch_word(s, o, r->len)) != s->latch->owner)
		err = s->latch->acquire(o, &p);
	if (err)
		return err;
	beyond_lines(s, &o->version);
	s->pub.store(o, r->data, r->len);
	if (s->latch)
		s->latch->release(o);
	return 0;
}

/* The word of a dead thread becomes that of this one, which stores and leaves it. */
static int repair_words(const struct scheme *s, struct rmc_object *o, const void *data, size_t len)
{
	uint64_t *word, own, w;

	if (!s->latch || s->layout->flags & (LAYOUT_INDEX | LAYOUT_ELSEWHERE))
		return -EOPNOTSUPP;
	word = latch_word(s, o, len);
	w = rmc_load_acquire(word);
	do {
		if (s->latch->holder(w) != -2)
			return s->latch->held(w) ? -EAGAIN : -ENOENT;
		if (rmc_thread_alive(s->latch->thread(w)))
			return -EAGAIN;
		own = s->latch->own() | (s->latch->flags & LATCH_RW ? w & RW_READERS : 0);
	} while (!__atomic_compare_exchange_n(word, &w, own, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	beyond_lines(s, word + WORD_VERSION);
	store_words(s, o, data, len);
	s->latch->leave(word);
	return 0;
}

int rmc_scheme_repair(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
		      size_t len)
{
	struct rewrite r = { s, data, len };

	if (scheme_of(s)->layout->flags & LAYOUT_TUPLE)
		return -EOPNOTSUPP;
	if (scheme_of(s)->layout->flags & LAYOUT_WORDS)
		return repair_words(scheme_of(s), o, data, len);
	return rmc_object_repair(o, rewrite, &r);
}
