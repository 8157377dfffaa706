/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The library's side of rmcd's socket: what it sends, how it waits, and what is left when the
 * daemon ends or breaks the protocol at any message. A call that hangs is ended by the alarm.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "daemon_client.h"
#include "../../lib/driver/daemon.h"
#include "rmc/wait.h"
#include "rmc/watch.h"

static unsigned long ptracer;
static unsigned int permitted_at;	/* messages that the daemon had got by then */

/* In place of libc's, so that the test sees which process may read this one's memory */
int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list ap;
	int i;

	va_start(ap, option);
	for (i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_PTRACER) {
		ptracer = arg[0];
		permitted_at = stubd_seen().messages;
	}
	return (int)syscall(SYS_prctl, option, arg[0], arg[1], arg[2], arg[3]);
}

static void in_child(void (*run)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(PATIENCE_S);
		run();
		fflush(stdout);
		_exit(!!tap_failures);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void opening(void)
{
	struct rmc_node_info info = { .size = sizeof(info), .nid = 1 };
	struct rmcd_attr attr = { .path = "class/misc/rmc/node0/state" };
	struct rmc_ctx *c;
	struct stubd s;

	open_ctx();
	s = stubd_seen();
	CHECK_EQ(s.open.version, RMCD_VERSION);
	CHECK_EQ(s.open.ctx_id, 7);
	CHECK_EQ(s.open.pid, 0);
	CHECK_EQ(s.open.flags, 0);
	CHECK_EQ(s.messages, 3);
	/* what the kernel says of the daemon, not what the daemon says */
	CHECK_EQ(ptracer, getpid());
	/* with RMCD_OPEN it opens our memory: later another daemon may be the one */
	CHECK_EQ(permitted_at, 0);
	CHECK_EQ(rmc_nodes(ctx), 4);
	CHECK_EQ(rmc_nid(ctx), 2);
	CHECK_EQ(rmc_node_state(ctx, 1), RMC_NODE_UP);
	CHECK(fcntl(rmc_fd(ctx), F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(ctx->socket, F_GETFD) & FD_CLOEXEC);
	CHECK(rmc_alive(ctx));
	/* rmc_fd() is what rmcd reports with */
	stubd_report();
	CHECK_EQ(poll(&(struct pollfd) { .fd = rmc_fd(ctx), .events = POLLIN }, 1, 0), 1);
	stubd_refuse(RMC_IOC_NODE_INFO, EINVAL);
	CHECK_EQ(rmc_node_state(ctx, 1), -EINVAL);
	close_ctx();

	start();
	stubd_refuse(RMCD_OPEN, ENOENT);
	CHECK(!rmc_open(7, -1));
	CHECK_EQ(errno, ENOENT);
	CHECK(says("context 7 does not exist"));
	stubd_refuse(RMCD_OPEN, EACCES);
	CHECK(!rmc_open(7, -1));
	CHECK_EQ(errno, EACCES);
	stubd_refuse(RMCD_OPEN, EPROTO);
	CHECK(!rmc_open(7, -1));
	CHECK(says("another version"));
	stubd_refuse(0, 0);
	CHECK(!rmc_open(~0U, -1));		/* not the control device */
	CHECK_EQ(errno, ENOENT);
	c = rmc_driver_control();
	CHECK(c);
	if (c) {
		CHECK_EQ(stubd_seen().open.ctx_id, -1);
		CHECK_EQ(rmc_call(c, RMC_IOC_NODE_INFO, &info), 0);
		CHECK_EQ(rmc_call(c, RMCD_ATTR_READ, &attr), 0);
		CHECK(!strcmp(attr.value, "up\n"));
		CHECK_EQ(rmc_call(c, 99, &attr), -1);
		CHECK_EQ(errno, ENOTTY);
	}
	rmc_driver_control_close(c);
	stop();
}

static void fails_to_open(const char *device, int err, const char *why)
{
	setenv("RMC_DEVICE", device, 1);
	CHECK(!rmc_open(7, -1));
	CHECK_EQ(errno, err);
	CHECK(says(why));
}

static void choosing(void)
{
	char path[256];

	start();
	fails_to_open("modul", EINVAL, "RMC_DEVICE is 'modul'");
	snprintf(path, sizeof(path), "%s/none", dir);
	fails_to_open(path, ENOENT, "rmc-run --daemon");
	snprintf(path, sizeof(path), "%s/%0100d", dir, 0);
	fails_to_open(path, ENAMETOOLONG, "no rmcd answers");
	if (access("/dev/rmc", F_OK))
		fails_to_open("module", ENOENT, "modprobe rmc");
	setenv("RMC_DEVICE", "daemon", 1);
	setenv("XDG_RUNTIME_DIR", dir, 1);
	ctx = rmc_open(7, -1);
	CHECK(ctx && !strcmp(ctx->path, at));
	rmc_close(ctx);
	if (access("/dev/rmc", F_OK) && access(RMC_CTX_DIR, F_OK)) {
		unsetenv("RMC_DEVICE");
		ctx = rmc_open(7, -1);
		CHECK(ctx && ctx->driver == &rmc_driver_daemon);
		rmc_close(ctx);
		/* an empty name is none */
		setenv("RMC_DEVICE", "", 1);
		ctx = rmc_open(7, -1);
		CHECK(ctx && ctx->driver == &rmc_driver_daemon);
		rmc_close(ctx);
	}
	setenv("RMC_DEVICE", at, 1);
	stop();
	/* a socket that a killed daemon left */
	fails_to_open(at, ECONNREFUSED, "no rmcd answers");
}

/* Memory must not be shown to a server of another user. */
static void stranger(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int ready[2], fd;
	pid_t child;
	char c;

	if (geteuid())
		return;
	fds_before = count_fds();
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/stranger", dir);
	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	fflush(stdout);
	child = fork();
	if (!child) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || setuid(65534) || listen(fd, 8) ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	CHECK_EQ(read(ready[0], &c, 1), 1);
	fails_to_open(a.sun_path, EPERM, "belongs to user 65534");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	unlink(a.sun_path);
	setenv("RMC_DEVICE", at, 1);
	CHECK_EQ(count_fds(), fds_before);
}

static void queue_pairs(void)
{
	struct rmc_completion c;
	unsigned int messages;
	struct rmc_qp *qp;
	struct stubd s;
	int open_fds, i;

	open_ctx();
	open_fds = count_fds();
	qp = rmc_qp_create(ctx, 2048);		/* a CQ of two pages: the flags are behind it */
	CHECK(qp);
	/* of the queues only the wake-up stays on both sides, and the file of the operands */
	CHECK_EQ(count_fds(), open_fds + 3);
	rmc_issue(qp, RMC_OP_NOTIFY, 0, 1, 0, NULL, 0);
	CHECK(stubd_wq(0)[0].word0);
	stubd_cq(0)[0].word = rmc_cqe_word(0, RMC_S_OK, 1);
	CHECK_EQ(rmc_cq_next(qp, &c), 1);
	stubd_flags(0)->worker_cpu = 4711;
	CHECK_EQ(qp->flags->worker_cpu, 4711);
	/* a parked worker is woken without a message */
	messages = stubd_seen().messages;
	stubd_flags(0)->need_wakeup = 1;
	CHECK_EQ(rmc_relax_slow(qp, 1), 0);
	CHECK_EQ(stubd_woken(0), 1);
	stubd_flags(0)->need_wakeup = 0;
	CHECK(!qp->yields);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_WAKE, &(struct rmc_qp_id) { .size = sizeof(struct rmc_qp_id),
						.flags = RMC_WAKE_YIELD }), 0);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_WAKE, &(struct rmc_qp_id) { .qp_id = 77 }), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_WAKE, &(struct rmc_qp_id) { .flags = 1U << 1 }), -1);
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_WAKE, &(struct rmc_qp_id) { .reserved = 1 }), -1);
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(stubd_woken(0), 0);
	CHECK_EQ(stubd_seen().messages, messages);
	/* old reports are gone before the arming */
	stubd_report();
	CHECK_EQ(rmc_cq_arm(qp), 0);
	s = stubd_seen();
	CHECK_EQ(s.fds, 1);
	CHECK_EQ(s.cq_arm.seen, 1);
	CHECK_EQ(s.cq_arm.qp_id, qp->id);
	CHECK(s.drained);
	stubd_signal();
	CHECK_EQ(poll(&(struct pollfd) { .fd = rmc_cq_eventfd(qp), .events = POLLIN }, 1, 0), 1);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_CQ_ARM, &(struct rmc_cq_arm) {
			.size = sizeof(struct rmc_cq_arm), .eventfd = -1 }), 0);
	CHECK_EQ(stubd_seen().fds, 0);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_CQ_ARM, &(struct rmc_cq_arm) {
			.size = sizeof(struct rmc_cq_arm), .eventfd = 9999 }), -1);
	CHECK_EQ(errno, EBADF);
	CHECK(rmc_alive(ctx));
	for (i = 0; i < 2; i++)
		rmc_qp_destroy(i ? rmc_qp_create(ctx, 8) : qp);
	CHECK_EQ(count_fds(), open_fds);
	close_ctx();
}

/* Memory of queues is mapped as long as it has to be, and not beyond its end. */
static void mapping(void)
{
	struct rmc_qp_create arg = { .size = sizeof(arg), .entries = 2048 };
	struct rmc_daemon *d;
	void *p;

	open_ctx();
	d = (struct rmc_daemon *)ctx->priv;
	CHECK_EQ(rmc_call(ctx, RMC_IOC_QP_CREATE, &arg), 0);
	/* the WQ of 8 pages, the CQ of 2 pages, the flags behind it */
	CHECK(rmc_map(ctx, 9 * PAGE, PROT_READ, arg.wq_offset) == MAP_FAILED);
	CHECK_EQ(errno, EINVAL);
	CHECK(rmc_map(ctx, 3 * PAGE, PROT_READ, arg.cq_offset) == MAP_FAILED);
	CHECK(rmc_map(ctx, 2 * PAGE, PROT_READ, arg.flags_offset) == MAP_FAILED);
	CHECK(rmc_map(ctx, PAGE, PROT_READ, arg.cq_offset) == MAP_FAILED);
	CHECK(rmc_map(ctx, ~(size_t)0, PROT_READ, arg.cq_offset) == MAP_FAILED);
	p = rmc_map(ctx, 2 * PAGE, PROT_READ, arg.cq_offset);
	CHECK(p != MAP_FAILED && !munmap(p, 2 * PAGE));
	CHECK(rmc_alive(ctx));
	/* the daemon makes it shorter: what is mapped then would be SIGBUS */
	CHECK_EQ(ftruncate((*d->qps[0])[arg.qp_id]->wq, 8 * PAGE - 1), 0);
	CHECK(rmc_map(ctx, 8 * PAGE, PROT_READ, arg.wq_offset) == MAP_FAILED);
	CHECK_EQ(errno, EPROTO);
	CHECK(!rmc_alive(ctx));
	close_ctx();
}

/* In a child, since the stub needs descriptors: with 0, 1, 2 left, each time twice as many */
static void few_descriptors(void)
{
	rlim_t before, i;
	struct rmc_qp *qp;
	int fd, next;

	ctx = rmc_open(7, 2);
	qp = ctx ? rmc_qp_create(ctx, 8) : NULL;
	CHECK(qp);
	next = dup(0);		/* all lower numbers are in use */
	close(next);
	for (i = 0; i < 2 * STUBD_QPS; i++) {
		before = limit_fds((rlim_t)next + i % 3);
		CHECK(!rmc_qp_create(ctx, 8));
		CHECK_EQ(errno, EMFILE);
		CHECK(says("no descriptors left"));
		limit_fds(before);
		/* those that came are closed */
		fd = dup(0);
		CHECK_EQ(fd, next);
		close(fd);
	}
	before = limit_fds((rlim_t)next);
	CHECK_EQ(rmc_watch_open(ctx, 0, 0), -EMFILE);
	CHECK(rmc_alive(ctx));
	limit_fds(before);
	CHECK(qp && !rmc_cq_arm(qp));
	/* the daemon has none that nobody has here */
	for (i = 1; i < STUBD_QPS; i++)
		CHECK(rmc_qp_create(ctx, 8));
	rmc_close(ctx);
}

static void out_of_descriptors(void)
{
	start();
	in_child(few_descriptors);
	stop();
}

/* membarrier() fails from now on: 0 if not, for want of seccomp */
static int forbid_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = ARRAY_SIZE(code), .filter = code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) &&
	       !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

static void without_membarrier(void)
{
	char said[512] = "";
	int fds[2];

	if (!forbid_membarrier()) {
		printf("# no seccomp: not tried\n");
		return;
	}
	CHECK_EQ(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	dup2(fds[1], STDERR_FILENO);
	rmc_log_level = RMC_LOG_WARN;
	ctx = rmc_open(7, 2);
	CHECK(ctx);
	CHECK(read(fds[0], said, sizeof(said) - 1) > 0);
	CHECK(strstr(said, "warn: membarrier: "));
	rmc_close(ctx);
}

static void no_barrier(void)
{
	start();
	in_child(without_membarrier);
	stop();
}

/* A worker on our own CPU gets it, without the kernel's help. */
static void yields(void)
{
	struct rmc_qp_stats st;
	struct rmc_qp *qp;
	int i, cpu;

	open_ctx();
	qp = rmc_qp_create(ctx, 8);
	cpu = sched_getcpu();
	for (i = 0; i < 1000; i++) {
		stubd_flags(0)->worker_cpu = (uint32_t)(cpu = sched_getcpu());
		CHECK_EQ(rmc_relax_slow(qp, 1), 0);
		if (cpu == sched_getcpu())
			break;
	}
	rmc_qp_stats(qp, &st);
	CHECK(st.yields > 0);
	stubd_flags(0)->worker_cpu = ~0U;
	CHECK_EQ(rmc_relax_slow(qp, 1), 0);
	i = (int)st.yields;
	rmc_qp_stats(qp, &st);
	CHECK_EQ(st.yields, i);
	close_ctx();
}

static void events(void)
{
	struct rmc_node_event e;
	int fd;

	open_ctx();
	fd = rmc_watch_open(ctx, 0, RMC_WATCH_NONBLOCK);
	CHECK(fd >= 0 && fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(rmc_watch_read(fd, &e, 1, 1000), 1);
	CHECK_EQ(e.nid, 3);
	close(fd);
	stubd_refuse(RMC_IOC_WATCH, EBUSY);
	CHECK_EQ(rmc_watch_open(ctx, 0, 0), -EBUSY);
	close_ctx();
}

/* All calls, of which one may end the connection: the number of those that failed */
static int session(int *protocol)
{
	struct rmc_ctx *c = rmc_open(7, 2);
	char *p = pages(2), *q = NULL;
	struct rmc_qp *qp;
	int failed = 0, fd;

	*protocol = !c && errno == EPROTO;
	if (!c) {
		munmap(p, 2 * PAGE);
		return 1;
	}
#define CALL(x) do {								\
	int r = (x);								\
										\
	failed += r < 0;							\
	*protocol |= r == -EPROTO;						\
	CHECK(r >= 0 || r == -ESHUTDOWN || r == -EPROTO);			\
	CHECK(r >= 0 || says("rmcd"));						\
	CHECK(r < 0 || !failed);						\
} while (0)
	fill(p, 2 * PAGE);
	CALL(rmc_seg_register(c, p, 2 * PAGE, 0));
	CALL(rmc_buf_register(c, p, 2 * PAGE));
	errno = 0;
	qp = rmc_qp_create(c, 8);
	CALL(qp ? 0 : -errno);
	if (qp)
		CALL(rmc_cq_arm(qp));
	fd = rmc_watch_open(c, 0, 0);
	CALL(fd);
	CALL(rmc_buf_alloc(c, PAGE, -1, (void **)&q));
	if (fd >= 0)
		close(fd);
	rmc_qp_destroy(qp);
	rmc_close(c);
	CHECK_EQ(kind(p), 'p');
	CHECK(filled(p, 2 * PAGE));
	if (q)
		CHECK_EQ(kind(q), '-');
	munmap(p, 2 * PAGE);
	return failed;
}

static void daemon_ends(void)
{
	char where[32];
	unsigned int all, i;
	int protocol, reset;

	start();
	CHECK_EQ(session(&protocol), 0);
	all = stubd_seen().messages;
	stop();
	CHECK(all > 10);
	for (reset = 0; reset < 2; reset++) {
		for (i = 1; i <= all; i++) {
			snprintf(where, sizeof(where), "message %u", i);
			tap_where = where;
			start();
			stubd_set(0, i, reset ? FAULT_RESET : FAULT_EOF);
			session(&protocol);
			CHECK(!protocol);
			CHECK_EQ(stubd_seen().messages, reset ? i - 1 : i);
			stop();
		}
	}
	tap_where = NULL;
}

static void wrong_answers(void)
{
	static const __u32 requests[] = {
		RMCD_OPEN, RMC_IOC_QUERY, RMC_IOC_QP_CREATE, RMC_IOC_SEG_REG, RMC_IOC_BUF_REG,
		RMC_IOC_CQ_ARM, RMC_IOC_WATCH,
	};
	char where[32];
	int protocol, f, i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		for (f = FAULT_SHORT; f <= FAULT_SHORT_CQ; f++) {
			if (f == FAULT_FDS_NONE && requests[i] != RMCD_OPEN &&
			    requests[i] != RMC_IOC_QP_CREATE && requests[i] != RMC_IOC_WATCH)
				continue;	/* there are none */
			if (f >= FAULT_SHORT_WQ && requests[i] != RMC_IOC_QP_CREATE)
				continue;
			snprintf(where, sizeof(where), "request %#x, fault %d", requests[i], f);
			tap_where = where;
			start();
			stubd_set(requests[i], 0, (enum stubd_fault)f);
			CHECK(session(&protocol) > 0);
			CHECK(protocol);
			stop();
		}
	}
	tap_where = NULL;
}

struct sleeper {
	struct rmc_qp *qp;
	int how, result;
	pthread_t thread;
};

static void *sleeps(void *arg)
{
	struct sleeper *s = (struct sleeper *)arg;
	unsigned int spins = 0;
	uint32_t seen = 0;

	switch (s->how) {
	case 0:
		s->result = rmc_cq_sleep(s->qp, 0, -1);
		break;
	case 1:
		s->result = rmc_seg_wait(ctx, &seen, -1);
		break;
	case 2:
		while (!(s->result = rmc_relax(s->qp, &spins)))
			;
		break;
	default:
		s->result = rmc_cq_sleep(s->qp, 100000000, -1);
	}
	return NULL;
}

/* Who waits for a daemon that ends is woken, in each way of waiting. */
static void gone_while_waiting(void)
{
	struct sleeper s = { .how = 0 };

	for (s.how = 0; s.how < 4; s.how++) {
		open_ctx();
		s.qp = rmc_qp_create(ctx, 8);
		pthread_create(&s.thread, NULL, sleeps, &s);
		usleep(20000);
		stubd_hang_up();
		pthread_join(s.thread, NULL);
		CHECK_EQ(s.result, -ESHUTDOWN);
		CHECK(!rmc_alive(ctx));
		CHECK_EQ(rmc_cq_arm(s.qp), -ESHUTDOWN);
		CHECK(says("rmcd is gone"));
		close_ctx();
	}
}

static void sleeping(void)
{
	struct sleeper s = { .how = 0 };
	uint32_t seen = 0;

	open_ctx();
	s.qp = rmc_qp_create(ctx, 8);
	pthread_create(&s.thread, NULL, sleeps, &s);
	while (!stubd_seen().cq_arm.size)
		usleep(1000);
	__atomic_store_n(&stubd_cq(0)[0].word, rmc_cqe_word(0, RMC_S_OK, 1), __ATOMIC_RELEASE);
	stubd_signal();
	pthread_join(s.thread, NULL);
	CHECK_EQ(s.result, 1);
	stubd_notified(3);
	CHECK_EQ(rmc_seg_wait(ctx, &seen, 1000), 1);
	CHECK_EQ(seen, 3);
	CHECK_EQ(rmc_seg_wait(ctx, &seen, 10), 0);
	close_ctx();
}

static void *arms(void *arg)
{
	struct rmc_qp *qp = (struct rmc_qp *)arg;
	long bad = 0;
	int i;

	for (i = 0; i < 300; i++) {
		bad += rmc_cq_arm(qp) != 0;
		bad += rmc_node_state(ctx, 1) != RMC_NODE_UP;
		bad += rmc_call(ctx, RMC_IOC_WAKE, &(struct rmc_qp_id) { .qp_id = qp->id }) != 0;
	}
	return (void *)bad;
}

/* Queue pairs of several threads share the connection; others come and go. */
static void threads(void)
{
	struct rmc_qp *qp[3];
	pthread_t thread[3];
	void *bad;
	int i;

	open_ctx();
	for (i = 0; i < 3; i++)
		qp[i] = rmc_qp_create(ctx, 8);
	for (i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, arms, qp[i]);
	for (i = 0; i < 20; i++)
		rmc_qp_destroy(rmc_qp_create(ctx, 8));
	for (i = 0; i < 3; i++) {
		pthread_join(thread[i], &bad);
		CHECK(!bad);
	}
	close_ctx();
}

/* One call in a thread that is being cancelled. Returns 1 if the call returned. */
struct cancelled {
	void (*fn)(void);
	int returned;
};

static void *calls_cancelled(void *arg)
{
	struct cancelled *c = (struct cancelled *)arg;

	/* takes effect at the next cancellation point */
	pthread_cancel(pthread_self());
	c->fn();
	c->returned = 1;
	pthread_testcancel();
	return NULL;
}

static char *cancel_page;

static void call_plain(void)
{
	CHECK_EQ(rmc_node_state(ctx, 1), RMC_NODE_UP);
}

static void call_register(void)
{
	CHECK_EQ(rmc_buf_register(ctx, cancel_page, PAGE), 1);
}

static void call_unregister(void)
{
	CHECK_EQ(rmc_buf_unregister(ctx, 1), 0);
}

static void call_wake(void)
{
	CHECK_EQ(rmc_call(ctx, RMC_IOC_WAKE, &(struct rmc_qp_id) { .qp_id = 0 }), 0);
}

static void call_create(void)
{
	rmc_qp_destroy(rmc_qp_create(ctx, 8));
}

/* A thread that is cancelled leaves no lock behind: other threads' calls and fork() go on. */
static void cancelling(void)
{
	static void (* const fn[])(void) = {
		call_plain, call_register, call_unregister, call_wake, call_create,
	};
	struct cancelled c;
	pthread_t thread;
	int i, status;
	void *result;
	pid_t pid;

	open_ctx();
	CHECK(rmc_qp_create(ctx, 8));
	cancel_page = pages(1);
	for (i = 0; i < ARRAY_SIZE(fn); i++) {
		c = (struct cancelled) { .fn = fn[i] };
		pthread_create(&thread, NULL, calls_cancelled, &c);
		pthread_join(thread, &result);
		CHECK(result == PTHREAD_CANCELED);
		if (!c.returned) {
			/* what follows could wait for its locks */
			printf("Bail out! call %d was a cancellation point\n", i);
			exit(1);
		}
		CHECK_EQ(rmc_node_state(ctx, 1), RMC_NODE_UP);
		pid = fork();
		if (!pid)
			_exit(0);
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	}
	close_ctx();
	munmap(cancel_page, PAGE);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "opening a context, and the control device", opening },
		{ "choosing between module and daemon", choosing },
		{ "a server of another user is refused", stranger },
		{ "queue pairs: memory, wake-ups, arming", queue_pairs },
		{ "memory of queues is mapped in full, or not at all", mapping },
		{ "without descriptors a request fails, and nothing else", out_of_descriptors },
		{ "a process that may not use membarrier() is told", no_barrier },
		{ "a worker on our CPU gets it", yields },
		{ "event files", events },
		{ "the daemon ends at any message", daemon_ends },
		{ "answers against the protocol end the connection", wrong_answers },
		{ "sleeping and being woken", sleeping },
		{ "the daemon ends while a thread waits", gone_while_waiting },
		{ "threads share a connection", threads },
		{ "a thread that is cancelled leaves no lock behind", cancelling },
	};

	return run_with_daemon(tests, ARRAY_SIZE(tests));
}
