/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Homes of transactional data: ranges of segments, each with its participant (tx/part.h).
 *
 * A context has at most one range at a node. All units of the node know it, and refuse plain
 * remote writes and atomics in it. The participant belongs to one of them, the RRPP that
 * rmc_tx_home() names. All memory is allocated by the creator, and freed after the last unit has
 * removed the range.
 *
 *   source falls silent   what it has not prepared is squashed and cleared
 *   its epoch changes     all it has is cleared
 *   segment is withdrawn  the range is gone: packets get RMC_S_BAD_CONTEXT
 */
#ifndef RMC_TX_HOMES_H
#define RMC_TX_HOMES_H

#include "tx_assembly.h"
#include "../tx/part.h"

struct rmc_in;
struct rmc_node;

/* Ranges of a node: all are searched, one by one */
#define RMC_TX_HOMES	8

/**
 * struct rmc_tx_from - what a home keeps of a source beside its transactions
 * @parts: its messages of several packets
 * @epoch: of the source when it was heard last; 0: never
 * @silent: it is, and the participant knows
 */
struct rmc_tx_from {
	struct rmc_tx_assemblies parts;
	u32 epoch;
	bool silent;
};

/**
 * struct rmc_tx_home - a range and its participant
 * @part: participant (the worker of its RRPP)
 * @mem: segment, or a further range of it
 * @start: first byte of the range, from the beginning of the segment
 * @length: bytes
 * @ctx_id: context
 * @epoch: own one when that was last looked at (the participant's worker)
 * @sources: number of @from
 * @from: by endpoint (the participant's worker)
 * @single: a message of one packet (the participant's worker)
 */
struct rmc_tx_home {
	struct rmc_tx_part *part;
	struct rmc_mem *mem;
	u64 start;
	u64 length;
	u16 ctx_id;
	u32 epoch;
	u32 sources;
	struct rmc_tx_from *from;
	u64 single[RMC_TX_MESSAGE_MAX / 8];
};

/**
 * struct rmc_tx_homes - ranges of a unit
 * @live: 0: while the worker sleeps nobody is harmed by what a silent source has left here
 * @stall_ms: as state.h has it
 * @count: number of @home
 * @home: ranges
 */
struct rmc_tx_homes {
	u32 live;
	u32 stall_ms;
	u32 count;
	struct rmc_tx_home *home[RMC_TX_HOMES];
};

struct rmc_tx_home *rmc_tx_home_create(const struct rmc_node *head, u16 ctx_id,
				       struct rmc_mem *mem, const struct rmc_tx_limits *limits,
				       struct rmc_tx_local *local,
				       struct rmc_tx_locks *shared);
u64 rmc_tx_home_bytes(const struct rmc_node *head, const struct rmc_tx_limits *limits);
void rmc_tx_home_destroy(struct rmc_tx_home *home);
int rmc_tx_homes_add(struct rmc_node *node, struct rmc_tx_home *home);
void rmc_tx_homes_del(struct rmc_node *node, struct rmc_tx_home *home);
bool rmc_tx_homes_refuse(const struct rmc_node *node, const struct rmc_mem *mem, u64 offset,
			 u32 length);
u8 rmc_tx_home_hear(struct rmc_tx_home *home, u32 source, u32 epoch);
/* and the functions of its row in state.h */

/*
 * Participant of a range that has all of [@offset, @offset + @length), if it is this unit's; NULL:
 * there is none
 */
static inline struct rmc_tx_part *rmc_tx_homes_part(const struct rmc_tx_homes *homes, u32 ep,
						    const struct rmc_mem *mem, u64 offset,
						    u32 length)
{
	u32 i;

	for (i = 0; i < homes->count; i++) {
		struct rmc_tx_home *h = homes->home[i];

		if (h->mem == mem && offset >= h->start &&
		    offset + length <= h->start + h->length)
			return h->part->limits.self == ep ? h->part : NULL;
	}
	return NULL;
}

/* Range of a context at a unit; NULL: there is none */
static inline struct rmc_tx_home *rmc_tx_homes_find(const struct rmc_tx_homes *homes, u16 ctx_id)
{
	u32 i;

	for (i = 0; i < homes->count; i++)
		if (homes->home[i]->ctx_id == ctx_id)
			return homes->home[i];
	return NULL;
}

#endif
