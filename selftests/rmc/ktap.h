/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests that print KTAP. One TEST() per behaviour. Each test runs in its own process and
 * process group, so that nothing it opened, mapped or started outlives it. A test cannot
 * hang: after its time limit it is killed and has failed. Helpers that a test forks may
 * use CHECK() too: the verdict is in shared memory.
 *
 *	TEST(name) { ... CHECK(x); REQUIRE_EQ(a, b); ... }
 *	KTAP_MAIN(reason_to_skip_everything_or_NULL)
 *
 * Tests of other folders use ../tap.h, for programs of one process.
 *
 * Exit status of the program: 0 all passed or skipped, 1 some failed, 4 nothing
 * could be tested.
 */
#ifndef KTAP_H
#define KTAP_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KTAP_SKIPPED	4
#define KTAP_SECONDS	60	/* time limit of a TEST() */
#define KTAP_GRACE	10	/* for a killed process to exit; else it hangs in the kernel */

struct ktap_test {
	const char *name;
	void (*fn)(void);
	unsigned int seconds;
	struct ktap_test *next;
};

/* Shared by all processes of a test. */
struct ktap_verdict {
	int failures;
	int skipped;
	char reason[200];
};

/* The list is private to the file with the tests; helpers in other files share the rest. */
static __attribute__((unused)) struct ktap_test *ktap_first, **ktap_last = &ktap_first;
__attribute__((weak)) struct ktap_verdict *ktap_verdict;
__attribute__((weak)) const char *ktap_name;
__attribute__((weak)) volatile pid_t ktap_child;

#define TEST_WITHIN(id, s)							\
	static void test_##id(void);						\
	static struct ktap_test ktap_##id = { #id, test_##id, s, NULL };	\
	static void __attribute__((constructor)) add_##id(void)			\
	{									\
		*ktap_last = &ktap_##id;					\
		ktap_last = &ktap_##id.next;					\
	}									\
	static void test_##id(void)
#define TEST(id)	TEST_WITHIN(id, KTAP_SECONDS)

static inline void __attribute__((format(printf, 1, 2))) ktap_say(const char *fmt, ...)
{
	char line[400];
	va_list ap;
	int n;

	n = snprintf(line, sizeof(line), "# %s: ", ktap_name);
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	printf("%s\n", line);
	fflush(stdout);
}

static inline void ktap_fail(void)
{
	__atomic_fetch_add(&ktap_verdict->failures, 1, __ATOMIC_RELAXED);
}

static inline int ktap_failures(void)
{
	return __atomic_load_n(&ktap_verdict->failures, __ATOMIC_RELAXED);
}

/* If the condition is false, the test has failed but continues. Gives the condition. */
#define CHECK(cond) ({								\
	int ktap_c = !!(cond);							\
	if (!ktap_c) {								\
		ktap_say("line %d: %s (errno %d)", __LINE__, #cond, errno);	\
		ktap_fail();							\
	}									\
	ktap_c; })

#define CHECK_EQ(got, want) ({							\
	long long ktap_g = (long long)(got), ktap_w = (long long)(want);	\
	if (ktap_g != ktap_w) {							\
		ktap_say("line %d: %s is %lld, not %lld", __LINE__, #got,	\
			 ktap_g, ktap_w);					\
		ktap_fail();							\
	}									\
	ktap_g == ktap_w; })

/* A call that must give -1 and this errno */
#define CHECK_ERRNO(call, want) ({						\
	long long ktap_r = (errno = 0, (long long)(call));			\
	int ktap_e = errno;							\
	int ktap_ok = ktap_r == -1 && ktap_e == (want);				\
	if (!ktap_ok) {								\
		ktap_say("line %d: %s gives %lld, errno %d (%s), not %s",	\
			 __LINE__, #call, ktap_r, ktap_r < 0 ? ktap_e : 0,	\
			 ktap_r < 0 ? strerror(ktap_e) : "-", #want);		\
		ktap_fail();							\
	}									\
	ktap_ok; })

/* The same, but a false condition ends the test or this helper process. */
#define REQUIRE(cond) do { if (!CHECK(cond)) _exit(1); } while (0)
#define REQUIRE_EQ(got, want) do { if (!CHECK_EQ(got, want)) _exit(1); } while (0)

#define SKIP(...) do {								\
	snprintf(ktap_verdict->reason, sizeof(ktap_verdict->reason), __VA_ARGS__); \
	ktap_verdict->skipped = 1;						\
	_exit(KTAP_SKIPPED);							\
} while (0)

static inline unsigned long long ktap_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long long)ts.tv_sec * 1000000 + (unsigned long long)ts.tv_nsec / 1000;
}

static inline unsigned long long ktap_ms(void)
{
	return ktap_us() / 1000;
}

/* Wait for a process: its status, or -1 when it did not end in time. */
static inline int ktap_wait(pid_t pid, unsigned int ms)
{
	unsigned long long end = ktap_ms() + ms;
	int status;
	pid_t got;

	for (;;) {
		got = waitpid(pid, &status, WNOHANG);
		if (got == pid)
			return status;
		if (got < 0 && errno != EINTR)
			return -1;
		if (ktap_ms() > end)
			return -1;
		usleep(2000);
	}
}

/* How much slower than usual this kernel is: RMC_SLOW, of run_kselftest.sh */
static inline unsigned int ktap_slow(void)
{
	const char *s = getenv("RMC_SLOW");

	return s && atoi(s) > 0 ? (unsigned int)atoi(s) : 1;
}

/* Number of repetitions of something: fewer in a slow kernel */
static inline __attribute__((unused)) int ktap_rounds(int n)
{
	n /= (int)ktap_slow();
	return n ? n : 1;
}

/*
 * SIGTERM or SIGINT: kill the test, which is in its own process group, and exit when it has
 * released all it held, so that the module can be unloaded.
 */
static inline void ktap_stop(int sig)
{
	static const char why[] = ": told to stop\n";
	pid_t pid = ktap_child;
	struct iovec said[] = {
		{ "# ", 2 }, { (void *)ktap_name, pid > 0 ? strlen(ktap_name) : 0 },
		{ (void *)why, sizeof(why) - 1 },
	};

	if (pid > 0) {
		kill(-pid, SIGKILL);
		if (writev(STDOUT_FILENO, said, 3) > 0)
			ktap_wait(pid, KTAP_GRACE * 1000);
	}
	_exit(128 + sig);
}

/* Returns false when the process cannot be killed: further tests are pointless. */
static inline int ktap_run(struct ktap_test *t, int number, int *failed)
{
	unsigned int seconds = t->seconds * ktap_slow();
	int status, gone = 1;
	pid_t pid;

	memset(ktap_verdict, 0, sizeof(*ktap_verdict));
	ktap_name = t->name;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		t->fn();
		_exit(0);
	}
	setpgid(pid, pid);
	ktap_child = pid;
	status = ktap_wait(pid, seconds * 1000);
	if (status < 0) {
		ktap_say("not done after %u s", seconds);
		ktap_fail();
		kill(-pid, SIGKILL);
		gone = ktap_wait(pid, KTAP_GRACE * 1000) >= 0;
	} else if (WIFSIGNALED(status)) {
		ktap_say("killed by signal %d", WTERMSIG(status));
		ktap_fail();
	} else if (WEXITSTATUS(status) && !ktap_verdict->skipped) {
		ktap_fail();
	}
	ktap_child = 0;
	kill(-pid, SIGKILL);	/* helpers that it left behind */

	if (ktap_failures())
		printf("not ok %d %s\n", number, t->name);
	else if (ktap_verdict->skipped)
		printf("ok %d %s # SKIP %s\n", number, t->name, ktap_verdict->reason);
	else
		printf("ok %d %s\n", number, t->name);
	fflush(stdout);
	*failed = !!ktap_failures();
	if (!gone)
		printf("Bail out! %s: its process cannot be killed\n", t->name);
	return gone;
}

static inline int ktap_wanted(const struct ktap_test *t, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(t->name, argv[i]))
			return 1;
	return argc < 2;
}

/* Arguments are names of the tests to run; none: all. */
static inline int ktap_main(int argc, char **argv, const char *(*missing)(void))
{
	int failed = 0, n = 0, bad;
	struct ktap_test *t;
	const char *reason;

	ktap_verdict = mmap(NULL, sizeof(*ktap_verdict), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	signal(SIGTERM, ktap_stop);
	signal(SIGINT, ktap_stop);
	printf("KTAP version 1\n");
	reason = missing();
	if (reason) {
		printf("1..0 # SKIP %s\n", reason);
		return KTAP_SKIPPED;
	}
	for (t = ktap_first; t; t = t->next)
		n += ktap_wanted(t, argc, argv);
	printf("1..%d\n", n);
	for (n = 0, t = ktap_first; t; t = t->next) {
		if (!ktap_wanted(t, argc, argv))
			continue;
		if (!ktap_run(t, ++n, &bad))
			return 1;
		failed += bad;
	}
	return !!failed;
}

#define KTAP_MAIN(missing)							\
	int main(int argc, char **argv)						\
	{									\
		return ktap_main(argc, argv, missing);				\
	}

#endif
