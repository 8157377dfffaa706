// SPDX-License-Identifier: GPL-2.0
/* Maps queues, and memory allocated here, into applications. */
#include <linux/fs.h>
#include "../base/compat.h"
#include "domain.h"
#include "tx.h"

/* A mapping can be neither split nor moved. */
static int refuse_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static int refuse_move(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct queue_vm_ops = {
	.may_split = refuse_split,
	.mremap = refuse_move,
};

/* A process that has a WQ mapped may publish: its worker must know, see rmc_os_membarrier(). */
static void wq_vm_open(struct vm_area_struct *vma)
{
	rmc_worker_owner_again(vma->vm_private_data);
}

static void wq_vm_close(struct vm_area_struct *vma)
{
	rmc_worker_owner_put(vma->vm_private_data);
}

static const struct vm_operations_struct wq_vm_ops = {
	.open = wq_vm_open,
	.close = wq_vm_close,
	.may_split = refuse_split,
	.mremap = refuse_move,
};

static void umem_vm_open(struct vm_area_struct *vma)
{
	struct rmc_umem *u = vma->vm_private_data;

	spin_lock(&u->unmap_lock);
	u->mappings++;
	spin_unlock(&u->unmap_lock);
	kref_get(&u->ref);
}

/*
 * A buffer without mapping has no address: from here on no operation can name it. A work
 * item aborts operations in flight, so that munmap() does not wait for workers with
 * mmap_lock held.
 */
static void umem_vm_close(struct vm_area_struct *vma)
{
	struct rmc_file *f = vma->vm_file->private_data;
	struct rmc_umem *u = vma->vm_private_data;
	bool unmapped;

	spin_lock(&u->unmap_lock);
	unmapped = !--u->mappings && u->buffer;
	if (unmapped)
		/* pairs with rmc_mem_covers(), which reads it once */
		WRITE_ONCE(u->mem.length, 0);
	spin_unlock(&u->unmap_lock);
	if (unmapped)
		schedule_work(&f->unmapped);
	rmc_umem_put(u);
}

/* The first mapping of a buffer. Locked. */
static int map_buffer(struct rmc_file *f, struct vm_area_struct *vma, struct rmc_umem *u)
{
	int err;

	if (vma->vm_end - 1 > RMC_WQE_LBUF_MASK)
		return -EINVAL;
	/* uninstall it from its previous address, if any */
	rmc_file_buf_uninstall(f, u);
	u->mem.base = vma->vm_start;
	spin_lock(&u->unmap_lock);
	WRITE_ONCE(u->mem.length, u->length);
	u->mappings++;
	spin_unlock(&u->unmap_lock);
	err = rmc_file_buf_install(f, u);
	if (err) {
		spin_lock(&u->unmap_lock);
		u->mappings--;
		spin_unlock(&u->unmap_lock);
	}
	return err;
}

static const struct vm_operations_struct umem_vm_ops = {
	.open = umem_vm_open,
	.close = umem_vm_close,
	.may_split = refuse_split,
	.mremap = refuse_move,
};

static bool whole(struct vm_area_struct *vma, u64 pages)
{
	return vma_pages(vma) == pages;
}

static int map_queue(struct vm_area_struct *vma, const struct rmc_pages *p, bool writable)
{
	if (!whole(vma, p->count))
		return -EINVAL;
	if (!writable && vma->vm_flags & VM_WRITE)
		return -EACCES;
	/* VM_IO: before Linux 7.2, MADV_DOFORK would undo VM_DONTCOPY */
	rmc_vm_flags_mod(vma, VM_DONTCOPY | VM_IO | VM_DONTEXPAND | VM_DONTDUMP,
			 writable ? 0 : VM_MAYWRITE);
	vma->vm_ops = &queue_vm_ops;
	return rmc_pages_map(p, vma);
}

static int map_wq(struct vm_area_struct *vma, const struct rmc_queues *q)
{
	struct rmc_owner *o = rmc_worker_owner_get(rmc_worker_of(q->worker), vma->vm_mm);
	int err;

	if (!o)
		return -ENOMEM;
	err = map_queue(vma, &q->wq, true);
	if (err) {
		rmc_worker_owner_put(o);
		return err;
	}
	vma->vm_private_data = o;
	vma->vm_ops = &wq_vm_ops;
	return 0;
}

static int map_umem(struct rmc_file *f, struct vm_area_struct *vma, struct rmc_umem *u,
		    bool buffer)
{
	int err;

	if (!u->allocated || !whole(vma, u->npages))
		return -EINVAL;
	/* mappings are added under the file's lock only */
	if (READ_ONCE(u->mappings) && buffer)
		return -EBUSY;
	rmc_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, 0);
	err = rmc_umem_map(u, vma);
	if (err)
		return err;
	if (buffer) {
		err = map_buffer(f, vma, u);
		if (err)
			return err;
	} else {
		spin_lock(&u->unmap_lock);
		u->mappings++;
		spin_unlock(&u->unmap_lock);
	}
	kref_get(&u->ref);
	vma->vm_private_data = u;
	vma->vm_ops = &umem_vm_ops;
	return 0;
}

/* Slots of messages, and arrival queues: applications write send slots only. */
static int map_domain(struct rmc_file *f, struct vm_area_struct *vma, enum rmc_map_kind kind,
		      u32 id)
{
	struct rmc_umem *u = rmc_dom_memory(f, kind, id);

	if (!u)
		return -EINVAL;
	if (kind != RMC_MAP_SEND) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		rmc_vm_flags_mod(vma, 0, VM_MAYWRITE);
	}
	return map_umem(f, vma, u, false);
}

/**
 * rmc_file_mmap() - map an object by the offset that an ioctl returned
 * @file: open context
 * @vma: shared, at exactly that offset, of exactly the object's length
 *
 * Return: 0, -EINVAL wrong offset, length or sharing, -EACCES writable mapping of pages
 * that only the RMC writes, -EBUSY the buffer is mapped already, -ENOMEM.
 * Context: mmap_lock held for writing; may sleep.
 */
int rmc_file_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct rmc_file *f = file->private_data;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u32 kind = offset >> RMC_MAP_KIND_SHIFT;
	u32 id = (offset >> RMC_MAP_ID_SHIFT) & RMC_MAP_ID_MASK;
	const struct rmc_pages *locks;
	struct rmc_queues *q;
	struct rmc_umem *u;
	int err = -EINVAL;

	if (!(vma->vm_flags & VM_SHARED) || offset != rmc_map_offset(kind, id))
		return -EINVAL;
	mutex_lock(&f->lock);
	switch (kind) {
	case RMC_MAP_WQ:
		q = xa_load(&f->qp, id);
		if (q)
			err = map_wq(vma, q);
		break;
	case RMC_MAP_CQ:
		q = xa_load(&f->qp, id);
		if (q)
			err = map_queue(vma, &q->cq, false);
		break;
	case RMC_MAP_FLAGS:
		q = xa_load(&f->qp, id);
		if (q)
			err = map_queue(vma, &q->flags, false);
		break;
	case RMC_MAP_SEG:
		if (f->seg && !id)
			err = map_umem(f, vma, f->seg, false);
		break;
	case RMC_MAP_BUF:
		u = xa_load(&f->buf, id);
		if (u)
			err = map_umem(f, vma, u, true);
		break;
	case RMC_MAP_RECV:
	case RMC_MAP_SEND:
	case RMC_MAP_AQ:
	case RMC_MAP_ANSWER:
		err = map_domain(f, vma, kind, id);
		break;
	case RMC_MAP_TX_LOCKS:
		locks = rmc_tx_locks_pages(f);
		if (locks && !id)
			err = map_queue(vma, locks, false);
		break;
	}
	mutex_unlock(&f->lock);
	return err;
}
