// SPDX-License-Identifier: GPL-2.0
/*
 * Answers: what an RRPP does with the packets of a REPLY (T18 section 5.4, in one operation).
 *
 *   sender of the message                            core that has it
 *   SEND -------------------------------------------> receive slot, arrival queue
 *   send slot: USED
 *   answer slot <---------------------- packets ----- REPLY: the receive slot is free
 *   send slot: ANSWERED
 *   application: reads it in place, FREE
 *
 * An answer has a place of its own, the answer slot of the send slot, so a REPLY never waits for
 * room, nor two servers for each other. It needs no dispatcher: who asked looks at its send slot.
 * The word of the send slot says whether, and for which turn, an answer is expected; all other
 * packets have no effect.
 */
#include "node.h"
#include "part.h"

static u32 answer_words(const struct rmc_domain_params *p, const struct rmc_fabric *f)
{
	return (rmc_packets(f->mtu, 0, p->max_answer) + 63) / 64;
}

static u32 answer_stride(const struct rmc_domain_params *p)
{
	return p->max_answer ? sizeof(struct rmc_answer) + RMC_LINE * rmc_lines(0, p->max_answer) :
			       0;
}

/**
 * rmc_answer_bytes() - memory of the answers of one slot, for quotas
 * @p: valid parameters
 * @f: fabric
 *
 * Return: bytes. Context: any.
 */
u64 rmc_answer_bytes(const struct rmc_domain_params *p, const struct rmc_fabric *f)
{
	if (!p->max_answer)
		return 0;
	return answer_stride(p) + sizeof(struct rmc_answer_slot) + answer_words(p, f) * sizeof(u64);
}

/**
 * rmc_answers_init() - allocate what the answers of a domain need in the kernel
 * @d: domain, whose parameters are set
 *
 * Return: false: no memory; rmc_answers_destroy() frees what there is. Context: may sleep.
 */
bool rmc_answers_init(struct rmc_domain *d)
{
	size_t slots = (size_t)d->p.nodes * d->p.slots;

	BUILD_BUG_ON(sizeof(struct rmc_answer) != RMC_LINE);
	if (!d->p.max_answer)
		return true;
	d->answer_stride = answer_stride(&d->p);
	d->answer_words = answer_words(&d->p, d->head->fabric);
	d->answer = rmc_os_zalloc_user(slots * sizeof(*d->answer));
	d->answer_seen = rmc_os_zalloc_user(slots * d->answer_words * sizeof(u64));
	return d->answer && d->answer_seen;
}

/**
 * rmc_answers_destroy() - mirror of rmc_answers_init()
 * @d: domain
 *
 * Context: may sleep.
 */
void rmc_answers_destroy(struct rmc_domain *d)
{
	rmc_os_free(d->answer_seen);
	rmc_os_free(d->answer);
}

/*
 * All of it is there: the application that sees the send slot ANSWERED, with acquire, sees the
 * answer. At once, as in rmc_domain_free().
 */
static void answered(struct rmc_domain *d, u32 index, union rmc_send_word was, u64 *word)
{
	struct rmc_answer head = { .length = d->answer[index].length, .turn = was.turn };
	union rmc_send_word now = was;

	rmc_mem_put(d->answers, (u64)index * d->answer_stride, (u8 *)&head, 2 * sizeof(u32));
	now.valid = RMC_SEND_ANSWERED;
	rmc_os_cas64(word, was.word, now.word);
}

/**
 * rmc_domain_answer() - serve a packet of an answer
 * @s: request, whose slot exists and is at home here
 * @d: domain
 * @set: number of the source in it
 *
 * A packet for another message, of an earlier life of either domain, or one that came before, has
 * no effect.
 *
 * Return: RMC_S_OK; RMC_S_PROTOCOL. Context: RRPP worker, does not sleep.
 */
u8 rmc_domain_answer(struct rmc_serve *s, struct rmc_domain *d, u32 set)
{
	const u32 mtu = s->node->fabric->mtu, length = s->req.length;
	const u64 offset = s->req.offset;
	const u32 byte = rmc_answer_byte(offset), index = rmc_slot_index(d, set, offset);
	const u32 life = d->peer_life[rmc_life_index(d, set, offset)];
	struct rmc_domain_unit *unit = rmc_domain_unit(d, s->node);
	u32 packet = byte ? rmc_os_div(byte, mtu) : 0;
	bool last = s->word1 & RMC_REQ_LAST;
	struct rmc_answer_slot *a;
	union rmc_send_word was;
	u64 *word, *seen;

	if (unlikely(packet * mtu != byte || (!last && length != mtu) ||
		     byte + length > d->p.max_answer))
		return RMC_S_PROTOCOL;
	word = rmc_part_word(d, set, index);
	/* pairs with the release of whoever claims the slot: it has read the answer before */
	was.word = likely(word) ? smp_load_acquire(word) : 0;
	if (unlikely(was.valid != RMC_SEND_USED || (u8)was.turn != rmc_slot_turn(offset) ||
		     rmc_answer_tag(d->life, life, was.turn) !=
		     rmc_answer_tag_of(offset, rmc_packets_of(s->req.ctx_id, s->word1)))) {
		rmc_domain_count(unit, repeated);
		return RMC_S_OK;
	}
	a = &d->answer[index];
	seen = d->answer_seen + (size_t)index * d->answer_words;
	if (a->turn != was.turn || a->life != life) {
		*a = (struct rmc_answer_slot){ .turn = was.turn, .life = life };
		memset(seen, 0, d->answer_words * sizeof(*seen));
	}
	/* not what another last packet has said */
	if (unlikely(a->total && (packet >= a->total || last != (packet + 1 == a->total))))
		return RMC_S_PROTOCOL;
	if (unlikely(seen[packet / 64] & 1ULL << packet % 64)) {
		rmc_domain_count(unit, repeated);
		return RMC_S_OK;
	}
	seen[packet / 64] |= 1ULL << packet % 64;
	rmc_serve_copy(s, d->answers, rmc_answer_data(d, index) + byte, length);
	rmc_domain_count(unit, packets);
	if (last) {
		a->total = packet + 1;
		a->length = byte + length;
	}
	if (++a->got != a->total)
		return RMC_S_OK;
	answered(d, index, was, word);
	rmc_domain_count(unit, freed);
	rmc_domain_freed(s->node, d);
	return RMC_S_OK;
}
