/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The redo buffer of a transaction's local writes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "redo.h"

#define PLACE_BITS	16

_Static_assert(TX_REDO_MAX < 1 << PLACE_BITS, "a place fits");

int rmc_tx_redo_init(struct tx_redo *r, uint32_t max)
{
	uint32_t n = 4;

	memset(r, 0, sizeof(*r));
	while (n < 2 * max)
		n *= 2;
	r->max = max;
	r->mask = n - 1;
	r->line = (struct tx_redo_line *)aligned_alloc(TX_REDO_LINE, max * sizeof(*r->line));
	r->index = (uint32_t *)calloc(n, sizeof(*r->index));
	r->order = (uint64_t *)calloc(max, sizeof(*r->order));
	if (r->line && r->index && r->order)
		return 0;
	rmc_tx_redo_free(r);
	return -ENOMEM;
}

void rmc_tx_redo_free(struct tx_redo *r)
{
	free(r->line);
	free(r->index);
	free(r->order);
	memset(r, 0, sizeof(*r));
}

void rmc_tx_redo_clear(struct tx_redo *r)
{
	uint32_t i;

	/* the last one first, so that each is found by the way it was entered */
	while (r->n) {
		const struct tx_redo_line *l = &r->line[--r->n];

		for (i = tx_redo_home(r, l->line); r->index[i] != r->n + 1; i = (i + 1) & r->mask)
			;
		r->index[i] = 0;
	}
}

struct tx_redo_line *rmc_tx_redo_add(struct tx_redo *r, uint64_t line)
{
	struct tx_redo_line *l;
	uint32_t i;

	if (r->n == r->max)
		return NULL;
	l = &r->line[r->n++];
	l->line = line;
	l->dirty = 0;
	l->ready = 0;
	for (i = tx_redo_home(r, line); r->index[i]; i = (i + 1) & r->mask)
		;
	r->index[i] = r->n;
	return l;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void rmc_tx_redo_sort(struct tx_redo *r)
{
	uint32_t i;

	for (i = 0; i < r->n; i++)
		r->order[i] = r->line[i].line << PLACE_BITS | i;
	qsort(r->order, r->n, sizeof(*r->order), ascending);
}

static const struct tx_redo_line *place(const struct tx_redo *r, uint32_t i)
{
	return &r->line[r->order[i] & ((1 << PLACE_BITS) - 1)];
}

static uint32_t first_byte(const struct tx_redo_line *l)
{
	return (uint32_t)__builtin_ctzll(l->dirty);
}

static uint32_t last_byte(const struct tx_redo_line *l)
{
	return 63 - (uint32_t)__builtin_clzll(l->dirty);
}

/*
 * From the first byte that was written to the last one: what is between them in the line is as
 * it was read, and nobody else may have written to the line since.
 */
int rmc_tx_redo_next(const struct tx_redo *r, struct tx_redo_run *run)
{
	const struct tx_redo_line *l, *next;
	uint32_t i = run->first + run->lines;

	while (i < r->n && !place(r, i)->dirty)
		i++;
	if (i == r->n)
		return 0;
	l = place(r, i);
	run->first = i;
	run->lines = 1;
	run->offset = l->line * TX_REDO_LINE + first_byte(l);
	run->length = last_byte(l) + 1 - first_byte(l);
	for (; ++i < r->n && last_byte(l) == TX_REDO_LINE - 1; l = next) {
		next = place(r, i);
		if (next->line != l->line + 1 || !(next->dirty & 1))
			break;
		run->lines++;
		run->length += last_byte(next) + 1;
	}
	return 1;
}

void rmc_tx_redo_copy(const struct tx_redo *r, const struct tx_redo_run *run, void *to)
{
	uint32_t i, in, n, left = run->length;
	uint8_t *p = (uint8_t *)to;

	for (i = 0; i < run->lines; i++, p += n, left -= n) {
		in = i ? 0 : (uint32_t)(run->offset % TX_REDO_LINE);
		n = left < TX_REDO_LINE - in ? left : TX_REDO_LINE - in;
		memcpy(p, place(r, run->first + i)->data + in, n);
	}
}
