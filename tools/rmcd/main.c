// SPDX-License-Identifier: GPL-2.0
/* rmcd: start, control socket, end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "context.h"
#include "guard.h"
#include "holes.h"
#include "lost.h"
#include "received.h"
#include "server.h"
#include "tx.h"
#include "watch.h"
#include "watchdog.h"

#define BACKLOG		128
#define PATH_BYTES	512
/* A daemon that starts waits this long for the end of the one before it */
#define LOCK_MS		1000

static struct rmcd rmcd = { .watch_lock = PTHREAD_MUTEX_INITIALIZER };

static void log_line(const char *fmt, va_list ap)
{
	char line[1024];
	int n;

	n = snprintf(line, sizeof(line), "rmcd: ");
	n += vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	n = min(n, (int)sizeof(line) - 2);
	if (line[n - 1] != '\n')
		line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

void rmcd_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(fmt, ap);
	va_end(ap);
}

/* messages of kmod/fabric/region.c */
void rmcd_log_kernel(const char *fmt, ...);
void rmcd_log_kernel(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(fmt, ap);
	va_end(ap);
}

/* ---- the socket ---- */

/* $XDG_RUNTIME_DIR/rmc, /run/rmc of root, or /tmp/rmc-UID: as librmc searches it */
static void default_socket(char *path, size_t len)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (!geteuid())
		snprintf(path, len, "/run/rmc/socket");
	else if (runtime && *runtime)
		snprintf(path, len, "%s/rmc/socket", runtime);
	else
		snprintf(path, len, "/tmp/rmc-%u/socket", geteuid());
}

/* The directory of the default socket: ours, and nobody else can replace what is in it. */
static int make_directory(const char *path)
{
	char dir[PATH_BYTES], *slash;
	const char *why;
	struct stat st;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	*slash = '\0';
	if (mkdir(dir, geteuid() ? 0700 : 0755) && errno != EEXIST)
		return -errno;
	if (lstat(dir, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		why = "is no directory";
	else if (st.st_uid != geteuid())
		why = "belongs to another user";
	else if (st.st_mode & 022)
		why = "can be written by others";
	else
		return 0;
	rmcd_log("%s %s, so others could take the socket's place: remove it, or give --socket or another XDG_RUNTIME_DIR",
		 dir, why);
	return -EPERM;
}

static void say_why(int err, const char *path)
{
	if (err == -EADDRINUSE)
		rmcd_log("a daemon runs at %s already: give another --socket", path);
	else if (err == -ENOTSOCK)
		rmcd_log("%s is there and no socket: remove it, or give another --socket", path);
	else
		rmcd_log("cannot listen at %s: %s", path, strerror(-err));
}

/*
 * Two daemons do not fight for a path; it is free again when the holder ends. The guard of one
 * that was killed holds it for a moment more.
 */
static int lock_path(const char *path)
{
	char lock[PATH_BYTES + 8];
	int fd, patience_ms;

	snprintf(lock, sizeof(lock), "%s.lock", path);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	for (patience_ms = LOCK_MS; flock(fd, LOCK_EX | LOCK_NB); patience_ms -= 10) {
		if (patience_ms <= 0) {
			close(fd);
			return -EADDRINUSE;
		}
		usleep(10000);
	}
	return fd;
}

static int make_listener(const char *path, int *lock)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat st;
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	/* before there is a lock, which would stay */
	if (!lstat(path, &st) && !S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	*lock = lock_path(path);
	if (*lock < 0)
		return *lock;
	/* bind() refuses what somebody else has made meanwhile */
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode))
		unlink(path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		goto err_socket;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		goto err_bind;
	/* contexts have the access control; others cannot enter the directory of a user */
	if (chmod(path, 0666) || listen(fd, BACKLOG))
		goto err_listen;
	return fd;

err_listen:
	err = errno;
	unlink(path);
	errno = err;
err_bind:
	err = errno;
	close(fd);
	errno = err;
err_socket:
	err = -errno;
	close(*lock);
	return err;
}

/* ---- contexts of the command line ---- */

static int make_contexts(struct rmcd *d, const char *list)
{
	const char *s = list;
	int used, err;

	for (;;) {
		struct rmc_ctx_create c = { .mode = 0600, .uid = geteuid(), .gid = getegid() };

		if (sscanf(s, "%u%n", &c.ctx_id, &used) != 1)
			break;
		s += used;
		if (*s == ':' && sscanf(s, ":%o%n", &c.mode, &used) == 1)
			s += used;
		if (*s == ':' && sscanf(s, ":%u%n", &c.uid, &used) == 1)
			s += used;
		if (*s == ':' && sscanf(s, ":%u%n", &c.gid, &used) == 1)
			s += used;
		if (*s && *s != ',')
			break;
		err = rmcd_context_create(d, &c);
		if (err)
			break;
		if (!*s++)
			return 0;
	}
	rmcd_log("--contexts %s will not do: give a list like 0,1:0666, ids below %u", list,
		 RMC_MAX_CONTEXTS);
	return -EINVAL;
}

/* ---- the region ---- */

static int make_region(const struct rmcd_config *cfg)
{
	int fd = open(cfg->fabric.region, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), err = 0;

	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	if (ftruncate(fd, cfg->region_size))
		err = -errno;
	close(fd);
	return err;
}

/* ---- start and end ---- */

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	/* a queue larger than RLIMIT_FSIZE is refused instead */
	signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Each queue pair takes descriptors. */
static void raise_limits(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl))
		return;
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
}

static int run(struct rmcd *d, int signals)
{
	const char *path = d->cfg.socket;
	char standard[PATH_BYTES];
	int listener, lock = -1, err;

	err = make_contexts(d, d->cfg.contexts ?: "0");
	if (err)
		return err;
	if (!path) {
		default_socket(standard, sizeof(standard));
		path = standard;
		err = make_directory(path);
	}
	listener = err ?: make_listener(path, &lock);
	if (listener < 0) {
		say_why(listener, path);
		return listener;
	}
	err = rmcd_serve(d, listener, signals, d->cfg.stop_fd);
	unlink(path);
	close(listener);
	close(lock);
	return err;
}

int main(int argc, char **argv)
{
	struct rmcd *d = &rmcd;
	int signals, err;

	if (rmcd_config_parse(&d->cfg, argc, argv))
		return 2;
	raise_limits();
	signals = block_signals();
	d->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (signals < 0 || d->event < 0) {
		rmcd_log("cannot start: %s", strerror(errno));
		return 1;
	}
	err = d->cfg.fabric.region ? make_region(&d->cfg) : 0;
	if (err) {
		rmcd_log("cannot make --region %s: %s", d->cfg.fabric.region, strerror(-err));
		return 1;
	}
	rmcd_lost_init();
	rmcd_received_init();
	rmcd_holes_init();
	err = rmcd_watchdog_start(d);
	if (err) {
		rmcd_log("cannot start a thread: %s", strerror(-err));
		return 1;
	}
	if (rmcd_start(d))
		return 1;
	if (rmcd_guard_start())
		rmcd_log("without a guard: clients notice the end of this process late if it is killed");
	err = run(d, signals);
	rmcd_engines_exit(d);
	rmcd_contexts_free(d);
	rmcd_stop(d);
	rmcd_watchers_free(d);
	rmcd_watchdog_stop(d);
	rmcd_guard_stop();
	return err ? 1 : 0;
}
