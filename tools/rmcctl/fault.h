/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The driver's files in debugfs, or what a daemon has there: lines of "name=value". */
#ifndef RMCCTL_FAULT_H
#define RMCCTL_FAULT_H

#include <stdio.h>
#include "rmcctl.h"

/* Write a line, or exit with the reason. */
void ctl_fault_write(const char *name, const char *line);

/* The same for who knows better reasons: 0 or errno */
int ctl_fault_try(const char *name, const char *line);

/*
 * After a change that may make a filter idle: wait until those that have lost packets of ordered queue
 * pairs are removed. Returns "waits" if one stays for longer than its sender should need, after
 * saying so, or else what the caller would report.
 */
const char *ctl_fault_settle(const char *report);

/* What a file says; exits with the reason if there is none */
FILE *ctl_fault_read(const char *name);

/* Print it: as objects of a JSON array of this name, or unchanged without @j. Closes the file */
void ctl_fault_print(struct json *j, const char *name, FILE *f);

/* A command's show: the file alone. An exit status */
int ctl_fault_show(const char *name);

/* "500ns", "2.5us", "1ms", "1s", or microseconds: nanoseconds; 0 without a text */
unsigned long long ctl_duration(const char *option, const char *text);
/* The same in picoseconds */
unsigned long long ctl_picoseconds(const char *option, const char *text);

#endif
