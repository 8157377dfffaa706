/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The server: each thread is a core of the node's domain. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "opt.h"
#include "valet.h"

#define WAIT_MS		50

static struct worker {
	struct valet *v;
	pthread_t thread;
	int number;
	struct hist latency;
	uint64_t served, again, first, last;
} *workers;

static pthread_barrier_t opened;
static int stop;

static void work_for(uint64_t from, uint64_t ns)
{
	while (valet_now() - from < ns)
		;
}

/* The reply finds room: clients take theirs whatever they wait for. */
static void reply(struct rmc_core *core, int nid, const void *buf, size_t len)
{
	unsigned int spins = 0;
	int err;

	while ((err = rmc_send(core, nid, buf, len, RMC_SEND_DONTWAIT)) == -EAGAIN) {
		rmc_core_poll(core);
		valet_check("wait", rmc_relax(core->qp, &spins));
	}
	valet_check("reply", err);
}

static void serve(struct worker *w, struct rmc_core *core, const struct rmc_arrival *m, uint8_t *out)
{
	struct valet_request q;
	uint64_t began = valet_now(), ended;

	memcpy(&q, m->head, sizeof(q));
	work_for(began, q.service_ns);
	memcpy(out, &q, sizeof(q));
	reply(core, (int)m->nid, out, w->v->reply);
	valet_check("receive", rmc_receive(core, m));
	ended = valet_now();
	if (!q.counts)
		return;
	hist_add(&w->latency, ended - m->stamp);
	w->again += m->again;
	if (!w->served++)
		w->first = ended;
	w->last = ended;
}

static void *run(void *arg)
{
	struct worker *w = (struct worker *)arg;
	struct valet *v = w->v;
	uint8_t *out = (uint8_t *)calloc(1, v->reply);
	struct rmc_arrival m;
	struct rmc_core *core;
	int got;

	if (!out)
		die(EXIT_FAILED, "out of memory");
	core = rmc_core_open(v->domain, (unsigned int)(w->number * v->groups / v->threads), 0);
	if (!core)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	pthread_barrier_wait(&opened);
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		got = rmc_arrival_wait(core, &m, (unsigned int)v->spin_us, WAIT_MS);
		if (got == 1)
			serve(w, core, &m, out);
		else if (got && got != -EINTR)
			valet_check("wait for a request", got);
	}
	rmc_core_close(core);
	free(out);
	return NULL;
}

void valet_server_start(struct valet *v)
{
	int i;

	workers = (struct worker *)calloc((size_t)v->threads, sizeof(*workers));
	if (!workers)
		die(EXIT_FAILED, "out of memory");
	pthread_barrier_init(&opened, NULL, (unsigned int)v->threads + 1);
	for (i = 0; i < v->threads; i++) {
		workers[i].v = v;
		workers[i].number = i;
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
			die(EXIT_FAILED, "cannot start a thread");
	}
	pthread_barrier_wait(&opened);
}

void valet_server_end(struct valet *v)
{
	uint64_t first = UINT64_MAX, last = 0, served = 0;
	size_t b;
	int i;

	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < v->threads; i++) {
		struct worker *w = &workers[i];

		pthread_join(w->thread, NULL);
		for (b = 0; b < HIST_BUCKETS; b++)
			v->sums.server.count[b] += w->latency.count[b];
		v->sums.count[SERVED] += w->served;
		v->sums.count[AGAIN] += w->again;
		served += w->served;
		if (w->served && w->first < first)
			first = w->first;
		if (w->last > last)
			last = w->last;
	}
	if (served > 1)
		v->rates[RATE_SERVED] = (double)(served - 1) / ((double)(last - first) / 1e9);
	pthread_barrier_destroy(&opened);
	free(workers);
}
