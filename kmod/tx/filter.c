// SPDX-License-Identifier: GPL-2.0
/* Bloom filters of transactions: the hash without an instruction for it, insertion, clearing. */
#include "filter.h"

/**
 * rmc_tx_crc_by_table() - rmc_tx_crc() on a CPU that has no instruction for it
 * @line: number of a line
 *
 * Return: CRC32C of its eight bytes, the lowest first.
 */
u32 rmc_tx_crc_by_table(u64 line)
{
	/* of a nibble; polynomial 0x1edc6f41, reflected */
	static const u32 nibble[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
		0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	u32 crc = U32_MAX, i;

	for (i = 0; i < 16; i++, line >>= 4)
		crc = nibble[(crc ^ line) & 15] ^ (crc >> 4);
	return ~crc;
}

static void insert_bit(struct rmc_tx_filter *f, struct rmc_tx_row *row, u32 word, u32 slot)
{
	f->bit[word] |= 1ULL << slot;
	row->bit[word / 64] |= 1ULL << word % 64;
}

/**
 * rmc_tx_filter_insert() - add a line to a transaction's filter (HADES section V-A)
 * @f: filters
 * @row: of the transaction
 * @h: hash of the line
 * @slot: slot of the transaction, less than 64
 */
void rmc_tx_filter_insert(struct rmc_tx_filter *f, struct rmc_tx_row *row,
			  struct rmc_tx_hash h, u32 slot)
{
	insert_bit(f, row, h.a, slot);
	insert_bit(f, row, h.b, slot);
}

/**
 * rmc_tx_filter_clear() - empty a transaction's filter
 * @f: filters
 * @row: of the transaction
 * @slot: slot of the transaction, less than 64
 */
void rmc_tx_filter_clear(struct rmc_tx_filter *f, struct rmc_tx_row *row, u32 slot)
{
	u64 words;
	u32 i;

	for (i = 0; i < RMC_TX_ROW; i++)
		for (words = row->bit[i]; words; words &= words - 1)
			f->bit[i * 64 + __ffs64(words)] &= ~(1ULL << slot);
	memset(row, 0, sizeof(*row));
}
