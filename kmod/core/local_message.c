// SPDX-License-Identifier: GPL-2.0
/* Messages without packets: see local_message.h. */
#include "entry.h"
#include "local.h"
#include "local_message.h"

/**
 * struct message - an entry between the two passes
 * @w: snapshot of the entry
 * @lbuf: local buffer of a SEND; NULL: it has none
 * @server: destination
 * @d: domain of the destination
 * @set: number of the source in @d
 * @index: of the slot in @d
 * @slot: WQ index
 */
struct message {
	struct rmc_wqe w;
	struct rmc_mem *lbuf;
	struct rmc_node *server;
	struct rmc_domain *d;
	u32 set;
	u32 index;
	u16 slot;
};

/* JOIN and READY do not take this path, nor what is no message. */
static bool is_local(u8 op)
{
	return op == RMC_OP_SEND || op == RMC_OP_RECEIVE || op == RMC_OP_REPLY ||
	       op == RMC_OP_OFFER;
}

/* Of an entry with any values: this worker has both ends, and no packet is on its way. */
static bool may_be_local(const struct rmc_qpair *qp, struct message *m)
{
	const struct rmc_node *node = qp->node;
	const struct rmc_out *out;
	u32 nid = m->w.nid;

	if (unlikely(!is_local(m->w.op) || nid >= node->fabric->nodes))
		return false;
	nid = array_index_nospec(nid, node->fabric->nodes);
	out = node->out[nid];
	if (unlikely(!out || out->down || !out->self || out->credits != out->req.mask + 1))
		return false;
	m->server = node->fabric->local[nid];
	return true;
}

/* Find out where it is served. False: it needs packets. */
static bool find(const struct rmc_qpair *qp, struct message *m)
{
	if (unlikely(READ_ONCE(m->server->fenced)))
		return false;
	m->d = rmc_domain_find(&m->server->domains, qp->ctx_id);
	if (unlikely(!m->d))
		return false;
	m->set = rmc_domain_set(m->d, qp->node->nid);
	if (unlikely(m->set >= m->d->p.nodes ||
		     rmc_slot_number(m->w.offset) >= m->d->p.slots))
		return false;
	m->set = array_index_nospec(m->set, m->d->p.nodes);
	m->index = rmc_slot_index(m->d, m->set, m->w.offset);
	return true;
}

static bool fits(const struct message *m, u32 bytes)
{
	const u32 mtu = m->server->fabric->mtu;

	return m->w.length <= (m->w.op == RMC_OP_REPLY ? min(bytes, mtu) : bytes);
}

/* The first lines of the local buffer, first of all: the application has written them just now. */
static void fetch_source(struct rmc_qpair *qp, struct message *m)
{
	u32 most = min_t(u32, m->w.length, RMC_LOCAL_AHEAD * RMC_LINE), i;

	m->lbuf = m->w.length ? rmc_bufs_find(qp->bufs, m->w.lbuf, m->w.length) : NULL;
	for (i = 0; m->lbuf && i < most; i += RMC_LINE)
		prefetch(rmc_mem_ptr(m->lbuf, m->w.lbuf - m->lbuf->base + i));
}

static void fetch_lines(const struct rmc_mem *to, u64 at, u32 length)
{
	u32 most = min_t(u32, length, RMC_LOCAL_AHEAD * RMC_LINE), i;

	for (i = 0; i < most; i += RMC_LINE)
		prefetchw(rmc_mem_ptr(to, at + i));
}

/* What an entry writes; the application has read it. */
static void fetch_target(const struct message *m)
{
	const struct rmc_domain *d = m->d;

	if (rmc_op_flags(m->w.op) & RMC_OPF_ENDS)
		/* of member 0; with other members it is only a guess */
		prefetchw(rmc_send_slot_word(d, m->index));
	else if (m->w.length <= d->p.max_message)
		fetch_lines(d->recv, rmc_slot_data(d, m->index), m->w.length);
	/* a domain without answers has no memory for them */
	if (m->w.op == RMC_OP_REPLY && m->w.length && m->w.length <= d->p.max_answer)
		fetch_lines(d->answers, (u64)m->index * d->answer_stride,
			    sizeof(struct rmc_answer) + m->w.length);
}

/* A REPLY, whose slot is free from now on, or with @mem NULL a RECEIVE. Returns its status. */
static u8 end(struct rmc_qpair *qp, const struct message *m, const struct rmc_mem *mem, u64 *now)
{
	struct rmc_node *node = qp->node;
	struct rmc_ring ring = { .pay = node->local_pay, .pay_mask = RMC_LOCAL_LINES - 1 };
	struct rmc_serve s rmc_os_unset;

	rmc_domain_take(qp, &m->w, now);
	s.node = m->server;
	s.from = node->ep;
	s.req.offset = m->w.offset;
	s.req.length = m->w.length;
	/* as in a packet, see rmc_inject_one() */
	s.req.ctx_id = qp->ctx_id | (rmc_packets_word0(m->w.tag) >> 40) << 8;
	s.word1 = RMC_REQ_LAST | rmc_packets_word1(m->w.tag);
	if (!mem)
		return rmc_domain_free(&s, m->d, m->set);
	s.rx = &ring;
	s.rx_pay = 0;
	rmc_mem_get(mem, m->w.lbuf - mem->base, node->local_pay, m->w.length);
	return rmc_domain_answer(&s, m->d, m->set);
}

/*
 * Second pass for an entry. False: it needs packets, and has changed nothing but the holder of a
 * message that all cores have, which is the queue pair's core then.
 */
static bool execute(struct rmc_qpair *qp, struct message *m, u64 *now)
{
	struct rmc_node *node = qp->node, *server = m->server;
	u32 packets = 1;
	u8 status;

	if (rmc_op_flags(m->w.op) & RMC_OPF_ENDS) {
		if (unlikely(rmc_entry_validate(qp, &m->w, &m->lbuf, false)))
			return false;
		status = end(qp, m, m->lbuf, now);
		if (unlikely(status))
			rmc_domain_count(rmc_domain_unit(m->d, server), refused);
	} else {
		if (unlikely(!m->lbuf || rmc_send_prepare(qp, &m->w)))
			return false;
		packets = rmc_domain_put(server, m->d, m->set, &m->w, m->lbuf, now);
		if (unlikely(!packets))
			return false;
		status = RMC_S_OK;
	}
	rmc_account_requests(node, m->w.nid, RMC_TID_NONE, packets, m->w.length);
	rmc_account_result(server, packets, m->w.length, status);
	rmc_account_served(server, node->nid, packets);
	rmc_account_replies(node, packets);
	rmc_account_completion(node, m->w.nid, RMC_TID_NONE, m->slot, status);
	rmc_cq_post(qp, m->slot, status);
	return true;
}

/**
 * rmc_local_messages() - execute messages at the head of a WQ that need no packets
 * @qp: queue pair of a node with one unit; the caller is its RGP worker
 * @most: entries to take, RMC_BATCH at most
 * @longest: bytes that a message may have
 * @budget: no further entry when so many work units are used up, see @moved
 * @moved: work units used so far; incremented
 *
 * Return: entries taken; 0: there is none, or the first one needs packets.
 * Context: worker, does not sleep.
 */
u32 rmc_local_messages(struct rmc_qpair *qp, u32 most, u32 longest, u32 budget, u32 *moved)
{
	const u32 bytes = min(longest, rmc_local_bytes_max(qp->node->fabric, RMC_OPF_RUNS));
	struct message batch[RMC_BATCH] rmc_os_unset;
	u32 n, i, units = *moved;
	u64 now = 0;

	for (n = 0; n < most && units < budget; n++) {
		struct message *m = &batch[n];

		if (!rmc_entry_take(qp, qp->wq_head + n, &m->w) || !may_be_local(qp, m))
			break;
		fetch_source(qp, m);
		if (!find(qp, m) || !fits(m, bytes))
			break;
		m->slot = (qp->wq_head + n) & qp->mask;
		units += m->w.length + RMC_TENANT_ENTRY;
		fetch_target(m);
	}
	/* while the lines are on their way */
	if (n && !(rmc_op_flags(batch[0].w.op) & RMC_OPF_ENDS))
		now = rmc_os_now_ns();
	for (i = 0; i < n; i++) {
		if (unlikely(!execute(qp, &batch[i], &now)))
			break;
		qp->wq_head++;
		*moved += batch[i].w.length + RMC_TENANT_ENTRY;
	}
	return i;
}
