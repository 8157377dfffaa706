/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl: the commands, and access to the driver's state. */
#ifndef RMCCTL_H
#define RMCCTL_H

#include <stdint.h>
#include "json.h"
#include "opt.h"

#define RMC_CONTROL_DEVICE	"/dev/rmc"

/* --json was given, before or after the command; it is removed from the line. */
extern int ctl_json;

/* With --json: an object {object: name, "result": result}; numbers as numbers. */
void ctl_report(const char *object, const char *name, const char *result);

/* Every command gets its own name as argv[0], and returns an exit code. */
int cmd_context(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_counters(int argc, char **argv);
int cmd_node(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_fault(int argc, char **argv);
int cmd_model(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

/*
 * sysfs. Paths are relative to the mount point, which the environment variable
 * RMC_SYSFS replaces in tests. A kernel of another version may lack files: reads
 * then return -1, and callers show the files that exist.
 */
#define SYSFS_RMC	"class/misc/rmc"
#define SYSFS_CONTEXTS	"class/rmc_context"
#define SYSFS_PCI	"bus/pci/devices"

#define SYSFS_VALUE	128	/* bytes of one attribute value, with its NUL */
#define SYSFS_NAME	64

struct sysfs_names {
	unsigned int count;
	char (*name)[SYSFS_NAME];
};

int sysfs_exists(const char *path);
int sysfs_string(char *value, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int sysfs_u64(uint64_t *value, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Write a value: 0, or -1 and errno */
int sysfs_write(const char *path, const char *value);

/*
 * Entries of a directory that begin with prefix, numbers in numeric order; none
 * when there is no directory.
 */
struct sysfs_names sysfs_list(const char *prefix, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sysfs_names_free(struct sysfs_names *names);

/* Open the control device, or exit with the reason and the remedy. */
int open_control(void);

/* Exit unless the driver is loaded. */
void need_driver(void);

#endif /* RMCCTL_H */
