// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Control of the daemon under test. A program of one process can have a daemon of its own, which
 * it may kill: RMCD is the program to start. Without RMCD it uses the daemon of RMC_DEVICE, whose
 * pid is in RMCD_PID for those who kill it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "control.h"
#include "raw.h"

static void start(void)
{
	static const char * const options[] = { "-n", "2", "--ni", "fused", NULL };

	start_daemon(getenv("RMCD"), options);
	setenv("RMC_DEVICE", daemon_socket, 1);
}

void control_faults(const char *arguments)
{
	const char *rmcctl = getenv("RMCCTL");
	char command[512];

	snprintf(command, sizeof(command), "%s fault %s", rmcctl ? rmcctl : "rmcctl", arguments);
	if (!system(command))
		return;
	printf("not ok - %s\n", command);
	exit(1);
}

void control_kill_daemon(void)
{
	const char *pid = getenv("RMCD_PID");

	if (daemon_pid) {
		kill(daemon_pid, SIGKILL);
		stop_daemon();
		start();
	} else if (!pid || kill(atoi(pid), SIGKILL)) {
		printf("not ok - RMCD_PID names no daemon\n");
		exit(1);
	}
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
