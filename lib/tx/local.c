/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Local reads and writes of a transaction: see local.h. */
#include "local.h"

int rmc_tx_local_init(struct tx_local *t, struct tx_range *range, uint32_t lines)
{
	memset(t, 0, sizeof(*t));
	t->range = range;
	t->base = range->base;
	t->marks = &range->filters->squashed;
	t->key = TX_LOCAL_NO_KEY;
	return rmc_tx_redo_init(&t->redo, lines);
}

void rmc_tx_local_free(struct tx_local *t)
{
	rmc_tx_redo_free(&t->redo);
}

int rmc_tx_slot_take(struct tx_range *range)
{
	uint64_t slots = rmc_load_relaxed(&range->free_slots);

	while (slots)
		if (__atomic_compare_exchange_n(&range->free_slots, &slots, slots & (slots - 1), 0,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return __builtin_ctzll(slots);
	return -1;
}

void rmc_tx_slot_put(struct tx_range *range, uint32_t slot)
{
	__atomic_fetch_or(&range->free_slots, 1ULL << slot, __ATOMIC_RELEASE);
}

/* Entries that the thread has of earlier transactions of the slot are of no use any more */
static void new_use(struct tx_local *t)
{
	uint32_t use = ++t->bits->use[t->slot] & ((1U << TX_BITS_USES) - 1);

	if (!use) {
		memset(t->bits->entry, 0, sizeof(t->bits->entry));
		use = t->bits->use[t->slot] = 1;
	}
	t->key = (uint64_t)t->slot << 24 | (uint64_t)use << 2;
}

void rmc_tx_local_begin(struct tx_local *t, uint32_t slot, struct tx_bits *bits)
{
	t->slot = slot;
	t->bit = 1ULL << slot;
	t->bits = bits;
	t->squashed = TX_LOCAL_OK;
	t->by_rmc = 0;
	/* of an earlier one; if it is late, this one is squashed for nothing */
	if (tx_local_marked(t))
		tx_bits_clear(&t->range->filters->squashed, t->bit);
	new_use(t);
}

void rmc_tx_local_resume(struct tx_local *t, struct tx_bits *bits)
{
	t->bits = bits;
	new_use(t);
}

static int squash(struct tx_local *t, enum tx_local_status why)
{
	t->squashed = why;
	t->key = TX_LOCAL_NO_KEY;
	return (int)why;
}

int rmc_tx_local_check(struct tx_local *t)
{
	if (t->squashed)
		return (int)t->squashed;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (tx_local_marked(t))
		return squash(t, TX_LOCAL_SQUASHED);
	return TX_LOCAL_OK;
}

static void remember(struct tx_local *t, uint64_t line, uint64_t bits)
{
	t->bits->entry[line % TX_BITS_LINES] = line << 30 | t->key | bits;
}

/* Has another transaction of this process written the line? Most are not in any filter. */
static int is_foreign(const struct tx_local *t, uint64_t line, const struct tx_hash *h)
{
	return tx_filter_writers(t->range->filters, h) & ~t->bit &&
	       rmc_tx_tags_foreign(t->range->tags, line, t->slot);
}

/* The first read of a line, or one that the thread has forgotten */
static int first_read(struct tx_local *t, uint64_t line)
{
	struct rmc_tx_local *f = t->range->filters;
	const struct tx_redo_line *l;
	struct tx_hash h;
	unsigned int i;

	if (t->squashed)
		return (int)t->squashed;
	l = t->redo.n ? tx_redo_find(&t->redo, line) : NULL;
	if (l && l->ready) {
		remember(t, line, TX_BITS_WR);
		return TX_LOCAL_OK;
	}
	h = tx_hash(line);
	for (i = 0; i < 2; i++) {
		tx_bits_insert(&f->rd[h.rd[i]], t->bit);
		t->rd[h.rd[i] / 64] |= 1ULL << h.rd[i] % 64;
	}
	tx_bits_barrier();
	if (is_foreign(t, line, &h))
		return squash(t, TX_LOCAL_WRITTEN);
	if (tx_locks_written(t->range->locks, &h))
		return rmc_tx_local_check(t) ? (int)t->squashed : TX_LOCAL_LOCKED;
	remember(t, line, TX_BITS_RD);
	t->reads++;
	return TX_LOCAL_OK;
}

/* Tag and filters; each step may be repeated */
static int claim(struct tx_local *t, uint64_t line)
{
	struct rmc_tx_local *f = t->range->filters;
	struct tx_hash h = tx_hash(line);

	switch (rmc_tx_tags_claim(t->range->tags, line, t->slot)) {
	case TX_CLAIMED:
		break;
	case TX_CLAIMED_BY_OTHER:
		return squash(t, TX_LOCAL_WRITTEN);
	default:
		t->by_rmc = 1;
		t->evicted++;
		return squash(t, TX_LOCAL_EVICTED);
	}
	tx_bits_insert(&f->wr1[h.wr1], t->bit);
	tx_bits_insert(&f->wr2[h.wr2], t->bit);
	t->sets[h.wr2 / 64] |= 1ULL << h.wr2 % 64;
	tx_bits_barrier();
	if (is_foreign(t, line, &h))
		return squash(t, TX_LOCAL_WRITTEN);
	if (tx_filter_readers(f, &h) & ~t->bit)
		return squash(t, TX_LOCAL_USED);
	if (tx_locks_used(t->range->locks, &h))
		return rmc_tx_local_check(t) ? (int)t->squashed : TX_LOCAL_LOCKED;
	return TX_LOCAL_OK;
}

/* A line in the redo buffer, with its content */
static int line_to_write(struct tx_local *t, uint64_t line, struct tx_redo_line **found)
{
	struct tx_redo_line *l;
	int err;

	if (t->squashed)
		return (int)t->squashed;
	*found = l = t->redo.n ? tx_redo_find(&t->redo, line) : NULL;
	if (!l)
		*found = l = rmc_tx_redo_add(&t->redo, line);
	if (!l)
		return squash(t, TX_LOCAL_FULL);
	if (!l->ready) {
		err = claim(t, line);
		if (err)
			return err;
		/* torn, if it is squashed meanwhile: the caller looks at that before it returns */
		copy_out(l->data, t->base + line * TX_REDO_LINE, TX_REDO_LINE);
		l->ready = 1;
		t->writes++;
	}
	remember(t, line, TX_BITS_WR);
	return TX_LOCAL_OK;
}

static size_t part_of_line(uint64_t offset, size_t len)
{
	size_t n = TX_REDO_LINE - offset % TX_REDO_LINE;

	return n < len ? n : len;
}

/* Two entries of the filter bits; they are not aligned to both */
typedef uint64_t two_entries __attribute__((vector_size(16), aligned(8)));

/* Have all lines from line on been read, and not written? Without a branch for each */
static int read_before(const struct tx_local *t, uint64_t line, size_t lines)
{
	const uint64_t *entry = t->bits->entry + line % TX_BITS_LINES;
	uint64_t first = (line << 30 | t->key) + TX_BITS_RD;
	two_entries expected = { first, first + (1ULL << 30) }, others = { 0, 0 };
	size_t n;

	if (lines > TX_BITS_LINES - line % TX_BITS_LINES)
		return 0;
	for (n = 0; n + 2 <= lines; n += 2) {
		others |= *(const two_entries *)(entry + n) ^ expected;
		expected += 2ULL << 30;
	}
	if (n < lines && entry[n] != expected[0])
		return 0;
	return !(others[0] | others[1]);
}

static int read_lines(struct tx_local *t, uint64_t offset, uint8_t *to, size_t len)
{
	uint64_t bits, line;
	size_t n, in;
	int err;

	for (; len; offset += n, to += n, len -= n) {
		line = offset / TX_REDO_LINE;
		in = offset % TX_REDO_LINE;
		n = part_of_line(offset, len);
		bits = tx_bits_of(t, line);
		if (bits > (TX_BITS_RD | TX_BITS_WR)) {
			err = first_read(t, line);
			if (err)
				return err;
			bits = tx_bits_of(t, line);
		}
		if (bits & TX_BITS_WR)
			memcpy(to, tx_redo_find(&t->redo, line)->data + in, n);
		else
			copy_out(to, t->base + offset, n);
	}
	return tx_local_alive(t);
}

int rmc_tx_local_read(struct tx_local *t, uint64_t offset, void *data, size_t len)
{
	size_t lines = (offset % TX_REDO_LINE + len + TX_REDO_LINE - 1) / TX_REDO_LINE;

	if (t->squashed || !read_before(t, offset / TX_REDO_LINE, lines))
		return read_lines(t, offset, (uint8_t *)data, len);
	copy_out(data, t->base + offset, len);
	return tx_local_alive(t);
}

int rmc_tx_local_write(struct tx_local *t, uint64_t offset, const void *data, size_t len)
{
	const uint8_t *from = (const uint8_t *)data;
	struct tx_redo_line *l;
	size_t n, in;
	int err;

	for (; len; offset += n, from += n, len -= n) {
		err = line_to_write(t, offset / TX_REDO_LINE, &l);
		if (err)
			return err;
		in = offset % TX_REDO_LINE;
		n = part_of_line(offset, len);
		memcpy(l->data + in, from, n);
		l->dirty |= (n < 64 ? (1ULL << n) - 1 : UINT64_MAX) << in;
	}
	return tx_local_alive(t);
}

uint32_t rmc_tx_local_find(const struct tx_local *t, uint64_t *line, uint32_t max)
{
	return rmc_tx_tags_find(t->range->tags, t->sets, t->slot, line, max);
}

void rmc_tx_local_end(struct tx_local *t)
{
	struct rmc_tx_local *f = t->range->filters;
	uint64_t words;
	uint32_t i;

	for (i = 0; i < t->redo.n; i++) {
		uint64_t line = t->redo.line[i].line;
		struct tx_hash h = tx_hash(line);

		rmc_tx_tags_release(t->range->tags, line, t->slot);
		tx_bits_clear(&f->wr1[h.wr1], t->bit);
		tx_bits_clear(&f->wr2[h.wr2], t->bit);
		t->sets[h.wr2 / 64] = 0;
	}
	for (i = 0; i < RMC_TX_FILTER_BITS / 64; i++) {
		for (words = t->rd[i]; words; words &= words - 1)
			tx_bits_clear(&f->rd[i * 64 + (uint32_t)__builtin_ctzll(words)], t->bit);
		t->rd[i] = 0;
	}
	rmc_tx_redo_clear(&t->redo);
	t->key = TX_LOCAL_NO_KEY;
}
