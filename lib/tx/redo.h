/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What a transaction has written to lines of its own node, until the RMC stores it: whole lines, in
 * the order in which they were written first. So a read by anybody else, the RMC included, returns
 * what was there before.
 */
#ifndef RMC_LIB_TX_REDO_H
#define RMC_LIB_TX_REDO_H

#include <stddef.h>
#include <stdint.h>
#include <linux/rmc_tx.h>
#include "rmc/barrier.h"

#define TX_REDO_LINE	64
#define TX_REDO_MAX	(RMC_TX_MAX_BYTES / TX_REDO_LINE)

struct tx_redo_line {
	uint8_t data[TX_REDO_LINE] __attribute__((aligned(TX_REDO_LINE)));
	uint64_t line;
	uint64_t dirty;		/* bit i: byte i was written */
	int ready;		/* data is there; else the line is only claimed */
};

struct tx_redo {
	struct tx_redo_line *line;
	uint32_t n, max;
	uint32_t *index, mask;	/* by hash of the line: 1 + its place in line */
	uint64_t *order;	/* line << 16 | place, ascending; of rmc_tx_redo_sort() */
};

/* Bytes to store, in the range [offset, offset + length): the lines order[first .. first + lines) */
struct tx_redo_run {
	uint64_t offset;
	uint32_t length, first, lines;
};

/* 0 or -ENOMEM; max: lines, TX_REDO_MAX at most */
int rmc_tx_redo_init(struct tx_redo *r, uint32_t max);
void rmc_tx_redo_free(struct tx_redo *r);
void rmc_tx_redo_clear(struct tx_redo *r);
/* A line that is not there; NULL: no room */
struct tx_redo_line *rmc_tx_redo_add(struct tx_redo *r, uint64_t line);
/* Once all is written */
void rmc_tx_redo_sort(struct tx_redo *r);
/* The next range, ascending; begin with zeroes. 0: there is none */
int rmc_tx_redo_next(const struct tx_redo *r, struct tx_redo_run *run);
/* Its bytes */
void rmc_tx_redo_copy(const struct tx_redo *r, const struct tx_redo_run *run, void *to);

static inline uint32_t tx_redo_home(const struct tx_redo *r, uint64_t line)
{
	return (uint32_t)(line * 0x9e3779b97f4a7c15ULL >> 40) & r->mask;
}

/* NULL: it was not written. Half of the index is free. */
static inline struct tx_redo_line *tx_redo_find(const struct tx_redo *r, uint64_t line)
{
	uint32_t i;

	for (i = tx_redo_home(r, line); r->index[i]; i = (i + 1) & r->mask)
		if (r->line[r->index[i] - 1].line == line)
			return &r->line[r->index[i] - 1];
	return NULL;
}

#endif /* RMC_LIB_TX_REDO_H */
