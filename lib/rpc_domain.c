/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Calls over native messages (<rmc/domain.h>): a request is a message, and its response the answer.
 *
 *	caller                                  server
 *	request()   SEND ------------------->   recv() -> handler
 *	recv()      <------------------ REPLY   respond()
 *
 * A pair of nodes has a slot for each call that may be in progress: a slot is in use until the
 * response has arrived. The answer has a place of its own, so neither of the two ever waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "domain/state.h"
#include "rpc_link.h"

#define RETRY_US	500	/* between attempts to join a member that is not there yet */
#define LOOKS		8	/* members that recv() checks at a time */

/**
 * struct rpc_domain - a domain of one core that serves calls only
 * @domain: it
 * @core: its core
 * @call: requests that have no response yet, @active of them
 * @active: number of them
 * @most: that @call has room for
 * @next: of @call, which is polled next
 * @request: the request that recv() took last
 * @serving: it has not been answered
 * @lost: by member: recv() has reported its end
 * @checked: member that is checked next
 * @rejoins: member that is being readmitted, -1: none
 * @target: arrivals until no request of its earlier incarnation is left
 */
struct rpc_domain {
	struct rmc_domain *domain;
	struct rmc_core *core;
	struct rmc_call *call;
	unsigned int active, most, next;
	struct rmc_arrival request;
	int serving;
	uint8_t *lost;
	uint32_t checked;
	int rejoins;
	uint32_t target;
};

static void drop_call(struct rpc_domain *r, unsigned int n)
{
	rmc_call_end(r->core, &r->call[n]);
	r->call[n] = r->call[--r->active];
}

/* A member is gone: a status for rpc.c */
static int ended(struct rpc_domain *r, int nid, int status)
{
	unsigned int n = 0;

	while (n < r->active) {
		if ((int)r->call[n].nid == nid)
			drop_call(r, n);
		else
			n++;
	}
	r->lost[(uint32_t)nid - r->core->first_nid] = 1;
	/* the process is, or another one has its place */
	return status == RMC_S_NO_DOMAIN || status == RMC_S_DOMAIN_MISMATCH ? RMC_S_BAD_CONTEXT :
									      status;
}

/* A call to this member was answered. */
static int has_response(struct rpc_domain *r, int nid)
{
	const void *answer;
	unsigned int i;
	size_t len;

	for (i = 0; i < r->active; i++)
		if ((int)r->call[i].nid == nid && !rmc_call_poll(r->core, &r->call[i], &answer, &len))
			return 1;
	return 0;
}

static int request(void *to, int nid, const void *buf, size_t len)
{
	struct rpc_domain *r = (struct rpc_domain *)to;
	int err;

	if (r->active == r->most)
		return -EAGAIN;
	err = rmc_call_send(r->core, nid, buf, len, RMC_SEND_DONTWAIT, &r->call[r->active]);
	/* what it has answered before comes first */
	if (err > 0)
		return has_response(r, nid) ? -EAGAIN : ended(r, nid, err);
	r->active += !err;
	return err;
}

static int respond(void *to, int nid, const void *buf, size_t len)
{
	struct rpc_domain *r = (struct rpc_domain *)to;

	if (!r->serving || (int)r->request.nid != nid)
		return -EINVAL;
	r->serving = 0;
	return rmc_respond(r->core, &r->request, buf, len);
}

/* The next response; if there is none, the status of a member that is gone; or -EAGAIN */
static int take_response(struct rpc_domain *r, void *buf, size_t size, size_t *len, int *from)
{
	const void *answer;
	int err, failed = 0;
	unsigned int i;

	for (i = 0; i < r->active; i++, r->next++) {
		if (r->next >= r->active)
			r->next = 0;
		err = rmc_call_poll(r->core, &r->call[r->next], &answer, len);
		if (err == -EAGAIN)
			continue;
		if (err < 0)
			return err;
		/* no server of calls receives without an answer */
		if (!err && !*len)
			err = RMC_S_PROTOCOL;
		if (err) {
			*from = (int)r->call[r->next].nid;
			failed = err;
			continue;
		}
		*from = (int)r->call[r->next].nid;
		*len = *len < size ? *len : size;
		memcpy(buf, answer, *len);
		drop_call(r, r->next);
		return 0;
	}
	return failed ? ended(r, *from, failed) : -EAGAIN;
}

/* 1, 0: there is none; or -errno */
static int take_request(struct rpc_domain *r, void *buf, size_t size, size_t *len, int *from)
{
	int err = rmc_arrival_next(r->core, &r->request);

	if (err <= 0)
		return err;
	r->serving = 1;
	*from = (int)r->request.nid;
	*len = r->request.len < size ? r->request.len : size;
	memcpy(buf, rmc_arrival_bytes(r->core, &r->request), *len);
	return 1;
}

/* Members that send nothing may be gone. The status of one, once; or -EAGAIN */
static int take_end(struct rpc_domain *r, int *from)
{
	uint32_t nodes = r->domain->o.nodes;
	int err = rmc_core_probe(r->core), i;

	if (err)
		return err;
	for (i = 0; i < LOOKS; i++) {
		uint32_t member = r->checked++ % nodes;

		*from = nid_of(r->domain, member);
		err = rmc_core_lost(r->core, *from);
		if (err && !r->lost[member])
			return ended(r, *from, err);
	}
	return -EAGAIN;
}

static int recv(void *to, void *buf, size_t size, size_t *len, int *from)
{
	struct rpc_domain *r = (struct rpc_domain *)to;
	int err;

	/* what it took last was no request */
	if (r->serving) {
		r->serving = 0;
		err = rmc_receive(r->core, &r->request);
		if (err)
			return err;
	}
	err = take_response(r, buf, size, len, from);
	if (err != -EAGAIN)
		return err;
	err = take_request(r, buf, size, len, from);
	if (err)
		return err < 0 ? err : 0;
	return take_end(r, from);
}

/* All that was complete when this member's new incarnation was joined is taken by then. */
static int aim(struct rpc_domain *r)
{
	struct rmc_dom_stats stats = { .size = sizeof(stats) };
	int err = rmc_domain_stats(r->domain, &stats);

	r->target = (uint32_t)stats.messages;
	return err;
}

/*
 * The restarted member joins this one as soon as no request of its earlier incarnation is left, so
 * those have to be served.
 */
static int rejoin(void *to, int nid, unsigned int timeout_ms)
{
	struct rpc_domain *r = (struct rpc_domain *)to;
	uint32_t member = (uint32_t)nid - r->core->first_nid;
	int err;

	(void)timeout_ms;	/* the caller's */
	if (r->rejoins != (int)member || rmc_core_lost(r->core, nid)) {
		ended(r, nid, RMC_S_BAD_CONTEXT);
		err = rmc_core_join_by(to_core(r->core), member, 1);	/* one attempt */
		if (err > 0)
			usleep(RETRY_US);
		if (!err)
			err = aim(r);
		if (err)
			return err > 0 ? -EAGAIN : err;
		r->rejoins = (int)member;
	}
	if (r->serving || (int32_t)(r->core->taken - r->target) < 0)
		return -EAGAIN;
	r->rejoins = -1;
	r->lost[member] = 0;
	return 0;
}

/* The RMC repeats what is lost, but a core repeats what the RMC has given up. */
static int flush(void *to, int nid)
{
	struct rpc_domain *r = (struct rpc_domain *)to;
	int err = rmc_core_flush(r->core);

	(void)nid;
	return err < 0 ? err : 0;
}

static void close_link(void *to)
{
	struct rpc_domain *r = (struct rpc_domain *)to;

	rmc_domain_close(r->domain);
	free(r->call);
	free(r->lost);
	free(r);
}

const struct rmc_rpc_link rmc_rpc_link_domain = {
	.request = request,
	.respond = respond,
	.recv = recv,
	.rejoin = rejoin,
	.flush = flush,
	.close = close_link,
};

static struct rpc_domain *open_link(struct rmc_ctx *ctx, const struct rmc_rpc_options *o)
{
	struct rmc_domain_options d;
	struct rpc_domain *r;

	r = (struct rpc_domain *)calloc(1, sizeof(*r));
	if (!r)
		goto no_memory;
	r->rejoins = -1;
	r->most = o->window * (unsigned int)o->nodes;
	r->call = (struct rmc_call *)calloc(r->most, sizeof(*r->call));
	r->lost = (uint8_t *)calloc((size_t)o->nodes, 1);
	if (!r->call || !r->lost)
		goto no_memory;
	rmc_domain_defaults(&d);
	d.first_nid = (unsigned int)o->first_nid;
	d.nodes = (unsigned int)o->nodes;
	d.slots = o->window;
	d.max_message = (unsigned int)o->max + RMC_RPC_HEADER;
	d.max_answer = d.max_message;
	d.cores = 1;
	r->domain = rmc_domain_open_with(ctx, &d);
	if (!r->domain)
		goto err;
	r->core = rmc_core_open(r->domain, 0, 0);
	if (r->core)
		return r;
	goto err;

no_memory:
	rmc_fail(ENOMEM, "out of memory");
	errno = ENOMEM;
err:
	if (r) {
		int err = errno;

		close_link(r);
		errno = err;
	}
	return NULL;
}

struct rmc_rpc *rmc_rpc_open_domain_sized(struct rmc_ctx *ctx,
					  const struct rmc_rpc_options *options, size_t size)
{
	struct rmc_rpc_options o;
	struct rpc_domain *link;
	struct rmc_rpc *r;

	if (rmc_struct_in(&o, sizeof(o), options, size, RMC_RPC_OPTIONS_SIZE_VER0, "RPC options"))
		return NULL;
	if (!o.window)
		o.window = 1;
	if (o.nodes <= 0 || o.max > RMC_MAX_ANSWER - RMC_RPC_HEADER) {
		rmc_fail(EINVAL, "rpc: %zu bytes, %d nodes: calls over native messages have 0 .. %d bytes, and a node at least",
			 o.max, o.nodes, RMC_MAX_ANSWER - RMC_RPC_HEADER);
		return NULL;
	}
	link = open_link(ctx, &o);
	if (!link)
		return NULL;
	if (!o.qp)
		o.qp = link->core->qp;
	r = rmc_rpc_open_over(&rmc_rpc_link_domain, link, &o);
	if (!r) {
		int err = errno;

		close_link(link);
		errno = err;
	}
	return r;
}

struct rmc_rpc *rpc_open_domain_ver0(struct rmc_ctx *ctx, const struct rmc_rpc_options *options)
	RMC_VER0(rmc_rpc_open_domain);
struct rmc_rpc *rpc_open_domain_ver0(struct rmc_ctx *ctx, const struct rmc_rpc_options *options)
{
	return rmc_rpc_open_domain_sized(ctx, options, RMC_RPC_OPTIONS_SIZE_VER0);
}
