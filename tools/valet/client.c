/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A client: requests at random times, whether there are replies or not. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "opt.h"
#include "valet.h"

#define PATIENCE_NS	5000000000ULL	/* for the last replies */
#define WARM		10		/* a tenth of the time does not count */
#define BEHIND		2		/* times its length: then it ends, if it cannot send as fast */
#define RELAX_NS	2000		/* until the next request: others may have the CPU */

struct client {
	struct valet *v;
	struct rmc_core *core;
	uint64_t gaps, services;	/* streams of random numbers */
	uint64_t sent, counted, replies;
	unsigned int spins;
	uint8_t *out;
};

static int take_replies(struct client *c)
{
	struct rmc_arrival m;
	struct valet_request q;
	int got, n = 0;

	while ((got = rmc_arrival_next(c->core, &m)) == 1) {
		memcpy(&q, m.head, sizeof(q));
		if (q.counts)
			hist_add(&c->v->sums.client, valet_now() - q.due_ns);
		c->replies++;
		valet_check("receive a reply", rmc_receive(c->core, &m));
		n++;
	}
	valet_check("take a reply", got);
	return n;
}

/* False if there was no room */
static int send_one(struct client *c, uint64_t due, uint64_t service_ns, int counts)
{
	struct valet_request q = {
		.due_ns = due, .service_ns = service_ns, .counts = (uint32_t)counts,
	};
	int err;

	memcpy(c->out, &q, sizeof(q));
	err = rmc_send(c->core, rmc_team_nid(c->v->team, 0), c->out, c->v->request,
		       RMC_SEND_DONTWAIT);
	if (err == -EAGAIN)
		return 0;
	valet_check("send", err);
	c->sent++;
	c->counted += (uint64_t)counts;
	return 1;
}

static void relax(struct client *c)
{
	valet_check("wait", rmc_relax(c->core->qp, &c->spins));
}

static void send_all(struct client *c, double gap_ns)
{
	uint64_t start = valet_now(), length = (uint64_t)c->v->seconds * 1000000000;
	double due = (double)start + gap_ns * draw_exponential(&c->gaps);
	uint64_t service_ns = service_draw(&c->v->service, &c->services) / PS_PER_NS, now = start;
	int late = 0;

	while ((uint64_t)due - start < length && now - start < BEHIND * length) {
		if (take_replies(c))
			c->spins = 0;
		now = valet_now();
		if (now < (uint64_t)due) {
			if ((uint64_t)due - now > RELAX_NS)
				relax(c);
			continue;
		}
		if (!send_one(c, (uint64_t)due, service_ns, (uint64_t)due - start > length / WARM)) {
			c->v->sums.count[LATE] += !late;
			late = 1;
			relax(c);
			continue;
		}
		late = 0;
		due += gap_ns * draw_exponential(&c->gaps);
		service_ns = service_draw(&c->v->service, &c->services) / PS_PER_NS;
	}
	now = valet_now();
	c->v->rates[RATE_SENT] = (double)c->sent / ((double)(now - start) / 1e9);
}

void valet_client(struct valet *v)
{
	struct client c = { .v = v };
	uint64_t seed = (uint64_t)v->seed * 1000 + (uint64_t)v->team->self, until;
	double gap_ns = 1e9 * (v->team->nodes - 1) / v->rate;

	c.gaps = stream_seed(seed, 0);
	c.services = stream_seed(seed, 1);
	c.out = (uint8_t *)calloc(1, v->request);
	c.core = rmc_core_open(v->domain, 0, 0);
	if (!c.out || !c.core)
		die(EXIT_FAILED, "%s", c.out ? rmc_errmsg() : "out of memory");
	valet_check("barrier", rmc_team_barrier(v->team));
	send_all(&c, gap_ns);
	for (until = valet_now() + PATIENCE_NS; c.replies < c.sent && valet_now() < until;)
		if (!take_replies(&c))
			relax(&c);
	if (c.replies < c.sent)
		die(EXIT_FAILED, "%llu of %llu replies did not come within %llu seconds: does the server serve this rate?",
		    (unsigned long long)(c.sent - c.replies), (unsigned long long)c.sent,
		    (unsigned long long)(PATIENCE_NS / 1000000000));
	valet_check("flush", rmc_core_flush(c.core));
	v->sums.count[SENT] = c.counted;
	v->sums.count[REPLIES] = c.replies;
	rmc_core_close(c.core);
	free(c.out);
}
