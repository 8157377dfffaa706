// SPDX-License-Identifier: GPL-2.0
/* Ranges of transactions: kmod/dev/tx.c for a process. */
#include <errno.h>
#include "kmod/core/node.h"
#include "kmod/core/tx_homes.h"
#include "sealed.h"
#include "tx.h"

/**
 * struct rmcd_tx - range of a file's segment that has transactions
 * @home: the range and its participant
 * @mem: the segment or further range that it is in
 * @local: memory of the owner's filters; NULL: it has none
 * @locks: Locking Buffers
 * @locks_fd: sealed file of them
 * @kib: charged memory
 */
struct rmcd_tx {
	struct rmc_tx_home *home;
	const struct rmc_mem *mem;
	struct rmcd_mem *local;
	void *locks;
	int locks_fd;
	u32 kib;
};

#define LOCKS_BYTES	PAGE_ALIGN(sizeof(struct rmc_tx_locks))

/* Argument of the calls on workers */
struct change {
	struct rmc_node *unit;
	struct rmc_tx_home *home;
};

static int add_home(void *arg)
{
	struct change *c = arg;

	return rmc_tx_homes_add(c->unit, c->home);
}

static int del_home(void *arg)
{
	struct change *c = arg;

	rmc_tx_homes_del(c->unit, c->home);
	return 0;
}

static void del_on_unit(const struct rmcd_file *f, struct rmc_tx_home *home, u32 unit)
{
	struct change c = { .unit = f->node->unit[unit], .home = home };

	rmcd_call(c.unit->srv_worker, del_home, &c);
}

/* The unit of the participant first: its transactions end before plain writes are served */
static void uninstall(const struct rmcd_file *f, struct rmc_tx_home *home, u32 units)
{
	u32 first = rmc_tx_home(home->ctx_id, f->node->fabric->rrpp_order), i;

	if (first < units)
		del_on_unit(f, home, first);
	for (i = 0; i < units; i++)
		if (i != first)
			del_on_unit(f, home, i);
}

static int install(const struct rmcd_file *f, struct rmc_tx_home *home)
{
	struct change c = { .home = home };
	u32 i;
	int err;

	for (i = 0; i < rmc_fabric_units(f->node->fabric); i++) {
		c.unit = f->node->unit[i];
		err = rmcd_call(c.unit->srv_worker, add_home, &c);
		if (!err)
			continue;
		uninstall(f, home, i);
		return err == -EBUSY ? -EEXIST : err;
	}
	return 0;
}

static void tx_free(struct rmcd_file *f, struct rmcd_tx *t)
{
	if (t->home)
		rmc_tx_home_destroy(t->home);
	if (t->local) {
		rmcd_uncharge_memory(f, t->local);
		rmcd_mem_destroy(t->local);
	}
	rmcd_sealed_free(t->locks_fd, t->locks, LOCKS_BYTES);
	if (t->kib)
		rmcd_uncharge(f, RMCD_RES_queue_mib, t->kib);
	free(t);
}

/* What is asked for, as the participant has it; 0 or -EINVAL */
static int get_limits(const struct rmcd_file *f, const struct rmc_tx_reg *r,
		      struct rmc_tx_limits *l)
{
	u32 endpoints = f->node->fabric->endpoints;

	if ((r->offset | r->length) % RMC_LINE || r->offset >= RMC_MAX_SEGMENT ||
	    r->length > RMC_MAX_SEGMENT - r->offset || r->buffers > RMC_TX_SLOTS ||
	    r->groups > RMC_TX_SOURCES)
		return -EINVAL;
	*l = (struct rmc_tx_limits){
		.start = r->offset,
		.length = r->length,
		.groups = r->groups ? min(r->groups, endpoints) : endpoints,
		.buffers = r->buffers,
	};
	return 0;
}

static struct rmc_mem *find_memory(const struct rmcd_file *f, u64 start, u64 length)
{
	u32 i;

	if (rmc_mem_covers(&f->seg->mem, start, length))
		return &f->seg->mem;
	for (i = 0; i < f->ranges; i++)
		if (start >= f->range[i]->start &&
		    rmc_mem_covers(&f->range[i]->view, start, length))
			return &f->range[i]->view;
	return NULL;
}

static int tx_fill(struct rmcd_file *f, struct rmcd_tx *t, struct rmc_mem *mem,
		   const struct rmc_tx_limits *l, struct rmcd_mem *local)
{
	u32 kib = (rmc_tx_home_bytes(f->node, l) + LOCKS_BYTES) / 1024 + 1;
	struct rmc_tx_home *home;
	int err;

	err = rmcd_charge(f, RMCD_RES_queue_mib, kib);
	if (err)
		return err;
	t->kib = kib;
	t->locks_fd = rmcd_sealed("rmc-tx-locks", LOCKS_BYTES, true, &t->locks);
	if (t->locks_fd < 0)
		return t->locks_fd;
	home = rmc_tx_home_create(f->node, f->ctx->id, mem, l,
				  local ? (void *)rmc_mem_ptr(&local->mem, 0) : NULL, t->locks);
	if (IS_ERR(home))
		return (int)(intptr_t)home;
	t->home = home;
	t->mem = mem;
	return install(f, home);
}

/**
 * rmcd_tx_range_add() - RMC_IOC_TX_REG: a range of the file's segment has transactions
 * @f: file, attached
 * @r: arguments, any values, @length is not 0
 * @local: memory of the owner's filters, or NULL; on success the file's
 *
 * Return: 0, -EINVAL, -ENOENT no segment, -EEXIST there is a range, -EROFS the segment is
 * read-only, -ENOSPC the node has too many, -EDQUOT exceeds a quota, -ENOMEM, -EMFILE.
 */
int rmcd_tx_range_add(struct rmcd_file *f, struct rmc_tx_reg *r, struct rmcd_mem *local)
{
	struct rmc_tx_limits l;
	struct rmc_mem *mem;
	struct rmcd_tx *t;
	int err;

	if (!f->seg)
		return -ENOENT;
	err = get_limits(f, r, &l);
	if (err)
		return err;
	if (f->tx)
		return -EEXIST;
	mem = find_memory(f, l.start, l.length);
	if (!mem)
		return -EINVAL;
	if (mem->flags & RMC_MEM_READONLY)
		return -EROFS;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->locks_fd = -1;
	err = local ? rmcd_charge_memory(f, local) : 0;
	if (err) {
		free(t);
		return err;
	}
	err = tx_fill(f, t, mem, &l, local);
	if (err) {
		/* the memory is the caller's again */
		if (local)
			rmcd_uncharge_memory(f, local);
		tx_free(f, t);
		return err;
	}
	t->local = local;
	f->tx = t;
	return 0;
}

/**
 * rmcd_tx_range_del() - RMC_IOC_TX_REG with length 0: withdraw the range
 * @f: file
 *
 * Return: 0, -ENOENT.
 */
int rmcd_tx_range_del(struct rmcd_file *f)
{
	struct rmcd_tx *t = f->tx;

	if (!t)
		return -ENOENT;
	uninstall(f, t->home, rmc_fabric_units(f->node->fabric));
	f->tx = NULL;
	tx_free(f, t);
	return 0;
}

/**
 * rmcd_tx_range_withdrawn() - the memory of a range is withdrawn: so is the range
 * @f: file
 * @mem: segment or further range of it; all units have withdrawn it, rmc_state_withdraw()
 */
void rmcd_tx_range_withdrawn(struct rmcd_file *f, const struct rmc_mem *mem)
{
	struct rmcd_tx *t = f->tx;

	if (!t || t->mem != mem)
		return;
	f->tx = NULL;
	tx_free(f, t);
}

/**
 * rmcd_tx_locks_fd() - Locking Buffers of the file's range
 * @f: file with a range
 *
 * Return: descriptor of memory that only the daemon may write; it stays the range's.
 */
int rmcd_tx_locks_fd(const struct rmcd_file *f)
{
	return f->tx->locks_fd;
}
