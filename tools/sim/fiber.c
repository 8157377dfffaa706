// SPDX-License-Identifier: GPL-2.0
/*
 * Fibers by ucontext, which is used for the first entry only: swapcontext() changes the
 * signal mask each time, by a system call, and _setjmp() and _longjmp() do not.
 * AddressSanitizer needs notice of each stack and intercepts longjmp(), so with it all
 * switches use swapcontext().
 */
/* The fortified longjmp() takes a fiber's stack for one that was left, and aborts */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "fiber.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#define GUARD	4096
#define LINE	64
/* of the stack, that a fiber uses right after it was resumed */
#define STACK_LINES	12
#define noinline	__attribute__((noinline))

/**
 * struct fiber - a function with a stack
 * @fn: what it runs
 * @arg: of @fn
 * @stack: its memory, a guard page first
 * @bytes: of @stack
 * @started: it ran before
 * @finished: @fn returned
 * @saved_errno: errno of the fiber; the thread has only one
 * @top: top of its stack while it does not run, roughly
 * @context_jmp: its registers while it does not run
 * @context: the same with AddressSanitizer; else until it first runs
 * @back: registers of the context that resumed it, with AddressSanitizer
 */
struct fiber {
	void (*fn)(void *arg);
	void *arg;
	char *stack;
	size_t bytes;
	bool started;
	bool finished;
	int saved_errno;
	const void *top;
	jmp_buf context_jmp;
	ucontext_t context;
	ucontext_t back;
#ifdef FIBER_ASAN
	void *fake;
	const void *back_stack;
	size_t back_bytes;
#endif
};

static struct fiber *current;
#ifndef FIBER_ASAN
static jmp_buf back_jmp;	/* registers of the context that resumed it */
#endif

/* not inlined: no variable of its caller lives across _setjmp() */
static noinline void switch_back(struct fiber *f)
{
#ifdef FIBER_ASAN
	void *fake = NULL;

	__sanitizer_start_switch_fiber(f->finished ? NULL : &fake, f->back_stack, f->back_bytes);
	swapcontext(&f->context, &f->back);
	__sanitizer_finish_switch_fiber(fake, &f->back_stack, &f->back_bytes);
#else
	f->top = __builtin_frame_address(0);
	if (!_setjmp(f->context_jmp))
		_longjmp(back_jmp, 1);
#endif
}

static void enter(void)
{
	struct fiber *f = current;

#ifdef FIBER_ASAN
	__sanitizer_finish_switch_fiber(NULL, &f->back_stack, &f->back_bytes);
#endif
	f->fn(f->arg);
	f->finished = true;
	for (;;)
		switch_back(f);
}

/* A separate function, because for the compiler getcontext() may return two times. */
static noinline int make_context(struct fiber *f)
{
	if (getcontext(&f->context))
		return -1;
	f->context.uc_stack.ss_sp = f->stack + GUARD;
	f->context.uc_stack.ss_size = f->bytes - GUARD;
	f->context.uc_link = NULL;
	makecontext(&f->context, enter, 0);
	return 0;
}

/**
 * fiber_create() - create a fiber, which does not run yet
 * @fn: what it runs
 * @arg: of @fn
 * @stack_bytes: of its stack, a multiple of the page size; used ones only take memory
 *
 * Return: fiber, or NULL when out of memory.
 */
struct fiber *fiber_create(void (*fn)(void *arg), void *arg, size_t stack_bytes)
{
	struct fiber *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->fn = fn;
	f->arg = arg;
	f->bytes = stack_bytes + GUARD;
	f->stack = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (f->stack == MAP_FAILED || mprotect(f->stack, GUARD, PROT_NONE) ||
	    make_context(f)) {
		if (f->stack != MAP_FAILED)
			munmap(f->stack, f->bytes);
		free(f);
		return NULL;
	}
	return f;
}

/**
 * fiber_destroy() - free a fiber that does not run now, whether it finished or not
 * @f: fiber or NULL
 */
void fiber_destroy(struct fiber *f)
{
	if (!f)
		return;
	munmap(f->stack, f->bytes);
	free(f);
}

/**
 * fiber_resume() - let a fiber run until it yields or finishes
 * @f: fiber that has not finished; the caller is in none
 */
void fiber_resume(struct fiber *f)
{
	int own_errno = errno;
#ifdef FIBER_ASAN
	void *fake = NULL;
#endif

	current = f;
	errno = f->saved_errno;
#ifdef FIBER_ASAN
	__sanitizer_start_switch_fiber(&fake, f->stack + GUARD, f->bytes - GUARD);
	swapcontext(&f->back, &f->context);
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
#else
	if (!_setjmp(back_jmp)) {
		if (f->started)
			_longjmp(f->context_jmp, 1);
		f->started = true;
		setcontext(&f->context);
	}
#endif
	/* a local variable may be gone, which current is not */
	current->saved_errno = errno;
	current = NULL;
	errno = own_errno;
}

/**
 * fiber_yield() - return to the context that resumed the calling fiber
 */
void fiber_yield(void)
{
	switch_back(current);
}

/**
 * fiber_prefetch() - prefetch what resuming a fiber will use
 * @f: fiber
 * @stack: also its stack; the rest has been prefetched
 */
void fiber_prefetch(const struct fiber *f, bool stack)
{
	size_t i;

	for (i = 0; i < offsetof(struct fiber, context); i += LINE)
		__builtin_prefetch((const char *)f + i);
	for (i = 0; stack && f->top && i < STACK_LINES; i++)
		__builtin_prefetch((const char *)f->top + i * LINE);
}

/**
 * fiber_finished() - check whether its function has returned
 * @f: fiber
 *
 * Return: true if it has.
 */
bool fiber_finished(const struct fiber *f)
{
	return f->finished;
}

/**
 * fiber_self() - the running fiber
 *
 * Return: fiber, or NULL outside of all fibers.
 */
struct fiber *fiber_self(void)
{
	return current;
}
