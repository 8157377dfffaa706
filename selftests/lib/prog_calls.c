/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Calls to a member that dies and is restarted: prog_calls LIFE. The last member dies in its
 * incarnation 1 and is started again as incarnation 2. Prints "member N: ok", or the failed
 * check and fails. The caller ends a program that hangs. With NATIVE in the environment calls are
 * native messages.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "member.h"

#define SHORT_MS	150
#define LONG_MS		40000
#define WINDOW		3
#define CALLS		30
#define MSG_AT		4096
#define UNTOUCHED	0xaaaaaaaaaaaaaaaaULL

static uint64_t *buf;		/* registered */
static unsigned int handled[16];	/* requests by member */

static int last(void)
{
	return team->nodes - 1;
}

static int nid_of(int member)
{
	return rmc_team_nid(team, member);
}

static int gone(int status)
{
	return status == RMC_S_NODE_DOWN || status == RMC_S_BAD_CONTEXT;
}

/* The application's part of the segment begins with one word per member, its flag. */
static void raise_flags(uint64_t value)
{
	int m;

	for (m = 0; m < team->nodes; m++) {
		buf[0] = value;
		if (m != team->self)
			OK(rmc_write(team->qp, nid_of(m), team->offset + 8 * (uint64_t)team->self,
				     buf, 8));
	}
}

/* Wait for the flags of all others, and serve calls meanwhile unless r is NULL. */
static void await_flags(struct rmc_rpc *r, uint64_t value)
{
	const uint64_t *flag = (const uint64_t *)team->seg;
	int m;

	for (m = 0; m < team->nodes; m++) {
		while (m != team->self && rmc_load_acquire(&flag[m]) < value) {
			CHECK(!r || rmc_rpc_progress(r) >= 0);
			usleep(100);
		}
	}
}

static int echo(void *arg, int nid, const void *request, size_t len, void *response, size_t size)
{
	(void)arg;
	CHECK(len <= size);
	memcpy(response, request, len);
	handled[nid - nid_of(0)]++;
	return (int)len;
}

static struct rmc_rpc *open_calls(struct rmc_msg **m)
{
	struct rmc_rpc_options o = {
		.max = sizeof(uint64_t), .window = WINDOW, .nodes = team->nodes,
		.first_nid = nid_of(0), .qp = team->qp, .handler = echo,
	};
	struct rmc_msg_options mo;
	struct rmc_rpc *r;

	*m = NULL;
	if (getenv("NATIVE")) {
		r = rmc_rpc_open_domain(team->ctx, &o);
	} else {
		rmc_msg_defaults(&mo);
		mo.at = MSG_AT;
		mo.cells = rmc_rpc_cells(sizeof(uint64_t), WINDOW);
		*m = rmc_msg_open_with(team, &mo);
		CHECK(*m);
		r = rmc_rpc_open(*m, &o);
	}
	if (!r)
		printf("%s\n", rmc_errmsg());
	CHECK(r);
	OK(rmc_team_barrier(team));
	return r;
}

/* Each member calls all others, and serves until all are done. */
static void call_all(struct rmc_rpc *r, uint64_t life)
{
	uint64_t what, response;
	size_t got;
	int m, i;

	for (i = 0; i < CALLS; i++) {
		for (m = 0; m < team->nodes; m++) {
			what = life << 32 | (uint64_t)(team->self << 16 | i);
			response = got = 0;
			if (m == team->self)
				continue;
			OK(rmc_rpc_call(r, nid_of(m), &what, sizeof(what), &response,
					sizeof(response), &got));
			CHECK(got == sizeof(what) && response == what);
		}
	}
	raise_flags(2 * life - 1);
	await_flags(r, 2 * life - 1);
	/* survivors have called each other in both incarnations of the last member */
	for (m = 0; m < team->nodes; m++)
		CHECK(m == team->self ||
		      handled[m] == CALLS * (m == last() || team->self == last() ? 1 : life));
	OK(rmc_team_barrier(team));
}

/* Fill the window of calls to a member that does not serve any more. */
static void fill_window(struct rmc_rpc *r, int to, int ticket[WINDOW], uint64_t response[WINDOW])
{
	uint64_t what = 7;
	int i;

	for (i = 0; i < WINDOW; i++) {
		response[i] = UNTOUCHED;
		ticket[i] = rmc_rpc_post(r, nid_of(to), &what, sizeof(what), &response[i], 8);
		CHECK(ticket[i] >= 0);
	}
	CHECK(rmc_rpc_post(r, nid_of(to), &what, sizeof(what), response, 8) == -EAGAIN);
	OK(rmc_rpc_flush(r, nid_of(to)));
	CHECK(rmc_rpc_flush(r, nid_of(0) - 1) == -EINVAL);
}

/* Die with requests in flight in both directions: no member serves from here on. */
static void die(struct rmc_rpc *r)
{
	uint64_t response[WINDOW];
	int ticket[WINDOW], to;

	for (to = 0; to < last(); to++)
		fill_window(r, to, ticket, response);
	raise_flags(2);
	await_flags(NULL, 2);
	raise(SIGKILL);
}

/* All calls ended with this status: each ticket is valid for one poll, and no response came. */
static void all_ended_with(struct rmc_rpc *r, const int ticket[WINDOW],
			   const uint64_t response[WINDOW], int status)
{
	int i, result, failed;

	for (i = 0; i < WINDOW; i++) {
		result = failed = 0;
		CHECK(rmc_rpc_poll(r, ticket[i], &result, &failed) == 1);
		CHECK(result == status && failed == 1);
		CHECK(rmc_rpc_poll(r, ticket[i], &result, &failed) == -EINVAL);
		CHECK(response[i] == UNTOUCHED);
	}
}

static void survive(struct rmc_rpc *r)
{
	uint64_t response[WINDOW], what = 7;
	int ticket[WINDOW], err;

	fill_window(r, last(), ticket, response);
	raise_flags(2);
	await_flags(NULL, 2);
	while (!gone(err = rmc_team_barrier_for(team, 0, SHORT_MS)))
		CHECK(err == -ETIMEDOUT);
	if (team->self) {
		/* a further call reports the end of the peer */
		err = rmc_rpc_call(r, nid_of(last()), &what, sizeof(what), response, 8, NULL);
		CHECK(gone(err));
		CHECK(rmc_rpc_lost(r, nid_of(last())) == err);
		all_ended_with(r, ticket, response, err);
		CHECK(rmc_rpc_post(r, nid_of(last()), &what, sizeof(what), response, 8) ==
		      -ENODEV);
	}
	OK(rmc_team_rejoin(team, LONG_MS));
	OK(rmc_rpc_rejoin(r, nid_of(last()), LONG_MS));
	CHECK(!rmc_rpc_lost(r, nid_of(last())));
	/*
	 * member 0 made no further call: the rejoin ends its calls, as they were for another
	 * program
	 */
	if (!team->self)
		all_ended_with(r, ticket, response, RMC_S_BAD_CONTEXT);
	/* requests of the earlier incarnation are served before this point, or never */
	handled[last()] = 0;
	OK(rmc_team_barrier(team));
}

int main(int argc, char **argv)
{
	struct rmc_team_options o = { .numa_node = -1 };
	int life = argc > 1 ? atoi(argv[1]) : 1;
	const char *n = getenv("RMC_NODES");
	struct rmc_msg *m;
	struct rmc_rpc *r;

	team = rmc_team_open_with(&o, MSG_AT + rmc_msg_bytes(n ? atoi(n) : 1,
							     rmc_rpc_cells(sizeof(uint64_t), WINDOW)));
	if (!team) {
		printf("%s\n", rmc_errmsg());
		return 1;
	}
	buf = (uint64_t *)aligned_alloc(4096, 4096);
	CHECK(buf && rmc_buf_register(team->ctx, buf, 4096) >= 0);
	CHECK(!!team->rejoined == (life > 1));
	r = open_calls(&m);
	if (life == 1) {
		call_all(r, 1);
		if (team->self == last())
			die(r);
		survive(r);
	}
	call_all(r, 2);
	printf("member %d: ok\n", team->self);
	rmc_rpc_close(r);
	if (m)
		rmc_msg_close(m);
	rmc_team_close(team);
	free(buf);
	return 0;
}
