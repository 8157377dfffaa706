/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-sync with latches by messages: each node serves the latches of its tuples, in the way of a
 * network adapter's processor: while it works and, with --serve, all the time. A node that waits for
 * the others goes on serving.
 */
#include <string.h>
#include "opt.h"
#include "sync.h"

#define WINDOW		4	/* calls to a node at a time: a latch, and releases in the background */

int latches_by_message(const struct sync_run *r)
{
	return r->o.latch == RMC_LATCH_NIC_RPC;
}

static unsigned int cells(void)
{
	return rmc_rpc_cells(RMC_LATCH_REQUEST, WINDOW);
}

size_t latches_bytes(const struct sync_run *r, int nodes)
{
	return latches_by_message(r) ? rmc_msg_bytes(nodes, cells()) : 0;
}

/* What a member tells all others when it needs no latch any more */
static const uint32_t done = 0x656e6f64;		/* "done" */

static int answer(void *arg, int nid, const void *request, size_t len, void *response, size_t size)
{
	struct sync_run *r = (struct sync_run *)arg;

	if (len == sizeof(done) && !memcmp(request, &done, sizeof(done))) {
		r->done++;
		return 0;
	}
	return rmc_latch_serve(r->o.latch_server, nid, request, len, response, size);
}

/* at: of the messages, in the team's part of the segment */
void open_latches(struct sync_run *r, uint64_t at)
{
	struct rmc_latch_server_options o = {
		.nodes = r->team->nodes, .first_nid = rmc_team_nid(r->team, 0),
		.bytes = r->team->offset + r->tuples * r->stride,
	};
	struct rmc_rpc_options ro = {
		.max = RMC_LATCH_REQUEST, .window = WINDOW, .nodes = r->team->nodes,
		.first_nid = rmc_team_nid(r->team, 0), .qp = r->team->qp, .handler = answer,
		.arg = r,
	};
	struct rmc_msg_options mo;

	if (!latches_by_message(r))
		return;
	r->o.latch_server = rmc_latch_server_open(&o);
	if (!r->o.latch_server)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	if (r->team->nodes == 1)
		return;
	rmc_msg_defaults(&mo);
	mo.at = at;
	mo.cells = cells();
	r->msg = rmc_msg_open_with(r->team, &mo);
	r->o.rpc = r->msg ? rmc_rpc_open(r->msg, &ro) : NULL;
	if (!r->o.rpc)
		die(EXIT_FAILED, "%s", rmc_errmsg());
}

void close_latches(struct sync_run *r)
{
	if (r->o.rpc)
		rmc_rpc_close(r->o.rpc);
	if (r->msg)
		rmc_msg_close(r->msg);
	rmc_latch_server_close(r->o.latch_server);
}

/* A node that is gone may have left latches that nobody releases: the run has failed. */
static int lost(const struct sync_run *r)
{
	int i, status = 0;

	for (i = 0; i < r->team->nodes && !status; i++)
		status = rmc_rpc_lost(r->o.rpc, rmc_team_nid(r->team, i));
	return status;
}

int serve_others(struct sync_run *r)
{
	unsigned int spins = 0;
	int i, err = 0;

	if (!r->o.rpc)
		return 0;
	for (i = 0; i < r->team->nodes && !err; i++)
		if (i != r->team->self)
			err = rmc_rpc_call(r->o.rpc, rmc_team_nid(r->team, i), &done, sizeof(done),
					   NULL, 0, NULL);
	while (!err && r->done < r->team->nodes - 1) {
		err = rmc_rpc_progress(r->o.rpc);
		err = err < 0 ? err : lost(r);
		if (!err)
			err = rmc_relax(r->team->qp, &spins);
	}
	return err;
}
