/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Messages over one-sided operations: see <rmc/msg.h>.
 *
 * At member r, for each sender s:
 *
 *	| line: {credits, pulled} | cell 0 | cell 1 | ... |	all written by s
 *
 * The ring carries messages from s to r, and credits that s gives r. The line is
 * the message of length zero that always has room, because it overwrites itself: two
 * free running counters in one word, credits given this way and messages pulled.
 * Writes to it could overtake each other, so that only one is in flight.
 *
 * The sender keeps a copy of each ring, which is what its writes are taken from. A cell
 * is filled again when the receiver has given it back and the write is complete.
 *
 * The receiver has two cursors per ring: scan looks at headers as they come and takes
 * their credits, even while nobody receives; head is the next cell to consume. So a
 * member that waits in a send for room cannot miss the credits behind unread messages.
 *
 * A receiver never owes a quarter of the ring without a credit on its way: a sender
 * that wants less than half the ring need not fear to wait for ever.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include "internal.h"
#include "cell.h"

#define PROBE_INTERVAL_MS	250	/* between looks whether who is silent lives */
#define POLLS_PER_CLOCK		1024
#define TRIES_MAX		8	/* of an operation without reply, node up */
#define BOUNCE_BYTES		(64U << 10)	/* pulls into memory that is not registered */
#define BOUNCES			2		/* one is filled, the other emptied */

struct line {
	uint64_t counters;	/* credits | pulled << 32 */
	uint64_t nonce;		/* of who writes the line */
	uint64_t pad[6];
};

/* Local memory of the RMC's operations, per peer; after it the copy of the ring */
struct local {
	struct line out, probe;
};

struct peer {
	int nid;
	int status;			/* why it was given up */
	int reported;			/* to a receiver from anyone */
	int broken;			/* in the middle of a message */

	/* to the peer; counters run freely */
	uint32_t tx_head;		/* cells written */
	uint32_t tx_ring_credits;	/* given back in headers */
	uint32_t tx_line_credits;	/* given back in the line */
	uint32_t posted, pulled;	/* messages to pull */
	struct local *local;
	struct rmc_cell *copy;
	uint8_t *busy;			/* per cell: write not complete */

	/* from the peer */
	const struct line *line;
	const struct rmc_cell *ring;
	uint32_t rx_scan, rx_head;
	uint32_t owed;			/* credits to give */
	uint32_t line_credits, line_pulled;
	int line_busy, line_dirty;

	int probing;
};

enum op_kind { OP_CELLS, OP_LINE, OP_PROBE, OP_PULL };

struct op {
	enum op_kind kind;
	struct peer *peer;
	uint64_t offset;
	void *buf;
	uint32_t len;
	uint32_t first, cells;
	unsigned int tries;
	unsigned int *pending;		/* OP_PULL */
};

struct rmc_msg {
	struct rmc_msg_raw raw;
	struct rmc_qp *qp;
	uint64_t region;		/* offset of the rings */
	uint32_t cells, mask;
	size_t threshold;
	uint64_t nonce;
	uint64_t next_probe;		/* ms */
	unsigned int polls;
	unsigned int dirty;		/* peers with line_dirty */
	int next;			/* whose turn it is in receiving from anyone */
	int pull_status;
	unsigned int bouncing[BOUNCES];
	uint8_t *bounce;
	struct peer *peer;
	struct op *op;			/* per slot */
	struct op *retry;		/* timed out; with those in flight <= entries */
	unsigned int retries;

	/* rmc_msg_open_with() */
	struct rmc_team *team;
	int buf_id;
	size_t local_len;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Offset in any member's segment of what writer writes there */
static uint64_t line_offset(const struct rmc_msg *m, int writer)
{
	return m->region + (uint64_t)writer * (m->cells + 1) * RMC_MSG_CELL;
}

static struct peer *find(struct rmc_msg *m, int nid)
{
	int i = nid - m->raw.first_nid;

	return i >= 0 && i < m->raw.nodes ? &m->peer[i] : NULL;
}

static void give_up(struct peer *p, int status)
{
	if (!p->status)
		p->status = status;
}

static int node_up(struct rmc_msg *m, struct peer *p)
{
	return !m->raw.node_state || m->raw.node_state(m->raw.arg, p->nid) == RMC_NODE_UP;
}

/* --- operations --- */

static void finish(struct rmc_msg *m, struct op *op, int status)
{
	struct peer *p = op->peer;
	uint32_t i;

	if (status == RMC_S_TIMEOUT && op->kind != OP_PROBE && !p->status &&
	    ++op->tries < TRIES_MAX && node_up(m, p)) {
		m->retry[m->retries++] = *op;
		return;
	}
	switch (op->kind) {
	case OP_CELLS:
		for (i = 0; i < op->cells; i++)
			p->busy[(op->first + i) & m->mask] = 0;
		break;
	case OP_LINE:
		p->line_busy = 0;
		break;
	case OP_PROBE:
		p->probing = 0;
		if (status == RMC_S_TIMEOUT)
			return;		/* slow; the heartbeat decides */
		if (!status && p->local->probe.nonce != m->nonce)
			status = RMC_S_BAD_CONTEXT;	/* another life */
		break;
	case OP_PULL:
		--*op->pending;
		if (status && !m->pull_status)
			m->pull_status = status;
		if (status == RMC_S_BAD_LBUF)
			return;		/* the caller's mistake */
		break;
	}
	if (status)
		give_up(p, status);
}

static void reap(struct rmc_msg *m)
{
	struct rmc_completion c;

	while (rmc_qp_in_flight(m->qp) && rmc_cq_next(m->qp, &c))
		finish(m, &m->op[c.slot], c.status);
}

static int free_slot(struct rmc_msg *m)
{
	int slot = (int)(m->qp->head & m->qp->mask), err;
	unsigned int spins = 0;

	for (;;) {
		reap(m);
		if (m->qp->slot[slot] != RMC_SLOT_BUSY)
			return slot;
		err = rmc_relax(m->qp, &spins);
		if (err)
			return err;
	}
}

static int issue_now(struct rmc_msg *m, const struct op *op)
{
	int slot = free_slot(m);

	if (slot < 0)
		return slot;
	m->op[slot] = *op;
	rmc_issue(m->qp, op->kind == OP_PROBE || op->kind == OP_PULL ? RMC_OP_READ : RMC_OP_WRITE,
		  slot, op->peer->nid, op->offset, op->buf, op->len);
	return 0;
}

/* Those that timed out come first: so there is always room to note them. */
static int issue_retries(struct rmc_msg *m)
{
	struct op op;
	int err;

	while (m->retries) {
		op = m->retry[--m->retries];
		err = issue_now(m, &op);
		if (err)
			return err;
	}
	return 0;
}

static int issue(struct rmc_msg *m, const struct op *op)
{
	int err;

	do {
		err = issue_retries(m);
		if (!err)
			err = free_slot(m);
	} while (err >= 0 && m->retries);
	return err < 0 ? err : issue_now(m, op);
}

static int write_line(struct rmc_msg *m, struct peer *p)
{
	struct op op = {
		.kind = OP_LINE,
		.peer = p,
		.offset = line_offset(m, m->raw.self),
		.buf = &p->local->out.counters,
		.len = sizeof(p->local->out.counters),
	};

	if (p->line_busy)
		return 0;
	p->line_busy = 1;
	p->line_dirty = 0;
	m->dirty--;
	p->local->out.counters = p->line_credits | (uint64_t)p->line_pulled << 32;
	return issue(m, &op);
}

/* Owed credits, and what was pulled, by a message of length zero */
static int tell(struct rmc_msg *m, struct peer *p)
{
	p->line_credits += p->owed;
	p->owed = 0;
	if (!p->line_dirty) {
		p->line_dirty = 1;
		m->dirty++;
	}
	return write_line(m, p);
}

static int probe(struct rmc_msg *m, struct peer *p)
{
	struct op op = {
		.kind = OP_PROBE,
		.peer = p,
		.offset = line_offset(m, m->raw.self),
		.buf = &p->local->probe,
		.len = sizeof(p->local->probe),
	};

	if (p->status || p->probing)
		return 0;
	if (!node_up(m, p)) {
		give_up(p, RMC_S_NODE_DOWN);
		return 0;
	}
	p->probing = 1;
	return issue(m, &op);
}

/* What must happen now and then whatever the caller waits for; p NULL: anyone */
static int progress(struct rmc_msg *m, struct peer *p)
{
	uint64_t now;
	int i, err;

	reap(m);
	if (m->retries) {
		err = issue_retries(m);
		if (err)
			return err;
	}
	for (i = 0; m->dirty && i < m->raw.nodes; i++) {
		if (!m->peer[i].line_dirty)
			continue;
		err = write_line(m, &m->peer[i]);
		if (err)
			return err;
	}
	if (++m->polls % POLLS_PER_CLOCK)
		return 0;
	now = now_ms();
	if (now < m->next_probe)
		return 0;
	m->next_probe = now + PROBE_INTERVAL_MS;
	for (i = 0; i < m->raw.nodes; i++) {
		if (i == m->raw.self || (p && p != &m->peer[i]))
			continue;
		err = probe(m, &m->peer[i]);
		if (err)
			return err;
	}
	return 0;
}

static int step(struct rmc_msg *m, struct peer *p, unsigned int *spins)
{
	int err = progress(m, p);

	return err ? err : rmc_relax(m->qp, spins);
}

/* --- cells that came --- */

static unsigned int phase_of(const struct rmc_msg *m, uint32_t position)
{
	return !(position & m->cells);
}

static void scan(struct rmc_msg *m, struct peer *p)
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

static void look(struct rmc_msg *m, struct peer *p)
{
	uint64_t counters = rmc_load_acquire(&p->line->counters);

	scan(m, p);
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

/* --- sending --- */

static int wait_for_room(struct rmc_msg *m, struct peer *p, uint32_t want)
{
	unsigned int spins = 0;
	int err;

	while (room(m, p) < want) {
		look(m, p);
		if (room(m, p) >= want)
			break;
		if (p->status)
			return p->status;
		err = step(m, p, &spins);
		if (err)
			return err;
	}
	return p->status;
}

/* The next cell of the copy of the peer's ring */
static int stage(struct rmc_msg *m, struct peer *p, enum rmc_cell_kind kind, size_t length,
		 struct rmc_cell **cell)
{
	uint32_t i = p->tx_head & m->mask, credits = p->owed;
	struct rmc_cell *c = &p->copy[i];
	unsigned int spins = 0;
	int err;

	while (rmc_unlikely(p->busy[i])) {
		err = step(m, p, &spins);
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

/* Write n cells, the last of which is the one that was staged last. */
static int write_cells(struct rmc_msg *m, struct peer *p, uint32_t n)
{
	struct op op = { .kind = OP_CELLS, .peer = p };

	op.first = p->tx_head - n;
	op.cells = n;
	op.offset = line_offset(m, m->raw.self) +
		    (1 + (uint64_t)(op.first & m->mask)) * RMC_MSG_CELL;
	op.buf = &p->copy[op.first & m->mask];
	op.len = n * RMC_MSG_CELL;
	memset(&p->busy[op.first & m->mask], 1, n);
	return issue(m, &op);
}

static uint64_t cells_of(size_t len)
{
	if (!len)
		return 1;
	if (len > RMC_CELL_LENGTH_MAX)		/* len + 8 bytes to carry */
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

static int push(struct rmc_msg *m, struct peer *p, const uint8_t *buf, size_t len,
		unsigned int flags)
{
	uint64_t left = cells_of(len);
	uint32_t batch = m->cells / 4, n, i;
	size_t done = 0;
	int first = 1, err;

	if (left <= m->cells / 2)
		batch = (uint32_t)left;
	if (flags & RMC_MSG_DONTWAIT) {
		if (left > m->cells / 2)
			return -EMSGSIZE;
		look(m, p);
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
		look(m, p);
		if ((int32_t)(p->pulled - posted) >= 0)
			return 0;
		if (p->status)
			return p->status;
		err = step(m, p, &spins);
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
		look(m, p);
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
	int err;

	if (!p || (len && !buf) ||
	    flags & ~(RMC_MSG_DONTWAIT | RMC_MSG_ASYNC | RMC_MSG_REGISTERED))
		return -EINVAL;
	err = progress(m, p);
	if (err)
		return err;
	if (p->status)
		return p->status;
	if (len && len >= m->threshold && in_segment(m, buf, len))
		return post(m, p, (const uint8_t *)buf, len, flags);
	return push(m, p, (const uint8_t *)buf, len, flags);
}

int rmc_msg_flush(struct rmc_msg *m, int nid)
{
	struct peer *p = find(m, nid);

	return p ? wait_until_pulled(m, p, p->posted) : -EINVAL;
}

unsigned int rmc_msg_pending(struct rmc_msg *m, int nid)
{
	struct peer *p = find(m, nid);

	if (!p)
		return 0;
	look(m, p);
	return p->posted - p->pulled;
}

/* --- receiving --- */

static void consume(struct peer *p)
{
	p->rx_head++;
	p->owed++;
}

static int give_credits(struct rmc_msg *m, struct peer *p)
{
	return p->owed >= m->cells / 4 ? tell(m, p) : 0;
}

/* Leave nothing that must be told behind: the caller may not come back for long. */
static int told(struct rmc_msg *m, struct peer *p)
{
	unsigned int spins = 0;
	int err = 0;

	while (!err && p->line_dirty && !p->status)
		err = step(m, p, &spins);
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
		int status = p->status;		/* known before the last look */

		scan(m, p);
		if (p->rx_head != p->rx_scan)
			break;
		if (status)
			return broken(p, status);
		err = step(m, p, &spins);
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
	return err ? err : told(m, p);
}

static int wait_bounce(struct rmc_msg *m, struct peer *p, int i)
{
	unsigned int spins = 0;
	int err = 0;

	while (!err && m->bouncing[i])
		err = step(m, p, &spins);
	return err;
}

/* Into the caller's buffer at once, or by way of our own */
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
		err = issue(m, &op);
		at += op.len;
	}
	for (i = 0; i < BOUNCES && err != -ESHUTDOWN; i++) {
		err = wait_bounce(m, p, i);
		if (!err && !m->pull_status && in[i].len)
			memcpy(buf + in[i].at, m->bounce + (size_t)i * BOUNCE_BYTES, in[i].len);
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
	err = tell(m, p);
	return err ? err : told(m, p);
}

/* Size of the message at head, whose first cell is there */
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
	struct rmc_cell_pull pull = { 0, 0 };
	uint64_t size;
	int err;

	if (from)
		*from = p->nid;
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
			scan(m, p);
		if (p->rx_head != p->rx_scan)
			return p;
	}
	return NULL;
}

/* Deaths to tell a receiver; p NULL: anyone's, each once, and when nobody is left */
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

/* A peer with a message; or the reason why there is none */
static int await(struct rmc_msg *m, int nid, unsigned int flags, struct peer **found, int *from)
{
	struct peer *only = nid == RMC_MSG_ANY ? NULL : find(m, nid), *p, *dead;
	unsigned int spins = 0;
	int err;

	if (nid != RMC_MSG_ANY && !only)
		return -EINVAL;
	for (;;) {
		/* What died has come to rest: look for its messages once more. */
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
		err = progress(m, only);
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

/* --- opening and closing --- */

size_t rmc_msg_local_bytes(int nodes, unsigned int cells)
{
	return (size_t)nodes * (sizeof(struct local) + (size_t)cells * RMC_MSG_CELL) +
	       (size_t)BOUNCES * BOUNCE_BYTES;
}

static void free_msg(struct rmc_msg *m)
{
	int i;

	for (i = 0; m->peer && i < m->raw.nodes; i++)
		free(m->peer[i].busy);
	free(m->peer);
	free(m->op);
	free(m->retry);
	free(m);
}

/* Wait for what is in flight. */
static int drain(struct rmc_msg *m)
{
	unsigned int spins = 0;
	int err = 0;

	while (!err && (rmc_qp_in_flight(m->qp) || m->retries || m->dirty))
		err = step(m, NULL, &spins);
	return err;
}

static int make_peers(struct rmc_msg *m)
{
	uint8_t *local = (uint8_t *)m->raw.local, *seg = (uint8_t *)m->raw.seg;
	int i;

	for (i = 0; i < m->raw.nodes; i++) {
		struct peer *p = &m->peer[i];
		uint8_t *at = seg + (line_offset(m, i) - m->raw.offset);

		p->nid = m->raw.first_nid + i;
		p->busy = (uint8_t *)calloc(m->cells, 1);
		if (!p->busy)
			return rmc_fail(ENOMEM, "out of memory");
		p->line = (const struct line *)(void *)at;
		p->ring = (const struct rmc_cell *)(void *)(at + RMC_MSG_CELL);
		p->local = (struct local *)(void *)local;
		p->copy = (struct rmc_cell *)(void *)(local + sizeof(struct local));
		local += sizeof(struct local) + (size_t)m->cells * RMC_MSG_CELL;
	}
	m->bounce = local;
	return 0;
}

/* Sign our line at each peer, so that we know it again when we look after it. */
static int sign(struct rmc_msg *m)
{
	int i, err;

	for (i = 0; i < m->raw.nodes; i++) {
		struct peer *p = &m->peer[i];
		struct op op = {
			.kind = OP_LINE,
			.peer = p,
			.offset = line_offset(m, m->raw.self),
			.buf = &p->local->out,
			.len = sizeof(p->local->out),
		};

		p->local->out.nonce = m->nonce;
		p->line_busy = 1;
		err = issue(m, &op);
		if (err)
			return err;
	}
	return drain(m);
}

static int bad_options(const struct rmc_msg_raw *raw, const struct rmc_msg_options *o)
{
	size_t need = rmc_msg_bytes(raw->nodes, o->cells);

	if (o->cells < RMC_MSG_CELLS_MIN || o->cells > RMC_MSG_CELLS_MAX ||
	    o->cells & (o->cells - 1))
		return rmc_fail(EINVAL, "%u cells: a power of two, %d .. %d, is needed", o->cells,
				RMC_MSG_CELLS_MIN, RMC_MSG_CELLS_MAX);
	if (o->at % RMC_MSG_CELL || (raw->offset + o->at) % RMC_MSG_CELL)
		return rmc_fail(EINVAL, "message buffers must begin at a multiple of %d",
				RMC_MSG_CELL);
	if (o->at > raw->seg_len || need > raw->seg_len - o->at)
		return rmc_fail(EINVAL, "message buffers of %d nodes take %zu bytes at %llu, but the segment has %zu",
				raw->nodes, need, (unsigned long long)o->at, raw->seg_len);
	return 0;
}

struct rmc_msg *rmc_msg_open_raw(const struct rmc_msg_raw *raw, const struct rmc_msg_options *o)
{
	struct rmc_msg *m;
	int err = bad_options(raw, o);

	if (err) {
		errno = -err;
		return NULL;
	}
	m = (struct rmc_msg *)calloc(1, sizeof(*m));
	if (!m) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	m->raw = *raw;
	m->qp = raw->qp;
	m->region = raw->offset + o->at;
	m->cells = o->cells;
	m->mask = o->cells - 1;
	m->threshold = o->threshold;
	m->buf_id = -1;
	m->next_probe = now_ms() + PROBE_INTERVAL_MS;
	while (!m->nonce)
		if (getrandom(&m->nonce, sizeof(m->nonce), 0) < 0)
			m->nonce = now_ms() << 20 | (uintptr_t)m;
	m->peer = (struct peer *)calloc((size_t)raw->nodes, sizeof(*m->peer));
	m->op = (struct op *)calloc(m->qp->entries, sizeof(*m->op));
	m->retry = (struct op *)calloc(m->qp->entries, sizeof(*m->retry));
	err = m->peer && m->op && m->retry ? make_peers(m) : rmc_fail(ENOMEM, "out of memory");
	if (!err)
		err = sign(m);
	if (err) {
		rmc_fail(-err, "cannot open message buffers: %s", rmc_strerror(err));
		free_msg(m);
		return NULL;
	}
	return m;
}

static int team_node_state(void *arg, int nid)
{
	return rmc_node_state(((struct rmc_team *)arg)->ctx, nid);
}

struct rmc_msg *rmc_msg_open_with(struct rmc_team *team, const struct rmc_msg_options *o)
{
	size_t len = rmc_page_round(rmc_msg_local_bytes(team->nodes, o->cells));
	struct rmc_msg_raw raw = {
		.nodes = team->nodes,
		.self = team->self,
		.first_nid = rmc_team_nid(team, 0),
		.seg = team->seg,
		.seg_len = team->len,
		.offset = team->offset,
		.max_length = rmc_query(team->ctx)->max_length,
		.node_state = team_node_state,
		.arg = team,
	};
	struct rmc_msg *m;
	int id, err;

	err = bad_options(&raw, o);
	if (err)
		goto err;
	raw.qp = rmc_qp_create(team->ctx, o->entries);
	if (!raw.qp) {
		err = -errno;
		goto err;
	}
	raw.local = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (raw.local == MAP_FAILED) {
		err = rmc_fail(ENOMEM, "out of memory");
		goto err_qp;
	}
	madvise(raw.local, len, MADV_DONTFORK);
	id = rmc_buf_register(team->ctx, raw.local, len);
	if (id < 0) {
		err = id;
		goto err_unmap;
	}
	m = rmc_msg_open_raw(&raw, o);
	if (!m) {
		err = -errno;
		goto err_unregister;
	}
	m->team = team;
	m->buf_id = id;
	m->local_len = len;
	return m;

err_unregister:
	rmc_qp_destroy(raw.qp);
	raw.qp = NULL;
	rmc_buf_unregister(team->ctx, id);
err_unmap:
	munmap(raw.local, len);
err_qp:
	rmc_qp_destroy(raw.qp);
err:
	errno = -err;
	return NULL;
}

void rmc_msg_close(struct rmc_msg *m)
{
	if (!m)
		return;
	drain(m);
	if (m->team) {
		rmc_qp_destroy(m->qp);
		rmc_buf_unregister(m->team->ctx, m->buf_id);
		munmap(m->raw.local, m->local_len);
	}
	free_msg(m);
}

void rmc_msg_set_threshold(struct rmc_msg *m, size_t threshold)
{
	m->threshold = threshold;
}
