/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bloom filters of lines, a pair of them per transaction (HADES table III), bit-sliced: word b of
 * a filter has bit b of the filters of 64 transactions, so one test asks all of them.
 *
 *	filter			bits		hashes
 *	remote read, write	1024 each	two: both halves of CRC32C(line), mod 1024
 *	local read		1024		the same
 *	local write		512 + 4096	one each: CRC32C(line) mod 512; line mod 4096
 *
 * A line is its number in the segment: offset / 64. A test that fails is certain, one that
 * succeeds may be false with the probability that table IV of the paper has for the number of
 * lines inserted.
 */
#ifndef RMC_TX_FILTER_H
#define RMC_TX_FILTER_H

#include "tx.h"

enum {
	RMC_TX_ROW	= RMC_TX_BITS / 64,
};

/* Two bits of a filter */
struct rmc_tx_hash {
	u32 a;
	u32 b;
};

/**
 * struct rmc_tx_filter - filters of 64 transactions
 * @bit: by bit of the filter: bit s is that of slot s
 */
struct rmc_tx_filter {
	u64 bit[RMC_TX_BITS];
};

/**
 * struct rmc_tx_row - which words of a struct rmc_tx_filter have a transaction's bit
 * @bit: bit b: word b. It makes clearing cost what was inserted, not the size of the filter
 */
struct rmc_tx_row {
	u64 bit[RMC_TX_ROW];
};

u32 rmc_tx_crc_by_table(u64 line);

/* CRC32C (Castagnoli, reflected, inverted at both ends) of the eight bytes of a line's number */
static inline u32 rmc_tx_crc(u64 line)
{
#ifdef RMC_OS_CRC32C
	u64 crc = U32_MAX;

	if (likely(rmc_os_has_crc32c())) {
		asm("crc32q %1, %0" : "+r" (crc) : "rm" (line));
		return ~(u32)crc;
	}
#endif
	return rmc_tx_crc_by_table(line);
}

/* Bits of a remote filter, or of a local read filter, from rmc_tx_crc() */
static inline struct rmc_tx_hash rmc_tx_hash(u32 crc)
{
	return (struct rmc_tx_hash) {
		.a = (crc & 0xffff) % RMC_TX_BITS,
		.b = (crc >> 16) % RMC_TX_BITS,
	};
}

/* Bits of the two sections of a local write filter */
static inline struct rmc_tx_hash rmc_tx_split_hash(u64 line, u32 crc)
{
	return (struct rmc_tx_hash) {
		.a = crc % RMC_TX_WR1_BITS,
		.b = line % RMC_TX_WR2_BITS,
	};
}

/* The slots whose filters have a line */
static inline u64 rmc_tx_filter_test(const struct rmc_tx_filter *f, struct rmc_tx_hash h)
{
	return f->bit[h.a] & f->bit[h.b];
}

/* The slots that read a line, by local filters */
static inline u64 rmc_tx_local_reads(const struct rmc_tx_local *l, struct rmc_tx_hash h)
{
	return READ_ONCE(l->rd[h.a]) & READ_ONCE(l->rd[h.b]);
}

/* The slots that write a line, by local filters */
static inline u64 rmc_tx_local_writes(const struct rmc_tx_local *l, struct rmc_tx_hash split)
{
	return READ_ONCE(l->wr1[split.a]) & READ_ONCE(l->wr2[split.b]);
}

void rmc_tx_filter_insert(struct rmc_tx_filter *f, struct rmc_tx_row *row,
			  struct rmc_tx_hash h, u32 slot);
void rmc_tx_filter_clear(struct rmc_tx_filter *f, struct rmc_tx_row *row, u32 slot);

#endif
