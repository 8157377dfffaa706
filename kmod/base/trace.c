// SPDX-License-Identifier: GPL-2.0
/* Definition of the tracepoints. */
#define CREATE_TRACE_POINTS
#include "trace.h"
