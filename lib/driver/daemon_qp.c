/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Queue pairs of rmcd: their memory until it is mapped, and the eventfds that wake workers. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "daemon.h"

/* Descriptors of an answer */
enum { FD_WQ, FD_CQ, FD_WAKE, FDS };

struct rmc_daemon_qp *rmc_daemon_find_qp(const struct rmc_daemon *d, unsigned int id)
{
	rmc_daemon_chunk *chunk;

	if (id >= RMC_DAEMON_CHUNKS * RMC_DAEMON_CHUNK)
		return NULL;
	chunk = __atomic_load_n(&d->qps[id / RMC_DAEMON_CHUNK], __ATOMIC_ACQUIRE);
	return chunk ? __atomic_load_n(&(*chunk)[id % RMC_DAEMON_CHUNK], __ATOMIC_ACQUIRE) : NULL;
}

/* Pairs with rmc_daemon_find_qp(), which takes no lock. -EPROTO: an id that cannot be. */
static int insert(struct rmc_daemon *d, unsigned int id, struct rmc_daemon_qp *q)
{
	rmc_daemon_chunk **slot, *chunk;
	int err = 0;

	if (id >= RMC_DAEMON_CHUNKS * RMC_DAEMON_CHUNK)
		return -EPROTO;
	slot = &d->qps[id / RMC_DAEMON_CHUNK];
	pthread_mutex_lock(&d->lock);
	chunk = *slot;
	if (!chunk) {
		chunk = (rmc_daemon_chunk *)calloc(1, sizeof(*chunk));
		__atomic_store_n(slot, chunk, __ATOMIC_RELEASE);
	}
	if (!chunk)
		err = -ENOMEM;
	else if ((*chunk)[id % RMC_DAEMON_CHUNK])
		err = -EPROTO;
	else
		__atomic_store_n(&(*chunk)[id % RMC_DAEMON_CHUNK], q, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&d->lock);
	return err;
}

static void free_qp(struct rmc_daemon_qp *q)
{
	if (q->wq >= 0)
		close(q->wq);
	if (q->cq >= 0)
		close(q->cq);
	if (q->aq >= 0)
		close(q->aq);
	if (q->wake >= 0)
		close(q->wake);
	free(q);
}

int rmc_daemon_has(int fd, size_t bytes)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_size >= 0 && (uint64_t)st.st_size >= bytes;
}

static size_t flags_len(void)
{
	return rmc_page_round(sizeof(struct rmc_qp_flags));
}

uint64_t rmc_daemon_cookie(unsigned int id, enum rmc_daemon_part part)
{
	return RMC_DAEMON_MAP_QP | (uint64_t)id << 2 | part;
}

/* Keep what came with the answer: 0, or -errno. */
static int keep(struct rmc_daemon *d, struct rmc_qp_create *arg, struct rmc_daemon_qp *q,
		const struct rmc_message *m)
{
	struct rmc_qp_create got;

	memcpy(&got, m->body, sizeof(got));
	if (got.entries != arg->entries ||
	    !rmc_daemon_has(q->wq, q->wq_len) || !rmc_daemon_has(q->cq, q->flags_at + flags_len()))
		return -EPROTO;
	arg->qp_id = got.qp_id;
	arg->wq_offset = rmc_daemon_cookie(got.qp_id, RMC_DAEMON_WQ);
	arg->cq_offset = rmc_daemon_cookie(got.qp_id, RMC_DAEMON_CQ);
	arg->flags_offset = rmc_daemon_cookie(got.qp_id, RMC_DAEMON_FLAGS);
	return insert(d, got.qp_id, q);
}

/* End a queue pair that this process cannot have; keeps errno. */
static void give_back(struct rmc_daemon *d, const struct rmc_message *m)
{
	struct rmc_qp_id id = { .size = sizeof(id) };
	struct rmc_qp_create got;
	int err = errno;

	memcpy(&got, m->body, sizeof(got));
	id.qp_id = got.qp_id;
	rmc_daemon_plain(d, RMC_IOC_QP_DESTROY, &id);
	errno = err;
}

int rmc_daemon_create_qp(struct rmc_daemon *d, struct rmc_qp_create *arg)
{
	struct rmc_daemon_qp *q = (struct rmc_daemon_qp *)calloc(1, sizeof(*q));
	struct rmc_message m;
	int err;

	if (!q) {
		errno = ENOMEM;
		return -1;
	}
	if (arg->size != sizeof(*arg) || !rmc_daemon_begin(&m, RMC_IOC_QP_CREATE, arg)) {
		free(q);
		errno = EINVAL;
		return -1;
	}
	if (rmc_daemon_request(d, &m, sizeof(*arg), FDS) < 0) {
		err = errno;
		free(q);
		errno = err;
		/* not a refusal: its descriptors are what is missing */
		if (err == EMFILE && m.head.ret >= 0)
			give_back(d, &m);
		return -1;
	}
	q->wq = m.fd[FD_WQ];
	q->cq = m.fd[FD_CQ];
	q->wake = m.fd[FD_WAKE];
	q->aq = -1;
	q->wq_len = rmc_page_round((size_t)arg->entries * RMC_WQE_SIZE);
	q->flags_at = rmc_page_round((size_t)arg->entries * RMC_CQE_SIZE);
	err = keep(d, arg, q, &m);
	if (!err)
		return 0;
	free_qp(q);
	if (err == -EPROTO)
		rmc_daemon_violated(d);
	else
		give_back(d, &m);
	errno = -err;
	return -1;
}

void *rmc_daemon_map_qp(struct rmc_daemon *d, size_t len, int prot, uint64_t offset)
{
	unsigned int id = (unsigned int)((offset & ~RMC_DAEMON_MAP_QP) >> 2), part = offset & 3;
	struct rmc_daemon_qp *q = rmc_daemon_find_qp(d, id);
	size_t at, whole;
	int *fd;
	void *p;

	if (!q || q->mapped & 1U << part) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	at = part == RMC_DAEMON_FLAGS ? q->flags_at : 0;
	whole = part == RMC_DAEMON_WQ ? q->wq_len : part == RMC_DAEMON_CQ ? q->flags_at :
		part == RMC_DAEMON_AQ ? q->aq_len : flags_len();
	fd = part == RMC_DAEMON_WQ ? &q->wq : part == RMC_DAEMON_AQ ? &q->aq : &q->cq;
	if (*fd < 0 || rmc_page_round(len) != whole) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	/* it may have been made shorter since it came */
	if (!rmc_daemon_has(*fd, at + whole)) {
		errno = -rmc_daemon_violated(d);
		return MAP_FAILED;
	}
	p = mmap(NULL, len, prot, MAP_SHARED, *fd, (off_t)at);
	if (p == MAP_FAILED)
		return p;
	q->mapped |= 1U << part;
	if (part == RMC_DAEMON_WQ || part == RMC_DAEMON_AQ || (q->mapped & 1U << RMC_DAEMON_CQ && q->mapped & 1U << RMC_DAEMON_FLAGS)) {
		close(*fd);
		*fd = -1;
	}
	return p;
}

/* Another thread may destroy the queue pair meanwhile: who sleeps in it wakes its worker, too. */
int rmc_daemon_wake(struct rmc_daemon *d, const struct rmc_qp_id *arg)
{
	const struct rmc_daemon_qp *q;
	uint64_t one = 1;
	int err = 0;

	if (arg->flags & ~RMC_WAKE_YIELD || arg->reserved) {
		errno = EOPNOTSUPP;
		return -1;
	}
	pthread_mutex_lock(&d->lock);
	q = rmc_daemon_find_qp(d, arg->qp_id);
	if (!q)
		err = ENOENT;
	/* EAGAIN: full, since somebody else wrote to it; nobody empties it */
	else if (!(arg->flags & RMC_WAKE_YIELD) && write(q->wake, &one, sizeof(one)) < 0 &&
		 errno != EAGAIN)
		err = errno;
	pthread_mutex_unlock(&d->lock);
	if (err) {
		errno = err;
		return -1;
	}
	if (arg->flags & RMC_WAKE_YIELD)
		sched_yield();
	return 0;
}

void rmc_daemon_forget_qp(struct rmc_daemon *d, unsigned int id)
{
	struct rmc_daemon_qp *q;

	pthread_mutex_lock(&d->lock);
	q = rmc_daemon_find_qp(d, id);
	if (q)
		__atomic_store_n(&(*d->qps[id / RMC_DAEMON_CHUNK])[id % RMC_DAEMON_CHUNK], NULL,
				 __ATOMIC_RELEASE);
	pthread_mutex_unlock(&d->lock);
	if (q)
		free_qp(q);
}

/* No other thread uses them; in a child of fork() one of the parent may have held the lock. */
void rmc_daemon_forget_qps(struct rmc_daemon *d)
{
	unsigned int i, k;

	for (i = 0; i < RMC_DAEMON_CHUNKS; i++) {
		for (k = 0; d->qps[i] && k < RMC_DAEMON_CHUNK; k++)
			if ((*d->qps[i])[k])
				free_qp((*d->qps[i])[k]);
		free(d->qps[i]);
	}
}
