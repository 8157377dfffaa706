/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The server of <rmc/latch.h>, request by request: beside a model; requests that come late or twice;
 * a neighbour that takes what it can, and sends what is none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/rmc.h>
#include "../../lib/sync/request.h"
#include "../tap.h"

#define NODES		4
#define FIRST		10
#define CLIENTS		3
#define HOLDS		4
#define LINE		64

static struct rmc_latch_server *server;

static void open_server(unsigned int holds)
{
	struct rmc_latch_server_options o = {
		.nodes = NODES, .first_nid = FIRST, .holds = holds, .clients = CLIENTS,
		.bytes = 1 << 20,
	};

	server = rmc_latch_server_open(&o);
	CHECK(server != NULL);
}

static struct latch_request request_of(enum latch_call call, unsigned int client, uint64_t object,
				       uint64_t token, int nid)
{
	struct latch_request q = {
		.magic = RMC_LATCH_MAGIC, .call = (uint16_t)call, .client = (uint16_t)client,
		.offset = object * LINE, .token = token, .nid = nid,
	};

	return q;
}

static struct latch_response answer;

/* enum latch_result, or -errno */
static int send(int node, const struct latch_request *q)
{
	int n = rmc_latch_serve(server, FIRST + node, q, sizeof(*q), &answer, sizeof(answer));

	CHECK(n == sizeof(answer) || n == -EINVAL);
	return n < 0 ? n : (int)answer.result;
}

static int ask(enum latch_call call, int node, unsigned int client, uint64_t object, uint64_t token)
{
	struct latch_request q = request_of(call, client, object, token, 0);

	return send(node, &q);
}

static int take(int node, unsigned int client, uint64_t object, uint64_t token, int dead)
{
	struct latch_request q = request_of(LATCH_TAKE, client, object, token, FIRST + dead);

	return send(node, &q);
}

static struct rmc_latch_server_stats stats(void)
{
	struct rmc_latch_server_stats st;

	rmc_latch_server_stats(server, &st);
	return st;
}

/* --- what it is for --- */

static void latches(void)
{
	unsigned int readers;

	open_server(HOLDS);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 1, 5), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 1, 0, 1, 5), LATCH_DONE);
	CHECK_EQ(ask(LATCH_EXCLUDE, 2, 0, 1, 5), LATCH_REFUSED);
	CHECK_EQ(answer.holder, -1);
	CHECK_EQ(ask(LATCH_EXCLUDE, 2, 0, 2, 6), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 1, 2, 5), LATCH_REFUSED);
	CHECK_EQ(answer.holder, FIRST + 2);
	CHECK_EQ(rmc_latch_server_holder(server, 2 * LINE, &readers), FIRST + 2);
	CHECK_EQ(readers, 0);
	CHECK_EQ(rmc_latch_server_holder(server, LINE, &readers), -1);
	CHECK_EQ(readers, 2);
	/* not beside another reader, but then */
	CHECK_EQ(ask(LATCH_UPGRADE, 0, 0, 1, 5), LATCH_REFUSED);
	CHECK_EQ(ask(LATCH_RELEASE, 1, 0, 1, 5), LATCH_DONE);
	CHECK_EQ(ask(LATCH_UPGRADE, 0, 0, 1, 5), LATCH_DONE);
	CHECK_EQ(ask(LATCH_UPGRADE, 0, 0, 1, 5), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 1, 0, 1, 6), LATCH_REFUSED);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 1, 5), LATCH_DONE);
	CHECK_EQ(ask(LATCH_RELEASE, 2, 0, 2, 6), LATCH_DONE);
	CHECK_EQ(ask(LATCH_UPGRADE, 0, 0, 1, 5), LATCH_ABSENT);
	CHECK_EQ(stats().holds, 0);
	CHECK_EQ(stats().objects, 0);
	CHECK_EQ(rmc_latch_server_holder(server, LINE, NULL), -1);
	rmc_latch_server_close(server);
}

/* --- late and doubled requests --- */

static void repeated(void)
{
	unsigned int i;

	open_server(HOLDS);
	/* again: it is held; once released it does not begin again */
	for (i = 0; i < 2; i++)
		CHECK_EQ(ask(LATCH_EXCLUDE, 0, 0, 1, 100), LATCH_DONE);
	CHECK_EQ(stats().holds, 1);
	for (i = 0; i < 2; i++)
		CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 1, 100), LATCH_DONE);
	CHECK_EQ(ask(LATCH_EXCLUDE, 0, 0, 1, 100), LATCH_LATE);
	CHECK_EQ(answer.newest, 100);
	/* a release that was there first */
	CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 1, 102), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 1, 102), LATCH_LATE);
	/* one that was overtaken is not late yet */
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 1, 101), LATCH_DONE);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 1, 101), LATCH_DONE);
	/* the window's ends: the newest one, and 63 before it */
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 1, 1000), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 2, 1000 - LATCH_WINDOW), LATCH_LATE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 2, 1001 - LATCH_WINDOW), LATCH_DONE);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 2, 1001 - LATCH_WINDOW), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 2, 1001 - LATCH_WINDOW), LATCH_LATE);
	/* what is held is found, however old its token is */
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 3, 1ULL << 40), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 1, 1000), LATCH_DONE);
	CHECK_EQ(ask(LATCH_UPGRADE, 0, 0, 1, 1000), LATCH_DONE);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 1, 1000), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 1, 1000), LATCH_LATE);
	/* what has ended stays so when the window moves */
	for (i = 0; i < 70; i++) {
		CHECK_EQ(ask(LATCH_SHARE, 1, 0, 1, 500 + i), LATCH_DONE);
		CHECK_EQ(ask(LATCH_RELEASE, 1, 0, 1, 500 + i), LATCH_DONE);
		CHECK_EQ(ask(LATCH_SHARE, 1, 0, 1, 500), LATCH_LATE);
	}
	/* and so does what was taken over, until nobody knows it any more */
	CHECK_EQ(ask(LATCH_SHARE, 3, 0, 1, 500), LATCH_DONE);
	CHECK_EQ(rmc_latch_server_dead(server, FIRST + 3), 0);
	for (i = 1; i < 70; i++) {
		CHECK_EQ(ask(LATCH_RELEASE, 3, 0, 1, 500 + i), LATCH_DONE);
		CHECK_EQ(ask(LATCH_RELEASE, 3, 0, 1, 500), i < LATCH_WINDOW ? LATCH_ABSENT : LATCH_LATE);
	}
	/* what was refused is not granted to a second copy that comes when the object is free */
	CHECK_EQ(ask(LATCH_EXCLUDE, 2, 0, 7, 1), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 2, 1, 7, 1), LATCH_REFUSED);
	CHECK_EQ(take(2, 2, 7, 1, 3), LATCH_ABSENT);
	CHECK_EQ(ask(LATCH_RELEASE, 2, 0, 7, 1), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 2, 1, 7, 1), LATCH_LATE);
	CHECK_EQ(take(2, 2, 7, 1, 2), LATCH_LATE);
	CHECK_EQ(ask(LATCH_SHARE, 2, 1, 7, 2), LATCH_DONE);
	CHECK_EQ(ask(LATCH_RELEASE, 2, 1, 7, 2), LATCH_DONE);
	/* another client has its own */
	CHECK_EQ(ask(LATCH_SHARE, 1, 1, 1, 1), LATCH_DONE);
	/* a token is of one object */
	CHECK_EQ(ask(LATCH_SHARE, 1, 1, 2, 1), -EINVAL);
	CHECK_EQ(ask(LATCH_RELEASE, 1, 1, 2, 1), -EINVAL);
	CHECK_EQ(stats().holds, 2);
	rmc_latch_server_close(server);
}

/* --- a dead node --- */

static void dead(void)
{
	uint64_t offset;

	open_server(HOLDS);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 1, 1), LATCH_DONE);
	CHECK_EQ(ask(LATCH_EXCLUDE, 0, 1, 2, 1), LATCH_DONE);
	CHECK_EQ(ask(LATCH_EXCLUDE, 0, 2, 3, 1), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 1, 0, 1, 1), LATCH_DONE);
	/* nobody takes anything from those who are not known to be dead */
	CHECK_EQ(take(2, 0, 2, 1, 0), LATCH_REFUSED);
	CHECK_EQ(take(2, 0, 9, 2, 0), LATCH_ABSENT);
	CHECK_EQ(rmc_latch_server_dead(server, FIRST), 2);
	CHECK_EQ(rmc_latch_server_dead(server, FIRST), 2);
	CHECK_EQ(rmc_latch_server_dead(server, FIRST - 1), -EINVAL);
	CHECK_EQ(rmc_latch_server_dead(server, FIRST + NODES), -EINVAL);
	/* what it has sent before its end gets nothing, and does not begin later */
	CHECK_EQ(ask(LATCH_EXCLUDE, 0, 1, 5, 2), LATCH_DEAD);
	CHECK_EQ(take(0, 1, 2, 3, 0), LATCH_DEAD);
	CHECK_EQ(rmc_latch_server_holder(server, 5 * LINE, NULL), -1);
	CHECK_EQ(rmc_latch_server_alive(server, FIRST - 1), -EINVAL);
	CHECK_EQ(rmc_latch_server_alive(server, FIRST + NODES), -EINVAL);
	CHECK_EQ(rmc_latch_server_alive(server, FIRST), 0);
	CHECK_EQ(ask(LATCH_EXCLUDE, 0, 1, 5, 2), LATCH_LATE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 1, 5, 4), LATCH_DONE);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 1, 5, 4), LATCH_DONE);
	CHECK_EQ(rmc_latch_server_dead(server, FIRST), 2);
	/* what it reads is free, what it writes is not */
	CHECK_EQ(ask(LATCH_UPGRADE, 1, 0, 1, 1), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 1, 1), LATCH_LATE);
	CHECK_EQ(ask(LATCH_SHARE, 2, 0, 2, 3), LATCH_LEFT);
	CHECK_EQ(answer.holder, FIRST);
	CHECK_EQ(rmc_latch_server_left(server, FIRST, 0, &offset), 0);
	CHECK_EQ(offset, 2 * LINE);
	CHECK_EQ(rmc_latch_server_left(server, FIRST, 1, &offset), 0);
	CHECK_EQ(offset, 3 * LINE);
	CHECK_EQ(rmc_latch_server_left(server, FIRST, 2, &offset), -ENOENT);
	CHECK_EQ(rmc_latch_server_left(server, FIRST + 1, 0, &offset), -ENOENT);
	CHECK_EQ(rmc_latch_server_left(server, FIRST + NODES, 0, &offset), -EINVAL);
	CHECK_EQ(take(2, 0, 2, 4, 1), LATCH_ABSENT);
	CHECK_EQ(take(2, 0, 2, 5, 0), LATCH_DONE);
	CHECK_EQ(take(2, 0, 2, 5, 0), LATCH_DONE);
	CHECK_EQ(take(3, 0, 2, 1, 0), LATCH_ABSENT);
	CHECK_EQ(rmc_latch_server_left(server, FIRST, 0, &offset), 0);
	CHECK_EQ(offset, 3 * LINE);
	/* the node lives: it may end what nobody has taken, and nothing else */
	CHECK_EQ(ask(LATCH_RELEASE, 0, 1, 2, 1), LATCH_ABSENT);
	CHECK_EQ(rmc_latch_server_holder(server, 2 * LINE, NULL), FIRST + 2);
	/* each time that it asks, and for a reader's hold as well */
	CHECK_EQ(ask(LATCH_RELEASE, 0, 1, 2, 1), LATCH_ABSENT);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 1, 1), LATCH_ABSENT);
	CHECK_EQ(ask(LATCH_EXCLUDE, 0, 1, 2, 1), LATCH_LATE);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 2, 3, 1), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 2, 0, 3, 6), LATCH_DONE);
	CHECK_EQ(stats().taken_over, 1);
	rmc_latch_server_close(server);
}

/* What a client has given up, perhaps in an earlier life */
static void own(void)
{
	open_server(2);
	CHECK_EQ(ask(LATCH_EXCLUDE, 0, 0, 1, 1), LATCH_DONE);
	CHECK_EQ(take(0, 1, 1, 1, 0), LATCH_ABSENT);	/* another client's */
	CHECK_EQ(take(0, 0, 1, 500, 0), LATCH_DONE);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 1, 1), LATCH_LATE);
	CHECK_EQ(rmc_latch_server_holder(server, LINE, NULL), FIRST);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 1, 500), LATCH_DONE);
	CHECK_EQ(take(0, 0, 1, 501, 0), LATCH_ABSENT);
	/* of a reader: nobody has written; two of them, when all holds are in use */
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 2, 502), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 2, 503), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 1, 0, 2, 1), LATCH_DONE);
	CHECK_EQ(take(0, 0, 2, 504, 0), LATCH_REFUSED);
	CHECK_EQ(stats().holds, 1);
	CHECK_EQ(ask(LATCH_RELEASE, 1, 0, 2, 1), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 2, 505), LATCH_DONE);
	CHECK_EQ(take(0, 0, 2, 506, 0), LATCH_DONE_CLEAN);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 2, 505), LATCH_LATE);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 2, 505), LATCH_ABSENT);
	CHECK_EQ(stats().holds, 1);
	rmc_latch_server_close(server);
}

/* --- a hostile neighbour --- */

static void neighbour(void)
{
	struct latch_request q;
	uint64_t token, i;

	open_server(HOLDS);
	CHECK_EQ(ask(LATCH_EXCLUDE, 0, 0, 1, 7), LATCH_DONE);
	/* it takes all it can: no more than its share, and nobody else's */
	for (i = token = 0; i < 200; i++) {
		int result = ask(i % 2 ? LATCH_SHARE : LATCH_EXCLUDE, 1, (unsigned int)(i % CLIENTS),
				 100 + i, ++token);

		CHECK_EQ(result, i < HOLDS ? LATCH_DONE : LATCH_FULL);
	}
	CHECK_EQ(stats().holds, 1 + HOLDS);
	CHECK_EQ(stats().objects, 1 + HOLDS);
	CHECK_EQ(stats().full, 200 - HOLDS);
	for (i = 0; i < HOLDS; i++)
		CHECK_EQ(ask(LATCH_SHARE, 2, 0, i == 0 ? 300 : 300 + i, 1 + i), LATCH_DONE);
	/* what is another one's it can neither end nor have */
	CHECK_EQ(ask(LATCH_RELEASE, 1, 0, 1, 7), LATCH_LATE);
	CHECK_EQ(take(1, 0, 1, 1000, 0), LATCH_REFUSED);
	CHECK_EQ(take(1, 0, 1, 1001, 1), LATCH_ABSENT);
	CHECK_EQ(ask(LATCH_UPGRADE, 1, 0, 1, 7), LATCH_ABSENT);
	CHECK_EQ(rmc_latch_server_holder(server, LINE, NULL), FIRST);
	/* the largest token ends its own client, and no other one */
	CHECK_EQ(ask(LATCH_RELEASE, 1, 0, 1, ~0ULL), LATCH_DONE);
	CHECK_EQ(ask(LATCH_SHARE, 1, 0, 1, 5000), LATCH_LATE);
	CHECK_EQ(answer.newest, ~0ULL);
	CHECK_EQ(ask(LATCH_RELEASE, 0, 0, 1, 7), LATCH_DONE);
	/* its holds end with it */
	CHECK_EQ(rmc_latch_server_dead(server, FIRST + 1), HOLDS / 2);
	CHECK_EQ(stats().holds, HOLDS / 2 + HOLDS);

	/* what is no request changes nothing */
#define WRONG(FIELD, VALUE) do {						\
		q = request_of(LATCH_SHARE, 0, 1, 8, 0);			\
		q.FIELD = (VALUE);						\
		CHECK_EQ(send(0, &q), -EINVAL);					\
	} while (0)
	WRONG(magic, RMC_READER_MAGIC);
	WRONG(call, LATCH_CALLS);
	WRONG(client, CLIENTS);
	WRONG(client, 0xffff);
	WRONG(offset, LINE + 8);
	WRONG(offset, 1 << 20);
	WRONG(offset, ~63ULL);
	WRONG(token, 0);
	WRONG(nid, FIRST);
	WRONG(reserved, 1);
	CHECK_EQ(take(0, 0, 1, 8, NODES), -EINVAL);
	CHECK_EQ(take(0, 0, 1, 8, -1), -EINVAL);
	CHECK_EQ(stats().invalid, 12);
	q = request_of(LATCH_SHARE, 0, 1, 8, 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(rmc_latch_serve(server, i == 2 ? FIRST + NODES : FIRST, &q,
					 sizeof(q) - (i == 0), &answer, sizeof(answer) - (i == 1)),
			 -EBADMSG);
	CHECK_EQ(rmc_latch_serve(server, FIRST - 1, &q, sizeof(q), &answer, sizeof(answer)),
		 -EBADMSG);
	CHECK_EQ(ask(LATCH_SHARE, 0, 0, 1, 8), LATCH_DONE);
	rmc_latch_server_close(server);
}

static void options(void)
{
	static const struct rmc_latch_server_options wrong[] = {
		{ .nodes = 0 }, { .nodes = RMC_NID_MAX + 2 }, { .nodes = 2, .first_nid = -1 },
		{ .nodes = 2, .first_nid = RMC_NID_MAX }, { .nodes = 1, .holds = 4097 },
		{ .nodes = 1, .clients = 257 },
	};
	struct rmc_latch_server_options o = { .nodes = 1, .first_nid = RMC_NID_MAX };
	unsigned int i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		errno = 0;
		CHECK(!rmc_latch_server_open(&wrong[i]) && errno == EINVAL);
	}
	server = rmc_latch_server_open(&o);
	CHECK(server != NULL);
	rmc_latch_server_close(server);
	rmc_latch_server_close(NULL);
}

/* --- beside a model --- */

#define OBJECTS		5
#define TOKENS		400
#define RUNS		100
#define STEPS		2000

struct model_hold {
	int node, client, used, writes, left;
	uint64_t object, token;
};

static struct model_hold held[NODES * HOLDS];
static uint8_t ended[NODES][CLIENTS][TOKENS], taken[NODES][CLIENTS][TOKENS];
static uint64_t newest[NODES][CLIENTS];
static int gone[NODES];
static uint64_t seed;

static unsigned int rnd(unsigned int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)(seed >> 33) % n;
}

static struct model_hold *model_find(int node, int client, uint64_t token)
{
	unsigned int i;

	for (i = 0; i < NODES * HOLDS; i++)
		if (held[i].used && held[i].node == node && held[i].client == client &&
		    held[i].token == token)
			return &held[i];
	return NULL;
}

static void model_count(uint64_t object, int *readers, struct model_hold **writer)
{
	unsigned int i;

	*readers = 0;
	*writer = NULL;
	for (i = 0; i < NODES * HOLDS; i++) {
		if (!held[i].used || held[i].object != object)
			continue;
		if (held[i].writes)
			*writer = &held[i];
		else
			++*readers;
	}
}

static void model_see(int node, int client, uint64_t token)
{
	if (token > newest[node][client])
		newest[node][client] = token;
}

static void model_end(struct model_hold *h)
{
	ended[h->node][h->client][h->token] = taken[h->node][h->client][h->token] = 1;
	model_see(h->node, h->client, h->token);
	h->used = 0;
}

static int model_begin(int node, const struct latch_request *q)
{
	unsigned int i, n = 0;

	for (i = 0; i < NODES * HOLDS; i++)
		n += held[i].used && held[i].node == node;
	if (n == HOLDS)
		return LATCH_FULL;
	for (i = 0; held[i].used; i++)	/* there is one, as each node has so many */
		;
	held[i] = (struct model_hold){
		node, q->client, 1, q->call != LATCH_SHARE, 0, q->offset / LINE, q->token,
	};
	return LATCH_DONE;
}

static int model_take(int node, const struct latch_request *q, int readers,
		      struct model_hold *writer)
{
	int victim = q->nid - FIRST, found = 0, wrote = 0;
	unsigned int i;

	if (victim != node) {
		if (!writer || writer->node != victim)
			return LATCH_ABSENT;
		if (!writer->left)
			return LATCH_REFUSED;
		if (model_begin(node, q) == LATCH_FULL)
			return LATCH_FULL;
		model_end(writer);
		return LATCH_DONE;
	}
	for (i = 0; i < NODES * HOLDS; i++) {
		if (!held[i].used || held[i].object != q->offset / LINE || held[i].node != node ||
		    held[i].client != q->client)
			continue;
		found = 1;
		wrote |= held[i].writes;
		readers -= !held[i].writes;
		model_end(&held[i]);
	}
	if (!found)
		return LATCH_ABSENT;
	if (readers)
		return LATCH_REFUSED;
	model_begin(node, q);
	return wrote ? LATCH_DONE : LATCH_DONE_CLEAN;
}

static int model_release(int node, const struct latch_request *q, struct model_hold *h)
{
	uint64_t top = newest[node][q->client];

	if (h)
		h->used = 0;
	else if (q->token <= top && top - q->token >= LATCH_WINDOW)
		return LATCH_LATE;
	ended[node][q->client][q->token] = 1;
	model_see(node, q->client, q->token);
	return !h && taken[node][q->client][q->token] ? LATCH_ABSENT : LATCH_DONE;
}

static int model_latch(int node, const struct latch_request *q, int readers,
		       struct model_hold *writer)
{
	if (gone[node])
		return LATCH_DEAD;
	if (q->call == LATCH_TAKE)
		return model_take(node, q, readers, writer);
	if (writer)
		return writer->left ? LATCH_LEFT : LATCH_REFUSED;
	if (readers && q->call == LATCH_EXCLUDE)
		return LATCH_REFUSED;
	return model_begin(node, q);
}

/* What the answer is to be */
static int model(int node, const struct latch_request *q)
{
	struct model_hold *h = model_find(node, q->client, q->token), *writer;
	uint64_t *top = &newest[node][q->client];
	int readers, result;

	if (h && h->object != q->offset / LINE)
		return -EINVAL;
	model_count(q->offset / LINE, &readers, &writer);
	if (q->call == LATCH_RELEASE)
		return model_release(node, q, h);
	if (q->call == LATCH_UPGRADE) {
		if (!h)
			return LATCH_ABSENT;
		if (!h->writes && readers > 1)
			return LATCH_REFUSED;
		h->writes = 1;
		return LATCH_DONE;
	}
	if (h)
		return LATCH_DONE;
	if (q->token <= *top && (*top - q->token >= LATCH_WINDOW || ended[node][q->client][q->token]))
		return LATCH_LATE;
	model_see(node, q->client, q->token);
	result = model_latch(node, q, readers, writer);
	ended[node][q->client][q->token] |= result > LATCH_DONE_CLEAN;
	return result;
}

static void model_dead(int node)
{
	unsigned int i;

	gone[node] = 1;
	for (i = 0; i < NODES * HOLDS; i++) {
		if (!held[i].used || held[i].node != node)
			continue;
		if (held[i].writes)
			held[i].left = 1;
		else
			model_end(&held[i]);
	}
}

static void compare_objects(void)
{
	struct model_hold *writer;
	unsigned int readers;
	uint64_t object;
	int n;

	for (object = 0; object < OBJECTS; object++) {
		model_count(object, &n, &writer);
		CHECK_EQ(rmc_latch_server_holder(server, object * LINE, &readers),
			 writer ? FIRST + writer->node : -1);
		CHECK_EQ(readers, n);
	}
}

static unsigned int seen[LATCH_DEAD + 1];	/* of each answer */

static void one_run(uint64_t run)
{
	struct latch_request q;
	unsigned int i;
	int node, want;
	uint64_t base;

	open_server(HOLDS);
	memset(held, 0, sizeof(held));
	memset(ended, 0, sizeof(ended));
	memset(taken, 0, sizeof(taken));
	memset(newest, 0, sizeof(newest));
	memset(gone, 0, sizeof(gone));
	for (i = 0; i < STEPS; i++) {
		node = (int)rnd(NODES);
		base = newest[node][0] > 80 ? newest[node][0] - 80 : 0;
		q = request_of((enum latch_call)rnd(LATCH_CALLS), rnd(CLIENTS), rnd(OBJECTS),
			       rnd(3) ? 1 + newest[node][0] + rnd(3) : 1 + base + rnd(90), 0);
		if (q.token >= TOKENS)
			q.token = 1 + rnd(TOKENS - 1);
		/* often one that is held */
		if (rnd(3) == 0 && held[rnd(NODES * HOLDS)].used) {
			struct model_hold *h = &held[rnd(NODES * HOLDS)];

			if (h->used) {
				node = h->node;
				q.client = (uint16_t)h->client;
				q.token = h->token;
				q.offset = h->object * LINE;
			}
		}
		if (q.call == LATCH_TAKE)
			q.nid = FIRST + (int)rnd(NODES);
		want = model(node, &q);
		if (want >= 0)
			seen[want]++;
		if (send(node, &q) != want) {
			printf("# run %lu, step %u: call %u, token %lu: %u for %d\n",
			       (unsigned long)run, i, q.call, (unsigned long)q.token, answer.result, want);
			CHECK(0);
			break;
		}
		if (rnd(50) == 0) {
			node = (int)rnd(NODES);
			model_dead(node);
			CHECK(rmc_latch_server_dead(server, FIRST + node) >= 0);
		}
		if (rnd(20) == 0) {
			node = (int)rnd(NODES);
			gone[node] = 0;
			CHECK_EQ(rmc_latch_server_alive(server, FIRST + node), 0);
		}
		compare_objects();
	}
	rmc_latch_server_close(server);
}

static void beside_a_model(void)
{
	unsigned int i;
	uint64_t run;

	for (run = 0; run < RUNS; run++) {
		seed = 0x9e3779b97f4a7c15ULL * (run + 1);
		one_run(run);
	}
	for (i = 0; i <= LATCH_DEAD; i++)
		CHECK(seen[i] > 20);
}

/* Requests with wrong fields among right ones: nobody gets more than its share, and all ends. */
static void random_requests(void)
{
	struct latch_request q;
	unsigned int i, c, byte;
	uint64_t offset;
	int node, left;

	seed = 99;
	open_server(HOLDS);
	for (i = 0; i < RUNS * STEPS; i++) {
		node = (int)rnd(NODES);
		q = request_of((enum latch_call)rnd(LATCH_CALLS), rnd(CLIENTS), rnd(OBJECTS),
			       1 + i / 16 + rnd(16), 0);
		if (q.call == LATCH_TAKE)
			q.nid = FIRST + (int)rnd(NODES);
		for (c = rnd(4); c > 1; c--) {
			byte = rnd(sizeof(q));
			/* a token that is far ahead would end all of its client */
			if (byte / 8 != offsetof(struct latch_request, token) / 8)
				((uint8_t *)&q)[byte] ^= (uint8_t)(1U << rnd(8));
		}
		send(node, &q);
		if (i % 64 == 0)
			rmc_latch_server_dead(server, FIRST + (int)rnd(NODES));
		if (i % 32 == 0)
			rmc_latch_server_alive(server, FIRST + (int)rnd(NODES));
		CHECK(stats().holds <= NODES * HOLDS && stats().objects <= stats().holds);
	}
	CHECK(stats().invalid > RUNS && stats().granted > RUNS && stats().late > RUNS);
	/* what is left when all nodes are dead is what they were writing */
	for (node = left = 0; node < NODES; node++)
		left += rmc_latch_server_dead(server, FIRST + node);
	CHECK_EQ(stats().holds, left);
	CHECK_EQ(stats().objects, left);
	for (node = 0; node < NODES; node++)
		for (i = 0; !rmc_latch_server_left(server, FIRST + node, i, &offset); i++)
			CHECK_EQ(rmc_latch_server_holder(server, offset, NULL), FIRST + node);
	rmc_latch_server_close(server);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "latches of readers and writers", latches },
		{ "requests that come twice or late have no further effect", repeated },
		{ "a dead node: readers end, writers are taken over", dead },
		{ "what a client has given up is its own", own },
		{ "a hostile neighbour has its own share, and no more", neighbour },
		{ "options that cannot be", options },
		{ "as a model answers", beside_a_model },
		{ "requests with wrong fields", random_requests },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
