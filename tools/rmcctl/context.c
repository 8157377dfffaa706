/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl context: contexts of this kernel, their owners and modes. */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../../lib/internal.h"
#include "rmcctl.h"

#define DEFAULT_MODE	0660

static unsigned int max_contexts(struct rmc_ctx *control)
{
	struct rmc_query q = { .size = sizeof(q) };

	return rmc_call(control, RMC_IOC_QUERY, &q) ? 0 : q.max_contexts;
}

static unsigned int context_id(const char *s)
{
	char *end;
	unsigned long id = strtoul(s, &end, 10);

	if (*s < '0' || *s > '9' || *end || id > INT_MAX)
		die(EXIT_USAGE, "'%s' is not a context id", s);
	return (unsigned int)id;
}

static unsigned int number_or(const char *s, int *is_name)
{
	char *end;
	unsigned long id;

	errno = 0;
	id = strtoul(s, &end, 10);
	*is_name = *s < '0' || *s > '9' || *end || errno || id >= UINT_MAX;
	return (unsigned int)id;
}

static unsigned int user_id(const char *s)
{
	const struct passwd *pw;
	int is_name;
	unsigned int id = number_or(s, &is_name);

	if (!is_name)
		return id;
	pw = getpwnam(s);
	if (!pw)
		die(EXIT_USAGE, "no user '%s' on this machine; a number is fine, too", s);
	return pw->pw_uid;
}

static unsigned int group_id(const char *s)
{
	const struct group *gr;
	int is_name;
	unsigned int id = number_or(s, &is_name);

	if (!is_name)
		return id;
	gr = getgrnam(s);
	if (!gr)
		die(EXIT_USAGE, "no group '%s' on this machine; a number is fine, too", s);
	return gr->gr_gid;
}

static int create(int argc, char **argv)
{
	int mode = DEFAULT_MODE;
	const char *uid = NULL, *gid = NULL;
	const char *usage = "rmcctl context create [options] ID";
	const struct opt opts[] = {
		{ 'm', "mode", OPT_OCTAL, &mode, 0, 0777, "MODE", "permissions (default 0660)" },
		{ 'u', "uid", OPT_STRING, &uid, 0, 0, "USER",
			"owner, name or number (default 0; rmcd: the caller)" },
		{ 'g', "gid", OPT_STRING, &gid, 0, 0, "GROUP",
			"group, name or number (default 0; rmcd: the caller's)" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable result" },
		{ 0 },
	};
	struct rmc_ctx_create arg = { .size = sizeof(arg) };
	struct rmc_ctx *control;
	int i;

	/* The id may come before the options, too. */
	if (argc > 2 && argv[1][0] != '-') {
		char *id = argv[1];

		memmove(&argv[1], &argv[2], (size_t)(argc - 2) * sizeof(*argv));
		argv[argc - 1] = id;
	}
	i = opt_parse(argc, argv, opts, usage);
	if (i != argc - 1)
		die(EXIT_USAGE, "usage: %s", usage);
	arg.ctx_id = context_id(argv[i]);
	arg.mode = (unsigned int)mode;
	arg.uid = uid ? user_id(uid) : 0;
	arg.gid = gid ? group_id(gid) : 0;
	control = open_control();
	/* a daemon's administrator need not be root, and would lock himself out */
	if (!uid && ctl_is_daemon())
		arg.uid = geteuid();
	if (!gid && ctl_is_daemon())
		arg.gid = getegid();
	if (rmc_call(control, RMC_IOC_CTX_CREATE, &arg)) {
		if (errno == EEXIST)
			die(EXIT_FAILED, "context %u exists already", arg.ctx_id);
		if (errno == EINVAL || errno == ENOSPC)
			die(EXIT_FAILED, "context %u: %s has contexts 0 .. %u", arg.ctx_id,
			    ctl_is_daemon() ? "this rmcd" : "this kernel",
			    max_contexts(control) - 1);
		if (errno == EPERM || errno == EACCES)
			die(EXIT_FAILED, "only the administrator creates contexts: run rmcctl %s",
			    ctl_admin());
		die(EXIT_FAILED, "cannot create context %u: %s", arg.ctx_id, strerror(errno));
	}
	ctl_report("context", argv[i], "created");
	return EXIT_OK;
}

static int remove_ctx(int argc, char **argv)
{
	const char *usage = "rmcctl context remove ID";
	const struct opt opts[] = {
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable result" },
		{ 0 },
	};
	struct rmc_ctx_remove arg = { .size = sizeof(arg) };
	int i = opt_parse(argc, argv, opts, usage);

	if (i != argc - 1)
		die(EXIT_USAGE, "usage: %s", usage);
	arg.ctx_id = context_id(argv[i]);
	if (rmc_call(open_control(), RMC_IOC_CTX_REMOVE, &arg)) {
		if (errno == ENOENT || errno == EINVAL)
			die(EXIT_FAILED, "no context %u: rmcctl context list shows them",
			    arg.ctx_id);
		if (errno == EBUSY && ctl_is_daemon())
			die(EXIT_FAILED, "context %u is in use: end the programs that have it open, rmcctl context list counts them",
			    arg.ctx_id);
		if (errno == EBUSY)
			die(EXIT_FAILED, "context %u is in use: fuser " RMC_CTX_DIR "/%u shows by whom",
			    arg.ctx_id, arg.ctx_id);
		if (errno == EPERM || errno == EACCES)
			die(EXIT_FAILED, "only the administrator removes contexts: run rmcctl %s",
			    ctl_admin());
		die(EXIT_FAILED, "cannot remove context %u: %s", arg.ctx_id, strerror(errno));
	}
	ctl_report("context", argv[i], "removed");
	return EXIT_OK;
}

int context_access(const char *name, unsigned int id, struct context_access *a)
{
	char path[64], mode[SYSFS_VALUE];
	uint64_t uid, gid;
	struct stat st;

	if (ctl_is_daemon()) {
		if (sysfs_string(mode, SYSFS_CONTEXTS "/%s/mode", name) ||
		    sysfs_u64(&uid, SYSFS_CONTEXTS "/%s/uid", name) ||
		    sysfs_u64(&gid, SYSFS_CONTEXTS "/%s/gid", name))
			return -1;
		a->mode = (unsigned int)strtoul(mode, NULL, 8);
		a->uid = (unsigned int)uid;
		a->gid = (unsigned int)gid;
		return 0;
	}
	snprintf(path, sizeof(path), RMC_CTX_DIR "/%u", id);
	if (stat(path, &st))
		return -1;
	a->mode = st.st_mode & 07777;
	a->uid = st.st_uid;
	a->gid = st.st_gid;
	return 0;
}

static int list(int argc, char **argv)
{
	const struct opt opts[] = {
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable list" },
		{ 0 },
	};
	struct sysfs_names names;
	struct json j;
	unsigned int i;

	if (opt_parse(argc, argv, opts, "rmcctl context list [--json]") != argc)
		die(EXIT_USAGE, "usage: rmcctl context list [--json]");
	need_driver();
	names = sysfs_list("rmcctx", SYSFS_CONTEXTS);
	json_init(&j, stdout);
	if (ctl_json) {
		json_object(&j, NULL);
		json_array(&j, "contexts");
	} else if (names.count) {
		printf("%-8s %-6s %-8s %-8s %s\n", "context", "mode", "uid", "gid", "open");
	} else {
		printf("no contexts: rmcctl context create ID makes one\n");
	}
	for (i = 0; i < names.count; i++) {
		struct context_access a;
		uint64_t id, opens;
		int have;

		if (sysfs_u64(&id, SYSFS_CONTEXTS "/%s/ctx_id", names.name[i]))
			id = strtoull(names.name[i] + strlen("rmcctx"), NULL, 10);
		sysfs_u64(&opens, SYSFS_CONTEXTS "/%s/open_count", names.name[i]);
		have = !context_access(names.name[i], (unsigned int)id, &a);
		if (ctl_json) {
			json_object(&j, NULL);
			json_uint(&j, "id", id);
			if (have) {
				json_uint(&j, "mode", a.mode);
				json_uint(&j, "uid", a.uid);
				json_uint(&j, "gid", a.gid);
			}
			json_uint(&j, "open", opens);
			json_end_object(&j);
		} else if (have) {
			printf("%-8u %04o   %-8u %-8u %u\n", (unsigned int)id, a.mode,
			       a.uid, a.gid, (unsigned int)opens);
		} else {
			printf("%-8u -      -        -        %u\n", (unsigned int)id,
			       (unsigned int)opens);
		}
	}
	if (ctl_json) {
		json_end_array(&j);
		json_end_object(&j);
	}
	sysfs_names_free(&names);
	return EXIT_OK;
}

int cmd_context(int argc, char **argv)
{
	if (argc >= 2 && !strcmp(argv[1], "create"))
		return create(argc - 1, argv + 1);
	if (argc >= 2 && !strcmp(argv[1], "remove"))
		return remove_ctx(argc - 1, argv + 1);
	if (argc >= 2 && !strcmp(argv[1], "list"))
		return list(argc - 1, argv + 1);
	if (argc >= 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		printf("usage: rmcctl context create [--mode MODE] [--uid USER] [--gid GROUP] ID\n"
		       "       rmcctl context remove ID\n"
		       "       rmcctl context list\n");
		return EXIT_OK;
	}
	die(EXIT_USAGE, "rmcctl context create ID | remove ID | list");
}
