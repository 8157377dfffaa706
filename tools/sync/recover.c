/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-sync recover: release what a dead node has left latched, one object after the other. The
 * objects are those of any program: their places are options.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "json.h"
#include "opt.h"
#include "sync.h"

#define ENTRIES		64	/* of the queue pair */
#define CLIENT		255	/* no hold of this node's programs has the same name */

enum { FREE, RELEASED, TORN_ONES, FAILED_ONES, RESULTS };

/* Of a hold that was taken over: torn data stays as it is, or becomes zeros. */
static int release(struct sync_run *r, struct rmc_hold *h)
{
	if (!h->torn)
		return rmc_sync_cancel(r->sync, h);
	if (!strcmp(r->torn_data, "zero"))
		memset(h->data, 0, h->len);
	return rmc_sync_commit(r->sync, h);
}

static void recover_one(struct sync_run *r, uint64_t i, uint64_t *count)
{
	uint64_t at = r->at + i * r->stride;
	struct rmc_hold h = { .len = r->bytes };
	int err = rmc_sync_take_over(r->sync, rmc_sync_addr(r->owner, at), r->dead, &h), torn;

	if (err == -ENOENT) {
		count[FREE]++;
		return;
	}
	torn = h.torn;
	if (!err)
		err = release(r, &h);
	count[err ? FAILED_ONES : torn ? TORN_ONES : RELEASED]++;
	if (err || (torn && !r->json))
		printf("offset %#llx: %s\n", (unsigned long long)at,
		       err ? rmc_strerror(err) : "may have been half written");
}

static void report_recovery(const struct sync_run *r, const uint64_t *count)
{
	static const char * const name[RESULTS] = { "not_latched", "released", "torn", "failed" };
	struct json j;
	int i;

	if (!r->json) {
		for (i = 0; i < RESULTS; i++)
			printf("%-12s %llu\n", name[i], (unsigned long long)count[i]);
		return;
	}
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "command", "recover");
	json_string(&j, "scheme", r->o.scheme->name);
	json_int(&j, "dead", r->dead);
	for (i = 0; i < RESULTS; i++)
		json_uint(&j, name[i], count[i]);
	json_end_object(&j);
}

int recover(struct sync_run *r)
{
	struct rmc_ctx *ctx = rmc_open((unsigned int)r->ctx_id, -1);
	struct rmc_qp *qp = ctx ? rmc_qp_create(ctx, ENTRIES) : NULL;
	uint64_t count[RESULTS] = { 0 }, i;

	if (!qp)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	r->stride = rmc_scheme_bytes(r->layout, r->bytes) + (uint64_t)r->pad * RMC_CACHE_LINE;
	r->o.flags |= RMC_SYNC_TRUST_ORDER;		/* nothing is posted behind another one */
	r->o.flags &= ~(unsigned int)(RMC_SYNC_SPEC | RMC_SYNC_COMBINE | RMC_SYNC_ASYNC);
	r->o.nid = rmc_nid(ctx);
	r->o.client = CLIENT;
	r->o.base = r->at;
	r->o.stride = r->stride;
	r->o.objects = r->tuples;
	r->o.latches = r->latches_at ? r->latches_at : r->at + r->tuples * r->stride;
	/* the latch of copies is in the index word; none is written */
	r->o.pool = RMC_CACHE_LINE;
	r->o.pool_slots = 1;
	r->o.pool_nid = r->owner;
	r->sync = rmc_sync_open(qp, &r->o);
	if (!r->sync)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	for (i = 0; i < r->tuples; i++)
		recover_one(r, i, count);
	rmc_sync_close(r->sync);
	rmc_qp_destroy(qp);
	rmc_close(ctx);
	report_recovery(r, count);
	return count[FAILED_ONES] ? EXIT_FAILED : EXIT_OK;
}
