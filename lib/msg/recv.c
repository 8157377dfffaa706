/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Receives cells in order per peer; pulls data into the buffer of the caller. */
#include <errno.h>
#include <string.h>
#include "state.h"

void rmc_msg_scan(struct rmc_msg *m, struct peer *p)
{
	uint32_t head;

	for (;;) {
		head = rmc_cell_load(&p->ring[p->rx_scan & m->mask]);
		if ((head & RMC_CELL_PHASE) != phase_of(m, p->rx_scan) ||
		    !rmc_cell_kind(head))
			return;
		p->tx_ring_credits += rmc_cell_credits(head);
		p->rx_scan++;
	}
}

static void consume(struct peer *p)
{
	p->rx_head++;
	p->owed++;
}

static int give_credits(struct rmc_msg *m, struct peer *p)
{
	return p->owed >= m->cells / 4 ? rmc_msg_send_line(m, p) : 0;
}

/* Send all due credits now: the caller may make no further call for a long time. */
static int send_credits(struct rmc_msg *m, struct peer *p)
{
	unsigned int spins = 0;
	int err = 0;

	while (!err && p->line_dirty && !p->status)
		err = rmc_msg_step(m, p, &spins);
	return err;
}

static int broken(struct peer *p, int status)
{
	give_up(p, status);
	p->broken = 1;
	return p->status;
}

static int next_cell(struct rmc_msg *m, struct peer *p)
{
	unsigned int spins = 0;
	int err;

	while (p->rx_head == p->rx_scan) {
		int status = p->status;		/* read before the last check for messages */

		rmc_msg_scan(m, p);
		if (p->rx_head != p->rx_scan)
			break;
		if (status)
			return broken(p, status);
		err = rmc_msg_step(m, p, &spins);
		if (err)
			return err;
	}
	return 0;
}

static int take_pushed(struct rmc_msg *m, struct peer *p, uint8_t *buf, size_t total)
{
	const struct rmc_cell *c = &p->ring[p->rx_head & m->mask];
	size_t skip = rmc_cell_kind(c->head) == RMC_CELL_LONG ? 8 : 0, done = 0, n;
	int err;

	for (;;) {
		n = RMC_MSG_PAYLOAD - skip;
		if (n > total - done)
			n = total - done;
		if (n)
			memcpy(buf + done, c->payload + skip, n);
		done += n;
		skip = 0;
		consume(p);
		err = give_credits(m, p);
		if (err || done == total)
			break;
		err = next_cell(m, p);
		if (err)
			return err;
		c = &p->ring[p->rx_head & m->mask];
		n = total - done < RMC_MSG_PAYLOAD ? total - done : RMC_MSG_PAYLOAD;
		if (rmc_cell_kind(c->head) != RMC_CELL_MORE || rmc_cell_length(c->head) != n)
			return broken(p, RMC_S_PROTOCOL);
	}
	return err ? err : send_credits(m, p);
}

static int wait_bounce(struct rmc_msg *m, struct peer *p, int i)
{
	unsigned int spins = 0;
	int err = 0;

	while (!err && m->bouncing[i])
		err = rmc_msg_step(m, p, &spins);
	return err;
}

/* Pull into the caller's buffer, or through our own */
static int pull_data(struct rmc_msg *m, struct peer *p, uint8_t *buf,
		     const struct rmc_cell_pull *pull, unsigned int flags)
{
	int direct = flags & RMC_MSG_REGISTERED, err = 0, i = 0;
	size_t max = direct ? m->raw.max_length : BOUNCE_BYTES;
	struct { uint64_t at; uint32_t len; } in[BOUNCES] = { { 0, 0 } };
	uint64_t at = 0;

	m->pull_status = 0;
	while (!err && at < pull->size && !m->pull_status) {
		struct op op = { .kind = OP_PULL, .peer = p };

		op.len = (uint32_t)(pull->size - at < max ? pull->size - at : max);
		op.offset = pull->offset + at;
		op.pending = &m->bouncing[i];
		if (direct) {
			op.buf = buf + at;
		} else {
			op.buf = m->bounce + (size_t)i * BOUNCE_BYTES;
			err = wait_bounce(m, p, i);
			if (err || m->pull_status)
				break;
			memcpy(buf + in[i].at, op.buf, in[i].len);
			in[i].at = at;
			in[i].len = op.len;
			i = !i;
		}
		++*op.pending;
		err = rmc_msg_issue(m, &op);
		at += op.len;
	}
	for (i = 0; i < BOUNCES && err != -ESHUTDOWN; i++) {
		int waited = wait_bounce(m, p, i);

		if (!waited && !m->pull_status && in[i].len)
			memcpy(buf + in[i].at, m->bounce + (size_t)i * BOUNCE_BYTES, in[i].len);
		/* keep the first error: the missing part stays missing, whatever follows */
		if (!err)
			err = waited;
	}
	return err ? err : m->pull_status;
}

static int take_pulled(struct rmc_msg *m, struct peer *p, uint8_t *buf,
		       const struct rmc_cell_pull *pull, unsigned int flags)
{
	int err = pull_data(m, p, buf, pull, flags);

	if (err)
		return p->status ? broken(p, p->status) : err;
	consume(p);
	p->line_pulled++;
	err = rmc_msg_send_line(m, p);
	return err ? err : send_credits(m, p);
}

/* Size of the message at head; its first cell has arrived */
static int size_of(struct rmc_msg *m, struct peer *p, uint64_t *size, struct rmc_cell_pull *pull)
{
	const struct rmc_cell *c = &p->ring[p->rx_head & m->mask];

	switch (rmc_cell_kind(c->head)) {
	case RMC_CELL_PUSH:
		*size = rmc_cell_length(c->head);
		return 0;
	case RMC_CELL_LONG:
		memcpy(size, c->payload, sizeof(*size));
		return *size > RMC_CELL_LENGTH_MAX ? 0 : broken(p, RMC_S_PROTOCOL);
	case RMC_CELL_PULL:
		memcpy(pull, c->payload, sizeof(*pull));
		*size = pull->size;
		return 0;
	default:
		return broken(p, RMC_S_PROTOCOL);
	}
}

static int take(struct rmc_msg *m, struct peer *p, void *buf, size_t room_for, size_t *len,
		int *from, unsigned int flags)
{
	const struct rmc_cell *c = &p->ring[p->rx_head & m->mask];
	struct rmc_cell_pull pull = { 0, 0 };
	uint32_t head = rmc_load_relaxed(&c->head);	/* read once: the peer may change it */
	uint64_t size;
	int err;

	if (from)
		*from = p->nid;
	size = rmc_cell_length(head);
	/* common case: one cell, and room for it */
	if (rmc_likely(rmc_cell_kind(head) == RMC_CELL_PUSH && size <= RMC_MSG_PAYLOAD &&
		       size <= room_for)) {
		if (len)
			*len = size;
		m->next = (int)(p - m->peer) + 1;
		if (size)
			memcpy(buf, c->payload, size);
		consume(p);
		err = give_credits(m, p);
		return err ? err : send_credits(m, p);
	}
	err = size_of(m, p, &size, &pull);
	if (err)
		return err;
	if (len)
		*len = size;
	if (size > room_for)
		return -EMSGSIZE;
	m->next = (int)(p - m->peer) + 1;
	return pull.size ? take_pulled(m, p, (uint8_t *)buf, &pull, flags)
			 : take_pushed(m, p, (uint8_t *)buf, size);
}

/* A peer with a message, or NULL */
static struct peer *ready(struct rmc_msg *m, struct peer *only)
{
	struct peer *p = only;
	int i;

	for (i = 0; i < (only ? 1 : m->raw.nodes); i++) {
		if (!only)
			p = &m->peer[(m->next + i) % m->raw.nodes];
		if (p->broken)
			continue;
		if (p->rx_head == p->rx_scan)
			rmc_msg_scan(m, p);
		if (p->rx_head != p->rx_scan)
			return p;
	}
	return NULL;
}

/* A dead peer to report; only NULL: any, each one once, and when no other is left */
static struct peer *lost(struct rmc_msg *m, struct peer *only)
{
	struct peer *last = NULL, *p;
	int i, left = m->raw.nodes == 1;

	if (only)
		return only->status ? only : NULL;
	for (i = 0; i < m->raw.nodes; i++) {
		p = &m->peer[i];
		if (!p->status) {
			left += i != m->raw.self;
			continue;
		}
		if (!p->reported) {
			p->reported = 1;
			return p;
		}
		last = p;
	}
	return left ? NULL : last;
}

/* Wait for a peer with a message; or return the reason why there is none */
static int await(struct rmc_msg *m, int nid, unsigned int flags, struct peer **found, int *from)
{
	struct peer *only = nid == RMC_MSG_ANY ? NULL : find(m, nid), *p, *dead;
	unsigned int spins = 0;
	int err;

	if (nid != RMC_MSG_ANY && !only)
		return -EINVAL;
	for (;;) {
		/* The dead peer writes no more: check for its messages once more. */
		dead = lost(m, only);
		p = ready(m, only);
		if (p) {
			if (dead && !only)
				dead->reported = 0;
			*found = p;
			return 0;
		}
		if (dead) {
			if (from)
				*from = dead->nid;
			return dead->status;
		}
		err = rmc_msg_progress(m, only);
		if (err)
			return err;
		if (flags & RMC_MSG_DONTWAIT)
			return -EAGAIN;
		err = rmc_relax(m->qp, &spins);
		if (err)
			return err;
	}
}

int rmc_msg_recv(struct rmc_msg *m, int nid, void *buf, size_t size, size_t *len, int *from,
		 unsigned int flags)
{
	struct peer *p;
	int err;

	if (flags & ~(RMC_MSG_DONTWAIT | RMC_MSG_ASYNC | RMC_MSG_REGISTERED))
		return -EINVAL;
	err = await(m, nid, flags, &p, from);
	return err ? err : take(m, p, buf, size, len, from, flags);
}

int rmc_msg_peek(struct rmc_msg *m, int nid, const void **data, size_t *len, int *from)
{
	struct rmc_cell_pull pull = { 0, 0 };
	struct peer *p;
	uint64_t size;
	int err;

	err = await(m, nid, RMC_MSG_DONTWAIT, &p, from);
	if (!err)
		err = size_of(m, p, &size, &pull);
	if (err)
		return err;
	if (from)
		*from = p->nid;
	if (len)
		*len = size;
	if (data)
		*data = !pull.size && size <= RMC_MSG_PAYLOAD ?
			p->ring[p->rx_head & m->mask].payload : NULL;
	return 0;
}
