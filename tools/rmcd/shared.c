// SPDX-License-Identifier: GPL-2.0
/*
 * A file that several daemons map, each with some nodes: what fabric=uml is among
 * User-Mode-Linux kernels (kmod/fabric/uml.c), with the same format and the same doorbells, so
 * daemons and such kernels may share one fabric.
 *
 *	daemon A                                  daemon B
 *	  mmap(FILE) ------------> FILE <------------ mmap(FILE)
 *	  write(FILE.NODE) -----> named pipe ---------> epoll of that node's workers
 *
 * Who may write the file is trusted like a node of the fabric, not more: what peers write is
 * validated as in the module. A node reads and writes all packets, and so all segments: the file
 * must be its user's or root's, and nobody else may write it. Should it be truncated, its pages
 * are replaced here (lost.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lost.h"
#include "rmcd.h"

/* rmc_region_node.doorbell of a node that has a pipe, as in kmod/fabric/uml.c */
#define PIPE_DOORBELL		1
/* With a doorbell no request waits for this poll; it only advances the heartbeat. */
#define DOORBELL_POLL_FACTOR	25

/**
 * struct shared - the port and its files
 * @port: port
 * @region: the mapped file
 * @path: its path
 * @fd: its descriptor
 * @doorbell: pipes by node id; negative: not open
 */
struct shared {
	struct rmcd_port port;
	struct rmc_region region;
	const char *path;
	int fd;
	int *doorbell;
};

static struct shared *shared_of(struct rmc_fabric *f)
{
	return (struct shared *)((char *)f - offsetof(struct shared, port.fabric));
}

static bool ours(const struct stat *st)
{
	return st->st_uid == geteuid() || !st->st_uid;
}

/* A pipe that others have made would hold wake-ups back: it is not used. */
static int open_doorbell(const struct shared *s, u32 nid, bool make)
{
	char path[4096];
	struct stat st;
	int fd;

	if (snprintf(path, sizeof(path), "%s.%u", s->path, nid) >= (int)sizeof(path))
		return -1;
	if (make && mkfifo(path, 0600) && errno != EEXIST)
		return -1;
	/* read and write: the open does not wait for a peer, and the pipe never hangs up */
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	if (fd >= 0 && !fstat(fd, &st) && S_ISFIFO(st.st_mode) && ours(&st) &&
	    !(st.st_mode & (make ? 022 : 0)))
		return fd;
	if (fd >= 0)
		close(fd);
	if (make)
		rmcd_log("%s is no named pipe that only this user can write: peers do not wake this node until it is removed and the daemon restarted",
			 path);
	return -1;
}

static void *shared_channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	return rmc_region_channel(&shared_of(f)->region, f, requester, server);
}

static void shared_notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane)
{
	u32 nid = rmc_endpoint_nid(f, dst);
	struct shared *s = shared_of(f);
	int fd, none = -1;

	/* the doorbell, then the flag; pairs with the barrier in rmc_ni_park() */
	smp_mb();
	if (!rmc_endpoint_parked(f, dst, lane) || READ_ONCE(f->node[nid].doorbell) != PIPE_DOORBELL)
		return;
	/* pairs with the exchange below, of another worker */
	fd = __atomic_load_n(&s->doorbell[nid], __ATOMIC_ACQUIRE);
	if (fd < 0) {
		fd = open_doorbell(s, nid, false);
		if (fd < 0)
			return;
		if (!__atomic_compare_exchange_n(&s->doorbell[nid], &none, fd, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			/* another worker was faster */
			close(fd);
			fd = none;
		}
	}
	/* a full pipe already wakes the peer */
	if (write(fd, "", 1) < 0)
		return;
}

static void shared_reset(struct rmc_fabric *f, u32 nid, u32 epoch)
{
	rmc_region_reset(&shared_of(f)->region, f, nid, epoch);
}

static const struct rmc_fabric_ops shared_ops = {
	.name = "uml",
	.channel = shared_channel,
	.notify = shared_notify,
	.reset = shared_reset,
};

static void tell_doorbell(struct shared *s, u32 i)
{
	WRITE_ONCE(s->port.fabric.node[s->port.first + i].doorbell,
		   s->port.doorbell[i] >= 0 ? PIPE_DOORBELL : 0);
}

static int shared_reclaim(struct rmcd_port *port, u32 nid)
{
	u32 i = nid - port->first, claimed;
	int err = rmc_region_claim(&port->fabric, nid, &claimed, &port->epoch[i]);

	if (!err)
		tell_doorbell(shared_of(&port->fabric), i);
	return err;
}

/**
 * struct claim - claim of a node id by a thread
 * @f: fabric
 * @wanted: node id, or -1
 * @nid: out, node id
 * @epoch: out
 * @err: out
 * @thread: thread; valid if @started
 * @started: the thread runs
 */
struct claim {
	struct rmc_fabric *f;
	s32 wanted;
	u32 nid;
	u32 epoch;
	int err;
	pthread_t thread;
	bool started;
};

static void *claim_thread(void *arg)
{
	struct claim *c = arg;

	c->err = rmc_region_claim(c->f, c->wanted, &c->nid, &c->epoch);
	return NULL;
}

/*
 * Claims all ids at the same time: each may take dead_ms, after which an id that is claimed and
 * has no heartbeat yet counts as dead itself.
 */
static int claim_all(struct shared *s, s32 wanted)
{
	u32 locals = s->port.locals, i;
	struct rmc_fabric *f = &s->port.fabric;
	struct claim *c = calloc(locals, sizeof(*c));
	int err = 0;

	if (!c)
		return -ENOMEM;
	for (i = 0; i < locals; i++) {
		c[i] = (struct claim){ .f = f, .wanted = wanted < 0 ? wanted : wanted + (s32)i };
		c[i].started = i && !pthread_create(&c[i].thread, NULL, claim_thread, &c[i]);
	}
	for (i = 0; i < locals; i++)
		if (!c[i].started)
			claim_thread(&c[i]);
	for (i = 0; i < locals; i++) {
		if (c[i].started)
			pthread_join(c[i].thread, NULL);
		s->port.epoch[i] = c[i].epoch;
		err = err ?: c[i].err;
	}
	for (i = 0; err && i < locals; i++)
		if (!c[i].err)
			rmc_region_unclaim(f, c[i].nid, c[i].epoch);
	s->port.first = c[0].nid;
	free(c);
	return err;
}

/* Why a file is not to be trusted; NULL: it is */
static const char *distrust(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "is no file";
	if (!ours(st))
		return "belongs to another user";
	if (st->st_mode & 022)
		return "can be written by others";
	return NULL;
}

static int open_file(struct shared *s, struct stat *st)
{
	const char *why;

	s->fd = open(s->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (s->fd < 0 && errno == ELOOP)
		why = "is a symbolic link";
	else if (s->fd < 0 || fstat(s->fd, st))
		return -errno;
	else
		why = distrust(st);
	if (!why)
		return 0;
	rmcd_log("--region %s %s, so others could read and write all packets: remove it, or make it a file that only this user can write",
		 s->path, why);
	return -EPERM;
}

static int map_file(struct shared *s)
{
	struct stat st;
	int err = open_file(s, &st);

	if (err)
		goto err;
	s->region.bytes = st.st_size;
	s->region.base = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (s->region.base == MAP_FAILED) {
		err = -errno;
		goto err;
	}
	err = rmcd_replaceable(s->region.base, PAGE_ALIGN(st.st_size), PAGE_SIZE, NULL);
	if (!err)
		return 0;
	munmap(s->region.base, s->region.bytes);
err:
	if (s->fd >= 0)
		close(s->fd);
	return err;
}

static void unmap_file(struct shared *s)
{
	rmcd_not_replaceable(s->region.base);
	munmap(s->region.base, s->region.bytes);
	close(s->fd);
}

static void close_doorbells(struct shared *s)
{
	u32 i;

	for (i = 0; s->doorbell && i < s->port.fabric.nodes; i++)
		if (s->doorbell[i] >= 0)
			close(s->doorbell[i]);
	free(s->doorbell);
	free(s->port.doorbell);
	free(s->port.epoch);
}

static void open_doorbells(struct shared *s)
{
	struct rmcd_port *port = &s->port;
	bool all = true;
	u32 i;

	for (i = 0; i < port->locals; i++) {
		port->doorbell[i] = open_doorbell(s, port->first + i, true);
		s->doorbell[port->first + i] = port->doorbell[i];
		all &= port->doorbell[i] >= 0;
		tell_doorbell(s, i);
	}
	if (all)
		port->poll_us_max = min(port->poll_us_max * DOORBELL_POLL_FACTOR,
					port->fabric.dead_ms * 1000 / 8);
}

static void shared_close(struct rmcd_port *port)
{
	struct shared *s = shared_of(&port->fabric);
	u32 i;

	for (i = 0; i < port->locals; i++)
		rmc_region_unclaim(&port->fabric, port->first + i, port->epoch[i]);
	close_doorbells(s);
	unmap_file(s);
	free(s);
}

/**
 * rmcd_shared_open() - join a fabric in a file
 * @cfg: configuration; region is the path of the file, which exists and has its size
 * @locals: number of nodes to be, from @cfg's node on; 1 if that is -1
 *
 * Return: port, or ERR_PTR after logging the reason.
 */
struct rmcd_port *rmcd_shared_open(const struct rmc_fabric_config *cfg, u32 locals)
{
	struct shared *s = calloc(1, sizeof(*s));
	struct rmc_fabric *f;
	int err;
	u32 i;

	if (!s)
		return ERR_PTR(-ENOMEM);
	f = &s->port.fabric;
	f->ops = &shared_ops;
	f->timeout_ms = cfg->timeout_ms;
	f->dead_ms = cfg->dead_ms;
	s->path = cfg->region;
	s->port.name = "uml";
	s->port.kind = RMC_FABRIC_UML;
	s->port.locals = locals;
	s->port.poll_us_max = cfg->poll_us_max;
	s->port.reclaim = shared_reclaim;
	s->port.close = shared_close;
	err = map_file(s);
	if (err && err != -EPERM)
		rmcd_log("--region %s cannot be mapped: %s", cfg->region, strerror(-err));
	if (err)
		goto err_map;
	err = rmc_region_attach(&s->region, f, cfg);
	if (err)
		goto err_attach;
	if (cfg->node >= 0 && cfg->node + locals > f->nodes) {
		rmcd_log("--node: the fabric has nodes 0 .. %u", f->nodes - 1);
		err = -EINVAL;
		goto err_attach;
	}
	err = -ENOMEM;
	s->doorbell = malloc(f->nodes * sizeof(*s->doorbell));
	s->port.doorbell = malloc(locals * sizeof(*s->port.doorbell));
	s->port.epoch = calloc(locals, sizeof(*s->port.epoch));
	for (i = 0; s->doorbell && i < f->nodes; i++)
		s->doorbell[i] = -1;
	if (!s->doorbell || !s->port.doorbell || !s->port.epoch)
		goto err_claim;
	err = claim_all(s, cfg->node);
	if (err)
		goto err_claim;
	open_doorbells(s);
	return &s->port;

err_claim:
	close_doorbells(s);
err_attach:
	unmap_file(s);
err_map:
	free(s);
	return ERR_PTR(err);
}
