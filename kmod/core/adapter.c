// SPDX-License-Identifier: GPL-2.0
/*
 * The part of a modelled network adapter that touches memory (fabric/rnic.h has the rest).
 *
 * Steps. An RRPP serves a packet as a whole, so nobody writes between two of its lines. An
 * adapter fetches the lines of a READ by independent bus transactions, in any order, and stores
 * those of a WRITE in order (R25 4.2). Here a request moves a few lines per visit, and stays at
 * the head of its ring meanwhile. Other sources are served between its steps:
 *
 *   source A   WRITE  0 1 . . 2 3 4 . . . . 5 6 7 --> reply
 *   source B   READ   . . 5 1 . . . 7 0 2 4 . . . 6 3 --> reply
 *                     visits of the worker -->
 *
 * Each line is still moved atomically. What is behind the request in its ring waits.
 */
#include "adapter.h"
#include "node.h"

static bool is_begun(const struct rmc_steps *st, const struct rmc_serve *s, u64 word0)
{
	return st->begun && st->pos == s->in->req.pos && st->word0 == word0 &&
	       st->offset == s->req.offset;
}

/* The steps of a source's requests, with this one begun; NULL: out of memory. */
static struct rmc_steps *get_steps(struct rmc_serve *s, u64 word0)
{
	struct rmc_steps *st = s->in->steps;

	if (!st)
		st = rmc_os_zalloc_atomic(sizeof(*st));
	if (!st)
		return NULL;
	s->in->steps = st;
	if (!is_begun(st, s, word0)) {
		st->begun = true;
		st->word0 = word0;
		st->offset = s->req.offset;
		st->pos = s->in->req.pos;
		st->done = 0;
		st->due_ns = 0;
	}
	return st;
}

static u32 pick_any(struct rmc_links *l, u64 todo)
{
	u32 skip = rmc_random_below(&l->rnic_rng, hweight64(todo));

	while (skip--)
		todo &= todo - 1;
	return __ffs64(todo);
}

/* Move one line of a request. Returns false when it keeps changing. */
static bool move_line(struct rmc_serve *s, struct rmc_steps *st, u32 line)
{
	u32 skip = s->req.offset & (RMC_LINE - 1);
	/* of the first line, which begins before the request if that is not aligned */
	u32 from = line ? line * RMC_LINE : skip;
	u32 end = min((line + 1) * RMC_LINE, skip + s->req.length);
	u64 offset = s->req.offset - skip + from;

	if (s->req.op == RMC_OP_READ)
		return rmc_mem_load_lines(s->seg, offset, st->data + from, end - from);
	rmc_mem_store_lines(s->seg, offset,
			    rmc_ring_line(s->rx, s->rx_pay + line) + from % RMC_LINE, end - from);
	return true;
}

/* All lines of a READ are there: put them into the reply. */
static void reply(struct rmc_serve *s, const struct rmc_steps *st)
{
	u32 skip = s->req.offset & (RMC_LINE - 1), len = s->req.length;
	u32 run = rmc_ring_run(s->tx, s->tx->pay_pos, skip, len);

	memcpy(rmc_ring_line(s->tx, s->tx->pay_pos) + skip, st->data + skip, run);
	memcpy(s->tx->pay, st->data + skip + run, len - run);
}

static u8 serve_steps(struct rmc_serve *s, u64 word0)
{
	struct rmc_links *l = &s->node->links;
	u32 lines = rmc_lines(s->req.offset, s->req.length), n;
	u64 all = lines == 64 ? ~0ULL : (1ULL << lines) - 1, todo;
	struct rmc_steps *st = get_steps(s, word0);
	u64 now = rmc_os_now_ns();

	if (!st)
		return RMC_AGAIN;
	if (now < st->due_ns)
		return RMC_LATER;
	for (n = 1 + rmc_random_below(&l->rnic_rng, RMC_STEP_LINES); n--;) {
		u32 line;

		todo = all & ~st->done;
		if (!todo)
			break;
		line = s->req.op == RMC_OP_READ ? pick_any(l, todo) : __ffs64(todo);
		if (!move_line(s, st, line))
			return RMC_AGAIN;
		st->done |= 1ULL << line;
		st->moved = true;
	}
	st->due_ns = now + l->rnic.gap_ns;
	if (all & ~st->done)
		return RMC_LATER;
	if (s->req.op == RMC_OP_READ)
		reply(s, st);
	return RMC_S_OK;
}

/**
 * rmc_adapter_serve() - serve a request as the modelled adapter does
 * @s: request and rings; the request is at the head of its ring
 * @word0: its first word
 *
 * Return: as serve() of an operation, or RMC_LATER. Context: RRPP worker, does not sleep.
 */
u8 rmc_adapter_serve(struct rmc_serve *s, u64 word0)
{
	const struct rmc_rnic *r = &s->node->links.rnic;

	if (r->any_lines && (s->req.op == RMC_OP_READ || s->req.op == RMC_OP_WRITE) &&
	    (s->req.offset & (RMC_LINE - 1)) + s->req.length <= RMC_RNIC_MTU_MAX)
		return serve_steps(s, word0 & ~(0xffULL << 56));
	return rmc_op_serve(s);
}

/**
 * rmc_adapter_withdraw() - a segment is withdrawn: begin all requests anew
 * @node: unit; the caller is its RRPP worker
 *
 * Context: worker, does not sleep.
 */
void rmc_adapter_withdraw(struct rmc_node *node)
{
	u32 i;

	for (i = 0; i < node->fabric->endpoints; i++)
		if (node->in[i])
			rmc_adapter_answered(node->in[i]);
}
