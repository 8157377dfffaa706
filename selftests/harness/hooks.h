/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks of the shim for programs that may be linked without testbed.c, which has them, too. */
#ifndef HOOKS_H
#define HOOKS_H

#include "kmod/base/os.h"

#ifdef RMC_TEST_HOOKS
void (*rmc_between_passes)(void) __attribute__((weak));
void (*rmc_at_barrier)(void) __attribute__((weak));
u32 rmc_no_user_memory __attribute__((weak));
#endif

#endif
