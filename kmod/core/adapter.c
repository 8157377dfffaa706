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
 *
 * Buffer. An adapter keeps the word of an atomic for some time, and the next atomics act on that
 * copy. Each that changes it stores it, but what is written otherwise meanwhile they do not see
 * (R25 3.3): a fetch-and-add stores the old word, changed, over it, and a failing compare-and-swap
 * stores nothing.
 *
 * A line of a WRITE is stored once, or it would undo what others have written to it since. So
 *
 *   segment withdrawn    what has begun in it ends with RMC_S_BAD_CONTEXT, even if there is another
 *                        one by then; words of it are forgotten. Other segments do not notice
 *   another adapter,     the rest of what has begun is one step, at once: rmc_rrpp_finish()
 *   a filter, a switch
 *   channel closed       so is the rest of a WRITE if there is a switch, without a reply
 */
#include "adapter.h"
#include "node.h"

static bool is_write(u8 op)
{
	return op == RMC_OP_WRITE || op == RMC_OP_WRITE_ONCE;
}

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
		st->seg = s->seg;
		st->word0 = word0;
		st->offset = s->req.offset;
		st->pos = s->in->req.pos;
		st->done = 0;
		st->due_ns = 0;
	}
	st->length = s->req.length;
	st->pay = s->rx_pay;
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
	if (st->seg != s->seg)
		return RMC_S_BAD_CONTEXT;
	if (now < st->due_ns && !st->last)
		return RMC_LATER;
	n = st->last ? lines : 1 + rmc_random_below(&l->rnic_rng, RMC_STEP_LINES);
	while (n--) {
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

/* Place of an aligned word in the buffer; *@there: atomics see what is in it. */
static struct rmc_rnic_word *find_word(struct rmc_serve *s, u64 offset, u64 now, bool *there)
{
	struct rmc_rnic_word *w = &s->node->links.rnic_server->word[rmc_rnic_place(offset)];

	*there = now < w->end_ns && w->offset == offset && w->seg == s->seg;
	return w;
}

/* A word as atomics see it, from now on too */
static struct rmc_rnic_word *get_word(struct rmc_serve *s, u64 *at)
{
	u64 now = rmc_os_now_ns();
	bool there;
	struct rmc_rnic_word *w = find_word(s, s->req.offset, now, &there);

	if (there)
		return w;
	w->offset = s->req.offset;
	w->seg = s->seg;
	w->value = READ_ONCE(*at);
	w->end_ns = now + s->node->links.rnic.buffer_ns;
	return w;
}

/* All atomics of 8 bytes */
static u8 serve_word(struct rmc_serve *s)
{
	const u64 *operand = (const u64 *)rmc_ring_line(s->rx, s->rx_pay);
	struct rmc_rnic_word *w;
	u64 *at, value;
	bool stores = true;
	u8 status = RMC_S_OK;

	/* from a peer: a word does not cross pages */
	if (s->req.offset & 7)
		return RMC_S_BAD_ALIGN;
	at = rmc_mem_ptr(s->seg, s->req.offset);
	w = get_word(s, at);
	value = w->value;
	s->word1 = value;
	if (s->req.op == RMC_OP_FAA) {
		value += READ_ONCE(operand[0]);
	} else if (s->req.op == RMC_OP_CAS) {
		stores = READ_ONCE(operand[0]) == value;
		value = READ_ONCE(operand[1]);
	} else {
		status = rmc_rmw_next(s, &value);
		stores = !status && value != w->value;
	}
	if (!stores)
		return status;
	w->value = value;
	WRITE_ONCE(*at, value);
	return RMC_S_OK;
}

/*
 * A read-modify-write of 4 bytes acts on the buffer if the word is there. It puts none there: the
 * other half may lie outside of the segment.
 */
static u8 serve_half(struct rmc_serve *s)
{
	u32 shift = s->req.offset & 4 ? 32 : 0;
	struct rmc_rnic_word *w;
	u64 old, value;
	bool there;
	u8 status;

	w = find_word(s, s->req.offset & ~7ULL, rmc_os_now_ns(), &there);
	if (!there || s->req.length != 4)
		return rmc_op_serve(s);
	old = (u32)(w->value >> shift);
	value = old;
	status = rmc_rmw_next(s, &value);
	if (status)
		return status;
	s->word1 = old;
	w->value = (w->value & ~((u64)U32_MAX << shift)) | value << shift;
	if (value != old)
		WRITE_ONCE(*(u32 *)rmc_mem_ptr(s->seg, s->req.offset), (u32)value);
	return RMC_S_OK;
}

/*
 * Ordered as the compare-and-swap of an RRPP is, whether it stores or not: behind the writes before
 * it, and before those behind it.
 */
static u8 serve_atomic(struct rmc_serve *s)
{
	u8 status = RMC_S_BAD_ALIGN;

	/* the owner's acquire load of the word pairs with this one: it sees earlier writes, too */
	smp_mb();
	if (s->req.length == 8)
		status = serve_word(s);
	else if (s->req.op == RMC_OP_RMW)
		status = serve_half(s);
	/* the owner's acquire loads of later writes pair with this one: it sees the word, too */
	smp_mb();
	return status;
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

	if (r->any_lines && (s->req.op == RMC_OP_READ || is_write(s->req.op))) {
		/* never: the RRPP forms no longer runs */
		if ((s->req.offset & (RMC_LINE - 1)) + s->req.length > RMC_RNIC_MTU_MAX)
			return RMC_S_PROTOCOL;
		return serve_steps(s, word0 & ~(0xffULL << 56));
	}
	if (r->buffer_ns && rmc_rank(rmc_op_flags(s->req.op)) == RMC_RANK_ATOMIC)
		return serve_atomic(s);
	return rmc_op_serve(s);
}

/**
 * rmc_adapter_close() - a channel closes: store the rest of a WRITE that has begun
 * @node: unit; the caller is its RRPP worker
 * @in: channel
 *
 * Else a switch that recovers would take half of a tuple, with the word of all of it, for one that
 * was written. Context: worker, does not sleep.
 */
void rmc_adapter_close(struct rmc_node *node, struct rmc_in *in)
{
	struct rmc_steps *st = in->steps;
	struct rmc_serve s = { .node = node, .in = in, .rx = &in->req };
	u32 line;

	if (!st || !st->begun || !st->done || !st->seg || st->pos != in->req.pos ||
	    !is_write(st->word0 >> 48))
		return;
	s.seg = st->seg;
	s.req.op = RMC_OP_WRITE;	/* of both, the same lines */
	s.req.offset = st->offset;
	s.req.length = st->length;
	s.rx_pay = st->pay;
	for (line = 0; line < rmc_lines(st->offset, st->length); line++)
		if (!(st->done & 1ULL << line))
			move_line(&s, st, line);
	st->begun = false;
}

/**
 * rmc_adapter_forget() - atomics see a word as it is in memory
 * @node: unit; the caller is its RRPP worker
 * @seg: segment
 * @offset: of the word, which is aligned
 *
 * Context: worker, does not sleep.
 */
void rmc_adapter_forget(struct rmc_node *node, const struct rmc_mem *seg, u64 offset)
{
	struct rmc_rnic_server *server = node->links.rnic_server;
	struct rmc_rnic_word *w = server ? &server->word[rmc_rnic_place(offset)] : NULL;

	if (w && w->seg == seg && w->offset == offset)
		memset(w, 0, sizeof(*w));
}

/**
 * rmc_adapter_withdraw() - a segment is withdrawn: end what has begun in it, forget words of it
 * @node: unit; the caller is its RRPP worker
 * @seg: segment, or range of one
 *
 * Context: worker, does not sleep.
 */
void rmc_adapter_withdraw(struct rmc_node *node, const struct rmc_mem *seg)
{
	struct rmc_rnic_server *server = node->links.rnic_server;
	u32 i;

	for (i = 0; i < node->fabric->endpoints; i++) {
		struct rmc_steps *st = node->in[i] ? node->in[i]->steps : NULL;

		if (st && st->seg == seg) {
			st->seg = NULL;
			st->due_ns = 0;
		}
	}
	for (i = 0; server && i < RMC_RNIC_WORDS; i++)
		if (server->word[i].seg == seg)
			memset(&server->word[i], 0, sizeof(server->word[i]));
}
