// SPDX-License-Identifier: GPL-2.0
/* Mapping queues, and memory allocated here, into applications. */
#include <linux/fs.h>
#include "compat.h"
#include "file.h"

/* A mapping is whole or not at all, and stays where it is. */
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

static void umem_vm_open(struct vm_area_struct *vma)
{
	struct rmc_file *f = vma->vm_file->private_data;
	struct rmc_umem *u = vma->vm_private_data;

	mutex_lock(&f->lock);
	u->mappings++;
	mutex_unlock(&f->lock);
	kref_get(&u->ref);
}

/* A buffer without mapping has no address: nothing can name it. */
static void umem_vm_close(struct vm_area_struct *vma)
{
	struct rmc_file *f = vma->vm_file->private_data;
	struct rmc_umem *u = vma->vm_private_data;

	mutex_lock(&f->lock);
	if (!--u->mappings)
		rmc_file_buf_forget(f, u);
	mutex_unlock(&f->lock);
	rmc_umem_put(u);
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
	rmc_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
			 writable ? 0 : VM_MAYWRITE);
	vma->vm_ops = &queue_vm_ops;
	return rmc_pages_map(p, vma);
}

static int map_umem(struct rmc_file *f, struct vm_area_struct *vma, struct rmc_umem *u,
		    bool buffer)
{
	int err;

	if (!u->allocated || !whole(vma, u->npages))
		return -EINVAL;
	if (u->mappings && buffer)
		return -EBUSY;
	rmc_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, 0);
	err = rmc_umem_map(u, vma);
	if (err)
		return err;
	if (buffer) {
		if (vma->vm_end - 1 > RMC_WQE_LBUF_MASK)
			return -EINVAL;
		u->mem.base = vma->vm_start;
		err = rmc_file_buf_know(f, u);
		if (err)
			return err;
	}
	u->mappings++;
	kref_get(&u->ref);
	vma->vm_private_data = u;
	vma->vm_ops = &umem_vm_ops;
	return 0;
}

/**
 * rmc_file_mmap() - map what an ioctl told an offset for
 * @file: open context
 * @vma: exactly at that offset, exactly as long, shared
 *
 * Return: 0, -EINVAL wrong offset, length or sharing, -EACCES writable mapping
 * of what only the RMC writes, -EBUSY the buffer is mapped already, -ENOMEM.
 * Context: mmap_lock held for writing; may sleep.
 */
int rmc_file_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct rmc_file *f = file->private_data;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u32 kind = offset >> RMC_MAP_KIND_SHIFT;
	u32 id = (offset >> RMC_MAP_ID_SHIFT) & RMC_MAP_ID_MASK;
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
			err = map_queue(vma, &q->wq, true);
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
	}
	mutex_unlock(&f->lock);
	return err;
}
