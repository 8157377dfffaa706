// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * rmc-agent - PID 1 of a guest: runs commands for the host.
 *
 *   host process <-> unix socket <-> QEMU <-> /dev/vportXpY <-> rmc-agent
 *   host process <-> unix socket <-> uml-guest <-> /dev/ttySK <-> rmc-agent
 *
 * One virtio-serial port carries one session: one host process at a time,
 * which may run several commands concurrently, identified by an id. When the
 * host process goes away, its commands here are killed. All frames are
 * {type, id, len} followed by len bytes; rmcvm/agent.py is the other end and
 * the two must be changed together.
 *
 * Single-threaded. Ports are watched edge-triggered (an unconnected port is
 * permanently readable with hang-up, level-triggered polling would spin);
 * the pipes of the commands are polled only while the port's output buffer
 * has room, so a slow host slows the command down and costs no memory.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum {
	NPORTS = 8,		/* sessions at once, = PORTS in agent.py */
	MAX_CMDS = 512,		/* commands at once, all sessions together */
	MAX_FRAME = 1 << 20,	/* longest frame taken from the host */
	OUT_HIGH = 256 << 10,	/* above this, commands' output waits */
	IN_WINDOW = 64 << 10,	/* stdin bytes the host sends unacknowledged */
	CHUNK = 16 << 10,	/* output bytes per frame */
	HANGUP_MS = 300,	/* unconnected for this long = session over */
};

enum frame_type {
	F_HELLO = 1,	/* both ways: nonce; the host's one ends the old session */
	F_EXEC,		/* host: struct exec_req, groups, strings */
	F_STDIN,	/* host: data, empty = end of file */
	F_SIGNAL,	/* host: int32 signal for the process group */
	F_STDOUT,	/* guest: data */
	F_STDERR,	/* guest: data */
	F_EXIT,		/* guest: int32 wait status */
	F_FAILED,	/* guest: int32 errno, text: what could not be done */
	F_ACK,		/* guest: uint32 stdin bytes consumed */
};

struct frame {
	uint32_t type;
	uint32_t id;
	uint32_t len;
};

/* Followed by uint32 groups[ngroups] and then, each ended by NUL:
 * cwd, argv[argc], env[envc], share[nshare].
 */
struct exec_req {
	uint64_t cpus;		/* affinity mask, 0 = leave alone */
	uint32_t uid;
	uint32_t gid;
	uint32_t argc;
	uint32_t envc;
	uint32_t ngroups;
	uint32_t nshare;
	uint32_t want_stdin;
	uint32_t zero;
};

struct buf {
	char *data;
	size_t len;
	size_t cap;
};

/*
 * The notice that the host process left or another came travels on a separate
 * queue and may be later than the data of the next session. So a hang-up only
 * counts when it lasts; a quick successor ends the old session by its F_HELLO.
 */
struct port {
	int fd;
	uint64_t hangup;	/* time of the next check, ms; 0 = connected */
	struct buf in;
	struct buf out;
};

struct cmd {
	pid_t pid;		/* 0 = free slot */
	struct port *port;	/* NULL = its session has ended, only reap it */
	uint32_t id;
	int in;			/* our ends of its pipes, -1 = closed */
	int out[2];
	struct buf input;
	bool input_eof;
};

static struct port ports[NPORTS];
static struct cmd cmds[MAX_CMDS];

/* Mount point of the host's unchanged file system. */
#define HOST_ROOT "/run/rmc/host"

static void say(const char *fmt, ...)
{
	va_list ap;

	fputs("rmc-agent: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void buf_add(struct buf *b, const void *data, size_t len)
{
	if (b->len + len > b->cap) {
		size_t cap = (b->len + len) * 2;
		char *p = realloc(b->data, cap);

		if (!p) {
			say("out of memory");
			abort();
		}
		b->data = p;
		b->cap = cap;
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void buf_eat(struct buf *b, size_t len)
{
	b->len -= len;
	memmove(b->data, b->data + len, b->len);
}

static void buf_free(struct buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* ---- to the host ---- */

static void port_flush(struct port *p)
{
	while (p->out.len) {
		ssize_t n = write(p->fd, p->out.data, p->out.len);

		if (n <= 0)
			return;	/* full or not connected: the next edge resumes */
		buf_eat(&p->out, n);
	}
}

static void port_send(struct port *p, uint32_t type, uint32_t id,
		      const void *data, uint32_t len)
{
	struct frame f = { type, id, len };

	buf_add(&p->out, &f, sizeof(f));
	buf_add(&p->out, data, len);
}

static void send_failed(struct port *p, uint32_t id, int err, const char *what)
{
	char msg[512];
	int32_t e = err;
	int n;

	memcpy(msg, &e, sizeof(e));
	n = snprintf(msg + sizeof(e), sizeof(msg) - sizeof(e), "%s", what);
	if (n > (int)(sizeof(msg) - sizeof(e) - 1))
		n = sizeof(msg) - sizeof(e) - 1;
	port_send(p, F_FAILED, id, msg, sizeof(e) + n);
}

/* ---- commands ---- */

static struct cmd *cmd_find(struct port *p, uint32_t id)
{
	for (int i = 0; i < MAX_CMDS; i++)
		if (cmds[i].pid && cmds[i].port == p && cmds[i].id == id)
			return &cmds[i];
	return NULL;
}

static void cmd_close(struct cmd *c)
{
	close_fd(&c->in);
	close_fd(&c->out[0]);
	close_fd(&c->out[1]);
	buf_free(&c->input);
}

/* The host process is gone: drop its output and kill its commands. */
static void port_reset(struct port *p)
{
	for (int i = 0; i < MAX_CMDS; i++) {
		struct cmd *c = &cmds[i];

		if (!c->pid || c->port != p)
			continue;
		kill(-c->pid, SIGKILL);
		cmd_close(c);
		c->port = NULL;
	}
	p->in.len = 0;
	p->out.len = 0;
}

/* Returns false when no more data is available now. */
static bool cmd_read_output(struct cmd *c, int which)
{
	char data[CHUNK];
	ssize_t n = read(c->out[which], data, sizeof(data));

	if (n > 0) {
		port_send(c->port, F_STDOUT + which, c->id, data, n);
		return true;
	}
	if (n == 0 || errno != EAGAIN)
		close_fd(&c->out[which]);
	return false;
}

static void cmd_write_input(struct cmd *c)
{
	uint32_t done = 0;

	while (c->input.len) {
		ssize_t n = write(c->in, c->input.data, c->input.len);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {		/* reader gone: discard the rest */
			done += c->input.len;
			c->input.len = 0;
			close_fd(&c->in);
			break;
		}
		buf_eat(&c->input, n);
		done += n;
	}
	if (done)
		port_send(c->port, F_ACK, c->id, &done, sizeof(done));
	if (c->input_eof && !c->input.len)
		close_fd(&c->in);
}

static void reap(void)
{
	int32_t status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < MAX_CMDS; i++) {
			struct cmd *c = &cmds[i];

			if (c->pid != pid)
				continue;
			if (c->port) {
				/* What it left in the pipes; bounded, because
				 * a child of it may still be writing.
				 */
				for (int w = 0; w < 2; w++)
					for (int n = 0; n < 64 && c->out[w] >= 0; n++)
						if (!cmd_read_output(c, w))
							break;
				port_send(c->port, F_EXIT, c->id, &status,
					  sizeof(status));
			}
			cmd_close(c);
			c->pid = 0;
			break;
		}
	}
}

/*
 * Make a path of the host visible that a tmpfs of the guest hides (/tmp/x). A
 * bind mount pins the file of that time, but the host may have replaced it
 * since: so unmount it first, then look it up again. A directory is only bound
 * again when it is another one; its entries are never stale.
 */
static void share(const char *path)
{
	char host[4200];
	struct stat h, g;

	snprintf(host, sizeof(host), HOST_ROOT "%s", path);
	if (!stat(path, &g) && !S_ISDIR(g.st_mode))
		umount2(path, MNT_DETACH);
	if (stat(host, &h))
		return;
	if (S_ISDIR(h.st_mode)) {
		if (mkdir(path, 0755) && !stat(path, &g) &&
		    g.st_ino == h.st_ino && g.st_dev == h.st_dev)
			return;
		umount2(path, MNT_DETACH);
	} else {
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	}
	if (mount(host, path, NULL, MS_BIND, NULL))
		say("cannot show the host's %s: %s", path, strerror(errno));
}

struct plan {			/* a checked F_EXEC */
	struct exec_req req;
	gid_t groups[64];
	char *cwd;
	char **argv;
	char **env;
	char **shares;
};

/* Parse the strings of the frame; false if it is malformed. */
static bool plan_parse(struct plan *pl, char *data, size_t len)
{
	struct exec_req *r = &pl->req;
	char *end = data + len;
	char **s;
	size_t n;

	if (len < sizeof(*r) + 1 || end[-1])
		return false;
	memcpy(r, data, sizeof(*r));
	data += sizeof(*r);
	if (r->ngroups > 64 || r->argc < 1 || r->argc > 65536 ||
	    r->envc > 65536 || r->nshare > 64 ||
	    (size_t)(end - data) < r->ngroups * sizeof(gid_t) + 1)
		return false;
	memcpy(pl->groups, data, r->ngroups * sizeof(gid_t));
	data += r->ngroups * sizeof(gid_t);

	n = (size_t)r->argc + r->envc + r->nshare + 4;
	s = calloc(n, sizeof(*s));
	if (!s)
		return false;
	pl->cwd = data;
	pl->argv = s;
	pl->env = s + r->argc + 1;
	pl->shares = pl->env + r->envc + 1;
	for (size_t i = 0; i < (size_t)r->argc + r->envc + r->nshare; i++) {
		data += strlen(data) + 1;
		if (data >= end)
			return false;
		if (i < r->argc)
			pl->argv[i] = data;
		else if (i < (size_t)r->argc + r->envc)
			pl->env[i - r->argc] = data;
		else
			pl->shares[i - r->argc - r->envc] = data;
	}
	return true;
}

struct child_error {
	int32_t err;
	char what[16];
};

static void child(struct plan *pl, int in, int out, int err, int report)
{
	struct exec_req *r = &pl->req;
	struct child_error e = { 0 };
	sigset_t none;

	setsid();
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);

	if (r->cpus) {
		cpu_set_t set;

		CPU_ZERO(&set);
		for (int i = 0; i < 64; i++)
			if (r->cpus >> i & 1)
				CPU_SET(i, &set);
		strcpy(e.what, "pin");
		if (sched_setaffinity(0, sizeof(set), &set))
			goto fail;
	}
	strcpy(e.what, "become user");
	if (setgroups(r->ngroups, pl->groups) || setgid(r->gid) || setuid(r->uid))
		goto fail;
	strcpy(e.what, "chdir");
	if (chdir(pl->cwd))
		goto fail;
	strcpy(e.what, "exec");
	environ = pl->env;
	execvp(pl->argv[0], pl->argv);
fail:
	e.err = errno;
	if (write(report, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

static void nonblock(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void cmd_exec(struct port *p, uint32_t id, char *data, size_t len)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int report[2] = { -1, -1 };
	struct child_error e;
	struct plan pl = { 0 };
	struct cmd *c = NULL;
	pid_t pid = -1;
	ssize_t n;

	for (int i = 0; i < MAX_CMDS && !c; i++)
		if (!cmds[i].pid)
			c = &cmds[i];
	if (!c || cmd_find(p, id)) {
		send_failed(p, id, EBUSY, "too many commands");
		return;
	}
	if (!plan_parse(&pl, data, len)) {
		send_failed(p, id, EINVAL, "bad request");
		goto out;
	}
	for (uint32_t i = 0; i < pl.req.nshare; i++)
		share(pl.shares[i]);

	if (pl.req.want_stdin ? pipe2(in, O_CLOEXEC)
			      : (in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		goto failed;
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ||
	    pipe2(report, O_CLOEXEC))
		goto failed;
	pid = fork();
	if (pid < 0)
		goto failed;
	if (!pid)
		child(&pl, in[0], out[1], err[1], report[1]);

	close_fd(&report[1]);
	n = read(report[0], &e, sizeof(e));	/* end of file: exec succeeded */
	if (n == sizeof(e)) {
		waitpid(pid, NULL, 0);
		send_failed(p, id, e.err, e.what);
		goto out;
	}
	memset(c, 0, sizeof(*c));
	c->pid = pid;
	c->port = p;
	c->id = id;
	c->in = in[1];
	c->out[0] = out[0];
	c->out[1] = err[0];
	in[1] = out[0] = err[0] = -1;
	if (c->in >= 0)
		nonblock(c->in);
	nonblock(c->out[0]);
	nonblock(c->out[1]);
	goto out;
failed:
	send_failed(p, id, errno, "start");
out:
	for (int i = 0; i < 2; i++) {
		close_fd(&in[i]);
		close_fd(&out[i]);
		close_fd(&err[i]);
		close_fd(&report[i]);
	}
	free(pl.argv);
}

/* ---- from the host ---- */

static void port_frame(struct port *p, struct frame *f, char *data)
{
	struct cmd *c;
	int32_t sig;

	switch (f->type) {
	case F_HELLO: {
		/* port_reset() empties the buffer that data points into. */
		char nonce[64];
		uint32_t len = f->len < sizeof(nonce) ? f->len : sizeof(nonce);
		size_t in_len = p->in.len;

		memcpy(nonce, data, len);
		port_reset(p);
		p->in.len = in_len;
		port_send(p, F_HELLO, 0, nonce, len);
		break;
	}
	case F_EXEC:
		cmd_exec(p, f->id, data, f->len);
		break;
	case F_STDIN:
		c = cmd_find(p, f->id);
		if (!c || c->in < 0 || c->input.len + f->len > IN_WINDOW)
			break;
		buf_add(&c->input, data, f->len);
		c->input_eof |= !f->len;
		cmd_write_input(c);
		break;
	case F_SIGNAL:
		c = cmd_find(p, f->id);
		if (c && f->len == sizeof(sig)) {
			memcpy(&sig, data, sizeof(sig));
			kill(-c->pid, sig);
		}
		break;
	}
}

static void port_input(struct port *p)
{
	char data[CHUNK];
	struct frame f;
	ssize_t n;

	while ((n = read(p->fd, data, sizeof(data))) > 0) {
		buf_add(&p->in, data, n);
		while (p->in.len >= sizeof(f)) {
			memcpy(&f, p->in.data, sizeof(f));
			if (f.len > MAX_FRAME) {	/* malformed: start over */
				port_reset(p);
				break;
			}
			if (p->in.len < sizeof(f) + f.len)
				break;
			port_frame(p, &f, p->in.data + sizeof(f));
			buf_eat(&p->in, sizeof(f) + f.len);
		}
	}
	if (n == 0 && !p->hangup)
		p->hangup = now_ms() + HANGUP_MS;
}

/*
 * Returns the longest time that poll() may sleep. Polling a port takes data off
 * the driver's queue. The interrupt then finds the queue empty and wakes nobody,
 * so epoll does not report that data: read it here.
 */
static int ports_check_hangup(void)
{
	uint64_t now = now_ms();
	int wait = -1;

	for (int i = 0; i < NPORTS; i++) {
		struct port *p = &ports[i];
		struct pollfd pfd = { .fd = p->fd, .events = POLLIN };

		if (!p->hangup)
			continue;
		if (now < p->hangup) {
			wait = HANGUP_MS;
			continue;
		}
		if (poll(&pfd, 1, 0) == 1)
			port_input(p);
		if (pfd.revents & POLLHUP)
			port_reset(p);
		p->hangup = 0;
		port_flush(p);
	}
	return wait;
}

static int port_open(int epfd, int i, const char *path)
{
	struct epoll_event ev = {
		.events = EPOLLIN | EPOLLOUT | EPOLLET,
		.data.u32 = i,
	};

	ports[i].fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (ports[i].fd < 0)
		return -1;
	return epoll_ctl(epfd, EPOLL_CTL_ADD, ports[i].fd, &ev);
}

/*
 * User-Mode Linux: serial lines replace the ports. A greeting says that a line
 * is raw: earlier data would have been lost.
 */
static int lines_open(int epfd)
{
	for (int i = 0; i < NPORTS; i++) {
		struct termios tio;
		char path[32];

		snprintf(path, sizeof(path), "/dev/ttyS%d", i);
		if (port_open(epfd, i, path) || tcgetattr(ports[i].fd, &tio)) {
			say("%s: %s", path, strerror(errno));
			return -1;
		}
		cfmakeraw(&tio);
		tio.c_cflag |= CLOCAL | CREAD;
		tcsetattr(ports[i].fd, TCSANOW, &tio);
		port_send(&ports[i], F_HELLO, 0, "", 0);
		port_flush(&ports[i]);
	}
	return 0;
}

/* Ports appear one by one after the driver is loaded. */
static int ports_open(int epfd)
{
	for (int i = 0; i < NPORTS; i++)
		ports[i].fd = -1;
	if (getenv("RMC_HOSTFS"))
		return lines_open(epfd);
	for (int tries = 0; tries < 1000; tries++) {
		DIR *d = opendir("/sys/class/virtio-ports");
		struct dirent *de;
		int opened = 0;

		while (d && (de = readdir(d))) {
			char path[300], name[32] = "";
			FILE *f;
			int i = -1;

			snprintf(path, sizeof(path),
				 "/sys/class/virtio-ports/%s/name", de->d_name);
			f = de->d_name[0] == '.' ? NULL : fopen(path, "re");
			if (!f)
				continue;
			if (!fgets(name, sizeof(name), f) ||
			    sscanf(name, "rmc-agent.%d", &i) != 1 ||
			    i < 0 || i >= NPORTS || ports[i].fd >= 0) {
				fclose(f);
				continue;
			}
			fclose(f);
			snprintf(path, sizeof(path), "/dev/%s", de->d_name);
			port_open(epfd, i, path);
		}
		if (d)
			closedir(d);
		for (int i = 0; i < NPORTS; i++)
			opened += ports[i].fd >= 0;
		if (opened == NPORTS)
			return 0;
		usleep(10000);
	}
	say("the virtio-serial ports did not appear");
	return -1;
}

#ifdef __x86_64__
/* A pair of clock readings with the smallest distance of several tries */
static void tsc_sample(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		uint64_t before = __builtin_ia32_rdtsc(), after;
		struct timespec ts;

		clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
		after = __builtin_ia32_rdtsc();
		if (after - before >= best)
			continue;
		best = after - before;
		*tsc = before + best / 2;
		*ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	}
}
#endif

/*
 * On the host, not in a guest: the frequency of the TSC. An emulated guest has the same
 * frequency, but measures it against an emulated timer, which is wrong on a busy host.
 */
static int print_tsc_khz(void)
{
#ifdef __x86_64__
	uint64_t tsc[2] = { 0 }, ns[2] = { 0 };

	tsc_sample(&tsc[0], &ns[0]);
	usleep(50000);
	tsc_sample(&tsc[1], &ns[1]);
	printf("%.0f\n", (double)(tsc[1] - tsc[0]) * 1e6 / (double)(ns[1] - ns[0]));
	return 0;
#else
	return 1;
#endif
}

int main(int argc, char **argv)
{
	static struct pollfd pfd[2 + 3 * MAX_CMDS];
	static struct { struct cmd *c; int which; } who[2 + 3 * MAX_CMDS];
	int epfd = epoll_create1(EPOLL_CLOEXEC);
	sigset_t chld;
	int sigfd;

	if (argc == 2 && !strcmp(argv[1], "--tsc-khz"))
		return print_tsc_khz();
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	sigfd = signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC);
	if (epfd < 0 || sigfd < 0 || ports_open(epfd))
		return 1;

	for (;;) {
		struct signalfd_siginfo si[16];
		struct epoll_event ev[NPORTS];
		int wait = ports_check_hangup();	/* may start commands */
		int n = 0, nev;

		pfd[n++] = (struct pollfd){ .fd = sigfd, .events = POLLIN };
		pfd[n++] = (struct pollfd){ .fd = epfd, .events = POLLIN };
		for (int i = 0; i < MAX_CMDS; i++) {
			struct cmd *c = &cmds[i];

			if (!c->pid || !c->port)
				continue;
			if (c->in >= 0 && c->input.len) {
				who[n].c = c;
				who[n].which = -1;
				pfd[n++] = (struct pollfd){ c->in, POLLOUT, 0 };
			}
			for (int w = 0; w < 2; w++) {
				if (c->out[w] < 0 || c->port->out.len > OUT_HIGH)
					continue;
				who[n].c = c;
				who[n].which = w;
				pfd[n++] = (struct pollfd){ c->out[w], POLLIN, 0 };
			}
		}
		if (poll(pfd, n, wait) < 0)
			continue;
		for (int i = 2; i < n; i++) {
			if (!pfd[i].revents)
				continue;
			if (who[i].which < 0)
				cmd_write_input(who[i].c);
			else
				cmd_read_output(who[i].c, who[i].which);
		}
		if (pfd[0].revents) {
			while (read(sigfd, si, sizeof(si)) > 0)
				;
			reap();
		}
		if (pfd[1].revents) {
			nev = epoll_wait(epfd, ev, NPORTS, 0);
			for (int i = 0; i < nev; i++)
				port_input(&ports[ev[i].data.u32]);
		}
		for (int i = 0; i < NPORTS; i++)
			port_flush(&ports[i]);
	}
}
