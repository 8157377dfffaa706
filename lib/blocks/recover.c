/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Latches of a client that is dead. Its words name it, and nobody else ends them. When all of its
 * packets have arrived, which takes the time of grace, a block is in one of these states:
 *
 *	word			lines		copy (RMC_BLOCKS_REDO)
 *	{ owner, tag, v + 1 }	all of v	another version, or torn	latched, not stored
 *	{ owner, tag, v + 1 }	some of v	v + 2, whole			stored in part
 *	{ owner, tag, v + 1 }	all of v + 2	v + 2, whole			stored, not released
 *
 * A block of one line is never stored in part. Of others line 0 names its version behind the word,
 * which is as it was; "farm" names it in each line, "crc64" has a sum. So all but "sabre" show
 * whether a block is whole; with a copy a whole one can always be had.
 *
 * Who recovers the block takes the latch over, by a compare-and-swap of the word that was read:
 * one of several does. Then it stores the block as one that it has written, and releases the latch.
 * If it dies as well, its own word is met by the next one, in one of these states again. The word
 * of a block differs afterwards from all before, so who has read the block earlier notices.
 */
#include <string.h>
#include "state.h"

/* Whose words are recovered, and how far it has come */
struct recovery {
	int nid;
	uint64_t owner, mask;
	int status;			/* the first one */
	bool damaged;
};

static bool is_to_recover(const struct remote *r, const struct recovery *c, uint64_t word)
{
	uint64_t owner = word >> BLOCK_WORD_OWNER_SHIFT << BLOCK_WORD_OWNER_SHIFT;

	if (!(word & BLOCK_WORD_LATCHED))
		return false;
	/* its own as well: an earlier recovery may have left it, or an earlier process */
	return (owner & c->mask) == c->owner || owner == r->owner;
}

static int read_block(struct remote *r, uint64_t at, void *to, size_t len)
{
	unsigned int tries = 0;
	int err;

	do {
		r->stats.validations += len == sizeof(uint64_t);
		r->stats.reads += len != sizeof(uint64_t);
		err = rmc_read(r->qp, at_nid(at), at_offset(at), to, len);
	} while (rmc_remote_again(r, at_area(r, at), err, &tries));
	return err;
}

/* Is the image whole, as one of this word? Then the hold's data is its */
static bool take_data(struct remote *r, struct rmc_block_hold *h, uint8_t *image, uint64_t word)
{
	const void *data = h->data;

	memcpy(image, &word, sizeof(word));
	if (rmc_scheme_check(r->o.scheme, image, h->data, r->base.bytes, &data))
		return false;
	if (data != h->data)
		memcpy(h->data, data, r->base.bytes);
	return true;
}

/* All of the block is in the hold's image, as it was read. false: no state of it is whole */
static bool find_state(struct remote *r, struct rmc_block_hold *h)
{
	uint64_t stored = (h->word + 2) & BLOCK_WORD_VERSION, line0, sum;
	uint8_t *image = image_of(r, h), *copy = image + r->shape.copy_at;
	const struct block_copy *end;

	memcpy(&line0, image + sizeof(uint64_t), sizeof(line0));
	if (r->shape.copy) {
		end = (const struct block_copy *)(void *)(copy + r->shape.copy_at);
		sum = rmc_crc64(0, copy, r->shape.image);
		if (end->word == stored && end->sum == sum)
			return take_data(r, h, copy, stored);
		/* so the write behind it has not begun */
		return take_data(r, h, image, h->word);
	}
	if (r->shape.image > RMC_CACHE_LINE && r->o.scheme->fetch == RMC_FETCH_SABRE)
		return false;
	return take_data(r, h, image, line0 == stored ? stored : h->word);
}

/* Takes a dead client's latch over, stores the block and releases it: 0, or a status */
static int recover_held(struct remote *r, struct recovery *c, uint64_t at, uint64_t word,
			struct rmc_block_hold *h)
{
	struct doubt d = { .step = DOUBT_TAKE };
	int err = read_block(r, at, image_of(r, h), r->shape.stride);

	if (err)
		return err;
	/* another one is faster */
	if (memcmp(image_of(r, h), &word, sizeof(word)))
		return 0;
	h->word = word & (BLOCK_WORD_TAG | BLOCK_WORD_VERSION);
	if (!find_state(r, h)) {
		r->stats.damaged++;
		c->damaged = true;
		return 0;
	}
	h->latch = r->owner | h->word | BLOCK_WORD_LATCHED;
	d.h = *h;
	err = word == h->latch ? 0 : rmc_remote_swap(r, &d, word, h->latch);
	if (err)
		return err == RMC_BLOCK_RESTART ? 0 : err;
	h->mode = RMC_BLOCK_WRITE;
	h->dirty = true;
	r->stats.recovered++;
	return rmc_remote_finish(r, h, false);
}

static int recover_block(struct remote *r, struct recovery *c, uint64_t at)
{
	struct rmc_block_hold h = { 0 };
	uint64_t word;
	int err;

	r->deadline = rmc_now_ns() + wait_ns(r);
	if (r->sync) {
		err = rmc_remote_sync_recover(r, c->nid, at);
		c->damaged |= err == -EUCLEAN;
		return err == -EUCLEAN ? 0 : err;
	}
	err = read_block(r, at, r->scratch, sizeof(word));
	if (err)
		return err;
	word = *r->scratch;
	/* what is in doubt has its own end */
	if (!is_to_recover(r, c, word) || rmc_remote_doubt_of(r, at))
		return 0;
	err = rmc_remote_take_buffer(r, at, &h);
	if (err)
		return err == -EPROTO ? 0 : err;
	err = recover_held(r, c, at, word, &h);
	if (h.at)
		rmc_remote_end_hold(r, &h);
	return err;
}

/* All blocks that were ever in use */
static int recover_area(struct remote *r, struct recovery *c, unsigned int area)
{
	int err = rmc_remote_check_area(r, area);
	uint64_t n, i;

	r->deadline = rmc_now_ns() + wait_ns(r);
	rmc_remote_alone(r);
	if (!err)
		err = read_block(r, block_at(r, area, 0) - r->shape.blocks_at + r->shape.next_at,
				 r->scratch, sizeof(n));
	if (err)
		return err;
	n = *r->scratch < r->o.fixed ? r->o.fixed : *r->scratch;
	for (i = 0; !err && i < n && i < r->o.capacity; i++)
		err = recover_block(r, c, block_at(r, area, i));
	return err;
}

int rmc_remote_recover(struct rmc_blocks *blocks, int nid, unsigned int client)
{
	struct remote *r = remote_of(blocks);
	struct recovery c = {
		.nid = nid,
		.owner = ((uint64_t)client << BLOCK_OWNER_NID_BITS | (uint64_t)(nid + 1)) <<
			 BLOCK_WORD_OWNER_SHIFT,
		.mask = ~0ULL << BLOCK_WORD_OWNER_SHIFT,
	};
	uint64_t end = rmc_now_ns() + r->o.grace_us * 1000ULL;
	unsigned int area, spins = 0;
	int err;

	if (nid < (r->sync ? -1 : 0) || nid > RMC_NID_MAX || client >= RMC_BLOCKS_CLIENTS)
		return -EINVAL;
	/* from all clients of a node; of this node, from earlier lives of this client only */
	if (r->sync && client != (nid == r->o.nid ? r->o.client : 0))
		return -EOPNOTSUPP;
	if (!client)
		c.mask &= (1ULL << (BLOCK_WORD_OWNER_SHIFT + BLOCK_OWNER_NID_BITS)) - 1;
	/* a write of the dead client may still come, over what is stored here */
	while (rmc_now_ns() < end && !rmc_relax(r->qp, &spins))
		;
	for (area = 0; area < r->o.nodes; area++) {
		err = recover_area(r, &c, area);
		if (err && !c.status)
			c.status = err;
	}
	if (!rmc_remote_settle_now(r) && !c.status)
		c.status = -EAGAIN;
	return c.status ? c.status : c.damaged ? -EUCLEAN : 0;
}
