// SPDX-License-Identifier: GPL-2.0
/* Pins and allocates the memory of segments and local buffers. */
#include <linux/backing-dev.h>
#include <linux/capability.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "umem.h"

/* Pages handled at once: as many as one page has pointers */
#define BATCH		(PAGE_SIZE / sizeof(struct page *))

/*
 * Chunks are as large as physical contiguity allows, tried in this order: fewer chunks
 * mean a smaller table for the pipelines to look up.
 */
static const u32 chunk_shifts[] = { PUD_SHIFT, PMD_SHIFT };
/* Orders of allocations to try; log2 of pages */
static const u32 alloc_orders[] = { PMD_SHIFT - PAGE_SHIFT, 4, 0 };

static int account(struct rmc_umem *u)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	u64 now = atomic64_add_return(u->npages, &current->mm->pinned_vm);

	if (now > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(u->npages, &current->mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(current->mm);
	u->mm = current->mm;
	return 0;
}

static void unaccount(struct rmc_umem *u)
{
	atomic64_sub(u->npages, &u->mm->pinned_vm);
	mmdrop(u->mm);
}

/* Page @i, counted from the page of the first byte. */
static struct page *umem_page(const struct rmc_umem *u, u64 i)
{
	u64 o = (u->mem.head & PAGE_MASK) + (i << PAGE_SHIFT);

	return virt_to_page(u->mem.chunk[o >> u->mem.shift] + (o & u->mem.mask));
}

/**
 * rmc_umem_pfn() - page frame number of a page
 * @u: memory
 * @i: which page, counted from the one with the first byte
 *
 * Return: number.
 */
unsigned long rmc_umem_pfn(const struct rmc_umem *u, u64 i)
{
	return page_to_pfn(umem_page(u, i));
}

static struct rmc_umem *umem_new(u64 length, u64 npages)
{
	struct rmc_umem *u;

	u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	if (!u)
		return ERR_PTR(-ENOMEM);
	kref_init(&u->ref);
	spin_lock_init(&u->unmap_lock);
	u->length = length;
	u->mem.length = length;
	rmc_mem_chunks(&u->mem, PAGE_SHIFT);
	u->npages = npages;
	if (account(u)) {
		kfree(u);
		return ERR_PTR(-ENOMEM);
	}
	return u;
}

static int alloc_chunks(struct rmc_umem *u, u64 count)
{
	if (count > INT_MAX / sizeof(void *))
		return -ENOMEM;
	u->mem.chunk = kvcalloc(count, sizeof(void *), GFP_KERNEL_ACCOUNT);
	return u->mem.chunk ? 0 : -ENOMEM;
}

static void umem_delete(struct rmc_umem *u)
{
	kvfree(u->mem.chunk);
	unaccount(u);
	kfree(u);
}

static void unpin(struct rmc_umem *u, u64 npages)
{
	struct page *few[16];
	u64 i;
	u32 n = 0;

	for (i = 0; i < npages; i++) {
		few[n++] = umem_page(u, i);
		if (n == ARRAY_SIZE(few) || i + 1 == npages) {
			unpin_user_pages_dirty_lock(few, n, true);
			n = 0;
			cond_resched();
		}
	}
}

/*
 * Pinned pages of a file with writeback become dirty without the file system's knowledge,
 * which it need not survive; Linux itself refuses this since 6.5. Shared memory, huge pages
 * and this module's mappings have no such file, and pages of a private mapping are copies.
 */
static bool written_back(struct vm_area_struct *vma)
{
	const struct vm_operations_struct *ops = vma->vm_ops;

	if (!(vma->vm_flags & VM_SHARED) || !vma->vm_file || is_vm_hugetlb_page(vma))
		return false;
	return (ops && (ops->page_mkwrite || ops->pfn_mkwrite)) ||
	       mapping_can_writeback(vma->vm_file->f_mapping);
}

/* Ignores holes: pinning them fails. */
static int check_kind(struct mm_struct *mm, u64 addr, u64 end)
{
	struct vm_area_struct *vma;

	for (; addr < end; addr = vma->vm_end) {
		vma = find_vma(mm, addr);
		if (!vma)
			return 0;
		if (vma->vm_start < end && written_back(vma))
			return -EOPNOTSUPP;
	}
	return 0;
}

static int pin(struct rmc_umem *u, u64 start)
{
	struct page **pages = (struct page **)__get_free_page(GFP_KERNEL);
	struct mm_struct *mm = current->mm;
	u64 done = 0;
	int n = 0, i;

	if (!pages)
		return -ENOMEM;
	while (done < u->npages) {
		u64 at = start + (done << PAGE_SHIFT);

		n = min_t(u64, u->npages - done, BATCH);
		/* one hold of the lock: the checked mappings are the pinned ones */
		mmap_read_lock(mm);
		i = check_kind(mm, at, at + ((u64)n << PAGE_SHIFT));
		n = i ?: rmc_pin_user_pages(at, n, FOLL_WRITE | FOLL_LONGTERM, pages);
		mmap_read_unlock(mm);
		if (n <= 0)
			break;
		for (i = 0; i < n; i++)
			u->mem.chunk[done + i] = page_address(pages[i]);
		done += n;
		cond_resched();
		if (fatal_signal_pending(current)) {
			n = -EINTR;
			break;
		}
	}
	free_page((unsigned long)pages);
	if (done == u->npages && n > 0)
		return 0;
	unpin(u, done);
	return n ? n : -EFAULT;
}

/*
 * Describes the memory by chunks of 1 << shift bytes, cut where the application's addresses
 * are multiples of that. Returns false if the physical pages are not contiguous enough.
 */
static bool coalesce(struct rmc_umem *u, u64 addr, u32 shift)
{
	u64 per = 1ULL << (shift - PAGE_SHIFT);
	u64 first = (addr >> PAGE_SHIFT) & (per - 1);
	u64 i, chunks;
	void **chunk = u->mem.chunk, **fewer;

	for (i = 1; i < u->npages; i++)
		if (((first + i) & (per - 1)) && chunk[i] != chunk[i - 1] + PAGE_SIZE)
			return false;
	chunks = DIV_ROUND_UP(first + u->npages, per);
	/* the first chunk may begin before the memory; those bytes are never accessed */
	chunk[0] -= first << PAGE_SHIFT;
	for (i = 1; i < chunks; i++)
		chunk[i] = chunk[i * per - first];
	rmc_mem_chunks(&u->mem, shift);
	u->mem.head = addr & u->mem.mask;

	fewer = kvmalloc_array(chunks, sizeof(*fewer), GFP_KERNEL_ACCOUNT);
	if (fewer) {
		memcpy(fewer, chunk, chunks * sizeof(*fewer));
		u->mem.chunk = fewer;
		kvfree(chunk);
	}
	return true;
}

/**
 * rmc_umem_pin() - pin memory of the calling process
 * @addr: address in current->mm, any alignment; any value
 * @length: bytes, 1 .. RMC_MAX_SEGMENT
 *
 * Return: memory with one reference, or ERR_PTR: -EFAULT not mapped or not
 * writable, -ENOMEM also beyond RLIMIT_MEMLOCK and beyond the machine's memory,
 * -EINTR fatal signal, -EOPNOTSUPP a shared mapping of a file.
 * Context: may sleep; takes mmap_lock.
 */
struct rmc_umem *rmc_umem_pin(u64 addr, u64 length)
{
	struct rmc_umem *u;
	u64 end, npages;
	int err, i;

	if (check_add_overflow(addr, length, &end) || end > ULLONG_MAX - PAGE_SIZE)
		return ERR_PTR(-EFAULT);
	npages = DIV_ROUND_UP(end, PAGE_SIZE) - (addr >> PAGE_SHIFT);
	/* cannot succeed, and the table of pages alone could take all memory */
	if (npages > totalram_pages())
		return ERR_PTR(-ENOMEM);
	u = umem_new(length, npages);
	if (IS_ERR(u))
		return u;
	u->mem.base = addr;
	u->mem.head = addr & ~PAGE_MASK;
	err = alloc_chunks(u, u->npages);
	if (!err)
		err = pin(u, addr & PAGE_MASK);
	if (err) {
		umem_delete(u);
		return ERR_PTR(err);
	}
	for (i = 0; i < ARRAY_SIZE(chunk_shifts); i++)
		if (coalesce(u, addr, chunk_shifts[i]))
			break;
	return u;
}

static void free_pages_of(struct rmc_umem *u, u64 npages)
{
	u64 i;

	for (i = 0; i < npages; i++) {
		__free_page(umem_page(u, i));
		if (!(i % BATCH))
			cond_resched();
	}
}

/* All of the memory in blocks of one order; each page has its own count. */
static int alloc_blocks(struct rmc_umem *u, u32 order, int nid, gfp_t gfp)
{
	u64 per = 1ULL << order, i, k;
	int err;

	err = alloc_chunks(u, DIV_ROUND_UP(u->npages, per));
	if (err)
		return err;
	rmc_mem_chunks(&u->mem, PAGE_SHIFT + order);
	for (i = 0; i < u->npages; i += per) {
		struct page *page = alloc_pages_node(nid, gfp, order);

		if (!page || fatal_signal_pending(current)) {
			if (page)
				__free_pages(page, order);
			free_pages_of(u, i);
			kvfree(u->mem.chunk);
			u->mem.chunk = NULL;
			return page ? -EINTR : -ENOMEM;
		}
		if (order)
			split_page(page, order);
		u->mem.chunk[i / per] = page_address(page);
		for (k = u->npages - i; k < per; k++)
			__free_page(page + k);
		cond_resched();
	}
	return 0;
}

/**
 * rmc_umem_alloc() - allocate zeroed memory
 * @length: bytes, 1 .. RMC_MAX_SEGMENT
 * @nid: NUMA node
 * @strict: fail rather than use another node
 *
 * Return: memory with one reference, or ERR_PTR: -ENOMEM, -EINTR fatal signal.
 * Context: may sleep.
 */
struct rmc_umem *rmc_umem_alloc(u64 length, int nid, bool strict)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;
	struct rmc_umem *u;
	int err = -ENOMEM, i;

	if (strict)
		gfp |= __GFP_THISNODE;
	/* cannot succeed, and trying would first evict everything else */
	if (DIV_ROUND_UP(length, PAGE_SIZE) > (u64)si_mem_available())
		return ERR_PTR(-ENOMEM);
	u = umem_new(length, DIV_ROUND_UP(length, PAGE_SIZE));
	if (IS_ERR(u))
		return u;
	u->allocated = true;
	for (i = 0; i < ARRAY_SIZE(alloc_orders) && err == -ENOMEM; i++) {
		u32 order = min_t(u32, alloc_orders[i], order_base_2(u->npages));

		/* fail when memory runs out, instead of invoking the OOM killer */
		err = alloc_blocks(u, order, nid,
				   gfp | (order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL));
	}
	if (err) {
		umem_delete(u);
		return ERR_PTR(err);
	}
	return u;
}

static void umem_free(struct kref *ref)
{
	struct rmc_umem *u = container_of(ref, struct rmc_umem, ref);

	if (u->allocated)
		free_pages_of(u, u->npages);
	else
		unpin(u, u->npages);
	umem_delete(u);
}

/**
 * rmc_umem_put() - drop a reference
 * @u: memory; before the last reference is dropped it is uninstalled from the units
 *
 * Context: may sleep.
 */
void rmc_umem_put(struct rmc_umem *u)
{
	kref_put(&u->ref, umem_free);
}

/**
 * rmc_umem_map() - map allocated memory
 * @u: memory
 * @vma: mapping; as long as @u
 *
 * Pages live as long as they are mapped, also after @u is freed.
 *
 * Return: 0 or a negative errno. Context: may sleep, mmap_lock held for writing.
 */
int rmc_umem_map(struct rmc_umem *u, struct vm_area_struct *vma)
{
	struct page **pages = (struct page **)__get_free_page(GFP_KERNEL);
	u64 done = 0;
	int err = 0;

	if (!pages)
		return -ENOMEM;
	while (!err && done < u->npages) {
		unsigned long n = min_t(u64, u->npages - done, BATCH), left = n, i;

		for (i = 0; i < n; i++)
			pages[i] = umem_page(u, done + i);
		err = vm_insert_pages(vma, vma->vm_start + (done << PAGE_SHIFT), pages, &left);
		done += n;
		cond_resched();
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
	}
	free_page((unsigned long)pages);
	return err;
}
