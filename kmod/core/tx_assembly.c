// SPDX-License-Identifier: GPL-2.0
/* Messages of transactions: from packets to one private copy, see tx_assembly.h. */
#include "node.h"
#include "tx_assembly.h"

/* Byte @byte of a message has no other place: packets are as long as the MTU, but for the last. */
static bool is_part(const struct rmc_serve *s, u32 byte)
{
	u32 mtu = s->node->fabric->mtu;

	if (byte + s->req.length > RMC_TX_MESSAGE_MAX)
		return false;
	if (!(s->word1 & RMC_REQ_LAST) && s->req.length != mtu)
		return false;
	return !byte || rmc_os_div(byte, mtu) * mtu == byte;
}

static bool is_of(const struct rmc_tx_assembly *b, const struct rmc_serve *s, u64 offset)
{
	return b->used && b->tid == s->req.tid && b->gen == s->req.gen && b->op == s->req.op &&
	       b->offset == offset;
}

/* One that is free, or not allocated, or the oldest: *@pick. Returns that of the message itself. */
static struct rmc_tx_assembly *find(struct rmc_tx_assemblies *all, const struct rmc_serve *s,
				    u64 offset, struct rmc_tx_assembly ***pick)
{
	u32 i;

	*pick = NULL;
	for (i = 0; i < RMC_TX_ASSEMBLIES; i++) {
		struct rmc_tx_assembly *b = all->b[i], *best = *pick ? **pick : NULL;

		if (b && is_of(b, s, offset))
			return b;
		if (!*pick || (best && best->used &&
			       (!b || !b->used || (s32)(b->used - best->used) < 0)))
			*pick = &all->b[i];
	}
	return NULL;
}

/*
 * The buffer of a message, which may be that of another one, of the same source, until now. NULL:
 * no memory.
 */
static struct rmc_tx_assembly *buffer_of(struct rmc_tx_assemblies *all, const struct rmc_serve *s,
					 u64 offset)
{
	struct rmc_tx_assembly **pick, *b = find(all, s, offset, &pick);

	if (b)
		return b;
	if (!*pick)
		*pick = rmc_os_zalloc_atomic(sizeof(**pick));
	b = *pick;
	if (unlikely(!b))
		return NULL;
	memset(b, 0, offsetof(struct rmc_tx_assembly, data));
	b->offset = offset;
	b->tid = s->req.tid;
	b->gen = s->req.gen;
	b->op = s->req.op;
	/* not 0: it is in use */
	b->used = ++all->begun ?: ++all->begun;
	return b;
}

/* Number of packets up to the last one that has come */
static u32 extent(const struct rmc_tx_assembly *b)
{
	u32 i = ARRAY_SIZE(b->seen);

	while (i-- && !b->seen[i])
		;
	return i < ARRAY_SIZE(b->seen) ? i * 64 + ilog2(b->seen[i]) + 1 : 0;
}

/* Copy the payload: a peer may change it while it is looked at. */
static void copy(const struct rmc_serve *s, u8 *to)
{
	u32 length = s->req.length, run = rmc_ring_run(s->rx, s->rx_pay, 0, length);

	rmc_copy(to, rmc_ring_line(s->rx, s->rx_pay), run);
	if (unlikely(run < length))
		rmc_copy(to + run, s->rx->pay, length - run);
}

/**
 * rmc_tx_assemble() - take a packet of a message
 * @s: request; its offset and length may be any
 * @all: those of its source
 * @single: RMC_TX_MESSAGE_MAX bytes
 * @message: out, a private copy of the message, valid until the next call; NULL: there are packets
 *	missing
 * @length: out, bytes of @message
 *
 * Return: RMC_S_OK; RMC_S_PROTOCOL: no message has such a packet; RMC_AGAIN: no memory now.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_tx_assemble(struct rmc_serve *s, struct rmc_tx_assemblies *all, u64 *single,
		   const u8 **message, u32 *length)
{
	u32 byte = rmc_tx_byte(s->req.offset), packet;
	struct rmc_tx_assembly *b;

	*message = NULL;
	if (unlikely(!is_part(s, byte)))
		return RMC_S_PROTOCOL;
	if (likely(!byte && s->word1 & RMC_REQ_LAST)) {
		copy(s, (u8 *)single);
		*message = (u8 *)single;
		*length = s->req.length;
		return RMC_S_OK;
	}
	b = buffer_of(all, s, s->req.offset - byte);
	if (unlikely(!b))
		return RMC_AGAIN;
	packet = byte ? rmc_os_div(byte, s->node->fabric->mtu) : 0;
	/* two last ones, or one behind the last */
	if (unlikely(b->total && (packet >= b->total ||
				  !!(s->word1 & RMC_REQ_LAST) != (packet + 1 == b->total))))
		return RMC_S_PROTOCOL;
	if (b->seen[packet / 64] & 1ULL << packet % 64)
		return RMC_S_OK;
	copy(s, (u8 *)b->data + byte);
	b->seen[packet / 64] |= 1ULL << packet % 64;
	b->packets++;
	if (s->word1 & RMC_REQ_LAST) {
		/* one behind it has come before: the message can never be whole */
		if (unlikely(extent(b) > packet + 1)) {
			b->used = 0;
			return RMC_S_PROTOCOL;
		}
		b->total = packet + 1;
		b->length = byte + s->req.length;
	}
	if (b->packets != b->total)
		return RMC_S_OK;
	b->used = 0;
	*message = (u8 *)b->data;
	*length = b->length;
	return RMC_S_OK;
}

/**
 * rmc_tx_assemblies_drop() - free the buffers of a source, and what is in them
 * @all: those of the source
 *
 * Context: any.
 */
void rmc_tx_assemblies_drop(struct rmc_tx_assemblies *all)
{
	u32 i;

	for (i = 0; i < RMC_TX_ASSEMBLIES; i++) {
		rmc_os_free_atomic(all->b[i]);
		all->b[i] = NULL;
	}
}
