/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of transactions, at their destination: from packets in any order to one private copy.
 * A message of one packet is copied to the home's own buffer. One of several has a buffer of its
 * source, of which each has RMC_TX_ASSEMBLIES: a source that begins more loses its oldest, and
 * has to send it again.
 */
#ifndef RMC_TX_ASSEMBLY_H
#define RMC_TX_ASSEMBLY_H

#include "../base/tx_wire.h"

struct rmc_serve;

/* Messages of one source that are assembled at one time */
#define RMC_TX_ASSEMBLIES		8
/* Packets of a message, at the smallest MTU */
#define RMC_TX_PACKETS		((RMC_TX_MESSAGE_MAX + RMC_MTU_MIN - 1) / RMC_MTU_MIN)

/**
 * struct rmc_tx_assembly - a message that is assembled; private
 * @offset: of its first byte: slot and gen
 * @seen: bit per packet that has come
 * @packets: how many have
 * @total: of the message; 0: its last packet has not come
 * @length: of the message, bytes; with @total
 * @used: when it was begun, for the oldest one; 0: it is free
 * @gen: of the source's operation
 * @tid: of the source's operation
 * @op: opcode
 * @data: the message
 */
struct rmc_tx_assembly {
	u64 offset;
	u64 seen[(RMC_TX_PACKETS + 63) / 64];
	u32 packets;
	u32 total;
	u32 length;
	u32 used;
	u16 gen;
	u16 tid;
	u8 op;
	u64 data[RMC_TX_MESSAGE_MAX / 8];
};

/**
 * struct rmc_tx_assemblies - all of one source
 * @begun: messages so far
 * @b: buffers, allocated when they are needed; NULL until then
 */
struct rmc_tx_assemblies {
	u32 begun;
	struct rmc_tx_assembly *b[RMC_TX_ASSEMBLIES];
};

u8 rmc_tx_assemble(struct rmc_serve *s, struct rmc_tx_assemblies *all, u64 *single,
		   const u8 **message, u32 *length);
void rmc_tx_assemblies_drop(struct rmc_tx_assemblies *all);

#endif
