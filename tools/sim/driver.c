// SPDX-License-Identifier: GPL-2.0
/*
 * The module's files, ioctls and mappings, for nodes in virtual time. librmc is unchanged:
 * the flags of queue pairs say that the worker sleeps, so librmc calls RMC_IOC_WAKE for each
 * operation, and that it shares the CPU, so librmc calls it for each step of waiting, where
 * threads yield to each other.
 *
 * Invalid requests are refused as in the module. Read-only mappings and quotas are not
 * enforced: a simulated program is trusted.
 */
#include <stdio.h>
#include "driver.h"
#include "kmod/core/local.h"

#define FILES		4096

static struct sim_file *files[FILES];

static struct sim_file *file_of(int fd)
{
	fd -= SIM_FD_FIRST;
	return fd >= 0 && fd < FILES ? files[fd] : NULL;
}

/**
 * sim_driver_open() - open a context
 * @n: node of the caller
 * @path: path of the device
 *
 * Return: descriptor; -ENOENT: not one of this driver's files; -EMFILE, -ENOMEM.
 */
int sim_driver_open(struct sim_node *n, const char *path)
{
	struct sim_file *f;
	u32 ctx;
	int fd;

	if (sscanf(path, "/dev/rmc_contexts/%u", &ctx) != 1 || ctx >= RMC_MAX_CONTEXTS)
		return -ENOENT;
	for (fd = 0; fd < FILES && files[fd]; fd++)
		;
	if (fd == FILES)
		return -EMFILE;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->node = n;
	f->ctx_id = ctx;
	f->seg_alarm.eventfd = -1;
	files[fd] = f;
	return SIM_FD_FIRST + fd;
}

/**
 * sim_driver_close() - close a context
 * @fd: descriptor
 */
void sim_driver_close(int fd)
{
	struct sim_file *f = file_of(fd);

	if (!f)
		return;
	sim_file_release(f, false);
	files[fd - SIM_FD_FIRST] = NULL;
	free(f);
}

/**
 * sim_driver_forget() - release all open contexts of a crashed kernel
 * @n: node; its threads have ended
 */
void sim_driver_forget(struct sim_node *n)
{
	int fd;

	for (fd = 0; fd < FILES; fd++) {
		if (!files[fd] || files[fd]->node != n)
			continue;
		sim_file_release(files[fd], true);
		free(files[fd]);
		files[fd] = NULL;
	}
}

/**
 * sim_driver_map() - mmap() of a context
 * @fd: descriptor
 * @len: bytes
 * @offset: offset that an ioctl returned
 *
 * Return: memory, which the caller unmaps; NULL: no such object.
 */
void *sim_driver_map(int fd, size_t len, uint64_t offset)
{
	struct sim_file *f = file_of(fd);
	struct sim_map *m;

	for (m = f ? f->maps : NULL; m; m = m->next)
		if (m->offset == offset && m->len == len)
			return m->addr;
	return NULL;
}

static long query(struct sim_file *f, struct rmc_query *q)
{
	const struct rmc_fabric *fabric = &f->node->fabric;
	u32 op;

	q->abi = RMC_ABI_VERSION;
	q->fabric = RMC_FABRIC_IVSHMEM;
	q->ni = rmc_ni_find(sim.o.ni)->id;
	q->nodes = fabric->nodes;
	q->local_nodes = 1;
	q->first_local = f->node->nid;
	q->nid = f->node->nid;
	q->ctx_id = f->ctx_id;
	q->mtu = fabric->mtu;
	q->max_length = RMC_LENGTH_MAX;
	q->max_segment = RMC_MAX_SEGMENT;
	q->max_contexts = RMC_MAX_CONTEXTS;
	q->max_qps = RMC_MAX_QPS;
	q->max_buffers = RMC_MAX_BUFFERS;
	q->max_entries = RMC_MAX_ENTRIES;
	q->itt_entries = f->node->rmc->itt.size;
	q->timeout_ms = fabric->timeout_ms;
	for (op = 1; op < RMC_OP_MAX; op++)
		if (rmc_op_flags(op))
			q->op_mask |= 1ULL << op;
	q->shared_cpu = 1;
	q->features = RMC_FEATURE_YIELD | RMC_FEATURE_LOCAL_BYTES | RMC_FEATURE_ORDERED;
	q->max_sabre = RMC_SABRE_MAX;
	q->units = 1;
	q->rrpps = 1;
	q->interleave = fabric->interleave;
	return 0;
}

static long node_info(struct sim_file *f, struct rmc_node_info *info)
{
	struct rmc_node *self = f->node->rmc;

	if (info->nid >= sim.o.nodes)
		return -EINVAL;
	info->local = info->nid == f->node->nid;
	info->epoch = READ_ONCE(f->node->fabric.node[info->nid].epoch);
	info->state = info->local ? (self->up ? RMC_NODE_UP : RMC_NODE_JOINING) :
				    READ_ONCE(self->peer[info->nid].state);
	info->local_bytes = rmc_local_reach(self, info->nid);
	return 0;
}

/* The caller posted something, or waits: see above. */
static long wake(struct sim_file *f, const struct rmc_qp_id *arg)
{
	struct sim_qp *q = sim_file_qp(f, arg->qp_id);
	struct rmc_ni_worker *w;

	if (!q)
		return -ENOENT;
	q->thread = sim.self;
	if (arg->flags & RMC_WAKE_YIELD) {
		sim_relax();
		return 0;
	}
	sim_charge(sim.cost.post);
	w = rmc_qp_worker(&q->qp);
	if (q->qp.hot < 0)
		rmc_ni_heat(w, &q->qp);
	sim_prefetch_qp(&q->qp);
	sim_worker_kick((struct sim_worker *)w, sim_local_now() + sim.cost.handoff);
	return 0;
}

static long cq_arm(struct sim_file *f, const struct rmc_cq_arm *arg)
{
	struct sim_qp *q = sim_file_qp(f, arg->qp_id);

	if (!q)
		return -ENOENT;
	q->alarm.eventfd = -1;
	if (q->qp.done.count != arg->seen)
		sim_eventfd_signal(arg->eventfd, sim_local_now());
	else
		q->alarm.eventfd = arg->eventfd;
	return 0;
}

static long seg_arm(struct sim_file *f, struct rmc_seg_arm *arg)
{
	if (!f->seg)
		return -ENOENT;
	f->seg_alarm.eventfd = -1;
	if (f->seg->notified.count != arg->seen)
		sim_eventfd_signal(arg->eventfd, sim_local_now());
	else
		f->seg_alarm.eventfd = arg->eventfd;
	arg->seen = f->seg->notified.count;
	return 0;
}

/* Any argument struct of the module; all begin with their size */
union args {
	u32 size;
	struct rmc_query query;
	struct rmc_node_info node_info;
	struct rmc_attach attach;
	struct rmc_seg_reg seg_reg;
	struct rmc_buf_reg buf_reg;
	struct rmc_buf_unreg buf_unreg;
	struct rmc_qp_create qp_create;
	struct rmc_qp_id qp_id;
	struct rmc_cq_arm cq_arm;
	struct rmc_seg_arm seg_arm;
	struct rmc_tx_reg tx_reg;
	struct rmc_tx_open tx_open;
};

static long dispatch(struct sim_file *f, unsigned long request, union args *a)
{
	switch (request) {
	case RMC_IOC_QUERY:
		return query(f, &a->query);
	case RMC_IOC_NODE_INFO:
		return node_info(f, &a->node_info);
	case RMC_IOC_ATTACH:
		return a->attach.nid == f->node->nid ? 0 : -ENXIO;
	case RMC_IOC_SEG_REG:
		return sim_file_seg_reg(f, &a->seg_reg);
	case RMC_IOC_SEG_UNREG:
		return sim_file_seg_unreg(f);
	case RMC_IOC_BUF_REG:
		return sim_file_buf_reg(f, &a->buf_reg);
	case RMC_IOC_BUF_UNREG:
		return sim_file_buf_unreg(f, a->buf_unreg.buf_id);
	case RMC_IOC_QP_CREATE:
		return sim_file_qp_create(f, &a->qp_create);
	case RMC_IOC_QP_DESTROY:
		return sim_file_qp_destroy(f, a->qp_id.qp_id);
	case RMC_IOC_WAKE:
		return wake(f, &a->qp_id);
	case RMC_IOC_CQ_ARM:
		return cq_arm(f, &a->cq_arm);
	case RMC_IOC_SEG_ARM:
		return seg_arm(f, &a->seg_arm);
	case RMC_IOC_TX_REG:
		return sim_file_tx_reg(f, &a->tx_reg);
	case RMC_IOC_TX_OPEN:
		return sim_file_tx_open(f, &a->tx_open);
	default:
		return -ENOTTY;
	}
}

/**
 * sim_driver_ioctl() - ioctl() of a context
 * @fd: descriptor
 * @request: RMC_IOC_*
 * @arg: its struct
 *
 * Return: result of the ioctl, or -errno.
 */
long sim_driver_ioctl(int fd, unsigned long request, void *arg)
{
	struct sim_file *f = file_of(fd);
	union args a;
	size_t size;
	long ret;

	if (!f)
		return -EBADF;
	if (request != RMC_IOC_WAKE)
		sim_charge(sim.cost.syscall);
	size = min(*(u32 *)arg, (u32)sizeof(a));
	if (size < 8)
		return -EINVAL;
	memset(&a, 0, sizeof(a));
	memcpy(&a, arg, size);
	ret = dispatch(f, request, &a);
	if (ret >= 0 && request != RMC_IOC_WAKE)
		memcpy(arg, &a, size);
	return ret;
}
