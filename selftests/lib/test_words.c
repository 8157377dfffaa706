/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Texts of the library: names, messages and the log. Also structs of other versions. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/rmc_domain.h>
#include <linux/rmc_tx.h>
#include "../../lib/internal.h"
#include "rmc/scheme.h"
#include "../tap.h"

static void statuses(void)
{
	CHECK(!strcmp(rmc_status_name(RMC_S_OK), "ok"));
	CHECK(!strcmp(rmc_status_name(RMC_S_TX_MAX), "unknown"));
	CHECK(!strcmp(rmc_status_name(-1), "unknown"));
	CHECK(!strcmp(rmc_status_name(RMC_SCHEME_TORN), "torn"));
	CHECK(!strcmp(rmc_status_name(RMC_SCHEME_LEASE_OVER), "lease_over"));
	CHECK(!strcmp(rmc_status_name(RMC_SCHEME_LEASE_OVER + 1), "unknown"));
	CHECK(strstr(rmc_strerror(RMC_S_TX_MAX), "unknown status"));
	CHECK(strstr(rmc_strerror(RMC_SCHEME_TORN), "read it again"));
	CHECK(strstr(rmc_strerror(RMC_SCHEME_LEASE_OVER + 1), "unknown status"));
	CHECK(strstr(rmc_strerror(-EBUSY), "drain the completion queue"));
	CHECK(!strcmp(rmc_strerror(-ENOSPC), strerror(ENOSPC)));
	CHECK_EQ(rmc_version_number(), RMC_VERSION);
}

static void *fail_elsewhere(void *arg)
{
	(void)arg;
	rmc_fail(EIO, "another thread's");
	return NULL;
}

static void messages(void)
{
	pthread_t thread;

	errno = 0;
	CHECK_EQ(rmc_fail(ENOSPC, "no %s", "room"), -ENOSPC);
	CHECK_EQ(errno, ENOSPC);
	CHECK(!strcmp(rmc_errmsg(), "no room"));
	errno = EDOM;
	rmc_set_errmsg("said %d", 5);
	CHECK_EQ(errno, EDOM);
	pthread_create(&thread, NULL, fail_elsewhere, NULL);
	pthread_join(thread, NULL);
	CHECK(!strcmp(rmc_errmsg(), "said 5"));
}

/* --- the log: this program runs itself with RMC_LOG --- */

static int logging(void)
{
	char longer[2000];

	rmc_log(ERROR, "%s", "one");
	rmc_log(WARN, "two");
	rmc_log(INFO, "three");
	rmc_log(DEBUG, "four");
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	rmc_log(ERROR, "%s", longer);
	errno = EDOM;
	rmc_log(ERROR, "five");
	return errno == EDOM ? 0 : 1;
}

static char logged[1 << 16];

static int run_logging(const char *level)
{
	size_t n = 0;
	int pair[2], status;
	ssize_t got;
	pid_t pid;

	if (pipe(pair))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(pair[1], 2);
		close(pair[0]);
		if (level)
			setenv("RMC_LOG", level, 1);
		else
			unsetenv("RMC_LOG");
		execl("/proc/self/exe", "words", "log", NULL);
		_exit(99);
	}
	close(pair[1]);
	while ((got = read(pair[0], logged + n, sizeof(logged) - 1 - n)) > 0)
		n += (size_t)got;
	logged[n] = 0;
	close(pair[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static int lines(void)
{
	int n = 0;
	char *at;

	for (at = logged; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static void the_log(void)
{
	const char *at;

	CHECK_EQ(run_logging(NULL), 0);
	CHECK(!*logged);
	CHECK_EQ(run_logging(""), 0);
	CHECK(!*logged);
	CHECK_EQ(run_logging("error"), 0);
	CHECK(strstr(logged, " error: one\n") && strstr(logged, " error: five\n"));
	CHECK(!strstr(logged, "two"));
	CHECK_EQ(lines(), 3);
	/* a line that is too long is truncated, and stays one line */
	at = strstr(logged, "xxx");
	CHECK(at && strcspn(at, "\n") > 500 && strcspn(at, "\n") < 640);
	CHECK_EQ(run_logging("warn"), 0);
	CHECK(strstr(logged, " warn: two\n") && !strstr(logged, "three"));
	CHECK_EQ(run_logging("debug"), 0);
	CHECK(strstr(logged, " info: three\n") && strstr(logged, " debug: four\n"));
	CHECK_EQ(run_logging("loud"), 0);
	CHECK(strstr(logged, "RMC_LOG is 'loud'") && strstr(logged, " warn: two\n"));
	CHECK(!strstr(logged, "three"));
}

/* --- structs --- */

static int taken(char *to, size_t size, const char *from, size_t from_size, size_t least)
{
	memset(to, 0x55, 32);
	return rmc_struct_in(to, size, from, from_size, least, "options");
}

static void structs(void)
{
	static const char ones[32] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	char to[32], zero[16] = { 0 };
	int i;

	/* the same size; a program of an older version, whose missing fields become zero */
	CHECK_EQ(taken(to, 12, ones, 12, 8), 0);
	CHECK(!memcmp(to, ones, 12) && to[12] == 0x55);
	CHECK_EQ(taken(to, 12, ones, 8, 8), 0);
	CHECK(!memcmp(to, ones, 8) && !memcmp(to + 8, zero, 4) && to[12] == 0x55);
	CHECK_EQ(taken(to, 12, ones, 7, 8), -EINVAL);
	CHECK(strstr(rmc_errmsg(), "options of 7 bytes: the smallest there ever was has 8"));
	/* a program of a newer version: bytes that this library does not know must be zero */
	CHECK_EQ(taken(to, 12, ones, 32, 8), 0);
	CHECK(!memcmp(to, ones, 12) && to[12] == 0x55);
	for (i = 8; i < 12; i++)
		CHECK_EQ(taken(to, (size_t)i, ones, 12, 8), -E2BIG);
	memset(to, 0, sizeof(to));
	for (i = 20; i < 24; i++) {
		char newer[24] = { 0 }, copy[32];

		newer[i] = 1;
		CHECK_EQ(taken(copy, 20, newer, 24, 8), -E2BIG);
	}
	CHECK(strstr(rmc_errmsg(), rmc_version()));

	memset(to, 0x55, sizeof(to));
	rmc_struct_out(to, 16, ones, 12);
	CHECK(!memcmp(to, ones, 12) && !memcmp(to + 12, zero, 4) && to[16] == 0x55);
	memset(to, 0x55, sizeof(to));
	rmc_struct_out(to, 8, ones, 12);
	CHECK(!memcmp(to, ones, 8) && to[8] == 0x55);
	memset(to, 0x55, sizeof(to));
	rmc_struct_out(to, 24, ones, 4);
	CHECK(!memcmp(to + 4, zero, 16));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		{ "names and lines of statuses", statuses },
		{ "messages are their thread's", messages },
		{ "the log", the_log },
		{ "structs of other versions", structs },
	};

	if (argc > 1 && !strcmp(argv[1], "log"))
		return logging();
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
