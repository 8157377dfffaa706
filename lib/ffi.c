/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The inlines of the fast path once more, as symbols of the shared object, for
 * languages that cannot include the headers.
 */
#define RMC_INLINE extern
#include "rmc/object.h"
#include "rmc/qp.h"
#include "rmc/sabre.h"
#include "rmc/uring.h"
