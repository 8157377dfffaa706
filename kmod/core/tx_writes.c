// SPDX-License-Identifier: GPL-2.0
/*
 * Write list of a transaction: ranges in ascending order of node and offset, disjoint, as INTEND
 * names them and DATA carries them. What is written again replaces what was written before.
 */
#include "tx_writes.h"

static bool is_before(const struct rmc_tx_write *w, u32 nid, u64 offset)
{
	return w->nid < nid || (w->nid == nid && w->offset + w->length <= offset);
}

/* New bytes between entries @i - 1 and @i */
static int insert(struct rmc_tx_txn *t, u32 bytes, u32 i, u32 nid, u64 offset, const u8 *data,
		  u32 length)
{
	struct rmc_tx_write *w = &t->write[i];

	if (length > bytes - t->used)
		return -ENOSPC;
	/* behind the last one, here and there: one range */
	if (i && w[-1].nid == nid && w[-1].offset + w[-1].length == offset &&
	    w[-1].at + w[-1].length == t->used) {
		w[-1].length += length;
	} else {
		if (t->writes == RMC_TX_RANGES)
			return -ENOSPC;
		memmove(w + 1, w, (t->writes - i) * sizeof(*w));
		t->writes++;
		*w = (struct rmc_tx_write){ .offset = offset, .length = length, .at = t->used,
					    .nid = nid };
	}
	memcpy(t->data + t->used, data, length);
	t->used += length;
	return 0;
}

/**
 * rmc_tx_writes_add() - add bytes to a write list
 * @t: transaction
 * @bytes: of its buffer
 * @nid: node
 * @offset: in its segment, bytes; @offset + @length does not overflow
 * @data: bytes
 * @length: how many
 *
 * Return: 0; -ENOSPC: the buffer, or the list, is full; some of it may be in the list.
 * Context: any.
 */
int rmc_tx_writes_add(struct rmc_tx_txn *t, u32 bytes, u32 nid, u64 offset, const u8 *data,
		      u32 length)
{
	u32 i = 0, n;
	int err;

	while (length) {
		struct rmc_tx_write *w;

		while (i < t->writes && is_before(&t->write[i], nid, offset))
			i++;
		w = i < t->writes && t->write[i].nid == nid ? &t->write[i] : NULL;
		n = length;
		if (w && w->offset <= offset) {
			n = min_t(u64, n, w->offset + w->length - offset);
			memcpy(t->data + w->at + (offset - w->offset), data, n);
		} else {
			if (w)
				n = min_t(u64, n, w->offset - offset);
			err = insert(t, bytes, i, nid, offset, data, n);
			if (err)
				return err;
		}
		offset += n;
		data += n;
		length -= n;
	}
	return 0;
}

/**
 * rmc_tx_writes_overlay() - what a transaction reads, with what it has written itself
 * @t: transaction
 * @nid: node
 * @offset: of the bytes that were read
 * @to: these
 * @length: how many
 *
 * Context: any.
 */
void rmc_tx_writes_overlay(const struct rmc_tx_txn *t, u32 nid, u64 offset, u8 *to, u32 length)
{
	u32 i;

	for (i = 0; i < t->writes; i++) {
		const struct rmc_tx_write *w = &t->write[i];
		u64 from = max(offset, w->offset);
		u64 end = min(offset + length, w->offset + w->length);

		if (w->nid == nid && from < end)
			memcpy(to + (from - offset), t->data + w->at + (from - w->offset),
			       end - from);
	}
}

/**
 * rmc_tx_writes_ranges() - the ranges of a node, for INTEND
 * @t: transaction
 * @nid: node
 * @range: out, room for RMC_TX_RANGES
 *
 * Return: how many. Context: any.
 */
u32 rmc_tx_writes_ranges(const struct rmc_tx_txn *t, u32 nid, struct rmc_tx_range *range)
{
	u32 i, n = 0;

	for (i = 0; i < t->writes; i++)
		if (t->write[i].nid == nid)
			range[n++] = (struct rmc_tx_range){ .offset = t->write[i].offset,
							    .length = t->write[i].length };
	return n;
}

/**
 * rmc_tx_writes_pieces() - fill the body of a DATA
 * @t: transaction
 * @nid: node
 * @next: first write to be looked at; out: of the next DATA
 * @sent: bytes of it that were sent; out: of that
 * @body: out, RMC_TX_BODY_MAX bytes, aligned to 8
 * @count: out, pieces
 *
 * Return: bytes of the body; 0: all were sent. Context: any.
 */
u32 rmc_tx_writes_pieces(const struct rmc_tx_txn *t, u32 nid, u32 *next, u32 *sent, u8 *body,
			 u32 *count)
{
	u32 at = 0, n, padded;

	*count = 0;
	for (; *next < t->writes; ++*next, *sent = 0) {
		const struct rmc_tx_write *w = &t->write[*next];
		struct rmc_tx_piece *p = (struct rmc_tx_piece *)(body + at);

		if (w->nid != nid)
			continue;
		/* room for a piece that is worth its range */
		if (at + sizeof(*p) + 8 > RMC_TX_BODY_MAX)
			break;
		n = min_t(u32, w->length - *sent, RMC_TX_BODY_MAX - at - sizeof(*p));
		padded = ALIGN(n, 8);
		*p = (struct rmc_tx_piece){ .offset = w->offset + *sent, .length = n };
		memcpy(p + 1, t->data + w->at + *sent, n);
		memset((u8 *)(p + 1) + n, 0, padded - n);
		at += sizeof(*p) + padded;
		++*count;
		*sent += n;
		if (*sent < w->length)
			break;
	}
	return at;
}
