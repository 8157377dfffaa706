/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tags of lines that transactions of this process have written; CRC32C without an instruction. */
#include <stddef.h>
#include "filter.h"
#include "tags.h"

#define SLOT_BITS	8

static uint64_t tag_of(uint64_t line, uint32_t slot)
{
	return line << SLOT_BITS | (slot + 1);
}

static int has_line(uint64_t tag, uint64_t line)
{
	return tag && tag >> SLOT_BITS == line;
}

enum tx_claim rmc_tx_tags_claim(struct tx_tags *d, uint64_t line, uint32_t slot)
{
	uint64_t *set = d->tag[line % TX_TAG_SETS], tag = tag_of(line, slot), *way, seen;
	unsigned int i;

	for (;;) {
		for (way = NULL, i = 0; i < TX_TAG_WAYS; i++) {
			seen = rmc_load_acquire(&set[i]);
			if (has_line(seen, line))
				return seen == tag ? TX_CLAIMED : TX_CLAIMED_BY_OTHER;
			if (!seen && !way)
				way = &set[i];
		}
		if (!way)
			return TX_NO_WAY;
		seen = 0;
		if (__atomic_compare_exchange_n(way, &seen, tag, 0, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return TX_CLAIMED;
	}
}

int rmc_tx_tags_foreign(const struct tx_tags *d, uint64_t line, uint32_t slot)
{
	const uint64_t *set = d->tag[line % TX_TAG_SETS];
	uint64_t seen;
	unsigned int i;

	for (i = 0; i < TX_TAG_WAYS; i++) {
		seen = rmc_load_acquire(&set[i]);
		if (has_line(seen, line) && seen != tag_of(line, slot))
			return 1;
	}
	return 0;
}

void rmc_tx_tags_release(struct tx_tags *d, uint64_t line, uint32_t slot)
{
	uint64_t *set = d->tag[line % TX_TAG_SETS];
	unsigned int i;

	/* what was stored to the line before is seen by whoever finds the way free */
	for (i = 0; i < TX_TAG_WAYS; i++)
		if (rmc_load_relaxed(&set[i]) == tag_of(line, slot))
			rmc_store_release(&set[i], (uint64_t)0);
}

uint32_t rmc_tx_tags_find(const struct tx_tags *d, const uint64_t *sets, uint32_t slot,
			  uint64_t *line, uint32_t max)
{
	uint64_t word, seen;
	uint32_t n = 0, i, way;

	for (i = 0; i < TX_TAG_WORDS; i++) {
		for (word = sets[i]; word; word &= word - 1) {
			const uint64_t *set = d->tag[i * 64 + (uint32_t)__builtin_ctzll(word)];

			for (way = 0; way < TX_TAG_WAYS; way++) {
				seen = rmc_load_relaxed(&set[way]);
				if ((seen & ((1 << SLOT_BITS) - 1)) != slot + 1)
					continue;
				if (n < max)
					line[n] = seen >> SLOT_BITS;
				n++;
			}
		}
	}
	return n;
}

uint32_t rmc_tx_crc_table(uint64_t line)
{
	/* remainders of a nibble by 0x1edc6f41, reflected */
	static const uint32_t nibble[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
		0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	uint32_t crc = UINT32_MAX, i;

	for (i = 0; i < 16; i++, line >>= 4)
		crc = nibble[(crc ^ line) & 15] ^ (crc >> 4);
	return ~crc;
}
