/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Emits every RMC_INLINE of the headers as a symbol of the shared object, for languages
 * that cannot include the headers.
 */
#define RMC_INLINE extern
#include "rmc/rmc.h"
#include "rmc/uring.h"
