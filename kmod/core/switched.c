// SPDX-License-Identifier: GPL-2.0
/*
 * What the control plane of a switch needs of the unit behind it: its segments, and its peers. All
 * of it runs on the RRPP's worker, between packets.
 */
#include "adapter.h"
#include "admit.h"
#include "pipeline.h"
#include "switched.h"

/*
 * See struct rmc_switch_memory. Words are 8 bytes on an 8-byte boundary, so in one chunk. The
 * buffer of a modelled adapter would have what the word was before.
 */
static u64 *word(void *arg, u16 ctx_id, u64 offset)
{
	struct rmc_node *node = arg;
	struct rmc_mem *seg;

	if (offset & 7 || rmc_admit(node, ctx_id, offset, 8, RMC_OPF_MODIFIES, &seg))
		return NULL;
	rmc_adapter_forget(node, seg, offset);
	return rmc_mem_ptr(seg, offset);
}

/* What has begun without the switch ends before tuples are the switch's: it would not see it. */
static void finish_all(struct rmc_node *node)
{
	u32 i;

	for (i = 0; i < node->fabric->endpoints; i++)
		if (node->in[i])
			rmc_rrpp_finish(node, node->in[i]);
}

/**
 * rmc_switched_memory() - the memory of a storage node, for its switch
 * @node: unit
 *
 * Return: for calls of the control plane on the unit's RRPP worker.
 */
struct rmc_switch_memory rmc_switched_memory(struct rmc_node *node)
{
	return (struct rmc_switch_memory){ .word = word, .arg = node };
}

static u8 admit(void *arg, const struct rmc_switch_packet *p)
{
	struct rmc_mem *seg;

	return rmc_admit(arg, p->ctx_id, p->offset, p->length, rmc_op_flags(p->op), &seg);
}

/**
 * rmc_switched_install() - put a switch before a unit
 * @node: unit; the caller is its RRPP worker
 * @sw: switch
 *
 * Return: 0; -ENOMEM: some open channels have no filter yet, see rmc_channel_refresh().
 * Context: worker, does not sleep.
 */
int rmc_switched_install(struct rmc_node *node, struct rmc_switch *sw)
{
	finish_all(node);
	sw->admit = admit;
	sw->arg = node;
	rmc_filter_set_switch(&node->links, sw);
	return rmc_channel_refresh(node, RMC_LANE_REQ);
}

/**
 * rmc_switched_add() - add a range of tuples to a unit's switch
 * @node: unit with a switch; the caller is its RRPP worker
 * @r: range, checked, see rmc_switch_add(); @r->mem is set here
 *
 * Return: 0; -EFAULT: it does not lie in one segment, or one range of it, that is exposed; else as
 * rmc_switch_add(). Context: worker, does not sleep.
 */
int rmc_switched_add(struct rmc_node *node, struct rmc_switch_range *r)
{
	u64 length = (u64)r->stride * (r->count - 1) + r->bytes;
	const struct rmc_mem *mem = rmc_ct_find(&node->ct, r->ctx_id);

	if (mem && !rmc_mem_covers(mem, r->begin, length))
		mem = rmc_ct_range(&node->ct, r->ctx_id, r->begin, length);
	if (!mem)
		return -EFAULT;
	r->mem = mem;
	return rmc_switch_add(node->links.sw, r);
}

/**
 * rmc_switched_promote() - give tuples a register each
 * @node: unit with a switch; the caller is its RRPP worker
 * @ctx_id: see rmc_switch_promote()
 * @offset: ...
 * @count: ...
 *
 * Return: as rmc_switch_promote(). Context: worker, does not sleep.
 */
int rmc_switched_promote(struct rmc_node *node, u16 ctx_id, u64 offset, u32 count)
{
	struct rmc_switch_memory m = rmc_switched_memory(node);

	finish_all(node);
	return rmc_switch_promote(node->links.sw, ctx_id, offset, count, &m);
}

/**
 * rmc_switched_take_away() - take a switch away that serves no tuple any more, or has crashed
 * @node: unit; the caller is its RRPP worker
 * @sw: out, switch to be freed
 *
 * Return: 0; -ENODEV: there is none; -EBUSY: tuples have registers.
 * Context: worker, does not sleep.
 */
int rmc_switched_take_away(struct rmc_node *node, struct rmc_switch **sw)
{
	struct rmc_switch *s = node->links.sw;

	if (!s)
		return -ENODEV;
	if (!s->crashed && s->frees != s->registers)
		return -EBUSY;
	/* if all are used up it begins anew: who still has a word by then may be wrong */
	node->links.switch_epoch = s->epoch;
	node->links.switch_epochs = s->epochs < RMC_SWITCH_EPOCHS ? s->epochs : 0;
	rmc_filter_set_switch(&node->links, NULL);
	*sw = s;
	return 0;
}

/**
 * rmc_switched_unlatch() - unlatch what clients have latched that are gone
 * @node: unit; the caller is its RRPP worker
 * @u: whose; @u->nid is less than fabric->nodes. @u->connected: also if their node is alive
 * @first: register to begin with, see rmc_switch_unlatch()
 *
 * A node that was only paused is refused what it writes later, see stage_tuple().
 *
 * Return: 0; -ENODEV: there is no switch; -EAGAIN as rmc_switch_unlatch().
 * Context: worker, does not sleep.
 */
int rmc_switched_unlatch(struct rmc_node *node, struct rmc_switch_unlatch *u, u32 first)
{
	struct rmc_switch_memory m = rmc_switched_memory(node);

	if (!node->links.sw)
		return -ENODEV;
	/* as long as its heartbeat is heard; a connection that has ended has another era */
	if (READ_ONCE(node->head->peer[u->nid].silent))
		u->connected = true;
	return rmc_switch_unlatch(node->links.sw, u, first, &m);
}
