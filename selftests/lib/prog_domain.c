/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * One member of a team that tests native messages: prog_domain [OPTION=VALUE...]
 *
 *	policy=NAME depth=N slots=N max=BYTES cores=N groups=N messages=N	as the domain's; messages
 *								from each core to each member
 *	mode=all	every core sends to every member, and answers what it gets
 *	mode=serve	the last member answers the others by the five lines of <rmc/domain.h>
 *	mode=offer	every member offers more than a message to the next one, which reads it
 *	mode=rejoin life=N	the last member ends in life 1, and comes back in life 2
 *
 * Prints "member N: ok", or the failed check and fails.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "../../lib/internal.h"
#include "member.h"

#define CORES_MAX	16
#define HEAD		((uint32_t)sizeof(struct header))
#define WAIT_US		20
#define WAIT_MS		50
#define PATIENCE_MS	60000

enum { ASK, ANSWER, STOP };

/* Begin of a message; all that follows is a function of it */
struct header {
	uint32_t kind;
	uint32_t nid, core;		/* who asks */
	uint32_t number;		/* of the message, by nid, core and destination */
};

struct thread {
	pthread_t thread;
	unsigned int index;
	struct rmc_core *core;
	uint8_t *buf;
};

static struct rmc_domain_options options;
static unsigned int messages = 200, cores = 2;
static struct rmc_domain *domain;
static uint8_t *asked, *answered;	/* by member, core and number: how often */
static unsigned int left;		/* arrivals that this node still gets */

static unsigned int index_of(uint32_t member, uint32_t core, uint32_t number)
{
	return (member * cores + core) * messages + number;
}

/* Lengths 1 .. max that a header fits in: all of them in turn, and both ends often */
static uint32_t length_of(const struct header *h)
{
	uint32_t max = rmc_domain_max_message(domain);

	if (h->number % 8 == 7)
		return max;
	if (h->number % 8 == 6)
		return HEAD;
	return HEAD + (h->number * 61 + h->core * 7 + h->nid) % (max - HEAD + 1);
}

static uint8_t byte_of(const struct header *h, uint32_t i)
{
	return (uint8_t)(h->number * 31 + h->core * 5 + h->nid * 3 + h->kind * 101 + i * 7 +
			 (i >> 8));
}

static uint32_t compose(uint8_t *p, const struct header *h)
{
	uint32_t len = length_of(h), i;

	memcpy(p, h, sizeof(*h));
	for (i = HEAD; i < len; i++)
		p[i] = byte_of(h, i);
	return len;
}

static struct header check_message(struct rmc_core *core, const struct rmc_arrival *m)
{
	const uint8_t *p = (const uint8_t *)rmc_arrival_data(core, m);
	uint32_t i, first = m->len < RMC_AQ_HEAD ? m->len : RMC_AQ_HEAD;
	struct header h;

	CHECK(m->len >= HEAD && m->len <= rmc_domain_max_message(domain));
	memcpy(&h, p, sizeof(h));
	CHECK(!memcmp(m->head, p, first));
	CHECK(h.kind == STOP || m->len == length_of(&h));
	for (i = HEAD; h.kind != STOP && i < m->len; i++)
		CHECK(p[i] == byte_of(&h, i));
	return h;
}

/* An answer goes to the node that asked, so any of its cores may get it. */
static void take(struct thread *t, const struct rmc_arrival *m);

/* Sends, and takes what arrives while there is no room. */
static void send_all(struct thread *t, int nid, const struct header *h)
{
	uint8_t *copy = t->buf + rmc_domain_max_message(domain);
	unsigned int spins = 0;
	struct rmc_arrival m;
	uint32_t len;
	int err;

	for (;;) {
		len = compose(copy, h);
		err = rmc_send(t->core, nid, copy, len, RMC_SEND_DONTWAIT);
		if (err != -EAGAIN)
			break;
		err = rmc_arrival_next(t->core, &m);
		CHECK(err >= 0);
		if (err)
			take(t, &m);
		else
			OK(rmc_relax(t->core->qp, &spins));
	}
	OK(err);
}

static void count(uint8_t *counters, uint32_t member, const struct header *h)
{
	CHECK(member < (uint32_t)team->nodes && h->core < cores && h->number < messages);
	CHECK(__atomic_fetch_add(&counters[index_of(member, h->core, h->number)], 1,
				 __ATOMIC_RELAXED) == 0);
}

static void take(struct thread *t, const struct rmc_arrival *m)
{
	struct header h = check_message(t->core, m);
	int from = (int)m->nid;

	CHECK(!m->again);
	OK(rmc_receive(t->core, m));
	if (h.kind == ASK) {
		CHECK(h.nid == m->nid);
		count(asked, h.nid - (uint32_t)rmc_team_nid(team, 0), &h);
		h.kind = ANSWER;
		send_all(t, from, &h);
	} else {
		CHECK(h.kind == ANSWER && h.nid == (uint32_t)rmc_team_nid(team, team->self));
		count(answered, m->nid - (uint32_t)rmc_team_nid(team, 0), &h);
	}
	__atomic_sub_fetch(&left, 1, __ATOMIC_ACQ_REL);
}

static void open_core(struct thread *t)
{
	unsigned int group = options.groups ? t->index % options.groups : 0;

	t->core = rmc_core_open(domain, group, 0);
	if (!t->core) {
		printf("member %d: %s\n", team->self, rmc_errmsg());
		exit(1);
	}
	t->buf = (uint8_t *)malloc(2 * (size_t)rmc_domain_max_message(domain));
	CHECK(t->buf);
}

static void *ask_all(void *arg)
{
	struct thread *t = (struct thread *)arg;
	struct rmc_arrival m;
	uint32_t n;
	int to, got, idle = 0;

	open_core(t);
	for (n = 0; n < messages; n++) {
		for (to = 0; to < team->nodes; to++) {
			struct header h = {
				ASK, (uint32_t)rmc_team_nid(team, team->self), t->index, n,
			};

			send_all(t, rmc_team_nid(team, to), &h);
			while ((got = rmc_arrival_next(t->core, &m)) == 1)
				take(t, &m);
			CHECK(!got);
		}
	}
	/* another core may get what this one waits for */
	while (__atomic_load_n(&left, __ATOMIC_ACQUIRE)) {
		got = rmc_arrival_wait(t->core, &m, WAIT_US, WAIT_MS);
		CHECK(got >= 0);
		idle = got ? 0 : idle + 1;
		CHECK(idle < PATIENCE_MS / WAIT_MS);
		if (got)
			take(t, &m);
	}
	OK(rmc_core_flush(t->core));
	return NULL;
}

static void run(struct thread *t, void *(*body)(void *))
{
	unsigned int i;

	for (i = 0; i < cores; i++) {
		t[i].index = i;
		CHECK(!pthread_create(&t[i].thread, NULL, body, &t[i]));
	}
	for (i = 0; i < cores; i++)
		pthread_join(t[i].thread, NULL);
}

static void all(struct thread *t)
{
	struct rmc_dom_stats s = { .size = sizeof(s) };
	unsigned int n = (unsigned int)team->nodes * cores * messages, i;

	left = 2 * n;
	run(t, ask_all);
	for (i = 0; i < n; i++)
		CHECK(asked[i] == 1 && answered[i] == 1);
	OK(rmc_domain_stats(domain, &s));
	CHECK(s.messages == 2 * n && s.dispatched == 2 * n && !s.waiting && s.cores == cores);
}

/* --- the server of <rmc/domain.h> --- */

static uint32_t handle(const void *request, uint32_t len, uint8_t *answer)
{
	struct header h;

	memcpy(&h, request, sizeof(h));
	memcpy(answer, request, len);
	if (h.kind == STOP)
		return 0;
	CHECK(h.kind == ASK && len == length_of(&h));
	h.kind = ANSWER;
	return compose(answer, &h);
}

static void *serve(void *arg)
{
	struct thread *t = (struct thread *)arg;
	uint8_t *answer;
	struct rmc_arrival m;
	uint32_t n;
	int got;

	open_core(t);
	answer = t->buf;
	while (__atomic_load_n(&left, __ATOMIC_ACQUIRE)) {
		got = rmc_arrival_wait(t->core, &m, WAIT_US, WAIT_MS);
		CHECK(got >= 0);
		if (!got)
			continue;
		n = handle(rmc_arrival_data(t->core, &m), m.len, answer);
		OK(rmc_receive(t->core, &m));
		if (n)
			OK(rmc_send(t->core, (int)m.nid, answer, n, 0));
		else
			__atomic_sub_fetch(&left, 1, __ATOMIC_ACQ_REL);
	}
	OK(rmc_core_flush(t->core));
	return NULL;
}

/* One request at a time; any core of this node may get the answer, so there is one. */
static void *call(void *arg)
{
	struct thread *t = (struct thread *)arg;
	struct header h = { ASK, (uint32_t)rmc_team_nid(team, team->self), 0, 0 }, got;
	int server = rmc_team_nid(team, -1);
	struct rmc_arrival m;

	open_core(t);
	for (h.number = 0; h.number < messages; h.number++) {
		OK(rmc_send(t->core, server, t->buf, compose(t->buf, &h), 0));
		CHECK(rmc_arrival_wait(t->core, &m, WAIT_US, PATIENCE_MS) == 1);
		got = check_message(t->core, &m);
		CHECK((int)m.nid == server && got.kind == ANSWER && got.number == h.number);
		OK(rmc_receive(t->core, &m));
	}
	h.kind = STOP;
	OK(rmc_send(t->core, server, &h, sizeof(h), 0));
	OK(rmc_core_flush(t->core));
	return NULL;
}

static void served(struct thread *t)
{
	left = (unsigned int)team->nodes - 1;
	if (team->self < team->nodes - 1)
		cores = 1;
	run(t, team->self == team->nodes - 1 ? serve : call);
}

/* --- what is longer than a message --- */

#define OFFERED	(1U << 20)	/* bytes of each member's memory */
#define READ_MAX	(1U << 16)	/* longest operation: so there are several */

static uint8_t offered_byte(int member, size_t i)
{
	return (uint8_t)(member * 41 + i * 13 + (i >> 8) * 7 + (i >> 16));
}

/* Reads what the member before offers, and answers with its length; outside of its memory: nothing */
static void fetch_one(struct thread *t, uint8_t *buf, uint64_t offset, uint64_t want, int status)
{
	int before = (team->self + team->nodes - 1) % team->nodes;
	struct rmc_arrival m, other;
	size_t len = 0, i;
	uint32_t head;

	CHECK(rmc_arrival_wait(t->core, &m, WAIT_US, PATIENCE_MS) == 1);
	CHECK(m.kind == RMC_AQ_OFFER && (int)m.nid == rmc_team_nid(team, before));
	other = m;
	other.kind = RMC_AQ_MESSAGE;
	CHECK(rmc_fetch(t->core, &other, buf, want, &len) == -EINVAL);
	other = m;
	other.len++;
	CHECK(rmc_fetch(t->core, &other, buf, want, &len) == -EINVAL);
	other = m;
	other.nid = (uint32_t)rmc_team_nid(team, team->nodes - 1) + 1;
	CHECK(rmc_fetch(t->core, &other, buf, want, &len) == -EINVAL);
	memset(buf, 0, want);
	CHECK(rmc_fetch(t->core, &m, buf, want - 1, &len) == -EMSGSIZE && len == want);
	head = t->core->qp->head;
	CHECK(rmc_fetch(t->core, &m, buf, want, &len) == status && len == want);
	CHECK(status || t->core->qp->head - head >= (want + READ_MAX - 1) / READ_MAX);
	for (i = 0; !status && i < len; i++)
		CHECK(buf[i] == offered_byte(before, offset + i));
	if (status)
		OK(rmc_receive(t->core, &m));
	else
		OK(rmc_respond(t->core, &m, &len, sizeof(len)));
	OK(rmc_core_flush(t->core));
}

static void *offer_all(void *arg)
{
	static const uint64_t lengths[] = { 1, 63, READ_MAX, READ_MAX + 1, 300000, OFFERED - 7 };
	struct thread *t = (struct thread *)arg;
	int next = rmc_team_nid(team, (team->self + 1) % team->nodes);
	uint8_t *buf = (uint8_t *)aligned_alloc(4096, OFFERED);
	const void *answer;
	struct rmc_call call;
	unsigned int n;
	size_t i, len;
	int id;

	open_core(t);
	team->ctx->query.max_length = READ_MAX;
	CHECK(buf);
	id = rmc_buf_register(team->ctx, buf, OFFERED);
	CHECK(id >= 0);
	for (i = 0; i < OFFERED; i++)
		((uint8_t *)team->seg)[i] = offered_byte(team->self, i);
	OK(rmc_team_barrier(team));
	CHECK(rmc_offer(t->core, next, 0, 0, 0, &call) == -EINVAL);
	for (n = 0; n <= sizeof(lengths) / sizeof(lengths[0]); n++) {
		int outside = !n;
		uint64_t bytes = outside ? OFFERED : lengths[n - 1];
		uint64_t at = outside ? 1ULL << 38 : team->offset + n % 7;

		OK(rmc_offer(t->core, next, at, bytes, 0, &call));
		fetch_one(t, buf, n % 7, bytes, outside ? RMC_S_OUT_OF_RANGE : 0);
		OK(rmc_call_wait(t->core, &call, &answer, &len, PATIENCE_MS));
		if (outside)
			CHECK(!len);
		else
			CHECK(len == sizeof(bytes) && !memcmp(answer, &bytes, len));
		rmc_call_end(t->core, &call);
	}
	rmc_buf_unregister(team->ctx, id);
	free(buf);
	return NULL;
}

static void offers(struct thread *t)
{
	cores = 1;
	run(t, offer_all);
}

/* --- the last member ends, and begins anew --- */

static int gone(int status)
{
	return status == RMC_S_NODE_DOWN || status == RMC_S_NO_DOMAIN ||
	       status == RMC_S_DOMAIN_MISMATCH || status == RMC_S_TIMEOUT;
}

static void echo(struct thread *t, uint32_t first)
{
	struct header h = { ASK, (uint32_t)rmc_team_nid(team, team->self), 0, 0 }, got;
	int last = rmc_team_nid(team, -1);
	struct rmc_arrival m;

	for (h.number = first; h.number < first + messages / 2; h.number++) {
		OK(rmc_send(t->core, last, t->buf, compose(t->buf, &h), 0));
		CHECK(rmc_arrival_wait(t->core, &m, WAIT_US, PATIENCE_MS) == 1);
		got = check_message(t->core, &m);
		CHECK(got.kind == ANSWER && got.number == h.number);
		OK(rmc_receive(t->core, &m));
	}
}

/* Life 1 ends with messages that it has, and those that it has not taken. */
static void echoes(struct thread *t, int life)
{
	unsigned int todo = ((unsigned int)team->nodes - 1) * (messages / 2);
	struct rmc_arrival m;
	uint32_t n;

	while (todo) {
		CHECK(rmc_arrival_wait(t->core, &m, WAIT_US, PATIENCE_MS) == 1);
		n = handle(rmc_arrival_data(t->core, &m), m.len, t->buf);
		OK(rmc_receive(t->core, &m));
		/* for life 1, of a member that has got all its answers */
		CHECK(n || life == 1);
		if (n)
			OK(rmc_send(t->core, (int)m.nid, t->buf, n, 0));
		todo -= n > 0;
	}
	OK(rmc_core_flush(t->core));
	if (life == 1) {
		CHECK(rmc_arrival_wait(t->core, &m, WAIT_US, PATIENCE_MS) == 1);
		_exit(0);
	}
}

static void rejoin(struct thread *t, int life)
{
	int last = rmc_team_nid(team, -1), err;

	open_core(t);
	if (team->self == team->nodes - 1) {
		echoes(t, life);
		return;
	}
	echo(t, 0);
	/* these are for life 1, and must not come to life 2 */
	do {
		struct header h = { STOP, 0, 0, 0 };

		err = rmc_send(t->core, last, &h, sizeof(h), RMC_SEND_DONTWAIT);
		if (err == -EAGAIN || !err)
			usleep(1000);
	} while (!err || err == -EAGAIN);
	CHECK(gone(err));
	/* its domain ends before its segment */
	err = rmc_team_barrier(team);
	CHECK(err == RMC_S_NODE_DOWN || err == RMC_S_BAD_CONTEXT);
	OK(rmc_team_rejoin(team, 75000));
	OK(rmc_core_join(t->core, last));
	/* what became of the others is not known */
	err = rmc_core_flush(t->core);
	CHECK(!err || gone(err));
	echo(t, messages / 2);
}

static int set(const char *name, unsigned int value)
{
	static const struct {
		const char *name;
		unsigned int *value;
	} number[] = {
		{ "depth", &options.depth }, { "slots", &options.slots },
		{ "max", &options.max_message }, { "groups", &options.groups },
		{ "cores", &cores }, { "messages", &messages },
	};
	size_t i;

	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		if (!strcmp(name, number[i].name)) {
			*number[i].value = value;
			return 0;
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct thread t[CORES_MAX];
	const char *mode = "all", *value;
	int i, life = 1, policy;
	size_t counters;

	rmc_domain_defaults(&options);
	for (i = 1; i < argc; i++) {
		value = strchr(argv[i], '=');
		if (!value) {
			life = atoi(argv[i]);	/* as selftests/rmcd/run.sh starts lives */
			continue;
		}
		*strchr(argv[i], '=') = '\0';
		policy = !strcmp(argv[i], "policy") ? rmc_domain_policy(value + 1) : 0;
		if (!strcmp(argv[i], "mode"))
			mode = value + 1;
		else if (!strcmp(argv[i], "policy") && policy >= 0)
			options.policy = (unsigned int)policy;
		else if (set(argv[i], (unsigned int)atoi(value + 1))) {
			printf("no option %s, or no such value\n", argv[i]);
			return 2;
		}
	}
	team = rmc_team_open(0, strcmp(mode, "offer") ? 4096 : OFFERED);
	if (!team) {
		printf("%s\n", rmc_errmsg());
		return 1;
	}
	CHECK(cores && cores <= CORES_MAX && messages);
	options.first_nid = (unsigned int)rmc_team_nid(team, 0);
	options.nodes = (unsigned int)team->nodes;
	options.max_answer = strcmp(mode, "offer") ? 0 : 64;
	domain = rmc_domain_open_with(team->ctx, &options);
	if (!domain) {
		printf("member %d: %s\n", team->self, rmc_errmsg());
		return 1;
	}
	counters = (size_t)team->nodes * cores * messages;
	asked = (uint8_t *)calloc(counters, 1);
	answered = (uint8_t *)calloc(counters, 1);
	memset(t, 0, sizeof(t));
	if (!strcmp(mode, "serve"))
		served(t);
	else if (!strcmp(mode, "offer"))
		offers(t);
	else if (!strcmp(mode, "rejoin"))
		rejoin(t, life);
	else
		all(t);
	OK(rmc_team_barrier(team));
	for (i = 0; i < CORES_MAX; i++) {
		rmc_core_close(t[i].core);
		free(t[i].buf);
	}
	free(asked);
	free(answered);
	rmc_domain_close(domain);
	printf("member %d: ok\n", team->self);
	rmc_team_close(team);
	return 0;
}
