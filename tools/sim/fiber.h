/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fibers: functions with stacks of their own that run by turns on one thread. Whoever
 * resumes a fiber goes on when it yields or returns.
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
bool fiber_finished(const struct fiber *f);
struct fiber *fiber_self(void);

#endif
