/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Distributed transactions (HADES): names and limits that participant and coordinator share.
 *
 *   coordinator (coord.h)                      participant (part.h), one per home node
 *     access     --------------------------->  filters: which transaction uses which lines
 *     INTEND     --------------------------->  lock its lines, squash who conflicts, ack
 *        all acks: decided
 *     DATA, CLOSE(commit) ------------------>  store, unlock, forget
 *     or CLOSE(abort)     ------------------>  unlock, forget
 *                <--------------------- SQUASH  a hint: the coming INTEND will be refused
 *
 * All of kmod/tx/ is a pure function of the calls it gets: no packets, no clock, no allocation
 * after set-up. The state of a participant and of a coordinator is one block of memory each, which
 * may be copied and compared; their headers say what it points to.
 */
#ifndef RMC_TX_H
#define RMC_TX_H

#include <linux/rmc_tx.h>
#include "../base/mem.h"

enum {
#ifdef RMC_TX_SMALL
	/* for a program that visits all states: it keeps a copy of each */
	RMC_TX_SLOTS	= 4,
	RMC_TX_BITS	= 64,
	RMC_TX_LINES	= 64,
	RMC_TX_SOURCES	= 4,
	RMC_TX_NODES	= 4,
	RMC_TX_READERS	= 2,
#else
	/* transactions of a coordinator at a time: bits of a word of a filter */
	RMC_TX_SLOTS	= RMC_TX_MAX_SLOTS,
	/* bits of a remote filter and of a local read filter (HADES table III) */
	RMC_TX_BITS	= RMC_TX_FILTER_BITS,
	/* lines that the transactions of a source may have announced at a participant: 64 KiB */
	RMC_TX_LINES	= 1024,
	/* endpoints that may be sources */
	RMC_TX_SOURCES	= RMC_MAX_NODES,
	/* nodes of a transaction */
	RMC_TX_NODES	= 64,
	/* atomic reads of a participant at a time: as many as transfers may be active */
	RMC_TX_READERS	= RMC_ATT_ENTRIES_MAX,
#endif
	/* ranges of an INTEND: 4 KiB of them */
	RMC_TX_RANGES	= RMC_TX_MAX_RANGES,
	/* Locking Buffers: transactions that hold locks of a participant at a time */
	RMC_TX_BUFFERS	= 32,
	/* transactions that wait for locks in advance at a participant */
	RMC_TX_WAITERS	= 8,
};

/**
 * struct rmc_txid - name of a transaction
 * @source: endpoint of its coordinator; the fabric says it, not the packet
 * @slot: slot of the coordinator; a participant refuses one that is not below RMC_TX_SLOTS
 * @gen: use of the slot; of two gens that differ by less than 2^31, the older one is the smaller,
 *	modulo 2^32
 */
struct rmc_txid {
	u32 source;
	u32 slot;
	u32 gen;
};

/**
 * struct rmc_tx_range - bytes that a transaction writes
 * @offset: first byte, from the beginning of the segment
 * @length: bytes
 */
struct rmc_tx_range {
	u64 offset;
	u64 length;
};

/* Flag of an INTEND: an access was answered there, so there has to be a record */
#define RMC_TX_HERE		1U
/* Flag of a CLOSE to the own node: it has used lines there by loads and stores */
#define RMC_TX_LOCAL		2U

/* Is gen @a newer than gen @b? */
static inline bool rmc_tx_newer(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

static inline u64 rmc_tx_line_of(u64 offset)
{
	return offset / RMC_LINE;
}

#endif
