/* SPDX-License-Identifier: GPL-2.0 */
/* What the model of a network adapter keeps between two visits of an RRPP: see adapter.c. */
#ifndef RMC_ADAPTER_H
#define RMC_ADAPTER_H

#include "channel.h"
#include "op.h"
#include "../fabric/rnic.h"

/* Most lines of one step */
#define RMC_STEP_LINES	4

/**
 * struct rmc_steps - the request at the head of a channel, of which some lines were moved
 * @seg: where it began; NULL: that was withdrawn
 * @word0: its first word without the lap
 * @offset: in the segment
 * @length: bytes
 * @pay: its lines in the payload of the ring
 * @pos: of its first packet in the ring
 * @begun: there is such a request, unless the head of the ring is another one
 * @moved: lines were moved in this poll
 * @last: all that is left of it is moved in this poll, which serves no other, see rmc_rrpp_finish()
 * @done: bit per line: it was moved
 * @due_ns: no step before this
 * @data: of a READ, the lines so far: other replies may use the ring meanwhile
 */
struct rmc_steps {
	struct rmc_mem *seg;
	u64 word0;
	u64 offset;
	u32 length;
	u32 pay;
	u32 pos;
	bool begun;
	bool moved;
	bool last;
	u64 done;
	u64 due_ns;
	u8 data[RMC_RNIC_MTU_MAX];
};

/*
 * When the request at the head of a channel continues; 0: it has not begun. For a simulator, which
 * sleeps until then. Workers poll meanwhile, as they do for packets that a filter holds.
 */
static inline u64 rmc_adapter_due(const struct rmc_in *in)
{
	const struct rmc_steps *st = in->steps;

	return st && st->begun ? st->due_ns : 0;
}

/* A poll of a channel begins ... */
static inline void rmc_adapter_poll(struct rmc_in *in)
{
	if (in->steps)
		in->steps->moved = false;
}

/* ... and has moved lines of a request that is not served yet. */
static inline bool rmc_adapter_moved(const struct rmc_in *in)
{
	return in->steps && in->steps->moved;
}

/* The request at the head of a channel was answered, by whatever. */
static inline void rmc_adapter_answered(struct rmc_in *in)
{
	if (in->steps)
		in->steps->begun = false;
}

u8 rmc_adapter_serve(struct rmc_serve *s, u64 word0);
void rmc_adapter_close(struct rmc_node *node, struct rmc_in *in);
void rmc_adapter_forget(struct rmc_node *node, const struct rmc_mem *seg, u64 offset);
void rmc_adapter_withdraw(struct rmc_node *node, const struct rmc_mem *seg);

#endif
