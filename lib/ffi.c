/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Every RMC_INLINE of the headers once more, as a symbol of the shared object, for
 * languages that cannot include the headers.
 */
#define RMC_INLINE extern
#include "rmc/rmc.h"
#include "rmc/uring.h"
