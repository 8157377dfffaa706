/* SPDX-License-Identifier: GPL-2.0 */
/* The operation RMC_OP_PROBE, see probe.c. */
#ifndef PROBE_H
#define PROBE_H

#include "kmod/base/wire.h"

extern u32 probes_served;

#endif
