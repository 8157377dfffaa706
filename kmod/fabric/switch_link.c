// SPDX-License-Identifier: GPL-2.0
/*
 * Parser and deparser of a switch (R25 figure 21): packets of a link to and from the pipeline of
 * switch.c. The lines of requests are the filter's copies, so peers cannot change them.
 */
#include "stages.h"

static void parse(struct rmc_switch_packet *s, u32 source, u64 word0, u64 word1)
{
	struct rmc_desc d = { .word0 = word0, .word1 = word1 };
	struct rmc_req q;

	rmc_req_parse(&q, &d);
	memset(s, 0, sizeof(*s));
	s->source = source;
	s->ctx_id = q.ctx_id;
	s->op = q.op;
	s->offset = q.offset;
	s->length = q.length;
	if (rmc_op_announces(rmc_op_flags(q.op), word1))
		s->length = rmc_announce_length(word1);
	s->group = rmc_order_group(word0, word1);
}

/**
 * rmc_switch_arrives() - a request arrives at a switch
 * @sw: switch
 * @source: endpoint that it comes from
 * @p: packet
 * @line: its first line of payload, which may be changed; NULL: it has none
 * @a: out, answer if the switch has one
 *
 * Return: what to do with the packet. Context: worker, does not sleep.
 */
enum rmc_switch_verdict rmc_switch_arrives(struct rmc_switch *sw, u32 source,
					   const struct rmc_packet *p, u8 *line,
					   struct rmc_switch_answer *a)
{
	struct rmc_switch_packet s;

	parse(&s, source, p->word0, p->word1);
	s.psn = p->psn;
	if (line)
		memcpy(s.operand, line, sizeof(s.operand));
	rmc_switch_request(sw, &s);
	if (s.verdict == RMC_SWITCH_ANSWER)
		*a = (struct rmc_switch_answer){ .word = s.word, .status = s.status };
	else if (s.changed && line)
		memcpy(line, &s.word, sizeof(s.word));
	return s.verdict;
}

/*
 * The tuples of a range that a reply has are cold, as the storage node answered it with what memory
 * has: if that says VERIFIED, a peer has written it.
 */
static void unmark_range(const struct rmc_switch_range *r, const struct rmc_switch_packet *s,
			 const struct rmc_ring *tx)
{
	u64 end = min(s->offset + s->length, r->begin + (u64)r->stride * r->count);
	u64 start = s->offset > r->begin ? s->offset - r->begin : 0;
	/* the byte of a word that has the mark, of the first tuple that the reply may have */
	u64 at = r->begin + (u64)rmc_os_div(start, r->stride) * r->stride + 7;

	for (; at < end; at += r->stride) {
		u32 line = (at - (s->offset & ~(u64)(RMC_LINE - 1))) / RMC_LINE;

		if (at >= s->offset)
			rmc_ring_line(tx, tx->pay_pos + line)[at & (RMC_LINE - 1)] &=
				~(u8)(RMC_SWITCH_VERIFIED >> 56);
	}
}

static void unmark(const struct rmc_switch *sw, const struct rmc_switch_packet *s,
		   const struct rmc_ring *tx)
{
	u32 i;

	for (i = 0; i < RMC_SWITCH_RANGES; i++) {
		const struct rmc_switch_range *r = &sw->range[i];

		if (r->count && !r->words && r->ctx_id == s->ctx_id &&
		    s->offset < r->begin + (u64)r->stride * r->count)
			unmark_range(r, s, tx);
	}
}

/**
 * rmc_switch_replies() - a reply of the storage node passes its switch
 * @sw: switch
 * @source: endpoint that it goes to
 * @word0: of its request
 * @word1: of its request
 * @status: of the reply
 * @tx: ring, whose next lines are the reply's payload
 *
 * Context: worker, does not sleep.
 */
void rmc_switch_replies(struct rmc_switch *sw, u32 source, u64 word0, u64 word1, u8 status,
			const struct rmc_ring *tx)
{
	struct rmc_switch_packet s;

	parse(&s, source, word0, word1);
	s.status = status;
	rmc_switch_reply(sw, &s);
	/* tuples begin with a line */
	if (s.changed)
		memcpy(rmc_ring_line(tx, tx->pay_pos), &s.word, sizeof(s.word));
	else if (s.op == RMC_OP_READ && !status)
		unmark(sw, &s, tx);
}
