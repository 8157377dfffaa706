// SPDX-License-Identifier: GPL-2.0
/*
 * See lost.h. A signal handler reads the table without a lock. The entry of the mapping that
 * it is in cannot change meanwhile, others may: each has a sequence number, odd while it changes.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include "lost.h"
#include "memory.h"

/* As many mappings as a process may have */
#define ENTRIES		65536

struct entry {
	u32 seq;
	uintptr_t addr;
	size_t len;		/* 0: free */
	size_t page;		/* as much can be replaced */
	struct rmcd_mem *mem;	/* of which it is a part; NULL: the region */
};

static struct entry table[ENTRIES];
static u32 used;	/* entries beyond were never used */

/* Main thread. Who sees one of these stores also sees that @seq has changed. */
static void set(struct entry *e, const struct entry *to)
{
	__atomic_store_n(&e->seq, e->seq + 1, __ATOMIC_RELAXED);
	/* all pair with the acquires in get() */
	__atomic_store_n(&e->addr, to->addr, __ATOMIC_RELEASE);
	__atomic_store_n(&e->len, to->len, __ATOMIC_RELEASE);
	__atomic_store_n(&e->page, to->page, __ATOMIC_RELEASE);
	__atomic_store_n(&e->mem, to->mem, __ATOMIC_RELEASE);
	__atomic_store_n(&e->seq, e->seq + 1, __ATOMIC_RELEASE);
}

/* Handler. Returns false if the entry is being changed. */
static bool get(const struct entry *e, struct entry *copy)
{
	/* all pair with the releases in set() */
	copy->seq = __atomic_load_n(&e->seq, __ATOMIC_ACQUIRE);
	copy->addr = __atomic_load_n(&e->addr, __ATOMIC_ACQUIRE);
	copy->len = __atomic_load_n(&e->len, __ATOMIC_ACQUIRE);
	copy->page = __atomic_load_n(&e->page, __ATOMIC_ACQUIRE);
	copy->mem = __atomic_load_n(&e->mem, __ATOMIC_ACQUIRE);
	return copy->seq % 2 == 0 && copy->seq == __atomic_load_n(&e->seq, __ATOMIC_RELAXED);
}

/**
 * rmcd_replaceable() - a mapping may be replaced by zeros
 * @addr: mapping of a file that others can change
 * @len: bytes, whole pages
 * @page: bytes of a page of the file
 * @mem: memory of a client that it is a part of, and which ends with it; NULL: the region
 *
 * Context: main thread.
 *
 * Return: 0, -ENOSPC: there are too many.
 */
int rmcd_replaceable(void *addr, size_t len, size_t page, struct rmcd_mem *mem)
{
	struct entry e = { .addr = (uintptr_t)addr, .len = len, .page = page, .mem = mem };
	u32 i;

	for (i = 0; i < used && table[i].len; i++)
		;
	if (i == ENTRIES)
		return -ENOSPC;
	set(&table[i], &e);
	if (i == used)
		/* pairs with the acquire in lost_page() */
		__atomic_store_n(&used, i + 1, __ATOMIC_RELEASE);
	return 0;
}

/**
 * rmcd_not_replaceable() - mirror of rmcd_replaceable(), before the mapping ends
 * @addr: mapping; one that is unknown does no harm
 */
void rmcd_not_replaceable(void *addr)
{
	static const struct entry none;
	u32 i;

	for (i = 0; i < used; i++)
		if (table[i].len && table[i].addr == (uintptr_t)addr)
			set(&table[i], &none);
}

static bool zeros_at(uintptr_t addr, size_t len)
{
	return mmap((void *)addr, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

/* In a signal handler: rmcd_log() may not be called. */
static void report_region(void)
{
	static const char lost[] =
		"rmcd: the file of --region has lost pages, so this daemon is alone now: start all daemons anew with another one\n";
	ssize_t written = write(STDERR_FILENO, lost, sizeof(lost) - 1);

	(void)written;
}

/*
 * All of it is replaced, so that it does not have two owners. Where this would be more memory
 * than is allowed (vm.overcommit_memory=2, RLIMIT_DATA), the page alone.
 */
static bool replace(const struct entry *e, uintptr_t at)
{
	if (!zeros_at(e->addr, e->len) && !zeros_at(at - (at - e->addr) % e->page, e->page))
		return false;
	if (e->mem)
		rmcd_mem_lost(e->mem);
	else
		report_region();
	return true;
}

static void lost_page(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	/* pairs with the release in rmcd_replaceable() */
	u32 n = __atomic_load_n(&used, __ATOMIC_ACQUIRE), i;
	struct entry e;
	int err = errno;

	(void)context;
	for (i = 0; i < n; i++) {
		if (get(&table[i], &e) && at - e.addr < e.len && replace(&e, at)) {
			errno = err;
			return;
		}
	}
	signal(number, SIG_DFL);
}

/**
 * rmcd_lost_init() - handle SIGBUS
 */
void rmcd_lost_init(void)
{
	struct sigaction bus = { .sa_sigaction = lost_page, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &bus, NULL);
}
