// SPDX-License-Identifier: GPL-2.0
/* Ranges of transactions: see tx.h. */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "../core/node.h"
#include "../core/tx_homes.h"
#include "context.h"
#include "file.h"
#include "quota.h"
#include "tx.h"

/**
 * struct rmc_file_tx - range of a file's segment that has transactions
 * @home: the range and its participant
 * @mem: the segment or further range that it is in
 * @local: memory of the owner's filters; NULL: it has none
 * @local_map: all of @local at kernel addresses one after another
 * @locks: Locking Buffers
 * @kib: charged memory
 */
struct rmc_file_tx {
	struct rmc_tx_home *home;
	const struct rmc_mem *mem;
	struct rmc_umem *local;
	void *local_map;
	struct rmc_pages locks;
	u32 kib;
};

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

static void del_on_unit(const struct rmc_file *f, struct rmc_tx_home *home, u32 unit)
{
	struct change c = { .unit = f->node->unit[unit], .home = home };

	rmc_worker_call(c.unit->srv_worker, del_home, &c);
}

/* The unit of the participant first: its transactions end before plain writes are served */
static void uninstall(const struct rmc_file *f, struct rmc_tx_home *home, u32 units)
{
	u32 first = rmc_tx_home(home->ctx_id, f->node->fabric->rrpp_order), i;

	if (first < units)
		del_on_unit(f, home, first);
	for (i = 0; i < units; i++)
		if (i != first)
			del_on_unit(f, home, i);
}

static int install(const struct rmc_file *f, struct rmc_tx_home *home)
{
	struct change c = { .home = home };
	u32 i;
	int err;

	for (i = 0; i < rmc_fabric_units(f->node->fabric); i++) {
		c.unit = f->node->unit[i];
		err = rmc_worker_call(c.unit->srv_worker, add_home, &c);
		if (err)
			goto err_unit;
	}
	return 0;

err_unit:
	uninstall(f, home, i);
	return err == -EBUSY ? -EEXIST : err;
}

/**
 * rmc_tx_local_pin() - pin the filters of an owner
 * @addr: of a struct rmc_tx_local in current->mm; any value
 *
 * Return: memory, NULL: @addr is 0; ERR_PTR: -EINVAL not on a cache line, and as rmc_umem_pin().
 * Context: may sleep; takes mmap_lock.
 */
struct rmc_umem *rmc_tx_local_pin(u64 addr)
{
	if (!addr)
		return NULL;
	if (addr % RMC_LINE)
		return ERR_PTR(-EINVAL);
	return rmc_umem_pin(addr, sizeof(struct rmc_tx_local));
}

/* The participant has one address of it, its pages have many. */
static int map_local(struct rmc_file_tx *t, u64 addr)
{
	struct page *pages[DIV_ROUND_UP(sizeof(struct rmc_tx_local), PAGE_SIZE) + 1];
	u32 i;

	for (i = 0; i < t->local->npages; i++)
		pages[i] = pfn_to_page(rmc_umem_pfn(t->local, i));
	t->local_map = vmap(pages, t->local->npages, VM_MAP, PAGE_KERNEL);
	return t->local_map ? 0 : -ENOMEM;
}

static void tx_free(struct rmc_file *f, struct rmc_file_tx *t)
{
	if (t->home)
		rmc_tx_home_destroy(t->home);
	if (t->local_map)
		vunmap(t->local_map);
	if (t->local)
		rmc_umem_put(t->local);
	rmc_pages_free(&t->locks);
	if (t->kib)
		rmc_uncharge(f, RMC_RES_queue_mib, t->kib);
	kfree(t);
}

/* What is asked for, as the participant has it; 0 or -EINVAL */
static int get_limits(const struct rmc_file *f, const struct rmc_tx_reg *r,
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

static int tx_fill(struct rmc_file *f, struct rmc_file_tx *t, struct rmc_mem *mem,
		   const struct rmc_tx_limits *l, const struct rmc_tx_reg *r)
{
	struct rmc_tx_local *local = NULL;
	struct rmc_tx_home *home;
	u32 kib;
	int err;

	kib = DIV_ROUND_UP(rmc_tx_home_bytes(f->node, l), SZ_1K) +
	      DIV_ROUND_UP(sizeof(struct rmc_tx_locks), SZ_1K);
	err = rmc_charge(f, RMC_RES_queue_mib, kib);
	if (err)
		return err;
	t->kib = kib;
	err = rmc_pages_alloc(&t->locks, sizeof(struct rmc_tx_locks), NUMA_NO_NODE);
	if (!err && t->local)
		err = map_local(t, r->local);
	if (err)
		return err;
	if (t->local)
		local = t->local_map + offset_in_page(r->local);
	home = rmc_tx_home_create(f->node, f->ctx->id, mem, l, local,
				  page_address(t->locks.first));
	if (IS_ERR(home))
		return PTR_ERR(home);
	t->home = home;
	t->mem = mem;
	return install(f, home);
}

/**
 * rmc_tx_range_add() - RMC_IOC_TX_REG: a range of the file's segment has transactions
 * @f: file, locked
 * @r: arguments, any values, @length is not 0; out: the rest
 * @further: rmc_ranges_find() of what is asked for
 * @local: from rmc_tx_local_pin(); on success the file takes the reference
 *
 * HADES section IV: the home node of the lines, with a participant for their transactions.
 *
 * Return: 0, -EINVAL, -ENOENT no segment, -EEXIST there is a range, -EROFS the segment is
 * read-only, -ENOSPC the node has too many, -EDQUOT exceeds a quota, -ENOMEM.
 * Context: may sleep.
 */
int rmc_tx_range_add(struct rmc_file *f, struct rmc_tx_reg *r, struct rmc_mem *further,
		     struct rmc_umem *local)
{
	struct rmc_tx_limits l;
	struct rmc_file_tx *t;
	struct rmc_mem *mem;
	int err;

	lockdep_assert_held(&f->lock);
	if (!f->seg)
		return -ENOENT;
	err = get_limits(f, r, &l);
	if (err)
		return err;
	if (f->tx)
		return -EEXIST;
	mem = &f->seg->mem;
	if (!rmc_mem_covers(mem, l.start, l.length))
		mem = further;
	if (!mem)
		return -EINVAL;
	if (mem->flags & RMC_MEM_READONLY)
		return -EROFS;
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t)
		return -ENOMEM;
	t->local = local;
	err = tx_fill(f, t, mem, &l, r);
	if (err) {
		/* the caller's again */
		t->local = NULL;
		tx_free(f, t);
		return err;
	}
	f->tx = t;
	r->locks_offset = rmc_map_offset(RMC_MAP_TX_LOCKS, 0);
	rmc_file_own(f);
	return 0;
}

/**
 * rmc_tx_range_del() - RMC_IOC_TX_REG with length 0: withdraw the range
 * @f: file, locked
 *
 * Return: 0: nobody has transactions there any more; -ENOENT. Context: may sleep; no signal
 * shortens it.
 */
int rmc_tx_range_del(struct rmc_file *f)
{
	struct rmc_file_tx *t = f->tx;

	lockdep_assert_held(&f->lock);
	if (!t)
		return -ENOENT;
	uninstall(f, t->home, rmc_fabric_units(f->node->fabric));
	f->tx = NULL;
	tx_free(f, t);
	return 0;
}

/**
 * rmc_tx_range_withdrawn() - the memory of a range is withdrawn: so is the range
 * @f: file, locked
 * @mem: segment or further range of it; all units have withdrawn it, rmc_state_withdraw()
 *
 * Context: may sleep; no signal shortens it.
 */
void rmc_tx_range_withdrawn(struct rmc_file *f, const struct rmc_mem *mem)
{
	struct rmc_file_tx *t = f->tx;

	lockdep_assert_held(&f->lock);
	if (!t || t->mem != mem)
		return;
	f->tx = NULL;
	tx_free(f, t);
}

/**
 * rmc_tx_locks_pages() - Locking Buffers of the file's range
 * @f: file, locked
 *
 * Return: pages that only the RMC may write, or NULL: there is no range. Context: any.
 */
const struct rmc_pages *rmc_tx_locks_pages(const struct rmc_file *f)
{
	lockdep_assert_held(&f->lock);
	return f->tx ? &f->tx->locks : NULL;
}
