/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * One member of a team that tests messages, receive buffers and collectives:
 * prog_msg all | orphan | rejoin LIFE. Prints "member N: ok", or the failed check and fails.
 * In rejoin, the last member ends in the middle of incarnation 1 and is started again.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "member.h"

#define CHUNK		256
#define HERD_SIZE	200
#define CALLS		60
#define BIG		(3 << 20)
#define COUNT		100

static uint64_t coll_at, herd_at, data_at;

static void messages(struct rmc_msg *m)
{
	uint8_t *data = (uint8_t *)team->seg + data_at, *in = (uint8_t *)malloc(BIG);
	int to = rmc_team_nid(team, team->self + 1), from = rmc_team_nid(team, team->self - 1);
	size_t sizes[] = { 0, 1, 59, 60, 61, 1023, 1024, 1025, BIG }, i, len;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(data, team->self + (int)i + 1, sizes[i]);
		OK(rmc_msg_send(m, to, data, sizes[i], RMC_MSG_ASYNC));
		OK(rmc_msg_recv(m, i & 1 ? from : RMC_MSG_ANY, in, BIG, &len, NULL, 0));
		CHECK(len == sizes[i]);
		CHECK(!len || (in[0] == (team->self + team->nodes - 1) % team->nodes + (int)i + 1 &&
			       !memcmp(in, in + 1, len - 1)));
		OK(rmc_msg_flush(m, to));
	}
	free(in);
}

/* Cores answer with the request's bytes, each increased by one. */
static void *serve(void *arg)
{
	struct rmc_herd_core *core = (struct rmc_herd_core *)arg;
	struct rmc_herd_request r;
	uint8_t out[HERD_SIZE];
	int left = CALLS / 2 * (team->nodes - 1), n;
	size_t i;

	while (left) {
		n = rmc_herd_poll(core, &r);
		CHECK(n >= 0);
		if (!n)
			continue;
		for (i = 0; i < r.len; i++)
			out[i] = ((const uint8_t *)r.data)[i] + 1;
		OK(rmc_herd_reply(core, &r, out, r.len));
		left--;
	}
	return NULL;
}

static void herd(void)
{
	struct rmc_herd_options o = {
		.at = herd_at, .server = team->nodes - 1, .cores = 2, .slots = 7,
		.size = HERD_SIZE,
	};
	uint8_t request[HERD_SIZE], answer[HERD_SIZE];
	struct rmc_herd *h = rmc_herd_open(team, &o);
	pthread_t thread[2];
	int i, j, ticket;
	size_t len, n;

	CHECK(h);
	OK(rmc_team_barrier(team));
	if (team->self == o.server) {
		for (i = 0; i < 2; i++)
			pthread_create(&thread[i], NULL, serve, rmc_herd_core(h, (unsigned int)i));
		for (i = 0; i < 2; i++)
			pthread_join(thread[i], NULL);
		CHECK(!rmc_herd_core(h, 2));
	} else {
		CHECK(!rmc_herd_core(h, 0));
		for (i = 0; i < CALLS; i++) {
			n = (size_t)(i * 37) % (HERD_SIZE + 1);	/* long and short ones */
			memset(request, team->self + i, n);
			OK(rmc_herd_post(h, i & 1, request, n, &ticket));
			if (n)
				CHECK(rmc_herd_wait(h, ticket, answer, n - 1, &len) == -EMSGSIZE);
			OK(rmc_herd_wait(h, ticket, answer, HERD_SIZE, &len));
			CHECK(len == n);
			for (j = 0; j < (int)n; j++)
				CHECK(answer[j] == (uint8_t)(request[j] + 1));
		}
		CHECK(rmc_herd_post(h, 9, request, 1, &ticket) == -EINVAL);
		CHECK(rmc_herd_post(h, 0, request, HERD_SIZE + 1, &ticket) == -EMSGSIZE);
		CHECK(rmc_herd_wait(h, 0, answer, 1, &len) == -EINVAL);
	}
	OK(rmc_team_barrier(team));
	rmc_herd_close(h);
}

static void collectives(struct rmc_coll *c)
{
	uint64_t a[COUNT], b[COUNT], *in, *out;
	int n = team->nodes, i, j, round;
	double d[COUNT], e[COUNT];

	for (round = 0; round < 5; round++) {
		int root = round % n;

		for (i = 0; i < COUNT; i++)
			a[i] = team->self == root ? (uint64_t)(i + round) : 0;
		OK(rmc_coll_bcast(c, root, a, sizeof(a) - 1));
		for (i = 0; i < COUNT; i++)
			CHECK(a[i] == (uint64_t)(i + round));
		for (i = 0; i < COUNT; i++) {
			a[i] = (uint64_t)((team->self + 1) * (i + 1));
			d[i] = 1.0 / (team->self + 1 + i);
		}
		memset(b, 0, sizeof(b));
		OK(rmc_coll_reduce(c, root, a, b, COUNT, RMC_U64, RMC_SUM));
		for (i = 0; i < COUNT; i++)
			CHECK(b[i] == (root == team->self ? (uint64_t)(i + 1) * n * (n + 1) / 2 : 0));
		OK(rmc_coll_allreduce(c, a, b, COUNT, RMC_U64, RMC_MAX));
		CHECK(b[9] == 10ULL * n);
		OK(rmc_coll_allreduce(c, a, a, COUNT, RMC_U64, RMC_MIN));
		CHECK(a[COUNT - 1] == COUNT);
		OK(rmc_coll_allreduce(c, d, e, COUNT, RMC_DOUBLE, RMC_MIN));
		CHECK(e[5] == 1.0 / (n + 5));
		OK(rmc_coll_allreduce(c, d, e, COUNT, RMC_DOUBLE, RMC_SUM));
		memcpy(d, e, sizeof(d));
		OK(rmc_coll_bcast(c, 0, d, sizeof(d)));
		CHECK(!memcmp(d, e, sizeof(d)));	/* bitwise equal on all members */
	}
	in = (uint64_t *)malloc(8 * COUNT * (size_t)n);
	out = (uint64_t *)malloc(8 * COUNT * (size_t)n);
	for (i = 0; i < n; i++)
		for (j = 0; j < COUNT; j++)
			in[i * COUNT + j] = (uint64_t)(team->self * 1000 + i) * 1000 + (uint64_t)j;
	OK(rmc_coll_alltoall(c, in, out, 8 * COUNT));
	for (i = 0; i < n; i++)
		for (j = 0; j < COUNT; j++)
			CHECK(out[i * COUNT + j] ==
			      (uint64_t)(i * 1000 + team->self) * 1000 + (uint64_t)j);
	/* the names of version 1.0 */
	memset(out, 0, 8 * COUNT * (size_t)n);
	OK(rmc_alltoall(c, in, out, 8 * COUNT));
	i = n - 1;
	CHECK(out[i * COUNT + 1] == (uint64_t)(i * 1000 + team->self) * 1000 + 1);
	a[0] = (uint64_t)team->self + 1;
	a[1] = 5;
	memset(b, 0, sizeof(b));
	OK(rmc_reduce(c, n - 1, a, b, 2, RMC_U64, RMC_SUM));
	CHECK(b[0] == (team->self == n - 1 ? (uint64_t)n * (n + 1) / 2 : 0) && !b[2]);
	OK(rmc_allreduce(c, a, b, 2, RMC_U64, RMC_MAX));
	CHECK(b[0] == (uint64_t)n && b[1] == 5);
	OK(rmc_bcast(c, n - 1, a, 8));
	CHECK(a[0] == (uint64_t)n);
	OK(rmc_coll_alltoall(c, in, out, 0));
	OK(rmc_coll_bcast(c, 0, NULL, 0));
	CHECK(rmc_coll_bcast(c, n, a, 8) == -EINVAL);
	free(in);
	free(out);
}

/* The last member dies; each operation that waits for it reports that. */
static void orphan(struct rmc_msg *m, struct rmc_coll *c)
{
	struct rmc_herd_options o = {
		.at = herd_at, .server = team->nodes - 1, .cores = 1, .slots = 8, .size = 10,
	};
	struct rmc_herd *h = rmc_herd_open(team, &o);
	int dead = rmc_team_nid(team, -1), err;
	uint64_t a = 1, b;
	char buf[100];

	CHECK(h);
	OK(rmc_team_barrier(team));
	if (team->self == team->nodes - 1) {
		usleep(300000);
		_exit(0);
	}
	err = rmc_herd_call(h, 0, "hello", 5, buf, sizeof(buf), NULL);
	CHECK(err == RMC_S_NODE_DOWN || err == RMC_S_BAD_CONTEXT);
	err = rmc_msg_recv(m, dead, buf, sizeof(buf), NULL, NULL, 0);
	CHECK(err == RMC_S_NODE_DOWN || err == RMC_S_BAD_CONTEXT);
	err = rmc_coll_allreduce(c, &a, &b, 1, RMC_U64, RMC_SUM);
	CHECK(err == RMC_S_NODE_DOWN || err == RMC_S_BAD_CONTEXT);
	CHECK(rmc_coll_bcast(c, 0, buf, 1) == err);
	rmc_herd_close(h);
}

static int gone(int status)
{
	return status == RMC_S_NODE_DOWN || status == RMC_S_BAD_CONTEXT;
}

#define OLD	200	/* messages of incarnation 1; survivors receive only the first */
#define NEW	300

static void say(struct rmc_msg *m, int nid, int life, int i)
{
	uint8_t data[400];

	memset(data, life * 100 + i % 50, sizeof(data));
	memcpy(data, &i, sizeof(i));
	OK(rmc_msg_send(m, nid, data, sizeof(i) + (size_t)i, 0));
}

static void hear(struct rmc_msg *m, int nid, int life, int i)
{
	uint8_t data[400];
	size_t len, k;
	int got;

	OK(rmc_msg_recv(m, nid, data, sizeof(data), &len, NULL, 0));
	memcpy(&got, data, sizeof(got));
	CHECK(got == i && len == sizeof(i) + (size_t)i);
	for (k = sizeof(i); k < len; k++)
		CHECK(data[k] == (uint8_t)(life * 100 + i % 50));
}

/* Incarnation 1 ends with messages received, messages in flight, and half a message. */
static void first_life(struct rmc_msg *m)
{
	int i, peer;

	for (peer = 0; peer < team->nodes - 1; peer++)
		for (i = 0; i < 5; i++)
			say(m, rmc_team_nid(team, peer), 1, i);
	OK(rmc_team_barrier(team));
	for (i = 5; i < OLD; i++) {
		uint8_t data[100] = { 0xdd };

		for (peer = 0; peer < team->nodes - 1; peer++)
			rmc_msg_send(m, rmc_team_nid(team, peer), data, sizeof(data),
				     RMC_MSG_DONTWAIT);
	}
	_exit(0);
}

/*
 * The last member dies in incarnation 1. Incarnation 2 is admitted by all others, which keep
 * their state among each other, and ends in good order.
 */
static void rejoin(struct rmc_msg *m, int life)
{
	int last = rmc_team_nid(team, -1), i, err = 0, peer;
	uint8_t data[100] = { 0xee };

	CHECK(!!team->rejoined == (life > 1));
	if (team->self == team->nodes - 1) {
		if (life == 1)
			first_life(m);
		for (i = 0; i < NEW; i++)
			for (peer = 0; peer < team->nodes - 1; peer++) {
				say(m, rmc_team_nid(team, peer), life, i);
				hear(m, rmc_team_nid(team, peer), life + 10 + peer, i);
			}
	} else {
		for (i = 0; i < 5; i++)
			hear(m, last, 1, i);
		OK(rmc_team_barrier(team));
		/*
		 * messages sent from here on are for the earlier incarnation and must not be
		 * delivered
		 */
		while (!gone(err)) {
			err = rmc_msg_send(m, last, data, sizeof(data), RMC_MSG_DONTWAIT);
			CHECK(!err || err == -EAGAIN || gone(err));
			usleep(err == -EAGAIN ? 1000 : 0);
		}
		CHECK(gone(rmc_team_barrier(team)));
		OK(rmc_team_rejoin(team, 75000));
		CHECK(!team->rejoined);
		OK(rmc_msg_rejoin(m, last, 0));
		for (i = 0; i < NEW; i++) {
			say(m, last, 2 + 10 + team->self, i);
			hear(m, last, 2, i);
			/* survivors also exchange messages among each other */
			if (team->nodes > 2) {
				int n = team->nodes - 1;

				say(m, rmc_team_nid(team, (team->self + 1) % n), 50, i);
				hear(m, rmc_team_nid(team, (team->self + n - 1) % n), 50, i);
			}
		}
	}
	for (i = 0; i < 20; i++)
		OK(rmc_team_barrier(team));
}

int main(int argc, char **argv)
{
	const char *n = getenv("RMC_NODES");
	int nodes = n ? atoi(n) : 1;
	struct rmc_msg *m;
	struct rmc_coll *c;

	coll_at = rmc_msg_bytes(nodes, RMC_MSG_CELLS);
	herd_at = coll_at + rmc_coll_bytes(nodes, CHUNK);
	data_at = herd_at + 64 * 1024;
	team = rmc_team_open(0, data_at + BIG);
	if (!team) {
		printf("%s\n", rmc_errmsg());
		return 1;
	}
	m = rmc_msg_open(team, 0);
	CHECK(m);
	if (argc > 2 && !strcmp(argv[1], "rejoin")) {
		rejoin(m, atoi(argv[2]));
		rmc_msg_close(m);
		printf("member %d: ok\n", team->self);
		rmc_team_close(team);
		return 0;
	}
	c = rmc_coll_open(team, coll_at, CHUNK);
	CHECK(c);
	if (argc > 1 && !strcmp(argv[1], "orphan")) {
		orphan(m, c);
		rmc_coll_close(c);
		rmc_msg_close(m);
		printf("member %d: reported\n", team->self);
		rmc_team_close(team);
		return 0;
	}
	messages(m);
	collectives(c);
	if (nodes > 1)
		herd();
	OK(rmc_team_barrier(team));
	rmc_coll_close(c);
	rmc_msg_close(m);
	printf("member %d: ok\n", team->self);
	rmc_team_close(team);
	return 0;
}
