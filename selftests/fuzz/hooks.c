// SPDX-License-Identifier: GPL-2.0
/* For programs of ../unit that do not define the hooks of the shim themselves. */
#include "kmod/core/pipeline.h"

__attribute__((weak)) void (*rmc_between_passes)(void);
__attribute__((weak)) u32 rmc_no_memory;
