// SPDX-License-Identifier: GPL-2.0
/*
 * Users of one node share a worker: how many ITT entries and worker visits a hostile user
 * leaves to a modest one. Stepped one visit at a time, so no clock matters.
 */
#include "setup.h"
#include "kmod/core/pipeline.h"
#include "kmod/ni/tenants.h"

#define QPS	100	/* of the hostile tenant */
#define DEEP	16	/* entries of each */
#define OPS	400	/* of the modest one */

void (*rmc_between_passes)(void);
u32 rmc_no_memory;

static void add_app(struct app *a, struct setup *s, u32 ctx, u32 entries, struct rmc_tenant *t)
{
	/* all on the first unit */
	s->w.apps = 0;
	app_init_of(a, &s->w, 0, ctx, entries, t);
	rmc_bufs_add(&a->bufs, s->buf_mem);
}

/* A tenant on each worker; the accounts of a queue pair are those of its backend. */
static struct rmc_tenant *tenant(struct setup *s, struct rmc_tenant *group)
{
	return rmc_tenant_create(s->w.node[0]->req_worker->nodes[RMC_LANE_REP], group);
}

/*
 * ITT entries. Nodes 0 to 3, each a kernel of its own; 1 and 3 are frozen, so operations to them
 * hold their entries.
 */
struct crowd {
	struct setup s;
	struct app app[QPS];
	u32 apps;
};

static void crowd_open(struct crowd *c, const struct testbed_opts *o)
{
	struct testbed_opts three = *o;

	memset(c, 0, sizeof(*c));
	three.nodes = 4;
	three.kernels = true;
	setup_make(&c->s, &three, DEEP);
	seg_set(&c->s.w, 3, CTX, c->s.seg_mem);
	seg_set(&c->s.w, 2, CTX, c->s.seg_mem);
	seg_set(&c->s.w, 2, CTX + 1, c->s.seg_mem);
	c->s.w.fabric[0].dead_ms = 1000000;
	CHECK_EQ(app_run(&c->s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	CHECK_EQ(app_run(&c->s.a, RMC_OP_READ, 2, 0, lbuf, 64), RMC_S_OK);
	CHECK_EQ(app_run(&c->s.a, RMC_OP_READ, 3, 0, lbuf, 64), RMC_S_OK);
	/* its entries count for the worker's own tenant: remove it */
	app_fini(&c->s.a);
	c->s.w.frozen[1] = true;
	c->s.w.frozen[3] = true;
}

/* All their queue pairs are deleted, and the credits return. */
static void crowd_leave(struct crowd *c)
{
	while (c->apps)
		app_fini(&c->app[--c->apps]);
	c->s.w.frozen[1] = false;
	c->s.w.frozen[3] = false;
	testbed_settle(&c->s.w);
	c->s.w.frozen[1] = true;
	c->s.w.frozen[3] = true;
}

/* Queue pairs full of reads that a node does not answer */
static void crowd_ask(struct crowd *c, struct rmc_tenant *t, u32 apps, u32 nid)
{
	u32 i, k;

	for (k = 0; k < apps; k++) {
		struct app *a = &c->app[c->apps++];

		add_app(a, &c->s, CTX, DEEP, t);
		for (i = 0; i < DEEP; i++)
			app_post(a, RMC_OP_READ, nid, 0, lbuf, 8);
	}
	testbed_settle(&c->s.w);
}

static void crowd_close(struct crowd *c)
{
	crowd_leave(c);
	/* setup_free() needs one */
	add_app(&c->s.a, &c->s, CTX, DEEP, NULL);
	setup_free(&c->s);
}

static void test_tids(const struct testbed_opts *o)
{
	struct rmc_tenant *user, *t[6];
	u32 size = 64, k, sum;
	static struct crowd c;
	struct app b;

	crowd_open(&c, o);
	user = tenant(&c.s, NULL);
	for (k = 0; k < 3; k++)
		t[k] = tenant(&c.s, NULL);
	for (; k < 6; k++)
		t[k] = tenant(&c.s, user);

	/* alone it has nearly all entries, and the next tenant still gets what it needs */
	crowd_ask(&c, t[0], 6, 1);
	CHECK_EQ(testbed_in_flight(&c.s.w, 0), size - size / RMC_TID_RESERVE);
	add_app(&b, &c.s, CTX + 1, DEEP, t[1]);
	/* from here on both are counted, including entries in flight */
	CHECK_EQ(t[0]->unit[0].tids, size - size / RMC_TID_RESERVE);
	for (k = 0; k < 20; k++)
		CHECK_EQ(app_run(&b, RMC_OP_READ, 2, 64 * k, lbuf, 64), RMC_S_OK);
	CHECK_EQ(t[1]->unit[0].tids, 0);
	app_fini(&b);
	crowd_leave(&c);
	CHECK_EQ(t[0]->unit[0].tids, 0);
	CHECK_EQ(testbed_in_flight(&c.s.w, 0), 0);

	/* a tenant that comes second gets the same */
	add_app(&b, &c.s, CTX + 1, DEEP, t[1]);
	crowd_ask(&c, t[0], 6, 1);
	CHECK_EQ(t[0]->unit[0].tids, size / 2);
	crowd_ask(&c, t[2], 6, 3);
	CHECK_EQ(t[2]->unit[0].tids, size / 4);
	for (k = 0; k < 20; k++)
		CHECK_EQ(app_run(&b, RMC_OP_READ, 2, 64 * k, lbuf, 64), RMC_S_OK);
	crowd_leave(&c);

	/* all contexts of one user share one limit */
	for (k = 3; k < 6; k++)
		crowd_ask(&c, t[k], 6, k % 2 ? 1 : 3);
	for (sum = 0, k = 3; k < 6; k++)
		sum += t[k]->unit[0].tids;
	CHECK_EQ(user->unit[0].tids, sum);
	CHECK_EQ(sum, size / 2);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 2, 0, lbuf, 64), RMC_S_OK);
	crowd_leave(&c);
	CHECK_EQ(user->unit[0].tids, 0);
	app_fini(&b);
	crowd_close(&c);
	for (k = 0; k < 6; k++)
		rmc_tenant_destroy(t[k]);
	rmc_tenant_destroy(user);
}

static u64 served_bytes(struct testbed *w)
{
	return testbed_stat(w, 0, served_bytes) + testbed_stat(w, 1, served_bytes);
}

static int by_value(const void *a, const void *b)
{
	return (int)*(const u32 *)a - (int)*(const u32 *)b;
}

static void keep_full(struct app *a, u32 len)
{
	u32 slot, status;

	while (app_poll(a, &slot, &status))
		CHECK_EQ(status, RMC_S_OK);
	while (a->head - a->cq_head < a->entries)
		app_post(a, a->head & 1 ? RMC_OP_WRITE : RMC_OP_READ, 1, 8192, lbuf + 8192, len);
}

struct modest {
	u32 visits;		/* visits for all of its reads */
	u32 p99;		/* visits of one */
	u64 most;		/* bytes served for all, in one visit */
};

/* Reads of 64 B one after another, with @apps queue pairs of others kept full */
static struct modest run_modest(struct setup *s, struct app *b, struct app *others, u32 apps,
				u32 len)
{
	struct modest m = { 0 };
	u32 took[OPS], slot, status, i, k;

	for (i = 0; i < OPS; i++) {
		app_post(b, RMC_OP_READ, 1, 0, lbuf, 64);
		for (took[i] = 0; !app_poll(b, &slot, &status) && took[i] < 10000; took[i]++) {
			u64 before = served_bytes(&s->w);

			for (k = 0; k < apps; k++)
				keep_full(&others[k], len);
			testbed_visit(&s->w);
			m.most = max(m.most, served_bytes(&s->w) - before);
		}
		m.visits += took[i];
		if (took[i] == 10000)
			break;
	}
	CHECK_EQ(i, OPS);
	if (i < OPS)
		return (struct modest){ .visits = ~0U / 16, .p99 = ~0U };
	qsort(took, i, sizeof(took[0]), by_value);
	m.p99 = took[i - i / 100 - 1];
	return m;
}

/* Shares of polling: many queue pairs and large operations against one blocking reader. */
static void test_polling(const struct testbed_opts *o)
{
	static const u32 lens[] = { 64, 4096, 16384, 40000 };
	struct rmc_tenant *hostile, *modest, *user, *more;
	static struct app others[QPS];
	struct modest alone, crowded;
	struct setup s;
	struct app b;
	u32 i, k, n;

	setup_make(&s, o, DEEP);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	seg_set(&s.w, 1, CTX + 1, s.seg_mem);
	user = tenant(&s, NULL);
	hostile = tenant(&s, user);
	more = tenant(&s, user);
	modest = tenant(&s, NULL);
	add_app(&b, &s, CTX + 1, DEEP, modest);
	alone = run_modest(&s, &b, NULL, 0, 0);
	for (k = 0; k < QPS; k++)
		add_app(&others[k], &s, CTX, DEEP, k % 2 ? hostile : more);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		u64 work[2] = { hostile->work, more->work };

		/* until all of them are hot */
		for (n = 0; n < 3 * QPS; n++) {
			for (k = 0; k < QPS; k++)
				keep_full(&others[k], lens[i]);
			testbed_visit(&s.w);
		}
		crowded = run_modest(&s, &b, others, QPS, lens[i]);
		printf("# %u B: %u visits for %u reads, alone %u; p99 %u, alone %u; %llu bytes in a visit\n",
		       lens[i], crowded.visits, OPS, alone.visits, crowded.p99, alone.p99,
		       (unsigned long long)crowded.most);
		CHECK(crowded.visits * 4 <= alone.visits * 10);
		CHECK(crowded.p99 <= 5 * alone.p99);
		/* a visit is short: a quantum and a packet of the user, a read of the modest one */
		if (!o->units)
			CHECK(crowded.most <= 3 * RMC_TENANT_QUANTUM + 64);
		/* and the user's contexts have equal shares of it */
		work[0] = hostile->work - work[0];
		work[1] = more->work - work[1];
		CHECK(work[0] < 2 * work[1] && work[1] < 2 * work[0]);
	}
	/* ticks divide all of the time */
	for (n = 0; n < 10; n++) {
		for (k = 0; k < QPS; k++)
			keep_full(&others[k], 4096);
		testbed_visit(&s.w);
	}
	testbed_tick(&s.w, 1);
	CHECK(user->time_ns > 0);
	CHECK_EQ(user->time_ns, hostile->time_ns + more->time_ns);
	for (k = 0; k < QPS; k++) {
		u32 slot, status;

		testbed_settle(&s.w);
		while (app_poll(&others[k], &slot, &status))
			CHECK_EQ(status, RMC_S_OK);
		app_fini(&others[k]);
	}
	/* alone again */
	alone = run_modest(&s, &b, NULL, 0, 0);
	CHECK(alone.p99 <= 2);
	app_fini(&b);
	CHECK(setup_guards_intact());
	setup_free(&s);
	rmc_tenant_destroy(modest);
	rmc_tenant_destroy(hostile);
	rmc_tenant_destroy(more);
	rmc_tenant_destroy(user);
}

#define SHARED	8	/* queue pairs of a user with four contexts, two each */
#define OWN	3	/* of a user with a single context */
#define ODD	3800	/* bytes: one more operation fits what is left of a quantum, with a debt */

static u32 visits_for_all(struct setup *s, struct app *a)
{
	u32 slot, status, done = 0, visits = 0, i;

	CHECK_EQ(app_run(a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	for (i = 0; i < DEEP; i++)
		app_post(a, RMC_OP_READ, 1, 0, lbuf, ODD);
	for (; done < DEEP && visits < 1000; visits++) {
		testbed_visit(&s->w);
		while (app_poll(a, &slot, &status))
			done++;
	}
	return visits;
}

/*
 * The rest of a quantum is not saved, a debt is paid back, and a user with several contexts has
 * no more than a user with one.
 */
static void test_shares(const struct testbed_opts *o)
{
	struct rmc_tenant *user, *t[4], *single;
	struct app many[SHARED], own[OWN];
	u64 before[2], was, work[2], most = 0;
	u32 i, n, alone, done, slot, status;
	struct setup s;

	setup_make(&s, o, DEEP);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	app_fini(&s.a);
	user = tenant(&s, NULL);
	single = tenant(&s, NULL);
	for (i = 0; i < 4; i++)
		t[i] = tenant(&s, user);
	for (i = 0; i < OWN; i++)
		add_app(&own[i], &s, CTX, DEEP, single);
	alone = visits_for_all(&s, &own[0]);
	for (i = 0; i < SHARED; i++) {
		add_app(&many[i], &s, CTX, DEEP, t[i / 2]);
		CHECK_EQ(app_run(&many[i], RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	}
	for (i = 0; i < OWN; i++)
		CHECK_EQ(app_run(&own[i], RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	/* idle tenants save no quantum */
	for (n = 0; n < 500; n++)
		testbed_visit(&s.w);
	before[0] = user->work;
	before[1] = single->work;
	for (n = 0; n < 400; n++) {
		for (i = 0; i < SHARED; i++)
			keep_full(&many[i], ODD);
		for (i = 0; i < OWN; i++)
			keep_full(&own[i], ODD);
		was = user->work;
		testbed_visit(&s.w);
		most = max(most, user->work - was);
	}
	work[0] = user->work - before[0];
	work[1] = single->work - before[1];
	CHECK(most <= 2 * (ODD + RMC_TENANT_ENTRY));
	for (i = 0; i < 2; i++) {
		CHECK(work[i] <= 400 * RMC_TENANT_QUANTUM + 2 * ODD);
		CHECK(work[i] >= 9 * 40 * RMC_TENANT_QUANTUM);
	}
	/* each of their queue pairs is polled */
	for (i = 0; i < SHARED; i++)
		CHECK(many[i].cq_head > 400 / SHARED / 2);
	for (i = 0; i < OWN; i++)
		CHECK(own[i].cq_head > 400 / OWN / 2);

	/* small operations are charged as well: each entry has a cost */
	testbed_settle(&s.w);
	for (i = 0; i < OWN; i++)
		while (app_poll(&own[i], &slot, &status))
			CHECK_EQ(status, RMC_S_OK);
	for (i = 0; i < OWN * DEEP; i++)
		app_post(&own[i % OWN], RMC_OP_READ, 1, 0, lbuf, 8);
	testbed_visit(&s.w);
	for (i = 0, done = 0; i < OWN; i++)
		while (app_poll(&own[i], &slot, &status))
			done++;
	CHECK(done > 0 && done <= RMC_TENANT_QUANTUM / RMC_TENANT_ENTRY + 1);
	testbed_settle(&s.w);
	for (i = 0; i < OWN; i++)
		while (app_poll(&own[i], &slot, &status))
			done++;
	CHECK_EQ(done, OWN * DEEP);

	/* a tenant that is alone again is as fast as before */
	for (i = 0; i < SHARED; i++)
		app_fini(&many[i]);
	CHECK_EQ(visits_for_all(&s, &own[0]), alone);
	for (i = 1; i < OWN; i++)
		app_fini(&own[i]);
	app_fini(&own[0]);
	add_app(&s.a, &s, CTX, DEEP, NULL);
	setup_free(&s);
	for (i = 0; i < 4; i++)
		rmc_tenant_destroy(t[i]);
	rmc_tenant_destroy(user);
	rmc_tenant_destroy(single);
}

#define IDLERS	400

/* Many empty queue pairs do not delay a visit either. */
static void test_idlers(const struct testbed_opts *o)
{
	struct app *idle = calloc(IDLERS, sizeof(*idle)), b;
	struct rmc_tenant *t[2];
	u32 i, n, polls;
	struct setup s;

	setup_make(&s, o, DEEP);
	for (i = 0; i < 2; i++)
		t[i] = tenant(&s, NULL);
	add_app(&b, &s, CTX, DEEP, t[1]);
	keep_full(&b, 8);
	CHECK_EQ(app_wait(&b), RMC_S_OK);
	for (i = 0; i < IDLERS; i++) {
		add_app(&idle[i], &s, CTX, 2, t[0]);
		app_post(&idle[i], RMC_OP_READ, 1, 0, lbuf, 8);
	}
	for (n = 0; n < 3 * IDLERS; n++) {
		keep_full(&b, 8);
		testbed_visit(&s.w);
	}
	CHECK(t[0]->hots > RMC_TENANT_QUANTUM / RMC_TENANT_IDLE);
	for (n = 0; n < 4; n++) {
		for (i = 0; i < IDLERS; i++)
			idle[i].qp.idle = 0;
		keep_full(&b, 8);
		testbed_visit(&s.w);
		for (i = 0, polls = 0; i < IDLERS; i++)
			polls += idle[i].qp.idle;
		CHECK(polls > 0 && polls <= RMC_TENANT_QUANTUM / RMC_TENANT_IDLE);
	}
	for (i = 0; i < IDLERS; i++) {
		CHECK_EQ(app_wait(&idle[i]), RMC_S_OK);
		app_fini(&idle[i]);
	}
	app_fini(&b);
	setup_free(&s);
	for (i = 0; i < 2; i++)
		rmc_tenant_destroy(t[i]);
	free(idle);
}

/* Accounts alone: shares, groups, charges */
static void test_accounts(const struct testbed_opts *o)
{
	struct rmc_tenant *user = rmc_tenant_create(2, NULL);
	struct rmc_tenant *a = rmc_tenant_create(2, user), *c = rmc_tenant_create(2, user);
	struct rmc_qpair qp = { .account = &a->unit[0] };
	struct rmc_itt itt = { 0 };
	u32 n;

	CHECK_EQ(rmc_itt_init(&itt, 32), 0);
	itt.tenants = 1;
	for (n = 0; rmc_itt_alloc(&itt, &a->unit[0]) != RMC_TID_NONE;)
		n++;
	CHECK_EQ(n, 32 - 32 / RMC_TID_RESERVE);
	rmc_itt_destroy(&itt);

	/* contexts of one lone user: all but the reserve, halved each time */
	CHECK_EQ(rmc_itt_init(&itt, 32), 0);
	itt.tenants = 2;
	itt.users = 1;
	for (n = 0; rmc_itt_alloc(&itt, &a->unit[0]) != RMC_TID_NONE;)
		n++;
	CHECK_EQ(n, 16);
	while (rmc_itt_alloc(&itt, &c->unit[0]) != RMC_TID_NONE)
		n++;
	CHECK_EQ(n, 24);
	CHECK_EQ(user->unit[0].tids, 24);
	CHECK_EQ(a->unit[0].tids, 16);
	/* freed: for both accounts */
	itt.entry[0].qp = &qp;
	rmc_itt_free(&itt, &itt.entry[0]);
	CHECK_EQ(user->unit[0].tids, 23);
	CHECK_EQ(a->unit[0].tids, 15);
	rmc_itt_destroy(&itt);

	/* with another user the two together get half */
	user->unit[0].tids = a->unit[0].tids = c->unit[0].tids = 0;
	CHECK_EQ(rmc_itt_init(&itt, 32), 0);
	itt.tenants = 3;
	itt.users = 2;
	while (rmc_itt_alloc(&itt, &a->unit[0]) != RMC_TID_NONE)
		;
	CHECK_EQ(rmc_itt_alloc(&itt, &c->unit[0]), RMC_TID_NONE);
	CHECK_EQ(c->unit[0].tids, 0);
	CHECK_EQ(user->unit[0].tids, 16);
	rmc_itt_destroy(&itt);

	/* a frontend's tenant has an account as well */
	rmc_tenant_destroy(a);
	a = rmc_tenant_create(0, user);
	CHECK_EQ(a->units, 1);

	/* work is charged to both; debts are bounded */
	rmc_tenant_charge(a, 100);
	CHECK_EQ(a->work, 100);
	CHECK_EQ(user->work, 100);
	CHECK_EQ(user->deficit, -100);
	for (n = 0; n < 3; n++)
		rmc_tenant_charge(a, RMC_TENANT_DEBT);
	CHECK_EQ(a->deficit, -100 - RMC_TENANT_DEBT);
	rmc_tenant_destroy(a);
	rmc_tenant_destroy(c);
	rmc_tenant_destroy(user);
}

/* Tenants that join and leave a unit, and their entries when it becomes shared */
static void test_members(const struct testbed_opts *o)
{
	struct rmc_node *node = calloc(1, sizeof(*node)), *other = calloc(1, sizeof(*other));
	struct rmc_tenant *user = rmc_tenant_create(1, NULL);
	struct rmc_tenant *t[4] = {
		rmc_tenant_create(1, user), rmc_tenant_create(1, user),
		rmc_tenant_create(1, NULL), rmc_tenant_create(1, NULL),
	};
	/* two of the first tenant, one of each other, one of another unit */
	static const u32 of[] = { 0, 0, 1, 2, 3 };
	static const u32 tenants[] = { 1, 1, 2, 3 }, users[] = { 1, 1, 1, 2 };
	struct rmc_qpair *qp = calloc(5, sizeof(*qp));
	struct rmc_ni_worker w = { 0 };
	u32 i;

	CHECK_EQ(rmc_ni_worker_init(&w, 2), 0);
	CHECK_EQ(rmc_itt_init(&node->itt, 32), 0);
	for (i = 0; i < 5; i++) {
		qp[i].node = i < 4 ? node : other;
		qp[i].account = &t[of[i]]->unit[0];
		w.all[w.alls++] = &qp[i];
	}
	t[0]->unit[0].tids = t[1]->unit[0].tids = user->unit[0].tids = 9;
	t[3]->unit[0].tids = 7;
	for (i = 0; i < 3; i++)
		node->itt.entry[4 * i].qp = &qp[i % 2];
	for (i = 0; i < 4; i++) {
		rmc_tenant_join(&w, &qp[i]);
		CHECK_EQ(node->itt.tenants, tenants[i]);
		CHECK_EQ(node->itt.users, users[i]);
	}
	CHECK_EQ(t[0]->unit[0].tids, 3);
	CHECK_EQ(t[1]->unit[0].tids, 0);
	CHECK_EQ(user->unit[0].tids, 3);
	CHECK_EQ(t[3]->unit[0].tids, 7);
	t[1]->unit[0].tids = 4;
	rmc_tenant_leave(&qp[2]);
	CHECK_EQ(t[1]->unit[0].tids, 0);
	CHECK_EQ(user->unit[0].tids, 3);
	CHECK_EQ(node->itt.users, 2);
	rmc_tenant_leave(&qp[0]);
	CHECK_EQ(node->itt.tenants, 2);
	CHECK_EQ(t[0]->unit[0].tids, 3);
	rmc_tenant_leave(&qp[1]);
	CHECK_EQ(node->itt.tenants, 1);
	CHECK_EQ(node->itt.users, 1);
	CHECK_EQ(user->unit[0].tids, 0);
	rmc_tenant_leave(&qp[3]);
	CHECK_EQ(node->itt.tenants, 0);
	CHECK_EQ(node->itt.users, 0);
	w.alls = 0;
	rmc_ni_worker_destroy(&w);
	rmc_itt_destroy(&node->itt);
	for (i = 0; i < 4; i++)
		rmc_tenant_destroy(t[i]);
	rmc_tenant_destroy(user);
	free(qp);
	free(node);
	free(other);
}

/* Rings of hot queue pairs, and the list of tenants that have some */
static void test_hot(const struct testbed_opts *o)
{
	struct rmc_tenant *t[3];
	struct rmc_qpair *qp = calloc(5, sizeof(*qp));
	struct rmc_ni_worker w = { 0 };
	u32 i;

	CHECK_EQ(rmc_ni_worker_init(&w, 1), 0);
	for (i = 0; i < 3; i++)
		t[i] = rmc_tenant_create(1, NULL);
	for (i = 0; i < 5; i++) {
		qp[i].tenant = t[i < 3 ? 0 : i - 2];
		qp[i].idle = 5;
		rmc_ni_heat(&w, &qp[i]);
		CHECK_EQ(qp[i].idle, 0);
	}
	CHECK_EQ(w.tenants, 3);
	for (i = 0; i < 3; i++) {
		CHECK(qp[i].next == &qp[(i + 1) % 3]);
		CHECK(qp[(i + 1) % 3].prev == &qp[i]);
	}
	CHECK(t[0]->next == &qp[0]);
	/* the next one to be polled leaves */
	rmc_ni_cool(&w, &qp[0]);
	CHECK_EQ(qp[0].hot, -1);
	CHECK(t[0]->next == &qp[1]);
	CHECK(qp[1].next == &qp[2] && qp[2].next == &qp[1]);
	CHECK(qp[1].prev == &qp[2] && qp[2].prev == &qp[1]);
	for (i = 0; i < w.hots; i++)
		CHECK_EQ(w.hot[i]->hot, i);
	rmc_ni_cool(&w, &qp[1]);
	CHECK_EQ(w.tenants, 3);
	/* the last one of a tenant in the middle of the list */
	rmc_ni_cool(&w, &qp[2]);
	CHECK_EQ(w.tenants, 2);
	CHECK(!t[0]->next);
	for (i = 0; i < w.tenants; i++)
		CHECK_EQ(w.tenant[i]->place, i);
	rmc_ni_cool(&w, &qp[4]);
	CHECK_EQ(w.tenants, 1);
	CHECK(w.tenant[0] == t[1]);
	rmc_ni_cool(&w, &qp[3]);
	CHECK_EQ(w.tenants, 0);
	CHECK_EQ(w.hots, 0);
	rmc_ni_worker_destroy(&w);
	for (i = 0; i < 3; i++)
		rmc_tenant_destroy(t[i]);
	free(qp);
}

/* Worker time by work, charged once; time for peers is charged to no tenant */
static void test_time(const struct testbed_opts *o)
{
	/* how many of 10 visits found work; work units of both, and of peers; ns for each */
	static const struct {
		u32 worked, work[2], peers, ns[2];
	} rounds[] = {
		{ 10, { 1000, 0 }, 0, { 1000, 0 } },
		{ 5, { 300, 100 }, 0, { 375, 125 } },
		{ 10, { 200, 200 }, 400, { 250, 250 } },
		{ 10, { 100, 100 }, 0, { 500, 500 } },
		{ 0, { 0, 0 }, 0, { 0, 0 } },
	};
	struct rmc_tenant *user = rmc_tenant_create(1, NULL), *t[2];
	struct rmc_ni_worker w = { 0 };
	u64 want[2] = { 0 };
	u32 i, k;

	CHECK_EQ(rmc_ni_worker_init(&w, 1), 0);
	for (k = 0; k < 2; k++)
		w.tenant[w.tenants++] = t[k] = rmc_tenant_create(1, user);
	for (i = 0; i < ARRAY_SIZE(rounds); i++) {
		w.visits += 10;
		w.worked += rounds[i].worked;
		w.served += rounds[i].peers;
		for (k = 0; k < 2; k++) {
			t[k]->work += rounds[i].work[k];
			want[k] += rounds[i].ns[k];
		}
		rmc_tenants_tick(&w, w.tick_ns + 1000);
		w.tick_ns += 1000;
		for (k = 0; k < 2; k++)
			CHECK_EQ(t[k]->time_ns, want[k]);
	}
	CHECK_EQ(user->time_ns, want[0] + want[1]);
	/* a sleep of a second is not charged */
	w.visits += 10;
	w.worked += 10;
	t[0]->work += 100;
	rmc_tenants_tick(&w, w.tick_ns + 1000000000);
	CHECK_EQ(t[0]->time_ns, want[0] + 2 * RMC_TICK_NS);
	w.tenants = 0;
	rmc_ni_worker_destroy(&w);
	for (k = 0; k < 2; k++)
		rmc_tenant_destroy(t[k]);
	rmc_tenant_destroy(user);
}

/* Work of a lone tenant is only counted, and charged once, before another one becomes hot. */
static void test_alone(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct rmc_tenant *t[2];
	struct setup s;
	struct app b;
	u64 before;
	u32 i;

	setup_make(&s, o, DEEP);
	app_fini(&s.a);
	for (i = 0; i < 2; i++)
		t[i] = tenant(&s, NULL);
	add_app(&s.a, &s, CTX, DEEP, t[0]);
	w = s.w.node[0]->req_worker;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	rmc_tenants_tick(w, w->tick_ns);
	before = t[0]->work;
	for (i = 0; i < 10; i++)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	for (i = 0; i < 2; i++) {
		rmc_tenants_tick(w, w->tick_ns);
		CHECK_EQ(t[0]->work - before, 10 * RMC_TENANT_ENTRY);
	}
	/* another tenant becomes hot */
	for (i = 0; i < 10; i++)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	add_app(&b, &s, CTX, DEEP, t[1]);
	app_post(&b, RMC_OP_READ, 1, 0, lbuf, 64);
	for (i = 0; i < 4 && w->tenants < 2; i++)
		testbed_visit(&s.w);
	CHECK_EQ(w->tenants, 2);
	CHECK(t[0]->work - before >= 20 * RMC_TENANT_ENTRY);
	CHECK(t[1]->work < 10 * RMC_TENANT_ENTRY);
	CHECK_EQ(app_wait(&b), RMC_S_OK);
	app_fini(&b);
	/* it stops, and no tenant is hot */
	before = t[0]->work;
	for (i = 0; i < 10; i++)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	for (i = 0; i < 3 * RMC_IDLE_POLLS && w->tenants; i++)
		testbed_visit(&s.w);
	CHECK_EQ(w->tenants, 0);
	CHECK(t[0]->work - before >= 10 * RMC_TENANT_ENTRY);
	setup_free(&s);
	for (i = 0; i < 2; i++)
		rmc_tenant_destroy(t[i]);
}

int main(void)
{
	static const struct matrix_test alone[] = {
		{ "accounts: limits, groups, charges", test_accounts },
		{ "accounts: who joins and leaves a unit", test_members },
		{ "hot queue pairs: rings and places", test_hot },
		{ "worker time: by work, each once", test_time },
	};
	static const struct matrix_test tids[] = {
		{ "ITT entries: no tenant has them all", test_tids },
		{ "worker time: of one that is alone", test_alone },
	};
	static const struct testbed_opts apart[] = {
		{ .nodes = 3, .ni = "fused", .mtu = 4096 },
		{ .nodes = 3, .ni = "pair", .mtu = 64 },
	};
	static const struct matrix_test polling[] = {
		{ "polling: many queue pairs against one", test_polling, .one_kernel = true },
	};
	static const struct matrix_test shares[] = {
		{ "polling: a quantum each, neither saved nor forgiven", test_shares, .one_kernel = true },
		{ "polling: queue pairs in which there is nothing", test_idlers },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 512 },
		{ .nodes = 2, .ni = "pair", .mtu = 4096 },
		{ .nodes = 2, .ni = "pair", .mtu = 64 },
	};

	matrix_run(alone, ARRAY_SIZE(alone), apart, 1);
	matrix_run(tids, ARRAY_SIZE(tids), apart, ARRAY_SIZE(apart));
	matrix_run(shares, ARRAY_SIZE(shares), opts, 1);
	matrix_run(polling, ARRAY_SIZE(polling), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
