/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl: the commands, and access to the driver's state. */
#ifndef RMCCTL_H
#define RMCCTL_H

#include <stddef.h>
#include <stdint.h>
#include "json.h"
#include "opt.h"

#define RMC_CONTROL_DEVICE	"/dev/rmc"

/* --json was given, before or after the command; it is removed from the line. */
extern int ctl_json;

/* With --json: an object {object: name, "result": result}; numbers as numbers. */
void ctl_report(const char *object, const char *name, const char *result);

/* Numbers as numbers, anything else as a string */
void json_value(struct json *j, const char *name, const char *value);

/* Every command gets its own name as argv[0], and returns an exit code. */
int cmd_context(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_counters(int argc, char **argv);
int cmd_node(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_fault(int argc, char **argv);
int cmd_model(int argc, char **argv);
int cmd_rnic(int argc, char **argv);
int cmd_switch(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_domain(int argc, char **argv);

struct rmc_ctx;

/*
 * Whose state the commands show and change: the module's, or that of a daemon, which has the
 * same paths. RMC_DEVICE decides, else RMC_SYSFS and a loaded module come first. 1: a daemon,
 * which may not answer.
 */
int ctl_is_daemon(void);

/* The control device, for rmc_call(); NULL with errno and rmc_errmsg(). Stays open */
struct rmc_ctx *ctl_control(void);

/* The same, or exit with the reason and the remedy */
struct rmc_ctx *open_control(void);

/* Who may change things, to complete "run rmcctl ..." */
const char *ctl_admin(void);

/* Exit unless the module is loaded, or the daemon answers. */
void need_driver(void);

/* The daemon's side of the functions below: -1 and errno on failure */
int daemon_exists(const char *path);
int daemon_read(const char *path, char *value, size_t len);
int daemon_write(const char *path, const char *value);
/* Names of a directory, or lines of an attribute that has many of them */
int daemon_lines(const char *path, void (*line)(char *text, void *arg), void *arg);

/*
 * sysfs. Paths are relative to the mount point, which the environment variable
 * RMC_SYSFS replaces in tests. A kernel of another version, or a daemon, may lack files: reads
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

/* Each line of a file that has many; none when there is no such file */
void sysfs_lines(void (*line)(char *text, void *arg), void *arg, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Owner and permission bits of a context */
struct context_access {
	unsigned int mode;
	unsigned int uid;
	unsigned int gid;
};

/* Of context id, whose directory is SYSFS_CONTEXTS/name: 0, or -1: not known */
int context_access(const char *name, unsigned int id, struct context_access *a);

#endif /* RMCCTL_H */
