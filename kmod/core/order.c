// SPDX-License-Identifier: GPL-2.0
/*
 * Ordered queue pairs (RMC_QP_ORDERED), for each destination: an atomic takes effect before what
 * is behind it in the WQ, a write before writes and atomics behind it.
 *
 *   fabric          a channel's ring is in order. Filters are not, so requests name the group of
 *                   their queue pair, and the filter keeps the order of each group
 *                   (fabric/order.c)
 *   several RRPPs   do not wait for each other. So the RGP waits: no write or atomic leaves for
 *                   another RRPP while one is in flight, none at all until a write's
 *                   notification has come, and no read while an atomic is in flight
 *   failures        when an operation ends with another status than RMC_S_OK, its queue pair
 *                   stops: what is behind it in the WQ is aborted until RMC_OP_RESUME, which the
 *                   application posts when it has seen what failed
 *   lost packets    what is in flight behind a lost packet is lost, too, until its group is renewed
 *   back-to-0       never: a write that is repeated would overtake (core/timeout.c)
 *
 * Groups. A unit has RMC_REQ_GROUPS - 1 of them, each for all destinations.
 *
 *   owner     a user, while there are ordered queue pairs in it; or a tenant without one. Gets
 *             another one while it has fewer than are free, as ITT entries. Its queue pairs share
 *             its groups, and those of a newcomer that finds none free one of another owner: more
 *             order, no less. Whoever comes next takes a group over as it is. One whose owner has
 *             gone, but not those that share it, is nobody's until these have gone, too
 *   state     by destination, in the requester's ends of the channels. It lives as long as these
 *   breaks    when an operation ends without all its replies, whatever the reason: its packets
 *             may be lost, or late. No operation of the group begins then ...
 *   late      ... until all that it has in flight to the destination have ended. Several RRPPs do
 *             not wait for each other, so not before the packets of those that have ended have
 *             come back, either: their ITT entries are in quarantine for so long. If that takes
 *             longer than a time-out it goes on without them, and forgets them
 *   renewed   the next one renews the group: in each channel that has carried a packet of it since
 *             the last time, its packets have the other value of RMC_REQ_RENEWED from then on. A
 *             filter that has lost a packet passes on nothing of the group until it sees that value
 *   told      if no operation follows, a packet for the filters alone has the new value
 *             (RMC_OP_RENEW), with the next tick. If it is lost, the group is broken once more, but
 *             the next one waits a time-out, and no worker stays awake for it
 */
#include "account.h"
#include "complete.h"
#include "order.h"

/* The end of the channels to a node that counts for all of them */
static struct rmc_out *first_out(const struct rmc_node *node, u32 nid)
{
	return node->out[rmc_endpoint(node->fabric, nid)];
}

/**
 * rmc_order_init() - make a queue pair ordered, before it is polled
 * @qp: queue pair, whose node is set
 * @relayed: a frontend polls it, which does not look at operations (ni/front.h)
 *
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int rmc_order_init(struct rmc_qpair *qp, bool relayed)
{
	u32 bytes = relayed ? 0 : rmc_order_bytes(qp->node->fabric);

	if (bytes) {
		qp->to = rmc_os_zalloc_user(bytes);
		if (!qp->to)
			return -ENOMEM;
	}
	/* rmc_order_join() chooses */
	qp->group = 1;
	return 0;
}

/**
 * rmc_order_destroy() - mirror of rmc_order_init()
 * @qp: queue pair that is not polled any more, ordered or not
 *
 * Context: may sleep.
 */
void rmc_order_destroy(struct rmc_qpair *qp)
{
	rmc_os_free(qp->to);
	qp->to = NULL;
}

static const struct rmc_tenant *owner_of(const struct rmc_qpair *qp)
{
	return qp->tenant->group ?: qp->tenant;
}

/**
 * rmc_order_join() - choose the group of an ordered queue pair that will be polled
 * @qp: queue pair, with its tenant; the caller is its unit's RGP worker
 *
 * Context: worker, does not sleep.
 */
void rmc_order_join(struct rmc_qpair *qp)
{
	const struct rmc_tenant *owner = owner_of(qp);
	struct rmc_order_group *group = qp->node->group;
	u32 i, n, own = 0, free = 0, any = 0, owns = 0, frees = 0;

	for (n = 1; n < RMC_REQ_GROUPS; n++) {
		/* round robin: one that was left is used late */
		i = 1 + (qp->node->next_group + n) % (RMC_REQ_GROUPS - 1);
		if (!group[i].qps) {
			free = free ?: i;
			frees++;
		} else if (group[i].owner == owner) {
			own = own && group[own].qps <= group[i].qps ? own : i;
			owns++;
		} else {
			any = any && group[any].qps <= group[i].qps ? any : i;
		}
	}
	if (free && owns < frees)
		own = free;
	if (!own)
		own = any;
	qp->node->next_group = own - 1;
	if (!group[own].qps)
		group[own].owner = owner;
	group[own].qps++;
	group[own].owners += group[own].owner == owner;
	qp->group = own;
}

/**
 * rmc_order_leave() - mirror of rmc_order_join()
 * @qp: ordered queue pair that has nothing in flight
 *
 * Context: worker, does not sleep.
 */
void rmc_order_leave(struct rmc_qpair *qp)
{
	struct rmc_order_group *group = &qp->node->group[qp->group];

	group->qps--;
	/* as it was when the queue pair joined: the next owner comes when all have gone */
	if (group->owner == owner_of(qp) && !--group->owners)
		group->owner = NULL;
}

/*
 * A group goes on without the packets that are late, so nobody waits for these any more. Else each
 * later break would wait a time-out for them. Rare, so all entries are looked at.
 */
static void forget_late(struct rmc_node *node, struct rmc_out *out, u32 group)
{
	u32 i, bit = 1U << group;

	for (i = 0; i < node->itt.size && out->late[group]; i++) {
		struct rmc_track *t = &node->itt.track[i];

		if (!(t->groups & bit) || t->earlier_nid != out->nid)
			continue;
		t->groups &= ~bit;
		out->late[group]--;
	}
}

/* Packets of a group begin anew in the channels that have carried some. */
static void renew(struct rmc_node *node, u32 nid, u32 group)
{
	struct rmc_out **out = &node->out[rmc_endpoint(node->fabric, nid)];
	u32 i, bit = 1U << group;

	if (out[0]->late[group])
		forget_late(node, out[0], group);

	out[0]->broken &= ~bit;
	out[0]->unknown &= ~bit;
	for (i = 0; i < rmc_fabric_rrpps(node->fabric); i++) {
		out[i]->renewed ^= out[i]->used & bit;
		out[i]->untold |= out[i]->used & bit;
		out[i]->used &= ~bit;
	}
}

/* @out: the end that counts for all to a node */
static bool broke_lately(const struct rmc_node *node, const struct rmc_out *out, u32 group)
{
	return node->req_ms - out->broken_ms[group] < READ_ONCE(node->fabric->timeout_ms);
}

/*
 * True while packets of writes and atomics that have ended may be on their way to one of several
 * RRPPs, but not for ever. One RRPP serves them before what is sent now.
 */
static bool waits_for_late(const struct rmc_node *node, const struct rmc_out *out, u32 group)
{
	if (!out->late[group] && !(out->unknown & 1U << group))
		return false;
	return broke_lately(node, out, group);
}

/**
 * rmc_order_may_begin() - check whether an operation of an ordered queue pair may begin
 * @node: unit; the caller is its RGP worker
 * @qp: queue pair
 * @nid: destination, to which channels are open
 *
 * Return: false: its group waits until all that it had in flight has ended, and has come back.
 * Context: worker, does not sleep.
 */
bool rmc_order_may_begin(struct rmc_node *node, const struct rmc_qpair *qp, u32 nid)
{
	struct rmc_out *out = first_out(node, nid);
	u32 bit = 1U << qp->group;

	if (likely(!(out->broken & bit)))
		return true;
	if (out->ordered[qp->group] || waits_for_late(node, out, qp->group)) {
		rmc_stat_inc(node, order_stalls);
		return false;
	}
	renew(node, nid, qp->group);
	return true;
}

/**
 * rmc_order_begin() - begin an operation, see rmc_order_may_begin()
 * @node: unit; the caller is its RGP worker
 * @e: operation
 *
 * Context: worker, does not sleep.
 */
void rmc_order_begin(struct rmc_node *node, const struct rmc_itt_entry *e)
{
	first_out(node, e->nid)->ordered[e->qp->group]++;
}

/**
 * rmc_order_home() - check whether the next packet may leave for an RRPP
 * @e: operation that is ordered
 * @ep: endpoint
 *
 * Return: false: it would overtake one for another RRPP.
 * Context: worker, does not sleep.
 */
bool rmc_order_home(const struct rmc_itt_entry *e, u32 ep)
{
	bool reads = rmc_rank(rmc_op_flags(e->op)) == RMC_RANK_READ;
	struct rmc_order_to *to;

	if (!e->qp->to)
		return true;
	to = &e->qp->to[e->nid];
	if (!reads && to->notifier && to->notifier != e)
		return false;
	if (to->ep != ep && (to->atomics || (!reads && to->writes)))
		return false;
	if (reads)
		return true;
	to->ep = ep;
	if (e->notify)
		to->notifier = e;
	return true;
}

/**
 * rmc_order_sent() - count packets that leave, see rmc_order_home()
 * @out: channel
 * @e: operation that is ordered
 * @packets: how many
 *
 * Context: worker, does not sleep.
 */
void rmc_order_sent(struct rmc_out *out, const struct rmc_itt_entry *e, u32 packets)
{
	enum rmc_rank rank = rmc_rank(rmc_op_flags(e->op));
	struct rmc_order_to *to;

	if (packets) {
		out->used |= 1U << e->qp->group;
		out->untold &= ~(1U << e->qp->group);
	}
	if (!e->qp->to || rank < RMC_RANK_WRITE)
		return;
	to = &e->qp->to[e->nid];
	if (rank == RMC_RANK_ATOMIC)
		to->atomics += packets;
	else
		to->writes += packets;
}

/**
 * rmc_order_answered() - packets were answered, or nobody waits for their replies any more
 * @qp: ordered queue pair
 * @e: operation of it that is ordered
 * @packets: how many
 *
 * Return: another operation, whose notification may leave now; NULL: none.
 * Context: worker, does not sleep.
 */
const struct rmc_itt_entry *rmc_order_answered(const struct rmc_qpair *qp,
					       const struct rmc_itt_entry *e, u32 packets)
{
	enum rmc_rank rank = rmc_rank(rmc_op_flags(e->op));
	struct rmc_order_to *to;

	if (!qp->to || rank < RMC_RANK_WRITE)
		return NULL;
	to = &qp->to[e->nid];
	if (rank == RMC_RANK_ATOMIC)
		to->atomics -= packets;
	else
		to->writes -= packets;
	return to->writes || to->atomics || to->notifier == e ? NULL : to->notifier;
}

/*
 * True if the queue pair of an operation stops when this ends. Not for a read that the server could
 * not finish because others write: nothing waits for it, and they would stop what is not theirs.
 */
static bool stops(u8 op, u8 status)
{
	enum rmc_rank rank = rmc_rank(rmc_op_flags(op));

	return rank && status && !(status == RMC_S_BUSY && rank == RMC_RANK_READ);
}

/**
 * rmc_order_end() - end an operation that is ordered
 * @qp: queue pair; the caller is the RGP and RCP worker of its unit
 * @e: operation, which may have forgotten its queue pair
 *
 * Context: worker, does not sleep.
 */
void rmc_order_end(struct rmc_qpair *qp, const struct rmc_itt_entry *e)
{
	struct rmc_out *out = first_out(qp->node, e->nid);

	rmc_order_answered(qp, e, e->replies);
	if (qp->to && qp->to[e->nid].notifier == e)
		qp->to[e->nid].notifier = NULL;
	out->ordered[qp->group]--;
	if (e->replies) {
		out->broken |= 1U << qp->group;
		out->patient &= ~(1U << qp->group);
		out->broken_ms[qp->group] = qp->node->req_ms;
		qp->node->renewals = true;
	}
	qp->stopped |= stops(e->op, e->status);
}

/**
 * rmc_order_late() - packets of an operation that has ended are outstanding
 * @qp: its queue pair
 * @e: operation, which was ordered
 * @t: of @e, which is in quarantine
 *
 * Context: worker, does not sleep.
 */
void rmc_order_late(const struct rmc_qpair *qp, const struct rmc_itt_entry *e, struct rmc_track *t)
{
	u32 bit = 1U << qp->group;

	if (!qp->to || rmc_rank(rmc_op_flags(e->op)) < RMC_RANK_WRITE || t->groups & bit)
		return;
	t->groups |= bit;
	first_out(qp->node, e->nid)->late[qp->group]++;
}

/**
 * rmc_order_came() - the packets of rmc_order_late() are not waited for any more
 * @node: unit; the caller is its RGP and RCP worker
 * @t: of their ITT entry
 * @all: all of them have come, or never will; else nobody knows
 *
 * Context: worker, does not sleep.
 */
void rmc_order_came(struct rmc_node *node, struct rmc_track *t, bool all)
{
	struct rmc_out *out = first_out(node, t->earlier_nid);

	if (!all)
		out->unknown |= t->groups & out->broken;
	for (; t->groups; t->groups &= t->groups - 1)
		out->late[__ffs64(t->groups)]--;
}

/**
 * rmc_order_refused() - an entry of a WQ ended without an operation
 * @qp: queue pair, ordered or not
 * @op: its opcode, any value
 * @status: how it ended
 *
 * Context: worker, does not sleep.
 */
void rmc_order_refused(struct rmc_qpair *qp, u8 op, u8 status)
{
	qp->stopped |= qp->group && stops(op, status);
}

/* The filter of a channel is told of a renewed group. The channel has a credit. */
static void tell(struct rmc_node *node, u32 ep)
{
	struct rmc_out *out = node->out[ep];
	u32 group = __ffs64(out->untold), bit = 1U << group;

	if (rmc_os_filters() && out->filter)
		rmc_model_send(&node->links, out->filter, &out->req, 0, RMC_RNIC_NO_QP);
	rmc_ring_put(&out->req, rmc_req_word0(RMC_OP_RENEW, 0, 0, RMC_TID_NONE),
		     rmc_order_bits(out, group));
	out->credits--;
	out->used |= bit;
	out->untold &= ~bit;
	rmc_account_requests(node, out->nid, RMC_TID_NONE, 1, 0);
	rmc_doorbell_ring(node->fabric, ep, RMC_LANE_REQ, node->ep, out->self);
}

/* Renew the broken groups of a node that have nothing in flight. */
static void renew_broken(struct rmc_node *node, const struct rmc_out *out)
{
	u32 broken, group;

	for (broken = out->broken; broken; broken &= broken - 1) {
		group = __ffs64(broken);
		if (out->ordered[group] || waits_for_late(node, out, group))
			node->renewals = true;
		else if (out->patient & 1U << group && broke_lately(node, out, group))
			node->renew_later = true;
		else
			renew(node, out->nid, group);
	}
}

/*
 * A channel has no credit. True if it is worth to stay awake until the filter of a group that broke
 * can be told; not if it broke by a renewal that was lost, which may be so for ever.
 */
static bool credit_comes(const struct rmc_node *node, const struct rmc_out *first, u32 untold)
{
	for (; untold; untold &= untold - 1)
		if (broke_lately(node, first, __ffs64(untold)))
			return true;
	return false;
}

/**
 * rmc_order_tick() - renew broken groups that have nothing in flight, and tell the filters
 * @node: unit with @renewals or @renew_later; the caller is its RGP and RCP worker
 *
 * One packet per channel and tick. A peer that is silent has to be heard first. The worker stays
 * awake for a time-out after a group broke, at most.
 * Context: worker, does not sleep.
 */
void rmc_order_tick(struct rmc_node *node)
{
	u32 nid, i;

	node->renewals = false;
	node->renew_later = false;
	for (nid = 0; nid < node->fabric->nodes; nid++) {
		struct rmc_out *first = first_out(node, nid), *out;

		if (!first || first->down)
			continue;
		renew_broken(node, first);
		for (i = 0; i < rmc_fabric_rrpps(node->fabric); i++) {
			out = node->out[rmc_endpoint(node->fabric, nid) + i];
			if (out->untold && out->credits)
				tell(node, rmc_endpoint(node->fabric, nid) + i);
			if (!out->untold)
				continue;
			if (out->credits ||
			    credit_comes(node, first, out->untold & ~first->patient))
				node->renewals = true;
			else
				node->renew_later = true;
		}
	}
}

/**
 * rmc_order_hurry() - somebody waits for filters: do not wait for a time-out
 * @node: unit; the caller is its RGP and RCP worker
 * @nid: node that has the filters
 *
 * Return: true: the next ticks renew or tell something. Context: worker, does not sleep.
 */
bool rmc_order_hurry(struct rmc_node *node, u32 nid)
{
	struct rmc_out *out = first_out(node, nid);
	bool untold = false;
	u32 i;

	if (!out)
		return false;
	for (i = 0; i < rmc_fabric_rrpps(node->fabric); i++)
		untold |= node->out[rmc_endpoint(node->fabric, nid) + i]->untold;
	if (!untold && !(out->patient & out->broken))
		return false;
	out->patient = 0;
	node->renewals = true;
	return true;
}

/**
 * rmc_order_told() - a reply is that to a packet of rmc_order_tick()
 * @node: unit; the caller is its RCP worker
 * @out: channel that it came from
 * @p: reply that belongs to no operation, any values
 *
 * Return: false: it is another one. Context: worker, does not sleep.
 */
bool rmc_order_told(struct rmc_node *node, struct rmc_out *out, const struct rmc_rep *p)
{
	struct rmc_out *first = first_out(node, out->nid);
	u32 group = rmc_word1_group(p->word1), bit = 1U << group;

	if (p->op != RMC_OP_RENEW)
		return false;
	/* one that is broken already is renewed anyway */
	if (p->marks & RMC_MARK_LOST && out->used & ~first->broken & bit) {
		first->broken |= bit;
		first->patient |= bit;
		first->broken_ms[group] = node->req_ms;
		node->renew_later = true;
	}
	return true;
}
