/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A stub of rmcd that a test controls: see stub_daemon.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "stub_daemon.h"

#define PAGE		4096UL
#define QUEUE_BYTES	(16 * PAGE)

struct message {
	struct rmcd_head head;
	unsigned char body[RMCD_MESSAGE_BYTES];
	size_t len;			/* of the body */
	int fd[16];
	unsigned int fds;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stubd s;
static int listener = -1, connection = -1, report = -1, armed = -1;
static pthread_t thread;
static struct {
	int used, wake;
	char *wq, *cq;
	size_t cq_bytes;
} qp[STUBD_QPS];
static int buffer[STUBD_BUFFERS], segment;
static struct {
	char *p;
	size_t len;
} dom[3];		/* receive slots, send slots, arrival queue */
static struct {
	char *p;
	size_t len;
	int seals;
} piece[RMCD_PIECES];

struct stubd stubd_seen(void)
{
	struct stubd copy;

	pthread_mutex_lock(&lock);
	copy = s;
	pthread_mutex_unlock(&lock);
	return copy;
}

void stubd_set(__u32 fault_request, unsigned int fault_at, enum stubd_fault fault)
{
	pthread_mutex_lock(&lock);
	s.fault_request = fault_request;
	s.fault_at = fault_at;
	s.fault = fault;
	pthread_mutex_unlock(&lock);
}

void stubd_refuse(__u32 request, int error)
{
	pthread_mutex_lock(&lock);
	s.refuse = request;
	s.error = error;
	pthread_mutex_unlock(&lock);
}

void stubd_notified(unsigned int n)
{
	pthread_mutex_lock(&lock);
	s.notified = n;
	pthread_mutex_unlock(&lock);
}

void *stubd_piece(unsigned int n)
{
	return piece[n].p;
}

int stubd_seals(unsigned int n)
{
	return piece[n].seals;
}

char *stubd_recv(void)
{
	return dom[0].p;
}

struct rmc_send_slot *stubd_send(void)
{
	return (struct rmc_send_slot *)(void *)dom[1].p;
}

struct rmc_aq_entry *stubd_aq(void)
{
	return (struct rmc_aq_entry *)(void *)dom[2].p;
}

struct rmc_wq_entry *stubd_wq(unsigned int n)
{
	return (struct rmc_wq_entry *)(void *)qp[n].wq;
}

struct rmc_cq_entry *stubd_cq(unsigned int n)
{
	return (struct rmc_cq_entry *)(void *)qp[n].cq;
}

struct rmc_qp_flags *stubd_flags(unsigned int n)
{
	return (struct rmc_qp_flags *)(void *)(qp[n].cq + qp[n].cq_bytes);
}

__u64 stubd_woken(unsigned int n)
{
	__u64 count = 0;

	return read(qp[n].wake, &count, sizeof(count)) < 0 ? 0 : count;
}

static void signal_fd(int fd)
{
	__u64 one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		perror("stub_daemon: write");
}

void stubd_report(void)
{
	signal_fd(report);
}

void stubd_signal(void)
{
	pthread_mutex_lock(&lock);
	if (armed >= 0)
		signal_fd(armed);
	pthread_mutex_unlock(&lock);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void drop_pieces(void)
{
	unsigned int i;

	for (i = 0; i < RMCD_PIECES; i++) {
		if (piece[i].p)
			munmap(piece[i].p, piece[i].len);
		piece[i].p = NULL;
	}
}

static void map_pieces(const struct rmcd_memory *m, const struct message *in)
{
	unsigned int i;
	size_t skip;
	int fd;

	drop_pieces();
	s.memory = *m;
	for (i = 0; i < m->count && i < RMCD_PIECES; i++) {
		if (m->piece[i].fd < 0 || m->piece[i].fd >= (int)in->fds)
			continue;
		fd = in->fd[m->piece[i].fd];
		skip = m->piece[i].offset % PAGE;
		piece[i].len = m->piece[i].length + skip;
		piece[i].seals = fcntl(fd, F_GET_SEALS);
		piece[i].p = (char *)mmap(NULL, piece[i].len, PROT_READ | PROT_WRITE, MAP_SHARED,
					  fd, (off_t)(m->piece[i].offset - skip));
		if (piece[i].p == MAP_FAILED)
			piece[i].p = NULL;
	}
}

static int create_qp(struct rmc_qp_create *arg, struct message *m)
{
	unsigned int i;
	int fd;

	for (i = 0; i < STUBD_QPS && qp[i].used; i++)
		;
	if (i == STUBD_QPS)
		return -ENOSPC;
	qp[i].used = 1;
	qp[i].cq_bytes = (arg->entries * RMC_CQE_SIZE + PAGE - 1) & ~(PAGE - 1);
	fd = memfd_create("wq", MFD_CLOEXEC);
	m->fd[m->fds++] = fd;
	if (fd < 0 || ftruncate(fd, QUEUE_BYTES))
		return -ENOMEM;
	qp[i].wq = (char *)mmap(NULL, QUEUE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	fd = memfd_create("cq", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	m->fd[m->fds++] = fd;
	if (fd < 0 || ftruncate(fd, (off_t)(qp[i].cq_bytes + PAGE)))
		return -ENOMEM;
	qp[i].cq = (char *)mmap(NULL, qp[i].cq_bytes + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
				fd, 0);
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
	qp[i].wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m->fd[m->fds++] = fcntl(qp[i].wake, F_DUPFD_CLOEXEC, 0);
	arg->qp_id = i;
	arg->wq_offset = arg->cq_offset = arg->flags_offset = 12345;
	return 0;
}

static void destroy_qp(unsigned int i)
{
	munmap(qp[i].wq, QUEUE_BYTES);
	munmap(qp[i].cq, qp[i].cq_bytes + PAGE);
	close(qp[i].wake);
	memset(&qp[i], 0, sizeof(qp[i]));
}

/* Memory of a domain, and its file for the client */
static int share(struct message *m, unsigned int part, size_t len, int read_only)
{
	int fd = memfd_create("domain", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	len = (len + PAGE - 1) & ~(PAGE - 1);
	m->fd[m->fds++] = fd;
	if (fd < 0 || ftruncate(fd, (off_t)len))
		return -ENOMEM;
	if (dom[part].p)
		munmap(dom[part].p, dom[part].len);
	dom[part].len = len;
	dom[part].p = (char *)mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
	      (read_only ? F_SEAL_FUTURE_WRITE : 0));
	return 0;
}

static int create_dom(struct rmc_dom_create *arg, struct message *m)
{
	size_t slots = (size_t)arg->nodes * arg->slots;

	if (s.domains)
		return -EEXIST;
	s.domains++;
	arg->stride = (64 + arg->max_message + 63) / 64 * 64;
	arg->life = 77;
	arg->recv_offset = arg->send_offset = 12345;
	if (share(m, 0, slots * arg->stride, 1))
		return -ENOMEM;
	return share(m, 1, slots * sizeof(struct rmc_send_slot), 0);
}

static int attach(struct rmc_dom_attach *arg, struct message *m)
{
	s.cores++;
	arg->core = arg->flags & RMC_DOM_SEND_ONLY ? ~0U : 3;
	arg->aq_entries = arg->flags & RMC_DOM_SEND_ONLY ? 0 : 128;
	arg->aq_offset = 12345;
	return arg->aq_entries ? share(m, 2, 128 * sizeof(struct rmc_aq_entry), 1) : 0;
}

static int watch(struct message *m, struct rmc_watch *arg)
{
	struct rmc_node_event e = { .type = RMC_EVENT_NODE_UP, .nid = 3 };
	int fd[2];

	if (pipe2(fd, O_CLOEXEC | (arg->flags & RMC_WATCH_NONBLOCK ? O_NONBLOCK : 0)))
		return -errno;
	if (write(fd[1], &e, sizeof(e)) != sizeof(e))
		return -EIO;
	close(fd[1]);
	m->fd[m->fds++] = fd[0];
	return 0;
}

static void query(struct rmc_query *q)
{
	*q = (struct rmc_query) {
		.size = sizeof(*q), .abi = RMC_ABI_VERSION, .fabric = RMC_FABRIC_LOOPBACK,
		.ni = RMC_NI_FUSED, .nodes = 4, .local_nodes = 4, .max_segment = 1ULL << 40,
		.max_length = 1 << 20, .max_qps = STUBD_QPS, .max_buffers = STUBD_BUFFERS,
		.max_entries = 4096,
	};
}

static int was_drained(void)
{
	struct pollfd p = { .fd = report, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static int arm(struct message *in)
{
	close_fd(&armed);
	if (in->fds)
		armed = fcntl(in->fd[0], F_DUPFD_CLOEXEC, 0);
	s.drained = was_drained();
	return 0;
}

static int register_memory(struct message *in, size_t size)
{
	struct rmcd_memory m;

	if (in->len != size + sizeof(m))
		return -EINVAL;
	memcpy(&m, in->body + size, sizeof(m));
	map_pieces(&m, in);
	return 0;
}

static int new_buffer(struct rmc_buf_reg *arg)
{
	unsigned int i;

	for (i = 0; i < STUBD_BUFFERS && buffer[i]; i++)
		;
	if (i == STUBD_BUFFERS)
		return -ENOSPC;
	buffer[i] = 1;
	arg->buf_id = i;
	return 0;
}

/* The answer's body is that of the request at first. */
static int dispatch(struct message *in, struct message *out)
{
	void *arg = out->body;
	int err;

	switch (in->head.request) {
	case RMCD_OPEN:
		memcpy(&s.open, in->body, sizeof(s.open));
		((struct rmcd_open *)arg)->pid = 4711;	/* of another pid namespace */
		close_fd(&report);
		report = eventfd(0, EFD_CLOEXEC);
		out->fd[out->fds++] = fcntl(report, F_DUPFD_CLOEXEC, 0);
		return 0;
	case RMC_IOC_QUERY:
		query((struct rmc_query *)arg);
		return 0;
	case RMC_IOC_NODE_INFO:
		((struct rmc_node_info *)arg)->state = RMC_NODE_UP;
		return 0;
	case RMCD_ATTR_READ:
		strcpy(((struct rmcd_attr *)arg)->value, "up\n");
		return 0;
	case RMC_IOC_QP_CREATE:
		return create_qp((struct rmc_qp_create *)arg, out);
	case RMC_IOC_QP_DESTROY:
		destroy_qp(((struct rmc_qp_id *)arg)->qp_id);
		return 0;
	case RMC_IOC_CQ_ARM:
		memcpy(&s.cq_arm, in->body, sizeof(s.cq_arm));
		return arm(in);
	case RMC_IOC_SEG_ARM:
		memcpy(&s.seg_arm, in->body, sizeof(s.seg_arm));
		((struct rmc_seg_arm *)arg)->seen = s.notified;
		return arm(in);
	case RMC_IOC_DOM_QUERY:
		*(struct rmc_dom_query *)arg = (struct rmc_dom_query) {
			.size = sizeof(struct rmc_dom_query), .policies = 1U << RMC_DOM_GREEDY,
			.max_slots = 64, .max_message = 8192, .max_cores = 16, .max_depth = 4,
		};
		return 0;
	case RMC_IOC_DOM_CREATE:
		return create_dom((struct rmc_dom_create *)arg, out);
	case RMC_IOC_DOM_DESTROY:
		s.domains--;
		return 0;
	case RMC_IOC_DOM_ATTACH:
		return attach((struct rmc_dom_attach *)arg, out);
	case RMC_IOC_DOM_DETACH:
		s.cores--;
		return 0;
	case RMC_IOC_ROOM_ARM:
		return arm(in);
	case RMC_IOC_AQ_ARM:
		memcpy(&s.aq_arm, in->body, sizeof(s.aq_arm));
		return arm(in);
	case RMC_IOC_WATCH:
		return watch(out, (struct rmc_watch *)arg);
	case RMC_IOC_SEG_REG:
		memcpy(&s.seg_reg, in->body, sizeof(s.seg_reg));
		err = register_memory(in, sizeof(s.seg_reg));
		segment = !err;
		out->len = sizeof(s.seg_reg);
		return err;
	case RMC_IOC_SEG_ADD:
		memcpy(&s.seg_add, in->body, sizeof(s.seg_add));
		out->len = sizeof(s.seg_add);
		return register_memory(in, sizeof(s.seg_add));
	case RMC_IOC_BUF_REG:
		memcpy(&s.buf_reg, in->body, sizeof(s.buf_reg));
		out->len = sizeof(s.buf_reg);
		err = register_memory(in, sizeof(s.buf_reg));
		return err ? err : new_buffer((struct rmc_buf_reg *)arg);
	case RMC_IOC_SEG_UNREG:
		err = segment ? 0 : -ENOENT;
		segment = 0;
		return err;
	case RMC_IOC_BUF_UNREG:
		buffer[((struct rmc_buf_unreg *)arg)->buf_id] = 0;
		return 0;
	}
	return 0;
}

static void close_fds(struct message *m)
{
	while (m->fds)
		close(m->fd[--m->fds]);
}

static int get(int fd, struct message *m)
{
	struct iovec part[2] = { { &m->head, sizeof(m->head) }, { m->body, sizeof(m->body) } };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(m->fd))];
	struct msghdr msg = { .msg_iov = part, .msg_iovlen = 2, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	m->fds = 0;
	if (got <= 0)
		return 0;
	if (c) {
		m->fds = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(m->fd, CMSG_DATA(c), m->fds * sizeof(int));
	}
	m->len = (size_t)got - sizeof(m->head);
	return 1;
}

static void put(int fd, struct message *m, size_t bytes)
{
	struct iovec part[2] = { { &m->head, sizeof(m->head) }, { m->body, m->len } };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(m->fd))] = { 0 };
	struct msghdr msg = { .msg_iov = part, .msg_iovlen = 2 };
	struct cmsghdr *c;

	if (bytes < sizeof(m->head)) {
		part[0].iov_len = bytes;
		msg.msg_iovlen = 1;
	}
	if (m->fds) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(m->fds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(m->fds * sizeof(int));
		memcpy(CMSG_DATA(c), m->fd, m->fds * sizeof(int));
	}
	if (sendmsg(fd, &msg, MSG_NOSIGNAL) < 0)
		perror("stub_daemon: sendmsg");
}

/* Other memory for a queue */
static void shorten(struct message *m, unsigned int i, off_t len)
{
	close(m->fd[i]);
	m->fd[i] = memfd_create("short", MFD_CLOEXEC);
	if (m->fd[i] < 0 || ftruncate(m->fd[i], len))
		perror("stub_daemon: memfd_create");
}

static void answer(int fd, struct message *m, enum stubd_fault fault)
{
	size_t bytes = sizeof(m->head) + m->len;
	unsigned int most = fault == FAULT_FDS_MANY ? RMCD_MESSAGE_FDS + 1 : m->fds + 1;

	if (fault == FAULT_FDS_NONE)
		close_fds(m);
	while ((fault == FAULT_FDS_MORE || fault == FAULT_FDS_MANY ||
		fault == FAULT_FDS_REFUSED) && m->fds < most)
		m->fd[m->fds++] = eventfd(0, EFD_CLOEXEC);
	m->head.fds = m->fds + (fault == FAULT_FDS_COUNT);
	m->head.reserved = fault == FAULT_RESERVED;
	m->head.request += fault == FAULT_REQUEST;
	if (fault == FAULT_SHORT_WQ)
		shorten(m, 0, PAGE - 1);
	if (fault == FAULT_SHORT_CQ)
		shorten(m, 1, 2 * PAGE - 1);
	if (fault == FAULT_STRIDE)
		((struct rmc_dom_create *)(void *)m->body)->stride -= 64;
	if (fault == FAULT_NO_LIFE)
		((struct rmc_dom_create *)(void *)m->body)->life = 0;
	if (fault == FAULT_AQ_ENTRIES)
		((struct rmc_dom_attach *)(void *)m->body)->aq_entries = 3;
	if (fault == FAULT_RET)
		m->head.ret = -5000;
	if (fault == FAULT_FDS_REFUSED)
		m->head.ret = -EPERM;
	if (fault == FAULT_SHORT)
		bytes = sizeof(m->head) - 1;
	if (fault == FAULT_SHORT_BODY)
		m->len--;
	if (fault == FAULT_LONG_BODY)
		m->len++;
	if (fault == FAULT_TOO_LONG)
		m->len = RMCD_MESSAGE_BYTES;
	put(fd, m, bytes);
}

/* 0: the connection ends */
static int handle(int fd)
{
	struct message in, out;
	enum stubd_fault fault;

	if (s.fault == FAULT_RESET && s.messages + 1 == s.fault_at)
		return 0;
	if (!get(fd, &in))
		return 0;
	s.messages++;
	s.fds = in.fds;
	fault = in.head.request == s.fault_request || s.messages == s.fault_at ? s.fault
									      : FAULT_NONE;
	if (fault == FAULT_EOF) {
		close_fds(&in);
		return 0;
	}
	out = in;
	out.fds = 0;
	out.head.ret = in.head.request == s.refuse ? -s.error : dispatch(&in, &out);
	if (in.head.request == s.refuse)
		out.len = 0;
	answer(fd, &out, fault);
	close_fds(&out);
	close_fds(&in);
	return 1;
}

static void reset(void)
{
	int i;

	for (i = 0; i < STUBD_QPS; i++)
		if (qp[i].used)
			destroy_qp((unsigned int)i);
	memset(buffer, 0, sizeof(buffer));
	segment = 0;
	s.domains = s.cores = 0;
	for (i = 0; i < 3; i++)
		if (dom[i].p)
			munmap(dom[i].p, dom[i].len);
	memset(dom, 0, sizeof(dom));
	drop_pieces();
	close_fd(&report);
	close_fd(&armed);
}

static void *serve(void *arg)
{
	struct pollfd p = { .events = POLLIN };
	int fd, more;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		pthread_mutex_lock(&lock);
		connection = fd;
		s.connections++;
		pthread_mutex_unlock(&lock);
		p.fd = fd;
		do {
			poll(&p, 1, -1);
			pthread_mutex_lock(&lock);
			more = handle(fd);
			pthread_mutex_unlock(&lock);
		} while (more);
		pthread_mutex_lock(&lock);
		reset();
		close_fd(&connection);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

void stubd_hang_up(void)
{
	pthread_mutex_lock(&lock);
	if (connection >= 0)
		shutdown(connection, SHUT_RDWR);
	pthread_mutex_unlock(&lock);
}

void stubd_start(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	memset(&s, 0, sizeof(s));
	strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
	unlink(path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(listener, 8) || pthread_create(&thread, NULL, serve, NULL)) {
		printf("Bail out! no server at %s\n", path);
		exit(1);
	}
}

void stubd_stop(void)
{
	stubd_hang_up();
	shutdown(listener, SHUT_RDWR);
	pthread_join(thread, NULL);
	close_fd(&listener);
}
