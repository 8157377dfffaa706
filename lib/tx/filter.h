/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Local filters of a process's transactions, struct rmc_tx_local, and the locks that it has to look
 * at, struct rmc_tx_locks (HADES section V-C, table III). The RMC has the same hashes in
 * kmod/tx/filter.h; selftests/unit/tx_local.c compares them.
 *
 * Several threads insert and clear bits of their slots in the same words: atomically, and whoever
 * inserts looks at locks and at the filters of others only after a full barrier. Those do the same,
 * so of two conflicting accesses at least one is noticed.
 */
#ifndef RMC_LIB_TX_FILTER_H
#define RMC_LIB_TX_FILTER_H

#include <stdint.h>
#include <linux/rmc_tx.h>
#include "rmc/barrier.h"

/* Words of struct rmc_tx_local that a line has */
struct tx_hash {
	uint32_t rd[2];
	uint32_t wr1, wr2;
};

uint32_t rmc_tx_crc_table(uint64_t line);

/* CRC32C of the eight bytes of a line's number */
static inline uint32_t tx_crc(uint64_t line)
{
#if defined(__x86_64__)
	uint64_t crc = UINT32_MAX;

	if (__builtin_cpu_supports("sse4.2")) {
		__asm__("crc32q %1, %0" : "+r" (crc) : "rm" (line));
		return ~(uint32_t)crc;
	}
#endif
	return rmc_tx_crc_table(line);
}

static inline struct tx_hash tx_hash(uint64_t line)
{
	uint32_t crc = tx_crc(line);

	return (struct tx_hash) {
		.rd = { (crc & 0xffff) % RMC_TX_FILTER_BITS, (crc >> 16) % RMC_TX_FILTER_BITS },
		.wr1 = crc % RMC_TX_WR1_BITS,
		.wr2 = (uint32_t)(line % RMC_TX_WR2_BITS),
	};
}

/* Bits of transactions, in words that other threads change, too */
static inline void tx_bits_insert(__u64 *word, uint64_t bits)
{
	__atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
}

static inline void tx_bits_clear(__u64 *word, uint64_t bits)
{
	__atomic_fetch_and(word, ~bits, __ATOMIC_SEQ_CST);
}

/*
 * Between bits that were inserted and the look at those of others; pairs with the barrier of
 * another thread here, and with that of rmc_tx_part_intend() in the RMC. On x86 the insertion is a barrier.
 */
static inline void tx_bits_barrier(void)
{
#if defined(__x86_64__)
	__asm__ volatile("" : : : "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* The slots whose read filters have a line; what they have stored since is seen after it */
static inline uint64_t tx_filter_readers(const struct rmc_tx_local *l, const struct tx_hash *h)
{
	return rmc_load_acquire(&l->rd[h->rd[0]]) & rmc_load_acquire(&l->rd[h->rd[1]]);
}

/* The slots whose write filters have it */
static inline uint64_t tx_filter_writers(const struct rmc_tx_local *l, const struct tx_hash *h)
{
	return rmc_load_acquire(&l->wr1[h->wr1]) & rmc_load_acquire(&l->wr2[h->wr2]);
}

/* The Locking Buffers that keep a transaction from loading a line */
static inline uint64_t tx_locks_written(const struct rmc_tx_locks *k, const struct tx_hash *h)
{
	uint64_t mask = rmc_load_acquire(&k->mask);

	if (rmc_likely(!mask))
		return 0;
	return mask & rmc_load_acquire(&k->wr[h->rd[0]]) & rmc_load_acquire(&k->wr[h->rd[1]]);
}

/* Those that keep it from storing */
static inline uint64_t tx_locks_used(const struct rmc_tx_locks *k, const struct tx_hash *h)
{
	uint64_t mask = rmc_load_acquire(&k->mask);

	if (rmc_likely(!mask))
		return 0;
	return mask & ((rmc_load_acquire(&k->wr[h->rd[0]]) & rmc_load_acquire(&k->wr[h->rd[1]])) |
		       (rmc_load_acquire(&k->rd[h->rd[0]]) & rmc_load_acquire(&k->rd[h->rd[1]])));
}

#endif /* RMC_LIB_TX_FILTER_H */
