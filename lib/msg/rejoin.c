/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A restarted peer: how both sides drop the state of its earlier incarnation.
 *
 *	restarted n					survivor s
 *	line at s = {nonce n, echo 0}	------------->	wait for operations in flight,
 *							reset all counters, zero n's ring
 *	zero s's ring			<-------------	line at n = {nonce s, echo n}
 *	line at s = {nonce n, echo s}	------------->	use it
 *	use it
 *
 * A member that echoes a nonce has no operation for an older incarnation in flight, and
 * waits for cells in an empty ring. A member sends cells only to a peer that echoes its
 * nonce. s may still have written for the earlier incarnation into memory that now belongs
 * to n: n zeroes it, and s echoes n only afterwards. Both sides run the same steps, so two
 * restarted members meet as well.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "state.h"

#define ADMIT_INTERVAL_US	500
#define ADMIT_MS		30000

/* Write our whole line at a peer, so no counter of an older incarnation stays. */
int rmc_msg_sign(struct rmc_msg *m, struct peer *p)
{
	struct op op = {
		.kind = OP_LINE,
		.peer = p,
		.offset = line_offset(m, m->raw.self),
		.buf = &p->local->out,
		.len = sizeof(p->local->out),
	};

	p->local->out.counters = 0;
	p->local->out.nonce = m->nonce;
	p->local->out.echo = p->life;
	p->line_busy = 1;
	return rmc_msg_issue(m, &op);
}

static int settle(struct rmc_msg *m, struct peer *p)
{
	unsigned int spins = 0;
	int err = 0;

	while (!err && p->ops)
		err = rmc_msg_step(m, p, &spins);
	return err;
}

static void forget(struct rmc_msg *m, struct peer *p)
{
	if (p->line_dirty)
		m->dirty--;
	p->status = p->reported = p->broken = 0;
	p->tx_head = p->tx_ring_credits = p->tx_line_credits = 0;
	p->posted = p->pulled = 0;
	p->rx_scan = p->rx_head = p->owed = 0;
	p->line_credits = p->line_pulled = 0;
	p->line_dirty = 0;
	/* the peer writes this ring, but not before we echo its nonce */
	memset((void *)(uintptr_t)p->ring, 0, (size_t)m->cells * RMC_MSG_CELL);
}

/* Prepare for the incarnation of this nonce, and echo it; it may end meanwhile. */
static int prepare(struct rmc_msg *m, struct peer *p, uint64_t nonce)
{
	int err;

	/* no retries from here on */
	give_up(p, RMC_S_BAD_CONTEXT);
	err = settle(m, p);
	if (err)
		return err;
	forget(m, p);
	p->life = nonce;
	err = rmc_msg_sign(m, p);
	if (!err)
		err = settle(m, p);
	if (!err && p->status)
		p->life = 0;
	return err;
}

/* Run until both echo each other; was: nonce of the incarnation that ended, 0: none */
int rmc_msg_admit(struct rmc_msg *m, struct peer *p, uint64_t was, unsigned int timeout_ms)
{
	uint64_t end = rmc_msg_now_ms() + (timeout_ms ? timeout_ms : ADMIT_MS), nonce;
	unsigned int spins = 0;
	int err;

	p->admitting = 1;
	for (;;) {
		nonce = rmc_load_acquire(&p->line->nonce);
		if (nonce && nonce != was && nonce != p->life) {
			err = prepare(m, p, nonce);
			if (err)
				break;
			/* else the write to its memory failed: retry until the timeout */
			if (p->life)
				continue;
		}
		err = 0;
		if (nonce && nonce == p->life && nonce != was &&
		    rmc_load_acquire(&p->line->echo) == m->nonce) {
			/* set by an earlier call that failed */
			p->status = p->reported = p->broken = 0;
			break;
		}
		err = rmc_msg_step(m, p, &spins);
		if (err)
			break;
		if (rmc_msg_now_ms() > end) {
			err = rmc_fail(ETIMEDOUT, "node %d did not open its messages again in time",
				       p->nid);
			break;
		}
		usleep(ADMIT_INTERVAL_US);
	}
	p->admitting = 0;
	if (err) {
		/* no message in either direction until both echo each other */
		give_up(p, RMC_S_BAD_CONTEXT);
		p->broken = 1;
	}
	return err;
}

int rmc_msg_rejoin(struct rmc_msg *m, int nid, unsigned int timeout_ms)
{
	struct peer *p = find(m, nid);
	int err;

	if (!p || p == &m->peer[m->raw.self])
		return -EINVAL;
	/*
	 * The incarnation that we know has ended, even if we have not noticed. In a call
	 * after a failure we may be prepared for the next one already, which may have sent.
	 */
	if (!p->rejoining)
		p->former = p->life;
	p->rejoining = 1;
	give_up(p, RMC_S_BAD_CONTEXT);
	err = rmc_msg_admit(m, p, p->former, timeout_ms);
	if (!err)
		p->rejoining = 0;
	return err;
}
