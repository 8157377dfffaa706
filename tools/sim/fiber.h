/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fibers: functions with separate stacks that alternate on one thread. The context that
 * resumes a fiber continues when the fiber yields or returns.
 */
#ifndef RMC_SIM_FIBER_H
#define RMC_SIM_FIBER_H

#include <stdbool.h>
#include <stddef.h>

struct fiber;

struct fiber *fiber_create(void (*fn)(void *arg), void *arg, size_t stack_bytes);
void fiber_destroy(struct fiber *f);
void fiber_resume(struct fiber *f);
void fiber_yield(void);
void fiber_prefetch(const struct fiber *f, bool stack);
bool fiber_finished(const struct fiber *f);
struct fiber *fiber_self(void);

#endif
