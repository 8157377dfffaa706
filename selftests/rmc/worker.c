// SPDX-License-Identifier: GPL-2.0
/* Where workers run, and which CPUs they interrupt when they park. */
#include <time.h>
#include "common.h"

#define WORKER		SYSFS "/worker0"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void run_anywhere(const cpu_set_t *all)
{
	REQUIRE(!sched_setaffinity(0, sizeof(*all), all));
}

static void wake(const struct rmc_qp *qp, struct rmc_ctx *ctx)
{
	struct rmc_qp_id id = { .size = sizeof(id), .qp_id = qp->id };

	REQUIRE(!ioctl(rmc_fd(ctx), RMC_IOC_WAKE, &id));
}

/*
 * Make the worker park repeatedly for this long, while this process polls without a pause. With
 * work in this many queue pairs at once its thread is woken, rather than polled inline.
 */
static void make_it_park(double seconds)
{
	enum { QPS = 20 };
	struct rmc_qp *q[QPS];
	unsigned int round = 0;
	struct end e;
	double end;
	int i;

	end_open(&e, CTX, 1, 0, PAGE, 8);
	for (i = 0; i < QPS; i++) {
		q[i] = rmc_qp_create(e.ctx, 4);
		REQUIRE(q[i]);
	}
	for (end = now() + seconds; now() < end; round++) {
		/*
		 * Short sleeps make the worker wait longer before the next one, on a busy
		 * machine longer than a short pause. A long pause ends that.
		 */
		double next = now() + (round % 8 ? 1.5e-3 : 30e-3);

		while (now() < next)
			;
		for (i = 0; i < QPS; i++)
			rmc_notify_async(q[i], rmc_wait_for_slot(q[i], NULL), 1);
		wake(q[0], e.ctx);
		for (i = 0; i < QPS; i++)
			while (!rmc_poll_cq(q[i], NULL))
				;
	}
	end_close(&e);
}

static void owner_on(int cpu, double seconds)
{
	pid_t pid;

	run_on(cpu);
	pid = helper();
	if (!pid) {
		make_it_park(seconds);
		_exit(0);
	}
	REQUIRE(helper_ok(pid));
}

static int is_uml(void)
{
	char text[256] = "";
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strstr(text, "User Mode Linux") != NULL;
}

/*
 * A worker does not interrupt CPUs without a process that can publish to its queue pairs. Each
 * interrupt is counted where it arrives.
 */
TEST_WITHIN(parks_interrupt_owners_only, 60)
{
	long long parks = workers_sum("parks"), interrupts = workers_sum("interrupts");
	int there = (int)file_number(WORKER "/cpu", "");
	cpu_set_t all;

	REQUIRE(!sched_getaffinity(0, sizeof(all), &all));
	if (CPU_COUNT(&all) < 2)
		SKIP("one CPU");
	if (is_uml())
		SKIP("User-Mode Linux does not say where a process runs");
	REQUIRE(interrupts >= 0);
	owner_on(there, 1);
	run_anywhere(&all);
	CHECK(workers_sum("parks") - parks >= 3);
	CHECK_EQ(workers_sum("interrupts") - interrupts, 0);
}

/* It interrupts the others at a limited rate, whatever a user of the worker does. */
TEST_WITHIN(interrupts_are_bounded, 60)
{
	long long parks = workers_sum("parks"), interrupts = workers_sum("interrupts");
	long long workers = 0, seen;
	double start = now(), took;
	int cpu, rounds = 5;
	cpu_set_t all;
	char path[64];

	REQUIRE(!sched_getaffinity(0, sizeof(all), &all));
	cpu = other_cpu(&all, (int)file_number(WORKER "/cpu", ""));
	if (cpu < 0)
		SKIP("one CPU");
	while (snprintf(path, sizeof(path), SYSFS "/worker%lld/cpu", workers),
	       !access(path, F_OK))
		workers++;
	/* a busy machine may not run the worker for seconds */
	do {
		owner_on(cpu, 2);
		seen = workers_sum("interrupts") - interrupts;
	} while (!seen && --rounds);
	took = now() - start;
	run_anywhere(&all);
	parks = workers_sum("parks") - parks;
	interrupts = seen;
	ktap_say("%lld parks and %lld interrupts in %.1f s", parks, interrupts, took);
	/* some are necessary: nothing else makes the process see that need_wakeup is set */
	CHECK(interrupts > 0);
	CHECK(interrupts <= (long long)((double)workers * (16 + took * 250)));
}

static const char *online_file(int cpu)
{
	static char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return path;
}

static int set_online(int cpu, const char *value)
{
	int fd = open(online_file(cpu), O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, value, 1);
	close(fd);
	return n == 1 ? 0 : -1;
}

static void reads(struct end *e, int count)
{
	while (count--)
		REQUIRE_EQ(rmc_read(e->qp, 0, 0, e->buf, 64), RMC_S_OK);
}

/* sysfs and the queue pair's flags both give the CPU that the thread may run on. */
static void check_place(const struct end *e, int cpu)
{
	CHECK_EQ(file_number(WORKER "/cpu", ""), cpu);
	CHECK_EQ((int)rmc_load_relaxed(&e->qp->flags->worker_cpu), cpu);
}

TEST_WITHIN(worker_moves_when_its_cpu_goes, 120)
{
	int home = (int)file_number(WORKER "/cpu", ""), i, moved;
	struct end owner, user;
	uint32_t shared;
	cpu_set_t all;
	pid_t pid;

	REQUIRE(!sched_getaffinity(0, sizeof(all), &all));
	if (access(online_file(home), W_OK))
		SKIP("CPU %d, where the worker is, cannot go offline", home);
	end_open(&owner, CTX, 0, PAGE, 0, 0);
	end_open(&user, CTX, 1, 0, PAGE, 8);
	check_place(&user, home);
	shared = user.qp->flags->shared_cpu;
	/* traffic all the time */
	pid = helper();
	if (!pid) {
		struct end e;

		end_open(&e, CTX, 2, 0, PAGE, 8);
		for (;;)
			reads(&e, 1);
	}
	for (i = 0; i < 3; i++) {
		if (set_online(home, "0")) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			SKIP("CPU %d does not go offline: %s", home, strerror(errno));
		}
		moved = (int)file_number(WORKER "/cpu", "");
		CHECK(moved != home);
		check_place(&user, moved);
		/* with one CPU left, the worker shares it */
		if (CPU_COUNT(&all) == 2)
			CHECK_EQ(user.qp->flags->shared_cpu, 1);
		reads(&user, 200);
		REQUIRE(!set_online(home, "1"));
		check_place(&user, home);
		CHECK_EQ(user.qp->flags->shared_cpu, shared);
		reads(&user, 200);
		/* a queue pair created now has the same in its flags */
		end_close(&user);
		end_open(&user, CTX, 1, 0, PAGE, 8);
		check_place(&user, home);
	}
	CHECK_EQ(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	end_close(&user);
	end_close(&owner);
}

KTAP_MAIN(suite_missing)
