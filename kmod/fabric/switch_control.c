// SPDX-License-Identifier: GPL-2.0
/*
 * Control plane of a switch: its tables, and what it reads and writes in the storage node's memory
 * (R25 section 5.5). It runs between packets.
 *
 *   storage node's word             switch's register
 *   cold:  epoch | even version  -- promote -->  SWITCHED | epoch | version
 *   hot:   SWITCHED | ...        <-- demote ---  not SWITCHED any more
 *          SWITCHED | ...        -- recover -->  SWITCHED | next epoch | version
 *
 * A word that is SWITCHED in memory cannot be latched there: nobody expects it.
 */
#include "switch.h"

/**
 * rmc_switch_create() - create a switch that serves no tuples yet
 * @f: fabric
 * @ep: endpoint of the unit that it is in front of
 * @registers: of stage 2, at most RMC_SWITCH_REGISTERS
 * @epoch: none of a switch of this unit that was before it
 * @epochs: how many those have had
 *
 * Return: switch, or NULL when out of memory. Context: may sleep.
 */
struct rmc_switch *rmc_switch_create(const struct rmc_fabric *f, u32 ep, u32 registers, u32 epoch,
				     u32 epochs)
{
	struct rmc_switch *sw = rmc_os_zalloc(sizeof(*sw));
	size_t sources = f->endpoints;
	u32 i;

	if (!sw)
		return NULL;
	sw->fabric = f;
	sw->ep = ep;
	sw->epoch = epoch % RMC_SWITCH_EPOCHS;
	sw->epochs = epochs + 1;
	sw->registers = registers;
	sw->owner = rmc_os_zalloc(registers * sizeof(*sw->owner));
	sw->free = rmc_os_zalloc(registers * sizeof(*sw->free));
	sw->client = rmc_os_zalloc(RMC_SWITCH_CLIENTS * sizeof(*sw->client));
	sw->bucket = rmc_os_zalloc(RMC_SWITCH_CLIENTS * sizeof(*sw->bucket));
	sw->free_client = rmc_os_zalloc(RMC_SWITCH_CLIENTS * sizeof(*sw->free_client));
	sw->last = rmc_os_zalloc(sources * sizeof(*sw->last));
	sw->use = rmc_os_zalloc(RMC_SWITCH_CLIENTS * sizeof(*sw->use));
	sw->tuple = rmc_os_zalloc(registers * sizeof(*sw->tuple));
	sw->users = rmc_os_zalloc(registers * sizeof(*sw->users));
	sw->seen = rmc_os_zalloc(RMC_SWITCH_CLIENTS * sizeof(*sw->seen));
	sw->offset = rmc_os_zalloc(sources * sizeof(*sw->offset));
	sw->port = rmc_os_zalloc(sources * sizeof(*sw->port));
	sw->era = rmc_os_zalloc(sources * sizeof(*sw->era));
	if (!sw->owner || !sw->free || !sw->client || !sw->bucket || !sw->free_client ||
	    !sw->last || !sw->use || !sw->tuple || !sw->users || !sw->seen || !sw->offset ||
	    !sw->port || !sw->era) {
		rmc_switch_destroy(sw);
		return NULL;
	}
	for (i = 0; i < registers; i++)
		sw->free[i] = registers - 1 - i;
	sw->frees = registers;
	for (i = 0; i < RMC_SWITCH_CLIENTS; i++)
		sw->free_client[i] = RMC_SWITCH_CLIENTS - 1 - i;
	sw->free_clients = RMC_SWITCH_CLIENTS;
	return sw;
}

/**
 * rmc_switch_destroy() - free a switch that no packet passes any more
 * @sw: switch or NULL
 *
 * Context: may sleep.
 */
void rmc_switch_destroy(struct rmc_switch *sw)
{
	u32 i;

	if (!sw)
		return;
	for (i = 0; i < RMC_SWITCH_RANGES; i++)
		rmc_os_free(sw->range[i].slot);
	rmc_os_free(sw->era);
	rmc_os_free(sw->port);
	rmc_os_free(sw->offset);
	rmc_os_free(sw->seen);
	rmc_os_free(sw->users);
	rmc_os_free(sw->tuple);
	rmc_os_free(sw->use);
	rmc_os_free(sw->last);
	rmc_os_free(sw->free_client);
	rmc_os_free(sw->bucket);
	rmc_os_free(sw->client);
	rmc_os_free(sw->free);
	rmc_os_free(sw->owner);
	rmc_os_free(sw);
}

static u32 next_epoch(const struct rmc_switch *sw)
{
	return (sw->epoch + 1) % RMC_SWITCH_EPOCHS;
}

/* ---- ranges ---- */

static u64 range_end(const struct rmc_switch_range *r)
{
	return r->begin + (u64)r->stride * r->count;
}

/**
 * rmc_switch_check() - validate a range, by itself
 * @f: fabric
 * @r: range, any values
 *
 * Return: 0; -EINVAL: tuples do not begin with a line, or lie in blocks of several RRPPs, or words
 * are not 8 bytes apart; -EMSGSIZE: a tuple is longer than a packet; -ERANGE: too many, or beyond
 * the largest segment.
 */
int rmc_switch_check(const struct rmc_fabric *f, const struct rmc_switch_range *r)
{
	if (r->ctx_id >= RMC_MAX_CONTEXTS || !r->count || r->count > RMC_SWITCH_TUPLES)
		return -ERANGE;
	if (r->begin > RMC_OFFSET_MAX ||
	    (u64)r->stride * r->count > RMC_OFFSET_MAX + 1 - r->begin)
		return -ERANGE;
	if (r->words)
		return r->stride == 8 && r->bytes == 8 && !(r->begin & 7) ? 0 : -EINVAL;
	if (r->bytes > f->cut)
		return -EMSGSIZE;
	if (r->bytes <= 8 || r->stride < r->bytes || (r->stride | r->begin) & (RMC_LINE - 1))
		return -EINVAL;
	if (f->rrpp_order && (f->interleave % r->stride || r->begin % r->stride))
		return -EINVAL;
	return 0;
}

/* The range and the tuple of a register */
static u64 owner_of(u32 range, u32 i)
{
	return (u64)(range + 1) << 32 | i;
}

static struct rmc_switch_range *owner_range(struct rmc_switch *sw, u32 reg, u64 *offset)
{
	u64 owner = sw->owner[reg];
	struct rmc_switch_range *r;

	if (!owner)
		return NULL;
	r = &sw->range[(owner >> 32) - 1];
	*offset = r->begin + (u64)(u32)owner * r->stride;
	return r;
}

static void free_register(struct rmc_switch *sw, u32 reg)
{
	sw->latched -= !!sw->tuple[reg].holder;
	if (sw->closing == reg + 1)
		sw->closing = 0;
	memset(&sw->tuple[reg], 0, sizeof(*sw->tuple));
	sw->owner[reg] = 0;
	sw->free[sw->frees++] = reg;
}

/**
 * rmc_switch_add() - add a range, all of whose tuples are cold
 * @sw: switch
 * @r: range, checked; its table becomes the switch's, and that of a withdrawn range @r's
 *
 * Return: 0; -EEXIST: it overlaps another; -ENOBUFS: there are too many.
 * Context: RRPP worker, does not sleep.
 */
int rmc_switch_add(struct rmc_switch *sw, struct rmc_switch_range *r)
{
	struct rmc_switch_range *place = NULL;
	u32 i;

	for (i = 0; i < RMC_SWITCH_RANGES; i++) {
		const struct rmc_switch_range *o = &sw->range[i];

		if (!o->count)
			place = place ?: &sw->range[i];
		else if (o->ctx_id == r->ctx_id && r->begin < range_end(o) &&
			 o->begin < range_end(r))
			return -EEXIST;
	}
	if (!place)
		return -ENOBUFS;
	swap(*place, *r);
	return 0;
}

/**
 * rmc_switch_withdraw() - forget the ranges that lie in memory that is withdrawn
 * @sw: switch
 * @mem: memory, see struct rmc_switch_range; other ranges of its context stay
 *
 * What memory says of them may be behind, so tuples that are promoted later are of another epoch.
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_switch_withdraw(struct rmc_switch *sw, const void *mem)
{
	const struct rmc_switch_range *range;
	u32 reg, i;
	u64 offset;

	for (i = 0; i < RMC_SWITCH_CLIENTS; i++) {
		u32 owed = sw->client[i].owed;

		range = owed ? owner_range(sw, owed - 1, &offset) : NULL;
		if (!range || range->mem != mem)
			continue;
		rmc_switch_answered(sw, i);
		sw->use[i].tuple = 0;
	}
	for (reg = 0; reg < sw->registers; reg++) {
		range = owner_range(sw, reg, &offset);
		if (range && range->mem == mem)
			free_register(sw, reg);
	}
	for (i = 0; i < RMC_SWITCH_RANGES; i++) {
		struct rmc_switch_range *r = &sw->range[i];

		/* its table stays until the place is used again, or the switch goes */
		if (r->count && r->mem == mem) {
			r->count = 0;
			r->hot = 0;
			sw->epoch = next_epoch(sw);
			sw->epochs++;
		}
	}
}

/* ---- promotion and demotion ---- */

static int promote(struct rmc_switch *sw, u32 range, u32 i, const struct rmc_switch_memory *m)
{
	struct rmc_switch_range *r = &sw->range[range];
	u64 offset = r->begin + (u64)i * r->stride, was, word;
	u64 *home;
	u32 reg;

	if (r->slot[i])
		return 0;
	/* another unit's switch owns it */
	if (rmc_home(sw->fabric, rmc_endpoint_nid(sw->fabric, sw->ep), offset) != sw->ep)
		return 0;
	if (!sw->frees)
		return -ENOBUFS;
	home = m->word(m->arg, r->ctx_id, offset);
	if (!home)
		return -EFAULT;
	was = READ_ONCE(*home);
	word = was;
	if (!r->words) {
		if (was & RMC_SWITCH_LATCHED)
			return -EBUSY;
		word = RMC_SWITCH_SWITCHED | (u64)sw->epoch << RMC_SWITCH_EPOCH_SHIFT |
		       (was & RMC_SWITCH_VERSION);
		/* the owner's CPUs may latch it at the same time; a full barrier */
		if (rmc_os_cas64(home, was, word) != was)
			return -EBUSY;
	}
	reg = sw->free[--sw->frees];
	sw->tuple[reg].word = word;
	sw->tuple[reg].holder = 0;
	sw->owner[reg] = owner_of(range, i);
	r->slot[i] = reg + 1;
	r->hot++;
	return 0;
}

static int demote(struct rmc_switch *sw, u32 range, u32 i, const struct rmc_switch_memory *m)
{
	struct rmc_switch_range *r = &sw->range[range];
	u32 reg = r->slot[i] - 1;
	u64 word, *home;

	if (!r->slot[i])
		return 0;
	word = sw->tuple[reg].word;
	if (!r->words && word & RMC_SWITCH_LATCHED)
		return -EBUSY;
	if (sw->users[reg].reads) {
		sw->closing = reg + 1;
		return -EAGAIN;
	}
	home = m->word(m->arg, r->ctx_id, r->begin + (u64)i * r->stride);
	if (!home)
		return -EFAULT;
	WRITE_ONCE(*home, r->words ? word : word & ~RMC_SWITCH_SWITCHED);
	r->slot[i] = 0;
	r->hot--;
	free_register(sw, reg);
	return 0;
}

/* The range and the index of the tuple at @offset */
static int find(const struct rmc_switch *sw, u16 ctx_id, u64 offset, u32 *range, u32 *index)
{
	u32 i;

	for (i = 0; i < RMC_SWITCH_RANGES; i++) {
		const struct rmc_switch_range *r = &sw->range[i];

		if (!r->count || r->ctx_id != ctx_id || offset < r->begin ||
		    offset >= range_end(r))
			continue;
		*range = i;
		*index = rmc_os_div(offset - r->begin, r->stride);
		return *index * (u64)r->stride == offset - r->begin ? 0 : -EINVAL;
	}
	return -ENODEV;
}

/**
 * rmc_switch_promote() - give tuples a register each
 * @sw: switch
 * @ctx_id: context of a range
 * @offset: of a tuple of the range
 * @count: how many from there, RMC_SWITCH_BATCH at most
 * @m: the storage node's memory
 *
 * Return: 0; -EBUSY: the switch has crashed, or one is latched; -ENOBUFS: no register is left;
 * -EOVERFLOW: no epoch is left; -EFAULT: not in memory that may be written; -EINVAL, -ENODEV,
 * -ERANGE: no such tuples. Those before have a register then. Context: RRPP worker, does not sleep.
 */
int rmc_switch_promote(struct rmc_switch *sw, u16 ctx_id, u64 offset, u32 count,
		       const struct rmc_switch_memory *m)
{
	u32 range, first, i;
	int err = find(sw, ctx_id, offset, &range, &first);

	if (err)
		return err;
	if (sw->crashed)
		return -EBUSY;
	if (sw->epochs > RMC_SWITCH_EPOCHS)
		return -EOVERFLOW;
	if (count > RMC_SWITCH_BATCH || count > sw->range[range].count - first)
		return -ERANGE;
	for (i = 0; i < count && !err; i++)
		err = promote(sw, range, first + i, m);
	return err;
}

/**
 * rmc_switch_demote() - write tuples' versions to memory, where they are latched from now on
 * @sw: switch
 * @ctx_id: context of a range
 * @offset: of a tuple of the range
 * @count: how many from there, RMC_SWITCH_BATCH at most
 * @done: out, of these, how many are cold now
 * @m: the storage node's memory
 *
 * Return: 0; -EAGAIN: the next one is being read; until another call, or rmc_switch_keep(), nobody
 * else may read or latch it; -EBUSY: the switch has crashed, or one is latched; -EFAULT, -EINVAL,
 * -ENODEV, -ERANGE as rmc_switch_promote(). Context: RRPP worker, does not sleep.
 */
int rmc_switch_demote(struct rmc_switch *sw, u16 ctx_id, u64 offset, u32 count, u32 *done,
		      const struct rmc_switch_memory *m)
{
	u32 range, first;
	int err = find(sw, ctx_id, offset, &range, &first);

	*done = 0;
	sw->closing = 0;
	if (err)
		return err;
	if (sw->crashed)
		return -EBUSY;
	if (count > RMC_SWITCH_BATCH || count > sw->range[range].count - first)
		return -ERANGE;
	while (*done < count && !err) {
		err = demote(sw, range, first + *done, m);
		*done += !err;
	}
	return err;
}

/**
 * rmc_switch_keep() - a tuple that was being demoted stays in the switch
 * @sw: switch
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_switch_keep(struct rmc_switch *sw)
{
	sw->closing = 0;
}

/**
 * rmc_switch_remove() - remove a range, all of whose tuples are cold
 * @sw: switch
 * @ctx_id: its context
 * @begin: of its first tuple
 *
 * Return: 0; 1: it was the last range; -ENODEV: there is none; -EBUSY: tuples have registers.
 * Context: RRPP worker, does not sleep.
 */
int rmc_switch_remove(struct rmc_switch *sw, u16 ctx_id, u64 begin)
{
	u32 range, index, i;

	if (find(sw, ctx_id, begin, &range, &index) || index)
		return -ENODEV;
	if (sw->range[range].hot)
		return -EBUSY;
	/* its table stays until the place is used again, or the switch goes */
	sw->range[range].count = 0;
	for (i = 0; i < RMC_SWITCH_RANGES; i++)
		if (sw->range[i].count)
			return 0;
	return 1;
}

/* ---- crash and recovery ---- */

/**
 * rmc_switch_crash() - the switch loses its registers
 * @sw: switch
 *
 * The tables are the control plane's, and so is what the storage node has yet to answer.
 * Connections begin again: their two ends agree on the next number, by what was sent and passed.
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_switch_crash(struct rmc_switch *sw)
{
	u32 i, ends = sw->fabric->endpoints;

	for (i = 0; i < ends; i++)
		sw->port[i].sent += sw->offset[i].psn;
	memset(sw->last, 0, ends * sizeof(*sw->last));
	memset(sw->use, 0, RMC_SWITCH_CLIENTS * sizeof(*sw->use));
	memset(sw->tuple, 0, sw->registers * sizeof(*sw->tuple));
	memset(sw->seen, 0, RMC_SWITCH_CLIENTS * sizeof(*sw->seen));
	memset(sw->offset, 0, ends * sizeof(*sw->offset));
	for (i = 0; i < ends; i++)
		sw->last[i].psn = sw->port[i].sent + sw->port[i].passed - 1;
	sw->crashed = true;
	sw->recovered = 0;
	sw->latched = 0;
	sw->closing = 0;
}

/**
 * rmc_switch_recover() - read the versions of all tuples from their words in memory
 * @sw: switch that has crashed
 * @m: the storage node's memory
 *
 * Latches are forgotten: the next epoch makes all words new, so who had one can neither write nor
 * unlatch. Words of a word array are what they were when they were promoted.
 *
 * Return: 0: it serves them again; -EAGAIN: call again, it does a part of the work, or the storage
 * node has not answered all that it was passed before, or hides memory of tuples; -EINVAL: it has
 * not crashed; -EOVERFLOW: no epoch is left.
 * Context: RRPP worker, does not sleep.
 */
int rmc_switch_recover(struct rmc_switch *sw, const struct rmc_switch_memory *m)
{
	u32 reg, most = min(sw->registers - sw->recovered, (u32)RMC_SWITCH_BATCH);
	u32 epoch = next_epoch(sw);

	if (!sw->crashed)
		return -EINVAL;
	if (sw->waits)
		return -EAGAIN;
	if (sw->epochs >= RMC_SWITCH_EPOCHS)
		return -EOVERFLOW;
	for (reg = sw->recovered; reg < sw->recovered + most; reg++) {
		u64 offset, word, *home;
		const struct rmc_switch_range *r = owner_range(sw, reg, &offset);

		if (!r)
			continue;
		home = m->word(m->arg, r->ctx_id, offset);
		if (!home)
			return -EAGAIN;
		word = READ_ONCE(*home);
		if (!r->words)
			/* one that is odd was never written by a switch */
			word = RMC_SWITCH_SWITCHED | (u64)epoch << RMC_SWITCH_EPOCH_SHIFT |
			       (((word & RMC_SWITCH_VERSION) + 1) & RMC_SWITCH_VERSION & ~1ULL);
		sw->tuple[reg].word = word;
		sw->tuple[reg].holder = 0;
	}
	sw->recovered += most;
	if (sw->recovered < sw->registers)
		return -EAGAIN;
	sw->epoch = epoch;
	sw->epochs++;
	sw->crashed = false;
	return 0;
}

/**
 * rmc_switch_unlatch() - unlatch what clients have latched that are gone
 * @sw: switch
 * @u: whose; what they left has been repaired
 * @first: register to begin with: RMC_SWITCH_BATCH are looked at
 * @m: the storage node's memory
 *
 * Return: 0; -EAGAIN: the storage node has yet to answer a write to some, which keep their latch.
 * Context: RRPP worker, does not sleep.
 */
int rmc_switch_unlatch(struct rmc_switch *sw, struct rmc_switch_unlatch *u, u32 first,
		       const struct rmc_switch_memory *m)
{
	u32 reg, end = first + min(sw->registers - min(first, sw->registers),
				   (u32)RMC_SWITCH_BATCH);
	u64 offset, *home;
	int err = 0;

	for (reg = first; reg < end; reg++) {
		struct rmc_switch_tuple *t = &sw->tuple[reg];
		const struct rmc_switch_range *r = owner_range(sw, reg, &offset);
		u32 source = (t->holder - 1) / RMC_REQ_GROUPS;

		if (!t->holder || !r || rmc_endpoint_nid(sw->fabric, source) != u->nid)
			continue;
		if (!u->connected && t->era == sw->era[source]) {
			u->kept++;
			continue;
		}
		/* readers do not mind: it is odd before, and another one afterwards */
		if (sw->users[reg].writes) {
			err = -EAGAIN;
			continue;
		}
		t->word++;
		t->holder = 0;
		sw->latched--;
		u->freed++;
		home = m->word(m->arg, r->ctx_id, offset);
		if (home)
			WRITE_ONCE(*home, t->word);
	}
	return err;
}
