// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * For LD_PRELOAD: a user and a group that are not in /etc/passwd and /etc/group, like those
 * of a directory service.
 */
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <string.h>

#define NAME	"only-in-the-directory"

struct passwd *getpwnam(const char *name)
{
	static struct passwd user = { .pw_name = NAME, .pw_uid = 12345, .pw_gid = 12345 };

	return strcmp(name, NAME) ? NULL : &user;
}

struct group *getgrnam(const char *name)
{
	static struct group group = { .gr_name = NAME, .gr_gid = 12345 };

	return strcmp(name, NAME) ? NULL : &group;
}
