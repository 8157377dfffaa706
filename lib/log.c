/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Messages for debugging a program that uses this library: RMC_LOG=debug writes them to
 * stderr. Without RMC_LOG a message costs one load and one branch, and the path of a
 * successful operation has none.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "internal.h"

#define LINE_MAX_BYTES	640	/* rmc_errmsg() has 512 */

int rmc_log_level;

static const char * const names[] = {
	[RMC_LOG_ERROR]	= "error",
	[RMC_LOG_WARN]	= "warn",
	[RMC_LOG_INFO]	= "info",
	[RMC_LOG_DEBUG]	= "debug",
};

static void put(int level, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES];
	int n, m;

	n = snprintf(line, sizeof(line), "librmc[%ld] %s: ", (long)syscall(SYS_gettid),
		     names[level]);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	if (m < 0)
		return;
	n = (size_t)(n + m) < sizeof(line) - 1 ? n + m : (int)sizeof(line) - 2;
	line[n++] = '\n';
	/* One call, so that lines of several threads and processes do not mix. */
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

void rmc_vlog(int level, const char *fmt, va_list ap)
{
	int saved = errno;

	put(level, fmt, ap);
	errno = saved;
}

void rmc_log_line(int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	rmc_vlog(level, fmt, ap);
	va_end(ap);
}

/* Before main(), so that the level is a plain load afterwards. */
__attribute__((constructor)) static void read_level(void)
{
	const char *s = secure_getenv("RMC_LOG");
	int i;

	if (!s || !*s)
		return;
	for (i = RMC_LOG_ERROR; i <= RMC_LOG_DEBUG; i++)
		if (!strcmp(s, names[i]))
			rmc_log_level = i;
	if (rmc_log_level) {
		rmc_log(DEBUG, "version %s", rmc_version());
		return;
	}
	rmc_log_level = RMC_LOG_WARN;
	rmc_log(WARN, "RMC_LOG is '%s', not error, warn, info or debug: warn is used", s);
}
