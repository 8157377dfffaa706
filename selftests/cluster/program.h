/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that the programs of this folder share. */
#ifndef CLUSTER_PROGRAM_H
#define CLUSTER_PROGRAM_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void __attribute__((format(printf, 1, 2), noreturn)) die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(1);
}

/* Seconds of a monotonic clock */
static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

#endif
