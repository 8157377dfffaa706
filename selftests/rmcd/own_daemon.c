// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * For the library's test programs, in place of selftests/lib/fake_driver.c: what of its controls
 * a real RMC has. A program of one process gets a daemon of its own, which it may kill: RMCD is
 * the program to start. Without RMCD it uses the daemon of RMC_DEVICE.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fake_driver.h"
#include "raw.h"

/* Tests that set these make no sense here, and are not run. */
int fake_timeouts, fake_timeouts_arrive, fake_worker_apart, fake_shared_cpu = 1, fake_slow_ms;
unsigned int fake_yields, fake_changed;

static void start(void)
{
	static const char * const options[] = { "-n", "2", "--ni", "fused", NULL };

	start_daemon(getenv("RMCD"), options);
	setenv("RMC_DEVICE", daemon_socket, 1);
}

/* Nobody counts them. A teardown that took something would be missed afterwards. */
unsigned int fake_foreign_teardowns(void)
{
	return 0;
}

/* The daemon is killed, and another one takes its place. */
void fake_kill_queue_pairs(void)
{
	kill(daemon_pid, SIGKILL);
	stop_daemon();
	start();
}

__attribute__((constructor)) static void before(void)
{
	if (getenv("RMCD"))
		start();
}

__attribute__((destructor)) static void after(void)
{
	if (daemon_pid && !daemon_ended_well()) {
		fflush(NULL);
		_exit(1);
	}
}
