/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Order of a queue pair's operations at their destination: see order.c. What is no operation on
 * the memory of a segment, or is announced, has no order.
 */
#ifndef RMC_ORDER_H
#define RMC_ORDER_H

#include "../base/opcode.h"

/* What waits for what: nothing for reads, writes for writes, all for atomics */
enum rmc_rank {
	RMC_RANK_NONE,
	RMC_RANK_READ,
	RMC_RANK_WRITE,		/* notifications, too */
	RMC_RANK_ATOMIC,
};

static inline enum rmc_rank rmc_rank(u16 flags)
{
	if (!flags || flags & (RMC_OPF_ANNOUNCED | RMC_OPF_SLOT | RMC_OPF_CONTROL | RMC_OPF_TX))
		return RMC_RANK_NONE;
	if (flags & RMC_OPF_OPERANDS)
		return RMC_RANK_ATOMIC;
	return flags & (RMC_OPF_MODIFIES | RMC_OPF_EMPTY) ? RMC_RANK_WRITE : RMC_RANK_READ;
}

/**
 * struct rmc_order_due - due times of a group's packets on one lane
 * @write_ns: of the latest write
 * @atomic_ns: of the latest atomic
 */
struct rmc_order_due {
	u64 write_ns;
	u64 atomic_ns;
};

/**
 * struct rmc_order - order of the requests of a channel, at their receiver
 * @way: by group, as they were delayed on their way
 * @arrival: by group, as they were delayed at their arrival
 * @broken: bit per group: a packet was lost, and so are all behind it; others read it, too ...
 * @renewed: ... until this bit of theirs differs from that of the lost one
 */
struct rmc_order {
	struct rmc_order_due way[RMC_REQ_GROUPS];
	struct rmc_order_due arrival[RMC_REQ_GROUPS];
	u32 broken;
	u32 renewed;
};

/* Group of a request; 0: none */
static inline u32 rmc_order_group(u64 word0, u64 word1)
{
	u8 op = word0 >> 48;

	return op == RMC_OP_RENEW || rmc_rank(rmc_op_flags(op)) ? rmc_word1_group(word1) : 0;
}

#endif
