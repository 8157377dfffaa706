/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Calls over messages (see <rmc/rpc.h>), of any kind (see rpc_link.h). A message is a header
 * and a body. A ticket is the index of a call and a generation, so a late or duplicate
 * response matches no call.
 */
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "rpc_link.h"

#define KIND_REQUEST	1U
#define KIND_RESPONSE	2U
#define INDEX_BITS	12
#define INDEX_MASK	((1 << INDEX_BITS) - 1)
#define REJOIN_MS	30000	/* without a limit of the caller */
#define GENERATIONS	(1 << 18)	/* tickets are not negative */

struct head {
	uint32_t kind;
	int32_t ticket;
	int32_t result;		/* of the handler: length or -errno */
	uint32_t reserved;
};

_Static_assert(sizeof(struct head) == RMC_RPC_HEADER, "as the header file says");

struct call {
	int ticket;		/* -1: free */
	int peer;
	int done, failed, result;
	int abandoned;		/* given up; the response may still arrive */
	uint64_t deadline;
	void *response;
	size_t size;
};

struct rmc_rpc {
	const struct rmc_rpc_link *link;
	void *to;		/* of the link's functions */
	struct rmc_rpc_options o;
	unsigned int calls;
	int generation;
	int timeout_ms;
	struct call *call;
	unsigned int *used;	/* per peer: calls in progress */
	int *lost;		/* per peer: status for which it was given up */
	uint8_t *in, *out;
};

static void release_memory(struct rmc_rpc *r)
{
	free(r->call);
	free(r->used);
	free(r->lost);
	free(r->in);
	free(r->out);
	free(r);
}

struct rmc_rpc *rmc_rpc_open_over(const struct rmc_rpc_link *link, void *to,
				  const struct rmc_rpc_options *options)
{
	struct rmc_rpc *r = (struct rmc_rpc *)calloc(1, sizeof(*r));
	unsigned int i;

	if (!r) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	r->link = link;
	r->to = to;
	r->o = *options;
	r->timeout_ms = -1;
	if (!r->o.window)
		r->o.window = 1;
	r->calls = r->o.window * (unsigned int)r->o.nodes;
	if (!r->calls || r->calls > INDEX_MASK + 1U) {
		free(r);
		rmc_fail(EINVAL, "rpc: a window of %u calls to each of %d nodes: 1 .. %u are possible in all",
			 options->window ? options->window : 1, options->nodes, INDEX_MASK + 1U);
		return NULL;
	}
	r->call = (struct call *)calloc(r->calls, sizeof(*r->call));
	r->used = (unsigned int *)calloc((size_t)r->o.nodes, sizeof(*r->used));
	r->lost = (int *)calloc((size_t)r->o.nodes, sizeof(*r->lost));
	r->in = (uint8_t *)malloc(r->o.max + sizeof(struct head));
	r->out = (uint8_t *)malloc(r->o.max + sizeof(struct head));
	if (!r->call || !r->used || !r->lost || !r->in || !r->out) {
		release_memory(r);
		rmc_fail(ENOMEM, "rpc: no memory for messages of %zu bytes", options->max);
		return NULL;
	}
	for (i = 0; i < r->calls; i++)
		r->call[i].ticket = -1;
	return r;
}

void rmc_rpc_close(struct rmc_rpc *r)
{
	if (!r)
		return;
	if (r->link->close)
		r->link->close(r->to);
	release_memory(r);
}

static void release(struct rmc_rpc *r, struct call *c)
{
	r->used[c->peer]--;
	c->ticket = -1;
}

/*
 * Gives a call up. Its response still takes room in the message buffers, so the call
 * counts against the window until the response has arrived.
 */
static void abandon(struct rmc_rpc *r, struct call *c)
{
	if (c->done)
		release(r, c);
	else
		c->abandoned = 1;
}

/* The call of a valid ticket, or NULL */
static struct call *find(struct rmc_rpc *r, int ticket)
{
	struct call *c;

	if (ticket < 0)
		return NULL;
	c = &r->call[(unsigned int)(ticket & INDEX_MASK) % r->calls];
	return c->ticket == ticket && !c->abandoned ? c : NULL;
}

void rmc_rpc_set_timeout(struct rmc_rpc *r, int timeout_ms)
{
	r->timeout_ms = timeout_ms;
}

int rmc_rpc_timeout(const struct rmc_rpc *r)
{
	return r->timeout_ms;
}

int rmc_rpc_cancel(struct rmc_rpc *r, int ticket)
{
	struct call *c = find(r, ticket);

	if (!c)
		return -EINVAL;
	abandon(r, c);
	return 0;
}

/* 1 if that is new, else 0: of members that calls do not know, too */
static int lose(struct rmc_rpc *r, int peer, int status)
{
	unsigned int i;

	if (peer < 0 || peer >= r->o.nodes || r->lost[peer])
		return 0;
	r->lost[peer] = status;
	for (i = 0; i < r->calls; i++) {
		struct call *c = &r->call[i];

		if (c->ticket < 0 || c->done || c->peer != peer)
			continue;
		c->result = status;
		c->failed = 1;
		c->done = 1;
		if (c->abandoned)
			release(r, c);
	}
	return 1;
}

int rmc_rpc_flush(struct rmc_rpc *r, int nid)
{
	int peer = nid - r->o.first_nid;

	if (peer < 0 || peer >= r->o.nodes)
		return -EINVAL;
	return r->link->flush(r->to, nid);
}

int rmc_rpc_lost(const struct rmc_rpc *r, int nid)
{
	int peer = nid - r->o.first_nid;

	return peer >= 0 && peer < r->o.nodes ? r->lost[peer] : 0;
}

typedef int (*send_fn)(void *to, int nid, const void *buf, size_t len);

static int send(struct rmc_rpc *r, send_fn how, int nid, const struct head *h, size_t len)
{
	int err;

	memcpy(r->out, h, sizeof(*h));
	err = how(r->to, nid, r->out, sizeof(*h) + len);
	if (err > 0)
		lose(r, nid - r->o.first_nid, err);
	return err;
}

int rmc_rpc_post(struct rmc_rpc *r, int nid, const void *request, size_t len, void *response,
		 size_t size)
{
	struct head h = { .kind = KIND_REQUEST };
	int peer = nid - r->o.first_nid, err;
	struct call *c;
	unsigned int i;

	if (peer < 0 || peer >= r->o.nodes)
		return -EINVAL;
	if (len > r->o.max)
		return -EMSGSIZE;
	if (r->lost[peer])
		return -ENODEV;
	if (r->used[peer] == r->o.window)
		return -EAGAIN;
	for (i = 0; r->call[i].ticket >= 0; i++)
		;
	c = &r->call[i];
	r->generation = (r->generation + 1) % GENERATIONS;
	c->ticket = r->generation << INDEX_BITS | (int)i;
	c->peer = peer;
	c->done = 0;
	c->failed = 0;
	c->result = 0;
	c->abandoned = 0;
	c->deadline = rmc_deadline(r->timeout_ms);
	c->response = response;
	c->size = size;
	h.ticket = c->ticket;
	memcpy(r->out + sizeof(h), request, len);
	r->used[peer]++;
	err = send(r, r->link->request, nid, &h, len);
	if (!err)
		return c->ticket;
	r->used[peer]--;
	c->ticket = -1;
	return err > 0 ? -ENODEV : err;
}

static int serve(struct rmc_rpc *r, int nid, const struct head *in, size_t len)
{
	struct head h = { .kind = KIND_RESPONSE, .ticket = in->ticket };
	int err;

	h.result = r->o.handler ? r->o.handler(r->o.arg, nid, r->in + sizeof(h), len,
					       r->out + sizeof(h), r->o.max) : -ENOSYS;
	if (h.result > (int)r->o.max)
		h.result = -EMSGSIZE;
	err = send(r, r->link->respond, nid, &h, h.result > 0 ? (size_t)h.result : 0);
	return err > 0 ? 0 : err;
}

static void take(struct rmc_rpc *r, int nid, const struct head *h, size_t len)
{
	struct call *c = &r->call[(unsigned int)(h->ticket & INDEX_MASK) % r->calls];

	if (h->ticket < 0 || c->ticket != h->ticket || c->done ||
	    c->peer != nid - r->o.first_nid)
		return;
	if (c->abandoned) {
		release(r, c);
		return;
	}
	c->result = h->result;
	if (h->result > 0 && (size_t)h->result != len)
		c->result = -EPROTO;
	else if (h->result > 0 && len > c->size)
		c->result = -EMSGSIZE;
	else if (h->result > 0)
		memcpy(c->response, r->in + sizeof(*h), len);
	c->done = 1;
}

int rmc_rpc_progress(struct rmc_rpc *r)
{
	/* every peer's requests, the responses to ours, and the death of each peer */
	return rmc_rpc_progress_max(r, 2 * r->calls + (unsigned int)r->o.nodes);
}

int rmc_rpc_progress_max(struct rmc_rpc *r, unsigned int max)
{
	int from = 0, ended = -1, n = 0, err = 0;
	struct head h;
	size_t len;

	while ((unsigned int)n < max) {
		err = r->link->recv(r->to, r->in, r->o.max + sizeof(h), &len, &from);
		if (err == -EAGAIN)
			return n;
		if (err > 0) {
			/* reported once per peer, or always, see rpc_link.h */
			if (from == ended)
				return n;
			ended = from;
			n += lose(r, from - r->o.first_nid, err);
			continue;
		}
		if (err)
			return err;
		n++;
		if (len < sizeof(h))
			continue;		/* not an RPC message */
		memcpy(&h, r->in, sizeof(h));
		len -= sizeof(h);
		if (h.kind == KIND_RESPONSE)
			take(r, from, &h, len);
		else if (h.kind == KIND_REQUEST)
			err = serve(r, from, &h, len);
		if (err)
			return err;
	}
	return n;
}

int rmc_rpc_poll(struct rmc_rpc *r, int ticket, int *result, int *failed)
{
	struct call *c = find(r, ticket);
	int err;

	if (!c)
		return -EINVAL;
	if (!c->done) {
		err = rmc_rpc_progress(r);
		if (err < 0)
			return err;
	}
	if (!c->done) {
		if (!rmc_deadline_over(c->deadline))
			return 0;
		abandon(r, c);
		*result = -ETIMEDOUT;
		*failed = 0;
		return 1;
	}
	*result = c->result;
	*failed = c->failed;
	release(r, c);
	return 1;
}

static int relax(struct rmc_rpc *r, unsigned int *spins)
{
	if (r->o.qp)
		return rmc_relax(r->o.qp, spins);
	rmc_object_relax(spins);
	return 0;
}

int rmc_rpc_rejoin(struct rmc_rpc *r, int nid, unsigned int timeout_ms)
{
	uint64_t deadline = rmc_deadline(timeout_ms ? (int)timeout_ms : REJOIN_MS);
	int peer = nid - r->o.first_nid, err;
	unsigned int spins = 0;

	if (peer < 0 || peer >= r->o.nodes)
		return -EINVAL;
	lose(r, peer, RMC_S_BAD_CONTEXT);
	while ((err = r->link->rejoin(r->to, nid, timeout_ms)) == -EAGAIN) {
		if (rmc_deadline_over(deadline))
			return -ETIMEDOUT;
		err = rmc_rpc_progress(r);
		if (err >= 0)
			err = relax(r, &spins);
		if (err < 0)
			return err;
	}
	if (!err)
		r->lost[peer] = 0;
	return err;
}

int rmc_rpc_call_by(struct rmc_rpc *r, int nid, const void *request, size_t len,
		    void *response, size_t size, size_t *got, uint64_t deadline)
{
	int ticket, result = 0, failed = 0, err;
	unsigned int spins = 0;

	while ((ticket = rmc_rpc_post(r, nid, request, len, response, size)) == -EAGAIN) {
		err = rmc_rpc_progress(r);
		if (err >= 0)
			err = relax(r, &spins);
		if (err < 0)
			return err;
		if (rmc_deadline_over(deadline))
			return -ETIMEDOUT;
	}
	if (ticket == -ENODEV)
		return r->lost[nid - r->o.first_nid];
	if (ticket < 0)
		return ticket;
	find(r, ticket)->deadline = deadline;
	spins = 0;
	while (!(err = rmc_rpc_poll(r, ticket, &result, &failed))) {
		err = relax(r, &spins);
		if (err)
			break;
	}
	if (err < 0) {
		rmc_rpc_cancel(r, ticket);
		return err;
	}
	if (failed || result < 0)
		return result;
	if (got)
		*got = (size_t)result;
	return 0;
}

int rmc_rpc_call(struct rmc_rpc *r, int nid, const void *request, size_t len, void *response,
		 size_t size, size_t *got)
{
	return rmc_rpc_call_by(r, nid, request, len, response, size, got,
			       rmc_deadline(r->timeout_ms));
}
