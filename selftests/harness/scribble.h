/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hostile party that writes into memory that it shares with RMCs. Some of it is
 * noise. Most resembles valid contents, because noise is rejected too early to find
 * many faults: descriptors of the expected lap, copies of earlier ones with one
 * invalid field, offsets and lengths just beyond the limits.
 *
 * Used on the fabric of a process (hostile.c) and on the file of a running cluster
 * (../cluster/scribble.c).
 */
#ifndef SCRIBBLE_H
#define SCRIBBLE_H

#include "kmod/base/wire.h"
#include "kmod/fabric/fabric.h"

/**
 * struct scribble - a writer
 * @f: the fabric's numbers, tables and channels
 * @rng: state of the generator, not 0
 * @spare_ctx: context for which no requests are made up; -1: none
 */
struct scribble {
	struct rmc_fabric *f;
	u64 rng;
	int spare_ctx;
};

static inline u64 scribble_random(struct scribble *s)
{
	s->rng ^= s->rng << 13;
	s->rng ^= s->rng >> 7;
	s->rng ^= s->rng << 17;
	return s->rng * 0x2545f4914f6cdd1dULL;
}

static inline u32 scribble_below(struct scribble *s, u32 n)
{
	return (u32)(scribble_random(s) >> 33) % n;
}

/* Offset and length, valid or not */
static inline u64 scribble_word1(struct scribble *s)
{
	static const u32 lengths[] = { 0, 1, 8, 16, 63, 64, 65, 200, 4096, 4097, 0x8000, 0xffff };
	u64 offset = scribble_random(s), length;

	switch (scribble_below(s, 5)) {
	case 0:
		break;
	case 1:
		offset = RMC_OFFSET_MAX - scribble_below(s, 130);
		break;
	default:
		offset = scribble_below(s, 20000);
	}
	if (scribble_below(s, 3))
		offset &= ~7ULL;
	length = scribble_below(s, 3) ? lengths[scribble_below(s, ARRAY_SIZE(lengths))] :
		 scribble_random(s) & 0xffff;
	return length << 48 | scribble_random(s) % 256 << 40 | (offset & RMC_OFFSET_MAX);
}

/* A slot near the ring's position: the one before the lap changes */
static inline u32 scribble_newest(struct scribble *s, const struct rmc_desc *desc, u32 slots)
{
	u32 at = scribble_below(s, slots), i;

	for (i = 0; i < slots; i++, at = (at + 1) % slots)
		if ((READ_ONCE(desc[at].word0) ^ READ_ONCE(desc[(at + 1) % slots].word0)) >> 56)
			return at;
	return at;
}

static inline void scribble_put(struct scribble *s, struct rmc_desc *d, enum rmc_lane lane,
				u64 word0, u64 word1)
{
	if (lane == RMC_LANE_REQ && (int)(word0 >> 32 & 0xff) == s->spare_ctx)
		word0 ^= 1ULL << 32;
	WRITE_ONCE(d->word1, word1);
	smp_store_release(&d->word0, word0);
}

/* Change one field of a descriptor */
static inline void scribble_field(struct scribble *s, u64 *word0, u64 *word1)
{
	static const u64 masks[] = { 0xffff, 0xffff0000, 0xffULL << 32, 0xffULL << 40, 0xffULL << 48 };
	u64 mask;

	switch (scribble_below(s, 4)) {
	case 0:
		*word1 = scribble_word1(s);
		return;
	case 1:
		*word1 ^= 1ULL << scribble_below(s, 64);
		return;
	default:
		mask = masks[scribble_below(s, ARRAY_SIZE(masks))];
		*word0 = (*word0 & ~mask) | (scribble_random(s) & mask);
		/* opcodes that may exist */
		if (mask == 0xffULL << 48)
			*word0 &= ~(0x78ULL << 48);
	}
}

/* A reply to a recent request, as its destination would send it */
static inline void scribble_answer(struct scribble *s, const struct rmc_desc *asked, u32 slots,
				   struct rmc_desc *d)
{
	u32 at = scribble_newest(s, asked, slots) + slots - scribble_below(s, 16);

	d->word0 = READ_ONCE(asked[at % slots].word0) & ~(0xff00ffffULL << 32);
	d->word1 = READ_ONCE(asked[at % slots].word1);
}

/* @asked: the channel's request ring */
static inline void scribble_ring(struct scribble *s, void *mem, enum rmc_lane lane,
				 const void *asked)
{
	u32 slots = 1U << s->f->ring_order, lines = 1U << s->f->pay_order;
	u8 *pay = (u8 *)mem + rmc_ring_bytes(s->f->ring_order, s->f->pay_order) -
		  (size_t)lines * RMC_LINE;
	u32 at = scribble_newest(s, mem, slots), n, i;
	struct rmc_desc *desc = mem, d;

	switch (scribble_below(s, 6)) {
	case 0:	/* noise */
		scribble_put(s, &desc[scribble_below(s, slots)], lane, scribble_random(s),
			     scribble_random(s));
		return;
	case 1:	/* payload */
		for (i = 0; i < 8; i++)
			WRITE_ONCE(((u64 *)pay)[scribble_below(s, lines * 8)], scribble_random(s));
		return;
	case 2:	/* empty slots */
		for (i = scribble_below(s, 4); i < 4; i++)
			scribble_put(s, &desc[(at + i) % slots], lane, 0, 0);
		return;
	case 3:	/* an existing one, changed */
		d.word0 = READ_ONCE(desc[at].word0);
		d.word1 = READ_ONCE(desc[at].word1);
		scribble_field(s, &d.word0, &d.word1);
		scribble_put(s, &desc[at], lane, d.word0, d.word1);
		return;
	}
	/* further ones, as if they were the next */
	n = 1 + scribble_below(s, scribble_below(s, 8) ? 12 : slots);
	for (i = 1; i <= n; i++) {
		u32 from = (at + slots - scribble_below(s, 16)) % slots;
		u64 lap = READ_ONCE(desc[at].word0) >> 56;

		if (at + i >= slots)
			lap++;
		d.word0 = READ_ONCE(desc[from].word0) & ~(0xffULL << 56);
		d.word1 = READ_ONCE(desc[from].word1);
		if (lane == RMC_LANE_REP && scribble_below(s, 4))
			scribble_answer(s, asked, slots, &d);
		if (!d.word0)
			d.word0 = (1 + scribble_random(s) % 7) << 48 | scribble_random(s) % 16;
		if (scribble_below(s, 2))
			scribble_field(s, &d.word0, &d.word1);
		scribble_put(s, &desc[(at + i) % slots], lane,
			     (d.word0 & ~(0xffULL << 56)) | (lap & 0xff) << 56, d.word1);
	}
}

/**
 * scribble_pair() - write into memory that only two nodes use
 * @s: writer
 * @a: node
 * @b: the other node
 *
 * Rings, doorbell bits and acknowledged epochs, of all their units.
 */
static inline void scribble_pair(struct scribble *s, u32 a, u32 b)
{
	enum rmc_lane lane = scribble_below(s, RMC_LANES);
	u64 *doorbell, bit;
	u32 nid;
	u8 *mem;

	if (scribble_below(s, 2))
		swap(a, b);
	nid = b;
	a = rmc_endpoint(s->f, a) + scribble_below(s, rmc_fabric_units(s->f));
	b = rmc_endpoint(s->f, b) + scribble_below(s, rmc_fabric_units(s->f));
	mem = s->f->ops->channel(s->f, a, b);
	scribble_ring(s, mem + lane * rmc_ring_bytes(s->f->ring_order, s->f->pay_order), lane, mem);
	/* ring a doorbell, or the ring is not polled */
	lane = lane == RMC_LANE_REQ ? RMC_LANE_REP : RMC_LANE_REQ;
	doorbell = rmc_doorbell_word(s->f, b, RMC_LANE_REQ, a);
	bit = 1ULL << (a % 64);
	if (lane == RMC_LANE_REQ) {
		doorbell = rmc_doorbell_word(s->f, a, RMC_LANE_REP, b);
		bit = 1ULL << (b % 64);
	}
	if (scribble_below(s, 64))
		rmc_os_or64(doorbell, bit);
	else
		rmc_os_andnot64(doorbell, bit);
	if (s->f->sync && !scribble_below(s, 512))
		WRITE_ONCE(s->f->sync[a * s->f->nodes + nid], scribble_below(s, 4));
}

/**
 * scribble_tables() - write states, epochs, heartbeats, doorbells and acknowledgements of all
 * @s: writer
 */
static inline void scribble_tables(struct scribble *s)
{
	u32 ep = scribble_below(s, s->f->endpoints);
	struct rmc_region_node *e = &s->f->node[rmc_endpoint_nid(s->f, ep)];

	switch (scribble_below(s, 8)) {
	case 0:
		WRITE_ONCE(e->state, scribble_below(s, 6));
		break;
	case 1:
		WRITE_ONCE(e->epoch, scribble_below(s, 2) ? scribble_below(s, 6) :
			   (u32)scribble_random(s));
		break;
	case 2:
		WRITE_ONCE(e->heartbeat, scribble_below(s, 100));
		break;
	case 3:
		WRITE_ONCE(e->doorbell, scribble_below(s, 2) ? scribble_below(s, 10) :
			   (u32)scribble_random(s));
		break;
	case 4:
		WRITE_ONCE(e->parked[scribble_below(s, 2)][scribble_below(s, RMC_MAX_UNITS)],
			   scribble_below(s, 2));
		break;
	case 5:
		WRITE_ONCE(((u64 *)e)[scribble_below(s, sizeof(*e) / 8)], scribble_random(s));
		break;
	case 6:
		WRITE_ONCE(*rmc_doorbell_word(s->f, ep, scribble_below(s, 2),
					  scribble_below(s, s->f->endpoints)), scribble_random(s));
		break;
	default:
		if (s->f->sync)
			WRITE_ONCE(s->f->sync[ep * s->f->nodes + scribble_below(s, s->f->nodes)],
				   scribble_below(s, 6));
	}
}

#endif
