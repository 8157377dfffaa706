/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Members that do not answer in time, revoke the team, or restart: prog_limits MODE [LIFE].
 * Prints "member N: ok", or the failed check and fails. The caller ends a program that
 * hangs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "member.h"

#define SHORT_MS	150
#define LONG_MS		40000
#define PATIENCE_MS	15000
#define LENGTH		64
#define WINDOW		3
#define CHUNK		64
/* offsets in a member's line of the team: lib/team.c */
#define LIFE_AT		8
#define REVOKED_AT	40

static uint64_t *buf;		/* registered */
static uint64_t msg_at = 4096, coll_at, kv_at, herd_at;

/* The application's part of the segment begins with one word per member, its flag. */
static void raise_flag(int member, uint64_t value)
{
	buf[0] = value;
	OK(rmc_write(team->qp, rmc_team_nid(team, member),
		     team->offset + 8 * (uint64_t)team->self, buf, 8));
}

static uint64_t flag(int member)
{
	return rmc_load_acquire((uint64_t *)team->seg + member);
}

static void await_flag(int member, uint64_t value)
{
	while (flag(member) < value)
		usleep(1000);
}

static int flag_within(int member, uint64_t value, int limit_ms)
{
	while (flag(member) < value && limit_ms-- > 0)
		usleep(1000);
	return flag(member) >= value;
}

/* True if the flags of all others reach value in time. */
static int all_flags(uint64_t value)
{
	int m, all = 1;

	for (m = 0; m < team->nodes; m++)
		all &= m == team->self || flag_within(m, value, PATIENCE_MS);
	return all;
}

/* A barrier from which @member returns when all others have left it */
static void barrier_before(int member)
{
	OK(rmc_team_barrier(team));
	if (team->self == member)
		CHECK(all_flags(1));
	else
		raise_flag(member, 1);
}

static int gone(int status)
{
	return status == RMC_S_NODE_DOWN || status == RMC_S_BAD_CONTEXT;
}

/* --- barriers --- */

/* A late member does not end a barrier: after a timeout, the same barrier goes on. */
static void barrier(void)
{
	int i, err, late = 0;

	for (i = 1; i <= 3; i++) {
		if (team->self == 1) {
			usleep(4 * SHORT_MS * 1000);
			raise_flag(0, (uint64_t)i);
			OK(rmc_team_barrier(team));
			continue;
		}
		while ((err = rmc_team_barrier_for(team, i == 2 ? RMC_TEAM_SLEEP : 0, SHORT_MS)) ==
		       -ETIMEDOUT)
			late++;
		OK(err);
		CHECK(flag(1) >= (uint64_t)i);
	}
	CHECK(team->self || late >= 3);
	for (i = 0; i < 50; i++)
		OK(rmc_team_barrier_for(team, 0, LONG_MS));
}

static void go_on(void)
{
	int i;

	OK(rmc_team_rejoin(team, LONG_MS));
	CHECK(!rmc_team_revoked(team));
	for (i = 0; i < 20; i++)
		OK(rmc_team_barrier(team));
}

/* The last member revokes the team and stays alive. */
static void give_up(void)
{
	int round;

	/* all members have opened the team: a later one would join after the revocation */
	OK(rmc_team_barrier(team));
	for (round = 0; round < 3; round++) {
		if (team->self == team->nodes - 1) {
			usleep(SHORT_MS * 1000);
			OK(rmc_team_revoke(team));
			CHECK(rmc_team_revoked(team));
		} else {
			CHECK(rmc_team_barrier_with(team, round == 1 ? RMC_TEAM_SLEEP : 0) ==
			      -ECONNABORTED);
		}
		CHECK(rmc_team_barrier(team) == -ECONNABORTED);
		go_on();
	}
}

/* The revocation is written to one member only. It passes it on, even if it never rejoins. */
static void spread(void)
{
	barrier_before(team->nodes - 1);
	if (team->self == team->nodes - 1) {
		buf[0] = team->view;
		OK(rmc_write(team->qp, rmc_team_nid(team, 0), 64 * (uint64_t)team->self + REVOKED_AT,
			     buf, 8));
		while (!rmc_team_revoked(team))
			usleep(1000);
	} else {
		CHECK(rmc_team_barrier(team) == -ECONNABORTED);
	}
	/* a rejoin passes it on as well: member 0 waits until all others have it */
	if (team->self)
		raise_flag(0, 2);
	else
		CHECK(all_flags(2));
	go_on();
}

/* A restarted member does not know of an earlier revocation, and joins nevertheless. */
static void era(int life)
{
	int last = team->nodes - 1, err = -ETIMEDOUT;

	CHECK(!!team->rejoined == (life > 1));
	if (life == 1) {
		barrier_before(0);
		if (!team->self)
			OK(rmc_team_revoke(team));
		CHECK(rmc_team_barrier(team) == -ECONNABORTED);
		go_on();
		if (team->self == last)
			_exit(0);
		while (err == -ETIMEDOUT)
			err = rmc_team_barrier_for(team, 0, SHORT_MS);
		CHECK(gone(err));
		OK(rmc_team_rejoin(team, LONG_MS));
	}
	CHECK(!rmc_team_revoked(team));
	for (err = 0; err < 20; err++)
		OK(rmc_team_barrier(team));
}

/* Wait until a member's segment is that of another incarnation than this. */
static void await_other_life(int member, uint64_t was)
{
	int err;

	do {
		usleep(1000);
		err = rmc_read(team->qp, rmc_team_nid(team, member),
			       64 * (uint64_t)member + LIFE_AT, buf, 8);
	} while (gone(err) || (!err && buf[0] == was));
	OK(err);
}

static void await_word(const uint64_t *word, uint64_t value)
{
	while (rmc_load_acquire(word) < value)
		usleep(1000);
}

/*
 * A restarted member 1 of two that hangs: it has a segment with its nonce, but does not
 * report to any member. Later it reports to member 0, but to an earlier incarnation of it.
 */
static int stuck(void)
{
	uint64_t *seg = (uint64_t *)aligned_alloc(4096, 3 * 4096), *out = seg + 1024;
	struct rmc_ctx *ctx = rmc_open(0, -1);
	struct rmc_qp *qp = ctx ? rmc_qp_create(ctx, 0) : NULL;
	const uint64_t *flag_of_0 = seg + 512;
	int id;

	if (!seg || !qp)
		return 1;
	memset(seg, 0, 3 * 4096);
	seg[64 / 8 + LIFE_AT / 8] = 4711;
	id = rmc_buf_register(ctx, out, 4096);
	if (id < 0 || rmc_seg_register(ctx, seg, 2 * 4096, 0))
		return 1;
	await_word(flag_of_0, 1);
	if (rmc_read(qp, 0, LIFE_AT, &out[2], 8))
		return 1;
	out[0] = 1;			/* round, own nonce, nonce of member 0 */
	out[1] = 4711;
	out[2]--;
	if (rmc_write(qp, 0, 64, out, 24) || rmc_write(qp, 0, 4096 + 8, out, 8))
		return 1;
	await_word(flag_of_0, 2);
	rmc_buf_unregister(ctx, id);
	rmc_close(ctx);
	free(seg);
	return 0;
}

/*
 * A program that has not reported to the survivor is not a member: the known incarnation is
 * still lost, and its successor may join later.
 */
static void newcomer(int life)
{
	uint64_t step;
	int i;

	if (life == 1) {
		OK(rmc_team_barrier(team));
		if (team->self)
			_exit(0);
		await_other_life(1, team->met[1]);
		for (step = 1; step <= 2; step++) {
			CHECK(rmc_team_rejoin(team, 2 * SHORT_MS) == -ETIMEDOUT);
			CHECK(rmc_team_barrier_for(team, 0, 10 * SHORT_MS) == RMC_S_BAD_CONTEXT);
			raise_flag(1, step);
			if (step == 1)
				CHECK(flag_within(1, 1, PATIENCE_MS));
		}
		OK(rmc_team_rejoin(team, LONG_MS));
	}
	for (i = 0; i < 20; i++)
		OK(rmc_team_barrier(team));
}

/* Invalid node numbers are reported, and no team is opened. */
static int numbers(void)
{
	static const char *const wrong[][2] = {
		{ "2", "2" }, { "2", "15" }, { "2", "-1" }, { "2", "" }, { "2", "1x" },
		{ "17", "0" }, { "17", "16" }, { "-1", "0" }, { "two", "0" },
	};
	struct rmc_team_options o = { .numa_node = -1, .timeout_ms = SHORT_MS };
	struct rmc_team *t;
	unsigned int i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("RMC_NODES", wrong[i][0], 1);
		setenv("RMC_NODE", wrong[i][1], 1);
		errno = 0;
		t = rmc_team_open_with(&o, 4096);
		if (t || (errno != EINVAL && strcmp(wrong[i][1], "16"))) {
			printf("RMC_NODES=%s RMC_NODE=%s: line %d: not true: refused: %s\n",
			       wrong[i][0], wrong[i][1], __LINE__, rmc_errmsg());
			return 1;
		}
	}
	printf("member 0: ok\n");
	return 0;
}

/* --- collectives --- */

static void collective(void)
{
	struct rmc_coll *c = rmc_coll_open(team, coll_at, CHUNK);
	uint64_t in[20] = { 1 }, out[20];
	int err;

	CHECK(c);
	OK(rmc_coll_allreduce(c, in, out, 20, RMC_U64, RMC_SUM));
	if (team->self == team->nodes - 1) {
		/* does not take part until the team is revoked */
		while (!rmc_team_revoked(team))
			usleep(1000);
		CHECK(rmc_coll_allreduce(c, in, out, 20, RMC_U64, RMC_SUM) == -ECONNABORTED);
	} else {
		if (!team->self)
			rmc_coll_set_timeout(c, SHORT_MS);
		err = rmc_coll_allreduce(c, in, out, 20, RMC_U64, RMC_SUM);
		CHECK(err == (team->self ? -ECONNABORTED : -ETIMEDOUT));
		CHECK(rmc_coll_bcast(c, 0, in, 8) == -ECONNABORTED);
	}
	go_on();
	/* the members' progress in this one differs, so it stays unusable */
	CHECK(rmc_coll_allreduce(c, in, out, 20, RMC_U64, RMC_SUM) == -ECONNABORTED);
	rmc_coll_close(c);
	/* two chunks per member are a little more than 2^64 bytes */
	CHECK(!rmc_coll_open(team, coll_at, (1ULL << 63) + CHUNK) && errno == EINVAL);
	c = rmc_coll_open(team, coll_at, CHUNK);
	CHECK(c);
	OK(rmc_coll_allreduce(c, in, out, 20, RMC_U64, RMC_SUM));
	CHECK(out[0] == (uint64_t)team->nodes);
	OK(rmc_team_barrier(team));
	rmc_coll_close(c);
}

/* --- calls --- */

static unsigned int handled;

static int echo(void *arg, int nid, const void *request, size_t len, void *response, size_t size)
{
	(void)arg;
	(void)nid;
	CHECK(len <= size);
	memcpy(response, request, len);
	handled++;
	return (int)len;
}

static struct rmc_rpc *open_calls(struct rmc_msg **m)
{
	struct rmc_rpc_options o = {
		.max = LENGTH, .window = WINDOW, .nodes = team->nodes,
		.first_nid = rmc_team_nid(team, 0), .qp = team->qp, .handler = echo,
	};
	struct rmc_msg_options mo;
	struct rmc_rpc *r;

	rmc_msg_defaults(&mo);
	mo.at = msg_at;
	mo.cells = rmc_rpc_cells(LENGTH, WINDOW);
	*m = rmc_msg_open_with(team, &mo);
	CHECK(*m);
	r = rmc_rpc_open(*m, &o);
	CHECK(r);
	OK(rmc_team_barrier(team));
	return r;
}

static void one_call(struct rmc_rpc *r, uint64_t what)
{
	uint64_t response = 0;
	size_t got = 0;

	OK(rmc_rpc_call(r, rmc_team_nid(team, 1), &what, sizeof(what), &response,
			sizeof(response), &got));
	CHECK(got == sizeof(response) && response == what);
}

static void calls(void)
{
	uint64_t late[WINDOW + 2], what = 7;
	int i, ticket, result, failed;
	struct rmc_msg *m;
	struct rmc_rpc *r = open_calls(&m);

	if (team->self) {
		/* is alive, but does not serve */
		await_flag(0, 1);
		while (flag(0) < 2) {
			CHECK(rmc_rpc_progress(r) >= 0);
			usleep(100);
		}
		/* calls that timed out or were cancelled are served, too */
		CHECK(handled == WINDOW + 1 + 50);
	} else {
		memset(late, 0xaa, sizeof(late));
		OK(rmc_rpc_cancel(r, rmc_rpc_post(r, rmc_team_nid(team, 1), &what, sizeof(what),
						  &late[0], 8)));
		rmc_rpc_set_timeout(r, SHORT_MS);
		ticket = rmc_rpc_post(r, rmc_team_nid(team, 1), &what, sizeof(what), &late[1], 8);
		CHECK(ticket >= 0);
		while (!(result = 0, failed = 1, i = rmc_rpc_poll(r, ticket, &result, &failed)))
			;
		CHECK(i == 1 && result == -ETIMEDOUT && !failed);
		CHECK(rmc_rpc_poll(r, ticket, &result, &failed) == -EINVAL);
		CHECK(rmc_rpc_cancel(r, ticket) == -EINVAL);
		for (i = 2; i < WINDOW + 2; i++)
			CHECK(rmc_rpc_call(r, rmc_team_nid(team, 1), &what, sizeof(what), &late[i],
					   8, NULL) == -ETIMEDOUT);
		/* they fill the window, so no call blocks in a send */
		CHECK(rmc_rpc_post(r, rmc_team_nid(team, 1), &what, sizeof(what), late, 8) ==
		      -EAGAIN);
		raise_flag(1, 1);
		rmc_rpc_set_timeout(r, LONG_MS);
		for (i = 0; i < 50; i++)
			one_call(r, 100 + (uint64_t)i);
		one_call(r, 1);
		for (i = 0; i < WINDOW + 2; i++)
			CHECK(late[i] == 0xaaaaaaaaaaaaaaaaULL);
		raise_flag(1, 2);
	}
	OK(rmc_team_barrier(team));
	rmc_rpc_close(r);
	rmc_msg_close(m);
}

/* At most as many requests of a peer are served as the caller asks for. */
static void budget(void)
{
	uint64_t what = 7, response[WINDOW];
	int i, ticket[WINDOW], result, failed;
	struct rmc_msg *m;
	struct rmc_rpc *r = open_calls(&m);

	if (team->self) {
		for (i = 0; i < WINDOW; i++) {
			ticket[i] = rmc_rpc_post(r, rmc_team_nid(team, 0), &what, sizeof(what),
						 &response[i], 8);
			CHECK(ticket[i] >= 0);
		}
		OK(rmc_msg_flush(m, rmc_team_nid(team, 0)));
		raise_flag(0, 1);
		for (i = 0; i < WINDOW; i++) {
			while (!rmc_rpc_poll(r, ticket[i], &result, &failed))
				;
			CHECK(result == 8 && !failed && response[i] == what);
		}
	} else {
		await_flag(1, 1);
		CHECK(!rmc_rpc_progress_max(r, 0) && !handled);
		for (i = 1; i <= WINDOW; i++) {
			CHECK(rmc_rpc_progress_max(r, 1) == 1);
			CHECK(handled == (unsigned int)i);
		}
		CHECK(!rmc_rpc_progress_max(r, 1));
		OK(rmc_msg_flush(m, rmc_team_nid(team, 1)));
	}
	OK(rmc_team_barrier(team));
	rmc_rpc_close(r);
	rmc_msg_close(m);
}

/* A wait for a response ends when a member revokes the team. */
static void calls_revoked(void)
{
	uint64_t what = 7;
	struct rmc_msg *m;
	struct rmc_rpc *r = open_calls(&m);

	if (team->self) {
		usleep(SHORT_MS * 1000);
		OK(rmc_team_revoke(team));
	} else {
		CHECK(rmc_rpc_call(r, rmc_team_nid(team, 1), &what, sizeof(what), &what, 8, NULL) ==
		      -ECONNABORTED);
		CHECK(rmc_msg_recv(m, rmc_team_nid(team, 1), &what, 8, NULL, NULL, 0) ==
		      -ECONNABORTED);
	}
	go_on();
	rmc_rpc_close(r);
	rmc_msg_close(m);
}

/* --- the store --- */

static struct rmc_kv_options kv_options = { .objects = 64 };

static struct rmc_kv *open_store(void)
{
	struct rmc_kv_options o = kv_options;
	struct rmc_kv *kv;

	o.at = kv_at;
	kv = rmc_kv_open(team, &o);
	if (!kv)
		printf("member %d: %s\n", team->self, rmc_errmsg());
	CHECK(kv);
	return kv;
}

/* The i-th key of a member */
static const char *key_of(struct rmc_kv *kv, int member, int i)
{
	static char key[32];
	int n;

	for (n = 0;; n++) {
		snprintf(key, sizeof(key), "key %d", n);
		if (rmc_kv_owner(kv, key, strlen(key)) == member && !i--)
			return key;
	}
}

static int put(struct rmc_kv *kv, int member, int i, uint64_t value)
{
	const char *key = key_of(kv, member, i);

	return rmc_kv_put(kv, key, strlen(key), &value, sizeof(value));
}

static int get(struct rmc_kv *kv, int member, int i, uint64_t *value)
{
	const char *key = key_of(kv, member, i);
	const void *got;
	size_t len;
	int err = rmc_kv_get(kv, key, strlen(key), &got, &len);

	if (!err) {
		CHECK(len == sizeof(*value));
		memcpy(value, got, len);
	}
	return err;
}

static void store(void)
{
	struct rmc_kv *kv = open_store();
	uint64_t value = 0;

	if (team->self) {
		await_flag(0, 1);
	} else {
		rmc_kv_set_timeout(kv, SHORT_MS);
		CHECK(put(kv, 1, 0, 5) == -ETIMEDOUT);
		CHECK(get(kv, 1, 1, &value) == -ENOENT);	/* a read needs no answer */
		CHECK(rmc_kv_barrier(kv) == -ETIMEDOUT);
		CHECK(rmc_kv_barrier(kv) == -ETIMEDOUT);
		raise_flag(1, 1);
		rmc_kv_set_timeout(kv, LONG_MS);
	}
	/* continues the barriers that timed out */
	OK(rmc_kv_barrier(kv));
	OK(put(kv, 1, 0, 6));
	OK(get(kv, 1, 0, &value));
	CHECK(value == 6);
	OK(rmc_kv_barrier(kv));
	if (team->self) {
		usleep(SHORT_MS * 1000);
		OK(rmc_team_revoke(team));
	} else {
		rmc_kv_set_timeout(kv, -1);
		CHECK(rmc_kv_barrier(kv) == -ECONNABORTED);
	}
	go_on();
	OK(rmc_kv_rejoin(kv, 0));
	OK(rmc_kv_barrier(kv));
	OK(get(kv, 1, 0, &value));
	CHECK(value == 6);
	OK(rmc_kv_barrier(kv));
	rmc_kv_close(kv);
}

/* --- coming back --- */

#define HERD_SIZE	100
#define ROUNDS		30

static struct rmc_herd *open_herd(int server)
{
	struct rmc_herd_options o = {
		.at = herd_at, .server = server, .cores = 1, .slots = 6, .size = HERD_SIZE,
	};
	struct rmc_herd *h = rmc_herd_open(team, &o);

	CHECK(h);
	return h;
}

static void serve(struct rmc_herd *h, int n)
{
	struct rmc_herd_request r;
	int err;

	while (n) {
		err = rmc_herd_poll(rmc_herd_core(h, 0), &r);
		CHECK(err >= 0);
		if (!err)
			continue;
		OK(rmc_herd_reply(rmc_herd_core(h, 0), &r, r.data, r.len));
		n--;
	}
}

static void ask(struct rmc_herd *h, int n, int life)
{
	uint8_t request[HERD_SIZE], response[HERD_SIZE];
	size_t len;

	while (n--) {
		memset(request, 10 * life + n, sizeof(request));
		OK(rmc_herd_call(h, 0, request, sizeof(request), response, sizeof(response), &len));
		CHECK(len == sizeof(request) && !memcmp(request, response, len));
	}
}

/* All members, in step, use the store and the receive buffers. */
static void work(struct rmc_kv *kv, struct rmc_herd *h, int server, int life)
{
	uint64_t value = 0;
	int i, m;

	for (i = 0; i < 3; i++) {
		OK(put(kv, (team->self + 1) % team->nodes, team->self, (uint64_t)(life * 100 + i)));
		OK(rmc_kv_barrier(kv));
		for (m = 0; m < team->nodes; m++) {
			OK(get(kv, (m + 1) % team->nodes, m, &value));
			CHECK(value == (uint64_t)(life * 100 + i));
		}
		OK(rmc_kv_barrier(kv));
	}
	if (team->self == server)
		serve(h, ROUNDS * (team->nodes - 1));
	else
		ask(h, ROUNDS, life);
	OK(rmc_team_barrier(team));
}

/* The last member dies in the middle and is restarted. @server: of the herd */
static void rejoin(int life, int server)
{
	struct rmc_kv *kv = open_store();
	struct rmc_herd *h = open_herd(server);
	int last = team->nodes - 1, err, ticket, i;
	uint64_t value = 0;

	OK(rmc_team_barrier(team));
	work(kv, h, server, life);
	if (team->self != last) {
		OK(put(kv, team->self, 10, 77));
		/* in flight when the peer dies: a request, and an odd number of uses of a slot */
		if (team->self != server) {
			rmc_herd_set_timeout(h, SHORT_MS);
			if (server == last)
				OK(rmc_herd_post(h, 0, "x", 1, &ticket));
		}
		while (!gone(err = put(kv, last, 11, 1))) {
			CHECK(!err);
			usleep(1000);
		}
		while (!gone(err = rmc_team_barrier_for(team, 0, SHORT_MS)))
			CHECK(err == -ETIMEDOUT);
		/* a survivor that has seen the death may not serve the other any more */
		rmc_kv_set_timeout(kv, SHORT_MS);
		err = rmc_kv_barrier(kv);
		CHECK(gone(err) || (team->nodes > 2 && err == -ETIMEDOUT));
		rmc_kv_set_timeout(kv, -1);
		err = 0;
		while (server == last && !gone(err)) {
			err = rmc_herd_call(h, 0, "x", 1, &value, 8, NULL);
			CHECK(gone(err) || err == -ETIMEDOUT || err == -EAGAIN);
		}
		OK(rmc_team_rejoin(team, LONG_MS));
		OK(rmc_kv_rejoin(kv, LONG_MS));
		OK(rmc_herd_rejoin(h));
		rmc_herd_set_timeout(h, -1);
		OK(rmc_team_barrier(team));
		work(kv, h, server, 2);
		/* survivors keep their keys, those of the dead member are lost */
		OK(get(kv, team->self, 10, &value));
		CHECK(value == 77);
		CHECK(get(kv, last, 11, &value) == -ENOENT);
	} else if (life == 1) {
		if (team->self != server)
			for (i = 0; i < 2; i++)
				rmc_herd_post(h, 0, "y", 1, &ticket);
		for (i = 0; i < 50; i++) {
			CHECK(rmc_kv_progress(kv) >= 0);
			usleep(1000);
		}
		_exit(0);
	}
	OK(rmc_kv_barrier(kv));
	OK(rmc_team_barrier(team));
	rmc_herd_close(h);
	rmc_kv_close(kv);
}

/* The server restarts before its client polls again: it is another incarnation nevertheless. */
static void other_server(int life)
{
	int last = team->nodes - 1;
	struct rmc_herd *h = open_herd(last);
	uint64_t response;

	if (life == 1) {
		OK(rmc_team_barrier(team));
		if (team->self == last)
			_exit(0);
		await_other_life(last, team->met[last]);
		rmc_herd_set_timeout(h, 10 * SHORT_MS);
		CHECK(rmc_herd_call(h, 0, "x", 1, &response, 8, NULL) == RMC_S_BAD_CONTEXT);
		CHECK(rmc_herd_call(h, 0, "x", 1, &response, 8, NULL) == RMC_S_BAD_CONTEXT);
		rmc_herd_set_timeout(h, -1);
		OK(rmc_team_rejoin(team, LONG_MS));
		OK(rmc_herd_rejoin(h));
	}
	OK(rmc_team_barrier(team));
	if (team->self == last)
		serve(h, ROUNDS * last);
	else
		ask(h, ROUNDS, 2);
	OK(rmc_team_barrier(team));
	rmc_herd_close(h);
}

static void rejoin_client(int life)
{
	rejoin(life, 0);
}

static void rejoin_server(int life)
{
	rejoin(life, team->nodes - 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		void (*live)(int life);
	} modes[] = {
		{ "barrier", barrier, NULL }, { "revoke", give_up, NULL },
		{ "spread", spread, NULL }, { "collective", collective, NULL },
		{ "calls", calls, NULL }, { "budget", budget, NULL },
		{ "calls_revoked", calls_revoked, NULL }, { "store", store, NULL },
		{ "client", NULL, rejoin_client }, { "server", NULL, rejoin_server },
		{ "era", NULL, era }, { "newcomer", NULL, newcomer },
		{ "other_server", NULL, other_server },
	};
	struct rmc_team_options o = { .numa_node = -1, .flags = RMC_TEAM_OBJECTS };
	const char *n = getenv("RMC_NODES");
	int nodes = n ? atoi(n) : 1;
	unsigned int i, found = argc < 2;

	if (argc > 1 && !strcmp(argv[1], "numbers"))
		return numbers();
	if (argc > 2 && !strcmp(argv[1], "newcomer") && atoi(argv[2]) == 2 && stuck()) {
		printf("line %d: not true: it gets as far as it should\n", __LINE__);
		return 1;
	}
	coll_at = msg_at + rmc_msg_bytes(nodes, rmc_rpc_cells(LENGTH, WINDOW));
	kv_at = coll_at + rmc_coll_bytes(nodes, CHUNK);
	herd_at = kv_at + rmc_kv_bytes(nodes, &kv_options);
	herd_at = (herd_at + 63) & ~63ULL;
	team = rmc_team_open_with(&o, herd_at + (64 << 10));
	if (!team) {
		printf("%s\n", rmc_errmsg());
		return 1;
	}
	buf = (uint64_t *)aligned_alloc(4096, 4096);
	CHECK(buf && rmc_buf_register(team->ctx, buf, 4096) >= 0);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (argc < 2 || strcmp(argv[1], modes[i].name))
			continue;
		found = 1;
		if (modes[i].run)
			modes[i].run();
		else
			modes[i].live(argc > 2 ? atoi(argv[2]) : 1);
	}
	CHECK(found);
	printf("member %d: ok\n", team->self);
	rmc_team_close(team);
	free(buf);
	return 0;
}
