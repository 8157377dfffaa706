/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Sends messages: pushes cells; offers large messages in the segment for a pull. */
#include <errno.h>
#include <string.h>
#include "state.h"

#define SHORT_CELLS	4	/* longest message of push_now(); half the smallest ring */

/* Read the credits that the peer has written, and handle cells that have arrived. */
static void read_credits(struct rmc_msg *m, struct peer *p)
{
	uint64_t counters = rmc_load_acquire(&p->line->counters);
	uint64_t nonce = rmc_load_acquire(&p->line->nonce);

	/* counters of another incarnation are meaningless */
	if (rmc_unlikely(nonce != p->life)) {
		if (p->life) {
			give_up(p, RMC_S_BAD_CONTEXT);
			return;
		}
		p->life = nonce;
	}
	rmc_msg_scan(m, p);
	p->tx_line_credits = (uint32_t)counters;
	p->pulled = (uint32_t)(counters >> 32);
}

static uint32_t room(struct rmc_msg *m, struct peer *p)
{
	uint32_t used = p->tx_head - p->tx_ring_credits - p->tx_line_credits;

	if (used > m->cells) {		/* credits for what was never sent */
		give_up(p, RMC_S_PROTOCOL);
		return 0;
	}
	return m->cells - used;
}

static int wait_for_room(struct rmc_msg *m, struct peer *p, uint32_t want)
{
	unsigned int spins = 0;
	int err;

	while (room(m, p) < want) {
		read_credits(m, p);
		if (room(m, p) >= want)
			break;
		if (p->status)
			return p->status;
		err = rmc_msg_step(m, p, &spins);
		if (err)
			return err;
	}
	return p->status;
}

/* Fill the next cell of the copy of the peer's ring */
static int stage(struct rmc_msg *m, struct peer *p, enum rmc_cell_kind kind, size_t length,
		 struct rmc_cell **cell)
{
	uint32_t i = p->tx_head & m->mask, credits = p->owed;
	struct rmc_cell *c = &p->copy[i];
	unsigned int spins = 0;
	int err;

	while (rmc_unlikely(p->busy[i])) {
		err = rmc_msg_step(m, p, &spins);
		if (err || p->status)
			return err ? err : p->status;
	}
	if (credits > RMC_CELL_CREDITS_MAX)
		credits = RMC_CELL_CREDITS_MAX;
	p->owed -= credits;
	c->head = rmc_cell_head(phase_of(m, p->tx_head), kind, credits, length);
	p->tx_head++;
	*cell = c;
	return 0;
}

/* Offset of a cell of our ring in the peer's segment */
static uint64_t cell_offset(const struct rmc_msg *m, uint32_t i)
{
	return line_offset(m, m->raw.self) + (1 + (uint64_t)i) * RMC_MSG_CELL;
}

/* Write n cells, up to the one that was staged last. */
static int write_cells(struct rmc_msg *m, struct peer *p, uint32_t n)
{
	struct op op = { .kind = OP_CELLS, .peer = p };

	op.first = p->tx_head - n;
	op.cells = n;
	op.offset = cell_offset(m, op.first & m->mask);
	op.buf = &p->copy[op.first & m->mask];
	op.len = n * RMC_MSG_CELL;
	memset(&p->busy[op.first & m->mask], 1, n);
	return rmc_msg_issue(m, &op);
}

static uint64_t cells_of(size_t len)
{
	if (!len)
		return 1;
	if (len > RMC_CELL_LENGTH_MAX)		/* the length takes 8 bytes of payload */
		return 1 + ((uint64_t)len - RMC_CELL_LONG_PAYLOAD + RMC_MSG_PAYLOAD - 1) /
			   RMC_MSG_PAYLOAD;
	return ((uint64_t)len + RMC_MSG_PAYLOAD - 1) / RMC_MSG_PAYLOAD;
}

static int stage_data(struct rmc_msg *m, struct peer *p, const uint8_t *buf, size_t len,
		      size_t *done, int first)
{
	size_t skip = 0, n = len - *done;
	uint64_t length = len;
	struct rmc_cell *c;
	int err;

	if (first && len > RMC_CELL_LENGTH_MAX) {
		skip = sizeof(length);
		err = stage(m, p, RMC_CELL_LONG, 0, &c);
	} else {
		size_t here = n < RMC_MSG_PAYLOAD ? n : RMC_MSG_PAYLOAD;

		err = stage(m, p, first ? RMC_CELL_PUSH : RMC_CELL_MORE, first ? len : here, &c);
	}
	if (err)
		return err;
	if (skip)
		memcpy(c->payload, &length, sizeof(length));
	if (n > RMC_MSG_PAYLOAD - skip)
		n = RMC_MSG_PAYLOAD - skip;
	if (n)
		memcpy(c->payload + skip, buf + *done, n);
	*done += n;
	return 0;
}

/*
 * Fast path of push() for a short message with room, cells and a slot. The fields for its
 * completion are set after the WQ entry is published.
 * Return: -EAGAIN if it would have to wait.
 */
RMC_INLINE int push_now(struct rmc_msg *m, struct peer *p, const uint8_t *buf, size_t len,
			uint32_t n)
{
	uint32_t i = p->tx_head & m->mask, credits = p->owed, k;
	struct rmc_cell *c = &p->copy[i];
	struct op op = {
		.kind = OP_CELLS, .peer = p, .offset = cell_offset(m, i), .buf = c,
		.len = n * RMC_MSG_CELL, .first = p->tx_head, .cells = n,
	};
	int slot = rmc_msg_slot(m);

	if (rmc_unlikely(slot < 0 || n > m->cells - i || room(m, p) < n))
		return -EAGAIN;
	for (k = 0; k < n; k++)
		if (rmc_unlikely(p->busy[i + k]))
			return -EAGAIN;
	if (credits > RMC_CELL_CREDITS_MAX)
		credits = RMC_CELL_CREDITS_MAX;
	c->head = rmc_cell_head(phase_of(m, p->tx_head), RMC_CELL_PUSH, credits, len);
	for (k = 0; k + 1 < n; k++) {
		memcpy(c[k].payload, buf, RMC_MSG_PAYLOAD);
		buf += RMC_MSG_PAYLOAD;
		len -= RMC_MSG_PAYLOAD;
		c[k + 1].head = rmc_cell_head(phase_of(m, p->tx_head), RMC_CELL_MORE, 0,
					      len < RMC_MSG_PAYLOAD ? len : RMC_MSG_PAYLOAD);
	}
	if (len)
		memcpy(c[k].payload, buf, len);
	rmc_issue(m->qp, RMC_OP_WRITE, slot, p->nid, op.offset, c, op.len);
	m->op[slot] = op;
	for (k = 0; k < n; k++)
		p->busy[i + k] = 1;
	p->tx_head += n;
	p->owed -= credits;
	p->ops++;
	return p->status;
}

static int push(struct rmc_msg *m, struct peer *p, const uint8_t *buf, size_t len,
		unsigned int flags)
{
	uint64_t left = cells_of(len);
	uint32_t batch = m->cells / 4, n, i;
	size_t done = 0;
	int first = 1, err;

	if (rmc_likely(left <= SHORT_CELLS)) {
		n = (uint32_t)left;
		err = n == 1 ? push_now(m, p, buf, len, 1) : push_now(m, p, buf, len, n);
		if (rmc_likely(err != -EAGAIN))
			return err;
	}
	if (left <= m->cells / 2)
		batch = (uint32_t)left;
	if (flags & RMC_MSG_DONTWAIT) {
		if (left > m->cells / 2)
			return -EMSGSIZE;
		read_credits(m, p);
		if (room(m, p) < left)
			return p->status ? p->status : -EAGAIN;
	}
	while (left) {
		n = left < batch ? (uint32_t)left : batch;
		err = wait_for_room(m, p, n);
		if (err)
			return err;
		if (n > m->cells - (p->tx_head & m->mask))
			n = m->cells - (p->tx_head & m->mask);
		for (i = 0; i < n; i++) {
			err = stage_data(m, p, buf, len, &done, first);
			if (err)
				return err;
			first = 0;
		}
		err = write_cells(m, p, n);
		if (err)
			return err;
		left -= n;
	}
	return p->status;
}

static int wait_until_pulled(struct rmc_msg *m, struct peer *p, uint32_t posted)
{
	unsigned int spins = 0;
	int err;

	for (;;) {
		read_credits(m, p);
		if ((int32_t)(p->pulled - posted) >= 0)
			return 0;
		if (p->status)
			return p->status;
		err = rmc_msg_step(m, p, &spins);
		if (err)
			return err;
	}
}

static int post(struct rmc_msg *m, struct peer *p, const uint8_t *buf, size_t len,
		unsigned int flags)
{
	struct rmc_cell_pull pull = {
		.offset = m->raw.offset + (uint64_t)(buf - (uint8_t *)m->raw.seg),
		.size = len,
	};
	struct rmc_cell *c;
	int err;

	if (flags & RMC_MSG_DONTWAIT) {
		read_credits(m, p);
		if (!room(m, p))
			return p->status ? p->status : -EAGAIN;
	}
	err = wait_for_room(m, p, 1);
	if (!err)
		err = stage(m, p, RMC_CELL_PULL, sizeof(pull), &c);
	if (err)
		return err;
	memcpy(c->payload, &pull, sizeof(pull));
	p->posted++;
	err = write_cells(m, p, 1);
	if (err || flags & (RMC_MSG_DONTWAIT | RMC_MSG_ASYNC))
		return err;
	return wait_until_pulled(m, p, p->posted);
}

static int in_segment(const struct rmc_msg *m, const void *buf, size_t len)
{
	uint64_t at = (uintptr_t)buf - (uintptr_t)m->raw.seg;

	return (uintptr_t)buf >= (uintptr_t)m->raw.seg && at <= m->raw.seg_len &&
	       len <= m->raw.seg_len - at;
}

int rmc_msg_send(struct rmc_msg *m, int nid, const void *buf, size_t len, unsigned int flags)
{
	struct peer *p = find(m, nid);
	int err, behind;

	if (!p || (len && !buf) ||
	    flags & ~(RMC_MSG_DONTWAIT | RMC_MSG_ASYNC | RMC_MSG_REGISTERED))
		return -EINVAL;
	if (p->status)
		return p->status;
	if (len && len >= m->threshold && in_segment(m, buf, len))
		err = post(m, p, (const uint8_t *)buf, len, flags);
	else
		err = push(m, p, (const uint8_t *)buf, len, flags);
	/* after the message: reading the CQ before it could wait for a cache miss */
	behind = rmc_msg_progress(m, p);
	if (err || behind)
		return err ? err : behind;
	return p->status;
}

int rmc_msg_flush(struct rmc_msg *m, int nid)
{
	struct peer *p = find(m, nid);

	int err;

	if (!p)
		return -EINVAL;
	err = wait_until_pulled(m, p, p->posted);
	/*
	 * Lost writes are repeated only while we are in a call: a caller that then makes no
	 * calls for a long time must not leave a peer without credits.
	 */
	return err ? err : rmc_msg_drain(m);
}

unsigned int rmc_msg_pending(struct rmc_msg *m, int nid)
{
	struct peer *p = find(m, nid);

	if (!p)
		return 0;
	read_credits(m, p);
	return p->posted - p->pulled;
}
