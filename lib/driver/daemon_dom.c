/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Domains of rmcd: memory of slots and arrival queues until it is mapped. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "daemon.h"

/* Descriptors of an answer, and parts of the memory */
enum { RECV, SEND, ANSWERS, FDS };

/* An answer that no daemon gives: with numbers that multiply, the lengths of memory follow. */
static int valid(const struct rmc_dom_create *a)
{
	return a->life && a->stride % 64 == 0 && a->stride >= 64 &&
	       a->stride - 64 >= a->max_message && a->stride <= RMC_MAX_MESSAGE + 128 &&
	       a->nodes && a->nodes <= RMC_NID_MAX + 1 && a->slots && a->slots <= RMC_MAX_SLOTS &&
	       a->answer_stride % 64 == 0 && a->answer_stride <= RMC_MAX_ANSWER + 128 &&
	       (a->max_answer ? a->answer_stride >= 64 && a->answer_stride - 64 >= a->max_answer :
				!a->answer_stride);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int keep(struct rmc_daemon_dom *dom, struct rmc_dom_create *arg,
		const struct rmc_dom_create *got, const struct rmc_message *m, unsigned int fds)
{
	unsigned int i;

	arg->stride = got->stride;
	arg->life = got->life;
	arg->answer_stride = got->answer_stride;
	if (!valid(arg))
		return -EPROTO;
	dom->len[RECV] = rmc_page_round((size_t)arg->nodes * arg->slots * arg->stride);
	dom->len[SEND] = rmc_page_round((size_t)arg->nodes * arg->slots *
					sizeof(struct rmc_send_slot));
	dom->len[ANSWERS] = rmc_page_round((size_t)arg->nodes * arg->slots * arg->answer_stride);
	for (i = 0; i < fds; i++)
		if (!rmc_daemon_has(m->fd[i], dom->len[i]))
			return -EPROTO;
	for (i = 0; i < FDS; i++)
		dom->fd[i] = i < fds ? m->fd[i] : -1;
	dom->used = 1;
	arg->recv_offset = RMC_DAEMON_MAP_DOM | RECV;
	arg->send_offset = RMC_DAEMON_MAP_DOM | SEND;
	arg->answer_offset = fds > ANSWERS ? RMC_DAEMON_MAP_DOM | ANSWERS : 0;
	return 0;
}

/* End what this process cannot have the memory of; keeps errno. */
static void give_back(struct rmc_daemon *d, unsigned long number, void *arg)
{
	int err = errno;

	rmc_daemon_plain(d, number, arg);
	errno = err;
}

static int violated(struct rmc_daemon *d, struct rmc_message *m)
{
	rmc_message_close_fds(m);
	errno = -rmc_daemon_violated(d);
	return -1;
}

/* The answer to one that creates or opens a domain; what there was belonged to another file */
static int request(struct rmc_daemon *d, struct rmc_message *m, size_t size, unsigned int fds)
{
	struct rmc_dom_destroy end = { .size = sizeof(end) };

	if (rmc_daemon_request(d, m, size, fds) >= 0) {
		/* rmcd refuses a second one: the other file has ended it */
		rmc_daemon_forget_dom(d);
		return 0;
	}
	/* not a refusal: its descriptors are what is missing */
	if (errno == EMFILE && m->head.ret >= 0)
		give_back(d, RMC_IOC_DOM_DESTROY, &end);
	return -1;
}

int rmc_daemon_create_dom(struct rmc_daemon *d, struct rmc_dom_create *arg)
{
	unsigned int fds = arg->max_answer ? FDS : ANSWERS;
	struct rmc_dom_create got;
	struct rmc_message m;

	if (arg->size != sizeof(*arg) || !rmc_daemon_begin(&m, RMC_IOC_DOM_CREATE, arg)) {
		errno = EINVAL;
		return -1;
	}
	if (request(d, &m, sizeof(*arg), fds) < 0)
		return -1;
	memcpy(&got, m.body, sizeof(got));
	return keep(&d->dom, arg, &got, &m, fds) ? violated(d, &m) : 0;
}

/* The same of a domain that exists: its parameters come with the answer. */
static int keep_opened(struct rmc_daemon_dom *dom, struct rmc_dom_open *arg,
		       const struct rmc_message *m)
{
	struct rmc_dom_create c = { 0 }, got = { 0 };
	struct rmc_dom_open o;
	int err;

	memcpy(&o, m->body, sizeof(o));
	c.nodes = o.nodes;
	c.slots = o.slots;
	c.max_message = o.max_message;
	c.max_answer = o.max_answer;
	got.stride = o.stride;
	got.life = o.life;
	got.answer_stride = o.answer_stride;
	if (m->fds != (o.max_answer ? FDS : ANSWERS) || !o.members || o.member >= o.members)
		return -EPROTO;
	err = keep(dom, &c, &got, m, m->fds);
	if (err)
		return err;
	o.recv_offset = c.recv_offset;
	o.send_offset = c.send_offset;
	o.answer_offset = c.answer_offset;
	*arg = o;
	return 0;
}

int rmc_daemon_open_dom(struct rmc_daemon *d, struct rmc_dom_open *arg)
{
	struct rmc_message m;

	if (arg->size != sizeof(*arg) || !rmc_daemon_begin(&m, RMC_IOC_DOM_OPEN, arg)) {
		errno = EINVAL;
		return -1;
	}
	if (request(d, &m, sizeof(*arg), FDS | RMC_OR_ONE_LESS) < 0)
		return -1;
	return keep_opened(&d->dom, arg, &m) ? violated(d, &m) : 0;
}

int rmc_daemon_attach(struct rmc_daemon *d, struct rmc_dom_attach *arg)
{
	struct rmc_dom_detach end = { .size = sizeof(end), .qp_id = arg->qp_id };
	unsigned int fds = !(arg->flags & RMC_DOM_SEND_ONLY);
	struct rmc_daemon_qp *q = rmc_daemon_find_qp(d, arg->qp_id);
	struct rmc_dom_attach got;
	struct rmc_message m;

	if (arg->size != sizeof(*arg) || !rmc_daemon_begin(&m, RMC_IOC_DOM_ATTACH, arg)) {
		errno = EINVAL;
		return -1;
	}
	if (!q) {
		errno = ENOENT;
		return -1;
	}
	if (rmc_daemon_request(d, &m, sizeof(*arg), fds) < 0) {
		if (errno == EMFILE && m.head.ret >= 0)
			give_back(d, RMC_IOC_DOM_DETACH, &end);
		return -1;
	}
	memcpy(&got, m.body, sizeof(got));
	arg->core = got.core;
	arg->aq_entries = got.aq_entries;
	arg->aq_offset = 0;
	if (!fds)
		return 0;
	q->aq_len = rmc_page_round((size_t)got.aq_entries * sizeof(struct rmc_aq_entry));
	/* that of a domain which has ended since */
	close_fd(&q->aq);
	if (!got.aq_entries || got.aq_entries & (got.aq_entries - 1) ||
	    !rmc_daemon_has(m.fd[0], q->aq_len))
		return violated(d, &m);
	q->aq = m.fd[0];
	q->mapped &= ~(1U << RMC_DAEMON_AQ);
	arg->aq_offset = rmc_daemon_cookie(arg->qp_id, RMC_DAEMON_AQ);
	return 0;
}

void *rmc_daemon_map_dom(struct rmc_daemon *d, size_t len, int prot, uint64_t offset)
{
	uint64_t part = offset & ~RMC_DAEMON_MAP_DOM;
	struct rmc_daemon_dom *dom = &d->dom;
	void *p;

	if (!dom->used || part >= FDS || dom->fd[part] < 0 || rmc_page_round(len) != dom->len[part]) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	/* it may have been made shorter since it came */
	if (!rmc_daemon_has(dom->fd[part], dom->len[part])) {
		errno = -rmc_daemon_violated(d);
		return MAP_FAILED;
	}
	p = mmap(NULL, len, prot, MAP_SHARED, dom->fd[part], 0);
	if (p != MAP_FAILED)
		close_fd(&dom->fd[part]);
	return p;
}

void rmc_daemon_forget_aq(struct rmc_daemon *d, unsigned int id)
{
	struct rmc_daemon_qp *q = rmc_daemon_find_qp(d, id);

	if (q)
		close_fd(&q->aq);
}

void rmc_daemon_forget_dom(struct rmc_daemon *d)
{
	int i;

	for (i = 0; d->dom.used && i < FDS; i++)
		close_fd(&d->dom.fd[i]);
	d->dom.used = 0;
}
