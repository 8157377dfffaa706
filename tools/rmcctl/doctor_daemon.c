/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl doctor over rmcd: is there one, for whom, and what it and this machine can do. */
#include <errno.h>
#include <linux/membarrier.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../../lib/internal.h"
#include "doctor.h"

#define GROUPS_MAX	256
#define PTRACE_SCOPE	"/proc/sys/kernel/yama/ptrace_scope"

/* Values of PTRACE_SCOPE: Documentation/admin-guide/LSM/Yama.rst of Linux */
#define SCOPE_RESTRICTED	1	/* a process may name who reads it: librmc names rmcd */
#define SCOPE_ADMIN		2	/* only with CAP_SYS_PTRACE */

/* "root", or "user 1000" where it has no name */
static void user_name(char *name, size_t len, unsigned int uid)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(name, len, "%s", pw->pw_name);
	else
		snprintf(name, len, "user %u", uid);
}

static int check_daemon(struct doctor *d, struct ucred *peer)
{
	struct rmc_ctx *control = ctl_control();
	struct rmc_query q = { .size = sizeof(q) };
	socklen_t len = sizeof(*peer);
	char name[64];

	if (!control) {
		say(d, FAIL, "daemon", "see RMC_DEVICE in rmcctl(8) for which socket it is",
		    "%s", rmc_errmsg());
		return -1;
	}
	if (getsockopt(control->socket, SOL_SOCKET, SO_PEERCRED, peer, &len)) {
		say(d, FAIL, "daemon", "report this", "%s has no owner: %s", control->path,
		    strerror(errno));
		return -1;
	}
	user_name(name, sizeof(name), peer->uid);
	say(d, OK, "daemon", NULL, "rmcd at %s, process %d of %s", control->path, (int)peer->pid,
	    name);
	if (rmc_call(control, RMC_IOC_QUERY, &q))
		say(d, FAIL, "control", "rmcd and tools of the same version?",
		    "rmcd does not answer queries: %s", strerror(errno));
	else if (q.abi != RMC_ABI_VERSION)
		say(d, FAIL, "control", "update the older one", "rmcd has ABI %u, rmcctl %u", q.abi,
		    RMC_ABI_VERSION);
	else if (geteuid() && geteuid() != peer->uid)
		say(d, WARN, "control", "run as root or as its user to administer contexts and nodes",
		    "ABI %u; you may not administer this rmcd", q.abi);
	else
		say(d, OK, "control", NULL, "ABI %u; you may administer contexts and nodes", q.abi);
	return 0;
}

static void check_fabric(struct doctor *d)
{
	char fabric[SYSFS_VALUE], ni[SYSFS_VALUE];
	uint64_t nodes, here;

	sysfs_string(fabric, SYSFS_RMC "/fabric");
	sysfs_string(ni, SYSFS_RMC "/ni");
	sysfs_u64(&nodes, SYSFS_RMC "/nodes");
	sysfs_u64(&here, SYSFS_RMC "/local_nodes");
	say(d, OK, "fabric", NULL, "%s, %u nodes, %u of them in this rmcd; NI %s", fabric,
	    (unsigned int)nodes, (unsigned int)here, ni);
}

/* As rmcd decides it */
static int may_open(const struct context_access *a)
{
	gid_t groups[GROUPS_MAX];
	int i, n = getgroups(GROUPS_MAX, groups), member = getegid() == a->gid;

	for (i = 0; i < n; i++)
		member |= groups[i] == a->gid;
	if (!geteuid())
		return 1;
	return (a->mode >> (geteuid() == a->uid ? 6 : member ? 3 : 0) & 6) == 6;
}

static void check_contexts(struct doctor *d)
{
	struct sysfs_names names = sysfs_list("rmcctx", SYSFS_CONTEXTS);
	char mine[128] = "";
	unsigned int i, count = 0;
	size_t used = 0;

	for (i = 0; i < names.count; i++) {
		struct context_access a;

		if (context_access(names.name[i], 0, &a) || !may_open(&a))
			continue;
		count++;
		if (used < sizeof(mine))
			used += (size_t)snprintf(mine + used, sizeof(mine) - used, "%s%s",
						 used ? "," : "",
						 names.name[i] + strlen("rmcctx"));
	}
	if (!names.count)
		say(d, WARN, "contexts", "rmcctl context create 0 --mode 0666",
		    "none: applications have nothing to open");
	else if (!count)
		say(d, WARN, "contexts", "create one with --mode, --uid or --gid, or start rmcd with --contexts ID:MODE",
		    "%u, none of which you may open", names.count);
	else
		say(d, OK, "contexts", NULL, "%u, you may open %u: %s%s", names.count, count, mine,
		    used >= sizeof(mine) ? " ..." : "");
	sysfs_names_free(&names);
}

/*
 * What rmcd runs before a worker sleeps, here: the same kernel, the same sandbox perhaps. Workers
 * of an rmcd that has none sleep a millisecond at most; others rely on clients' registration.
 */
static void check_barrier(struct doctor *d)
{
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) &&
	    !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0))
		say(d, OK, "membarrier", NULL, "GLOBAL_EXPEDITED works: no doorbell is missed");
	else
		say(d, WARN, "membarrier", "allow membarrier(2) in the sandbox, or use Linux 4.16 or later",
		    "GLOBAL_EXPEDITED does not work here (%s): if rmcd has none either, a doorbell may be late by a millisecond; else it may be missed, and a program that only polls wait for ever",
		    strerror(errno));
}

/* -1: this kernel has no yama */
static int ptrace_scope(void)
{
	FILE *f = fopen(PTRACE_SCOPE, "r");
	int scope = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &scope) != 1)
		scope = -1;
	fclose(f);
	return scope;
}

static void check_private(struct doctor *d, const struct ucred *peer)
{
	int scope = ptrace_scope();
	const char *cure = "register whole pages, or memory of rmc_seg_alloc() and rmc_buf_alloc()";

	if (peer->uid != geteuid())
		say(d, WARN, "private", cure,
		    "rmcd is another user's: it takes no words on the stack, and no odd bytes");
	else if (scope > SCOPE_ADMIN || (scope > SCOPE_RESTRICTED && peer->uid))
		say(d, WARN, "private", "sysctl kernel.yama.ptrace_scope=1, or register whole pages",
		    "ptrace_scope is %d: rmcd cannot take words on the stack, or odd bytes", scope);
	else
		say(d, OK, "private", NULL, "rmcd copies words on the stack, and odd bytes around whole pages: slower than memory of rmc_buf_alloc()");
}

void doctor_daemon(struct doctor *d)
{
	struct ucred peer;

	if (check_daemon(d, &peer))
		return;
	check_fabric(d);
	check_nodes(d);
	check_cpus(d);
	check_contexts(d);
	check_barrier(d);
	check_private(d, &peer);
}
