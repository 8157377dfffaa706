// SPDX-License-Identifier: GPL-2.0
/* See lost.h. A signal handler reads the table without a lock: an entry is valid by its length. */
#include <signal.h>
#include <sys/mman.h>
#include "lost.h"
#include "rmcd.h"

/* As many mappings as a process may have */
#define ENTRIES		65536

struct entry {
	uintptr_t addr;
	size_t len;	/* 0: free */
};

static struct entry table[ENTRIES];
static u32 used;	/* entries beyond were never used */

/**
 * rmcd_replaceable() - a mapping may be replaced by zeros
 * @addr: mapping of a client's file
 * @len: bytes
 *
 * Context: main thread.
 *
 * Return: 0, -ENOSPC: there are too many.
 */
int rmcd_replaceable(void *addr, size_t len)
{
	u32 i;

	for (i = 0; i < used && table[i].len; i++)
		;
	if (i == ENTRIES)
		return -ENOSPC;
	WRITE_ONCE(table[i].addr, (uintptr_t)addr);
	/* pairs with the acquire in lost_page() */
	__atomic_store_n(&table[i].len, len, __ATOMIC_RELEASE);
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
	u32 i;

	for (i = 0; i < used; i++)
		if (table[i].len && table[i].addr == (uintptr_t)addr)
			/* pairs with the acquire in lost_page(): the mapping ends after this */
			__atomic_store_n(&table[i].len, 0, __ATOMIC_RELEASE);
}

static void lost_page(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	/* both acquires pair with the releases in rmcd_replaceable() */
	u32 n = __atomic_load_n(&used, __ATOMIC_ACQUIRE), i;

	(void)context;
	for (i = 0; i < n; i++) {
		size_t len = __atomic_load_n(&table[i].len, __ATOMIC_ACQUIRE);
		uintptr_t addr = READ_ONCE(table[i].addr);

		if (at - addr < len && mmap((void *)addr, len, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
					    -1, 0) != MAP_FAILED)
			return;
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
