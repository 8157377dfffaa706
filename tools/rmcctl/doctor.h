/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl doctor: what its files share. */
#ifndef RMCCTL_DOCTOR_H
#define RMCCTL_DOCTOR_H

#include "rmcctl.h"

enum verdict { OK, WARN, FAIL };

struct doctor {
	struct json *json;	/* NULL: text */
	int failed;
};

/* One line: what was checked, what was found, and what to do about it unless it is OK */
void say(struct doctor *d, enum verdict v, const char *check, const char *cure, const char *fmt,
	 ...) __attribute__((format(printf, 5, 6)));

/* Checks that module and daemon have in common */
void check_nodes(struct doctor *d);
void check_cpus(struct doctor *d);

/* doctor_daemon.c: the checks of a daemon */
void doctor_daemon(struct doctor *d);

#endif /* RMCCTL_DOCTOR_H */
