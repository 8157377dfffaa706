/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A machine with less than this one, for rmcctl doctor: membarrier(2) fails with NO_MEMBARRIER
 * in the environment, and PTRACE_SCOPE is the file to read instead of yama's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

long syscall(long number, ...)
{
	long (*real)(long number, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long arg[6];
	va_list ap;
	int i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_membarrier && getenv("NO_MEMBARRIER")) {
		errno = ENOSYS;
		return -1;
	}
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *) =
		(FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen");
	const char *scope = getenv("PTRACE_SCOPE");

	return real(scope && strstr(path, "/yama/ptrace_scope") ? scope : path, mode);
}
