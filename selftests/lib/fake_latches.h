/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Calls of one client to a latch server of node 0, in one process: a link of lib/rpc_link.h whose
 * messages are served as they are sent, or are lost, doubled or late. A lost one times out at once.
 * Node 1 has another server, which may be one that does not answer, or lies.
 */
#ifndef FAKE_LATCHES_H
#define FAKE_LATCHES_H

#include "../../lib/rpc_link.h"
#include "../../lib/sync/request.h"
#include "sync_test.h"

#define NODES		8
#define WINDOW_CALLS	64
#define RESPONSES	8

enum message_fault {
	MESSAGE_ARRIVES,
	MESSAGE_LOST,
	RESPONSE_LOST,
	MESSAGE_LATE,			/* in front of the next one */
	MESSAGE_VERY_LATE,		/* behind all of them: fake_late() */
	MESSAGE_TWICE,			/* and once more in front of the next one */
	PEER_LOST,
	MESSAGE_FAULTS,
};

enum silence { ANSWERS, SILENT_OF_RELEASES, SILENT };

struct message {
	struct {
		uint32_t kind;
		int32_t ticket, result;
		uint32_t reserved;
	} head;
	uint8_t body[RMC_LATCH_REQUEST];
	int from;			/* not sent */
};

struct fake_link {
	struct rmc_latch_server *server;
	struct rmc_rpc *rpc;
	struct fixture *w;		/* dies as well */
	int nid;			/* of the client */
	unsigned int sent;		/* so far */
	unsigned int fault_at, faults;	/* 1: the next one; so many in a row */
	enum message_fault fault;
	unsigned int dies_at;		/* the client dies when it sends that; 1: the next one */
	int dies_behind;		/* it still arrives */
	struct message late;		/* kind 0: none */
	struct message response[RESPONSES];
	unsigned int responses;
	int deaf;			/* nothing is answered, nor lost: until it is 0 */
	struct message unanswered;
	struct rmc_latch_server *other;	/* of node 1 */
	enum silence silent;		/* of node 1 */
	uint64_t newest;		/* node 1 says that all requests are late, behind this token */
};

static inline void serve_message(struct fake_link *l, const struct message *m, int answers)
{
	struct message r = { .head = { 2, m->head.ticket, 0, 0 }, .from = m->from };

	r.head.result = rmc_latch_serve(m->from ? l->other : l->server, l->nid, m->body, RMC_LATCH_REQUEST, r.body,
					RMC_LATCH_RESPONSE);
	if (!answers)
		return;
	if (l->responses == RESPONSES)
		abort();
	l->response[l->responses++] = r;
}

static inline void fake_late(struct fake_link *l)
{
	struct message m = l->late;

	l->late.head.kind = 0;
	if (m.head.kind)
		serve_message(l, &m, 0);
}

static inline int faulty_message(struct fake_link *l, const struct message *m)
{
	switch (l->fault) {
	case MESSAGE_LOST:
		return 0;
	case MESSAGE_LATE:
	case MESSAGE_VERY_LATE:
		l->late = *m;
		return 0;
	case PEER_LOST:
		return RMC_S_NODE_DOWN;
	default:
		serve_message(l, m, l->fault == MESSAGE_TWICE);
		if (l->fault == MESSAGE_TWICE)
			l->late = *m;
		return 0;
	}
}

static inline void lie(struct fake_link *l, const struct message *m)
{
	struct message r = { .head = { 2, m->head.ticket, RMC_LATCH_RESPONSE, 0 }, .from = m->from };
	struct latch_response a = { .result = LATCH_LATE, .holder = -1, .newest = l->newest };

	memcpy(r.body, &a, sizeof(a));
	l->response[l->responses++] = r;
}

static inline int is_silent(struct fake_link *l, const struct message *m)
{
	struct latch_request q;

	memcpy(&q, m->body, sizeof(q));
	if (l->silent == SILENT_OF_RELEASES && q.call == LATCH_RELEASE) {
		serve_message(l, m, 0);
		return 1;
	}
	return l->silent == SILENT;
}

static inline int fake_request(void *to, int nid, const void *buf, size_t len)
{
	struct fake_link *l = (struct fake_link *)to;
	struct message m;

	CHECK(nid == 0 || nid == 1);
	CHECK(len <= offsetof(struct message, from));
	memset(&m, 0, sizeof(m));
	memcpy(&m, buf, len);
	m.from = nid;
	if (l->w && l->w->dead)
		return 0;
	if (l->dies_at && !--l->dies_at) {
		l->w->dead = 1;
		if (l->dies_behind)
			serve_message(l, &m, 0);
		return 0;
	}
	if (l->fault != MESSAGE_VERY_LATE)
		fake_late(l);
	l->sent++;
	if (l->deaf) {
		l->unanswered = m;
		return 0;
	}
	if (nid && is_silent(l, &m))
		return 0;
	if (nid && l->newest) {
		lie(l, &m);
		return 0;
	}
	if (l->fault_at > 1) {
		l->fault_at--;
	} else if (l->fault_at && l->faults) {
		l->faults--;
		return faulty_message(l, &m);
	}
	serve_message(l, &m, 1);
	return 0;
}

static inline int fake_respond(void *to, int nid, const void *buf, size_t len)
{
	(void)to;
	(void)nid;
	(void)buf;
	(void)len;
	return -EINVAL;
}

static inline int fake_recv(void *to, void *buf, size_t size, size_t *len, int *from)
{
	struct fake_link *l = (struct fake_link *)to;
	size_t body;

	if (!l->responses)
		return -EAGAIN;
	body = l->response[0].head.result > 0 ? (size_t)l->response[0].head.result : 0;
	*len = sizeof(l->response[0].head) + body;
	CHECK(*len <= size);
	memcpy(buf, &l->response[0], *len);
	*from = l->response[0].from;
	memmove(l->response, l->response + 1, --l->responses * sizeof(l->response[0]));
	return 0;
}

static const struct rmc_rpc_link fake_rpc_link = {
	.request = fake_request, .respond = fake_respond, .recv = fake_recv,
};

static inline struct rmc_latch_server *fake_server(unsigned int holds)
{
	struct rmc_latch_server_options o = { .nodes = NODES, .holds = holds, .bytes = SEGMENT };

	return rmc_latch_server_open(&o);
}

static inline void fake_link_open(struct fake_link *l, struct fixture *w,
				  struct rmc_latch_server *server, int nid)
{
	struct rmc_rpc_options o = {
		.max = RMC_LATCH_REQUEST, .window = WINDOW_CALLS, .nodes = NODES,
	};

	memset(l, 0, sizeof(*l));
	l->server = server;
	l->nid = nid;
	l->w = w;
	l->rpc = rmc_rpc_open_over(&fake_rpc_link, l, &o);
	if (!l->rpc)
		abort();
	rmc_rpc_set_timeout(l->rpc, 0);
}

static inline void fake_link_close(struct fake_link *l)
{
	rmc_rpc_close(l->rpc);
}

/* --- clients --- */

#define CLIENT		5		/* node of the one that has faults */
#define OTHER		6
#define ATTEMPTS	3

/* A client of the segment of node 0 and its server */
struct client {
	struct fixture w;
	struct fake_link link;
	struct rmc_sync_options o;
	struct rmc_sync *s;
};

static struct rmc_latch_server *server;

static inline void client_open(struct client *c, uint8_t *segment, const char *row,
			       unsigned int flags, int nid)
{
	fixture_init_with(&c->w, segment, 1);
	fake_link_open(&c->link, &c->w, server, nid);
	c->o = options_of(&c->w, row, flags);
	c->o.latch = RMC_LATCH_NIC_RPC;
	c->o.nid = nid;
	c->o.attempts = ATTEMPTS;
	c->o.rpc = c->link.rpc;
	if (!segment) {
		rmc_scheme_init(rmc_sync_layout(&c->o), (struct rmc_object *)c->w.segment, LEN);
		rmc_scheme_init(rmc_sync_layout(&c->o), (struct rmc_object *)(c->w.segment + 1024),
				LEN);
	}
	c->s = rmc_sync_open(&c->w.qp, &c->o);
	CHECK(c->s != NULL);
}

static inline void client_close(struct client *c)
{
	rmc_sync_close(c->s);
	CHECK_EQ(c->link.responses, 0);		/* nothing is under way that it has memory for */
	fake_link_close(&c->link);
	fixture_fini(&c->w);
}

static inline struct rmc_sync_stats stats_of(const struct client *c)
{
	struct rmc_sync_stats st;

	rmc_sync_stats(c->s, &st);
	return st;
}

static inline unsigned int holds(void)
{
	struct rmc_latch_server_stats st;

	rmc_latch_server_stats(server, &st);
	return (unsigned int)st.holds;
}

static inline int write_state(struct client *c, uint8_t state)
{
	struct rmc_hold h = { .len = LEN };
	int err = rmc_sync_write(c->s, 0, &h);

	if (err)
		return err;
	CHECK(is_whole(&h, ((uint8_t *)h.data)[0]));
	fill((uint8_t *)h.data, LEN, state);
	err = rmc_sync_commit(c->s, &h);
	return err ? err : rmc_sync_drain(c->s);
}

/* The state, or the negative result of a call */
static inline int read_state(struct client *c)
{
	struct rmc_hold h = { .len = LEN };
	int err = rmc_sync_read(c->s, 0, &h), state;

	if (err)
		return -err;
	state = ((uint8_t *)h.data)[0];
	CHECK(is_whole(&h, (uint8_t)state));
	err = rmc_sync_end(c->s, &h);
	rmc_sync_drain(c->s);
	return err ? -err : state;
}

#endif /* FAKE_LATCHES_H */
