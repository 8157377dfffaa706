/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Creates queue pairs; slow path of waiting on one. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"
#include "yield.h"

/* Polls between two sched_yield() on a CPU that the worker does not share */
#define SPINS_PER_YIELD		(1U << 16)
#define SPINS_APART		16U	/* polls between calls, with the worker on another CPU */

/* Waits between two checks that the RMC is still there, by a system call */
#define WAITS_PER_CHECK		64U

/* A queue pair created here; the QP is its first member. */
struct qp_alloc {
	struct rmc_qp qp;
	struct rmc_qp *next;
	size_t wq_len, cq_len, flags_len, operands_len;
	int buf_id;
	unsigned int flags;		/* as created */
	struct rmc_sleepers sleepers;	/* their eventfd is also rmc_qp.eventfd */
	struct rmc_qp_stats stats;	/* issued, completed: as of the last note_indexes() */
};

static struct qp_alloc *to_alloc(struct rmc_qp *qp)
{
	return (struct qp_alloc *)qp->priv;
}

struct rmc_sleepers *rmc_qp_sleepers(struct rmc_qp *qp)
{
	return &to_alloc(qp)->sleepers;
}

static void wake(struct rmc_qp *qp);

/* NULL for one of rmc_qp_init_raw(), which may be shorter and has its own priv */
static struct qp_alloc *made_here(struct rmc_qp *qp)
{
	return qp->wake == wake ? to_alloc(qp) : NULL;
}

/* Extend the queue indexes to 64 bits. */
static void note_indexes(struct qp_alloc *a)
{
	a->stats.issued += (uint32_t)(a->qp.head - (uint32_t)a->stats.issued);
	a->stats.completed += (uint32_t)(a->qp.tail - (uint32_t)a->stats.completed);
}

int rmc_qp_stats_sized(struct rmc_qp *qp, struct rmc_qp_stats *stats, size_t size)
{
	struct qp_alloc *a = made_here(qp);

	if (!a)
		return -EOPNOTSUPP;
	note_indexes(a);
	rmc_struct_out(stats, size, &a->stats, sizeof(a->stats));
	return 0;
}

int qp_stats_ver1(struct rmc_qp *qp, struct rmc_qp_stats *stats) RMC_VER0(rmc_qp_stats);
int qp_stats_ver1(struct rmc_qp *qp, struct rmc_qp_stats *stats)
{
	return rmc_qp_stats_sized(qp, stats, RMC_QP_STATS_SIZE_VER1);
}

void rmc_qp_count_sleep(struct rmc_qp *qp)
{
	struct qp_alloc *a = made_here(qp);

	if (a)
		a->stats.sleeps++;
	rmc_log(DEBUG, "queue pair %u: sleeps, %u operations in flight", qp->id,
		rmc_qp_in_flight(qp));
}

void rmc_cq_failed(struct rmc_qp *qp, int slot, int status)
{
	struct qp_alloc *a = made_here(qp);
	uint64_t word0 = qp->wq[(uint32_t)slot & qp->mask].word0;

	if (!qp->error)
		qp->error = (uint32_t)status;
	if (a) {
		a->stats.failed++;
		a->stats.status[(unsigned int)status % RMC_QP_STATS_STATUSES]++;
	}
	rmc_log(DEBUG, "queue pair %u: operation %u to node %u ended: %s", qp->id,
		(unsigned int)(word0 >> RMC_WQE_OP_SHIFT & RMC_WQE_OP_MASK),
		(unsigned int)(word0 >> RMC_WQE_NID_SHIFT & RMC_WQE_NID_MASK),
		rmc_status_name(status));
}

int rmc_qp_make_cookies(struct rmc_qp *qp)
{
	if (!made_here(qp))
		return -EOPNOTSUPP;
	qp->cookie = (uint64_t *)calloc(qp->entries, sizeof(*qp->cookie));
	return qp->cookie ? 0 : rmc_fail(ENOMEM, "out of memory");
}

static int ioctl_wake(struct rmc_qp *qp, uint32_t flags)
{
	struct rmc_qp_id arg = { .size = sizeof(arg), .flags = flags, .qp_id = qp->id };

	return rmc_call(qp->ctx, RMC_IOC_WAKE, &arg);
}

static void wake(struct rmc_qp *qp)
{
	to_alloc(qp)->stats.wakes++;
	rmc_log(DEBUG, "queue pair %u: wakes its worker", qp->id);
	ioctl_wake(qp, 0);
}

/* True if the worker may wait for this CPU: by shared_cpu, or by the scheduler's choice. */
static int in_the_way(const struct rmc_qp *qp)
{
	return qp->shared ||
	       (uint32_t)sched_getcpu() == rmc_load_relaxed(&qp->flags->worker_cpu);
}

/* Yields to a worker that may wait for this CPU, or polls on. */
static void give_way(struct qp_alloc *a)
{
	static __thread struct rmc_yield yields;
	uint64_t now = rmc_now_ns();

	if (!rmc_yield_due(&yields, now)) {
		rmc_pause();
		return;
	}
	if (a)
		a->stats.yields++;
	sched_yield();
	rmc_yielded(&yields, now, rmc_now_ns());
}

int rmc_relax_slow(struct rmc_qp *qp, unsigned int spins)
{
	struct qp_alloc *a = made_here(qp);
	int parked;

	if (a) {
		note_indexes(a);
		a->stats.waits++;
	}
	if (rmc_load_relaxed(&qp->flags->dead))
		return -ESHUTDOWN;
	if (a && !(a->stats.waits % WAITS_PER_CHECK) && !rmc_alive(qp->ctx))
		return -ESHUTDOWN;
	/* the worker moves when its CPU goes offline */
	qp->shared = (int)rmc_load_relaxed(&qp->flags->shared_cpu);
	parked = rmc_load_relaxed(&qp->flags->need_wakeup);
	if (qp->yields && in_the_way(qp)) {
		if (qp->apart && !parked && spins % SPINS_APART) {
			rmc_pause();
			return 0;
		}
		if (a)
			a->stats.yields++;
		qp->apart = ioctl_wake(qp, RMC_WAKE_YIELD) > 0;
		return 0;
	}
	if (parked && qp->wake)
		qp->wake(qp);
	if (!qp->yields && in_the_way(qp)) {
		give_way(a);
	} else if (!(spins % SPINS_PER_YIELD)) {
		if (a)
			a->stats.yields++;
		sched_yield();
	} else {
		rmc_pause();
	}
	return 0;
}

static int create_failed(struct rmc_ctx *ctx, unsigned int entries, unsigned int flags)
{
	int err = errno;

	if (rmc_why(ctx))
		return rmc_fail(err, "%s", rmc_why(ctx));
	switch (err) {
	case EOPNOTSUPP:
		return rmc_fail(err, "queue pairs have no flags %#x: RMC_QP_ORDERED is %#x", flags,
				RMC_QP_ORDERED);
	case EINVAL:
		return rmc_fail(err, "%u is no queue size: a power of two, 2 .. %u, is", entries,
				ctx->query.max_entries);
	case ENOSPC:
		return rmc_fail(err, "all %u queue pairs of node %d are in use",
				ctx->query.max_qps, rmc_nid(ctx));
	case EDQUOT:
		return rmc_fail(err, "user or context may have no more queue pairs of node %d (%u, %u), or memory for them (%u, %u MiB)",
				rmc_nid(ctx), ctx->query.max_qps_user,
				ctx->query.max_qps_context, ctx->query.queue_mib_user,
				ctx->query.queue_mib_context);
	default:
		return rmc_fail(err, "cannot create a queue pair: %s", strerror(err));
	}
}

static void unmap_queues(struct qp_alloc *a)
{
	if (a->flags_len)
		munmap((void *)(uintptr_t)a->qp.flags, a->flags_len);
	if (a->cq_len)
		munmap((void *)(uintptr_t)a->qp.cq, a->cq_len);
	if (a->wq_len)
		munmap(a->qp.wq, a->wq_len);
}

static int map_queues(struct qp_alloc *a, struct rmc_ctx *ctx, const struct rmc_qp_create *arg)
{
	size_t len;
	void *p;

	len = rmc_page_round((size_t)arg->entries * RMC_WQE_SIZE);
	p = rmc_map(ctx, len, PROT_READ | PROT_WRITE, arg->wq_offset);
	if (p == MAP_FAILED)
		goto err;
	a->qp.wq = (struct rmc_wq_entry *)p;
	a->wq_len = len;

	len = rmc_page_round((size_t)arg->entries * RMC_CQE_SIZE);
	p = rmc_map(ctx, len, PROT_READ, arg->cq_offset);
	if (p == MAP_FAILED)
		goto err;
	a->qp.cq = (const struct rmc_cq_entry *)p;
	a->cq_len = len;

	len = rmc_page_round(sizeof(struct rmc_qp_flags));
	p = rmc_map(ctx, len, PROT_READ, arg->flags_offset);
	if (p == MAP_FAILED)
		goto err;
	a->qp.flags = (const struct rmc_qp_flags *)p;
	a->flags_len = len;
	return 0;
err:
	return rmc_fail(errno, "cannot map a queue: %s", strerror(errno));
}

/*
 * Operands of atomics get their own pages: pinning must not affect other allocations,
 * and a fork must not move them by copy-on-write.
 */
static int make_operands(struct qp_alloc *a, struct rmc_ctx *ctx, unsigned int entries)
{
	size_t len = rmc_page_round(entries * sizeof(struct rmc_operands));
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return rmc_fail(errno, "out of memory");
	madvise(p, len, MADV_DONTFORK);
	a->buf_id = rmc_buf_register(ctx, p, len);
	if (a->buf_id < 0) {
		munmap(p, len);
		return a->buf_id;
	}
	a->qp.operands = (struct rmc_operands *)p;
	a->operands_len = len;
	return 0;
}

/* 0 or -errno. An RMC without ordered queue pairs may not know that the field has a meaning. */
static int check_flags(const struct rmc_ctx *ctx, unsigned int flags)
{
	if (flags & RMC_QP_ORDERED && !(ctx->query.features & RMC_FEATURE_ORDERED))
		return rmc_fail(EOPNOTSUPP, "this RMC has no ordered queue pairs: it is older");
	return 0;
}

struct rmc_qp *rmc_qp_create_with(struct rmc_ctx *ctx, unsigned int entries, unsigned int flags)
{
	struct rmc_qp_create arg = { .size = sizeof(arg) };
	struct rmc_qp_id id = { .size = sizeof(id) };
	struct qp_alloc *a;
	uint8_t *slot;
	int err = rmc_ctx_usable(ctx);

	if (!err)
		err = check_flags(ctx, flags);
	if (err)
		return NULL;
	arg.flags = flags;
	arg.entries = entries ? entries : RMC_QP_ENTRIES_DEFAULT;
	if (arg.entries & (arg.entries - 1) || arg.entries > 1U << 16) {
		errno = EINVAL;
		create_failed(ctx, arg.entries, flags);
		return NULL;
	}
	/* No other thread writes to the cache lines of the slot states. */
	a = (struct qp_alloc *)aligned_alloc(64, (sizeof(*a) + 63) & ~(size_t)63);
	slot = (uint8_t *)aligned_alloc(64, (arg.entries + 63) & ~(size_t)63);
	if (!a || !slot) {
		err = rmc_fail(ENOMEM, "out of memory");
		goto err_free;
	}
	memset(a, 0, sizeof(*a));

	if (rmc_call(ctx, RMC_IOC_QP_CREATE, &arg)) {
		err = create_failed(ctx, arg.entries, flags);
		goto err_free;
	}
	err = map_queues(a, ctx, &arg);
	if (err)
		goto err_destroy;
	err = make_operands(a, ctx, arg.entries);
	if (err)
		goto err_destroy;

	rmc_qp_init_raw(&a->qp, a->qp.wq, a->qp.cq, a->qp.flags, slot, a->qp.operands,
			arg.entries);
	a->qp.id = arg.qp_id;
	a->qp.wake = wake;
	a->qp.yields = !!(ctx->query.features & RMC_FEATURE_YIELD);
	a->qp.ctx = ctx;
	a->qp.priv = a;
	rmc_sleepers_init(&a->sleepers);
	a->next = ctx->qps;
	ctx->qps = &a->qp;
	a->flags = flags;
	rmc_log(INFO, "queue pair %u: %u entries%s", a->qp.id, arg.entries,
		flags & RMC_QP_ORDERED ? ", ordered" : "");
	return &a->qp;

err_destroy:
	id.qp_id = arg.qp_id;
	rmc_call(ctx, RMC_IOC_QP_DESTROY, &id);
	unmap_queues(a);
err_free:
	free(slot);
	free(a);
	errno = -err;
	return NULL;
}

struct rmc_qp *rmc_qp_create(struct rmc_ctx *ctx, unsigned int entries)
{
	return rmc_qp_create_with(ctx, entries, 0);
}

int rmc_qp_resume(struct rmc_qp *qp)
{
	int err = rmc_execute(qp, RMC_OP_RESUME, 0, 0, NULL, 0);

	/* the caller knows: rmc_quiet() and rmc_fence() speak of what follows */
	if (!err)
		qp->error = 0;
	return err;
}

int rmc_qp_is_ordered(struct rmc_qp *qp)
{
	struct qp_alloc *a = made_here(qp);

	return a && a->flags & RMC_QP_ORDERED;
}

void rmc_qp_destroy(struct rmc_qp *qp)
{
	struct rmc_qp_id arg = { .size = sizeof(arg) };
	struct qp_alloc *a;
	struct rmc_qp **link;

	if (!qp)
		return;
	a = to_alloc(qp);
	for (link = &qp->ctx->qps; *link; link = &to_alloc(*link)->next) {
		if (*link == qp) {
			*link = a->next;
			break;
		}
	}
	rmc_log(DEBUG, "queue pair %u: destroyed, %u operations in flight", qp->id,
		rmc_qp_in_flight(qp));
	arg.qp_id = qp->id;
	/* a child only has copies of our memory and descriptors */
	if (!rmc_ctx_inherited(qp->ctx)) {
		rmc_sleepers_end(&a->sleepers);
		rmc_call(qp->ctx, RMC_IOC_QP_DESTROY, &arg);
		rmc_sleepers_wait(&a->sleepers);
		unmap_queues(a);
		rmc_buf_unregister(qp->ctx, a->buf_id);
		munmap(qp->operands, a->operands_len);
	}
	if (qp->eventfd >= 0)
		close(qp->eventfd);
	free(qp->cookie);
	free(qp->slot);
	free(a);
}
