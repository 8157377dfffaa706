/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Whose state it is, the module's or a daemon's; and reading and changing a daemon's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../lib/internal.h"
#include "../../lib/driver/protocol.h"
#include "rmcctl.h"

/* Open for the rest of the program, once it is needed */
static struct rmc_ctx *control;

static struct rmc_ctx *connect_once(void)
{
	if (!control)
		control = rmc_driver_control();
	return control;
}

/*
 * As the library chooses, but a module that has sysfs, or a test's tree, needs no permission to
 * open the control device. So rmc_open() takes the same one afterwards.
 */
static int choose_daemon(void)
{
	const char *device = secure_getenv("RMC_DEVICE");

	if (device && *device)
		return strcmp(device, "module") != 0;
	if (getenv("RMC_SYSFS") || getenv("RMC_DEBUGFS") || !access("/sys/" SYSFS_RMC, F_OK)) {
		setenv("RMC_DEVICE", "module", 1);
		return 0;
	}
	if (connect_once())
		return control->driver == &rmc_driver_daemon;
	/* there is one, but it is not for us */
	return errno != ENOENT && access(RMC_CONTROL_DEVICE, F_OK);
}

int ctl_is_daemon(void)
{
	static int known, daemon;

	if (!known)
		daemon = choose_daemon();
	known = 1;
	return daemon;
}

struct rmc_ctx *ctl_control(void)
{
	ctl_is_daemon();
	return connect_once();
}

struct rmc_ctx *open_control(void)
{
	struct rmc_ctx *ctx = ctl_control();

	if (!ctx)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	return ctx;
}

const char *ctl_admin(void)
{
	return ctl_is_daemon() ? "as root or as the user who runs rmcd" : "as root";
}

void need_driver(void)
{
	if (ctl_is_daemon())
		open_control();
	else if (!sysfs_exists(SYSFS_RMC))
		die(EXIT_FAILED, "the rmc module is not loaded: modprobe rmc (or insmod rmc.ko), or start rmcd, then try again");
}

/* 0, or -1 with errno */
static int call(unsigned long request, const char *path, struct rmcd_attr *a)
{
	struct rmc_ctx *ctx = ctl_control();

	if (!ctx)
		return -1;
	if (strlen(path) >= sizeof(a->path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(a->path, path);
	if (!rmc_call(ctx, request, a))
		return 0;
	/* what has been printed so far would look like all there is */
	if (errno == ESHUTDOWN || errno == EPROTO)
		die(EXIT_FAILED, "%s", rmc_why(ctx));
	return -1;
}

int daemon_read(const char *path, char *value, size_t len)
{
	struct rmcd_attr a = { .offset = 0 };
	size_t n;

	*value = '\0';
	if (call(RMCD_ATTR_READ, path, &a))
		return -1;
	n = strnlen(a.value, sizeof(a.value));
	if (n > len - 1)
		n = len - 1;
	while (n > 0 && (a.value[n - 1] == '\n' || a.value[n - 1] == ' '))
		n--;
	memcpy(value, a.value, n);
	value[n] = '\0';
	return 0;
}

int daemon_write(const char *path, const char *value)
{
	struct rmcd_attr a = { .offset = 0 };

	if (strlen(value) >= sizeof(a.value)) {
		errno = EINVAL;
		return -1;
	}
	strcpy(a.value, value);
	return call(RMCD_ATTR_WRITE, path, &a);
}

int daemon_lines(const char *path, void (*line)(char *text, void *arg), void *arg)
{
	unsigned int offset = 0;

	for (;;) {
		struct rmcd_attr a = { .offset = offset };
		char *word, *next;

		if (call(RMCD_ATTR_LIST, path, &a))
			return -1;
		if (!a.count)
			return 0;
		offset += a.count;
		a.value[sizeof(a.value) - 1] = '\0';
		for (word = strtok_r(a.value, "\n", &next); word; word = strtok_r(NULL, "\n", &next))
			line(word, arg);
	}
}

int daemon_exists(const char *path)
{
	struct rmcd_attr a = { .offset = 0 };

	return !call(RMCD_ATTR_READ, path, &a) || !call(RMCD_ATTR_LIST, path, &a);
}
