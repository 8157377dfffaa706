// SPDX-License-Identifier: GPL-2.0
/* Homes of transactional data: ranges, and the lives of their sources; see tx_homes.h. */
#include "node.h"

/**
 * rmc_tx_home_create() - allocate a range and its participant
 * @head: node
 * @ctx_id: context of the segment
 * @mem: segment or further range of it that holds all of the range; must outlive it
 * @limits: of the participant; @self is set here
 * @local: filters of the owner's loads and stores, or NULL
 * @shared: Locking Buffers that the owner sees, zero, or NULL; must outlive it
 *
 * Return: range, for rmc_tx_homes_add() on each unit; ERR_PTR(-EINVAL, -EFAULT (not in @mem),
 * -EROFS, -ENOMEM). Context: may sleep.
 */
struct rmc_tx_home *rmc_tx_home_create(const struct rmc_node *head, u16 ctx_id,
				       struct rmc_mem *mem, const struct rmc_tx_limits *limits,
				       struct rmc_tx_local *local,
				       struct rmc_tx_locks *shared)
{
	const struct rmc_fabric *f = head->fabric;
	struct rmc_tx_limits l = *limits;
	struct rmc_tx_part *part;
	struct rmc_tx_home *home;

	if (ctx_id >= RMC_MAX_CONTEXTS || !l.length || !l.groups || l.groups > RMC_TX_SOURCES ||
	    l.buffers > 64 ||
	    (l.start | l.length) & (RMC_LINE - 1))
		return ERR_PTR(-EINVAL);
	if (!rmc_mem_covers(mem, l.start, l.length))
		return ERR_PTR(-EFAULT);
	if (mem->flags & RMC_MEM_READONLY)
		return ERR_PTR(-EROFS);
	home = rmc_os_zalloc_user(sizeof(*home));
	if (!home)
		return ERR_PTR(-ENOMEM);
	l.self = rmc_endpoint(f, head->nid) | rmc_tx_home(ctx_id, f->rrpp_order);
	home->mem = mem;
	home->start = l.start;
	home->length = l.length;
	home->ctx_id = ctx_id;
	home->sources = f->endpoints;
	home->from = rmc_os_zalloc_user(f->endpoints * sizeof(*home->from));
	part = rmc_tx_part_new(&l, mem, local, shared);
	if (!IS_ERR(part))
		home->part = part;
	if (!home->from || !home->part) {
		rmc_tx_home_destroy(home);
		return ERR_PTR(-ENOMEM);
	}
	return home;
}

/**
 * rmc_tx_home_bytes() - memory that a range takes at most
 * @head: node
 * @limits: of the participant
 *
 * Return: bytes, with what its sources make it allocate later.
 */
u64 rmc_tx_home_bytes(const struct rmc_node *head, const struct rmc_tx_limits *limits)
{
	u64 from = sizeof(struct rmc_tx_from) + RMC_TX_ASSEMBLIES * sizeof(struct rmc_tx_assembly);

	return sizeof(struct rmc_tx_home) + rmc_tx_part_bytes(limits) +
	       head->fabric->endpoints * from;
}

/**
 * rmc_tx_home_destroy() - free a range
 * @home: range that no unit has
 *
 * Context: may sleep.
 */
void rmc_tx_home_destroy(struct rmc_tx_home *home)
{
	u32 i;

	for (i = 0; home->from && i < home->sources; i++)
		rmc_tx_assemblies_drop(&home->from[i].parts);
	if (home->part)
		rmc_tx_part_free(home->part);
	rmc_os_free(home->from);
	rmc_os_free(home);
}

/**
 * rmc_tx_homes_add() - add a range to a unit
 * @node: unit; the caller is its RRPP worker
 * @home: range that the unit does not have
 *
 * Plain writes in the range are refused from now on. Transactions must not begin before all units
 * have the range. The caller does not add and remove ranges of one segment at the same time.
 *
 * Return: 0; -EFAULT: its memory is not what the unit exposes there; -EBUSY: the context has a
 * range; -ENOSPC: there are RMC_TX_HOMES. Context: worker, does not sleep.
 */
int rmc_tx_homes_add(struct rmc_node *node, struct rmc_tx_home *home)
{
	struct rmc_tx_homes *homes = &node->tx_homes;
	struct rmc_mem *mem = rmc_ct_find(&node->ct, home->ctx_id);

	if (mem && mem != home->mem)
		mem = rmc_ct_range(&node->ct, home->ctx_id, home->start, home->length);
	if (mem != home->mem)
		return -EFAULT;
	if (rmc_tx_homes_find(homes, home->ctx_id))
		return -EBUSY;
	if (homes->count == RMC_TX_HOMES)
		return -ENOSPC;
	homes->home[homes->count++] = home;
	/* all units set it to the same */
	WRITE_ONCE(mem->flags, mem->flags | RMC_MEM_TX);
	return 0;
}

static void forget(struct rmc_tx_homes *homes, u32 i)
{
	homes->home[i] = homes->home[--homes->count];
	homes->home[homes->count] = NULL;
}

/**
 * rmc_tx_homes_del() - remove a range from a unit
 * @node: unit; the caller is its RRPP worker
 * @home: range; the unit may not have it any more
 *
 * Its segment refuses nothing from now on: the unit that has the participant comes first.
 * Context: worker, does not sleep.
 */
void rmc_tx_homes_del(struct rmc_node *node, struct rmc_tx_home *home)
{
	struct rmc_tx_homes *homes = &node->tx_homes;
	bool others = false;
	u32 i, at = homes->count;

	for (i = 0; i < homes->count; i++) {
		if (homes->home[i] == home)
			at = i;
		else
			others |= homes->home[i]->mem == home->mem;
	}
	if (at == homes->count)
		return;
	/* their SABRes have its participant */
	if (home->mem->sabre == RMC_SABRE_TX)
		rmc_att_withdraw(node, home->mem);
	if (!others)
		WRITE_ONCE(home->mem->flags, home->mem->flags & ~RMC_MEM_TX);
	forget(homes, at);
}

/**
 * rmc_tx_homes_refuse() - check whether a segment refuses a write or atomic
 * @node: unit; the caller's worker has its RRPP
 * @mem: segment, with a flag of RMC_MEM_REFUSES
 * @offset: first byte
 * @length: bytes; all of them are in @mem
 *
 * Return: true: it is read-only there. Context: worker, does not sleep.
 */
bool rmc_tx_homes_refuse(const struct rmc_node *node, const struct rmc_mem *mem, u64 offset,
			 u32 length)
{
	const struct rmc_tx_homes *homes = &node->tx_homes;
	u32 i;

	if (mem->flags & RMC_MEM_READONLY)
		return true;
	for (i = 0; i < homes->count; i++) {
		const struct rmc_tx_home *h = homes->home[i];

		if (h->mem == mem && offset + length > h->start && offset < h->start + h->length)
			return true;
	}
	return false;
}

/**
 * rmc_tx_home_hear() - a packet of a source has come
 * @home: range
 * @source: endpoint
 * @epoch: of its node, when its channel was opened
 *
 * In a new epoch the source knows nothing of what it did before.
 *
 * Return: RMC_S_OK; RMC_S_TX_STALE: a newer one was heard; RMC_S_PROTOCOL: no such endpoint.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_tx_home_hear(struct rmc_tx_home *home, u32 source, u32 epoch)
{
	struct rmc_tx_from *from;

	if (unlikely(source >= home->sources))
		return RMC_S_PROTOCOL;
	from = &home->from[source];
	if (likely(from->epoch == epoch))
		return RMC_S_OK;
	if (unlikely(from->epoch && (s32)(epoch - from->epoch) < 0))
		return RMC_S_TX_STALE;
	if (from->epoch)
		rmc_tx_part_epoch(home->part, source);
	from->epoch = epoch;
	return RMC_S_OK;
}

/**
 * rmc_tx_homes_init() - set up an empty table
 * @node: unit
 *
 * Return: 0. Context: any.
 */
int rmc_tx_homes_init(struct rmc_node *node)
{
	/* nothing ends because of a time of its own */
	node->tx_homes.stall_ms = U32_MAX;
	return 0;
}

/**
 * rmc_tx_homes_destroy() - nothing is left: ranges belong to their creators
 * @node: unit
 */
void rmc_tx_homes_destroy(struct rmc_node *node)
{
}

/* Tell the participant what has become of a source. */
static void check_source(struct rmc_node *node, struct rmc_tx_home *home, u32 source)
{
	struct rmc_tx_from *from = &home->from[source];
	u32 nid = rmc_endpoint_nid(node->fabric, source), epoch;
	bool up = rmc_peer_up(node->fabric, nid, &epoch);
	bool silent = !up || READ_ONCE(node->head->peer[nid].silent);

	if (unlikely(from->epoch && (s32)(epoch - from->epoch) > 0)) {
		rmc_tx_part_epoch(home->part, source);
		from->epoch = epoch;
	}
	if (unlikely(silent && !from->silent))
		rmc_tx_part_silent(home->part, source);
	from->silent = silent;
}

static void check_home(struct rmc_node *node, struct rmc_tx_home *home)
{
	u32 own = READ_ONCE(node->head->epoch), i;
	struct rmc_tx_part *part = home->part;

	/* in a new life the others take all that was here for lost */
	for (i = 0; unlikely(home->epoch != own) && home->epoch && i < home->sources; i++)
		rmc_tx_part_epoch(part, i);
	home->epoch = own;
	for (i = 0; i < part->groups; i++)
		/* source 0: nobody's; it may become so, and be the last one */
		if (part->group[i].source)
			check_source(node, home, part->group[i].source - 1);
}

/**
 * rmc_tx_homes_tick() - look which sources are silent, or live anew
 * @node: unit; the caller is its RRPP worker
 *
 * Context: worker, does not sleep.
 */
void rmc_tx_homes_tick(struct rmc_node *node)
{
	struct rmc_tx_homes *homes = &node->tx_homes;
	u32 i;

	/* other units have the range, but nobody's transactions */
	for (i = 0; i < homes->count; i++)
		if (homes->home[i]->part->limits.self == node->ep)
			check_home(node, homes->home[i]);
}

/**
 * rmc_tx_homes_withdraw() - forget the ranges of a segment that is withdrawn
 * @node: unit; the caller is its RRPP worker
 * @seg: segment; not accessed after the call
 *
 * Their transactions end: who asks gets RMC_S_BAD_CONTEXT. Context: worker, does not sleep.
 */
void rmc_tx_homes_withdraw(struct rmc_node *node, const struct rmc_mem *seg)
{
	struct rmc_tx_homes *homes = &node->tx_homes;
	u32 i = 0;

	while (i < homes->count) {
		if (homes->home[i]->mem == seg)
			forget(homes, i);
		else
			i++;
	}
}

/**
 * rmc_tx_homes_close() - a channel closes: parts of messages are dropped
 * @node: unit; the caller is its RRPP worker
 * @in: channel
 *
 * Transactions are not: what is prepared waits for the source, or for its next epoch.
 * Context: worker, does not sleep.
 */
void rmc_tx_homes_close(struct rmc_node *node, struct rmc_in *in)
{
	u32 i;

	for (i = 0; i < node->tx_homes.count; i++) {
		struct rmc_tx_home *home = node->tx_homes.home[i];

		if (home->part->limits.self != node->ep)
			continue;
		rmc_tx_assemblies_drop(&home->from[in->ep].parts);
	}
}
