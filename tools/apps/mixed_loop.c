/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * One event loop for sockets and remote memory: a key-value server whose values
 * live in another node's memory. Each connection sends lines
 *
 *	get N			put N WORD
 *
 * for 64-byte cell N of the right neighbour's segment. io_uring waits for all sources:
 * connections, their data, completions of remote operations, and remote notifications,
 * which other nodes send with every put. One command waits for the latter two
 * (rmc/uring.h); with --eventfd, for kernels without such commands, the QP's eventfd and
 * POLLPRI on rmc_fd() do, over rmcd POLLIN. An idle server sleeps.
 *
 *	rmc-run -n 2 build/mixed_loop --self-test
 */
#include <errno.h>
#include <liburing.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include <rmc/uring.h>

#define CELLS		256
#define CELL		64
#define CONNS		32
#define LINE		96

enum source { ACCEPT = 1, DATA, COMPLETION, NOTIFICATION, REMOTE };

struct conn {
	int fd;
	int slot;		/* operation in flight for it, or -1 */
	int put;
	size_t have;
	char line[LINE];
};

static struct conn conns[CONNS];
static struct conn *owner[RMC_QP_ENTRIES_DEFAULT];	/* by slot */
static char (*cells)[CELL];		/* landing buffers, by slot */
static struct rmc_team *team;
static struct io_uring ring;
static unsigned long ops, notified;
static int by_eventfd;

static void want(enum source source, int fd, unsigned int events, unsigned int index)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	/* multishot: one request for all events */
	io_uring_prep_poll_multishot(sqe, fd, events);
	io_uring_sqe_set_data64(sqe, (uint64_t)source << 32 | index);
}

/* Wait for the next completion, or for a notification beyond those seen */
static void want_remote(uint32_t seen)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe) {			/* 32 connections need 34 of 64 */
		fprintf(stderr, "mixed_loop: the ring is full\n");
		exit(1);
	}
	rmc_uring_prep_wait(sqe, team->ctx, RMC_URING_CQ | RMC_URING_SEG, team->qp, seen);
	io_uring_sqe_set_data64(sqe, (uint64_t)REMOTE << 32);
}

static void answer(struct conn *c, const char *text)
{
	char reply[LINE];
	int n = snprintf(reply, sizeof(reply), "%s\n", text);

	/* a reader that does not keep up loses its connection */
	if (send(c->fd, reply, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) != n)
		shutdown(c->fd, SHUT_RDWR);
}

static void finished(int slot, void *arg)
{
	struct conn *c = owner[slot];
	int status = rmc_slot_status(team->qp, slot);

	(void)arg;
	ops++;
	if (!c)
		return;
	c->slot = -1;
	cells[slot][CELL - 1] = '\0';
	answer(c, status ? rmc_strerror(status) : c->put ? "stored" : cells[slot]);
}

static void request(struct conn *c, char *line)
{
	int right = rmc_team_nid(team, team->self + 1), slot;
	char word[CELL] = "";
	unsigned int n;

	c->put = sscanf(line, "put %u %63s", &n, word) == 2;
	if ((!c->put && sscanf(line, "get %u", &n) != 1) || n >= CELLS) {
		answer(c, "say: get N, or put N WORD");
		return;
	}
	slot = rmc_wait_for_slot(team->qp, finished);
	if (slot < 0) {
		answer(c, rmc_strerror(slot));
		return;
	}
	owner[slot] = c;
	c->slot = slot;
	if (c->put) {
		memcpy(cells[slot], word, CELL);
		rmc_write_notify_async(team->qp, slot, right, team->offset + n * CELL,
				       cells[slot], CELL);
	} else {
		rmc_read_async(team->qp, slot, right, team->offset + n * CELL, cells[slot], CELL);
	}
}

static void hang_up(struct conn *c)
{
	if (c->slot >= 0)
		owner[c->slot] = NULL;
	close(c->fd);
	c->fd = -1;
}

static void data(struct conn *c)
{
	ssize_t n = recv(c->fd, c->line + c->have, LINE - 1 - c->have, MSG_DONTWAIT);
	char *end;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		hang_up(c);
		return;
	}
	c->have += (size_t)n;
	while ((end = memchr(c->line, '\n', c->have))) {
		*end = '\0';
		if (c->slot < 0)
			request(c, c->line);
		else
			answer(c, "one request at a time");
		c->have -= (size_t)(end + 1 - c->line);
		memmove(c->line, end + 1, c->have);
	}
	if (c->have == LINE - 1)
		hang_up(c);
}

static void accepted(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), i;

	if (fd < 0)
		return;
	for (i = 0; i < CONNS; i++) {
		if (conns[i].fd >= 0)
			continue;
		conns[i] = (struct conn){ .fd = fd, .slot = -1 };
		want(DATA, fd, POLLIN, (unsigned int)i);
		return;
	}
	close(fd);
}

/* Serve until that number of operations and notifications; 0: for ever */
static void serve(int listener, unsigned long stop_after, unsigned long notifications)
{
	uint32_t seen = 0;

	want(ACCEPT, listener, POLLIN, 0);
	if (by_eventfd) {
		want(COMPLETION, rmc_cq_eventfd(team->qp), POLLIN, 0);
		want(NOTIFICATION, rmc_fd(team->ctx), POLLPRI | POLLIN, 0);
		rmc_cq_arm(team->qp);
		rmc_seg_arm(team->ctx, &seen, -1);
	} else {
		want_remote(seen);
	}
	for (;;) {
		struct io_uring_cqe *cqe;
		unsigned int index;
		uint64_t what;
		int more, res;

		io_uring_submit(&ring);
		if (io_uring_wait_cqe(&ring, &cqe))
			continue;
		what = io_uring_cqe_get_data64(cqe);
		index = (unsigned int)what;
		more = cqe->flags & IORING_CQE_F_MORE;
		res = cqe->res;
		io_uring_cqe_seen(&ring, cqe);
		switch ((enum source)(what >> 32)) {
		case ACCEPT:
			accepted(listener);
			break;
		case DATA:
			if (conns[index].fd >= 0 && res > 0)
				data(&conns[index]);
			if (!more && conns[index].fd >= 0)
				want(DATA, conns[index].fd, POLLIN, index);
			break;
		case COMPLETION:
			rmc_cq_disarm(team->qp);
			rmc_poll_cq(team->qp, finished);
			rmc_cq_arm(team->qp);
			if (!more)
				want(COMPLETION, rmc_cq_eventfd(team->qp), POLLIN, 0);
			break;
		case REMOTE:
			if (res < 0) {
				fprintf(stderr, "mixed_loop: waiting: %s\n", strerror(-res));
				exit(1);
			}
			rmc_uring_seen(res, &seen);
			notified = seen;
			rmc_poll_cq(team->qp, finished);
			want_remote(seen);
			break;
		case NOTIFICATION:
			rmc_seg_arm(team->ctx, &seen, -1);
			notified = seen;
			if (!more)
				want(NOTIFICATION, rmc_fd(team->ctx), POLLPRI | POLLIN, 0);
			break;
		}
		if (stop_after && ops >= stop_after && notified >= notifications)
			return;
	}
}

/* A client in a separate process: 100 puts and gets, checked. */
static int client(unsigned int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	char line[LINE], want_[LINE];
	int fd = socket(AF_INET, SOCK_STREAM, 0), i;
	FILE *f;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return 1;
	f = fdopen(fd, "r+");
	setvbuf(f, NULL, _IOLBF, 0);
	for (i = 0; i < 200; i++) {
		snprintf(want_, sizeof(want_), i & 1 ? "word%d\n" : "stored\n", i / 2);
		if (fprintf(f, i & 1 ? "get %d\n" : "put %d word%d\n", i / 2, i / 2) < 0 ||
		    (fflush(f), fseek(f, 0, SEEK_CUR), !fgets(line, sizeof(line), f)) ||
		    strcmp(line, want_))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int self_test = 0, listener, i, bad = 0;
	socklen_t len = sizeof(at);
	size_t bytes = sizeof(*cells) * RMC_QP_ENTRIES_DEFAULT;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--self-test")) {
			self_test = 1;
		} else if (!strcmp(argv[i], "--eventfd")) {
			by_eventfd = 1;
		} else if (!strcmp(argv[i], "--version")) {
			printf("mixed_loop (rmc) %s\n", rmc_version());
			return 0;
		} else {
			fprintf(stderr, "usage: rmc-run -n N mixed_loop [--self-test] [--eventfd]\n");
			return 2;
		}
	}
	team = rmc_team_open(0, CELLS * CELL);
	cells = aligned_alloc(4096, bytes);
	if (!team || !cells || rmc_buf_register(team->ctx, cells, bytes) < 0 ||
	    rmc_cq_eventfd(team->qp) < 0) {
		fprintf(stderr, "mixed_loop: %s\n", rmc_errmsg());
		return 1;
	}
	by_eventfd |= !rmc_uring_works(team->ctx);
	i = io_uring_queue_init(64, &ring, 0);
	if (i) {
		fprintf(stderr, "mixed_loop: io_uring: %s\n", strerror(-i));
		return 1;
	}
	for (i = 0; i < CONNS; i++)
		conns[i].fd = -1;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 8) ||
	    getsockname(listener, (struct sockaddr *)&at, &len)) {
		perror("mixed_loop: cannot listen");
		return 1;
	}
	printf("listening on 127.0.0.1:%u\n", ntohs(at.sin_port));
	fflush(stdout);
	if (self_test) {
		int status = 0;
		pid_t pid = fork();

		if (!pid)
			_exit(client(ntohs(at.sin_port)));
		/* the left neighbour may be late */
		serve(listener, 200, team->nodes > 1 ? 100 : 0);
		bad = waitpid(pid, &status, 0) != pid || status;
		printf("200 requests: %s, %lu notifications from the left\n",
		       bad ? "wrong answers" : "answered", notified);
		rmc_team_barrier(team);
	} else {
		serve(listener, 0, 0);
	}
	rmc_team_close(team);
	return bad;
}
