// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "raw.h"

#define ANSWER_MS	20000

pid_t daemon_pid;
char daemon_socket[108];
static int stop_fd = -1;

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void start_daemon(const char *program, const char *const *options)
{
	const char *argv[32] = { program, "--socket", daemon_socket, "--stop-fd" };
	char number[16];
	int fds[2], n = 4, i;
	struct raw c;

	snprintf(daemon_socket, sizeof(daemon_socket), "/tmp/rmcd-test-%d", (int)getpid());
	if (pipe(fds))
		abort();
	snprintf(number, sizeof(number), "%d", fds[0]);
	argv[n++] = number;
	while (options && *options && n < 31)
		argv[n++] = *options++;
	daemon_pid = fork();
	if (!daemon_pid) {
		close(fds[1]);
		setpgid(0, 0);
		execv(program, (char **)(uintptr_t)argv);
		_exit(127);
	}
	close(fds[0]);
	stop_fd = fds[1];
	for (i = 0; i < ANSWER_MS && raw_connect(&c); i++) {
		if (waitpid(daemon_pid, NULL, WNOHANG) == daemon_pid) {
			printf("Bail out! %s did not start\n", program);
			exit(1);
		}
		usleep(1000);
	}
	raw_close(&c);
}

bool daemon_ended_well(void)
{
	char path[128];
	int status;

	close(stop_fd);
	waitpid(daemon_pid, &status, 0);
	daemon_pid = 0;
	snprintf(path, sizeof(path), "%s.lock", daemon_socket);
	unlink(path);
	unlink(daemon_socket);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	printf("not ok - the daemon ended with status %#x\n", (unsigned int)status);
	return false;
}

void stop_daemon(void)
{
	if (!daemon_ended_well())
		exit(1);
}

int raw_connect(struct raw *c)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int err;

	memset(c, 0, sizeof(*c));
	c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	strcpy(addr.sun_path, daemon_socket);
	if (!connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)))
		return 0;
	err = -errno;
	close(c->fd);
	c->fd = -1;
	return err;
}

int raw_open(struct raw *c, int ctx_id)
{
	struct rmcd_open open = { .version = RMCD_VERSION, .ctx_id = ctx_id };
	int err = raw_connect(c);

	if (err)
		return err;
	err = raw_call(c, RMCD_OPEN, &open, sizeof(open));
	prctl(PR_SET_PTRACER, open.pid);
	return err;
}

static void drop_fds(struct raw *c)
{
	while (c->gots)
		close(c->got[--c->gots]);
}

void raw_close(struct raw *c)
{
	drop_fds(c);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

int raw_send(struct raw *c, const void *data, size_t len, const int *fds, unsigned int n)
{
	struct iovec iov = { (void *)(uintptr_t)data, len };
	char space[CMSG_SPACE(64 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *m;

	if (n) {
		msg.msg_control = space;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		m = CMSG_FIRSTHDR(&msg);
		m->cmsg_level = SOL_SOCKET;
		m->cmsg_type = SCM_RIGHTS;
		m->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(m), fds, n * sizeof(int));
	}
	return sendmsg(c->fd, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int raw_receive(struct raw *c, void *data, size_t len)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	char space[CMSG_SPACE(64 * sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov[2] = { { &c->head, sizeof(c->head) }, { data, len } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2, .msg_control = space,
			      .msg_controllen = sizeof(space) };
	struct cmsghdr *m;
	ssize_t n;

	drop_fds(c);
	if (poll(&p, 1, ANSWER_MS) <= 0)
		return -ETIMEDOUT;
	n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return n && errno != ECONNRESET ? -errno : -EPIPE;
	for (m = CMSG_FIRSTHDR(&msg); m; m = CMSG_NXTHDR(&msg, m)) {
		c->gots = (unsigned int)((m->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(c->got, CMSG_DATA(m), c->gots * sizeof(int));
	}
	return (int)(n - (ssize_t)sizeof(c->head));
}

int raw_call_fds(struct raw *c, unsigned int request, void *arg, size_t len, const void *more,
		 size_t more_len, const int *fds, unsigned int n)
{
	uint8_t message[RMCD_MESSAGE_BYTES + sizeof(struct rmcd_head)];
	struct rmcd_head head = { .request = request, .fds = n };
	int got;

	memcpy(message, &head, sizeof(head));
	memcpy(message + sizeof(head), arg, len);
	if (more_len)
		memcpy(message + sizeof(head) + len, more, more_len);
	got = raw_send(c, message, sizeof(head) + len + more_len, fds, n);
	if (got == -EPIPE || got == -ECONNRESET)
		return -EPIPE;
	if (got)
		return got;
	got = raw_receive(c, message, sizeof(message));
	if (got < 0)
		return got;
	if (c->head.request != request || c->head.fds != c->gots)
		return -EBADMSG;
	if (c->head.ret >= 0 && got)
		memcpy(arg, message, (size_t)got < len ? (size_t)got : len);
	return c->head.ret;
}

int raw_call(struct raw *c, unsigned int request, void *arg, size_t len)
{
	return raw_call_fds(c, request, arg, len, NULL, 0, NULL, 0);
}

static struct rmcd_memory one_piece(uint64_t len, int fd, uint64_t offset)
{
	struct rmcd_memory m = { .count = 1 };

	m.piece[0] = (struct rmcd_piece){ .length = len, .offset = offset,
					  .fd = fd < 0 ? RMCD_PRIVATE : 0 };
	return m;
}

int raw_seg(struct raw *c, void *addr, uint64_t len, int fd, uint64_t offset)
{
	struct rmc_seg_reg arg = { .size = sizeof(arg), .addr = (uintptr_t)addr, .length = len };
	struct rmcd_memory m = one_piece(len, fd, offset);

	return raw_call_fds(c, RMC_IOC_SEG_REG, &arg, sizeof(arg), &m, sizeof(m), &fd, fd >= 0);
}

int raw_buf(struct raw *c, void *addr, uint64_t len, int fd, uint64_t offset, unsigned int *id)
{
	struct rmc_buf_reg arg = { .size = sizeof(arg), .addr = (uintptr_t)addr, .length = len };
	struct rmcd_memory m = one_piece(len, fd, offset);
	int err = raw_call_fds(c, RMC_IOC_BUF_REG, &arg, sizeof(arg), &m, sizeof(m), &fd, fd >= 0);

	if (!err && id)
		*id = arg.buf_id;
	return err;
}

int raw_qp(struct raw *c, struct raw_qp *q, unsigned int entries)
{
	return raw_qp_with(c, q, entries, 0);
}

int raw_qp_with(struct raw *c, struct raw_qp *q, unsigned int entries, unsigned int flags)
{
	struct rmc_qp_create arg = { .size = sizeof(arg), .entries = entries, .flags = flags };
	size_t cq = (entries * sizeof(*q->cq) + PAGE - 1) & ~(size_t)(PAGE - 1);
	int err = raw_call(c, RMC_IOC_QP_CREATE, &arg, sizeof(arg));
	uint8_t *p;

	if (err)
		return err;
	if (c->gots != 3)
		return -EBADMSG;
	memset(q, 0, sizeof(*q));
	q->c = c;
	q->id = arg.qp_id;
	q->entries = entries;
	q->wq_fd = c->got[0];
	q->cq_fd = c->got[1];
	q->wake = c->got[2];
	c->gots = 0;
	q->wq = mmap(NULL, entries * sizeof(*q->wq), PROT_READ | PROT_WRITE, MAP_SHARED, q->wq_fd,
		     0);
	p = mmap(NULL, cq + PAGE, PROT_READ, MAP_SHARED, q->cq_fd, 0);
	if (q->wq == MAP_FAILED || p == MAP_FAILED)
		return -errno;
	q->cq = (const void *)p;
	q->flags = (const void *)(p + cq);
	return 0;
}

void raw_qp_unmap(struct raw_qp *q)
{
	munmap(q->wq, q->entries * sizeof(*q->wq));
	close(q->wq_fd);
	close(q->cq_fd);
	close(q->wake);
}

void raw_post(struct raw_qp *q, unsigned int op, unsigned int nid, uint64_t offset, void *lbuf,
	      uint32_t len)
{
	struct rmc_wq_entry *e = &q->wq[q->head & (q->entries - 1)];
	unsigned int phase = !(q->head & q->entries);

	__atomic_store_n(&e->word1, rmc_wqe_word1(offset, len), __ATOMIC_RELAXED);
	__atomic_store_n(&e->word0, rmc_wqe_word0(op, nid, (uintptr_t)lbuf, phase),
			 __ATOMIC_RELEASE);
	q->head++;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&q->flags->need_wakeup, __ATOMIC_RELAXED))
		eventfd_write(q->wake, 1);
}

int raw_wait(struct raw_qp *q, int ms)
{
	uint64_t end = now_ns() + (uint64_t)ms * 1000000;
	uint32_t word;

	do {
		word = __atomic_load_n(&q->cq[q->tail & (q->entries - 1)].word, __ATOMIC_ACQUIRE);
		if ((word & RMC_CQE_PHASE) == !(q->tail & q->entries)) {
			q->tail++;
			return (int)rmc_cqe_status(word);
		}
		usleep(10);
	} while (now_ns() < end);
	return -1;
}

bool may_userfault(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */);

	if (fd < 0)
		return false;
	close(fd);
	/* nothing to do, if it is known */
	return !madvise(NULL, 0, 23 /* MADV_POPULATE_WRITE */);
}

int shared(size_t len, void **addr)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)len))
		abort();
	*addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*addr == MAP_FAILED)
		abort();
	return fd;
}
