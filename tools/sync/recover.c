/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-sync recover: release what a dead node has left latched, one object after the other. The
 * objects are those of any program: their places are options.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "json.h"
#include "opt.h"
#include "sync.h"

#define ENTRIES		64	/* of the queue pair */
#define ATTEMPTS	64	/* at an object: an owner that does not answer takes a time-out each */
/* Clients of this command: no hold of a program has their names, nor of one that runs beside it. */
#define CLIENTS		16
#define FIRST_CLIENT	240

enum { FREE, RELEASED, TORN_ONES, FAILED_ONES, RESULTS };

/* Objects that are named: torn, or failed */
struct named {
	uint64_t *offset;
	uint64_t n;
};

static struct named named[RESULTS];

static void note_offset(struct named *to, uint64_t offset)
{
	/* a power of two: it is full */
	if (!(to->n & (to->n - 1)))
		to->offset = (uint64_t *)realloc(to->offset, (2 * to->n + 1) * sizeof(offset));
	if (!to->offset)
		die(EXIT_FAILED, "out of memory");
	to->offset[to->n++] = offset;
}

/*
 * Of a hold that was taken over: torn data stays as it is, or becomes zeros. A copy that does not
 * fit its index word is of no object with these options; there is no place for another one, either.
 */
static int release(struct sync_run *r, struct rmc_hold *h)
{
	if (!h->torn)
		return rmc_sync_cancel(r->sync, h);
	if (r->o.scheme->needs & RMC_NEEDS_POOL) {
		rmc_sync_cancel(r->sync, h);		/* it stays latched */
		return RMC_SCHEME_TORN;
	}
	if (!strcmp(r->torn_data, "zero"))
		memset(h->data, 0, h->len);
	return rmc_sync_commit(r->sync, h);
}

/* Latches that stay though a call says nothing of it: their release was lost. */
static uint64_t left_latched(const struct sync_run *r)
{
	struct rmc_sync_stats s;

	rmc_sync_stats(r->sync, &s);
	return s.unlocks_lost + s.quarantined;
}

static void recover_one(struct sync_run *r, uint64_t i, uint64_t *count)
{
	uint64_t at = r->at + i * r->stride, before = left_latched(r);
	struct rmc_hold h = { .len = r->bytes };
	int err = rmc_sync_take_over(r->sync, rmc_sync_addr(r->owner, at), r->dead, &h);
	int torn, result, drained;

	torn = !err && h.torn;
	if (!err)
		err = release(r, &h);
	drained = rmc_sync_drain(r->sync);
	if (!err || err == -ENOENT)
		err = drained ? drained : left_latched(r) != before ? RMC_S_TIMEOUT : err;
	if (err == -ENOENT) {
		count[FREE]++;
		return;
	}
	result = err ? FAILED_ONES : torn ? TORN_ONES : RELEASED;
	count[result]++;
	if (result == RELEASED)
		return;
	note_offset(&named[result], at);
	if (!r->json)
		printf("offset %#llx: %s\n", (unsigned long long)at,
		       err ? rmc_strerror(err) : "may have been half written");
}

static void name_offsets(struct json *j, const char *name, const struct named *of)
{
	uint64_t i;

	json_array(j, name);
	for (i = 0; i < of->n; i++)
		json_uint(j, NULL, of->offset[i]);
	json_end_array(j);
}

static void report_recovery(const struct sync_run *r, const uint64_t *count)
{
	static const char * const name[RESULTS] = { "not_latched", "released", "torn", "failed" };
	struct json j;
	int i;

	if (!r->json) {
		for (i = 0; i < RESULTS; i++)
			printf("%-12s %llu\n", name[i], (unsigned long long)count[i]);
		if (count[FAILED_ONES])
			printf("they may be latched by node %d, client %u now\n", r->o.nid, r->o.client);
		return;
	}
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "command", "recover");
	json_string(&j, "scheme", r->o.scheme->name);
	json_int(&j, "dead", r->dead);
	json_bool(&j, "ordered", rmc_sync_is_ordered(r->qp));
	json_int(&j, "by_node", r->o.nid);
	json_uint(&j, "by_client", r->o.client);
	for (i = 0; i < RESULTS; i++)
		json_uint(&j, name[i], count[i]);
	name_offsets(&j, "torn_at", &named[TORN_ONES]);
	name_offsets(&j, "failed_at", &named[FAILED_ONES]);
	json_end_object(&j);
}

/* Drawn, since process numbers of two containers may be the same */
static unsigned int any_client(void)
{
	unsigned int random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		die(EXIT_FAILED, "no random numbers");
	return FIRST_CLIENT + random % CLIENTS;
}

int recover(struct sync_run *r)
{
	struct rmc_ctx *ctx = rmc_open((unsigned int)r->ctx_id, -1);
	uint64_t count[RESULTS] = { 0 }, i;

	/* a lost operation must not come behind the release, nor a footer in front of the data */
	r->qp = ctx ? ordered_qp(ctx, ENTRIES, !(r->o.flags & RMC_SYNC_TRUST_ORDER)) : NULL;
	if (!r->qp)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	r->o.nid = rmc_nid(ctx);
	if (r->dead == r->o.nid && r->client < 0)
		die(EXIT_USAGE, "recover: node %d is this one, and lives: --client, or from another node",
		    r->dead);
	/* else it would have the name of a program that lives */
	if (r->dead != r->o.nid && r->client >= 0)
		die(EXIT_USAGE, "recover: --client is one of this node, %d, and --dead is node %d",
		    r->o.nid, r->dead);
	r->o.client = r->client < 0 ? any_client() : (unsigned int)r->client;
	r->o.attempts = r->attempts ? (unsigned int)r->attempts : ATTEMPTS;
	r->stride = rmc_scheme_bytes(r->layout, r->bytes) + (uint64_t)r->pad * RMC_CACHE_LINE;
	r->o.flags &= ~(unsigned int)(RMC_SYNC_SPEC | RMC_SYNC_COMBINE | RMC_SYNC_ASYNC);
	r->o.base = r->at;
	r->o.stride = r->stride;
	r->o.objects = r->tuples;
	r->o.latches = r->latches_at ? r->latches_at : r->at + r->tuples * r->stride;
	/* the latch of copies is in the index word; none is written */
	r->o.pool = RMC_CACHE_LINE;
	r->o.pool_slots = 1;
	r->o.pool_nid = r->owner;
	r->sync = rmc_sync_open(r->qp, &r->o);
	if (!r->sync)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	for (i = 0; i < r->tuples; i++)
		recover_one(r, i, count);
	rmc_sync_close(r->sync);
	report_recovery(r, count);
	rmc_qp_destroy(r->qp);
	rmc_close(ctx);
	free(named[TORN_ONES].offset);
	free(named[FAILED_ONES].offset);
	return count[FAILED_ONES] ? EXIT_FAILED : EXIT_OK;
}
