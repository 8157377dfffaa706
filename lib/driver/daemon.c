/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The driver that is rmcd: requests are messages (protocol.h), memory is passed as files. What
 * the kernel would do for a process without being asked is done here: waking a worker,
 * finding and moving memory, and noticing that the other side is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "daemon.h"

/* Why the last call of this thread failed, if errno does not say it */
static __thread const char *reason;

static const char why_gone[] =
	"rmcd is gone: it ended, or has closed the connection; open the context anew once it runs";
static const char why_protocol[] =
	"rmcd broke the protocol of its socket: are library and rmcd of one version?";
static const char why_full[] =
	"this process has no descriptors left: close some, or raise the limit (ulimit -n)";

void rmc_daemon_because(const char *why)
{
	reason = why;
}

int rmc_daemon_violated(struct rmc_daemon *d)
{
	reason = why_protocol;
	return rmc_socket_violated(&d->socket);
}

static const char *daemon_why(void)
{
	return reason;
}

int rmc_daemon_request(struct rmc_daemon *d, struct rmc_message *m, size_t want,
		       unsigned int want_fds)
{
	int err = rmc_socket_call(&d->socket, m, want, want_fds);

	if (!err)
		err = m->head.ret;
	else if (err == -ESHUTDOWN)
		reason = why_gone;
	else if (err == -EPROTO)
		reason = why_protocol;
	else if (err == -EMFILE)
		reason = why_full;
	if (err >= 0)
		return err;
	errno = -err;
	return -1;
}

size_t rmc_daemon_begin(struct rmc_message *m, unsigned long number, const void *arg)
{
	uint32_t size = 0;

	if (number >= RMCD_ATTR_READ && number <= RMCD_ATTR_WRITE) {
		size = sizeof(struct rmcd_attr);
	} else if (_IOC_TYPE(number) == RMC_IOC_TYPE) {
		memcpy(&size, arg, sizeof(size));	/* the struct begins with it */
	} else {
		errno = ENOTTY;
		return 0;
	}
	if (!size || size > sizeof(m->body)) {
		errno = EINVAL;
		return 0;
	}
	m->head.request = (uint32_t)number;
	memcpy(m->body, arg, size);
	m->len = size;
	m->fds = 0;
	return size;
}

int rmc_daemon_plain(struct rmc_daemon *d, unsigned long number, void *arg)
{
	struct rmc_message m;
	size_t size = rmc_daemon_begin(&m, number, arg);
	int ret;

	if (!size)
		return -1;
	ret = rmc_daemon_request(d, &m, size, 0);
	if (ret >= 0)
		memcpy(arg, m.body, size);
	return ret;
}

static int arm(struct rmc_ctx *ctx, unsigned long number, void *arg, int eventfd)
{
	struct rmc_message m;
	size_t size = rmc_daemon_begin(&m, number, arg);
	char reports[64];
	ssize_t n;
	int ret;

	if (!size)
		return -1;
	if (eventfd >= 0)
		m.fd[m.fds++] = eventfd;
	/*
	 * Reports of before the arming do not count. What is still to be reported, of this or
	 * of other queue pairs, rmcd reports again when it arms. An empty socket is no error.
	 */
	do {
		n = read(ctx->fd, reports, sizeof(reports));
	} while (n == (ssize_t)sizeof(reports));
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -1;
	ret = rmc_daemon_request((struct rmc_daemon *)ctx->priv, &m, size, 0);
	if (ret >= 0 && number == RMC_IOC_SEG_ARM)
		((struct rmc_seg_arm *)arg)->seen = ((struct rmc_seg_arm *)(void *)m.body)->seen;
	return ret;
}

static int watch(struct rmc_daemon *d, struct rmc_watch *arg)
{
	struct rmc_message m;
	size_t size = rmc_daemon_begin(&m, RMC_IOC_WATCH, arg);
	int ret;

	if (!size)
		return -1;
	ret = rmc_daemon_request(d, &m, size, 1);
	if (ret >= 0)
		arg->fd = m.fd[0];
	return ret;
}

static int call(struct rmc_ctx *ctx, unsigned long number, void *arg)
{
	struct rmc_daemon *d = (struct rmc_daemon *)ctx->priv;

	if (number == RMC_IOC_WAKE)
		return rmc_daemon_wake(d, (const struct rmc_qp_id *)arg);
	reason = NULL;
	if (rmc_ctx_inherited(ctx)) {
		errno = EPERM;		/* its message would mix with those of the parent */
		return -1;
	}
	switch (number) {
	case RMC_IOC_QP_CREATE:
		return rmc_daemon_create_qp(d, (struct rmc_qp_create *)arg);
	case RMC_IOC_QP_DESTROY:
		/* first: another thread's new queue pair may get the id */
		rmc_daemon_forget_qp(d, ((const struct rmc_qp_id *)arg)->qp_id);
		return rmc_daemon_plain(d, number, arg);
	case RMC_IOC_CQ_ARM:
		return arm(ctx, number, arg, ((const struct rmc_cq_arm *)arg)->eventfd);
	case RMC_IOC_SEG_ARM:
		return arm(ctx, number, arg, ((const struct rmc_seg_arm *)arg)->eventfd);
	case RMC_IOC_AQ_ARM:
		return arm(ctx, number, arg, ((const struct rmc_aq_arm *)arg)->eventfd);
	case RMC_IOC_ROOM_ARM:
		return arm(ctx, number, arg, ((const struct rmc_room_arm *)arg)->eventfd);
	case RMC_IOC_DOM_CREATE:
		return rmc_daemon_create_dom(d, (struct rmc_dom_create *)arg);
	case RMC_IOC_DOM_OPEN:
		return rmc_daemon_open_dom(d, (struct rmc_dom_open *)arg);
	case RMC_IOC_DOM_ATTACH:
		return rmc_daemon_attach(d, (struct rmc_dom_attach *)arg);
	case RMC_IOC_DOM_DETACH:
		rmc_daemon_forget_aq(d, ((const struct rmc_dom_detach *)arg)->qp_id);
		return rmc_daemon_plain(d, number, arg);
	case RMC_IOC_DOM_DESTROY:
		rmc_daemon_forget_dom(d);
		return rmc_daemon_plain(d, number, arg);
	case RMC_IOC_TX_REG:
		return rmc_daemon_tx_reg(d, (struct rmc_tx_reg *)arg);
	case RMC_IOC_WATCH:
		return watch(d, (struct rmc_watch *)arg);
	case RMC_IOC_SEG_REG:
	case RMC_IOC_SEG_ADD:
	case RMC_IOC_BUF_REG:
		return rmc_daemon_register(ctx, number, arg);
	case RMC_IOC_SEG_UNREG:
	case RMC_IOC_SEG_DEL:
	case RMC_IOC_BUF_UNREG:
		return rmc_daemon_unregister(d, number, arg);
	default:
		return rmc_daemon_plain(d, number, arg);
	}
}

/*
 * ioctl() is no cancellation point, and so its stand-in is none: a thread that ended within
 * would keep locks, for which other threads and fork() wait.
 */
static int begin_uncancelled(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static void end_uncancelled(int state)
{
	pthread_setcancelstate(state, &state);
}

static int daemon_call(struct rmc_ctx *ctx, unsigned long number, void *arg)
{
	int state = begin_uncancelled(), ret = call(ctx, number, arg);

	end_uncancelled(state);
	return ret;
}

static void *daemon_map(struct rmc_ctx *ctx, size_t len, int prot, uint64_t offset)
{
	struct rmc_daemon *d = (struct rmc_daemon *)ctx->priv;
	int state = begin_uncancelled();
	void *p;

	p = offset & RMC_DAEMON_MAP_QP ? rmc_daemon_map_qp(d, len, prot, offset) :
	    offset & RMC_DAEMON_MAP_DOM ? rmc_daemon_map_dom(d, len, prot, offset) :
	    offset & RMC_DAEMON_MAP_TX ? rmc_daemon_map_tx(d, len, prot) :
					  rmc_daemon_map_memory(d, len, offset);
	end_uncancelled(state);
	return p;
}

static int daemon_alive(const struct rmc_ctx *ctx)
{
	return rmc_socket_alive(&((const struct rmc_daemon *)ctx->priv)->socket);
}

/*
 * rmcd reads words on our stack, which yama may forbid: then it refuses such buffers. It opens our
 * memory when we open the context, for yama knows one process only: the daemon of the next context,
 * perhaps. The kernel says which process it is: the id that rmcd knows may be of another pid
 * namespace, and be a stranger's here. 0: it has none here.
 *
 * rmcd makes our CPUs execute a barrier before it parks, if we have registered for that.
 */
static void permit(struct rmc_daemon *d)
{
	struct ucred peer = { .pid = 0, .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);

	if (!getsockopt(d->socket.fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) && peer.pid > 0)
		prctl(PR_SET_PTRACER, (unsigned long)peer.pid, 0, 0, 0);
	d->own = peer.uid == geteuid();
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0))
		rmc_log(WARN, "membarrier: %s; unless rmcd has none either, a worker that parks may miss a doorbell until it is woken",
			strerror(errno));
}

/* The end of the report socket; or -1 with errno */
static int greet(struct rmc_daemon *d, const struct rmc_ctx *ctx)
{
	struct rmcd_open o = {
		.version = RMCD_VERSION,
		.ctx_id = ctx->control ? -1 : (int)ctx->id,
	};
	struct rmc_message m = { .head = { .request = RMCD_OPEN }, .len = sizeof(o) };

	if (!ctx->control && ctx->id > INT_MAX) {
		errno = ENOENT;
		return -1;
	}
	memcpy(m.body, &o, sizeof(o));
	permit(d);
	if (rmc_daemon_request(d, &m, sizeof(o), 1) < 0)
		return -1;
	memcpy(&o, m.body, sizeof(o));
	if (o.version != RMCD_VERSION) {
		rmc_message_close_fds(&m);
		errno = EPROTO;
		return -1;
	}
	fcntl(m.fd[0], F_SETFL, O_NONBLOCK);
	return m.fd[0];
}

static int daemon_open(struct rmc_ctx *ctx)
{
	struct rmc_daemon *d = (struct rmc_daemon *)calloc(1, sizeof(*d));
	int err = ENOMEM, state = begin_uncancelled();

	if (!d)
		goto err_close;
	d->socket.fd = ctx->socket;
	pthread_mutex_init(&d->socket.lock, NULL);
	pthread_mutex_init(&d->lock, NULL);
	ctx->fd = greet(d, ctx);
	if (ctx->fd < 0) {
		err = errno;
		goto err_free;
	}
	ctx->priv = d;
	end_uncancelled(state);
	return 0;

err_free:
	free(d);
err_close:
	close(ctx->socket);
	end_uncancelled(state);
	errno = err;
	return -1;
}

static void daemon_close(struct rmc_ctx *ctx)
{
	struct rmc_daemon *d = (struct rmc_daemon *)ctx->priv;
	int state = begin_uncancelled();

	rmc_daemon_forget_memory(d, !rmc_ctx_inherited(ctx));
	rmc_daemon_forget_qps(d);
	rmc_daemon_forget_dom(d);
	rmc_daemon_forget_tx(d);
	close(ctx->fd);
	close(d->socket.fd);
	free(d);
	end_uncancelled(state);
}

const struct rmc_driver rmc_driver_daemon = {
	.name = "rmcd",
	.open = daemon_open,
	.call = daemon_call,
	.map = daemon_map,
	.alive = daemon_alive,
	.why = daemon_why,
	.close = daemon_close,
};
