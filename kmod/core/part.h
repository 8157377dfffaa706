/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A domain that several files of one node share. Each of them, a member, has a part of the slots of
 * each pair, with send slots in memory of its own, so no member needs a lock of all, nor can it
 * use up what others have, or write there. Receive slots, answer slots and the dispatcher are
 * common: a message goes to a core of any member.
 *
 *	slots of a pair   0 .. 3      4 .. 7      8 .. 11		3 members, 12 slots
 *	send slots' words rmc_domain.part[0]  [1]  [2]			read, write: the member
 *
 * A member that is gone has no words: a RECEIVE or REPLY for it has no effect.
 */
#ifndef RMC_PART_H
#define RMC_PART_H

#include "domain.h"

static_assert(RMC_MAX_MEMBERS <= RMC_DISPATCH_CORES, "each has a core at least");

bool rmc_members_valid(const struct rmc_dom_create *c);
int rmc_domain_share(struct rmc_domain *d, u32 members);
void rmc_part_set(struct rmc_domain *d, u32 member, struct rmc_mem *send);
bool rmc_part_owns(const struct rmc_domain *d, u32 member, u32 slot);
u64 *rmc_part_find(const struct rmc_domain *d, u32 set, u32 index);
void rmc_slot_skip(struct rmc_domain *d, u32 set, struct rmc_slot *slot, u64 offset);

/* True if a queue pair of this member may send by the slot; any values */
static inline bool rmc_part_has(const struct rmc_domain *d, u32 member, u32 slot)
{
	return likely(!d->part) || rmc_part_owns(d, member, slot);
}

/* First word of a send slot as rmc_send_slot_word(); NULL: its member is gone */
static inline u64 *rmc_part_word(const struct rmc_domain *d, u32 set, u32 index)
{
	return likely(!d->part) ? rmc_send_slot_word(d, index) : rmc_part_find(d, set, index);
}

/* What a JOIN says of a slot's turn: 26 bits, all that packets and tags of one turn have */
static inline u64 rmc_join_turn(u32 turn)
{
	return (u64)(u8)turn << 32 | (u64)(turn >> 8 & 0x3ffff) << 41;
}

#endif
