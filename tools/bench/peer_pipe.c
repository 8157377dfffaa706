/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Messages between two processes through the kernel: a pair of pipes, a socket pair or TCP over
 * loopback, by read() and write(), or by io_uring. Receivers sleep until there is data.
 */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"
#include "opt.h"
#include "peer.h"
#if __has_include(<liburing.h>)
#include <liburing.h>
#define HAVE_URING	1
#endif

struct end {
	int in, out;			/* file descriptors; a socket is both */
	char *buf;			/* PEER_LARGE bytes */
};

/* Send so many bytes, then receive so many. */
static void (*move)(struct end *e, size_t out, size_t in);

static void failed(const char *what, int err)
{
	die(EXIT_FAILED, "%s: %s", what, err ? strerror(err) : "the other process ended");
}

/* --- system calls --- */

static void call_move(struct end *e, size_t out, size_t in)
{
	ssize_t n;

	for (; out; out -= (size_t)n) {
		n = write(e->out, e->buf, out);
		if (n < 0)
			failed("write", errno);
	}
	for (; in; in -= (size_t)n) {
		n = read(e->in, e->buf, in);
		if (n <= 0)
			failed("read", n ? errno : 0);
	}
}

/* --- io_uring: both in one system call, which also waits --- */

#ifdef HAVE_URING
enum { SENT, RECEIVED };

static struct io_uring ring;

static int uring_init(void)
{
	int err = -EINVAL;

#ifdef IORING_SETUP_DEFER_TASKRUN
	err = io_uring_queue_init(8, &ring, IORING_SETUP_SINGLE_ISSUER |
				  IORING_SETUP_DEFER_TASKRUN);
#endif
	return err == -EINVAL ? io_uring_queue_init(8, &ring, 0) : err;
}

static void queue(struct end *e, unsigned long what, size_t len)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (what == SENT)
		io_uring_prep_write(sqe, e->out, e->buf, (unsigned int)len, (uint64_t)-1);
	else
		io_uring_prep_read(sqe, e->in, e->buf, (unsigned int)len, (uint64_t)-1);
	io_uring_sqe_set_data64(sqe, what);
}

/*
 * The kernel takes the whole message before the read overwrites the buffer: the answer comes
 * after it. Buffers of pipes and sockets have room for it, so that writes are not short.
 */
static void uring_move(struct end *e, size_t out, size_t in)
{
	size_t left[2] = { [SENT] = out, [RECEIVED] = in };
	struct io_uring_cqe *cqe;
	unsigned int busy = 0, i;
	int err;

	for (i = SENT; i <= RECEIVED; i++) {
		if (!left[i])
			continue;
		queue(e, i, left[i]);
		busy++;
	}
	while (busy) {
		err = io_uring_submit_and_wait(&ring, busy);
		if (err < 0)
			failed("io_uring", -err);
		while (!io_uring_peek_cqe(&ring, &cqe)) {
			unsigned long what = (unsigned long)io_uring_cqe_get_data64(cqe);

			if (cqe->res <= 0)
				failed(what == SENT ? "write" : "read", -cqe->res);
			left[what] -= (size_t)cqe->res;
			io_uring_cqe_seen(&ring, cqe);
			busy--;
			if (!left[what])
				continue;
			queue(e, what, left[what]);
			busy++;
		}
	}
}
#else
static int uring_init(void)
{
	return -ENOSYS;
}

static void uring_move(struct end *e, size_t out, size_t in)
{
	call_move(e, out, in);
}
#endif

/* --- measurements; each is followed by its counterpart --- */

static void ping_pong(struct end *e, struct peer *p, size_t bytes, uint64_t n)
{
	uint64_t last = bench_cycles(), now, i;

	for (i = 0; i < n; i++) {
		move(e, bytes, bytes);
		now = bench_cycles();
		p->sample[i] = now - last;
		last = now;
	}
}

/* An answer and the next message are one move. */
static void echo(struct end *e, size_t bytes, uint64_t n)
{
	uint64_t i;

	move(e, 0, bytes);
	for (i = 1; i < n; i++)
		move(e, bytes, bytes);
	move(e, bytes, 0);
}

/* Cycles until the receiver has acknowledged the last one */
static uint64_t stream(struct end *e, size_t bytes, uint64_t n)
{
	uint64_t start = bench_cycles(), i;

	for (i = 0; i < n; i++)
		move(e, bytes, 0);
	move(e, 0, 1);
	return bench_cycles() - start;
}

static void sink(struct end *e, size_t bytes, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		move(e, 0, bytes);
	move(e, 1, 0);
}

static const size_t sizes[] = { PEER_SMALL, PEER_LINE, PEER_LARGE };
#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

static void measure(struct end *e, struct peer *p, const char *way)
{
	size_t i;

	for (i = 0; i < SIZES; i++) {
		ping_pong(e, p, sizes[i], PEER_WARM(p->n));
		ping_pong(e, p, sizes[i], p->n);
		peer_latency(p, "send_lat", way, sizes[i], 2);
	}
	stream(e, PEER_LARGE, PEER_WARM(p->n));
	peer_stream(p, "send_bw", way, PEER_LARGE, stream(e, PEER_LARGE, p->n));
}

static void answer(struct end *e, uint64_t n)
{
	size_t i;

	for (i = 0; i < SIZES; i++) {
		echo(e, sizes[i], PEER_WARM(n));
		echo(e, sizes[i], n);
	}
	sink(e, PEER_LARGE, PEER_WARM(n));
	sink(e, PEER_LARGE, n);
}

/* --- file descriptors --- */

static void by_pipe(struct end end[2])
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		failed("pipe", errno);
	end[0].out = to[1];
	end[1].in = to[0];
	end[1].out = from[1];
	end[0].in = from[0];
}

static void by_sockets(struct end end[2])
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		failed("socketpair", errno);
	end[0].in = end[0].out = fd[0];
	end[1].in = end[1].out = fd[1];
}

static void by_tcp(struct end end[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1, i;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	end[0].out = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || end[0].out < 0 || bind(listener, (struct sockaddr *)&at, len) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&at, &len) ||
	    connect(end[0].out, (struct sockaddr *)&at, len))
		failed("no TCP over 127.0.0.1 (is the interface lo up?)", errno);
	end[1].out = accept(listener, NULL, NULL);
	for (i = 0; i < 2; i++) {
		if (setsockopt(end[i].out, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
			failed("TCP_NODELAY", errno);
		end[i].in = end[i].out;
	}
	close(listener);
}

static const struct transport {
	const char *name;
	void (*open)(struct end end[2]);
} transports[] = { { "pipe", by_pipe }, { "socketpair", by_sockets }, { "tcp", by_tcp } };

static const struct transport *find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(transports) / sizeof(transports[0]); i++)
		if (!strcmp(transports[i].name, name))
			return &transports[i];
	die(EXIT_USAGE, "--over: pipe, socketpair or tcp, not '%s'", name);
}

/* --- run --- */

static void leave(struct end *other)
{
	close(other->in);
	if (other->out != other->in)
		close(other->out);
}

/* There is no io_uring where the kernel, an administrator or a container forbids it. */
static void no_uring(int err)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "test", "io_uring");
	json_string(&j, "missing", strerror(err));
	json_end_object(&j);
	exit(EXIT_OK);
}

int main(int argc, char **argv)
{
	const char *over = "pipe";
	int n = 20000, uring = 0, status = 0;
	const struct opt opts[] = {
		{ 0, "over", OPT_STRING, &over, 0, 0, "NAME", "pipe (default), socketpair, tcp" },
		{ 0, "io-uring", OPT_FLAG, &uring, 0, 0, NULL, "by io_uring" },
		{ 'n', "iters", OPT_INT, &n, 1, INT_MAX, "N", "messages of each (default 20000)" },
		{ 0 },
	};
	struct end end[2] = { { 0 } };
	struct peer p = { 0 };
	const char *way;
	pid_t child;
	int me;

	if (opt_parse(argc, argv, opts, "peer_pipe [options]") != argc)
		die(EXIT_USAGE, "unexpected argument '%s'; see --help", argv[argc - 1]);
	find(over)->open(end);
	signal(SIGPIPE, SIG_IGN);
	child = fork();
	if (child < 0)
		failed("fork", errno);
	me = !child;
	leave(&end[!me]);
	peer_pin(me);
	way = uring ? "io_uring" : "calls";
	move = uring ? uring_move : call_move;
	if (uring) {
		int err = uring_init();

		if (err && me)
			_exit(EXIT_OK);
		if (err)
			no_uring(-err);
	}
	end[me].buf = (char *)calloc(1, PEER_LARGE);
	peer_init(&p, (uint64_t)n);
	if (!end[me].buf)
		die(EXIT_FAILED, "out of memory");
	if (me) {
		answer(&end[1], (uint64_t)n);
		_exit(EXIT_OK);
	}
	peer_begin(&p, way, over);
	measure(&end[0], &p, way);
	peer_end(&p);
	free(end[0].buf);
	return waitpid(child, &status, 0) == child && !status ? EXIT_OK : EXIT_FAILED;
}
