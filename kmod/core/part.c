// SPDX-License-Identifier: GPL-2.0
/* Domains that several files share, and slots that go from a member to its successor. */
#include "node.h"
#include "part.h"

/**
 * rmc_members_valid() - check the number of files of a domain
 * @c: any values
 *
 * Return: true: each has a slot of each pair, and a core. Context: any.
 */
bool rmc_members_valid(const struct rmc_dom_create *c)
{
	if (c->members <= 1)
		return true;
	/* threads take arrivals of that policy under a lock in the memory of their process */
	return c->members <= RMC_MAX_MEMBERS && c->members <= c->slots &&
	       c->members <= c->cores && c->policy != RMC_DOM_SHARED;
}

/**
 * rmc_domain_share() - prepare a domain for several files
 * @d: domain, after rmc_domain_init(), that no unit has; @d->send is set, for member 0
 * @members: number that rmc_members_valid() has let pass
 *
 * Return: 0, -ENOMEM; rmc_domain_destroy() frees what there is. Context: may sleep.
 */
int rmc_domain_share(struct rmc_domain *d, u32 members)
{
	if (members <= 1)
		return 0;
	d->part = rmc_os_zalloc_user(members * sizeof(*d->part));
	if (!d->part)
		return -ENOMEM;
	d->members = members;
	/* all cores together: about all slots */
	d->keep = max_t(u32, d->p.nodes * d->p.slots / d->cores_max, 1);
	d->part[0] = d->send;
	return 0;
}

/**
 * rmc_part_set() - a member has come, or is gone
 * @d: domain with several members
 * @member: less than their number
 * @send: its send slots, N * S with zeros; NULL: it is gone. RRPP workers may use those that it had
 *	until each of them has returned from a visit that began after this
 *
 * Context: any; calls for one domain exclude each other.
 */
void rmc_part_set(struct rmc_domain *d, u32 member, struct rmc_mem *send)
{
	/* pairs with the acquire in rmc_part_find(): its chunks and zeros */
	smp_store_release(&d->part[member], send);
}

/**
 * rmc_part_owns() - check whether a slot belongs to a member
 * @d: domain with several members
 * @member: less than their number
 * @slot: of a pair, less than @d->p.slots
 *
 * Context: any.
 */
bool rmc_part_owns(const struct rmc_domain *d, u32 member, u32 slot)
{
	return slot >= rmc_member_first(d->p.slots, d->members, member) &&
	       slot < rmc_member_first(d->p.slots, d->members, member + 1);
}

/**
 * rmc_part_find() - the first word of a send slot of a domain with several members
 * @d: domain
 * @set: number of the slot's peer
 * @index: of the slot, from rmc_slot_index()
 *
 * Return: the word, which an application may write at any time; NULL: its member is gone.
 * Context: RRPP worker, does not sleep.
 */
u64 *rmc_part_find(const struct rmc_domain *d, u32 set, u32 index)
{
	u32 slot = index - set * d->p.slots;
	/* the last member whose first slot is not beyond it, see rmc_member_first() */
	u32 member = ((slot + 1) * d->members - 1) / d->p.slots;
	/* pairs with the release in rmc_part_set() */
	struct rmc_mem *send = smp_load_acquire(&d->part[member]);

	return send ? rmc_mem_ptr(send, (u64)index * sizeof(struct rmc_send_slot)) : NULL;
}

/**
 * rmc_slot_skip() - the sender gives up the next message of a slot
 * @d: domain
 * @set: number of the source
 * @slot: of the source, at home here
 * @offset: the packet's: turn of the message
 *
 * If it is complete, it stays. Otherwise its turn counts as delivered, so its packets, whichever
 * ring they wait in, have no effect. Until then a message of another process could have followed
 * under its turn.
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_slot_skip(struct rmc_domain *d, u32 set, struct rmc_slot *slot, u64 offset)
{
	/* pairs with the release in rmc_domain_take(), as in rmc_domain_store() */
	u32 state = smp_load_acquire(&slot->state);

	if ((u8)(slot->turn + 1) != rmc_slot_turn(offset) ||
	    (state != RMC_SLOT_FREE && state != RMC_SLOT_FILLING))
		return;
	d->touched[rmc_life_index(d, set, offset)] = true;
	WRITE_ONCE(slot->turn, slot->turn + 1);
	WRITE_ONCE(slot->state, RMC_SLOT_FREE);
}
