/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* When to print the progress of a long run. */
#include <time.h>
#include <unistd.h>
#include "progress.h"

#define LOG_SECONDS	10

int progress_due(int asked)
{
	static time_t last;
	struct timespec now;

	if (asked || isatty(STDERR_FILENO))
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!last)
		last = now.tv_sec;
	if (now.tv_sec - last < LOG_SECONDS)
		return 0;
	last = now.tv_sec;
	return 1;
}

const char *progress_begin(void)
{
	return isatty(STDERR_FILENO) ? "\r" : "";
}

const char *progress_end(void)
{
	return isatty(STDERR_FILENO) ? "\r" : "\n";
}
