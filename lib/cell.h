/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Cells: lines with a header of four bytes. A remote write stores the first word of a line
 * last, so a reader that has loaded a header with acquire may read the payload.
 *
 *	31         12 11      4 3    1   0
 *	+------------+---------+------+---+
 *	|   length   | credits | kind | P |	P: phase, toggles each lap
 *	+------------+---------+------+---+
 */
#ifndef RMC_LIB_CELL_H
#define RMC_LIB_CELL_H

#include <stdint.h>
#include <string.h>
#include <rmc/barrier.h>
#include <rmc/msg.h>

struct rmc_cell {
	uint32_t head;
	uint8_t payload[RMC_MSG_PAYLOAD];
};

enum rmc_cell_kind {
	RMC_CELL_PUSH	= 1,	/* first of a message; length of the message */
	RMC_CELL_LONG	= 2,	/* the same; the payload begins with the length, 64 bits */
	RMC_CELL_MORE	= 3,	/* further cell; length of its payload */
	RMC_CELL_PULL	= 4,	/* payload: struct rmc_cell_pull */
};

struct rmc_cell_pull {
	uint64_t offset;	/* in the sender's segment */
	uint64_t size;
};

#define RMC_CELL_PHASE		1U
#define RMC_CELL_CREDITS_MAX	255U
#define RMC_CELL_LENGTH_MAX	0xfffffU
#define RMC_CELL_LONG_PAYLOAD	(RMC_MSG_PAYLOAD - 8)

static inline uint32_t rmc_cell_head(unsigned int phase, unsigned int kind, unsigned int credits,
				     size_t length)
{
	return phase | kind << 1 | credits << 4 | (uint32_t)length << 12;
}

static inline unsigned int rmc_cell_kind(uint32_t head)
{
	return (head >> 1) & 7;
}

static inline unsigned int rmc_cell_credits(uint32_t head)
{
	return (head >> 4) & RMC_CELL_CREDITS_MAX;
}

static inline uint32_t rmc_cell_length(uint32_t head)
{
	return head >> 12;
}

/* Pairs with the RRPP's release store of the line's first word. */
static inline uint32_t rmc_cell_load(const struct rmc_cell *cell)
{
	return rmc_load_acquire(&cell->head);
}

#endif /* RMC_LIB_CELL_H */
