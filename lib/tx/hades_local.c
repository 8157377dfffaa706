/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * HADES: own records by loads and stores (local.h), of the system "hades".
 *
 * A transaction decides at its first own record: by loads and stores, or, if a set of tags was full
 * in the one before, by the RMC. With loads and stores, what it reads is copied to the image of the
 * record as if it came from another node; what it writes goes to the image, and to the redo
 * buffer, which claims its lines at once.
 *
 *	commit	only own records, and nothing is written: the look at the mark is all
 *		else RMC_OP_TX_COMMIT with RMC_TX_LOADED, and the ranges of the redo buffer
 *	end	the slot's filters and tags are cleared. If the RMC has marked it, the mark goes with the
 *		next end of a transaction of the slot at this node: a commit of nothing, which is refused
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "hades.h"
#include "local.h"

enum { BY_UNDECIDED, BY_LOADS, BY_RMC };

/* Of the member's memory */
struct tx_own {
	struct tx_range range;
	struct tx_bits bits;		/* a database has one thread */
	struct rmc_tx_local *filters;	/* zeroed pages */
};

static void *zeroed_pages(size_t len)
{
	void *p;

	if (posix_memalign(&p, 4096, rmc_page_round(len)))
		return NULL;
	return memset(p, 0, rmc_page_round(len));
}

/* Lines that a transaction writes at most: each record may begin and end in the middle of one */
static uint32_t most_lines(const struct rmc_tx_db *db)
{
	uint64_t lines = (uint64_t)db->o.records * (db->shape.largest / TX_REDO_LINE);

	return lines < TX_REDO_MAX ? (uint32_t)lines : TX_REDO_MAX;
}

struct rmc_tx_local *rmc_tx_hades_filters(struct rmc_tx_db *db)
{
	return db->own ? db->own->filters : NULL;
}

const struct rmc_tx_locks *rmc_tx_hades_locks(const struct rmc_tx_db *db)
{
	return db->own ? db->own->range.locks : NULL;
}

int rmc_tx_hades_local_open(struct rmc_tx_db *db)
{
	struct tx_own *own;
	unsigned int i;
	int err = 0;

	if (!db->system->own_loads || db->o.flags & RMC_TX_ALL_REMOTE)
		return 0;
	/* the marks that the RMC sets are of the slots of one unit, which may be another one's */
	if (db->team->ctx && db->team->ctx->query.units > 1)
		return 0;
	own = db->own = (struct tx_own *)calloc(1, sizeof(*own));
	if (!own)
		return rmc_fail(ENOMEM, "out of memory");
	own->filters = (struct rmc_tx_local *)zeroed_pages(sizeof(*own->filters));
	own->range.tags = (struct tx_tags *)zeroed_pages(sizeof(*own->range.tags));
	if (!own->filters || !own->range.tags)
		return rmc_fail(ENOMEM, "out of memory");
	own->range.filters = own->filters;
	own->range.base = (uint8_t *)db->team->seg - db->team->offset;
	for (i = 0; i < 2 * db->o.slots && !err; i++) {
		struct tx_set *s = &db->slot[i / 2].set[i % 2];

		s->local = (struct tx_local *)aligned_alloc(64, sizeof(*s->local));
		if (!s->local || rmc_tx_local_init(s->local, &own->range, most_lines(db)))
			err = rmc_fail(ENOMEM, "out of memory");
	}
	return err;
}

int rmc_tx_hades_local_locks(struct rmc_tx_db *db, uint64_t offset)
{
	void *locks;

	if (!db->own)
		return 0;
	/* without a context it is a test, whose RMC writes there */
	locks = db->team->ctx ?
		rmc_map(db->team->ctx, sizeof(struct rmc_tx_locks), PROT_READ, offset) :
		zeroed_pages(sizeof(struct rmc_tx_locks));
	if (!locks || locks == MAP_FAILED)
		return rmc_fail(errno, "Locking Buffers cannot be mapped: %s", strerror(errno));
	db->own->range.locks = (const struct rmc_tx_locks *)locks;
	return 0;
}

/* The RMC does not use the filters any more */
void rmc_tx_hades_local_close(struct rmc_tx_db *db)
{
	struct tx_own *own = db->own;
	unsigned int i;

	if (!own)
		return;
	for (i = 0; i < 2 * db->o.slots; i++) {
		struct tx_set *s = &db->slot[i / 2].set[i % 2];

		if (s->local)
			rmc_tx_local_free(s->local);
		free(s->local);
		s->local = NULL;
	}
	if (own->range.locks && db->team->ctx)
		munmap((void *)(uintptr_t)own->range.locks,
		       rmc_page_round(sizeof(*own->range.locks)));
	else
		free((void *)(uintptr_t)own->range.locks);
	free(own->range.tags);
	free(own->filters);
	free(own);
	db->own = NULL;
}

int rmc_tx_hades_by_loads(struct rmc_tx *t, const struct tx_access *a)
{
	struct rmc_tx_db *db = t->db;
	struct tx_set *s = t->s;

	if (!db->own || a->member != db->team->self)
		return 0;
	if (s->own_by == BY_UNDECIDED) {
		s->own_by = t->evicted ? BY_RMC : BY_LOADS;
		t->evicted = 0;
		if (s->own_by == BY_LOADS)
			rmc_tx_local_begin(s->local, s->rmc_slot, &db->own->bits);
	}
	return s->own_by == BY_LOADS;
}

static int failed(struct rmc_tx *t, int status)
{
	switch (status) {
	case TX_LOCAL_OK:
		return 0;
	case TX_LOCAL_WRITTEN:
	case TX_LOCAL_USED:
		return rmc_tx_squash(t, RMC_TX_BY_NEIGHBOUR);
	case TX_LOCAL_EVICTED:
		t->evicted = 1;
		return rmc_tx_squash(t, RMC_TX_EVICTED);
	case TX_LOCAL_FULL:
		return rmc_tx_fail(t, -E2BIG);
	case TX_LOCAL_LOCKED:
		return rmc_tx_squash(t, RMC_TX_READ_LOCKED);
	default:
		return rmc_tx_squash(t, RMC_TX_BY_OTHER);
	}
}

/* It may be that others run, and use the slots of other transactions */
static int wait_for_lock(struct rmc_tx *t, unsigned int *tries, unsigned int *spins)
{
	int err;

	t->db->stats.locked_reads++;
	if (++*tries >= t->db->o.tries)
		return failed(t, TX_LOCAL_LOCKED);
	err = rmc_tx_relax(t->db, spins);
	return err ? rmc_tx_fail(t, err) : 0;
}

int rmc_tx_hades_load_own(struct rmc_tx *t, struct tx_access *a)
{
	unsigned int tries = 0, spins = 0;
	int status, err;

	for (;;) {
		status = tx_local_read(t->s->local, a->offset, a->image, HADES_DATA + a->len);
		if (rmc_likely(status != TX_LOCAL_LOCKED))
			return failed(t, status);
		err = wait_for_lock(t, &tries, &spins);
		if (err)
			return err;
	}
}

int rmc_tx_hades_store_own(struct rmc_tx *t, struct tx_access *a, uint32_t from, uint32_t to)
{
	unsigned int tries = 0, spins = 0;
	int status, err;

	for (;;) {
		status = rmc_tx_local_write(t->s->local, a->offset + from, a->image + from,
					    to - from);
		if (rmc_likely(status != TX_LOCAL_LOCKED))
			return failed(t, status);
		err = wait_for_lock(t, &tries, &spins);
		if (err)
			return err;
	}
}

int rmc_tx_hades_check_own(struct rmc_tx *t)
{
	return t->s->own_by == BY_LOADS ? failed(t, rmc_tx_local_check(t->s->local)) : 0;
}

int rmc_tx_hades_has_loaded(const struct tx_set *s)
{
	return s->own_by == BY_LOADS;
}

uint32_t rmc_tx_hades_own_ranges(struct tx_set *s, struct rmc_tx_item *item, uint32_t max,
				 uint16_t nid, uint32_t *bytes)
{
	struct tx_redo_run run = { 0 };
	uint32_t n = 0;

	if (s->own_by != BY_LOADS)
		return 0;
	rmc_tx_redo_sort(&s->local->redo);
	for (; rmc_tx_redo_next(&s->local->redo, &run); n++) {
		*bytes += hades_padded(run.length);
		if (n < max)
			item[n] = (struct rmc_tx_item){
				.offset = run.offset, .length = run.length, .nid = nid,
			};
	}
	return n;
}

uint8_t *rmc_tx_hades_own_data(const struct tx_set *s, uint8_t *to)
{
	struct tx_redo_run run = { 0 };

	if (s->own_by != BY_LOADS)
		return to;
	while (rmc_tx_redo_next(&s->local->redo, &run)) {
		rmc_tx_redo_copy(&s->local->redo, &run, to);
		to += hades_padded(run.length);
	}
	return to;
}

int rmc_tx_hades_local_end(struct tx_set *s)
{
	int loaded = s->own_by == BY_LOADS;

	s->own_by = BY_UNDECIDED;
	if (!loaded)
		return 0;
	rmc_tx_local_end(s->local);
	return tx_local_marked(s->local);
}
