/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of tx_world.h: transactions that use lines of their own node with loads and stores, as an
 * application does. A load: own bits of the read filter, then a look at the locks, then the line.
 * A store goes to a redo buffer, so only bits and locks matter.
 */
#ifndef TX_LOCAL_H
#define TX_LOCAL_H

/* Locking Buffers of @mask whose transaction is in the way of an access */
static inline u64 local_locked(u32 n, u32 line, u64 mask, bool store)
{
	struct rmc_tx_hash h = rmc_tx_hash(rmc_tx_crc(line));
	const struct rmc_tx_locks *l = &shared[n];
	u64 users = l->wr[h.a] & l->wr[h.b];

	if (store)
		users |= l->rd[h.a] & l->rd[h.b];
	return users & mask;
}

/*
 * The steps of an access, m.flags: 0: bits, 1: which Locking Buffers are in use, m.v[0], 2: their
 * filters, 3: the line
 */
static inline void local_step(struct msg m)
{
	const struct op *op = &conf->tx[m.tx].op[m.op];
	u32 n = conf->tx[m.tx].node, line = line_number[op->line], k;
	const struct client *c = &node[n].client[m.tx];
	struct rmc_tx_hash h = rmc_tx_hash(rmc_tx_crc(line));
	struct rmc_tx_hash split = rmc_tx_split_hash(line, rmc_tx_crc(line));
	u64 bit = 1ULL << tx_slot(m.tx);

	if (c->phase != CLIENT_RUNS || c->attempt != m.attempt)
		return;
	switch (m.flags) {
	case 0:
		if (op->kind == OP_STORE) {
			local[n].wr1[split.a] |= bit;
			local[n].wr2[split.b] |= bit;
		} else {
			local[n].rd[h.a] |= bit;
			local[n].rd[h.b] |= bit;
		}
		m.flags = 1;
		emit(m);
		return;
	case 1:
		m.v[0] = (u8)shared[n].mask;
		m.flags = m.v[0] ? 2 : 3;
		emit(m);
		return;
	case 2:
		m.flags = local_locked(n, line, m.v[0], op->kind == OP_STORE) ? 1 : 3;
		m.v[0] = 0;
		emit(m);
		return;
	default:
		for (k = 0; k < WORLD_WORDS; k++)
			m.v[k] = (u8)line_word(n, op->line, k);
		client_access(&m);
	}
}

/* A transaction is over: its slot's bits go */
static inline void local_end(u32 t)
{
	u32 n = conf->tx[t].node, i;
	u64 bit = 1ULL << tx_slot(t);

	if (!world_local())
		return;
	for (i = 0; i < RMC_TX_BITS; i++)
		local[n].rd[i] &= ~bit;
	for (i = 0; i < RMC_TX_WR1_BITS; i++)
		local[n].wr1[i] &= ~bit;
	for (i = 0; i < RMC_TX_WR2_BITS; i++)
		local[n].wr2[i] &= ~bit;
	local[n].squashed &= ~bit;
}

#endif
