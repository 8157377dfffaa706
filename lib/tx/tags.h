/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Which transaction of this process has written which line: HADES' WrTX_ID tags in the directory of
 * the last-level cache (section IV, module 2). Here a table of the lines that are written
 * speculatively, with the geometry of a slice of that cache, so its sets are the bits of WrBF2.
 *
 * A word is a tag: 0, or line << 8 | slot + 1. A way is claimed by a compare-and-swap, and released
 * by a store of its owner. Two threads that claim a line at once may both find a free way; each has
 * its bits in the write filters before it looks at those of the other.
 */
#ifndef RMC_LIB_TX_TAGS_H
#define RMC_LIB_TX_TAGS_H

#include <stdint.h>
#include <linux/rmc_tx.h>

#define TX_TAG_SETS	RMC_TX_WR2_BITS
#define TX_TAG_WAYS	16	/* of a set: a line that needs one more evicts its writer */

struct tx_tags {
	uint64_t tag[TX_TAG_SETS][TX_TAG_WAYS];
} __attribute__((aligned(64)));

enum tx_claim { TX_CLAIMED, TX_CLAIMED_BY_OTHER, TX_NO_WAY };

/* A set of sets: bit i of word i / 64 */
#define TX_TAG_WORDS	(TX_TAG_SETS / 64)

/* Claim a line for the transaction of a slot; again: as the first time */
enum tx_claim rmc_tx_tags_claim(struct tx_tags *d, uint64_t line, uint32_t slot);
/* Has another transaction written it? */
int rmc_tx_tags_foreign(const struct tx_tags *d, uint64_t line, uint32_t slot);
/* The line is not the slot's any more; without effect if it was not */
void rmc_tx_tags_release(struct tx_tags *d, uint64_t line, uint32_t slot);
/*
 * The lines that a slot has written (section V-C, figure 8), in these sets: returns how many, of
 * which the first max are in line
 */
uint32_t rmc_tx_tags_find(const struct tx_tags *d, const uint64_t *sets, uint32_t slot,
			  uint64_t *line, uint32_t max);

#endif /* RMC_LIB_TX_TAGS_H */
