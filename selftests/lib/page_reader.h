/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Runs a write in the middle of a read, always at the same position. The object crosses a
 * page boundary, and the reader's first access to the second page faults. The fault handler
 * writes the object and lets the reader continue.
 */
#ifndef PAGE_READER_H
#define PAGE_READER_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <rmc/rmc.h>

#define PAGE	4096

static struct {
	uint8_t *pages;			/* two of them */
	void (*between)(void);		/* called once per arming */
	int armed, happened;
} page_reader;

static void page_reader_fault(int sig, siginfo_t *info, void *context)
{
	uint8_t *at = (uint8_t *)info->si_addr;

	(void)context;
	if (!page_reader.armed || at < page_reader.pages + PAGE ||
	    at >= page_reader.pages + 2 * PAGE) {
		signal(sig, SIG_DFL);
		return;
	}
	page_reader.armed = 0;
	page_reader.happened++;
	mprotect(page_reader.pages, 2 * PAGE, PROT_READ | PROT_WRITE);
	page_reader.between();
}

static inline uint8_t *page_reader_init(void)
{
	struct sigaction a = { .sa_sigaction = page_reader_fault, .sa_flags = SA_SIGINFO };

	page_reader.pages = (uint8_t *)mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page_reader.pages == MAP_FAILED || sigaction(SIGSEGV, &a, NULL))
		exit(1);
	return page_reader.pages;
}

static inline void page_reader_arm(void (*between)(void))
{
	page_reader.between = between;
	page_reader.happened = 0;
	page_reader.armed = 1;
	mprotect(page_reader.pages + PAGE, PAGE, PROT_NONE);
}

static inline void page_reader_disarm(void)
{
	page_reader.armed = 0;
	mprotect(page_reader.pages, 2 * PAGE, PROT_READ | PROT_WRITE);
	munmap(page_reader.pages, 2 * PAGE);
}

#endif /* PAGE_READER_H */
