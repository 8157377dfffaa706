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

/**
 * rmc_switch_replies() - a reply of the storage node passes its switch
 * @sw: switch
 * @source: endpoint that it goes to
 * @word0: of its request
 * @word1: of its request
 * @status: of the reply
 * @line: its first line of payload, not published yet
 *
 * Context: worker, does not sleep.
 */
void rmc_switch_replies(struct rmc_switch *sw, u32 source, u64 word0, u64 word1, u8 status,
			u8 *line)
{
	struct rmc_switch_packet s;

	parse(&s, source, word0, word1);
	s.status = status;
	rmc_switch_reply(sw, &s);
	/* tuples begin with a line */
	if (s.changed)
		memcpy(line, &s.word, sizeof(s.word));
}
