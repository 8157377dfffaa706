// SPDX-License-Identifier: GPL-2.0
/* Engines of transactions and who uses them: see engine.h. */
#include <linux/sizes.h>
#include <linux/slab.h>
#include "../core/node.h"
#include "../core/tx_slots.h"
#include "context.h"
#include "engine.h"
#include "file.h"
#include "quota.h"
#include "share.h"

/* Operations of an engine in flight, log2: a message to each node of a transaction, and some */
#define ENGINE_ORDER		7
/* What was not answered is sent again after so long, ms: a peer may be scheduled late */
#define ENGINE_RESEND_MS	20

/**
 * struct rmc_engine - an engine; guarded by rmc_device.tx_lock
 * @link: in rmc_device.engines
 * @slots: the part that the unit's worker uses
 * @ctx: context, referenced
 * @user: user of the file that it was created for, referenced
 * @share: tenant of its queue pair
 * @users: queue pairs that have slots
 */
struct rmc_engine {
	struct list_head link;
	struct rmc_tx_slots *slots;
	struct rmc_context *ctx;
	struct rmc_user *user;
	struct rmc_share *share;
	u32 users;
};

/* Argument of the calls on workers */
struct change {
	struct rmc_ni_worker *worker;
	struct rmc_tx_slots *slots;
	struct rmc_qpair *qp;
	u32 count;
	u64 mask;
	bool force;
};

static int add_slots(void *arg)
{
	struct change *c = arg;

	return rmc_ni_add_slots(c->worker, c->slots);
}

static int del_slots(void *arg)
{
	struct change *c = arg;

	if (!c->force && !rmc_tx_slots_idle(c->slots))
		return -EBUSY;
	rmc_ni_del_slots(c->worker, c->slots);
	return 0;
}

static int attach(void *arg)
{
	struct change *c = arg;

	return rmc_tx_attach(c->qp, c->slots, c->count, &c->mask);
}

static int detach(void *arg)
{
	struct change *c = arg;

	rmc_tx_detach(c->qp);
	return 0;
}

static struct rmc_device *device_of(const struct rmc_engine *e)
{
	return e->ctx->rmc;
}

static void engine_free(struct rmc_engine *e)
{
	struct rmc_device *rmc = device_of(e);

	if (!IS_ERR_OR_NULL(e->slots))
		rmc_tx_slots_destroy(e->slots);
	rmc_share_put(rmc, e->share);
	if (e->user)
		rmc_user_put(rmc, e->user);
	put_device(&e->ctx->dev);
	kfree(e);
}

static struct rmc_engine *engine_alloc(struct rmc_file *f, struct rmc_node *unit)
{
	struct rmc_tx_engine_opts opts = {
		.slots = RMC_TX_SLOTS,
		.bytes = RMC_TX_WRITE_MAX,
		.order = ENGINE_ORDER,
		.resend_ms = ENGINE_RESEND_MS,
	};
	struct rmc_engine *e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!e)
		return ERR_PTR(-ENOMEM);
	get_device(&f->ctx->dev);
	e->ctx = f->ctx;
	e->user = rmc_user_get(f->rmc, f->user->uid);
	if (!e->user)
		goto err_free;
	e->share = rmc_share_get(f, unit->req_worker);
	if (!e->share)
		goto err_free;
	e->slots = rmc_tx_slots_create(unit, f->ctx->id, &opts);
	if (IS_ERR(e->slots)) {
		err = PTR_ERR(e->slots);
		goto err_free;
	}
	e->slots->engine->client.qp.tenant = e->share->tenant;
	return e;

err_free:
	engine_free(e);
	return ERR_PTR(err);
}

/* Remove engines that nobody uses; @force: also those with something left to be sent. Locked. */
static void reap(struct rmc_device *rmc, bool force)
{
	struct rmc_engine *e, *next;

	lockdep_assert_held(&rmc->tx_lock);
	list_for_each_entry_safe(e, next, &rmc->engines, link) {
		struct change c = { .slots = e->slots, .force = force };

		if (e->users)
			continue;
		c.worker = e->slots->unit->req_worker;
		if (rmc_worker_call(c.worker, del_slots, &c))
			continue;
		list_del(&e->link);
		engine_free(e);
	}
}

static bool has_unused(const struct rmc_device *rmc)
{
	const struct rmc_engine *e;

	list_for_each_entry(e, &rmc->engines, link)
		if (!e->users)
			return true;
	return false;
}

static void reap_later(struct work_struct *work)
{
	struct rmc_device *rmc = container_of(to_delayed_work(work), struct rmc_device, tx_reap);

	mutex_lock(&rmc->tx_lock);
	reap(rmc, false);
	if (has_unused(rmc))
		schedule_delayed_work(&rmc->tx_reap, msecs_to_jiffies(RMC_ENGINE_MS));
	mutex_unlock(&rmc->tx_lock);
}

/**
 * rmc_engines_init() - prepare for engines
 * @rmc: device
 */
void rmc_engines_init(struct rmc_device *rmc)
{
	mutex_init(&rmc->tx_lock);
	INIT_LIST_HEAD(&rmc->engines);
	INIT_DELAYED_WORK(&rmc->tx_reap, reap_later);
}

/**
 * rmc_engines_exit() - remove all engines; mirror of rmc_engines_init()
 * @rmc: device whose workers run; no context is open
 *
 * What was decided and is not answered is sent no more: the nodes leave, and others clear what they
 * have of them with the next epoch. Context: may sleep.
 */
void rmc_engines_exit(struct rmc_device *rmc)
{
	cancel_delayed_work_sync(&rmc->tx_reap);
	mutex_lock(&rmc->tx_lock);
	reap(rmc, true);
	mutex_unlock(&rmc->tx_lock);
}

static struct rmc_engine *find(struct rmc_file *f, const struct rmc_node *unit)
{
	struct rmc_engine *e;

	list_for_each_entry(e, &f->rmc->engines, link)
		if (e->slots->unit == unit && e->slots->ctx_id == f->ctx->id)
			return e;
	return NULL;
}

/* The engine of a unit and the file's context, with one more user. Locked. */
static struct rmc_engine *get(struct rmc_file *f, struct rmc_node *unit)
{
	struct change c = { .worker = unit->req_worker };
	struct rmc_engine *e = find(f, unit);
	int err;

	if (e) {
		e->users++;
		return e;
	}
	reap(f->rmc, false);
	e = engine_alloc(f, unit);
	if (IS_ERR(e))
		return e;
	c.slots = e->slots;
	err = rmc_worker_call(c.worker, add_slots, &c);
	if (err) {
		engine_free(e);
		return ERR_PTR(err);
	}
	list_add(&e->link, &f->rmc->engines);
	e->users = 1;
	return e;
}

/* Soon, not now: it may have something left to be sent. Locked. */
static void put(struct rmc_device *rmc, struct rmc_engine *e)
{
	if (!--e->users)
		schedule_delayed_work(&rmc->tx_reap, 1);
}

/* Memory of slots: a transaction's lists, and what it writes; KiB */
static u32 slots_kib(u32 slots)
{
	return DIV_ROUND_UP(slots * (sizeof(struct rmc_tx_txn) + RMC_TX_WRITE_MAX), SZ_1K);
}

static int charge(struct rmc_file *f, u32 slots)
{
	int err = rmc_charge(f, RMC_RES_tx_slots, slots);

	if (err)
		return err;
	err = rmc_charge(f, RMC_RES_queue_mib, slots_kib(slots));
	if (err)
		rmc_uncharge(f, RMC_RES_tx_slots, slots);
	return err;
}

static void uncharge(struct rmc_file *f, u32 slots)
{
	rmc_uncharge(f, RMC_RES_queue_mib, slots_kib(slots));
	rmc_uncharge(f, RMC_RES_tx_slots, slots);
}

static int open_slots(struct rmc_file *f, struct rmc_queues *q, struct change *c)
{
	struct rmc_node *unit = q->qp.node;
	struct rmc_engine *e;
	int err;

	mutex_lock(&f->rmc->tx_lock);
	e = get(f, unit);
	err = PTR_ERR_OR_ZERO(e);
	if (!err) {
		c->qp = rmc_qp_inner(&q->qp);
		c->slots = e->slots;
		err = rmc_worker_call(unit->req_worker, attach, c);
		if (err)
			put(f->rmc, e);
		else
			q->engine = e;
	}
	mutex_unlock(&f->rmc->tx_lock);
	return err;
}

/**
 * rmc_engine_open() - RMC_IOC_TX_OPEN: slots for transactions of a queue pair
 * @f: file, locked
 * @o: arguments, any values; out: the rest
 *
 * HADES table I: transactions of a node are told apart by their slots.
 *
 * Return: 0, -EINVAL, -ENOENT no such queue pair, -EEXIST it has slots, -EOPNOTSUPP it is ordered,
 * -ENOSPC too few are free, or the unit has engines of too many contexts, -EDQUOT exceeds a quota,
 * -ENOMEM. Context: may sleep.
 */
int rmc_engine_open(struct rmc_file *f, struct rmc_tx_open *o)
{
	struct change c = { .count = o->slots };
	struct rmc_queues *q;
	int err;

	lockdep_assert_held(&f->lock);
	if (!o->slots || o->slots > RMC_TX_SLOTS || o->bytes > RMC_TX_WRITE_MAX)
		return -EINVAL;
	q = xa_load(&f->qp, o->qp_id);
	if (!q)
		return -ENOENT;
	if (q->engine)
		return -EEXIST;
	err = charge(f, o->slots);
	if (err)
		return err;
	err = open_slots(f, q, &c);
	if (err) {
		uncharge(f, o->slots);
		return err;
	}
	q->tx_slots = o->slots;
	o->unit = q->qp.node->ep;
	o->slot_mask = c.mask;
	return 0;
}

/**
 * rmc_engine_undo() - mirror of rmc_engine_open()
 * @f: file, locked
 * @id: queue pair, any value
 *
 * Context: may sleep.
 */
void rmc_engine_undo(struct rmc_file *f, u32 id)
{
	struct rmc_queues *q = xa_load(&f->qp, id);
	struct change c = {};

	lockdep_assert_held(&f->lock);
	if (!q || !q->engine)
		return;
	c.qp = rmc_qp_inner(&q->qp);
	rmc_worker_call(q->qp.node->req_worker, detach, &c);
	rmc_engine_close(f, q);
}

/**
 * rmc_engine_close() - a queue pair that may have slots is gone
 * @f: file, locked
 * @q: queue pair that no worker polls
 *
 * Its worker has given the slots back. Context: may sleep; no signal shortens it.
 */
void rmc_engine_close(struct rmc_file *f, struct rmc_queues *q)
{
	lockdep_assert_held(&f->lock);
	if (!q->engine)
		return;
	mutex_lock(&f->rmc->tx_lock);
	put(f->rmc, q->engine);
	mutex_unlock(&f->rmc->tx_lock);
	q->engine = NULL;
	uncharge(f, q->tx_slots);
}
