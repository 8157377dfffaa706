/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Operations of messages: issue, completion, retry; credits; probes of silent peers. */
#include <time.h>
#include "state.h"

#define POLLS_PER_CLOCK		1024
#define TRIES_MAX		8	/* of an operation without reply, node up */

uint64_t rmc_msg_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int node_up(struct rmc_msg *m, struct peer *p)
{
	return !m->raw.node_state || m->raw.node_state(m->raw.arg, p->nid) == RMC_NODE_UP;
}

static void finish(struct rmc_msg *m, struct op *op, int status)
{
	struct peer *p = op->peer;
	uint32_t i;

	if (status == RMC_S_TIMEOUT && op->kind != OP_PROBE && !p->status &&
	    ++op->tries < TRIES_MAX && node_up(m, p)) {
		m->retry[m->retries++] = *op;
		return;
	}
	p->ops--;
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
			return;		/* slow: its node's heartbeat decides */
		if (!status && p->local->probe.nonce != m->nonce)
			status = RMC_S_BAD_CONTEXT;	/* another incarnation */
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
		if (m->qp->slot[slot] != RMC_SLOT_BUSY)
			return slot;
		reap(m);
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

/* Timed-out operations come first, so there is always room to store them. */
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

int rmc_msg_issue(struct rmc_msg *m, const struct op *op)
{
	int err;

	op->peer->ops++;
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
	return rmc_msg_issue(m, &op);
}

/* Send due credits, and the count of pulled messages, by a message of length zero */
int rmc_msg_send_line(struct rmc_msg *m, struct peer *p)
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

	if (p->status || p->probing || p->admitting)
		return 0;
	if (!node_up(m, p)) {
		give_up(p, RMC_S_NODE_DOWN);
		return 0;
	}
	p->probing = 1;
	return rmc_msg_issue(m, &op);
}

/* Regular work while the caller waits for p; NULL: for any peer */
int rmc_msg_progress(struct rmc_msg *m, struct peer *p)
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
	if (m->team && rmc_team_revoked(m->team))
		return rmc_fail(ECONNABORTED, "a member has revoked the team");
	now = rmc_msg_now_ms();
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

int rmc_msg_step(struct rmc_msg *m, struct peer *p, unsigned int *spins)
{
	int err = rmc_msg_progress(m, p);

	return err ? err : rmc_relax(m->qp, spins);
}

/* Wait for operations in flight. */
int rmc_msg_drain(struct rmc_msg *m)
{
	unsigned int spins = 0;
	int err = 0;

	while (!err && (rmc_qp_in_flight(m->qp) || m->retries || m->dirty))
		err = rmc_msg_step(m, NULL, &spins);
	return err;
}
