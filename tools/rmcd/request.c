// SPDX-License-Identifier: GPL-2.0
/*
 * Executes the requests of clients. The rules for sizes, flags and reserved fields are those of
 * uapi/linux/rmc.h, as kmod/dev/ioctl.c has them.
 */
#include <errno.h>
#include <unistd.h>
#include "kmod/core/local.h"
#include "domain.h"
#include "request.h"
#include "tx.h"
#include "watch.h"

union args {
	u32 size;
	struct rmc_query query;
	struct rmc_node_info node_info;
	struct rmc_watch watch;
	struct rmc_attach attach;
	struct rmc_seg_reg seg_reg;
	struct rmc_seg_unreg seg_unreg;
	struct rmc_seg_add seg_add;
	struct rmc_seg_del seg_del;
	struct rmc_buf_reg buf_reg;
	struct rmc_buf_unreg buf_unreg;
	struct rmc_qp_create qp_create;
	struct rmc_qp_id qp_id;
	struct rmc_cq_arm cq_arm;
	struct rmc_seg_arm seg_arm;
	struct rmc_ctx_create ctx_create;
	struct rmc_ctx_remove ctx_remove;
	struct rmc_dom_query dom_query;
	struct rmc_dom_create dom_create;
	struct rmc_dom_open dom_open;
	struct rmc_dom_destroy dom_destroy;
	struct rmc_dom_attach dom_attach;
	struct rmc_dom_detach dom_detach;
	struct rmc_aq_arm aq_arm;
	struct rmc_room_arm room_arm;
	struct rmc_dom_stats dom_stats;
	struct rmc_tx_reg tx_reg;
	struct rmc_tx_open tx_open;
};

/**
 * struct entry - row of the table
 * @cmd: RMC_IOC_*
 * @size: size of its struct
 * @min_size: size of the struct's first version
 * @writes: the context has to be open for writing
 * @control: possible on a control connection
 * @memory: struct rmcd_memory follows the struct
 * @fn: executes it
 */
struct entry {
	u32 cmd;
	u32 size;
	u32 min_size;
	bool writes;
	bool control;		/* of the control device, too */
	bool admin;		/* of that alone */
	bool memory;
	int (*fn)(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory);
};

/* ---- queries ---- */

static const struct rmc_node *asking_node(const struct rmcd_req *r)
{
	return r->file && r->file->node ? r->file->node : r->d->node[0];
}

static u64 op_mask(void)
{
	u64 mask = 0;
	u32 op;

	for (op = 1; op < RMC_OP_MAX; op++)
		if (rmc_op_flags(op))
			mask |= 1ULL << op;
	return mask;
}

static int do_query(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	const struct rmcd_config *cfg = &r->d->cfg;
	const struct rmcd_port *port = r->d->port;
	const struct rmc_node *asking = asking_node(r);
	struct rmc_query *q = &a->query;

	(void)memory;
	if (q->flags)
		return -EOPNOTSUPP;
	*q = (struct rmc_query){
		.size = q->size,
		.abi = RMC_ABI_VERSION,
		.fabric = port->kind,
		.ni = cfg->ni->id,
		.nodes = port->fabric.nodes,
		.local_nodes = port->locals,
		.first_local = port->first,
		.nid = r->file && r->file->node ? (s32)r->file->node->nid : -1,
		.ctx_id = r->file ? (s32)r->file->ctx->id : -1,
		.mtu = port->fabric.mtu,
		.max_length = RMC_LENGTH_MAX,
		.max_segment = RMC_MAX_SEGMENT,
		.max_contexts = RMC_MAX_CONTEXTS,
		.max_qps = RMC_MAX_QPS,
		.max_buffers = RMC_MAX_BUFFERS,
		.max_entries = RMC_MAX_ENTRIES,
		.itt_entries = cfg->itt,
		.timeout_ms = port->fabric.timeout_ms,
		.op_mask = op_mask(),
		.shared_cpu = cfg->share,
		.att_entries = cfg->att_entries,
		.att_depth = cfg->att_depth,
		.att_stall_ms = cfg->att_stall_ms,
		.sabre_mode = cfg->sabre,
		.max_sabre = RMC_SABRE_MAX,
		.units = rmc_fabric_units(&port->fabric),
		.rrpps = rmc_fabric_rrpps(&port->fabric),
		.max_watches = RMCD_MAX_WATCHES,
		.interleave = port->fabric.interleave,
		.max_ranges = RMC_MAX_RANGES,
		.local_path = !!rmc_local_reach(asking, asking->nid),
		.features = RMC_FEATURE_WATCH | RMC_FEATURE_RANGES | RMC_FEATURE_LOCAL_BYTES |
			    RMC_FEATURE_ORDERED | RMC_FEATURE_TX,
		.max_qps_user = cfg->user[RMCD_RES_qps],
		.max_qps_context = cfg->context[RMCD_RES_qps],
		.max_files_user = cfg->user[RMCD_RES_files],
		.max_files_context = cfg->context[RMCD_RES_files],
		.max_buffers_user = cfg->user[RMCD_RES_buffers],
		.max_buffers_context = cfg->context[RMCD_RES_buffers],
		.queue_mib_user = cfg->user[RMCD_RES_queue_mib],
		.queue_mib_context = cfg->context[RMCD_RES_queue_mib],
		.max_tx_slots_user = cfg->user[RMCD_RES_tx_slots],
		.max_tx_slots_context = cfg->context[RMCD_RES_tx_slots],
	};
	return 0;
}

static int do_node_info(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_node_info *i = &a->node_info;
	struct rmc_fabric *f = &r->d->port->fabric;

	(void)memory;
	if (i->flags)
		return -EOPNOTSUPP;
	if (i->nid >= f->nodes)
		return -EINVAL;
	i->state = rmcd_node_state(r->d, i->nid);
	i->epoch = READ_ONCE(f->node[i->nid].epoch);
	i->local = !!f->local[rmc_endpoint(f, i->nid)];
	i->local_bytes = rmc_local_reach(asking_node(r), i->nid);
	return 0;
}

/* Node of an event file: on a context it is the attached one. */
static struct rmc_node *watching(const struct rmcd_req *r, s32 nid)
{
	struct rmc_node *node = r->file ? rmcd_file_node(r->file) : NULL;

	if (node)
		return nid < 0 || (u32)nid == node->nid ? node : NULL;
	return rmcd_node(r->d, nid < 0 ? r->d->port->first : (u32)nid);
}

static int do_watch(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_watch *w = &a->watch;
	struct rmc_node *node;
	int fd;

	(void)memory;
	if (w->flags & ~RMC_WATCH_NONBLOCK || w->reserved || w->types >= 1U << RMC_EVENT_TYPES)
		return -EOPNOTSUPP;
	node = watching(r, w->nid);
	if (!node)
		return -ENXIO;
	fd = rmcd_watcher_open(r->d, r->file, node, r->peer->uid, w->types,
			       w->flags & RMC_WATCH_NONBLOCK);
	if (fd < 0)
		return fd;
	r->close |= 1U << r->outs;
	r->close_at_once |= 1U << r->outs;
	r->out[r->outs++] = fd;
	return 0;
}

/* ---- resources of a context ---- */

static int do_attach(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	(void)memory;
	if (a->attach.flags || a->attach.reserved)
		return -EOPNOTSUPP;
	return rmcd_file_attach(r->file, a->attach.nid);
}

/* What another thread has mapped: it is the caller's. */
static struct rmcd_mem *take_memory(struct rmcd_req *r)
{
	struct rmcd_mem *m = r->memory;
	int err;

	r->memory = NULL;
	err = IS_ERR(m) ? 0 : rmcd_mem_ready(m);
	if (!err)
		return m;
	rmcd_mem_destroy(m);
	return ERR_PTR(err);
}

/* The first time -EINPROGRESS: the server lets another thread map it, and executes us again. */
static struct rmcd_mem *get_memory(struct rmcd_req *r, const struct rmcd_memory *memory,
				   u64 addr, u64 length, bool private)
{
	int err;

	if (r->memory)
		return take_memory(r);
	rmcd_file_node(r->file);
	if (!length || length > RMC_MAX_SEGMENT)
		return ERR_PTR(-EINVAL);
	/* before the daemon has them: it may have fewer than a quota allows */
	if (rmcd_file_may_map(r->file, length))
		return ERR_PTR(-EDQUOT);
	r->reg = (struct rmcd_registration){
		.memory = *memory, .addr = addr, .length = length,
		.foreign = private ? rmcd_file_foreign(r->file) : -1,
		.uid = r->peer->uid, .own = r->peer->uid == geteuid(),
	};
	err = rmcd_registration_check(&r->reg, r->fds, r->nfds);
	return ERR_PTR(err ?: -EINPROGRESS);
}

/* Layout of objects' versions; all zero for memory without objects. */
static int get_layout(const struct rmcd_req *r, const struct rmc_seg_reg *s,
		      struct rmc_mem *mem)
{
	if (!(s->flags & RMC_MEM_OBJECTS))
		return s->version_offset || s->readers_offset || s->sabre_mode ? -EINVAL : 0;
	if (s->sabre_mode > RMC_SABRE_TX || s->version_offset % sizeof(u64) ||
	    s->readers_offset % sizeof(u32))
		return -EINVAL;
	if (s->sabre_mode == RMC_SABRE_TX) {
		if (s->version_offset || s->readers_offset)
			return -EINVAL;
		if (rmc_fabric_rrpps(&r->d->port->fabric) > 1)
			return -EOPNOTSUPP;
		mem->sabre = RMC_SABRE_TX;
		return 0;
	}
	/* counting readers must not make a version odd */
	if (s->readers_offset / sizeof(u64) == s->version_offset / sizeof(u64) &&
	    (s->readers_offset || s->sabre_mode == RMC_SABRE_LOCKED))
		return -EINVAL;
	mem->sabre = s->sabre_mode ? s->sabre_mode : r->d->cfg.sabre;
	mem->version_off = s->version_offset;
	mem->readers_off = s->readers_offset;
	return 0;
}

static int do_seg_reg(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_seg_reg *s = &a->seg_reg;
	struct rmc_mem layout = {};
	struct rmcd_mem *m;
	int err;

	if (s->flags & ~(RMC_MEM_READONLY | RMC_MEM_OBJECTS) || s->reserved || s->reserved2)
		return -EOPNOTSUPP;
	if (s->addr % RMC_CACHE_LINE || s->numa_node)
		return -EINVAL;
	err = get_layout(r, s, &layout);
	if (err)
		return err;
	m = get_memory(r, memory, s->addr, s->length, false);
	if (IS_ERR(m))
		return (int)(intptr_t)m;
	m->mem.flags = s->flags & RMC_MEM_READONLY;
	m->mem.sabre = layout.sabre;
	m->mem.version_off = layout.version_off;
	m->mem.readers_off = layout.readers_off;
	s->mmap_offset = 0;
	err = rmcd_seg_add(r->file, m);
	if (err)
		rmcd_mem_destroy(m);
	return err;
}

static int do_seg_unreg(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	(void)memory;
	return a->seg_unreg.flags ? -EOPNOTSUPP : rmcd_seg_del(r->file);
}

static int do_seg_add(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_seg_add *s = &a->seg_add;
	struct rmcd_mem *m;
	int err;

	if (s->flags & ~RMC_MEM_READONLY)
		return -EOPNOTSUPP;
	if (s->addr % RMC_CACHE_LINE || s->offset % RMC_CACHE_LINE ||
	    s->offset >= RMC_MAX_SEGMENT || s->length > RMC_MAX_SEGMENT - s->offset)
		return -EINVAL;
	m = get_memory(r, memory, s->addr, s->length, false);
	if (IS_ERR(m))
		return (int)(intptr_t)m;
	m->mem.flags = s->flags;
	err = rmcd_range_add(r->file, m, s->offset);
	if (err)
		rmcd_mem_destroy(m);
	return err;
}

static int do_seg_del(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	(void)memory;
	return a->seg_del.flags ? -EOPNOTSUPP : rmcd_range_del(r->file, a->seg_del.offset);
}

static int do_buf_reg(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_buf_reg *b = &a->buf_reg;
	struct rmcd_mem *m;
	int err;

	if (b->flags)
		return -EOPNOTSUPP;
	/* a WQ entry must be able to name each byte of the buffer */
	if (b->numa_node || b->addr > RMC_WQE_LBUF_MASK ||
	    b->length > RMC_WQE_LBUF_MASK + 1 - b->addr)
		return -EINVAL;
	m = get_memory(r, memory, b->addr, b->length, true);
	if (IS_ERR(m))
		return (int)(intptr_t)m;
	err = rmcd_buf_add(r->file, m, &b->buf_id);
	if (err)
		rmcd_mem_destroy(m);
	b->mmap_offset = 0;
	return err;
}

static int do_buf_unreg(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	(void)memory;
	if (a->buf_unreg.flags || a->buf_unreg.reserved)
		return -EOPNOTSUPP;
	return rmcd_buf_del(r->file, a->buf_unreg.buf_id);
}

static int do_qp_create(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_qp_create *c = &a->qp_create;
	struct rmcd_file *f = r->file;
	struct rmcd_qp *q;
	int err;

	(void)memory;
	if (c->flags & ~RMC_QP_ORDERED)
		return -EOPNOTSUPP;
	rmcd_file_node(f);
	err = rmcd_qp_create(f, c->entries, c->flags, &c->qp_id);
	if (err)
		return err;
	q = f->qp[c->qp_id];
	r->out[r->outs++] = q->wq_fd;
	r->out[r->outs++] = q->cq_fd;
	r->out[r->outs++] = f->wake[rmcd_worker_of(q->worker)->number];
	return 0;
}

static int do_qp_destroy(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	(void)memory;
	if (a->qp_id.flags || a->qp_id.reserved)
		return -EOPNOTSUPP;
	return rmcd_qp_destroy(r->file, a->qp_id.qp_id);
}

/* Clients have an eventfd for this; here it is for those who do not use it. */
static int do_wake(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmcd_qp *q = rmcd_file_qp(r->file, a->qp_id.qp_id);

	(void)memory;
	if (a->qp_id.flags || a->qp_id.reserved)
		return -EOPNOTSUPP;
	if (!q)
		return -ENOENT;
	rmc_os_wake(q->worker);
	return 0;
}

/* The eventfd of the message, if the struct names one. It is the waiter's then. */
static int arm(struct rmcd_req *r, struct rmcd_waiter *w, u32 seen, s32 wants, u32 *count)
{
	int fd = -1, err;

	if (wants >= 0) {
		if (r->nfds != 1)
			return -EBADF;
		fd = r->fds[0];
	} else if (wants != -1) {
		return -EBADF;
	}
	err = rmcd_waiter_arm(w, seen, fd, count);
	if (!err && fd >= 0)
		r->fds[0] = -1;
	return err;
}

static int do_cq_arm(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_cq_arm *c = &a->cq_arm;
	struct rmcd_qp *q = rmcd_file_qp(r->file, c->qp_id);

	(void)memory;
	if (c->flags || c->reserved)
		return -EOPNOTSUPP;
	return q ? arm(r, &q->waiter, c->seen, c->eventfd, NULL) : -ENOENT;
}

static int do_seg_arm(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_seg_arm *s = &a->seg_arm;

	(void)memory;
	if (s->flags)
		return -EOPNOTSUPP;
	return r->file->seg ? arm(r, &r->file->seg_waiter, s->seen, s->eventfd, &s->seen) :
			      -ENOENT;
}

/* ---- messages ---- */

static int do_dom_query(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	(void)memory;
	if (a->dom_query.flags)
		return -EOPNOTSUPP;
	rmcd_domain_query(&a->dom_query);
	return 0;
}

static void give_slots(struct rmcd_req *r)
{
	const struct rmcd_domain *dom = r->file->domain;

	r->out[r->outs++] = dom->recv.fd;
	r->out[r->outs++] = rmcd_domain_send_fd(r->file);
	if (dom->d.answers)
		r->out[r->outs++] = dom->answers.fd;
}

static int do_dom_create(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	int err;

	(void)memory;
	if (a->dom_create.flags & ~(RMC_DOM_REQUEUE | RMC_DOM_KEY) || a->dom_create.reserved)
		return -EOPNOTSUPP;
	rmcd_file_node(r->file);
	err = rmcd_domain_create(r->file, &a->dom_create);
	if (!err)
		give_slots(r);
	return err;
}

static int do_dom_open(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	int err;

	(void)memory;
	if (a->dom_open.flags)
		return -EOPNOTSUPP;
	rmcd_file_node(r->file);
	err = rmcd_domain_open(r->file, &a->dom_open);
	if (!err)
		give_slots(r);
	return err;
}

static int do_dom_destroy(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	(void)memory;
	return a->dom_destroy.flags ? -EOPNOTSUPP : rmcd_domain_destroy(r->file);
}

static int do_dom_attach(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	int err;

	(void)memory;
	if (a->dom_attach.flags & ~RMC_DOM_SEND_ONLY || a->dom_attach.reserved)
		return -EOPNOTSUPP;
	err = rmcd_domain_attach(r->file, &a->dom_attach);
	if (!err && a->dom_attach.aq_entries)
		r->out[r->outs++] = r->file->domain->d.shared ? r->file->domain->all.fd :
					r->file->qp[a->dom_attach.qp_id]->aq_fd;
	return err;
}

static int do_dom_detach(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmcd_qp *q = rmcd_file_qp(r->file, a->dom_detach.qp_id);

	(void)memory;
	if (a->dom_detach.flags || a->dom_detach.reserved)
		return -EOPNOTSUPP;
	return q ? rmcd_domain_detach(r->file, q) : -ENOENT;
}

static int do_aq_arm(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_aq_arm *c = &a->aq_arm;
	struct rmcd_qp *q = rmcd_file_qp(r->file, c->qp_id);

	(void)memory;
	if (c->flags || c->reserved)
		return -EOPNOTSUPP;
	if (!q || q->core < 0)
		return q ? rmcd_domain_missing(r->file) : -ENOENT;
	if (r->file->domain->d.shared)
		return -EOPNOTSUPP;
	rmcd_domain_sleeps(r->file, q);
	return arm(r, &q->arrivals, c->seen, c->eventfd, NULL);
}

static int do_room_arm(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_room_arm *c = &a->room_arm;
	struct rmcd_qp *q = rmcd_file_qp(r->file, c->qp_id);

	(void)memory;
	if (c->flags)
		return -EOPNOTSUPP;
	if (!q || !q->attached)
		return q ? rmcd_domain_missing(r->file) : -ENOENT;
	return arm(r, &q->senders, rmcd_domain_expect_room(r->file, q), c->eventfd, NULL);
}

static int do_dom_stats(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_dom_stats *s = &a->dom_stats;

	(void)memory;
	if (s->flags)
		return -EOPNOTSUPP;
	if (!r->file->domain)
		return rmcd_domain_missing(r->file);
	*s = (struct rmc_dom_stats){ .size = s->size };
	rmcd_domain_stats(r->file, s);
	return 0;
}

/* ---- transactions ---- */

static int do_tx_reg(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	struct rmc_tx_reg *t = &a->tx_reg;
	struct rmcd_mem *local = NULL;
	int err;

	if (t->flags)
		return -EOPNOTSUPP;
	if (!t->length)
		return rmcd_tx_range_del(r->file);
	if (t->local % RMC_CACHE_LINE)
		return -EINVAL;
	if (t->local)
		local = get_memory(r, memory, t->local, sizeof(struct rmc_tx_local), false);
	if (IS_ERR(local))
		return (int)(intptr_t)local;
	t->locks_offset = 0;
	err = rmcd_tx_range_add(r->file, t, local);
	if (!err)
		r->out[r->outs++] = rmcd_tx_locks_fd(r->file);
	else if (local)
		rmcd_mem_destroy(local);
	return err;
}

static int do_tx_open(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	(void)memory;
	return a->tx_open.flags ? -EOPNOTSUPP : rmcd_engine_open(r->file, &a->tx_open);
}

/* ---- contexts ---- */

static int do_ctx_create(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	(void)memory;
	if (!rmcd_is_admin(r->peer))
		return -EPERM;
	return a->ctx_create.flags ? -EOPNOTSUPP : rmcd_context_create(r->d, &a->ctx_create);
}

static int do_ctx_remove(struct rmcd_req *r, union args *a, const struct rmcd_memory *memory)
{
	(void)memory;
	if (!rmcd_is_admin(r->peer))
		return -EPERM;
	if (a->ctx_remove.flags || a->ctx_remove.reserved)
		return -EOPNOTSUPP;
	return rmcd_context_remove(r->d, a->ctx_remove.ctx_id);
}

/* The last field of a struct's first version is the end of that version. */
#define ENTRY(_cmd, _member, _last, _fn, ...)						\
	{										\
		.cmd = _cmd,								\
		.size = sizeof(((union args *)0)->_member),				\
		.min_size = offsetof(union args, _member._last) +			\
			    sizeof(((union args *)0)->_member._last),			\
		.fn = _fn,								\
		__VA_ARGS__								\
	}

static const struct entry entries[] = {
	ENTRY(RMC_IOC_QUERY, query, features, do_query, .control = true),
	ENTRY(RMC_IOC_NODE_INFO, node_info, local, do_node_info, .control = true),
	ENTRY(RMC_IOC_WATCH, watch, reserved, do_watch, .control = true),
	ENTRY(RMC_IOC_ATTACH, attach, reserved, do_attach, .writes = true),
	ENTRY(RMC_IOC_SEG_REG, seg_reg, mmap_offset, do_seg_reg, .writes = true, .memory = true),
	ENTRY(RMC_IOC_SEG_UNREG, seg_unreg, flags, do_seg_unreg, .writes = true),
	ENTRY(RMC_IOC_SEG_ADD, seg_add, offset, do_seg_add, .writes = true, .memory = true),
	ENTRY(RMC_IOC_SEG_DEL, seg_del, offset, do_seg_del, .writes = true),
	ENTRY(RMC_IOC_BUF_REG, buf_reg, mmap_offset, do_buf_reg, .writes = true, .memory = true),
	ENTRY(RMC_IOC_BUF_UNREG, buf_unreg, reserved, do_buf_unreg, .writes = true),
	ENTRY(RMC_IOC_QP_CREATE, qp_create, flags_offset, do_qp_create, .writes = true),
	ENTRY(RMC_IOC_QP_DESTROY, qp_id, reserved, do_qp_destroy, .writes = true),
	ENTRY(RMC_IOC_WAKE, qp_id, reserved, do_wake, .writes = true),
	ENTRY(RMC_IOC_CQ_ARM, cq_arm, reserved, do_cq_arm, .writes = true),
	ENTRY(RMC_IOC_SEG_ARM, seg_arm, eventfd, do_seg_arm, .writes = true),
	ENTRY(RMC_IOC_DOM_QUERY, dom_query, max_members, do_dom_query),
	ENTRY(RMC_IOC_DOM_CREATE, dom_create, members, do_dom_create, .writes = true),
	ENTRY(RMC_IOC_DOM_OPEN, dom_open, wake_us, do_dom_open, .writes = true),
	ENTRY(RMC_IOC_DOM_DESTROY, dom_destroy, flags, do_dom_destroy, .writes = true),
	ENTRY(RMC_IOC_DOM_ATTACH, dom_attach, reserved, do_dom_attach, .writes = true),
	ENTRY(RMC_IOC_DOM_DETACH, dom_detach, reserved, do_dom_detach, .writes = true),
	ENTRY(RMC_IOC_AQ_ARM, aq_arm, reserved, do_aq_arm, .writes = true),
	ENTRY(RMC_IOC_ROOM_ARM, room_arm, eventfd, do_room_arm, .writes = true),
	ENTRY(RMC_IOC_DOM_STATS, dom_stats, served_ns, do_dom_stats),
	ENTRY(RMC_IOC_TX_REG, tx_reg, locks_offset, do_tx_reg, .writes = true, .memory = true),
	ENTRY(RMC_IOC_TX_OPEN, tx_open, slot_mask, do_tx_open, .writes = true),
	ENTRY(RMC_IOC_CTX_CREATE, ctx_create, gid, do_ctx_create, .admin = true),
	ENTRY(RMC_IOC_CTX_REMOVE, ctx_remove, reserved, do_ctx_remove, .admin = true),
};

static const struct entry *find(const struct rmcd_req *r, u32 request)
{
	const struct entry *e;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(entries); i++)
		if (entries[i].cmd == request)
			break;
	if (i == ARRAY_SIZE(entries))
		return NULL;
	e = &entries[i];
	return (r->file ? !e->admin : e->control || e->admin) ? e : NULL;
}

static bool zero(const u8 *p, u32 len)
{
	while (len)
		if (p[--len])
			return false;
	return true;
}

/* Copies the struct as the kernel does: missing fields are zero, unknown ones must be. */
static int get_struct(const struct rmcd_req *r, const struct entry *e, union args *a, u32 *size)
{
	if (r->len < sizeof(*size))
		return -EINVAL;
	memcpy(size, r->arg, sizeof(*size));
	if (*size < e->min_size || *size > r->len)
		return -EINVAL;
	if (*size > e->size && !zero(r->arg + e->size, *size - e->size))
		return -E2BIG;
	memset(a, 0, sizeof(*a));
	memcpy(a, r->arg, min(*size, e->size));
	return 0;
}

/* What follows the struct. */
static int get_memory_desc(const struct rmcd_req *r, u32 size, struct rmcd_memory *memory)
{
	u32 len = r->len - size;

	memset(memory, 0, sizeof(*memory));
	if (len < offsetof(struct rmcd_memory, piece) || len > sizeof(*memory))
		return -EINVAL;
	memcpy(memory, r->arg + size, len);
	return memory->count <= (len - offsetof(struct rmcd_memory, piece)) /
				sizeof(memory->piece[0]) ? 0 : -EINVAL;
}

/**
 * rmcd_execute() - execute a request
 * @r: request; on success its struct and descriptors are the answer
 * @request: RMC_IOC_*, any value
 *
 * Return: what the ioctl returns, or -errno; -EINPROGRESS: again, with @r->memory from @r->reg.
 */
int rmcd_execute(struct rmcd_req *r, u32 request)
{
	const struct entry *e = find(r, request);
	struct rmcd_memory memory;
	union args a;
	u32 size;
	int ret;

	if (!e)
		return -ENOTTY;
	if (e->writes && !r->file->writable)
		return -EBADF;
	ret = get_struct(r, e, &a, &size);
	if (!ret && e->memory)
		ret = get_memory_desc(r, size, &memory);
	else if (!ret && r->len != size)
		ret = -EINVAL;
	if (ret)
		return ret;
	ret = e->fn(r, &a, &memory);
	if (ret == -EINPROGRESS)
		return ret;
	r->len = size;
	if (ret >= 0)
		memcpy(r->arg, &a, min(size, e->size));
	return ret;
}
