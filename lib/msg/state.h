/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Messages over one-sided operations (see <rmc/msg.h>): private declarations of this
 * directory.
 *
 * At member r, for each sender s:
 *
 *	| line: {credits, pulled} | cell 0 | cell 1 | ... |	all written by s
 *
 * The ring carries messages from s to r, and credits that s returns to r. The line is
 * the message of length zero, which always has room because it overwrites itself: two
 * free-running counters in one word, of returned credits and of pulled messages. Writes
 * to it could overtake each other, so only one is in flight.
 *
 * The sender keeps a copy of each ring as the source of its writes. A cell of the copy is
 * reused when the receiver has returned its credit and the write is complete.
 *
 * The receiver has two cursors per ring: scan reads headers as they arrive and takes
 * their credits, even while the application does not receive; head is the next cell to
 * consume. So a member that waits in a send for room sees the credits behind unread
 * messages.
 *
 * A receiver returns credits before a quarter of the ring is due, so a sender that needs
 * less than half the ring does not wait for ever.
 */
#ifndef RMC_LIB_MSG_STATE_H
#define RMC_LIB_MSG_STATE_H

#include "../internal.h"
#include "../cell.h"

#define PROBE_INTERVAL_MS	250	/* between probes of a silent peer */
#define BOUNCE_BYTES		(64U << 10)	/* pulls into memory that is not registered */
#define BOUNCES			2		/* one is filled while the other is emptied */

struct line {
	uint64_t counters;	/* credits | pulled << 32 */
	uint64_t nonce;		/* of the writer of the line */
	uint64_t echo;		/* nonce of the reader that the writer has prepared for; rejoin.c */
	uint64_t pad[5];
};

/* Local memory of the RMC's operations, per peer; after it the copy of the ring */
struct local {
	struct line out, probe;
};

struct peer {
	int nid;
	int status;			/* reason why the peer was given up */
	int reported;			/* already reported by a receive of RMC_MSG_ANY */
	int broken;			/* in the middle of a message */
	uint64_t life;			/* nonce of the peer's incarnation; 0: not yet known */
	int admitting;			/* a new incarnation is being admitted */
	int rejoining;			/* rmc_msg_rejoin() was called, and has not succeeded yet */
	uint64_t former;		/* rejoining: nonce of the incarnation that has ended */
	unsigned int ops;		/* not complete, retries included */

	/* to the peer; counters run freely */
	uint32_t tx_head;		/* cells written */
	uint32_t tx_ring_credits;	/* returned in headers */
	uint32_t tx_line_credits;	/* returned in the line */
	uint32_t posted, pulled;	/* messages to pull */
	struct local *local;
	struct rmc_cell *copy;
	uint8_t *busy;			/* per cell: write not complete */

	/* from the peer */
	const struct line *line;
	const struct rmc_cell *ring;
	uint32_t rx_scan, rx_head;
	uint32_t owed;			/* credits due */
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
	int next;			/* first peer of the next receive of RMC_MSG_ANY */
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

/* Offset of the writer's line in any member's segment */
static inline uint64_t line_offset(const struct rmc_msg *m, int writer)
{
	return m->region + (uint64_t)writer * (m->cells + 1) * RMC_MSG_CELL;
}

static inline struct peer *find(struct rmc_msg *m, int nid)
{
	int i = nid - m->raw.first_nid;

	return i >= 0 && i < m->raw.nodes ? &m->peer[i] : NULL;
}

static inline void give_up(struct peer *p, int status)
{
	if (!p->status)
		p->status = status;
}

static inline unsigned int phase_of(const struct rmc_msg *m, uint32_t position)
{
	return !(position & m->cells);
}

/* The next slot of the queue; -1: it is busy, or timed-out operations come first */
static inline int rmc_msg_slot(const struct rmc_msg *m)
{
	int slot = (int)(m->qp->head & m->qp->mask);

	return !m->retries && m->qp->slot[slot] != RMC_SLOT_BUSY ? slot : -1;
}

/* op.c: operations in flight, and the regular work of waits */
uint64_t rmc_msg_now_ms(void);
int rmc_msg_issue(struct rmc_msg *m, const struct op *op);
int rmc_msg_send_line(struct rmc_msg *m, struct peer *p);
int rmc_msg_progress(struct rmc_msg *m, struct peer *p);
int rmc_msg_step(struct rmc_msg *m, struct peer *p, unsigned int *spins);
int rmc_msg_drain(struct rmc_msg *m);

/* rejoin.c */
int rmc_msg_sign(struct rmc_msg *m, struct peer *p);
int rmc_msg_admit(struct rmc_msg *m, struct peer *p, uint64_t was, unsigned int timeout_ms);

/* recv.c: process the headers of cells that have arrived */
void rmc_msg_scan(struct rmc_msg *m, struct peer *p);

#endif /* RMC_LIB_MSG_STATE_H */
