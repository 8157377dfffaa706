// SPDX-License-Identifier: GPL-2.0
/*
 * A file that several daemons map, each with one node: what fabric=uml is among
 * User-Mode-Linux kernels (kmod/fabric/uml.c), with the same format and the same doorbells, so
 * daemons and such kernels may share one fabric.
 *
 *	daemon A                                  daemon B
 *	  mmap(FILE) ------------> FILE <------------ mmap(FILE)
 *	  write(FILE.B) --------> named pipe ---------> epoll of its workers
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

static int claim(struct shared *s, s32 nid)
{
	struct rmc_fabric *f = &s->port.fabric;
	u32 claimed;
	int err;

	err = rmc_region_claim(f, nid, &claimed, &s->port.epoch);
	if (err)
		return err;
	s->port.first = claimed;
	WRITE_ONCE(f->node[claimed].doorbell, s->port.doorbell >= 0 ? PIPE_DOORBELL : 0);
	return 0;
}

static int shared_reclaim(struct rmcd_port *port)
{
	return claim(shared_of(&port->fabric), port->first);
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

	for (i = 0; i < s->port.fabric.nodes; i++)
		if (s->doorbell[i] >= 0)
			close(s->doorbell[i]);
	free(s->doorbell);
}

static void shared_close(struct rmcd_port *port)
{
	struct shared *s = shared_of(&port->fabric);

	rmc_region_unclaim(&port->fabric, port->first, port->epoch);
	close_doorbells(s);
	unmap_file(s);
	free(s);
}

/**
 * rmcd_shared_open() - join a fabric in a file
 * @cfg: configuration; region is the path of the file, which exists and has its size
 *
 * Return: port, or ERR_PTR after logging the reason.
 */
struct rmcd_port *rmcd_shared_open(const struct rmc_fabric_config *cfg)
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
	s->port.locals = 1;
	s->port.poll_us_max = cfg->poll_us_max;
	s->port.doorbell = -1;
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
	err = -ENOMEM;
	s->doorbell = malloc(f->nodes * sizeof(*s->doorbell));
	if (!s->doorbell)
		goto err_attach;
	for (i = 0; i < f->nodes; i++)
		s->doorbell[i] = -1;
	err = claim(s, cfg->node);
	if (err)
		goto err_claim;
	s->port.doorbell = open_doorbell(s, s->port.first, true);
	s->doorbell[s->port.first] = s->port.doorbell;
	if (s->port.doorbell >= 0) {
		s->port.poll_us_max = min(s->port.poll_us_max * DOORBELL_POLL_FACTOR,
					  f->dead_ms * 1000 / 8);
		WRITE_ONCE(f->node[s->port.first].doorbell, PIPE_DOORBELL);
	}
	return &s->port;

err_claim:
	close_doorbells(s);
err_attach:
	unmap_file(s);
err_map:
	free(s);
	return ERR_PTR(err);
}
